//! Questions on the terminal, and their answers. Answers may be piped in, one a line.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::str::FromStr;

use super::hidden::Hidden;

/// A conversation on stdin and stdout. When the answers end at a question, it gives an error of the kind
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof).
pub struct Talk {
    /// Whether secrets are typed on a terminal, where they must not be seen.
    hidden: bool,
}

impl Talk {
    pub fn new() -> Self {
        Self {
            hidden: io::stdin().is_terminal(),
        }
    }

    /// Prints a line.
    pub fn say(&self, line: impl Display) -> io::Result<()> {
        writeln!(io::stdout(), "{line}")
    }

    /// The answer to a question, without the blanks around it.
    pub fn answer(&self, question: impl Display) -> io::Result<String> {
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

    /// The same, and a terminal does not show what is typed.
    pub fn secret(&self, question: impl Display) -> io::Result<String> {
        if !self.hidden {
            return self.answer(question);
        }
        let _hidden = Hidden::new()?;
        self.answer(question)
    }

    /// One value; asks again until it is one that `check` takes.
    pub fn value<T: Clone + FromStr>(
        &self,
        question: &str,
        default: (&T, impl Display),
        check: impl Fn(&T) -> Result<(), String>,
    ) -> io::Result<T> {
        let (default, shown) = default;
        loop {
            let line = self.answer(format_args!("{question} [{shown}] "))?;
            if line.is_empty() {
                return Ok(default.clone());
            }
            let value = line
                .parse::<T>()
                .map_err(|_| "that is not understood".to_owned());
            match value.and_then(|value| check(&value).map(|()| value)) {
                Ok(value) => return Ok(value),
                Err(why) => self.say(format_args!("  {why}"))?,
            }
        }
    }

    pub fn yes(&self, question: impl Display, default: bool) -> io::Result<bool> {
        let choices = if default { "Y/n" } else { "y/N" };
        loop {
            let line = self.answer(format_args!("{question} [{choices}] "))?;
            match line.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("  y or n")?,
            }
        }
    }
}

/// Whether there are no more answers.
pub fn is_end(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}
