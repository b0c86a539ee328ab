//! A sparring user at work: answers challenges, sends its own, sits down at its games.
//!
//! It uses the same commands as the routes do, and is told of its affairs by notices instead of streams.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::sim::Sim;
use crate::sim::options::NewUser;
use crate::sim::site::id::{GameId, UserId};
use crate::sim::site::state::{Notice, SiteState};
use crate::sim::site::time::SimTime;

use super::Sparring;
use super::challenger::Challenger;
use super::seat::Seat;

/// A sparring user with its post.
pub(in crate::sim) struct Resident {
    me: UserId,
    sparring: Arc<Sparring>,
    notices: mpsc::UnboundedReceiver<Notice>,
    rng: fastrand::Rng,
    challenger: Option<Challenger>,
    /// The games that it plays, and how to tell who plays them that something happened.
    seats: HashMap<GameId, Arc<Notify>>,
    declined: usize,
}

impl Resident {
    /// Makes the account if there is none. Nothing when one of this name lives here already.
    pub fn new(sparring: Sparring, state: &mut SiteState, now: SimTime) -> Option<Self> {
        let me = UserId::of(&sparring.name);
        if state.builtin_players.contains_key(&me) {
            return None;
        }
        let account = if sparring.bot {
            NewUser::bot(&sparring.name)
        } else {
            NewUser::human(&sparring.name)
        };
        state.add_user(account.rating(sparring.rating), now);
        let user = state.user_mut(&me);
        user.always_online = true;
        user.takebacks |= sparring.habits.minds_takebacks();
        let (sender, notices) = mpsc::unbounded_channel();
        state.builtin_players.insert(me.clone(), sender);
        if sparring.arenas {
            state.invite_to_all(&me, now);
        }
        let mut rng = fastrand::Rng::with_seed(state.seed ^ fingerprint(&sparring.name));
        let plan = sparring.challenges.clone();
        Some(Self {
            challenger: plan.map(|plan| Challenger::new(me.clone(), plan, rng.fork(), now)),
            me,
            sparring: Arc::new(sparring),
            notices,
            rng,
            seats: HashMap::new(),
            declined: 0,
        })
    }

    /// Plays until dropped.
    pub async fn live(mut self, sim: Sim) {
        let mut games = JoinSet::new();
        loop {
            let wake = self.challenger.as_ref().and_then(Challenger::wakes_at);
            let alarm = async {
                match wake {
                    Some(moment) => {
                        sim.time().sleep_until(moment).await;
                        sim.wait_until_up().await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                notice = self.notices.recv() => match notice {
                    Some(notice) => {
                        sim.wait_until_up().await;
                        self.hear(&sim, notice, &mut games);
                    }
                    None => return,
                },
                Some(done) = games.join_next() => match done {
                    Ok(id) => {
                        self.seats.remove(&id);
                        self.challenger.iter_mut().for_each(|challenger| challenger.is_over(id));
                    }
                    Err(error) => tracing::error!("{} got up from a game: {error}", self.me),
                },
                () = alarm => self.challenger.iter_mut().for_each(|challenger| challenger.work(&sim)),
            }
        }
    }

    fn hear(&mut self, sim: &Sim, notice: Notice, games: &mut JoinSet<GameId>) {
        match notice {
            Notice::Challenged(id) => self.answer(sim, id),
            Notice::ChallengeEnded(id) => {
                if let Some(challenger) = &mut self.challenger {
                    challenger.is_refused(id, sim.time().now());
                }
            }
            Notice::Game(id) => match self.seats.get(&id) {
                Some(nudge) => nudge.notify_one(),
                None => self.sit_down(sim, id, games),
            },
            Notice::Arena(id) => {
                if self.sparring.arenas {
                    let now = sim.time().now();
                    sim.state().invite(&self.me, id, now);
                }
            }
        }
    }

    fn answer(&mut self, sim: &Sim, id: GameId) {
        let now = sim.time().now();
        let reasons = &self.sparring.habits.declines;
        let reason = reasons.get(self.declined % reasons.len().max(1)).copied();
        let mut state = sim.state();
        let answered = match reason {
            None => state.accept(&self.me, id, now),
            Some(reason) => state.decline(&self.me, id, reason, now),
        };
        // Otherwise it was taken back already.
        if answered.is_ok() {
            self.declined += 1;
        }
    }

    fn sit_down(&mut self, sim: &Sim, id: GameId, games: &mut JoinSet<GameId>) {
        let color = {
            let state = sim.state();
            let round = state.rounds.get(&id);
            round
                .filter(|round| round.referee.is_on())
                .and_then(|round| round.color_of(&self.me))
        };
        let Some(color) = color else {
            // It was over before we came.
            self.challenger
                .iter_mut()
                .for_each(|challenger| challenger.is_over(id));
            return;
        };
        if let Some(challenger) = &mut self.challenger {
            challenger.begins(id);
        }
        let who = (self.me.clone(), self.sparring.clone());
        let seat = Seat::new(sim.clone(), who, (id, color), self.rng.u64(..));
        self.seats.insert(id, seat.nudge.clone());
        games.spawn(seat.play());
    }
}

/// FNV-1a: the same number for the same name on every machine and in every version.
fn fingerprint(name: &str) -> u64 {
    name.to_lowercase()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
