//! Processes are shared by games, fairly.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use knightwatch_chess::{Game, Position};
use knightwatch_engine::{Limits, Task};
use knightwatch_external::{ExternalSettings, GameSetup, Launch};

use super::{clock, engine, search_game, settings, start, stub, wait_until_ready};

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
                    ..clock(Duration::from_secs(60))
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
    let go = "set -- $line; echo info depth $(($3/1000)) score cp 1 pv e2e4; sleep 0.05; echo bestmove e2e4";
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

/// Games of a minute, with Stockfish on two processes: `cargo test --release -- --ignored NAME` prints who has moved.
#[test]
#[ignore = "takes a minute, and needs Stockfish"]
fn many_games_of_a_minute_on_two_processes_lose_none_on_time() {
    const GAMES: u64 = 32;
    let program = "/usr/games/stockfish";
    if !Path::new(program).is_file() {
        return;
    }
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
