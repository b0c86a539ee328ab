//! How much memory many games at once take: what the README says, and not more.

use std::time::Duration;

use knightwatch::sim::{ChallengePlan, NewUser, PlayerKind, PlayerOptions, TimeControl};

use crate::common::{BOT, Daemon, Site, wait};

/// As many as anybody plays at once.
const GAMES: usize = 32;

/// The size of the hash table, which is what the operator chooses.
const HASH_MIB: u64 = 32;

/// The program with all that is not its hash table, and each search that is on at once beyond the threads asked for.
const PROGRAM_MIB: u64 = 64;
const SEARCH_MIB: u64 = 4;

#[test]
fn many_games_at_once_stay_within_what_the_readme_says() {
    let readme = include_str!("../../README.md");
    for figure in [
        format!("{PROGRAM_MIB} MiB for the program"),
        format!("{SEARCH_MIB} MiB for each"),
    ] {
        assert!(readme.contains(&figure), "{figure}");
    }
    let site = Site::new([NewUser::human("Nobody")]);
    let config = format!(
        "games = {{ concurrency = {GAMES} }}\n[engine]\nhash_mib = {HASH_MIB}\nthreads = 2\n"
    );
    let mut bot = Daemon::start(&site, &config);
    // Who moves at once leaves it to us to think, in all games at the same time.
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
        HASH_MIB + PROGRAM_MIB + GAMES as u64 * SEARCH_MIB,
    );
    println!(
        "{peak} MiB at most with {GAMES} games, {HASH_MIB} MiB of hash among it; {bound} is the bound"
    );
    assert!(peak > HASH_MIB && peak <= bound, "{peak} of {bound} MiB");
    assert!(bot.leave().success());
}
