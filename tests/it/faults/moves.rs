//! Faults of move and chat requests.

use knightwatch::sim::{Endpoint, Fault, FaultRule};

use super::{BookGame, Scenario, assert_median_within, assert_waits_within, ms, seconds, waits};
use crate::common::wait;

/// Rules that apply the fault to every second move request of the bot.
fn every_second_move(fault: &Fault, first: usize, times: usize) -> Vec<FaultRule> {
    let rule = |number| {
        FaultRule::on(Endpoint::Move, fault.clone())
            .from_user(crate::common::BOT)
            .nth(first + 2 * number)
    };
    (0..times).map(rule).collect()
}

/// The logged waits before a move is resent.
fn resend_waits(game: &BookGame) -> Vec<std::time::Duration> {
    waits(&game.bot.log(), "posting the move failed; retrying in ")
}

fn too_many_requests(seconds: u64) -> Fault {
    Fault::Status {
        code: 429,
        headers: vec![("Retry-After".to_owned(), seconds.to_string())],
        body: r#"{"error":"Too many requests. Try again later."}"#.to_owned(),
    }
}

#[test]
fn f01_move_429_is_resent_after_retry_after() {
    let game = BookGame::start(Scenario::new("F1"));
    game.play_to(25);
    // The second one comes from a proxy, without a Retry-After.
    let resent = game.resend_times();
    assert_eq!(resent.len(), 2);
    assert_waits_within(seconds(1), "F1", &resend_waits(&game));
    assert_median_within(ms(1_100), "F1, a move that was 429", &resent);
    assert_eq!(game.requests(Endpoint::Move).len(), 13 + 2);
}

#[test]
fn f01_move_429_wait_is_capped_by_clock() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&too_many_requests(60), 4, 3),
        clock: [("clock.limit", "30"), ("clock.increment", "0")],
        speed: 4.0,
        ..Scenario::new("")
    });
    game.play_to(17);
    // A tenth of the remaining time.
    assert_waits_within(seconds(3), "F1, 429 for a minute", &resend_waits(&game));
    assert_median_within(seconds(6), "F1, 429 for a minute", &game.resend_times());
}

#[test]
fn f01_pending_move_of_finished_game_is_dropped() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&too_many_requests(5), 4, 1),
        speed: 4.0,
        ..Scenario::new("")
    });
    game.play_to(5);
    game.site.player("Anna").play(&game.id, &game.moves[5]);
    wait("the move was rejected", || {
        game.requests(Endpoint::Move).get(3).cloned()
    });
    let (status, _) = game
        .site
        .player("Anna")
        .post(&format!("/api/bot/game/{}/resign", game.id), &[]);
    assert_eq!(status, 200);
    let resigned = game.site.sim.elapsed();
    wait("the resend time has passed", || {
        (game.site.sim.elapsed() > resigned + seconds(10)).then_some(())
    });
    assert_eq!(game.requests(Endpoint::Move).len(), 4);
}

#[test]
fn f02_move_502_is_resent_within_100_ms() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&Fault::html(502), 14, 5),
        ..Scenario::new("F2")
    });
    game.play_to(61);
    let resent = game.resend_times();
    assert_eq!(resent.len(), 2 + 5);
    // The script has three in a row; their waits grow.
    let decisions = resend_waits(&game);
    assert_waits_within(ms(250), "F2", &decisions);
    assert!(
        decisions[0] <= ms(100) && decisions[4..].iter().all(|wait| *wait <= ms(100)),
        "{decisions:?}"
    );
    assert_median_within(ms(100), "F2, a move that was 502", &resent);
}

#[test]
fn f02_move_404_from_proxy_is_retried() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&Fault::html(404), 14, 3),
        ..Scenario::new("")
    });
    game.play_to(41);
    assert_eq!(game.resend_times().len(), 3);
    assert_waits_within(ms(500), "F2, 404 by a proxy", &resend_waits(&game));
    // The game stream is not reopened, and no new search is started.
    assert_eq!(game.requests(Endpoint::GameStream).len(), 1);
}

#[test]
fn f03_move_reset_is_resent_within_50_ms() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&Fault::Reset, 12, 6),
        ..Scenario::new("F3")
    });
    game.play_to(61);
    assert_waits_within(ms(50), "F3", &resend_waits(&game));
    assert_median_within(
        ms(50),
        "F3, a move whose connection was reset",
        &game.resend_times(),
    );
    // The move with the lost response was made: resending it is rejected, which is no error.
    let moves = game.requests(Endpoint::Move).len() - 7;
    assert!((31..=32).contains(&moves), "{moves}");
}

#[test]
fn f04_hanging_move_is_made_once() {
    let game = BookGame::start(Scenario::new("F4"));
    game.play_to(25);
    let resent = game.resend_times();
    println!("F4, a move that hangs for 3 s, one whose response does: {resent:.3?}");
    // The second is confirmed by the stream immediately, even without a response, so it is not sent again.
    assert!(resent[0] <= seconds(6), "{resent:?}");
    assert!(resent[1] < seconds(2), "{resent:?}");
    let waits = resend_waits(&game);
    assert_waits_within(ms(50), "F4", &waits);
    assert_eq!(waits.len(), 1);
    assert_eq!(game.requests(Endpoint::Move).len(), 13 + 1);
}

#[test]
fn f04_hanging_move_timeout_is_capped_by_clock() {
    let game = BookGame::start(Scenario {
        faults: every_second_move(&Fault::Stall(seconds(60)), 2, 3),
        clock: [("clock.limit", "0"), ("clock.increment", "1")],
        ..Scenario::new("")
    });
    game.play_to(11);
    // A quarter of the three seconds on the clock may pass.
    let resent = game.resend_times();
    assert_median_within(
        ms(750),
        "F4, a move that hangs with 3 s on the clock",
        &resent,
    );
}

#[test]
fn f05_rejected_chat_does_not_delay_moves() {
    let game = BookGame::start(Scenario::new("F5"));
    game.play_to(21);
    wait("the greeting was rejected", || {
        game.requests(Endpoint::Chat)
            .first()
            .filter(|request| request.faulted)
            .cloned()
    });
    // Every move is sent once, on its turn.
    assert_eq!(game.requests(Endpoint::Move).len(), 11);
    let waited: Vec<_> = (1..10)
        .map(|n| game.move_time(2 * n + 1) - game.move_time(2 * n))
        .collect();
    assert_median_within(ms(100), "F5, moves while the greeting is rejected", &waited);
    let first = game.move_time(1) - game.requests(Endpoint::GameStream)[0].at;
    assert_median_within(seconds(2), "F5, the first move", &[first]);
    assert_eq!(
        game.requests(Endpoint::Chat).len(),
        1,
        "chat messages are not resent"
    );
}
