//! Lines of a board's analysis, made of the `info` lines of a UCI engine.

use serde::Serialize;

/// Message to a board after an `info` line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Emit {
    time: u64,
    depth: u32,
    nodes: u64,
    pvs: Vec<Line>,
}

/// A line of MultiPV.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mate: Option<i64>,
    moves: String,
}

impl Emit {
    /// Takes an `info` line. Returns false if it has no score or no moves, or comes before an earlier line of MultiPV.
    pub(super) fn update(&mut self, text: &str, multi_pv: usize) -> bool {
        let Some(rest) = text.strip_prefix("info ") else {
            return false;
        };
        let (facts, moves) = rest.split_once(" pv ").unwrap_or((rest, ""));
        let mut words = facts.split_ascii_whitespace();
        let (mut index, mut depth, mut cp, mut mate) = (1, 0, None, None);
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|text| text.parse::<i64>().ok());
            match word {
                "depth" => depth = number().unwrap_or(0),
                "multipv" => index = number().unwrap_or(1),
                "nodes" => self.nodes = number().unwrap_or(0).unsigned_abs(),
                "time" => self.time = number().unwrap_or(0).unsigned_abs(),
                "cp" => cp = number(),
                "mate" => mate = number(),
                _ => {}
            }
        }
        let index = usize::try_from(index).unwrap_or(0).wrapping_sub(1);
        if moves.is_empty() || (cp.is_none() && mate.is_none()) || index >= multi_pv {
            return false;
        }
        if index > self.pvs.len() {
            return false;
        }
        if index == 0 {
            self.pvs.clear();
        }
        let depth = u32::try_from(depth).unwrap_or(0);
        let line = Line {
            depth,
            cp,
            mate,
            moves: moves.to_owned(),
        };
        match self.pvs.get_mut(index) {
            Some(known) => *known = line,
            None => self.pvs.push(line),
        }
        self.depth = depth;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emit_collects_lines_of_a_depth() {
        let mut emit = Emit::default();
        assert!(!emit.update("info string hello", 2));
        assert!(!emit.update("info depth 1 multipv 2 score cp 1 pv e2e4", 2));
        assert!(emit.update(
            "info depth 5 seldepth 7 multipv 1 score cp -31 nodes 77 time 3 pv e2e4 e7e5",
            2
        ));
        assert!(emit.update(
            "info depth 5 multipv 2 score mate 3 nodes 99 time 4 pv d2d4",
            2
        ));
        assert!(!emit.update("info depth 5 multipv 3 score mate 3 pv d2d4", 2));
        let text = serde_json::to_string(&emit).expect("JSON");
        assert_eq!(
            text,
            "{\"time\":4,\"depth\":5,\"nodes\":99,\"pvs\":[{\"depth\":5,\"cp\":-31,\"moves\":\"e2e4 e7e5\"},\
             {\"depth\":5,\"mate\":3,\"moves\":\"d2d4\"}]}"
        );
        assert!(emit.update("info depth 6 multipv 1 score cp 9 pv c2c4", 2));
        assert_eq!(emit.pvs.len(), 1);
    }
}
