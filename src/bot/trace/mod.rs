//! Traces of games: one file per game with everything that its task received and decided.
//!
//! A trace can be [replayed](super::replay) and attached to a bug report. Its first line is a [`Header`]. Each other line is
//! `[nanoseconds since the header, record]`, in the order in which the game task handled it: raw lines of the stream, search
//! results, responses of the server, decisions. When a game is resumed, a new header begins another session in the same file.
//!
//! Only the types of this module are written. None of them contains the token or a password.

mod file;
mod recorder;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::chat::VERSION;
use super::policy::PlaySettings;
use crate::bot::game::choice::ChosenMove;
use crate::bot::game::core::{PostRequest, SideAction};
use crate::bot::game::pending_move::PostFailure;
use crate::chess::{CastlingNotation, Game, Move};
use crate::clock;
use crate::config::{self, Settings};
use crate::engine::{Bound, Limits, Score, SearchInfo};
use crate::events::Source;
use crate::lichess::model::{GameId, GameInfo, Username};

pub use file::{Error, Session, TraceFile, directories, directory, find, read};
pub(super) use recorder::Trace;
pub use recorder::{Options, Recorder, Traces};

/// Version of the format.
const FORMAT_VERSION: u32 = 2;

/// First line of a session: a run of the game task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub knightwatch_trace: u32,
    /// Version of the program.
    pub program: String,
    /// Start in milliseconds since 1970.
    pub began_ms: u64,
    /// Speed of the clock relative to wall clock time.
    pub time_scale: f64,
    /// Name of the server, without secrets that its address may contain.
    pub server: String,
    /// Account that plays the game.
    pub account: String,
    /// Game id.
    pub game: String,
    /// Our color, if the account stream has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The game was suspended, and the state of the previous session is used.
    pub resumed: bool,
    /// Settings that affect the decisions.
    pub settings: EffectiveSettings,
}

/// Settings that affect the decisions of a game, before rules; `PlaySettings` are those after rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveSettings {
    pub move_overhead: Duration,
    pub max_move_time: Duration,
    pub claim_victory: bool,
    pub chat: config::Chat,
    pub challenge: config::Challenge,
}

impl EffectiveSettings {
    /// Extracts them from all settings.
    pub fn of(settings: &Settings) -> Self {
        Self {
            move_overhead: settings.engine.overhead(),
            max_move_time: settings.correspondence.max_move_time(),
            claim_victory: settings.games.claim_victory,
            chat: settings.chat.clone(),
            challenge: config::Challenge {
                // Private, and not needed for decisions.
                block: Vec::new(),
                ..settings.challenge.clone()
            },
        }
    }
}

impl Header {
    /// Creates the header of a session that begins now.
    pub fn new(
        settings: &Settings,
        account: &Username,
        game: &GameId,
        info: Option<&GameInfo>,
        resumed: bool,
    ) -> Self {
        Self {
            knightwatch_trace: FORMAT_VERSION,
            program: VERSION.to_owned(),
            began_ms: clock::epoch_ms(clock::date()),
            time_scale: clock::scale(),
            server: settings.lichess.server_name(),
            account: account.to_string(),
            game: game.to_string(),
            color: info.map(|info| info.color.key().to_owned()),
            resumed,
            settings: EffectiveSettings::of(settings),
        }
    }
}

/// Event or decision of a game task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Raw line of the stream.
    Line(String),
    /// Settings of the game after rules.
    PlaySettings(Box<PlaySettings>),
    /// Inputs of time management at the start of a search.
    Turn {
        /// Time since the line that made it our turn, in nanoseconds.
        elapsed: u64,
        /// Running games.
        games: usize,
        /// Configured number of concurrent games.
        concurrency: usize,
        /// Whether we search on the opponent's time as well; false in traces of earlier versions.
        #[serde(default)]
        ponders: bool,
    },
    /// A chosen move.
    FoundMove(FoundMove),
    /// There was no move to choose from.
    NoMove,
    /// Response to a POST of our move.
    PostResponse(PostResponse),
    /// A wait is over.
    Timeout,
    /// The watchdog found nothing in flight for a pending move.
    Recover,
    /// A timer expired.
    Timer(TimerKind),
    /// A chat command is about to be answered.
    ChatRequest {
        /// Running games.
        games: usize,
        /// Queued challenges.
        waiting: usize,
        /// The wait for the opponent's first move was extended.
        extends_wait: bool,
    },
    /// A decision and its reason.
    Decision(Decision, String),
    /// Other events in words: of the stream, of side requests.
    Note(String),
    /// The task ended; the reason.
    End(String),
    /// Number of records that are missing here.
    Missing(u64),
}

/// Note that the stream of the game was opened.
pub const STREAM_OPEN: &str = "the stream is open";

/// Timer that leads to a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// The opponent has not made their first move.
    Abort,
    /// The opponent left and the game can be claimed.
    Claim,
}

/// Decision that a replay compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Search within these limits.
    Think(Bounds),
    /// Post a move or resign.
    Post(PostRequest),
    /// Wait for this many nanoseconds.
    Wait(u64),
    /// Reopen the stream and wait for its first line, for this many nanoseconds.
    Resync(u64),
    /// Action other than a move.
    SideAction(SideAction),
    /// Chat line.
    Chat(String),
}

/// Response to a POST of our move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostResponse {
    /// Duration of the POST in nanoseconds.
    pub took: u64,
    /// `None` if the server accepted it.
    pub error: Option<PostFailure>,
    /// The response in words.
    pub text: String,
}

/// Limits of a search; times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Time left, increment, overhead of this move, and lag of each later move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<[u64; 4]>,
    #[serde(rename = "at_most", skip_serializing_if = "Option::is_none")]
    pub max_time: Option<u64>,
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
            max_time: limits.max_time.map(nanos),
            depth: limits.depth,
            nodes: limits.nodes,
            elo: limits.strength.map(|strength| strength.elo.get()),
        }
    }
}

/// A chosen move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundMove {
    /// UCI notation, with castling as king takes rook.
    pub uci: String,
    pub source: Source,
    #[serde(default, rename = "thought", skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSummary>,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
    /// Wins, draws and losses in permille, if an external engine has said them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wdl: Option<[u32; 3]>,
    pub depth: u32,
    pub seldepth: u32,
    pub nodes: u64,
    /// Wall clock time in nanoseconds.
    pub elapsed: u64,
    pub hashfull: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<u32>,
    pub pv: String,
}

impl FoundMove {
    /// Converts a chosen move.
    pub fn of(choice: &ChosenMove) -> Self {
        let uci = |mv: Move| mv.uci(CastlingNotation::KingTakesRook).to_string();
        Self {
            uci: uci(choice.mv),
            source: choice.source,
            search: choice.search.as_ref().map(|search| {
                let pv: Vec<String> = search.pv.iter().copied().map(uci).collect();
                let (cp, mate) = match search.score {
                    Score::Centipawns(cp) => (Some(cp), None),
                    Score::Mate(moves) => (None, Some(moves)),
                };
                SearchSummary {
                    cp,
                    mate,
                    wdl: search.wdl,
                    depth: search.depth,
                    seldepth: search.seldepth,
                    nodes: search.nodes,
                    elapsed: nanos(search.elapsed),
                    hashfull: search.hashfull,
                    ordering: search.ordering,
                    pv: pv.join(" "),
                }
            }),
        }
    }

    /// Converts it back for the position of a game; `None` if the move is not legal there.
    pub fn choice(&self, game: &Game) -> Option<ChosenMove> {
        let mv = game.position().parse_uci(&self.uci).ok()?;
        Some(ChosenMove {
            mv,
            source: self.source,
            transcript: Vec::new(),
            fallback: None,
            search: self
                .search
                .as_ref()
                .map(|summary| summary.search_info(game, mv)),
        })
    }
}

impl SearchSummary {
    /// Score of the search.
    pub fn score(&self) -> Score {
        match (self.mate, self.cp) {
            (Some(moves), _) => Score::Mate(moves),
            (None, cp) => Score::Centipawns(cp.unwrap_or(0)),
        }
    }

    fn search_info(&self, game: &Game, mv: Move) -> SearchInfo {
        let mut position = game.position().clone();
        let mut pv = Vec::new();
        for text in self.pv.split_ascii_whitespace() {
            let Ok(next) = position.parse_uci(text) else {
                break;
            };
            position.play(next);
            pv.push(next);
        }
        SearchInfo {
            mv: Some(mv),
            ponder: None,
            score: self.score(),
            wdl: self.wdl,
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

/// Converts a duration to nanoseconds, saturating.
pub fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// Durations in nanoseconds; for `#[serde(with = "...")]`.
pub(super) mod as_nanos {
    use super::{Deserialize, Duration, Serialize};
    use serde::{Deserializer, Serializer};

    pub(in crate::bot) fn serialize<S: Serializer>(
        duration: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        super::nanos(*duration).serialize(to)
    }

    pub(in crate::bot) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// Nanoseconds from `began` to `at`.
fn offset_nanos(began: Instant, at: Instant) -> u64 {
    nanos(at.saturating_duration_since(began))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Position;

    #[test]
    fn records_round_trip() {
        let terms = PlaySettings::defaults(&Settings::default());
        for what in [
            Record::Line("{\"type\":\"gameState\"}".to_owned()),
            Record::PlaySettings(Box::new(terms)),
            Record::Turn {
                elapsed: 7,
                games: 2,
                concurrency: 4,
                ponders: true,
            },
            Record::PostResponse(PostResponse {
                took: 9,
                error: Some(PostFailure::Retry(Duration::from_nanos(5))),
                text: "502".to_owned(),
            }),
            Record::Timeout,
            Record::Timer(TimerKind::Claim),
            Record::ChatRequest {
                games: 1,
                waiting: 0,
                extends_wait: true,
            },
            Record::Decision(
                Decision::SideAction(SideAction::AcceptTakeback),
                "because".to_owned(),
            ),
            Record::Decision(Decision::Post(PostRequest::Resign), String::new()),
            Record::Decision(
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
    fn search_result_round_trips() {
        let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";
        let game = Game::new(Position::from_fen(fen).unwrap());
        let castles = game.position().parse_uci("e1g1").unwrap();
        let search = SearchInfo {
            mv: Some(castles),
            ponder: None,
            score: Score::Mate(-4),
            wdl: Some([0, 3, 997]),
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
        let found = FoundMove::of(&ChosenMove {
            mv: castles,
            source: Source::Search,
            transcript: Vec::new(),
            fallback: None,
            search: Some(search.clone()),
        });
        let text = serde_json::to_string(&found).unwrap();
        let read: FoundMove = serde_json::from_str(&text).unwrap();
        let choice = read.choice(&game).unwrap();
        assert_eq!((choice.mv, choice.search), (castles, Some(search)));
        let elsewhere = Game::new(Position::startpos());
        assert!(read.choice(&elsewhere).is_none());
    }
}
