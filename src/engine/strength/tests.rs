use std::time::Duration;

use super::*;
use crate::chess::{Game, Move, Position};
use crate::engine::{Clock, Engine, EngineOptions, Score, Setting, Solo};

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

/// How often each of these moves is taken in ten thousand games.
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
fn more_elo_is_more_of_everything() {
    let all: Vec<Handicap> = (1_000..=2_800)
        .map(|elo| Handicap::of(Elo::nearest(elo)))
        .collect();
    for pair in all.windows(2) {
        let (weaker, stronger) = (pair[0], pair[1]);
        assert!(weaker.nodes <= stronger.nodes, "{pair:?}");
        assert!(weaker.spread > stronger.spread, "{pair:?}");
        assert!(weaker.lines >= stronger.lines, "{pair:?}");
        // No leap between neighbours.
        assert!(
            stronger.nodes as f64 <= 1.1 * weaker.nodes as f64 + 8.0,
            "{pair:?}"
        );
    }
    for pair in RUNGS.windows(2) {
        assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{pair:?}");
    }
    let (first, last) = (RUNGS[0].0, RUNGS[RUNGS.len() - 1].0);
    assert_eq!(first, f64::from(Elo::MIN.get()));
    assert_eq!(last, f64::from(Elo::MAX.get()));
}

#[test]
fn blunders_are_in_proportion() {
    let scores = [30, 10, -60, -200, -900];
    let (beginner, club, master) = (
        taken(1_000, &scores),
        taken(2_000, &scores),
        taken(2_800, &scores),
    );
    // A beginner gives two pawns now and then; at 2000 nobody does when he has seen it.
    assert!(beginner[3] > 0, "{beginner:?}");
    assert_eq!((club[3], club[4]), (0, 0), "{club:?}");
    assert!(beginner[0] < club[0] && club[0] < master[0], "{club:?}");
    assert!(master[0] > 9_000, "{master:?}");
    // What is as good is taken as often.
    let even = taken(2_400, &[20, 20]);
    assert!((4_800..=5_200).contains(&even[0]), "{even:?}");
}

#[test]
fn a_mate_in_one_is_given_at_every_level() {
    let ladder = game("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1");
    for elo in [1_000, 1_500, 2_000] {
        for seed in 0..20 {
            let thought = solo().think(&ladder, &at(elo, seed));
            let after = ladder.position().after(thought.mv.expect("a move"));
            assert!(after.is_checkmate(), "{elo} {seed}: {thought:?}");
        }
    }
}

#[test]
fn from_1400_on_nobody_walks_into_a_mate_in_one() {
    // Black threatens Qg2 mate, and taking the queen on a7 does not parry it.
    let threat = game("6k1/q4ppp/8/8/8/5pq1/7P/R6K w - - 0 1");
    let careless = |elo: i32, seed: u64| {
        let mv = solo().think(&threat, &at(elo, seed)).mv.expect("a move");
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

fn solo() -> Solo {
    Solo::new(1, &Setting::default())
}

#[test]
fn every_move_is_legal_and_the_same_again() {
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
            let first = engine.think(&game, at(elo, seed));
            let legal = game.position().legal_moves();
            match first.mv {
                Some(mv) => assert!(legal.contains(&mv), "{fen} {elo}"),
                None => assert!(legal.is_empty(), "{fen} {elo}"),
            }
            // Whatever was thought meanwhile, and on whichever threads.
            engine.think(
                &game,
                Limits {
                    depth: Some(6),
                    ..Limits::default()
                },
            );
            let again = engine.think(&game, at(elo, seed));
            assert_eq!(
                (first.mv, first.nodes, first.depth),
                (again.mv, again.nodes, again.depth),
                "{fen} {elo}"
            );
            assert_eq!(solo().think(&game, &at(elo, seed)).mv, first.mv);
        }
    }
}

#[test]
fn other_games_go_other_ways() {
    let start = Game::new(Position::startpos());
    let mut solo = solo();
    let mut moves: Vec<_> = (0..30)
        .map(|seed| solo.think(&start, &at(1_200, seed)).mv.map(Move::bits))
        .collect();
    moves.sort_unstable();
    moves.dedup();
    assert!(moves.len() >= 4, "{moves:?}");
}

#[test]
fn only_the_move_itself_is_told_unless_more_is_asked_for() {
    let start = Game::new(Position::startpos());
    let engine = Engine::new(EngineOptions {
        hash_mib: 1,
        threads: 1,
    });
    let thought = engine.think(&start, at(1_000, 1));
    assert_eq!(thought.rank, 1);
    assert_eq!(thought.pv.first().copied(), thought.mv);
}

fn clock(seconds: u64, increment: u64) -> Limits {
    Limits {
        clock: Some(Clock {
            remaining: Duration::from_secs(seconds),
            increment: Duration::from_secs(increment),
            moves_to_go: None,
            overhead: Duration::from_millis(200),
            lag: Duration::from_millis(100),
        }),
        ..Limits::default()
    }
}

#[test]
fn a_whole_game_lasts_as_long_as_its_clock() {
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
                let took = tempo(&limits, &game, mv, strength(1_500, base));
                // And what every move loses on its way.
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
fn people_take_their_time_but_not_for_everything() {
    let limits = clock(300, 3);
    let mean = |game: &Game, uci: &str| {
        let mv = game.position().parse_uci(uci).expect("a move");
        let times = (0..200).map(|seed| tempo(&limits, game, mv, strength(1_500, seed)));
        let times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
        let (least, most) = (
            times.iter().copied().fold(f64::INFINITY, f64::min),
            times.iter().copied().fold(0.0, f64::max),
        );
        assert!(most > 3.0 * least, "{least} to {most}");
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
    // What has just taken is taken back at once.
    assert!(back < 0.4 * other, "{back} {other}");
    // Never more than there is.
    let short = Limits {
        at_most: Some(Duration::from_millis(50)),
        ..limits.clone()
    };
    let game = later(&[]);
    let mv = game.position().parse_uci("d2d3").expect("a move");
    for seed in 0..100 {
        assert!(tempo(&short, &game, mv, strength(1_500, seed)) <= Duration::from_millis(50));
    }
    assert_eq!(
        tempo(&Limits::default(), &game, mv, strength(1_500, 1)),
        Duration::ZERO
    );
}
