//! Task of a built-in player in one game.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::round::chat::Room;
use crate::sim::Sim;
use crate::site::material::material;
use crate::site::{GameId, UserId};
use knightwatch_chess::{CastlingNotation, Color, Game, Move};

use super::chat;
use super::move_choice::choose_move;
use super::{Disconnect, PlayerKind, PlayerOptions};

pub(super) struct GameTask {
    pub sim: Sim,
    pub me: UserId,
    pub id: GameId,
    pub color: Color,
    pub options: Arc<PlayerOptions>,
    /// Signals that the game changed.
    pub changed: Arc<Notify>,
    /// Seed of all random choices in this game.
    pub seed: u64,
    /// Own moves made, including those taken back.
    turns: u64,
    /// Turns at which a chat message was sent.
    chat_turns: usize,
    has_disconnected: bool,
    /// Ply of the last takeback proposal; none is made at or before it.
    last_takeback_ply: usize,
}

/// State of a game from the player's point of view.
struct GameView {
    plies: usize,
    /// The game, if it is the player's turn.
    turn: Option<Game>,
    /// Material deficit in pawns.
    deficit: u32,
    draw_offered: bool,
    takeback_proposed: bool,
}

impl GameTask {
    pub(super) fn new(
        sim: Sim,
        (me, options): (UserId, Arc<PlayerOptions>),
        (id, color): (GameId, Color),
        seed: u64,
    ) -> Self {
        Self {
            sim,
            me,
            id,
            color,
            options,
            changed: Arc::default(),
            seed,
            turns: 0,
            chat_turns: 0,
            has_disconnected: false,
            last_takeback_ply: 0,
        }
    }

    /// Plays until the game is over.
    pub(super) async fn run(mut self) -> GameId {
        loop {
            self.sim.wait_until_up().await;
            let Some(mut view) = self.view() else {
                break;
            };
            if let Some(disconnect) = self.due_disconnect(&view) {
                self.disconnect(disconnect).await;
                continue;
            }
            self.answer_offers(&view);
            match view.turn.take() {
                Some(game) if self.moves(&view) => self.take_turn(game, view.deficit).await,
                _ => self.changed.notified().await,
            }
        }
        if self.options.behavior.offers_rematches {
            self.offer_rematch();
        }
        self.id
    }

    /// `None` if the game is over.
    fn view(&self) -> Option<GameView> {
        let state = self.sim.state();
        let round = state.rounds.get(self.id)?;
        let referee = &round.referee;
        let game = referee.game();
        let material = |color| material(game.position(), color);
        referee.is_running().then(|| GameView {
            plies: referee.plies(),
            turn: (referee.turn() == self.color).then(|| game.clone()),
            deficit: material(!self.color).saturating_sub(material(self.color)),
            draw_offered: referee.offers_draw(!self.color),
            takeback_proposed: referee.proposes_takeback(!self.color),
        })
    }

    fn due_disconnect(&self, view: &GameView) -> Option<Disconnect> {
        self.options
            .behavior
            .disconnects
            .filter(|disconnect| !self.has_disconnected && view.plies >= disconnect.at_ply)
    }

    /// Goes offline until the reconnect, if any, or until the game is over.
    async fn disconnect(&mut self, disconnect: Disconnect) {
        self.has_disconnected = true;
        let left_at = self.sim.time().now();
        self.sim.state().rounds.leave(self.id, self.color, left_at);
        let sim = self.sim.clone();
        let reconnect = async {
            match disconnect.reconnect_after {
                Some(after) => sim.time().sleep_until(left_at + after).await,
                None => std::future::pending().await,
            }
        };
        let mut reconnect = pin!(reconnect);
        loop {
            tokio::select! {
                () = &mut reconnect => break,
                () = self.changed.notified() => if self.view().is_none() {
                    return;
                }
            }
        }
        self.sim.wait_until_up().await;
        let now = self.sim.now();
        self.sim.state().on_returned(self.id, self.color, now);
    }

    /// Returns whether the player makes a move on its turn.
    fn moves(&self, view: &GameView) -> bool {
        let stalls = self.is_lost(
            self.options.behavior.stalls_when_lost,
            view.deficit,
            view.plies,
        );
        self.options.kind != PlayerKind::Idle && !stalls
    }

    /// Returns whether the material deficit has reached the limit. Before both have moved, the clock does not run and
    /// resigning would abort the game.
    fn is_lost(&self, limit: Option<u32>, deficit: u32, plies: usize) -> bool {
        plies >= 2 && limit.is_some_and(|limit| deficit >= limit)
    }

    /// Answers the opponent's offers. A draw offer that is not accepted expires with the next move.
    fn answer_offers(&self, view: &GameView) {
        let (color, behavior) = (self.color, &self.options.behavior);
        let now = self.sim.time().now();
        let mut state = self.sim.state();
        // Both are no-ops if the game has just ended.
        if view.draw_offered && behavior.accepts_draws {
            let _ = state.act(self.id, |referee| referee.draw(color, true, now), now);
        }
        if view.takeback_proposed {
            let yes = behavior.accepts_takebacks;
            let _ = state.act(self.id, |referee| referee.takeback(color, yes, now), now);
        }
    }

    /// Chooses and plays a move; returns early if the position changes meanwhile.
    async fn take_turn(&mut self, game: Game, deficit: u32) {
        self.chat();
        let plies = game.moves().len();
        let mut rng = fastrand::Rng::with_seed(self.seed.wrapping_add(self.turns));
        let ready = self.sim.time().now() + self.delay(&mut rng);
        let sim = self.sim.clone();
        let kind = self.options.kind;
        let mut move_rng = rng.fork();
        let search = async {
            let mv = match kind {
                PlayerKind::Engine { nodes } => sim.search_pool().best_move(game, nodes).await,
                PlayerKind::Random | PlayerKind::Greedy => {
                    choose_move(kind, game.position(), &mut move_rng)
                }
                PlayerKind::Idle => None,
            };
            sim.time().sleep_until(ready).await;
            sim.wait_until_up().await;
            mv
        };
        let mut search = pin!(search);
        let mv = loop {
            tokio::select! {
                mv = &mut search => break mv,
                () = self.changed.notified() => {
                    self.sim.wait_until_up().await;
                    match self.view() {
                        Some(view) if view.plies == plies => self.answer_offers(&view),
                        _ => return,
                    }
                }
            }
        };
        if let Some(mv) = mv {
            self.turns += 1;
            self.play_or_end(mv, deficit, plies, &mut rng);
        }
    }

    fn delay(&self, rng: &mut fastrand::Rng) -> Duration {
        let millis = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (min, max) = (self.options.delay.start(), self.options.delay.end());
        Duration::from_millis(rng.u64(millis(min)..=millis(max).max(millis(min))))
    }

    /// Plays the move, or aborts or resigns instead.
    fn play_or_end(&mut self, mv: Move, deficit: u32, plies: usize, rng: &mut fastrand::Rng) {
        let (id, color, behavior) = (self.id, self.color, &self.options.behavior);
        let resigns = self.is_lost(behavior.resigns_when_lost, deficit, plies);
        let now = self.sim.time().now();
        let mut state = self.sim.state();
        let result = state.act(
            id,
            |referee| {
                if behavior.aborts && referee.is_abortable() {
                    referee.abort(now)
                } else if resigns {
                    referee.resign(color, now)
                } else {
                    let uci = mv.uci(CastlingNotation::KingTakesRook).to_string();
                    referee.play(color, &uci, behavior.offers_draws, now)
                }
            },
            now,
        );
        if let Err(error) = result {
            // The game may have ended just now.
            tracing::debug!("{} in {id}: {error}", self.me);
        } else if behavior.requests_takebacks && plies > self.last_takeback_ply && rng.bool() {
            self.last_takeback_ply = plies;
            let _ = state.act(id, |referee| referee.takeback(color, true, now), now);
        }
    }

    /// Sends at most one message per turn.
    fn chat(&mut self) {
        if self.chat_turns as u64 > self.turns {
            return;
        }
        if let Some(text) = chat::message(&self.options.behavior.chats, self.chat_turns) {
            let mut state = self.sim.state();
            for room in [Room::Player, Room::Spectator] {
                state.say(&self.me, self.id, room, &text);
            }
        }
        self.chat_turns += 1;
    }

    fn offer_rematch(&self) {
        let now = self.sim.time().now();
        // Not every game allows a rematch.
        let _ = self.sim.state().offer_rematch(&self.me, self.id, now);
    }
}
