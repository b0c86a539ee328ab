//! Two accounts in one process, on the simulator.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use knightwatch::sim::{
    Behavior, Fault, FaultRule, GameSummary, NewUser, PlayerKind, PlayerOptions, SimOptions,
    TimeControl,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{BOT, Daemon, IMPATIENT, Player, Site, wait};
use crate::operator::{run_command, run_failing_command};

/// The other account.
pub(crate) const OTHER_BOT: &str = "Daywatch";

const BLITZ: [(&str, &str); 3] = [
    ("clock.limit", "180"),
    ("clock.increment", "2"),
    ("color", "white"),
];

/// Settings of a few games for each account.
pub(crate) const SMALL: &str = "challenge.queue_size = 0\ngames = { concurrency = 2 }\n";

pub(crate) fn site() -> Site {
    Site::new([
        NewUser::bot(OTHER_BOT),
        NewUser::bot("Anna"),
        NewUser::bot("Bert"),
    ])
}

/// Starts the bot with settings for both accounts and for each, and with arguments.
fn launch(site: &Site, config: &str, own: [&str; 2], arguments: &[&str]) -> Daemon {
    let home = tempfile::tempdir().unwrap();
    let mut text = format!("lichess = {{ url = \"{}\" }}\n{config}\n", site.url);
    for (name, own) in [BOT, OTHER_BOT].into_iter().zip(own) {
        write_token(&home, name, &site.sim.token_of(name));
        text += &format!("[[account]]\nname = \"{name}\"\ntoken_file = \"{name}.token\"\n{own}\n");
    }
    let log = home.path().join("log");
    let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
    Daemon::launch_at(site, "of nobody", &text, arguments, home, log)
}

fn write_token(home: &TempDir, name: &str, token: &str) {
    let mut file = File::options();
    file.write(true).create(true).truncate(true).mode(0o600);
    let path = home.path().join(format!("{name}.token"));
    let mut file = file.open(path).unwrap();
    file.write_all(token.as_bytes()).unwrap();
}

/// The same, after both are online.
pub(crate) fn start(site: &Site, config: &str, own: [&str; 2]) -> Daemon {
    let bot = launch(site, config, own, &[]);
    wait_online(&bot, 1);
    bot
}

/// Waits until each account has opened its stream this many times.
fn wait_online(bot: &Daemon, times: usize) {
    for name in [BOT, OTHER_BOT] {
        wait_online_as(bot, name, times);
    }
}

fn wait_online_as(bot: &Daemon, name: &str, times: usize) {
    wait_for_log(bot, &format!("online as {name}"), times);
}

fn wait_for_log(bot: &Daemon, words: &str, times: usize) {
    wait(&format!("the log says {times} times: {words}"), || {
        (bot.log().matches(words).count() >= times).then_some(())
    });
}

/// Challenges one of the accounts; returns the id of the challenge.
fn challenge(player: &Player<'_>, whom: &str) -> String {
    let (status, answer) = player.post(&format!("/api/challenge/{whom}"), &BLITZ);
    assert_eq!(status, 200, "{answer}");
    let id = answer["id"].as_str().or(answer["challenge"]["id"].as_str());
    id.unwrap_or_else(|| panic!("no id in {answer}")).to_owned()
}

/// Challenges one of the accounts, and makes the first move when the game has started.
pub(crate) fn play(site: &Site, player: &Player<'_>, whom: &str) -> String {
    let id = challenge(player, whom);
    assert_eq!(player.answer(&id), "accepted");
    wait("the game is on", || site.game(&id));
    player.play(&id, "e2e4");
    site.plies(&id, 2);
    id
}

fn status(bot: &Daemon, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.args(["status", "--json"]).args(arguments);
    let output = command.arg("--socket").arg(bot.socket()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Revokes the token of an account.
fn revoke(site: &Site, name: &str) {
    let no = Fault::json(401, "{\"error\":\"No such token\"}");
    let rule = FaultRule::new(no).from_user(name).times(1_000_000);
    site.sim.faults().add(rule);
}

fn is_between_own_accounts(game: &GameSummary) -> bool {
    [&game.white, &game.black]
        .iter()
        .all(|name| [BOT, OTHER_BOT].contains(&name.as_str()))
}

#[test]
fn accounts_are_named_in_the_json_log() {
    let site = site();
    let bot = launch(&site, SMALL, ["", ""], &["--set", "daemon.log_format=json"]);
    for name in [BOT, OTHER_BOT] {
        wait(&format!("a line about {name}"), || {
            let log = bot.log();
            let mut lines = log
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let found = lines.any(|line| line["event"] == "online" && line["account"] == name);
            found.then_some(())
        });
    }
}

#[test]
fn accounts_share_engine_and_resume_after_crash() {
    let site = site();
    let mut bot = start(
        &site,
        SMALL,
        ["", "chat = { greeting = \"Hello from me\" }"],
    );
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = play(&site, &anna, BOT);
    let second = play(&site, &bert, OTHER_BOT);
    // Each account has its own settings.
    wait("the second greets in its own words", || {
        let (_, chat) = bert.get(&format!("/api/bot/game/{second}/chat"));
        chat.to_string().contains("Hello from me").then_some(())
    });
    wait("both are seen at play", || {
        let all = status(&bot, &[]);
        (all["games"].as_array()?.len() == 2).then_some(())
    });
    let all = status(&bot, &[]);
    assert_eq!(all["account"], format!("{BOT}, {OTHER_BOT}"));
    assert_eq!(all["engine"]["hash_mib"], 16, "one table for both");
    let names: Vec<&Value> = all["accounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["account"])
        .collect();
    assert_eq!(names, [BOT, OTHER_BOT]);
    let one = status(&bot, &["--account", "daywatch"]);
    assert_eq!(
        (&one["account"], &one["games"][0]["id"]),
        (&OTHER_BOT.into(), &second.clone().into())
    );
    assert!(one.get("accounts").is_none());
    let printed = run_command(&bot, &["status"]);
    for name in [BOT, OTHER_BOT] {
        let line = format!("account  {name}: running, 1 game");
        assert!(printed.contains(&line), "{printed}");
    }

    bot.crash_and_restart();
    wait_online(&bot, 2);
    for (player, game) in [(&anna, &first), (&bert, &second)] {
        player.play(game, "d2d4");
        site.plies(game, 4);
    }
    // Each account has its own state files.
    wait("each has saved its limits", || {
        let files = std::fs::read_dir(bot.state()).unwrap().flatten();
        let files: Vec<String> = files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        let has_own = |name: &str| {
            let mut files = files.iter();
            files.any(|file| file.starts_with(name) && file.ends_with(".quota.json"))
        };
        (has_own("knightwatch@") && has_own("daywatch@")).then_some(())
    });
    assert_eq!(bot.stop().code(), Some(0));
    assert!(!bot.log().contains("too slow"), "{}", bot.log());
    for game in [&first, &second] {
        let printed = successful_output(&bot, &["replay", game]);
        assert!(printed.contains(", 0 differences"), "{printed}");
    }
}

/// Runs a command that reads the configuration of this bot.
fn command(bot: &Daemon, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.args(arguments).arg("--config");
    command.arg(bot.state().with_file_name("config.toml"));
    command.env("STATE_DIRECTORY", bot.state());
    command.env_remove("LICHESS_TOKEN").output().unwrap()
}

fn successful_output(bot: &Daemon, arguments: &[&str]) -> String {
    let output = command(bot, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn error_output(bot: &Daemon, arguments: &[&str]) -> String {
    let output = command(bot, arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn accounts_take_tokens_from_variables() {
    let site = site();
    let names = [BOT, OTHER_BOT];
    let variables = names.map(|name| {
        let token = site.sim.token_of(name);
        format!("LICHESS_TOKEN_{}={token}", name.to_uppercase())
    });
    let launcher = ["env".to_owned()].into_iter().chain(variables).collect();
    let accounts = names.map(|name| format!("[[account]]\nname = \"{name}\"\n"));
    let config = format!(
        "lichess = {{ url = \"{}\" }}\n{SMALL}\n{}",
        site.url,
        accounts.concat()
    );
    let bot = Daemon::launch_in(&site, &config, launcher, tempfile::tempdir().unwrap());
    wait_online(&bot, 1);
}

#[test]
fn accounts_revoked_token_stops_only_its_account() {
    let site = site();
    let mut bot = launch(&site, SMALL, ["", ""], &IMPATIENT);
    wait_online(&bot, 1);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let lost = play(&site, &anna, BOT);
    let kept = play(&site, &bert, OTHER_BOT);
    revoke(&site, BOT);
    // The next move of Anna is rejected.
    anna.play(&lost, "d2d4");
    wait_for_log(
        &bot,
        &format!("{BOT} has stopped: Lichess rejects the token"),
        1,
    );
    bert.play(&kept, "d2d4");
    site.plies(&kept, 4);
    let third = play(&site, &bert, OTHER_BOT);
    wait("it is seen who has stopped", || {
        let all = status(&bot, &[]);
        let games: Vec<&Value> = all["games"]
            .as_array()?
            .iter()
            .map(|game| &game["id"])
            .collect();
        let left = [&kept, &third]
            .iter()
            .all(|id| games.contains(&&Value::from(id.as_str())));
        (all["health"]["is"] == "unhealthy" && games.len() == 2 && left).then_some(())
    });
    let printed = failed_status(&bot);
    assert!(
        printed.contains(&format!("{BOT}: STOPPED: Lichess rejects the token")),
        "{printed}"
    );
    // A command for all accounts reaches the other one.
    assert!(run_command(&bot, &["pause"]).starts_with(&format!("{OTHER_BOT}: paused")));
    run_command(&bot, &["resume"]);
    revoke(&site, OTHER_BOT);
    bert.play(&kept, "g1f3");
    assert_eq!(bot.ended().code(), Some(77));
    assert!(bot.log().contains(&format!("{OTHER_BOT} has stopped")));
}

#[test]
fn accounts_panic_restarts_only_its_account() {
    let site = site();
    let mut bot = launch(&site, SMALL, ["", ""], &["--account-panics", "6"]);
    wait_online(&bot, 1);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = play(&site, &anna, BOT);
    let second = play(&site, &bert, OTHER_BOT);
    wait_for_log(&bot, "account task panicked; restarting in 1s", 1);
    bert.play(&second, "d2d4");
    site.plies(&second, 4);
    // The game is resumed by the restarted account.
    anna.play(&first, "d2d4");
    site.plies(&first, 4);
    wait_online_as(&bot, BOT, 2);
    assert_eq!(
        bot.log().matches(&format!("online as {OTHER_BOT}")).count(),
        1
    );
    wait("both play, and nobody has to look", || {
        let all = status(&bot, &[]);
        let games = all["games"].as_array()?.len();
        (games == 2 && all["health"]["is"] == "ok").then_some(())
    });
    // New games and commands work too.
    let third = play(&site, &anna, BOT);
    for game in [&first, &third] {
        anna.post(&format!("/api/bot/game/{game}/resign"), &[]);
    }
    run_command(
        &bot,
        &[
            "pause",
            "--account",
            &format!("https://lichess.org/@/{BOT}"),
        ],
    );
    assert_eq!(
        bot.log().matches("account task panicked").count(),
        1,
        "{}",
        bot.log()
    );
    assert_eq!(bot.stop().code(), Some(0));
}

#[test]
fn accounts_panic_of_request_restarts_its_account_without_game() {
    let site = site();
    let mut bot = launch(&site, SMALL, ["", ""], &["--request-panics", "20"]);
    wait_online(&bot, 1);
    let anna = site.player("Anna");
    let first = play(&site, &anna, BOT);
    wait_for_log(
        &bot,
        "a background request panicked; the account task restarts once no game is running",
        1,
    );
    anna.play(&first, "d2d4");
    site.plies(&first, 4);
    assert!(
        !bot.log().contains("account task panicked"),
        "{}",
        bot.log()
    );
    anna.post(&format!("/api/bot/game/{first}/resign"), &[]);
    wait_for_log(&bot, "account task panicked; restarting in 1s", 1);
    wait_online_as(&bot, BOT, 2);
    let second = play(&site, &anna, BOT);
    site.plies(&second, 2);
    assert_eq!(bot.stop().code(), Some(0));
}

/// Output of `status` when something is wrong.
fn failed_status(bot: &Daemon) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    let output = command
        .arg("status")
        .arg("--socket")
        .arg(bot.socket())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn accounts_wrong_token_is_config_error() {
    let site = site();
    let home = tempfile::tempdir().unwrap();
    let mut text = format!("lichess = {{ url = \"{}\" }}\n", site.url);
    for name in ["Cleo", "Dora"] {
        write_token(&home, name, &site.sim.token_of("Anna"));
        text += &format!("[[account]]\nname = \"{name}\"\ntoken_file = \"{name}.token\"\n");
    }
    let log = home.path().join("log");
    let mut bot = Daemon::launch_at(&site, "of nobody", &text, Vec::new(), home, log);
    assert_eq!(bot.ended().code(), Some(78));
    for name in ["Cleo", "Dora"] {
        let words = format!("{name} has stopped: the token for account `{name}` belongs to `Anna`");
        assert!(bot.log().contains(&words));
    }
}

#[test]
fn accounts_of_one_process_never_play_each_other() {
    let users = [BOT, OTHER_BOT].map(NewUser::bot);
    let site = Site::with(SimOptions {
        users: users.into(),
        ..SimOptions::default()
    });
    site.sim.add_player(PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        behavior: Behavior {
            resigns_when_lost: Some(1),
            ..Behavior::default()
        },
        ..PlayerOptions::new("Rival", PlayerKind::Random)
    });
    // Both challenge at once, and every challenge is accepted.
    let eager = "[matchmaking]\nenabled = true\nidle_s = 0\n[[matchmaking.profile]]\nclock = \"1+0\"\nrated = false\n\
                 [[rule]]\nmatch = { bot = true }\naccept = true\n";
    let bot = start(&site, eager, ["", ""]);
    let why = "not with each other";
    for (from, to) in [(BOT, OTHER_BOT), (OTHER_BOT, BOT)] {
        let printed = run_failing_command(&bot, &["challenge", to, "3+2", "--account", from]);
        assert!(
            printed.contains("another account of ours"),
            "{why}: {printed}"
        );
        // As if the token were used elsewhere.
        let player = site.player(from);
        assert_eq!(player.answer(&challenge(&player, to)), "generic", "{why}");
        wait_for_log(&bot, &format!("{from} is another account of ours"), 1);
    }
    for name in [BOT, OTHER_BOT] {
        wait(&format!("{name} has found Rival"), || {
            let games = site.sim.games().into_iter();
            let mut games = games.map(|game| [game.white, game.black]);
            games.find(|players| players.iter().any(|player| player == name))
        });
    }
    let games = site.sim.games();
    assert!(!games.iter().any(is_between_own_accounts), "{games:?}");
}

#[test]
fn accounts_share_limit_of_address() {
    let site = site();
    let bot = start(&site, SMALL, ["", ""]);
    run_command(&bot, &["challenge", "Anna", "3+2", "--account", BOT]);
    wait("the other account has counted it", || {
        let mut files = std::fs::read_dir(bot.state()).ok()?.flatten();
        let quota_file = files.find(|file| {
            let name = file.file_name().to_string_lossy().to_lowercase();
            name.contains(&OTHER_BOT.to_lowercase()) && name.ends_with(".quota.json")
        })?;
        let text = std::fs::read_to_string(quota_file.path()).ok()?;
        text.contains("challenge.create.ip").then_some(())
    });
}

#[test]
fn accounts_paired_by_arena_are_reported_once() {
    let site = site();
    let bot = start(&site, SMALL, ["", ""]);
    site.sim.faults().add(FaultRule::new(Fault::Pair {
        players: [BOT.to_owned(), OTHER_BOT.to_owned()],
        clock: TimeControl::clock(60, 0),
    }));
    let game = site.started(1).remove(0);
    assert!(is_between_own_accounts(&game));
    site.plies(&game.id, 8);
    for name in [BOT, OTHER_BOT] {
        let (resigned, _) = site
            .player(name)
            .post(&format!("/api/bot/game/{}/resign", game.id), &[]);
        if resigned == 200 {
            break;
        }
    }
    site.finished(&game.id);
    wait("it is counted once", || {
        (status(&bot, &[])["counts"]["started"] == 1).then_some(())
    });
    let counted = |name: &str| status(&bot, &["--account", name])["counts"]["started"].clone();
    assert_eq!((counted(BOT), counted(OTHER_BOT)), (1.into(), 1.into()));
}

#[test]
fn accounts_command_names_its_account() {
    let site = site();
    let mut bot = start(&site, SMALL, ["", ""]);
    let anna = site.player("Anna");
    let done = run_command(&bot, &["pause", "--account", BOT]);
    assert!(
        done.starts_with(&format!("{BOT}: paused: no new games")),
        "{done}"
    );
    let answers = |whom: &str| anna.answer(&challenge(&anna, whom));
    assert_eq!(answers(BOT), "later");
    assert_eq!(answers(OTHER_BOT), "accepted");
    wait("it is shown", || {
        let all = status(&bot, &[]);
        let paused = |n: usize| all["accounts"][n]["paused"].as_bool();
        (paused(0)? && !paused(1)? && all["paused"] == false).then_some(())
    });
    bot.crash_and_restart();
    wait_online(&bot, 2);
    assert_eq!(answers(BOT), "later");
    let resumed = run_command(&bot, &["resume"]);
    assert!(
        resumed.contains(&format!("{BOT}: resumed: new games")),
        "{resumed}"
    );
    assert!(
        resumed.contains(&format!("{OTHER_BOT}: it was not paused")),
        "{resumed}"
    );
    assert_eq!(answers(BOT), "accepted");

    for order in [&["challenge", "Bert", "3+2"][..], &["join", "rehearse"]] {
        let why = run_failing_command(&bot, order);
        assert!(
            why.contains(&format!(
                "select one with --account NAME: {BOT}, {OTHER_BOT}"
            )),
            "{why}"
        );
    }
    let why = run_failing_command(&bot, &["pause", "--account", "Anna"]);
    assert!(why.contains("has no account Anna"), "{why}");
    run_command(&bot, &["challenge", "Bert", "3+2", "--account", OTHER_BOT]);
    let bert = site.player("Bert");
    let (_, list) = bert.get("/api/challenge");
    let challenge = &list["in"][0];
    assert_eq!(challenge["challenger"]["name"], OTHER_BOT, "{list}");
    let id = challenge["id"].as_str().unwrap();
    bert.post(&format!("/api/challenge/{id}/decline"), &[]);
    run_command(&bot, &["block", "Anna"]);
    for whom in [BOT, OTHER_BOT] {
        assert_eq!(answers(whom), "generic");
    }
    // Each account applies the changed configuration.
    bot.configure(|text| text.replace("queue_size = 0", "queue_size = 1"));
    let reloaded = run_command(&bot, &["reload"]);
    assert_eq!(
        reloaded.matches("challenge.queue_size: 0 -> 1").count(),
        2,
        "{reloaded}"
    );
    // The set of accounts is fixed at the start.
    bot.configure(|text| text.replace(&format!("name = \"{OTHER_BOT}\""), "name = \"Cleo\""));
    let reloaded = run_command(&bot, &["reload"]);
    for words in [
        format!("not before a restart: account `{OTHER_BOT}`: is gone"),
        "not before a restart: account `Cleo`: is new".to_owned(),
        format!("{OTHER_BOT}: this account was removed from the configuration; it plays on"),
    ] {
        assert!(reloaded.contains(&words), "{reloaded}");
    }
    assert_eq!(
        answers(OTHER_BOT),
        "generic",
        "she is here, and Anna is blocked"
    );
    // One is drained and ends, the other stays.
    run_command(&bot, &["drain", "--account", OTHER_BOT]);
    for game in site.sim.games() {
        // Before the first moves one is aborted, and not resigned.
        for end in ["abort", "resign"] {
            anna.post(&format!("/api/bot/game/{}/{end}", game.id), &[]);
        }
    }
    wait_for_log(&bot, &format!("{OTHER_BOT} has stopped"), 1);
    assert!(bot.is_running());
    run_command(&bot, &["drain"]);
    assert_eq!(bot.ended().code(), Some(0));
}

#[test]
fn accounts_reload_all_or_name_those_that_have() {
    const PROGRAM: &str = env!("CARGO_BIN_EXE_knightwatch");
    let site = site();
    let config = format!(
        "{SMALL}[engine]\nhash_mib = 1\nthreads = 1\n\
         [[engine.external]]\nname = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n"
    );
    let rule = "[[account.rule]]\nplay = { engine = \"own\", options = { Hash = 4 } }\n";
    let mut bot = start(&site, &config, ["", rule]);
    // A mistake for one account changes nothing for the other.
    bot.configure(|text| {
        let text = text.replace("queue_size = 0", "queue_size = 1");
        text.replace("Hash = 4", "Hsh = 4")
    });
    let why = run_failing_command(&bot, &["reload"]);
    assert_eq!(
        why.matches("the settings are unchanged").count(),
        2,
        "{why}"
    );
    assert_eq!(why.matches("did you mean `Hash`?").count(), 2, "{why}");
    // Such settings are not good for a start either.
    let checked = command(&bot, &["check"]);
    let printed = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(78), "{printed}");
    assert!(
        printed.contains("own: ") && printed.contains("did you mean `Hash`?"),
        "{printed}"
    );
    bot.stop();
    bot.restart();
    assert_eq!(bot.ended().code(), Some(78), "{}", bot.log());

    // Only one of them cannot use these.
    bot.configure(|text| text.replace("Hsh = 4", "Hash = 4"));
    bot.restart();
    wait_online(&bot, 2);
    run_command(&bot, &["seek", "on", "--account", OTHER_BOT]);
    bot.configure(|text| {
        let reserved = "matchmaking.reserved_games = 100\n[engine]\n";
        text.replace("[engine]\n", reserved)
    });
    let why = run_failing_command(&bot, &["reload"]);
    for words in [
        format!("the reload has failed for {OTHER_BOT}, and has succeeded for {BOT}"),
        format!("{BOT}: one setting has changed"),
        format!("{OTHER_BOT}: the settings are unchanged"),
    ] {
        assert!(why.contains(&words), "{why}");
    }
    run_command(&bot, &["seek", "off", "--account", OTHER_BOT]);
    run_command(&bot, &["reload"]);
}

#[test]
fn accounts_seek_fails_if_it_fails_for_one() {
    let site = site();
    let bot = start(
        &site,
        SMALL,
        ["", "matchmaking = { reserved_games = 100 }\n"],
    );
    let why = run_failing_command(&bot, &["seek", "on"]);
    for words in [
        format!("has failed for {OTHER_BOT}, and has succeeded for {BOT}"),
        format!("{OTHER_BOT}: [matchmaking] cannot be used: 100 games a day are reserved"),
    ] {
        assert!(why.contains(&words), "{why}");
    }
    run_command(&bot, &["seek", "off"]);
}

#[test]
fn accounts_are_known_to_records_page_and_check() {
    let site = site();
    let bot = start(&site, SMALL, ["", ""]);
    let [anna, bert] = ["Anna", "Bert"].map(|name| site.player(name));
    let first = play(&site, &anna, BOT);
    play(&site, &bert, OTHER_BOT);
    let games = |account: &str| successful_output(&bot, &["games", "--json", "--account", account]);
    wait("the game is in the records", || {
        games(BOT).contains(&first).then_some(())
    });
    assert!(!games(OTHER_BOT).contains(&first));
    let why = error_output(&bot, &["games", "--account", "Anna"]);
    let known = "the records have no game of Anna; they have games of";
    assert!(why.contains(known) && why.contains(BOT), "{why}");

    let log = bot.log();
    let (_, page) = log.split_once("the page: http://").unwrap();
    let (address, _) = page.split_once('/').unwrap();
    let online = format!("knightwatch_account_online{{account=\"{OTHER_BOT}\"}} 1");
    wait("both are among the numbers", || {
        let metrics = get(&format!("http://{address}/metrics"));
        metrics.contains(&online).then_some(())
    });

    let printed = successful_output(&bot, &["check"]);
    for name in [BOT, OTHER_BOT] {
        assert!(printed.contains(&format!("{name}: ")), "{printed}");
    }
    assert!(printed.contains("Ready to play"), "{printed}");
}

fn get(url: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let response = crate::common::http_client().get(url).send();
    runtime.block_on(async { response.await.unwrap().text().await.unwrap() })
}
