//! Headless browser, driven through chromedriver by WebDriver, which is JSON over HTTP.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::{save_failure, skip, wait};

/// The key of element references in WebDriver responses.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Time limit of a WebDriver request; the first start of a browser on a busy machine is slow.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// The step in which a pointer is pressed.
fn press() -> Value {
    json!({ "type": "pointerDown", "button": 0 })
}

/// Steps of the mouse as the body of a request.
fn mouse(steps: &[Value]) -> Value {
    json!({ "actions": [{ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": steps }] })
}

/// The step in which a pointer is released.
fn lift() -> Value {
    json!({ "type": "pointerUp", "button": 0 })
}

/// Starts chromedriver with a directory for the profile of its browser. When the standard input ends, so also when the tests
/// end in any way, both are killed and the directory is removed. The shell has a process group of its own, so signals to
/// the tests do not reach it.
const CHROMEDRIVER: &str = "setsid chromedriver --port=0 & exec > /dev/null; read -r _; \
    kill -KILL -$! || kill -KILL $!; wait; for _ in $(seq 100); do rm -rf \"$1\" && break; sleep 0.1; done";

/// Browsers that tests have finished with, for the next tests: starting one takes seconds of processor time.
static IDLE: Mutex<Vec<Session>> = Mutex::new(Vec::new());

/// A browser of one test; when this is dropped, the next test may use the browser again.
pub(super) struct Browser {
    /// Taken when this is dropped.
    session: Option<Session>,
    /// It has settings that a new browser does not have.
    is_altered: AtomicBool,
}

/// A running browser; killed when this is dropped.
struct Session {
    /// The shell that runs [`CHROMEDRIVER`].
    driver: Child,
    /// URL of the session: `http://127.0.0.1:1234/session/ID`.
    url: String,
    http: reqwest::Client,
    runtime: Runtime,
}

impl Session {
    /// `None`, with a message, if no browser is installed.
    fn start(width: u32, height: u32) -> Option<Self> {
        let version = Command::new("chromedriver").arg("--version").output();
        if version.is_err() {
            skip("browser", "there is no chromedriver (chromium-driver) here");
            return None;
        }
        // The port that it has found free may be taken when it opens it; then it ends. Chromium may take too long to start.
        let started = (0..3).find_map(|_| Self::start_browser(width, height));
        Some(started.expect("chromedriver tells its port, and Chromium starts"))
    }

    fn start_browser(width: u32, height: u32) -> Option<Self> {
        let (driver, port, profile) = Self::start_driver()?;
        let mut session = Self {
            driver,
            url: format!("http://127.0.0.1:{port}"),
            http: crate::common::http_client(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        };
        let directory = profile.display();
        let options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
            "--disable-software-rasterizer", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync",
            format!("--user-data-dir={directory}"), format!("--window-size={width},{height}"),
        ]});
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        }}});
        let made = session
            .attempt(Method::POST, "/session", &wanted)
            .inspect_err(|error| eprintln!("Chromium has not started: {error}"))
            .ok()?;
        let id = made["sessionId"].as_str().expect("a session").to_owned();
        session.url = format!("{}/session/{id}", session.url);
        Some(session)
    }

    /// Returns the process, its port, and the directory for the profile.
    fn start_driver() -> Option<(Child, u16, PathBuf)> {
        let profile = tempfile::tempdir().unwrap().keep();
        let mut driver = Command::new("sh")
            .args(["-c", CHROMEDRIVER, "sh"])
            .arg(&profile)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port = BufReader::new(driver.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("successfully on port ")?;
                rest.trim_end_matches('.').parse::<u16>().ok()
            });
        if port.is_none() {
            stop_driver(&mut driver);
        }
        Some((driver, port?, profile))
    }

    fn attempt(&self, method: Method, path: &str, body: &Value) -> Result<Value, Value> {
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.url))
            .timeout(REQUEST_TIMEOUT);
        if method == Method::POST {
            let text = body.to_string();
            request = request
                .header("content-type", "application/json")
                .body(text);
        }
        let answer = self.runtime.block_on(async {
            let answer = request.send().await?;
            let is_success = answer.status().is_success();
            Ok((is_success, answer.json::<Value>().await?))
        });
        match answer.map_err(|error: reqwest::Error| json!(error.to_string()))? {
            (true, value) => Ok(value["value"].clone()),
            (false, value) => Err(value["value"].clone()),
        }
    }

    fn run(&self, script: &str) -> Result<Value, Value> {
        let body = json!({ "script": script, "args": [] });
        self.attempt(Method::POST, "/execute/sync", &body)
    }

    /// Closes the page and clears what the next test would notice: its storage, the mouse and the logs.
    fn reset(&self) -> Result<(), Value> {
        let post = |path: &str, body: &Value| self.attempt(Method::POST, path, body);
        self.run("localStorage.clear(); sessionStorage.clear();")?;
        post("/url", &json!({ "url": "about:blank" }))?;
        let corner = json!({ "type": "pointerMove", "duration": 0, "x": 0, "y": 0 });
        post("/actions", &mouse(&[corner]))?;
        self.attempt(Method::DELETE, "/actions", &Value::Null)?;
        for kind in ["browser", "performance"] {
            post("/se/log", &json!({ "type": kind }))?;
        }
        let windows = self.attempt(Method::GET, "/window/handles", &Value::Null)?;
        let is_alone = windows.as_array().is_some_and(|all| all.len() == 1);
        is_alone.then_some(()).ok_or(windows)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        stop_driver(&mut self.driver);
    }
}

/// Ends [`CHROMEDRIVER`] and all that it has started.
fn stop_driver(driver: &mut Child) {
    drop(driver.stdin.take());
    let _ = driver.wait();
}

impl Browser {
    /// Opens a browser of this size; `None`, with a message, if none is installed.
    pub(super) fn open(width: u32, height: u32) -> Option<Self> {
        let idle = IDLE.lock().unwrap().pop();
        let size = json!({ "width": width, "height": height });
        // One that has crashed since is not used.
        let usable = idle.filter(|session| {
            let resized = session.attempt(Method::POST, "/window/rect", &size);
            resized.is_ok()
        });
        let session = match usable {
            Some(session) => session,
            None => Session::start(width, height)?,
        };
        Some(Self {
            session: Some(session),
            is_altered: AtomicBool::new(false),
        })
    }

    fn session(&self) -> &Session {
        self.session.as_ref().expect("the browser is open")
    }

    fn attempt(&self, method: Method, path: &str, body: &Value) -> Result<Value, Value> {
        self.session().attempt(method, path, body)
    }

    /// Sends a request that must succeed.
    fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        self.attempt(method, path, body)
            .unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    /// Opens an address.
    pub(super) fn go(&self, url: &str) {
        self.call(Method::POST, "/url", &json!({ "url": url }));
    }

    /// Runs a script in the page and returns its result; the text is the body of a function.
    pub(super) fn run(&self, script: &str) -> Value {
        self.session()
            .run(script)
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until an expression in the page is truthy, and returns its value. An exception, such as of an element that is
    /// not there yet, counts as false.
    pub(super) fn until(&self, expression: &str) -> Value {
        wait(&format!("in the page: {expression}"), || {
            let value = match self.session().run(&format!("return {expression};")) {
                Ok(value) => value,
                Err(error) if error["error"] == "javascript error" => return None,
                Err(error) => panic!("{expression}: {error}"),
            };
            let nothing = [json!(null), json!(false), json!(0), json!("")].contains(&value);
            (!nothing).then_some(value)
        })
    }

    /// The text of the first element that a selector finds; empty without one.
    pub(super) fn text(&self, selector: &str) -> String {
        let value = self.run(&format!(
            "return document.querySelector({})?.textContent ?? '';",
            json!(selector)
        ));
        value.as_str().unwrap().to_owned()
    }

    /// The element that a selector finds, once it is there.
    fn element(&self, selector: &str) -> String {
        let body = json!({ "using": "css selector", "value": selector });
        wait(&format!("there is {selector}"), || {
            let found = self.attempt(Method::POST, "/element", &body).ok()?;
            Some(found[ELEMENT].as_str()?.to_owned())
        })
    }

    /// Clicks on the center of an element, once it is clickable.
    pub(super) fn click(&self, selector: &str) {
        wait(&format!("{selector} can be clicked"), || {
            let id = self.element(selector);
            let path = format!("/element/{id}/click");
            self.attempt(Method::POST, &path, &json!({})).ok()
        });
    }

    /// Types into a field; `\u{E007}` is Enter.
    pub(super) fn fill(&self, selector: &str, text: &str) {
        let id = self.element(selector);
        let path = format!("/element/{id}/value");
        self.call(Method::POST, &path, &json!({ "text": text }));
    }

    /// Presses keys one after another, wherever the focus is.
    pub(super) fn press(&self, keys: &[&str]) {
        let strokes: Vec<Value> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] });
        self.call(Method::POST, "/actions", &actions);
    }

    /// Drags with the mouse from the center of one element to that of another.
    pub(super) fn drag(&self, from: &str, to: &str) {
        self.hold(from, to);
        self.release();
    }

    /// Drags like [`drag`](Self::drag) without releasing the button.
    pub(super) fn hold(&self, from: &str, to: &str) {
        self.point(&[self.move_to(from), press(), self.move_to(to)]);
    }

    /// Releases the mouse button.
    pub(super) fn release(&self) {
        self.point(&[lift()]);
    }

    /// Taps with a finger on the center of an element.
    pub(super) fn tap(&self, selector: &str) {
        self.touch(&[&[self.move_to(selector), press(), lift()]]);
    }

    /// Swipes up with a finger by this many pixels, from the center of an element.
    pub(super) fn swipe_up(&self, selector: &str, pixels: i32) {
        let up = json!({ "type": "pointerMove", "duration": 100, "x": 0, "y": -pixels, "origin": "pointer" });
        self.touch(&[&[self.move_to(selector), press(), up, lift()]]);
    }

    /// Drags a piece with a finger onto another square; meanwhile another finger taps on `other`.
    pub(super) fn drag_with_second_finger(&self, from: &str, to: &str, other: &str) {
        let pause = json!({ "type": "pause", "duration": 50 });
        let [from, to, other] = [from, to, other].map(|selector| self.move_to(selector));
        let wait = || pause.clone();
        self.touch(&[
            &[from, press(), to, wait(), wait(), wait(), lift()],
            &[wait(), wait(), wait(), other, press(), lift(), wait()],
        ]);
    }

    /// The step of a pointer to the center of an element.
    fn move_to(&self, selector: &str) -> Value {
        let origin = json!({ ELEMENT: self.element(selector) });
        json!({ "type": "pointerMove", "duration": 50, "x": 0, "y": 0, "origin": origin })
    }

    /// Performs the steps of several fingers at the same time.
    fn touch(&self, fingers: &[&[Value]]) {
        let sources: Vec<Value> = fingers
            .iter()
            .enumerate()
            .map(|(i, steps)| json!({ "type": "pointer", "id": format!("finger{i}"), "parameters": { "pointerType": "touch" }, "actions": steps }))
            .collect();
        self.call(Method::POST, "/actions", &json!({ "actions": sources }));
    }

    fn point(&self, steps: &[Value]) {
        self.call(Method::POST, "/actions", &mouse(steps));
    }

    /// Scrolls over the center of an element by this many pixels.
    pub(super) fn scroll(&self, selector: &str, pixels: i32) {
        let origin = json!({ ELEMENT: self.element(selector) });
        let step = json!({ "type": "scroll", "x": 0, "y": 0, "deltaX": 0, "deltaY": pixels, "duration": 0, "origin": origin });
        let actions = json!({ "actions": [{ "type": "wheel", "id": "wheel", "actions": [step] }] });
        self.call(Method::POST, "/actions", &actions);
    }

    /// Sends a Chrome DevTools command.
    pub(super) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.is_altered.store(true, Ordering::Relaxed);
        let body = json!({ "cmd": command, "params": parameters });
        self.call(Method::POST, "/goog/cdp/execute", &body)
    }

    /// Grants a permission to the page.
    pub(super) fn grant(&self, what: &str) {
        self.is_altered.store(true, Ordering::Relaxed);
        let body = json!({ "descriptor": { "name": what }, "state": "granted" });
        self.call(Method::POST, "/permissions", &body);
    }

    /// Grants access to the clipboard, and makes the page behave as if its window had the focus, without which it has none.
    /// A download can take the focus from the window.
    pub(super) fn allow_clipboard(&self) {
        self.grant("clipboard-write");
        self.grant("clipboard-read");
        let on = json!({ "enabled": true });
        self.devtools("Emulation.setFocusEmulationEnabled", &on);
    }

    /// Emulates a phone.
    pub(super) fn emulate_phone(&self) {
        self.emulate_phone_of(360, 740);
    }

    /// Emulates a phone with a screen of this size.
    pub(super) fn emulate_phone_of(&self, width: u32, height: u32) {
        let phone =
            json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true });
        self.devtools("Emulation.setDeviceMetricsOverride", &phone);
        self.devtools(
            "Emulation.setTouchEmulationEnabled",
            &json!({ "enabled": true }),
        );
        self.until(&format!(
            "innerWidth === {width} && innerHeight === {height}"
        ));
    }

    /// Runs a script in the pages that are opened from now on, before their own.
    pub(super) fn on_new_document(&self, source: &str) {
        let script = json!({ "source": source });
        self.devtools("Page.addScriptToEvaluateOnNewDocument", &script);
    }

    /// Lets [`Browser::disconnect`] find the streams of the pages that are opened from now on.
    pub(super) fn track_streams(&self) {
        self.on_new_document(
            "window.streams = [];
            const open = window.fetch;
            window.fetch = (url, options = {}) => {
                if (!url.endsWith('/events')) return open(url, options);
                const cut = new AbortController();
                streams.push(cut);
                return open(url, { ...options, signal: AbortSignal.any([options.signal, cut.signal]) });
            };",
        );
    }

    /// Disconnects the network.
    pub(super) fn disconnect(&self) {
        self.set_online(false);
        // Open connections would stay open.
        self.run("for (const stream of streams) stream.abort();");
    }

    /// Enables or disables the network for new requests.
    pub(super) fn set_online(&self, on: bool) {
        let conditions = json!({ "offline": !on, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.devtools("Network.emulateNetworkConditions", &conditions);
    }

    /// Log entries since the last call: `browser` for the console, `performance` for network traffic.
    pub(super) fn log(&self, kind: &str) -> Vec<Value> {
        let lines = self.call(Method::POST, "/se/log", &json!({ "type": kind }));
        lines.as_array().unwrap().clone()
    }
}

impl Browser {
    /// Saves what the page shows, its document and the log of its console. By the order of destructors the bot may have
    /// ended before.
    fn save_failure(&self) {
        let get = |path: &str| self.attempt(Method::GET, path, &Value::Null).ok();
        if let Some(Value::String(picture)) = get("/screenshot")
            && let Ok(picture) = BASE64_STANDARD.decode(picture)
        {
            save_failure("page.png", &picture);
        }
        if let Some(Value::String(document)) = get("/source") {
            save_failure("page.html", document.as_bytes());
        }
        let console = json!({ "type": "browser" });
        if let Ok(Value::Array(lines)) = self.attempt(Method::POST, "/se/log", &console) {
            let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
            save_failure("console.jsonl", lines.as_bytes());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.save_failure();
            return;
        }
        if let Some(session) = self.session.take()
            && !self.is_altered.load(Ordering::Relaxed)
            && session.reset().is_ok()
        {
            IDLE.lock().unwrap().push(session);
        }
    }
}
