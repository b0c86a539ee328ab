//! What the account keeps over a restart, each in a file of its own.

use std::io;
use std::path::Path;

use tracing::warn;

use super::Account;
use crate::bot::account::accepted_log::{self, AcceptedLog, Update};
use crate::bot::account::background::TaskResult;
use crate::bot::account::persist::{self, SaveQueue};
use crate::bot::account::quota::Quota;
use crate::bot::matchmaking::Memory;

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Book {
    /// The [`AcceptedLog`] of challenges that were accepted.
    Accepted,
    /// The [`Quota`].
    Quota,
    /// What other bots have answered us: the [`Memory`].
    Answers,
}

/// What was kept before we were started, and where it is kept.
#[derive(Debug)]
pub(super) struct PersistedState {
    pub ledger: AcceptedLog,
    pub quota: Quota,
    pub memory: Memory,
    pub keepers: [SaveQueue; 3],
}

impl PersistedState {
    /// Reads the files; all of them are in the directory of the first one.
    pub fn open(ledger: Option<&Path>) -> Self {
        let beside = |ending| ledger.map(|file| accepted_log::beside(file, ending));
        let [quota, answers] = [Quota::ENDING, Memory::ENDING].map(beside);
        let ledger = ledger.map(Path::to_owned);
        Self {
            ledger: remembered(ledger.as_deref(), AcceptedLog::load, "limits per day begin"),
            quota: remembered(
                quota.as_deref(),
                Quota::load,
                "the count of what Lichess allows begins",
            ),
            memory: remembered(
                answers.as_deref(),
                Memory::load,
                "the memory of who declines begins",
            ),
            keepers: [
                SaveQueue::new(ledger, "count of challenges"),
                SaveQueue::new(quota, "count of what Lichess allows"),
                SaveQueue::new(answers, "in mind who has declined"),
            ],
        }
    }
}

fn remembered<T: Default>(
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
    pub(super) fn save(&mut self, book: Book) {
        let Some(file) = self.keepers[book as usize].change() else {
            return;
        };
        let update = match book {
            Book::Accepted => self.ledger.update(),
            Book::Quota => Update::Whole(self.quota.text()),
            Book::Answers => Update::Whole(self.matchmaking.memory().text()),
        };
        self.errands.spawn(async move {
            let write = move || match update {
                Update::Whole(text) => persist::save(&file, &text),
                Update::More(lines) => persist::append(&file, &lines),
            };
            TaskResult::Saved(book, persist::aside(write).await)
        });
    }

    /// It is written down, or cannot be.
    pub(super) fn saved(&mut self, book: Book, written: io::Result<()>) {
        if book == Book::Accepted && written.is_err() {
            self.ledger.mistrust();
        }
        if self.keepers[book as usize].written(written) {
            self.save(book);
        }
    }

    /// Writes down what could not be written the last time.
    pub(super) fn save_what_is_owed(&mut self) {
        for book in [Book::Accepted, Book::Quota, Book::Answers] {
            if self.keepers[book as usize].is_owed() {
                self.save(book);
            }
        }
        self.keep_orders_if_owed();
    }
}
