//! The command line of the real program.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use clap::CommandFactory;
use knightwatch::cli::Cli;

fn knightwatch(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command
        .args(arguments)
        .env_remove("LICHESS_TOKEN")
        .stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    knightwatch(arguments).output().unwrap()
}

/// What a command that succeeds prints.
fn stdout(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every command and subcommand, as one would type it.
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
fn the_definitions_are_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_help_with_an_example() {
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
        &["demo", "--games", "0"],
        &["sim", "--listen", "here"],
        &["sim", "--user", "A:king"],
        &["run", "--set", "nothing"],
        &["book"],
        &[],
    ] {
        assert_eq!(output(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(
        stdout(&["--version"]),
        format!("knightwatch {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn init_takes_piped_answers() {
    let home = tempfile::tempdir().unwrap();
    let mut child = knightwatch(&["init"])
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\nlip_me\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let folder = home.path().join(".config/knightwatch");
    assert_eq!(
        std::fs::read_to_string(folder.join("token")).unwrap(),
        "lip_me\n"
    );
    assert!(folder.join("config.toml").exists());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("knightwatch check")
    );
}

#[test]
fn perft_counts() {
    let counted = stdout(&["perft", "4"]);
    assert!(counted.starts_with("Nodes: 197281\n"), "{counted}");
    let kiwipete = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
    let divided = stdout(&["perft", "2", "--divide", "--fen", kiwipete]);
    assert!(divided.contains("\nNodes: 2039\n"), "{divided}");
    assert!(divided.contains("e1g1: 43\n"), "{divided}");
    let failed = output(&["perft", "2", "--fen", "8/8"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
}

#[test]
fn a_closed_stdout_is_no_reason_to_complain() {
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
