//! Limited strength: node limits, choice among the best moves, and think time by [`Elo`]. Pure.
//!
//! A limited engine searches fewer nodes and does not always play the best move: each of the best few is chosen at
//! random, weighted by its score. The randomness depends only on the game's seed and the position, and nothing is
//! kept from other searches. So the same position of the same game always gets the same move, on every machine and
//! under any load.

mod pick;
mod think_time;

pub use think_time::think_time;

use std::fmt;

use super::Limits;

/// Playing strength, on a scale of engines: see `CALIBRATION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elo(u16);

impl Elo {
    /// The lowest.
    pub const MIN: Elo = Elo(1000);
    /// The highest; above it there is only full strength.
    pub const MAX: Elo = Elo(2800);

    /// The nearest supported value.
    ///
    /// ```
    /// use knightwatch_engine::Elo;
    ///
    /// assert_eq!(Elo::nearest(1500).get(), 1500);
    /// assert_eq!(Elo::nearest(400), Elo::MIN);
    /// assert_eq!(Elo::nearest(3000), Elo::MAX);
    /// ```
    pub fn nearest(elo: i32) -> Elo {
        let (least, most) = (i32::from(Self::MIN.0), i32::from(Self::MAX.0));
        Elo(elo.clamp(least, most) as u16)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }

    /// The handicap step of this Elo, the second column of `CALIBRATION`.
    pub fn step(self) -> f64 {
        let elo = f64::from(self.0);
        let above = CALIBRATION
            .iter()
            .position(|rung| rung.0 >= elo)
            .unwrap_or(CALIBRATION.len() - 1)
            .max(1);
        let ((from, low), (to, high)) = (CALIBRATION[above - 1], CALIBRATION[above]);
        low + (elo - from) / (to - from) * (high - low)
    }
}

impl fmt::Display for Elo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Playing strength and random seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// The strength.
    pub elo: Elo,
    /// Seed of the random choices; one for each game.
    pub seed: u64,
}

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

/// Elo and the step of [`Handicap::from_step`] that has it, as measured in `docs/engine/strength.md`; the last row is
/// extrapolated. Values in between are interpolated linearly.
const CALIBRATION: [(f64, f64); 10] = [
    (1000.0, 1665.0),
    (1170.0, 1750.0),
    (1320.0, 1850.0),
    (1500.0, 1955.0),
    (1700.0, 2065.0),
    (1865.0, 2190.0),
    (2040.0, 2335.0),
    (2225.0, 2520.0),
    (2390.0, 2800.0),
    (2800.0, 3560.0),
];

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
