//! Simulated Lichess on localhost: HTTP API, referee and clocks, built-in players, faults.
//!
//! The simulator follows the documented contract of the Bot API, independently of the bot. Its wire types are its own,
//! so client and simulator are two independent readings of the same documents.
//!
//! One lock protects the state of the site: subsystems for users, challenges, games, arenas and streams that do not know
//! each other. A change in one returns effects, which one place applies to the others. The referee and the game clock are
//! pure. All timers use one source of time, which can run faster than wall time.
//!
//! The modules, lower floors first; no two files import each other, directly or through others:
//!
//! | module | content |
//! |---|---|
//! | `time_control`, `quirks`, `spec`, `faults`, `options` | vocabulary and options |
//! | `referee` | one game: rules, clocks, offers and claims |
//! | `site`, `challenge`, `lobby`, `round`, `arena` | the subsystems, and the effects between them (`site::effect`) |
//! | `site::state` | all subsystems of a site |
//! | `view`, `wire` | JSON: functions of the state, and their types |
//! | `site::apply`, `site::requests` | application of effects, periodic work; requests of users |
//! | `sim` | handle to a site with its lock and time |
//! | `http`, `players` | the API and the built-in players |
//! | `serve`, `command` | serving of a site; the program |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod analysis;
mod arena;
mod challenge;
mod command;
mod faults;
mod http;
mod lobby;
mod options;
mod players;
mod quirks;
mod referee;
mod round;
mod script;
mod serve;
mod sim;
mod site;
mod spec;
mod time_control;
mod view;
mod wire;

pub use arena::options::ArenaOptions;
pub use challenge::{ColorChoice, DeclineReason};
pub use command::{SimArgs, run_command, shutdown_signal};
pub use faults::{Endpoint, Fault, FaultRule, Faults, Latency, RequestRecord, Skew, StreamFault};
pub use options::{NewUser, SimOptions};
pub use players::{Behavior, ChallengePlan, ChatStyle, Disconnect, PlayerKind, PlayerOptions};
pub use quirks::{
    Absent, Castling, ChatLog, ClaimWin, Flags, Limiter, PlayingStatus, Quirk, Quirks,
};
pub use round::summary::GameSummary;
pub use script::{Script, ScriptError};
pub use sim::{Sim, SimStats, token_of, warn_if_reachable};
pub use site::team::NewTeam;
pub use time_control::TimeControl;

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
