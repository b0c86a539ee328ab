//! Tokens, accounts and lists of users.

use reqwest::Method;
use reqwest::header::USER_AGENT;
use serde_json::{Value, json};

use super::site::{Site, text, until};

#[tokio::test]
async fn auth_checks_token_then_scope_then_user_agent() {
    let site = Site::start().await;
    site.sim
        .add_token("lip_narrow", "Anna", &["challenge:read"]);
    let post = async |token: &str, agent: &str| {
        let mut request = site.request(Method::POST, "", "/api/challenge/Blacky");
        if !token.is_empty() {
            request = request.header("Authorization", token);
        }
        let response = request.header(USER_AGENT, agent).send().await.unwrap();
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
        (status, text(&body["error"]))
    };
    let other = "x/1 user:Bobby";
    let missing = "Missing authorization header";
    let stranger = "The user in the user-agent doesn't match the token bearer";
    let scope = "Missing scope: challenge:write || bot:play || board:play";
    for (token, status, error) in [
        ("", 401, missing),
        ("lip_anna", 401, missing),
        ("Bearer lip_none", 401, "No such token"),
        ("Bearer lip_narrow", 403, scope),
        ("Bearer lip_anna", 401, stranger),
    ] {
        assert_eq!(
            post(token, other).await,
            (status, error.to_owned()),
            "{token}"
        );
    }
    let response = site
        .request(Method::GET, "Anna", "/api/account")
        .header(USER_AGENT, "lichess-bot/1 user:?")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let scopes = response.headers()["x-oauth-scopes"].to_str().unwrap();
    assert!(scopes.contains("bot:play"));
    assert!(response.headers().contains_key("x-accepted-oauth-scopes"));
    assert_eq!(response.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn token_test_works_without_token() {
    let site = Site::start().await;
    let response = site
        .request(Method::POST, "", "/api/token/test")
        .header(USER_AGENT, "lichess-bot/1 user:?")
        .header("Content-Type", "text/plain")
        .body("lip_blacky,lip_none")
        .send()
        .await
        .unwrap();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["lip_blacky"]["userId"], "blacky");
    assert!(text(&body["lip_blacky"]["scopes"]).contains("bot:play"));
    assert_eq!(body["lip_blacky"]["expires"], Value::Null);
    assert_eq!(body["lip_none"], Value::Null);
}

#[tokio::test]
async fn account_shows_ratings_and_bot_title() {
    let site = Site::start().await;
    let (_, bot) = site.get("Blacky", "/api/account").await;
    assert_eq!(
        (&bot["id"], &bot["username"]),
        (&"blacky".into(), &"Blacky".into())
    );
    assert_eq!(bot["title"], "BOT");
    assert!(bot["perfs"]["blitz"]["games"].as_u64().unwrap() > 0);
    assert!(bot["perfs"].get("chess960").is_some());
    assert!(text(&bot["profile"]["bio"]).len() > 3);
    let (_, human) = site.get("Anna", "/api/account").await;
    assert!(human.get("title").is_none());
    assert!(human.get("playing").is_none());
    let (_, user) = site.get("", "/api/user/ANNA").await;
    assert_eq!(user["username"], "Anna");
    assert!(user.get("blocking").is_none());
    let (_, user) = site.get("Blacky", "/api/user/anna").await;
    assert_eq!(user["blocking"], false);
    let (status, body) = site.get("", "/api/user/nobody").await;
    assert_eq!((status, body), (404, json!({"error": "Not found"})));
}

#[tokio::test]
async fn upgrade_needs_account_without_games() {
    let site = Site::start().await;
    site.ok("Anna", "/api/bot/account/upgrade").await;
    let (_, anna) = site.get("Anna", "/api/account").await;
    assert_eq!(anna["title"], "BOT");
    let error = "You already have games played. Make a new account.";
    site.refused("Blacky", "/api/bot/account/upgrade", "", 400, error)
        .await;
}

#[tokio::test]
async fn bot_online_while_stream_is_open() {
    let site = Site::start().await;
    let names = async || {
        let text = site.text("", "/api/bot/online?nb=512").await;
        let mut names: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|user| user["username"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert!(names().await.is_empty());
    let events = site.stream("Blacky", "/api/stream/event").await;
    assert_eq!(names().await, ["Blacky"]);
    let (_, status) = site
        .get("", "/api/users/status?ids=blacky,Anna,nobody")
        .await;
    assert_eq!(
        status,
        json!([
            {"id": "blacky", "name": "Blacky", "title": "BOT", "online": true},
            {"id": "anna", "name": "Anna"}
        ])
    );
    let (code, body) = site.get("", "/api/users/status").await;
    assert_eq!(
        (code, text(&body["error"])),
        (400, "No user ids provided".into())
    );
    drop(events);
    until(async || site.sim.stats().streams == 0).await;
    site.sim.advance(std::time::Duration::from_secs(11));
    assert!(names().await.is_empty());
}

#[tokio::test]
async fn ongoing_games_listed_most_urgent_first() {
    let site = Site::start().await;
    let slow = site.game("days=3").await;
    let fast = site.game("clock.limit=60&clock.increment=0").await;
    let (_, playing) = site.get("Whitey", "/api/account/playing").await;
    let games = playing["nowPlaying"].as_array().unwrap();
    assert_eq!(games[0]["gameId"], fast.as_str());
    assert_eq!(games[1]["gameId"], slow.as_str());
    assert_eq!(playing["nbMyTurn"], 2);
    assert_eq!(games[0]["status"], json!({"id": 20, "name": "started"}));
    assert!(games[0].get("compat").is_none());
    let (_, one) = site.get("Whitey", "/api/account/playing?nb=1").await;
    assert_eq!(one["nowPlaying"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn ping_answers_and_unknown_path_is_404() {
    let site = Site::start().await;
    site.text("", "/__ping").await;
    let (status, body) = site.get("Anna", "/api/nothing").await;
    assert_eq!((status, body), (404, Value::Null));
}

#[tokio::test]
async fn auth_missing_scope_listed_in_headers() {
    let site = Site::start().await;
    site.sim
        .add_token("lip_reader", "Whitey", &["challenge:read"]);
    let response = site
        .request(Method::POST, "", "/api/bot/game/abcdefgh/move/e2e4")
        .bearer_auth("lip_reader")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 403);
    assert_eq!(response.headers()["x-oauth-scopes"], "challenge:read");
    assert_eq!(response.headers()["x-accepted-oauth-scopes"], "bot:play");
}
