//! Positions as typed by users: `startpos` or a FEN, followed by moves.

use std::fmt;

use super::{FenError, Game, Move, MoveError, Position, Square, Variant};

/// Error of [`Game::from_notation`]. Its display is meant for users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotationError {
    /// The position is invalid.
    Fen(FenError),
    /// A move is invalid or illegal; moves are counted from 1.
    Move(usize, MoveError),
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotationError::Fen(error) => error.fmt(f),
            NotationError::Move(number, error) => {
                write!(f, "move {number} after the position: {error}")
            }
        }
    }
}

impl std::error::Error for NotationError {}

impl Game {
    /// Parses `startpos` or a FEN, optionally followed by `moves` and moves in UCI or SAN notation, with or without
    /// move numbers. Moves alone start from the standard position.
    ///
    /// ```
    /// use knightwatch_chess::Game;
    ///
    /// let game = Game::from_notation("startpos moves e2e4 c7c5")?;
    /// assert_eq!(game.position(), Game::from_notation("1. e4 c5")?.position());
    /// # Ok::<(), knightwatch_chess::NotationError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the position is invalid, or on the first illegal move.
    pub fn from_notation(text: &str) -> Result<Game, NotationError> {
        Game::from_variant_notation(Variant::Standard, text)
    }

    /// Parses a position of a variant as [`from_notation`](Game::from_notation) does.
    ///
    /// # Errors
    ///
    /// If the position is invalid, or on the first illegal move.
    pub fn from_variant_notation(variant: Variant, text: &str) -> Result<Game, NotationError> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (fen, moves) = split_position(&words);
        let initial = match fen {
            ["startpos"] => variant.start(),
            [] if !moves.is_empty() => variant.start(),
            fen => {
                Position::from_variant_fen(variant, &fen.join(" ")).map_err(NotationError::Fen)?
            }
        };
        let mut game = Game::new(initial);
        let moves = moves.iter().map(|word| without_number(word));
        for (word, number) in moves.filter(|word| !word.is_empty()).zip(1..) {
            let mv = read(game.position(), word);
            game.play(mv.map_err(|error| NotationError::Move(number, error))?);
        }
        Ok(game)
    }
}

/// Splits the words of the position from those of the moves.
fn split_position<'a>(words: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    if let Some(at) = words.iter().position(|word| *word == "moves") {
        return (&words[..at], &words[at + 1..]);
    }
    let starts_moves = |(number, word): (usize, &&str)| match number {
        0 => is_move(word),
        _ if words[0] == "startpos" => true,
        // The en passant square could be a pawn move.
        3 => is_move(word) && word.parse::<Square>().is_err(),
        _ => is_move(word),
    };
    let at = words.iter().enumerate().position(starts_moves);
    words.split_at(at.unwrap_or(words.len()))
}

/// Returns whether the word could be a move in some position, or a move number.
fn is_move(word: &str) -> bool {
    let bare = without_number(word);
    let start = Position::startpos();
    bare.len() < word.len()
        || [start.parse_uci(bare), start.parse_san(bare)]
            .iter()
            .any(|read| !matches!(read, Err(MoveError::Malformed(_))))
}

fn read(position: &Position, word: &str) -> Result<Move, MoveError> {
    match position.parse_uci(word) {
        Err(MoveError::Malformed(_)) => position.parse_san(word),
        read => read,
    }
}

/// `e4` for `1.e4` and `1...e4`, nothing for `1.`.
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
        let game = Game::from_notation(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        game.position().fen()
    }

    #[test]
    fn from_notation_reads_positions_and_moves() {
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
            Game::from_notation("startpos").map(|game| game.moves().len()),
            Ok(0)
        );
        let castled = Game::from_notation(&format!("{KIWIPETE} O-O")).unwrap();
        assert_eq!(castled.moves().len(), 1);
        // Trailing FEN fields may be missing.
        assert!(fen("8/8/8/4k3/8/8/4P3/4K3 b Kd5").contains("/3k4/"));
        assert!(fen("8/8/8/4k3/8/8/4P3/4K3 e4").contains("/4P3/"));
    }

    #[test]
    fn from_notation_of_bad_text_explains_why() {
        for (text, why) in [
            ("", "empty"),
            ("8/8 w", "8 ranks"),
            (
                "startpos e4 e4",
                "move 2 after the position: \"e4\" is not a legal move here",
            ),
            ("startpos e4 hello", "move 2 after the position: \"hello\""),
            ("startpos moves e9", "move 1 after"),
            ("8/8/8/4k3/8/8/4P3/4K3 w X - 0 1", "X"),
            ("8/8/8/4k3/8/8/4P3/4K3 w - - 0 1 or so", "six fields"),
            ("nonsense", "8 ranks"),
        ] {
            let error = Game::from_notation(text).map(|game| game.position().fen());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
