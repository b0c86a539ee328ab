//! The simulator as a program of its own; `knightwatch sim` is the same.

use std::process::ExitCode;

use clap::Parser;
use knightwatch_sim::{SimArgs, run_command};

/// Lichess on localhost for testing bots
#[derive(Parser)]
#[command(name = "knightwatch-sim", version)]
struct Cli {
    #[command(flatten)]
    args: SimArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let stop = async {
        // Without signals it runs until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    match run_command(Cli::parse().args, stop).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
