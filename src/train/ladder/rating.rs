//! Ratings from results: those under which the results are likeliest (Bradley and Terry), and how sure they are. Pure.

/// Results of one player against another, or against somebody whose rating is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Met {
    pub player: usize,
    pub against: Against,
    /// Games played.
    pub games: f64,
    /// Points of the player's in them.
    pub points: f64,
}

/// Who is on the other side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    Player(usize),
    Known(f64),
}

/// A rating, and half the width of the interval that holds the truth with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    pub elo: f64,
    pub error: f64,
}

/// Odds of e to 1 are so many Elo.
const SCALE: f64 = 400.0 / std::f64::consts::LN_10;
const SIGMAS: f64 = 1.96;

/// A draw between each two that met, beside their games: without it, who lost them all would be infinitely weak.
const PRIOR: f64 = 1.0;

/// The ratings of so many players, each of whom is tied to a known one by some row of results.
pub fn rate(players: usize, results: &[Met]) -> Vec<Rating> {
    let known = results.iter().filter_map(|result| match result.against {
        Against::Known(elo) => Some(elo),
        Against::Player(_) => None,
    });
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), elo| (sum + elo, count + 1.0));
    let mut elo = vec![sum / f64::max(count, 1.0); players];
    // The likelihood is concave; a step of Newton's that is kept short gets to its top from anywhere.
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
    let errors = (0..players).map(|at| SIGMAS * inverse[at][at].max(0.0).sqrt());
    let ratings = elo.iter().zip(errors);
    ratings.map(|(&elo, error)| Rating { elo, error }).collect()
}

/// How the logarithm of the likelihood rises with each rating, and how that falls.
fn derivatives(elo: &[f64], results: &[Met]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut slope = vec![0.0; elo.len()];
    // A trace of resistance, for whoever has met nobody.
    let mut curve: Vec<Vec<f64>> = vec![vec![0.0; elo.len()]; elo.len()];
    (0..elo.len()).for_each(|at| curve[at][at] = 1e-12);
    for result in results {
        let theirs = match result.against {
            Against::Player(other) => elo[other],
            Against::Known(known) => known,
        };
        let expected = 1.0 / (1.0 + ((theirs - elo[result.player]) / SCALE).exp());
        let games = result.games + PRIOR;
        let surplus = (result.points + PRIOR / 2.0 - games * expected) / SCALE;
        let weight = games * expected * (1.0 - expected) / (SCALE * SCALE);
        slope[result.player] += surplus;
        curve[result.player][result.player] += weight;
        if let Against::Player(other) = result.against {
            slope[other] -= surplus;
            curve[other][other] += weight;
            curve[result.player][other] -= weight;
            curve[other][result.player] -= weight;
        }
    }
    (slope, curve)
}

/// The inverse of a symmetrical matrix with nothing but positive eigenvalues, by Gauss and Jordan.
fn invert(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| f64::from(u8::from(column == at))));
    }
    for pivot in 0..size {
        let by = matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|cell| *cell /= by);
        let done = matrix[pivot].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
            let by = row[pivot];
            row.iter_mut()
                .zip(&done)
                .for_each(|(cell, done)| *cell -= by * done);
        }
    }
    matrix.into_iter().map(|row| row[size..].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(player: usize, against: Against, games: f64, points: f64) -> Met {
        Met {
            player,
            against,
            games,
            points,
        }
    }

    #[test]
    fn who_scores_three_quarters_is_190_better() {
        let many = [met(0, Against::Known(1_500.0), 4_000.0, 3_000.0)];
        let rating = rate(1, &many)[0];
        assert!((rating.elo - 1_690.8).abs() < 0.5, "{rating:?}");
        // One of 4,000 games is worth 0.23 Elo there.
        assert!((rating.error - 12.4).abs() < 0.2, "{rating:?}");
    }

    #[test]
    fn a_chain_hangs_on_what_is_known() {
        let chain = [
            met(0, Against::Player(1), 1_000.0, 240.0),
            met(1, Against::Player(2), 1_000.0, 240.0),
            met(2, Against::Known(2_000.0), 1_000.0, 500.0),
        ];
        let ratings = rate(3, &chain);
        for (rating, elo) in ratings.iter().zip([1_600.0, 1_800.0, 2_000.0]) {
            assert!((rating.elo - elo).abs() < 2.0, "{ratings:?}");
        }
        // What is farther away is less sure.
        assert!(ratings[0].error > ratings[1].error && ratings[1].error > ratings[2].error);
    }

    #[test]
    fn who_loses_every_game_is_weak_but_somewhere() {
        let lost = rate(1, &[met(0, Against::Known(1_350.0), 20.0, 0.0)])[0];
        assert!((500.0..1_000.0).contains(&lost.elo), "{lost:?}");
    }
}
