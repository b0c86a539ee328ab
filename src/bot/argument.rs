//! What an order is given, read as it is typed: the same on the command line and in the running bot.

use crate::bot::commands::{Refused, time_control};
use crate::config::{ArenaEntry, Pattern, time_control_problem};
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{ArenaId, ColorChoice, GameId, TimeControl, Username, Variant};

/// The days for a move that Lichess has.
const DAYS: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];

/// A name that may have `*` in it.
///
/// # Errors
/// Why it is none.
pub fn pattern(text: &str) -> Result<Pattern, Refused> {
    Pattern::try_from(text.to_owned()).map_err(Refused)
}

/// An arena to take part in: `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
///
/// # Errors
/// Why it is none.
pub fn joining(text: &str) -> Result<ArenaEntry, Refused> {
    text.parse().map_err(Refused)
}

/// The id of an arena, or its address.
///
/// # Errors
/// When it is none.
pub fn arena(text: &str) -> Result<ArenaId, Refused> {
    let wrong = |_| Refused(format!("`{text}` is not the id of an arena"));
    address::id(text, Page::Arena).parse().map_err(wrong)
}

/// The id of a game, or its address.
///
/// # Errors
/// When it is none.
pub fn game(text: &str) -> Result<GameId, Refused> {
    let wrong = |_| Refused(format!("`{text}` is not the id of a game"));
    address::id(text, Page::Game).parse().map_err(wrong)
}

/// The name of a user, or the address of their page.
///
/// # Errors
/// When nobody on Lichess can be called so.
pub fn user(text: &str) -> Result<Username, Refused> {
    let name = address::id(text, Page::User);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match (2..=30).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(Username::new(name)),
        false => Err(Refused(format!(
            "`{name}` is not the name of a user: it has 2 to 30 letters, digits, _ and -"
        ))),
    }
}

/// A time control to which a bot can challenge: `3+2`, `unlimited` or, in days, `2d`.
///
/// # Errors
/// Why it is none.
pub fn clock(text: &str) -> Result<TimeControl, Refused> {
    let time = time_control(text).map_err(Refused)?;
    let fault = match time {
        TimeControl::Clock { .. } => time_control_problem(time),
        TimeControl::Correspondence { days } if !DAYS.contains(&days) => {
            Some("Lichess has 1, 2, 3, 5, 7, 10 or 14 days for a move")
        }
        _ => None,
    };
    match fault {
        Some(fault) => Err(Refused(format!("`{text}`: {fault}"))),
        None => Ok(time),
    }
}

/// A variant that is played.
///
/// # Errors
/// When it is none.
pub fn variant(text: &str) -> Result<Variant, Refused> {
    match Variant::from_key(text) {
        played @ (Variant::Standard | Variant::Chess960) => Ok(played),
        _ => Err(Refused(format!("`{text}` is not standard or chess960"))),
    }
}

/// The colour that is wished for.
///
/// # Errors
/// When it is none.
pub fn color(text: &str) -> Result<ColorChoice, Refused> {
    let wishes = [ColorChoice::White, ColorChoice::Black, ColorChoice::Random];
    let wish = wishes.into_iter().find(|wish| wish.key() == text);
    wish.ok_or_else(|| Refused(format!("`{text}` is not white, black or random")))
}
