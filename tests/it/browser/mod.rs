//! The page in a real browser: what people see and do there. Skipped, aloud, where there is no Chromium.

mod comfort;
mod driver;
mod operating;
mod playing;
mod senses;
mod sides;
mod trouble;
mod watching;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use knightwatch::sim::NewUser;
use serde_json::{Value, json};
use tempfile::TempDir;

use driver::Browser;

use crate::common::{Daemon, Site};
use crate::page::Url;

/// Keys as WebDriver names them.
const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const LEFT: &str = "\u{E012}";
const UP: &str = "\u{E013}";
const END: &str = "\u{E010}";

/// `knightwatch demo`, with the address of its page; ended when this is dropped.
struct Demo {
    child: Child,
    url: String,
    /// Where it has its temporary files.
    home: TempDir,
}

impl Demo {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .args(["demo", "--web", "127.0.0.1:0"])
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
            .expect("the demo tells the address of its page");
        // It goes on telling, and does not wait for us.
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

/// A daemon beside a simulator, on the page of which Anna plays.
fn guest(site: &Site, config: &str) -> (Daemon, Url) {
    let arguments = ["--set", "web.play_as=Anna", "--set", "book.enabled=false"];
    let bot = Daemon::start_with(site, config, &arguments);
    let url = Url::of(&bot, 1);
    (bot, url)
}

/// What a test of the page has: a browser, the site, a daemon, and where the page is that the browser has open.
type Opened = (Browser, Site, Daemon, Url);

/// Anna is at the page with its key, and plays there. `None` where there is no browser.
fn seated(config: &str) -> Option<Opened> {
    let browser = Browser::open(1400, 900)?;
    let site = Site::new([NewUser::in_browser("Anna")]);
    let (bot, url) = guest(&site, config);
    browser.go(&url.whole());
    Some((browser, site, bot, url))
}

/// Anna plays elsewhere, and the page is open without its key. `None` where there is no browser.
fn watched(config: &str) -> Option<Opened> {
    let browser = Browser::open(1400, 900)?;
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::human("Anna")
    }]);
    let bot = Daemon::start(&site, config);
    let url = Url::of(&bot, 1);
    browser.go(&url.open());
    Some((browser, site, bot, url))
}

/// The element of a square of the big board.
fn square(name: &str) -> String {
    format!(".game-view [data-square={name}]")
}

impl Browser {
    /// Waits until this stands on a square of the big board; empty for nothing.
    fn stands(&self, name: &str, piece: &str) {
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

    /// Waits until an element is there and shows this.
    fn shows(&self, selector: &str, text: &str) {
        self.until(&format!(
            "document.querySelector({})?.textContent.includes({})",
            json!(selector),
            json!(text)
        ));
    }

    /// Waits until an element can be seen.
    fn sees(&self, selector: &str) {
        self.until(&format!(
            "document.querySelector({})?.checkVisibility()",
            json!(selector)
        ));
    }

    /// Nothing on the console is an error, and nothing was asked of anybody but this page's own server.
    fn was_clean(&self, url: &str) {
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
            // The page that a browser begins with is its own.
            .filter(|asked| {
                ![origin, "data:", "chrome:", "chrome-untrusted:"]
                    .iter()
                    .any(|start| asked.starts_with(start))
            })
            .collect();
        assert_eq!(foreign, [] as [String; 0]);
    }
}
