//! Statistics: scores, ratings and the toughest opponents.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rusqlite::params_from_iter;
use rusqlite::types::ValueRef;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Error;
use super::filter::{Conditions, Filter, GroupBy};
use super::reader::{RATING_KIND, Reader, opening};
use super::score::{Performance, WinDrawLoss, performance};
use crate::seconds::DAY;

/// A day in milliseconds.
pub const DAY_MS: i64 = 1_000 * DAY as i64;

/// Upper limit of games in a performance.
const MAX_PERFORMANCE_GAMES: usize = 100;

/// Upper limit of points in a rating history; above it there is one point per day.
const MAX_HISTORY_POINTS: usize = 200;

/// Period of a rating's change.
const CHANGE_PERIOD: Duration = Duration::from_secs(30 * DAY);

/// Scores by key. Fast hashing is safe: the keys are few and not chosen by attackers.
type Groups = FxHashMap<String, WinDrawLoss>;

/// Our rating of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// Our account.
    pub account: String,
    /// The speed, or the variant: `chess960`, `atomic`.
    pub kind: String,
    /// Our rating at the start of the latest game.
    pub rating: u32,
    /// Whether it is provisional.
    pub provisional: bool,
    /// Change in 30 days, or since the first game.
    pub change: i64,
    /// Performance in the last 100 games against opponents with an established rating.
    pub performance: Option<Performance>,
}

/// Scores by all groupings but the month; in each list the group with the most games first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// By opponent.
    pub opponent: Vec<(String, WinDrawLoss)>,
    /// By speed.
    pub speed: Vec<(String, WinDrawLoss)>,
    /// By our color.
    pub color: Vec<(String, WinDrawLoss)>,
    /// By the first four plies of standard games.
    pub opening: Vec<(String, WinDrawLoss)>,
    /// By tournament; other games are left out.
    pub tournament: Vec<(String, WinDrawLoss)>,
}

impl Reader {
    /// The total score.
    ///
    /// # Errors
    /// When the file cannot be read. The same holds for all methods below.
    pub fn score(&self, filter: &Filter) -> Result<WinDrawLoss, Error> {
        let conditions = Conditions::new(filter, "points IS NOT NULL");
        let sql = format!(
            "SELECT total(points = 2), total(points = 1), total(points = 0), total(coalesce(expected, 0.5))
             FROM game WHERE {}",
            conditions.sql()
        );
        let count = |total: f64| total as u64;
        let values = params_from_iter(conditions.values);
        Ok(self.db.query_row(&sql, values, |row| {
            Ok(WinDrawLoss {
                won: count(row.get(0)?),
                drawn: count(row.get(1)?),
                lost: count(row.get(2)?),
                expected: row.get(3)?,
            })
        })?)
    }

    /// Scores in groups: months from the latest to the first, otherwise the group with the most games first.
    pub fn scores(
        &self,
        filter: &Filter,
        by: GroupBy,
    ) -> Result<Vec<(String, WinDrawLoss)>, Error> {
        let groups = match by {
            GroupBy::Month => self.by_month(filter)?,
            other => self.by_text(filter, other.column())?,
        };
        Ok(sorted(groups, by))
    }

    /// Scores by all groupings but the month, in one pass over the games.
    pub fn overview(&self, filter: &Filter) -> Result<Overview, Error> {
        const COLUMNS: [GroupBy; 5] = [
            GroupBy::Opponent,
            GroupBy::Speed,
            GroupBy::Color,
            GroupBy::Opening,
            GroupBy::Tournament,
        ];
        let mut groups = COLUMNS.map(|_| Groups::default());
        let (sql, conditions) = results_query(filter, &COLUMNS.map(GroupBy::column).join(", "));
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        while let Some(row) = rows.next()? {
            let (halves, expected) = (row.get(COLUMNS.len())?, row.get(COLUMNS.len() + 1)?);
            for (column, groups) in groups.iter_mut().enumerate() {
                let key = row.get_ref(column)?.as_str_or_null();
                let key = key.map_err(rusqlite::Error::from)?;
                add(groups, key, halves, expected);
            }
        }
        let [opponent, speed, color, opening, tournament] = groups;
        Ok(Overview {
            opponent: sorted(opponent, GroupBy::Opponent),
            speed: sorted(speed, GroupBy::Speed),
            color: sorted(color, GroupBy::Color),
            opening: sorted(opening, GroupBy::Opening),
            tournament: sorted(tournament, GroupBy::Tournament),
        })
    }

    /// Opponents who scored more than expected from the ratings, in at least `min_games` games, the toughest first.
    pub fn toughest_opponents(
        &self,
        filter: &Filter,
        min_games: u64,
    ) -> Result<Vec<(String, WinDrawLoss)>, Error> {
        let mut groups = self.scores(filter, GroupBy::Opponent)?;
        groups.retain(|(_, score)| score.games() >= min_games && score.surplus() < 0.0);
        groups.sort_by(|(_, score), (_, than)| score.surplus().total_cmp(&than.surplus()));
        Ok(groups)
    }

    fn by_text(&self, filter: &Filter, column: &str) -> Result<Groups, Error> {
        let mut groups = Groups::default();
        self.each(filter, column, |key, halves, expected| {
            add(&mut groups, key.as_str_or_null()?, halves, expected);
            Ok(())
        })?;
        Ok(groups)
    }

    fn by_month(&self, filter: &Filter) -> Result<Groups, Error> {
        let mut days: HashMap<i64, WinDrawLoss> = HashMap::new();
        self.each(filter, "started", |started, halves, expected| {
            let started = started.as_i64()?;
            // Games without a date are of no month.
            if started != 0 {
                let day = days.entry(started.div_euclid(DAY_MS)).or_default();
                day.add(halves, expected);
            }
            Ok(())
        })?;
        let mut months = Groups::default();
        for (day, score) in days {
            let sum = months.entry(super::month(day * DAY_MS)).or_default();
            *sum = WinDrawLoss {
                won: sum.won + score.won,
                drawn: sum.drawn + score.drawn,
                lost: sum.lost + score.lost,
                expected: sum.expected + score.expected,
            };
        }
        Ok(months)
    }

    /// Calls `visit` for each game that counts with this column, our score in half points, and the expected points. Grouping is
    /// done here and not in SQL, which would sort all games.
    fn each(
        &self,
        filter: &Filter,
        column: &str,
        mut visit: impl FnMut(
            ValueRef<'_>,
            i64,
            Option<f64>,
        ) -> Result<(), rusqlite::types::FromSqlError>,
    ) -> Result<(), Error> {
        let (sql, conditions) = results_query(filter, column);
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        while let Some(row) = rows.next()? {
            let (halves, expected) = (row.get(1)?, row.get(2)?);
            visit(row.get_ref(0)?, halves, expected).map_err(rusqlite::Error::from)?;
        }
        Ok(())
    }

    /// Our rating of each kind as of the latest of these games, the kind with the most games first. Each account has its own
    /// ratings.
    pub fn ratings(&self, filter: &Filter) -> Result<Vec<Rating>, Error> {
        let conditions = Conditions::new(filter, "rated = 1");
        let sql = format!(
            "SELECT account, {RATING_KIND}, started, account_rating, account_provisional, points,
                 iif(opponent_provisional, NULL, opponent_rating)
             FROM game WHERE {} ORDER BY started DESC",
            conditions.sql()
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        let mut accumulators: Vec<RatingAccumulator> = Vec::new();
        while let Some(row) = rows.next()? {
            let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let (account, kind) = (text(0)?, text(1)?);
            let is_this = |accumulator: &RatingAccumulator| {
                accumulator.account == account && accumulator.kind == kind
            };
            let known = accumulators.iter().position(is_this).unwrap_or_else(|| {
                accumulators.push(RatingAccumulator::new(account, kind));
                accumulators.len() - 1
            });
            let accumulator = &mut accumulators[known];
            if let Some(rating) = row.get(3)? {
                accumulator.add_rating(row.get(2)?, rating, row.get(4)?);
            }
            if let Some(points) = row.get(5)? {
                accumulator.add_result(points, row.get(6)?);
            }
        }
        accumulators.retain(|accumulator| accumulator.games > 0);
        accumulators.sort_by(|one, other| {
            let more = other.games.cmp(&one.games);
            let account = more.then_with(|| one.account.cmp(&other.account));
            account.then_with(|| one.kind.cmp(&other.kind))
        });
        Ok(accumulators
            .into_iter()
            .filter_map(RatingAccumulator::into_rating)
            .collect())
    }

    /// Our rating of each kind over time: milliseconds since 1970 and the rating at the start of each game, or of the last game
    /// of each day if there are many games. With several accounts the keys are `Knightwatch blitz` etc.
    pub fn rating_histories(
        &self,
        filter: &Filter,
    ) -> Result<BTreeMap<String, Vec<(i64, u32)>>, Error> {
        let rated = "rated = 1 AND account_rating IS NOT NULL AND started <> 0";
        let conditions = Conditions::new(filter, rated);
        let sql = format!(
            "SELECT started, account_rating, {RATING_KIND}, account FROM game WHERE {} ORDER BY account, started",
            conditions.sql()
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        let mut accounts: BTreeMap<String, BTreeMap<String, Vec<(i64, u32)>>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let (at, rating) = (row.get::<_, i64>(0)?, row.get(1)?);
            let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let (kind, account) = (text(2)?, text(3)?);
            let kinds = match accounts.get_mut(account) {
                Some(kinds) => kinds,
                None => accounts.entry(account.to_owned()).or_default(),
            };
            let points = match kinds.get_mut(kind) {
                Some(points) => points,
                None => kinds.entry(kind.to_owned()).or_default(),
            };
            points.push((at, rating));
        }
        let several = accounts.len() > 1;
        let histories = accounts.into_iter().flat_map(|(account, kinds)| {
            let name = move |kind: String| match several {
                true => format!("{account} {kind}"),
                false => kind,
            };
            kinds
                .into_iter()
                .map(move |(kind, points)| (name(kind), one_per_day(points)))
        });
        Ok(histories.collect())
    }
}

/// The last point of each day, if there are many points.
fn one_per_day(mut points: Vec<(i64, u32)>) -> Vec<(i64, u32)> {
    if points.len() > MAX_HISTORY_POINTS {
        let day = |point: &(i64, u32)| point.0.div_euclid(DAY_MS);
        points.dedup_by(|later, kept| {
            let same = day(later) == day(kept);
            if same {
                *kept = *later;
            }
            same
        });
    }
    points
}

/// Accumulates one kind of rating, from the latest game to the first.
struct RatingAccumulator {
    account: String,
    kind: String,
    /// Games that count.
    games: u64,
    /// Our rating at the start of the latest game, and whether it was provisional.
    latest: Option<(u32, bool)>,
    /// Our rating at the start of the first game of the period, and when the period starts.
    old_rating: u32,
    since: i64,
    /// Opponents' ratings and our score in half points.
    results: Vec<(u32, i64)>,
}

impl RatingAccumulator {
    fn new(account: &str, kind: &str) -> Self {
        Self {
            account: account.to_owned(),
            kind: kind.to_owned(),
            games: 0,
            latest: None,
            old_rating: 0,
            since: 0,
            results: Vec::new(),
        }
    }

    fn add_rating(&mut self, at: i64, rating: u32, provisional: bool) {
        if self.latest.is_none() {
            self.latest = Some((rating, provisional));
            self.since = at.saturating_sub(CHANGE_PERIOD.as_millis() as i64);
        }
        if at >= self.since {
            self.old_rating = rating;
        }
    }

    /// `opponent` is their rating, if it is established.
    fn add_result(&mut self, points: i64, opponent: Option<u32>) {
        self.games += 1;
        if let Some(opponent) = opponent.filter(|_| self.results.len() < MAX_PERFORMANCE_GAMES) {
            self.results.push((opponent, points));
        }
    }

    /// `None` if our rating is never known.
    fn into_rating(self) -> Option<Rating> {
        let (rating, provisional) = self.latest?;
        Some(Rating {
            account: self.account,
            kind: self.kind,
            rating,
            provisional,
            change: i64::from(rating) - i64::from(self.old_rating),
            performance: performance(&self.results),
        })
    }
}

/// Adds a game to its group, if it has one: games from other starting positions have no opening, and most belong to no
/// tournament.
fn add(groups: &mut Groups, key: Option<&str>, halves: i64, expected: Option<f64>) {
    let Some(key) = key.filter(|key| !key.is_empty()) else {
        return;
    };
    match groups.get_mut(key) {
        Some(score) => score.add(halves, expected),
        None => groups
            .entry(key.to_owned())
            .or_default()
            .add(halves, expected),
    }
}

/// Sorts groups as documented at [`Reader::scores`], with display names.
fn sorted(groups: Groups, by: GroupBy) -> Vec<(String, WinDrawLoss)> {
    let name = |key: String| match by {
        GroupBy::Opening => opening(&key),
        _ => key,
    };
    let mut groups: Vec<_> = groups
        .into_iter()
        .map(|(key, score)| (name(key), score))
        .collect();
    groups.sort_by(|(name, score), (other, than)| match by {
        GroupBy::Month => other.cmp(name),
        _ => than
            .games()
            .cmp(&score.games())
            .then_with(|| name.cmp(other)),
    });
    groups
}

/// The statement of [`Reader::each`] with its parameters.
pub(super) fn results_query(filter: &Filter, column: &str) -> (String, Conditions) {
    let conditions = Conditions::new(filter, "points IS NOT NULL");
    let sql = format!(
        "SELECT {column}, points, expected FROM game WHERE {}",
        conditions.sql()
    );
    (sql, conditions)
}
