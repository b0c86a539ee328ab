//! The berserk Python client of the Lichess organization, played against the real `knightwatch sim`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::python_with;

/// The simulator as a child process.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(users: &[&str]) -> (Server, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.args(["sim", "--listen", "127.0.0.1:0"]);
    for user in users {
        command.args(["--user", user]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let greeting = lines.next().unwrap().unwrap();
    // Read the rest, or the pipe fills up.
    std::thread::spawn(move || lines.for_each(drop));
    let base = greeting.split_whitespace().last().unwrap().to_owned();
    assert!(base.starts_with("http://"), "{greeting}");
    (Server(child), base)
}

#[test]
fn berserk_client_calls_supported() {
    let Some(python) = python_with("berserk") else {
        return;
    };
    let (_server, base) = serve(&["Whitey:bot", "Blacky:bot", "Anna", "Bobby"]);
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/berserk/drive.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&base)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
