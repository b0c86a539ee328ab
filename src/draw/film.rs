//! A whole game as one picture that moves.
//!
//! Every stay of a piece on a square is an element of its own, which is seen from one ply to another: so castling, taking
//! in passing and promotion need no rules of their own. All of them run by the same time line, again and again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::board::{self, MARK, PIXELS};
use super::{Escaped, pieces};
use crate::chess::{Color, Game, Piece, Position, Square};

/// How long a ply is seen, in seconds.
const PLY: f64 = 0.8;

/// How many plies longer the last one is seen.
const REST: usize = 4;

/// The height of a line with a name, in squares.
const LINE: f64 = 0.5;

/// A game to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Film<'a> {
    /// The game with its past.
    pub game: &'a Game,
    /// Who looks at it from below.
    pub seen_from: Color,
    /// Who had White, and who Black.
    pub names: [&'a str; 2],
    /// How it ended; nothing if it did not.
    pub result: &'a str,
}

/// A piece on a square from one ply until another.
struct Stay {
    piece: Piece,
    square: Square,
    from: usize,
    until: usize,
}

impl Film<'_> {
    /// The picture: the board between the names of the players.
    pub fn svg(&self) -> String {
        let plies = self.game.moves().len();
        let ends = plies + 1 + REST;
        let mut names = BTreeSet::new();
        let (mut men, mut marks) = (Shelf::default(), Shelf::default());
        for stay in stays(self.game) {
            let name = pieces::name(stay.piece);
            let until = if stay.until > plies { ends } else { stay.until };
            let seen = seen(stay.from, until, ends);
            let man = board::man(&name, stay.square, self.seen_from, &seen);
            men.put(man, until == ends);
            names.insert(name);
        }
        for (ply, mv) in (1..).zip(self.game.moves()) {
            let until = if ply == plies { ends } else { ply + 1 };
            for square in [mv.from(), mv.to()] {
                let mark = board::mark(square, self.seen_from, MARK, &seen(ply, until, ends));
                marks.put(mark, until == ends);
            }
        }
        let (width, height) = (8 * PIXELS, (f64::from(PIXELS) * (8.0 + 2.0 * LINE)) as u32);
        let title = format!(
            "{} against {} {}",
            self.names[0], self.names[1], self.result
        );
        let title = Escaped(title.trim_end());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} 8 {}\" width=\"{width}\" height=\"{height}\" role=\"img\">\
             <title>{title}</title><defs>{}</defs>{}{}{marks}{}{men}</svg>\n",
            -LINE,
            8.0 + 2.0 * LINE,
            pieces::symbols(&names),
            self.captions(),
            board::squares(),
            board::coordinates(self.seen_from),
            marks = marks.svg(),
            men = men.svg(),
        )
    }

    fn captions(&self) -> String {
        let [white, black] = self.names;
        let (above, below) = match self.seen_from {
            Color::White => (black, white),
            Color::Black => (white, black),
        };
        let mut text = format!(
            "<path fill=\"#ffffff\" d=\"M0 {}h8v{}h-8z\"/><g font-family=\"sans-serif\" font-size=\"0.3\" fill=\"#202020\">",
            -LINE,
            8.0 + 2.0 * LINE
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

/// Elements of one kind: who shows no motion shows those that are seen at the end.
#[derive(Default)]
struct Shelf {
    last: String,
    earlier: String,
}

impl Shelf {
    fn put(&mut self, element: String, is_last: bool) {
        let shelf = match is_last {
            true => &mut self.last,
            false => &mut self.earlier,
        };
        *shelf += &element;
    }

    fn svg(&self) -> String {
        let Self { last, earlier } = self;
        format!("<g visibility=\"hidden\">{earlier}</g>{last}")
    }
}

/// Lets an element be seen from one ply until another, of so many in all.
fn seen(from: usize, until: usize, ends: usize) -> String {
    if from == 0 && until == ends {
        return String::new();
    }
    let (mut values, mut times) = (String::new(), String::new());
    let mut add = |value: &str, at: usize| {
        let gap = if values.is_empty() { "" } else { ";" };
        let _ = write!(values, "{gap}{value}");
        // No more digits than a ply of the longest game needs.
        let time = format!("{:.5}", at as f64 / ends as f64);
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
    if until < ends {
        add("hidden", until);
    }
    format!(
        "<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{:.1}s\" repeatCount=\"indefinite\" \
         values=\"{values}\" keyTimes=\"{times}\"/>",
        ends as f64 * PLY
    )
}

/// All stays, in the order in which they end.
fn stays(game: &Game) -> Vec<Stay> {
    let mut position: Position = game.initial().clone();
    let mut standing: Vec<Option<(Piece, usize)>> = Square::all()
        .map(|square| position.piece_at(square).map(|piece| (piece, 0)))
        .collect();
    let mut stays = Vec::new();
    let mut end = |square: Square, stood: Option<(Piece, usize)>, until| {
        if let Some((piece, from)) = stood {
            stays.push(Stay {
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
            let stands = &mut standing[square.index()];
            let now = position.piece_at(square);
            // The same piece may have been taken by its like.
            let arrived = mv.to() == square && !mv.is_castle();
            if arrived || stands.map(|(piece, _)| piece) != now {
                end(square, *stands, ply);
                *stands = now.map(|piece| (piece, ply));
            }
        }
    }
    let last = game.moves().len() + 1;
    for (square, stands) in Square::all().zip(standing) {
        end(square, stands, last);
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

    /// What is to be seen after so many plies, put together from the stays.
    fn board_after(game: &Game, ply: usize) -> Vec<(Square, Piece)> {
        let stays = stays(game);
        let on = stays
            .iter()
            .filter(|stay| (stay.from..stay.until).contains(&ply));
        let mut men: Vec<_> = on.map(|stay| (stay.square, stay.piece)).collect();
        men.sort_by_key(|(square, _)| *square);
        men
    }

    #[test]
    fn at_every_ply_the_board_is_right() {
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
                let men = Square::all()
                    .filter_map(|square| Some((square, position.piece_at(square)?)))
                    .collect::<Vec<_>>();
                assert_eq!(board_after(&game, ply), men, "ply {ply}");
                if let Some(mv) = game.moves().get(ply) {
                    position.play(*mv);
                }
            }
        }
    }

    #[test]
    fn who_shows_no_motion_shows_the_last_position() {
        let game = game("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1 e8e7");
        let film = Film {
            game: &game,
            seen_from: Color::White,
            names: ["Anna", "Bert"],
            result: "*",
        };
        let svg = film.svg();
        let mut seen = String::new();
        let mut rest = svg.as_str();
        while let Some((before, hidden)) = rest.split_once("<g visibility=\"hidden\">") {
            seen += before;
            let (hidden, after) = hidden.split_once("</g>").expect("its end");
            // Each of them has its time.
            let elements = hidden.matches("<use ").count() + hidden.matches("<rect ").count();
            assert_eq!(elements, hidden.matches("<animate ").count());
            assert_eq!(elements, hidden.matches("visible;hidden").count());
            rest = after;
        }
        seen += rest;
        // Two kings, a rook, and the squares of the last move.
        assert_eq!(seen.matches("<use ").count(), 3);
        assert_eq!(seen.matches("fill-opacity").count(), 2);
        assert!(seen.contains("<use href=\"#bK\" x=\"4\" y=\"1\""));
    }

    #[test]
    fn all_run_by_one_time_line() {
        let game = game("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1 e8e7");
        let film = Film {
            game: &game,
            seen_from: Color::White,
            names: ["Anna", "<Bert>"],
            result: "1-0",
        };
        let svg = film.svg();
        assert_eq!(
            svg.matches("dur=\"").count(),
            svg.matches("dur=\"5.6s\"").count()
        );
        assert!(svg.contains("&lt;Bert&gt;") && !svg.contains("<Bert>"));
        assert!(svg.contains("values=\"visible;hidden\" keyTimes=\"0;0.14286\""));
    }
}
