//! The bot's process ends without a word, again and again, at any moment: every game goes on after the restart.
//!
//! Eight games are on at once. Moments and opponents follow a seed. The short form runs with the other tests, the long
//! one of 200 kills is asked for:
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

/// Games at once.
const GAMES: usize = 8;

/// Time from the start of a process until it has found a game and is thinking about it.
const BAR: Duration = Duration::from_secs(2);

/// Longest time for a move with the clock of these games.
const THINKING: Duration = Duration::from_secs(3);

/// Somebody who always has a game with the bot on. The clock is so short that the bot thinks for a fraction of a second
/// about a move, and so long that no flag falls while the process starts on a slow machine.
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
        .challenging(ChallengePlan::against(BOT, TimeControl::clock(10, 1)))
    }
}

/// Whether it is the bot's turn.
fn is_ours(game: &GameSummary) -> bool {
    game.plies.is_multiple_of(2) == (game.white == BOT)
}

/// Running games by id.
fn on(site: &Site) -> BTreeMap<String, GameSummary> {
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
    found: Vec<Duration>,
    /// Moves that the site refused because the previous process had made them.
    refused: usize,
}

impl Cost {
    fn worst(waits: &[Duration]) -> Duration {
        waits.iter().copied().max().unwrap_or_default()
    }

    fn middle(waits: &[Duration]) -> Duration {
        let mut waits = waits.to_vec();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied().unwrap_or_default()
    }
}

/// Lichess opens 30 event streams in ten minutes. This test is about a process that does not have to wait for that.
fn forget_streams(bot: &Daemon) {
    let files = std::fs::read_dir(bot.state()).into_iter().flatten();
    for file in files.flatten().map(|file| file.path()) {
        if file.to_string_lossy().ends_with(".quota.json") {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn kill(kills: usize, seed: u64) -> Cost {
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        seed,
        kept_games: 10_000,
        ..SimOptions::default()
    });
    let config = format!("games = {{ concurrency = {GAMES} }}");
    let mut bot = Daemon::start(&site, &config);
    (0..GAMES).for_each(|number| site.sim.add_player(partner(number)));
    let mut cost = Cost::default();
    for _ in 0..kills {
        wait("eight games are on", || {
            (on(&site).len() == GAMES).then_some(())
        });
        std::thread::sleep(Duration::from_millis(rng.u64(0..1_500)));
        let told = bot.log().len();
        forget_streams(&bot);
        bot.crash_and_restart();
        let start = Instant::now();
        cost.kills += 1;
        let mut owed = on(&site);
        owed.retain(|_, game| is_ours(game));
        let mut lost = owed.clone();
        wait("the games go on", || {
            let games = site.sim.games();
            owed.retain(|id, before| {
                let now = games.iter().find(|game| game.id == *id);
                let moved = now.is_none_or(|now| now.plies > before.plies);
                if moved {
                    cost.waits.push(start.elapsed());
                }
                !moved
            });
            if !lost.is_empty() {
                let log = bot.log();
                let log = &log[told..];
                lost.retain(|id, _| {
                    let found = log.contains(&format!("stream open game={id}"));
                    if found {
                        cost.found.push(start.elapsed());
                    }
                    !found
                });
            }
            owed.is_empty().then_some(())
        });
    }
    let ended = bot.leave();
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
        "seed {seed}: {} kills, {} games; owed moves at a start: {}, found within {:.1?} (median {:.1?}), \
         made within {:.1?} (median {:.1?}), thinking included; {} moves refused",
        cost.kills,
        site.sim.games().len(),
        cost.waits.len(),
        Cost::worst(&cost.found),
        Cost::middle(&cost.found),
        Cost::worst(&cost.waits),
        Cost::middle(&cost.waits),
        cost.refused,
    );
    cost
}

#[test]
fn crash_few_kills_resume_games() {
    let cost = kill(6, 2026);
    assert!(!cost.waits.is_empty(), "no move was ever owed: {cost:?}");
    // Other tests share the machine.
    assert!(Cost::worst(&cost.found) < 10 * BAR, "{cost:?}");
}

#[test]
#[ignore = "takes minutes: see the text above"]
fn games_go_on_after_many_kills() {
    let number = |name: &str, default| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let kills = number("KNIGHTWATCH_KILLS", 200) as usize;
    let cost = kill(kills, number("KNIGHTWATCH_KILLS_SEED", 7));
    assert!(Cost::worst(&cost.found) < BAR, "{cost:?}");
    assert!(Cost::worst(&cost.waits) < BAR + THINKING, "{cost:?}");
}
