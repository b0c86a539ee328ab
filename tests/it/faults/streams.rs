//! What happens to the streams on which the bot hears of its games.

use std::time::Duration;

use knightwatch::sim::{
    Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions, Script, SimOptions,
    StreamFault, TimeControl,
};

use super::{ByHeart, CLOCK, Setting, decided, ms, seconds, waits, within};
use crate::common::{BOT, Daemon, Site, requests_of, wait};

/// How long the bot allows itself until it opens a game's stream again.
fn before_opening_again(game: &ByHeart) -> Vec<Duration> {
    waits(&game.bot.log(), "game stream lost, back in ")
}

#[test]
fn f06_a_game_stream_that_ends_is_back_within_half_a_second() {
    let game = ByHeart::begin(Setting::of("F6"));
    game.play_to(31);
    let opened = game.visits(Endpoint::GameStream);
    // The second one breaks off in the line after the twelfth ply.
    let took = [
        opened[1].at.saturating_sub(game.made(6)),
        opened[2].at.saturating_sub(game.made(13)),
    ];
    decided(ms(500), "F6", &before_opening_again(&game));
    within(ms(500), "F6, a game's stream that ended", &took);
    assert_eq!((opened.len(), game.visits(Endpoint::Move).len()), (3, 16));
}

#[test]
fn f06_a_429_on_a_game_stream_waits_for_no_longer_than_our_clock_can_bear() {
    let end = Fault::Stream {
        after_lines: 6,
        fault: StreamFault::Eof,
    };
    // Turned away twice by a proxy, after which one stays away for a minute if there is no hurry.
    let turned_away = |nth| {
        FaultRule::on(Endpoint::GameStream, Fault::html(429))
            .from_user(BOT)
            .nth(nth)
    };
    let game = ByHeart::begin(Setting {
        faults: vec![
            FaultRule::on(Endpoint::GameStream, end)
                .from_user(BOT)
                .nth(1),
            turned_away(2),
            turned_away(3),
        ],
        clock: [("clock.limit", "60"), ("clock.increment", "0")],
        speed: 4.0,
        ..Setting::of("")
    });
    game.play_to(31);
    let decisions = waits(&game.bot.log(), "cannot open the game stream, again in ");
    assert_eq!(decisions.len(), 2);
    decided(seconds(2), "F6, 429 on a game's stream", &decisions);
    assert_eq!(game.visits(Endpoint::GameStream).len(), 4);
}

#[test]
fn f07_a_game_stream_that_is_reset_is_back_within_half_a_second() {
    let game = ByHeart::begin(Setting::of("F7"));
    game.play_to(31);
    let opened = game.visits(Endpoint::GameStream);
    decided(ms(500), "F7", &before_opening_again(&game));
    within(
        ms(500),
        "F7, a game's stream that was reset",
        &[opened[1].at.saturating_sub(game.made(6))],
    );
    assert_eq!((opened.len(), game.visits(Endpoint::Move).len()), (2, 16));
}

#[test]
fn f08_a_silent_game_stream_is_noticed_within_nine_seconds() {
    let game = ByHeart::begin(Setting {
        bot_is_white: false,
        speed: 4.0,
        ..Setting::of("F8")
    });
    // The sixth ply is the bot's own, the last thing that it hears.
    game.play_to(20);
    let silences = waits(&game.bot.log(), "the stream was silent for ");
    decided(seconds(9), "F8", &silences);
    let took = game.visits(Endpoint::GameStream)[1].at - game.made(6);
    within(seconds(18), "F8, a game's stream that fell silent", &[took]);
    assert_eq!(game.visits(Endpoint::Move).len(), 10);
}

#[test]
fn f08_a_silent_stream_costs_a_short_clock_less() {
    let game = ByHeart::begin(Setting {
        bot_is_white: false,
        clock: [("clock.limit", "0"), ("clock.increment", "3")],
        ..Setting::of("F8")
    });
    game.play_to(12);
    // Asked after a second, seen within a quarter of one; the clock had nine or so.
    let took = game.made(8) - game.made(7);
    within(
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

/// A site with this script, the bot, and Anna.
fn rehearse(script: &str, speed: f64) -> (Site, Daemon) {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        faults: Script::load(script).unwrap().faults,
        speed,
        ..SimOptions::default()
    });
    let bot = Daemon::start_with(&site, "", &["--time-scale", &speed.to_string()]);
    (site, bot)
}

/// Turns the site's clock to the next fault of the script; gives how long it took until the bot had its stream again.
fn away(site: &Site, by: Duration) -> Duration {
    let opened = || requests_of(site, BOT, Endpoint::EventStream);
    let before = opened().len();
    site.sim.advance(by);
    let cut = site.sim.elapsed();
    // Nothing that happens meanwhile is missed.
    site.player("Anna").start(&CLOCK);
    let back = wait("the stream is open again", || opened().get(before).cloned());
    back.at.saturating_sub(cut)
}

#[test]
fn f09_an_event_stream_that_ends_is_back_within_two_seconds() {
    let (site, bot) = rehearse("F9", 1.0);
    let took = [away(&site, seconds(20)), away(&site, seconds(60))];
    decided(seconds(2), "F9", &waits(&bot.log(), "offline, again in "));
    within(seconds(2), "F9, an event stream that ended", &took);
}

#[test]
fn f09_a_game_that_begins_while_the_event_stream_is_closed_is_played() {
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
    let soon = |wait, fault| FaultRule {
        at: Some(site.sim.elapsed() + wait),
        ..FaultRule::new(fault)
    };
    let cut = Fault::Stream {
        after_lines: 0,
        fault: StreamFault::Reset,
    };
    faults.add(soon(ms(1), cut));
    wait("the event stream is closed", || {
        bot.log().contains("502").then_some(())
    });
    faults.add(soon(
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
fn f10_a_silent_event_stream_is_noticed_within_nine_seconds() {
    let (site, bot) = rehearse("F10", 4.0);
    let took = away(&site, seconds(20));
    decided(
        seconds(9),
        "F10",
        &waits(&bot.log(), "the stream was silent for "),
    );
    decided(
        Duration::ZERO,
        "F10",
        &waits(&bot.log(), "offline, again in "),
    );
    within(
        seconds(18),
        "F10, an event stream that fell silent",
        &[took],
    );
}

#[test]
fn f11_no_game_is_played_twice() {
    let game = ByHeart::begin(Setting::of("F11"));
    game.play_to(21);
    wait("the event stream is open again", || {
        game.visits(Endpoint::EventStream).get(1).cloned()
    });
    game.play_to(41);
    let calls = |endpoint| game.visits(endpoint).len();
    assert_eq!(
        (calls(Endpoint::GameStream), calls(Endpoint::Move)),
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
fn f12_a_token_that_is_refused_ends_the_bot_which_says_so() {
    let mut game = ByHeart::begin(Setting::of("F12"));
    game.play_to(7);
    game.site.sim.advance(seconds(20));
    assert_eq!(game.bot.ended().code(), Some(77), "{}", game.bot.log());
    assert!(
        game.bot.log().contains("Lichess rejects the token"),
        "{}",
        game.bot.log()
    );
    // It did not knock again and again before it understood.
    assert!(game.visits(Endpoint::EventStream).len() <= 3);
}

#[test]
fn f12_a_single_401_ends_nothing() {
    let no = Fault::json(401, r#"{"error":"No such token"}"#);
    let game = ByHeart::begin(Setting {
        faults: vec![FaultRule::on(Endpoint::Move, no).from_user(BOT).nth(3)],
        speed: 4.0,
        ..Setting::of("")
    });
    game.play_to(21);
    within(seconds(2), "F12, a move that was 401", &game.resent());
}
