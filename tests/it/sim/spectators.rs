//! Spectator streams.

use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Lines, Site};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

async fn open_list_stream(site: &Site, path: &str, list: &str) -> Lines {
    let request = site.request(Method::POST, "", path);
    let request = request.header("Content-Type", "text/plain");
    Lines::open(request.body(list.to_owned())).await
}

/// The board, the move and both clocks of the next position.
async fn position(lines: &mut Lines) -> (String, Value) {
    let line = lines.line().await;
    assert!(line["id"].is_null(), "{line}");
    assert!(line["wc"].is_u64() && line["bc"].is_u64(), "{line}");
    (super::site::text(&line["fen"]), line["lm"].clone())
}

#[tokio::test]
async fn spectator_stream_delayed_by_three_plies() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "f2f3 e7e5 g2g4").await;
    let mut lines = site.stream("", &format!("/api/stream/game/{id}")).await;
    let game = lines.line().await;
    assert_eq!(game["id"], id.as_str());
    assert_eq!(game["status"], json!({"id": 20, "name": "started"}));
    assert_eq!(game["players"]["white"]["user"]["name"], "Whitey");
    assert_eq!(
        (&game["turns"], &game["player"]),
        (&json!(0), &json!("white"))
    );
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w".to_owned();
    assert_eq!(position(&mut lines).await, (start, Value::Null));
    site.play("Blacky", &id, "d8h4").await;
    // The game ended by mate: now everything is shown.
    for mv in ["f2f3", "e7e5", "g2g4", "d8h4"] {
        assert_eq!(position(&mut lines).await.1, mv);
    }
    let end = lines.line().await;
    assert_eq!(
        (&end["status"]["name"], &end["winner"]),
        (&json!("mate"), &json!("black"))
    );
    assert_eq!(end["lastMove"], "d8h4");
    assert_eq!(lines.next().await, None);
    // A finished game is shown completely at once.
    let mut lines = site.stream("", &format!("/api/stream/game/{id}")).await;
    let mut count = 0;
    while lines.next().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 7);
    assert_eq!(site.get("", "/api/stream/game/nonesuch").await.0, 404);
}

#[tokio::test]
async fn spectator_stream_sends_each_ply_once() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut lines = site.stream("", &format!("/api/stream/game/{id}")).await;
    lines.line().await;
    position(&mut lines).await;
    site.moves(&id, "e2e4 e7e5 g1f3 b8c6 f1b5").await;
    assert_eq!(position(&mut lines).await.1, "e2e4");
    assert_eq!(position(&mut lines).await.1, "e7e5");
    lines.quiet(std::time::Duration::from_millis(50)).await;
}

#[tokio::test]
async fn games_by_users_stream_sends_starts_and_ends() {
    let site = Site::start().await;
    let on = site.game(BLITZ).await;
    let path = "/api/stream/games-by-users";
    let mut current = open_list_stream(
        &site,
        &format!("{path}?withCurrentGames=true"),
        "whitey,BLACKY",
    )
    .await;
    let news = current.line().await;
    assert_eq!(news["id"], on.as_str());
    assert_eq!(
        (&news["status"], &news["statusName"]),
        (&json!(20), &json!("started"))
    );
    assert_eq!(
        news["players"]["black"],
        json!({"userId": "blacky", "rating": 1500})
    );
    assert_eq!(
        news["clock"],
        json!({"initial": 180, "increment": 2, "totalTime": 260})
    );
    let mut lines = open_list_stream(&site, path, "whitey,blacky").await;
    // Games with other users are not sent.
    site.game_between("Anna", "Blacky", BLITZ).await;
    site.ok("Whitey", &format!("/api/bot/game/{on}/abort"))
        .await;
    let id = site.game("days=2").await;
    for stream in [&mut current, &mut lines] {
        let news = stream.line().await;
        assert_eq!(
            (&news["id"], &news["statusName"]),
            (&json!(on), &json!("aborted"))
        );
        let news = stream.line().await;
        assert_eq!(
            (&news["id"], &news["statusName"]),
            (&json!(id), &json!("started"))
        );
    }
}

#[tokio::test]
async fn games_by_ids_stream_accepts_more_ids() {
    let site = Site::start().await;
    let [first, second] = [site.game(BLITZ).await, site.game(BLITZ).await];
    let mut lines = open_list_stream(&site, "/api/stream/games/mine", &first).await;
    assert_eq!(lines.line().await["id"], first.as_str());
    let add = |name: &str| {
        let request = site.request(Method::POST, "", &format!("/api/stream/games/{name}/add"));
        request
            .header("Content-Type", "text/plain")
            .body(second.clone())
            .send()
    };
    assert_eq!(add("yours").await.unwrap().status(), 404);
    assert_eq!(add("mine").await.unwrap().status(), 200);
    assert_eq!(lines.line().await["id"], second.as_str());
    site.ok("Whitey", &format!("/api/bot/game/{second}/abort"))
        .await;
    let news = lines.line().await;
    assert_eq!((&news["id"], &news["status"]), (&json!(second), &json!(25)));
}

#[tokio::test]
async fn spectator_streams_limited_per_address() {
    let site = Site::with(knightwatch::sim::SimOptions {
        limits: true,
        ..Default::default()
    })
    .await;
    let id = site.game(BLITZ).await;
    let path = format!("/api/stream/game/{id}");
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(site.stream("", &path).await);
    }
    let (status, body) = site.get("", &path).await;
    let text = "Please only run 8 request(s) at a time";
    assert_eq!((status, &body["error"]), (429, &json!(text)));
    streams.pop();
    super::site::until(|| async {
        let again = site.request(Method::GET, "", &path).send().await;
        again.unwrap().status() == 200
    })
    .await;
}
