//! SPSA, simultaneous perturbation stochastic approximation (Spall 1992): hill climbing where only noisy comparisons
//! are to be had.
//!
//! Each trial changes all numbers at once, each by its step up or down as a coin says, and lets the numbers changed so play
//! against those changed the other way. Whoever wins, all numbers move a little in its direction: what each of them did
//! for it is noise that averages out. The steps shrink as trial follows trial, and the moves faster than they.

use serde::{Deserialize, Serialize};

/// Exponents by which moves and steps shrink: those that Spall recommends.
const ALPHA: f64 = 0.602;
const GAMMA: f64 = 0.101;
/// Moves do not start larger than after this part of the run.
const STABILITY: f64 = 0.1;

/// Where a number may be and by how much it is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    pub min: f64,
    pub max: f64,
    /// The change in the last trial.
    pub step: f64,
}

/// How the search for the best numbers stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spsa {
    /// The numbers as they are thought best, whole only in play.
    pub values: Vec<f64>,
    /// Trials so far.
    pub done: u64,
    /// Trials that are planned.
    pub planned: u64,
    /// How far a trial that is won moves a number in the end, in its steps.
    pub rate: f64,
}

/// Two settings that are to play each other.
pub struct Trial {
    pub plus: Vec<i32>,
    pub minus: Vec<i32>,
    /// Which way each number was changed in `plus`, 1 or -1.
    flips: Vec<f64>,
    number: u64,
}

impl Spsa {
    pub fn new(values: Vec<f64>, planned: u64, rate: f64) -> Spsa {
        Spsa {
            values,
            done: 0,
            planned,
            rate,
        }
    }

    /// The trial with this number, from 0.
    pub fn trial(&self, number: u64, axes: &[Axis], rng: &mut fastrand::Rng) -> Trial {
        let (mut plus, mut minus, mut flips) = (Vec::new(), Vec::new(), Vec::new());
        for (value, axis) in self.values.iter().zip(axes) {
            let flip = if rng.bool() { 1.0 } else { -1.0 };
            let change = flip * self.step(number, axis);
            // Between two whole numbers it is the one or the other, as near as it is.
            let luck = rng.f64();
            let whole = |value: f64| (value.clamp(axis.min, axis.max) + luck).floor() as i32;
            let most = axis.max as i32;
            plus.push(whole(value + change).min(most));
            minus.push(whole(value - change).min(most));
            flips.push(flip);
        }
        Trial {
            plus,
            minus,
            flips,
            number,
        }
    }

    /// A trial has ended with so many games won more than lost by `plus`.
    pub fn learn(&mut self, trial: &Trial, axes: &[Axis], result: f64) {
        let moved = self.rate(trial.number) * result;
        for ((value, axis), flip) in self.values.iter_mut().zip(axes).zip(&trial.flips) {
            let step = axis.step * shrunk(trial.number, self.planned, GAMMA);
            *value = (*value + moved * step * flip).clamp(axis.min, axis.max);
        }
        self.done += 1;
    }

    /// By how much the trial changes a number.
    fn step(&self, number: u64, axis: &Axis) -> f64 {
        axis.step * shrunk(number, self.planned, GAMMA)
    }

    /// How far a game won in the trial moves a number, in steps of that trial.
    fn rate(&self, number: u64) -> f64 {
        let early = STABILITY * self.planned as f64;
        let left = (early + self.planned as f64) / (early + number as f64 + 1.0);
        // The square of the step is in it, as in Spall's quotient of move and step.
        let step = shrunk(number, self.planned, GAMMA);
        self.rate * left.powf(ALPHA) / (step * step)
    }
}

/// How many times as large as in the last trial something is that shrinks by this exponent.
fn shrunk(number: u64, planned: u64, exponent: f64) -> f64 {
    (planned.max(1) as f64 / (number + 1) as f64).powf(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [Axis; 4] = [
        Axis {
            min: 0.0,
            max: 200.0,
            step: 8.0,
        },
        Axis {
            min: 0.0,
            max: 3000.0,
            step: 150.0,
        },
        Axis {
            min: 1.0,
            max: 12.0,
            step: 1.0,
        },
        Axis {
            min: -50.0,
            max: 50.0,
            step: 5.0,
        },
    ];
    const BEST: [f64; 4] = [120.0, 900.0, 7.0, -50.0];
    const START: [f64; 4] = [80.0, 1500.0, 4.0, 0.0];

    /// Elo lost by not being the best: 4 for each number that is a step away, 16 for two steps ...
    fn lost(values: impl Iterator<Item = f64>) -> f64 {
        let steps = values.zip(BEST).zip(AXES);
        steps
            .map(|((value, best), axis)| 4.0 * ((value - best) / axis.step).powi(2))
            .sum()
    }

    /// A pair of games between the two, by chance as strong as they are.
    fn result(trial: &Trial, rng: &mut fastrand::Rng) -> f64 {
        let loss = |values: &[i32]| lost(values.iter().map(|value| f64::from(*value)));
        let elo = loss(&trial.minus) - loss(&trial.plus);
        let score = 1.0 / (1.0 + 10f64.powf(-elo / 400.0));
        let game = |rng: &mut fastrand::Rng| match rng.f64() {
            luck if luck < score - 0.25 => 1.0,
            luck if luck < score + 0.25 => 0.0,
            _ => -1.0,
        };
        game(rng) + game(rng)
    }

    #[test]
    fn a_hill_is_climbed_through_noise() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut spsa = Spsa::new(START.to_vec(), 10_000, 0.006);
        for number in 0..spsa.planned {
            let trial = spsa.trial(number, &AXES, &mut rng);
            let result = result(&trial, &mut rng);
            spsa.learn(&trial, &AXES, result);
        }
        let (before, after) = (lost(START.into_iter()), lost(spsa.values.iter().copied()));
        assert!(after < before / 10.0, "{before} {after} {:?}", spsa.values);
        assert_eq!(spsa.done, 10_000);
    }

    #[test]
    fn trials_stay_in_range_and_are_opposite() {
        let mut rng = fastrand::Rng::with_seed(5);
        let spsa = Spsa::new(vec![3.0, 3000.0, 12.0, 0.4], 100, 0.006);
        for number in 0..100 {
            let trial = spsa.trial(number, &AXES, &mut rng);
            for (i, axis) in AXES.iter().enumerate() {
                for value in [trial.plus[i], trial.minus[i]] {
                    assert!(f64::from(value) >= axis.min && f64::from(value) <= axis.max);
                }
                assert!(f64::from(trial.plus[i] - trial.minus[i]) * trial.flips[i] > 0.0);
            }
        }
    }

    #[test]
    fn steps_end_as_planned() {
        let spsa = Spsa::new(vec![0.0; 4], 1_000, 0.006);
        assert!((spsa.step(999, &AXES[0]) - 8.0).abs() < 1e-9);
        assert!(spsa.step(0, &AXES[0]) > 12.0);
        assert!((spsa.rate(999) - 0.006).abs() < 1e-9 && spsa.rate(0) > spsa.rate(999));
    }
}
