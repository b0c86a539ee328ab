//! Options of a UCI engine.

use std::fmt;
use std::ops::RangeInclusive;

/// Upper limit of the choices that are kept of an option.
const MAX_CHOICES: usize = 256;

/// A UCI option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UciOption {
    pub name: String,
    pub kind: OptionKind,
}

/// Type of an option with its valid values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionKind {
    /// A number.
    Spin(RangeInclusive<i64>),
    /// One of several texts; a check box is `true` or `false`.
    Choice(Vec<String>),
    /// Any text, or a button.
    Any,
}

impl OptionKind {
    /// Whether the option takes this value.
    pub fn fits(&self, value: &str) -> bool {
        match self {
            Self::Spin(range) => value.parse().is_ok_and(|value| range.contains(&value)),
            Self::Choice(choices) => choices.iter().any(|choice| choice == value),
            // A line break would be another command.
            Self::Any => !value.contains(['\n', '\r']),
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
        }
    }
}

impl UciOption {
    /// Parses an `option` line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("option name ")?.split_once(" type ")?;
        let after = |word: &str| {
            let mut words = rest.split_whitespace();
            words.find(|other| *other == word)?;
            words.next()?.parse().ok()
        };
        let kind = match (rest.split_whitespace().next(), after("min"), after("max")) {
            (_, Some(least), Some(most)) => OptionKind::Spin(least..=most),
            (Some("check"), ..) => OptionKind::Choice(["true", "false"].map(str::to_owned).into()),
            (Some("combo"), ..) => {
                let choices = rest.split(" var ").skip(1);
                let choices = choices.map(|choice| choice.trim().to_owned());
                OptionKind::Choice(choices.take(MAX_CHOICES).collect())
            }
            _ => OptionKind::Any,
        };
        let name = name.trim().to_owned();
        Some(Self { name, kind })
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
        for (line, name, kind) in [
            (
                "option name UCI_Elo type spin default 1350 min 1350 max 2850",
                "UCI_Elo",
                OptionKind::Spin(1_350..=2_850),
            ),
            (
                "option name Ponder type check default false",
                "Ponder",
                one_of(&["true", "false"]),
            ),
            (
                "option name Style type combo default Solid var Solid var Very risky",
                "Style",
                one_of(&["Solid", "Very risky"]),
            ),
            (
                "option name Clear Hash type button",
                "Clear Hash",
                OptionKind::Any,
            ),
            (
                "option name Contempt type spin default 0 min -100 max 100",
                "Contempt",
                OptionKind::Spin(-100..=100),
            ),
        ] {
            let name = name.to_owned();
            assert_eq!(
                UciOption::parse(line),
                Some(UciOption { name, kind }),
                "{line}"
            );
        }
        assert_eq!(UciOption::parse("id name Option"), None);
        assert!(!OptionKind::Any.fits("x\nquit"));
    }
}
