//! What is known of a node before its moves are tried.

use super::Search;
use super::node_type::NodeType;
use crate::chess::{Move, Position, Role};
use crate::engine::Bound;
use crate::engine::history::{CorrectionKeys, Place};
use crate::engine::params;
use crate::engine::table::Hit;
use crate::engine::value::{EVAL_LIMIT, INFINITE, Value};

/// Plies without progress after which the evaluation counts by half; at none it counts in full.
const HALF_FADED: u32 = 100;

/// A node: what it is asked, and what is known without trying a move.
pub(super) struct Node<'p> {
    pub pos: &'p Position,
    pub ply: usize,
    pub depth: i32,
    /// The window as the node was asked for it.
    pub alpha: Value,
    pub beta: Value,
    /// A child is expected to fail high.
    pub cut: bool,
    /// A move that is not to be searched, since the rest is tested against it.
    pub excluded: Option<Move>,
    /// What the table has; nothing where a move is excluded, since that is another question.
    pub hit: Option<Hit>,
    /// The move to try first: of the table, at the root of the last iteration.
    pub table_move: Option<Move>,
    /// What the histories of its moves depend on.
    pub place: Place,
    /// Where its corrections are.
    pub keys: CorrectionKeys,
    /// This or an earlier search had it in a principal variation.
    pub was_pv: bool,
    pub in_check: bool,
    /// The static evaluation as the evaluator has it; `None` in check.
    pub raw_eval: Option<Value>,
    /// The corrected static evaluation; `-INFINITE` in check.
    pub eval: Value,
    /// By how much it was corrected.
    pub correction: Value,
    /// The evaluation or what the table knows better.
    pub estimate: Value,
    /// The evaluation is better than at our last move.
    pub improving: bool,
    /// The opponent's last move has made things worse for him.
    pub worsening: bool,
    /// The side to move has more than pawns: passing is hardly ever better than moving.
    pub has_pieces: bool,
}

impl<'p> Node<'p> {
    /// A node of which nothing is known yet but the question.
    pub fn new(
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
            table_move: None,
            place: Place::NOWHERE,
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
}

impl Search<'_> {
    /// Finds out what is known without trying a move, and prepares the frames of the children.
    pub(super) fn study<N: NodeType>(&mut self, node: &mut Node) {
        let (pos, ply, hit) = (node.pos, node.ply, node.hit);
        let before = self.frame_before(ply, 1);
        let (theirs, doubles) = (before.eval(), before.doubles);
        if !node.in_check {
            if node.excluded.is_none() {
                self.judge(node);
                self.frame(ply).judged = Some((node.eval, node.correction));
            } else if let Some(judged) = self.frame(ply).judged {
                // The same node has been here before, without a move excluded.
                (node.eval, node.correction) = judged;
            }
            let earlier = [2, 4]
                .into_iter()
                .find_map(|back| self.frame_before(ply, back).eval());
            node.estimate = better_estimate(pos, node.eval, hit);
            node.improving = earlier.is_some_and(|earlier| node.eval > earlier);
            node.worsening = theirs.is_some_and(|theirs| node.eval > -theirs);
        } else {
            self.frame(ply).judged = None;
        }
        node.table_move = if N::ROOT {
            self.root[self.rank].line.first().copied()
        } else {
            hit.and_then(|hit| hit.mv).filter(|&mv| pos.is_legal(mv))
        };
        node.was_pv = N::PV || hit.is_some_and(|hit| hit.pv);
        let pawns_and_kings = pos.by_role(Role::Pawn) | pos.by_role(Role::King);
        node.has_pieces = !(pos.by_color(pos.turn()) & !pawns_and_kings).is_empty();

        self.frame(ply).doubles = doubles;
        self.frame(ply).reduction = 0;
        if node.raw_eval.is_some() {
            self.learn_swing(node);
        }
        self.frame(ply + 1).killer = None;
        self.frame(ply + 1).excluded = None;
        self.frame(ply + 2).cutoffs = 0;
        if N::ROOT {
            self.frame(1).cutoffs = 0;
        }
    }

    /// The static evaluation, from the table if it is there, corrected by what searches of similar positions have found
    /// and fading as the fifty-move rule comes near.
    pub(super) fn judge(&mut self, node: &mut Node) {
        const WHOLE: Value = 2 * HALF_FADED as Value;
        let pos = node.pos;
        let raw = node
            .hit
            .and_then(|hit| hit.eval)
            .unwrap_or_else(|| self.memory.evaluator.evaluate(pos));
        let faded = raw * (WHOLE - pos.halfmove_clock().min(HALF_FADED) as Value) / WHOLE;
        node.keys = CorrectionKeys::new(pos, self.frame_before(node.ply, 1).moved());
        node.correction = self.memory.corrections.get(&node.keys);
        node.raw_eval = Some(raw);
        node.eval = (faded + node.correction).clamp(-EVAL_LIMIT, EVAL_LIMIT);
    }
}

/// The table's value where it answers the question: deep enough, on the right side of the window, and not a line
/// that the fifty-move rule may cut off.
pub(super) fn table_answer(
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
    (decides && is_trusted(pos)).then_some(hit.value)
}

/// Whether the fifty-move rule is so far that the table may be believed.
fn is_trusted(pos: &Position) -> bool {
    pos.halfmove_clock() < params::TRUSTED_HALFMOVES
}

/// The table's value where its bound says that it is nearer to the truth than the evaluation, and the fifty-move rule does
/// not cut its line off.
pub(super) fn better_estimate(pos: &Position, eval: Value, hit: Option<Hit>) -> Value {
    let Some(hit) = hit.filter(|_| is_trusted(pos)) else {
        return eval;
    };
    let tells_nothing = match hit.bound {
        Bound::Exact => false,
        Bound::Lower => hit.value <= eval,
        Bound::Upper => hit.value >= eval,
    };
    if tells_nothing { eval } else { hit.value }
}
