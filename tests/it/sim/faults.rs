//! Injected faults.

use std::cell::Cell;
use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule, StreamFault};
use reqwest::Method;

use super::site::{Site, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn fault_status_replaces_response() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let limited = Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#);
    site.sim.faults().add(
        FaultRule::on(Endpoint::Move, limited)
            .from_user("whitey")
            .in_game(&id),
    );
    let path = format!("/api/bot/game/{id}/move/e2e4");
    site.refused(
        "Whitey",
        &path,
        "",
        429,
        "Too many requests. Try again later.",
    )
    .await;
    assert_eq!(site.full("Whitey", &id).await["state"]["moves"], "");
    site.play("Whitey", &id, "e2e4").await;
    assert_eq!(site.sim.faults().request_count(Endpoint::Move), 2);
}

#[tokio::test]
async fn fault_reset_before_or_after_request_applied() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let path = format!("/api/bot/game/{id}/move/e2e4");
    for (fault, moves) in [(Fault::Reset, ""), (Fault::ResponseLost, "e2e4")] {
        site.sim.faults().clear();
        site.sim.faults().add(FaultRule::on(Endpoint::Move, fault));
        let answer = site.request(Method::POST, "Whitey", &path).send().await;
        let error = format!("{:?}", answer.unwrap_err()).to_lowercase();
        assert!(error.contains("reset"), "{error}");
        assert_eq!(site.full("Whitey", &id).await["state"]["moves"], moves);
    }
}

#[tokio::test]
async fn fault_stall_before_and_late_response_after_request() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let wait = Duration::from_secs(60);
    let both = "e2e4 e7e5";
    for (fault, uci, user, soon, then) in [
        (Fault::Stall(wait), "e2e4", "Whitey", "", "e2e4"),
        (Fault::ResponseLate(wait), "e7e5", "Blacky", both, both),
    ] {
        site.sim.faults().clear();
        site.sim.faults().add(FaultRule::on(Endpoint::Move, fault));
        let calls = site.sim.faults().request_count(Endpoint::Move);
        let answered = Cell::new(false);
        let playing = async {
            site.play(user, &id, uci).await;
            answered.set(true);
        };
        let looking = async {
            until(async || site.sim.faults().request_count(Endpoint::Move) > calls).await;
            let moves = async || text(&site.full("Whitey", &id).await["state"]["moves"]);
            until(async || moves().await == soon).await;
            assert!(!answered.get());
            site.sim.advance(wait);
        };
        tokio::join!(playing, looking);
        assert_eq!(site.full("Whitey", &id).await["state"]["moves"], then);
    }
}

#[tokio::test]
async fn fault_breaks_stream_after_lines() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let plant = |how| {
        site.sim.faults().clear();
        let fault = Fault::Stream {
            after_lines: 2,
            fault: how,
        };
        site.sim
            .faults()
            .add(FaultRule::on(Endpoint::GameStream, fault));
    };
    plant(StreamFault::Eof);
    let mut ends = site.game_stream("Whitey", &id).await;
    ends.line().await;
    site.play("Whitey", &id, "e2e4").await;
    ends.line().await;
    assert_eq!(ends.next().await, None);

    plant(StreamFault::Reset);
    let mut resets = site.game_stream("Whitey", &id).await;
    resets.line().await;
    site.play("Blacky", &id, "e7e5").await;
    resets.line().await;
    assert!(resets.try_raw().await.is_err());

    plant(StreamFault::Silence);
    let mut silent = site.game_stream("Whitey", &id).await;
    silent.line().await;
    site.play("Whitey", &id, "g1f3").await;
    silent.line().await;
    site.play("Blacky", &id, "b8c6").await;
    silent.quiet(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn open_streams_broken_by_command() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut game = site.game_stream("Whitey", &id).await;
    let mut other = site.game_stream("Blacky", &id).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    game.line().await;
    other.line().await;
    events.line().await;
    site.sim
        .break_streams(Some("Whitey"), Some(&id), StreamFault::Eof);
    assert_eq!(game.next().await, None);
    site.play("Whitey", &id, "e2e4").await;
    other.state().await;
    site.sim.break_streams(None, None, StreamFault::Reset);
    assert!(other.try_raw().await.is_err());
    assert!(events.try_raw().await.is_err());
}
