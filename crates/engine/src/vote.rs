//! Vote of the threads of a search on its move.

use super::{Bound, Score, SearchReport};

/// Centipawns added to the score of each thread above the lowest, so that the lowest one counts, too.
const BASE_WEIGHT: i64 = 10;

/// Value of a mate, above that of any score in centipawns.
const MATE_VALUE: i64 = 1_000_000;

/// Returns the result of the thread whose move has the most votes; the first one is the main thread's. A thread votes
/// for its move with the depth of its last iteration times its score above the lowest score of all. A mate that a
/// thread has proven needs no vote: the shortest one wins, and being mated late is better than being mated early.
///
/// Only complete iterations count, and only if their thread got almost as deep as the main thread.
pub(crate) fn elect(main: SearchReport, helpers: Vec<SearchReport>) -> SearchReport {
    let is_decided = |report: &SearchReport| matches!(report.score, Score::Mate(_));
    let counts = |report: &SearchReport| {
        report.mv.is_some()
            && report.bound == Bound::Exact
            && report.depth > 0
            && report.depth + 1 >= main.depth
    };
    let helpers: Vec<SearchReport> = helpers.into_iter().filter(counts).collect();
    if helpers.is_empty() || main.mv.is_none() {
        return main;
    }
    let voters = || std::iter::once(&main).chain(&helpers);
    let lowest = voters().map(value).min().unwrap_or(0);
    let votes = |candidate: &SearchReport| -> i64 {
        let agreeing = voters().filter(|voter| voter.mv == candidate.mv);
        let weight =
            |voter: &SearchReport| (value(voter) - lowest + BASE_WEIGHT) * i64::from(voter.depth);
        agreeing.map(weight).sum()
    };
    let rank = |report: &SearchReport| {
        if voters().any(is_decided) {
            (value(report), i64::from(report.depth))
        } else {
            (votes(report), value(report))
        }
    };
    let best = helpers.iter().max_by_key(|report| rank(report));
    match best {
        Some(best) if rank(best) > rank(&main) => SearchReport {
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
fn value(report: &SearchReport) -> i64 {
    match report.score {
        Score::Centipawns(cp) => i64::from(cp),
        Score::Mate(moves) if moves > 0 => MATE_VALUE - i64::from(moves),
        Score::Mate(moves) => -MATE_VALUE - i64::from(moves),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_chess::{Move, Position};

    fn report(uci: &str, score: Score, depth: u32) -> SearchReport {
        SearchReport {
            depth,
            bound: Bound::Exact,
            ..SearchReport::without_search(Some(parsed(uci)), score)
        }
    }

    fn parsed(uci: &str) -> Move {
        Position::startpos().parse_uci(uci).expect("a legal move")
    }

    fn elected(main: SearchReport, helpers: &[SearchReport]) -> Option<Move> {
        elect(main, helpers.to_vec()).mv
    }

    #[test]
    fn majority_and_higher_score_win() {
        let cp = Score::Centipawns;
        let e4 = |score, depth| report("e2e4", score, depth);
        let d4 = |score, depth| report("d2d4", score, depth);
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
        let bound = SearchReport {
            bound: Bound::Lower,
            ..d4(cp(90), 11)
        };
        assert_eq!(elected(e4(cp(20), 10), &[bound]), Some(parsed("e2e4")));
    }

    #[test]
    fn shortest_mate_wins_without_a_vote() {
        let (cp, mate) = (Score::Centipawns, Score::Mate);
        let e4 = |score, depth| report("e2e4", score, depth);
        let d4 = |score, depth| report("d2d4", score, depth);
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
