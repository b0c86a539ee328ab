//! Move choice of built-in players.

use std::sync::Mutex;

use tokio::sync::Semaphore;

use knightwatch_chess::pgn::Outcome;
use knightwatch_chess::{Game, Move, Position, Role};
use knightwatch_engine::{Limits, Searcher, Setting};
use knightwatch_util::sync::lock;

use super::PlayerKind;

/// Enough for searches with few nodes.
const TABLE_MIB: usize = 1;

/// Engine searches of built-in players. Every search starts with an empty transposition table, so the result depends only
/// on the game and the number of nodes.
pub(crate) struct SearchPool {
    idle: Mutex<Vec<Searcher>>,
    /// One permit per core.
    permits: Semaphore,
}

impl Default for SearchPool {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            idle: Mutex::default(),
            permits: Semaphore::new(cores),
        }
    }
}

impl SearchPool {
    /// The engine's move after this many nodes; `None` without legal moves.
    pub(crate) async fn best_move(&self, game: Game, nodes: u64) -> Option<Move> {
        let _permit = self.permits.acquire().await.ok()?;
        let idle = self.idle().pop();
        let search = move || {
            let mut solo = idle.unwrap_or_else(|| Searcher::new(TABLE_MIB, &Setting::default()));
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
        lock(&self.idle)
    }
}

/// The move of a player that does not search.
pub(super) fn choose_move(
    kind: PlayerKind,
    position: &Position,
    rng: &mut fastrand::Rng,
) -> Option<Move> {
    let moves = position.legal_moves();
    if kind != PlayerKind::Greedy {
        return rng.choice(moves.iter().copied());
    }
    let best = moves.iter().map(|mv| greedy_score(position, *mv)).max()?;
    let candidates: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|mv| greedy_score(position, *mv) == best)
        .collect();
    rng.choice(candidates)
}

/// Value of a move for a greedy player.
fn greedy_score(position: &Position, mv: Move) -> u32 {
    const MATE: u32 = 1_000;
    let value = |role| match role {
        Role::Pawn => 10,
        Role::Knight | Role::Bishop => 30,
        Role::Rook => 50,
        Role::Queen => 90,
        Role::King => 0,
    };
    let captured = if mv.is_castle() {
        0
    } else if mv.is_capture() {
        position
            .piece_at(mv.to())
            .map_or(value(Role::Pawn), |piece| value(piece.role))
    } else {
        0
    };
    let promoted = mv.promotion().map_or(0, value);
    let after = position.after(mv);
    let check = u32::from(after.in_check());
    if check == 1 && !after.has_legal_move()
        || after.variant_outcome() == Outcome::Win(position.turn())
    {
        MATE
    } else {
        captured + promoted + check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greedy(fen: &str) -> String {
        let position = Position::from_fen(fen).unwrap();
        let mv = choose_move(
            PlayerKind::Greedy,
            &position,
            &mut fastrand::Rng::with_seed(7),
        )
        .unwrap();
        position.san(mv)
    }

    #[test]
    fn greedy_prefers_mate_then_capture_then_check() {
        assert_eq!(greedy("q5k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"), "Rxa8#");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1q6/P4PPP/R5K1 w - - 0 1"), "axb3");
        assert_eq!(greedy("4k3/8/8/8/8/8/8/K6R w - - 0 1"), "Rh8+");
        assert_eq!(greedy("6k1/5ppp/8/8/8/1n6/2P2PPP/R5K1 w - - 0 1"), "Ra8#");
    }

    #[test]
    fn random_moves_follow_seed() {
        let moves = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut position = Position::startpos();
            (0..30)
                .map(|_| {
                    let mv = choose_move(PlayerKind::Random, &position, &mut rng).unwrap();
                    position.play(mv);
                    mv
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(moves(5), moves(5));
        assert_ne!(moves(5), moves(6));
    }
}
