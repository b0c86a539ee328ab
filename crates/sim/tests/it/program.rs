//! The simulator as a program: its output, its log and its end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

fn start(listen: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_knightwatch-sim"))
        .args(["--listen", listen, "--user", "MyBot:bot"])
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn stderr_of(program: &mut Child) -> String {
    let mut text = String::new();
    let mut stderr = program.stderr.take().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn program_ends_on_signals() {
    for signal in ["-TERM", "-INT"] {
        let mut program = start("127.0.0.1:0");
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("Simulated Lichess on http://127.0.0.1:"));
        assert_eq!(
            lines.next().unwrap().unwrap(),
            "  BOT MyBot  token lip_mybot"
        );
        let id = program.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
        assert!(program.wait().unwrap().success(), "{signal}");
        assert_eq!(stderr_of(&mut program), "");
    }
}

#[test]
fn program_logs_its_error() {
    // An address for documentation, which no machine has.
    let mut program = start("192.0.2.1:1");
    assert_eq!(program.wait().unwrap().code(), Some(1));
    let log = stderr_of(&mut program);
    assert!(log.contains(" ERROR ") && log.contains("cannot listen on 192.0.2.1:1"));
}
