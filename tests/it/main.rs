//! Drives the real program and the real HTTP.

mod cli;
mod client;
#[expect(dead_code)]
mod common;
mod config;
mod layering;
mod rules;
mod sim;
