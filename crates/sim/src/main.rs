//! The simulator as a program of its own; `knightwatch sim` is the same.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use knightwatch_sim::{SimArgs, run_command, shutdown_signal};
use knightwatch_util::log_filter;
use tracing_subscriber::EnvFilter;

const DEFAULT_FILTER: &str = "warn,knightwatch=info";

/// Lichess on localhost for testing bots
#[derive(Parser)]
#[command(name = "knightwatch-sim", version)]
struct Cli {
    #[command(flatten)]
    args: SimArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Cli::parse().args;
    let colors = io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let given = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(log_filter::merge(DEFAULT_FILTER, &given)))
        .with_target(false)
        .with_ansi(colors)
        .with_writer(io::stderr)
        .init();
    match run_command(args, shutdown_signal()).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            tracing::error!("the simulator stops: {error}");
            ExitCode::FAILURE
        }
        // A closed stdout ends the program like a signal.
        _ => ExitCode::SUCCESS,
    }
}
