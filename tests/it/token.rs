//! A token that is changed while the program runs.

use std::path::PathBuf;

use knightwatch::sim::{Endpoint, NewUser};

use crate::common::{BOT, Daemon, Site, requests_of, wait};
use crate::operator::{run_command, run_failing_command};

const NEW_TOKEN: &str = "lip_another";

const SCOPES: [&str; 3] = ["bot:play", "challenge:read", "challenge:write"];

const BLITZ: [(&str, &str); 3] = [
    ("clock.limit", "180"),
    ("clock.increment", "2"),
    ("color", "white"),
];

fn site() -> Site {
    let site = Site::new([NewUser::bot("Anna"), NewUser::bot("Bert")]);
    site.sim.add_token(NEW_TOKEN, BOT, &SCOPES);
    site
}

fn write_token(bot: &Daemon, token: &str) {
    let file: PathBuf = bot.state().with_file_name("token");
    std::fs::write(file, token).unwrap();
}

/// Revokes the token with which the bot has started.
fn revoke_old(site: &Site) {
    let (status, answer) = site.player(BOT).delete("/api/token");
    assert_eq!(status, 204, "{answer}");
}

#[test]
fn token_changed_is_used_after_reload() {
    let site = site();
    let bot = Daemon::start(&site, "");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let game = anna.start(&BLITZ);
    // One of somebody else, and one that nobody has.
    for (token, why) in [
        (site.sim.token_of("Bert"), "it belongs to Bert"),
        ("lip_nobody".to_owned(), "Lichess rejects it"),
        ("two words".to_owned(), "more than one word"),
    ] {
        write_token(&bot, &token);
        let reply = run_failing_command(&bot, &["reload"]);
        assert!(
            reply.contains("the old one stays") && reply.contains(why),
            "{reply}"
        );
    }
    anna.play(&game, "e2e4");
    site.plies(&game, 2);
    write_token(&bot, NEW_TOKEN);
    let reply = run_command(&bot, &["reload"]);
    assert!(reply.contains("the new one is used from now on"), "{reply}");
    assert!(!bot.log().contains(NEW_TOKEN));
    revoke_old(&site);
    anna.play(&game, "d2d4");
    site.plies(&game, 4);
    let second = bert.start(&BLITZ);
    bert.play(&second, "e2e4");
    site.plies(&second, 2);
    // The event stream has stayed open.
    assert_eq!(requests_of(&site, BOT, Endpoint::EventStream).len(), 1);
}

#[test]
fn token_rejected_is_read_again() {
    let site = site();
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let game = anna.start(&BLITZ);
    write_token(&bot, NEW_TOKEN);
    revoke_old(&site);
    anna.play(&game, "e2e4");
    site.plies(&game, 2);
    wait("the log says it", || {
        bot.log()
            .contains("the token has changed, and the new one is used from now on")
            .then_some(())
    });
    assert!(bot.is_running());
}
