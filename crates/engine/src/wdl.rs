//! WDL model: probabilities of win, draw and loss by score and material.
//!
//! Two curves over the score, one for wins and one for losses; the rest are draws. They are logistic curves with heavier
//! tails, because a few positions with a large score are not won after all. With less material a small score wins less
//! often: of level positions nine in ten endgames are drawn, and four in ten openings.
//!
//! The parameters are fitted to self-play games by `knightwatch fit-wdl --data DIR`. Humans and stronger engines draw
//! more often.

use super::Score;
use knightwatch_chess::{Position, Role};

/// The amounts of [`material`] for which there are parameters, which are interpolated between them. The first is that of
/// the start of the game; less than the last makes no difference.
pub const MATERIALS: [u32; 4] = [24, 12, 6, 2];

/// The least amount of material that makes a difference.
const MIN_MATERIAL: u32 = MATERIALS[MATERIALS.len() - 1];

/// Parameters of the two curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WdlModel {
    /// The score in centipawns at which half of the games are won, for each of [`MATERIALS`].
    pub half: [f64; MATERIALS.len()],
    /// The scale of the curves in centipawns, for each of [`MATERIALS`].
    pub spread: [f64; MATERIALS.len()],
    /// The exponent with which the rarer result falls at large scores: the probability is proportional to
    /// `1 / score^tail` there.
    pub tail: f64,
}

/// Fitted to 389,884 positions from 4,327 games at 2,000 nodes a move with network net10.
const DEFAULT_MODEL: WdlModel = WdlModel {
    half: [79.6, 113.4, 176.0, 226.2],
    spread: [88.3, 71.2, 57.6, 39.1],
    tail: 3.29,
};

/// Expected results, in percent of games; the rest are draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// Games won.
    pub win: f64,
    /// Games lost.
    pub loss: f64,
}

impl Wdl {
    /// Expected results for `score` with [`material`] on the board.
    pub fn of(score: Score, material: u32) -> Self {
        let cp = match score {
            Score::Centipawns(cp) => f64::from(cp),
            Score::Mate(moves) if moves > 0 => f64::INFINITY,
            Score::Mate(_) => f64::NEG_INFINITY,
        };
        DEFAULT_MODEL.wdl(cp, material)
    }

    /// Expected results from wins, draws and losses in permille.
    pub fn from_permille([win, _, loss]: [u32; 3]) -> Self {
        Self {
            win: f64::from(win) / 10.0,
            loss: f64::from(loss) / 10.0,
        }
    }

    /// Wins, draws and losses in permille.
    pub fn permille(self) -> [u32; 3] {
        let [win, loss] = [self.win, self.loss].map(|percent| (10.0 * percent).round() as u32);
        let loss = loss.min(1000 - win);
        [win, 1000 - win - loss, loss]
    }
}

impl WdlModel {
    /// Expected results for `cp` centipawns with [`material`] on the board.
    pub fn wdl(&self, cp: f64, material: u32) -> Wdl {
        let material = material.clamp(MIN_MATERIAL, MATERIALS[0]);
        let above = MATERIALS
            .iter()
            .rposition(|&amount| amount > material)
            .unwrap_or(0);
        let [more, less] = [MATERIALS[above], MATERIALS[above + 1]].map(f64::from);
        let share = (f64::from(material) - less) / (more - less);
        let between = |values: [f64; MATERIALS.len()]| {
            values[above + 1] + (values[above] - values[above + 1]) * share
        };
        let (half, spread) = (between(self.half), between(self.spread));
        let chance = |cp: f64| {
            let distance = (cp - half) / spread;
            100.0 / (1.0 + (-self.tail * (distance / self.tail).asinh()).exp())
        };
        Wdl {
            win: chance(cp),
            loss: chance(-cp),
        }
    }
}

/// Material without pawns and kings: knights and bishops count 1, rooks 2, queens 4.
pub fn material(position: &Position) -> u32 {
    let count = |role| position.by_role(role).count();
    count(Role::Knight) + count(Role::Bishop) + 2 * count(Role::Rook) + 4 * count(Role::Queen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cp: i32, material: u32) -> (f64, f64, f64) {
        let Wdl { win, loss } = Wdl::of(Score::Centipawns(cp), material);
        (win, 100.0 - win - loss, loss)
    }

    #[test]
    fn wdl_with_less_material_wins_less() {
        for cp in [-90, -40, 0, 40, 90] {
            for material in MIN_MATERIAL..MATERIALS[0] {
                let ((_, fewer, _), (_, more, _)) = (of(cp, material), of(cp, material + 1));
                assert!(
                    fewer > more,
                    "{cp} cp: {fewer} with {material}, then {more}"
                );
            }
        }
    }

    #[test]
    fn wdl_is_symmetric_and_monotonic() {
        for material in [0, 9, MATERIALS[0]] {
            let mut last = 0.0;
            for cp in (-2_000..=2_000).step_by(50) {
                let (win, draw, loss) = of(cp, material);
                let (theirs, _, ours) = of(-cp, material);
                assert!((win - ours).abs() < 1e-9 && (loss - theirs).abs() < 1e-9);
                assert!(draw > -1e-9 && win >= last, "{cp} cp");
                let permille = Wdl::of(Score::Centipawns(cp), material).permille();
                assert_eq!(permille.iter().sum::<u32>(), 1000);
                last = win;
            }
        }
    }

    #[test]
    fn wdl_has_the_parameters_of_the_model() {
        for (material, half) in MATERIALS.into_iter().zip(DEFAULT_MODEL.half) {
            let win = DEFAULT_MODEL.wdl(half, material).win;
            assert!((win - 50.0).abs() < 1e-9, "{material}: {win}");
        }
        for (outside, limit) in [(32, MATERIALS[0]), (0, MIN_MATERIAL)] {
            assert_eq!(of(100, outside), of(100, limit));
        }
        let (_, _, near) = of(4_000, 12);
        let (_, _, far) = of(8_000, 12);
        let ratio = near / far / 2_f64.powf(DEFAULT_MODEL.tail);
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn wdl_of_mates_is_certain() {
        let won = Wdl {
            win: 100.0,
            loss: 0.0,
        };
        let lost = Wdl {
            win: 0.0,
            loss: 100.0,
        };
        for (score, expected) in [
            (Score::Mate(3), won),
            (Score::Mate(-3), lost),
            (Score::Mate(0), lost),
        ] {
            assert_eq!(Wdl::of(score, 10), expected, "{score}");
        }
    }

    #[test]
    fn material_counts_both_sides() {
        for (fen, expected) in [
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
                MATERIALS[0],
            ),
            ("8/8/4k3/4p3/4P3/4K3/8/8 w - - 0 1", 0),
            ("8/8/4k3/4p3/4P3/4K3/8/R6r w - - 0 1", 4),
        ] {
            assert_eq!(material(&Position::from_fen(fen).unwrap()), expected);
        }
    }
}
