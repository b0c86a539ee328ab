//! Humans playing through the Board API, whose endpoints mirror those for bots.

use super::site::{Site, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

#[tokio::test]
async fn board_api_human_plays_bot() {
    let site = Site::start().await;
    let id = site.game_between("Anna", "Blacky", BLITZ).await;
    let mut board = site
        .stream("Anna", &format!("/api/board/game/stream/{id}"))
        .await;
    let full = board.line().await;
    assert_eq!(full["type"], "gameFull");
    assert_eq!(full["white"]["name"], "Anna");
    let call = |what: &str| format!("/api/board/game/{id}/{what}");
    site.ok("Anna", &call("move/e2e4")).await;
    site.play("Blacky", &id, "e7e5").await;
    assert_eq!(board.state().await.0, "e2e4");
    assert_eq!(board.state().await.0, "e2e4 e7e5");
    // A bot receives the spectator chat, a human at a board does not.
    let (status, _) = site
        .post("Anna", &call("chat"), "room=spectator&text=hidden")
        .await;
    assert_eq!(status, 200);
    let (status, _) = site
        .post("Anna", &call("chat"), "room=player&text=hello")
        .await;
    assert_eq!(status, 200);
    assert_eq!(text(&board.line().await["text"]), "hello");
    site.ok("Anna", &call("draw/yes")).await;
    assert_eq!(board.line().await["wdraw"], true);
    site.ok("Anna", &call("takeback/yes")).await;
    site.ok("Anna", &call("resign")).await;
    let last = board.full_state().await;
    assert_eq!(last["status"], "resign");
    assert_eq!(last["winner"], "black");
    assert_eq!(board.next().await, None);
}

#[tokio::test]
async fn apis_refuse_the_other_account_kind() {
    let site = Site::start().await;
    let id = site.game_between("Anna", "Blacky", BLITZ).await;
    let bots = "This endpoint can only be used with a Bot account. See \
                https://lichess.org/api#operation/botAccountUpgrade";
    site.refused(
        "Anna",
        &format!("/api/bot/game/{id}/move/e2e4"),
        "",
        400,
        bots,
    )
    .await;
    let humans = "This API endpoint is not for Bot accounts.";
    let path = format!("/api/board/game/{id}/move/e2e4");
    site.refused("Blacky", &path, "", 403, humans).await;
    let others = format!("/api/board/game/{id}/resign");
    site.refused("Bobby", &others, "", 404, "Not your game")
        .await;
    site.refused(
        "Bobby",
        "/api/board/game/nonesuch/resign",
        "",
        404,
        "No such game",
    )
    .await;
}

#[tokio::test]
async fn board_api_refuses_bullet() {
    let site = Site::start().await;
    let id = site
        .game_between("Anna", "Blacky", "clock.limit=60&clock.increment=0")
        .await;
    let text = "This game cannot be played with the Board API.";
    let path = format!("/api/board/game/{id}/move/e2e4");
    site.refused("Anna", &path, "", 400, text).await;
}
