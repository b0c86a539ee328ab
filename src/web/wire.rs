//! JSON types of the web API.
//!
//! Times are milliseconds since 1970, durations milliseconds. Strings from the network are unchanged; the page never
//! interprets them as HTML.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::chess::{CastlingNotation, Position};
use crate::events::{self, Player, Score, TimeControl, win_probability};

/// A time in milliseconds since 1970.
pub(super) fn epoch_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// Settings of a chess clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct ClockSetting {
    pub base_ms: u64,
    pub increment_ms: u64,
    /// Time of each side before its first move.
    pub start_ms: u64,
}

/// Minimum initial time with a base time of 0, where Lichess adds the increment once.
const MIN_START_MS: u64 = 3_000;

impl ClockSetting {
    pub(super) fn of(time_control: TimeControl) -> Option<Self> {
        match time_control {
            TimeControl::Clock { limit, increment } => {
                let (base_ms, increment_ms) =
                    (u64::from(limit) * 1_000, u64::from(increment) * 1_000);
                Some(Self {
                    base_ms,
                    increment_ms,
                    start_ms: match base_ms {
                        0 => increment_ms.max(MIN_START_MS),
                        _ => base_ms,
                    },
                })
            }
            TimeControl::Correspondence { .. } | TimeControl::Unlimited | TimeControl::Unknown => {
                None
            }
        }
    }
}

/// A running or finished game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Game {
    pub id: String,
    pub url: String,
    pub white: Player,
    pub black: Player,
    pub ours: &'static str,
    pub speed: String,
    pub time_control: String,
    pub clock: Option<ClockSetting>,
    pub rated: bool,
    pub variant: String,
    pub tournament: Option<String>,
    /// Name of the external engine that plays for us; `None` for the embedded one.
    pub engine: Option<String>,
    pub start_fen: String,
    pub started: u64,
    pub moves: Vec<Move>,
    pub fen: String,
    pub check: bool,
    pub legal: Vec<String>,
    pub clocks: Clocks,
    pub thinking: Option<SearchInfo>,
    pub draw_offer: Option<&'static str>,
    /// Number of moves after which each side last offered a draw; Lichess limits how often.
    pub last_draw_offer: Sides,
    /// The side with an open takeback request.
    pub takeback: Option<&'static str>,
    /// Whether the bot may accept takebacks, as far as known.
    pub takebacks_allowed: bool,
    pub opponent_gone: bool,
    pub chat: VecDeque<ChatLine>,
    pub result: Option<GameResult>,
}

/// A number for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Sides {
    pub white: Option<u32>,
    pub black: Option<u32>,
}

/// A move of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Move {
    pub ply: u32,
    pub uci: String,
    pub san: String,
    pub fen: String,
    pub check: bool,
    pub by: &'static str,
    pub ours: bool,
    pub spent_ms: Option<u64>,
    pub white_ms: Option<u64>,
    pub black_ms: Option<u64>,
    pub thought: Option<SearchInfo>,
}

/// Both clocks at the time `at`, and the one that has been running since.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Clocks {
    pub white_ms: Option<u64>,
    pub black_ms: Option<u64>,
    pub at: u64,
    pub running: Option<&'static str>,
}

/// Chat room of offers and their answers.
pub(super) const GAME_ROOM: &str = "game";

/// A chat line, or an offer or answer in [`GAME_ROOM`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ChatLine {
    pub at: u64,
    /// Number of moves on the board.
    pub ply: Option<u32>,
    pub room: String,
    pub from: String,
    pub text: String,
}

/// Result of a game: for us, as a score, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GameResult {
    pub outcome: &'static str,
    pub score: String,
    pub status: String,
    pub text: String,
}

impl GameResult {
    /// The result of a game of which only the end is known; `text` says why.
    pub(super) fn unknown(text: &str) -> Self {
        Self {
            outcome: "unknown",
            score: "*".to_owned(),
            status: "unknownFinish".to_owned(),
            text: text.to_owned(),
        }
    }
}

/// Search information, from our point of view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SearchInfo {
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    pub cp: Option<i32>,
    pub mate: Option<i32>,
    pub win: Option<f64>,
    pub depth: u32,
    pub seldepth: u32,
    pub nodes: u64,
    pub nps: u64,
    pub hashfull: u32,
    pub ordering: Option<u32>,
    pub elapsed_ms: u64,
    pub pv: Vec<PvMove>,
}

/// A move of a principal variation and the position after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PvMove {
    pub san: String,
    pub uci: String,
    pub fen: String,
}

impl SearchInfo {
    /// Converts a report about this position, with at most `max_moves` moves of the principal variation.
    pub(super) fn of(
        info: &events::SearchInfo,
        position: &Position,
        notation: CastlingNotation,
        max_moves: usize,
    ) -> Self {
        let (cp, mate) = match info.score {
            Some(Score::Centipawns(cp)) => (Some(cp), None),
            Some(Score::Mate(moves)) => (None, Some(moves)),
            None => (None, None),
        };
        let per_second = info.nodes as f64 / info.elapsed.as_secs_f64();
        Self {
            source: info.source.key(),
            fallback: info.fallback.clone(),
            cp,
            mate,
            win: {
                let win = info.wdl.map(expected_score);
                let win = win.or_else(|| info.score.map(win_probability));
                win.map(|win| (win * 1e4).round() / 1e4)
            },
            depth: info.depth,
            seldepth: info.seldepth,
            nodes: info.nodes,
            nps: if info.elapsed.is_zero() {
                0
            } else {
                per_second as u64
            },
            hashfull: info.hashfull,
            ordering: info.ordering,
            elapsed_ms: info.elapsed.as_millis() as u64,
            pv: pv_moves(position, &info.pv, notation, max_moves),
        }
    }
}

/// Our expected score, 0 to 1, of wins, draws and losses.
fn expected_score(wdl: [u32; 3]) -> f64 {
    let [win, draw, loss] = wdl.map(f64::from);
    (win + draw / 2.0) / (win + draw + loss)
}

/// The legal beginning of a principal variation, at most `max_moves` moves.
fn pv_moves(
    position: &Position,
    sans: &[String],
    notation: CastlingNotation,
    max_moves: usize,
) -> Vec<PvMove> {
    let mut position = position.clone();
    let mut moves = Vec::with_capacity(sans.len().min(max_moves));
    for san in sans.iter().take(max_moves) {
        let Ok(mv) = position.parse_san(san) else {
            break;
        };
        position.play(mv);
        moves.push(PvMove {
            san: san.clone(),
            uci: mv.uci(notation).to_string(),
            fen: position.fen(),
        });
    }
    moves
}

/// A log entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Note {
    pub at: u64,
    pub severity: &'static str,
    pub game: Option<String>,
    /// Number of moves on its board.
    pub ply: Option<u32>,
    pub text: String,
}

/// A decision about a challenge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Challenge {
    pub at: u64,
    pub id: String,
    pub from: Player,
    pub to: Option<String>,
    pub time_control: String,
    pub variant: String,
    pub rated: bool,
    pub decision: String,
    pub reason: String,
}

impl Challenge {
    pub(super) fn of(challenge: &events::Challenge, at: u64) -> Self {
        Self {
            at,
            id: challenge.id.clone(),
            from: challenge.from.clone(),
            to: challenge.to.clone(),
            time_control: challenge.time_control.to_string(),
            variant: challenge.variant.clone(),
            rated: challenge.rated,
            decision: challenge.decision.key().to_owned(),
            reason: challenge.reason.clone(),
        }
    }
}

/// An arena and our standing in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Arena {
    pub id: String,
    /// Account, if there are several.
    pub account: Option<String>,
    pub name: String,
    pub stage: &'static str,
    pub starts: Option<u64>,
    pub rank: Option<u32>,
    /// Number of participants; 0 if unknown.
    pub players: u32,
    pub text: String,
}

impl Arena {
    pub(super) fn of(arena: &events::Arena, account: Option<&str>) -> Self {
        Self {
            id: arena.id.clone(),
            account: account.map(str::to_owned),
            name: arena.name.clone(),
            stage: arena.stage.key(),
            starts: arena.starts.map(epoch_ms),
            rank: arena.rank,
            players: arena.players,
            text: arena.text.clone(),
        }
    }

    /// Returns whether this is the same arena of the same account, as far as known.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let accounts = self.account.as_ref().zip(other.account.as_ref());
        self.id == other.id && accounts.is_none_or(|(one, two)| one == two)
    }
}

/// Effective settings of an account, as pairs of `section.key` and value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Settings {
    /// Account, if there are several.
    pub account: Option<String>,
    pub values: Vec<(String, String)>,
}

/// Why the event stream is closed, and the time of the next attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Offline {
    pub reason: String,
    pub retry_at: Option<u64>,
}

impl Offline {
    pub(super) fn of(reason: &str, retry_in: Option<Duration>, now: u64) -> Self {
        Self {
            reason: reason.to_owned(),
            retry_at: retry_in.map(|wait| now.saturating_add(wait.as_millis() as u64)),
        }
    }
}

/// Why no game is running, and the time of the next attempt to start one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Idle {
    pub reason: String,
    pub next: Option<u64>,
}

/// Status of an account, or of all accounts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Status {
    pub account: Option<Player>,
    pub online: bool,
    pub offline: Option<Offline>,
    pub idle: Option<Idle>,
    pub draining: Option<usize>,
    pub paused: bool,
    /// Status of each account, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Account>,
}

/// One account of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Account {
    pub name: String,
    #[serde(flatten)]
    pub status: Status,
}

/// User who can play against the bot on the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PlayUser {
    pub user: String,
    /// Whether the page shows them search information during their games.
    pub show_engine: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pv_moves_stop_at_illegal_move() {
        let castling =
            Position::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").expect("a position");
        let sans = ["O-O", "Ke7", "Qh5", "Kd7"].map(str::to_owned);
        let line = pv_moves(&castling, &sans, CastlingNotation::Standard, 16);
        let moves: Vec<&str> = line.iter().map(|mv| mv.uci.as_str()).collect();
        assert_eq!(moves, ["e1g1", "e8e7"]);
        assert_eq!(line[0].fen, "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1");
        assert_eq!(
            pv_moves(&castling, &sans, CastlingNotation::KingTakesRook, 1)[0].uci,
            "e1h1"
        );
    }

    #[test]
    fn results_that_an_engine_expects_give_the_win_probability() {
        let info = events::SearchInfo {
            score: Some(Score::Centipawns(300)),
            wdl: Some([100, 800, 100]),
            ..events::Moved::example("1", events::Source::Fallback)
                .search
                .expect("a search")
        };
        let start = Position::startpos();
        let info = SearchInfo::of(&info, &start, CastlingNotation::Standard, 1);
        assert_eq!(info.win, Some(0.5));
        assert_eq!(info.fallback.as_deref(), Some("stub: it has exited"));
    }
}
