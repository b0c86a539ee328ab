//! Text and numbers from outside, made harmless where they enter.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tracing::debug;

use super::Color;

/// What Lichess sends as the clock of a game without one, in milliseconds; also the most that we believe.
pub const UNLIMITED: Duration = Duration::from_millis(i32::MAX as u64);

/// Text without control characters and without those that turn the direction of writing: names and chat end up in
/// terminals and logs.
pub fn clean(text: &str) -> String {
    let unsafe_char = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().filter(|&c| !unsafe_char(c)).collect()
}

/// The same, cut to `most` characters with an ellipsis.
pub fn clip(text: &str, most: usize) -> String {
    let mut short: String = clean(text);
    if let Some((end, _)) = short.char_indices().nth(most) {
        short.truncate(end);
        short.push('…');
    }
    short
}

/// The most that is kept of words that are shown, in characters: three times the longest line of chat.
const WORDS: usize = 420;

/// Words that are shown.
pub(super) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    words_option(from).map(Option::unwrap_or_default)
}

/// The same, which may be missing.
pub(super) fn words_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(lenient::<_, Option<String>>(from)?.map(|text| clip(&text, WORDS)))
}

/// The most names that are kept of a list of them, and the most of each, in characters. Lichess has five rules for games.
const NAMES: (usize, usize) = (8, 20);

/// Names such as those of rules.
pub(super) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let (count, length) = NAMES;
    let names: Vec<String> = list(from)?;
    let names = names.into_iter().take(count);
    Ok(names.map(|name| clip(&name, length)).collect())
}

/// A title such as `BOT` or `GM`.
pub(super) fn title<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(lenient::<_, Option<String>>(from)?.map(|text| clip(&text, 8)))
}

/// The default for what is `null` or of another shape than expected. No game may be lost by a field that no move depends
/// on.
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

/// `white` or `black`; anything else is nobody.
pub(super) fn color<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Color>, D::Error> {
    Ok(match lenient::<_, Option<String>>(from)?.as_deref() {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    })
}

/// What can be read of a list, and no harm done by what cannot.
pub(in crate::lichess) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<Value> = lenient(from)?;
    Ok(items.into_iter().filter_map(readable).collect())
}

/// What can be read of the values of an object, likewise.
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

/// A number, also one that is written as a string.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(from)?;
    let written = || value.as_str()?.trim().parse().ok();
    Ok(value.as_f64().or_else(written))
}

/// Milliseconds of any sign and size, also as a fraction, clamped to 0 ..= [`UNLIMITED`]. What is no number is zero: who
/// does not know their clock moves at once.
pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Ok(number(from)?.map_or(Duration::ZERO, |millis| clamped(millis / 1e3)))
}

/// Seconds, likewise.
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

/// The same for `i64`: milliseconds since 1970.
pub(super) fn stamp<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(number(from)?.map(|number| number as i64))
}

/// The same for `u32`: seconds, days, games and players.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(number(from)?.map(|number| number as u32))
}

/// The same, where nothing is zero.
pub(super) fn count_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    count(from).map(Option::unwrap_or_default)
}
