//! Pieces: where they stand, how far they reach, what they threaten; passed pawns on their way.

use super::pawns::{FORWARD_FILE, FRONT_SPAN, Structure};
use super::phased::Phased;
use super::weights::*;
use super::{Reach, Side, distance, file_index, forward_rank};
use crate::chess::{Bitboard, Color, Position, Role, Square, attacks};

const FILE_A: u64 = 0x0101_0101_0101_0101;
const DARK: Bitboard = Bitboard(0xaa55_aa55_aa55_aa55);

/// Material, place and mobility of one side; fills in what its pieces reach.
pub(super) fn score(
    pos: &Position,
    us: Color,
    side: &Side,
    other: &Side,
    structure: &Structure,
    reach: &mut Reach,
) -> Phased {
    let own_pawns = pos.pieces(us, Role::Pawn);
    let mut score = Phased::ZERO;
    for square in own_pawns {
        score += placed(us, Role::Pawn, square);
    }
    score += placed(us, Role::King, side.king);
    reach.add(Role::King, attacks::king(side.king));
    reach.add(Role::Pawn, side.pawn_attacks);

    let bishops = pos.pieces(us, Role::Bishop);
    if bishops.count() >= 2 {
        score += BISHOP_PAIR;
    }
    for role in [Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
        for square in pos.pieces(us, role) {
            let squares = reached(pos, us, role, square);
            reach.add(role, squares);
            let near_king = squares & other.king_zone;
            if !near_king.is_empty() {
                reach.attackers += 1;
                reach.danger += ATTACKER[role.index()] + ATTACK * near_king.count() as i32;
            }
            let free = squares
                & !(pos.by_color(us) & (own_pawns | side.king.into()))
                & !other.pawn_attacks;
            let free = free.count() as usize;
            score += placed(us, role, square);
            score += match role {
                Role::Knight => KNIGHT_MOBILITY[free],
                Role::Bishop => BISHOP_MOBILITY[free.min(13)],
                Role::Rook => ROOK_MOBILITY[free.min(14)],
                _ => QUEEN_MOBILITY[free.min(27)],
            };
            score += match role {
                Role::Knight | Role::Bishop => minor(pos, us, role, square, side),
                Role::Rook => rook(pos, us, square, structure),
                _ => Phased::ZERO,
            };
        }
    }
    score
}

fn placed(us: Color, role: Role, square: Square) -> Phased {
    let file = file_index(square);
    MATERIAL[role.index()] + PLACE[role.index()][forward_rank(us, square)][file.min(7 - file)]
}

/// The squares a piece reaches, through own pieces that reach on the same line.
fn reached(pos: &Position, us: Color, role: Role, square: Square) -> Bitboard {
    let occupied = pos.occupied();
    let queens = pos.by_role(Role::Queen);
    match role {
        Role::Knight => attacks::knight(square),
        Role::Bishop => attacks::bishop(square, occupied & !queens),
        Role::Rook => attacks::rook(square, occupied & !queens & !pos.pieces(us, Role::Rook)),
        _ => attacks::queen(square, occupied),
    }
}

fn minor(pos: &Position, us: Color, role: Role, square: Square, side: &Side) -> Phased {
    let mut score = Phased::ZERO;
    let rank = forward_rank(us, square);
    let chasers = Bitboard(FRONT_SPAN[us.index()][square.index()]) & pos.pieces(!us, Role::Pawn);
    if (3..=5).contains(&rank) && side.pawn_attacks.contains(square) && chasers.is_empty() {
        score += OUTPOST[usize::from(role == Role::Bishop)];
    }
    let before = match us {
        Color::White => Bitboard(1 << square.index() << 8),
        Color::Black => Bitboard(1 << square.index() >> 8),
    };
    if !(before & pos.by_role(Role::Pawn)).is_empty() {
        score += MINOR_BEHIND_PAWN;
    }
    if role == Role::Bishop {
        let color = if DARK.contains(square) { DARK } else { !DARK };
        score += PAWN_ON_BISHOP_COLOR * (color & pos.pieces(us, Role::Pawn)).count() as i32;
    }
    score
}

fn rook(pos: &Position, us: Color, square: Square, structure: &Structure) -> Phased {
    let file = Bitboard(FILE_A << file_index(square));
    let mut score = Phased::ZERO;
    if (file & pos.pieces(us, Role::Pawn)).is_empty() {
        let open = (file & pos.by_role(Role::Pawn)).is_empty();
        score += if open {
            ROOK_ON_OPEN_FILE
        } else {
            ROOK_ON_HALF_OPEN_FILE
        };
    }
    let ahead = Bitboard(FORWARD_FILE[us.index()][square.index()]);
    if !(ahead & structure.passed[us.index()]).is_empty() {
        score += ROOK_BEHIND_PASSED;
    }
    score
}

/// What the side's pieces attack that the other side would rather not lose.
pub(super) fn threats(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> Phased {
    let enemies = pos.by_color(!us);
    let minors = enemies & (pos.by_role(Role::Knight) | pos.by_role(Role::Bishop));
    let queens = enemies & pos.by_role(Role::Queen);
    let majors = queens | (enemies & pos.by_role(Role::Rook));
    let pieces = minors | majors;
    let by = |role: Role| own.by[role.index()];
    let count = |squares: Bitboard| squares.count() as i32;

    let by_minor = by(Role::Knight) | by(Role::Bishop);
    let guarded = theirs.by[Role::Pawn.index()];
    let hanging = enemies & own.all & !theirs.all;

    // Steps of pawns to squares where they are not taken at once.
    let pawns = pos.pieces(us, Role::Pawn);
    let empty = !pos.occupied();
    let (third, step): (u64, fn(u64) -> u64) = match us {
        Color::White => (0x0000_0000_00ff_0000, |squares| squares << 8),
        Color::Black => (0x0000_ff00_0000_0000, |squares| squares >> 8),
    };
    let once = Bitboard(step(pawns.0)) & empty;
    let steps = once | (Bitboard(step(once.0 & third)) & empty);
    let safe = steps & !guarded & (own.all | !theirs.all);
    let pushes = attacks::pawns(us, safe) & pieces & !by(Role::Pawn);

    PAWN_ATTACKS_PIECE * count(by(Role::Pawn) & pieces)
        + MINOR_ATTACKS_MAJOR * count(by_minor & majors)
        + MINOR_ATTACKS_MINOR * count(by_minor & minors & !guarded)
        + ROOK_ATTACKS_QUEEN * count(by(Role::Rook) & queens)
        + HANGING * count(hanging)
        + PUSH_THREAT * count(pushes)
}

/// How far passed pawns may hope to get.
pub(super) fn passed(pos: &Position, us: Color, passed: Bitboard) -> Phased {
    let (own, theirs) = (pos.king(us), pos.king(!us));
    let mut score = Phased::ZERO;
    for square in passed {
        let rank = forward_rank(us, square);
        let index = if us == Color::White {
            square.index() + 8
        } else {
            square.index() - 8
        };
        let Some(front) = Square::from_index(index as u8) else {
            continue;
        };
        if !pos.occupied().contains(front) {
            score += PASSED_FREE[rank];
        }
        score += PASSED_ENEMY_KING[rank] * distance(front, theirs);
        score += PASSED_OWN_KING[rank] * distance(front, own);
    }
    score
}
