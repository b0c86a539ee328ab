//! What goes wrong between the page and its daemon.

use std::os::unix::fs::PermissionsExt;

use knightwatch::sim::NewUser;

use super::driver::Browser;
use super::watching::lasting;
use crate::common::{Daemon, Site};
use crate::manners::act;
use crate::page::Url;

/// As many pages get the stream at once.
const PAGES: usize = 64;

#[test]
fn the_key_outlives_a_restart_and_a_wrong_one_is_given_up_at_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (config, _) = lasting(&home);
    let mut bot = Daemon::start(&site, &config);
    let first = Url::of(&bot, 1);
    browser.go(&first.whole());
    browser.run("location.hash = '#/bot';");
    browser.sees("[data-control=pause]");
    bot.crash_and_restart();
    assert_eq!(Url::of(&bot, 2).key, first.key);
    // The open page steers the new daemon, and so does a bookmark of it, in which there is no key.
    browser.shows("#status", "Idle");
    browser.click("[data-control=pause]");
    browser.shows("#status", "Paused");
    browser.go("about:blank");
    browser.go(&format!("{}#/bot", first.open()));
    browser.click("[data-control=resume]");
    browser.shows("#status", "Idle");
    assert_eq!(browser.run("return location.href.includes('key');"), false);

    let file = bot.state_file(".page-key").unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bot.crash();
    std::fs::remove_file(&file).unwrap();
    bot.restart();
    assert_ne!(Url::of(&bot, 3).key, first.key);
    // Nothing has to be clicked for that.
    browser.shows("[aria-label=Bot]", "This window only watches");
    browser.until(
        "![...document.querySelectorAll('[data-control]')].some((control) => control.checkVisibility())",
    );
    assert_eq!(
        browser.run("return localStorage.getItem('knightwatch-key');"),
        serde_json::Value::Null
    );
    browser.go("about:blank");
    browser.go(&Url::of(&bot, 3).whole());
    browser.run("location.hash = '#/bot';");
    browser.sees("[data-control=pause]");
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
    browser.sees(".board-area .player.moving");
    bot.crash();
    act(&anna, &id, "resign");
    site.finished(&id);
    bot.restart();
    browser.shows(".panel .result", "White resigned · Black wins");
    browser.until("!document.querySelector('.player.moving')");
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
    // No game is known yet.
    let heading = "[...document.querySelectorAll('.cards h2')].some((it) => it.checkVisibility())";
    assert_eq!(browser.run(&format!("return {heading};")), false);
    drop(others);
    browser.shows("#status", "Idle");
    browser.until("document.querySelector('#banner').hidden");
}
