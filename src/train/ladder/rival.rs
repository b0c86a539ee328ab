//! Another engine that plays below its full strength: a program that speaks UCI and knows `UCI_Elo`.

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
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    nodes: u64,
    /// What it takes for `UCI_Elo`.
    range: RangeInclusive<u16>,
}

impl Rival {
    /// Starts it, on one thread.
    ///
    /// # Errors
    /// When it cannot be started, or has no `UCI_Elo`.
    pub fn start(program: &Path) -> anyhow::Result<Rival> {
        let name = program.display();
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A Ctrl-C is for us alone: the game that is on is played to its end.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("cannot talk to {name}"))?;
        let mut rival = Rival {
            child,
            input,
            output: BufReader::new(output),
            nodes: 1,
            range: 0..=0,
        };
        rival.say("uci")?;
        let mut range = None;
        while !rival.hear("uciok", |line| {
            range = range.take().or_else(|| range_of(line))
        })? {}
        rival.range = range.with_context(|| format!("{name} has no option UCI_Elo"))?;
        rival.say("setoption name Threads value 1")?;
        rival.say("setoption name UCI_LimitStrength value true")?;
        Ok(rival)
    }

    /// Plays at this Elo from the next game on, looking at so many positions for a move.
    ///
    /// # Errors
    /// When it has no such level: it would play at another one without a word.
    pub fn play_at(&mut self, elo: u16, nodes: u64) -> anyhow::Result<()> {
        let (least, most) = (self.range.start(), self.range.end());
        ensure!(
            self.range.contains(&elo),
            "the other engine has levels from {least} to {most}, and {elo} is none of them"
        );
        self.nodes = nodes;
        self.say(&format!("setoption name UCI_Elo value {elo}"))
    }

    /// Forgets the game before.
    pub fn new_game(&mut self) -> anyhow::Result<()> {
        self.say("ucinewgame")?;
        self.say("isready")?;
        while !self.hear("readyok", |_| ())? {}
        Ok(())
    }

    /// Its move, and how good the position is in its eyes.
    pub fn think(&mut self, game: &Game) -> anyhow::Result<(Move, Score)> {
        let moves = game.moves().iter();
        let moves: String = moves
            .map(|mv| format!(" {}", mv.uci(CastlingNotation::Standard)))
            .collect();
        let start = game.initial().fen();
        self.say(&format!("position fen {start} moves{moves}"))?;
        self.say(&format!("go nodes {}", self.nodes))?;
        let mut score = Score::Centipawns(0);
        let mut answer = String::new();
        while !self.hear("bestmove", |line| {
            score = score_of(line).unwrap_or(score);
            answer = line.to_owned();
        })? {}
        let uci = answer.split_whitespace().nth(1).unwrap_or_default();
        let mv = game.position().parse_uci(uci);
        Ok((
            mv.with_context(|| format!("it said: {}", answer.trim()))?,
            score,
        ))
    }

    fn say(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{line}").context("the other engine has gone")
    }

    /// Reads a line; whether it is the one that begins with this word.
    fn hear(&mut self, word: &str, mut tell: impl FnMut(&str)) -> anyhow::Result<bool> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the other engine has gone before it said {word}");
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

/// The levels that an `option` line offers, if it is the one about them.
fn range_of(line: &str) -> Option<RangeInclusive<u16>> {
    let rest = line.strip_prefix("option name UCI_Elo ")?;
    let after = |word: &str| {
        let mut words = rest.split_whitespace();
        words.find(|other| *other == word)?;
        words.next()?.parse().ok()
    };
    Some(after("min")?..=after("max")?)
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
    fn levels_are_read() {
        let line = "option name UCI_Elo type spin default 1350 min 1350 max 2850\n";
        assert_eq!(range_of(line), Some(1_350..=2_850));
        assert_eq!(range_of("option name Hash type spin min 1 max 2\n"), None);
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
