//! Usability of the page: mouse wheel, settings, notifications, keyboard focus, layout shift, contrast.

use knightwatch::sim::NewUser;
use serde_json::json;

use super::driver::Browser;
use super::playing::{NO_BISHOPS, click, new_game, play_until_reply};
use super::{Demo, ENTER, UP, open_as_player, open_as_spectator, square, start_with_player};
use crate::common::{Daemon, Site};
use crate::etiquette::act;
use crate::page::Url;

const DOWN: &str = "\u{E015}";
const TAB: &str = "\u{E004}";

/// Expression for the number of plies before the shown position.
const SHOWN: &str =
    "[...document.querySelectorAll('.moves button')].findIndex((move) => move.ariaCurrent) + 1";

/// Plays a game in which Anna writes a chat line after two plies and resigns after six; returns its id.
fn short_game(site: &Site) -> String {
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    for (ply, uci) in [(2, "e2e4"), (4, "a2a3"), (6, "h2h3")] {
        act(&anna, &id, &format!("move/{uci}"));
        site.plies(&id, ply);
        if ply == 2 {
            let hello = [("room", "player"), ("text", "a fine start")];
            anna.post(&format!("/api/board/game/{id}/chat"), &hello);
        }
    }
    act(&anna, &id, "resign");
    id
}

#[test]
fn moves_are_browsed_by_wheel_autoplay_and_chat() {
    let Some((browser, site, _bot, _)) = open_as_spectator("[[rule]]\nplay = { max_depth = 4 }\n")
    else {
        return;
    };
    let id = short_game(&site);
    browser.wait_for_text(".panel .result", "White resigned");
    let shows = |plies: usize| {
        browser.until(&format!("{SHOWN} === {plies}"));
    };
    shows(6);
    browser.scroll(".game-view .board", -120);
    shows(5);
    browser.scroll(".game-view .board", -120);
    shows(4);
    browser.scroll(".game-view .board", 120);
    shows(5);
    // The tag of an earlier position covers no piece.
    browser.wait_for_text(".tag", "Looking back");
    assert_eq!(
        browser.run("return document.querySelector('.frame .tag');"),
        json!(null)
    );

    browser.click(".tools [title='To the start (Home)']");
    // The position is shown for a second only, which may pass between two requests to the browser.
    browser.run(&format!(
        "new MutationObserver((_, observer) => {{
             if ({SHOWN} !== 2) return;
             observer.disconnect();
             document.querySelector(\".tools [title='Stop']\").click();
         }}).observe(document.querySelector('.moves'), {{ attributeFilter: ['aria-current'], subtree: true }});"
    ));
    browser.click(".tools [title='Play the moves one after another']");
    shows(2);
    browser.wait_visible(".tools [title='Play the moves one after another']");

    browser.press(&[super::END]);
    shows(6);
    browser.run("[...document.querySelectorAll('.chat .lines button')].find((line) => line.textContent.includes('a fine start')).click();");
    shows(2);
    // A link with a ply shows that position.
    browser.run(&format!("location.hash = '#/game/{id}/3';"));
    shows(3);
}

#[test]
fn log_entry_links_to_position() {
    let Some((browser, _site, _bot, _)) = open_as_player("") else {
        return;
    };
    play_until_reply(&browser);
    browser.click("[data-act=takeback]");
    browser.until("document.querySelectorAll('.moves button').length === 0");
    browser.run("location.hash = '#/bot';");
    browser.until(
        "[...document.querySelectorAll('.log a')].some((link) => link.textContent.includes('accepting the takeback') && /^#\\/game\\/\\w+\\/2$/.test(link.hash))",
    );
}

fn open_settings(browser: &Browser) {
    browser.click("#menu");
    browser.click("#settings");
}

#[test]
fn board_settings_are_kept() {
    let Some((browser, _site, _bot, url)) = open_as_player("") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    let color = "getComputedStyle(document.querySelector('.game-view .board .dark')).fill";
    let width = "document.querySelector('.game-view .board').getBoundingClientRect().width";
    let before = browser.run(&format!("return [{color}, {width}];"));
    open_settings(&browser);
    browser.click("input[name=board][value=blue]");
    browser.run(
        "const size = document.querySelector('input[name=size]');
         size.value = 50; size.dispatchEvent(new Event('input'));",
    );
    browser.press(&[super::ESCAPE]);
    browser.until(&format!(
        "{color} !== {} && {width} < {}",
        before[0], before[1]
    ));
    // The settings are kept after a reload.
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.until(&format!(
        "{color} !== {} && {width} < {}",
        before[0], before[1]
    ));

    // A dragged piece leaves a ghost, and a ring marks a legal target.
    browser.until("document.title.startsWith('Your move')");
    let held = |ring: &str| {
        browser.until(&format!(
            "document.querySelector('.game-view .ghost') && {ring}document.querySelector('.game-view .ring')"
        ));
    };
    browser.hold(&square("e2"), &square("e6"));
    held("!");
    browser.release();
    browser.until("!document.querySelector('.game-view .ghost')");
    browser.wait_for_piece("e2", "white pawn");
    browser.hold(&square("e2"), &square("e4"));
    held("");
    browser.release();
    browser.wait_for_piece("e4", "white pawn");
    browser.until("!document.querySelector('.game-view .ghost')");
    // On a phone the size is half of the width.
    browser.emulate_phone();
    browser.until(&format!("{width} > 150 && {width} <= 180"));
    browser.assert_clean(&url.with_key());
}

#[test]
fn notification_reports_move_on_hidden_page() {
    let Some((browser, _site, _bot, url)) = open_as_player("") else {
        return;
    };
    browser.grant("notifications");
    // A headless browser displays no notifications, so their texts are recorded.
    browser.run(
        "window.shown = [];
         const Real = window.Notification;
         window.notesClosed = [];
         window.Notification = class extends Real {
             constructor(title, options) { super(title, options); shown.push(options); }
             close() { notesClosed.push(this.tag); super.close(); }
         };",
    );
    new_game(&browser, "white", NO_BISHOPS);
    open_settings(&browser);
    browser.click("input[name=notify]");
    browser.until("document.querySelector('input[name=notify]').checked");
    browser.press(&[super::ESCAPE]);
    browser.until("document.querySelector('link[rel=icon]').href.endsWith('/icon-move.svg')");
    browser.run("Object.defineProperty(document, 'hidden', { configurable: true, value: true });");
    click(&browser, "e2", "e4");
    browser.until("shown.some(({ body }) => body.startsWith('Knightwatch played '))");
    // A later move of the same game is shown again, one of another game elsewhere.
    let id = browser.run("return document.querySelector('.card[aria-current]').dataset.game;");
    browser.until(&format!(
        "shown.every(({{ renotify, tag }}) => renotify && tag === {id})"
    ));
    browser.set_hidden(false);
    browser.until(&format!("notesClosed.includes({id})"));
    browser.click_and_confirm("[data-act=resign]");
    browser.until("document.querySelector('link[rel=icon]').href.endsWith('/icon.svg')");
    // The page can be installed as an app.
    let manifest = browser.devtools("Page.getAppManifest", &json!({}));
    assert_eq!(manifest["errors"], json!([]), "{manifest}");
    let address = manifest["url"].as_str().unwrap();
    assert!(address.ends_with("/manifest.webmanifest"), "{address}");
    browser.assert_clean(&url.with_key());
}

#[test]
fn keyboard_reaches_board_and_keeps_focus() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human("Bert"), NewUser::in_browser("Anna")]);
    let (_bot, url) = start_with_player(&site, "games = { concurrency = 4 }\n");
    browser.go(&url.with_key());
    browser.wait_visible("#new");
    // The first tab stop is the link to the board.
    new_game(&browser, "white", "8/P6k/8/8/8/8/8/K7 w - - 0 1");
    browser.go("about:blank");
    browser.go(&url.with_key());
    browser.until("document.title.startsWith('Your move')");
    browser.press(&[TAB]);
    browser.until("document.activeElement.id === 'skip'");
    browser.press(&[ENTER]);
    browser.until("document.activeElement.dataset.square === 'a1'");

    // Arrow keys choose the promotion piece.
    browser.run(&format!(
        "document.querySelector({}).focus();",
        json!(square("a7"))
    ));
    browser.press(&[ENTER, UP, ENTER]);
    browser.until("document.activeElement.ariaLabel === 'white queen'");
    browser.press(&[DOWN]);
    browser.until("document.activeElement.ariaLabel === 'white knight'");
    browser.press(&[UP, UP]);
    browser.until("document.activeElement.ariaLabel === 'white bishop'");
    browser.press(&[ENTER]);
    browser.wait_for_piece("a8", "white bishop");
    // In the next game the initial square is the default one, not the promotion square.
    new_game(&browser, "white", NO_BISHOPS);
    browser.until(
        "document.querySelector('.game-view [data-square][tabindex=\"0\"]').dataset.square === 'e1'",
    );

    // The list of games is one tab stop, and the focus survives the end of a game.
    let bert = site.player("Bert");
    let game = bert.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    let card = format!(".cards [data-game='{game}']");
    browser.wait_visible(&card);
    assert_eq!(
        browser.run("return document.querySelectorAll('.cards a[tabindex=\"0\"]').length;"),
        1
    );
    browser.run("document.querySelector('.cards a[tabindex=\"0\"]').focus();");
    browser.press(&[DOWN]);
    browser.until(&format!(
        "document.activeElement.dataset.game === {}",
        json!(game)
    ));
    act(&bert, &game, "abort");
    browser.until(&format!(
        "document.querySelector('.finished-games')?.contains(document.activeElement) && document.activeElement.dataset.game === {}",
        json!(game)
    ));
    browser.assert_clean(&url.with_key());
}

#[test]
fn layout_does_not_shift_during_games() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.until("document.querySelectorAll('.card').length >= 4 && document.querySelectorAll('.moves button').length > 4");
    browser.run(
        "window.shift = 0; window.moved = [];
         new PerformanceObserver((list) => {
             for (const entry of list.getEntries()) {
                 shift += entry.value;
                 moved.push(`${entry.value.toFixed(4)} ${entry.sources.map(({ node }) => node?.className || node?.nodeName)}`);
             }
         }).observe({ type: 'layout-shift' });
         window.before = document.querySelectorAll('.moves button').length;",
    );
    browser.until("document.querySelectorAll('.moves button').length >= before + 20 || document.querySelector('.finished-games a')");
    let shift = browser.run("return shift;").as_f64().unwrap();
    let moved = browser.run("return moved;");
    assert!(shift < 0.02, "{shift}: {moved}");
}

#[test]
fn long_name_keeps_column_width() {
    const NAME: &str = "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWW";
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let site = Site::new([NewUser::human(NAME)]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1).without_key();
    let player = site.player(NAME);
    let clock = [("clock.limit", "600"), ("clock.increment", "0")];
    let id = player.start(&clock);
    act(&player, &id, "abort");
    site.finished(&id);
    let id = player.start(&clock);
    browser.go(&url);
    browser.wait_visible(".finished-games .name");
    browser.wait_visible(&format!(".card[data-game='{id}']"));
    browser.wait_visible(".game-view .board");
    let over = browser.run(
        "const left = document.querySelector('.board-area').getBoundingClientRect().left;
         return [...document.querySelectorAll('.cards *')].filter((part) => part.getBoundingClientRect().right > left).map((part) => part.className);",
    );
    assert_eq!(over, json!([]));
}

/// Script that defines `contrast(a, b)`, the WCAG contrast ratio of two CSS colors.
const CONTRAST: &str = "
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const parts = (color) => { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = (color) => parts(color).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (one, two) => { const [a, b] = [light(one), light(two)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const behind = getComputedStyle(document.body).backgroundColor;";

#[test]
fn contrast_and_touch_targets_are_sufficient() {
    let Some((browser, _site, _bot, _)) = open_as_player("") else {
        return;
    };
    new_game(&browser, "white", NO_BISHOPS);
    click(&browser, "e2", "e4");
    browser.wait_visible("[data-act=resign]");
    for scheme in ["light", "dark"] {
        for board in ["green", "blue", "brown", "gray"] {
            browser.run(&format!(
                "document.documentElement.dataset.theme = '{scheme}'; document.documentElement.dataset.board = '{board}';"
            ));
            let found = browser.run(&format!(
                "{CONTRAST}
                 const paper = style('.panel').backgroundColor;
                 const letters = style('.board .coordinates text').fill;
                 return [
                     ['border of a button', 3, contrast(style('[data-act=resign]').borderTopColor, paper)],
                     ['border of a field', 3, contrast(style('#move').borderTopColor, paper)],
                     ['coordinates on dark', 4.5, contrast(letters, style('.game-view .board .dark').fill)],
                     ['outer focus ring on dark', 3, contrast(style('.board .focus :first-child').stroke, style('.game-view .board .dark').fill)],
                     ['lines of the focus ring', 3, contrast(style('.board .focus :first-child').stroke, style('.board .focus :last-child').stroke)],
                     ['coordinates on light', 4.5, contrast(letters, style('.game-view .board .light').fill)],
                     ['quiet on raised', 4.5, contrast(style('.facts').color, style('.top nav [aria-current]').backgroundColor)],
                     ['quiet on ground', 4.5, contrast(style('.facts').color, behind)],
                 ].filter(([, min, ratio]) => ratio < min);"
            ));
            assert_eq!(found, json!([]), "{scheme} {board}");
        }
    }
    browser.emulate_phone();
    browser.until("matchMedia('(pointer: coarse)').matches");
    let small = browser.run(
        "return [...document.querySelectorAll('button, .top nav a, select, input')]
             .filter((node) => node.checkVisibility() && !node.closest('.moves, .lines, .line, .switch'))
             .map((node) => [node.textContent || node.id || node.ariaLabel, Math.round(node.getBoundingClientRect().width), Math.round(node.getBoundingClientRect().height)])
             .filter(([name, width, height]) => name !== 'Skip to the board' && (width < 44 || height < 44));",
    );
    assert_eq!(small, json!([]));
}
