//! Transcript of the lines to and from an engine, for the trace of a game.

use knightwatch_util::text::clean;

/// Lines of an engine that are kept: its first and its last ones.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 8;

/// Lines of an engine that has exited which an error shows.
const LAST_LINES_SHOWN: usize = 5;

/// Upper limit of our own lines that are kept.
const MAX_SENT_LINES: usize = 200;

/// Upper limits of a line of the engine and of ours, in characters.
const MAX_RECEIVED_CHARS: usize = 200;
const MAX_SENT_CHARS: usize = 8_000;

/// Our lines, and the first and the last ones of the engine.
#[derive(Default)]
pub(crate) struct Transcript {
    lines: Vec<String>,
    sent: usize,
    received: usize,
    /// Lines of the engine that are left out, and the place of the first one.
    omitted: Option<(usize, usize)>,
}

impl Transcript {
    /// Adds a line that was sent.
    pub(crate) fn sent(&mut self, line: &str) {
        if self.sent < MAX_SENT_LINES {
            self.sent += 1;
            self.lines
                .push(format!("> {}", printable(line, MAX_SENT_CHARS)));
        }
    }

    /// Adds a line of the engine.
    pub(crate) fn received(&mut self, line: &str) {
        if self.received == FIRST_LINES + LAST_LINES {
            let received = self.lines.iter().enumerate();
            let mut received = received.filter(|(_, line)| line.starts_with('<'));
            if let Some((at, _)) = received.nth(FIRST_LINES) {
                self.lines.remove(at);
                let (first, count) = self.omitted.unwrap_or((at, 0));
                self.omitted = Some((first, count + 1));
            }
        } else {
            self.received += 1;
        }
        self.lines
            .push(format!("< {}", printable(line, MAX_RECEIVED_CHARS)));
    }

    /// Lines of an engine that has exited which may say why: the last ones of its error output, or else of its output.
    pub(crate) fn last_lines(&self, errors: &str) -> Vec<String> {
        let shown = errors.lines().filter(|line| !line.trim().is_empty());
        let mut shown: Vec<String> = shown
            .map(|line| printable(line, MAX_RECEIVED_CHARS))
            .collect();
        if shown.is_empty() {
            let received = self.lines.iter().filter_map(|line| line.strip_prefix("< "));
            let received =
                received.filter(|line| line.starts_with("info string ") || !is_usual(line));
            shown.extend(received.map(str::to_owned));
        }
        shown.split_off(shown.len().saturating_sub(LAST_LINES_SHOWN))
    }

    /// The lines, with `>` before ours and `<` before the engine's.
    pub(crate) fn into_lines(mut self) -> Vec<String> {
        if let Some((at, count)) = self.omitted {
            self.lines
                .insert(at, format!("({count} lines are omitted)"));
        }
        self.lines
    }
}

/// Returns whether a line belongs to the protocol, and explains nothing.
fn is_usual(line: &str) -> bool {
    const USUAL: [&str; 7] = [
        "id", "option", "uciok", "readyok", "info", "bestmove", "feature",
    ];
    let word = line.split_whitespace().next().unwrap_or_default();
    USUAL.contains(&word)
}

/// The start of a line without control characters and those that change the writing direction.
pub(crate) fn printable(line: &str, max: usize) -> String {
    let line = clean(&line.trim_end().replace('\t', " "));
    line.chars().take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_lines_are_kept_and_those_of_the_engine_shortened() {
        let mut transcript = Transcript::default();
        let position = format!("position startpos moves {}", "g1f3 ".repeat(400));
        transcript.sent("setoption name Hash value 2");
        transcript.received("info string old");
        transcript.sent(&position);
        transcript.sent("go nodes 5");
        for depth in 1..=100 {
            transcript.received(&format!("info depth {depth}"));
        }
        transcript.sent("stop");
        transcript.received("bestmove e2e4");
        let lines = transcript.into_lines();
        let mut expected = vec![
            "> setoption name Hash value 2".to_owned(),
            "< info string old".to_owned(),
            format!("> {}", position.trim_end()),
            "> go nodes 5".to_owned(),
        ];
        let info = |depth| format!("< info depth {depth}");
        expected.extend((1..=3).map(info));
        expected.push("(90 lines are omitted)".to_owned());
        expected.extend((94..=100).map(info));
        expected.extend(["> stop".to_owned(), "< bestmove e2e4".to_owned()]);
        assert_eq!(lines, expected);
    }
}
