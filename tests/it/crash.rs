//! Repeated kills of the process at random times: every game continues after the restart.
//!
//! Eight games run at once. Times and opponents follow a seed. The short form runs with the other tests, the long one of 200
//! kills only on request:
//!
//! ```text
//! KNIGHTWATCH_KILLS=200 KNIGHTWATCH_KILLS_SEED=7 cargo test --release --test it -- --ignored crash::
//! ```

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use knightwatch::sim::{
    ChallengePlan, GameSummary, NewUser, PlayerKind, PlayerOptions, SimOptions, TimeControl,
};

use crate::common::{BOT, Daemon, Site, wait};

/// Simultaneous games.
const GAMES: usize = 8;

/// Maximum time from the start of a process until it has opened the stream of a running game.
const MAX_RESUME_TIME: Duration = Duration::from_secs(2);

/// Maximum time for a move, of which the search takes a tenth of a second.
const MAX_MOVE_TIME: Duration = Duration::from_secs(3);

/// A built-in player who always has a game with the bot. The clock is long enough that no game is lost on time while the
/// process starts on a slow machine.
fn partner(number: usize) -> PlayerOptions {
    let ms = Duration::from_millis;
    PlayerOptions {
        bot: number.is_multiple_of(2),
        delay: ms(20)..=ms(600),
        ..PlayerOptions::new(
            format!("Partner{number}"),
            if number < 4 {
                PlayerKind::Random
            } else {
                PlayerKind::Greedy
            },
        )
        .challenging(ChallengePlan::against(BOT, TimeControl::clock(60, 1)))
    }
}

/// Returns whether it is the bot's turn.
fn is_ours(game: &GameSummary) -> bool {
    game.plies.is_multiple_of(2) == (game.white == BOT)
}

/// Running games by id.
fn running_games(site: &Site) -> BTreeMap<String, GameSummary> {
    let games = site.sim.games().into_iter();
    games
        .filter(|game| game.status == "started")
        .map(|game| (game.id.clone(), game))
        .collect()
}

/// Cost of the kills.
#[derive(Debug, Default)]
struct Cost {
    kills: usize,
    /// From each start to the move, for every game on our turn at the start.
    waits: Vec<Duration>,
    /// From each start to the new game stream, by the log.
    reopened: Vec<Duration>,
    /// Moves that the site refused because the previous process had made them.
    refused: usize,
}

impl Cost {
    fn max(waits: &[Duration]) -> Duration {
        waits.iter().copied().max().unwrap_or_default()
    }

    fn median(waits: &[Duration]) -> Duration {
        let mut waits = waits.to_vec();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied().unwrap_or_default()
    }
}

/// Deletes the saved quotas, so that restarts do not wait for the limit of 30 event streams in ten minutes.
fn delete_quota_files(bot: &Daemon) {
    let files = std::fs::read_dir(bot.state()).into_iter().flatten();
    for file in files.flatten().map(|file| file.path()) {
        if file.to_string_lossy().ends_with(".quota.json") {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn run_kills(kills: usize, seed: u64) -> Cost {
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        seed,
        kept_games: 10_000,
        ..SimOptions::default()
    });
    // A short search, since the waits include it.
    let config =
        format!("games = {{ concurrency = {GAMES} }}\n[[rule]]\nplay = {{ max_move_ms = 100 }}\n");
    let mut bot = Daemon::start(&site, &config);
    (0..GAMES).for_each(|number| site.sim.add_player(partner(number)));
    let mut cost = Cost::default();
    for _ in 0..kills {
        wait("eight games are running", || {
            (running_games(&site).len() == GAMES).then_some(())
        });
        std::thread::sleep(Duration::from_millis(rng.u64(0..1_500)));
        let log_length = bot.log().len();
        delete_quota_files(&bot);
        bot.crash_and_restart();
        let start = Instant::now();
        cost.kills += 1;
        let mut lost = running_games(&site);
        let mut on_our_turn = lost.clone();
        on_our_turn.retain(|_, game| is_ours(game));
        wait("the games continue", || {
            let games = site.sim.games();
            on_our_turn.retain(|id, before| {
                let now = games.iter().find(|game| game.id == *id);
                let moved = now.is_none_or(|now| now.plies > before.plies);
                if moved {
                    cost.waits.push(start.elapsed());
                }
                !moved
            });
            if !lost.is_empty() {
                let log = bot.log();
                let log = &log[log_length..];
                let running = running_games(&site);
                lost.retain(|id, _| {
                    let found = log.contains(&format!("stream open game={id}"));
                    if found {
                        cost.reopened.push(start.elapsed());
                    }
                    !found && running.contains_key(id)
                });
            }
            (on_our_turn.is_empty() && lost.is_empty()).then_some(())
        });
    }
    let ended = bot.stop();
    assert!(ended.success(), "{ended:?}: {}", bot.log());
    let log = bot.log();
    assert!(!log.contains("panicked"), "{log}");
    cost.refused = log.matches("posting the move failed").count();
    for game in site.sim.games() {
        let lost = game.result == if game.white == BOT { "0-1" } else { "1-0" };
        let fault = lost && game.status != "mate"
            || ["aborted", "noStart", "created"].contains(&game.status);
        assert!(!fault, "{game}");
    }
    println!(
        "seed {seed}: {} kills, {} games; {} streams reopened within {:.1?} (median {:.1?}); games on our turn at a start: {}, \
         moved within {:.1?} (median {:.1?}), search included; {} moves refused",
        cost.kills,
        site.sim.games().len(),
        cost.reopened.len(),
        Cost::max(&cost.reopened),
        Cost::median(&cost.reopened),
        cost.waits.len(),
        Cost::max(&cost.waits),
        Cost::median(&cost.waits),
        cost.refused,
    );
    cost
}

#[test]
fn crash_few_kills_resume_games() {
    let cost = run_kills(6, 2026);
    assert!(!cost.waits.is_empty(), "no game was on our turn: {cost:?}");
    let most = cost.kills * GAMES;
    assert!(cost.reopened.len() > most / 2, "{cost:?}");
    // Other tests share the machine.
    assert!(Cost::max(&cost.reopened) < 10 * MAX_RESUME_TIME, "{cost:?}");
}

#[test]
#[ignore = "takes minutes"]
fn crash_many_kills_resume_games() {
    let number = |name: &str, default| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let kills = number("KNIGHTWATCH_KILLS", 200) as usize;
    let cost = run_kills(kills, number("KNIGHTWATCH_KILLS_SEED", 7));
    assert!(Cost::max(&cost.reopened) < MAX_RESUME_TIME, "{cost:?}");
    assert!(
        Cost::max(&cost.waits) < MAX_RESUME_TIME + MAX_MOVE_TIME,
        "{cost:?}"
    );
}
