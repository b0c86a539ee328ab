//! External engines that misbehave never keep a game waiting.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use knightwatch_chess::{Game, Position};
use knightwatch_engine::{Limits, Task};
use knightwatch_external::{EngineError, EngineProcess, ExternalEngine, Launch};

use super::{MOVE, engine, search, stub, wait_until_ready};

/// The first `count` moves of games with an engine that behaves like this.
fn moves(go: &str, count: u64) -> Vec<String> {
    let engine = engine(stub(go), 1);
    let moves = (0..count).map(|game| {
        wait_until_ready(&engine);
        let (report, took) = search(&engine, game);
        assert!(
            took < Duration::from_secs(1),
            "{go}: flagged after {took:?}"
        );
        let mv = report.mv.expect("a move");
        assert!(
            Game::new(Position::startpos()).position().is_legal(mv),
            "{go}"
        );
        mv.uci(knightwatch_chess::CastlingNotation::Standard)
            .to_string()
    });
    moves.collect()
}

#[test]
fn honest_engine_plays_its_moves() {
    assert_eq!(moves(MOVE, 3), ["e2e4"; 3]);
}

#[test]
fn faults_never_cost_the_game() {
    for fault in [
        "sleep 100",
        "exit",
        "kill -9 $$",
        "echo bestmove e2e5",
        "echo bestmove",
        "echo \"bestmove (none)\"",
        "head -c 300000 /dev/urandom",
        "while :; do echo info string flood; done",
        "while :; do printf x; done",
        "echo info depth 1 score cp 9999999999 pv e2e4; sleep 100",
    ] {
        moves(fault, 2);
    }
}

#[test]
fn best_line_heard_is_played_when_engine_hangs() {
    let hang = "echo info depth 9 score cp 30 pv h2h4; sleep 100";
    assert_eq!(moves(hang, 1), ["h2h4"]);
}

#[test]
fn engine_is_restarted_after_a_crash() {
    let go = format!("if [ $n = 2 ]; then exit; fi; {MOVE}");
    let played = moves(&go, 4);
    assert_eq!((played[0].as_str(), played[2].as_str()), ("e2e4", "e2e4"));
}

#[test]
fn engine_without_uciok_leaves_games_to_the_own_one() {
    let engine = engine(Launch::new(["sh", "-c", "sleep 100"]), 2);
    let (report, took) = search(&engine, 1);
    assert!(report.mv.is_some() && took < Duration::from_secs(1));
    let missing = engine_of_missing_program();
    assert!(search(&missing, 1).0.mv.is_some() && !missing.is_ready());
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
                let (report, took) = search(engine, game);
                assert!(
                    report.mv.is_some() && took < Duration::from_secs(1),
                    "{took:?}"
                );
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
