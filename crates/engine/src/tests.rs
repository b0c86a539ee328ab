//! Tests of the engine's public interface.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::control::MAX_NODES_PER_POLL;
use super::threads::Job;
use super::*;
use knightwatch_chess::Move;

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

/// A task that sends its result through a channel.
fn task(game: &Game, limits: Limits) -> (Task, mpsc::Receiver<SearchInfo>) {
    let (sender, receiver) = mpsc::channel();
    let task = Task {
        game_id: 0,
        game: game.clone(),
        limits,
        on_info: Box::new(|_| {}),
        on_done: Box::new(move |result| drop(sender.send(result))),
    };
    (task, receiver)
}

fn answer(receiver: &mpsc::Receiver<SearchInfo>) -> SearchInfo {
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
fn search_finds_mates_with_distance() {
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
        let result = engine(1).search(&game, depth(30));
        assert_eq!(result.score, Score::Mate(moves), "{fen}");
        if moves != 2 {
            assert_eq!(result.mv, uci(&game, best), "{fen}");
        }
        assert_eq!(
            result.pv.len(),
            2 * moves as usize - 1,
            "{fen}: {:?}",
            result.pv
        );
    }
    let lost = engine(1).search(&game("7k/R7/8/8/8/8/8/1R4K1 b - - 0 1"), depth(8));
    assert_eq!(lost.score, Score::Mate(-1));
}

/// Positions where passing would be best, where a careless move turns a win into stalemate, and where only one move
/// holds the draw. Another engine agrees on the moves.
#[test]
fn search_handles_zugzwang_stalemate_and_fortress() {
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
    // The rook ending needs half of them, and a table that holds it.
    let limits = Limits {
        nodes: Some(1_600_000),
        ..Limits::default()
    };
    for (fen, good) in table {
        let game = game(fen);
        let engine = Engine::new(EngineOptions {
            hash_mib: 16,
            threads: 1,
        });
        let played = engine.search(&game, limits.clone()).mv;
        let is_good = good.split(' ').any(|mv| played == uci(&game, mv));
        assert!(is_good, "{fen}: {played:?} is not of {good}");
    }
}

/// Both sides play; the network has not learned these mates.
#[test]
fn search_mates_bare_king() {
    let limits = Limits {
        nodes: Some(20_000),
        ..Limits::default()
    };
    for fen in [
        "8/8/8/3k4/8/8/8/KQ6 w - - 0 1",
        "8/8/8/3k4/8/8/8/KR6 w - - 0 1",
        "8/8/8/3k4/8/8/8/KBB5 w - - 0 1",
        "8/8/8/3k4/8/8/8/KBN5 w - - 0 1",
        "8/8/8/3k4/8/8/8/KNB5 w - - 0 1",
        "kbb5/8/8/8/3K4/8/8/8 b - - 0 1",
        "3k4/8/3K4/3P4/8/8/8/8 w - - 0 1",
    ] {
        let (mut game, mut searcher) = (game(fen), Searcher::new(4, &Setting::default()));
        while game.termination().is_none() && game.position().halfmove_clock() < 100 {
            game.play(searcher.search(&game, &limits).mv.expect("the game is on"));
        }
        assert!(
            game.position().is_checkmate(),
            "{fen}: {}",
            game.position().fen()
        );
    }
}

#[test]
fn mate_limit_when_found_ends_the_search() {
    let game = game("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1");
    let result = engine(1).search(
        &game,
        Limits {
            mate: Some(3),
            ..Limits::default()
        },
    );
    assert_eq!(result.score, Score::Mate(3));
}

#[test]
fn mate_limit_ends_the_search_of_the_side_that_is_mated() {
    let game = game("7k/R7/8/8/8/8/8/1R4K1 b - - 0 1");
    let limits = Limits {
        mate: Some(1),
        ..depth(20)
    };
    let result = engine(1).search(&game, limits);
    assert_eq!(result.score, Score::Mate(-1));
    assert!(result.depth < 10, "{}", result.depth);
}

#[test]
fn search_of_finished_game_returns_no_move() {
    let mated = engine(1).search(&game("R5k1/5ppp/8/8/8/8/8/7K b - - 0 1"), depth(5));
    assert_eq!((mated.mv, mated.score), (None, Score::Mate(0)));
    let stalemate = engine(1).search(&game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), depth(5));
    assert_eq!(
        (stalemate.mv, stalemate.score),
        (None, Score::Centipawns(0))
    );
}

#[test]
fn search_detects_draws() {
    // Stalemate tricks, a fortress of bare kings, the fifty-move rule one ply away.
    for (fen, plies) in [
        ("8/8/8/8/8/5k2/5p2/5K2 w - - 0 1", 4),
        ("7k/8/6K1/8/8/8/8/6N1 w - - 0 1", 6),
        ("8/4k3/8/8/3R4/8/4K3/8 w - - 99 80", 4),
    ] {
        let result = engine(1).search(&game(fen), depth(plies));
        assert_eq!(result.score, Score::Centipawns(0), "{fen}");
    }
    // On the hundredth ply mate takes precedence.
    let mate = engine(1).search(&game("6k1/5ppp/8/8/8/8/8/R6K w - - 99 80"), depth(4));
    assert_eq!(mate.score, Score::Mate(1));
}

#[test]
fn repetition_ignores_illegal_en_passant() {
    let mut game = game("8/8/8/8/k3p2R/8/3P4/7K w - - 0 1");
    // The pawn on e4 is pinned against the king, so it cannot capture en passant.
    for uci in "d2d4 a4a5 h1g1 a5a4 g1h1 a4a5 h1g1 a5a4".split(' ') {
        game.push_uci(uci).expect("a legal move");
    }
    let back = uci(&game, "g1h1").expect("a legal move");
    let limits = Limits {
        search_moves: vec![back],
        ..depth(4)
    };
    let result = engine(1).search(&game, limits);
    assert_eq!(result.score, Score::Centipawns(0));
}

#[test]
fn search_moves_results_are_not_stored_for_the_root() {
    let engine = engine(1);
    // The queen hangs.
    let game = game("6k1/8/8/3p4/4Q3/8/P7/4K3 w - - 0 1");
    let poor = Limits {
        search_moves: vec![uci(&game, "a2a3").expect("a legal move")],
        ..depth(6)
    };
    engine.search(&game, poor);
    let known = || engine.owner.pool.table().probe(game.position().key(), 0);
    assert!(known().is_none());
    engine.search(&game, depth(6));
    assert!(known().is_some_and(|hit| hit.value > 300));
}

#[test]
fn search_of_lost_position_takes_the_repetition() {
    // White has nothing but perpetual check.
    let mut game = game("6k1/5p1p/5Q2/8/8/1q6/1r4PP/7K w - - 0 1");
    for mv in [
        "f6d8", "g8g7", "d8g5", "g7f8", "g5d8", "f8g7", "d8g5", "g7f8",
    ] {
        game.push_uci(mv).expect("legal");
    }
    let result = engine(1).search(&game, depth(8));
    assert_eq!(result.score, Score::Centipawns(0));
    assert_eq!(result.mv, uci(&game, "g5d8"));
}

#[test]
fn search_with_one_millisecond_returns_legal_move() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    for remaining in [0, 1, 2] {
        let clock = Clock {
            remaining: Duration::from_millis(remaining),
            increment: Duration::ZERO,
            moves_to_go: None,
            overhead: Duration::from_millis(10),
            lag: Duration::from_millis(10),
            ponders: false,
        };
        let result = engine.search(
            &game,
            Limits {
                clock: Some(clock),
                ..Limits::default()
            },
        );
        assert!(legal(&game, result.mv));
    }
    let nodes = Limits {
        nodes: Some(1),
        ..Limits::default()
    };
    assert!(legal(&game, engine.search(&game, nodes).mv));
    let movetime = Limits {
        movetime: Some(Duration::ZERO),
        ..Limits::default()
    };
    assert!(legal(&game, engine.search(&game, movetime).mv));
}

#[test]
fn search_with_one_legal_move_returns_early() {
    let game = game("7k/6Q1/6p1/8/8/8/8/K7 b - - 0 1");
    let clock = Clock {
        remaining: Duration::from_secs(3_600),
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::ZERO,
        lag: Duration::ZERO,
        ponders: false,
    };
    let began = Instant::now();
    let result = engine(1).search(
        &game,
        Limits {
            clock: Some(clock),
            ..Limits::default()
        },
    );
    assert!(legal(&game, result.mv) && began.elapsed() < Duration::from_secs(5));
}

#[test]
fn node_limit_with_one_thread_is_exact() {
    let game = Game::new(Position::startpos());
    for nodes in [100, 511, 513, 1_023, 1_025, 5_000, 20_000] {
        let result = engine(1).search(
            &game,
            Limits {
                nodes: Some(nodes),
                ..Limits::default()
            },
        );
        assert_eq!(result.nodes, nodes);
    }
}

#[test]
fn node_limit_applies_after_the_first_iteration() {
    let nodes = |nodes| Limits {
        nodes: Some(nodes),
        ..Limits::default()
    };
    // A queen that hangs; mate in one; the start position.
    for fen in [
        "k7/8/8/3q4/4P3/8/8/K7 w - - 0 1",
        "6k1/5ppp/8/8/8/8/8/R6K w - - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ] {
        let game = game(fen);
        let first = engine(1).search(&game, depth(1));
        for limit in [0, 1, first.nodes] {
            let result = engine(1).search(&game, nodes(limit));
            let found = (result.mv, result.score, result.depth, result.nodes);
            let expected = (first.mv, first.score, 1, first.nodes);
            assert_eq!(found, expected, "{limit} in {fen}");
        }
        // A helper may be deeper.
        let shared = engine(2).search(&game, nodes(1));
        assert!(shared.depth >= 1 && shared.mv.is_some(), "{fen}");
    }
    // A stop still applies at once, in an iteration of many nodes.
    let kiwipete = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let limits = Limits {
        multi_pv: 48,
        ..nodes(1)
    };
    let all_lines = engine(1).search(&kiwipete, limits.clone());
    assert!(all_lines.depth == 1 && all_lines.nodes > MAX_NODES_PER_POLL);
    let (task, receiver) = task(&kiwipete, limits);
    let job = Job::new(task, engine(1).pool().table());
    job.control.stop();
    let engine = engine(1);
    engine.pool().start(Arc::new(job));
    assert_eq!(answer(&receiver).depth, 0);
}

#[test]
fn stop_is_noticed_within_a_thousand_nodes() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    let (stop_here, stopper) = mpsc::channel::<SearchHandle>();
    let (sender, receiver) = mpsc::channel();
    let mut stopped_at = None;
    let (started, when) = mpsc::channel();
    let search = engine.start(Task {
        game_id: 0,
        game,
        limits: Limits::default(),
        on_info: Box::new(move |result| {
            if result.depth >= 7 && stopped_at.is_none() {
                stopper.recv().expect("the search has started").stop();
                stopped_at = Some(result.nodes);
                let _ = started.send(result.nodes);
            }
        }),
        on_done: Box::new(move |result| drop(sender.send(result))),
    });
    stop_here.send(search).expect("the search is on");
    let result = answer(&receiver);
    let at = when.recv().expect("it was stopped");
    assert!(
        result.nodes - at <= MAX_NODES_PER_POLL,
        "{} nodes after {at}",
        result.nodes
    );
}

#[test]
fn stop_before_first_iteration_returns_a_move() {
    let game = Game::new(Position::startpos());
    let engine = engine(2);
    for _ in 0..20 {
        let (task, receiver) = task(&game, endless());
        drop(engine.start(task));
        assert!(legal(&game, answer(&receiver).mv));
    }
}

#[test]
fn on_done_is_called_once() {
    let engine = engine(2);
    let answers = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let counter = answers.clone();
        let (mut task, receiver) = task(&Game::new(Position::startpos()), depth(3));
        let on_done = task.on_done;
        task.on_done = Box::new(move |result| {
            counter.fetch_add(1, Ordering::Relaxed);
            on_done(result);
        });
        let search = engine.start(task);
        answer(&receiver);
        search.stop();
    }
    drop(engine);
    assert_eq!(answers.load(Ordering::Relaxed), 10);
}

#[test]
fn panic_in_search_returns_last_iteration() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let engine = engine(1);
    for (nodes, searched) in [(0, false), (30_000, true)] {
        let (task, receiver) = task(&game, depth(20));
        let mut job = Job::new(task, engine.pool().table());
        job.control.panic_after_nodes = nodes;
        engine.pool().start(Arc::new(job));
        let result = answer(&receiver);
        assert!(legal(&game, result.mv));
        assert_eq!(result.depth > 1, searched);
        // The thread survives.
        assert!(legal(&game, engine.search(&game, depth(4)).mv));
    }
}

#[test]
fn panic_in_callback_does_not_affect_others() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (mut task, receiver) = task(&game, depth(4));
    task.on_info = Box::new(|result| assert!(result.depth < 2, "on purpose"));
    let _search = engine.start(task);
    assert!(legal(&game, answer(&receiver).mv));
    assert_eq!(engine.search(&game, depth(3)).depth, 3);
}

#[test]
fn searches_beyond_the_threads_do_not_wait() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (tasks, receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| task(&game, endless())).unzip();
    let search: Vec<_> = tasks.into_iter().map(|task| engine.start(task)).collect();
    assert_eq!(engine.search(&game, depth(4)).depth, 4);
    drop(search);
    for receiver in &receivers {
        assert!(legal(&game, answer(receiver).mv));
    }
}

#[test]
fn searches_of_several_games_share_threads() {
    let engine = engine(64);
    let game = Game::new(Position::startpos());
    assert!(legal(&game, engine.search(&game, depth(8)).mv));
    let (long, long_answer) = task(&game, endless());
    let search = engine.start(long);
    for _ in 0..3 {
        assert!(legal(&game, engine.search(&game, depth(6)).mv));
    }
    engine.set_threads(1);
    assert!(legal(&game, engine.search(&game, depth(6)).mv));
    engine.set_hash(2);
    engine.new_game();
    search.stop();
    assert!(legal(&game, answer(&long_answer).mv));
    assert_eq!(engine.hash_mib(), 2);
}

#[test]
fn engine_when_dropped_ends_its_searches() {
    let engine = engine(2);
    let (task, receiver) = task(&Game::new(Position::startpos()), endless());
    let _search = engine.start(task);
    drop(engine);
    assert!(answer(&receiver).mv.is_some());
}

#[test]
fn pondering_reports_after_ponderhit() {
    let engine = engine(1);
    let clock = Clock {
        remaining: Duration::from_millis(50),
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::ZERO,
        lag: Duration::ZERO,
        ponders: false,
    };
    let limits = Limits {
        clock: Some(clock),
        ponder: true,
        ..Limits::default()
    };
    let (task, receiver) = task(&Game::new(Position::startpos()), limits);
    let search = engine.start(task);
    assert!(
        receiver.recv_timeout(Duration::from_millis(200)).is_err(),
        "no answer before the hit"
    );
    search.ponderhit();
    assert!(answer(&receiver).mv.is_some());
}

#[test]
fn pondering_that_has_ended_reports_at_ponderhit() {
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
        let search = engine.start(task);
        assert!(
            receiver.recv_timeout(Duration::from_millis(200)).is_err(),
            "no answer before the hit"
        );
        assert!(search.ponderhit());
        assert!(answer(&receiver).mv.is_some());
        assert!(!search.ponderhit(), "there is nothing to be hit any more");
    }
}

#[test]
fn pondering_stops_when_another_game_is_to_move() {
    let engine = engine(1);
    let game = Game::new(Position::startpos());
    let (first, first_answer) = task(&game, Limits::default());
    let first = engine.start_ponder(first).expect("nothing else is on");
    let (second, second_answer) = task(&game, Limits::default());
    let second = engine.start_ponder(second).expect("they may both ponder");
    // A third game is to move.
    let (owed, owed_answer) = task(&game, endless());
    let owed = engine.start(owed);
    assert!(answer(&first_answer).mv.is_some());
    assert!(answer(&second_answer).mv.is_some());
    assert!(!first.ponderhit() && !second.ponderhit());
    let (task_of_fourth, _) = task(&game, Limits::default());
    assert!(engine.start_ponder(task_of_fourth).is_none());
    owed.stop();
    assert!(answer(&owed_answer).mv.is_some());
    // A ponderhit counts as such a search.
    let (hit, hit_answer) = task(&game, depth(3));
    let hit = engine.start_ponder(hit).expect("nothing is on");
    let (other, other_answer) = task(&game, Limits::default());
    let _other = engine.start_ponder(other).expect("they may both ponder");
    assert!(hit.ponderhit_with(&depth(3)));
    assert!(answer(&other_answer).mv.is_some());
    assert!(answer(&hit_answer).mv.is_some());
}

#[test]
fn search_with_no_time_sees_obvious_moves() {
    let clock = Clock {
        remaining: Duration::ZERO,
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::from_millis(10),
        lag: Duration::ZERO,
        ponders: false,
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
        let result = engine(1).search(&game, limits.clone());
        assert_eq!(result.mv, uci(&game, best), "{fen}");
    }
}

/// Reports of a search on one thread, and its result.
fn search_with_infos(game: &Game, limits: Limits) -> (Vec<SearchInfo>, SearchInfo) {
    let (sender, receiver) = mpsc::channel();
    let (mut task, done) = task(game, limits);
    task.on_info = Box::new(move |result| drop(sender.send(result.clone())));
    let engine = engine(1);
    let _search = engine.start(task);
    let answer = answer(&done);
    (receiver.iter().collect(), answer)
}

#[test]
fn last_info_equals_the_result() {
    let game = game("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 1");
    for nodes in (1..60).map(|n| n * 700) {
        let limits = Limits {
            nodes: Some(nodes),
            ..Limits::default()
        };
        let (infos, answer) = search_with_infos(&game, limits);
        let last = infos.last().expect("search information");
        assert_eq!((last.mv, last.score), (answer.mv, answer.score), "{nodes}");
        assert_eq!(last.nodes, nodes);
    }
}

#[test]
fn last_lines_of_multi_pv_are_different_moves() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut order_has_changed = false;
    for nodes in (5..60).map(|n| n * 700) {
        let limits = Limits {
            nodes: Some(nodes),
            multi_pv: 4,
            ..Limits::default()
        };
        let (infos, answer) = search_with_infos(&game, limits);
        let sets: Vec<&[SearchInfo]> = infos.chunks(4).collect();
        let last = sets[sets.len() - 1];
        let numbers: Vec<usize> = last.iter().map(|info| info.multipv).collect();
        assert_eq!(numbers, [1, 2, 3, 4], "{nodes}");
        let moves = |set: &[SearchInfo]| set.iter().map(|info| info.mv).collect::<Vec<_>>();
        let distinct: std::collections::HashSet<_> = moves(last).into_iter().collect();
        assert_eq!(distinct.len(), 4, "{nodes}: {last:?}");
        assert!(last.iter().all(|info| info.nodes == nodes), "{last:?}");
        assert_eq!((last[0].mv, last[0].score), (answer.mv, answer.score));
        order_has_changed |= sets.len() > 1 && moves(sets[sets.len() - 2]) != moves(last);
    }
    assert!(order_has_changed);
}

#[test]
fn search_moves_restricts_the_result() {
    let game = game("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1");
    let wanted = uci(&game, "h1h2");
    let limits = Limits {
        search_moves: wanted.into_iter().collect(),
        ..depth(4)
    };
    assert_eq!(engine(1).search(&game, limits).mv, wanted);
}

#[test]
fn multi_pv_lines_are_sorted() {
    let game = game("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1");
    let (sender, receiver) = mpsc::channel();
    let (mut task, done) = task(
        &game,
        Limits {
            multi_pv: 3,
            ..depth(5)
        },
    );
    task.on_info = Box::new(move |result| drop(sender.send(result.clone())));
    let engine = engine(1);
    let _search = engine.start(task);
    answer(&done);
    let last: Vec<SearchInfo> = receiver.iter().filter(|result| result.depth == 5).collect();
    assert_eq!(
        last.iter().map(|result| result.multipv).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(last[0].score, Score::Mate(1));
    let mut moves: Vec<_> = last.iter().map(|result| result.mv).collect();
    moves.dedup();
    assert_eq!(moves.len(), 3);
}

#[test]
fn pv_consists_of_legal_moves() {
    let mut game = Game::new(Position::startpos());
    let engine = engine(2);
    for _ in 0..12 {
        let result = engine.search(&game, depth(6));
        let mut line = game.clone();
        for &mv in &result.pv {
            assert!(line.position().is_legal(mv));
            line.play(mv);
        }
        assert_eq!(result.pv.first().copied(), result.mv);
        game.play(result.mv.expect("the game is on"));
    }
}
