//! Memory use with many games, as documented in `docs/operations.md`.

use std::time::Duration;

use knightwatch::sim::{ChallengePlan, NewUser, PlayerKind, PlayerOptions, TimeControl};

use crate::common::{BOT, Daemon, Site, wait};

/// Simultaneous games: more than expected in practice.
const GAMES: usize = 32;

/// Size of the hash table, chosen by the operator.
const HASH_MIB: u64 = 32;

/// Search threads.
const THREADS: usize = 2;

/// Memory of the program without the hash table, and of each game and search thread.
const PROGRAM_MIB: u64 = 64;
const SEARCH_MIB: u64 = 5;

#[test]
fn memory_with_many_games_stays_within_documented_limit() {
    let page = include_str!("../../docs/operations.md");
    for figure in [
        format!("{PROGRAM_MIB} MiB for the program"),
        format!("{SEARCH_MIB} MiB for each running game and for each search thread"),
    ] {
        assert!(page.contains(&figure), "{figure}");
    }
    let site = Site::new([NewUser::human("Nobody")]);
    let config = format!(
        "games = {{ concurrency = {GAMES} }}\n[engine]\nhash_mib = {HASH_MIB}\nthreads = {THREADS}\n"
    );
    let mut bot = Daemon::start(&site, &config);
    // Opponents that reply at once keep the bot searching in all games at the same time.
    site.sim.add_player(PlayerOptions {
        copies: GAMES,
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new("Crowd", PlayerKind::Random)
            .challenging(ChallengePlan::against(BOT, TimeControl::clock(60, 1)))
    });
    wait("all games have gone on for a while", || {
        let games = site.sim.games();
        let on = games.iter().filter(|game| game.plies >= 10).count();
        (on >= GAMES).then_some(())
    });
    let (peak, bound) = (
        bot.peak_mib(),
        HASH_MIB + PROGRAM_MIB + (GAMES + THREADS) as u64 * SEARCH_MIB,
    );
    println!(
        "peak {peak} MiB with {GAMES} games, including {HASH_MIB} MiB of hash; limit {bound} MiB"
    );
    assert!(peak > HASH_MIB && peak <= bound, "{peak} of {bound} MiB");
    assert!(bot.stop().success());
}
