//! What we say. Never on the way of a move; what becomes of it is of no importance.

mod command;
mod throttle;

use std::fmt::Display;

use crate::lichess::model::clean;

pub use command::{Asker, Command, Facts};
pub use throttle::Throttle;

/// The most that Lichess takes in one line, in the units of UTF-16 in which it counts; a longer one is refused.
const LONGEST: usize = 140;

/// What the program is called.
pub const PROGRAM: &str = "Knightwatch";

/// Its version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What texts can speak of.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    /// We.
    pub me: &'a str,
    /// The opponent.
    pub opponent: &'a str,
    /// His rating.
    pub rating: Option<i32>,
    /// Our colour.
    pub color: &'a str,
    /// The game's speed and time control.
    pub speed: &'a str,
    /// See `speed`.
    pub time: String,
    /// Once the game is over.
    pub ending: Option<Ending>,
}

/// How a game went.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// As in a tournament book.
    pub result: &'static str,
    /// The same in a word: won, lost or drawn, as we have it.
    pub outcome: &'static str,
    /// Full moves.
    pub moves: usize,
}

impl Words<'_> {
    /// What a placeholder stands for.
    fn of(&self, name: &str) -> Option<String> {
        let ending = |tell: fn(&Ending) -> String| self.ending.as_ref().map(tell);
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
            "version" => Some(VERSION.to_owned()),
            "result" => ending(|ending| ending.result.to_owned()),
            "outcome" => ending(|ending| ending.outcome.to_owned()),
            "moves" => ending(|ending| ending.moves.to_string()),
            _ => None,
        }
    }
}

/// Fills in what stands in braces, and makes a line of it that Lichess takes. `None` when there is nothing to say.
pub fn line(template: &str, words: &Words<'_>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    // Each pair of braces is looked at once: what is filled in is no template.
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let found = after
            .split_once('}')
            .and_then(|(name, after)| Some((words.of(name)?, after)));
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

/// A line that Lichess takes, without anything that turns a terminal upside down. `None` when there is nothing to say.
pub fn fit(text: impl Display) -> Option<String> {
    let text = clean(&text.to_string());
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.encode_utf16().count() <= LONGEST {
        return Some(text.into());
    }
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units < LONGEST
    };
    let cut: String = text.chars().take_while(fits).collect();
    Some(cut.trim_end().to_owned() + "…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LAST_PLACEHOLDERS, PLACEHOLDERS};

    fn words<'a>() -> Words<'a> {
        Words {
            me: "Rob",
            opponent: "Ann",
            rating: Some(1_500),
            color: "black",
            speed: "blitz",
            time: "3+2".to_owned(),
            ending: None,
        }
    }

    fn over<'a>() -> Words<'a> {
        Words {
            ending: Some(Ending {
                result: "0-1",
                outcome: "won",
                moves: 34,
            }),
            ..words()
        }
    }

    #[test]
    fn texts_are_filled_in() {
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
            assert_eq!(line(template, &over()).as_deref(), Some(expected));
        }
        assert_eq!(line("{result}", &words()).as_deref(), Some("{result}"));
        assert_eq!(line("  ", &words()), None);
        let nobody = Words {
            opponent: "{me}",
            rating: None,
            ..words()
        };
        let said = line("{opponent} {rating}", &nobody);
        assert_eq!(said.as_deref(), Some("{me} ?"), "only once");
    }

    #[test]
    fn whatever_the_configuration_may_name_stands_for_something() {
        for name in PLACEHOLDERS {
            assert!(words().of(name).is_some(), "{name}");
        }
        for name in LAST_PLACEHOLDERS {
            assert!(
                words().of(name).is_none() && over().of(name).is_some(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let said = fit("é".repeat(200)).unwrap();
        assert_eq!(said.chars().count(), LONGEST);
        assert!(said.ends_with("é…"));
        assert_eq!(fit("é".repeat(140)).unwrap(), "é".repeat(140));
        // Lichess counts two for each of these.
        assert_eq!(
            fit("♞\u{1f600}".repeat(60)).unwrap().encode_utf16().count(),
            140
        );
    }

    #[test]
    fn what_we_say_is_harmless() {
        let said = fit("\u{1b}[31mred\u{7}\n\u{202e}turned\u{0}").unwrap();
        assert_eq!(said, "[31mredturned");
        assert_eq!(fit("\u{200b}\n\t"), None);
    }
}
