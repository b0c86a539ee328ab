//! A whole game as an animated image.
//!
//! Every stay of a piece on a square is an element that is visible from one ply to another, so that castling, en
//! passant and promotion need no special treatment. All elements share one repeating timeline.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::board::{self, HIGHLIGHT, PIXELS};
use super::{Escaped, pieces};
use crate::chess::{Color, Game, Piece, Position, Square};

/// Seconds per ply.
const SECONDS_PER_PLY: f64 = 0.8;

/// Extra plies for which the final position is shown.
const FINAL_PLIES: usize = 4;

/// Height of a caption line, in squares.
const CAPTION_HEIGHT: f64 = 0.5;

/// An animation of a game.
#[derive(Clone, Copy, Debug)]
pub struct Animation<'a> {
    pub game: &'a Game,
    /// The side at the bottom.
    pub orientation: Color,
    /// Names of White and Black.
    pub names: [&'a str; 2],
    /// The result, or empty.
    pub result: &'a str,
}

/// A piece on a square from one ply to another.
struct PieceStay {
    piece: Piece,
    square: Square,
    from: usize,
    until: usize,
}

impl Animation<'_> {
    /// The image: the board between the names of the players.
    pub fn svg(&self) -> String {
        let plies = self.game.moves().len();
        let end = plies + 1 + FINAL_PLIES;
        let mut names = BTreeSet::new();
        let (mut piece_elements, mut highlights) = (Layer::default(), Layer::default());
        for stay in stays(self.game) {
            let name = pieces::name(stay.piece);
            let until = if stay.until > plies { end } else { stay.until };
            let visible = visible(stay.from, until, end);
            let piece_element =
                board::piece_element(&name, stay.square, self.orientation, &visible);
            piece_elements.push(piece_element, until == end);
            names.insert(name);
        }
        for (ply, mv) in (1..).zip(self.game.moves()) {
            let until = if ply == plies { end } else { ply + 1 };
            for square in mv.squares() {
                let highlight = board::highlight(
                    square,
                    self.orientation,
                    HIGHLIGHT,
                    &visible(ply, until, end),
                );
                highlights.push(highlight, until == end);
            }
        }
        let (width, height) = (
            8 * PIXELS,
            (f64::from(PIXELS) * (8.0 + 2.0 * CAPTION_HEIGHT)) as u32,
        );
        let title = format!(
            "{} against {} {}",
            self.names[0], self.names[1], self.result
        );
        let title = Escaped(title.trim_end());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} 8 {}\" width=\"{width}\" height=\"{height}\" role=\"img\">\
             <title>{title}</title><defs>{}</defs>{}{}{highlights}{}{piece_elements}</svg>\n",
            -CAPTION_HEIGHT,
            8.0 + 2.0 * CAPTION_HEIGHT,
            pieces::symbols(&names),
            self.captions(),
            board::squares(),
            board::coordinates(self.orientation),
            highlights = highlights.svg(),
            piece_elements = piece_elements.svg(),
        )
    }

    fn captions(&self) -> String {
        let [white, black] = self.names;
        let (above, below) = match self.orientation {
            Color::White => (black, white),
            Color::Black => (white, black),
        };
        let mut text = format!(
            "<path fill=\"#ffffff\" d=\"M0 {}h8v{}h-8z\"/><g font-family=\"sans-serif\" font-size=\"0.3\" fill=\"#202020\">",
            -CAPTION_HEIGHT,
            8.0 + 2.0 * CAPTION_HEIGHT
        );
        let _ = write!(
            text,
            "<text x=\"0.1\" y=\"-0.14\">{}</text><text x=\"0.1\" y=\"8.36\">{}</text>\
             <text x=\"7.9\" y=\"8.36\" text-anchor=\"end\">{}</text></g>",
            Escaped(above),
            Escaped(below),
            Escaped(self.result)
        );
        text
    }
}

/// Elements of one kind. Viewers without animation show those visible at the end.
#[derive(Default)]
struct Layer {
    last: String,
    earlier: String,
}

impl Layer {
    fn push(&mut self, element: String, is_last: bool) {
        let layer = match is_last {
            true => &mut self.last,
            false => &mut self.earlier,
        };
        *layer += &element;
    }

    fn svg(&self) -> String {
        let Self { last, earlier } = self;
        format!("<g visibility=\"hidden\">{earlier}</g>{last}")
    }
}

/// The animation that makes an element visible from one ply to another; `end` is the total number of plies.
fn visible(from: usize, until: usize, end: usize) -> String {
    if from == 0 && until == end {
        return String::new();
    }
    let (mut values, mut times) = (String::new(), String::new());
    let mut add = |value: &str, at: usize| {
        let gap = if values.is_empty() { "" } else { ";" };
        let _ = write!(values, "{gap}{value}");
        // Enough digits to separate the plies of the longest game.
        let time = format!("{:.5}", at as f64 / end as f64);
        let _ = write!(
            times,
            "{gap}{}",
            time.trim_end_matches('0').trim_end_matches('.')
        );
    };
    if from > 0 {
        add("hidden", 0);
    }
    add("visible", from);
    if until < end {
        add("hidden", until);
    }
    format!(
        "<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{:.1}s\" repeatCount=\"indefinite\" \
         values=\"{values}\" keyTimes=\"{times}\"/>",
        end as f64 * SECONDS_PER_PLY
    )
}

/// All piece stays, in the order in which they end.
fn stays(game: &Game) -> Vec<PieceStay> {
    let mut position: Position = game.initial().clone();
    let mut occupants: Vec<Option<(Piece, usize)>> = Square::all()
        .map(|square| position.piece_at(square).map(|piece| (piece, 0)))
        .collect();
    let mut stays = Vec::new();
    let mut end = |square: Square, occupant: Option<(Piece, usize)>, until| {
        if let Some((piece, from)) = occupant {
            stays.push(PieceStay {
                piece,
                square,
                from,
                until,
            });
        }
    };
    for (ply, &mv) in (1..).zip(game.moves()) {
        position.play(mv);
        for square in Square::all() {
            let current = &mut occupants[square.index()];
            let now = position.piece_at(square);
            // The piece may have been captured by an equal one.
            let arrived = mv.to() == square && !mv.is_castle();
            if arrived || current.map(|(piece, _)| piece) != now {
                end(square, *current, ply);
                *current = now.map(|piece| (piece, ply));
            }
        }
    }
    let last = game.moves().len() + 1;
    for (square, current) in Square::all().zip(occupants) {
        end(square, current, last);
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(fen: &str, moves: &str) -> Game {
        let position = Position::from_fen(fen).expect("a position");
        Game::from_moves(position, moves.split(' ')).expect("legal moves")
    }

    /// The board after `ply` plies, put together from the stays.
    fn board_after(game: &Game, ply: usize) -> Vec<(Square, Piece)> {
        let stays = stays(game);
        let on = stays
            .iter()
            .filter(|stay| (stay.from..stay.until).contains(&ply));
        let mut piece_elements: Vec<_> = on.map(|stay| (stay.square, stay.piece)).collect();
        piece_elements.sort_by_key(|(square, _)| *square);
        piece_elements
    }

    #[test]
    fn stays_reproduce_the_board_at_every_ply() {
        let games = [
            game(
                "r3k2r/pP4pp/8/3pP3/8/8/PP5P/R3K2R w KQkq d6 0 1",
                "e5d6 e8g8 b7a8q f8a8 e1c1 g7g5 h2h4 g5h4 h1h4",
            ),
            game("4k3/8/8/8/8/8/8/5KR1 w G - 0 1", "f1g1 e8d7 f1f7 d7c6"),
            game("4k3/8/8/8/8/4r3/4R3/4K3 w - - 0 1", "e2e3 e8d7"),
        ];
        for game in games {
            let mut position = game.initial().clone();
            for ply in 0..=game.moves().len() {
                let piece_elements = Square::all()
                    .filter_map(|square| Some((square, position.piece_at(square)?)))
                    .collect::<Vec<_>>();
                assert_eq!(board_after(&game, ply), piece_elements, "ply {ply}");
                if let Some(mv) = game.moves().get(ply) {
                    position.play(*mv);
                }
            }
        }
    }

    #[test]
    fn svg_without_animation_shows_final_position() {
        let game = game("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1 e8e7");
        let animation = Animation {
            game: &game,
            orientation: Color::White,
            names: ["Anna", "Bert"],
            result: "*",
        };
        let svg = animation.svg();
        let mut visible = String::new();
        let mut rest = svg.as_str();
        while let Some((before, hidden)) = rest.split_once("<g visibility=\"hidden\">") {
            visible += before;
            let (hidden, after) = hidden.split_once("</g>").expect("its end");
            // Each of them is animated.
            let elements = hidden.matches("<use ").count() + hidden.matches("<rect ").count();
            assert_eq!(elements, hidden.matches("<animate ").count());
            assert_eq!(elements, hidden.matches("visible;hidden").count());
            rest = after;
        }
        visible += rest;
        // Two kings, a rook, and the squares of the last move.
        assert_eq!(visible.matches("<use ").count(), 3);
        assert_eq!(visible.matches("fill-opacity").count(), 2);
        assert!(visible.contains("<use href=\"#bK\" x=\"4\" y=\"1\""));
    }

    #[test]
    fn svg_elements_share_one_timeline() {
        let game = game("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1 e8e7");
        let animation = Animation {
            game: &game,
            orientation: Color::White,
            names: ["Anna", "<Bert>"],
            result: "1-0",
        };
        let svg = animation.svg();
        assert_eq!(
            svg.matches("dur=\"").count(),
            svg.matches("dur=\"5.6s\"").count()
        );
        assert!(svg.contains("&lt;Bert&gt;") && !svg.contains("<Bert>"));
        assert!(svg.contains("values=\"visible;hidden\" keyTimes=\"0;0.14286\""));
    }
}
