//! Choice of the move to play below full strength.

use super::{Elo, Handicap, Rng, Strength};
use crate::Score;
use knightwatch_chess::pgn::Outcome;
use knightwatch_chess::{Game, Move, Position, Variant};

/// From this Elo on no move is played that allows mate in one, or a win by a rule of the variant, if there is another.
const AVOID_MATE_ELO: Elo = Elo(1400);

/// A move that is worse by more spreads is never chosen, so that blunders stay in proportion to the strength.
const MAX_SPREADS: f64 = 5.0;

/// Score differences count less in decided positions: at this many centipawns half as much.
const DECIDED_CP: f64 = 1000.0;

impl Strength {
    /// The index of the move to play. `moves` is sorted best first and not empty; moves without a score were not
    /// searched.
    pub(crate) fn pick(self, game: &Game, moves: &[(Move, Option<Score>)]) -> usize {
        let pos = game.position();
        // Even beginners see most mates in one; missing them looks broken.
        if let Some(win) = moves.iter().position(|&(mv, _)| wins(pos, mv)) {
            return win;
        }
        let safe = |mv: Move| self.elo < AVOID_MATE_ELO || !can_win(&pos.after(mv));
        let Handicap { spread, .. } = Handicap::of(self.elo);
        let considered = || {
            let moves = moves.iter().enumerate();
            moves.filter_map(|(at, &(mv, score))| Some((at, mv, perceived_cp(score?))))
        };
        let best = considered()
            .filter(|&(_, mv, _)| safe(mv))
            .map(|(_, _, value)| value)
            .fold(f64::NEG_INFINITY, f64::max);
        let chance = |mv: Move| {
            let seeds = [self.seed, pos.key(), game.moves().len() as u64];
            Rng::new(&[&seeds[..], &[u64::from(mv.bits())]].concat()).gumbel()
        };
        let taken = considered()
            .filter(|&(_, mv, value)| best - value <= MAX_SPREADS * spread && safe(mv))
            .map(|(at, mv, value)| (at, value + spread * chance(mv)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .map(|(at, _)| at);
        taken
            .or_else(|| moves.iter().position(|&(mv, _)| safe(mv)))
            .unwrap_or(0)
    }
}

/// A score in centipawns, compressed away from 0.
fn perceived_cp(score: Score) -> f64 {
    let cp = match score {
        Score::Centipawns(cp) => f64::from(cp),
        Score::Mate(moves) if moves > 0 => 20_000.0 - 100.0 * f64::from(moves),
        Score::Mate(moves) => -20_000.0 - 100.0 * f64::from(moves),
    };
    cp * DECIDED_CP / (DECIDED_CP + cp.abs())
}

/// Returns whether this move mates, or wins by a rule of the variant.
fn wins(pos: &Position, mv: Move) -> bool {
    let after = pos.after(mv);
    after.is_checkmate() || after.variant_outcome() == Outcome::Win(pos.turn())
}

/// Returns whether the side to move can win in one.
fn can_win(pos: &Position) -> bool {
    // In standard chess only checks can win, and few moves are checks.
    let is_standard = pos.variant() == Variant::Standard;
    let legal = pos.legal_moves();
    let mut moves = legal.iter();
    moves.any(|&mv| (!is_standard || pos.gives_check(mv)) && wins(pos, mv))
}
