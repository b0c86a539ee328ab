//! Another engine: a program that speaks UCI.

use std::io::{BufRead, BufReader, Write};
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::chess::{CastlingNotation, Game, Move};
use crate::engine::Score;

/// The program, until it is dropped.
pub struct Rival {
    /// As it calls itself.
    pub name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    knobs: Vec<Knob>,
}

/// Something that can be set.
#[derive(Debug, PartialEq)]
struct Knob {
    name: String,
    /// The least and the most, where it is a number.
    range: Option<RangeInclusive<i64>>,
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
        let mut rival = Rival {
            name: path.to_string(),
            child,
            input,
            output: BufReader::new(output),
            knobs: Vec::new(),
        };
        rival.say("uci")?;
        let (mut name, mut knobs) = (None, Vec::new());
        while !rival.hear("uciok", |line| {
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
        let known = |knob: &&Knob| knob.name.eq_ignore_ascii_case(name);
        let Some(knob) = self.knobs.iter().find(known) else {
            bail!("{} has no option {name}", self.name);
        };
        if let Some(range) = &knob.range {
            let (least, most) = (range.start(), range.end());
            ensure!(
                value.parse().is_ok_and(|value| range.contains(&value)),
                "{name} of {} takes {least} to {most}, and {value} is none of them",
                self.name
            );
        }
        self.say(&format!("setoption name {name} value {value}"))
    }

    /// Sets an option, if there is one of that name.
    ///
    /// # Errors
    /// When it has no such value.
    pub fn offer(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        match self.knobs.iter().any(|knob| knob.name == name) {
            true => self.set(name, value),
            false => Ok(()),
        }
    }

    /// Forgets the game before.
    pub fn new_game(&mut self) -> anyhow::Result<()> {
        self.say("ucinewgame")?;
        self.say("isready")?;
        while !self.hear("readyok", |_| ())? {}
        Ok(())
    }

    /// Its move, within limits as UCI writes them behind `go`, and how good the position is in its eyes.
    pub fn think(&mut self, game: &Game, limits: &str) -> anyhow::Result<(Move, Score)> {
        let moves = game.moves().iter();
        let moves: String = moves
            .map(|mv| format!(" {}", mv.uci(CastlingNotation::Standard)))
            .collect();
        let start = game.initial().fen();
        self.say(&format!("position fen {start} moves{moves}"))?;
        self.say(&format!("go {limits}"))?;
        let mut score = Score::Centipawns(0);
        let mut answer = String::new();
        while !self.hear("bestmove", |line| {
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
        writeln!(self.input, "{line}").with_context(|| format!("{} has gone", self.name))
    }

    /// Reads a line; whether it is the one that begins with this word.
    fn hear(&mut self, word: &str, mut tell: impl FnMut(&str)) -> anyhow::Result<bool> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("{} has gone before it said {word}", self.name);
        }
        tell(&line);
        Ok(line.split_whitespace().next() == Some(word))
    }
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
    let range = after("min").zip(after("max"));
    Some(Knob {
        name: name.to_owned(),
        range: range.map(|(least, most)| least..=most),
    })
}

/// The score of an `info` line.
fn score_of(line: &str) -> Option<Score> {
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
        for (line, name, range) in [
            (
                "option name UCI_Elo type spin default 1350 min 1350 max 2850\n",
                "UCI_Elo",
                Some(1_350..=2_850),
            ),
            ("option name Clear Hash type button\n", "Clear Hash", None),
            (
                "option name Contempt type spin default 0 min -100 max 100\n",
                "Contempt",
                Some(-100..=100),
            ),
        ] {
            let name = name.to_owned();
            assert_eq!(knob(line), Some(Knob { name, range }), "{line}");
        }
        assert_eq!(knob("id name Option\n"), None);
    }

    #[test]
    fn scores_are_read() {
        for (line, score) in [
            (
                "info depth 3 score cp -17 nodes 9 pv e2e4\n",
                Some(Score::Centipawns(-17)),
            ),
            ("info depth 3 score mate 2 pv d1h5\n", Some(Score::Mate(2))),
            ("info string no score\n", None),
            ("bestmove e2e4\n", None),
        ] {
            assert_eq!(score_of(line), score, "{line}");
        }
    }
}
