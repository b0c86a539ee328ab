//! Traces of games, and `knightwatch replay` on intact, changed and damaged ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use knightwatch::sim::{Endpoint, Fault, FaultRule};

use crate::common::{BOT, Daemon, Site, wait};
use crate::etiquette::{act, site, start_game};

/// Searches every move, and briefly.
const CONFIG: &str =
    "[[rule]]\nmatch = { bot = false }\nplay = { book = false, max_nodes = 2000 }\n";

/// Directory of the traces of a site.
fn trace_directory(site: &Site, bot: &Daemon) -> PathBuf {
    let (_, port) = site.url.rsplit_once(':').unwrap();
    bot.state().join(format!("127.0.0.1-{port}.traces"))
}

/// Waits until the trace of a game contains these words; returns its path.
pub(crate) fn wait_for_trace(site: &Site, bot: &Daemon, id: &str, words: &str) -> PathBuf {
    let path = trace_directory(site, bot).join(format!("{id}.jsonl"));
    wait(&format!("{words} is in the trace of {id}"), || {
        let text = fs::read_to_string(&path).ok()?;
        text.contains(words).then_some(())
    });
    path
}

/// Runs `knightwatch replay` with these arguments.
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

/// Output of a replay without differences.
pub(crate) fn replay_without_differences(site: &Site, state: &Path, arguments: &[&str]) -> String {
    let output = replay(site, state, arguments);
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{printed}");
    assert!(printed.contains(", 0 differences"), "{printed}");
    printed
}

/// Standard error and standard output of a replay that fails.
fn replay_with_errors(site: &Site, state: &Path, trace: &Path) -> (String, String) {
    let output = replay(site, state, &[trace.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    (
        String::from_utf8(output.stderr).unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn trace_replay_takes_same_decisions() {
    let site = site(&["Anna"]);
    let refused = FaultRule::on(Endpoint::Move, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(refused);
    let bot = Daemon::start(&site, CONFIG);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    act(&anna, &id, "takeback/yes");
    wait("the move is taken back", || {
        site.game(&id).filter(|game| game.plies == 0)
    });
    for (plies, uci) in [(2, "a2a3"), (4, "c2c3"), (6, "h2h3")] {
        act(&anna, &id, &format!("move/{uci}"));
        site.plies(&id, plies);
    }
    act(&anna, &id, "draw/yes");
    wait_for_trace(&site, &bot, &id, "\"decline_draw\"");
    for text in ["!time", "!eval", "!draw", "hello"] {
        let path = format!("/api/board/game/{id}/chat");
        anna.post(&path, &[("room", "player"), ("text", text)]);
    }
    wait_for_trace(&site, &bot, &id, "I accept a draw from move");
    act(&anna, &id, "move/g2g3");
    site.plies(&id, 8);
    act(&anna, &id, "resign");
    let path = wait_for_trace(&site, &bot, &id, "\"end\"");

    let printed = replay_without_differences(&site, &bot.state(), &[&id]);
    for words in [
        "502",
        "-> wait",
        "-> accept the takeback (accepting the takeback, 1 of 3)",
        "-> decline the draw",
        "-> think, ",
        "-> play ",
        "-> say \"My last move took",
        "the stream is open",
        "the game is over: resignation, 0-1",
    ] {
        assert!(printed.contains(words), "{words} in {printed}");
    }
    assert!(!printed.contains("the trace has no end"), "{printed}");
    let again = replay_without_differences(&site, &bot.state(), &[&id, "--search"]);
    // Five moves; at most one of them is searched twice.
    assert!(again.contains("5 searches repeated, "), "{again}");

    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&site.sim.token_of(BOT)), "{text}");
    assert!(text.len() < 60_000, "{}", text.len());
    assert_changes_are_found(&site, &bot.state(), &text);
    assert_damage_is_reported(&site, &bot.state(), &text);
}

/// Asserts that a replay reports a changed decision or input at its line.
fn assert_changes_are_found(site: &Site, state: &Path, text: &str) {
    let copy = state.join("changed.jsonl");
    let line = |words: &str| {
        let line = text.lines().position(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("{words} in {text}")) + 1
    };
    for (old, new, expected) in [
        ("\"decline_draw\"", "\"accept_draw\"", "decline the draw"),
        ("\"games\":1,", "\"games\":40,", "replayed: think, "),
        (
            "[{\"side_action\":\"accept_takeback\"}",
            "[{\"side_action\":\"decline_takeback\"}",
            "accept the takeback",
        ),
        ("\"takebacks\":3", "\"takebacks\":0", "decline the takeback"),
    ] {
        let at = line(old);
        fs::write(&copy, text.replacen(old, new, 1)).unwrap();
        let (errors, printed) = replay_with_errors(site, state, &copy);
        assert!(errors.contains("decisions differ"), "{errors}");
        let difference = printed.lines().find(|line| line.starts_with("! line "));
        let difference = difference.unwrap_or_else(|| panic!("{new}: {printed}"));
        let number = difference["! line ".len()..].split(':').next().unwrap();
        assert!(number.parse::<usize>().unwrap() >= at, "{difference}");
        assert!(difference.contains(expected), "{difference}");
    }
}

/// Asserts that a replay reports damage with its line, after replaying the lines before it.
fn assert_damage_is_reported(site: &Site, state: &Path, text: &str) {
    let copy = state.join("damaged.jsonl");
    let lines = text.lines().count();
    let cut: String = text.split_inclusive('\n').take(lines - 1).collect();
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
            cut,
            format!("no end after line {}: the game is running", lines - 1),
            true,
        ),
        (
            text.replacen("\"takebacks\":3", "\"takebacks\":x", 1),
            format!("line {terms} is damaged"),
            true,
        ),
        (newer, "format version 9".to_owned(), false),
        (
            text.replacen("\"resumed\":false", "\"resumed\":true", 1),
            "records are missing at line 1".to_owned(),
            true,
        ),
        (
            "1. e4 e5\n".to_owned(),
            "line 1 is not the header of a knightwatch trace".to_owned(),
            false,
        ),
        (String::new(), "the file is empty".to_owned(), false),
    ] {
        fs::write(&copy, damaged).unwrap();
        let (errors, out) = replay_with_errors(site, state, &copy);
        assert!(errors.contains(&expected), "{expected} in {errors}");
        assert_eq!(out.contains("0 differences"), printed, "{out}");
    }
    let output = replay(site, state, &["nothere1"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("no trace nothere1"), "{errors}");
}

#[test]
fn trace_continues_after_kill() {
    let site = site(&["Anna"]);
    let mut bot = Daemon::start(&site, CONFIG);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    act(&anna, &id, "move/g1f3");
    site.plies(&id, 4);
    let path = wait_for_trace(&site, &bot, &id, "\"found_move\"");
    bot.crash_and_restart();
    let (errors, printed) = replay_with_errors(&site, &bot.state(), &path);
    assert!(errors.contains("it has no end"), "{errors}");
    assert!(printed.contains(", 0 differences"), "{printed}");
    wait("the game is resumed", || {
        let text = fs::read_to_string(&path).unwrap();
        (text.matches("the stream is open").count() == 2).then_some(())
    });
    act(&anna, &id, "move/g2g3");
    site.plies(&id, 6);
    act(&anna, &id, "resign");
    wait_for_trace(&site, &bot, &id, "\"end\"");
    let printed = replay_without_differences(&site, &bot.state(), &[&id]);
    let sessions = printed.lines().filter(|line| line.starts_with("game "));
    assert_eq!(sessions.count(), 2, "{printed}");
    assert_eq!(
        printed.matches("the trace has no end here").count(),
        1,
        "{printed}"
    );
}

#[test]
fn traces_beyond_limit_are_removed() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "records = { traces = 2 }\n");
    let anna = site.player("Anna");
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let id = start_game(&site, &anna);
            act(&anna, &id, "resign");
            wait_for_trace(&site, &bot, &id, "\"end\"");
            id
        })
        .collect();
    let kept = |id: &String| {
        trace_directory(&site, &bot)
            .join(format!("{id}.jsonl"))
            .exists()
    };
    let kept: Vec<bool> = ids.iter().map(kept).collect();
    assert_eq!(kept, [false, false, true, true]);
}

#[test]
fn traces_disabled_writes_none() {
    for config in [
        "records = { traces = 0 }\n",
        "records = { enabled = false }\n",
    ] {
        let site = site(&["Anna"]);
        let bot = Daemon::start(&site, config);
        let anna = site.player("Anna");
        let id = start_game(&site, &anna);
        act(&anna, &id, "resign");
        site.finished(&id);
        assert!(!trace_directory(&site, &bot).exists(), "{config}");
    }
}
