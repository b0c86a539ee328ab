//! `knightwatch import`: games from PGN and from Lichess's export in the records.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use knightwatch::chess::pgn::{self, MoveComment, Outcome, Tags};
use knightwatch::chess::{Game, Position, Termination};
use knightwatch::sim::{NewUser, token_of};
use knightwatch::store::{Filter, Reader};
use rusqlite::Connection;

use crate::common::{BOT, Daemon, Killed, Site, http_client, wait};
use crate::games::{bot_mates, losing_player};
use crate::page::Url;

const EXPORT: &str = r#"{"id":"abcdEFGH","rated":true,"variant":"standard","speed":"blitz","perf":"blitz","createdAt":1750000000000,"lastMoveAt":1750000060000,"status":"resign","players":{"white":{"user":{"name":"MyBot","id":"mybot","title":"BOT"},"rating":2000,"ratingDiff":-9},"black":{"user":{"name":"Anna","id":"anna"},"rating":1500,"ratingDiff":9}},"winner":"black","moves":"e4 e5 Nf3","clocks":[18003,18003,17800],"clock":{"initial":180,"increment":2,"totalTime":260}}
"#;

fn file(state: &Path) -> PathBuf {
    state.join("lichess.org.sqlite")
}

fn command(state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command
        .args(arguments)
        .current_dir(state)
        .env("STATE_DIRECTORY", state)
        .env("HOME", state)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("LICHESS_TOKEN");
    command
}

fn run(state: &Path, arguments: &[&str]) -> Output {
    let mut command = command(state, arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// The output of a successful command.
fn stdout(state: &Path, arguments: &[&str]) -> String {
    let output = run(state, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// PGN of random games of MyBot, with clocks.
fn random_games(count: usize) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    let mut text = String::new();
    for number in 0..count {
        let mut game = Game::new(Position::startpos());
        while game.moves().len() < 80 && game.termination().is_none() {
            let moves = game.position().legal_moves();
            game.play(moves[random.usize(..moves.len())]);
        }
        let mut tags = Tags::default();
        tags.set("Event", "Rated blitz game");
        tags.set("Site", format!("https://lichess.org/g{number:07}"));
        tags.set("Date", "2026.05.24");
        tags.set("White", if number % 2 == 0 { "MyBot" } else { "Anna" });
        tags.set("Black", if number % 2 == 0 { "Anna" } else { "mybot" });
        tags.set("TimeControl", "180+2");
        tags.set("WhiteElo", "1800");
        tags.set("BlackElo", "1700");
        let comment = |_| MoveComment {
            clock: Some(std::time::Duration::from_secs(100)),
            ..MoveComment::default()
        };
        let comments: Vec<MoveComment> = game.moves().iter().map(comment).collect();
        let outcome = match game.termination() {
            Some(Termination::Checkmate) => Outcome::Win(!game.position().turn()),
            _ => Outcome::Draw,
        };
        text += &pgn::write(&tags, &game, &comments, outcome);
        text.push('\n');
    }
    text
}

fn is_intact(file: &Path) -> bool {
    let db = Connection::open(file).unwrap();
    let found: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    found == "ok"
}

#[test]
fn import_adds_games_once() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    let games = random_games(2)
        + "[White \"MyBot\"]\n[Black \"Bert\"]\n[Date \"2001.02.03\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Ke2 Ke7 1-0\n\n\
           [White \"Anna\"]\n[Black \"Bert\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n\n\
           [White \"MyBot\"]\n[Black \"Bert\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Qh7 1-0\n\n\
           [White \"MyBot\"]\n[Black \"Bert\"]\n[Result \"1-0\"]\n\n1. f3 e5 2. g4 Qh4# 1-0\n\n\
           [White \"MyBot\"]\n[Black \"Bert\"]\n[Variant \"Bughouse\"]\n\n1. e4 1-0\n\n\
           [White \"MyBot\"]\n[Black \"Bert\"]\n\n1. e4 *\n";
    fs::write(state.join("games.pgn"), &games).unwrap();
    let export = format!(
        "{EXPORT}\n{{\"id\":\"zzzz\n{}",
        EXPORT.replace("abcdEFGH", "12345678").replace("Nf3", "Nf4")
    );
    fs::write(state.join("export.ndjson"), export).unwrap();

    let without = run(state, &["import", "games.pgn"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&without.stderr).contains("use --account NAME"),
        "{without:?}"
    );

    let arguments = ["import", "--account", "MYBOT", "games.pgn", "export.ndjson"];
    let output = run(state, &arguments);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        printed,
        "imported 4 games of MyBot; 0 already known\n\
         skipped 7 games: 1 of other players, 1 of variants that are not played, 1 without a result, 4 not valid\n"
    );
    let diagnostics = String::from_utf8(output.stderr).unwrap();
    for part in [
        "games.pgn: game 5, line ",
        ", move 2.: ",
        "games.pgn: game 6: the moves end in checkmate of White, but the result is 1-0",
        "export.ndjson: line 3: not a game as Lichess exports it",
        "export.ndjson: line 4: game 12345678, move 2: ",
    ] {
        assert!(diagnostics.contains(part), "{part}: {diagnostics}");
    }
    fs::write(state.join("broken.ndjson"), "{\"id\":\"zzzz\n").unwrap();
    let output = run(state, &["import", "broken.ndjson"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let before = stdout(state, &["export"]);
    // Again, and now the account is known from the records.
    let printed = stdout(state, &["import", "export.ndjson", "games.pgn"]);
    assert!(printed.starts_with("imported 0 games of "), "{printed}");
    assert!(printed.contains("; 4 already known"), "{printed}");
    fs::write(state.join("own.pgn"), &before).unwrap();
    let printed = stdout(state, &["import", "own.pgn"]);
    assert!(printed.starts_with("imported 0 games of "), "{printed}");
    assert_eq!(stdout(state, &["export"]), before);
    // Statistics.
    let list = stdout(state, &["games"]);
    assert!(list.contains("4 games: 1 won, 2 drawn, 1 lost"), "{list}");
    // No tag names its time control.
    assert!(list.contains("casual unknown time control, Bert"), "{list}");
    assert!(!list.contains("correspondence"), "{list}");
    let groups = stdout(state, &["games", "--by", "opponent"]);
    assert!(
        groups.starts_with("Anna  ") && groups.contains("\nBert  "),
        "{groups}"
    );
    let list = stdout(state, &["games", "--ratings"]);
    assert!(list.contains("blitz") && !list.contains("mybot"), "{list}");
    let lost = stdout(
        state,
        &["games", "--result", "lost", "--speed", "blitz", "--rated"],
    );
    assert!(
        lost.contains("abcdEFGH") && lost.contains("resign"),
        "{lost}"
    );
    let one = stdout(state, &["export", "abcdEFGH"]);
    assert!(
        one.contains("1. e4 { [%clk 0:03:00] } 1... e5") && one.contains("0-1"),
        "{one}"
    );
    let toughest = stdout(state, &["games", "--toughest"]);
    assert!(toughest.contains("Anna"), "{toughest}");
}

#[test]
fn import_of_a_missing_file_imports_nothing() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    fs::write(state.join("good.json"), EXPORT).unwrap();
    let arguments = ["import", "--account", "MyBot", "good.json", "none.pgn"];
    let output = run(state, &arguments);
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && why.contains("none.pgn"),
        "{why}"
    );
    assert!(!file(state).exists());
    // Nor without an account.
    let output = run(state, &["import", "good.json"]);
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("whose games are meant"), "{why}");
    assert!(!file(state).exists());
}

#[test]
fn import_since_a_day_applies_to_files() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    let game = |date: &str, mv: &str| {
        format!("[White \"MyBot\"]\n[Black \"Bert\"]\n{date}[Result \"1-0\"]\n\n1. {mv} 1-0\n\n")
    };
    let games = [
        game("[Date \"2001.02.03\"]\n", "e4"),
        game("[Date \"2026.01.01\"]\n", "d4"),
        game("", "c4"),
    ];
    fs::write(state.join("games.pgn"), games.concat()).unwrap();
    fs::write(state.join("export.ndjson"), EXPORT).unwrap();
    let import = |since: &str| {
        let arguments = ["import", "--account", "MyBot", "--since", since];
        stdout(
            state,
            &[&arguments[..], &["games.pgn", "export.ndjson"]].concat(),
        )
    };
    assert_eq!(
        import("2026-01-01"),
        "imported 1 game of MyBot; 0 already known\n\
         skipped 3 games: 2 from before --since, 1 without a date\n"
    );
    assert_eq!(
        import("2025-06-01"),
        "imported 1 game of MyBot; 1 already known\n\
         skipped 2 games: 1 from before --since, 1 without a date\n"
    );
}

#[test]
fn date_that_is_unknown_stays_unknown() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    let game = |date: &str| {
        format!("[White \"MyBot\"]\n[Black \"Bert\"]\n{date}[Result \"1-0\"]\n\n1. e4 1-0\n\n")
    };
    let games = game("") + &game("[Date \"2001.02.03\"]\n");
    fs::write(state.join("games.pgn"), games).unwrap();
    stdout(state, &["import", "--account", "MyBot", "games.pgn"]);
    let list = stdout(state, &["games"]);
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows[0].starts_with("2001-02-0"), "{list}");
    assert!(rows[1].starts_with("????-??-?? ??:??  "), "{list}");
    let json = stdout(state, &["games", "--json"]);
    assert!(json.contains("\"started_ms\":null"), "{json}");
    let pgn = stdout(state, &["export"]);
    for tag in [
        "[Date \"????.??.??\"]",
        "[UTCDate \"????.??.??\"]",
        "[UTCTime \"??:??:??\"]",
    ] {
        assert_eq!(pgn.matches(tag).count(), 1, "{pgn}");
    }
    // No window has the game.
    let until = stdout(state, &["export", "--until", "2030-01-01"]);
    assert_eq!(until.matches("[Event ").count(), 1, "{until}");
    // The file that was exported is known.
    fs::write(state.join("exported.pgn"), pgn).unwrap();
    let again = stdout(state, &["import", "--account", "MyBot", "exported.pgn"]);
    assert_eq!(again, "imported 0 games of MyBot; 2 already known\n");
}

#[test]
fn endings_survive_import_and_export() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    let game = |tags: &str, moves: &str, result: &str| {
        format!(
            "[Event \"Celebrated Masters\"]\n[White \"MyBot\"]\n[Black \"Bert\"]\n{tags}\
             [Result \"{result}\"]\n\n{moves} {result}\n\n"
        )
    };
    let hill = "[Variant \"King of the Hill\"]\n";
    let climb = "1. e4 e5 2. Ke2 a6 3. Ke3 a5 4. Kd3 a4 5. Kc4 a3 6. Kd5";
    let games = game(hill, climb, "1-0")
        + &game(
            "[Termination \"Rules infraction\"]\n[Site \"Berlin GER\"]\n",
            "1. e4 e5",
            "0-1",
        )
        + &game("[Termination \"Abandoned\"]\n", "1. d4", "1-0")
        + &game(hill, climb, "0-1");
    fs::write(state.join("games.pgn"), games).unwrap();
    let output = run(state, &["import", "--account", "MyBot", "games.pgn"]);
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(printed.contains("imported 3 games"), "{printed}");
    assert!(
        printed.contains("game 4: the moves end in a win of White, but the result is 0-1"),
        "{printed}"
    );
    let json = stdout(state, &["games", "--json"]);
    for status in ["variantEnd", "cheat", "noStart"] {
        assert!(json.contains(&format!("\"status\":\"{status}\"")), "{json}");
    }
    assert!(!json.contains("\"rated\":true"), "{json}");
    let pgn = stdout(state, &["export"]);
    assert!(pgn.contains("[Termination \"Rules infraction\"]"), "{pgn}");
    for (site, count) in [("Berlin GER", 1), ("?", 2)] {
        let tag = format!("[Site \"{site}\"]");
        assert_eq!(pgn.matches(&tag).count(), count, "{pgn}");
    }
}

#[test]
fn only_addresses_of_imported_games_are_links() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let state = bot.state();
    let sites = ["https://chess.example/1", "Berlin GER", "?"];
    let opponents = ["Anna", "Bert", "Carl"];
    let game = |(site, opponent)| {
        format!("[Site \"{site}\"]\n[White \"{BOT}\"]\n[Black \"{opponent}\"]\n\n1. e4 e5 1-0\n\n")
    };
    fs::write(
        state.join("games.pgn"),
        sites
            .into_iter()
            .zip(opponents)
            .map(game)
            .collect::<String>(),
    )
    .unwrap();
    let mut command = command(&state, &["import", "--account", BOT, "games.pgn"]);
    let output = command.env("KNIGHTWATCH__LICHESS__URL", &site.url).output();
    assert!(output.unwrap().status.success());
    let page = Url::of(&bot, 1);
    let games = page.json("/api/games");
    let mut urls: Vec<String> = games["games"]
        .as_array()
        .unwrap()
        .iter()
        .map(|game| {
            let game = page.json(&format!("/api/game/{}", game["id"].as_str().unwrap()));
            game["url"].as_str().unwrap().to_owned()
        })
        .collect();
    urls.sort();
    assert_eq!(urls, ["", "", sites[0]]);
}

#[test]
fn own_evaluations_survive_import_and_export() {
    let game = |tags: &str| {
        format!(
            "[White \"Bert\"]\n[Black \"MyBot\"]\n{tags}[Result \"0-1\"]\n\n\
             1. f3 e5 {{ [%eval -0.93] }} 2. g4 Qh4# {{ [%eval #-0] }} 0-1\n\n\
             [White \"Carl\"]\n[Black \"MyBot\"]\n{tags}[Result \"0-1\"]\n\n\
             1. f3 e5 {{ [%eval #-3] }} 2. a3 {{ [%clk 0:01:00] }} 0-1\n\n"
        )
    };
    for (tags, count) in [("[Annotator \"Knightwatch\"]\n", 1), ("", 0)] {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        fs::write(state.join("games.pgn"), game(tags)).unwrap();
        stdout(state, &["import", "--account", "MyBot", "games.pgn"]);
        let pgn = stdout(state, &["export"]);
        for words in ["[%eval -0.93]", "[%eval #-3]"] {
            assert_eq!(pgn.matches(words).count(), count, "{pgn}");
        }
        assert_eq!(pgn.matches("[%clk 0:01:00]").count(), 1, "{pgn}");
    }
}

#[test]
fn import_takes_what_lichess_exports_while_bot_runs() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "");
    site.sim.add_player(losing_player("Randy"));
    let game = bot_mates(&site);
    let name = fs::read_dir(bot.state())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let name = name.map(|name| name.into_string().unwrap());
    let name = name
        .into_iter()
        .find(|name| name.ends_with(".sqlite"))
        .unwrap();
    let records = bot.state().join(name);
    let recorded = wait("the end is recorded", || {
        let record = Reader::open(&records).ok()?.record(&game.id).unwrap();
        record.filter(|record| record.game.finished.is_some())
    });
    let url = format!("{}/api/games/user/{BOT}?clocks=true", site.url);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let text = runtime.block_on(async {
        let request = http_client()
            .get(url)
            .header("Accept", "application/x-ndjson");
        request.send().await.unwrap().text().await.unwrap()
    });
    let import = |state: &Path| {
        let mut command = command(state, &["import", "--account", BOT, "-"]);
        command
            .env("KNIGHTWATCH__LICHESS__URL", &site.url)
            .stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    // The records of the running bot have it.
    let printed = import(&bot.state());
    assert_eq!(
        printed,
        format!("imported 0 games of {BOT}; 1 already known\n")
    );
    // Other records get the same game, and fetch it themselves if they are to.
    let fetch = |state: &Path, arguments: &[&str]| {
        let mut command = command(state, &["import", "--from-lichess"]);
        command
            .args(arguments)
            .env("KNIGHTWATCH__LICHESS__URL", &site.url)
            .env("LICHESS_TOKEN", token_of(BOT));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let other = tempfile::tempdir().unwrap();
    let printed = import(other.path());
    assert_eq!(
        printed,
        format!("imported 1 game of {BOT}; 0 already known\n")
    );
    let printed = fetch(other.path(), &["--since", "2020-01-01"]);
    assert_eq!(
        printed,
        format!("imported 0 games of {BOT}; 1 already known\n")
    );
    let printed = fetch(other.path(), &["--since", "2100-01-01"]);
    assert_eq!(
        printed,
        format!("imported 0 games of {BOT}; 0 already known\n")
    );
    let fetched = tempfile::tempdir().unwrap();
    let printed = fetch(fetched.path(), &["--account", "randy"]);
    assert_eq!(printed, "imported 1 game of Randy; 0 already known\n");
    let reader = Reader::open(&other.path().join(records.file_name().unwrap())).unwrap();
    let imported = reader.record(&game.id).unwrap().unwrap();
    let moves = |record: &knightwatch::store::Record| -> Vec<String> {
        record
            .moves
            .iter()
            .map(|played| played.uci.clone())
            .collect()
    };
    assert_eq!(moves(&imported), moves(&recorded));
    assert_eq!(imported.game.outcome, recorded.game.outcome);
    assert_eq!(imported.game.status, recorded.game.status);
    assert_eq!(imported.game.initial_fen, recorded.game.initial_fen);
    assert_eq!(imported.game.speed, recorded.game.speed);
}

#[test]
fn import_killed_leaves_intact_records() {
    const GAMES: usize = 3_000;
    let state = tempfile::tempdir().unwrap();
    let state = state.path();
    fs::write(state.join("games.pgn"), random_games(GAMES)).unwrap();
    let arguments = ["import", "--account", "MyBot", "games.pgn"];
    let mut child = Killed(
        command(state, &arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait("some games are imported", || {
        let count = Reader::open(&file(state))
            .ok()?
            .count(&Filter::default())
            .ok()?;
        (count > 0).then_some(())
    });
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert!(is_intact(&file(state)));
    let start = Instant::now();
    let printed = stdout(state, &arguments);
    println!("{GAMES} games in {:?}", start.elapsed());
    assert!(printed.starts_with("imported "), "{printed}");
    let reader = Reader::open(&file(state)).unwrap();
    assert_eq!(reader.count(&Filter::default()).unwrap(), GAMES as u64);
    assert!(is_intact(&file(state)));
}
