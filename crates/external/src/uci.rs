//! The Universal Chess Interface.

use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game};

use super::answer::{Answer, Best, MAX_OPTIONS, READY_TIMEOUT};
use super::channel::{Channel, Deadlines, EngineError, Launch, SearchCommands};
use super::engine_option::EngineOption;
use super::go::Go;
use super::info::Info;

const COMMANDS: SearchCommands = SearchCommands {
    stop: Some("stop"),
    ponderhit: "ponderhit",
};

/// Introduces us, and reads the name and the options.
pub(crate) fn start(
    channel: &mut Channel,
    launch: &Launch,
) -> Result<(Option<String>, Vec<EngineOption>), EngineError> {
    channel.send("uci")?;
    let (mut name, mut options) = (None, Vec::new());
    channel.read_until("uciok", launch.timeout, |line| {
        let id_name = || Some(after_words(line, ["id", "name"])?.trim().to_owned());
        name = name.take().or_else(id_name);
        if options.len() < MAX_OPTIONS {
            options.extend(EngineOption::parse_uci(line));
        }
        is_word(line, "uciok")
    })?;
    Ok((name, options))
}

/// The command that sets an option, or presses a button.
pub(crate) fn set_option(name: &str, value: Option<&str>) -> String {
    match value {
        None => format!("setoption name {name}"),
        Some("") => format!("setoption name {name} value <empty>"),
        Some(value) => format!("setoption name {name} value {value}"),
    }
}

/// Waits until the engine has done everything so far.
pub(crate) fn ready(
    channel: &mut Channel,
    timeout: Duration,
    on_line: impl FnMut(&str),
) -> Result<(), EngineError> {
    channel.send("isready")?;
    wait_until_ready(channel, timeout, on_line)
}

/// Waits for the answer to `isready`.
pub(crate) fn wait_until_ready(
    channel: &mut Channel,
    timeout: Duration,
    mut on_line: impl FnMut(&str),
) -> Result<(), EngineError> {
    channel.read_until("readyok", timeout, |line| {
        on_line(line);
        is_word(line, "readyok")
    })
}

/// The text after these words at the start of a line.
pub(crate) fn after_words<'a>(line: &'a str, words: [&str; 2]) -> Option<&'a str> {
    words.iter().try_fold(line, |line, word| {
        let rest = line.trim_start().strip_prefix(word)?;
        rest.starts_with(char::is_whitespace).then_some(rest)
    })
}

/// Returns whether the line begins with this word, as an `Option` for searches of lines.
pub(crate) fn is_word(line: &str, word: &str) -> Option<()> {
    (line.split_whitespace().next() == Some(word)).then_some(())
}

/// Runs a search.
pub(crate) fn search(
    channel: &mut Channel,
    notation: CastlingNotation,
    game: &Game,
    go: &Go,
    deadlines: Deadlines,
    best: &mut Best<'_>,
) -> Result<Answer, EngineError> {
    if std::mem::take(&mut channel.was_stopped) {
        // The move may have crossed our `stop`, for which many engines send it again.
        let left = deadlines.hard.saturating_duration_since(Instant::now());
        ready(channel, left.min(READY_TIMEOUT), |_| ())?;
    }
    let mut position = format!("position fen {}", game.initial().uci_fen());
    if !game.moves().is_empty() {
        position.push_str(" moves");
    }
    for mv in game.moves() {
        position.push(' ');
        position.push_str(&mv.uci(notation).to_string());
    }
    channel.send(&position)?;
    channel.send(&go.uci(notation))?;
    let deadlines = (!go.ponder).then_some(deadlines);
    let name = channel.name.clone();
    channel.answer(deadlines, COMMANDS, |line| {
        if let Some(info) = Info::parse(line, game.position()) {
            best.add_info(info);
            return Ok(None);
        }
        best.add_message(line);
        let mut words = line.split_whitespace();
        if words.next() != Some("bestmove") {
            return Ok(None);
        }
        let uci = words.next().unwrap_or_default();
        let mv = game.position().parse_uci(uci);
        let mv = mv.map_err(|source| EngineError::illegal(&name, game, line, source))?;
        let reply = words.skip_while(|word| *word != "ponder").nth(1);
        let ponder = reply.and_then(|uci| game.position().after(mv).parse_uci(uci).ok());
        Ok(Some(Answer {
            mv,
            ponder,
            info: best.take(),
        }))
    })
}
