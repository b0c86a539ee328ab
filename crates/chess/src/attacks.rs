//! Attack sets of pieces, and lines between squares.

use super::magic;
use super::{Bitboard, Color, Role, Square};

/// The squares reached from each square by repeating the given steps of (file, rank) up to `reach` times.
const fn steps(steps: &[(i32, i32)], reach: i32) -> [Bitboard; 64] {
    let mut table = [Bitboard::EMPTY; 64];
    let mut square = 0;
    while square < 64 {
        let mut i = 0;
        while i < steps.len() {
            let mut n = 1;
            while n <= reach {
                let file = square as i32 % 8 + steps[i].0 * n;
                let rank = square as i32 / 8 + steps[i].1 * n;
                if file >= 0 && file < 8 && rank >= 0 && rank < 8 {
                    table[square].0 |= 1 << (rank * 8 + file);
                }
                n += 1;
            }
            i += 1;
        }
        square += 1;
    }
    table
}

static PAWN: [[Bitboard; 64]; 2] = [steps(&[(-1, 1), (1, 1)], 1), steps(&[(-1, -1), (1, -1)], 1)];

static KNIGHT: [Bitboard; 64] = steps(
    &[
        (1, 2),
        (2, 1),
        (2, -1),
        (1, -2),
        (-1, -2),
        (-2, -1),
        (-2, 1),
        (-1, 2),
    ],
    1,
);

static KING: [Bitboard; 64] = steps(
    &[
        (0, 1),
        (1, 1),
        (1, 0),
        (1, -1),
        (0, -1),
        (-1, -1),
        (-1, 0),
        (-1, 1),
    ],
    1,
);

/// Vertical, horizontal, rising and falling lines, each without the square itself.
static LINES: [[Bitboard; 64]; 4] = [
    steps(&[(0, 1), (0, -1)], 7),
    steps(&[(1, 0), (-1, 0)], 7),
    steps(&[(1, 1), (-1, -1)], 7),
    steps(&[(1, -1), (-1, 1)], 7),
];

static BETWEEN: [[Bitboard; 64]; 64] = {
    let mut table = [[Bitboard::EMPTY; 64]; 64];
    let mut a = 0;
    while a < 64 {
        let mut line = 0;
        while line < 4 {
            let line_a = LINES[line][a].0;
            let mut rest = line_a;
            while rest != 0 {
                let b = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let (low, high) = if a < b { (a, b) } else { (b, a) };
                table[a][b] = Bitboard(line_a & (!0 << low << 1) & ((1 << high) - 1));
            }
            line += 1;
        }
        a += 1;
    }
    table
};

static LINE: [[Bitboard; 64]; 64] = {
    let mut table = [[Bitboard::EMPTY; 64]; 64];
    let mut a = 0;
    while a < 64 {
        let mut line = 0;
        while line < 4 {
            let mut rest = LINES[line][a].0;
            while rest != 0 {
                let b = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                table[a][b] = Bitboard(LINES[line][a].0 | 1 << a);
            }
            line += 1;
        }
        a += 1;
    }
    table
};

/// Attacks of rooks and bishops on an empty board.
static RAYS: [[Bitboard; 64]; 2] = [
    steps(&[(0, 1), (0, -1), (1, 0), (-1, 0)], 7),
    steps(&[(1, 1), (-1, -1), (1, -1), (-1, 1)], 7),
];

/// The squares attacked by a piece on `square`; empty for a pawn, whose attacks depend on its [color](pawn).
#[inline]
pub fn piece(role: Role, square: Square, occupied: Bitboard) -> Bitboard {
    match role {
        Role::Pawn => Bitboard::EMPTY,
        Role::Knight => knight(square),
        Role::Bishop => bishop(square, occupied),
        Role::Rook => rook(square, occupied),
        Role::Queen => queen(square, occupied),
        Role::King => king(square),
    }
}

/// The squares attacked by a pawn of this color on `square`.
#[inline]
pub fn pawn(color: Color, square: Square) -> Bitboard {
    PAWN[color.index()][square.index()]
}

/// The squares attacked by any of a side's pawns.
#[inline]
pub fn pawns(color: Color, pawns: Bitboard) -> Bitboard {
    const NOT_A: u64 = !0x0101_0101_0101_0101;
    const NOT_H: u64 = !0x8080_8080_8080_8080;
    Bitboard(match color {
        Color::White => (pawns.0 & NOT_A) << 7 | (pawns.0 & NOT_H) << 9,
        Color::Black => (pawns.0 & NOT_A) >> 9 | (pawns.0 & NOT_H) >> 7,
    })
}

/// The squares attacked by a knight on `square`.
#[inline]
pub fn knight(square: Square) -> Bitboard {
    KNIGHT[square.index()]
}

/// The squares attacked by a king on `square`.
#[inline]
pub fn king(square: Square) -> Bitboard {
    KING[square.index()]
}

/// The squares attacked by a bishop on `square`, up to and including the first blocker on each diagonal.
///
/// ```
/// use knightwatch_chess::{Bitboard, Square, attacks};
///
/// let occupied = Bitboard::of(Square::C3);
/// assert!(attacks::bishop(Square::A1, occupied).contains(Square::C3));
/// assert!(!attacks::bishop(Square::A1, occupied).contains(Square::D4));
/// ```
#[inline]
pub fn bishop(square: Square, occupied: Bitboard) -> Bitboard {
    magic::bishop(square, occupied)
}

/// The squares attacked by a rook on `square`, up to and including the first blocker on each line.
#[inline]
pub fn rook(square: Square, occupied: Bitboard) -> Bitboard {
    magic::rook(square, occupied)
}

/// The squares attacked by a queen on `square`: those of a bishop and of a rook.
#[inline]
pub fn queen(square: Square, occupied: Bitboard) -> Bitboard {
    bishop(square, occupied) | rook(square, occupied)
}

/// X-ray attacks of a rook: the squares it attacks behind the first of the pieces in `through` on each line.
///
/// ```
/// use knightwatch_chess::{Bitboard, Square, attacks};
///
/// let occupied = Bitboard::of(Square::A4) | Bitboard::of(Square::A7);
/// let behind = attacks::rook_x_ray(Square::A1, occupied, Bitboard::of(Square::A4));
/// assert_eq!(behind.into_iter().collect::<Vec<_>>(), [Square::A5, Square::A6, Square::A7]);
/// ```
#[inline]
pub fn rook_x_ray(square: Square, occupied: Bitboard, through: Bitboard) -> Bitboard {
    let direct = rook(square, occupied);
    direct ^ rook(square, occupied ^ (through & occupied & direct))
}

/// X-ray attacks of a bishop; see [`rook_x_ray`].
#[inline]
pub fn bishop_x_ray(square: Square, occupied: Bitboard, through: Bitboard) -> Bitboard {
    let direct = bishop(square, occupied);
    direct ^ bishop(square, occupied ^ (through & occupied & direct))
}

/// The squares strictly between two squares on the same rank, file or diagonal; empty for other pairs.
#[inline]
pub fn between(a: Square, b: Square) -> Bitboard {
    BETWEEN[a.index()][b.index()]
}

/// The whole rank, file or diagonal through two squares, from edge to edge; empty for other pairs.
#[inline]
pub fn line(a: Square, b: Square) -> Bitboard {
    LINE[a.index()][b.index()]
}

/// The file of a square, without the square.
#[inline]
pub(super) fn vertical(square: Square) -> Bitboard {
    LINES[0][square.index()]
}

/// The diagonal through a square in a1-h8's direction, without the square.
#[inline]
pub(super) fn rising(square: Square) -> Bitboard {
    LINES[2][square.index()]
}

/// The diagonal through a square in a8-h1's direction, without the square.
#[inline]
pub(super) fn falling(square: Square) -> Bitboard {
    LINES[3][square.index()]
}

/// Attacks of a rook on an empty board.
#[inline]
pub(super) fn rook_rays(square: Square) -> Bitboard {
    RAYS[0][square.index()]
}

/// Attacks of a bishop on an empty board.
#[inline]
pub(super) fn bishop_rays(square: Square) -> Bitboard {
    RAYS[1][square.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_between_of_known_squares() {
        let set = |squares: &[Square]| squares.iter().copied().collect::<Bitboard>();
        assert_eq!(
            between(Square::A1, Square::D4),
            set(&[Square::B2, Square::C3])
        );
        assert_eq!(between(Square::H8, Square::H6), set(&[Square::H7]));
        assert_eq!(between(Square::A1, Square::B3), Bitboard::EMPTY);
        assert_eq!(between(Square::E4, Square::E5), Bitboard::EMPTY);
        assert_eq!(line(Square::G2, Square::H3).count(), 3);
        assert_eq!(line(Square::B7, Square::E7).count(), 8);
        for a in Square::all() {
            for b in Square::all() {
                assert_eq!(between(a, b), between(b, a));
                assert_eq!(line(a, b), line(b, a));
                assert_eq!(line(a, b).contains(a), !line(a, b).is_empty());
            }
        }
    }

    #[test]
    fn steps_at_the_edge_stay_on_the_board() {
        assert_eq!(knight(Square::A1).count(), 2);
        assert_eq!(king(Square::H4).count(), 5);
        assert_eq!(pawn(Color::Black, Square::A3), Bitboard::of(Square::B2));
        assert_eq!(pawn(Color::White, Square::H8), Bitboard::EMPTY);
    }
}
