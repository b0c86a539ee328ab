//! What happened, as plain data that everyone may read.
