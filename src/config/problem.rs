//! What is wrong with the settings, said so that it can be put right: where, what, and what to do.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use crate::lichess::model::{clean, clip};

/// The most that is shown of a line, in characters.
const WIDEST: usize = 160;

/// The longest message: it may quote what was written.
const LONGEST: usize = 600;

/// All that is wrong with the settings, never empty. Its text is ready for the terminal.
#[derive(Debug)]
pub struct Error {
    problems: Vec<Problem>,
}

impl Error {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// The problems, in the order of the layers and their lines.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f, "\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Where a value was written.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A stretch of a line of a file.
    File(Box<Excerpt>),
    /// An environment variable.
    Environment(String),
    /// A `--set` argument.
    Argument(String),
    /// Nowhere: a default, or the file as a whole.
    Nowhere,
}

/// A stretch of a line of a file, with the line.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    path: PathBuf,
    /// Counted from 1.
    line: usize,
    /// Counted from 1, in characters.
    column: usize,
    /// How many characters to underline, at least 1.
    width: usize,
    /// The beginning of the line, harmless in a terminal; nothing when what is wrong stands beyond it.
    text: Option<String>,
}

impl Place {
    /// The same in a few words, for what is not wrong.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::File(at) => format!("{}:{}", at.path.display(), at.line),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Argument(_) => "--set".to_owned(),
            Self::Nowhere => "default".to_owned(),
        }
    }

    /// A key that sorts places as an operator looks at them: by layer, in a file from top to bottom.
    pub(super) fn order(&self) -> (u8, usize, usize) {
        match self {
            Self::Nowhere => (0, 0, 0),
            Self::File(at) => (1, at.line, at.column),
            Self::Environment(_) => (2, 0, 0),
            Self::Argument(_) => (3, 0, 0),
        }
    }
}

/// The character, or a space in the place of one that a terminal would obey, so that columns stay what they are.
fn harmless(c: char) -> char {
    let mut buffer = [0; 4];
    if clean(c.encode_utf8(&mut buffer)).is_empty() {
        ' '
    } else {
        c
    }
}

impl Excerpt {
    /// The line of `text` where the byte range `span` begins.
    pub(super) fn new(path: PathBuf, text: &str, span: Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let before = &text[line_start..start];
        let end = text.floor_char_boundary(
            span.end
                .clamp(start, line_start + line.len().max(before.len())),
        );
        let column = before.chars().count();
        let width = text[start..end.max(start)].chars().count();
        let beginning = || line.chars().take(WIDEST).map(harmless).collect();
        Self {
            path,
            line: text[..line_start].matches('\n').count() + 1,
            column: column + 1,
            width: width.min(WIDEST.saturating_sub(column)).max(1),
            text: (column < WIDEST).then(beginning),
        }
    }
}

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same in one line, for the log.
    pub fn line(&self) -> String {
        let place = match &self.place {
            Place::File(at) => format!("{}:{}:{}: ", at.path.display(), at.line, at.column),
            Place::Environment(name) => format!("environment variable {name}: "),
            Place::Argument(key) => format!("argument --set {key}: "),
            Place::Nowhere => String::new(),
        };
        let hint = self.hint.iter().map(|hint| format!(" ({hint})"));
        let line = format!("{place}{}{}", self.message, hint.collect::<String>());
        without_tokens(&clip(&line, LONGEST))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = clip(&self.message, LONGEST);
        write!(f, "error: {}", without_tokens(&message))?;
        match &self.place {
            Place::File(at) => {
                let gutter = at.line.to_string().len();
                write!(
                    f,
                    "\n{:gutter$}--> {}:{}:{}",
                    "",
                    at.path.display(),
                    at.line,
                    at.column
                )?;
                if let Some(text) = &at.text {
                    let line = without_tokens(text);
                    write!(f, "\n{:gutter$} |\n{} | {line}", "", at.line)?;
                    write!(
                        f,
                        "\n{:gutter$} | {:indent$}{}",
                        "",
                        "",
                        "^".repeat(at.width),
                        indent = at.column - 1
                    )?;
                }
            }
            Place::Environment(name) => {
                write!(
                    f,
                    "\n  --> environment variable {}",
                    without_tokens(&clip(name, WIDEST))
                )?;
            }
            Place::Argument(key) => write!(
                f,
                "\n  --> argument --set {}",
                without_tokens(&clip(key, WIDEST))
            )?,
            Place::Nowhere => {}
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {}", without_tokens(&clip(hint, LONGEST))),
            None => Ok(()),
        }
    }
}

/// The text with everything hidden that may be a token: what begins with `lip_`, and what is set as a `token`.
///
/// Hidden letters become dots, so that carets still point at their columns.
fn without_tokens(text: &str) -> String {
    let secret = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("lip_") {
        let (before, token) = rest.split_at(at + 4);
        let length = token.find(|c| !secret(c)).unwrap_or(token.len());
        shown.push_str(before);
        shown.extend(token[..length].chars().map(|_| '.'));
        rest = &token[length..];
    }
    shown.push_str(rest);

    let Some((key, value)) = shown.split_once('=') else {
        return shown;
    };
    let name = key.trim().trim_matches(['"', '\'']);
    if name == "token" || name.ends_with(".token") {
        let dots: String = value
            .chars()
            .map(|c| if secret(c) { '.' } else { c })
            .collect();
        return format!("{key}={dots}");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden_in_place() {
        assert_eq!(without_tokens("a lip_abC1 b"), "a lip_.... b");
        assert_eq!(without_tokens("token = \"abc\""), "token = \"...\"");
        assert_eq!(without_tokens("lichess.token=abc"), "lichess.token=...");
        assert_eq!(
            without_tokens("token_file = \"abc\""),
            "token_file = \"abc\""
        );
    }

    #[test]
    fn an_excerpt_stays_on_its_line() {
        let text = "a = 1\nbé = [\n 2 ]\n";
        let at = Excerpt::new("f".into(), text, 6..text.len());
        assert_eq!((at.line, at.column, at.width), (2, 1, 6));
        let end = Excerpt::new("f".into(), text, text.len()..text.len());
        assert_eq!((end.line, end.column, end.width), (4, 1, 1));
        let long = format!("a = [{}]", "7, ".repeat(100_000));
        let at = Excerpt::new("f".into(), &long, 200_000..200_001);
        assert_eq!((at.column, at.text), (200_001, None));
        let at = Excerpt::new("f".into(), &long, 4..long.len());
        assert_eq!((at.column, at.width), (5, WIDEST - 4));
        let at = Excerpt::new("f".into(), "a = \"\u{1b}[2J\"\n", 4..8);
        assert_eq!(at.text.as_deref(), Some("a = \" [2J\""));
        let empty = Excerpt::new("f".into(), "", 0..0);
        assert_eq!((empty.line, empty.column), (1, 1));
    }
}
