//! State files of an account.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use tracing::{debug, warn};

use super::Account;
use crate::bot::BotParts;
use crate::bot::account::accepted_log::{self, AcceptedLog, Update};
use crate::bot::account::persist::{self, JsonState, SaveQueue};
use crate::bot::account::quota::Quota;
use crate::bot::block_lists::BlockLists;
use crate::bot::commands::Responder;
use crate::bot::matches::Matches;
use crate::bot::matchmaking::OpponentHistory;
use crate::{atomic_file, clock};

/// Action after a save.
type AfterSave = Box<dyn FnOnce(&mut Account, &SaveOutcome) + Send>;

/// How a save has ended.
pub(super) enum SaveOutcome {
    Saved,
    /// Without a data directory there is no file.
    NoFile,
    Failed(String),
}

impl SaveOutcome {
    /// Responds to a command whose change was to be saved; `done` says what it did.
    fn respond(&self, done: &str, responder: Responder) {
        match self {
            Self::Saved => responder.succeed(format!("{done}; this survives restarts")),
            Self::NoFile => responder.succeed(format!(
                "{done}; this is not saved, as there is no data directory"
            )),
            Self::Failed(error) => responder.fail(format!(
                "{done}; but only until the next restart, because it cannot be saved: {error}"
            )),
        }
    }
}

/// A state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFile {
    /// The [`AcceptedLog`].
    Accepted,
    /// The [`Quota`].
    Quota,
    /// The [`OpponentHistory`].
    Opponents,
    /// The copies of the [`BlockLists`].
    BlockLists,
    /// The [`Matches`].
    Matches,
    /// The overrides of the operator.
    Overrides,
}

impl StateFile {
    /// All, in the order of the discriminants.
    const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Quota,
        Self::Opponents,
        Self::BlockLists,
        Self::Matches,
        Self::Overrides,
    ];
}

/// State kept in the files, but for the opponents, which matchmaking keeps, and the overrides.
pub(super) struct PersistedState {
    pub accepted_log: AcceptedLog,
    /// Use of Lichess's limits.
    pub quota: Quota,
    /// Copies of the block lists.
    pub block_lists: BlockLists,
    /// Matches of the operator.
    pub matches: Matches,
    /// Background saves, indexed by [`StateFile`].
    save_queues: [SaveQueue; StateFile::ALL.len()],
    /// Actions that wait for a save.
    after_save: Vec<(StateFile, AfterSave)>,
}

impl PersistedState {
    /// Reads the files; all of them are in the directory of the first one.
    pub(super) fn open(parts: &BotParts) -> (Self, OpponentHistory) {
        let accepted_log = parts.accepted_log.as_deref();
        let sibling = |ending| accepted_log.map(|file| accepted_log::sibling(file, ending));
        let [quota, opponents, block_lists, matches] = [
            Quota::FILE_SUFFIX,
            OpponentHistory::FILE_SUFFIX,
            BlockLists::FILE_SUFFIX,
            Matches::FILE_SUFFIX,
        ]
        .map(sibling);
        let history = load_or_default(
            opponents.as_deref(),
            OpponentHistory::load,
            "with an empty decline history",
        );
        let state = Self {
            accepted_log: load_or_default(
                accepted_log,
                AcceptedLog::load,
                "with empty limits per day",
            ),
            quota: load_or_default(
                quota.as_deref(),
                Quota::load,
                "with an empty count of Lichess's limits",
            ),
            block_lists: load_or_default(
                block_lists.as_deref(),
                BlockLists::load,
                "with no copies of block lists",
            ),
            matches: load_or_default(matches.as_deref(), Matches::load, "with no matches"),
            save_queues: [
                SaveQueue::new(accepted_log.map(Path::to_owned), "the count of challenges"),
                SaveQueue::new(quota, "the count of Lichess's limits"),
                SaveQueue::new(opponents, "the decline history"),
                SaveQueue::new(block_lists, "the copies of block lists"),
                SaveQueue::new(matches, "the matches"),
                SaveQueue::new(parts.overrides.clone(), "the operator's overrides"),
            ],
            after_save: Vec::new(),
        };
        (state, history)
    }

    /// Returns whether a save of any file is in progress.
    fn is_saving_any(&self) -> bool {
        self.save_queues.iter().any(SaveQueue::is_writing)
    }

    /// Returns whether a save of this file is in progress.
    pub(super) fn is_saving(&self, file: StateFile) -> bool {
        self.save_queues[file as usize].is_writing()
    }
}

pub(super) fn load_or_default<T: Default>(
    file: Option<&Path>,
    load: impl Fn(&Path) -> io::Result<T>,
    what: &str,
) -> T {
    let Some(file) = file else {
        return T::default();
    };
    if let Err(error) = atomic_file::remove_leftovers(file) {
        debug!(
            "cannot look for unfinished copies of {}: {error}",
            file.display()
        );
    }
    load(file).unwrap_or_else(|error| {
        let kept = persist::set_aside(file);
        warn!(
            "cannot read {}; starting {what}: {error}; {kept}",
            file.display()
        );
        T::default()
    })
}

impl Account {
    /// Changes the quota and saves it.
    pub(super) fn update_quota(&mut self, change: impl FnOnce(&mut Quota, SystemTime)) {
        change(&mut self.state.quota, clock::date());
        self.save(StateFile::Quota);
    }

    /// Saves a file in the background.
    pub(super) fn save(&mut self, file: StateFile) {
        let Some(path) = self.state.save_queues[file as usize].begin() else {
            return;
        };
        let update = match file {
            StateFile::Accepted => self.state.accepted_log.update(),
            StateFile::Quota => Update::Replace(self.state.quota.to_json()),
            StateFile::Opponents => Update::Replace(self.matchmaking.history().to_json()),
            StateFile::BlockLists => Update::Replace(self.state.block_lists.to_json()),
            StateFile::Matches => Update::Replace(self.state.matches.to_json()),
            StateFile::Overrides => Update::Replace(self.operator.overrides.to_json()),
        };
        let write = move || match update {
            Update::Replace(text) => persist::save(&path, &text),
            Update::Append(lines) => persist::append(&path, &lines),
        };
        self.background
            .spawn(persist::run_blocking(write), move |account, written| {
                account.on_saved(file, written);
            });
    }

    /// Handles the end of a save.
    fn on_saved(&mut self, file: StateFile, written: io::Result<()>) {
        if file == StateFile::Accepted && written.is_err() {
            self.state.accepted_log.force_rewrite();
        }
        let outcome = match &written {
            Ok(()) => SaveOutcome::Saved,
            Err(error) => SaveOutcome::Failed(error.to_string()),
        };
        if self.state.save_queues[file as usize].finish(written) {
            self.save(file);
            return;
        }
        self.run_after_save(file, &outcome);
    }

    /// Saves a file in the background, then calls `after`.
    pub(super) fn save_then(
        &mut self,
        file: StateFile,
        after: impl FnOnce(&mut Self, &SaveOutcome) + Send + 'static,
    ) {
        // A status requested from now on shows the change.
        self.publish_status();
        self.state.after_save.push((file, Box::new(after)));
        self.save(file);
        if !self.state.is_saving(file) {
            self.run_after_save(file, &SaveOutcome::NoFile);
        }
    }

    /// Saves a file in the background, then responds to the command that has changed it.
    pub(super) fn save_and_respond(&mut self, file: StateFile, done: String, responder: Responder) {
        self.save_then(file, move |_, outcome| outcome.respond(&done, responder));
    }

    fn run_after_save(&mut self, file: StateFile, outcome: &SaveOutcome) {
        let waiting = &mut self.state.after_save;
        let actions: Vec<_> = waiting.extract_if(.., |(of, _)| *of == file).collect();
        for (_, action) in actions {
            action(self, outcome);
        }
    }

    /// Waits until all changes are saved. Saves that have failed are repeated once.
    pub(super) async fn finish_saves(&mut self) {
        self.retry_failed_saves();
        while self.state.is_saving_any()
            && let Some(completion) = self.background.next().await
        {
            if let Err(error) = self.on_completion(completion) {
                debug!("while the state files are saved: {error}");
            }
        }
    }

    /// Repeats saves that have failed.
    pub(super) fn retry_failed_saves(&mut self) {
        for file in StateFile::ALL {
            if self.state.save_queues[file as usize].needs_retry() {
                self.save(file);
            }
        }
    }
}
