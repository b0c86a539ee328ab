//! Accumulators: the first layer's sums along the current line of the search, updated incrementally.
//!
//! A search thread owns one [`Accumulators`] and calls [`push`](Accumulators::push) for every move it makes and
//! [`pop`](Accumulators::pop) for every move it unmakes; null moves change nothing. A push only records the changed
//! pieces; the sums are updated when the position is evaluated, from the nearest ancestor that has them. If a king
//! crosses between the d and e files, its side's view is mirrored and is summed from scratch.

use std::sync::Arc;

use super::features::{self, is_mirrored};
use super::{Change, Kernels, Lane, Network};
use crate::board_move::BoardMove;
use knightwatch_chess::{Color, File, MoveKind, Piece, Position, Role, Square};

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The inputs that the move to here changes, seen by White and not mirrored; none at the root.
    change: Change,
    /// By color: whether that side's view is mirrored.
    mirrored: [bool; 2],
    /// By color: whether the sums are up to date.
    ready: [bool; 2],
}

/// The sums of the positions from the root to the current one, for both perspectives.
#[derive(Clone, Debug)]
pub struct Accumulators {
    network: Arc<Network>,
    kernels: &'static Kernels,
    frames: Vec<Frame>,
    /// Two perspectives per frame, `stride` lanes each.
    sums: Vec<Lane>,
    stride: usize,
}

impl Accumulators {
    /// Creates accumulators for searches from `root`.
    #[must_use]
    pub fn new(network: Arc<Network>, root: &Position) -> Accumulators {
        Accumulators::with_kernels(network, Kernels::best(), root)
    }

    /// Like [`new`](Self::new), with the given kernels.
    #[must_use]
    pub fn with_kernels(
        network: Arc<Network>,
        kernels: &'static Kernels,
        root: &Position,
    ) -> Accumulators {
        let stride = network.stride();
        let mut accumulators = Accumulators {
            network,
            kernels,
            frames: Vec::new(),
            sums: Vec::new(),
            stride,
        };
        accumulators.reset(root);
        accumulators
    }

    /// The network of these accumulators.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Restarts from `root`. Its sums are computed at once: all others derive from it, and it is never evaluated if
    /// in check.
    pub fn reset(&mut self, root: &Position) {
        let mirrored =
            [Color::White, Color::Black].map(|color| is_mirrored(root.king(color).index()));
        self.frames.clear();
        self.frames.push(Frame {
            change: Change::NONE,
            mirrored,
            ready: [false; 2],
        });
        self.reserve_sums();
        for color in Color::ALL {
            self.refresh(root, color);
        }
    }

    /// Makes a legal move of the side to move, `turn`.
    #[inline]
    pub(crate) fn push(&mut self, turn: Color, board_move: BoardMove) {
        let (change, king) = change(turn, board_move);
        let mut mirrored = self.top().mirrored;
        if let Some(king) = king {
            mirrored[turn.index()] = is_mirrored(king.index());
        }
        self.frames.push(Frame {
            change,
            mirrored,
            ready: [false; 2],
        });
    }

    /// Unmakes the last pushed move.
    #[inline]
    pub fn pop(&mut self) {
        self.frames.pop();
        debug_assert!(!self.frames.is_empty(), "more pops than pushes");
    }

    /// The value in centipawns for the side to move of `position`, which must be the current one.
    #[must_use]
    pub fn evaluate(&mut self, position: &Position) -> i32 {
        self.reserve_sums();
        self.update(position);
        let top = self.frames.len() - 1;
        let (us, them) = (
            self.at(top, position.turn()),
            self.at(top, !position.turn()),
        );
        let pieces = position.occupied().count() as usize;
        self.network.output(
            self.kernels,
            &self.sums[us..][..self.stride],
            &self.sums[them..][..self.stride],
            pieces,
        )
    }

    /// Allocates sums for all frames.
    #[inline]
    fn reserve_sums(&mut self) {
        let needed = self.frames.len() * 2 * self.stride;
        if self.sums.len() < needed {
            self.sums
                .resize(needed.max(64 * 2 * self.stride), Lane::ZERO);
        }
    }

    fn top(&self) -> &Frame {
        self.frames.last().expect("the root frame stays")
    }

    /// Index of the first lane of a frame's sums.
    fn at(&self, frame: usize, color: Color) -> usize {
        (2 * frame + color.index()) * self.stride
    }

    /// Brings the current position's sums up to date.
    fn update(&mut self, position: &Position) {
        let top = self.frames.len() - 1;
        match Color::ALL.map(|color| self.nearest_ready(color)) {
            [Some(white), Some(black)] if white == black => {
                for frame in white + 1..=top {
                    self.step(frame, &Color::ALL);
                }
            }
            nearest => {
                for color in Color::ALL {
                    match nearest[color.index()] {
                        Some(from) => {
                            for frame in from + 1..=top {
                                self.step(frame, &[color]);
                            }
                        }
                        None => self.refresh(position, color),
                    }
                }
            }
        }
    }

    /// The last frame from which the current position's sums of a perspective can be updated.
    #[inline]
    fn nearest_ready(&self, color: Color) -> Option<usize> {
        let side = color.index();
        let mirrored = self.top().mirrored[side];
        for (index, frame) in self.frames.iter().enumerate().rev() {
            if frame.mirrored[side] != mirrored {
                return None;
            }
            if frame.ready[side] {
                return Some(index);
            }
        }
        None
    }

    /// Computes the current position's sums from scratch.
    fn refresh(&mut self, position: &Position, color: Color) {
        let top = self.frames.len() - 1;
        let at = self.at(top, color);
        let mut active = [0u16; 32];
        let count = active_features(position, color, &mut active);
        let into = &mut self.sums[at..][..self.stride];
        self.kernels.refresh(
            into,
            self.network.biases(),
            self.network.weights(),
            &active[..count],
        );
        self.frames[top].ready[color.index()] = true;
    }

    /// Computes the sums of `frame` from the frame before it: those of White, Black, or White and Black.
    #[inline]
    fn step(&mut self, frame: usize, perspectives: &[Color]) {
        let Frame {
            change, mirrored, ..
        } = self.frames[frame];
        let changes = Color::ALL.map(|color| change.seen_by(color, mirrored[color.index()]));
        let first = perspectives[0];
        let lanes = perspectives.len() * self.stride;
        let (at, before) = (self.at(frame, first), self.at(frame - 1, first));
        let (lower, upper) = self.sums.split_at_mut(at);
        self.kernels.update(
            &mut upper[..lanes],
            &lower[before..][..lanes],
            self.network.weights(),
            self.stride,
            &changes[first.index()..][..perspectives.len()],
        );
        for color in perspectives {
            self.frames[frame].ready[color.index()] = true;
        }
    }
}

/// Collects the active inputs of one perspective; returns their number.
fn active_features(position: &Position, perspective: Color, into: &mut [u16; 32]) -> usize {
    let mirrored = is_mirrored(position.king(perspective).index());
    let mut count = 0;
    for color in [Color::White, Color::Black] {
        for role in Role::ALL {
            for square in position.pieces(color, role) {
                into[count] = features::index(perspective, mirrored, Piece { color, role }, square);
                count += 1;
            }
        }
    }
    count
}

/// Inputs changed by a move of `turn`, and the new square of the mover's king if it moves.
#[inline]
fn change(turn: Color, board_move: BoardMove) -> (Change, Option<Square>) {
    let BoardMove { mv, role, captured } = board_move;
    let (from, to) = (mv.from(), mv.to());
    let own = |role, square| features::index(Color::White, false, Piece::new(turn, role), square);
    if mv.is_castle() {
        let (king_file, rook_file) = if to.file() > from.file() {
            (File::G, File::F)
        } else {
            (File::C, File::D)
        };
        let king_to = Square::new(king_file, from.rank());
        let rook_to = Square::new(rook_file, from.rank());
        let change = Change::Castle {
            added: [own(Role::King, king_to), own(Role::Rook, rook_to)],
            removed: [own(Role::King, from), own(Role::Rook, to)],
        };
        return (change, Some(king_to));
    }
    let added = own(mv.promotion().unwrap_or(role), to);
    let removed = own(role, from);
    let change = match captured {
        Some(captured) => {
            let square = if mv.kind() == MoveKind::EnPassant {
                Square::new(to.file(), from.rank())
            } else {
                to
            };
            let piece = Piece::new(!turn, captured);
            let captured = features::index(Color::White, false, piece, square);
            Change::Capture {
                added,
                removed: [removed, captured],
            }
        }
        None => Change::Quiet { added, removed },
    };
    (change, (role == Role::King).then_some(to))
}
