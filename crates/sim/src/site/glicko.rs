//! Glicko-2 as in Mark Glickman's "Example of the Glicko-2 system" (2013), with the constants of Lichess.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

/// Factor between rating points and the internal scale.
const SCALE: f64 = 173.7178;
/// System constant tau, which constrains changes of the volatility.
pub(crate) const TAU: f64 = 0.75;
/// Rating periods per day. With this value a deviation grows from 60 to 110 in a year without games.
pub(crate) const RATING_PERIODS_PER_DAY: f64 = 0.21436;
/// Convergence tolerance of the volatility iteration.
const CONVERGENCE_TOLERANCE: f64 = 1e-6;
/// Sufficient for any input; the iteration usually takes six steps.
const MAX_ITERATIONS: usize = 1_000;

const RATING_RANGE: RangeInclusive<f64> = 400.0..=4_000.0;
const DEVIATION_RANGE: RangeInclusive<f64> = 45.0..=500.0;
const MAX_VOLATILITY: f64 = 0.1;
/// Maximum rating change by one game.
const MAX_RATING_CHANGE: f64 = 700.0;

/// Rating, rating deviation and volatility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glicko {
    pub rating: f64,
    pub deviation: f64,
    pub volatility: f64,
}

impl Glicko {
    /// Rating of a player without games.
    pub(super) fn initial(rating: f64) -> Self {
        Self {
            rating,
            deviation: 500.0,
            volatility: 0.09,
        }
    }

    /// Returns the rating after one game, `days` after the previous one. Each game is a rating period of its own.
    pub(super) fn after_game(self, opponent: Self, score: f64, days: f64) -> Self {
        let raw = self.rated(TAU, &[(opponent, score)], RATING_PERIODS_PER_DAY * days);
        let gain = (raw.rating - self.rating).clamp(-MAX_RATING_CHANGE, MAX_RATING_CHANGE);
        Self {
            rating: (self.rating + gain).clamp(*RATING_RANGE.start(), *RATING_RANGE.end()),
            deviation: raw
                .deviation
                .clamp(*DEVIATION_RANGE.start(), *DEVIATION_RANGE.end()),
            volatility: raw.volatility.min(MAX_VOLATILITY),
        }
    }

    /// Returns the rating after these results (opponent and score of 0, 0.5 or 1), `periods` rating periods later. The
    /// step numbers are those of the paper.
    pub(super) fn rated(self, tau: f64, results: &[(Self, f64)], periods: f64) -> Self {
        // Step 2.
        let mu = (self.rating - 1_500.0) / SCALE;
        let phi = self.deviation / SCALE;
        // Step 3: estimated variance; step 4: improvement over the expected score.
        let (mut precision, mut surplus) = (0.0, 0.0);
        for (opponent, score) in results {
            let their_phi = opponent.deviation / SCALE;
            let g = 1.0 / (1.0 + 3.0 * (their_phi / PI).powi(2)).sqrt();
            let their_mu = (opponent.rating - 1_500.0) / SCALE;
            let expected = 1.0 / (1.0 + (-g * (mu - their_mu)).exp());
            precision += g * g * expected * (1.0 - expected);
            surplus += g * (score - expected);
        }
        let has_played = precision > 0.0;
        let volatility = if has_played {
            new_volatility(
                tau,
                phi,
                self.volatility,
                1.0 / precision,
                surplus / precision,
            )
        } else {
            self.volatility
        };
        // Steps 6 and 7.
        let wider = (phi * phi + periods * volatility * volatility).sqrt();
        let new_phi = 1.0 / (1.0 / (wider * wider) + precision).sqrt();
        let new_mu = mu + new_phi * new_phi * surplus;
        // Step 8.
        Self {
            rating: new_mu * SCALE + 1_500.0,
            deviation: new_phi * SCALE,
            volatility,
        }
    }
}

/// Step 5: the root of `f`, by the Illinois variant of regula falsi.
fn new_volatility(tau: f64, phi: f64, sigma: f64, variance: f64, delta: f64) -> f64 {
    let a = (sigma * sigma).ln();
    let f = |x: f64| {
        let spread = phi * phi + variance + x.exp();
        x.exp() * (delta * delta - spread) / (2.0 * spread * spread) - (x - a) / (tau * tau)
    };
    let mut low = a;
    let excess = delta * delta - phi * phi - variance;
    let mut high = if excess > 0.0 {
        excess.ln()
    } else {
        let mut below = (1..MAX_ITERATIONS).map(|k| a - k as f64 * tau);
        below.find(|x| f(*x) >= 0.0).unwrap_or(a)
    };
    let (mut f_low, mut f_high) = (f(low), f(high));
    for _ in 0..MAX_ITERATIONS {
        if (high - low).abs() <= CONVERGENCE_TOLERANCE {
            break;
        }
        let middle = low + (low - high) * f_low / (f_high - f_low);
        let f_middle = f(middle);
        if f_middle * f_high <= 0.0 {
            (low, f_low) = (high, f_high);
        } else {
            f_low /= 2.0;
        }
        (high, f_high) = (middle, f_middle);
    }
    (low / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(rating: f64, deviation: f64, volatility: f64) -> Glicko {
        Glicko {
            rating,
            deviation,
            volatility,
        }
    }

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found}, not {expected}");
    }

    /// The worked example of the paper: a win, then two losses, with tau 0.5.
    #[test]
    fn glicko_matches_paper_example() {
        let results = [
            (player(1400.0, 30.0, 0.06), 1.0),
            (player(1550.0, 100.0, 0.06), 0.0),
            (player(1700.0, 300.0, 0.06), 0.0),
        ];
        let after = player(1500.0, 200.0, 0.06).rated(0.5, &results, 1.0);
        near(after.rating, 1464.06, 0.02);
        near(after.deviation, 151.52, 0.02);
        near(after.volatility, 0.05999, 0.00001);
    }

    #[test]
    fn glicko_deviation_grows_without_games() {
        let after = player(1500.0, 60.0, 0.06).rated(TAU, &[], RATING_PERIODS_PER_DAY * 365.0);
        assert_eq!(after.rating, 1500.0);
        near(after.deviation, 110.0, 1.0);
    }

    #[test]
    fn glicko_one_game_changes_rating_as_expected() {
        let steady = player(1500.0, 45.0, 0.06);
        let new = Glicko::initial(1500.0);
        // (player, opponent, score, least and most gain)
        for (me, other, score, min, max) in [
            (steady, steady, 1.0, 4.0, 8.0),
            (steady, steady, 0.5, -0.01, 0.01),
            (steady, steady, 0.0, -8.0, -4.0),
            (new, steady, 1.0, 200.0, 450.0),
            (steady, new, 1.0, 1.0, 6.0),
            (
                player(2400.0, 60.0, 0.06),
                player(1200.0, 60.0, 0.06),
                1.0,
                0.0,
                0.1,
            ),
            (
                player(2400.0, 60.0, 0.06),
                player(1200.0, 60.0, 0.06),
                0.0,
                -25.0,
                -8.0,
            ),
        ] {
            let gain = me.after_game(other, score, 0.0).rating - me.rating;
            assert!(
                (min..=max).contains(&gain),
                "{me:?} {other:?} {score}: {gain}"
            );
        }
        let after = (0..200).fold(new, |me, _| me.after_game(steady, 0.5, 0.0));
        assert_eq!(after.deviation, 45.0);
    }

    #[test]
    fn glicko_extremes_stay_within_range() {
        let strong = player(4_000.0, 45.0, 0.1);
        let mut weak = player(400.0, 500.0, 0.1);
        let mut best = strong;
        for _ in 0..50 {
            (weak, best) = (
                weak.after_game(best, 0.0, 30.0),
                best.after_game(weak, 1.0, 30.0),
            );
        }
        assert!((400.0..=401.0).contains(&weak.rating), "{weak:?}");
        assert_eq!(best.rating, 4_000.0);
        let upset = weak.after_game(best, 1.0, 0.0);
        assert!(upset.rating - weak.rating <= 700.0, "{upset:?}");
        assert!(upset.rating.is_finite() && upset.volatility <= 0.1);
    }
}
