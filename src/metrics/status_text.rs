//! Text form of the status, as `knightwatch status` prints it.

use std::fmt;

use super::Quantiles;
use super::status::{
    ArenaStatus, ExternalStatus, GameStatus, Health, LimitStatus, MatchStatus, OpenChallenge,
    Status,
};
use crate::plural;
use crate::seconds::{DAY, HOUR, MINUTE};

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

/// `Bruno to 3+2, rated`
impl fmt::Display for OpenChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.to, self.terms)
    }
}

/// `Rival, 3+2 rated standard: +3 =1 -2 of 40, Elo +60 ± 210; playing abcdefgh`
impl fmt::Display for MatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            won, drawn, lost, ..
        } = self;
        write!(
            f,
            "{}, {}: +{won} ={drawn} -{lost} of {}",
            self.opponent, self.terms, self.games
        )?;
        if let Some(elo) = self.elo {
            // Turns -0.0 into 0.0.
            write!(f, ", Elo {:+.0}", elo.round() + 0.0)?;
        }
        if let Some(error) = self.elo_error {
            write!(f, " ± {error:.0}")?;
        }
        write!(f, "; {}", self.state)
    }
}

/// Pairs in a line of a cross table.
const PAIRS_PER_LINE: usize = 20;

impl MatchStatus {
    /// Our points by color, a column for each pair.
    pub fn cross_table(&self) -> String {
        let points = |games: &[u8], at: usize| match games.get(at) {
            Some(2) => "  1",
            Some(1) => "  ½",
            Some(_) => "  0",
            None => "  ·",
        };
        let pairs = self.as_white.len().max(self.as_black.len());
        let mut text = String::new();
        for first in (0..pairs).step_by(PAIRS_PER_LINE) {
            let columns = || first..pairs.min(first + PAIRS_PER_LINE);
            let row = |name: &str, cell: &dyn Fn(usize) -> String| {
                let cells: String = columns().map(cell).collect();
                format!("  {name:<8}{cells}\n")
            };
            text += &row("pair", &|at| format!("{:>3}", at + 1));
            text += &row("as White", &|at| points(&self.as_white, at).to_owned());
            text += &row("as Black", &|at| points(&self.as_black, at).to_owned());
        }
        text
    }
}

/// Human-readable form.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = &self.live;
        let account = live.account.as_deref().unwrap_or("account not known yet");
        writeln!(
            f,
            "knightwatch {}, {account}, {}{}, up {}",
            self.version,
            if live.stage.is_empty() {
                "starting"
            } else {
                &live.stage
            },
            if live.paused {
                " but PAUSED: no new games until knightwatch resume"
            } else {
                ""
            },
            span(self.uptime_s)
        )?;
        match &self.health {
            Health::Ok => writeln!(f, "health   ok")?,
            Health::Unhealthy { reason } => writeln!(f, "health   UNHEALTHY: {reason}")?,
        }
        for warning in &self.warnings {
            writeln!(f, "WARNING  {warning}")?;
        }
        for account in &self.accounts {
            writeln!(f, "account  {}", account.summary_line())?;
        }
        match live.stream {
            _ if !self.accounts.is_empty() => {}
            Some(stream) => writeln!(
                f,
                "stream   open for {}, last data {:.1} s ago",
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
            "games    {} running; {} won, {} drawn, {} lost ({} on time), {} aborted",
            live.games.len(),
            c.won,
            c.drawn,
            c.lost,
            c.lost_on_time,
            c.aborted
        )?;
        for game in &live.games {
            writeln!(f, "  {}  {game}", game.id)?;
        }
        if !live.suspended_games.is_empty() {
            let count = plural::count(
                live.suspended_games.len(),
                "correspondence game",
                "correspondence games",
            );
            writeln!(f, "  {count} more, without an open stream")?;
        }
        for status in self.per_account() {
            if let Some(idle) = &status.live.idle {
                let next = idle
                    .next_s
                    .map(|next| format!("; next try in {}", span(next)));
                let next = next.unwrap_or_default();
                writeln!(
                    f,
                    "idle     {}{}{next}",
                    self.account_prefix(status),
                    idle.reason
                )?;
            }
            let seeking = if status.live.seeking { "on" } else { "off" };
            let prefix = self.account_prefix(status);
            writeln!(f, "seeking  {prefix}{seeking}")?;
            let limits: Vec<String> = status.live.limits.iter().map(ToString::to_string).collect();
            if !limits.is_empty() {
                writeln!(
                    f,
                    "limits   {}{}",
                    self.account_prefix(status),
                    limits.join(", ")
                )?;
            }
        }
        for challenge in &live.challenges {
            writeln!(f, "sent     {challenge}")?;
        }
        for one in live.matches.iter().filter(|one| !one.over) {
            writeln!(f, "match    {one}")?;
        }
        for arena in &live.arenas {
            writeln!(f, "arena    {arena}")?;
        }
        if !live.blocked.is_empty() {
            writeln!(f, "blocked  {}", live.blocked.join(", "))?;
        }
        writeln!(
            f,
            "moves    {} ({} from the book); POST {}; reaction {}",
            c.moves,
            c.book_moves,
            quantiles(self.latency.post_ms),
            quantiles(self.latency.reaction_ms)
        )?;
        match live.engine.threads {
            0 => write!(f, "engine   not started yet")?,
            threads => write!(
                f,
                "engine   {}, {} MiB hash ({}.{} % full), {:.2} Mn/s",
                plural::count(threads, "thread", "threads"),
                live.engine.hash_mib,
                live.engine.hashfull_permille / 10,
                live.engine.hashfull_permille % 10,
                live.engine.nodes_per_second as f64 / 1e6
            )?,
        }
        writeln!(f, "; {} MiB resident memory", self.memory_mib)?;
        for engine in &live.externals {
            writeln!(f, "         {engine}")?;
        }
        write!(f, "requests")?;
        let mut any = false;
        for requests in &live.requests {
            let counts: Vec<String> = requests
                .outcomes
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(outcome, count)| format!("{count} {outcome}"))
                .collect();
            if !counts.is_empty() {
                write!(
                    f,
                    "{} {}: {}",
                    if any { ";" } else { " " },
                    requests.kind,
                    counts.join(", ")
                )?;
                any = true;
            }
        }
        writeln!(f, "{}", if any { "" } else { " none" })?;
        write!(
            f,
            "problems {}, {}; {} declined",
            plural::count(
                live.stuck_game_recoveries,
                "recovery of a stuck game",
                "recoveries of stuck games"
            ),
            plural::count(c.errors, "error", "errors"),
            plural::count(c.declined, "challenge", "challenges")
        )
    }
}

/// `challenges 5 of 200 (one to a person counts 5; reset in 3 h 5 min)`
impl fmt::Display for LimitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.name, self.used, self.capacity)?;
        let reset = self
            .resets_in_s
            .map(|seconds| format!("reset in {}", span(seconds)));
        match (self.note.as_ref().filter(|_| self.used > 0), reset) {
            (Some(note), Some(reset)) => write!(f, " ({note}; {reset})"),
            (None, Some(reset)) => write!(f, " ({reset})"),
            (_, None) => Ok(()),
        }
    }
}

/// `stockfish (Stockfish 15.1): 2 of 2 processes ready, 40 moves, 0 by the embedded engine, 0 failures`
impl fmt::Display for ExternalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self.identity.as_deref().unwrap_or("not started");
        write!(
            f,
            "{} ({identity}): {} of {} ready, {}, {} by the embedded engine, {}",
            self.name,
            self.ready,
            plural::count(self.processes, "process", "processes"),
            plural::count(self.moves, "move", "moves"),
            self.fallbacks,
            plural::count(self.failures, "failure", "failures"),
        )?;
        match &self.last_failure {
            Some(why) => write!(f, ", the last one: {why}"),
            None => Ok(()),
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
        if !self.opponent.is_empty() {
            write!(f, " against {}", self.opponent)?;
        }
        if let Some(rating) = self.rating {
            write!(f, " ({rating})")?;
        }
        if let Some(time) = &self.time_control {
            write!(f, ", {time}")?;
        }
        if let Some(engine) = &self.engine {
            write!(f, ", engine {engine}")?;
        }
        if let (Some(ours), Some(theirs)) = (self.our_clock_ms, self.their_clock_ms) {
            write!(f, ", clocks {} and {}", clock(ours), clock(theirs))?;
        }
        if let Some(score) = &self.score {
            write!(f, ", {score}")?;
        }
        match self.our_turn_ms {
            Some(ms) => {
                let seconds = ms as f64 / 1_000.0;
                write!(f, ": our move for {seconds:.1} s, {}", self.activity)
            }
            None => f.write_str(": their move"),
        }
    }
}

/// A clock as `1:23` or `1:02:03`; below ten seconds with tenths.
fn clock(millis: u64) -> String {
    let (seconds, tenths) = (millis / 1_000, millis / 100 % 10);
    match (seconds / HOUR, seconds / MINUTE % 60, seconds % 60) {
        (0, 0, seconds) if seconds < 10 => format!("0:{seconds:02}.{tenths}"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

fn quantiles(quantiles: Quantiles) -> String {
    match quantiles.count {
        0 => "not measured yet".to_owned(),
        _ => format!(
            "{:.1} ms (median), {:.1} ms (99 %)",
            quantiles.p50, quantiles.p99
        ),
    }
}

/// A duration as `3 d 4 h`, `2 h 5 min` or `17 s`.
pub(super) fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / DAY, seconds / HOUR % 24, seconds / MINUTE % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}
