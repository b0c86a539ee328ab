//! F1 to F17, what other bots were seen to lose games by: each on the real program and the simulator, with the bar that the
//! program has to hold.
//!
//! They play the scripts of the simulator's library. Times are those of the simulator's own record of calls, and of the
//! waits that the program says it has decided on. Those are held against the bar each; of what was measured the median
//! is, with something for a slow machine.

mod life;
mod moves;
mod streams;

use std::time::Duration;

use knightwatch::book;
use knightwatch::chess::{Game, Position};
use knightwatch::sim::{Endpoint, FaultRule, NewUser, RequestRecord, Script, SimOptions};
use tempfile::NamedTempFile;

use crate::common::{BOT, Daemon, Site, requests_of};
use crate::docs::numbered_tests;

/// How many faults the library has.
const FAULTS: u32 = 17;

/// As long as any of these games gets, in plies.
const PLIES: usize = 80;

/// Enough for every rehearsal that is not about a short clock.
const CLOCK: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Moves from the start position in which no position comes twice and nobody castles: a move that can be posted again
/// without a doubt.
fn line() -> (Vec<String>, String) {
    let mut rng = fastrand::Rng::with_seed(17);
    let mut game = Game::new(Position::startpos());
    let (mut moves, mut sans) = (Vec::new(), Vec::new());
    while moves.len() < PLIES {
        let position = game.position().clone();
        let legal = position.legal_moves();
        let mv = legal[rng.usize(..legal.len())];
        let mut next = game.clone();
        next.play(mv);
        if mv.is_castle() || next.termination().is_some() || next.repetitions() > 1 {
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

/// What the rehearsal is like.
struct Setting<'a> {
    /// Of the library.
    script: &'a str,
    /// Beside those of the script.
    faults: Vec<FaultRule>,
    bot_is_white: bool,
    /// How many times faster than the wall the site and the bot run.
    speed: f64,
    clock: [(&'a str, &'a str); 2],
}

impl<'a> Setting<'a> {
    fn of(script: &'a str) -> Self {
        Self {
            script,
            faults: Vec::new(),
            bot_is_white: true,
            speed: 1.0,
            clock: CLOCK,
        }
    }
}

/// A game that the bot knows by heart, so that nothing takes time but what goes wrong; the test makes Anna's moves.
struct ByHeart {
    site: Site,
    bot: Daemon,
    id: String,
    moves: Vec<String>,
    bot_is_white: bool,
    _book: NamedTempFile,
}

impl ByHeart {
    fn begin(setting: Setting<'_>) -> Self {
        let (moves, sans) = line();
        let book = NamedTempFile::new().unwrap();
        std::fs::write(book.path(), book::build(&sans).unwrap()).unwrap();
        let mut faults = setting.faults;
        if !setting.script.is_empty() {
            faults.extend(Script::load(setting.script).unwrap().faults);
        }
        let site = Site::with(SimOptions {
            users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
            speed: setting.speed,
            faults,
            ..SimOptions::default()
        });
        let config = format!(
            "book = {{ files = [\"{}\"], embedded = false, max_ply = {PLIES} }}",
            book.path().display()
        );
        let bot = Daemon::start_with(
            &site,
            &config,
            &["--time-scale", &setting.speed.to_string()],
        );
        let color = ["white", "black"][usize::from(setting.bot_is_white)];
        let [limit, increment] = setting.clock;
        let id = site
            .player("Anna")
            .start(&[limit, increment, ("color", color)]);
        Self {
            site,
            bot,
            id,
            moves,
            bot_is_white: setting.bot_is_white,
            _book: book,
        }
    }

    /// Goes on until so many plies are made, the last of them by the bot.
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

    /// What the bot has called.
    fn visits(&self, endpoint: Endpoint) -> Vec<RequestRecord> {
        requests_of(&self.site, BOT, endpoint)
    }

    /// When the move came to the site that stands on the board as this ply.
    fn made(&self, ply: usize) -> Duration {
        let visits = self.site.sim.faults().requests(Endpoint::Move);
        let mut made = visits.iter().filter(|visit| !visit.faulted);
        made.nth(ply - 1).expect("the move was made").at
    }

    /// How long it took until a move that something was done to was sent again, once for each such move.
    fn resent(&self) -> Vec<Duration> {
        let visits = self.visits(Endpoint::Move);
        let gap = |at: usize| {
            let is_first = visits[at].faulted && !(at > 0 && visits[at - 1].faulted);
            is_first.then(|| visits[at + 1].at - visits[at].at)
        };
        (0..visits.len() - 1).filter_map(gap).collect()
    }
}

/// Every wait that the log has behind these words, such as `1.5s` or `50ms`.
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

/// What a machine that is ten times slower may add: on an idle one it is a few hundredths of a second.
const SLOWNESS: Duration = Duration::from_millis(500);

/// Holds the median of what was measured against the bar, and tells all of it.
fn within(bar: Duration, what: &str, took: &[Duration]) {
    println!("{what}: {took:.3?}");
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2];
    let allowed = bar + SLOWNESS;
    assert!(
        median <= allowed,
        "{what}: {took:?} where {allowed:?} are allowed"
    );
}

/// Holds the waits that the program has decided on against the bar, all of them.
fn decided(bar: Duration, what: &str, waits: &[Duration]) {
    assert!(!waits.is_empty(), "{what}: nothing was decided");
    println!("{what}: decided to wait {waits:?}");
    assert!(waits.iter().all(|wait| *wait <= bar), "{what}: {waits:?}");
}

#[test]
fn every_fault_has_a_test() {
    let numbers = numbered_tests("tests/it/faults", "f");
    assert_eq!(numbers, (1..=FAULTS).collect());
}

#[test]
fn waits_are_read_as_they_are_written() {
    let log = "back in 100.0ms: x\nback in 8.5s, back in 0ns: y (back in 7.5µs)";
    let expected = [
        ms(100),
        ms(8_500),
        Duration::ZERO,
        Duration::from_nanos(7_500),
    ];
    assert_eq!(waits(log, "back in "), expected);
}
