//! Input of rules: a challenge or a game, and whether a rule matches it.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::bot::game::header::GameHeader;
use crate::chess::Position;
use crate::clock;
use crate::config::{
    ClockSpec, EngineName, ExtraRule, FenPattern, Hours, Match, Pattern, Range, Rule, TextPattern,
    Title,
};
use crate::lichess::model::{
    Challenge, ChallengeUser, ColorChoice, GameFull, Speed, TimeControl, User, Username, Variant,
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
    /// Initial position, if it is known.
    pub fen: Option<String>,
    pub speed: Speed,
    pub time: TimeControl,
    pub rated: bool,
    /// Our color; random if it is not known.
    pub color: ColorChoice,
    /// Arrival of the challenge or start of the game.
    pub at: SystemTime,
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
            fen: initial_fen(challenge.variant, challenge.initial_fen.as_ref()),
            speed: challenge.speed,
            time: challenge.time_control,
            rated: challenge.rated,
            color: challenge.color.opposite(),
            at: clock::date(),
            facts: ChallengeFacts {
                age_days,
                profile: None,
                listed: None,
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
            fen: Some(head.initial.fen()),
            speed: full.speed,
            time: full.time_control(),
            rated: full.rated,
            color: head.us.into(),
            at: full.created().unwrap_or_else(clock::date),
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
    /// Profile of the challenger, if it was requested: its biography, and its links below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The first of `challenge.block_lists` that contains the opponent, unless a rule accepts them by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
    /// Whether the color was drawn at random, even if it is known by now.
    #[serde(alias = "chance")]
    pub random_color: bool,
    /// Extra rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Whether the challenge was a rematch.
    pub rematch: bool,
}

/// The profile of a user as rules see it.
pub fn profile_text(user: &User) -> String {
    let parts = [&user.profile.bio, &user.profile.links]
        .into_iter()
        .flatten();
    parts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// The initial position of a challenge: that of a chess960 game is mostly drawn later. It is written as in the game, since a
/// challenge has the text of its sender.
fn initial_fen(variant: Variant, given: Option<&String>) -> Option<String> {
    let start = || match variant {
        Variant::Chess960 | Variant::FromPosition => None,
        other => Some(other.rules()?.start_fen().to_owned()),
    };
    let written = |fen: &String| {
        let position = Position::from_variant_fen_lenient(variant.rules()?, fen).ok()?;
        Some(position.fen())
    };
    match given {
        Some(fen) => Some(written(fen).unwrap_or_else(|| fen.clone())),
        None => start(),
    }
}

/// First condition of a rule that does not hold; `None` if it applies. A listed user is accepted only by rules about
/// them.
pub(super) fn first_objection(rule: &Rule, input: &MatchInput) -> Option<String> {
    let list = input.facts.listed.as_ref();
    let unaware = rule.accept == Some(true) && rule.matching.listed.is_none();
    list.filter(|_| unaware)
        .map(|list| format!("on the block list {list}"))
        .or_else(|| first_mismatch(&rule.matching, input))
}

/// First condition of a rule that does not match; `None` if all match.
fn first_mismatch(rule: &Match, input: &MatchInput) -> Option<String> {
    let flag = |wanted: Option<bool>, is: bool, yes: &str, no: &str| {
        let text = if is { yes } else { no };
        wanted
            .filter(|wanted| *wanted != is)
            .map(|_| text.to_owned())
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
    let profile = input.facts.profile.as_deref();
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
            let (yes, no) = ("on a block list", "on no block list");
            flag(rule.listed, input.facts.listed.is_some(), yes, no)
        })
        .or_else(|| {
            let profile = profile.filter(|_| input.bot);
            let fits = |wanted: &EngineName| profile.is_some_and(|text| wanted.is_in(text));
            none_of(&rule.engine, fits, || match profile {
                Some(_) => "the profile mentions no such engine".to_owned(),
                None if input.bot => "the profile is not known".to_owned(),
                None => "no bot".to_owned(),
            })
        })
        .or_else(|| {
            let fits = |wanted: &TextPattern| profile.is_some_and(|text| wanted.matches(text));
            none_of(&rule.bio, fits, || match profile {
                Some(_) => "another profile".to_owned(),
                None => "the profile is not known".to_owned(),
            })
        })
        .or_else(|| {
            let fits = |wanted: &Hours| wanted.contains(input.at);
            none_of(&rule.hours, fits, || "at another time of day".to_owned())
        })
        .or_else(|| {
            let fits = |wanted: &Variant| *wanted == input.variant;
            none_of(&rule.variant, fits, || format!("variant {variant}"))
        })
        .or_else(|| {
            let fen = input.fen.as_deref();
            let fits = |wanted: &FenPattern| fen.is_some_and(|fen| wanted.matches(fen));
            none_of(&rule.fen, fits, || {
                format!("initial position {}", fen.unwrap_or("not known yet"))
            })
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
            let by_random_color =
                |choice| choice == ColorChoice::Random && input.facts.random_color;
            let fits = |wanted: &ColorChoice| *wanted == color || by_random_color(*wanted);
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
