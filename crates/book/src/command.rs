//! The commands `book probe` and `book build`.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Book, BuildError, Builder, Error, GameOptions, Probe};
use knightwatch_chess::{Game, NotationError, Variant, pgn};
use knightwatch_util::atomic_file;
use knightwatch_util::file_error::FileError;
use knightwatch_util::input;
use knightwatch_util::plural;

/// Error of a book command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A book cannot be read or written.
    #[error(transparent)]
    Book(#[from] Error),
    /// The position is invalid.
    #[error("\"{line}\" is not a position: {cause}")]
    Position {
        /// The given text.
        line: String,
        /// The reason.
        cause: NotationError,
    },
    /// A file with lines or games cannot be read.
    #[error(transparent)]
    Lines(#[from] FileError),
    /// The lines cannot be built into a book.
    #[error("no book was built\n{0}")]
    Build(BuildError),
    /// Standard output cannot be written.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// Prints the moves of a book (a file or `default`) for a position of a variant, as read by
/// [`Game::from_variant_notation`]; defaults to the start position.
///
/// # Errors
///
/// [`CommandError`] for a bad book or position, or if the output cannot be written.
pub fn probe_command(
    book: &Path,
    variant: Variant,
    line: &str,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let book = if book == "default" {
        Book::embedded_for(variant)
    } else {
        Book::open(book)?
    };
    let line = if line.is_empty() { "startpos" } else { line };
    let game =
        Game::from_variant_notation(variant, line).map_err(|cause| CommandError::Position {
            line: line.to_owned(),
            cause,
        })?;
    Ok(write!(out, "{}", Probe::new(&book, game.position()))?)
}

/// Options of `book build`.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Files with [lines](super::Builder), or with games if the name ends in `.pgn`.
    pub files: Vec<PathBuf>,
    /// The book file to write.
    pub output: PathBuf,
    /// Selection of the games.
    pub games: GameOptions,
    /// Whether to show progress while reading games.
    pub progress: bool,
}

/// Builds a book and prints a summary. An existing book is replaced atomically. Progress and games that cannot be
/// read are reported on `diagnostics`.
///
/// # Errors
///
/// [`CommandError`] if a file cannot be read, a line is malformed, or the book cannot be written.
pub fn build_command(
    options: &BuildOptions,
    out: &mut impl Write,
    diagnostics: &mut impl Write,
) -> Result<(), CommandError> {
    let inputs: Vec<&Path> = options.files.iter().map(PathBuf::as_path).collect();
    atomic_file::check_not_input(&options.output, &inputs)
        .and_then(|()| atomic_file::check_directory(&options.output))
        .map_err(|cause| Error::Unwritable {
            name: options.output.display().to_string(),
            cause,
        })?;
    let mut builder = Builder::with_games(options.games);
    for path in &options.files {
        let unreadable = FileError::reading(path);
        if path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("pgn"))
        {
            add_games(&mut builder, path, options.progress, diagnostics).map_err(unreadable)?;
        } else {
            let text = input::read_text(path, MAX_LINES_FILE_BYTES).map_err(unreadable)?;
            builder.add(&path.display().to_string(), &text);
        }
    }
    let (lines, games) = (builder.lines(), builder.games());
    let content = write_book(builder, &options.output)?;
    let name = options.output.display();
    let read = [
        (lines > 0 || games == 0).then(|| plural::count(lines, "line", "lines")),
        (games > 0).then(|| plural::count(games, "game", "games")),
    ];
    let sources: Vec<String> = read.into_iter().flatten().collect();
    let sources = sources.join(" and ");
    writeln!(out, "{name}: {content} from {sources}")?;
    Ok(())
}

/// Writes what was collected to a file, which is replaced atomically; returns the numbers of moves and positions in
/// words.
///
/// # Errors
///
/// [`CommandError`] if there is no move, or the book cannot be written.
pub fn write_book(builder: Builder, output: &Path) -> Result<String, CommandError> {
    let bytes = builder.finish().map_err(CommandError::Build)?;
    let name = output.display().to_string();
    atomic_file::write(output, &bytes).map_err(|cause| Error::Unwritable {
        name: name.clone(),
        cause,
    })?;
    let book = Book::from_bytes(name, bytes)?;
    let mut keys: Vec<u64> = book.records().map(|record| record.key).collect();
    let moves = plural::count(keys.len(), "move", "moves");
    keys.dedup();
    let positions = plural::count(keys.len(), "position", "positions");
    Ok(format!("{moves} of {positions}"))
}

/// The largest file of lines that is read.
const MAX_LINES_FILE_BYTES: u64 = 64 << 20;

/// Unreadable games are reported individually up to this number.
const MAX_GAME_WARNINGS: u64 = 5;

/// Adds the games of a file in chunks. Unreadable games are skipped with a warning.
fn add_games(
    builder: &mut Builder,
    path: &Path,
    progress: bool,
    diagnostics: &mut impl Write,
) -> io::Result<()> {
    let file = input::open(path)?;
    let size = file.metadata()?.len();
    let mut file = BufReader::with_capacity(1 << 16, file);
    let name = path.display();
    let mut reader = Some(pgn::Reader::new());
    let (mut read, mut games, mut bad) = (0, 0, 0);
    let mut shown = Instant::now();
    while let Some(open) = &mut reader {
        let piece = file.fill_buf()?;
        let length = piece.len();
        let mut rest = piece;
        let record = if length == 0 {
            reader.take().and_then(pgn::Reader::finish)
        } else {
            open.feed(&mut rest)
        };
        let used = length - rest.len();
        file.consume(used);
        read += used as u64;
        match record {
            Some(Ok(record)) if record.game.initial().variant() != builder.variant() => {
                bad += 1;
                if bad <= MAX_GAME_WARNINGS {
                    let variant = record.game.initial().variant();
                    clear(progress, diagnostics)?;
                    writeln!(
                        diagnostics,
                        "warning: skipped a game: {name}: it is {variant}; --variant {} reads such games",
                        variant.key()
                    )?;
                }
            }
            Some(Ok(record)) => {
                builder.add_game(&record);
                games += 1;
            }
            Some(Err(error)) => {
                bad += 1;
                if bad <= MAX_GAME_WARNINGS {
                    clear(progress, diagnostics)?;
                    writeln!(diagnostics, "warning: skipped a game: {name}, {error}")?;
                }
            }
            None => {}
        }
        if progress && shown.elapsed() >= Duration::from_millis(200) {
            shown = Instant::now();
            let part = read * 100 / size.max(1);
            let games = plural::count(games, "game", "games");
            write!(diagnostics, "\r\x1b[K{name}: {part} %, {games}")?;
            diagnostics.flush()?;
        }
    }
    clear(progress, diagnostics)?;
    if bad > MAX_GAME_WARNINGS {
        writeln!(
            diagnostics,
            "warning: skipped {bad} games of {name} in total"
        )?;
    }
    Ok(())
}

/// Clears the progress line.
fn clear(progress: bool, diagnostics: &mut impl Write) -> io::Result<()> {
    if progress {
        write!(diagnostics, "\r\x1b[K")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    use knightwatch_chess::Position;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    fn files(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn options<const N: usize>(files: [PathBuf; N], output: &Path) -> BuildOptions {
        BuildOptions {
            files: files.to_vec(),
            output: output.to_owned(),
            games: GameOptions {
                min_games: 1,
                ..GameOptions::default()
            },
            progress: false,
        }
    }

    #[test]
    fn build_of_games_and_lines_adds_up_and_warns() {
        let dir = tempfile::tempdir().unwrap();
        let [lines, games, book] = ["lines.txt", "games.PGN", "my.bin"].map(|n| dir.path().join(n));
        fs::write(&lines, "7 e4 e5\n").unwrap();
        let bad = "[Event \"bad\"]\n\n1. e4 e4 *\n\n".repeat(7);
        fs::write(
            &games,
            format!("1. e4 c5 1-0\n\n{bad}[Event \"good\"]\n\n1. d4 d5 1/2-1/2"),
        )
        .unwrap();
        let options = BuildOptions {
            progress: true,
            ..options([lines, games], &book)
        };
        let (mut summary, mut diagnostics) = (Vec::new(), Vec::new());
        build_command(&options, &mut summary, &mut diagnostics).unwrap();
        let [summary, diagnostics] =
            [summary, diagnostics].map(|text| String::from_utf8(text).unwrap());
        assert!(
            summary.contains("my.bin: 4 moves of 3 positions from 1 line and 2 games"),
            "{summary}"
        );
        assert_eq!(
            diagnostics.matches("skipped a game: ").count(),
            5,
            "{diagnostics}"
        );
        assert!(
            diagnostics.contains("games.PGN, line 5, move 1...: \"e4\" is not a legal move here"),
            "{diagnostics}"
        );
        assert!(diagnostics.contains("skipped 7 games of "), "{diagnostics}");
        let book = Book::open(&book).unwrap();
        let weights: Vec<u16> = book
            .entries(&Position::startpos())
            .iter()
            .map(|e| e.weight)
            .collect();
        assert_eq!(weights, [9, 1]);
    }

    #[test]
    fn build_then_probe_shows_moves() {
        let dir = tempfile::tempdir().unwrap();
        let [white, black, book] = ["white.txt", "black.txt", "my.bin"].map(|n| dir.path().join(n));
        fs::write(&white, "e4 e5 Nf3\nd4 d5\n").unwrap();
        fs::write(&black, "e4 c5\n").unwrap();
        fs::write(&book, "what was there before").unwrap();

        let mut summary = Vec::new();
        let options = options([white, black], &book);
        build_command(&options, &mut summary, &mut Vec::new()).unwrap();
        let summary = String::from_utf8(summary).unwrap();
        assert!(
            summary.contains("my.bin: 6 moves of 4 positions from 3 lines"),
            "{summary}"
        );

        let mut table = Vec::new();
        probe_command(&book, Variant::Standard, START, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        assert!(
            table.contains("e4       e2e4       20   66.7%      0"),
            "{table}"
        );
        for (line, answer) in [("", "e2e4"), ("startpos e4", "e7e5"), ("d2d4", "d7d5")] {
            let mut table = Vec::new();
            probe_command(&book, Variant::Standard, line, &mut table).unwrap();
            let table = String::from_utf8(table).unwrap();
            assert!(table.contains(answer), "{line}: {table}");
        }
        assert_eq!(files(dir.path()), ["black.txt", "my.bin", "white.txt"]);
    }

    #[test]
    fn build_of_bad_line_keeps_the_old_book() {
        let dir = tempfile::tempdir().unwrap();
        let [lines, book] = ["lines.txt", "my.bin"].map(|name| dir.path().join(name));
        fs::write(&lines, "e4 e5\ne4 e5 Nf6\n").unwrap();
        fs::write(&book, "old").unwrap();
        let options = options([lines], &book);
        let error = build_command(&options, &mut Vec::new(), &mut Vec::new()).unwrap_err();
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
        let probe = probe_command(&missing, Variant::Standard, START, &mut out).unwrap_err();
        assert!(probe.to_string().contains("missing.bin"), "{probe}");
        let build = options([missing], &dir.path().join("a.bin"));
        let build = build_command(&build, &mut out, &mut Vec::new()).unwrap_err();
        assert!(build.to_string().contains("missing.bin"), "{build}");
        // Neither can a book replace a directory, nor be created inside a file.
        for target in [dir.path().to_owned(), lines.join("my.bin")] {
            let build = options([lines.clone()], &target);
            let build = build_command(&build, &mut out, &mut Vec::new()).unwrap_err();
            assert!(build.to_string().contains("cannot write"), "{build}");
        }
        let own = Path::new("default");
        let fen = probe_command(own, Variant::Standard, "8/8 w", &mut out).unwrap_err();
        assert!(
            fen.to_string().contains("\"8/8 w\" is not a position"),
            "{fen}"
        );
        assert_eq!(out, b"");
        assert_eq!(files(dir.path()), ["lines.txt"]);
    }
}
