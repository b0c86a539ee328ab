//! How often positions like this are won, drawn and lost: by the engine's score, and by how much is left on the board. Pure.
//!
//! Two logistic curves over the score, one for winning and one for losing, and what lies between them is drawn. The fewer
//! pieces there are, the more it takes: level is drawn in nine of ten endings, and in a third of the openings.
//!
//! The numbers come from the engine's own games: `knightwatch fit-wdl --data DIR`. Where people or better engines play, rather
//! more is drawn.

use super::Score;
use crate::chess::{Position, Role};

/// The curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curves {
    /// The score in centipawns at which half of the games are won: with all pieces on the board, and with few.
    pub half: [f64; 2],
    /// By how many centipawns more the odds grow to e times as much, likewise.
    pub spread: [f64; 2],
}

/// Fitted to 170,000 positions of 2,239 games of 2,000 nodes a move by the network net4.
const FITTED: Curves = Curves {
    half: [74.0, 236.2],
    spread: [104.8, 85.5],
};

/// What all pieces at the start of a game count together, and what few are: below two rooks it makes no difference any more.
const ALL: u32 = 24;
const FEW: u32 = 4;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// Games of 100 that we win.
    pub win: f64,
    /// Games of 100 that we lose.
    pub loss: f64,
}

impl Chances {
    /// With this score for us, and so much [`material`] on the board.
    pub fn of(score: Score, material: u32) -> Self {
        let cp = match score {
            Score::Centipawns(cp) => f64::from(cp),
            Score::Mate(moves) if moves > 0 => f64::INFINITY,
            Score::Mate(_) => f64::NEG_INFINITY,
        };
        FITTED.chances(cp, material)
    }

    /// Won, drawn and lost games of 1000.
    pub fn permille(self) -> [u32; 3] {
        let [win, loss] = [self.win, self.loss].map(|percent| (10.0 * percent).round() as u32);
        let loss = loss.min(1000 - win);
        [win, 1000 - win - loss, loss]
    }
}

impl Curves {
    /// With this score, in centipawns, and so much [`material`].
    pub fn chances(&self, cp: f64, material: u32) -> Chances {
        let share = f64::from(material.clamp(FEW, ALL) - FEW) / f64::from(ALL - FEW);
        let between = |[all, few]: [f64; 2]| few + (all - few) * share;
        let (half, spread) = (between(self.half), between(self.spread));
        let chance = |cp: f64| 100.0 / (1.0 + ((half - cp) / spread).exp());
        Chances {
            win: chance(cp),
            loss: chance(-cp),
        }
    }
}

/// How many pieces there are, pawns and kings aside: 1 for each knight and bishop, 2 for each rook, 4 for each queen.
pub fn material(position: &Position) -> u32 {
    let count = |role| position.by_role(role).count();
    count(Role::Knight) + count(Role::Bishop) + 2 * count(Role::Rook) + 4 * count(Role::Queen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cp: i32, material: u32) -> (f64, f64, f64) {
        let Chances { win, loss } = Chances::of(Score::Centipawns(cp), material);
        (win, 100.0 - win - loss, loss)
    }

    #[test]
    fn less_is_won_with_less_on_the_board() {
        for cp in [-90, -40, 0, 40, 90] {
            for material in FEW..ALL {
                let ((_, fewer, _), (_, more, _)) = (of(cp, material), of(cp, material + 1));
                assert!(
                    fewer > more,
                    "{cp} cp: {fewer} with {material}, then {more}"
                );
            }
        }
    }

    #[test]
    fn what_is_good_for_us_is_bad_for_them() {
        for material in [0, 9, ALL] {
            let mut last = 0.0;
            for cp in (-2_000..=2_000).step_by(50) {
                let (win, draw, loss) = of(cp, material);
                let (theirs, _, ours) = of(-cp, material);
                assert!((win - ours).abs() < 1e-9 && (loss - theirs).abs() < 1e-9);
                assert!(draw > -1e-9 && win >= last, "{cp} cp");
                let permille = Chances::of(Score::Centipawns(cp), material).permille();
                assert_eq!(permille.iter().sum::<u32>(), 1000);
                last = win;
            }
        }
    }

    #[test]
    fn mates_leave_no_doubt() {
        let won = Chances {
            win: 100.0,
            loss: 0.0,
        };
        let lost = Chances {
            win: 0.0,
            loss: 100.0,
        };
        for (score, expected) in [
            (Score::Mate(3), won),
            (Score::Mate(-3), lost),
            (Score::Mate(0), lost),
        ] {
            assert_eq!(Chances::of(score, 10), expected, "{score}");
        }
    }

    #[test]
    fn material_is_counted_from_the_whole_board() {
        for (fen, expected) in [
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
                ALL,
            ),
            ("8/8/4k3/4p3/4P3/4K3/8/8 w - - 0 1", 0),
            ("8/8/4k3/4p3/4P3/4K3/8/R6r w - - 0 1", 4),
        ] {
            assert_eq!(material(&Position::from_fen(fen).unwrap()), expected);
        }
    }
}
