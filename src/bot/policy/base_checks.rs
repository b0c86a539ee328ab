//! Checks of a challenge that do not depend on rules.

use std::fmt;

use crate::chess::Position;
use crate::config::{self, Settings};
use crate::lichess::model::{
    Challenge, ChallengeUser, Compat, DeclineReason, Speed, TimeControl, Variant,
};

/// Reason for the challenger and reason for the operator.
pub(super) type BaseCheckFailure = (DeclineReason, String);

fn objection(reason: DeclineReason, text: impl fmt::Display) -> Option<BaseCheckFailure> {
    Some((reason, text.to_string()))
}

fn generic(text: impl fmt::Display) -> Option<BaseCheckFailure> {
    objection(DeclineReason::Generic, text)
}

/// Checks whether the bot can play the challenge at all.
pub(super) fn unplayable(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
) -> Option<BaseCheckFailure> {
    let Some(chess) = challenge.variant.rules() else {
        return variant_objection(challenge.variant, rules);
    };
    if challenge.speed == Speed::UltraBullet || compat.is_some_and(|compat| !compat.bot) {
        return objection(DeclineReason::TooFast, "bots may not play that fast");
    }
    if challenge.time_control == TimeControl::Unknown {
        return objection(
            DeclineReason::TimeControl,
            "the time control is of an unknown kind",
        );
    }
    match &challenge.initial_fen {
        Some(fen) => match Position::from_variant_fen_lenient(chess, fen) {
            Ok(_) => None,
            Err(error) => objection(
                DeclineReason::Variant,
                format!("its position cannot be played: {error}"),
            ),
        },
        None if challenge.variant == Variant::FromPosition => objection(
            DeclineReason::Variant,
            "it does not say from which position",
        ),
        None => None,
    }
}

/// Checks the main switch and the block list.
pub(super) fn not_admitted(challenge: &Challenge, settings: &Settings) -> Option<BaseCheckFailure> {
    let rules = &settings.challenge;
    if !rules.accept {
        return generic("challenges are switched off");
    }
    let name = challenge.challenger.as_ref()?.name.as_str();
    if settings.is_own_account(name) {
        return generic(format!("{name} is another account of ours"));
    }
    if rules.blocks(name) {
        return generic(format!("{name} is blocked"));
    }
    None
}

/// Checks the limits of `[challenge]`.
pub(super) fn outside_section(
    challenge: &Challenge,
    rules: &config::Challenge,
) -> Option<BaseCheckFailure> {
    challenger_objection(challenge, rules)
        .or_else(|| game_objection(challenge, rules))
        .or_else(|| time_control_objection(challenge, rules))
        .or_else(|| rating_objection(challenge, rules))
}

fn challenger_objection(
    challenge: &Challenge,
    rules: &config::Challenge,
) -> Option<BaseCheckFailure> {
    let challenger = challenge.challenger.as_ref();
    let bot = challenger.is_some_and(ChallengeUser::is_bot);
    if bot && !rules.bots {
        return objection(DeclineReason::NoBot, "bots are not accepted");
    }
    if !bot && !rules.humans {
        return objection(DeclineReason::OnlyBot, "only bots are accepted");
    }
    let (min, max) = (rules.min_rating, rules.max_rating);
    let rating = challenger
        .and_then(|c| c.rating)
        .map(|r| r.max(0).unsigned_abs());
    match rating {
        Some(rating) if rating < min => generic(format!("a rating of {rating} is below {min}")),
        Some(rating) if rating > max => generic(format!("a rating of {rating} is above {max}")),
        None if min > 0 => generic(format!("no rating, {min} is asked for")),
        _ => None,
    }
}

fn game_objection(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let key = challenge.variant.key();
    if !rules.variants.iter().any(|variant| variant.key() == key) {
        return variant_objection(challenge.variant, rules);
    }
    // A game without an abort can hold a slot forever: the opponent need not move, and the bot cannot leave.
    let mut extra = challenge.rules.iter();
    if extra.any(|rule| rule.eq_ignore_ascii_case("noAbort")) {
        return generic("noAbort is not accepted: the game could hold a slot forever");
    }
    None
}

fn variant_objection(variant: Variant, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    let mut accepted = rules.variants.iter();
    let only_standard = accepted.all(|accepted| *accepted == Variant::Standard);
    let reason = if only_standard && variant != Variant::Standard {
        DeclineReason::Standard
    } else {
        DeclineReason::Variant
    };
    objection(reason, format!("{variant} is not played"))
}

fn time_control_objection(
    challenge: &Challenge,
    rules: &config::Challenge,
) -> Option<BaseCheckFailure> {
    let speed = challenge.speed;
    let mut accepted = rules.speeds.iter();
    if !accepted.any(|accepted| accepted.key() == speed.key()) {
        let reason = speed_decline_reason(speed, rules);
        return objection(reason, format!("{speed} is not played"));
    }
    let range = |value: u32, min: u32, max: u32, what: &str| match value {
        _ if value < min => {
            let text = format!("{what} of {value} is below {min}");
            objection(DeclineReason::TooFast, text)
        }
        _ if value > max => {
            let text = format!("{what} of {value} is above {max}");
            objection(DeclineReason::TooSlow, text)
        }
        _ => None,
    };
    match challenge.time_control {
        TimeControl::Clock { limit, increment } => {
            let (min, max) = (rules.min_increment_s, rules.max_increment_s);
            range(
                limit,
                rules.min_base_s,
                rules.max_base_s,
                "an initial time in s",
            )
            .or_else(|| range(increment, min, max, "an increment in s"))
        }
        TimeControl::Correspondence { days } => {
            range(days, rules.min_days, rules.max_days, "a number of days")
        }
        TimeControl::Unlimited | TimeControl::Unknown => None,
    }
}

/// Too fast if everything accepted is slower, too slow if everything accepted is faster.
fn speed_decline_reason(speed: Speed, rules: &config::Challenge) -> DeclineReason {
    let rank = |wanted: Speed| Speed::ALL.iter().position(|speed| *speed == wanted);
    let mut accepted = rules
        .speeds
        .iter()
        .filter_map(|speed| rank(*speed))
        .peekable();
    let Some(this) = rank(speed).filter(|_| accepted.peek().is_some()) else {
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

fn rating_objection(challenge: &Challenge, rules: &config::Challenge) -> Option<BaseCheckFailure> {
    match challenge.rated {
        true if !rules.rated => objection(DeclineReason::Casual, "rated games are not played"),
        false if !rules.casual => objection(DeclineReason::Rated, "casual games are not played"),
        _ => None,
    }
}
