//! King safety: pawn shelter and storm, attacks on the squares around the king.

use super::phased::s;
use super::terms::{KING_FILE_OPEN, SHELTER, STORM, STORM_BLOCKED, Sum};
use super::{Reach, file_index, forward_rank};
use knightwatch_chess::{Bitboard, Color, Position, Role, attacks};

const FILE_A: u64 = 0x0101_0101_0101_0101;

// Danger is not linear, so `knightwatch texel` does not tune these.

/// Danger by role for every attacker of the king zone.
pub(super) const ATTACKER: [i32; 6] = [0, 34, 26, 30, 22, 0];
/// Danger for every attacked square of the king zone.
pub(super) const ATTACK: i32 = 12;
/// Danger by role for every possible safe check.
const SAFE_CHECK: [i32; 6] = [0, 48, 32, 52, 44, 0];
/// Danger for every attacked square next to the king that at most king and queen defend.
const WEAK_SQUARE: i32 = 14;
/// An attack without a queen rarely succeeds.
const NO_QUEEN: i32 = -110;
const DANGER_BASE: i32 = -30;
/// Danger squared, divided by this, is the penalty in centipawns...
const DANGER_SCALE: i32 = 760;
const DANGER_MAX: i32 = 600;
/// ... in the middlegame; in the endgame it is divided by this.
const DANGER_ENDGAME: i32 = 6;

/// Penalty for attacks on the king.
pub(super) fn attacked<S: Sum>(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> S {
    let danger = danger(pos, us, own, theirs);
    -S::from(s(danger, danger / DANGER_ENDGAME))
}

/// Shelter by own pawns, storm by enemy pawns.
pub(super) fn shelter<S: Sum>(pos: &Position, us: Color) -> S {
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
    let mut score = S::default();
    for file in centre - 1..=centre + 1 {
        let before = Bitboard(FILE_A << file & ahead);
        let own = nearest(before & pos.pieces(us, Role::Pawn));
        let enemy = nearest(before & pos.pieces(!us, Role::Pawn));
        score.weigh(SHELTER.at(own), 1);
        let is_blocked = own != 0 && enemy == own + 1;
        let storm = if is_blocked { STORM_BLOCKED } else { STORM };
        score.weigh(storm.at(enemy), 1);
        if own == 0 {
            score.weigh(KING_FILE_OPEN, 1 + i32::from(file == file_index(king)));
        }
    }
    if king_rank > 2 { score.halved() } else { score }
}

/// The middlegame penalty.
fn danger(pos: &Position, us: Color, own: &Reach, theirs: &Reach) -> i32 {
    let them = !us;
    let has_queen = !pos.pieces(them, Role::Queen).is_empty();
    if theirs.attackers < 2 && !(has_queen && theirs.attackers == 1) {
        return 0;
    }
    let king = pos.king(us);
    let occupied = pos.occupied();
    let by = |role: Role| own.by[role.index()];
    // Attacked squares that at most king and queen defend.
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
    (danger * danger / DANGER_SCALE).min(DANGER_MAX)
}
