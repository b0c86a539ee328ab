//! Rematches.

use std::time::Duration;

use knightwatch::sim::{PlayerKind, PlayerOptions, SimOptions};
use serde_json::{Value, json};

use super::site::{Lines, Site, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

/// An aborted game of Anna with White against Blacky.
async fn aborted(site: &Site, form: &str) -> String {
    let id = site.game_between("Anna", "Blacky", form).await;
    site.ok("Anna", &format!("/api/board/game/{id}/abort"))
        .await;
    id
}

/// The next event about a rematch, skipping game events.
async fn next_rematch_event(events: &mut Lines) -> Value {
    loop {
        let event = events.line().await;
        if event["challenge"]["rematchOf"].is_string() {
            return event;
        }
    }
}

async fn expect_game_start(events: &mut Lines, id: &str) -> Value {
    loop {
        let event = events.line().await;
        if event["type"] == "gameStart" && event["game"]["gameId"] == id {
            return event["game"].clone();
        }
    }
}

#[tokio::test]
async fn fact_20_rematch_is_challenge_with_id_of_next_game() {
    let site = Site::start().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let first = aborted(&site, &format!("{BLITZ}&variant=chess960")).await;
    let next = site.sim.offer_rematch("Anna", &first).unwrap();
    let offer = next_rematch_event(&mut events).await;
    assert_eq!(offer["type"], "challenge");
    assert_eq!(offer["compat"], json!({"bot": true, "board": true}));
    let challenge = &offer["challenge"];
    assert_eq!(challenge["id"], next.as_str());
    assert_eq!(challenge["rematchOf"], first.as_str());
    assert_eq!(challenge["challenger"]["id"], "anna");
    assert_eq!(
        (&challenge["color"], &challenge["finalColor"]),
        (&json!("black"), &json!("black"))
    );
    assert_eq!(challenge["variant"]["key"], "chess960");
    assert_eq!(challenge["timeControl"]["show"], "3+2");
    // The offer is not stored: it is in no list, not replayed and cannot be shown.
    let (_, lists) = site.get("Blacky", "/api/challenge").await;
    assert_eq!(lists, json!({"in": [], "out": []}));
    let mut again = site.stream("Blacky", "/api/stream/event").await;
    again.quiet(Duration::from_millis(50)).await;
    assert_eq!(
        site.get("Blacky", &format!("/api/challenge/{next}/show"))
            .await
            .0,
        404
    );
    // Only the opponent can accept it.
    let accept = format!("/api/challenge/{next}/accept");
    site.refused("Bobby", &accept, "", 404, "Not found").await;
    site.ok("Blacky", &accept).await;
    expect_game_start(&mut again, &next).await;
    // The stream of the old game names the new one when it is reopened.
    let old = site.full("Blacky", &first).await;
    assert_eq!(old["state"]["rematch"], next.as_str());
    site.refused("Blacky", &accept, "", 404, "Not found").await;
}

#[tokio::test]
async fn fact_20_rematch_sends_nothing_to_old_game() {
    let site = Site::start().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let id = site.game_between("Anna", "Blacky", BLITZ).await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    site.ok("Anna", &format!("/api/board/game/{id}/abort"))
        .await;
    let last = stream.full_state().await;
    assert_eq!(last["status"], "aborted");
    assert!(last.get("rematch").is_none());
    assert_eq!(stream.next().await, None, "and the stream ends");
    let next = site.sim.offer_rematch("Anna", &id).unwrap();
    let full = site.full("Blacky", &id).await;
    assert!(full["state"].get("rematch").is_none(), "only offered");
    site.ok("Blacky", &format!("/api/challenge/{next}/accept"))
        .await;
    expect_game_start(&mut events, &next).await;
}

#[tokio::test]
async fn fact_20_rematch_offers_declined_and_withdrawn() {
    let site = Site::start().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let id = aborted(&site, BLITZ).await;
    let next = site.sim.offer_rematch("Anna", &id).unwrap();
    assert_eq!(next_rematch_event(&mut events).await["type"], "challenge");
    assert!(
        !site.sim.withdraw_rematch("Blacky", &id),
        "it is not theirs"
    );
    assert!(site.sim.withdraw_rematch("Anna", &id));
    let canceled = next_rematch_event(&mut events).await;
    assert_eq!(canceled["type"], "challengeCanceled");
    assert_eq!(canceled["challenge"]["id"], next.as_str());
    assert!(canceled["compat"].is_object(), "unlike other challenges");
    site.refused(
        "Blacky",
        &format!("/api/challenge/{next}/accept"),
        "",
        404,
        "Not found",
    )
    .await;
    let next = site.sim.offer_rematch("Anna", &id).unwrap();
    next_rematch_event(&mut events).await;
    site.ok("Blacky", &format!("/api/challenge/{next}/decline"))
        .await;
    // The decline takes effect after a second and lasts a minute.
    site.sim.advance(Duration::from_secs(1));
    until(|| async { site.sim.offer_rematch("Anna", &id).is_err() }).await;
    site.sim.advance(Duration::from_secs(60));
    until(|| async { site.sim.offer_rematch("Anna", &id).is_ok() }).await;
}

#[tokio::test]
async fn fact_27_rematch_swaps_colors_except_from_position() {
    let site = Site::start().await;
    let fen = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1".replace(' ', "+");
    let position = format!("{BLITZ}&fen={fen}");
    // Players, form, White of the rematch.
    for (white, black, form, expected) in [
        ("Anna", "Blacky", BLITZ, "blacky"),
        ("Anna", "Blacky", position.as_str(), "anna"),
        ("Whitey", "Blacky", position.as_str(), "blacky"),
    ] {
        let mut events = site.stream("Blacky", "/api/stream/event").await;
        let id = site.game_between(white, black, form).await;
        let door = if white == "Anna" { "board" } else { "bot" };
        site.ok(white, &format!("/api/{door}/game/{id}/abort"))
            .await;
        let next = site.sim.offer_rematch(white, &id).unwrap();
        // A counter-offer accepts.
        assert_eq!(site.sim.offer_rematch("Blacky", &id), Ok(next.clone()));
        expect_game_start(&mut events, &next).await;
        let full = site.full("Blacky", &next).await;
        assert_eq!(full["white"]["id"], expected, "{white} {form}");
        assert_eq!(full["variant"]["key"] == "fromPosition", form != BLITZ);
        if form != BLITZ {
            assert_eq!(text(&full["initialFen"]), fen.replace('+', " "));
        }
        site.ok("Blacky", &format!("/api/bot/game/{next}/abort"))
            .await;
    }
}

#[tokio::test]
async fn rematch_keeps_chess960_position_once() {
    let site = Site::start().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let mut id = aborted(&site, &format!("{BLITZ}&variant=chess960")).await;
    let mut fens = vec![text(&site.full("Blacky", &id).await["initialFen"])];
    for _ in 0..3 {
        let next = site.sim.offer_rematch("Anna", &id).unwrap();
        site.sim.offer_rematch("Blacky", &id).unwrap();
        expect_game_start(&mut events, &next).await;
        fens.push(text(&site.full("Blacky", &next).await["initialFen"]));
        site.ok("Blacky", &format!("/api/bot/game/{next}/abort"))
            .await;
        id = next;
    }
    assert_eq!(fens[0], fens[1]);
    assert_ne!(fens[1], fens[2]);
    assert_eq!(fens[2], fens[3]);
}

#[tokio::test]
async fn rematch_refused_for_some_games() {
    let site = Site::start().await;
    let id = site.game_between("Anna", "Blacky", BLITZ).await;
    assert!(site.sim.offer_rematch("Anna", &id).is_err(), "it is on");
    let id = site
        .game_between("Anna", "Bobby", &format!("{BLITZ}&rules=noRematch"))
        .await;
    site.ok("Anna", &format!("/api/board/game/{id}/abort"))
        .await;
    assert!(site.sim.offer_rematch("Anna", &id).is_err(), "by its rules");
    let id = aborted(&site, &format!("{BLITZ}&rated=true")).await;
    assert!(
        site.sim.offer_rematch("Anna", &id).is_err(),
        "too short to count"
    );
    assert_eq!(
        site.sim.offer_rematch("Bobby", &id),
        Err("Not your game".to_owned())
    );
}

#[tokio::test]
async fn rematch_from_web_is_regular_challenge() {
    let site = Site::start().await;
    let first = aborted(&site, BLITZ).await;
    let id = site.sim.challenge_to_rematch("Anna", &first).unwrap();
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let replayed = next_rematch_event(&mut events).await;
    assert_eq!(replayed["challenge"]["rematchOf"], first.as_str());
    assert_eq!(replayed["challenge"]["finalColor"], "black");
    let (_, lists) = site.get("Blacky", "/api/challenge").await;
    assert_eq!(lists["in"][0]["id"], id.as_str());
    site.ok("Blacky", &format!("/api/challenge/{id}/accept"))
        .await;
    assert_eq!(expect_game_start(&mut events, &id).await["color"], "white");
}

#[tokio::test]
async fn rematch_offers_rate_limited() {
    let site = Site::with(SimOptions {
        limits: true,
        ..SimOptions::default()
    })
    .await;
    let id = aborted(&site, BLITZ).await;
    for _ in 0..2 {
        site.sim.offer_rematch("Anna", &id).unwrap();
        assert!(site.sim.withdraw_rematch("Anna", &id));
    }
    assert!(site.sim.offer_rematch("Anna", &id).is_err());
}

#[tokio::test]
async fn builtin_players_accept_rematches() {
    let site = Site::start().await;
    site.sim
        .add_player(PlayerOptions::new("Sam", PlayerKind::Idle));
    let mut events = site.stream("Anna", "/api/stream/event").await;
    let id = site
        .challenge("Anna", "Sam", &format!("{BLITZ}&color=white"))
        .await;
    expect_game_start(&mut events, &id).await;
    site.ok("Anna", &format!("/api/board/game/{id}/abort"))
        .await;
    let next = site.sim.offer_rematch("Anna", &id).unwrap();
    assert_eq!(
        expect_game_start(&mut events, &next).await["color"],
        "black"
    );
}
