use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::events::{self, Color, GameFinished, GameStarted, Moved, Offer, Player, TimeControl};

fn started(id: &str) -> Event {
    Event::GameStarted(GameStarted {
        game: id.to_owned(),
        white: Player::default(),
        black: Player::default(),
        our_color: Color::Black,
        speed: "blitz".to_owned(),
        time_control: TimeControl::Unlimited,
        rated: false,
        variant: "standard".to_owned(),
        initial_fen: None,
        tournament: None,
        engine: None,
        plies: 0,
    })
}

fn moved(id: &str, ply: u32, uci: &str) -> Event {
    Event::Moved(Moved {
        game: id.to_owned(),
        ply,
        san: String::new(),
        uci: uci.to_owned(),
        by: Color::White,
        ours: false,
        wtime: None,
        btime: None,
        search: None,
        timing: None,
    })
}

fn finished(id: &str) -> Event {
    Event::GameFinished(GameFinished {
        game: id.to_owned(),
        our_color: None,
        status: "mate".to_owned(),
        winner: Some(Color::Black),
        result: "0-1".to_owned(),
        plies: 0,
        moves: String::new(),
        observed: true,
    })
}

/// The name and the data of a frame.
fn read(frame: &Bytes) -> (String, Value) {
    let text = std::str::from_utf8(frame).expect("text");
    let (head, data) = text.split_once("\ndata: ").expect("two lines");
    assert!(data.ends_with("\n\n") && data.trim_end().lines().count() == 1);
    let name = head.strip_prefix("event: ").expect("a name").to_owned();
    (name, serde_json::from_str(data).expect("JSON"))
}

fn events_after(state: &mut PageState, event: &Event) -> Vec<(String, Value)> {
    let changes = state.on_event(event, 7);
    let frames = changes.iter().filter_map(|change| state.frame(change, 7));
    frames.map(|frame| read(&frame)).collect()
}

#[test]
fn games_of_a_stopped_account_end() {
    let mut state = PageState::new(None, true, &[]);
    for (id, account) in [("abcd", "Anna"), ("efgh", "Bert")] {
        let Event::GameStarted(mut start) = started(id) else {
            unreachable!("it is a start");
        };
        start.black.name = account.to_owned();
        state.on_event(&Event::GameStarted(start), 0);
    }
    let offline = |retry_in| Event::ForAccount {
        account: "anna".to_owned(),
        event: Box::new(Event::Offline {
            reason: "the token was rejected".to_owned(),
            retry_in,
        }),
    };
    let of_games = |events: Vec<(String, Value)>| -> Vec<Value> {
        let games = events.into_iter().filter(|(name, _)| name == "game");
        games.map(|(_, game)| game).collect()
    };
    let retried = offline(Some(Duration::from_secs(1)));
    assert!(of_games(events_after(&mut state, &retried)).is_empty());
    let ended = of_games(events_after(&mut state, &offline(None)));
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["id"], "abcd");
    assert_eq!(ended[0]["result"]["text"], "the account has stopped");
}

#[test]
fn game_events_from_start_to_end() {
    let mut state = PageState::new(None, true, &[PageAction::Pause]);
    let names = |events: &[(String, Value)]| -> Vec<String> {
        events.iter().map(|(name, _)| name.clone()).collect()
    };
    let start = events_after(&mut state, &started("abcd"));
    assert_eq!(names(&start), ["game", "status"]);
    assert_eq!(start[0].1["ours"], "black");
    let first = events_after(&mut state, &moved("abcd", 1, "e2e4"));
    assert_eq!(names(&first), ["moved"]);
    assert_eq!(first[0].1["move"]["san"], "e4");
    assert_eq!(first[0].1["legal"].as_array().map(Vec::len), Some(20));
    assert!(events_after(&mut state, &moved("abcd", 1, "e2e4")).is_empty());
    assert!(events_after(&mut state, &moved("other", 1, "e2e4")).is_empty());
    let end = events_after(&mut state, &finished("abcd"));
    assert_eq!(names(&end), ["game", "status"]);
    assert_eq!(end[0].1["result"]["outcome"], "won");
    let (name, all) = read(&state.snapshot(9));
    assert_eq!(name, "snapshot");
    assert_eq!(all["games"][0]["result"]["text"], "checkmate");
    assert_eq!(
        (&all["records"], &all["play"]),
        (&true.into(), &Value::Null)
    );
    assert_eq!(
        (&all["now"], &all["control"][0]),
        (&9.into(), &"pause".into())
    );
    // Chat may follow the end.
    let chat = Event::Chat {
        game: "abcd".to_owned(),
        room: "player".to_owned(),
        from: "Anna".to_owned(),
        text: "</script>\n".to_owned(),
    };
    assert_eq!(names(&events_after(&mut state, &chat)), ["chat"]);
}

#[test]
fn lists_are_bounded() {
    let mut state = PageState::default();
    for n in 0..2 * MAX_RUNNING_GAMES {
        state.on_event(&started(&format!("g{n}")), 0);
        state.on_event(&Event::note("a note"), 0);
        let challenge = events::Challenge {
            id: n.to_string(),
            from: Player::default(),
            to: None,
            time_control: TimeControl::Unlimited,
            variant: "standard".to_owned(),
            rated: false,
            decision: events::Decision::Declined,
            reason: String::new(),
        };
        state.on_event(&Event::Challenge(challenge), 0);
    }
    let (_, all) = read(&state.snapshot(0));
    let length = |name: &str| all[name].as_array().map(Vec::len);
    assert_eq!(length("games"), Some(MAX_RUNNING_GAMES));
    assert_eq!(length("log"), Some(MAX_NOTES));
    assert_eq!(length("challenges"), Some(MAX_CHALLENGES));
    for n in 0..2 * MAX_RUNNING_GAMES {
        state.on_event(&finished(&format!("g{n}")), 0);
    }
    let (_, all) = read(&state.snapshot(0));
    assert_eq!(
        all["games"].as_array().map(Vec::len),
        Some(MAX_FINISHED_GAMES)
    );
    assert_eq!(
        all["games"][0]["id"],
        format!("g{}", 2 * MAX_RUNNING_GAMES - 1)
    );
}

#[test]
fn games_missing_after_lag_are_finished() {
    let mut state = PageState::default();
    state.on_event(&started("one"), 0);
    state.on_event(&started("two"), 0);
    state.on_lagged(9, &["two".to_owned()], 0);
    let (_, all) = read(&state.snapshot(0));
    assert_eq!(all["games"][0]["id"], "two");
    assert_eq!(all["games"][0]["result"], Value::Null);
    assert_eq!(all["games"][1]["result"]["outcome"], "unknown");
}

#[test]
fn initial_clocks_match_the_server() {
    for ((limit, increment), start) in [((180, 2), 180_000), ((0, 1), 3_000), ((0, 5), 5_000)] {
        let Event::GameStarted(start_of) = started("abcd") else {
            unreachable!()
        };
        let time_control = TimeControl::Clock { limit, increment };
        let start_of = Event::GameStarted(GameStarted {
            time_control,
            ..start_of
        });
        let mut state = PageState::default();
        let game = events_after(&mut state, &start_of).remove(0).1;
        assert_eq!(game["clocks"]["white_ms"], start, "{limit}+{increment}");
        assert_eq!(game["clock"]["start_ms"], start, "{limit}+{increment}");
        assert_eq!(game["clock"]["base_ms"], limit * 1_000);
    }
}

#[test]
fn online_event_sends_server() {
    let mut state = PageState::default();
    let online = Event::Online {
        account: Player::default(),
        server: "https://lichess.org/".to_owned(),
    };
    let (name, status) = events_after(&mut state, &online).remove(0);
    assert_eq!(name, "status");
    assert_eq!(status["server"], "https://lichess.org");
}

#[test]
fn pause_sends_status() {
    let mut state = PageState::default();
    let events = events_after(&mut state, &Event::Paused { paused: true });
    assert_eq!(events[0].1["paused"], true);
}

#[test]
fn arenas_and_settings_are_kept_per_account() {
    let mut state = PageState::default();
    let arena = |rank| events::Arena {
        id: "may24bot".to_owned(),
        name: "Bots".to_owned(),
        stage: events::ArenaStage::Running,
        starts: None,
        rank,
        players: 9,
        text: "we are in it".to_owned(),
    };
    let of = |account: &str, event| Event::ForAccount {
        account: account.to_owned(),
        event: Box::new(event),
    };
    state.on_event(&of("Anna", Event::Arena(arena(None))), 0);
    state.on_event(&of("Bert", Event::Arena(arena(Some(3)))), 0);
    let again = events_after(&mut state, &of("Anna", Event::Arena(arena(Some(2)))));
    assert_eq!(again[0].0, "arena");
    assert_eq!(
        (&again[0].1["account"], &again[0].1["rank"]),
        (&"Anna".into(), &2.into())
    );
    let settings =
        |value: &str| Event::Settings(vec![("games.concurrency".to_owned(), value.to_owned())]);
    state.on_event(&settings("1"), 0);
    let new = events_after(&mut state, &settings("4"));
    assert_eq!(
        (new[0].0.as_str(), &new[0].1["values"][0][1]),
        ("settings", &"4".into())
    );
    let (_, all) = read(&state.snapshot(0));
    assert_eq!(all["arenas"].as_array().map(Vec::len), Some(2));
    assert_eq!(all["arenas"][1]["account"], "Anna");
    assert_eq!(all["settings"].as_array().map(Vec::len), Some(1));
    assert_eq!(all["settings"][0]["values"][0][1], "4");

    // The backlog does not replace newer information.
    let over = |id: &str, account: Option<&str>| Arena {
        stage: events::ArenaStage::Over.key(),
        ..Arena::of(
            &events::Arena {
                id: id.to_owned(),
                ..arena(None)
            },
            account,
        )
    };
    state.add_backlog(Backlog {
        arenas: vec![
            over("may24bot", Some("Bert")),
            over("april24b", Some("Bert")),
            over("march24b", None),
        ],
        ..Backlog::default()
    });
    let (_, all) = read(&state.snapshot(0));
    let arenas = all["arenas"].as_array().unwrap().iter();
    let arenas: Vec<_> = arenas.map(|one| [&one["id"], &one["stage"]]).collect();
    assert_eq!(
        arenas,
        [
            ["march24b", "over"],
            ["april24b", "over"],
            ["may24bot", "running"],
            ["may24bot", "running"]
        ]
    );
}

#[test]
fn draining_counts_running_games() {
    let mut state = PageState::default();
    state.on_event(&started("one"), 0);
    state.on_event(&Event::Draining { games: 1 }, 0);
    let end = events_after(&mut state, &finished("one"));
    assert_eq!(end[1].1["draining"], 0);
}

/// The last line of a game's chat: its author and its text.
fn last_line(state: &PageState) -> (String, String) {
    let live = state.live_game("abcd").expect("the game");
    let line = live.view.chat.back().expect("a line");
    (line.from.clone(), line.text.clone())
}

#[test]
fn offers_and_answers_are_added_to_chat_once() {
    let mut state = PageState::default();
    let Event::GameStarted(start) = started("abcd") else {
        unreachable!()
    };
    let named = |name: &str| Player {
        name: name.to_owned(),
        ..Player::default()
    };
    state.on_event(
        &Event::GameStarted(GameStarted {
            white: named("Anna"),
            black: named("Knightwatch"),
            ..start
        }),
        0,
    );
    let game = || "abcd".to_owned();
    let black = |ply, uci| match moved("abcd", ply, uci) {
        Event::Moved(moved) => Event::Moved(Moved {
            by: Color::Black,
            ..moved
        }),
        other => other,
    };
    state.on_event(&moved("abcd", 1, "e2e4"), 0);
    state.on_event(&black(2, "e7e5"), 0);
    let offered = Event::DrawOffered {
        game: game(),
        by: Color::White,
    };
    let game_event = events_after(&mut state, &offered).remove(0).1;
    assert_eq!(game_event["draw_offer"], "white");
    assert_eq!(game_event["last_draw_offer"]["white"], 2);
    let lines = game_event["chat"].as_array().map(Vec::len);
    assert_eq!(lines, Some(1));
    let declined = |offer| Event::Declined {
        game: game(),
        by: Color::Black,
        offer,
    };
    let game_event = events_after(&mut state, &declined(Offer::Draw)).remove(0).1;
    assert_eq!(game_event["draw_offer"], Value::Null);
    let (from, text) = last_line(&state);
    assert_eq!((&*from, &*text), ("Knightwatch", "declined the draw"));
    // The stream may still show the offer; our next move does not decline it a second time.
    state.on_event(&moved("abcd", 3, "g1f3"), 0);
    let next = events_after(&mut state, &black(4, "b8c6"));
    assert_eq!(next.len(), 1);

    // The stream may drop the request before the answer.
    let requested = |pending| Event::TakebackRequested {
        game: game(),
        by: Color::White,
        pending,
    };
    assert_eq!(
        events_after(&mut state, &requested(true))[0].1["takeback"],
        "white"
    );
    assert_eq!(
        events_after(&mut state, &requested(false))[0].1["takeback"],
        Value::Null
    );
    let game_event = events_after(&mut state, &declined(Offer::Takeback))
        .remove(0)
        .1;
    assert_eq!(game_event["takebacks_allowed"], false);
    let (from, text) = last_line(&state);
    assert_eq!((&*from, &*text), ("Knightwatch", "declined the takeback"));

    // A move declines the request; taking moves back accepts it.
    state.on_event(&moved("abcd", 5, "f1b5"), 0);
    state.on_event(&requested(true), 0);
    let names = events_after(&mut state, &black(6, "a7a6"));
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["moved", "game"]);
    assert_eq!(last_line(&state).1, "declined the takeback");
    state.on_event(&requested(true), 0);
    state.on_event(
        &Event::TakenBack {
            game: game(),
            ply: 4,
        },
        0,
    );
    assert_eq!(last_line(&state).1, "accepted the takeback");
}
