//! What users of the engine rely on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::control::NODES_PER_LOOK;
use super::threads::Job;
use super::*;
use crate::chess::Move;

fn engine(threads: usize) -> Engine {
    Engine::new(EngineOptions {
        hash_mib: 1,
        threads,
    })
}

fn game(fen: &str) -> Game {
    Game::new(Position::from_fen(fen).expect("a good FEN"))
}

fn depth(depth: u32) -> Limits {
    Limits {
        depth: Some(depth),
        ..Limits::default()
    }
}

fn endless() -> Limits {
    Limits {
        infinite: true,
        ..Limits::default()
    }
}

/// A task whose answer comes through a channel.
fn task(game: &Game, limits: Limits) -> (Task, mpsc::Receiver<Thought>) {
    let (sender, receiver) = mpsc::channel();
    let task = Task {
        about: 0,
        game: game.clone(),
        limits,
        on_info: Box::new(|_| {}),
        on_done: Box::new(move |thought| drop(sender.send(thought))),
    };
    (task, receiver)
}

fn answer(receiver: &mpsc::Receiver<Thought>) -> Thought {
    receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("an answer")
}

fn legal(game: &Game, mv: Option<Move>) -> bool {
    mv.is_some_and(|mv| game.position().is_legal(mv))
}

fn uci(game: &Game, text: &str) -> Option<Move> {
    Some(game.position().parse_uci(text).expect("a legal move"))
}

#[test]
fn mates_are_found_with_their_length() {
    let table = [
        ("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1", 1, "a1a8"),
        ("7k/8/8/8/8/8/R7/1R5K w - - 0 1", 2, "a2a7"),
        (
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            1,
            "h5f7",
        ),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3, "f6a6"),
        ("8/8/8/8/8/3k4/3q4/K7 b - - 0 1", 2, "d3c3"),
    ];
    for (fen, moves, best) in table {
        let game = game(fen);
        // A fraction of a second: a move that gives up a rook is reduced by many plies at first.
        let thought = engine(1).think(&game, depth(30));
        assert_eq!(thought.score, Score::Mate(moves), "{fen}");
        if moves != 2 {
            assert_eq!(thought.mv, uci(&game, best), "{fen}");
        }
        assert_eq!(
            thought.pv.len(),
            2 * moves as usize - 1,
            "{fen}: {:?}",
            thought.pv
        );
    }
    let lost = engine(1).think(&game("7k/R7/8/8/8/8/8/1R4K1 b - - 0 1"), depth(8));
    assert_eq!(lost.score, Score::Mate(-1));
}

/// Where passing would be best, where a win turns into stalemate by a careless move, and where only one move keeps the
/// draw: what null move, extensions and reductions may not spoil. Another engine agrees on the moves.
#[test]
fn zugzwang_stalemate_and_fortress_are_not_thrown_away() {
    let table = [
        // Zugzwang: distant opposition, an only move to wait, a quiet king move against a bound queen, a knight given up.
        ("8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1", "a1b1"),
        ("8/8/p1p5/1p5p/1P5p/8/PPP2K1p/4R1rk w - - 0 1", "e1f1"),
        ("1q1k4/2Rr4/8/2Q3K1/8/8/8/8 w - - 0 1", "g5h6"),
        ("8/8/1p1r1k2/p1pPN1p1/P3KnP1/1P6/8/3R4 b - - 0 1", "f4d5"),
        // Stalemate: a queen would be too much, the knight is worth nothing, the king must let go.
        ("8/5P1k/5K2/8/8/8/8/8 w - - 0 1", "f7f8r"),
        ("2k5/2P5/2K5/8/8/8/8/6N1 w - - 0 1", "c6d6 c6b6"),
        ("k7/P7/K7/8/8/8/8/1R6 w - - 0 1", "b1b8 a6a5 a6b5"),
        ("5k2/8/5K2/4P3/8/8/8/8 w - - 0 1", "e5e6 f6e6"),
        ("6Q1/8/8/8/8/2K5/1p6/k7 w - - 0 1", "g8a8 g8g5"),
        // Fortress: the queen is given up for stalemate rather than exchanged.
        ("7k/5Qp1/6P1/8/8/8/8/K5q1 w - - 0 1", "a1a2 a1b2"),
    ];
    let limits = Limits {
        nodes: Some(400_000),
        ..Limits::default()
    };
    for (fen, good) in table {
        let game = game(fen);
        let played = engine(1).think(&game, limits.clone()).mv;
        let is_good = good.split(' ').any(|mv| played == uci(&game, mv));
        assert!(is_good, "{fen}: {played:?} is not of {good}");
    }
}

#[test]
fn a_wanted_mate_ends_the_search() {
    let game = game("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1");
    let thought = engine(1).think(
        &game,
        Limits {
            mate: Some(3),
            ..Limits::default()
        },
    );
    assert_eq!(thought.score, Score::Mate(3));
}

#[test]
fn when_the_game_is_over_there_is_no_move() {
    let mated = engine(1).think(&game("R5k1/5ppp/8/8/8/8/8/7K b - - 0 1"), depth(5));
    assert_eq!((mated.mv, mated.score), (None, Score::Mate(0)));
    let stalemate = engine(1).think(&game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), depth(5));
    assert_eq!(
        (stalemate.mv, stalemate.score),
        (None, Score::Centipawns(0))
    );
}

#[test]
fn draws_are_seen() {
    // Stalemate tricks, a fortress of bare kings, the fifty-move rule one ply away.
    for (fen, plies) in [
        ("8/8/8/8/8/5k2/5p2/5K2 w - - 0 1", 4),
        ("7k/8/6K1/8/8/8/8/6N1 w - - 0 1", 6),
        ("8/4k3/8/8/3R4/8/4K3/8 w - - 99 80", 4),
    ] {
        let thought = engine(1).think(&game(fen), depth(plies));
        assert_eq!(thought.score, Score::Centipawns(0), "{fen}");
    }
    // On the hundredth ply mate still counts.
    let mate = engine(1).think(&game("6k1/5ppp/8/8/8/8/8/R6K w - - 99 80"), depth(4));
    assert_eq!(mate.score, Score::Mate(1));
}

#[test]
fn a_position_counts_as_the_same_whose_en_passant_was_not_legal() {
    let mut game = game("8/8/8/8/k3p2R/8/3P4/7K w - - 0 1");
    // With the pawn gone from the fourth rank the rook would give check, so it cannot be taken in passing.
    for uci in "d2d4 a4a5 h1g1 a5a4 g1h1 a4a5 h1g1 a5a4".split(' ') {
        game.push_uci(uci).expect("a legal move");
    }
    let back = uci(&game, "g1h1").expect("a legal move");
    let limits = Limits {
        search_moves: vec![back],
        ..depth(4)
    };
    let thought = engine(1).think(&game, limits);
    assert_eq!(thought.score, Score::Centipawns(0));
}

#[test]
fn a_search_among_some_moves_says_nothing_of_the_position() {
    let engine = engine(1);
    // The queen hangs.
    let game = game("6k1/8/8/3p4/4Q3/8/P7/4K3 w - - 0 1");
    let poor = Limits {
        search_moves: vec![uci(&game, "a2a3").expect("a legal move")],
        ..depth(6)
    };
    engine.think(&game, poor);
    let known = || engine.owner.pool.table().probe(game.position().key(), 0);
    assert!(known().is_none());
    engine.think(&game, depth(6));
    assert!(known().is_some_and(|hit| hit.value > 300));
}

#[test]
fn a_lost_side_takes_the_repetition() {
    // Perpetual check is all that White has.
    let mut game = game("6k1/5p1p/5Q2/8/8/1q6/1r4PP/7K w - - 0 1");
    for mv in [
        "f6d8", "g8g7", "d8g5", "g7f8", "g5d8", "f8g7", "d8g5", "g7f8",
    ] {
        game.push_uci(mv).expect("legal");
    }
    let thought = engine(1).think(&game, depth(8));
    assert_eq!(thought.score, Score::Centipawns(0));
    assert_eq!(thought.mv, uci(&game, "g5d8"));
}

#[test]
fn one_millisecond_is_enough_for_a_legal_move() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    for remaining in [0, 1, 2] {
        let clock = Clock {
            remaining: Duration::from_millis(remaining),
            increment: Duration::ZERO,
            moves_to_go: None,
            overhead: Duration::from_millis(10),
            lag: Duration::from_millis(10),
        };
        let thought = engine.think(
            &game,
            Limits {
                clock: Some(clock),
                ..Limits::default()
            },
        );
        assert!(legal(&game, thought.mv));
    }
    let nodes = Limits {
        nodes: Some(1),
        ..Limits::default()
    };
    assert!(legal(&game, engine.think(&game, nodes).mv));
    let movetime = Limits {
        movetime: Some(Duration::ZERO),
        ..Limits::default()
    };
    assert!(legal(&game, engine.think(&game, movetime).mv));
}

#[test]
fn a_forced_move_is_played_at_once() {
    let game = game("7k/6Q1/6p1/8/8/8/8/K7 b - - 0 1");
    let clock = Clock {
        remaining: Duration::from_secs(3_600),
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::ZERO,
        lag: Duration::ZERO,
    };
    let began = Instant::now();
    let thought = engine(1).think(
        &game,
        Limits {
            clock: Some(clock),
            ..Limits::default()
        },
    );
    assert!(legal(&game, thought.mv) && began.elapsed() < Duration::from_secs(5));
}

#[test]
fn limits_of_nodes_are_kept_exactly_by_one_thread() {
    let game = Game::new(Position::startpos());
    for nodes in [1, 100, 1_023, 1_025, 5_000, 20_000] {
        let thought = engine(1).think(
            &game,
            Limits {
                nodes: Some(nodes),
                ..Limits::default()
            },
        );
        assert_eq!(thought.nodes, nodes);
    }
}

#[test]
fn a_stop_is_seen_within_a_thousand_nodes() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    let (stop_here, stopper) = mpsc::channel::<Thinking>();
    let (sender, receiver) = mpsc::channel();
    let mut stopped_at = None;
    let (told, when) = mpsc::channel();
    let thinking = engine.start(Task {
        about: 0,
        game,
        limits: Limits::default(),
        on_info: Box::new(move |thought| {
            if thought.depth >= 7 && stopped_at.is_none() {
                stopper.recv().expect("the search has started").stop();
                stopped_at = Some(thought.nodes);
                let _ = told.send(thought.nodes);
            }
        }),
        on_done: Box::new(move |thought| drop(sender.send(thought))),
    });
    stop_here.send(thinking).expect("the search is on");
    let thought = answer(&receiver);
    let at = when.recv().expect("it was stopped");
    assert!(
        thought.nodes - at <= NODES_PER_LOOK,
        "{} nodes after {at}",
        thought.nodes
    );
}

#[test]
fn stopped_at_once_it_still_has_a_move() {
    let game = Game::new(Position::startpos());
    let engine = engine(2);
    for _ in 0..20 {
        let (task, receiver) = task(&game, endless());
        drop(engine.start(task));
        assert!(legal(&game, answer(&receiver).mv));
    }
}

#[test]
fn the_answer_comes_once() {
    let engine = engine(2);
    let answers = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let counter = answers.clone();
        let (mut task, receiver) = task(&Game::new(Position::startpos()), depth(3));
        let on_done = task.on_done;
        task.on_done = Box::new(move |thought| {
            counter.fetch_add(1, Ordering::Relaxed);
            on_done(thought);
        });
        let thinking = engine.start(task);
        answer(&receiver);
        thinking.stop();
    }
    drop(engine);
    assert_eq!(answers.load(Ordering::Relaxed), 10);
}

#[test]
fn after_a_panic_the_last_iteration_counts() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    for (nodes, searched) in [(0, false), (30_000, true)] {
        let (task, receiver) = task(&game, depth(20));
        let mut job = Job::new(task, engine.pool().table());
        job.control.sabotage = nodes;
        engine.pool().start(Arc::new(job));
        let thought = answer(&receiver);
        assert!(legal(&game, thought.mv));
        assert_eq!(thought.depth > 1, searched);
        // And the thread lives on.
        assert!(legal(&game, engine.think(&game, depth(4)).mv));
    }
}

#[test]
fn a_panicking_listener_harms_nobody() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (mut task, receiver) = task(&game, depth(4));
    task.on_info = Box::new(|thought| assert!(thought.depth < 2, "on purpose"));
    let _thinking = engine.start(task);
    assert!(legal(&game, answer(&receiver).mv));
    assert_eq!(engine.think(&game, depth(3)).depth, 3);
}

#[test]
fn no_search_waits_for_another() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (tasks, receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| task(&game, endless())).unzip();
    let thinking: Vec<_> = tasks.into_iter().map(|task| engine.start(task)).collect();
    assert_eq!(engine.think(&game, depth(4)).depth, 4);
    drop(thinking);
    for receiver in &receivers {
        assert!(legal(&game, answer(receiver).mv));
    }
}

#[test]
fn games_share_many_threads() {
    let engine = engine(64);
    let game = Game::new(Position::startpos());
    assert!(legal(&game, engine.think(&game, depth(8)).mv));
    let (long, long_answer) = task(&game, endless());
    let thinking = engine.start(long);
    for _ in 0..3 {
        assert!(legal(&game, engine.think(&game, depth(6)).mv));
    }
    engine.set_threads(1);
    assert!(legal(&game, engine.think(&game, depth(6)).mv));
    engine.set_hash(2);
    engine.new_game();
    thinking.stop();
    assert!(legal(&game, answer(&long_answer).mv));
    assert_eq!(engine.hash_mib(), 2);
}

#[test]
fn dropping_the_engine_ends_its_searches() {
    let engine = engine(2);
    let (task, receiver) = task(&Game::new(Position::startpos()), endless());
    let _thinking = engine.start(task);
    drop(engine);
    assert!(answer(&receiver).mv.is_some());
}

#[test]
fn pondering_waits_for_the_hit() {
    let engine = engine(1);
    let clock = Clock {
        remaining: Duration::from_millis(50),
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::ZERO,
        lag: Duration::ZERO,
    };
    let limits = Limits {
        clock: Some(clock),
        ponder: true,
        ..Limits::default()
    };
    let (task, receiver) = task(&Game::new(Position::startpos()), limits);
    let thinking = engine.start(task);
    assert!(
        receiver.recv_timeout(Duration::from_millis(200)).is_err(),
        "no answer before the hit"
    );
    thinking.ponderhit();
    assert!(answer(&receiver).mv.is_some());
}

#[test]
fn what_ends_while_pondering_is_told_at_the_hit() {
    let engine = engine(2);
    for limits in [
        Limits {
            nodes: Some(500),
            ..Limits::default()
        },
        depth(2),
    ] {
        let limits = Limits {
            ponder: true,
            ..limits
        };
        let (task, receiver) = task(&Game::new(Position::startpos()), limits);
        let thinking = engine.start(task);
        assert!(
            receiver.recv_timeout(Duration::from_millis(200)).is_err(),
            "no answer before the hit"
        );
        assert!(thinking.ponderhit());
        assert!(answer(&receiver).mv.is_some());
        assert!(!thinking.ponderhit(), "there is nothing to be hit any more");
    }
}

#[test]
fn nobody_ponders_while_a_move_is_owed() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (first, first_answer) = task(&game, Limits::default());
    let first = engine.start_if_idle(first).expect("nothing else is on");
    let (second, second_answer) = task(&game, Limits::default());
    let second = engine.start_if_idle(second).expect("they may both ponder");
    // The move of a third game is owed.
    let (owed, owed_answer) = task(&game, endless());
    let owed = engine.start(owed);
    assert!(answer(&first_answer).mv.is_some());
    assert!(answer(&second_answer).mv.is_some());
    assert!(!first.ponderhit() && !second.ponderhit());
    let (task_of_fourth, _) = task(&game, Limits::default());
    assert!(engine.start_if_idle(task_of_fourth).is_none());
    owed.stop();
    assert!(answer(&owed_answer).mv.is_some());
    // A hit is such a move, too.
    let (hit, hit_answer) = task(&game, depth(3));
    let hit = engine.start_if_idle(hit).expect("nothing is on");
    let (other, other_answer) = task(&game, Limits::default());
    let _other = engine.start_if_idle(other).expect("they may both ponder");
    assert!(hit.ponderhit_within(&depth(3)));
    assert!(answer(&other_answer).mv.is_some());
    assert!(answer(&hit_answer).mv.is_some());
}

#[test]
fn with_no_time_at_all_the_obvious_is_still_seen() {
    let clock = Clock {
        remaining: Duration::ZERO,
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::from_millis(10),
        lag: Duration::ZERO,
    };
    let limits = Limits {
        clock: Some(clock),
        ..Limits::default()
    };
    // Mate in one; a queen that hangs.
    for (fen, best) in [
        ("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1", "a1a8"),
        ("k7/8/8/3q4/4P3/8/8/K7 w - - 0 1", "e4d5"),
    ] {
        let game = game(fen);
        let thought = engine(1).think(&game, limits.clone());
        assert_eq!(thought.mv, uci(&game, best), "{fen}");
    }
}

#[test]
fn the_last_report_is_the_answer() {
    let game = game("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 1");
    for nodes in (1..60).map(|n| n * 700) {
        let limits = Limits {
            nodes: Some(nodes),
            ..Limits::default()
        };
        let (sender, receiver) = mpsc::channel();
        let (mut task, done) = task(&game, limits);
        task.on_info = Box::new(move |thought| drop(sender.send(thought.clone())));
        let engine = engine(1);
        let _thinking = engine.start(task);
        let answer = answer(&done);
        let last = receiver.iter().last().expect("a report");
        assert_eq!((last.mv, last.score), (answer.mv, answer.score), "{nodes}");
    }
}

#[test]
fn only_wanted_moves_are_played() {
    let game = game("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1");
    let wanted = uci(&game, "h1h2");
    let limits = Limits {
        search_moves: wanted.into_iter().collect(),
        ..depth(4)
    };
    assert_eq!(engine(1).think(&game, limits).mv, wanted);
}

#[test]
fn several_lines_are_ranked() {
    let game = game("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1");
    let (sender, receiver) = mpsc::channel();
    let (mut task, done) = task(
        &game,
        Limits {
            multi_pv: 3,
            ..depth(5)
        },
    );
    task.on_info = Box::new(move |thought| drop(sender.send(thought.clone())));
    let engine = engine(1);
    let _thinking = engine.start(task);
    answer(&done);
    let last: Vec<Thought> = receiver
        .iter()
        .filter(|thought| thought.depth == 5)
        .collect();
    assert_eq!(
        last.iter().map(|thought| thought.rank).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(last[0].score, Score::Mate(1));
    let mut moves: Vec<_> = last.iter().map(|thought| thought.mv).collect();
    moves.dedup();
    assert_eq!(moves.len(), 3);
}

#[test]
fn variations_are_legal_moves_in_a_row() {
    let mut game = Game::new(Position::startpos());
    let engine = engine(2);
    for _ in 0..12 {
        let thought = engine.think(&game, depth(6));
        let mut line = game.clone();
        for &mv in &thought.pv {
            assert!(line.position().is_legal(mv));
            line.play(mv);
        }
        assert_eq!(thought.pv.first().copied(), thought.mv);
        game.play(thought.mv.expect("the game is on"));
    }
}
