//! Parse arguments, call one function, map the error to an exit code.

use std::process::ExitCode;

use clap::Parser;
use knightwatch::cli::Cli;

fn main() -> ExitCode {
    let _cli = Cli::parse();
    ExitCode::SUCCESS
}
