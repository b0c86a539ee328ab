//! The command line: clap definitions only.
