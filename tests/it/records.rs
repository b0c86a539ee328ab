//! Records of games: what the real program keeps of what it plays, whatever becomes of its disk or of itself, and what
//! `knightwatch games` and `knightwatch export` make of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use knightwatch::chess::pgn;
use knightwatch::sim::{GameSummary, NewUser, Sparring};
use knightwatch::store::{Filter, Outcome, Page, Played, Reader, Record};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{BOT, Daemon, Site, wait};
use crate::disk::{Disk, assert_fair, partner, play_on};
use crate::games::{bot_mates, lost};

/// The file of a site's games, in a state directory.
fn file(site: &Site, directory: &Path) -> PathBuf {
    let (_, port) = site.url.rsplit_once(':').unwrap();
    directory.join(format!("127.0.0.1-{port}.sqlite"))
}

/// A game as far as it is written down.
fn record(file: &Path, id: &str) -> Option<Record> {
    Reader::open(file).ok()?.record(id).unwrap()
}

/// Waits until so many moves of a game are written down.
fn written(file: &Path, id: &str, plies: usize) -> Record {
    wait(&format!("{plies} plies of {id} are written"), || {
        record(file, id).filter(|record| record.moves.len() >= plies)
    })
}

/// Waits until the end of a game is written down.
fn complete(file: &Path, id: &str) -> Record {
    wait(&format!("the end of {id} is written"), || {
        record(file, id).filter(|record| record.game.finished.is_some())
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

/// What a command that succeeds prints.
fn stdout(site: &Site, directory: &Path, arguments: &[&str]) -> String {
    let output = knightwatch(site, directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The games of a PGN text, each with its number of plies.
fn games_of(text: &str) -> Vec<(String, usize)> {
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
fn a_game_is_kept_and_shown() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "records = { pgn = \"month\" }");
    site.sim.spar(lost("Randy"));
    let game = bot_mates(&site);
    let (directory, file) = (&bot.state(), file(&site, &bot.state()));
    let record = complete(&file, &game.id);
    assert_eq!(record.moves.len(), game.plies);
    assert_eq!(record.game.outcome, Outcome::Won);
    assert_eq!(record.game.status.as_deref(), Some("mate"));
    assert_eq!(record.game.opponent.name, "Randy");
    assert!(record.game.left.is_some() && record.game.round_trip.is_some());
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

    // While it runs, and by another process.
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
    assert!(toughest.starts_with("no nemeses: "), "{toughest}");
    let toughest = stdout(&site, directory, &["games", "--toughest", "--json"]);
    assert_eq!(toughest, "");
    // Whatever is copied from the address bar.
    let opponent = ["games", "--opponent", "https://lichess.org/@/Randy"];
    assert!(stdout(&site, directory, &opponent).contains(&game.id));
    for copied in [
        format!("{}/{}/black#7", site.url, game.id),
        format!("{}abcd", game.id),
    ] {
        let text = stdout(&site, directory, &["export", &copied]);
        assert_eq!(games_of(&text), [(game.id.clone(), game.plies)], "{copied}");
    }
    // The challenge that it came from would be answered in the same way now.
    let said = stdout(&site, directory, &["explain", "LAST"]);
    assert!(
        said.starts_with(&format!("Challenge {} was accepted at ", game.id)),
        "{said}"
    );
    assert!(
        said.contains("Randy (") && said.contains("\nAccepted, "),
        "{said}"
    );

    let text = stdout(&site, directory, &["export"]);
    assert_eq!(games_of(&text), [(game.id.clone(), game.plies)]);
    assert!(text.contains("[%clk 0:00:"), "{text}");
    assert!(text.contains("[Annotator \"Knightwatch\"]"), "{text}");
    // The mating move leaves no mate to be announced, and every other counts one less after it than before.
    let judged = |played: &&Played| played.mate.or(played.cp).is_some() && played.mate != Some(1);
    let evals = record.moves.iter().filter(judged).count();
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
    let said = stdout(
        &site,
        directory,
        &["export", "-o", output.to_str().unwrap()],
    );
    assert!(said.ends_with("out.pgn: 1 game\n"), "{said}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
    // What cannot be exported takes no file's place.
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
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(said.contains("nothing is exported"), "{said}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
    let months = fs::read_dir(file.with_extension("pgn")).unwrap();
    let months: Vec<_> = months.map(|month| month.unwrap().path()).collect();
    assert_eq!(months.len(), 1, "{months:?}");
    assert_eq!(fs::read_to_string(&months[0]).unwrap(), text);
}

#[test]
fn where_there_are_no_records_it_is_said() {
    let site = Site::new([]);
    let directory = tempfile::tempdir().unwrap();
    for command in ["games", "export"] {
        let output = knightwatch(&site, directory.path(), &[command]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("there are no records at"), "{said}");
    }
    fs::write(
        file(&site, directory.path()),
        "these are no records, but somebody's notes",
    )
    .unwrap();
    let output = knightwatch(&site, directory.path(), &["games"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("not a database"), "{said}");
}

#[test]
fn nothing_is_kept_where_nothing_is_to_be_kept() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(&site, "records = { enabled = false }");
    site.sim.spar(lost("Randy"));
    bot_mates(&site);
    assert!(!file(&site, &bot.state()).exists());
}

/// A move of the bot's is on the board and the process is gone: all that was told before is in the file, and after the
/// restart nothing is missing.
#[test]
fn a_kill_costs_the_last_move_at_most() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    let file = file(&site, &bot.state());
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "60"),
        ("clock.increment", "2"),
        ("color", "white"),
    ]);
    // The knight goes to and fro, as long as nobody takes it.
    let moves = ["g1h3", "h3g1", "g1h3", "h3g1"];
    for (number, uci) in moves.into_iter().enumerate() {
        let plies = 2 * number + 1;
        if anna.post(&format!("/api/bot/game/{id}/move/{uci}"), &[]).0 != 200 {
            break;
        }
        written(&file, &id, plies);
        site.plies(&id, plies + 1);
        bot.crash_and_restart();
        let kept = record(&file, &id).unwrap().moves.len();
        assert!(kept >= plies, "{kept} of {plies} plies are left");
        written(&file, &id, plies + 1);
        wait("the game is taken up again", || {
            let streams = bot.log().matches("stream open game=").count();
            (streams == number + 2).then_some(())
        });
    }
    anna.post(&format!("/api/bot/game/{id}/resign"), &[]);
    let game = site.finished(&id);
    let record = complete(&file, &id);
    assert_eq!(record.moves.len(), game.plies);
    assert_eq!(record.game.outcome, Outcome::Won);
    sound(&file);
}

/// The opponent gives up while nobody of ours is there: after the restart the game has its end.
#[test]
fn a_game_that_ends_while_we_are_away_is_not_left_open() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    let file = file(&site, &bot.state());
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "300"),
        ("clock.increment", "0"),
        ("color", "black"),
    ]);
    written(&file, &id, 1);
    anna.play(&id, "h7h6");
    written(&file, &id, 3);
    bot.crash();
    anna.post(&format!("/api/bot/game/{id}/resign"), &[]);
    let game = site.finished(&id);
    assert_eq!(record(&file, &id).unwrap().game.outcome, Outcome::Open);
    bot.restart();
    let record = complete(&file, &id);
    assert_eq!(record.game.outcome, Outcome::Won);
    assert_eq!(record.game.status.as_deref(), Some("resign"));
    assert_eq!(record.moves.len(), game.plies);
}

fn sound(file: &Path) {
    let db = Connection::open(file).unwrap();
    let verdict: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

/// At any moment, with writes going on all the time.
#[test]
fn kills_at_any_moment_leave_a_sound_file() {
    let site = Site::new([]);
    let mut bot = Daemon::start(&site, "");
    let file = file(&site, &bot.state());
    for number in 0..4 {
        let partner = partner();
        site.sim.spar(Sparring {
            name: format!("Randy{number}"),
            ..partner
        });
    }
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..5 {
        play_on(&site, rng.usize(20..60));
        bot.crash_and_restart();
        sound(&file);
    }
    play_on(&site, 20);
    bot.leave();
    let reader = Reader::open(&file).unwrap();
    let games: Vec<GameSummary> = site.sim.games();
    let kept = reader
        .games(&Filter::default(), Page::first(1_000))
        .unwrap();
    // One that the bot had just accepted may have had no stream yet.
    let begun = games.iter().filter(|game| game.plies > 1);
    assert!(begun.count() <= kept.len());
    for game in games.iter().filter(|game| game.status != "started") {
        let record = reader.record(&game.id).unwrap().unwrap();
        // One that ended while nobody was there has no end.
        if record.game.finished.is_some() {
            assert_eq!(record.moves.len(), game.plies, "{game}");
        }
    }
    sound(&file);
}

#[test]
fn a_file_that_another_process_holds_stops_no_game() {
    let site = Site::new([]);
    let bot = Daemon::start(&site, "");
    let file = file(&site, &bot.state());
    site.sim.spar(partner());
    play_on(&site, 4);
    let other = wait("the file is there", || {
        let other = Connection::open(&file).ok()?;
        other.execute_batch("BEGIN IMMEDIATE").ok()?;
        Some(other)
    });
    let id = site.sim.games()[0].id.clone();
    let before = record(&file, &id).map_or(0, |record| record.moves.len());
    play_on(&site, 10);
    wait("what is wrong is told", || {
        let told = bot.log().matches("records: cannot write").count();
        assert!(told <= 1, "{}", bot.log());
        (told == 1).then_some(())
    });
    assert!(bot.log().contains("database is locked"), "{}", bot.log());
    other.execute_batch("ROLLBACK").unwrap();
    let plies = site.game(&id).unwrap().plies;
    assert!(plies > before);
    written(&file, &id, plies);
    wait("that it is well again is told", || {
        bot.log().contains("takes everything again").then_some(())
    });
    assert_fair(&site.sim.games());
}

#[test]
fn a_damaged_file_stops_no_game() {
    let site = Site::new([]);
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    let file = file(&site, &state);
    fs::write(&file, [0xa5; 20_000]).unwrap();
    let log = home.path().join("log");
    let token = site.sim.token_of(BOT);
    let bot = Daemon::launch_at(&site, &token, "", Vec::new(), home, log);
    site.sim.spar(lost("Randy"));
    let game = bot_mates(&site);
    complete(&file, &game.id);
    assert!(bot.log().contains("is damaged"), "{}", bot.log());
    let names = fs::read_dir(bot.state()).unwrap();
    let aside = names.map(|entry| entry.unwrap().path());
    let mut aside = aside.filter(|path| path.to_string_lossy().contains(".sqlite.damaged-"));
    assert_eq!(fs::read(aside.next().unwrap()).unwrap(), [0xa5; 20_000]);
}

/// The bot with its records on a disk, which SQLite finds only from where that is mounted: nothing else can read them.
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
            "records = {{ directory = \"{}\", pgn = \"all\" }}",
            records.display()
        );
        let home = tempfile::tempdir().unwrap();
        let bot = Daemon::launch_in(site, &config, disk.entrance(), home);
        bot.ready();
        Self {
            disk,
            bot,
            name: file(site, Path::new("records")),
            copies: tempfile::tempdir().unwrap(),
        }
    }

    /// Waits until what is wrong is told, and until the game has gone on.
    fn plays_on_without(&self, site: &Site) {
        wait("what is wrong is told", || {
            let told = self.bot.log().contains("records: cannot write");
            told.then_some(())
        });
        play_on(site, 6);
    }

    /// Waits until a copy of the file has so many moves of a game.
    fn written(&self, id: &str, plies: usize) -> Record {
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
            // A copy that was made in mid-write is made again.
            let record = Reader::open(&copy).ok()?.record(id).ok()??;
            (record.moves.len() >= plies).then_some(record)
        })
    }
}

#[test]
fn a_full_disk_costs_no_move_of_the_records() {
    let Some(disk) = Disk::new() else { return };
    let site = Site::new([]);
    let on = OnDisk::start(disk, &site);
    site.sim.spar(partner());
    let id = site.started(1).remove(0).id;
    on.written(&id, 2);
    let other = on.disk.path.join("other");
    fs::write(&other, "").unwrap();
    on.disk.fill(&other);
    on.plays_on_without(&site);
    fs::remove_file(on.disk.filler()).unwrap();
    let plies = site.game(&id).unwrap().plies;
    let record = on.written(&id, plies);
    assert!(record.moves.iter().all(|played| played.at.is_some()));
    assert_fair(&site.sim.games());
}

#[test]
fn a_disk_that_is_read_only_costs_no_move_of_the_records() {
    let Some(mut disk) = Disk::new() else { return };
    disk.remount("ro");
    let site = Site::new([]);
    let mut on = OnDisk::start(disk, &site);
    site.sim.spar(partner());
    let id = site.started(1).remove(0).id;
    on.plays_on_without(&site);
    on.disk.remount("rw");
    let plies = site.game(&id).unwrap().plies;
    let record = on.written(&id, plies);
    assert!(record.moves.iter().all(|played| played.at.is_some()));
    assert_fair(&site.sim.games());
}
