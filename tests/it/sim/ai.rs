//! Games against the AI, and endpoints that change clocks.

use std::time::{Duration, Instant};

use knightwatch::sim::{NewUser, Quirks, SimOptions, TimeControl};
use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Site, keys_in_order, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

/// Response to the creation of such a game.
async fn engine_game(site: &Site, form: &str) -> Value {
    let (status, game) = site.post("Whitey", "/api/challenge/ai", form).await;
    assert_eq!(status, 201, "{form}: {game}");
    game
}

#[tokio::test]
async fn fact_13_ai_player_object() {
    let site = Site::start().await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let game = engine_game(&site, &format!("level=3&color=white&{BLITZ}")).await;
    let id = text(&game["id"]);
    let full = site.full("Whitey", &id).await;
    assert_eq!(full["black"], json!({"aiLevel": 3}));
    assert_eq!(full["white"]["name"], "Whitey");
    let start = events.line().await;
    let shown = json!({"id": null, "username": "Stockfish level 3", "ai": 3});
    assert_eq!(start["game"]["opponent"], shown);
    assert_eq!(start["game"]["source"], "ai");
    assert_eq!(start["game"]["compat"], json!({"bot": true, "board": true}));
    let (_, playing) = site.get("Whitey", "/api/account/playing").await;
    assert_eq!(playing["nowPlaying"][0]["opponent"], shown);
    let line = site.sim.games()[0].to_string();
    assert!(line.contains("Whitey - Stockfish level 3"), "{line}");
}

#[tokio::test]
async fn ai_challenge_response_matches_sample_keys() {
    let site = Site::start().await;
    let request = site
        .request(Method::POST, "Whitey", "/api/challenge/ai")
        .body(format!("level=1&color=black&{BLITZ}"));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let line = answer.text().await.unwrap();
    assert_eq!(
        keys_in_order(&line),
        [
            "id",
            "variant",
            "speed",
            "perf",
            "rated",
            "source",
            "createdAt",
            "fen",
            "turns",
            "status",
            "player",
            "fullId"
        ]
    );
    let game: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(game["player"], "white", "the side to move");
    assert_eq!(game["perf"], "blitz");
    assert_eq!(game["status"], json!({"id": 20, "name": "started"}));
    assert!(text(&game["fullId"]).starts_with(&text(&game["id"])));
    assert_eq!(text(&game["fullId"]).len(), 12);
}

#[tokio::test]
async fn move_against_ai_is_played_although_the_client_has_gone() {
    // The delay of the response takes twenty seconds.
    let site = Site::with(SimOptions {
        speed: 0.025,
        ..SimOptions::default()
    })
    .await;
    let game = engine_game(&site, "level=2&color=white&days=3").await;
    let id = text(&game["id"]);
    let path = format!("/api/bot/game/{id}/move/a2a3");
    let request = site.request(Method::POST, "Whitey", &path);
    let timeout = request.timeout(Duration::from_secs(3)).send().await;
    assert!(timeout.is_err_and(|error| error.is_timeout()));
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.sim.advance(Duration::from_secs(1));
    assert!(stream.state().await.0.starts_with("a2a3"));
}

#[tokio::test]
async fn ai_moves_and_grants_takebacks() {
    let site = Site::start().await;
    let game = engine_game(&site, "level=2&color=black&days=3").await;
    let id = text(&game["id"]);
    let mut stream = site.game_stream("Whitey", &id).await;
    let full = stream.line().await;
    let mut moves = text(&full["state"]["moves"]);
    if moves.is_empty() {
        moves = stream.state().await.0;
    }
    assert_eq!(moves.split(' ').count(), 1, "it has moved at once");
    let begun = Instant::now();
    site.play("Whitey", &id, "a7a6").await;
    assert!(begun.elapsed() >= Duration::from_millis(500));
    let (moves, _) = stream.state().await;
    assert!(moves.ends_with(" a7a6"), "{moves}");
    let (moves, _) = stream.state().await;
    assert_eq!(moves.split(' ').count(), 3, "{moves}");
    let call = |what: &str| format!("/api/bot/game/{id}/{what}");
    // Games against the AI have no draw offers in chat and no chat.
    site.ok("Whitey", &call("draw/yes")).await;
    let (status, _) = site
        .post("Whitey", &call("chat"), "room=player&text=hello")
        .await;
    assert_eq!(status, 200);
    site.ok("Whitey", &call("takeback/yes")).await;
    let (moves, _) = stream.state().await;
    assert_eq!(moves.split(' ').count(), 1, "{moves}");
    site.play("Whitey", &id, "h7h6").await;
    assert!(stream.state().await.0.ends_with(" h7h6"));
    site.ok("Whitey", &call("claim-victory")).await;
    stream.state().await;
    site.ok("Whitey", &call("resign")).await;
    assert_eq!(stream.full_state().await["status"], "resign");
    let pgn = site.text("", &format!("/game/export/{id}")).await;
    assert!(pgn.contains("[White \"lichess AI level 2\"]"), "{pgn}");
}

#[tokio::test]
async fn ai_challenge_invalid_parameters_refused() {
    let site = Site::start().await;
    for form in ["level=9", "level=0", "level=x", "", "level=3&days=4"] {
        let (status, body) = site.post("Whitey", "/api/challenge/ai", form).await;
        assert_eq!(status, 400, "{form}");
        assert!(body["error"].is_object(), "{form}: {body}");
    }
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1".replace(' ', "+");
    let game = engine_game(&site, &format!("level=1&color=white&fen={fen}")).await;
    assert_eq!(game["variant"]["key"], "fromPosition");
    assert_eq!(game["speed"], "correspondence");
}

#[tokio::test]
async fn ai_challenge_of_a_bot_at_ultra_bullet_refused() {
    let site = Site::with(SimOptions {
        limits: true,
        ..SimOptions::default()
    })
    .await;
    let form = "level=1&clock.limit=15&clock.increment=0";
    // More calls than the limit of five in a minute: none is charged.
    for _ in 0..6 {
        let (status, body) = site.post("Whitey", "/api/challenge/ai", form).await;
        let expected = json!({
            "global": ["Invalid speed"],
            "error": {"global": ["Invalid speed"]},
        });
        assert_eq!((status, body), (400, expected));
    }
    engine_game(&site, "level=1&clock.limit=30&clock.increment=0").await;
    assert_eq!(site.post("Anna", "/api/challenge/ai", form).await.0, 201);
}

#[tokio::test]
async fn fact_25_start_clocks_and_berserk_send_nothing() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let tokens = ["Whitey", "Blacky"].map(|name| site.sim.token_of(name));
    let path = |one: &str, other: &str| {
        format!("/api/challenge/{id}/start-clocks?token1={one}&token2={other}")
    };
    site.ok("", &path(&tokens[0], &tokens[1])).await;
    let berserk = format!("/api/bot/game/{id}/berserk");
    site.refused("Whitey", &berserk, "", 400, "Cannot berserk")
        .await;
    // No event is sent, but the first move costs time now.
    site.sim.advance(Duration::from_secs(30));
    site.ok("", &path(&tokens[0], &tokens[1])).await;
    site.play("Whitey", &id, "e2e4").await;
    let state = stream.full_state().await;
    assert_eq!(state["moves"], "e2e4", "the first line since the start");
    let left = state["wtime"].as_i64().unwrap();
    assert!((90_000..=152_000).contains(&left), "{left}");
}

#[tokio::test]
async fn start_clocks_needs_both_tokens() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.sim.add_token("weak", "Blacky", &["bot:play"]);
    site.sim.add_token("other", "Whitey", &["challenge:write"]);
    let [white, anna] = ["Whitey", "Anna"].map(|name| site.sim.token_of(name));
    for (query, status) in [
        (String::new(), 401),
        (format!("token1={white}&token2=none"), 401),
        (format!("token1={white}&token2=weak"), 403),
        (format!("token1={white}&token2=other"), 401),
        (format!("token1={white}&token2={anna}"), 404),
        (format!("token1={white}"), 404),
    ] {
        let path = format!("/api/challenge/{id}/start-clocks?{query}");
        assert_eq!(site.post("", &path, "").await.0, status, "{query}");
    }
    let game = engine_game(&site, &format!("level=1&color=white&{BLITZ}")).await;
    let id = text(&game["id"]);
    site.ok(
        "",
        &format!("/api/challenge/{id}/start-clocks?token1={white}"),
    )
    .await;
}

#[tokio::test]
async fn add_time_adds_to_opponent_clock() {
    let site = Site::start().await;
    let id = site.game("clock.limit=180&clock.increment=0").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    let give = |id: &str, seconds: u32| format!("/api/round/{id}/add-time/{seconds}");
    for (seconds, black) in [(15, 195_000), (1, 200_000), (600, 260_000)] {
        site.ok("Whitey", &give(&id, seconds)).await;
        let state = stream.full_state().await;
        assert_eq!(state["btime"], black);
        assert_eq!(state["wtime"], 180_000);
    }
    let (status, _) = site.post("Anna", &give(&id, 15), "").await;
    assert_eq!(status, 404);
    let long = site.game("clock.limit=7200&clock.increment=0").await;
    let mut stream = site.game_stream("Blacky", &long).await;
    stream.line().await;
    site.ok("Whitey", &give(&long, 60)).await;
    site.play("Whitey", &long, "e2e4").await;
    let state = stream.full_state().await;
    assert_eq!(
        (&state["moves"], &state["btime"]),
        (&json!("e2e4"), &json!(7_200_000))
    );
    let no = "This game doesn't allow giving time";
    let unlimited = site.game("").await;
    site.refused("Whitey", &give(&unlimited, 15), "", 400, no)
        .await;
    site.ok("Whitey", &format!("/api/bot/game/{long}/abort"))
        .await;
    site.refused("Whitey", &give(&long, 15), "", 400, no).await;
}

#[tokio::test]
async fn add_time_push_quirk() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot("Carl")],
        quirks: Quirks {
            add_time_push: false,
            ..Quirks::default()
        },
        ..SimOptions::default()
    })
    .await;
    let id = site.game("clock.limit=180&clock.increment=0").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    site.ok("Whitey", &format!("/api/round/{id}/add-time/15"))
        .await;
    site.play("Whitey", &id, "e2e4").await;
    let state = stream.full_state().await;
    assert_eq!(
        (&state["moves"], &state["btime"]),
        (&json!("e2e4"), &json!(195_000))
    );
}

#[tokio::test]
async fn bulk_pairing_announced_by_game_start() {
    let site = Site::start().await;
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let bullet = TimeControl::clock(60, 0);
    let id = site
        .sim
        .pair(["Anna", "Blacky"], bullet, &["noAbort"])
        .unwrap();
    let start = events.line().await;
    assert_eq!(start["type"], "gameStart");
    assert_eq!(start["game"]["source"], "api");
    assert_eq!(
        start["game"]["compat"],
        json!({"bot": true, "board": false})
    );
    let abort = format!("/api/bot/game/{id}/abort");
    let no = "This game can no longer be aborted";
    site.refused("Blacky", &abort, "", 400, no).await;
    assert_eq!(site.sim.pair(["Anna", "Nobody"], bullet, &[]), None);
}
