//! `knightwatch replay`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::super::trace::{self, TraceFile};
use crate::bot::replay::compare::{Comparison, Verdict};
use crate::clock;
use crate::plural;

/// Why a trace was not replayed, or not as it was.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no such trace.
    #[error(
        "there is no trace {}{}: knightwatch run leaves them where its records are, see records.traces",
        .0.display(),
        .1.iter().map(|directory| format!(", and none in {}", directory.display())).collect::<String>()
    )]
    Missing(PathBuf, Vec<PathBuf>),
    /// It cannot be read, or not to its end.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: trace::Error,
    },
    /// Something in it is missing.
    #[error("{}: from line {line} on something is missing, so that what follows cannot be replayed", path.display())]
    Gap {
        /// Which one.
        path: PathBuf,
        /// Where.
        line: usize,
    },
    /// Other decisions.
    #[error("{0} of the decisions would be others now; the lines with ! say which")]
    Differs(usize),
    /// Nothing can be printed.
    #[error("cannot print")]
    Output(#[from] io::Error),
}

/// What is to be replayed.
#[derive(Clone, Debug)]
pub struct Options {
    /// A file, or the id of a game.
    pub trace: PathBuf,
    /// Where traces may be.
    pub directories: Vec<PathBuf>,
    /// Whether searches are repeated.
    pub search: bool,
}

/// Takes the decisions of a trace again, and prints them.
///
/// # Errors
/// When it cannot be read to its end, when nothing can be printed, and when some of them would be others now.
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
    let TraceFile { lives, trouble } = trace::read(&path).map_err(unreadable)?;
    // What took how long is told by this clock.
    let rate = lives.first().map(|life| life.header.time_scale.to_string());
    let rate = rate.and_then(|rate| rate.parse().ok());
    rate.into_iter().for_each(clock::set_scale);
    let verdict = Comparison::new(out, options.search).tell(&lives)?;
    writeln!(out, "{}", summary(&verdict))?;
    match (trouble, verdict) {
        (Some(error), _) => Err(unreadable(error)),
        (
            None,
            Verdict {
                gap: Some(line), ..
            },
        ) => Err(CommandError::Gap { path, line }),
        (None, Verdict { differences: 0, .. }) => Ok(()),
        (None, Verdict { differences, .. }) => Err(CommandError::Differs(differences)),
    }
}

/// `12 decisions, 0 differences`
fn summary(verdict: &Verdict) -> String {
    let Verdict {
        decisions,
        differences,
        searches,
        other_moves,
        widest,
        ..
    } = verdict;
    let decisions = plural::count(*decisions, "decision", "decisions");
    let differences = plural::count(*differences, "difference", "differences");
    let told = format!("{decisions}, {differences}");
    match searches {
        0 => told,
        searches => format!(
            "{told}; {} again, {other_moves} with another move, scores up to {widest} cp apart",
            plural::count(*searches, "search", "searches")
        ),
    }
}
