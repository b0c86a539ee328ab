//! Access to the page from other machines: keys, hosts, proxies, probes.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use knightwatch::sim::NewUser;

use crate::common::{BOT, Daemon, Site, wait};

pub(crate) const OPERATE: &str = "operating-key-0123456789";
pub(crate) const WATCH: &str = "watching-key-0123456789";
const METRICS: &str = "metrics-key-01234567890";

/// A daemon that answers to other machines. All clients of these tests are on this machine, so requests count as from
/// outside by their `Host`.
pub(crate) struct Public {
    bot: Daemon,
    address: String,
}

impl Public {
    pub(crate) fn start(site: &Site, web: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, key) in [("operate", OPERATE), ("watch", WATCH), ("metrics", METRICS)] {
            fs::write(home.path().join(name), format!("{key}\n")).unwrap();
        }
        let socket = home.path().join("control.sock");
        let config = format!(
            "daemon = {{ socket = \"{}\" }}\n[web]\nlisten = \"0.0.0.0:0\"\nkey_file = \"operate\"\nwatch_key_file = \"watch\"\n\
             metrics_key_file = \"metrics\"\nhosts = [\"bot.example.org\"]\n{web}\n",
            socket.display()
        );
        let log = home.path().join("log");
        let token = site.sim.token_of(BOT);
        let bot = Daemon::launch_at(site, &token, &config, Vec::new(), home, log);
        bot.ready();
        let address = wait("the page's address is logged", || {
            let log = bot.log();
            let (_, rest) = log.split_once("the page: http://")?;
            Some(rest.split_once('/')?.0.to_owned())
        });
        Self { bot, address }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// Sends the bytes and reads until the server closes the connection.
    fn send(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Status and body of the response to a request with these header lines.
    fn request(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let answer = self.send(&format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
        ));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_owned(),
        )
    }
}

const HOST: &str = "Host: bot.example.org\r\n";

fn with_key(key: &str) -> String {
    format!("{HOST}Authorization: Bearer {key}\r\n")
}

#[test]
fn outsiders_see_nothing_without_the_right_key() {
    let site = Site::new([NewUser::bot("Anna")]);
    let public = Public::start(&site, "");
    // The tests write the keys with the usual permissions.
    let log = public.bot.log();
    assert!(log.contains("others can read the key in"), "{log}");
    for path in [
        "/",
        "/events",
        "/metrics",
        "/healthz",
        "/api/games",
        "/assets/app.js",
        "/nothing",
        &format!("/?key={OPERATE}"),
    ] {
        for headers in [HOST.to_owned(), with_key("guess-guess-guess")] {
            let answer = public.request("GET", path, &headers);
            assert_eq!(answer, (401, String::new()), "{path} {headers}");
        }
        let foreign = format!("Host: evil.example\r\nAuthorization: Bearer {OPERATE}\r\n");
        assert_eq!(public.request("GET", path, &foreign), (403, String::new()));
    }
    for probe in ["/livez", "/readyz"] {
        let kubelet = "Host: 10.1.2.3:9664\r\n";
        assert_eq!(public.request("GET", probe, kubelet), (200, String::new()));
        let answer = public.request("GET", probe, &with_key(WATCH));
        assert_eq!(answer, (200, "ok\n".to_owned()));
    }
    // A client on this machine watches as before.
    let local = format!("Host: {}\r\n", public.address);
    assert!(public.request("GET", "/", &local).1.contains("<html"));
}

#[test]
fn keys_permit_what_they_are_for() {
    let site = Site::new([NewUser::bot("Anna")]);
    let public = Public::start(&site, "");
    let status = |method, path, headers: &str| public.request(method, path, headers).0;
    assert_eq!(status("GET", "/", &with_key(WATCH)), 200);
    assert_eq!(status("GET", "/metrics", &with_key(WATCH)), 200);
    assert_eq!(status("GET", "/metrics", &with_key(METRICS)), 200);
    assert_eq!(status("GET", "/", &with_key(METRICS)), 401);
    assert_eq!(status("POST", "/control/pause", &with_key(WATCH)), 403);
    // A browser sends the password to every page that asks for it, and the origin.
    let password = "Authorization: Basic bWU6b3BlcmF0aW5nLWtleS0wMTIzNDU2Nzg5\r\n";
    let page = format!("{HOST}{password}Origin: http://bot.example.org\r\n");
    let foreign = format!("{HOST}{password}Origin: http://evil.example\r\n");
    assert_eq!(status("POST", "/control/pause", &foreign), 403);
    assert!(!public.bot.log().contains("paused"));
    let (_, valid) = public.request("GET", "/api/key", &page);
    assert_eq!(valid, r#"{"valid":true}"#);
    assert_eq!(status("POST", "/control/pause", &page), 200);
    wait("the bot is paused", || {
        public.bot.log().contains("paused").then_some(())
    });
}

#[test]
fn page_is_operated_behind_a_trusted_proxy_only() {
    let site = Site::new([NewUser::bot("Anna")]);
    let tls = format!(
        "Host: 127.0.0.1\r\nX-Forwarded-Host: bot.example.org\r\nX-Forwarded-Proto: https\r\n\
         Origin: https://bot.example.org\r\nX-Knightwatch-Key: {OPERATE}\r\n"
    );
    let trusting = Public::start(&site, "trusted_proxies = [\"127.0.0.0/8\"]");
    assert_eq!(trusting.request("POST", "/control/pause", &tls).0, 200);
    // Without the proxy's headers nobody on this machine is local any more.
    let plain = format!("Host: {}\r\n", trusting.address);
    assert_eq!(trusting.request("GET", "/", &plain), (401, String::new()));
    drop(trusting);
    let site = Site::new([NewUser::bot("Anna")]);
    let distrusting = Public::start(&site, "");
    assert_eq!(distrusting.request("POST", "/control/pause", &tls).0, 403);
}

#[test]
fn ten_thousand_guesses_are_refused_and_leave_one_line() {
    let site = Site::new([NewUser::bot("Anna")]);
    let public = Public::start(&site, "trusted_proxies = [\"127.0.0.0/8\"]");
    let mut refused = 0;
    for batch in 0..100 {
        let guesses: Vec<String> = (0..100)
            .map(|n| {
                let end = if n == 99 { "Connection: close\r\n" } else { "" };
                format!(
                    "GET / HTTP/1.1\r\n{HOST}X-Forwarded-For: 192.0.2.{}\r\nAuthorization: Bearer guess-{batch}-{n}-xxxxxxxx\r\n{end}\r\n",
                    batch % 2
                )
            })
            .collect();
        let answer = public.send(&guesses.concat());
        assert!(!answer.contains(" 200 "), "{answer}");
        refused += answer.matches("HTTP/1.1 4").count();
    }
    assert_eq!(refused, 10_000);
    let from = |address: &str| {
        let headers = format!("{}X-Forwarded-For: {address}\r\n", with_key(OPERATE));
        public.request("GET", "/", &headers).0
    };
    assert_eq!((from("192.0.2.1"), from("192.0.2.77")), (429, 200));
    let log = public.bot.log();
    let lines = log.matches("wrong key").count();
    assert!((1..=2).contains(&lines), "{log}");
    for secret in [OPERATE, WATCH, METRICS, "guess-0"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn right_key_does_not_hide_guesses_of_another() {
    let site = Site::new([NewUser::bot("Anna")]);
    let public = Public::start(&site, "");
    let guess = |n: u32| {
        let headers = format!(
            "{}X-Knightwatch-Key: guess-{n}-xxxxxxxxxxxx\r\n",
            with_key(WATCH)
        );
        public.request("GET", "/", &headers).0
    };
    // The page may have kept an old key.
    let stale = format!(
        "{}X-Knightwatch-Key: old-key-xxxxxxxxxxxx\r\n",
        with_key(OPERATE)
    );
    assert!((0..30).all(|_| public.request("GET", "/", &stale).0 == 200));
    // The key of the page counts alone.
    let both = format!("{}X-Knightwatch-Key: {WATCH}\r\n", with_key(OPERATE));
    assert_eq!(public.request("GET", "/", &both).0, 200);
    assert_ne!(public.request("POST", "/control/pause", &both).0, 200);
    assert_eq!(guess(0), 200);
    for n in 1..60 {
        guess(n);
    }
    assert_eq!(public.request("GET", "/", &with_key(OPERATE)).0, 429);
}

#[test]
fn smuggled_request_needs_its_own_key() {
    let site = Site::new([NewUser::bot("Anna")]);
    let public = Public::start(&site, "");
    let inner = format!("GET / HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n");
    let allowed = with_key(WATCH);
    for outer in [
        format!(
            "GET /livez HTTP/1.1\r\n{allowed}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!("GET /livez HTTP/1.1\r\n{allowed}Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        format!("GET /livez HTTP/1.1\r\n{allowed}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        format!("GET /livez HTTP/1.1\r\n{allowed}Host: localhost\r\n\r\n"),
    ] {
        let answer = public.send(&format!("{outer}{inner}"));
        assert!(!answer.contains("<html"), "{outer}{answer}");
    }
}

#[test]
fn page_is_not_opened_on_public_address_without_key() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("control.sock");
    let config = format!(
        "daemon = {{ socket = \"{}\" }}\n[web]\nlisten = \"0.0.0.0:0\"\n",
        socket.display()
    );
    let log = home.path().join("log");
    let bot = Daemon::launch_at(
        &site,
        &site.sim.token_of(BOT),
        &config,
        Vec::new(),
        home,
        log,
    );
    bot.ready();
    let log = bot.log();
    let warning = "no page, /metrics and /healthz on 0.0.0.0:0: other machines can reach the address, so it needs a key: \
                   set web.key_file";
    assert!(log.contains(warning), "{log}");
    assert!(!log.contains("the page: http://"), "{log}");
}

#[test]
fn mistakes_about_access_are_configuration_errors() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    let load = |web: &str| {
        fs::write(&config, format!("[web]\n{web}\n")).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        command.arg("config").arg("--config").arg(&config);
        let output = command.output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let proxies = load("trusted_proxies = [\"10.0.0.0/8\", \"example.org\"]");
    assert!(
        proxies.contains("`example.org` is not an address"),
        "{proxies}"
    );
    let hosts = load("hosts = [\"https://bot.example.org\"]");
    assert!(hosts.contains("without scheme"), "{hosts}");
    assert_eq!(load("listen = \"0.0.0.0:9664\"\nkey_file = \"key\""), "");
}
