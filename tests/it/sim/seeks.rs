//! Seeks in the lobby, which people make through the Board API.

use std::time::Duration;

use knightwatch::sim::{NewUser, PlayerKind, PlayerOptions, Quirks, SimOptions};
use reqwest::Method;
use serde_json::{Value, json};

use super::site::{Lines, Site, text, until};

const SEEK: &str = "/api/board/seek";
const RAPID: &str = "time=10&increment=5";

/// A site with a further human of this rating.
async fn site_with(user: NewUser) -> Site {
    Site::with(SimOptions {
        users: vec![user],
        ..SimOptions::default()
    })
    .await
}

/// Seeks a game with a clock. The seek is open as long as the lines.
async fn seek(site: &Site, user: &str, form: &str) -> Lines {
    let request = site.request(Method::POST, user, SEEK);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    Lines::open(request.body(form.to_owned())).await
}

/// The games that a user is playing.
async fn playing(site: &Site, user: &str) -> Vec<Value> {
    let (_, body) = site.get(user, "/api/account/playing").await;
    body["nowPlaying"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn seek_is_paired_with_the_one_that_matches() {
    let site = site_with(NewUser::human("Carla").rating(1900)).await;
    let form = format!("{RAPID}&rated=true&variant=atomic&color=white&ratingRange=1400-1600");
    let mut events = site.stream("Anna", "/api/stream/event").await;
    let mut anna = seek(&site, "Anna", &form).await;
    // Another variant, mode, time control or color, and a rating out of range.
    for other in [
        "time=10&increment=5&rated=true&color=black",
        "time=10&increment=5&variant=atomic&color=black",
        "time=15&increment=5&rated=true&variant=atomic&color=black",
        "time=10&increment=5&rated=true&variant=atomic",
        "time=10&increment=5&rated=true&variant=atomic&color=white",
        "time=10&increment=5&rated=true&variant=atomic&color=black&ratingRange=1600-2000",
    ] {
        drop(seek(&site, "Bobby", other).await);
        assert_eq!(playing(&site, "Bobby").await, [] as [Value; 0], "{other}");
    }
    let black = "time=10&increment=5&rated=true&variant=atomic&color=black";
    drop(seek(&site, "Carla", black).await);
    assert_eq!(playing(&site, "Carla").await, [] as [Value; 0]);

    let mut bobby = seek(&site, "Bobby", black).await;
    // Both streams end without a line.
    assert_eq!(anna.next().await, None);
    assert_eq!(bobby.next().await, None);
    let started = events.line().await;
    assert_eq!(started["type"], "gameStart");
    let game = &started["game"];
    assert_eq!(game["source"], "lobby");
    assert_eq!(game["color"], "white");
    assert_eq!(game["rated"], true);
    assert_eq!(game["variant"]["key"], "atomic");
    assert_eq!(game["opponent"]["username"], "Bobby");
    let id = text(&game["gameId"]);
    site.ok("Anna", &format!("/api/board/game/{id}/move/e2e4"))
        .await;
    assert_eq!(playing(&site, "Bobby").await[0]["color"], "black");
}

#[tokio::test]
async fn seek_ends_with_its_stream() {
    let site = Site::start().await;
    let mut first = seek(&site, "Anna", RAPID).await;
    // A new seek of the same user replaces the one before.
    let second = seek(&site, "Anna", RAPID).await;
    assert_eq!(first.next().await, None);
    assert_eq!(site.sim.stats().seeks, 1);
    drop(second);
    until(async || site.sim.stats().seeks == 0).await;
    let _third = seek(&site, "Bobby", RAPID).await;
    assert_eq!(playing(&site, "Bobby").await, [] as [Value; 0]);
}

#[tokio::test]
async fn correspondence_seek_has_an_id_and_waits() {
    let site = Site::start().await;
    let (status, body) = site
        .post("Anna", SEEK, "days=3&variant=crazyhouse&rated=true")
        .await;
    assert_eq!(status, 200);
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id"]);
    assert_eq!(text(&body["id"]).len(), 8);
    assert_eq!(playing(&site, "Anna").await, [] as [Value; 0]);
    // Correspondence games of variants are casual, whatever the form says.
    let (status, _) = site
        .post("Bobby", SEEK, "days=3&variant=crazyhouse&rated=false")
        .await;
    assert_eq!(status, 200);
    let games = playing(&site, "Anna").await;
    assert_eq!(games.len(), 1);
    assert_eq!(games[0]["source"], "lobby");
    assert_eq!(games[0]["speed"], "correspondence");
    assert_eq!(games[0]["rated"], false);
    assert_eq!(games[0]["variant"]["key"], "crazyhouse");
}

#[tokio::test]
async fn correspondence_seek_that_is_answered_removes_no_other() {
    let site = Site::start().await;
    for days in ["1", "2", "3", "5", "7", "10"] {
        let (status, _) = site.post("Anna", SEEK, &format!("days={days}")).await;
        assert_eq!(status, 200);
    }
    // The sixth replaced the oldest.
    assert_eq!(site.sim.stats().seeks, 5);
    site.post("Bobby", SEEK, "days=14").await;
    site.post("Anna", SEEK, "days=14").await;
    assert_eq!(playing(&site, "Anna").await.len(), 1);
    assert_eq!(site.sim.stats().seeks, 5);
    site.post("Bobby", SEEK, "days=1").await;
    assert_eq!(playing(&site, "Anna").await.len(), 1);
}

#[tokio::test]
async fn seek_is_refused_to_bots_and_for_fast_games() {
    let site = site_with(NewUser::guest("Eve")).await;
    let humans = "This API endpoint is not for Bot accounts.";
    site.refused("Whitey", SEEK, RAPID, 403, humans).await;
    let (status, body) = site.post("Anna", SEEK, "time=3&increment=2").await;
    assert_eq!(
        (status, body),
        (
            400,
            json!({
                "error": { "global": ["Invalid time control"] },
                "global": ["Invalid time control"],
            })
        )
    );
    let (status, body) = site.post("Anna", SEEK, "ratingRange=2000-1000").await;
    assert_eq!(
        (status, &body["ratingRange"][0]),
        (400, &json!("Invalid value"))
    );
    let anonymous = "Anonymous users cannot create seeks";
    site.refused("Eve", SEEK, "days=3", 400, anonymous).await;
}

/// A game from the lobby of Anna against Bobby; returns its id.
async fn lobby_game(site: &Site, form: &str) -> String {
    let _anna = seek(site, "Anna", &format!("{form}&color=white")).await;
    let _bobby = seek(site, "Bobby", &format!("{form}&color=black")).await;
    text(&playing(site, "Anna").await[0]["gameId"])
}

#[tokio::test]
async fn lobby_game_without_first_move_aborted() {
    // (seek, milliseconds for the first move)
    for (form, allowed) in [
        ("time=10&increment=0", 30_000),
        ("time=30&increment=0", 35_000),
        ("time=10&increment=0&variant=chess960", 37_500),
    ] {
        let site = Site::start().await;
        let id = lobby_game(&site, form).await;
        let path = format!("/api/board/game/stream/{id}");
        let mut game = site.stream("Anna", &path).await;
        let expiration = &game.line().await["state"]["expiration"];
        assert_eq!(expiration["millisToMove"], allowed, "{form}");
        assert!(expiration["idleMillis"].as_u64().unwrap() < allowed);
        // Each side has the full time.
        site.sim.advance(Duration::from_secs(20));
        site.ok("Anna", &format!("/api/board/game/{id}/move/a2a3"))
            .await;
        let state = game.full_state().await;
        assert_eq!(state["expiration"]["millisToMove"], allowed, "{form}");
        site.sim.advance(Duration::from_millis(allowed - 5_000));
        game.quiet(Duration::from_millis(200)).await;
        site.sim.advance(Duration::from_secs(6));
        let last = game.full_state().await;
        assert_eq!(
            (&last["moves"], &last["status"]),
            (&"a2a3".into(), &"aborted".into())
        );
        assert_eq!((last.get("winner"), last.get("expiration")), (None, None));
        assert_eq!(game.next().await, None);
    }
}

#[tokio::test]
async fn lobby_game_without_clock_does_not_expire() {
    let site = Site::start().await;
    site.post("Anna", SEEK, "days=3").await;
    site.post("Bobby", SEEK, "days=3").await;
    let id = text(&playing(&site, "Anna").await[0]["gameId"]);
    let path = format!("/api/board/game/stream/{id}");
    let mut game = site.stream("Anna", &path).await;
    assert_eq!(game.line().await["state"].get("expiration"), None);
    site.sim.advance(Duration::from_secs(3_600));
    game.quiet(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn lobby_game_hides_its_expiration_by_a_quirk() {
    let site = Site::with(SimOptions {
        quirks: Quirks {
            expiration: false,
            ..Quirks::default()
        },
        ..SimOptions::default()
    })
    .await;
    let id = lobby_game(&site, RAPID).await;
    let path = format!("/api/board/game/stream/{id}");
    let mut game = site.stream("Anna", &path).await;
    assert_eq!(game.line().await["state"].get("expiration"), None);
    site.sim.advance(Duration::from_secs(31));
    until(async || site.sim.games()[0].status == "aborted").await;
}

#[tokio::test]
async fn seek_of_one_user_at_once_with_limits() {
    let site = Site::with(SimOptions {
        limits: true,
        ..SimOptions::default()
    })
    .await;
    let first = seek(&site, "Anna", RAPID).await;
    let text = "Please only run 1 request(s) at a time";
    site.refused("Anna", SEEK, RAPID, 429, text).await;
    drop(first);
}

#[tokio::test]
async fn player_answers_seeks() {
    let site = Site::start().await;
    let player: PlayerOptions = "Sparring,human,answers-seeks,delay=0ms..0ms"
        .parse()
        .unwrap();
    assert_eq!(player.kind, PlayerKind::Random);
    site.sim.add_player(player);
    for variant in ["standard", "crazyhouse"] {
        let form = format!("{RAPID}&variant={variant}&color=white");
        let mut lines = seek(&site, "Anna", &form).await;
        assert_eq!(lines.next().await, None);
        let game = &playing(&site, "Anna").await[0];
        assert_eq!(game["opponent"]["username"], "Sparring");
        assert_eq!(game["variant"]["key"], variant);
        let id = text(&game["gameId"]);
        let path = format!("/api/board/game/stream/{id}");
        let mut game = site.stream("Anna", &path).await;
        game.line().await;
        site.ok("Anna", &format!("/api/board/game/{id}/move/e2e4"))
            .await;
        assert_eq!(game.state().await.0, "e2e4");
        assert!(game.state().await.0.starts_with("e2e4 "));
        site.ok("Anna", &format!("/api/board/game/{id}/resign"))
            .await;
    }
    let refused = "Bot,answers-seeks".parse::<PlayerOptions>();
    assert!(
        refused
            .unwrap_err()
            .contains("`answers-seeks` needs `human`")
    );
}
