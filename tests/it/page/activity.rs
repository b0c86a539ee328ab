//! Page events about arenas, effective settings, own draw offers, and playing as an account of the simulator.

use std::time::Duration;

use knightwatch::sim::{ArenaOptions, NewUser, TimeControl};

use crate::common::{BOT, Daemon, Site};
use crate::etiquette::{self, DEAD, act};
use crate::operator::run_command;
use crate::page::{Url, is_game};

#[test]
fn arenas_and_settings_are_sent() {
    let site = Site::new([NewUser::human("Anna")]);
    let options = ArenaOptions {
        id: Some("rehearse".to_owned()),
        starts_in: Duration::from_secs(600),
        ..ArenaOptions::for_bots("Friday", TimeControl::clock(60, 0), 60)
    };
    site.sim.add_arena(&options).unwrap();
    let bot = Daemon::start(&site, "games = { concurrency = 2 }\n");
    let url = Url::of(&bot, 1);
    let mut page = url.events();
    let snapshot = page.snapshot();
    assert_eq!(snapshot["arenas"].as_array().map(Vec::len), Some(0));

    run_command(&bot, &["join", "rehearse"]);
    let joined = page.find("arena", |arena| arena["text"] == "joined");
    assert_eq!(joined["stage"], "planned");
    assert_eq!(joined["name"], "Friday Arena");
    assert!(joined["starts"].as_u64() > snapshot["now"].as_u64());
    run_command(&bot, &["leave", "rehearse"]);
    let left = page.find("arena", |arena| arena["text"] == "left");
    assert_eq!(left["stage"], "over");

    bot.configure(|text| text.replace("concurrency = 2", "concurrency = 3"));
    run_command(&bot, &["reload"]);
    page.find("settings", |settings| {
        let values = settings["values"].as_array().unwrap();
        values.contains(&serde_json::json!(["games.concurrency", "3"]))
    });
    // A page opened later gets the same.
    let snapshot = url.events().snapshot();
    assert_eq!(snapshot["arenas"][0]["text"], "left");
    let values = &snapshot["settings"][0]["values"];
    assert!(
        values.to_string().contains("[\"games.concurrency\",\"3\"]"),
        "{values}"
    );
}

#[test]
fn own_draw_offer_is_sent_and_can_be_accepted() {
    let site = Site::new([NewUser::human("Anna")]);
    let settings = "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30 }\n";
    let bot = Daemon::start(&site, settings);
    let mut page = Url::of(&bot, 1).events();
    let anna = site.player("Anna");
    let game = anna.start(&[
        ("clock.limit", "180"),
        ("clock.increment", "0"),
        ("variant", "fromPosition"),
        ("fen", DEAD),
        ("color", "white"),
    ]);
    act(&anna, &game, "move/e3d3");
    site.plies(&game, 2);
    act(&anna, &game, "move/d3e3");
    page.find("game", |shown| {
        is_game(&game)(shown) && shown["draw_offer"] == "black"
    });
    act(&anna, &game, "draw/yes");
    assert_eq!(site.finished(&game).status, "draw");
}

#[test]
fn clocks_after_takeback_and_added_time_are_sent() {
    let site = etiquette::site(&["Anna"]);
    let settings = "games = { max_takebacks = 1 }\n[[rule]]\nplay = { max_depth = 2 }\n";
    let bot = Daemon::start(&site, settings);
    let mut page = Url::of(&bot, 1).events();
    let anna = site.player("Anna");
    let game = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "60"),
        ("color", "white"),
    ]);
    for (ply, mv) in [(2, "e2e4"), (4, "g1f3")] {
        act(&anna, &game, &format!("move/{mv}"));
        site.plies(&game, ply);
    }
    // Anna keeps the increment of the move that she takes back.
    act(&anna, &game, "takeback/yes");
    let clocks = page.find("game", |shown| {
        let is_back = shown["moves"]
            .as_array()
            .is_some_and(|moves| moves.len() == 2);
        is_game(&game)(shown) && is_back && shown["clocks"]["white_ms"].as_u64() > Some(630_000)
    });
    let clocks = &clocks["clocks"];
    assert_eq!(
        (&clocks["black_ms"], &clocks["running"]),
        (&600_000.into(), &"white".into())
    );

    let (status, answer) = anna.post(&format!("/api/round/{game}/add-time/15"), &[]);
    assert_eq!(status, 200, "{answer}");
    page.find("game", |shown| {
        is_game(&game)(shown) && shown["clocks"]["black_ms"] == 615_000
    });
}

#[test]
fn play_as_account_of_simulator_is_forwarded() {
    let site = Site::new(["Anna:browser".parse::<NewUser>().unwrap()]);
    let arguments = ["--set", "web.play_as=Anna", "--set", "book.enabled=false"];
    let bot = Daemon::start_with(&site, "", &arguments);
    let url = Url::of(&bot, 1);
    let mut page = url.events();
    let snapshot = page.snapshot();
    assert_eq!(snapshot["play"]["user"], "Anna");
    let form = "clock.limit=180&clock.increment=2&color=white";
    let challenge = format!("/api/challenge/{BOT}");
    assert_eq!(
        url.request("POST", &format!("/play{challenge}"), "", form)
            .0,
        403
    );
    let (status, answer) = url.play(&challenge, form);
    assert_eq!(status, 200, "{answer}");
    let started = page.find("game", |game| game["white"]["name"] == "Anna");
    let id = started["id"].as_str().unwrap();
    assert_eq!(
        url.play(&format!("/api/board/game/{id}/move/e2e4"), "").0,
        200
    );
    page.find("moved", |event| {
        event["game"] == id && event["move"]["ply"] == 2
    });
    // Errors of the site are passed on.
    let (status, why) = url.play(&format!("/api/board/game/{id}/move/e2e4"), "");
    assert_eq!(status, 400);
    assert!(why.contains("error"), "{why}");
    assert_eq!(url.play(&format!("/api/board/game/{id}/resign"), "").0, 200);
    assert_eq!(site.finished(id).status, "resign");
}
