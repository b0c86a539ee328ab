//! What the person who plays on the page is told, from their side, and what those who watch are told.

use serde_json::json;

use super::driver::Browser;
use super::playing::{NO_BISHOPS, click, fill_in, new_game, send};
use super::{seated, watched};
use crate::common::{BOT, Daemon, Site};
use crate::manners::act;
use crate::page::Url;

/// The number of moves on the board.
const PLIES: &str = "document.querySelectorAll('.moves button').length";

fn plies(browser: &Browser, count: usize) {
    browser.until(&format!("{PLIES} === {count}"));
}

#[test]
fn a_draw_that_is_declined_is_told() {
    let Some((browser, _site, _bot, url)) = seated("draw = { accept = false, offer = false }\n")
    else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.click("[data-act=draw]");
    browser.shows(".chat .lines", "You offered a draw");
    browser.shows(".chat .lines", &format!("{BOT} declined the draw"));
    browser.shows("#read", &format!("{BOT} declined the draw"));
    browser.shows(".board-area .player:first-child .note", "declined the draw");
    // Lichess passes over another offer for twenty plies, so there is none to be made.
    browser.until("document.querySelector('[data-act=draw]').textContent === 'Offer draw'");
    browser.until("document.querySelector('[data-act=draw]').disabled");
    // What was answered is known to other windows, and after the next move it is no news.
    browser.go("about:blank");
    browser.go(&url.whole());
    browser.shows(".chat .lines", &format!("{BOT} declined the draw"));
    click(&browser, "d2", "d4");
    plies(&browser, 4);
    browser.until("!document.querySelector('.board-area .player:first-child .note').textContent");
    browser.was_clean(&url.whole());
}

#[test]
fn a_takeback_is_given_or_declined_and_both_are_told() {
    let Some((browser, _site, _bot, url)) = seated("games = { max_takebacks = 1 }\n") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.click("[data-act=takeback]");
    plies(&browser, 0);
    browser.shows(".chat .lines", &format!("{BOT} accepted the takeback"));
    click(&browser, "d2", "d4");
    plies(&browser, 2);
    browser.click("[data-act=takeback]");
    browser.shows(".chat .lines", &format!("{BOT} declined the takeback"));
    browser.shows("#read", &format!("{BOT} declined the takeback"));
    // Every further answer would be the same.
    browser.until("document.querySelector('[data-act=takeback]').hidden");
    plies(&browser, 2);
    browser.was_clean(&url.whole());
}

#[test]
fn the_end_is_told_from_the_side_of_the_one_who_plays() {
    let Some((browser, _site, _bot, url)) = seated("") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.shows(".panel .turn", "Your turn");
    browser.click("[data-act=resign]");
    browser.click("[data-act=resign]");
    browser.shows(".panel .result", &format!("You resigned. {BOT} wins."));
    browser.until("document.querySelector('.panel .result').classList.contains('lost')");
    browser.until("document.querySelector('.finished-games .chip')?.textContent === 'Lost'");
    // The mark is on the king that has lost: a circle on White's half of the board.
    let badge = "document.querySelector('.game-view .badge.lost').getBoundingClientRect()";
    let king = "document.querySelector('.game-view [data-square=e1]').getBoundingClientRect()";
    browser.until(&format!(
        "{badge}.left > {king}.left && {badge}.right < {king}.right + 1 && {badge}.top > {king}.top - 1"
    ));
    // Looking back there is none, and whoever only watches is told of White and Black.
    browser.press(&[super::LEFT]);
    browser.until("!document.querySelector('.game-view .badge')");
    browser.run("localStorage.clear();");
    browser.go("about:blank");
    browser.go(&url.open());
    browser.shows(".panel .result", "White resigned · Black wins");
    browser.until("document.querySelector('.panel .result').classList.contains('won')");
    browser.was_clean(&url.whole());
}

#[test]
fn nothing_is_drawn_that_was_not_measured() {
    // From the book, and so without a score.
    let Some((browser, site, _bot, url)) = watched("[[rule]]\nplay = { max_depth = 6 }\n") else {
        return;
    };
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    act(&anna, &id, "move/e2e4");
    plies(&browser, 2);
    browser.shows(".thinking .facts", "opening book");
    let drawn =
        "document.querySelectorAll('.graph .black-area, .graph .white-area, .graph .line').length";
    assert_eq!(browser.run(&format!("return {drawn};")), 0);
    let bar = "getComputedStyle(document.querySelector('.evalbar')).visibility";
    assert_eq!(browser.run(&format!("return {bar};")), "hidden");
    // No book has this; the curve begins where the engine did.
    act(&anna, &id, "move/e1e2");
    plies(&browser, 4);
    browser.until(&format!("{drawn} === 3 && {bar} === 'visible'"));
    browser.until("document.querySelector('.graph .black-area').getAttribute('x') === '3'");
    assert!(url.json(&format!("/api/game/{id}"))["moves"][1]["thought"]["win"].is_null());
}

#[test]
fn a_form_says_in_sentences_what_is_wrong() {
    let Some((browser, site, mut bot, _)) = seated("") else {
        return;
    };
    fill_in(&browser, &[("variant", "fromPosition")]);
    for (fen, why) in [
        ("8/8/8/8/8/8/8/8 w - - 0 1", "White has no king."),
        (
            "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
            "the side to move has no legal move.",
        ),
        (
            "7k/8/6K1/8/8/8/8/8 b - - 0 1",
            "neither side has the pieces to give mate.",
        ),
    ] {
        browser.run("document.querySelector('input[name=fen]').value = '';");
        browser.fill("input[name=fen]", fen);
        browser.click("dialog button[type=submit]");
        browser.shows(
            "dialog [role=alert]",
            &format!("No game can begin with this position: {why}"),
        );
    }
    browser.press(&[super::ESCAPE]);

    // A clock of nothing is not sent, and one of half a minute is.
    fill_in(&browser, &[("variant", "standard"), ("time", "custom")]);
    let set = |minutes: &str, increment: &str| {
        browser.run(&format!(
            "const form = document.querySelector('dialog form');
             form.minutes.value = {}; form.increment.value = {};
             form.dispatchEvent(new Event('input'));",
            json!(minutes),
            json!(increment)
        ));
    };
    set("0", "0");
    browser.click("dialog button[type=submit]");
    let why = "document.querySelector('input[name=increment]').validationMessage";
    assert_eq!(
        browser.run(&format!("return {why};")),
        "A clock needs minutes, or seconds a move."
    );
    assert!(site.sim.games().is_empty());
    set("0.5", "20");
    send(&browser);
    browser.shows(".game-view h1", "½+20");

    // Strength is a limit, not a promise to use all of it.
    let strengths = browser.text("select[name=strength]");
    assert!(strengths.contains("at most 5 s a move"), "{strengths}");

    // What the browser says of a daemon that is away is nothing to show.
    bot.crash();
    browser.click("[data-act=abort]");
    browser.shows("#toasts", "Knightwatch does not answer");
}

#[test]
fn a_game_that_does_not_exist_is_told_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    browser.go(&format!("{}#/game/nosuch12", url.open()));
    browser.shows(".placeholder h1", "There is no such game");
    assert_eq!(
        browser.run("return document.getElementById('toasts').hidden;"),
        true
    );
}
