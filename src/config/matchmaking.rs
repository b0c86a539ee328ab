//! `[matchmaking]` and `[[matchmaking.profile]]`: whom to challenge when nobody challenges us, and to what.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rule::{Exact, Pattern, Range, one_or_many};
use super::seconds;
use super::settings::Variant;
use crate::lichess::model::{Speed, TimeControl};

/// `[matchmaking]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matchmaking {
    /// Whether to challenge other bots when there is nothing to play.
    pub enabled: bool,
    /// Seconds without a game before that.
    pub idle_s: u64,
    /// Seconds after which a challenge that nobody answers is taken back.
    pub challenge_timeout_s: u64,
    /// Of the 100 games between bots a day, so many are left to challenges that come to us and to arenas.
    pub reserved_games: u32,
    /// Who is never challenged, beside those of `challenge.block`.
    pub block: Vec<Pattern>,
    /// Whom to challenge and to what; without any, the default profile.
    #[serde(skip_serializing)]
    pub profile: Vec<Profile>,
}

/// `[[matchmaking.profile]]`: a kind of game, and against whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// What the log calls it; without a name it is called by its number.
    pub name: String,
    /// How often it is taken, beside the others.
    pub weight: u32,
    /// One of these time controls.
    #[serde(deserialize_with = "one_or_many")]
    pub clock: Vec<Exact>,
    /// One of these variants.
    #[serde(deserialize_with = "one_or_many")]
    pub variant: Vec<Variant>,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// Our colour.
    pub color: Side,
    /// The opponent's rating in this kind of game.
    pub rating: Option<Range>,
    /// The opponent's rating less ours.
    pub rating_diff: Option<Range>,
}

/// Which colour to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// A pair of games against the same opponent, one with each.
    Balanced,
    White,
    Black,
    /// It is left to chance.
    Random,
}

impl Default for Matchmaking {
    fn default() -> Self {
        Self {
            enabled: false,
            idle_s: 60,
            challenge_timeout_s: 20,
            reserved_games: 20,
            block: Vec::new(),
            profile: Vec::new(),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        let blitz = TimeControl::Clock {
            limit: 180,
            increment: 2,
        };
        Self {
            name: String::new(),
            weight: 1,
            clock: vec![blitz.into()],
            variant: vec![Variant::Standard],
            rated: true,
            color: Side::Balanced,
            rating: None,
            rating_diff: None,
        }
    }
}

/// How far an opponent's rating may be from ours where a profile says nothing about ratings.
const NEAR: i64 = 300;

impl Matchmaking {
    /// The profiles, of which there is always one.
    pub fn profiles(&self) -> Vec<Profile> {
        match &self.profile[..] {
            [] => vec![Profile::default()],
            some => some.to_vec(),
        }
    }

    /// How long nothing must be on.
    pub fn idle(&self) -> Duration {
        seconds(self.idle_s)
    }

    /// How long a challenge may stay unanswered.
    pub fn patience(&self) -> Duration {
        seconds(self.challenge_timeout_s)
    }
}

impl Profile {
    /// What it is called, being the one of this number, counted from 0.
    pub fn shown(&self, number: usize) -> String {
        match self.name.as_str() {
            "" => format!("profile {}", number + 1),
            name => format!("profile `{name}`"),
        }
    }

    /// Whether somebody with this rating is an opponent, if we have that one. Who says nothing about ratings wants
    /// opponents of about our own.
    pub fn wants(&self, rating: Option<i32>, ours: Option<i32>) -> bool {
        let difference = rating
            .zip(ours)
            .map(|(theirs, ours)| i64::from(theirs) - i64::from(ours));
        let within = |band: Option<Range>, number: Option<i64>| {
            band.is_none_or(|band| number.is_some_and(|number| band.contains(number)))
        };
        match (self.rating, self.rating_diff) {
            (None, None) => difference.is_none_or(|difference| difference.abs() <= NEAR),
            (band, near) => within(band, rating.map(i64::from)) && within(near, difference),
        }
    }
}

/// Names of keys.
type Keys = &'static [&'static str];

const IN_PROFILE: Keys = &["profile"];

/// What is wrong in the settings: the keys that have a part in it, and a sentence.
pub(super) fn faults(matchmaking: &Matchmaking) -> Vec<(Keys, String)> {
    let mut found: Vec<(Keys, String)> = Vec::new();
    if !matchmaking.enabled {
        return found;
    }
    let reserve = matchmaking.reserved_games;
    if reserve >= 100 {
        let why = format!(
            "{reserve} games a day are left to others, but there are 100 in all; to challenge nobody write enabled = false"
        );
        found.push((&["reserved_games"], why));
    }
    if matchmaking.challenge_timeout_s == 0 {
        let why = "a challenge would be taken back after 0 seconds; the least is 1";
        found.push((&["challenge_timeout_s"], why.to_owned()));
    }
    for (number, profile) in matchmaking.profile.iter().enumerate() {
        let name = profile.shown(number);
        let sentences = faults_of(profile).into_iter();
        found.extend(sentences.map(|sentence| (IN_PROFILE, format!("{name}: {sentence}"))));
    }
    found
}

fn faults_of(profile: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    if profile.weight == 0 {
        found.push("with weight = 0 it is never taken; take it out".to_owned());
    }
    for clock in &profile.clock {
        found.extend(fault_of(clock.time()).map(|fault| format!("{clock}: {fault}")));
    }
    // Standard games are rated with every clock that bots may play.
    let too_short = |clock: &&Exact| {
        let time = clock.time();
        matches!(
            time,
            TimeControl::Clock {
                limit: 0,
                increment: 0..=1
            }
        )
    };
    let unrated = profile.clock.iter().find(too_short);
    if let (Some(clock), true) = (
        unrated,
        profile.variant.contains(&Variant::Chess960) && profile.rated,
    ) {
        found.push(format!("Lichess never rates chess960 with {clock}"));
    }
    if profile.variant.contains(&Variant::FromPosition) {
        let fault = "games from a position have to be challenged to with a position; it can have standard and chess960";
        found.push(fault.to_owned());
    }
    found
}

/// Why nobody can be challenged to a game of this kind.
pub fn fault_of(time: TimeControl) -> Option<&'static str> {
    let TimeControl::Clock { limit, increment } = time else {
        return Some("only games with a clock are looked for");
    };
    let offered = matches!(limit, 0 | 15 | 30 | 45 | 90) || (limit % 60 == 0 && limit <= 10_800);
    if !offered || increment > 60 {
        return Some(
            "Lichess has no such clock: it begins with ¼, ½, ¾, 1.5 or whole minutes up to 180, and adds up to 60 seconds",
        );
    }
    (Speed::of_clock(limit, increment) == Speed::UltraBullet)
        .then_some("bots may not play that fast")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Option<Range> {
        let text = toml::Value::String(text.to_owned());
        Some(text.try_into().unwrap())
    }

    #[test]
    fn opponents_are_chosen_by_their_rating_and_its_distance_from_ours() {
        // The band, the difference, their rating, ours, and whether that is an opponent.
        let table = [
            (None, None, Some(1_800), Some(1_500), true),
            (None, None, Some(1_801), Some(1_500), false),
            (None, None, Some(1_199), Some(1_500), false),
            (None, None, None, Some(1_500), true),
            (Some("2000.."), None, Some(2_400), Some(1_500), true),
            (Some("2000.."), None, Some(1_999), Some(1_999), false),
            (Some("2000.."), None, None, Some(1_500), false),
            (None, Some("0..500"), Some(2_000), Some(1_500), true),
            (None, Some("0..500"), Some(1_499), Some(1_500), false),
            (None, Some("0..500"), Some(1_499), None, false),
            (
                Some("..1700"),
                Some("0..500"),
                Some(1_600),
                Some(1_500),
                true,
            ),
            (
                Some("..1700"),
                Some("0..500"),
                Some(1_800),
                Some(1_500),
                false,
            ),
        ];
        for (band, near, rating, ours, is) in table {
            let profile = Profile {
                rating: band.and_then(range),
                rating_diff: near.and_then(range),
                ..Profile::default()
            };
            let case = format!("{band:?} {near:?} {rating:?} {ours:?}");
            assert_eq!(profile.wants(rating, ours), is, "{case}");
        }
    }

    #[test]
    fn clocks_that_lichess_does_not_have_are_refused() {
        let clock = |limit, increment| fault_of(TimeControl::Clock { limit, increment });
        for (limit, increment) in [(30, 0), (0, 1), (90, 1), (180, 2), (10_800, 60)] {
            assert_eq!(clock(limit, increment), None, "{limit}+{increment}");
        }
        for (limit, increment) in [(15, 0), (75, 0), (10_860, 0), (60, 61), (0, 0)] {
            assert!(clock(limit, increment).is_some(), "{limit}+{increment}");
        }
        assert!(fault_of(TimeControl::Unlimited).is_some());
    }
}
