//! Which of the moves that the search has found is played.

use super::{Dice, Elo, Handicap, Strength};
use crate::chess::{Game, Move, Position};
use crate::engine::Score;

/// From here on nobody is mated in one move who can help it.
const CAREFUL: Elo = Elo(1400);

/// A move that looks worse by more than so many spreads is not taken at all: however many there are, and whatever the dice
/// say, blunders stay in proportion to the strength.
const SPREADS: f64 = 5.0;

/// What is won or lost already makes less of a difference to people: from so many centipawns on, half as much and less.
const DECIDED: f64 = 1000.0;

impl Strength {
    /// Which of these moves to play, the best first; those without a score were not considered. There is one at least.
    pub(crate) fn pick(self, game: &Game, moves: &[(Move, Option<Score>)]) -> usize {
        let pos = game.position();
        // Even beginners see most mates in one, and an engine that lets them pass looks broken.
        if let Some(mate) = moves
            .iter()
            .position(|&(mv, _)| pos.after(mv).is_checkmate())
        {
            return mate;
        }
        let safe = |mv: Move| self.elo < CAREFUL || !can_mate(&pos.after(mv));
        let Handicap { spread, .. } = Handicap::of(self.elo);
        let considered = || {
            let moves = moves.iter().enumerate();
            moves.filter_map(|(at, &(mv, score))| Some((at, mv, felt(score?))))
        };
        let best = considered()
            .filter(|&(_, mv, _)| safe(mv))
            .map(|(_, _, value)| value)
            .fold(f64::NEG_INFINITY, f64::max);
        let chance = |mv: Move| {
            let seeds = [self.seed, pos.key(), game.moves().len() as u64];
            Dice::new(&[&seeds[..], &[u64::from(mv.bits())]].concat()).gumbel()
        };
        let taken = considered()
            .filter(|&(_, mv, value)| best - value <= SPREADS * spread && safe(mv))
            .map(|(at, mv, value)| (at, value + spread * chance(mv)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .map(|(at, _)| at);
        taken
            .or_else(|| moves.iter().position(|&(mv, _)| safe(mv)))
            .unwrap_or(0)
    }
}

/// A score as people feel it, in centipawns near a level game.
fn felt(score: Score) -> f64 {
    let cp = match score {
        Score::Centipawns(cp) => f64::from(cp),
        Score::Mate(moves) if moves > 0 => 20_000.0 - 100.0 * f64::from(moves),
        Score::Mate(moves) => -20_000.0 - 100.0 * f64::from(moves),
    };
    cp * DECIDED / (DECIDED + cp.abs())
}

/// Whether who is to move can mate at once.
fn can_mate(pos: &Position) -> bool {
    let legal = pos.legal_moves();
    let mut checks = legal.iter().filter(|&&mv| pos.gives_check(mv));
    checks.any(|&mv| pos.after(mv).is_checkmate())
}
