//! Traces: what the real program leaves of a game, and what `knightwatch replay` makes of that, whole, cut short and
//! tampered with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use knightwatch::sim::{Endpoint, Fault, FaultRule};

use crate::common::{BOT, Daemon, Site, wait};
use crate::manners::{act, begun, site};

/// The bot thinks about every move, and not for long.
const CONFIG: &str =
    "[[rule]]\nmatch = { bot = false }\nplay = { book = false, max_nodes = 2000 }\n";

/// Where the traces of a site's games are.
fn directory(site: &Site, bot: &Daemon) -> PathBuf {
    let (_, port) = site.url.rsplit_once(':').unwrap();
    bot.state().join(format!("127.0.0.1-{port}.traces"))
}

/// Waits until the trace of a game has this in it, and gives its file.
pub fn traced(site: &Site, bot: &Daemon, id: &str, words: &str) -> PathBuf {
    let path = directory(site, bot).join(format!("{id}.jsonl"));
    wait(&format!("{words} is in the trace of {id}"), || {
        let text = fs::read_to_string(&path).ok()?;
        text.contains(words).then_some(())
    });
    path
}

/// `knightwatch replay` with these arguments.
fn replay(site: &Site, state: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .arg("replay")
        .args(arguments)
        .current_dir(state)
        .env("STATE_DIRECTORY", state)
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .env_remove("LICHESS_TOKEN")
        .output()
        .unwrap()
}

/// What it prints when all is as it was.
pub fn same(site: &Site, state: &Path, arguments: &[&str]) -> String {
    let output = replay(site, state, arguments);
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{printed}");
    assert!(printed.contains(", 0 differences"), "{printed}");
    printed
}

/// What it says, and prints, when something is not.
fn other(site: &Site, state: &Path, trace: &Path) -> (String, String) {
    let output = replay(site, state, &[trace.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    (
        String::from_utf8(output.stderr).unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn a_trace_takes_the_same_decisions_again() {
    let site = site(&["Anna"]);
    let refused = FaultRule::on(Endpoint::Move, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(refused);
    let bot = Daemon::start(&site, CONFIG);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    act(&anna, &id, "takeback/yes");
    wait("she has her move back", || {
        site.game(&id).filter(|game| game.plies == 0)
    });
    for (plies, uci) in [(2, "d2d4"), (4, "g1f3"), (6, "g2g3")] {
        act(&anna, &id, &format!("move/{uci}"));
        site.plies(&id, plies);
    }
    act(&anna, &id, "draw/yes");
    traced(&site, &bot, &id, "\"decline_draw\"");
    for text in ["!time", "!eval", "!draw", "hello"] {
        let path = format!("/api/board/game/{id}/chat");
        anna.post(&path, &[("room", "player"), ("text", text)]);
    }
    traced(&site, &bot, &id, "I accept a draw from move");
    act(&anna, &id, "move/f1g2");
    site.plies(&id, 8);
    act(&anna, &id, "resign");
    let path = traced(&site, &bot, &id, "\"end\"");

    let printed = same(&site, &bot.state(), &[&id]);
    for words in [
        "502",
        "-> wait",
        "-> give a move back (giving a move back, 1 of 3)",
        "-> decline the draw",
        "-> think, ",
        "-> play ",
        "-> say \"My last move took",
        "the stream is open",
        "the game is over: resignation, 0-1",
    ] {
        assert!(printed.contains(words), "{words} in {printed}");
    }
    let again = same(&site, &bot.state(), &[&id, "--search"]);
    // Five moves, one of them thought about twice at most.
    assert!(again.contains("5 searches again, "), "{again}");

    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&site.sim.token_of(BOT)), "{text}");
    assert!(text.len() < 60_000, "{}", text.len());
    tampered(&site, &bot.state(), &text);
    cut(&site, &bot.state(), &text);
}

/// Another decision, another move, another clock: each is seen where it is.
fn tampered(site: &Site, state: &Path, text: &str) {
    let copy = state.join("tampered.jsonl");
    let line = |words: &str| {
        let line = text.lines().position(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("{words} in {text}")) + 1
    };
    for (old, new, expected) in [
        ("\"decline_draw\"", "\"accept_draw\"", "decline the draw"),
        ("\"games\":1,", "\"games\":40,", "replayed: think, "),
        (
            "[{\"do\":\"accept_takeback\"}",
            "[{\"do\":\"decline_takeback\"}",
            "accept the takeback",
        ),
        ("\"takebacks\":3", "\"takebacks\":0", "decline the takeback"),
    ] {
        let at = line(old);
        fs::write(&copy, text.replacen(old, new, 1)).unwrap();
        let (said, printed) = other(site, state, &copy);
        assert!(said.contains("decisions differ"), "{said}");
        let difference = printed.lines().find(|line| line.starts_with("! line "));
        let difference = difference.unwrap_or_else(|| panic!("{new}: {printed}"));
        let number = difference["! line ".len()..].split(':').next().unwrap();
        assert!(number.parse::<usize>().unwrap() >= at, "{difference}");
        assert!(difference.contains(expected), "{difference}");
    }
}

/// What is damaged is said with its line, after what can be read.
fn cut(site: &Site, state: &Path, text: &str) {
    let copy = state.join("damaged.jsonl");
    let lines = text.lines().count();
    let terms = text
        .lines()
        .position(|line| line.contains("\"takebacks\":3"));
    let terms = terms.unwrap() + 1;
    let newer = text.replacen("\"knightwatch_trace\":2", "\"knightwatch_trace\":9", 1);
    for (damaged, expected, printed) in [
        (
            text[..text.len() - 9].to_owned(),
            format!("line {lines} is incomplete"),
            true,
        ),
        (
            text.replacen("\"takebacks\":3", "\"takebacks\":x", 1),
            format!("line {terms} is damaged"),
            true,
        ),
        (newer, "has format version 9".to_owned(), false),
        (
            "1. e4 e5\n".to_owned(),
            "line 1 is not the header of a knightwatch trace".to_owned(),
            false,
        ),
        (String::new(), "the file is empty".to_owned(), false),
    ] {
        fs::write(&copy, damaged).unwrap();
        let (said, out) = other(site, state, &copy);
        assert!(said.contains(&expected), "{expected} in {said}");
        assert_eq!(out.contains("0 differences"), printed, "{out}");
    }
    let output = replay(site, state, &["nothere1"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no trace nothere1"), "{said}");
}

#[test]
fn a_kill_leaves_a_trace_that_goes_on() {
    let site = site(&["Anna"]);
    let mut bot = Daemon::start(&site, CONFIG);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    act(&anna, &id, "move/g1f3");
    site.plies(&id, 4);
    let path = traced(&site, &bot, &id, "\"found\"");
    bot.crash_and_restart();
    same(&site, &bot.state(), &[&id]);
    wait("the game is taken up again", || {
        let text = fs::read_to_string(&path).unwrap();
        (text.matches("the stream is open").count() == 2).then_some(())
    });
    act(&anna, &id, "move/g2g3");
    site.plies(&id, 6);
    act(&anna, &id, "resign");
    traced(&site, &bot, &id, "\"end\"");
    let printed = same(&site, &bot.state(), &[&id]);
    let lives = printed.lines().filter(|line| line.starts_with("game "));
    assert_eq!(lives.count(), 2, "{printed}");
}

#[test]
fn the_latest_traces_are_kept() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "records = { traces = 2 }\n");
    let anna = site.player("Anna");
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let id = begun(&site, &anna);
            act(&anna, &id, "resign");
            traced(&site, &bot, &id, "\"end\"");
            id
        })
        .collect();
    let kept = |id: &String| directory(&site, &bot).join(format!("{id}.jsonl")).exists();
    let kept: Vec<bool> = ids.iter().map(kept).collect();
    assert_eq!(kept, [false, false, true, true]);
}

#[test]
fn no_trace_is_left_where_none_is_wanted() {
    for config in [
        "records = { traces = 0 }\n",
        "records = { enabled = false }\n",
    ] {
        let site = site(&["Anna"]);
        let bot = Daemon::start(&site, config);
        let anna = site.player("Anna");
        let id = begun(&site, &anna);
        act(&anna, &id, "resign");
        site.finished(&id);
        assert!(!directory(&site, &bot).exists(), "{config}");
    }
}
