//! Input of rules: a challenge or a game, and whether a rule matches it.

use serde::{Deserialize, Serialize};

use crate::bot::game::header::GameHeader;
use crate::config::{ClockSpec, ExtraRule, Match, OurColor, Pattern, Range, Title};
use crate::lichess::model::{
    Challenge, ChallengeUser, Color, ColorChoice, GameFull, Speed, TimeControl, Username, Variant,
};

/// An incoming challenge, or a game.
#[derive(Clone, Debug)]
pub struct MatchInput {
    /// The opponent; `None` if they have no account.
    pub name: Option<Username>,
    /// Whether the opponent is a bot or Lichess's own engine.
    pub bot: bool,
    /// Title of the opponent.
    pub title: Option<String>,
    /// Rating of the opponent in this kind of game.
    pub rating: Option<i32>,
    /// Whether that rating is provisional.
    pub provisional: bool,
    /// Our rating in this kind of game.
    pub our_rating: Option<i32>,
    pub variant: Variant,
    pub speed: Speed,
    pub time: TimeControl,
    pub rated: bool,
    /// Our color; random if it is not known.
    pub color: ColorChoice,
    /// Facts of the challenge, if it is known.
    pub facts: ChallengeFacts,
    /// Whether the game belongs to a tournament.
    pub tournament: bool,
}

impl MatchInput {
    /// Input for a challenge. `age_days` is the age of the challenger's account, if known.
    pub fn of_challenge(challenge: &Challenge, age_days: Option<u32>) -> Self {
        let from = challenge.challenger.as_ref();
        let us = challenge.dest_user.as_ref();
        Self {
            name: from.map(|from| from.name.clone()),
            bot: from.is_some_and(ChallengeUser::is_bot),
            title: from.and_then(|from| from.title.clone()),
            rating: from.and_then(|from| from.rating),
            provisional: from.is_some_and(|from| from.provisional),
            our_rating: us.and_then(|us| us.rating),
            variant: challenge.variant,
            speed: challenge.speed,
            time: challenge.time_control,
            rated: challenge.rated,
            color: match challenge.color {
                ColorChoice::White => ColorChoice::Black,
                ColorChoice::Black => ColorChoice::White,
                ColorChoice::Random => ColorChoice::Random,
            },
            facts: ChallengeFacts {
                age_days,
                random_color: challenge.color == ColorChoice::Random,
                rules: challenge.rules.clone(),
                rematch: challenge.rematch_of.is_some(),
            },
            tournament: false,
        }
    }

    /// Input for a game, from the first line of its stream.
    pub fn of_game(full: &GameFull, head: &GameHeader) -> Self {
        let (us, them) = (full.player(head.us), full.player(!head.us));
        Self {
            name: them.name.clone().or_else(|| them.id.clone()),
            bot: them.is_bot() || them.ai_level.is_some(),
            title: them.title.clone(),
            rating: them.rating,
            provisional: them.provisional,
            our_rating: us.rating,
            variant: full.variant,
            speed: full.speed,
            time: full.time_control(),
            rated: full.rated,
            color: match head.us {
                Color::White => ColorChoice::White,
                Color::Black => ColorChoice::Black,
            },
            facts: ChallengeFacts::default(),
            tournament: head.tournament,
        }
    }

    /// Name under which acceptances are counted.
    pub fn user_id(&self) -> String {
        self.name.as_ref().map_or_else(String::new, Username::id)
    }

    /// Name for messages.
    pub fn display_name(&self) -> &str {
        self.name.as_ref().map_or("Anonymous", Username::as_str)
    }
}

/// Facts that only a challenge contains, and that rules may ask for in its game as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChallengeFacts {
    /// Age of the challenger's account, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_days: Option<u32>,
    /// Whether the color was drawn at random, even if it is known by now.
    #[serde(alias = "chance")]
    pub random_color: bool,
    /// Extra rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Whether the challenge was a rematch.
    pub rematch: bool,
}

/// First condition of a rule that does not match; `None` if all match.
pub(super) fn first_mismatch(rule: &Match, input: &MatchInput) -> Option<String> {
    let flag = |wanted: Option<bool>, is: bool, yes: &str, no: &str| {
        let said = if is { yes } else { no };
        wanted
            .filter(|wanted| *wanted != is)
            .map(|_| said.to_owned())
    };
    let (base, increment, days) = match input.time {
        TimeControl::Clock { limit, increment } => (Some(limit), Some(increment), None),
        TimeControl::Correspondence { days } => (None, None, Some(days)),
        TimeControl::Unlimited | TimeControl::Unknown => (None, None, None),
    };
    let number = |n: Option<u32>| n.map(i64::from);
    let estimate = number(input.time.estimate());
    let (rating, ours) = (input.rating.map(i64::from), input.our_rating.map(i64::from));
    let range = |wanted: Option<Range>, what: &str, is: Option<i64>| {
        let wanted = wanted?;
        match is {
            Some(number) if wanted.contains(number) => None,
            Some(number) => Some(format!("{what} {number} is not in {wanted}")),
            None => Some(format!("{what} is not known")),
        }
    };
    let variant = input.variant.key();
    let speed = input.speed.key();
    let title = input.title.as_deref().unwrap_or("none");
    let name = input.display_name();
    let color = input.color;
    let has_rule = |wanted: &ExtraRule| {
        let mut rules = input.facts.rules.iter();
        rules.any(|rule| rule.eq_ignore_ascii_case(wanted.key()))
    };
    flag(rule.bot, input.bot, "a bot", "no bot")
        .or_else(|| {
            let fits = |wanted: &Title| wanted.key() == title;
            none_of(&rule.title, fits, || format!("title {title}"))
        })
        .or_else(|| {
            let fits = |wanted: &Pattern| {
                input
                    .name
                    .as_ref()
                    .is_some_and(|name| wanted.matches(name.as_str()))
            };
            none_of(&rule.name, fits, || format!("name {name}"))
        })
        .or_else(|| range(rule.rating, "rating", rating))
        .or_else(|| {
            let difference = rating.zip(ours).map(|(theirs, ours)| theirs - ours);
            range(rule.rating_diff, "rating_diff", difference)
        })
        .or_else(|| {
            let (yes, no) = ("rating is provisional", "rating is not provisional");
            flag(rule.provisional, input.provisional, yes, no)
        })
        .or_else(|| range(rule.age_days, "age_days", number(input.facts.age_days)))
        .or_else(|| {
            let fits = |wanted: &Variant| *wanted == input.variant;
            none_of(&rule.variant, fits, || format!("variant {variant}"))
        })
        .or_else(|| {
            let fits = |wanted: &Speed| *wanted == input.speed;
            none_of(&rule.speed, fits, || format!("speed {speed}"))
        })
        .or_else(|| {
            let fits = |wanted: &ClockSpec| wanted.is(input.time);
            none_of(&rule.clock, fits, || format!("clock {}", input.time))
        })
        .or_else(|| range(rule.base_s, "base_s", number(base)))
        .or_else(|| range(rule.increment_s, "increment_s", number(increment)))
        .or_else(|| range(rule.estimate_s, "estimate_s", estimate))
        .or_else(|| range(rule.days, "days", number(days)))
        .or_else(|| flag(rule.rated, input.rated, "rated", "casual"))
        .or_else(|| {
            let by_random_color = |wish| wish == ColorChoice::Random && input.facts.random_color;
            let fits = |wanted: &OurColor| wanted.wish() == color || by_random_color(wanted.wish());
            none_of(&rule.color, fits, || format!("our color {}", color.key()))
        })
        .or_else(|| none_of(&rule.rules, has_rule, || "without these extra rules".into()))
        .or_else(|| flag(rule.rematch, input.facts.rematch, "a rematch", "no rematch"))
        .or_else(|| {
            let (yes, no) = ("part of a tournament", "not part of a tournament");
            flag(rule.tournament, input.tournament, yes, no)
        })
}

/// Actual value, if it is none of those wanted. An empty list matches everything.
fn none_of<T>(
    wanted: &[T],
    fits: impl Fn(&T) -> bool,
    is: impl FnOnce() -> String,
) -> Option<String> {
    (!wanted.is_empty() && !wanted.iter().any(fits)).then(is)
}
