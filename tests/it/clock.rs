//! Short clocks: over a bad line, and many at once on few cores.
//!
//! The short forms run with the other tests; the long ones are asked for:
//!
//! ```text
//! KNIGHTWATCH_CLOCK_GAMES=500 cargo test --release --test it -- --ignored --nocapture clock::
//! ```

use std::time::{Duration, Instant};

use knightwatch::sim::{
    ChallengePlan, Endpoint, Fault, FaultRule, GameSummary, Latency, NewUser, PlayerKind,
    PlayerOptions, SimOptions, TimeControl,
};

use crate::common::{BOT, Daemon, Site};

/// A game whose clock was taken by delays to this part and more cannot be saved by thinking less.
const HOPELESS: f64 = 0.7;

/// No match takes longer than this, on the wall.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Games of the bot against users who answer quickly.
struct Match {
    opponents: PlayerKind,
    /// Seconds on each clock; there is no increment.
    seconds: u32,
    games: usize,
    at_once: usize,
    /// A bad line: 150 ms each way, give or take 100, and one request in fifty takes a second more.
    bad_line: bool,
    speed: f64,
}

/// What came of it.
#[derive(Debug, Default)]
struct Tally {
    games: usize,
    /// Lost by a flag though there was time enough.
    flags: Vec<String>,
    /// Lost by a flag when delays took most of the clock.
    hopeless: usize,
    /// Ended in another way than on the board or by a flag.
    odd: Vec<String>,
    /// Of what was left to think with, in percent: unused at the end, by game.
    unused: Vec<f64>,
    /// What was left on the clock when the game was over, in seconds.
    left: Vec<f64>,
    plies: usize,
    memory_mib: u64,
}

fn bad_line() -> [FaultRule; 2] {
    let ms = Duration::from_millis;
    let latency = |min, jitter| FaultRule {
        times: usize::MAX,
        ..FaultRule::new(Fault::Latency(Latency { min, jitter })).from_user(BOT)
    };
    [
        latency(ms(50), ms(200)),
        FaultRule {
            probability: Some(0.02),
            endpoint: Some(Endpoint::Move),
            ..latency(ms(1_000), ms(0))
        },
    ]
}

impl Match {
    fn play(&self) -> Tally {
        let site = Site::with(SimOptions {
            users: vec![NewUser::bot(BOT)],
            speed: self.speed,
            seed: 1,
            kept_games: self.games + 10,
            faults: match self.bad_line {
                true => bad_line().to_vec(),
                false => Vec::new(),
            },
            ..SimOptions::default()
        });
        let bot = Daemon::start_with(
            &site,
            &format!(
                "games = {{ concurrency = {} }}\nresign = {{ enabled = false }}\n[engine]\nhash_mib = 16\nthreads = 2\n",
                self.at_once
            ),
            &["--time-scale", &self.speed.to_string()],
        );
        let players = self.at_once.min(self.games);
        for number in 0..players {
            let count = self.games / players + usize::from(number < self.games % players);
            let plan = ChallengePlan {
                count: Some(count),
                ..ChallengePlan::against(BOT, TimeControl::clock(self.seconds, 0))
            };
            site.sim.add_player(PlayerOptions {
                delay: Duration::from_millis(20)..=Duration::from_millis(120),
                ..PlayerOptions::new(format!("Quickly{number}"), self.opponents).challenging(plan)
            });
        }
        let began = Instant::now();
        let finished = site.sim.finished_count();
        let mut tally = Tally::default();
        while *finished.borrow() < self.games {
            assert!(began.elapsed() < PATIENCE, "{} games", *finished.borrow());
            tally.memory_mib = tally.memory_mib.max(bot.memory_mib());
            std::thread::sleep(Duration::from_millis(20));
        }
        for game in site.sim.games() {
            tally.count(&game);
        }
        tally
    }
}

impl Tally {
    fn count(&mut self, game: &GameSummary) {
        let bot = usize::from(game.black == BOT);
        let lost = game.result == ["0-1", "1-0"][bot];
        let TimeControl::Clock { limit, .. } = game.time_control else {
            return self.odd.push(game.to_string());
        };
        let initial = f64::from(limit);
        let held_up = game.fault_delay[bot].as_secs_f64();
        let left = game.time_left[bot].map_or(0.0, |left| left.as_secs_f64());
        self.games += 1;
        self.plies += game.plies;
        self.left.push(left);
        self.unused
            .push(100.0 * left / (initial - held_up).max(1.0));
        match game.status {
            "outoftime" if lost && held_up >= HOPELESS * initial => self.hopeless += 1,
            "outoftime" if lost => self.flags.push(format!("{game}: {held_up:.1} s held up")),
            "mate" | "draw" | "stalemate" | "outoftime" | "resign"
                if !lost || game.status == "mate" => {}
            _ => self.odd.push(game.to_string()),
        }
    }

    /// In one line.
    fn text(&self) -> String {
        let games = self.games.max(1) as f64;
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / games;
        format!(
            "{} games, {:.0} plies: {} flags, {} where delays took 70 % of the clock; left at the end {:.1} s, {:.0} % of \
             what there was to think with; {} MiB",
            self.games,
            self.plies as f64 / games,
            self.flags.len(),
            self.hopeless,
            mean(&self.left),
            mean(&self.unused),
            self.memory_mib
        )
    }

    fn is_clean(&self) {
        assert_eq!(self.flags, [""; 0], "{}", self.text());
        assert_eq!(self.odd, [""; 0], "{}", self.text());
        // These excuse nothing if they are many.
        assert!(20 * self.hopeless <= self.games, "{}", self.text());
    }
}

fn asked(name: &str, default: usize) -> usize {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn no_flag_falls_over_a_bad_line_in_a_few_games() {
    let tally = Match {
        opponents: PlayerKind::Greedy,
        seconds: 30,
        games: 8,
        at_once: 4,
        bad_line: true,
        speed: 3.0,
    }
    .play();
    assert_eq!(tally.games, 8);
    tally.is_clean();
}

#[test]
#[ignore = "minutes: see the text above"]
fn no_flag_falls_over_a_bad_line() {
    // Greedy users are soon mated; against our own engine games are long.
    let opponents = match asked("KNIGHTWATCH_CLOCK_NODES", 0) {
        0 => PlayerKind::Greedy,
        nodes => PlayerKind::Engine {
            nodes: nodes as u64,
        },
    };
    let tallies = [60, 30].map(|seconds| {
        let tally = Match {
            opponents,
            seconds,
            games: asked("KNIGHTWATCH_CLOCK_GAMES", 500),
            at_once: asked("KNIGHTWATCH_CLOCK_AT_ONCE", 16),
            bad_line: true,
            speed: asked("KNIGHTWATCH_CLOCK_SPEED", 2) as f64,
        }
        .play();
        println!("{seconds}+0: {}", tally.text());
        tally.flags.iter().for_each(|flag| println!("{flag}"));
        tally
    });
    tallies.iter().for_each(Tally::is_clean);
}

#[test]
#[ignore = "minutes: see the text above"]
fn no_flag_falls_in_many_games_on_few_cores() {
    for (seconds, at_once) in [(60, 32), (30, 8)] {
        let tally = Match {
            opponents: PlayerKind::Greedy,
            seconds,
            games: 4 * at_once,
            at_once,
            bad_line: false,
            speed: 1.0,
        }
        .play();
        println!("{at_once} at once, {seconds}+0: {}", tally.text());
        tally.is_clean();
    }
}
