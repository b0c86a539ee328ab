//! Piece images, shared by the web page and all SVG images.

use crate::chess::{Color, Piece};

/// The white pieces as `<symbol id="wK" viewBox="0 0 45 45">` and so on. `data-black` lists the replacements that
/// make black pieces: each color and transformation, followed by what replaces it.
pub const PIECES: &str = include_str!("pieces.svg");

/// The symbol name of a piece, such as `wK`.
pub(super) fn name(piece: Piece) -> String {
    let color = match piece.color {
        Color::White => 'w',
        Color::Black => 'b',
    };
    let role = piece.role.char().to_ascii_uppercase();
    format!("{color}{role}")
}

/// The symbols with these names, for a standalone file.
pub(super) fn symbols<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().filter_map(|name| symbol(name)).collect()
}

fn symbol(name: &str) -> Option<String> {
    const END: &str = "</symbol>";
    let (color, role) = name.split_at_checked(1)?;
    let start = PIECES.find(&format!("<symbol id=\"w{role}\""))?;
    let length = PIECES[start..].find(END)?;
    let white = &PIECES[start..start + length + END.len()];
    match color {
        "w" => Some(white.to_owned()),
        "b" => Some(blacken(white)),
        _ => None,
    }
}

fn blacken(white: &str) -> String {
    let (_, colors) = PIECES
        .split_once("data-black=\"")
        .expect("the drawing has the colors");
    let colors = colors.split('"').next().unwrap_or_default();
    let colors: Vec<&str> = colors.split(';').collect();
    let named = white.replace("id=\"w", "id=\"b");
    colors
        .chunks_exact(2)
        .fold(named, |symbol, pair| symbol.replace(pair[0], pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Role;

    #[test]
    fn symbols_of_all_pieces_are_self_contained() {
        for color in Color::ALL {
            for role in Role::ALL {
                let name = name(Piece::new(color, role));
                let symbol = symbol(&name).unwrap_or_else(|| panic!("{name} is not drawn"));
                assert!(symbol.contains("viewBox=\"0 0 45 45\""), "{name}");
                assert_eq!(symbol.matches("<symbol").count(), 1, "{name}");
                for foreign in ["class=", "style=", "url(", "href", "<script", "<style"] {
                    assert!(!symbol.contains(foreign), "{name} has {foreign}");
                }
                assert_eq!(symbol.matches("id=").count(), 1, "{name} has ids inside");
                let paints = |paint| symbol.contains(&format!("fill=\"{paint}\""));
                assert_eq!(paints("#fdfaf2"), color == Color::White, "{name}");
                assert_eq!(paints("#34312e"), color == Color::Black, "{name}");
                // The bishop's slit and the knight's eye must be visible.
                let has_detail = matches!(role, Role::Bishop | Role::Knight);
                let light = symbol.contains("#e6dfd0");
                assert_eq!(light, has_detail && color == Color::Black, "{name}");
                let mirrored = symbol.contains("matrix(-1 0 0 1 45 0)");
                let drawn_alike = color == Color::White || role == Role::Knight;
                assert_eq!(mirrored, !drawn_alike, "{name}");
            }
        }
    }
}
