//! Built-in players.

use std::time::Duration;

use knightwatch::sim::{
    ChallengePlan, ColorChoice, PlayerKind, PlayerOptions, SimOptions, TimeControl,
};

use super::site::{Site, text, until};

fn plan(opponent: &str) -> ChallengePlan {
    ChallengePlan {
        colors: vec![ColorChoice::White, ColorChoice::Black],
        count: Some(3),
        concurrency: 2,
        ..ChallengePlan::against(opponent, TimeControl::clock(600, 1))
    }
}

#[tokio::test]
async fn players_complete_their_challenge_plan() {
    let site = Site::with(SimOptions {
        speed: 50.0,
        ..SimOptions::default()
    })
    .await;
    site.sim
        .add_player(PlayerOptions::new("Greedy", PlayerKind::Greedy));
    site.sim
        .add_player(PlayerOptions::new("Random", PlayerKind::Random).challenging(plan("Greedy")));
    site.finished(3).await;
    let games = site.sim.games();
    assert_eq!(games.len(), 3);
    for game in &games {
        assert!(game.plies > 2, "{game:?}");
        assert_ne!(game.status, "started");
        assert!(["1-0", "0-1", "1/2-1/2"].contains(&game.result), "{game:?}");
    }
    assert_eq!(
        games.iter().filter(|game| game.white == "Random").count(),
        2
    );
}

#[tokio::test]
async fn player_waits_for_opponent_to_be_online() {
    let site = Site::start().await;
    site.sim.add_player(PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new("Sparrow", PlayerKind::Random).challenging(ChallengePlan {
            colors: vec![ColorChoice::White],
            count: Some(1),
            ..ChallengePlan::against("Blacky", TimeControl::clock(180, 0))
        })
    });
    // A plan that begins later is carried out, because its opponent is online.
    site.sim
        .add_player(PlayerOptions::new("Greedy", PlayerKind::Greedy));
    site.sim
        .add_player(PlayerOptions::new("Random", PlayerKind::Random).challenging(plan("Greedy")));
    until(async || !site.sim.games().is_empty()).await;
    let (_, challenges) = site.get("Sparrow", "/api/challenge").await;
    assert_eq!(challenges["out"].as_array().map(Vec::len), Some(0));
    let mut events = site.stream("Blacky", "/api/stream/event").await;
    let challenge = events.line().await;
    let id = text(&challenge["challenge"]["id"]);
    site.ok("Blacky", &format!("/api/challenge/{id}/accept"))
        .await;
    let mut stream = site.game_stream("Blacky", &id).await;
    let full = stream.line().await;
    if full["state"]["moves"] == "" {
        stream.state().await;
    }
    site.play("Blacky", &id, "a7a6").await;
    stream.state().await;
    let (moves, _) = stream.state().await;
    assert_eq!(moves.split(' ').count(), 3);
}

#[tokio::test]
async fn idle_player_accepts_and_never_moves() {
    let site = Site::with(SimOptions {
        speed: 50.0,
        ..SimOptions::default()
    })
    .await;
    site.sim
        .add_player(PlayerOptions::new("Sleepy", PlayerKind::Idle));
    let id = site
        .challenge(
            "Whitey",
            "Sleepy",
            "color=white&clock.limit=15&clock.increment=1",
        )
        .await;
    // The idle player accepts automatically.
    let path = format!("/api/challenge/{id}/show");
    until(async || site.get("Whitey", &path).await.1["status"] == "accepted").await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.play("Whitey", &id, "e2e4").await;
    stream.state().await;
    stream.quiet(Duration::from_millis(300)).await;
}
