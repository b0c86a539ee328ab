//! UCI and XBoard front ends of the engine.
//!
//! Implements UCI by Stefan Meyer-Kahlen (2006) with the customary commands `bench`, `d`, `eval` and `go perft`, and
//! the Chess Engine Communication Protocol, version 2, after the line `xboard`. Invalid input never ends the session;
//! it is answered by an `info string` or an `Error`.

mod format;
mod genfens;
mod options;
mod parse;
mod session;
mod set_option;
mod xboard;

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use knightwatch_util::sync::lock;
use session::{Flow, Session};

pub use format::{best_move_line, info_line};
pub use parse::{read_limits, read_position};
pub use session::is_command;

/// Longest accepted input line: a game of 200,000 plies.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Serves a GUI until it sends `quit` or closes the input; both stop the running search, which reports its best move.
///
/// # Errors
///
/// If the input cannot be read or the output cannot be written.
pub fn run(input: impl BufRead + Send, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut session = Session::new(Output::new(output));
    let mut lines = Lines(input);
    while let Some(line) = lines.next() {
        match line? {
            Line::TooLong => session.refuse_long_line(),
            Line::Text(text) if text == "xboard" => return xboard::run(lines, session),
            Line::Text(text) if session.execute(&text) == Flow::Quit => break,
            Line::Text(_) => {}
        }
        session.output.check()?;
    }
    session.stop();
    session.output.check()
}

/// Executes UCI lines one after another, as OpenBench passes them as arguments. A search with a limit is completed,
/// one without is stopped at once. Returns whether no line failed.
///
/// # Errors
///
/// If the output cannot be written.
pub fn run_lines<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    output: impl Write + Send + 'static,
) -> io::Result<bool> {
    let mut session = Session::new(Output::new(output));
    for line in lines {
        if session.execute(line.trim()) == Flow::Quit {
            break;
        }
        session.finish();
        session.output.check()?;
    }
    Ok(!session.has_failed)
}

/// A line of input.
enum Line {
    /// A line without surrounding blanks; bytes that are not UTF-8 are replaced.
    Text(String),
    TooLong,
}

/// Reader of lines of bounded length.
struct Lines<R>(R);

impl<R: BufRead> Lines<R> {
    fn read(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let input = &mut self.0;
        if input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(None);
        }
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            return Ok(Some(Line::TooLong));
        }
        let text = String::from_utf8_lossy(&line);
        Ok(Some(Line::Text(text.trim().to_owned())))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        self.read().transpose()
    }
}

/// Shared output of this thread and the engine's threads.
#[derive(Clone)]
struct Output(Arc<Mutex<Sink>>);

struct Sink {
    writer: Box<dyn Write + Send>,
    /// Start of lines for people.
    comment_prefix: &'static str,
    failure: Option<io::Error>,
}

impl Output {
    fn new(writer: impl Write + Send + 'static) -> Output {
        Output(Arc::new(Mutex::new(Sink {
            writer: Box::new(writer),
            comment_prefix: "info string",
            failure: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        lock(&self.0)
    }

    /// Writes one or several lines at once.
    fn write_line(&self, text: &str) {
        let mut sink = self.lock();
        let written = writeln!(sink.writer, "{text}").and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.failure.get_or_insert(error);
        }
    }

    /// Returns whether all writes have succeeded so far.
    fn is_open(&self) -> bool {
        self.lock().failure.is_none()
    }

    /// Writes lines for people.
    fn info_string(&self, what: &str) {
        let prefix = self.lock().comment_prefix;
        for line in what.lines() {
            self.write_line(&format!("{prefix} {line}"));
        }
    }

    fn set_comment_prefix(&self, prefix: &'static str) {
        self.lock().comment_prefix = prefix;
    }

    /// Returns the first write error, if any.
    fn check(&self) -> io::Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
