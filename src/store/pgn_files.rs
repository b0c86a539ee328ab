//! PGN files next to the records, written as games end.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::pgn::{Details, pgn_of};
use super::reader::Record;

/// Grouping of games into files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One file per game.
    Game,
    /// One file per opponent.
    Opponent,
    /// One file per month.
    Month,
    /// One file for all games.
    All,
}

/// A file to which a game was appended, and its length before.
#[derive(Debug)]
pub(super) struct Appended {
    file: File,
    length: u64,
}

impl Appended {
    /// Removes the game from the file.
    pub(super) fn undo(&self) -> io::Result<()> {
        self.file.set_len(self.length)
    }
}

/// PGN files in a directory.
#[derive(Clone, Debug)]
pub struct PgnFiles {
    pub directory: PathBuf,
    /// Grouping of games into files.
    pub grouping: Grouping,
    /// Comments on the moves.
    pub details: Details,
}

impl PgnFiles {
    /// The file of a game with this id, opponent and start.
    pub(super) fn path(&self, id: &str, opponent: &str, started: Option<i64>) -> PathBuf {
        let name = match self.grouping {
            Grouping::Game => file_name(id),
            Grouping::Opponent => file_name(opponent),
            Grouping::Month => match started {
                Some(started) => super::month(started),
                None => "unknown".to_owned(),
            },
            Grouping::All => "games".to_owned(),
        };
        self.directory.join(format!("{name}.pgn"))
    }

    /// Writes a game into its file. Returns the file if it may contain other games.
    ///
    /// # Errors
    /// When the file cannot be written; no partial game is left then.
    pub(super) fn write_game(&self, record: &Record, server: &str) -> io::Result<Option<Appended>> {
        let text = pgn_of(record, server, self.details);
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        let game = &record.game;
        let path = self.path(&game.id, &game.opponent.name, game.started);
        if self.grouping == Grouping::Game {
            // A second attempt replaces the first.
            fs::write(&path, text).inspect_err(|_| drop(fs::remove_file(&path)))?;
            return Ok(None);
        }
        append(&path, &text).map(Some)
    }
}

/// Appends a game to a file, with an empty line before it.
fn append(path: &Path, text: &str) -> io::Result<Appended> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let gap = if length > 0 { "\n" } else { "" };
    let added = file.write_all(format!("{gap}{text}").as_bytes());
    let appended = Appended { file, length };
    if added.is_err() {
        // A partial game would break the next one.
        appended.undo()?;
    }
    added.map(|()| appended)
}

/// Makes a name from outside safe as a file name: no directories, no hidden files, no unusual characters.
pub(super) fn file_name(name: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter,
        '-' | '_' | '.' => letter,
        _ => '_',
    };
    let name: String = name.chars().take(100).map(plain).collect();
    match name.trim_start_matches('.') {
        "" => "_".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe() {
        for (name, file) in [
            ("Anna-B_2", "Anna-B_2"),
            ("Stockfish level 3", "Stockfish_level_3"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("..", "_"),
            ("", "_"),
            ("a/b\u{202e}\n", "a_b__"),
            ("lichess.org", "lichess.org"),
        ] {
            assert_eq!(file_name(name), file);
        }
        assert_eq!(file_name(&"x".repeat(1_000)).len(), 100);
    }

    #[test]
    fn games_in_a_file_are_separated_by_empty_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("games.pgn");
        append(&path, "[Event \"a\"]\n\n*\n").unwrap();
        append(&path, "[Event \"b\"]\n\n*\n").unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text, "[Event \"a\"]\n\n*\n\n[Event \"b\"]\n\n*\n");
    }
}
