//! Policy of the real program on the simulator.

mod explain;
mod keys;
mod lists;

use std::time::Duration;

use knightwatch::sim::{
    ChallengePlan, ColorChoice, Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions,
    SimOptions, StreamFault, TimeControl,
};

use crate::common::{BOT, Daemon, Player, Site, requests_of, wait};
use crate::etiquette::act;
use crate::operator::status;

const BLITZ: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];
const BULLET: [(&str, &str); 2] = [("clock.limit", "60"), ("clock.increment", "0")];

/// A site with three human players and two other bots.
fn site() -> Site {
    Site::new([
        NewUser::human("Anna"),
        NewUser::human("Bert"),
        NewUser::human("Cleo"),
        NewUser::bot("Robot"),
        NewUser::bot("Rival").rating(2400),
    ])
}

fn challenge_and_wait(player: &Player<'_>, form: &[(&str, &str)]) -> String {
    player.answer(&player.challenge(form))
}

/// Aborts a game that has just started, and so releases its slot.
fn abort(player: &Player<'_>, id: &str) {
    let (status, answer) = player.post(&format!("/api/board/game/{id}/abort"), &[]);
    assert_eq!(status, 200, "{answer}");
}

/// Waits until the log contains this about the challenge.
fn wait_for_log(bot: &Daemon, id: &str, words: &str) {
    wait(&format!("the log says of {id}: {words}"), || {
        let log = bot.log();
        let mut lines = log.lines();
        lines
            .any(|line| line.contains(id) && line.contains(words))
            .then_some(())
    });
}

#[test]
fn policy_rules_decide_top_to_bottom() {
    let site = site();
    let bot = Daemon::start(
        &site,
        r#"
        challenge = { rated = false }
        [[rule]]
        name = "a guest"
        match = { name = "ri*", rating_diff = "..1000" }
        accept = true
        [[rule]]
        name = "robots"
        match = { bot = true }
        decline = "noBot"
        [[rule]]
        match = { age_days = "..40", clock = "1+0" }
        decline = "tooFast"
        "#,
    );
    let rated = [BLITZ[0], BLITZ[1], ("rated", "true")];
    let [anna, robot, rival] = ["Anna", "Robot", "Rival"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&robot, &BLITZ), "nobot");
    assert_eq!(challenge_and_wait(&rival, &rated), "accepted");
    assert_eq!(challenge_and_wait(&anna, &rated), "casual");
    // Accounts of the simulator are 30 days old.
    let user_requests = || site.sim.faults().request_count(Endpoint::User);
    for _ in 0..2 {
        assert_eq!(challenge_and_wait(&anna, &BULLET), "toofast");
        // Of Robot, Rival and Anna; no age is requested twice.
        assert_eq!(user_requests(), 3);
    }
    let id = anna.challenge(&BLITZ);
    assert_eq!(anna.answer(&id), "accepted");
    wait_for_log(&bot, &id, "within [challenge]");
    let log = bot.log();
    for words in ["rule `robots`", "rule `a guest`", "rule 3"] {
        assert!(log.contains(words), "{words}");
    }
}

#[test]
fn policy_daily_limit_survives_crash() {
    let site = site();
    let config = "games.concurrency = 8\n[challenge]\nper_user_day = 2\n\
                  [[rule]]\nname = \"bots\"\nmatch = { bot = true }\nlimit = { per_day = 1 }\n";
    let mut bot = Daemon::start(&site, config);
    let [anna, bert, robot, rival] =
        ["Anna", "Bert", "Robot", "Rival"].map(|name| site.player(name));
    for _ in 0..2 {
        assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    }
    assert_eq!(challenge_and_wait(&robot, &BLITZ), "accepted");
    wait("three acceptances are on disk", || {
        let text = std::fs::read_to_string(bot.state_file(".accepted.jsonl")?).ok()?;
        (text.lines().count() == 3).then_some(())
    });
    bot.crash_and_restart();
    wait("the bot is back", || {
        (bot.log().matches("online as").count() == 2).then_some(())
    });
    let id = anna.challenge(&BLITZ);
    assert_eq!(anna.answer(&id), "later");
    wait_for_log(&bot, &id, "the limit of 2 in 24 hours for Anna");
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "later");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
}

#[test]
fn policy_window_limit_survives_crash() {
    let site = site();
    let config = "[challenge]\nper_user = \"2/1h, 3/2d\"\n";
    let mut bot = Daemon::start(&site, config);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    for _ in 0..2 {
        assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    }
    wait("two acceptances are on disk", || {
        let text = std::fs::read_to_string(bot.state_file(".accepted.jsonl")?).ok()?;
        (text.lines().count() == 2).then_some(())
    });
    bot.crash();
    // One of them is older than an hour.
    let file = bot.state_file(".accepted.jsonl").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let lines = text.lines().zip([40 * 3_600, 60]).map(|(line, ago)| {
        let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
        entry["at"] = (now - ago).into();
        format!("{entry}\n")
    });
    std::fs::write(file, lines.collect::<String>()).unwrap();
    bot.restart();
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    let id = anna.challenge(&BLITZ);
    assert_eq!(anna.answer(&id), "later");
    wait_for_log(
        &bot,
        &id,
        "the limit of 2 in 1 hour for Anna by [challenge] is reached",
    );
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
    wait("explain shows the use of both windows", || {
        let mut explain = bot.command("explain");
        explain.env("STATE_DIRECTORY", bot.state());
        let output = explain.args(["--user", "Bert"]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let used =
            "Bert had 1 of 2 in 1 hour by [challenge], Bert had 1 of 3 in 2 days by [challenge]";
        printed.contains(used).then_some(())
    });
}

#[test]
fn policy_games_at_once_under_rule_are_limited() {
    let site = site();
    let config = "[[rule]]\nname = \"bots\"\nmatch = { bot = true }\nlimit = { concurrency = 1 }\n";
    let mut bot = Daemon::start(&site, config);
    let [anna, robot, rival] = ["Anna", "Robot", "Rival"].map(|name| site.player(name));
    let first = robot.start(&BLITZ);
    let id = rival.challenge(&BLITZ);
    assert_eq!(rival.answer(&id), "later");
    wait_for_log(
        &bot,
        &id,
        "the limit of 1 at the same time by rule `bots` is reached",
    );
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    wait("the acceptance is on disk", || {
        let text = std::fs::read_to_string(bot.state_file(".accepted.jsonl")?).ok()?;
        text.contains("robot").then_some(())
    });
    bot.crash_and_restart();
    wait("the games are taken up again", || {
        (bot.log().matches("Robot").count() > 2).then_some(())
    });
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "later");
    let (status, _) = robot.post(&format!("/api/bot/game/{first}/abort"), &[]);
    assert_eq!(status, 200);
    wait("the game is over for the bot", || {
        (challenge_and_wait(&rival, &BLITZ) == "accepted").then_some(())
    });
}

#[test]
fn policy_limit_counts_long_game_over_restarts() {
    let site = site();
    let config = "challenge = { speeds = [\"blitz\", \"correspondence\"] }\n\
                  [[rule]]\nname = \"bots\"\nmatch = { bot = true }\nlimit = { concurrency = 1 }\n";
    let mut bot = Daemon::start(&site, config);
    let [anna, robot, rival] = ["Anna", "Robot", "Rival"].map(|name| site.player(name));
    let is_logged = |bot: &Daemon, user: &str| {
        wait("the acceptance is on disk", || {
            let text = std::fs::read_to_string(bot.state_file(".accepted.jsonl")?).ok()?;
            text.contains(user).then_some(text)
        })
    };
    let is_resumed = |bot: &Daemon, starts: usize| {
        wait("the long game is known after each start", || {
            let log = bot.log();
            let known = log.matches("correspondence game against Robot").count();
            (known == starts).then_some(())
        });
    };
    robot.start(&[("days", "2"), ("color", "white")]);
    let entry = is_logged(&bot, "robot");
    is_resumed(&bot, 1);
    bot.crash();
    // It was accepted two days ago.
    let mut entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
    entry["at"] = (entry["at"].as_u64().unwrap() - 2 * 86_400).into();
    let file = bot.state_file(".accepted.jsonl").unwrap();
    std::fs::write(file, format!("{entry}\n")).unwrap();
    bot.restart();
    is_resumed(&bot, 2);
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    is_logged(&bot, "anna");
    bot.crash_and_restart();
    is_resumed(&bot, 3);
    let id = rival.challenge(&BLITZ);
    assert_eq!(rival.answer(&id), "later");
    wait_for_log(
        &bot,
        &id,
        "the limit of 1 at the same time by rule `bots` is reached",
    );
}

#[test]
fn policy_rules_match_profile_of_challenger() {
    let clone = NewUser {
        bio: Some("Stockfish 17,\nas it is".to_owned()),
        ..NewUser::bot("Clone")
    };
    let site = Site::new([clone, NewUser::bot("Robot"), NewUser::human("Anna")]);
    let bot = Daemon::start(
        &site,
        "[[rule]]\nname = \"fish\"\nmatch = { engine = [\"lc0\", \"stockfish\"], rated = true }\ndecline = \"casual\"\n\
         [[rule]]\nmatch = { bio = \"*as it is\" }\nplay = { max_depth = 2 }\n\
         [[rule]]\nmatch = { fen = \"*q*\", bot = false }\ndecline = \"variant\"\n\
         [[rule]]\nmatch = { hours = [\"00:00-12:00 UTC\", \"12:00-24:00 UTC\"], bot = false }\ndecline = \"later\"\n",
    );
    let rated = [BLITZ[0], BLITZ[1], ("rated", "true")];
    let [clone, robot, anna] = ["Clone", "Robot", "Anna"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&clone, &rated), "casual");
    assert_eq!(challenge_and_wait(&robot, &rated), "accepted");
    let id = clone.start(&BLITZ);
    wait_for_log(&bot, &id, "2 plies deep at most by rule 2");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "variant");
    let ending = [
        BLITZ[0],
        BLITZ[1],
        ("variant", "fromPosition"),
        ("fen", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"),
    ];
    assert_eq!(challenge_and_wait(&anna, &ending), "later");
    // No profile is requested twice.
    assert_eq!(site.sim.faults().request_count(Endpoint::User), 3);
    let output = bot
        .command("explain")
        .args([
            "--user",
            "Any",
            "--title",
            "bot",
            "--rated",
            "--bio",
            "Lc0 (T40)",
        ])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.ends_with("\nDeclined, casual: rule `fish`\n"),
        "{printed}"
    );
}

#[test]
fn policy_accepts_positions_as_lichess_does() {
    let site = Site::new([NewUser::human("Anna")]);
    let _bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    for fen in [
        // Rights that do not fit the board are dropped.
        "4k3/8/8/8/8/8/4P3/4K3 w KQkq e6 0 1",
        // There are more promoted pieces than missing pawns.
        "qqqqkqqq/pppppppp/8/8/8/8/4P3/4K3 w - - 0 1",
    ] {
        let id = anna.start(&[
            BLITZ[0],
            BLITZ[1],
            ("variant", "fromPosition"),
            ("fen", fen),
            ("color", "white"),
        ]);
        act(&anna, &id, "move/e2e4");
        site.plies(&id, 2);
        act(&anna, &id, "resign");
    }
}

#[test]
fn policy_queue_serves_by_preference() {
    let site = site();
    let config = "[games]\nconcurrency = 1\n[challenge]\nqueue_size = 3\n\
                  [[rule]]\nmatch = { name = \"cleo\" }\npriority = 1\n";
    let bot = Daemon::start(&site, config);
    let [anna, bert, cleo, robot, rival] =
        ["Anna", "Bert", "Cleo", "Robot", "Rival"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let waiting: Vec<String> = [(&robot, "Robot"), (&bert, "Bert"), (&cleo, "Cleo")]
        .map(|(player, name)| {
            let id = player.challenge(&BLITZ);
            wait_for_log(&bot, &id, &format!("{name}'s challenge"));
            id
        })
        .into();
    // Three wait, and the queue is full.
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "later");
    abort(&anna, &first);
    assert_eq!(cleo.answer(&waiting[2]), "accepted");
    // People are served before bots, though the bot came first.
    abort(&cleo, &waiting[2]);
    assert_eq!(bert.answer(&waiting[1]), "accepted");
    // The bot cancels its challenge, so that the next one does not wait for it.
    let (status, _) = robot.post(&format!("/api/challenge/{}/cancel", waiting[0]), &[]);
    assert_eq!(status, 200);
    wait_for_log(&bot, &waiting[0], "no longer there");
    abort(&bert, &waiting[1]);
    wait("the place is free for another bot", || {
        (challenge_and_wait(&rival, &BLITZ) == "accepted").then_some(())
    });
}

#[test]
fn policy_full_queue_makes_room_for_those_before() {
    let site = site();
    let config = "[games]\nconcurrency = 1\n[challenge]\nqueue_size = 1\n";
    let bot = Daemon::start(&site, config);
    let [anna, bert, cleo, robot] = ["Anna", "Bert", "Cleo", "Robot"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let behind = robot.challenge(&BLITZ);
    wait_for_log(&bot, &behind, "is queued");
    let waits = bert.challenge(&BLITZ);
    assert_eq!(robot.answer(&behind), "later");
    assert_eq!(challenge_and_wait(&cleo, &BLITZ), "later");
    abort(&anna, &first);
    assert_eq!(bert.answer(&waits), "accepted");
}

#[test]
fn policy_challenge_replaces_the_one_before() {
    let site = site();
    let config = "[games]\nconcurrency = 1\n[challenge]\nqueue_size = 2\n";
    let bot = Daemon::start(&site, config);
    let [anna, bert, cleo] = ["Anna", "Bert", "Cleo"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let replaced = bert.challenge(&BLITZ);
    wait_for_log(&bot, &replaced, "is queued");
    let waits = bert.challenge(&[("clock.limit", "300"), ("clock.increment", "3")]);
    wait_for_log(&bot, &replaced, "the challenger has sent another one");
    wait_for_log(&bot, &waits, "is queued");
    // It takes no place from others.
    let last = cleo.challenge(&BLITZ);
    wait_for_log(&bot, &last, "is queued");
    abort(&anna, &first);
    assert_eq!(bert.answer(&waits), "accepted");
}

#[test]
fn policy_dropped_challenge_is_answered_when_listed_again() {
    let site = site();
    let bot = Daemon::start(&site, "games.concurrency = 1\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&[BLITZ[0], BLITZ[1], ("color", "white")]);
    let id = bert.challenge(&BLITZ);
    wait_for_log(&bot, &id, "is queued");
    // As while the challenger is offline.
    let empty = Fault::json(200, r#"{"in":[],"out":[]}"#);
    let unlisted = FaultRule::on(Endpoint::ChallengeList, empty).from_user(BOT);
    site.sim.faults().add(unlisted.times(1));
    site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
    wait_for_log(&bot, &id, "no longer there");
    abort(&anna, &first);
    site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
    assert_eq!(bert.answer(&id), "accepted");
}

#[test]
fn policy_decline_failed_in_outage_is_repeated() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::human("Anna")],
        speed: 10.0,
        ..SimOptions::default()
    });
    let down = FaultRule::on(Endpoint::ChallengeDecline, Fault::html(502));
    // All attempts.
    site.sim.faults().add(down.from_user(BOT).times(7));
    let bot = Daemon::start_with(&site, "", &["--time-scale", "10"]);
    let anna = site.player("Anna");
    let id = anna.challenge(&[("days", "2")]);
    wait_for_log(&bot, &id, "cannot decline");
    site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
    assert_eq!(anna.answer(&id), "tooslow");
}

#[test]
fn policy_decline_refused_by_limit_or_error_is_repeated() {
    let site = site();
    // Only the bot's time is short: Lichess lists a challenge for as long as the challenger is known to be there.
    let bot = Daemon::start_with(&site, "", &["--time-scale", "10"]);
    let limit = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":1}}"#;
    let error = r#"{"error":"Internal server error"}"#;
    for (name, code, body) in [("Anna", 429, limit), ("Bert", 500, error)] {
        let rule = FaultRule::on(Endpoint::ChallengeDecline, Fault::json(code, body));
        site.sim.faults().add(rule.from_user(BOT).times(usize::MAX));
        let player = site.player(name);
        let id = player.challenge(&[("days", "2")]);
        wait_for_log(&bot, &id, "cannot decline");
        site.sim.faults().clear();
        site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
        assert_eq!(player.answer(&id), "tooslow");
    }
}

/// Lets all accepts of the bot fail with this until the faults are cleared.
fn break_accepts(site: &Site, fault: Fault) {
    let rule = FaultRule::on(Endpoint::ChallengeAccept, fault).from_user(BOT);
    site.sim.faults().add(rule.times(usize::MAX));
}

#[test]
fn policy_accept_failed_in_outage_is_repeated() {
    let site = site();
    let config = "games = { concurrency = 2, per_opponent = 1 }\n\
                  [challenge]\nper_user_day = 1\nqueue_size = 0\n";
    // Only the bot's time is short: Lichess lists a challenge for as long as the challenger is known to be there.
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    let error = Fault::json(500, r#"{"error":"Internal server error"}"#);
    for (name, fault) in [("Anna", Fault::html(502)), ("Bert", error)] {
        break_accepts(&site, fault);
        let player = site.player(name);
        let id = player.challenge(&BLITZ);
        wait_for_log(&bot, &id, "cannot accept");
        site.sim.faults().clear();
        // The slot and the acceptance of the failed accept are its own.
        site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
        assert_eq!(player.answer(&id), "accepted");
    }
}

#[test]
fn policy_acceptance_without_game_is_not_counted() {
    let site = site();
    let config = "[games]\nconcurrency = 4\n[challenge]\nper_user_day = 1\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    // One challenge is canceled while nobody knows whether it was accepted.
    break_accepts(&site, Fault::html(502));
    let canceled = anna.challenge(&BLITZ);
    wait_for_log(&bot, &canceled, "cannot accept");
    let (status, _) = anna.post(&format!("/api/challenge/{canceled}/cancel"), &[]);
    assert_eq!(status, 200);
    site.sim.faults().clear();
    wait("it does not count", || {
        (challenge_and_wait(&anna, &BLITZ) == "accepted").then_some(())
    });
    // The other one is accepted, but no game starts.
    break_accepts(&site, Fault::json(200, r#"{"ok":true}"#));
    let lost = bert.challenge(&BLITZ);
    wait_for_log(&bot, &lost, "DEBUG accepted");
    site.sim.faults().clear();
    wait("it does not count any more", || {
        (challenge_and_wait(&bert, &BLITZ) == "accepted").then_some(())
    });
    // Those that have become games do.
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "later");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
}

#[test]
fn policy_accept_refused_by_limit_of_opponent_is_declined() {
    let site = site();
    let bot = Daemon::start(&site, "");
    let body = r#"{"error":"Rival played 100 games against other bots today","ratelimit":{"key":"bot.vsBot.day","seconds":3600}}"#;
    break_accepts(&site, Fault::json(400, body));
    let rival = site.player("Rival");
    let id = rival.challenge(&BLITZ);
    assert_eq!(rival.answer(&id), "later");
    wait_for_log(&bot, &id, "Rival played 100 games");
    // The limit is not ours.
    site.sim.faults().clear();
    assert_eq!(
        challenge_and_wait(&site.player("Robot"), &BLITZ),
        "accepted"
    );
}

#[test]
fn policy_rematch_of_absent_challenger_is_dropped() {
    let site = site();
    let config = "games.concurrency = 1\nweb.listen = \"\"\n\
                  daemon = { log_level = \"debug\", socket = \"control.sock\" }\n";
    let bot = Daemon::start(&site, config);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let second = bert.challenge(&BLITZ);
    wait_for_log(&bot, &second, "is queued");
    abort(&anna, &first);
    assert_eq!(bert.answer(&second), "accepted");
    // Unlike an offer in the game it is listed, for as long as the challenger is there.
    let third = site.sim.challenge_to_rematch("Anna", &first).unwrap();
    wait_for_log(&bot, &third, "is queued");
    wait("it was listed", || {
        let log = bot.log();
        let queued = log.lines().skip_while(|line| !line.contains(&third));
        let mut listed = queued.filter(|line| line.contains("open challenges: 1 to us"));
        listed.next().map(drop)
    });
    site.sim.advance(Duration::from_secs(21));
    abort(&bert, &second);
    wait_for_log(&bot, &third, "no longer there");
    assert!(site.game(&third).is_none());
}

#[test]
fn policy_rematch_waits_for_slot() {
    let site = site();
    let bot = Daemon::start(&site, "games.concurrency = 1\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&[BLITZ[0], BLITZ[1], ("color", "white")]);
    let second = bert.challenge(&BLITZ);
    wait_for_log(&bot, &second, "is queued");
    for step in ["move/e2e4", "resign"] {
        let (status, answer) = anna.post(&format!("/api/board/game/{first}/{step}"), &[]);
        assert_eq!(status, 200, "{answer}");
        site.plies(&first, 2);
    }
    assert_eq!(bert.answer(&second), "accepted");
    // Such an offer is in no list of challenges.
    let third = site.sim.offer_rematch("Anna", &first).unwrap();
    wait_for_log(&bot, &third, "is queued");
    abort(&bert, &second);
    site.plies(&third, 1);
}

#[test]
fn policy_rules_match_title_variant_days_color() {
    let site = Site::new([
        NewUser::human("Anna"),
        NewUser {
            title: Some("WIM"),
            ..NewUser::human("Wilma")
        },
    ]);
    let _bot = Daemon::start(
        &site,
        r#"
        challenge = { speeds = ["blitz", "correspondence"] }
        [[rule]]
        match = { title = ["GM", "WIM"] }
        decline = "onlyBot"
        [[rule]]
        match = { variant = "chess960" }
        decline = "standard"
        [[rule]]
        match = { days = "3.." }
        decline = "tooSlow"
        [[rule]]
        match = { color = "black" }
        decline = "generic"
        "#,
    );
    let [anna, wilma] = ["Anna", "Wilma"].map(|name| site.player(name));
    let with = |key, value| [BLITZ[0], BLITZ[1], (key, value)];
    assert_eq!(challenge_and_wait(&wilma, &BLITZ), "onlybot");
    assert_eq!(
        challenge_and_wait(&anna, &with("variant", "chess960")),
        "standard"
    );
    assert_eq!(challenge_and_wait(&anna, &[("days", "3")]), "tooslow");
    // Rules name our color, challenges that of the challenger.
    assert_eq!(
        challenge_and_wait(&anna, &with("color", "white")),
        "generic"
    );
    assert_eq!(challenge_and_wait(&anna, &[("days", "2")]), "accepted");
    assert_eq!(
        challenge_and_wait(&anna, &with("color", "black")),
        "accepted"
    );
}

#[test]
fn policy_decline_reasons_reach_challenger() {
    const REASONS: [&str; 11] = [
        "generic",
        "later",
        "tooFast",
        "tooSlow",
        "timeControl",
        "rated",
        "casual",
        "standard",
        "variant",
        "noBot",
        "onlyBot",
    ];
    let site = site();
    let rules = REASONS.iter().zip(1..).map(|(reason, minutes)| {
        format!("[[rule]]\nmatch = {{ clock = \"{minutes}+9\" }}\ndecline = \"{reason}\"\n")
    });
    let _bot = Daemon::start(&site, &rules.collect::<String>());
    let anna = site.player("Anna");
    for (reason, minutes) in REASONS.iter().zip(1..) {
        let seconds = (60 * minutes).to_string();
        let answer = challenge_and_wait(
            &anna,
            &[("clock.limit", &seconds), ("clock.increment", "9")],
        );
        assert_eq!(answer, reason.to_lowercase());
    }
}

#[test]
fn policy_games_per_opponent_are_limited() {
    let site = site();
    let _bot = Daemon::start(&site, "games = { concurrency = 4, per_opponent = 1 }\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "later");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
    abort(&anna, &first);
    wait("the first game is over for the bot, too", || {
        (challenge_and_wait(&anna, &BLITZ) == "accepted").then_some(())
    });
}

#[test]
fn policy_slot_is_released_if_game_does_not_start() {
    let site = Site::with(SimOptions {
        users: vec![
            NewUser::bot(BOT),
            NewUser::human("Anna"),
            NewUser::human("Bert"),
        ],
        ..SimOptions::default()
    });
    // Lichess accepts the request, but no game starts.
    let empty = FaultRule::on(
        Endpoint::ChallengeAccept,
        Fault::json(200, r#"{"ok":true}"#),
    );
    site.sim.faults().add(empty.from_user(BOT));
    let config = "[games]\nconcurrency = 1\n";
    // Only the bot's time is short: a slot is reserved for as long as the challenger is known to be there.
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    let lost = site.player("Anna").challenge(&BLITZ);
    wait_for_log(&bot, &lost, "accepting Anna's challenge");
    let bert = site.player("Bert");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
    assert!(site.game(&lost).is_none());
}

#[test]
fn policy_accept_refused_by_limit_waits_for_a_slot() {
    let site = site();
    let limit = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":60}}"#;
    let limited = FaultRule::on(Endpoint::ChallengeAccept, Fault::json(429, limit));
    site.sim.faults().add(limited.from_user(BOT));
    let config = "[games]\nconcurrency = 1\n[challenge]\nqueue_timeout_s = 1200\n";
    // Only the bot's time is short: Lichess lists a challenge for as long as the challenger is known to be there.
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let [first, second] = [&anna, &bert].map(|player| {
        let id = player.challenge(&BLITZ);
        wait_for_log(&bot, &id, "waits until Lichess takes answers again");
        id
    });
    // The wait is longer than a slot is reserved.
    assert_eq!(anna.answer(&first), "accepted");
    wait_for_log(&bot, &first, "playing");
    abort(&anna, &first);
    assert_eq!(bert.answer(&second), "accepted");
    wait_for_log(&bot, &second, "playing");
    assert!(!bot.log().contains("are already running"), "{}", bot.log());
    let accepts = requests_of(&site, BOT, Endpoint::ChallengeAccept);
    assert_eq!(accepts.len(), 3);
}

#[test]
fn policy_game_matches_rules_of_challenge() {
    let site = site();
    let mut bot = Daemon::start(
        &site,
        r#"
        [[rule]]
        name = "young"
        match = { age_days = "..40", bot = false }
        accept = true
        play = { max_depth = 2 }
        [[rule]]
        name = "chance"
        match = { color = "random" }
        play = { max_depth = 3 }
        "#,
    );
    let [anna, robot] = ["Anna", "Robot"].map(|name| site.player(name));
    // Accounts of the simulator are 30 days old, so the first rule decides about Anna.
    let annas = anna.start(&BLITZ);
    let robots = robot.start(&BLITZ);
    let wait_for_starts = |bot: &Daemon, times: usize| {
        for id in [&annas, &robots] {
            wait(&format!("{id} has started {times} times"), || {
                let log = bot.log();
                let ours = log.lines().filter(|line| line.contains(id.as_str()));
                let starts =
                    ours.filter(|line| line.contains("playing ") && line.contains(" against "));
                (starts.count() >= times).then_some(())
            });
        }
        wait(&format!("both rules are named {times} times"), || {
            let log = bot.log();
            let is_logged = |id: &str, rule: &str| {
                let mut lines = log
                    .lines()
                    .filter(|line| line.contains("settings of this game: ") && line.contains(id));
                let named = format!("by rule `{rule}`");
                assert!(lines.clone().all(|line| line.contains(&named)), "{log}");
                lines.nth(times - 1).is_some()
            };
            (is_logged(&annas, "young") && is_logged(&robots, "chance")).then_some(())
        });
    };
    wait_for_starts(&bot, 1);
    wait("both acceptances are on disk", || {
        let text = std::fs::read_to_string(bot.state_file(".accepted.jsonl")?).ok()?;
        (text.contains(&annas) && text.contains(&robots)).then_some(())
    });
    bot.crash_and_restart();
    wait_for_starts(&bot, 2);
}

#[test]
fn policy_queue_timeout_declines() {
    let site = site();
    let config = "[games]\nconcurrency = 1\n[challenge]\nqueue_timeout_s = 1\n";
    let _bot = Daemon::start(&site, config);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    anna.start(&BLITZ);
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
}

#[test]
fn policy_queue_is_served_without_list_of_challenges() {
    let site = site();
    let missing = Fault::json(403, r#"{"error":"Missing scope: challenge:read"}"#);
    let rule = FaultRule::on(Endpoint::ChallengeList, missing).from_user(BOT);
    site.sim.faults().add(rule.times(usize::MAX));
    let bot = Daemon::start(&site, "games = { concurrency = 1 }\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let waits = bert.challenge(&BLITZ);
    wait_for_log(&bot, &waits, "is queued");
    abort(&anna, &first);
    assert_eq!(bert.answer(&waits), "accepted");
}

#[test]
fn policy_queue_is_served_while_list_of_challenges_fails() {
    let limit = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":600}}"#;
    for fault in [Fault::json(429, limit), Fault::html(502)] {
        let site = site();
        let bot = Daemon::start(&site, "games = { concurrency = 1 }\n");
        let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
        let first = anna.start(&BLITZ);
        let waits = bert.challenge(&BLITZ);
        wait_for_log(&bot, &waits, "is queued");
        let rule = FaultRule::on(Endpoint::ChallengeList, fault).from_user(BOT);
        site.sim.faults().add(rule.times(usize::MAX));
        abort(&anna, &first);
        assert_eq!(bert.answer(&waits), "accepted");
    }
}

#[test]
fn policy_game_without_clock_needs_no_slot() {
    let site = site();
    let config = "[games]\nconcurrency = 1\nper_opponent = 1\n[challenge]\nqueue_size = 0\nspeeds = [\"blitz\", \"correspondence\"]\n";
    let _bot = Daemon::start(&site, config);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let days = [("days", "2")];
    assert_eq!(challenge_and_wait(&anna, &days), "accepted");
    assert_eq!(
        challenge_and_wait(&anna, &days),
        "later",
        "one of each kind"
    );
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
    assert_eq!(challenge_and_wait(&bert, &days), "accepted");
}

#[test]
fn policy_reserved_slot_is_for_humans() {
    let site = site();
    let bot = Daemon::start(
        &site,
        "games = { concurrency = 2, reserved_for_humans = 1 }\n",
    );
    let [anna, robot, rival] = ["Anna", "Robot", "Rival"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&robot, &BLITZ), "accepted");
    // A queued challenge does not delay others.
    let waits = rival.challenge(&BLITZ);
    wait_for_log(&bot, &waits, "is queued");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    assert!(site.game(&waits).is_none());
}

#[test]
fn policy_rule_sets_play_settings() {
    let site = site();
    let config =
        "[[rule]]\nmatch = { bot = false }\nplay = { book = false, chat = false, max_depth = 2 }\n";
    let bot = Daemon::start(&site, config);
    let (anna, robot) = (site.player("Anna"), site.player("Robot"));
    let black = [BLITZ[0], BLITZ[1], ("color", "black")];
    let (plain, special) = (robot.start(&black), anna.start(&black));
    site.plies(&plain, 1);
    site.plies(&special, 1);
    wait_for_log(
        &bot,
        &special,
        "no books, no chat, 2 plies deep at most by rule 1",
    );
    let chat = |player: &Player<'_>, api: &str, id: &str| {
        let (status, lines) = player.get(&format!("/api/{api}/game/{id}/chat"));
        (status == 200).then(|| lines.to_string())
    };
    wait("the bot has greeted the other bot", || {
        chat(&robot, "bot", &plain).filter(|lines| lines.contains("Good luck"))
    });
    assert_eq!(chat(&anna, "board", &special).as_deref(), Some("[]"));
    wait("both moves are counted, one of them from the book", || {
        let counts = status(&bot)["counts"].clone();
        (counts["moves"] == 2 && counts["book_moves"] == 1).then_some(())
    });
}

/// A player who challenges the bot to one game in which they are a rook ahead; the mate takes some moves.
fn opponent_a_rook_up(name: &str) -> PlayerOptions {
    let plan = ChallengePlan {
        variants: vec!["fromPosition".to_owned()],
        fen: Some("8/8/8/4k3/8/8/8/R3K3 w - - 0 1".to_owned()),
        colors: vec![ColorChoice::White],
        count: Some(1),
        ..ChallengePlan::against(BOT, TimeControl::clock(30, 0))
    };
    PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new(name, PlayerKind::Engine { nodes: 3_000 }).challenging(plan)
    }
}

#[test]
fn policy_rule_sets_resignation() {
    let site = Site::new([]);
    let config = "[resign]\nenabled = false\nscore_cp = 300\ntheir_time_s = 0\n[[rule]]\nmatch = { rating = \"..1500\" }\nplay = { resign = true }\n";
    let _bot = Daemon::start(&site, config);
    for (name, rating) in [("Ann", 1500), ("Ben", 1501)] {
        site.sim.add_player(PlayerOptions {
            rating,
            ..opponent_a_rook_up(name)
        });
    }
    for game in site.started(2) {
        let game = site.finished(&game.id);
        let resigned = game.status == "resign";
        assert_eq!(resigned, game.white == "Ann", "{game:?}");
    }
}

#[test]
fn policy_failed_resignation_is_retried() {
    let site = Site::new([]);
    let lost = FaultRule::on(Endpoint::Resign, Fault::html(502));
    site.sim.faults().add(lost.from_user(BOT).nth(1));
    let config = "[resign]\nenabled = true\nscore_cp = 300\ntheir_time_s = 0\n";
    let _bot = Daemon::start(&site, config);
    site.sim.add_player(opponent_a_rook_up("Ann"));
    let [game] = &site.started(1)[..] else {
        panic!("one game");
    };
    assert_eq!(site.finished(&game.id).status, "resign");
    let resigned = requests_of(&site, BOT, Endpoint::Resign);
    assert_eq!(resigned.len(), 2);
    let moved = requests_of(&site, BOT, Endpoint::Move);
    assert!(moved.iter().all(|visit| visit.at < resigned[0].at));
}

#[test]
fn policy_accept_is_dropped_with_its_challenge() {
    let names = ["Anna", "Bert", "Cleo", "Dora", "Emil"];
    let site = Site::new(names.map(NewUser::bot));
    // As many as are in flight at once.
    let slow = FaultRule::on(
        Endpoint::ChallengeAccept,
        Fault::Stall(Duration::from_secs(60)),
    );
    site.sim.faults().add(slow.from_user(BOT).times(4));
    let bot = Daemon::start(&site, "games = { concurrency = 8 }\n");
    let form = [("clock.limit", "180"), ("clock.increment", "2")];
    let accepts = || requests_of(&site, BOT, Endpoint::ChallengeAccept);
    for name in &names[..4] {
        site.player(name).challenge(&form);
    }
    wait("four are under way", || {
        (accepts().len() == 4).then_some(())
    });
    let emil = site.player("Emil");
    let canceled_id = emil.challenge(&form);
    wait("it is to be accepted", || {
        bot.log().contains("accepting Emil's").then_some(())
    });
    let (canceled, _) = emil.post(&format!("/api/challenge/{canceled_id}/cancel"), &[]);
    assert_eq!(canceled, 200);
    wait("it is gone", || {
        let expected = "Emil's challenge to 3+2 casual standard is no longer there";
        bot.log().contains(expected).then_some(())
    });
    // Later requests are sent later.
    site.sim.advance(Duration::from_secs(60));
    let next = emil.start(&form);
    let accepted: Vec<_> = accepts()
        .into_iter()
        .filter_map(|visit| visit.game)
        .collect();
    assert!(accepted.contains(&next), "{accepted:?}");
    assert!(!accepted.contains(&canceled_id), "{accepted:?}");
}

#[test]
fn policy_bot_is_not_idle_while_it_accepts() {
    let site = Site::new([NewUser::bot("Anna"), NewUser::bot("Bert")]);
    let bot = Daemon::start(&site, "games = { concurrency = 1 }\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = anna.start(&BLITZ);
    let next = bert.challenge(&BLITZ);
    wait_for_log(&bot, &next, "queue");
    let slow = FaultRule::on(
        Endpoint::ChallengeAccept,
        Fault::Stall(Duration::from_secs(2)),
    );
    site.sim.faults().add(slow.from_user(BOT).times(1));
    anna.post(&format!("/api/bot/game/{first}/resign"), &[]);
    assert_eq!(bert.answer(&next), "accepted");
    let log = bot.log();
    let (_, accepting) = log.split_once("accepting Bert's").unwrap();
    assert!(!accepting.contains("idle: no game"), "{log}");
}
