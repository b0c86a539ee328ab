//! What goes wrong with one stream, from its opening to its end.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Latency, StreamFault};

/// One fault that a stream carries with it.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub how: StreamFault,
    /// Lines before it strikes.
    pub after: usize,
    /// It strikes behind the first line that shows this ply.
    pub ply: Option<usize>,
    /// It strikes behind each line with this probability; otherwise once.
    pub probability: Option<f64>,
    pub rng: fastrand::Rng,
}

/// All that a stream carries.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    waiting: Vec<Trouble>,
    lines: usize,
    due: VecDeque<StreamFault>,
    latencies: Vec<(Latency, fastrand::Rng)>,
}

impl Troubles {
    pub fn new(waiting: Vec<Trouble>, latencies: Vec<(Latency, fastrand::Rng)>) -> Self {
        let mut troubles = Self {
            waiting,
            latencies,
            ..Self::default()
        };
        troubles.look(None);
        troubles
    }

    /// A line has gone out.
    pub fn passed(&mut self, line: &[u8]) {
        self.lines += 1;
        if !self.waiting.is_empty() {
            let wanted = self.waiting.iter().any(|trouble| trouble.ply.is_some());
            self.look(wanted.then(|| shown_ply(line)).flatten());
        }
    }

    fn look(&mut self, ply: Option<usize>) {
        let lines = self.lines;
        let due = &mut self.due;
        self.waiting.retain_mut(|trouble| {
            let come = lines >= trouble.after
                && trouble
                    .ply
                    .is_none_or(|wanted| ply.is_some_and(|shown| shown >= wanted));
            match trouble.probability {
                // The dice are thrown for lines, and there was none yet.
                Some(_) if !come || lines == 0 => true,
                Some(probability) => {
                    if trouble.rng.f64() < probability {
                        due.push_back(trouble.how);
                    }
                    true
                }
                None => {
                    if come {
                        due.push_back(trouble.how);
                    }
                    !come
                }
            }
        });
    }

    /// The next fault that strikes now.
    pub fn strike(&mut self) -> Option<StreamFault> {
        self.due.pop_front()
    }

    /// Whether lines are held back.
    pub fn delays(&self) -> bool {
        !self.latencies.is_empty()
    }

    /// How long the next line is held back.
    pub fn delay(&mut self) -> Duration {
        self.latencies
            .iter_mut()
            .map(|(latency, rng)| latency.draw(rng))
            .sum()
    }
}

/// How many plies the game has by this line of its stream.
pub(crate) fn shown_ply(line: &[u8]) -> Option<usize> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let moves = line.get("state").unwrap_or(&line).get("moves")?;
    Some(moves.as_str()?.split_whitespace().count())
}

/// A line without meaning: neither UTF-8 nor JSON.
pub(crate) fn garbage() -> Bytes {
    Bytes::from_static(b"\xff\xfe{\"type\":\"game]]\n")
}

/// A line of so many bytes, or a few more: JSON, but far too much of it.
pub(crate) fn oversized(bytes: usize) -> Bytes {
    const START: &str = "{\"type\":\"oversized\",\"padding\":\"";
    const END: &str = "\"}\n";
    let padding = bytes.saturating_sub(START.len() + END.len());
    [START, &"x".repeat(padding), END].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(after: usize, ply: Option<usize>, probability: Option<f64>) -> Trouble {
        Trouble {
            how: StreamFault::Eof,
            after,
            ply,
            probability,
            rng: fastrand::Rng::with_seed(3),
        }
    }

    /// Behind which lines of a game it strikes; 0 is before the first.
    fn strikes(trouble: Trouble) -> Vec<usize> {
        let mut troubles = Troubles::new(vec![trouble], Vec::new());
        let mut struck = Vec::new();
        for line in 0..40 {
            if troubles.strike().is_some() {
                struck.push(line);
            }
            let moves = "e2e4 ".repeat(line);
            troubles.passed(format!("{{\"moves\":\"{moves}\"}}").as_bytes());
        }
        struck
    }

    #[test]
    fn it_strikes_behind_its_line() {
        assert_eq!(strikes(trouble(0, None, None)), [0]);
        assert_eq!(strikes(trouble(2, None, None)), [2]);
        // The fifth line is the first with four moves.
        assert_eq!(strikes(trouble(0, Some(4), None)), [5]);
        let often = strikes(trouble(0, None, Some(0.5)));
        assert!((10..30).contains(&often.len()), "{often:?}");
        assert_eq!(often, strikes(trouble(0, None, Some(0.5))));
        assert!(often.iter().all(|line| *line > 0));
    }

    #[test]
    fn the_ply_is_read_in_both_kinds_of_lines() {
        for (line, ply) in [
            (r#"{"type":"gameState","moves":"e2e4 e7e5"}"#, Some(2)),
            (r#"{"type":"gameFull","state":{"moves":""}}"#, Some(0)),
            (r#"{"type":"chatLine"}"#, None),
            ("\n", None),
        ] {
            assert_eq!(shown_ply(line.as_bytes()), ply);
        }
        assert_eq!(oversized(1_000).len(), 1_000);
    }
}
