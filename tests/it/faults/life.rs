//! What happens to the bot itself, and how its games come and go.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use knightwatch::sim::{Endpoint, Fault, NewUser, Rule, Script, SimOptions, Sparring};

use super::{CLOCK, ms, seconds, within};
use crate::common::{BOT, Daemon, Site, scale_from_now, visits_of, wait};
use crate::games::{bot_mates, lost};

/// Whom these scripts are for.
const TESTER: &str = "Tester";

/// A site as the script describes it, with the bot and Anna beside; its sparring users move as fast as this.
fn stage(script: &str, speed: f64, delay: Option<RangeInclusive<Duration>>) -> Site {
    let script = Script::load(script).unwrap();
    let mut users = script.users;
    users.extend([NewUser::bot(BOT), NewUser::bot("Anna")]);
    let site = Site::with(SimOptions {
        users,
        faults: script.faults,
        speed,
        ..SimOptions::default()
    });
    for mut sparring in script.sparring {
        if let Some(delay) = &delay {
            sparring.delay = delay.clone();
        }
        site.sim.spar(sparring);
    }
    site
}

/// The bot that the script is for.
fn tester(site: &Site, speed: f64, config: &str, arguments: &[&str]) -> Daemon {
    let speed = scale_from_now(speed);
    let mut all = vec!["--time-scale", &speed];
    all.extend(arguments);
    Daemon::start_as(site, TESTER, config, &all)
}

/// A challenge of the account itself that nobody answers.
fn challenge_statue(site: &Site, name: &str, followed: &str) {
    let form = [CLOCK[0], CLOCK[1], ("keepAliveStream", followed)];
    let (status, answer) = site.player(name).post("/api/challenge/Statue", &form);
    assert_eq!(
        (status, &answer["status"]),
        (200, &"created".into()),
        "{answer}"
    );
}

/// Ten moves of a bot whose engine fails after so many nodes; on this clock each would take most of a minute.
fn panics(nodes: &str) -> Vec<Duration> {
    let site = stage("F13", 1.0, Some(Duration::ZERO..=Duration::ZERO));
    let bot = tester(
        &site,
        1.0,
        "book = { enabled = false }",
        &["--engine-panics", nodes],
    );
    let game = site.started(1).remove(0);
    let game = wait("the game is long or over", || {
        let game = site.game(&game.id)?;
        (game.plies >= 20 || game.status != "started").then_some(game)
    });
    assert!(["started", "mate"].contains(&game.status), "{game:?}");
    // The log is written beside the game.
    wait("the engine has panicked", || {
        let panics = bot.log().matches("on purpose, as a rehearsal").count();
        (panics >= 8).then_some(())
    });
    let visits = visits_of(&site, TESTER, Endpoint::Move);
    visits
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect()
}

#[test]
fn f13_when_the_engine_panics_a_legal_move_is_made_at_once() {
    for nodes in ["0", "5000"] {
        let took = panics(nodes);
        within(ms(250), "F13, moves of an engine that panics", &took);
    }
}

#[test]
fn f14_a_challenge_that_ends_without_a_word_holds_nothing_up() {
    let site = stage("F14", 1.0, None);
    let _bot = Daemon::start(&site, "games = { concurrency = 1 }");
    challenge_statue(&site, BOT, "true");
    // It takes no place, and the next game is played.
    let anna = site.player("Anna");
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
}

#[test]
fn f15_a_pending_challenge_delays_nothing() {
    let site = stage("F15", 1.0, None);
    // Nor does a yes of ours that does not get through.
    let stall = Fault::Stall(seconds(600));
    site.sim
        .faults()
        .add(Rule::on(Endpoint::ChallengeAccept, stall).of_user(TESTER));
    let _bot = tester(&site, 1.0, "", &[]);
    challenge_statue(&site, TESTER, "false");
    let form = [CLOCK[0], CLOCK[1], ("color", "white")];
    let (status, _) = site
        .player("Anna")
        .post(&format!("/api/challenge/{TESTER}"), &form);
    assert_eq!(status, 200);
    wait("our yes hangs", || {
        visits_of(&site, TESTER, Endpoint::ChallengeAccept).pop()
    });
    site.sim.advance(seconds(30));
    let began = site.sim.elapsed();
    let moved = wait("we have moved", || {
        visits_of(&site, TESTER, Endpoint::Move).first().cloned()
    });
    within(
        seconds(2),
        "F15, our first move beside a pending challenge",
        &[moved.at.saturating_sub(began)],
    );
}

#[test]
fn f16_games_are_played_out_within_the_grace() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    site.sim.spar(Sparring {
        delay: ms(200)..=ms(200),
        ..lost("Randy")
    });
    let game = site.started(1).remove(0);
    site.plies(&game.id, 1);
    bot.signal("TERM");
    wait("it finishes the game", || {
        bot.log().contains("finishing 1 game,").then_some(())
    });
    let anna = site.player("Anna");
    assert_eq!(anna.answer(&anna.challenge(&CLOCK)), "later");
    bot_mates(&site);
    assert_eq!(bot.ended().code(), Some(0));
}

#[test]
fn f16_what_outlasts_the_grace_is_left_and_taken_up_again() {
    let site = stage("F16", 4.0, None);
    let config = "daemon = { grace_s = 6, listen = \"\", socket = \"control.sock\" }";
    let mut bot = tester(&site, 4.0, config, &[]);
    for game in site.started(2) {
        site.plies(&game.id, 4);
    }
    bot.signal("TERM");
    let told = Instant::now();
    assert_eq!(bot.ended().code(), Some(0), "{}", bot.log());
    println!(
        "F16, ended {:.1?} of the wall after SIGTERM with a grace of 1.5 s",
        told.elapsed()
    );
    assert!(told.elapsed() < seconds(20));
    assert!(
        bot.log().contains("leaving with 2 games on"),
        "{}",
        bot.log()
    );
    let left = site.sim.games();
    assert!(left.iter().all(|game| game.status == "started"), "{left:?}");
    let mut ids: Vec<&str> = left.iter().map(|game| game.id.as_str()).collect();
    ids.sort_unstable();
    let told = format!(
        "stopped: 2 games left on, taken up again at the next start: {}",
        ids.join(", ")
    );
    assert!(bot.log().contains(&told), "{}", bot.log());
    bot.crash_and_restart();
    for game in left {
        site.plies(&game.id, game.plies + 4);
    }
}

#[test]
fn f17_games_beyond_the_wanted_number_are_played() {
    let site = stage("F17", 4.0, None);
    let bot = tester(&site, 4.0, "games = { concurrency = 1 }", &[]);
    site.sim.advance(seconds(21));
    for game in site.started(4) {
        let game = site.plies(&game.id, 10);
        assert!(["started", "mate"].contains(&game.status), "{game:?}");
    }
    assert!(
        bot.log()
            .contains("beyond the configured 1; all games get less time"),
        "{}",
        bot.log()
    );
}
