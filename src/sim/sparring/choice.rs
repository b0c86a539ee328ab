//! How a sparring user chooses its moves.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::chess::{Game, Move, Position, Role};
use crate::engine::{Limits, Searcher, Setting};

use super::Kind;

/// Searches with fewer nodes fill no more than this table, in MiB.
const TABLE: usize = 1;

/// Who thinks for the sparring users that play with our engine. Every search begins with an empty memory, so that its
/// answer depends on nothing but the game and the nodes.
pub(in crate::sim) struct Thinkers {
    idle: Mutex<Vec<Searcher>>,
    /// As many as think at once.
    seats: Semaphore,
}

impl Default for Thinkers {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            idle: Mutex::default(),
            seats: Semaphore::new(cores),
        }
    }
}

impl Thinkers {
    /// The engine's move after so many nodes; without any legal move there is none.
    pub async fn think(&self, game: Game, nodes: u64) -> Option<Move> {
        let _seat = self.seats.acquire().await.ok()?;
        let idle = self.idle().pop();
        let search = move || {
            let mut solo = idle.unwrap_or_else(|| Searcher::new(TABLE, &Setting::default()));
            solo.new_game();
            let limits = Limits {
                nodes: Some(nodes),
                ..Limits::default()
            };
            let mv = solo.search(&game, &limits).mv;
            (solo, mv)
        };
        let (solo, mv) = tokio::task::spawn_blocking(search).await.ok()?;
        self.idle().push(solo);
        mv
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Searcher>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The move of a user who does not search.
pub(super) fn choose(kind: Kind, position: &Position, rng: &mut fastrand::Rng) -> Option<Move> {
    let moves = position.legal_moves();
    if kind != Kind::Greedy {
        return rng.choice(moves.iter().copied());
    }
    let best = moves.iter().map(|mv| greed(position, *mv)).max()?;
    let tempting: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|mv| greed(position, *mv) == best)
        .collect();
    rng.choice(tempting)
}

/// How much a greedy user wants a move.
fn greed(position: &Position, mv: Move) -> u32 {
    const MATE: u32 = 1_000;
    let worth = |role| match role {
        Role::Pawn => 10,
        Role::Knight | Role::Bishop => 30,
        Role::Rook => 50,
        Role::Queen => 90,
        Role::King => 0,
    };
    let taken = if mv.is_castle() {
        0
    } else if mv.is_capture() {
        position
            .piece_at(mv.to())
            .map_or(worth(Role::Pawn), |piece| worth(piece.role))
    } else {
        0
    };
    let promoted = mv.promotion().map_or(0, worth);
    let after = position.after(mv);
    let check = u32::from(after.in_check());
    if check == 1 && !after.has_legal_move() {
        MATE
    } else {
        taken + promoted + check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greedy(fen: &str) -> String {
        let position = Position::from_fen(fen).unwrap();
        let mv = choose(Kind::Greedy, &position, &mut fastrand::Rng::with_seed(7)).unwrap();
        position.san(mv)
    }

    #[test]
    fn the_greedy_mate_take_and_check_in_this_order() {
        assert_eq!(greedy("q5k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), "Rxa8#");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1q6/P4PPP/R5K1 w - - 0 1"), "axb3");
        assert_eq!(greedy("4k3/8/8/8/8/8/8/K6R w - - 0 1"), "Rh8+");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1n6/2P2PPP/R5K1 w - - 0 1"), "Ra8#");
    }

    #[test]
    fn the_same_seed_makes_the_same_moves() {
        let moves = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut position = Position::startpos();
            (0..30)
                .map(|_| {
                    let mv = choose(Kind::Random, &position, &mut rng).unwrap();
                    position.play(mv);
                    mv
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(moves(5), moves(5));
        assert_ne!(moves(5), moves(6));
    }
}
