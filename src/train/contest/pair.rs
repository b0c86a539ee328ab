//! A pair of games: one opening, played twice with colours exchanged.

use std::convert::Infallible;

use crate::chess::{Color, Game, Move, Position};
use crate::engine::{Limits, Score, Searcher};
use crate::train::openings::Openings;
use crate::train::record::Outcome;
use crate::train::referee::{Streak, by_rule, limits};

/// Openings beyond this, in centipawns for either engine, are no games.
const OPENING_MAX: i32 = 200;
/// The nodes by which a judge looks at one.
const OPENING_NODES: u64 = 4_000;
/// The opening is looked at so many times longer than a move.
const OPENING_EFFORT: u64 = 4;
/// A game is over when both agree that it stands at this for so many plies.
const WIN_SCORE: i32 = 1500;
const WIN_PLIES: u32 = 6;
const MAX_PLIES: usize = 400;

/// Two games from one opening; the first player's half points in each: 0, 1 or 2.
pub(in crate::train) fn play(
    players: &mut [Searcher; 2],
    openings: &Openings,
    pair: u64,
    nodes: u64,
) -> [u8; 2] {
    let longer = limits(nodes.saturating_mul(OPENING_EFFORT));
    let start = openings.draw(pair, |game| {
        let mut players = players.iter_mut();
        players.all(|player| is_fair(player, game, &longer))
    });
    let limits = limits(nodes);
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

/// Where both games of a pair start, in the eyes of one judge.
pub(in crate::train) fn opening(openings: &Openings, pair: u64, judge: &mut Searcher) -> Position {
    let effort = limits(OPENING_NODES);
    openings.draw(pair, |game| is_fair(judge, game, &effort))
}

/// Whether a game may start here, in the eyes of this player.
fn is_fair(player: &mut Searcher, game: &Game, limits: &Limits) -> bool {
    player.new_game();
    let score = player.search(game, limits).score;
    matches!(score, Score::Centipawns(cp) if cp.abs() <= OPENING_MAX)
}

/// One game, in which player 0 has the colour `first`. The players are asked for a move and how good they think they stand;
/// if one of them fails, so does the game.
pub(in crate::train) fn play_game<E>(
    mut think: impl FnMut(usize, &Game) -> Result<Option<(Move, Score)>, E>,
    mut game: Game,
    first: Color,
) -> Result<Outcome, E> {
    let mut winning = Streak::default();
    for _ in 0..MAX_PLIES {
        if let Some(outcome) = by_rule(&game) {
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
        winning.see(white, WIN_SCORE);
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
    use crate::engine::Setting;

    #[test]
    fn equal_players_score_half() {
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
                "the same game twice, with colours exchanged"
            );
        }
    }
}
