//! Status of the daemon, as `knightwatch status` gets and shows it.

use serde::{Deserialize, Serialize};

use super::Quantiles;
use super::status_text::span;
use crate::events::RecordsState;
use crate::plural;

/// Current state of an account, written by the bot's main loop, or of several accounts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveState {
    /// URL of the server, once the account is known.
    pub server: Option<String>,
    /// Name of our account, once known.
    pub account: Option<String>,
    /// `running`, `draining` or `leaving`; empty while starting.
    pub stage: String,
    /// Paused by the operator: no new games.
    pub paused: bool,
    /// Whether matchmaking seeks games.
    pub seeking: bool,
    /// Users blocked by the operator at run time.
    pub blocked: Vec<String>,
    /// Arenas that we play or plan to play.
    pub arenas: Vec<ArenaStatus>,
    /// Our open challenges.
    pub challenges: Vec<OpenChallenge>,
    /// Matches of the operator, the latest first.
    pub matches: Vec<MatchStatus>,
    /// Why no game is running, if none is.
    pub idle: Option<IdleStatus>,
    /// Use of Lichess's daily limits.
    pub limits: Vec<LimitStatus>,
    /// The event stream, while it is open.
    pub stream: Option<StreamStatus>,
    /// Running games.
    pub games: Vec<GameStatus>,
    /// Ids of correspondence games without an open stream: in most of them it is the opponent's turn.
    #[serde(default)]
    pub suspended_games: Vec<String>,
    /// Requests by kind and outcome since the start.
    pub requests: Vec<RequestOutcomes>,
    /// Stuck games that the watchdog recovered since the start.
    pub stuck_game_recoveries: u64,
    /// State of the engine. The bot's main loop writes its size, the metrics add its speed.
    pub engine: EngineStatus,
    /// External engines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub externals: Vec<ExternalStatus>,
    /// Why this one of several accounts stopped, if because of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// Status of the daemon at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Process id.
    #[serde(default)]
    pub pid: u32,
    /// State of the account, or of all accounts.
    #[serde(flatten)]
    pub live: LiveState,
    /// Whether the bot needs attention.
    pub health: Health,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Longest time in milliseconds for which it has been our turn in a running game, thinking included.
    pub oldest_turn_ms: u64,
    /// Counters since the start.
    pub counts: Counts,
    /// Latency of our moves.
    pub latency: Latency,
    /// Resident memory in MiB.
    pub memory_mib: u64,
    /// URL of the page without its key, while it is open.
    pub page: Option<String>,
    /// State of the records, if they are enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsStatus>,
    /// Sentences about problems for the operator to correct, although games continue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Status of each account, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Status>,
}

/// Health of the bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is")]
pub enum Health {
    /// No attention needed.
    Ok,
    /// Needs the operator's attention.
    Unhealthy {
        /// Reason as a sentence.
        reason: String,
    },
}

/// State of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsStatus {
    /// Reason why they cannot be written; `None` while they can.
    pub failure: Option<String>,
    /// Seconds for which they could not be written; 0 while they can.
    pub failing_s: u64,
    /// Reason why PGN files cannot be written; `None` while they can.
    pub pgn_failure: Option<String>,
    /// Events that are missing in the records since the start.
    pub lost_events: u64,
}

impl RecordsStatus {
    pub(super) fn of(state: &RecordsState) -> Self {
        let failure = state.failure.as_ref();
        Self {
            failure: failure.map(|(reason, _)| reason.clone()),
            failing_s: failure.map_or(0, |(_, since)| since.elapsed().as_secs()),
            pgn_failure: state.pgn_failure.clone(),
            lost_events: state.lost,
        }
    }

    /// Warnings as sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        let failure = self.failure.as_ref().map(|reason| {
            let time = span(self.failing_s);
            format!("the records have not been written for {time}: {reason}")
        });
        let pgn = self.pgn_failure.as_ref();
        let pgn = pgn.map(|reason| format!("PGN files are not written: {reason}"));
        let lost = (self.lost_events > 0).then(|| {
            let events = plural::count(self.lost_events, "event is", "events are");
            format!("{events} missing in the records since the start")
        });
        [failure, pgn, lost].into_iter().flatten().collect()
    }
}

/// An external engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalStatus {
    /// Name in the configuration.
    pub name: String,
    /// Name that it reports, once it has started.
    pub identity: Option<String>,
    pub processes: u64,
    /// Those that are ready or at work.
    pub ready: u64,
    /// Moves that it has found.
    pub moves: u64,
    /// Moves that the embedded engine has found in its place.
    pub fallbacks: u64,
    /// Failures of its processes.
    pub failures: u64,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

/// Why no game is running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleStatus {
    /// Reason as a sentence.
    pub reason: String,
    /// Seconds until the next attempt to start a game, if one is planned.
    pub next_s: Option<u64>,
}

/// Use of a daily limit of Lichess in its current window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitStatus {
    /// Name, such as `bot games`.
    pub name: String,
    /// Note on requests that cost more than one credit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Credits used.
    pub used: u64,
    /// Credits allowed.
    pub capacity: u64,
    /// Seconds until the window ends; `None` if no credit is used.
    pub resets_in_s: Option<u64>,
}

impl LimitStatus {
    /// The name as a label of metrics and alerts, such as `bot_games`.
    pub fn label(&self) -> String {
        self.name.replace(' ', "_")
    }
}

/// An arena that we play or plan to play.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaStatus {
    pub id: String,
    /// Its name, once known.
    pub name: Option<String>,
    /// `planned`, `running` or `over`.
    pub state: Option<String>,
    /// Our rank, once it has started.
    pub rank: Option<u32>,
    /// Number of participants.
    pub players: u32,
    /// Our participation as a sentence.
    pub text: String,
}

/// An open challenge of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenChallenge {
    /// Id of the challenge and of its game.
    pub id: String,
    /// Challenged user.
    pub to: String,
    /// Time control and mode, such as `3+2, rated`.
    pub terms: String,
}

/// A match against one opponent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchStatus {
    pub opponent: String,
    /// Kind of game, such as `3+2 rated standard`.
    pub terms: String,
    /// Number of games in all.
    pub games: u32,
    /// Games won.
    pub won: usize,
    /// Games drawn.
    pub drawn: usize,
    /// Games lost.
    pub lost: usize,
    /// Elo difference to the opponent, by complete pairs.
    pub elo: Option<f64>,
    /// Half the width of its 95 % confidence interval, unless all pairs have ended alike.
    pub elo_error: Option<f64>,
    /// Whether no further game is wanted.
    pub over: bool,
    /// Current activity, or why it has ended.
    pub state: String,
    /// Our half points (0 to 2) in the games with White, in order.
    pub as_white: Vec<u8>,
    /// Those in the games with Black; the n-th games of both lists are a pair.
    pub as_black: Vec<u8>,
}

/// An open stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamStatus {
    /// Seconds since it was opened.
    pub open_s: f64,
    /// Seconds since the last byte; Lichess sends an empty line every seven seconds.
    pub silent_s: f64,
}

/// A running game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameStatus {
    pub id: String,
    /// Name of the opponent; empty until the stream has reported it.
    pub opponent: String,
    /// Name of the external engine that plays; `None` for the embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The opponent's rating.
    pub rating: Option<i32>,
    /// Our color, `white` or `black`.
    pub color: Option<String>,
    /// The time control, such as `3+2`.
    pub time_control: Option<String>,
    /// Our clock in milliseconds.
    pub our_clock_ms: Option<u64>,
    /// The opponent's clock in milliseconds.
    pub their_clock_ms: Option<u64>,
    /// Score of our latest search from our point of view, such as `+0.35`.
    pub score: Option<String>,
    /// Whether the game has a chess clock.
    pub has_clock: bool,
    /// Half-moves on the board.
    pub ply: usize,
    /// `listening`, `searching`, `posting` or `waiting`.
    pub activity: String,
    /// Milliseconds for which it has been our turn; `None` if it is not our turn.
    pub our_turn_ms: Option<u64>,
    /// Whether it has been our turn for longer than a search or an outage explains.
    #[serde(default)]
    pub overdue: bool,
    /// Its stream, while it is open.
    pub stream: Option<StreamStatus>,
}

#[cfg(test)]
impl GameStatus {
    /// A game with a clock.
    pub(crate) fn example(id: &str) -> Self {
        Self {
            engine: None,
            id: id.to_owned(),
            opponent: "Anna".to_owned(),
            rating: Some(1_500),
            color: Some("white".to_owned()),
            time_control: Some("3+2".to_owned()),
            our_clock_ms: Some(83_000),
            their_clock_ms: Some(9_300),
            score: Some("+0.35".to_owned()),
            has_clock: true,
            ply: 12,
            activity: "searching".to_owned(),
            our_turn_ms: None,
            overdue: false,
            stream: None,
        }
    }
}

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How often the event stream was opened.
    pub event_stream_opens: u64,
    /// Challenges accepted.
    pub accepted: u64,
    /// Challenges declined.
    pub declined: u64,
    /// Games started or resumed.
    pub started: u64,
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost.
    pub lost: u64,
    /// Games aborted.
    pub aborted: u64,
    /// Games lost because our clock ran out.
    pub lost_on_time: u64,
    /// Moves made by us.
    pub moves: u64,
    /// Of those, moves from the opening book.
    pub book_moves: u64,
    /// Our moves found by the embedded engine in place of an external one.
    #[serde(default)]
    pub fallback_moves: u64,
    /// Errors that the operator should look at.
    pub errors: u64,
}

/// Requests of one kind since the start, by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOutcomes {
    /// Kind of the requests.
    pub kind: String,
    /// Number of requests by outcome: `done`, `limited` (429), `refused` (other 4xx), `down` (5xx), `lost` (no response).
    pub outcomes: Vec<(String, u64)>,
}

/// Latency over the latest thousand moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// From the start of a move's POST to its response.
    pub post_ms: Quantiles,
    /// From the stream line that makes it our turn to the start of the POST, without thinking.
    pub reaction_ms: Quantiles,
}

/// State of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatus {
    /// Size of the transposition table in MiB.
    pub hash_mib: u64,
    /// Search threads.
    pub threads: u64,
    /// Nodes per second, median of the latest searches.
    pub nodes_per_second: u64,
    /// Use of the transposition table in the latest search, in permille.
    pub hashfull_permille: u32,
}

impl Status {
    /// Returns whether this process plays this account of this server.
    pub fn has_account(&self, account: &str, server: &str) -> bool {
        self.per_account().iter().any(|one| {
            let account = one
                .live
                .account
                .as_ref()
                .is_some_and(|name| name.eq_ignore_ascii_case(account));
            account && one.live.server.as_deref() == Some(server)
        })
    }

    /// Status of each account: of this one, or of each of several.
    pub(super) fn per_account(&self) -> &[Self] {
        match self.accounts.is_empty() {
            true => std::slice::from_ref(self),
            false => &self.accounts,
        }
    }

    /// Prefix that names the account of a line, if there are several.
    pub(super) fn account_prefix(&self, status: &Self) -> String {
        match self.accounts.is_empty() {
            true => String::new(),
            false => format!("{}: ", status.display_name()),
        }
    }
}
