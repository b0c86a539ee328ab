//! Alerts to webhooks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule, NewUser, StreamFault};
use serde_json::Value;

use crate::common::{BOT, Daemon, IMPATIENT, SLOW, Site, requests_of, wait};

/// A webhook that answers with these status codes, and 200 from then on.
struct Webhook {
    address: String,
    requests: Receiver<(String, String)>,
}

impl Webhook {
    fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = channel();
        thread::spawn(move || {
            let mut statuses = statuses.iter();
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                let status = statuses.next().unwrap_or(&200);
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                if sender
                    .send((head, String::from_utf8(body).unwrap()))
                    .is_err()
                {
                    return;
                }
            }
        });
        Self { address, requests }
    }

    fn next(&self) -> (String, String) {
        self.requests.recv_timeout(Duration::from_secs(60)).unwrap()
    }
}

/// Revokes the bot's token.
fn revoke_token(site: &Site) {
    let rejected = Fault::json(401, r#"{"error":"No such token"}"#);
    let rule = FaultRule::new(rejected).from_user(BOT);
    site.sim.faults().add(rule.times(usize::MAX));
    site.sim.break_streams(Some(BOT), None, StreamFault::Eof);
}

#[test]
fn rejected_token_is_reported_once_through_failing_webhook() {
    let site = Site::new([NewUser::bot("Anna")]);
    let webhook = Webhook::start(&[500, 429]);
    let config = format!(
        "[[alert]]\nurl = \"http://{}/hook\"\nevents = [\"token_rejected\"]\n",
        webhook.address
    );
    let mut bot = Daemon::start_with(&site, &config, &IMPATIENT);
    revoke_token(&site);
    let attempts: Vec<(String, String)> = (0..3).map(|_| webhook.next()).collect();
    assert!(
        attempts[0].0.starts_with("POST /hook "),
        "{}",
        attempts[0].0
    );
    assert!(attempts.iter().all(|attempt| attempt.1 == attempts[0].1));
    let body: Value = serde_json::from_str(&attempts[0].1).unwrap();
    assert_eq!(body["event"], "token_rejected");
    assert_eq!(body["state"], "firing");
    wait("the bot has ended", || (!bot.is_running()).then_some(()));
    let log = bot.log();
    assert_eq!(log.matches("alert sent to 127.0.0.1").count(), 1, "{log}");
    assert!(webhook.requests.try_recv().is_err());
}

#[test]
fn game_lost_on_time_is_reported() {
    let site = Site::new([NewUser::bot("Anna")]);
    let webhook = Webhook::start(&[]);
    let config = format!(
        "[[alert]]\nurl = \"http://{}/hook\"\nevents = [\"lost_on_time\"]\n",
        webhook.address
    );
    let _bot = Daemon::start(&site, &config);
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "30"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    anna.play(&id, "h2h3");
    site.plies(&id, 2);
    let moves = requests_of(&site, BOT, Endpoint::Move).len();
    let refused = FaultRule::on(Endpoint::Move, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(refused.times(usize::MAX));
    anna.play(&id, "g2g3");
    wait("the move is refused", || {
        (requests_of(&site, BOT, Endpoint::Move).len() > moves).then_some(())
    });
    site.sim.advance(Duration::from_secs(31));
    assert_eq!(site.finished(&id).status, "outoftime");
    let body: Value = serde_json::from_str(&webhook.next().1).unwrap();
    assert_eq!(body["event"], "lost_on_time", "{body}");
    assert_eq!(body["game"], id, "{body}");
    assert_eq!(body["account"], BOT, "{body}");
}

#[test]
fn another_instance_is_reported() {
    let site = Site::new([NewUser::bot("Anna")]);
    let webhook = Webhook::start(&[]);
    let config = format!(
        "[[alert]]\nurl = \"http://{}/hook\"\nevents = [\"stopped\"]\n",
        webhook.address
    );
    let mut bot = Daemon::start(&site, &config);
    // Each stream begins with this game. Lichess closes one when another instance opens the next.
    site.player("Anna").start(&SLOW);
    for opened in 1..=3 {
        wait("the stream is open again", || {
            (bot.log().matches("online as").count() == opened).then_some(())
        });
        site.sim.break_streams(Some(BOT), None, StreamFault::Eof);
    }
    assert_eq!(bot.ended().code(), Some(69), "{}", bot.log());
    let body: Value = serde_json::from_str(&webhook.next().1).unwrap();
    assert_eq!(body["event"], "stopped", "{body}");
}

#[test]
fn webhook_that_refuses_is_not_asked_again() {
    let site = Site::new([NewUser::bot("Anna")]);
    let webhook = Webhook::start(&[404]);
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("url");
    std::fs::write(&secret, format!("http://{}/secret-path\n", webhook.address)).unwrap();
    let config = format!(
        "[[alert]]\nurl_file = \"{}\"\nformat = \"discord\"\n",
        secret.display()
    );
    let mut bot = Daemon::start_with(&site, &config, &IMPATIENT);
    revoke_token(&site);
    let body: Value = serde_json::from_str(&webhook.next().1).unwrap();
    let text = body["content"].as_str().unwrap();
    assert!(text.contains("token rejected"), "{text}");
    wait("the bot has ended", || (!bot.is_running()).then_some(()));
    let log = bot.log();
    assert!(
        log.contains("alert not sent") && log.contains("404"),
        "{log}"
    );
    assert!(!log.contains("secret-path"), "{log}");
}

#[test]
fn alert_waits_for_the_file_with_its_address() {
    let site = Site::new([NewUser::bot("Anna")]);
    let webhook = Webhook::start(&[]);
    let home = tempfile::tempdir().unwrap();
    let secret = home.path().join("url");
    let config = format!("[[alert]]\nurl_file = \"{}\"\n", secret.display());
    let mut bot = Daemon::start_with(&site, &config, &IMPATIENT);
    assert!(
        bot.log()
            .contains("[[alert]] 1 is not sent until this is corrected: cannot read")
    );
    revoke_token(&site);
    wait("an attempt has failed", || {
        bot.log()
            .contains("alert not sent: cannot read")
            .then_some(())
    });
    std::fs::write(&secret, format!("http://{}/hook\n", webhook.address)).unwrap();
    let body: Value = serde_json::from_str(&webhook.next().1).unwrap();
    assert_eq!(body["event"], "token_rejected", "{body}");
    wait("the bot has ended", || (!bot.is_running()).then_some(()));
}

#[test]
fn failed_start_is_reported() {
    let site = Site::new([]);
    let webhook = Webhook::start(&[]);
    let config = format!(
        "book.files = [\"missing.bin\"]\n[[alert]]\nurl = \"http://{}/hook\"\n",
        webhook.address
    );
    let home = tempfile::tempdir().unwrap();
    let mut bot = Daemon::launch_in(&site, &config, Vec::new(), home);
    let body: Value = serde_json::from_str(&webhook.next().1).unwrap();
    assert_eq!(body["event"], "stopped", "{body}");
    let text = body["text"].as_str().unwrap();
    assert!(
        text.starts_with("the bot could not start: cannot read the book ")
            && text.contains("missing.bin"),
        "{text}"
    );
    assert_eq!(bot.ended().code(), Some(78), "{}", bot.log());
}
