//! Games without a clock: dozens may be on, and each wants a few seconds of thinking in days.
//!
//! They rest here, without a stream and without a task. One is opened when it is our turn, the most urgent first and not all
//! at once; its task moves, waits a little for a quick answer, unless another game wants its place, and lets it rest again.
//! Whose turn it is, is known from the list of games that is asked for every minute anyway. Each is opened once for a moment
//! when it becomes known, so that whoever watches is told of it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::{Account, Seat};
use crate::bot::game;
use crate::bot::game::status::StatusCell;
use crate::bot::shutdown::Stage;
use crate::bot::trace::Traces;
use crate::clock;
use crate::lichess::model::{GameId, GameInfo};

/// A move that is due within this does not wait for games with a clock. One that is never due is as urgent as if it were due
/// so long after the opponent's.
const URGENT: Duration = Duration::from_secs(3_600);

/// While games with a clock are on, others wait for so long at most: they lend their threads to those anyway.
const IDLE_WITHIN: Duration = Duration::from_secs(600);

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Resting(HashMap<GameId, Rest>);

#[derive(Debug)]
struct Rest {
    info: Box<GameInfo>,
    desk: StatusCell,
    /// Since when it is as it is.
    since: Instant,
    /// It is over, and how has to be seen.
    over: bool,
    /// It has never been open, so that nobody has been told of it.
    untold: bool,
}

impl Rest {
    /// When our time is up.
    fn due(&self) -> Option<Instant> {
        self.since.checked_add(self.info.time_left?)
    }

    /// Whether there is anything to do. `busy`: games with a clock are on. In a game without any limit a person waits.
    fn wants(&self, busy: bool, now: Instant) -> bool {
        let urgent = self.due().is_none_or(|due| due <= now + URGENT);
        let waited = now.saturating_duration_since(self.since) >= IDLE_WITHIN;
        self.over
            || match self.info.is_my_turn {
                true => !busy || urgent || waited,
                false => self.untold,
            }
    }
}

impl Resting {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Which ones are here.
    pub fn ids(&self) -> impl Iterator<Item = &GameId> {
        self.0.keys()
    }

    /// Its task has done what there was to do.
    pub fn put(&mut self, mut info: Box<GameInfo>, desk: StatusCell, now: Instant) {
        info.is_my_turn = false;
        let rest = Rest {
            desk,
            since: now,
            over: false,
            untold: false,
            info,
        };
        self.0.insert(rest.info.id.clone(), rest);
    }

    /// Whether this one is here.
    pub fn knows(&self, id: &GameId) -> bool {
        self.0.contains_key(id)
    }

    /// Lichess says of a game that is not being played how it stood at that moment.
    pub fn note(&mut self, info: Box<GameInfo>, at: Instant) {
        let Some(rest) = self.0.get_mut(&info.id) else {
            let rest = Rest {
                desk: StatusCell::default(),
                since: at,
                over: false,
                untold: true,
                info,
            };
            info!(game = %rest.info.id, "a game without a clock against {}", rest.info.opponent.name);
            self.0.insert(rest.info.id.clone(), rest);
            return;
        };
        // What is older than our last move says nothing, and a wait goes on from its beginning.
        if at > rest.since && info.is_my_turn != rest.info.is_my_turn {
            rest.since = at;
            rest.info = info;
        }
    }

    /// A game is over; tells whether it rests here.
    pub fn finish(&mut self, id: &GameId) -> bool {
        let rest = self.0.get_mut(id);
        rest.map(|rest| rest.over = true).is_some()
    }

    /// All games that are on have been listed.
    pub fn listed(&mut self, list: &[GameInfo], asked: Instant) {
        for (id, rest) in &mut self.0 {
            rest.over |= rest.since < asked && list.iter().all(|info| info.id != *id);
        }
    }

    /// Whether a move of ours is wanted in one of them.
    pub fn owes(&self, busy: bool, now: Instant) -> bool {
        let mut wanting = self.0.values().filter(|rest| rest.wants(busy, now));
        wanting.any(|rest| rest.info.is_my_turn)
    }

    /// The game to be opened next, if any.
    pub fn next(&mut self, busy: bool, now: Instant) -> Option<(Box<GameInfo>, StatusCell)> {
        let wanting = self.0.values().filter(|rest| rest.wants(busy, now));
        let urgency = |rest: &&Rest| {
            let due = rest.due().unwrap_or(rest.since + URGENT);
            (!rest.over, !rest.info.is_my_turn, due, rest.since)
        };
        let id = wanting.min_by_key(urgency)?.info.id.clone();
        let rest = self.0.remove(&id)?;
        Some((rest.info, rest.desk))
    }
}

impl Account {
    /// Gives a game a task. One beyond the number that the operator wants is played too: a game that stands still is
    /// lost, one with less thinking need not be.
    pub(super) fn open(&mut self, info: Box<GameInfo>, desk: StatusCell) {
        let id = info.id.clone();
        let clocked = info.clock().is_some();
        let on = self.clocked();
        if clocked && on >= self.house.settings.games.concurrency {
            warn!(game = %id, "a game beyond the {on} wanted at once: all think less");
        }
        let (orders, inbox) = mpsc::unbounded_channel();
        let seat = Seat {
            orders,
            desk: desk.clone(),
            since: clock::now(),
            info: info.clone(),
            clocked,
        };
        if let Some(known) = self.ledger.known(&id) {
            desk.update(|sight| sight.challenge_facts = Some(known));
        }
        self.games.insert(id.clone(), seat);
        self.count();
        let mut house = self.house.clone();
        let opponent = &info.opponent.name;
        if self.house.settings.is_sister(opponent.as_str()) && self.house.me.id() > opponent.id() {
            // An arena has paired us with an account of ours, and one of the two tells of the game.
            house.events = house.events.alone();
            house.traces = Traces::default();
        }
        let task = game::play(
            house,
            id.clone(),
            Some(info),
            inbox,
            desk,
            self.stop.clone(),
        );
        let handle = self.tasks.spawn(task);
        self.names.insert(handle.id(), id);
    }

    /// Games with a clock that are on.
    pub(super) fn clocked(&self) -> usize {
        self.games.values().filter(|seat| seat.clocked).count()
    }

    /// So many of them are on now.
    pub(super) fn plays(&self, games: usize) {
        let before = self.house.games.swap(games, Ordering::Relaxed);
        self.house.hall.play(before, games);
    }

    /// From now on the hall is the other accounts'.
    pub(super) fn vacate(&self) {
        self.plays(0);
        let places = self.house.settings.games.concurrency;
        self.house.hall.want(places, 0);
    }

    /// Opens games without a clock in which there is something to do, so many at once.
    pub(super) fn look_after_resting(&mut self) {
        if self.resting.len() == 0 || self.stop.stage() != Stage::Running {
            return;
        }
        let clocked = self.clocked();
        let (mut open, now) = (self.games.len() - clocked, clock::now());
        while open < self.house.settings.correspondence.at_once
            && let Some((info, desk)) = self.resting.next(clocked > 0, now)
        {
            debug!(game = %info.id, "opening a game without a clock, {} rest", self.resting.len());
            self.open(info, desk);
            open += 1;
        }
        if self.resting.owes(clocked > 0, now) {
            for seat in self.games.values().filter(|seat| !seat.clocked) {
                // A task that has just ended makes room as well.
                let _ = seat.orders.send(game::GameCommand::Suspend);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY: u64 = 86_400;

    fn info(id: &str, ours: bool, seconds: Option<u64>) -> Box<GameInfo> {
        let info = json!({
            "gameId": id, "color": "white", "isMyTurn": ours, "secondsLeft": seconds, "speed": "correspondence",
        });
        Box::new(serde_json::from_value(info).unwrap())
    }

    fn ids(resting: &mut Resting, busy: bool, now: Instant) -> Vec<String> {
        let next = || resting.next(busy, now).map(|(info, _)| info.id.to_string());
        std::iter::from_fn(next).collect()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_most_urgent_comes_first_and_theirs_only_to_be_told_of() {
        let start = Instant::now();
        let games = || {
            let mut resting = Resting::default();
            for (id, ours, left) in [
                ("threeday", true, Some(3 * DAY)),
                ("nolimits", true, None),
                ("halfhour", true, Some(1_800)),
                ("theirs01", false, Some(60)),
                ("aday0001", true, Some(DAY)),
                ("finished", false, Some(DAY)),
            ] {
                resting.note(info(id, ours, left), start);
            }
            assert!(resting.finish(&"finished".parse().unwrap()));
            assert!(!resting.finish(&"stranger".parse().unwrap()));
            resting
        };
        let all = [
            "finished", "halfhour", "nolimits", "aday0001", "threeday", "theirs01",
        ];
        assert_eq!(ids(&mut games(), false, start), all);
        let now = ["finished", "halfhour", "nolimits", "theirs01"];
        assert_eq!(ids(&mut games(), true, start), now, "the others can wait");
        let later = start + IDLE_WITHIN;
        assert_eq!(ids(&mut games(), true, later), all, "but not for ever");
        let mut resting = Resting::default();
        resting.note(info("aday0001", true, Some(DAY)), start);
        resting.note(info("theirs01", false, None), start);
        assert!(resting.owes(false, start) && !resting.owes(true, start));
        resting.next(false, start);
        assert!(!resting.owes(false, start), "a look at it can wait");
    }

    #[test]
    fn an_old_list_says_nothing_about_a_game_that_was_moved_in_since() {
        let start = Instant::now();
        let mut resting = Resting::default();
        resting.put(
            info("thisgame", true, Some(DAY)),
            StatusCell::default(),
            start + seconds(5),
        );
        resting.note(info("thisgame", true, Some(DAY)), start);
        assert_eq!(ids(&mut resting, false, start + seconds(6)), [""; 0]);
        resting.note(info("thisgame", true, Some(DAY)), start + seconds(60));
        assert_eq!(ids(&mut resting, false, start + seconds(60)), ["thisgame"]);
        assert_eq!(resting.len(), 0);
    }

    #[test]
    fn what_is_listed_no_more_is_over() {
        let start = Instant::now();
        let mut resting = Resting::default();
        for (id, at) in [("oldgame1", 0), ("oldgame2", 0), ("newgame1", 9)] {
            let desk = StatusCell::default();
            resting.put(info(id, false, None), desk, start + seconds(at));
        }
        let listed = [*info("oldgame1", false, None)];
        resting.listed(&listed, start + seconds(5));
        assert_eq!(ids(&mut resting, false, start + seconds(10)), ["oldgame2"]);
    }
}
