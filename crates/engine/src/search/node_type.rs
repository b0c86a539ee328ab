//! Node types, as types: their properties are constants.

pub(crate) trait NodeType {
    /// The node has a full window and may become part of the principal variation.
    const PV: bool;
    const ROOT: bool;
}

/// The root.
pub(crate) struct Root;
/// A node with a full window.
pub(crate) struct PvNode;
/// A node with a null window.
pub(crate) struct NonPvNode;

impl NodeType for Root {
    const PV: bool = true;
    const ROOT: bool = true;
}

impl NodeType for PvNode {
    const PV: bool = true;
    const ROOT: bool = false;
}

impl NodeType for NonPvNode {
    const PV: bool = false;
    const ROOT: bool = false;
}
