//! Status of a running game, shared by its task with watchdog, metrics and operator commands.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::bot::game::draw_resign::ScoreTrend;
use crate::bot::game::moves::GameMoves;
use crate::bot::policy::ChallengeFacts;
use crate::chess::Color;
use crate::clock;
use crate::events::{Score, SearchInfo, Timing};
use crate::lichess::LastActivity;
use crate::lichess::model::{NewChallenge, Username};
use crate::metrics::{GameStatus, StreamStatus};
use crate::sync;

/// A pending move is late if no search runs for longer than this.
const MAX_IDLE: Duration = Duration::from_secs(120);

/// A pending move is late if its search has used more than this share of our clock.
const MAX_SEARCH_SHARE: f64 = 0.5;

/// Shared status of one game task. Clones share the same cell.
#[derive(Clone, Debug)]
pub(crate) struct StatusCell(Arc<Mutex<GameSnapshot>>);

/// Status of a game at one moment.
#[derive(Clone, Debug)]
pub(crate) struct GameSnapshot {
    /// Name of the opponent; empty until the first `gameFull`.
    pub opponent: String,
    /// Name of the external engine that plays; `None` for the embedded one.
    pub engine: Option<String>,
    /// Color, rating and time control; `None` until the first `gameFull`.
    pub pairing: Option<Pairing>,
    /// Clocks of the latest state; `None` in a game without a clock.
    pub clocks: Option<Clocks>,
    /// Score of our latest search, from our side.
    pub score: Option<Score>,
    /// Whether the game has a chess clock.
    pub clocked: bool,
    /// Plies played.
    pub ply: usize,
    /// It is our turn, and there is no legal move.
    pub no_move: bool,
    /// Start of our turn; `None` if no move is pending.
    pub our_turn_since: Option<Instant>,
    /// Start of the time without a search on our turn.
    pub idle_since: Option<Instant>,
    /// Activity of the task for the pending move.
    pub activity: Activity,
    /// Our clock in the latest state.
    pub remaining: Duration,
    /// When the stream was opened, and its last activity.
    pub stream: Option<(Instant, LastActivity)>,
    /// Last change of anything except the stream.
    pub changed_at: Instant,
    /// Rematch to offer after the game.
    pub rematch: Option<RematchOffer>,
    /// State of a suspended game.
    pub suspended: Option<Box<SuspendedGame>>,
    /// Facts about the incoming challenge that led to the game.
    pub challenge_facts: Option<ChallengeFacts>,
}

/// Color, rating and time control of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pairing {
    /// Our color.
    pub color: Color,
    /// The opponent's rating.
    pub rating: Option<i32>,
    /// Time control, `3+2`.
    pub time: String,
}

/// Clocks of a game at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// Time left on our clock.
    pub ours: Duration,
    /// Time left on the opponent's clock.
    pub theirs: Duration,
    /// Arrival of the state with these clocks.
    pub at: Instant,
    /// Whether the clock of the side to move runs.
    pub running: bool,
}

impl Clocks {
    /// Time left now on our clock and on the opponent's, in milliseconds.
    fn remaining_ms(self, is_our_turn: bool) -> (u64, u64) {
        let elapsed = match self.running {
            true => clock::since(self.at),
            false => Duration::ZERO,
        };
        let left = |time: Duration, runs: bool| {
            let left = if runs {
                time.saturating_sub(elapsed)
            } else {
                time
            };
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        };
        (
            left(self.ours, is_our_turn),
            left(self.theirs, !is_our_turn),
        )
    }
}

/// State kept of a correspondence game while it has no task.
#[derive(Clone, Debug)]
pub(crate) struct SuspendedGame {
    /// Moves of the game.
    pub moves: GameMoves,
    /// Recent scores.
    pub score_trend: ScoreTrend,
    /// Takebacks granted to the opponent.
    pub takebacks_granted: u32,
    /// Search information and timing of our last move.
    pub last_search: Option<(SearchInfo, Timing)>,
}

/// Rematch to offer to the opponent of a finished game.
#[derive(Clone, Debug)]
pub(crate) struct RematchOffer {
    /// The opponent.
    pub to: Username,
    /// Whether the opponent is human.
    pub human: bool,
    /// The challenge to send.
    pub challenge: NewChallenge,
}

/// Work in flight for the pending move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing; it listens to the stream.
    Listening,
    /// A search.
    Searching,
    /// A POST.
    Posting,
    /// A wait with a deadline, followed by one of the others.
    Waiting,
}

impl Activity {
    fn key(self) -> &'static str {
        match self {
            Self::Listening => "listening",
            Self::Searching => "searching",
            Self::Posting => "posting",
            Self::Waiting => "waiting",
        }
    }
}

impl Default for StatusCell {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(GameSnapshot {
            opponent: String::new(),
            engine: None,
            pairing: None,
            clocks: None,
            score: None,
            clocked: true,
            ply: 0,
            no_move: false,
            our_turn_since: None,
            idle_since: None,
            activity: Activity::Listening,
            remaining: Duration::MAX,
            stream: None,
            changed_at: clock::now(),
            rematch: None,
            suspended: None,
            challenge_facts: None,
        })))
    }
}

impl StatusCell {
    /// The current status.
    pub(crate) fn snapshot(&self) -> GameSnapshot {
        sync::lock(&self.0).clone()
    }

    /// Takes the state of a suspended game.
    pub(crate) fn take_suspended(&self) -> Option<Box<SuspendedGame>> {
        let mut snapshot = sync::lock(&self.0);
        snapshot.suspended.take()
    }

    /// Changes the status.
    pub(crate) fn update(&self, change: impl FnOnce(&mut GameSnapshot)) {
        let mut snapshot = sync::lock(&self.0);
        let before = (snapshot.ply, snapshot.our_turn_since, snapshot.activity);
        change(&mut snapshot);
        if before != (snapshot.ply, snapshot.our_turn_since, snapshot.activity) {
            snapshot.changed_at = clock::now();
        }
        let is_idle = snapshot.our_turn_since.is_some() && snapshot.activity != Activity::Searching;
        let since = snapshot.idle_since.filter(|_| is_idle);
        snapshot.idle_since = is_idle.then(|| since.unwrap_or_else(clock::now));
    }
}

impl GameSnapshot {
    /// The status for `status`, page and metrics.
    pub(crate) fn status(&self, id: String) -> GameStatus {
        let elapsed = self.our_turn_since.map(clock::since);
        let ours = elapsed.is_some() || self.no_move;
        let (our_clock_ms, their_clock_ms) = self.clocks.map(|it| it.remaining_ms(ours)).unzip();
        let pairing = self.pairing.as_ref();
        GameStatus {
            id,
            opponent: self.opponent.clone(),
            engine: self.engine.clone(),
            color: pairing.map(|pairing| pairing.color.key().to_owned()),
            rating: pairing.and_then(|pairing| pairing.rating),
            time_control: pairing.map(|pairing| pairing.time.clone()),
            our_clock_ms,
            their_clock_ms,
            score: self.score.map(|score| score.to_string()),
            has_clock: self.clocked,
            ply: self.ply,
            activity: self.activity.key().to_owned(),
            our_turn_ms: elapsed
                .map(|elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
            overdue: self.is_late(clock::now()),
            stream: self.stream.as_ref().map(stream_status),
        }
    }

    /// Returns whether a move has been pending for so long that an operator should look.
    fn is_late(&self, now: Instant) -> bool {
        let (since, limit) = match (self.our_turn_since, self.idle_since) {
            (Some(_), Some(since)) => (since, MAX_IDLE),
            (Some(since), None) => (
                since,
                MAX_IDLE.max(self.remaining.mul_f64(MAX_SEARCH_SHARE)),
            ),
            (None, _) => return false,
        };
        self.clocked && now.saturating_duration_since(since) > limit
    }
}

/// Ages of a stream and of its last line, in seconds.
pub(crate) fn stream_status((opened, heard): &(Instant, LastActivity)) -> StreamStatus {
    StreamStatus {
        open_s: clock::since(*opened).as_secs_f64(),
        silent_s: clock::since(heard.at()).as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_excludes_long_search_and_move_after_it() {
        let (second, began) = (Duration::from_secs(1), clock::now());
        let (status_cell, now) = (StatusCell::default(), |elapsed: Duration| began + elapsed);
        status_cell.update(|snapshot| {
            snapshot.our_turn_since = Some(began);
            snapshot.activity = Activity::Searching;
            snapshot.remaining = 5_400 * second;
        });
        let thinking = status_cell.snapshot();
        assert!(!thinking.is_late(now(360 * second)));
        assert!(thinking.is_late(now(3_000 * second)));

        for idle in [Activity::Posting, Activity::Waiting, Activity::Listening] {
            status_cell.update(|snapshot| snapshot.activity = idle);
            let snapshot = status_cell.snapshot();
            let ended = snapshot.idle_since.unwrap();
            assert!(ended >= began && !snapshot.is_late(ended + 100 * second));
            assert!(snapshot.is_late(ended + 121 * second), "{idle:?}");
        }

        status_cell.update(|snapshot| snapshot.clocked = false);
        assert!(!status_cell.snapshot().is_late(now(86_400 * second)));
        status_cell.update(|snapshot| (snapshot.clocked, snapshot.our_turn_since) = (true, None));
        assert!(!status_cell.snapshot().is_late(now(86_400 * second)));
    }

    #[test]
    fn idle_time_counts_from_first_idle_moment() {
        let status_cell = StatusCell::default();
        status_cell.update(|snapshot| snapshot.our_turn_since = Some(clock::now()));
        let since = status_cell.snapshot().idle_since;
        assert!(since.is_some());
        status_cell.update(|snapshot| snapshot.activity = Activity::Waiting);
        assert_eq!(status_cell.snapshot().idle_since, since);
        status_cell.update(|snapshot| snapshot.activity = Activity::Searching);
        assert_eq!(status_cell.snapshot().idle_since, None);
    }
}
