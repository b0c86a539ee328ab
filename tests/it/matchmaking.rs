//! Matchmaking of the real program on the simulator.

use std::collections::BTreeSet;
use std::time::Duration;

use knightwatch::sim::{
    Behavior, Endpoint, Fault, FaultRule, GameSummary, NewUser, PlayerKind, PlayerOptions, Quirks,
    Sim, SimOptions, StreamFault, TimeControl,
};
use serde_json::Value;

use crate::common::{BOT, Daemon, FAST_MOVES, Site, requests_of, wait};
use crate::operator::{run_command, run_failing_command};

/// Challenges at once, with a short timeout.
const EAGER: &str = "[matchmaking]\nenabled = true\nidle_s = 0\nchallenge_timeout_s = 2\n\
                     [[matchmaking.profile]]\nclock = \"1+0\"\nrated = false\n";

const BLITZ: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];

/// A bot that plays at once and resigns soon.
fn fast_bot(name: &str) -> PlayerOptions {
    PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        behavior: Behavior {
            resigns_when_lost: Some(1),
            ..Behavior::default()
        },
        ..PlayerOptions::new(name, PlayerKind::Random)
    }
}

/// A bot that declines everything, for these reasons in turn.
fn declining_bot(name: &str, reasons: &[&str]) -> PlayerOptions {
    let mut options = fast_bot(name);
    let reasons = reasons.iter().map(|reason| reason.parse().unwrap());
    options.behavior.decline_reasons = reasons.collect();
    options
}

/// A bot that is online and never answers.
fn silent_bot(name: &str) -> NewUser {
    NewUser {
        present: true,
        ..NewUser::bot(name)
    }
}

fn request_count(sim: &Sim, endpoint: Endpoint) -> usize {
    sim.faults().request_count(endpoint)
}

/// Waits until the log contains these words this many times.
fn wait_for_log(bot: &Daemon, words: &str, times: usize) {
    wait(&format!("the log says {times} times: {words}"), || {
        (bot.log().matches(words).count() >= times).then_some(())
    });
}

/// Waits until a state file contains this.
fn wait_for_state(bot: &Daemon, ending: &str, words: &str) {
    wait(&format!("{words} is in {ending}"), || {
        let text = std::fs::read_to_string(bot.state_file(ending)?).ok()?;
        text.contains(words).then_some(())
    });
}

/// Stops the bot, starts it again and waits until it is online.
fn restart(bot: &mut Daemon) {
    let before = bot.log().matches("online as").count();
    bot.crash_and_restart();
    wait_for_log(bot, "online as", before + 1);
}

/// Waits until the bot has reported this reason for not playing, since its last start.
fn wait_until_idle(bot: &Daemon, reason: &str) {
    wait(&format!("it is idle: {reason}"), || {
        let log = bot.log();
        let (_, since_start) = log.rsplit_once("online as")?;
        let mut lines = since_start.lines();
        lines
            .any(|line| line.contains("idle: ") && line.contains(reason))
            .then_some(())
    });
}

#[test]
fn matchmaking_idle_bot_plays_pair_then_waits() {
    let site = Site::new([NewUser::human("Anna")]);
    site.sim.add_player(fast_bot("Rival"));
    let bot = Daemon::start(&site, &format!("{EAGER}{FAST_MOVES}"));
    let games = site.started(2);
    let ours = |game: &&GameSummary| game.white == BOT;
    assert_eq!(games.iter().filter(ours).count(), 1, "{games:?}");
    for game in &games {
        assert_eq!(
            (game.time_control, game.rated),
            (TimeControl::clock(60, 0), false)
        );
        site.finished(&game.id);
    }
    wait_until_idle(&bot, "2 of 80 games");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 2);
    // One list of online bots is enough for all of that.
    assert_eq!(request_count(&site.sim, Endpoint::BotsOnline), 1);
}

#[test]
fn matchmaking_names_what_cannot_be_read() {
    let site = Site::new([silent_bot("Rival")]);
    let broken = FaultRule::on(Endpoint::UsersStatus, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(broken.times(usize::MAX));
    let bot = Daemon::start(&site, EAGER);
    wait_until_idle(
        &bot,
        "the online status of the chosen opponents cannot be read",
    );
    let lists = "the list of online bots cannot be read";
    assert!(!bot.log().contains(lists), "{}", bot.log());
}

#[test]
fn matchmaking_decline_survives_restart() {
    let site = Site::new([]);
    site.sim.add_player(declining_bot("Grump", &["later"]));
    let mut bot = Daemon::start(&site, EAGER);
    wait_for_log(&bot, "Grump has declined (later)", 1);
    wait_for_state(&bot, ".opponents.json", "grump");
    site.sim.add_player(fast_bot("Rival"));
    restart(&mut bot);
    let game = site.started(1).remove(0);
    assert!(
        [&game.white, &game.black].contains(&&"Rival".to_owned()),
        "{game:?}"
    );
    assert_eq!(bot.log().matches("challenged Grump").count(), 1);
}

#[test]
fn matchmaking_decline_reason_limits_offers() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim
        .add_player(declining_bot("Grump", &["casual", "noBot"]));
    let config = "[matchmaking]\nenabled = true\nidle_s = 0\n\
                  [[matchmaking.profile]]\nclock = \"1+0\"\nweight = 1000000\n\
                  [[matchmaking.profile]]\nclock = \"1+0\"\nrated = false\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    wait_for_log(
        &bot,
        "Grump has declined (casual); nothing like 1+0 rated standard",
        1,
    );
    // They asked for a casual game, so that is the next offer.
    wait_for_log(
        &bot,
        "Grump has declined (noBot); nothing like 1+0 casual standard",
        1,
    );
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 2);
}

#[test]
fn matchmaking_unanswered_challenge_is_canceled() {
    let site = Site::new([silent_bot("Statue")]);
    let bot = Daemon::start(&site, EAGER);
    wait_for_log(&bot, "Statue has not answered", 1);
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCancel), 1);
    let (_, list) = site.player("Statue").get("/api/challenge");
    assert_eq!(list["in"], Value::Array(Vec::new()));
    wait_for_state(&bot, ".opponents.json", "statue");
}

#[test]
fn matchmaking_human_comes_before_pending_challenge() {
    let site = Site::new([silent_bot("Statue"), NewUser::human("Anna")]);
    let unhurried = EAGER.replace("challenge_timeout_s = 2", "challenge_timeout_s = 600");
    let bot = Daemon::start(
        &site,
        &format!("games = {{ concurrency = 1 }}\n{unhurried}"),
    );
    wait_for_log(&bot, "challenged Statue", 1);
    let anna = site.player("Anna");
    let id = anna.start(&[BLITZ[0], BLITZ[1], ("color", "black")]);
    site.plies(&id, 1);
    // The slot is reserved for the human, so another acceptance must be prevented.
    wait("the challenge is taken back", || {
        (request_count(&site.sim, Endpoint::ChallengeCancel) == 1).then_some(())
    });
    assert!(!bot.log().contains("Statue has not answered"));
}

#[test]
fn matchmaking_excludes_blocked_humans_and_unmatched() {
    let site = Site::new([
        silent_bot("Nasty"),
        silent_bot("Pest"),
        silent_bot("Enemy"),
        silent_bot("Strong").rating(2_500),
        NewUser {
            present: true,
            ..NewUser::human("Anna")
        },
    ]);
    let (status, _) = site.player(BOT).post("/api/rel/block/Enemy", &[]);
    assert_eq!(status, 200);
    let bot = Daemon::start(
        &site,
        &format!(
            "challenge = {{ block = [\"nas*\"] }}\n{}",
            EAGER.replace("enabled = true", "enabled = true\nblock = [\"pest\"]")
        ),
    );
    wait_for_log(&bot, "Enemy is blocked by us on Lichess", 1);
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 0);
    for name in ["Nasty", "Pest", "Strong"] {
        assert!(!bot.log().contains(name), "{name}");
    }
}

#[test]
fn matchmaking_profiles_follow_weights() {
    let site = Site::new([]);
    site.sim.add_player(fast_bot("Rival"));
    let config = "[matchmaking]\nenabled = true\nidle_s = 0\n\
                  [[matchmaking.profile]]\nclock = \"1+0\"\n\
                  [[matchmaking.profile]]\nweight = 1000000\nclock = \"2+1\"\nvariant = \"chess960\"\n\
                  rated = false\ncolor = \"white\"\n";
    let _bot = Daemon::start(&site, config);
    let game = site.started(1).remove(0);
    assert_eq!(
        (game.white.as_str(), game.variant, game.rated),
        (BOT, "chess960", false),
        "{game:?}"
    );
    assert_eq!(game.time_control, TimeControl::clock(120, 1));
}

#[test]
fn matchmaking_opponents_take_turns() {
    let site = Site::new([]);
    let names = ["Rival", "Partner", "Foe"];
    for name in names {
        site.sim.add_player(fast_bot(name));
    }
    let mut bot = Daemon::start(&site, &format!("{EAGER}color = \"white\"{FAST_MOVES}"));
    let mut met = BTreeSet::new();
    for number in 1..=names.len() {
        let games = site.started(number);
        let mut new = games.iter().filter(|game| !met.contains(&game.black));
        let game = new.next().expect("somebody else").clone();
        site.finished(&game.id);
        wait_for_state(&bot, ".opponents.json", &game.black.to_lowercase());
        met.insert(game.black);
        bot.crash();
        // As on another day.
        std::fs::remove_file(bot.state_file(".quota.json").unwrap()).unwrap();
        bot.restart();
    }
}

#[test]
fn matchmaking_playing_bots_come_last() {
    let site = Site::new([
        silent_bot("Busy"),
        silent_bot("Partner"),
        silent_bot("Idler"),
    ]);
    let [busy, partner] = ["Busy", "Partner"].map(|name| site.player(name));
    let (status, sent) = busy.post("/api/challenge/Partner", &BLITZ);
    assert_eq!(status, 200, "{sent}");
    let id = sent["id"].as_str().unwrap();
    let (status, answer) = partner.post(&format!("/api/challenge/{id}/accept"), &[]);
    assert_eq!(status, 200, "{answer}");
    let bot = Daemon::start(&site, EAGER);
    wait_for_log(&bot, "INFO challenged ", 1);
    assert!(bot.log().contains("INFO challenged Idler"), "{}", bot.log());
}

/// Plays a game between two bots from start to end.
fn play(site: &Site, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| (name, site.player(name)));
    let (status, sent) = from.1.post(&format!("/api/challenge/{}", to.0), &BLITZ);
    assert_eq!(status, 200, "{sent}");
    let id = sent["id"]
        .as_str()
        .or(sent["challenge"]["id"].as_str())
        .unwrap();
    for (player, path) in [
        (&to.1, format!("/api/challenge/{id}/accept")),
        (&from.1, format!("/api/bot/game/{id}/abort")),
    ] {
        let (status, answer) = player.post(&path, &[]);
        assert_eq!(status, 200, "{answer}");
    }
}

/// A counting site, on which the bot's account has already played this many games with others.
fn used_site(games: usize) -> Site {
    let others = ["Ann", "Ben", "Cleo", "Dora", "Eve"];
    let mut users = vec![NewUser::bot(BOT), silent_bot("Statue")];
    users.extend(others.map(NewUser::bot));
    let site = Site::with(SimOptions {
        users,
        limits: true,
        ..SimOptions::default()
    });
    for number in 0..games {
        play(&site, others[number % others.len()], BOT);
    }
    site
}

#[test]
fn matchmaking_daily_limit_survives_restart() {
    let site = used_site(100);
    let mut bot = Daemon::start(&site, EAGER);
    wait_for_log(&bot, "You played 100 games against other bots today", 1);
    wait_until_idle(&bot, "the 100 games between bots");
    wait_for_state(&bot, ".quota.json", "bot.vsBot.day");
    restart(&mut bot);
    wait_until_idle(&bot, "the 100 games between bots");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 100 + 1);
    // The day is over for the site but not for the bot, which keeps the reported limit.
    site.sim.advance(Duration::from_secs(86_400));
    restart(&mut bot);
    wait_until_idle(&bot, "the 100 games between bots");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 100 + 1);
}

#[test]
fn matchmaking_daily_limit_declines_bots() {
    let site = used_site(99);
    let accepts = || requests_of(&site, BOT, Endpoint::ChallengeAccept).len();
    let before = accepts();
    let players = ["Ann", "Ben", "Cleo"].map(|name| site.player(name));
    let challenges = players.each_ref().map(|player| player.challenge(&BLITZ));
    // It has not counted the games that were played without it.
    let _bot = Daemon::start(&site, "games.concurrency = 1\n");
    let first = wait("the hundredth game is on", || {
        challenges.iter().position(|id| site.game(id).is_some())
    });
    let (status, _) =
        players[first].post(&format!("/api/bot/game/{}/abort", challenges[first]), &[]);
    assert_eq!(status, 200);
    for (player, id) in players.iter().zip(&challenges) {
        if *id != challenges[first] {
            assert_eq!(player.answer(id), "later");
        }
    }
    // After the second refusal it does not try a third time.
    assert_eq!(accepts(), before + 2);
}

#[test]
fn matchmaking_learns_lower_daily_limit() {
    let others = ["Ann", "Ben", "Cleo", "Dora", "Eve"];
    let mut users = vec![NewUser::bot(BOT)];
    users.extend(others.map(NewUser::bot));
    let site = Site::with(SimOptions {
        users,
        limits: true,
        quirks: Quirks {
            bot_games: 3,
            ..Quirks::default()
        },
        ..SimOptions::default()
    });
    let players = others.map(|name| site.player(name));
    let challenges = players.each_ref().map(|player| player.challenge(&BLITZ));
    let mut bot = Daemon::start(&site, "games.concurrency = 1\n");
    let mut played = Vec::new();
    while played.len() < 3 {
        let next = wait("the next game is on", || {
            let is_new = |id: &&String| site.game(id).is_some() && !played.contains(*id);
            challenges.iter().find(is_new).cloned()
        });
        let player = challenges.iter().position(|id| *id == next).unwrap();
        // The bot knows of the game, and so counts it.
        wait_for_log(&bot, &format!("game={next}"), 1);
        let (status, _) = players[player].post(&format!("/api/bot/game/{next}/abort"), &[]);
        assert_eq!(status, 200);
        played.push(next);
    }
    for (player, id) in players.iter().zip(&challenges) {
        if !played.contains(id) {
            assert_eq!(player.answer(id), "later");
        }
    }
    // After one refusal it does not try again.
    assert_eq!(requests_of(&site, BOT, Endpoint::ChallengeAccept).len(), 4);
    wait_for_log(
        &bot,
        "refuses further games against bots after 3 in 24 hours",
        1,
    );
    wait_for_state(&bot, ".quota.json", "learned_bot_games");
    restart(&mut bot);
    let status = wait("the status has the limit", || {
        Some(run_command(&bot, &["status"])).filter(|status| status.contains("bot games"))
    });
    assert!(
        status.contains("bot games 3 of 3 (limit learned from a refusal at "),
        "{status}"
    );
}

#[test]
fn daily_limit_of_bot_games_leaves_challenges_to_people() {
    let site = Site::with(SimOptions {
        users: vec![
            NewUser::bot(BOT),
            silent_bot("Statue"),
            NewUser::human("Anna"),
        ],
        limits: true,
        quirks: Quirks {
            bot_games: 1,
            ..Quirks::default()
        },
        ..SimOptions::default()
    });
    play(&site, "Statue", BOT);
    // It has not counted the game that was played without it.
    let bot = Daemon::start(&site, "");
    let refused = run_failing_command(&bot, &["challenge", "Statue", "3+2"]);
    assert!(refused.contains("429"), "{refused}");
    run_command(&bot, &["challenge", "Anna", "3+2"]);
}

#[test]
fn matchmaking_counts_games_of_others_over_restart() {
    let site = used_site(0);
    let config = EAGER.replace("idle_s = 0", "idle_s = 3");
    let mut bot = Daemon::start(
        &site,
        &config.replace("enabled = true", "enabled = true\nreserved_games = 97"),
    );
    // Three games are left for matchmaking; others have played that many beyond the reserve.
    let players = ["Ann", "Ben", "Cleo", "Dora", "Eve"].map(|name| site.player(name));
    for number in 0..100 {
        let player = &players[number % players.len()];
        let id = player.start(&BLITZ);
        let (status, _) = player.post(&format!("/api/bot/game/{id}/abort"), &[]);
        assert_eq!(status, 200);
    }
    wait_until_idle(&bot, "the 100 games between bots");
    restart(&mut bot);
    wait_until_idle(&bot, "the 100 games between bots");
    let log = bot.log();
    let (_, life) = log.rsplit_once("online as").unwrap();
    assert!(!life.contains("challenged Statue"), "{life}");
}

#[test]
fn matchmaking_unnamed_refusal_survives_restart() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), silent_bot("Statue")],
        ..SimOptions::default()
    });
    let body = r#"{"error":"Too many requests. Try again later."}"#;
    let limited = FaultRule::on(Endpoint::ChallengeCreate, Fault::json(429, body));
    site.sim.faults().add(limited.from_user(BOT));
    let mut bot = Daemon::start(&site, EAGER);
    wait_for_log(&bot, "cannot challenge Statue", 1);
    wait_for_state(&bot, ".quota.json", "in_a_row\":1");
    wait_until_idle(&bot, "Lichess takes no more challenges from us for now");
    restart(&mut bot);
    wait_until_idle(&bot, "Lichess takes no more challenges from us for now");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 1);
}

#[test]
fn matchmaking_restarts_limit_event_streams() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&[BLITZ[0], BLITZ[1], ("color", "white")]);
    wait_for_state(&bot, ".quota.json", "bot.vsBot.day");
    bot.crash();
    // As after thirty restarts.
    let file = bot.state_file(".quota.json").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"credits\":1}"), "{text}");
    std::fs::write(&file, text.replace("\"credits\":1}", "\"credits\":30}")).unwrap();
    bot.restart();
    wait_for_log(&bot, "too many event streams were opened recently", 1);
    // The game goes on.
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    assert_eq!(request_count(&site.sim, Endpoint::EventStream), 1);
}

#[test]
fn matchmaking_shutdown_cancels_challenge() {
    let site = Site::new([silent_bot("Statue")]);
    let unhurried = EAGER.replace("challenge_timeout_s = 2", "challenge_timeout_s = 600");
    let mut bot = Daemon::start(&site, &unhurried);
    wait_for_log(&bot, "challenged Statue", 1);
    bot.signal("TERM");
    assert!(bot.ended().success());
    let (_, list) = site.player("Statue").get("/api/challenge");
    assert_eq!(list["in"], Value::Array(Vec::new()));
}

#[test]
fn matchmaking_shutdown_cancels_correspondence_challenge() {
    let config = "[matchmaking]\nenabled = true\nidle_s = 0\ncorrespondence_games = 2\n\
                  [[matchmaking.profile]]\nclock = [\"2d\"]\nrated = false\n";
    for by_command in [false, true] {
        let site = Site::new([silent_bot("Statue")]);
        let mut bot = Daemon::start(&site, config);
        wait_for_log(&bot, "challenged Statue", 1);
        if by_command {
            run_command(&bot, &["drain"]);
        } else {
            bot.signal("TERM");
        }
        assert!(bot.ended().success());
        let (_, list) = site.player("Statue").get("/api/challenge");
        assert_eq!(list["in"], Value::Array(Vec::new()));
    }
}

#[test]
fn matchmaking_shutdown_cancels_challenge_in_flight() {
    let site = Site::new([silent_bot("Statue")]);
    // The challenge is created at once; only the response is late.
    let late = Fault::ResponseLate(Duration::from_millis(1_500));
    let slow = FaultRule::on(Endpoint::ChallengeCreate, late).from_user(BOT);
    site.sim.faults().add(slow);
    let mut bot = Daemon::start(&site, EAGER);
    wait("the challenge is on its way", || {
        (request_count(&site.sim, Endpoint::ChallengeCreate) == 1).then_some(())
    });
    bot.signal("TERM");
    assert!(bot.ended().success());
    let (_, list) = site.player("Statue").get("/api/challenge");
    assert_eq!(list["in"], Value::Array(Vec::new()));
}

#[test]
fn matchmaking_cancels_no_challenge_that_may_be_accepted() {
    let site = Site::new([silent_bot("Statue")]);
    let down = FaultRule::on(Endpoint::ChallengeShow, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(down.times(2));
    let _bot = Daemon::start(&site, EAGER);
    wait("the challenge is canceled", || {
        (request_count(&site.sim, Endpoint::ChallengeCancel) >= 1).then_some(())
    });
    assert!(request_count(&site.sim, Endpoint::ChallengeShow) >= 3);
}

#[test]
fn matchmaking_lost_event_stream_loses_no_challenge() {
    let site = Site::new([silent_bot("Statue")]);
    let unhurried = EAGER.replace("challenge_timeout_s = 2", "challenge_timeout_s = 600");
    let bot = Daemon::start(&site, &unhurried);
    wait_for_log(&bot, "challenged Statue", 1);
    site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
    wait_for_log(&bot, "online as", 2);
    let statue = site.player("Statue");
    let (_, list) = statue.get("/api/challenge");
    let id = list["in"][0]["id"].as_str().expect("a challenge");
    let (declined, _) = statue.post(&format!("/api/challenge/{id}/decline"), &[]);
    assert_eq!(declined, 200);
    wait_for_log(&bot, "Statue has declined", 1);
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCancel), 0);
}

#[test]
fn matchmaking_keeps_challenge_of_operator() {
    let site = Site::new([silent_bot("Statue")]);
    let bot = Daemon::start(&site, &EAGER.replace("enabled = true", "enabled = false"));
    run_command(&bot, &["challenge", "Statue", "3d"]);
    run_command(&bot, &["seek", "on"]);
    wait_until_idle(&bot, "have a challenge of ours");
    let (_, list) = site.player("Statue").get("/api/challenge");
    assert_eq!(list["in"].as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 1);
}

#[test]
fn matchmaking_paused_bot_challenges_nobody() {
    let site = Site::new([silent_bot("Statue")]);
    let unhurried = EAGER.replace("challenge_timeout_s = 2", "challenge_timeout_s = 600");
    let mut bot = Daemon::start(&site, &unhurried);
    wait_for_log(&bot, "challenged Statue", 1);
    run_command(&bot, &["pause"]);
    wait("the challenge is taken back", || {
        (request_count(&site.sim, Endpoint::ChallengeCancel) == 1).then_some(())
    });
    wait_until_idle(&bot, "the operator has paused the bot");
    restart(&mut bot);
    wait_until_idle(&bot, "the operator has paused the bot");
    assert_eq!(request_count(&site.sim, Endpoint::ChallengeCreate), 1);
    run_command(&bot, &["resume"]);
    wait_for_log(&bot, "challenged Statue", 2);
}

#[test]
fn matchmaking_seeks_until_places_are_taken() {
    let site = Site::new([]);
    for name in ["Ann", "Ben", "Cleo", "Dora"] {
        // They play for as long as the test takes.
        site.sim.add_player(PlayerOptions {
            delay: Duration::from_secs(2)..=Duration::from_secs(2),
            ..PlayerOptions::new(name, PlayerKind::Random)
        });
    }
    let games = "games = { concurrency = 4, reserved_for_humans = 1 }\n";
    let matchmaking = EAGER
        .replace(
            "enabled = true",
            "enabled = true\nconcurrency = 4\nreserved_games = 0",
        )
        .replace("\"1+0\"", "\"10+0\"");
    let mut bot = Daemon::start(&site, &format!("{games}{matchmaking}"));
    // All but the first game of a day are spread over it.
    for count in 1..=3 {
        site.started(count);
        wait_for_state(&bot, ".quota.json", "\"games\":1,");
        bot.crash();
        // As on another day.
        std::fs::remove_file(bot.state_file(".quota.json").unwrap()).unwrap();
        bot.restart();
    }
    let log = || {
        bot.log()
            .rsplit_once("online as")
            .map(|(_, life)| life.to_owned())
    };
    wait("the games go on", || {
        log().filter(|life| life.matches("stream open game=").count() == 3)
    });
    let games = site.sim.games();
    let opponents: BTreeSet<&str> = games
        .iter()
        .flat_map(|game| [&*game.white, &*game.black])
        .collect();
    // Three games against three opponents; the fourth slot is kept for people.
    assert_eq!((games.len(), opponents.len()), (3, 4), "{games:?}");
}

#[test]
fn matchmaking_seeks_correspondence_games() {
    let site = Site::new([]);
    for name in ["Ann", "Ben", "Cleo"] {
        site.sim.add_player(fast_bot(name));
    }
    let config = "[matchmaking]\nenabled = true\nidle_s = 0\ncorrespondence_games = 2\n\
                  [[matchmaking.profile]]\nclock = [\"2d\"]\nrated = false\n";
    let bot = Daemon::start(&site, config);
    let games = site.started(2);
    assert!(
        games
            .iter()
            .all(|game| game.time_control == TimeControl::Days(2)),
        "{games:?}"
    );
    // Both games of a pair are played at once.
    let white = games.iter().filter(|game| game.white == BOT).count();
    assert_eq!(white, 1, "{games:?}");
    drop(bot);
}

#[test]
fn matchmaking_prefers_by_order() {
    let rated = |name: &str, rating| silent_bot(name).rating(rating);
    for (order, wanted) in [
        ("strongest", "Strong"),
        ("weakest", "Weak"),
        ("nearest", "Near"),
    ] {
        let site = Site::new([
            rated("Strong", 1_700),
            rated("Near", 1_510),
            rated("Weak", 1_300),
        ]);
        let config = EAGER.replace(
            "enabled = true",
            &format!("enabled = true\norder = \"{order}\""),
        );
        let bot = Daemon::start(&site, &config);
        wait_for_log(&bot, "INFO challenged ", 1);
        let log = bot.log();
        assert!(
            log.contains(&format!("INFO challenged {wanted}")),
            "{order}: {log}"
        );
    }
}

#[test]
fn matchmaking_is_switched_by_command() {
    let site = Site::new([silent_bot("Statue")]);
    let off = EAGER.replace("enabled = true", "enabled = false");
    let mut bot = Daemon::start(
        &site,
        &off.replace("challenge_timeout_s = 2", "challenge_timeout_s = 600"),
    );
    assert!(run_command(&bot, &["status"]).contains("seeking  off"));
    assert!(run_command(&bot, &["seek", "off"]).contains("off already"));
    let done = run_command(&bot, &["seek", "on"]);
    assert!(
        done.contains("matchmaking is on; this survives restarts"),
        "{done}"
    );
    wait_for_log(&bot, "challenged Statue", 1);
    assert!(run_command(&bot, &["status"]).contains("seeking  on"));
    restart(&mut bot);
    wait_for_log(&bot, "challenged Statue", 2);
    // Settings that matchmaking could not use are not taken while it is on.
    bot.configure(|text| text.replace("enabled = false", "enabled = false\nreserved_games = 100"));
    let refused = run_failing_command(&bot, &["reload"]);
    assert!(refused.contains("the settings are unchanged"), "{refused}");
    assert!(
        refused.contains("100 games a day are reserved"),
        "{refused}"
    );
    run_command(&bot, &["seek", "off"]);
    wait("the challenge is taken back", || {
        (request_count(&site.sim, Endpoint::ChallengeCancel) > 0).then_some(())
    });
    run_command(&bot, &["reload"]);
    let refused = run_failing_command(&bot, &["seek", "on"]);
    assert!(
        refused.contains("100 games a day are reserved"),
        "{refused}"
    );
}
