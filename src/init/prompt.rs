//! Terminal prompts. Answers may be piped in, one per line.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::str::FromStr;

use super::hidden_input::HiddenInput;

/// Asks questions on stdin and stdout. The end of the input is an error of kind
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
pub(super) struct Prompt {
    /// Whether stdin is a terminal, which must not echo secrets.
    hidden: bool,
}

impl Prompt {
    pub(super) fn new() -> Self {
        Self {
            hidden: io::stdin().is_terminal(),
        }
    }

    /// Prints a line.
    pub(super) fn print(&self, line: impl Display) -> io::Result<()> {
        writeln!(io::stdout(), "{line}")
    }

    /// Asks a question and returns the trimmed answer.
    pub(super) fn answer(&self, question: impl Display) -> io::Result<String> {
        let mut output = io::stdout();
        write!(output, "{question}")?;
        output.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            writeln!(output)?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim().to_owned())
    }

    /// Asks for a secret, without echo on a terminal.
    pub(super) fn secret(&self, question: impl Display) -> io::Result<String> {
        if !self.hidden {
            return self.answer(question);
        }
        let _hidden = HiddenInput::new()?;
        self.answer(question)
    }

    /// Asks for a value until `check` accepts it.
    pub(super) fn value<T: Clone + FromStr>(
        &self,
        question: &str,
        default: (&T, impl Display),
        check: impl Fn(&T) -> Result<(), String>,
    ) -> io::Result<T> {
        let (default, default_text) = default;
        loop {
            let line = self.answer(format_args!("{question} [{default_text}] "))?;
            if line.is_empty() {
                return Ok(default.clone());
            }
            let value = line
                .parse::<T>()
                .map_err(|_| "not a number in range".to_owned());
            match value.and_then(|value| check(&value).map(|()| value)) {
                Ok(value) => return Ok(value),
                Err(why) => self.print(format_args!("  {why}"))?,
            }
        }
    }

    pub(super) fn yes(&self, question: impl Display, default: bool) -> io::Result<bool> {
        let choices = if default { "Y/n" } else { "y/N" };
        loop {
            let line = self.answer(format_args!("{question} [{choices}] "))?;
            match line.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.print("  y or n")?,
            }
        }
    }
}

/// Returns whether the error is the end of the input.
pub(super) fn is_end_of_input(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}
