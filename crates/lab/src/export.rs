//! Export of training positions, for the trainer that runs on a GPU (`crates/lab/gpu/train.py`).
//!
//! The files are records of 36 bytes without a header, from the point of view of the side to move, which plays up the board:
//!
//! | bytes | content |
//! |---|---|
//! | 0..32 | a piece per square in four bits, the lower ones first: 0 empty, 1 to 6 pawn to king of the side to move, 7 to 12 those of the opponent |
//! | 32..34 | score in centipawns, little-endian |
//! | 34 | result: 0 lost, 1 drawn, 2 won |
//! | 35 | zero |

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;

use super::log::print_line;
use super::options::ExportOptions;
use super::sample::Sample;

/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = 36;

/// Most positions in a file: 576 MiB, which a GPU can index with 32 bits.
const FILE_POSITIONS: usize = 1 << 24;

/// Reads the games and writes their quiet positions to `training-00.samples` and so on, shuffled, and those of the
/// validation games to `validation.samples`.
///
/// # Errors
/// When there are no games, or a file cannot be read or written.
pub fn run(options: &ExportOptions) -> anyhow::Result<()> {
    let (_, data) = options.data.load(options.validation)?;
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create {}", options.out.display()))?;
    remove_parts(&options.out)?;
    for (at, part) in data.training.chunks(FILE_POSITIONS).enumerate() {
        write(&options.out.join(format!("training-{at:02}.samples")), part)?;
    }
    write(&options.out.join("validation.samples"), &data.validation)?;
    print_line(&format!(
        "{} games, {} positions, {} of them for validation, to {}",
        data.games,
        data.training.len() + data.validation.len(),
        data.validation.len(),
        options.out.display()
    ));
    Ok(())
}

/// Removes the files of an earlier export, which may have had more of them.
fn remove_parts(folder: &Path) -> anyhow::Result<()> {
    for at in 0.. {
        let path = folder.join(format!("training-{at:02}.samples"));
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
        }
    }
    Ok(())
}

fn write(path: &Path, samples: &[Sample]) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for sample in samples {
            to.write_all(&record(sample))?;
        }
        to.flush()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn record(sample: &Sample) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    for (square, side, role) in sample.pieces() {
        record[square / 2] |= ((1 + side * 6 + role) as u8) << (4 * (square % 2));
    }
    record[32..34].copy_from_slice(&sample.score().to_le_bytes());
    record[34] = (sample.result() * 2.0) as u8;
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::Position;

    #[test]
    fn files_of_an_earlier_export_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "training-00.samples",
            "training-01.samples",
            "validation.samples",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        remove_parts(folder.path()).unwrap();
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [false, false, true]);
    }

    #[test]
    fn records_are_seen_by_the_side_to_move() {
        let position = Position::from_fen("4k3/7p/8/8/8/8/P7/4K2R b - - 0 1").unwrap();
        let record = record(&Sample::new(&position, -300, 0));
        let board: Vec<(usize, u8)> = (0..64)
            .map(|square| (square, record[square / 2] >> (4 * (square % 2)) & 15))
            .filter(|(_, code)| *code != 0)
            .collect();
        // Black's king on e8 and pawn on h7 are on e1 and h2; White's king, rook and pawn on e8, h8 and a7.
        assert_eq!(board, [(4, 6), (15, 1), (48, 7), (60, 12), (63, 10)]);
        assert_eq!(record[32..], [212, 254, 0, 0]);
    }
}
