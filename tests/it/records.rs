//! Game records: what the daemon writes, also with a failing disk or after a crash, and the commands `knightwatch games` and
//! `knightwatch export`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use knightwatch::chess::pgn;
use knightwatch::sim::{GameSummary, NewUser, PlayerOptions};
use knightwatch::store::{MoveRecord, Outcome, Page, Reader, Record};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{BOT, Daemon, FAST_MOVES, Site, wait};
use crate::disk::{Disk, assert_fair, partner, wait_for_more_plies};
use crate::games::{bot_mates, losing_player};
use crate::operator;

/// The records file of a site in a state directory.
pub(crate) fn file(site: &Site, directory: &Path) -> PathBuf {
    let (_, port) = site.url.rsplit_once(':').unwrap();
    directory.join(format!("127.0.0.1-{port}.sqlite"))
}

/// A recorded game.
fn record(file: &Path, id: &str) -> Option<Record> {
    Reader::open(file).ok()?.record(id).unwrap()
}

/// Waits until this many moves of a game are recorded.
fn wait_for_moves(file: &Path, id: &str, plies: usize) -> Record {
    wait(&format!("{plies} plies of {id} are written"), || {
        record(file, id).filter(|record| record.moves.len() >= plies)
    })
}

/// Waits until the end of a game is recorded.
fn wait_for_end(file: &Path, id: &str) -> Record {
    wait(&format!("the end of {id} is written"), || {
        record(file, id).filter(|record| record.game.outcome != Outcome::Open)
    })
}

fn knightwatch(site: &Site, directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(arguments)
        .env("STATE_DIRECTORY", directory)
        .env("KNIGHTWATCH__LICHESS__URL", &site.url)
        .env_remove("LICHESS_TOKEN")
        .output()
        .unwrap()
}

/// The output of a successful command.
fn stdout(site: &Site, directory: &Path, arguments: &[&str]) -> String {
    let output = knightwatch(site, directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The ids of the games in a PGN text, with their numbers of plies.
fn games_in(text: &str) -> Vec<(String, usize)> {
    let mut reader = pgn::Reader::new();
    let mut rest = text.as_bytes();
    let mut games = Vec::new();
    let mut add = |record: Result<pgn::Record, pgn::ReadError>| {
        let record = record.unwrap();
        let id = record.tags.get("GameId").unwrap().to_owned();
        games.push((id, record.game.moves().len()));
    };
    while let Some(record) = reader.feed(&mut rest) {
        add(record);
    }
    reader.finish().into_iter().for_each(add);
    games
}

#[test]
fn game_is_recorded_listed_and_exported() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "records = { pgn = \"month\" }");
    site.sim.add_player(losing_player("Randy"));
    let game = bot_mates(&site);
    let (directory, file) = (&bot.state(), file(&site, &bot.state()));
    let record = wait_for_end(&file, &game.id);
    assert_eq!(record.moves.len(), game.plies);
    assert_eq!(record.game.outcome, Outcome::Won);
    assert_eq!(record.game.status.as_deref(), Some("mate"));
    assert_eq!(record.game.opponent.name, "Randy");
    assert!(record.game.final_clock.is_some() && record.game.round_trip.is_some());
    for played in &record.moves {
        let ours = played.ply % 2 == 1;
        assert!(
            played.clock_ms.is_some() && played.at.is_some(),
            "{played:?}"
        );
        assert_eq!(ours, played.source.is_some(), "{played:?}");
        assert_eq!(ours, played.round_trip_us.is_some(), "{played:?}");
    }
    let last = record.moves.last().unwrap();
    assert_eq!(
        (last.mate, last.source.as_deref()),
        (Some(1), Some("search")),
        "{last:?}"
    );
    let decisions = Reader::open(&file)
        .unwrap()
        .decisions(Page::first(9))
        .unwrap();
    assert_eq!(
        (decisions.len(), decisions[0].decision.as_str()),
        (1, "accepted")
    );

    // Read by another process while the daemon is running.
    let list = stdout(&site, directory, &["games"]);
    assert!(list.contains(&game.id) && list.contains("Randy"), "{list}");
    assert!(
        list.contains("1 game: 1 won, 0 drawn, 0 lost: 100.0 %"),
        "{list}"
    );
    let none = stdout(&site, directory, &["games", "--result", "lost"]);
    assert_eq!(none, "0 games: 0 won, 0 drawn, 0 lost\n");
    let groups = stdout(&site, directory, &["games", "--by", "opponent"]);
    assert!(groups.starts_with("Randy"), "{groups}");
    let json = stdout(&site, directory, &["games", "--json", "--color", "white"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["outcome"], "won");
    assert_eq!(json["plies"], game.plies);
    stdout(&site, directory, &["games", "--ratings"]);
    let toughest = stdout(&site, directory, &["games", "--toughest"]);
    assert!(toughest.starts_with("no tough opponents: "), "{toughest}");
    let toughest = stdout(&site, directory, &["games", "--toughest", "--json"]);
    assert_eq!(toughest, "");
    // Addresses copied from a browser are accepted.
    let opponent = ["games", "--opponent", "https://lichess.org/@/Randy"];
    assert!(stdout(&site, directory, &opponent).contains(&game.id));
    for copied in [
        format!("{}/{}/black#7", site.url, game.id),
        format!("{}abcd", game.id),
    ] {
        let text = stdout(&site, directory, &["export", &copied]);
        assert_eq!(games_in(&text), [(game.id.clone(), game.plies)], "{copied}");
    }
    // Under the same rules the challenge would be accepted again.
    let printed = stdout(&site, directory, &["explain", "LAST"]);
    assert!(
        printed.starts_with(&format!("Challenge {} was accepted at ", game.id)),
        "{printed}"
    );
    assert!(
        printed.contains("Randy (") && printed.contains("\nAccepted, "),
        "{printed}"
    );

    let text = stdout(&site, directory, &["export"]);
    assert_eq!(games_in(&text), [(game.id.clone(), game.plies)]);
    assert!(text.contains("[%clk 0:00:"), "{text}");
    assert!(text.contains("[Annotator \"Knightwatch\"]"), "{text}");
    // The mating move has no mate score, and every other one is one less after the move than before.
    let has_eval =
        |played: &&MoveRecord| played.mate.or(played.cp).is_some() && played.mate != Some(1);
    let evals = record.moves.iter().filter(has_eval).count();
    assert_eq!(text.matches("[%eval ").count(), evals, "{text}");
    let mates = record.moves.iter().filter_map(|played| played.mate);
    for mate in mates.filter(|&mate| mate > 1) {
        let written = format!("[%eval #{}]", mate - 1);
        assert!(text.contains(&written), "{written}: {text}");
    }
    assert!(
        text.contains(&format!("[Site \"{}/{}\"]", site.url, game.id)),
        "{text}"
    );
    let bare = stdout(
        &site,
        directory,
        &["export", &game.id, "--no-clocks", "--no-evals"],
    );
    assert!(!bare.contains("[%"), "{bare}");
    let output = directory.join("out.pgn");
    let printed = stdout(
        &site,
        directory,
        &["export", "-o", output.to_str().unwrap()],
    );
    assert!(printed.ends_with("out.pgn: 1 game\n"), "{printed}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
    // A failed export does not replace a file.
    let arguments = ["export", "nosuchid", "-o", output.to_str().unwrap()];
    let failed = knightwatch(&site, directory, &arguments);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let none = [
        "export",
        "--opponent",
        "Nobody",
        "-o",
        output.to_str().unwrap(),
    ];
    let failed = knightwatch(&site, directory, &none);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let printed = String::from_utf8(failed.stderr).unwrap();
    assert!(printed.contains("nothing is exported"), "{printed}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
    let months = fs::read_dir(file.with_extension("pgn")).unwrap();
    let months: Vec<_> = months.map(|month| month.unwrap().path()).collect();
    assert_eq!(months.len(), 1, "{months:?}");
    assert_eq!(fs::read_to_string(&months[0]).unwrap(), text);
}

#[test]
fn records_missing_is_reported() {
    let site = Site::new([]);
    let directory = tempfile::tempdir().unwrap();
    for command in ["games", "export"] {
        let output = knightwatch(&site, directory.path(), &[command]);
        assert_eq!(output.status.code(), Some(1));
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(printed.contains("there are no records at"), "{printed}");
    }
    fs::write(
        file(&site, directory.path()),
        "these are no records, but somebody's notes",
    )
    .unwrap();
    let output = knightwatch(&site, directory.path(), &["games"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("not a database"), "{printed}");
}

#[test]
fn records_disabled_writes_nothing() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "records = { enabled = false }");
    site.sim.add_player(losing_player("Randy"));
    bot_mates(&site);
    assert!(!file(&site, &bot.state()).exists());
}

/// The process is killed right after each move of the bot: everything before is recorded, and nothing is missing after the
/// restart.
#[test]
fn killed_process_loses_at_most_the_last_move() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, FAST_MOVES);
    let file = file(&site, &bot.state());
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "10800"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    // The knight moves back and forth until it is taken.
    let moves = ["g1h3", "h3g1", "g1h3", "h3g1"];
    for (number, uci) in moves.into_iter().enumerate() {
        let plies = 2 * number + 1;
        if anna.post(&format!("/api/bot/game/{id}/move/{uci}"), &[]).0 != 200 {
            break;
        }
        wait_for_moves(&file, &id, plies);
        site.plies(&id, plies + 1);
        bot.crash();
        let streams = |bot: &Daemon| bot.log().matches("stream open game=").count();
        let before = streams(&bot);
        let kept = record(&file, &id).unwrap().moves.len();
        assert!(kept >= plies, "{kept} of {plies} plies are left");
        bot.restart();
        wait_for_moves(&file, &id, plies + 1);
        wait("the game is taken up again", || {
            (streams(&bot) > before).then_some(())
        });
    }
    anna.post(&format!("/api/bot/game/{id}/resign"), &[]);
    let game = site.finished(&id);
    let record = wait_for_end(&file, &id);
    assert_eq!(record.moves.len(), game.plies);
    assert_eq!(record.game.outcome, Outcome::Won);
    assert_intact(&file);
}

/// The opponent resigns while the bot is not running: after the restart the game has its end.
#[test]
fn game_ended_during_downtime_gets_its_result() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, FAST_MOVES);
    let file = file(&site, &bot.state());
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "300"),
        ("clock.increment", "0"),
        ("color", "black"),
    ]);
    wait_for_moves(&file, &id, 1);
    anna.play(&id, "h7h6");
    wait_for_moves(&file, &id, 3);
    bot.crash();
    anna.post(&format!("/api/bot/game/{id}/resign"), &[]);
    let game = site.finished(&id);
    assert_eq!(record(&file, &id).unwrap().game.outcome, Outcome::Open);
    bot.restart();
    let record = wait_for_end(&file, &id);
    assert_eq!(record.game.outcome, Outcome::Won);
    assert_eq!(record.game.status.as_deref(), Some("resign"));
    assert_eq!(record.moves.len(), game.plies);
    // Nobody knows when it was.
    assert_eq!(record.game.finished, None);
}

fn assert_intact(file: &Path) {
    let db = Connection::open(file).unwrap();
    let result: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(result, "ok");
}

/// Games that are over on the site.
fn games_over(site: &Site) -> Vec<GameSummary> {
    let mut games = site.sim.games();
    games.retain(|game| game.plies > 1 && game.status != "started");
    games
}

/// At random moments, with writes going on all the time.
#[test]
fn killed_process_leaves_an_intact_file() {
    let site = Site::new([]);
    let mut bot = Daemon::start(&site, FAST_MOVES);
    let file = file(&site, &bot.state());
    for number in 0..4 {
        let partner = partner();
        site.sim.add_player(PlayerOptions {
            name: format!("Randy{number}"),
            ..partner
        });
    }
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..5 {
        wait_for_more_plies(&site, rng.usize(20..60));
        bot.crash_and_restart();
        assert_intact(&file);
    }
    wait_for_more_plies(&site, 20);
    wait("a game is over", || games_over(&site).pop());
    // Also those that ended while the bot was not running.
    for game in games_over(&site) {
        wait_for_end(&file, &game.id);
    }
    bot.stop();
    let reader = Reader::open(&file).unwrap();
    for game in site.sim.games() {
        let record = reader.record(&game.id).unwrap();
        // A game that was just accepted may have had no stream yet.
        assert!(record.is_some() || game.plies <= 1, "{game}");
        if let Some(record) = record
            && record.game.outcome != Outcome::Open
        {
            assert_eq!(record.moves.len(), game.plies, "{game}");
        }
    }
    assert_intact(&file);
}

#[test]
fn locked_file_does_not_stop_games() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, FAST_MOVES);
    let file = file(&site, &bot.state());
    site.sim.add_player(partner());
    wait_for_more_plies(&site, 4);
    let other = wait("the file is there", || {
        let other = Connection::open(&file).ok()?;
        other.execute_batch("BEGIN IMMEDIATE").ok()?;
        Some(other)
    });
    let recorded = |game: &GameSummary| record(&file, &game.id).map_or(0, |it| it.moves.len());
    let before: usize = site.sim.games().iter().map(recorded).sum();
    wait_for_more_plies(&site, 10);
    wait("the error is logged", || {
        let logged = bot.log().matches("records: cannot write").count();
        assert!(logged <= 1, "{}", bot.log());
        (logged == 1).then_some(())
    });
    assert!(bot.log().contains("database is locked"), "{}", bot.log());
    other.execute_batch("ROLLBACK").unwrap();
    let games = site.sim.games();
    let plies: usize = games.iter().map(|game| game.plies).sum();
    assert!(plies > before);
    for game in &games {
        wait_for_moves(&file, &game.id, game.plies);
    }
    wait("the recovery is logged", || {
        bot.log().contains("is writable again").then_some(())
    });
    assert_fair(&site.sim.games());
}

#[test]
fn damaged_file_does_not_stop_games() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    let file = file(&site, &state);
    fs::write(&file, [0xa5; 20_000]).unwrap();
    let log = home.path().join("log");
    let token = site.sim.token_of(BOT);
    let bot = Daemon::launch_at(&site, &token, "", Vec::new(), home, log);
    site.sim.add_player(losing_player("Randy"));
    let game = bot_mates(&site);
    wait_for_end(&file, &game.id);
    assert!(bot.log().contains("is damaged"), "{}", bot.log());
    let names = fs::read_dir(bot.state()).unwrap();
    let damaged = names.map(|entry| entry.unwrap().path());
    let mut damaged = damaged.filter(|path| path.to_string_lossy().contains(".sqlite.damaged-"));
    assert_eq!(fs::read(damaged.next().unwrap()).unwrap(), [0xa5; 20_000]);
}

/// The bot with its records on a disk that only the mounted namespace sees.
struct OnDisk {
    disk: Disk,
    bot: Daemon,
    name: PathBuf,
    copies: TempDir,
}

impl OnDisk {
    fn start(disk: Disk, site: &Site) -> Self {
        let records = disk.inside.join("records");
        let config = format!(
            "records = {{ directory = \"{}\", pgn = \"all\" }}{FAST_MOVES}",
            records.display()
        );
        let home = tempfile::tempdir().unwrap();
        let bot = Daemon::launch_in(site, &config, disk.launcher(), home);
        bot.ready();
        Self {
            disk,
            bot,
            name: file(site, Path::new("records")),
            copies: tempfile::tempdir().unwrap(),
        }
    }

    /// Waits until the error is logged and the game has continued.
    fn wait_for_error_and_play_on(&self, site: &Site) {
        wait("the error is logged", || {
            let logged = self.bot.log().contains("records: cannot write");
            logged.then_some(())
        });
        assert!(self.failure().is_string());
        wait_for_more_plies(site, 6);
    }

    /// Why the records cannot be written, according to `status`; null while they can.
    fn failure(&self) -> Value {
        operator::status(&self.bot)["records"]["failure"].clone()
    }

    /// Waits until a copy of the file has this many moves of a game.
    fn wait_for_moves(&self, id: &str, plies: usize) -> Record {
        let copy = self.copies.path().join("copy");
        wait(&format!("{plies} plies of {id} are written"), || {
            for end in ["", "-wal"] {
                let name = format!("{}{end}", self.name.display());
                fs::copy(
                    self.disk.path.join(name),
                    format!("{}{end}", copy.display()),
                )
                .ok()?;
            }
            // A copy made during a write is made again.
            let record = Reader::open(&copy).ok()?.record(id).ok()??;
            (record.moves.len() >= plies).then_some(record)
        })
    }

    fn wait_for_recovery(&self) {
        wait("the status has no failure", || {
            self.failure().is_null().then_some(())
        });
    }
}

#[test]
fn full_disk_loses_no_recorded_move() {
    let Some(disk) = Disk::new() else { return };
    let site = Site::new([]);
    let on = OnDisk::start(disk, &site);
    site.sim.add_player(partner());
    let id = site.started(1).remove(0).id;
    on.wait_for_moves(&id, 2);
    let other = on.disk.path.join("other");
    fs::write(&other, "").unwrap();
    on.disk.fill(&other);
    on.wait_for_error_and_play_on(&site);
    fs::remove_file(on.disk.filler()).unwrap();
    let plies = site.game(&id).unwrap().plies;
    let record = on.wait_for_moves(&id, plies);
    on.wait_for_recovery();
    assert!(record.moves.iter().all(|played| played.at.is_some()));
    assert_fair(&site.sim.games());
}

#[test]
fn read_only_disk_loses_no_recorded_move() {
    let Some(mut disk) = Disk::new() else { return };
    disk.remount("ro");
    let site = Site::new([]);
    let mut on = OnDisk::start(disk, &site);
    site.sim.add_player(partner());
    let id = site.started(1).remove(0).id;
    on.wait_for_error_and_play_on(&site);
    on.disk.remount("rw");
    let plies = site.game(&id).unwrap().plies;
    let record = on.wait_for_moves(&id, plies);
    on.wait_for_recovery();
    assert!(record.moves.iter().all(|played| played.at.is_some()));
    assert_fair(&site.sim.games());
}
