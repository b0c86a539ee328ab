//! Command line options of the training tools.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::builder::RangedU64ValueParser;

use super::contest::worker_pool;
use super::dataset::{Dataset, Sources};
use super::openings::Openings;
use super::sample::Sample;
use knightwatch_chess::Variant;
use knightwatch_engine::{Elo, MAX_THREADS};
use knightwatch_util::match_stats::Sprt;

/// `knightwatch datagen`
#[derive(Clone, Debug, clap::Args)]
pub struct DatagenOptions {
    /// Directory for the games; each run adds files
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Concurrent games [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Nodes after which no new iteration starts; eight times as many end the search at once
    #[arg(long, value_name = "SOFT", default_value_t = 120, value_parser = some::<u64>())]
    pub nodes: u64,
    /// Stop after this many minutes [default: never]
    #[arg(long, value_name = "M", value_parser = minutes)]
    pub minutes: Option<Duration>,
    /// Stop after this many games
    #[arg(long, value_name = "N", value_parser = some::<u64>())]
    pub games: Option<u64>,
    /// Network to play with [default: the embedded one, if there is one]
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,
    /// Evaluate by material and piece-square tables even if a network is embedded
    #[arg(long, conflicts_with = "network")]
    pub classical: bool,
    /// Write a file at least every M minutes
    #[arg(long, value_name = "M", default_value = "5", value_parser = minutes)]
    pub file_minutes: Duration,
    /// Write a file after this many MiB of games; compressed they take about 0.6 of that
    #[arg(long, value_name = "MIB", default_value_t = 20, value_parser = some::<usize>())]
    pub file_mib: usize,
    /// Variant: standard, crazyhouse, antichess, atomic, horde, kingOfTheHill, racingKings or threeCheck
    #[arg(long, value_name = "NAME", default_value = "standard", hide_default_value = true, value_parser = variant)]
    pub variant: Variant,
    /// Share of games from Chess960 positions, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub chess960: u8,
    /// Seed of the run; must be new in the directory [default: random]
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u32>,
    /// Prefix of the file names, such as the generation
    #[arg(long, value_name = "WORD", default_value = "games")]
    pub label: String,
}

/// Threads, openings and seed of engine games.
#[derive(Clone, Debug, clap::Args)]
pub struct MatchSetup {
    /// Concurrent games [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Openings, a file of EPD or FEN lines [default: eight or nine random plies]
    #[arg(long, value_name = "FILE")]
    pub openings: Option<PathBuf>,
    /// Seed of the openings and of all other random choices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u32,
}

impl MatchSetup {
    /// The openings of a variant, with Chess960 positions in `chess960` percent of the random ones.
    ///
    /// # Errors
    /// When the opening file cannot be used.
    pub(super) fn openings(&self, variant: Variant, chess960: u8) -> anyhow::Result<Openings> {
        let seed = self.seed;
        match &self.openings {
            Some(path) => Openings::load(path, seed),
            None => Ok(Openings::Random {
                seed,
                variant,
                chess960,
            }),
        }
    }
}

/// Effort of each move of a game that does not depend on the speed of the machine.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct EffortOptions {
    /// Nodes of each move
    #[arg(long, value_name = "N", default_value_t = 25_000, value_parser = some::<u64>())]
    pub nodes: u64,
    /// A clock instead, in seconds: base time and increment
    #[arg(long, value_name = "BASE+INC", conflicts_with = "nodes", value_parser = time_control)]
    pub tc: Option<MatchClock>,
    /// Nodes that count as a millisecond of that clock
    #[arg(long, value_name = "N", default_value_t = DEFAULT_NODES_PER_MS, requires = "tc", value_parser = some::<u64>())]
    pub nodes_per_ms: u64,
}

impl EffortOptions {
    pub(super) fn effort(&self) -> Effort {
        match (self.tc, NonZeroU64::new(self.nodes_per_ms)) {
            (Some(clock), Some(nodes_per_ms)) => Effort::Clock(clock, nodes_per_ms),
            _ => Effort::Nodes(self.nodes),
        }
    }
}

/// Nodes or time that a player may spend on its moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effort {
    /// Exactly so many nodes a move.
    Nodes(u64),
    /// A clock, on which so many nodes take a millisecond.
    Clock(MatchClock, NonZeroU64),
}

/// A phrase for the middle of a sentence.
impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effort::Nodes(nodes) => write!(f, "{nodes} nodes a move"),
            Effort::Clock(clock, nodes_per_ms) => {
                write!(f, "a clock of {clock}, {nodes_per_ms} nodes a millisecond,")
            }
        }
    }
}

/// About the speed of one core.
const DEFAULT_NODES_PER_MS: u64 = 1_000;

/// `knightwatch match`
#[derive(Clone, Debug, clap::Args)]
pub struct MatchOptions {
    /// Evaluation of the first side: a network file, `embedded`, `none` for material and piece-square tables, or `default`
    #[arg(value_name = "NETWORK", default_value = "default")]
    pub network: String,
    /// Evaluation of its opponent
    #[arg(value_name = "OPPONENT", default_value = "default")]
    pub opponent: String,
    /// Search parameter of the first side; needs a build with `--features tune`
    #[arg(long, value_name = "NAME=VALUE", value_parser = number)]
    pub set: Vec<(String, i32)>,
    /// Search parameter of its opponent
    #[arg(long, value_name = "NAME=VALUE", value_parser = number)]
    pub against: Vec<(String, i32)>,
    /// Effort of each move.
    #[command(flatten)]
    pub effort: EffortOptions,
    /// Games, two per opening; with `--sprt` the maximum
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = some::<u64>())]
    pub games: u64,
    /// Openings, games at once and adjudication.
    #[command(flatten)]
    pub setup: MatchSetup,
    /// Balanced random openings, within 2 pawns [default: one side is better by 0.6 to 1.4 pawns]
    #[arg(long, conflicts_with = "openings")]
    pub balanced: bool,
    /// Share of random openings from Chess960 positions, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100), conflicts_with = "openings")]
    pub chess960: u8,
    /// Stop as soon as the test decides whether the first side is ELO1 or only ELO0 stronger
    #[arg(long, num_args = 2, value_names = ["ELO0", "ELO1"], value_parser = elo, allow_negative_numbers = true)]
    pub sprt: Option<Vec<f64>>,
}

impl MatchOptions {
    /// The number of openings; each is played twice.
    pub(super) fn pairs(&self) -> u64 {
        self.games.div_ceil(2)
    }

    /// The test that ends the match, if requested.
    ///
    /// # Errors
    /// When `elo0` is not below `elo1`.
    pub(super) fn sprt(&self) -> anyhow::Result<Option<Sprt>> {
        let Some(&[elo0, elo1]) = self.sprt.as_deref() else {
            return Ok(None);
        };
        ensure!(
            elo0 < elo1,
            "--sprt {elo0} {elo1}: the first difference in Elo has to be the smaller one"
        );
        Ok(Some(Sprt { elo0, elo1 }))
    }
}

/// `knightwatch gauntlet`
#[derive(Clone, Debug, clap::Args)]
pub struct GauntletOptions {
    /// UCI engine, or `self` for a second instance of this one
    #[arg(value_name = "ENGINE")]
    pub engine: PathBuf,
    /// UCI option of the opponent, such as UCI_LimitStrength=true; repeatable
    #[arg(long = "opponent-option", value_name = "NAME=VALUE", value_parser = option)]
    pub opponent_options: Vec<(String, String)>,
    /// UCI option of this engine; repeatable. By default both have 16 MiB of hash and one thread
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = option)]
    pub options: Vec<(String, String)>,
    /// Base time and increment in seconds
    #[arg(long, value_name = "BASE+INC", default_value = "8+0.08", value_parser = time_control)]
    pub tc: MatchClock,
    /// Nodes of each move, instead of a clock
    #[arg(long, value_name = "N", conflicts_with = "tc", value_parser = some::<u64>())]
    pub nodes: Option<u64>,
    /// Variant, as in UCI_Variant: crazyhouse, antichess, atomic, horde, kingofthehill, racingkings or 3check; with random
    /// openings only, not with --openings
    #[arg(long, value_name = "NAME", default_value = "chess", hide_default_value = true, conflicts_with = "openings", value_parser = variant)]
    pub variant: Variant,
    /// Games, two per opening
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = some::<u64>())]
    pub games: u64,
    /// Openings, games at once and adjudication.
    #[command(flatten)]
    pub setup: MatchSetup,
}

/// `knightwatch book grow`
#[derive(Clone, Debug, clap::Args)]
pub struct GrowOptions {
    /// Variant: standard, crazyhouse, antichess, atomic, horde, kingOfTheHill, racingKings or threeCheck
    #[arg(long, value_name = "NAME", default_value = "standard", hide_default_value = true, value_parser = variant)]
    pub variant: Variant,
    /// Nodes of each search
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = some::<u64>())]
    pub nodes: u64,
    /// Omit moves after this many plies
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plies: u32,
    /// Positions to search, of which about half are in the book
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = some::<usize>())]
    pub positions: usize,
    /// Moves to consider in each position
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = some::<usize>())]
    pub lines: usize,
    /// Centipawns that a move may be worse than the best
    #[arg(long, value_name = "CP", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub margin: u32,
    /// The book to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Base time and increment of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchClock {
    pub base: Duration,
    pub increment: Duration,
}

/// The form of the command line.
impl fmt::Display for MatchClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, increment) = (self.base.as_secs_f64(), self.increment.as_secs_f64());
        write!(f, "{base}+{increment}")
    }
}

fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_THREADS as u64)
}

/// A number of at least 1.
fn some<T: TryFrom<u64>>() -> RangedU64ValueParser<T> {
    RangedU64ValueParser::new().range(1..)
}

/// Parses a finite number for which `fits` holds; `expected` describes it in the error.
fn number_of(text: &str, expected: &str, fits: impl FnOnce(&f64) -> bool) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && fits(number))
        .ok_or_else(|| format!("expected {expected}"))
}

fn share(text: &str) -> Result<f64, String> {
    number_of(text, "a share from 0.0 to 1.0", |share| {
        (0.0..=1.0).contains(share)
    })
}

/// A share below 1.0, for `--lambda`: with 1.0 every score would be the result.
fn share_below_one(text: &str) -> Result<f64, String> {
    number_of(text, "a share from 0.0 to below 1.0", |share| {
        (0.0..1.0).contains(&(*share as f32))
    })
}

fn positive(text: &str) -> Result<f64, String> {
    number_of(text, "a number above 0", |number| *number > 0.0)
}

fn elo(text: &str) -> Result<f64, String> {
    number_of(text, "a difference in Elo", |_| true)
}

fn not_negative(text: &str) -> Result<f64, String> {
    number_of(text, "a number from 0 on", |number| *number >= 0.0)
}

fn minutes(text: &str) -> Result<Duration, String> {
    let read = || {
        let minutes: f64 = text.trim().parse().ok()?;
        let time = Duration::try_from_secs_f64(minutes * 60.0).ok()?;
        (!time.is_zero()).then_some(time)
    };
    read().ok_or_else(|| "expected minutes, more than 0".to_owned())
}

fn option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let (name, value) = (name.trim(), value.trim());
    match name.eq_ignore_ascii_case("UCI_Variant") {
        true => Err("both engines play the variant of --variant".to_owned()),
        false => Ok((name.to_owned(), value.to_owned())),
    }
}

fn variant(text: &str) -> Result<Variant, String> {
    text.parse()
}

fn time_control(text: &str) -> Result<MatchClock, String> {
    let seconds = |text: &str| Duration::try_from_secs_f64(text.trim().parse().ok()?).ok();
    let read = || {
        let (base, increment) = text.split_once('+')?;
        let (base, increment) = (seconds(base)?, seconds(increment)?);
        (!base.is_zero()).then_some(MatchClock { base, increment })
    };
    read().ok_or_else(|| "expected seconds and what a move adds, as in 8+0.08".to_owned())
}

/// `knightwatch calibrate`
#[derive(Clone, Debug, clap::Args)]
pub struct CalibrateOptions {
    /// UCI engine that supports UCI_LimitStrength and UCI_Elo
    #[arg(value_name = "ENGINE")]
    pub engine: PathBuf,
    /// Levels of `strength` to measure; each plays the next one
    #[arg(long, value_name = "ELO", required = true, value_delimiter = ',', value_parser = level)]
    pub levels: Vec<Elo>,
    /// Levels of the other engine with known Elo, and its nodes per move
    #[arg(long, value_name = "ELO@NODES", required = true, value_delimiter = ',', value_parser = anchor)]
    pub anchors: Vec<Anchor>,
    /// A level plays the anchors within this distance
    #[arg(long, value_name = "ELO", default_value_t = 250)]
    pub near: u16,
    /// Games of each pairing, two per opening
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub games: u64,
    /// Results of the games; continues the run in the file, if there is one
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Openings, games at once and adjudication.
    #[command(flatten)]
    pub setup: MatchSetup,
}

/// A level of the other engine with a known rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    pub elo: u16,
    /// Nodes per move.
    pub nodes: u64,
}

fn level(text: &str) -> Result<Elo, String> {
    let elo: i32 = text.trim().parse().unwrap_or(0);
    let known = Some(Elo::nearest(elo)).filter(|level| i32::from(level.get()) == elo);
    known.ok_or_else(|| format!("expected an Elo from {} to {}", Elo::MIN, Elo::MAX))
}

fn anchor(text: &str) -> Result<Anchor, String> {
    let read = || {
        let (elo, nodes) = text.trim().split_once('@')?;
        let (elo, nodes) = (elo.parse().ok()?, nodes.parse().ok()?);
        (nodes > 0).then_some(Anchor { elo, nodes })
    };
    read().ok_or_else(|| "expected an Elo and positions for a move, as in 1700@20000".to_owned())
}

/// `knightwatch tune`
#[derive(Clone, Debug, clap::Args)]
pub struct TuneOptions {
    /// State of the run; continues the run in the file, if there is one
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
    /// Tune only this parameter; repeatable [default: all of crates/engine/src/params.rs]
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Effort of each move.
    #[command(flatten)]
    pub effort: EffortOptions,
    /// Games, two per opening
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(2..))]
    pub games: u64,
    /// How far a won pair moves a parameter at the end, in its steps
    #[arg(long, value_name = "RATE", default_value_t = 0.006, value_parser = positive)]
    pub rate: f64,
    /// Times the steps of the parameters, except those of 1: larger steps show smaller effects
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=10))]
    pub step_factor: i32,
    /// Openings, games at once and adjudication.
    #[command(flatten)]
    pub setup: MatchSetup,
}

fn number(text: &str) -> Result<(String, i32), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.trim().parse();
    value
        .map(|value| (name.trim().to_owned(), value))
        .map_err(|_| "expected a whole number after the =".to_owned())
}

/// Games for training, and the positions made of them.
#[derive(Clone, Debug, clap::Args)]
pub struct DataOptions {
    /// Directories (or files) of games
    #[arg(long = "data", value_name = "DIR", required = true, num_args = 1..)]
    pub paths: Vec<PathBuf>,
    /// Weight of later positions of the game in the score, decreasing by this factor with every ply (0.0 to below 1.0)
    #[arg(long, value_name = "L", default_value_t = 0.0, value_parser = share_below_one)]
    pub lambda: f64,
    /// [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Seed of the order of the positions and of all other random choices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
}

impl DataOptions {
    /// Number of threads.
    pub(super) fn thread_count(&self) -> usize {
        worker_pool::thread_count(self.threads)
    }

    /// Reads the positions, with those of a share of the games for validation. Returns the number of files as well.
    ///
    /// # Errors
    /// When there are no games, or a file cannot be read.
    pub(super) fn load(&self, validation: f64) -> anyhow::Result<(usize, Dataset)> {
        let sources = Sources::find(&self.paths)?;
        let threads = self.thread_count();
        let data = sources.load(threads, validation, self.seed, self.lambda, Sample::new)?;
        Ok((sources.len(), data))
    }
}

/// `knightwatch train`
#[derive(Clone, Debug, clap::Args)]
pub struct TrainOptions {
    /// Games and their positions.
    #[command(flatten)]
    pub data: DataOptions,
    /// Network file to write; the log has the same name with .log
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Hidden units, a multiple of 32
    #[arg(long, value_name = "H", default_value_t = 128)]
    pub hidden: usize,
    /// Output rows, chosen by the number of pieces
    #[arg(long, value_name = "B", default_value_t = 8)]
    pub buckets: usize,
    /// Passes over the positions
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = some::<usize>())]
    pub epochs: usize,
    /// Stop after this many minutes; the learning rate follows epochs or time, whichever ends first
    #[arg(long, value_name = "M", value_parser = minutes)]
    pub minutes: Option<Duration>,
    /// Weight of the game's result in the target, the rest is the score (0.0 to 1.0)
    #[arg(long, value_name = "W", default_value_t = 0.05, value_parser = share)]
    pub wdl: f64,
    /// Weight of the result at the end of the run; it changes linearly [default: that of --wdl]
    #[arg(long, value_name = "W", value_parser = share)]
    pub final_wdl: Option<f64>,
    /// Highest learning rate: reached after 0.5 % of the run, it decays to a hundredth along a cosine
    #[arg(long, value_name = "RATE", default_value_t = 0.001, value_parser = positive)]
    pub rate: f64,
    /// Weight decay
    #[arg(long, value_name = "D", default_value_t = 0.01, value_parser = not_negative)]
    pub decay: f64,
    /// Batch size [default: 4096 below five million positions, else 16384]
    #[arg(long, value_name = "N", value_parser = some::<usize>())]
    pub batch: Option<usize>,
    /// Centipawns per unit of output, 40 to 2000 [default: fitted on the data]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(40..=2000))]
    pub scale: Option<u32>,
    /// Share of the games used for validation (0.0 to 1.0)
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = share)]
    pub validation: f64,
    /// Continue from this network instead of random weights; missing hidden units are added
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Continue an interrupted run after its last finished epoch, from the .checkpoint file next to the network
    #[arg(long)]
    pub resume: bool,
    /// Name of the network [default: its file name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// `knightwatch export-positions`
#[derive(Clone, Debug, clap::Args)]
pub struct ExportOptions {
    /// Games and their positions.
    #[command(flatten)]
    pub data: DataOptions,
    /// Directory for the positions; files of the same name are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Share of the games used for validation (0.0 to 1.0)
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    pub validation: f64,
}

/// `knightwatch fit-wdl`
#[derive(Clone, Debug, clap::Args)]
pub struct FitWdlOptions {
    /// Directories (or files) of games
    #[arg(long, value_name = "DIR", required = true, num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Only positions with scores of at most this many centipawns
    #[arg(long, value_name = "CP", default_value_t = 1500, value_parser = clap::value_parser!(i32).range(1..=3000))]
    pub within: i32,
}

/// `knightwatch fit-variant`
#[derive(Clone, Debug, clap::Args)]
pub struct FitVariantOptions {
    /// Variant: crazyhouse, antichess, atomic, horde, racingkings or 3check
    #[arg(long, value_name = "NAME", value_parser = variant)]
    pub variant: Variant,
    /// Directories (or files) of games
    #[arg(long, value_name = "DIR", required = true, num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Weight of the score in the target, the rest is the game's result (0.0 to 1.0)
    #[arg(long, value_name = "W", default_value_t = 0.4, value_parser = share)]
    pub score_share: f64,
    /// How strongly weights are drawn to the present ones: the loss of a pawn of difference
    #[arg(long, value_name = "LOSS", default_value_t = 0.0001, value_parser = not_negative)]
    pub pull: f64,
    /// Steps of the descent
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
}

/// The fields of which the values differ: `batch was 8192 and is 16384 now`, with commas in between.
pub(crate) fn differences(before: &[(&str, String)], now: &[(&str, String)]) -> String {
    let pairs = before.iter().zip(now);
    let different = pairs.filter(|(before, now)| before != now);
    let texts: Vec<String> = different
        .map(|((name, before), (_, now))| format!("{name} was {before} and is {now} now"))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::share_below_one;

    #[test]
    fn lambda_is_below_one() {
        assert_eq!(share_below_one("0.8"), Ok(0.8));
        for text in ["1.0", "0.99999999", "-0.1", "x"] {
            assert!(share_below_one(text).is_err(), "{text}");
        }
    }
}
