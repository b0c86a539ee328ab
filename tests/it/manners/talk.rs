//! What is said in both rooms, and what is answered.

use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule};
use serde_json::Value;

use super::{CLOCK, act, begun, called, site};
use crate::common::{BOT, Daemon, Player, wait};

/// What the bot has said so far in the players' room, or in that of the spectators.
fn said(player: &Player<'_>, id: &str, room: &str) -> Vec<String> {
    let path = match room {
        "player" => format!("/api/board/game/{id}/chat"),
        _ => format!("/api/game/{id}/chat"),
    };
    let (_, lines) = player.get(&path);
    let lines = lines.as_array().cloned().unwrap_or_default();
    let ours = lines.iter().filter(|line| line["user"] == BOT);
    let text = |line: &Value| line["text"].as_str().map(str::to_owned);
    ours.filter_map(text).collect()
}

/// Waits until the bot says something that begins so.
fn hear(player: &Player<'_>, id: &str, room: &str, beginning: &str) -> String {
    wait(&format!("the bot says {beginning:?}"), || {
        let mut lines = said(player, id, room).into_iter();
        lines.find(|line| line.starts_with(beginning))
    })
}

fn say(player: &Player<'_>, id: &str, text: &str) {
    let path = format!("/api/board/game/{id}/chat");
    let (status, answer) = player.post(&path, &[("room", "player"), ("text", text)]);
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn texts_are_filled_in_for_both_rooms() {
    let site = site(&["Anna"]);
    let config = r#"
        [chat]
        greeting = "Hello {opponent} ({rating}), I am {me} with {color}."
        greeting_spectators = "Welcome to {me} - {opponent}, {time} {speed}."
        farewell = "{result}: I have {outcome} in {moves}."
        farewell_spectators = "Goodbye from {me} {version}."
    "#;
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    hear(
        &anna,
        &id,
        "player",
        "Hello Anna (1500), I am Knightwatch with black.",
    );
    let welcome = "Welcome to Knightwatch - Anna, 180+0 classical.";
    hear(&anna, &id, "spectator", welcome);
    act(&anna, &id, "resign");
    hear(&anna, &id, "player", "0-1: I have won in 1.");
    let goodbye = format!("Goodbye from Knightwatch {}.", env!("CARGO_PKG_VERSION"));
    hear(&anna, &id, "spectator", &goodbye);
}

#[test]
fn commands_are_answered_in_their_room_and_not_too_often() {
    let site = site(&["Anna", "Zoe"]);
    let config =
        "book = { enabled = false }\n[chat]\nper_minute = 3\nmotd = \"Be kind, {opponent}.\"\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    for (text, answer) in [
        ("!name", "I am Knightwatch, and my engine is Knightwatch "),
        ("!eval", "Not during the game"),
        ("!motd", "Be kind, Anna."),
    ] {
        say(&anna, &id, text);
        hear(&anna, &id, "player", answer);
    }
    site.sim.say_as_spectator("Zoe", &id, "!eval");
    let eval = hear(&anna, &id, "spectator", "");
    assert!(
        eval.contains(" for me, ") && eval.ends_with(" plies deep."),
        "{eval}"
    );
    // The players' room had enough for a minute before, and this was no command anyway.
    say(&anna, &id, "!version");
    hear(&anna, &id, "player", "I answer 3 commands a minute here.");
    say(&anna, &id, "!depth");
    say(&anna, &id, "!bogus");
    say(&anna, &id, "What do you think?");
    site.sim.say_as_spectator("Zoe", &id, "!bogus");
    hear(&anna, &id, "spectator", "I do not know !bogus.");
    act(&anna, &id, "resign");
    hear(&anna, &id, "player", "Thank you for the game");
    let lines = [said(&anna, &id, "player"), said(&anna, &id, "spectator")].concat();
    assert_eq!(lines.len(), 8, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| !line.contains("plies deep") || *line == eval)
    );
}

#[test]
fn every_command_is_answered() {
    let site = site(&["Anna"]);
    let config = "book = { enabled = false }\n[chat]\nper_minute = 100\nmotd = \"Be kind.\"\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    hear(&anna, &id, "player", "Good luck");
    let named = "I am Knightwatch, and my engine is Knightwatch ";
    for (text, answer) in [
        (
            "!help",
            "I answer !book !challenge !depth !draw !eval !help",
        ),
        ("!help book", "!book: whether my last move was from a book"),
        ("!book", "I play this game without a book."),
        ("!challenge", "I play standard, "),
        ("!depth", " plies, and "),
        ("!draw", "I accept a draw from move "),
        ("!eval", "Not during the game"),
        ("!motd", "Be kind."),
        ("!name", named),
        ("!nps", " positions a second, "),
        ("!ping", "My moves take "),
        ("!pv", "Not during the game"),
        ("!queue", "1 game running, 0 challenges queued."),
        ("!strength", "I play this game as well as I can."),
        ("!takeback", "I grant 3 more takebacks in this game."),
        ("!time", "My last move took "),
        ("!version", "Knightwatch "),
        ("!wait", "There is nothing to wait for."),
    ] {
        let before = said(&anna, &id, "player").len();
        say(&anna, &id, text);
        let reply = wait(&format!("{text} is answered"), || {
            said(&anna, &id, "player").into_iter().nth(before)
        });
        assert!(reply.contains(answer), "{text}: {reply}");
    }
}

#[test]
fn words_that_are_lost_are_not_said_again() {
    let site = site(&["Anna"]);
    let broken = Fault::json(502, "{}");
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::Chat, broken).from_user(BOT));
    let _bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    wait("the greeting is on its way", || {
        (called(&site, Endpoint::Chat) > 0).then_some(())
    });
    act(&anna, &id, "resign");
    hear(&anna, &id, "player", "Thank you for the game");
    let lines = said(&anna, &id, "player");
    assert!(
        lines.iter().all(|line| !line.starts_with("Good luck")),
        "{lines:?}"
    );
}

#[test]
fn lessons_have_the_score_for_the_opponent_too() {
    let site = site(&["Anna"]);
    let config = "book = { enabled = false }\nchat = { evals = \"everybody\" }\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    say(&anna, &id, "!pv");
    hear(&anna, &id, "player", "I expect ");
}

#[test]
fn a_rule_is_silent() {
    let site = site(&["Anna", "Bert"]);
    let config = "[[rule]]\nmatch = { name = \"anna\" }\nplay = { chat = false }\n";
    let _bot = Daemon::start(&site, config);
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let (silent, other) = (begun(&site, &anna), begun(&site, &bert));
    for (player, id) in [(&anna, &silent), (&bert, &other)] {
        say(player, id, "!help");
        act(player, id, "resign");
    }
    hear(&bert, &other, "player", "Thank you for the game");
    assert_eq!(said(&anna, &silent, "player"), [""; 0]);
}

#[test]
fn a_limit_on_chat_pauses_chat_alone() {
    let site = site(&["Anna"]);
    let limit = Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#);
    site.sim.faults().add(
        FaultRule::on(Endpoint::Chat, limit)
            .from_user(BOT)
            .times(100),
    );
    let bot = Daemon::start(&site, "[[rule]]\nplay = { max_depth = 4 }\n");
    let anna = site.player("Anna");
    let id = begun(&site, &anna);
    wait("the greeting is refused", || {
        bot.log().contains("chat refused").then_some(())
    });
    for (ply, uci) in [(4, "d2d3"), (6, "g1f3"), (8, "b1c3")] {
        say(&anna, &id, "!name");
        act(&anna, &id, &format!("move/{uci}"));
        site.plies(&id, ply);
    }
    wait("the answers are not even sent", || {
        (bot.log().matches("chat refused").count() >= 4).then_some(())
    });
    assert_eq!(called(&site, Endpoint::Chat), 1, "{}", bot.log());
}

#[test]
fn who_asks_to_wait_gets_another_minute() {
    let site = site(&["Anna", "Bert"]);
    let _bot = Daemon::start(&site, "games = { abort_after_s = 5 }\n");
    let white = [CLOCK[0], CLOCK[1], ("color", "white")];
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let (waits, silent) = (anna.start(&white), bert.start(&white));
    // What is said before the bot listens it never hears.
    hear(&anna, &waits, "player", "Good luck");
    say(&anna, &waits, "!wait");
    hear(&anna, &waits, "player", "I will wait one more minute");
    assert_eq!(site.finished(&silent).status, "aborted");
    let then = site.sim.elapsed() + Duration::from_secs(3);
    wait("it would be over by now", || {
        (site.sim.elapsed() > then).then_some(())
    });
    assert_eq!(site.game(&waits).unwrap().status, "started");
}
