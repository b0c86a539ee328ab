//! What the page says of the bot beside its moves: arenas, the settings in force, our own offers.

use std::time::Duration;

use knightwatch::sim::{ArenaOptions, NewUser, TimeControl};

use crate::common::{BOT, Daemon, Site};
use crate::manners::{DEAD, act};
use crate::operator::said;
use crate::page::{Url, is};

#[test]
fn arenas_and_settings_are_told_as_they_are() {
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

    said(&bot, &["join", "rehearse"]);
    let joined = page.find("arena", |arena| arena["text"] == "joined");
    assert_eq!(joined["stage"], "planned");
    assert_eq!(joined["name"], "Friday Arena");
    assert!(joined["starts"].as_u64() > snapshot["now"].as_u64());
    said(&bot, &["leave", "rehearse"]);
    let left = page.find("arena", |arena| arena["text"] == "left");
    assert_eq!(left["stage"], "over");

    bot.configure(|text| text.replace("concurrency = 2", "concurrency = 3"));
    said(&bot, &["reload"]);
    page.find("settings", |settings| {
        let values = settings["values"].as_array().unwrap();
        values.contains(&serde_json::json!(["games.concurrency", "3"]))
    });
    // Who looks only now sees the same.
    let snapshot = url.events().snapshot();
    assert_eq!(snapshot["arenas"][0]["text"], "left");
    let values = &snapshot["settings"][0]["values"];
    assert!(
        values.to_string().contains("[\"games.concurrency\",\"3\"]"),
        "{values}"
    );
}

#[test]
fn a_draw_that_we_offer_is_told_and_can_be_taken() {
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
        is(&game)(shown) && shown["draw_offer"] == "black"
    });
    act(&anna, &game, "draw/yes");
    assert_eq!(site.finished(&game).status, "draw");
}

#[test]
fn one_plays_on_the_page_of_a_daemon_beside_a_simulator() {
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
        url.ask("POST", &format!("/play{challenge}"), "", form).0,
        403
    );
    let (status, answer) = url.play(&challenge, form);
    assert_eq!(status, 200, "{answer}");
    let begun = page.find("game", |game| game["white"]["name"] == "Anna");
    let id = begun["id"].as_str().unwrap();
    assert_eq!(
        url.play(&format!("/api/board/game/{id}/move/e2e4"), "").0,
        200
    );
    page.find("moved", |told| {
        told["game"] == id && told["move"]["ply"] == 2
    });
    // What the site refuses is told in its words.
    let (status, why) = url.play(&format!("/api/board/game/{id}/move/e2e4"), "");
    assert_eq!(status, 400);
    assert!(why.contains("error"), "{why}");
    assert_eq!(url.play(&format!("/api/board/game/{id}/resign"), "").0, 200);
    assert_eq!(site.finished(id).status, "resign");
}
