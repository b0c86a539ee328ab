//! `knightwatch book probe` and `knightwatch book build`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Book, BuildError, Builder, Error, Probe, Record};
use crate::chess::{FenError, Position};

/// Why a command about books failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A book cannot be read or written.
    #[error(transparent)]
    Book(#[from] Error),
    /// The position is none.
    #[error("\"{fen}\" is no position: {cause}")]
    Fen {
        /// What was given.
        fen: String,
        /// What is wrong with it.
        cause: FenError,
    },
    /// A text of lines cannot be read.
    #[error("cannot read the lines in {}: {cause}", path.display())]
    Lines {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The lines make no book.
    #[error("no book was built\n{0}")]
    Build(BuildError),
    /// Nothing can be printed.
    #[error("cannot print")]
    Output(#[from] io::Error),
}

/// Prints what a book, a file or `default`, has for a position.
///
/// # Errors
///
/// [`CommandError`] for a bad book or position, or if nothing can be printed.
pub fn probe_command(book: &Path, fen: &str, out: &mut impl Write) -> Result<(), CommandError> {
    let book = if book == "default" {
        Book::embedded()
    } else {
        Book::open(book)?
    };
    let position = Position::from_fen(fen).map_err(|cause| CommandError::Fen {
        fen: fen.to_owned(),
        cause,
    })?;
    Ok(write!(out, "{}", Probe::new(&book, &position))?)
}

/// Makes a book of files with [lines](super::Builder) and says what it has. The old book stays until the new one is there.
///
/// # Errors
///
/// [`CommandError`] if a file cannot be read, a line is wrong, or the book cannot be written.
pub fn build_command(
    lines: &[PathBuf],
    output: &Path,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut builder = Builder::default();
    for path in lines {
        let text = fs::read_to_string(path).map_err(|cause| CommandError::Lines {
            path: path.clone(),
            cause,
        })?;
        builder.add(&path.display().to_string(), &text);
    }
    let (lines, positions) = (builder.lines(), builder.positions());
    let bytes = builder.finish().map_err(CommandError::Build)?;
    let name = output.display();
    replace(output, &bytes).map_err(|cause| Error::Unwritable {
        name: name.to_string(),
        cause,
    })?;
    let moves = bytes.len() / Record::SIZE;
    writeln!(
        out,
        "{name}: {moves} moves of {positions} positions from {lines} lines"
    )?;
    Ok(())
}

/// Writes a file next to its place, then puts it there: no reader ever sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let mut aside = name.to_owned();
    aside.push(format!(".{}.new", std::process::id()));
    let aside = path.with_file_name(aside);
    let written = || {
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    written().inspect_err(|_| {
        // Nothing to add to the error that is reported.
        let _ = fs::remove_file(&aside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    fn files(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_built_can_be_probed() {
        let dir = tempfile::tempdir().unwrap();
        let [white, black, book] = ["white.txt", "black.txt", "my.bin"].map(|n| dir.path().join(n));
        fs::write(&white, "e4 e5 Nf3\nd4 d5\n").unwrap();
        fs::write(&black, "e4 c5\n").unwrap();
        fs::write(&book, "what was there before").unwrap();

        let mut said = Vec::new();
        build_command(&[white, black], &book, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("my.bin: 6 moves of 4 positions from 3 lines"),
            "{said}"
        );

        let mut table = Vec::new();
        probe_command(&book, START, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        assert!(
            table.contains("e4       e2e4       20   66.7%      0"),
            "{table}"
        );
        assert_eq!(files(dir.path()), ["black.txt", "my.bin", "white.txt"]);
    }

    #[test]
    fn a_bad_line_leaves_the_old_book_alone() {
        let dir = tempfile::tempdir().unwrap();
        let [lines, book] = ["lines.txt", "my.bin"].map(|name| dir.path().join(name));
        fs::write(&lines, "e4 e5\ne4 e5 Nf6\n").unwrap();
        fs::write(&book, "old").unwrap();
        let error = build_command(&[lines], &book, &mut Vec::new()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("lines.txt:2:7: move 2 of White: \"Nf6\""),
            "{error}"
        );
        assert_eq!(fs::read(&book).unwrap(), b"old");
        assert_eq!(files(dir.path()), ["lines.txt", "my.bin"]);
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let [lines, missing] = ["lines.txt", "missing.bin"].map(|name| dir.path().join(name));
        fs::write(&lines, "e4").unwrap();
        let mut out = Vec::new();
        let probe = probe_command(&missing, START, &mut out).unwrap_err();
        assert!(probe.to_string().contains("missing.bin"), "{probe}");
        let build = build_command(&[missing], &dir.path().join("a.bin"), &mut out).unwrap_err();
        assert!(build.to_string().contains("missing.bin"), "{build}");
        // A directory cannot be replaced by a book, nor can a book be put into a file.
        for target in [dir.path().to_owned(), lines.join("my.bin")] {
            let build = build_command(std::slice::from_ref(&lines), &target, &mut out).unwrap_err();
            assert!(build.to_string().contains("cannot write"), "{build}");
        }
        let fen = probe_command(Path::new("default"), "8/8 w", &mut out).unwrap_err();
        assert!(
            fen.to_string().contains("\"8/8 w\" is no position"),
            "{fen}"
        );
        assert_eq!(out, b"");
        assert_eq!(files(dir.path()), ["lines.txt"]);
    }
}
