//! Options of a simulated site.

use std::str::FromStr;

use crate::faults::FaultRule;
use crate::quirks::Quirks;
use crate::site::id::check_name;

/// Options of a simulator.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The accounts. Built-in players get theirs on their own.
    pub users: Vec<NewUser>,
    /// Speed of all clocks and timers relative to wall time; 1.0 is real time.
    pub speed: f64,
    /// Seed of ids, colors and the choices of built-in players.
    pub seed: u64,
    /// Behavior of Lichess on which sources differ.
    pub quirks: Quirks,
    /// Enables Lichess's rate limits.
    pub limits: bool,
    /// Requests per minute and address above which the proxy in front of the site answers 429.
    pub nginx_limit: Option<u32>,
    /// Maximum number of archived games; the oldest are dropped first.
    pub kept_games: usize,
    /// Faults to inject.
    pub faults: Vec<FaultRule>,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            speed: 1.0,
            seed: 1,
            quirks: Quirks::default(),
            limits: false,
            nginx_limit: None,
            kept_games: 1_000,
            faults: Vec::new(),
        }
    }
}

/// Options of a new account.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Name: 2 to 30 letters, digits, `_` and `-`.
    pub name: String,
    /// Has the BOT title.
    pub bot: bool,
    /// Title of a human.
    pub title: Option<&'static str>,
    /// Rating in every perf.
    pub rating: u32,
    /// Number of games played; an account with games cannot become a bot.
    pub games: u32,
    /// Whether opponents can propose takebacks. Bots refuse them by default, as after the upgrade on Lichess.
    pub takebacks: bool,
    /// Bio of the profile. A bot without one is not in the list of online bots.
    pub bio: Option<String>,
    /// A player without an account. The token stands for the browser session, and they play through the Board API. They
    /// cannot be found or challenged.
    pub guest: bool,
    /// Plays on the web site rather than through a board: any speed is allowed through the Board API, and all opponents
    /// accept takeback proposals, as bots do with changed preferences.
    pub browser: bool,
    /// Scopes of the user's token.
    pub scopes: Vec<String>,
    /// Always online, but never answers or moves.
    pub present: bool,
    /// Names of followed users, who can challenge this one without being charged for it.
    pub follows: Vec<String>,
}

/// Scopes of a token by default.
const SCOPES: [&str; 16] = [
    "bot:play",
    "board:play",
    "challenge:read",
    "challenge:write",
    "email:read",
    "engine:read",
    "engine:write",
    "follow:read",
    "follow:write",
    "msg:write",
    "preference:read",
    "preference:write",
    "team:lead",
    "team:read",
    "team:write",
    "tournament:write",
];

/// Scopes of a player without an account.
const GUEST_SCOPES: [&str; 3] = ["board:play", "challenge:read", "challenge:write"];

impl NewUser {
    /// Creates a bot account, rated 1500, with a profile and past games.
    pub fn bot(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            bot: true,
            title: None,
            rating: 1500,
            games: 100,
            takebacks: false,
            bio: Some("A bot in the simulator".to_owned()),
            guest: false,
            browser: false,
            scopes: SCOPES.map(str::to_owned).to_vec(),
            present: false,
            follows: Vec::new(),
        }
    }

    /// Creates a human account, rated 1500, without games, so it can be upgraded to a bot.
    pub fn human(name: impl Into<String>) -> Self {
        Self {
            bot: false,
            games: 0,
            takebacks: true,
            bio: None,
            ..Self::bot(name)
        }
    }

    /// Creates a player without an account.
    pub fn guest(name: impl Into<String>) -> Self {
        Self {
            guest: true,
            scopes: GUEST_SCOPES.map(str::to_owned).to_vec(),
            ..Self::human(name)
        }
    }

    /// Creates a human who plays in a browser on this machine: always online, and may only challenge and play.
    pub fn in_browser(name: impl Into<String>) -> Self {
        Self {
            browser: true,
            present: true,
            scopes: GUEST_SCOPES.map(str::to_owned).to_vec(),
            ..Self::human(name)
        }
    }

    /// Sets the rating in every perf.
    pub fn rating(self, rating: u32) -> Self {
        Self { rating, ..self }
    }
}

/// Parses `NAME`, `NAME:bot`, `NAME:guest` or `NAME:browser` as on the command line.
impl FromStr for NewUser {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, make): (_, fn(String) -> Self) = match text.split_once(':') {
            None => (text, Self::human),
            Some((name, "bot")) => (name, Self::bot),
            Some((name, "guest")) => (name, Self::guest),
            Some((name, "browser")) => (name, Self::in_browser),
            Some((_, other)) => {
                return Err(format!(
                    "`{other}` is not a kind of user: expected NAME, NAME:bot, NAME:guest or NAME:browser"
                ));
            }
        };
        check_name(name)?;
        Ok(make(name.to_owned()))
    }
}
