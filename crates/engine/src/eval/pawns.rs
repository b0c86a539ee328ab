//! Pawn structure and king shelter, cached by pawn structure.

use super::king::shelter;
use super::phased::Phased;
use super::pieces::add_psqt;
use super::terms::{BACKWARD, CONNECTED, DOUBLED, ISOLATED, PASSED, Sum};
use super::{file_index, forward_rank, signed};
use knightwatch_chess::{Bitboard, Color, Position, Role, Square, attacks};

/// Terms of pawns and kings, independent of other pieces.
#[derive(Clone, Copy)]
pub(super) struct Structure<S> {
    /// From White's point of view.
    pub score: S,
    /// Passed pawns, by colour.
    pub passed: [Bitboard; 2],
}

impl<S: Sum> Structure<S> {
    pub fn new(pos: &Position) -> Structure<S> {
        let pawns = of_pawns::<S>(pos);
        Structure {
            score: pawns.score + of_kings(pos),
            passed: pawns.passed,
        }
    }
}

const SLOTS: usize = 1 << 14;

/// Cache entry. Kings move more often than pawns, so their terms are stored separately.
#[derive(Clone, Copy)]
struct Slot {
    pawns_hash: u64,
    pawns: Structure<Phased>,
    kings_at: [Square; 2],
    kings: Phased,
}

/// Cache of pawn structures.
pub(super) struct Cache {
    slots: Vec<Slot>,
}

impl Cache {
    pub fn new() -> Cache {
        let nothing = Slot {
            // A board without pawns.
            pawns_hash: 0,
            pawns: Structure {
                score: Phased::ZERO,
                passed: [Bitboard::EMPTY; 2],
            },
            // Invalid: two kings on one square.
            kings_at: [Square::A1; 2],
            kings: Phased::ZERO,
        };
        Cache {
            slots: vec![nothing; SLOTS],
        }
    }

    pub fn get(&mut self, pos: &Position, pawns_hash: u64) -> Structure<Phased> {
        // The low bits of the hash are weak.
        let slot = &mut self.slots[(pawns_hash >> 40) as usize % SLOTS];
        let kings_at = Color::ALL.map(|color| pos.king(color));
        let has_pawns = slot.pawns_hash == pawns_hash;
        if !has_pawns {
            (slot.pawns_hash, slot.pawns) = (pawns_hash, of_pawns(pos));
        }
        if !has_pawns || slot.kings_at != kings_at {
            (slot.kings_at, slot.kings) = (kings_at, of_kings(pos));
        }
        Structure {
            score: slot.pawns.score + slot.kings,
            passed: slot.pawns.passed,
        }
    }
}

/// Terms of the pawns alone.
fn of_pawns<S: Sum>(pos: &Position) -> Structure<S> {
    let (white, white_passed) = side::<S>(pos, Color::White);
    let (black, black_passed) = side::<S>(pos, Color::Black);
    Structure {
        score: white - black,
        passed: [white_passed, black_passed],
    }
}

/// Terms of the kings' squares and shelters.
fn of_kings<S: Sum>(pos: &Position) -> S {
    let mut score = S::default();
    for us in Color::ALL {
        let mut king = shelter::<S>(pos, us);
        add_psqt(&mut king, us, Role::King, pos.king(us));
        score += signed(us, king);
    }
    score
}

fn side<S: Sum>(pos: &Position, us: Color) -> (S, Bitboard) {
    let own = pos.pieces(us, Role::Pawn);
    let theirs = pos.pieces(!us, Role::Pawn);
    let mut score = S::default();
    let mut passed = Bitboard(0);
    for square in own {
        let rank = forward_rank(us, square);
        let ahead = Bitboard(FORWARD_FILE[us.index()][square.index()]);
        let neighbours = Bitboard(ADJACENT_FILES[file_index(square)]);
        let front_span = Bitboard(FRONT_SPAN[us.index()][square.index()]);
        let guards = attacks::pawn(!us, square) & own;
        let beside = neighbours & own & Bitboard(0xff << (8 * (square.index() / 8)));

        add_psqt(&mut score, us, Role::Pawn, square);
        let doubled = !(ahead & own).is_empty();
        if doubled {
            score.weigh(DOUBLED, 1);
        }
        if (neighbours & own).is_empty() {
            score.weigh(ISOLATED, 1);
        } else if !guards.is_empty() || !beside.is_empty() {
            score.weigh(CONNECTED.at(rank), 1);
        } else if (neighbours & own & !front_span).is_empty() && is_held(us, square, theirs) {
            score.weigh(BACKWARD, 1);
        }
        if !doubled && ((front_span | ahead) & theirs).is_empty() {
            score.weigh(PASSED.at(rank), 1);
            passed = passed.with(square);
        }
    }
    (score, passed)
}

/// Whether an enemy pawn would capture the pawn after its next step.
fn is_held(us: Color, square: Square, theirs: Bitboard) -> bool {
    let step = match us {
        Color::White => 1 << square.index() << 8,
        Color::Black => 1 << square.index() >> 8,
    };
    !(attacks::pawns(!us, theirs) & Bitboard(step)).is_empty()
}

const FILE_A: u64 = 0x0101_0101_0101_0101;

static ADJACENT_FILES: [u64; 8] = {
    let mut table = [0; 8];
    let mut file = 0;
    while file < 8 {
        if file > 0 {
            table[file] |= FILE_A << (file - 1);
        }
        if file < 7 {
            table[file] |= FILE_A << (file + 1);
        }
        file += 1;
    }
    table
};

/// Squares on ranks ahead of a square, for White and Black.
const fn ahead(color: usize, square: usize) -> u64 {
    let rank = square / 8;
    if color == 0 {
        if rank == 7 {
            0
        } else {
            u64::MAX << (8 * (rank + 1))
        }
    } else {
        (1 << (8 * rank)) - 1
    }
}

/// Squares ahead of a pawn on its own file.
pub(super) static FORWARD_FILE: [[u64; 64]; 2] = {
    let mut table = [[0; 64]; 2];
    let mut square = 0;
    while square < 64 {
        table[0][square] = ahead(0, square) & (FILE_A << (square % 8));
        table[1][square] = ahead(1, square) & (FILE_A << (square % 8));
        square += 1;
    }
    table
};

/// Squares ahead of a pawn on the adjacent files.
pub(super) static FRONT_SPAN: [[u64; 64]; 2] = {
    let mut table = [[0; 64]; 2];
    let mut square = 0;
    while square < 64 {
        table[0][square] = ahead(0, square) & ADJACENT_FILES[square % 8];
        table[1][square] = ahead(1, square) & ADJACENT_FILES[square % 8];
        square += 1;
    }
    table
};
