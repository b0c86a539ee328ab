//! Start positions of random games of variants, and the games.

use knightwatch_chess::{Color, Position, Role, Variant};
use shakmaty::CastlingMode;

use super::{compare, random_games};

/// Positions in which the rules of the variant matter early.
fn sparse_starts(variant: Variant) -> &'static [&'static str] {
    match variant {
        Variant::Standard => &[],
        Variant::Crazyhouse => &[
            "4k3/8/8/8/8/8/8/4K3/PNBRQpnbrq w - - 0 1",
            "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R/NBnb w KQkq - 0 1",
            "4k3/1Q~6/8/8/4b3/8/Kpp5/8/ b - - 0 1",
        ],
        Variant::Antichess => &[
            "8/1p6/8/8/8/8/P7/8 w - - 0 1",
            "8/1pP5/8/4k3/8/8/P5p1/3K4 w - - 0 1",
            "8/8/2n5/8/5N2/8/8/8 w - - 0 1",
            "8/8/2n5/8/4N3/8/8/8 b - - 0 1",
            "2b5/8/p7/P7/8/8/8/2B5 w - - 0 1",
        ],
        Variant::Atomic => &[
            "r3k2r/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/R3K2R w KQkq - 0 1",
            "8/8/3k4/3K4/2q5/8/1R4P1/8 w - - 0 1",
            "r3k1rR/5K2/8/8/8/8/8/8 b kq - 0 1",
            "4k3/8/8/8/8/8/8/4KN2 w - - 0 1",
        ],
        Variant::Horde => &[
            "4k3/pp4q1/3P2p1/8/P3PP2/PPP2r2/PPP5/PPPP4 b - - 0 1",
            "k7/5p2/4p2P/3p2P1/2p2P2/1p2P2P/p2P2P1/2P2P2 w - - 0 1",
            "r3k2r/8/8/8/8/8/PP6/PPP5 w kq - 0 1",
            "1nk5/8/8/8/8/8/1P6/1N6 w - - 0 1",
            "4k3/pb6/8/8/8/8/1P6/1B6 w - - 0 1",
        ],
        Variant::KingOfTheHill => &["4k3/8/8/8/8/8/8/4K3 w - - 0 1"],
        Variant::RacingKings => &[
            "8/3k4/6K1/8/8/8/1r3R2/2b2N2 w - - 0 1",
            "8/k6K/8/8/8/8/rb4BR/qn4NQ w - - 0 1",
            "8/k6K/8/8/8/8/rb4BR/qn4NQ b - - 0 1",
        ],
        Variant::ThreeCheck => &[
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 +1+2",
            "4k3/8/8/8/8/8/8/4KN2 w - - 0 1 +2+0",
        ],
    }
}

/// The start position of the variant, or a sparse one.
pub(super) fn start(variant: Variant, random: &mut fastrand::Rng) -> Position {
    match random.choice(sparse_starts(variant)) {
        Some(fen) if random.bool() => Position::from_variant_fen(variant, fen)
            .unwrap_or_else(|error| panic!("{fen}: {error}")),
        _ => variant.start(),
    }
}

/// Returns whether shakmaty judges mating material of the position as Lichess does. It does not look for closed
/// positions, in atomic chess it knows more draws than Lichess, and in antichess it looks at bishops one side at a
/// time.
pub(super) fn judges_material_like_shakmaty(position: &Position) -> bool {
    match position.variant() {
        Variant::Crazyhouse | Variant::Atomic => false,
        Variant::Antichess => {
            let is_over = Color::ALL
                .into_iter()
                .any(|color| position.by_color(color).is_empty());
            !is_over && position.by_role(Role::Bishop).is_empty()
        }
        // A horde that cannot move counts as closed.
        Variant::Horde => !is_closed(position),
        _ => true,
    }
}

fn is_closed(position: &Position) -> bool {
    let white = position.turn() == Color::White;
    if white {
        return !position.has_legal_move();
    }
    position
        .legal_moves()
        .iter()
        .all(|&mv| !position.after(mv).has_legal_move())
}

fn compare_games_of(variant: Variant) {
    let mode = CastlingMode::Chess960;
    random_games(variant, mode, |game, theirs, random| {
        compare(mode, game, theirs, random);
    });
}

#[test]
fn rules_of_crazyhouse_match_shakmaty() {
    compare_games_of(Variant::Crazyhouse);
}

#[test]
fn rules_of_antichess_match_shakmaty() {
    compare_games_of(Variant::Antichess);
}

#[test]
fn rules_of_atomic_match_shakmaty() {
    compare_games_of(Variant::Atomic);
}

#[test]
fn rules_of_horde_match_shakmaty() {
    compare_games_of(Variant::Horde);
}

#[test]
fn rules_of_king_of_the_hill_match_shakmaty() {
    compare_games_of(Variant::KingOfTheHill);
}

#[test]
fn rules_of_racing_kings_match_shakmaty() {
    compare_games_of(Variant::RacingKings);
}

#[test]
fn rules_of_three_check_match_shakmaty() {
    compare_games_of(Variant::ThreeCheck);
}
