//! Reading traces, whole or damaged: what is wrong is said with its line.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::recorder::LONGEST;
use super::{Header, Record, VERSION_OF_FORM};
use crate::config::Settings;
use crate::input;
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::clip;

/// Why a trace cannot be read, or no further.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// It is too long.
    #[error("it has more than {} bytes, so it is no trace of a game", 2 * LONGEST)]
    TooLong,
    /// It is something else.
    #[error(
        "line 1 is not the head of a trace of knightwatch, but: {0:?}; traces are files in a directory beside the records"
    )]
    Foreign(String),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is one of a later version.
    #[error(
        "line {line} says that knightwatch {program} has written it in version {version} of the form, and this is \
         knightwatch {}, which knows version {VERSION_OF_FORM}",
        super::VERSION
    )]
    Newer {
        /// Where.
        line: usize,
        /// By which program.
        program: String,
        /// Which version of the form.
        version: u32,
    },
    /// A line is not what it should be.
    #[error("line {line} is damaged: {why}")]
    Damaged {
        /// Which one.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The end is missing.
    #[error("line {0} breaks off in the middle, where the file ends")]
    CutShort(usize),
}

/// What stands in a trace.
#[derive(Debug)]
pub struct TraceFile {
    /// As far as it can be read.
    pub lives: Vec<Session>,
    /// Why it cannot be read any further.
    pub trouble: Option<Error>,
}

/// A game in one life of the program.
#[derive(Debug)]
pub struct Session {
    /// How it begins.
    pub header: Header,
    /// What happens in it: the number of the line, when, and what.
    pub entries: Vec<(usize, u64, Record)>,
}

/// Any head of any version.
#[derive(Deserialize)]
struct AnyHeader {
    knightwatch_trace: u32,
    #[serde(default)]
    program: String,
}

/// Reads a trace as far as it can be read.
///
/// # Errors
/// When nothing of it can be.
pub fn read(path: &Path) -> Result<TraceFile, Error> {
    let mut bytes = Vec::new();
    let file = input::open(path)?.take(2 * LONGEST + 1);
    { file }.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > 2 * LONGEST {
        return Err(Error::TooLong);
    }
    parse(&String::from_utf8_lossy(&bytes))
}

fn parse(text: &str) -> Result<TraceFile, Error> {
    let mut lives: Vec<Session> = Vec::new();
    let mut trouble = None;
    let mut lines = text.split_inclusive('\n').zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let next = lines.peek().map(|(next, _)| *next);
        match take(line, number, &mut lives) {
            Ok(()) => {}
            Err(error) if lives.is_empty() => return Err(error),
            // A program that was killed in mid-line, and began a new life.
            Err(Error::Damaged { .. }) if next.is_some_and(is_header) => {}
            Err(error) => {
                trouble = Some(error);
                break;
            }
        }
    }
    if lives.is_empty() {
        return Err(Error::Empty);
    }
    Ok(TraceFile { lives, trouble })
}

/// An entry could be taken for one, since lists can be read as structures.
fn is_header(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<AnyHeader>(line).is_ok()
}

/// Takes up a line.
fn take(line: &str, number: usize, lives: &mut Vec<Session>) -> Result<(), Error> {
    let whole = line.ends_with('\n');
    let damaged = |error: serde_json::Error| match whole {
        true => Error::Damaged {
            line: number,
            why: clip(&error.to_string(), 200),
        },
        false => Error::CutShort(number),
    };
    let Some(life) = lives.last_mut().filter(|_| !line.starts_with('{')) else {
        if number == 1 && !line.starts_with("{\"knightwatch_trace\":") {
            return Err(Error::Foreign(clip(line.trim_end(), 60)));
        }
        match serde_json::from_str::<AnyHeader>(line) {
            Ok(any) if any.knightwatch_trace > VERSION_OF_FORM => {
                return Err(Error::Newer {
                    line: number,
                    program: clip(&any.program, 40),
                    version: any.knightwatch_trace,
                });
            }
            _ => {}
        }
        lives.push(Session {
            header: serde_json::from_str(line).map_err(damaged)?,
            entries: Vec::new(),
        });
        return Ok(());
    };
    let (at, what) = serde_json::from_str(line).map_err(damaged)?;
    life.entries.push((number, at, what));
    Ok(())
}

/// Where these settings have the traces: a directory for each server, beside the records. `None` where nothing can be kept.
pub fn directory(settings: &Settings) -> Option<PathBuf> {
    let chosen = settings.records.directory.clone();
    let kept = chosen.or_else(|| settings.data_directory())?;
    Some(kept.join(folder(settings)))
}

/// Where traces may be, for who reads them.
pub fn directories(settings: &Settings) -> Vec<PathBuf> {
    let beside = settings.data_directories().into_iter();
    beside.map(|kept| kept.join(folder(settings))).collect()
}

fn folder(settings: &Settings) -> String {
    format!("{}.traces", settings.lichess.server_name())
}

/// The trace that is meant: a file, or the id or the address of a game whose trace is in one of these directories.
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

    const HEAD: &str = r#"{"knightwatch_trace":1,"program":"0.1.0","began_ms":1,"time_scale":1.0,"server":"here","account":"Rob",
        "game":"abcdefgh","rested":false,"settings":SETTINGS}"#;

    fn head() -> String {
        let settings = super::super::InForce::of(&crate::config::Settings::default());
        let settings = serde_json::to_string(&settings).unwrap();
        HEAD.replace('\n', " ").replace("SETTINGS", &settings) + "\n"
    }

    fn trouble(text: &str) -> String {
        match parse(text) {
            Ok(tale) => tale
                .trouble
                .map_or("none".into(), |error| error.to_string()),
            Err(error) => format!("nothing: {error}"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = head();
        let newer = head.replace("\"knightwatch_trace\":1", "\"knightwatch_trace\":7");
        for (text, expected) in [
            (format!("{head}[5,\"due\"]\n"), "none"),
            (String::new(), "nothing: it is empty"),
            (
                "[Event \"x\"]\n".to_owned(),
                "nothing: line 1 is not the head",
            ),
            (
                "{\"some\":\"json\"}\n".to_owned(),
                "nothing: line 1 is not the head",
            ),
            (
                newer,
                "nothing: line 1 says that knightwatch 0.1.0 has written it in version 7",
            ),
            (head[..90].to_owned(), "nothing: line 1 breaks off"),
            (format!("{head}[5,\"due\"]\n[6,\"d"), "line 3 breaks off"),
            (
                format!("{head}[5,\"due\"]\n[6,\"dew\"]\n[7,\"due\"]\n"),
                "line 3 is damaged: unknown variant",
            ),
            (format!("{head}\n[7,\"due\"]\n"), "line 2 is damaged"),
        ] {
            let said = trouble(&text);
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }

    #[test]
    fn a_line_that_a_kill_has_cut_ends_one_life_and_not_the_next() {
        let head = head();
        let tale = parse(&format!(
            "{head}[5,\"due\"]\n[6,{{\"li\n{head}[1,\"mend\"]\n"
        ))
        .unwrap();
        assert!(tale.trouble.is_none(), "{tale:?}");
        let counts: Vec<usize> = tale.lives.iter().map(|life| life.entries.len()).collect();
        assert_eq!(counts, [1, 1]);
        assert_eq!(tale.lives[1].entries[0], (5, 1, Record::Mend));
    }

    #[test]
    fn an_id_means_the_trace_of_that_game() {
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
