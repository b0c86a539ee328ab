//! Self-contained SVG images of positions, games and graphs.
//!
//! They use only attributes and SMIL, no scripts or styles, so that they work under any content security policy.

mod animation;
mod board;
mod command;
mod graph;
mod pieces;

pub use animation::Animation;
pub use board::Board;
pub use command::{RenderError, RenderOptions, render_command};
pub use graph::Graph;
pub use pieces::PIECES;

use std::fmt;

/// Escapes text for element content and attributes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // XML does not allow control characters.
            letter if letter.is_control() => Ok(()),
            letter => write!(f, "{letter}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_has_no_markup() {
        let text = Escaped("<b a=\"1\">&\u{1b}[2J\n").to_string();
        assert_eq!(text, "&lt;b a=&quot;1&quot;&gt;&amp;[2J");
    }
}
