//! Test positions of EPD suites.

use anyhow::{Context, bail, ensure};

use knightwatch_chess::{Epd, Move, Position};
use knightwatch_engine::{Score, SearchInfo};
use knightwatch_util::text;

/// A test position and its solution.
#[derive(Clone, Debug)]
pub struct TestPosition {
    /// The `id`, or empty.
    pub name: String,
    /// The position.
    pub position: Position,
    /// `bm`: the best moves, if given.
    best: Vec<Move>,
    /// `am`: moves to avoid.
    avoid: Vec<Move>,
    /// `dm`: mate in this many moves.
    pub mate: Option<u32>,
    /// Points of moves, as in the Strategic Test Suite.
    points: Vec<(Move, u32)>,
}

impl TestPosition {
    /// Parses a line.
    ///
    /// # Errors
    /// If the line is not EPD, contains an illegal move, or has no solution.
    pub fn parse(line: &str) -> anyhow::Result<TestPosition> {
        let epd = Epd::parse(line)?;
        let position = epd.position.clone();
        ensure!(position.has_legal_move(), "the position has no legal moves");
        let moves = |opcode| -> anyhow::Result<Vec<Move>> {
            let words = epd.operands(opcode).unwrap_or_default();
            words
                .iter()
                .map(|word| read_move(&position, word))
                .collect()
        };
        let mate = match epd.operands("dm") {
            None => None,
            Some([number]) => Some(
                number
                    .parse()
                    .ok()
                    .filter(|moves| *moves > 0)
                    .with_context(|| format!("dm must be a number of moves, not \"{number}\""))?,
            ),
            Some(_) => bail!("dm must be a single number of moves"),
        };
        let test = TestPosition {
            name: text::clean(&epd.operands("id").unwrap_or_default().join(" ")),
            best: moves("bm")?,
            avoid: moves("am")?,
            mate,
            points: points(&epd)?,
            position,
        };
        let has_solution = mate.is_some()
            || [&test.best, &test.avoid]
                .iter()
                .any(|moves| !moves.is_empty())
            || !test.points.is_empty();
        ensure!(
            has_solution,
            "no solution: expected bm, am, dm, or points like c0 \"e4=10, d4=7\""
        );
        Ok(test)
    }

    /// Returns whether the result satisfies all of `bm`, `am` and `dm`. With points only, it must have the most points.
    pub fn is_solved_by(&self, info: &SearchInfo) -> bool {
        let Some(mv) = info.mv else { return false };
        let mates = |moves: u32| match info.score {
            Score::Mate(found) => found > 0 && found.unsigned_abs() <= moves,
            Score::Centipawns(_) => false,
        };
        let only_points = self.best.is_empty() && self.avoid.is_empty() && self.mate.is_none();
        (self.best.is_empty() || self.best.contains(&mv))
            && !self.avoid.contains(&mv)
            && self.mate.is_none_or(mates)
            && (!only_points || self.points_for(Some(mv)) == self.max_points())
    }

    /// The points of a move.
    pub fn points_for(&self, mv: Option<Move>) -> u32 {
        let found = self.points.iter().find(|(good, _)| Some(*good) == mv);
        found.map_or(0, |(_, points)| *points)
    }

    /// The points of the best move; 0 if there are none.
    pub fn max_points(&self) -> u32 {
        self.points
            .iter()
            .map(|(_, points)| *points)
            .max()
            .unwrap_or(0)
    }

    /// The solution, for display.
    pub fn solution(&self) -> String {
        let list = |moves: &[Move]| {
            let words: Vec<String> = moves.iter().map(|&mv| self.position.san(mv)).collect();
            words.join(" or ")
        };
        if !self.best.is_empty() {
            list(&self.best)
        } else if let Some(moves) = self.mate {
            format!("mate in {moves}")
        } else if !self.avoid.is_empty() {
            format!("not {}", list(&self.avoid))
        } else {
            let max = self.max_points();
            let best = self.points.iter().filter(|(_, points)| *points == max);
            list(&best.map(|(mv, _)| *mv).collect::<Vec<_>>())
        }
    }
}

fn read_move(position: &Position, word: &str) -> anyhow::Result<Move> {
    let plain = word.trim_end_matches(['!', '?']);
    position
        .parse_san(plain)
        .or_else(|error| position.parse_uci(plain).map_err(|_| error))
        .with_context(|| format!("\"{word}\""))
}

/// Points in either form: `c0 "e4=10, d4=7"`, or moves in `c9` and their points in `c8`. Any other `c0` is a comment.
fn points(epd: &Epd) -> anyhow::Result<Vec<(Move, u32)>> {
    let text = |opcode| epd.operands(opcode).map(|words| words.join(" "));
    if let (Some(moves), Some(points)) = (text("c9"), text("c8")) {
        let (moves, points) = (words(&moves), words(&points));
        ensure!(
            moves.len() == points.len(),
            "c9 has {} moves, c8 has points for {}",
            moves.len(),
            points.len()
        );
        let pairs = moves.into_iter().zip(points);
        return pairs
            .map(|(mv, points)| {
                let points = points.parse();
                let points = points.with_context(|| "c8 must contain whole numbers".to_owned())?;
                Ok((read_move(&epd.position, mv)?, points))
            })
            .collect();
    }
    let text = text("c0").unwrap_or_default();
    let pairs: Option<Vec<(&str, u32)>> = words(&text)
        .into_iter()
        .map(|word| {
            // A promotion contains another equals sign.
            let (mv, points) = word.rsplit_once('=')?;
            Some((mv, points.parse().ok()?))
        })
        .collect();
    let scored: Vec<_> = pairs
        .unwrap_or_default()
        .into_iter()
        .map(|(mv, points)| Ok((read_move(&epd.position, mv)?, points)))
        .collect();
    let mut others = ["bm", "am", "dm"].into_iter();
    let has_other_solution = others.any(|opcode| epd.operands(opcode).is_some());
    // Assignments to anything but moves are not points.
    if has_other_solution && scored.iter().all(anyhow::Result::is_err) {
        return Ok(Vec::new());
    }
    scored.into_iter().collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

    fn test_position(operations: &str) -> TestPosition {
        TestPosition::parse(&format!("{START} {operations}")).expect("a question")
    }

    fn info(mv: &str, score: Score) -> SearchInfo {
        let position = Position::startpos();
        let engine =
            knightwatch_engine::Searcher::new(1, &knightwatch_engine::Setting::with_network(None))
                .search(
                    &knightwatch_chess::Game::new(position.clone()),
                    &knightwatch_engine::Limits {
                        depth: Some(1),
                        ..Default::default()
                    },
                );
        SearchInfo {
            mv: Some(position.parse_san(mv).expect("legal")),
            score,
            ..engine
        }
    }

    fn is_solved(operations: &str, mv: &str, score: Score) -> bool {
        test_position(operations).is_solved_by(&info(mv, score))
    }

    #[test]
    fn is_solved_by_checks_each_kind_of_solution() {
        let level = Score::Centipawns(0);
        for (operations, mv, right) in [
            ("bm e4 d4;", "e4", true),
            ("bm e4 d2d4;", "d4", true),
            ("bm e4!;", "Nf3", false),
            ("am f3 g4;", "f3", false),
            ("am f3 g4;", "e4", true),
            ("bm e4; am f3;", "d4", false),
            ("c0 \"e4=10, d4=7, Nf3=3\";", "e4", true),
            ("c0 \"e4=10, d4=7, Nf3=3\";", "d4", false),
            ("c9 \"e2e4 d2d4\"; c8 \"7 10\";", "d4", true),
            ("bm d4; c0 \"e4=10, d4=7\";", "d4", true),
        ] {
            assert_eq!(is_solved(operations, mv, level), right, "{operations} {mv}");
        }
        for (score, right) in [
            (Score::Mate(3), true),
            (Score::Mate(2), true),
            (Score::Mate(4), false),
            (Score::Mate(-1), false),
            (level, false),
        ] {
            assert_eq!(is_solved("dm 3;", "e4", score), right, "{score}");
        }
    }

    #[test]
    fn points_of_moves_are_read() {
        let commented = test_position("bm e4; c0 \"ply=12\";");
        assert_eq!(commented.max_points(), 0);
        let test = test_position("bm e4; c0 \"e4=10, d4=7, Nf3=3\"; id \"STS 1\";");
        let points = |mv| test.points_for(test.position.parse_san(mv).ok());
        assert_eq!(["e4", "d4", "Nf3", "a3"].map(points), [10, 7, 3, 0]);
        assert_eq!((test.max_points(), test.points_for(None)), (10, 0));
        assert_eq!(test.name, "STS 1");
        let text = "7k/P7/8/8/8/8/8/K7 w - - c0 \"a8=Q=10, a8=R=5\";";
        let promotion = TestPosition::parse(text).expect("a question");
        assert_eq!(promotion.max_points(), 10);
        assert_eq!(promotion.solution(), "a8=Q+");
    }

    #[test]
    fn parse_of_bad_line_explains_why() {
        for (operations, word) in [
            ("", "no solution"),
            ("c0 \"a comment\";", "no solution"),
            ("bm e5;", "\"e5\""),
            ("dm soon;", "soon"),
            ("dm 0;", "\"0\""),
            (
                "c9 \"e2e4 d2d4\"; c8 \"10\";",
                "c9 has 2 moves, c8 has points for 1",
            ),
            ("c0 \"e5=3\";", "\"e5\""),
            ("bm e4; c0 \"e4=10, e5=3\";", "\"e5\""),
        ] {
            let error = TestPosition::parse(&format!("{START} {operations}")).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(word), "{operations}: {error}");
        }
        assert!(TestPosition::parse("R5k1/5ppp/8/8/8/8/8/7K b - - bm Kf8;").is_err());
    }
}
