//! Scheduler of games without a clock. Dozens may be running, each of which needs a few seconds of thinking in days.
//!
//! Suspended games have no stream and no task. A game is opened when it is our turn, the most urgent first and a
//! limited number at once. Its task moves, waits a little for a quick reply unless another game needs its place, and
//! is suspended again. Whose turn it is comes from the list of games, which is read every minute anyway. Each game is
//! opened once when it becomes known, so that its state is published.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tracing::info;

use crate::bot::game::status::StatusCell;
use crate::lichess::model::{GameId, GameInfo};
use crate::seconds::HOUR;

/// A move that is due within this time does not wait for games with a clock. A game without a deadline ranks as if
/// its move were due this long after the opponent's.
const URGENT_WITHIN: Duration = Duration::from_secs(HOUR);

/// While games with a clock are running, others wait this long at most: they yield their threads to those anyway.
const MAX_WAIT_FOR_CLOCKED: Duration = Duration::from_secs(600);

/// While Lichess lists only some of the running games, each list opens one game of which nothing has confirmed for this
/// long that it is running.
const MAX_UNCONFIRMED: Duration = Duration::from_secs(HOUR);

/// Other work of the account, which decides which games are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    /// No game with a clock is running.
    Idle,
    /// Games with a clock are running.
    Playing,
    /// The last games with a clock are finished, which may take hours. Then the bot exits.
    Draining,
}

/// Games without a task.
#[derive(Debug, Default)]
pub(super) struct SuspendedGames(HashMap<GameId, SuspendedGame>);

#[derive(Debug)]
struct SuspendedGame {
    info: Box<GameInfo>,
    status: StatusCell,
    /// Since when it has been in this state.
    since: Instant,
    /// It is over; its result is still to be read.
    over: bool,
    /// It is opened although it is not our turn: nothing was published yet, or it may be over.
    is_unknown: bool,
    /// When Lichess has listed it or its stream was open last.
    confirmed_at: Instant,
}

impl SuspendedGame {
    /// When our time runs out.
    fn deadline(&self) -> Option<Instant> {
        self.since.checked_add(self.info.time_left?)
    }

    /// Returns whether there is anything to do. In a game without any limit the opponent waits, unless the bot is about
    /// to exit.
    fn is_due(&self, workload: Workload, now: Instant) -> bool {
        let is_urgent = |due| due <= now + URGENT_WITHIN;
        let waited = now.saturating_duration_since(self.since) >= MAX_WAIT_FOR_CLOCKED;
        let is_our_turn = self.info.is_my_turn;
        match workload {
            Workload::Draining => is_our_turn && self.deadline().is_some_and(is_urgent),
            _ if self.over => true,
            _ if !is_our_turn => self.is_unknown,
            Workload::Playing => waited || self.deadline().is_none_or(is_urgent),
            Workload::Idle => true,
        }
    }
}

impl SuspendedGames {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &GameId> {
        self.0.keys()
    }

    /// Adds a game whose task has ended because there was nothing to do.
    pub(super) fn insert(&mut self, mut info: Box<GameInfo>, status: StatusCell, now: Instant) {
        info.is_my_turn = false;
        let suspended = SuspendedGame {
            status,
            since: now,
            over: false,
            is_unknown: false,
            confirmed_at: now,
            info,
        };
        self.0.insert(suspended.info.id.clone(), suspended);
    }

    pub(super) fn contains(&self, id: &GameId) -> bool {
        self.0.contains_key(id)
    }

    /// Updates a game without a task from what Lichess reported at this moment.
    pub(super) fn update(&mut self, info: Box<GameInfo>, at: Instant) {
        let Some(suspended) = self.0.get_mut(&info.id) else {
            let suspended = SuspendedGame {
                status: StatusCell::default(),
                since: at,
                over: false,
                is_unknown: true,
                confirmed_at: at,
                info,
            };
            info!(game = %suspended.info.id, "correspondence game against {}; it is opened when it is our turn", suspended.info.opponent.name);
            self.0.insert(suspended.info.id.clone(), suspended);
            return;
        };
        suspended.confirmed_at = suspended.confirmed_at.max(at);
        // A report older than our last move means nothing, and a wait goes on from its start.
        if at > suspended.since && info.is_my_turn != suspended.info.is_my_turn {
            suspended.since = at;
            suspended.info = info;
        }
    }

    /// Marks a game as over. Whether it is suspended here.
    pub(super) fn mark_over(&mut self, id: &GameId) -> bool {
        let suspended = self.0.get_mut(id);
        suspended.map(|suspended| suspended.over = true).is_some()
    }

    /// Handles the complete list of running games.
    pub(super) fn on_games_listed(&mut self, list: &[GameInfo], requested_at: Instant) {
        for (id, suspended) in &mut self.0 {
            suspended.over |=
                suspended.since < requested_at && list.iter().all(|info| info.id != *id);
        }
    }

    /// Handles a list of running games that is not complete: the game that was not confirmed for the longest time is
    /// opened, since its end may have been missed.
    pub(super) fn on_some_games_listed(&mut self, now: Instant) {
        let oldest = self.0.values_mut().min_by_key(|game| game.confirmed_at);
        if let Some(oldest) = oldest
            && now.saturating_duration_since(oldest.confirmed_at) >= MAX_UNCONFIRMED
        {
            oldest.is_unknown = true;
        }
    }

    /// Returns whether it is our turn in a game that is due.
    pub(super) fn has_our_turn(&self, workload: Workload, now: Instant) -> bool {
        let mut due = self.0.values().filter(|game| game.is_due(workload, now));
        due.any(|suspended| suspended.info.is_my_turn)
    }

    /// Removes the game to be opened next, if any.
    pub(super) fn take_next(
        &mut self,
        workload: Workload,
        now: Instant,
    ) -> Option<(Box<GameInfo>, StatusCell)> {
        let due = self.0.values().filter(|game| game.is_due(workload, now));
        let urgency = |suspended: &&SuspendedGame| {
            let due = suspended
                .deadline()
                .unwrap_or(suspended.since + URGENT_WITHIN);
            (
                !suspended.over,
                !suspended.info.is_my_turn,
                due,
                suspended.since,
            )
        };
        let id = due.min_by_key(urgency)?.info.id.clone();
        let suspended = self.0.remove(&id)?;
        Some((suspended.info, suspended.status))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::seconds::DAY;

    fn info(id: &str, ours: bool, seconds: Option<u64>) -> Box<GameInfo> {
        let info = json!({
            "gameId": id, "color": "white", "isMyTurn": ours, "secondsLeft": seconds, "speed": "correspondence",
        });
        Box::new(serde_json::from_value(info).unwrap())
    }

    fn ids(suspended: &mut SuspendedGames, workload: Workload, now: Instant) -> Vec<String> {
        let next = || {
            suspended
                .take_next(workload, now)
                .map(|(info, _)| info.id.to_string())
        };
        std::iter::from_fn(next).collect()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn correspondence_most_urgent_game_opens_first() {
        let start = Instant::now();
        let games = || {
            let mut suspended = SuspendedGames::default();
            for (id, ours, left) in [
                ("threeday", true, Some(3 * DAY)),
                ("nolimits", true, None),
                ("halfhour", true, Some(1_800)),
                ("theirs01", false, Some(60)),
                ("aday0001", true, Some(DAY)),
                ("finished", false, Some(DAY)),
            ] {
                suspended.update(info(id, ours, left), start);
            }
            assert!(suspended.mark_over(&"finished".parse().unwrap()));
            assert!(!suspended.mark_over(&"stranger".parse().unwrap()));
            suspended
        };
        let all = [
            "finished", "halfhour", "nolimits", "aday0001", "threeday", "theirs01",
        ];
        assert_eq!(ids(&mut games(), Workload::Idle, start), all);
        let now = ["finished", "halfhour", "nolimits", "theirs01"];
        assert_eq!(
            ids(&mut games(), Workload::Playing, start),
            now,
            "the others can wait"
        );
        let later = start + MAX_WAIT_FOR_CLOCKED;
        assert_eq!(
            ids(&mut games(), Workload::Playing, later),
            all,
            "but not for ever"
        );
        let urgent = ids(&mut games(), Workload::Draining, start);
        assert_eq!(urgent, ["halfhour"], "the rest after the restart");
        let mut suspended = SuspendedGames::default();
        suspended.update(info("aday0001", true, Some(DAY)), start);
        suspended.update(info("theirs01", false, None), start);
        assert!(
            suspended.has_our_turn(Workload::Idle, start)
                && !suspended.has_our_turn(Workload::Playing, start)
        );
        suspended.take_next(Workload::Idle, start);
        assert!(
            !suspended.has_our_turn(Workload::Idle, start),
            "a look at it can wait"
        );
    }

    #[test]
    fn correspondence_old_list_after_move_is_ignored() {
        let start = Instant::now();
        let mut suspended = SuspendedGames::default();
        suspended.insert(
            info("thisgame", true, Some(DAY)),
            StatusCell::default(),
            start + seconds(5),
        );
        suspended.update(info("thisgame", true, Some(DAY)), start);
        assert_eq!(
            ids(&mut suspended, Workload::Idle, start + seconds(6)),
            [""; 0]
        );
        suspended.update(info("thisgame", true, Some(DAY)), start + seconds(60));
        assert_eq!(
            ids(&mut suspended, Workload::Idle, start + seconds(60)),
            ["thisgame"]
        );
        assert_eq!(suspended.len(), 0);
    }

    #[test]
    fn correspondence_unlisted_game_is_over() {
        let start = Instant::now();
        let mut suspended = SuspendedGames::default();
        for (id, at) in [("oldgame1", 0), ("oldgame2", 0), ("newgame1", 9)] {
            let status = StatusCell::default();
            suspended.insert(info(id, false, None), status, start + seconds(at));
        }
        let listed = [*info("oldgame1", false, None)];
        suspended.on_games_listed(&listed, start + seconds(5));
        assert_eq!(
            ids(&mut suspended, Workload::Idle, start + seconds(10)),
            ["oldgame2"]
        );
    }

    #[test]
    fn correspondence_game_that_is_long_unlisted_is_opened() {
        let start = Instant::now();
        let mut suspended = SuspendedGames::default();
        for (id, at) in [("longago1", 0), ("listed01", 0), ("longago2", 1)] {
            let status = StatusCell::default();
            suspended.insert(info(id, false, None), status, start + seconds(at));
        }
        let later = start + MAX_UNCONFIRMED;
        suspended.update(info("listed01", false, None), later);
        suspended.on_some_games_listed(later - seconds(1));
        assert_eq!(ids(&mut suspended, Workload::Idle, later), [""; 0]);
        for id in ["longago1", "longago2"] {
            suspended.on_some_games_listed(later + seconds(1));
            assert_eq!(ids(&mut suspended, Workload::Idle, later), [id]);
        }
        suspended.on_some_games_listed(later + seconds(1));
        assert_eq!(ids(&mut suspended, Workload::Idle, later), [""; 0]);
    }
}
