//! PGN writer.

use super::{MoveComment, Outcome, Tags};
use crate::{Color, Game, Variant};

/// The game as PGN, with lines of at most 80 columns. `comments[i]` belongs to the move of ply `i`; there may be
/// fewer comments than moves. Sets the tag `Result`; `Variant`, unless it is standard chess; and, unless the game
/// starts from the standard position, `SetUp` and `FEN`. Chess960 has them always, by its tag.
pub fn write(tags: &Tags, game: &Game, comments: &[MoveComment], outcome: Outcome) -> String {
    let mut tags = tags.clone();
    tags.set("Result", outcome.to_string());
    let variant = game.initial().variant();
    if variant != Variant::Standard {
        tags.set("Variant", variant.name());
    }
    let has_own_start = matches!(variant, Variant::Horde | Variant::RacingKings)
        || tags.get("Variant") == Some("Chess960");
    if has_own_start || *game.initial() != variant.start() {
        tags.set("SetUp", "1");
        tags.set("FEN", game.initial().fen());
    }

    let mut lines = Lines::default();
    let mut position = game.initial().clone();
    let mut numbered = false;
    for (ply, &mv) in game.moves().iter().enumerate() {
        let number = position.fullmove_number();
        match position.turn() {
            Color::White => lines.word(&format!("{number}.")),
            Color::Black if !numbered => lines.word(&format!("{number}...")),
            Color::Black => {}
        }
        lines.word(&position.san(mv));
        let comment = comments.get(ply).filter(|comment| !comment.is_empty());
        if let Some(comment) = comment {
            comment.words().iter().for_each(|word| lines.word(word));
        }
        // After a comment, Black's move needs its number again.
        numbered = comment.is_none();
        position.play(mv);
    }
    lines.word(&outcome.to_string());
    format!("{tags}\n{}\n", lines.text)
}

/// Joins words into lines of at most 80 columns.
#[derive(Default)]
struct Lines {
    text: String,
    column: usize,
}

impl Lines {
    fn word(&mut self, word: &str) {
        let width = word.chars().count();
        if self.column > 0 {
            if self.column + 1 + width > 80 {
                self.text.push('\n');
                self.column = 0;
            } else {
                self.text.push(' ');
                self.column += 1;
            }
        }
        self.text += word;
        self.column += width;
    }
}

impl MoveComment {
    /// The comment as words; lines are only broken between them.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["{".to_owned()];
        if let Some(eval) = self.eval {
            words.push(format!("[%eval {eval}]"));
        }
        if let Some(clock) = self.clock {
            let seconds = clock.as_secs();
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            words.push(format!("[%clk {hours}:{minutes:02}:{seconds:02}]"));
        }
        // A brace would close the comment.
        let text = self.text.replace(['{', '}'], "");
        words.extend(text.split_whitespace().map(str::to_owned));
        words.push("}".to_owned());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;

    #[test]
    fn write_from_position_sets_fen_and_move_number() {
        let fen = "4k3/4p3/8/8/8/8/8/4K2R b K - 0 30";
        let position = Position::from_fen(fen).expect("a position");
        let game = Game::from_moves(position, ["e7e5", "e1g1"]).expect("legal moves");
        let text = write(&Tags::default(), &game, &[], Outcome::Win(Color::White));
        assert!(
            text.contains(&format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n")),
            "{text}"
        );
        assert!(text.contains("[Result \"1-0\"]\n"), "{text}");
        assert!(text.ends_with("\n\n30... e5 31. O-O 1-0\n"), "{text}");
    }

    #[test]
    fn write_escapes_tags_and_comments() {
        let game = Game::from_moves(Position::startpos(), ["e2e4"]).expect("legal moves");
        let mut tags = Tags::default();
        tags.set("White", "a \"b\" \\ c\n[Evil \"1\"]");
        let comment = MoveComment {
            text: "fine } 1. d4\nmove".to_owned(),
            ..MoveComment::default()
        };
        let text = write(&tags, &game, &[comment], Outcome::Unknown);
        assert!(
            text.contains("[White \"a \\\"b\\\" \\\\ c[Evil \\\"1\\\"]\"]\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1. e4 { fine 1. d4 move } *\n"), "{text}");
    }

    #[test]
    fn write_wraps_lines_at_80_columns() {
        let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let moves = shuffle.iter().cycle().take(200);
        let game = Game::from_moves(Position::startpos(), moves).expect("legal moves");
        let text = write(&Tags::default(), &game, &[], Outcome::Draw);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.contains("100. Ng1 Ng8 1/2-1/2"));
    }
}
