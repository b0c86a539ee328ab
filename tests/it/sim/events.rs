//! The event stream.

use std::time::Duration;

use knightwatch::sim::SimOptions;
use reqwest::Method;

use super::site::{Lines, Site, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn fact_01_event_stream_replays_games_then_challenges() {
    let site = Site::start().await;
    let game = site.game(BLITZ).await;
    let slow = site.game("days=3").await;
    let challenge = site.challenge("Anna", "Blacky", BLITZ).await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let first = events.line().await;
    assert_eq!(first["type"], "gameStart");
    assert_eq!(first["game"]["id"], game.as_str());
    assert!(first["game"]["compat"]["bot"].as_bool().unwrap());
    assert_eq!(events.line().await["game"]["gameId"], slow.as_str());
    let third = events.line().await;
    assert_eq!(third["type"], "challenge");
    assert_eq!(third["challenge"]["id"], challenge.as_str());
    assert!(third.get("compat").is_none());
    assert!(third["challenge"].get("direction").is_none());
}

#[tokio::test]
async fn event_stream_omits_outgoing_challenges() {
    let site = Site::start().await;
    site.challenge("Blacky", "Anna", BLITZ).await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    events.quiet(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn fact_02_second_event_stream_ends_first_of_token() {
    let site = Site::start().await;
    site.sim.add_token("lip_second", "Blacky", &["bot:play"]);
    let mut first = site.stream("Blacky", "/api/stream/event").await;
    let mut other = Lines::open(
        site.request(Method::GET, "", "/api/stream/event")
            .bearer_auth("lip_second"),
    )
    .await;
    let mut second = site.stream("Blacky", "/api/stream/event").await;
    assert_eq!(first.next().await, None);
    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    for stream in [&mut second, &mut other] {
        let event = stream.line().await;
        assert_eq!(event["challenge"]["id"], id.as_str());
        assert_eq!(event["compat"]["bot"], true);
    }
}

#[tokio::test]
async fn challenge_events_sent_to_both_sides() {
    let site = Site::start().await;
    let mut mine = site.stream("Blacky", "/api/stream/event").await;
    let mut theirs = site.stream("Anna", "/api/stream/event").await;
    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    for (stream, bot) in [(&mut mine, true), (&mut theirs, false)] {
        let event = stream.line().await;
        assert_eq!(event["type"], "challenge");
        assert_eq!(event["compat"]["bot"], bot);
    }
    let decline = format!("/api/challenge/{id}/decline");
    let (status, _) = site.post("Blacky", &decline, "reason=TOOFAST").await;
    assert_eq!(status, 200);
    for stream in [&mut mine, &mut theirs] {
        let event = stream.line().await;
        assert_eq!(event["type"], "challengeDeclined");
        assert_eq!(event["challenge"]["declineReasonKey"], "toofast");
        assert!(
            text(&event["challenge"]["declineReason"]).starts_with("This time control is too fast")
        );
        assert!(event.get("compat").is_none());
    }
    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    mine.line().await;
    theirs.line().await;
    site.ok("Anna", &format!("/api/challenge/{id}/cancel"))
        .await;
    for stream in [&mut mine, &mut theirs] {
        let event = stream.line().await;
        assert_eq!(event["type"], "challengeCanceled");
        assert_eq!(event["challenge"]["status"], "canceled");
    }
}

#[tokio::test]
async fn game_events_sent_to_both_sides_also_on_abort() {
    let site = Site::start().await;
    let mut mine = site.stream("Blacky", "/api/stream/event").await;
    let id = site.game(BLITZ).await;
    assert_eq!(mine.line().await["type"], "challenge");
    let start = mine.line().await;
    assert_eq!(start["type"], "gameStart");
    let game = &start["game"];
    assert_eq!(text(&game["fullId"]).len(), 12);
    assert!(text(&game["fullId"]).starts_with(&id));
    assert_eq!(game["opponent"]["username"], "BOT Whitey");
    assert_eq!(game["secondsLeft"], 180);
    assert_eq!(game["isMyTurn"], false);
    assert_eq!(game["lastMove"], "");
    assert!(game.get("winner").is_none());
    site.ok("Whitey", &format!("/api/bot/game/{id}/abort"))
        .await;
    let finish = mine.line().await;
    assert_eq!(finish["type"], "gameFinish");
    assert_eq!(finish["game"]["status"]["id"], 25);
    assert_eq!(finish["game"]["status"]["name"], "aborted");
}

#[tokio::test]
async fn event_stream_keep_alive_every_seven_seconds() {
    let site = Site::with(SimOptions {
        // The helper waits ten seconds for a line, which are five here: two lines are at most twelve seconds apart.
        speed: 0.5,
        ..SimOptions::default()
    })
    .await;
    let id = site.game(BLITZ).await;
    let mut events = site.stream("Anna", "/api/stream/event").await;
    let mut game = site.game_stream("Blacky", &id).await;
    game.line().await;
    for _ in 0..3 {
        site.sim.advance(Duration::from_secs(7));
        for stream in [&mut events, &mut game] {
            assert_eq!(stream.raw().await.unwrap(), "");
        }
    }
}

#[tokio::test]
async fn stream_queue_drops_oldest_of_32_lines() {
    let site = Site::start().await;
    let mut ids = Vec::new();
    for _ in 0..40 {
        ids.push(site.game("days=1").await);
    }
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let mut received = Vec::new();
    for _ in 0..32 {
        received.push(text(&events.line().await["game"]["id"]));
    }
    events.quiet(Duration::from_millis(200)).await;
    let (_, playing) = site.get("Blacky", "/api/account/playing?nb=50").await;
    let all: Vec<String> = playing["nowPlaying"]
        .as_array()
        .unwrap()
        .iter()
        .map(|game| text(&game["gameId"]))
        .collect();
    assert_eq!(all.len(), 40);
    assert_eq!(received, all[8..]);
}

#[tokio::test]
async fn rated_game_finish_contains_rating_changes() {
    let site = Site::start().await;
    let id = site.game(&format!("{BLITZ}&rated=true")).await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    assert!(events.line().await["game"]["rated"].as_bool().unwrap());
    site.moves(&id, "f2f3 e7e5 g2g4 d8h4").await;
    let finish = events.line().await;
    let game = &finish["game"];
    assert_eq!(game["status"]["name"], "mate");
    assert_eq!(game["winner"], "black");
    assert!(game["ratingDiff"].as_i64().unwrap() > 0);
    assert!(game["opponent"]["ratingDiff"].as_i64().unwrap() < 0);
    let (_, me) = site.get("Blacky", "/api/account").await;
    assert!(me["perfs"]["blitz"]["rating"].as_i64().unwrap() > 1500);
    assert_eq!(me["count"]["win"], 1);
}
