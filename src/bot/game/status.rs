//! What a game's task shows of itself while it runs, for the auditor and for whoever asks.
//!
//! The task writes, others read; nobody waits.

use std::sync::{Arc, Mutex, PoisonError};
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

/// A move that is owed and not thought about for longer than this is worth an alarm.
const LATE: Duration = Duration::from_secs(120);

/// So is one that has been thought about for a greater share of the clock; no thought is to take as much.
const THOUGHT: f64 = 0.5;

/// Where one game's task shows how it is. Clones are the same desk.
#[derive(Clone, Debug)]
pub struct StatusCell(Arc<Mutex<GameSnapshot>>);

/// What is seen on a desk.
#[derive(Clone, Debug)]
pub struct GameSnapshot {
    /// Who plays against us; empty until the stream has said so.
    pub opponent: String,
    /// Our colour, the opponent's rating, the time control; nothing until the stream has said so.
    pub pairing: Option<Pairing>,
    /// How the clocks stood in the latest state; nothing in a game without them.
    pub clocks: Option<Clocks>,
    /// The score of our latest search, for us.
    pub score: Option<Score>,
    /// The game has a chess clock.
    pub clocked: bool,
    /// Half-moves on the board.
    pub ply: usize,
    /// It is our turn, and there is no legal move.
    pub no_move: bool,
    /// Since when it is our turn; nothing when it is not.
    pub owed_since: Option<Instant>,
    /// Since when it is not thought about, while it is our turn.
    pub unthought_since: Option<Instant>,
    /// What is in flight.
    pub doing: Activity,
    /// What our clock showed in the latest state.
    pub remaining: Duration,
    /// Since when the stream is open, and when it was last heard.
    pub stream: Option<(Instant, LastActivity)>,
    /// When any of this but the stream last changed.
    pub changed: Instant,
    /// The game is over, and one more is to be offered.
    pub encore: Option<RematchOffer>,
    /// The game rests, and this is known of it.
    pub notes: Option<Box<SuspendedGame>>,
    /// What was known of the challenge that the game comes from, if it was one to us.
    pub known: Option<ChallengeFacts>,
}

/// The kind of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Our colour.
    pub color: Color,
    /// The opponent's rating.
    pub rating: Option<i32>,
    /// The time control.
    pub time: String,
}

/// The clocks of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Time left on ours at that moment.
    pub ours: Duration,
    /// Time left on the opponent's.
    pub theirs: Duration,
    /// The moment of the state that said so.
    pub at: Instant,
    /// The clock of the side to move runs.
    pub run: bool,
}

impl Clocks {
    /// Time left on ours and on the opponent's by now, in milliseconds.
    fn left(self, is_our_turn: bool) -> (u64, u64) {
        let gone = match self.run {
            true => clock::since(self.at),
            false => Duration::ZERO,
        };
        let left = |time: Duration, runs: bool| {
            let left = if runs {
                time.saturating_sub(gone)
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

/// What is kept of a game while it rests.
#[derive(Clone, Debug)]
pub struct SuspendedGame {
    /// Its moves.
    pub sheet: GameMoves,
    /// What we felt.
    pub mood: ScoreTrend,
    /// Moves that the opponent got back.
    pub given_back: u32,
    /// What we thought about our last move.
    pub told: Option<(SearchInfo, Timing)>,
}

/// One more game with the same opponent.
#[derive(Clone, Debug)]
pub struct RematchOffer {
    /// Whom we challenge.
    pub to: Username,
    /// A person.
    pub human: bool,
    /// To what.
    pub what: NewChallenge,
}

/// What a game's task has in flight for the move it owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: it listens.
    Listening,
    /// A search is on.
    Searching,
    /// A POST is in flight.
    Posting,
    /// A wait with a deadline is on, after which one of these is.
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
            pairing: None,
            clocks: None,
            score: None,
            clocked: true,
            ply: 0,
            no_move: false,
            owed_since: None,
            unthought_since: None,
            doing: Activity::Listening,
            remaining: Duration::MAX,
            stream: None,
            changed: clock::now(),
            encore: None,
            notes: None,
            known: None,
        })))
    }
}

impl StatusCell {
    /// What is to be seen now.
    pub fn look(&self) -> GameSnapshot {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What was known of the game when it was left to rest.
    pub fn take_notes(&self) -> Option<Box<SuspendedGame>> {
        let mut sight = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sight.notes.take()
    }

    /// Shows something else.
    pub fn show(&self, change: impl FnOnce(&mut GameSnapshot)) {
        let mut sight = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = (sight.ply, sight.owed_since, sight.doing);
        change(&mut sight);
        if before != (sight.ply, sight.owed_since, sight.doing) {
            sight.changed = clock::now();
        }
        let is_unthought = sight.owed_since.is_some() && sight.doing != Activity::Searching;
        let since = sight.unthought_since.filter(|_| is_unthought);
        sight.unthought_since = is_unthought.then(|| since.unwrap_or_else(clock::now));
    }
}

impl GameSnapshot {
    /// For people and metrics.
    pub fn status(&self, id: String) -> GameStatus {
        let owed = self.owed_since.map(clock::since);
        let ours = owed.is_some() || self.no_move;
        let (our_clock_ms, their_clock_ms) = self.clocks.map(|it| it.left(ours)).unzip();
        let pairing = self.pairing.as_ref();
        GameStatus {
            id,
            opponent: self.opponent.clone(),
            color: pairing.map(|pairing| pairing.color.key().to_owned()),
            rating: pairing.and_then(|pairing| pairing.rating),
            time_control: pairing.map(|pairing| pairing.time.clone()),
            our_clock_ms,
            their_clock_ms,
            score: self.score.map(|score| score.to_string()),
            has_clock: self.clocked,
            ply: self.ply,
            activity: self.doing.key().to_owned(),
            our_turn_ms: owed.map(|owed| u64::try_from(owed.as_millis()).unwrap_or(u64::MAX)),
            overdue: self.is_late(clock::now()),
            stream: self.stream.as_ref().map(stream_status),
        }
    }

    /// Whether a move has been owed for so long that somebody should look.
    fn is_late(&self, now: Instant) -> bool {
        let (since, patience) = match (self.owed_since, self.unthought_since) {
            (Some(_), Some(since)) => (since, LATE),
            (Some(since), None) => (since, LATE.max(self.remaining.mul_f64(THOUGHT))),
            (None, _) => return false,
        };
        self.clocked && now.saturating_duration_since(since) > patience
    }
}

/// How long a stream has been open, and how long it has been silent.
pub fn stream_status((opened, heard): &(Instant, LastActivity)) -> StreamStatus {
    StreamStatus {
        open_s: clock::since(*opened).as_secs_f64(),
        silent_s: clock::since(heard.at()).as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_thought_is_not_late_and_neither_is_the_move_after_it() {
        let (second, began) = (Duration::from_secs(1), clock::now());
        let (desk, now) = (StatusCell::default(), |owed: Duration| began + owed);
        desk.show(|sight| {
            sight.owed_since = Some(began);
            sight.doing = Activity::Searching;
            sight.remaining = 5_400 * second;
        });
        let thinking = desk.look();
        assert!(!thinking.is_late(now(360 * second)));
        assert!(thinking.is_late(now(3_000 * second)));

        for idle in [Activity::Posting, Activity::Waiting, Activity::Listening] {
            desk.show(|sight| sight.doing = idle);
            let sight = desk.look();
            let ended = sight.unthought_since.unwrap();
            assert!(ended >= began && !sight.is_late(ended + 100 * second));
            assert!(sight.is_late(ended + 121 * second), "{idle:?}");
        }

        desk.show(|sight| sight.clocked = false);
        assert!(!desk.look().is_late(now(86_400 * second)));
        desk.show(|sight| (sight.clocked, sight.owed_since) = (true, None));
        assert!(!desk.look().is_late(now(86_400 * second)));
    }

    #[test]
    fn what_is_not_thought_about_counts_from_its_first_moment() {
        let desk = StatusCell::default();
        desk.show(|sight| sight.owed_since = Some(clock::now()));
        let since = desk.look().unthought_since;
        assert!(since.is_some());
        desk.show(|sight| sight.doing = Activity::Waiting);
        assert_eq!(desk.look().unthought_since, since);
        desk.show(|sight| sight.doing = Activity::Searching);
        assert_eq!(desk.look().unthought_since, None);
    }
}
