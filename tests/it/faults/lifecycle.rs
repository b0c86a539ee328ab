//! Faults of the bot itself, and of how games start and end.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use knightwatch::sim::{Endpoint, Fault, FaultRule, NewUser, Script, SimOptions};

use super::{CLOCK, assert_median_within, ms, seconds};
use crate::common::{BOT, Daemon, Site, requests_of, time_scale_from_now, wait};
use crate::games::{MATED_NEXT, bot_mates};

/// The bot's name in the scripts.
const TESTER: &str = "Tester";

/// A site with this script, the bot and Anna; `delay` overrides the time per move of built-in players.
fn start_site(script: &str, speed: f64, delay: Option<RangeInclusive<Duration>>) -> Site {
    let script = Script::load(script).unwrap();
    let mut users = script.users;
    users.extend([NewUser::bot(BOT), NewUser::bot("Anna")]);
    let site = Site::with(SimOptions {
        users,
        faults: script.faults,
        speed,
        ..SimOptions::default()
    });
    for mut player in script.players {
        if let Some(delay) = &delay {
            player.delay = delay.clone();
        }
        site.sim.add_player(player);
    }
    site
}

/// Starts the bot as the scripts' user.
fn start_tester(site: &Site, speed: f64, config: &str, arguments: &[&str]) -> Daemon {
    let speed = time_scale_from_now(speed);
    let mut all = vec!["--time-scale", &speed];
    all.extend(arguments);
    Daemon::start_as(site, TESTER, config, &all)
}

/// Sends a challenge of this account that is never answered.
fn challenge_silent_user(site: &Site, name: &str, keep_alive: &str) {
    let form = [CLOCK[0], CLOCK[1], ("keepAliveStream", keep_alive)];
    let (status, answer) = site.player(name).post("/api/challenge/Statue", &form);
    assert_eq!(
        (status, &answer["status"]),
        (200, &"created".into()),
        "{answer}"
    );
}

/// Intervals of ten moves of a bot whose engine panics after this many nodes; a search would take most of a minute.
fn move_intervals_with_panics(nodes: &str) -> Vec<Duration> {
    let site = start_site("F13", 1.0, Some(Duration::ZERO..=Duration::ZERO));
    let bot = start_tester(
        &site,
        1.0,
        "book = { enabled = false }",
        &["--engine-panics", nodes],
    );
    let game = site.started(1).remove(0);
    let game = site.plies_or_end(&game.id, 20);
    assert!(["started", "mate"].contains(&game.status), "{game:?}");
    // The log is written asynchronously.
    wait("the engine has panicked", || {
        let panics = bot.log().matches("panic injected by a test").count();
        (panics >= 8).then_some(())
    });
    let requests = requests_of(&site, TESTER, Endpoint::Move);
    requests
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect()
}

#[test]
fn f13_engine_panic_plays_legal_move_at_once() {
    for nodes in ["0", "5000"] {
        let took = move_intervals_with_panics(nodes);
        assert_median_within(ms(250), "F13, moves of an engine that panics", &took);
    }
}

#[test]
fn f14_challenge_stream_without_result_blocks_nothing() {
    let site = start_site("F14", 1.0, None);
    let _bot = Daemon::start(&site, "games = { concurrency = 1 }");
    challenge_silent_user(&site, BOT, "true");
    // It occupies no slot, and the next game is played.
    let anna = site.player("Anna");
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
}

#[test]
fn f15_pending_challenge_delays_nothing() {
    let site = start_site("F15", 1.0, None);
    // An accept that hangs does not delay anything either.
    let stall = Fault::Stall(seconds(600));
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::ChallengeAccept, stall).from_user(TESTER));
    let _bot = start_tester(&site, 1.0, "", &[]);
    challenge_silent_user(&site, TESTER, "false");
    let form = [CLOCK[0], CLOCK[1], ("color", "white")];
    let (status, _) = site
        .player("Anna")
        .post(&format!("/api/challenge/{TESTER}"), &form);
    assert_eq!(status, 200);
    wait("the accept hangs", || {
        requests_of(&site, TESTER, Endpoint::ChallengeAccept).pop()
    });
    site.sim.advance(seconds(30));
    let began = site.sim.elapsed();
    let moved = wait("the bot has moved", || {
        requests_of(&site, TESTER, Endpoint::Move).first().cloned()
    });
    assert_median_within(
        seconds(2),
        "F15, the first move with a pending challenge",
        &[moved.at.saturating_sub(began)],
    );
}

#[test]
fn f16_games_finish_within_grace_period() {
    let site = Site::new(["Anna", "Bert"].map(NewUser::bot));
    let mut bot = Daemon::start(&site, "");
    let bert = site.player("Bert");
    let id = bert.start(&MATED_NEXT);
    wait("it plays", || {
        bot.log().contains("playing Black against").then_some(())
    });
    bot.signal("TERM");
    wait("it finishes the game", || {
        bot.log().contains("finishing 1 game,").then_some(())
    });
    let anna = site.player("Anna");
    assert_eq!(anna.answer(&anna.challenge(&CLOCK)), "later");
    bert.play(&id, "h1g1");
    bot_mates(&site);
    assert_eq!(bot.ended().code(), Some(0));
}

#[test]
fn f16_games_beyond_grace_period_are_resumed() {
    let site = start_site("F16", 4.0, None);
    let config = "web.listen = \"\"\ndaemon = { grace_s = 6, socket = \"control.sock\" }";
    let mut bot = start_tester(&site, 4.0, config, &[]);
    for game in site.started(2) {
        site.plies(&game.id, 4);
    }
    bot.signal("TERM");
    let signaled_at = Instant::now();
    assert_eq!(bot.ended().code(), Some(0), "{}", bot.log());
    println!(
        "F16, exited {:.1?} after SIGTERM with a grace period of 1.5 s",
        signaled_at.elapsed()
    );
    assert!(signaled_at.elapsed() < seconds(20));
    assert!(
        bot.log().contains("exiting with 2 games running"),
        "{}",
        bot.log()
    );
    let left = site.sim.games();
    assert!(left.iter().all(|game| game.status == "started"), "{left:?}");
    let mut ids: Vec<&str> = left.iter().map(|game| game.id.as_str()).collect();
    ids.sort_unstable();
    let message = format!(
        "stopped: 2 games left on, taken up again at the next start: {}",
        ids.join(", ")
    );
    assert!(bot.log().contains(&message), "{}", bot.log());
    bot.crash_and_restart();
    for game in left {
        let game = site.plies_or_end(&game.id, game.plies + 4);
        assert!(["started", "mate"].contains(&game.status), "{game:?}");
    }
}

#[test]
fn f17_games_beyond_concurrency_are_played() {
    let site = start_site("F17", 4.0, None);
    let bot = start_tester(&site, 4.0, "games = { concurrency = 1 }", &[]);
    site.sim.advance(seconds(21));
    for game in site.started(4) {
        let game = site.plies_or_end(&game.id, 10);
        assert!(["started", "mate"].contains(&game.status), "{game:?}");
    }
    assert!(
        bot.log()
            .contains("1 running games are the most that games.concurrency allows"),
        "{}",
        bot.log()
    );
}
