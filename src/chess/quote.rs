//! Text from outside in messages: short, and harmless in a terminal.

use std::fmt::{self, Write as _};

/// The most characters of it that are shown: more than any field of a FEN has, but for the board.
const MOST: usize = 24;

/// The beginning of a text in quotes, with what a terminal would obey written out as `\u{1b}`.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut letters = self.0.chars();
        for letter in letters.by_ref().take(MOST) {
            write!(f, "{}", letter.escape_debug())?;
        }
        f.write_str(if letters.next().is_some() {
            "…\""
        } else {
            "\""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_short_and_harmless() {
        assert_eq!(Quoted("Nf3é").to_string(), "\"Nf3é\"");
        assert_eq!(
            Quoted("a\u{1b}[2J\"\u{202e}").to_string(),
            r#""a\u{1b}[2J\"\u{202e}""#
        );
        let long = Quoted(&"x".repeat(1_000_000)).to_string();
        assert_eq!(long, format!("\"{}…\"", "x".repeat(MOST)));
        assert!(!Quoted(&"y".repeat(MOST)).to_string().contains('…'));
    }
}
