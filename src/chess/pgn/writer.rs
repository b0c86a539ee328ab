//! Writing a game.

use super::{Note, Outcome, Tags};
use crate::chess::{Color, Game, Position};

/// The game as PGN, its lines no longer than 80 columns. `notes[i]` is said about the move of ply `i`; there may be
/// fewer than moves. The tags `Result` and, unless the game began with the start position, `SetUp` and `FEN` are put
/// in place.
pub fn write(tags: &Tags, game: &Game, notes: &[Note], outcome: Outcome) -> String {
    let mut tags = tags.clone();
    tags.set("Result", outcome.to_string());
    if *game.initial() != Position::startpos() {
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
        let note = notes.get(ply).filter(|note| !note.is_empty());
        if let Some(note) = note {
            note.words().iter().for_each(|word| lines.word(word));
        }
        // After a comment Black's move needs its number again.
        numbered = note.is_none();
        position.play(mv);
    }
    lines.word(&outcome.to_string());
    format!("{tags}\n{}\n", lines.text)
}

/// Words in lines of at most 80 columns.
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

impl Note {
    /// The comment in the parts that no line break may part.
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
        // A brace would end the comment.
        let text = self.text.replace(['{', '}'], "");
        words.extend(text.split_whitespace().map(str::to_owned));
        words.push("}".to_owned());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_from_a_position_says_so_and_counts_on() {
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
    fn what_is_said_cannot_break_out() {
        let game = Game::from_moves(Position::startpos(), ["e2e4"]).expect("legal moves");
        let mut tags = Tags::default();
        tags.set("White", "a \"b\" \\ c\n[Evil \"1\"]");
        let note = Note {
            text: "fine } 1. d4\nmove".to_owned(),
            ..Note::default()
        };
        let text = write(&tags, &game, &[note], Outcome::Unknown);
        assert!(
            text.contains("[White \"a \\\"b\\\" \\\\ c[Evil \\\"1\\\"]\"]\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1. e4 { fine 1. d4 move } *\n"), "{text}");
    }

    #[test]
    fn lines_are_no_longer_than_80_columns() {
        let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"];
        let moves = shuffle.iter().cycle().take(200);
        let game = Game::from_moves(Position::startpos(), moves).expect("legal moves");
        let text = write(&Tags::default(), &game, &[], Outcome::Draw);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.contains("100. Ng1 Ng8 1/2-1/2"));
    }
}
