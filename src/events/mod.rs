//! Events of the bot as plain data.
//!
//! The bot sends each [`Event`] on the [`Bus`]; the demo's console, metrics, the store and the page subscribe. Sending
//! never waits and never fails. A slow subscriber loses the oldest events and learns their number from
//! [`RecvError::Lagged`]; without subscribers an event is dropped. So no game ever depends on its observers.
//!
//! Strings from the network (names, chat, reasons) are unchanged: code that prints them removes control characters, code
//! that shows them on a page escapes them.

mod bus;
mod win_probability;

use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
pub use tokio::sync::broadcast::error::RecvError;

pub use crate::chess::Color;
use crate::chess::{Game, Position, Termination, Variant};
pub use crate::engine::Score;
use crate::keys;
use crate::lichess::model;
pub use crate::lichess::model::TimeControl;

pub use self::bus::Bus;
pub use self::win_probability::win_probability;

/// Lichess's keys of all variants.
pub const VARIANTS: [&str; model::Variant::KEYS.len()] = model::Variant::KEYS;

/// Lichess's keys of all speeds, and that of an unknown one: of imported games without a time control.
pub const SPEEDS: [&str; model::Speed::KEYS.len() + 1] = {
    let mut keys = [model::Speed::Unknown.key(); model::Speed::KEYS.len() + 1];
    let (known, _) = keys.split_at_mut(model::Speed::KEYS.len());
    known.copy_from_slice(&model::Speed::KEYS);
    keys
};

/// State of the records, as their writer reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordsState {
    /// Reason why they cannot be written, and since when; `None` while they can.
    pub failure: Option<(String, Instant)>,
    /// Reason why PGN files cannot be written; `None` while they can.
    pub pgn_failure: Option<String>,
    /// Events that are missing in the records since the start.
    pub lost: u64,
}

impl RecordsState {
    /// Notes a failure. Its time is that of the first failure in a row. Returns whether the reason is a new one.
    pub fn fail(&mut self, reason: String) -> bool {
        let previous = self.failure.take();
        let is_new = previous.as_ref().is_none_or(|(last, _)| *last != reason);
        let since = previous.map_or_else(Instant::now, |(_, since)| since);
        self.failure = Some((reason, since));
        is_new
    }
}

/// Something that happened to an account or in one of its games.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The event stream is open.
    Online {
        /// Our account.
        account: Player,
        /// The server's base URL.
        server: String,
    },
    /// The event stream is closed.
    Offline {
        /// Reason as a sentence.
        reason: String,
        /// Time until the next attempt; `None` if there is none.
        retry_in: Option<Duration>,
    },
    /// A challenge was answered, by us (incoming) or by the opponent (outgoing), or was queued or dropped.
    Challenge(Challenge),
    /// A game has started or was resumed. Sent once per game and run of the program.
    GameStarted(GameStarted),
    /// A move was made, as reported by the game stream. The moves of a game come in order and once each, except for moves
    /// that were taken back. Moves from before a game was resumed come without search information and clocks.
    Moved(Moved),
    /// Search information while the engine is thinking, at most a few per second and game.
    SearchInfo {
        /// The game's id.
        game: String,
        /// Number of moves on the board of the position that is searched.
        ply: u32,
        /// The best line so far.
        info: SearchInfo,
    },
    /// The clocks changed without a move: moves were taken back, or time was added. Also sent when the server reports them
    /// for another reason, such as a draw offer.
    Clocks {
        /// The game's id.
        game: String,
        /// Time left of White in milliseconds; `None` in games without a clock.
        wtime: Option<u64>,
        /// The same of Black.
        btime: Option<u64>,
    },
    /// Moves were taken back.
    TakenBack {
        /// The game's id.
        game: String,
        /// Number of moves left on the board.
        ply: u32,
    },
    /// A side offers a draw.
    DrawOffered {
        /// The game's id.
        game: String,
        /// The side that offers it.
        by: Color,
    },
    /// A side requests a takeback, or withdraws the request.
    TakebackRequested {
        /// The game's id.
        game: String,
        /// The side that requests it.
        by: Color,
        /// Whether the request is open.
        pending: bool,
    },
    /// A draw offer or a takeback request was declined explicitly. Making a move declines it too; no event is sent then.
    Declined {
        /// The game's id.
        game: String,
        /// The side that declines.
        by: Color,
        /// The offer that is declined.
        offer: Offer,
    },
    /// The opponent has left the game or has returned.
    OpponentGone {
        /// The game's id.
        game: String,
        /// Whether they are away.
        gone: bool,
    },
    /// A chat message, of the opponent, a spectator or ours.
    Chat {
        /// The game's id.
        game: String,
        /// `player` or `spectator`.
        room: String,
        /// Author.
        from: String,
        /// Message.
        text: String,
    },
    /// A game has ended.
    GameFinished(GameFinished),
    /// No game is running.
    Idle {
        /// Reason as a sentence.
        reason: String,
        /// Time of the next attempt to start a game, if one is planned.
        next: Option<SystemTime>,
    },
    /// The bot is stopping: it takes no new games and finishes the running ones.
    Draining {
        /// Number of running games.
        games: usize,
    },
    /// The operator has paused or resumed the bot.
    Paused {
        /// Whether new games are refused.
        paused: bool,
    },
    /// State of an arena that we play or plan to play.
    Arena(Arena),
    /// Effective settings from now on, as pairs of `section.key` and value in TOML, without passwords.
    Settings(Vec<(String, String)>),
    /// An event of one of several accounts: online, offline, idle, draining, paused, arena or settings.
    ForAccount {
        /// Name of the account.
        account: String,
        event: Box<Event>,
    },
    /// Any other message.
    Note {
        severity: Severity,
        /// The game it belongs to, if any.
        game: Option<String>,
        /// Message as a sentence.
        text: String,
    },
}

impl Event {
    /// Id of the game that the event belongs to, if any.
    pub fn game(&self) -> Option<&str> {
        match self {
            Self::GameStarted(GameStarted { game, .. })
            | Self::Moved(Moved { game, .. })
            | Self::SearchInfo { game, .. }
            | Self::Clocks { game, .. }
            | Self::TakenBack { game, .. }
            | Self::DrawOffered { game, .. }
            | Self::TakebackRequested { game, .. }
            | Self::Declined { game, .. }
            | Self::OpponentGone { game, .. }
            | Self::Chat { game, .. }
            | Self::GameFinished(GameFinished { game, .. }) => Some(game),
            Self::Note { game, .. } => game.as_deref(),
            Self::Online { .. }
            | Self::Offline { .. }
            | Self::Challenge(_)
            | Self::Idle { .. }
            | Self::Draining { .. }
            | Self::Paused { .. }
            | Self::Arena(_)
            | Self::Settings(_)
            | Self::ForAccount { .. } => None,
        }
    }

    /// The event marked with the name of its account; `None` if the event or its game identifies the account already.
    fn tagged(&self, account: &str) -> Option<Self> {
        match self {
            Self::Online { .. }
            | Self::Offline { .. }
            | Self::Idle { .. }
            | Self::Draining { .. }
            | Self::Paused { .. }
            | Self::Arena(_)
            | Self::Settings(_) => Some(Self::ForAccount {
                account: account.to_owned(),
                event: Box::new(self.clone()),
            }),
            Self::Note {
                severity,
                game: None,
                text,
            } => Some(Self::Note {
                severity: *severity,
                game: None,
                text: format!("{account}: {text}"),
            }),
            _ => None,
        }
    }

    /// A note with severity [`Severity::Info`] that belongs to no game.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Note {
            severity: Severity::Info,
            game: None,
            text: text.into(),
        }
    }
}

/// Offer or request that the opponent can decline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    Draw,
    Takeback,
}

/// An arena and our standing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    pub id: String,
    /// Display name.
    pub name: String,
    pub stage: ArenaStage,
    /// Start time, until it has started.
    pub starts: Option<SystemTime>,
    /// Our rank once it has started, if we play in it.
    pub rank: Option<u32>,
    /// Number of participants.
    pub players: u32,
    /// Our participation as a sentence.
    pub text: String,
}

keys! {
    /// Stage of an arena.
    pub enum ArenaStage {
        /// Not started.
        Planned = "planned",
        Running = "running",
        /// Finished, or left by us.
        Over = "over",
    }
}

keys! {
    /// Severity of an [`Event::Note`].
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// Information.
        Info = "info",
        /// A problem that was handled.
        Warning = "warning",
        /// A problem that needs the operator.
        Error = "error",
    }
}

/// A player of a game or challenge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Player {
    /// Name as the server writes it; `Stockfish level 3` for the server's own engine.
    pub name: String,
    /// `BOT`, `GM`, ...
    pub title: Option<String>,
    /// Rating for the speed and variant of the game.
    pub rating: Option<u32>,
    /// Whether the rating is provisional.
    pub provisional: bool,
}

impl Player {
    /// Returns whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// A challenge and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Challenge {
    /// Id of the challenge and of its game; empty for a challenge of ours that the server has rejected.
    pub id: String,
    /// Challenger.
    pub from: Player,
    /// Name of the challenged user; `None` for an open challenge.
    pub to: Option<String>,
    pub time_control: TimeControl,
    /// Variant key: `standard`, `chess960`, `fromPosition`, ...
    pub variant: String,
    /// Whether the game is rated.
    pub rated: bool,
    /// Outcome.
    pub decision: Decision,
    /// Reason as a sentence.
    pub reason: String,
}

keys! {
    /// Outcome of a challenge.
    pub enum Decision {
        /// Accepted; the game starts.
        Accepted = "accepted",
        /// Waiting for a free slot.
        Queued = "queued",
        Declined = "declined",
        /// Canceled by the challenger, or the server has rejected the challenge or our answer.
        Dropped = "dropped",
    }
}

/// Start of a game, or its resumption after a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct GameStarted {
    /// The game's id.
    pub game: String,
    /// White player.
    pub white: Player,
    /// Black player.
    pub black: Player,
    /// Our color.
    pub our_color: Color,
    /// `bullet`, `blitz`, `rapid`, `classical`, `correspondence`.
    pub speed: String,
    pub time_control: TimeControl,
    /// Whether the game is rated.
    pub rated: bool,
    /// Variant key: `standard`, `chess960`, `fromPosition`, `crazyhouse`, ...
    pub variant: String,
    /// FEN of the initial position, if it is not the standard one.
    pub initial_fen: Option<String>,
    /// Id of the tournament, if the game belongs to one.
    pub tournament: Option<String>,
    /// Name of the external engine that plays; `None` for the embedded one.
    pub engine: Option<String>,
    /// Number of moves made before the game was resumed; 0 for a new game.
    pub plies: u32,
}

/// The initial position of a game: that of its variant without a FEN. `None` if the variant is not known or the FEN is not
/// valid.
pub fn initial_position(variant: &str, fen: Option<&str>) -> Option<Position> {
    let rules = Variant::from_name(variant)?;
    match fen {
        Some(fen) => Position::from_variant_fen_lenient(rules, fen).ok(),
        None => Some(rules.start()),
    }
}

impl GameStarted {
    /// Our player.
    pub fn us(&self) -> &Player {
        match self.our_color {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }

    /// The rating that the players have in this game: that of the speed or, whatever the speed, of the variant.
    pub fn rating_kind(&self) -> &str {
        match self.variant.as_str() {
            "standard" | "fromPosition" => &self.speed,
            variant => variant,
        }
    }
}

/// A move of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The game's id.
    pub game: String,
    /// Number of the move in plies, from 1.
    pub ply: u32,
    /// The move in SAN with check and mate marks.
    pub san: String,
    /// The move in UCI as the server writes it.
    pub uci: String,
    /// The side that made it.
    pub by: Color,
    /// Whether it is our move.
    pub ours: bool,
    /// White's time left after the move, in milliseconds; `None` without a clock or if unknown.
    pub wtime: Option<u64>,
    /// Black's time left after the move, in milliseconds.
    pub btime: Option<u64>,
    /// Search result behind a move of ours.
    pub search: Option<SearchInfo>,
    /// Latency of a move of ours.
    pub timing: Option<Timing>,
}

#[cfg(test)]
impl Moved {
    /// The move 1. e4 of ours, for tests.
    pub(crate) fn example(game: &str, source: Source) -> Self {
        Self {
            game: game.to_owned(),
            ply: 1,
            san: "e4".to_owned(),
            uci: "e2e4".to_owned(),
            by: Color::White,
            ours: true,
            wtime: None,
            btime: None,
            search: Some(SearchInfo {
                source,
                score: None,
                wdl: None,
                fallback: (source == Source::Fallback).then(|| "stub: it has exited".to_owned()),
                depth: 1,
                seldepth: 1,
                nodes: 100_000,
                hashfull: 123,
                ordering: Some(910),
                elapsed: Duration::ZERO,
                pv: Vec::new(),
            }),
            timing: None,
        }
    }
}

/// Latency of a move of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From the stream line that made it our turn to the start of the POST, thinking included.
    pub to_post: Duration,
    /// From the start of the POST to its response.
    pub round_trip: Duration,
}

/// Search information: the result behind a move of ours, or an intermediate one while thinking.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchInfo {
    /// Origin of the move.
    pub source: Source,
    /// Score from our point of view; `None` without a search (book, only move).
    pub score: Option<Score>,
    /// Wins, draws and losses in permille, if an external engine has said them.
    pub wdl: Option<[u32; 3]>,
    /// The external engine in whose place the embedded one plays, and why: `stockfish: it has exited`.
    pub fallback: Option<String>,
    /// Depth in plies.
    pub depth: u32,
    /// Selective depth in plies.
    pub seldepth: u32,
    /// Nodes searched.
    pub nodes: u64,
    /// Use of the transposition table, in permille.
    pub hashfull: u32,
    /// Share of the beta cutoffs that the first move caused, in permille.
    pub ordering: Option<u32>,
    /// Search time.
    pub elapsed: Duration,
    /// Principal variation in SAN, beginning with the move itself.
    pub pv: Vec<String>,
}

keys! {
    /// Origin of a move of ours.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Source {
        /// The opening book.
        Book = "book",
        /// The engine.
        Search = "search",
        /// The embedded engine in place of an external one.
        Fallback = "fallback",
        /// The only legal move.
        Only = "only",
    }
}

/// The end of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameFinished {
    /// The game's id.
    pub game: String,
    /// Our color, if it is known.
    pub our_color: Option<Color>,
    /// Status of the server: `mate`, `resign`, `outoftime`, `stalemate`, `draw`, `aborted`, ...
    pub status: String,
    /// The winner; `None` for a draw or a game that does not count.
    pub winner: Option<Color>,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*` for a game that was aborted.
    pub result: String,
    /// Number of moves in plies.
    pub plies: u32,
    /// All moves in UCI, separated by spaces, for subscribers that missed some.
    pub moves: String,
    /// The bot was running when the game ended. Otherwise the time of the end is not known.
    pub observed: bool,
}

impl GameFinished {
    /// Why the game ended, in a few words; an unknown status is returned unchanged. The kind of a draw is found from `board`.
    pub fn reason(&self, board: Option<&Game>) -> String {
        let reason = match self.status.as_str() {
            "mate" => "checkmate",
            "resign" => "resignation",
            "stalemate" => "stalemate",
            "outoftime" if self.winner.is_none() => "time against too little material",
            "outoftime" => "out of time",
            "timeout" => "opponent left",
            "noStart" => "never started",
            "aborted" => "aborted",
            "cheat" => "cheating was detected",
            "insufficientMaterialClaim" => "insufficient material",
            "variantEnd" => {
                variant_ending(board.map_or(Variant::Standard, |board| board.position().variant()))
            }
            "unknownFinish" => "ended by Lichess",
            "unknown" => "an end that this version does not know",
            "draw" => match board {
                Some(board) if board.position().insufficient_material() => "insufficient material",
                Some(board) if board.is_fifty_move_draw() => "fifty moves",
                Some(board) if board.repetitions() >= 3 => "threefold repetition",
                Some(board) if board.termination() == Some(Termination::VariantDraw) => {
                    "both kings finished the race"
                }
                Some(_) => "agreement",
                None => "draw",
            },
            other => other,
        };
        reason.to_owned()
    }
}

/// How a game ends by a rule of its variant only, in a few words.
pub fn variant_ending(variant: Variant) -> &'static str {
    match variant {
        Variant::Antichess => "no pieces or moves left",
        Variant::Atomic => "king exploded",
        Variant::Horde => "horde captured",
        Variant::KingOfTheHill => "king in the center",
        Variant::RacingKings => "race finished",
        Variant::ThreeCheck => "three checks",
        Variant::Standard | Variant::Crazyhouse => "variant ending",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_of_a_draw_is_found_on_the_board() {
        let end = GameFinished {
            game: "abcdefgh".to_owned(),
            our_color: None,
            winner: None,
            status: "draw".to_owned(),
            result: "1/2-1/2".to_owned(),
            plies: 0,
            moves: String::new(),
            observed: true,
        };
        let reason = |variant, fen| {
            let position = Position::from_variant_fen(variant, fen).unwrap();
            end.reason(Some(&Game::new(position)))
        };
        let old = "4k3/8/8/8/8/8/4P3/4K3 w - - 100 80";
        assert_eq!(reason(Variant::Standard, old), "fifty moves");
        // Crazyhouse has no such rule.
        assert_eq!(reason(Variant::Crazyhouse, old), "agreement");
        let bare = "4k3/8/8/8/8/8/8/4K3 w - - 0 80";
        assert_eq!(reason(Variant::Standard, bare), "insufficient material");
        assert_eq!(end.reason(None), "draw");
    }
}
