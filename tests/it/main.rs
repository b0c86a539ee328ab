//! Drives the real program and the real HTTP.

mod rules;
