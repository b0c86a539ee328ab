//! Drives the real program and the real HTTP.

mod bad_input;
mod book;
mod browser;
mod cli;
mod client;
mod clock;
mod common;
mod config;
mod correspondence;
mod crash;
mod disk;
mod docs;
mod doctor;
mod faults;
mod games;
mod instances;
mod layering;
mod manners;
mod matchmaking;
mod mates;
mod memory;
mod monitor;
mod operator;
mod page;
mod policy;
mod records;
mod replay;
mod rules;
mod security;
mod service;
mod sim;

mod soak;
mod table_races;
mod tls;
mod tournaments;
