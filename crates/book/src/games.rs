//! Move statistics of games: frequency and score.

use std::collections::HashMap;

use super::Record;
use knightwatch_chess::pgn::{self, Outcome};
use knightwatch_chess::{Color, Position, Variant};

/// Selection of games and moves for a book, and their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameOptions {
    /// The variant of the book: lines begin at its start position, and games of others are ignored.
    pub variant: Variant,
    /// Moves that occur in fewer games are ignored.
    pub min_games: u32,
    /// Moves after this many plies are ignored, in games and in lines. By default, 40 plies of a game and all of a line
    /// are used.
    pub max_ply: Option<u32>,
    /// Games with a player rated lower, or not at all, are ignored; 0 accepts all.
    pub min_rating: u32,
    /// Whether moves of strong players weigh more: the weight doubles for each 200 points above 1600.
    pub by_rating: bool,
}

impl Default for GameOptions {
    fn default() -> GameOptions {
        GameOptions {
            variant: Variant::Standard,
            min_games: 3,
            max_ply: None,
            min_rating: 0,
            by_rating: false,
        }
    }
}

/// Plies of a game that are used by default.
const DEFAULT_MAX_PLY: u32 = 40;

/// Ratings above this increase the weight of a player's moves.
const BASE_RATING: u32 = 1600;

/// Statistics of a move.
#[derive(Clone, Copy, Debug, Default)]
struct MoveStats {
    games: u32,
    points: u64,
}

/// Collects the moves of games. Takes 30 to 60 bytes per distinct move of a position.
#[derive(Debug, Default)]
pub(super) struct Games {
    /// By position key and move as encoded in a [`Record`].
    moves: HashMap<(u64, u16), MoveStats>,
    games: u64,
}

impl Games {
    pub(super) fn games(&self) -> u64 {
        self.games
    }

    /// Adds a game. As in Polyglot, a move gets two points if its side won, and one for a draw or an unknown result.
    /// Drops of pawns, which a record cannot express, are left out.
    pub(super) fn add(&mut self, record: &pgn::Record, options: &GameOptions) {
        let rating = |tag| {
            record
                .tags
                .get(tag)
                .and_then(|text| text.trim().parse().ok())
        };
        let ratings = [rating("WhiteElo"), rating("BlackElo")];
        let variant = record.game.initial().variant();
        if variant != options.variant
            || ratings
                .iter()
                .any(|rating| rating.unwrap_or(0) < options.min_rating)
        {
            return;
        }
        let points = |color: Color| {
            let result = match record.outcome {
                Outcome::Win(winner) if winner == color => 2,
                Outcome::Win(_) => 0,
                Outcome::Draw | Outcome::Unknown => 1,
            };
            match ratings[color.index()] {
                Some(rating) if options.by_rating => result * rating_weight(rating),
                _ => result,
            }
        };
        let points = [points(Color::White), points(Color::Black)];
        let mut position: Position = record.game.initial().clone();
        let max_ply = options.max_ply.unwrap_or(DEFAULT_MAX_PLY);
        for &mv in record.game.moves().iter().take(max_ply as usize) {
            if let Some(encoded) = Record::write_move(mv) {
                let stats = self
                    .moves
                    .entry((position.book_key(), encoded))
                    .or_default();
                stats.games = stats.games.saturating_add(1);
                let points = points[position.turn().index()];
                stats.points = stats.points.saturating_add(points);
            }
            position.play(mv);
        }
        self.games += 1;
    }

    /// Moves that occur often enough and scored at all: key, move and points.
    pub(super) fn frequent_moves(&self, min_games: u32) -> impl Iterator<Item = (u64, u16, u64)> {
        let stats = self.moves.iter();
        stats
            .filter(move |(_, stats)| stats.games >= min_games && stats.points > 0)
            .map(|(&(key, mv), stats)| (key, mv, stats.points))
    }
}

/// Weight of a player with this rating: 1 up to 1600, 2 at 1800, 4 at 2000.
fn rating_weight(rating: u32) -> u64 {
    // No rating is above 4000; a typo must not outweigh all other games.
    let above = rating.clamp(BASE_RATING, 4000) - BASE_RATING;
    (f64::from(above) / 200.0).exp2().round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Book, Builder};

    const GAMES: &str = "\
        [WhiteElo \"2000\"]\n[BlackElo \"1800\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n\
        [WhiteElo \"1500\"]\n[BlackElo \"2100\"]\n[Result \"1/2-1/2\"]\n\n1. e4 e5 2. Nc3 1/2-1/2\n\n\
        [WhiteElo \"1700\"]\n[Result \"0-1\"]\n\n1. d4 d5 0-1\n";

    /// The moves of the position after a line, with their weights.
    fn weights(options: GameOptions, line: &str) -> Vec<(String, u16)> {
        let mut builder = Builder::with_games(options);
        let mut reader = pgn::Reader::new();
        let mut text = GAMES.as_bytes();
        while let Some(record) = reader.feed(&mut text) {
            builder.add_game(&record.unwrap());
        }
        assert_eq!(builder.games(), 3 - u64::from(options.min_rating > 0) * 2);
        let book = Book::from_bytes("games", builder.finish().unwrap()).unwrap();
        let mut position = Position::startpos();
        for san in line.split_whitespace() {
            position.play(position.parse_san(san).unwrap());
        }
        let entries = book.entries(&position).into_iter();
        entries
            .map(|entry| (position.san(entry.mv), entry.weight))
            .collect()
    }

    fn options() -> GameOptions {
        GameOptions {
            min_games: 1,
            ..GameOptions::default()
        }
    }

    #[test]
    fn weights_of_games_count_wins_twice() {
        assert_eq!(weights(options(), ""), [("e4".to_owned(), 3)]);
        assert_eq!(weights(options(), "e4"), [("e5".to_owned(), 1)]);
        assert_eq!(weights(options(), "d4"), [("d5".to_owned(), 2)]);
        let third = [("Nf3".to_owned(), 2), ("Nc3".to_owned(), 1)];
        assert_eq!(weights(options(), "e4 e5"), third);
    }

    #[test]
    fn weights_ignore_rare_and_late_moves() {
        let twice = GameOptions {
            min_games: 2,
            ..options()
        };
        assert_eq!(weights(twice, "e4"), [("e5".to_owned(), 1)]);
        assert_eq!(weights(twice, "e4 e5"), []);
        assert_eq!(weights(twice, "d4"), []);
        let short = GameOptions {
            max_ply: Some(2),
            ..options()
        };
        assert_eq!(weights(short, "e4"), [("e5".to_owned(), 1)]);
        assert_eq!(weights(short, "e4 e5"), []);
    }

    #[test]
    fn weights_with_ratings_select_and_scale() {
        let strong = GameOptions {
            min_rating: 1800,
            ..options()
        };
        assert_eq!(weights(strong, "e4 e5"), [("Nf3".to_owned(), 2)]);
        let weighed = GameOptions {
            by_rating: true,
            ..options()
        };
        // 2000 counts four times, 1500 once.
        assert_eq!(weights(weighed, ""), [("e4".to_owned(), 9)]);
        // 2100 counts 5.66 times; the player of d5 has no rating.
        assert_eq!(weights(weighed, "e4"), [("e5".to_owned(), 6)]);
        assert_eq!(weights(weighed, "d4"), [("d5".to_owned(), 2)]);
        assert_eq!(rating_weight(u32::MAX), 4096);
    }
}
