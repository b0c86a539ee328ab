//! External engines: faults, sharing, protocols.

mod faults;
mod protocols;
mod sharing;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use knightwatch_chess::{Game, Position};
use knightwatch_engine::{Clock, Engine, EngineOptions, Limits, SearchInfo, Task};
use knightwatch_external::{
    ExternalEngine, ExternalSettings, FixedLimits, GameSetup, Launch, Outcome,
};

/// The engine that fails as it is told.
const STUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub.py");

/// Starts [`STUB`] with these faults.
fn failing(faults: &str) -> Launch {
    let words = ["python3", STUB]
        .into_iter()
        .chain(faults.split_whitespace());
    Launch::new(words)
}

/// The answer of a stub to `go`.
const MOVE: &str = "echo info depth 3 score cp 20 pv e2e4 e7e5; echo bestmove e2e4 ponder e7e5";

/// A UCI engine that opens with e2e4 and behaves as its `go` says.
fn stub(go: &str) -> Launch {
    let script = format!(
        "n=0; while read -r line; do case \"$line\" in \
         uci) echo id name Stub; echo option name Hash type spin default 1 min 1 max 64; \
              echo option name UCI_Chess960 type check default false; echo uciok;; \
         isready) echo readyok;; \
         go*) n=$((n+1)); {go};; \
         quit) exit;; esac; done"
    );
    Launch::new(["sh", "-c", &script])
}

fn settings(launch: Launch, processes: usize) -> ExternalSettings {
    ExternalSettings {
        name: format!("{launch:?}"),
        launch,
        options: Vec::new(),
        threads: None,
        hash_mib: None,
        processes,
        limits: FixedLimits::default(),
        own_time_management: false,
        ponder: false,
    }
}

fn engine(launch: Launch, processes: usize) -> ExternalEngine {
    start(settings(launch, processes))
}

fn start(settings: ExternalSettings) -> ExternalEngine {
    let fallback_engine = Engine::new(EngineOptions {
        hash_mib: 1,
        threads: 1,
    });
    ExternalEngine::new(settings, fallback_engine)
}

fn wait_until_ready(engine: &ExternalEngine) {
    wait_until(&format!("{} starts", engine.name()), || engine.is_ready());
}

/// Waits for a condition.
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The result of a search of the initial position, and the time it took.
fn search(engine: &ExternalEngine, game_id: u64, limits: Limits) -> (SearchInfo, Duration) {
    let (sender, receiver) = channel();
    let since = Instant::now();
    let _handle = engine.start(
        Task {
            game_id,
            game: Game::new(Position::startpos()),
            limits,
            on_info: Box::new(|_| ()),
            on_done: Box::new(move |report| sender.send(report).unwrap()),
        },
        Arc::default(),
    );
    let report = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    (report, since.elapsed())
}

/// Limits with this time on the clock.
fn clock(remaining: Duration) -> Limits {
    Limits {
        clock: Some(Clock {
            remaining,
            increment: Duration::ZERO,
            moves_to_go: None,
            overhead: Duration::from_millis(50),
            lag: Duration::from_millis(10),
            ponders: false,
        }),
        ..Limits::default()
    }
}

/// A long clock for an engine that answers at once, and a short search of the embedded engine if it has to move.
fn unhurried() -> Limits {
    Limits {
        depth: Some(1),
        ..clock(Duration::from_secs(60))
    }
}

/// A game after these moves.
fn play(moves: &str) -> Game {
    let mut game = Game::new(Position::startpos());
    for uci in moves.split_whitespace() {
        game.push_uci(uci).unwrap();
    }
    game
}

/// Searches, and returns the result with how it ended.
fn search_game(
    engine: &ExternalEngine,
    game_id: u64,
    game: &Game,
    limits: Limits,
    setup: GameSetup,
) -> (SearchInfo, Outcome) {
    let (sender, receiver) = channel();
    let task = Task {
        game_id,
        game: game.clone(),
        limits,
        on_info: Box::new(|_| ()),
        on_done: Box::new(move |report| sender.send(report).unwrap()),
    };
    let handle = engine.start(task, Arc::new(setup));
    let report = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    (report, handle.outcome())
}
