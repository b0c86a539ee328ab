//! A pair of games: one opening, played twice with colors reversed.

use std::convert::Infallible;

use crate::adjudication::{WinStreak, node_limits, outcome_by_rules};
use crate::openings::Openings;
use crate::record::Outcome;
use knightwatch_chess::{Color, Game, Move, Position};
use knightwatch_engine::{Limits, Score, Searcher};

/// Openings with a larger score, in centipawns, are discarded.
const MAX_OPENING_SCORE: i32 = 200;
/// Nodes of a referee's search of an opening.
const OPENING_NODES: u64 = 4_000;
/// Ratio of the nodes for an opening to those for a move.
const OPENING_NODES_FACTOR: u64 = 4;
/// Win adjudication: both engines agree on this score, in centipawns, for this many plies.
const WIN_SCORE: i32 = 1500;
const WIN_PLIES: u32 = 6;
const MAX_PLIES: usize = 400;

/// Plays two games from one opening; returns the first player's half points in each: 0, 1 or 2.
pub(crate) fn play(
    players: &mut [Searcher; 2],
    openings: &Openings,
    pair: u64,
    nodes: u64,
) -> [u8; 2] {
    let longer = node_limits(nodes.saturating_mul(OPENING_NODES_FACTOR));
    let start = openings.draw(pair, |game| {
        let mut players = players.iter_mut();
        players.all(|player| is_fair(player, game, &longer))
    });
    let limits = node_limits(nodes);
    [Color::White, Color::Black].map(|first| {
        players.iter_mut().for_each(Searcher::new_game);
        let think = |side: usize, game: &Game| -> Result<_, Infallible> {
            let thought = players[side].search(game, &limits);
            Ok(thought.mv.map(|mv| (mv, thought.score)))
        };
        let Ok(outcome) = play_game(think, Game::new(start.clone()), first);
        outcome.points(first)
    })
}

/// The opening of a pair, accepted by one referee.
pub(crate) fn opening(openings: &Openings, pair: u64, referee: &mut Searcher) -> Position {
    let effort = node_limits(OPENING_NODES);
    openings.draw(pair, |game| is_fair(referee, game, &effort))
}

/// Whether the opening is balanced for this player.
fn is_fair(player: &mut Searcher, game: &Game, limits: &Limits) -> bool {
    player.new_game();
    let score = player.search(game, limits).score;
    matches!(score, Score::Centipawns(cp) if cp.abs() <= MAX_OPENING_SCORE)
}

/// Plays one game, in which player 0 has the color `first`. `think` returns a player's move and score; its errors end the
/// game.
pub(crate) fn play_game<E>(
    mut think: impl FnMut(usize, &Game) -> Result<Option<(Move, Score)>, E>,
    mut game: Game,
    first: Color,
) -> Result<Outcome, E> {
    let mut winning = WinStreak::default();
    for _ in 0..MAX_PLIES {
        if let Some(outcome) = outcome_by_rules(&game) {
            return Ok(outcome);
        }
        let turn = game.position().turn();
        let Some((mv, score)) = think(usize::from(turn != first), &game)? else {
            break;
        };
        let score = match score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) => WIN_SCORE * moves.signum(),
        };
        let white = if turn.is_white() { score } else { -score };
        winning.add_score(white, WIN_SCORE);
        if let Some(outcome) = winning.outcome(WIN_PLIES) {
            return Ok(outcome);
        }
        game.play(mv);
    }
    Ok(Outcome::Draw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knightwatch_engine::Setting;

    #[test]
    fn pair_of_equal_players_is_even() {
        let mut players = [(); 2].map(|()| Searcher::new(1, &Setting::with_network(None)));
        let openings = Openings::Random {
            seed: 1,
            chess960: 50,
        };
        for pair in 0..2 {
            let points = play(&mut players, &openings, pair, 100);
            assert_eq!(
                points[0] + points[1],
                2,
                "the same game twice, with colors reversed"
            );
        }
    }
}
