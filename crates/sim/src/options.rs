//! Options of a simulated site.

use std::fmt;
use std::str::FromStr;

use super::faults::FaultRule;
use super::quirks::Quirks;

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

/// Scopes of a typical bot token.
const SCOPES: [&str; 13] = [
    "bot:play",
    "board:play",
    "challenge:read",
    "challenge:write",
    "email:read",
    "follow:read",
    "follow:write",
    "msg:write",
    "preference:read",
    "preference:write",
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

    pub fn rating(self, rating: u32) -> Self {
        Self { rating, ..self }
    }
}

/// Time control of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// Initial time and increment per move, in seconds.
    Clock {
        limit: u32,
        increment: u32,
    },
    /// Days for each move.
    Days(u32),
    Unlimited,
}

impl TimeControl {
    /// Creates a real-time clock from initial time and increment, in seconds.
    pub fn clock(limit: u32, increment: u32) -> Self {
        Self::Clock { limit, increment }
    }
}

/// Returns the clock at the start of a game, in seconds: `0+N` starts at N, at least at 3.
pub(super) fn clock_start(limit: u32, increment: u32) -> u32 {
    if limit == 0 { increment.max(3) } else { limit }
}

/// Returns the estimated duration for each player, in seconds.
pub(super) fn clock_estimate(limit: u32, increment: u32) -> u32 {
    limit + 40 * increment
}

/// Formats as [`FromStr`] parses.
impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { limit, increment } => write!(f, "{limit}+{increment}"),
            Self::Days(days) => write!(f, "{days}d"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// Parses `60+0` (initial time and increment in seconds), `3d` (days per move) or `unlimited`.
impl TimeControl {
    /// Returns whether Lichess offers this time control.
    pub(super) fn is_offered(self) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Days(days) => DAYS_PER_TURN.contains(&days),
            Self::Clock { limit, increment } => {
                is_initial_time(limit)
                    && increment <= MAX_INCREMENT_SECONDS
                    && limit + increment > 0
            }
        }
    }
}

/// Numbers of days per move that Lichess offers.
pub(super) const DAYS_PER_TURN: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];
/// Maximum increment, in seconds.
pub(super) const MAX_INCREMENT_SECONDS: u32 = 60;

/// Returns whether Lichess offers this initial time, in seconds.
pub(super) fn is_initial_time(seconds: u32) -> bool {
    matches!(seconds, 0 | 15 | 30 | 45 | 90) || (seconds.is_multiple_of(60) && seconds <= 10_800)
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
        let clock = text
            .split_once('+')
            .and_then(|(limit, increment)| Some((limit.parse().ok()?, increment.parse().ok()?)));
        let read = match (days, clock) {
            (Some(days), _) => Self::Days(days),
            (None, Some((limit, increment))) => Self::clock(limit, increment),
            _ => {
                return Err(format!(
                    "`{text}` is not a time control: expected SECONDS+SECONDS as in 60+1, DAYS as in 3d, or unlimited"
                ));
            }
        };
        if read.is_offered() {
            Ok(read)
        } else {
            Err(format!(
                "Lichess does not offer `{text}` (in seconds): the initial time is 0, 15, 30, 45, 60, 90 or whole minutes up to 10800, \
                 the increment 0 to 60, and 0+0 is invalid; days are 1, 2, 3, 5, 7, 10 or 14"
            ))
        }
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

/// Checks a user name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (2..=30).contains(&name.len()) && name.bytes().all(is_valid) {
        Ok(())
    } else {
        Err(format!(
            "`{name}` is not a user name: expected 2 to 30 letters, digits, `_` and `-`"
        ))
    }
}
