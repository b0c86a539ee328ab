//! Games of variants, as Lichess sends them.

use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Site, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

/// The only game that a player is playing.
async fn playing(site: &Site) -> Value {
    let (_, body) = site.get("Whitey", "/api/account/playing").await;
    body["nowPlaying"][0].clone()
}

/// Plays moves, White first, from this ply on.
async fn continue_with(site: &Site, id: &str, ply: usize, moves: &str) {
    for (number, uci) in moves.split(' ').enumerate() {
        let user = ["Whitey", "Blacky"][(ply + number) % 2];
        site.play(user, id, uci).await;
    }
}

/// The end of a game on its stream and in its exports.
async fn assert_won_by_white(site: &Site, id: &str, tag: &str, last: &str) {
    let full = site.full("Whitey", id).await;
    let state = &full["state"];
    assert_eq!(state["status"], "variantEnd");
    assert_eq!(state["winner"], "white");
    let path = format!("/game/export/{id}");
    let pgn = site.text("Anna", &path).await;
    for line in [
        format!("[Variant \"{tag}\"]"),
        "[Result \"1-0\"]".to_owned(),
    ] {
        assert!(pgn.contains(&line), "{line}: {pgn}");
    }
    let request = site
        .request(Method::GET, "Anna", &path)
        .header("Accept", "application/json");
    let exported: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(exported["status"], "variantEnd");
    assert_eq!(exported["winner"], "white");
    assert_eq!(exported["variant"], full["variant"]["key"]);
    assert_eq!(exported["perf"], full["variant"]["key"]);
    assert!(text(&exported["moves"]).ends_with(last), "{exported}");
}

#[tokio::test]
async fn drop_is_sent_with_its_role_and_pockets_in_fen() {
    let site = Site::start().await;
    let id = site.game(&format!("{BLITZ}&variant=crazyhouse")).await;
    let mut stream = site.game_stream("Blacky", &id).await;
    let full = stream.line().await;
    assert_eq!(
        full["variant"],
        json!({"key": "crazyhouse", "name": "Crazyhouse", "short": "Crazy"})
    );
    assert_eq!(full["initialFen"], "startpos");
    assert_eq!(full["perf"]["name"], "Crazyhouse");
    for uci in ["N@f3", "P@e8", "P@", "K@e4"] {
        let (status, _) = site
            .post("Whitey", &format!("/api/bot/game/{id}/move/{uci}"), "")
            .await;
        assert_eq!(status, 400, "{uci}");
    }
    let moves = "e2e4 d7d5 e4d5 d8d5 P@e4";
    site.moves(&id, "e2e4 d7d5 e4d5 d8d5").await;
    // The pawn in hand does not make the rook's move legal.
    let rook_move = format!("/api/bot/game/{id}/move/a1e4");
    assert_eq!(site.post("Whitey", &rook_move, "").await.0, 400);
    continue_with(&site, &id, 4, "P@e4").await;
    let mut sent = Vec::new();
    while sent.last().map(String::as_str) != Some(moves) {
        sent.push(stream.state().await.0);
    }
    assert_eq!(sent.len(), 5);
    let game = playing(&site).await;
    assert_eq!(game["lastMove"], "e4e4");
    assert_eq!(
        game["fen"],
        "rnb1kbnr/ppp1pppp/8/3q4/4P3/8/PPPP1PPP/RNBQKBNR/p b KQkq - 0 3"
    );
}

#[tokio::test]
async fn explosion_removes_pieces_and_ends_the_game() {
    let site = Site::start().await;
    let id = site.game(&format!("{BLITZ}&variant=atomic")).await;
    site.moves(&id, "e2e4 d7d5 e4d5").await;
    let fen = text(&playing(&site).await["fen"]);
    assert!(
        fen.starts_with("rnbqkbnr/ppp1pppp/8/8/8/8/PPPP1PPP/RNBQKBNR b"),
        "{fen}"
    );
    continue_with(&site, &id, 3, "a7a6 g1f3 a6a5 f3g5 a5a4 g5f7").await;
    assert_won_by_white(&site, &id, "Atomic", "Nxf7#").await;
}

#[tokio::test]
async fn third_check_ends_the_game() {
    let site = Site::start().await;
    let id = site.game(&format!("{BLITZ}&variant=threeCheck")).await;
    site.moves(&id, "e2e4 e7e5 f1c4 a7a6 c4f7 e8f7 d1h5 g7g6")
        .await;
    let fen = text(&playing(&site).await["fen"]);
    assert!(fen.ends_with("+2+0"), "{fen}");
    continue_with(&site, &id, 8, "h5g6").await;
    assert_won_by_white(&site, &id, "Three-check", "Qxg6#").await;
}

#[tokio::test]
async fn special_start_is_in_challenge_and_game() {
    let site = Site::start().await;
    for (key, short, start) in [
        (
            "horde",
            "Horde",
            "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1",
        ),
        (
            "racingKings",
            "Racing",
            "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1",
        ),
    ] {
        let form = format!("{BLITZ}&variant={key}&color=white");
        let (_, challenge) = site.post("Whitey", "/api/challenge/Blacky", &form).await;
        assert_eq!(challenge["initialFen"], start);
        assert_eq!(challenge["variant"]["short"], short);
        let id = text(&challenge["id"]);
        site.ok("Blacky", &format!("/api/challenge/{id}/accept"))
            .await;
        assert_eq!(site.full("Blacky", &id).await["initialFen"], start);
        site.ok("Whitey", &format!("/api/bot/game/{id}/abort"))
            .await;
        let mut events = site.stream("Blacky", "/api/stream/event").await;
        site.sim.offer_rematch("Whitey", &id).unwrap();
        let offer = loop {
            let event = events.line().await;
            if event["challenge"]["rematchOf"] == id.as_str() {
                break event;
            }
        };
        assert_eq!(offer["challenge"]["initialFen"], start);
    }
}
