//! What stands against a challenge, whatever the rules say or where they say nothing.

use std::fmt;

use crate::chess::Position;
use crate::config::{self, Settings};
use crate::lichess::model::{
    Challenge, ChallengeUser, Compat, DeclineReason, Speed, TimeControl, Variant,
};

/// What the challenger is told, and what the operator is told.
pub type BaseCheckFailure = (DeclineReason, String);

fn no(reason: DeclineReason, why: impl fmt::Display) -> Option<BaseCheckFailure> {
    Some((reason, why.to_string()))
}

/// Nobody can play this, whatever the operator wants.
pub fn unplayable(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
) -> Option<BaseCheckFailure> {
    const PLAYED: [Variant; 3] = [Variant::Standard, Variant::Chess960, Variant::FromPosition];
    if !PLAYED.contains(&challenge.variant) {
        return no_such_variant(challenge.variant, rules);
    }
    if challenge.speed == Speed::UltraBullet || compat.is_some_and(|compat| !compat.bot) {
        return no(DeclineReason::TooFast, "bots may not play that fast");
    }
    if challenge.time_control == TimeControl::Unknown {
        return no(
            DeclineReason::TimeControl,
            "the time control is of an unknown kind",
        );
    }
    match &challenge.initial_fen {
        Some(fen) => match Position::from_fen(fen) {
            Ok(_) => None,
            Err(error) => no(
                DeclineReason::Variant,
                format!("its position cannot be played: {error}"),
            ),
        },
        None if challenge.variant == Variant::FromPosition => no(
            DeclineReason::Variant,
            "it does not say from which position",
        ),
        None => None,
    }
}

/// The operator wants no challenges at all, or none of this user.
pub fn shut_out(challenge: &Challenge, settings: &Settings) -> Option<BaseCheckFailure> {
    let rules = &settings.challenge;
    if !rules.accept {
        return no(DeclineReason::Generic, "challenges are switched off");
    }
    let name = challenge.challenger.as_ref()?.name.as_str();
    if settings.is_own_account(name) {
        return no(
            DeclineReason::Generic,
            format!("{name} is another account of ours"),
        );
    }
    if rules.blocks(name) {
        return no(DeclineReason::Generic, format!("{name} is blocked"));
    }
    None
}

/// What `[challenge]` has against it.
pub fn unwanted(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    who(challenge, rules)
        .or_else(|| what(challenge, rules))
        .or_else(|| how_fast(challenge, rules))
        .or_else(|| at_stake(challenge, rules))
}

fn who(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let challenger = challenge.challenger.as_ref();
    let bot = challenger.is_some_and(ChallengeUser::is_bot);
    if bot && !rules.bots {
        return no(DeclineReason::NoBot, "bots are not accepted");
    }
    if !bot && !rules.humans {
        return no(DeclineReason::OnlyBot, "only bots are accepted");
    }
    let (min, max) = (rules.min_rating, rules.max_rating);
    let rating = challenger
        .and_then(|c| c.rating)
        .map(|r| r.max(0).unsigned_abs());
    match rating {
        Some(rating) if rating < min => no(
            DeclineReason::Generic,
            format!("a rating of {rating} is below {min}"),
        ),
        Some(rating) if rating > max => no(
            DeclineReason::Generic,
            format!("a rating of {rating} is above {max}"),
        ),
        None if min > 0 => no(
            DeclineReason::Generic,
            format!("no rating, {min} is asked for"),
        ),
        _ => None,
    }
}

fn what(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let key = challenge.variant.key();
    if !rules.variants.iter().any(|variant| variant.key() == key) {
        return no_such_variant(challenge.variant, rules);
    }
    // A game without an abort can hold a slot for ever: the opponent need not move, and we cannot leave.
    let mut extra = challenge.rules.iter();
    if extra.any(|rule| rule.eq_ignore_ascii_case("noAbort")) {
        return no(
            DeclineReason::Generic,
            "a game that cannot be aborted is a trap",
        );
    }
    None
}

fn no_such_variant(variant: Variant, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let mut accepted = rules.variants.iter();
    let only_standard = accepted.all(|accepted| accepted.key() == Variant::Standard.key());
    let reason = if only_standard && variant != Variant::Standard {
        DeclineReason::Standard
    } else {
        DeclineReason::Variant
    };
    no(reason, format!("{variant} is not played"))
}

fn how_fast(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let speed = challenge.speed;
    if !rules
        .speeds
        .iter()
        .any(|accepted| accepted.key() == speed.key())
    {
        return no(side_of(speed, rules), format!("{speed} is not played"));
    }
    let range = |value: u32, min: u32, max: u32, what: &str| {
        if value < min {
            no(
                DeclineReason::TooFast,
                format!("{what} of {value} is below {min}"),
            )
        } else if value > max {
            no(
                DeclineReason::TooSlow,
                format!("{what} of {value} is above {max}"),
            )
        } else {
            None
        }
    };
    match challenge.time_control {
        TimeControl::Clock { limit, increment } => range(
            limit,
            rules.min_base_s,
            rules.max_base_s,
            "an initial time in s",
        )
        .or_else(|| {
            range(
                increment,
                rules.min_increment_s,
                rules.max_increment_s,
                "an increment in s",
            )
        }),
        TimeControl::Correspondence { days } => {
            range(days, rules.min_days, rules.max_days, "a number of days")
        }
        TimeControl::Unlimited | TimeControl::Unknown => None,
    }
}

/// Too fast when everything that is accepted is slower, too slow when it is faster.
fn side_of(speed: Speed, rules: &config::Challenge) -> DeclineReason {
    let rank = |key: &str| Speed::ALL.iter().position(|speed| speed.key() == key);
    let mut accepted = rules
        .speeds
        .iter()
        .filter_map(|speed| rank(speed.key()))
        .peekable();
    let Some(this) = rank(speed.key()).filter(|_| accepted.peek().is_some()) else {
        return DeclineReason::TimeControl;
    };
    let (mut slower, mut faster) = (true, true);
    for other in accepted {
        slower &= other > this;
        faster &= other < this;
    }
    match (slower, faster) {
        (true, _) => DeclineReason::TooFast,
        (_, true) => DeclineReason::TooSlow,
        _ => DeclineReason::TimeControl,
    }
}

fn at_stake(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    match challenge.rated {
        true if !rules.rated => no(DeclineReason::Casual, "rated games are not played"),
        false if !rules.casual => no(DeclineReason::Rated, "casual games are not played"),
        _ => None,
    }
}
