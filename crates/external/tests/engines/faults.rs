//! External engines that misbehave never keep a game waiting.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game, Position};
use knightwatch_engine::{Limits, SearchInfo, Task};
use knightwatch_external::{
    EngineError, EngineProcess, ExternalEngine, ExternalHandle, ExternalSettings, FixedLimits,
    GameSetup, Launch, Outcome,
};

use super::{
    MOVE, clock, engine, failing, play, search, search_game, settings, start, stub, unhurried,
    wait_until, wait_until_ready,
};

/// A clock that a faulty engine must not exceed.
const SHORT: Duration = Duration::from_secs(1);

/// The first `count` moves of games with an engine whose `go` behaves like this.
fn moves(go: &str, count: u64, limits: &Limits) -> Vec<String> {
    moves_of(stub(go), go, count, limits)
}

fn moves_of(launch: Launch, go: &str, count: u64, limits: &Limits) -> Vec<String> {
    let engine = engine(launch, 1);
    let moves = (0..count).map(|game| {
        wait_until_ready(&engine);
        let (report, took) = search(&engine, game, limits.clone());
        let remaining = limits.clock.as_ref().unwrap().remaining;
        assert!(took < remaining, "{go}: flagged after {took:?}");
        let mv = report.mv.expect("a move");
        assert!(
            Game::new(Position::startpos()).position().is_legal(mv),
            "{go}"
        );
        mv.uci(CastlingNotation::Standard).to_string()
    });
    moves.collect()
}

#[test]
fn honest_engine_plays_its_moves() {
    assert_eq!(moves(MOVE, 3, &unhurried()), ["e2e4"; 3]);
}

#[test]
fn faults_never_cost_the_game() {
    for fault in [
        "exit",
        "echo bestmove",
        "while :; do printf x; done",
        "echo info depth 1 score cp 9999999999 pv e2e4; sleep 100",
    ] {
        moves(fault, 2, &clock(SHORT));
    }
    for faults in [
        "--hang-at 1",
        "--die-at 2",
        "--illegal-at 1 --no-move-at 2",
        "--late-at 1",
        "--slow 3",
        "--flood",
        "--garbage",
    ] {
        moves_of(failing(faults), faults, 2, &clock(SHORT));
    }
}

#[test]
fn best_line_received_is_played_when_engine_hangs() {
    let hang = "echo info depth 9 score cp 30 pv h2h4; sleep 100";
    assert_eq!(moves(hang, 1, &clock(Duration::from_secs(10))), ["h2h4"]);
}

#[test]
fn engine_is_restarted_after_a_crash() {
    let go = format!("if [ $n = 2 ]; then exit; fi; {MOVE}");
    let played = moves(&go, 4, &unhurried());
    assert_eq!((played[0].as_str(), played[2].as_str()), ("e2e4", "e2e4"));
}

#[test]
fn engine_without_uciok_leaves_games_to_the_embedded_one() {
    let engine = engine(failing("--never-uciok"), 2);
    let (report, took) = search(&engine, 1, clock(SHORT));
    assert!(report.mv.is_some() && took < SHORT);
    let missing = engine_of_missing_program();
    assert!(search(&missing, 1, clock(SHORT)).0.mv.is_some() && !missing.is_ready());
}

fn engine_of_missing_program() -> ExternalEngine {
    engine(Launch::new(["/nonexistent/engine"]), 1)
}

#[test]
fn many_games_share_one_slow_process() {
    let engine = engine(stub(&format!("sleep 0.05; {MOVE}")), 1);
    wait_until_ready(&engine);
    std::thread::scope(|scope| {
        for game in 0..16 {
            let engine = &engine;
            scope.spawn(move || {
                let (report, took) = search(engine, game, clock(SHORT));
                assert!(report.mv.is_some() && took < SHORT, "{took:?}");
            });
        }
    });
}

#[test]
fn stopped_search_ends_at_once() {
    let engine = engine(
        stub(
            "echo info depth 1 score cp 1 pv a2a3; while read -r line; do if [ \"$line\" = stop ]; then echo bestmove a2a3; break; fi; done",
        ),
        1,
    );
    wait_until_ready(&engine);
    let (sender, receiver) = channel();
    let handle = engine.start(
        Task {
            game_id: 1,
            game: Game::new(Position::startpos()),
            limits: Limits {
                infinite: true,
                ..Limits::default()
            },
            on_info: Box::new(|_| ()),
            on_done: Box::new(move |report| sender.send(report).unwrap()),
        },
        Arc::default(),
    );
    handle.stop();
    let report = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(report.depth, 1);
}

#[test]
fn options_are_checked() {
    let mut process = EngineProcess::start(&stub(MOVE)).unwrap();
    assert_eq!(process.name(), "Stub");
    assert!(process.set_options([("Hash", "4")]).is_ok());
    let unknown = process.set_options([("Hsh", "4")]).unwrap_err();
    assert!(
        unknown.to_string().contains("did you mean `Hash`"),
        "{unknown}"
    );
    let bad = process.set_options([("Hash", "65")]).unwrap_err();
    assert!(matches!(bad, EngineError::BadValue { .. }), "{bad}");
}

#[test]
fn last_lines_of_an_engine_are_in_the_error() {
    for (go, words) in [
        (
            "echo info depth 1; echo info string ERROR: no network; exit 1",
            "Stub has exited; its last lines: info string ERROR: no network",
        ),
        (
            "echo bad file >&2; echo; echo the end >&2; exit 1",
            "Stub has exited; its last lines: bad file | the end",
        ),
        ("exit 1", "Stub has exited"),
    ] {
        let engine = engine(stub(go), 1);
        wait_until_ready(&engine);
        search(&engine, 1, unhurried());
        wait_until("the failure", || engine.stats().failures == 1);
        assert_eq!(engine.stats().last_failure.as_deref(), Some(words));
    }
}

#[test]
fn no_process_is_left_when_the_engine_is_dropped() {
    let home = std::env::temp_dir().join(format!("engine-{}", std::process::id()));
    let id = home.to_str().unwrap();
    // It never speaks, and does not end with its input.
    let silent = engine(
        Launch::new(["sh", "-c", &format!("echo $$ > {id}; exec sleep 600")]),
        1,
    );
    let deadline = Instant::now() + Duration::from_secs(60);
    let pid: u32 = loop {
        let text = std::fs::read_to_string(&home).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            break pid;
        }
        assert!(Instant::now() < deadline, "the engine does not start");
        std::thread::sleep(Duration::from_millis(5));
    };
    drop(silent);
    let stat = format!("/proc/{pid}/stat");
    // A zombie counts as ended: the thread that waits for it may not have run yet.
    let is_running = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(Instant::now() < deadline, "the engine still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(home).unwrap();
}

/// Starts a search on the opponent's time, as soon as a process is free.
fn ponder(engine: &ExternalEngine) -> (ExternalHandle, Receiver<SearchInfo>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let (sender, receiver) = channel();
        let task = Task {
            game_id: 1,
            game: play(""),
            limits: Limits {
                ponder: true,
                ..clock(Duration::from_secs(10))
            },
            on_info: Box::new(|_| ()),
            on_done: Box::new(move |report| drop(sender.send(report))),
        };
        if let Some(handle) = engine.start_ponder(task, Arc::default()) {
            return (handle, receiver);
        }
        assert!(Instant::now() < deadline, "the engine does not ponder");
    }
}

fn pondering(faults: &str) -> ExternalEngine {
    let engine = start(ExternalSettings {
        ponder: true,
        ..settings(failing(faults), 1)
    });
    wait_until_ready(&engine);
    engine
}

#[test]
fn flood_while_pondering_ends_the_process() {
    let engine = pondering("--flood-ponder 0");
    let (handle, _result) = ponder(&engine);
    wait_until("the flood is noticed", || {
        handle.outcome().failure.is_some()
    });
    let failure = handle.outcome().failure.unwrap();
    assert!(failure.contains("writes too much output"), "{failure}");
    assert!(!handle.ponderhit_with(&clock(Duration::from_secs(1))));
    let (report, took) = search(&engine, 1, clock(SHORT));
    assert!(report.mv.is_some() && took < SHORT, "{took:?}");
}

#[test]
fn ponder_hit_does_not_wait_behind_lines() {
    // Not enough for a flood, and it does not read what we send.
    let engine = pondering("--flood-ponder 0.0002");
    let (handle, result) = ponder(&engine);
    let limits = clock(Duration::from_secs(2));
    wait_until("the search begins", || handle.ponderhit_with(&limits));
    let since = Instant::now();
    let report = result.recv_timeout(Duration::from_secs(60)).unwrap();
    let took = since.elapsed();
    assert!(
        report.mv.is_some() && took < Duration::from_secs(2),
        "{took:?}"
    );
    assert!(handle.outcome().fallback.is_some());
}

#[test]
fn process_that_does_not_obey_is_killed() {
    // It ponders for ever.
    let engine = pondering("--flood-ponder 60");
    let (_handle, _result) = ponder(&engine);
    wait_until("the search begins", || engine.stats().ready == 1);
    let since = Instant::now();
    let limits = Limits {
        depth: Some(1),
        ..clock(Duration::from_secs(5))
    };
    let (report, _) = search_game(&engine, 2, &play(""), limits, GameSetup::default());
    assert!(report.mv.is_some());
    wait_until("the process is killed", || engine.stats().failures > 0);
    let took = since.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    wait_until_ready(&engine);
}

#[test]
fn process_that_does_not_read_is_killed() {
    let script = "echo id name Deaf; echo option name Book type string default; echo uciok; echo readyok; exec sleep 100";
    let engine = engine(Launch::new(["sh", "-c", script]), 1);
    wait_until_ready(&engine);
    let setup = GameSetup {
        // More than a pipe holds.
        options: vec![("Book".to_owned(), "x".repeat(1 << 20))],
        ..GameSetup::default()
    };
    let since = Instant::now();
    let limits = Limits {
        depth: Some(1),
        ..clock(Duration::from_secs(5))
    };
    let (report, outcome) = search_game(&engine, 1, &play(""), limits, setup);
    assert!(report.mv.is_some() && outcome.fallback.is_some());
    let took = since.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn busy_process_is_waited_for_twice_in_a_game() {
    let hang = "echo info depth 1 score cp 20 pv e2e4; exec sleep 1000";
    let engine = engine(stub(hang), 1);
    wait_until_ready(&engine);
    let (sender, received) = channel();
    let task = Task {
        game_id: 1,
        game: play(""),
        limits: Limits {
            infinite: true,
            ..Limits::default()
        },
        on_info: Box::new(move |_| sender.send(()).unwrap()),
        on_done: Box::new(|_| ()),
    };
    let _endless = engine.start(task, Arc::default());
    // A search with a clock would be served before it.
    received.recv_timeout(Duration::from_secs(60)).unwrap();
    let limits = Limits {
        depth: Some(1),
        ..clock(Duration::from_secs(30))
    };
    let took = [1, 2, 3].map(|_| {
        let since = Instant::now();
        let (_, outcome) = search_game(&engine, 2, &play(""), limits.clone(), GameSetup::default());
        assert_eq!(outcome.fallback.as_deref(), Some("no process was free"));
        since.elapsed()
    });
    assert!(took[2] < took[0] / 2 && took[2] < took[1] / 2, "{took:?}");
}

#[test]
fn mistake_in_the_options_is_not_tried_again() {
    for (option, value, expected) in [
        ("Hsh", "4", "did you mean `Hash`?"),
        ("Hash", "65", "Hash of Stub takes 1 to 64, not 65"),
    ] {
        let engine = start(ExternalSettings {
            options: vec![(option.to_owned(), value.to_owned())],
            ..settings(stub(MOVE), 1)
        });
        let mistake = engine.wait_for_start(Duration::from_secs(60)).unwrap();
        assert!(mistake.contains(expected), "{mistake}");
        let since = Instant::now();
        let (_, outcome) = search_game(
            &engine,
            1,
            &play(""),
            clock(Duration::from_secs(60)),
            GameSetup::default(),
        );
        // Nothing will be ready.
        let why = outcome.fallback.unwrap();
        assert!(why.contains(expected), "{why}");
        assert!(since.elapsed() < Duration::from_secs(30));
        assert_eq!(engine.stats().failures, 1);
    }
    let good = engine(stub(MOVE), 1);
    assert_eq!(good.wait_for_start(Duration::from_secs(60)), None);
    let of_game = |name: &str| good.option_problem(&[(name.to_owned(), "2".to_owned())]);
    assert_eq!(of_game("hash"), None);
    assert!(of_game("Hsh").is_some_and(|why| why.contains("did you mean `Hash`?")));
}

#[test]
fn message_about_an_option_is_no_mistake() {
    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("quit)", "setoption*) echo 'info string Hash: 8 MB';; quit)");
    let engine = start(ExternalSettings {
        hash_mib: Some(8),
        ..settings(launch, 1)
    });
    assert_eq!(engine.wait_for_start(Duration::from_secs(60)), None);
    assert!(engine.is_ready());
}

#[test]
fn move_that_is_sent_again_after_stop_is_not_the_next_answer() {
    // It moves while we send `stop`, and answers that as well, but late.
    let mut launch = stub("sleep 0.15; echo bestmove e2e4");
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("quit)", "stop) sleep 0.1; echo bestmove g1f3;; quit)");
    let engine = start(ExternalSettings {
        limits: FixedLimits {
            movetime: Some(Duration::from_millis(100)),
            ..FixedLimits::default()
        },
        ..settings(launch, 1)
    });
    wait_until_ready(&engine);
    // Games that it knows are not announced again.
    for game in [1, 2, 1, 2] {
        let limits = clock(Duration::from_secs(60));
        let (report, outcome) = search_game(&engine, game, &play(""), limits, GameSetup::default());
        let mv = report
            .mv
            .unwrap()
            .uci(CastlingNotation::Standard)
            .to_string();
        assert_eq!((mv.as_str(), outcome.fallback), ("e2e4", None));
    }
}

#[test]
fn ready_timeout_holds_until_the_engine_is_ready() {
    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("isready) ", "isready) sleep 3; ");
    for (timeout, is_enough) in [(1, false), (60, true)] {
        launch.ready_timeout = Duration::from_secs(timeout);
        let mut engine = EngineProcess::start(&launch).unwrap();
        let ready = engine.set_options([("Hash", "4")]);
        match is_enough {
            true => ready.unwrap(),
            false => assert!(matches!(ready, Err(EngineError::Silent { .. }))),
        }
    }
}

#[test]
fn engine_that_is_just_starting_is_waited_for() {
    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("uci) ", "uci) sleep 0.3; ");
    let engine = engine(launch, 1);
    let limits = clock(Duration::from_secs(60));
    let (report, outcome) = search_game(&engine, 1, &play(""), limits, GameSetup::default());
    assert_eq!((report.depth, outcome.fallback), (3, None));
}

#[test]
fn transcript_has_the_start_and_failures_before_a_search() {
    let says = |outcome: &Outcome, line: &str| {
        let transcript = &outcome.transcript;
        assert!(
            transcript.iter().any(|received| received == line),
            "{transcript:?}"
        );
    };
    let engine = engine(stub(MOVE), 1);
    wait_until_ready(&engine);
    let (_, outcome) = search_game(&engine, 1, &play("e2e4"), unhurried(), GameSetup::default());
    for line in [
        "> uci",
        "< id name Stub",
        "< uciok",
        "> ucinewgame",
        "< readyok",
    ] {
        says(&outcome, line);
    }

    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("uci) ", "ucinewgame) echo out of memory; exit;; uci) ");
    let dying = super::engine(launch, 1);
    wait_until_ready(&dying);
    let (_, outcome) = search_game(&dying, 1, &play(""), unhurried(), GameSetup::default());
    assert!(outcome.fallback.is_some());
    says(&outcome, "> ucinewgame");
    says(&outcome, "< out of memory");

    let script = "read -r line; echo no network; exit";
    let broken = super::engine(Launch::new(["sh", "-c", script]), 1);
    wait_until("it has failed", || broken.stats().failures > 0);
    let (_, outcome) = search_game(&broken, 1, &play(""), unhurried(), GameSetup::default());
    says(&outcome, "> uci");
    says(&outcome, "< no network");
}

/// The times from the failure to our move, as docs/engines.md gives them.
#[test]
fn failed_engine_is_replaced_in_time() {
    for (faults, max) in [
        ("--die-at 1", Duration::from_millis(500)),
        ("--illegal-at 1", Duration::from_millis(500)),
        ("--no-move-at 1", Duration::from_millis(500)),
        ("--flood", Duration::from_millis(2_500)),
        // 100 ms of its own, 20 ms, and a second after `stop`.
        ("--hang-at 1", Duration::from_millis(2_500)),
        ("--late-at 1", Duration::from_millis(2_500)),
    ] {
        let measure = || {
            let engine = start(ExternalSettings {
                limits: FixedLimits {
                    movetime: Some(Duration::from_millis(100)),
                    ..FixedLimits::default()
                },
                ..settings(failing(faults), 1)
            });
            wait_until_ready(&engine);
            let since = Instant::now();
            let setup = GameSetup::default();
            let (report, outcome) = search_game(&engine, 1, &play(""), unhurried(), setup);
            let took = since.elapsed();
            println!("{faults}: {took:?}");
            assert!(
                report.mv.is_some() && outcome.fallback.is_some(),
                "{faults}"
            );
            took
        };
        // A busy machine only adds to the time.
        assert!((0..5).any(|_| measure() < max), "{faults}");
    }
}
