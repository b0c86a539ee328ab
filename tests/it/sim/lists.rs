//! Public data and personal settings.

use knightwatch::sim::{NewUser, SimOptions};
use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Site, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

/// Two games of the bots: Whitey is mated, Blacky resigns.
async fn two_games(site: &Site) -> [String; 2] {
    let mated = site.game(&format!("{BLITZ}&rated=true")).await;
    site.moves(&mated, "f2f3 e7e5 g2g4 d8h4").await;
    site.sim.advance(std::time::Duration::from_secs(5));
    let resigned = site.game("clock.limit=60&clock.increment=0").await;
    site.moves(&resigned, "e2e4 e7e5").await;
    site.ok("Blacky", &format!("/api/bot/game/{resigned}/resign"))
        .await;
    [mated, resigned]
}

async fn body(site: &Site, method: Method, path: &str, accept: &str, list: &str) -> String {
    let request = site.request(method, "", path).header("Accept", accept);
    let request = request.header("Content-Type", "text/plain");
    let response = request.body(list.to_owned()).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

#[tokio::test]
async fn users_by_ids_returned() {
    let site = Site::start().await;
    let users = body(
        &site,
        Method::POST,
        "/api/users",
        "*/*",
        "anna,NOBODY,Whitey",
    )
    .await;
    let users: Value = serde_json::from_str(&users).unwrap();
    let ids: Vec<&Value> = users.as_array().unwrap().iter().map(|u| &u["id"]).collect();
    assert_eq!(ids, ["anna", "whitey"]);
    assert_eq!(users[1]["title"], "BOT");
    assert!(users[0].get("url").is_none(), "not the long form");
}

#[tokio::test]
async fn crosstable_counts_half_points() {
    let site = Site::start().await;
    two_games(&site).await;
    let (_, table) = site.get("", "/api/crosstable/Blacky/whitey").await;
    assert_eq!(
        table,
        json!({"users": {"blacky": 1, "whitey": 1}, "nbGames": 2})
    );
    let drawn = site.game(BLITZ).await;
    let (_, table) = site
        .get("", "/api/crosstable/whitey/blacky?matchup=true")
        .await;
    assert_eq!(table["matchup"]["nbGames"], 2, "they play just now");
    site.moves(&drawn, "e2e4 e7e5").await;
    site.ok("Whitey", &format!("/api/bot/game/{drawn}/draw/yes"))
        .await;
    site.ok("Blacky", &format!("/api/bot/game/{drawn}/draw/yes"))
        .await;
    let (_, table) = site
        .get("", "/api/crosstable/whitey/blacky?matchup=true")
        .await;
    assert_eq!(
        table,
        json!({"users": {"whitey": 1.5, "blacky": 1.5}, "nbGames": 3})
    );
    assert_eq!(site.get("", "/api/crosstable/whitey/nobody").await.0, 404);
}

#[tokio::test]
async fn user_games_filtered_and_sorted() {
    let site = Site::start().await;
    let [mated, resigned] = two_games(&site).await;
    let running = site.game(BLITZ).await;
    site.moves(&running, "e2e4 e7e5 g1f3 b8c6").await;
    for (query, expected) in [
        ("", vec![&resigned, &mated]),
        ("sort=dateAsc", vec![&mated, &resigned]),
        ("max=1", vec![&resigned]),
        ("rated=true", vec![&mated]),
        ("rated=false", vec![&resigned]),
        ("perfType=bullet,rapid", vec![&resigned]),
        (
            "vs=Blacky&color=white&sort=dateAsc",
            vec![&mated, &resigned],
        ),
        ("color=black", vec![]),
        ("vs=anna", vec![]),
        ("since=99999999999999", vec![]),
        ("ongoing=true&finished=false", vec![&running]),
    ] {
        let path = format!("/api/games/user/whitey?{query}");
        let games = body(&site, Method::GET, &path, "application/x-ndjson", "").await;
        let ids: Vec<String> = games
            .lines()
            .map(|line| text(&serde_json::from_str::<Value>(line).unwrap()["id"]))
            .collect();
        assert_eq!(ids.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let pgn = body(&site, Method::GET, "/api/games/user/whitey", "*/*", "").await;
    assert_eq!(pgn.matches("[Event ").count(), 2);
    assert_eq!(site.get("", "/api/games/user/nobody").await.0, 404);
}

#[tokio::test]
async fn games_export_honors_parameters() {
    let site = Site::start().await;
    let [mated, resigned] = two_games(&site).await;
    let path = "/api/games/export/_ids?lastFen=true&pgnInJson=true&clocks=true";
    let list = format!("{mated},nonesuch,{resigned}");
    let games = body(&site, Method::POST, path, "application/x-ndjson", &list).await;
    let games: Vec<Value> = games
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(games.len(), 2);
    let fen = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3";
    assert_eq!(games[0]["lastFen"], fen);
    assert!(text(&games[0]["pgn"]).contains("2. g4"));
    assert_eq!(games[0]["source"], "friend");
    assert_eq!(games[1]["clocks"].as_array().unwrap().len(), 2);
    let pgn = body(&site, Method::POST, "/api/games/export/_ids", "*/*", &list).await;
    assert_eq!(pgn.matches("[Event ").count(), 2);
}

#[tokio::test]
async fn current_game_is_ongoing_or_last() {
    let site = Site::start().await;
    let path = "/api/user/Whitey/current-game";
    assert_eq!(site.get("", path).await.0, 404);
    let [_, resigned] = two_games(&site).await;
    assert!(site.text("", path).await.contains(&resigned));
    let running = site.game(BLITZ).await;
    site.moves(&running, "e2e4 e7e5 g1f3 b8c6").await;
    let pgn = site.text("", path).await;
    assert!(pgn.contains(&running) && pgn.contains("1. e4"), "{pgn}");
    assert!(!pgn.contains("e5"), "three plies late: {pgn}");
}

#[tokio::test]
async fn user_status_includes_game_if_requested() {
    let site = Site::start().await;
    let id = site.game(&format!("{BLITZ}&variant=chess960")).await;
    let path = "/api/users/status?ids=whitey,anna&withGameMetas=true";
    let (_, statuses) = site.get("", path).await;
    let game = json!({"id": id, "clock": "3+2", "variant": "chess960"});
    assert_eq!(statuses[0]["playing"], game);
    assert!(statuses[1].get("playing").is_none());
    let (_, statuses) = site.get("", "/api/users/status?ids=whitey").await;
    assert_eq!(statuses[0]["playing"], true);
}

#[tokio::test]
async fn preferences_read_and_written() {
    let site = Site::start().await;
    let (_, prefs) = site.get("Blacky", "/api/account/preferences").await;
    assert_eq!(prefs["prefs"]["takeback"], 1, "bots never take back");
    assert_eq!(prefs["language"], "en-US");
    let (_, email) = site.get("Bobby", "/api/account/email").await;
    assert_eq!(email, json!({"email": "bobby@localhost"}));
    let (_, kid) = site.get("Bobby", "/api/account/kid").await;
    assert_eq!(kid, json!({"kid": false}));
    site.sim.add_token("weak", "Bobby", &["bot:play"]);
    let weak = site.request(Method::GET, "", "/api/account/email");
    let weak = weak.bearer_auth("weak").send().await.unwrap();
    assert_eq!(weak.status(), 403);
}

#[tokio::test]
async fn kid_mode_receives_no_chat() {
    let site = Site::start().await;
    site.ok("Blacky", "/api/account/kid?v=true").await;
    assert_eq!(site.get("Blacky", "/api/account/kid").await.1["kid"], true);
    let id = site.game(BLITZ).await;
    let mut white = site.game_stream("Whitey", &id).await;
    let mut black = site.game_stream("Blacky", &id).await;
    for stream in [&mut white, &mut black] {
        assert_eq!(stream.line().await["type"], "gameFull");
    }
    let chat = format!("/api/bot/game/{id}/chat");
    site.post("Whitey", &chat, "room=player&text=hello").await;
    site.play("Whitey", &id, "e2e4").await;
    assert_eq!(white.line().await["type"], "chatLine");
    assert_eq!(black.line().await["type"], "gameState");
}

#[tokio::test]
async fn blocked_user_cannot_challenge() {
    let site = Site::start().await;
    site.ok("Blacky", "/api/rel/block/anna").await;
    let (_, anna) = site.get("Blacky", "/api/user/anna").await;
    assert_eq!(anna["blocking"], true);
    let text = "You cannot challenge Blacky.";
    site.refused("Anna", "/api/challenge/blacky", BLITZ, 400, text)
        .await;
    site.refused(
        "Anna",
        "/inbox/blacky",
        "text=why",
        400,
        "The message could not be sent",
    )
    .await;
    let only = format!("{BLITZ}&onlyIfOpponentFollowsMe=true");
    let text = "Bobby does not follow you";
    site.refused("Anna", "/api/challenge/bobby", &only, 400, text)
        .await;
    site.ok("Blacky", "/api/rel/unblock/anna").await;
    site.ok("Blacky", "/api/rel/follow/anna").await;
    let (_, anna) = site.get("Blacky", "/api/user/anna").await;
    assert_eq!(
        (&anna["blocking"], &anna["following"]),
        (&json!(false), &json!(true))
    );
    let followed = site.text("Blacky", "/api/rel/following").await;
    assert_eq!(followed.lines().count(), 1);
    site.challenge("Anna", "Blacky", &only).await;
    let (status, _) = site.post("Anna", "/inbox/blacky", "text=well").await;
    assert_eq!(status, 200);
    site.ok("Blacky", "/api/rel/unfollow/anna").await;
    assert_eq!(site.text("Blacky", "/api/rel/following").await, "");
    assert_eq!(
        site.post("Blacky", "/api/rel/follow/nobody", "").await.0,
        404
    );
}

#[tokio::test]
async fn token_revoked_is_rejected() {
    let site = Site::start().await;
    let revoked = site.request(Method::DELETE, "Bobby", "/api/token");
    assert_eq!(revoked.send().await.unwrap().status(), 204);
    let (status, body) = site.get("Bobby", "/api/account").await;
    assert_eq!((status, &body["error"]), (401, &json!("No such token")));
}

#[tokio::test]
async fn explorer_and_tablebase_answer_without_data() {
    let site = Site::start().await;
    let (status, body) = site.get("", "/api/cloud-eval?fen=startpos").await;
    let text = "No cloud evaluation available for that position";
    assert_eq!((status, &body["error"]), (404, &json!(text)));
    assert_eq!(site.get("", "/lichess?fen=x").await.0, 401);
    for kind in ["masters", "lichess", "player"] {
        let (status, body) = site.get("Whitey", &format!("/{kind}?play=e2e4")).await;
        assert_eq!((status, &body["moves"]), (200, &json!([])), "{kind}");
    }
    let (_, body) = site
        .get("", "/standard?fen=4k3/8/8/8/8/8/8/4K2R_w_K_-_0_1")
        .await;
    assert_eq!(body["category"], "unknown");
    assert!(body["moves"].as_array().unwrap().len() > 10);
    let (_, body) = site
        .get("", "/standard?fen=7k/6Q1/6K1/8/8/8/8/8_b_-_-_0_1")
        .await;
    assert_eq!(
        (&body["checkmate"], &body["category"]),
        (&json!(true), &json!("loss"))
    );
    assert_eq!(site.get("", "/standard?fen=nonsense").await.0, 400);
    // A king may be captured, and a capture is forced.
    let (_, body) = site
        .get("", "/antichess?fen=8/8/8/8/8/8/1p6/R7_b_-_-_0_1")
        .await;
    let moves = body["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 5, "all promotions of one capture: {body}");
    let won = |kind: &str| moves.iter().filter(|mv| mv[kind] == true).count();
    assert_eq!((won("variant_win"), won("variant_loss")), (5, 0));
    // The explosion of the pawn takes the king with it.
    let (_, body) = site
        .get("", "/atomic?fen=7k/6p1/8/8/8/8/1B6/K7_w_-_-_0_1")
        .await;
    let mut moves = body["moves"].as_array().unwrap().iter();
    let capture = moves.find(|mv| mv["uci"] == "b2g7").unwrap();
    assert_eq!(
        (&capture["variant_loss"], &capture["category"]),
        (&json!(true), &json!("loss"))
    );
}

#[tokio::test]
async fn spectator_chat_is_separate() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let chat = format!("/api/bot/game/{id}/chat");
    site.post("Whitey", &chat, "room=spectator&text=psst").await;
    site.post("Whitey", &chat, "room=player&text=hello").await;
    let (_, said) = site.get("", &format!("/api/game/{id}/chat")).await;
    assert_eq!(said, json!([{"text": "psst", "user": "Whitey"}]));
    assert_eq!(site.get("", "/api/game/nonesuch/chat").await.0, 404);
}

#[tokio::test]
async fn lobby_and_unusual_requests_answered() {
    let site = Site::start().await;
    let text = "This API endpoint is not for Bot accounts.";
    site.refused("Blacky", "/api/board/seek", "time=5", 403, text)
        .await;
    let json = site
        .request(Method::POST, "Anna", "/api/challenge/blacky")
        .header("Content-Type", "application/json")
        .body("{\"rated\":");
    assert_eq!(json.send().await.unwrap().status(), 400);
    let preflight = site.request(Method::OPTIONS, "", "/api/account");
    let preflight = preflight.send().await.unwrap();
    assert_eq!(preflight.status(), 204);
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let head = site.request(Method::HEAD, "Blacky", "/api/stream/event");
    assert_eq!(head.send().await.unwrap().status(), 200);
    let id = site.challenge("Anna", "Blacky", BLITZ).await;
    assert_eq!(events.line().await["challenge"]["id"], id.as_str());
}

#[tokio::test]
async fn game_counts_survive_archive_limit() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot("Carl")],
        ..SimOptions::default()
    })
    .await;
    let [mated, _] = two_games(&site).await;
    // A thousand games are archived; aborted ones do not count and built-in players would take long.
    for _ in 0..1_000 {
        let id = site.challenge("Anna", "Carl", "color=white").await;
        site.ok("Carl", &format!("/api/challenge/{id}/accept"))
            .await;
        site.ok("Anna", &format!("/api/challenge/{id}/cancel"))
            .await;
    }
    assert_eq!(site.get("", &format!("/game/export/{mated}")).await.0, 404);
    let (_, table) = site.get("", "/api/crosstable/whitey/blacky").await;
    assert_eq!(table["nbGames"], 2);
    let (_, whitey) = site.get("", "/api/user/whitey").await;
    assert_eq!(whitey["count"]["all"], 102);
}
