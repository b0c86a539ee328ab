//! Short clocks: with bad latency, and with many games at once on few cores.
//!
//! The short versions run with the other tests; the long ones on request:
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

/// If delays took this part of the clock or more, thinking less cannot save the game.
const HOPELESS_DELAY_SHARE: f64 = 0.7;

/// Time limit of a match, in real time.
const MATCH_TIMEOUT: Duration = Duration::from_secs(3_600);

/// A match of the bot against users who reply quickly.
struct Match {
    opponents: PlayerKind,
    /// Seconds per clock, without increment.
    seconds: u32,
    games: usize,
    concurrency: usize,
    /// Bad latency: 150 ms each way, plus or minus 100, and a second more for one request in fifty.
    bad_latency: bool,
    speed: f64,
}

/// Result of a match.
#[derive(Debug, Default)]
struct MatchResult {
    games: usize,
    /// Lost on time although there was enough of it.
    time_losses: Vec<String>,
    /// Lost on time when delays took most of the clock.
    hopeless: usize,
    /// Ended otherwise than on the board or on time.
    unexpected: Vec<String>,
    /// Unused part of the time that was available for thinking, in percent, by game.
    unused: Vec<f64>,
    /// Our clock at the end, in seconds, by game.
    left: Vec<f64>,
    plies: usize,
    memory_mib: u64,
}

fn bad_latency() -> [FaultRule; 2] {
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
    fn play(&self) -> MatchResult {
        let site = Site::with(SimOptions {
            users: vec![NewUser::bot(BOT)],
            speed: self.speed,
            seed: 1,
            kept_games: self.games + 10,
            faults: match self.bad_latency {
                true => bad_latency().to_vec(),
                false => Vec::new(),
            },
            ..SimOptions::default()
        });
        let bot = Daemon::start_with(
            &site,
            &format!(
                "games = {{ concurrency = {} }}\nresign = {{ enabled = false }}\n[engine]\nhash_mib = 16\nthreads = 2\n",
                self.concurrency
            ),
            &["--time-scale", &self.speed.to_string()],
        );
        let players = self.concurrency.min(self.games);
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
        let mut result = MatchResult::default();
        while *finished.borrow() < self.games {
            assert!(
                began.elapsed() < MATCH_TIMEOUT,
                "{} games",
                *finished.borrow()
            );
            result.memory_mib = result.memory_mib.max(bot.memory_mib());
            std::thread::sleep(Duration::from_millis(20));
        }
        for game in site.sim.games() {
            result.count(&game);
        }
        result
    }
}

impl MatchResult {
    fn count(&mut self, game: &GameSummary) {
        let bot = usize::from(game.black == BOT);
        let lost = game.result == ["0-1", "1-0"][bot];
        let TimeControl::Clock { limit, .. } = game.time_control else {
            return self.unexpected.push(game.to_string());
        };
        let initial = f64::from(limit);
        let delayed = game.fault_delay[bot].as_secs_f64();
        let left = game.time_left[bot].map_or(0.0, |left| left.as_secs_f64());
        self.games += 1;
        self.plies += game.plies;
        self.left.push(left);
        self.unused
            .push(100.0 * left / (initial - delayed).max(1.0));
        match game.status {
            "outoftime" if lost && delayed >= HOPELESS_DELAY_SHARE * initial => self.hopeless += 1,
            "outoftime" if lost => self
                .time_losses
                .push(format!("{game}: {delayed:.1} s held up")),
            "mate" | "draw" | "stalemate" | "outoftime" | "resign"
                if !lost || game.status == "mate" => {}
            _ => self.unexpected.push(game.to_string()),
        }
    }

    /// One-line summary.
    fn describe(&self) -> String {
        let games = self.games.max(1) as f64;
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / games;
        format!(
            "{} games, {:.0} plies: {} time_losses, {} where delays took 70 % of the clock; left at the end {:.1} s, {:.0} % of \
             what there was to think with; {} MiB",
            self.games,
            self.plies as f64 / games,
            self.time_losses.len(),
            self.hopeless,
            mean(&self.left),
            mean(&self.unused),
            self.memory_mib
        )
    }

    fn assert_clean(&self) {
        assert_eq!(self.time_losses, [""; 0], "{}", self.describe());
        assert_eq!(self.unexpected, [""; 0], "{}", self.describe());
        // Only a few games may be excused.
        assert!(20 * self.hopeless <= self.games, "{}", self.describe());
    }
}

fn env_number(name: &str, default: usize) -> usize {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn bad_latency_loses_no_game_on_time() {
    let result = Match {
        opponents: PlayerKind::Greedy,
        seconds: 30,
        games: 8,
        concurrency: 4,
        bad_latency: true,
        speed: 2.0,
    }
    .play();
    assert_eq!(result.games, 8);
    result.assert_clean();
}

#[test]
#[ignore = "minutes: see the text above"]
fn bad_latency_loses_no_game_on_time_in_a_long_match() {
    // Greedy users are mated soon; games against Knightwatch are long.
    let opponents = match env_number("KNIGHTWATCH_CLOCK_NODES", 0) {
        0 => PlayerKind::Greedy,
        nodes => PlayerKind::Engine {
            nodes: nodes as u64,
        },
    };
    let results = [60, 30].map(|seconds| {
        let result = Match {
            opponents,
            seconds,
            games: env_number("KNIGHTWATCH_CLOCK_GAMES", 500),
            concurrency: env_number("KNIGHTWATCH_CLOCK_AT_ONCE", 16),
            bad_latency: true,
            speed: env_number("KNIGHTWATCH_CLOCK_SPEED", 2) as f64,
        }
        .play();
        println!("{seconds}+0: {}", result.describe());
        result
            .time_losses
            .iter()
            .for_each(|flag| println!("{flag}"));
        result
    });
    results.iter().for_each(MatchResult::assert_clean);
}

#[test]
#[ignore = "minutes: see the text above"]
fn many_games_on_few_cores_lose_none_on_time() {
    for (seconds, concurrency) in [(60, 32), (30, 8)] {
        let result = Match {
            opponents: PlayerKind::Greedy,
            seconds,
            games: 4 * concurrency,
            concurrency,
            bad_latency: false,
            speed: 1.0,
        }
        .play();
        println!("{concurrency} at once, {seconds}+0: {}", result.describe());
        result.assert_clean();
    }
}
