//! Challenges.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Lines, Site, keys_in_order, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn challenge_keys_in_order() {
    let site = Site::start().await;
    let request = site
        .request(Method::POST, "Anna", "/api/challenge/BLACKY")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("{BLITZ}&rated=true&color=black"));
    let line = request.send().await.unwrap().text().await.unwrap();
    assert_eq!(
        keys_in_order(&line),
        [
            "id",
            "url",
            "status",
            "challenger",
            "destUser",
            "variant",
            "rated",
            "speed",
            "timeControl",
            "color",
            "finalColor",
            "perf",
            "direction"
        ]
    );
    let shown: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(shown["status"], "created");
    assert_eq!(shown["direction"], "out");
    assert_eq!(shown["finalColor"], "black");
    assert_eq!(shown["destUser"]["title"], "BOT");
    assert_eq!(
        shown["timeControl"],
        json!({"type": "clock", "limit": 180, "increment": 2, "show": "3+2"})
    );
    assert_eq!(
        shown["url"],
        format!("{}/{}", site.base, text(&shown["id"]))
    );
}

#[tokio::test]
async fn challenge_same_from_every_body_type() {
    let site = Site::start().await;
    let json = r#"{"clock.limit":180,"clock.increment":2,"rated":true,"color":null,"variant":"standard","fen":null}"#;
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"clock.limit\"\r\n\r\n180\r\n\
                     --b\r\nContent-Disposition: form-data; name=\"clock.increment\"\r\n\r\n2\r\n\
                     --b\r\nContent-Disposition: form-data; name=\"rated\"\r\n\r\ntrue\r\n--b--\r\n";
    let form = format!("{BLITZ}&rated=true");
    for (query, kind, body) in [
        ("", "application/json", json),
        ("", "application/x-www-form-urlencoded", form.as_str()),
        ("", "multipart/form-data; boundary=b", multipart),
        (form.as_str(), "", ""),
    ] {
        let path = format!("/api/challenge/Blacky?{query}");
        let mut request = site.request(Method::POST, "Anna", &path);
        if !kind.is_empty() {
            request = request.header("Content-Type", kind).body(body.to_owned());
        }
        let shown: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(shown["timeControl"]["show"], "3+2", "{kind}");
        assert_eq!(shown["rated"], true, "{kind}");
    }
}

#[tokio::test]
async fn fact_18_form_errors_sent_twice() {
    let site = Site::start().await;
    for (form, field) in [
        ("clock.limit=181&clock.increment=2", "clock.limit"),
        ("clock.limit=180&clock.increment=99", "clock.increment"),
        ("clock.limit=0&clock.increment=0", "clock"),
        ("days=6", "days"),
        ("rated=true&variant=chess960", "global"),
        ("variant=fromPosition", "global"),
        ("variant=bughouse", "variant"),
        ("color=green", "color"),
    ] {
        let (status, body) = site.post("Anna", "/api/challenge/Blacky", form).await;
        assert_eq!(status, 400, "{form}");
        assert!(body[field][0].is_string(), "{form}: {body}");
        assert_eq!(body[field], body["error"][field], "{form}: {body}");
    }
}

#[tokio::test]
async fn challenge_checks_in_order_of_site() {
    let site = Site::start().await;
    let refused = async |from: &str, to: &str, form: &str, error: &str| {
        let path = format!("/api/challenge/{to}");
        site.refused(from, &path, form, 400, error).await;
    };
    refused("Anna", "Nobody", BLITZ, "No such user: Nobody").await;
    refused("Anna", "anna", BLITZ, "You cannot challenge yourself").await;
    let rules = format!("{BLITZ}&rules=noAbort");
    refused("Anna", "Blacky", &rules, "Rules not applicable for bots").await;
    let fast = "clock.limit=15&clock.increment=0";
    let bots = "Bots cannot play UltraBullet. Choose a slower time control.";
    refused("Anna", "Blacky", fast, bots).await;
    // A bot's form is not valid.
    let (status, error) = site.post("Blacky", "/api/challenge/Anna", fast).await;
    assert_eq!(
        (status, &error["error"]["global"][0]),
        (400, &"Invalid speed".into())
    );
}

#[tokio::test]
async fn challenge_action_errors_have_messages() {
    let site = Site::start().await;
    let path = |id: &str, what: &str| format!("/api/challenge/{id}/{what}");
    let refused = async |user: &str, id: &str, what: &str, status, error: &str| {
        site.refused(user, &path(id, what), "", status, error).await;
    };
    refused("Anna", "zzzzzzzz", "accept", 404, "Not found").await;
    refused("Anna", "zzzzzzzz", "decline", 404, "Not found").await;
    refused("Anna", "zzzzzzzz", "cancel", 404, "Not found").await;

    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    refused(
        "Bobby",
        &id,
        "accept",
        400,
        "The challenge is not for you to accept.",
    )
    .await;
    refused("Bobby", &id, "decline", 404, "Not found").await;
    site.ok("Anna", &path(&id, "cancel")).await;
    refused(
        "Blacky",
        &id,
        "accept",
        400,
        "The challenge has been canceled.",
    )
    .await;

    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    // Canceling another user's challenge declines it.
    site.ok("Blacky", &path(&id, "cancel")).await;
    refused(
        "Blacky",
        &id,
        "accept",
        400,
        "The challenge has been declined.",
    )
    .await;

    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    site.ok("Blacky", &path(&id, "accept")).await;
    refused(
        "Blacky",
        &id,
        "accept",
        400,
        "The challenge has already been accepted",
    )
    .await;
    // Canceling a started game aborts it while that is possible.
    site.ok("Anna", &path(&id, "cancel")).await;
    let (_, shown) = site.get("Anna", &path(&id, "show")).await;
    assert_eq!(shown["status"], "accepted");
    assert_eq!(site.full("Blacky", &id).await["state"]["status"], "aborted");

    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    refused("Whitey", &id, "cancel", 400, "Missing opponentToken").await;
    let with_token = format!("{}?opponentToken=lip_anna", path(&id, "cancel"));
    site.refused("Whitey", &with_token, "", 400, "Not the opponent token")
        .await;
    site.ok(
        "Whitey",
        &format!("{}?opponentToken=lip_blacky", path(&id, "cancel")),
    )
    .await;
}

#[tokio::test]
async fn challenge_id_of_other_length_is_unknown_path() {
    let site = Site::start().await;
    let response = site
        .request(Method::POST, "Anna", "/api/challenge/abc/accept")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 404);
    assert!(
        response.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
}

#[tokio::test]
async fn fact_22_offline_challenge_unlisted_but_acceptable() {
    let site = Site::start().await;
    let listed = async || {
        let (_, list) = site.get("Blacky", "/api/challenge").await;
        list["in"].as_array().unwrap().len()
    };
    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    let slow = site.challenge("Bobby", "Blacky", "days=2").await;
    assert_eq!(listed().await, 2);
    site.sim.advance(Duration::from_secs(21));
    // Correspondence challenges do not depend on the challenger's presence.
    until(async || listed().await == 1).await;
    let (_, shown) = site
        .get("Blacky", &format!("/api/challenge/{id}/show"))
        .await;
    assert_eq!(shown["status"], "offline");
    assert_eq!(shown["direction"], "in");
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    assert_eq!(events.line().await["challenge"]["id"], slow.as_str());
    events.quiet(Duration::from_millis(100)).await;
    site.ok("Blacky", &format!("/api/challenge/{id}/accept"))
        .await;

    let old = site.challenge("Anna", "Blacky", BLITZ).await;
    assert_eq!(listed().await, 2);
    site.sim.advance(Duration::from_secs(30));
    until(async || listed().await == 1).await;
    site.sim.advance(Duration::from_secs(3 * 3_600 + 1));
    let path = format!("/api/challenge/{old}/show");
    until(async || site.get("Blacky", &path).await.0 == 404).await;
    let accept = format!("/api/challenge/{old}/accept");
    site.refused("Blacky", &accept, "", 404, "Not found").await;
}

#[tokio::test]
async fn fact_23_second_challenge_cancels_first_silently() {
    let site = Site::start().await;
    let mut events = site.stream("Anna", "/api/stream/event").await;
    let first = site.challenge("Anna", "Blacky", BLITZ).await;
    let second = site.challenge("Anna", "Blacky", "days=1").await;
    for id in [&first, &second] {
        assert_eq!(events.line().await["challenge"]["id"], id.as_str());
    }
    events.quiet(Duration::from_millis(100)).await;
    let (_, list) = site.get("Anna", "/api/challenge").await;
    assert_eq!(list["out"].as_array().unwrap().len(), 1);
    let (_, shown) = site
        .get("Anna", &format!("/api/challenge/{first}/show"))
        .await;
    assert_eq!(shown["status"], "canceled");
}

#[tokio::test]
async fn challenge_keep_alive_stream_ends_with_outcome() {
    let site = Site::start().await;
    for (user, what, done) in [
        ("Blacky", "accept", "accepted"),
        ("Blacky", "decline", "declined"),
        ("Anna", "cancel", "canceled"),
    ] {
        let path = format!("/api/challenge/Blacky?keepAliveStream=true&{BLITZ}");
        let mut stream = Lines::open(site.request(Method::POST, "Anna", &path)).await;
        let challenge = stream.line().await;
        let id = text(&challenge["id"]);
        // The challenge stays online while the stream is open; one without a stream does not.
        let other = site.challenge("Bobby", "Blacky", BLITZ).await;
        let status = async |id: &str| {
            let (_, shown) = site
                .get("Blacky", &format!("/api/challenge/{id}/show"))
                .await;
            text(&shown["status"])
        };
        site.sim.advance(Duration::from_secs(40));
        until(async || status(&other).await == "offline").await;
        assert_eq!(status(&id).await, "created");
        site.ok(user, &format!("/api/challenge/{id}/{what}")).await;
        assert_eq!(stream.line().await, json!({"done": done}));
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn chess960_position_drawn_at_game_start() {
    let site = Site::start().await;
    let form = format!("{BLITZ}&variant=chess960");
    let id = site.challenge("Whitey", "Blacky", &form).await;
    let (_, shown) = site
        .get("Whitey", &format!("/api/challenge/{id}/show"))
        .await;
    assert!(shown.get("initialFen").is_none());
    site.ok("Blacky", &format!("/api/challenge/{id}/accept"))
        .await;
    let full = site.full("Blacky", &id).await;
    assert!(text(&full["initialFen"]).contains("/pppppppp/8/8/8/8/PPPPPPPP/"));
}
