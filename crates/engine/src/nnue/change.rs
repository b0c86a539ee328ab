//! Inputs that a move changes.

use super::features;
use knightwatch_chess::Color;

/// The inputs that a move adds and removes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// A piece moves or promotes.
    Quiet { added: u16, removed: u16 },
    /// A piece moves or promotes, and captures.
    Capture { added: u16, removed: [u16; 2] },
    /// King and rook move.
    Castle { added: [u16; 2], removed: [u16; 2] },
}

impl Change {
    /// Changes nothing.
    pub(super) const NONE: Change = Change::Quiet {
        added: 0,
        removed: 0,
    };

    /// The change for another view, from the one that White sees without mirroring.
    #[inline]
    pub(super) fn seen_by(self, perspective: Color, mirrored: bool) -> Change {
        let view = |input| features::seen_by(perspective, mirrored, input);
        match self {
            Change::Quiet { added, removed } => Change::Quiet {
                added: view(added),
                removed: view(removed),
            },
            Change::Capture { added, removed } => Change::Capture {
                added: view(added),
                removed: removed.map(view),
            },
            Change::Castle { added, removed } => Change::Castle {
                added: added.map(view),
                removed: removed.map(view),
            },
        }
    }
}
