//! Pairing of a wave: players close in rank, no immediate rematches, alternating colors.

use crate::site::UserId;

/// Two players who both had the same color this many times in a row are not paired.
const MAX_COLOR_STREAK: i32 = 3;
/// Maximum number of improvement passes over all pairs.
const MAX_IMPROVEMENT_ROUNDS: usize = 20;

/// Color history of a player: current streak (positive for White) and surplus of White games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Colors {
    streak: i32,
    balance: i32,
}

impl Colors {
    pub(super) fn add(&mut self, white: bool) {
        if white {
            self.streak = self.streak.max(0) + 1;
            self.balance += 1;
        } else {
            self.streak = self.streak.min(0) - 1;
            self.balance -= 1;
        }
    }

    /// `false` if both have had the same color too often in a row.
    fn can_be_paired(self, other: Self) -> bool {
        (self.streak > -MAX_COLOR_STREAK || other.streak > -MAX_COLOR_STREAK)
            && (self.streak < MAX_COLOR_STREAK || other.streak < MAX_COLOR_STREAK)
    }
}

/// A player to be paired.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub user: UserId,
    /// Rank in the whole arena, from 0.
    pub rank: usize,
    pub rating: i32,
    pub colors: Colors,
    pub last_opponent: Option<UserId>,
    /// The player's team, in a team battle.
    pub team: Option<String>,
}

/// Special properties of a wave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wave {
    /// The arena has just started: neighbors in the ranking are paired, colors are random.
    pub opening: bool,
    /// The arena has only two players; rematches are allowed.
    pub only_two: bool,
}

/// Pairs the candidates. Returns indices into the slice, White first; players without an opponent are left out.
pub(super) fn pair(
    candidates: &[Candidate],
    wave: Wave,
    mut coin: impl FnMut() -> bool,
) -> Vec<[usize; 2]> {
    let mut ranked: Vec<usize> = (0..candidates.len()).collect();
    ranked.sort_by_key(|place| candidates[*place].rank);
    let is_team_battle = candidates.iter().any(|player| player.team.is_some());
    let pairs = if wave.opening && !is_team_battle {
        ranked.chunks_exact(2).map(|two| [two[0], two[1]]).collect()
    } else {
        Matching::of(candidates, ranked, wave.only_two).pairs
    };
    pairs
        .into_iter()
        .map(|[a, b]| {
            let (first, second) = (candidates[a].colors, candidates[b].colors);
            let first_is_white = if wave.opening || first == second {
                coin()
            } else {
                first < second
            };
            if first_is_white { [a, b] } else { [b, a] }
        })
        .collect()
}

/// Greedy matching, then improvement by swapping partners.
struct Matching<'a> {
    candidates: &'a [Candidate],
    only_two: bool,
    last_rank: usize,
    pairs: Vec<[usize; 2]>,
    unpaired: Vec<usize>,
}

impl<'a> Matching<'a> {
    fn of(candidates: &'a [Candidate], ranked: Vec<usize>, only_two: bool) -> Self {
        let last_rank = candidates.iter().map(|player| player.rank).max();
        let mut matching = Self {
            candidates,
            only_two,
            last_rank: last_rank.unwrap_or(0).max(1),
            pairs: Vec::new(),
            unpaired: Vec::new(),
        };
        let mut open = ranked;
        while !open.is_empty() {
            let first = open.remove(0);
            let nearest = (0..open.len())
                .filter_map(|at| Some((matching.cost(first, open[at])?, at)))
                .min();
            match nearest {
                Some((_, at)) => matching.pairs.push([first, open.remove(at)]),
                None => matching.unpaired.push(first),
            }
        }
        matching.pair_leftovers();
        matching.improve();
        matching
    }

    /// Cost of a pair; `None` if they must not be paired.
    fn cost(&self, a: usize, b: usize) -> Option<usize> {
        if self.only_two {
            return Some(1);
        }
        let (a, b) = (&self.candidates[a], &self.candidates[b]);
        let is_rematch =
            a.last_opponent.as_ref() == Some(&b.user) || b.last_opponent.as_ref() == Some(&a.user);
        let team_mates = a.team.is_some() && a.team == b.team;
        if is_rematch || team_mates || !a.colors.can_be_paired(b.colors) {
            return None;
        }
        // Rank differences weigh more at the top.
        let best = a.rank.min(b.rank).min(self.last_rank);
        let weight = 300 + 1_700 * (self.last_rank - best) / self.last_rank;
        Some(a.rank.abs_diff(b.rank) * weight + a.rating.abs_diff(b.rating) as usize)
    }

    /// Breaks up pairs so that two unpaired players who must not meet get opponents.
    fn pair_leftovers(&mut self) {
        'again: loop {
            for i in 0..self.unpaired.len() {
                for j in i + 1..self.unpaired.len() {
                    let (u, v) = (self.unpaired[i], self.unpaired[j]);
                    for at in 0..self.pairs.len() {
                        let [a, b] = self.pairs[at];
                        let fits = |x, y| self.cost(u, x).is_some() && self.cost(v, y).is_some();
                        let new = if fits(a, b) {
                            [[u, a], [v, b]]
                        } else if fits(b, a) {
                            [[u, b], [v, a]]
                        } else {
                            continue;
                        };
                        self.pairs[at] = new[0];
                        self.pairs.push(new[1]);
                        self.unpaired.retain(|other| *other != u && *other != v);
                        continue 'again;
                    }
                }
            }
            return;
        }
    }

    /// Swaps partners of two pairs while that lowers the total cost.
    fn improve(&mut self) {
        for _ in 0..MAX_IMPROVEMENT_ROUNDS {
            let mut changed = false;
            for i in 0..self.pairs.len() {
                for j in i + 1..self.pairs.len() {
                    changed |= self.swap(i, j);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn swap(&mut self, i: usize, j: usize) -> bool {
        let ([a, b], [c, d]) = (self.pairs[i], self.pairs[j]);
        let total =
            |x: [usize; 2], y: [usize; 2]| Some(self.cost(x[0], x[1])? + self.cost(y[0], y[1])?);
        let now = total([a, b], [c, d]);
        let best = [([a, c], [b, d]), ([a, d], [b, c])]
            .into_iter()
            .filter_map(|(x, y)| Some((total(x, y)?, x, y)))
            .min_by_key(|(cost, ..)| *cost);
        match best {
            Some((cost, x, y)) if now.is_none_or(|now| cost < now) => {
                self.pairs[i] = x;
                self.pairs[j] = y;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(rank: usize, last: Option<usize>) -> Candidate {
        Candidate {
            user: UserId::of(&format!("p{rank}")),
            rank,
            rating: 1500,
            colors: Colors::default(),
            last_opponent: last.map(|rank| UserId::of(&format!("p{rank}"))),
            team: None,
        }
    }

    fn ranks(candidates: &[Candidate], wave: Wave) -> Vec<[usize; 2]> {
        let mut pairs: Vec<[usize; 2]> = pair(candidates, wave, || true)
            .into_iter()
            .map(|two| {
                let mut two = two.map(|at| candidates[at].rank);
                two.sort_unstable();
                two
            })
            .collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn pairing_prefers_neighbors_without_rematch() {
        // (last opponent of each rank, the pairs)
        for (last, expected) in [
            (vec![None; 4], vec![[0, 1], [2, 3]]),
            (
                vec![Some(1), Some(0), Some(3), Some(2)],
                vec![[0, 2], [1, 3]],
            ),
            (
                vec![Some(1), Some(0), Some(3), Some(2), Some(5), Some(4)],
                vec![[0, 2], [1, 4], [3, 5]],
            ),
            // All others have just met rank 0, so five players give only two pairs.
            (
                vec![None, Some(0), Some(0), Some(0), Some(0)],
                vec![[1, 2], [3, 4]],
            ),
            (vec![Some(1), Some(0)], vec![]),
            (vec![Some(2), None, Some(0)], vec![[0, 1]]),
        ] {
            let candidates: Vec<Candidate> = last
                .iter()
                .enumerate()
                .map(|(rank, last)| player(rank, *last))
                .collect();
            assert_eq!(ranks(&candidates, Wave::default()), expected, "{last:?}");
        }
    }

    #[test]
    fn pairing_of_two_allows_rematch() {
        let two = [player(0, Some(1)), player(1, Some(0))];
        let wave = Wave {
            only_two: true,
            ..Wave::default()
        };
        assert_eq!(ranks(&two, wave), [[0, 1]]);
    }

    #[test]
    fn pairing_balances_colors() {
        let mut two = [player(0, None), player(1, None)];
        two[0].colors.add(true);
        assert_eq!(pair(&two, Wave::default(), || panic!()), [[1, 0]]);
        two[1].colors.add(false);
        assert_eq!(pair(&two, Wave::default(), || panic!()), [[1, 0]]);
        two[0].colors.add(false);
        two[0].colors.add(false);
        assert_eq!(pair(&two, Wave::default(), || panic!()), [[0, 1]]);
    }

    #[test]
    fn pairing_limits_color_streak() {
        let mut four = [0, 1, 2, 3].map(|rank| player(rank, None));
        for white in [0, 1] {
            for _ in 0..3 {
                four[white].colors.add(true);
            }
        }
        assert_eq!(ranks(&four, Wave::default()), [[0, 2], [1, 3]]);
    }

    #[test]
    fn pairing_separates_team_mates() {
        let mut four = [0, 1, 2, 3].map(|rank| player(rank, None));
        for (candidate, team) in four.iter_mut().zip(["a", "a", "b", "b"]) {
            candidate.team = Some(team.to_owned());
        }
        let opening = Wave {
            opening: true,
            only_two: false,
        };
        assert_eq!(ranks(&four, opening), [[0, 2], [1, 3]]);
    }

    #[test]
    fn pairing_of_many_is_complete_and_close() {
        let mut rng = fastrand::Rng::with_seed(3);
        for size in [2, 6, 16, 50, 100] {
            let mut candidates: Vec<Candidate> = (0..size).map(|rank| player(rank, None)).collect();
            for _ in 0..10 {
                let pairs = pair(&candidates, Wave::default(), || rng.bool());
                if size > 2 {
                    assert_eq!(pairs.len(), size / 2);
                }
                for [white, black] in &pairs {
                    let (a, b) = (&candidates[*white], &candidates[*black]);
                    assert_ne!(a.last_opponent.as_ref(), Some(&b.user));
                    assert!(a.rank.abs_diff(b.rank) <= 6, "{} {}", a.rank, b.rank);
                }
                for [white, black] in pairs {
                    let (a, b) = (
                        candidates[white].user.clone(),
                        candidates[black].user.clone(),
                    );
                    candidates[white].last_opponent = Some(b);
                    candidates[black].last_opponent = Some(a);
                    candidates[white].colors.add(true);
                    candidates[black].colors.add(false);
                    assert!(candidates[white].colors.balance.abs() <= 3);
                }
            }
        }
    }
}
