//! The settings, section by section, with their defaults.
//!
//! `config.example.toml` documents every key; a test compares it with the defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::arena_entry::{ArenaEntry, TeamEntry};
use super::block_list::BlockList;
use super::correspondence::Correspondence;
use super::daemon::Daemon;
use super::etiquette::{Chat, Draw, Resign, Takebacks};
use super::external::{EMBEDDED_ENGINE, External};
use super::lichess::Lichess;
use super::matchmaking::Matchmaking;
use super::rule::{Books, ClockSpec, Limit, Pattern, Play, Rule, Windows};
use super::seconds;
use super::strength::Strength;
use super::variant_books::VariantBooks;
use super::web::{Web, WebKey};
use super::{SERVICE_CONFIG, SERVICE_CREDENTIALS, TokenSource};
use crate::credentials::CREDENTIALS_VARIABLE;
use crate::lichess::model::{Speed, Variant};

/// The state directory of the systemd unit.
pub const SERVICE_STATE: &str = "/var/lib/knightwatch";

/// All settings. [`Settings::default`] is a working configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The server and the token file.
    pub lichess: Lichess,
    /// The embedded engine.
    pub engine: Engine,
    /// Opening books.
    pub book: Book,
    /// Which challenges to accept.
    pub challenge: Challenge,
    /// Exceptions to `challenge` and play settings, evaluated from top to bottom.
    #[serde(skip_serializing)]
    pub rule: Vec<Rule>,
    /// Concurrency, and handling of games that do not start or end.
    pub games: Games,
    /// Challenges sent when idle.
    pub matchmaking: Matchmaking,
    /// Games without a clock.
    pub correspondence: Correspondence,
    /// Which arenas to take part in.
    pub tournaments: Tournaments,
    /// When to offer and accept draws.
    pub draw: Draw,
    /// When to resign.
    pub resign: Resign,
    /// Chat messages.
    pub chat: Chat,
    /// Records of the games.
    pub records: Records,
    /// The page, `/metrics` and `/healthz`.
    pub web: Web,
    /// The process itself.
    pub daemon: Daemon,
    /// With several accounts, the settings of each: these with its own overrides.
    #[serde(skip)]
    pub account: Vec<Settings>,
    /// The name of the account of these settings, with several accounts; not itself a setting.
    #[serde(skip)]
    pub name: Option<String>,
    /// The names of the other accounts; not itself a setting.
    #[serde(skip)]
    pub other_accounts: Vec<String>,
    /// The file that was read, if any; not itself a setting.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The source of the token, if any; not itself a setting.
    #[serde(skip)]
    pub token: Option<TokenSource>,
    /// Warnings about settings that are probably not intended, a sentence each; not itself a setting.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

section! {
    /// `[engine]`
    pub struct Engine {
        /// Size of the transposition table in MiB, one for all games, 1 to 65536.
        pub hash_mib: usize = 256,
        /// Search threads, shared by all games; 0 means one for each core.
        pub threads: usize = 0,
        /// Time in ms reserved on every move in addition to the measured lag.
        pub move_overhead_ms: u64 = 50,
        /// Whether to think during the opponent's turn.
        pub ponder: bool = true,
        /// Playing strength, unless a rule sets another.
        pub strength: Strength,
        /// The engine that plays, unless a rule sets another: `knightwatch`, or the name of one of `external`.
        pub default: String = EMBEDDED_ENGINE.to_owned(),
        /// Whether the engine is on the analysis board of our account.
        pub provider: bool = false,
        /// Engines in processes of their own.
        #[serde(skip_serializing)]
        pub external: Vec<External>,
    }
}

section! {
    /// `[book]`
    pub struct Book {
        /// Whether to use opening books.
        pub enabled: bool = true,
        /// Polyglot books of standard chess, probed in this order before the embedded book.
        pub files: Vec<PathBuf>,
        /// Polyglot books of variants.
        pub variants: VariantBooks,
        /// Whether to probe the embedded book of the variant if the files have no move.
        pub embedded: bool = true,
        /// How a book move is selected.
        pub selection: Selection = Selection::Weighted,
        /// Smallest weight of book moves to play.
        pub min_weight: u16 = 1,
        /// Plies from the start of the game after which books are no longer probed.
        pub max_ply: u32 = 40,
        /// Whether books may repeat a position, or let the opponent repeat one.
        pub allow_repetitions: bool = false,
    }
}

section! {
    /// `[challenge]`: conditions for accepting challenges. Each has its own decline reason.
    pub struct Challenge {
        /// Whether to accept challenges at all.
        pub accept: bool = true,
        /// Accepted variants.
        #[serde(with = "super::values")]
        pub variants: Vec<Variant> = Variant::ALL.to_vec(),
        /// Accepted speeds, by Lichess's own names for them.
        #[serde(with = "super::values")]
        pub speeds: Vec<Speed> = vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
        /// Whether rated games are accepted.
        pub rated: bool = true,
        /// Whether casual games are accepted.
        pub casual: bool = true,
        /// Whether people are accepted.
        pub humans: bool = true,
        /// Whether bots are accepted.
        pub bots: bool = true,
        /// Smallest initial time in seconds.
        pub min_base_s: u32 = 0,
        /// Largest initial time in seconds.
        pub max_base_s: u32 = 10_800,
        /// Smallest increment in seconds.
        pub min_increment_s: u32 = 0,
        /// Largest increment in seconds.
        pub max_increment_s: u32 = 180,
        /// Fewest days a move in correspondence games.
        pub min_days: u32 = 1,
        /// Most days a move in correspondence games.
        pub max_days: u32 = 14,
        /// Lowest rating of the challenger.
        pub min_rating: u32 = 0,
        /// Highest rating of the challenger.
        pub max_rating: u32 = 4000,
        /// Names that are never accepted, not even by a rule.
        pub block: Vec<Pattern>,
        /// Lists of users who are accepted only by a rule that matches `listed`.
        pub block_lists: Vec<BlockList>,
        /// Challenges of one user that are accepted within 24 hours; 0 sets no limit.
        pub per_user_day: u32 = 0,
        /// Challenges of all users that are accepted within 24 hours; 0 sets no limit.
        pub per_day: u32 = 0,
        /// Challenges of one user that are accepted within other windows.
        pub per_user: Windows,
        /// Queue size; further challenges are declined with `later`.
        pub queue_size: usize = 10,
        /// Seconds after which a queued challenge is declined with `later`.
        pub queue_timeout_s: u64 = 120,
        /// Order of the queue.
        pub prefer: Prefer = Prefer::Humans,
        /// How many rematches are accepted in a row, unless a rule accepts more.
        pub rematches: u32 = 1,
    }
}

section! {
    /// `[games]`
    pub struct Games {
        /// Number of concurrent games; further challenges are queued.
        pub concurrency: usize = 4,
        /// How many of them are reserved for people.
        pub reserved_for_humans: usize = 0,
        /// Concurrent games against the same opponent, counted separately for games with and without a clock.
        pub per_opponent: usize = 4,
        /// Seconds to wait for the opponent's first move before the game is aborted; 0 waits forever.
        pub abort_after_s: u64 = 60,
        /// Whether to claim victory when the opponent has left and Lichess allows it.
        pub claim_victory: bool = true,
        /// Policy for accepting takeback requests.
        pub takebacks: Takebacks = Takebacks::Casual,
        /// Limit on takebacks in a game.
        pub max_takebacks: u32 = 3,
        /// Whether to offer a rematch after a game.
        pub offer_rematch: bool = false,
    }
}

section! {
    /// `[tournaments]`
    pub struct Tournaments {
        /// Arenas to join before they start, each as `ID`, `ID:PASSWORD`, `ID@TEAM` or `ID@TEAM:PASSWORD`.
        pub join: Vec<ArenaEntry>,
        /// Teams whose arenas are joined, each as `TEAM` or `TEAM:PASSWORD` with the password of the team.
        pub teams: Vec<TeamEntry>,
        /// Whether to join these teams.
        pub join_teams: bool = false,
        /// Password of arenas of these teams.
        pub password: String,
        /// Whether to join any arena of the site that allows bots.
        pub join_any: bool = false,
        /// Speeds of arenas found by `teams` or `join_any`.
        #[serde(with = "super::values")]
        pub speeds: Vec<Speed> = vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
        /// Their time controls; empty accepts all.
        pub clocks: Vec<ClockSpec>,
        /// Their minimum duration in minutes.
        pub min_minutes: u32 = 10,
        /// Their maximum duration in minutes.
        pub max_minutes: u32 = 720,
        /// Arenas that start within this many hours are joined.
        pub join_ahead_h: u32 = 24,
        /// Number of concurrent arenas.
        pub concurrency: usize = 1,
    }
}

section! {
    /// `[records]`
    pub struct Records {
        /// Whether to keep records of the games.
        pub enabled: bool = true,
        /// Their directory; by default the state directory of the service or of the user.
        pub directory: Option<PathBuf>,
        /// PGN files in addition to the database, and their grouping.
        pub pgn: PgnFiles = PgnFiles::None,
        /// Whether PGN files contain clocks.
        pub clocks: bool = true,
        /// Whether PGN files contain evaluations.
        pub evals: bool = true,
        /// How many of the latest games have a trace; 0 for none.
        pub traces: usize = 200,
    }
}

/// Selection of a book move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// The move with the largest weight.
    Best,
    /// Random, in proportion to the weights.
    Weighted,
    /// Random, with equal probability.
    Uniform,
}

/// Order of the challenge queue; ties in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefer {
    /// People before bots.
    Humans,
    /// Bots before people.
    Bots,
    /// Highest rating first.
    Strongest,
    /// In order of arrival.
    First,
}

/// Grouping of games into PGN files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PgnFiles {
    /// No PGN files.
    None,
    /// One file per game.
    Game,
    /// One file per opponent.
    Opponent,
    /// One file per month.
    Month,
    /// One file for all games.
    All,
}

/// The directory that an environment variable names.
pub fn directory_in_environment(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable)?;
    // systemd may list several, separated by colons.
    let first = std::env::split_paths(&value).next()?;
    first.is_absolute().then_some(first)
}

impl Settings {
    /// Directory of persistent data: that of the systemd unit, or in the home directory. `None` without either.
    pub fn data_directory(&self) -> Option<PathBuf> {
        let directory = directory_in_environment;
        directory("STATE_DIRECTORY")
            .or_else(|| Some(directory("XDG_STATE_HOME")?.join("knightwatch")))
            .or_else(|| Some(directory("HOME")?.join(".local/state/knightwatch")))
    }

    /// Directory in which records, traces and state files are written: the configured one, or else that of persistent data.
    pub fn records_directory(&self) -> Option<PathBuf> {
        let chosen = self.records.directory.clone();
        chosen.or_else(|| self.data_directory())
    }

    /// Directories to search for records and traces: the configured one, or else the default one and that of the service.
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

    /// Adds the state directory that the systemd unit sets, if these are the settings of the service.
    #[must_use]
    pub fn with_service_defaults(mut self) -> Self {
        if self.is_of_service() && std::env::var_os("STATE_DIRECTORY").is_none() {
            let accounts = self.account.iter_mut();
            let directories = accounts.map(|account| &mut account.records.directory);
            for directory in directories.chain([&mut self.records.directory]) {
                directory.get_or_insert_with(|| SERVICE_STATE.into());
            }
        }
        self
    }

    /// Returns whether these settings are from the configuration file of the system service.
    pub fn is_of_service(&self) -> bool {
        self.file.as_deref() == Some(Path::new(SERVICE_CONFIG))
    }

    /// The file of a key of the page: the one that is set, or if there is no variable either, the systemd credential, or
    /// outside of the service its source file.
    pub fn web_key_file(&self, key: WebKey) -> Option<PathBuf> {
        if let Some(file) = self.web.key_file_set(key) {
            return Some(file.to_owned());
        }
        if std::env::var_os(key.variable()).is_some() {
            return None;
        }
        let credentials = std::env::var_os(CREDENTIALS_VARIABLE).map(PathBuf::from);
        self.find_credential(credentials.as_deref(), key.credential())
    }

    /// A secret of the service, which needs no setting: the systemd credential of this name, or outside of the service its
    /// source file.
    pub(super) fn find_credential(
        &self,
        credentials: Option<&Path>,
        name: &str,
    ) -> Option<PathBuf> {
        let credentials = credentials.filter(|directory| directory.is_absolute());
        let of_service = self.is_of_service().then(|| Path::new(SERVICE_CREDENTIALS));
        let directories = credentials.into_iter().chain(of_service);
        let mut files = directories.map(|directory| directory.join(name));
        files.find(|file| file.exists())
    }

    /// The first reason why matchmaking could not be switched on.
    pub fn seek_problem(&self) -> Option<String> {
        super::check::seek_problem(self)
    }

    /// Returns whether any games use books.
    pub fn has_books(&self) -> bool {
        let here =
            self.book.enabled || self.any_rule(|play| play.book.as_ref().map(Books::are_used));
        here || self.account.iter().any(Self::has_books)
    }

    /// The longest window of a limit.
    pub fn longest_window(&self) -> Option<Duration> {
        let rules = self.rule.iter().filter_map(|rule| rule.limit.clone());
        let limits = rules.chain([self.challenge.limit()]);
        let windows =
            limits.flat_map(|limit| limit.of_user().map(|it| it.time).collect::<Vec<_>>());
        windows.max()
    }

    /// The names of rules that accept.
    pub fn accepted_names(&self) -> impl Iterator<Item = &Pattern> {
        let accepting = self.rule.iter().filter(|rule| rule.accept == Some(true));
        accepting.flat_map(|rule| &rule.matching.name)
    }

    /// Returns whether a rule names this user and accepts them.
    pub fn accepts_by_name(&self, name: &str) -> bool {
        self.accepted_names().any(|pattern| pattern.matches(name))
    }

    /// Returns whether any rule enables this.
    pub(super) fn any_rule(&self, says: fn(&Play) -> Option<bool>) -> bool {
        self.rule.iter().any(|rule| says(&rule.play) == Some(true))
    }
}

impl Engine {
    /// Returns whether an engine is offered on the analysis board.
    pub fn offers_analysis(&self) -> bool {
        self.provider || self.external.iter().any(|engine| engine.provider)
    }

    /// The name of the external engine that plays this variant, if a rule asks for `wanted`; `None` for the embedded one.
    pub fn external_name(&self, wanted: Option<&str>, variant: Option<Variant>) -> Option<String> {
        let name = wanted.unwrap_or(&self.default);
        let mut externals = self.external.iter();
        let plays = externals.any(|engine| engine.name == name && engine.plays(variant));
        plays.then(|| name.to_owned())
    }

    /// Size of all hash tables together in MiB, of the embedded engine and of the external ones.
    pub fn all_hash_mib(&self) -> usize {
        let others = self.external.iter().map(External::all_hash_mib);
        others.fold(self.hash_mib, usize::saturating_add)
    }

    /// Number of search threads on this machine: by default one for each core that the external engines leave.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                let others: usize = self.external.iter().map(External::all_threads).sum();
                cores.saturating_sub(others).max(1)
            }
            n => n,
        }
    }

    /// Time reserved on every move.
    pub fn overhead(&self) -> Duration {
        Duration::from_millis(self.move_overhead_ms)
    }
}

/// The name of the embedded book in rules.
const EMBEDDED_BOOK: &str = "default";

impl Book {
    /// The files that are asked in games of this variant, in order. Chess960 and games from a position follow the rules of
    /// standard chess, so its books fit as well.
    pub fn files_for(&self, variant: Variant) -> impl Iterator<Item = &Path> {
        let common = match variant {
            Variant::Standard | Variant::Chess960 | Variant::FromPosition => self.files.as_slice(),
            _ => &[],
        };
        let own = self.variants.of(variant);
        own.iter().chain(common).map(PathBuf::as_path)
    }

    /// The names of the books that are asked in games of this variant, in order.
    pub fn names(&self, variant: Variant, selection: &Books) -> Vec<String> {
        let files = self.files_for(variant).filter_map(Path::file_name);
        let files = files.map(|name| name.to_string_lossy().into_owned());
        let own = self.embedded.then(|| EMBEDDED_BOOK.to_owned());
        let all: Vec<String> = files.chain(own).collect();
        match selection {
            Books::None => Vec::new(),
            Books::All => all,
            Books::Named(names) => names
                .iter()
                .filter(|name| all.contains(name))
                .cloned()
                .collect(),
        }
    }
}

impl Challenge {
    /// Limits of challenges without a rule that sets one.
    pub fn limit(&self) -> Limit {
        Limit {
            per_user_day: self.per_user_day,
            per_day: self.per_day,
            per_user: self.per_user.clone(),
            concurrency: 0,
        }
    }

    /// Returns whether this user is blocked.
    pub fn blocks(&self, name: &str) -> bool {
        self.block.iter().any(|pattern| pattern.matches(name))
    }

    /// Time after which a queued challenge is declined.
    pub fn queue_timeout(&self) -> Duration {
        seconds(self.queue_timeout_s)
    }
}

impl Games {
    /// Returns whether all slots are reserved for humans.
    pub fn are_reserved(&self) -> bool {
        self.concurrency > 0 && self.reserved_for_humans == self.concurrency
    }
}
