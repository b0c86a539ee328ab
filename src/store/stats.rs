//! What games come to: scores, ratings, and who is hard to beat.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rusqlite::params_from_iter;
use rusqlite::types::ValueRef;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::filter::{By, Conditions, Filter};
use super::score::{Performance, Score, performance};
use super::{Error, Reader};
use crate::chess::{Color, Position};

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// Performances are those of so many games at most.
const LAST: usize = 100;

/// Ratings over time are told game by game where there are no more than so many games, and by the day otherwise.
const FEW: usize = 200;

/// The change of a rating is the one since so long ago.
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// Ratings of a kind: Chess960 has one of its own, whatever the speed. No other variant is rated.
pub(super) const KIND: &str = "CASE variant WHEN 'standard' THEN speed ELSE variant END";

/// Results by a text. There are few texts and many games, and nobody gains by texts that are hard to tell apart.
type Groups = FxHashMap<String, Score>;

/// How we stand in one kind of rated games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    /// Which account of ours.
    pub account: String,
    /// The speed, or `chess960`.
    pub kind: String,
    /// Our rating at the start of the latest of these games.
    pub rating: u32,
    /// Whether it is still uncertain.
    pub provisional: bool,
    /// What it has gained in 30 days, or since the first game.
    pub change: i64,
    /// What the last 100 games against opponents of a certain rating were worth.
    pub performance: Option<Performance>,
}

/// Results by everything but the months; in each list the group with the most games first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// By who played against us.
    pub opponent: Vec<(String, Score)>,
    /// By how fast the games were.
    pub speed: Vec<(String, Score)>,
    /// By our colour.
    pub color: Vec<(String, Score)>,
    /// By the first four moves of ordinary games.
    pub opening: Vec<(String, Score)>,
    /// By tournament, for games of one.
    pub tournament: Vec<(String, Score)>,
}

impl Reader {
    /// What these games came to.
    ///
    /// # Errors
    /// When the file cannot be read; so with all that follows.
    pub fn score(&self, filter: &Filter) -> Result<Score, Error> {
        let conditions = Conditions::new(filter, "points IS NOT NULL");
        let sql = format!(
            "SELECT total(points = 2), total(points = 1), total(points = 0), total(coalesce(expected, 0.5))
             FROM game WHERE {}",
            conditions.sql()
        );
        let count = |total: f64| total as u64;
        let values = params_from_iter(conditions.values);
        Ok(self.db.query_row(&sql, values, |row| {
            Ok(Score {
                won: count(row.get(0)?),
                drawn: count(row.get(1)?),
                lost: count(row.get(2)?),
                expected: row.get(3)?,
            })
        })?)
    }

    /// What they came to by opponent, speed and so on: the months from the latest to the first, of all else the group
    /// with the most games first.
    pub fn scores(&self, filter: &Filter, by: By) -> Result<Vec<(String, Score)>, Error> {
        let groups = match by {
            By::Month => self.by_month(filter)?,
            other => self.by_text(filter, other.column())?,
        };
        Ok(in_order(groups, by))
    }

    /// What they came to by everything but the months, in one pass over the games.
    pub fn overview(&self, filter: &Filter) -> Result<Overview, Error> {
        const COLUMNS: [By; 5] = [
            By::Opponent,
            By::Speed,
            By::Color,
            By::Opening,
            By::Tournament,
        ];
        let mut groups = COLUMNS.map(|_| Groups::default());
        let (sql, conditions) = all(filter, &COLUMNS.map(By::column).join(", "));
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
            opponent: in_order(opponent, By::Opponent),
            speed: in_order(speed, By::Speed),
            color: in_order(color, By::Color),
            opening: in_order(opening, By::Opening),
            tournament: in_order(tournament, By::Tournament),
        })
    }

    /// Who has taken the most points from us beyond what the ratings foretell, in this many games at least.
    pub fn nemeses(&self, filter: &Filter, least: u64) -> Result<Vec<(String, Score)>, Error> {
        let mut groups = self.scores(filter, By::Opponent)?;
        groups.retain(|(_, score)| score.games() >= least && score.surplus() < 0.0);
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
        let mut days: HashMap<i64, Score> = HashMap::new();
        self.each(filter, "started", |started, halves, expected| {
            let day = started.as_i64()?.div_euclid(DAY);
            days.entry(day).or_default().add(halves, expected);
            Ok(())
        })?;
        let mut months = Groups::default();
        for (day, score) in days {
            let sum = months.entry(super::month(day * DAY)).or_default();
            *sum = Score {
                won: sum.won + score.won,
                drawn: sum.drawn + score.drawn,
                lost: sum.lost + score.lost,
                expected: sum.expected + score.expected,
            };
        }
        Ok(months)
    }

    /// Every game that counts: this column, our points in halves, and what was to be expected. Groups are made here and
    /// not by SQL, which would sort all games for it.
    fn each(
        &self,
        filter: &Filter,
        column: &str,
        mut tell: impl FnMut(
            ValueRef<'_>,
            i64,
            Option<f64>,
        ) -> Result<(), rusqlite::types::FromSqlError>,
    ) -> Result<(), Error> {
        let (sql, conditions) = all(filter, column);
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        while let Some(row) = rows.next()? {
            let (halves, expected) = (row.get(1)?, row.get(2)?);
            tell(row.get_ref(0)?, halves, expected).map_err(rusqlite::Error::from)?;
        }
        Ok(())
    }

    /// How we stand in each kind of rated games, as far as these games tell, the one with the most games first. Several
    /// accounts of ours have ratings of their own.
    pub fn ratings(&self, filter: &Filter) -> Result<Vec<Rating>, Error> {
        let conditions = Conditions::new(filter, "rated = 1");
        let sql = format!(
            "SELECT account, {KIND}, started, account_rating, account_provisional, points,
                 iif(opponent_provisional, NULL, opponent_rating)
             FROM game WHERE {} ORDER BY started DESC",
            conditions.sql()
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(conditions.values))?;
        let mut standings: Vec<Standing> = Vec::new();
        while let Some(row) = rows.next()? {
            let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let (account, kind) = (text(0)?, text(1)?);
            let is_this =
                |standing: &Standing| standing.account == account && standing.kind == kind;
            let known = standings.iter().position(is_this).unwrap_or_else(|| {
                standings.push(Standing::new(account, kind));
                standings.len() - 1
            });
            let standing = &mut standings[known];
            if let Some(rating) = row.get(3)? {
                standing.rated(row.get(2)?, rating, row.get(4)?);
            }
            if let Some(points) = row.get(5)? {
                standing.played(points, row.get(6)?);
            }
        }
        standings.retain(|standing| standing.games > 0);
        standings.sort_by(|one, other| {
            let more = other.games.cmp(&one.games);
            let account = more.then_with(|| one.account.cmp(&other.account));
            account.then_with(|| one.kind.cmp(&other.kind))
        });
        Ok(standings.into_iter().filter_map(Standing::told).collect())
    }

    /// Our rating in every kind of these games over time: the moment in milliseconds since 1970, and the rating at the
    /// start of each game, or in the last game of each day where there are many. Where several accounts of ours have played them, kinds are told as `Knightwatch blitz`.
    pub fn rating_histories(
        &self,
        filter: &Filter,
    ) -> Result<BTreeMap<String, Vec<(i64, u32)>>, Error> {
        let rated = "rated = 1 AND account_rating IS NOT NULL";
        let conditions = Conditions::new(filter, rated);
        let sql = format!(
            "SELECT started, account_rating, {KIND}, account FROM game WHERE {} ORDER BY account, started",
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
        let told = accounts.into_iter().flat_map(|(account, kinds)| {
            let name = move |kind: String| match several {
                true => format!("{account} {kind}"),
                false => kind,
            };
            kinds
                .into_iter()
                .map(move |(kind, points)| (name(kind), thinned(points)))
        });
        Ok(told.collect())
    }
}

/// The last point of each day, where there are many.
fn thinned(mut points: Vec<(i64, u32)>) -> Vec<(i64, u32)> {
    if points.len() > FEW {
        let day = |point: &(i64, u32)| point.0.div_euclid(DAY);
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

/// What is known of one kind of ratings while its games are gone through, from the latest to the first.
struct Standing {
    account: String,
    kind: String,
    /// Those that count.
    games: u64,
    /// Our rating at the start of the latest game, and whether it was uncertain.
    latest: Option<(u32, bool)>,
    /// At the start of the first game that is no older than a month before that, and how old that may be.
    before: u32,
    since: i64,
    /// Opponents' ratings and our points in halves.
    last: Vec<(u32, i64)>,
}

impl Standing {
    fn new(account: &str, kind: &str) -> Self {
        Self {
            account: account.to_owned(),
            kind: kind.to_owned(),
            games: 0,
            latest: None,
            before: 0,
            since: 0,
            last: Vec::new(),
        }
    }

    fn rated(&mut self, at: i64, rating: u32, provisional: bool) {
        if self.latest.is_none() {
            self.latest = Some((rating, provisional));
            self.since = at.saturating_sub(MONTH.as_millis() as i64);
        }
        if at >= self.since {
            self.before = rating;
        }
    }

    /// The opponent's rating is told where it is certain.
    fn played(&mut self, points: i64, opponent: Option<u32>) {
        self.games += 1;
        if let Some(opponent) = opponent.filter(|_| self.last.len() < LAST) {
            self.last.push((opponent, points));
        }
    }

    /// Nothing where no rating of ours was ever told.
    fn told(self) -> Option<Rating> {
        let (rating, provisional) = self.latest?;
        Some(Rating {
            account: self.account,
            kind: self.kind,
            rating,
            provisional,
            change: i64::from(rating) - i64::from(self.before),
            performance: performance(&self.last),
        })
    }
}

/// Counts a game in its group, if it has one: games that do not begin with the ordinary position have no opening, and
/// most are of no tournament.
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

/// Groups under the names that people read, as [`Reader::scores`] has them.
fn in_order(groups: Groups, by: By) -> Vec<(String, Score)> {
    let name = |key: String| match by {
        By::Opening => opening(&key),
        _ => key,
    };
    let mut groups: Vec<_> = groups
        .into_iter()
        .map(|(key, score)| (name(key), score))
        .collect();
    groups.sort_by(|(name, score), (other, than)| match by {
        By::Month => other.cmp(name),
        _ => than
            .games()
            .cmp(&score.games())
            .then_with(|| name.cmp(other)),
    });
    groups
}

/// The first moves of a game in UCI, as people write them: `1. e4 c5 2. Nf3 d6`.
pub(super) fn opening(moves: &str) -> String {
    let mut position = Position::startpos();
    let mut words = Vec::new();
    for uci in moves.split(' ') {
        let Ok(mv) = position.parse_uci(uci) else {
            return moves.to_owned();
        };
        let san = position.san(mv);
        words.push(match position.turn() {
            Color::White => format!("{}. {san}", position.fullmove_number()),
            Color::Black => san,
        });
        position.play(mv);
    }
    words.join(" ")
}

/// The statement of [`Reader::each`], with its values.
pub(super) fn all(filter: &Filter, column: &str) -> (String, Conditions) {
    let conditions = Conditions::new(filter, "points IS NOT NULL");
    let sql = format!(
        "SELECT {column}, points, expected FROM game WHERE {}",
        conditions.sql()
    );
    (sql, conditions)
}
