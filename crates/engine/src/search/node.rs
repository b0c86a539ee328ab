//! Setup of a node before its moves are searched.

use super::Search;
use super::node_type::NodeType;
use crate::Bound;
use crate::history::{CorrectionKeys, HistoryContext};
use crate::params;
use crate::table::Hit;
use crate::value::{EVAL_LIMIT, INFINITE, Value};
use knightwatch_chess::{Color, Move, Position, Role, Variant};

/// The evaluation is halved at this halfmove clock; it fades linearly.
const HALF_EVAL_CLOCK: u32 = 100;

/// A node: its parameters, and what is known without searching a move.
pub(super) struct Node<'p> {
    pub pos: &'p Position,
    pub ply: usize,
    pub depth: i32,
    /// The window at the start of the node.
    pub alpha: Value,
    pub beta: Value,
    /// Expected cut node.
    pub cut: bool,
    /// A move not to search, during a singularity test.
    pub excluded: Option<Move>,
    /// The TT entry; `None` if a move is excluded, since that is another search.
    pub hit: Option<Hit>,
    /// The move to search first: from the table, or at the root from the last iteration.
    pub tt_move: Option<Move>,
    /// Index of the histories of its moves.
    pub context: HistoryContext,
    /// Indices of its corrections.
    pub keys: CorrectionKeys,
    /// The node is or was in a principal variation.
    pub was_pv: bool,
    pub in_check: bool,
    /// The static evaluation before correction; `None` in check.
    pub raw_eval: Option<Value>,
    /// The corrected static evaluation; `-INFINITE` in check.
    pub eval: Value,
    /// The correction included in `eval`.
    pub correction: Value,
    /// The evaluation, or the TT score if that is closer to the truth.
    pub estimate: Value,
    /// The evaluation is better than at our previous move.
    pub improving: bool,
    /// The opponent's last move made their evaluation worse.
    pub worsening: bool,
    /// The side to move has pieces other than pawns, so zugzwang is unlikely.
    pub has_pieces: bool,
}

impl<'p> Node<'p> {
    pub(super) fn new(
        pos: &'p Position,
        ply: usize,
        depth: i32,
        (alpha, beta): (Value, Value),
        cut: bool,
    ) -> Node<'p> {
        Node {
            pos,
            ply,
            depth,
            alpha,
            beta,
            cut,
            excluded: None,
            hit: None,
            tt_move: None,
            context: HistoryContext::EMPTY,
            keys: CorrectionKeys::NONE,
            was_pv: false,
            in_check: pos.in_check(),
            raw_eval: None,
            eval: -INFINITE,
            correction: 0,
            estimate: -INFINITE,
            improving: false,
            worsening: false,
            has_pieces: false,
        }
    }

    /// There is no TT move, and not because it is excluded.
    pub(super) fn lacks_tt_move(&self) -> bool {
        self.tt_move.is_none() && self.excluded.is_none()
    }
}

impl Search<'_> {
    /// Fills in everything known without searching a move, and resets the stack entries of later plies.
    pub(super) fn init_node<N: NodeType>(&mut self, node: &mut Node) {
        let (pos, ply, hit) = (node.pos, node.ply, node.hit);
        let before = self.frame_before(ply, 1);
        let (theirs, double_extensions) = (before.eval(), before.double_extensions);
        if node.in_check {
            self.frame(ply).static_eval = None;
        } else {
            if node.excluded.is_none() {
                self.evaluate_node(node);
                self.frame(ply).static_eval = Some((node.eval, node.correction));
            } else if let Some(static_eval) = self.frame(ply).static_eval {
                // The singularity test searches the same node again.
                (node.eval, node.correction) = static_eval;
            }
            let earlier = [2, 4]
                .into_iter()
                .find_map(|back| self.frame_before(ply, back).eval());
            node.estimate = better_estimate(pos, node.eval, hit);
            node.improving = earlier.is_some_and(|earlier| node.eval > earlier);
            node.worsening = theirs.is_some_and(|theirs| node.eval > -theirs);
        }
        node.tt_move = if N::ROOT {
            self.root[self.pv_index].pv.first().copied()
        } else {
            hit.and_then(|hit| hit.mv).filter(|&mv| pos.is_legal(mv))
        };
        node.was_pv = N::PV || hit.is_some_and(|hit| hit.pv);
        let pawns_and_kings = pos.by_role(Role::Pawn) | pos.by_role(Role::King);
        node.has_pieces = !(pos.by_color(pos.turn()) & !pawns_and_kings).is_empty()
            || pos.variant() != Variant::Standard && has_many_moves(pos);

        self.frame(ply).double_extensions = double_extensions;
        self.frame(ply).reduction = 0;
        if node.raw_eval.is_some() {
            self.update_from_eval_swing(node);
        }
        self.frame(ply + 1).excluded = None;
        // Cousins share what follows.
        self.frame(ply + 2).killer = None;
        self.frame(ply + 2).cutoffs = 0;
        if N::ROOT {
            self.frame(1).killer = None;
            self.frame(1).cutoffs = 0;
        }
    }

    /// Sets the static evaluation: from the table if it is there, faded by the fifty-move rule and corrected by the
    /// correction histories.
    pub(super) fn evaluate_node(&mut self, node: &mut Node) {
        const WHOLE: Value = 2 * HALF_EVAL_CLOCK as Value;
        let pos = node.pos;
        // Before the evaluation, during which the processor can wait for the memory of the corrections.
        node.keys = CorrectionKeys::new(pos, self.prior_moves(node.ply));
        node.correction = self.thread_data.corrections.get(&node.keys);
        let raw = node
            .hit
            .and_then(|hit| hit.eval)
            .unwrap_or_else(|| self.thread_data.evaluator.evaluate(pos));
        let clock = match pos.variant() {
            // Without a fifty-move rule.
            Variant::Crazyhouse => 0,
            _ => pos.halfmove_clock().min(HALF_EVAL_CLOCK),
        };
        let faded = raw * (WHOLE - clock as Value) / WHOLE;
        let faded = match pos.variant() {
            Variant::Standard => {
                faded - faded * missing_pieces(pos) * params::eval_material() / START_DIVISOR
            }
            _ => faded,
        };
        node.raw_eval = Some(raw);
        node.eval = (faded + node.correction).clamp(-EVAL_LIMIT, EVAL_LIMIT);
    }
}

/// The value of all pieces but pawns at the start of a game, in pawns.
const START_PIECES: Value = 62;
/// [`params::eval_material`] is in thousandths.
const START_DIVISOR: Value = 1_000 * START_PIECES;

/// The value of the pieces but pawns that are no longer there, in pawns.
fn missing_pieces(pos: &Position) -> Value {
    let count = |role| pos.by_role(role).count() as Value;
    let minor = count(Role::Knight) + count(Role::Bishop);
    let present = 3 * minor + 5 * count(Role::Rook) + 9 * count(Role::Queen);
    (START_PIECES - present).max(0)
}

/// Returns whether zugzwang is unlikely, although the side to move has only pawns on the board: in crazyhouse it can
/// drop, and a large horde has spare moves.
#[cold]
#[inline(never)]
fn has_many_moves(pos: &Position) -> bool {
    const LARGE_HORDE: u32 = 8;
    match pos.variant() {
        Variant::Crazyhouse => Role::ALL
            .into_iter()
            .any(|role| pos.pocket(pos.turn(), role) > 0),
        Variant::Horde => {
            pos.turn() == Color::White && pos.by_color(Color::White).count() >= LARGE_HORDE
        }
        Variant::Antichess => true,
        _ => false,
    }
}

/// The TT score if it allows a cutoff: deep enough, a suitable bound, and not endangered by the fifty-move rule.
pub(super) fn tt_cutoff(
    pos: &Position,
    hit: Option<Hit>,
    depth: i32,
    alpha: Value,
    beta: Value,
) -> Option<Value> {
    let hit = hit.filter(|hit| hit.depth >= depth)?;
    let decides = match hit.bound {
        Bound::Exact => true,
        Bound::Lower => hit.value >= beta,
        Bound::Upper => hit.value <= alpha,
    };
    (decides && is_tt_value_trusted(pos)).then_some(hit.value)
}

/// Returns whether the fifty-move rule is far enough away to trust TT scores.
fn is_tt_value_trusted(pos: &Position) -> bool {
    pos.halfmove_clock() < params::MAX_TT_HALFMOVE_CLOCK || pos.variant() == Variant::Crazyhouse
}

/// The TT score if its bound says that it is closer to the truth than the evaluation, unless the fifty-move rule is
/// near.
pub(super) fn better_estimate(pos: &Position, eval: Value, hit: Option<Hit>) -> Value {
    let Some(hit) = hit.filter(|_| is_tt_value_trusted(pos)) else {
        return eval;
    };
    let is_uninformative = match hit.bound {
        Bound::Exact => false,
        Bound::Lower => hit.value <= eval,
        Bound::Upper => hit.value >= eval,
    };
    if is_uninformative { eval } else { hit.value }
}
