//! Another engine: a program that speaks UCI.

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

use crate::chess::{CastlingNotation, Game, Move, Position};
use crate::engine::Score;
use crate::spelling::choices;

/// Who says nothing for so long when it is greeted does not speak UCI.
const GREETING: Duration = Duration::from_secs(10);
/// Who says nothing for so long never will: a line of `info` comes more often, however deep the search.
const SILENCE: Duration = Duration::from_secs(600);

/// The program, until it is dropped.
pub struct Rival {
    /// As it calls itself.
    pub name: String,
    child: Child,
    input: ChildStdin,
    /// What it says, line by line, until it has gone.
    lines: Receiver<String>,
    knobs: Vec<Knob>,
    /// How it is told of castling.
    notation: CastlingNotation,
}

/// Something that can be set.
#[derive(Debug, PartialEq)]
struct Knob {
    name: String,
    takes: Takes,
}

/// What an option takes.
#[derive(Debug, PartialEq)]
enum Takes {
    Number(RangeInclusive<i64>),
    OneOf(Vec<String>),
    Anything,
}

impl Takes {
    fn fits(&self, value: &str) -> bool {
        match self {
            Takes::Number(range) => value.parse().is_ok_and(|value| range.contains(&value)),
            Takes::OneOf(choices) => choices.iter().any(|choice| choice == value),
            Takes::Anything => true,
        }
    }
}

/// As in "it takes ...".
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Takes::Number(range) => write!(f, "{} to {}", range.start(), range.end()),
            Takes::OneOf(choices) => f.write_str(&choices.join(", ")),
            Takes::Anything => f.write_str("any text"),
        }
    }
}

impl Rival {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started, or does not speak UCI.
    pub fn start(program: &Path, arguments: &[&str]) -> anyhow::Result<Rival> {
        let path = program.display();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A Ctrl-C is for us alone: the game that is on is played to its end.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {path}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("cannot talk to {path}"))?;
        let (said, lines) = channel();
        let mut rival = Rival {
            name: path.to_string(),
            child,
            input,
            lines,
            knobs: Vec::new(),
            notation: CastlingNotation::Standard,
        };
        thread::Builder::new()
            .name("rival".to_owned())
            .spawn(move || listen(output, &said))
            .context("cannot start a thread")?;
        rival.say("uci")?;
        let (mut name, mut knobs) = (None, Vec::new());
        while !rival.hear("uciok", GREETING, |line| {
            name = name
                .take()
                .or_else(|| line.strip_prefix("id name ").map(str::to_owned));
            knobs.extend(knob(line));
        })? {}
        if let Some(name) = name {
            rival.name = name.trim().to_owned();
        }
        rival.knobs = knobs;
        Ok(rival)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// When it has no such option or no such value: it would play on without a word.
    pub fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        let Some(knob) = self.knob(name) else {
            let names: Vec<&str> = self.knobs.iter().map(|knob| &*knob.name).collect();
            bail!(
                "{} has no option {name}; {}",
                self.name,
                choices("options are", name, &names)
            );
        };
        ensure!(
            knob.takes.fits(value),
            "{name} of {} takes {}, and {value} is none of them",
            self.name,
            knob.takes
        );
        self.say(&format!("setoption name {name} value {value}"))?;
        self.say("isready")?;
        // As our own engine begins when it does not take a value.
        let refusal = format!("info string {name}: ");
        let mut refused = None;
        while !self.hear("readyok", SILENCE, |line| {
            refused = refused
                .take()
                .or_else(|| line.strip_prefix(&refusal).map(str::to_owned));
        })? {}
        match refused {
            Some(why) => bail!("{} does not take {name}={value}: {why}", self.name),
            None => Ok(()),
        }
    }

    /// Sets an option, if there is one of that name that takes numbers, to the nearest that it takes.
    ///
    /// # Errors
    /// When the engine has gone.
    pub fn offer(&mut self, name: &str, value: i64) -> anyhow::Result<()> {
        let Some(Takes::Number(range)) = self.knob(name).map(|knob| &knob.takes) else {
            return Ok(());
        };
        let value = value.min(*range.end()).max(*range.start());
        self.say(&format!("setoption name {name} value {value}"))
    }

    fn knob(&self, name: &str) -> Option<&Knob> {
        let mut knobs = self.knobs.iter();
        knobs.find(|knob| knob.name.eq_ignore_ascii_case(name))
    }

    /// Forgets the game before; the next one starts here.
    ///
    /// # Errors
    /// When the engine has gone, or does not play Chess960 and is to.
    pub fn new_game(&mut self, start: &Position) -> anyhow::Result<()> {
        let notation = start.castling_notation();
        if self.notation != notation {
            let chess960 = notation == CastlingNotation::KingTakesRook;
            self.set("UCI_Chess960", if chess960 { "true" } else { "false" })
                .with_context(|| format!("{} is a position of Chess960", start.fen()))?;
            self.notation = notation;
        }
        self.say("ucinewgame")?;
        self.say("isready")?;
        while !self.hear("readyok", SILENCE, |_| ())? {}
        Ok(())
    }

    /// Its move, within limits as UCI writes them behind `go`, and how good the position is in its eyes.
    pub fn think(&mut self, game: &Game, limits: &str) -> anyhow::Result<(Move, Score)> {
        let moves = game.moves().iter();
        let moves: String = moves
            .map(|mv| format!(" {}", mv.uci(self.notation)))
            .collect();
        let start = game.initial().fen();
        self.say(&format!("position fen {start} moves{moves}"))?;
        self.say(&format!("go {limits}"))?;
        let mut score = Score::Centipawns(0);
        let mut answer = String::new();
        while !self.hear("bestmove", SILENCE, |line| {
            score = score_of(line).unwrap_or(score);
            answer = line.to_owned();
        })? {}
        let uci = answer.split_whitespace().nth(1).unwrap_or_default();
        let mv = game.position().parse_uci(uci);
        let said = || {
            let (name, fen) = (&self.name, game.position().fen());
            format!("{name} said in {fen}: {}", answer.trim())
        };
        Ok((mv.with_context(said)?, score))
    }

    fn say(&mut self, line: &str) -> anyhow::Result<()> {
        // That a pipe is broken would be taken for the end of our own readers.
        writeln!(self.input, "{line}").map_err(|_| anyhow!("{} has gone", self.name))
    }

    /// Hears a line; whether it is the one that begins with this word.
    fn hear(
        &mut self,
        word: &str,
        patience: Duration,
        mut tell: impl FnMut(&str),
    ) -> anyhow::Result<bool> {
        let line = self.lines.recv_timeout(patience).map_err(|end| {
            let name = &self.name;
            match end {
                RecvTimeoutError::Disconnected => anyhow!("{name} has gone before it said {word}"),
                RecvTimeoutError::Timeout => {
                    let seconds = patience.as_secs();
                    anyhow!("{name} has said nothing for {seconds} s, and {word} was to come")
                }
            }
        })?;
        tell(&line);
        Ok(line.split_whitespace().next() == Some(word))
    }
}

/// Passes on what is said, until nobody says anything any more or nobody listens.
fn listen(output: ChildStdout, said: &Sender<String>) {
    let mut lines = BufReader::new(output).split(b'\n');
    // Not every engine writes its author's name in UTF-8.
    while let Some(Ok(line)) = lines.next()
        && said
            .send(String::from_utf8_lossy(&line).into_owned())
            .is_ok()
    {}
}

impl Drop for Rival {
    fn drop(&mut self) {
        // Where it has gone already there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an `option` line offers.
fn knob(line: &str) -> Option<Knob> {
    let (name, rest) = line.strip_prefix("option name ")?.split_once(" type ")?;
    let after = |word: &str| {
        let mut words = rest.split_whitespace();
        words.find(|other| *other == word)?;
        words.next()?.parse().ok()
    };
    let takes = match (rest.split_whitespace().next(), after("min"), after("max")) {
        (_, Some(least), Some(most)) => Takes::Number(least..=most),
        (Some("check"), ..) => Takes::OneOf(["true", "false"].map(str::to_owned).into()),
        (Some("combo"), ..) => {
            let choices = rest
                .split(" var ")
                .skip(1)
                .map(|choice| choice.trim().to_owned());
            Takes::OneOf(choices.collect())
        }
        _ => Takes::Anything,
    };
    let name = name.to_owned();
    Some(Knob { name, takes })
}

/// The score of an `info` line about the best move.
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
    fn options_are_read() {
        let one_of = |choices: &[&str]| {
            Takes::OneOf(choices.iter().map(|&choice| choice.to_owned()).collect())
        };
        for (line, name, takes) in [
            (
                "option name UCI_Elo type spin default 1350 min 1350 max 2850",
                "UCI_Elo",
                Takes::Number(1_350..=2_850),
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
                Takes::Anything,
            ),
            (
                "option name Contempt type spin default 0 min -100 max 100",
                "Contempt",
                Takes::Number(-100..=100),
            ),
        ] {
            let name = name.to_owned();
            assert_eq!(knob(line), Some(Knob { name, takes }), "{line}");
        }
        assert_eq!(knob("id name Option"), None);
    }

    #[test]
    fn scores_are_read() {
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
