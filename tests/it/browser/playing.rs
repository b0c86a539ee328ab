//! Playing against it.

use serde_json::json;

use knightwatch::sim::NewUser;

use super::driver::Browser;
use super::{Demo, END, ENTER, ESCAPE, LEFT, UP, guest, seated, square};
use crate::common::{Site, wait};
use crate::manners::{DEAD, act};
use crate::operator::said;
use crate::page::Url;

/// No book has a start without bishops, and nothing is thought about it beforehand.
pub(super) const NO_BISHOPS: &str = "rn1qk1nr/pppppppp/8/8/8/8/PPPPPPPP/RN1QK1NR w KQkq - 0 1";

/// Starts a game through the form: the person has this color, and the game starts from this position.
pub(super) fn new_game(browser: &Browser, color: &str, fen: &str) {
    timed_game(browser, color, fen, "10+0");
}

fn timed_game(browser: &Browser, color: &str, fen: &str, time: &str) {
    fill_in(
        browser,
        &[
            ("color", color),
            ("time", time),
            ("variant", "fromPosition"),
        ],
    );
    browser.run("document.querySelector('input[name=fen]').value = '';");
    browser.fill("input[name=fen]", fen);
    send(browser);
    browser
        .until("document.title.startsWith('Your move') || document.querySelector('.moves button')");
}

/// Opens the form of a new game and makes these choices.
pub(super) fn fill_in(browser: &Browser, choices: &[(&str, &str)]) {
    browser.until("!document.querySelector('dialog[open]')");
    browser.click("#new");
    for (name, value) in choices {
        browser.click(&format!("input[name={name}][value='{value}']"));
    }
}

/// Sends the form, until the game begins.
pub(super) fn send(browser: &Browser) {
    browser.click("dialog button[type=submit]");
    browser.until("!document.querySelector('dialog[open]')");
}

/// Moves by two clicks.
pub(super) fn click(browser: &Browser, from: &str, to: &str) {
    browser.click(&square(from));
    browser.until(&format!(
        "document.querySelector({}).hasAttribute('data-target')",
        json!(square(to))
    ));
    browser.click(&square(to));
}

#[test]
fn a_whole_game_is_played_with_the_mouse() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    // The key is not left in the address.
    browser.until("location.hash === '' && document.querySelector('#new').checkVisibility()");

    // Two rooks, and every answer is forced.
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    click(&browser, "b2", "b7");
    browser.stands("g8", "black king");
    browser.drag(&square("a1"), &square("a8"));
    browser.stands("a8", "white rook");
    browser.shows(".panel .result", "Checkmate. You win.");
    browser.shows("#read", "The game is over: Checkmate. You win.");

    // The same again with the other color; the one who is mated first is we.
    browser.click("[data-act=rematch]");
    browser.until("document.querySelector('.panel .result').hidden");
    browser.shows(".boardrow + .player", "Guest");
    browser.until("document.title.startsWith('Your move')");
    click(&browser, "h8", "g8");
    browser.shows(".panel .result", "Checkmate. Knightwatch wins.");

    // A pawn becomes what is chosen.
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    click(&browser, "a7", "a8");
    browser.click(".promotion [aria-label='white rook']");
    browser.stands("a8", "white rook");

    // A move chosen before it is our turn is played when it is.
    new_game(&browser, "black", "7k/7p/8/8/8/8/P7/K7 w - - 0 1");
    click(&browser, "h7", "h6");
    browser.stands("h6", "black pawn");
    browser.until("document.querySelectorAll('.moves button').length >= 2");

    // Who resigns is asked twice.
    browser.click("[data-act=resign]");
    browser.shows("[data-act=resign]", "Really resign?");
    browser.click("[data-act=resign]");
    browser.shows(".panel .result", "You resigned. Knightwatch wins.");
    browser.was_clean(&demo.url);
}

/// Begins a game in which a pawn is to go to d3 with the third move, as soon as the bot has made its second one.
fn one_ahead(browser: &Browser) {
    // It would take half a minute for a move, so that there is time to move ahead in.
    browser.run(
        "const strength = document.querySelector('select[name=strength]');
         strength.append(new Option('long', 'move_s=60'));
         strength.value = 'move_s=60';",
    );
    timed_game(browser, "white", NO_BISHOPS, "30+20");
    browser.until("document.title.startsWith('Your move')");
    // Its first move comes soon, whatever it may take; and these are no moves that it has thought about beforehand.
    click(browser, "h2", "h4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    click(browser, "g2", "g4");
    browser.stands("g4", "white pawn");
    click(browser, "d2", "d3");
    browser.until("document.querySelectorAll('.game-view .premove').length === 2");
}

#[test]
fn a_move_made_ahead_is_played_when_the_connection_is_back() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.watch_streams();
    browser.go(&demo.url);
    browser.until("document.querySelector('#new').checkVisibility()");
    one_ahead(&browser);
    let id = browser.run("return document.querySelector('.card[aria-current]').dataset.game;");
    browser.unplug();
    browser.shows("#status", "Connection lost");
    browser.until("document.title.startsWith('Connection lost')");
    let url = Url::find(&format!("{}\n", demo.url)).unwrap();
    let now = format!("/control/move-now?game={}", id.as_str().unwrap());
    assert_eq!(url.ask("POST", &now, &url.rights(), "").0, 204);
    wait("the bot has moved, which the page cannot know", || {
        let game = url.json(&format!("/api/game/{}", id.as_str().unwrap()));
        (game["moves"].as_array()?.len() == 4).then_some(())
    });
    let known = browser.run("return document.querySelectorAll('.moves button').length;");
    assert_eq!(known, 3);
    browser.connect(true);
    browser.until("document.querySelectorAll('.moves button').length >= 5");
    browser.until("!document.querySelector('.game-view .premove')");
    browser.stands("d3", "white pawn");
}

#[test]
fn draws_are_offered_and_accepted() {
    let draw =
        "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30, offer = false }\n";
    let Some((browser, _site, bot, url)) = seated(draw) else {
        return;
    };
    new_game(&browser, "white", DEAD);
    click(&browser, "e3", "d3");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    browser.click("[data-act=draw]");
    browser.shows(".panel .result", "You agreed on a draw.");

    // The other way round.
    bot.configure(|text| text.replace("offer = false", "offer = true"));
    said(&bot, &["reload"]);
    new_game(&browser, "white", DEAD);
    let offered = "document.querySelector('[data-act=accept]').checkVisibility()";
    for (plies, [from, to]) in [(2, ["e3", "d3"]), (4, ["d3", "e3"]), (6, ["e3", "d3"])] {
        if browser.run(&format!("return {offered};")) == false {
            click(&browser, from, to);
            browser.until(&format!(
                "document.querySelectorAll('.moves button').length >= {plies} || {offered}"
            ));
        }
    }
    browser.shows("#read", "Knightwatch offered a draw");
    // What is declined is no longer there to be accepted, but can be offered.
    browser.click("[data-act=decline]");
    browser.until(&format!("!{offered}"));
    browser.go("about:blank");
    browser.go(&url.whole());
    browser.sees("[data-act=draw]");
    assert_eq!(browser.run(&format!("return {offered};")), false);
    browser.click("[data-act=draw]");
    browser.shows(".panel .result", "½-½");
    browser.was_clean(&url.whole());
}

#[test]
fn a_challenge_is_followed_to_its_end() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    click(&browser, "b2", "b7");
    browser.stands("g8", "black king");
    click(&browser, "a1", "a8");
    browser.shows(".panel .result", "Checkmate. You win.");
    // What is declined is said: beside the board, and in the form.
    browser.run("location.hash = '#/bot';");
    browser.click("[data-control=pause]");
    browser.shows("#status", "Paused");
    browser.run("location.hash = '#/';");
    browser.click("[data-act=rematch]");
    browser.shows("#toasts", "Declined: ");
    browser.click("#new");
    browser.click("dialog button[type=submit]");
    browser.shows("dialog [role=alert]", "Declined: ");
    browser.until("!document.querySelector('dialog button[type=submit]').disabled");
    browser.was_clean(&demo.url);
}

#[test]
fn a_game_without_a_clock_begins_at_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    let begin = |color: &str| {
        fill_in(&browser, &[("color", color), ("time", "unlimited")]);
        send(&browser);
        browser.until("document.title.startsWith('Your move')");
        browser.shows(".game-view h1", "unlimited");
    };
    // It is opened before there is anything to do, and whatever else is on.
    begin("white");
    click(&browser, "e2", "e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    begin("black");
    browser.until("document.querySelectorAll('.moves button').length === 1");
    browser.was_clean(&demo.url);
}

#[test]
fn who_has_to_wait_for_a_place_is_told_so() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::in_browser("Anna"), NewUser::human("Bert")]);
    let (_bot, url) = guest(&site, "games = { concurrency = 1 }\n");
    let bert = site.player("Bert");
    let his = bert.start(&[("clock.limit", "600"), ("clock.increment", "0")]);
    browser.go(&url.whole());
    browser.click("#new");
    browser.click("dialog button[type=submit]");
    browser.shows("dialog", "Waiting for a place: ");
    act(&bert, &his, "abort");
    browser.until("!document.querySelector('dialog[open]')");
    browser.shows(".board-area", "Anna");
    browser.was_clean(&url.whole());
}

#[test]
fn moves_are_made_ahead_and_taken_back_and_words_exchanged() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.click("#new");
    // A field that is not seen is in nobody's way, and one that is empty says so.
    browser.click("input[name=time][value=custom]");
    browser.run("document.querySelector('input[name=increment]').value = '';");
    browser.click("dialog button[type=submit]");
    browser.until("document.activeElement.name === 'increment'");
    browser.press(&[ESCAPE]);
    one_ahead(&browser);
    // What is offered meanwhile changes nothing in it.
    browser.click("[data-act=draw]");
    browser.stands("d2", "white pawn");
    browser.stands("d3", "white pawn");
    browser.click("[data-act=now]");
    browser.until("document.querySelectorAll('.moves button').length >= 5");

    // The demo's bot gives moves back, also while it thinks.
    browser.click("[data-act=takeback]");
    browser.stands("d2", "white pawn");
    browser.until("document.querySelectorAll('.moves button').length < 5");

    browser.fill(".chat input", &format!("!name{ENTER}"));
    browser.shows(".chat .lines", "!name");
    browser.until("[...document.querySelectorAll('.chat .lines b')].some((from) => from.textContent === 'Knightwatch')");
    browser.was_clean(&demo.url);
}

#[test]
fn a_game_is_played_without_a_mouse() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.until("document.querySelector('#new').checkVisibility()");

    // `n` opens the form, Escape closes it.
    browser.press(&["n"]);
    browser.until("document.querySelector('dialog[open]')");
    browser.press(&[ESCAPE]);
    // `?` and the menu tell what there is.
    browser.until("!document.querySelector('dialog[open]')");
    browser.press(&["?"]);
    browser.shows("dialog[open]", "Turn the board");
    browser.press(&[ESCAPE]);
    browser.until("!document.querySelector('dialog[open]')");
    browser.click("#menu");
    browser.click("#keys");
    browser.shows("dialog[open]", "Turn the board");
    browser.press(&[ESCAPE]);
    new_game(&browser, "white", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");

    // The board is walked on with the arrows: from the king to the pawn, and two squares on.
    browser.run(&format!(
        "document.querySelector({}).focus();",
        json!(square("e1"))
    ));
    browser.press(&[UP, ENTER, UP, UP, ENTER]);
    browser.stands("e4", "white pawn");
    browser.shows("#read", "Knightwatch: king");

    // Moves can be typed; what is not one is said.
    browser.until("document.title.startsWith('Your move')");
    browser.press(&["/"]);
    browser.until("document.activeElement.id === 'move'");
    browser.fill("#move", &format!("Qh5{ENTER}"));
    browser.shows("#move-problem", "is not a legal move");
    browser.run("document.getElementById('move').value = '';");
    browser.fill("#move", &format!("e5{ENTER}"));
    browser.stands("e5", "white pawn");

    // Who chooses what a pawn becomes goes on from where it stands.
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    browser.run(&format!(
        "document.querySelector({}).focus();",
        json!(square("a7"))
    ));
    browser.press(&[ENTER, UP, ENTER]);
    browser.until("document.activeElement.closest('.promotion')");
    browser.press(&[ENTER]);
    browser.stands("a8", "white queen");
    browser.until("document.activeElement.dataset.square === 'a8'");
    browser.was_clean(&demo.url);
}

#[test]
fn without_the_key_one_only_watches() {
    let Some(browser) = Browser::open(1200, 800) else {
        return;
    };
    let demo = Demo::start();
    let (open, _) = demo.url.split_once("#key").unwrap();
    browser.go(open);
    browser.shows("#banner", "This window only watches");
    assert_eq!(
        browser.run("return document.getElementById('new').hidden;"),
        true
    );
    // It is said once, wherever one looks.
    browser.run("location.hash = '#/bot';");
    browser.shows("[aria-label=Bot]", "Knightwatch");
    let said = "document.body.textContent.split('This window only watches').length - 1";
    assert_eq!(browser.run(&format!("return {said};")), 1);
    // The key is taken where the page is open already.
    browser.go(&demo.url);
    browser.until("document.querySelector('#new').checkVisibility()");
    browser.until("document.querySelector('#banner').hidden && location.hash === ''");
}

#[test]
fn who_castles_in_chess960_moves_the_king_onto_the_rook() {
    let Some((browser, site, _bot, url)) = seated("") else {
        return;
    };
    browser.until("document.querySelector('#new').checkVisibility()");
    site.player("Anna").start(&[
        ("variant", "chess960"),
        (
            "fen",
            "nrbbqkrn/pppppppp/8/8/8/8/PPPPPPPP/NRBBQKRN w KQkq - 0 1",
        ),
        ("color", "white"),
        ("clock.limit", "600"),
        ("clock.increment", "0"),
    ]);
    // The king goes to where the rook is, and the rook to where the king was.
    click(&browser, "f1", "g1");
    browser.stands("g1", "white king");
    browser.stands("f1", "white rook");
    browser.shows(".moves", "O-O");
    browser.until("document.querySelectorAll('.moves button').length >= 2");
    browser.was_clean(&url.whole());
}

#[test]
fn who_plays_sees_what_the_engine_thinks_if_he_wants_to() {
    let Some((browser, _site, bot, url)) = seated("[[rule]]\nplay = { max_depth = 8 }\n") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    assert_eq!(
        browser.run("return document.querySelector('.thinking').checkVisibility();"),
        false
    );
    browser.click(".switch input");
    browser.sees(".thinking");
    // It is the daemon that knows it: another window shows the same.
    browser.go("about:blank");
    browser.go(&url.whole());
    browser.sees(".thinking");
    assert_eq!(
        browser.run("return document.querySelector('.switch input').checked;"),
        true
    );

    // The answer that is expected is no arrow on the board that is played on, where it would look like advice; and the expected
    // line can be looked at.
    browser.shows(".legend", "expected reply");
    let reply = "document.querySelector('.game-view .arrows .reply')";
    browser.until(&format!(
        "document.querySelector('.thinking .line button') && !{reply}"
    ));
    browser.click(".thinking .line button");
    browser.shows(".tag", "Expected line");
    browser.click(".game-view h1");
    browser.until("document.querySelector('.tag').hidden");

    // The curve leads back to a move: its first ply is at its left.
    browser.run(
        "const curve = document.querySelector('.graph');
         const { left, top } = curve.getBoundingClientRect();
         curve.dispatchEvent(new MouseEvent('click', { clientX: left + 1, clientY: top + 1 }));",
    );
    browser.shows(".tag", "Looking back");
    browser.stands("e4", "white pawn");
    browser.until("document.querySelector('.moves [aria-current]').textContent.includes('e4')");

    // Where one looks back, it is.
    browser.press(&[END]);
    click(&browser, "d2", "d4");
    browser.until("document.querySelectorAll('.moves button').length === 4");
    assert_eq!(browser.run(&format!("return {reply};")), json!(null));
    browser.press(&[LEFT, LEFT]);
    browser.until(reply);
    browser.press(&[END]);

    // The board is turned, and with it those who sit there.
    let anna_is_above =
        "document.querySelector('.board-area .player').textContent.includes('Anna')";
    let first_rank_is_above =
        "document.querySelector('.game-view [data-square=a1]').getBoundingClientRect().top
         < document.querySelector('.game-view [data-square=a8]').getBoundingClientRect().top";
    browser.until(&format!("!({anna_is_above}) && !({first_rank_is_above})"));
    browser.press(&["f"]);
    browser.until(&format!("{anna_is_above} && {first_rank_is_above}"));

    let (bad, _) = url.ask(
        "POST",
        "/control/show-engine?shown=perhaps",
        &url.rights(),
        "",
    );
    assert_eq!(bad, 400);
    assert_eq!(
        url.ask("POST", "/control/show-engine?shown=false", "", "")
            .0,
        403
    );
    browser.sees(".thinking");
    browser.was_clean(&url.whole());
    drop(bot);
}
