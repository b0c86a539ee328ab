//! The rules of chess against shakmaty's, over random games of standard chess and Chess960.
//!
//! `KNIGHTWATCH_RULES_POSITIONS` sets the number of positions, `KNIGHTWATCH_RULES_SEED` another series of games.

use std::collections::BTreeSet;
use std::str::FromStr;

use knightwatch::chess::{
    CastlingNotation, Color, Ending, Game, Generate, Move, MoveKind, MoveList, Position,
};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, KnownOutcome, Outcome, Position as _};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Plays random games and shows each of their positions, with shakmaty's of the same game.
fn random_games(mode: CastlingMode, mut look: impl FnMut(&Game, &Chess, &mut fastrand::Rng)) {
    let positions = setting("KNIGHTWATCH_RULES_POSITIONS", 30_000);
    let mut random = fastrand::Rng::with_seed(setting("KNIGHTWATCH_RULES_SEED", 64));
    let mut seen = 0;
    while seen < positions {
        let (initial, mut theirs) = start(mode, &mut random);
        let mut game = Game::new(initial);
        loop {
            look(&game, &theirs, &mut random);
            seen += 1;
            let moves = theirs.legal_moves();
            if moves.is_empty() || game.moves().len() > 300 {
                break;
            }
            // Games of wholly random moves see few promotions and en passants: prefer the rare.
            let rare: Vec<_> = moves
                .iter()
                .filter(|m| m.is_en_passant() || m.is_castle() || m.promotion().is_some())
                .collect();
            let mv = if !rare.is_empty() && random.u8(..) < 160 {
                *rare[random.usize(..rare.len())]
            } else {
                moves[random.usize(..moves.len())]
            };
            let uci = UciMove::from_move(mv, mode).to_string();
            game.push_uci(&uci)
                .unwrap_or_else(|error| panic!("{error} in {:?}", game.position()));
            theirs.play_unchecked(mv);
        }
    }
}

/// The start position, one of Chess960, or a bare one where the pieces reach each other soon.
fn start(mode: CastlingMode, random: &mut fastrand::Rng) -> (Position, Chess) {
    let position = if mode == CastlingMode::Chess960 {
        Position::chess960_start(random.u32(..960)).expect("a number below 960")
    } else if random.bool() {
        Position::startpos()
    } else {
        let fens = [
            "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
            "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "4k3/8/8/8/8/8/8/2B1KN2 w - - 0 1",
            "2b1kn2/8/8/8/8/8/8/2B1KN2 w - - 0 1",
        ];
        Position::from_fen(fens[random.usize(..fens.len())]).expect("a position")
    };
    let theirs = Fen::from_str(&position.fen())
        .expect("our FEN is a FEN")
        .into_position(mode)
        .expect("our position is a position");
    (position, theirs)
}

fn notation(mode: CastlingMode) -> CastlingNotation {
    match mode {
        CastlingMode::Standard => CastlingNotation::Standard,
        CastlingMode::Chess960 => CastlingNotation::KingTakesRook,
    }
}

fn compare(mode: CastlingMode, game: &Game, theirs: &Chess, random: &mut fastrand::Rng) {
    let ours = game.position();
    let fen = ours.fen();
    let their_moves = theirs.legal_moves();

    // The same moves, in both notations.
    let our_moves = ours.legal_moves();
    let written: BTreeSet<String> = our_moves
        .iter()
        .map(|mv| mv.uci(notation(mode)).to_string())
        .collect();
    let expected: BTreeSet<String> = their_moves
        .iter()
        .map(|&mv| UciMove::from_move(mv, mode).to_string())
        .collect();
    assert_eq!(written, expected, "{fen}");
    assert_eq!(our_moves.len(), their_moves.len(), "{fen}");
    assert_eq!(
        ours.count_legal_moves() as usize,
        their_moves.len(),
        "{fen}"
    );
    assert_eq!(ours.checkers().0, theirs.checkers().0, "{fen}");

    for &mv in &their_moves {
        let uci = UciMove::from_move(mv, mode).to_string();
        let our_move = ours.parse_uci(&uci).expect("a legal move");
        assert!(our_moves.contains(&our_move), "{our_move:?} in {fen}");
        let takes_rook = UciMove::from_move(mv, CastlingMode::Chess960).to_string();
        assert_eq!(ours.parse_uci(&takes_rook).as_ref(), Ok(&our_move), "{fen}");
        assert_eq!(our_move.is_capture(), mv.is_capture(), "{uci} in {fen}");
        assert_eq!(
            our_move.kind() == MoveKind::EnPassant,
            mv.is_en_passant(),
            "{uci} in {fen}"
        );
    }

    // One move in SAN both ways, and what it leads to.
    if let Some(&mv) = random.choice(their_moves.as_slice()) {
        let our_move = ours
            .parse_uci(&UciMove::from_move(mv, mode).to_string())
            .expect("a legal move");
        let san = SanPlus::from_move(theirs.clone(), mv).to_string();
        assert_eq!(ours.san(our_move), san, "{fen}");
        assert_eq!(ours.parse_san(&san), Ok(our_move), "{fen}");
        assert_eq!(
            ours.gives_check(our_move),
            ours.after(our_move).in_check(),
            "{san} in {fen}"
        );
    }

    // Text and key.
    assert_eq!(
        fen,
        Fen::from_position(theirs, EnPassantMode::PseudoLegal).to_string()
    );
    let again = Position::from_fen(&fen).expect("our own FEN");
    assert_eq!(&again, ours, "{fen}");
    let shredder = ours.shredder_fen();
    assert_eq!(
        Position::from_fen(&shredder).as_ref(),
        Ok(ours),
        "{shredder}"
    );
    let key: Zobrist64 = theirs.zobrist_hash(EnPassantMode::PseudoLegal);
    assert_eq!(ours.key(), key.0, "{fen}");

    // The end, and what can still be won.
    for (our_color, their_color) in [
        (Color::White, shakmaty::Color::White),
        (Color::Black, shakmaty::Color::Black),
    ] {
        assert_eq!(
            ours.has_mating_material(our_color),
            !theirs.has_insufficient_material(their_color),
            "{fen}"
        );
    }
    let ending = match theirs.outcome() {
        Outcome::Known(KnownOutcome::Decisive { .. }) => Some(Ending::Checkmate),
        Outcome::Known(KnownOutcome::Draw) if theirs.is_stalemate() => Some(Ending::Stalemate),
        Outcome::Known(KnownOutcome::Draw) => Some(Ending::InsufficientMaterial),
        Outcome::Unknown => None,
    };
    let from_history = [Some(Ending::FiftyMoves), Some(Ending::FivefoldRepetition)];
    if ending.is_some() || !from_history.contains(&game.ending()) {
        assert_eq!(game.ending(), ending, "{fen}");
    }

    parts_make_the_whole(ours, &our_moves, random);
}

/// Noisy and quiet moves together are all moves, and single moves are judged as the list judges them.
fn parts_make_the_whole(position: &Position, all: &MoveList, random: &mut fastrand::Rng) {
    let mut noisy = MoveList::new();
    position.generate(Generate::Noisy, &mut noisy);
    assert!(noisy.iter().all(|mv| mv.is_noisy()), "{position:?}");
    let mut quiet = MoveList::new();
    position.generate(Generate::Quiet, &mut quiet);
    assert!(quiet.iter().all(|mv| !mv.is_noisy()), "{position:?}");
    let sorted = |list: &[&[Move]]| {
        let mut bits: Vec<u16> = list.concat().iter().map(|mv| mv.bits()).collect();
        bits.sort_unstable();
        bits
    };
    assert_eq!(sorted(&[&noisy, &quiet]), sorted(&[all]), "{position:?}");

    for mv in all {
        assert!(position.is_legal(mv), "{mv:?} in {position:?}");
    }
    for _ in 0..20 {
        if let Some(mv) = Move::from_bits(random.u16(..)) {
            assert_eq!(
                position.is_legal(mv),
                all.contains(&mv),
                "{mv:?} in {position:?}"
            );
        }
    }
}

#[test]
fn standard_chess_is_shakmatys() {
    let mode = CastlingMode::Standard;
    random_games(mode, |game, theirs, random| {
        compare(mode, game, theirs, random)
    });
}

#[test]
fn chess960_is_shakmatys() {
    let mode = CastlingMode::Chess960;
    random_games(mode, |game, theirs, random| {
        compare(mode, game, theirs, random)
    });
}

/// Every move that 16 bits can say, in positions where much is possible.
#[test]
fn any_bits_are_judged_as_the_list_of_legal_moves_judges_them() {
    let fens = [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        "8/8/8/K1pP3r/8/8/8/7k w - c6 0 1",
        "4k3/8/8/1q6/3Pp3/8/8/R3K2R b KQ d3 0 1",
        "1r1k2r1/8/8/8/8/8/8/1R1K2R1 w GBgb - 0 1",
        "4k3/4r3/8/8/8/5n2/3PP3/R3K2R w KQ - 0 1",
    ];
    for fen in fens {
        let position = Position::from_fen(fen).expect("a position");
        let all = position.legal_moves();
        for mv in (0..=u16::MAX).filter_map(Move::from_bits) {
            assert_eq!(position.is_legal(mv), all.contains(&mv), "{mv:?} in {fen}");
        }
    }
}

/// The counts of start positions of Chess960 and of positions with castling of all kinds.
#[test]
fn perft_of_chess960() {
    let known: [(&str, &[u64]); 4] = [
        (
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            &[21, 528, 12_189, 326_672],
        ),
        (
            "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
            &[21, 807, 18_002, 667_366],
        ),
        (
            "qbbnnrkr/2pp2pp/p7/1p2pp2/8/P3PP2/1PPP1KPP/QBBNNR1R w hf - 0 9",
            &[22, 593, 13_440, 382_958],
        ),
        ("1rkr4/8/8/8/8/8/8/1RKR4 w DBdb - 0 1", &[]),
    ];
    for (fen, counts) in known {
        let position = Position::from_fen(fen).expect("a position");
        for (depth, &count) in (1..).zip(counts) {
            assert_eq!(
                knightwatch::chess::perft::perft(&position, depth),
                count,
                "{fen} at depth {depth}"
            );
        }
        let theirs: Chess = Fen::from_str(fen)
            .expect("a FEN")
            .into_position(CastlingMode::Chess960)
            .expect("a position");
        assert_eq!(
            knightwatch::chess::perft::perft(&position, 4),
            shakmaty::perft(&theirs, 4),
            "{fen}"
        );
    }
}

/// The positions of the suites that each aim at one rule, to the depths that another program counted.
#[test]
fn perft_of_the_suites() {
    let suites = [
        include_str!("../suites/standard.perft"),
        include_str!("../suites/chess960.perft"),
    ];
    for (suite, least) in suites.into_iter().zip([60, 30]) {
        let mut rule = "";
        let mut positions = 0;
        for line in suite.lines().filter(|line| !line.is_empty()) {
            if let Some(comment) = line.strip_prefix("# ") {
                rule = comment;
                continue;
            }
            let (fen, counts) = line.split_once(" ; ").expect("a FEN and its counts");
            let position =
                Position::from_fen(fen).unwrap_or_else(|error| panic!("{rule}: {fen}: {error}"));
            for (depth, count) in (1..).zip(counts.split(' ')) {
                let count: u64 = count.parse().expect("a count");
                assert_eq!(
                    knightwatch::chess::perft::perft(&position, depth),
                    count,
                    "{rule}: {fen} at depth {depth}"
                );
            }
            positions += 1;
        }
        assert!(positions >= least, "{positions}");
    }
}

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
