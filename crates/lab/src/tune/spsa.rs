//! SPSA, simultaneous perturbation stochastic approximation (Spall 1992): optimization from noisy comparisons.
//!
//! Each trial perturbs all parameters at once, each by its step up or down at random, and plays the perturbed setting against the
//! opposite one. All parameters move a little in the winner's direction; the effects of irrelevant ones average out. Steps
//! and moves shrink with the trials, the moves faster.

use serde::{Deserialize, Serialize};

/// Exponents of the decay of moves and steps, as recommended by Spall.
const ALPHA: f64 = 0.602;
const GAMMA: f64 = 0.101;
/// Spall's stability constant, as a fraction of the run: limits the size of the first moves.
const STABILITY: f64 = 0.1;

/// Range and step of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// Perturbation in the last trial.
    pub step: f64,
}

/// State of the optimization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spsa {
    /// Current parameters; rounded for games.
    pub values: Vec<f64>,
    /// Finished trials.
    pub done: u64,
    /// Planned trials.
    pub planned: u64,
    /// How far a won trial moves a parameter at the end, in steps.
    pub rate: f64,
}

/// Two settings that play each other.
pub struct Trial {
    /// The parameters with the perturbation added.
    pub plus: Vec<i32>,
    /// The parameters with it subtracted.
    pub minus: Vec<i32>,
    /// The sign of each perturbation in `plus`, 1 or -1.
    signs: Vec<f64>,
    number: u64,
}

impl Spsa {
    /// Begins with these values.
    pub fn new(values: Vec<f64>, planned: u64, rate: f64) -> Spsa {
        Spsa {
            values,
            done: 0,
            planned,
            rate,
        }
    }

    /// Creates a trial; numbers start at 0.
    pub fn trial(&self, number: u64, axes: &[Axis], rng: &mut fastrand::Rng) -> Trial {
        let (mut plus, mut minus, mut signs) = (Vec::new(), Vec::new(), Vec::new());
        for (value, axis) in self.values.iter().zip(axes) {
            let sign = if rng.bool() { 1.0 } else { -1.0 };
            let change = sign * self.step(number, axis);
            // Round randomly, in proportion to the distance.
            let random = rng.f64();
            let whole = |value: f64| (value.clamp(axis.min, axis.max) + random).floor() as i32;
            let max = axis.max as i32;
            plus.push(whole(value + change).min(max));
            minus.push(whole(value - change).min(max));
            signs.push(sign);
        }
        Trial {
            plus,
            minus,
            signs,
            number,
        }
    }

    /// Applies the result of a trial: games won minus games lost by `plus`.
    pub fn update(&mut self, trial: &Trial, axes: &[Axis], result: f64) {
        let moved = self.rate(trial.number) * result;
        for ((value, axis), sign) in self.values.iter_mut().zip(axes).zip(&trial.signs) {
            let step = axis.step * decay(trial.number, self.planned, GAMMA);
            *value = (*value + moved * step * sign).clamp(axis.min, axis.max);
        }
        self.done += 1;
    }

    /// Perturbation of a parameter in this trial.
    fn step(&self, number: u64, axis: &Axis) -> f64 {
        axis.step * decay(number, self.planned, GAMMA)
    }

    /// How far a won game of this trial moves a parameter, in steps of the trial.
    fn rate(&self, number: u64) -> f64 {
        let early = STABILITY * self.planned as f64;
        let left = (early + self.planned as f64) / (early + number as f64 + 1.0);
        // The move is divided by the square of the step, as in Spall's gradient estimate.
        let step = decay(number, self.planned, GAMMA);
        self.rate * left.powf(ALPHA) / (step * step)
    }
}

/// Decay with this exponent, relative to the last trial.
fn decay(number: u64, planned: u64, exponent: f64) -> f64 {
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

    /// Elo below the optimum: 4 for each parameter that is a step away, 16 for two steps ...
    fn lost(values: impl Iterator<Item = f64>) -> f64 {
        let steps = values.zip(BEST).zip(AXES);
        steps
            .map(|((value, best), axis)| 4.0 * ((value - best) / axis.step).powi(2))
            .sum()
    }

    /// The result of a pair of games between both settings, drawn by their strength.
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
    fn spsa_finds_optimum_despite_noise() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut spsa = Spsa::new(START.to_vec(), 10_000, 0.006);
        for number in 0..spsa.planned {
            let trial = spsa.trial(number, &AXES, &mut rng);
            let result = result(&trial, &mut rng);
            spsa.update(&trial, &AXES, result);
        }
        let (before, after) = (lost(START.into_iter()), lost(spsa.values.iter().copied()));
        assert!(after < before / 10.0, "{before} {after} {:?}", spsa.values);
        assert_eq!(spsa.done, 10_000);
    }

    #[test]
    fn trials_are_in_range_and_opposite() {
        let mut rng = fastrand::Rng::with_seed(5);
        let spsa = Spsa::new(vec![3.0, 3000.0, 12.0, 0.4], 100, 0.006);
        for number in 0..100 {
            let trial = spsa.trial(number, &AXES, &mut rng);
            for (i, axis) in AXES.iter().enumerate() {
                for value in [trial.plus[i], trial.minus[i]] {
                    assert!(f64::from(value) >= axis.min && f64::from(value) <= axis.max);
                }
                assert!(f64::from(trial.plus[i] - trial.minus[i]) * trial.signs[i] > 0.0);
            }
        }
    }

    #[test]
    fn steps_end_at_configured_size() {
        let spsa = Spsa::new(vec![0.0; 4], 1_000, 0.006);
        assert!((spsa.step(999, &AXES[0]) - 8.0).abs() < 1e-9);
        assert!(spsa.step(0, &AXES[0]) > 12.0);
        assert!((spsa.rate(999) - 0.006).abs() < 1e-9 && spsa.rate(0) > spsa.rate(999));
    }
}
