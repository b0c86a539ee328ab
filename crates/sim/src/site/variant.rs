//! Variants, speeds and perfs with the names used by Lichess.

use knightwatch_chess::{self as chess, Position};
use knightwatch_util::keys;

use crate::time_control::{TimeControl, clock_estimate};

/// The variants of Lichess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Standard,
    Chess960,
    FromPosition,
    /// Any other, by its rules; never [`chess::Variant::Standard`].
    Other(chess::Variant),
}

impl Variant {
    /// Parses a variant key.
    ///
    /// # Errors
    ///
    /// The message for the client: the variant is unknown.
    pub(crate) fn from_key(key: &str) -> Result<Self, String> {
        let standard = [Self::Standard, Self::Chess960, Self::FromPosition];
        let others = chess::Variant::ALL.into_iter().skip(1).map(Self::Other);
        standard
            .into_iter()
            .chain(others)
            .find(|variant| variant.key() == key)
            .ok_or_else(|| "Invalid variant".to_owned())
    }

    /// The rules of its games.
    pub(crate) fn rules(self) -> chess::Variant {
        match self {
            Self::Standard | Self::Chess960 | Self::FromPosition => chess::Variant::Standard,
            Self::Other(rules) => rules,
        }
    }

    /// The start position, if it is neither that of standard chess nor chosen by the players.
    pub(crate) fn special_start(self) -> Option<Position> {
        match self {
            Self::Other(rules @ (chess::Variant::Horde | chess::Variant::RacingKings)) => {
                Some(rules.start())
            }
            _ => None,
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Chess960 => "chess960",
            Self::FromPosition => "fromPosition",
            Self::Other(rules) => rules.key(),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::Chess960 => "Chess960",
            Self::FromPosition => "From Position",
            Self::Other(rules) => rules.name(),
        }
    }

    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Standard => "Std",
            Self::Chess960 => "960",
            Self::FromPosition => "FEN",
            Self::Other(rules) => match rules {
                chess::Variant::Standard => "Std",
                chess::Variant::Crazyhouse => "Crazy",
                chess::Variant::Antichess => "Anti",
                chess::Variant::Atomic => "Atom",
                chess::Variant::Horde => "Horde",
                chess::Variant::KingOfTheHill => "KotH",
                chess::Variant::RacingKings => "Racing",
                chess::Variant::ThreeCheck => "3check",
            },
        }
    }
}

keys! {
    /// Speed of a game by its estimated duration: limit + 40 increments, in seconds.
    #[derive(PartialOrd, Ord)]
    pub(crate) enum Speed {
        UltraBullet = "ultraBullet",
        Bullet = "bullet",
        Blitz = "blitz",
        Rapid = "rapid",
        Classical = "classical",
        Correspondence = "correspondence",
    }
}

impl Speed {
    pub(crate) fn of(time_control: TimeControl) -> Self {
        let TimeControl::Clock { limit, increment } = time_control else {
            return Self::Correspondence;
        };
        match clock_estimate(limit, increment) {
            0..30 => Self::UltraBullet,
            30..180 => Self::Bullet,
            180..480 => Self::Blitz,
            480..1_500 => Self::Rapid,
            1_500..21_600 => Self::Classical,
            _ => Self::Correspondence,
        }
    }
}

/// Rating category: key, name and code point of its icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Perf {
    pub key: &'static str,
    pub name: &'static str,
    pub icon: char,
}

impl Perf {
    pub(crate) fn of(variant: Variant, speed: Speed) -> Self {
        let (key, name, icon) = match (variant, speed) {
            (Variant::Chess960, _) => ("chess960", "Chess960", '\u{e006}'),
            (Variant::Other(rules), _) => (rules.key(), rules.name(), icon(rules)),
            (_, Speed::UltraBullet) => ("ultraBullet", "UltraBullet", '\u{e059}'),
            (_, Speed::Bullet) => ("bullet", "Bullet", '\u{e032}'),
            (_, Speed::Blitz) => ("blitz", "Blitz", '\u{e01d}'),
            (_, Speed::Rapid) => ("rapid", "Rapid", '\u{e017}'),
            (_, Speed::Classical) => ("classical", "Classical", '\u{e00a}'),
            (_, Speed::Correspondence) => ("correspondence", "Correspondence", '\u{e019}'),
        };
        Self { key, name, icon }
    }
}

/// Code point of a variant's icon.
fn icon(rules: chess::Variant) -> char {
    match rules {
        chess::Variant::Standard => '\u{e021}',
        chess::Variant::Crazyhouse => '\u{e066}',
        chess::Variant::Antichess => '\u{e01e}',
        chess::Variant::Atomic => '\u{e01c}',
        chess::Variant::Horde => '\u{e03d}',
        chess::Variant::KingOfTheHill => '\u{e007}',
        chess::Variant::RacingKings => '\u{e065}',
        chess::Variant::ThreeCheck => '\u{e00d}',
    }
}

/// Keys of all perfs of an account.
pub(crate) const PERF_KEYS: [&str; 14] = [
    "ultraBullet",
    "bullet",
    "blitz",
    "rapid",
    "classical",
    "correspondence",
    "chess960",
    "kingOfTheHill",
    "threeCheck",
    "antichess",
    "atomic",
    "horde",
    "racingKings",
    "crazyhouse",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_from_estimated_duration() {
        for (limit, increment, speed) in [
            (15, 0, Speed::UltraBullet),
            (30, 0, Speed::Bullet),
            (0, 1, Speed::Bullet),
            (60, 2, Speed::Bullet),
            (180, 0, Speed::Blitz),
            (300, 5, Speed::Rapid),
            (300, 4, Speed::Blitz),
            (1_500, 0, Speed::Classical),
            (10_800, 180, Speed::Classical),
        ] {
            let found = Speed::of(TimeControl::clock(limit, increment));
            assert_eq!(found, speed, "{limit}+{increment}");
        }
        assert_eq!(Speed::of(TimeControl::Days(1)), Speed::Correspondence);
        assert_eq!(Speed::of(TimeControl::Unlimited), Speed::Correspondence);
    }
}
