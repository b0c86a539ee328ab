//! Messages of the page to players and spectators.

use serde_json::json;

use super::driver::Browser;
use super::playing::{NO_BISHOPS, click, fill_in, new_game, send};
use super::{open_as_player, open_as_spectator};
use crate::common::{BOT, Daemon, FAST_MOVES, Site};
use crate::etiquette::act;
use crate::page::Url;

/// Expression for the number of plies in the move list.
const PLIES: &str = "document.querySelectorAll('.moves button').length";

fn plies(browser: &Browser, count: usize) {
    browser.until(&format!("{PLIES} === {count}"));
}

#[test]
fn draw_decline_is_shown() {
    let Some((browser, _site, _bot, url)) = open_as_player(&format!(
        "draw = {{ accept = false, offer = false }}\n{FAST_MOVES}"
    )) else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.click("[data-act=draw]");
    browser.wait_for_text(".chat .lines", "You offered a draw");
    browser.wait_for_text(".chat .lines", &format!("{BOT} declined the draw"));
    browser.wait_for_text("#read", &format!("{BOT} declined the draw"));
    browser.wait_for_text(".board-area .player:first-child .note", "declined the draw");
    // Lichess ignores another offer for twenty plies, so the button is disabled.
    browser.until("document.querySelector('[data-act=draw]').textContent === 'Offer draw'");
    browser.until("document.querySelector('[data-act=draw]').disabled");
    // A phone shows all of it, and the name.
    browser.emulate_phone();
    browser.until(
        "(() => {
            const [who, name, note] = ['.who', '.who strong', '.note'].map((part) => document.querySelector(`.board-area .player ${part}`));
            const inside = (part) => part.getBoundingClientRect().right <= who.getBoundingClientRect().right && part.getBoundingClientRect().bottom <= who.getBoundingClientRect().bottom + 1;
            return inside(note) && note.scrollWidth <= note.clientWidth + 1 && inside(name) && name.clientWidth > 50;
        })()",
    );
    // Other windows show the answer too; the note disappears after the next move.
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.wait_for_text(".chat .lines", &format!("{BOT} declined the draw"));
    click(&browser, "d2", "d4");
    plies(&browser, 4);
    browser.until("!document.querySelector('.board-area .player:first-child .note').textContent");
    browser.assert_clean(&url.with_key());
}

#[test]
fn takeback_answer_is_shown() {
    let Some((browser, _site, _bot, url)) =
        open_as_player(&format!("games = {{ max_takebacks = 1 }}\n{FAST_MOVES}"))
    else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.click("[data-act=takeback]");
    plies(&browser, 0);
    browser.wait_for_text(".chat .lines", &format!("{BOT} accepted the takeback"));
    click(&browser, "d2", "d4");
    plies(&browser, 2);
    browser.click("[data-act=takeback]");
    browser.wait_for_text(".chat .lines", &format!("{BOT} declined the takeback"));
    browser.wait_for_text("#read", &format!("{BOT} declined the takeback"));
    // Further requests would be declined too, so the button is hidden.
    browser.until("document.querySelector('[data-act=takeback]').hidden");
    plies(&browser, 2);
    browser.assert_clean(&url.with_key());
}

#[test]
fn result_is_worded_for_player_and_spectator() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST_MOVES) else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    plies(&browser, 2);
    browser.wait_for_text(".panel .turn", "Your turn");
    browser.click_and_confirm("[data-act=resign]");
    browser.wait_for_text(".panel .result", &format!("You resigned. {BOT} wins."));
    browser.until("document.querySelector('.panel .result').classList.contains('lost')");
    browser.until("document.querySelector('.finished-games .chip')?.textContent === 'Lost'");
    // The badge is on the king of the loser.
    let badge = "document.querySelector('.game-view .badge.lost').getBoundingClientRect()";
    let king = "document.querySelector('.game-view [data-square=e1]').getBoundingClientRect()";
    browser.until(&format!(
        "{badge}.left > {king}.left && {badge}.right < {king}.right + 1 && {badge}.top > {king}.top - 1"
    ));
    // Earlier positions have no badge, and spectators read of White and Black.
    browser.press(&[super::LEFT]);
    browser.until("!document.querySelector('.game-view .badge')");
    browser.run("localStorage.clear();");
    browser.go("about:blank");
    browser.go(&url.without_key());
    browser.wait_for_text(".panel .result", "White resigned · Black wins");
    browser.until("document.querySelector('.panel .result').classList.contains('won')");
    browser.assert_clean(&url.with_key());
}

#[test]
fn evaluation_without_score_is_not_drawn() {
    // A book move has no score.
    let Some((browser, site, _bot, url)) =
        open_as_spectator("[[rule]]\nplay = { max_depth = 6 }\n")
    else {
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
    browser.wait_for_text(".thinking .facts", "opening book");
    let drawn =
        "document.querySelectorAll('.graph .black-area, .graph .white-area, .graph .line').length";
    assert_eq!(browser.run(&format!("return {drawn};")), 0);
    let bar = "getComputedStyle(document.querySelector('.evalbar')).visibility";
    assert_eq!(browser.run(&format!("return {bar};")), "hidden");
    // Out of book: the graph starts with the first search.
    act(&anna, &id, "move/e1e2");
    plies(&browser, 4);
    browser.until(&format!("{drawn} === 3 && {bar} === 'visible'"));
    browser.until("document.querySelector('.graph .black-area').getAttribute('x') === '3'");
    assert!(url.json(&format!("/api/game/{id}"))["moves"][1]["thought"]["win"].is_null());
}

#[test]
fn form_errors_are_sentences() {
    let Some((browser, site, mut bot, _)) = open_as_player("") else {
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
        browser.wait_for_text(
            "dialog [role=alert]",
            &format!("No game can begin with this position: {why}"),
        );
    }
    browser.press(&[super::ESCAPE]);

    // A clock of zero is not sent; one of half a minute is.
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
    browser.wait_for_text(".game-view h1", "½+20");

    // The label presents the time as a limit.
    let strengths = browser.text("select[name=strength]");
    assert!(strengths.contains("at most 5 s a move"), "{strengths}");

    // The page has its own message if the daemon is down, not that of the browser.
    bot.crash();
    // The banner moves the buttons down, and the board, which shrinks, moves them up again.
    browser.wait_for_text("#banner", "The connection to the daemon is lost");
    browser.until(
        "document.documentElement.style.getPropertyValue('--top') === `${document.getElementById('main').offsetTop}px`",
    );
    browser.click("[data-act=abort]");
    browser.wait_for_text("#toasts", "Knightwatch does not answer");
}

#[test]
fn unknown_game_is_reported_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    browser.go(&format!("{}#/game/nosuch12", url.without_key()));
    browser.wait_for_text(".placeholder h1", "There is no such game");
    assert_eq!(
        browser.run("return document.getElementById('toasts').hidden;"),
        true
    );
}
