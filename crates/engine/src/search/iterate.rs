//! Iterative deepening.

use super::Search;
use super::draws::variant_value;
use super::root::RootMove;
use crate::time::{Progress, game_ply};
use crate::value::{
    DRAW, INFINITE, MATE, MAX_PLY, MIN_MATE, Value, is_mate, mate_in, mated_in, to_score,
};
use crate::{Bound, Score, SearchInfo, params};
use knightwatch_chess::Move;

/// Called with the index and depth of a line that an iteration has completed.
pub(super) type OnLine<'a> = &'a mut dyn FnMut(&Search<'_>, usize, usize);

impl Search<'_> {
    /// Searches deeper and deeper until a limit is reached. Returns the result, and reports every line of every
    /// iteration if `on_info` is given. The main thread watches the clock; helpers continue until they are stopped.
    pub(crate) fn iterate(
        &mut self,
        mut on_info: Option<&mut dyn FnMut(&SearchInfo)>,
    ) -> SearchInfo {
        let pos = self.game.position().clone();
        if self.root.is_empty() {
            let value = if pos.is_checkmate() {
                mated_in(0)
            } else {
                variant_value(&pos, 0).unwrap_or(DRAW)
            };
            let result = SearchInfo::without_search(None, to_score(value));
            if let Some(on_info) = on_info {
                on_info(&result);
            }
            return result;
        }
        let is_main = self.thread_id == 0;
        let lines = self.limits.lines().min(self.root.len());
        // Below full strength more lines are searched than reported.
        let max_lines = self.limits.multi_pv.max(1);
        let on_line: OnLine<'_> = &mut |search, index, depth| {
            if index < max_lines
                && let Some(on_info) = &mut on_info
            {
                on_info(&search.line_info(index, depth));
            }
        };
        let deepest = match self.limits.depth {
            Some(depth) if is_main => (depth.max(1) as usize).min(MAX_PLY - 1),
            _ => MAX_PLY - 1,
        };
        let mut progress = Progress::default();
        let ply = game_ply(self.game);
        let game_score = self.thread_data.score_two_plies_before(ply);
        let mut completed = 0;
        // The best moves of the last completed iteration and of the one with the shortest mate.
        let (mut last_best, mut mate_found): (Option<RootMove>, Option<RootMove>) = (None, None);
        // Every second helper starts one ply deeper, so that they diverge.
        for depth in 1 + self.thread_id % 2..=deepest {
            self.iteration = depth;
            let best_before = self.root[0].mv;
            self.root.iter_mut().for_each(RootMove::start_iteration);
            for index in 0..lines {
                self.pv_index = index;
                self.seldepth = 0;
                self.aspiration_search(&pos, depth as i32, on_line);
                self.root[..=index].sort_by_key(|root| -root.value);
                if self.aborted {
                    break;
                }
            }
            if self.aborted {
                break;
            }
            completed = depth;
            if is_main && depth == 1 {
                self.apply_node_limit();
            }
            for index in 0..lines {
                on_line(self, index, depth);
            }
            let best = &self.root[0];
            let drop_since = |before: Option<Value>| match before {
                Some(before) if !is_mate(best.last_value) => before - best.last_value,
                _ => 0,
            };
            progress.score_drop = drop_since(last_best.map(|last| last.last_value));
            progress.game_score_drop = drop_since(game_score);
            last_best = Some(best.clone());
            if self.is_proven_win(best)
                && mate_found
                    .as_ref()
                    .is_none_or(|mate| mate.last_value < best.last_value)
            {
                mate_found = Some(best.clone());
            }
            if is_main && self.should_stop(depth, best_before, &mut progress) {
                break;
            }
        }
        self.flush_nodes();
        let is_restored =
            lines == 1 && self.limits.strength.is_none() && self.restore_mate(mate_found);
        let best = &self.root[0];
        // The game may never reach a position that was only pondered on.
        if let Some(last) = last_best
            && !self.control.is_pondering()
        {
            // The unfinished iteration may have a bound only.
            let is_exact = best.bound == Bound::Exact;
            let best = if is_exact { best } else { &last };
            self.thread_data.last_score = Some((ply, best.last_value));
        }
        // The unfinished iteration may have changed any line. A helper's last report is its vote, which only a complete
        // iteration changes.
        if is_main && (self.aborted || is_restored) {
            for index in (0..lines).filter(|&index| self.root[index].last_value > -INFINITE) {
                on_line(self, index, completed);
            }
        }
        let index = self.chosen_index(lines);
        let mut result = self.line_info(index, completed);
        result.multipv = 1;
        let expected = result.mv.and_then(|mv| self.expected_reply(mv));
        result.ponder = result.ponder.or(expected);
        result
    }

    /// Returns whether a completed iteration has proven that the move wins by mate, before the fifty-move rule ends the
    /// game.
    fn is_proven_win(&self, best: &RootMove) -> bool {
        let plies = MATE - best.last_value;
        let clock = self.game.position().halfmove_clock();
        best.bound == Bound::Exact && best.last_value >= MIN_MATE && plies + clock as i32 <= 100
    }

    /// Restores a mate that an earlier iteration has proven and the last one has missed, since it does not search
    /// everything. Returns whether it was restored.
    fn restore_mate(&mut self, mate: Option<RootMove>) -> bool {
        let last_value = self.root[0].last_value;
        let Some(mate) = mate.filter(|mate| mate.last_value > last_value) else {
            return false;
        };
        let known = self.root.iter().position(|root| root.mv == mate.mv);
        self.root[..=known.unwrap_or(0)].rotate_right(1);
        self.root[0] = mate;
        true
    }

    /// Applies the node limit from now on.
    fn apply_node_limit(&mut self) {
        self.control.apply_node_limit();
        let nodes_left = self.control.nodes_to_next_poll(self.all_nodes());
        self.next_poll_at = self.next_poll_at.min(self.nodes + nodes_left);
    }

    /// The index of the root move to play: 0 at full strength.
    fn chosen_index(&self, lines: usize) -> usize {
        let Some(strength) = self.limits.strength else {
            return 0;
        };
        let score = |(index, root): (usize, &RootMove)| -> (Move, Option<Score>) {
            let has_value = index < lines && root.last_value > -INFINITE;
            (root.mv, has_value.then(|| to_score(root.last_value)))
        };
        let moves: Vec<_> = self.root.iter().enumerate().map(score).collect();
        strength.pick(self.game, &moves)
    }

    /// Returns whether to stop after this iteration.
    fn should_stop(&self, depth: usize, best_before: Move, progress: &mut Progress) -> bool {
        let best = &self.root[0];
        progress.stable_iterations = if best.mv == best_before {
            progress.stable_iterations + 1
        } else {
            0
        };
        progress.best_move_share = best.nodes as f64 / self.nodes.max(1) as f64;
        let wanted_mate_found = self.limits.mate.is_some_and(|moves| {
            let plies = 2 * (moves as usize).clamp(1, MAX_PLY);
            is_mate(best.value) && best.value.abs() >= mate_in(plies)
        });
        let forced = self.root.len() == 1 && depth >= params::FORCED_DEPTH;
        let decided = is_mate(best.value) && 2 * (MATE - best.value.abs()) as usize <= depth;
        let nodes = self.all_nodes();
        let soft_node_limit = self.limits.soft_node_limit();
        let node_limit_reached = soft_node_limit.is_some_and(|limit| nodes >= limit)
            || self.control.nodes_to_next_poll(nodes) == 0;
        progress.decided = forced || decided;
        wanted_mate_found
            || node_limit_reached
            || progress.decided && self.limits.strength.is_some()
            || self.control.should_stop_after(progress)
    }

    fn line_info(&self, index: usize, depth: usize) -> SearchInfo {
        let root = &self.root[index];
        // A line not reached in this iteration keeps its last score.
        let value = Some(root.last_value).filter(|&last_value| last_value > -INFINITE);
        SearchInfo {
            mv: Some(root.mv),
            ponder: root.pv.get(1).copied(),
            score: to_score(value.unwrap_or(DRAW)),
            wdl: None,
            depth: depth as u32,
            seldepth: root.seldepth as u32 + 1,
            nodes: self.all_nodes(),
            elapsed: self.control.elapsed(),
            hashfull: self.table.hashfull(),
            ordering: self.cutoffs.ordering(),
            pv: root.pv.clone(),
            multipv: index + 1,
            bound: root.bound,
        }
    }

    /// The TT move after `mv`, to ponder on if the PV ends there.
    fn expected_reply(&self, mv: Move) -> Option<Move> {
        let after = self.game.position().after(mv);
        self.table
            .probe(after.key(), 0)
            .and_then(|hit| hit.mv)
            .filter(|&mv| after.is_legal(mv))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::search::ThreadData;
    use crate::table::Table;
    use crate::{Limits, Setting};
    use knightwatch_chess::{Game, Position};

    #[test]
    fn last_score_is_of_the_game_and_not_of_a_pondered_position() {
        let mut thread_data = ThreadData::new(&Setting::default());
        let mut game = Game::new(Position::startpos());
        let mut search = |game: &Game, ponder: bool| {
            let limits = Limits {
                depth: Some(5),
                ponder,
                ..Limits::default()
            };
            let (control, table) = (Control::new(&limits, 0), Table::new(1));
            let result =
                Search::new(&control, &table, &mut thread_data, game, &limits, 0).iterate(None);
            let last = thread_data.last_score;
            (
                last.map(|(ply, score)| (ply, to_score(score))),
                result.score,
            )
        };
        let (first, score) = search(&game, false);
        assert_eq!(first, Some((0, score)));
        for uci in ["g1f3", "g8f6"] {
            let mv = game.position().parse_uci(uci).expect("a legal move");
            game.play(mv);
        }
        assert_eq!(search(&game, true).0, first);
        let (second, score) = search(&game, false);
        assert_eq!(second, Some((2, score)));
        for ply in 0..8 {
            let found = thread_data.score_two_plies_before(ply);
            assert_eq!(found.map(to_score), (ply == 4).then_some(score), "{ply}");
        }
        thread_data.clear();
        assert_eq!(thread_data.score_two_plies_before(4), None);
    }

    #[test]
    fn mate_of_an_earlier_iteration_is_restored() {
        let (limits, table) = (Limits::default(), Table::new(1));
        let (control, game) = (Control::new(&limits, 0), Game::new(Position::startpos()));
        let mut thread_data = ThreadData::new(&Setting::default());
        let mut search = Search::new(&control, &table, &mut thread_data, &game, &limits, 0);
        let with_value = |search: &Search<'_>, index: usize, last_value| RootMove {
            last_value,
            ..search.root[index].clone()
        };
        let moves: Vec<Move> = search.root[..4].iter().map(|root| root.mv).collect();
        search.root[0].last_value = mate_in(7);
        let longer = with_value(&search, 3, mate_in(9));
        assert!(!search.restore_mate(Some(longer)));
        let shorter = with_value(&search, 3, mate_in(5));
        assert!(search.restore_mate(Some(shorter)));
        let order: Vec<Move> = search.root[..4].iter().map(|root| root.mv).collect();
        assert_eq!(order, [moves[3], moves[0], moves[1], moves[2]]);
        assert_eq!(search.root[0].last_value, mate_in(5));
    }
}
