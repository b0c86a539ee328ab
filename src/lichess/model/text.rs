//! Text and numbers from outside, made harmless where they enter.

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
    String::deserialize(from).map(|text| clip(&text, WORDS))
}

/// The same, which may be missing.
pub(super) fn words_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|text| clip(&text, WORDS)))
}

/// The most names that are kept of a list of them, and the most of each, in characters. Lichess has five rules for games.
const NAMES: (usize, usize) = (8, 20);

/// Names such as those of rules.
pub(super) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let (count, length) = NAMES;
    let names: Vec<String> = nullable(from)?;
    let names = names.into_iter().take(count);
    Ok(names.map(|name| clip(&name, length)).collect())
}

/// A title such as `BOT` or `GM`.
pub(super) fn title<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|text| clip(&text, 8)))
}

/// `null` as the default: `"title":null` and no title at all are the same.
pub(super) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// `white` or `black`; anything else is nobody.
pub(super) fn color<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Color>, D::Error> {
    Ok(match Option::<String>::deserialize(from)?.as_deref() {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    })
}

/// What can be read of a list, and no harm done by what cannot.
pub(in crate::lichess) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let items = Option::<Vec<Value>>::deserialize(from)?.unwrap_or_default();
    let readable = |item| {
        let item = serde_json::from_value(item);
        item.inspect_err(|why| debug!("left out of a list: {}", clip(&why.to_string(), 200)))
            .ok()
    };
    Ok(items.into_iter().filter_map(readable).collect())
}

/// Milliseconds of any sign and size, also as a fraction, clamped to 0 ..= [`UNLIMITED`].
pub(super) fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Ok(clamped(f64::deserialize(from)? / 1e3))
}

/// Seconds, likewise.
pub(super) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.map(clamped))
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
    Ok(Option::<f64>::deserialize(from)?.map(|number| number as i32))
}
