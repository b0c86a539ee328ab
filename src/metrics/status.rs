//! How the daemon is doing, as one value: what `knightwatch status` gets and shows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Quantiles;
use crate::plural;

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// The number of its process.
    #[serde(default)]
    pub pid: u32,
    /// The server's address, once it is known who we are.
    #[serde(default)]
    pub server: Option<String>,
    /// Who we are, once that is known.
    pub account: Option<String>,
    /// `running`, `draining` or `leaving`; empty before the bot's loop runs.
    pub stage: String,
    /// The operator wants no new games for now.
    #[serde(default)]
    pub paused: bool,
    /// Whom the operator has blocked while the bot ran.
    #[serde(default)]
    pub blocked: Vec<String>,
    /// The arenas that we take part in.
    #[serde(default)]
    pub arenas: Vec<ArenaStatus>,
    /// Our own challenges that wait for an answer.
    #[serde(default)]
    pub challenges: Vec<OpenChallenge>,
    /// Why nothing is on, while nothing is.
    #[serde(default)]
    pub idle: Option<IdleStatus>,
    /// What is used of what Lichess allows.
    #[serde(default)]
    pub limits: Vec<LimitStatus>,
    /// Whether somebody should look.
    pub health: Health,
    /// Seconds since the start.
    pub up_s: u64,
    /// The account's stream, while it is open.
    pub stream: Option<StreamStatus>,
    /// Games that are on.
    pub games: Vec<GameStatus>,
    /// The longest time for which a move is owed at this moment, in milliseconds, thinking included.
    pub owed_ms: u64,
    /// What was counted since the start.
    pub counts: Counts,
    /// Requests by kind since the start.
    pub requests: Vec<Requests>,
    /// Games that the auditor had to help since the start.
    pub repairs: u64,
    /// How quick we are.
    pub latency: Latency,
    /// The engine.
    pub engine: EngineStatus,
    /// Resident memory in MiB.
    pub memory_mib: u64,
    /// The address of the page, without its key, while the page is open.
    #[serde(default)]
    pub page: Option<String>,
    /// Why this account of several has ended before it was told to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The same of each account, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<Status>,
}

/// Whether somebody should look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is")]
pub enum Health {
    /// No.
    Ok,
    /// Yes.
    Ill {
        /// Why, in words.
        why: String,
    },
}

/// Why nothing is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleStatus {
    /// In words.
    pub why: String,
    /// In how many seconds something is tried, where that is known.
    pub next_s: Option<u64>,
}

/// How much is used of one of the things that Lichess counts, in the window that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitStatus {
    /// Of what, such as `bot games`.
    pub what: String,
    /// Which calls count more than once, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiple: Option<String>,
    /// Credits used.
    pub used: u64,
    /// Credits there are.
    pub of: u64,
    /// In how many seconds all of them are there again; nothing when none is used.
    pub ends_s: Option<u64>,
}

/// An arena that we take part in, or mean to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaStatus {
    /// Its id.
    pub id: String,
    /// Its name; nothing until Lichess has said so.
    pub name: Option<String>,
    /// `planned`, `running` or `over`.
    pub state: Option<String>,
    /// Our place, once it has begun.
    pub rank: Option<u32>,
    /// How many take part.
    pub players: u32,
    /// Our part in it, in words.
    pub text: String,
}

/// `Friday Arena (may24bot), running, number 3 of 12, we are in it`
impl fmt::Display for ArenaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.id)?,
            None => f.write_str(&self.id)?,
        }
        if let Some(state) = &self.state {
            write!(f, ", {state}")?;
        }
        if let Some(rank) = self.rank {
            write!(f, ", number {rank} of {}", self.players)?;
        }
        match self.text.is_empty() {
            true => Ok(()),
            false => write!(f, ", {}", self.text),
        }
    }
}

/// A challenge of ours that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenChallenge {
    /// Its id, which becomes that of the game.
    pub id: String,
    /// Whom we challenge.
    pub to: String,
    /// To what, such as `3+2, rated`.
    pub what: String,
}

/// `Bruno to 3+2, rated`
impl fmt::Display for OpenChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.to, self.what)
    }
}

/// A stream that is open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamStatus {
    /// Seconds since it was opened.
    pub open_s: f64,
    /// Seconds since the last byte came; Lichess sends an empty line every seven.
    pub silent_s: f64,
}

/// A game that is on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameStatus {
    /// Its id.
    pub id: String,
    /// Who plays against us; empty until the stream has said so.
    pub opponent: String,
    /// The opponent's rating.
    #[serde(default)]
    pub rating: Option<i32>,
    /// Our colour, `white` or `black`.
    #[serde(default)]
    pub color: Option<String>,
    /// The time control, such as `3+2`.
    #[serde(default)]
    pub time: Option<String>,
    /// Our clock in milliseconds.
    #[serde(default)]
    pub our_clock_ms: Option<u64>,
    /// The opponent's.
    #[serde(default)]
    pub their_clock_ms: Option<u64>,
    /// The score of our latest search, for us, such as `+0.35`.
    #[serde(default)]
    pub score: Option<String>,
    /// Whether the game has a chess clock.
    pub clocked: bool,
    /// Half-moves on the board.
    pub ply: usize,
    /// `listening`, `searching`, `posting` or `waiting`.
    pub doing: String,
    /// For how many milliseconds we have owed a move; nothing when it is not our turn.
    pub owed_ms: Option<u64>,
    /// It has been owed for longer than anything explains.
    #[serde(default)]
    pub late: bool,
    /// Its stream, while it is open.
    pub stream: Option<StreamStatus>,
}

/// What was counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Times that the account's stream was opened.
    pub connects: u64,
    /// Challenges that were accepted.
    pub accepted: u64,
    /// Challenges that were declined.
    pub declined: u64,
    /// Games taken up.
    pub started: u64,
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost, for whatever reason.
    pub lost: u64,
    /// Games that were aborted or do not count.
    pub aborted: u64,
    /// Games lost because our own flag fell.
    pub flagged: u64,
    /// Moves of ours.
    pub moves: u64,
    /// Of them out of the book.
    pub book_moves: u64,
    /// Things that the operator has to look at.
    pub errors: u64,
}

/// Requests of one kind since the start, by what became of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// What they are for.
    pub kind: String,
    /// How many had each fate: `done`, `limited` (429), `refused` (other 4xx), `down` (5xx), `lost` (no answer).
    pub fates: Vec<(String, u64)>,
}

/// How quick we are, over the latest thousand moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// From the start of a move's POST to its answer.
    pub post_ms: Quantiles,
    /// From the line that makes it our turn to the start of the POST, less the thinking.
    pub reaction_ms: Quantiles,
}

/// The engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatus {
    /// The transposition table in MiB.
    pub hash_mib: u64,
    /// Search threads.
    pub threads: u64,
    /// Nodes per second of a game's search, the median of the latest.
    pub nodes_per_second: u64,
    /// How full the table was in the latest search, in permille.
    pub hashfull_permille: u32,
}

/// As a person reads it.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = self
            .account
            .as_deref()
            .unwrap_or("not known to Lichess yet");
        writeln!(
            f,
            "knightwatch {}, {account}, {}{}, up {}",
            self.version,
            if self.stage.is_empty() {
                "starting"
            } else {
                &self.stage
            },
            if self.paused {
                " but PAUSED: no new games until knightwatch resume"
            } else {
                ""
            },
            span(self.up_s)
        )?;
        match &self.health {
            Health::Ok => writeln!(f, "health   ok")?,
            Health::Ill { why } => writeln!(f, "health   ILL: {why}")?,
        }
        for account in &self.accounts {
            writeln!(f, "account  {}", account.line())?;
        }
        match self.stream {
            _ if !self.accounts.is_empty() => {}
            Some(stream) => writeln!(
                f,
                "stream   open for {}, last heard {:.1} s ago",
                span(stream.open_s as u64),
                stream.silent_s
            )?,
            None => writeln!(f, "stream   not open")?,
        }
        if let Some(page) = &self.page {
            writeln!(f, "page     {page} (with its key: knightwatch page)")?;
        }
        let c = &self.counts;
        writeln!(
            f,
            "games    {} on; {} won, {} drawn, {} lost ({} by our flag), {} aborted",
            self.games.len(),
            c.won,
            c.drawn,
            c.lost,
            c.flagged,
            c.aborted
        )?;
        for game in &self.games {
            writeln!(f, "  {}  {game}", game.id)?;
        }
        for status in self.each() {
            if let Some(idle) = &status.idle {
                let next = idle
                    .next_s
                    .map(|next| format!("; next try in {}", span(next)));
                let next = next.unwrap_or_default();
                writeln!(f, "idle     {}{}{next}", self.whose(status), idle.why)?;
            }
            let limits: Vec<String> = status.limits.iter().map(ToString::to_string).collect();
            if !limits.is_empty() {
                writeln!(f, "limits   {}{}", self.whose(status), limits.join(", "))?;
            }
        }
        for challenge in &self.challenges {
            writeln!(f, "asked    {challenge}")?;
        }
        for arena in &self.arenas {
            writeln!(f, "arena    {arena}")?;
        }
        if !self.blocked.is_empty() {
            writeln!(f, "blocked  {}", self.blocked.join(", "))?;
        }
        writeln!(
            f,
            "moves    {} ({} from the book); posts {}; our share {}",
            c.moves,
            c.book_moves,
            quantiles(self.latency.post_ms),
            quantiles(self.latency.reaction_ms)
        )?;
        writeln!(
            f,
            "engine   {}, {} MiB hash ({}.{} % full), {:.2} Mn/s; {} MiB of memory in all",
            plural::count(self.engine.threads, "thread", "threads"),
            self.engine.hash_mib,
            self.engine.hashfull_permille / 10,
            self.engine.hashfull_permille % 10,
            self.engine.nodes_per_second as f64 / 1e6,
            self.memory_mib
        )?;
        write!(f, "requests")?;
        let mut any = false;
        for requests in &self.requests {
            let told: Vec<String> = requests
                .fates
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(fate, count)| format!("{count} {fate}"))
                .collect();
            if !told.is_empty() {
                write!(
                    f,
                    "{} {}: {}",
                    if any { ";" } else { " " },
                    requests.kind,
                    told.join(", ")
                )?;
                any = true;
            }
        }
        writeln!(f, "{}", if any { "" } else { " none" })?;
        write!(
            f,
            "trouble  {}, {}, {} declined",
            plural::count(self.repairs, "repair", "repairs"),
            plural::count(c.errors, "error", "errors"),
            plural::count(c.declined, "challenge", "challenges")
        )
    }
}

impl Status {
    /// Whether this account of this server is played.
    pub fn plays(&self, account: &str, server: &str) -> bool {
        self.each().iter().any(|one| {
            let account = one
                .account
                .as_ref()
                .is_some_and(|name| name.eq_ignore_ascii_case(account));
            account && one.server.as_deref() == Some(server)
        })
    }

    /// What each account has for itself: this, or that of several.
    pub(super) fn each(&self) -> &[Self] {
        match self.accounts.is_empty() {
            true => std::slice::from_ref(self),
            false => &self.accounts,
        }
    }

    /// Of which account that is, where there are several.
    fn whose(&self, status: &Self) -> String {
        match self.accounts.is_empty() {
            true => String::new(),
            false => format!("{}: ", status.shown()),
        }
    }
}

/// `challenges 5 of 200 (one to a person counts 5; reset in 3 h 5 min)`
impl fmt::Display for LimitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.what, self.used, self.of)?;
        let reset = self.ends_s.map(|ends| format!("reset in {}", span(ends)));
        match (self.multiple.as_ref().filter(|_| self.used > 0), reset) {
            (Some(multiple), Some(reset)) => write!(f, " ({multiple}; {reset})"),
            (None, Some(reset)) => write!(f, " ({reset})"),
            (_, None) => Ok(()),
        }
    }
}

/// `move 12 with white against Anna (1500), 3+2, clocks 1:23 and 0:45, +0.35: our move for 0.4 s, searching`
impl fmt::Display for GameStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "move {}", self.ply / 2 + 1)?;
        if let Some(color) = &self.color {
            write!(f, " with {color}")?;
        }
        write!(f, " against {}", self.opponent)?;
        if let Some(rating) = self.rating {
            write!(f, " ({rating})")?;
        }
        if let Some(time) = &self.time {
            write!(f, ", {time}")?;
        }
        if let (Some(ours), Some(theirs)) = (self.our_clock_ms, self.their_clock_ms) {
            write!(f, ", clocks {} and {}", clock(ours), clock(theirs))?;
        }
        if let Some(score) = &self.score {
            write!(f, ", {score}")?;
        }
        match self.owed_ms {
            Some(owed) => {
                let seconds = owed as f64 / 1_000.0;
                write!(f, ": our move for {seconds:.1} s, {}", self.doing)
            }
            None => f.write_str(": their move"),
        }
    }
}

/// `1:23`, `1:02:03`; with tenths when little is left.
fn clock(millis: u64) -> String {
    let (seconds, tenths) = (millis / 1_000, millis / 100 % 10);
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) if seconds < 10 => format!("0:{seconds:02}.{tenths}"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

fn quantiles(of: Quantiles) -> String {
    match of.count {
        0 => "not measured yet".to_owned(),
        _ => format!("{:.1} ms (median), {:.1} ms (99 %)", of.p50, of.p99),
    }
}

/// `3 d 4 h`, `2 h 5 min`, `17 s`.
fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}
