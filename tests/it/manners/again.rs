//! One more game.

use knightwatch::sim::{NewUser, SimOptions};
use serde_json::Value;

use super::{CLOCK, act, site};
use crate::common::{BOT, Daemon, Player, Site, wait};
use crate::operator::said;

/// Waits until the log says this so often.
fn logged(bot: &Daemon, words: &str, times: usize) {
    wait(&format!("the log says {times} times: {words}"), || {
        (bot.log().matches(words).count() >= times).then_some(())
    });
}

/// The first move of a game in which this player has White, and his resignation.
fn lose(site: &Site, player: &Player<'_>, id: &str) {
    act(player, id, "move/e2e4");
    site.plies(id, 2);
    act(player, id, "resign");
    site.finished(id);
}

#[test]
fn one_rematch_is_played_and_then_others_have_their_turn() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    lose(&site, &anna, &first);
    let second = site.sim.offer_rematch("Anna", &first).unwrap();
    // It has White now.
    site.plies(&second, 1);
    act(&anna, &second, "move/e7e5");
    act(&anna, &second, "resign");
    site.finished(&second);
    site.sim.offer_rematch("Anna", &second).unwrap();
    logged(
        &bot,
        "one rematch is played, then others have their turn",
        1,
    );
    // An ordinary challenge is as welcome as ever.
    anna.start(&CLOCK);
}

/// The challenge of the bot that waits for this player.
fn offer(player: &Player<'_>) -> Option<Value> {
    let (_, list) = player.get("/api/challenge");
    let mut offers = list["in"].as_array()?.iter();
    let is_bots = |offer: &&Value| offer["challenger"]["name"] == BOT;
    offers.find(is_bots).cloned()
}

#[test]
fn a_rematch_is_offered_once() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let idle = "idle: no game is on";
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    lose(&site, &anna, &first);
    let second = wait("the bot offers a rematch", || offer(&anna));
    assert_eq!(second["color"], "white", "{second}");
    assert_eq!(second["timeControl"]["limit"], 10_800, "{second}");
    let second = second["id"].as_str().unwrap();
    let (status, answer) = anna.post(&format!("/api/challenge/{second}/accept"), &[]);
    assert_eq!(status, 200, "{answer}");
    site.plies(second, 1);
    act(&anna, second, "move/e7e5");
    let before = bot.log().matches(idle).count();
    act(&anna, second, "resign");
    logged(&bot, idle, before + 1);
    assert_eq!(bot.log().matches("offering Anna a rematch").count(), 1);
}

#[test]
fn an_offer_that_nobody_answers_is_taken_back() {
    let speed = 10.0;
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::human("Anna")],
        speed,
        ..SimOptions::default()
    });
    let config = "[[rule]]\nmatch = { bot = false }\nplay = { offer_rematch = true }\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", &speed.to_string()]);
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    lose(&site, &anna, &first);
    logged(&bot, "offering Anna a rematch", 1);
    logged(&bot, "taken back", 1);
    assert_eq!(offer(&anna), None);
}

#[test]
fn who_asks_himself_gets_one_game() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    lose(&site, &anna, &first);
    wait("the bot offers a rematch", || offer(&anna));
    let second = site.sim.offer_rematch("Anna", &first).unwrap();
    site.plies(&second, 1);
    logged(&bot, "taken back", 1);
    assert_eq!(offer(&anna), None);
}

#[test]
fn who_has_been_blocked_is_offered_no_rematch() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    said(&bot, &["block", "Anna"]);
    let idle = "idle: no game is on";
    let before = bot.log().matches(idle).count();
    lose(&site, &anna, &first);
    logged(&bot, idle, before + 1);
    assert!(!bot.log().contains("a rematch"), "{}", bot.log());
}
