//! What happened, as plain data that everyone may read.
//!
//! The bot says what it does by sending an [`Event`] on the [`Bus`]; the terminal of the demo, metrics, the store
//! and the page subscribe. Sending never waits and never fails: a subscriber that is slow loses the oldest events
//! (and is told how many by [`RecvError::Lagged`]), and with no subscriber at all an event simply goes nowhere.
//! So nothing that plays chess ever depends on who watches.
//!
//! All strings that come from the network (names, chat, reasons) are here as they came: who prints them removes
//! control characters, who shows them in a page escapes them.

mod bus;

use std::fmt;
use std::time::{Duration, SystemTime};

pub use tokio::sync::broadcast::error::RecvError;

pub use crate::chess::Color;
use crate::chess::Game;

pub use self::bus::Bus;

/// Something that happened to the account or in one of its games.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The account stream is open: challenges and games can come.
    Online {
        /// Who we are.
        account: Player,
        /// The server's base URL.
        server: String,
    },
    /// The account stream is lost.
    Offline {
        /// Why, in words.
        reason: String,
        /// When it is tried again; `None` when it is not.
        retry_in: Option<Duration>,
    },
    /// A challenge was decided on, by us (incoming) or by the other (outgoing).
    Challenge(Challenge),
    /// A game is on. Sent once for each game and life of the program, also for games taken up again.
    GameStarted(GameStarted),
    /// A move stands on the board, as the game's stream shows it; the moves of a game come in order, each once
    /// (except for those taken back). Those made before a game was taken up come without thought and clocks.
    Moved(Moved),
    /// What the engine thinks while it thinks: at most a few per second and game.
    Thinking {
        /// The game's id.
        game: String,
        /// The ply that is being thought about: as many moves are on the board.
        ply: u32,
        /// The best line so far.
        report: Report,
    },
    /// Moves were taken back.
    TakenBack {
        /// The game's id.
        game: String,
        /// How many moves are left on the board.
        ply: u32,
    },
    /// Somebody offers a draw.
    DrawOffered {
        /// The game's id.
        game: String,
        /// Who offers.
        by: Color,
    },
    /// The opponent asks for a takeback, or does not any more.
    TakebackAsked {
        /// The game's id.
        game: String,
        /// The side that asks.
        by: Color,
        /// Whether the question stands now.
        asked: bool,
    },
    /// A draw offer or a takeback was declined in so many words. Who only moves on declines as well, of which nothing is
    /// sent.
    Declined {
        /// The game's id.
        game: String,
        /// The side that declines.
        by: Color,
        /// The offer that is declined.
        offer: Offer,
    },
    /// The opponent has left the game or has come back.
    OpponentGone {
        /// The game's id.
        game: String,
        /// Whether he is away now.
        gone: bool,
    },
    /// A line of chat, theirs or ours.
    Chat {
        /// The game's id.
        game: String,
        /// `player` or `spectator`.
        room: String,
        /// Who wrote it.
        from: String,
        /// What.
        text: String,
    },
    /// A game is over.
    GameFinished(GameFinished),
    /// No game is on; why, and when something is tried next.
    Idle {
        /// Why, in words.
        reason: String,
        /// When we act on our own again, if ever.
        next: Option<SystemTime>,
    },
    /// We stop: no new games, these many are still to be finished.
    Draining {
        /// Games still on.
        games: usize,
    },
    /// The operator has paused us, or has us go on: whether new games are taken.
    Paused {
        /// Whether they are not.
        paused: bool,
    },
    /// How things stand in an arena that we take part in, or mean to.
    Arena(Arena),
    /// These settings are in force from now on, each as `section.key` and as it is written, without passwords.
    Settings(Vec<(String, String)>),
    /// One of these that an account says of itself, where several are heard: online, offline, idle, draining, paused,
    /// an arena, settings.
    OfAccount {
        /// Which account.
        account: String,
        /// What it says.
        event: Box<Event>,
    },
    /// Anything else worth telling, in words.
    Note {
        /// How bad it is.
        severity: Severity,
        /// The game it belongs to, if any.
        game: Option<String>,
        /// The sentence.
        text: String,
    },
}

impl Event {
    /// The id of the game that the event belongs to, if it belongs to one.
    pub fn game(&self) -> Option<&str> {
        match self {
            Self::GameStarted(GameStarted { game, .. })
            | Self::Moved(Moved { game, .. })
            | Self::Thinking { game, .. }
            | Self::TakenBack { game, .. }
            | Self::DrawOffered { game, .. }
            | Self::TakebackAsked { game, .. }
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
            | Self::OfAccount { .. } => None,
        }
    }

    /// The same with the name of the account that says it, where neither it nor a game in it tells who that is.
    fn told_of(&self, account: &str) -> Option<Self> {
        match self {
            Self::Online { .. }
            | Self::Offline { .. }
            | Self::Idle { .. }
            | Self::Draining { .. }
            | Self::Paused { .. }
            | Self::Arena(_)
            | Self::Settings(_) => Some(Self::OfAccount {
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

    /// An everyday sentence that belongs to no game.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Note {
            severity: Severity::Info,
            game: None,
            text: text.into(),
        }
    }
}

/// What a player can offer the other, or ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A draw.
    Draw,
    /// That moves are taken back.
    Takeback,
}

/// An arena and how we stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// How far it has come.
    pub stage: ArenaStage,
    /// When it begins, while it has not.
    pub starts: Option<SystemTime>,
    /// Our place, if we are in it and it has begun.
    pub rank: Option<u32>,
    /// How many take part.
    pub players: u32,
    /// What we do about it, in words.
    pub text: String,
}

/// How far an arena has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArenaStage {
    /// It has not begun.
    Planned,
    /// It is on.
    Running,
    /// It is over, or we are out of it.
    Over,
}

impl ArenaStage {
    /// The word for it, on the page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Over => "over",
        }
    }
}

/// How bad a [`Event::Note`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something went wrong and was dealt with.
    Warning,
    /// Something went wrong that the operator has to look at.
    Error,
}

impl Severity {
    /// The word for it, in the records and on the page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Somebody who plays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Player {
    /// The name as the server writes it; `Stockfish level 3` for the server's own engine.
    pub name: String,
    /// `BOT`, `GM`, ...
    pub title: Option<String>,
    /// The rating for the game's speed and variant.
    pub rating: Option<u32>,
    /// Whether the rating is still uncertain.
    pub provisional: bool,
}

impl Player {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// How much time the players have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeControl {
    /// A chess clock.
    Clock {
        /// Time at the start.
        base: Duration,
        /// Time added with each move.
        increment: Duration,
    },
    /// These many days for each move.
    Days(u32),
    /// As long as they like.
    Unlimited,
}

/// As Lichess writes it: `3+2`, `½+0`, `1.5+0`, `3 days`, `unlimited`; a base that is no multiple of a quarter
/// minute in seconds, as in `10s+1`.
impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { base, increment } => {
                match base.as_secs() {
                    15 => write!(f, "¼")?,
                    30 => write!(f, "½")?,
                    45 => write!(f, "¾")?,
                    90 => write!(f, "1.5")?,
                    s if s % 60 == 0 => write!(f, "{}", s / 60)?,
                    s => write!(f, "{s}s")?,
                }
                write!(f, "+{}", increment.as_secs())
            }
            Self::Days(1) => write!(f, "1 day"),
            Self::Days(days) => write!(f, "{days} days"),
            Self::Unlimited => write!(f, "unlimited"),
        }
    }
}

/// A challenge and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Challenge {
    /// The challenge's id, which becomes the game's; nothing for one of ours that the server has not taken.
    pub id: String,
    /// Who challenges.
    pub from: Player,
    /// Whom; `None` for one that is open to all.
    pub to: Option<String>,
    /// The time control.
    pub time_control: TimeControl,
    /// Variant key: `standard`, `chess960`, `fromPosition`, ...
    pub variant: String,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// What became of it.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
}

/// What became of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It becomes a game.
    Accepted,
    /// It waits for a free slot.
    Queued,
    /// It was refused.
    Declined,
    /// Nothing was or will be answered: it was withdrawn, or the server has refused it or our answer.
    Dropped,
}

impl Decision {
    /// The word for it, in the records and on the page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Queued => "queued",
            Self::Declined => "declined",
            Self::Dropped => "dropped",
        }
    }
}

/// The head of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameStarted {
    /// The game's id.
    pub game: String,
    /// Who has White.
    pub white: Player,
    /// Who has Black.
    pub black: Player,
    /// Which of them we are.
    pub our_color: Color,
    /// `bullet`, `blitz`, `rapid`, `classical`, `correspondence`.
    pub speed: String,
    /// The time control.
    pub time_control: TimeControl,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// Variant key: `standard`, `chess960`, `fromPosition`.
    pub variant: String,
    /// Where the game starts, if not from the ordinary position.
    pub initial_fen: Option<String>,
    /// The tournament it is part of.
    pub tournament: Option<String>,
    /// How many moves were made before we took it up: 0 for a new game.
    pub plies: u32,
}

impl GameStarted {
    /// Who we are in it.
    pub fn us(&self) -> &Player {
        match self.our_color {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }
}

/// A move on the board.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The game's id.
    pub game: String,
    /// Which move it is, counted in plies from 1.
    pub ply: u32,
    /// The move in standard algebraic notation, with check and mate marks.
    pub san: String,
    /// The move as the server has it.
    pub uci: String,
    /// Who made it.
    pub by: Color,
    /// Whether we did.
    pub ours: bool,
    /// White's time left after it, in milliseconds; `None` where there is no clock or it is not known.
    pub wtime: Option<u64>,
    /// Black's.
    pub btime: Option<u64>,
    /// Why we made it: ours only.
    pub thought: Option<Report>,
    /// How quick we were: ours only.
    pub timing: Option<Timing>,
}

/// How quick a move of ours was, beside the time to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From the line of the stream that made it our turn to the start of the POST, thinking included.
    pub to_post: Duration,
    /// From the start of the POST to its answer.
    pub round_trip: Duration,
}

/// What we thought when we chose a move.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Where the move comes from.
    pub source: Source,
    /// How good it is for us; `None` when nobody looked (book, only move).
    pub score: Option<Score>,
    /// Depth in plies.
    pub depth: u32,
    /// Deepest line in plies.
    pub seldepth: u32,
    /// Positions looked at.
    pub nodes: u64,
    /// How full the hash table is, in permille.
    pub hashfull: u32,
    /// Of the positions that one move was enough to decide, how often it was the first that was tried, in permille.
    pub ordering: Option<u32>,
    /// Time spent.
    pub elapsed: Duration,
    /// The expected line in standard algebraic notation, beginning with the move itself.
    pub pv: Vec<String>,
}

/// Where a move of ours comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The opening book.
    Book,
    /// The engine.
    Search,
    /// There was no other.
    Only,
}

impl Source {
    /// The word for it, in the records and on the page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Book => "book",
            Self::Search => "search",
            Self::Only => "only",
        }
    }
}

/// How good a position is for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// In hundredths of a pawn.
    Centipawns(i32),
    /// Mate in so many of our moves; negative when it is we who get mated.
    Mate(i32),
}

/// `+0.35`, `-1.20`, `#4`, `#-3`.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Centipawns(cp) => {
                let sign = if cp < 0 { '-' } else { '+' };
                write!(
                    f,
                    "{sign}{}.{:02}",
                    cp.unsigned_abs() / 100,
                    cp.unsigned_abs() % 100
                )
            }
            Self::Mate(moves) => write!(f, "#{moves}"),
        }
    }
}

/// The end of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameFinished {
    /// The game's id.
    pub game: String,
    /// The server's word for it: `mate`, `resign`, `outoftime`, `stalemate`, `draw`, `aborted`, ...
    pub status: String,
    /// Who won; `None` for a draw and for a game that does not count.
    pub winner: Option<Color>,
    /// `1-0`, `0-1`, `1/2-1/2`, or `*` for a game that was aborted.
    pub result: String,
    /// How many moves were made, in plies.
    pub plies: u32,
    /// All of them as the server has them, with blanks between them: for who has missed some.
    pub moves: String,
}

impl GameFinished {
    /// Why it ended, in a word or two; the server's own word where it is none that we know. The board tells draws apart.
    pub fn reason(&self, board: Option<&Game>) -> String {
        let reason = match self.status.as_str() {
            "mate" => "checkmate",
            "resign" => "resignation",
            "stalemate" => "stalemate",
            "outoftime" if self.winner.is_none() => "time against bare king",
            "outoftime" => "out of time",
            "timeout" => "opponent left",
            "noStart" => "never started",
            "aborted" => "aborted",
            "cheat" => "cheating was detected",
            "insufficientMaterialClaim" => "insufficient material",
            "variantEnd" => "the rules of the variant",
            "unknownFinish" => "ended by Lichess",
            "unknown" => "an end that this version does not know",
            "draw" => match board {
                Some(board) if board.position().insufficient_material() => "insufficient material",
                Some(board) if board.position().halfmove_clock() >= 100 => "fifty moves",
                Some(board) if board.repetitions() >= 3 => "threefold repetition",
                _ => "agreement",
            },
            other => other,
        };
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(base: u64, increment: u64) -> String {
        TimeControl::Clock {
            base: Duration::from_secs(base),
            increment: Duration::from_secs(increment),
        }
        .to_string()
    }

    #[test]
    fn time_controls_read_as_on_lichess() {
        assert_eq!(clock(180, 2), "3+2");
        assert_eq!(clock(0, 1), "0+1");
        assert_eq!(clock(15, 0), "¼+0");
        assert_eq!(clock(30, 0), "½+0");
        assert_eq!(clock(90, 1), "1.5+1");
        assert_eq!(clock(10, 1), "10s+1");
        assert_eq!(TimeControl::Days(1).to_string(), "1 day");
        assert_eq!(TimeControl::Days(3).to_string(), "3 days");
    }

    #[test]
    fn scores_keep_their_sign_below_one_pawn() {
        assert_eq!(Score::Centipawns(-5).to_string(), "-0.05");
        assert_eq!(Score::Centipawns(0).to_string(), "+0.00");
        assert_eq!(Score::Centipawns(i32::MIN).to_string(), "-21474836.48");
        assert_eq!(Score::Mate(4).to_string(), "#4");
        assert_eq!(Score::Mate(-3).to_string(), "#-3");
    }
}
