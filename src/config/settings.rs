//! What can be set, section by section, each with its default.
//!
//! `config.example.toml` carries the same list with one line of why for each key; a test keeps the two equal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::correspondence::Correspondence;
use super::daemon::Daemon;
use super::joining::{Joining, Membership};
use super::manners::{Chat, Draw, Resign, Takebacks};
use super::matchmaking::Matchmaking;
use super::rule::{Books, Exact, Limit, Pattern, Play, Rule, strange_books};
use super::seconds;
use super::strength::Strength;
use super::web::Web;
use super::{SERVICE_CONFIG, TokenSource};
use crate::lichess::{Endpoint, EndpointError};

/// The state directory of the systemd unit.
pub const SERVICE_STATE: &str = "/var/lib/knightwatch";

/// Everything an operator can set. [`Settings::default`] is a bot that plays out of the box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The server, and where the token of the one account is.
    pub lichess: Lichess,
    /// The embedded engine.
    pub engine: Engine,
    /// Opening books.
    pub book: Book,
    /// Which challenges to accept.
    pub challenge: Challenge,
    /// Exceptions to that, and how games are played, from top to bottom.
    #[serde(skip_serializing)]
    pub rule: Vec<Rule>,
    /// How many games, and what to do about those that do not start or do not end.
    pub games: Games,
    /// Whom to challenge when there is nothing to play.
    pub matchmaking: Matchmaking,
    /// Games without a clock.
    pub correspondence: Correspondence,
    /// Which arenas to take part in.
    pub tournaments: Tournaments,
    /// When to offer and accept draws.
    pub draw: Draw,
    /// When to resign.
    pub resign: Resign,
    /// What to say.
    pub chat: Chat,
    /// What to keep of the games.
    pub records: Records,
    /// The page, `/metrics` and `/healthz`.
    pub web: Web,
    /// The process itself.
    pub daemon: Daemon,
    /// Where there are several accounts, the settings of each: these, with its own over them.
    #[serde(skip)]
    pub account: Vec<Settings>,
    /// The name of the account that these are the settings of, where it is one of several; not itself a setting.
    #[serde(skip)]
    pub name: Option<String>,
    /// The names of the others; not itself a setting.
    #[serde(skip)]
    pub sisters: Vec<String>,
    /// The file that was read, if any; not itself a setting.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Where the token is, if anywhere; not itself a setting.
    #[serde(skip)]
    pub token: Option<TokenSource>,
    /// What was written and is probably not meant, a sentence each; not itself a setting.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// `[lichess]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lichess {
    /// Base URL of the server; every request goes below it.
    pub url: Url,
    /// File that holds the API token and nothing else. `%d` is systemd's credentials directory, `~` the home directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// PEM file with certificates to trust beside those of the machine, for a server of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

/// `[engine]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Size of the transposition table in MiB, one for all games, 1 to 65536.
    pub hash_mib: usize,
    /// Search threads, shared by all games; 0 means one for each core.
    pub threads: usize,
    /// Time in ms kept back on every move beside the measured lag.
    pub move_overhead_ms: u64,
    /// Whether to think on the opponents' time as well.
    pub ponder: bool,
    /// How strong it plays where no rule says otherwise.
    pub strength: Strength,
}

/// `[book]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Book {
    /// Whether to play from books at all.
    pub enabled: bool,
    /// Polyglot books, asked in this order before the embedded one.
    pub files: Vec<PathBuf>,
    /// Whether to ask the embedded book when the files have no move.
    pub embedded: bool,
    /// Which of a position's book moves to play.
    pub selection: Selection,
    /// Book moves with a smaller weight are passed over.
    pub min_weight: u16,
    /// Plies from the start of the game after which books are no longer asked.
    pub max_ply: u32,
}

/// `[challenge]`: what must hold for a challenge to be accepted. Everything that does not hold has its own decline reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Challenge {
    /// Whether to accept challenges at all.
    pub accept: bool,
    /// Accepted variants.
    pub variants: Vec<Variant>,
    /// Accepted speeds, by Lichess's own names for them.
    pub speeds: Vec<Speed>,
    /// Whether rated games are accepted.
    pub rated: bool,
    /// Whether casual games are accepted.
    pub casual: bool,
    /// Whether people are accepted.
    pub humans: bool,
    /// Whether bots are accepted.
    pub bots: bool,
    /// Smallest initial time in seconds.
    pub min_base_s: u32,
    /// Largest initial time in seconds.
    pub max_base_s: u32,
    /// Smallest increment in seconds.
    pub min_increment_s: u32,
    /// Largest increment in seconds.
    pub max_increment_s: u32,
    /// Fewest days a move in correspondence games.
    pub min_days: u32,
    /// Most days a move in correspondence games.
    pub max_days: u32,
    /// Lowest rating of the challenger.
    pub min_rating: u32,
    /// Highest rating of the challenger.
    pub max_rating: u32,
    /// Names that are never accepted, not even by a rule.
    pub block: Vec<Pattern>,
    /// Challenges of one user that are accepted within 24 hours; 0 sets no limit.
    pub per_user_day: u32,
    /// Challenges of all users that are accepted within 24 hours; 0 sets no limit.
    pub per_day: u32,
    /// How many challenges may wait for a place; beyond, they are declined with `later`.
    pub queue_size: usize,
    /// Seconds after which one that waits is declined with `later`.
    pub queue_timeout_s: u64,
    /// Who of those that wait is served first.
    pub prefer: Prefer,
    /// How many rematches are accepted in a row, unless a rule accepts more.
    pub rematches: u32,
}

/// `[games]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Games {
    /// Games at once; a challenge beyond them waits for a place.
    pub concurrency: usize,
    /// So many of them are for people: other games never take these places.
    pub reserved_for_humans: usize,
    /// Games at once against the same opponent, those with a clock and those without each by themselves.
    pub per_opponent: usize,
    /// Seconds to wait for the opponent's first move before the game is aborted; 0 waits for ever.
    pub abort_after_s: u64,
    /// Whether to claim the win when the opponent has left and Lichess allows it.
    pub claim_victory: bool,
    /// Who gets a move back when he asks for it.
    pub takebacks: Takebacks,
    /// How many takebacks there are in a game at most.
    pub max_takebacks: u32,
    /// Whether to challenge the opponent to one more game when a game is over.
    pub offer_rematch: bool,
}

/// `[tournaments]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tournaments {
    /// Arenas to join before they start, each as `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
    pub join: Vec<Joining>,
    /// Teams whose arenas are joined, each as `TEAM` or `TEAM:PASSWORD`, the password being that of the team.
    pub teams: Vec<Membership>,
    /// Whether to join these teams.
    pub join_teams: bool,
    /// What arenas of these teams ask for, if they do.
    pub password: String,
    /// Whether to join any arena of the site that allows bots.
    pub join_any: bool,
    /// Of those that are found in either way: the speeds.
    pub speeds: Vec<Speed>,
    /// The time controls; none for all.
    pub clocks: Vec<Exact>,
    /// The shortest, in minutes.
    pub min_minutes: u32,
    /// The longest.
    pub max_minutes: u32,
    /// Those that begin within so many hours.
    pub join_ahead_h: u32,
    /// So many at once.
    pub concurrency: usize,
}

/// `[records]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Records {
    /// Whether to keep records of the games.
    pub enabled: bool,
    /// Where; by default the state directory of the service or of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// PGN files beside them, by what goes into one file.
    pub pgn: PgnFiles,
    /// Whether PGN has the clocks.
    pub clocks: bool,
    /// Whether PGN has what the engine thought of its moves.
    pub evals: bool,
    /// How many of the latest games have a trace; 0 for none.
    pub traces: usize,
}

/// Which of several book moves is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// The one with the largest weight.
    Best,
    /// Any, in proportion to its weight.
    Weighted,
    /// Any, all with the same chance.
    Uniform,
}

/// Who of several that wait for a place is served first; those that are alike come in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefer {
    /// People before bots.
    Humans,
    /// Bots before people.
    Bots,
    /// The highest rating.
    Strongest,
    /// Who came first.
    First,
}

/// Which games share a PGN file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PgnFiles {
    /// There are none.
    None,
    /// Each game has its own.
    Game,
    /// Those against the same opponent.
    Opponent,
    /// Those of a month.
    Month,
    /// All.
    All,
}

/// A variant that the engine plays, by Lichess's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    #[serde(rename = "standard")]
    Standard,
    #[serde(rename = "chess960")]
    Chess960,
    #[serde(rename = "fromPosition")]
    FromPosition,
}

/// A speed that bots may play, by Lichess's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speed {
    Bullet,
    Blitz,
    Rapid,
    Classical,
    Correspondence,
}

impl Variant {
    /// Lichess's key, as in `variant.key` of a challenge.
    pub fn key(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Chess960 => "chess960",
            Self::FromPosition => "fromPosition",
        }
    }
}

impl Speed {
    /// Lichess's key, as in `speed` of a challenge.
    pub fn key(self) -> &'static str {
        match self {
            Self::Bullet => "bullet",
            Self::Blitz => "blitz",
            Self::Rapid => "rapid",
            Self::Classical => "classical",
            Self::Correspondence => "correspondence",
        }
    }
}

impl Settings {
    /// Where to keep what has to survive a restart: where systemd says, or in the user's home. `None` where there is no such
    /// place.
    pub fn data_directory(&self) -> Option<PathBuf> {
        let directory = |variable: &str| {
            let value = std::env::var_os(variable)?;
            // systemd may name several, with colons between them.
            let first = std::env::split_paths(&value).next()?;
            first.is_absolute().then_some(first)
        };
        directory("STATE_DIRECTORY")
            .or_else(|| Some(directory("XDG_STATE_HOME")?.join("knightwatch")))
            .or_else(|| Some(directory("HOME")?.join(".local/state/knightwatch")))
    }

    /// Where records and traces may be, for who reads them: in the directory that is named, or else in the usual one or in
    /// that of the service.
    pub fn data_directories(&self) -> Vec<PathBuf> {
        match &self.records.directory {
            Some(named) => vec![named.clone()],
            None => {
                let usual = self.data_directory();
                usual
                    .into_iter()
                    .chain([PathBuf::from(SERVICE_STATE)])
                    .collect()
            }
        }
    }

    /// Whether they come from the configuration file of the system service.
    pub fn is_of_service(&self) -> bool {
        self.file.as_deref() == Some(Path::new(SERVICE_CONFIG))
    }

    /// Whether books are asked in any games.
    pub fn has_books(&self) -> bool {
        let here =
            self.book.enabled || self.some_rule(|play| play.book.as_ref().map(Books::are_asked));
        here || self.account.iter().any(Self::has_books)
    }

    /// The books that rules name and `[book]` has not: a sentence for each.
    pub fn strange_books(&self) -> Vec<String> {
        let of_rule = |rule| strange_books(rule, &self.book);
        self.rule.iter().flat_map(of_rule).collect()
    }

    /// Whether some rule switches this on.
    pub(super) fn some_rule(&self, says: fn(&Play) -> Option<bool>) -> bool {
        self.rule.iter().any(|rule| says(&rule.play) == Some(true))
    }
}

impl Lichess {
    /// The server as files that are kept for it are called: `lichess.org`, with the port where it is not the ordinary one.
    pub fn server_name(&self) -> String {
        let tame = |letter: char| match letter {
            '.' | '-' => letter,
            _ if letter.is_ascii_alphanumeric() => letter,
            _ => '_',
        };
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!("-{port}"));
        host.chars()
            .map(tame)
            .chain(port.iter().flat_map(|port| port.chars()))
            .collect()
    }

    /// The server's address as people write it, without a slash at its end.
    pub fn address(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// The server, with the certificates that it may show.
    ///
    /// # Errors
    /// When the address cannot be that of a Lichess.
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        Ok(Endpoint::new(self.url.clone())?.with_ca_file(self.ca_file.clone()))
    }
}

impl Engine {
    /// The number of search threads that `threads` asks for on this machine.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }

    /// Time kept back on every move.
    pub fn overhead(&self) -> Duration {
        Duration::from_millis(self.move_overhead_ms)
    }
}

impl Challenge {
    /// How often challenges are accepted that no rule sets a limit for.
    pub fn limit(&self) -> Limit {
        Limit {
            per_user_day: self.per_user_day,
            per_day: self.per_day,
        }
    }

    /// Whether nothing is to be had with this user.
    pub fn blocks(&self, name: &str) -> bool {
        self.block.iter().any(|pattern| pattern.matches(name))
    }

    /// How long a challenge waits for a place.
    pub fn patience(&self) -> Duration {
        seconds(self.queue_timeout_s)
    }
}

impl Default for Lichess {
    fn default() -> Self {
        Self {
            url: Url::parse("https://lichess.org").expect("a valid URL"),
            token_file: None,
            ca_file: None,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            hash_mib: 256,
            threads: 0,
            move_overhead_ms: 50,
            ponder: true,
            strength: Strength::default(),
        }
    }
}

impl Default for Book {
    fn default() -> Self {
        Self {
            enabled: true,
            files: Vec::new(),
            embedded: true,
            selection: Selection::Weighted,
            min_weight: 1,
            max_ply: 40,
        }
    }
}

impl Default for Challenge {
    fn default() -> Self {
        Self {
            accept: true,
            variants: vec![Variant::Standard, Variant::Chess960, Variant::FromPosition],
            speeds: vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
            rated: true,
            casual: true,
            humans: true,
            bots: true,
            min_base_s: 0,
            max_base_s: 10_800,
            min_increment_s: 0,
            max_increment_s: 180,
            min_days: 1,
            max_days: 14,
            min_rating: 0,
            max_rating: 4000,
            block: Vec::new(),
            per_user_day: 0,
            per_day: 0,
            queue_size: 10,
            queue_timeout_s: 120,
            prefer: Prefer::Humans,
            rematches: 1,
        }
    }
}

impl Default for Games {
    fn default() -> Self {
        Self {
            concurrency: 4,
            reserved_for_humans: 0,
            per_opponent: 4,
            abort_after_s: 60,
            claim_victory: true,
            takebacks: Takebacks::Casual,
            max_takebacks: 3,
            offer_rematch: false,
        }
    }
}

impl Default for Tournaments {
    fn default() -> Self {
        Self {
            join: Vec::new(),
            teams: Vec::new(),
            join_teams: false,
            password: String::new(),
            join_any: false,
            speeds: vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
            clocks: Vec::new(),
            min_minutes: 10,
            max_minutes: 720,
            join_ahead_h: 24,
            concurrency: 1,
        }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self {
            enabled: true,
            directory: None,
            pgn: PgnFiles::None,
            clocks: true,
            evals: true,
            traces: 200,
        }
    }
}
