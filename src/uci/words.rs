//! What a GUI says, word by word: positions, limits, values of options.

use std::str::FromStr;
use std::time::Duration;

use crate::chess::{Color, Game, Position};
use crate::engine::{Clock, Limits};

pub(super) fn number<T: FromStr>(what: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("{what}: not a number: {word}"))
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
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name}: expected true or false, not `{value}`")),
    }
}

/// What follows `position`: `startpos moves ...` or `fen ... moves ...`
///
/// # Errors
///
/// Why there is no such game.
pub fn read_position(words: &[&str]) -> Result<Game, String> {
    let at = words
        .iter()
        .position(|&word| word == "moves")
        .unwrap_or(words.len());
    let (place, moves) = (&words[..at], words.get(at + 1..).unwrap_or_default());
    let initial = match place {
        ["startpos"] => Position::startpos(),
        ["fen", fen @ ..] => {
            Position::from_fen(&fen.join(" ")).map_err(|error| format!("position: {error}"))?
        }
        _ => return Err("position: expected `startpos` or `fen`".to_owned()),
    };
    Game::from_moves(initial, moves.iter().copied()).map_err(|error| format!("position: {error}"))
}

/// The words after `go`. What is wrong with them is said, and the rest counts.
pub fn read_limits(
    words: &[&str],
    game: &Game,
    overhead: Duration,
    mut complain: impl FnMut(&str),
) -> Limits {
    let mut limits = Limits::default();
    let white = game.position().turn() == Color::White;
    let (mut remaining, mut increment, mut moves_to_go) = (None, Duration::ZERO, None);
    let mut words = words.iter().copied().peekable();
    let (mut is_timed, mut misread) = (false, false);
    while let Some(word) = words.next() {
        let mut read = || -> Result<(), String> {
            let mut value = || {
                let word_or_none = words
                    .next()
                    .ok_or_else(|| format!("go: {word} needs a value"))?;
                number::<i64>(word, word_or_none).map(|number| number.max(0).unsigned_abs())
            };
            let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            match word {
                "infinite" => limits.infinite = true,
                "ponder" => limits.ponder = true,
                "depth" => limits.depth = Some(count(value()?)),
                "nodes" => limits.nodes = Some(value()?),
                "mate" => limits.mate = Some(count(value()?)),
                "movetime" => limits.movetime = Some(Duration::from_millis(value()?)),
                // 0 is how some programs say that there is no control.
                "movestogo" => moves_to_go = Some(count(value()?)).filter(|&moves| moves > 0),
                "wtime" | "btime" => {
                    is_timed = true;
                    let time = Duration::from_millis(value()?);
                    if (word == "wtime") == white {
                        remaining = Some(time);
                    }
                }
                "winc" | "binc" => {
                    is_timed = true;
                    let time = Duration::from_millis(value()?);
                    if (word == "winc") == white {
                        increment = time;
                    }
                }
                "searchmoves" => {
                    while let Some(mv) = words
                        .peek()
                        .and_then(|word| game.position().parse_uci(word).ok())
                    {
                        limits.search_moves.push(mv);
                        words.next();
                    }
                    if limits.search_moves.is_empty() {
                        return Err("go: no legal move after searchmoves".to_owned());
                    }
                }
                _ => return Err(format!("go: ignored `{word}`")),
            }
            Ok(())
        };
        if let Err(complaint) = read() {
            complain(&complaint);
            misread = true;
        }
    }
    if is_timed && remaining.is_none() {
        complain("go: the side to move has no time");
        misread = true;
    }
    // The overhead of a time per move is part of that time.
    limits.movetime = limits
        .movetime
        .map(|time| time.saturating_sub(overhead).max(time / 2));
    limits.clock = remaining.map(|remaining| Clock {
        remaining,
        increment,
        moves_to_go,
        overhead,
        lag: overhead,
    });
    // The word that was not understood may have been the one to end it: better a poor answer than none.
    if misread && !ends(&limits) && !limits.infinite {
        limits.depth = Some(1);
    }
    limits
}

/// Whether the search is meant to end by itself.
pub(super) fn ends(limits: &Limits) -> bool {
    limits.depth.is_some()
        || limits.mate.is_some()
        || limits.nodes.is_some()
        || limits.movetime.is_some()
        || limits.clock.is_some()
}
