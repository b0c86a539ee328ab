//! Boards, games and graphs as SVG: files that are whole by themselves, for a browser, a chat or a printed page.
//!
//! Only attributes and SMIL, neither scripts nor styles, so that they look the same under any content policy.

mod board;
mod command;
mod film;
mod graph;
mod pieces;

pub use board::Board;
pub use command::{RenderError, RenderOptions, render_command};
pub use film::Film;
pub use graph::{Graph, winning_chance};
pub use pieces::PIECES;

use std::fmt;

/// Text between tags and in attributes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // XML has no control characters.
            letter if letter.is_control() => Ok(()),
            letter => write!(f, "{letter}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_text() {
        let text = Escaped("<b a=\"1\">&\u{1b}[2J\n").to_string();
        assert_eq!(text, "&lt;b a=&quot;1&quot;&gt;&amp;[2J");
    }
}
