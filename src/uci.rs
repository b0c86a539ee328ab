//! The UCI front end of the engine.
