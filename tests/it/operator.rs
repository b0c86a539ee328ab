//! Operator commands to the running program, SIGHUP, and their survival of a crash.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use knightwatch::sim::{
    Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions, SimOptions, StreamFault,
};
use knightwatch::store::{Page, Reader};
use serde_json::Value;

use crate::common::{BOT, Daemon, IMPATIENT, Killed, Player, SLOW, Site, requests_of, wait};

const BLITZ: [(&str, &str); 2] = [("clock.limit", "180"), ("clock.increment", "2")];
const RATED: [(&str, &str); 3] = [BLITZ[0], BLITZ[1], ("rated", "true")];

pub(crate) fn run(bot: &Daemon, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.args(arguments).arg("--socket").arg(bot.socket());
    command.output().unwrap()
}

/// Response to a command that succeeds.
pub(crate) fn run_command(bot: &Daemon, arguments: &[&str]) -> String {
    let output = run(bot, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Response to a command that fails.
pub(crate) fn run_failing_command(bot: &Daemon, arguments: &[&str]) -> String {
    let output = run(bot, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Error about the arguments alone.
fn usage_error(bot: &Daemon, arguments: &[&str]) -> String {
    let output = run(bot, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

pub(crate) fn status(bot: &Daemon) -> Value {
    serde_json::from_slice(&run(bot, &["status", "--json"]).stdout).unwrap()
}

fn wait_for_log(bot: &Daemon, words: &str) {
    wait(&format!("the log says: {words}"), || {
        bot.log().contains(words).then_some(())
    });
}

/// Waits until the program has opened its event stream this many times.
pub(crate) fn wait_online(bot: &Daemon, times: usize) {
    wait("the bot is back", || {
        (bot.log().matches("online as").count() >= times).then_some(())
    });
}

fn challenge_and_wait(player: &Player<'_>, form: &[(&str, &str)]) -> String {
    player.answer(&player.challenge(form))
}

fn site() -> Site {
    Site::new([
        NewUser::bot("Anna"),
        NewUser::bot("Bert"),
        NewUser::bot("Rival"),
    ])
}

#[test]
fn operator_pause_survives_crash() {
    let site = site();
    let mut bot = Daemon::start(
        &site,
        "challenge.queue_size = 2\n[games]\nconcurrency = 1\n",
    );
    let [anna, bert, rival] = ["Anna", "Bert", "Rival"].map(|name| site.player(name));
    let game = anna.start(&[BLITZ[0], BLITZ[1], ("color", "white")]);
    // Waiting challenges are answered too.
    let waiting = bert.challenge(&BLITZ);
    wait_for_log(&bot, "is queued");
    let done = run_command(&bot, &["pause"]);
    assert!(done.contains("the running game continues"), "{done}");
    assert_eq!(bert.answer(&waiting), "later");
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "later");
    anna.play(&game, "e2e4");
    site.plies(&game, 2);
    assert!(run_command(&bot, &["pause"]).contains("already"));
    wait("the pause is shown", || {
        (status(&bot)["paused"] == true).then_some(())
    });
    assert!(run_command(&bot, &["status"]).contains("PAUSED"));

    bot.crash_and_restart();
    wait_online(&bot, 2);
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
    anna.play(&game, "g1f3");
    site.plies(&game, 4);
    let (resigned, _) = anna.post(&format!("/api/bot/game/{game}/resign"), &[]);
    assert_eq!(resigned, 200);
    site.finished(&game);
    assert!(run_command(&bot, &["resume"]).contains("new games"));
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "accepted");
}

#[test]
fn operator_block_survives_crash() {
    let site = site();
    let mut bot = Daemon::start(
        &site,
        "[[rule]]\nmatch = { name = \"rival\" }\naccept = true\n",
    );
    let [anna, rival] = ["Anna", "Rival"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "accepted");
    let address = format!("{}/@/RIVAL", site.url);
    assert!(run_command(&bot, &["block", &address]).contains("blocked RIVAL"));
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "generic");
    bot.crash_and_restart();
    wait_online(&bot, 2);
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "generic");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    wait("it is shown", || {
        (status(&bot)["blocked"] == serde_json::json!(["RIVAL"])).then_some(())
    });
    assert!(run_failing_command(&bot, &["unblock", "Anna"]).contains("was not blocked"));
    run_command(&bot, &["unblock", "https://lichess.org/@/rival"]);
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "accepted");
    let own = run_failing_command(&bot, &["block", &BOT.to_lowercase()]);
    assert!(own.contains("is this bot itself"), "{own}");
    assert_eq!(status(&bot)["blocked"], serde_json::json!([]));
}

#[test]
fn operator_unblock_names_another_block() {
    let site = site();
    let bot = Daemon::start(&site, "challenge.block = [\"Riv*\"]\n");
    run_command(&bot, &["block", "rival"]);
    let done = run_command(&bot, &["unblock", "Rival"]);
    assert!(done.contains("Riv* blocks the same name"), "{done}");
}

#[test]
fn operator_move_now_plays_at_once() {
    let site = site();
    let bot = Daemon::start(&site, "book = { enabled = false }\n");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    assert!(
        run_failing_command(&bot, &["move-now", "nonesuch"])
            .contains("no game nonesuch is running")
    );
    let turn = |bot: &Daemon| run_failing_command(bot, &["move-now", &id]);
    wait("the game is on", || {
        turn(&bot).contains("not our turn").then_some(())
    });
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    // From here on it would think for minutes.
    anna.play(&id, "g1f3");
    wait("it thinks", || {
        let game = status(&bot)["games"][0].clone();
        (game["ply"] == 3 && game["activity"] == "searching").then_some(())
    });
    let wanted = Instant::now();
    // The address as in the browser of a player.
    let address = format!("{}/{id}abcd", site.url);
    assert!(run_command(&bot, &["move-now", &address]).contains("best move found so far"));
    site.plies(&id, 4);
    println!("move-now: the move stands {:.1?} later", wanted.elapsed());
    assert!(wanted.elapsed() < Duration::from_secs(30));
}

#[test]
fn operator_challenge_is_sent() {
    let statue = NewUser {
        present: true,
        ..NewUser::human("Statue")
    };
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), statue],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim
        .add_player(PlayerOptions::new("Ann", PlayerKind::Random));
    let bot = Daemon::start_with(&site, "", &["--time-scale", "10"]);
    for (arguments, why) in [
        (["challenge", BOT, "3+2"], "is this account"),
        (["challenge", "Nobody7", "3+2"], "No such user"),
    ] {
        let printed = run_failing_command(&bot, &arguments);
        assert!(printed.contains(why), "{printed}");
    }
    run_command(
        &bot,
        &[
            "challenge",
            "https://lichess.org/@/Ann",
            "3+2",
            "--rated",
            "--color",
            "white",
        ],
    );
    let game = site.started(1).remove(0);
    assert_eq!((game.white.as_str(), game.rated), (BOT, true));
    site.plies(&game.id, 4);
    // An unanswered challenge is canceled.
    let done = run_command(&bot, &["challenge", "Statue", "5+0"]);
    let id = done
        .split([' ', ';'])
        .find(|word| word.len() == 8)
        .unwrap()
        .to_owned();
    wait("it is taken back", || {
        let (_, challenge) = site.player(BOT).get(&format!("/api/challenge/{id}/show"));
        let challenge = challenge.get("challenge").unwrap_or(&challenge);
        (challenge["status"] == "canceled").then_some(())
    });
}

#[test]
fn operator_wrong_arguments_are_usage_errors() {
    let site = site();
    let bot = Daemon::start(&site, "");
    for (arguments, why) in [
        (&["challenge", "Anna", "3"][..], "minutes and seconds"),
        (&["challenge", "Anna", "0+0"], "bots may not play that fast"),
        (&["challenge", "Anna", "181+0"], "Lichess has no such clock"),
        (&["challenge", "Anna", "4d"], "1, 2, 3, 5, 7, 10 or 14 days"),
        (&["challenge", "two names", "3+2"], "not the name of a user"),
        (
            &["challenge", "Anna", "3+2", "--variant", "bughouse"],
            "standard, chess960, crazyhouse",
        ),
        (
            &["challenge", "Anna", "3+2", "--color", "green"],
            "white, black or random",
        ),
        (&["block", "two names"], "expected a name"),
        (&["unblock", ""], "expected a name"),
        (&["join", "../x"], "arena"),
        (&["leave", "../x"], "not the id of an arena"),
        (&["move-now", "../x"], "not the id of a game"),
        (&["pause", "now"], "unexpected argument"),
    ] {
        let printed = usage_error(&bot, arguments);
        assert!(printed.contains(why), "{arguments:?}: {printed}");
    }
    let calls = site.sim.faults().request_count(Endpoint::ChallengeCreate);
    assert_eq!(calls, 0);
}

/// Status of a challenge on Lichess.
fn challenge_status(site: &Site, id: &str) -> String {
    let (_, shown) = site.player(BOT).get(&format!("/api/challenge/{id}/show"));
    let challenge = shown.get("challenge").unwrap_or(&shown);
    challenge["status"].as_str().unwrap_or_default().to_owned()
}

/// Id of the challenge in a response.
fn challenge_id(printed: &str) -> String {
    let id = printed.split([' ', ';', '\n']).find(|word| word.len() == 8);
    id.unwrap_or_else(|| panic!("{printed}")).to_owned()
}

#[test]
fn operator_shutdown_cancels_open_challenge() {
    for by_signal in [false, true] {
        let site = site();
        let mut bot = Daemon::start(&site, "");
        let id = challenge_id(&run_command(&bot, &["challenge", "Rival", "5+0"]));
        // A correspondence challenge is left to a later start.
        let slow = challenge_id(&run_command(&bot, &["challenge", "Anna", "2d"]));
        let commanded_at = Instant::now();
        match by_signal {
            true => bot.signal("TERM"),
            false => {
                assert!(
                    run_command(&bot, &["drain"])
                        .contains("our open challenges with a clock are canceled")
                );
            }
        }
        assert_eq!(bot.ended().code(), Some(0));
        assert!(
            commanded_at.elapsed() < Duration::from_secs(20),
            "{}",
            bot.log()
        );
        assert_eq!(challenge_status(&site, &id), "canceled");
        assert_eq!(challenge_status(&site, &slow), "created");
        for line in [
            "draining: no game is running and no new ones are taken",
            "stopped: no game is left",
        ] {
            assert!(bot.log().contains(line), "{line}: {}", bot.log());
        }
    }
}

#[test]
fn operator_challenge_accepted_during_cancel_is_played() {
    let site = site();
    let slow = FaultRule::on(
        Endpoint::ChallengeShow,
        Fault::Stall(Duration::from_secs(60)),
    );
    site.sim.faults().add(slow.from_user(BOT));
    let mut bot = Daemon::start(&site, "");
    let done = run_command(&bot, &["challenge", "Rival", "5+0", "--color", "black"]);
    let id = challenge_id(&done);
    run_command(&bot, &["drain"]);
    wait("it is being taken back", || {
        requests_of(&site, BOT, Endpoint::ChallengeShow).pop()
    });
    let rival = site.player("Rival");
    let (accepted, _) = rival.post(&format!("/api/challenge/{id}/accept"), &[]);
    assert_eq!(accepted, 200);
    site.sim.advance(Duration::from_secs(60));
    wait_for_log(&bot, "it was accepted, and its game is being played");
    rival.play(&id, "e2e4");
    site.plies(&id, 2);
    assert!(bot.is_running());
    let (resigned, _) = rival.post(&format!("/api/bot/game/{id}/resign"), &[]);
    assert_eq!(resigned, 200);
    assert_eq!(bot.ended().code(), Some(0));
    assert_eq!(site.finished(&id).status, "resign");
}

#[test]
fn operator_challenge_is_canceled_despite_failures() {
    let site = site();
    let faults = site.sim.faults();
    let missing = Fault::json(403, r#"{"error":"Missing scope: challenge:read"}"#);
    faults.add(FaultRule::on(Endpoint::ChallengeShow, missing).times(usize::MAX));
    // More often than one series of attempts, and once more for the series of the next minute.
    let deploy = FaultRule::on(Endpoint::ChallengeCancel, Fault::html(502));
    faults.add(deploy.times(8));
    let bot = Daemon::start_with(&site, "", &IMPATIENT);
    let done = run_command(&bot, &["challenge", "Rival", "5+0"]);
    let id = challenge_id(&done);
    let rival = site.player("Rival");
    wait("it is canceled", || {
        let (_, list) = rival.get("/api/challenge");
        list["in"].as_array()?.is_empty().then_some(())
    });
    assert!(
        bot.log().contains("cannot cancel it, trying again"),
        "{}",
        bot.log()
    );
    assert!(site.game(&id).is_none());
}

#[test]
fn operator_closed_challenge_is_not_shown() {
    let site = site();
    let bot = Daemon::start(&site, "");
    let rival = site.player("Rival");
    let incoming = || {
        wait("the challenge is there", || {
            let (_, list) = rival.get("/api/challenge");
            list["in"][0]["id"].as_str().map(str::to_owned)
        })
    };
    // Declined before the bot knows that the challenge was created.
    let late = FaultRule::on(
        Endpoint::ChallengeCreate,
        Fault::ResponseLate(Duration::from_secs(60)),
    );
    site.sim.faults().add(late.from_user(BOT).times(1));
    std::thread::scope(|scope| {
        let command = scope.spawn(|| run_command(&bot, &["challenge", "Rival", "5+0"]));
        let (declined, _) = rival.post(&format!("/api/challenge/{}/decline", incoming()), &[]);
        assert_eq!(declined, 200);
        site.sim.advance(Duration::from_secs(60));
        let reply = command.join().unwrap();
        assert!(reply.contains("Rival has declined"), "{reply}");
    });
    let shown = || status(&bot)["challenges"].clone();
    wait("it is not shown", || {
        (shown() == serde_json::json!([])).then_some(())
    });
    // As usual again.
    run_command(&bot, &["challenge", "Rival", "5+0"]);
    wait("it is shown", || {
        (shown().as_array()?.len() == 1).then_some(())
    });
    let started = Instant::now();
    rival.post(&format!("/api/challenge/{}/decline", incoming()), &[]);
    wait("it is not shown", || {
        (shown() == serde_json::json!([])).then_some(())
    });
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn operator_correspondence_challenge_is_shown_while_open() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Anna")],
        speed: 10.0,
        ..SimOptions::default()
    });
    let bot = Daemon::start_with(&site, "", &["--time-scale", "10"]);
    let shown = || {
        let status = status(&bot);
        let shown = status["challenges"].as_array().cloned().unwrap_or_default();
        let ids = shown.iter().filter_map(|one| one["id"].as_str());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let [first, second] = ["2d", "3d"].map(|time| {
        let id = challenge_id(&run_command(&bot, &["challenge", "Anna", time]));
        wait("it is shown, and nothing else", || {
            (shown() == [id.as_str()]).then_some(())
        });
        id
    });
    // Lichess has no event for either end.
    assert_eq!(challenge_status(&site, &first), "canceled");
    assert_eq!(challenge_status(&site, &second), "created");
    site.sim.advance(Duration::from_secs(15 * 86_400));
    wait("none is shown", || shown().is_empty().then_some(()));
    wait_for_log(&bot, "it has expired without an answer");
}

#[test]
fn operator_challenge_overrides_pause() {
    let site = site();
    let bot = Daemon::start(&site, "");
    run_command(&bot, &["pause"]);
    let done = run_command(&bot, &["challenge", "Rival", "5+0"]);
    assert!(
        done.contains("the bot is paused, and this challenge is sent anyway"),
        "{done}"
    );
    assert_eq!(challenge_status(&site, &challenge_id(&done)), "created");
}

#[test]
fn operator_refused_challenge_is_not_retried() {
    let site = site();
    let mut bot = Daemon::start(&site, "");
    let limit = r#"{"error":"Too many requests","ratelimit":{"key":"challenge.create.user","seconds":3600}}"#;
    let rule = FaultRule::on(Endpoint::ChallengeCreate, Fault::json(429, limit)).from_user(BOT);
    site.sim.faults().add(rule);
    let calls = || site.sim.faults().request_count(Endpoint::ChallengeCreate);
    assert!(run_failing_command(&bot, &["challenge", "Anna", "3+2"]).contains("429"));
    for life in 1..=2 {
        let why = run_failing_command(&bot, &["challenge", "Anna", "3+2"]);
        assert!(why.contains("takes no challenges from us before"), "{why}");
        assert_eq!(calls(), 1);
        if life == 1 {
            wait("that is on disk", || {
                let mut files = std::fs::read_dir(bot.state()).ok()?.flatten();
                let quota = files
                    .find(|file| file.file_name().to_string_lossy().ends_with("quota.json"))?;
                let text = std::fs::read_to_string(quota.path()).ok()?;
                let quota: Value = serde_json::from_str(&text).ok()?;
                (quota["refusals"]["until"].as_u64()? > 0).then_some(())
            });
            bot.crash_and_restart();
            wait_online(&bot, 2);
        }
    }
}

#[test]
fn operator_drain_finishes_games_and_exits() {
    let site = site();
    let mut bot = Daemon::start(&site, "");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let game = anna.start(&[BLITZ[0], BLITZ[1], ("color", "white")]);
    anna.play(&game, "e2e4");
    site.plies(&game, 2);
    assert!(run_command(&bot, &["drain"]).contains("no new games"));
    wait_for_log(
        &bot,
        "draining: finishing 1 game, taking no new ones, then stopping",
    );
    // It is not undone, and the response does not claim that.
    for (order, words) in [
        (
            "resume",
            "it was not paused, but the program is stopping, which cannot be undone: start it again",
        ),
        ("pause", "paused: no new games"),
        ("resume", "no longer paused, but the program is stopping"),
    ] {
        let done = run_command(&bot, &[order]);
        assert!(done.contains(words), "{done}");
    }
    assert!(!bot.log().contains("new games are taken again"));
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
    let refusal = run_failing_command(&bot, &["challenge", "Rival", "3+2"]);
    assert!(refusal.contains("shutting down"), "{refusal}");
    assert!(bot.is_running());
    let (resigned, _) = anna.post(&format!("/api/bot/game/{game}/resign"), &[]);
    assert_eq!(resigned, 200);
    assert_eq!(bot.ended().code(), Some(0));
    assert!(bot.log().contains("stopped: no game is left"));
}

#[test]
fn operator_reload_applies_valid_settings_only() {
    let site = site();
    let bot = Daemon::start(&site, "[chat]\nfarewell = \"As it began\"\n");
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let white = [BLITZ[0], BLITZ[1], ("color", "white")];
    let game = anna.start(&white);
    assert_eq!(challenge_and_wait(&bert, &RATED), "accepted");
    bot.configure(|text| {
        let text = text.replace("threads = 1", "threads = 2");
        text.replace("As it began", "Changed") + "[challenge]\nrated = false\n"
    });
    bot.signal("HUP");
    for words in [
        "chat.farewell: \"As it began\" -> \"Changed\"",
        "challenge.rated: true -> false",
        "not before a restart: engine.threads: 1 -> 2",
    ] {
        wait_for_log(&bot, words);
    }
    assert_eq!(challenge_and_wait(&bert, &RATED), "casual");
    let next = bert.start(&white);
    for (player, game, farewell) in [(&anna, &game, "As it began"), (&bert, &next, "Changed")] {
        player.play(game, "e2e4");
        site.plies(game, 2);
        let (resigned, _) = player.post(&format!("/api/bot/game/{game}/resign"), &[]);
        assert_eq!(resigned, 200);
        wait("the last word", || {
            let (_, lines) = player.get(&format!("/api/bot/game/{game}/chat"));
            lines.to_string().contains(farewell).then_some(())
        });
    }

    bot.configure(|text| text.replace("rated = false", "rated = \"perhaps\"\nblock = [\"Anna\"]"));
    let why = run_failing_command(&bot, &["reload"]);
    assert!(why.contains("`\"perhaps\"` does not fit `rated`"), "{why}");
    assert!(why.contains("config.toml:"), "{why}");
    wait_for_log(&bot, "the settings are unchanged");
    assert_eq!(challenge_and_wait(&anna, &RATED), "casual");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    // Changes that need a restart are named at each reload, applied changes once.
    let book = bot.state().with_file_name("new.bin");
    std::fs::copy("crates/book/src/repertoire.bin", book).unwrap();
    let named = "[book]\nfiles = [\"new.bin\"]\n[[rule]]\nplay = { book = [\"new.bin\"] }\n";
    bot.configure(|text| text.replace("rated = \"perhaps\"\n", "") + named);
    let done = run_command(&bot, &["reload"]);
    assert!(done.contains("challenge.block: [] -> [\"Anna\"]"), "{done}");
    assert!(
        done.contains("not before a restart: engine.threads"),
        "{done}"
    );
    let missing = "not before a restart: rule: there is no book `new.bin`";
    assert!(done.contains(missing), "{done}");
    assert!(!done.contains("farewell"), "{done}");
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "generic");
}

#[test]
fn operator_reload_reports_unopened_books() {
    let site = site();
    let bot = Daemon::start(&site, "book = { enabled = false }\n");
    let missed = || run_command(&bot, &["reload"]).contains("and none were opened at the start");
    assert!(!missed());
    bot.configure(|text| text + "[[rule]]\nplay = { book = true }\n");
    assert!(missed());
    assert!(missed(), "as before");
}

#[test]
fn operator_reload_changes_concurrency() {
    let site = site();
    let bot = Daemon::start(
        &site,
        "challenge.queue_size = 0\n[games]\nconcurrency = 1\n",
    );
    let [anna, bert, rival] = ["Anna", "Bert", "Rival"].map(|name| site.player(name));
    assert_eq!(challenge_and_wait(&anna, &BLITZ), "accepted");
    assert_eq!(challenge_and_wait(&bert, &BLITZ), "later");
    bot.configure(|text| text.replace("concurrency = 1", "concurrency = 2"));
    run_command(&bot, &["reload"]);
    let second = bert.start(&BLITZ);
    bot.configure(|text| text.replace("concurrency = 2", "concurrency = 1"));
    run_command(&bot, &["reload"]);
    let (resigned, _) = bert.post(&format!("/api/bot/game/{second}/resign"), &[]);
    assert_eq!(resigned, 200);
    wait("one game is left", || {
        (status(&bot)["games"].as_array()?.len() == 1).then_some(())
    });
    assert_eq!(challenge_and_wait(&rival, &BLITZ), "later");
}

#[test]
fn operator_command_finds_bot_by_config() {
    let site = site();
    let bot = Daemon::start(&site, "");
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let program = || Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    let config = bot.socket().with_file_name("config.toml");
    let (code, printed) = run(program().args(["status", "--config"]).arg(&config));
    assert_eq!(code, Some(0), "{printed}");
    let (code, printed) = run(program()
        .arg("status")
        .env("KNIGHTWATCH__DAEMON__SOCKET", bot.socket()));
    assert_eq!(code, Some(0), "{printed}");
    // A mistake elsewhere is reported, and the bot is reached.
    bot.configure(|text| text + "[challenge]\nfriendly = true\n");
    let (code, printed) = run(program().args(["status", "--config"]).arg(&config));
    assert_eq!(code, Some(0), "{printed}");
    let used = format!("the control socket {} is used", bot.socket().display());
    assert!(
        printed.contains("friendly") && printed.contains(&used),
        "{printed}"
    );
    // A file that cannot be read may be mistyped, so that the bot of the variable is not meant.
    let (code, printed) = run(program()
        .args(["pause", "--config", "/nowhere/config.toml"])
        .env("KNIGHTWATCH__DAEMON__SOCKET", bot.socket()));
    assert_eq!(code, Some(78), "{printed}");
    assert!(printed.contains("/nowhere/config.toml"), "{printed}");
}

#[test]
fn operator_command_without_bot_fails() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["pause", "--socket"])
        .arg(home.path().join("control.sock"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("no daemon is running"), "{printed}");
}

#[test]
fn operator_challenge_with_lost_response_is_tracked() {
    let site = site();
    let lost = FaultRule::on(Endpoint::ChallengeCreate, Fault::ResponseLost);
    site.sim.faults().add(lost.from_user(BOT));
    let mut bot = Daemon::start(&site, "");
    // The order of the loss and the echo is random.
    run(&bot, &["challenge", "Rival", "3+2"]);
    wait_for_log(&bot, "challenging Rival to 3+2");
    wait("it is counted", || {
        let mut files = std::fs::read_dir(bot.state()).ok()?.flatten();
        let file = files.find(|file| file.file_name().to_string_lossy().ends_with("quota.json"))?;
        let text = std::fs::read_to_string(file.path()).ok()?;
        text.contains("challenge.create.user.day").then_some(())
    });
    let incoming = || site.player("Rival").get("/api/challenge").1["in"].clone();
    assert_eq!(incoming().as_array().unwrap().len(), 1);
    assert!(bot.stop().success());
    assert_eq!(incoming(), Value::Array(Vec::new()));
}

#[test]
fn operator_challenge_with_lost_response_and_echo_is_found() {
    let site = site();
    let lost = FaultRule::on(Endpoint::ChallengeCreate, Fault::ResponseLost);
    site.sim.faults().add(lost.from_user(BOT));
    let bot = Daemon::start(&site, "");
    wait_online(&bot, 1);
    site.sim
        .break_streams(Some(BOT), None, StreamFault::Silence);
    run(&bot, &["challenge", "Rival", "3+2"]);
    wait("it is created", || {
        let (_, list) = site.player("Rival").get("/api/challenge");
        (list["in"].as_array()?.len() == 1).then_some(())
    });
    site.sim.break_streams(Some(BOT), None, StreamFault::Reset);
    wait_for_log(&bot, "challenge was created although its response was lost");
}

#[test]
fn operator_challenge_results_are_recorded() {
    let site = site();
    let bot = Daemon::start(&site, "");
    let rival = site.player("Rival");
    let incoming = || {
        wait("the challenge is there", || {
            let (_, list) = rival.get("/api/challenge");
            list["in"][0]["id"].as_str().map(str::to_owned)
        })
    };
    for answer in ["decline", "accept"] {
        run_command(&bot, &["challenge", "Rival", "3+2"]);
        let (status, _) = rival.post(&format!("/api/challenge/{}/{answer}", incoming()), &[]);
        assert_eq!(status, 200);
    }
    run_failing_command(&bot, &["challenge", "Nobody", "3+2"]);
    let (_, port) = site.url.rsplit_once(':').unwrap();
    let file = bot.state().join(format!("127.0.0.1-{port}.sqlite"));
    let words = wait("three decisions are written", || {
        let decided = Reader::open(&file).ok()?.decisions(Page::first(9)).ok()?;
        let words = decided.iter().rev().map(|one| {
            assert_eq!(one.from.name, BOT);
            format!("{}: {}", one.decision, one.reason)
        });
        Some(words.collect::<Vec<_>>()).filter(|words| words.len() >= 3)
    });
    let expected = [
        "declined: Rival has declined (generic)",
        "accepted: by operator command",
        "dropped: Lichess answered 400: No such user: Nobody",
    ];
    assert_eq!(words, expected);
}

#[test]
fn operator_reload_without_config_changes_nothing() {
    let site = site();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("knightwatch.toml");
    let socket = home.path().join("control.sock");
    // Found where the program is started.
    let text = format!(
        "lichess.url = \"{}\"\nengine = {{ hash_mib = 16, threads = 1 }}\nchallenge.accept = false\n\
         web.listen = \"\"\ndaemon = {{ socket = \"{}\" }}\n",
        site.url,
        socket.display()
    );
    std::fs::write(&file, text).unwrap();
    let bot = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .arg("run")
        .current_dir(home.path())
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env("LICHESS_TOKEN", site.sim.token_of(BOT))
        .env("STATE_DIRECTORY", home.path().join("state"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _bot = Killed(bot.unwrap());
    wait("the bot is online", || {
        let streams = requests_of(&site, BOT, Endpoint::EventStream);
        (socket.exists() && !streams.is_empty()).then_some(())
    });
    let anna = site.player("Anna");
    assert_ne!(challenge_and_wait(&anna, &BLITZ), "accepted");
    let away = home.path().join("away.toml");
    for (from, to, done) in [(&file, &away, false), (&away, &file, true)] {
        std::fs::rename(from, to).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
        let output = command
            .args(["reload", "--socket"])
            .arg(&socket)
            .output()
            .unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.success(), done, "{printed}");
        let expected = if done {
            "nothing has changed"
        } else {
            "cannot read knightwatch.toml"
        };
        assert!(printed.contains(expected), "{printed}");
        assert_ne!(challenge_and_wait(&anna, &BLITZ), "accepted");
    }
}

#[test]
fn operator_unreadable_overrides_are_reported_and_kept() {
    let site = site();
    let mut bot = Daemon::start(&site, "");
    run_command(&bot, &["block", "Rival"]);
    run_command(&bot, &["pause"]);
    // At once, without waiting for the next second.
    assert_eq!(status(&bot)["paused"], true);
    let file = bot.state_file(".overrides.json").unwrap();
    let mode = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    for (life, (text, why)) in (2..).zip([
        ("{\"paused\": tru", "line 1 column 14"),
        ("", "it is empty"),
        ("[]", "not an object"),
    ]) {
        bot.crash();
        std::fs::write(&file, text).unwrap();
        bot.restart();
        wait_online(&bot, life);
        let log = bot.log();
        let warning = log
            .lines()
            .rfind(|line| line.contains("starting without overrides"))
            .unwrap();
        assert!(warning.contains(why), "{warning}");
        let (_, renamed) = warning.split_once("it is kept as ").unwrap();
        assert_eq!(std::fs::read_to_string(renamed.trim()).unwrap(), text);
        assert!(run_command(&bot, &["pause"]).contains("no new games"));
        assert_eq!(mode(&file), 0o600);
    }
}
