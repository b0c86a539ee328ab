//! `[matchmaking]` and `[[matchmaking.profile]]`: challenges sent to other bots.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::block_list::BlockList;
use super::rule::{ClockSpec, Pattern, Range, one_or_many};
use super::seconds;
use crate::lichess::model::{Speed, TimeControl, Variant};

section! {
    /// `[matchmaking]`
    pub struct Matchmaking {
        /// Whether to challenge other bots when there is nothing to play.
        pub enabled: bool = false,
        /// Seconds before the first challenge, and after the start of a game, in which others may come first.
        pub idle_s: u64 = 60,
        /// Games with a clock up to which further ones are sought.
        pub concurrency: usize = 1,
        /// Correspondence games up to which further ones are sought.
        pub correspondence_games: usize = 4,
        /// Which of the opponents that fit comes first.
        pub order: Order = Order::Due,
        /// Seconds after which an unanswered challenge is canceled.
        pub challenge_timeout_s: u64 = 20,
        /// How many of the 100 bot games per day are reserved for incoming challenges and arenas.
        pub reserved_games: u32 = 20,
        /// Users that are never challenged, in addition to `challenge.block`.
        pub block: Vec<Pattern>,
        /// Lists of users that are never challenged, in addition to `challenge.block_lists`.
        pub block_lists: Vec<BlockList>,
        /// Kinds of games to play; if empty, the default profile.
        #[serde(skip_serializing)]
        pub profile: Vec<Profile>,
    }
}

section! {
    /// `[[matchmaking.profile]]`: a kind of game and its opponents.
    pub struct Profile {
        /// Name in the log; a profile without a name is identified by its number.
        pub name: String,
        /// Relative frequency among the profiles.
        pub weight: u32 = 1,
        /// Time controls, one of which is chosen.
        #[serde(deserialize_with = "one_or_many")]
        pub clock: Vec<ClockSpec> = vec![TimeControl::Clock { limit: 180, increment: 2 }.into()],
        /// Variants, one of which is chosen.
        #[serde(with = "super::values::one_or_list")]
        pub variant: Vec<Variant> = vec![Variant::Standard],
        /// Whether the game is rated.
        pub rated: bool = true,
        /// Our color.
        pub color: ColorPreference = ColorPreference::Balanced,
        /// The opponent's rating in this kind of game.
        pub rating: Option<Range>,
        /// The opponent's rating minus ours.
        pub rating_diff: Option<Range>,
    }
}

/// Order of the opponents that fit a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The one whose last game with us is the longest ago.
    Due,
    /// The one with the rating nearest to ours.
    Nearest,
    /// The one with the highest rating.
    Strongest,
    /// The one with the lowest rating.
    Weakest,
}

/// The color to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorPreference {
    /// Pairs of games against the same opponent, one with each color.
    Balanced,
    White,
    Black,
    /// Chosen by Lichess at random.
    Random,
}

/// Largest rating difference to an opponent if a profile sets neither `rating` nor `rating_diff`.
const DEFAULT_RATING_DIFF: i64 = 300;

impl Matchmaking {
    /// The profiles; the default one if none is configured.
    pub fn profiles(&self) -> Vec<Profile> {
        match &self.profile[..] {
            [] => vec![Profile::default()],
            some => some.to_vec(),
        }
    }

    /// Time in which others may come first.
    pub fn idle(&self) -> Duration {
        seconds(self.idle_s)
    }

    /// Time after which an unanswered challenge is canceled.
    pub fn challenge_timeout(&self) -> Duration {
        seconds(self.challenge_timeout_s)
    }
}

impl Profile {
    /// Name in the log; `number` is counted from 0.
    pub fn display_name(&self, number: usize) -> String {
        match self.name.as_str() {
            "" => format!("profile {}", number + 1),
            name => format!("profile `{name}`"),
        }
    }

    /// Returns whether an opponent with this rating fits the profile, given our own rating.
    ///
    /// A profile without `rating` and `rating_diff` takes opponents of about our own rating.
    pub fn wants(&self, rating: Option<i32>, ours: Option<i32>) -> bool {
        let difference = rating
            .zip(ours)
            .map(|(theirs, ours)| i64::from(theirs) - i64::from(ours));
        let within = |band: Option<Range>, number: Option<i64>| {
            band.is_none_or(|band| number.is_some_and(|number| band.contains(number)))
        };
        match (self.rating, self.rating_diff) {
            (None, None) => {
                difference.is_none_or(|difference| difference.abs() <= DEFAULT_RATING_DIFF)
            }
            (band, near) => within(band, rating.map(i64::from)) && within(near, difference),
        }
    }
}

type Keys = &'static [&'static str];

const PROFILE_KEYS: Keys = &["profile"];

/// Contradictions in the settings: the keys involved and a sentence.
pub(super) fn contradictions(matchmaking: &Matchmaking) -> Vec<(Keys, Option<usize>, String)> {
    let mut found: Vec<(Keys, Option<usize>, String)> = Vec::new();
    if !matchmaking.enabled {
        return found;
    }
    let reserve = matchmaking.reserved_games;
    if reserve >= 100 {
        let why = format!(
            "{reserve} games a day are reserved for others, but there are 100 in all; to send no challenges write enabled = false"
        );
        found.push((&["reserved_games"], None, why));
    }
    if matchmaking.concurrency == 0 {
        let why = "no game would be sought; to send no challenges write enabled = false";
        found.push((&["concurrency"], None, why.to_owned()));
    }
    if matchmaking.challenge_timeout_s == 0 {
        let why = "a challenge would be canceled after 0 seconds; the minimum is 1";
        found.push((&["challenge_timeout_s"], None, why.to_owned()));
    }
    for (number, profile) in matchmaking.profile.iter().enumerate() {
        let name = profile.display_name(number);
        let sentences = profile_contradictions(profile).into_iter();
        let sentences = sentences.map(|sentence| format!("{name}: {sentence}"));
        found.extend(sentences.map(|sentence| (PROFILE_KEYS, Some(number), sentence)));
    }
    found
}

fn profile_contradictions(profile: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    if profile.weight == 0 {
        found.push("with weight = 0 it is never used; remove it".to_owned());
    }
    for clock in &profile.clock {
        found.extend(
            time_control_problem(clock.time()).map(|problem| format!("{clock}: {problem}")),
        );
    }
    let variants = || profile.variant.iter().copied();
    let unrated = profile.clock.iter().find_map(|clock| {
        let is_unrated =
            |it: &Variant| *it != Variant::FromPosition && !is_rateable(clock.time(), *it);
        Some((clock, variants().find(is_unrated)?))
    });
    if let (Some((clock, variant)), true) = (unrated, profile.rated) {
        found.push(format!("Lichess never rates {variant} with {clock}"));
    }
    if profile.variant.contains(&Variant::FromPosition) {
        let problem =
            "fromPosition needs a position, which a profile cannot give; use another variant";
        found.push(problem.to_owned());
    }
    found
}

/// Days for a move that Lichess offers.
const DAYS_PER_MOVE: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];

/// Returns whether Lichess can rate a game that bots may play: a standard one always, one from a position never, other
/// variants only with a clock of more than 0+1.
pub fn is_rateable(time: TimeControl, variant: Variant) -> bool {
    match (variant, time) {
        (Variant::Standard, _) => true,
        (Variant::FromPosition, _) => false,
        (_, TimeControl::Clock { limit, increment }) => limit > 0 || increment > 1,
        _ => false,
    }
}

/// The reason why no challenge with this time control can be sent, if there is one.
pub fn time_control_problem(time: TimeControl) -> Option<&'static str> {
    match time {
        TimeControl::Unlimited | TimeControl::Unknown => {
            Some("matchmaking plays no game without a time limit")
        }
        TimeControl::Clock { limit, increment }
            if Speed::of_clock(limit, increment) == Speed::UltraBullet =>
        {
            Some("bots may not play that fast")
        }
        other => unoffered(other),
    }
}

/// Why Lichess has no challenge with a time control.
pub fn unoffered(time: TimeControl) -> Option<&'static str> {
    match time {
        TimeControl::Clock { limit, increment } => {
            let is_base =
                matches!(limit, 0 | 15 | 30 | 45 | 90) || (limit % 60 == 0 && limit <= 10_800);
            let is_offered = is_base && increment <= 60 && (limit, increment) != (0, 0);
            (!is_offered).then_some(
                "Lichess has no such clock: it begins with ¼, ½, ¾, 1.5 or whole minutes up to 180, and adds up to 60 seconds",
            )
        }
        TimeControl::Correspondence { days } => (!DAYS_PER_MOVE.contains(&days))
            .then_some("Lichess has 1, 2, 3, 5, 7, 10 or 14 days for a move"),
        TimeControl::Unlimited | TimeControl::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Option<Range> {
        let text = toml::Value::String(text.to_owned());
        Some(text.try_into().unwrap())
    }

    #[test]
    fn profile_with_rating_limits_selects_opponents() {
        // rating, rating_diff, their rating, our rating, whether they are selected
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
    fn time_control_unknown_to_lichess_is_rejected() {
        let clock =
            |limit, increment| time_control_problem(TimeControl::Clock { limit, increment });
        for (limit, increment) in [(30, 0), (0, 1), (90, 1), (180, 2), (10_800, 60)] {
            assert_eq!(clock(limit, increment), None, "{limit}+{increment}");
        }
        for (limit, increment) in [(15, 0), (75, 0), (10_860, 0), (60, 61), (0, 0)] {
            assert!(clock(limit, increment).is_some(), "{limit}+{increment}");
        }
        let days = |days| time_control_problem(TimeControl::Correspondence { days });
        assert!(days(2).is_none() && days(4).is_some());
        assert!(time_control_problem(TimeControl::Unlimited).is_some());
    }

    #[test]
    fn variants_are_rated_only_with_a_clock() {
        let clock = |limit, increment| TimeControl::Clock { limit, increment };
        let days = TimeControl::Correspondence { days: 2 };
        let unlimited = TimeControl::Unlimited;
        for time in [clock(0, 1), clock(60, 0), days, unlimited] {
            assert!(is_rateable(time, Variant::Standard), "{time}");
            assert!(!is_rateable(time, Variant::FromPosition), "{time}");
        }
        for (time, rated) in [
            (clock(0, 1), false),
            (clock(0, 2), true),
            (clock(30, 0), true),
            (days, false),
            (unlimited, false),
        ] {
            assert_eq!(is_rateable(time, Variant::Atomic), rated, "{time}");
        }
    }
}
