//! Parsing of comments: clocks, evaluations, text.

use std::mem;
use std::time::Duration;

use super::{Eval, MoveComment};

impl MoveComment {
    /// Adds a comment: clock and evaluation if it has them, the rest as text.
    pub(super) fn add(&mut self, comment: &str) {
        let mut words = Words {
            text: mem::take(&mut self.text),
        };
        let mut rest = comment;
        while let Some((before, command, after)) = next_command(rest) {
            words.add(before);
            let value = |name| command.strip_prefix(name).map(str::trim);
            if let Some(clock) = value("clk ").and_then(clock) {
                self.clock = Some(clock);
            } else if let Some(eval) = value("eval ").and_then(eval) {
                self.eval = Some(eval);
            } else {
                words.add(&format!("[%{command}]"));
            }
            rest = after;
        }
        words.add(rest);
        self.text = words.text;
    }
}

/// Words joined by single blanks.
struct Words {
    text: String,
}

impl Words {
    fn add(&mut self, text: &str) {
        for word in text.split_whitespace() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text += word;
        }
    }
}

/// Finds the first command like `[%clk 0:02:59]`; returns the text before, the command and the text after it.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let bytes = text.as_bytes();
    let start = bytes.windows(2).position(|pair| pair == b"[%")?;
    let length = bytes[start..].iter().position(|&byte| byte == b']')?;
    let end = start + length;
    Some((&text[..start], &text[start + 2..end], &text[end + 1..]))
}

/// Parses a clock like `0:02:59` or `1:00:00.5`.
fn clock(text: &str) -> Option<Duration> {
    let (hours, rest) = number(text.as_bytes())?;
    let (minutes, rest) = number(rest.strip_prefix(b":")?)?;
    let (seconds, rest) = number(rest.strip_prefix(b":")?)?;
    let seconds = (hours * 60 + minutes) * 60 + seconds;
    Some(Duration::from_millis(seconds * 1000 + part(rest, 3)?))
}

/// Parses an evaluation like `0.23` or `#-3`; a depth after a comma is ignored.
fn eval(text: &str) -> Option<Eval> {
    let end = text.bytes().position(|byte| byte == b',');
    let value = text[..end.unwrap_or(text.len())].trim();
    if let Some(moves) = value.strip_prefix('#') {
        return moves.parse().ok().map(Eval::Mate);
    }
    let (sign, value) = match value.as_bytes() {
        [b'-', value @ ..] => (-1, value),
        [b'+', value @ ..] => (1, value),
        value => (1, value),
    };
    let (pawns, rest) = if value.starts_with(b".") {
        (0, value)
    } else {
        number(value)?
    };
    let score = i32::try_from(pawns * 100 + part(rest, 2)?).ok()?;
    Some(Eval::Centipawns(sign * score))
}

/// Parses a leading number of at most nine digits; returns it with the rest.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let add = |value, &digit| value * 10 + u64::from(digit - b'0');
    (1..=9)
        .contains(&length)
        .then(|| (digits.iter().fold(0, add), rest))
}

/// Parses a fraction like `.25`, rounded to `places` decimal places; empty text is 0.
fn part(text: &[u8], places: usize) -> Option<u64> {
    let digits = match text {
        [] => text,
        [b'.', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => digits,
        _ => return None,
    };
    let digit = |place| u64::from(digits.get(place).map_or(0, |digit| digit - b'0'));
    let value = (0..places).fold(0, |value, place| value * 10 + digit(place));
    Some(value + u64::from(digit(places) >= 5))
}
