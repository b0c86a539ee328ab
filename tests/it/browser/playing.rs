//! Games against the bot on the page.

use serde_json::json;

use knightwatch::sim::NewUser;

use super::driver::Browser;
use super::{Demo, END, ENTER, ESCAPE, LEFT, UP, open_as_player, square, start_with_player};
use crate::common::{FAST_MOVES, Site, wait};
use crate::etiquette::{DEAD, act};
use crate::operator::run_command;
use crate::page::{OPERATE, Public, WATCH};

/// Initial position without bishops: in no opening book.
pub(super) const NO_BISHOPS: &str = "rn1qk1nr/pppppppp/8/8/8/8/PPPPPPPP/RN1QK1NR w KQkq - 0 1";

/// Starts a game with the form: the color of the player, and the initial position.
pub(super) fn new_game(browser: &Browser, color: &str, fen: &str) {
    timed_game(browser, color, fen, "10+0");
}

/// Starts a game as white against a bot without bishops, and plays e4. Returns after the reply.
pub(super) fn play_until_reply(browser: &Browser) {
    new_game(browser, "white", NO_BISHOPS);
    click(browser, "e2", "e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
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

/// Submits the form and waits until the game starts.
pub(super) fn send(browser: &Browser) {
    browser.click("dialog button[type=submit]");
    browser.until("!document.querySelector('dialog[open]')");
}

/// Makes a move with two clicks.
pub(super) fn click(browser: &Browser, from: &str, to: &str) {
    browser.click(&square(from));
    browser.until(&format!(
        "document.querySelector({}).hasAttribute('data-target')",
        json!(square(to))
    ));
    browser.click(&square(to));
}

#[test]
fn game_is_played_by_mouse() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    // The key is removed from the URL.
    browser.until("location.hash === '' && document.querySelector('#new').checkVisibility()");

    // Mate with two rooks, every reply is forced.
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    click(&browser, "b2", "b7");
    browser.wait_for_piece("g8", "black king");
    browser.drag(&square("a1"), &square("a8"));
    browser.wait_for_piece("a8", "white rook");
    browser.wait_for_text(".panel .result", "Checkmate. You win.");
    browser.wait_for_text("#read", "The game is over: Checkmate. You win.");

    // A rematch with the other color, in which the player is mated.
    browser.click("[data-act=rematch]");
    browser.until("document.querySelector('.panel .result').hidden");
    browser.wait_for_text(".boardrow + .player", "Guest");
    browser.until("document.title.startsWith('Your move')");
    click(&browser, "h8", "g8");
    browser.wait_for_text(".panel .result", "Checkmate. Knightwatch wins.");

    // Promotion to the chosen piece.
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    // Escape deselects, and closes the menu.
    let target = "document.querySelector('.game-view [data-target]')";
    browser.click(&square("a7"));
    browser.until(target);
    browser.press(&[ESCAPE]);
    browser.until(&format!("!{target}"));
    click(&browser, "a7", "a8");
    browser.until("document.activeElement.closest('.promotion')");
    browser.run("document.activeElement.blur();");
    browser.press(&[ESCAPE]);
    browser.until("!document.querySelector('.promotion').checkVisibility()");
    browser.wait_for_piece("a7", "white pawn");
    click(&browser, "a7", "a8");
    browser.click(".promotion [aria-label='white rook']");
    browser.wait_for_piece("a8", "white rook");

    // A move made before the turn is played on the turn.
    new_game(&browser, "black", "7k/7p/8/8/8/8/P7/K7 w - - 0 1");
    click(&browser, "h7", "h6");
    browser.wait_for_piece("h6", "black pawn");
    browser.until("document.querySelectorAll('.moves button').length >= 2");

    // The bot of the demo accepts takebacks.
    browser.click("[data-act=takeback]");
    browser.wait_for_piece("h7", "black pawn");
    click(&browser, "h7", "h6");
    browser.until("document.querySelectorAll('.moves button').length >= 2");

    // Resigning needs a confirmation, which a double click is not, nor a key that is held down.
    browser.wait_visible("[data-act=resign]");
    // In one script: between two clicks of the mouse a busy browser may let half a second pass.
    browser.run(
        "const resign = document.querySelector('[data-act=resign]');
         resign.focus();
         resign.click();
         resign.click();",
    );
    browser.wait_for_text("[data-act=resign]", "Really resign?");
    let asked = browser.run("return performance.now();");
    wait("a confirmation is possible", || {
        let key = json!({ "type": "keyDown", "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13, "autoRepeat": true });
        browser.devtools("Input.dispatchKeyEvent", &key);
        (browser.run(&format!("return performance.now() > {asked} + 600;")) == true).then_some(())
    });
    browser.wait_for_text("[data-act=resign]", "Really resign?");
    browser.click("[data-act=resign]");
    browser.wait_for_text(".panel .result", "You resigned. Knightwatch wins.");
    browser.assert_clean(&demo.url);
}

/// Starts a game with the premove d3 as the third move, while the bot thinks about its second one.
fn queue_premove(browser: &Browser) {
    // With up to a minute per move there is time for a premove.
    browser.run(
        "const strength = document.querySelector('select[name=strength]');
         strength.append(new Option('long', 'move_s=60'));
         strength.value = 'move_s=60';",
    );
    timed_game(browser, "white", NO_BISHOPS, "30+20");
    browser.until("document.title.startsWith('Your move')");
    // The first move of the bot is always fast. It has not pondered these moves.
    click(browser, "h2", "h4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    click(browser, "g2", "g4");
    browser.wait_for_piece("g4", "white pawn");
    // The board shows it before the server has taken it.
    browser.until("document.querySelectorAll('.moves button').length === 3");
    click(browser, "d2", "d3");
    browser.until("document.querySelectorAll('.game-view .premove').length === 2");
}

#[test]
fn premove_survives_lost_connection() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::in_browser("Anna")]);
    let (_bot, url) = start_with_player(&site, "");
    browser.track_streams();
    browser.go(&url.with_key());
    browser.wait_visible("#new");
    queue_premove(&browser);
    let id = browser.run("return document.querySelector('.card[aria-current]').dataset.game;");
    browser.disconnect();
    browser.wait_for_text("#status", "Connection lost");
    browser.until("document.title.startsWith('Connection lost')");
    let now = format!("/control/move-now?game={}", id.as_str().unwrap());
    assert_eq!(url.request("POST", &now, &url.key_header(), "").0, 200);
    wait("the bot has moved while the page is disconnected", || {
        let game = url.json(&format!("/api/game/{}", id.as_str().unwrap()));
        (game["moves"].as_array()?.len() == 4).then_some(())
    });
    let known = browser.run("return document.querySelectorAll('.moves button').length;");
    assert_eq!(known, 3);
    browser.set_online(true);
    browser.until("document.querySelectorAll('.moves button').length >= 5");
    browser.until("!document.querySelector('.game-view .premove')");
    browser.wait_for_piece("d3", "white pawn");
}

#[test]
fn draw_offers_work_in_both_directions() {
    let draw =
        "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30, offer = false }\n";
    let Some((browser, _site, bot, url)) = open_as_player(&format!("{draw}{FAST_MOVES}")) else {
        return;
    };
    new_game(&browser, "white", DEAD);
    click(&browser, "e3", "d3");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    browser.click("[data-act=draw]");
    browser.wait_for_text(".panel .result", "You agreed on a draw.");

    // An offer of the bot.
    bot.configure(|text| text.replace("offer = false", "offer = true"));
    run_command(&bot, &["reload"]);
    new_game(&browser, "white", DEAD);
    let offered = "document.querySelector('[data-act=accept]').checkVisibility()";
    for (plies, [from, to]) in [(2, ["e3", "d3"]), (4, ["d3", "e3"])] {
        click(&browser, from, to);
        browser.until(&format!(
            "document.querySelectorAll('.moves button').length === {plies}"
        ));
    }
    browser.until(offered);
    browser.wait_for_text("#read", "Knightwatch offered a draw");
    // A declined offer cannot be accepted, but a new one can be made.
    browser.click("[data-act=decline]");
    browser.until(&format!("!{offered}"));
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.wait_visible("[data-act=draw]");
    assert_eq!(browser.run(&format!("return {offered};")), false);
    browser.click("[data-act=draw]");
    browser.wait_for_text(".panel .result", "½-½");
    browser.assert_clean(&url.with_key());
}

#[test]
fn challenge_decline_is_shown() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST_MOVES) else {
        return;
    };
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    click(&browser, "b2", "b7");
    browser.wait_for_piece("g8", "black king");
    click(&browser, "a1", "a8");
    browser.wait_for_text(".panel .result", "Checkmate. You win.");
    // A decline is shown as a message and in the form.
    browser.run("location.hash = '#/bot';");
    browser.click("[data-control=pause]");
    browser.wait_for_text("#status", "Paused");
    browser.run("location.hash = '#/';");
    browser.click("[data-act=rematch]");
    browser.wait_for_text("#toasts", "Declined: ");
    browser.click("#new");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("dialog [role=alert]", "Declined: ");
    browser.until("!document.querySelector('dialog button[type=submit]').disabled");
    browser.assert_clean(&url.with_key());
}

#[test]
fn unlimited_games_start_at_once() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    let begin = |color: &str| {
        fill_in(&browser, &[("color", color), ("time", "unlimited")]);
        send(&browser);
        browser.until("document.title.startsWith('Your move')");
        browser.wait_for_text(".game-view h1", "unlimited");
    };
    // The game starts without a move to make, and next to other games.
    begin("white");
    click(&browser, "e2", "e4");
    browser.until("document.querySelectorAll('.moves button').length === 2");
    begin("black");
    browser.until("document.querySelectorAll('.moves button').length === 1");
    browser.assert_clean(&demo.url);
}

#[test]
fn challenge_waiting_for_slot_says_so() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::in_browser("Anna"), NewUser::human("Bert")]);
    let (_bot, url) = start_with_player(&site, "games = { concurrency = 1 }\n");
    let bert = site.player("Bert");
    let game = bert.start(&[("clock.limit", "600"), ("clock.increment", "0")]);
    browser.go(&url.with_key());
    browser.click("#new");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("dialog", "Waiting for a slot: ");
    act(&bert, &game, "abort");
    browser.until("!document.querySelector('dialog[open]')");
    browser.wait_for_text(".board-area", "Anna");
    browser.assert_clean(&url.with_key());
}

#[test]
fn premove_takeback_and_chat_work() {
    let Some((browser, _site, _bot, url)) = open_as_player("games = { max_takebacks = 1 }\n")
    else {
        return;
    };
    browser.click("#new");
    // An empty required field gets the focus; a hidden one does not block the form.
    browser.click("input[name=time][value=custom]");
    browser.run("document.querySelector('input[name=increment]').value = '';");
    browser.click("dialog button[type=submit]");
    browser.until("document.activeElement.name === 'increment'");
    browser.press(&[ESCAPE]);
    queue_premove(&browser);
    browser.press(&[ESCAPE]);
    browser.until("!document.querySelector('.game-view .premove')");
    click(&browser, "d2", "d3");
    browser.until("document.querySelectorAll('.game-view .premove').length === 2");
    // A draw offer keeps the premove.
    browser.click("[data-act=draw]");
    browser.wait_for_text(".chat .lines", "You offered a draw");
    browser.wait_for_piece("d2", "white pawn");
    browser.click("[data-act=now]");
    browser.wait_for_piece("d3", "white pawn");
    browser.until("document.querySelectorAll('.moves button').length >= 5");

    // Takebacks are accepted, also while the bot searches.
    browser.click("[data-act=takeback]");
    browser.wait_for_piece("d2", "white pawn");
    browser.until("document.querySelectorAll('.moves button').length < 5");

    browser.fill(".chat input", &format!("!name{ENTER}"));
    browser.wait_for_text(".chat .lines", "!name");
    browser.until("[...document.querySelectorAll('.chat .lines b')].some((from) => from.textContent === 'Knightwatch')");
    browser.assert_clean(&url.with_key());
}

#[test]
fn game_is_played_by_keyboard() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST_MOVES) else {
        return;
    };
    browser.wait_visible("#new");

    // `n` opens the form, Escape closes it.
    browser.press(&["n"]);
    browser.until("document.querySelector('dialog[open]')");
    browser.press(&[ESCAPE]);
    browser.until("!document.querySelector('dialog[open]')");
    // So does the capital letter, as with Caps Lock.
    browser.press(&["N"]);
    browser.until("document.querySelector('dialog[open]')");
    browser.press(&[ESCAPE]);
    // `?` and the menu list the keys.
    browser.until("!document.querySelector('dialog[open]')");
    browser.press(&["?"]);
    browser.wait_for_text("dialog[open]", "Turn the board");
    browser.press(&[ESCAPE]);
    browser.until("!document.querySelector('dialog[open]')");
    browser.click("#menu");
    browser.click("#keys");
    browser.wait_for_text("dialog[open]", "Turn the board");
    browser.press(&[ESCAPE]);
    new_game(&browser, "white", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");

    // Arrow keys move the focus: from the king to the pawn, and two squares on.
    browser.run(&format!(
        "document.querySelector({}).focus();",
        json!(square("e1"))
    ));
    browser.press(&[UP, ENTER, UP, UP, ENTER]);
    browser.wait_for_piece("e4", "white pawn");
    browser.wait_for_text("#read", "Knightwatch: king");

    // Moves can be typed; an invalid one is reported.
    browser.until("document.title.startsWith('Your move')");
    browser.press(&["/"]);
    browser.until("document.activeElement.id === 'move'");
    browser.fill("#move", &format!("Qh5{ENTER}"));
    browser.wait_for_text("#move-problem", "is not a legal move");
    browser.run("document.getElementById('move').value = '';");
    browser.fill("#move", &format!("e5{ENTER}"));
    browser.wait_for_piece("e5", "white pawn");

    // A typed move does not stay for the next game.
    browser.fill("#move", "Kd2");
    // After a promotion the focus is on the promotion square.
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    browser.run(&format!(
        "document.querySelector({}).focus();",
        json!(square("a7"))
    ));
    browser.press(&[ENTER, UP, ENTER]);
    browser.until("document.activeElement.closest('.promotion')");
    browser.press(&[ENTER]);
    browser.wait_for_piece("a8", "white queen");
    browser.until("document.activeElement.dataset.square === 'a8'");
    browser.until("document.getElementById('move').value === ''");
    browser.assert_clean(&url.with_key());
}

#[test]
fn game_is_played_by_touch() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST_MOVES) else {
        return;
    };
    browser.emulate_phone();
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    browser.until("document.title.startsWith('Your move')");
    let tap_move = |from: &str, to: &str| {
        browser.tap(&square(from));
        browser.until(&format!(
            "document.querySelector({}).hasAttribute('data-target')",
            json!(square(to))
        ));
        browser.tap(&square(to));
    };
    // The tap that opens the menu chooses nothing.
    tap_move("a7", "a8");
    browser.wait_visible(".promotion");
    browser.tap(".promotion [aria-label='white rook']");
    browser.wait_for_piece("a8", "white rook");

    // A second finger does not move the piece that the first one drags.
    new_game(&browser, "white", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
    browser.until("document.title.startsWith('Your move')");
    browser.drag_with_second_finger(&square("e2"), &square("e3"), &square("e4"));
    browser.wait_for_piece("e3", "white pawn");
    browser.assert_clean(&url.with_key());
}

#[test]
fn touch_on_expected_line_does_not_block_board() {
    let Some((browser, _site, _bot, url)) = open_as_player("[[rule]]\nplay = { max_depth = 8 }\n")
    else {
        return;
    };
    play_until_reply(&browser);
    browser.click(".switch input");
    browser.wait_visible(".thinking .line button");
    browser.tap(".thinking .line button");
    browser.wait_for_text(".tag", "Expected line");
    // One tap ends the preview and selects the piece.
    browser.tap(&square("d2"));
    browser.until(&format!(
        "document.querySelector({}).hasAttribute('data-target')",
        json!(square("d3"))
    ));
    browser.tap(&square("d3"));
    browser.wait_for_piece("d3", "white pawn");
    browser.assert_clean(&url.with_key());
}

#[test]
fn page_without_key_is_read_only() {
    let Some(browser) = Browser::open(1200, 800) else {
        return;
    };
    let site = Site::new([NewUser::in_browser("Anna")]);
    let (_bot, url) = start_with_player(&site, "[[rule]]\nplay = { max_depth = 6 }\n");
    browser.go(&url.without_key());
    browser.wait_for_text("#banner", "This window only watches");
    assert_eq!(
        browser.run("return document.getElementById('new').hidden;"),
        true
    );
    // In a game of Anna the title of this window names no turn, and its card shows the evaluation.
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    browser.until("document.title.startsWith('1 running')");
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    browser.wait_visible(".card .bar:not(.unknown)");
    browser.wait_for_text(".card > .quiet", "White ");
    browser.wait_visible(".card > .quiet");
    // Each view says so once.
    browser.run("location.hash = '#/bot';");
    browser.wait_for_text("[aria-label=Bot]", "Knightwatch");
    let said = "document.body.textContent.split('This window only watches').length - 1";
    assert_eq!(browser.run(&format!("return {said};")), 1);
    // A page that is already open accepts the key.
    browser.go(&url.with_key());
    browser.wait_visible("#new");
    browser.until("document.querySelector('#banner').hidden && location.hash === ''");
    // Then the cards hide the evaluation as the board does.
    browser.until("document.title.startsWith('Your move')");
    let hidden = "document.querySelector('.card .bar').hidden";
    browser.until(hidden);
    browser.click(".game-view .switch input");
    browser.until(&format!("!{hidden}"));
    browser.click(".game-view .switch input");
    browser.until(hidden);
    act(&anna, &id, "resign");
    browser.until(&format!("!{hidden}"));
    browser.wait_for_text(".card > .quiet", "0-1");
}

#[test]
fn watching_window_from_outside_says_how_to_operate() {
    let Some(browser) = Browser::open(1200, 800) else {
        return;
    };
    let site = Site::new([]);
    let public = Public::start(&site, "");
    // The server counts only 127.0.0.1 as this machine.
    let host = format!("127.0.0.2:{}", public.port());
    browser.go(&format!("http://watcher:{WATCH}@{host}/#/bot"));
    let hint = format!("open http://{host}/#key=KEY,");
    browser.wait_for_text("[aria-label=Bot]", &hint);
    browser.go(&format!("http://{host}/#key={OPERATE}"));
    browser.until("location.hash === ''");
    browser.run("location.hash = '#/bot';");
    browser.wait_visible("[data-control=pause]");
}

#[test]
fn chess960_castling_is_king_onto_rook() {
    let Some((browser, site, _bot, url)) = open_as_player("") else {
        return;
    };
    browser.wait_visible("#new");
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
    // King and rook swap their squares.
    click(&browser, "f1", "g1");
    browser.wait_for_piece("g1", "white king");
    browser.wait_for_piece("f1", "white rook");
    browser.wait_for_text(".moves", "O-O");
    browser.until("document.querySelectorAll('.moves button').length >= 2");
    browser.assert_clean(&url.with_key());
}

#[test]
fn engine_lines_are_shown_to_player_on_request() {
    let Some((browser, _site, bot, url)) = open_as_player("[[rule]]\nplay = { max_depth = 8 }\n")
    else {
        return;
    };
    play_until_reply(&browser);
    assert_eq!(
        browser.run("return document.querySelector('.thinking').checkVisibility();"),
        false
    );
    browser.click(".switch input");
    browser.wait_visible(".thinking");
    // The daemon stores the setting: another window shows the same.
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.wait_visible(".thinking");
    assert_eq!(
        browser.run("return document.querySelector('.switch input').checked;"),
        true
    );

    // The expected reply is no arrow on the board of a running game, where it would look like advice. The expected line
    // can be shown.
    browser.wait_for_text(".legend", "expected reply");
    let reply = "document.querySelector('.game-view .arrows .reply')";
    browser.until(&format!(
        "document.querySelector('.thinking .line button') && !{reply}"
    ));
    browser.click(".thinking .line button");
    browser.wait_for_text(".tag", "Expected line");
    browser.click(".game-view h1");
    browser.until("document.querySelector('.tag').hidden");

    // A click on the left end of the graph shows the first ply.
    browser.run(
        "const curve = document.querySelector('.graph');
         const { left, top } = curve.getBoundingClientRect();
         curve.dispatchEvent(new MouseEvent('click', { clientX: left + 1, clientY: top + 1 }));",
    );
    browser.wait_for_text(".tag", "Looking back");
    browser.wait_for_piece("e4", "white pawn");
    browser.until("document.querySelector('.moves [aria-current]').textContent.includes('e4')");

    // Earlier positions have the arrow.
    browser.press(&[END]);
    click(&browser, "d2", "d4");
    browser.until("document.querySelectorAll('.moves button').length === 4");
    assert_eq!(browser.run(&format!("return {reply};")), json!(null));
    browser.press(&[LEFT, LEFT]);
    browser.until(reply);
    browser.press(&[END]);

    // Flipping the board also swaps the players.
    let anna_is_above =
        "document.querySelector('.board-area .player').textContent.includes('Anna')";
    let first_rank_is_above =
        "document.querySelector('.game-view [data-square=a1]').getBoundingClientRect().top
         < document.querySelector('.game-view [data-square=a8]').getBoundingClientRect().top";
    browser.until(&format!("!({anna_is_above}) && !({first_rank_is_above})"));
    browser.press(&["f"]);
    browser.until(&format!("{anna_is_above} && {first_rank_is_above}"));
    browser.press(&["F"]);
    browser.until(&format!("!({anna_is_above}) && !({first_rank_is_above})"));

    let (bad, _) = url.request(
        "POST",
        "/control/show-engine?shown=perhaps",
        &url.key_header(),
        "",
    );
    assert_eq!(bad, 400);
    assert_eq!(
        url.request("POST", "/control/show-engine?shown=false", "", "")
            .0,
        403
    );
    browser.wait_visible(".thinking");
    browser.assert_clean(&url.with_key());
    drop(bot);
}
