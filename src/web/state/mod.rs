//! State of the page, updated by events. No I/O and no clock.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::actions::PageAction;
use super::assets;
use super::live_game::LiveGame;
use super::wire::{Arena, Challenge, ChatLine, Game, GameResult, Note, PlayUser, Settings, Status};
use crate::events::{Event, Offer, Severity};
use crate::plural;

/// Maximum number of finished games.
const MAX_FINISHED_GAMES: usize = 16;

/// Maximum number of running games: more than a bot ever plays, so that games whose end was missed do not accumulate.
const MAX_RUNNING_GAMES: usize = 300;

/// Maximum number of notes.
const MAX_NOTES: usize = 200;

/// Maximum number of decisions about challenges.
const MAX_CHALLENGES: usize = 100;

/// Maximum number of arenas.
const MAX_ARENAS: usize = 50;

/// A change of the state, to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The game with this id.
    Game(String),
    /// The last move of this game.
    Moved(String),
    /// The search information of this game.
    Thinking(String),
    /// The last chat line of this game.
    Chat(String),
    /// Status of the bot.
    Status,
    /// The last note.
    Note,
    /// The last decision about a challenge.
    Challenge,
    /// The last arena.
    Arena,
    /// The settings of an account.
    Settings,
    /// The user who can play on the page.
    PlayUser,
}

/// Entries from before the start, each list with the latest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Backlog {
    pub challenges: Vec<Challenge>,
    pub log: Vec<Note>,
    pub arenas: Vec<Arena>,
}

/// State of the page.
#[derive(Debug, Default)]
pub(super) struct PageState {
    server: Option<String>,
    status: Status,
    play: Option<PlayUser>,
    records: bool,
    /// Names of the actions that are offered.
    control: Vec<&'static str>,
    running: Vec<LiveGame>,
    /// Latest first.
    finished: VecDeque<LiveGame>,
    log: VecDeque<Note>,
    challenges: VecDeque<Challenge>,
    /// Latest update last.
    arenas: VecDeque<Arena>,
    /// Settings of each account, latest update last.
    settings: Vec<Settings>,
}

impl PageState {
    /// The initial state: the user who can play on the page, whether records are kept, and the actions that are
    /// offered.
    pub(super) fn new(play: Option<PlayUser>, records: bool, control: &[PageAction]) -> Self {
        Self {
            play,
            records,
            control: control.iter().map(|action| action.key()).collect(),
            ..Self::default()
        }
    }

    /// Updates the state with an event at `now`, in milliseconds since 1970. Returns the changes.
    pub(super) fn on_event(&mut self, event: &Event, now: u64) -> Vec<Change> {
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
                self.arenas.retain(|other| !other.is_same(&arena));
                push_bounded(&mut self.arenas, arena, MAX_ARENAS);
                vec![Change::Arena]
            }
            Event::Settings(values) => {
                let account = account.map(str::to_owned);
                self.settings.retain(|other| other.account != account);
                self.settings.push(Settings {
                    account,
                    values: values.clone(),
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

    /// Adds notes for an event of an account. Returns the changes.
    fn on_account_event(&mut self, account: Option<&str>, event: &Event, now: u64) -> Vec<Change> {
        match event {
            Event::Online {
                account: player,
                server,
            } => {
                self.server = Some(server.trim_end_matches('/').to_owned());
                let text = match account {
                    Some(account) => format!("{account} is online"),
                    // As in the notes of the records.
                    None => format!("online as {}", player.name),
                };
                self.add_note(now, Severity::Info, None, text);
                return vec![Change::Status, Change::Note];
            }
            Event::Offline { reason, retry_in } => {
                let subject = account
                    .map(|account| format!("{account} is "))
                    .unwrap_or_default();
                let text = format!("{subject}offline: {reason}");
                self.add_note(now, Severity::Warning, None, text);
                let mut changes = vec![Change::Status, Change::Note];
                if let (Some(account), None) = (account, retry_in) {
                    changes.extend(self.end_games_of(account));
                }
                return changes;
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
                // A restarted simulator reuses ids.
                self.finished.retain(|live| live.view.id != id);
                self.running.push(LiveGame::new(start, server, now));
            }
            self.status.clear_idle(&start.us().name);
            return vec![Change::Game(id.to_owned()), Change::Status];
        }
        let Some(index) = self.running.iter().position(|live| live.view.id == id) else {
            return self.on_event_after_end(event, id, now);
        };
        let live = &mut self.running[index];
        let id = id.to_owned();
        let change = match event {
            Event::Moved(moved) => match live.on_move(moved, now) {
                true if live.decline_by_move(moved.by, now) => {
                    // Several chat lines may have been added, so the whole game is sent.
                    return vec![Change::Moved(id.clone()), Change::Game(id)];
                }
                true => Change::Moved(id),
                false => return Vec::new(),
            },
            Event::SearchInfo { ply, info, .. } => match live.set_search_info(*ply, info) {
                true => Change::Thinking(id),
                false => return Vec::new(),
            },
            Event::Clocks { wtime, btime, .. } => {
                live.set_clocks((*wtime, *btime), now);
                Change::Game(id)
            }
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
                    // The bot declines takebacks from now on.
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
                let finished = self.running.remove(index);
                self.archive(finished);
                return vec![Change::Game(id), Change::Status];
            }
            _ => return Vec::new(),
        };
        vec![change]
    }

    /// Adds chat of a finished game.
    fn on_event_after_end(&mut self, event: &Event, id: &str, now: u64) -> Vec<Change> {
        let finished = self.finished.iter_mut().find(|live| live.view.id == id);
        match (finished, event) {
            (Some(live), Event::Chat { .. }) => {
                live.add_chat(chat_line(event, live, now));
                vec![Change::Chat(id.to_owned())]
            }
            _ => Vec::new(),
        }
    }

    /// Adds a game to the finished ones.
    fn archive(&mut self, game: LiveGame) {
        let account = game.start.us().name.clone();
        self.finished.push_front(game);
        self.finished.truncate(MAX_FINISHED_GAMES);
        let of_account = |live: &&LiveGame| live.start.us().name.eq_ignore_ascii_case(&account);
        let games = self.running.iter().filter(of_account).count();
        self.status
            .on_game_over(&account, games, self.running.len());
    }

    /// Shows or hides the search information for the user of the page. `None` if there is no such user.
    pub(super) fn set_show_engine(&mut self, shown: bool) -> Option<Change> {
        self.play.as_mut()?.show_engine = shown;
        Some(Change::PlayUser)
    }

    /// Declines our draw offer in a game of the user of the page; the site does not report this.
    pub(super) fn decline_draw(&mut self, id: &str, now: u64) -> Option<Change> {
        let mut games = self.running.iter_mut();
        let live = games.find(|live| live.view.id == id)?;
        let declined = live.decline(!live.ours, Offer::Draw, now);
        declined.then(|| Change::Game(id.to_owned()))
    }

    /// Adds the entries from before the start.
    pub(super) fn add_backlog(&mut self, backlog: Backlog) {
        for challenge in backlog.challenges {
            self.challenges.push_front(challenge);
        }
        for note in backlog.log {
            self.log.push_front(note);
        }
        for arena in backlog.arenas {
            // Newer information about the arena is kept.
            if !self.arenas.iter().any(|other| other.is_same(&arena)) {
                self.arenas.push_front(arena);
            }
        }
    }

    /// Adds the recorded history of a resumed game.
    pub(super) fn merge_history(&mut self, past: LiveGame) -> Option<Change> {
        let id = past.view.id.clone();
        let mut games = self.running.iter_mut().chain(&mut self.finished);
        let live = games.find(|live| live.view.id == id)?;
        live.merge_history(past.view);
        Some(Change::Game(id))
    }

    /// Handles the loss of events: all games but those with the ids `running_ids` are finished.
    pub(super) fn on_lagged(&mut self, missed: u64, running_ids: &[String], now: u64) {
        let missed = plural::count(missed, "event", "events");
        let text = format!("the page has missed {missed}; running games may lack moves");
        self.add_note(now, Severity::Warning, None, text);
        let running = std::mem::take(&mut self.running);
        for mut live in running {
            if running_ids.contains(&live.view.id) {
                self.running.push(live);
                continue;
            }
            live.set_result(GameResult::unknown("its end was missed"));
            self.archive(live);
        }
    }

    /// Archives the running games of an account that has stopped. Returns the changes.
    fn end_games_of(&mut self, account: &str) -> Vec<Change> {
        let of_account = |live: &LiveGame| live.start.us().name.eq_ignore_ascii_case(account);
        let (ended, running) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(of_account);
        self.running = running;
        let mut changes = Vec::new();
        for mut live in ended {
            changes.push(Change::Game(live.view.id.clone()));
            live.set_result(GameResult::unknown("the account has stopped"));
            self.archive(live);
        }
        changes
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

    /// A game that is running or has recently finished.
    pub(super) fn live_game(&self, id: &str) -> Option<&LiveGame> {
        self.running
            .iter()
            .chain(&self.finished)
            .find(|live| live.view.id == id)
    }

    /// The whole state as a `snapshot` event.
    pub(super) fn snapshot(&self, now: u64) -> Bytes {
        let games = self.running.iter().chain(&self.finished);
        let games: Vec<&Game> = games.map(|live| &live.view).collect();
        let mut all = self.status_json(now);
        all["version"] = json!(env!("CARGO_PKG_VERSION"));
        all["assets"] = json!(*assets::HASH);
        all["play"] = json!(self.play);
        all["control"] = json!(self.control);
        all["records"] = json!(self.records);
        all["games"] = json!(games);
        all["log"] = json!(self.log);
        all["challenges"] = json!(self.challenges);
        all["arenas"] = json!(self.arenas);
        all["settings"] = json!(self.settings);
        frame("snapshot", &all)
    }

    /// The status, with the server and the time.
    fn status_json(&self, now: u64) -> Value {
        let mut status = json!(self.status);
        status["server"] = json!(self.server);
        status["now"] = json!(now);
        status
    }

    /// A change as an event; `None` if it is outdated.
    pub(super) fn frame(&self, change: &Change, now: u64) -> Option<Bytes> {
        Some(match change {
            Change::Game(id) => frame("game", &self.live_game(id)?.view),
            Change::Moved(id) => {
                let game = &self.live_game(id)?.view;
                let moved = json!({
                    "game": id,
                    "move": game.moves.last()?,
                    "fen": game.fen,
                    "check": game.check,
                    "legal": game.legal,
                    "clocks": game.clocks,
                });
                frame("moved", &moved)
            }
            Change::Thinking(id) => {
                let game = &self.live_game(id)?.view;
                let (ply, info) = (game.moves.len(), game.thinking.as_ref()?);
                frame(
                    "thinking",
                    &json!({ "game": id, "ply": ply, "report": info }),
                )
            }
            Change::Chat(id) => {
                let line = self.live_game(id)?.view.chat.back()?;
                frame("chat", &json!({ "game": id, "line": line }))
            }
            Change::Status => frame("status", &self.status_json(now)),
            Change::Note => frame("note", self.log.back()?),
            Change::Challenge => frame("challenge", self.challenges.back()?),
            Change::Arena => frame("arena", self.arenas.back()?),
            Change::Settings => frame("settings", self.settings.last()?),
            Change::PlayUser => frame("play", self.play.as_ref()?),
        })
    }
}

/// A server-sent event.
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

/// Adds an item; removes the first one if there are `max_len` already.
fn push_bounded<T>(list: &mut VecDeque<T>, item: T, max_len: usize) {
    if list.len() == max_len {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests;
