//! Form of a seek in the lobby.

use std::ops::RangeInclusive;

use crate::http::challenge_form::{Errors, color, flag, may_be_rated, number};
use crate::http::params::Params;
use crate::lobby::{RATINGS, SeekConfig};
use crate::site::error::{INVALID, NOT_A_NUMBER};
use crate::site::{ApiError, Speed, Variant};
use crate::time_control::{DAYS_PER_TURN, TimeControl, is_initial_time};

/// Defaults of a seek without a time control.
const DEFAULT_MINUTES: f64 = 10.0;
const DEFAULT_INCREMENT: u32 = 5;
/// Maximum increment of a seek, in seconds.
const MAX_INCREMENT: u32 = 180;

/// Parses the form of a seek. Games that are too fast for the Board API can only be sought in a browser.
///
/// # Errors
/// Lists all invalid fields.
pub(crate) fn seek_config(params: &Params, in_browser: bool) -> Result<SeekConfig, ApiError> {
    let mut errors = Errors::new();
    let time_control = time_control(params, &mut errors);
    let variant = variant(params, &mut errors);
    let rated = flag(params, "rated", &mut errors);
    let ratings = ratings(params, &mut errors);
    let color = color(params, &mut errors);
    if errors.is_empty() {
        let fault = match time_control {
            TimeControl::Clock {
                limit: 0,
                increment: 0,
            } => Some("Invalid clock"),
            _ if Speed::of(time_control) < Speed::Rapid && !in_browser => {
                Some("Invalid time control")
            }
            _ => None,
        };
        errors.extend(fault.map(|text| ("global", text.to_owned())));
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid_form(errors));
    }
    Ok(SeekConfig {
        variant,
        time_control,
        rated: rated && may_be_rated(variant, time_control),
        color,
        ratings,
    })
}

fn time_control(params: &Params, errors: &mut Errors) -> TimeControl {
    let minutes = params
        .get("time")
        .map_or(Ok(DEFAULT_MINUTES), str::parse::<f64>);
    let increment = number(params, "increment", errors).unwrap_or(DEFAULT_INCREMENT);
    let days = number(params, "days", errors);
    let seconds = match minutes {
        Ok(minutes) => minutes * 60.0,
        Err(_) => {
            errors.push(("time", NOT_A_NUMBER.to_owned()));
            0.0
        }
    };
    // Not a whole number, negative or too large: nothing that Lichess offers.
    let limit = if seconds.fract() == 0.0 {
        seconds as u32
    } else {
        u32::MAX
    };
    if seconds < 0.0 || !is_initial_time(limit) {
        errors.push(("time", INVALID.to_owned()));
    }
    if increment > MAX_INCREMENT {
        let text = format!("Must be less or equal to {MAX_INCREMENT}");
        errors.push(("increment", text));
    }
    match days {
        None => TimeControl::Clock { limit, increment },
        Some(days) => {
            if !DAYS_PER_TURN.contains(&days) {
                errors.push(("days", INVALID.to_owned()));
            }
            TimeControl::Days(days)
        }
    }
}

/// All variants but games from a position.
fn variant(params: &Params, errors: &mut Errors) -> Variant {
    let key = params.get("variant").unwrap_or("standard");
    match Variant::from_key(key) {
        Ok(variant) if variant != Variant::FromPosition => variant,
        _ => {
            errors.push(("variant", INVALID.to_owned()));
            Variant::Standard
        }
    }
}

/// `1500-1800`.
fn ratings(params: &Params, errors: &mut Errors) -> RangeInclusive<i32> {
    let Some(text) = params.get("ratingRange") else {
        return RATINGS;
    };
    let parsed = text.split_once('-').and_then(|(min, max)| {
        let range: [i32; 2] = [min.parse().ok()?, max.parse().ok()?];
        let valid = range.iter().all(|rating| RATINGS.contains(rating)) && range[0] < range[1];
        valid.then_some(range[0]..=range[1])
    });
    parsed.unwrap_or_else(|| {
        errors.push(("ratingRange", INVALID.to_owned()));
        RATINGS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<SeekConfig, String> {
        seek_config(&Params::read(query, "", b"").unwrap(), false)
            .map_err(|refused| crate::http::error::body(refused.status, &refused.body).1)
    }

    #[test]
    fn seek_form_parses_time_controls() {
        for (query, expected) in [
            ("", TimeControl::clock(600, 5)),
            ("time=15&increment=10", TimeControl::clock(900, 10)),
            ("time=1.5&increment=20", TimeControl::clock(90, 20)),
            ("time=0&increment=180", TimeControl::clock(0, 180)),
            ("days=3", TimeControl::Days(3)),
        ] {
            assert_eq!(read(query).unwrap().time_control, expected, "{query}");
        }
        for (query, field, text) in [
            ("time=x&increment=0", "time", NOT_A_NUMBER),
            ("time=nan", "time", INVALID),
            ("time=-1", "time", INVALID),
            ("time=2.25", "time", INVALID),
            ("time=181", "time", INVALID),
            (
                "time=10&increment=181",
                "increment",
                "Must be less or equal to 180",
            ),
            ("days=4", "days", INVALID),
            ("time=0&increment=0", "global", "Invalid clock"),
            ("time=3&increment=2", "global", "Invalid time control"),
            ("variant=fromPosition", "variant", INVALID),
            ("variant=bughouse", "variant", INVALID),
            ("color=red", "color", INVALID),
            ("ratingRange=1800-1500", "ratingRange", INVALID),
            ("ratingRange=1500", "ratingRange", INVALID),
            ("ratingRange=100-1500", "ratingRange", INVALID),
        ] {
            let error: serde_json::Value = serde_json::from_str(&read(query).unwrap_err()).unwrap();
            assert_eq!(error[field][0], text, "{query}: {error}");
        }
    }

    #[test]
    fn seek_form_fast_games_need_a_browser() {
        let params = Params::read("time=3&increment=2", "", b"").unwrap();
        let config = seek_config(&params, true).unwrap();
        assert_eq!(config.time_control, TimeControl::clock(180, 2));
    }

    #[test]
    fn seek_form_parses_the_opponents_ratings() {
        assert_eq!(
            read("ratingRange=1500-1800").unwrap().ratings,
            1_500..=1_800
        );
        assert_eq!(read("ratingRange=").unwrap().ratings, RATINGS);
    }
}
