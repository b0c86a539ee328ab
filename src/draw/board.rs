//! Image of a position.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Escaped, pieces};
use crate::chess::{Color, File, Move, Position, Rank, Role, Square};

/// Default size of a square, in pixels.
pub(super) const PIXELS: u32 = 60;

pub(super) const LIGHT: &str = "#efe6d5";
pub(super) const DARK: &str = "#a98a6d";
/// Overlay on the squares of the last move.
pub(super) const HIGHLIGHT: &str = "#f2c230";
const CHECK: &str = "#d8322a";

/// A board to draw.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    pub position: &'a Position,
    /// The side at the bottom.
    pub orientation: Color,
    /// The last move, to be highlighted.
    pub last: Option<Move>,
}

impl Board<'_> {
    /// The image: eight by eight squares, each one unit wide.
    pub fn svg(&self) -> String {
        let position = self.position;
        let size = 8 * PIXELS;
        let mut names = BTreeSet::new();
        let mut piece_elements = String::new();
        for square in position.occupied() {
            if let Some(piece) = position.piece_at(square) {
                let name = pieces::name(piece);
                piece_elements += &piece_element(&name, square, self.orientation, "");
                names.insert(name);
            }
        }
        let mut highlights = String::new();
        for square in self.last.into_iter().flat_map(Move::squares) {
            highlights += &highlight(square, self.orientation, HIGHLIGHT, "");
        }
        if position.in_check() {
            let king = position.king(position.turn());
            highlights += &highlight(king, self.orientation, CHECK, "");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\" width=\"{size}\" height=\"{size}\" role=\"img\">\
             <title>{}</title><defs>{}</defs>{}{highlights}{}{piece_elements}</svg>\n",
            Escaped(&description(position)),
            pieces::symbols(&names),
            squares(),
            coordinates(self.orientation),
        )
    }
}

/// The board in words, for accessibility.
fn description(position: &Position) -> String {
    let piece_elements = |color: Color| {
        let piece_elements = Role::ALL.iter().rev().flat_map(|&role| {
            let letter = match role {
                Role::Pawn => String::new(),
                role => role.char().to_ascii_uppercase().to_string(),
            };
            let squares = position.pieces(color, role).into_iter();
            squares.map(move |square| format!("{letter}{square}"))
        });
        piece_elements.collect::<Vec<_>>().join(" ")
    };
    format!(
        "White: {}. Black: {}. {} to move.",
        piece_elements(Color::White),
        piece_elements(Color::Black),
        position.turn()
    )
}

/// Coordinates of a square's top left corner, from the left and from the top.
pub(super) fn square_origin(square: Square, orientation: Color) -> (usize, usize) {
    let (file, rank) = (square.file().index(), square.rank().index());
    match orientation {
        Color::White => (file, 7 - rank),
        Color::Black => (7 - file, rank),
    }
}

/// A piece on its square, with child elements.
pub(super) fn piece_element(
    name: &str,
    square: Square,
    orientation: Color,
    inside: &str,
) -> String {
    let (x, y) = square_origin(square, orientation);
    let rest = close_tag("use", inside);
    format!("<use href=\"#{name}\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\"{rest}")
}

/// A highlighted square, with child elements.
pub(super) fn highlight(square: Square, orientation: Color, color: &str, inside: &str) -> String {
    let (x, y) = square_origin(square, orientation);
    let rest = close_tag("rect", inside);
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\" fill=\"{color}\" fill-opacity=\"0.5\"{rest}"
    )
}

fn close_tag(tag: &str, inside: &str) -> String {
    match inside {
        "" => "/>".to_owned(),
        inside => format!(">{inside}</{tag}>"),
    }
}

/// The empty board.
pub(super) fn squares() -> String {
    let mut dark = String::new();
    for y in 0..8 {
        for x in (0..8).filter(|x| (x + y) % 2 == 1) {
            let _ = write!(dark, "M{x} {y}h1v1h-1z");
        }
    }
    format!(
        "<g shape-rendering=\"crispEdges\"><path fill=\"{LIGHT}\" d=\"M0 0h8v8h-8z\"/><path fill=\"{DARK}\" d=\"{dark}\"/></g>"
    )
}

/// File and rank labels in the corners of the edge squares.
pub(super) fn coordinates(orientation: Color) -> String {
    let mut text = String::from("<g font-family=\"sans-serif\" font-size=\"0.18\">");
    // The light color on dark squares, and vice versa.
    let ink = |x: usize, y: usize| if (x + y) % 2 == 1 { LIGHT } else { DARK };
    for file in File::ALL {
        let (x, _) = square_origin(Square::new(file, Rank::First), orientation);
        let _ = write!(
            text,
            "<text x=\"{x}.92\" y=\"7.95\" text-anchor=\"end\" fill=\"{}\">{file}</text>",
            ink(x, 7)
        );
    }
    for rank in Rank::ALL {
        let (_, y) = square_origin(Square::new(File::A, rank), orientation);
        let _ = write!(
            text,
            "<text x=\"0.05\" y=\"{y}.2\" fill=\"{}\">{rank}</text>",
            ink(0, y)
        );
    }
    text + "</g>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn svg_places_pieces_for_both_orientations() {
        let position = Position::from_fen("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1").expect("a position");
        let draw = |orientation| {
            Board {
                position: &position,
                orientation,
                last: None,
            }
            .svg()
        };
        let (white, black) = (draw(Color::White), draw(Color::Black));
        assert!(
            white.contains("<use href=\"#wR\" x=\"7\" y=\"7\" "),
            "{white}"
        );
        assert!(
            black.contains("<use href=\"#wR\" x=\"0\" y=\"0\" "),
            "{black}"
        );
        assert!(white.contains("<use href=\"#bK\" x=\"4\" y=\"0\" "));
        assert!(black.contains("<use href=\"#bK\" x=\"3\" y=\"7\" "));
        assert_eq!(white.matches("<use ").count(), 4);
        // Only pieces on the board are in the file.
        assert_eq!(white.matches("<symbol ").count(), 4);
        assert!(white.contains("<title>White: Ke1 Rh1 e2. Black: Ke8. White to move.</title>"));
    }

    #[test]
    fn svg_highlights_last_move_and_check() {
        let before = Position::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").expect("a position");
        let mv = before.parse_san("Rh8+").expect("a move");
        let svg = Board {
            position: &before.after(mv),
            orientation: Color::White,
            last: Some(mv),
        }
        .svg();
        assert_eq!(svg.matches(HIGHLIGHT).count(), 2);
        assert_eq!(svg.matches(CHECK).count(), 1);
    }
}
