//! Arena scoring, after lila's `ArenaSheet`: two points for a win, one for a draw, doubled during a streak.

/// A finished game from one player's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlayedGame {
    pub outcome: Outcome,
    pub plies: usize,
    /// This player went berserk.
    pub berserk: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Win,
    Draw,
    Loss,
}

/// Draws before this ply score nothing.
const MIN_DRAW_PLIES: usize = 20;
/// A draw after a draw scores only from this ply on.
const MIN_SECOND_DRAW_PLIES: usize = 60;
/// Berserk wins earn the extra point from this ply on.
const MIN_BERSERK_PLIES: usize = 14;

#[derive(Clone, Copy, Debug)]
struct ScoredGame {
    played: PlayedGame,
    points: u32,
}

/// Score sheet of a player in an arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    games: Vec<ScoredGame>,
    total: u32,
}

impl Sheet {
    /// Adds a game; `streaks`: whether the arena doubles points during streaks.
    pub(super) fn add(&mut self, played: PlayedGame, streaks: bool) {
        let fire = streaks && self.is_on_fire();
        let double = if fire { 2 } else { 1 };
        let points = match played.outcome {
            Outcome::Win => {
                2 * double + u32::from(played.berserk && played.plies >= MIN_BERSERK_PLIES)
            }
            Outcome::Draw if played.plies < MIN_DRAW_PLIES => 0,
            Outcome::Draw
                if !fire && played.plies < MIN_SECOND_DRAW_PLIES && self.drew_since_last_win() =>
            {
                0
            }
            Outcome::Draw => double,
            Outcome::Loss => 0,
        };
        self.games.push(ScoredGame { played, points });
        self.total += points;
    }

    /// Returns whether the last two games were won.
    pub(crate) fn is_on_fire(&self) -> bool {
        let mut latest = self.games.iter().rev().map(|game| game.played.outcome);
        latest.next() == Some(Outcome::Win) && latest.next() == Some(Outcome::Win)
    }

    /// Returns whether the last game that was not lost was a draw.
    fn drew_since_last_win(&self) -> bool {
        self.games
            .iter()
            .rev()
            .map(|game| game.played.outcome)
            .find(|outcome| *outcome != Outcome::Loss)
            == Some(Outcome::Draw)
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn games(&self) -> usize {
        self.games.len()
    }

    pub(crate) fn wins(&self) -> usize {
        let is_win = |game: &&ScoredGame| game.played.outcome == Outcome::Win;
        self.games.iter().filter(is_win).count()
    }

    pub(crate) fn berserks(&self) -> usize {
        self.games.iter().filter(|game| game.played.berserk).count()
    }

    /// One digit per game, the latest first.
    pub(crate) fn digits(&self) -> String {
        let points = self.games.iter().rev().map(|game| game.points);
        points
            .filter_map(|points| char::from_digit(points, 10))
            .collect()
    }
}

/// Performance rating after one more game: the mean over all games of the opponent's rating, plus 500 for a win, minus
/// 500 for a loss.
pub(super) fn performance(
    before: Option<i32>,
    games: usize,
    opponent: i32,
    outcome: Outcome,
) -> i32 {
    let latest = match outcome {
        Outcome::Win => opponent + 500,
        Outcome::Draw => opponent,
        Outcome::Loss => opponent - 500,
    };
    let games = games.max(1) as f64;
    let before = f64::from(before.unwrap_or(0));
    ((before * (games - 1.0) + f64::from(latest)) / games).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W`in, `D`raw, `L`oss in long games; `d` a draw of 59 plies, `q` of 19; `B` a berserk win of 14 plies, `b` of 13; `N` a
    /// berserk loss.
    fn sheet(games: &str, streaks: bool) -> Sheet {
        let mut sheet = Sheet::default();
        for game in games.chars() {
            let (outcome, plies, berserk) = match game {
                'W' => (Outcome::Win, 80, false),
                'B' => (Outcome::Win, 14, true),
                'b' => (Outcome::Win, 13, true),
                'D' => (Outcome::Draw, 60, false),
                'd' => (Outcome::Draw, 59, false),
                'q' => (Outcome::Draw, 19, false),
                'L' => (Outcome::Loss, 80, false),
                'N' => (Outcome::Loss, 80, true),
                _ => unreachable!(),
            };
            sheet.add(
                PlayedGame {
                    outcome,
                    plies,
                    berserk,
                },
                streaks,
            );
        }
        sheet
    }

    #[test]
    fn sheet_scores_sequences() {
        // (games, the latest first, total, on fire at the end)
        for (games, digits, total, fire) in [
            ("", "", 0, false),
            ("W", "2", 2, false),
            ("WW", "22", 4, true),
            ("WWW", "422", 8, true),
            ("WWD", "222", 6, false),
            ("WWL", "022", 4, false),
            ("WWLW", "2022", 6, false),
            ("WWWWLWW", "2204422", 16, true),
            ("D", "1", 1, false),
            ("d", "1", 1, false),
            ("q", "0", 0, false),
            ("dd", "01", 1, false),
            ("dD", "11", 2, false),
            ("qd", "00", 0, false),
            ("dLd", "001", 1, false),
            ("dWd", "121", 4, false),
            ("WWd", "222", 6, false),
            ("WWdd", "0222", 6, false),
            ("WWq", "022", 4, false),
            ("B", "3", 3, false),
            ("b", "2", 2, false),
            ("WWB", "522", 9, true),
            ("N", "0", 0, false),
        ] {
            let sheet = sheet(games, true);
            assert_eq!(
                (sheet.digits().as_str(), sheet.total(), sheet.is_on_fire()),
                (digits, total, fire),
                "{games}"
            );
        }
    }

    #[test]
    fn sheet_without_streaks_does_not_double() {
        assert_eq!(sheet("WWWWD", false).total(), 9);
    }

    #[test]
    fn sheet_counts_games_wins_and_berserks() {
        let sheet = sheet("WBLNDb", true);
        assert_eq!((sheet.games(), sheet.wins(), sheet.berserks()), (6, 3, 3));
    }

    #[test]
    fn performance_is_mean() {
        let first = performance(None, 1, 1500, Outcome::Win);
        assert_eq!(first, 2000);
        let second = performance(Some(first), 2, 1600, Outcome::Loss);
        assert_eq!(second, 1550);
        assert_eq!(performance(Some(second), 3, 1550, Outcome::Draw), 1550);
    }
}
