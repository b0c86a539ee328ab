//! Playing below full strength: what an [`Elo`] allows the search, which of the moves that it found is played, and how
//! long somebody of that strength would take for it. Pure.
//!
//! A limited engine looks at fewer positions, and then does not always take the best move: each of the best few gets its
//! chance by how much worse it looks. The chances are drawn from the game's seed and the position, and nothing is taken
//! over from other searches, so that the same position of the same game always gets the same move, on every machine and
//! however busy it is.

mod pick;
mod tempo;

pub use tempo::tempo;

use std::fmt;

use super::Limits;

/// How strong to play, on a scale of engines: see [`RUNGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elo(u16);

impl Elo {
    /// The weakest.
    pub const MIN: Elo = Elo(1000);
    /// The strongest; beyond that there is full strength.
    pub const MAX: Elo = Elo(2800);

    /// The nearest that there is.
    ///
    /// ```
    /// use knightwatch::engine::Elo;
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

    /// The step that stands behind it, the second column of [`RUNGS`]: for whoever measures it.
    pub fn step(self) -> f64 {
        let elo = f64::from(self.0);
        let above = RUNGS
            .iter()
            .position(|rung| rung.0 >= elo)
            .unwrap_or(RUNGS.len() - 1)
            .max(1);
        let ((from, low), (to, high)) = (RUNGS[above - 1], RUNGS[above]);
        low + (elo - from) / (to - from) * (high - low)
    }
}

impl fmt::Display for Elo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How strong to play, and by which chances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// How strong.
    pub elo: Elo,
    /// Another number is another series of chances: one for each game.
    pub seed: u64,
}

/// By how much the engine is held back.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Handicap {
    /// No iteration is begun after so many positions.
    nodes: u64,
    /// How many moves are considered in earnest.
    lines: usize,
    /// A move that looks worse by this many centipawns is taken about a third as often.
    spread: f64,
}

/// The rungs of the ladder: the Elo that is asked for, and the step of the formulas in [`Handicap::of_step`] that has it, as
/// far as `docs/engine/strength.md` measures it; the last is an extrapolation. Between two rungs the steps are even.
const RUNGS: [(f64, f64); 10] = [
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
        Handicap::of_step(elo.step())
    }

    /// Every 130 steps double the positions, every 350 halve the spread.
    fn of_step(step: f64) -> Handicap {
        let spread = 180.0 * ((1000.0 - step) / 350.0).exp2();
        Handicap {
            nodes: (64.0 * ((step - 1400.0) / 130.0).exp2()).max(1.0) as u64,
            // With a smaller spread than this the second best is hardly ever taken, and looking for it costs half of the time.
            lines: match spread < 6.0 {
                true => 1,
                false => ((2900.0 - step) / 150.0).clamp(2.0, 16.0) as usize,
            },
            spread,
        }
    }
}

impl Limits {
    /// By how much the engine is held back, if it is.
    fn handicap(&self) -> Option<Handicap> {
        self.strength.map(|strength| Handicap::of(strength.elo))
    }

    /// Positions after which no iteration is begun.
    pub(super) fn soft_end(&self) -> Option<u64> {
        let limited = self.handicap().map(|handicap| handicap.nodes);
        match (self.soft_nodes, limited) {
            (Some(asked), Some(limited)) => Some(asked.min(limited)),
            (asked, limited) => asked.or(limited),
        }
    }

    /// Lines to look for, be they reported or not.
    pub(super) fn lines(&self) -> usize {
        let limited = self.handicap().map_or(1, |handicap| handicap.lines);
        self.multi_pv.max(limited).max(1)
    }
}

/// Chances: the same numbers for the same seeds, on every machine and in every version.
struct Dice(u64);

impl Dice {
    fn new(seeds: &[u64]) -> Dice {
        let mix = |state: u64, seed: &u64| Dice(state ^ seed).next();
        Dice(seeds.iter().fold(0, mix))
    }

    /// SplitMix64, by Steele, Lea and Flood, 2014.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Between 0 and 1, never either of them.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Gumbel's distribution: who adds it to the values of several things, and takes the largest, has taken each with a
    /// chance in proportion to the exponential of its value.
    fn gumbel(&mut self) -> f64 {
        -(-self.uniform().ln()).ln()
    }

    /// The normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests;
