//! Test support: a simulated Lichess, the real program, and users who play against it.
//!
//! Tests wait for conditions with a deadline, never for time to pass.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use knightwatch::sim::{Endpoint, GameSummary, NewUser, RequestRecord, Sim, SimOptions};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// A client of HTTP without TLS for the tests. Reading the root certificates takes long in an unoptimized build.
pub(crate) fn http_client() -> reqwest::Client {
    knightwatch::lichess::install_tls_provider();
    let builder = reqwest::Client::builder().tls_certs_only([]);
    builder.build().unwrap()
}

/// User name of the bot in every test.
pub(crate) const BOT: &str = "Knightwatch";

/// Configuration of a bot that moves at once, for tests that wait for its moves only. Follows the other configuration.
pub(crate) const FAST_MOVES: &str = "\n[[rule]]\nplay = { max_nodes = 2000 }\n";

/// Time limit of every wait, also on a slow machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// First pause between two checks of a condition; each is longer than the one before.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// Upper limit of the pause: a check can cost several milliseconds of processor time, which other tests need.
const LONGEST_PAUSE: Duration = Duration::from_millis(60);

/// Number of lines of a bot's log that a failed test prints. A report of many tests is cut, and must still show the failed
/// assertion.
const FAILURE_LOG_LINES: usize = 15;

/// The time scale of a bot that must see consistent dates across restarts.
pub(crate) fn time_scale_from_now(speed: f64) -> String {
    let since = UNIX_EPOCH.elapsed().unwrap();
    format!("{speed}@{}", since.as_millis())
}

/// Waits until `condition` returns a value.
pub(crate) fn wait<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "timed out: {what}");
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
}

/// Arguments with which the bot waits ten times less, such as 3 s until it gives up a rejected token.
pub(crate) const IMPATIENT: [&str; 2] = ["--time-scale", "10"];

/// Sends a signal, such as `TERM`.
pub(crate) fn signal(to: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), to.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Sends a signal twice at once, as `timeout` does.
pub(crate) fn signal_twice(pid: u32, name: &str) {
    let kill = format!("kill -{name} {pid}");
    let status = Command::new("sh")
        .args(["-c", &format!("{kill}; {kill}")])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Reports that a test is skipped because something is missing on this machine. If `KNIGHTWATCH_SKIPS` is set, the test fails
/// unless it lists `what`.
pub(crate) fn skip(what: &str, why: &str) {
    let allowed = std::env::var("KNIGHTWATCH_SKIPS").ok();
    let is_allowed = |words: &String| words.split_whitespace().any(|word| word == what);
    assert!(allowed.as_ref().is_none_or(is_allowed), "{what}: {why}");
    eprintln!("skipped: {why}");
}

/// A Python that can import this module: the one named by the environment, or the one in the path. Without one the test
/// is skipped, unless the environment names a Python.
pub(crate) fn python_with(module: &str) -> Option<String> {
    let named = std::env::var("KNIGHTWATCH_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", &format!("import {module}")]);
    let found = command.output().is_ok_and(|output| output.status.success());
    assert!(found || named.is_none(), "{python} cannot import {module}");
    if !found {
        let package = module.split('.').next().unwrap_or(module);
        skip(
            package,
            &format!("no Python with {package} here (pip install {package})"),
        );
    }
    found.then_some(python)
}

/// A simulated Lichess, served until dropped.
pub(crate) struct Site {
    pub sim: Sim,
    pub url: String,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
}

impl Site {
    /// A site with the account of the bot and these users.
    pub(crate) fn new(users: impl IntoIterator<Item = NewUser>) -> Self {
        let mut all = vec![NewUser::bot(BOT)];
        all.extend(users);
        Self::with(SimOptions {
            users: all,
            ..SimOptions::default()
        })
    }

    /// A site with these options, whose users must include the bot.
    pub(crate) fn with(options: SimOptions) -> Self {
        let sim = Sim::new(options);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = sim.clone();
        runtime.spawn(async move {
            served
                .serve(listener, async {
                    let _ = stopped.await;
                })
                .await
                .unwrap();
        });
        Self {
            sim,
            url,
            runtime,
            stop: Some(stop),
        }
    }

    /// A client for an account of this site.
    pub(crate) fn player(&self, name: &str) -> Player<'_> {
        Player {
            site: self,
            name: name.to_owned(),
            http: http_client(),
        }
    }

    /// Serves the site below this path, with every request authenticated as the bot: its address, and the user agents seen.
    pub(crate) fn serve_under(&self, path: &str) -> (String, Arc<Mutex<BTreeSet<String>>>) {
        let callers = Arc::new(Mutex::new(BTreeSet::new()));
        let noted = Arc::clone(&callers);
        let note = middleware::from_fn(move |request: Request, next: Next| {
            let name = request.headers().get("user-agent");
            let name = name.and_then(|name| name.to_str().ok()).unwrap_or_default();
            noted.lock().unwrap().insert(name.to_owned());
            next.run(request)
        });
        let app = Router::new()
            .nest(path, self.sim.router_as(BOT))
            .layer(note);
        (format!("{}{path}", self.serve(app)), callers)
    }

    /// Serves an HTTP application of the test: its address.
    pub(crate) fn serve(&self, app: Router) -> String {
        let listener = self
            .runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        self.runtime
            .spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }

    /// The current state of a game.
    pub(crate) fn game(&self, id: &str) -> Option<GameSummary> {
        self.sim.games().into_iter().find(|game| game.id == id)
    }

    /// Waits for the end of the game.
    pub(crate) fn finished(&self, id: &str) -> GameSummary {
        wait(&format!("game {id} is over"), || {
            self.game(id)
                .filter(|game| game.status != "created" && game.status != "started")
        })
    }

    /// Waits until the game has this many plies.
    pub(crate) fn plies(&self, id: &str, plies: usize) -> GameSummary {
        wait(&format!("game {id} has {plies} plies"), || {
            self.game(id).filter(|game| game.plies >= plies)
        })
    }

    /// Waits until the game has this many plies or is over.
    pub(crate) fn plies_or_end(&self, id: &str, plies: usize) -> GameSummary {
        wait(&format!("game {id} has {plies} plies or ends"), || {
            self.game(id)
                .filter(|game| game.plies >= plies || game.status != "started")
        })
    }

    /// Waits until this many games have started, and returns all of them.
    pub(crate) fn started(&self, count: usize) -> Vec<GameSummary> {
        wait(&format!("{count} games have started"), || {
            Some(self.sim.games()).filter(|games| games.len() >= count)
        })
    }

    /// Advances the site's time, a second at a time, until `condition` returns a value.
    pub(crate) fn advance_until<T>(
        &self,
        what: &str,
        mut condition: impl FnMut() -> Option<T>,
    ) -> T {
        wait(what, || {
            let found = condition();
            if found.is_none() {
                self.sim.advance(Duration::from_secs(1));
            }
            found
        })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

/// Parameters of a challenge with ample time; the bot plays Black.
pub(crate) const SLOW: [(&str, &str); 3] = [
    ("clock.limit", "10800"),
    ("clock.increment", "0"),
    ("color", "white"),
];

/// The requests of this account to an endpoint.
pub(crate) fn requests_of(site: &Site, name: &str, endpoint: Endpoint) -> Vec<RequestRecord> {
    let mut requests = site.sim.faults().requests(endpoint);
    requests.retain(|request| request.user.as_deref() == Some(&name.to_lowercase()));
    requests
}

/// An account played by the test over plain HTTP.
pub(crate) struct Player<'a> {
    site: &'a Site,
    name: String,
    http: reqwest::Client,
}

impl Player<'_> {
    /// Sends a POST request with form fields: status and response.
    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let request = self
            .http
            .post(format!("{}{path}", self.site.url))
            .form(form);
        self.send(request)
    }

    /// Sends a GET request: status and response.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.send(self.http.get(format!("{}{path}", self.site.url)))
    }

    /// Sends a DELETE request: status and response.
    pub(crate) fn delete(&self, path: &str) -> (u16, Value) {
        self.send(self.http.delete(format!("{}{path}", self.site.url)))
    }

    fn send(&self, request: reqwest::RequestBuilder) -> (u16, Value) {
        let request = request
            .bearer_auth(self.site.sim.token_of(&self.name))
            .header("User-Agent", "a person at the board")
            .timeout(Duration::from_secs(10));
        self.site.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap();
            (
                status,
                serde_json::from_str(&text).unwrap_or(Value::String(text)),
            )
        })
    }

    /// Challenges the bot; returns the id of the challenge, which becomes that of the game.
    pub(crate) fn challenge(&self, form: &[(&str, &str)]) -> String {
        let (status, answer) = self.post(&format!("/api/challenge/{BOT}"), form);
        assert_eq!(status, 200, "{form:?}: {answer}");
        let id = answer["id"].as_str().or(answer["challenge"]["id"].as_str());
        id.unwrap_or_else(|| panic!("no id in {answer}")).to_owned()
    }

    /// Challenges the bot and waits until it has accepted.
    pub(crate) fn start(&self, form: &[(&str, &str)]) -> String {
        let id = self.challenge(form);
        wait("the challenge is accepted", || self.site.game(&id));
        id
    }

    /// Waits for the answer to a challenge: `accepted`, or the key of the decline reason.
    pub(crate) fn answer(&self, id: &str) -> String {
        wait("the challenge is answered", || {
            let (_, answer) = self.get(&format!("/api/challenge/{id}/show"));
            let challenge = answer.get("challenge").unwrap_or(&answer);
            match challenge["status"].as_str()? {
                "accepted" => Some("accepted".to_owned()),
                "declined" => challenge["declineReasonKey"].as_str().map(str::to_owned),
                _ => None,
            }
        })
    }

    /// Plays a move.
    pub(crate) fn play(&self, id: &str, uci: &str) {
        let (status, answer) = self.post(&format!("/api/bot/game/{id}/move/{uci}"), &[]);
        assert_eq!(status, 200, "{uci}: {answer}");
    }
}

/// The real program, running against a site; killed when this is dropped.
pub(crate) struct Daemon {
    child: Child,
    /// The command that starts the program, if not the program itself.
    launcher: Vec<String>,
    arguments: Vec<String>,
    log: PathBuf,
    /// The directory of the files of the program.
    home: TempDir,
    url: String,
}

impl Daemon {
    /// Starts the program with these configuration lines in addition to the common ones, and waits until its event stream is open.
    pub(crate) fn start(site: &Site, config: &str) -> Self {
        let bot = Self::launch(site, config);
        bot.ready();
        bot
    }

    /// The same, with further arguments on the command line, at every start.
    pub(crate) fn start_with(site: &Site, config: &str, arguments: &[&str]) -> Self {
        Self::start_as(site, BOT, config, arguments)
    }

    /// The same, without waiting.
    fn launch(site: &Site, config: &str) -> Self {
        Self::launch_as(site, &site.sim.token_of(BOT), config)
    }

    /// The same with this token.
    pub(crate) fn launch_as(site: &Site, token: &str, config: &str) -> Self {
        Self::launch_with(site, token, config, Vec::new())
    }

    /// The same for another account of this site.
    pub(crate) fn start_as(site: &Site, name: &str, config: &str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        let bot = Self::launch_with(site, &site.sim.token_of(name), config, arguments);
        bot.ready();
        bot
    }

    /// The same with this token and these arguments, without waiting.
    pub(crate) fn launch_with(
        site: &Site,
        token: &str,
        config: &str,
        arguments: Vec<String>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("log");
        Self::launch_at(site, token, config, arguments, home, log)
    }

    /// The same for the bot, through another command.
    pub(crate) fn launch_in(
        site: &Site,
        config: &str,
        launcher: Vec<String>,
        home: TempDir,
    ) -> Self {
        let log = home.path().join("log");
        let token = site.sim.token_of(BOT);
        Self::launch_through(launcher, site, &token, config, Vec::new(), home, log)
    }

    /// Starts the program in this directory, with its log in this file, without waiting.
    pub(crate) fn launch_at(
        site: &Site,
        token: &str,
        config: &str,
        arguments: Vec<String>,
        home: TempDir,
        log: PathBuf,
    ) -> Self {
        Self::launch_through(Vec::new(), site, token, config, arguments, home, log)
    }

    fn launch_through(
        launcher: Vec<String>,
        site: &Site,
        token: &str,
        config: &str,
        arguments: Vec<String>,
        home: TempDir,
        log: PathBuf,
    ) -> Self {
        // An existing file keeps its permissions.
        let mut file = File::options();
        file.write(true).create(true).truncate(true).mode(0o600);
        let mut file = file.open(home.path().join("token")).unwrap();
        file.write_all(token.as_bytes()).unwrap();
        let mut text = String::new();
        if !config.contains("lichess = {") {
            writeln!(
                text,
                "lichess = {{ url = \"{}\", token_file = \"token\" }}",
                site.url
            )
            .unwrap();
        }
        // Sections configured by the test are left to it.
        if !config.contains("[engine]") {
            writeln!(
                text,
                "engine = {{ hash_mib = 16, threads = 1, ponder = false }}"
            )
            .unwrap();
        }
        if !config.contains("daemon = {") {
            // Separate from the other daemons of the tests.
            let socket = home.path().join("control.sock");
            let socket = socket.display();
            writeln!(
                text,
                "web.listen = \"127.0.0.1:0\"\ndaemon = {{ socket = \"{socket}\" }}"
            )
            .unwrap();
        }
        let config = text + config;
        std::fs::write(home.path().join("config.toml"), &config).unwrap();
        let child = spawn(&launcher, &home, &arguments, &log);
        Self {
            child,
            launcher,
            arguments,
            log,
            home,
            url: site.url.clone(),
        }
    }

    /// The log of the program so far.
    pub(crate) fn log(&self) -> String {
        if !self.log.is_file() {
            return String::new();
        }
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Changes the configuration file, without a reload.
    pub(crate) fn configure(&self, change: impl FnOnce(String) -> String) {
        let file = self.home.path().join("config.toml");
        let text = change(std::fs::read_to_string(&file).unwrap());
        std::fs::write(file, text).unwrap();
    }

    /// The process id of the program.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The control socket of the program.
    pub(crate) fn socket(&self) -> PathBuf {
        self.home.path().join("control.sock")
    }

    /// The state directory of the program.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// The state file with this file name ending.
    pub(crate) fn state_file(&self, ending: &str) -> Option<PathBuf> {
        let files = std::fs::read_dir(self.state()).ok()?.flatten();
        let mut paths = files.map(|file| file.path());
        paths.find(|path| path.to_string_lossy().ends_with(ending))
    }

    /// A command of the program for this bot, which it finds by the configuration.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        let config = self.home.path().join("config.toml");
        command.arg(name).arg("--config").arg(config);
        command.env_remove("LICHESS_TOKEN");
        command
    }

    /// Waits until the event stream is open.
    pub(crate) fn ready(&self) {
        wait("the bot is online", || {
            self.log().contains("online").then_some(())
        });
    }

    /// Kills the program, as a crash of the machine would, and restarts it.
    pub(crate) fn crash_and_restart(&mut self) {
        self.crash();
        self.restart();
    }

    /// Kills the process.
    pub(crate) fn crash(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the process again.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.launcher, &self.home, &self.arguments, &self.log);
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the program to end by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait("the bot has ended", || child.try_wait().unwrap())
    }

    /// Stops the program without finishing games, and waits for its exit: the first signal starts a drain, the second exits.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        wait("the bot has stopped", || {
            self.signal("TERM");
            std::thread::sleep(Duration::from_millis(100));
            self.child.try_wait().unwrap()
        })
    }

    /// Resident memory of the program, in MiB.
    pub(crate) fn memory_mib(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Peak resident memory of the program, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> u64 {
        self.kib(name) / 1_024
    }

    fn kib(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0)
    }

    /// Number of open file descriptors of the program.
    pub(crate) fn descriptors(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.map_or(0, Iterator::count)
    }

    /// Limits the address space of the program to its current size plus this many bytes.
    pub(crate) fn limit_memory(&self, more: u64) {
        let max_bytes = self.kib("VmSize:") * 1_024 + more;
        let pid = self.child.id().to_string();
        let mut limit = Command::new("prlimit");
        limit.args(["--pid", &pid, &format!("--as={max_bytes}")]);
        assert!(limit.status().unwrap().success());
    }

    /// Returns whether the program is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// A process that is killed when dropped.
pub(crate) struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(launcher: &[String], home: &TempDir, arguments: &[String], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let program = env!("CARGO_BIN_EXE_knightwatch").to_owned();
    let config = home.path().join("config.toml");
    let mut words = launcher.iter().chain([&program]);
    Command::new(words.next().unwrap())
        .args(words)
        .arg("run")
        .arg("--config")
        .arg(config)
        .args(arguments)
        .current_dir(home.path())
        .env_remove("LICHESS_TOKEN")
        .env("STATE_DIRECTORY", home.path().join("state"))
        .env("RUST_LOG", "knightwatch=debug")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The directory of files about a failure of this test: `target/tmp/failed/NAME_OF_TEST`.
pub(crate) fn failure_directory() -> PathBuf {
    let test = std::thread::current();
    let test = test.name().unwrap_or("test").replace("::", ".");
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed");
    all.join(test)
}

/// Saves a file about the failure of this test and prints its path.
pub(crate) fn save_failure(file: &str, content: &[u8]) {
    let directory = failure_directory();
    let path = directory.join(file);
    let saved = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, content));
    match saved {
        Ok(()) => eprintln!("saved {}", path.display()),
        Err(error) => eprintln!("cannot save {}: {error}", path.display()),
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            save_failure(&format!("bot-{}.log", self.pid()), log.as_bytes());
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(FAILURE_LOG_LINES)..];
            eprintln!(
                "--- the last lines in the log of the bot at {} ---\n{}",
                self.url,
                last.join("\n")
            );
        }
    }
}
