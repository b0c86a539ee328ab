//! All that the page shows of a bot while it runs, followed event by event. No I/O and no clock of its own.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::Serialize;

use super::live_game::LiveGame;
use super::wire::{
    Arena, Challenge, ChatLine, Clocks, Game, GameResult, Move, Note, PlayUser, SearchInfo,
    Settings, Status,
};
use crate::events::{Event, Offer, Severity};
use crate::plural;

/// Games that are over and still shown.
const MAX_FINISHED_GAMES: usize = 30;

/// Games that are on: more than a bot ever has, so that one whose end nobody has told does not stay for ever.
const MAX_RUNNING_GAMES: usize = 300;

/// Notes that are kept.
const MAX_NOTES: usize = 200;

/// Decisions about challenges that are kept.
const MAX_CHALLENGES: usize = 100;

/// Arenas that are kept.
const MAX_ARENAS: usize = 50;

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
    PlayUser,
}

/// What was before the start, each list with the latest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Backlog {
    pub challenges: Vec<Challenge>,
    pub log: Vec<Note>,
    pub arenas: Vec<Arena>,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct PageState {
    server: Option<String>,
    status: Status,
    play: Option<PlayUser>,
    records: bool,
    control: &'static [&'static str],
    running: Vec<LiveGame>,
    /// The latest first.
    finished: VecDeque<LiveGame>,
    log: VecDeque<Note>,
    challenges: VecDeque<Challenge>,
    /// The one last heard of at the end.
    arenas: VecDeque<Arena>,
    /// Those of each account, the ones last told at the end.
    settings: Vec<Settings>,
}

impl PageState {
    /// Before anything has happened: who can be played against on this page, whether there are records, and which orders
    /// can be given.
    pub fn new(play: Option<PlayUser>, records: bool, control: &'static [&'static str]) -> Self {
        Self {
            play,
            records,
            control,
            ..Self::default()
        }
    }

    /// Takes up what has happened at this moment, and says what has changed.
    pub fn on_event(&mut self, event: &Event, now: u64) -> Vec<Change> {
        let (account, event) = match event {
            Event::ForAccount { account, event } => (Some(account.as_str()), &**event),
            event => (None, event),
        };
        match event {
            Event::Online { .. }
            | Event::Offline { .. }
            | Event::Idle { .. }
            | Event::Draining { .. }
            | Event::Paused { .. } => {
                match account {
                    Some(account) => self.status.on_account_event(account, event, now),
                    None => self.status.on_event(event, now),
                }
                self.on_account_event(account, event, now)
            }
            Event::Arena(arena) => {
                let arena = Arena::of(arena, account);
                self.arenas.retain(|other| !other.is(&arena));
                push_bounded(&mut self.arenas, arena, MAX_ARENAS);
                vec![Change::Arena]
            }
            Event::Settings(words) => {
                let account = account.map(str::to_owned);
                self.settings.retain(|other| other.account != account);
                let words = words.clone();
                self.settings.push(Settings {
                    account,
                    values: words,
                });
                vec![Change::Settings]
            }
            Event::Note {
                severity,
                game,
                text,
            } => {
                self.add_note(now, *severity, game.clone(), text.clone());
                vec![Change::Note]
            }
            Event::Challenge(challenge) => {
                push_bounded(
                    &mut self.challenges,
                    Challenge::of(challenge, now),
                    MAX_CHALLENGES,
                );
                vec![Change::Challenge]
            }
            _ => self.on_game_event(event, now),
        }
    }

    /// What follows from what an account says of itself.
    fn on_account_event(&mut self, account: Option<&str>, event: &Event, now: u64) -> Vec<Change> {
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
                self.add_note(now, Severity::Info, None, text);
                return vec![Change::Status, Change::Note];
            }
            Event::Offline { reason, .. } => {
                let who = account
                    .map(|account| format!("{account} is "))
                    .unwrap_or_default();
                let text = format!("{who}offline: {reason}");
                self.add_note(now, Severity::Warning, None, text);
                return vec![Change::Status, Change::Note];
            }
            _ => {}
        }
        vec![Change::Status]
    }

    fn on_game_event(&mut self, event: &Event, now: u64) -> Vec<Change> {
        let Some(id) = event.game() else {
            return Vec::new();
        };
        if let Event::GameStarted(start) = event {
            let known = self.running.iter().any(|live| live.view.id == id);
            if !known {
                let server = self.server.as_deref().unwrap_or_default();
                if self.running.len() == MAX_RUNNING_GAMES {
                    self.running.remove(0);
                }
                // A simulator that was started anew gives the same ids again.
                self.finished.retain(|live| live.view.id != id);
                self.running.push(LiveGame::new(start, server, now));
            }
            self.status.clear_idle(&start.us().name);
            return vec![Change::Game(id.to_owned()), Change::Status];
        }
        let Some(at) = self.running.iter().position(|live| live.view.id == id) else {
            return self.on_event_after_end(event, id, now);
        };
        let live = &mut self.running[at];
        let id = id.to_owned();
        let change = match event {
            Event::Moved(moved) => match live.on_move(moved, now) {
                true if live.decline_by_move(moved.by, now) => {
                    // More than one line may have been said, all of which the game has.
                    return vec![Change::Moved(id.clone()), Change::Game(id)];
                }
                true => Change::Moved(id),
                false => return Vec::new(),
            },
            Event::Thinking { ply, report, .. } => match live.set_thinking(*ply, report) {
                true => Change::Thinking(id),
                false => return Vec::new(),
            },
            Event::TakenBack { ply, .. } => {
                live.on_takeback(*ply, now);
                Change::Game(id)
            }
            Event::DrawOffered { by, .. } => {
                live.offer_draw(*by, now);
                Change::Game(id)
            }
            Event::TakebackRequested { by, pending, .. } => {
                live.set_takeback_request(*by, *pending, now);
                Change::Game(id)
            }
            Event::Declined { by, offer, .. } => {
                if *offer == Offer::Takeback && *by == live.ours {
                    // As many as we give have been given.
                    live.view.takebacks_allowed = false;
                }
                live.decline(*by, *offer, now);
                Change::Game(id)
            }
            Event::OpponentGone { gone, .. } => {
                live.view.opponent_gone = *gone;
                Change::Game(id)
            }
            Event::Chat { .. } => {
                live.add_chat(chat_line(event, live, now));
                Change::Chat(id)
            }
            Event::GameFinished(end) => {
                live.finish(end, now);
                let over = self.running.remove(at);
                self.archive(over);
                return vec![Change::Game(id), Change::Status];
            }
            _ => return Vec::new(),
        };
        vec![change]
    }

    /// What is still said when a game is over.
    fn on_event_after_end(&mut self, event: &Event, id: &str, now: u64) -> Vec<Change> {
        let over = self.finished.iter_mut().find(|live| live.view.id == id);
        match (over, event) {
            (Some(live), Event::Chat { .. }) => {
                live.add_chat(chat_line(event, live, now));
                vec![Change::Chat(id.to_owned())]
            }
            _ => Vec::new(),
        }
    }

    fn archive(&mut self, over: LiveGame) {
        self.finished.push_front(over);
        self.finished.truncate(MAX_FINISHED_GAMES);
        if let Some(games) = &mut self.status.draining {
            *games = self.running.len();
        }
    }

    /// Shows the guest the engine's numbers, or hides them. Nothing where there is no guest.
    pub fn set_show_engine(&mut self, shown: bool) -> Option<Change> {
        self.play.as_mut()?.show_engine = shown;
        Some(Change::PlayUser)
    }

    /// The guest has declined the draw that we offered, of which the site tells nobody.
    pub fn decline_draw(&mut self, id: &str, now: u64) -> Option<Change> {
        let mut games = self.running.iter_mut();
        let live = games.find(|live| live.view.id == id)?;
        let declined = live.decline(!live.ours, Offer::Draw, now);
        declined.then(|| Change::Game(id.to_owned()))
    }

    /// Adds what was before the start.
    pub fn add_backlog(&mut self, backlog: Backlog) {
        for challenge in backlog.challenges {
            self.challenges.push_front(challenge);
        }
        for note in backlog.log {
            self.log.push_front(note);
        }
        for arena in backlog.arenas {
            // What is told of it since is later.
            if !self.arenas.iter().any(|other| other.is(&arena)) {
                self.arenas.push_front(arena);
            }
        }
    }

    /// What the records have of a game that was taken up.
    pub fn merge_history(&mut self, past: LiveGame) -> Option<Change> {
        let id = past.view.id.clone();
        let mut games = self.running.iter_mut().chain(&mut self.finished);
        let live = games.find(|live| live.view.id == id)?;
        live.merge_history(past.view);
        Some(Change::Game(id))
    }

    /// Events were lost. Games that are no longer on have ended among them.
    pub fn on_lagged(&mut self, events: u64, on: &[String], now: u64) {
        let events = plural::count(events, "event", "events");
        let text = format!("the page has missed {events}; games that are on may lack moves");
        self.add_note(now, Severity::Warning, None, text);
        let running = std::mem::take(&mut self.running);
        for mut live in running {
            if on.contains(&live.view.id) {
                self.running.push(live);
                continue;
            }
            live.set_result(GameResult {
                outcome: "unknown",
                score: "*".to_owned(),
                status: "unknownFinish".to_owned(),
                text: "its end was missed".to_owned(),
            });
            self.archive(live);
        }
    }

    fn add_note(&mut self, at: u64, severity: Severity, game: Option<String>, text: String) {
        let live = game.as_deref().and_then(|id| self.live_game(id));
        let note = Note {
            at,
            severity: severity.key(),
            ply: live.map(|live| live.view.moves.len() as u32),
            game,
            text,
        };
        push_bounded(&mut self.log, note, MAX_NOTES);
    }

    /// A game that is on, or was over not long ago.
    pub fn live_game(&self, id: &str) -> Option<&LiveGame> {
        self.running
            .iter()
            .chain(&self.finished)
            .find(|live| live.view.id == id)
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
                games: games.map(|live| &live.view).collect(),
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
            Change::Game(id) => frame("game", &self.live_game(id)?.view),
            Change::Moved(id) => {
                let game = &self.live_game(id)?.view;
                frame(
                    "moved",
                    &MovedEvent {
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
                let game = &self.live_game(id)?.view;
                let (ply, report) = (game.moves.len(), game.thinking.as_ref()?);
                frame(
                    "thinking",
                    &ThinkingEvent {
                        game: id,
                        ply,
                        report,
                    },
                )
            }
            Change::Chat(id) => {
                let line = self.live_game(id)?.view.chat.back()?;
                frame("chat", &ChatEvent { game: id, line })
            }
            Change::Status => frame(
                "status",
                &StatusEvent {
                    status: &self.status,
                    server: self.server.as_deref(),
                    now,
                },
            ),
            Change::Note => frame("note", self.log.back()?),
            Change::Challenge => frame("challenge", self.challenges.back()?),
            Change::Arena => frame("arena", self.arenas.back()?),
            Change::Settings => frame("settings", self.settings.last()?),
            Change::PlayUser => frame("play", self.play.as_ref()?),
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
    play: Option<&'a PlayUser>,
    control: &'a [&'a str],
    records: bool,
    games: Vec<&'a Game>,
    log: &'a VecDeque<Note>,
    challenges: &'a VecDeque<Challenge>,
    arenas: &'a VecDeque<Arena>,
    settings: &'a [Settings],
}

#[derive(Serialize)]
struct MovedEvent<'a> {
    game: &'a str,
    #[serde(rename = "move")]
    mv: &'a Move,
    fen: &'a str,
    check: bool,
    legal: &'a [String],
    clocks: Clocks,
}

#[derive(Serialize)]
struct ThinkingEvent<'a> {
    game: &'a str,
    ply: usize,
    report: &'a SearchInfo,
}

#[derive(Serialize)]
struct ChatEvent<'a> {
    game: &'a str,
    line: &'a ChatLine,
}

#[derive(Serialize)]
struct StatusEvent<'a> {
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

fn chat_line(event: &Event, live: &LiveGame, at: u64) -> ChatLine {
    let (room, from, text) = match event {
        Event::Chat {
            room, from, text, ..
        } => (room.as_str(), from.as_str(), text.as_str()),
        _ => ("", "", ""),
    };
    ChatLine {
        at,
        ply: Some(live.view.moves.len() as u32),
        room: room.to_owned(),
        from: from.to_owned(),
        text: text.to_owned(),
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests;
