//! The simulator from outside: over HTTP, and as a program.

mod bot;
mod program;
mod routes;
