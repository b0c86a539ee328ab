//! The engine on the analysis board, through the broker of the simulator.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use knightwatch::chess::Position;
use knightwatch::sim::NewUser;
use serde_json::{Value, json};

use crate::common::{BOT, Daemon, Site, http_client, wait};
use crate::engines::script;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

const PROVIDER: &str = "[engine]\nhash_mib = 16\nthreads = 1\nponder = false\nprovider = true\n";

/// A stand-in for the analysis board of the bot's account.
struct Board<'a> {
    site: &'a Site,
    runtime: tokio::runtime::Runtime,
    engine: Value,
}

/// The lines of an analysis. Dropping it closes the connection.
struct Lines<'a> {
    board: &'a Board<'a>,
    bytes: BoxStream<'static, String>,
    rest: String,
}

impl<'a> Board<'a> {
    fn open(site: &'a Site) -> Self {
        Self::of(site, "Knightwatch")
    }

    /// The board with the engine of this name.
    fn of(site: &'a Site, name: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let engine = wait("the engine is registered", || {
            let engines = engines(site, &runtime);
            engines.into_iter().find(|engine| engine["name"] == name)
        });
        Self {
            site,
            runtime,
            engine,
        }
    }

    /// Asks for an analysis of the position after `e2e4 e7e5`.
    fn analyze(&'a self, session: &str, multi_pv: u32, limit: &Value) -> Lines<'a> {
        let mut work = json!({
            "sessionId": session, "threads": 1, "hash": 16, "multiPv": multi_pv, "variant": "chess",
            "initialFen": START, "moves": ["e2e4", "e7e5"],
        });
        for (key, value) in limit.as_object().unwrap() {
            work[key] = value.clone();
        }
        let id = self.engine["id"].as_str().unwrap();
        let body = json!({ "clientSecret": self.engine["clientSecret"], "work": work });
        let request = http_client()
            .post(format!(
                "{}/api/external-engine/{id}/analyse",
                self.site.url
            ))
            .json(&body);
        let response = self.runtime.block_on(request.send()).unwrap();
        assert_eq!(response.status(), 200);
        let bytes = response
            .bytes_stream()
            .map(|chunk| String::from_utf8(chunk.unwrap_or_default().to_vec()).unwrap());
        Lines {
            board: self,
            bytes: bytes.boxed(),
            rest: String::new(),
        }
    }
}

/// The engines that are registered for the bot's account.
fn engines(site: &Site, runtime: &tokio::runtime::Runtime) -> Vec<Value> {
    let request = http_client()
        .get(format!("{}/api/external-engine", site.url))
        .bearer_auth(site.sim.token_of(BOT));
    let engines = runtime.block_on(async { request.send().await.ok()?.json().await.ok() });
    engines.unwrap_or_default()
}

impl Iterator for Lines<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let line = serde_json::from_str(line).unwrap();
                self.rest = rest.to_owned();
                return Some(line);
            }
            self.rest += &self.board.runtime.block_on(self.bytes.next())?;
        }
    }
}

#[test]
fn engine_analyses_for_the_board() {
    let site = Site::new([NewUser::bot("Anna")]);
    let _bot = Daemon::start(&site, PROVIDER);
    let board = Board::open(&site);
    assert_eq!(board.engine["name"], "Knightwatch");

    let lines: Vec<Value> = board.analyze("one", 3, &json!({ "depth": 8 })).collect();
    let last = lines.last().unwrap();
    assert_eq!(last["depth"], 8, "{last}");
    let pvs = last["pvs"].as_array().unwrap();
    assert_eq!(pvs.len(), 3, "{last}");
    let position =
        Position::from_fen("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 2")
            .unwrap();
    for pv in pvs {
        let first = pv["moves"].as_str().unwrap().split(' ').next().unwrap();
        assert!(position.parse_uci(first).is_ok(), "{pv}");
    }

    // A board that leaves, and one that moves on, free the engine for the next.
    let mut left = board.analyze("two", 1, &json!({}));
    assert!(left.next().is_some());
    drop(left);
    let mut first = board.analyze("three", 1, &json!({}));
    assert!(first.next().is_some());
    let second = board.analyze("three", 1, &json!({ "nodes": 20_000 }));
    assert!(second.last().unwrap()["nodes"].as_u64().unwrap() >= 20_000);
    assert!(first.last().is_some(), "the replaced analysis ends");
    let timed = board.analyze("four", 3, &json!({ "movetime": 300 })).last();
    let timed = timed.expect("a line");
    assert_eq!(timed["pvs"].as_array().map(Vec::len), Some(3), "{timed}");
}

#[test]
fn external_engine_analyses_for_the_board() {
    let site = Site::new([NewUser::bot("Anna")]);
    let engine = format!(
        "[engine]\nhash_mib = 1\nthreads = 1\nponder = false\n[[engine.external]]\nname = \"other\"\n\
         command = [\"{}\", \"uci\"]\nthreads = 1\nhash_mib = 1\nvariants = [\"standard\", \"crazyhouse\"]\n",
        env!("CARGO_BIN_EXE_knightwatch")
    );
    let bot = Daemon::start(&site, &format!("{engine}provider = true\n"));
    let board = Board::of(&site, "other (Knightwatch)");
    assert_eq!(board.engine["variants"], json!(["chess", "crazyhouse"]));
    for (session, limit) in [
        ("one", json!({ "depth": 8 })),
        ("two", json!({ "movetime": 300 })),
        ("three", json!({ "nodes": 20_000 })),
    ] {
        let last = board.analyze(session, 3, &limit).last();
        let last = last.expect("a line");
        assert_eq!(last["pvs"].as_array().map(Vec::len), Some(3), "{last}");
    }
    // A board that moves on frees the engine, and one that leaves.
    let mut first = board.analyze("four", 1, &json!({}));
    assert!(first.next().is_some());
    let mut second = board.analyze("four", 1, &json!({}));
    assert!(second.next().is_some());
    assert!(first.last().is_some(), "the replaced analysis ends");
    drop(second);
    assert!(board.analyze("five", 1, &json!({ "depth": 3 })).count() > 0);

    // Without the key the engine is removed at the next start.
    drop(bot);
    let _bot = Daemon::start(&site, &engine);
    wait("the engine is removed", || {
        engines(&site, &board.runtime).is_empty().then_some(())
    });
}

/// Nothing tells the program that a board was closed but the broken connection of the next line.
#[test]
fn closed_analysis_stops_the_engine_soon() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let stub = home.path().join("stub");
    let received = home.path().join("heard");
    script(
        &stub,
        &format!(
            "exec python3 {} --log {} -- {} uci",
            crate::engines::STUB,
            received.display(),
            env!("CARGO_BIN_EXE_knightwatch")
        ),
    );
    let _bot = Daemon::start(
        &site,
        &format!(
            "[engine]\nhash_mib = 1\nthreads = 1\nponder = false\n[[engine.external]]\nname = \"other\"\n\
             command = [\"{}\"]\nthreads = 1\nhash_mib = 1\nprovider = true\n",
            stub.display()
        ),
    );
    let board = Board::of(&site, "other (Knightwatch)");
    let mut lines = board.analyze("one", 1, &json!({}));
    assert!(lines.next().is_some());
    let since = Instant::now();
    drop(lines);
    wait("the engine is told to stop", || {
        let received = std::fs::read_to_string(&received).unwrap_or_default();
        received.lines().any(|line| line == "stop").then_some(())
    });
    let took = since.elapsed();
    println!("stopped after {took:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn external_engine_is_offered_for_the_variants_that_it_plays() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let stub = home.path().join("stub");
    script(
        &stub,
        "while read -r line; do case \"$line\" in uci) echo id name Stub; \
         echo option name UCI_Variant type combo default chess var chess var crazyhouse; echo uciok;; \
         isready) echo readyok;; go*) echo 'bestmove (none)';; esac; done",
    );
    let bot = Daemon::start(
        &site,
        &format!(
            "[engine]\nhash_mib = 1\nthreads = 1\n[[engine.external]]\nname = \"stub\"\ncommand = [\"{}\"]\n\
             variants = [\"standard\", \"crazyhouse\", \"atomic\"]\nprovider = true\n",
            stub.display()
        ),
    );
    let board = Board::of(&site, "stub (Knightwatch)");
    assert_eq!(board.engine["variants"], json!(["chess", "crazyhouse"]));
    let log = bot.log();
    assert!(
        log.contains("stub (Knightwatch) does not play Atomic"),
        "{log}"
    );
    // What cannot be analyzed ends at once, with a line that says why.
    for (variant, reason) in [
        ("atomic", "it does not play this variant"),
        ("xiangqi", "the variant xiangqi is not played"),
        ("chess", "Stub sent no legal move"),
    ] {
        let work = json!({ "variant": variant });
        assert_eq!(board.analyze(variant, 1, &work).count(), 0, "{variant}");
        let line = format!("stub (Knightwatch) ends an analysis for the board: {reason}");
        wait("the log says why", || {
            bot.log().contains(&line).then_some(())
        });
    }
}

#[test]
fn games_come_before_analysis() {
    let site = Site::new([NewUser::bot("Anna")]);
    let _bot = Daemon::start(
        &site,
        &format!(
            "{PROVIDER}[[rule]]\nmatch = {{ bot = true }}\nplay = {{ book = false, max_depth = 6 }}\n"
        ),
    );
    let board = Board::open(&site);
    let mut lines = board.analyze("one", 1, &json!({}));
    assert!(lines.next().is_some());
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "60"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    for (uci, plies) in [("e2e4", 2), ("d2d4", 4)] {
        anna.play(&id, uci);
        site.plies(&id, plies);
        // The analysis goes on after each of our moves, from the beginning.
        assert!(lines.any(|line| line["depth"] == 1));
    }
}

#[test]
fn missing_scopes_are_named() {
    let site = Site::new([NewUser::bot("Anna")]);
    site.sim.add_token(
        "lip_play",
        BOT,
        &["bot:play", "challenge:read", "challenge:write"],
    );
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let bot = Daemon::launch_at(&site, "lip_play", PROVIDER, Vec::new(), home, log);
    bot.ready();
    wait("the log names the scopes", || {
        bot.log()
            .contains("the token needs the scopes engine:read and engine:write")
            .then_some(())
    });
}
