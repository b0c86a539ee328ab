//! A sparring user at work: answers challenges, sends its own, moves.
//!
//! It uses the same commands as the routes do, and is told of its affairs by notices instead of streams.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::chess::{CastlingNotation, Color, Game, Move, Position};
use crate::engine::{Limits, Task};

use crate::sim::Sim;
use crate::sim::challenge::{DeclineReason, Wanted};
use crate::sim::id::{GameId, UserId};
use crate::sim::options::NewUser;
use crate::sim::presence::material;
use crate::sim::time::Moment;
use crate::sim::variant::Variant;
use crate::sim::world::{Notice, World};

use super::choice::choose;
use super::{Kind, Plan, Sparring};

/// An own challenge that nobody answers is taken back after this.
const PATIENCE: Duration = Duration::from_secs(25);
/// Before the next challenge, when one came to nothing.
const PAUSE: Duration = Duration::from_secs(5);
/// How often the plan is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// A sparring user with its post.
pub(in crate::sim) struct Resident {
    me: UserId,
    sparring: Sparring,
    notices: mpsc::UnboundedReceiver<Notice>,
    rng: fastrand::Rng,
    /// Challenges and games of the plan that are open, with the time of the challenge while it is one.
    open: HashMap<GameId, Option<Moment>>,
    sent: usize,
    not_before: Moment,
    /// Positions that are being thought about: game and ply.
    thinking: HashSet<(GameId, usize)>,
}

impl Resident {
    /// Makes the account if there is none.
    pub fn new(sparring: Sparring, world: &mut World, now: Moment) -> Self {
        let me = UserId::of(&sparring.name);
        world.add_user(NewUser::bot(&sparring.name).rating(sparring.rating), now);
        world.user_mut(&me).sparring = true;
        let (sender, notices) = mpsc::unbounded_channel();
        world.residents.insert(me.clone(), sender);
        Self {
            me,
            sparring,
            notices,
            rng: world.rng.fork(),
            open: HashMap::new(),
            sent: 0,
            not_before: now,
            thinking: HashSet::new(),
        }
    }

    /// Plays until dropped.
    pub async fn live(mut self, sim: Sim) {
        let mut moves = JoinSet::new();
        loop {
            tokio::select! {
                notice = self.notices.recv() => match notice {
                    Some(notice) => self.hear(&sim, notice, &mut moves),
                    None => return,
                },
                Some(done) = moves.join_next() => match done {
                    Ok(key) => {
                        self.thinking.remove(&key);
                    }
                    Err(error) => tracing::error!("{}: a move was not made: {error}", self.me),
                },
                () = sim.time().sleep(GLANCE), if self.sparring.challenges.is_some() => {
                    self.follow_plan(&sim);
                }
            }
        }
    }

    fn hear(&mut self, sim: &Sim, notice: Notice, moves: &mut JoinSet<(GameId, usize)>) {
        let now = sim.time().now();
        match notice {
            Notice::Challenged(id) => {
                let mut world = sim.world();
                // It may have been taken back already.
                let _ = if self.sparring.accepts {
                    world.accept(&self.me, id, now)
                } else {
                    world.decline(&self.me, id, DeclineReason::from_key("generic"), now)
                };
            }
            Notice::Refused(id) => {
                if self.open.remove(&id).is_some() {
                    self.sent -= 1;
                    self.not_before = now + PAUSE;
                }
            }
            Notice::Game(id) => self.look_at(sim, id, moves),
        }
    }

    /// Moves when it is our turn.
    fn look_at(&mut self, sim: &Sim, id: GameId, moves: &mut JoinSet<(GameId, usize)>) {
        let turn = {
            let world = sim.world();
            let round = world.rounds.get(&id).filter(|round| round.referee.is_on());
            let Some(round) = round else {
                self.open.remove(&id);
                return;
            };
            if let Some(asked) = self.open.get_mut(&id) {
                *asked = None;
            }
            let color = round.color_of(&self.me);
            let game = round.referee.game().clone();
            color
                .filter(|color| *color == round.referee.turn())
                .map(|color| (color, game))
        };
        let Some((color, game)) = turn else {
            return;
        };
        let key = (id, game.moves().len());
        if self.sparring.kind == Kind::Sleeper || !self.thinking.insert(key) {
            return;
        }
        let mover = Mover {
            sim: sim.clone(),
            me: self.me.clone(),
            id,
            color,
            kind: self.sparring.kind,
            resigns: self.sparring.resigns,
            delay: self.delay(),
            rng: self.rng.fork(),
        };
        moves.spawn(async move {
            mover.make_move(game).await;
            key
        });
    }

    /// The least time for a move, and up to half of it more.
    fn delay(&mut self) -> Duration {
        let least = self.sparring.delay_ms;
        Duration::from_millis(least + self.rng.u64(0..=least / 2))
    }

    /// Takes back what nobody answers, and sends the next challenge when there is room for it.
    fn follow_plan(&mut self, sim: &Sim) {
        let now = sim.time().now();
        let Some(plan) = self.sparring.challenges.clone() else {
            return;
        };
        let stale: Vec<GameId> = self
            .open
            .iter()
            .filter(|(_, asked)| asked.is_some_and(|asked| now.since(asked) > PATIENCE))
            .map(|(id, _)| *id)
            .collect();
        for id in stale {
            // Somebody may have accepted it just now.
            let _ = sim.world().cancel(&self.me, id, None, now);
        }
        let waits = self.open.values().any(Option::is_some);
        let room = self.open.len() < plan.at_once && plan.count.is_none_or(|most| self.sent < most);
        // A second challenge to the same user would replace the first.
        if waits || !room || now < self.not_before {
            return;
        }
        let mut world = sim.world();
        let opponent_is_here = world
            .user_by_name(&plan.opponent)
            .is_some_and(|user| user.is_online(now));
        if !opponent_is_here {
            return;
        }
        match next_challenge(&plan, self.sent)
            .ok_or_else(|| "it makes no sense".to_owned())
            .and_then(|wanted| {
                world
                    .challenge(&self.me, &plan.opponent, wanted, now)
                    .map_err(|failure| format!("{failure:?}"))
            }) {
            Ok((id, _)) => {
                self.sent += 1;
                self.open.insert(id, Some(now));
            }
            Err(why) => {
                tracing::warn!("{}: no challenge to {}: {why}", self.me, plan.opponent);
                self.not_before = now + PAUSE;
            }
        }
    }
}

/// The challenge of this number, counted from 0.
fn next_challenge(plan: &Plan, number: usize) -> Option<Wanted> {
    let mut variant = Variant::from_key(&plan.variant).ok()?;
    let start = match &plan.fen {
        Some(fen) => Some(Position::from_fen(fen).ok()?),
        None => None,
    };
    if variant == Variant::Standard && start.is_some() {
        variant = Variant::FromPosition;
    }
    if variant == Variant::FromPosition && start.is_none() {
        return None;
    }
    Some(Wanted {
        variant,
        start,
        rated: plan.rated && variant != Variant::FromPosition,
        time_control: *plan
            .time_controls
            .get(number % plan.time_controls.len().max(1))?,
        color: *plan.colors.get(number % plan.colors.len().max(1))?,
        rules: Vec::new(),
        keep_alive: false,
    })
}

/// One move to be made.
struct Mover {
    sim: Sim,
    me: UserId,
    id: GameId,
    color: Color,
    kind: Kind,
    resigns: Option<u32>,
    delay: Duration,
    rng: fastrand::Rng,
}

impl Mover {
    async fn make_move(mut self, game: Game) {
        let ready = self.sim.time().now() + self.delay;
        let mv = match self.kind {
            Kind::Engine { nodes } => self.searched(&game, nodes).await,
            Kind::Random | Kind::Greedy => choose(self.kind, game.position(), &mut self.rng),
            Kind::Sleeper => None,
        };
        self.sim.time().sleep_until(ready).await;
        let Some(mv) = mv else {
            return;
        };
        let now = self.sim.time().now();
        let (me, id, color) = (&self.me, self.id, self.color);
        let position = game.position();
        let behind = material(position, !color).saturating_sub(material(position, color));
        let mut world = self.sim.world();
        // The game may have ended while we thought; then nothing is to be done.
        let outcome = if self.resigns.is_some_and(|limit| behind >= limit) {
            world.rule(id, |referee| referee.resign(color, now), now)
        } else {
            let uci = mv.uci(CastlingNotation::KingTakesRook).to_string();
            world.rule(id, |referee| referee.play(color, &uci, false, now), now)
        };
        if let Err(refusal) = outcome {
            tracing::debug!("{me} in {id}: {refusal}");
        }
    }

    async fn searched(&self, game: &Game, nodes: u64) -> Option<Move> {
        let (sender, answer) = oneshot::channel();
        let _thinking = self.sim.engine().start(Task {
            game: game.clone(),
            limits: Limits {
                nodes: Some(nodes),
                ..Limits::default()
            },
            on_info: Box::new(|_| {}),
            on_done: Box::new(move |thought| {
                // Nobody waits any more when the site goes down.
                let _ = sender.send(thought.mv);
            }),
        });
        answer.await.ok().flatten()
    }
}
