//! Statistics of matches: Elo with its error, and the sequential probability ratio test. Pure.
//!
//! The unit is the pair: two games from one opening with colors reversed. The games of a pair are not independent, since an
//! opening may favor one side; so pairs are counted by their half points, 0 to 4 (pentanomial statistics).

/// Results of the first player.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchStats {
    /// Games lost, drawn, won.
    pub games: [u64; 3],
    /// Pairs by their half points, 0 to 4.
    pub pairs: [u64; 5],
}

/// A rating, or a difference between two, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EloEstimate {
    /// The estimate in Elo.
    pub value: f64,
    /// Half the width of the 95 % confidence interval.
    pub error: f64,
}

/// Standard deviations of a two-sided 95 % interval.
pub const Z_95: f64 = 1.96;
/// Elo of a mean score that is one standard deviation of a game above one half, by convention.
const ELO_PER_DEVIATION: f64 = 800.0 / std::f64::consts::LN_10;
/// Scores are clamped to this distance from 0 and 1, where Elo is infinite.
const EDGE: f64 = 1e-3;
/// Pseudo-count for unseen results of a pair: none is impossible.
const MIN_PAIR_COUNT: f64 = 1e-3;

impl MatchStats {
    /// Adds a pair: the half points of its two games, 0 to 2 each.
    pub fn add(&mut self, points: [u8; 2]) {
        for points in points {
            self.games[usize::from(points)] += 1;
        }
        self.pairs[usize::from(points[0] + points[1])] += 1;
    }

    /// Games played.
    pub fn count(&self) -> u64 {
        self.games.iter().sum()
    }

    /// Mean score, 0 to 1, and its standard error.
    pub fn mean(&self) -> (f64, f64) {
        let count = self.pairs.iter().sum::<u64>().max(1) as f64;
        let moment = |power: i32| {
            let powers = scores(&self.pairs).map(|(score, pairs)| score.powi(power) * pairs);
            powers.sum::<f64>() / count
        };
        let mean = moment(1);
        (mean, ((moment(2) - mean * mean).max(0.0) / count).sqrt())
    }

    /// Elo difference of the first player.
    pub fn elo(&self) -> EloEstimate {
        let (mean, error) = self.mean();
        let (low, high) = (mean - Z_95 * error, mean + Z_95 * error);
        EloEstimate {
            value: elo(mean),
            error: (elo(high) - elo(low)) / 2.0,
        }
    }

    /// Elo in units of the standard deviation of a game, which does not depend on the share of draws.
    pub fn normalized_elo(&self) -> EloEstimate {
        let (mean, error) = self.mean();
        let count = self.count().max(1) as f64;
        EloEstimate {
            value: ELO_PER_DEVIATION * (mean - 0.5) / (error * count.sqrt()),
            error: Z_95 * ELO_PER_DEVIATION / count.sqrt(),
        }
    }

    /// Log-likelihood ratio of `elo1` against `elo0`, each with the most likely distribution of pair scores (generalized
    /// likelihood ratio).
    pub fn llr(&self, elo0: f64, elo1: f64) -> f64 {
        let count: u64 = self.pairs.iter().sum();
        if count == 0 {
            return 0.0;
        }
        let seen: Vec<(f64, f64)> = scores(&self.pairs)
            .map(|(score, pairs)| (score, pairs.max(MIN_PAIR_COUNT)))
            .collect();
        let [share0, share1] = [elo0, elo1].map(|elo| explain(&seen, expected(elo)));
        let ratios = seen.iter().zip(share0.iter().zip(&share1));
        ratios
            .map(|((_, pairs), (share0, share1))| pairs * (share1 / share0).ln())
            .sum()
    }

    /// One-line summary.
    pub fn describe(&self) -> String {
        if self.count() == 0 {
            return "no games".to_owned();
        }
        let [lost, drawn, won] = self.games;
        let EloEstimate { value, error } = self.elo();
        // Identical pairs do not determine the error.
        let normalized = self.normalized_elo();
        let (error, normalized) = match error > 0.0 {
            true => (
                format!("{error:.1}"),
                format!("{:+.1} +- {:.1}", normalized.value + 0.0, normalized.error),
            ),
            false => ("?".to_owned(), "?".to_owned()),
        };
        format!(
            "{} games: +{won} ={drawn} -{lost}, {:.1} %, Elo {:+.1} +- {error}, nElo {normalized}, pairs {:?}",
            self.count(),
            self.mean().0 * 100.0,
            // Turns -0.0 into 0.0.
            value + 0.0,
            self.pairs
        )
    }
}

/// Pair scores, 0 to 1, with their counts.
fn scores(pairs: &[u64; 5]) -> impl Iterator<Item = (f64, f64)> {
    (0..5u8).map(|half| (f64::from(half) / 4.0, pairs[usize::from(half)] as f64))
}

/// The Elo difference of an expected score.
fn elo(score: f64) -> f64 {
    -400.0 * (1.0 / score.clamp(EDGE, 1.0 - EDGE) - 1.0).log10()
}

/// The expected score of an Elo difference.
fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The most likely distribution of pair scores with this mean.
///
/// By Lagrange the probabilities are `seen / (1 + x (score - mean))` with the `x` that yields the mean. The condition decreases
/// with `x` between the poles on both sides, so bisection finds it.
fn explain(seen: &[(f64, f64)], mean: f64) -> Vec<f64> {
    let count: f64 = seen.iter().map(|(_, pairs)| pairs).sum();
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..200 {
        let x = f64::midpoint(low, high);
        let balance: f64 = seen
            .iter()
            .map(|(score, pairs)| pairs * (score - mean) / (1.0 + x * (score - mean)))
            .sum();
        if balance > 0.0 {
            low = x;
        } else {
            high = x;
        }
    }
    let x = f64::midpoint(low, high);
    let shares = seen
        .iter()
        .map(|(score, pairs)| pairs / count / (1.0 + x * (score - mean)));
    shares.collect()
}

/// A sequential probability ratio test with error rates of 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// The difference that is rejected, in Elo.
    pub elo0: f64,
    /// The difference that is accepted, in Elo.
    pub elo1: f64,
}

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtResult {
    /// The results support `elo0`.
    Rejected,
    /// The results support `elo1`.
    Accepted,
}

/// Probability of a false positive, and of a false negative.
const ERROR_RATE: f64 = 0.05;

impl Sprt {
    /// Bound of the log-likelihood ratio on either side: ln(19) = 2.94.
    pub fn bound() -> f64 {
        ((1.0 - ERROR_RATE) / ERROR_RATE).ln()
    }

    /// The result; `None` while it is undecided.
    pub fn result(&self, stats: &MatchStats) -> Option<SprtResult> {
        let llr = stats.llr(self.elo0, self.elo1);
        if llr >= Sprt::bound() {
            Some(SprtResult::Accepted)
        } else {
            (llr <= -Sprt::bound()).then_some(SprtResult::Rejected)
        }
    }

    /// One-line summary.
    pub fn describe(&self, stats: &MatchStats) -> String {
        let Sprt { elo0, elo1 } = self;
        format!(
            "LLR {:+.2} of +-{:.2} for [{elo0}, {elo1}]",
            stats.llr(*elo0, *elo1),
            Sprt::bound()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(pairs: [u64; 5]) -> MatchStats {
        MatchStats {
            games: [0; 3],
            pairs,
        }
    }

    #[test]
    fn stats_have_elo_and_error() {
        let mut stats = MatchStats::default();
        (0..100).for_each(|_| stats.add([2, 1]));
        (0..100).for_each(|_| stats.add([2, 0]));
        let (mean, error) = stats.mean();
        assert!((mean - 0.625).abs() < 1e-9 && (error - 0.125 / 200f64.sqrt()).abs() < 1e-9);
        assert_eq!(
            stats.describe(),
            "400 games: +200 =100 -100, 62.5 %, Elo +88.7 +- 12.8, nElo +245.7 +- 34.0, pairs [0, 0, 100, 100, 0]"
        );
        assert_eq!(MatchStats::default().describe(), "no games");
        let mut alike = MatchStats::default();
        alike.add([2, 0]);
        assert_eq!(
            alike.describe(),
            "2 games: +1 =0 -1, 50.0 %, Elo +0.0 +- ?, nElo ?, pairs [0, 0, 1, 0, 0]"
        );
        // 64 % is 100 Elo, and the definition says 200 for 10^(1/2) : 1.
        assert!(
            (elo(0.640_065) - 100.0).abs() < 1e-3 && (expected(200.0) - 0.759_747).abs() < 1e-6
        );
        assert_eq!(MatchStats::default().llr(0.0, 5.0), 0.0);
    }

    /// If pairs are only won or lost outright, the ratio is that of a coin.
    #[test]
    fn llr_of_two_outcomes_is_that_of_a_coin() {
        let (won, lost) = (60.0, 40.0);
        for (elo0, elo1) in [(0.0, 10.0), (-5.0, 0.0), (20.0, 40.0)] {
            let (s0, s1) = (expected(elo0), expected(elo1));
            let coin = won * (s1 / s0).ln() + lost * ((1.0 - s1) / (1.0 - s0)).ln();
            let llr = stats([40, 0, 0, 0, 60]).llr(elo0, elo1);
            assert!((llr - coin).abs() < 0.01, "{llr} {coin}");
        }
    }

    /// For small differences and many pairs the ratio is near the normal approximation.
    #[test]
    fn llr_is_near_the_normal_approximation() {
        for pairs in [
            [100, 500, 1_200, 560, 130],
            [30, 200, 500, 190, 40],
            [5, 20, 41, 30, 8],
        ] {
            let stats = stats(pairs);
            let (mean, error) = stats.mean();
            let (s0, s1) = (expected(0.0), expected(5.0));
            let normal = (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * error * error);
            let llr = stats.llr(0.0, 5.0);
            assert!(
                (llr - normal).abs() < 0.02 * normal.abs() + 0.02,
                "{llr} {normal}"
            );
        }
    }

    #[test]
    fn llr_is_symmetrical() {
        let (one, other) = (stats([9, 31, 80, 40, 14]), stats([14, 40, 80, 31, 9]));
        assert!((one.llr(0.0, 10.0) + one.llr(10.0, 0.0)).abs() < 1e-9);
        assert!((one.llr(-10.0, 10.0) + other.llr(-10.0, 10.0)).abs() < 1e-6);
    }

    #[test]
    fn sprt_ends_at_its_bounds() {
        let sprt = Sprt {
            elo0: 0.0,
            elo1: 10.0,
        };
        assert!((Sprt::bound() - 2.944).abs() < 1e-3);
        assert_eq!(sprt.result(&stats([10, 100, 250, 110, 12])), None);
        assert_eq!(
            sprt.result(&stats([10, 100, 250, 170, 30])),
            Some(SprtResult::Accepted)
        );
        assert_eq!(
            sprt.result(&stats([30, 170, 250, 100, 10])),
            Some(SprtResult::Rejected)
        );
        // A perfect score does not break the arithmetic.
        assert_eq!(
            sprt.result(&stats([0, 0, 0, 0, 500])),
            Some(SprtResult::Accepted)
        );
    }
}
