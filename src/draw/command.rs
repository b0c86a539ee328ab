//! The `render` command.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Animation, Board};
use crate::atomic_file;
use crate::chess::{Color, Game, NotationError, Variant, pgn};
use crate::file_error::FileError;
use crate::input;

/// The largest PGN file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Options of the `render` command.
#[derive(Clone, Debug, clap::Args)]
pub struct RenderOptions {
    /// A position (FEN or `startpos`, optionally with moves), a PGN file of which the first game is used, or - for
    /// PGN from stdin
    #[arg(value_name = "POSITION|PGN", required = true)]
    input: Vec<String>,
    /// Variant of a position, by Lichess's key [default: standard, or one that has such positions]; PGN names its own
    #[arg(long, value_name = "KEY")]
    variant: Option<Variant>,
    /// The file to write [default: stdout, unless it is a terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the position of a game after this many plies [default: the last one]
    #[arg(long, value_name = "N", conflicts_with = "animated")]
    ply: Option<usize>,
    /// Draw from Black's side
    #[arg(long)]
    black: bool,
    /// Draw the whole game as an animation
    #[arg(long)]
    animated: bool,
}

/// Error of the `render` command.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The argument looks like a position, but is invalid.
    #[error("{text:?} is not a position: {cause}")]
    Position {
        /// The argument.
        text: String,
        cause: NotationError,
    },
    /// The argument does not look like a position, and the file cannot be read.
    #[error(
        "cannot read {text:?}: {cause}\nhint: give a position as FEN or as moves, such as \
         startpos e4 c5, or a game as a PGN file, or - for stdin"
    )]
    Unreadable {
        text: String,
        /// The argument.
        cause: io::Error,
    },
    /// A game in the file is invalid.
    #[error("{name}, {cause}\nhint: correct the game, or draw a position given as FEN")]
    Game {
        /// The path.
        name: String,
        /// The error, with its line.
        cause: pgn::ReadError,
    },
    /// The file contains no game.
    #[error("no game in {0}: expected PGN, starting with a tag or a move")]
    Empty(String),
    /// The game is shorter than the requested ply.
    #[error("ply {requested_ply} is beyond the end of the game: --ply takes 0 to {plies}")]
    TooShort {
        /// Plies of the game.
        plies: usize,
        /// The requested ply.
        requested_ply: usize,
    },
    /// A position without moves cannot be animated.
    #[error(
        "a position alone has no moves: --ply and --animated need moves after it, or a PGN file"
    )]
    NoGame,
    /// The output would be a terminal.
    #[error("refusing to print SVG to a terminal: write it to a file with -o FILE")]
    Terminal,
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Standard output cannot be written.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// Draws a position or a game. `terminal` says whether `out` is a terminal.
///
/// # Errors
/// [`RenderError`] if the input is invalid or the output cannot be written.
pub fn render_command(
    options: &RenderOptions,
    out: &mut impl Write,
    terminal: bool,
) -> Result<(), RenderError> {
    if let Some(path) = &options.output {
        let input = PathBuf::from(options.input.join(" "));
        atomic_file::check_not_input(path, &[&input]).map_err(FileError::writing(path))?;
    }
    let svg = draw(options)?;
    if terminal && options.output.is_none() {
        return Err(RenderError::Terminal);
    }
    match &options.output {
        Some(path) => {
            Ok(atomic_file::write(path, svg.as_bytes()).map_err(FileError::writing(path))?)
        }
        None => Ok(out.write_all(svg.as_bytes())?),
    }
}

fn draw(options: &RenderOptions) -> Result<String, RenderError> {
    let orientation = if options.black {
        Color::Black
    } else {
        Color::White
    };
    let line = options.input.join(" ");
    let text = line.trim();
    let mut players = ["White", "Black"].map(str::to_owned);
    let mut result = String::new();
    let mut game = if looks_like_position(text) {
        let game = read_position(options.variant, text)?;
        if game.moves().is_empty() && (options.animated || options.ply.is_some()) {
            return Err(RenderError::NoGame);
        }
        game
    } else {
        let record = first_game(text)?;
        players = players.map(|tag| record.tags.get(&tag).unwrap_or("?").to_owned());
        result = Some(record.outcome.to_string())
            .filter(|outcome| outcome != "*")
            .unwrap_or_default();
        record.game
    };
    if options.animated {
        let [white, black] = &players;
        return Ok(Animation {
            game: &game,
            orientation,
            names: [white, black],
            result: &result,
        }
        .svg());
    }
    let plies = game.moves().len();
    let requested_ply = options.ply.unwrap_or(plies);
    if requested_ply > plies {
        return Err(RenderError::TooShort {
            plies,
            requested_ply,
        });
    }
    game.truncate(requested_ply);
    Ok(Board {
        position: game.position(),
        orientation,
        last: game.moves().last().copied(),
    }
    .svg())
}

/// Reads a position, perhaps with moves. Without a variant it is one of standard chess, or else of the first variant that has
/// such positions.
fn read_position(variant: Option<Variant>, text: &str) -> Result<Game, RenderError> {
    let mut read = Game::from_variant_notation(variant.unwrap_or(Variant::Standard), text);
    if variant.is_none() && matches!(read, Err(NotationError::Fen(_))) {
        let others = Variant::ALL.into_iter().skip(1);
        let games = others.map(|other| Game::from_variant_notation(other, text));
        let mut known = games.filter(|read| !matches!(read, Err(NotationError::Fen(_))));
        read = known.next().unwrap_or(read);
    }
    read.map_err(|cause| RenderError::Position {
        text: text.to_owned(),
        cause,
    })
}

/// Returns whether the text is meant as a position rather than a file: it starts with `startpos`, has eight ranks
/// separated by slashes and perhaps a pocket as the ninth, or blanks after the first word.
fn looks_like_position(text: &str) -> bool {
    let board = text.split_ascii_whitespace().next().unwrap_or_default();
    if board == "startpos" {
        return !Path::new(text).exists();
    }
    let slashes = board.matches('/').count();
    let of_board = |letter: char| "/[]~-".contains(letter) || letter.is_ascii_alphanumeric();
    let whole =
        (7..=8).contains(&slashes) || (slashes > 0 && text.contains(" w ") | text.contains(" b "));
    whole && board.chars().all(of_board) && !Path::new(text).exists()
}

fn first_game(name: &str) -> Result<pgn::Record, RenderError> {
    let unreadable = |cause| RenderError::Unreadable {
        text: name.to_owned(),
        cause,
    };
    let mut text = Vec::new();
    match name {
        "-" => io::stdin()
            .lock()
            .take(MAX_FILE_BYTES)
            .read_to_end(&mut text),
        name => input::open(Path::new(name))
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text)),
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

    fn options(input: &str) -> RenderOptions {
        RenderOptions {
            input: vec![input.to_owned()],
            variant: None,
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
    fn looks_like_position_distinguishes_files() {
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
            "/home/anna/games/of/mine/in/x.pgn",
            "-",
            "",
        ] {
            assert!(!looks_like_position(file), "{file}");
        }
    }

    #[test]
    fn render_of_position_applies_moves() {
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
        let animation = RenderOptions {
            animated: true,
            ..line
        };
        assert!(
            drawn(&animation)
                .expect("drawn")
                .contains("White against Black")
        );
        let error = drawn(&options("startpos e5")).unwrap_err();
        assert!(error.contains("move 1 after the position"), "{error}");
    }

    #[test]
    fn render_of_variants_takes_their_positions() {
        for (fen, moves, variant) in [
            (
                "4k3/8/8/8/8/8/8/4K3[Qn] w - - 0 1",
                "Q@e4",
                Variant::Crazyhouse,
            ),
            (
                "4k3/8/8/8/8/8/8/4K3/Qn w - - 0 1",
                "Q@e4",
                Variant::Crazyhouse,
            ),
            (
                "4k3/8/8/8/8/8/Q~7/4K3[] w - - 0 1",
                "Qa4",
                Variant::Crazyhouse,
            ),
            (
                "4k3/8/8/8/8/8/3Q4/4K3 w - - 0 1 +1+0",
                "Qd4",
                Variant::ThreeCheck,
            ),
            (
                "4k3/8/8/8/8/8/3Q4/4K3 w - - 2+3 0 1",
                "Qd4",
                Variant::ThreeCheck,
            ),
            ("startpos", "a5", Variant::Horde),
        ] {
            let text = format!("{fen} {moves}");
            let by_name = RenderOptions {
                variant: Some(variant),
                ..options(&text)
            };
            let expected = drawn(&by_name);
            assert!(expected.is_ok(), "{text}: {expected:?}");
            if variant != Variant::Horde {
                assert_eq!(drawn(&options(&text)), expected, "{text}");
            }
        }
        // A move is not tried by other rules.
        let error = drawn(&options("4k3/8/8/8/8/8/8/4K2R w - - 0 1 Rh9")).unwrap_err();
        assert!(error.contains("is not a position"), "{error}");
        let error = drawn(&options("4k3/8/8/8/7r/8/8/4K2R w - - 0 1 R@e4")).unwrap_err();
        assert!(error.contains("move 1 after the position"), "{error}");
    }

    #[test]
    fn render_of_bad_input_names_the_place() {
        let error = drawn(&options("8/8/8/4k3/8/8/4P3/4X3 w - - 0 1")).unwrap_err();
        assert!(
            error.contains("is not a position: \"X\" is not a piece"),
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
    fn render_of_game_draws_ply_or_animation() {
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
        let animation = RenderOptions {
            animated: true,
            output: Some(output.clone()),
            ..game
        };
        assert_eq!(drawn(&animation), Ok(String::new()));
        let animation = fs::read_to_string(output).expect("written");
        assert!(animation.contains("Anna against Bert 1-0"), "{animation}");
    }
}
