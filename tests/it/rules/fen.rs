//! The FEN reader against damaged and random text.

use knightwatch::chess::Position;

/// Whatever the text, the reader answers, and what it takes can be played on with.
#[test]
fn no_text_upsets_the_fen_reader() {
    let fens = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "1r1k2r1/8/8/2pPp3/8/8/8/1R1K2R1 w GBgb c6 3 40",
    ];
    let letters: Vec<char> = "pnbrqkPNBRQK12345678/ -wbKQkqAHah36x\té\0"
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
        let Ok(position) = Position::from_fen(&text) else {
            continue;
        };
        taken += 1;
        assert_eq!(
            Position::from_fen(&position.fen()).as_ref(),
            Ok(&position),
            "{text}"
        );
        let moves = position.legal_moves();
        assert_eq!(position.count_legal_moves() as usize, moves.len(), "{text}");
        for mv in &moves {
            let next = position.after(mv);
            let king = next.king(position.turn());
            let attackers = next.attackers_to(king, next.occupied()) & next.by_color(next.turn());
            assert!(attackers.is_empty(), "{mv:?} in {text}");
            assert_eq!(
                position.gives_check(mv),
                next.in_check(),
                "{mv:?} in {text}"
            );
            assert_eq!(position.parse_san(&position.san(mv)), Ok(mv), "{text}");
        }
    }
    assert!(taken > 1_000, "{taken}");
}
