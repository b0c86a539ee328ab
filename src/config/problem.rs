//! Configuration errors: place, description and hint.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use crate::lichess::model::{clean, clip};
use crate::lichess::{redact_prefixed_tokens, redact_tokens};

/// Longer lines are cut in excerpts.
const MAX_LINE_CHARS: usize = 160;

/// Longer messages are cut; they may quote the configuration.
const MAX_MESSAGE_CHARS: usize = 600;

/// Further problems are only counted; there may be one for every line.
const MAX_SHOWN_PROBLEMS: usize = 20;

/// All problems of the settings, at least one. `Display` formats them for the terminal.
#[derive(Debug)]
pub struct Error {
    problems: Vec<Problem>,
}

impl Error {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// The problems to show, ordered by layer and line.
    pub fn problems(&self) -> &[Problem] {
        &self.problems[..self.problems.len().min(MAX_SHOWN_PROBLEMS)]
    }

    /// A sentence about the number of problems that are not shown, if any.
    pub fn more(&self) -> Option<String> {
        match self.problems.len().saturating_sub(MAX_SHOWN_PROBLEMS) {
            0 => None,
            1 => Some("1 more problem is not shown".to_owned()),
            more => Some(format!("{more} more problems are not shown")),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems().iter().enumerate() {
            if i > 0 {
                writeln!(f, "\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.more() {
            Some(more) => write!(f, "\n\n{more}: correct these first"),
            None => Ok(()),
        }
    }
}

/// One problem of the settings.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// The source of a value.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A part of a line of a file.
    File(Box<Excerpt>),
    /// An environment variable.
    Environment(String),
    /// A `--set` argument.
    Argument(String),
    /// A default, or the file as a whole.
    Nowhere,
}

/// A part of a line of a file, with the text of the line.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    path: PathBuf,
    /// Counted from 1.
    line: usize,
    /// Counted from 1, in characters.
    column: usize,
    /// How many characters to underline, at least 1.
    width: usize,
    /// The beginning of the line without control characters; `None` if the problem is beyond it.
    text: Option<String>,
}

impl Place {
    /// Short description, for `knightwatch config`.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::File(at) => format!("{}:{}", at.path.display(), at.line),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Argument(_) => "--set".to_owned(),
            Self::Nowhere => "default".to_owned(),
        }
    }

    /// Sort key: by layer, in a file from top to bottom.
    pub(super) fn sort_key(&self) -> (u8, usize, usize) {
        match self {
            Self::Nowhere => (0, 0, 0),
            Self::File(at) => (1, at.line, at.column),
            Self::Environment(_) => (2, 0, 0),
            Self::Argument(_) => (3, 0, 0),
        }
    }
}

/// Replaces control characters by a space, so that columns are preserved.
fn printable(c: char) -> char {
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
        let beginning = || line.chars().take(MAX_LINE_CHARS).map(printable).collect();
        Self {
            path,
            line: text[..line_start].matches('\n').count() + 1,
            column: column + 1,
            width: width.min(MAX_LINE_CHARS.saturating_sub(column)).max(1),
            text: (column < MAX_LINE_CHARS).then(beginning),
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

    /// The problem in one line, for the log.
    pub fn line(&self) -> String {
        let place = match &self.place {
            Place::File(at) => format!("{}:{}:{}: ", at.path.display(), at.line, at.column),
            Place::Environment(name) => format!("environment variable {name}: "),
            Place::Argument(key) => format!("argument --set {key}: "),
            Place::Nowhere => String::new(),
        };
        let hint = self.hint.iter().map(|hint| format!(" ({hint})"));
        let message = without_secrets(&self.message);
        let line = format!("{place}{message}{}", hint.collect::<String>());
        redact_tokens(&clip(&line, MAX_MESSAGE_CHARS))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = clip(&self.message, MAX_MESSAGE_CHARS);
        write!(f, "error: {}", without_secrets(&message))?;
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
                    let line = without_secrets(text);
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
                    without_secrets(&clip(name, MAX_LINE_CHARS))
                )?;
            }
            Place::Argument(key) => write!(
                f,
                "\n  --> argument --set {}",
                without_secrets(&clip(key, MAX_LINE_CHARS))
            )?,
            Place::Nowhere => {}
        }
        match &self.hint {
            Some(hint) => write!(
                f,
                "\nhint: {}",
                redact_prefixed_tokens(&clip(hint, MAX_MESSAGE_CHARS))
            ),
            None => Ok(()),
        }
    }
}

/// Masks everything that may be a secret: tokens, values of `token` and `password`, and passwords of arenas and teams.
///
/// Letters become dots, so that carets still point at their columns.
fn without_secrets(text: &str) -> String {
    let masked_text = without_passwords(&redact_tokens(text));
    let Some((key, value)) = masked_text.split_once('=') else {
        return masked_text;
    };
    let name = key.trim().trim_matches(['"', '\'']);
    let last = name.rsplit('.').next().unwrap_or_default();
    match last {
        "token" | "password" => format!("{key}={}", masked(value)),
        _ => masked_text,
    }
}

/// Replaces letters and digits by dots.
fn masked(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.chars()
        .map(|c| if is_part(c) { '.' } else { c })
        .collect()
}

/// Masks `PASSWORD` in quoted words such as `"may24bot:PASSWORD"`.
fn without_passwords(text: &str) -> String {
    let mut masked_text = String::with_capacity(text.len());
    for piece in text.split_inclusive(['"', '\'', '`']) {
        let word = piece.trim_end_matches(['"', '\'', '`']);
        masked_text += &without_password(word);
        masked_text += &piece[word.len()..];
    }
    masked_text
}

/// Whether this is a host or a number, as before the port of an address, and not an id.
fn is_address(id: &str) -> bool {
    id == "localhost" || id.bytes().all(|byte| byte.is_ascii_digit())
}

/// Masks `PASSWORD` in `ID:PASSWORD`.
fn without_password(word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '@');
    match word.split_once(':') {
        Some((id, password))
            if !id.is_empty()
                && id.chars().all(is_part)
                && !password.starts_with([' ', '/'])
                && !is_address(id) =>
        {
            let hidden: String = password.chars().map(|_| '.').collect();
            format!("{id}:{hidden}")
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_place() {
        for (text, masked_text) in [
            ("a lip_abC1 b", "a lip_.... b"),
            ("token = \"abc\"", "token = \"...\""),
            ("lichess.token=abc", "lichess.token=..."),
            ("token_file = \"abc\"", "token_file = \"abc\""),
            ("password = \"a bc\"", "password = \". ..\""),
            (
                "join = [\"may24bot:pass word\", \"battle01@our-team:x\", \"june1bot\"]",
                "join = [\"may24bot:.........\", \"battle01@our-team:.\", \"june1bot\"]",
            ),
            (
                "`our-team:secret` does not fit",
                "`our-team:......` does not fit",
            ),
            ("  'may24bot:pass", "  'may24bot:...."),
            (
                "url = \"https://lichess.org\"",
                "url = \"https://lichess.org\"",
            ),
            ("listen = \"127.0.0.1:9664\"", "listen = \"127.0.0.1:9664\""),
        ] {
            assert_eq!(without_secrets(text), masked_text);
        }
    }

    #[test]
    fn excerpt_stays_on_its_line() {
        let text = "a = 1\nbé = [\n 2 ]\n";
        let at = Excerpt::new("f".into(), text, 6..text.len());
        assert_eq!((at.line, at.column, at.width), (2, 1, 6));
        let end = Excerpt::new("f".into(), text, text.len()..text.len());
        assert_eq!((end.line, end.column, end.width), (4, 1, 1));
        let long = format!("a = [{}]", "7, ".repeat(100_000));
        let at = Excerpt::new("f".into(), &long, 200_000..200_001);
        assert_eq!((at.column, at.text), (200_001, None));
        let at = Excerpt::new("f".into(), &long, 4..long.len());
        assert_eq!((at.column, at.width), (5, MAX_LINE_CHARS - 4));
        let at = Excerpt::new("f".into(), "a = \"\u{1b}[2J\"\n", 4..8);
        assert_eq!(at.text.as_deref(), Some("a = \" [2J\""));
        let empty = Excerpt::new("f".into(), "", 0..0);
        assert_eq!((empty.line, empty.column), (1, 1));
    }
}
