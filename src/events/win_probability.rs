//! Win probability of a score.

use super::Score;

/// The win probability, 0 to 1, of a score: for centipawns the curve used by Lichess, fitted to games of players rated
/// 2300.
pub fn win_probability(score: Score) -> f64 {
    match score {
        Score::Centipawns(cp) => 1.0 / (1.0 + (-0.003_682_08 * f64::from(cp)).exp()),
        Score::Mate(moves) => f64::from(u8::from(moves > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn win_probability_is_symmetric() {
        let of = |cp| win_probability(Score::Centipawns(cp));
        assert_eq!(of(0), 0.5);
        assert!((of(100) - 0.5910).abs() < 1e-3);
        assert!((of(-100) + of(100) - 1.0).abs() < 1e-12);
        assert!(of(i32::MAX) <= 1.0 && of(i32::MIN) >= 0.0);
    }

    #[test]
    fn win_probability_of_mate_is_certain() {
        let found = [3, -3, 0].map(|moves| win_probability(Score::Mate(moves)));
        assert_eq!(found, [1.0, 0.0, 0.0]);
    }
}
