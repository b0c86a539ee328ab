//! Ends of games of variants, by the rules of Lichess where other programs differ.

use knightwatch_chess::pgn::{self, Outcome};
use knightwatch_chess::{Color, Game, Position, Termination, Variant};

fn position(variant: Variant, fen: &str) -> Position {
    Position::from_variant_fen(variant, fen).unwrap_or_else(|error| panic!("{fen}: {error}"))
}

#[test]
fn insufficient_material_of_variants_is_that_of_lichess() {
    let cases = [
        (Variant::Crazyhouse, "4k3/8/8/8/8/8/8/4K3/ w - - 0 1", false),
        (
            Variant::KingOfTheHill,
            "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
            false,
        ),
        (Variant::RacingKings, "8/8/4k3/8/8/4K3/8/8 w - - 0 1", false),
        (Variant::ThreeCheck, "4k3/8/8/8/8/8/8/4K3 w - - 0 1", true),
        (Variant::ThreeCheck, "4k3/8/8/8/8/8/8/4KN2 w - - 0 1", false),
        // Atomic: what cannot mate a bare king, and bishops that never meet.
        (Variant::Atomic, "4k3/8/8/8/8/8/8/4KR2 w - - 0 1", true),
        (Variant::Atomic, "4k3/8/8/8/8/8/8/4KQ2 w - - 0 1", false),
        (Variant::Atomic, "4k3/8/8/8/8/8/8/3NKN2 w - - 0 1", true),
        (Variant::Atomic, "4k3/8/8/8/8/8/8/3BKN2 w - - 0 1", false),
        (Variant::Atomic, "3bk3/8/8/8/8/8/8/3BK3 w - - 0 1", true),
        (Variant::Atomic, "2b1k3/8/8/8/8/8/8/3BK3 w - - 0 1", false),
        // Atomic: blocked pawns, which kings cannot take; with a bishop that reaches one, or none.
        (Variant::Atomic, "4k3/8/8/p7/P7/8/8/4K3 w - - 0 1", true),
        (Variant::Atomic, "4k3/8/p7/8/P7/8/8/4K3 w - - 0 1", false),
        (Variant::Atomic, "4k3/8/8/p7/P7/8/8/2B1K3 w - - 0 1", false),
        (Variant::Atomic, "4k3/8/8/p7/P7/8/8/3BK3 w - - 0 1", true),
        // Antichess: bishops that never meet, and pawns that they do not reach.
        (Variant::Antichess, "8/8/8/2b5/8/8/8/3B4 w - - 0 1", true),
        (Variant::Antichess, "8/8/8/3b4/8/8/8/3B4 w - - 0 1", false),
        (Variant::Antichess, "8/8/8/2b5/8/8/8/2BB4 w - - 0 1", false),
        (Variant::Antichess, "8/8/p7/P7/8/2b5/8/5B2 w - - 0 1", false),
        (Variant::Antichess, "8/8/8/p7/P7/2b5/8/3B4 w - - 0 1", true),
        // Horde: nobody can ever move, except a king.
        (Variant::Horde, "k7/p7/P7/8/8/8/8/8 w - - 0 1", true),
        (Variant::Horde, "4k3/8/p7/P7/8/8/8/8 w - - 0 1", true),
        (Variant::Horde, "4k3/8/p7/P7/8/7P/8/8 w - - 0 1", false),
    ];
    for (variant, fen, expected) in cases {
        let found = position(variant, fen).insufficient_material();
        assert_eq!(found, expected, "{variant}: {fen}");
    }
}

#[test]
fn mating_material_of_variants_is_that_of_lichess() {
    let cases = [
        (
            Variant::Crazyhouse,
            "4k3/8/8/8/8/8/8/4K3/ w - - 0 1",
            [true, true],
        ),
        (
            Variant::ThreeCheck,
            "4k3/8/8/8/8/8/8/4KN2 w - - 0 1",
            [true, false],
        ),
        (
            Variant::Atomic,
            "4k3/8/8/8/8/8/8/4KN2 w - - 0 1",
            [true, false],
        ),
        // Only the knight of the side to move can ever take the other.
        (
            Variant::Antichess,
            "8/8/2n5/8/5N2/8/8/8 w - - 0 1",
            [false, true],
        ),
        (
            Variant::Antichess,
            "8/8/2n5/8/4N3/8/8/8 w - - 0 1",
            [true, false],
        ),
        (
            Variant::Horde,
            "4k3/8/8/8/8/8/8/1NN5 w - - 0 1",
            [false, true],
        ),
        (
            Variant::Horde,
            "4k3/p7/8/8/8/8/8/1NN5 w - - 0 1",
            [true, true],
        ),
    ];
    for (variant, fen, expected) in cases {
        let position = position(variant, fen);
        let found = Color::ALL.map(|color| position.has_mating_material(color));
        assert_eq!(found, expected, "{variant}: {fen}");
    }
}

#[test]
fn termination_of_variants_is_that_of_lichess() {
    use Termination::{Checkmate, Stalemate, VariantDraw, VariantWin};
    let cases = [
        // The king in the center wins; so does the third check, but mate comes first.
        (
            Variant::KingOfTheHill,
            "4k3/8/8/8/8/3K4/8/8 w - - 0 1",
            "d3d4",
            Some(VariantWin(Color::White)),
        ),
        (
            Variant::ThreeCheck,
            "4k3/8/8/8/8/8/8/R3K3 w - - 0 1 +2+0",
            "a1a8",
            Some(VariantWin(Color::White)),
        ),
        (
            Variant::ThreeCheck,
            "4k3/8/8/8/8/8/8/R3K3 w - - 0 1 +1+0",
            "a1a8",
            None,
        ),
        (
            Variant::ThreeCheck,
            "4k3/R7/8/8/8/8/8/1R2K3 w - - 0 1 +2+0",
            "b1b8",
            Some(Checkmate),
        ),
        (
            Variant::Atomic,
            "4k3/3p4/8/8/8/8/8/3QK3 w - - 0 1",
            "d1d7",
            Some(VariantWin(Color::White)),
        ),
        (
            Variant::Antichess,
            "8/8/8/8/8/1p6/P7/8 w - - 0 1",
            "a2b3",
            Some(VariantWin(Color::Black)),
        ),
        // Stalemate wins in antichess.
        (
            Variant::Antichess,
            "8/8/8/p7/8/P7/8/8 w - - 0 1",
            "a3a4",
            Some(VariantWin(Color::Black)),
        ),
        (
            Variant::Horde,
            "8/8/8/8/8/3k4/3P4/8 b - - 0 1",
            "d3d2",
            Some(VariantWin(Color::Black)),
        ),
        (
            Variant::Horde,
            "k7/8/8/p7/8/P7/8/8 b - - 0 1",
            "a5a4",
            Some(Stalemate),
        ),
        // Black has a last move, and draws by it.
        (
            Variant::RacingKings,
            "8/k5K1/8/8/8/8/8/8 w - - 0 1",
            "g7g8",
            None,
        ),
        (
            Variant::RacingKings,
            "8/k5K1/8/8/8/8/8/8 w - - 0 1",
            "g7g8 a7a8",
            Some(VariantDraw),
        ),
        (
            Variant::RacingKings,
            "8/k5K1/8/8/8/8/8/8 w - - 0 1",
            "g7g8 a7a6",
            Some(VariantWin(Color::White)),
        ),
        (
            Variant::RacingKings,
            "8/8/k5K1/8/8/8/8/8 w - - 0 1",
            "g6g7 a6a7 g7f7 a7a8",
            Some(VariantWin(Color::Black)),
        ),
        (
            Variant::RacingKings,
            "8/6K1/k7/8/8/8/8/8 w - - 0 1",
            "g7g8",
            Some(VariantWin(Color::White)),
        ),
        // No mate while a drop helps; no fifty moves, but repetitions after captures.
        (
            Variant::Crazyhouse,
            "6k1/5ppp/8/8/8/8/8/R3K3/ w - - 0 1",
            "a1a8",
            Some(Checkmate),
        ),
        (
            Variant::Crazyhouse,
            "6k1/5ppp/8/8/8/8/8/R3K3/n w - - 0 1",
            "a1a8",
            None,
        ),
        (
            Variant::Crazyhouse,
            "r3k3/8/8/8/8/8/8/R3K3/ w - - 120 90",
            "a1b1",
            None,
        ),
    ];
    for (variant, fen, moves, expected) in cases {
        let game = Game::from_moves(position(variant, fen), moves.split(' '));
        let game = game.unwrap_or_else(|error| panic!("{fen}: {error}"));
        assert_eq!(game.termination(), expected, "{variant}: {fen} {moves}");
    }
}

#[test]
fn repetitions_in_crazyhouse_are_counted_across_captures() {
    let initial = position(Variant::Crazyhouse, "1r2k3/8/8/1n6/8/N7/8/4K3/ w - - 0 1");
    // The knights are traded and dropped again, twice, while the king goes and comes.
    let trade = ["a3b5", "b8b5", "N@a3", "b5b8"];
    let cycle = [&trade[..], &["e1f1", "N@b5"], &trade, &["f1e1", "N@b5"]].concat();
    let mut game = Game::new(initial);
    for times in 2..=5 {
        assert_eq!(game.termination(), None);
        for uci in &cycle {
            game.push_uci(uci).expect("a legal move");
        }
        assert_eq!(game.repetitions(), times);
    }
    assert_eq!(game.termination(), Some(Termination::FivefoldRepetition));
}

#[test]
fn pgn_of_variants_is_read_as_written() {
    let games = [
        (
            Variant::Crazyhouse,
            "e2e4 d7d5 e4d5 d8d5 P@e4 d5e4",
            "3. P@e4",
        ),
        (Variant::Antichess, "e2e3 b7b5 f1b5 c8a6 b5a6", "Bxb5"),
        (Variant::Atomic, "g1f3 f7f6 f3d4 b8c6 d4c6", "Nxc6"),
        (Variant::Horde, "a4a5 e7e6", "1. a5 e6"),
        (Variant::RacingKings, "h2h3 a2a3", "1. Kh3 Ka3"),
        (Variant::ThreeCheck, "e2e4 e7e5 f1c4 d7d6 c4f7", "Bxf7+"),
    ];
    for (variant, moves, part) in games {
        let game = Game::from_moves(variant.start(), moves.split(' ')).expect("legal moves");
        let text = pgn::write(&pgn::Tags::default(), &game, &[], Outcome::Unknown);
        assert!(text.contains(part), "{text}");
        assert!(text.contains(&format!("[Variant \"{variant}\"]")), "{text}");
        let has_own_start = matches!(variant, Variant::Horde | Variant::RacingKings);
        for tag in ["[SetUp \"1\"]", "[FEN \""] {
            assert_eq!(text.contains(tag), has_own_start, "{text}");
        }
        let mut reader = pgn::Reader::new();
        let record = reader
            .feed(&mut text.as_bytes())
            .expect("a game")
            .expect("a legal game");
        assert_eq!(record.game.position(), game.position(), "{text}");
    }
}
