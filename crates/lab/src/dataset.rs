//! Dataset: positions read from game files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::archive;
use super::record::Record;
use super::sample::Sample;
use knightwatch_chess::{Move, Position};
use knightwatch_util::sync::lock;

/// Positions with a larger score, in centipawns, are skipped: the game is decided.
const MAX_SCORE: i16 = 3000;

/// Positions that stay together when positions are shuffled. Their network inputs differ little, which makes training
/// faster; a batch has too little variety if runs are long.
pub(crate) const RUN: usize = 16;

/// Whether a position is quiet: not in check, the move neither capture nor promotion, and the game not decided.
#[must_use]
pub(crate) fn is_quiet(position: &Position, mv: Move, score: i16) -> bool {
    !mv.is_noisy() && score.unsigned_abs() <= MAX_SCORE as u16 && !position.in_check()
}

/// Positions in memory.
#[derive(Debug)]
pub(crate) struct Dataset<T = Sample> {
    /// In shuffled runs of [`RUN`] positions that follow each other in a game, or at the end of a game and the start of
    /// the next. The rest at the end is shorter.
    pub training: Vec<T>,
    /// From other games than `training`.
    pub validation: Vec<T>,
    pub games: usize,
    pub plies: usize,
}

impl<T> Default for Dataset<T> {
    fn default() -> Dataset<T> {
        Dataset {
            training: Vec::new(),
            validation: Vec::new(),
            games: 0,
            plies: 0,
        }
    }
}

/// Game files to read.
pub(crate) struct Sources {
    files: Vec<PathBuf>,
}

impl Sources {
    /// All game files in the given directories (or the files themselves).
    ///
    /// # Errors
    /// When a directory cannot be read, or there is no game file.
    pub(crate) fn find(paths: &[PathBuf]) -> anyhow::Result<Sources> {
        let mut files = Vec::new();
        for path in paths {
            files.extend(
                archive::files(path, archive::FILE_SUFFIX)
                    .with_context(|| format!("cannot read {}", path.display()))?,
            );
        }
        anyhow::ensure!(
            !files.is_empty(),
            "no files of games (*{}) in {}",
            archive::FILE_SUFFIX,
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        );
        Ok(Sources { files })
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Reads all games. About `validation` (0.0 to 1.0) of them are kept for validation, always the same ones. `make` is called
    /// with every quiet position, its score in centipawns and the game's result (0 lost, 1 drawn, 2 won), both from the point of
    /// view of the side to move.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(crate) fn load<T: Send>(
        &self,
        threads: usize,
        validation: f64,
        seed: u64,
        make: impl Fn(&Position, i16, u8) -> T + Sync,
    ) -> anyhow::Result<Dataset<T>> {
        let next = AtomicUsize::new(0);
        let parts = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.files.len()) {
                scope.spawn(|| {
                    while let Some(path) = self.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let part = read_file(path, validation, &make).with_context(|| {
                            format!("cannot use {}, which may be removed", path.display())
                        });
                        lock(&parts).push((path, part));
                    }
                });
            }
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|(path, _)| *path);
        let mut data = Dataset::default();
        for (_, part) in parts {
            let part = part?;
            data.training.extend(part.training);
            data.validation.extend(part.validation);
            data.games += part.games;
            data.plies += part.plies;
        }
        let (runs, _) = data.training.as_chunks_mut::<RUN>();
        fastrand::Rng::with_seed(seed).shuffle(runs);
        Ok(data)
    }
}

fn read_file<T>(
    path: &Path,
    validation: f64,
    make: impl Fn(&Position, i16, u8) -> T,
) -> anyhow::Result<Dataset<T>> {
    let mut from = archive::open(path)?;
    let mut data = Dataset::default();
    while let Some(record) = Record::read(&mut from)? {
        let is_validation = share_of(&record) < validation;
        let into = if is_validation {
            &mut data.validation
        } else {
            &mut data.training
        };
        record.replay(|position, mv, score| {
            if is_quiet(position, mv, score) {
                let turn = position.turn();
                let ours = if turn.is_white() { score } else { -score };
                into.push(make(position, ours, record.outcome().points(turn)));
            }
        })?;
        data.games += 1;
        data.plies += record.len();
    }
    Ok(data)
}

/// A hash of the game as a number from 0.0 to 1.0.
fn share_of(record: &Record) -> f64 {
    let mut bytes = Vec::new();
    record.write(&mut bytes);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
