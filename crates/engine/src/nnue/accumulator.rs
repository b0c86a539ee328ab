//! Accumulators: the first layer's sums along the current line of the search, updated incrementally.
//!
//! A search thread owns one [`Accumulators`] and calls [`push`](Accumulators::push) for every move it makes and
//! [`pop`](Accumulators::pop) for every move it unmakes; null moves change nothing. A push only records the changed
//! pieces; the sums are updated when the position is evaluated, from the nearest ancestor that has them. If a king
//! crosses between the d and e files, its side's view is mirrored and is summed from scratch.

use std::sync::Arc;

use super::features::{self, is_mirrored};
use super::{Kernels, Lane, Network};
use knightwatch_chess::{Color, File, Move, MoveKind, Piece, Position, Role, Square};

/// Pieces added and removed by a move; castling and captures change the most.
#[derive(Clone, Copy, Debug)]
struct Change {
    added: [(Piece, Square); 2],
    removed: [(Piece, Square); 2],
    added_len: u8,
    removed_len: u8,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The move that led here; meaningless at the root.
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
        let nothing = (
            Piece {
                color: Color::White,
                role: Role::Pawn,
            },
            root.king(Color::White),
        );
        let change = Change {
            added: [nothing; 2],
            removed: [nothing; 2],
            added_len: 0,
            removed_len: 0,
        };
        let mirrored =
            [Color::White, Color::Black].map(|color| is_mirrored(root.king(color).index()));
        self.frames.clear();
        self.frames.push(Frame {
            change,
            mirrored,
            ready: [false; 2],
        });
        self.reserve_sums();
        for color in Color::ALL {
            self.refresh(root, color);
        }
    }

    /// Makes `mv`, a legal move of the current position `position`.
    #[inline]
    pub fn push(&mut self, position: &Position, mv: Move) {
        let (change, king) = change(position, mv);
        let mut mirrored = self.top().mirrored;
        if let Some(king) = king {
            mirrored[position.turn().index()] = is_mirrored(king.index());
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
        self.update_perspective(position, Color::White);
        self.update_perspective(position, Color::Black);
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

    /// Brings the current position's sums of one perspective up to date.
    fn update_perspective(&mut self, position: &Position, color: Color) {
        let side = color.index();
        let top = self.frames.len() - 1;
        let mirrored = self.frames[top].mirrored[side];
        let mut from = top;
        while !self.frames[from].ready[side] {
            if from == 0 || self.frames[from - 1].mirrored[side] != mirrored {
                return self.refresh(position, color);
            }
            from -= 1;
        }
        for frame in from + 1..=top {
            self.step(frame, color, mirrored);
        }
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

    /// Computes the sums of `frame` from the frame before it.
    fn step(&mut self, frame: usize, color: Color, mirrored: bool) {
        let change = &self.frames[frame].change;
        let index = |(piece, square)| features::index(color, mirrored, piece, square);
        let both = |[one, other]: [(Piece, Square); 2]| [index(one), index(other)];
        let (added, removed) = (both(change.added), both(change.removed));
        let (added, removed) = (
            &added[..change.added_len.into()],
            &removed[..change.removed_len.into()],
        );
        let (at, before) = (self.at(frame, color), self.at(frame - 1, color));
        let (lower, upper) = self.sums.split_at_mut(at);
        let (from, into) = (&lower[before..][..self.stride], &mut upper[..self.stride]);
        self.kernels
            .update(into, from, self.network.weights(), added, removed);
        self.frames[frame].ready[color.index()] = true;
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

/// Pieces changed by `mv` in `position`, and the new square of the mover's king if it moves.
#[inline]
fn change(position: &Position, mv: Move) -> (Change, Option<Square>) {
    let us = position.turn();
    let (from, to) = (mv.from(), mv.to());
    let piece = position.piece_at(from).expect("a move starts from a piece");
    if mv.is_castle() {
        let (king_file, rook_file) = if to.file() > from.file() {
            (File::G, File::F)
        } else {
            (File::C, File::D)
        };
        let (king_to, rook_to) = (
            Square::new(king_file, from.rank()),
            Square::new(rook_file, from.rank()),
        );
        let rook = Piece {
            color: us,
            role: Role::Rook,
        };
        let change = Change {
            added: [(piece, king_to), (rook, rook_to)],
            removed: [(piece, from), (rook, to)],
            added_len: 2,
            removed_len: 2,
        };
        return (change, Some(king_to));
    }
    let arriving = mv
        .promotion()
        .map_or(piece, |role| Piece { color: us, role });
    let mut change = Change {
        added: [(arriving, to); 2],
        removed: [(piece, from); 2],
        added_len: 1,
        removed_len: 1,
    };
    let captured = if mv.kind() == MoveKind::EnPassant {
        let square = Square::new(to.file(), from.rank());
        Some((
            Piece {
                color: !us,
                role: Role::Pawn,
            },
            square,
        ))
    } else {
        position.piece_at(to).map(|piece| (piece, to))
    };
    if let Some(captured) = captured {
        change.removed[1] = captured;
        change.removed_len = 2;
    }
    (change, (piece.role == Role::King).then_some(to))
}
