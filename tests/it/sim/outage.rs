//! Faults of the whole site: restarts, clock skew, castling notation, pairings.

use std::time::Duration;

use knightwatch::sim::{
    Castling, Endpoint, Fault, FaultRule, Quirks, SimOptions, Skew, StreamFault, TimeControl,
};
use reqwest::Method;
use serde_json::Value;

use super::site::{Site, text, until};

const BLITZ: &str = "clock.limit=180&clock.increment=2";
const DOWN: Duration = Duration::from_secs(30);

async fn site(rule: FaultRule) -> Site {
    Site::with(SimOptions {
        faults: vec![rule],
        ..SimOptions::default()
    })
    .await
}

fn clocks(state: &Value) -> [i64; 2] {
    ["wtime", "btime"].map(|key| state[key].as_i64().unwrap())
}

/// Waits until requests are answered normally, or no longer are.
async fn until_up(site: &Site, up: bool) {
    until(async || (site.get("", "/__ping").await.0 == 200) == up).await;
}

#[tokio::test]
async fn restart_ends_streams_answers_502_and_adds_time() {
    for streams in [StreamFault::Eof, StreamFault::Reset] {
        let restart = Fault::Restart {
            downtime: DOWN,
            streams,
        };
        let site = Site::with(SimOptions {
            faults: vec![FaultRule::new(restart).at(Duration::from_secs(1_000))],
            ..SimOptions::default()
        })
        .await;
        let id = site.game(BLITZ).await;
        site.moves(&id, "e2e4 e7e5").await;
        let mut events = site.stream("Whitey", "/api/stream/event").await;
        let mut game = site.game_stream("Whitey", &id).await;
        let path = format!("/api/stream/game/{id}");
        let mut watched = site.stream("", &path).await;
        for stream in [&mut events, &mut game, &mut watched] {
            stream.line().await;
        }
        site.sim.advance(Duration::from_secs(100));
        let before = clocks(&site.full("Blacky", &id).await["state"]);
        site.sim.restart(DOWN, streams);
        for stream in [&mut events, &mut game, &mut watched] {
            let ended = loop {
                match stream.try_raw().await {
                    Ok(Some(_)) => {}
                    Ok(None) => break StreamFault::Eof,
                    Err(_) => break StreamFault::Reset,
                }
            };
            assert_eq!(ended, streams);
        }
        let refused = site.request(Method::GET, "Whitey", "/api/account").send();
        let refused = refused.await.unwrap();
        assert_eq!(refused.status(), 502);
        assert_eq!(refused.headers()["content-type"], "text/html");
        site.sim.advance(DOWN);
        until_up(&site, true).await;
        // Two seconds for the side to move and one for the other at the stop, twenty for both at the start. White's
        // clock kept running.
        let mut stream = site.game_stream("Blacky", &id).await;
        let after = clocks(&stream.line().await["state"]);
        let gained = [after[0] - before[0] + 30_000, after[1] - before[1]];
        assert!((10_000..=22_000).contains(&gained[0]), "{gained:?}");
        assert_eq!(gained[1], 21_000);
        // The timed restart comes too.
        site.sim.advance(Duration::from_secs(1_000));
        until_up(&site, false).await;
    }
}

#[tokio::test]
async fn restart_compensation_pushed_only_with_quirk() {
    for (gifts_push, first) in [(true, "e2e4 e7e5"), (false, "e2e4 e7e5 g1f3")] {
        let site = Site::with(SimOptions {
            quirks: Quirks {
                gifts_push,
                ..Quirks::default()
            },
            ..SimOptions::default()
        })
        .await;
        let id = site.game(BLITZ).await;
        site.moves(&id, "e2e4 e7e5").await;
        let mut stream = site.game_stream("Whitey", &id).await;
        stream.line().await;
        // A restart that leaves streams open.
        site.sim.restart(Duration::ZERO, StreamFault::Oversized(50));
        site.play("Whitey", &id, "g1f3").await;
        let state = loop {
            let line = stream.line().await;
            if line["type"] == "gameState" {
                break line;
            }
        };
        assert_eq!(state["moves"], first);
    }
}

#[tokio::test]
async fn restart_during_turn_does_not_lose_on_time() {
    let site = Site::start().await;
    let id = site.game("clock.limit=15&clock.increment=1").await;
    site.moves(&id, "e2e4 e7e5").await;
    site.sim.restart(Duration::from_secs(60), StreamFault::Eof);
    site.sim.advance(Duration::from_secs(61));
    until_up(&site, true).await;
    site.play("Whitey", &id, "g1f3").await;
    assert_eq!(site.full("Whitey", &id).await["state"]["status"], "aborted");
}

#[tokio::test]
async fn builtin_players_idle_while_site_is_down() {
    let site = Site::start().await;
    site.sim.restart(DOWN, StreamFault::Eof);
    for user in ["Host,kind=idle", "Guest,challenges=Host"] {
        site.sim.add_player(user.parse().unwrap());
    }
    site.sim.advance(DOWN - Duration::from_secs(10));
    // Requests are handled after the built-in players have acted.
    for _ in 0..10 {
        assert_eq!(site.get("", "/__ping").await.0, 502);
    }
    let stats = site.sim.stats();
    assert_eq!((stats.challenges, stats.games), (0, 0));
    site.sim.advance(Duration::from_secs(10));
    until(async || site.sim.stats().ongoing_games == 1).await;
}

#[tokio::test]
async fn builtin_player_moves_after_restart() {
    let site = Site::start().await;
    site.sim.add_player("Slow,delay=100s".parse().unwrap());
    let form = "color=white&clock.limit=60&clock.increment=0";
    let id = site.challenge("Whitey", "Slow", form).await;
    until(async || site.sim.stats().ongoing_games == 1).await;
    let plies = || site.sim.games()[0].plies;
    site.play("Whitey", &id, "e2e4").await;
    // The player is thinking about the reply.
    assert_eq!(site.get("", "/__ping").await.0, 200);
    site.sim.advance(Duration::from_secs(100));
    until(async || plies() == 2).await;
    site.play("Whitey", &id, "d2d4").await;
    assert_eq!(site.get("", "/__ping").await.0, 200);
    site.sim.restart(Duration::from_secs(99), StreamFault::Eof);
    site.sim.advance(Duration::from_secs(101));
    // The move is ready when the site is up, too late by the clock; the compensation covers it.
    until(async || site.sim.games()[0].status != "started").await;
    assert_eq!(site.sim.games()[0].status, "aborted");
}

#[tokio::test]
async fn request_fault_restarts_site() {
    let restart = Fault::Restart {
        downtime: DOWN,
        streams: StreamFault::Eof,
    };
    let site = site(FaultRule::on(Endpoint::Move, restart).nth(2)).await;
    let id = site.game(BLITZ).await;
    site.play("Whitey", &id, "e2e4").await;
    let path = format!("/api/bot/game/{id}/move/e7e5");
    assert_eq!(site.post("Blacky", &path, "").await.0, 502);
    assert_eq!(site.get("Blacky", "/api/account").await.0, 502);
    site.sim.advance(DOWN);
    site.play("Blacky", &id, "e7e5").await;
}

#[tokio::test]
async fn clock_skew_applied() {
    let skew = Skew {
        date: -3_600_000,
        clocks: 5_000,
        drift: 0.0,
    };
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let date = || async {
        let answer = site.request(Method::GET, "", "/__ping").send().await;
        let date = answer.unwrap().headers()["date"]
            .to_str()
            .unwrap()
            .to_owned();
        let date = jiff::fmt::strtime::parse("%a, %d %b %Y %H:%M:%S GMT", &date).unwrap();
        date.to_datetime().unwrap()
    };
    let before = date().await;
    site.sim.faults().add(FaultRule {
        until: Some(Duration::from_secs(600)),
        ..FaultRule::new(Fault::Skew(skew))
    });
    let moved = async || (date().await - before).total(jiff::Unit::Second).unwrap();
    until(async || moved().await < -3_500.0).await;
    let shown = || async { clocks(&site.full("Whitey", &id).await["state"]) };
    assert_eq!(shown().await, [185_000; 2]);
    site.sim.advance(Duration::from_secs(600));
    until(async || shown().await == [180_000; 2]).await;
}

#[tokio::test]
async fn castling_notation_changes_in_ongoing_games() {
    let spelled = Fault::Castling(Castling::KingTakesRook);
    let site = site(FaultRule {
        ply: Some(8),
        ..FaultRule::new(spelled)
    })
    .await;
    let id = site.game(BLITZ).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.moves(&id, "e2e4 e7e5 g1f3 g8f6 f1e2 f8e7 e1g1").await;
    for _ in 0..6 {
        stream.state().await;
    }
    assert!(stream.state().await.0.ends_with(" e1g1"));
    site.play("Blacky", &id, "e8g8").await;
    let moves = async || text(&site.full("Whitey", &id).await["state"]["moves"]);
    until(async || moves().await.ends_with(" e1h1 e8h8")).await;
}

#[tokio::test]
async fn pairing_fault_starts_game() {
    let pair = Fault::Pair {
        players: ["Whitey".to_owned(), "Anna".to_owned()],
        clock: TimeControl::clock(180, 2),
    };
    let site = site(FaultRule::new(pair).at(Duration::from_secs(100))).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    site.sim.advance(Duration::from_secs(100));
    let start = events.line().await;
    assert_eq!(start["type"], "gameStart");
    let game = &start["game"];
    assert_eq!(
        (&game["source"], &game["color"]),
        (&"api".into(), &"white".into())
    );
    assert_eq!(game["compat"]["bot"], true);
    site.play("Whitey", game["id"].as_str().unwrap(), "e2e4")
        .await;
}
