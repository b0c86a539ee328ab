//! The rules of chess against shakmaty's, over random games of standard chess and Chess960.
//!
//! `KNIGHTWATCH_RULES_POSITIONS` sets the number of positions of each of the two, `KNIGHTWATCH_RULES_SEED` another series
//! of games.

mod en_passant;
mod fen;
mod perft;

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use knightwatch::chess::{
    Bitboard, CastlingNotation, Color, Ending, Game, Generate, Move, MoveKind, MoveList, Position,
    Role, attacks,
};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, KnownOutcome, Outcome, Position as _};

/// In how many series the games are played. Each has its own seed, so that what is played does not depend on the
/// number of threads.
const SERIES: u64 = 32;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Does something with each of the series' seeds, on all cores, and says which seed it was that went wrong.
fn for_each_seed(work: impl Fn(u64) + Sync) {
    let first = setting("KNIGHTWATCH_RULES_SEED", 64);
    let taken = AtomicU64::new(0);
    let worker = || {
        loop {
            let series = taken.fetch_add(1, Relaxed);
            if series >= SERIES {
                return;
            }
            let seed = first + series;
            let done = panic::catch_unwind(AssertUnwindSafe(|| work(seed)));
            if let Err(panic) = done {
                taken.store(SERIES, Relaxed);
                eprintln!("this was seed {seed}: KNIGHTWATCH_RULES_SEED={seed} begins with it");
                panic::resume_unwind(panic);
            }
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, |count| count.get());
        for _ in 1..cores {
            scope.spawn(worker);
        }
        worker();
    });
}

/// Plays random games and shows each of their positions, with shakmaty's of the same game. A release build takes
/// 100,000 positions, one without optimisation a tenth.
fn random_games(mode: CastlingMode, look: impl Fn(&Game, &Chess, &mut fastrand::Rng) + Sync) {
    let default = if cfg!(debug_assertions) {
        10_000
    } else {
        100_000
    };
    let positions = setting("KNIGHTWATCH_RULES_POSITIONS", default).div_ceil(SERIES);
    for_each_seed(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut seen = 0;
        while seen < positions {
            seen += random_game(mode, &mut random, &look);
        }
    });
}

/// Plays one random game; the number of its positions.
fn random_game(
    mode: CastlingMode,
    random: &mut fastrand::Rng,
    look: impl Fn(&Game, &Chess, &mut fastrand::Rng),
) -> u64 {
    let (initial, mut theirs) = start(mode, random);
    let mut game = Game::new(initial);
    loop {
        look(&game, &theirs, random);
        let moves = theirs.legal_moves();
        if moves.is_empty() || game.moves().len() > 300 {
            return game.moves().len() as u64 + 1;
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
        assert_eq!(
            ours.gives_check(our_move),
            ours.after(our_move).in_check(),
            "{uci} in {fen}"
        );
    }

    // SAN both ways: a move of each position, and all moves of some, which costs more than all the rest.
    let mut written: Vec<_> = random.choice(their_moves.as_slice()).into_iter().collect();
    if random.u8(..) < 16 {
        written = their_moves.iter().collect();
    }
    for &mv in written {
        let our_move = ours
            .parse_uci(&UciMove::from_move(mv, mode).to_string())
            .expect("a legal move");
        let san = SanPlus::from_move(theirs.clone(), mv).to_string();
        assert_eq!(ours.san(our_move), san, "{fen}");
        assert_eq!(ours.parse_san(&san), Ok(our_move), "{fen}");
    }

    // Text. What is read of it is worked out afresh, so that it proves the key, the checkers and the pins that the
    // moves kept up to date; equal positions are equal in every field.
    assert_eq!(
        fen,
        Fen::from_position(theirs, EnPassantMode::PseudoLegal).to_string()
    );
    assert_eq!(Position::from_fen(&fen).as_ref(), Ok(ours), "{fen}");
    let shredder = ours.shredder_fen();
    assert_eq!(
        Position::from_fen(&shredder).as_ref(),
        Ok(ours),
        "{shredder}"
    );
    let read: Fen = shredder.parse().expect("our Shredder-FEN is a FEN");
    let read: Chess = read
        .into_position(mode)
        .expect("our position is a position");
    assert_eq!(&read, theirs, "{shredder}");
    let key: Zobrist64 = theirs.zobrist_hash(EnPassantMode::PseudoLegal);
    assert_eq!(ours.key(), key.0, "{fen}");
    if !ours.in_check() {
        passing_leaves_a_whole_position(ours);
    }

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

    for color in Color::ALL {
        assert_eq!(ours.pinned(color), pins_by_x_rays(ours, color), "{fen}");
    }
    parts_make_the_whole(ours, &our_moves, random);
}

/// The pieces of a side that are pinned, found from the king through its own pieces.
fn pins_by_x_rays(position: &Position, color: Color) -> Bitboard {
    let king = position.king(color);
    let (us, them) = (position.by_color(color), position.by_color(!color));
    let occupied = us | them;
    let queens = position.by_role(Role::Queen);
    let straight = (position.by_role(Role::Rook) | queens) & them;
    let diagonal = (position.by_role(Role::Bishop) | queens) & them;
    let pinners = attacks::rook_x_ray(king, occupied, us) & straight
        | attacks::bishop_x_ray(king, occupied, us) & diagonal;
    pinners.into_iter().fold(Bitboard::EMPTY, |pins, pinner| {
        pins | attacks::between(king, pinner) & us
    })
}

/// What the search's null move leaves is what a FEN with the other side to move says.
fn passing_leaves_a_whole_position(position: &Position) {
    let mut passed = position.clone();
    passed.play_null();
    let fen = passed.fen();
    let (board, rest) = fen.split_once(' ').expect("six fields");
    let before = position.fen();
    assert!(before.starts_with(board), "{before}");
    assert!(
        rest.starts_with(passed.turn().char()) && passed.turn() != position.turn(),
        "{before}"
    );
    assert_eq!(Position::from_fen(&fen), Ok(passed), "{before}");
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
