//! What happens to a move on its way, and to what is said beside it.

use knightwatch::sim::{Endpoint, Fault, FaultRule};

use super::{ByHeart, Setting, decided, ms, seconds, waits, within};
use crate::common::wait;

/// This happens to every second move of the bot, some times.
fn often(fault: &Fault, first: usize, times: usize) -> Vec<FaultRule> {
    let rule = |number| {
        FaultRule::on(Endpoint::Move, fault.clone())
            .from_user(crate::common::BOT)
            .nth(first + 2 * number)
    };
    (0..times).map(rule).collect()
}

/// The waits before a move is sent again, as the bot has decided on them.
fn before_sending_again(game: &ByHeart) -> Vec<std::time::Duration> {
    waits(&game.bot.log(), "did not get through, sending it again in ")
}

fn slow_down(seconds: u64) -> Fault {
    Fault::Status {
        code: 429,
        headers: vec![("Retry-After".to_owned(), seconds.to_string())],
        body: r#"{"error":"Too many requests. Try again later."}"#.to_owned(),
    }
}

#[test]
fn f01_a_429_on_a_move_is_sent_again_within_the_wait_it_names() {
    let game = ByHeart::begin(Setting::of("F1"));
    game.play_to(25);
    // The second one comes from a proxy and names no time.
    let resent = game.resent();
    assert_eq!(resent.len(), 2);
    decided(seconds(1), "F1", &before_sending_again(&game));
    within(ms(1_100), "F1, a move that was 429", &resent);
    assert_eq!(game.visits(Endpoint::Move).len(), 13 + 2);
}

#[test]
fn f01_a_429_waits_for_no_longer_than_our_clock_can_bear() {
    let game = ByHeart::begin(Setting {
        faults: often(&slow_down(60), 4, 1),
        clock: [("clock.limit", "30"), ("clock.increment", "0")],
        speed: 4.0,
        ..Setting::of("")
    });
    game.play_to(17);
    // A tenth of what is left.
    decided(
        seconds(3),
        "F1, 429 for a minute",
        &before_sending_again(&game),
    );
    within(seconds(6), "F1, 429 for a minute", &game.resent());
}

#[test]
fn f01_nothing_is_sent_for_a_position_that_is_gone() {
    let game = ByHeart::begin(Setting {
        faults: often(&slow_down(5), 4, 1),
        speed: 4.0,
        ..Setting::of("")
    });
    game.play_to(5);
    game.site.player("Anna").play(&game.id, &game.moves[5]);
    wait("the move was refused", || {
        game.visits(Endpoint::Move).get(3).cloned()
    });
    let (status, _) = game
        .site
        .player("Anna")
        .post(&format!("/api/bot/game/{}/resign", game.id), &[]);
    assert_eq!(status, 200);
    let resigned = game.site.sim.elapsed();
    wait("its time has come", || {
        (game.site.sim.elapsed() > resigned + seconds(10)).then_some(())
    });
    assert_eq!(game.visits(Endpoint::Move).len(), 4);
}

#[test]
fn f02_a_502_costs_a_tenth_of_a_second() {
    let game = ByHeart::begin(Setting {
        faults: often(&Fault::html(502), 14, 5),
        ..Setting::of("F2")
    });
    game.play_to(61);
    let resent = game.resent();
    assert_eq!(resent.len(), 2 + 5);
    // Three in a row, as the script has them, are given a little more time each.
    let decisions = before_sending_again(&game);
    decided(ms(250), "F2", &decisions);
    assert!(
        decisions[0] <= ms(100) && decisions[4..].iter().all(|wait| *wait <= ms(100)),
        "{decisions:?}"
    );
    within(ms(100), "F2, a move that was 502", &resent);
}

#[test]
fn f02_a_404_by_a_proxy_is_no_word_of_lichess() {
    let game = ByHeart::begin(Setting {
        faults: often(&Fault::html(404), 14, 3),
        speed: 4.0,
        ..Setting::of("")
    });
    game.play_to(41);
    assert_eq!(game.resent().len(), 3);
    decided(ms(500), "F2, 404 by a proxy", &before_sending_again(&game));
    // So nothing is looked at anew, and no other move is thought about.
    assert_eq!(game.visits(Endpoint::GameStream).len(), 1);
}

#[test]
fn f03_a_reset_costs_fifty_milliseconds() {
    let game = ByHeart::begin(Setting {
        faults: often(&Fault::Reset, 12, 6),
        ..Setting::of("F3")
    });
    game.play_to(61);
    decided(ms(50), "F3", &before_sending_again(&game));
    within(
        ms(50),
        "F3, a move whose connection was reset",
        &game.resent(),
    );
    // The one whose answer was lost was made: when it is sent again it is refused, which is no error.
    let calls = game.visits(Endpoint::Move).len() - 7;
    assert!((31..=32).contains(&calls), "{calls}");
}

#[test]
fn f04_a_move_that_hangs_is_made_once_and_costs_no_more_than_the_site_takes() {
    let game = ByHeart::begin(Setting {
        speed: 3.0,
        ..Setting::of("F4")
    });
    game.play_to(25);
    let resent = game.resent();
    println!("F4, a move that hangs for 3 s, one whose answer does: {resent:.3?}");
    // The second is seen on the stream at once, whatever becomes of the answer.
    assert!(
        resent[0] <= seconds(6) && resent[1] <= seconds(3),
        "{resent:?}"
    );
    decided(ms(50), "F4", &before_sending_again(&game));
}

#[test]
fn f04_a_move_that_hangs_costs_a_short_clock_less() {
    let game = ByHeart::begin(Setting {
        faults: often(&Fault::Stall(seconds(60)), 2, 1),
        clock: [("clock.limit", "0"), ("clock.increment", "1")],
        ..Setting::of("")
    });
    game.play_to(11);
    // There are three seconds on the clock, of which a quarter may pass.
    let resent = game.resent();
    within(
        ms(1_500),
        "F4, a move that hangs with 3 s on the clock",
        &resent,
    );
}

#[test]
fn f05_chat_that_is_refused_is_nothing_to_the_game() {
    let game = ByHeart::begin(Setting::of("F5"));
    game.play_to(21);
    wait("the greeting was refused", || {
        game.visits(Endpoint::Chat)
            .first()
            .filter(|visit| visit.faulted)
            .cloned()
    });
    // Every move once, and none after its turn.
    assert_eq!(game.visits(Endpoint::Move).len(), 11);
    let waited: Vec<_> = (1..10)
        .map(|n| game.made(2 * n + 1) - game.made(2 * n))
        .collect();
    within(ms(100), "F5, our moves beside a refused greeting", &waited);
    let first = game.made(1) - game.visits(Endpoint::GameStream)[0].at;
    within(seconds(2), "F5, the first move", &[first]);
    assert_eq!(
        game.visits(Endpoint::Chat).len(),
        1,
        "words are never worth a second try"
    );
}
