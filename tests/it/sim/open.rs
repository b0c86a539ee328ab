//! Open challenges and players without an account.

use std::time::Duration;

use knightwatch::sim::{NewUser, SimOptions};
use serde_json::{Value, json};

use super::site::{Site, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";
const NOT_FOR_YOU: &str = "The challenge is not for you to accept.";

async fn site() -> Site {
    Site::with(SimOptions {
        users: vec![NewUser::guest("Visitor")],
        ..SimOptions::default()
    })
    .await
}

async fn open(site: &Site, creator: &str, form: &str) -> (String, Value) {
    let (status, challenge) = site.post(creator, "/api/challenge/open", form).await;
    assert_eq!(status, 200, "{form}: {challenge}");
    (text(&challenge["id"]), challenge)
}

fn accept(id: &str, query: &str) -> String {
    format!("/api/challenge/{id}/accept{query}")
}

#[tokio::test]
async fn open_challenge_created_without_players() {
    let site = Site::start().await;
    let (id, challenge) = open(&site, "", &format!("{BLITZ}&rated=true&name=Cup")).await;
    assert_eq!(challenge["challenger"], Value::Null);
    assert_eq!(challenge["destUser"], Value::Null);
    assert_eq!(challenge["open"], json!({}));
    assert_eq!(challenge["status"], "created");
    let url = format!("{}/{id}", site.base);
    assert_eq!(challenge["url"], url.as_str());
    assert_eq!(challenge["urlWhite"], format!("{url}?color=white"));
    assert_eq!(challenge["urlBlack"], format!("{url}?color=black"));
    let (_, lists) = site.get("Whitey", "/api/challenge").await;
    assert_eq!(lists, json!({"in": [], "out": []}));
}

#[tokio::test]
async fn open_challenge_name_is_checked() {
    let site = Site::start().await;
    let longest = format!("{BLITZ}&name={}", "x".repeat(200));
    open(&site, "", &longest).await;
    for (form, error) in [
        (format!("{longest}x"), "Maximum length is 200"),
        (format!("{BLITZ}&name=+"), "This field is required"),
    ] {
        let (status, body) = site.post("", "/api/challenge/open", &form).await;
        assert_eq!((status, body), (400, json!({"error": {"name": [error]}})));
    }
}

#[tokio::test]
async fn open_challenge_first_two_users_play() {
    let site = Site::start().await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let (id, _) = open(&site, "Anna", BLITZ).await;
    site.ok("Whitey", &accept(&id, "?color=black")).await;
    site.refused("Whitey", &accept(&id, ""), "", 400, NOT_FOR_YOU)
        .await;
    let taken = "This color has already been chosen";
    site.refused("Blacky", &accept(&id, "?color=black"), "", 400, taken)
        .await;
    site.ok("Blacky", &accept(&id, "?color=white")).await;
    let start = events.line().await;
    assert_eq!(start["type"], "gameStart", "and nothing before it: {start}");
    assert_eq!(start["game"]["gameId"], id.as_str());
    assert_eq!(start["game"]["color"], "black");
    let late = "The challenge has already been accepted";
    site.refused("Bobby", &accept(&id, ""), "", 400, late).await;
    let (_, shown) = site
        .get("Whitey", &format!("/api/challenge/{id}/show"))
        .await;
    assert_eq!(shown["status"], "accepted");
    let full_id = text(&shown["fullId"]);
    assert!(full_id.len() == 12 && full_id.starts_with(&id), "{shown}");
}

#[tokio::test]
async fn open_challenge_restricted_to_two_users() {
    let site = Site::start().await;
    let (id, challenge) = open(&site, "", &format!("{BLITZ}&users=Blacky,Whitey")).await;
    assert_eq!(challenge["open"], json!({"userIds": ["blacky", "whitey"]}));
    site.refused("Bobby", &accept(&id, ""), "", 400, NOT_FOR_YOU)
        .await;
    site.ok("Whitey", &accept(&id, "?color=white")).await;
    site.ok("Blacky", &accept(&id, "")).await;
    let full = site.full("Whitey", &id).await;
    assert_eq!(full["white"]["id"], "blacky", "the first of the two");
    for form in [
        "users=Blacky",
        "users=Blacky,blacky",
        "users=Blacky,Nobody",
        "expiresAt=5",
    ] {
        let (status, body) = site.post("", "/api/challenge/open", form).await;
        assert_eq!(status, 400, "{form}: {body}");
    }
}

#[tokio::test]
async fn open_challenge_creator_cancels() {
    let site = Site::start().await;
    let cancel = |id: &str| format!("/api/challenge/{id}/cancel");
    let (id, _) = open(&site, "Anna", BLITZ).await;
    site.refused("Bobby", &cancel(&id), "", 404, "Not found")
        .await;
    site.ok("Anna", &cancel(&id)).await;
    let error = "The challenge has been canceled.";
    site.refused("Whitey", &accept(&id, ""), "", 400, error)
        .await;
    // Also its game, even where the players could not abort it, but only for an hour.
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (id, _) = open(&site, "Anna", &format!("{BLITZ}&rules=noAbort")).await;
        site.ok("Whitey", &accept(&id, "?color=white")).await;
        site.ok("Blacky", &accept(&id, "")).await;
        ids.push(id);
    }
    site.ok("Anna", &cancel(&ids[0])).await;
    let full = site.full("Whitey", &ids[0]).await;
    assert_eq!(full["state"]["status"], "aborted");
    site.moves(&ids[1], "e2e4 e7e5").await;
    let late = "The game can no longer be aborted";
    site.refused("Anna", &cancel(&ids[1]), "", 400, late).await;
    let (id, _) = open(&site, "Anna", "days=3").await;
    site.sim.advance(Duration::from_secs(3_700));
    site.refused("Anna", &cancel(&id), "", 404, "Not found")
        .await;
}

#[tokio::test]
async fn open_challenge_expires_after_a_day_or_as_requested() {
    let site = Site::start().await;
    let (day, _) = open(&site, "", BLITZ).await;
    let at = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        + Duration::from_secs(48 * 3_600);
    let (long, _) = open(&site, "", &format!("{BLITZ}&expiresAt={}", at.as_millis())).await;
    let show = |id: &str| format!("/api/challenge/{id}/show");
    site.sim.advance(Duration::from_secs(23 * 3_600));
    // A real-time challenge without a challenger online stays open.
    until(|| async { site.get("Anna", &show(&day)).await.1["status"] == "created" }).await;
    site.sim.advance(Duration::from_secs(2 * 3_600));
    until(|| async { site.get("Anna", &show(&day)).await.0 == 404 }).await;
    assert_eq!(site.get("Anna", &show(&long)).await.0, 200);
}

#[tokio::test]
async fn fact_29_anonymous_opponent_is_empty_object() {
    let site = site().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let (id, _) = open(&site, "Blacky", BLITZ).await;
    site.ok("Blacky", &accept(&id, "?color=black")).await;
    site.ok("Visitor", &accept(&id, "")).await;
    let start = events.line().await;
    let shown = json!({"id": null, "username": "Anon."});
    assert_eq!(start["game"]["opponent"], shown);
    let mut stream = site.game_stream("Blacky", &id).await;
    let full = stream.line().await;
    assert_eq!(full["white"], json!({}));
    assert_eq!(full["black"]["name"], "Blacky");
    // The token stands for the browser session: they play through the Board API.
    site.ok("Visitor", &format!("/api/board/game/{id}/move/e2e4"))
        .await;
    assert_eq!(stream.state().await.0, "e2e4");
    let chat = format!("/api/board/game/{id}/chat");
    site.post("Visitor", &chat, "room=player&text=hi").await;
    assert_eq!(stream.line().await["username"], "white");
    let pgn = site.text("", &format!("/game/export/{id}")).await;
    assert!(pgn.contains("[White \"Anonymous\"]"), "{pgn}");
    let line = site.sim.games()[0].to_string();
    assert!(line.contains("Anon. - Blacky"), "{line}");
}

#[tokio::test]
async fn fact_29_anonymous_challenge_arrives_late_without_challenger() {
    let site = site().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let form = format!("{BLITZ}&rated=true");
    let id = site.challenge("Visitor", "Blacky", &form).await;
    events.quiet(Duration::from_millis(100)).await;
    site.sim.advance(Duration::from_secs(2));
    let event = events.line().await;
    assert_eq!(event["challenge"]["id"], id.as_str());
    assert_eq!(event["challenge"]["challenger"], Value::Null);
    assert_eq!(event["challenge"]["destUser"]["id"], "blacky");
    assert_eq!(event["challenge"]["rated"], false);
    assert_eq!(event["compat"], json!({"bot": true, "board": true}));
    site.ok("Blacky", &accept(&id, "")).await;
    assert_eq!(events.line().await["type"], "gameStart");
    assert_eq!(site.get("Visitor", "/api/account").await.0, 401);
    // They cannot be found, and rated challenges are not for them.
    assert_eq!(site.get("", "/api/user/visitor").await.0, 404);
    site.refused(
        "Blacky",
        "/api/challenge/visitor",
        BLITZ,
        400,
        "No such user: visitor",
    )
    .await;
    let (rated, _) = open(&site, "", &form).await;
    site.refused("Visitor", &accept(&rated, ""), "", 400, NOT_FOR_YOU)
        .await;
}
