//! Queries on recorded games: lists, statistics and downloads.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::AppState;
use super::convert::finished_event;
use super::records::{ApiError, Params};
use crate::chess::Variant;
use crate::events::{Color, SPEEDS, VARIANTS, variant_ending};
use crate::store::{self, DAY_MS, Filter, Order, Outcome, Sort, utc_day_start};

/// Default number of games in a list.
const DEFAULT_LIMIT: u32 = 50;

/// Maximum number of games in a list.
const MAX_LIMIT: u32 = 500;

/// Maximum number of groups of a kind in the statistics.
const MAX_GROUPS: usize = 100;

/// Query parameters of a list of games. Empty ones are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GameQuery {
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

impl GameQuery {
    fn filter(&self) -> Result<Filter, ApiError> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Filter {
            account: text(&self.account),
            opponent: text(&self.opponent),
            search: text(&self.text),
            outcome: parse_param("result", &self.result, str::parse::<Outcome>)?,
            color: parse_param("color", &self.color, |text| match text {
                "white" => Ok(Color::White),
                "black" => Ok(Color::Black),
                _ => Err("expected white or black".to_owned()),
            })?,
            speed: parse_param("speed", &self.speed, |speed| one_of(&SPEEDS, speed))?,
            variant: parse_param("variant", &self.variant, |name| one_of(&VARIANTS, name))?,
            rated: parse_param("rated", &self.rated, parse_bool)?,
            tournament: text(&self.tournament),
            since: parse_param("since", &self.since, |text| parse_time(text, 0))?,
            until: parse_param("until", &self.until, |text| parse_time(text, DAY_MS))?,
        })
    }

    fn order(&self) -> Result<Order, ApiError> {
        let by = parse_param("sort", &self.sort, str::parse::<Sort>)?;
        let ascending = parse_param("ascending", &self.ascending, parse_bool)?;
        Ok(Order {
            by: by.unwrap_or_default(),
            ascending: ascending.unwrap_or(false),
        })
    }

    fn page(&self) -> Result<store::Page, ApiError> {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| "expected a number from 0".to_owned())
        };
        let offset = parse_param("offset", &self.offset, number)?;
        let limit = parse_param("limit", &self.limit, number)?;
        Ok(store::Page {
            offset: offset.unwrap_or(0),
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
        })
    }
}

/// Parses a parameter, unless it is empty.
fn parse_param<T>(
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let invalid = |why| ApiError::BadRequest(format!("{name}={text}: {why}"));
    parse(text).map(Some).map_err(invalid)
}

fn one_of(known: &[&str], text: &str) -> Result<String, String> {
    match known.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected one of {}", known.join(", "))),
    }
}

fn parse_bool(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| "expected true or false".to_owned())
}

/// Parses milliseconds since 1970, or a day, to whose start `day_offset_ms` is added.
fn parse_time(text: &str, day_offset_ms: i64) -> Result<i64, String> {
    match text.parse() {
        Ok(millis) => Ok(millis),
        Err(_) => Ok(utc_day_start(text)?.saturating_add(day_offset_ms)),
    }
}

/// A row of a list of games: `end` is how the game ended, in a few words, `opening` its first moves in SAN.
fn game_row(game: &store::Game, rating_change: Option<i64>) -> Value {
    let end = game.status.as_ref().map(|status| match status.as_str() {
        "variantEnd" => {
            let variant = Variant::from_name(&game.variant).unwrap_or_default();
            variant_ending(variant).to_owned()
        }
        _ => finished_event(game, status).reason(None),
    });
    json!({
        "id": game.id,
        "started": game.started,
        "white": game.player(Color::White),
        "black": game.player(Color::Black),
        "ours": game.color.key(),
        "result": game.outcome.key(),
        "score": game.result,
        "speed": game.speed,
        "time_control": game.time_control.to_string(),
        "rated": game.rated,
        "variant": game.variant,
        "tournament": game.tournament,
        "engine": game.engine,
        "plies": game.plies,
        "status": game.status,
        "end": end,
        "opening": game.first_moves(),
        "rating_change": rating_change,
    })
}

/// `GET /api/games`: the games that match a query, by default the latest first.
pub(super) async fn games(
    State(state): State<AppState>,
    Params(query): Params<GameQuery>,
) -> Result<Json<Value>, ApiError> {
    let (filter, order, page) = (query.filter()?, query.order()?, query.page()?);
    let list = state.records.query(move |reader| {
        let mut rows = Vec::new();
        for game in reader.games_in_order(order, &filter, page)? {
            rows.push(game_row(&game, reader.rating_change(&game)?));
        }
        Ok(json!({ "total": reader.count(&filter)?, "games": rows }))
    });
    list.await.map(Json)
}

/// Media type of PGN.
pub(super) const PGN: &str = "application/x-chess-pgn";

/// `GET /api/games.pgn`: the games that match a query, as a PGN file.
pub(super) async fn download(
    State(state): State<AppState>,
    Params(query): Params<GameQuery>,
) -> Result<Response, ApiError> {
    let pgn = state.records.pgn(query.filter()?).await?;
    let kind = [
        (CONTENT_TYPE, PGN),
        (
            CONTENT_DISPOSITION,
            "attachment; filename=\"knightwatch.pgn\"",
        ),
    ];
    Ok((kind, Body::from_stream(pgn)).into_response())
}

/// Clock statistics of the games of one speed.
fn timing(timing: &store::Timing) -> Value {
    let millis = |time: Duration| time.as_millis() as u64;
    json!({
        "speed": timing.speed,
        "games": timing.games,
        "flagged": timing.flagged,
        "left_ms": timing.final_clock.map(millis),
        "round_trip_ms": timing.round_trip.map(millis),
    })
}

fn group((name, score): (String, store::WinDrawLoss)) -> Value {
    json!({
        "name": name,
        "won": score.won,
        "drawn": score.drawn,
        "lost": score.lost,
        "points": score.points(),
        "expected": (score.expected * 100.0).round() / 100.0,
    })
}

/// `GET /api/stats`: results by opponent, speed, color, opening and tournament, ratings over time, and clock statistics.
pub(super) async fn stats(
    State(state): State<AppState>,
    Params(query): Params<GameQuery>,
) -> Result<Json<Value>, ApiError> {
    let filter = query.filter()?;
    // Each query is a pass over all games, so they run concurrently.
    let (rated, timed) = (filter.clone(), filter.clone());
    let (overview, ratings, timings) = tokio::try_join!(
        state
            .records
            .query(move |reader| Ok(reader.overview(&filter)?)),
        state
            .records
            .query(move |reader| Ok(reader.rating_histories(&rated)?)),
        state
            .records
            .query(move |reader| Ok(reader.timings(&timed)?)),
    )?;
    let groups =
        |scores: Vec<_>| -> Vec<Value> { scores.into_iter().take(MAX_GROUPS).map(group).collect() };
    Ok(Json(json!({
        "by_opponent": groups(overview.opponent),
        "by_speed": groups(overview.speed),
        "by_color": groups(overview.color),
        "by_opening": groups(overview.opening),
        "by_tournament": groups(overview.tournament),
        "ratings": ratings,
        "timing": timings.iter().map(timing).collect::<Vec<_>>(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> GameQuery {
        let mut query = GameQuery::default();
        for (name, value) in pairs {
            let value = (*value).to_owned();
            match *name {
                "opponent" => query.opponent = value,
                "result" => query.result = value,
                "color" => query.color = value,
                "rated" => query.rated = value,
                "since" => query.since = value,
                "until" => query.until = value,
                "text" => query.text = value,
                "offset" => query.offset = value,
                "limit" => query.limit = value,
                "sort" => query.sort = value,
                "ascending" => query.ascending = value,
                other => panic!("{other}"),
            }
        }
        query
    }

    #[test]
    fn query_is_converted_to_filter() {
        let all = query(&[("opponent", ""), ("rated", "")]);
        assert_eq!(all.filter().expect("a filter"), Filter::default());
        assert_eq!(
            all.page().expect("a page"),
            store::Page::first(DEFAULT_LIMIT)
        );
        let some = query(&[
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
        assert_eq!(some.page().expect("a page").limit, MAX_LIMIT);
        let millis = query(&[("since", "1779580800000")]);
        assert_eq!(millis.filter().expect("a filter").since, filter.since);
    }

    #[test]
    fn query_with_invalid_value_names_it() {
        for (name, value) in [
            ("result", "w"),
            ("color", "green"),
            ("rated", "yes"),
            ("since", "yesterday"),
        ] {
            let error = query(&[(name, value)]).filter().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}={value}: ")), "{error}");
        }
        assert!(query(&[("limit", "-1")]).page().is_err());
        let error = query(&[("sort", "luck")]).order().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("sort=luck: expected one of started, ")
        );
        assert!(query(&[("ascending", "up")]).order().is_err());
        let longest = query(&[("sort", "plies")]).order().expect("an order");
        assert_eq!((longest.by, longest.ascending), (Sort::Plies, false));
    }
}
