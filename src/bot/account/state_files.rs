//! What the account keeps over a restart, each in a file of its own.

use std::io;
use std::path::Path;

use tracing::warn;

use super::Account;
use crate::bot::account::accepted_log::{self, AcceptedLog, Update};
use crate::bot::account::background::TaskResult;
use crate::bot::account::persist::{self, SaveQueue};
use crate::bot::account::quota::Quota;
use crate::bot::matchmaking::OpponentHistory;

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFile {
    /// The [`AcceptedLog`] of challenges that were accepted.
    Accepted,
    /// The [`Quota`].
    Quota,
    /// What other bots have answered us: the [`Memory`].
    Opponents,
}

/// What was kept before we were started, and where it is kept.
#[derive(Debug)]
pub(super) struct PersistedState {
    pub accepted_log: AcceptedLog,
    pub quota: Quota,
    pub opponents: OpponentHistory,
    pub save_queues: [SaveQueue; 3],
}

impl PersistedState {
    /// Reads the files; all of them are in the directory of the first one.
    pub fn open(accepted_log: Option<&Path>) -> Self {
        let sibling = |ending| accepted_log.map(|file| accepted_log::sibling(file, ending));
        let [quota, opponents] = [Quota::FILE_SUFFIX, OpponentHistory::FILE_SUFFIX].map(sibling);
        let accepted_log = accepted_log.map(Path::to_owned);
        Self {
            accepted_log: load_or_default(
                accepted_log.as_deref(),
                AcceptedLog::load,
                "limits per day begin",
            ),
            quota: load_or_default(
                quota.as_deref(),
                Quota::load,
                "the count of what Lichess allows begins",
            ),
            opponents: load_or_default(
                opponents.as_deref(),
                OpponentHistory::load,
                "the memory of who declines begins",
            ),
            save_queues: [
                SaveQueue::new(accepted_log, "count of challenges"),
                SaveQueue::new(quota, "count of what Lichess allows"),
                SaveQueue::new(opponents, "in mind who has declined"),
            ],
        }
    }
}

fn load_or_default<T: Default>(
    file: Option<&Path>,
    load: impl Fn(&Path) -> io::Result<T>,
    what: &str,
) -> T {
    let Some(file) = file else {
        return T::default();
    };
    load(file).unwrap_or_else(|error| {
        let kept = persist::set_aside(file);
        warn!(
            "cannot read {}, so {what} anew: {error}; {kept}",
            file.display()
        );
        T::default()
    })
}

impl Account {
    /// Writes down what has changed.
    pub(super) fn save(&mut self, file: StateFile) {
        let Some(path) = self.save_queues[file as usize].begin() else {
            return;
        };
        let update = match file {
            StateFile::Accepted => self.accepted_log.update(),
            StateFile::Quota => Update::Replace(self.quota.to_json()),
            StateFile::Opponents => Update::Replace(self.matchmaking.history().to_json()),
        };
        self.background.spawn(async move {
            let write = move || match update {
                Update::Replace(text) => persist::save(&path, &text),
                Update::Append(lines) => persist::append(&path, &lines),
            };
            TaskResult::Saved(file, persist::run_blocking(write).await)
        });
    }

    /// It is written down, or cannot be.
    pub(super) fn on_saved(&mut self, file: StateFile, written: io::Result<()>) {
        if file == StateFile::Accepted && written.is_err() {
            self.accepted_log.force_rewrite();
        }
        if self.save_queues[file as usize].finish(written) {
            self.save(file);
        }
    }

    /// Writes down what could not be written the last time.
    pub(super) fn retry_failed_saves(&mut self) {
        for file in [StateFile::Accepted, StateFile::Quota, StateFile::Opponents] {
            if self.save_queues[file as usize].needs_retry() {
                self.save(file);
            }
        }
        self.retry_save_overrides();
    }
}
