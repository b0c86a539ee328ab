//! Drives the real program and the real HTTP.

mod cli;
mod config;
mod layering;
mod rules;
