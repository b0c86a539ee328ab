//! Watchdog of running games.
//!
//! The state machine of a game ([`pending_move`](crate::bot::game::pending_move)) guarantees that on our turn a
//! search, a POST or a wait with a deadline is in flight. The watchdog trusts neither the game task nor its stream.
//! It finds games that are stuck on our turn, and games in which it is our turn according to Lichess but not
//! according to the task. Either way the game opens its stream again, and the first line of the stream settles the
//! state.

use std::time::{Duration, Instant};

use tracing::{debug, error, warn};

use super::{Account, MAX_LISTED_GAMES};
use crate::backoff::Backoff;
use crate::bot::InjectedPanics;
use crate::bot::game::GameCommand;
use crate::bot::game::status::{Activity, GameSnapshot};
use crate::clock;
use crate::lichess::Error as Failure;
use crate::lichess::model::GameInfo;
use crate::lichess::retry::RequestKind;

/// Interval between checks for silent streams of games with a short clock.
pub(super) const PROBE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Minimum interval between probes, for all games together: 60 a minute, where the proxy in front of Lichess was seen
/// to allow 180 requests from one address.
const MIN_PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Intervals between probes without a response. The streams are opened again after each, so their silence starts over.
const PROBE_BACKOFF: Backoff = Backoff::new(MIN_PROBE_INTERVAL, Duration::from_secs(8));

/// A game may be on our turn with nothing in flight for this long, between two steps.
const IDLE_TURN_TOLERANCE: Duration = Duration::from_millis(500);

/// Maximum difference in time between the list of games and a stream. Both come from the same server; opening a
/// stream needlessly costs one round trip.
const MAX_LIST_SKEW: Duration = Duration::from_millis(500);

/// A line sent before the list may arrive later than it by this much. A slower connection is better replaced.
const RECHECK_DELAY: Duration = Duration::from_millis(250);

/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// With less than this on our clock, a stream that has died costs the game before its silence is noticed.
const SHORT_CLOCK: Duration = Duration::from_secs(30);

/// Silence of a stream after which a probe is sent. A stream may be silent for seven seconds; a dead one would cost
/// that much of our clock.
fn max_silence(remaining: Duration) -> Duration {
    (remaining / 8).clamp(Duration::from_secs(1), Duration::from_secs(3))
}

/// Returns whether a game waits for the opponent on a silent stream with so little time that a probe is needed. After a
/// probe in the same silence the next one waits twice as long.
fn needs_probe(snapshot: &GameSnapshot, last_probe: Option<Instant>, now: Instant) -> bool {
    let Some((_, activity)) = &snapshot.stream else {
        return false;
    };
    let since_activity = |at: Instant| at.saturating_duration_since(activity.at());
    let before = last_probe.map_or(Duration::ZERO, since_activity);
    snapshot.clocked
        && snapshot.our_turn_since.is_none()
        && snapshot.remaining < SHORT_CLOCK
        && since_activity(now) >= max_silence(snapshot.remaining).max(2 * before)
}

/// Returns whether it is our turn in a game and nothing is in flight.
fn is_stuck(snapshot: &GameSnapshot, now: Instant) -> bool {
    snapshot.our_turn_since.is_some()
        && snapshot.activity == Activity::Listening
        && now.saturating_duration_since(snapshot.changed_at) > IDLE_TURN_TOLERANCE
}

/// Returns whether it is our turn according to a list requested at `asked`, while the game task has waited for the
/// opponent since well before.
fn missed_turn(snapshot: &GameSnapshot, listed: &GameInfo, requested_at: Instant) -> bool {
    listed.is_my_turn
        && snapshot.stream.is_some()
        && !listed.status.is_over()
        && snapshot.our_turn_since.is_none()
        && !snapshot.no_move
        && requested_at.saturating_duration_since(snapshot.changed_at) > MAX_LIST_SKEW
}

/// State of the watchdog.
pub(super) struct Watchdog {
    /// When the last probe was sent.
    last_probe: Option<Instant>,
    /// Probes without a response in a row.
    unanswered_probes: u32,
    /// Recovered games.
    recoveries: u64,
    /// Test hook: panics on purpose.
    injected_panics: InjectedPanics,
}

impl Watchdog {
    pub(super) fn new(injected_panics: InjectedPanics) -> Self {
        Self {
            last_probe: None,
            unanswered_probes: 0,
            recoveries: 0,
            injected_panics,
        }
    }

    /// Returns whether the last probe is long enough ago for another one.
    fn may_probe(&self, now: Instant) -> bool {
        let interval = PROBE_BACKOFF.delay(self.unanswered_probes);
        self.last_probe
            .is_none_or(|at| now.saturating_duration_since(at) >= interval)
    }

    /// Number of recovered games.
    pub(super) fn recoveries(&self) -> u64 {
        self.recoveries
    }
}

/// Returns whether a heartbeat ends this count down, which it does once.
fn is_due(countdown: &mut Option<u64>) -> bool {
    let is_due = *countdown == Some(0);
    *countdown = countdown.and_then(|left| left.checked_sub(1));
    is_due
}

impl Account {
    /// Test hook: panics at the heartbeats that were asked for.
    pub(super) fn inject_panics(&mut self) {
        let injected = &mut self.watchdog.injected_panics;
        assert!(!is_due(&mut injected.account), "on purpose, for a test");
        if is_due(&mut injected.request) {
            let request = async { panic!("on purpose, for a test") };
            self.background.spawn(request, |_, ()| {});
        }
    }

    /// Sends a probe if a game with a short clock waits on a silent stream, unless queries are paused.
    pub(super) fn probe_silent_games(&mut self) {
        let now = clock::now();
        let last = self.watchdog.last_probe;
        let is_paused = || {
            let left = self.ctx.client.remaining_pause(RequestKind::Query);
            left.is_some()
        };
        let mut games = self.games.iter();
        if !self.watchdog.may_probe(now)
            || !games.any(|(_, running)| needs_probe(&running.snapshot(), last, now))
            || is_paused()
        {
            return;
        }
        self.watchdog.last_probe = Some(now);
        let client = self.ctx.client.clone();
        let request = async move {
            let list =
                clock::timeout(PROBE_TIMEOUT, client.playing_unqueued(MAX_LISTED_GAMES)).await;
            list.unwrap_or(Err(Failure::Timeout(PROBE_TIMEOUT)))
        };
        self.background
            .spawn(request, move |account, list| account.on_probed(list, now));
    }

    fn on_probed(&mut self, list: Result<Vec<GameInfo>, Failure>, requested_at: Instant) {
        match list {
            Ok(list) => {
                self.watchdog.unanswered_probes = 0;
                self.reconcile_games(list, requested_at);
            }
            Err(Failure::Timeout(_) | Failure::Network { .. }) => {
                self.watchdog.unanswered_probes = self.watchdog.unanswered_probes.saturating_add(1);
                self.resync_silent_games();
            }
            // A refusal says nothing about the streams.
            Err(failure) => debug!("cannot check the silent games: {failure}"),
        }
    }

    /// Opens the streams of silent games again after a probe without a response: the first line says whose turn it is,
    /// over another connection.
    fn resync_silent_games(&self) {
        let now = clock::now();
        for (_, running) in self.games.iter() {
            if needs_probe(&running.snapshot(), None, now) {
                running.send(GameCommand::Resync);
            }
        }
    }

    /// Resyncs a game if it still seems to be our turn.
    fn recheck(&mut self, requested_at: Instant, info: &GameInfo) {
        if let Some(running) = self.games.get(&info.id)
            && missed_turn(&running.snapshot(), info, requested_at)
        {
            warn!(game = %info.id, "Lichess waits for our move, but the stream has not reported it; opening the stream again");
            self.watchdog.recoveries += 1;
            running.send(GameCommand::Resync);
        }
    }

    /// Recovers games that are stuck on our turn.
    pub(super) fn recover_stuck_games(&mut self) {
        let now = clock::now();
        for (id, running) in self.games.iter() {
            if is_stuck(&running.snapshot(), now) {
                error!(name: "move_stuck", game = %id, "game stuck on our turn; recovering");
                self.watchdog.recoveries += 1;
                running.send(GameCommand::Recover);
            }
        }
    }

    /// Starts games that are listed but not running, and resyncs games that are running but not listed.
    pub(super) fn reconcile_games(&mut self, list: Vec<GameInfo>, requested_at: Instant) {
        let is_complete = list.len() < MAX_LISTED_GAMES as usize;
        if is_complete {
            self.games.on_listed(&list, requested_at);
        }
        self.forget_old_games(&list);
        for info in &list {
            if let Some(running) = self.games.get(&info.id)
                && missed_turn(&running.snapshot(), info, requested_at)
            {
                let info = Box::new(info.clone());
                self.background
                    .spawn(clock::sleep(RECHECK_DELAY), move |account, ()| {
                        account.recheck(requested_at, &info);
                    });
            }
        }
        for info in list {
            self.start_game(Box::new(info), requested_at);
        }
        if is_complete {
            self.release_expired(requested_at);
        } else {
            self.games.on_some_listed(clock::now());
            // They may have become games that are not listed, which count.
            self.games.slots.take_expired(requested_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::game::status::StatusCell;
    use crate::lichess::LastActivity;

    fn snapshot(owes: bool, doing: Activity) -> GameSnapshot {
        let status = StatusCell::default();
        status.update(|snapshot| {
            snapshot.our_turn_since = owes.then(Instant::now);
            snapshot.activity = doing;
        });
        status.snapshot()
    }

    #[test]
    fn watchdog_idle_turn_is_stuck_after_tolerance() {
        let idle = snapshot(true, Activity::Listening);
        assert!(!is_stuck(
            &idle,
            idle.changed_at + Duration::from_millis(100)
        ));
        assert!(is_stuck(&idle, idle.changed_at + Duration::from_secs(1)));
        for doing in [Activity::Searching, Activity::Posting, Activity::Waiting] {
            let busy = snapshot(true, doing);
            assert!(!is_stuck(&busy, busy.changed_at + Duration::from_secs(60)));
        }
        let free = snapshot(false, Activity::Listening);
        assert!(!is_stuck(&free, free.changed_at + Duration::from_secs(60)));
    }

    #[test]
    fn watchdog_short_clock_and_silence_needs_probe() {
        let now = Instant::now();
        let ms = Duration::from_millis;
        let waiting = |remaining, silent| GameSnapshot {
            remaining: ms(remaining),
            stream: Some((now, LastActivity::since(now - ms(silent)))),
            ..snapshot(false, Activity::Listening)
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
            let snapshot = waiting(remaining, silent);
            assert_eq!(
                needs_probe(&snapshot, None, now),
                worth,
                "{remaining} {silent}"
            );
        }
        let ours = GameSnapshot {
            our_turn_since: Some(now),
            ..waiting(10_000, 4_000)
        };
        assert!(!needs_probe(&ours, None, now));
    }

    #[test]
    fn watchdog_probes_in_one_silence_back_off() {
        let received = Instant::now();
        let snapshot = GameSnapshot {
            remaining: Duration::from_secs(8),
            stream: Some((received, LastActivity::since(received))),
            ..snapshot(false, Activity::Listening)
        };
        let mut requested_at = Some(received - Duration::from_secs(60));
        let mut times = Vec::new();
        for ms in (0..8_500).step_by(50) {
            let now = received + Duration::from_millis(ms);
            if needs_probe(&snapshot, requested_at, now) {
                requested_at = Some(now);
                times.push(ms);
            }
        }
        assert_eq!(times, [1_000, 2_000, 4_000, 8_000]);
    }

    #[test]
    fn watchdog_unanswered_probes_back_off_over_reopened_streams() {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(InjectedPanics::default());
        let mut snapshot = GameSnapshot {
            remaining: Duration::from_secs(8),
            ..snapshot(false, Activity::Listening)
        };
        let mut times = Vec::new();
        let mut reopened_at = start;
        for ms in (0..24_000).step_by(50) {
            let now = start + Duration::from_millis(ms);
            snapshot.stream = Some((reopened_at, LastActivity::since(reopened_at)));
            if watchdog.may_probe(now) && needs_probe(&snapshot, watchdog.last_probe, now) {
                watchdog.last_probe = Some(now);
                watchdog.unanswered_probes += 1;
                reopened_at = now;
                times.push(ms);
            }
        }
        assert_eq!(times, [1_000, 3_000, 7_000, 15_000, 23_000]);
    }

    #[test]
    fn watchdog_list_older_than_stream_is_ignored() {
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
        let stream = Some((Instant::now(), LastActivity::since(Instant::now())));
        let closed = snapshot(false, Activity::Listening);
        let waiting = GameSnapshot {
            stream,
            ..closed.clone()
        };
        let late = waiting.changed_at + Duration::from_secs(10);
        let soon = waiting.changed_at + Duration::from_secs(1);
        assert!(missed_turn(&waiting, &listed(true), late));
        assert!(missed_turn(&waiting, &listed(true), soon));
        assert!(!missed_turn(&waiting, &listed(false), late));
        assert!(!missed_turn(&waiting, &listed(true), waiting.changed_at));
        // The stream is being opened and will report the state.
        assert!(!missed_turn(&closed, &listed(true), late));
        let busy = snapshot(true, Activity::Searching);
        assert!(!missed_turn(&busy, &listed(true), late));
        // The stream would not report anything else.
        let mated = GameSnapshot {
            no_move: true,
            ..waiting
        };
        assert!(!missed_turn(&mated, &listed(true), late));
    }
}
