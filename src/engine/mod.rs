//! From a position and limits to a move: search, evaluation, time; no async, no serde.
