//! Game files: consecutive records, compressed as `.xz`.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use lzma_rust2::{LzmaOptions, XzOptions, XzReader, XzWriter};

use knightwatch_util::{atomic_file, input};

/// Suffix of the names of game files.
pub const FILE_SUFFIX: &str = ".viri.xz";

/// The same for games of variants, which are lines of text.
pub const VARIANT_FILE_SUFFIX: &str = ".txt.xz";

/// Compresses games and writes them to `path` atomically. Returns the file size in bytes.
///
/// # Errors
/// When the file cannot be written.
pub fn write_file(path: &Path, games: &[u8]) -> anyhow::Result<usize> {
    let compressed = compress(games)?;
    atomic_file::write(path, &compressed)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(compressed.len())
}

fn compress(games: &[u8]) -> io::Result<Vec<u8>> {
    let mut lzma = LzmaOptions::with_preset(6);
    // All values in the files are aligned to four bytes.
    (lzma.lc, lzma.lp, lzma.pb) = (2, 2, 2);
    lzma.dict_size = 1 << 24;
    let options = XzOptions {
        lzma_options: lzma,
        ..XzOptions::with_preset(6)
    };
    let mut writer = XzWriter::new(Vec::new(), options)?;
    writer.write_all(games)?;
    writer.finish()
}

/// Opens a game file, compressed or not.
///
/// # Errors
/// When the file cannot be opened.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = BufReader::with_capacity(1 << 16, input::open(path)?);
    if path.extension().is_some_and(|ending| ending == "xz") {
        Ok(Box::new(BufReader::with_capacity(
            1 << 16,
            XzReader::new(file, true),
        )))
    } else {
        Ok(Box::new(file))
    }
}

/// The game files with this suffix in a directory, sorted by name. If `path` is a file, that file alone.
///
/// # Errors
/// When the directory cannot be read.
pub fn files(path: &Path, suffix: &str) -> io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(suffix))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("a{FILE_SUFFIX}"));
        let games: Vec<u8> = (0..100_000u32)
            .flat_map(|n| (n % 977).to_le_bytes())
            .collect();
        assert!(write_file(&path, &games).unwrap() < games.len() / 4);
        let mut read = Vec::new();
        open(&path).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, games);
        let expected = vec![path.clone()];
        assert_eq!(files(folder.path(), FILE_SUFFIX).unwrap(), expected);
        assert_eq!(files(&path, FILE_SUFFIX).unwrap(), expected);
    }
}
