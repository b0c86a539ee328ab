//! What an operator does on the page: the levers, the reasons, the games of the past.

use super::driver::Browser;
use crate::common::{Daemon, Site, wait};
use crate::manners::act;
use crate::operator::said;
use crate::page::Url;
use knightwatch::sim::{ArenaOptions, NewUser, TimeControl};

const CLOCK: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

/// A daemon whose page is open with the key.
fn operator(browser: &Browser, site: &Site, config: &str) -> (Daemon, Url) {
    let bot = Daemon::start(site, config);
    let url = Url::of(&bot, 1);
    browser.go(&url.whole());
    browser.shows("#status", "Idle");
    (bot, url)
}

#[test]
fn levers_and_reasons() {
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
    // What ends the bot asks back, and gives up when something else is done.
    browser.click("[data-control=drain]");
    browser.shows("[data-control=drain]", "Really stop?");
    browser.click("[data-control=pause]");
    browser.shows("[data-control=drain]", "Finish and stop");
    browser.shows("#status", "Paused");
    let anna = site.player("Anna");
    assert_eq!(anna.answer(&anna.challenge(&CLOCK)), "later");
    let challenges = "[aria-label=Bot] .scrolls";
    browser.shows(challenges, "Anna");
    browser.shows(challenges, "Declined");
    browser.click("[data-control=resume]");
    browser.shows("#status", "Idle");

    browser.fill("input[name=user]", "Bert");
    browser.click("[aria-label=Bot] form button");
    browser.shows("#toasts", "Bert is blocked.");
    let bert = site.player("Bert");
    assert_eq!(bert.answer(&bert.challenge(&CLOCK)), "generic");
    browser.fill("input[name=user]", "Bert");
    browser.click("[aria-label=Bot] form [value=unblock]");
    browser.shows("#toasts", "Bert is not blocked any more.");
    assert_eq!(bert.answer(&bert.challenge(&CLOCK)), "accepted");

    let arenas = "[aria-label=Bot] h2 + p + .scrolls a[href*=rehearse]";
    assert_eq!(browser.text(arenas), "");
    said(&bot, &["join", "rehearse"]);
    browser.shows(arenas, "Friday");
    browser.click("[aria-label=Bot] summary");
    browser.shows("[aria-label=Bot] details", "games.concurrency");
    browser.sees("[aria-label=Bot] details code");
    browser.was_clean(&url.whole());

    // Who has no key pulls nothing.
    browser.run("localStorage.clear();");
    browser.go("about:blank");
    browser.go(&format!("{}#/bot", url.open()));
    browser.shows("[aria-label=Bot]", "This window only watches");
    let controls = "return [...document.querySelectorAll('[data-control]')].some((control) => control.checkVisibility());";
    assert_eq!(browser.run(controls), false);
}

#[test]
fn what_an_operator_does_is_in_the_log_and_a_bot_that_stops_takes_no_orders() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let (bot, _url) = operator(&browser, &site, "");
    browser.run("location.hash = '#/bot';");
    let log = "[aria-label=Bot] .log";
    browser.shows(log, "online as Knightwatch");
    for (order, told) in [
        (&["pause"][..], "paused by the operator: no new games"),
        (&["resume"], "resumed by the operator: new games"),
        (&["block", "Bert"], "Bert is blocked by the operator"),
        (
            &["unblock", "Bert"],
            "Bert is no longer blocked by the operator",
        ),
    ] {
        said(&bot, order);
        browser.shows(log, told);
    }
    let player = site.player("Anna");
    let id = player.start(&[CLOCK[0], CLOCK[1], ("color", "white"), ("rated", "true")]);
    browser.until("!document.querySelector('[data-control=pause]').disabled");
    said(&bot, &["drain"]);
    browser.shows(log, "draining: finishing 1 game");
    browser.shows("[aria-label=Bot] .state", "Stopping: 1 game");
    browser.until(
        "[...document.querySelectorAll('[data-control]')].every((control) => control.disabled)",
    );
    act(&player, &id, "resign");
    site.finished(&id);
}

#[test]
fn games_of_the_past_are_found_and_replayed() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new(["Anna", "Bert"].map(NewUser::human));
    let (_bot, url) = operator(&browser, &site, "");
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
    for name in ["Anna", "Bert"] {
        let id = lose(name);
        browser.shows(&format!(".finished-games [data-game=\"{id}\"]"), name);
    }
    let open = url.open();
    wait("both games are in the records", || {
        let script = format!(
            "const ask = new XMLHttpRequest(); ask.open('GET', '{open}api/games?result=won', false); ask.send();
             return JSON.parse(ask.responseText).total;"
        );
        (browser.run(&script) == 2).then_some(())
    });
    browser.run("location.hash = '#/games';");
    let found = "[aria-label=Games] [role=status]";
    let rows = "[aria-label=Games] .scrolls tbody";
    browser.shows(found, "2 games");
    browser.fill("input[name=text]", "ber");
    browser.shows(found, "1 game");
    browser.shows(rows, "Bert");
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
        browser.shows(found, text);
    }
    // Another one comes to those that are shown.
    lose("Bert");
    browser.shows(found, "2 games");
    let first = "[aria-label=Games] .scrolls tbody tr";
    browser.shows(&format!("{first} .end"), "resignation");
    browser.shows(&format!("{first} .opening"), "1. e4 ");
    // What the first of the two has changed of our rating is known now.
    browser.shows(&format!("{first}:last-child .change .good"), "+");
    browser.click("[aria-label=Games] summary");
    browser.shows(".statistics", "Latency");
    // A point for each game.
    browser.shows(".statistics figure", "blitz ");
    browser.until("document.querySelector('.ratings polyline').getAttribute('points').split(' ').length === 2");

    // They can be taken along, and only they.
    let script = "const link = document.querySelector('.found a[download]').getAttribute('href');
         const ask = new XMLHttpRequest(); ask.open('GET', link, false); ask.send(); return ask.responseText;";
    let pgn = browser.run(script).as_str().unwrap().to_owned();
    assert_eq!(pgn.matches("[White \"Bert\"]").count(), 2, "{pgn}");
    assert_eq!(pgn.matches("[Event ").count(), 2, "{pgn}");

    // What is asked for stands in the address, and an address asks for it.
    let asked = "#/games?text=ber&result=won&speed=blitz&color=black";
    browser.until(&format!("location.hash === '{asked}'"));
    browser.go("about:blank");
    browser.go(&format!(
        "{open}#/games?rated=true&sort=opponent&ascending=true"
    ));
    browser.shows(found, "3 games");
    browser.shows(first, "Anna");
    browser.until("document.querySelector('.filters [name=rated]').value === 'true'");
    let sorted = "th[aria-sort=ascending] button";
    browser.shows(sorted, "Opponent");
    browser.click(sorted);
    browser.shows(first, "Bert");
    browser.click("[aria-label=Games] .found button");
    browser.until("location.hash === '#/games?sort=opponent'");
    browser.go("about:blank");
    browser.go(&format!("{open}#/games?text=ber"));
    browser.shows(found, "2 games");

    // All of a row leads to its game.
    browser.run(
        "const { left, top, width, height } = document.querySelector('.games .moves').getBoundingClientRect();
         document.elementFromPoint(left + width / 2, top + height / 2).click();",
    );
    browser.shows(".panel .result", "resigned");
    browser.stands("e4", "white pawn");
    browser.click("[aria-label='To the start (Home)']");
    browser.stands("e4", "");
    browser.until("[...document.querySelectorAll('.board-area .clock')].every((clock) => clock.textContent === '3:00')");
    // It is one of all games, and not one that is on.
    browser.shows(".top [aria-current]", "Games");
    // What stands there can be taken along.
    browser.permit("clipboard-read");
    let share = |what: &str| {
        browser.click(".tools .text");
        browser.click(&format!("[data-share={what}]"));
    };
    let copied = |what: &str| {
        share(what);
        browser.shows("#toasts", &format!("{what} copied."));
        let text = browser.run("return navigator.clipboard.readText();");
        text.as_str().unwrap().to_owned()
    };
    for (what, end) in [
        ("picture", "-0.svg"),
        ("animation", "-animated.svg"),
        ("graph", "-graph.svg"),
    ] {
        let link = format!("document.querySelector('[data-share={what}]')");
        browser.until(&format!(
            "{link}.download.endsWith('{end}') && {link}.href.includes('/game/')"
        ));
    }
    share("game");
    browser.until("document.querySelector('[data-share=game]').download.endsWith('.pgn')");
    browser.until("document.querySelector('[data-share=game]').href.startsWith('blob:')");
    // The menu goes when something is chosen from it.
    browser.until("!document.querySelector('.tools .menu').matches(':popover-open')");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(copied("FEN"), start);
    let pgn = copied("PGN");
    assert!(
        pgn.contains("[White \"Bert\"]") && pgn.contains("\n1. e4 "),
        "{pgn}"
    );
    browser.was_clean(&url.whole());
}
