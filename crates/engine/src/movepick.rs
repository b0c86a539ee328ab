//! Staged move picker. Moves are generated stage by stage, so that no work goes into moves that are never searched.
//!
//! The stages: TT move, captures and promotions that do not lose material, quiet moves by history, losing captures.

use super::board_move::{BoardMove, captured_role};
use super::history::{History, HistoryContext, QuietHistory};
use super::value::Value;
use super::{params, see};
use knightwatch_chess::{Bitboard, Generate, Move, Piece, Position, Role, Variant, attacks};

/// A move and its ordering score.
#[derive(Clone, Copy)]
pub(crate) struct ScoredMove {
    board_move: BoardMove,
    score: i32,
}

const _: () = assert!(size_of::<ScoredMove>() == 8);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    TtMove,
    GenerateNoisy,
    GoodNoisy,
    GenerateQuiet,
    Quiet,
    BadNoisy,
    Done,
}

/// Inputs of move ordering.
pub(crate) struct OrderingContext<'a> {
    pub history: &'a History,
    pub context: &'a HistoryContext,
    pub killer: Option<Move>,
}

/// Yields the moves of one node, best first.
///
/// The moves lie in a list shared by all nodes of the line, from `base` on; [`MovePicker::release`] removes them.
pub(crate) struct MovePicker {
    tt_move: Option<Move>,
    stage: Stage,
    /// Captures with a lower SEE value are bad.
    threshold: Value,
    with_quiets: bool,
    with_bad_noisy: bool,
    /// Of the quiet moves, only direct checks.
    checks_only: bool,
    base: usize,
    /// End of the bad captures, which are collected from `base` on.
    bad_end: usize,
    next: usize,
}

impl MovePicker {
    /// Picks all moves. The TT move must be legal.
    pub(crate) fn all(tt_move: Option<Move>, list: &[ScoredMove]) -> MovePicker {
        MovePicker {
            tt_move,
            stage: Stage::TtMove,
            threshold: 0,
            with_quiets: true,
            with_bad_noisy: true,
            checks_only: false,
            base: list.len(),
            bad_end: list.len(),
            next: list.len(),
        }
    }

    /// Picks only captures and promotions with a SEE value of at least `threshold`.
    pub(crate) fn noisy(
        tt_move: Option<Move>,
        threshold: Value,
        list: &[ScoredMove],
    ) -> MovePicker {
        MovePicker {
            threshold,
            with_quiets: false,
            with_bad_noisy: false,
            ..MovePicker::all(tt_move, list)
        }
    }

    /// Picks quiet moves that give check, too.
    pub(crate) fn with_checks(self) -> MovePicker {
        MovePicker {
            with_quiets: true,
            checks_only: true,
            ..self
        }
    }

    /// Skips the remaining quiet moves.
    pub(crate) fn skip_quiets(&mut self) {
        self.with_quiets = false;
    }

    /// The next move, or `None` at the end.
    pub(crate) fn next(
        &mut self,
        pos: &Position,
        list: &mut Vec<ScoredMove>,
        ordering: &OrderingContext,
    ) -> Option<BoardMove> {
        loop {
            match self.stage {
                Stage::TtMove => {
                    self.stage = Stage::GenerateNoisy;
                    if let Some(mv) = self.tt_move {
                        return Some(BoardMove::new(pos, mv));
                    }
                }
                Stage::GenerateNoisy => {
                    self.generate_noisies(pos, list, ordering);
                    self.stage = Stage::GoodNoisy;
                }
                Stage::GoodNoisy => {
                    while let Some(mv) = self.pick_best(list) {
                        if see::is_at_least(pos, mv, self.threshold) {
                            return Some(mv);
                        }
                        list[self.bad_end].board_move = mv;
                        self.bad_end += 1;
                    }
                    self.stage = Stage::GenerateQuiet;
                }
                Stage::GenerateQuiet => {
                    if self.with_quiets {
                        self.generate_quiets(pos, list, ordering);
                        if self.checks_only {
                            self.keep_checks(pos, list);
                        }
                    }
                    self.stage = Stage::Quiet;
                }
                Stage::Quiet => {
                    if self.with_quiets
                        && let Some(mv) = self.pick_best(list)
                    {
                        return Some(mv);
                    }
                    self.next = self.base;
                    self.stage = if self.with_bad_noisy {
                        Stage::BadNoisy
                    } else {
                        Stage::Done
                    };
                }
                Stage::BadNoisy => {
                    if self.next < self.bad_end {
                        self.next += 1;
                        return Some(list[self.next - 1].board_move);
                    }
                    self.stage = Stage::Done;
                }
                Stage::Done => return None,
            }
        }
    }

    /// Removes the picker's moves from the list.
    pub(crate) fn release(&self, list: &mut Vec<ScoredMove>) {
        list.truncate(self.base);
    }

    /// Not inlined, like [`generate_quiets`](Self::generate_quiets): [`next`](Self::next) is called far more often
    /// and would save registers for them each time.
    #[inline(never)]
    fn generate_noisies(
        &mut self,
        pos: &Position,
        list: &mut Vec<ScoredMove>,
        ordering: &OrderingContext,
    ) {
        self.next = list.len();
        let turn = pos.turn();
        pos.for_each_with_role(Generate::Noisy, None, |role, mv| {
            if Some(mv) != self.tt_move {
                let captured = captured_role(pos, mv);
                let board_move = BoardMove { mv, role, captured };
                list.push(ScoredMove {
                    board_move,
                    score: 0,
                });
            }
        });
        for scored in &mut list[self.next..] {
            let piece = Piece::new(turn, scored.board_move.role);
            scored.score = noisy_score(pos, scored.board_move, piece, ordering.history);
        }
    }

    #[inline(never)]
    fn generate_quiets(
        &mut self,
        pos: &Position,
        list: &mut Vec<ScoredMove>,
        ordering: &OrderingContext,
    ) {
        let quiets = ordering.history.quiets(pos.turn(), ordering.context);
        let masks = Masks::new(pos, ordering.context);
        let turn = pos.turn();
        // In other variants, those threats are not what the generator needs.
        let danger = (pos.variant() == Variant::Standard).then_some(ordering.context.threats.all);
        self.next = list.len();
        pos.for_each_with_role(Generate::Quiet, danger, |role, mv| {
            if Some(mv) != self.tt_move {
                let board_move = BoardMove {
                    mv,
                    role,
                    captured: None,
                };
                list.push(ScoredMove {
                    board_move,
                    score: 0,
                });
            }
        });
        for scored in &mut list[self.next..] {
            let BoardMove { mv, role, .. } = scored.board_move;
            let piece = Piece::new(turn, role);
            scored.score = quiet_score(piece, mv, ordering.killer, &quiets, &masks);
        }
    }

    /// Removes the quiet moves that give no direct check.
    #[cold]
    #[inline(never)]
    fn keep_checks(&self, pos: &Position, list: &mut Vec<ScoredMove>) {
        let checks = check_squares(pos);
        let mut end = self.next;
        for i in self.next..list.len() {
            let BoardMove { mv, role, .. } = list[i].board_move;
            if checks[role.index()].contains(mv.to()) {
                list[end] = list[i];
                end += 1;
            }
        }
        list.truncate(end);
    }

    /// One step of selection sort: most nodes need only the first few moves.
    fn pick_best(&mut self, list: &mut [ScoredMove]) -> Option<BoardMove> {
        let rest = &mut list[self.next..];
        let (first, others) = rest.split_first()?;
        let (mut best, mut score) = (0, first.score);
        for (i, other) in others.iter().enumerate() {
            if other.score > score {
                (best, score) = (i + 1, other.score);
            }
        }
        rest.swap(0, best);
        self.next += 1;
        Some(rest[0].board_move)
    }
}

/// MVV, then capture history.
fn noisy_score(pos: &Position, board_move: BoardMove, piece: Piece, history: &History) -> i32 {
    const VICTIM_SCALE: i32 = 24;
    let BoardMove { mv, captured, .. } = board_move;
    let victim = captured.map_or(0, see::value_of);
    let promotion = match mv.promotion() {
        Some(Role::Queen) => see::value_of(Role::Queen),
        Some(_) => -see::value_of(Role::Queen),
        None => 0,
    };
    let history = history.noisy(piece, mv, captured);
    if pos.variant() == Variant::Atomic {
        return VICTIM_SCALE * (see::explosion(pos, board_move) + promotion) + history;
    }
    VICTIM_SCALE * (victim + promotion) + history
}

/// Masks for scoring quiet moves, by role of the moving piece.
struct Masks {
    /// Squares from which the enemy king is attacked.
    checks: [Bitboard; 6],
    check_bonus: i32,
    /// Squares attacked by a piece of lower value.
    danger: [Bitboard; 6],
}

/// Bonus for checks in three-check, in which they are the goal.
const THREE_CHECK_BONUS: i32 = 30_000;

/// Squares from which the other king is attacked, by role of the piece.
#[inline(always)]
fn check_squares(pos: &Position) -> [Bitboard; 6] {
    let (king, occupied) = (pos.king(!pos.turn()), pos.occupied());
    let (bishop, rook) = (
        attacks::bishop(king, occupied),
        attacks::rook(king, occupied),
    );
    [
        attacks::pawn(!pos.turn(), king),
        attacks::knight(king),
        bishop,
        rook,
        bishop | rook,
        Bitboard::EMPTY,
    ]
}

impl Masks {
    fn new(pos: &Position, context: &HistoryContext) -> Masks {
        Masks {
            checks: check_squares(pos),
            check_bonus: match pos.variant() {
                Variant::ThreeCheck => THREE_CHECK_BONUS,
                _ => params::check_bonus(),
            },
            danger: Role::ALL.map(|role| context.threats.by_lower_value(role)),
        }
    }
}

/// Sum of the histories, and terms for killers, checks and pieces that leave or enter danger.
#[inline(always)]
fn quiet_score(
    piece: Piece,
    mv: Move,
    killer: Option<Move>,
    quiets: &QuietHistory,
    masks: &Masks,
) -> i32 {
    const KILLER: i32 = 1 << 20;
    let role = piece.role.index();
    let (checks, danger) = (masks.checks[role], masks.danger[role]);
    let bonus_if = |holds: bool, by: i32| if holds { by } else { 0 };
    quiets.score(piece, mv)
        + bonus_if(Some(mv) == killer, KILLER)
        + bonus_if(checks.contains(mv.to()), masks.check_bonus)
        + bonus_if(danger.contains(mv.from()), params::escape_bonus())
        - bonus_if(danger.contains(mv.to()), params::exposure_malus())
}
