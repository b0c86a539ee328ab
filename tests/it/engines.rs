//! External engines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use knightwatch::sim::{ChallengePlan, NewUser, PlayerKind, PlayerOptions, TimeControl};

use crate::common::{BOT, Daemon, Site, wait};

/// A program of the tests that speaks UCI: our own.
const PROGRAM: &str = env!("CARGO_BIN_EXE_knightwatch");

fn random_player(games: usize) -> PlayerOptions {
    PlayerOptions {
        delay: std::time::Duration::ZERO..=std::time::Duration::ZERO,
        ..PlayerOptions::new("Rival", PlayerKind::Random).challenging(ChallengePlan {
            count: Some(games),
            ..ChallengePlan::against(BOT, TimeControl::clock(30, 0))
        })
    }
}

/// Writes an executable script.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A game of the bot with this configuration ends on the board, and the bot does not lose it.
fn plays_to_the_end(config: &str) -> String {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, config);
    wait("the engine is ready or has failed", || {
        let log = bot.log();
        (log.contains("is ready") || log.contains("has failed")).then_some(())
    });
    site.sim.add_player(random_player(1));
    let game = site.started(1).remove(0);
    site.finished(&game.id);
    wait("the end is logged", || {
        let log = bot.log();
        let ended = log.contains(" won against") || log.contains(" drawn with");
        assert!(!log.contains(" lost against"), "{log}");
        ended.then_some(())
    });
    bot.log()
}

#[test]
fn external_engine_plays_the_games() {
    let log = plays_to_the_end(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\ndefault = \"mate\"\n\
         [[engine.external]]\nname = \"mate\"\ncommand = [\"{PROGRAM}\", \"uci\"]\noptions = {{ Hash = 1 }}\nnodes = 2000\n"
    ));
    assert!(log.contains("playing with the engine mate"), "{log}");
    assert!(log.contains("engine mate is ready: Knightwatch"), "{log}");
    assert!(!log.contains("has failed"), "{log}");
}

#[test]
fn engine_that_dies_hangs_and_cheats_loses_no_game() {
    let home = tempfile::tempdir().unwrap();
    let stub = home.path().join("stub");
    script(
        &stub,
        "n=0; while read -r line; do case \"$line\" in uci) echo uciok;; isready) echo readyok;; \
         go*) n=$((n+1)); case $n in 1) echo bestmove e9e9;; 2) kill -9 $$;; *) sleep 100;; esac;; esac; done",
    );
    let log = plays_to_the_end(&format!(
        "book.enabled = false\n[engine]\nhash_mib = 1\nthreads = 1\n\
         [[engine.external]]\nname = \"stub\"\ncommand = [\"{}\"]\n\
         [[rule]]\nname = \"stub\"\nplay = {{ engine = \"stub\" }}\n",
        stub.display()
    ));
    assert!(log.contains("the own engine plays this move"), "{log}");
    assert!(log.contains("no legal move"), "{log}");
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
    assert!(missing.contains("cannot start"), "{missing}");
    let unknown = check("name = \"x y\"\ncommand = []\nprocesses = 0");
    assert!(unknown.contains("is empty"), "{unknown}");
    let rule = check("name = \"a\"\ncommand = [\"a\"]\n[[rule]]\nplay = { engine = \"b\" }");
    assert!(
        rule.contains("there is no engine b; engines are knightwatch, a"),
        "{rule}"
    );
}
