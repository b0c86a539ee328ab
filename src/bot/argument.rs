//! Parsers of command arguments, shared by the command line and the running bot.

use super::commands::{CommandError, OutgoingChallenge};
use super::matches::MAX_PAIRS;
use crate::config::{
    ArenaEntry, ClockSpec, Pattern, Play, Strength, is_rateable, time_control_problem,
};
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{
    ArenaId, ColorChoice, GameId, NewChallenge, TimeControl, Username, Variant,
};

/// Parses a user name that may contain `*`.
///
/// # Errors
/// If it is not a valid pattern.
pub fn pattern(text: &str) -> Result<Pattern, CommandError> {
    Pattern::try_from(text.to_owned()).map_err(CommandError)
}

/// Parses an arena to join: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
///
/// # Errors
/// If the text has another form.
pub fn joining(text: &str) -> Result<ArenaEntry, CommandError> {
    text.parse().map_err(CommandError)
}

/// Parses the id or the address of an arena.
///
/// # Errors
/// If it is neither.
pub fn arena(text: &str) -> Result<ArenaId, CommandError> {
    let wrong = |_| CommandError(format!("`{text}` is not the id of an arena"));
    address::id(text, Page::Arena).parse().map_err(wrong)
}

/// Parses the id or the address of a game.
///
/// # Errors
/// If it is neither.
pub fn game(text: &str) -> Result<GameId, CommandError> {
    let wrong = |_| CommandError(format!("`{text}` is not the id of a game"));
    address::id(text, Page::Game).parse().map_err(wrong)
}

/// Parses a user name or the address of a user's page.
///
/// # Errors
/// If Lichess does not allow the name.
pub fn user(text: &str) -> Result<Username, CommandError> {
    let name = address::id(text, Page::User);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match (2..=30).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(Username::new(name)),
        false => Err(CommandError(format!(
            "`{name}` is not the name of a user: it has 2 to 30 letters, digits, _ and -"
        ))),
    }
}

/// Parses a time control: `3+2`, `unlimited` or, in days, `2d`.
///
/// # Errors
/// If the text has another form.
pub fn time_control(text: &str) -> Result<TimeControl, String> {
    ClockSpec::try_from(text.to_owned())
        .map(ClockSpec::time)
        .map_err(|why| format!("`{text}`: {why}"))
}

/// Parses the time control of a challenge: `3+2`, `unlimited` or, in days, `2d`.
///
/// # Errors
/// If the text has another form, or bots cannot challenge to this time control.
pub fn clock(text: &str) -> Result<TimeControl, CommandError> {
    let time = time_control(text).map_err(CommandError)?;
    let fault = match time {
        TimeControl::Unlimited => None,
        time => time_control_problem(time),
    };
    match fault {
        Some(fault) => Err(CommandError(format!("`{text}`: {fault}"))),
        None => Ok(time),
    }
}

/// Parses a variant to which the bot can challenge.
///
/// # Errors
/// If it is not Lichess's key of one, or needs a position.
pub fn variant(text: &str) -> Result<Variant, CommandError> {
    match Variant::from_key(text) {
        Variant::FromPosition => Err(CommandError(
            "a challenge cannot give a position: `fromPosition` is not possible".to_owned(),
        )),
        Variant::Unknown => {
            let known = Variant::ALL.iter().map(|variant| variant.key());
            let known: Vec<&str> = known.filter(|key| *key != "fromPosition").collect();
            Err(CommandError(format!(
                "`{text}` is not a variant: use {}",
                known.join(", ")
            )))
        }
        played => Ok(played),
    }
}

/// Parses a color.
///
/// # Errors
/// If it is not `white`, `black` or `random`.
pub fn color(text: &str) -> Result<ColorChoice, CommandError> {
    ColorChoice::from_key(text)
        .ok_or_else(|| CommandError(format!("`{text}` is not white, black or random")))
}

/// Parses how games are played: at an Elo, or with a number of seconds per move at most.
///
/// # Errors
/// If one of them is out of range.
pub fn play(elo: Option<u16>, move_s: Option<u64>) -> Result<Play, CommandError> {
    let strength = elo.map(Strength::of_elo).transpose();
    let strength = strength.map_err(CommandError::from)?;
    if move_s.is_some_and(|seconds| !(1..=60).contains(&seconds)) {
        return Err("a move takes 1 to 60 seconds".into());
    }
    Ok(Play {
        strength,
        max_move_ms: move_s.map(|seconds| 1_000 * seconds),
        ..Play::default()
    })
}

impl OutgoingChallenge {
    /// Parses a challenge: `clock` is `3+2`, `unlimited` or, in days, `2d`; `variant` and `color` are Lichess's keys.
    ///
    /// # Errors
    /// The first argument that is not valid.
    pub fn parse(
        user: &str,
        clock: &str,
        rated: bool,
        variant: &str,
        color: &str,
    ) -> Result<Self, CommandError> {
        let challenge = Self {
            user: self::user(user)?,
            params: NewChallenge {
                time_control: self::clock(clock)?,
                rated,
                color: self::color(color)?,
                variant: self::variant(variant)?,
                fen: None,
            },
        };
        let NewChallenge {
            time_control,
            variant,
            ..
        } = challenge.params;
        if rated && !is_rateable(time_control, variant) {
            return Err(CommandError(format!(
                "Lichess never rates {variant} with {clock}: make the challenge casual"
            )));
        }
        Ok(challenge)
    }

    /// Checks that a match of so many pairs of these games can be played.
    ///
    /// # Errors
    /// If there is no clock, a color is chosen, or the number is out of range.
    pub fn check_match(&self, pairs: u32) -> Result<(), CommandError> {
        if !self.params.time_control.is_clock() {
            return Err("a match is played with a clock, as in 3+2".into());
        }
        if self.params.color != ColorChoice::Random {
            return Err("a match is played with both colors: leave the color out".into());
        }
        if !(1..=MAX_PAIRS).contains(&pairs) {
            return Err(CommandError(format!(
                "a match has 1 to {MAX_PAIRS} pairs of games"
            )));
        }
        Ok(())
    }
}
