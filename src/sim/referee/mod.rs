//! One game from its first move to its result: a pure state machine over the rules and the clocks.
//!
//! It is told who wants what at which moment, and answers with a refusal or with the states that everybody who watches
//! has to be shown, in order. It knows nothing of HTTP, of streams and of ratings.

mod arena;
mod clock;
mod hands;
mod ruling;
#[cfg(test)]
mod tests;
mod wish;

use std::time::Duration;

use crate::chess::{CastlingNotation, Color, Ending, Game, Move, Position};

use crate::sim::options::TimeControl;
use crate::sim::quirks::Castling;
use crate::sim::site::time::SimTime;
use crate::sim::site::variant::Variant;

pub use arena::ArenaTerms;
pub use clock::{Centis, UNLIMITED_MILLIS};
pub use ruling::{Refusal, Ruling, Status, View};

use clock::{Clock, DayClock, Timing};
use wish::Wish;

/// A game that reaches this ply is drawn.
const MAX_PLY: usize = 600;
/// Nobody may offer a second draw within so many plies.
const DRAW_OFFER_PAUSE: usize = 20;
/// An unlimited game in which nothing moves for so long is lost for the side to move.
const UNLIMITED_PATIENCE: Duration = Duration::from_secs(21 * 86_400);

/// So long after a restart of the site nobody loses on time a game that was last moved in before it.
const RESTART_EXCUSE: Duration = Duration::from_secs(120);

/// What is agreed before the first move.
#[derive(Clone, Debug)]
pub struct Terms {
    pub variant: Variant,
    pub start: Position,
    pub time_control: TimeControl,
    /// A bot plays: threefold repetition ends the game by itself.
    pub bot_plays: bool,
    /// One side is played by the site's own engine, which gives every move back and talks of nothing.
    pub ai: bool,
    /// Both players can be asked for takebacks.
    pub takebacks: bool,
    pub no_abort: bool,
    pub no_early_draw: bool,
    pub no_claim_win: bool,
    pub castling: Castling,
    /// The game belongs to an arena: nobody can abort it, and it can be resigned from the first move on.
    pub arena: Option<ArenaTerms>,
}

#[derive(Clone, Debug, Default)]
struct TakebackTalk {
    proposed: [bool; 2],
    declined: [u32; 2],
    last_declined: [Option<SimTime>; 2],
}

/// The referee of one game.
#[derive(Clone, Debug)]
pub struct Referee {
    terms: Terms,
    game: Game,
    moves: String,
    timing: Timing,
    /// What the mover had left after each ply, for takebacks and for the PGN.
    left: Vec<Centis>,
    status: Status,
    winner: Option<Color>,
    draw_offers: [bool; 2],
    last_draw_offer: [Option<usize>; 2],
    takeback: TakebackTalk,
    moved_at: SimTime,
    /// When the site was started again since the game began.
    restarted_at: Option<SimTime>,
}

impl Referee {
    pub fn new(terms: Terms, now: SimTime) -> Self {
        let turn = terms.start.turn();
        let timing = match terms.time_control {
            TimeControl::Clock { limit, increment } => {
                Timing::Clock(Clock::new(limit, increment, turn))
            }
            TimeControl::Days(days) => Timing::Days(DayClock::new(days, turn, now)),
            TimeControl::Unlimited => Timing::Unlimited,
        };
        Self {
            game: Game::new(terms.start.clone()),
            terms,
            moves: String::new(),
            timing,
            left: Vec::new(),
            status: Status::Started,
            winner: None,
            draw_offers: [false; 2],
            last_draw_offer: [None; 2],
            takeback: TakebackTalk::default(),
            moved_at: now,
            restarted_at: None,
        }
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    pub fn game(&self) -> &Game {
        &self.game
    }

    pub fn status(&self) -> Status {
        self.status
    }

    pub fn winner(&self) -> Option<Color> {
        self.winner
    }

    pub fn is_on(&self) -> bool {
        self.status == Status::Started
    }

    pub fn turn(&self) -> Color {
        self.game.position().turn()
    }

    /// Half-moves played here, whatever number the start position bears.
    pub fn plies(&self) -> usize {
        self.game.moves().len()
    }

    pub fn moved_at(&self) -> SimTime {
        self.moved_at
    }

    /// What the mover had left after each ply, in hundredths of a second; empty without a real-time clock.
    pub fn clock_history(&self) -> &[Centis] {
        &self.left
    }

    /// Seconds that this side has left; nothing in unlimited games.
    pub fn seconds_left(&self, color: Color, now: SimTime) -> Option<i64> {
        self.time_left(color, now)
            .and_then(|left| i64::try_from(left.as_secs()).ok())
    }

    /// What this side has left; nothing in unlimited games.
    pub fn time_left(&self, color: Color, now: SimTime) -> Option<Duration> {
        let millis = self.timing.remaining_millis(color, now);
        (millis != UNLIMITED_MILLIS)
            .then(|| Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    pub fn view(&self, now: SimTime) -> View {
        View {
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

    /// A player sends a move. A move that comes too late is no error: the game is over by time then.
    pub fn play(&mut self, color: Color, uci: &str, offering_draw: bool, now: SimTime) -> Ruling {
        let Some(wish) = Wish::parse(uci) else {
            return Ruling::refused(Refusal::InvalidUci(uci.to_owned()));
        };
        if !self.is_on() || self.turn() != color {
            return Ruling::refused(Refusal::NotYourTurn);
        }
        let mut shown = Vec::new();
        // The offer is heard before the move is played; it may already end the game.
        if offering_draw {
            shown = self.answer_draw(color, true, now);
            if !self.is_on() {
                return Ruling::granted(shown);
            }
        }
        if self.absolute_ply() >= MAX_PLY {
            self.finish(Status::Draw, None, now, &mut shown);
            return Ruling::granted(shown);
        }
        match wish.find(self.game.position(), self.terms.variant) {
            Err(refusal) => {
                return Ruling {
                    shown,
                    verdict: Err(refusal),
                };
            }
            Ok(_) if self.timing.flagged(now) => self.out_of_time(now, &mut shown),
            Ok(mv) => self.make(mv, color, now, &mut shown),
        }
        Ruling::granted(shown)
    }

    fn make(&mut self, mv: Move, color: Color, now: SimTime, shown: &mut Vec<View>) {
        self.apply(mv, color, now);
        let Some(ending) = self.game.ending() else {
            shown.push(self.view(now));
            self.after_move(color, now, shown);
            return;
        };
        let (status, winner) = match ending {
            Ending::Checkmate => (Status::Mate, Some(color)),
            Ending::Stalemate => (Status::Stalemate, None),
            Ending::InsufficientMaterial | Ending::FiftyMoves | Ending::FivefoldRepetition => {
                (Status::Draw, None)
            }
        };
        self.finish(status, winner, now, shown);
    }

    fn notation(&self) -> CastlingNotation {
        match (self.terms.variant, self.terms.castling) {
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
        self.moved_at = now;
        let goes_on = self.game.ending().is_none();
        let plies = self.plies();
        match &mut self.timing {
            Timing::Clock(clock) => {
                clock.press(now, goes_on);
                if plies == 2 && goes_on {
                    clock.start(now);
                }
                self.left.push(clock.remaining(color, now));
            }
            Timing::Days(days) => days.turn_to(!color, now),
            Timing::Unlimited => {}
        }
    }

    /// What a move answers without a word: the opponent's draw offer dies unseen, a takeback proposal dies visibly, a
    /// third repetition ends the game when a bot plays.
    fn after_move(&mut self, color: Color, now: SimTime, shown: &mut Vec<View>) {
        self.draw_offers[(!color).index()] = false;
        if self.takeback.proposed != [false; 2] {
            self.takeback.proposed = [false; 2];
            shown.push(self.view(now));
        }
        if self.game.repetitions() >= 3 && self.draws_by_itself(now) {
            self.finish(Status::Draw, None, now, shown);
        }
    }

    fn draws_by_itself(&self, now: SimTime) -> bool {
        let short_of_time = |color| {
            matches!(self.timing, Timing::Clock(_))
                && self.timing.remaining_millis(color, now) < 30_000
        };
        let offered = |color: Color| {
            self.last_draw_offer[color.index()]
                .is_some_and(|ply| ply + DRAW_OFFER_PAUSE >= self.plies())
        };
        self.terms.bot_plays
            || [Color::White, Color::Black]
                .into_iter()
                .any(|color| short_of_time(color) || offered(color))
    }

    pub fn is_abortable(&self) -> bool {
        self.is_on() && self.plies() < 2 && !self.terms.no_abort && self.terms.arena.is_none()
    }

    pub fn abort(&mut self, now: SimTime) -> Ruling {
        if !self.is_abortable() {
            return Ruling::refused(Refusal::CannotAbort);
        }
        let mut shown = Vec::new();
        self.finish(Status::Aborted, None, now, &mut shown);
        Ruling::granted(shown)
    }

    /// Both players call the game off, whatever has been played.
    pub fn call_off(&mut self, now: SimTime) -> Ruling {
        let mut shown = Vec::new();
        if self.is_on() {
            self.finish(Status::Aborted, None, now, &mut shown);
        }
        Ruling::granted(shown)
    }

    /// Before the second ply this aborts, where a game can be aborted.
    pub fn resign(&mut self, color: Color, now: SimTime) -> Ruling {
        if self.is_abortable() {
            return self.abort(now);
        }
        if !self.is_on() || (self.plies() < 2 && self.terms.arena.is_none()) {
            return Ruling::refused(Refusal::CannotResign);
        }
        let mut shown = Vec::new();
        self.finish(Status::Resign, Some(!color), now, &mut shown);
        Ruling::granted(shown)
    }

    /// Offers, accepts, claims or declines; without effect where none of these is possible.
    pub fn draw(&mut self, color: Color, yes: bool, now: SimTime) -> Ruling {
        Ruling::granted(self.answer_draw(color, yes, now))
    }

    fn answer_draw(&mut self, color: Color, yes: bool, now: SimTime) -> Vec<View> {
        let mut shown = Vec::new();
        if !yes {
            if self.is_on() {
                // Nobody is told.
                self.draw_offers[(!color).index()] = false;
            }
            return shown;
        }
        if !self.is_drawable() {
            return shown;
        }
        let plies = self.plies();
        if self.game.repetitions() >= 3 || self.draw_offers[(!color).index()] {
            self.finish(Status::Draw, None, now, &mut shown);
        } else if !self.game.position().has_mating_material(!color) {
            self.finish(Status::InsufficientMaterialClaim, None, now, &mut shown);
        } else if !self.terms.ai
            && !self.draw_offers[color.index()]
            && self.last_draw_offer[color.index()]
                .is_none_or(|last| last + DRAW_OFFER_PAUSE < plies)
        {
            self.draw_offers[color.index()] = true;
            self.last_draw_offer[color.index()] = Some(plies);
            shown.push(self.view(now));
        }
        shown
    }

    /// Whether this side's draw offer stands.
    pub fn offers_draw(&self, color: Color) -> bool {
        self.draw_offers[color.index()]
    }

    /// Whether this side's question for a takeback stands.
    pub fn asks_takeback(&self, color: Color) -> bool {
        self.takeback.proposed[color.index()]
    }

    pub fn is_drawable(&self) -> bool {
        self.is_on() && self.plies() >= 2 && !(self.terms.no_early_draw && self.plies() < 60)
    }

    /// Proposes, accepts, withdraws or declines; without effect where none of these is possible.
    pub fn takeback(&mut self, color: Color, yes: bool, now: SimTime) -> Ruling {
        Ruling::granted(self.answer_takeback(color, yes, now))
    }

    fn answer_takeback(&mut self, color: Color, yes: bool, now: SimTime) -> Vec<View> {
        let (mine, theirs) = (color.index(), (!color).index());
        if !self.is_on() || !(self.terms.takebacks || self.terms.ai) {
            return Vec::new();
        }
        if self.terms.ai {
            if !yes || self.plies() < 2 {
                return Vec::new();
            }
            self.take_back(if self.turn() == color { 2 } else { 1 }, now);
            return vec![self.view(now)];
        }
        match (
            yes,
            self.takeback.proposed[theirs],
            self.takeback.proposed[mine],
        ) {
            (true, true, _) => self.take_back(if self.turn() == color { 1 } else { 2 }, now),
            (true, false, false) if self.plies() >= 2 && self.may_ask_again(color, now) => {
                self.takeback.proposed[mine] = true;
            }
            (false, _, true) => self.takeback.proposed[mine] = false,
            (false, true, false) => {
                self.takeback.proposed[theirs] = false;
                self.takeback.declined[theirs] += 1;
                self.takeback.last_declined[theirs] = Some(now);
            }
            _ => return Vec::new(),
        }
        vec![self.view(now)]
    }

    /// Each refusal makes the next question wait longer.
    fn may_ask_again(&self, color: Color, now: SimTime) -> bool {
        let refusals = u64::from(self.takeback.declined[color.index()]);
        let pause = Duration::from_secs(10 * refusals * refusals);
        self.takeback.last_declined[color.index()].is_none_or(|last| now.since(last) >= pause)
    }

    fn take_back(&mut self, plies: usize, now: SimTime) {
        let keep = self.plies().saturating_sub(plies);
        self.game.truncate(keep);
        let end = self
            .moves
            .match_indices(' ')
            .map(|(at, _)| at)
            .nth(keep.wrapping_sub(1))
            .unwrap_or(0);
        self.moves.truncate(end);
        self.left.truncate(keep);
        self.takeback.proposed = [false; 2];
        self.draw_offers = [false; 2];
        self.moved_at = now;
        let turn = self.turn();
        match &mut self.timing {
            Timing::Clock(clock) => {
                // His previous move is two plies before the one he makes now.
                let had = keep.checked_sub(2).map(|ply| self.left[ply]);
                let had = had.unwrap_or_else(|| clock.initial());
                clock.rewind(turn, had, now);
            }
            Timing::Days(days) => days.turn_to(turn, now),
            Timing::Unlimited => {}
        }
    }

    /// Claims the win because the opponent left. Asked at the wrong time it does nothing; `gone` says whether he has
    /// been away for long enough. Who cannot mate gets a draw and is refused nevertheless.
    pub fn claim_victory(&mut self, color: Color, gone: bool, now: SimTime) -> Ruling {
        if !self.can_be_left() || self.turn() == color {
            return Ruling::granted(Vec::new());
        }
        if !gone {
            return Ruling::refused(Refusal::CannotClaimVictory);
        }
        let mut shown = Vec::new();
        let can_win = self.game.position().has_mating_material(color);
        self.finish(Status::Timeout, can_win.then_some(color), now, &mut shown);
        Ruling {
            shown,
            verdict: can_win.then_some(()).ok_or(Refusal::CannotClaimVictory),
        }
    }

    /// Claims a draw because the opponent left. Unlike the win it is refused on one's own turn.
    pub fn claim_draw(&mut self, color: Color, gone: bool, now: SimTime) -> Ruling {
        if !self.is_drawable() {
            return Ruling::granted(Vec::new());
        }
        if !self.can_be_left() || self.turn() == color || !gone {
            return Ruling::refused(Refusal::CannotClaimDraw);
        }
        let mut shown = Vec::new();
        self.finish(Status::Timeout, None, now, &mut shown);
        Ruling::granted(shown)
    }

    /// Whether leaving this game can cost it: a real-time game in which both have moved.
    pub fn can_be_left(&self) -> bool {
        self.is_on()
            && self.plies() >= 2
            && matches!(self.timing, Timing::Clock(_))
            && !self.terms.no_claim_win
            && !self.terms.ai
    }

    /// Somebody looks whether a flag has fallen.
    pub fn check_flag(&mut self, now: SimTime) -> Ruling {
        let mut shown = Vec::new();
        if self.is_on() && self.timing.flagged(now) {
            self.out_of_time(now, &mut shown);
        }
        Ruling::granted(shown)
    }

    /// The slow housekeeping: unlimited games in which nothing has moved for weeks.
    pub fn check_patience(&mut self, now: SimTime) -> Ruling {
        let forgotten = self.is_on()
            && matches!(self.timing, Timing::Unlimited)
            && now.since(self.moved_at) > UNLIMITED_PATIENCE;
        if forgotten {
            self.resign(self.turn(), now)
        } else {
            Ruling::granted(Vec::new())
        }
    }

    /// Nothing happens.
    pub fn nothing(&self) -> Ruling {
        Ruling::granted(Vec::new())
    }

    /// From now on castling is spelt in this way, also in the moves that were made.
    pub fn spell_castling(&mut self, castling: Castling) {
        self.terms.castling = castling;
        let notation = self.notation();
        let moves: Vec<String> = self
            .game
            .moves()
            .iter()
            .map(|mv| mv.uci(notation).to_string())
            .collect();
        self.moves = moves.join(" ");
    }

    fn out_of_time(&mut self, now: SimTime, shown: &mut Vec<View>) {
        let excused = self
            .restarted_at
            .is_some_and(|restart| self.moved_at < restart && now.since(restart) < RESTART_EXCUSE);
        if excused {
            self.finish(Status::Aborted, None, now, shown);
            return;
        }
        let winner = !self.turn();
        if self.draw_offers[winner.index()] {
            self.finish(Status::Draw, None, now, shown);
        } else {
            let can_win = self.game.position().has_mating_material(winner);
            self.finish(Status::OutOfTime, can_win.then_some(winner), now, shown);
        }
    }

    fn finish(
        &mut self,
        status: Status,
        winner: Option<Color>,
        now: SimTime,
        shown: &mut Vec<View>,
    ) {
        self.timing.stop(now);
        self.takeback.proposed = [false; 2];
        self.status = status;
        self.winner = winner;
        shown.push(self.view(now));
    }

    fn absolute_ply(&self) -> usize {
        let start = &self.terms.start;
        let before = 2 * (start.fullmove_number().max(1) as usize - 1)
            + usize::from(start.turn() == Color::Black);
        before + self.plies()
    }
}
