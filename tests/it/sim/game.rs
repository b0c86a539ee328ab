//! Games and game streams.

use knightwatch::sim::{Castling, Quirks, SimOptions};
use reqwest::Method;
use reqwest::header::USER_AGENT;
use serde_json::Value;

use super::site::{Lines, Site, keys_in_order, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn fact_21_game_full_is_first_line_with_ordered_keys() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    let line = stream.raw().await.unwrap();
    assert_eq!(
        keys_in_order(&line),
        [
            "id",
            "variant",
            "speed",
            "perf",
            "rated",
            "createdAt",
            "white",
            "black",
            "initialFen",
            "clock",
            "type",
            "state"
        ]
    );
    let full: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(full["state"]["moves"], "e2e4 e7e5");
    assert_eq!(full["initialFen"], "startpos");
    assert_eq!(
        full["clock"],
        serde_json::json!({"initial": 180_000, "increment": 2_000})
    );
    assert_eq!(full["white"]["title"], "BOT");
    let state = full["state"].as_object().unwrap();
    assert!(!state.contains_key("wdraw") && !state.contains_key("winner"));
}

#[tokio::test]
async fn player_without_title_has_null() {
    let site = Site::start().await;
    let id = site.game_between("Anna", "Blacky", BLITZ).await;
    let full = site.full("Blacky", &id).await;
    assert_eq!(full["white"].as_object().unwrap()["title"], Value::Null);
    assert_eq!(full["white"]["provisional"], true);
    assert!(full["black"].get("provisional").is_none());
}

#[tokio::test]
async fn fact_04_one_state_per_ply_then_end() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut streams = [
        site.game_stream("Whitey", &id).await,
        site.game_stream("Blacky", &id).await,
    ];
    for stream in &mut streams {
        assert_eq!(stream.line().await["type"], "gameFull");
    }
    site.moves(&id, "f2f3 e7e5 g2g4 d8h4").await;
    for stream in &mut streams {
        for moves in ["f2f3", "f2f3 e7e5", "f2f3 e7e5 g2g4"] {
            assert_eq!(
                stream.state().await,
                (moves.to_owned(), "started".to_owned())
            );
        }
        let last = stream.line().await;
        assert_eq!(last["status"], "mate");
        assert_eq!(last["winner"], "black");
        assert_eq!(last["moves"], "f2f3 e7e5 g2g4 d8h4");
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn fact_03_finished_game_stream_is_game_full_then_end() {
    let site = Site::start().await;
    let mated = site.game(BLITZ).await;
    site.moves(&mated, "f2f3 e7e5 g2g4 d8h4").await;
    let aborted = site.game(BLITZ).await;
    site.ok("Blacky", &format!("/api/bot/game/{aborted}/resign"))
        .await;
    for (id, status) in [(mated, "mate"), (aborted, "aborted")] {
        let mut stream = site.game_stream("Whitey", &id).await;
        let full = stream.line().await;
        assert_eq!(full["state"]["status"], status);
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn game_stream_second_ends_first_of_same_user_agent() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let open = |agent: &'static str| {
        let path = format!("/api/bot/game/stream/{id}");
        Lines::open(
            site.request(Method::GET, "Whitey", &path)
                .header(USER_AGENT, agent),
        )
    };
    let mut first = open("one").await;
    let mut other = open("two").await;
    let mut second = open("one").await;
    for stream in [&mut first, &mut other, &mut second] {
        assert_eq!(stream.line().await["type"], "gameFull");
    }
    assert_eq!(first.next().await, None);
    site.play("Whitey", &id, "e2e4").await;
    for stream in [&mut other, &mut second] {
        assert_eq!(stream.state().await.0, "e2e4");
    }
}

#[tokio::test]
async fn move_refused_with_message() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let refused = async |user: &str, uci: &str, error: &str| {
        let path = format!("/api/bot/game/{id}/move/{uci}");
        site.refused(user, &path, "", 400, error).await;
    };
    refused("Whitey", "e2e9", "Invalid UCI: e2e9").await;
    // The syntax of the move is checked before the turn.
    refused("Blacky", "xyz", "Invalid UCI: xyz").await;
    refused("Blacky", "e7e5", "Not your turn, or game already over").await;
    refused("Whitey", "e2e5", "Piece on e2 cannot move to e5").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/abort"))
        .await;
    refused("Whitey", "e2e4", "Not your turn, or game already over").await;
}

#[tokio::test]
async fn game_action_checks_in_order() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let human = site.game_between("Anna", "Whitey", BLITZ).await;
    site.refused(
        "Whitey",
        "/api/bot/game/zzzzzzzz/abort",
        "",
        404,
        "No such game",
    )
    .await;
    let bots = format!("/api/bot/game/{id}/abort");
    site.refused("Anna", &bots, "", 404, "Not your game").await;
    site.refused(
        "Anna",
        &format!("/api/bot/game/{human}/abort"),
        "",
        400,
        "This endpoint can only be used with a Bot account. See \
         https://lichess.org/api#operation/botAccountUpgrade",
    )
    .await;
    let unknown = format!("/api/bot/game/{id}/dance");
    site.refused("Whitey", &unknown, "", 404, "No such command")
        .await;
    let berserk = format!("/api/bot/game/{id}/berserk");
    site.refused("Whitey", &berserk, "", 400, "Cannot berserk")
        .await;
    site.refused("", &bots, "", 401, "Missing authorization header")
        .await;
}

#[tokio::test]
async fn full_ids_and_trailing_slashes_accepted() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.play("Whitey", &format!("{id}abcd"), "e2e4").await;
    site.ok("Blacky", &format!("/api/bot/game/{id}/claim-victory/"))
        .await;
}

#[tokio::test]
async fn abort_allowed_in_first_two_plies() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let path = format!("/api/bot/game/{id}/abort");
    site.refused(
        "Whitey",
        &path,
        "",
        400,
        "This game can no longer be aborted",
    )
    .await;
    let resign = format!("/api/bot/game/{id}/resign");
    site.ok("Whitey", &resign).await;
    let state = &site.full("Blacky", &id).await["state"];
    assert_eq!(
        (text(&state["status"]), text(&state["winner"])),
        ("resign".into(), "black".into())
    );
    site.refused("Whitey", &resign, "", 400, "This game cannot be resigned")
        .await;
    let id = site.game(BLITZ).await;
    site.play("Whitey", &id, "e2e4").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/resign"))
        .await;
    assert_eq!(site.full("Blacky", &id).await["state"]["status"], "aborted");
}

#[tokio::test]
async fn fact_11_castling_accepted_in_both_notations() {
    const READY: &str = "e2e4 e7e5 g1f3 g8f6 f1c4 f8c5";
    for (castling, shown) in [
        (Castling::KingMoves, "e1g1 e8g8"),
        (Castling::KingTakesRook, "e1h1 e8h8"),
    ] {
        let site = Site::with(SimOptions {
            quirks: Quirks {
                castling,
                ..Quirks::default()
            },
            ..SimOptions::default()
        })
        .await;
        let id = site.game(BLITZ).await;
        site.moves(&id, READY).await;
        site.moves(&id, "e1g1 e8h8").await;
        let full = site.full("Whitey", &id).await;
        assert_eq!(full["state"]["moves"], format!("{READY} {shown}"));
        let (_, playing) = site.get("Whitey", "/api/account/playing").await;
        assert_eq!(playing["nowPlaying"][0]["lastMove"], "e8g8");
    }
}

#[tokio::test]
async fn fact_11_chess960_castling_is_king_takes_rook() {
    let site = Site::start().await;
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1".replace(' ', "+");
    let id = site
        .game(&format!("{BLITZ}&variant=chess960&fen={start}"))
        .await;
    site.moves(&id, "e2e4 e7e5 g1f3 g8f6 f1c4 f8c5").await;
    let short = format!("/api/bot/game/{id}/move/e1g1");
    site.refused("Whitey", &short, "", 400, "Piece on e1 cannot move to g1")
        .await;
    site.play("Whitey", &id, "e1h1").await;
    let full = site.full("Whitey", &id).await;
    assert!(text(&full["state"]["moves"]).ends_with("e1h1"));
    assert_eq!(full["variant"]["short"], "960");
    assert_eq!(full["perf"]["name"], "Chess960");
    assert_eq!(
        full["initialFen"],
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    );
}

#[tokio::test]
async fn fact_12_from_position_with_black_to_move() {
    let site = Site::start().await;
    let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R b KQkq - 3 20";
    let id = site
        .game(&format!("{BLITZ}&fen={}", fen.replace(' ', "+")))
        .await;
    let full = site.full("Whitey", &id).await;
    assert_eq!(full["variant"]["key"], "fromPosition");
    assert_eq!(full["variant"]["short"], "FEN");
    assert_eq!(full["initialFen"], fen);
    assert_eq!(full["rated"], false);
    let path = format!("/api/bot/game/{id}/move/e2e4");
    site.refused(
        "Whitey",
        &path,
        "",
        400,
        "Not your turn, or game already over",
    )
    .await;
    // Both notations are accepted; king takes rook is sent.
    site.play("Blacky", &id, "e8g8").await;
    site.play("Whitey", &id, "e1a1").await;
    assert_eq!(
        site.full("Whitey", &id).await["state"]["moves"],
        "e8h8 e1a1"
    );
}

#[tokio::test]
async fn promotion_defaults_to_queen() {
    let site = Site::start().await;
    let fen = "7k/P7/8/8/8/8/8/K7 w - - 0 1".replace(' ', "+");
    let id = site.game(&format!("{BLITZ}&fen={fen}")).await;
    site.play("Whitey", &id, "a7a8").await;
    assert_eq!(site.full("Whitey", &id).await["state"]["moves"], "a7a8q");
    let (_, playing) = site.get("Blacky", "/api/account/playing").await;
    assert_eq!(playing["nowPlaying"][0]["lastMove"], "a7a8");
}

#[tokio::test]
async fn fact_19_chat_delivered_after_game_end() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let chat = format!("/api/bot/game/{id}/chat");
    let (status, _) = site
        .post("Blacky", &chat, "room=player&text=Good+luck")
        .await;
    assert_eq!(status, 200);
    assert_eq!(
        stream.raw().await.unwrap(),
        r#"{"type":"chatLine","room":"player","username":"Blacky","text":"Good luck"}"#
    );
    // Links of bots are dropped.
    let (status, _) = site
        .post("Blacky", &chat, "room=player&text=https%3A%2F%2Fx.org")
        .await;
    assert_eq!(status, 200);
    let (status, body) = site
        .post(
            "Blacky",
            &chat,
            &format!("room=player&text={}", "x".repeat(141)),
        )
        .await;
    assert_eq!(status, 400);
    assert_eq!(body["text"], body["error"]["text"]);
    let (status, body) = site.post("Blacky", &chat, "room=player").await;
    assert_eq!((status, body["error"]["text"].is_array()), (400, true));
    site.ok("Whitey", &format!("/api/bot/game/{id}/abort"))
        .await;
    let (status, _) = site.post("Blacky", &chat, "room=spectator&text=bye").await;
    assert_eq!(status, 200);
    let (_, log) = site.get("Blacky", &chat).await;
    assert_eq!(log.to_string(), r#"[{"text":"Good luck","user":"Blacky"}]"#);
}

#[tokio::test]
async fn export_of_ongoing_game_delayed_by_three_plies() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "f2f3 e7e5 g2g4").await;
    let export = format!("/game/export/{id}");
    assert!(!site.text("", &export).await.contains("f3"));
    site.play("Blacky", &id, "d8h4").await;
    let pgn = site.text("", &export).await;
    assert!(
        pgn.contains("Qh4#") && pgn.contains("0-1") && pgn.contains("%clk"),
        "{pgn}"
    );
    assert!(
        pgn.contains(&format!("[Site \"{}/{id}\"]", site.base)),
        "{pgn}"
    );
    let request = site
        .request(Method::GET, "", &export)
        .header("Accept", "application/json");
    let json: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(json["moves"], "f3 e5 g4 Qh4#");
    assert_eq!(json["winner"], "black");
    let (status, body) = site.get("", "/game/export/zzzzzzzz").await;
    assert_eq!((status, text(&body["error"])), (404, "Not found".into()));
}
