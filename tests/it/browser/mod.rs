//! Web page in a real browser. Skipped with a message if Chromium is not installed.

mod accessibility;
mod driver;
mod failures;
mod messages;
mod operator;
mod playing;
mod usability;
mod variants;
mod watching;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use knightwatch::sim::NewUser;
use serde_json::{Value, json};
use tempfile::TempDir;

use driver::Browser;

use crate::common::{Daemon, Site};
use crate::page::Url;

/// WebDriver codes of keys.
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const LEFT: &str = "\u{E012}";
const UP: &str = "\u{E013}";
const END: &str = "\u{E010}";

/// `knightwatch demo` and the address of its page; killed when dropped.
struct Demo {
    child: Child,
    url: String,
    /// Directory of its temporary files.
    home: TempDir,
}

impl Demo {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        // The demo searches with all cores all the time; the browser must not wait for it.
        let mut child = Command::new("nice")
            .args([
                env!("CARGO_BIN_EXE_knightwatch"),
                "demo",
                "--web",
                "127.0.0.1:0",
            ])
            .env("TMPDIR", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                Some(line[line.find("http://").filter(|_| line.contains("/#key="))?..].to_owned())
            })
            .expect("the demo prints the address of its page");
        // Drains the output, so that the demo never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, home }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a daemon on whose page Anna can play.
fn start_with_player(site: &Site, config: &str) -> (Daemon, Url) {
    let arguments = ["--set", "web.play_as=Anna", "--set", "book.enabled=false"];
    let bot = Daemon::start_with(site, config, &arguments);
    let url = Url::of(&bot, 1);
    (bot, url)
}

/// Browser, site, daemon, and URL of the open page.
type Opened = (Browser, Site, Daemon, Url);

/// Opens the page with its key, for Anna to play there; `None` without a browser.
fn open_as_player(config: &str) -> Option<Opened> {
    let browser = Browser::open(1400, 900)?;
    let site = Site::new([NewUser::in_browser("Anna")]);
    let (bot, url) = start_with_player(&site, config);
    browser.go(&url.with_key());
    Some((browser, site, bot, url))
}

/// Opens the page without its key, while Anna plays through the API; `None` without a browser.
fn open_as_spectator(config: &str) -> Option<Opened> {
    let browser = Browser::open(1400, 900)?;
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::human("Anna")
    }]);
    let bot = Daemon::start(&site, config);
    let url = Url::of(&bot, 1);
    browser.go(&url.without_key());
    Some((browser, site, bot, url))
}

/// The selector of a square of the main board.
fn square(name: &str) -> String {
    format!(".game-view [data-square={name}]")
}

impl Browser {
    /// Waits until this piece is on a square of the main board; an empty text stands for no piece.
    fn wait_for_piece(&self, name: &str, piece: &str) {
        let label = match piece {
            "" => name.to_owned(),
            piece => format!("{name}, {piece}"),
        };
        self.until(&format!(
            "document.querySelector({}).getAttribute('aria-label') === {}",
            json!(square(name)),
            json!(label)
        ));
    }

    /// Waits until an element exists and its text contains this one.
    fn wait_for_text(&self, selector: &str, text: &str) {
        self.until(&format!(
            "document.querySelector({})?.textContent.includes({})",
            json!(selector),
            json!(text)
        ));
    }

    /// Hides or shows the page, as if another tab were or had been in front. The timers that it sets at once are 1,000 times as
    /// fast.
    fn set_hidden(&self, hidden: bool) {
        self.run(&format!(
            "Object.defineProperty(document, 'hidden', {{ configurable: true, value: {hidden} }});
             const later = window.setTimeout;
             window.setTimeout = (run, ms) => later(run, ms / 1000);
             document.dispatchEvent(new Event('visibilitychange'));
             window.setTimeout = later;"
        ));
    }

    /// Clicks on a button that needs a confirmation, and confirms once that is possible: not with a double click.
    fn click_and_confirm(&self, selector: &str) {
        self.click(selector);
        self.confirm(selector);
    }

    /// Confirms with a second click.
    fn confirm(&self, selector: &str) {
        let asked = self.run("return performance.now();");
        self.until(&format!("performance.now() > {asked} + 500"));
        self.click(selector);
    }

    /// Waits until an element is visible.
    fn wait_visible(&self, selector: &str) {
        self.until(&format!(
            "document.querySelector({})?.checkVisibility()",
            json!(selector)
        ));
    }

    /// Asserts that the console has no errors and that all requests went to the server of the page.
    fn assert_clean(&self, url: &str) {
        let errors: Vec<Value> = self
            .log("browser")
            .into_iter()
            .filter(|line| {
                line["level"] == "SEVERE" || line.to_string().contains("Content Security")
            })
            .collect();
        assert_eq!(errors, [] as [Value; 0]);
        let origin = &url[..url.find("/#").unwrap_or(url.len())];
        let foreign: Vec<String> = self
            .log("performance")
            .iter()
            .filter_map(|line| {
                let event: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
                let event = &event["message"];
                (event["method"] == "Network.requestWillBeSent").then_some(())?;
                Some(event["params"]["request"]["url"].as_str()?.to_owned())
            })
            // Start pages of the browser.
            .filter(|requested| {
                ![origin, "data:", "chrome:", "chrome-untrusted:"]
                    .iter()
                    .any(|start| requested.starts_with(start))
            })
            .collect();
        assert_eq!(foreign, [] as [String; 0]);
    }
}
