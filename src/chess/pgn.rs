//! Games as PGN.
