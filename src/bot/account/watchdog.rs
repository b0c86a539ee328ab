//! The auditor: looks every second whether each game does what it owes, and helps where one does not.
//!
//! A game's task keeps its own promises ([`pending_move`](crate::bot::game::pending_move)): our turn implies that a search, a POST or a wait
//! with a deadline is in flight. This is the second pair of eyes, which trusts neither the task nor the stream. It finds
//! a debt with nothing in flight, and a game of which Lichess says that it is our turn while the task believes that
//! it is not. Either way the game opens its stream anew, and the first line of that settles what is true.

use std::time::{Duration, Instant, SystemTime};

use tracing::{debug, error, warn};

use super::{Account, LISTED, Seat};
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::game::GameCommand;
use crate::bot::game::status::{Activity, GameSnapshot, stream_status};
use crate::clock;
use crate::events;
use crate::lichess::Fate;
use crate::lichess::model::{ArenaId, GameInfo};
use crate::lichess::retry::Kind;
use crate::metrics::{ArenaStatus, EngineStatus, IdleStatus, LimitStatus, Live, Requests};

/// How often it is looked whether a short clock waits on a silent stream.
pub(super) const WORRY_EVERY: Duration = Duration::from_millis(250);

/// The least time between two questions whose turn it is, however many games worry: 60 a minute, where the proxy in
/// front of Lichess was seen to allow 180 requests from one address.
const QUESTIONS_APART: Duration = Duration::from_secs(1);

/// A debt with nothing in flight that lasts for this long is no mere moment between two steps.
const GRACE: Duration = Duration::from_millis(500);

/// How far the list of games and a stream may be apart in time. Both come from the same server; to open a stream for
/// nothing costs one round trip.
const SKEW: Duration = Duration::from_millis(500);

/// A line that was sent before the list may come after it, by this much at most on a line that is no good anyway.
const UNDER_WAY: Duration = Duration::from_millis(250);

/// How long a game that worries waits for Lichess to say whose turn it is.
const WORRY_PATIENCE: Duration = Duration::from_millis(1_500);

/// With less than this on our clock, a stream that has died without a word costs the game before its silence tells.
const SHORT: Duration = Duration::from_secs(30);

/// How long a game may wait on a silent stream before Lichess is asked whose turn it is: a stream is allowed seven seconds
/// of silence, and from one that has died, as long as this of our clock may be gone before we know.
fn patience(remaining: Duration) -> Duration {
    (remaining / 8).clamp(Duration::from_secs(1), Duration::from_secs(3))
}

/// Seconds from now on.
fn left(until: SystemTime, now: SystemTime) -> u64 {
    until.duration_since(now).unwrap_or_default().as_secs()
}

/// Whether a game waits for its opponent on a silent stream with so little time that Lichess is better asked whose turn
/// it is. Asked before in the same silence, it waits twice as long for the next time.
pub(super) fn worries(sight: &GameSnapshot, asked: Option<Instant>, now: Instant) -> bool {
    let Some((_, heard)) = &sight.stream else {
        return false;
    };
    let since_heard = |at: Instant| at.saturating_duration_since(heard.at());
    let before = asked.map_or(Duration::ZERO, since_heard);
    sight.clocked
        && sight.our_turn_since.is_none()
        && sight.remaining < SHORT
        && since_heard(now) >= patience(sight.remaining).max(2 * before)
}

/// Whether a game owes a move and does nothing about it.
pub(super) fn neglects(sight: &GameSnapshot, now: Instant) -> bool {
    sight.our_turn_since.is_some()
        && sight.activity == Activity::Listening
        && now.saturating_duration_since(sight.changed_at) > GRACE
}

/// Whether Lichess waits for our move, by a list that was asked for at `asked`, while the game's task waits for theirs
/// and has done so since well before.
pub(super) fn misses_a_turn(sight: &GameSnapshot, listed: &GameInfo, asked: Instant) -> bool {
    listed.is_my_turn
        && sight.stream.is_some()
        && !listed.status.is_over()
        && sight.our_turn_since.is_none()
        && !sight.no_move
        && asked.saturating_duration_since(sight.changed_at) > SKEW
}

impl Account {
    /// Asks whose turn it is if a short clock waits on a silent stream.
    pub(super) fn worry(&mut self) {
        let now = clock::now();
        let lately = self
            .worried
            .is_some_and(|at| now.saturating_duration_since(at) < QUESTIONS_APART);
        let worries = |seat: &Seat| worries(&seat.desk.snapshot(), self.worried, now);
        if !lately && self.games.values().any(worries) {
            self.worried = Some(now);
            let client = self.house.client.clone();
            self.errands.spawn(async move {
                let list = clock::timeout(WORRY_PATIENCE, client.playing(LISTED)).await;
                TaskResult::Overheard(now, list.ok().and_then(Result::ok))
            });
        }
    }

    /// Lichess does not say whose turn it is: the streams of the games that worry are opened anew, which says it too,
    /// over another connection.
    pub(super) fn look_where_it_worries(&self) {
        let now = clock::now();
        for seat in self.games.values() {
            if worries(&seat.desk.snapshot(), None, now) {
                let _ = seat.orders.send(GameCommand::Resync);
            }
        }
    }

    /// Has a game look at its stream if Lichess still seems to wait for our move.
    pub(super) fn recheck(&mut self, asked: Instant, info: &GameInfo) {
        if let Some(seat) = self.games.get(&info.id)
            && misses_a_turn(&seat.desk.snapshot(), info, asked)
        {
            warn!(game = %info.id, "Lichess waits for our move, its stream has not said so: opening it again");
            self.repairs += 1;
            let _ = seat.orders.send(GameCommand::Resync);
        }
    }

    /// Sees to it that every game does what it owes.
    pub(super) fn audit(&mut self) {
        let now = clock::now();
        for (id, seat) in &self.games {
            if neglects(&seat.desk.snapshot(), now) {
                error!(game = %id, "a move was owed and nothing done about it");
                self.repairs += 1;
                let _ = seat.orders.send(GameCommand::Recover);
            }
        }
    }

    /// Tells how things stand.
    pub(super) fn report(&self) {
        let tally = self.house.client.tally();
        let requests = Kind::ALL.map(|kind| Requests {
            kind: kind.to_string(),
            fates: Fate::ALL
                .map(|fate| (fate.key().to_owned(), tally.count(kind, fate)))
                .to_vec(),
        });
        let mut games: Vec<_> = self
            .games
            .iter()
            .map(|(id, seat)| seat.desk.snapshot().status(id.to_string()))
            .collect();
        games.sort_by(|a, b| a.id.cmp(&b.id));
        let engine = &self.house.settings.engine;
        self.metrics.live(Live {
            account: Some(self.house.me.to_string()),
            server: Some(self.house.settings.lichess.url.to_string()),
            stage: self.stop.stage().key(),
            paused: self.office.orders.paused,
            blocked: self
                .office
                .orders
                .blocked
                .iter()
                .map(ToString::to_string)
                .collect(),
            arenas: self.arenas(),
            challenges: self.open_challenges(),
            idle: self.idle_told.as_ref().map(|(why, next)| IdleStatus {
                why: why.clone(),
                next_s: next.map(|next| left(next, clock::date())),
            }),
            limits: self.limits(),
            stream: self
                .link
                .stream()
                .map(|(stream, since)| stream_status(&(since, stream.last_heard()))),
            games,
            requests: requests.to_vec(),
            repairs: self.repairs,
            stopped: None,
            engine: EngineStatus {
                hash_mib: engine.hash_mib as u64,
                threads: engine.thread_count() as u64,
                ..EngineStatus::default()
            },
        });
    }

    /// The arenas that we take part in, or mean to.
    fn arenas(&self) -> Vec<ArenaStatus> {
        let status = |(id, shown): (ArenaId, Option<events::Arena>)| {
            let told = shown.as_ref();
            ArenaStatus {
                id: id.to_string(),
                name: told.map(|told| told.name.clone()),
                state: told.map(|told| told.stage.key().to_owned()),
                rank: told.and_then(|told| told.rank),
                players: told.map_or(0, |told| told.players),
                text: told.map_or_else(String::new, |told| told.text.clone()),
            }
        };
        self.tournaments.shown().into_iter().map(status).collect()
    }

    /// What is used of what Lichess allows in a day.
    fn limits(&self) -> Vec<LimitStatus> {
        let date = clock::date();
        let told = Limit::TOLD.map(|(limit, what, multiple)| LimitStatus {
            what: what.to_owned(),
            multiple: multiple.map(str::to_owned),
            used: self.quota.used(limit, date).into(),
            of: limit.credits().into(),
            ends_s: self.quota.ends(limit, date).map(|ends| left(ends, date)),
        });
        told.to_vec()
    }

    /// Takes up what is on and not played, and has games look around that are played and not on.
    pub(super) fn compare(&mut self, list: Vec<GameInfo>, asked: Instant) {
        if list.len() < LISTED as usize {
            self.resting.listed(&list, asked);
            for (id, seat) in &self.games {
                // One that has begun since could not be listed.
                let open = seat.desk.snapshot().stream.is_some();
                if open && seat.since < asked && list.iter().all(|info| info.id != *id) {
                    debug!(game = %id, "not listed as being played, looking at its stream");
                    let _ = seat.orders.send(GameCommand::Resync);
                }
            }
        }
        for info in &list {
            if let Some(seat) = self.games.get(&info.id)
                && misses_a_turn(&seat.desk.snapshot(), info, asked)
            {
                let info = Box::new(info.clone());
                self.errands.spawn(async move {
                    clock::sleep(UNDER_WAY).await;
                    TaskResult::Recheck(asked, info)
                });
            }
        }
        for info in list {
            self.take_up(Box::new(info), asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::game::status::StatusCell;
    use crate::lichess::LastHeard;

    fn sight(owes: bool, doing: Activity) -> GameSnapshot {
        let desk = StatusCell::default();
        desk.update(|sight| {
            sight.our_turn_since = owes.then(Instant::now);
            sight.activity = doing;
        });
        desk.snapshot()
    }

    #[test]
    fn a_debt_with_nothing_in_flight_is_neglect_but_not_at_once() {
        let idle = sight(true, Activity::Listening);
        assert!(!neglects(
            &idle,
            idle.changed_at + Duration::from_millis(100)
        ));
        assert!(neglects(&idle, idle.changed_at + Duration::from_secs(1)));
        for doing in [Activity::Searching, Activity::Posting, Activity::Waiting] {
            let busy = sight(true, doing);
            assert!(!neglects(&busy, busy.changed_at + Duration::from_secs(60)));
        }
        let free = sight(false, Activity::Listening);
        assert!(!neglects(&free, free.changed_at + Duration::from_secs(60)));
    }

    #[test]
    fn a_short_clock_and_a_silent_stream_are_worth_a_question() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let waiting = |remaining, silent| GameSnapshot {
            remaining: ms(remaining),
            stream: Some((now, LastHeard::since(now - ms(silent)))),
            ..sight(false, Activity::Listening)
        };
        for (remaining, silent, worth) in [
            (2_000, 1_000, true),
            (2_000, 900, false),
            (12_000, 1_500, true),
            (12_000, 1_400, false),
            (29_000, 3_000, true),
            (29_000, 2_900, false),
            (60_000, 6_000, false),
        ] {
            let sight = waiting(remaining, silent);
            assert_eq!(worries(&sight, None, now), worth, "{remaining} {silent}");
        }
        let ours = GameSnapshot {
            our_turn_since: Some(now),
            ..waiting(10_000, 4_000)
        };
        assert!(!worries(&ours, None, now));
    }

    #[test]
    fn questions_in_one_silence_become_rarer() {
        let heard = Instant::now();
        let sight = GameSnapshot {
            remaining: Duration::from_secs(8),
            stream: Some((heard, LastHeard::since(heard))),
            ..sight(false, Activity::Listening)
        };
        let mut asked = Some(heard - Duration::from_secs(60));
        let mut times = Vec::new();
        for ms in (0..8_500).step_by(50) {
            let now = heard + Duration::from_millis(ms);
            if worries(&sight, asked, now) {
                asked = Some(now);
                times.push(ms);
            }
        }
        assert_eq!(times, [1_000, 2_000, 4_000, 8_000]);
    }

    #[test]
    fn a_list_that_is_older_than_the_stream_proves_nothing() {
        let listed = |is_my_turn: bool| -> GameInfo {
            let line = format!(
                r#"{{"gameId":"abcdefgh","fullId":"abcdefghxxxx","fen":"8/8/8/8/8/8/8/8 w - - 0 1","color":"white",
                "lastMove":"","source":"friend","status":{{"id":20,"name":"started"}},
                "variant":{{"key":"standard","name":"Standard"}},"speed":"blitz","perf":"blitz","rated":false,
                "hasMoved":true,"opponent":{{"id":"anna","username":"Anna","rating":1500}},
                "isMyTurn":{is_my_turn},"secondsLeft":60}}"#
            );
            serde_json::from_str(&line).unwrap()
        };
        let stream = Some((Instant::now(), LastHeard::since(Instant::now())));
        let closed = sight(false, Activity::Listening);
        let waiting = GameSnapshot {
            stream,
            ..closed.clone()
        };
        let late = waiting.changed_at + Duration::from_secs(10);
        let soon = waiting.changed_at + Duration::from_secs(1);
        assert!(misses_a_turn(&waiting, &listed(true), late));
        assert!(misses_a_turn(&waiting, &listed(true), soon));
        assert!(!misses_a_turn(&waiting, &listed(false), late));
        assert!(!misses_a_turn(&waiting, &listed(true), waiting.changed_at));
        // It is being opened anew, and about to tell.
        assert!(!misses_a_turn(&closed, &listed(true), late));
        let busy = sight(true, Activity::Searching);
        assert!(!misses_a_turn(&busy, &listed(true), late));
        // Its stream would say nothing else.
        let mated = GameSnapshot {
            no_move: true,
            ..waiting
        };
        assert!(!misses_a_turn(&mated, &listed(true), late));
    }
}
