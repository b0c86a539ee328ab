//! Static evaluation: the value of a position without search.
//!
//! [`Evaluator`] is the interface to the search. It uses the [network](super::nnue); without one, or against a bare
//! king, the hand-crafted evaluation (HCE). That is a tapered sum of terms: every term has a middlegame and an
//! endgame weight, interpolated by the material on the board.

mod king;
mod pawns;
mod phased;
mod pieces;
mod terms;
pub mod trace;
mod weights;

use std::sync::Arc;

use self::pawns::Structure;
use self::terms::{Sum, TEMPO};

use super::history::pawn_hash;
use super::nnue::{Accumulators, Network};
use super::value::{EVAL_LIMIT, Value};
use knightwatch_chess::{Bitboard, Color, Move, Position, Role, Square, attacks};

/// Evaluates positions, and keeps the accumulators and caches for that.
pub(crate) struct Evaluator {
    /// Follows the moves of the search; `None` uses the hand-crafted evaluation.
    network: Option<Accumulators>,
    pawns: pawns::Cache,
}

impl Evaluator {
    pub fn new(network: Option<Arc<Network>>) -> Evaluator {
        Evaluator {
            network: network.map(|network| Accumulators::new(network, &Position::startpos())),
            pawns: pawns::Cache::new(),
        }
    }

    /// The network, if there is one.
    pub fn network(&self) -> Option<Arc<Network>> {
        self.network.as_ref().map(|sums| sums.network().clone())
    }

    /// Starts a search at `root`.
    pub fn reset(&mut self, root: &Position) {
        if let Some(sums) = &mut self.network {
            sums.reset(root);
        }
    }

    /// Makes `mv` in `pos`.
    pub fn push(&mut self, pos: &Position, mv: Move) {
        if let Some(sums) = &mut self.network {
            sums.push(pos, mv);
        }
    }

    /// Unmakes the last move.
    pub fn pop(&mut self) {
        if let Some(sums) = &mut self.network {
            sums.pop();
        }
    }

    /// The value in centipawns from the side to move's point of view, always below mate scores. Not for positions in
    /// check. `pos` must be the position that [`reset`](Self::reset), [`push`](Self::push) and [`pop`](Self::pop) led
    /// to.
    pub fn evaluate(&mut self, pos: &Position) -> Value {
        match &mut self.network {
            // Self-play games do not teach networks how to mate a bare king.
            Some(sums) if !has_bare_king(pos) => {
                let value = sums.evaluate(pos);
                #[cfg(test)]
                if pos.key().is_multiple_of(64) {
                    let mut fresh = Accumulators::new(sums.network().clone(), pos);
                    assert_eq!(
                        value,
                        fresh.evaluate(pos),
                        "incremental and fresh evaluation differ"
                    );
                }
                value.clamp(-EVAL_LIMIT, EVAL_LIMIT)
            }
            _ => self.hce(pos),
        }
    }

    fn hce(&mut self, pos: &Position) -> Value {
        let score = sum(pos, self.pawns.get(pos, pawn_hash(pos)));
        let strong = if score.endgame() >= 0 {
            Color::White
        } else {
            Color::Black
        };
        let endgame = score.endgame() * scale(pos, strong) / FULL_SCALE;
        let phase = phase(pos);
        let white = (score.middlegame() * phase + endgame * (FULL_PHASE - phase)) / FULL_PHASE;
        let ours = if pos.turn() == Color::White {
            white
        } else {
            -white
        };
        (ours + mop_up(pos)).clamp(-EVAL_LIMIT, EVAL_LIMIT)
    }
}

/// All terms from White's point of view.
fn sum<S: Sum>(pos: &Position, structure: Structure<S>) -> S {
    let Structure { mut score, passed } = structure;
    let sides = [Side::new(pos, Color::White), Side::new(pos, Color::Black)];
    let mut reach = [Reach::default(), Reach::default()];
    for us in Color::ALL {
        let (side, other) = (&sides[us.index()], &sides[(!us).index()]);
        let reach = &mut reach[us.index()];
        let part = pieces::score::<S>(pos, us, side, other, passed[us.index()], reach);
        score += signed(us, part);
    }
    let mut tempo = S::default();
    tempo.weigh(TEMPO, 1);
    score += signed(pos.turn(), tempo);
    for us in Color::ALL {
        let (own, theirs) = (&reach[us.index()], &reach[(!us).index()]);
        let part = pieces::threats::<S>(pos, us, own, theirs)
            + pieces::passed::<S>(pos, us, passed[us.index()])
            + king::attacked::<S>(pos, us, own, theirs);
        score += signed(us, part);
    }
    score
}

fn has_bare_king(pos: &Position) -> bool {
    Color::ALL
        .iter()
        .any(|&color| pos.by_color(color).count() == 1)
}

fn signed<S: Sum>(color: Color, score: S) -> S {
    if color == Color::White { score } else { -score }
}

/// Data of one side used by several terms.
struct Side {
    king: Square,
    pawn_attacks: Bitboard,
    /// Squares around the king where attacks are dangerous.
    king_zone: Bitboard,
}

impl Side {
    fn new(pos: &Position, color: Color) -> Side {
        let king = pos.king(color);
        let around = attacks::king(king).with(king);
        let ahead = match color {
            Color::White => around.0 << 8,
            Color::Black => around.0 >> 8,
        };
        Side {
            king,
            pawn_attacks: attacks::pawns(color, pos.pieces(color, Role::Pawn)),
            king_zone: around | Bitboard(ahead),
        }
    }
}

/// Squares attacked by one side's pieces.
#[derive(Default)]
struct Reach {
    /// By role.
    by: [Bitboard; 6],
    all: Bitboard,
    /// Attacked at least twice.
    twice: Bitboard,
    /// Danger to the enemy king from attackers so far, and their number.
    danger: i32,
    attackers: u32,
}

impl Reach {
    fn add(&mut self, role: Role, squares: Bitboard) {
        self.twice |= self.all & squares;
        self.all |= squares;
        self.by[role.index()] |= squares;
    }
}

/// Material of a full middlegame.
const FULL_PHASE: i32 = 24;

/// How far the game is in the middlegame, 0 to [`FULL_PHASE`].
fn phase(pos: &Position) -> i32 {
    let count = |role| pos.by_role(role).count() as i32;
    let minors = count(Role::Knight) + count(Role::Bishop);
    (minors + 2 * count(Role::Rook) + 4 * count(Role::Queen)).min(FULL_PHASE)
}

const FULL_SCALE: i32 = 64;

/// Scale of the endgame score in 64ths, lower in drawish endgames.
fn scale(pos: &Position, strong: Color) -> i32 {
    let pawns = pos.pieces(strong, Role::Pawn).count() as i32;
    let value = |color| {
        let worth = [
            (Role::Knight, 3),
            (Role::Bishop, 3),
            (Role::Rook, 5),
            (Role::Queen, 10),
        ];
        worth
            .iter()
            .map(|&(role, worth)| worth * pos.pieces(color, role).count() as i32)
            .sum::<i32>()
    };
    let (ours, theirs) = (value(strong), value(!strong));
    if pawns == 0 && ours - theirs <= 3 {
        // A minor piece ahead does not win without pawns; a lone minor piece or two knights never do.
        let two_knights = ours == 6 && pos.pieces(strong, Role::Knight).count() == 2;
        return if ours <= 3 || two_knights && theirs == 0 {
            0
        } else {
            10
        };
    }
    let bishops = pos.by_role(Role::Bishop);
    let dark = Bitboard(0xaa55_aa55_aa55_aa55);
    let one_each = Color::ALL
        .iter()
        .all(|&color| pos.pieces(color, Role::Bishop).count() == 1);
    if one_each && (bishops & dark).count() == 1 {
        return if ours == 3 && theirs == 3 {
            26 + 3 * pawns
        } else {
            48
        };
    }
    (44 + 4 * pawns).min(FULL_SCALE)
}

/// Mop-up against a bare king: drive it to the edge and bring our own king near.
fn mop_up(pos: &Position) -> Value {
    for us in Color::ALL {
        let bare = pos.by_color(!us).count() == 1;
        let majors = pos.pieces(us, Role::Queen) | pos.pieces(us, Role::Rook);
        let minors = pos.pieces(us, Role::Bishop) | pos.pieces(us, Role::Knight);
        if bare && (!majors.is_empty() || minors.count() >= 2) {
            let (own, theirs) = (pos.king(us), pos.king(!us));
            let bonus = 20 * centre_distance(theirs) + 8 * (14 - distance(own, theirs));
            return if pos.turn() == us { bonus } else { -bonus };
        }
    }
    0
}

/// Chebyshev distance: king moves between two squares.
fn distance(a: Square, b: Square) -> i32 {
    let file = (a.index() % 8).abs_diff(b.index() % 8);
    let rank = (a.index() / 8).abs_diff(b.index() / 8);
    file.max(rank) as i32
}

/// Manhattan distance from the four centre squares, 0 to 6.
fn centre_distance(square: Square) -> i32 {
    let off = |x: usize| if x < 4 { 3 - x } else { x - 4 };
    (off(square.index() % 8) + off(square.index() / 8)) as i32
}

fn file_index(square: Square) -> usize {
    square.index() % 8
}

/// The rank from the side's point of view: 0 is its own first rank.
fn forward_rank(color: Color, square: Square) -> usize {
    let rank = square.index() / 8;
    if color == Color::White {
        rank
    } else {
        7 - rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::nnue::{Kernels, tests::random_network};
    use crate::search::{Search, ThreadData};
    use crate::table::Table;
    use crate::{Limits, Setting};
    use knightwatch_chess::Game;

    /// Nodes of a few searches with a network and these kernels.
    fn nodes_with(network: &Arc<Network>, kernels: &'static Kernels) -> u64 {
        let positions = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        ];
        let limits = Limits {
            depth: Some(7),
            ..Limits::default()
        };
        let nodes = positions.map(|fen| {
            let game = Game::new(Position::from_fen(fen).expect("a good FEN"));
            let mut thread_data = ThreadData::new(&Setting::with_network(None));
            let sums = Accumulators::with_kernels(network.clone(), kernels, game.position());
            thread_data.evaluator.network = Some(sums);
            let (control, table) = (Control::new(&limits, 0), Table::new(1));
            Search::new(&control, &table, &mut thread_data, &game, &limits, 0)
                .iterate(&mut |_| {})
                .nodes
        });
        nodes.into_iter().sum()
    }

    #[test]
    fn search_visits_same_nodes_with_all_kernels() {
        let network = Arc::new(random_network(9, 32, 8));
        let expected = nodes_with(&network, &Kernels::all()[0]);
        for kernels in Kernels::all() {
            assert_eq!(
                nodes_with(&network, kernels),
                expected,
                "{}",
                kernels.name()
            );
        }
    }

    fn eval(fen: &str) -> Value {
        Evaluator::new(None).evaluate(&Position::from_fen(fen).expect("a good FEN"))
    }

    /// The same position with the colours exchanged.
    fn mirrored(fen: &str) -> String {
        let fields: Vec<&str> = fen.split(' ').collect();
        let swap = |c: char| {
            if c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        };
        let board = fields[0]
            .split('/')
            .rev()
            .map(|rank| rank.chars().map(swap).collect::<String>());
        let board = board.collect::<Vec<_>>().join("/");
        let turn = if fields[1] == "w" { "b" } else { "w" };
        let castling: String = fields[2].chars().map(swap).collect();
        format!("{board} {turn} {castling} - 0 1")
    }

    #[test]
    fn evaluate_of_mirrored_position_is_equal() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P1B2/2NBPN2/PP3PPP/R2Q1RK1 b - - 0 1",
            "2k5/8/8/3P4/8/2B5/5b2/6K1 w - - 0 1",
        ] {
            assert_eq!(eval(fen), eval(&mirrored(fen)), "{fen}");
        }
    }

    #[test]
    fn evaluate_of_start_position_is_the_tempo() {
        assert_eq!(
            eval("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
            weights::WEIGHTS[TEMPO.index()].middlegame()
        );
    }

    #[test]
    fn evaluate_counts_material_that_can_win() {
        assert!(eval("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1") > 700);
        assert!(eval("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1") > 50);
        let lone_bishop = eval("4k3/4p3/8/8/8/8/3B4/4K3 w - - 0 1");
        assert!(
            lone_bishop < 100,
            "a lone bishop does not win: {lone_bishop}"
        );
    }
}
