//! Principal variation search.
//!
//! [`Search`] is one thread's part of a search. It owns all hot data; with other threads it shares the transposition
//! table and the [`Control`]. The files in the order of the search, from the root to the leaves:
//!
//! | | |
//! |---|---|
//! | [`iterate`] | iterative deepening, and the final result |
//! | [`aspiration`], [`root`] | one iteration: aspiration windows; root moves |
//! | this file | one node: [`Search::search`] outlines the algorithm |
//! | [`draws`] | draws by rule, maximum ply |
//! | [`node`] | setup of a node: TT entry, static evaluation, improving |
//! | [`node_pruning`], [`null_move`], [`probcut`] | pruning of whole nodes |
//! | [`moves`] | the move loop |
//! | [`move_pruning`] | pruning of single moves |
//! | [`extensions`], [`reductions`] | search depth of a move |
//! | [`update`] | updates of histories, corrections and the transposition table |
//! | [`quiescence`] | quiescence search |
//! | [`make_move`], [`stack`], [`node_type`] | making and unmaking moves, the search stack, node types |
//!
//! The parameters are in [`params`](super::params).

mod aspiration;
mod draws;
mod extensions;
mod iterate;
mod make_move;
mod move_pruning;
mod moves;
mod node;
mod node_pruning;
mod node_type;
mod null_move;
mod probcut;
mod quiescence;
mod reductions;
mod root;
mod stack;
mod update;

use super::control::Control;
use super::eval::Evaluator;
use super::history::{CorrectionHistory, History, HistoryContext};
use super::movepick::ScoredMove;
use super::table::Table;
use super::tunable::{Parameters, Setting};
use super::value::{DRAW, Value, mate_in, mated_in};
use super::{Limits, params};
use knightwatch_chess::{Game, Move, Position};

use self::moves::CutoffStats;
use self::node::Node;
use self::node_type::NodeType;
use self::root::RootMove;
use self::stack::{Frame, PvLine};

/// Data that a thread keeps between searches.
pub(crate) struct ThreadData {
    pub history: Box<History>,
    pub corrections: Box<CorrectionHistory>,
    pub evaluator: Evaluator,
    /// Memory for the lines of a search; its content means nothing between searches.
    pv_lines: Vec<PvLine>,
    /// Ply of the last search that did not end while pondering, and its score for the side to move.
    last_score: Option<(u32, Value)>,
    parameters: Parameters,
}

impl ThreadData {
    pub(crate) fn new(setting: &Setting) -> ThreadData {
        ThreadData {
            history: History::new(),
            corrections: CorrectionHistory::new(),
            evaluator: Evaluator::new(setting.network.clone()),
            pv_lines: stack::pv_lines(),
            last_score: None,
            parameters: setting.parameters.clone(),
        }
    }

    /// Uses the parameters for searches of the current thread.
    pub(crate) fn install_parameters(&self) {
        self.parameters.install();
    }

    /// Clears everything but network and parameters.
    pub(crate) fn clear(&mut self) {
        self.history.clear();
        self.corrections.clear();
        self.last_score = None;
    }

    /// The score of the last search, if that was of the position two plies before `ply`.
    fn score_two_plies_before(&self, ply: u32) -> Option<Value> {
        let (at, score) = self.last_score?;
        (at + 2 == ply).then_some(score)
    }
}

/// One thread's part of a search.
pub(crate) struct Search<'a> {
    control: &'a Control,
    table: &'a Table,
    thread_data: &'a mut ThreadData,
    limits: &'a Limits,
    game: &'a Game,
    /// Id of the thread in this search; 0 is the main thread.
    thread_id: usize,
    frames: Vec<Frame>,
    moves: Vec<ScoredMove>,
    /// Keys of the game's positions and of those from the root to this node, the node's own last.
    keys: Vec<u64>,
    root_index: usize,
    /// Index in `keys` of the first position after the last null move; no repetition reaches across it.
    null_move_barrier: usize,
    root: Vec<RootMove>,
    /// Root moves before this index already have their line (MultiPV).
    pv_index: usize,
    /// The depth of the current iteration.
    iteration: usize,
    nodes: u64,
    flushed_nodes: u64,
    next_poll_at: u64,
    seldepth: usize,
    cutoffs: CutoffStats,
    /// The search was told to stop: all values are void.
    aborted: bool,
    /// No null move before this ply, during a verification search.
    null_move_min_ply: usize,
    /// The ply at which the quiescence search has started.
    quiescence_ply: usize,
}

/// Initial capacity for the moves of all nodes of a line.
const MOVE_LIST_CAPACITY: usize = 2_048;

impl<'a> Search<'a> {
    pub(crate) fn new(
        control: &'a Control,
        table: &'a Table,
        thread_data: &'a mut ThreadData,
        game: &'a Game,
        limits: &'a Limits,
        thread_id: usize,
    ) -> Search<'a> {
        thread_data.install_parameters();
        thread_data.evaluator.reset(game.position());
        let keys = game.repetition_keys().to_vec();
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
            thread_data,
            limits,
            game,
            thread_id,
            frames: stack::frames(),
            moves: Vec::with_capacity(MOVE_LIST_CAPACITY),
            root_index: keys.len() - 1,
            null_move_barrier: 0,
            keys,
            root,
            pv_index: 0,
            iteration: 0,
            nodes: 0,
            flushed_nodes: 0,
            next_poll_at: control.nodes_to_first_poll(),
            seldepth: 0,
            cutoffs: CutoffStats::default(),
            aborted: false,
            null_move_min_ply: 0,
            quiescence_ply: 0,
        }
    }

    /// Returns whether the search was ended before it was complete.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// The value of a position searched to `depth` plies, exact if between `alpha` and `beta`. `cut` marks an
    /// expected cut node.
    fn search<N: NodeType>(
        &mut self,
        pos: &Position,
        ply: usize,
        depth: i32,
        mut alpha: Value,
        mut beta: Value,
        cut: bool,
    ) -> Value {
        if depth <= 0 {
            return self.start_quiescence::<N>(pos, ply, alpha, beta);
        }
        self.enter_node::<N>(ply);
        if self.aborted {
            return DRAW;
        }
        if !N::ROOT {
            if let Some(value) = self.terminal_value(pos, ply) {
                return value;
            }
            // Mate distance pruning: nothing here beats a shorter mate that is already known.
            alpha = alpha.max(mated_in(ply));
            beta = beta.min(mate_in(ply + 1));
            alpha = self.alpha_with_repetition(pos, alpha);
            if alpha >= beta {
                return alpha;
            }
        }

        let mut node = Node::new(pos, ply, depth, (alpha, beta), cut);
        node.excluded = self.frame(ply).excluded;
        if node.excluded.is_none() {
            node.hit = self.table.probe(pos.key(), ply);
        }
        if !N::PV
            && let Some(value) = node::tt_cutoff(pos, node.hit, depth, alpha, beta)
            && (depth > params::tt_cutoff_expected_depth() || cut == (value >= beta))
        {
            self.update_after_tt_cutoff(&node, value);
            return value;
        }

        if cut {
            // For the null move, which comes after the evaluation.
            self.table.prefetch(pos.key_after_null());
        }
        self.init_node::<N>(&mut node);
        node.depth += self.hindsight(&node);
        if !N::PV
            && !node.in_check
            && node.excluded.is_none()
            && let Some(value) = self.prune_node(&node)
        {
            return value;
        }
        if self.aborted {
            return DRAW;
        }
        node.depth -= reductions::internal_iterative_reduction::<N>(&node);
        node.context = HistoryContext::new(pos, self.prior_moves(ply));
        self.frame(ply).context = node.context;
        self.search_moves::<N>(&node)
    }
}
