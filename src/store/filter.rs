//! Selection, grouping and order of games as SQL. All values are bound parameters.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::types::Value;

use crate::keys;

/// Selects games. The default selects all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Our account, ignoring case.
    pub account: Option<String>,
    /// The opponent, ignoring case.
    pub opponent: Option<String>,
    /// Part of the opponent's name.
    pub search: Option<String>,
    /// The outcome for us.
    pub outcome: Option<Outcome>,
    /// Our color.
    pub color: Option<crate::events::Color>,
    /// One of [`SPEEDS`](crate::events::SPEEDS).
    pub speed: Option<String>,
    /// One of [`VARIANTS`](crate::events::VARIANTS).
    pub variant: Option<String>,
    /// Rated or casual.
    pub rated: Option<bool>,
    /// The tournament id.
    pub tournament: Option<String>,
    /// Started at this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Started before this time, in milliseconds since 1970.
    pub until: Option<i64>,
}

keys! {
    /// Outcome of a game for us.
    pub enum Outcome {
        /// We won.
        Won = "won",
        /// Nobody won.
        Drawn = "drawn",
        /// We lost.
        Lost = "lost",
        /// Aborted, or never begun.
        Void = "void",
        /// No end is known: the game is running, or its end was missed.
        Open = "open",
    }
}

impl Outcome {
    /// From our score in half points and the server's status.
    pub(super) fn of(halves: Option<i64>, status: Option<&str>) -> Self {
        match (halves, status) {
            (Some(2), _) => Self::Won,
            (Some(1), _) => Self::Drawn,
            (Some(_), _) => Self::Lost,
            (None, Some(_)) => Self::Void,
            (None, None) => Self::Open,
        }
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Won => "points = 2",
            Self::Drawn => "points = 1",
            Self::Lost => "points = 0",
            Self::Void => "points IS NULL AND status IS NOT NULL",
            Self::Open => "status IS NULL",
        }
    }
}

impl FromStr for Outcome {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_key(text).ok_or_else(|| "expected won, drawn, lost, void or open".to_owned())
    }
}

keys! {
    /// Grouping of games.
    pub enum GroupBy {
        /// By opponent.
        Opponent = "opponent",
        /// By speed.
        Speed = "speed",
        /// By our color.
        Color = "color",
        /// By the first four plies of standard games.
        Opening = "opening",
        /// By tournament; other games are left out.
        Tournament = "tournament",
        /// By the month of the start.
        Month = "month",
    }
}

impl GroupBy {
    /// The column to group by.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Month => "started",
            other => other.key(),
        }
    }
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_key(text).ok_or_else(|| {
            "expected opponent, speed, color, opening, tournament or month".to_owned()
        })
    }
}

keys! {
    /// Sort key of a list of games.
    #[derive(Default)]
    pub enum Sort {
        /// Start time.
        #[default]
        Started = "started",
        /// Opponent's name.
        Opponent = "opponent",
        /// Opponent's rating.
        Rating = "rating",
        /// Our score.
        Result = "result",
        /// Estimated duration by the time control.
        Clock = "clock",
        /// Number of plies.
        Plies = "plies",
    }
}

impl Sort {
    fn expression(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Opponent => "opponent",
            Self::Rating => "opponent_rating",
            Self::Result => "points",
            // Lichess's estimate of a duration; a game without a limit is the longest.
            Self::Clock => "coalesce(base_s + 40 * increment_s, 86400 * coalesce(days, 1000))",
            Self::Plies => "plies",
        }
    }
}

impl FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_key(text).ok_or_else(|| {
            let keys = Self::ALL.map(Self::key);
            format!("expected one of {}", keys.join(", "))
        })
    }
}

/// Order of a list of games. Games without a value come last, equal ones with the latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Sort key.
    pub by: Sort,
    /// Ascending instead of descending.
    pub ascending: bool,
}

impl Order {
    /// The ORDER BY expression.
    pub(super) fn sql(self) -> String {
        let direction = if self.ascending { "ASC" } else { "DESC" };
        match self.by {
            Sort::Started => format!("started {direction}"),
            by => format!("{} {direction} NULLS LAST, started DESC", by.expression()),
        }
    }
}

/// A page of a long list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Number of items to skip.
    pub offset: u32,
    /// Maximum number of items.
    pub limit: u32,
}

impl Page {
    /// The first items.
    pub fn first(limit: u32) -> Self {
        Self { offset: 0, limit }
    }
}

/// A WHERE expression and its parameters.
#[derive(Debug)]
pub(super) struct Conditions {
    terms: Vec<String>,
    pub values: Vec<Value>,
}

impl Conditions {
    /// Starts with `term` and adds the conditions of a filter.
    pub(super) fn new(filter: &Filter, term: &str) -> Self {
        let mut all = Self {
            terms: vec![term.to_owned()],
            values: Vec::new(),
        };
        let text = |text: &String| Value::from(text.clone());
        all.add(
            "account = ? COLLATE NOCASE",
            filter.account.as_ref().map(text),
        );
        all.add("opponent = ?", filter.opponent.as_ref().map(text));
        all.add(
            r"opponent LIKE ? ESCAPE '\'",
            filter.search.as_deref().map(contains_pattern),
        );
        all.add(
            "color = ?",
            filter.color.map(|color| color.key().to_owned().into()),
        );
        all.add("speed = ?", filter.speed.as_ref().map(text));
        all.add("variant = ?", filter.variant.as_ref().map(text));
        all.add(
            "rated = ?",
            filter.rated.map(|rated| i64::from(rated).into()),
        );
        all.add("tournament = ?", filter.tournament.as_ref().map(text));
        all.add("started >= ?", filter.since.map(Value::from));
        // Without a date it is 0.
        all.add(
            "started <> 0 AND started < ?",
            filter.until.map(Value::from),
        );
        all.terms
            .extend(filter.outcome.map(|outcome| outcome.condition().to_owned()));
        all
    }

    /// Adds a condition, if it has a value.
    pub(super) fn add(&mut self, term: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.values.push(value);
            let numbered = term.replace('?', &format!("?{}", self.values.len()));
            self.terms.push(numbered);
        }
    }

    /// Binds a value used elsewhere in the statement; returns its placeholder.
    pub(super) fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// The WHERE expression.
    pub(super) fn sql(&self) -> String {
        self.terms.join(" AND ")
    }
}

/// A LIKE pattern for texts that contain `part`.
fn contains_pattern(part: &str) -> Value {
    let mut pattern = String::from("%");
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern.into()
}

/// The start of a day such as `2026-05-24` in UTC, in milliseconds since 1970.
///
/// # Errors
/// When the text is not a date.
pub fn utc_day_start(text: &str) -> Result<i64, String> {
    day_start(date(text)?, TimeZone::UTC)
}

/// The start of a day in the system's time zone, in milliseconds since 1970.
///
/// # Errors
/// When the text is not a date.
pub fn local_day_start(text: &str) -> Result<i64, String> {
    day_start(date(text)?, TimeZone::system())
}

/// The end of a day in the system's time zone, in milliseconds since 1970.
///
/// # Errors
/// When the text is not a date.
pub fn local_day_end(text: &str) -> Result<i64, String> {
    let next = date(text)?.tomorrow().map_err(|error| error.to_string())?;
    day_start(next, TimeZone::system())
}

fn date(text: &str) -> Result<Date, String> {
    text.parse()
        .map_err(|_| "expected a day, as in 2026-05-24".to_owned())
}

fn day_start(date: Date, zone: TimeZone) -> Result<i64, String> {
    let zoned = date.to_zoned(zone).map_err(|error| error.to_string())?;
    Ok(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_values_are_bound() {
        let filter = Filter {
            opponent: Some("x' OR 1=1 --".to_owned()),
            search: Some("100%_\\".to_owned()),
            rated: Some(true),
            outcome: Some(Outcome::Void),
            ..Filter::default()
        };
        let conditions = Conditions::new(&filter, "points IS NOT NULL");
        assert_eq!(
            conditions.sql(),
            r"points IS NOT NULL AND opponent = ?1 AND opponent LIKE ?2 ESCAPE '\' AND rated = ?3 AND points IS NULL AND status IS NOT NULL"
        );
        assert_eq!(conditions.values.len(), 3);
        assert_eq!(conditions.values[1], Value::from(r"%100\%\_\\%".to_owned()));
    }

    #[test]
    fn utc_day_starts_at_midnight() {
        assert_eq!(utc_day_start("1970-01-02"), Ok(86_400_000));
        assert_eq!(utc_day_start("2026-05-24"), Ok(1_779_580_800_000));
        assert!(utc_day_start("yesterday").is_err() && utc_day_start("2026-02-30").is_err());
    }

    #[test]
    fn outcomes_and_groupings_round_trip() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.key().parse(), Ok(outcome));
        }
        for by in GroupBy::ALL {
            assert_eq!(by.key().parse(), Ok(by));
        }
        assert!("w".parse::<Outcome>().is_err());
    }
}
