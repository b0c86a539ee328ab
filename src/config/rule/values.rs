//! Values of rules: number ranges, name patterns and time controls.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{TimeControl, Username};

/// An inclusive range of whole numbers: `5`, `"10..20"`, `"10.."` or `"..20"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    min: i64,
    max: i64,
}

impl Range {
    pub fn contains(self, number: i64) -> bool {
        (self.min..=self.max).contains(&number)
    }

    fn read(text: &str) -> Option<Self> {
        let end = |text: &str, open: i64| match text.trim() {
            "" => Some(open),
            number => number.parse().ok(),
        };
        let range = match text.split_once("..") {
            Some((min, max)) => Self {
                min: end(min, i64::MIN)?,
                max: end(max, i64::MAX)?,
            },
            None => Self::from(text.trim().parse::<i64>().ok()?),
        };
        let bounded = range.min > i64::MIN || range.max < i64::MAX;
        (bounded && range.min <= range.max).then_some(range)
    }
}

impl From<i64> for Range {
    fn from(number: i64) -> Self {
        Self {
            min: number,
            max: number,
        }
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// As it is written in the configuration.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(f, "{min}"),
            (i64::MIN, max) => write!(f, "..{max}"),
            (min, i64::MAX) => write!(f, "{min}.."),
            (min, max) => write!(f, "{min}..{max}"),
        }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct RangeVisitor;

        impl Visitor<'_> for RangeVisitor {
            type Value = Range;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a range from the lower to the upper bound, as in 5, \"10..20\", \"10..\" or \"..20\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Range, E> {
                Ok(number.into())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Range, E> {
                Ok(i64::try_from(number).unwrap_or(i64::MAX).into())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Range, E> {
                Range::read(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        from.deserialize_any(RangeVisitor)
    }
}

/// A pattern of user names, in which `*` matches any text, ignoring case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(String);

impl Pattern {
    /// Returns whether both are the same pattern, which may be written in another case.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }

    /// Returns whether this name matches.
    pub fn matches(&self, name: &str) -> bool {
        wildcard(&self.0.to_ascii_lowercase(), &name.to_ascii_lowercase())
    }
}

/// Returns whether the text matches a pattern, in which `*` matches any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut n) = (0, 0);
    // The last `*`, and the position in the text up to which it matches.
    let mut star = None;
    while n < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == text[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let name = address::id(&text, Page::User);
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-*".contains(letter);
        let letters = name.chars().filter(|letter| *letter != '*').count();
        let is_short = letters <= Username::MAX_CHARS && name.len() <= 2 * Username::MAX_CHARS;
        match !name.is_empty() && is_short && name.chars().all(fits) {
            true => Ok(Self(name.to_owned())),
            false => {
                Err("expected a name of at most 30 letters, in which * stands for any letters, as in \"Bot-*\"".into())
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pattern of any text, in which `*` matches any text, ignoring case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct TextPattern(String);

impl TextPattern {
    /// Returns whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        wildcard(&self.0.to_lowercase(), &text.to_lowercase())
    }
}

impl TryFrom<String> for TextPattern {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let expected = "expected a text, in which * stands for any text, as in \"*stockfish*\"";
        (!text.trim().is_empty())
            .then_some(Self(text))
            .ok_or(expected)
    }
}

/// The name of an engine, as profiles of bots mention it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct EngineName(String);

impl EngineName {
    /// Returns whether the text contains the name, ignoring case and not as a part of a longer word; a version may
    /// follow.
    pub fn is_in(&self, text: &str) -> bool {
        let (name, text) = (self.0.to_lowercase(), text.to_lowercase());
        let mut places = text.match_indices(&name);
        places.any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(char::is_alphabetic) && !after.is_some_and(char::is_alphabetic)
        })
    }
}

impl TryFrom<String> for EngineName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let name = text.trim();
        match name.contains(char::is_alphanumeric) {
            true => Ok(Self(name.to_owned())),
            false => Err("expected the name of an engine, as in \"stockfish\""),
        }
    }
}

/// A pattern of the first fields of a FEN, such as `"*Q*"` or `"* b"`. `*` matches any text within a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct FenPattern(String);

impl FenPattern {
    /// Returns whether each field of the pattern matches that of the FEN.
    pub fn matches(&self, fen: &str) -> bool {
        let mut fields = fen.split_whitespace();
        let mut patterns = self.0.split_whitespace();
        patterns.all(|pattern| fields.next().is_some_and(|field| wildcard(pattern, field)))
    }
}

impl TryFrom<String> for FenPattern {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let fields = text.split_whitespace().count();
        match (1..=6).contains(&fields) {
            true => Ok(Self(text)),
            false => Err(
                "expected a FEN or its first fields, in which * stands for any text, as in \"*Q*\"",
            ),
        }
    }
}

/// An exact time control: `"3+2"`, minutes and seconds as Lichess writes them, days per move as in `"2d"`, or
/// `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClockSpec(TimeControl);

impl ClockSpec {
    /// The time control.
    pub fn time(self) -> TimeControl {
        self.0
    }

    /// Returns whether `time` is this time control.
    pub fn is(self, time: TimeControl) -> bool {
        self.0 == time
    }
}

impl From<TimeControl> for ClockSpec {
    fn from(time: TimeControl) -> Self {
        Self(time)
    }
}

impl TryFrom<String> for ClockSpec {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let clock = || {
            let (minutes, increment) = text.split_once('+')?;
            let minutes = match minutes.trim() {
                "¼" => 0.25,
                "½" => 0.5,
                "¾" => 0.75,
                number => number.parse::<f64>().ok()?,
            };
            let limit = minutes * 60.0;
            let whole = limit.fract() == 0.0 && (0.0..=86_400.0).contains(&limit);
            Some(TimeControl::Clock {
                limit: whole.then_some(limit as u32)?,
                increment: increment.trim().parse().ok()?,
            })
        };
        let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
        let time = match days {
            Some(days) => Some(TimeControl::Correspondence { days }),
            None if text == "unlimited" => Some(TimeControl::Unlimited),
            None => clock(),
        };
        time.map(Self).ok_or(
            "expected minutes and seconds as on Lichess, as in \"3+2\" or \"0.5+0\", days for a move as in \"2d\", or \"unlimited\"",
        )
    }
}

impl From<ClockSpec> for String {
    fn from(clock_spec: ClockSpec) -> Self {
        clock_spec.to_string()
    }
}

/// As it is written in the configuration.
impl fmt::Display for ClockSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TimeControl::Correspondence { days } => write!(f, "{days}d"),
            time => time.fmt(f),
        }
    }
}

/// Deserializes a list, or a single element as a list of one.
pub(crate) fn one_or_many<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Either<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text in quotes, or a list of them")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(text.into_deserializer()).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    from.deserialize_any(Either(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_of_every_form_round_trips() {
        for (text, inside, outside) in [
            ("1500..2200", vec![1500, 2200], vec![1499, 2201]),
            ("..1500", vec![i64::MIN, 1500], vec![1501]),
            ("2000 ..", vec![2000, i64::MAX], vec![1999]),
            ("-200..0", vec![-200, 0], vec![-201, 1]),
            ("60", vec![60], vec![59, 61]),
        ] {
            let range = Range::read(text).unwrap();
            assert!(inside.iter().all(|n| range.contains(*n)), "{text}");
            assert!(!outside.iter().any(|n| range.contains(*n)), "{text}");
            assert_eq!(range.to_string(), text.replace(' ', ""));
        }
        for text in ["", "..", "5..4", "a..b", "1...2", "1.5"] {
            assert_eq!(Range::read(text), None, "{text}");
        }
    }

    #[test]
    fn pattern_with_star_matches_any_text() {
        let pattern = |text: &str| Pattern::try_from(text.to_owned()).unwrap();
        for (text, names, others) in [
            ("anna", vec!["Anna", "ANNA"], vec!["Ann", "Annas", ""]),
            ("bot-*", vec!["Bot-", "bot-7"], vec!["bot", "a-bot-7"]),
            ("*fish*", vec!["Stockfish", "fishnet", "FISH"], vec!["fis"]),
            (
                "a*b*c",
                vec!["abc", "aXbYc", "abbbc"],
                vec!["ab", "abca", "acb"],
            ),
            ("*", vec!["", "anybody"], vec![]),
        ] {
            let pattern = pattern(text);
            assert!(names.iter().all(|name| pattern.matches(name)), "{text}");
            assert!(!others.iter().any(|name| pattern.matches(name)), "{text}");
        }
        assert!(Pattern::try_from(String::new()).is_err());
        assert!(Pattern::try_from("two names".to_owned()).is_err());
        assert_eq!(pattern("https://lichess.org/@/Anna").to_string(), "Anna");
        assert!(Pattern::try_from("https://lichess.org/team/x".to_owned()).is_err());
    }

    #[test]
    fn engine_name_is_a_word_of_the_profile() {
        let name = |text: &str| EngineName::try_from(text.to_owned()).unwrap();
        for (engine, text, is) in [
            ("stockfish", "I run Stockfish 17 at home", true),
            (
                "Stockfish",
                "https://github.com/official-stockfish/Stockfish",
                true,
            ),
            ("stockfish", "STOCKFISH16", true),
            ("stockfish", "the stockfishes", false),
            ("lc0", "Lc0, maia-1500", true),
            ("sf", "transfer", false),
            ("é", "É", true),
        ] {
            assert_eq!(name(engine).is_in(text), is, "{engine} {text}");
        }
        assert!(EngineName::try_from(" - ".to_owned()).is_err());
    }

    #[test]
    fn fen_pattern_matches_field_by_field() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let ending = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1";
        for (pattern, fen, is) in [
            ("*Q*", start, true),
            ("*Q*", ending, false),
            ("* w", start, true),
            ("* w", ending, false),
            ("* * -", ending, true),
            (start, start, true),
            ("*p*", ending, false),
            ("* b *", "4k3/8/8/8/8/8/4P3/4K3 b", false),
        ] {
            let pattern = FenPattern::try_from(pattern.to_owned()).unwrap();
            assert_eq!(pattern.matches(fen), is, "{pattern:?} {fen}");
        }
        assert!(FenPattern::try_from(" ".to_owned()).is_err());
        assert!(FenPattern::try_from("1 2 3 4 5 6 7".to_owned()).is_err());
        let bio = |text: &str| TextPattern::try_from(text.to_owned()).unwrap();
        assert!(bio("*Über*bot*").matches("ein ÜBER-Bot\nhttps://example.org"));
        assert!(!bio("bot").matches("a bot"));
    }

    #[test]
    fn time_control_is_parsed_exactly() {
        let clock_spec = |text: &str| ClockSpec::try_from(text.to_owned());
        for (text, limit, increment) in [
            ("3+2", 180, 2),
            ("0.5+0", 30, 0),
            ("½+0", 30, 0),
            ("1.5+1", 90, 1),
            ("0+1", 0, 1),
        ] {
            let clock = TimeControl::Clock { limit, increment };
            assert!(clock_spec(text).unwrap().is(clock), "{text}");
        }
        assert!(clock_spec("unlimited").unwrap().is(TimeControl::Unlimited));
        let days = clock_spec("2d").unwrap();
        assert!(days.is(TimeControl::Correspondence { days: 2 }));
        assert_eq!(days.to_string(), "2d");
        for text in ["", "3", "3+", "+2", "-1+0", "0.001+0", "NaN+0", "3 days"] {
            assert!(clock_spec(text).is_err(), "{text}");
        }
    }
}
