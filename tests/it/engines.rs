//! External engines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use knightwatch::chess::Variant;
use knightwatch::sim::{ChallengePlan, NewUser, PlayerKind, PlayerOptions, TimeControl};
use knightwatch::store::{Reader, Record};

use crate::common::{BOT, Daemon, Site, skip, wait};
use crate::replay::{replay_without_differences, wait_for_trace};

/// A program of the tests that speaks UCI: our own.
const PROGRAM: &str = env!("CARGO_BIN_EXE_knightwatch");

/// An engine that fails as it is told, and passes lines on to another one.
pub(crate) const STUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/external/tests/stub.py");

/// Knightwatch as a UCI engine behind [`STUB`] with these faults, as an array of TOML.
fn failing(faults: &[&str]) -> String {
    let words = [&["python3", STUB], faults, &["--", PROGRAM, "uci"]].concat();
    format!("{words:?}")
}

/// A player with this many games of so many seconds.
fn random_player(games: usize, seconds: u32) -> PlayerOptions {
    PlayerOptions {
        delay: std::time::Duration::ZERO..=std::time::Duration::ZERO,
        ..PlayerOptions::new("Rival", PlayerKind::Random).challenging(ChallengePlan {
            count: Some(games),
            ..ChallengePlan::against(BOT, TimeControl::clock(seconds, 0))
        })
    }
}

/// Writes an executable script.
pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A game of the bot with this configuration ends on the board, and the bot does not lose it.
fn plays_to_the_end(config: &str) -> String {
    let (_, bot, _) = play(config);
    let log = bot.log();
    assert!(!log.contains(" lost against"), "{log}");
    log
}

/// Plays a game to the end with this configuration; its id comes last.
fn play(config: &str) -> (Site, Daemon, String) {
    play_within(30, config)
}

/// Plays a game with this many seconds for each side.
fn play_within(seconds: u32, config: &str) -> (Site, Daemon, String) {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, config);
    wait("the engine is ready or has failed", || {
        let log = bot.log();
        (log.contains("is ready") || log.contains("has failed")).then_some(())
    });
    site.sim.add_player(random_player(1, seconds));
    let game = site.started(1).remove(0);
    site.finished(&game.id);
    wait("the end is logged", || {
        let log = bot.log();
        let ends = [" won against", " drawn with", " lost against"];
        ends.iter().any(|end| log.contains(end)).then_some(())
    });
    (site, bot, game.id)
}

/// The record of a game, once it is complete.
fn record(site: &Site, bot: &Daemon, id: &str) -> Record {
    let (_, port) = site.url.rsplit_once(':').unwrap();
    let file = bot.state().join(format!("127.0.0.1-{port}.sqlite"));
    wait("the end of the game is recorded", || {
        let record = Reader::open(&file).ok()?.record(id).unwrap();
        record.filter(|record| record.game.finished.is_some())
    })
}

/// The moves of the bot by their source.
fn moves_from(record: &Record, source: &str) -> usize {
    let moves = record.moves.iter();
    moves
        .filter(|mv| mv.source.as_deref() == Some(source))
        .count()
}

#[test]
fn external_engine_inherits_no_secrets() {
    let home = tempfile::tempdir().unwrap();
    let (engine, seen) = (home.path().join("engine"), home.path().join("seen"));
    script(
        &engine,
        &format!("env > {}; exec {PROGRAM} uci", seen.display()),
    );
    let site = Site::new([NewUser::bot("Anna")]);
    let launcher = [
        "env",
        "WEB_KEY=0123456789abcdef0123456789abcdef",
        "KNIGHTWATCH__ENGINE__MOVE_OVERHEAD_MS=50",
        "CREDENTIALS_DIRECTORY=/nonexistent",
        "OTHERS=visible",
    ];
    let config = format!(
        "[engine]\nhash_mib = 1\n[[engine.external]]\nname = \"dump\"\ncommand = [{engine:?}]\n"
    );
    let launcher = launcher.map(str::to_owned).to_vec();
    let _bot = Daemon::launch_in(&site, &config, launcher, home);
    let seen = wait("the engine has its environment", || {
        let text = fs::read_to_string(&seen).ok()?;
        text.contains("OTHERS=visible").then_some(text)
    });
    for private in ["WEB_KEY", "KNIGHTWATCH__", "CREDENTIALS_DIRECTORY"] {
        assert!(!seen.contains(private), "{seen}");
    }
}

#[test]
fn external_engine_plays_the_games() {
    let (site, bot, id) = play(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"mate\"\n\
         [[engine.external]]\nname = \"mate\"\ncommand = [\"{PROGRAM}\", \"uci\"]\nhash_mib = 1\nthreads = 1\nnodes = 2000\n\
         [[rule]]\nplay = {{ options = {{ UCI_Elo = 2000 }} }}\n"
    ));
    let log = bot.log();
    let record = record(&site, &bot, &id);
    assert_eq!(record.game.engine.as_deref(), Some("mate"));
    assert_eq!(moves_from(&record, "fallback"), 0, "{log}");
    assert!(moves_from(&record, "search") > 3, "{log}");
    wait_for_trace(&site, &bot, &id, "\"end\"");
    let printed = replay_without_differences(&site, &bot.state(), &[&id]);
    for line in [
        "> setoption name UCI_Elo value 2000",
        "> setoption name UCI_Opponent value none",
        "> go nodes 2000",
        "< bestmove ",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let status = bot.command("status").output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(
        status.contains("mate (Knightwatch") && status.contains(", 0 by the embedded engine"),
        "{status}"
    );
    assert!(log.contains("playing with the engine mate"), "{log}");
    assert!(log.contains("engine mate is ready: Knightwatch"), "{log}");
    assert!(!log.contains("has failed"), "{log}");
}

#[test]
fn failure_of_an_engine_names_the_game() {
    let site = Site::new([NewUser::bot("Anna")]);
    let config = format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"stub\"\n\
         [[engine.external]]\nname = \"stub\"\ncommand = {}\n",
        failing(&["--illegal-at", "1"])
    );
    let bot = Daemon::start_with(&site, &config, &["--set", "daemon.log_format=json"]);
    site.sim.add_player(random_player(1, 30));
    let id = site.started(1).remove(0).id;
    let line = wait("the failure is logged", || {
        let log = bot.log();
        let mut lines = log.lines();
        let line = lines.find(|line| line.contains("the embedded engine plays this move"));
        line.map(str::to_owned)
    });
    assert!(line.contains(&format!("\"game\":\"{id}\"")), "{line}");
}

#[test]
fn engine_that_dies_hangs_and_cheats_loses_no_game() {
    let command = failing(&["--illegal-at", "1", "--die-at", "2", "--hang-at", "3"]);
    let (site, bot, id) = play(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\n\
         [[engine.external]]\nname = \"stub\"\ncommand = {command}\nnodes = 1000\n\
         [[rule]]\nname = \"stub\"\nplay = {{ engine = \"stub\" }}\n"
    ));
    let log = bot.log();
    assert!(!log.contains(" lost against"), "{log}");
    assert!(log.contains("the embedded engine plays this move"), "{log}");
    assert!(log.contains("no legal move"), "{log}");
    let record = record(&site, &bot, &id);
    assert!(moves_from(&record, "fallback") > 0, "{log}");
    wait_for_trace(&site, &bot, &id, "\"end\"");
    let printed = replay_without_differences(&site, &bot.state(), &[&id]);
    assert!(printed.contains("by the embedded engine"), "{printed}");
    // The start of the process is part of the transcript.
    assert!(
        printed.contains("> uci") && printed.contains("< uciok"),
        "{printed}"
    );
    let status = bot.command("status").output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("the last one: "), "{status}");
}

/// Games with faults at random: none is lost, and all end on the board or by resignation of the opponent.
fn play_with_random_faults(games: usize, processes: usize, permille: &str) {
    let site = Site::new([]);
    let command = failing(&["--random", permille]);
    let bot = Daemon::start(
        &site,
        &format!(
            "book.enabled = false\ngames.concurrency = 4\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"stub\"\n\
             [[engine.external]]\nname = \"stub\"\ncommand = {command}\nthreads = 1\nhash_mib = 1\nnodes = 500\n\
             processes = {processes}\nponder = true\n"
        ),
    );
    wait("the engine is ready or has failed", || {
        let log = bot.log();
        (log.contains("is ready") || log.contains("has failed")).then_some(())
    });
    for (number, games) in [games / 2, games - games / 2].into_iter().enumerate() {
        site.sim.add_player(PlayerOptions {
            // Lichess limits the games between bots.
            bot: false,
            delay: std::time::Duration::ZERO..=std::time::Duration::ZERO,
            ..PlayerOptions::new(format!("Rival{number}"), PlayerKind::Random).challenging(
                ChallengePlan {
                    count: Some(games),
                    concurrency: 2,
                    ..ChallengePlan::against(BOT, TimeControl::clock(30, 0))
                },
            )
        });
    }
    let mut ended = 0;
    while ended < games {
        ended = wait("the next game ends", || {
            let log = bot.log();
            assert!(!log.contains(" lost against"), "{log}");
            let ends = [" won against", " drawn with"].map(|end| log.matches(end).count());
            Some(ends.iter().sum()).filter(|sum| *sum > ended)
        });
    }
    let log = bot.log();
    assert!(log.contains("the embedded engine plays"), "no fault: {log}");
}

#[test]
fn random_faults_lose_no_game() {
    play_with_random_faults(20, 2, "50");
}

#[test]
#[ignore = "takes some minutes"]
fn random_faults_lose_none_of_a_thousand_games() {
    play_with_random_faults(1_000, 6, "10");
}

#[test]
fn installed_engine_plays_the_games() {
    let programs = ["toga2", "stockfish", "fairy-stockfish", "ethereal-chess"];
    let directories = ["/usr/games", "/usr/bin", "/usr/local/bin"];
    let files = directories
        .iter()
        .flat_map(|directory| programs.map(|program| Path::new(directory).join(program)));
    let Some(program) = files.into_iter().find(|file| file.is_file()) else {
        return skip("engine", "no engine is installed (Debian: toga2)");
    };
    let (site, bot, id) = play(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"installed\"\n\
         [[engine.external]]\nname = \"installed\"\ncommand = [{program:?}]\nthreads = 1\nhash_mib = 16\n\
         movetime_ms = 20\n"
    ));
    let log = bot.log();
    let record = record(&site, &bot, &id);
    assert!(moves_from(&record, "search") > 3, "{log}");
    assert!(!log.contains(" lost against"), "{log}");
}

#[test]
fn mistakes_in_the_options_end_the_start() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("token"), site.sim.token_of(BOT)).unwrap();
    for (wrong, expected) in [
        (
            "options = { Hsh = 4 }",
            "has no option Hsh; did you mean `Hash`?",
        ),
        ("options = { Hash = 0 }", "Hash of Knightwatch"),
        (
            "[[rule]]\nplay = { engine = \"own\", options = { UCI_Eloo = 2000 } }",
            "has no option UCI_Eloo; did you mean `UCI_Elo`?",
        ),
    ] {
        let text = format!(
            "lichess = {{ url = \"{}\", token_file = \"token\" }}\nweb.listen = \"\"\n\
             [engine]\nhash_mib = 1\nthreads = 1\n\
             [[engine.external]]\nname = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n{wrong}\n",
            site.url
        );
        let config = home.path().join("config.toml");
        fs::write(&config, text).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("run").arg("--config").arg(&config);
        command.env("HOME", home.path()).env_remove("LICHESS_TOKEN");
        let output = command.output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(78), "{printed}");
        assert!(
            printed.contains("engine own: ") && printed.contains(expected),
            "{printed}"
        );
    }
}

#[test]
fn reload_with_a_wrong_option_changes_nothing() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(
        &site,
        &format!(
            "[engine]\nhash_mib = 1\nthreads = 1\n\
             [[engine.external]]\nname = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n"
        ),
    );
    let rule = "[[rule]]\nplay = { engine = \"own\", options = { Hsh = 4 } }\n";
    bot.configure(|text| text + rule);
    let output = bot.command("reload").output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!output.status.success(), "{printed}");
    assert!(
        printed.contains("the settings are unchanged") && printed.contains("did you mean `Hash`?"),
        "{printed}"
    );
    bot.configure(|text| text.replace("Hsh", "Hash"));
    let output = bot.command("reload").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let no_book = bot.state().with_file_name("no-book.bin");
    fs::write(&no_book, "this is not a book").unwrap();
    let plain = wait("the reload is logged", || {
        let log = bot.log();
        log.contains("reloaded:").then_some(log)
    });
    for (added, words) in [
        ("options = { Hsh = 4 }\n", "engine own: Knightwatch"),
        ("options = { Hash = 0 }\n", "Hash of Knightwatch"),
        (
            "[book.variants]\natomic = [\"no-book.bin\"]\n",
            "not a complete Polyglot book",
        ),
        ("[book]\nfiles = [\"missing.bin\"]\n", "missing.bin"),
    ] {
        let line = "\"uci\"]\n";
        bot.configure(|text| text.replace(line, &format!("{line}{added}")));
        let output = bot.command("reload").output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!output.status.success(), "{printed}");
        assert!(
            printed.contains("the settings are unchanged") && printed.contains(words),
            "{printed}"
        );
        bot.configure(|text| text.replace(added, ""));
    }
    assert!(!bot.log()[plain.len()..].contains("reloaded:"));
    // An engine that cannot start only causes a warning, as at the start.
    bot.configure(|text| text + "[[engine.external]]\nname = \"gone\"\ncommand = [\"./gone\"]\n");
    let output = bot.command("reload").output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(
        printed.contains("warning: engine `gone`: cannot start")
            && printed.contains("correct `command` of [[engine.external]]"),
        "{printed}"
    );
}

#[test]
fn rule_keeps_its_engine_until_a_restart_starts_the_new_one() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(
        &site,
        &format!(
            "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\n\
             [[engine.external]]\nname = \"earlier\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n\
             hash_mib = 1\nthreads = 1\nnodes = 500\n\
             [[rule]]\nmatch = {{ bot = true }}\nplay = {{ engine = \"earlier\" }}\n"
        ),
    );
    wait("the engine is ready", || {
        bot.log().contains("is ready").then_some(())
    });
    bot.configure(|text| {
        text.replace("\"earlier\"", "\"renamed\"")
            + "[[rule]]\nmatch = { bot = false }\nplay = { engine = \"renamed\" }\n"
    });
    let output = bot.command("reload").output().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{printed}");
    for words in [
        "not before a restart: rule 1: has changed",
        "not before a restart: rule: there is no engine renamed",
        "until a restart the embedded engine plays instead",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    site.sim.add_player(random_player(1, 30));
    let game = site.started(1).remove(0);
    site.finished(&game.id);
    let record = record(&site, &bot, &game.id);
    assert_eq!(
        record.game.engine.as_deref(),
        Some("earlier"),
        "{}",
        bot.log()
    );
}

#[test]
fn no_engine_is_left_when_the_bot_is_killed() {
    let site = Site::new([NewUser::bot("Anna")]);
    // It does not notice the end of its input, and a child of it does not either.
    let mut bot = Daemon::start(
        &site,
        "[engine]\nhash_mib = 1\nthreads = 1\n[[engine.external]]\nname = \"hung\"\n\
         command = [\"sh\", \"-c\", \"sleep 600 & echo $! $$ > pids; wait\"]\n",
    );
    let pids = wait("the engine is started", || {
        let text = fs::read_to_string(bot.state().with_file_name("pids")).ok()?;
        text.ends_with('\n').then_some(text)
    });
    let is_running = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(pids.split_whitespace().all(is_running));
    bot.crash();
    wait("the engine is killed", || {
        (!pids.split_whitespace().any(is_running)).then_some(())
    });
}

#[test]
fn xboard_engine_plays_the_games() {
    let (site, bot, id) = play(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"winboard\"\n\
         [[engine.external]]\nname = \"winboard\"\ncommand = [\"{PROGRAM}\", \"uci\"]\nprotocol = \"xboard\"\n\
         hash_mib = 1\nthreads = 1\ndepth = 5\n"
    ));
    let log = bot.log();
    let record = record(&site, &bot, &id);
    assert_eq!(moves_from(&record, "fallback"), 0, "{log}");
    assert!(moves_from(&record, "search") > 3, "{log}");
    wait_for_trace(&site, &bot, &id, "\"end\"");
    let printed = replay_without_differences(&site, &bot.state(), &[&id]);
    assert!(
        printed.contains("> level 0 0:") && printed.contains("< move "),
        "{printed}"
    );
}

#[test]
fn examples_of_engines_play_the_games() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples");
    for command in [["sh", "engine.sh"], ["python3", "engine.py"]] {
        let program = examples.join(command[1]);
        // An interpreter starts slowly on a busy machine.
        let (site, bot, id) = play_within(
            300,
            &format!(
                "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"example\"\n\
             [[engine.external]]\nname = \"example\"\ncommand = [\"{}\", \"{}\"]\nprotocol = \"lines\"\n",
                command[0],
                program.display(),
            ),
        );
        let log = bot.log();
        assert!(log.contains(&format!("is ready: {}", command[1])), "{log}");
        let record = record(&site, &bot, &id);
        assert_eq!(moves_from(&record, "fallback"), 0, "{log}");
        assert!(moves_from(&record, "search") > 1, "{log}");
    }
}

#[test]
fn engine_plays_only_its_variants() {
    let log = plays_to_the_end(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"fischer\"\n\
         [[engine.external]]\nname = \"fischer\"\ncommand = [\"{PROGRAM}\", \"uci\"]\nvariants = [\"chess960\"]\n"
    ));
    assert!(!log.contains("playing with the engine"), "{log}");
}

#[test]
fn external_engine_plays_the_variants() {
    let variants = Variant::ALL.map(Variant::key);
    let site = Site::new([]);
    let bot = Daemon::start(
        &site,
        &format!(
            "book.enabled = false\ngames.concurrency = 8\n\
             [engine]\nhash_mib = 1\nthreads = 1\ndefault = \"fairy\"\n\
             [[engine.external]]\nname = \"fairy\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n\
             hash_mib = 1\nthreads = 1\nnodes = 1000\nvariants = {variants:?}\n"
        ),
    );
    wait("the engine is ready", || {
        bot.log().contains("is ready").then_some(())
    });
    // They share one process. Each begins when the one before has begun, as eight first moves at once take long; chess is
    // the last, so that the engine has to return to it.
    let mut games = Vec::new();
    for (count, variant) in (1..).zip(variants.into_iter().rev()) {
        site.sim.add_player(PlayerOptions {
            delay: std::time::Duration::ZERO..=std::time::Duration::ZERO,
            ..PlayerOptions::new(variant, PlayerKind::Random).challenging(ChallengePlan {
                count: Some(1),
                variants: vec![variant.to_owned()],
                ..ChallengePlan::against(BOT, TimeControl::clock(60, 0))
            })
        });
        let ids = site.started(count).into_iter().map(|game| game.id);
        let id = ids.into_iter().find(|id| !games.contains(id)).unwrap();
        site.plies_or_end(&id, 4);
        games.push(id);
    }
    for id in &games {
        site.finished(id);
        let record = record(&site, &bot, id);
        let log = bot.log();
        assert_eq!(record.game.engine.as_deref(), Some("fairy"), "{log}");
        assert_eq!(moves_from(&record, "fallback"), 0, "{log}");
        assert!(moves_from(&record, "search") > 0, "{log}");
    }
    let replays = games.iter().map(|id| {
        wait_for_trace(&site, &bot, id, "\"end\"");
        replay_without_differences(&site, &bot.state(), &[id])
    });
    let printed: String = replays.collect();
    for variant in Variant::ALL {
        let line = format!("> setoption name UCI_Variant value {}", variant.uci());
        assert!(printed.contains(&line), "{line}: {printed}");
    }
}

#[test]
fn check_shows_external_engines() {
    let site = Site::new([NewUser::bot("Anna")]);
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("token"), site.sim.token_of(BOT)).unwrap();
    let check = |engine: &str| {
        let text = format!(
            "lichess = {{ url = \"{}\", token_file = \"token\" }}\nweb.listen = \"\"\n[engine]\nhash_mib = 1\nthreads = 1\n\
             [[engine.external]]\n{engine}\n",
            site.url
        );
        let config = home.path().join("config.toml");
        fs::write(&config, text).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("check").arg("--config").arg(&config);
        command.env("HOME", home.path()).env_remove("LICHESS_TOKEN");
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let good = check(&format!(
        "name = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]"
    ));
    assert!(good.contains("own: Knightwatch"), "{good}");
    let option = check(&format!(
        "name = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\noptions = {{ Hsh = 4 }}"
    ));
    assert!(
        option.contains("has no option Hsh; did you mean `Hash`?"),
        "{option}"
    );
    let missing = check("name = \"none\"\ncommand = [\"./nowhere\"]");
    assert!(
        missing.contains("cannot start") && missing.contains("correct `command`"),
        "{missing}"
    );
    let unknown = check("name = \"x y\"\ncommand = []\nprocesses = 0");
    assert!(unknown.contains("is empty"), "{unknown}");
    let options = check(&format!(
        "name = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\n\
         [[rule]]\nplay = {{ engine = \"own\", options = {{ UCI_Elo = 99999 }} }}"
    ));
    assert!(options.contains("UCI_Elo of Knightwatch"), "{options}");
    let useless =
        check("name = \"a\"\ncommand = [\"a\"]\n[[rule]]\nplay = { options = { Hash = 1 } }");
    assert!(useless.contains("the embedded one plays"), "{useless}");
    let xboard = check(&format!(
        "name = \"own\"\ncommand = [\"{PROGRAM}\", \"uci\"]\nprotocol = \"xboard\""
    ));
    assert!(xboard.contains("own: Knightwatch"), "{xboard}");
    let nodes = check("name = \"a\"\ncommand = [\"a\"]\nprotocol = \"xboard\"\nnodes = 5");
    assert!(nodes.contains("no limit of nodes"), "{nodes}");
    let rule = check("name = \"a\"\ncommand = [\"a\"]\n[[rule]]\nplay = { engine = \"b\" }");
    assert!(
        rule.contains("there is no engine b; engines are knightwatch, a"),
        "{rule}"
    );
}
