//! Offered and automatic draws.

use std::time::Duration;

use super::site::Site;

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn fact_07_draw_offer_state_precedes_move() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5 g1f3").await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let path = format!("/api/bot/game/{id}/move/b8c6?offeringDraw=true");
    site.ok("Blacky", &path).await;
    let offer = stream.line().await;
    assert_eq!(
        (&offer["moves"], &offer["bdraw"]),
        (&"e2e4 e7e5 g1f3".into(), &true.into())
    );
    let moved = stream.line().await;
    assert_eq!(moved["moves"], "e2e4 e7e5 g1f3 b8c6");
    assert_eq!(moved["bdraw"], true);
    // White's move declines: the flag disappears with the next state.
    site.play("Whitey", &id, "f1b5").await;
    assert_eq!(stream.line().await["bdraw"], true);
    site.play("Blacky", &id, "a7a6").await;
    assert!(stream.line().await.get("bdraw").is_none());
}

#[tokio::test]
async fn fact_08_draw_decline_is_silent_and_next_offer_waits() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let draw = |answer: &str| format!("/api/bot/game/{id}/draw/{answer}");
    site.ok("Blacky", &draw("yes")).await;
    assert_eq!(stream.line().await["bdraw"], true);
    site.ok("Whitey", &draw("no")).await;
    site.ok("Blacky", &draw("yes")).await;
    stream.quiet(Duration::from_millis(150)).await;
    assert!(
        site.full("Whitey", &id).await["state"]
            .get("bdraw")
            .is_none()
    );
}

#[tokio::test]
async fn draw_offer_accepted_ends_game() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    assert!(
        site.full("Whitey", &id).await["state"]
            .get("wdraw")
            .is_none()
    );
    site.moves(&id, "e2e4 e7e5").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    site.ok("Blacky", &format!("/api/bot/game/{id}/draw/1"))
        .await;
    let last = stream.line().await;
    assert_eq!(last["status"], "draw");
    assert!(last.get("winner").is_none());
    assert_eq!(stream.next().await, None);
    // A move that offers a draw and ends the game is answered with 200.
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5 g1f3").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    site.ok(
        "Blacky",
        &format!("/api/bot/game/{id}/move/b8c6?offeringDraw=true"),
    )
    .await;
    let state = &site.full("Blacky", &id).await["state"];
    assert_eq!(state["status"], "draw");
    assert_eq!(state["moves"], "e2e4 e7e5 g1f3");
}

#[tokio::test]
async fn fact_09_threefold_repetition_sent_twice() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1").await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.play("Blacky", &id, "f6g8").await;
    let first = stream.state().await;
    let second = stream.state().await;
    assert_eq!(first.0, second.0);
    assert_eq!((first.1.as_str(), second.1.as_str()), ("started", "draw"));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn fact_09_automatic_draws() {
    let site = Site::start().await;
    for (fen, uci, status) in [
        ("4k3/8/8/8/8/8/7R/4K3 w - - 99 80", "h2h3", "draw"),
        ("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1", "f2f7", "stalemate"),
        ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2", "draw"),
    ] {
        let id = site
            .game(&format!("{BLITZ}&fen={}", fen.replace(' ', "+")))
            .await;
        let mut stream = site.game_stream("Blacky", &id).await;
        stream.line().await;
        site.play("Whitey", &id, uci).await;
        assert_eq!(stream.state().await, (uci.to_owned(), status.to_owned()));
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn draw_offer_to_bare_king_ends_game() {
    let site = Site::start().await;
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1".replace(' ', "+");
    let id = site.game(&format!("{BLITZ}&fen={fen}")).await;
    site.moves(&id, "e2e4 e8e7").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    let state = &site.full("Whitey", &id).await["state"];
    assert_eq!(state["status"], "insufficientMaterialClaim");
}
