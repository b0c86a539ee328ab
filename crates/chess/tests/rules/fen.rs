//! FEN reader with damaged and random text.

use knightwatch_chess::{Position, Variant};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The reader never panics, and accepted positions can be played on.
#[test]
fn from_fen_of_mutated_text_never_panics() {
    let fens = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "1r1k2r1/8/8/2pPp3/8/8/8/1R1K2R1 w GBgb c6 3 40",
        "r1bqk2r/pppp1ppp/2n1p3/4P3/1b1Pn3/2NB1N2/PPP2PPP/R1BQK2R/Qnp b KQkq - 0 1",
        "4k3/1Q~6/8/8/4b3/8/Kpp5/8[PPnr] b - - 0 1",
        "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1",
        "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 +1+2",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 2+1 0 1",
    ];
    let letters: Vec<char> = "pnbrqkPNBRQK12345678/ -wbKQkqAHah36x\té\0[]~+"
        .chars()
        .collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut taken = 0;
    for _ in 0..60_000 {
        let mut text: Vec<char> = fens[random.usize(..fens.len())].chars().collect();
        for _ in 0..random.usize(1..6) {
            let place = random.usize(..text.len());
            let other = random.usize(..text.len());
            match random.u8(..4) {
                0 => drop(text.remove(place)),
                1 => text.insert(place, letters[random.usize(..letters.len())]),
                2 => text.swap(place, other),
                _ => text[place] = letters[random.usize(..letters.len())],
            }
        }
        let text: String = text.into_iter().collect();
        taken += u32::from(holds(&text));
    }
    assert!(taken > 1_000, "{taken}");
}

/// Returns whether a variant accepts the text; if so, checks that the position can be written and played on.
fn holds(text: &str) -> bool {
    Variant::ALL
        .map(|variant| holds_in(variant, text))
        .contains(&true)
}

fn holds_in(variant: Variant, text: &str) -> bool {
    let position = match Position::from_variant_fen(variant, text) {
        Ok(position) => position,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    for fen in [position.fen(), position.shredder_fen()] {
        let read = Position::from_variant_fen(variant, &fen);
        assert_eq!(read.as_ref(), Ok(&position), "{variant}: {text}");
    }
    let moves = position.legal_moves();
    assert_eq!(position.count_legal_moves() as usize, moves.len(), "{text}");
    let _ = (position.insufficient_material(), position.variant_outcome());
    for mv in &moves {
        let next = position.after(mv);
        if matches!(variant, Variant::Standard | Variant::Crazyhouse) {
            let king = next.king(position.turn());
            let attackers = next.attackers_to(king, next.occupied()) & next.by_color(next.turn());
            assert!(attackers.is_empty(), "{mv:?} in {text}");
        }
        assert_eq!(
            position.gives_check(mv),
            next.in_check(),
            "{mv:?} in {text}"
        );
        assert_eq!(
            position.parse_san(&position.san(mv)),
            Ok(mv),
            "{variant}: {text}"
        );
        // Moves lead to valid positions; but with an en passant square the start may be one that no game has, and so
        // may its successors.
        if position.en_passant().is_none() {
            let fen = next.fen();
            let read = Position::from_variant_fen(variant, &fen);
            assert_eq!(read, Ok(next), "{variant}: {mv:?} in {text}");
        }
    }
    true
}

/// A few random pieces, with a king for each side: most boards are valid.
fn sparse_board() -> impl Strategy<Value = String> {
    let piece = prop::sample::select("PNBRQpnbrq".chars().collect::<Vec<_>>());
    let pieces = prop::collection::vec((0..64usize, piece), 0..12);
    (pieces, 0..64usize, 0..64usize).prop_map(|(pieces, white, black)| {
        let mut board = ['1'; 64];
        for (square, piece) in pieces {
            board[square] = piece;
        }
        board[black] = 'k';
        board[white] = 'K';
        board
            .chunks(8)
            .map(String::from_iter)
            .collect::<Vec<_>>()
            .join("/")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn from_fen_of_random_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        holds(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn from_fen_of_fen_like_text_never_panics(text in "[pnbrqkPNBRQK1-8/]{0,80}( [wbWB-]( [KQkqA-Ha-h-]{1,5}( [a-h1-9-]{1,3}( [0-9-]{1,6}){0,3})?)?)?") {
        holds(&text);
    }

    #[test]
    fn from_variant_fen_of_random_fields_never_panics(
        board in sparse_board(),
        pockets in "|/[PNBRQpnbrqK]{0,6}|\\[[PNBRQpnbrq]{0,20}\\]",
        turn in "[wb]",
        checks in "|[0-4]\\+[0-4] ",
        end in "|\\+[0-4]\\+[0-4]",
    ) {
        let board = board.replacen('Q', "Q~", 1);
        holds(&format!("{board}{pockets} {turn} - - {checks}0 1 {end}"));
        holds(&format!("{board} {turn} - - {checks}0 1 {end}"));
    }

    #[test]
    fn from_fen_of_random_fields_never_panics(
        board in sparse_board(),
        turn in "[wb]",
        castling in "-|[KQkq]{1,4}|[A-Ha-h]{1,4}",
        en_passant in "-|[a-h][36]",
        rest in "|( [0-9]{1,3}){1,2}",
    ) {
        holds(&format!("{board} {turn} {castling} {en_passant}{rest}"));
        holds(&format!("{board} {turn} - -{rest}"));
    }
}
