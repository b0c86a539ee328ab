//! Choice of a book move by its weight.

use std::str::FromStr;

use knightwatch_chess::{Move, Position};
use knightwatch_util::keys;

use super::{Book, Entry};

keys! {
    /// Choice among the book moves of a position.
    #[derive(Default)]
    pub enum Selection {
        /// The move with the largest weight; the first one if there are several.
        Best = "best",
        /// A random move, in proportion to the weights.
        #[default]
        Weighted = "weighted",
        /// A random move, all with the same probability.
        Uniform = "uniform",
    }
}

impl FromStr for Selection {
    type Err = UnknownSelection;

    fn from_str(text: &str) -> Result<Self, UnknownSelection> {
        Self::from_key(text).ok_or_else(|| UnknownSelection(text.to_owned()))
    }
}

/// Error of parsing a [`Selection`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not one of best, weighted, uniform")]
pub struct UnknownSelection(String);

/// Options of [`Book::pick`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickOptions {
    /// The way to choose.
    pub selection: Selection,
    /// Moves with a smaller weight are ignored. With 0, moves of weight 0 can be played, but never by
    /// [`Selection::Weighted`].
    pub min_weight: u16,
}

impl Default for PickOptions {
    fn default() -> Self {
        PickOptions {
            selection: Selection::default(),
            min_weight: 1,
        }
    }
}

impl Book {
    /// Chooses a move; `None` if the book has no suitable move for the position.
    pub fn pick(
        &self,
        position: &Position,
        options: &PickOptions,
        rng: &mut fastrand::Rng,
    ) -> Option<Move> {
        self.pick_if(position, options, rng, |_| true)
    }

    /// Chooses among the moves that are `allowed`, as [`pick`](Self::pick) does.
    pub fn pick_if(
        &self,
        position: &Position,
        options: &PickOptions,
        rng: &mut fastrand::Rng,
        allowed: impl Fn(Move) -> bool,
    ) -> Option<Move> {
        let mut entries = self.entries(position);
        entries.retain(|entry| entry.weight >= options.min_weight && allowed(entry.mv));
        let chosen = match options.selection {
            Selection::Best => entries.first(),
            Selection::Weighted => weighted(&entries, rng),
            Selection::Uniform => rng.choice(&entries),
        };
        chosen.map(|entry| entry.mv)
    }
}

/// A random entry in proportion to the weights; `None` if all are 0.
fn weighted<'a>(entries: &'a [Entry], rng: &mut fastrand::Rng) -> Option<&'a Entry> {
    let total: u64 = entries.iter().map(|entry| u64::from(entry.weight)).sum();
    let mut threshold = (total > 0).then(|| rng.u64(..total))?;
    entries.iter().find(|entry| {
        let weight = u64::from(entry.weight);
        let wins = threshold < weight;
        threshold = threshold.saturating_sub(weight);
        wins
    })
}
