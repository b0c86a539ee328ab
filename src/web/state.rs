//! All that the page shows of a bot while it runs, followed event by event. No I/O and no clock of its own.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::Serialize;

use super::table::Table;
use super::wire::{
    Arena, Challenge, Clocks, Ending, Game, Guest, Line, Move, Note, Report, Settings, Status,
};
use crate::events::{Event, Offer, Severity};
use crate::plural;

/// Games that are over and still shown.
const FINISHED_KEPT: usize = 30;

/// Games that are on: more than a bot ever has, so that one whose end nobody has told does not stay for ever.
const RUNNING_KEPT: usize = 300;

/// Notes that are kept.
const NOTES_KEPT: usize = 200;

/// Decisions about challenges that are kept.
const CHALLENGES_KEPT: usize = 100;

/// Arenas that are kept.
const ARENAS_KEPT: usize = 50;

/// What has changed, to be told to whoever watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A game, in more than one way.
    Game(String),
    /// A move was made in it.
    Moved(String),
    /// The engine thinks about it.
    Thinking(String),
    /// Somebody has said something in it.
    Chat(String),
    /// How the bot is.
    Status,
    /// A note.
    Note,
    /// A decision about a challenge.
    Challenge,
    /// An arena.
    Arena,
    /// What is in force for an account.
    Settings,
    /// What the guest sees.
    Guest,
}

/// What was before the start, each list with the latest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lately {
    pub challenges: Vec<Challenge>,
    pub log: Vec<Note>,
    pub arenas: Vec<Arena>,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct State {
    server: Option<String>,
    status: Status,
    play: Option<Guest>,
    records: bool,
    control: &'static [&'static str],
    running: Vec<Table>,
    /// The latest first.
    finished: VecDeque<Table>,
    log: VecDeque<Note>,
    challenges: VecDeque<Challenge>,
    /// The one last heard of at the end.
    arenas: VecDeque<Arena>,
    /// Those of each account, the ones last told at the end.
    settings: Vec<Settings>,
}

impl State {
    /// Before anything has happened: who can be played against on this page, whether there are records, and which orders
    /// can be given.
    pub fn new(play: Option<Guest>, records: bool, control: &'static [&'static str]) -> Self {
        Self {
            play,
            records,
            control,
            ..Self::default()
        }
    }

    /// Takes up what has happened at this moment, and says what has changed.
    pub fn take(&mut self, event: &Event, now: u64) -> Vec<Change> {
        let (account, event) = match event {
            Event::OfAccount { account, event } => (Some(account.as_str()), &**event),
            event => (None, event),
        };
        match event {
            Event::Online { .. }
            | Event::Offline { .. }
            | Event::Idle { .. }
            | Event::Draining { .. }
            | Event::Paused { .. } => {
                match account {
                    Some(account) => self.status.take_of(account, event, now),
                    None => self.status.take(event, now),
                }
                self.heard(account, event, now)
            }
            Event::Arena(arena) => {
                let arena = Arena::of(arena, account);
                self.arenas.retain(|other| !other.is(&arena));
                keep(&mut self.arenas, arena, ARENAS_KEPT);
                vec![Change::Arena]
            }
            Event::Settings(words) => {
                let account = account.map(str::to_owned);
                self.settings.retain(|other| other.account != account);
                let words = words.clone();
                self.settings.push(Settings { account, words });
                vec![Change::Settings]
            }
            Event::Note {
                severity,
                game,
                text,
            } => {
                self.note(now, *severity, game.clone(), text.clone());
                vec![Change::Note]
            }
            Event::Challenge(challenge) => {
                keep(
                    &mut self.challenges,
                    Challenge::of(challenge, now),
                    CHALLENGES_KEPT,
                );
                vec![Change::Challenge]
            }
            _ => self.in_game(event, now),
        }
    }

    /// What follows from what an account says of itself.
    fn heard(&mut self, account: Option<&str>, event: &Event, now: u64) -> Vec<Change> {
        match event {
            Event::Online {
                account: player,
                server,
            } => {
                self.server = Some(server.trim_end_matches('/').to_owned());
                let text = match account {
                    Some(account) => format!("{account} is online"),
                    // As the records have it of earlier runs.
                    None => format!("online as {}", player.name),
                };
                self.note(now, Severity::Info, None, text);
                return vec![Change::Status, Change::Note];
            }
            Event::Offline { reason, .. } => {
                let who = account
                    .map(|account| format!("{account} is "))
                    .unwrap_or_default();
                let text = format!("{who}offline: {reason}");
                self.note(now, Severity::Warning, None, text);
                return vec![Change::Status, Change::Note];
            }
            _ => {}
        }
        vec![Change::Status]
    }

    fn in_game(&mut self, event: &Event, now: u64) -> Vec<Change> {
        let Some(id) = event.game() else {
            return Vec::new();
        };
        if let Event::GameStarted(start) = event {
            let known = self.running.iter().any(|table| table.shown.id == id);
            if !known {
                let server = self.server.as_deref().unwrap_or_default();
                if self.running.len() == RUNNING_KEPT {
                    self.running.remove(0);
                }
                // A simulator that was started anew gives the same ids again.
                self.finished.retain(|table| table.shown.id != id);
                self.running.push(Table::new(start, server, now));
            }
            self.status.plays(&start.us().name);
            return vec![Change::Game(id.to_owned()), Change::Status];
        }
        let Some(at) = self.running.iter().position(|table| table.shown.id == id) else {
            return self.after_the_end(event, id, now);
        };
        let table = &mut self.running[at];
        let id = id.to_owned();
        let change = match event {
            Event::Moved(moved) => match table.moved(moved, now) {
                true if table.move_on(moved.by, now) => {
                    // More than one line may have been said, all of which the game has.
                    return vec![Change::Moved(id.clone()), Change::Game(id)];
                }
                true => Change::Moved(id),
                false => return Vec::new(),
            },
            Event::Thinking { ply, report, .. } => match table.think(*ply, report) {
                true => Change::Thinking(id),
                false => return Vec::new(),
            },
            Event::TakenBack { ply, .. } => {
                table.give_back(*ply, now);
                Change::Game(id)
            }
            Event::DrawOffered { by, .. } => {
                table.offer_draw(*by, now);
                Change::Game(id)
            }
            Event::TakebackAsked { by, asked, .. } => {
                table.ask_takeback(*by, *asked, now);
                Change::Game(id)
            }
            Event::Declined { by, offer, .. } => {
                if *offer == Offer::Takeback && *by == table.ours {
                    // As many as we give have been given.
                    table.shown.gives_back = false;
                }
                table.decline(*by, *offer, now);
                Change::Game(id)
            }
            Event::OpponentGone { gone, .. } => {
                table.shown.gone = *gone;
                Change::Game(id)
            }
            Event::Chat { .. } => {
                table.say(line(event, table, now));
                Change::Chat(id)
            }
            Event::GameFinished(end) => {
                table.finish(end, now);
                let over = self.running.remove(at);
                self.lay_aside(over);
                return vec![Change::Game(id), Change::Status];
            }
            _ => return Vec::new(),
        };
        vec![change]
    }

    /// What is still said when a game is over.
    fn after_the_end(&mut self, event: &Event, id: &str, now: u64) -> Vec<Change> {
        let over = self.finished.iter_mut().find(|table| table.shown.id == id);
        match (over, event) {
            (Some(table), Event::Chat { .. }) => {
                table.say(line(event, table, now));
                vec![Change::Chat(id.to_owned())]
            }
            _ => Vec::new(),
        }
    }

    fn lay_aside(&mut self, over: Table) {
        self.finished.push_front(over);
        self.finished.truncate(FINISHED_KEPT);
        if let Some(games) = &mut self.status.draining {
            *games = self.running.len();
        }
    }

    /// Shows the guest the engine's numbers, or hides them. Nothing where there is no guest.
    pub fn show_numbers(&mut self, shown: bool) -> Option<Change> {
        self.play.as_mut()?.numbers = shown;
        Some(Change::Guest)
    }

    /// The guest has declined the draw that we offered, of which the site tells nobody.
    pub fn decline(&mut self, id: &str, now: u64) -> Option<Change> {
        let mut tables = self.running.iter_mut();
        let table = tables.find(|table| table.shown.id == id)?;
        let declined = table.decline(!table.ours, Offer::Draw, now);
        declined.then(|| Change::Game(id.to_owned()))
    }

    /// Adds what was before the start.
    pub fn remember(&mut self, lately: Lately) {
        for challenge in lately.challenges {
            self.challenges.push_front(challenge);
        }
        for note in lately.log {
            self.log.push_front(note);
        }
        for arena in lately.arenas {
            // What is told of it since is later.
            if !self.arenas.iter().any(|other| other.is(&arena)) {
                self.arenas.push_front(arena);
            }
        }
    }

    /// What the records have of a game that was taken up.
    pub fn recall(&mut self, past: Table) -> Option<Change> {
        let id = past.shown.id.clone();
        let mut tables = self.running.iter_mut().chain(&mut self.finished);
        let table = tables.find(|table| table.shown.id == id)?;
        table.recall(past.shown);
        Some(Change::Game(id))
    }

    /// Events were lost. Games that are no longer on have ended among them.
    pub fn missed(&mut self, events: u64, on: &[String], now: u64) {
        let events = plural::count(events, "event", "events");
        let text = format!("the page has missed {events}; games that are on may lack moves");
        self.note(now, Severity::Warning, None, text);
        let running = std::mem::take(&mut self.running);
        for mut table in running {
            if on.contains(&table.shown.id) {
                self.running.push(table);
                continue;
            }
            table.close(Ending {
                outcome: "unknown",
                score: "*".to_owned(),
                status: "unknownFinish".to_owned(),
                text: "its end was missed".to_owned(),
            });
            self.lay_aside(table);
        }
    }

    fn note(&mut self, at: u64, severity: Severity, game: Option<String>, text: String) {
        let table = game.as_deref().and_then(|id| self.table(id));
        let note = Note {
            at,
            severity: severity.key(),
            ply: table.map(|table| table.shown.moves.len() as u32),
            game,
            text,
        };
        keep(&mut self.log, note, NOTES_KEPT);
    }

    /// A game that is on, or was over not long ago.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.running
            .iter()
            .chain(&self.finished)
            .find(|table| table.shown.id == id)
    }

    /// Everything, as a frame.
    pub fn snapshot(&self, now: u64) -> Bytes {
        let games = self.running.iter().chain(&self.finished);
        frame(
            "snapshot",
            &Snapshot {
                version: env!("CARGO_PKG_VERSION"),
                server: self.server.as_deref(),
                status: &self.status,
                now,
                play: self.play.as_ref(),
                control: self.control,
                records: self.records,
                games: games.map(|table| &table.shown).collect(),
                log: &self.log,
                challenges: &self.challenges,
                arenas: &self.arenas,
                settings: &self.settings,
            },
        )
    }

    /// A change that has just been made, as a frame. Nothing if it is no longer so.
    pub fn frame(&self, change: &Change, now: u64) -> Option<Bytes> {
        Some(match change {
            Change::Game(id) => frame("game", &self.table(id)?.shown),
            Change::Moved(id) => {
                let game = &self.table(id)?.shown;
                frame(
                    "moved",
                    &Told {
                        game: id,
                        mv: game.moves.last()?,
                        fen: &game.fen,
                        check: game.check,
                        legal: &game.legal,
                        clocks: game.clocks,
                    },
                )
            }
            Change::Thinking(id) => {
                let game = &self.table(id)?.shown;
                let (ply, report) = (game.moves.len(), game.thinking.as_ref()?);
                frame(
                    "thinking",
                    &Thinking {
                        game: id,
                        ply,
                        report,
                    },
                )
            }
            Change::Chat(id) => {
                let line = self.table(id)?.shown.chat.back()?;
                frame("chat", &Said { game: id, line })
            }
            Change::Status => frame(
                "status",
                &StatusNow {
                    status: &self.status,
                    server: self.server.as_deref(),
                    now,
                },
            ),
            Change::Note => frame("note", self.log.back()?),
            Change::Challenge => frame("challenge", self.challenges.back()?),
            Change::Arena => frame("arena", self.arenas.back()?),
            Change::Settings => frame("settings", self.settings.last()?),
            Change::Guest => frame("play", self.play.as_ref()?),
        })
    }
}

#[derive(Serialize)]
struct Snapshot<'a> {
    version: &'a str,
    server: Option<&'a str>,
    #[serde(flatten)]
    status: &'a Status,
    now: u64,
    play: Option<&'a Guest>,
    control: &'a [&'a str],
    records: bool,
    games: Vec<&'a Game>,
    log: &'a VecDeque<Note>,
    challenges: &'a VecDeque<Challenge>,
    arenas: &'a VecDeque<Arena>,
    settings: &'a [Settings],
}

#[derive(Serialize)]
struct Told<'a> {
    game: &'a str,
    #[serde(rename = "move")]
    mv: &'a Move,
    fen: &'a str,
    check: bool,
    legal: &'a [String],
    clocks: Clocks,
}

#[derive(Serialize)]
struct Thinking<'a> {
    game: &'a str,
    ply: usize,
    report: &'a Report,
}

#[derive(Serialize)]
struct Said<'a> {
    game: &'a str,
    line: &'a Line,
}

#[derive(Serialize)]
struct StatusNow<'a> {
    #[serde(flatten)]
    status: &'a Status,
    server: Option<&'a str>,
    now: u64,
}

/// An event of the stream that a browser reads.
fn frame(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    serde_json::to_writer(&mut text, data).expect("plain data with string keys");
    text.extend_from_slice(b"\n\n");
    text.into()
}

fn line(event: &Event, table: &Table, at: u64) -> Line {
    let (room, from, text) = match event {
        Event::Chat {
            room, from, text, ..
        } => (room.as_str(), from.as_str(), text.as_str()),
        _ => ("", "", ""),
    };
    Line {
        at,
        ply: Some(table.shown.moves.len() as u32),
        room: room.to_owned(),
        from: from.to_owned(),
        text: text.to_owned(),
    }
}

fn keep<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests;
