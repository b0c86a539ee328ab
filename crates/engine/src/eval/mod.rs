//! Static evaluation: the value of a position without search.
//!
//! [`Evaluator`] is the interface to the search. It uses the [network](super::nnue); without one, or against a bare
//! king, the much simpler [`material`]. Variants have terms of their own: [`variant`].

mod material;
mod terms;
mod variant;
mod weights;

use std::sync::Arc;

use super::board_move::BoardMove;
use super::nnue::{Accumulators, Network};
use super::value::{EVAL_LIMIT, Value};
use knightwatch_chess::{Color, Position, Variant};

/// Evaluates positions, and keeps the accumulators for that.
pub(crate) struct Evaluator {
    /// Follows the moves of the search; `None` uses [`material`].
    network: Option<Accumulators>,
    /// Whether the variant of the search uses the network.
    follows_moves: bool,
}

impl Evaluator {
    pub(crate) fn new(network: Option<Arc<Network>>) -> Evaluator {
        Evaluator {
            network: network.map(|network| Accumulators::new(network, &Position::startpos())),
            follows_moves: true,
        }
    }

    /// Starts a search at `root`.
    pub(crate) fn reset(&mut self, root: &Position) {
        self.follows_moves = variant::has_network(root.variant());
        if let Some(sums) = self.followed() {
            sums.reset(root);
        }
    }

    /// Makes a move of the side to move, `turn`.
    pub(crate) fn push(&mut self, turn: Color, board_move: BoardMove) {
        if let Some(sums) = self.followed() {
            sums.push(turn, board_move);
        }
    }

    /// Unmakes the last move.
    pub(crate) fn pop(&mut self) {
        if let Some(sums) = self.followed() {
            sums.pop();
        }
    }

    /// The accumulators, if the variant uses them.
    #[inline]
    fn followed(&mut self) -> Option<&mut Accumulators> {
        self.network.as_mut().filter(|_| self.follows_moves)
    }

    /// The value in centipawns from the side to move's point of view, always below mate scores. Not for positions in
    /// check. `pos` must be the position that [`reset`](Self::reset), [`push`](Self::push) and [`pop`](Self::pop) led
    /// to.
    pub(crate) fn evaluate(&mut self, pos: &Position) -> Value {
        if pos.variant() != Variant::Standard {
            return self.evaluate_variant(pos);
        }
        self.evaluate_standard(pos)
    }

    #[inline(never)]
    fn evaluate_variant(&mut self, pos: &Position) -> Value {
        if !variant::has_network(pos.variant()) {
            return variant::evaluate(pos);
        }
        let value = self.evaluate_standard(pos) + variant::evaluate(pos);
        value.clamp(-EVAL_LIMIT, EVAL_LIMIT)
    }

    fn evaluate_standard(&mut self, pos: &Position) -> Value {
        match &mut self.network {
            // Self-play games do not teach networks how to mate a bare king.
            Some(sums) if material::bare_king(pos).is_none() => {
                let value = sums.evaluate(pos);
                #[cfg(test)]
                if pos.key().is_multiple_of(64) {
                    let mut fresh = Accumulators::new(sums.network().clone(), pos);
                    assert_eq!(
                        value,
                        fresh.evaluate(pos),
                        "incremental and fresh evaluation differ"
                    );
                }
                value.clamp(-EVAL_LIMIT, EVAL_LIMIT)
            }
            _ => material::evaluate(pos),
        }
    }
}

/// The evaluation of positions of a variant in parts, for those who fit its weights to games.
pub struct VariantEvaluation {
    variant: Variant,
    evaluator: Evaluator,
}

impl VariantEvaluation {
    /// `None` for standard chess and king of the hill, which have no weights of their own.
    pub fn new(variant: Variant) -> Option<VariantEvaluation> {
        let has_weights = !matches!(variant, Variant::Standard | Variant::KingOfTheHill);
        has_weights.then(|| VariantEvaluation {
            variant,
            evaluator: Evaluator::new(Network::embedded()),
        })
    }

    /// The weights of White's and of Black's terms, in centipawns.
    pub fn weights(&self) -> [&'static [i16]; 2] {
        Color::ALL.map(|color| &weights::weights(self.variant, color)[..])
    }

    /// The terms of White and of Black in a position of the variant, each with its count; a term may be there several
    /// times.
    pub fn terms(&self, pos: &Position) -> [Vec<(usize, i32)>; 2] {
        variant::list_terms(pos)
    }

    /// Value that is added to the weighted terms, in centipawns for White: that of the network, if the variant uses it.
    pub fn base(&mut self, pos: &Position) -> i32 {
        if !variant::has_network(pos.variant()) {
            return 0;
        }
        self.evaluator.reset(pos);
        let value = self.evaluator.evaluate_standard(pos);
        if pos.turn().is_white() { value } else { -value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::nnue::{Kernels, tests::random_network};
    use crate::search::{Search, ThreadData};
    use crate::table::Table;
    use crate::{Limits, Setting};
    use knightwatch_chess::Game;

    /// Nodes of a few searches with a network and these kernels.
    fn nodes_with(network: &Arc<Network>, kernels: &'static Kernels) -> u64 {
        let positions = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        ];
        let limits = Limits {
            depth: Some(7),
            ..Limits::default()
        };
        let nodes = positions.map(|fen| {
            let game = Game::new(Position::from_fen(fen).expect("a good FEN"));
            let mut thread_data = ThreadData::new(&Setting::with_network(None));
            let sums = Accumulators::with_kernels(network.clone(), kernels, game.position());
            thread_data.evaluator.network = Some(sums);
            let (control, table) = (Control::new(&limits, 0), Table::new(1));
            Search::new(&control, &table, &mut thread_data, &game, &limits, 0)
                .iterate(None)
                .nodes
        });
        nodes.into_iter().sum()
    }

    #[test]
    fn parts_of_a_variants_evaluation_sum_up_to_it() {
        for (variant, fen) in [
            (
                Variant::Horde,
                "rnbqkb1r/ppp2ppp/4pn2/1PPp1PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP b kq - 0 4",
            ),
            (
                Variant::Crazyhouse,
                "r1bqkb1r/ppp2ppp/2n2n2/4p3/2B1P3/5N2/PPP2PPP/RNBQK2R/Pp w KQkq - 0 6",
            ),
            (
                Variant::ThreeCheck,
                "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/8/PPPP1PPP/RNBQK1NR b KQkq - 3 3 +1+0",
            ),
        ] {
            let pos = Position::from_variant_fen(variant, fen).expect("a good FEN");
            let mut parts = VariantEvaluation::new(variant).expect("weights");
            let mut value = parts.base(&pos);
            for (sign, (terms, weights)) in [1, -1]
                .into_iter()
                .zip(parts.terms(&pos).iter().zip(parts.weights()))
            {
                let weighted = |&(term, count): &(usize, i32)| i32::from(weights[term]) * count;
                value += sign * terms.iter().map(weighted).sum::<i32>();
            }
            let mut evaluator = Evaluator::new(Network::embedded());
            evaluator.reset(&pos);
            let expected = evaluator.evaluate(&pos);
            let value = if pos.turn().is_white() { value } else { -value };
            assert_eq!(value, expected, "{variant}");
        }
        assert!(VariantEvaluation::new(Variant::KingOfTheHill).is_none());
    }

    #[test]
    fn search_visits_same_nodes_with_all_kernels() {
        let network = Arc::new(random_network(9, 32, 8));
        let expected = nodes_with(&network, &Kernels::all()[0]);
        for kernels in Kernels::all() {
            assert_eq!(
                nodes_with(&network, kernels),
                expected,
                "{}",
                kernels.name()
            );
        }
    }
}
