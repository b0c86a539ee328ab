//! Rate limits and their responses.

use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule, NewUser, SimOptions};
use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Site, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

async fn limited() -> Site {
    Site::with(SimOptions {
        limits: true,
        users: vec![
            NewUser {
                follows: vec!["Whitey".to_owned()],
                ..NewUser::human("Fan")
            },
            NewUser::bot("Greeny"),
        ],
        ..SimOptions::default()
    })
    .await
}

const TOO_MANY: &str = "Too many requests. Try again later.";

/// Plays games between the two bots that end at once.
async fn exhaust(site: &Site) {
    for _ in 0..100 {
        let id = site.game(BLITZ).await;
        site.ok("Whitey", &format!("/api/bot/game/{id}/abort"))
            .await;
        // Stay below the limit of challenges per minute.
        site.sim.advance(Duration::from_secs(3));
    }
}

#[tokio::test]
async fn fact_17_hundred_bot_games_429_or_400() {
    let site = limited().await;
    // An old challenge from a bot that has reached its limit since.
    let old = site.challenge("Greeny", "Whitey", BLITZ).await;
    exhaust(&site).await;

    let limit = |answer: &Value| {
        let limit = answer["ratelimit"].clone();
        assert_eq!(limit["key"], "bot.vsBot.day", "{answer}");
        let seconds = limit["seconds"].as_u64().unwrap();
        // The day started with the first game, and each game took three seconds.
        assert!((86_000..=86_400 - 297).contains(&seconds), "{seconds}");
        answer["error"].as_str().unwrap().to_owned()
    };
    let mine = "You played 100 games against other bots today, please wait before challenging another bot.";
    let (status, answer) = site.post("Whitey", "/api/challenge/Greeny", BLITZ).await;
    assert_eq!((status, limit(&answer).as_str()), (429, mine));
    let (status, answer) = site.post("Greeny", "/api/challenge/Whitey", BLITZ).await;
    let theirs = limit(&answer);
    assert_eq!(status, 400);
    let until = theirs
        .strip_prefix("Whitey played 100 games against other bots today, please wait until ")
        .and_then(|rest| rest.strip_suffix(" to challenge them."))
        .unwrap_or_else(|| panic!("{theirs}"));
    assert!(until.parse::<jiff::Timestamp>().is_ok(), "{until}");

    // The limit is checked again when a challenge is accepted.
    let accept = format!("/api/challenge/{old}/accept");
    let (status, answer) = site.post("Whitey", &accept, "").await;
    assert_eq!((status, limit(&answer).as_str()), (429, mine));

    // Humans are not limited, and the day ends as a whole.
    site.challenge("Whitey", "Anna", BLITZ).await;
    site.sim.advance(Duration::from_secs(86_400 - 290));
    site.game(BLITZ).await;
}

#[tokio::test]
async fn fact_24_challenge_cost_depends_on_recipient() {
    let site = limited().await;
    for _ in 0..4 {
        site.challenge("Whitey", "Anna", BLITZ).await;
    }
    for _ in 0..4 {
        site.challenge("Whitey", "Blacky", BLITZ).await;
    }
    // 24 of 25 are used: one more human for five credits, then everything that costs is refused.
    site.challenge("Whitey", "Anna", BLITZ).await;
    for whom in ["Anna", "Blacky"] {
        let path = format!("/api/challenge/{whom}");
        site.refused("Whitey", &path, BLITZ, 429, TOO_MANY).await;
    }
    site.challenge("Whitey", "Fan", BLITZ).await;
    site.challenge("Greeny", "Blacky", BLITZ).await;
    site.sim.advance(Duration::from_secs(61));
    site.challenge("Whitey", "Blacky", BLITZ).await;
}

#[tokio::test]
async fn challenge_limit_200_credits_per_day() {
    let site = limited().await;
    for _ in 0..40 {
        site.challenge("Whitey", "Anna", BLITZ).await;
        site.sim.advance(Duration::from_secs(15));
    }
    site.sim.advance(Duration::from_secs(3_600));
    site.refused("Whitey", "/api/challenge/Blacky", BLITZ, 429, TOO_MANY)
        .await;
    site.sim.advance(Duration::from_secs(23 * 3_600));
    site.challenge("Whitey", "Blacky", BLITZ).await;
}

#[tokio::test]
async fn polling_refused_with_hint() {
    let site = limited().await;
    for _ in 0..30 {
        assert_eq!(site.get("Whitey", "/api/account").await.0, 200);
        site.stream("Whitey", "/api/stream/event").await;
    }
    for (path, word) in [
        (
            "/api/account",
            "Please don't poll this endpoint. Stream \
             https://lichess.org/api#tag/Board/operation/apiStreamEvent instead.",
        ),
        (
            "/api/stream/event",
            "Please don't poll this endpoint, it is intended to be streamed. See \
             https://lichess.org/api#tag/Board/operation/apiStreamEvent.",
        ),
    ] {
        assert_eq!(
            site.get("Whitey", path).await,
            (429, json!({ "error": word }))
        );
        assert_ne!(site.get("", path).await.0, 429, "who has no token");
    }
    assert_eq!(site.get("Blacky", "/api/account").await.0, 200);
    site.sim.advance(Duration::from_secs(300));
    assert_eq!(site.get("Whitey", "/api/account").await.0, 200);
}

#[tokio::test]
async fn exports_limited_concurrently() {
    let site = limited().await;
    let late = Fault::ResponseLate(Duration::from_secs(60));
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::Games, late).times(2));
    let path = "/api/games/user/Whitey";
    let first = async { tokio::join!(site.get("", path), site.get("", path)) };
    let then = async {
        // Until both have started; the first two are late.
        until(async || site.sim.faults().request_count(Endpoint::Games) == 2).await;
        until(async || site.get("", path).await.0 != 200).await;
        let busy = json!({ "error": "Please only run 2 request(s) at a time" });
        assert_eq!(site.get("", path).await, (429, busy));
        site.sim.advance(Duration::from_secs(60));
    };
    let ((one, other), ()) = tokio::join!(first, then);
    assert_eq!((one.0, other.0), (200, 200));
    assert_eq!(site.get("", path).await.0, 200);
}

#[tokio::test]
async fn proxy_limit_answers_html_page() {
    let site = Site::with(SimOptions {
        nginx_limit: Some(5),
        ..SimOptions::default()
    })
    .await;
    let id = site.game(BLITZ).await;
    site.play("Whitey", &id, "e2e4").await;
    site.play("Blacky", &id, "e7e5").await;
    assert_eq!(site.get("", "/__ping").await.0, 200);
    let path = format!("/api/bot/game/{id}/move/g1f3");
    let refused = site.request(Method::POST, "Whitey", &path).send().await;
    let refused = refused.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["content-type"], "text/html");
    let page = refused.text().await.unwrap();
    assert!(page.contains("429 Too Many Requests"), "{page}");
    site.sim.advance(Duration::from_secs(60));
    site.play("Whitey", &id, "g1f3").await;
}

#[tokio::test]
async fn limits_off_by_default() {
    let site = Site::start().await;
    for _ in 0..40 {
        assert_eq!(site.get("Whitey", "/api/account").await.0, 200);
        site.challenge("Whitey", "Anna", BLITZ).await;
    }
}
