//! `knightwatch render`.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Board, Film};
use crate::aside;
use crate::chess::{Color, Game, LineError, pgn};
use crate::input;

/// The most that is read of a file with a game.
const LONGEST: u64 = 16 << 20;

/// What is to be drawn, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct RenderOptions {
    /// A position, as FEN or `startpos` with moves behind it, a PGN file of which the first game is taken, or - for PGN from
    /// stdin
    #[arg(value_name = "POSITION|PGN", required = true)]
    what: Vec<String>,
    /// The file to write [default: stdout, where that is no terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw a game's position after so many plies [default: the last one]
    #[arg(long, value_name = "N", conflicts_with = "animated")]
    ply: Option<usize>,
    /// Seen from Black's side
    #[arg(long)]
    black: bool,
    /// Draw the whole game, as a picture that moves
    #[arg(long)]
    animated: bool,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// It looks like a position, and is none.
    #[error("{text:?} is no position: {cause}")]
    Position {
        /// What was given.
        text: String,
        /// What is wrong with it.
        cause: LineError,
    },
    /// It does not look like a position, and there is no such file.
    #[error(
        "cannot read {text:?}: {cause}\nhint: a position is given as FEN or as moves from the start, as in \
         startpos e4 c5, a game as the name of a PGN file, or - for stdin"
    )]
    Unreadable {
        /// What was given.
        text: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The file has a game that cannot be read.
    #[error("{name}, {cause}\nhint: correct it there, or draw only a position of it, given as FEN")]
    Game {
        /// The file.
        name: String,
        /// What is wrong, and in which line.
        cause: pgn::ReadError,
    },
    /// The file has no game.
    #[error("there is no game in {0}: it has to begin with a tag or a move, as PGN does")]
    Empty(String),
    /// The game does not last that long.
    #[error(
        "the game has {plies} plies, so there is none after {wanted}: --ply takes 0 to {plies}"
    )]
    TooShort {
        /// What it has.
        plies: usize,
        /// What was asked for.
        wanted: usize,
    },
    /// A position does not move.
    #[error(
        "a position alone has no moves: --ply and --animated need some behind it, or a game as PGN"
    )]
    NoGame,
    /// A picture is nothing to read.
    #[error("an SVG picture is nothing to read on a terminal: write it to a file with -o FILE")]
    Terminal,
    /// The file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Nothing can be printed.
    #[error("cannot print")]
    Output(#[from] io::Error),
}

/// Draws a position or a game. `terminal`: `out` is one.
///
/// # Errors
/// [`RenderError`] for what cannot be read or written.
pub fn render_command(
    options: &RenderOptions,
    out: &mut impl Write,
    terminal: bool,
) -> Result<(), RenderError> {
    let svg = draw(options)?;
    if terminal && options.output.is_none() {
        return Err(RenderError::Terminal);
    }
    match &options.output {
        Some(path) => aside::write(path, svg.as_bytes()).map_err(|cause| RenderError::Unwritable {
            path: path.clone(),
            cause,
        }),
        None => Ok(out.write_all(svg.as_bytes())?),
    }
}

fn draw(options: &RenderOptions) -> Result<String, RenderError> {
    let seen_from = if options.black {
        Color::Black
    } else {
        Color::White
    };
    let line = options.what.join(" ");
    let text = line.trim();
    let mut film_names = ["White", "Black"].map(str::to_owned);
    let mut result = String::new();
    let mut game = if looks_like_position(text) {
        let game = Game::from_line(text).map_err(|cause| RenderError::Position {
            text: text.to_owned(),
            cause,
        })?;
        if game.moves().is_empty() && (options.animated || options.ply.is_some()) {
            return Err(RenderError::NoGame);
        }
        game
    } else {
        let record = first_game(text)?;
        film_names = film_names.map(|tag| record.tags.get(&tag).unwrap_or("?").to_owned());
        result = Some(record.outcome.to_string())
            .filter(|outcome| outcome != "*")
            .unwrap_or_default();
        record.game
    };
    if options.animated {
        let [white, black] = &film_names;
        return Ok(Film {
            game: &game,
            seen_from,
            names: [white, black],
            result: &result,
        }
        .svg());
    }
    let plies = game.moves().len();
    let wanted = options.ply.unwrap_or(plies);
    if wanted > plies {
        return Err(RenderError::TooShort { plies, wanted });
    }
    game.truncate(wanted);
    Ok(Board {
        position: game.position(),
        seen_from,
        last: game.moves().last().copied(),
    }
    .svg())
}

/// Whether this is meant for a position and not for a file: it begins with `startpos`, has eight ranks between slashes, or
/// blanks behind the first of its words.
fn looks_like_position(text: &str) -> bool {
    let board = text.split_ascii_whitespace().next().unwrap_or_default();
    if board == "startpos" {
        return !Path::new(text).exists();
    }
    let slashes = board.matches('/').count();
    let of_board = |letter: char| letter == '/' || letter.is_ascii_alphanumeric();
    let whole = slashes == 7 || (slashes > 0 && text.contains(" w ") | text.contains(" b "));
    whole && board.chars().all(of_board) && !Path::new(text).exists()
}

fn first_game(name: &str) -> Result<pgn::Record, RenderError> {
    let unreadable = |cause| RenderError::Unreadable {
        text: name.to_owned(),
        cause,
    };
    let mut text = Vec::new();
    match name {
        "-" => io::stdin().lock().take(LONGEST).read_to_end(&mut text),
        name => {
            input::open(Path::new(name)).and_then(|file| file.take(LONGEST).read_to_end(&mut text))
        }
    }
    .map_err(unreadable)?;
    let shown = if name == "-" { "stdin" } else { name };
    let mut reader = pgn::Reader::new();
    let read = reader.feed(&mut &text[..]).or_else(|| reader.finish());
    let record = read.transpose().map_err(|cause| RenderError::Game {
        name: shown.to_owned(),
        cause,
    })?;
    record.ok_or_else(|| RenderError::Empty(shown.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn options(what: &str) -> RenderOptions {
        RenderOptions {
            what: vec![what.to_owned()],
            output: None,
            ply: None,
            black: false,
            animated: false,
        }
    }

    fn drawn(options: &RenderOptions) -> Result<String, String> {
        let mut out = Vec::new();
        render_command(options, &mut out, false).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn positions_and_games_are_told_apart() {
        for fen in [
            "8/8/8/4k3/8/8/4P3/4K3",
            "8/8/8/4k3/8/8/4P3/4K3 b - - 5 60",
            "8/8/8/8 w - - 0 1",
            "startpos",
            "startpos e4 c5",
        ] {
            assert!(looks_like_position(fen), "{fen}");
        }
        for file in [
            "games.pgn",
            "a/b/c.pgn",
            "/home/anna/games/of/mine/in/may/x",
            "-",
            "",
        ] {
            assert!(!looks_like_position(file), "{file}");
        }
    }

    #[test]
    fn a_position_is_drawn_with_its_moves() {
        let line = options("startpos e4 c5");
        let after = drawn(&line).expect("drawn");
        assert!(
            after.contains("<use href=\"#wP\" x=\"4\" y=\"4\" "),
            "{after}"
        );
        let first = RenderOptions {
            ply: Some(0),
            ..line.clone()
        };
        assert_eq!(drawn(&first), drawn(&options("startpos")));
        let film = RenderOptions {
            animated: true,
            ..line
        };
        assert!(drawn(&film).expect("drawn").contains("White against Black"));
        let error = drawn(&options("startpos e5")).unwrap_err();
        assert!(error.contains("move 1 after the position"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = drawn(&options("8/8/8/4k3/8/8/4P3/4X3 w - - 0 1")).unwrap_err();
        assert!(
            error.contains("is no position: \"X\" is no piece"),
            "{error}"
        );
        let error = drawn(&options("nothing.pgn")).unwrap_err();
        assert!(
            error.contains("nothing.pgn") && error.contains("hint: "),
            "{error}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("game.pgn");
        let name = file.display().to_string();
        fs::write(&file, "[White \"Anna\"]\n\n1. e4 e5\n2. Ke3 *\n").expect("written");
        let error = drawn(&options(&name)).unwrap_err();
        assert!(error.contains("game.pgn, line 4, move 2."), "{error}");
        fs::write(&file, "").expect("written");
        assert!(drawn(&options(&name)).unwrap_err().contains("no game in"));
        fs::write(&file, "1. e4 e5 2. Ke2 *\n").expect("written");
        let later = RenderOptions {
            ply: Some(4),
            ..options(&name)
        };
        assert!(drawn(&later).unwrap_err().contains("0 to 3"));
        let moving = RenderOptions {
            animated: true,
            ..options("8/8/8/4k3/8/8/4P3/4K3 w - - 0 1")
        };
        assert!(drawn(&moving).unwrap_err().contains("has no moves"));
        let nowhere = RenderOptions {
            output: Some(folder.path().join("no/such/place.svg")),
            ..options(&name)
        };
        assert!(drawn(&nowhere).unwrap_err().contains("cannot write"));
    }

    #[test]
    fn a_game_is_drawn_at_every_ply_and_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("game.pgn");
        let text = "[White \"Anna\"]\n[Black \"Bert\"]\n\n1. e4 e5 2. Ke2 1-0\n\n1. d4 *\n";
        fs::write(&file, text).expect("written");
        let game = options(&file.display().to_string());
        let last = drawn(&game).expect("drawn");
        assert!(
            last.contains("<use href=\"#wK\" x=\"4\" y=\"6\" "),
            "{last}"
        );
        let first = RenderOptions {
            ply: Some(1),
            black: true,
            ..game.clone()
        };
        let first = drawn(&first).expect("drawn");
        assert!(
            first.contains("<use href=\"#wP\" x=\"3\" y=\"3\" "),
            "{first}"
        );
        let output = folder.path().join("film.svg");
        let film = RenderOptions {
            animated: true,
            output: Some(output.clone()),
            ..game
        };
        assert_eq!(drawn(&film), Ok(String::new()));
        let film = fs::read_to_string(output).expect("written");
        assert!(film.contains("Anna against Bert 1-0"), "{film}");
    }
}
