//! Parsers of command arguments, shared by the command line and the running bot.

use crate::bot::commands::{CommandError, time_control};
use crate::config::{ArenaEntry, Pattern, time_control_problem};
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{ArenaId, ColorChoice, GameId, TimeControl, Username, Variant};

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
    let wishes = [ColorChoice::White, ColorChoice::Black, ColorChoice::Random];
    let wish = wishes.into_iter().find(|wish| wish.key() == text);
    wish.ok_or_else(|| CommandError(format!("`{text}` is not white, black or random")))
}
