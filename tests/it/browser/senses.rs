//! For those who hear the page, and those who have it in a pocket.

use serde_json::{Value, json};

use super::driver::Browser;
use super::playing::{click, new_game};
use super::{Demo, ESCAPE, seated, square};
use crate::common::wait;

/// What an element is to those who do not see it: role and name.
fn role_and_name(node: &Value) -> Option<(String, String)> {
    (node["ignored"] != true).then_some(())?;
    let text = |what: &str| node[what]["value"].as_str().map(str::to_owned);
    Some((text("role")?, text("name").unwrap_or_default()))
}

/// All that those have of the page who do not see it, once this is in it.
struct Heard(Vec<(String, String)>);

impl Heard {
    fn of(browser: &Browser, sign: &str) -> Self {
        browser.devtools("Accessibility.enable", &json!({}));
        let tree = wait(&format!("the tree has {sign}"), || {
            let tree = browser.devtools("Accessibility.getFullAXTree", &json!({}));
            tree.to_string().contains(sign).then_some(tree)
        });
        let nodes = tree["nodes"].as_array().unwrap();
        let heard = Self(nodes.iter().filter_map(role_and_name).collect());
        heard.has_no_nameless();
        heard
    }

    fn has_no_nameless(&self) {
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
        let nameless =
            |(role, name): &&(String, String)| needs.contains(&role.as_str()) && name.is_empty();
        let nameless: Vec<_> = self.0.iter().filter(nameless).collect();
        assert!(nameless.is_empty(), "{nameless:?}");
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
fn everything_has_a_role_and_a_name() {
    let Some(browser) = Browser::open(1400, 900) else {
        return;
    };
    let demo = Demo::start();
    browser.go(&demo.url);
    browser.until("document.querySelectorAll('.moves button').length > 4");
    let heard = Heard::of(&browser, "gridcell");
    assert_eq!(
        (
            heard.count("grid"),
            heard.count("gridcell"),
            heard.count("timer")
        ),
        (1, 64, 2)
    );
    heard.has("grid", "Board, after ");
    heard.has("navigation", "Views");
    heard.has("button", "New game");
    heard.has("button", "Turn the board");
    heard.has("list", "Moves");
    let corner = browser.run(&format!(
        "return document.querySelector('{}').getAttribute('aria-label');",
        square("a1")
    ));
    assert!(corner.as_str().unwrap().starts_with("a1"));
    browser.was_clean(&demo.url);
}

#[test]
fn every_view_and_the_form_can_be_heard() {
    let Some((browser, _site, _bot, url)) = seated("") else {
        return;
    };
    browser.click("#new");
    browser.click("input[name=variant][value=fromPosition]");
    let form = Heard::of(&browser, "Your color");
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
    let games = Heard::of(&browser, "Filter games");
    for (role, name) in [
        ("search", "Filter games"),
        ("searchbox", "Opponent"),
        ("combobox", "Result"),
    ] {
        games.has(role, name);
    }
    browser.run("location.hash = '#/bot';");
    let why = Heard::of(&browser, "Account to block");
    for (role, name) in [
        ("button", "Pause"),
        ("button", "Finish and stop"),
        ("textbox", "Account to block"),
        ("heading", "Challenges"),
    ] {
        why.has(role, name);
    }
    // Where a piece can go is said, too.
    new_game(&browser, "white", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
    browser.until("document.title.startsWith('Your move')");
    browser.click(&square("e2"));
    browser.stands("e4", "can be moved to");
    browser.stands("d4", "");
    browser.was_clean(&url.whole());
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let Some((browser, _site, _bot, url)) = seated("") else {
        return;
    };
    browser.become_a_phone();
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
    browser.sees("[data-act=abort]");
    fits("a game that begins");
    click(&browser, "b2", "b7");
    browser.sees("[data-act=resign]");
    fits("a game that is on");
    // What is played with is in sight: the board, then what can be done, then the moves in one line.
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
    browser.stands("g8", "black king");
    click(&browser, "a1", "a8");
    browser.shows(".panel .result", "Checkmate");
    fits("a game that is over");

    wait("it is in the records", || {
        (url.json("/api/games?result=lost")["total"] == 1).then_some(())
    });
    browser.run("location.hash = '#/games';");
    browser.shows("[aria-label=Games] tbody", "Anna");
    // Nothing of a row has to be scrolled to.
    let whole = |table: &str| {
        browser.until(&format!(
            "document.querySelector('{table} td') && [...document.querySelectorAll('{table} td')].every((cell) => cell.getBoundingClientRect().right <= 360)"
        ));
    };
    whole(".games");
    browser.click("[aria-label=Games] summary");
    browser.shows(".statistics", "Speed");
    fits("all games");
    browser.run("location.hash = '#/bot';");
    browser.click("[aria-label=Bot] summary");
    browser.shows("[aria-label=Bot] details", "games.concurrency");
    whole(".decisions");
    fits("the reasons");
    // An address of any length can stand in the state.
    browser.run("document.querySelector('.state').textContent = `http://${'long'.repeat(99)}`;");
    fits("a long word");
    browser.was_clean(&url.whole());
}
