//! Arena games as seen by their players.

use std::time::Duration;

use knightwatch::sim::{ArenaOptions, NewUser, Quirks, SimOptions, TimeControl};
use serde_json::Value;

use super::{BULLET, advance_until, hold, with_bots};
use crate::sim::site::{Lines, Site};

/// An arena that starts at once.
fn now(bots: bool, clock: TimeControl) -> ArenaOptions {
    ArenaOptions {
        id: Some("rehearse".to_owned()),
        starts_in: Duration::ZERO,
        bots,
        ..ArenaOptions::for_bots("Friday", clock, 30)
    }
}

async fn page(site: &Site) -> Value {
    site.get("", "/api/tournament/rehearse").await.1
}

async fn standing(site: &Site, name: &str) -> Value {
    let page = page(site).await;
    let players = page["standing"]["players"].as_array().unwrap();
    let found = players.iter().find(|player| player["name"] == name);
    found.cloned().unwrap_or(Value::Null)
}

/// Two players who were just paired.
struct Pair {
    id: String,
    white: &'static str,
    black: &'static str,
    /// The next event of White.
    event: Value,
}

/// Joins two players and waits until they are paired.
async fn paired(site: &Site, users: [&'static str; 2], form: &str) -> Pair {
    let mut events = Vec::new();
    for user in users {
        events.push(site.stream(user, "/api/stream/event").await);
        let joined = site.post(user, "/api/tournament/rehearse/join", form).await;
        assert_eq!(joined.0, 200, "{user}: {}", joined.1);
    }
    let id = advance_until(site, "a game", async || {
        let games = site.sim.games();
        games
            .iter()
            .find(|game| game.status == "started")
            .map(|game| game.id.clone())
    })
    .await;
    let mut first = started(&mut events[0]).await;
    let (white, black) = if first["game"]["color"] == "white" {
        (users[0], users[1])
    } else {
        first = started(&mut events[1]).await;
        (users[1], users[0])
    };
    assert_eq!(first["game"]["id"], id.as_str());
    Pair {
        id,
        white,
        black,
        event: first,
    }
}

async fn started(events: &mut Lines) -> Value {
    let event = events.line().await;
    assert_eq!(event["type"], "gameStart");
    event
}

const BOTS: [&str; 2] = ["Whitey", "Blacky"];

#[tokio::test]
async fn arena_pairing_names_its_source() {
    let site = Site::start().await;
    hold(&site.sim, &now(true, BULLET));
    let pair = paired(&site, BOTS, "").await;
    let game = &pair.event["game"];
    assert_eq!(
        (&game["source"], &game["tournamentId"]),
        (&"arena".into(), &"rehearse".into())
    );
    assert_eq!(game["compat"]["bot"], true);
    let full = site.full(pair.white, &pair.id).await;
    assert_eq!(full["tournamentId"], "rehearse");
    let (_, playing) = site.get(pair.black, "/api/account/playing").await;
    assert_eq!(playing["nowPlaying"][0]["tournamentId"], "rehearse");
    // A game from a challenge has no such keys.
    let id = site.game("clock.limit=60&clock.increment=0").await;
    let full = site.full("Whitey", &id).await;
    assert!(full.get("tournamentId").is_none());
    assert!(full["state"].get("expiration").is_none());
}

#[tokio::test]
async fn arena_state_contains_expiration() {
    for expiration in [true, false] {
        let site = Site::with(SimOptions {
            quirks: Quirks {
                expiration,
                ..Quirks::default()
            },
            ..SimOptions::default()
        })
        .await;
        hold(&site.sim, &now(true, BULLET));
        let pair = paired(&site, BOTS, "").await;
        let mut stream = site.game_stream(pair.white, &pair.id).await;
        let announced = stream.line().await["state"]["expiration"].clone();
        assert_eq!(announced.is_object(), expiration);
        if expiration {
            assert_eq!(announced["millisToMove"], 16_000);
            assert!(announced["idleMillis"].as_i64().unwrap() < 16_000);
        }
        site.play(pair.white, &pair.id, "e2e4").await;
        assert_eq!(
            stream.full_state().await.get("expiration").is_some(),
            expiration
        );
        site.play(pair.black, &pair.id, "e7e5").await;
        assert!(stream.full_state().await.get("expiration").is_none());
    }
}

#[tokio::test]
async fn fact_16_arena_no_first_move_loses_and_withdraws() {
    let site = Site::start().await;
    hold(&site.sim, &now(true, BULLET));
    let pair = paired(&site, BOTS, "").await;
    let mut stream = site.game_stream(pair.black, &pair.id).await;
    stream.line().await;
    let last = advance_until(&site, "the end of the game", async || {
        let games = site.sim.games();
        games
            .into_iter()
            .find(|game| game.id == pair.id && game.status != "started")
    })
    .await;
    assert_eq!((last.status, last.result), ("noStart", "0-1"));
    let state = stream.full_state().await;
    assert_eq!(
        (&state["status"], &state["winner"]),
        (&"noStart".into(), &"black".into())
    );
    assert_eq!(stream.next().await, None);
    let loser = standing(&site, pair.white).await;
    assert_eq!(
        (&loser["withdraw"], &loser["score"]),
        (&true.into(), &0.into())
    );
    let winner = standing(&site, pair.black).await;
    assert!(winner.get("withdraw").is_none());
    assert_eq!(
        (&winner["score"], &winner["sheet"]["scores"]),
        (&2.into(), &"2".into())
    );
    // Rejoining is allowed at once.
    site.ok(pair.white, "/api/tournament/rehearse/join").await;
    assert!(standing(&site, pair.white).await.get("withdraw").is_none());
}

#[tokio::test]
async fn arena_first_move_time_depends_on_speed() {
    for (clock, variant, millis) in [
        (TimeControl::clock(60, 0), "standard", 16_000),
        (TimeControl::clock(60, 0), "chess960", 20_000),
        (TimeControl::clock(180, 2), "standard", 21_000),
        (TimeControl::clock(600, 0), "standard", 25_000),
        (TimeControl::clock(1_800, 0), "standard", 30_000),
    ] {
        let site = Site::start().await;
        let options = ArenaOptions {
            variant: variant.to_owned(),
            ..now(true, clock)
        };
        hold(&site.sim, &options);
        let pair = paired(&site, BOTS, "").await;
        let full = site.full(pair.white, &pair.id).await;
        assert_eq!(
            full["state"]["expiration"]["millisToMove"], millis,
            "{clock:?}"
        );
    }
}

#[tokio::test]
async fn arena_game_has_no_abort_chat_or_takeback() {
    let site = Site::start().await;
    hold(&site.sim, &now(true, BULLET));
    let pair = paired(&site, BOTS, "").await;
    let call = |what: &str| format!("/api/bot/game/{}/{what}", pair.id);
    let mut stream = site.game_stream(pair.black, &pair.id).await;
    stream.line().await;
    let text = "This game can no longer be aborted";
    site.refused(pair.white, &call("abort"), "", 400, text)
        .await;
    site.refused(pair.white, &call("berserk"), "", 400, "Cannot berserk")
        .await;
    let (status, _) = site
        .post(pair.white, &call("chat"), "room=player&text=hello")
        .await;
    assert_eq!(status, 200);
    let (_, said) = site.get(pair.white, &call("chat")).await;
    assert_eq!(said, Value::Array(Vec::new()));
    for (user, uci) in [(pair.white, "e2e4"), (pair.black, "e7e5")] {
        site.play(user, &pair.id, uci).await;
        stream.full_state().await;
    }
    site.ok(pair.white, &call("takeback/yes")).await;
    // Draws can be offered as usual.
    site.ok(pair.white, &call("draw/yes")).await;
    assert_eq!(stream.full_state().await["wdraw"], true);
    site.ok(pair.black, &call("draw/yes")).await;
    assert_eq!(stream.full_state().await["status"], "draw");
    // So early a draw scores nothing.
    for name in BOTS {
        let player = standing(&site, name).await;
        assert_eq!(
            (&player["score"], &player["sheet"]["scores"]),
            (&0.into(), &"0".into())
        );
    }
}

#[tokio::test]
async fn arena_game_resigned_before_first_move() {
    let site = Site::start().await;
    hold(&site.sim, &now(true, BULLET));
    let pair = paired(&site, BOTS, "").await;
    site.ok(pair.black, &format!("/api/bot/game/{}/resign", pair.id))
        .await;
    let games = site.sim.games();
    let game = games.iter().find(|game| game.id == pair.id).unwrap();
    assert_eq!((game.status, game.result), ("resign", "1-0"));
    assert_eq!(standing(&site, pair.white).await["score"], 2);
    // If only two players are left, they are paired again.
    advance_until(&site, "the next game", async || {
        (site.sim.games().len() > 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn fact_28_arena_leaders_wait_out_pauses() {
    let site = with_bots(&["Third"]).await;
    hold(&site.sim, &now(true, TimeControl::clock(300, 0)));
    let join = "/api/tournament/rehearse/join";
    let withdraw = "/api/tournament/rehearse/withdraw";
    site.ok("Whitey", join).await;
    advance_until(&site, "the start", async || {
        page(&site).await.get("isStarted").cloned()
    })
    .await;
    let waiting = "Your pause is not over yet";
    let seconds = Duration::from_secs;
    // Ten seconds for the first pause, then 300 / 15 for each further one.
    for delay in [10, 20, 40] {
        site.ok("Whitey", withdraw).await;
        assert_eq!(standing(&site, "Whitey").await["withdraw"], true);
        site.refused("Whitey", join, "", 400, waiting).await;
        let (_, mine) = site.get("Whitey", "/api/tournament/rehearse").await;
        let left = mine["me"]["pauseDelay"].as_i64().unwrap();
        assert!((delay / 2 + 1..=delay).contains(&left), "{left} of {delay}");
        site.sim.advance(seconds(delay as u64 / 2 - 1));
        site.refused("Whitey", join, "", 400, waiting).await;
        site.sim.advance(seconds(delay as u64 / 2 + 1));
        site.ok("Whitey", join).await;
    }
    // After twenty minutes without a pause the count starts over.
    site.sim.advance(seconds(20 * 60));
    site.ok("Whitey", withdraw).await;
    site.sim.advance(seconds(10));
    site.ok("Whitey", join).await;
}

#[tokio::test]
async fn arena_withdrawal_before_start_is_free() {
    let site = Site::start().await;
    hold(&site.sim, &super::later("Friday"));
    for _ in 0..3 {
        site.ok("Whitey", "/api/tournament/rehearse/join").await;
        site.ok("Whitey", "/api/tournament/rehearse/withdraw").await;
    }
    assert_eq!(page(&site).await["nbPlayers"], 0);
}

#[tokio::test]
async fn arena_berserk_win_scores_extra_point() {
    let site = Site::start().await;
    hold(&site.sim, &now(false, TimeControl::clock(600, 5)));
    let pair = paired(&site, ["Anna", "Bobby"], "pairMeAsap=true").await;
    let call = |what: &str| format!("/api/board/game/{}/{what}", pair.id);
    let mut board = site
        .stream(pair.black, &format!("/api/board/game/stream/{}", pair.id))
        .await;
    board.line().await;
    site.ok(pair.white, &call("berserk")).await;
    site.refused(pair.white, &call("berserk"), "", 400, "Cannot berserk")
        .await;
    // Nothing is sent before the next state.
    board.quiet(Duration::from_millis(200)).await;
    let mut left = 0;
    for ply in 0..14 {
        let (user, uci) = match ply % 4 {
            0 => (pair.white, "g1f3"),
            1 => (pair.black, "g8f6"),
            2 => (pair.white, "f3g1"),
            _ => (pair.black, "f6g8"),
        };
        site.ok(user, &call(&format!("move/{uci}"))).await;
        let state = board.full_state().await;
        assert_eq!(
            (&state["winc"], &state["binc"]),
            (&5_000.into(), &5_000.into())
        );
        left = state["wtime"].as_i64().unwrap();
        assert!(left <= 300_000, "{left}");
    }
    assert!(left > 200_000, "{left}");
    site.ok(pair.black, &call("resign")).await;
    let winner = standing(&site, pair.white).await;
    assert_eq!(
        (&winner["score"], &winner["sheet"]["scores"]),
        (&3.into(), &"3".into())
    );
    // Too late in a finished game.
    site.refused(pair.white, &call("berserk"), "", 400, "Cannot berserk")
        .await;
}

#[tokio::test]
async fn arena_bots_paired_when_waiting_and_humans_on_request() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot("Third"), NewUser::bot("Fourth")],
        ..SimOptions::default()
    })
    .await;
    hold(&site.sim, &now(true, BULLET));
    for name in ["Whitey", "Blacky", "Third", "Anna"] {
        site.ok(name, "/api/tournament/rehearse/join").await;
    }
    advance_until(&site, "the first wave", async || {
        (!site.sim.games().is_empty()).then_some(())
    })
    .await;
    let players: Vec<String> = site
        .sim
        .games()
        .iter()
        .flat_map(|game| [game.white.clone(), game.black.clone()])
        .collect();
    assert_eq!(players.len(), 2);
    assert!(!players.contains(&"Anna".to_owned()), "{players:?}");
}

#[tokio::test]
async fn arena_withdrawn_player_not_paired() {
    let site = with_bots(&["Third"]).await;
    hold(&site.sim, &now(true, BULLET));
    let pair = paired(&site, BOTS, "").await;
    site.ok(pair.white, "/api/tournament/rehearse/withdraw")
        .await;
    site.ok("Third", "/api/tournament/rehearse/join").await;
    // The withdrawn player's game continues and counts.
    site.ok(pair.black, &format!("/api/bot/game/{}/resign", pair.id))
        .await;
    assert_eq!(standing(&site, pair.white).await["score"], 2);
    let next = advance_until(&site, "the next game", async || {
        site.sim.games().into_iter().find(|game| game.id != pair.id)
    })
    .await;
    let names = [next.white.as_str(), next.black.as_str()];
    assert!(
        names.contains(&"Third") && names.contains(&pair.black),
        "{names:?}"
    );
}

#[tokio::test]
async fn arena_pairings_close_before_end() {
    let site = Site::start().await;
    let options = ArenaOptions {
        minutes: 2,
        ..now(true, TimeControl::clock(600, 0))
    };
    hold(&site.sim, &options);
    let join = "/api/tournament/rehearse/join";
    advance_until(&site, "the start", async || {
        page(&site).await.get("isStarted").cloned()
    })
    .await;
    // Half of ten minutes is more than two: pairings are closed from the start.
    site.ok("Whitey", join).await;
    site.ok("Blacky", join).await;
    assert_eq!(page(&site).await["pairingsClosed"], true);
    // No game was played, so there are no results.
    advance_until(&site, "the end", async || {
        (page(&site).await["error"] == "Not found").then_some(())
    })
    .await;
    assert!(site.sim.games().is_empty());

    let options = ArenaOptions {
        minutes: 2,
        ..now(true, BULLET)
    };
    hold(&site.sim, &options);
    let pair = paired(&site, BOTS, "").await;
    for (user, uci) in [(pair.white, "e2e4"), (pair.black, "e7e5")] {
        site.play(user, &pair.id, uci).await;
    }
    let over = advance_until(&site, "the end", async || {
        let page = page(&site).await;
        page.get("isFinished").is_some().then_some(page)
    })
    .await;
    assert_eq!(over["stats"]["games"], 0);
    assert!(over["podium"].is_array(), "{over}");
    site.refused("Whitey", join, "", 400, "This tournament no longer exists")
        .await;
    site.ok("Whitey", "/api/tournament/rehearse/withdraw").await;
}
