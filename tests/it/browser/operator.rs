//! Operator actions, decisions and finished games on the page.

use super::driver::Browser;
use crate::common::{Daemon, FAST_MOVES, Site, wait};
use crate::etiquette::act;
use crate::operator::{run_command, status};
use crate::page::Url;
use crate::records::file;
use knightwatch::sim::{ArenaOptions, NewUser, TimeControl};
use rusqlite::Connection;

const CLOCK: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

/// Starts a daemon and opens its page with the key.
fn operator(browser: &Browser, site: &Site, config: &str) -> (Daemon, Url) {
    let bot = Daemon::start(site, config);
    let url = Url::of(&bot, 1);
    browser.go(&url.with_key());
    browser.wait_for_text("#status", "Idle");
    (bot, url)
}

#[test]
fn operator_controls_and_decisions_are_shown() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let options = ArenaOptions {
        id: Some("rehearse".to_owned()),
        ..ArenaOptions::for_bots("Friday", TimeControl::clock(60, 0), 60)
    };
    site.sim.add_arena(&options).unwrap();
    let (bot, url) = operator(&browser, &site, "games = { concurrency = 3 }\n");
    browser.run("location.hash = '#/bot';");
    // Stopping the bot needs a confirmation, which another action cancels.
    browser.click("[data-control=drain]");
    browser.wait_for_text("[data-control=drain]", "Really stop?");
    browser.click("[data-control=pause]");
    browser.wait_for_text("[data-control=drain]", "Finish and stop");
    browser.wait_for_text("#status", "Paused");
    let anna = site.player("Anna");
    assert_eq!(anna.answer(&anna.challenge(&CLOCK)), "later");
    let challenges = "[aria-label=Bot] .scrolls";
    browser.wait_for_text(challenges, "Anna");
    browser.wait_for_text(challenges, "Declined");
    browser.click("[data-control=resume]");
    browser.wait_for_text("#status", "Idle");

    browser.fill("input[name=user]", "Bert");
    browser.click("[aria-label=Bot] form button");
    browser.wait_for_text("#toasts", "Blocked Bert;");
    let bert = site.player("Bert");
    assert_eq!(bert.answer(&bert.challenge(&CLOCK)), "generic");
    browser.fill("input[name=user]", "Bert");
    browser.click("[aria-label=Bot] form [value=unblock]");
    browser.wait_for_text("#toasts", "Bert is no longer blocked;");
    assert_eq!(bert.answer(&bert.challenge(&CLOCK)), "accepted");
    // A link with a wrong key, or with one that no request can carry, does not replace the key.
    for wrong in ["wrong-wrong-wrong-wrong", "%E2%82%AC"] {
        browser.run(&format!("location.hash = '#key={wrong}';"));
        browser.until("!location.href.includes('#key')");
        browser.until("document.readyState === 'complete'");
        let kept = browser.run("return localStorage.getItem('knightwatch-key');");
        assert_eq!(kept, url.key.as_str());
    }
    browser.run("location.hash = '#/bot';");

    let arenas = "[aria-label=Bot] h2 + p + .scrolls a[href*=rehearse]";
    assert_eq!(browser.text(arenas), "");
    run_command(&bot, &["join", "rehearse"]);
    browser.wait_for_text(arenas, "Friday");
    browser.click("[aria-label=Bot] summary");
    browser.wait_for_text("[aria-label=Bot] details", "games.concurrency");
    browser.wait_visible("[aria-label=Bot] details code");
    browser.assert_clean(&url.with_key());

    // Without the key there are no controls.
    browser.run("localStorage.clear();");
    browser.go("about:blank");
    browser.go(&format!("{}#/bot", url.without_key()));
    browser.wait_for_text("[aria-label=Bot]", "This window only watches");
    let controls = "return [...document.querySelectorAll('[data-control]')].some((control) => control.checkVisibility());";
    assert_eq!(browser.run(controls), false);
}

#[test]
fn confirmation_does_not_need_focus() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([]);
    let (_bot, _url) = operator(&browser, &site, "");
    browser.run("location.hash = '#/bot';");
    // As in Safari, a click does not focus a button. The time of the confirmation passes on demand.
    browser.run(
        "addEventListener('mousedown', (event) => event.preventDefault(), true);
         const later = window.setTimeout;
         window.setTimeout = (run, ms) => (ms === 10000 ? ((window.expire = run), 0) : later(run, ms));",
    );
    let stop = "[data-control=drain]";
    browser.click(stop);
    browser.wait_for_text(stop, "Really stop?");
    assert_eq!(
        browser.run("return document.activeElement === document.body;"),
        true
    );
    browser.click("[aria-label=Bot] h1");
    browser.wait_for_text(stop, "Finish and stop");
    browser.click(stop);
    browser.wait_for_text(stop, "Really stop?");
    browser.run("expire();");
    browser.wait_for_text(stop, "Finish and stop");
    browser.click_and_confirm(stop);
    browser.wait_for_text(stop, "Finish and stop");
    browser.until("document.title.startsWith('Connection lost')");
}

#[test]
fn operator_actions_are_logged_and_disabled_by_drain() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let (bot, _url) = operator(&browser, &site, "");
    browser.run("location.hash = '#/bot';");
    let log = "[aria-label=Bot] .log";
    browser.wait_for_text(log, "online as Knightwatch");
    for (arguments, entry) in [
        (&["pause"][..], "paused by the operator: no new games"),
        (&["resume"], "resumed by the operator: new games"),
        (&["block", "Bert"], "Bert is blocked by the operator"),
        (
            &["unblock", "Bert"],
            "Bert is no longer blocked by the operator",
        ),
    ] {
        run_command(&bot, arguments);
        browser.wait_for_text(log, entry);
    }
    let player = site.player("Anna");
    let id = player.start(&[CLOCK[0], CLOCK[1], ("color", "white"), ("rated", "true")]);
    wait("the bot has the game", || {
        (status(&bot)["games"][0]["id"] == id.as_str()).then_some(())
    });
    browser.until("!document.querySelector('[data-control=pause]').disabled");
    run_command(&bot, &["drain"]);
    browser.wait_for_text(log, "draining: finishing 1 game");
    browser.wait_for_text("[aria-label=Bot] .state", "Stopping: 1 game");
    browser.until(
        "[...document.querySelectorAll('[data-control]')].every((control) => control.disabled)",
    );
    act(&player, &id, "resign");
    site.finished(&id);
}

#[test]
fn finished_games_are_filtered_and_replayed() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let (bot, url) = operator(&browser, &site, FAST_MOVES);
    let lose = |name: &str| {
        let player = site.player(name);
        let white = [CLOCK[0], CLOCK[1], ("color", "white"), ("rated", "true")];
        let id = player.start(&white);
        act(&player, &id, "move/e2e4");
        site.plies(&id, 2);
        act(&player, &id, "move/b1c3");
        site.plies(&id, 4);
        act(&player, &id, "resign");
        site.finished(&id);
        id
    };
    for (id, name) in ["Anna", "Bert"].map(|name| (lose(name), name)) {
        browser.wait_for_text(&format!(".finished-games [data-game=\"{id}\"]"), name);
    }
    let open = url.without_key();
    wait("both games are in the records", || {
        let script = format!(
            "const request = new XMLHttpRequest(); request.open('GET', '{open}api/games?result=won', false); request.send();
             return JSON.parse(request.responseText).total;"
        );
        (browser.run(&script) == 2).then_some(())
    });
    browser.run("location.hash = '#/games';");
    let found = "[aria-label=Games] [role=status]";
    let rows = "[aria-label=Games] .scrolls tbody";
    browser.wait_for_text(found, "2 games");
    browser.fill("input[name=text]", "ber");
    browser.wait_for_text(found, "1 game");
    browser.wait_for_text(rows, "Bert");
    for (name, value, text) in [
        ("result", "lost", "0 games"),
        ("result", "won", "1 game"),
        ("since", "2099-01-01", "0 games"),
        ("since", "", "1 game"),
        ("tournament", "nowhere1", "0 games"),
        ("tournament", "", "1 game"),
        ("speed", "rapid", "0 games"),
        ("speed", "blitz", "1 game"),
        ("color", "white", "0 games"),
        ("color", "black", "1 game"),
    ] {
        browser.run(&format!(
            "const field = document.querySelector('.filters [name={name}]'); field.value = '{value}';
             field.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        ));
        browser.wait_for_text(found, text);
    }
    // A newly finished game is added to the list, even if it is not in the records at the first refresh.
    let records = Connection::open(file(&site, &bot.state())).unwrap();
    wait("the records are locked", || {
        records.execute_batch("BEGIN IMMEDIATE").ok()
    });
    browser.run("performance.clearResourceTimings();");
    lose("Bert");
    browser.until(
        "performance.getEntriesByType('resource').some(({ name }) => name.includes('/api/games?'))",
    );
    records.execute_batch("ROLLBACK").unwrap();
    browser.wait_for_text(found, "2 games");
    let first = "[aria-label=Games] .scrolls tbody tr";
    browser.wait_for_text(&format!("{first} .end"), "resignation");
    browser.wait_for_text(&format!("{first} .opening"), "1. e4 ");
    // The rating change of the first game is known now.
    browser.wait_for_text(&format!("{first}:last-child .change .good"), "+");
    browser.click("[aria-label=Games] summary");
    browser.wait_for_text(".statistics", "Latency");
    // One point per game.
    browser.wait_for_text(".statistics figure", "blitz ");
    browser.until("document.querySelector('.ratings polyline').getAttribute('points').split(' ').length === 2");

    // The download has exactly the listed games.
    let script = "const link = document.querySelector('.found a[download]').getAttribute('href');
         const request = new XMLHttpRequest(); request.open('GET', link, false); request.send(); return request.responseText;";
    let pgn = browser.run(script).as_str().unwrap().to_owned();
    assert_eq!(pgn.matches("[White \"Bert\"]").count(), 2, "{pgn}");
    assert_eq!(pgn.matches("[Event ").count(), 2, "{pgn}");

    // The filter is part of the URL, and a URL sets the filter.
    let hash = "#/games?text=ber&result=won&speed=blitz&color=black";
    browser.until(&format!("location.hash === '{hash}'"));
    browser.go("about:blank");
    browser.go(&format!(
        "{open}#/games?rated=true&sort=opponent&ascending=true"
    ));
    browser.wait_for_text(found, "3 games");
    browser.wait_for_text(first, "Anna");
    browser.until("document.querySelector('.filters [name=rated]').value === 'true'");
    let sorted = "th[aria-sort=ascending] button";
    browser.wait_for_text(sorted, "Opponent");
    browser.click(sorted);
    browser.wait_for_text(first, "Bert");
    browser.click("[aria-label=Games] .found button");
    browser.until("location.hash === '#/games?sort=opponent'");
    browser.go("about:blank");
    browser.go(&format!("{open}#/games?text=ber"));
    browser.wait_for_text(found, "2 games");

    // The whole row links to the game.
    browser.run(
        "const { left, top, width, height } = document.querySelector('.games .moves').getBoundingClientRect();
         document.elementFromPoint(left + width / 2, top + height / 2).click();",
    );
    browser.wait_for_text(".panel .result", "resigned");
    // At the end of the game, in which the bot may have captured on e4.
    browser.wait_for_piece("e2", "");
    browser.click("[aria-label='To the start (Home)']");
    browser.wait_for_piece("e2", "white pawn");
    browser.wait_for_piece("e4", "");
    browser.until("[...document.querySelectorAll('.board-area .clock')].every((clock) => clock.textContent === '3:00')");
    // The view is that of finished games, not of running ones.
    browser.wait_for_text(".top [aria-current]", "Games");
    // The position and the game can be exported.
    browser.allow_clipboard();
    let share = |what: &str| {
        browser.click(".tools .text");
        browser.click(&format!("[data-share={what}]"));
    };
    let copied = |what: &str| {
        share(what);
        browser.wait_for_text("#toasts", &format!("{what} copied."));
        let text = browser.run("return navigator.clipboard.readText();");
        text.as_str().unwrap().to_owned()
    };
    for (what, end) in [
        ("picture", "-0.svg"),
        ("animation", "-animated.svg"),
        ("graph", "-graph.svg"),
        ("game", ".pgn"),
    ] {
        let link = format!("document.querySelector('[data-share={what}]')");
        browser.until(&format!(
            "{link}.download.endsWith('{end}') && {link}.href.includes('/game/')"
        ));
    }
    share("game");
    // Choosing an entry closes the menu.
    browser.until("!document.querySelector('.tools .menu').matches(':popover-open')");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(copied("FEN"), start);
    let pgn = copied("PGN");
    assert!(
        pgn.contains("[White \"Bert\"]") && pgn.contains("\n1. e4 "),
        "{pgn}"
    );
    browser.assert_clean(&url.with_key());
}
