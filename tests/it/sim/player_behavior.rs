//! Behavior of built-in players, as their opponents see it.

use std::time::Duration;

use knightwatch::chess::{CastlingNotation, Game, Position};
use knightwatch::sim::SimOptions;
use serde_json::Value;

use super::site::{Lines, Site, text, until};

/// White is a queen up.
const QUEEN_UP: &str = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

async fn site(speed: f64, users: &[&str]) -> Site {
    let site = Site::with(SimOptions {
        speed,
        ..SimOptions::default()
    })
    .await;
    for user in users {
        site.sim.add_player(user.parse().unwrap());
    }
    site
}

/// A game of Whitey's against a built-in player, who accepts automatically.
async fn game_with(site: &Site, user: &str, form: &str) -> (String, Lines) {
    let id = site
        .challenge("Whitey", user, &format!("color=white&{form}"))
        .await;
    let stream = open_game(site, "Whitey", &id, "bot").await;
    (id, stream)
}

/// The stream of a game, once it has started.
async fn open_game(site: &Site, user: &str, id: &str, api: &str) -> Lines {
    until_accepted(site, user, id).await;
    let path = format!("/api/{api}/game/stream/{id}");
    let mut stream = site.stream(user, &path).await;
    assert_eq!(stream.line().await["type"], "gameFull");
    stream
}

async fn until_accepted(site: &Site, user: &str, id: &str) {
    let path = format!("/api/challenge/{id}/show");
    until(async || site.get(user, &path).await.1["status"] == "accepted").await;
}

/// The next line of this type.
async fn next(stream: &mut Lines, kind: &str) -> Value {
    loop {
        let line = stream.line().await;
        if line["type"] == kind {
            return line;
        }
    }
}

/// The next state with this many plies, or with the end of the game.
async fn plies(stream: &mut Lines, plies: usize) -> Value {
    loop {
        let state = next(stream, "gameState").await;
        if text(&state["moves"]).split_whitespace().count() == plies || state["status"] != "started"
        {
            return state;
        }
    }
}

/// A legal move after these.
fn any_move(moves: &str) -> String {
    let game = Game::from_moves(Position::startpos(), moves.split_whitespace()).unwrap();
    let mv = game.position().legal_moves().iter().next().copied();
    mv.unwrap().uci(CastlingNotation::Standard).to_string()
}

#[tokio::test]
async fn player_disconnected_loses_to_claim() {
    let site = site(50.0, &["Quitter,disconnects-at=2"]).await;
    let (id, mut stream) = game_with(&site, "Quitter", "clock.limit=900&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    plies(&mut stream, 2).await;
    site.play("Whitey", &id, "d2d4").await;
    let first = next(&mut stream, "opponentGone").await["claimWinInSeconds"].as_u64();
    assert!(first.unwrap() > 0);
    while next(&mut stream, "opponentGone").await["claimWinInSeconds"] != 0 {}
    site.ok("Whitey", &format!("/api/bot/game/{id}/claim-victory"))
        .await;
    let end = next(&mut stream, "gameState").await;
    assert_eq!(
        (&end["status"], &end["winner"]),
        (&"timeout".into(), &"white".into())
    );
}

#[tokio::test]
async fn player_reconnected_continues() {
    let site = site(
        50.0,
        &["Waverer,human,disconnects-at=2,reconnects-after=200s"],
    )
    .await;
    let (id, mut stream) = game_with(&site, "Waverer", "clock.limit=900&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    plies(&mut stream, 2).await;
    site.play("Whitey", &id, "d2d4").await;
    while next(&mut stream, "opponentGone").await["gone"] == true {}
    let state = plies(&mut stream, 4).await;
    assert_eq!(state["status"], "started");
}

#[tokio::test]
async fn player_offers_draw_when_first_allowed() {
    let site = site(50.0, &["Beggar,offers-draws"]).await;
    let (id, mut stream) = game_with(&site, "Beggar", "clock.limit=600&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    let state = plies(&mut stream, 2).await;
    assert_eq!(state["bdraw"], Value::Null);
    site.play("Whitey", &id, "d2d4").await;
    plies(&mut stream, 3).await;
    let offer = next(&mut stream, "gameState").await;
    assert_eq!(offer["bdraw"], true);
    assert_eq!(text(&offer["moves"]).split(' ').count(), 3);
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    let end = loop {
        let state = next(&mut stream, "gameState").await;
        if state["status"] != "started" {
            break state;
        }
    };
    assert_eq!(
        (&end["status"], &end["winner"]),
        (&"draw".into(), &Value::Null)
    );
}

#[tokio::test]
async fn player_accepts_draw_only_if_configured() {
    let site = site(
        50.0,
        &["Peaceful,kind=idle,accepts-draws", "Grim,kind=greedy"],
    )
    .await;
    let (id, mut stream) = game_with(&site, "Grim", "clock.limit=600&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    plies(&mut stream, 2).await;
    site.play("Whitey", &id, "d2d4?offeringDraw=true").await;
    assert_eq!(plies(&mut stream, 4).await["status"], "started");

    let id = site
        .challenge(
            "Peaceful",
            "Whitey",
            "color=white&clock.limit=600&clock.increment=0",
        )
        .await;
    site.ok("Whitey", &format!("/api/challenge/{id}/accept"))
        .await;
    let mut stream = open_game(&site, "Whitey", &id, "bot").await;
    site.play("Peaceful", &id, "e2e4").await;
    site.play("Whitey", &id, "e7e5").await;
    site.play("Peaceful", &id, "d2d4").await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/draw/yes"))
        .await;
    while next(&mut stream, "gameState").await["status"] != "draw" {}
}

#[tokio::test]
async fn player_chats_in_both_rooms_and_bot_links_dropped() {
    let users = [
        "Chatty,chats=plain,chats=long,chats=links",
        "Human,human,chats=links",
    ];
    let site = site(50.0, &users).await;
    let form = "clock.limit=600&clock.increment=0";
    let (id, mut stream) = game_with(&site, "Chatty", form).await;
    let mut moves = String::new();
    let mut said = Vec::new();
    while said.len() < 6 {
        if moves.split_whitespace().count().is_multiple_of(2) {
            site.play("Whitey", &id, &any_move(&moves)).await;
        }
        let line = stream.line().await;
        match line["type"].as_str() {
            Some("gameState") => moves = text(&line["moves"]),
            Some("chatLine") => said.push((text(&line["room"]), text(&line["text"]))),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        said.iter()
            .all(|(_, line)| !line.contains("://") && !line.contains("www"))
    );
    assert!(said.iter().any(|(_, line)| line.chars().count() == 140));
    assert_eq!(said[0].1, said[1].1);
    assert_eq!(
        (said[0].0.as_str(), said[1].0.as_str()),
        ("player", "spectator")
    );

    let (id, mut stream) = game_with(&site, "Human", form).await;
    site.play("Whitey", &id, "e2e4").await;
    let line = next(&mut stream, "chatLine").await;
    assert!(text(&line["text"]).contains("https://"), "{line}");
}

#[tokio::test]
async fn player_chat_control_characters_kept() {
    let site = site(50.0, &["Noisy,chats=control"]).await;
    let form = "clock.limit=600&clock.increment=0";
    let (id, mut stream) = game_with(&site, "Noisy", form).await;
    site.play("Whitey", &id, "e2e4").await;
    let line = next(&mut stream, "chatLine").await;
    assert!(text(&line["text"]).contains(['\u{7}', '\u{0}', '\n']));
    assert_eq!(plies(&mut stream, 2).await["status"], "started");
}

#[tokio::test]
async fn player_takeback_requests_granted_by_human() {
    let site = site(50.0, &["Sorry,human,requests-takebacks"]).await;
    let id = site
        .challenge(
            "Anna",
            "Sorry",
            "color=white&clock.limit=3600&clock.increment=0",
        )
        .await;
    let mut stream = open_game(&site, "Anna", &id, "board").await;
    let mut moves = String::new();
    let asked = loop {
        let path = format!("/api/board/game/{id}/move/{}", any_move(&moves));
        site.ok("Anna", &path).await;
        let ply = moves.split_whitespace().count() + 2;
        moves = text(&plies(&mut stream, ply).await["moves"]);
        // A takeback is requested with the move or not at all.
        let question = next(&mut stream, "gameState");
        if let Ok(state) = tokio::time::timeout(Duration::from_millis(200), question).await {
            assert_eq!(state["btakeback"], true);
            break ply;
        }
    };
    assert!(asked > 2 && asked.is_multiple_of(2), "{moves}");
    let path = format!("/api/board/game/{id}/takeback/yes");
    site.ok("Anna", &path).await;
    let back = next(&mut stream, "gameState").await;
    assert_eq!(text(&back["moves"]).split(' ').count(), asked - 1);
    assert_eq!(plies(&mut stream, asked).await["status"], "started");
}

#[tokio::test]
async fn player_grants_or_declines_takebacks() {
    let users = ["Kind,human,accepts-takebacks", "Strict,human"];
    let site = site(50.0, &users).await;
    for (user, left) in [("Kind", 0), ("Strict", 2)] {
        let form = "color=white&clock.limit=3600&clock.increment=0";
        let id = site.challenge("Anna", user, form).await;
        let mut stream = open_game(&site, "Anna", &id, "board").await;
        site.ok("Anna", &format!("/api/board/game/{id}/move/e2e4"))
            .await;
        plies(&mut stream, 2).await;
        site.ok("Anna", &format!("/api/board/game/{id}/takeback/yes"))
            .await;
        while next(&mut stream, "gameState").await["wtakeback"] == true {}
        let (_, playing) = site.get("Anna", "/api/account/playing").await;
        let game = &playing["nowPlaying"][0];
        assert_eq!(game["lastMove"] == "", left == 0, "{user}: {game}");
        site.ok("Anna", &format!("/api/board/game/{id}/resign"))
            .await;
    }
}

#[tokio::test]
async fn player_declines_with_reasons_in_turn() {
    let site = site(1.0, &["Nay,declines=later,declines=tooFast"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    for reason in ["later", "toofast", "later"] {
        site.challenge("Whitey", "Nay", "clock.limit=60&clock.increment=0")
            .await;
        let declined = next(&mut events, "challengeDeclined").await;
        assert_eq!(declined["challenge"]["declineReasonKey"], reason);
    }
}

#[tokio::test]
async fn player_added_twice_keeps_first() {
    let site = site(1.0, &["Nay,declines=later", "Nay,declines=tooFast"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    for _ in 0..2 {
        site.challenge("Whitey", "Nay", "clock.limit=60&clock.increment=0")
            .await;
        let declined = next(&mut events, "challengeDeclined").await;
        assert_eq!(declined["challenge"]["declineReasonKey"], "later");
    }
}

#[tokio::test]
async fn player_aborts_before_first_move() {
    let site = site(50.0, &["Shy,aborts"]).await;
    let (id, mut stream) = game_with(&site, "Shy", "clock.limit=60&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    assert_eq!(plies(&mut stream, 2).await["status"], "aborted");
}

#[tokio::test]
async fn player_lost_resigns_or_stalls() {
    let users = [
        "Quick,resigns=5",
        "Slow,stalls-when-lost=5",
        "Tough,resigns=10",
    ];
    let site = site(50.0, &users).await;
    for (user, status) in [("Quick", "resign"), ("Slow", "outoftime")] {
        let form = format!("clock.limit=600&clock.increment=0&fen={QUEEN_UP}");
        let (id, mut stream) = game_with(&site, user, &form).await;
        site.play("Whitey", &id, "e2e4").await;
        assert_eq!(plies(&mut stream, 2).await["status"], "started");
        site.play("Whitey", &id, "d2d4").await;
        if status == "outoftime" {
            site.sim.advance(Duration::from_secs(601));
        }
        let end = plies(&mut stream, 4).await;
        assert_eq!(
            (text(&end["status"]), text(&end["winner"])),
            (status.to_owned(), "white".to_owned())
        );
    }
    let form = format!("clock.limit=600&clock.increment=0&fen={QUEEN_UP}");
    let (id, mut stream) = game_with(&site, "Tough", &form).await;
    site.play("Whitey", &id, "e2e4").await;
    plies(&mut stream, 2).await;
    site.play("Whitey", &id, "d2d4").await;
    assert_eq!(plies(&mut stream, 4).await["status"], "started");
}

#[tokio::test]
async fn player_burst_leaves_last_challenge() {
    let site = site(1.0, &["Eager,challenges=Whitey,burst=3,clock=180+2"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let mut ids = Vec::new();
    while ids.len() < 3 {
        ids.push(text(
            &next(&mut events, "challenge").await["challenge"]["id"],
        ));
    }
    for id in &ids[..2] {
        let path = format!("/api/challenge/{id}/accept");
        let error = "The challenge has been canceled.";
        site.refused("Whitey", &path, "", 400, error).await;
    }
    site.ok("Whitey", &format!("/api/challenge/{}/accept", ids[2]))
        .await;
    assert_eq!(next(&mut events, "gameStart").await["game"]["id"], *ids[2]);
    // One game at a time.
    events.quiet(Duration::from_millis(300)).await;
}

#[tokio::test]
async fn player_cancels_and_repeats_challenges() {
    let site = site(5.0, &["Moody,challenges=Whitey,cancels-every=2"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let first = next(&mut events, "challenge").await;
    let path = format!("/api/challenge/{}/decline", text(&first["challenge"]["id"]));
    site.ok("Whitey", &path).await;
    next(&mut events, "challengeDeclined").await;
    let second = next(&mut events, "challenge").await;
    let canceled = next(&mut events, "challengeCanceled").await;
    assert_eq!(canceled["challenge"]["id"], second["challenge"]["id"]);
    next(&mut events, "challenge").await;
}

#[tokio::test]
async fn player_copies_challenge_concurrently() {
    let site = site(1.0, &["Swarm,copies=4,challenges=Whitey"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let mut names = Vec::new();
    while names.len() < 4 {
        let challenge = next(&mut events, "challenge").await;
        names.push(text(&challenge["challenge"]["challenger"]["name"]));
    }
    names.sort();
    assert_eq!(names, ["Swarm1", "Swarm2", "Swarm3", "Swarm4"]);
}

#[tokio::test]
async fn player_offers_rematch() {
    let site = site(50.0, &["Again,human,offers-rematches"]).await;
    let mut events = site.stream("Whitey", "/api/stream/event").await;
    let (id, mut stream) = game_with(&site, "Again", "clock.limit=600&clock.increment=0").await;
    site.play("Whitey", &id, "e2e4").await;
    plies(&mut stream, 2).await;
    site.ok("Whitey", &format!("/api/bot/game/{id}/resign"))
        .await;
    let offer = loop {
        let challenge = next(&mut events, "challenge").await["challenge"].take();
        if challenge["rematchOf"] == *id {
            break text(&challenge["id"]);
        }
    };
    site.ok("Whitey", &format!("/api/challenge/{offer}/accept"))
        .await;
    while next(&mut events, "gameStart").await["game"]["id"] != *offer {}
}

/// The moves of three games between two built-in players.
async fn moves_with(seed: u64, users: &[&str]) -> Vec<String> {
    let site = Site::with(SimOptions {
        speed: 200.0,
        seed,
        ..SimOptions::default()
    })
    .await;
    for user in users {
        site.sim.add_player(user.parse().unwrap());
    }
    site.finished(3).await;
    let mut games = Vec::new();
    for game in site.sim.games() {
        let path = format!("/game/export/{}?clocks=false&tags=false", game.id);
        games.push(site.text("", &path).await);
    }
    games
}

#[tokio::test]
async fn players_same_seed_repeats_games() {
    let users = [
        "Thinker,kind=engine,nodes=50,resigns=5",
        "Roller,resigns=3,challenges=Thinker,clock=3600+0,count=3,color=white,color=black",
    ];
    let once = moves_with(1, &users).await;
    // Another player changes nothing.
    let company = [users[0], users[1], "Idle,kind=idle"];
    assert_eq!(once, moves_with(1, &company).await);
    assert_ne!(once, moves_with(2, &users).await);
    assert_ne!(once[0], once[2]);
}
