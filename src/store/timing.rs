//! Clock statistics: remaining time, losses on time, and latency of our moves.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use rusqlite::params_from_iter;

use super::filter::{Conditions, Filter};
use super::{Error, Reader};

/// Only the latest games are used: these columns are in no index, and old latencies do not matter.
const MAX_GAMES: u32 = 2000;

/// Clock statistics of one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// `bullet`, `blitz`, ...
    pub speed: String,
    /// Number of games.
    pub games: usize,
    /// Games that we lost on time.
    pub flagged: usize,
    /// Median of our clock at the end.
    pub final_clock: Option<Duration>,
    /// Median of the mean round trip of our move requests.
    pub round_trip: Option<Duration>,
}

#[derive(Default)]
struct Games {
    count: usize,
    flagged: usize,
    final_clocks: Vec<Duration>,
    round_trips: Vec<Duration>,
}

impl Reader {
    /// Clock statistics of the latest of these games by speed, the speed with the most games first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn timings(&self, filter: &Filter) -> Result<Vec<Timing>, Error> {
        let conditions = Conditions::new(filter, "points IS NOT NULL");
        let sql = format!(
            "SELECT speed, points = 0 AND status = 'outoftime', final_clock_ms, round_trip_us FROM game WHERE {}
             ORDER BY started DESC LIMIT {MAX_GAMES}",
            conditions.sql()
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        let mut speeds: HashMap<String, Games> = HashMap::new();
        while let Some(row) = rows.next()? {
            let games = speeds.entry(row.get(0)?).or_default();
            games.count += 1;
            games.flagged += usize::from(row.get::<_, Option<bool>>(1)? == Some(true));
            let (final_clock, trip): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
            let positive = |value: i64| value.max(0).unsigned_abs();
            games
                .final_clocks
                .extend(final_clock.map(positive).map(Duration::from_millis));
            games
                .round_trips
                .extend(trip.map(positive).map(Duration::from_micros));
        }
        let mut timings: Vec<_> = speeds.into_iter().map(timing).collect();
        timings.sort_by(|a, b| (Reverse(a.games), &a.speed).cmp(&(Reverse(b.games), &b.speed)));
        Ok(timings)
    }
}

fn timing((speed, games): (String, Games)) -> Timing {
    Timing {
        speed,
        games: games.count,
        flagged: games.flagged,
        final_clock: median(games.final_clocks),
        round_trip: median(games.round_trips),
    }
}

/// The median; the lower of two.
fn median(mut values: Vec<Duration>) -> Option<Duration> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_one_of_the_values() {
        let seconds = |all: &[u64]| all.iter().copied().map(Duration::from_secs).collect();
        assert_eq!(median(seconds(&[])), None);
        assert_eq!(median(seconds(&[7])), Some(Duration::from_secs(7)));
        assert_eq!(median(seconds(&[9, 1, 5])), Some(Duration::from_secs(5)));
        assert_eq!(median(seconds(&[9, 1, 5, 3])), Some(Duration::from_secs(3)));
    }
}
