//! Reading and finding trace files. Damage is reported with its line.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::recorder::MAX_FILE_BYTES;
use super::{FORMAT_VERSION, Header, Record};
use crate::config::Settings;
use crate::input;
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::clip;

/// Reason why a trace cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Io(#[from] io::Error),
    /// The file is too large.
    #[error("larger than {} bytes, so not a trace", 2 * MAX_FILE_BYTES)]
    TooLong,
    /// The file is not a trace.
    #[error(
        "line 1 is not the header of a knightwatch trace, but {0:?}; traces are in a directory next to the records"
    )]
    Foreign(String),
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The trace has another version of the format.
    #[error(
        "line {line}: the trace has format version {version}, written by knightwatch {program}; knightwatch {} reads \
         version {FORMAT_VERSION}",
        super::VERSION
    )]
    UnsupportedVersion {
        /// Line of the header.
        line: usize,
        /// Version of the program that wrote it.
        program: String,
        /// Version of the format.
        version: u32,
    },
    /// A line cannot be parsed.
    #[error("line {line} is damaged: {why}")]
    Damaged {
        /// Line number.
        line: usize,
        why: String,
    },
    /// The last line is incomplete.
    #[error("line {0} is incomplete, the file ends there")]
    CutShort(usize),
}

/// Contents of a trace file.
#[derive(Debug)]
pub struct TraceFile {
    /// Sessions, as far as they can be read.
    pub sessions: Vec<Session>,
    /// Reason why the rest cannot be read.
    pub error: Option<Error>,
}

/// Part of a trace that one game task has written.
#[derive(Debug)]
pub struct Session {
    /// Header of the session.
    pub header: Header,
    /// Line number, nanoseconds since the header, and record.
    pub entries: Vec<(usize, u64, Record)>,
}

impl Session {
    /// Returns whether the game task has ended this session. Otherwise the game is running, or the rest is lost.
    pub fn has_ended(&self) -> bool {
        let mut records = self.entries.iter();
        records.any(|(_, _, record)| matches!(record, Record::End(_)))
    }

    /// Returns the number of its last line that could be read, if it is not the header.
    pub fn last_line(&self) -> Option<usize> {
        self.entries.last().map(|(line, ..)| *line)
    }
}

/// Header of any version of the format.
#[derive(Deserialize)]
struct AnyHeader {
    knightwatch_trace: u32,
    #[serde(default)]
    program: String,
}

/// Reads a trace as far as possible.
///
/// # Errors
/// Nothing can be read.
pub fn read(path: &Path) -> Result<TraceFile, Error> {
    let mut bytes = Vec::new();
    let file = input::open(path)?.take(2 * MAX_FILE_BYTES + 1);
    { file }.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > 2 * MAX_FILE_BYTES {
        return Err(Error::TooLong);
    }
    parse(&String::from_utf8_lossy(&bytes))
}

fn parse(text: &str) -> Result<TraceFile, Error> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut failure = None;
    let mut lines = text.split_inclusive('\n').zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let next = lines.peek().map(|(next, _)| *next);
        match parse_line(line, number, &mut sessions) {
            Ok(()) => {}
            Err(error) if sessions.is_empty() => return Err(error),
            // The program was killed in the middle of a line, and a new session follows.
            Err(Error::Damaged { .. }) if next.is_some_and(is_header) => {}
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    if sessions.is_empty() {
        return Err(Error::Empty);
    }
    Ok(TraceFile {
        sessions,
        error: failure,
    })
}

/// Returns whether a line is a header. Checks for the brace, since serde also reads structs from arrays.
fn is_header(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<AnyHeader>(line).is_ok()
}

/// Parses a line into `sessions`.
fn parse_line(line: &str, number: usize, sessions: &mut Vec<Session>) -> Result<(), Error> {
    let is_complete = line.ends_with('\n');
    let damaged = |error: serde_json::Error| match is_complete {
        true => Error::Damaged {
            line: number,
            why: clip(&error.to_string(), 200),
        },
        false => Error::CutShort(number),
    };
    let Some(session) = sessions.last_mut().filter(|_| !line.starts_with('{')) else {
        if number == 1 && !line.starts_with("{\"knightwatch_trace\":") {
            return Err(Error::Foreign(clip(line.trim_end(), 60)));
        }
        match serde_json::from_str::<AnyHeader>(line) {
            Ok(any) if any.knightwatch_trace != FORMAT_VERSION => {
                return Err(Error::UnsupportedVersion {
                    line: number,
                    program: clip(&any.program, 40),
                    version: any.knightwatch_trace,
                });
            }
            _ => {}
        }
        sessions.push(Session {
            header: serde_json::from_str(line).map_err(damaged)?,
            entries: Vec::new(),
        });
        return Ok(());
    };
    let (at, record) = serde_json::from_str(line).map_err(damaged)?;
    session.entries.push((number, at, record));
    Ok(())
}

/// Directory in which traces are written: one per server, next to the records. `None` if there is no data directory.
pub fn directory(settings: &Settings) -> Option<PathBuf> {
    Some(settings.records_directory()?.join(folder(settings)))
}

/// Directories in which traces may be found.
pub fn directories(settings: &Settings) -> Vec<PathBuf> {
    let directories = settings.data_directories().into_iter();
    directories
        .map(|kept| kept.join(folder(settings)))
        .collect()
}

fn folder(settings: &Settings) -> String {
    format!("{}.traces", settings.lichess.server_name())
}

/// Path of a trace, named by its file, or by the id or address of a game in one of the directories.
pub fn find(named: &Path, directories: &[PathBuf]) -> PathBuf {
    let id = named.to_str().map(|text| address::id(text, Page::Game));
    let id = id.map_or(named, Path::new);
    let is_id = id.components().count() == 1 && id.extension().is_none();
    directories
        .iter()
        .map(|directory| directory.join(id).with_extension("jsonl"))
        .find(|file| is_id && !named.is_file() && file.is_file())
        .unwrap_or_else(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"knightwatch_trace":2,"program":"0.1.0","began_ms":1,"time_scale":1.0,"server":"here","account":"Rob",
        "game":"abcdefgh","resumed":false,"settings":SETTINGS}"#;

    fn head() -> String {
        let settings = super::super::EffectiveSettings::of(&crate::config::Settings::default());
        let settings = serde_json::to_string(&settings).unwrap();
        HEAD.replace('\n', " ").replace("SETTINGS", &settings) + "\n"
    }

    fn error(text: &str) -> String {
        match parse(text) {
            Ok(trace) => trace.error.map_or("none".into(), |error| error.to_string()),
            Err(error) => format!("nothing: {error}"),
        }
    }

    #[test]
    fn damage_is_reported_with_line() {
        let head = head();
        let version = |number: u32| {
            let field = format!("\"knightwatch_trace\":{number}");
            head.replace("\"knightwatch_trace\":2", &field)
        };
        for (text, expected) in [
            (format!("{head}[5,\"timeout\"]\n"), "none"),
            (String::new(), "nothing: the file is empty"),
            (
                "[Event \"x\"]\n".to_owned(),
                "nothing: line 1 is not the header",
            ),
            (
                "{\"some\":\"json\"}\n".to_owned(),
                "nothing: line 1 is not the header",
            ),
            (
                version(7),
                "nothing: line 1: the trace has format version 7, written by knightwatch 0.1.0",
            ),
            (
                version(1),
                "nothing: line 1: the trace has format version 1, written by knightwatch 0.1.0",
            ),
            (head[..90].to_owned(), "nothing: line 1 is incomplete"),
            (
                format!("{head}[5,\"timeout\"]\n[6,\"t"),
                "line 3 is incomplete",
            ),
            (
                format!("{head}[5,\"timeout\"]\n[6,\"time\"]\n[7,\"timeout\"]\n"),
                "line 3 is damaged: unknown variant",
            ),
            (format!("{head}\n[7,\"timeout\"]\n"), "line 2 is damaged"),
        ] {
            let message = error(&text);
            assert!(message.starts_with(expected), "{text}: {message}");
        }
    }

    #[test]
    fn incomplete_line_ends_session_but_not_next_one() {
        let head = head();
        let trace = parse(&format!(
            "{head}[5,\"timeout\"]\n[6,{{\"li\n{head}[1,\"recover\"]\n"
        ))
        .unwrap();
        assert!(trace.error.is_none(), "{trace:?}");
        let counts: Vec<usize> = trace
            .sessions
            .iter()
            .map(|session| session.entries.len())
            .collect();
        assert_eq!(counts, [1, 1]);
        assert_eq!(trace.sessions[1].entries[0], (5, 1, Record::Recover));
    }

    #[test]
    fn find_accepts_game_id() {
        let home = tempfile::tempdir().unwrap();
        let kept = home.path().join("abcdEFGH.jsonl");
        std::fs::write(&kept, "").unwrap();
        let nothing = home.path().join("nothing");
        let find = |named: &Path| find(named, &[nothing.clone(), home.path().to_owned()]);
        assert_eq!(find(Path::new("abcdEFGH")), kept);
        assert_eq!(find(&kept), kept);
        for other in ["nothere1", "abcdEFGH.jsonl", "../abcdEFGH"] {
            assert_eq!(find(Path::new(other)), Path::new(other));
        }
    }
}
