use std::time::Duration;

use super::elo::CALIBRATION;
use super::*;
use crate::{Clock, Engine, EngineOptions, Score, Searcher, Setting};
use knightwatch_chess::pgn::Outcome;
use knightwatch_chess::{Game, Move, Position, Variant};

fn game(fen: &str) -> Game {
    Game::new(Position::from_fen(fen).expect("a good FEN"))
}

fn strength(elo: i32, seed: u64) -> Strength {
    Strength {
        elo: Elo::nearest(elo),
        seed,
    }
}

fn at(elo: i32, seed: u64) -> Limits {
    Limits {
        strength: Some(strength(elo, seed)),
        ..Limits::default()
    }
}

/// Moves of an open position with these scores, best first.
fn scored(game: &Game, scores: &[i32]) -> Vec<(Move, Option<Score>)> {
    let legal = game.position().legal_moves();
    let scores = scores.iter().map(|&cp| Some(Score::Centipawns(cp)));
    legal.iter().copied().zip(scores).collect()
}

/// How often each of these moves is chosen in ten thousand games.
fn taken(elo: i32, scores: &[i32]) -> Vec<u32> {
    let game = Game::new(Position::startpos());
    let moves = scored(&game, scores);
    let mut counts = vec![0; moves.len()];
    for seed in 0..10_000 {
        counts[strength(elo, seed).pick(&game, &moves)] += 1;
    }
    counts
}

#[test]
fn handicap_with_more_elo_is_weaker() {
    let all: Vec<Handicap> = (1_000..=2_800)
        .map(|elo| Handicap::of(Elo::nearest(elo)))
        .collect();
    for pair in all.windows(2) {
        let (weaker, stronger) = (pair[0], pair[1]);
        assert!(weaker.nodes <= stronger.nodes, "{pair:?}");
        assert!(weaker.spread > stronger.spread, "{pair:?}");
        assert!(weaker.lines >= stronger.lines, "{pair:?}");
        // No jump between neighbors.
        assert!(
            stronger.nodes as f64 <= 1.1 * weaker.nodes as f64 + 8.0,
            "{pair:?}"
        );
    }
    for pair in CALIBRATION.windows(2) {
        assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{pair:?}");
    }
    let (first, last) = (CALIBRATION[0].0, CALIBRATION[CALIBRATION.len() - 1].0);
    assert_eq!(first, f64::from(Elo::MIN.get()));
    assert_eq!(last, f64::from(Elo::MAX.get()));
}

#[test]
fn pick_of_worse_moves_follows_strength() {
    let scores = [30, 10, -60, -200, -900];
    let (beginner, club, master) = (
        taken(1_000, &scores),
        taken(2_000, &scores),
        taken(2_800, &scores),
    );
    // A beginner gives away two pawns now and then; at 2000 nobody does who has seen it.
    assert!(beginner[3] > 0, "{beginner:?}");
    assert_eq!((club[3], club[4]), (0, 0), "{club:?}");
    assert!(beginner[0] < club[0] && club[0] < master[0], "{club:?}");
    assert!(master[0] > 9_000, "{master:?}");
    // An equally good move is chosen as often.
    let even = taken(2_400, &[20, 20]);
    assert!((4_800..=5_200).contains(&even[0]), "{even:?}");
}

#[test]
fn pick_with_mate_in_one_plays_it_at_every_level() {
    let ladder = game("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1");
    for elo in [1_000, 1_500, 2_000] {
        for seed in 0..20 {
            let result = solo().search(&ladder, &at(elo, seed));
            let after = ladder.position().after(result.mv.expect("a move"));
            assert!(after.is_checkmate(), "{elo} {seed}: {result:?}");
        }
    }
}

#[test]
fn pick_from_1400_elo_avoids_mate_in_one() {
    // Black threatens Qg2 mate, and taking the queen on a7 does not parry it.
    let threat = game("6k1/q4ppp/8/8/8/5pq1/7P/R6K w - - 0 1");
    let careless = |elo: i32, seed: u64| {
        let mv = solo().search(&threat, &at(elo, seed)).mv.expect("a move");
        let after = threat.position().after(mv);
        let replies = after.legal_moves();
        replies.iter().any(|&mv| after.after(mv).is_checkmate())
    };
    for elo in [1_400, 1_800, 2_000] {
        for seed in 0..20 {
            assert!(!careless(elo, seed), "{elo} {seed}");
        }
    }
}

/// Positions in which the side to move wins at once by a rule of the variant.
const WINS_IN_ONE: [(Variant, &str); 4] = [
    (Variant::KingOfTheHill, "4k3/8/8/8/8/3K4/8/8 w - - 0 1"),
    (
        Variant::ThreeCheck,
        "4k3/pppp1ppp/8/8/8/8/PPPP1PPP/3QK3 w - - 0 1 +2+0",
    ),
    (
        Variant::Atomic,
        "rnbqkbnr/ppp2ppp/8/3pp1N1/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3",
    ),
    (Variant::RacingKings, "8/k6K/8/8/8/8/8/8 b - - 0 1"),
];

fn variant_game(variant: Variant, fen: &str) -> Game {
    Game::new(Position::from_variant_fen(variant, fen).expect("a good FEN"))
}

fn is_won(game: &Game, mv: Move) -> bool {
    game.position().after(mv).variant_outcome() == Outcome::Win(game.position().turn())
}

#[test]
fn pick_with_a_win_of_the_variant_plays_it_at_every_level() {
    for (variant, fen) in WINS_IN_ONE {
        let game = variant_game(variant, fen);
        for elo in [1_000, 2_000] {
            for seed in 0..10 {
                let mv = solo().search(&game, &at(elo, seed)).mv.expect("a move");
                assert!(is_won(&game, mv), "{variant} {elo} {seed}: {mv:?}");
            }
        }
    }
}

#[test]
fn pick_from_1400_elo_avoids_a_win_of_the_variant() {
    // White's knight on g5 would take on f7 and explode the king, Black's queen would give the third check on e4.
    for (variant, fen) in [
        (
            Variant::Atomic,
            "rnbqkbnr/pppp1ppp/8/4p1N1/8/8/PPPPPPPP/RNBQKB1R b KQkq - 1 2",
        ),
        (
            Variant::ThreeCheck,
            "4k3/pppp1ppp/8/7q/8/8/PPPP1PPP/3QK3 w - - 0 1 +0+2",
        ),
        (Variant::KingOfTheHill, "8/8/8/8/1k6/8/8/3RK3 w - - 0 1"),
    ] {
        let game = variant_game(variant, fen);
        for elo in [1_400, 2_000] {
            for seed in 0..10 {
                let mv = solo().search(&game, &at(elo, seed)).mv.expect("a move");
                let after = Game::new(game.position().after(mv));
                let replies = after.position().legal_moves();
                let loses = replies.iter().any(|&reply| is_won(&after, reply));
                assert!(!loses, "{variant} {elo} {seed}: {mv:?}");
            }
        }
    }
}

fn solo() -> Searcher {
    Searcher::new(1, &Setting::default())
}

#[test]
fn limited_search_is_legal_and_deterministic() {
    let positions = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        "7k/5Q2/8/8/8/8/8/K7 b - - 0 1",
        "k7/8/1K6/8/8/8/8/7R b - - 0 1",
    ];
    let engine = Engine::new(EngineOptions {
        hash_mib: 1,
        threads: 2,
    });
    for fen in positions {
        let game = game(fen);
        for (elo, seed) in [(1_000, 1), (1_000, 2), (1_600, 3), (1_900, 4)] {
            let first = engine.search(&game, at(elo, seed));
            let legal = game.position().legal_moves();
            match first.mv {
                Some(mv) => assert!(legal.contains(&mv), "{fen} {elo}"),
                None => assert!(legal.is_empty(), "{fen} {elo}"),
            }
            // The result does not depend on earlier searches or on the threads.
            engine.search(
                &game,
                Limits {
                    depth: Some(6),
                    ..Limits::default()
                },
            );
            let again = engine.search(&game, at(elo, seed));
            assert_eq!(
                (first.mv, first.nodes, first.depth),
                (again.mv, again.nodes, again.depth),
                "{fen} {elo}"
            );
            assert_eq!(solo().search(&game, &at(elo, seed)).mv, first.mv);
        }
    }
}

#[test]
fn limited_search_with_other_seed_differs() {
    let start = Game::new(Position::startpos());
    let mut solo = solo();
    let mut moves: Vec<_> = (0..30)
        .map(|seed| solo.search(&start, &at(1_200, seed)).mv.map(Move::bits))
        .collect();
    moves.sort_unstable();
    moves.dedup();
    assert!(moves.len() >= 4, "{moves:?}");
}

#[test]
fn limited_search_reports_only_requested_lines() {
    let start = Game::new(Position::startpos());
    let engine = Engine::new(EngineOptions {
        hash_mib: 1,
        threads: 1,
    });
    let result = engine.search(&start, at(1_000, 1));
    assert_eq!(result.multipv, 1);
    assert_eq!(result.pv.first().copied(), result.mv);
}

fn clock(seconds: u64, increment: u64) -> Limits {
    Limits {
        clock: Some(Clock {
            remaining: Duration::from_secs(seconds),
            increment: Duration::from_secs(increment),
            moves_to_go: None,
            overhead: Duration::from_millis(200),
            lag: Duration::from_millis(100),
            ponders: false,
        }),
        ..Limits::default()
    }
}

#[test]
fn think_time_of_whole_game_fits_the_clock() {
    for (base, moves) in [(60, 100), (180, 120), (600, 60)] {
        let mut game = Game::new(Position::startpos());
        let mut left = Duration::from_secs(base);
        let knights = ["g1f3", "g8f6", "f3g1", "f6g8"];
        for ply in 0..2 * moves {
            let mv = game.position().parse_uci(knights[ply % 4]).expect("a move");
            if ply % 2 == 0 {
                let limits = Limits {
                    clock: clock(0, 0).clock.map(|clock| Clock {
                        remaining: left,
                        ..clock
                    }),
                    ..Limits::default()
                };
                let took = think_time(&limits, &game, mv, strength(1_500, base));
                // The lag of every move.
                let spent = took + Duration::from_millis(100);
                left = left.checked_sub(spent).expect("the flag is up");
            }
            game.play(mv);
        }
        println!("{base} s: {left:.1?} left after {moves} moves");
        assert!(left < Duration::from_secs(base) / 2, "{base}: {left:?}");
    }
}

#[test]
fn think_time_varies_with_the_kind_of_move() {
    let limits = clock(300, 3);
    let mean = |game: &Game, uci: &str| {
        let mv = game.position().parse_uci(uci).expect("a move");
        let times = (0..200).map(|seed| think_time(&limits, game, mv, strength(1_500, seed)));
        let times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
        let (min, max) = (
            times.iter().copied().fold(f64::INFINITY, f64::min),
            times.iter().copied().fold(0.0, f64::max),
        );
        assert!(max > 3.0 * min, "{min} to {max}");
        times.iter().sum::<f64>() / times.len() as f64
    };
    let quiet = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4";
    let later = |moves: &[&str]| {
        Game::from_moves(
            Position::from_fen(quiet).expect("a good FEN"),
            moves.iter().copied(),
        )
        .expect("a game")
    };
    let opening = mean(&later(&[]), "d2d3");
    let mut moves = ["h1g1", "h8g8", "g1h1", "g8h8"].repeat(4);
    let middle = mean(&later(&moves), "d2d3");
    moves.extend(["b1c3", "f6e4"]);
    let (back, other) = (mean(&later(&moves), "c3e4"), mean(&later(&moves), "d2d3"));
    assert!(opening < 0.5 * middle, "{opening} {middle}");
    assert!((2.0..10.0).contains(&middle), "{middle}");
    // Recaptures are fast.
    assert!(back < 0.4 * other, "{back} {other}");
    // Never more than the time left.
    let short = Limits {
        max_time: Some(Duration::from_millis(50)),
        ..limits.clone()
    };
    let game = later(&[]);
    let mv = game.position().parse_uci("d2d3").expect("a move");
    for seed in 0..100 {
        assert!(think_time(&short, &game, mv, strength(1_500, seed)) <= Duration::from_millis(50));
    }
    assert_eq!(
        think_time(&Limits::default(), &game, mv, strength(1_500, 1)),
        Duration::ZERO
    );
}
