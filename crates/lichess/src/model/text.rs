//! Sanitized text and numbers from the server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tracing::debug;

use super::Color;
pub use knightwatch_util::text::{clean, clip};

/// The clock that Lichess sends for a game without one; also the largest clock value that is accepted.
pub const UNLIMITED: Duration = Duration::from_millis(i32::MAX as u64);

/// Upper limit of displayed text, in characters: three times the longest chat line.
const MAX_TEXT_CHARS: usize = 420;

/// Displayed text.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    text_option(from).map(Option::unwrap_or_default)
}

/// Displayed text that may be absent.
pub(super) fn text_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(lenient::<_, Option<String>>(from)?.map(|text| clip(&text, MAX_TEXT_CHARS)))
}

/// Displayed text that may be absent, with spaces for line breaks.
pub(super) fn one_line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text: Option<String> = lenient(from)?;
    let words = text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(words.map(|text| clip(&text, MAX_TEXT_CHARS)))
}

/// Upper limit of a list of names: entries, and characters of each. Lichess has five game rules.
const MAX_NAMES: usize = 8;
const MAX_NAME_LENGTH: usize = 20;

/// A list of names, such as those of game rules.
pub(super) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names: Vec<String> = list(from)?;
    let names = names.into_iter().take(MAX_NAMES);
    Ok(names.map(|name| clip(&name, MAX_NAME_LENGTH)).collect())
}

/// A title such as `BOT` or `GM`.
pub(super) fn title<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(lenient::<_, Option<String>>(from)?.map(|text| clip(&text, 8)))
}

/// The default for `null` and for unexpected shapes: a field that no move depends on must not cost a game.
pub(super) fn lenient<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(from)?;
    if value.is_null() {
        return Ok(T::default());
    }
    let read = serde_json::from_value(value);
    let read = read.inspect_err(|why| debug!("left out: {}", clip(&why.to_string(), 200)));
    Ok(read.unwrap_or_default())
}

/// `white` or `black`; `None` for anything else.
pub(super) fn color<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Color>, D::Error> {
    Ok(match lenient::<_, Option<String>>(from)?.as_deref() {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    })
}

/// The items that can be parsed.
pub(crate) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<Value> = lenient(from)?;
    Ok(items.into_iter().filter_map(readable).collect())
}

/// The entries of an object that can be parsed.
pub(super) fn map<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let items: BTreeMap<String, Value> = lenient(from)?;
    let items = items.into_iter();
    Ok(items
        .filter_map(|(key, item)| Some((key, readable(item)?)))
        .collect())
}

fn readable<T: DeserializeOwned>(item: Value) -> Option<T> {
    let item = serde_json::from_value(item);
    item.inspect_err(|why| debug!("left out of a list: {}", clip(&why.to_string(), 200)))
        .ok()
}

/// A number, also one written as a string.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(from)?;
    let written = || value.as_str()?.trim().parse().ok();
    Ok(value.as_f64().or_else(written))
}

/// Milliseconds of any sign and size, also fractions, clamped to 0 ..= [`UNLIMITED`]. Anything else is zero: with an unknown
/// clock we move at once.
pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Ok(number(from)?.map_or(Duration::ZERO, |millis| clamped(millis / 1e3)))
}

/// Seconds, clamped in the same way.
pub(super) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(number(from)?.map(clamped))
}

fn clamped(seconds: f64) -> Duration {
    // Whole milliseconds; `max` also turns a NaN into zero.
    let millis = (seconds * 1e3)
        .round()
        .max(0.0)
        .min(UNLIMITED.as_millis() as f64);
    Duration::from_millis(millis as u64)
}

/// A number of any sign and size, clamped to the range of `i32`.
pub(super) fn rating<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    Ok(number(from)?.map(|number| number as i32))
}

/// A number clamped to the range of `i64`: milliseconds since 1970.
pub(super) fn timestamp_ms<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(number(from)?.map(|number| number as i64))
}

/// A number clamped to the range of `u32`: seconds, days, games and players.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(number(from)?.map(|number| number as u32))
}

/// [`count`], zero if absent.
pub(super) fn count_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    count(from).map(Option::unwrap_or_default)
}
