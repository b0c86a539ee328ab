//! Clocks, flags, absence and takebacks.

use std::time::Duration;

use knightwatch::sim::{NewUser, SimOptions};
use serde_json::Value;

use super::site::{Site, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

fn clocks(state: &Value) -> (i64, i64) {
    (
        state["wtime"].as_i64().unwrap(),
        state["btime"].as_i64().unwrap(),
    )
}

#[tokio::test]
async fn fact_05_clock_starts_after_two_plies() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let wait = |seconds| site.sim.advance(Duration::from_secs(seconds));
    wait(50);
    site.play("Whitey", &id, "f2f3").await;
    wait(60);
    site.play("Blacky", &id, "e7e5").await;
    for _ in 0..2 {
        assert_eq!(clocks(&stream.full_state().await), (180_000, 180_000));
    }
    wait(10);
    site.play("Whitey", &id, "g2g4").await;
    let (white, black) = clocks(&stream.full_state().await);
    assert!((170_000..=172_000).contains(&white), "{white}");
    assert!((179_000..=180_000).contains(&black));
    assert_eq!(white % 10, 0);
    wait(20);
    site.play("Blacky", &id, "d8h4").await;
    let (_, black) = clocks(&stream.full_state().await);
    assert!((158_000..=160_000).contains(&black), "{black}");
}

#[tokio::test]
async fn fact_06_late_move_answered_200_and_loses_on_time() {
    // Between the flag and the next keep-alive line, at which it is checked as well, there is little time.
    let site = Site::with(SimOptions {
        speed: 0.1,
        ..SimOptions::default()
    })
    .await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    site.sim.advance(Duration::from_secs(179));
    assert_eq!(site.full("Whitey", &id).await["state"]["status"], "started");
    site.sim.advance(Duration::from_secs(2));
    site.play("Whitey", &id, "g1f3").await;
    let last = stream.full_state().await;
    assert_eq!(last["status"], "outoftime");
    assert_eq!(last["winner"], "black");
    assert_eq!(last["moves"], "e2e4 e7e5");
    assert_eq!(last["wtime"], 0);
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn flag_checked_at_keep_alive() {
    let site = Site::with(SimOptions {
        speed: 50.0,
        ..SimOptions::default()
    })
    .await;
    let id = site.game("clock.limit=15&clock.increment=1").await;
    site.moves(&id, "e2e4 e7e5").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    assert_eq!(stream.full_state().await["status"], "outoftime");
}

#[tokio::test]
async fn timeout_without_mating_material_is_draw() {
    let site = Site::start().await;
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let id = site
        .game(&format!("{BLITZ}&fen={}", fen.replace(' ', "+")))
        .await;
    site.moves(&id, "e2e4 e8e7").await;
    site.sim.advance(Duration::from_secs(200));
    site.play("Whitey", &id, "e4e5").await;
    let state = &site.full("Whitey", &id).await["state"];
    assert_eq!(state["status"], "outoftime");
    assert!(state.get("winner").is_none());
}

#[tokio::test]
async fn fact_16_friend_game_never_aborted_by_site() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.sim.advance(Duration::from_secs(3_600));
    stream.quiet(Duration::from_millis(200)).await;
    site.play("Whitey", &id, "e2e4").await;
    assert_eq!(clocks(&stream.full_state().await), (180_000, 180_000));
    // A game without moves is deleted after a day, without an event.
    let forgotten = site.game(BLITZ).await;
    site.sim.advance(Duration::from_secs(25 * 3_600));
    until(async || site.sim.games().iter().all(|game| game.id != forgotten)).await;
    let path = format!("/api/bot/game/{forgotten}/move/e2e4");
    site.refused("Whitey", &path, "", 404, "No such game").await;
}

#[tokio::test]
async fn clockless_game_without_first_move_lost() {
    let site = Site::start().await;
    let ended = |id: String| {
        let sim = &site.sim;
        async move {
            let over = || sim.games().into_iter().find(|game| game.id == id).unwrap();
            until(async || over().status != "started").await;
            over().status
        }
    };
    let days = site.game("days=1").await;
    let unlimited = site.game("").await;
    site.sim.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(ended(days).await, "outoftime");
    site.sim.advance(Duration::from_secs(21 * 86_400));
    assert_eq!(ended(unlimited).await, "aborted");
}

#[tokio::test]
async fn deleted_game_released_by_builtin_player() {
    let site = Site::start().await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let sleepy = "Sleepy,kind=idle,challenges=Whitey,color=white,clock=180+0";
    site.sim.add_player(sleepy.parse().unwrap());
    let mut challenge = async || loop {
        let event = events.line().await;
        if event["type"] == "challenge" {
            break text(&event["challenge"]["id"]);
        }
    };
    let id = challenge().await;
    site.ok("Whitey", &format!("/api/challenge/{id}/accept"))
        .await;
    let mut watched = site.stream("", &format!("/api/stream/game/{id}")).await;
    assert_eq!(watched.line().await["id"], *id);
    site.sim.advance(Duration::from_secs(25 * 3_600));
    while watched.next().await.is_some() {}
    // The player is free for another game.
    assert_ne!(challenge().await, id);
}

#[tokio::test]
async fn fact_14_correspondence_and_unlimited_clocks() {
    const DAY: i64 = 86_400_000;
    let site = Site::start().await;
    let days = site.game("days=3").await;
    site.moves(&days, "e2e4 e7e5").await;
    site.sim.advance(Duration::from_secs(86_400));
    let full = site.full("Whitey", &days).await;
    assert!(full.get("clock").is_none());
    assert_eq!(full["daysPerTurn"], 3);
    assert_eq!(full["speed"], "correspondence");
    let (white, black) = clocks(&full["state"]);
    assert!((2 * DAY - 60_000..=2 * DAY).contains(&white), "{white}");
    assert_eq!(black, 3 * DAY);
    let unlimited = site.game("").await;
    let full = site.full("Whitey", &unlimited).await;
    assert!(full.get("clock").is_none() && full.get("daysPerTurn").is_none());
    assert_eq!(clocks(&full["state"]), (2_147_483_647, 2_147_483_647));
    let (_, playing) = site.get("Whitey", "/api/account/playing").await;
    let games = playing["nowPlaying"].as_array().unwrap();
    let game = games
        .iter()
        .find(|game| game["gameId"] == unlimited.as_str())
        .unwrap();
    assert!(game.get("secondsLeft").is_none());
}

#[tokio::test]
async fn fact_26_zero_plus_one_starts_with_three_seconds() {
    let site = Site::start().await;
    let id = site.game("clock.limit=0&clock.increment=1").await;
    let full = site.full("Whitey", &id).await;
    assert_eq!(full["clock"]["initial"], 0);
    assert_eq!(clocks(&full["state"]), (3_000, 3_000));
}

#[tokio::test]
async fn fact_15_claim_on_own_turn() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.moves(&id, "e2e4 e7e5").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/claim-victory"))
        .await;
    let draw = format!("/api/bot/game/{id}/claim-draw");
    site.refused(
        "Whitey",
        &draw,
        "",
        400,
        "You cannot claim draw on this game",
    )
    .await;
    assert_eq!(site.full("Whitey", &id).await["state"]["status"], "started");
}

#[tokio::test]
async fn opponent_gone_counts_down_to_claim() {
    let site = Site::with(SimOptions {
        speed: 20.0,
        ..SimOptions::default()
    })
    .await;
    let id = site.game("clock.limit=600&clock.increment=0").await;
    let mut stream = site.game_stream("Blacky", &id).await;
    stream.line().await;
    site.moves(&id, "e2e4 e7e5").await;
    stream.line().await;
    stream.line().await;
    let claim = format!("/api/bot/game/{id}/claim-victory");
    site.refused(
        "Blacky",
        &claim,
        "",
        400,
        "You cannot claim the win on this game",
    )
    .await;
    let mut last = u64::MAX;
    while last > 0 {
        let line = stream.line().await;
        assert_eq!(
            (&line["type"], &line["gone"]),
            (&"opponentGone".into(), &true.into())
        );
        let seconds = line["claimWinInSeconds"].as_u64().unwrap();
        assert!(seconds < last);
        last = seconds;
    }
    site.ok("Blacky", &claim).await;
    loop {
        let line = stream.line().await;
        if line["type"] == "gameState" {
            assert_eq!(
                (text(&line["status"]), text(&line["winner"])),
                ("timeout".into(), "black".into())
            );
            break;
        }
    }
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn fact_10_takeback_shortens_move_list() {
    // Bots refuse takebacks after the upgrade; these two allow them.
    let site = Site::with(SimOptions {
        users: ["Give", "Take"]
            .map(|name| NewUser {
                takebacks: true,
                ..NewUser::bot(name)
            })
            .to_vec(),
        ..SimOptions::default()
    })
    .await;
    let id = site.game_between("Give", "Take", BLITZ).await;
    for (user, uci) in [("Give", "e2e4"), ("Take", "e7e5"), ("Give", "g1f3")] {
        site.play(user, &id, uci).await;
    }
    let mut stream = site.game_stream("Give", &id).await;
    stream.line().await;
    let takeback = async |user: &str, answer: &str| {
        site.ok(user, &format!("/api/bot/game/{id}/takeback/{answer}"))
            .await;
    };
    takeback("Give", "yes").await;
    let state = stream.full_state().await;
    assert_eq!(state["wtakeback"], true);
    assert_eq!(state["moves"], "e2e4 e7e5 g1f3");
    takeback("Take", "no").await;
    assert!(stream.full_state().await.get("wtakeback").is_none());
    // After a decline, the next request has to wait.
    takeback("Give", "yes").await;
    stream.quiet(Duration::from_millis(100)).await;
    site.sim.advance(Duration::from_secs(11));
    takeback("Give", "1").await;
    stream.full_state().await;
    takeback("Take", "true").await;
    let state = stream.full_state().await;
    assert_eq!(state["moves"], "e2e4 e7e5");
    assert!(state.get("wtakeback").is_none());
    // Black has the time after their last move again; White has what was left after the move that was taken back.
    let (white, black) = clocks(&state);
    assert_eq!(black, 180_000);
    assert!((181_000..=182_000).contains(&white), "{white}");
    // A move declines: the flag is still set in its state and cleared in a state of its own.
    site.play("Give", &id, "g1f3").await;
    stream.full_state().await;
    site.sim.advance(Duration::from_secs(60));
    takeback("Give", "yes").await;
    stream.full_state().await;
    site.play("Take", &id, "b8c6").await;
    let states = [stream.full_state().await, stream.full_state().await];
    assert_eq!(states[0]["moves"], states[1]["moves"]);
    assert_eq!(states[0]["wtakeback"], true);
    assert!(states[1].get("wtakeback").is_none());
}
