//! What the simulator answers over real HTTP, fact by fact, as the contract of the Bot API has it.

mod account;
mod arena;
mod board;
mod challenge;
mod draws;
mod events;
mod faults;
mod game;
mod habits;
mod limits;
mod lists;
mod quirks;
mod shapes;
mod site;
mod sparring;
mod time;
