//! Form of a seek in the lobby.

use std::ops::RangeInclusive;

use crate::http::challenge_form::may_be_rated;
use crate::http::form::Form;
use crate::http::params::Params;
use crate::lobby::{RATINGS, SeekConfig};
use crate::site::error::INVALID;
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
    let mut form = Form::new(params);
    let time_control = time_control(&mut form);
    let variant = variant(&mut form);
    let rated = form.flag("rated");
    let ratings = ratings(&mut form);
    let color = form.color();
    if form.errors.is_empty() {
        match time_control {
            TimeControl::Clock {
                limit: 0,
                increment: 0,
            } => form.error("global", "Invalid clock"),
            _ if Speed::of(time_control) < Speed::Rapid && !in_browser => {
                form.error("global", "Invalid time control");
            }
            _ => {}
        }
    }
    form.check()?;
    Ok(SeekConfig {
        variant,
        time_control,
        rated: rated && may_be_rated(variant, time_control),
        color,
        ratings,
    })
}

fn time_control(form: &mut Form<'_>) -> TimeControl {
    let minutes: Option<f64> = match form.params.get("time") {
        Some(_) => form.number("time"),
        None => Some(DEFAULT_MINUTES),
    };
    let increment = form.number("increment").unwrap_or(DEFAULT_INCREMENT);
    let days = form.number("days");
    let seconds = minutes.unwrap_or(0.0) * 60.0;
    // Not a whole number, negative or too large: nothing that Lichess offers.
    let limit = if seconds.fract() == 0.0 {
        seconds as u32
    } else {
        u32::MAX
    };
    if seconds < 0.0 || !is_initial_time(limit) {
        form.error("time", INVALID);
    }
    if increment > MAX_INCREMENT {
        let text = format!("Must be less or equal to {MAX_INCREMENT}");
        form.error("increment", &text);
    }
    match days {
        None => TimeControl::Clock { limit, increment },
        Some(days) => {
            if !DAYS_PER_TURN.contains(&days) {
                form.error("days", INVALID);
            }
            TimeControl::Days(days)
        }
    }
}

/// All variants but games from a position.
fn variant(form: &mut Form<'_>) -> Variant {
    let key = form.params.get("variant").unwrap_or("standard");
    match Variant::from_key(key) {
        Ok(variant) if variant != Variant::FromPosition => variant,
        _ => {
            form.error("variant", INVALID);
            Variant::Standard
        }
    }
}

/// `1500-1800`.
fn ratings(form: &mut Form<'_>) -> RangeInclusive<i32> {
    let Some(text) = form.params.get("ratingRange") else {
        return RATINGS;
    };
    let parsed = text.split_once('-').and_then(|(min, max)| {
        let range: [i32; 2] = [min.parse().ok()?, max.parse().ok()?];
        let valid = range.iter().all(|rating| RATINGS.contains(rating)) && range[0] < range[1];
        valid.then_some(range[0]..=range[1])
    });
    parsed.unwrap_or_else(|| {
        form.error("ratingRange", INVALID);
        RATINGS
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::error::NOT_A_NUMBER;

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
