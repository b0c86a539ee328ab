//! Questions about games that were played: lists, statistics, and downloads.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State as Shared};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::House;
use super::records::Refusal;
use super::replayed::ending;
use super::wire::Player;
use crate::events::Color;
use crate::store::{self, Filter, Order, Outcome, Sort, utc_day_start};

/// Games in a list where nobody says how many, and the most.
const LISTED: u32 = 50;
const MOST_LISTED: u32 = 500;

/// Groups of a kind in statistics: those with the most games.
const GROUPS: usize = 100;

/// A utc_day_start, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// What a page asks for; an empty text is as good as none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Question {
    account: String,
    opponent: String,
    result: String,
    speed: String,
    color: String,
    rated: String,
    variant: String,
    tournament: String,
    since: String,
    until: String,
    text: String,
    sort: String,
    ascending: String,
    offset: String,
    limit: String,
}

impl Question {
    fn filter(&self) -> Result<Filter, Refusal> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Filter {
            account: text(&self.account),
            opponent: text(&self.opponent),
            search: text(&self.text),
            outcome: read("result", &self.result, str::parse::<Outcome>)?,
            color: read("color", &self.color, |text| match text {
                "white" => Ok(Color::White),
                "black" => Ok(Color::Black),
                _ => Err("expected white or black".to_owned()),
            })?,
            speed: text(&self.speed),
            variant: text(&self.variant),
            rated: read("rated", &self.rated, truth)?,
            tournament: text(&self.tournament),
            since: read("since", &self.since, |text| moment(text, 0))?,
            until: read("until", &self.until, |text| moment(text, DAY_MS))?,
        })
    }

    fn order(&self) -> Result<Order, Refusal> {
        let by = read("sort", &self.sort, str::parse::<Sort>)?;
        let ascending = read("ascending", &self.ascending, truth)?;
        Ok(Order {
            by: by.unwrap_or_default(),
            ascending: ascending.unwrap_or(false),
        })
    }

    fn page(&self) -> Result<store::Page, Refusal> {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| "expected a number from 0".to_owned())
        };
        let skip = read("offset", &self.offset, number)?;
        let most = read("limit", &self.limit, number)?;
        Ok(store::Page {
            offset: skip.unwrap_or(0),
            limit: most.unwrap_or(LISTED).min(MOST_LISTED),
        })
    }
}

/// A value, if there is a text for it.
fn read<T>(
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |why| Refusal::Wrong(format!("{name}={text}: {why}"));
    parse(text).map(Some).map_err(wrong)
}

fn truth(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| "expected true or false".to_owned())
}

/// Milliseconds since 1970, or a utc_day_start, of which this comes on top.
fn moment(text: &str, beyond: i64) -> Result<i64, String> {
    match text.parse() {
        Ok(millis) => Ok(millis),
        Err(_) => Ok(utc_day_start(text)?.saturating_add(beyond)),
    }
}

/// A list of games.
#[derive(Serialize)]
pub(super) struct Listed {
    total: u64,
    games: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    started: i64,
    white: Player,
    black: Player,
    ours: &'static str,
    result: &'static str,
    score: Option<String>,
    speed: String,
    time_control: String,
    rated: bool,
    variant: String,
    tournament: Option<String>,
    plies: u32,
    status: Option<String>,
    /// How it ended, in a word or two.
    end: Option<String>,
    /// Its first moves as people write them.
    opening: Option<String>,
    /// What it has changed of our rating, where that is known.
    rating_change: Option<i64>,
}

impl Row {
    fn of(game: store::Game, rating_change: Option<i64>) -> Self {
        let end = game.status.as_ref().map(|status| ending(&game, status));
        Self {
            end: end.map(|end| end.reason(None)),
            opening: game.first_moves(),
            rating_change,
            white: game.player(Color::White).into(),
            black: game.player(Color::Black).into(),
            id: game.id,
            started: game.started,
            ours: game.color.key(),
            result: game.outcome.key(),
            score: game.result,
            speed: game.speed,
            time_control: game.time_control.to_string(),
            rated: game.rated,
            variant: game.variant,
            tournament: game.tournament,
            plies: game.plies,
            status: game.status,
        }
    }
}

/// The games that a question means, the latest first.
pub(super) async fn games(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Json<Listed>, Refusal> {
    let (filter, order, page) = (question.filter()?, question.order()?, question.page()?);
    let listed = house.records.ask(move |reader| {
        let games = reader.games_in_order(order, &filter, page)?.into_iter();
        let row = |game| {
            let change = reader.rating_change(&game)?;
            Ok(Row::of(game, change))
        };
        Ok(Listed {
            total: reader.count(&filter)?,
            games: games.map(row).collect::<Result<_, store::Error>>()?,
        })
    });
    listed.await.map(Json)
}

/// The games that a question means, as a PGN file.
pub(super) async fn download(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Response, Refusal> {
    let pgn = house.records.pgn(question.filter()?).await?;
    let kind = [
        (CONTENT_TYPE, "application/x-chess-pgn"),
        (
            CONTENT_DISPOSITION,
            "attachment; filename=\"knightwatch.pgn\"",
        ),
    ];
    Ok((kind, Body::from_stream(pgn)).into_response())
}

/// What games came to.
#[derive(Serialize)]
pub(super) struct Stats {
    by_opponent: Vec<Group>,
    by_speed: Vec<Group>,
    by_color: Vec<Group>,
    by_opening: Vec<Group>,
    by_tournament: Vec<Group>,
    ratings: BTreeMap<String, Vec<(i64, u32)>>,
    timing: Vec<Timing>,
}

/// The games of one speed by the clock.
#[derive(Serialize)]
struct Timing {
    speed: String,
    games: usize,
    flagged: usize,
    left_ms: Option<u64>,
    round_trip_ms: Option<u64>,
}

impl From<store::Timing> for Timing {
    fn from(timing: store::Timing) -> Self {
        let millis = |time: Duration| time.as_millis() as u64;
        Self {
            speed: timing.speed,
            games: timing.games,
            flagged: timing.flagged,
            left_ms: timing.final_clock.map(millis),
            round_trip_ms: timing.round_trip.map(millis),
        }
    }
}

#[derive(Serialize)]
struct Group {
    name: String,
    won: u64,
    drawn: u64,
    lost: u64,
    points: f64,
    expected: f64,
}

fn group((name, score): (String, store::Score)) -> Group {
    Group {
        name,
        won: score.won,
        drawn: score.drawn,
        lost: score.lost,
        points: score.points(),
        expected: (score.expected * 100.0).round() / 100.0,
    }
}

/// Results by opponent, speed, colour, opening and tournament, our ratings over time, and how it went by the clock.
pub(super) async fn stats(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Json<Stats>, Refusal> {
    let filter = question.filter()?;
    // Each is a pass over all games: side by side they take no longer than one.
    let (rated, timed) = (filter.clone(), filter.clone());
    let (overview, ratings, timings) = tokio::try_join!(
        house
            .records
            .ask(move |reader| Ok(reader.overview(&filter)?)),
        house
            .records
            .ask(move |reader| Ok(reader.rating_histories(&rated)?)),
        house.records.ask(move |reader| Ok(reader.timings(&timed)?)),
    )?;
    let groups = |scores: Vec<_>| scores.into_iter().take(GROUPS).map(group).collect();
    Ok(Json(Stats {
        by_opponent: groups(overview.opponent),
        by_speed: groups(overview.speed),
        by_color: groups(overview.color),
        by_opening: groups(overview.opening),
        by_tournament: groups(overview.tournament),
        ratings,
        timing: timings.into_iter().map(Timing::from).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(pairs: &[(&str, &str)]) -> Question {
        let mut question = Question::default();
        for (name, value) in pairs {
            let value = (*value).to_owned();
            match *name {
                "opponent" => question.opponent = value,
                "result" => question.result = value,
                "color" => question.color = value,
                "rated" => question.rated = value,
                "since" => question.since = value,
                "until" => question.until = value,
                "text" => question.text = value,
                "offset" => question.offset = value,
                "limit" => question.limit = value,
                "sort" => question.sort = value,
                "ascending" => question.ascending = value,
                other => panic!("{other}"),
            }
        }
        question
    }

    #[test]
    fn questions_become_filters() {
        let all = question(&[("opponent", ""), ("rated", "")]);
        assert_eq!(all.filter().expect("a filter"), Filter::default());
        assert_eq!(all.page().expect("a page"), store::Page::first(LISTED));
        let some = question(&[
            ("result", "lost"),
            ("color", "black"),
            ("rated", "true"),
            ("since", "2026-05-24"),
            ("until", "2026-05-24"),
            ("text", "an"),
            ("offset", "100"),
            ("limit", "9999"),
        ]);
        let filter = some.filter().expect("a filter");
        assert_eq!(filter.outcome, Some(Outcome::Lost));
        assert_eq!(
            (filter.color, filter.rated),
            (Some(Color::Black), Some(true))
        );
        assert_eq!(filter.since.map(|at| at + DAY_MS), filter.until);
        assert_eq!(some.page().expect("a page").limit, MOST_LISTED);
        let millis = question(&[("since", "1779580800000")]);
        assert_eq!(millis.filter().expect("a filter").since, filter.since);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (name, value) in [
            ("result", "w"),
            ("color", "green"),
            ("rated", "yes"),
            ("since", "yesterday"),
        ] {
            let error = question(&[(name, value)]).filter().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}={value}: ")), "{error}");
        }
        assert!(question(&[("limit", "-1")]).page().is_err());
        let error = question(&[("sort", "luck")]).order().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("sort=luck: expected one of started, ")
        );
        assert!(question(&[("ascending", "up")]).order().is_err());
        let longest = question(&[("sort", "plies")]).order().expect("an order");
        assert_eq!((longest.by, longest.ascending), (Sort::Plies, false));
    }
}
