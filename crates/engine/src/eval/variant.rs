//! Evaluation of variants by hand-made terms: material, piece-square tables and what decides the variant.
//!
//! King of the hill and three-check are near enough to standard chess for the network; [`terms`] are added to its
//! value. The other variants are evaluated by [`evaluate`] alone.

use super::material::{PIECE_SQUARE, centre_distance};
use crate::value::{EVAL_LIMIT, Value};
use knightwatch_chess::{Bitboard, Color, File, Position, Rank, Role, Square, Variant, attacks};

/// Whether the network evaluates positions of the variant.
pub(super) fn has_network(variant: Variant) -> bool {
    matches!(
        variant,
        Variant::Standard | Variant::KingOfTheHill | Variant::ThreeCheck
    )
}

/// Terms for the distance of the kings to the centre, or for checks given, from the side to move's point of view.
pub(super) fn terms(pos: &Position) -> Value {
    match pos.variant() {
        Variant::KingOfTheHill => balance(pos, hill),
        Variant::ThreeCheck => balance(pos, checks),
        _ => 0,
    }
}

/// The value in centipawns from the side to move's point of view.
pub(super) fn evaluate(pos: &Position) -> Value {
    let side = match pos.variant() {
        Variant::Crazyhouse => crazyhouse,
        Variant::Antichess => antichess,
        Variant::Atomic => atomic,
        Variant::Horde => horde,
        Variant::RacingKings => racing,
        Variant::Standard | Variant::KingOfTheHill | Variant::ThreeCheck => return 0,
    };
    // The right to move is worth something in all of them.
    const TEMPO: Value = 15;
    (balance(pos, side) + TEMPO).clamp(-EVAL_LIMIT, EVAL_LIMIT)
}

/// The difference of a term between the side to move and the other.
fn balance(pos: &Position, side: fn(&Position, Color) -> Value) -> Value {
    side(pos, pos.turn()) - side(pos, !pos.turn())
}

/// Material of a side, by role.
fn material(pos: &Position, us: Color, values: &[Value; 6]) -> Value {
    let counts = Role::ALL
        .into_iter()
        .map(|role| pos.pieces(us, role).count() as Value * values[role.index()]);
    counts.sum()
}

/// Middlegame piece-square values of a side, for some roles.
fn placement(pos: &Position, us: Color, roles: &[Role]) -> Value {
    let mut sum = 0;
    for &role in roles {
        for square in pos.pieces(us, role) {
            let seen = if us.is_white() { square } else { square.flip() };
            let (file, rank) = (seen.file().index(), seen.rank().index());
            sum += PIECE_SQUARE[role.index()][4 * rank + file.min(7 - file)].0;
        }
    }
    sum
}

/// Squares attacked by a side's pieces, and the number of attacks on `zone`.
fn attacks_on(pos: &Position, us: Color, zone: Bitboard) -> Value {
    let mut count = 0;
    for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
        for square in pos.pieces(us, role) {
            count += (attacks::piece(role, square, pos.occupied()) & zone).count();
        }
    }
    for square in pos.pieces(us, Role::Pawn) {
        count += (attacks::pawn(us, square) & zone).count();
    }
    count as Value
}

/// Squares that a side's pieces can move to, as a measure of activity.
fn mobility(pos: &Position, us: Color) -> Value {
    attacks_on(pos, us, !pos.by_color(us))
}

/// Ranks that a king has come forward, from White's side for both.
fn ranks_gained(pos: &Position, us: Color) -> usize {
    pos.king(us).rank().index()
}

/// King of the hill: steps of the king to the nearest of the four squares.
fn hill(pos: &Position, us: Color) -> Value {
    const BY_STEPS: [Value; 4] = [0, 160, 45, 0];
    let king = pos.king(us);
    let (file, rank) = (king.file().index() as Value, king.rank().index() as Value);
    let steps = centre_distance(file).max(centre_distance(rank)).max(0);
    BY_STEPS[steps as usize & 3]
}

/// Three-check: checks given, and attacks next to the other king.
fn checks(pos: &Position, us: Color) -> Value {
    const BY_CHECKS: [Value; 4] = [0, 120, 380, 0];
    let zone = attacks::king(pos.king(!us));
    BY_CHECKS[pos.checks_given(us) as usize & 3] + 6 * attacks_on(pos, us, zone)
}

/// Crazyhouse: pieces in hand count a little more than on the board, and attacks near the king the more, the more
/// pieces are in hand.
fn crazyhouse(pos: &Position, us: Color) -> Value {
    const VALUES: [Value; 6] = [100, 230, 235, 280, 480, 0];
    const IN_HAND: [Value; 6] = [110, 260, 250, 290, 500, 0];
    let mut sum = material(pos, us, &VALUES) + placement(pos, us, &Role::ALL);
    // A promoted piece is a pawn once it is taken.
    let promoted = pos.promoted() & pos.by_color(us);
    sum += 40 * promoted.count() as Value;
    let mut hand = 0;
    for role in Role::ALL {
        let count = pos.pocket(us, role) as Value;
        sum += count * IN_HAND[role.index()];
        hand += count * (1 + Value::from(role != Role::Pawn));
    }
    let king = pos.king(!us);
    let zone = attacks::king(king).with(king);
    let defended = attacks_on(pos, !us, zone);
    let attacked = attacks_on(pos, us, zone);
    let empty = (zone & !pos.occupied()).count() as Value;
    sum + 14 * attacked - 5 * defended.min(8)
        + hand.min(12) * (2 * attacked + 2 * empty)
        + 2 * mobility(pos, us)
}

/// Antichess: what is left is a burden, pawns and queens most of all; a king is hard to take.
fn antichess(pos: &Position, us: Color) -> Value {
    const VALUES: [Value; 6] = [-110, -60, -75, -90, -120, -25];
    material(pos, us, &VALUES) + 3 * mobility(pos, us).min(20)
}

/// Atomic chess: pieces that reach the squares next to the other king are worth more than material.
fn atomic(pos: &Position, us: Color) -> Value {
    const VALUES: [Value; 6] = [100, 200, 220, 330, 650, 0];
    let mut sum = material(pos, us, &VALUES)
        + placement(pos, us, &[Role::Pawn, Role::Knight, Role::King])
        + 3 * mobility(pos, us);
    if let Some(king) = pos.royal_king(!us) {
        let zone = attacks::king(king);
        sum += 12 * attacks_on(pos, us, zone) + 45 * attacks_on(pos, us, zone & pos.by_color(!us));
    }
    sum
}

/// Horde: White's pawns are worth what they reach together; Black's pieces as in standard chess.
fn horde(pos: &Position, us: Color) -> Value {
    if us == Color::White {
        const VALUES: [Value; 6] = [130, 330, 340, 520, 1000, 0];
        const BY_RANK: [Value; 8] = [0, 0, 0, 5, 12, 40, 110, 0];
        let pawns = pos.pieces(us, Role::Pawn);
        let advance: Value = pawns
            .into_iter()
            .map(|square| BY_RANK[square.rank().index()])
            .sum();
        let protected = (attacks::pawns(us, pawns) & pawns).count() as Value;
        material(pos, us, &VALUES) + advance + 3 * protected
    } else {
        const VALUES: [Value; 6] = [120, 330, 330, 620, 1150, 0];
        // Open files let the rooks behind the horde.
        let white = pos.pieces(Color::White, Role::Pawn);
        let open = File::ALL
            .into_iter()
            .filter(|&file| !Bitboard::file(file).intersects(white));
        material(pos, us, &VALUES) + 2 * mobility(pos, us) + 40 * open.count() as Value
    }
}

/// Racing kings: the rank of the king, and whether the squares ahead of it are free.
fn racing(pos: &Position, us: Color) -> Value {
    const VALUES: [Value; 6] = [0, 250, 320, 480, 850, 0];
    const BY_RANK: [Value; 8] = [0, 80, 190, 320, 470, 650, 850, 2000];
    let king = pos.king(us);
    let rank = ranks_gained(pos, us);
    let ahead = attacks::king(king) & above(king) & !pos.by_color(us);
    let white_and_black = pos.occupied();
    let free = ahead.into_iter().filter(|&square| {
        !pos.attackers_to(square, white_and_black)
            .intersects(pos.by_color(!us))
    });
    material(pos, us, &VALUES) + BY_RANK[rank] + 45 * free.count() as Value + 2 * mobility(pos, us)
}

/// The rank above a square.
fn above(square: Square) -> Bitboard {
    let next = square.rank().index() + 1;
    Rank::ALL
        .get(next)
        .map_or(Bitboard::EMPTY, |&rank| Bitboard::rank(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(variant: Variant, fen: &str) -> Value {
        let pos = Position::from_variant_fen(variant, fen).expect("a good FEN");
        evaluate(&pos) + terms(&pos)
    }

    #[test]
    fn evaluate_knows_what_decides_the_variant() {
        let cases = [
            (Variant::Crazyhouse, "4k3/8/8/8/8/8/8/4K3/Q w - - 0 1"),
            (Variant::Antichess, "rnbqkbnr/8/8/8/8/8/8/N7 w - - 0 1"),
            (Variant::Atomic, "4k3/8/8/8/8/8/8/4KR2 w - - 0 1"),
            (Variant::RacingKings, "8/8/8/6K1/k7/8/8/8 w - - 0 1"),
            (Variant::KingOfTheHill, "4k3/8/8/8/8/2K5/8/8 w - - 0 1"),
            (Variant::ThreeCheck, "4k3/8/8/8/8/8/8/4K3 w - - 0 1 +2+1"),
        ];
        for (variant, fen) in cases {
            let value = eval(variant, fen);
            assert!(value > 50, "{variant}: {value}");
            let turned = fen.replace(" w ", " b ");
            assert!(eval(variant, &turned) < -20, "{variant}");
        }
    }
}
