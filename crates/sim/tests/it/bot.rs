//! A bot that uses nothing but HTTP plays a built-in player to the end of a game.

use std::future::pending;
use std::time::Duration;

use futures::StreamExt as _;
use knightwatch_chess::{Game, Position};
use knightwatch_sim::{NewUser, PlayerKind, PlayerOptions, Sim, SimOptions};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::net::TcpListener;

/// The lines of an NDJSON stream, without keep-alives.
struct Lines {
    response: futures::stream::BoxStream<'static, Vec<u8>>,
    buffer: Vec<u8>,
}

impl Lines {
    fn new(response: Response) -> Self {
        let bytes = response.bytes_stream().map(|chunk| chunk.unwrap().to_vec());
        Self {
            response: bytes.boxed(),
            buffer: Vec::new(),
        }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if line.len() > 1 {
                    return Some(serde_json::from_slice(&line).unwrap());
                }
                continue;
            }
            self.buffer.extend(self.response.next().await?);
        }
    }
}

#[tokio::test]
async fn bot_plays_built_in_player_to_the_end() {
    let sim = Sim::new(SimOptions {
        users: vec![NewUser::bot("MyBot")],
        speed: 10.0,
        ..SimOptions::default()
    });
    let mut echo = PlayerOptions::new("Echo", PlayerKind::Random);
    echo.delay = Duration::ZERO..=Duration::ZERO;
    sim.add_player(echo);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let site = sim.clone();
    tokio::spawn(async move { site.serve(listener, pending()).await });

    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let (http, token) = (Client::new(), sim.token_of("MyBot"));
    let post = |path: String| http.post(format!("{url}{path}")).bearer_auth(&token);
    let get = |path: String| http.get(format!("{url}{path}")).bearer_auth(&token);
    let mut events = Lines::new(get("/api/stream/event".to_owned()).send().await.unwrap());
    let form = [
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ];
    let challenge = post("/api/challenge/Echo".to_owned())
        .form(&form)
        .send()
        .await
        .unwrap();
    assert!(challenge.status().is_success());
    let id = loop {
        let event = events.next().await.unwrap();
        if event["type"] == "gameStart" {
            break event["game"]["gameId"].as_str().unwrap().to_owned();
        }
    };
    let mut stream = Lines::new(
        get(format!("/api/bot/game/stream/{id}"))
            .send()
            .await
            .unwrap(),
    );
    while let Some(line) = stream.next().await {
        let state = if line["type"] == "gameFull" {
            &line["state"]
        } else {
            &line
        };
        let (Some(moves), Some(status)) = (state["moves"].as_str(), state["status"].as_str())
        else {
            continue;
        };
        if status != "started" {
            break;
        }
        let game = Game::from_moves(Position::startpos(), moves.split_whitespace()).unwrap();
        let plies = game.moves().len();
        if plies % 2 == 1 {
            continue;
        }
        if plies >= 40 {
            let resigned = post(format!("/api/bot/game/{id}/resign"));
            assert!(resigned.send().await.unwrap().status().is_success());
            continue;
        }
        let uci = game.position().legal_moves()[plies % 3 % game.position().legal_moves().len()];
        let uci = uci.uci(knightwatch_chess::CastlingNotation::Standard);
        let played = post(format!("/api/bot/game/{id}/move/{uci}"))
            .send()
            .await
            .unwrap();
        assert!(played.status().is_success(), "{uci}");
    }
    let games = sim.games();
    assert_eq!(games.len(), 1);
    assert_ne!(games[0].status, "started");
}
