//! Principal variation search: one node, its pruning, its moves, its reductions.
//!
//! [`Search`] is one thread's part of a search. It owns everything hot; with other threads it shares the
//! table and the [`Control`]. Iterative deepening is in [`iterate`](super::iterate), the end of the lines in
//! [`quiescence`](super::quiescence).

use std::sync::Arc;

use super::control::Control;
use super::eval::Evaluator;
use super::history::{CorrectionKeys, Corrections, History, Moved, Past};
use super::iterate::RootMove;
use super::nnue::Network;
use super::ordering::{Knowledge, Picker, Scored};
use super::params;
use super::see;
use super::table::{Hit, Table};
use super::value::{
    DRAW, EVAL_LIMIT, INFINITE, MATE_FOUND, MAX_PLY, Value, is_mate, mate_in, mated_in,
};
use super::{Bound, Limits};
use crate::chess::{Game, Move, Piece, Position, Role};

/// The kind of a node, as a type: what holds for it is known at compile time.
pub(crate) trait Node {
    /// The window is open: the node may become part of the principal variation.
    const PV: bool;
    const ROOT: bool;
}

/// The position to find a move for.
pub(crate) struct Root;
/// A node with an open window.
pub(crate) struct Open;
/// A node with a window of one, which only asks whether its value is above.
pub(crate) struct Zero;

impl Node for Root {
    const PV: bool = true;
    const ROOT: bool = true;
}

impl Node for Open {
    const PV: bool = true;
    const ROOT: bool = false;
}

impl Node for Zero {
    const PV: bool = false;
    const ROOT: bool = false;
}

/// What a thread keeps from search to search.
pub(crate) struct Memory {
    pub history: History,
    pub corrections: Corrections,
    pub evaluator: Evaluator,
}

impl Memory {
    /// For searches with this network, or with the evaluation by hand.
    pub fn new(network: Option<Arc<Network>>) -> Memory {
        Memory {
            history: History::new(),
            corrections: Corrections::new(),
            evaluator: Evaluator::new(network),
        }
    }
}

/// What a node leaves for its relatives.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The corrected static evaluation; `None` in check.
    pub eval: Option<Value>,
    /// The move that is being searched, as continuation histories know it.
    pub moved: Moved,
    /// A quiet move that failed high in a sibling.
    killer: Option<Move>,
    /// Not to be searched: the rest is tested against it.
    excluded: Option<Move>,
    /// Children that failed high.
    cutoffs: u32,
    /// Double extensions on the way here.
    doubles: u32,
}

const NO_FRAME: Frame = Frame {
    eval: None,
    moved: Moved::NONE,
    killer: None,
    excluded: None,
    cutoffs: 0,
    doubles: 0,
};

/// Frames before the root, so that looking back needs no condition.
const BEFORE_ROOT: usize = 4;
/// Frames after the deepest ply, for the children's fields.
const AFTER_LAST: usize = 2;

/// A principal variation.
#[derive(Clone, Copy)]
pub(super) struct Line {
    moves: [Option<Move>; MAX_PLY],
    len: usize,
}

impl Line {
    const EMPTY: Line = Line {
        moves: [None; MAX_PLY],
        len: 0,
    };

    pub fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }
}

/// Moves that were searched without success, for the histories.
struct Tried {
    moves: [Option<Move>; 32],
    len: usize,
}

impl Tried {
    const NONE: Tried = Tried {
        moves: [None; 32],
        len: 0,
    };

    fn push(&mut self, mv: Move) {
        if let Some(place) = self.moves.get_mut(self.len) {
            *place = Some(mv);
            self.len += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Move> {
        self.moves[..self.len].iter().copied().flatten()
    }
}

/// What is known of a node before its moves are tried.
struct Facts {
    depth: i32,
    /// A child is expected to fail high.
    cut: bool,
    /// This or an earlier search had it in a principal variation.
    was_pv: bool,
    in_check: bool,
    /// The static evaluation as the evaluator has it; `None` in check.
    raw_eval: Option<Value>,
    /// The corrected static evaluation; `-INFINITE` in check.
    eval: Value,
    /// The evaluation or what the table knows better.
    estimate: Value,
    /// The evaluation is better than at our last move.
    improving: bool,
    /// The side to move has more than pawns.
    has_pieces: bool,
    hit: Option<Hit>,
    table_move: Option<Move>,
    excluded: Option<Move>,
}

/// What pruning says about a move.
enum Verdict {
    Search,
    Skip,
    SkipAllQuiets,
}

/// One thread's part of a search.
pub(crate) struct Search<'a> {
    pub(super) control: &'a Control,
    pub(super) table: &'a Table,
    pub(super) memory: &'a mut Memory,
    pub(super) limits: &'a Limits,
    pub(super) game: &'a Game,
    /// The thread's number in this search; 0 leads.
    pub(super) seat: usize,
    frames: Vec<Frame>,
    pub(super) lines: Vec<Line>,
    pub(super) moves: Vec<Scored>,
    /// Keys of the game's positions and of those on the way to this node, the node's own last.
    pub(super) keys: Vec<u64>,
    root_index: usize,
    /// No repetition reaches across a null move: the first of `keys` after the last one.
    barrier: usize,
    pub(super) root: Vec<RootMove>,
    /// Root moves before this have been searched for a better line (MultiPV).
    pub(super) rank: usize,
    /// The depth of the present iteration.
    pub(super) iteration: usize,
    pub(super) nodes: u64,
    told: u64,
    look_at: u64,
    pub(super) seldepth: usize,
    /// Told to stop: all values are void.
    pub(super) aborted: bool,
    /// No null move above this ply while one is verified.
    no_null_before: usize,
}

impl<'a> Search<'a> {
    pub fn new(
        control: &'a Control,
        table: &'a Table,
        memory: &'a mut Memory,
        game: &'a Game,
        limits: &'a Limits,
        seat: usize,
    ) -> Search<'a> {
        memory.evaluator.begin(game.position());
        let keys = game.keys().to_vec();
        let wanted =
            |mv: &&Move| limits.search_moves.is_empty() || limits.search_moves.contains(mv);
        let legal = game.position().legal_moves();
        let root = legal
            .iter()
            .filter(wanted)
            .map(|&mv| RootMove::new(mv))
            .collect();
        Search {
            control,
            table,
            memory,
            limits,
            game,
            seat,
            frames: vec![NO_FRAME; BEFORE_ROOT + MAX_PLY + AFTER_LAST],
            lines: vec![Line::EMPTY; MAX_PLY + AFTER_LAST],
            moves: Vec::with_capacity(2_048),
            root_index: keys.len() - 1,
            barrier: 0,
            keys,
            root,
            rank: 0,
            iteration: 0,
            nodes: 0,
            told: 0,
            look_at: 0,
            seldepth: 0,
            aborted: false,
            no_null_before: 0,
        }
    }

    fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[BEFORE_ROOT + ply]
    }

    pub(super) fn past(&self, ply: usize) -> Past {
        [1, 2, 4].map(|back| self.frames[BEFORE_ROOT + ply - back].moved)
    }

    /// The value of a position `depth` plies deep, exact if it is between `alpha` and `beta`.
    pub(super) fn search<N: Node>(
        &mut self,
        pos: &Position,
        ply: usize,
        depth: i32,
        mut alpha: Value,
        mut beta: Value,
        cut: bool,
    ) -> Value {
        if depth <= 0 {
            return self.quiesce::<N>(pos, ply, alpha, beta);
        }
        self.enter::<N>(ply);
        if self.aborted {
            return DRAW;
        }
        if !N::ROOT {
            if let Some(value) = self.settled(pos, ply) {
                return value;
            }
            // Mate distance: nothing here beats a shorter mate that is already known.
            alpha = alpha.max(mated_in(ply));
            beta = beta.min(mate_in(ply + 1));
            if alpha >= beta {
                return alpha;
            }
        }

        let excluded = self.frame(ply).excluded;
        let key = pos.key();
        let hit = if excluded.is_none() {
            self.table.probe(key, ply)
        } else {
            None
        };
        if !N::PV
            && let Some(hit) = hit
            && hit.depth >= depth
            && decides(&hit, alpha, beta)
            && pos.halfmove_clock() < params::TRUSTED_HALFMOVES
        {
            return hit.value;
        }

        let facts = self.facts::<N>(pos, ply, depth, cut, hit, excluded);
        if !N::PV
            && !facts.in_check
            && excluded.is_none()
            && let Some(value) = self.prune_node(pos, ply, &facts, alpha, beta)
        {
            return value;
        }
        let mut facts = facts;
        // Internal iterative reduction: without a move to begin with, a shallower search finds one.
        if (N::PV || cut)
            && depth >= params::IIR_DEPTH
            && facts.table_move.is_none()
            && excluded.is_none()
        {
            facts.depth -= 1;
        }
        self.search_moves::<N>(pos, ply, &facts, alpha, beta)
    }

    /// What every node begins with.
    pub(super) fn enter<N: Node>(&mut self, ply: usize) {
        if self.nodes >= self.look_at {
            self.look();
        }
        if N::PV {
            self.lines[ply].len = 0;
            self.seldepth = self.seldepth.max(ply);
        }
    }

    /// Tells how many nodes were visited and learns whether to go on.
    #[cold]
    fn look(&mut self) {
        let all = self.control.count(self.nodes - self.told);
        self.told = self.nodes;
        let next = self.control.next_look(all);
        self.look_at = self.nodes + next;
        if self.seat == 0 {
            assert!(all < self.control.sabotage, "on purpose, as a rehearsal");
            if self.control.is_out_of_time() {
                self.control.stop();
            }
        }
        if next == 0 {
            self.control.stop();
        }
        self.aborted = self.control.is_stopped() || !self.control.has_seat(self.seat);
    }

    /// Nodes of all threads, as far as they have told, and of this one.
    pub(super) fn nodes_of_all(&self) -> u64 {
        self.control.nodes() + self.nodes - self.told
    }

    /// Tells of the last nodes.
    pub(super) fn leave(&mut self) {
        self.control.count(self.nodes - self.told);
        self.told = self.nodes;
    }

    /// Draws by rule, and lines that are too long.
    pub(super) fn settled(&mut self, pos: &Position, ply: usize) -> Option<Value> {
        if self.is_repetition(pos) || pos.occupied().count() <= 4 && pos.insufficient_material() {
            return Some(DRAW);
        }
        if pos.halfmove_clock() >= 100 && (!pos.in_check() || pos.has_legal_move()) {
            return Some(DRAW);
        }
        if ply >= MAX_PLY - 1 {
            return Some(if pos.in_check() {
                DRAW
            } else {
                self.memory.evaluator.evaluate(pos)
            });
        }
        None
    }

    /// Once before in this search, or twice before in the game.
    fn is_repetition(&self, pos: &Position) -> bool {
        let current = self.keys.len() - 1;
        let reversible = (pos.halfmove_clock() as usize).min(current - self.barrier);
        let mut in_game = 0;
        for back in (4..=reversible).step_by(2) {
            if self.keys[current - back] == self.keys[current] {
                in_game += 1;
                if current - back > self.root_index || in_game == 2 {
                    return true;
                }
            }
        }
        false
    }

    fn facts<N: Node>(
        &mut self,
        pos: &Position,
        ply: usize,
        depth: i32,
        cut: bool,
        hit: Option<Hit>,
        excluded: Option<Move>,
    ) -> Facts {
        let in_check = pos.in_check();
        let raw_eval = (!in_check && excluded.is_none()).then(|| self.raw_eval(pos, hit));
        let eval = match raw_eval {
            Some(raw) => Some(self.corrected_eval(pos, ply, raw)),
            None if in_check => None,
            None => self.frame(ply).eval,
        };
        self.frame(ply).eval = eval;
        self.frame(ply + 1).killer = None;
        self.frame(ply + 1).excluded = None;
        self.frame(ply + 2).cutoffs = 0;
        self.frame(ply).doubles = self.frames[BEFORE_ROOT + ply - 1].doubles;
        let before = [2, 4]
            .into_iter()
            .find_map(|back| self.frames[BEFORE_ROOT + ply - back].eval);
        let table_move = if N::ROOT {
            self.root[self.rank].line.first().copied()
        } else {
            hit.and_then(|hit| hit.mv).filter(|&mv| pos.is_legal(mv))
        };
        let pawns_and_kings = pos.by_role(Role::Pawn) | pos.by_role(Role::King);
        let eval_or_lost = eval.unwrap_or(-INFINITE);
        Facts {
            depth,
            cut,
            was_pv: N::PV || hit.is_some_and(|hit| hit.pv),
            in_check,
            raw_eval,
            eval: eval_or_lost,
            estimate: if in_check {
                -INFINITE
            } else {
                better_estimate(eval_or_lost, hit)
            },
            improving: eval.is_some_and(|eval| before.is_some_and(|before| eval > before)),
            has_pieces: !(pos.by_color(pos.turn()) & !pawns_and_kings).is_empty(),
            hit,
            table_move,
            excluded,
        }
    }

    /// The static evaluation, from the table if it is there.
    pub(super) fn raw_eval(&mut self, pos: &Position, hit: Option<Hit>) -> Value {
        hit.and_then(|hit| hit.eval)
            .unwrap_or_else(|| self.memory.evaluator.evaluate(pos))
    }

    /// The static evaluation, corrected by what searches of similar positions have found and fading as the
    /// fifty-move rule comes near.
    pub(super) fn corrected_eval(&self, pos: &Position, ply: usize, raw: Value) -> Value {
        let keys = self.correction_keys(pos, ply);
        let faded = raw * (200 - pos.halfmove_clock().min(100) as Value) / 200;
        (faded + self.memory.corrections.get(&keys)).clamp(-EVAL_LIMIT, EVAL_LIMIT)
    }

    fn correction_keys(&self, pos: &Position, ply: usize) -> CorrectionKeys {
        CorrectionKeys::new(pos, self.frames[BEFORE_ROOT + ply - 1].moved)
    }

    /// Rules that answer for a whole node with a zero window, not in check.
    fn prune_node(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        alpha: Value,
        beta: Value,
    ) -> Option<Value> {
        let &Facts {
            depth,
            estimate,
            improving,
            ..
        } = facts;

        // Reverse futility: so far above beta that a few plies will not bring it down.
        let margin = params::RFP_MARGIN * (depth - i32::from(improving));
        if depth <= params::RFP_DEPTH
            && !facts.was_pv
            && estimate - margin >= beta
            && !is_mate(beta)
            && estimate < MATE_FOUND
        {
            return Some(beta + (estimate - beta) / 3);
        }

        // Razoring: so far below alpha that only captures can help, and they do not.
        if depth <= params::RAZOR_DEPTH && estimate + params::RAZOR_MARGIN * depth < alpha {
            let value = self.quiesce::<Zero>(pos, ply, alpha, alpha + 1);
            if value <= alpha {
                return Some(value);
            }
        }

        self.try_null_move(pos, ply, facts, beta)
            .or_else(|| self.try_probcut(pos, ply, facts, beta))
    }

    /// Null move: if even passing fails high, a move will. Verified at depth, where zugzwang would hurt.
    fn try_null_move(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        beta: Value,
    ) -> Option<Value> {
        let &Facts {
            depth,
            estimate,
            eval,
            ..
        } = facts;
        let after_null = self.frames[BEFORE_ROOT + ply - 1].moved == Moved::NONE;
        if depth < params::NULL_DEPTH
            || !facts.cut
            || after_null
            || estimate < beta
            || eval + params::NULL_EVAL_SLOPE * depth < beta + params::NULL_EVAL_MARGIN
            || !facts.has_pieces
            || is_mate(beta)
            || ply < self.no_null_before
        {
            return None;
        }
        let surplus = ((estimate - beta) / params::NULL_SURPLUS).min(params::NULL_SURPLUS_MAX);
        let reduced = depth - params::NULL_REDUCTION - depth / 3 - surplus;
        let mut child = pos.clone();
        child.play_null();
        self.table.prefetch(child.key());
        self.frame(ply).moved = Moved::NONE;
        let barrier = std::mem::replace(&mut self.barrier, self.keys.len());
        self.keys.push(child.key());
        self.nodes += 1;
        let value = -self.search::<Zero>(&child, ply + 1, reduced, -beta, 1 - beta, false);
        self.keys.pop();
        self.barrier = barrier;
        if self.aborted || value < beta {
            return None;
        }
        let value = if value >= MATE_FOUND { beta } else { value };
        if depth < params::NULL_VERIFY_DEPTH || self.no_null_before > 0 {
            return Some(value);
        }
        self.no_null_before = ply + (3 * reduced.max(0) / 4) as usize;
        let verified = self.search::<Zero>(pos, ply, reduced, beta - 1, beta, false);
        self.no_null_before = 0;
        (verified >= beta && !self.aborted).then_some(value)
    }

    /// ProbCut: a capture that beats beta by a margin in a shallow search will beat it in a deep one.
    fn try_probcut(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        beta: Value,
    ) -> Option<Value> {
        let raised =
            beta + params::PROBCUT_MARGIN - params::PROBCUT_IMPROVING * i32::from(facts.improving);
        let shallow = facts.depth - params::PROBCUT_REDUCTION;
        let known_below = facts.hit.is_some_and(|hit| {
            hit.depth >= shallow && hit.bound != Bound::Lower && hit.value < raised
        });
        if facts.depth < params::PROBCUT_DEPTH || is_mate(beta) || known_below {
            return None;
        }
        let threshold = raised - facts.eval;
        let table_move = facts
            .table_move
            .filter(|&mv| mv.is_noisy() && see::wins(pos, mv, threshold));
        let past = self.past(ply);
        let mut picker = Picker::noisy(table_move, threshold.max(1), &self.moves);
        let mut proof = None;
        loop {
            let known = Knowledge {
                history: &self.memory.history,
                past: &past,
                killer: None,
            };
            let Some(mv) = picker.next(pos, &mut self.moves, &known) else {
                break;
            };
            let child = self.descend(pos, mv, ply);
            let mut value = -self.quiesce::<Zero>(&child, ply + 1, -raised, 1 - raised);
            if value >= raised && shallow > 0 {
                value =
                    -self.search::<Zero>(&child, ply + 1, shallow, -raised, 1 - raised, !facts.cut);
            }
            self.ascend();
            if self.aborted {
                break;
            }
            if value >= raised {
                let hit = Hit {
                    mv: Some(mv),
                    value,
                    eval: facts.raw_eval,
                    depth: shallow + 1,
                    bound: Bound::Lower,
                    pv: facts.was_pv,
                };
                self.table.store(pos.key(), ply, &hit);
                proof = Some(value);
                break;
            }
        }
        picker.close(&mut self.moves);
        proof
    }

    /// Tries the moves in order.
    fn search_moves<N: Node>(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        mut alpha: Value,
        beta: Value,
    ) -> Value {
        let past = self.past(ply);
        let killer = self.frame(ply).killer;
        let mut picker = Picker::all(facts.table_move, &self.moves);
        let mut quiets = Tried::NONE;
        let mut noisies = Tried::NONE;
        let mut best = -INFINITE;
        let mut best_move = None;
        let mut bound = Bound::Upper;
        let mut count = 0;

        loop {
            let known = Knowledge {
                history: &self.memory.history,
                past: &past,
                killer,
            };
            let Some(mv) = picker.next(pos, &mut self.moves, &known) else {
                break;
            };
            if Some(mv) == facts.excluded
                || N::ROOT && !self.root[self.rank..].iter().any(|root| root.mv == mv)
            {
                continue;
            }
            count += 1;
            let piece = pos.piece_at(mv.from()).expect("a legal move has a piece");
            let history = self.history_of(pos, mv, piece, &past);
            let mut reduction = params::late_move_reduction(facts.depth, count, mv.is_noisy());

            if !N::ROOT && best > -MATE_FOUND && facts.has_pieces {
                match self.prune_move(pos, mv, facts, count, reduction, history, alpha) {
                    Verdict::Search => {}
                    Verdict::Skip => continue,
                    Verdict::SkipAllQuiets => {
                        picker.skip_quiets();
                        continue;
                    }
                }
            }

            let mut extension = 0;
            if !N::ROOT && Some(mv) == facts.table_move && facts.excluded.is_none() {
                match self.singularity::<N>(pos, ply, facts, beta) {
                    Singularity::Extend(plies) => extension = plies,
                    Singularity::Cutoff(value) => return value,
                }
            }

            let nodes_before = self.nodes;
            let child = self.descend(pos, mv, ply);
            let mut new_depth = facts.depth - 1 + extension;
            let mut value = -INFINITE;
            if facts.depth >= 2 && count > 1 + usize::from(N::ROOT) {
                reduction += self.reduction_terms::<N>(ply, mv, facts, killer, history, &child);
                let reduced = (new_depth - reduction / 1024).clamp(1, new_depth + i32::from(N::PV));
                value = -self.search::<Zero>(&child, ply + 1, reduced, -alpha - 1, -alpha, true);
                if value > alpha && reduced < new_depth {
                    // The reduced search says where the full one should look: deeper or not quite as deep.
                    new_depth += i32::from(value > best + params::DEEPER_MARGIN + 2 * new_depth);
                    new_depth -= i32::from(value < best + params::SHALLOWER_MARGIN);
                    if reduced < new_depth {
                        value = -self.search::<Zero>(
                            &child,
                            ply + 1,
                            new_depth,
                            -alpha - 1,
                            -alpha,
                            !facts.cut,
                        );
                    }
                    if !mv.is_noisy() {
                        let bonus = if value > alpha {
                            params::bonus(new_depth)
                        } else {
                            -params::malus(new_depth)
                        };
                        self.memory
                            .history
                            .add_continuation(piece, mv, &past, bonus);
                    }
                }
            } else if !N::PV || count > 1 {
                value = -self.search::<Zero>(
                    &child,
                    ply + 1,
                    new_depth,
                    -alpha - 1,
                    -alpha,
                    !facts.cut,
                );
            }
            if N::PV && (count == 1 || value > alpha) {
                value = -self.search::<Open>(&child, ply + 1, new_depth, -beta, -alpha, false);
            }
            self.ascend();
            if self.aborted {
                return DRAW;
            }
            if N::ROOT {
                self.note_root_move(mv, value, alpha, beta, count, self.nodes - nodes_before);
            }

            if value > best {
                best = value;
                if value > alpha {
                    best_move = Some(mv);
                    if N::PV {
                        self.extend_line(ply, mv);
                    }
                    if value >= beta {
                        bound = Bound::Lower;
                        self.frame(ply).cutoffs += 1;
                        break;
                    }
                    alpha = value;
                    bound = Bound::Exact;
                }
            }
            if Some(mv) != best_move {
                if mv.is_noisy() {
                    noisies.push(mv)
                } else {
                    quiets.push(mv)
                };
            }
        }
        picker.close(&mut self.moves);

        if count == 0 {
            return match facts.excluded {
                Some(_) => alpha,
                None if facts.in_check => mated_in(ply),
                None => DRAW,
            };
        }
        if let Some(mv) = best_move.filter(|_| bound == Bound::Lower) {
            self.reward(pos, ply, mv, facts.depth, &past, &quiets, &noisies);
        }
        if facts.excluded.is_none() && !(N::ROOT && self.rank > 0) {
            self.remember(pos, ply, facts, best, best_move, bound);
        }
        best
    }

    fn history_of(&self, pos: &Position, mv: Move, piece: Piece, past: &Past) -> i32 {
        if mv.is_noisy() {
            self.memory
                .history
                .noisy(piece, mv, see::captured_role(pos, mv))
        } else {
            self.memory.history.quiet(piece, mv, past)
        }
    }

    /// Rules that spare a move its search, once something better than being mated is known.
    #[expect(clippy::too_many_arguments)]
    fn prune_move(
        &self,
        pos: &Position,
        mv: Move,
        facts: &Facts,
        count: usize,
        reduction: i32,
        history: i32,
        alpha: Value,
    ) -> Verdict {
        let &Facts { depth, .. } = facts;
        if mv.is_noisy() {
            let threshold = -params::SEE_NOISY_MARGIN * depth - history / params::SEE_NOISY_HISTORY;
            return if depth <= params::SEE_NOISY_DEPTH && !see::wins(pos, mv, threshold) {
                Verdict::Skip
            } else {
                Verdict::Search
            };
        }
        // Late move pruning: after so many quiet moves none is expected to be better.
        if count >= params::late_move_count(depth) {
            return Verdict::SkipAllQuiets;
        }
        let reduced = (depth - reduction / 1024).max(1);
        // Futility: a quiet move will not bring the evaluation up to alpha.
        let hope = facts.eval + params::FUTILITY_BASE + params::FUTILITY_SLOPE * reduced;
        if !facts.in_check && reduced <= params::FUTILITY_DEPTH && hope <= alpha && !is_mate(alpha)
        {
            return Verdict::SkipAllQuiets;
        }
        // History pruning: the move has failed too often in such places.
        if reduced <= params::HISTORY_DEPTH && history < -params::HISTORY_MARGIN * depth {
            return Verdict::Skip;
        }
        // It loses material where it goes.
        if reduced <= params::SEE_QUIET_DEPTH
            && !see::wins(pos, mv, -params::SEE_QUIET_MARGIN * reduced * reduced)
        {
            return Verdict::Skip;
        }
        Verdict::Search
    }

    /// Whether the table's move is the only good one: then it is worth more depth. And if others are good
    /// enough as well, the node is.
    fn singularity<N: Node>(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        beta: Value,
    ) -> Singularity {
        let depth = facts.depth;
        let none = Singularity::Extend(0);
        let Some(hit) = facts.hit else { return none };
        if depth < params::SINGULAR_DEPTH
            || hit.depth < depth - 3
            || hit.bound == Bound::Upper
            || is_mate(hit.value)
            || ply >= 2 * self.iteration
        {
            return none;
        }
        let bar = hit.value - params::SINGULAR_SLOPE * depth;
        self.frame(ply).excluded = facts.table_move;
        let value = self.search::<Zero>(pos, ply, (depth - 1) / 2, bar - 1, bar, facts.cut);
        self.frame(ply).excluded = None;
        if self.aborted {
            return none;
        }
        if value < bar {
            let doubly = !N::PV
                && value < bar - params::DOUBLE_MARGIN
                && self.frame(ply).doubles < params::DOUBLES_MAX;
            if doubly {
                self.frame(ply).doubles += 1;
            }
            Singularity::Extend(1 + i32::from(doubly))
        } else if value >= beta && !is_mate(value) {
            Singularity::Cutoff(value)
        } else if hit.value >= beta {
            Singularity::Extend(-2)
        } else if facts.cut {
            Singularity::Extend(-1)
        } else {
            none
        }
    }

    /// What makes a late move less or more worth looking at, in 1024ths of a ply.
    fn reduction_terms<N: Node>(
        &mut self,
        ply: usize,
        mv: Move,
        facts: &Facts,
        killer: Option<Move>,
        history: i32,
        child: &Position,
    ) -> i32 {
        let mut terms = 0;
        if facts.cut {
            terms += params::LMR_CUT;
        }
        if !facts.improving {
            terms += params::LMR_NOT_IMPROVING;
        }
        if facts.table_move.is_some_and(Move::is_noisy) {
            terms += params::LMR_TABLE_NOISY;
        }
        if self.frame(ply + 1).cutoffs > 3 {
            terms += params::LMR_CUTOFFS;
        }
        if facts.was_pv {
            terms -= params::LMR_PV;
        }
        if child.in_check() {
            terms -= params::LMR_CHECK;
        }
        if Some(mv) == killer {
            terms -= params::LMR_KILLER;
        }
        let scale = if mv.is_noisy() {
            params::LMR_NOISY_HISTORY
        } else {
            params::LMR_QUIET_HISTORY
        };
        terms - history * 1024 / scale
    }

    /// Plays a move on a copy. The counterpart is [`ascend`](Self::ascend).
    pub(super) fn descend(&mut self, pos: &Position, mv: Move, ply: usize) -> Position {
        let piece = pos.piece_at(mv.from()).expect("a legal move has a piece");
        let child = pos.after(mv);
        self.table.prefetch(child.key());
        self.frame(ply).moved = Moved::new(piece, mv);
        self.keys.push(child.key());
        self.memory.evaluator.push(pos, mv);
        self.nodes += 1;
        child
    }

    /// Leaves the position that [`descend`](Self::descend) led to.
    pub(super) fn ascend(&mut self) {
        self.keys.pop();
        self.memory.evaluator.pop();
    }

    /// The best line from here is the move and the best line after it.
    pub(super) fn extend_line(&mut self, ply: usize, mv: Move) {
        let (before, after) = self.lines.split_at_mut(ply + 1);
        let (line, rest) = (&mut before[ply], &after[0]);
        let len = rest.len.min(MAX_PLY - 1);
        line.moves[0] = Some(mv);
        line.moves[1..=len].copy_from_slice(&rest.moves[..len]);
        line.len = len + 1;
    }

    /// The histories learn which move failed high and which did not.
    #[expect(clippy::too_many_arguments)]
    fn reward(
        &mut self,
        pos: &Position,
        ply: usize,
        best: Move,
        depth: i32,
        past: &Past,
        quiets: &Tried,
        noisies: &Tried,
    ) {
        let (bonus, malus) = (params::bonus(depth), params::malus(depth));
        let history = &mut self.memory.history;
        let piece_of = |mv: Move| pos.piece_at(mv.from()).expect("a legal move has a piece");
        if best.is_noisy() {
            history.add_noisy(piece_of(best), best, see::captured_role(pos, best), bonus);
        } else {
            history.add_quiet(piece_of(best), best, past, bonus);
            for mv in quiets.iter() {
                history.add_quiet(piece_of(mv), mv, past, -malus);
            }
        }
        for mv in noisies.iter() {
            history.add_noisy(piece_of(mv), mv, see::captured_role(pos, mv), -malus);
        }
        if !best.is_noisy() {
            self.frame(ply).killer = Some(best);
        }
    }

    /// Table and corrections learn the result.
    fn remember(
        &mut self,
        pos: &Position,
        ply: usize,
        facts: &Facts,
        best: Value,
        best_move: Option<Move>,
        bound: Bound,
    ) {
        let hit = Hit {
            mv: best_move,
            value: best,
            eval: facts.raw_eval,
            depth: facts.depth,
            bound,
            pv: facts.was_pv,
        };
        self.table.store(pos.key(), ply, &hit);

        let tells_nothing = match bound {
            Bound::Lower => best <= facts.eval,
            Bound::Upper => best >= facts.eval,
            Bound::Exact => false,
        };
        if !facts.in_check
            && !best_move.is_some_and(Move::is_noisy)
            && !tells_nothing
            && !is_mate(best)
        {
            let keys = self.correction_keys(pos, ply);
            self.memory
                .corrections
                .add(&keys, facts.depth, best - facts.eval);
        }
    }
}

/// What the search without the table's move says.
enum Singularity {
    /// Search the move by so many plies deeper, or shallower.
    Extend(i32),
    /// Several moves fail high: so does the node.
    Cutoff(Value),
}

/// Whether a table entry answers for a window.
pub(super) fn decides(hit: &Hit, alpha: Value, beta: Value) -> bool {
    match hit.bound {
        Bound::Exact => true,
        Bound::Lower => hit.value >= beta,
        Bound::Upper => hit.value <= alpha,
    }
}

/// The table's value where its bound says that it is nearer to the truth than the evaluation.
pub(super) fn better_estimate(eval: Value, hit: Option<Hit>) -> Value {
    match hit {
        Some(Hit {
            bound: Bound::Lower,
            value,
            ..
        }) if value <= eval => eval,
        Some(Hit {
            bound: Bound::Upper,
            value,
            ..
        }) if value >= eval => eval,
        Some(hit) => hit.value,
        None => eval,
    }
}
