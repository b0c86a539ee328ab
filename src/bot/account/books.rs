//! What the account keeps over a restart, each in a file of its own.

use std::io;
use std::path::Path;

use tracing::warn;

use super::Account;
use super::errands::Errand;
use crate::bot::keeper::{self, Keeper};
use crate::bot::ledger::{self, Ledger, Update};
use crate::bot::matchmaking::Memory;
use crate::bot::quota::Quota;

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Book {
    /// The [`Ledger`] of challenges that were accepted.
    Accepted,
    /// The [`Quota`].
    Quota,
    /// What other bots have answered us: the [`Memory`].
    Answers,
}

/// What was kept before we were started, and where it is kept.
#[derive(Debug)]
pub(super) struct Books {
    pub ledger: Ledger,
    pub quota: Quota,
    pub memory: Memory,
    pub keepers: [Keeper; 3],
}

impl Books {
    /// Reads the files; all of them are in the directory of the first one.
    pub fn open(ledger: Option<&Path>) -> Self {
        let beside = |ending| ledger.map(|file| ledger::beside(file, ending));
        let [quota, answers] = [Quota::ENDING, Memory::ENDING].map(beside);
        let ledger = ledger.map(Path::to_owned);
        Self {
            ledger: remembered(ledger.as_deref(), Ledger::load, "limits per day begin"),
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
                Keeper::new(ledger, "count of challenges"),
                Keeper::new(quota, "count of what Lichess allows"),
                Keeper::new(answers, "in mind who has declined"),
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
        let kept = keeper::set_aside(file);
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
                Update::Whole(text) => keeper::save(&file, &text),
                Update::More(lines) => keeper::append(&file, &lines),
            };
            Errand::Saved(book, keeper::aside(write).await)
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
