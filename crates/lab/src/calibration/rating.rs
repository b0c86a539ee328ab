//! Maximum-likelihood ratings (Bradley and Terry) with confidence intervals. Pure.

use knightwatch_util::match_stats::{EloEstimate, Z_95};

/// Results of a player against an opponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MatchResult {
    pub player: usize,
    pub opponent: Opponent,
    /// Games played.
    pub games: f64,
    /// Points of the player.
    pub points: f64,
}

/// A rated player, or one with a known rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Opponent {
    Player(usize),
    Known(f64),
}

/// Elo per unit of log odds.
const SCALE: f64 = 400.0 / std::f64::consts::LN_10;

/// A virtual draw in each match, without which a player who lost every game would have no finite rating.
const PRIOR: f64 = 1.0;

/// Rates players, each of whom must be connected to a known rating by results.
pub(super) fn fit_ratings(players: usize, results: &[MatchResult]) -> Vec<EloEstimate> {
    let known = results.iter().filter_map(|result| match result.opponent {
        Opponent::Known(elo) => Some(elo),
        Opponent::Player(_) => None,
    });
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), elo| (sum + elo, count + 1.0));
    let mut elo = vec![sum / f64::max(count, 1.0); players];
    // The likelihood is concave; a Newton step with limited length converges from anywhere.
    for _ in 0..200 {
        let (slope, curve) = derivatives(&elo, results);
        let inverse = invert(curve);
        for (elo, row) in elo.iter_mut().zip(&inverse) {
            let step: f64 = row
                .iter()
                .zip(&slope)
                .map(|(cell, slope)| cell * slope)
                .sum();
            *elo += step.clamp(-100.0, 100.0);
        }
    }
    let (_, curve) = derivatives(&elo, results);
    let inverse = invert(curve);
    let errors = (0..players).map(|at| Z_95 * inverse[at][at].max(0.0).sqrt());
    let ratings = elo.iter().zip(errors);
    ratings
        .map(|(&value, error)| EloEstimate { value, error })
        .collect()
}

/// First and negated second derivatives of the log-likelihood.
fn derivatives(elo: &[f64], results: &[MatchResult]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut slope = vec![0.0; elo.len()];
    // Regularization for players without games.
    let mut curve: Vec<Vec<f64>> = vec![vec![0.0; elo.len()]; elo.len()];
    (0..elo.len()).for_each(|at| curve[at][at] = 1e-12);
    for result in results {
        let theirs = match result.opponent {
            Opponent::Player(other) => elo[other],
            Opponent::Known(known) => known,
        };
        let expected = 1.0 / (1.0 + ((theirs - elo[result.player]) / SCALE).exp());
        let games = result.games + PRIOR;
        let surplus = (result.points + PRIOR / 2.0 - games * expected) / SCALE;
        let weight = games * expected * (1.0 - expected) / (SCALE * SCALE);
        slope[result.player] += surplus;
        curve[result.player][result.player] += weight;
        if let Opponent::Player(other) = result.opponent {
            slope[other] -= surplus;
            curve[other][other] += weight;
            curve[result.player][other] -= weight;
            curve[other][result.player] -= weight;
        }
    }
    (slope, curve)
}

/// The inverse of a positive definite matrix by Gauss-Jordan elimination.
fn invert(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| f64::from(u8::from(column == at))));
    }
    for pivot in 0..size {
        let by = matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|cell| *cell /= by);
        let pivot_row = matrix[pivot].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
            let by = row[pivot];
            row.iter_mut()
                .zip(&pivot_row)
                .for_each(|(cell, pivot_row)| *cell -= by * pivot_row);
        }
    }
    matrix.into_iter().map(|row| row[size..].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(player: usize, opponent: Opponent, games: f64, points: f64) -> MatchResult {
        MatchResult {
            player,
            opponent,
            games,
            points,
        }
    }

    #[test]
    fn rating_of_75_percent_is_plus_191() {
        let many = [result(0, Opponent::Known(1_500.0), 4_000.0, 3_000.0)];
        let rating = fit_ratings(1, &many)[0];
        assert!((rating.value - 1_690.8).abs() < 0.5, "{rating:?}");
        // One of 4,000 games is worth 0.23 Elo there.
        assert!((rating.error - 12.4).abs() < 0.2, "{rating:?}");
    }

    #[test]
    fn rating_chain_depends_on_known_rating() {
        let chain = [
            result(0, Opponent::Player(1), 1_000.0, 240.0),
            result(1, Opponent::Player(2), 1_000.0, 240.0),
            result(2, Opponent::Known(2_000.0), 1_000.0, 500.0),
        ];
        let ratings = fit_ratings(3, &chain);
        for (rating, elo) in ratings.iter().zip([1_600.0, 1_800.0, 2_000.0]) {
            assert!((rating.value - elo).abs() < 2.0, "{ratings:?}");
        }
        // Ratings farther from the known one are less certain.
        assert!(ratings[0].error > ratings[1].error && ratings[1].error > ratings[2].error);
    }

    #[test]
    fn rating_without_points_is_finite() {
        let lost = fit_ratings(1, &[result(0, Opponent::Known(1_350.0), 20.0, 0.0)])[0];
        assert!((500.0..1_000.0).contains(&lost.value), "{lost:?}");
    }
}
