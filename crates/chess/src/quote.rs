//! Quoting of untrusted text in messages: short, and safe for terminals.

use std::fmt::{self, Write as _};

/// Most characters shown: more than any FEN field except the board.
const MAX_CHARS: usize = 24;

/// Displays the beginning of a text in quotes, with control characters escaped as in `\u{1b}`.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut letters = self.0.chars();
        for letter in letters.by_ref().take(MAX_CHARS) {
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
    fn quoted_text_is_short_and_escaped() {
        assert_eq!(Quoted("Nf3é").to_string(), "\"Nf3é\"");
        assert_eq!(
            Quoted("a\u{1b}[2J\"\u{202e}").to_string(),
            r#""a\u{1b}[2J\"\u{202e}""#
        );
        let long = Quoted(&"x".repeat(1_000_000)).to_string();
        assert_eq!(long, format!("\"{}…\"", "x".repeat(MAX_CHARS)));
        assert!(!Quoted(&"y".repeat(MAX_CHARS)).to_string().contains('…'));
    }
}
