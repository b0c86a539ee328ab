//! Static exchange evaluation: the material result of a sequence of captures on one square.

use super::board_move::BoardMove;
use super::value::Value;
use knightwatch_chess::{Bitboard, MoveKind, Position, Role, Square, Variant, attacks};

/// Piece values for exchanges, in centipawns, indexed by role.
pub(crate) const PIECE_VALUE: [Value; 6] = [100, 320, 330, 500, 950, 20_000];

/// The value of a role in exchanges.
pub(crate) const fn value_of(role: Role) -> Value {
    PIECE_VALUE[role.index()]
}

/// Returns whether the exchange started by `mv` gains at least `threshold`, if both sides capture with their least
/// valuable piece and stop when it pays. Pins are ignored.
pub(crate) fn is_at_least(pos: &Position, board_move: BoardMove, threshold: Value) -> bool {
    let mv = board_move.mv;
    if mv.is_castle() {
        return threshold <= 0;
    }
    if pos.variant() != Variant::Standard {
        return is_at_least_in_variant(pos, board_move, threshold);
    }
    exchange(pos, board_move, mv.from(), threshold)
}

#[cold]
#[inline(never)]
fn is_at_least_in_variant(pos: &Position, board_move: BoardMove, threshold: Value) -> bool {
    match pos.variant() {
        // Captures are compulsory: they cannot be judged by what they gain.
        Variant::Antichess => true,
        Variant::Atomic => explosion(pos, board_move) >= threshold,
        _ => exchange(pos, board_move, board_move.mv.squares()[0], threshold),
    }
}

/// [`is_at_least`] for a move from this square, other than castling.
#[inline(always)]
fn exchange(pos: &Position, board_move: BoardMove, from: Square, threshold: Value) -> bool {
    let BoardMove { mv, role, captured } = board_move;
    let to = mv.to();

    // The gain if they do not recapture.
    let mut balance = captured.map_or(0, value_of) - threshold;
    let mut at_risk = value_of(role);
    if let Some(promoted) = mv.promotion() {
        balance += value_of(promoted) - value_of(Role::Pawn);
        at_risk = value_of(promoted);
    }
    if balance < 0 {
        return false;
    }
    // The gain if they recapture and the exchange ends.
    balance -= at_risk;
    if balance >= 0 {
        return true;
    }

    let mut occupied = pos.occupied().without(from).with(to);
    if mv.kind() == MoveKind::EnPassant {
        occupied = occupied.without(Square::new(to.file(), from.rank()));
    }
    let mut attackers = pos.attackers_to(to, occupied) & occupied;
    // Sliders behind other pieces, which attack once those have captured.
    let mut hidden = pos.sliders_on_lines_to(to) & occupied & !attackers;
    let mut side = !pos.turn();

    // `balance` is from the view of the side that captured last, and negative: the other side must recapture.
    loop {
        let own = attackers & pos.by_color(side);
        let Some((role, square)) = least_valuable(pos, own) else {
            break;
        };
        side = !side;
        if role == Role::King {
            // The king captures last, and only undefended pieces.
            if !(attackers & pos.by_color(side)).is_empty() {
                side = !side;
            }
            break;
        }
        occupied = occupied.without(square);
        balance = -balance - 1 - value_of(role);
        if balance >= 0 {
            break;
        }
        attackers = attackers.without(square);
        for slider in hidden {
            if !attacks::between(to, slider).intersects(occupied) {
                attackers = attackers.with(slider);
                hidden = hidden.without(slider);
            }
        }
    }
    // The side that cannot or need not recapture has lost the exchange.
    side != pos.turn()
}

/// The material that a capture in atomic chess gains: the pieces of the other side that explode, less the own ones.
/// Quiet moves gain nothing.
pub(crate) fn explosion(pos: &Position, board_move: BoardMove) -> Value {
    let BoardMove { mv, role, captured } = board_move;
    if !mv.is_capture() {
        return 0;
    }
    let (us, center) = (pos.by_color(pos.turn()), mv.to());
    let near = attacks::king(center) & !pos.by_role(Role::Pawn) & pos.occupied();
    let lost = near.without(mv.from());
    let gain = captured.map_or(0, value_of) - value_of(role);
    lost.into_iter().fold(gain, |sum, square| {
        let value = pos.role_at(square).map_or(0, value_of);
        sum + if us.contains(square) { -value } else { value }
    })
}

fn least_valuable(pos: &Position, own: Bitboard) -> Option<(Role, Square)> {
    if own.is_empty() {
        return None;
    }
    Role::ALL.into_iter().find_map(|role| {
        (own & pos.by_role(role))
            .first()
            .map(|square| (role, square))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact value of an exchange, by trying thresholds.
    fn outcome(fen: &str, uci: &str) -> Value {
        let pos = Position::from_fen(fen).expect("a good FEN");
        let mv = BoardMove::new(&pos, pos.parse_uci(uci).expect("a legal move"));
        (-2_000..=2_000)
            .rev()
            .find(|&threshold| is_at_least(&pos, mv, threshold))
            .expect("some outcome")
    }

    #[test]
    fn see_of_known_exchanges_matches() {
        let (p, n, b, r, q) = (100, 320, 330, 500, 950);
        let table = [
            // An unprotected pawn; a protected one.
            ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", p),
            (
                "1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1",
                "d3e5",
                p - n,
            ),
            // Rooks behind rooks.
            ("3r3k/3r4/8/3p4/8/8/3R4/3R3K w - - 0 1", "d2d5", p - r),
            ("3r3k/8/8/3p4/8/8/3R4/3R3K w - - 0 1", "d2d5", p),
            // A queen behind a bishop.
            ("7k/8/5n2/3p4/8/5B2/6Q1/7K w - - 0 1", "f3d5", p - b + n),
            // En passant, not protected and protected.
            ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", p),
            ("4k3/2p5/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 0),
            // Promotions: safe, taken back, with a capture.
            ("8/4P3/8/8/8/k7/8/4K3 w - - 0 1", "e7e8q", q - p),
            ("8/3kP3/8/8/8/8/8/4K3 w - - 0 1", "e7e8q", -p),
            ("3rk3/4P3/8/8/8/8/8/4K3 w - - 0 1", "e7d8n", r + n - p - n),
            // The king takes what is not protected, and nothing else.
            ("8/8/2k5/3p4/4B3/8/8/4K3 w - - 0 1", "e4d5", p - b),
            ("8/8/2k5/3p4/4B3/8/8/3RK3 w - - 0 1", "e4d5", p),
            // A quiet move onto a square guarded by a pawn; castling.
            ("4k3/8/3p4/8/8/5N2/8/4K3 w - - 0 1", "f3e5", -n),
            ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", 0),
        ];
        for (fen, uci, expected) in table {
            assert_eq!(outcome(fen, uci), expected, "{fen} {uci}");
        }
    }
}
