//! Fault tests F1 to F17: failures observed in other bots, on the real program and the simulator, each with a time limit.
//!
//! They run the scripts of the simulator's library. Times come from the simulator's request log, and from the waits that
//! the program logs. Each logged wait must be within the limit; of the measured times the median, with an allowance for
//! slow machines.

mod lifecycle;
mod moves;
mod streams;

use std::time::Duration;

use knightwatch::book;
use knightwatch::chess::{Game, Position};
use knightwatch::sim::{Endpoint, FaultRule, NewUser, RequestRecord, Script, SimOptions};
use tempfile::NamedTempFile;

use crate::common::{BOT, Daemon, Site, requests_of};
use crate::docs::numbered_tests;

/// Faults in the library.
const FAULT_COUNT: u32 = 17;

/// Length of the longest of these games.
const MAX_PLIES: usize = 80;

/// Clock of all tests that are not about short clocks.
const CLOCK: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Random moves from the start position, in UCI and SAN, without repetitions and castling: every move can be resent safely.
fn move_sequence() -> (Vec<String>, String) {
    let mut rng = fastrand::Rng::with_seed(17);
    let mut game = Game::new(Position::startpos());
    let (mut moves, mut sans) = (Vec::new(), Vec::new());
    while moves.len() < MAX_PLIES {
        let position = game.position().clone();
        let legal = position.legal_moves();
        let mv = legal[rng.usize(..legal.len())];
        let mut next = game.clone();
        next.play(mv);
        // The bot does not take a book move after which the opponent can repeat a position.
        if mv.is_castle() || next.termination().is_some() || can_repeat(&next) {
            continue;
        }
        moves.push(
            mv.uci(knightwatch::chess::CastlingNotation::Standard)
                .to_string(),
        );
        sans.push(position.san(mv));
        game = next;
    }
    (moves, sans.join(" "))
}

/// Returns whether the game has repeated a position, or can with the next move.
fn can_repeat(game: &Game) -> bool {
    let repeats = |mv| {
        let mut next = game.clone();
        next.play(mv);
        next.repetitions() > 1
    };
    game.repetitions() > 1 || game.position().legal_moves().into_iter().any(repeats)
}

/// Parameters of a test game.
struct Scenario<'a> {
    /// Name of a library script; empty for none.
    script: &'a str,
    /// In addition to those of the script.
    faults: Vec<FaultRule>,
    bot_is_white: bool,
    /// Simulated seconds per real second, for the site and the bot.
    speed: f64,
    clock: [(&'a str, &'a str); 2],
}

impl<'a> Scenario<'a> {
    fn new(script: &'a str) -> Self {
        Self {
            script,
            faults: Vec::new(),
            bot_is_white: true,
            speed: 1.0,
            clock: CLOCK,
        }
    }
}

/// A game in which the bot plays from its book, so that only faults take time; the test makes Anna's moves.
struct BookGame {
    site: Site,
    bot: Daemon,
    id: String,
    moves: Vec<String>,
    bot_is_white: bool,
    _book: NamedTempFile,
}

impl BookGame {
    fn start(scenario: Scenario<'_>) -> Self {
        let (moves, sans) = move_sequence();
        let book = NamedTempFile::new().unwrap();
        std::fs::write(book.path(), book::build(&sans).unwrap()).unwrap();
        let mut faults = scenario.faults;
        if !scenario.script.is_empty() {
            faults.extend(Script::load(scenario.script).unwrap().faults);
        }
        let site = Site::with(SimOptions {
            users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
            speed: scenario.speed,
            faults,
            ..SimOptions::default()
        });
        let config = format!(
            "book = {{ files = [\"{}\"], embedded = false, max_ply = {MAX_PLIES} }}",
            book.path().display()
        );
        let bot = Daemon::start_with(
            &site,
            &config,
            &["--time-scale", &scenario.speed.to_string()],
        );
        let color = ["white", "black"][usize::from(scenario.bot_is_white)];
        let [limit, increment] = scenario.clock;
        let id = site
            .player("Anna")
            .start(&[limit, increment, ("color", color)]);
        Self {
            site,
            bot,
            id,
            moves,
            bot_is_white: scenario.bot_is_white,
            _book: book,
        }
    }

    /// Plays until this many plies are made, the last of them by the bot.
    fn play_to(&self, plies: usize) {
        assert_ne!(plies.is_multiple_of(2), self.bot_is_white);
        let anna = self.site.player("Anna");
        for ply in self.site.game(&self.id).unwrap().plies..plies {
            if ply.is_multiple_of(2) == self.bot_is_white {
                self.site.plies(&self.id, ply + 1);
            } else {
                anna.play(&self.id, &self.moves[ply]);
            }
        }
        let game = self.site.plies(&self.id, plies);
        assert_eq!(game.status, "started", "{game:?}");
    }

    /// Requests of the bot.
    fn requests(&self, endpoint: Endpoint) -> Vec<RequestRecord> {
        requests_of(&self.site, BOT, endpoint)
    }

    /// Time at which the site received the move of this ply.
    fn move_time(&self, ply: usize) -> Duration {
        let requests = self.site.sim.faults().requests(Endpoint::Move);
        let mut made = requests.iter().filter(|request| !request.faulted);
        made.nth(ply - 1).expect("the move was made").at
    }

    /// Time from a faulted move request to the next attempt, once per move.
    fn resend_times(&self) -> Vec<Duration> {
        let requests = self.requests(Endpoint::Move);
        let gap = |at: usize| {
            let is_first = requests[at].faulted && !(at > 0 && requests[at - 1].faulted);
            is_first.then(|| requests[at + 1].at - requests[at].at)
        };
        (0..requests.len() - 1).filter_map(gap).collect()
    }
}

/// Every duration after these words in the log, such as `1.5s` or `50ms`.
fn waits(log: &str, words: &str) -> Vec<Duration> {
    let read = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let unit = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
            .into_iter()
            .find(|(name, _)| unit.starts_with(name))?;
        Some(Duration::from_secs_f64(number * unit.1))
    };
    log.split(words).skip(1).filter_map(read).collect()
}

/// Added to limits of measured times for slow machines; an idle machine needs a few hundredths of a second.
const SLOW_MACHINE_ALLOWANCE: Duration = Duration::from_millis(500);

/// Asserts that the median of measured times is within the limit plus allowance, and prints them all.
fn assert_median_within(limit: Duration, what: &str, took: &[Duration]) {
    println!("{what}: {took:.3?}");
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    // Of an even number the lower one, so that a single slow moment does not decide about two times.
    let median = sorted[(sorted.len() - 1) / 2];
    let allowed = limit + SLOW_MACHINE_ALLOWANCE;
    assert!(
        median <= allowed,
        "{what}: {took:?} where {allowed:?} are allowed"
    );
}

/// Asserts that every logged wait is within the limit.
fn assert_waits_within(limit: Duration, what: &str, waits: &[Duration]) {
    assert!(!waits.is_empty(), "{what}: no wait was logged");
    println!("{what}: waits {waits:?}");
    assert!(waits.iter().all(|wait| *wait <= limit), "{what}: {waits:?}");
}

#[test]
fn library_fault_has_test() {
    let numbers = numbered_tests("tests/it/faults", "f");
    assert_eq!(numbers, (1..=FAULT_COUNT).collect());
}

#[test]
fn waits_parses_log_durations() {
    let log = "back in 100.0ms: x\nback in 8.5s, back in 0ns: y (back in 7.5µs)";
    let expected = [
        ms(100),
        ms(8_500),
        Duration::ZERO,
        Duration::from_nanos(7_500),
    ];
    assert_eq!(waits(log, "back in "), expected);
}
