//! A pair of games: one opening, played twice with colors reversed.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::adjudication::{WinStreak, node_limits, outcome_by_rules};
use crate::openings::Openings;
use crate::options::Effort;
use crate::record::Outcome;
use knightwatch_chess::{Color, Game, Move, Position};
use knightwatch_engine::{Clock, Limits, Score, Searcher};

/// Scores of balanced openings, in centipawns for either side.
pub(crate) const BALANCED: RangeInclusive<i32> = 0..=200;
/// Scores of openings in which one side is better. They lead to fewer draws, so fewer games decide.
pub(crate) const UNBALANCED: RangeInclusive<i32> = 60..=140;
/// Soft nodes of the search that scores an opening.
const OPENING_NODES: u64 = 4_000;
const MAX_PLIES: usize = 400;
/// Centipawns of a mate, for adjudication.
const MATE_SCORE: i32 = 10_000;
/// Draw adjudication starts at this ply.
const DRAW_FROM_PLY: usize = 70;

/// Safety margin of a move on a clock of nodes: the nodes between two looks at the clock, with few nodes per
/// millisecond.
const NODE_CLOCK_OVERHEAD: Duration = Duration::from_millis(5);

/// Hash table of a player with a fixed number of nodes a move, in MiB.
pub(crate) const HASH_MIB: usize = 8;

/// Scores in centipawns that end a game when both engines agree for a number of plies.
pub(crate) struct Adjudication {
    win: Option<(i32, u32)>,
    draw: Option<(i32, u32)>,
}

/// Between versions of this engine, which see the same.
const OWN_VERSIONS: Adjudication = Adjudication {
    win: Some((700, 4)),
    draw: Some((8, 10)),
};
/// Between engines whose scores have other scales.
pub(crate) const ANY_ENGINES: Adjudication = Adjudication {
    win: Some((1_500, 6)),
    draw: None,
};
/// The same with draws, since a move of a high level takes seconds. Twice the plies of games between own versions: a weak
/// player may still lose a drawn game.
pub(crate) const CALIBRATION: Adjudication = Adjudication {
    win: ANY_ENGINES.win,
    draw: Some((10, 20)),
};
/// None: a game of a variant may turn at the last move, so it is played to the end.
pub(crate) const BY_RULES: Adjudication = Adjudication {
    win: None,
    draw: None,
};

/// Plays two games from one opening with this effort; returns the first player's half points in each: 0, 1 or 2.
pub(crate) fn play(
    players: &mut [Searcher; 2],
    openings: &Openings,
    scores: &RangeInclusive<i32>,
    pair: u64,
    effort: Effort,
) -> [u8; 2] {
    let limits = node_limits(OPENING_NODES);
    let start = openings.draw(pair, |game| {
        let mut players = players.iter_mut();
        players.all(|player| is_scored(player, game, &limits, scores))
    });
    [Color::White, Color::Black].map(|first| {
        players.iter_mut().for_each(Searcher::new_game);
        let mut left = match effort {
            Effort::Clock(clock, _) => [clock.base; 2],
            Effort::Nodes(_) => [Duration::ZERO; 2],
        };
        let search = |side: usize, game: &Game| -> Result<_, TimeForfeit> {
            let result = players[side].search(game, &limits_of(effort, left[side]));
            if let Effort::Clock(clock, nodes_per_ms) = effort {
                let spent = Duration::from_millis(result.nodes / nodes_per_ms);
                let rest = left[side].checked_sub(spent).ok_or(TimeForfeit(side))?;
                left[side] = rest + clock.increment;
            }
            Ok(result.mv.map(|mv| (mv, result.score)))
        };
        match play_game(search, Game::new(start.clone()), first, &OWN_VERSIONS) {
            Ok(outcome) => outcome.points(first),
            Err(TimeForfeit(side)) => [0, 2][side],
        }
    })
}

/// This player has exceeded its clock.
struct TimeForfeit(usize);

/// The limits of a move of a player with so much time left.
fn limits_of(effort: Effort, left: Duration) -> Limits {
    match effort {
        Effort::Nodes(nodes) => Limits {
            nodes: Some(nodes),
            ..Limits::default()
        },
        Effort::Clock(clock, nodes_per_ms) => Limits {
            nodes_per_ms: Some(nodes_per_ms),
            clock: Some(Clock {
                remaining: left,
                increment: clock.increment,
                moves_to_go: None,
                overhead: NODE_CLOCK_OVERHEAD,
                lag: Duration::ZERO,
                ponders: false,
            }),
            ..Limits::default()
        },
    }
}

/// The balanced opening of a pair, accepted by one referee.
pub(crate) fn opening(openings: &Openings, pair: u64, referee: &mut Searcher) -> Position {
    let effort = node_limits(OPENING_NODES);
    openings.draw(pair, |game| is_scored(referee, game, &effort, &BALANCED))
}

/// Returns whether this player's score of the opening is in range.
fn is_scored(
    player: &mut Searcher,
    game: &Game,
    limits: &Limits,
    scores: &RangeInclusive<i32>,
) -> bool {
    player.new_game();
    let score = player.search(game, limits).score;
    matches!(score, Score::Centipawns(cp) if scores.contains(&cp.abs()))
}

/// Plays one game, in which player 0 has the color `first`. `search` returns a player's move and score; its errors end the
/// game.
pub(crate) fn play_game<E>(
    mut search: impl FnMut(usize, &Game) -> Result<Option<(Move, Score)>, E>,
    mut game: Game,
    first: Color,
    adjudication: &Adjudication,
) -> Result<Outcome, E> {
    let mut winning = WinStreak::default();
    let mut even_plies = 0;
    for ply in 0..MAX_PLIES {
        if let Some(outcome) = outcome_by_rules(&game) {
            return Ok(outcome);
        }
        let turn = game.position().turn();
        let Some((mv, score)) = search(usize::from(turn != first), &game)? else {
            break;
        };
        let score = match score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) => MATE_SCORE * moves.signum(),
        };
        if let Some((win_score, win_plies)) = adjudication.win {
            let white = if turn.is_white() { score } else { -score };
            winning.add_score(white, win_score);
            if let Some(outcome) = winning.outcome(win_plies) {
                return Ok(outcome);
            }
        }
        if let Some((draw_score, draw_plies)) = adjudication.draw {
            let is_even = ply >= DRAW_FROM_PLY && score.abs() <= draw_score;
            even_plies = if is_even { even_plies + 1 } else { 0 };
            if even_plies >= draw_plies {
                return Ok(Outcome::Draw);
            }
        }
        game.play(mv);
    }
    Ok(outcome_by_rules(&game).unwrap_or(Outcome::Draw))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::options::MatchClock;
    use knightwatch_chess::Variant;
    use knightwatch_engine::Setting;

    #[test]
    fn pair_of_equal_players_is_even() {
        let mut players = [(); 2].map(|()| Searcher::new(1, &Setting::with_network(None)));
        let openings = Openings::Random {
            seed: 1,
            variant: Variant::Standard,
            chess960: 50,
        };
        let clock = MatchClock {
            base: Duration::from_millis(200),
            increment: Duration::from_millis(10),
        };
        let nodes_per_ms = NonZeroU64::new(100).expect("not zero");
        for effort in [Effort::Nodes(100), Effort::Clock(clock, nodes_per_ms)] {
            for pair in 0..2 {
                let points = play(&mut players, &openings, &BALANCED, pair, effort);
                assert_eq!(
                    points[0] + points[1],
                    2,
                    "the same game twice, with colors reversed"
                );
            }
        }
    }
}
