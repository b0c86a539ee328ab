//! What everything is worth, in centipawns for (middlegame, endgame).

use super::phased::{Phased, s};

/// By role; kings are always there.
pub(super) const MATERIAL: [Phased; 6] = [
    s(82, 112),
    s(345, 325),
    s(360, 335),
    s(480, 580),
    s(1_010, 1_060),
    s(0, 0),
];

/// By role, rank from the own side, file from the edge (a and h, b and g, c and f, d and e).
pub(super) const PLACE: [[[Phased; 4]; 8]; 6] = [
    // Pawns.
    [
        [s(0, 0), s(0, 0), s(0, 0), s(0, 0)],
        [s(-12, 6), s(6, 6), s(0, 4), s(-8, 8)],
        [s(-12, 2), s(-2, 4), s(2, -2), s(6, 0)],
        [s(-14, 8), s(-6, 6), s(6, -4), s(18, -8)],
        [s(-6, 18), s(2, 12), s(12, 2), s(24, -4)],
        [s(0, 44), s(14, 40), s(36, 26), s(40, 18)],
        [s(40, 90), s(48, 84), s(60, 66), s(70, 58)],
        [s(0, 0), s(0, 0), s(0, 0), s(0, 0)],
    ],
    // Knights.
    [
        [s(-70, -50), s(-22, -40), s(-28, -24), s(-20, -16)],
        [s(-26, -30), s(-24, -14), s(-8, -14), s(0, -6)],
        [s(-20, -22), s(2, -8), s(8, 0), s(14, 12)],
        [s(-8, -10), s(10, 4), s(16, 16), s(18, 24)],
        [s(0, -10), s(14, 6), s(28, 18), s(34, 24)],
        [s(-14, -18), s(24, -4), s(38, 8), s(46, 12)],
        [s(-32, -28), s(-18, -12), s(26, -10), s(28, 0)],
        [s(-120, -62), s(-60, -36), s(-40, -20), s(-20, -14)],
    ],
    // Bishops.
    [
        [s(-16, -20), s(4, -8), s(-10, -8), s(-10, -4)],
        [s(6, -14), s(18, -10), s(14, -4), s(2, 2)],
        [s(4, -6), s(14, 0), s(12, 6), s(10, 10)],
        [s(0, -6), s(6, 2), s(8, 8), s(20, 10)],
        [s(-6, 0), s(8, 6), s(18, 8), s(26, 12)],
        [s(-2, 2), s(14, 4), s(24, 6), s(18, 4)],
        [s(-24, 0), s(-6, 2), s(-6, 4), s(-8, 4)],
        [s(-28, -6), s(-14, -2), s(-30, 0), s(-34, 2)],
    ],
    // Rooks.
    [
        [s(-14, -10), s(-8, -6), s(2, -6), s(10, -10)],
        [s(-34, -10), s(-14, -12), s(-10, -8), s(-4, -10)],
        [s(-30, -6), s(-12, -4), s(-12, -6), s(-6, -6)],
        [s(-26, 2), s(-14, 6), s(-10, 4), s(-4, 2)],
        [s(-14, 8), s(-2, 6), s(10, 6), s(16, 4)],
        [s(-6, 10), s(14, 8), s(18, 8), s(24, 4)],
        [s(8, 14), s(10, 16), s(30, 12), s(36, 8)],
        [s(12, 12), s(14, 14), s(10, 14), s(16, 12)],
    ],
    // Queens.
    [
        [s(-6, -36), s(-8, -34), s(-6, -26), s(6, -26)],
        [s(-8, -28), s(0, -24), s(8, -22), s(6, -14)],
        [s(-6, -16), s(4, -6), s(-2, 8), s(-4, 4)],
        [s(-6, -4), s(-6, 12), s(-8, 18), s(-12, 30)],
        [s(-8, 6), s(-10, 22), s(-10, 24), s(-14, 36)],
        [s(2, -2), s(0, 8), s(2, 24), s(4, 32)],
        [s(-2, -4), s(-26, 16), s(0, 22), s(-6, 34)],
        [s(2, -2), s(10, 4), s(18, 12), s(16, 16)],
    ],
    // Kings.
    [
        [s(24, -60), s(36, -36), s(-2, -24), s(-16, -28)],
        [s(24, -30), s(14, -14), s(-18, -4), s(-36, 0)],
        [s(-14, -18), s(-10, -4), s(-26, 6), s(-40, 12)],
        [s(-40, -14), s(-20, 6), s(-36, 16), s(-50, 24)],
        [s(-30, -4), s(-14, 18), s(-26, 26), s(-44, 30)],
        [s(-10, 4), s(10, 26), s(-6, 32), s(-24, 28)],
        [s(-6, -8), s(4, 20), s(-6, 22), s(-12, 18)],
        [s(-20, -60), s(-4, -20), s(-14, -12), s(-24, -12)],
    ],
];

/// By the number of squares a piece reaches that are neither own nor guarded by pawns.
pub(super) const KNIGHT_MOBILITY: [Phased; 9] = [
    s(-46, -60),
    s(-24, -32),
    s(-10, -14),
    s(-2, -2),
    s(4, 4),
    s(8, 12),
    s(14, 14),
    s(20, 14),
    s(26, 10),
];
pub(super) const BISHOP_MOBILITY: [Phased; 14] = [
    s(-40, -60),
    s(-24, -36),
    s(-10, -20),
    s(-4, -8),
    s(2, 0),
    s(8, 8),
    s(12, 14),
    s(16, 18),
    s(18, 22),
    s(20, 24),
    s(24, 24),
    s(28, 22),
    s(30, 24),
    s(36, 18),
];
pub(super) const ROOK_MOBILITY: [Phased; 15] = [
    s(-40, -60),
    s(-24, -36),
    s(-14, -20),
    s(-8, -8),
    s(-6, 0),
    s(-4, 6),
    s(0, 10),
    s(4, 14),
    s(8, 18),
    s(12, 22),
    s(14, 26),
    s(18, 30),
    s(22, 32),
    s(26, 32),
    s(34, 28),
];
pub(super) const QUEEN_MOBILITY: [Phased; 28] = [
    s(-30, -70),
    s(-24, -60),
    s(-18, -48),
    s(-12, -38),
    s(-10, -28),
    s(-8, -18),
    s(-6, -10),
    s(-4, -4),
    s(-2, 2),
    s(0, 8),
    s(2, 12),
    s(4, 16),
    s(6, 20),
    s(6, 24),
    s(8, 26),
    s(8, 28),
    s(10, 30),
    s(10, 32),
    s(12, 34),
    s(12, 34),
    s(12, 36),
    s(14, 36),
    s(16, 36),
    s(18, 36),
    s(20, 34),
    s(24, 32),
    s(28, 30),
    s(32, 28),
];

// Pawns.
pub(super) const DOUBLED: Phased = s(-6, -18);
pub(super) const ISOLATED: Phased = s(-10, -12);
pub(super) const BACKWARD: Phased = s(-8, -8);
/// By rank, for pawns that a pawn guards or that stand side by side.
pub(super) const CONNECTED: [Phased; 8] = [
    s(0, 0),
    s(4, 0),
    s(12, 8),
    s(14, 10),
    s(24, 22),
    s(46, 50),
    s(80, 90),
    s(0, 0),
];
/// By rank, for pawns that no pawn can stop any more.
pub(super) const PASSED: [Phased; 8] = [
    s(0, 0),
    s(-4, 10),
    s(-4, 16),
    s(-2, 36),
    s(16, 60),
    s(40, 100),
    s(70, 150),
    s(0, 0),
];
/// By rank, more when the square in front is free.
pub(super) const PASSED_FREE: [Phased; 8] = [
    s(0, 0),
    s(0, 0),
    s(0, 4),
    s(2, 8),
    s(6, 22),
    s(12, 50),
    s(24, 100),
    s(0, 0),
];
/// For every square between the square in front and the enemy's king, or the own one, by rank.
pub(super) const PASSED_ENEMY_KING: [Phased; 8] = [
    s(0, 0),
    s(0, 0),
    s(0, 2),
    s(0, 5),
    s(0, 11),
    s(0, 18),
    s(0, 22),
    s(0, 0),
];
pub(super) const PASSED_OWN_KING: [Phased; 8] = [
    s(0, 0),
    s(0, 0),
    s(0, -1),
    s(0, -4),
    s(0, -8),
    s(0, -10),
    s(0, -10),
    s(0, 0),
];

// Pieces.
pub(super) const BISHOP_PAIR: Phased = s(26, 56);
/// For every own pawn on the bishop's colour.
pub(super) const PAWN_ON_BISHOP_COLOR: Phased = s(-3, -6);
/// A minor piece guarded by a pawn where no pawn can chase it: knight, bishop.
pub(super) const OUTPOST: [Phased; 2] = [s(28, 18), s(20, 10)];
/// A minor piece right behind a pawn.
pub(super) const MINOR_BEHIND_PAWN: Phased = s(6, 4);
pub(super) const ROOK_ON_OPEN_FILE: Phased = s(30, 8);
pub(super) const ROOK_ON_HALF_OPEN_FILE: Phased = s(12, 8);
/// A rook behind an own passed pawn, or in front of the enemy's.
pub(super) const ROOK_BEHIND_PASSED: Phased = s(8, 22);

// Threats: what is attacked by what.
pub(super) const PAWN_ATTACKS_PIECE: Phased = s(58, 34);
pub(super) const MINOR_ATTACKS_MAJOR: Phased = s(38, 28);
pub(super) const ROOK_ATTACKS_QUEEN: Phased = s(42, 18);
pub(super) const MINOR_ATTACKS_MINOR: Phased = s(18, 18);
pub(super) const HANGING: Phased = s(20, 16);
/// A pawn could attack a piece by a safe step.
pub(super) const PUSH_THREAT: Phased = s(16, 14);

// Kings.
/// By rank of the nearest own pawn before the king on its file or next to it; 0: there is none.
pub(super) const SHELTER: [i32; 8] = [-34, 24, 16, -2, -12, -18, -20, 0];
/// By rank, from the king's side, of the nearest enemy pawn before the king; 0: there is none.
pub(super) const STORM: [i32; 8] = [-6, 10, -40, -26, -10, -2, 2, 0];
/// On a half-open or open file next to the king, more on its own.
pub(super) const KING_FILE_OPEN: i32 = -14;
/// Danger by role for every attacker of the squares around the king.
pub(super) const ATTACKER: [i32; 6] = [0, 34, 26, 30, 22, 0];
/// Danger for every attack on a square around the king.
pub(super) const ATTACK: i32 = 12;
/// Danger by role for a check that could be given safely.
pub(super) const SAFE_CHECK: [i32; 6] = [0, 48, 32, 52, 44, 0];
/// Danger for every square around the king that is attacked and guarded by nothing but the king or queen.
pub(super) const WEAK_SQUARE: i32 = 14;
/// Without a queen an attack rarely succeeds.
pub(super) const NO_QUEEN: i32 = -110;
pub(super) const DANGER_BASE: i32 = -30;
/// Danger squared, over this, is what it costs.
pub(super) const DANGER_SCALE: i32 = 190;
pub(super) const DANGER_MAX: i32 = 600;

/// To be on the move.
pub(super) const TEMPO: i32 = 16;
