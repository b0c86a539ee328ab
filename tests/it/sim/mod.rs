//! What the simulator answers over real HTTP, fact by fact, as the contract of the Bot API has it.

mod account;
mod ai;
mod arena;
mod audience;
mod berserk;
mod board;
mod broken;
mod challenge;
mod draws;
mod events;
mod facts;
mod faults;
mod game;
mod habits;
mod library;
mod limits;
mod lists;
mod load;
mod open;
mod outage;
mod quirks;
mod rematch;
mod shapes;
mod site;
mod sparring;
mod time;
