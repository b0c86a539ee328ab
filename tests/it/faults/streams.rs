//! Faults of event and game streams.

use std::time::Duration;

use knightwatch::sim::{
    ChallengePlan, ColorChoice, Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions,
    Script, SimOptions, StreamFault, TimeControl,
};

use super::{
    BookGame, CLOCK, Scenario, assert_median_within, assert_waits_within, ms, seconds, waits,
};
use crate::common::{BOT, Daemon, Site, requests_of, wait};

/// The logged waits before a game stream is reopened.
fn reopen_waits(game: &BookGame) -> Vec<Duration> {
    waits(&game.bot.log(), "game stream lost; reopening in ")
}

#[test]
fn f06_ended_game_stream_reopens_within_500_ms() {
    let game = BookGame::start(Scenario::new("F6"));
    game.play_to(31);
    let opened = game.requests(Endpoint::GameStream);
    // The second stream is cut in the line after the twelfth ply.
    let took = [
        opened[1].at.saturating_sub(game.move_time(6)),
        opened[2].at.saturating_sub(game.move_time(13)),
    ];
    assert_waits_within(ms(500), "F6", &reopen_waits(&game));
    assert_median_within(ms(500), "F6, an ended game stream", &took);
    assert_eq!((opened.len(), game.requests(Endpoint::Move).len()), (3, 16));
}

#[test]
fn f06_game_stream_429_wait_is_capped_by_clock() {
    let end = Fault::Stream {
        after_lines: 6,
        fault: StreamFault::Eof,
    };
    // Two 429 of a proxy normally mean a minute's wait.
    let rejected = |nth| {
        FaultRule::on(Endpoint::GameStream, Fault::html(429))
            .from_user(BOT)
            .nth(nth)
    };
    let game = BookGame::start(Scenario {
        faults: vec![
            FaultRule::on(Endpoint::GameStream, end)
                .from_user(BOT)
                .nth(1),
            rejected(2),
            rejected(3),
        ],
        clock: [("clock.limit", "60"), ("clock.increment", "0")],
        speed: 2.0,
        ..Scenario::new("")
    });
    game.play_to(31);
    let decisions = waits(&game.bot.log(), "cannot open the game stream; retrying in ");
    assert_eq!(decisions.len(), 2);
    assert_waits_within(seconds(2), "F6, 429 on a game stream", &decisions);
    assert_eq!(game.requests(Endpoint::GameStream).len(), 4);
}

#[test]
fn f07_reset_game_stream_reopens_within_500_ms() {
    let game = BookGame::start(Scenario::new("F7"));
    game.play_to(31);
    let opened = game.requests(Endpoint::GameStream);
    assert_waits_within(ms(500), "F7", &reopen_waits(&game));
    assert_median_within(
        ms(500),
        "F7, a reset game stream",
        &[opened[1].at.saturating_sub(game.move_time(6))],
    );
    assert_eq!((opened.len(), game.requests(Endpoint::Move).len()), (2, 16));
}

#[test]
fn f08_silent_game_stream_is_detected_within_9_s() {
    let game = BookGame::start(Scenario {
        bot_is_white: false,
        speed: 4.0,
        ..Scenario::new("F8")
    });
    // The sixth ply, the bot's own, is the last line that it receives.
    game.play_to(20);
    let silences = waits(&game.bot.log(), "the stream was silent for ");
    assert_waits_within(seconds(9), "F8", &silences);
    let took = game.requests(Endpoint::GameStream)[1].at - game.move_time(6);
    assert_median_within(seconds(18), "F8, a silent game stream", &[took]);
    assert_eq!(game.requests(Endpoint::Move).len(), 10);
}

#[test]
fn f08_silent_game_stream_is_detected_sooner_on_short_clock() {
    let game = BookGame::start(Scenario {
        bot_is_white: false,
        clock: [("clock.limit", "0"), ("clock.increment", "3")],
        ..Scenario::new("F8")
    });
    game.play_to(12);
    // The bot asks after a second and sees the move within a quarter of one; its clock has about nine.
    let took = game.move_time(8) - game.move_time(7);
    assert_median_within(
        seconds(3),
        "F8, a silent stream with 9 s on the clock",
        &[took],
    );
    assert!(
        game.bot.log().contains("Lichess waits for our move"),
        "{}",
        game.bot.log()
    );
}

#[test]
fn f08_stream_stays_open_while_queries_are_limited() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        ..SimOptions::default()
    });
    let _bot = Daemon::start(&site, "");
    let limit = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":60}}"#;
    let limited = FaultRule::on(Endpoint::Playing, Fault::json(429, limit)).from_user(BOT);
    site.sim.faults().add(limited.times(usize::MAX));
    let plan = ChallengePlan {
        count: Some(1),
        colors: vec![ColorChoice::White],
        ..ChallengePlan::against(BOT, TimeControl::clock(15, 6))
    };
    // It thinks for so long that the bot asks whose turn it is.
    site.sim.add_player(PlayerOptions {
        delay: seconds(5)..=seconds(5),
        ..PlayerOptions::new("Thinker", PlayerKind::Random).challenging(plan)
    });
    let game = site.started(1).remove(0);
    site.plies(&game.id, 5);
    let requests = requests_of(&site, BOT, Endpoint::Playing);
    let limited = requests.iter().filter(|request| request.faulted).count();
    assert_eq!(limited, 1);
    assert_eq!(requests_of(&site, BOT, Endpoint::GameStream).len(), 1);
}

/// A site with this script, the bot and Anna.
fn start(script: &str, speed: f64) -> (Site, Daemon) {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        faults: Script::load(script).unwrap().faults,
        speed,
        ..SimOptions::default()
    });
    let bot = Daemon::start_with(&site, "", &["--time-scale", &speed.to_string()]);
    (site, bot)
}

/// Advances to the next fault of the script; returns the time until the bot reopened its event stream.
fn time_offline(site: &Site, by: Duration) -> Duration {
    let opened = || requests_of(site, BOT, Endpoint::EventStream);
    let before = opened().len();
    site.sim.advance(by);
    let cut = site.sim.elapsed();
    // No event in between is missed.
    site.player("Anna").start(&CLOCK);
    let back = wait("the stream is open again", || opened().get(before).cloned());
    back.at.saturating_sub(cut)
}

#[test]
fn f09_ended_event_stream_reopens_within_2_s() {
    let (site, bot) = start("F9", 1.0);
    let took = [
        time_offline(&site, seconds(20)),
        time_offline(&site, seconds(60)),
    ];
    assert_waits_within(
        seconds(2),
        "F9",
        &waits(&bot.log(), "offline; reconnecting in "),
    );
    assert_median_within(seconds(2), "F9, an ended event stream", &took);
}

#[test]
fn f09_game_started_while_offline_is_played() {
    let site = Site::new([NewUser::bot("Patience")]);
    site.sim
        .add_player(PlayerOptions::new("Patience", PlayerKind::Random));
    let bot = Daemon::start(&site, "");
    let faults = site.sim.faults();
    faults.add(FaultRule {
        endpoint: Some(Endpoint::EventStream),
        times: usize::MAX,
        ..FaultRule::new(Fault::html(502))
    });
    let after = |wait, fault| FaultRule {
        at: Some(site.sim.elapsed() + wait),
        ..FaultRule::new(fault)
    };
    let cut = Fault::Stream {
        after_lines: 0,
        fault: StreamFault::Reset,
    };
    faults.add(after(ms(1), cut));
    wait("the event stream is closed", || {
        bot.log().contains("502").then_some(())
    });
    faults.add(after(
        ms(1),
        Fault::Pair {
            players: ["Patience".to_owned(), BOT.to_owned()],
            clock: TimeControl::clock(180, 0),
        },
    ));
    let game = site.started(1).remove(0);
    site.plies(&game.id, 4);
}

#[test]
fn f10_silent_event_stream_is_detected_within_9_s() {
    let (site, bot) = start("F10", 4.0);
    let took = time_offline(&site, seconds(20));
    assert_waits_within(
        seconds(9),
        "F10",
        &waits(&bot.log(), "the stream was silent for "),
    );
    assert_waits_within(
        Duration::ZERO,
        "F10",
        &waits(&bot.log(), "offline; reconnecting in "),
    );
    assert_median_within(seconds(18), "F10, a silent event stream", &[took]);
}

#[test]
fn f11_reannounced_game_is_played_once() {
    let game = BookGame::start(Scenario::new("F11"));
    game.play_to(21);
    wait("the event stream is open again", || {
        game.requests(Endpoint::EventStream).get(1).cloned()
    });
    game.play_to(41);
    let requests = |endpoint| game.requests(endpoint).len();
    assert_eq!(
        (requests(Endpoint::GameStream), requests(Endpoint::Move)),
        (1, 21)
    );
    assert_eq!(
        game.bot.log().matches("playing White against").count(),
        1,
        "{}",
        game.bot.log()
    );
}

#[test]
fn f12_rejected_token_stops_bot() {
    let mut game = BookGame::start(Scenario {
        speed: 4.0,
        ..Scenario::new("F12")
    });
    game.play_to(7);
    game.site.sim.advance(seconds(20));
    assert_eq!(game.bot.ended().code(), Some(77), "{}", game.bot.log());
    assert!(
        game.bot.log().contains("Lichess rejects the token"),
        "{}",
        game.bot.log()
    );
    // It did not retry for long.
    let attempts = game.requests(Endpoint::EventStream).len();
    assert!(attempts <= 15, "{attempts}");
}

#[test]
fn f12_single_401_does_not_stop_bot() {
    let rejected = Fault::json(401, r#"{"error":"No such token"}"#);
    let game = BookGame::start(Scenario {
        faults: vec![
            FaultRule::on(Endpoint::Move, rejected)
                .from_user(BOT)
                .nth(3),
        ],
        ..Scenario::new("")
    });
    game.play_to(21);
    assert_median_within(seconds(2), "F12, a move that was 401", &game.resend_times());
}
