//! Evaluation without a network: material, piece-square tables, and the mop-up against a bare king.
//!
//! The numbers are rounded from weights that were tuned on this engine's own games.

use crate::value::{EVAL_LIMIT, Value};
use knightwatch_chess::{Bitboard, Color, File, Position, Rank, Role, Square, Variant};

/// Centipawns for (middlegame, endgame), by role.
static MATERIAL: [(Value, Value); 6] = [
    (80, 115),
    (325, 355),
    (335, 375),
    (445, 630),
    (1010, 1090),
    (0, 0),
];

/// Piece-square tables, in centipawns for (middlegame, endgame): by role, rank from the own side, and file from the edge.
#[rustfmt::skip]
pub(super) static PIECE_SQUARE: [[(Value, Value); 32]; 6] = [
    // Pawn
    [
        (0, 0), (0, 0), (0, 0), (0, 0),
        (-15, 15), (5, 10), (0, 15), (-10, 15),
        (-15, 15), (0, 15), (0, 15), (5, 15),
        (-15, 25), (-10, 20), (10, 15), (15, 10),
        (-5, 45), (5, 40), (15, 35), (20, 30),
        (10, 85), (15, 85), (25, 75), (30, 65),
        (60, 140), (50, 155), (50, 150), (60, 145),
        (0, 0), (0, 0), (0, 0), (0, 0),
    ],
    // Knight
    [
        (-50, -45), (-20, -35), (-15, -20), (-15, -15),
        (-20, -25), (-20, -10), (-5, -20), (0, -10),
        (-20, -20), (0, -10), (5, -5), (10, 5),
        (0, 0), (15, 0), (15, 15), (20, 20),
        (10, 0), (10, 5), (25, 15), (20, 20),
        (-20, -15), (10, 0), (25, 5), (30, 5),
        (-30, -20), (-20, -10), (25, -15), (15, 0),
        (-110, -50), (-65, -25), (-55, -15), (-20, -10),
    ],
    // Bishop
    [
        (-10, -15), (5, 0), (-10, -5), (-5, -5),
        (10, -10), (20, -10), (15, -10), (5, -5),
        (0, -5), (15, 0), (15, 0), (10, 5),
        (5, -5), (5, 0), (10, 15), (20, 10),
        (0, -10), (15, 10), (20, 5), (20, 20),
        (-5, 0), (15, 0), (15, 5), (15, 0),
        (-30, 0), (-10, 5), (-10, 10), (-20, 10),
        (-25, 5), (-25, 10), (-40, 5), (-45, 10),
    ],
    // Rook
    [
        (-15, -10), (-15, -15), (-5, -15), (5, -20),
        (-40, 0), (-15, -15), (-15, -5), (-10, -10),
        (-35, 0), (-20, 0), (-25, 0), (-10, -10),
        (-25, 5), (-10, 10), (-10, 10), (-5, 5),
        (-15, 10), (-10, 15), (5, 10), (10, 5),
        (-5, 15), (15, 10), (25, 10), (30, 5),
        (5, 20), (5, 20), (35, 10), (45, 5),
        (25, 15), (15, 15), (15, 15), (15, 15),
    ],
    // Queen
    [
        (-15, -40), (-15, -35), (-15, -40), (0, -60),
        (0, -30), (0, -35), (10, -40), (0, -25),
        (-10, -15), (0, -10), (-10, 5), (-10, 10),
        (-5, -5), (0, 10), (-10, 25), (-10, 40),
        (0, 10), (-10, 30), (-5, 25), (-5, 40),
        (-5, 0), (5, 20), (5, 30), (15, 30),
        (-5, 10), (-20, 30), (0, 30), (0, 50),
        (5, 0), (5, 15), (30, 15), (15, 25),
    ],
    // King
    [
        (20, -50), (35, -40), (0, -30), (-5, -40),
        (15, -20), (10, -10), (-10, -5), (-30, -5),
        (-10, -5), (5, 5), (-15, 10), (-35, 15),
        (-30, -15), (-15, 5), (-40, 10), (-50, 10),
        (-25, 0), (-20, 15), (-30, 15), (-45, 15),
        (0, 10), (-25, 25), (-35, 10), (-40, 20),
        (10, 5), (0, 15), (-10, 20), (-20, 20),
        (-20, -65), (5, -5), (-5, 5), (-15, 5),
    ],
];

/// Weight by role in the game phase, which is this in the middlegame and 0 in a pawn ending.
static PHASE: [Value; 6] = [0, 1, 1, 2, 4, 0];
const FULL_PHASE: Value = 24;

/// The value in centipawns from the side to move's point of view.
pub(super) fn evaluate(pos: &Position) -> Value {
    let (mut middlegame, mut endgame, mut phase) = (0, 0, 0);
    for color in Color::ALL {
        let sign = if color == pos.turn() { 1 } else { -1 };
        for (index, role) in Role::ALL.into_iter().enumerate() {
            for square in pos.pieces(color, role) {
                let seen = if color.is_white() {
                    square
                } else {
                    square.flip()
                };
                let (file, rank) = (seen.file().index(), seen.rank().index());
                let place = PIECE_SQUARE[index][4 * rank + file.min(7 - file)];
                middlegame += sign * (MATERIAL[index].0 + place.0);
                endgame += sign * (MATERIAL[index].1 + place.1);
                phase += PHASE[index];
            }
        }
    }
    let phase = phase.min(FULL_PHASE);
    let value = (middlegame * phase + endgame * (FULL_PHASE - phase)) / FULL_PHASE;
    let bonus = match bare_king(pos) {
        Some(color) if is_drawn(pos, !color) => -value,
        Some(color) if color == pos.turn() => -mop_up(pos, !color),
        Some(color) => mop_up(pos, !color),
        None => 0,
    };
    (value + bonus).clamp(-EVAL_LIMIT, EVAL_LIMIT)
}

/// The side that has nothing but its king.
pub(super) fn bare_king(pos: &Position) -> Option<Color> {
    let mut sides = Color::ALL.into_iter();
    sides.find(|&color| pos.by_color(color).count() == 1)
}

/// Returns whether `us` cannot force mate against a bare king. A king of the hill and three checks need no mate.
fn is_drawn(pos: &Position, us: Color) -> bool {
    if pos.variant() != Variant::Standard {
        return !pos.has_mating_material(us);
    }
    let two_knights = pos.by_color(us).count() == 3 && pos.pieces(us, Role::Knight).count() == 2;
    two_knights || !pos.has_mating_material(us) || is_corner_held(pos, us)
}

/// Returns whether `us` has only pawns of one rook file, perhaps with bishops that do not control its promotion square,
/// and the bare king is next to that square or on it. Nothing drives it away.
fn is_corner_held(pos: &Position, us: Color) -> bool {
    let pawns = pos.pieces(us, Role::Pawn);
    let bishops = pos.pieces(us, Role::Bishop);
    if pos.by_color(us) != pawns | bishops | pos.pieces(us, Role::King) {
        return false;
    }
    let last = if us.is_white() {
        Rank::Eighth
    } else {
        Rank::First
    };
    [File::A, File::H].into_iter().any(|file| {
        let corner = Square::new(file, last);
        pawns & Bitboard::file(file) == pawns
            && !bishops.intersects(Bitboard::colored_like(corner))
            && distance(pos.king(!us), corner) <= 1
    })
}

/// Bonus for progress against a bare king: it is driven to the edge, or by bishop and knight to a corner of the bishop's
/// color, with the own king near it. If only a pawn can win, the own king has to be nearer to it.
fn mop_up(pos: &Position, us: Color) -> Value {
    let (own, bare) = (pos.king(us), pos.king(!us));
    let (file, rank) = (bare.file().index() as Value, bare.rank().index() as Value);
    let (bishops, knights) = (pos.pieces(us, Role::Bishop), pos.pieces(us, Role::Knight));
    let minors = (bishops | knights).count();
    let majors = pos.pieces(us, Role::Rook) | pos.pieces(us, Role::Queen);
    let drive = if majors.is_empty() && minors < 2 {
        let ahead = match us {
            Color::White => Bitboard(pos.pieces(us, Role::Pawn).0 << 8),
            Color::Black => Bitboard(pos.pieces(us, Role::Pawn).0 >> 8),
        };
        let leads = ahead
            .into_iter()
            .map(|to| distance(bare, to) - distance(own, to));
        return 20 * leads.sum::<Value>();
    } else if majors.is_empty() && minors == 2 && bishops.count() == 1 {
        let file = if bishops.intersects(Bitboard::DARK) {
            file
        } else {
            7 - file
        };
        120 * (7 - file - rank).abs()
    } else {
        40 * (center_distance(file) + center_distance(rank))
    };
    drive + 20 * (14 - distance(own, bare))
}

/// Files or ranks to the nearest center square.
pub(super) fn center_distance(index: Value) -> Value {
    (3 - index).max(index - 4)
}

/// King moves between two squares.
fn distance(a: Square, b: Square) -> Value {
    let files = a.file().index().abs_diff(b.file().index());
    let ranks = a.rank().index().abs_diff(b.rank().index());
    files.max(ranks) as Value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(fen: &str) -> Value {
        evaluate(&Position::from_fen(fen).expect("a good FEN"))
    }

    /// The same position with the colors exchanged.
    fn mirrored(fen: &str) -> String {
        let fields: Vec<&str> = fen.split(' ').collect();
        let swap = |c: char| {
            if c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        };
        let board = fields[0]
            .split('/')
            .rev()
            .map(|rank| rank.chars().map(swap).collect::<String>());
        let board = board.collect::<Vec<_>>().join("/");
        let turn = if fields[1] == "w" { "b" } else { "w" };
        let castling: String = fields[2].chars().map(swap).collect();
        format!("{board} {turn} {castling} - 0 1")
    }

    #[test]
    fn evaluate_of_mirrored_position_is_equal() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P1B2/2NBPN2/PP3PPP/R2Q1RK1 b - - 0 1",
            "8/8/3k4/8/8/8/5B2/6KN w - - 0 1",
            "8/8/3k4/8/8/8/5P2/6K1 b - - 0 1",
        ] {
            assert_eq!(eval(fen), eval(&mirrored(fen)), "{fen}");
        }
    }

    #[test]
    fn evaluate_counts_material_that_can_win() {
        assert_eq!(
            eval("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
            0
        );
        assert!(eval("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1") > 700);
        assert!(eval("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1") > 50);
        assert_eq!(eval("4k3/8/8/8/8/8/4N3/4K1N1 w - - 0 1"), 0);
        assert!(eval("4k3/8/8/8/8/8/4N1N1/4K1N1 w - - 0 1") > 700);
    }

    #[test]
    fn evaluate_of_rook_pawns_and_wrong_bishop_is_draw() {
        for (fen, is_drawn) in [
            ("k7/8/PK6/8/5B2/8/8/8 w - - 0 1", true),
            ("8/1k6/8/P1K5/P4B2/8/8/4B3 w - - 0 1", true),
            ("6k1/8/6KP/8/8/8/8/4B3 b - - 0 1", false),
            ("6k1/8/6KP/8/8/8/8/5B2 b - - 0 1", true),
            ("8/8/8/8/7p/4b3/6k1/K7 b - - 0 1", false),
            ("8/8/8/7p/8/2b2k2/8/6K1 b - - 0 1", true),
            ("8/8/8/7p/4b3/5k2/8/6K1 b - - 0 1", false),
            ("8/8/8/7p/3b4/5k2/8/5K2 b - - 0 1", false),
            ("k7/8/PK6/8/8/7B/8/8 w - - 0 1", false),
            ("k7/8/PK6/8/5B2/8/7P/8 w - - 0 1", false),
            ("k7/8/PK6/8/5N2/8/8/8 w - - 0 1", false),
            ("8/2k5/8/P1K5/8/8/8/6B1 w - - 0 1", false),
        ] {
            assert_eq!(eval(fen) == 0, is_drawn, "{fen}: {}", eval(fen));
        }
    }

    #[test]
    fn evaluate_of_variants_won_without_mate_is_no_draw() {
        for (variant, fen) in [
            (Variant::KingOfTheHill, "k7/8/PK6/8/5B2/8/8/8 w - - 0 1"),
            (Variant::ThreeCheck, "k7/8/PK6/8/5B2/8/8/8 w - - 3+3 0 1"),
            (Variant::ThreeCheck, "4k3/8/8/8/8/8/4N3/4K1N1 w - - 3+3 0 1"),
        ] {
            let pos = Position::from_variant_fen(variant, fen).expect("a good FEN");
            assert!(evaluate(&pos) > 200, "{variant}: {fen}");
        }
    }

    #[test]
    fn bishop_and_knight_drive_king_to_corner_of_bishop_color() {
        let light = |king: &str| eval(&format!("{king} w - - 0 1"));
        assert!(light("k7/8/8/8/3K4/8/8/5BN1") > light("7k/8/8/8/3K4/8/8/5BN1") + 100);
        assert!(light("7k/8/8/8/3K4/8/8/2B3N1") > light("k7/8/8/8/3K4/8/8/2B3N1") + 100);
    }
}
