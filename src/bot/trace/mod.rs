//! What happens in a game, line by line, in a file of its own: so that it can be [replayed](super::replay), and so that a
//! bug report is one file.
//!
//! The first line is a [`Header`], each of the others `[nanoseconds since then, what]`, in the order in which the game's
//! task met it: the lines of the stream as they came, what the engine found, how the server answered, and what was
//! decided. When a game is taken up again, another header stands in the middle.
//!
//! Only what is named in here is ever written: neither the token nor any password can be, since nothing that is named has
//! them.

mod file;
mod recorder;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::chat::VERSION;
use super::policy::PlaySettings;
use crate::bot::game::choice::Choice;
use crate::bot::game::core::{Act, Posting};
use crate::bot::game::pending_move::Trouble;
use crate::chess::{CastlingNotation, Game, Move};
use crate::clock;
use crate::config::{self, Settings};
use crate::engine::{Bound, Limits, Score, SearchReport};
use crate::events::Source;
use crate::lichess::model::{GameId, GameInfo, Username};

pub use file::{Error, Session, TraceFile, directories, directory, find, read};
pub(super) use recorder::Trace;
pub use recorder::{Options, Recorder, Traces};

/// The version of the form.
const VERSION_OF_FORM: u32 = 1;

/// A game in one life of the program, or in one stretch between two rests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the form.
    pub knightwatch_trace: u32,
    /// The program's own.
    pub program: String,
    /// In milliseconds since 1970.
    pub began_ms: u64,
    /// How much faster than the wall the clock runs.
    pub time_scale: f64,
    /// The server, without anything secret that its address may have.
    pub server: String,
    /// Whose game it is.
    pub account: String,
    /// Which game.
    pub game: String,
    /// Our colour, where the account's stream has told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// It has only rested, so what was known of it counts.
    pub rested: bool,
    /// What holds for this game.
    pub settings: InForce,
}

/// The settings that have a part in how a game is played; what rules make of them are its [`Terms`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InForce {
    pub overhead: Duration,
    pub longest: Duration,
    pub claim_victory: bool,
    pub chat: config::Chat,
    pub challenge: config::Challenge,
}

impl InForce {
    /// Those that count of all.
    pub fn of(settings: &Settings) -> Self {
        Self {
            overhead: settings.engine.overhead(),
            longest: settings.correspondence.max_move_time(),
            claim_victory: settings.games.claim_victory,
            chat: settings.chat.clone(),
            challenge: config::Challenge {
                // Nobody's business.
                block: Vec::new(),
                ..settings.challenge.clone()
            },
        }
    }
}

impl Header {
    /// Of a game that begins to be played now.
    pub fn new(
        settings: &Settings,
        account: &Username,
        game: &GameId,
        info: Option<&GameInfo>,
        rested: bool,
    ) -> Self {
        Self {
            knightwatch_trace: VERSION_OF_FORM,
            program: VERSION.to_owned(),
            began_ms: clock::epoch_ms(clock::date()),
            time_scale: clock::scale(),
            server: settings.lichess.server_name(),
            account: account.to_string(),
            game: game.to_string(),
            color: info.map(|info| info.color.key().to_owned()),
            rested,
            settings: InForce::of(settings),
        }
    }
}

/// Something that the game's task met or did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A line of the stream.
    Line(String),
    /// How the game is played, once it is known which one it is.
    Terms(Box<PlaySettings>),
    /// We are about to think: how long after the line that made it our turn, in nanoseconds, how many games are on, and how
    /// many places there are for them.
    Turn {
        since: u64,
        games: usize,
        places: usize,
    },
    /// A move was found.
    Found(Found),
    /// There was none to choose from.
    FoundNone,
    /// The server has answered a POST of the move we owe.
    Answer(Answer),
    /// A wait is over.
    Due,
    /// The account has found that nothing was in flight.
    Mend,
    /// A time has come.
    Rings(TimerKind),
    /// A command in the chat is to be answered, with this many games on and challenges waiting; whether we wait longer.
    Asked {
        games: usize,
        waiting: usize,
        waits: bool,
    },
    /// What is decided, and why.
    Decided(Decision, String),
    /// What else happens, in words: to the stream, to requests that nothing waits for.
    Note(String),
    /// The task has ended.
    End(String),
    /// So many of what should stand here are missing.
    Missing(u64),
}

/// Whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// The opponent has not begun.
    Abort,
    /// The opponent is gone, and the game may be claimed.
    Claim,
}

/// What the replay has to decide as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The engine is asked.
    Think(Bounds),
    /// Something is posted for the move we owe.
    Post(Posting),
    /// Nothing, for so many nanoseconds.
    Wait(u64),
    /// The stream is opened anew, which may take so many nanoseconds.
    Look(u64),
    /// Something beside the moves.
    Do(Act),
    /// An answer in the chat.
    Say(String),
}

/// How a POST of a move was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// In nanoseconds.
    pub took: u64,
    /// Nothing when the server has taken it.
    pub trouble: Option<PostError>,
    /// The same in words.
    pub said: String,
}

/// A [`Trouble`], in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostError {
    Again(u64),
    Lost(u64),
    Refused,
}

impl From<Trouble> for PostError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Again(wait) => Self::Again(nanos(wait)),
            Trouble::Lost(wait) => Self::Lost(nanos(wait)),
            Trouble::Refused => Self::Refused,
        }
    }
}

impl From<PostError> for Trouble {
    fn from(woe: PostError) -> Self {
        match woe {
            PostError::Again(wait) => Self::Again(Duration::from_nanos(wait)),
            PostError::Lost(wait) => Self::Lost(Duration::from_nanos(wait)),
            PostError::Refused => Self::Refused,
        }
    }
}

/// What a search is allowed; times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// What is left, the increment, what is kept back now, and what each move to come will lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<[u64; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elo: Option<u16>,
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self {
            movetime: limits.movetime.map(nanos),
            clock: limits.clock.map(|clock| {
                [clock.remaining, clock.increment, clock.overhead, clock.lag].map(nanos)
            }),
            at_most: limits.max_time.map(nanos),
            depth: limits.depth,
            nodes: limits.nodes,
            elo: limits.strength.map(|strength| strength.elo.get()),
        }
    }
}

/// A move that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// King takes rook when it castles.
    pub uci: String,
    pub from: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<SearchSummary>,
}

/// Where a move comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Only,
    Book,
    Search,
}

/// What the engine thought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// In so many of our moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
    pub depth: u32,
    pub seldepth: u32,
    pub nodes: u64,
    /// In nanoseconds on the wall.
    pub elapsed: u64,
    pub hashfull: u32,
    /// Not told by versions before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<u32>,
    pub pv: String,
}

impl Found {
    /// As it is written.
    pub fn of(choice: &Choice) -> Self {
        let uci = |mv: Move| mv.uci(CastlingNotation::KingTakesRook).to_string();
        Self {
            uci: uci(choice.mv),
            from: match choice.source {
                Source::Only => Origin::Only,
                Source::Book => Origin::Book,
                Source::Search => Origin::Search,
            },
            thought: choice.thought.as_ref().map(|thought| {
                let pv: Vec<String> = thought.pv.iter().copied().map(uci).collect();
                let (cp, mate) = match thought.score {
                    Score::Centipawns(cp) => (Some(cp), None),
                    Score::Mate(moves) => (None, Some(moves)),
                };
                SearchSummary {
                    cp,
                    mate,
                    depth: thought.depth,
                    seldepth: thought.seldepth,
                    nodes: thought.nodes,
                    elapsed: nanos(thought.elapsed),
                    hashfull: thought.hashfull,
                    ordering: thought.ordering,
                    pv: pv.join(" "),
                }
            }),
        }
    }

    /// As it is played in a game. `None` when it is not legal there.
    pub fn choice(&self, game: &Game) -> Option<Choice> {
        let mv = game.position().parse_uci(&self.uci).ok()?;
        Some(Choice {
            mv,
            source: match self.from {
                Origin::Only => Source::Only,
                Origin::Book => Source::Book,
                Origin::Search => Source::Search,
            },
            thought: self.thought.as_ref().map(|idea| idea.thought(game, mv)),
        })
    }
}

impl SearchSummary {
    /// The score.
    pub fn score(&self) -> Score {
        match (self.mate, self.cp) {
            (Some(moves), _) => Score::Mate(moves),
            (None, cp) => Score::Centipawns(cp.unwrap_or(0)),
        }
    }

    fn thought(&self, game: &Game, mv: Move) -> SearchReport {
        let mut position = game.position().clone();
        let mut pv = Vec::new();
        for text in self.pv.split_ascii_whitespace() {
            let Ok(next) = position.parse_uci(text) else {
                break;
            };
            position.play(next);
            pv.push(next);
        }
        SearchReport {
            mv: Some(mv),
            ponder: None,
            score: self.score(),
            depth: self.depth,
            seldepth: self.seldepth,
            nodes: self.nodes,
            elapsed: Duration::from_nanos(self.elapsed),
            hashfull: self.hashfull,
            ordering: self.ordering,
            pv,
            multipv: 1,
            bound: Bound::Exact,
        }
    }
}

/// A length of time as it is written.
pub fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A moment as it is written, from the beginning on.
fn since(began: Instant, at: Instant) -> u64 {
    nanos(at.saturating_duration_since(began))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Position;

    #[test]
    fn what_is_written_is_what_is_read() {
        let terms = PlaySettings::defaults(&Settings::default());
        for what in [
            Record::Line("{\"type\":\"gameState\"}".to_owned()),
            Record::Terms(Box::new(terms)),
            Record::Turn {
                since: 7,
                games: 2,
                places: 4,
            },
            Record::Answer(Answer {
                took: 9,
                trouble: Some(PostError::Again(5)),
                said: "502".to_owned(),
            }),
            Record::Due,
            Record::Rings(TimerKind::Claim),
            Record::Asked {
                games: 1,
                waiting: 0,
                waits: true,
            },
            Record::Decided(Decision::Do(Act::GiveBack), "because".to_owned()),
            Record::Decided(Decision::Post(Posting::Resign), String::new()),
            Record::Decided(
                Decision::Think(Bounds {
                    clock: Some([1, 2, 3, 4]),
                    depth: Some(5),
                    ..Bounds::default()
                }),
                String::new(),
            ),
            Record::Missing(3),
        ] {
            let line = serde_json::to_string(&(5, &what)).unwrap();
            let (at, read): (u64, Record) = serde_json::from_str(&line).unwrap();
            assert_eq!((at, read), (5, what), "{line}");
        }
    }

    #[test]
    fn a_thought_is_the_same_when_it_is_read_back() {
        let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";
        let game = Game::new(Position::from_fen(fen).unwrap());
        let castles = game.position().parse_uci("e1g1").unwrap();
        let thought = SearchReport {
            mv: Some(castles),
            ponder: None,
            score: Score::Mate(-4),
            depth: 9,
            seldepth: 12,
            nodes: 345,
            elapsed: Duration::from_micros(678),
            hashfull: 1,
            ordering: Some(910),
            pv: vec![castles],
            multipv: 1,
            bound: Bound::Exact,
        };
        let found = Found::of(&Choice {
            mv: castles,
            source: Source::Search,
            thought: Some(thought.clone()),
        });
        let text = serde_json::to_string(&found).unwrap();
        let read: Found = serde_json::from_str(&text).unwrap();
        let choice = read.choice(&game).unwrap();
        assert_eq!((choice.mv, choice.thought), (castles, Some(thought)));
        let elsewhere = Game::new(Position::startpos());
        assert!(read.choice(&elsewhere).is_none());
    }
}
