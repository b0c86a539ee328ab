//! Dataset: positions read from game files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::archive;
use super::kernel::sigmoid;
use super::record::Record;
use super::sample::Sample;
use knightwatch_chess::{Color, Move, Position};
use knightwatch_util::sync::lock;

/// Positions with a larger score, in centipawns, are skipped: the game is decided.
const MAX_SCORE: i16 = 3000;

/// Stored in place of a missing score; larger than any filter's limit.
pub(super) const NO_SCORE: i16 = i16::MAX;

/// Centipawns per unit of log-odds when scores become expected results.
const LOG_ODDS_CP: f32 = 190.0;

/// Positions that stay together when positions are shuffled. Their network inputs differ little, which makes training
/// faster; a batch has too little variety if runs are long.
pub(crate) const RUN: usize = 16;

/// Returns whether a position is quiet: not in check, the move neither capture nor promotion, and the game not decided.
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
        // Games of a directory that is given twice do not count twice.
        files.sort_unstable();
        files.dedup();
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
    /// view of the side to move. `lambda` is the weight of later positions in the score (0.0: none).
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(crate) fn load<T: Send>(
        &self,
        threads: usize,
        validation: f64,
        seed: u64,
        lambda: f64,
        make: impl Fn(&Position, i16, u8) -> T + Sync,
    ) -> anyhow::Result<Dataset<T>> {
        let next = AtomicUsize::new(0);
        let parts = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.files.len()) {
                scope.spawn(|| {
                    while let Some(path) = self.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let part =
                            read_file(path, validation, lambda as f32, &make).map_err(|error| {
                                let shown = path.display();
                                let problem = if is_damage(&error) {
                                    format!("cannot use {shown}, which may be removed")
                                } else {
                                    format!("cannot read {shown}")
                                };
                                error.context(problem)
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

/// Returns whether the content of a file is to blame, and not that the system cannot read it.
fn is_damage(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_none_or(|cause| cause.raw_os_error().is_none())
}

fn read_file<T>(
    path: &Path,
    validation: f64,
    lambda: f32,
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
        let mut smoothed = smoothed_scores(&record, lambda).into_iter();
        record.replay(|position, mv, score| {
            let smoothed = smoothed.next().unwrap_or(score);
            if is_quiet(position, mv, score) {
                let turn = position.turn();
                let ours = if turn.is_white() { smoothed } else { -smoothed };
                into.push(make(position, ours, record.outcome().points(turn)));
            }
        })?;
        data.games += 1;
        data.plies += record.len();
    }
    Ok(data)
}

/// The scores for White, each mixed with those of the later positions and the result: as expected results, the weight of
/// a position decreases by `lambda` with every ply.
fn smoothed_scores(record: &Record, lambda: f32) -> Vec<i16> {
    if lambda == 0.0 {
        return record.scores().collect();
    }
    let mut expected = f32::from(record.outcome().points(Color::White)) / 2.0;
    let mut smoothed: Vec<i16> = record
        .scores()
        .rev()
        .map(|score| {
            if score != NO_SCORE {
                let here = sigmoid(f32::from(score) / LOG_ODDS_CP);
                expected = (1.0 - lambda) * here + lambda * expected;
            }
            let odds = expected / (1.0 - expected);
            let limit = f32::from(MAX_SCORE);
            (LOG_ODDS_CP * odds.ln()).clamp(-limit, limit).round() as i16
        })
        .collect();
    smoothed.reverse();
    smoothed
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;

    /// A game of knight moves with these scores for White, which White wins.
    fn won_game(scores: &[i16]) -> Record {
        let mut position = Position::startpos();
        let mut record = Record::new(position.clone());
        for (ply, &score) in scores.iter().enumerate() {
            let uci = ["g1f3", "g8f6", "f3g1", "f6g8"][ply % 4];
            let mv = position.parse_uci(uci).expect("a legal move");
            record.push(mv, score);
            position.play(mv);
        }
        record.finish(Outcome::WhiteWins);
        record
    }

    #[test]
    fn lambda_weighs_later_scores_and_the_result() {
        let scores = [0, 190, NO_SCORE, -190];
        let record = won_game(&scores);
        assert_eq!(smoothed_scores(&record, 0.0), scores);

        let smoothed = smoothed_scores(&record, 0.5);
        let expected = |odds: f32| 1.0 / (1.0 + (-odds).exp());
        let last = 0.5 * expected(-1.0) + 0.5;
        let second = 0.5 * expected(1.0) + 0.5 * last;
        let first = 0.5 * 0.5 + 0.5 * second;
        let score = |share: f32| (190.0 * (share / (1.0 - share)).ln()).round() as i16;
        assert_eq!(
            smoothed,
            [score(first), score(second), score(last), score(last)]
        );
        // The result alone.
        assert_eq!(smoothed_scores(&record, 1.0), [MAX_SCORE; 4]);
    }
}
