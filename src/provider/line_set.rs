//! Lines of an analysis on the way to the board, sent together so that it never shows fewer than before.

use bytes::Bytes;

use crate::chess::CastlingNotation;
use crate::engine::{SearchInfo, uci};

/// Notation of castling in what boards send and receive.
pub(super) const NOTATION: CastlingNotation = CastlingNotation::KingTakesRook;

/// The lines of one depth.
pub(super) struct LineSet {
    /// Lines of a complete set.
    size: usize,
    lines: Vec<String>,
}

impl LineSet {
    /// An empty set of which `size` lines are complete.
    pub(super) fn new(size: usize) -> Self {
        Self {
            size: size.max(1),
            lines: Vec::new(),
        }
    }

    /// Adds a line. Returns the text of the set once it is complete.
    pub(super) fn add(&mut self, info: &SearchInfo) -> Option<Bytes> {
        if info.multipv == 1 {
            self.lines.clear();
        }
        if info.multipv != self.lines.len() + 1 {
            return None;
        }
        self.lines.push(uci::info_line(info, NOTATION, None) + "\n");
        (self.lines.len() == self.size).then(|| Bytes::from(self.lines.concat()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::{Bound, Score};

    fn info(depth: u32, multipv: usize) -> SearchInfo {
        SearchInfo {
            mv: None,
            ponder: None,
            score: Score::Centipawns(0),
            wdl: None,
            depth,
            seldepth: depth,
            nodes: 1,
            elapsed: Duration::ZERO,
            hashfull: 0,
            ordering: None,
            pv: Vec::new(),
            multipv,
            bound: Bound::Exact,
        }
    }

    #[test]
    fn only_complete_sets_are_sent() {
        let mut set = LineSet::new(2);
        let mut lines = |depth, multipv| {
            let text = set.add(&info(depth, multipv))?;
            Some(text.iter().filter(|byte| **byte == b'\n').count())
        };
        assert_eq!(lines(5, 2), None, "the first line is missing");
        assert_eq!(lines(5, 1), None);
        assert_eq!(lines(5, 2), Some(2));
        assert_eq!(lines(6, 1), None, "the search may end here");
        assert_eq!(lines(7, 1), None);
        assert_eq!(lines(7, 2), Some(2));
    }
}
