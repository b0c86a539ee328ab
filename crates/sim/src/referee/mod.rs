//! State machine of one game: rules, clocks, offers and claims.
//!
//! Each action takes the simulated time and returns an [`ActionOutcome`]: an error, or the states to send to everybody who
//! watches, in order. The referee is pure: it does no I/O and knows neither streams nor ratings.

mod arena;
mod clock;
mod clock_admin;
mod first_move;
mod move_text;
mod outcome;
#[cfg(test)]
mod tests;

use std::time::Duration;

use knightwatch_chess::{CastlingNotation, Color, Game, Move, Position, Termination};

use crate::quirks::Castling;
use crate::site::{SimTime, Variant};
use crate::time_control::TimeControl;

pub(crate) use clock::{Centis, UNLIMITED_MILLIS};
pub(crate) use first_move::{FirstMoveLimit, first_move_timeout};
pub(crate) use outcome::{ActionOutcome, GameError, StateSnapshot, Status};

use clock::{Clock, CorrespondenceClock, Timing};
use move_text::MoveText;

/// A move after this many plies makes the game a draw.
const MAX_PLY: usize = 600;
/// Minimum number of plies between two draw offers of one side.
const DRAW_OFFER_INTERVAL_PLIES: usize = 20;
/// After this time without a move, an unlimited game is lost for the side to move.
const UNLIMITED_GAME_TIMEOUT: Duration = Duration::from_secs(21 * 86_400);

/// After a restart of the site, games whose last move was before it cannot be lost on time for this long.
const RESTART_GRACE_PERIOD: Duration = Duration::from_secs(120);

/// Settings of a game that are fixed before the first move.
#[derive(Clone, Debug)]
pub(crate) struct GameConfig {
    pub variant: Variant,
    pub start: Position,
    pub time_control: TimeControl,
    /// A bot plays: threefold repetition ends the game automatically.
    pub bot_plays: bool,
    /// One side is the site's AI, which accepts every takeback and answers no offers.
    pub ai: bool,
    /// Both players allow takeback proposals.
    pub takebacks: bool,
    pub no_abort: bool,
    pub no_early_draw: bool,
    pub no_claim_win: bool,
    pub castling: Castling,
    /// `None`: the game never expires.
    pub first_move_limit: Option<FirstMoveLimit>,
    /// Arena games cannot be aborted and can be resigned before the first move.
    pub arena: Option<ArenaGameConfig>,
}

/// Additional settings of an arena game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaGameConfig {
    pub berserkable: bool,
}

#[derive(Clone, Debug, Default)]
struct TakebackState {
    proposed: [bool; 2],
    declined: [u32; 2],
    last_declined: [Option<SimTime>; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Referee {
    config: GameConfig,
    game: Game,
    moves: String,
    timing: Timing,
    /// Remaining time of the mover after each ply, for takebacks and the PGN.
    clock_history: Vec<Centis>,
    status: Status,
    winner: Option<Color>,
    draw_offers: [bool; 2],
    last_draw_offer: [Option<usize>; 2],
    takeback: TakebackState,
    last_move_at: SimTime,
    /// Time of the last restart of the site during the game.
    restarted_at: Option<SimTime>,
}

impl Referee {
    pub(crate) fn new(config: GameConfig, now: SimTime) -> Self {
        let turn = config.start.turn();
        let timing = match config.time_control {
            TimeControl::Clock { limit, increment } => {
                Timing::Clock(Clock::new(limit, increment, turn))
            }
            TimeControl::Days(days) => Timing::Days(CorrespondenceClock::new(days, turn, now)),
            TimeControl::Unlimited => Timing::Unlimited,
        };
        Self {
            game: Game::new(config.start.clone()),
            config,
            moves: String::new(),
            timing,
            clock_history: Vec::new(),
            status: Status::Started,
            winner: None,
            draw_offers: [false; 2],
            last_draw_offer: [None; 2],
            takeback: TakebackState::default(),
            last_move_at: now,
            restarted_at: None,
        }
    }

    pub(crate) fn config(&self) -> &GameConfig {
        &self.config
    }

    pub(crate) fn game(&self) -> &Game {
        &self.game
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn winner(&self) -> Option<Color> {
        self.winner
    }

    pub(crate) fn is_running(&self) -> bool {
        self.status == Status::Started
    }

    pub(crate) fn turn(&self) -> Color {
        self.game.position().turn()
    }

    /// Plies played in this game, not counting those before its start position.
    pub(crate) fn plies(&self) -> usize {
        self.game.moves().len()
    }

    pub(crate) fn last_move_at(&self) -> SimTime {
        self.last_move_at
    }

    /// Remaining time of the mover after each ply; empty without a real-time clock.
    pub(crate) fn clock_history(&self) -> &[Centis] {
        &self.clock_history
    }

    /// Remaining whole seconds of this side; `None` in unlimited games.
    pub(crate) fn seconds_left(&self, color: Color, now: SimTime) -> Option<i64> {
        self.time_left(color, now)
            .and_then(|left| i64::try_from(left.as_secs()).ok())
    }

    /// Remaining time of this side; `None` in unlimited games.
    pub(crate) fn time_left(&self, color: Color, now: SimTime) -> Option<Duration> {
        let millis = self.timing.remaining_millis(color, now);
        (millis != UNLIMITED_MILLIS)
            .then(|| Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    pub(crate) fn snapshot(&self, now: SimTime) -> StateSnapshot {
        StateSnapshot {
            moves: self.moves.clone(),
            millis: [Color::White, Color::Black]
                .map(|color| self.timing.remaining_millis(color, now)),
            increment: self.timing.increment_millis(),
            status: self.status,
            winner: self.winner,
            draw_offers: self.draw_offers,
            takeback_offers: self.takeback.proposed,
            expiration: self.expiration(now),
        }
    }

    /// Plays a move, optionally with a draw offer. A move after the flag has fallen is not an error; it ends the game.
    ///
    /// # Errors
    /// Malformed and illegal moves, and moves out of turn.
    pub(crate) fn play(
        &mut self,
        color: Color,
        uci: &str,
        offering_draw: bool,
        now: SimTime,
    ) -> ActionOutcome {
        let Some(move_text) = MoveText::parse(uci) else {
            return ActionOutcome::rejected(GameError::InvalidUci(uci.to_owned()));
        };
        if !self.is_running() || self.turn() != color {
            return ActionOutcome::rejected(GameError::NotYourTurn);
        }
        let mut snapshots = Vec::new();
        // The draw offer comes before the move and may already end the game.
        if offering_draw {
            snapshots = self.answer_draw(color, true, now);
            if !self.is_running() {
                return ActionOutcome::accepted(snapshots);
            }
        }
        if self.timing.is_flagged(now) {
            self.flag(now, &mut snapshots);
            return ActionOutcome::accepted(snapshots);
        }
        if self.absolute_ply() > MAX_PLY {
            self.finish(Status::Draw, None, now, &mut snapshots);
            return ActionOutcome::accepted(snapshots);
        }
        match move_text.resolve(self.game.position(), self.config.variant) {
            Err(error) => {
                return ActionOutcome {
                    snapshots,
                    result: Err(error),
                };
            }
            Ok(mv) => self.make_move(mv, color, now, &mut snapshots),
        }
        ActionOutcome::accepted(snapshots)
    }

    fn make_move(
        &mut self,
        mv: Move,
        color: Color,
        now: SimTime,
        snapshots: &mut Vec<StateSnapshot>,
    ) {
        self.apply(mv, color, now);
        let Some(ending) = self.game.termination() else {
            snapshots.push(self.snapshot(now));
            self.after_move(color, now, snapshots);
            return;
        };
        let (status, winner) = match ending {
            Termination::Checkmate => (Status::Mate, Some(color)),
            Termination::VariantWin(winner) => (Status::VariantEnd, Some(winner)),
            Termination::Stalemate => (Status::Stalemate, None),
            Termination::VariantDraw
            | Termination::InsufficientMaterial
            | Termination::FiftyMoves
            | Termination::FivefoldRepetition => (Status::Draw, None),
        };
        self.finish(status, winner, now, snapshots);
    }

    fn notation(&self) -> CastlingNotation {
        match (self.config.variant, self.config.castling) {
            (Variant::Standard, Castling::KingMoves) => CastlingNotation::Standard,
            _ => CastlingNotation::KingTakesRook,
        }
    }

    fn apply(&mut self, mv: Move, color: Color, now: SimTime) {
        if !self.moves.is_empty() {
            self.moves.push(' ');
        }
        self.moves.push_str(&mv.uci(self.notation()).to_string());
        self.game.play(mv);
        self.last_move_at = now;
        let continues = self.game.termination().is_none();
        let plies = self.plies();
        match &mut self.timing {
            Timing::Clock(clock) => {
                clock.press(now, continues);
                if plies == 2 && continues {
                    clock.start(now);
                }
                self.clock_history.push(clock.remaining(color, now));
            }
            Timing::Days(days) => days.set_turn(!color, now),
            Timing::Unlimited => {}
        }
    }

    /// Side effects of a move: the opponent's draw offer expires without a new state, takeback proposals expire with one,
    /// and a third repetition may end the game.
    fn after_move(&mut self, color: Color, now: SimTime, snapshots: &mut Vec<StateSnapshot>) {
        self.draw_offers[(!color).index()] = false;
        if self.takeback.proposed != [false; 2] {
            self.takeback.proposed = [false; 2];
            snapshots.push(self.snapshot(now));
        }
        if self.game.repetitions() >= 3 && self.is_automatic_draw(now) {
            self.finish(Status::Draw, None, now, snapshots);
        }
    }

    fn is_automatic_draw(&self, now: SimTime) -> bool {
        let short_of_time = |color| {
            matches!(self.timing, Timing::Clock(_))
                && self.timing.remaining_millis(color, now) < 30_000
        };
        let offered = |color: Color| {
            self.last_draw_offer[color.index()]
                .is_some_and(|ply| ply + DRAW_OFFER_INTERVAL_PLIES >= self.plies())
        };
        self.config.bot_plays
            || [Color::White, Color::Black]
                .into_iter()
                .any(|color| short_of_time(color) || offered(color))
    }

    pub(crate) fn is_abortable(&self) -> bool {
        self.is_running()
            && self.plies() < 2
            && !self.config.no_abort
            && self.config.arena.is_none()
    }

    pub(crate) fn abort(&mut self, now: SimTime) -> ActionOutcome {
        if !self.is_abortable() {
            return ActionOutcome::rejected(GameError::CannotAbort);
        }
        let mut snapshots = Vec::new();
        self.finish(Status::Aborted, None, now, &mut snapshots);
        ActionOutcome::accepted(snapshots)
    }

    /// Aborts the game with the consent of both players, at any ply.
    pub(crate) fn abort_by_consent(&mut self, now: SimTime) -> ActionOutcome {
        let mut snapshots = Vec::new();
        if self.is_running() {
            self.finish(Status::Aborted, None, now, &mut snapshots);
        }
        ActionOutcome::accepted(snapshots)
    }

    /// Resigns; aborts instead while the game is abortable.
    pub(crate) fn resign(&mut self, color: Color, now: SimTime) -> ActionOutcome {
        if self.is_abortable() {
            return self.abort(now);
        }
        if !self.is_running() || (self.plies() < 2 && self.config.arena.is_none()) {
            return ActionOutcome::rejected(GameError::CannotResign);
        }
        let mut snapshots = Vec::new();
        self.finish(Status::Resign, Some(!color), now, &mut snapshots);
        ActionOutcome::accepted(snapshots)
    }

    /// Offers, accepts, claims or declines a draw; a no-op where none of these is possible.
    pub(crate) fn draw(&mut self, color: Color, yes: bool, now: SimTime) -> ActionOutcome {
        ActionOutcome::accepted(self.answer_draw(color, yes, now))
    }

    fn answer_draw(&mut self, color: Color, yes: bool, now: SimTime) -> Vec<StateSnapshot> {
        let mut snapshots = Vec::new();
        if !yes {
            if self.is_running() {
                // Lichess sends no state.
                self.draw_offers[(!color).index()] = false;
            }
            return snapshots;
        }
        if !self.is_drawable() {
            return snapshots;
        }
        let plies = self.plies();
        // Elsewhere Lichess ignores it.
        let can_offer = !self.config.ai
            && !self.draw_offers[color.index()]
            && self.last_draw_offer[color.index()]
                .is_none_or(|last| last + DRAW_OFFER_INTERVAL_PLIES < plies);
        if self.game.repetitions() >= 3 || self.draw_offers[(!color).index()] {
            self.finish(Status::Draw, None, now, &mut snapshots);
        } else if can_offer && !self.game.position().has_mating_material(!color) {
            self.finish(Status::InsufficientMaterialClaim, None, now, &mut snapshots);
        } else if can_offer {
            self.draw_offers[color.index()] = true;
            self.last_draw_offer[color.index()] = Some(plies);
            snapshots.push(self.snapshot(now));
        }
        snapshots
    }

    /// Returns whether this side has a pending draw offer.
    pub(crate) fn offers_draw(&self, color: Color) -> bool {
        self.draw_offers[color.index()]
    }

    /// Returns whether this side has a pending takeback proposal.
    pub(crate) fn proposes_takeback(&self, color: Color) -> bool {
        self.takeback.proposed[color.index()]
    }

    pub(crate) fn is_drawable(&self) -> bool {
        self.is_running() && self.plies() >= 2 && !(self.config.no_early_draw && self.plies() < 60)
    }

    /// Proposes, accepts, withdraws or declines a takeback; a no-op where none of these is possible.
    pub(crate) fn takeback(&mut self, color: Color, yes: bool, now: SimTime) -> ActionOutcome {
        ActionOutcome::accepted(self.answer_takeback(color, yes, now))
    }

    fn answer_takeback(&mut self, color: Color, yes: bool, now: SimTime) -> Vec<StateSnapshot> {
        let (own, opponent) = (color.index(), (!color).index());
        if !self.is_running() || !(self.config.takebacks || self.config.ai) {
            return Vec::new();
        }
        if self.config.ai {
            if !yes || self.plies() < 2 {
                return Vec::new();
            }
            self.undo_moves(if self.turn() == color { 2 } else { 1 }, now);
            return vec![self.snapshot(now)];
        }
        match (
            yes,
            self.takeback.proposed[opponent],
            self.takeback.proposed[own],
        ) {
            (true, true, _) => self.undo_moves(if self.turn() == color { 1 } else { 2 }, now),
            (true, false, false)
                if self.plies() >= 2 && self.can_propose_takeback_again(color, now) =>
            {
                self.takeback.proposed[own] = true;
            }
            (false, _, true) => self.takeback.proposed[own] = false,
            (false, true, false) => {
                self.takeback.proposed[opponent] = false;
                self.takeback.declined[opponent] += 1;
                self.takeback.last_declined[opponent] = Some(now);
            }
            _ => return Vec::new(),
        }
        vec![self.snapshot(now)]
    }

    /// After n declined proposals, the next one must wait for 10 n² seconds.
    fn can_propose_takeback_again(&self, color: Color, now: SimTime) -> bool {
        let declines = u64::from(self.takeback.declined[color.index()]);
        let pause = Duration::from_secs(10 * declines * declines);
        self.takeback.last_declined[color.index()].is_none_or(|last| now.since(last) >= pause)
    }

    fn undo_moves(&mut self, plies: usize, now: SimTime) {
        let played = self.plies();
        let keep = played.saturating_sub(plies);
        self.game.truncate(keep);
        let end = self
            .moves
            .match_indices(' ')
            .map(|(at, _)| at)
            .nth(keep.wrapping_sub(1))
            .unwrap_or(0);
        self.moves.truncate(end);
        self.takeback.proposed = [false; 2];
        self.draw_offers = [false; 2];
        self.last_move_at = now;
        let turn = self.turn();
        match &mut self.timing {
            Timing::Clock(clock) => {
                for undone in (keep..played).rev() {
                    let before = undone.checked_sub(1);
                    clock.undo_move(before.map(|ply| self.clock_history[ply]), now);
                }
            }
            Timing::Days(days) => days.set_turn(turn, now),
            Timing::Unlimited => {}
        }
        self.clock_history.truncate(keep);
    }

    /// Claims victory because the opponent left; `opponent_gone`: they have been away for long enough. A no-op at the wrong
    /// time. Without mating material the game is drawn and the claim is still rejected, as on Lichess.
    pub(crate) fn claim_victory(
        &mut self,
        color: Color,
        opponent_gone: bool,
        now: SimTime,
    ) -> ActionOutcome {
        if !self.allows_claims() || self.turn() == color {
            return ActionOutcome::accepted(Vec::new());
        }
        if !opponent_gone {
            return ActionOutcome::rejected(GameError::CannotClaimVictory);
        }
        let mut snapshots = Vec::new();
        let can_win = self.game.position().has_mating_material(color);
        self.finish(
            Status::Timeout,
            can_win.then_some(color),
            now,
            &mut snapshots,
        );
        ActionOutcome {
            snapshots,
            result: can_win.then_some(()).ok_or(GameError::CannotClaimVictory),
        }
    }

    /// Claims a draw because the opponent left. Unlike a victory claim, it is rejected on the claimant's own turn.
    pub(crate) fn claim_draw(
        &mut self,
        color: Color,
        opponent_gone: bool,
        now: SimTime,
    ) -> ActionOutcome {
        if !self.is_drawable() {
            return ActionOutcome::accepted(Vec::new());
        }
        if !self.allows_claims() || self.turn() == color || !opponent_gone {
            return ActionOutcome::rejected(GameError::CannotClaimDraw);
        }
        let mut snapshots = Vec::new();
        self.finish(Status::Timeout, None, now, &mut snapshots);
        ActionOutcome::accepted(snapshots)
    }

    /// Returns whether the opponent may claim the game if a player leaves: a real-time game in which both have moved.
    pub(crate) fn allows_claims(&self) -> bool {
        self.is_running()
            && self.plies() >= 2
            && matches!(self.timing, Timing::Clock(_))
            && !self.config.no_claim_win
            && !self.config.ai
    }

    /// Ends the game if the flag of the side to move has fallen.
    pub(crate) fn check_flag(&mut self, now: SimTime) -> ActionOutcome {
        let mut snapshots = Vec::new();
        if self.is_running() && self.timing.is_flagged(now) {
            self.flag(now, &mut snapshots);
        }
        ActionOutcome::accepted(snapshots)
    }

    /// Ends unlimited games without a move for three weeks.
    pub(crate) fn check_abandoned(&mut self, now: SimTime) -> ActionOutcome {
        let abandoned = self.is_running()
            && matches!(self.timing, Timing::Unlimited)
            && now.since(self.last_move_at) > UNLIMITED_GAME_TIMEOUT;
        if abandoned {
            self.resign(self.turn(), now)
        } else {
            ActionOutcome::accepted(Vec::new())
        }
    }

    /// An outcome without any state.
    pub(crate) fn no_change(&self) -> ActionOutcome {
        ActionOutcome::accepted(Vec::new())
    }

    /// Changes the notation of castling, also of moves already made.
    pub(crate) fn set_castling_notation(&mut self, castling: Castling) {
        self.config.castling = castling;
        let notation = self.notation();
        let moves: Vec<String> = self
            .game
            .moves()
            .iter()
            .map(|mv| mv.uci(notation).to_string())
            .collect();
        self.moves = moves.join(" ");
    }

    fn flag(&mut self, now: SimTime, snapshots: &mut Vec<StateSnapshot>) {
        let excused = self.restarted_at.is_some_and(|restart| {
            self.last_move_at < restart && now.since(restart) < RESTART_GRACE_PERIOD
        });
        if excused {
            self.finish(Status::Aborted, None, now, snapshots);
            return;
        }
        let winner = !self.turn();
        if self.draw_offers[winner.index()] {
            self.finish(Status::Draw, None, now, snapshots);
        } else {
            let can_win = self.game.position().has_mating_material(winner);
            self.finish(Status::OutOfTime, can_win.then_some(winner), now, snapshots);
        }
    }

    fn finish(
        &mut self,
        status: Status,
        winner: Option<Color>,
        now: SimTime,
        snapshots: &mut Vec<StateSnapshot>,
    ) {
        self.timing.stop(now);
        self.takeback.proposed = [false; 2];
        self.status = status;
        self.winner = winner;
        snapshots.push(self.snapshot(now));
    }

    fn absolute_ply(&self) -> usize {
        let start = &self.config.start;
        let before = 2 * (start.fullmove_number().max(1) as usize - 1)
            + usize::from(start.turn() == Color::Black);
        before + self.plies()
    }
}
