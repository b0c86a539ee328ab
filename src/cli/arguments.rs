//! Options that describe games, views and challenges, and the parsers of arguments.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};

use crate::book::GameOptions;
use crate::bot::{ChallengeQuery, CommandError, argument, time_control};
use crate::chess::{self, FenError, Position};
use crate::config::unoffered;
use crate::engine;
use crate::events::{Color, Player, SPEEDS};
use crate::lab::perft;
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::{TimeControl, Variant};
use crate::spelling::choices;
use crate::store::{Filter, GroupBy, Outcome, View, local_day_end, local_day_start};

/// Selection of the games of a book.
#[derive(Args, Clone, Debug)]
pub struct GameArgs {
    /// Omit moves played in fewer games
    #[arg(long, value_name = "N", default_value_t = GameOptions::default().min_games)]
    min_games: u32,
    /// Omit moves after this many plies, of games and of lines [default: 40 for games, none for lines]
    #[arg(long, value_name = "N")]
    max_ply: Option<u32>,
    /// Omit games of players with a lower rating, or none
    #[arg(long, value_name = "RATING", default_value_t = GameOptions::default().min_rating)]
    min_rating: u32,
    /// Double the weight for each 200 points of the player's rating above 1600
    #[arg(long)]
    by_rating: bool,
}

/// The variant of a book.
#[derive(Args, Clone, Copy, Debug)]
pub struct BookVariantArgs {
    /// Variant of the book: crazyhouse, antichess, atomic, horde, kingOfTheHill, racingKings or threeCheck
    #[arg(
        long,
        value_name = "NAME",
        default_value = "standard",
        hide_default_value = true
    )]
    pub variant: chess::Variant,
}

impl GameArgs {
    /// The options for a book of this variant.
    pub fn of(self, variant: BookVariantArgs) -> GameOptions {
        let arguments = self;
        GameOptions {
            variant: variant.variant,
            min_games: arguments.min_games,
            max_ply: arguments.max_ply,
            min_rating: arguments.min_rating,
            by_rating: arguments.by_rating,
        }
    }
}

/// Filter of recorded games.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Games of this account
    #[arg(long, value_name = "NAME", value_parser = user)]
    account: Option<String>,
    /// Games against this player
    #[arg(long, value_name = "NAME", value_parser = user)]
    opponent: Option<String>,
    /// Games against players whose names contain this
    #[arg(long, value_name = "PART")]
    search: Option<String>,
    /// won, drawn, lost, void (aborted) or open (unfinished)
    #[arg(long, value_name = "RESULT")]
    result: Option<Outcome>,
    /// Our color: white or black
    #[arg(long, value_name = "COLOR", value_parser = color)]
    color: Option<Color>,
    /// Games of this speed
    #[arg(long, value_parser = SPEEDS)]
    speed: Option<String>,
    /// Games of this variant
    #[arg(long, value_parser = PossibleValuesParser::new(Variant::ALL.iter().map(|variant| variant.key())))]
    variant: Option<String>,
    /// Only rated games
    #[arg(long, conflicts_with = "casual")]
    rated: bool,
    /// Only casual games
    #[arg(long)]
    casual: bool,
    /// Games of this tournament
    #[arg(long, value_name = "ID", value_parser = arena)]
    tournament: Option<String>,
    /// Started on this day or later, as in 2026-05-24
    #[arg(long, value_name = "DAY", value_parser = local_day_start)]
    since: Option<i64>,
    /// Started on this day or earlier
    #[arg(long, value_name = "DAY", value_parser = local_day_end)]
    until: Option<i64>,
}

impl From<FilterArgs> for Filter {
    fn from(arguments: FilterArgs) -> Filter {
        Filter {
            account: arguments.account,
            opponent: arguments.opponent,
            search: arguments.search,
            outcome: arguments.result,
            color: arguments.color,
            speed: arguments.speed,
            variant: arguments.variant,
            rated: (arguments.rated || arguments.casual).then_some(arguments.rated),
            tournament: arguments.tournament,
            since: arguments.since,
            until: arguments.until,
        }
    }
}

/// View of the selected games.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// Show at most N games, the latest first
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: u32,
    /// Results by opponent, speed, color, opening, tournament or month
    #[arg(long, value_name = "GROUP", group = "view")]
    by: Option<GroupBy>,
    /// Opponents who outscored their rating against us (3+ games)
    #[arg(long, group = "view")]
    toughest: bool,
    /// Our ratings, and our performance in the last 100 rated games
    #[arg(long, group = "view")]
    ratings: bool,
}

impl From<ViewArgs> for View {
    fn from(arguments: ViewArgs) -> View {
        match arguments.by {
            Some(by) => View::By(by),
            None if arguments.toughest => View::Toughest(3),
            None if arguments.ratings => View::Ratings,
            None => View::List(arguments.limit),
        }
    }
}

/// Sources of settings besides the defaults and the environment.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// The configuration file [default: ./knightwatch.toml, ~/.config/knightwatch/config.toml or
    /// /etc/knightwatch/config.toml, the first that exists; root looks in /etc before ~/.config]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Override one setting, as in `--set engine.hash_mib=64`
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

/// A challenge described by arguments, for `explain`.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub struct ChallengeArgs {
    /// The challenger
    #[arg(long, value_name = "NAME", value_parser = username)]
    user: Option<String>,
    /// Their rating in this kind of game
    #[arg(long, value_name = "ELO", requires = "user")]
    rating: Option<u32>,
    /// Their title, as in GM; BOT for a bot
    #[arg(long, value_name = "TITLE", requires = "user")]
    title: Option<String>,
    /// Minutes and seconds as in 3+2, days for a move as in 2d, or unlimited
    #[arg(long, value_name = "TC", requires = "user", default_value = "3+2", value_parser = offered_clock)]
    clock: TimeControl,
    /// A rated game
    #[arg(long, requires = "user")]
    rated: bool,
    /// Lichess's key: standard, chess960, fromPosition, crazyhouse, antichess, ... [default: fromPosition with --fen,
    /// or else standard]
    #[arg(long, value_name = "KEY", requires = "user", value_parser = variant)]
    variant: Option<Variant>,
    /// The initial position
    #[arg(long, value_name = "FEN", requires = "user", value_parser = initial_position)]
    fen: Option<String>,
    /// Our color: white or black [default: random]
    #[arg(long, value_name = "COLOR", requires = "user", value_parser = color)]
    color: Option<Color>,
}

impl ChallengeArgs {
    /// The challenge, if `--user` is given.
    pub fn query(self) -> Option<ChallengeQuery> {
        let from = Player {
            name: self.user?,
            title: self.title.map(|title| title.to_uppercase()),
            rating: self.rating,
            provisional: false,
        };
        let default = match self.fen {
            Some(_) => Variant::FromPosition,
            None => Variant::Standard,
        };
        let variant = self.variant.unwrap_or(default);
        let query = ChallengeQuery::of(&from, self.clock, variant, self.rated);
        Some(query.with(self.fen, self.color))
    }
}

/// Arguments of `knightwatch explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// The challenge: LAST, a file with it as JSON, or - for JSON from stdin
    #[arg(value_name = "CHALLENGE")]
    pub challenge: Option<PathBuf>,
    #[command(flatten)]
    pub query: ChallengeArgs,
    /// The age of the challenger's account, for rules with age_days
    #[arg(long, value_name = "DAYS")]
    pub age_days: Option<u32>,
    /// Text of the challenger's profile, for rules with engine or bio
    #[arg(long, value_name = "TEXT")]
    pub bio: Option<String>,
    /// The time of day on this machine, for rules with hours [default: now]
    #[arg(long, value_name = "HH:MM", value_parser = time_of_day)]
    pub at: Option<SystemTime>,
    /// The account that is challenged, if the configuration has several
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Arguments of `knightwatch games`.
#[derive(Args, Clone, Debug)]
pub struct GamesArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `knightwatch export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Games by id or address [default: all that match the other arguments]
    #[arg(value_name = "ID", value_parser = game)]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Omit the clocks
    #[arg(long)]
    pub no_clocks: bool,
    /// Omit the evaluations of the engine
    #[arg(long)]
    pub no_evals: bool,
}

/// Arguments of `knightwatch import`.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// PGN files, and files with one JSON object per game and line, as Lichess exports them; - is stdin
    #[arg(value_name = "FILE", required_unless_present = "from_lichess")]
    pub files: Vec<PathBuf>,
    /// Fetch the games of our accounts from the server, with their tokens
    #[arg(long, conflicts_with = "files")]
    pub from_lichess: bool,
    /// Import only games that started on this day in UTC or later
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub since: Option<jiff::civil::Date>,
    /// Import the games of this account [default: those of the configuration, or else of the records]
    #[arg(long, value_name = "NAME", value_parser = username)]
    pub account: Vec<String>,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Arguments of `knightwatch replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// A trace file, or the id or address of a game with a trace
    pub trace: PathBuf,
    /// Repeat each search to its depth, on one thread with an empty table
    #[arg(long)]
    pub search: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

fn variant(text: &str) -> Result<Variant, String> {
    match Variant::from_key(text) {
        Variant::Unknown => {
            let keys: Vec<&str> = Variant::ALL.iter().map(|variant| variant.key()).collect();
            Err(choices("variants are", text, &keys))
        }
        known => Ok(known),
    }
}

/// Checks a FEN of any variant.
fn initial_position(text: &str) -> Result<String, FenError> {
    let mut variants = chess::Variant::ALL.into_iter();
    match variants.any(|variant| Position::from_variant_fen_lenient(variant, text).is_ok()) {
        true => Ok(text.to_owned()),
        false => Position::from_fen_lenient(text).map(|_| text.to_owned()),
    }
}

/// Parses a time of day: that moment of today.
fn time_of_day(text: &str) -> Result<SystemTime, &'static str> {
    let expected = "expected hours and minutes, as in 23:30";
    let time = jiff::civil::Time::strptime("%H:%M", text).map_err(|_| expected)?;
    let today = jiff::Zoned::now().with().time(time).build();
    Ok(today.map_err(|_| expected)?.timestamp().into())
}

/// Parses the id or address of a game.
fn game(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Game).to_owned())
}

/// Parses the id or address of an arena.
fn arena(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::Arena).to_owned())
}

/// Parses the name or address of a user.
fn user(text: &str) -> Result<String, Infallible> {
    Ok(address::id(text, Page::User).to_owned())
}

/// Parses a time control that Lichess offers.
fn offered_clock(text: &str) -> Result<TimeControl, String> {
    let time = time_control(text)?;
    unoffered(time).map_or(Ok(time), |problem| Err(problem.to_owned()))
}

/// Parses the name or address of a user, which must be valid.
fn username(text: &str) -> Result<String, CommandError> {
    argument::user(text).map(|user| user.to_string())
}

pub(super) fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse();
    address.map_err(|_| "write an IP address and a port, as in 127.0.0.1:9664")
}

pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let max = engine::MAX_THREADS;
    let number = text
        .parse()
        .ok()
        .filter(|number: &NonZeroUsize| number.get() <= max);
    number.ok_or_else(|| format!("expected a number from 1 to {max}"))
}

pub(super) fn hash_mib() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(..=perft::MAX_HASH_MIB)
}

fn color(text: &str) -> Result<Color, String> {
    match text {
        "white" => Ok(Color::White),
        "black" => Ok(Color::Black),
        _ => Err("expected white or black".to_owned()),
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err("expected SECTION.KEY=VALUE".to_owned()),
    }
}
