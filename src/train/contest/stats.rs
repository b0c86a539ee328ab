//! What the results of a match say: Elo with its error, and the sequential probability ratio test. Pure.
//!
//! The unit is the pair: two games from one opening with colours exchanged. Its games are not independent, since an
//! opening may favour one side; its points, 0 to 4 half points, are (pentanomial counts).

/// Results so far, of the first player.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Lost, drawn, won.
    pub games: [u64; 3],
    /// Pairs by their half points, 0 to 4.
    pub pairs: [u64; 5],
}

/// A difference in strength and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elo {
    pub value: f64,
    /// Half the width of the interval that holds the truth with a probability of 95 %.
    pub error: f64,
}

/// 95 % of a normal distribution is within so many standard deviations.
const SIGMAS: f64 = 1.96;
/// Scores are kept away from 0 and 1, where Elo is infinite.
const EDGE: f64 = 1e-3;
/// What counts as the number of pairs with an outcome that has not been seen: no outcome is impossible.
const UNSEEN: f64 = 1e-3;

impl Tally {
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

    /// By how much the first player is stronger.
    pub fn elo(&self) -> Elo {
        let (mean, error) = self.mean();
        let (low, high) = (mean - SIGMAS * error, mean + SIGMAS * error);
        Elo {
            value: elo(mean),
            error: (elo(high) - elo(low)) / 2.0,
        }
    }

    /// Logarithm of how much likelier the results are if the first player is `elo1` stronger than if it is `elo0`
    /// stronger, each with the shares of pairs that explain the results best (generalised likelihood ratio).
    pub fn llr(&self, elo0: f64, elo1: f64) -> f64 {
        let count: u64 = self.pairs.iter().sum();
        if count == 0 {
            return 0.0;
        }
        let seen: Vec<(f64, f64)> = scores(&self.pairs)
            .map(|(score, pairs)| (score, pairs.max(UNSEEN)))
            .collect();
        let [share0, share1] = [elo0, elo1].map(|elo| explain(&seen, expected(elo)));
        let ratios = seen.iter().zip(share0.iter().zip(&share1));
        ratios
            .map(|((_, pairs), (share0, share1))| pairs * (share1 / share0).ln())
            .sum()
    }

    /// The results in a line.
    pub fn describe(&self) -> String {
        if self.count() == 0 {
            return "no games".to_owned();
        }
        let [lost, drawn, won] = self.games;
        let Elo { value, error } = self.elo();
        // Pairs that are all alike say nothing about it.
        let error = match error > 0.0 {
            true => format!("{error:.1}"),
            false => "?".to_owned(),
        };
        format!(
            "{} games: +{won} ={drawn} -{lost}, {:.1} %, Elo {:+.1} +- {error}, pairs {:?}",
            self.count(),
            self.mean().0 * 100.0,
            // There is a zero with a minus.
            value + 0.0,
            self.pairs
        )
    }
}

/// Scores of a pair, 0 to 1, with their counts.
fn scores(pairs: &[u64; 5]) -> impl Iterator<Item = (f64, f64)> {
    (0..5u8).map(|half| (f64::from(half) / 4.0, pairs[usize::from(half)] as f64))
}

/// The difference in Elo at which one scores so much on average.
fn elo(score: f64) -> f64 {
    -400.0 * (1.0 / score.clamp(EDGE, 1.0 - EDGE) - 1.0).log10()
}

/// What one scores on average who is so much stronger.
fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The shares of outcomes with this mean under which what was seen is likeliest.
///
/// By Lagrange they are `seen / (1 + x (score - mean))`, with the `x` that makes the mean right; the condition falls
/// with `x` between the poles on both sides, so that bisection finds it.
fn explain(seen: &[(f64, f64)], mean: f64) -> Vec<f64> {
    let count: f64 = seen.iter().map(|(_, pairs)| pairs).sum();
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..200 {
        let x = (low + high) / 2.0;
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
    let x = (low + high) / 2.0;
    let shares = seen
        .iter()
        .map(|(score, pairs)| pairs / count / (1.0 + x * (score - mean)));
    shares.collect()
}

/// A sequential test of two hypotheses, wrong in one case of twenty either way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    pub elo0: f64,
    pub elo1: f64,
}

/// How a test has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Rather `elo0`.
    Rejected,
    /// Rather `elo1`.
    Accepted,
}

/// Wrongly accepted, and wrongly rejected, at most.
const RISK: f64 = 0.05;

impl Sprt {
    /// The test ends when the LLR is beyond this, on either side: ln(19) = 2.94.
    pub fn bound() -> f64 {
        ((1.0 - RISK) / RISK).ln()
    }

    /// What the results say; `None` while they do not say enough.
    pub fn verdict(&self, tally: &Tally) -> Option<Verdict> {
        let llr = tally.llr(self.elo0, self.elo1);
        if llr >= Sprt::bound() {
            Some(Verdict::Accepted)
        } else {
            (llr <= -Sprt::bound()).then_some(Verdict::Rejected)
        }
    }

    /// How far the test is, in words.
    pub fn describe(&self, tally: &Tally) -> String {
        let Sprt { elo0, elo1 } = self;
        format!(
            "LLR {:+.2} of +-{:.2} for [{elo0}, {elo1}]",
            tally.llr(*elo0, *elo1),
            Sprt::bound()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(pairs: [u64; 5]) -> Tally {
        Tally {
            games: [0; 3],
            pairs,
        }
    }

    #[test]
    fn the_tally_knows_elo_and_its_error() {
        let mut tally = Tally::default();
        (0..100).for_each(|_| tally.add([2, 1]));
        (0..100).for_each(|_| tally.add([2, 0]));
        let (mean, error) = tally.mean();
        assert!((mean - 0.625).abs() < 1e-9 && (error - 0.125 / 200f64.sqrt()).abs() < 1e-9);
        assert_eq!(
            tally.describe(),
            "400 games: +200 =100 -100, 62.5 %, Elo +88.7 +- 12.8, pairs [0, 0, 100, 100, 0]"
        );
        assert_eq!(Tally::default().describe(), "no games");
        let mut alike = Tally::default();
        alike.add([2, 0]);
        assert_eq!(
            alike.describe(),
            "2 games: +1 =0 -1, 50.0 %, Elo +0.0 +- ?, pairs [0, 0, 1, 0, 0]"
        );
        // 64 % is 100 Elo, and the definition says 200 for 10^(1/2) : 1.
        assert!(
            (elo(0.640_065) - 100.0).abs() < 1e-3 && (expected(200.0) - 0.759_747).abs() < 1e-6
        );
        assert_eq!(Tally::default().llr(0.0, 5.0), 0.0);
    }

    /// Where pairs are won or lost outright, the test is that of a coin, whose ratio everyone can reckon.
    #[test]
    fn the_ratio_is_that_of_a_coin_where_there_are_two_outcomes() {
        let (won, lost) = (60.0, 40.0);
        for (elo0, elo1) in [(0.0, 10.0), (-5.0, 0.0), (20.0, 40.0)] {
            let (s0, s1) = (expected(elo0), expected(elo1));
            let coin = won * (s1 / s0).ln() + lost * ((1.0 - s1) / (1.0 - s0)).ln();
            let llr = tally([40, 0, 0, 0, 60]).llr(elo0, elo1);
            assert!((llr - coin).abs() < 0.01, "{llr} {coin}");
        }
    }

    /// For small differences and many pairs it is near the normal approximation.
    #[test]
    fn the_ratio_is_near_the_normal_one() {
        for pairs in [
            [100, 500, 1_200, 560, 130],
            [30, 200, 500, 190, 40],
            [5, 20, 41, 30, 8],
        ] {
            let tally = tally(pairs);
            let (mean, error) = tally.mean();
            let (s0, s1) = (expected(0.0), expected(5.0));
            let normal = (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * error * error);
            let llr = tally.llr(0.0, 5.0);
            assert!(
                (llr - normal).abs() < 0.02 * normal.abs() + 0.02,
                "{llr} {normal}"
            );
        }
    }

    #[test]
    fn hypotheses_are_symmetrical() {
        let (one, other) = (tally([9, 31, 80, 40, 14]), tally([14, 40, 80, 31, 9]));
        assert!((one.llr(0.0, 10.0) + one.llr(10.0, 0.0)).abs() < 1e-9);
        assert!((one.llr(-10.0, 10.0) + other.llr(-10.0, 10.0)).abs() < 1e-6);
    }

    #[test]
    fn the_test_ends_when_it_knows() {
        let sprt = Sprt {
            elo0: 0.0,
            elo1: 10.0,
        };
        assert!((Sprt::bound() - 2.944).abs() < 1e-3);
        assert_eq!(sprt.verdict(&tally([10, 100, 250, 110, 12])), None);
        assert_eq!(
            sprt.verdict(&tally([10, 100, 250, 170, 30])),
            Some(Verdict::Accepted)
        );
        assert_eq!(
            sprt.verdict(&tally([30, 170, 250, 100, 10])),
            Some(Verdict::Rejected)
        );
        // Nothing but wins does not break the arithmetic.
        assert_eq!(
            sprt.verdict(&tally([0, 0, 0, 0, 500])),
            Some(Verdict::Accepted)
        );
    }
}
