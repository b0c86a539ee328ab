//! The kind of a node, as a type: what holds for it is known at compile time.

pub(crate) trait NodeType {
    /// The window is open: the node may become part of the principal variation.
    const PV: bool;
    const ROOT: bool;
}

/// The position to find a move for.
pub(crate) struct Root;
/// A node with an open window.
pub(crate) struct Open;
/// A node with a window of one, which only asks whether its value is above.
pub(crate) struct Zero;

impl NodeType for Root {
    const PV: bool = true;
    const ROOT: bool = true;
}

impl NodeType for Open {
    const PV: bool = true;
    const ROOT: bool = false;
}

impl NodeType for Zero {
    const PV: bool = false;
    const ROOT: bool = false;
}
