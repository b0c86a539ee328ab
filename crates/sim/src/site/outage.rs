//! Faults of the whole site: restarts, skewed clocks and another notation of castling, and the task that applies timed
//! faults.

use std::time::Duration;

use crate::Sim;
use crate::faults::{GameProgress, SiteAction, Skew, StreamFault};
use crate::referee::{Centis, StateSnapshot, UNLIMITED_MILLIS};
use crate::round::COLORS;
use crate::site::state::SiteState;
use crate::site::time::SimTime;

/// Clock compensation of the side to move and of the other side when the site stops.
const STOP_COMPENSATION: [Centis; 2] = [Centis(200), Centis(100)];
/// Clock compensation of both sides when the site is up again.
const START_COMPENSATION: Centis = Centis(2_000);

/// Outage and clock skew of the site.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// End of the current outage.
    back_at: Option<SimTime>,
    skew: Option<(Skew, SimTime)>,
}

impl Outage {
    fn skew(&self, now: SimTime) -> (i64, i64) {
        self.skew
            .map_or((0, 0), |(skew, since)| skew.after(now.since(since)))
    }

    /// Time that the site reports.
    pub(crate) fn date(&self, now: SimTime) -> SimTime {
        SimTime(now.0 + self.skew(now).0)
    }

    /// Applies the skew to the clocks of a game.
    pub(crate) fn skewed_view(&self, view: StateSnapshot, now: SimTime) -> StateSnapshot {
        let (_, clocks) = self.skew(now);
        if clocks == 0 {
            return view;
        }
        let shift = |millis| match millis {
            UNLIMITED_MILLIS => millis,
            millis => (millis + clocks).max(0) / 10 * 10,
        };
        StateSnapshot {
            millis: view.millis.map(shift),
            ..view
        }
    }
}

impl SiteState {
    /// Stops the site for a while.
    fn go_down(&mut self, downtime: Duration, fault: StreamFault, now: SimTime) {
        for id in self.running.clone() {
            self.give_time(id, now, |to_move| STOP_COMPENSATION[usize::from(!to_move)]);
        }
        self.break_streams(None, None, [true; 2], fault);
        for challenge in self.challenges.values() {
            challenge.inject_fault(fault);
        }
        self.spectators.inject_fault(fault);
        self.outage.back_at = Some(now + downtime);
    }

    /// Returns whether the site is down. Starts it first if its outage is over.
    pub(crate) fn is_down(&mut self, now: SimTime) -> bool {
        let Some(back_at) = self.outage.back_at else {
            return false;
        };
        if now < back_at {
            return true;
        }
        self.outage.back_at = None;
        self.limits.clear();
        for id in self.running.clone() {
            if let Some(round) = self.rounds.get_mut(&id) {
                round.referee.on_site_restart(back_at);
            }
            self.give_time(id, now, |_| START_COMPENSATION);
        }
        false
    }

    /// Adds time to both clocks; the players see it at once or with the next state.
    fn give_time(
        &mut self,
        id: crate::site::id::GameId,
        now: SimTime,
        bonus: impl Fn(bool) -> Centis,
    ) {
        let is_pushed = self.quirks.gifts_push;
        // There is no request that could be refused.
        let _ = self.with_referee(
            id,
            |referee| {
                let turn = referee.turn();
                for color in COLORS {
                    referee.add_time(color, bonus(color == turn));
                }
                let mut ruling = referee.no_change();
                if is_pushed {
                    ruling.snapshots.push(referee.snapshot(now));
                }
                ruling
            },
            now,
        );
    }
}

impl Sim {
    /// Restarts the site: all streams break with this fault, requests are answered with 502 until it is up again, and
    /// players are compensated with some time.
    pub fn restart(&self, downtime: Duration, fault: StreamFault) {
        self.state().go_down(downtime, fault, self.time().now());
    }

    /// Waits until the site is up. Starts it if its outage is over.
    pub(crate) async fn wait_until_up(&self) {
        loop {
            let back_at = {
                let mut state = self.state();
                state.is_down(self.time().now());
                state.outage.back_at
            };
            match back_at {
                Some(moment) => self.time().sleep_until(moment).await,
                None => return,
            }
        }
    }

    /// Applies timed faults when they are due. Never returns.
    pub(crate) async fn run_site_faults(&self) {
        loop {
            let time = self.time().elapsed();
            let games = if self.faults().waits_for_ply() {
                self.state().progress()
            } else {
                Vec::new()
            };
            for action in self.faults().due_actions(time, &games) {
                self.apply_site_action(action);
            }
            let next = self.faults().next_due(time);
            let timer = async {
                match next {
                    Some(next) => self.time().sleep(next.saturating_sub(time)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = timer => {}
                () = self.faults().changed() => {}
                () = self.0.game_changed.notified() => {}
            }
        }
    }

    fn apply_site_action(&self, action: SiteAction) {
        tracing::debug!("scheduled fault: {action:?}");
        let now = self.time().now();
        let mut state = self.state();
        match action {
            SiteAction::Restart { downtime, streams } => state.go_down(downtime, streams, now),
            SiteAction::BreakStreams {
                events,
                games,
                user,
                game,
                fault,
            } => state.break_streams(user.as_deref(), game.as_deref(), [events, games], fault),
            SiteAction::Pair { players, clock } => {
                state.pair(players.each_ref().map(String::as_str), clock, &[], now);
            }
            SiteAction::Skew(skew) => state.outage.skew = skew.map(|skew| (skew, now)),
            SiteAction::Castling(castling) => {
                let castling = castling.unwrap_or(state.quirks.castling);
                state.castling = castling;
                for id in state.running.clone() {
                    if let Some(round) = state.rounds.get_mut(&id) {
                        round.referee.set_castling_notation(castling);
                    }
                }
            }
        }
    }
}

impl SiteState {
    /// Progress of the ongoing games.
    fn progress(&self) -> Vec<GameProgress> {
        let rounds = self.running.iter().filter_map(|id| self.rounds.get(id));
        rounds
            .map(|round| GameProgress {
                game: round.id.to_string(),
                users: round.sides.each_ref().map(|side| side.user.to_string()),
                plies: round.referee.plies(),
            })
            .collect()
    }
}
