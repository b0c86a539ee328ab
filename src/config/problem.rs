//! Configuration errors: place, description and hint.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::lichess::model::clip;
use crate::lichess::{redact_prefixed_tokens, redact_tokens};

/// Longer names of variables and arguments are cut.
const MAX_NAME_CHARS: usize = 160;

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
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.sort_key());
        Self { problems }
    }

    pub(super) fn unless_empty(problems: Vec<Problem>) -> Option<Self> {
        (!problems.is_empty()).then(|| Self::new(problems))
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
    File(Excerpt),
    /// An environment variable.
    Environment(String),
    /// A `--set` argument.
    Argument(String),
    /// A default, or the file as a whole.
    Nowhere,
}

/// A configuration file.
pub(super) struct SourceFile {
    pub path: PathBuf,
    pub text: String,
}

/// Without the text, which may contain secrets.
impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

/// A part of a line of a file.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    file: Arc<SourceFile>,
    /// Counted from 1.
    line: usize,
    /// Where the line begins, in bytes.
    line_start: usize,
    /// The part to underline, in bytes.
    span: Range<usize>,
}

impl Place {
    /// Short description, for `knightwatch config`.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::File(at) => format!("{}:{}", at.file.path.display(), at.line),
            Self::Environment(name) => format!("environment variable {name}"),
            Self::Argument(_) => "--set".to_owned(),
            Self::Nowhere => "default".to_owned(),
        }
    }

    /// Sort key: by layer, in a file from top to bottom.
    pub(super) fn sort_key(&self) -> (u8, usize) {
        match self {
            Self::Nowhere => (0, 0),
            Self::File(at) => (1, at.span.start),
            Self::Environment(_) => (2, 0),
            Self::Argument(_) => (3, 0),
        }
    }
}

impl Excerpt {
    /// The line of the file where the byte range `span` begins.
    pub(super) fn new(file: &Arc<SourceFile>, span: Range<usize>) -> Self {
        let text = &file.text;
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = start + text[start..].find('\n').unwrap_or(text.len() - start);
        let end = text.floor_char_boundary(span.end.clamp(start, line_end));
        Self {
            file: Arc::clone(file),
            line: text[..line_start].matches('\n').count() + 1,
            line_start,
            span: start..end,
        }
    }

    /// The column, counted from 1, in characters.
    fn column(&self) -> usize {
        self.file.text[self.line_start..self.span.start]
            .chars()
            .count()
            + 1
    }

    /// The line without secrets and control characters, with the part underlined.
    fn snippet(&self) -> Snippet<'static, Annotation<'static>> {
        let text = self.file.text[self.line_start..].lines().next();
        let line = without_secrets(&text.unwrap_or_default().replace(char::is_control, " "));
        // Both replacements keep the number of characters.
        let offset = |chars| line.char_indices().nth(chars).map_or(line.len(), |at| at.0);
        let start = self.column() - 1;
        let width = self.file.text[self.span.clone()].chars().count();
        let span = offset(start)..offset(start + width);
        Snippet::source(line)
            .line_start(self.line)
            .path(self.file.path.display().to_string())
            .annotation(AnnotationKind::Primary.span(span))
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
            Place::File(at) => {
                let path = at.file.path.display();
                format!("{path}:{}:{}: ", at.line, at.column())
            }
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
        let shown = |text: &str, max| without_secrets(&clip(text, max));
        let title = Level::ERROR.primary_title(shown(&self.message, MAX_MESSAGE_CHARS));
        let origin = |what, name| Origin::path(format!("{what} {}", shown(name, MAX_NAME_CHARS)));
        let report = match &self.place {
            Place::File(excerpt) => title.element(excerpt.snippet()),
            Place::Environment(name) => title.element(origin("environment variable", name)),
            Place::Argument(key) => title.element(origin("argument --set", key)),
            Place::Nowhere => Group::with_title(title),
        };
        f.write_str(&Renderer::plain().render(&[report]))?;
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

/// Masks everything that may be a secret: tokens, all that follows a `token =` or `password =`, and passwords of arenas and
/// teams.
///
/// Letters become dots, so that carets still point at their columns.
fn without_secrets(text: &str) -> String {
    let masked_text = without_passwords(&redact_tokens(text));
    let mut equals = masked_text.match_indices('=').map(|(at, _)| at);
    let is_secret = |at: &usize| {
        let key = masked_text[..*at].trim_end().trim_end_matches(['"', '\'']);
        let last = key
            .rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .next();
        matches!(last, Some("token" | "password"))
    };
    match equals.find(is_secret) {
        Some(at) => masked_text[..=at].to_owned() + &masked(&masked_text[at + 1..]),
        None => masked_text,
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

/// Returns whether this is a host or a number, as before the port of an address, and not an id.
fn is_address(id: &str) -> bool {
    id == "localhost" || id.bytes().all(|byte| byte.is_ascii_digit())
}

/// Masks `PASSWORD` in `ID:PASSWORD` and in `https://HOST/tournament/ID:PASSWORD`.
fn without_password(word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '@');
    let hidden = |password: &str| -> String { password.chars().map(|_| '.').collect() };
    if let Some((scheme, rest)) = word.split_once("://") {
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        return match path.split_once(':') {
            Some((id, password)) => format!("{scheme}://{host}/{id}:{}", hidden(password)),
            None => word.to_owned(),
        };
    }
    match word.split_once(':') {
        Some((id, password))
            if !id.is_empty()
                && id.chars().all(is_part)
                && !password.starts_with([' ', '/'])
                && !is_address(id) =>
        {
            format!("{id}:{}", hidden(password))
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
                "tournaments = { password = \"hunter2\", speeds = [\"blizt\"] }",
                "tournaments = { password = \".......\", ...... = [\".....\"] }",
            ),
            (
                "join = [\"https://lichess.org/tournament/may24bot:secret\", \"bad\"]",
                "join = [\"https://lichess.org/tournament/may24bot:......\", \"bad\"]",
            ),
            (
                "url = \"http://localhost:9663/\"",
                "url = \"http://localhost:9663/\"",
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

    fn shown(text: &str, span: Range<usize>) -> String {
        let file = Arc::new(SourceFile {
            path: "f".into(),
            text: text.to_owned(),
        });
        Problem::new(Place::File(Excerpt::new(&file, span)), "wrong").to_string()
    }

    #[test]
    fn excerpt_stays_on_its_line() {
        let text = "a = 1\nbé = [\n 2 ]\n";
        let several = "error: wrong\n --> f:2:1\n  |\n2 | bé = [\n  | ^^^^^^";
        assert_eq!(shown(text, 6..text.len()), several);
        let end = "error: wrong\n --> f:4:1\n  |\n4 |\n  | ^";
        assert_eq!(shown(text, text.len()..text.len()), end);
        let empty = "error: wrong\n --> f:1:1\n  |\n1 |\n  | ^";
        assert_eq!(shown("", 0..0), empty);
    }

    #[test]
    fn excerpt_of_long_line_is_cut() {
        let long = format!("a = [{}]", "7, ".repeat(80_000));
        for span in [200_000..200_001, 4..long.len()] {
            let text = shown(&long, span.clone());
            assert!(text.contains(&format!("f:1:{}\n", span.start + 1)));
            assert!(text.lines().all(|line| line.chars().count() < 200));
            assert!(text.contains("7, 7") && text.contains('^'), "{text}");
        }
    }

    #[test]
    fn excerpt_has_no_control_characters_and_secrets() {
        let text = shown("a = \"\u{1b}[2J\u{9b}\"\n", 4..8);
        assert!(text.ends_with("1 | a = \" [2J \"\n  |     ^^^^"), "{text}");
        // Letters of two bytes become dots of one.
        let text = shown("password = \"éé\" # éé\n", 18..25);
        assert!(
            text.ends_with("1 | password = \"..\" # ..\n  |                 ^^^^"),
            "{text}"
        );
    }
}
