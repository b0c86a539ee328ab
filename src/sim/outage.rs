//! What happens to a whole site: restarts, clocks that are not right, another spelling of moves; and the clock by which
//! planted faults come.

use std::time::Duration;

use super::Sim;
use super::faults::{GameProgress, SiteAction, Skew, StreamFault};
use super::referee::{Centis, StateSnapshot, UNLIMITED_MILLIS};
use super::round::COLORS;
use super::time::Moment;
use super::world::World;

/// What the side to move and the other get when the site stops.
const STOP_GIFTS: [Centis; 2] = [Centis(200), Centis(100)];
/// What both get when it is there again.
const START_GIFT: Centis = Centis(2_000);

/// How it stands with the site as a whole.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// It is down until then.
    back_at: Option<Moment>,
    skew: Option<(Skew, Moment)>,
}

impl Outage {
    fn skew(&self, now: Moment) -> (i64, i64) {
        self.skew
            .map_or((0, 0), |(skew, since)| skew.after(now.since(since)))
    }

    /// What the site takes for the time.
    pub fn date(&self, now: Moment) -> Moment {
        Moment(now.0 + self.skew(now).0)
    }

    /// Clocks as the site shows them.
    pub fn shown(&self, view: StateSnapshot, now: Moment) -> StateSnapshot {
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

impl World {
    /// The site stops, and comes back later.
    fn go_down(&mut self, down: Duration, how: StreamFault, now: Moment) {
        for id in self.running.clone() {
            self.give(id, now, |to_move| STOP_GIFTS[usize::from(!to_move)]);
        }
        self.cut(None, None, [true; 2], how);
        for challenge in self.challenges.values() {
            challenge.break_off(how);
        }
        self.audience.break_off(how);
        self.outage.back_at = Some(now + down);
    }

    /// Whether the site is down. When its time has come it starts first.
    pub fn is_down(&mut self, now: Moment) -> bool {
        let Some(back_at) = self.outage.back_at else {
            return false;
        };
        if now < back_at {
            return true;
        }
        self.outage.back_at = None;
        self.limits.forget();
        for id in self.running.clone() {
            if let Some(round) = self.rounds.get_mut(&id) {
                round.referee.on_site_restart(back_at);
            }
            self.give(id, now, |_| START_GIFT);
        }
        false
    }

    /// Gives both sides time; the players see it at once or with the next state.
    fn give(&mut self, id: super::id::GameId, now: Moment, gift: impl Fn(bool) -> Centis) {
        let pushes = self.quirks.gifts_push;
        // Nothing is asked for, so nothing is refused.
        let _ = self.rule(
            id,
            |referee| {
                let turn = referee.turn();
                for color in COLORS {
                    referee.add_time(color, gift(color == turn));
                }
                let mut ruling = referee.no_change();
                if pushes {
                    ruling.snapshots.push(referee.view(now));
                }
                ruling
            },
            now,
        );
    }
}

impl Sim {
    /// Restarts the site: all streams break in this way, everything is answered 502 until it is back, and players get a
    /// little time for it.
    pub fn restart(&self, down: Duration, how: StreamFault) {
        self.world().go_down(down, how, self.time().now());
    }

    /// Waits until the site is up, which it is only when it has started.
    pub(super) async fn up(&self) {
        loop {
            let back_at = {
                let mut world = self.world();
                world.is_down(self.time().now());
                world.outage.back_at
            };
            match back_at {
                Some(moment) => self.time().sleep_until(moment).await,
                None => return,
            }
        }
    }

    /// Carries out planted faults when their time comes, for ever.
    pub(super) async fn keep_fault_clock(&self) {
        loop {
            let time = self.time().elapsed();
            let games = if self.faults().waits_for_ply() {
                self.world().progress()
            } else {
                Vec::new()
            };
            for action in self.faults().due_actions(time, &games) {
                self.carry_out(action);
            }
            let next = self.faults().next_due(time);
            let alarm = async {
                match next {
                    Some(next) => self.time().sleep(next.saturating_sub(time)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = alarm => {}
                () = self.faults().changed() => {}
                () = self.0.moved.notified() => {}
            }
        }
    }

    fn carry_out(&self, action: SiteAction) {
        tracing::debug!("scheduled fault: {action:?}");
        let now = self.time().now();
        let mut world = self.world();
        match action {
            SiteAction::Restart { downtime, streams } => world.go_down(downtime, streams, now),
            SiteAction::BreakStreams {
                events,
                games,
                user,
                game,
                fault,
            } => world.cut(user.as_deref(), game.as_deref(), [events, games], fault),
            SiteAction::Pair { players, clock } => {
                world.pair(players.each_ref().map(String::as_str), clock, &[], now);
            }
            SiteAction::Skew(skew) => world.outage.skew = skew.map(|skew| (skew, now)),
            SiteAction::Castling(castling) => {
                let castling = castling.unwrap_or(world.quirks.castling);
                world.castling = castling;
                for id in world.running.clone() {
                    if let Some(round) = world.rounds.get_mut(&id) {
                        round.referee.set_castling_notation(castling);
                    }
                }
            }
        }
    }
}

impl World {
    /// How far the games are that are on.
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
