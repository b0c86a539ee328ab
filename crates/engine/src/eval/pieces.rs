//! Piece terms: piece-square tables, mobility, threats; progress of passed pawns.

use super::king::{ATTACK, ATTACKER};
use super::pawns::{FORWARD_FILE, FRONT_SPAN};
use super::terms::*;
use super::{Reach, Side, distance, file_index, forward_rank};
use knightwatch_chess::{Bitboard, Color, Position, Role, Square, attacks};

const FILE_A: u64 = 0x0101_0101_0101_0101;
const DARK: Bitboard = Bitboard(0xaa55_aa55_aa55_aa55);

/// Material, piece-square and mobility terms of one side, whose passed pawns are `passed`; fills in `reach`.
pub(super) fn score<S: Sum>(
    pos: &Position,
    us: Color,
    side: &Side,
    other: &Side,
    passed: Bitboard,
    reach: &mut Reach,
) -> S {
    let own_pawns = pos.pieces(us, Role::Pawn);
    let mut score = S::default();
    reach.add(Role::King, attacks::king(side.king));
    reach.add(Role::Pawn, side.pawn_attacks);

    let bishops = pos.pieces(us, Role::Bishop);
    if bishops.count() >= 2 {
        score.weigh(BISHOP_PAIR, 1);
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
            add_psqt(&mut score, us, role, square);
            let mobility = match role {
                Role::Knight => KNIGHT_MOBILITY.at(free),
                Role::Bishop => BISHOP_MOBILITY.at(free.min(13)),
                Role::Rook => ROOK_MOBILITY.at(free.min(14)),
                _ => QUEEN_MOBILITY.at(free.min(27)),
            };
            score.weigh(mobility, 1);
            match role {
                Role::Knight | Role::Bishop => minor(&mut score, pos, us, role, square, side),
                Role::Rook => rook(&mut score, pos, us, square, passed),
                _ => {}
            }
        }
    }
    score
}

/// Material and piece-square terms.
pub(super) fn add_psqt<S: Sum>(score: &mut S, us: Color, role: Role, square: Square) {
    let (role, rank, file) = (role.index(), forward_rank(us, square), file_index(square));
    score.weigh(MATERIAL.at(role), 1);
    score.weigh(PSQT.at((role * 8 + rank) * 4 + file.min(7 - file)), 1);
}

/// Squares attacked by a piece, with x-rays through own pieces that move the same way.
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

fn minor<S: Sum>(
    score: &mut S,
    pos: &Position,
    us: Color,
    role: Role,
    square: Square,
    side: &Side,
) {
    let rank = forward_rank(us, square);
    let chasers = Bitboard(FRONT_SPAN[us.index()][square.index()]) & pos.pieces(!us, Role::Pawn);
    if (3..=5).contains(&rank) && side.pawn_attacks.contains(square) && chasers.is_empty() {
        score.weigh(OUTPOST.at(usize::from(role == Role::Bishop)), 1);
    }
    let before = match us {
        Color::White => Bitboard(1 << square.index() << 8),
        Color::Black => Bitboard(1 << square.index() >> 8),
    };
    if !(before & pos.by_role(Role::Pawn)).is_empty() {
        score.weigh(MINOR_BEHIND_PAWN, 1);
    }
    if role == Role::Bishop {
        let color = if DARK.contains(square) { DARK } else { !DARK };
        let pawns = color & pos.pieces(us, Role::Pawn);
        score.weigh(PAWN_ON_BISHOP_COLOR, pawns.count() as i32);
    }
}

fn rook<S: Sum>(score: &mut S, pos: &Position, us: Color, square: Square, passed: Bitboard) {
    let file = Bitboard(FILE_A << file_index(square));
    if (file & pos.pieces(us, Role::Pawn)).is_empty() {
        let open = (file & pos.by_role(Role::Pawn)).is_empty();
        let term = if open {
            ROOK_ON_OPEN_FILE
        } else {
            ROOK_ON_HALF_OPEN_FILE
        };
        score.weigh(term, 1);
    }
    let ahead = Bitboard(FORWARD_FILE[us.index()][square.index()]);
    if !(ahead & passed).is_empty() {
        score.weigh(ROOK_BEHIND_PASSED, 1);
    }
}

/// Threats of the side's pieces against the enemy's.
pub(super) fn threats<S: Sum>(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> S {
    let enemies = pos.by_color(!us);
    let minors = enemies & (pos.by_role(Role::Knight) | pos.by_role(Role::Bishop));
    let queens = enemies & pos.by_role(Role::Queen);
    let majors = queens | (enemies & pos.by_role(Role::Rook));
    let pieces = minors | majors;
    let by = |role: Role| own.by[role.index()];
    let by_minor = by(Role::Knight) | by(Role::Bishop);
    let guarded = theirs.by[Role::Pawn.index()];
    let hanging = enemies & own.all & !theirs.all;

    // Pawn pushes to squares where they are not captured at once.
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

    let mut score = S::default();
    for (term, attacked) in [
        (PAWN_ATTACKS_PIECE, by(Role::Pawn) & pieces),
        (MINOR_ATTACKS_MAJOR, by_minor & majors),
        (MINOR_ATTACKS_MINOR, by_minor & minors & !guarded),
        (ROOK_ATTACKS_QUEEN, by(Role::Rook) & queens),
        (HANGING, hanging),
        (PUSH_THREAT, pushes),
    ] {
        score.weigh(term, attacked.count() as i32);
    }
    score
}

/// Terms for the way ahead of passed pawns.
pub(super) fn passed<S: Sum>(pos: &Position, us: Color, passed: Bitboard) -> S {
    let (own, theirs) = (pos.king(us), pos.king(!us));
    let mut score = S::default();
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
            score.weigh(PASSED_FREE.at(rank), 1);
        }
        score.weigh(PASSED_ENEMY_KING.at(rank), distance(front, theirs));
        score.weigh(PASSED_OWN_KING.at(rank), distance(front, own));
    }
    score
}
