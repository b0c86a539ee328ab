//! The rules of chess: no I/O, no clock, no logging, no dependencies.
