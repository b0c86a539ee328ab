//! King safety: the pawns before the king, and who attacks the squares around it.

use super::phased::{Phased, s};
use super::weights::*;
use super::{Reach, file_index, forward_rank};
use crate::chess::{Bitboard, Color, Position, Role, attacks};

const FILE_A: u64 = 0x0101_0101_0101_0101;

/// The side's king: shelter less danger.
pub(super) fn safety(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> Phased {
    let danger = danger(pos, us, own, theirs);
    s(shelter(pos, us), 0) - s(danger, danger / 6)
}

/// Own pawns before the king, the enemy's that come at it; for the middlegame.
fn shelter(pos: &Position, us: Color) -> i32 {
    let king = pos.king(us);
    let king_rank = forward_rank(us, king);
    let centre = file_index(king).clamp(1, 6);
    let ahead = match us {
        Color::White => u64::MAX << (8 * (king.index() / 8)),
        Color::Black => u64::MAX >> (8 * (7 - king.index() / 8)),
    };
    let nearest = |pawns: Bitboard| {
        let square = if us == Color::White {
            pawns.first()
        } else {
            pawns.last()
        };
        square.map_or(0, |square| forward_rank(us, square))
    };
    let mut score = 0;
    for file in centre - 1..=centre + 1 {
        let before = Bitboard(FILE_A << file & ahead);
        let own = nearest(before & pos.pieces(us, Role::Pawn));
        let enemy = nearest(before & pos.pieces(!us, Role::Pawn));
        score += SHELTER[own];
        // A pawn that runs into ours is not dangerous.
        score += if own != 0 && enemy == own + 1 {
            STORM[enemy] / 4
        } else {
            STORM[enemy]
        };
        if own == 0 {
            score += if file == file_index(king) {
                2 * KING_FILE_OPEN
            } else {
                KING_FILE_OPEN
            };
        }
    }
    if king_rank > 2 { score / 2 } else { score }
}

/// What the enemy's attack costs; for the middlegame.
fn danger(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> i32 {
    let them = !us;
    let has_queen = !pos.pieces(them, Role::Queen).is_empty();
    if theirs.attackers < 2 && !(has_queen && theirs.attackers == 1) {
        return 0;
    }
    let king = pos.king(us);
    let occupied = pos.occupied();
    let by = |role: Role| own.by[role.index()];
    // Squares that only king and queen guard, if anything does.
    let weak = theirs.all & !own.twice & (!own.all | by(Role::King) | by(Role::Queen));
    let around = attacks::king(king);
    let safe = !pos.by_color(them) & (!own.all | (weak & theirs.twice));
    let diagonal = attacks::bishop(king, occupied);
    let straight = attacks::rook(king, occupied);

    let mut danger = DANGER_BASE + theirs.danger + WEAK_SQUARE * (weak & around).count() as i32;
    for (role, from) in [
        (Role::Knight, attacks::knight(king)),
        (Role::Bishop, diagonal),
        (Role::Rook, straight),
        (Role::Queen, diagonal | straight),
    ] {
        if !(from & safe & theirs.by[role.index()]).is_empty() {
            danger += SAFE_CHECK[role.index()];
        }
    }
    if !has_queen {
        danger += NO_QUEEN;
    }
    let danger = danger.max(0);
    (danger * danger / DANGER_SCALE / 4).min(DANGER_MAX)
}
