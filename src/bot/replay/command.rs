//! The `replay` command.

use std::io::{self, Write};
use std::path::PathBuf;

use super::super::trace::{self, TraceFile};
use crate::bot::replay::compare::{Comparison, Summary};
use crate::clock;
use crate::plural;

/// Error of the `replay` command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The trace does not exist.
    #[error(
        "no trace {}{}; knightwatch run writes traces next to its records, see records.traces",
        .0.display(),
        .1.iter().map(|directory| format!(", and none in {}", directory.display())).collect::<String>()
    )]
    Missing(PathBuf, Vec<PathBuf>),
    /// The trace cannot be read to its end.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// File of the trace.
        path: PathBuf,
        error: trace::Error,
    },
    /// Records are missing in the trace.
    #[error("{}: records are missing at line {line}, the rest cannot be replayed", path.display())]
    Gap {
        /// File of the trace.
        path: PathBuf,
        /// Line number.
        line: usize,
    },
    /// The last session has no end.
    #[error(
        "{}: the trace is incomplete, since it has no end{}: the game is running, the program was killed, or the file \
         was cut",
        path.display(),
        line.map_or_else(String::new, |line| format!(" after line {line}"))
    )]
    NoEnd {
        /// File of the trace.
        path: PathBuf,
        /// Number of the last line, if it is not a header.
        line: Option<usize>,
    },
    /// Decisions differ.
    #[error("{0} decisions differ; see lines marked `!`")]
    Differs(usize),
    /// Standard output failed.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// Options of the `replay` command.
#[derive(Clone, Debug)]
pub struct Options {
    /// File of a trace, or id or address of a game.
    pub trace: PathBuf,
    /// Directories of traces.
    pub directories: Vec<PathBuf>,
    /// Whether to repeat searches.
    pub search: bool,
}

/// Replays a trace and prints its decisions, with differences.
///
/// # Errors
/// The trace cannot be read to its end, printing fails, or decisions differ.
pub fn replay_command(options: &Options, out: &mut impl Write) -> Result<(), CommandError> {
    let path = trace::find(&options.trace, &options.directories);
    if !path.exists() {
        let directories = options.directories.clone();
        return Err(CommandError::Missing(options.trace.clone(), directories));
    }
    let unreadable = |error| CommandError::Unreadable {
        path: path.clone(),
        error,
    };
    let TraceFile { sessions, error } = trace::read(&path).map_err(unreadable)?;
    // Durations are printed in the time of the trace.
    let rate = sessions
        .first()
        .map(|session| session.header.time_scale.to_string());
    let rate = rate.and_then(|rate| rate.parse().ok());
    rate.into_iter().for_each(clock::set_scale);
    let summary = Comparison::new(out, options.search).run(&sessions)?;
    writeln!(out, "{}", summary_line(&summary))?;
    match (error, summary) {
        (Some(error), _) => Err(unreadable(error)),
        (
            None,
            Summary {
                gap_line: Some(line),
                ..
            },
        ) => Err(CommandError::Gap { path, line }),
        (None, Summary { differences: 0, .. }) => match sessions.last() {
            Some(last) if !last.has_ended() => {
                let line = last.last_line();
                Err(CommandError::NoEnd { path, line })
            }
            _ => Ok(()),
        },
        (None, Summary { differences, .. }) => Err(CommandError::Differs(differences)),
    }
}

/// `12 decisions, 0 differences`
fn summary_line(summary: &Summary) -> String {
    let Summary {
        decisions,
        differences,
        searches,
        other_moves,
        max_score_diff,
        ..
    } = summary;
    let decisions = plural::count(*decisions, "decision", "decisions");
    let differences = plural::count(*differences, "difference", "differences");
    let text = format!("{decisions}, {differences}");
    match searches {
        0 => text,
        searches => format!(
            "{text}; {} repeated, {other_moves} with another move, scores differ by up to {max_score_diff} cp",
            plural::count(*searches, "search", "searches")
        ),
    }
}
