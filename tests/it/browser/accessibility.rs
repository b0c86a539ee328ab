//! Accessibility of the page for screen readers, and its layout on phones.

use serde_json::{Value, json};

use super::driver::Browser;
use super::playing::{click, new_game, play_until_reply};
use super::{Demo, ESCAPE, open_as_player, square};
use crate::common::{FAST_MOVES, wait};

/// Role and name of a node of the accessibility tree.
fn role_and_name(node: &Value) -> Option<(String, String)> {
    (node["ignored"] != true).then_some(())?;
    let text = |what: &str| node[what]["value"].as_str().map(str::to_owned);
    Some((text("role")?, text("name").unwrap_or_default()))
}

/// Roles and names of all nodes of the accessibility tree.
struct AccessibilityTree(Vec<(String, String)>);

impl AccessibilityTree {
    /// Reads the tree as soon as it contains this text.
    fn read(browser: &Browser, text: &str) -> Self {
        browser.devtools("Accessibility.enable", &json!({}));
        let tree = wait(&format!("the tree has {text}"), || {
            let tree = browser.devtools("Accessibility.getFullAXTree", &json!({}));
            tree.to_string().contains(text).then_some(tree)
        });
        let nodes = tree["nodes"].as_array().unwrap();
        let tree_nodes = Self(nodes.iter().filter_map(role_and_name).collect());
        tree_nodes.assert_all_named();
        tree_nodes
    }

    fn assert_all_named(&self) {
        let needs = [
            "button",
            "link",
            "textbox",
            "searchbox",
            "combobox",
            "radio",
            "dialog",
            "grid",
            "gridcell",
            "timer",
            "image",
            "checkbox",
            "navigation",
        ];
        let unnamed =
            |(role, name): &&(String, String)| needs.contains(&role.as_str()) && name.is_empty();
        let unnamed: Vec<_> = self.0.iter().filter(unnamed).collect();
        assert!(unnamed.is_empty(), "{unnamed:?}");
    }

    fn count(&self, wanted: &str) -> usize {
        self.0.iter().filter(|(role, _)| role == wanted).count()
    }

    fn has(&self, role: &str, start: &str) {
        let is = |(r, name): &(String, String)| r == role && name.starts_with(start);
        assert!(self.0.iter().any(is), "{role} {start}");
    }
}

#[test]
fn elements_have_role_and_name() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.until("document.querySelectorAll('.moves button').length > 4");
    let tree_nodes = AccessibilityTree::read(&browser, "gridcell");
    assert_eq!(
        (
            tree_nodes.count("grid"),
            tree_nodes.count("gridcell"),
            tree_nodes.count("timer")
        ),
        (1, 64, 2)
    );
    tree_nodes.has("grid", "Board, after ");
    tree_nodes.has("navigation", "Views");
    tree_nodes.has("button", "New game");
    tree_nodes.has("button", "Turn the board");
    tree_nodes.has("list", "Moves");
    let corner = browser.run(&format!(
        "return document.querySelector('{}').getAttribute('aria-label');",
        square("a1")
    ));
    assert!(corner.as_str().unwrap().starts_with("a1"));
    browser.assert_clean(&demo.url);
}

#[test]
fn views_and_form_are_accessible() {
    let Some((browser, _site, _bot, url)) = open_as_player("") else {
        return;
    };
    browser.click("#new");
    browser.click("input[name=variant][value=fromPosition]");
    let form = AccessibilityTree::read(&browser, "Your color");
    for (role, name) in [
        ("dialog", "New game"),
        ("radio", "White"),
        ("radio", "10+0"),
        ("textbox", "Position as FEN"),
        ("combobox", "Strength"),
        ("button", "Play"),
        ("button", "Close"),
    ] {
        form.has(role, name);
    }
    browser.press(&[ESCAPE]);
    browser.run("location.hash = '#/games';");
    let games = AccessibilityTree::read(&browser, "Filter games");
    for (role, name) in [
        ("search", "Filter games"),
        ("searchbox", "Opponent"),
        ("combobox", "Result"),
    ] {
        games.has(role, name);
    }
    browser.run("location.hash = '#/bot';");
    let bot = AccessibilityTree::read(&browser, "Account to block");
    for (role, name) in [
        ("button", "Pause"),
        ("button", "Finish and stop"),
        ("textbox", "Account to block"),
        ("heading", "Challenges"),
    ] {
        bot.has(role, name);
    }
    // Legal targets of a piece are labeled.
    new_game(&browser, "white", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
    browser.until("document.title.startsWith('Your move')");
    browser.click(&square("e2"));
    browser.wait_for_piece("e4", "can be moved to");
    browser.wait_for_piece("d4", "");
    browser.assert_clean(&url.with_key());
}

#[test]
fn page_fits_phone_width() {
    let Some((browser, _site, _bot, url)) = open_as_player("") else {
        return;
    };
    browser.emulate_phone();
    let fits = |what: &str| {
        let wide = browser.run("return document.documentElement.scrollWidth;");
        assert!(wide.as_u64().unwrap() <= 360, "{what}: {wide}");
    };
    browser.click("#new");
    for choice in ["time][value=custom", "variant][value=fromPosition"] {
        browser.click(&format!("input[name={choice}]"));
    }
    fits("the form");
    let form = "document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth";
    assert_eq!(browser.run(&format!("return {form};")), true);
    browser.press(&[ESCAPE]);
    new_game(&browser, "white", "7k/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    browser.wait_visible("[data-act=abort]");
    fits("a game that begins");
    click(&browser, "b2", "b7");
    browser.wait_visible("[data-act=resign]");
    fits("a game that is on");
    // Visible without scrolling: the board, then the buttons, then the moves in one line.
    let place = |selector: &str, side: &str| {
        let script =
            format!("return document.querySelector('{selector}').getBoundingClientRect().{side};");
        browser.run(&script).as_f64().unwrap()
    };
    let below = place(".boardrow + .player", "bottom");
    assert!((below..below + 20.0).contains(&place(".buttons", "top")));
    let actions =
        "[...document.querySelectorAll('.buttons button')].filter((one) => one.checkVisibility())";
    browser.until(&format!(
        "{actions}.every((one) => one.getBoundingClientRect().bottom <= 740)"
    ));
    browser.until(&format!(
        "new Set({actions}.map((one) => one.offsetTop)).size === 1"
    ));
    assert!(place(".movesbox", "top") >= place(".buttons", "bottom"));
    assert!(place(".movesbox", "height") < 50.0);
    assert!(place(".top", "height") < 60.0);
    browser.wait_for_piece("g8", "black king");
    click(&browser, "a1", "a8");
    browser.wait_for_text(".panel .result", "Checkmate");
    fits("a game that is over");

    wait("it is in the records", || {
        (url.json("/api/games?result=lost")["total"] == 1).then_some(())
    });
    browser.run("location.hash = '#/games';");
    browser.wait_for_text("[aria-label=Games] tbody", "Anna");
    // Rows fit into the width.
    let whole = |table: &str| {
        browser.until(&format!(
            "document.querySelector('{table} td') && [...document.querySelectorAll('{table} td')].every((cell) => cell.getBoundingClientRect().right <= 360)"
        ));
    };
    whole(".games");
    // The hidden headers cannot have the focus; the games can be sorted without them.
    let focused = browser.run(
        "return [...document.querySelectorAll('.games thead button')].filter((head) => { head.focus(); return document.activeElement === head; }).length;",
    );
    assert_eq!(focused, 0);
    browser.run(
        "const order = document.querySelector('.filters .order select'); order.value = 'opponent true';
         order.dispatchEvent(new Event('input', { bubbles: true }));",
    );
    browser.until("location.hash === '#/games?sort=opponent&ascending=true'");
    browser.wait_visible(".filters .order");
    browser.click("[aria-label=Games] summary");
    browser.wait_for_text(".statistics", "Speed");
    fits("all games");
    browser.run("location.hash = '#/bot';");
    browser.click("[aria-label=Bot] summary");
    browser.wait_for_text("[aria-label=Bot] details", "games.concurrency");
    whole(".decisions");
    fits("the reasons");
    // The state can contain a long URL.
    browser.run("document.querySelector('.state').textContent = `http://${'long'.repeat(99)}`;");
    fits("a long word");
    browser.assert_clean(&url.with_key());
}

#[test]
fn whole_board_fits_small_and_sideways_phones() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST_MOVES) else {
        return;
    };
    play_until_reply(&browser);
    browser.wait_visible("[data-act=resign]");
    browser.run("window.place = (part) => document.querySelector(part).getBoundingClientRect();");
    for (width, height) in [(640, 360), (740, 360), (844, 390), (320, 568)] {
        browser.emulate_phone_of(width, height);
        browser.until(
            "(() => {
                const [header, board] = [place('.top'), place('.game-view .board')];
                const space = Math.min(innerWidth, innerHeight - header.bottom);
                return board.top >= header.bottom && board.bottom <= innerHeight && board.height > 0.8 * space;
            })()",
        );
        let wide = browser
            .run("return Math.max(document.documentElement.scrollWidth, place('#menu').right);");
        assert!(
            wide.as_f64().unwrap() <= f64::from(width),
            "{width}: {wide}"
        );
        if width < height {
            continue;
        }
        // Players, buttons and moves are next to the board.
        browser.until(
            "[...document.querySelectorAll('.player, .buttons, .movesbox')]
                 .every((part) => part.getBoundingClientRect().left > place('.game-view .board').right && part.getBoundingClientRect().bottom <= innerHeight)",
        );
        // A finger scrolls there, to the chat, and the board stays in view.
        browser.swipe_up(".movesbox", 150);
        browser.until("scrollY > 50");
        browser.run("document.querySelector('.chat input').scrollIntoView({ block: 'end' });");
        browser.until(
            "['.chat input', '.game-view .board'].map(place).every(({ top, bottom }) => top >= 0 && bottom <= innerHeight)",
        );
        browser.run("scrollTo(0, 0);");
    }
    browser.assert_clean(&url.with_key());
}
