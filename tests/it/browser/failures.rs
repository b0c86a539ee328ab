//! Failures between the page and its daemon.

use std::os::unix::fs::PermissionsExt;
use std::panic::AssertUnwindSafe;

use knightwatch::sim::NewUser;
use serde_json::json;

use super::driver::Browser;
use super::open_as_player;
use super::playing::{NO_BISHOPS, click, new_game};
use super::watching::fixed_port_config;
use crate::common::{BOT, Daemon, Site, failure_directory};
use crate::etiquette::act;
use crate::page::Url;

/// Limit of simultaneous page streams.
const PAGES: usize = 64;

#[test]
fn browser_failed_test_leaves_page() {
    let Some(browser) = Browser::open(800, 600) else {
        return;
    };
    browser.go("data:text/html,<p>left behind</p>");
    browser.run("console.error('a mistake');");
    let failed = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let _browser = browser;
        panic!("on purpose");
    }));
    assert!(failed.is_err());
    let directory = failure_directory();
    let read = |file: &str| std::fs::read(directory.join(file)).unwrap();
    assert!(read("page.png").starts_with(b"\x89PNG"));
    for (file, text) in [("page.html", "left behind"), ("console.jsonl", "a mistake")] {
        assert!(
            String::from_utf8_lossy(&read(file)).contains(text),
            "{file}"
        );
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn page_key_survives_restart_and_wrong_key_is_dropped() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (config, _) = fixed_port_config(&home);
    let mut bot = Daemon::start(&site, &config);
    let first = Url::of(&bot, 1);
    browser.go(&first.with_key());
    browser.run("location.hash = '#/bot';");
    browser.wait_visible("[data-control=pause]");
    bot.crash_and_restart();
    assert_eq!(Url::of(&bot, 2).key, first.key);
    // The open page controls the new daemon, and so does a bookmark without the key.
    browser.wait_for_text("#status", "Idle");
    browser.click("[data-control=pause]");
    browser.wait_for_text("#status", "Paused");
    browser.go("about:blank");
    browser.go(&format!("{}#/bot", first.without_key()));
    browser.wait_for_text("#status", "Paused");
    browser.click("[data-control=resume]");
    browser.wait_for_text("#status", "Idle");
    assert_eq!(browser.run("return location.href.includes('key');"), false);

    let file = bot.state_file(".page-key").unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bot.crash();
    std::fs::remove_file(&file).unwrap();
    bot.restart();
    assert_ne!(Url::of(&bot, 3).key, first.key);
    // The page notices without a click.
    browser.wait_for_text("[aria-label=Bot]", "This window only watches");
    browser.until(
        "![...document.querySelectorAll('[data-control]')].some((control) => control.checkVisibility())",
    );
    assert_eq!(
        browser.run("return localStorage.getItem('knightwatch-key');"),
        serde_json::Value::Null
    );
    browser.go("about:blank");
    browser.go(&Url::of(&bot, 3).with_key());
    browser.run("location.hash = '#/bot';");
    browser.wait_visible("[data-control=pause]");
}

#[test]
fn rejected_key_is_not_sent_again_at_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    // As a daemon on another machine would answer; delays of a minute pass on demand.
    browser.on_new_document(
        "window.answer = { status: 401, headers: { 'www-authenticate': 'Basic realm=\"Knightwatch\"' } };
         const open = window.fetch;
         window.fetch = (url, options) => (answer && url.endsWith('/events') ? Promise.resolve(new Response('', answer)) : open(url, options));
         const later = window.setTimeout;
         window.setTimeout = (run, ms) => (ms > 50000 ? ((window.retry = run), 0) : later(run, ms));",
    );
    browser.go(&Url::of(&bot, 1).with_key());
    browser.wait_for_text(
        "#banner",
        "The key or password of this window is no longer accepted",
    );
    assert_eq!(
        browser.run("return localStorage.getItem('knightwatch-key');"),
        serde_json::Value::Null
    );
    for (status, text) in [(429, "Too many wrong keys"), (403, "refuses requests")] {
        browser.run(&format!("answer = {{ status: {status} }}; retry();"));
        browser.wait_for_text("#banner", text);
    }
    browser.run("answer = null; retry();");
    browser.wait_for_text("#status", "Idle");
}

#[test]
fn password_is_checked_again_after_failure() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    // As if the page had been opened with the key as password, and the first check had failed.
    browser.on_new_document(
        "window.checks = 0;
         const open = window.fetch;
         window.fetch = (url, options) => {
             if (!url.endsWith('/api/key')) return open(url, options);
             checks += 1;
             if (checks === 1) return Promise.reject(new TypeError('failed'));
             window.accepted ??= checks;
             return Promise.resolve(new Response('{\"valid\": true}'));
         };",
    );
    browser.go(&format!("{}#/bot", Url::of(&bot, 1).without_key()));
    // Until the first snapshot the buttons are shown.
    browser.wait_for_text("#status", "Idle");
    browser.wait_visible("[data-control=pause]");
    // A stream that is opened again checks once more.
    assert_eq!(browser.run("return accepted;"), 2);
}

#[test]
fn move_without_answer_is_taken_back() {
    let Some((browser, _site, _bot, _)) = open_as_player("") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    browser.until("document.title.startsWith('Your move')");
    // As if the browser had no connection left for the request, with a short time limit.
    browser.run(
        "const open = window.fetch;
         window.fetch = (url, options = {}) => {
             if (options.method !== 'POST') return open(url, options);
             const { signal } = options;
             return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
         };
         const limit = AbortSignal.timeout;
         AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms / 100);
         const turn = document.querySelector('.panel .turn');
         window.turns = [turn.textContent];
         new MutationObserver(() => turns.push(turn.textContent)).observe(turn, { childList: true });",
    );
    click(&browser, "e2", "e4");
    browser.wait_for_text("#toasts", "has not answered in time");
    browser.wait_for_piece("e2", "white pawn");
    browser.wait_for_piece("e4", "");
    // Meanwhile it was not the turn of the user.
    assert_eq!(
        browser.run("return turns;"),
        json!(["Your turn", format!("{BOT} is to move"), "Your turn"])
    );
}

#[test]
fn page_retries_without_answer_or_pieces() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    // The first request to each of these has no response, and long delays are short. The storage is blocked.
    browser.on_new_document(
        "const asked = new Set();
         const open = window.fetch;
         window.fetch = (url, options = {}) => {
             if (asked.has(url) || !/\\/(events|api\\/key)$/.test(url)) {
                 const failed = url.endsWith('/pieces.svg') && !asked.has(url);
                 asked.add(url);
                 return failed ? Promise.resolve(new Response('', { status: 503 })) : open(url, options);
             }
             asked.add(url);
             return new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(options.signal.reason)));
         };
         const later = window.setTimeout;
         window.setTimeout = (run, ms) => later(run, ms >= 10000 ? ms / 100 : ms);
         const limit = AbortSignal.timeout;
         AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms / 100);
         Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('blocked', 'SecurityError'); } });",
    );
    let url = Url::of(&bot, 1);
    browser.go(&url.without_key());
    browser.wait_for_text("#status", "Idle");
    browser.until("document.querySelector('symbol#wK')");
    // The key works as long as it is in the address.
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.wait_for_text("#status", "Idle");
    browser.click("[data-view=bot]");
    browser.wait_visible("[data-control=pause]");
}

#[test]
fn page_of_earlier_version_is_reloaded_once() {
    let Some((browser, _site, _bot, url)) = open_as_player("") else {
        return;
    };
    browser.wait_for_text("#status", "Idle");
    // As if the daemon had been replaced by one with other files.
    let upgrade = |hash: &str| {
        browser.until("import('/assets/store.js').then(({ store }) => store.snapshot !== null)");
        let has_hash =
            "import('/assets/store.js').then(({ store }) => Boolean(store.snapshot.assets))";
        assert_eq!(browser.run(&format!("return {has_hash};")), true);
        // Not waited for: a script that is interrupted by the reload is run again in the new page.
        browser.run(&format!(
            "window.isOld = true;
             import('/assets/store.js').then(({{ onEvent, store }}) => setTimeout(() =>
                 onEvent('snapshot', {{ ...store.snapshot, games: [...store.games.values()], assets: '{hash}' }}, Date.now())));"
        ));
    };
    upgrade("first");
    browser.until("!window.isOld && document.querySelector('#status').textContent === 'Idle'");
    // The same change again is only reported, and so is every change during a game.
    upgrade("first");
    browser.wait_for_text("#banner", "reload this page");
    new_game(&browser, "white", NO_BISHOPS);
    upgrade("second");
    browser.wait_for_text("#banner", "reload this page");
    assert_eq!(browser.run("return window.isOld;"), true);
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.wait_visible("[data-act=abort]");
    browser.until("document.querySelector('#banner').hidden");
}

#[test]
fn game_ended_during_downtime_is_shown_as_over() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let (config, port) = fixed_port_config(&home);
    let mut bot = Daemon::start(&site, &config);
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    browser.go(&format!("http://127.0.0.1:{port}/#/game/{id}"));
    browser.wait_for_piece("e2", "white pawn");
    act(&anna, &id, "move/e2e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    browser.wait_visible(".board-area .player.moving");
    bot.crash();
    act(&anna, &id, "resign");
    site.finished(&id);
    bot.restart();
    browser.wait_for_text(".panel .result", "White resigned · Black wins");
    browser.until("!document.querySelector('.player.moving')");
    browser.wait_for_piece("e4", "white pawn");
}

#[test]
fn page_beyond_limit_says_so() {
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
    browser.go(&url.without_key());
    browser.wait_for_text("#banner", "Too many windows");
    browser.until("document.title.startsWith('Too many pages')");
    // No game is known yet.
    let heading = "[...document.querySelectorAll('.cards h2')].some((it) => it.checkVisibility())";
    assert_eq!(browser.run(&format!("return {heading};")), false);
    drop(others);
    browser.wait_for_text("#status", "Idle");
    browser.until("document.querySelector('#banner').hidden");
}
