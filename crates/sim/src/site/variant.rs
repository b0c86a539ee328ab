//! Variants, speeds and perfs with the names used by Lichess.

use crate::time_control::{TimeControl, clock_estimate};

/// Variants supported by the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Standard,
    Chess960,
    FromPosition,
}

/// Keys of Lichess variants that the simulator does not support.
const UNSUPPORTED_VARIANTS: [&str; 7] = [
    "crazyhouse",
    "antichess",
    "atomic",
    "horde",
    "kingOfTheHill",
    "racingKings",
    "threeCheck",
];

impl Variant {
    /// Parses a variant key.
    ///
    /// # Errors
    ///
    /// The message for the client: the variant is not supported here, or unknown.
    pub(crate) fn from_key(key: &str) -> Result<Self, String> {
        match key {
            "standard" => Ok(Self::Standard),
            "chess960" => Ok(Self::Chess960),
            "fromPosition" => Ok(Self::FromPosition),
            _ if UNSUPPORTED_VARIANTS.contains(&key) => Err(format!(
                "This simulator does not play {key}: only standard, chess960 and fromPosition"
            )),
            _ => Err("Invalid variant".to_owned()),
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Chess960 => "chess960",
            Self::FromPosition => "fromPosition",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::Chess960 => "Chess960",
            Self::FromPosition => "From Position",
        }
    }

    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Standard => "Std",
            Self::Chess960 => "960",
            Self::FromPosition => "FEN",
        }
    }
}

/// Speed of a game by its estimated duration: limit + 40 increments, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Speed {
    UltraBullet,
    Bullet,
    Blitz,
    Rapid,
    Classical,
    Correspondence,
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

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::UltraBullet => "ultraBullet",
            Self::Bullet => "bullet",
            Self::Blitz => "blitz",
            Self::Rapid => "rapid",
            Self::Classical => "classical",
            Self::Correspondence => "correspondence",
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
