//! Which games are meant, as conditions of SQL. All values are bound, none is written into the text.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::types::Value;

/// Which games. An empty one means all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Of this account of ours, in upper or lower case.
    pub account: Option<String>,
    /// Against this player, in upper or lower case.
    pub opponent: Option<String>,
    /// Against players with this in their names.
    pub search: Option<String>,
    /// With this outcome for us.
    pub outcome: Option<Outcome>,
    /// We had `white` or `black`.
    pub color: Option<crate::events::Color>,
    /// `bullet`, `blitz`, ...
    pub speed: Option<String>,
    /// `standard`, `chess960`, `fromPosition`.
    pub variant: Option<String>,
    /// With or without the ratings at stake.
    pub rated: Option<bool>,
    /// Of this tournament.
    pub tournament: Option<String>,
    /// Begun at this moment or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Begun before this moment.
    pub until: Option<i64>,
}

/// What became of a game, from our view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// We won.
    Won,
    /// Nobody won.
    Drawn,
    /// We lost.
    Lost,
    /// Aborted, or never begun.
    Void,
    /// It has no end: it is on, or nobody was there to see it.
    Open,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Won, Self::Drawn, Self::Lost, Self::Void, Self::Open];

    /// One word.
    pub fn key(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::Drawn => "drawn",
            Self::Lost => "lost",
            Self::Void => "void",
            Self::Open => "open",
        }
    }

    /// From our points in halves and the server's word for the end.
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
        let known = Self::ALL.into_iter().find(|outcome| outcome.key() == text);
        known.ok_or_else(|| "expected won, drawn, lost, void or open".to_owned())
    }
}

/// What games are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Who played against us.
    Opponent,
    /// How fast.
    Speed,
    /// Our colour.
    Color,
    /// The first four moves of ordinary games.
    Opening,
    /// The tournament, for games of one.
    Tournament,
    /// The month in which they began.
    Month,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Opponent,
        Self::Speed,
        Self::Color,
        Self::Opening,
        Self::Tournament,
        Self::Month,
    ];

    /// One word.
    pub fn key(self) -> &'static str {
        match self {
            Self::Month => "month",
            other => other.column(),
        }
    }

    /// The column that has it.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Opponent => "opponent",
            Self::Speed => "speed",
            Self::Color => "color",
            Self::Opening => "opening",
            Self::Tournament => "tournament",
            Self::Month => "started",
        }
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|by| by.key() == text);
        known.ok_or_else(|| {
            "expected opponent, speed, color, opening, tournament or month".to_owned()
        })
    }
}

/// What a list of games is in order of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// When they began.
    #[default]
    Started,
    /// The opponent's name.
    Opponent,
    /// The opponent's rating.
    Rating,
    /// What they were for us.
    Result,
    /// How long they last by their clocks.
    Clock,
    /// How many moves they have.
    Plies,
}

impl Sort {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Started,
        Self::Opponent,
        Self::Rating,
        Self::Result,
        Self::Clock,
        Self::Plies,
    ];

    /// One word.
    pub fn key(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Opponent => "opponent",
            Self::Rating => "rating",
            Self::Result => "result",
            Self::Clock => "clock",
            Self::Plies => "plies",
        }
    }

    fn expression(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Opponent => "opponent",
            Self::Rating => "opponent_rating",
            Self::Result => "points",
            // As Lichess estimates how long a game takes; a game without limits is the longest.
            Self::Clock => "coalesce(base_s + 40 * increment_s, 86400 * coalesce(days, 1000))",
            Self::Plies => "plies",
        }
    }
}

impl FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|sort| sort.key() == text);
        known.ok_or_else(|| {
            let keys = Self::ALL.map(Self::key);
            format!("expected one of {}", keys.join(", "))
        })
    }
}

/// The order of a list of games; games that have no value stand at the end, equal ones with the latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// What counts.
    pub by: Sort,
    /// The least first, instead of last.
    pub ascending: bool,
}

impl Order {
    /// What stands behind ORDER BY.
    pub(super) fn sql(self) -> String {
        let direction = if self.ascending { "ASC" } else { "DESC" };
        match self.by {
            Sort::Started => format!("started {direction}"),
            by => format!("{} {direction} NULLS LAST, started DESC", by.expression()),
        }
    }
}

/// A part of a long list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// So many are passed over.
    pub skip: u32,
    /// So many at most.
    pub most: u32,
}

impl Page {
    /// The first ones.
    pub fn first(most: u32) -> Self {
        Self { skip: 0, most }
    }
}

/// What stands behind WHERE, with its values.
#[derive(Debug)]
pub(super) struct Conditions {
    terms: Vec<String>,
    pub values: Vec<Value>,
}

impl Conditions {
    /// Behind this term come those of a filter.
    pub fn new(filter: &Filter, term: &str) -> Self {
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
            filter.search.as_deref().map(anywhere),
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
        all.add("started < ?", filter.until.map(Value::from));
        all.terms
            .extend(filter.outcome.map(|outcome| outcome.condition().to_owned()));
        all
    }

    /// One more, if there is a value for it.
    pub fn add(&mut self, term: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.values.push(value);
            let numbered = term.replace('?', &format!("?{}", self.values.len()));
            self.terms.push(numbered);
        }
    }

    /// A value that stands elsewhere in the statement: its number.
    pub fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// The terms as SQL.
    pub fn sql(&self) -> String {
        self.terms.join(" AND ")
    }
}

/// A pattern of LIKE for texts that have this in them.
fn anywhere(part: &str) -> Value {
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

/// The moment at which a day like `2026-05-24` begins in UTC, in milliseconds since 1970.
///
/// # Errors
/// When it is no day.
pub fn day(text: &str) -> Result<i64, String> {
    begins(date(text)?, TimeZone::UTC)
}

/// The same on the clock of this machine.
///
/// # Errors
/// When it is no day.
pub fn local_day(text: &str) -> Result<i64, String> {
    begins(date(text)?, TimeZone::system())
}

/// The moment at which the day after this one begins on the clock of this machine.
///
/// # Errors
/// When it is no day.
pub fn local_day_after(text: &str) -> Result<i64, String> {
    let next = date(text)?.tomorrow().map_err(|error| error.to_string())?;
    begins(next, TimeZone::system())
}

fn date(text: &str) -> Result<Date, String> {
    text.parse()
        .map_err(|_| "expected a day, as in 2026-05-24".to_owned())
}

fn begins(date: Date, zone: TimeZone) -> Result<i64, String> {
    let zoned = date.to_zoned(zone).map_err(|error| error.to_string())?;
    Ok(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bound_and_never_written_out() {
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
    fn days_begin_at_midnight_in_greenwich() {
        assert_eq!(day("1970-01-02"), Ok(86_400_000));
        assert_eq!(day("2026-05-24"), Ok(1_779_580_800_000));
        assert!(day("yesterday").is_err() && day("2026-02-30").is_err());
    }

    #[test]
    fn outcomes_are_words() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.key().parse(), Ok(outcome));
        }
        for by in By::ALL {
            assert_eq!(by.key().parse(), Ok(by));
        }
        assert!("w".parse::<Outcome>().is_err());
    }
}
