//! Processes are shared by games, fairly.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use knightwatch_chess::{Game, Position};
use knightwatch_engine::{Limits, SearchInfo, Task};
use knightwatch_external::{
    ExternalEngine, ExternalHandle, ExternalSettings, GameSetup, Launch, Protocol,
};

use super::{
    clock, engine, play, search_game, settings, start, stub, wait_until, wait_until_ready,
};

/// An engine that takes a quarter of a second for a move, whatever its clock says.
const SLOW: &str = "sleep 0.25; echo info depth 3 score cp 20 pv e2e4; echo bestmove e2e4";

#[test]
fn games_wait_for_a_process_as_long_as_the_clock_allows() {
    let engine = engine(stub(SLOW), 2);
    wait_until_ready(&engine);
    std::thread::scope(|scope| {
        for game in 0..12 {
            let engine = &engine;
            scope.spawn(move || {
                let since = Instant::now();
                // The last ones wait for more than a second.
                let start = Game::new(Position::startpos());
                // A limit for the move does not shorten the wait.
                let limits = Limits {
                    max_time: (game % 2 == 0).then_some(Duration::from_secs(3)),
                    ..clock(Duration::from_secs(300))
                };
                let setup = GameSetup::default();
                let (report, outcome) = search_game(engine, game, &start, limits, setup);
                assert_eq!(outcome.fallback, None, "after {:?}", since.elapsed());
                assert_eq!(report.depth, 3);
            });
        }
    });
    let stats = engine.stats();
    assert_eq!((stats.moves, stats.fallbacks, stats.failures), (12, 0, 0));
}

#[test]
fn waiting_games_shorten_the_time_of_the_others() {
    let go = "set -- $line; echo info depth $(($3/1000)) score cp 1 pv e2e4; sleep 0.5; echo bestmove e2e4";
    let engine = engine(stub(go), 1);
    wait_until_ready(&engine);
    let (sender, receiver) = channel();
    let handles: Vec<_> = (0..4)
        .map(|game_id| {
            let sender = sender.clone();
            let task = Task {
                game_id,
                game: Game::new(Position::startpos()),
                limits: clock(Duration::from_secs(60)),
                on_info: Box::new(|_| ()),
                on_done: Box::new(move |report| sender.send(report).unwrap()),
            };
            engine.start(task, Arc::default())
        })
        .collect();
    let clocks = handles
        .iter()
        .map(|_| receiver.recv_timeout(Duration::from_secs(60)).unwrap());
    let clocks: Vec<u32> = clocks.map(|report| report.depth).collect();
    // With nobody behind it the last game has its whole clock.
    assert!(clocks[1] < 35 && clocks[3] > 55, "{clocks:?}");
}

#[test]
fn pondering_is_continued_by_a_hit_and_ends_for_others() {
    let go = "case \"$line\" in *ponder*) read -r line; \
        case $line in ponderhit) echo info depth 9 score cp 1 pv e2e4;; esac;; \
        *) echo info depth 1 score cp 1 pv e2e4;; esac; echo bestmove e2e4";
    let mut launch = stub(go);
    let script = launch.command.last_mut().unwrap();
    let option = "echo option name Ponder type check default false; echo uciok";
    *script = script.replace("echo uciok", option);
    let engine = start(ExternalSettings {
        ponder: true,
        ..settings(launch, 1)
    });
    wait_until_ready(&engine);
    let game = Game::new(Position::startpos());
    let ponder = |game_id| {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let (sender, receiver) = channel();
            let task = Task {
                game_id,
                game: game.clone(),
                limits: Limits {
                    ponder: true,
                    ..clock(Duration::from_secs(10))
                },
                on_info: Box::new(|_| ()),
                on_done: Box::new(move |report| drop(sender.send(report))),
            };
            // The process may still be on its way to wait for work.
            if let Some(handle) = engine.start_ponder(task, Arc::default()) {
                return (handle, receiver);
            }
            assert!(Instant::now() < deadline, "the engine does not ponder");
        }
    };
    let limits = clock(Duration::from_secs(10));

    let (handle, result) = ponder(1);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !handle.ponderhit_with(&limits) {
        assert!(Instant::now() < deadline, "the search does not begin");
    }
    let report = result.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(report.depth, 9);

    // Another game needs the process.
    let (handle, _result) = ponder(1);
    let setup = GameSetup::default();
    let (report, outcome) = search_game(&engine, 2, &game, limits.clone(), setup);
    assert_eq!((report.depth, outcome.fallback), (1, None));
    assert!(!handle.ponderhit_with(&limits));
}

/// A task of a game, its beginning, and its end.
fn watched(game_id: u64, limits: Limits) -> (Task, Receiver<()>, Receiver<SearchInfo>) {
    let (began, beginning) = channel();
    let (sender, result) = channel();
    let task = Task {
        game_id,
        game: Game::new(Position::startpos()),
        limits,
        on_info: Box::new(move |_| {
            let _ = began.send(());
        }),
        on_done: Box::new(move |report| drop(sender.send(report))),
    };
    (task, beginning, result)
}

/// Starts an analysis, once a process is free, and waits until it has begun.
fn analyze(engine: &ExternalEngine) -> ExternalHandle {
    let mut started = None;
    wait_until("the analysis starts", || {
        let (task, beginning, _) = watched(3, Limits::default());
        let handle = engine.start_analysis(task).unwrap_or_default();
        started = handle.map(|handle| (handle, beginning));
        started.is_some()
    });
    let (handle, beginning) = started.unwrap();
    beginning.recv_timeout(Duration::from_secs(60)).unwrap();
    handle
}

#[test]
fn analysis_that_has_ended_stops_no_game() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let go = "echo info depth 1 score cp 1 pv e2e4; \
              case \"$line\" in *infinite*) read -r line;; *) sleep 0.3;; esac; echo bestmove e2e4";
    let mut launch = stub(go);
    let script = launch.command.last_mut().unwrap();
    let listen = format!("stop) echo stop >> {};; go*) ", log.path().display());
    *script = script.replace("go*) ", &listen);
    let engine = engine(launch, 1);
    wait_until_ready(&engine);
    let analysis = analyze(&engine);
    let limits = clock(Duration::from_secs(60));
    // It ends the analysis.
    let (task, beginning, result) = watched(1, limits.clone());
    let search = engine.start(task, Arc::default());
    beginning.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(analysis);
    result.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(search);
    // Whatever the process has read by now.
    search_game(&engine, 1, &play(""), limits, GameSetup::default());
    assert_eq!(std::fs::read_to_string(log.path()).unwrap(), "");
}

#[test]
fn game_gets_its_engine_back_from_a_search_that_no_game_waits_for() {
    let go = "echo info depth 1 score cp 1 pv e2e4; \
              case \"$line\" in *infinite*) read -r line;; *\"nodes 7\"*) sleep 4;; esac; echo bestmove e2e4";
    let engine = engine(stub(go), 1);
    wait_until_ready(&engine);
    let slow = Limits {
        nodes: Some(7),
        ..clock(Duration::from_secs(60))
    };
    let (task, beginning, result) = watched(2, slow);
    let other = engine.start(task, Arc::default());
    beginning.recv_timeout(Duration::from_secs(60)).unwrap();
    let search_in = |seconds| {
        let limits = clock(Duration::from_secs(seconds));
        let (_, outcome) = search_game(&engine, 1, &play(""), limits, GameSetup::default());
        outcome.fallback
    };
    for _ in 0..2 {
        assert!(search_in(1).is_some());
    }
    result.recv_timeout(Duration::from_secs(60)).unwrap();
    let analysis = analyze(&engine);
    assert_eq!(search_in(60), None);
    drop((analysis, other));
}

#[test]
fn abandoned_search_of_engine_without_stop_is_no_failure() {
    let script =
        "while read -r line; do echo info depth 1 score cp 1 pv e2e4; sleep 2.5; echo e2e4; done";
    let launch = Launch {
        protocol: Protocol::Lines,
        ..Launch::new(["sh", "-c", script])
    };
    let engine = engine(launch, 1);
    wait_until_ready(&engine);
    let limits = clock(Duration::from_secs(600));
    let (task, beginning, _) = watched(1, limits.clone());
    let abandoned = engine.start(task, Arc::default());
    beginning.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(abandoned);
    let (_, outcome) = search_game(&engine, 2, &play(""), limits, GameSetup::default());
    assert_eq!(outcome.fallback, None);
    assert_eq!(engine.stats().failures, 0);
}

#[test]
fn stopped_search_that_waits_for_a_process_moves_at_once() {
    let go = "echo info depth 1 score cp 1 pv e2e4; read -r line; echo bestmove e2e4";
    let engine = engine(stub(go), 1);
    wait_until_ready(&engine);
    let limits = clock(Duration::from_secs(600));
    let (task, beginning, result) = watched(1, limits.clone());
    let running = engine.start(task, Arc::default());
    beginning.recv_timeout(Duration::from_secs(60)).unwrap();
    let (task, _, queued_result) = watched(2, limits);
    let queued = engine.start(task, Arc::default());
    queued.stop();
    let report = queued_result.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(report.mv.is_some() && queued.fallback_reason().get().is_some());
    assert!(result.try_recv().is_err());
    drop(running);
}

/// Games of a minute, with Stockfish on two processes: `cargo test --release -- --ignored NAME` prints who has moved.
#[test]
#[ignore = "takes a minute, and needs Stockfish"]
fn many_games_of_a_minute_on_two_processes_lose_none_on_time() {
    const GAMES: u64 = 32;
    let program = "/usr/games/stockfish";
    assert!(Path::new(program).is_file(), "this test needs {program}");
    let engine = start(ExternalSettings {
        threads: Some(1),
        hash_mib: Some(16),
        ..settings(Launch::new([program]), 2)
    });
    wait_until_ready(&engine);
    std::thread::scope(|scope| {
        for id in 0..GAMES {
            let engine = &engine;
            scope.spawn(move || {
                let mut game = Game::new(Position::startpos());
                let mut left = Duration::from_secs(60);
                let mut moves = 0;
                while game.termination().is_none() && moves < 80 {
                    let since = Instant::now();
                    let setup = GameSetup::default();
                    let (report, _) = search_game(engine, id, &game, clock(left), setup);
                    let used = since.elapsed();
                    assert!(used < left, "game {id}, move {moves}: {used:?} of {left:?}");
                    left -= used;
                    game.play(report.mv.expect("a move"));
                    moves += 1;
                    // The opponent plays at random, soon.
                    let legal = game.position().legal_moves();
                    if let Some(&reply) = legal.get((id + moves) as usize % legal.len().max(1)) {
                        std::thread::sleep(Duration::from_millis((id * 37 + moves * 61) % 200));
                        game.play(reply);
                    }
                }
                println!("game {id}: {moves} moves, {left:?} left");
            });
        }
    });
    println!("{:?}", engine.stats());
}
