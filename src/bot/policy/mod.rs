//! Accept or decline a challenge, and why. Pure.

use std::fmt;

use crate::chess::Position;
use crate::config;
use crate::lichess::model::{
    Challenge, Challenger, Compat, DeclineReason, Speed, TimeControl, Variant,
};

/// What to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Play.
    Accept,
    /// Do not.
    Decline {
        /// What the challenger is told.
        reason: DeclineReason,
        /// What the operator is told.
        why: String,
    },
}

/// How busy the house is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// We are about to stop.
    pub draining: bool,
    /// Every slot is taken.
    pub full: bool,
    /// Games on against this very opponent.
    pub against: usize,
}

/// Judges a challenge that came to us. What the challenger can change comes before what only time changes, so that
/// nobody is told `later` who would be told something else then.
pub fn judge(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
    games: &config::Games,
    load: Load,
) -> Verdict {
    let objection = switched_off(rules)
        .or_else(|| who(challenge, rules))
        .or_else(|| what(challenge, rules))
        .or_else(|| how_fast(challenge, compat, rules))
        .or_else(|| at_stake(challenge, rules))
        .or_else(|| busy(games, load));
    match objection {
        None => Verdict::Accept,
        Some((reason, why)) => Verdict::Decline { reason, why },
    }
}

type Objection = (DeclineReason, String);

fn no(reason: DeclineReason, why: impl fmt::Display) -> Option<Objection> {
    Some((reason, why.to_string()))
}

fn switched_off(rules: &config::Challenge) -> Option<Objection> {
    if rules.accept {
        return None;
    }
    no(DeclineReason::Generic, "challenges are switched off")
}

fn who(challenge: &Challenge, rules: &config::Challenge) -> Option<Objection> {
    let challenger = challenge.challenger.as_ref();
    let bot = challenger.is_some_and(Challenger::is_bot);
    let name = challenger.map_or("", |challenger| challenger.name.as_str());
    let blocked = |blocked: &String| blocked.eq_ignore_ascii_case(name);
    if !name.is_empty() && rules.block.iter().any(blocked) {
        return no(DeclineReason::Generic, format!("{name} is blocked"));
    }
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

fn what(challenge: &Challenge, rules: &config::Challenge) -> Option<Objection> {
    let key = challenge.variant.key();
    if !rules.variants.iter().any(|variant| variant.key() == key) {
        let only_standard = rules
            .variants
            .iter()
            .all(|v| v.key() == Variant::Standard.key());
        let reason = if only_standard && challenge.variant != Variant::Standard {
            DeclineReason::Standard
        } else {
            DeclineReason::Variant
        };
        return no(reason, format!("{key} is not played"));
    }
    // A game without an abort can hold a slot for ever: the opponent need not move, and we cannot leave.
    if challenge
        .rules
        .iter()
        .any(|rule| rule.eq_ignore_ascii_case("noAbort"))
    {
        return no(
            DeclineReason::Generic,
            "a game that cannot be aborted is a trap",
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

fn how_fast(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
) -> Option<Objection> {
    let speed = challenge.speed;
    if speed == Speed::UltraBullet || compat.is_some_and(|compat| !compat.bot) {
        return no(DeclineReason::TooFast, "bots may not play that fast");
    }
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
        TimeControl::Unlimited => None,
        TimeControl::Unknown => no(
            DeclineReason::TimeControl,
            "the time control is of an unknown kind",
        ),
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

fn at_stake(challenge: &Challenge, rules: &config::Challenge) -> Option<Objection> {
    match challenge.rated {
        true if !rules.rated => no(DeclineReason::Casual, "rated games are not played"),
        false if !rules.casual => no(DeclineReason::Rated, "casual games are not played"),
        _ => None,
    }
}

fn busy(games: &config::Games, load: Load) -> Option<Objection> {
    if load.draining {
        return no(DeclineReason::Later, "we are about to stop");
    }
    if load.full {
        let n = games.concurrency;
        return no(
            DeclineReason::Later,
            format!("{n} games at once are the limit"),
        );
    }
    if load.against >= games.per_opponent {
        let n = games.per_opponent;
        return no(
            DeclineReason::Later,
            format!("{n} games against the same opponent are the limit"),
        );
    }
    None
}

#[cfg(test)]
mod tests;
