//! Principal variation search.
//!
//! [`Search`] is one thread's part of a search. It owns everything hot; with other threads it shares the table and the
//! [`Control`]. The way of a search, from the root to the leaves, file by file:
//!
//! | | |
//! |---|---|
//! | [`iterate`] | deeper and deeper, until a limit is met; the answer |
//! | [`aspiration`], [`root`] | one iteration: a narrow window around the last value; what is known of each move |
//! | this file | one node: [`Search::search`] is the algorithm in short |
//! | [`draws`] | is the game over here? |
//! | [`node`] | what is known of it: table, evaluation, improving |
//! | [`node_pruning`], [`null_move`], [`probcut`] | rules that answer for the whole node |
//! | [`moves`] | its moves in order, and the window for each |
//! | [`move_pruning`] | rules that spare a move its search |
//! | [`extensions`], [`reductions`] | how deep a move is searched |
//! | [`learning`] | what histories, corrections and table keep of it |
//! | [`quiescence`] | the end of the lines |
//! | [`walk`], [`stack`], [`node_type`] | the way down and up, what it leaves behind, the kinds of nodes |
//!
//! The numbers are in [`params`](super::params).

mod aspiration;
mod draws;
mod extensions;
mod iterate;
mod learning;
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
mod walk;

use super::Limits;
use super::control::Control;
use super::eval::Evaluator;
use super::history::{Corrections, History, Place};
use super::ordering::Scored;
use super::table::Table;
use super::tunable::{Parameters, Setting};
use super::value::{DRAW, Value, mate_in, mated_in};
use crate::chess::{Game, Move, Position};

use self::moves::Cutoffs;
use self::node::Node;
use self::node_type::NodeType;
use self::root::RootMove;
use self::stack::{Frame, Line};

/// What a thread keeps from search to search.
pub(crate) struct Memory {
    pub history: History,
    pub corrections: Corrections,
    pub evaluator: Evaluator,
    parameters: Parameters,
}

impl Memory {
    /// For searches in this setting.
    pub fn new(setting: &Setting) -> Memory {
        Memory {
            history: History::new(),
            corrections: Corrections::new(),
            evaluator: Evaluator::new(setting.network.clone()),
            parameters: setting.parameters.clone(),
        }
    }

    /// Forgets everything but the setting.
    pub fn forget(&mut self) {
        *self = Memory::new(&Setting {
            network: self.evaluator.network(),
            parameters: self.parameters.clone(),
        });
    }
}

/// One thread's part of a search.
pub(crate) struct Search<'a> {
    control: &'a Control,
    table: &'a Table,
    memory: &'a mut Memory,
    limits: &'a Limits,
    game: &'a Game,
    /// The thread's number in this search; 0 leads.
    seat: usize,
    frames: Vec<Frame>,
    lines: Vec<Line>,
    moves: Vec<Scored>,
    /// Keys of the game's positions and of those on the way to this node, the node's own last.
    keys: Vec<u64>,
    root_index: usize,
    /// No repetition reaches across a null move: the first of `keys` after the last one.
    barrier: usize,
    root: Vec<RootMove>,
    /// Root moves before this have been searched for a better line (MultiPV).
    rank: usize,
    /// The depth of the present iteration.
    iteration: usize,
    nodes: u64,
    told: u64,
    look_at: u64,
    seldepth: usize,
    cutoffs: Cutoffs,
    /// Told to stop: all values are void.
    aborted: bool,
    /// No null move above this ply while one is verified.
    no_null_before: usize,
}

/// Places for the moves of a line's nodes; more are made when they are needed.
const MOVES_IN_LINE: usize = 2_048;

impl<'a> Search<'a> {
    pub fn new(
        control: &'a Control,
        table: &'a Table,
        memory: &'a mut Memory,
        game: &'a Game,
        limits: &'a Limits,
        seat: usize,
    ) -> Search<'a> {
        memory.parameters.install();
        memory.evaluator.begin(game.position());
        let keys = game.identities().to_vec();
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
            frames: stack::frames(),
            lines: stack::lines(),
            moves: Vec::with_capacity(MOVES_IN_LINE),
            root_index: keys.len() - 1,
            barrier: 0,
            keys,
            root,
            rank: 0,
            iteration: 0,
            nodes: 0,
            told: 0,
            look_at: control.first_look(),
            seldepth: 0,
            cutoffs: Cutoffs::default(),
            aborted: false,
            no_null_before: 0,
        }
    }

    /// The value of a position `depth` plies deep, exact if it is between `alpha` and `beta`. A node that is `cut` is
    /// expected to fail high.
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
            // Nothing is worse than a draw that can be had.
            if alpha < DRAW && self.can_repeat(pos) {
                alpha = DRAW;
            }
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
            && let Some(value) = node::table_answer(pos, node.hit, depth, alpha, beta)
        {
            self.learn_table_answer(&node, value);
            return value;
        }

        self.study::<N>(&mut node);
        node.depth += self.hindsight(&node);
        if !N::PV
            && !node.in_check
            && node.excluded.is_none()
            && let Some(value) = self.prune_node(&node)
        {
            return value;
        }
        node.depth -= reductions::without_table_move::<N>(&node);
        node.place = Place::new(pos, self.past(ply));
        self.frame(ply).place = node.place;
        self.search_moves::<N>(&node)
    }
}
