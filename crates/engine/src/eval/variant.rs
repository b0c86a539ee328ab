//! Evaluation of variants: counted terms, each with a weight that was fitted to the results of this engine's own games.
//!
//! King of the hill and three-check are near enough to standard chess for the network; [`terms`] are added to its
//! value. The other variants are evaluated by [`evaluate`] alone. The weights are in [`weights`](super::weights).

use super::material::center_distance;
use super::terms::{
    CLASSES, DANGER, HAND, MAX_DANGER, MOBILITY, PASSED, PAWNS, PLACES, PROMOTED, SAFE_CHECKS,
    SPECIAL, TEMPO, TERMS, WEAK, ZONE,
};
use super::weights::weights;
use crate::value::{EVAL_LIMIT, Value};
use knightwatch_chess::{Bitboard, Color, File, Position, Rank, Role, Variant, attacks};

/// Receives the terms of a side.
pub(super) trait Sink {
    fn add(&mut self, term: usize, count: Value);
}

/// Sums up weighted terms.
struct Sum<'a> {
    weights: &'a [i16; TERMS],
    value: Value,
}

impl Sink for Sum<'_> {
    #[inline(always)]
    fn add(&mut self, term: usize, count: Value) {
        self.value += Value::from(self.weights[term]) * count;
    }
}

/// Lists terms with their counts.
impl Sink for Vec<(usize, Value)> {
    fn add(&mut self, term: usize, count: Value) {
        self.push((term, count));
    }
}

/// The terms of White and of Black.
pub(super) fn list_terms(pos: &Position) -> [Vec<(usize, Value)>; 2] {
    let [white, black] = reaches(pos);
    let side = |color: Color, own, other| {
        let mut terms = Vec::new();
        count_terms(pos, color, own, other, &mut terms);
        terms
    };
    [
        side(Color::White, &white, &black),
        side(Color::Black, &black, &white),
    ]
}

/// Returns whether the network evaluates positions of the variant.
pub(super) fn has_network(variant: Variant) -> bool {
    matches!(
        variant,
        Variant::Standard | Variant::KingOfTheHill | Variant::ThreeCheck
    )
}

/// The terms of the variant in centipawns, from the side to move's point of view.
pub(super) fn evaluate(pos: &Position) -> Value {
    if pos.variant() == Variant::KingOfTheHill {
        return hill(pos, pos.turn()) - hill(pos, !pos.turn());
    }
    let [white, black] = reaches(pos);
    let side = |color: Color, own, other| {
        let mut sum = Sum {
            weights: weights(pos.variant(), color),
            value: 0,
        };
        count_terms(pos, color, own, other, &mut sum);
        sum.value
    };
    let balance = side(Color::White, &white, &black) - side(Color::Black, &black, &white);
    let value = if pos.turn().is_white() {
        balance
    } else {
        -balance
    };
    value.clamp(-EVAL_LIMIT, EVAL_LIMIT)
}

/// King of the hill: steps of the king to the nearest of the four squares. More terms cost more time than they gain.
fn hill(pos: &Position, us: Color) -> Value {
    const BY_STEPS: [Value; 4] = [0, 160, 45, 0];
    let king = pos.king(us);
    let (file, rank) = (king.file().index() as Value, king.rank().index() as Value);
    let steps = center_distance(file).max(center_distance(rank)).clamp(0, 3);
    BY_STEPS[steps as usize]
}

/// Attacks of a side.
#[derive(Default)]
pub(super) struct Reach {
    /// By role, the king's last.
    by_role: [Bitboard; 6],
    /// All attacks but the king's.
    pieces: Bitboard,
    /// Numbers of squares attacked by each knight, bishop, rook and queen.
    mobility: [Value; 4],
    /// Numbers of attacks on the squares around the other king, by role.
    zone: [Value; 5],
}

impl Reach {
    fn all(&self) -> Bitboard {
        self.pieces | self.by_role[Role::King.index()]
    }
}

/// The squares around a side's king, its own included; empty without a king that can be lost.
fn king_zone(pos: &Position, color: Color) -> Bitboard {
    let king = pos.royal_king(color);
    king.map_or(Bitboard::EMPTY, |king| attacks::king(king).with(king))
}

/// The attacks of White and of Black.
pub(super) fn reaches(pos: &Position) -> [Reach; 2] {
    Color::ALL.map(|us| {
        let mut reach = Reach::default();
        let (zone, occupied) = (king_zone(pos, !us), pos.occupied());
        let pawns = attacks::pawns(us, pos.pieces(us, Role::Pawn));
        reach.by_role[0] = pawns;
        reach.zone[0] = (pawns & zone).count() as Value;
        reach.pieces = pawns;
        for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
            let index = role.index();
            for square in pos.pieces(us, role) {
                let attacked = attacks::piece(role, square, occupied);
                reach.by_role[index] |= attacked;
                reach.mobility[index - 1] += (attacked & !pos.by_color(us)).count() as Value;
                reach.zone[index] += (attacked & zone).count() as Value;
            }
            reach.pieces |= reach.by_role[index];
        }
        for king in pos.pieces(us, Role::King) {
            reach.by_role[Role::King.index()] |= attacks::king(king);
        }
        reach
    })
}

/// Passes the terms of a side.
#[inline(always)]
pub(super) fn count_terms<S: Sink>(
    pos: &Position,
    us: Color,
    own: &Reach,
    other: &Reach,
    sink: &mut S,
) {
    let variant = pos.variant();
    if pos.turn() == us {
        sink.add(TEMPO, 1);
    }
    // In racing kings both sides go the same way.
    let flips = !us.is_white() && variant != Variant::RacingKings;
    for role in Role::ALL {
        for square in pos.pieces(us, role) {
            let seen = if flips { square.flip() } else { square };
            let (file, rank) = (seen.file().index(), seen.rank().index());
            sink.add(
                PLACES + 32 * role.index() + 4 * rank + file.min(7 - file),
                1,
            );
        }
    }
    for (index, &count) in own.mobility.iter().enumerate() {
        sink.add(MOBILITY + index, count);
    }
    let hand: u32 = Role::ALL.map(|role| pos.pocket(us, role)).iter().sum();
    if variant != Variant::RacingKings && variant != Variant::Antichess {
        attack_terms(pos, us, hand, own, other, sink);
    }
    if variant != Variant::RacingKings {
        pawn_terms(pos, us, own, sink);
    }
    match variant {
        Variant::Crazyhouse => {
            for (index, role) in Role::ALL.into_iter().take(5).enumerate() {
                let count = pos.pocket(us, role) as Value;
                sink.add(HAND + 2 * index, count.min(1));
                sink.add(HAND + 2 * index + 1, (count - 1).max(0));
            }
            let promoted = pos.promoted() & pos.by_color(us);
            sink.add(PROMOTED, promoted.count() as Value);
            let empty = (king_zone(pos, !us) & !pos.occupied()).count() as Value;
            let hand = hand.min(8) as Value;
            sink.add(SPECIAL, empty * hand);
            sink.add(SPECIAL + 1, own.zone.iter().sum::<Value>() * hand);
        }
        Variant::Atomic => {
            let theirs = pos.by_color(!us) & !pos.by_role(Role::King);
            let near = king_zone(pos, !us) & theirs;
            sink.add(SPECIAL, (own.all() & near).count() as Value);
            sink.add(SPECIAL + 1, near.count() as Value);
            sink.add(SPECIAL + 2, (own.pieces & theirs).count() as Value);
        }
        Variant::Horde => {
            let white = pos.pieces(Color::White, Role::Pawn);
            let open = File::ALL
                .into_iter()
                .filter(|&file| !Bitboard::file(file).intersects(white));
            sink.add(SPECIAL, open.count() as Value);
            let protected = other.by_role[0];
            sink.add(
                SPECIAL + 1,
                (own.pieces & white & !protected).count() as Value,
            );
            sink.add(
                SPECIAL + 2,
                (own.pieces & pos.by_color(!us) & !other.all()).count() as Value,
            );
        }
        Variant::RacingKings => racing_terms(pos, us, own, other, sink),
        Variant::ThreeCheck => {
            let checks = pos.checks_given(us).min(2) as usize;
            sink.add(SPECIAL + checks, 1);
        }
        Variant::Antichess => {
            sink.add(SPECIAL, own.mobility.iter().sum::<Value>().min(20));
            sink.add(
                SPECIAL + 1,
                (own.all() & pos.by_color(!us)).count() as Value,
            );
        }
        Variant::Standard | Variant::KingOfTheHill => {}
    }
}

/// Terms of the attack on the other king.
#[inline(always)]
fn attack_terms<S: Sink>(
    pos: &Position,
    us: Color,
    hand: u32,
    own: &Reach,
    other: &Reach,
    sink: &mut S,
) {
    let Some(king) = pos.royal_king(!us) else {
        return;
    };
    let class = match pos.variant() {
        Variant::ThreeCheck => pos.checks_given(us).min(2) as usize,
        _ => (hand as usize).div_ceil(2).min(CLASSES - 1),
    };
    for (index, &count) in own.zone.iter().enumerate() {
        sink.add(ZONE + index, count);
    }
    let danger = own.zone.iter().sum::<Value>() as usize;
    sink.add(DANGER + MAX_DANGER * class + danger.min(MAX_DANGER - 1), 1);
    let weak = attacks::king(king) & own.all() & !other.pieces;
    sink.add(WEAK + class, weak.count() as Value);
    let unsafe_squares = other.pieces | (attacks::king(king) & !own.all());
    for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
        let index = role.index();
        let mut reached = own.by_role[index] & !pos.by_color(us);
        if hand > 0 && pos.pocket(us, role) > 0 {
            reached |= !pos.occupied();
        }
        let checks = attacks::piece(role, king, pos.occupied()) & reached & !unsafe_squares;
        sink.add(
            SAFE_CHECKS + 4 * class + index - 1,
            checks.count().min(3) as Value,
        );
    }
}

/// Terms of the pawn structure.
#[inline(always)]
fn pawn_terms<S: Sink>(pos: &Position, us: Color, own: &Reach, sink: &mut S) {
    let pawns = pos.pieces(us, Role::Pawn);
    let theirs = pos.pieces(!us, Role::Pawn);
    let stopped = behind(us, theirs | beside(theirs));
    for square in pawns & !stopped {
        let rank = square.rank().index();
        sink.add(PASSED + if us.is_white() { rank } else { 7 - rank }, 1);
    }
    let doubled = (pawns & behind(us, pawns)).count() as Value;
    let neighbors = beside(pawns);
    let files = neighbors | behind(Color::White, neighbors) | behind(Color::Black, neighbors);
    let isolated = (pawns & !files).count() as Value;
    sink.add(PAWNS, (own.by_role[0] & pawns).count() as Value);
    sink.add(PAWNS + 1, doubled);
    sink.add(PAWNS + 2, isolated);
    let east = (pawns & !Bitboard::file(File::H)).0 << 1;
    sink.add(PAWNS + 3, (pawns & Bitboard(east)).count() as Value);
}

/// Terms of the race to the last rank: squares ahead that the king can go to.
#[inline(always)]
fn racing_terms<S: Sink>(pos: &Position, us: Color, own: &Reach, other: &Reach, sink: &mut S) {
    let king = pos.king(us);
    let rank = king.rank().index();
    let free = attacks::king(king) & !pos.by_color(us) & !other.all();
    let ahead = (free & ranks_ahead(Color::White, rank)).count() as Value;
    sink.add(SPECIAL, Value::from(ahead > 0));
    sink.add(SPECIAL + 1, ahead);
    sink.add(SPECIAL + 2, if rank >= 5 { ahead } else { 0 });
    sink.add(SPECIAL + 3, free.count() as Value);
    let lead = rank as Value - pos.king(!us).rank().index() as Value;
    let to_move = Value::from(pos.turn() == us);
    sink.add(SPECIAL + 4, Value::from(lead + to_move > 0));
    sink.add(SPECIAL + 5, Value::from(lead + to_move > 1));
    sink.add(SPECIAL + 6, Value::from(lead + to_move > 2));
    // Ranks ahead of the king on which no square is out of the other side's reach.
    let barred = (rank + 1..8).filter(|&ahead| {
        let squares = Bitboard::rank(Rank::ALL[ahead]) & !other.pieces;
        squares.is_empty()
    });
    sink.add(SPECIAL + 7, barred.count() as Value);
    sink.add(
        SPECIAL + 8,
        (own.pieces & pos.by_color(!us) & !other.all()).count() as Value,
    );
}

/// The squares to the left and right of squares.
fn beside(squares: Bitboard) -> Bitboard {
    let west = (squares & !Bitboard::file(File::A)).0 >> 1;
    let east = (squares & !Bitboard::file(File::H)).0 << 1;
    Bitboard(west | east)
}

/// All squares behind squares, as a side sees it.
fn behind(us: Color, squares: Bitboard) -> Bitboard {
    let mut all = squares.0;
    for shift in [8, 16, 32] {
        all |= match us {
            Color::White => all >> shift,
            Color::Black => all << shift,
        };
    }
    Bitboard(match us {
        Color::White => all >> 8,
        Color::Black => all << 8,
    })
}

/// The ranks ahead of a rank, as a side sees it.
fn ranks_ahead(us: Color, rank: usize) -> Bitboard {
    match us {
        Color::White => Bitboard(!0 << (8 * rank) << 8),
        Color::Black => Bitboard((1 << (8 * rank)) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let eval = |fen: &str| {
                evaluate(&Position::from_variant_fen(variant, fen).expect("a good FEN"))
            };
            let value = eval(fen);
            assert!(value > 50, "{variant}: {value}");
            let turned = fen.replace(" w ", " b ");
            assert!(eval(&turned) < -20, "{variant}");
        }
    }
}
