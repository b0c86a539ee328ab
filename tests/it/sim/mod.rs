//! Responses of the simulator over real HTTP, checked fact by fact against the contract of the Bot API.

mod account;
mod ai;
mod arena;
mod berserk;
mod board;
mod challenge;
mod draws;
mod events;
mod facts;
mod faults;
mod game;
mod json_keys;
mod library;
mod limits;
mod lists;
mod load;
mod open;
mod outage;
mod player_behavior;
mod players;
mod quirks;
mod rematch;
mod site;
mod spectators;
mod stream_faults;
mod time;
