//! Chat in the player and spectator rooms.

use std::time::Duration;

use knightwatch::sim::{Endpoint, Fault, FaultRule, NewUser, SimOptions};
use serde_json::Value;

use super::{CLOCK, DEAD, act, count_requests, from_position, site, start_game};
use crate::common::{BOT, Daemon, Player, Site, wait};

/// Chat lines of the bot so far, in the `player` or the `spectator` room.
fn bot_lines(player: &Player<'_>, id: &str, room: &str) -> Vec<String> {
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

/// Waits for a chat line of the bot with this beginning.
fn wait_for_chat(player: &Player<'_>, id: &str, room: &str, beginning: &str) -> String {
    wait(&format!("the bot says {beginning:?}"), || {
        let mut lines = bot_lines(player, id, room).into_iter();
        lines.find(|line| line.starts_with(beginning))
    })
}

fn send_chat(player: &Player<'_>, id: &str, text: &str) {
    let path = format!("/api/board/game/{id}/chat");
    let (status, answer) = player.post(&path, &[("room", "player"), ("text", text)]);
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn chat_texts_are_filled_in_for_both_rooms() {
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
    let id = start_game(&site, &anna);
    wait_for_chat(
        &anna,
        &id,
        "player",
        "Hello Anna (1500), I am Knightwatch with black.",
    );
    let welcome = "Welcome to Knightwatch - Anna, 180+0 classical.";
    wait_for_chat(&anna, &id, "spectator", welcome);
    act(&anna, &id, "resign");
    wait_for_chat(&anna, &id, "player", "0-1: I have won in 1.");
    let goodbye = format!("Goodbye from Knightwatch {}.", env!("CARGO_PKG_VERSION"));
    wait_for_chat(&anna, &id, "spectator", &goodbye);
}

#[test]
fn chat_commands_are_answered_in_their_room_within_limit() {
    let site = site(&["Anna", "Zoe"]);
    let config =
        "book = { enabled = false }\n[chat]\nper_minute = 3\nmotd = \"Be kind, {opponent}.\"\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    for (text, answer) in [
        ("!name", "I am Knightwatch, and my engine is Knightwatch "),
        ("!eval", "Not during the game"),
        ("!motd", "Be kind, Anna."),
    ] {
        send_chat(&anna, &id, text);
        wait_for_chat(&anna, &id, "player", answer);
    }
    site.sim.say_as_spectator("Zoe", &id, "!eval");
    let eval = wait_for_chat(&anna, &id, "spectator", "");
    assert!(
        eval.contains(" for me, ") && eval.ends_with(" plies deep."),
        "{eval}"
    );
    // The limit of the player room is used up.
    send_chat(&anna, &id, "!version");
    wait_for_chat(&anna, &id, "player", "I answer 3 commands a minute here.");
    send_chat(&anna, &id, "!depth");
    send_chat(&anna, &id, "!bogus");
    send_chat(&anna, &id, "What do you think?");
    site.sim.say_as_spectator("Zoe", &id, "!bogus");
    wait_for_chat(&anna, &id, "spectator", "I do not know !bogus.");
    act(&anna, &id, "resign");
    wait_for_chat(&anna, &id, "player", "Thank you for the game");
    let lines = [
        bot_lines(&anna, &id, "player"),
        bot_lines(&anna, &id, "spectator"),
    ]
    .concat();
    assert_eq!(lines.len(), 8, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| !line.contains("plies deep") || *line == eval)
    );
}

#[test]
fn chat_every_command_is_answered() {
    let site = site(&["Anna"]);
    let config = "book = { enabled = false }\n[chat]\nper_minute = 100\nmotd = \"Be kind.\"\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    wait_for_chat(&anna, &id, "player", "Good luck");
    let named = "I am Knightwatch, and my engine is Knightwatch ";
    for (text, answer) in [
        (
            "!help",
            "I answer !book !challenge !depth !draw !eval !help",
        ),
        ("!help book", "!book: whether my last move was from a book"),
        ("!book", "I play this game without a book."),
        ("!challenge", "I play all variants; "),
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
        let before = bot_lines(&anna, &id, "player").len();
        send_chat(&anna, &id, text);
        let reply = wait(&format!("{text} is answered"), || {
            bot_lines(&anna, &id, "player").into_iter().nth(before)
        });
        assert!(reply.contains(answer), "{text}: {reply}");
    }
}

#[test]
fn chat_lost_message_is_not_resent() {
    let site = site(&["Anna"]);
    let broken = Fault::json(502, "{}");
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::Chat, broken).from_user(BOT));
    let _bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    wait("the greeting is on its way", || {
        (count_requests(&site, Endpoint::Chat) > 0).then_some(())
    });
    act(&anna, &id, "resign");
    wait_for_chat(&anna, &id, "player", "Thank you for the game");
    let lines = bot_lines(&anna, &id, "player");
    assert!(
        lines.iter().all(|line| !line.starts_with("Good luck")),
        "{lines:?}"
    );
}

#[test]
fn chat_score_is_shown_to_opponent_if_allowed() {
    let site = site(&["Anna"]);
    let config = "book = { enabled = false }\nchat = { evals = \"everybody\" }\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    send_chat(&anna, &id, "!pv");
    wait_for_chat(&anna, &id, "player", "I expect ");
}

#[test]
fn chat_is_disabled_by_rule() {
    let site = site(&["Anna", "Bert"]);
    let config = "[[rule]]\nmatch = { name = \"anna\" }\nplay = { chat = false }\n";
    let _bot = Daemon::start(&site, config);
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let (silent, other) = (start_game(&site, &anna), start_game(&site, &bert));
    for (player, id) in [(&anna, &silent), (&bert, &other)] {
        send_chat(player, id, "!help");
        act(player, id, "resign");
    }
    wait_for_chat(&bert, &other, "player", "Thank you for the game");
    assert_eq!(bot_lines(&anna, &silent, "player"), [""; 0]);
}

#[test]
fn chat_rate_limit_pauses_chat_only() {
    let site = site(&["Anna"]);
    let limit = Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#);
    site.sim.faults().add(
        FaultRule::on(Endpoint::Chat, limit)
            .from_user(BOT)
            .times(100),
    );
    let bot = Daemon::start(&site, "[[rule]]\nplay = { max_depth = 4 }\n");
    let anna = site.player("Anna");
    let id = from_position(&anna, DEAD);
    act(&anna, &id, "move/e3d3");
    site.plies(&id, 2);
    wait("the greeting is refused", || {
        bot.log().contains("chat refused").then_some(())
    });
    // Legal whatever the bot plays.
    for (ply, uci) in [(4, "d3e3"), (6, "e3f3"), (8, "f3e2")] {
        send_chat(&anna, &id, "!name");
        act(&anna, &id, &format!("move/{uci}"));
        site.plies(&id, ply);
    }
    wait("the answers are not even sent", || {
        (bot.log().matches("chat refused").count() >= 4).then_some(())
    });
    assert_eq!(count_requests(&site, Endpoint::Chat), 1, "{}", bot.log());
}

#[test]
fn chat_wait_never_shortens_the_wait() {
    let site = Site::with(SimOptions {
        speed: 10.0,
        users: vec![NewUser::bot(BOT), NewUser::human("Anna")],
        ..SimOptions::default()
    });
    let config = "games = { abort_after_s = 200 }\n";
    let _bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    let anna = site.player("Anna");
    let game = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    wait_for_chat(&anna, &game, "player", "Good luck");
    send_chat(&anna, &game, "!wait");
    wait_for_chat(&anna, &game, "player", "I will wait one more minute");
    let then = site.sim.elapsed() + Duration::from_secs(80);
    wait("it would be over by now", || {
        (site.sim.elapsed() > then).then_some(())
    });
    assert_eq!(site.game(&game).unwrap().status, "started");
}

#[test]
fn chat_wait_delays_abort_by_one_minute() {
    let site = site(&["Anna", "Bert"]);
    let _bot = Daemon::start(&site, "games = { abort_after_s = 10 }\n");
    let white = [CLOCK[0], CLOCK[1], ("color", "white")];
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let waits = anna.start(&white);
    // Commands sent before the stream of the bot is open are lost.
    wait_for_chat(&anna, &waits, "player", "Good luck");
    send_chat(&anna, &waits, "!wait");
    wait_for_chat(&anna, &waits, "player", "I will wait one more minute");
    // A game that began later is aborted.
    let silent = bert.start(&white);
    assert_eq!(site.finished(&silent).status, "aborted");
    let then = site.sim.elapsed() + Duration::from_secs(3);
    wait("it would be over by now", || {
        (site.sim.elapsed() > then).then_some(())
    });
    assert_eq!(site.game(&waits).unwrap().status, "started");
}
