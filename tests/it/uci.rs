//! The engine as GUIs, testing frameworks and other bots start it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{knightwatch, output, stdout};
use crate::common::python_with;
use crate::terminal::on_terminal;

/// Starts the program with these arguments, sends lines and closes the input.
fn run_uci(arguments: &[&str], lines: &str) -> Output {
    let mut child = knightwatch(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn program_without_arguments_is_an_engine_on_pipes_only() {
    let printed = text(run_uci(&[], "uci\nisready\nquit\n"));
    assert!(printed.starts_with("id name Knightwatch "), "{printed}");
    assert!(printed.ends_with("uciok\nreadyok\n"), "{printed}");
    let (code, printed) = on_terminal(&[], &[]);
    assert_eq!(code, Some(2));
    assert!(printed.contains("\nLook back:\n"), "{printed}");
}

#[test]
fn end_of_input_ends_a_search_with_its_best_move() {
    for line in ["go depth 90", "go infinite", "go nodes 100000000000"] {
        let started = Instant::now();
        let printed = text(run_uci(&[], &format!("position startpos\n{line}\n")));
        assert!(started.elapsed() < Duration::from_secs(30), "{line}");
        let last = printed.lines().last().unwrap();
        assert!(last.starts_with("bestmove "), "{line}: {printed}");
    }
}

#[test]
fn uci_lines_as_arguments_are_executed() {
    let printed = stdout(&["position startpos moves e2e4", "go depth 4", "moves"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(printed.contains("info depth 4 "), "{printed}");
    assert!(lines[lines.len() - 2].starts_with("bestmove "), "{printed}");
    assert_eq!(lines[lines.len() - 1].split(' ').count(), 20, "{printed}");
    let refused = output(&["go nodes -5", "quit"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
}

/// As OpenBench calls an engine with a private network.
#[test]
fn bench_after_an_option_prints_nodes_and_speed_last() {
    let printed = stdout(&["setoption name EvalFile value <none>", "bench 3", "quit"]);
    let last: Vec<&str> = printed.lines().last().unwrap().split(' ').collect();
    assert!(matches!(last[..], [_, "nodes", _, "nps"]), "{printed}");
}

#[test]
fn lines_may_begin_with_the_name_of_a_subcommand() {
    let printed = stdout(&["bench 2", "quit"]);
    assert!(printed.ends_with(" nps\n"), "{printed}");
    let printed = stdout(&["uci", "quit"]);
    assert!(printed.ends_with("uciok\n"), "{printed}");
}

#[test]
fn genfens_starts_from_start_position_or_book() {
    let fens = |book: &str| -> Vec<String> {
        // The blank at the end is there if OpenBench has no extra arguments.
        let printed = stdout(&[&format!("genfens 5 seed 3 book {book} "), "quit"]);
        let fens = printed
            .lines()
            .filter_map(|line| line.strip_prefix("info string genfens "));
        fens.map(ToOwned::to_owned).collect()
    };
    let none = fens("None");
    assert_eq!(none.len(), 5);
    assert_eq!(none, fens("None"));
    assert!(none.iter().all(|fen| fen.split(' ').count() == 6));
    let home = tempfile::tempdir().unwrap();
    let book = home.path().join("book.epd");
    // A rook endgame: its positions have few pieces.
    std::fs::write(&book, "8/5pk1/1p1r2p1/8/8/1P4P1/5PK1/3R4 w - - hmvc 0;\n").unwrap();
    let from_book = fens(book.to_str().unwrap());
    assert_eq!(from_book.len(), 5);
    for fen in from_book {
        let board = fen.split(' ').next().unwrap();
        let pieces = board.chars().filter(char::is_ascii_alphabetic).count();
        assert!(pieces <= 10, "{fen}");
    }
    for (arguments, words) in [
        (["genfens 5 seed x book None", "quit"], "not a number: x"),
        (
            ["genfens 5 seed 1 book nowhere.epd", "quit"],
            "cannot read nowhere.epd",
        ),
    ] {
        let refused = output(&arguments);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let printed = String::from_utf8(refused.stdout).unwrap();
        assert!(
            printed.starts_with("info string genfens: ") && printed.contains(words),
            "{printed}"
        );
    }
}

#[test]
fn xboard_session_plays_a_move_and_quits() {
    let mut child = knightwatch(&[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let talk = b"xboard\nprotover 2\naccepted ping\nnew\nlevel 40 5 0\nsd 4\npost\ntime 30000\nusermove e2e4\nping 1\n";
    stdin.write_all(talk).unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.last().unwrap() == "pong 1" {
            break;
        }
    }
    stdin.write_all(b"result * {done}\nquit\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(lines.contains(&"feature done=1".to_owned()), "{lines:?}");
    assert!(lines[lines.len() - 2].starts_with("move "), "{lines:?}");
}

#[test]
fn python_chess_plays_by_both_protocols() {
    let Some(python) = python_with("chess.engine") else {
        return;
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/python/engine.py");
    let played = Command::new(python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_knightwatch"))
        .output()
        .unwrap();
    assert!(
        played.status.success(),
        "{}",
        String::from_utf8_lossy(&played.stderr)
    );
}
