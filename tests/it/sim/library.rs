//! The scripts of the library, each up to its first fault.

use std::time::Duration;

use knightwatch::sim::{Endpoint, Script, Sim, SimOptions};
use reqwest::Method;

use super::site::{Lines, Site, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";
const OPENING: &str = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6";

async fn site_with_script(name: &str) -> Site {
    let script = Script::load(name).unwrap();
    let site = Site::with(SimOptions {
        users: script.users,
        faults: script.faults,
        ..SimOptions::default()
    })
    .await;
    for player in script.players {
        site.sim.add_player(player);
    }
    site
}

/// Plays two moves and returns the status of the third, if it is answered.
async fn third_move(site: &Site) -> Option<(u16, reqwest::header::HeaderMap)> {
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let path = format!("/api/bot/game/{id}/move/g1f3");
    let answer = site.request(Method::POST, "Whitey", &path).send().await;
    let answer = answer.ok()?;
    Some((answer.status().as_u16(), answer.headers().clone()))
}

/// The stream of a game, read up to the sixth ply.
async fn six_plies(site: &Site) -> Lines {
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    site.moves(&id, OPENING).await;
    assert_eq!(stream.line().await["type"], "gameFull");
    while stream.state().await.0 != OPENING {}
    stream
}

/// An action that is not triggered by our requests comes soon.
fn after_21_seconds(sim: &Sim) {
    sim.advance(Duration::from_secs(21));
}

#[tokio::test]
async fn f1_move_answered_429() {
    let (status, headers) = third_move(&site_with_script("F1").await).await.unwrap();
    assert_eq!(
        (status, headers["retry-after"].to_str().unwrap()),
        (429, "1")
    );
}

#[tokio::test]
async fn f2_move_answered_502() {
    let (status, headers) = third_move(&site_with_script("F2").await).await.unwrap();
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap()),
        (502, "text/html")
    );
}

#[tokio::test]
async fn f3_move_reset() {
    assert!(third_move(&site_with_script("F3").await).await.is_none());
}

#[tokio::test]
async fn f4_move_stalls() {
    let site = site_with_script("F4").await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let path = format!("/api/bot/game/{id}/move/g1f3");
    let request = site.request(Method::POST, "Whitey", &path);
    site.send_and_disconnect(request, Endpoint::Move).await;
    site.sim.advance(Duration::from_secs(3));
    let moves = async || site.full("Blacky", &id).await["state"]["moves"].take();
    until(async || moves().await == "e2e4 e7e5 g1f3").await;
}

#[tokio::test]
async fn f5_chat_refused() {
    let site = site_with_script("F5").await;
    let id = site.game(BLITZ).await;
    let path = format!("/api/bot/game/{id}/chat");
    for status in [429, 400] {
        let answer = site.post("Whitey", &path, "room=player&text=hi").await;
        assert_eq!(answer.0, status);
    }
    site.play("Whitey", &id, "e2e4").await;
}

#[tokio::test]
async fn f6_game_stream_ends() {
    assert_eq!(
        six_plies(&site_with_script("F6").await).await.next().await,
        None
    );
}

#[tokio::test]
async fn f7_game_stream_reset() {
    let mut stream = six_plies(&site_with_script("F7").await).await;
    assert!(stream.try_raw().await.is_err());
}

#[tokio::test]
async fn f8_game_stream_silent() {
    let site = site_with_script("F8").await;
    let mut stream = six_plies(&site).await;
    after_21_seconds(&site.sim);
    let line = tokio::time::timeout(Duration::from_millis(300), stream.raw()).await;
    assert!(line.is_err(), "not even a keep-alive line");
}

#[tokio::test]
async fn f9_event_stream_ends() {
    let site = site_with_script("F9").await;
    for _ in 0..2 {
        let mut events = site.stream("Whitey", "/api/stream/event").await;
        site.sim.advance(Duration::from_secs(61));
        while events.raw().await.is_some() {}
    }
}

#[tokio::test]
async fn f10_event_stream_silent() {
    let site = site_with_script("F10").await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    after_21_seconds(&site.sim);
    // One keep-alive line may have arrived earlier.
    while let Ok(line) = tokio::time::timeout(Duration::from_millis(300), events.raw()).await {
        assert_eq!(line.as_deref(), Some(""));
    }
    site.sim.advance(Duration::from_secs(21));
    let line = tokio::time::timeout(Duration::from_millis(300), events.raw()).await;
    assert!(line.is_err(), "not even a keep-alive line");
}

#[tokio::test]
async fn f11_event_stream_ends_during_game() {
    let site = site_with_script("F11").await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let mut game = six_plies(&site).await;
    while events.raw().await.is_some() {}
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    assert_eq!(events.line().await["type"], "gameStart");
    game.quiet(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn f12_token_rejected() {
    let site = site_with_script("F12").await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    after_21_seconds(&site.sim);
    while events.raw().await.is_some() {}
    for _ in 0..3 {
        let (status, answer) = site.get("Whitey", "/api/stream/event").await;
        assert_eq!((status, &answer["error"]), (401, &"No such token".into()));
    }
}

/// The next event of this kind for the bot under test.
async fn next_tester_event(site: &Site, kind: &str, skip: Duration) {
    let mut events = site.stream("Tester", "/api/stream/event").await;
    site.sim.advance(skip);
    while events.line().await["type"] != kind {}
}

#[tokio::test]
async fn f13_and_f16_play_long_game() {
    for name in ["F13", "F16"] {
        let site = site_with_script(name).await;
        next_tester_event(&site, "challenge", Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn f14_challenge_stream_ends() {
    let site = site_with_script("F14").await;
    let form = format!("{BLITZ}&keepAliveStream=true");
    let path = "/api/challenge/Statue";
    let request = site
        .request(Method::POST, "Whitey", path)
        .query(&[("", "")]);
    let request = request
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(form);
    let mut stream = Lines::open(request).await;
    assert_eq!(stream.line().await["status"], "created");
    assert_eq!(stream.next().await, None);
    let (_, bots) = site.get("", "/api/users/status?ids=statue").await;
    assert_eq!(bots[0]["online"], true);
}

#[tokio::test]
async fn f15_and_f17_start_unrequested_games() {
    for (name, games) in [("F15", 1), ("F17", 4)] {
        let site = site_with_script(name).await;
        let mut events = site.stream("Tester", "/api/stream/event").await;
        site.sim.advance(Duration::from_secs(31));
        for _ in 0..games {
            let start = events.line().await;
            assert_eq!(
                (&start["type"], &start["game"]["source"]),
                (&"gameStart".into(), &"api".into())
            );
        }
    }
}
