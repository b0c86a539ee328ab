//! A position as a picture.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Escaped, pieces};
use crate::chess::{Color, File, Move, Position, Rank, Role, Square};

/// What a picture measures where nobody says how large it is to be, in pixels for each square.
pub(super) const PIXELS: u32 = 60;

pub(super) const LIGHT: &str = "#efe6d5";
pub(super) const DARK: &str = "#a98a6d";
/// Laid over the squares of the last move.
pub(super) const MARK: &str = "#f2c230";
const CHECK: &str = "#d8322a";

/// A board to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    /// What stands on it.
    pub position: &'a Position,
    /// Who looks at it from below.
    pub seen_from: Color,
    /// The move that led to it, to be marked.
    pub last: Option<Move>,
}

impl Board<'_> {
    /// The picture: eight by eight squares, each one unit wide.
    pub fn svg(&self) -> String {
        let position = self.position;
        let size = 8 * PIXELS;
        let mut names = BTreeSet::new();
        let mut men = String::new();
        for square in position.occupied() {
            if let Some(piece) = position.piece_at(square) {
                let name = pieces::name(piece);
                men += &man(&name, square, self.seen_from, "");
                names.insert(name);
            }
        }
        let mut marks = String::new();
        for square in self.last.iter().flat_map(|mv| [mv.from(), mv.to()]) {
            marks += &mark(square, self.seen_from, MARK, "");
        }
        if position.in_check() {
            let king = position.king(position.turn());
            marks += &mark(king, self.seen_from, CHECK, "");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\" width=\"{size}\" height=\"{size}\" role=\"img\">\
             <title>{}</title><defs>{}</defs>{}{marks}{}{men}</svg>\n",
            Escaped(&description(position)),
            pieces::symbols(&names),
            squares(),
            coordinates(self.seen_from),
        )
    }
}

/// The board in words, for who cannot see it.
fn description(position: &Position) -> String {
    let men = |color: Color| {
        let men = Role::ALL.iter().rev().flat_map(|&role| {
            let letter = match role {
                Role::Pawn => String::new(),
                role => role.char().to_ascii_uppercase().to_string(),
            };
            let squares = position.pieces(color, role).into_iter();
            squares.map(move |square| format!("{letter}{square}"))
        });
        men.collect::<Vec<_>>().join(" ")
    };
    format!(
        "White: {}. Black: {}. {} to move.",
        men(Color::White),
        men(Color::Black),
        position.turn()
    )
}

/// Where a square begins, from the left and from above.
pub(super) fn place(square: Square, seen_from: Color) -> (usize, usize) {
    let (file, rank) = (square.file().index(), square.rank().index());
    match seen_from {
        Color::White => (file, 7 - rank),
        Color::Black => (7 - file, rank),
    }
}

/// A piece on its square, with something inside of its tag.
pub(super) fn man(name: &str, square: Square, seen_from: Color, inside: &str) -> String {
    let (x, y) = place(square, seen_from);
    let rest = closed("use", inside);
    format!("<use href=\"#{name}\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\"{rest}")
}

/// A colour over a square, with something inside of its tag.
pub(super) fn mark(square: Square, seen_from: Color, color: &str, inside: &str) -> String {
    let (x, y) = place(square, seen_from);
    let rest = closed("rect", inside);
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\" fill=\"{color}\" fill-opacity=\"0.5\"{rest}"
    )
}

fn closed(tag: &str, inside: &str) -> String {
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

/// The names of files and ranks, small in the corners of the squares at the edge.
pub(super) fn coordinates(seen_from: Color) -> String {
    let mut text = String::from("<g font-family=\"sans-serif\" font-size=\"0.18\">");
    // On a dark square the light colour, and the other way round.
    let ink = |x: usize, y: usize| if (x + y) % 2 == 1 { LIGHT } else { DARK };
    for file in File::ALL {
        let (x, _) = place(Square::new(file, Rank::First), seen_from);
        let _ = write!(
            text,
            "<text x=\"{x}.92\" y=\"7.95\" text-anchor=\"end\" fill=\"{}\">{file}</text>",
            ink(x, 7)
        );
    }
    for rank in Rank::ALL {
        let (_, y) = place(Square::new(File::A, rank), seen_from);
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
    fn every_piece_stands_on_its_square_from_both_sides() {
        let position = Position::from_fen("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1").expect("a position");
        let draw = |seen_from| {
            Board {
                position: &position,
                seen_from,
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
        // Only what stands on the board is in the file.
        assert_eq!(white.matches("<symbol ").count(), 4);
        assert!(white.contains("<title>White: Ke1 Rh1 e2. Black: Ke8. White to move.</title>"));
    }

    #[test]
    fn the_last_move_and_a_check_are_marked() {
        let before = Position::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").expect("a position");
        let mv = before.parse_san("Rh8+").expect("a move");
        let svg = Board {
            position: &before.after(mv),
            seen_from: Color::White,
            last: Some(mv),
        }
        .svg();
        assert_eq!(svg.matches(MARK).count(), 2);
        assert_eq!(svg.matches(CHECK).count(), 1);
    }
}
