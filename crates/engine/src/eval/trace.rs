//! Evaluation trace: how often a position counts each weight, for `knightwatch texel`.
//!
//! It is made by the code that evaluates, with another `Sum`, so that the two cannot differ.

use std::fmt::Write as _;
use std::ops::{Add, AddAssign, Neg, Sub};

use super::pawns::Structure;
use super::phased::Phased;
use super::terms::{COUNT, ROWS, Sum, Term, size};
use super::weights::WEIGHTS;
use super::{FULL_PHASE, FULL_SCALE, mop_up, phase, scale, sum};
use knightwatch_chess::{Color, Position};

/// A weight in centipawns: middlegame and endgame.
pub type Pair = [f64; 2];

/// The current weights.
#[must_use]
pub fn weights() -> Vec<Pair> {
    WEIGHTS.iter().map(|weight| pair(*weight)).collect()
}

fn pair(score: Phased) -> Pair {
    [score.middlegame().into(), score.endgame().into()]
}

/// The evaluation of a position as a function of the weights: linear except for the sign of the endgame score.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Weights and how often White counts them more than Black, in halves.
    terms: Box<[(u16, i16)]>,
    /// The part without weights.
    rest: Phased,
    /// Of `FULL_PHASE`.
    phase: u8,
    /// Of `FULL_SCALE`, for endgames that favour White and Black.
    scales: [u8; 2],
    /// The part that is not tapered.
    bonus: i16,
}

impl Trace {
    #[must_use]
    pub fn new(pos: &Position) -> Trace {
        let counts = sum(pos, Structure::<Counts>::new(pos));
        let terms = (0..).zip(counts.halves).filter(|(_, halves)| *halves != 0);
        let bonus = mop_up(pos) as i16;
        Trace {
            terms: terms.collect(),
            rest: counts.rest,
            phase: phase(pos) as u8,
            scales: Color::ALL.map(|strong| scale(pos, strong) as u8),
            bonus: if pos.turn().is_white() { bonus } else { -bonus },
        }
    }

    /// Indices of the weights that count, and how often.
    pub fn terms(&self) -> impl Iterator<Item = (usize, f64)> {
        let halves = self.terms.iter();
        halves.map(|&(index, halves)| (index.into(), f64::from(halves) / 2.0))
    }

    /// The evaluation with these weights from White's point of view, and its derivative by middlegame and endgame
    /// score.
    #[must_use]
    pub fn evaluate(&self, weights: &[Pair]) -> (f64, Pair) {
        let mut score = pair(self.rest);
        for (index, times) in self.terms() {
            score[0] += times * weights[index][0];
            score[1] += times * weights[index][1];
        }
        let middlegame = f64::from(self.phase) / f64::from(FULL_PHASE);
        let scale = self.scales[usize::from(score[1] < 0.0)];
        let endgame = (1.0 - middlegame) * f64::from(scale) / f64::from(FULL_SCALE);
        let value = score[0] * middlegame + score[1] * endgame + f64::from(self.bonus);
        (value, [middlegame, endgame])
    }
}

/// How often each weight counts in a sum, in halves, and the rest of the sum.
struct Counts {
    halves: [i16; COUNT],
    rest: Phased,
}

impl Sum for Counts {
    fn weigh(&mut self, term: Term, times: i32) {
        self.halves[term.index()] += 2 * times as i16;
    }

    fn halved(mut self) -> Counts {
        self.halves.iter_mut().for_each(|halves| *halves /= 2);
        self.rest = self.rest.half();
        self
    }
}

impl Default for Counts {
    fn default() -> Counts {
        Counts::from(Phased::ZERO)
    }
}

impl From<Phased> for Counts {
    fn from(rest: Phased) -> Counts {
        Counts {
            halves: [0; COUNT],
            rest,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        let pairs = self.halves.iter_mut().zip(other.halves);
        pairs.for_each(|(halves, more)| *halves += more);
        self.rest += other.rest;
    }
}

impl Add for Counts {
    type Output = Counts;
    fn add(mut self, other: Counts) -> Counts {
        self += other;
        self
    }
}

impl Neg for Counts {
    type Output = Counts;
    fn neg(mut self) -> Counts {
        self.halves.iter_mut().for_each(|halves| *halves *= -1);
        self.rest = -self.rest;
        self
    }
}

impl Sub for Counts {
    type Output = Counts;
    fn sub(self, other: Counts) -> Counts {
        self + -other
    }
}

/// Source text of `src/engine/eval/weights.rs` with these weights; `origin` documents where they come from.
#[must_use]
pub fn source(weights: &[Pair], origin: &str) -> String {
    let mut text = "//! What each of the [`terms`](super::terms) is worth, in centipawns for (middlegame, endgame).\n\
        //!\n"
        .to_owned();
    for line in origin.lines() {
        let _ = writeln!(text, "//! {line}");
    }
    text += "\nuse super::phased::{Phased, s};\nuse super::terms::COUNT;\n\n\
        #[rustfmt::skip]\npub(super) static WEIGHTS: [Phased; COUNT] = [\n";
    let mut left = weights;
    for (name, sizes) in ROWS {
        let (row, rest) = left.split_at(size(sizes));
        left = rest;
        // A line is a rank, or eight weights of a list.
        let line = if sizes.len() > 1 {
            sizes[sizes.len() - 1]
        } else {
            8
        };
        let blocks = if sizes.len() > 2 { sizes[0] } else { 1 };
        for (number, block) in row.chunks(row.len() / blocks).enumerate() {
            let _ = match blocks {
                1 => writeln!(text, "    // {name}"),
                _ => writeln!(text, "    // {name}, {number}"),
            };
            for line in block.chunks(line) {
                let weight =
                    |[m, e]: &Pair| format!(" s({}, {}),", m.round() as i32, e.round() as i32);
                let _ = writeln!(text, "   {}", line.iter().map(weight).collect::<String>());
            }
        }
    }
    text + "];\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Evaluator;
    use crate::eval::phased::s;
    use crate::eval::terms::BISHOP_PAIR;

    #[test]
    fn trace_evaluates_like_the_evaluator() {
        let (mut rng, mut evaluator) = (fastrand::Rng::with_seed(1), Evaluator::new(None));
        let (weights, mut seen) = (weights(), vec![false; COUNT]);
        for start in 0..200 {
            let mut pos = Position::chess960_start(start * 4).expect("one of 960");
            while pos.has_legal_move() && pos.halfmove_clock() < 100 {
                let ours: f64 = evaluator.evaluate(&pos).into();
                let white = if pos.turn().is_white() { ours } else { -ours };
                let trace = Trace::new(&pos);
                let (value, _) = trace.evaluate(&weights);
                // Rounding: half a centipawn for either shelter, one for the scale and one for the taper.
                assert!(
                    (value - white).abs() < 3.0,
                    "{}: {value}, {white}",
                    pos.fen()
                );
                trace.terms().for_each(|(index, _)| seen[index] = true);
                let mv = rng.choice(pos.legal_moves().iter().copied());
                pos.play(mv.expect("a legal move"));
            }
        }
        // Some never count: the king's material, pawns on the first and last rank.
        let seen = seen.iter().filter(|seen| **seen).count();
        assert!(seen > COUNT * 4 / 5, "{seen} of {COUNT}");
    }

    #[test]
    fn source_reproduces_weights_file() {
        let table = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("//!"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let written = source(&weights(), "Somewhere.");
        assert!(written.contains("//! Somewhere.\n\nuse"), "{written}");
        assert_eq!(table(&written), table(include_str!("weights.rs")));
    }

    #[test]
    fn counts_halved_are_exact() {
        let mut counts = Counts::from(s(7, -9));
        counts.weigh(BISHOP_PAIR, -3);
        let half = -counts.halved();
        assert_eq!(half.rest, s(-3, 4));
        assert_eq!(half.halves.iter().sum::<i16>(), 3);
    }
}
