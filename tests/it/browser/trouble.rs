//! What goes wrong between the page and its daemon.

use knightwatch::sim::NewUser;

use super::driver::Browser;
use super::watching::lasting;
use crate::common::{Daemon, Site};
use crate::manners::act;
use crate::page::Url;

/// As many pages get the stream at once.
const PAGES: usize = 64;

#[test]
fn a_key_of_an_earlier_start_is_given_up() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (config, _) = lasting(&home);
    let mut bot = Daemon::start(&site, &config);
    browser.go(&Url::of(&bot, 1).whole());
    browser.run("location.hash = '#/why';");
    browser.sees("[data-lever=pause]");
    bot.crash_and_restart();
    let url = Url::of(&bot, 2);
    browser.shows("#status", "Idle");
    browser.click("[data-lever=pause]");
    browser.shows("#toasts", "this needs the key of this start");
    browser.shows("[aria-label=Why]", "This window only watches");
    browser.until(
        "![...document.querySelectorAll('[data-lever]')].some((lever) => lever.checkVisibility())",
    );
    assert_eq!(browser.run("return sessionStorage.length;"), 0);
    assert_eq!(url.json("/api/games")["total"], 0);
}

#[test]
fn a_game_that_ended_while_the_daemon_was_away_is_over() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (config, port) = lasting(&home);
    let mut bot = Daemon::start(&site, &config);
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    browser.go(&format!("http://127.0.0.1:{port}/#/game/{id}"));
    browser.stands("e2", "white pawn");
    act(&anna, &id, "move/e2e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    browser.sees(".stage .seat.moving");
    bot.crash();
    act(&anna, &id, "resign");
    site.finished(&id);
    bot.restart();
    browser.shows(".panel .result", "0-1, resignation");
    browser.until("!document.querySelector('.seat.moving')");
    browser.stands("e4", "white pawn");
}

#[test]
fn a_window_too_many_is_told_so() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    let others: Vec<_> = (0..PAGES)
        .map(|_| {
            let mut page = url.events();
            page.snapshot();
            page
        })
        .collect();
    browser.go(&url.open());
    browser.shows("#banner", "Too many windows");
    browser.until("document.title.startsWith('Too many pages')");
    drop(others);
    browser.shows("#status", "Idle");
    browser.until("document.querySelector('#banner').hidden");
}
