//! What happens to a whole site: restarts, clocks that are not right, another spelling of moves; and the clock by which
//! planted faults come.

use std::time::Duration;

use crate::sim::Sim;
use crate::sim::faults::{Deed, Progress, Skew, StreamFault};
use crate::sim::referee::{Centis, UNLIMITED_MILLIS, View};
use crate::sim::round::COLORS;
use crate::sim::site::state::World;
use crate::sim::site::time::Moment;

/// What the side to move and the other get when the site stops.
const STOP_GIFTS: [Centis; 2] = [Centis(200), Centis(100)];
/// What both get when it is there again.
const START_GIFT: Centis = Centis(2_000);

/// How it stands with the site as a whole.
#[derive(Debug, Default)]
pub(in crate::sim) struct Outage {
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
    pub fn shown(&self, view: View, now: Moment) -> View {
        let (_, clocks) = self.skew(now);
        if clocks == 0 {
            return view;
        }
        let shift = |millis| match millis {
            UNLIMITED_MILLIS => millis,
            millis => (millis + clocks).max(0) / 10 * 10,
        };
        View {
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
                round.referee.restarted(back_at);
            }
            self.give(id, now, |_| START_GIFT);
        }
        false
    }

    /// Gives both sides time; the players see it at once or with the next state.
    fn give(
        &mut self,
        id: crate::sim::site::id::GameId,
        now: Moment,
        gift: impl Fn(bool) -> Centis,
    ) {
        let pushes = self.quirks.gifts_push;
        // Nothing is asked for, so nothing is refused.
        let _ = self.rule(
            id,
            |referee| {
                let turn = referee.turn();
                for color in COLORS {
                    referee.grant(color, gift(color == turn));
                }
                let mut ruling = referee.nothing();
                if pushes {
                    ruling.shown.push(referee.view(now));
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
    pub(in crate::sim) async fn up(&self) {
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
    pub(in crate::sim) async fn keep_fault_clock(&self) {
        loop {
            let time = self.time().elapsed();
            let games = if self.faults().watches_plies() {
                self.world().progress()
            } else {
                Vec::new()
            };
            for deed in self.faults().due(time, &games) {
                self.carry_out(deed);
            }
            let next = self.faults().next(time);
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

    fn carry_out(&self, deed: Deed) {
        tracing::debug!("planted: {deed:?}");
        let now = self.time().now();
        let mut world = self.world();
        match deed {
            Deed::Restart { down, how } => world.go_down(down, how, now),
            Deed::Cut {
                events,
                games,
                user,
                game,
                how,
            } => world.cut(user.as_deref(), game.as_deref(), [events, games], how),
            Deed::Pair { players, clock } => {
                world.pair(players.each_ref().map(String::as_str), clock, &[], now);
            }
            Deed::Skew(skew) => world.outage.skew = skew.map(|skew| (skew, now)),
            Deed::Castling(castling) => {
                let castling = castling.unwrap_or(world.quirks.castling);
                world.castling = castling;
                for id in world.running.clone() {
                    if let Some(round) = world.rounds.get_mut(&id) {
                        round.referee.spell_castling(castling);
                    }
                }
            }
        }
    }
}

impl World {
    /// How far the games are that are on.
    fn progress(&self) -> Vec<Progress> {
        let rounds = self.running.iter().filter_map(|id| self.rounds.get(id));
        rounds
            .map(|round| Progress {
                game: round.id.to_string(),
                users: round.sides.each_ref().map(|side| side.user.to_string()),
                plies: round.referee.plies(),
            })
            .collect()
    }
}
