//! Input that Lichess does not send today: a proxy of the simulator changes the lines of the bot's streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use futures::StreamExt;
use knightwatch::sim::{Endpoint, NewUser, SimOptions};
use serde_json::{Value, json};

use crate::common::{BOT, Daemon, SLOW, Site, requests_of, wait};

/// Maps a line of the stream at a path to the lines that the bot receives.
type Change = dyn Fn(&str, Value) -> Vec<Value> + Send + Sync;

/// Starts a proxy of the site that changes stream lines; returns its address.
fn start_proxy(
    site: &Site,
    change: impl Fn(&str, Value) -> Vec<Value> + Send + Sync + 'static,
) -> String {
    let (url, http) = (site.url.clone(), crate::common::http_client());
    let change: Arc<Change> = Arc::new(change);
    site.serve(Router::new().fallback(move |request: Request| {
        let (url, http, change) = (url.clone(), http.clone(), Arc::clone(&change));
        async move { forward(&url, &http, change, request).await }
    }))
}

async fn forward(
    url: &str,
    http: &reqwest::Client,
    change: Arc<Change>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let target = format!("{url}{}", parts.uri.path_and_query().unwrap());
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let mut call = http.request(parts.method, target).body(body);
    for name in ["authorization", "content-type", "user-agent"] {
        if let Some(value) = parts.headers.get(name) {
            call = call.header(name, value);
        }
    }
    let answer = call.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    if let Some(kind) = answer.headers().get("content-type") {
        response = response.header("content-type", kind);
    }
    if !path.contains("/stream/") {
        let body = answer.bytes().await.unwrap();
        return response.body(Body::from(body)).unwrap();
    }
    let mut rest = Vec::new();
    let lines = answer.bytes_stream().map(move |bytes| {
        rest.extend_from_slice(&bytes?);
        let mut out = Vec::new();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(value) => {
                    for value in change(&path, value) {
                        out.extend_from_slice(format!("{value}\n").as_bytes());
                    }
                }
                Err(_) => out.extend_from_slice(&line),
            }
        }
        reqwest::Result::Ok(Bytes::from(out))
    });
    response.body(Body::from_stream(lines)).unwrap()
}

/// The bot with this proxy, at the speed of the site. It has hours for each game, and moves at once.
fn bot_with_proxy(url: &str, site: &Site, speed: f64, config: &str) -> Daemon {
    let lichess = format!("lichess = {{ url = \"{url}\", token_file = \"token\" }}\n");
    let quick = "[[rule]]\nplay = { max_depth = 4 }\n";
    let config = format!("{lichess}{config}{quick}");
    Daemon::start_with(site, &config, &["--time-scale", &speed.to_string()])
}

fn two_bots() -> SimOptions {
    SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        ..SimOptions::default()
    }
}

fn is_state(line: &Value) -> bool {
    line["type"] == "gameState"
}

/// The line with some fields replaced.
fn with(line: &Value, fields: Value) -> Value {
    let mut line = line.clone();
    for (key, value) in fields.as_object().unwrap() {
        line[key] = value.clone();
    }
    line
}

#[test]
fn malformed_optional_fields_do_not_stop_a_game() {
    let site = Site::with(two_bots());
    let url = start_proxy(&site, |_, line| {
        let odd = json!({
            "rated": null, "createdAt": "today", "white": null, "black": {"title": 1, "name": [], "rating": "x"},
            "clock": {}, "initialFen": 5, "speed": {}, "tournamentId": {}, "daysPerTurn": "3",
        });
        let increments =
            json!({"winc": null, "binc": "2", "wdraw": "no", "winner": 7, "rematch": 5});
        if line["type"] == "gameFull" {
            let state = with(&line["state"], increments);
            return vec![with(&with(&line, odd), json!({"state": state}))];
        }
        let is_state = is_state(&line);
        vec![if is_state {
            with(&line, increments)
        } else {
            line
        }]
    });
    let bot = bot_with_proxy(&url, &site, 1.0, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    for (ply, uci) in [(0, "a2a3"), (2, "b2b3"), (4, "h2h3")] {
        anna.play(&id, uci);
        site.plies(&id, ply + 2);
    }
    assert!(!bot.log().contains("unreadable"), "{}", bot.log());
}

#[test]
fn move_before_the_first_line_is_answered() {
    let site = Site::with(two_bots());
    let url = start_proxy(&site, |_, line| {
        let moves = line["state"]["moves"].as_str().unwrap_or_default();
        let Some((before, _)) = moves.rsplit_once(' ') else {
            return vec![line];
        };
        // As Lichess computes the line that starts a stream, a move may come first.
        let state = line["state"].clone();
        let older = with(&state, json!({ "moves": before }));
        vec![state, with(&line, json!({ "state": older }))]
    });
    let mut bot = bot_with_proxy(&url, &site, 1.0, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "a2a3");
    site.plies(&id, 2);
    bot.crash();
    anna.play(&id, "h2h3");
    bot.restart();
    site.plies(&id, 4);
    // The list of games, which would show it later, opens the stream again.
    assert_eq!(requests_of(&site, BOT, Endpoint::GameStream).len(), 2);
}

#[test]
fn listed_game_is_resumed_after_a_wrong_end() {
    let site = Site::with(SimOptions {
        speed: 10.0,
        ..two_bots()
    });
    let said = AtomicUsize::new(0);
    let url = start_proxy(&site, move |_, line| {
        let first = is_state(&line) && said.fetch_add(1, Ordering::Relaxed) == 0;
        vec![if first {
            with(&line, json!({"status": "paused"}))
        } else {
            line
        }]
    });
    let bot = bot_with_proxy(&url, &site, 10.0, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    anna.play(&id, "a2a3");
    // The list of games is read once a minute.
    site.plies(&id, 2);
    wait("the game is resumed", || {
        let log = bot.log();
        log.contains("lists a game as running that was finished")
            .then_some(())
    });
}

#[test]
fn game_end_must_be_confirmed_by_its_stream() {
    for end in [
        json!({"status": {"id": 20, "name": "started"}}),
        json!({"status": {"id": 31, "name": "resign"}}),
    ] {
        let site = Site::with(two_bots());
        let url = start_proxy(&site, move |_, line| {
            let finish = with(&line["game"].clone(), end.clone());
            let finish = json!({"type": "gameFinish", "game": finish});
            match line["type"] == "gameStart" {
                true => vec![line, finish],
                false => vec![line],
            }
        });
        let bot = bot_with_proxy(&url, &site, 1.0, "");
        let anna = site.player("Anna");
        let id = anna.start(&SLOW);
        wait("its stream was asked", || {
            (requests_of(&site, BOT, Endpoint::GameStream).len() >= 2).then_some(())
        });
        anna.play(&id, "a2a3");
        site.plies(&id, 2);
        wait("it says so", || {
            bot.log()
                .contains("the game stream says it is running")
                .then_some(())
        });
        assert!(!bot.log().contains("resuming the game"), "{}", bot.log());
    }
}

#[test]
fn missing_end_after_mate_is_logged_once() {
    let site = Site::with(SimOptions {
        speed: 10.0,
        ..two_bots()
    });
    let url = start_proxy(&site, |path, mut line| {
        let on = json!({"status": "started", "winner": null});
        if line["type"] == "gameFull" {
            line["state"] = with(&line["state"], on);
        } else if is_state(&line) {
            line = with(&line, on);
        }
        let events = path == "/api/stream/event";
        match events && line["type"] == "gameFinish" {
            true => Vec::new(),
            false => vec![line],
        }
    });
    let fen = "4k3/8/4K3/8/8/8/8/7R w - - 0 1";
    let bot = bot_with_proxy(&url, &site, 10.0, "");
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "10800"),
        ("clock.increment", "0"),
        ("color", "white"),
        ("variant", "fromPosition"),
        ("fen", fen),
    ]);
    anna.play(&id, "h1h8");
    let listed = |count| {
        let before = requests_of(&site, BOT, Endpoint::Playing).len();
        wait("the games are listed again", || {
            let requests = requests_of(&site, BOT, Endpoint::Playing).len();
            (requests >= before + count).then_some(())
        });
    };
    wait("it is said", || {
        bot.log().contains("there is no legal move").then_some(())
    });
    listed(3);
    let log = bot.log();
    assert_eq!(log.matches("there is no legal move").count(), 1, "{log}");
    assert!(!log.contains("stuck on our turn"), "{log}");
    assert!(!log.contains("the stream has not reported it"), "{log}");
}

#[test]
fn repeated_offers_are_answered_a_few_times() {
    let site = Site::with(two_bots());
    let url = start_proxy(&site, |_, line| {
        if !is_state(&line) || line["moves"] != "a2a3" {
            return vec![line];
        }
        // On our turn nothing but a takeback is answered besides the move.
        let off = with(&line, json!({"wtakeback": false, "wdraw": false}));
        let on = with(&line, json!({"wtakeback": true, "wdraw": true}));
        std::iter::repeat_n([on, off], 200).flatten().collect()
    });
    // Long enough to read the offers: a move declines them as well.
    let config = "book = { enabled = false }\n[games]\ntakebacks = \"never\"\n\
                  [[rule]]\nplay = { max_depth = 60, max_move_ms = 1000 }\n";
    let bot = bot_with_proxy(&url, &site, 1.0, config);
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    // The offers are with the state of the move, which is in the first line of a stream that is opened later.
    wait("the stream is open", || {
        bot.log().contains("playing Black against").then_some(())
    });
    anna.play(&id, "a2a3");
    site.plies(&id, 2);
    anna.play(&id, "b2b3");
    site.plies(&id, 4);
    let answers = requests_of(&site, BOT, Endpoint::Takeback).len();
    assert!((1..=3).contains(&answers), "{answers}: {}", bot.log());
}
