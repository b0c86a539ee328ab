//! What a simulated site is made of.

use std::fmt;
use std::str::FromStr;

use super::faults::FaultRule;
use super::quirks::Quirks;

/// How a simulator starts.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The accounts. Built-in players get theirs on their own.
    pub users: Vec<NewUser>,
    /// How many times faster than the wall all clocks and timers run; 1.0 is real time.
    pub speed: f64,
    /// Decides ids, colours and the choices of built-in players.
    pub seed: u64,
    /// What differs between what is told of the site.
    pub quirks: Quirks,
    /// Whether the site counts what is asked of it, and refuses what is too much.
    pub limits: bool,
    /// Requests in a minute from one address after which the proxy in front of the site refuses them.
    pub nginx_limit: Option<u32>,
    /// Games that are kept when they are over, the latest ones.
    pub kept_games: usize,
    /// What goes wrong on purpose.
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

/// An account to be made.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub name: String,
    /// Has the BOT title.
    pub bot: bool,
    /// The title of a human who has one.
    pub title: Option<&'static str>,
    /// In every kind of game.
    pub rating: u32,
    /// Games played so far; an account with any cannot become a bot.
    pub games: u32,
    /// Whether this user can be asked for takebacks. Bots refuse by default, as after the upgrade on the real site.
    pub takebacks: bool,
    /// The text of the profile. A bot without one is not listed as online.
    pub bio: Option<String>,
    /// Somebody without an account: his token stands for what a visitor's browser remembers, and with it he plays
    /// through the Board API. Nobody can find or challenge him.
    pub guest: bool,
    /// Sits at the site itself and not at a board: his games through the Board API may be as quick as any, and their
    /// opponents let themselves be asked for takebacks, as bots do once that is changed among their preferences.
    pub browser: bool,
    /// What the user's token may do.
    pub scopes: Vec<String>,
    /// Always online, though nobody is there to answer or to move.
    pub present: bool,
    /// Names of the users whom this one follows: they challenge him free of charge.
    pub follows: Vec<String>,
}

/// All that a bot's token usually carries.
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

/// What a visitor can do without an account.
const GUEST_SCOPES: [&str; 3] = ["board:play", "challenge:read", "challenge:write"];

impl NewUser {
    /// A bot account, rated 1500, with a profile and a past.
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

    /// A new account of a human, rated 1500, without games: it may still become a bot.
    pub fn human(name: impl Into<String>) -> Self {
        Self {
            bot: false,
            games: 0,
            takebacks: true,
            bio: None,
            ..Self::bot(name)
        }
    }

    /// Somebody without an account.
    pub fn guest(name: impl Into<String>) -> Self {
        Self {
            guest: true,
            scopes: GUEST_SCOPES.map(str::to_owned).to_vec(),
            ..Self::human(name)
        }
    }

    /// A human who plays in a browser on this machine: always there, with the right to challenge and to play, and no
    /// other.
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

/// What the players have for thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// Seconds at the start, and seconds more after every move.
    Clock {
        limit: u32,
        increment: u32,
    },
    /// Days for each move.
    Days(u32),
    Unlimited,
}

impl TimeControl {
    /// A real-time clock: seconds at the start, seconds per move.
    pub fn clock(limit: u32, increment: u32) -> Self {
        Self::Clock { limit, increment }
    }
}

/// What both clocks show at the start, in seconds: 0+N starts at N, at least at 3.
pub(super) fn clock_start(limit: u32, increment: u32) -> u32 {
    if limit == 0 { increment.max(3) } else { limit }
}

/// How long each player is thought to play with such a clock, in seconds.
pub(super) fn clock_estimate(limit: u32, increment: u32) -> u32 {
    limit + 40 * increment
}

/// As it is read from a text.
impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { limit, increment } => write!(f, "{limit}+{increment}"),
            Self::Days(days) => write!(f, "{days}d"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// `60+0`: seconds at the start and per move; `3d`: days for each move; `unlimited`.
impl TimeControl {
    /// Whether the site has it.
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

/// The days for a move that the site has.
pub(super) const DAYS_PER_TURN: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];
/// The most seconds that a move adds.
pub(super) const MAX_INCREMENT_SECONDS: u32 = 60;

/// Whether a clock may begin with so many seconds.
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
                    "`{text}` is no time control: SECONDS+SECONDS as in 60+1, DAYS_PER_TURN as in 3d, or unlimited"
                ));
            }
        };
        if read.is_offered() {
            Ok(read)
        } else {
            Err(format!(
                "Lichess has no `{text}`, in seconds: a clock begins with 0, 15, 30, 45, 60, 90 or whole minutes up to 10800 seconds, \
                 with 0 to 60 more for each move, and not with 0+0; days are 1, 2, 3, 5, 7, 10 or 14"
            ))
        }
    }
}

/// `NAME`, `NAME:bot`, `NAME:guest` or `NAME:browser`, as on the command line.
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
                    "`{other}` is no kind of user: write NAME, NAME:bot, NAME:guest or NAME:browser"
                ));
            }
        };
        check_name(name)?;
        Ok(make(name.to_owned()))
    }
}

/// Whether somebody can be called so.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (2..=30).contains(&name.len()) && name.bytes().all(good) {
        Ok(())
    } else {
        Err(format!(
            "`{name}` is no user name: 2 to 30 letters, digits, `_` and `-`"
        ))
    }
}
