//! Parsing of UCI input: positions, limits, option values.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

use crate::{Clock, Limits};
use knightwatch_chess::{Color, Game, MoveError, Position, Variant};

pub(super) fn number<T: FromStr<Err = ParseIntError>>(what: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => format!("{what}: the number is too large: {word}"),
            IntErrorKind::NegOverflow => format!("{what}: the number is too small: {word}"),
            _ => format!("{what}: not a number: {word}"),
        })
}

pub(super) fn spin<T>(name: &str, value: &str, min: T, max: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + std::fmt::Display + Copy,
{
    match value.parse() {
        Ok(number) if number >= min && number <= max => Ok(number),
        _ => Err(format!(
            "{name}: expected a number from {min} to {max}, not `{value}`"
        )),
    }
}

pub(super) fn check(name: &str, value: &str) -> Result<bool, String> {
    match value {
        _ if value.eq_ignore_ascii_case("true") => Ok(true),
        _ if value.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(format!("{name}: expected true or false, not `{value}`")),
    }
}

/// Parses the arguments of `position`: `startpos moves ...` or `fen ... moves ...`. Positions that no game can reach
/// are accepted if they can be played from. `startpos` is that of the variant.
///
/// # Errors
///
/// If the position or a move is invalid; the text is meant for the GUI.
pub fn read_position(variant: Variant, words: &[&str]) -> Result<Game, String> {
    let at = words
        .iter()
        .position(|&word| word == "moves")
        .unwrap_or(words.len());
    let (start, moves) = (&words[..at], words.get(at + 1..).unwrap_or_default());
    let initial = match start {
        ["startpos"] => variant.start(),
        ["fen", fen @ ..] => Position::from_variant_fen_lenient(variant, &fen.join(" "))
            .map_err(|error| format!("position: {error}"))?,
        _ => return Err("position: expected `startpos` or `fen`".to_owned()),
    };
    Game::from_moves(initial, moves.iter().copied()).map_err(|error| format!("position: {error}"))
}

/// Parses the arguments of `go`. Errors are passed to `info_string` and the rest is used.
pub fn read_limits(
    words: &[&str],
    game: &Game,
    overhead: Duration,
    ponders: bool,
    mut info_string: impl FnMut(&str),
) -> Limits {
    let mut limits = Limits::default();
    let white = game.position().turn() == Color::White;
    let (mut remaining, mut increment, mut moves_to_go) = (None, Duration::ZERO, None);
    let mut words = words.iter().copied().peekable();
    let (mut has_clock_args, mut has_error) = (false, false);
    while let Some(word) = words.next() {
        let mut read = || -> Result<(), String> {
            let mut value = || -> Result<i64, String> {
                let text = words.next();
                number(
                    word,
                    text.ok_or_else(|| format!("go: {word} needs a value"))?,
                )
            };
            let amount = |value: i64| {
                u64::try_from(value).map_err(|_| format!("go: {word} cannot be negative: {value}"))
            };
            // Clocks can be: some GUIs send them after the flag has fallen.
            let time = |ms: i64| Duration::from_millis(ms.max(0).unsigned_abs());
            let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            match word {
                "infinite" => limits.infinite = true,
                "ponder" => limits.ponder = true,
                "depth" => limits.depth = Some(count(amount(value()?)?)),
                "nodes" => limits.nodes = Some(amount(value()?)?),
                "mate" => limits.mate = Some(count(amount(value()?)?)),
                "movetime" => limits.movetime = Some(Duration::from_millis(amount(value()?)?)),
                // Some GUIs send 0 for "no time control".
                "movestogo" => {
                    moves_to_go = Some(count(amount(value()?)?)).filter(|&moves| moves > 0);
                }
                "wtime" | "btime" => {
                    has_clock_args = true;
                    let time = time(value()?);
                    if (word == "wtime") == white {
                        remaining = Some(time);
                    }
                }
                "winc" | "binc" => {
                    has_clock_args = true;
                    let time = time(value()?);
                    if (word == "winc") == white {
                        increment = time;
                    }
                }
                "searchmoves" => {
                    let mut illegal = Vec::new();
                    while let Some(word) = words.peek() {
                        match game.position().parse_uci(word) {
                            Ok(mv) => limits.search_moves.push(mv),
                            // The next parameter.
                            Err(MoveError::Malformed(_)) => break,
                            Err(_) => illegal.push(*word),
                        }
                        words.next();
                    }
                    if limits.search_moves.is_empty() {
                        return Err("go: no legal move after searchmoves".to_owned());
                    }
                    if !illegal.is_empty() {
                        return Err(format!("go: ignored `{}`", illegal.join(" ")));
                    }
                }
                _ => return Err(format!("go: ignored `{word}`")),
            }
            Ok(())
        };
        if let Err(error) = read() {
            info_string(&error);
            has_error = true;
        }
    }
    if has_clock_args && remaining.is_none() {
        info_string("go: the side to move has no time");
        has_error = true;
    }
    // The overhead is part of a time per move.
    limits.movetime = limits
        .movetime
        .map(|time| time.saturating_sub(overhead).max(time / 2));
    limits.clock = remaining.map(|remaining| Clock {
        remaining,
        increment,
        moves_to_go,
        overhead,
        lag: overhead,
        ponders,
    });
    // An argument that was not understood may have been the only limit: a poor move is better than an endless search.
    if has_error && !has_limit(&limits) && !limits.infinite {
        limits.depth = Some(1);
    }
    limits
}

/// Returns whether the limits end the search without `stop`.
pub(super) fn has_limit(limits: &Limits) -> bool {
    limits.depth.is_some()
        || limits.mate.is_some()
        || limits.nodes.is_some()
        || limits.movetime.is_some()
        || limits.clock.is_some()
}
