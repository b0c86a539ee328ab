//! Limited strength: node limits, choice among the best moves, and think time by [`Elo`]. Pure.
//!
//! A limited engine searches fewer nodes and does not always play the best move: each of the best few is chosen at
//! random, weighted by its score. The randomness depends only on the game's seed and the position, and nothing is
//! kept from other searches. So the same position of the same game always gets the same move, on every machine and
//! under any load.

mod elo;
mod pick;
mod think_time;

pub use elo::{Elo, Strength};
pub use think_time::think_time;

use super::Limits;

/// Restrictions of the search at a strength.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Handicap {
    /// Start no iteration after this many nodes.
    nodes: u64,
    /// Number of lines to search (MultiPV).
    lines: usize,
    /// A move that is worse by this many centipawns is chosen about a third as often.
    spread: f64,
}

impl Handicap {
    fn of(elo: Elo) -> Handicap {
        Handicap::from_step(elo.step())
    }

    /// Every 130 steps double the nodes, every 350 halve the spread.
    fn from_step(step: f64) -> Handicap {
        let spread = 180.0 * ((1000.0 - step) / 350.0).exp2();
        Handicap {
            nodes: (64.0 * ((step - 1400.0) / 130.0).exp2()).max(1.0) as u64,
            // With a smaller spread the second best move is hardly ever chosen, and searching it costs half of the
            // time.
            lines: match spread < 6.0 {
                true => 1,
                false => ((2900.0 - step) / 150.0).clamp(2.0, 16.0) as usize,
            },
            spread,
        }
    }
}

impl Limits {
    fn handicap(&self) -> Option<Handicap> {
        self.strength.map(|strength| Handicap::of(strength.elo))
    }

    /// Nodes after which no iteration is started.
    pub(super) fn soft_node_limit(&self) -> Option<u64> {
        let limited = self.handicap().map(|handicap| handicap.nodes);
        match (self.soft_nodes, limited) {
            (Some(asked), Some(limited)) => Some(asked.min(limited)),
            (asked, limited) => asked.or(limited),
        }
    }

    /// Number of lines to search, whether they are reported or not.
    pub(super) fn lines(&self) -> usize {
        let limited = self.handicap().map_or(1, |handicap| handicap.lines);
        self.multi_pv.max(limited).max(1)
    }
}

/// Random numbers: the same for the same seeds on every machine and in every version.
struct Rng(u64);

impl Rng {
    fn new(seeds: &[u64]) -> Rng {
        let mix = |state: u64, seed: &u64| Rng(state ^ seed).next();
        Rng(seeds.iter().fold(0, mix))
    }

    /// SplitMix64, by Steele, Lea and Flood, 2014.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Uniform in (0, 1), both ends excluded.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Gumbel distribution. Adding it to several values and taking the largest chooses each with probability
    /// proportional to the exponential of its value.
    fn gumbel(&mut self) -> f64 {
        -(-self.uniform().ln()).ln()
    }

    /// Normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests;
