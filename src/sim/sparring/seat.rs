//! A sparring user in one game: one task from its first move to its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::chess::{CastlingNotation, Color, Game, Move};
use crate::sim::Sim;
use crate::sim::round::chat::Room;
use crate::sim::round::presence::material;
use crate::sim::site::id::{GameId, UserId};

use super::choice::choose;
use super::talk;
use super::{Kind, Quit, Sparring};

/// Where a sparring user sits.
pub(super) struct Seat {
    pub sim: Sim,
    pub me: UserId,
    pub id: GameId,
    pub color: Color,
    pub sparring: Arc<Sparring>,
    /// Something happened in the game.
    pub nudge: Arc<Notify>,
    /// Decides all choices in this game.
    pub seed: u64,
    /// Own turns taken, those that were taken back included.
    turns: u64,
    /// Own turns at which something was said.
    said: usize,
    has_quit: bool,
    /// Plies at which a takeback was asked for last; earlier ones are not worth a second question.
    begged_at: usize,
}

/// How a game looks from a seat.
struct Sight {
    plies: usize,
    /// The game, when it is our turn.
    turn: Option<Game>,
    /// Pawns of material that the opponent has more.
    behind: u32,
    draw_offered: bool,
    takeback_asked: bool,
}

impl Seat {
    pub fn new(
        sim: Sim,
        (me, sparring): (UserId, Arc<Sparring>),
        (id, color): (GameId, Color),
        seed: u64,
    ) -> Self {
        Self {
            sim,
            me,
            id,
            color,
            sparring,
            nudge: Arc::default(),
            seed,
            turns: 0,
            said: 0,
            has_quit: false,
            begged_at: 0,
        }
    }

    /// Plays until the game is over.
    pub async fn play(mut self) -> GameId {
        loop {
            self.sim.wait_until_up().await;
            let Some(mut sight) = self.look() else {
                break;
            };
            if let Some(quit) = self.quits(&sight) {
                self.stay_away(quit).await;
                continue;
            }
            self.answer(&sight);
            match sight.turn.take() {
                Some(game) if self.acts(&sight) => self.take_turn(game, sight.behind).await,
                _ => self.nudge.notified().await,
            }
        }
        if self.sparring.habits.rematches {
            self.offer_rematch();
        }
        self.id
    }

    /// Nothing when the game is over.
    fn look(&self) -> Option<Sight> {
        let state = self.sim.state();
        let round = state.rounds.get(&self.id)?;
        let referee = &round.referee;
        let game = referee.game();
        let material = |color| material(game.position(), color);
        referee.is_on().then(|| Sight {
            plies: referee.plies(),
            turn: (referee.turn() == self.color).then(|| game.clone()),
            behind: material(!self.color).saturating_sub(material(self.color)),
            draw_offered: referee.offers_draw(!self.color),
            takeback_asked: referee.asks_takeback(!self.color),
        })
    }

    fn quits(&self, sight: &Sight) -> Option<Quit> {
        self.sparring
            .habits
            .quits
            .filter(|quit| !self.has_quit && sight.plies >= quit.at_ply)
    }

    /// Leaves, and comes back if it ever does.
    async fn stay_away(&mut self, quit: Quit) {
        self.has_quit = true;
        let left_at = self.sim.time().now();
        if let Some(round) = self.sim.state().rounds.get_mut(&self.id) {
            round.sides[self.color.index()].presence.leave(left_at);
        }
        let sim = self.sim.clone();
        let back = async {
            match quit.back_after {
                Some(after) => sim.time().sleep_until(left_at + after).await,
                None => std::future::pending().await,
            }
        };
        let mut back = pin!(back);
        loop {
            tokio::select! {
                () = &mut back => break,
                () = self.nudge.notified() => if self.look().is_none() {
                    return;
                }
            }
        }
        self.sim.wait_until_up().await;
        if let Some(round) = self.sim.state().rounds.get_mut(&self.id) {
            round.on_returned(self.color);
        }
    }

    /// Whether it does anything on its turn.
    fn acts(&self, sight: &Sight) -> bool {
        let stalls = self.is_lost(self.sparring.habits.stalls, sight.behind, sight.plies);
        self.sparring.kind != Kind::Sleeper && !stalls
    }

    /// Whether this much material behind is too much. Before both have moved the clock does not run and to resign is to
    /// abort.
    fn is_lost(&self, limit: Option<u32>, behind: u32, plies: usize) -> bool {
        plies >= 2 && limit.is_some_and(|limit| behind >= limit)
    }

    /// Answers what the opponent offers. A draw offer that is not accepted dies with the next move.
    fn answer(&self, sight: &Sight) {
        let (color, habits) = (self.color, &self.sparring.habits);
        let now = self.sim.time().now();
        let mut state = self.sim.state();
        // In a game that has just ended both do nothing.
        if sight.draw_offered && habits.accepts_draws {
            let _ = state.with_referee(self.id, |referee| referee.draw(color, true, now), now);
        }
        if sight.takeback_asked {
            let yes = habits.accepts_takebacks;
            let _ = state.with_referee(self.id, |referee| referee.takeback(color, yes, now), now);
        }
    }

    /// Thinks and moves; gives up when the position is another one meanwhile.
    async fn take_turn(&mut self, game: Game, behind: u32) {
        self.chat();
        let plies = game.moves().len();
        let mut rng = fastrand::Rng::with_seed(self.seed.wrapping_add(self.turns));
        let ready = self.sim.time().now() + self.delay(&mut rng);
        let sim = self.sim.clone();
        let kind = self.sparring.kind;
        let mut choice = rng.fork();
        let thinking = async {
            let mv = match kind {
                Kind::Engine { nodes } => sim.thinkers().think(game, nodes).await,
                Kind::Random | Kind::Greedy => choose(kind, game.position(), &mut choice),
                Kind::Sleeper => None,
            };
            sim.time().sleep_until(ready).await;
            sim.wait_until_up().await;
            mv
        };
        let mut thinking = pin!(thinking);
        let mv = loop {
            tokio::select! {
                mv = &mut thinking => break mv,
                () = self.nudge.notified() => {
                    self.sim.wait_until_up().await;
                    match self.look() {
                        Some(sight) if sight.plies == plies => self.answer(&sight),
                        _ => return,
                    }
                }
            }
        };
        if let Some(mv) = mv {
            self.turns += 1;
            self.make(mv, behind, plies, &mut rng);
        }
    }

    fn delay(&self, rng: &mut fastrand::Rng) -> Duration {
        let millis = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (least, most) = (self.sparring.delay.start(), self.sparring.delay.end());
        Duration::from_millis(rng.u64(millis(least)..=millis(most).max(millis(least))))
    }

    /// Moves, or does what it does instead.
    fn make(&mut self, mv: Move, behind: u32, plies: usize, rng: &mut fastrand::Rng) {
        let (id, color, habits) = (self.id, self.color, &self.sparring.habits);
        let resigns = self.is_lost(habits.resigns, behind, plies);
        let now = self.sim.time().now();
        let mut state = self.sim.state();
        let done = state.with_referee(
            id,
            |referee| {
                if habits.aborts && referee.is_abortable() {
                    referee.abort(now)
                } else if resigns {
                    referee.resign(color, now)
                } else {
                    let uci = mv.uci(CastlingNotation::KingTakesRook).to_string();
                    referee.play(color, &uci, habits.begs_draws, now)
                }
            },
            now,
        );
        if let Err(refusal) = done {
            // The game may have ended just now.
            tracing::debug!("{} in {id}: {refusal}", self.me);
        } else if habits.begs_takebacks && plies > self.begged_at && rng.bool() {
            self.begged_at = plies;
            let _ = state.with_referee(id, |referee| referee.takeback(color, true, now), now);
        }
    }

    /// Says something once for every turn.
    fn chat(&mut self) {
        if self.said as u64 > self.turns {
            return;
        }
        if let Some(line) = talk::line(&self.sparring.habits.chats, self.said) {
            let mut state = self.sim.state();
            for room in [Room::Player, Room::Spectator] {
                state.say(&self.me, self.id, room, &line);
            }
        }
        self.said += 1;
    }

    fn offer_rematch(&self) {
        let now = self.sim.time().now();
        // Not every game has one.
        let _ = self.sim.state().offer_rematch(&self.me, self.id, now);
    }
}
