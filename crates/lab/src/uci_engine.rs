//! UCI engine as a child process.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};

use knightwatch_chess::{CastlingNotation, Game, Move, Position};
use knightwatch_engine::Score;
use knightwatch_util::spelling::choices;

/// Time limit for `uciok` after the start.
const UCIOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for a line of output: `info` lines come more often, however deep the search.
const LINE_TIMEOUT: Duration = Duration::from_secs(600);

/// A running engine; killed on drop.
pub(crate) struct UciEngine {
    /// The name it reports.
    pub name: String,
    child: Child,
    input: ChildStdin,
    /// Its output, line by line.
    lines: Receiver<String>,
    options: Vec<UciOption>,
    /// Castling notation that it uses.
    notation: CastlingNotation,
}

/// A UCI option.
#[derive(Debug, PartialEq)]
struct UciOption {
    name: String,
    kind: OptionKind,
}

/// Type of an option with its valid values.
#[derive(Debug, PartialEq)]
enum OptionKind {
    Spin(RangeInclusive<i64>),
    Choice(Vec<String>),
    Any,
}

impl OptionKind {
    fn fits(&self, value: &str) -> bool {
        match self {
            OptionKind::Spin(range) => value.parse().is_ok_and(|value| range.contains(&value)),
            OptionKind::Choice(choices) => choices.iter().any(|choice| choice == value),
            OptionKind::Any => true,
        }
    }
}

/// The valid values, for "takes ...".
impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionKind::Spin(range) => write!(f, "{} to {}", range.start(), range.end()),
            OptionKind::Choice(choices) => f.write_str(&choices.join(", ")),
            OptionKind::Any => f.write_str("any text"),
        }
    }
}

impl UciEngine {
    /// Starts the engine.
    ///
    /// # Errors
    /// When the program cannot be started or does not speak UCI.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> anyhow::Result<UciEngine> {
        let path = program.display();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C must not reach the engine: running games are finished.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {path}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("cannot talk to {path}"))?;
        let (sender, lines) = channel();
        let mut engine = UciEngine {
            name: path.to_string(),
            child,
            input,
            lines,
            options: Vec::new(),
            notation: CastlingNotation::Standard,
        };
        thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || forward_lines(output, &sender))
            .context("cannot start a thread")?;
        engine.send("uci")?;
        let (mut name, mut options) = (None, Vec::new());
        while !engine.read_line("uciok", UCIOK_TIMEOUT, |line| {
            name = name
                .take()
                .or_else(|| line.strip_prefix("id name ").map(str::to_owned));
            options.extend(parse_option(line));
        })? {}
        if let Some(name) = name {
            engine.name = name.trim().to_owned();
        }
        engine.options = options;
        Ok(engine)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// When the option or the value does not exist: most engines would ignore the error.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        let Some(option) = self.option(name) else {
            let names: Vec<&str> = self.options.iter().map(|option| &*option.name).collect();
            bail!(
                "{} has no option {name}; {}",
                self.name,
                choices("options are", name, &names)
            );
        };
        ensure!(
            option.kind.fits(value),
            "{name} of {} takes {}, not {value}",
            self.name,
            option.kind
        );
        self.send(&format!("setoption name {name} value {value}"))?;
        self.send("isready")?;
        // Our own engine reports a rejected value like this.
        let prefix = format!("info string {name}: ");
        let mut rejected = None;
        while !self.read_line("readyok", LINE_TIMEOUT, |line| {
            rejected = rejected
                .take()
                .or_else(|| line.strip_prefix(&prefix).map(str::to_owned));
        })? {}
        match rejected {
            Some(why) => bail!("{} does not take {name}={value}: {why}", self.name),
            None => Ok(()),
        }
    }

    /// Sets a numeric option to the nearest valid value. Does nothing if there is no such option.
    ///
    /// # Errors
    /// When the engine has exited.
    pub(crate) fn set_clamped(&mut self, name: &str, value: i64) -> anyhow::Result<()> {
        let Some(OptionKind::Spin(range)) = self.option(name).map(|option| &option.kind) else {
            return Ok(());
        };
        let value = value.min(*range.end()).max(*range.start());
        self.send(&format!("setoption name {name} value {value}"))
    }

    fn option(&self, name: &str) -> Option<&UciOption> {
        let mut options = self.options.iter();
        options.find(|option| option.name.eq_ignore_ascii_case(name))
    }

    /// Starts a new game from this position.
    ///
    /// # Errors
    /// When the engine has exited, or the game is Chess960 and the engine does not support it.
    pub(crate) fn new_game(&mut self, start: &Position) -> anyhow::Result<()> {
        let notation = start.castling_notation();
        if self.notation != notation {
            let chess960 = notation == CastlingNotation::KingTakesRook;
            self.set("UCI_Chess960", if chess960 { "true" } else { "false" })
                .with_context(|| format!("{} is a position of Chess960", start.fen()))?;
            self.notation = notation;
        }
        self.send("ucinewgame")?;
        self.send("isready")?;
        while !self.read_line("readyok", LINE_TIMEOUT, |_| ())? {}
        Ok(())
    }

    /// Searches; `limits` are the arguments of `go`. Returns the move and its score.
    pub(crate) fn think(&mut self, game: &Game, limits: &str) -> anyhow::Result<(Move, Score)> {
        let moves = game.moves().iter();
        let moves: String = moves
            .map(|mv| format!(" {}", mv.uci(self.notation)))
            .collect();
        let start = game.initial().fen();
        self.send(&format!("position fen {start} moves{moves}"))?;
        self.send(&format!("go {limits}"))?;
        let mut score = Score::Centipawns(0);
        let mut best_line = String::new();
        while !self.read_line("bestmove", LINE_TIMEOUT, |line| {
            score = score_of(line).unwrap_or(score);
            best_line = line.to_owned();
        })? {}
        let uci = best_line.split_whitespace().nth(1).unwrap_or_default();
        let mv = game.position().parse_uci(uci);
        let context = || {
            let (name, fen) = (&self.name, game.position().fen());
            format!("{name} sent no legal move in {fen}: {}", best_line.trim())
        };
        Ok((mv.with_context(context)?, score))
    }

    fn send(&mut self, line: &str) -> anyhow::Result<()> {
        // Not the I/O error: a broken pipe would be mistaken for our own stdout being closed.
        writeln!(self.input, "{line}").map_err(|_| anyhow!("{} has exited", self.name))
    }

    /// Reads a line; returns whether it begins with this word.
    fn read_line(
        &mut self,
        word: &str,
        timeout: Duration,
        mut on_line: impl FnMut(&str),
    ) -> anyhow::Result<bool> {
        let line = self.lines.recv_timeout(timeout).map_err(|end| {
            let name = &self.name;
            match end {
                RecvTimeoutError::Disconnected => anyhow!("{name} has exited before {word}"),
                RecvTimeoutError::Timeout => {
                    let seconds = timeout.as_secs();
                    anyhow!("{name} has sent nothing for {seconds} s, expected {word}")
                }
            }
        })?;
        on_line(&line);
        Ok(line.split_whitespace().next() == Some(word))
    }
}

/// Forwards the engine's output until it ends or the receiver is dropped.
fn forward_lines(output: ChildStdout, sender: &Sender<String>) {
    let mut lines = BufReader::new(output).split(b'\n');
    // Some engines write their author's name in other encodings than UTF-8.
    while let Some(Ok(line)) = lines.next()
        && sender
            .send(String::from_utf8_lossy(&line).into_owned())
            .is_ok()
    {}
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        // The engine may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses an `option` line.
fn parse_option(line: &str) -> Option<UciOption> {
    let (name, rest) = line.strip_prefix("option name ")?.split_once(" type ")?;
    let after = |word: &str| {
        let mut words = rest.split_whitespace();
        words.find(|other| *other == word)?;
        words.next()?.parse().ok()
    };
    let kind = match (rest.split_whitespace().next(), after("min"), after("max")) {
        (_, Some(least), Some(most)) => OptionKind::Spin(least..=most),
        (Some("check"), ..) => OptionKind::Choice(["true", "false"].map(str::to_owned).into()),
        (Some("combo"), ..) => {
            let choices = rest
                .split(" var ")
                .skip(1)
                .map(|choice| choice.trim().to_owned());
            OptionKind::Choice(choices.collect())
        }
        _ => OptionKind::Any,
    };
    let name = name.to_owned();
    Some(UciOption { name, kind })
}

/// The score of an `info` line, if it is about the best move.
fn score_of(line: &str) -> Option<Score> {
    let mut ranks = line
        .split_whitespace()
        .skip_while(|word| *word != "multipv");
    if ranks.nth(1).is_some_and(|rank| rank != "1") {
        return None;
    }
    let mut words = line.split_whitespace().skip_while(|word| *word != "score");
    let (kind, value) = (words.nth(1)?, words.next()?.parse().ok()?);
    match kind {
        "cp" => Some(Score::Centipawns(value)),
        "mate" => Some(Score::Mate(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_lines_are_parsed() {
        let one_of = |choices: &[&str]| {
            OptionKind::Choice(choices.iter().map(|&choice| choice.to_owned()).collect())
        };
        for (line, name, kind) in [
            (
                "option name UCI_Elo type spin default 1350 min 1350 max 2850",
                "UCI_Elo",
                OptionKind::Spin(1_350..=2_850),
            ),
            (
                "option name Ponder type check default false",
                "Ponder",
                one_of(&["true", "false"]),
            ),
            (
                "option name Style type combo default Solid var Solid var Very risky",
                "Style",
                one_of(&["Solid", "Very risky"]),
            ),
            (
                "option name Clear Hash type button",
                "Clear Hash",
                OptionKind::Any,
            ),
            (
                "option name Contempt type spin default 0 min -100 max 100",
                "Contempt",
                OptionKind::Spin(-100..=100),
            ),
        ] {
            let name = name.to_owned();
            assert_eq!(parse_option(line), Some(UciOption { name, kind }), "{line}");
        }
        assert_eq!(parse_option("id name Option"), None);
    }

    #[test]
    fn info_scores_are_parsed() {
        for (line, score) in [
            (
                "info depth 3 score cp -17 nodes 9 pv e2e4",
                Some(Score::Centipawns(-17)),
            ),
            ("info depth 3 score mate 2 pv d1h5", Some(Score::Mate(2))),
            ("info string no score", None),
            ("info depth 3 multipv 2 score cp 10 pv e2e4", None),
            ("bestmove e2e4", None),
        ] {
            assert_eq!(score_of(line), score, "{line}");
        }
    }
}
