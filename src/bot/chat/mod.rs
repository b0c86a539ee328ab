//! Chat lines: templates, commands and rate limit.

mod command;
mod throttle;

use std::fmt::Display;

use crate::lichess::MAX_CHAT_UTF16_UNITS;
use crate::lichess::model::clean;

pub(super) use command::{Command, Facts, Requester};
pub(super) use throttle::Throttle;

/// Name of the program.
pub(super) const PROGRAM: &str = "Knightwatch";

/// Version of the program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Values of the placeholders in templates.
#[derive(Clone, Debug)]
pub(super) struct TemplateValues<'a> {
    /// Our name.
    pub me: &'a str,
    /// Name of the opponent.
    pub opponent: &'a str,
    /// Rating of the opponent.
    pub rating: Option<i32>,
    /// Our color.
    pub color: &'a str,
    /// Speed of the game.
    pub speed: &'a str,
    /// Time control of the game.
    pub time: String,
    /// Name of the engine that plays.
    pub engine: &'a str,
    /// How the game ended; `None` while it runs.
    pub ending: Option<Ending>,
}

/// How a game ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// Result in PGN notation.
    pub result: &'static str,
    /// Our outcome: `won`, `lost` or `drawn`.
    pub outcome: &'static str,
    /// Number of full moves.
    pub moves: usize,
}

impl TemplateValues<'_> {
    /// Value of a placeholder; `None` if there is none of this name.
    fn get(&self, name: &str) -> Option<String> {
        let ending = |describe: fn(&Ending) -> String| self.ending.as_ref().map(describe);
        match name {
            "me" => Some(self.me.to_owned()),
            "opponent" => Some(self.opponent.to_owned()),
            "rating" => Some(
                self.rating
                    .map_or("?".to_owned(), |rating| rating.to_string()),
            ),
            "color" => Some(self.color.to_owned()),
            "speed" => Some(self.speed.to_owned()),
            "time" => Some(self.time.clone()),
            "engine" => Some(self.engine.to_owned()),
            "version" => Some(VERSION.to_owned()),
            "result" => ending(|ending| ending.result.to_owned()),
            "outcome" => ending(|ending| ending.outcome.to_owned()),
            "moves" => ending(|ending| ending.moves.to_string()),
            _ => None,
        }
    }
}

/// Fills in the placeholders of a template and makes the text fit a chat line. `None` if nothing is left.
pub(super) fn fill(template: &str, values: &TemplateValues<'_>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    // Values are not scanned for placeholders.
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let found = after
            .split_once('}')
            .and_then(|(name, after)| Some((values.get(name)?, after)));
        rest = match found {
            Some((word, after)) => {
                text += &word;
                after
            }
            None => {
                text.push('{');
                after
            }
        };
    }
    fit(text + rest)
}

/// Makes a text fit a chat line: without control characters, and truncated. `None` if nothing is left.
pub(super) fn fit(text: impl Display) -> Option<String> {
    let text = clean(&text.to_string());
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.encode_utf16().count() <= MAX_CHAT_UTF16_UNITS {
        return Some(text.into());
    }
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units < MAX_CHAT_UTF16_UNITS
    };
    let cut: String = text.chars().take_while(fits).collect();
    Some(cut.trim_end().to_owned() + "…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LAST_PLACEHOLDERS, PLACEHOLDERS};

    fn words<'a>() -> TemplateValues<'a> {
        TemplateValues {
            me: "Rob",
            opponent: "Ann",
            rating: Some(1_500),
            color: "black",
            speed: "blitz",
            time: "3+2".to_owned(),
            engine: "Knightwatch",
            ending: None,
        }
    }

    fn over<'a>() -> TemplateValues<'a> {
        TemplateValues {
            ending: Some(Ending {
                result: "0-1",
                outcome: "won",
                moves: 34,
            }),
            ..words()
        }
    }

    #[test]
    fn fill_replaces_known_placeholders() {
        for (template, expected) in [
            ("Hello {opponent}, I am {me}.", "Hello Ann, I am Rob."),
            (
                "{rating} at {time} {speed}, {color}",
                "1500 at 3+2 blitz, black",
            ),
            ("{result}: I {outcome} in {moves}", "0-1: I won in 34"),
            ("{nobody} {", "{nobody} {"),
            ("{{me}}", "{Rob}"),
        ] {
            assert_eq!(fill(template, &over()).as_deref(), Some(expected));
        }
        assert_eq!(fill("{result}", &words()).as_deref(), Some("{result}"));
        assert_eq!(fill("  ", &words()), None);
        let nobody = TemplateValues {
            opponent: "{me}",
            rating: None,
            ..words()
        };
        let text = fill("{opponent} {rating}", &nobody);
        assert_eq!(text.as_deref(), Some("{me} ?"), "only once");
    }

    #[test]
    fn every_configurable_placeholder_has_value() {
        for name in PLACEHOLDERS {
            assert!(words().get(name).is_some(), "{name}");
        }
        for name in LAST_PLACEHOLDERS {
            assert!(
                words().get(name).is_none() && over().get(name).is_some(),
                "{name}"
            );
        }
    }

    #[test]
    fn long_line_is_cut_between_characters() {
        let text = fit("é".repeat(200)).unwrap();
        assert_eq!(text.chars().count(), MAX_CHAT_UTF16_UNITS);
        assert!(text.ends_with("é…"));
        assert_eq!(fit("é".repeat(140)).unwrap(), "é".repeat(140));
        // Each of these has two UTF-16 code units.
        assert_eq!(
            fit("♞\u{1f600}".repeat(60)).unwrap().encode_utf16().count(),
            140
        );
    }

    #[test]
    fn control_characters_are_removed() {
        let text = fit("\u{1b}[31mred\u{7}\n\u{202e}turned\u{0}").unwrap();
        assert_eq!(text, "[31mredturned");
        assert_eq!(fit("\u{200b}\n\t"), None);
    }
}
