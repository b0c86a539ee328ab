//! `info` lines of a UCI engine.

use knightwatch_chess::{Move, Position};
use knightwatch_engine::{Bound, Score};

/// Upper limit of the moves that are read of a line.
pub(crate) const MAX_PV: usize = 64;

/// Content of an `info` line about a line of moves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info {
    /// Number of the line among those of MultiPV, from 1.
    pub multi_pv: usize,
    /// Depth in plies.
    pub depth: u32,
    /// Selective depth in plies.
    pub seldepth: u32,
    /// Nodes searched.
    pub nodes: u64,
    /// Use of the hash table, in permille.
    pub hashfull: u32,
    /// Score from the side to move.
    pub score: Option<Score>,
    /// Wins, draws and losses in permille, from the side to move.
    pub wdl: Option<[u32; 3]>,
    /// How the score relates to the true value.
    pub bound: Bound,
    /// Legal moves of the line.
    pub pv: Vec<Move>,
}

impl Info {
    /// Parses a line. `None` if it is no `info` line, or is a message.
    pub fn parse(line: &str, position: &Position) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        if words.next() != Some("info") {
            return None;
        }
        let mut info = Self {
            multi_pv: 1,
            ..Self::default()
        };
        while let Some(word) = words.next() {
            match word {
                "string" => return None,
                "depth" => info.depth = words.next()?.parse().ok()?,
                "seldepth" => info.seldepth = words.next()?.parse().ok()?,
                "nodes" => info.nodes = words.next()?.parse().ok()?,
                "hashfull" => info.hashfull = words.next()?.parse().ok()?,
                "multipv" => info.multi_pv = words.next()?.parse().ok()?,
                "score" => {
                    let (kind, value) = (words.next()?, words.next()?.parse().ok()?);
                    info.score = match kind {
                        "cp" => Some(Score::Centipawns(value)),
                        "mate" => Some(Score::Mate(value)),
                        _ => return None,
                    };
                }
                "wdl" => {
                    let mut number = || words.next()?.parse().ok();
                    let wdl = [number()?, number()?, number()?];
                    // Rounding may cost some.
                    let sum = wdl
                        .iter()
                        .fold(0_u32, |sum, part| sum.saturating_add(*part));
                    info.wdl = (990..=1_010).contains(&sum).then_some(wdl);
                }
                "lowerbound" => info.bound = Bound::Lower,
                "upperbound" => info.bound = Bound::Upper,
                "pv" => {
                    let mut position = position.clone();
                    while info.pv.len() < MAX_PV
                        && let Some(mv) = words.peek().and_then(|uci| position.parse_uci(uci).ok())
                    {
                        words.next();
                        position.play(mv);
                        info.pv.push(mv);
                    }
                }
                _ => {}
            }
        }
        Some(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_lines_are_parsed() {
        let parse = |line: &str| Info::parse(line, &Position::startpos());
        let info = parse(
            "info depth 12 seldepth 18 multipv 1 score cp -17 lowerbound nodes 999 nps 5 hashfull 3 tbhits 0 time 7 pv e2e4 e7e5 e1e8 g1f3",
        )
        .expect("an info line");
        assert_eq!(
            (info.depth, info.seldepth, info.nodes, info.hashfull),
            (12, 18, 999, 3)
        );
        assert_eq!(
            (info.score, info.bound),
            (Some(Score::Centipawns(-17)), Bound::Lower)
        );
        let wdl = |line: &str| parse(line).and_then(|info| info.wdl);
        assert_eq!(
            wdl("info depth 9 score cp 34 wdl 71 906 23 nodes 9 pv e2e4"),
            Some([71, 906, 23])
        );
        assert_eq!(wdl("info depth 9 score cp 34 wdl 1 2 3 pv e2e4"), None);
        assert_eq!(info.pv.len(), 2, "only legal moves");
        assert_eq!(
            parse("info depth 3 score mate 2").and_then(|info| info.score),
            Some(Score::Mate(2))
        );
        assert_eq!(
            parse("info depth 3 multipv 2 pv e2e4").map(|info| info.multi_pv),
            Some(2)
        );
        let info = parse("info depth 3 pv e2e4 e7e5 score cp 900 multipv 2").expect("an info line");
        assert_eq!(
            (info.pv.len(), info.score, info.multi_pv),
            (2, Some(Score::Centipawns(900)), 2)
        );
        for line in [
            "",
            "bestmove e2e4",
            "info string depth 3",
            "info depth x",
            "info depth 3 multipv x score cp 10 pv e2e4",
            "info score elo 3",
            "info depth 3 wdl 5 x",
            "info depth 99999999999999999999",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
