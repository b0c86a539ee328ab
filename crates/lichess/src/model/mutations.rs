//! Mutated wire objects for tests: no value of a field that no move depends on may cost a game.

use serde_json::{Value, json};

use super::mutate::{mutations, values};
use super::*;

const EVENTS: &str = include_str!("../../tests/fixtures/event-stream.ndjson");
const FULLS: &str = include_str!("../../tests/fixtures/game-full.ndjson");
const USERS: &str = include_str!("../../tests/fixtures/users.ndjson");

/// The first lines of game streams.
fn fulls(words: &str) -> Vec<Value> {
    values(FULLS, words)
}

#[test]
fn game_full_with_mutated_fields_is_parsed() {
    let but = [
        "/id",
        "/type",
        "/variant",
        "/state",
        "/state/moves",
        "/state/status",
    ];
    let mut count = 0;
    for line in fulls("gameFull") {
        let id = line["id"].as_str().expect("an id");
        let moves = line["state"]["moves"].as_str().expect("moves");
        for (what, line) in mutations(&line, &but) {
            let GameEvent::Full(full) = GameEvent::from_line(&line.to_string()) else {
                panic!("{id}: {what}");
            };
            assert_eq!(
                (full.id.as_str(), &*full.state.moves),
                (id, moves),
                "{what}"
            );
            count += 1;
        }
    }
    assert!(count > 3_000, "{count}");
}

#[test]
fn game_state_with_mutated_fields_is_parsed() {
    let state = json!({"type": "gameState", "moves": "e2e4 e7e5", "wtime": 60_000, "btime": 58_000, "winc": 0, "binc": 0,
        "status": "started", "winner": "white", "wdraw": true, "bdraw": false, "wtakeback": true, "btakeback": false,
        "rematch": "AAAAAAAA", "expiration": {"idleMillis": 1, "millisToMove": 2}});
    for (what, line) in mutations(&state, &["/type", "/moves"]) {
        let GameEvent::State(state) = GameEvent::from_line(&line.to_string()) else {
            panic!("{what}");
        };
        assert_eq!(state.moves, "e2e4 e7e5", "{what}");
    }
    for status in [r#""status":null,"#, ""] {
        let line = format!(r#"{{"type":"gameState",{status}"moves":""}}"#);
        let GameEvent::State(state) = GameEvent::from_line(&line) else {
            panic!("{line}");
        };
        assert_eq!(state.status, Status::Started);
    }
}

#[test]
fn chat_and_gone_with_mutated_fields_are_parsed() {
    let chat = json!({"type": "chatLine", "room": "player", "username": "Anna", "text": "hi"});
    for (what, line) in mutations(&chat, &["/type"]) {
        let event = GameEvent::from_line(&line.to_string());
        assert!(matches!(event, GameEvent::Chat(_)), "{what}");
    }
    let gone = json!({"type": "opponentGone", "gone": true, "claimWinInSeconds": 8});
    for (what, line) in mutations(&gone, &["/type"]) {
        let event = GameEvent::from_line(&line.to_string());
        assert!(matches!(event, GameEvent::OpponentGone(_)), "{what}");
    }
}

#[test]
fn game_info_with_mutated_fields_is_parsed() {
    let but = ["/type", "/game", "/game/gameId", "/game/color"];
    for kind in ["gameStart", "gameFinish"] {
        for line in values(EVENTS, kind) {
            for (what, other) in mutations(&line, &but) {
                let event = Event::from_line(&other.to_string());
                let (Event::GameStart(game) | Event::GameFinish(game)) = event else {
                    panic!("{what}: {line}");
                };
                assert_eq!(Some(game.id.as_str()), line["game"]["gameId"].as_str());
                assert_eq!(Some(game.color.key()), line["game"]["color"].as_str());
            }
            // The id is there three times.
            for (what, other) in mutations(&line, &but[..1]) {
                if what.starts_with("/game/gameId") {
                    let event = Event::from_line(&other.to_string());
                    let is_game = matches!(event, Event::GameStart(_) | Event::GameFinish(_));
                    assert!(is_game || what.contains('"'), "{what}: {line}");
                }
            }
        }
    }
}

#[test]
fn challenge_with_mutated_fields_is_parsed() {
    let but = [
        "/type",
        "/challenge",
        "/challenge/id",
        "/challenge/challenger",
        "/challenge/challenger/name",
    ];
    for line in values(EVENTS, "\"type\":\"challenge\"") {
        for (what, other) in mutations(&line, &but) {
            let Event::Challenge(challenge, _) = Event::from_line(&other.to_string()) else {
                panic!("{what}: {line}");
            };
            assert_eq!(
                Some(challenge.id.as_str()),
                line["challenge"]["id"].as_str()
            );
            let name = challenge.challenger.map(|from| from.name.to_string());
            let expected = line["challenge"]["challenger"]["name"].as_str();
            assert_eq!(name.as_deref(), expected, "{what}");
        }
    }
}

#[test]
fn user_with_mutated_fields_is_parsed() {
    for user in values(USERS, "username") {
        for (what, other) in mutations(&user, &["/username"]) {
            let read: Result<User, _> = serde_json::from_value(other);
            let read = read.unwrap_or_else(|why| panic!("{what}: {why}"));
            assert_eq!(Some(read.username.as_str()), user["username"].as_str());
        }
    }
    let perfs =
        json!({"username": "A", "perfs": {"blitz": 5, "rapid": {"games": 3, "rating": "1500"}}});
    let user: User = serde_json::from_value(perfs).unwrap();
    assert_eq!(
        user.perfs["rapid"].rating,
        Some(1500),
        "next to one that is none"
    );
}

#[test]
fn line_with_bom_or_nul_or_duplicate_keys_is_parsed() {
    for line in [
        "\u{feff}{\"type\":\"gameState\",\"moves\":\"e2e4\",\"status\":\"started\"}\r",
        "\0{\"type\":\"gameState\",\"moves\":\"e2e4\",\"status\":\"started\"}\0",
        "{\"type\":\"gameState\",\"wdraw\":1,\"wdraw\":false,\"moves\":\"e2e4\",\"status\":\"started\",\"type\":\"gameState\"}",
    ] {
        let GameEvent::State(state) = GameEvent::from_line(line) else {
            panic!("{line:?}");
        };
        assert_eq!(state.moves, "e2e4");
    }
}
