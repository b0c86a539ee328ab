//! An option of an engine, as UCI and XBoard's protocol describe it.

use std::fmt;
use std::ops::RangeInclusive;

use super::uci::after_words;

/// Upper limit of the choices that are kept of an option.
const MAX_CHOICES: usize = 256;

/// An option of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineOption {
    pub name: String,
    pub kind: OptionKind,
    /// Value without a setting.
    pub default: Option<String>,
}

/// Type of an option with its valid values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionKind {
    /// A number.
    Spin(RangeInclusive<i64>),
    /// One of several texts; a check box is `true` or `false`.
    Choice(Vec<String>),
    /// Any text.
    Any,
    /// An action without a value.
    Button,
}

impl OptionKind {
    fn check() -> Self {
        Self::Choice(["true", "false"].map(str::to_owned).into())
    }

    /// Returns whether the option takes this value.
    pub fn fits(&self, value: &str) -> bool {
        match self {
            Self::Spin(range) => value.parse().is_ok_and(|value| range.contains(&value)),
            Self::Choice(choices) => choices.iter().any(|choice| choice == value),
            // A line break would be another command.
            Self::Any => !value.contains(['\n', '\r']),
            // The value is not sent.
            Self::Button => ["", "true"].contains(&value),
        }
    }
}

/// The valid values, for "takes ...".
impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spin(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::Choice(choices) => f.write_str(&choices.join(", ")),
            Self::Any => f.write_str("a line of text"),
            Self::Button => f.write_str("true, since it is a button"),
        }
    }
}

impl EngineOption {
    /// Parses an `option` line of UCI.
    pub(crate) fn parse_uci(line: &str) -> Option<Self> {
        let line = line.replace('\t', " ");
        let (name, rest) = after_words(&line, ["option", "name"])?.split_once(" type ")?;
        let after = |word: &str| {
            let mut words = rest.split_whitespace();
            words.find(|other| *other == word)?;
            words.next()
        };
        let number = |word| after(word).and_then(|text| text.parse().ok());
        let word = rest.split_whitespace().next();
        let default = match word {
            Some("button") => None,
            // They may have spaces.
            Some("string" | "combo") => rest.split_once(" default ").map(|(_, text)| {
                let text = text.split(" var ").next().unwrap_or_default().trim();
                text.replace("<empty>", "")
            }),
            _ => after("default").map(str::to_owned),
        };
        let kind = match (word, number("min"), number("max")) {
            (_, Some(min), Some(max)) => OptionKind::Spin(min..=max),
            (Some("check"), ..) => OptionKind::check(),
            (Some("combo"), ..) => {
                let choices = rest.split(" var ").skip(1);
                let choices = choices.map(|choice| choice.trim().to_owned());
                OptionKind::Choice(choices.take(MAX_CHOICES).collect())
            }
            (Some("button"), ..) => OptionKind::Button,
            _ => OptionKind::Any,
        };
        let name = name.trim().to_owned();
        Some(Self {
            name,
            kind,
            default,
        })
    }

    /// Parses the value of an `option` feature of XBoard's protocol: `Style -combo Solid /// *Risky`.
    pub(crate) fn parse_xboard(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(" -")?;
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let rest = rest.trim();
        let mut numbers = rest.split_whitespace().map(str::parse);
        let (kind, default) = match word {
            "spin" | "slider" => match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(value)), Some(Ok(min)), Some(Ok(max))) => {
                    let _: i64 = value;
                    (OptionKind::Spin(min..=max), Some(value.to_string()))
                }
                _ => return None,
            },
            "check" => (OptionKind::check(), Some((rest == "1").to_string())),
            "combo" => {
                let choices = rest.split("///").map(str::trim).take(MAX_CHOICES);
                let choices: Vec<&str> = choices.collect();
                let chosen = choices.iter().find_map(|choice| choice.strip_prefix('*'));
                // Many engines mark none.
                let chosen = chosen.or_else(|| choices.first().copied());
                let names = choices.iter().map(|choice| choice.trim_start_matches('*'));
                let kind = OptionKind::Choice(names.map(str::to_owned).collect());
                (kind, chosen.map(str::to_owned))
            }
            "button" | "save" | "reset" => (OptionKind::Button, None),
            _ => (OptionKind::Any, Some(rest.to_owned())),
        };
        let name = name.trim().to_owned();
        Some(Self {
            name,
            kind,
            default,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_lines_are_parsed() {
        let one_of = |choices: &[&str]| {
            OptionKind::Choice(choices.iter().map(|&choice| choice.to_owned()).collect())
        };
        for (name, uci, xboard, kind, default) in [
            (
                "UCI_Elo",
                "spin default 1350 min 1350 max 2850",
                "spin 1350 1350 2850",
                OptionKind::Spin(1_350..=2_850),
                Some("1350"),
            ),
            (
                "Ponder",
                "check default false",
                "check 0",
                one_of(&["true", "false"]),
                Some("false"),
            ),
            (
                "Style",
                "combo default Very risky var Solid var Very risky",
                "combo Solid /// *Very risky",
                one_of(&["Solid", "Very risky"]),
                Some("Very risky"),
            ),
            ("Clear Hash", "button", "button", OptionKind::Button, None),
            (
                "UCI_Variant",
                "combo default chess var chess var atomic",
                "combo chess /// atomic",
                one_of(&["chess", "atomic"]),
                Some("chess"),
            ),
            (
                "Contempt",
                "spin default 0 min -100 max 100",
                "slider 0 -100 100",
                OptionKind::Spin(-100..=100),
                Some("0"),
            ),
            (
                "Book File",
                "string default <empty>",
                "file",
                OptionKind::Any,
                Some(""),
            ),
        ] {
            let option = EngineOption {
                name: name.to_owned(),
                kind,
                default: default.map(str::to_owned),
            };
            for line in [
                format!("option name {name} type {uci}"),
                format!("  option\tname  {name}  type  {uci} "),
            ] {
                assert_eq!(EngineOption::parse_uci(&line).as_ref(), Some(&option));
            }
            let text = format!("{name} -{xboard}");
            assert_eq!(EngineOption::parse_xboard(&text), Some(option));
        }
        assert_eq!(EngineOption::parse_uci("id name Option"), None);
        assert_eq!(EngineOption::parse_xboard("Depth -spin x 1 2"), None);
        assert!(!OptionKind::Any.fits("x\nquit"));
    }
}
