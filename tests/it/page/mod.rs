//! HTTP interface of the page: events, authorization, play, game records, pictures.

mod activity;
mod outside;

pub(crate) use outside::{OPERATE, Public, WATCH};

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use knightwatch::sim::NewUser;
use serde_json::Value;

use crate::common::{BOT, Daemon, FAST_MOVES, Killed, Site, signal, wait};

/// Address and key of a page.
#[derive(Clone, Debug)]
pub(crate) struct Url {
    address: String,
    pub key: String,
}

impl Url {
    /// The last page URL in a text.
    pub(crate) fn find(text: &str) -> Option<Self> {
        let (head, rest) = text.rsplit_once("/#key=")?;
        let key = rest.split_whitespace().next()?.to_owned();
        let (_, address) = head.rsplit_once("http://")?;
        let address = address.to_owned();
        (key.len() == 32 && rest.contains('\n')).then_some(Self { address, key })
    }

    /// The URL that `knightwatch page` prints for a daemon that was started this many times. The log never contains the key.
    pub(crate) fn of(bot: &Daemon, starts: usize) -> Self {
        wait("the page's address is logged", || {
            let known = bot.log().matches("the page: http://").count() == starts;
            known.then_some(())
        });
        let url = wait("the page's address is printed", || {
            let printed = bot.command("page").output().unwrap();
            Self::find(&String::from_utf8(printed.stdout).unwrap())
        });
        assert!(!bot.log().contains(&url.key), "the key is in the log");
        url
    }

    /// The URL as it is printed. Without the key, the page is read-only.
    pub(crate) fn with_key(&self) -> String {
        format!("{}#key={}", self.without_key(), self.key)
    }

    /// The header line with the key.
    pub(crate) fn key_header(&self) -> String {
        format!("X-Knightwatch-Key: {}\r\n", self.key)
    }

    /// The URL without the key.
    pub(crate) fn without_key(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Sends a request with additional header lines: status and body.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = match headers.contains("Host: ") {
            true => String::new(),
            false => format!("Host: {}\r\n", self.address),
        };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request("GET", path, "", "")
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Sends a request to the site as the player of the page.
    pub(crate) fn play(&self, path: &str, form: &str) -> (u16, String) {
        let headers = format!(
            "{}Content-Type: application/x-www-form-urlencoded\r\n",
            self.key_header()
        );
        self.request("POST", &format!("/play{path}"), &headers, form)
    }

    /// Opens the event stream.
    pub(crate) fn events(&self) -> Events {
        self.events_with("")
    }

    /// Opens the event stream with additional header lines.
    fn events_with(&self, headers: &str) -> Events {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        write!(
            stream,
            "GET /events HTTP/1.1\r\nHost: {}\r\n{headers}\r\n",
            self.address
        )
        .unwrap();
        Events(BufReader::new(stream))
    }
}

/// Event stream of a page.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event, or `None` at the end of the stream. Lines with chunk lengths are skipped.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(0) => return None,
                // That is how a crash of the daemon may end it.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                read => read.unwrap(),
            };
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// Reads up to the next event with this name that fulfills the condition.
    pub(crate) fn find(&mut self, name: &str, condition: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (event, data) = self.next().unwrap_or_else(|| panic!("no {name} came"));
            if event == name && condition(&data) {
                return data;
            }
        }
    }

    /// Returns whether the request for the stream was accepted.
    fn is_open(&mut self) -> bool {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.starts_with("HTTP/1.1 200")
    }

    pub(crate) fn snapshot(&mut self) -> Value {
        let (name, data) = self.next().unwrap();
        assert_eq!(name, "snapshot");
        data
    }

    /// Reads to the end of the stream.
    fn read_to_end(mut self) {
        while self.next().is_some() {}
    }
}

pub(crate) fn is_game(game: &str) -> impl Fn(&Value) -> bool {
    let game = game.to_owned();
    move |data| data["id"] == game.as_str() || data["game"] == game.as_str()
}

const CASUAL: [(&str, &str); 3] = [
    ("clock.limit", "180"),
    ("clock.increment", "2"),
    ("color", "white"),
];

#[test]
fn page_receives_snapshot_and_changes_across_restarts() {
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::human("Anna")
    }]);
    let mut bot = Daemon::start(&site, FAST_MOVES);
    let url = Url::of(&bot, 1);
    let all = wait("the page shows the bot online", || {
        let all = url.events().snapshot();
        (all["online"] == true).then_some(all)
    });
    assert_eq!(all["server"], site.url);
    assert_eq!(all["account"]["name"], BOT);
    assert_eq!(
        (&all["play"], &all["records"]),
        (&Value::Null, &true.into())
    );
    let mut page = url.events();
    page.snapshot();
    let anna = site.player("Anna");
    let id = anna.start(&CASUAL);
    let decided = page.find("challenge", is_game(&id));
    assert_eq!(decided["decision"], "accepted");
    let game = page.find("game", is_game(&id));
    assert_eq!(
        (&game["ours"], &game["time_control"]),
        (&"black".into(), &"3+2".into())
    );
    assert_eq!(game["legal"].as_array().unwrap().len(), 20);
    let play = |uci: &str| {
        let (status, answer) = anna.post(&format!("/api/board/game/{id}/move/{uci}"), &[]);
        assert_eq!(status, 200, "{uci}: {answer}");
    };
    play("e2e4");
    let first = page.find("moved", is_game(&id));
    assert_eq!(
        (&first["move"]["san"], &first["move"]["by"]),
        (&"e4".into(), &"white".into())
    );
    let reply = page.find("moved", is_game(&id));
    assert_eq!(
        (&reply["move"]["ply"], &reply["move"]["ours"]),
        (&2.into(), &true.into())
    );
    assert!(reply["move"]["thought"]["source"].is_string(), "{reply}");
    assert_eq!(reply["clocks"]["running"], "white");

    // A second page, opened during the game.
    let mut second = url.events();
    let shown = second.snapshot()["games"][0].clone();
    assert_eq!(
        (&shown["id"], &shown["fen"]),
        (&id.as_str().into(), &reply["fen"])
    );
    assert_eq!(shown["moves"].as_array().unwrap().len(), 2);
    play(reply["legal"][0].as_str().unwrap());
    for page in [&mut page, &mut second] {
        let last = page.find("moved", |data| data["move"]["ply"] == 4);
        assert_eq!(last["game"], id.as_str());
    }

    // A crash closes the streams, and the next process shows the current state of the game.
    bot.crash_and_restart();
    page.read_to_end();
    let url = Url::of(&bot, 2);
    let mut page = url.events();
    let mut game = page.snapshot()["games"][0].clone();
    if game["moves"].as_array().is_none_or(|moves| moves.len() < 4) {
        // The game is being resumed.
        page.find("moved", |data| data["move"]["ply"] == 4);
        game = url.json(&format!("/api/game/{id}"));
    }
    let board = site.game(&id).unwrap();
    assert_eq!(
        (board.plies, game["moves"].as_array().unwrap().len()),
        (4, 4)
    );
    assert_eq!(game["clocks"]["running"], "white");
    assert!(game["clocks"]["white_ms"].as_u64().unwrap() <= 186_000);
    let (status, _) = anna.post(&format!("/api/board/game/{id}/resign"), &[]);
    assert_eq!(status, 200);
    let over = page.find("game", |data| data["result"].is_object());
    assert_eq!(
        (&over["result"]["outcome"], &over["result"]["text"]),
        (&"won".into(), &"resignation".into())
    );
    assert_eq!(over["legal"], Value::Array(Vec::new()));

    // The records contain the game, with the searches before the restart.
    let listed = wait("the game is in the records", || {
        let list = url.json("/api/games?opponent=anna&result=won&color=black");
        (list["total"] == 1).then_some(list)
    });
    assert_eq!(listed["games"][0]["id"], id.as_str());
    assert_eq!(listed["games"][0]["end"], "resignation");
    let opening = listed["games"][0]["opening"].as_str().unwrap();
    assert!(opening.starts_with("1. "), "{opening}");
    let (status, pgn) = url.get("/api/games.pgn?opponent=anna");
    assert_eq!(status, 200);
    assert!(
        pgn.contains("[White \"Anna\"]") && pgn.contains("\n1. "),
        "{pgn}"
    );
    assert_eq!(url.get("/api/games.pgn?result=great").0, 400);
    assert!(!url.get("/api/games.pgn?text=nobody").1.contains("[Event"));
    let (status, why) = url.get("/api/games?sort=luck");
    assert_eq!(status, 400);
    assert!(
        why.contains("sort=luck: expected one of started, "),
        "{why}"
    );
    assert_eq!(url.json("/api/games?text=nobody")["total"], 0);
    assert_eq!(url.json("/api/stats")["by_opponent"][0]["won"], 1);
    let timing = &url.json("/api/stats")["timing"][0];
    assert_eq!(
        (&timing["speed"], &timing["games"], &timing["flagged"]),
        (&"blitz".into(), &1.into(), &0.into())
    );
    assert!(
        timing["left_ms"].is_u64() && timing["round_trip_ms"].is_u64(),
        "{timing}"
    );
    let (status, why) = url.get("/api/games?result=great");
    assert_eq!(status, 400);
    assert!(why.contains("result=great: expected won"), "{why}");
    for wrong in ["speed=foo", "variant=foo"] {
        let (status, why) = url.get(&format!("/api/stats?{wrong}"));
        assert_eq!(status, 400);
        let expected = format!("{wrong}: expected one of");
        assert!(why.contains(&expected), "{why}");
    }
    for (path, sign) in [
        (format!("/game/{id}.svg?ply=1"), "White: Ke1"),
        (format!("/game/{id}/graph.svg"), "chance of winning"),
        (format!("/game/{id}/animated.svg"), "<animate "),
    ] {
        let (status, svg) = url.get(&path);
        assert_eq!(status, 200, "{path}");
        assert!(
            svg.starts_with("<svg ") && svg.contains(sign),
            "{path}: {svg}"
        );
    }
    assert_eq!(url.get(&format!("/game/{id}.svg?ply=99")).0, 400);
    assert_eq!(url.get("/game/nothing1.svg").0, 404);

    // A third process has the game from the records only.
    bot.crash_and_restart();
    let url = Url::of(&bot, 3);
    let game = url.json(&format!("/api/game/{id}"));
    assert_eq!(game["moves"].as_array().unwrap().len(), 4);
    assert_eq!(game["result"]["outcome"], "won");
    assert!(game["moves"][1]["thought"]["source"].is_string(), "{game}");
    let page = url.events();
    assert!(bot.stop().success());
    page.read_to_end();
}

#[test]
fn requests_with_foreign_host_or_origin_are_rejected() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    let (status, html) = url.get("/");
    assert_eq!(status, 200);
    assert!(html.contains("Knightwatch"));
    assert_eq!(url.get("/assets/pieces.svg").0, 200);
    assert_eq!(url.get("/assets/../Cargo.toml").0, 404);
    assert_eq!(
        url.get("/play/api/account").0,
        404,
        "there is nothing to play on"
    );
    for path in ["/", "/events", "/api/games", "/metrics"] {
        for foreign in [
            "Host: evil.example\r\n",
            "Origin: http://evil.example\r\n",
            "Origin: null\r\n",
        ] {
            let (status, _) = url.request("GET", path, foreign, "");
            assert_eq!(status, 403, "{path} with {foreign}");
        }
    }
}

#[test]
fn streams_beyond_limit_are_refused_until_one_closes() {
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    let mut pages: Vec<Events> = (0..64).map(|_| url.events()).collect();
    for page in &mut pages {
        page.snapshot();
    }
    let (status, why) = url.get("/events");
    assert_eq!((status, why.contains("close some")), (503, true), "{why}");
    // Pages without the key cannot lock out the operator.
    url.events_with(&url.key_header()).snapshot();
    // Other requests are not limited.
    assert_eq!(url.get("/").0, 200);
    assert_eq!(url.json("/api/games")["total"], 0);
    pages.pop();
    let mut page = wait("a stream is accepted again", || {
        let mut page = url.events();
        page.is_open().then_some(page)
    });
    page.snapshot();
}

#[test]
fn idle_connections_are_closed() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    // More connections than are accepted at once, each with an incomplete request, closed after 10 seconds.
    let half = |_| {
        let mut stream = TcpStream::connect(&url.address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHo").unwrap();
        stream
    };
    let halves: Vec<TcpStream> = (0..400).map(half).collect();
    assert!(bot.descriptors() < 300, "{}", bot.descriptors());
    assert_eq!(url.get("/metrics").0, 200);
    for mut stream in halves {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut answer = String::new();
        // Closed with a response or a reset.
        let read = stream.read_to_string(&mut answer);
        let waits = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(!read.as_ref().is_err_and(waits), "{read:?}");
        assert!(!answer.contains(" 200 "), "{answer}");
    }
}

#[test]
fn operator_actions_require_key() {
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(&site, "");
    let url = Url::of(&bot, 1);
    let mut page = url.events();
    let controls = page.snapshot()["control"].clone();
    assert!(
        controls.as_array().unwrap().contains(&"pause".into()),
        "{controls}"
    );
    let act = |action: &str, key: &str| {
        let key = format!("X-Knightwatch-Key: {key}\r\n");
        url.request("POST", &format!("/control/{action}"), &key, "")
    };
    let (status, why) = act("pause", "");
    assert_eq!(status, 403);
    assert!(why.contains("`/#key=KEY`"), "{why}");
    assert!(matches!(
        url.request("GET", "/control/pause", "", "").0,
        403 | 405
    ));
    assert_eq!(act("pause", &url.key).0, 200);
    page.find("status", |data| data["paused"] == true);
    let anna = site.player("Anna");
    assert_eq!(anna.answer(&anna.challenge(&CASUAL)), "later");
    assert_eq!(act("resume", &url.key).0, 200);
    page.find("status", |data| data["paused"] == false);
    assert_eq!(act("block?user=Anna", &url.key).0, 200);
    assert_eq!(anna.answer(&anna.challenge(&CASUAL)), "generic");
    let (status, why) = act("move-now?game=nothing1", &url.key);
    assert_eq!(status, 400);
    assert!(why.starts_with("{\"error\":\""), "{why}");
    assert_eq!(act("dance", &url.key).0, 404);
}

/// The demo; killed when dropped.
struct Demo {
    child: Killed,
    url: Url,
}

impl Demo {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .args(["demo", "--web", "127.0.0.1:0"])
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        let url = loop {
            assert!(out.read_line(&mut text).unwrap() > 0, "no address: {text}");
            if let Some(url) = Url::find(&text) {
                break url;
            }
        };
        // Drains the rest of the output.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let child = Killed(child);
        Self { child, url }
    }
}

#[test]
fn demo_page_plays_a_game() {
    let mut demo = Demo::start();
    let url = demo.url.clone();
    let mut page = url.events();
    let all = page.snapshot();
    assert_eq!(all["play"]["user"], "Guest");

    // Requests without the key, or with it from a foreign origin, are rejected.
    let path = format!("/play/api/challenge/{BOT}");
    assert_eq!(url.request("POST", &path, "", "").0, 403);
    assert_eq!(url.request("GET", "/play/api/account", "", "").0, 403);
    let wrong = format!("X-Knightwatch-Key: {}\r\n", "0".repeat(32));
    assert_eq!(url.request("POST", &path, &wrong, "").0, 403);
    let foreign = format!("{}Origin: http://evil.example\r\n", url.key_header());
    assert_eq!(url.request("POST", &path, &foreign, "").0, 403);

    // A bullet game, while all built-in players play.
    let form = "clock.limit=60&clock.increment=0&color=white&rated=false";
    let (status, answer) = url.play(&format!("/api/challenge/{BOT}"), form);
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let id = answer["id"].as_str().or(answer["challenge"]["id"].as_str());
    let id = id.unwrap_or_else(|| panic!("no id in {answer}")).to_owned();
    let game = page.find("game", is_game(&id));
    assert_eq!(
        (&game["white"]["name"], &game["ours"]),
        (&"Guest".into(), &"black".into())
    );
    assert_eq!(game["speed"], "bullet");
    assert_eq!(all["control"][2], "move-now");
    // The player sets the strength of the bot against them, within limits.
    let set_strength = |value: &str| {
        let path = format!("/control/strength?user=Guest&{value}");
        url.request("POST", &path, &url.key_header(), "").0
    };
    let accepted = ["elo=1300", "move_s=2", ""];
    assert_eq!(accepted.map(set_strength), [200; 3]);
    let rejected = ["elo=300", "move_s=3600"];
    assert_eq!(rejected.map(set_strength), [400; 2]);
    // Other requests of the account are rejected.
    assert_eq!(url.play("/api/bot/account/upgrade", "").0, 403);
    let (status, answer) = url.play(&format!("/api/board/game/{id}/move/e2e4"), "");
    assert_eq!(status, 200, "{answer}");
    let reply = page.find("moved", |data| {
        is_game(&id)(data) && data["move"]["ply"] == 2
    });
    assert_eq!(
        (&reply["move"]["ours"], &reply["clocks"]["running"]),
        (&true.into(), &"white".into())
    );
    // A takeback undoes the move and the reply.
    let (status, answer) = url.play(&format!("/api/board/game/{id}/takeback/yes"), "");
    assert_eq!(status, 200, "{answer}");
    let before = page.find("game", |data| {
        is_game(&id)(data) && data["moves"].as_array().unwrap().is_empty()
    });
    assert_eq!(before["fen"], before["start_fen"]);
    let (status, answer) = url.play(&format!("/api/board/game/{id}/move/d2d4"), "");
    assert_eq!(status, 200, "{answer}");
    page.find("moved", |data| {
        is_game(&id)(data) && data["move"]["ply"] == 2
    });
    let (status, answer) = url.play(&format!("/api/board/game/{id}/resign"), "");
    assert_eq!(status, 200, "{answer}");
    let over = page.find("game", |data| {
        is_game(&id)(data) && data["result"].is_object()
    });
    assert_eq!(over["result"]["outcome"], "won");

    // Ctrl-C also ends the page streams.
    signal(&demo.child.0, "INT");
    page.read_to_end();
    let ended = wait("the demo has ended", || demo.child.0.try_wait().unwrap());
    assert!(ended.success());
}

#[test]
fn render_draws_positions_and_games() {
    let folder = tempfile::tempdir().unwrap();
    let render = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_knightwatch"))
            .arg("render")
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let drawn = render(&["8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "-o", "board.svg"]);
    assert!(
        drawn.status.success() && drawn.stdout.is_empty(),
        "{drawn:?}"
    );
    let svg = std::fs::read_to_string(folder.path().join("board.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("<symbol id=\"bK\""));
    std::fs::write(folder.path().join("game.pgn"), "1. e4 e5 2. Ke2 *\n").unwrap();
    let animation = render(&["game.pgn", "--animated"]);
    assert!(animation.status.success() && animation.stdout.starts_with(b"<svg "));
    for (what, why) in [
        ("8/8/8/4k3/8/8/4P3/4X3 w - - 0 1", "\"X\" is not a piece"),
        ("nothing.pgn", "hint: give a position as FEN or as moves"),
    ] {
        let refused = render(&[what, "-o", "none.svg"]);
        assert_eq!(refused.status.code(), Some(1));
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(why), "{error}");
        assert!(!folder.path().join("none.svg").exists());
    }
}
