//! Rematches.

use knightwatch::sim::{NewUser, SimOptions};
use serde_json::Value;

use super::{CLOCK, act, site};
use crate::common::{BOT, Daemon, Player, Site, wait};
use crate::operator::run_command;

/// Waits until the log has these words this many times.
fn wait_for_log(bot: &Daemon, words: &str, times: usize) {
    wait(&format!("the log says {times} times: {words}"), || {
        (bot.log().matches(words).count() >= times).then_some(())
    });
}

/// Makes the first move of a game for this player, who has White, and resigns after the reply.
fn move_and_resign(site: &Site, player: &Player<'_>, id: &str) {
    act(player, id, "move/e2e4");
    site.plies(id, 2);
    act(player, id, "resign");
    site.finished(id);
}

#[test]
fn rematch_is_played_once_in_a_row() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    move_and_resign(&site, &anna, &first);
    let second = site.sim.offer_rematch("Anna", &first).unwrap();
    // The bot has White now.
    site.plies(&second, 1);
    act(&anna, &second, "move/e7e5");
    act(&anna, &second, "resign");
    site.finished(&second);
    site.sim.offer_rematch("Anna", &second).unwrap();
    wait_for_log(
        &bot,
        "one rematch is played, then others have their turn",
        1,
    );
    // An ordinary challenge is still accepted.
    anna.start(&CLOCK);
}

/// The pending challenge of the bot to this player.
fn rematch_offer(player: &Player<'_>) -> Option<Value> {
    let (_, list) = player.get("/api/challenge");
    let mut offers = list["in"].as_array()?.iter();
    let is_bots = |offer: &&Value| offer["challenger"]["name"] == BOT;
    offers.find(is_bots).cloned()
}

#[test]
fn rematch_is_offered_once() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let idle = "idle: no game is running";
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    move_and_resign(&site, &anna, &first);
    let second = wait("the bot offers a rematch", || rematch_offer(&anna));
    assert_eq!(second["color"], "white", "{second}");
    assert_eq!(second["timeControl"]["limit"], 10_800, "{second}");
    let second = second["id"].as_str().unwrap();
    let (status, answer) = anna.post(&format!("/api/challenge/{second}/accept"), &[]);
    assert_eq!(status, 200, "{answer}");
    site.plies(second, 1);
    act(&anna, second, "move/e7e5");
    let before = bot.log().matches(idle).count();
    act(&anna, second, "resign");
    wait_for_log(&bot, idle, before + 1);
    assert_eq!(bot.log().matches("offering Anna a rematch").count(), 1);
}

#[test]
fn rematch_offer_without_answer_is_canceled() {
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
    move_and_resign(&site, &anna, &first);
    wait_for_log(&bot, "offering Anna a rematch", 1);
    wait_for_log(&bot, "canceled", 1);
    assert_eq!(rematch_offer(&anna), None);
}

#[test]
fn rematch_of_opponent_cancels_own_offer() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    move_and_resign(&site, &anna, &first);
    wait("the bot offers a rematch", || rematch_offer(&anna));
    let second = site.sim.offer_rematch("Anna", &first).unwrap();
    site.plies(&second, 1);
    wait_for_log(&bot, "canceled", 1);
    assert_eq!(rematch_offer(&anna), None);
}

#[test]
fn rematch_is_not_offered_to_blocked_opponent() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(&site, "[games]\noffer_rematch = true\n");
    let anna = site.player("Anna");
    let first = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    run_command(&bot, &["block", "Anna"]);
    let idle = "idle: no game is running";
    let before = bot.log().matches(idle).count();
    move_and_resign(&site, &anna, &first);
    wait_for_log(&bot, idle, before + 1);
    assert!(!bot.log().contains("a rematch"), "{}", bot.log());
}
