//! Scores and performance ratings.

use serde::Serialize;

/// Score of a set of games, from our point of view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WinDrawLoss {
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost.
    pub lost: u64,
    /// Expected points by the ratings; half a point for a game without ratings.
    pub expected: f64,
}

impl WinDrawLoss {
    /// Adds a game: our score in half points, and the expected points.
    pub(super) fn add(&mut self, halves: i64, expected: Option<f64>) {
        match halves {
            2 => self.won += 1,
            1 => self.drawn += 1,
            _ => self.lost += 1,
        }
        self.expected += expected.unwrap_or(0.5);
    }

    /// Number of games that count.
    pub fn games(&self) -> u64 {
        self.won + self.drawn + self.lost
    }

    /// Our points.
    pub fn points(&self) -> f64 {
        self.won as f64 + self.drawn as f64 / 2.0
    }

    /// Our score as a fraction of the games, 0 to 1; `None` without games.
    pub fn share(&self) -> Option<f64> {
        (self.games() > 0).then(|| self.points() / self.games() as f64)
    }

    /// Points above expectation; negative if below.
    pub fn surplus(&self) -> f64 {
        self.points() - self.expected
    }
}

/// Expected score of a player against another, 0 to 1, by Elo's formula.
pub(super) fn expected_score(ours: f64, theirs: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf((theirs - ours) / 400.0))
}

/// Performance rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Performance {
    /// The rating whose expected score equals the actual score.
    pub rating: f64,
    /// Half the width of the 95 % confidence interval.
    pub error: f64,
    /// Number of games.
    pub games: usize,
}

/// The performance in games against opponents of these ratings, with our score in half points. `None` without games.
///
/// A perfect score has no finite performance, nor has zero: half a point is subtracted or added.
pub fn performance(games: &[(u32, i64)]) -> Option<Performance> {
    if games.is_empty() {
        return None;
    }
    let count = games.len() as f64;
    let points: f64 = games.iter().map(|(_, halves)| *halves as f64 / 2.0).sum();
    let points = points.clamp(0.5, count - 0.5);
    let expected = |rating: f64| -> f64 {
        let of = |(theirs, _): &(u32, i64)| expected_score(rating, f64::from(*theirs));
        games.iter().map(of).sum()
    };
    // The expected score grows with the rating.
    let (mut low, mut high) = (-2_000.0, 8_000.0);
    while high - low > 1e-6 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < points {
            low = middle;
        } else {
            high = middle;
        }
    }
    let rating = f64::midpoint(low, high);
    // Fisher information of win or loss: draws carry more, so the interval is rather too wide.
    let slope = 10f64.ln() / 400.0;
    let spread: f64 = games
        .iter()
        .map(|(theirs, _)| expected_score(rating, f64::from(*theirs)))
        .map(|p| p * (1.0 - p))
        .sum();
    Some(Performance {
        rating,
        error: 1.96 / (slope * spread.sqrt()),
        games: games.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rated(results: &[(u32, i64)]) -> (i64, i64) {
        let performance = performance(results).unwrap();
        (
            performance.rating.round() as i64,
            performance.error.round() as i64,
        )
    }

    #[test]
    fn performance_even_score_is_opponents_rating() {
        assert_eq!(rated(&[(1500, 2), (1500, 0)]).0, 1500);
        assert_eq!(rated(&[(1400, 1), (1600, 1)]).0, 1500);
        assert_eq!(rated(&[(1500, 1)]).0, 1500);
    }

    #[test]
    fn performance_of_75_percent_is_plus_191() {
        // 400 log10(3) = 190.8.
        assert_eq!(rated(&[(2000, 2), (2000, 2), (2000, 2), (2000, 0)]).0, 2191);
        assert_eq!(rated(&[(2000, 1), (2000, 0)]).0, 2000 - 191);
    }

    #[test]
    fn performance_error_shrinks_with_games() {
        let few = performance(&[(1500, 1); 25]).unwrap().error;
        let many = performance(&[(1500, 1); 100]).unwrap().error;
        // 1.96 * 400 / ln 10 / (0.5 * sqrt(100)) = 68.1.
        assert!((many - 68.1).abs() < 0.1, "{many}");
        assert!((few / many - 2.0).abs() < 0.01, "{few} {many}");
    }

    #[test]
    fn performance_perfect_score_is_finite() {
        let (best, error) = rated(&[(1500, 2); 10]);
        // 9.5 of 10.
        assert_eq!(best, 1500 + 512);
        assert!(error > 100);
        assert_eq!(rated(&[(1500, 0); 10]).0, 1500 - 512);
        assert_eq!(performance(&[]), None);
    }

    #[test]
    fn expected_scores_add_up() {
        assert!((expected_score(1500.0, 1500.0) - 0.5).abs() < 1e-9);
        assert!((expected_score(1900.0, 1500.0) - 10.0 / 11.0).abs() < 1e-9);
        let mut score = WinDrawLoss::default();
        score.add(2, Some(0.25));
        score.add(0, None);
        assert_eq!((score.points(), score.expected), (1.0, 0.75));
        assert_eq!(score.share(), Some(0.5));
        assert_eq!(WinDrawLoss::default().share(), None);
    }
}
