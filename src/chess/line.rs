//! A position as people type it: `startpos` or a FEN, and the moves from there.

use std::fmt;

use super::{FenError, Game, Move, MoveError, Position, Square};

/// Why a text is no position with moves. Its display is a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineError {
    /// The position is none.
    Fen(FenError),
    /// A move is none, or not possible; they are counted from 1.
    Move(usize, MoveError),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Fen(error) => error.fmt(f),
            LineError::Move(number, error) => {
                write!(f, "move {number} after the position: {error}")
            }
        }
    }
}

impl std::error::Error for LineError {}

impl Game {
    /// The game of a line: `startpos` or a FEN, then perhaps `moves`, then moves in UCI notation or SAN, with or without
    /// their numbers. Moves alone are played from the ordinary start.
    ///
    /// ```
    /// use knightwatch::chess::Game;
    ///
    /// let game = Game::from_line("startpos moves e2e4 c7c5")?;
    /// assert_eq!(game.position(), Game::from_line("1. e4 c5")?.position());
    /// # Ok::<(), knightwatch::chess::LineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the position, or the first move that is not one.
    pub fn from_line(text: &str) -> Result<Game, LineError> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (fen, moves) = parted(&words);
        let initial = match fen {
            ["startpos"] => Position::startpos(),
            [] if !moves.is_empty() => Position::startpos(),
            fen => Position::from_fen(&fen.join(" ")).map_err(LineError::Fen)?,
        };
        let mut game = Game::new(initial);
        let moves = moves.iter().map(|word| without_number(word));
        for (word, number) in moves.filter(|word| !word.is_empty()).zip(1..) {
            let mv = read(game.position(), word);
            game.play(mv.map_err(|error| LineError::Move(number, error))?);
        }
        Ok(game)
    }
}

/// The words of the position, and those of the moves.
fn parted<'a>(words: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    if let Some(at) = words.iter().position(|word| *word == "moves") {
        return (&words[..at], &words[at + 1..]);
    }
    let begins = |(number, word): (usize, &&str)| match number {
        0 => is_move(word),
        _ if words[0] == "startpos" => true,
        // The square of a capture in passing could be a move of a pawn.
        3 => is_move(word) && word.parse::<Square>().is_err(),
        _ => is_move(word),
    };
    let at = words.iter().enumerate().position(begins);
    words.split_at(at.unwrap_or(words.len()))
}

/// Whether this could be a move somewhere, or the number of one.
fn is_move(word: &str) -> bool {
    let bare = without_number(word);
    let anywhere = Position::startpos();
    bare.len() < word.len()
        || [anywhere.parse_uci(bare), anywhere.parse_san(bare)]
            .iter()
            .any(|read| !matches!(read, Err(MoveError::Malformed(_))))
}

fn read(position: &Position, word: &str) -> Result<Move, MoveError> {
    match position.parse_uci(word) {
        Err(MoveError::Malformed(_)) => position.parse_san(word),
        read => read,
    }
}

/// `e4` of `1.e4` and `1...e4`, nothing of `1.`
fn without_number(word: &str) -> &str {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix('.').filter(|_| rest.len() < word.len()) {
        Some(rest) => rest.trim_start_matches('.'),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

    fn fen(text: &str) -> String {
        let game = Game::from_line(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        game.position().fen()
    }

    #[test]
    fn positions_are_read_with_their_moves() {
        let sicilian = fen("startpos moves e2e4 c7c5");
        for text in [
            "startpos e4 c5",
            "startpos 1. e4 c5",
            "e4 c5",
            "1.e4 c5",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 e4 c5",
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1 1...c5",
        ] {
            assert_eq!(fen(text), sicilian, "{text}");
        }
        assert_eq!(fen(KIWIPETE), KIWIPETE);
        assert_eq!(
            Game::from_line("startpos").map(|game| game.moves().len()),
            Ok(0)
        );
        let castled = Game::from_line(&format!("{KIWIPETE} O-O")).unwrap();
        assert_eq!(castled.moves().len(), 1);
        // Fields may be missing at the end of a FEN.
        assert!(fen("8/8/8/4k3/8/8/4P3/4K3 b Kd5").contains("/3k4/"));
        assert!(fen("8/8/8/4k3/8/8/4P3/4K3 e4").contains("/4P3/"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("", "empty"),
            ("8/8 w", "8 ranks"),
            (
                "startpos e4 e4",
                "move 2 after the position: \"e4\" is not legal here",
            ),
            ("startpos e4 hello", "move 2 after the position: \"hello\""),
            ("startpos moves e9", "move 1 after"),
            ("8/8/8/4k3/8/8/4P3/4K3 w X - 0 1", "X"),
            ("8/8/8/4k3/8/8/4P3/4K3 w - - 0 1 or so", "six fields"),
            ("nonsense", "8 ranks"),
        ] {
            let error = Game::from_line(text).map(|game| game.position().fen());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
