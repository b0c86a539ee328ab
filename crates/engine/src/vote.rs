//! Vote of the threads of a search on its move.

use super::{Bound, Score, SearchInfo};

/// Centipawns added to the score of each thread above the lowest, so that the lowest one counts, too.
const BASE_WEIGHT: i64 = 10;

/// Value of a mate, above that of any score in centipawns.
const MATE_VALUE: i64 = 1_000_000;

/// Returns the result of the thread whose move has the most votes; the first one is the main thread's. A thread votes
/// for its move with the depth of its last iteration times its score above the lowest score of all. A mate that a
/// thread has proven needs no vote: the shortest one wins, and being mated late is better than being mated early.
///
/// Only complete iterations count, and only if their thread got almost as deep as the main thread.
pub(crate) fn elect(main: SearchInfo, helpers: Vec<SearchInfo>) -> SearchInfo {
    let is_decided = |info: &SearchInfo| matches!(info.score, Score::Mate(_));
    let counts = |info: &SearchInfo| {
        info.mv.is_some()
            && info.bound == Bound::Exact
            && info.depth > 0
            && info.depth + 1 >= main.depth
    };
    let helpers: Vec<SearchInfo> = helpers.into_iter().filter(counts).collect();
    if helpers.is_empty() || main.mv.is_none() {
        return main;
    }
    let voters = || std::iter::once(&main).chain(&helpers);
    let lowest = voters().map(value).min().unwrap_or(0);
    let votes = |candidate: &SearchInfo| -> i64 {
        let agreeing = voters().filter(|voter| voter.mv == candidate.mv);
        let weight =
            |voter: &SearchInfo| (value(voter) - lowest + BASE_WEIGHT) * i64::from(voter.depth);
        agreeing.map(weight).sum()
    };
    let rank = |info: &SearchInfo| {
        if voters().any(is_decided) {
            (value(info), i64::from(info.depth))
        } else {
            (votes(info), value(info))
        }
    };
    let best = helpers.iter().max_by_key(|info| rank(info));
    match best {
        Some(best) if rank(best) > rank(&main) => SearchInfo {
            nodes: main.nodes,
            elapsed: main.elapsed,
            hashfull: main.hashfull,
            multipv: 1,
            ..best.clone()
        },
        _ => main,
    }
}

/// The score as a number: a shorter mate is worth more.
fn value(info: &SearchInfo) -> i64 {
    match info.score {
        Score::Centipawns(cp) => i64::from(cp),
        Score::Mate(moves) if moves > 0 => MATE_VALUE - i64::from(moves),
        Score::Mate(moves) => -MATE_VALUE - i64::from(moves),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::{Move, Position};

    fn info(uci: &str, score: Score, depth: u32) -> SearchInfo {
        SearchInfo {
            depth,
            bound: Bound::Exact,
            ..SearchInfo::without_search(Some(parsed(uci)), score)
        }
    }

    fn parsed(uci: &str) -> Move {
        Position::startpos().parse_uci(uci).expect("a legal move")
    }

    fn elected(main: SearchInfo, helpers: &[SearchInfo]) -> Option<Move> {
        elect(main, helpers.to_vec()).mv
    }

    #[test]
    fn majority_and_higher_score_win() {
        let cp = Score::Centipawns;
        let e4 = |score, depth| info("e2e4", score, depth);
        let d4 = |score, depth| info("d2d4", score, depth);
        assert_eq!(elected(e4(cp(20), 10), &[]), Some(parsed("e2e4")));
        assert_eq!(
            elected(e4(cp(20), 10), &[d4(cp(20), 10)]),
            Some(parsed("e2e4"))
        );
        assert_eq!(
            elected(e4(cp(20), 10), &[d4(cp(30), 10)]),
            Some(parsed("d2d4"))
        );
        let two = [d4(cp(15), 10), d4(cp(15), 10)];
        assert_eq!(elected(e4(cp(20), 10), &two), Some(parsed("d2d4")));
        // A thread that is two plies behind has no vote.
        assert_eq!(
            elected(e4(cp(20), 10), &[d4(cp(90), 8)]),
            Some(parsed("e2e4"))
        );
        // Nor has one with a bound only.
        let bound = SearchInfo {
            bound: Bound::Lower,
            ..d4(cp(90), 11)
        };
        assert_eq!(elected(e4(cp(20), 10), &[bound]), Some(parsed("e2e4")));
    }

    #[test]
    fn shortest_mate_wins_without_a_vote() {
        let (cp, mate) = (Score::Centipawns, Score::Mate);
        let e4 = |score, depth| info("e2e4", score, depth);
        let d4 = |score, depth| info("d2d4", score, depth);
        let many = [e4(cp(900), 12), e4(cp(900), 12), d4(mate(5), 11)];
        assert_eq!(elected(e4(cp(900), 12), &many), Some(parsed("d2d4")));
        assert_eq!(
            elected(e4(mate(3), 12), &[d4(mate(5), 12)]),
            Some(parsed("e2e4"))
        );
        assert_eq!(
            elected(e4(mate(-3), 12), &[d4(mate(-5), 12)]),
            Some(parsed("d2d4"))
        );
        assert_eq!(
            elected(e4(mate(-3), 12), &[d4(cp(-800), 12)]),
            Some(parsed("d2d4"))
        );
    }
}
