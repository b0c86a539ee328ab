//! Faults of one stream, from its opening to its end.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Latency, StreamFault};

/// A fault of a stream with its conditions.
#[derive(Clone, Debug)]
pub(crate) struct ArmedStreamFault {
    pub fault: StreamFault,
    /// Lines that are sent before it happens.
    pub after_lines: usize,
    /// Happens after the first line that shows this ply.
    pub ply: Option<usize>,
    /// Happens after each line with this probability; once if `None`.
    pub probability: Option<f64>,
    pub rng: fastrand::Rng,
}

/// All faults and latencies of a stream.
#[derive(Debug, Default)]
pub(crate) struct StreamFaults {
    armed: Vec<ArmedStreamFault>,
    lines: usize,
    due: VecDeque<StreamFault>,
    latencies: Vec<(Latency, fastrand::Rng)>,
}

impl StreamFaults {
    pub(crate) fn new(
        armed: Vec<ArmedStreamFault>,
        latencies: Vec<(Latency, fastrand::Rng)>,
    ) -> Self {
        let mut faults = Self {
            armed,
            latencies,
            ..Self::default()
        };
        faults.update_due(None);
        faults
    }

    /// Notes that a line was sent.
    pub(crate) fn on_line_sent(&mut self, line: &[u8]) {
        self.lines += 1;
        if !self.armed.is_empty() {
            let needs_ply = self.armed.iter().any(|armed| armed.ply.is_some());
            self.update_due(needs_ply.then(|| ply_of_line(line)).flatten());
        }
    }

    fn update_due(&mut self, ply: Option<usize>) {
        let lines = self.lines;
        let due = &mut self.due;
        self.armed.retain_mut(|armed| {
            let reached = lines >= armed.after_lines
                && armed
                    .ply
                    .is_none_or(|wanted| ply.is_some_and(|shown| shown >= wanted));
            match armed.probability {
                // The probability is per line, and none was sent yet.
                Some(_) if !reached || lines == 0 => true,
                Some(probability) => {
                    if armed.rng.f64() < probability {
                        due.push_back(armed.fault);
                    }
                    true
                }
                None => {
                    if reached {
                        due.push_back(armed.fault);
                    }
                    !reached
                }
            }
        });
    }

    /// Takes the next fault that is due.
    pub(crate) fn next_due(&mut self) -> Option<StreamFault> {
        self.due.pop_front()
    }

    pub(crate) fn has_latency(&self) -> bool {
        !self.latencies.is_empty()
    }

    /// Draws the latency of the next line.
    pub(crate) fn delay(&mut self) -> Duration {
        self.latencies
            .iter_mut()
            .map(|(latency, rng)| latency.draw(rng))
            .sum()
    }
}

/// Number of plies in a `gameFull` or `gameState` line.
pub(crate) fn ply_of_line(line: &[u8]) -> Option<usize> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let moves = line.get("state").unwrap_or(&line).get("moves")?;
    Some(moves.as_str()?.split_whitespace().count())
}

/// A line that is neither UTF-8 nor JSON.
pub(crate) fn garbage_line() -> Bytes {
    Bytes::from_static(b"\xff\xfe{\"type\":\"game]]\n")
}

/// A valid JSON line of this many bytes, or a few more.
pub(crate) fn oversized_line(bytes: usize) -> Bytes {
    const START: &str = "{\"type\":\"oversized\",\"padding\":\"";
    const END: &str = "\"}\n";
    let padding = bytes.saturating_sub(START.len() + END.len());
    [START, &"x".repeat(padding), END].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(after_lines: usize, ply: Option<usize>, probability: Option<f64>) -> ArmedStreamFault {
        ArmedStreamFault {
            fault: StreamFault::Eof,
            after_lines,
            ply,
            probability,
            rng: fastrand::Rng::with_seed(3),
        }
    }

    /// The lines of a game after which the fault happens; 0 is before the first.
    fn due_after(armed: ArmedStreamFault) -> Vec<usize> {
        let mut faults = StreamFaults::new(vec![armed], Vec::new());
        let mut due = Vec::new();
        for line in 0..40 {
            if faults.next_due().is_some() {
                due.push(line);
            }
            let moves = "e2e4 ".repeat(line);
            faults.on_line_sent(format!("{{\"moves\":\"{moves}\"}}").as_bytes());
        }
        due
    }

    #[test]
    fn stream_fault_happens_after_its_line() {
        assert_eq!(due_after(armed(0, None, None)), [0]);
        assert_eq!(due_after(armed(2, None, None)), [2]);
        // The fifth line is the first with four moves.
        assert_eq!(due_after(armed(0, Some(4), None)), [5]);
        let repeated = due_after(armed(0, None, Some(0.5)));
        assert!((10..30).contains(&repeated.len()), "{repeated:?}");
        assert_eq!(repeated, due_after(armed(0, None, Some(0.5))));
        assert!(repeated.iter().all(|line| *line > 0));
    }

    #[test]
    fn ply_of_line_reads_full_and_state() {
        for (line, ply) in [
            (r#"{"type":"gameState","moves":"e2e4 e7e5"}"#, Some(2)),
            (r#"{"type":"gameFull","state":{"moves":""}}"#, Some(0)),
            (r#"{"type":"chatLine"}"#, None),
            ("\n", None),
        ] {
            assert_eq!(ply_of_line(line.as_bytes()), ply);
        }
        assert_eq!(oversized_line(1_000).len(), 1_000);
    }
}
