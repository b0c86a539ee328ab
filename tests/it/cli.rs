//! The command line of the real program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use clap::CommandFactory;
use knightwatch::cli::Cli;

use crate::common::{Killed, signal, wait};
use crate::engines::script;

pub(crate) fn knightwatch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command
        .args(arguments)
        .env_remove("LICHESS_TOKEN")
        .stdin(Stdio::null());
    command
}

pub(crate) fn output(arguments: &[&str]) -> Output {
    knightwatch(arguments).output().unwrap()
}

/// The output of a command that must succeed.
pub(crate) fn stdout(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every command and subcommand as typed.
fn commands(command: &clap::Command, path: &[String]) -> Vec<Vec<String>> {
    let mut found = vec![path.to_vec()];
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        let path = [path, &[inner.get_name().to_owned()]].concat();
        found.extend(commands(inner, &path));
    }
    found
}

#[test]
fn cli_definitions_are_valid() {
    Cli::command().debug_assert();
}

#[test]
fn help_of_every_command_has_example() {
    let all = commands(&Cli::command(), &[]);
    assert!(all.len() >= 13, "{all:?}");
    for path in all {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = stdout(&arguments);
        assert!(help.contains("Example"), "{path:?} has no example:\n{help}");
        let example = [&["knightwatch".to_owned()], path.as_slice()]
            .concat()
            .join(" ");
        assert!(
            help.contains(&example),
            "the example of {path:?} does not use it:\n{help}"
        );
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [
        &["fly"][..],
        &["perft"],
        &["perft", "deep"],
        &["perft", "2", "--threads", "0"],
        &["perft", "2", "--threads", "100000"],
        &["perft", "2", "--hash", "100000000"],
        &["datagen", "--data", "x", "--threads", "100000"],
        &["demo", "--games", "0"],
        &["sim", "--listen", "here"],
        &["sim", "--user", "A:king"],
        &["sim", "--speed", "0"],
        &["sim", "--speed", "1001"],
        &["sim", "--speed", "NaN"],
        &["sim", "--nginx-limit", "0"],
        &["sim", "--faults", "F18"],
        &["sim", "--script", "Cargo.toml"],
        &["sim", "--quirk", "castling=0-0"],
        &["sim", "--player", "Echo,kind=king"],
        &["run", "--set", "nothing"],
        &["import", "x.pgn", "--account", ""],
        &["import", "x.pgn", "--account", "a b"],
        &["explain", "--user", "Anna", "--clock", "999+999"],
        &["explain", "--user", "Anna", "--clock", "1.25+0"],
        &["explain", "--user", "Anna", "--clock", "0+0"],
        &["explain", "--user", "Anna", "--clock", "4d"],
        &["render", "startpos", "--variant", "bughouse"],
        &["book"],
        &["epd", "suite.epd"],
        &["epd", "suite.epd", "--nodes", "0"],
        &["match", "--sprt", "0"],
        &["match", "--set", "rfp_margin"],
        &["gauntlet"],
        &["gauntlet", "self", "--tc", "8"],
        &["gauntlet", "self", "--tc", "0+1"],
        &["gauntlet", "self", "--option", "Hash"],
        &["gauntlet", "self", "--option", "UCI_Variant=atomic"],
        &[
            "gauntlet",
            "self",
            "--variant",
            "atomic",
            "--openings",
            "a.epd",
        ],
        &["gauntlet", "self", "--games", "0"],
        &["gauntlet", "self", "--variant", "bughouse"],
        &["gauntlet", "self", "--nodes", "9", "--tc", "1+0"],
        &["gauntlet", "self", "--seed", "4294967296"],
        &["datagen", "--data", "x", "--games", "0"],
        &["datagen", "--data", "x", "--minutes", "nan"],
        &["train", "--data", "x", "--out", "y", "--wdl", "1.1"],
        &["train", "--data", "x", "--out", "y", "--rate", "nan"],
        &["train", "--data", "x", "--out", "y", "--minutes", "1e30"],
        &["train", "--data", "x", "--out", "y", "--epochs", "0"],
        &[
            "calibrate",
            "stockfish",
            "--levels",
            "900",
            "--anchors",
            "1350@1",
        ],
        &[
            "calibrate",
            "stockfish",
            "--levels",
            "1000",
            "--anchors",
            "1350",
        ],
        &[
            "calibrate",
            "stockfish",
            "--levels",
            "1000",
            "--anchors",
            "1350@1",
            "--games",
            "100001",
        ],
        &["tune"],
    ] {
        assert_eq!(output(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn fault_injection_outside_simulator_is_rejected() {
    for switch in [
        ["--time-scale", "2"],
        ["--engine-panics", "0"],
        ["--account-panics", "0"],
        ["--request-panics", "0"],
    ] {
        let output = knightwatch(&["run", "--set", "lichess.url=https://lichess.invalid"])
            .args(switch)
            .env("LICHESS_TOKEN", "lip_nobody")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(
            printed.contains("are for tests against a simulator"),
            "{printed}"
        );
        assert!(printed.contains("lichess.invalid"), "{printed}");
    }
}

#[test]
fn help_lists_embedded_scripts() {
    let list = stdout(&["sim", "--faults", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 17);
    assert!(
        lines[0].starts_with("F1 ") && lines[16].starts_with("F17 "),
        "{list}"
    );
    assert!(lines.iter().all(|line| line.ends_with('.')), "{list}");
}

#[test]
fn version_is_that_of_package() {
    assert_eq!(
        stdout(&["--version"]),
        format!("knightwatch {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn perft_prints_node_count() {
    let counted = stdout(&["perft", "4"]);
    assert!(counted.starts_with("Nodes: 197281\n"), "{counted}");
    let kiwipete = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
    let divided = stdout(&["perft", "2", "--divide", "--fen", kiwipete]);
    assert!(divided.contains("\nNodes: 2039\n"), "{divided}");
    assert!(divided.contains("e1g1: 43\n"), "{divided}");
    let shared = stdout(&["perft", "4", "--threads", "2", "--hash", "1"]);
    assert!(shared.starts_with("Nodes: 197281\n"), "{shared}");
    let after = stdout(&["perft", "1", "--fen", "startpos moves e2e4 c5"]);
    assert!(after.starts_with("Nodes: 30\n"), "{after}");
    let failed = output(&["perft", "2", "--fen", "8/8"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
}

#[test]
fn full_stdout_is_reported() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let full = full.unwrap();
    for arguments in [&["perft", "3"][..], &["--help"], &["--version"]] {
        let mut command = knightwatch(arguments);
        let output = command.stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains("cannot write to stdout: No space left"),
            "{printed}"
        );
    }
}

#[test]
fn full_stderr_keeps_exit_code() {
    for (arguments, code) in [
        (&["no-such-command"][..], 2),
        (&["run", "--config", "/no/such.toml"], 78),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let status = knightwatch(arguments).stderr(full.unwrap()).status();
        assert_eq!(status.unwrap().code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn closed_stdout_ends_silently() {
    let mut child = knightwatch(&["perft", "5", "--divide"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn bench_prints_signature_last() {
    let printed = stdout(&["bench"]);
    let last: Vec<&str> = printed.lines().last().unwrap().split(' ').collect();
    let [nodes, "nodes", speed, "nps"] = last[..] else {
        panic!("the last line is {last:?}");
    };
    assert!(nodes.parse::<u64>().unwrap() > 100_000);
    assert!(speed.parse::<u64>().unwrap() > 0);
}

#[test]
fn match_plays_each_opening_once() {
    let folder = tempfile::tempdir().unwrap();
    let openings = folder.path().join("openings.epd");
    std::fs::write(
        &openings,
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n",
    )
    .unwrap();
    let openings = openings.to_str().unwrap();
    let quick = ["match", "none", "none", "--nodes", "40", "--openings"];
    let printed = stdout(&[&quick[..], &[openings]].concat());
    assert!(
        printed.contains("\nat most 2 games: the file has 1 opening, "),
        "{printed}"
    );
    assert!(
        printed.lines().last().unwrap().starts_with("2 games: "),
        "{printed}"
    );
}

#[test]
fn gauntlet_goes_on_after_opponent_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let engine = folder.path().join("engine");
    let hangs = "while read -r line; do case \"$line\" in uci) echo uciok;; isready) echo readyok;; esac; done";
    script(&engine, hangs);
    let engine = engine.to_str().unwrap();
    let limits = ["--tc", "2+0", "--games", "2", "--threads", "2"];
    let printed = stdout(&[&["gauntlet", engine], &limits[..]].concat());
    assert!(printed.contains("2 games: +2 =0 -0"), "{printed}");
    assert!(
        printed.contains("lost on time: 0 by us, 2 by the opponent"),
        "{printed}"
    );
}

#[test]
fn match_prints_result_last() {
    let short = "match none none --nodes 40 --games 4 --threads 2";
    let words: Vec<&str> = short.split(' ').collect();
    let printed = stdout(&[&words[..], &["--sprt", "-5", "0"]].concat());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[2].starts_with("4 games: +"), "{printed}");
    assert!(
        lines[2].contains("pairs [0, 0, 2, 0, 0], LLR "),
        "{printed}"
    );
    assert_eq!(lines[3..], ["undecided"]);
    let refused = output(&["match", "none", "none", "--set", "courage=3"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let refused = output(&["match", "none", "none", "--openings", "nowhere.epd"]);
    let printed = String::from_utf8(refused.stderr).unwrap();
    assert!(printed.contains("cannot read nowhere.epd"), "{printed}");
}

#[test]
fn gauntlet_prints_result_and_losses_on_time() {
    let short =
        "gauntlet self --tc 1+0.01 --games 2 --threads 1 --opponent-option UCI_LimitStrength=true";
    let printed = stdout(&short.split(' ').collect::<Vec<_>>());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines[0].starts_with("Knightwatch ") && lines[0].ends_with(", 1+0.01"),
        "{printed}"
    );
    assert!(lines[1].starts_with("2 games: +"), "{printed}");
    assert!(lines[2].starts_with("lost on time: "), "{printed}");
}

#[test]
fn gauntlet_plays_variants_to_their_end() {
    let short = "gauntlet self --variant atomic --nodes 300 --games 2 --threads 1";
    let printed = stdout(&short.split(' ').collect::<Vec<_>>());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].ends_with(", Atomic, 300 nodes"), "{printed}");
    assert!(lines[1].starts_with("2 games: +"), "{printed}");
}

#[test]
fn broken_engine_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let cheat = home.path().join("cheat");
    // Its author's name is not UTF-8.
    let script = "#!/bin/sh\necho id name Cheat\nprintf 'id author Ren\\351\\n'\n\
                  while read word rest; do case $word in\n\
                  uci) echo uciok;; isready) echo readyok;; go) echo bestmove a1a1;;\nesac; done\n";
    std::fs::write(&cheat, script).unwrap();
    std::fs::set_permissions(&cheat, PermissionsExt::from_mode(0o700)).unwrap();
    let cheat = cheat.to_str().unwrap();
    let beside = home.path().join("chess960.epd");
    std::fs::write(&beside, "4k3/8/8/8/8/8/8/5KR1 w G -\n").unwrap();
    let beside = beside.to_str().unwrap();
    for (arguments, words) in [
        (&["nowhere/engine"][..], "cannot start `nowhere/engine`"),
        (&["/bin/true"], "true has exited"),
        (
            &["self", "--opponent-option", "Courage=1"],
            "has no option Courage",
        ),
        (&["self", "--option", "Hash=big"], ", not big"),
        (
            &[cheat, "--games", "2", "--tc", "1+0"],
            "Cheat sent no legal move in ",
        ),
        (
            &[cheat, "--openings", beside],
            "Cheat does not play Chess960",
        ),
        (&["/bin/cat"], "cat has not sent uciok within 10.0s"),
    ] {
        let refused = output(&[&["gauntlet"], arguments].concat());
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let printed = String::from_utf8(refused.stderr).unwrap();
        assert!(printed.contains(words), "{printed}");
    }
}

/// Starts the UCI engine.
fn uci() -> Killed {
    let mut command = knightwatch(&["uci"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Killed(command.spawn().unwrap())
}

#[test]
fn uci_ends_with_closed_stdin_or_stdout() {
    let mut engine = uci();
    let child = &mut engine.0;
    drop(child.stdout.take());
    // There is no mate, so the search is endless.
    let endless = b"position startpos\ngo mate 3\n";
    child.stdin.take().unwrap().write_all(endless).unwrap();
    let ended = wait("the end of the search", || child.try_wait().unwrap());
    assert!(ended.success());
}

#[test]
fn service_config_without_credentials_lists_games() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.toml");
    // As in the documentation; only the service has the credentials.
    let written = "[lichess]\ntoken_file = \"%d/token\"\n[records]\ndirectory = \"records\"\n\
                   [daemon]\nsocket = \"bot.sock\"\n[[alert]]\nurl_file = \"%d/alert\"\n\
                   [web]\nlisten = \"0.0.0.0:9664\"\nkey_file = \"%d/web-key\"\n";
    std::fs::write(&file, written).unwrap();
    let failure = |command: &[&str]| {
        let given = ["--config", file.to_str().unwrap()];
        let mut command = knightwatch(&[command, &given].concat());
        let answer = command.env_remove("CREDENTIALS_DIRECTORY").output();
        let answer = answer.unwrap();
        let why = String::from_utf8(answer.stderr).unwrap();
        (answer.status.code(), why)
    };
    let records = home.path().join("records");
    let (traces, games) = ("lichess.org.traces", "lichess.org.sqlite");
    for (command, missing) in [
        (["games"].as_slice(), records.join(games)),
        (&["export"], records.join(games)),
        (&["replay", "abcdEFGH"], records.join(traces)),
        (&["status"], home.path().join("bot.sock")),
    ] {
        let (code, why) = failure(command);
        let missing = missing.display().to_string();
        assert!(
            code == Some(1) && why.contains(&missing),
            "{command:?}: {why}"
        );
    }
    let (code, why) = failure(&["run"]);
    assert!(
        code == Some(78) && why.contains("CREDENTIALS_DIRECTORY is not set"),
        "{why}"
    );
}

#[test]
fn uci_answers_commands() {
    let mut engine = uci();
    let child = &mut engine.0;
    let talk = b"uci\nisready\nsetoption name Hash value 1\nposition startpos moves e2e4 e7e5\ngo depth 3\n";
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(talk).unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        lines.push(line.unwrap());
        if lines.last().unwrap().starts_with("bestmove ") {
            break;
        }
    }
    stdin.write_all(b"quit\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(
        lines.contains(&"uciok".to_owned()) && lines.contains(&"readyok".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("info depth 3 ") && line.contains(" pv ")),
        "{lines:?}"
    );
}

/// Castling and a king move to the same square are distinguishable.
#[test]
fn perft_divide_writes_castling_unambiguously() {
    let fen = "4k3/8/8/8/8/8/8/5KR1 w G - 0 1";
    let printed = stdout(&["perft", "1", "--divide", "--fen", fen]);
    let castling = printed.lines().filter(|line| line.starts_with("f1g1"));
    assert_eq!(castling.collect::<Vec<_>>(), ["f1g1: 1"]);
    let fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1";
    let printed = stdout(&["perft", "1", "--divide", "--fen", fen]);
    assert!(printed.contains("e1g1: 1") && printed.contains("e1c1: 1"));
}

#[test]
fn book_is_built_and_probed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("lines.txt"), "e4 e5 Nf3\n").unwrap();
    let built = stdout(&["book", "build", &path("lines.txt"), "-o", &path("mine.bin")]);
    assert!(built.contains("3 moves"), "{built}");
    let (lines, short) = (path("lines.txt"), path("short.bin"));
    let built = stdout(&["book", "build", &lines, "--max-ply", "2", "-o", &short]);
    assert!(built.contains("2 moves of 2 positions"), "{built}");
    std::fs::write(path("games.pgn"), "1. e4 e5 1-0\n\n1. e4 c5 1/2-1/2\n").unwrap();
    let from_games = [
        "book",
        "build",
        &path("lines.txt"),
        &path("games.pgn"),
        "--min-games",
        "1",
        "-o",
        &path("both.bin"),
    ];
    let built = stdout(&from_games);
    assert!(
        built.contains("4 moves of 3 positions from 1 line and 2 games"),
        "{built}"
    );
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let probed = stdout(&["book", "probe", &path("mine.bin"), start]);
    assert!(probed.contains("e4"), "{probed}");
    assert!(stdout(&["book", "probe", "default", start]).lines().count() >= 3);
    assert_eq!(stdout(&["book", "probe", &path("mine.bin")]), probed);
    assert_eq!(
        stdout(&["book", "probe", &path("mine.bin"), "startpos"]),
        probed
    );
    let replies = stdout(&["book", "probe", &path("mine.bin"), "e4"]);
    assert!(replies.contains("e7e5"), "{replies}");
    let wrong = output(&["book", "probe", "default", "startpos", "e4", "Ke3"]);
    let printed = String::from_utf8(wrong.stderr).unwrap();
    assert!(printed.contains("move 2 after the position"), "{printed}");

    std::fs::write(path("broken.bin"), [0; 17]).unwrap();
    let broken = output(&["book", "probe", &path("broken.bin"), start]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        String::from_utf8(broken.stderr)
            .unwrap()
            .contains("broken.bin")
    );
}

#[test]
fn sim_prints_address_and_ends_on_sigterm() {
    let mut child = knightwatch(&[
        "sim",
        "--listen",
        "127.0.0.1:0",
        "--user",
        "Tester:bot",
        "--user",
        "Anna",
        "--speed",
        "10",
        "--limits",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let address = lines.next().unwrap();
    let address = address.split("http://").nth(1).unwrap().trim();
    let users = [lines.next().unwrap(), lines.next().unwrap()];
    assert!(
        users[0].contains("lip_tester") && users[1].contains("lip_anna"),
        "{users:?}"
    );

    let speed = lines.next().unwrap();
    assert!(speed.contains("10 times as fast"), "{speed}");
    let limits = lines.next().unwrap();
    assert!(limits.contains("rate limits"), "{limits}");

    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /api/account HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer lip_tester\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"Tester\""),
        "{answer}"
    );

    signal(&child, "TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn sim_help_names_every_player_key() {
    let refused = output(&["sim", "--player", "Echo,wings=2"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = String::from_utf8(refused.stderr).unwrap();
    let help = stdout(&["sim", "--help"]);
    let keys: Vec<&str> = refused.split('`').skip(3).step_by(2).collect();
    assert!(keys.len() > 25, "{refused}");
    for key in keys.into_iter().filter(|key| *key != "name") {
        assert!(help.contains(key), "{key}");
    }
}

#[test]
fn sim_prints_line_for_every_game() {
    let mut child = knightwatch(&[
        "sim",
        "--listen",
        "127.0.0.1:0",
        "--seed",
        "7",
        "--player",
        "Fool,resigns=3,delay=0s",
        "--player",
        "Wise,kind=greedy,challenges=Fool,clock=60+0,color=black,count=2,delay=0s",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let games: Vec<String> = lines
        .map(Result::unwrap)
        .filter(|line| line.contains("Fool - Wise"))
        .take(2)
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(games.len(), 2, "{games:?}");
    for game in games {
        assert!(game.contains("  0-1 ") && game.ends_with("60+0"), "{game}");
    }
}

#[test]
fn sim_player_repeats_no_challenge_that_is_refused_for_good() {
    let mut child = knightwatch(&[
        "sim",
        "--listen",
        "127.0.0.1:0",
        "--speed",
        "100",
        "--player",
        "Echo",
        "--player",
        "Wise,challenges=Echo,clock=15+0",
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let refused = |line: &String| line.contains("Bots cannot play UltraBullet");
    let line = lines.by_ref().map(Result::unwrap).find(refused).unwrap();
    assert!(line.ends_with("; no more are sent"), "{line}");
    signal(&child, "TERM");
    assert_eq!(lines.map(Result::unwrap).filter(refused).count(), 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn sim_without_terminal_ignores_sighup() {
    let mut child = knightwatch(&["sim", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    signal(&child, "HUP");
    let address = address.split_whitespace().next().unwrap();
    TcpStream::connect(address.trim_end_matches('/')).unwrap();
    assert_eq!(child.try_wait().unwrap(), None);
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn sim_player_in_a_team_is_a_bot() {
    let mut child = knightwatch(&[
        "sim",
        "--listen",
        "127.0.0.1:0",
        "--team",
        "The Bots,members=Echo",
        "--player",
        "Echo,rating=2200",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.split_whitespace().next().unwrap();
    let mut stream = TcpStream::connect(address.trim_end_matches('/')).unwrap();
    let request = "GET /api/user/Echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("\"title\":\"BOT\"") && answer.contains("2200"),
        "{answer}"
    );
    signal(&child, "TERM");
    child.wait().unwrap();
}

#[test]
fn sim_without_users_explains_how_to_connect() {
    let mut child = knightwatch(&["sim", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.take(3).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, address) = lines[0].split_once("http://").unwrap();
    assert!(
        lines[1].contains("knightwatch sim --user MyBot:bot"),
        "{lines:?}"
    );
    let run = format!("LICHESS_TOKEN=lip_mybot knightwatch run --set lichess.url=http://{address}");
    assert!(lines[2].contains(&run), "{lines:?}");
}

#[test]
fn misspelled_argument_gets_suggestion() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("script.toml");
    std::fs::write(&script, "sped = 3.0\n").unwrap();
    for (arguments, meant) in [
        (&["sim", "--player", "Echo,clok=60+0"][..], "clock"),
        (&["sim", "--arena", "Fri,minuts=10"], "minutes"),
        (&["sim", "--team", "Bots,pasword=x"], "password"),
        (&["sim", "--quirk", "castlin=e1h1"], "castling"),
        (&["sim", "--faults", script.to_str().unwrap()], "speed"),
        (&["gauntlet", "self", "--option", "Treads=2"], "Threads"),
    ] {
        let refused = output(arguments);
        assert!(!refused.status.success(), "{arguments:?}");
        let printed = String::from_utf8(refused.stderr).unwrap();
        let words = format!("did you mean `{meant}`?");
        assert!(printed.contains(&words), "{arguments:?}: {printed}");
    }
}

#[test]
fn sim_with_invalid_users_fails_at_start() {
    for (arguments, word) in [
        (
            &["--user", "Tester", "--faults", "F16"][..],
            "different kinds",
        ),
        (
            &["--user", "Foo:bot", "--user", "foo:bot"],
            "users Foo and foo have the same name",
        ),
        (
            &["--player", "Foo,copies=2", "--player", "Foo2"],
            "players Foo2 and Foo2 have the same name",
        ),
        (
            &["--team", "The Bots", "--team", "the bots!,password=x"],
            "teams The Bots and the bots! have the same id, the-bots",
        ),
        (&["--player", "Xa,challenges=Foo,clock=37+1"], "37+1"),
        (&["--player", "Xa,challenges=Foo,clock=4d"], "4d"),
        (&["--player", "Xa,kind=engine,nodes=0"], "nodes"),
        (&["--player", "Xa,offers-rematches"], "human"),
        (
            &["--arena", "Fri,clock=60+0,minutes=10,team=nope"],
            "no team",
        ),
    ] {
        let output = knightwatch(&["sim", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            printed.contains(word) && !printed.contains("try --listen"),
            "{arguments:?}: {printed}"
        );
    }
}

#[test]
fn command_without_log_ends_when_done() {
    let time = |arguments: &[&str]| {
        let begun = Instant::now();
        stdout(arguments);
        begun.elapsed()
    };
    // One of several runs, because the machine may be busy.
    let is_quick = |_| time(&["perft", "1"]) < Duration::from_millis(900);
    assert!((0..20).any(is_quick));
}

#[test]
fn special_file_as_input_is_rejected() {
    let home = tempfile::tempdir().unwrap();
    let fifo = home.path().join("fifo.pgn");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let fifo = fifo.to_str().unwrap();
    let book = home.path().join("book.bin");
    let book = book.to_str().unwrap();
    let set = |key: &str, path: &str| format!("{key}={path}");
    for path in ["/dev/zero", fifo] {
        let what = if path == fifo { "a FIFO" } else { "a device" };
        let (token, ca) = (
            set("lichess.token_file", path),
            set("lichess.ca_file", path),
        );
        let books = format!("book.files=[\"{path}\"]");
        let commands: &[&[&str]] = &[
            &["run", "--config", path],
            &["check", "--config", path],
            &["run", "--set", &token],
            &["run", "--set", &ca],
            &["run", "--set", &books],
            &["book", "probe", path, "8/8/8/4k3/8/4K3/8/8 w - - 0 1"],
            &["book", "build", path, "--output", book],
            &["epd", path, "--depth", "1"],
            &["explain", path],
            &["replay", path],
            &["render", path],
            &["sim", "--listen", "127.0.0.1:0", "--faults", path],
        ];
        for arguments in commands {
            let mut command = knightwatch(arguments);
            command
                .env("HOME", home.path())
                .env_remove("XDG_CONFIG_HOME");
            if *arguments != ["run", "--set", &token] {
                command.env("LICHESS_TOKEN", "lip_nobody");
            }
            let output = command.current_dir(home.path()).output().unwrap();
            let printed = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success(), "{arguments:?}");
            assert!(
                printed.contains(&format!("it is {what}, not a regular file")),
                "{arguments:?}: {printed}"
            );
        }
        let mut engine = knightwatch(&["uci"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = format!("setoption name EvalFile value {path}\nquit\n");
        engine
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let printed = String::from_utf8(engine.wait_with_output().unwrap().stdout).unwrap();
        assert!(
            printed.contains(&format!("it is {what}, not a regular file")),
            "{printed}"
        );
    }
}

#[test]
fn sim_on_public_address_warns() {
    for (address, is_warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let mut sim = knightwatch(&["sim", "--listen", address])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let out = sim.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut first).unwrap();
        assert!(first.contains("Simulated Lichess on"), "{first}");
        signal(&sim, "TERM");
        let printed = String::from_utf8(sim.wait_with_output().unwrap().stderr).unwrap();
        assert_eq!(
            printed.contains("everybody who reaches this machine"),
            is_warned,
            "{printed}"
        );
    }
}
