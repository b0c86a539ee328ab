//! Rules of chess compared with shakmaty, over random games of standard chess, Chess960 and variants.
//!
//! `KNIGHTWATCH_RULES_POSITIONS` sets the number of positions of each, `KNIGHTWATCH_RULES_SEED` selects other games.

mod en_passant;
mod endings;
mod fen;
mod perft;
mod variants;

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use knightwatch_chess::{
    Bitboard, CastlingNotation, Color, Game, Generate, Move, MoveKind, MoveList, Position, Role,
    Termination, Variant, attacks, pgn,
};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::variant::VariantPosition;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, EnPassantMode, KnownOutcome, Outcome, Position as _};

/// Number of independently seeded series, so that the games do not depend on the number of threads.
const SERIES: u64 = 32;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs `work` with the seed of each series, on all cores; prints the seed of a failure.
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
                eprintln!("failed with seed {seed}; reproduce with KNIGHTWATCH_RULES_SEED={seed}");
                panic::resume_unwind(panic);
            }
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for _ in 1..cores {
            scope.spawn(worker);
        }
        worker();
    });
}

/// Plays random games and passes each position to `check`, together with shakmaty's. 40,000 positions in a release
/// build, a quarter of that otherwise.
fn random_games(
    variant: Variant,
    mode: CastlingMode,
    check: impl Fn(&Game, &VariantPosition, &mut fastrand::Rng) + Sync,
) {
    let default = if cfg!(debug_assertions) {
        10_000
    } else {
        40_000
    };
    let positions = setting("KNIGHTWATCH_RULES_POSITIONS", default).div_ceil(SERIES);
    for_each_seed(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut seen = 0;
        while seen < positions {
            seen += random_game(variant, mode, &mut random, &check);
        }
    });
}

/// Plays one random game; returns the number of positions.
fn random_game(
    variant: Variant,
    mode: CastlingMode,
    random: &mut fastrand::Rng,
    check: impl Fn(&Game, &VariantPosition, &mut fastrand::Rng),
) -> u64 {
    let initial = start(variant, mode, random);
    let mut theirs = read_theirs(variant, mode, &initial.fen());
    let mut game = Game::new(initial);
    loop {
        check(&game, &theirs, random);
        let moves = theirs.legal_moves();
        if moves.is_empty() || game.moves().len() > 300 {
            return game.moves().len() as u64 + 1;
        }
        // Random games have few promotions and en passant captures: prefer rare moves.
        let rare: Vec<_> = moves
            .iter()
            .filter(|m| m.is_en_passant() || m.is_castle() || m.promotion().is_some())
            .collect();
        // An explosion or a check soon ends a random game; many drops hide the other moves.
        let common = |m: &shakmaty::Move| match variant {
            Variant::Crazyhouse => !matches!(m, shakmaty::Move::Put { .. }),
            _ => !m.is_capture(),
        };
        let calm: Vec<_> = moves.iter().filter(|m| common(m)).collect();
        let mv = if variant != Variant::Standard && !calm.is_empty() && random.bool() {
            *calm[random.usize(..calm.len())]
        } else if !rare.is_empty() && random.u8(..) < 160 {
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

/// The start position, a Chess960 one, or a sparse one in which pieces interact early.
fn start(variant: Variant, mode: CastlingMode, random: &mut fastrand::Rng) -> Position {
    if variant != Variant::Standard {
        return variants::start(variant, random);
    }
    if mode == CastlingMode::Chess960 {
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
    }
}

fn read_theirs(variant: Variant, mode: CastlingMode, fen: &str) -> VariantPosition {
    let setup = Fen::from_str(fen).expect("our FEN is a FEN").into_setup();
    let theirs = shakmaty::variant::Variant::from_uci(variant.uci()).expect("the same names");
    VariantPosition::from_setup(theirs, setup, mode)
        .unwrap_or_else(|error| panic!("our position is a position: {error}: {fen}"))
}

fn notation(mode: CastlingMode) -> CastlingNotation {
    match mode {
        CastlingMode::Standard => CastlingNotation::Standard,
        CastlingMode::Chess960 => CastlingNotation::KingTakesRook,
    }
}

fn compare(mode: CastlingMode, game: &Game, theirs: &VariantPosition, random: &mut fastrand::Rng) {
    let ours = game.position();
    let variant = ours.variant();
    let fen = ours.fen();
    let their_moves = theirs.legal_moves();

    // Same moves, in both notations.
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

    // SAN both ways: one move of each position, and all moves of some, which is expensive.
    let mut written: Vec<_> = random.choice(their_moves.as_slice()).into_iter().collect();
    if random.u8(..) < 16 {
        written = their_moves.iter().collect();
    }
    for &mv in written {
        let our_move = ours
            .parse_uci(&UciMove::from_move(mv, mode).to_string())
            .expect("a legal move");
        let san = SanPlus::from_move(theirs.clone(), mv).to_string();
        // A dropped pawn is written as Lichess does.
        let ours_san = ours.san(our_move);
        assert_eq!(
            ours_san
                .strip_prefix("P@")
                .map(|to| format!("@{to}"))
                .unwrap_or(ours_san),
            san,
            "{fen}"
        );
        assert_eq!(ours.parse_san(&san), Ok(our_move), "{fen}");
    }

    // FEN. Reading computes key, checkers and pins from scratch, which verifies the incremental ones; equal positions
    // are equal in every field.
    let their_fen = Fen::from_position(theirs, EnPassantMode::PseudoLegal).to_string();
    for fen in [&fen, &their_fen, &ours.shredder_fen()] {
        let read = Position::from_variant_fen(variant, fen);
        assert_eq!(read.as_ref(), Ok(ours), "{fen}");
        if theirs.outcome() == Outcome::Unknown {
            assert_eq!(&read_theirs(variant, mode, fen), theirs, "{fen}");
        }
    }
    let key: Zobrist64 = theirs.zobrist_hash(EnPassantMode::PseudoLegal);
    if variant == Variant::Standard {
        assert_eq!(fen, their_fen);
        assert_eq!(ours.key(), key.0, "{fen}");
    }
    if !ours.in_check() && theirs.outcome() == Outcome::Unknown {
        check_null_move(ours);
    }

    // End of the game, and mating material.
    for (our_color, their_color) in [
        (Color::White, shakmaty::Color::White),
        (Color::Black, shakmaty::Color::Black),
    ] {
        if variants::judges_material_like_shakmaty(ours) {
            assert_eq!(
                ours.has_mating_material(our_color),
                !theirs.has_insufficient_material(their_color),
                "{our_color} in {fen}"
            );
        }
    }
    let ending = match theirs.outcome() {
        Outcome::Known(KnownOutcome::Decisive { winner }) => {
            let winner = match winner {
                shakmaty::Color::White => Color::White,
                shakmaty::Color::Black => Color::Black,
            };
            Some(match ours.variant_outcome() {
                pgn::Outcome::Win(color) if !ours.is_checkmate() => {
                    assert_eq!(color, winner, "{fen}");
                    Termination::VariantWin(winner)
                }
                _ => {
                    assert_eq!(!ours.turn(), winner, "{fen}");
                    Termination::Checkmate
                }
            })
        }
        Outcome::Known(KnownOutcome::Draw) if theirs.is_stalemate() => Some(Termination::Stalemate),
        Outcome::Known(KnownOutcome::Draw) if variant == Variant::RacingKings => {
            Some(Termination::VariantDraw)
        }
        Outcome::Known(KnownOutcome::Draw) => Some(Termination::InsufficientMaterial),
        Outcome::Unknown => None,
    };
    let differs = [ending, game.termination()].contains(&Some(Termination::InsufficientMaterial))
        && !variants::judges_material_like_shakmaty(ours);
    let from_history = [
        Some(Termination::FiftyMoves),
        Some(Termination::FivefoldRepetition),
    ];
    if !differs && (ending.is_some() || !from_history.contains(&game.termination())) {
        assert_eq!(game.termination(), ending, "{fen}");
    }

    // Other rules than pins restrict the moves of atomic chess, and antichess has none.
    if matches!(variant, Variant::Atomic | Variant::Antichess) {
        check_noisy_and_quiet_moves(ours, &our_moves, random);
        return;
    }
    for color in Color::ALL {
        assert_eq!(ours.pinned(color), pins_by_x_rays(ours, color), "{fen}");
    }
    check_noisy_and_quiet_moves(ours, &our_moves, random);
}

/// Pinned pieces of a side, found by x-rays from the king.
fn pins_by_x_rays(position: &Position, color: Color) -> Bitboard {
    let Some(king) = position.royal_king(color) else {
        return Bitboard::EMPTY;
    };
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

/// A null move gives the same position as a FEN with the other side to move.
fn check_null_move(position: &Position) {
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
    let read = Position::from_variant_fen(position.variant(), &fen);
    assert_eq!(read, Ok(passed), "{before}");
}

/// Noisy and quiet moves together are all moves, and tests of single moves agree with the list.
fn check_noisy_and_quiet_moves(position: &Position, all: &MoveList, random: &mut fastrand::Rng) {
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
fn rules_of_standard_chess_match_shakmaty() {
    let mode = CastlingMode::Standard;
    random_games(Variant::Standard, mode, |game, theirs, random| {
        compare(mode, game, theirs, random);
    });
}

#[test]
fn rules_of_chess960_match_shakmaty() {
    let mode = CastlingMode::Chess960;
    random_games(Variant::Standard, mode, |game, theirs, random| {
        compare(mode, game, theirs, random);
    });
}

/// All 16-bit moves, in positions with many possibilities.
#[test]
fn is_legal_of_any_bits_matches_legal_moves() {
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
