//! Events in, records out, with real files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::watch;

use super::recorder::{write_pending_pgn, write_pgn_once};
use super::*;
use crate::chess::Color;
use crate::events::{
    Bus, Challenge, Decision, Event, GameFinished, GameStarted, Moved, Player, RecordsState,
    SearchInfo, Source, TimeControl, Timing,
};

mod queries;

const SERVER: &str = "https://lichess.org/";

/// Time limit for slow machines.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// A recorder on a temporary file, with its event bus.
struct TestRecorder {
    directory: TempDir,
    bus: Bus,
    state: watch::Sender<RecordsState>,
    recorder: Option<Recorder>,
    files: Option<(Grouping, Details)>,
}

impl TestRecorder {
    fn new() -> Self {
        let mut test = Self::closed(None);
        test.start();
        test
    }

    fn closed(files: Option<(Grouping, Details)>) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            bus: Bus::new(),
            state: watch::Sender::default(),
            recorder: None,
            files,
        }
    }

    fn start(&mut self) {
        let options = Options {
            file: self.file(),
            server: SERVER.to_owned(),
            files: self.files.map(|(grouping, details)| PgnFiles {
                directory: self.pgn(),
                grouping,
                details,
            }),
        };
        self.recorder =
            Some(Recorder::start(options, self.bus.subscribe(), self.state.clone()).unwrap());
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("state/games.sqlite")
    }

    fn pgn(&self) -> PathBuf {
        self.directory.path().join("pgn")
    }

    /// Stops the recorder after all events are written.
    async fn finish(&mut self) -> Reader {
        self.recorder.take().unwrap().finish(BUSY_TIMEOUT).await;
        Reader::open(&self.file()).unwrap()
    }
}

/// Waits until `condition` returns a value.
async fn wait<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < BUSY_TIMEOUT, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn player(name: &str, rating: u32) -> Player {
    Player {
        name: name.to_owned(),
        title: None,
        rating: Some(rating),
        provisional: false,
    }
}

fn game_started(id: &str, our_color: Color, opponent: &str) -> GameStarted {
    let (us, them) = (player("Knightwatch", 2100), player(opponent, 1900));
    let (white, black) = match our_color {
        Color::White => (us, them),
        Color::Black => (them, us),
    };
    GameStarted {
        game: id.to_owned(),
        white,
        black,
        our_color,
        speed: "blitz".to_owned(),
        time_control: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        rated: true,
        variant: "standard".to_owned(),
        initial_fen: None,
        tournament: None,
        engine: None,
        plies: 0,
    }
}

fn moved(id: &str, ply: u32, uci: &str, ours: bool) -> Moved {
    let white = !ply.is_multiple_of(2);
    Moved {
        game: id.to_owned(),
        ply,
        san: String::new(),
        uci: uci.to_owned(),
        by: if white { Color::White } else { Color::Black },
        ours,
        wtime: Some(180_000 - u64::from(ply) * 1_000),
        btime: Some(170_000 - u64::from(ply) * 1_000),
        search: ours.then(|| SearchInfo {
            source: Source::Search,
            score: Some(crate::events::Score::Centipawns(35)),
            wdl: None,
            fallback: None,
            depth: 14,
            seldepth: 22,
            nodes: 1_000_000,
            hashfull: 10,
            ordering: Some(910),
            elapsed: Duration::from_millis(1_500),
            pv: vec!["e5".to_owned(), "Nf3".to_owned()],
        }),
        timing: ours.then_some(Timing {
            to_post: Duration::from_micros(1_500_250),
            round_trip: Duration::from_micros(30_500),
        }),
    }
}

/// The moves of a game as events.
fn moves(id: &str, all: &str, ours: Color) -> Vec<Event> {
    let parity = u32::from(ours == Color::White);
    let plies = (1..).zip(all.split(' '));
    let events = plies.map(|(ply, uci)| moved(id, ply, uci, ply % 2 == parity));
    events.map(Event::Moved).collect()
}

fn game_finished(id: &str, winner: Option<Color>, moves: &str) -> Event {
    let result = match winner {
        Some(Color::White) => "1-0",
        Some(Color::Black) => "0-1",
        None => "1/2-1/2",
    };
    Event::GameFinished(GameFinished {
        game: id.to_owned(),
        our_color: None,
        status: if winner.is_some() { "resign" } else { "draw" }.to_owned(),
        winner,
        result: result.to_owned(),
        plies: moves.split(' ').count() as u32,
        moves: moves.to_owned(),
        observed: true,
    })
}

const MOVES: &str = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6";

fn ucis(record: &Record) -> Vec<&str> {
    record
        .moves
        .iter()
        .map(|played| played.uci.as_str())
        .collect()
}

#[tokio::test]
async fn game_is_recorded_in_full() {
    let mut test = TestRecorder::new();
    let start = game_started("abcdefgh", Color::Black, "Anna");
    test.bus.send(Event::GameStarted(start));
    for event in moves("abcdefgh", MOVES, Color::Black) {
        test.bus.send(event);
    }
    test.bus.send(Event::Chat {
        game: "abcdefgh".to_owned(),
        room: "player".to_owned(),
        from: "Anna".to_owned(),
        text: "hello".to_owned(),
    });
    test.bus
        .send(game_finished("abcdefgh", Some(Color::Black), MOVES));
    let reader = test.finish().await;
    assert_eq!(reader.server(), SERVER);
    let record = reader.record("abcdefgh").unwrap().unwrap();
    let game = &record.game;
    assert_eq!(game.outcome, Outcome::Won);
    assert_eq!(game.result.as_deref(), Some("0-1"));
    assert_eq!(game.opponent, player("Anna", 1900));
    assert_eq!(game.player(Color::Black).name, "Knightwatch");
    assert_eq!(game.plies, 6);
    assert_eq!(game.final_clock, Some(Duration::from_millis(164_000)));
    assert_eq!(game.round_trip, Some(Duration::from_micros(30_500)));
    assert!(game.finished >= game.started);
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    let (theirs, ours) = (&record.moves[0], &record.moves[1]);
    assert_eq!((theirs.clock_ms, &theirs.source), (Some(179_000), &None));
    assert_eq!((ours.clock_ms, ours.cp), (Some(168_000), Some(35)));
    assert_eq!((ours.depth, ours.nodes), (Some(14), Some(1_000_000)));
    assert_eq!(ours.pv.as_deref(), Some("e5 Nf3"));
    assert_eq!(ours.to_post_us, Some(1_500_250));
    assert_eq!(record.notes[0].kind, "chat");
    assert_eq!(record.notes[0].text, "player Anna: hello");

    let pgn = pgn_of(&record, reader.server(), Details::ALL);
    assert!(
        pgn.contains("[Site \"https://lichess.org/abcdefgh\"]"),
        "{pgn}"
    );
    assert!(pgn.contains("[BlackElo \"2100\"]"), "{pgn}");
    // We are Black; PGN evaluations are from White's point of view.
    let played = "1. e4 { [%clk 0:02:59] } 1... e5 { [%eval -0.35] [%clk 0:02:48] } 2. Nf3";
    let in_a_line = pgn.replace('\n', " ");
    assert!(in_a_line.contains(played), "{pgn}");
    let none = Details {
        clocks: false,
        evals: false,
    };
    let bare = pgn_of(&record, reader.server(), none);
    assert!(
        bare.ends_with("\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 0-1\n"),
        "{bare}"
    );
}

#[tokio::test]
async fn game_after_restart_is_completed_at_its_end() {
    let mut test = TestRecorder::new();
    test.bus.send(Event::GameStarted(game_started(
        "aaaaaaaa",
        Color::White,
        "Anna",
    )));
    let events = moves("aaaaaaaa", MOVES, Color::White);
    for event in &events[..3] {
        test.bus.send(event.clone());
    }
    // After a restart all moves come again without details, and some new ones.
    drop(test.finish().await);
    test.start();
    let taken_up = GameStarted {
        plies: 4,
        ..game_started("aaaaaaaa", Color::White, "Anna")
    };
    test.bus.send(Event::GameStarted(taken_up));
    for event in moves("aaaaaaaa", "e2e4 e7e5 g1f3 b8c6", Color::White) {
        let Event::Moved(moved) = event else {
            unreachable!()
        };
        test.bus.send(Event::Moved(Moved {
            wtime: None,
            btime: None,
            search: None,
            timing: None,
            ..moved
        }));
    }
    // The fifth and sixth moves were not reported.
    test.bus.send(game_finished("aaaaaaaa", None, MOVES));
    let reader = test.finish().await;
    let record = reader.record("aaaaaaaa").unwrap().unwrap();
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    let depths: Vec<_> = record.moves.iter().map(|played| played.depth).collect();
    assert_eq!(depths, [Some(14), None, Some(14), None, None, None]);
    assert_eq!(record.game.outcome, Outcome::Drawn);
    assert_eq!(reader.count(&Filter::default()).unwrap(), 1);
}

#[tokio::test]
async fn game_end_without_moves_keeps_moves() {
    let mut test = TestRecorder::new();
    for id in ["iiiiiiii", "jjjjjjjj"] {
        test.bus
            .send(Event::GameStarted(game_started(id, Color::White, "Anna")));
    }
    for event in moves("iiiiiiii", MOVES, Color::White) {
        test.bus.send(event);
    }
    drop(test.finish().await);
    test.start();
    let Event::GameFinished(finished) = game_finished("iiiiiiii", Some(Color::White), MOVES) else {
        unreachable!()
    };
    test.bus.send(Event::GameFinished(GameFinished {
        moves: String::new(),
        plies: 0,
        ..finished
    }));
    let reader = test.finish().await;
    let record = reader.record("iiiiiiii").unwrap().unwrap();
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    assert_eq!(record.moves[0].depth, Some(14));
    assert_eq!((record.game.plies, record.game.outcome), (6, Outcome::Won));
    assert!(record.game.final_clock.is_some());
    // The other game has no moves; its end is unknown as well.
    assert_eq!(
        reader.unfinished_games("Knightwatch").unwrap(),
        ["jjjjjjjj"]
    );
}

#[tokio::test]
async fn takeback_deletes_moves() {
    let mut test = TestRecorder::new();
    let id = "bbbbbbbb";
    test.bus
        .send(Event::GameStarted(game_started(id, Color::White, "Anna")));
    for event in moves(id, MOVES, Color::White) {
        test.bus.send(event);
    }
    test.bus.send(Event::TakenBack {
        game: id.to_owned(),
        ply: 3,
    });
    test.bus.send(Event::Moved(moved(id, 4, "g8f6", false)));
    // This game is unknown and ignored.
    test.bus
        .send(Event::Moved(moved("unknown1", 1, "e2e4", true)));
    let reader = test.finish().await;
    let record = reader.record(id).unwrap().unwrap();
    assert_eq!(ucis(&record), ["e2e4", "e7e5", "g1f3", "g8f6"]);
    assert_eq!((record.game.plies, record.game.outcome), (4, Outcome::Open));
    assert_eq!(record.notes[0].kind, "takeback");
    assert_eq!(reader.record("unknown1").unwrap(), None);
    let pgn = pgn_of(&record, SERVER, Details::ALL);
    assert!(pgn.contains("[Termination \"Unterminated\"]"), "{pgn}");
}

#[tokio::test]
async fn decisions_and_notes_are_recorded() {
    let mut test = TestRecorder::new();
    test.bus.send(Event::Challenge(Challenge {
        id: "cccccccc".to_owned(),
        from: player("Bert", 1500),
        to: Some("Knightwatch".to_owned()),
        time_control: TimeControl::Correspondence { days: 3 },
        variant: "atomic".to_owned(),
        rated: true,
        decision: Decision::Declined,
        reason: "atomic is not what we play".to_owned(),
    }));
    test.bus.send(Event::Offline {
        reason: "x".repeat(10_000),
        retry_in: None,
    });
    let reader = test.finish().await;
    let decided = reader.decisions(Page::first(10)).unwrap();
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].from, player("Bert", 1500));
    assert_eq!(decided[0].decision, "declined");
    assert_eq!(
        decided[0].time_control,
        TimeControl::Correspondence { days: 3 }
    );
    let notes = reader.notes(Page::first(10)).unwrap();
    assert_eq!(
        (notes[0].kind.as_str(), notes[0].text.len()),
        ("offline", 500)
    );
}

#[tokio::test]
async fn last_challenge_is_an_incoming_one_before_the_first_game() {
    let mut test = TestRecorder::new();
    test.bus.send(Event::Online {
        account: player("Knightwatch", 2000),
        server: SERVER.to_owned(),
    });
    for (from, to) in [("Bert", "Knightwatch"), ("Knightwatch", "Anna")] {
        test.bus.send(Event::Challenge(Challenge {
            id: format!("from{from}"),
            from: player(from, 1500),
            to: Some(to.to_owned()),
            time_control: TimeControl::Unlimited,
            variant: "standard".to_owned(),
            rated: false,
            decision: Decision::Declined,
            reason: "no time".to_owned(),
        }));
    }
    test.finish().await;
    let last = last_challenge(&test.file(), None).unwrap();
    assert_eq!(last.from.name, "Bert");
}

#[tokio::test]
async fn locked_file_loses_no_events() {
    let mut test = TestRecorder::new();
    let file = test.file();
    wait("the file is there", || Reader::open(&file).ok()).await;
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let id = "dddddddd";
    test.bus
        .send(Event::GameStarted(game_started(id, Color::White, "Anna")));
    for event in moves(id, MOVES, Color::White) {
        test.bus.send(event);
    }
    // Reading continues meanwhile.
    let reader = Reader::open(&file).unwrap();
    assert_eq!(reader.count(&Filter::default()).unwrap(), 0);
    let state = test.state.clone();
    wait("writing fails", || state.borrow().failure.clone()).await;
    other.execute_batch("ROLLBACK").unwrap();
    wait("everything is written", || {
        let record = reader.record(id).unwrap()?;
        (record.moves.len() == 6).then_some(())
    })
    .await;
    test.finish().await;
}

#[test]
fn older_file_is_migrated_only_when_nobody_has_it_open() {
    const V1_FILE: &str = include_str!("../../../tests/fixtures/records-v1.sql");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("games.sqlite");
    let running = Connection::open(&file).unwrap();
    running.pragma_update(None, "journal_mode", "WAL").unwrap();
    running.execute_batch(V1_FILE).unwrap();
    let version = || -> i64 {
        running
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap()
    };
    assert!(matches!(Reader::open(&file), Err(Error::InUse(1))));
    let import = Importer::open(&file, SERVER);
    assert!(matches!(import, Err(Error::InUse(1))));
    assert_eq!(version(), 1);
    drop(running);
    let reader = Reader::open(&file).unwrap();
    assert!(reader.count(&Filter::default()).unwrap() > 0);
}

#[tokio::test]
async fn file_replaced_by_its_copy_is_written() {
    let mut test = TestRecorder::new();
    let file = test.file();
    let send_start = |id| {
        let started = game_started(id, Color::White, "Anna");
        test.bus.send(Event::GameStarted(started));
    };
    send_start("dddddddd");
    let is_recorded = |id| Reader::open(&file).ok()?.record(id).unwrap();
    wait("the first game is written", || is_recorded("dddddddd")).await;
    let copy = file.with_extension("copy");
    let reader = Connection::open(&file).unwrap();
    reader.execute("VACUUM INTO ?1", [copy.to_str()]).unwrap();
    drop(reader);
    // These are only in the old file and its WAL file.
    for number in 0..3_000 {
        test.bus.send(Event::note(format!("note {number}")));
    }
    let notes = || Reader::open(&file).ok()?.notes(Page::first(3_000)).ok();
    wait("the notes are written", || {
        notes().filter(|notes| notes.len() == 3_000)
    })
    .await;
    fs::rename(&copy, &file).unwrap();
    send_start("eeeeeeee");
    let reader = test.finish().await;
    for id in ["dddddddd", "eeeeeeee"] {
        assert!(reader.record(id).unwrap().is_some(), "{id}");
    }
    let notes = reader.notes(Page::first(1)).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let damage: String = Connection::open(&file)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(damage, "ok");
}

#[tokio::test]
async fn damaged_file_is_renamed_and_replaced() {
    for garbage in [
        &b"this is no database, whatever its name says"[..],
        &[0xff; 8192],
    ] {
        let mut test = TestRecorder::closed(None);
        fs::create_dir_all(test.file().parent().unwrap()).unwrap();
        fs::write(test.file(), garbage).unwrap();
        test.start();
        test.bus.send(Event::GameStarted(game_started(
            "eeeeeeee",
            Color::White,
            "Anna",
        )));
        let reader = test.finish().await;
        assert_eq!(reader.count(&Filter::default()).unwrap(), 1);
        let names = fs::read_dir(test.file().parent().unwrap()).unwrap();
        let names = names.map(|insert| insert.unwrap().path());
        let damaged: Vec<_> = names
            .filter(|path| path.to_string_lossy().contains(".damaged-"))
            .collect();
        assert_eq!(damaged.len(), 1, "{damaged:?}");
        assert_eq!(fs::read(&damaged[0]).unwrap(), garbage);
    }
}

#[tokio::test]
async fn damaged_file_is_replaced_after_another_failure() {
    let mut test = TestRecorder::closed(None);
    fs::create_dir_all(test.file()).unwrap();
    test.start();
    test.bus.send(Event::GameStarted(game_started(
        "eeeeeeee",
        Color::White,
        "Anna",
    )));
    wait("the file cannot be opened", || {
        let failure = test.state.borrow().failure.clone();
        failure.filter(|(why, _)| why.contains("cannot write"))
    })
    .await;
    assert!(matches!(Reader::open(&test.file()), Err(Error::NoFile)));
    fs::remove_dir(test.file()).unwrap();
    fs::write(test.file(), "this is no database, whatever its name says").unwrap();
    wait("a new file is used", || {
        let reader = Reader::open(&test.file()).ok()?;
        (reader.count(&Filter::default()).ok()? == 1).then_some(())
    })
    .await;
    test.finish().await;
}

#[tokio::test]
async fn foreign_file_is_not_touched() {
    let mut test = TestRecorder::closed(None);
    fs::create_dir_all(test.file().parent().unwrap()).unwrap();
    let other = Connection::open(test.file()).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url)").unwrap();
    test.start();
    test.bus.send(Event::GameStarted(game_started(
        "ffffffff",
        Color::White,
        "Anna",
    )));
    test.recorder.take().unwrap().finish(BUSY_TIMEOUT).await;
    let tables: i64 = other
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
    assert!(matches!(Reader::open(&test.file()), Err(Error::Foreign)));
}

#[tokio::test]
async fn removed_file_is_created_again() {
    let mut test = TestRecorder::new();
    test.bus.send(Event::GameStarted(game_started(
        "gggggggg",
        Color::White,
        "Anna",
    )));
    let file = test.file();
    let there = |file: &Path, id: &str| Some(Reader::open(file).ok()?.record(id).ok()?.is_some());
    wait("the game is there", || {
        there(&file, "gggggggg").filter(|yes| *yes)
    })
    .await;
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    test.bus.send(Event::GameStarted(game_started(
        "hhhhhhhh",
        Color::White,
        "Anna",
    )));
    let reader = test.finish().await;
    assert!(reader.record("hhhhhhhh").unwrap().is_some());
    assert!(reader.record("gggggggg").unwrap().is_none());
}

#[tokio::test]
async fn finished_games_are_written_to_pgn_files() {
    let table = [
        (Grouping::Game, "iiiiiiii.pgn", 1),
        (Grouping::Opponent, "Anna.pgn", 1),
        (Grouping::All, "games.pgn", 2),
    ];
    for (grouping, name, games) in table {
        let mut test = TestRecorder::closed(Some((grouping, Details::ALL)));
        // A file blocks the directory at first.
        fs::write(test.pgn(), "not a directory").unwrap();
        test.start();
        for (id, opponent) in [("iiiiiiii", "Anna"), ("jjjjjjjj", "Bert")] {
            test.bus
                .send(Event::GameStarted(game_started(id, Color::White, opponent)));
            test.bus.send(game_finished(id, None, MOVES));
        }
        let file = test.file();
        wait("the games are written", || {
            let drawn = Filter {
                outcome: Some(Outcome::Drawn),
                ..Filter::default()
            };
            let count = Reader::open(&file).ok()?.count(&drawn).ok()?;
            (count == 2).then_some(())
        })
        .await;
        let state = test.state.subscribe();
        let fails = || state.borrow().pgn_failure.is_some();
        wait("the failure is shown", || fails().then_some(())).await;
        fs::remove_file(test.pgn()).unwrap();
        // Tried again with the next event.
        test.bus.send(Event::note("anything"));
        test.finish().await;
        assert_eq!(fs::metadata(test.pgn()).unwrap().mode() & 0o777, 0o700);
        let text = fs::read_to_string(test.pgn().join(name)).unwrap();
        assert!(!fails());
        assert_eq!(text.matches("[Event ").count(), games, "{text}");
        // After a restart nothing is written twice.
        test.start();
        test.finish().await;
        assert_eq!(fs::read_to_string(test.pgn().join(name)).unwrap(), text);
    }
}

#[tokio::test]
async fn game_between_two_processes_is_recorded_for_the_first() {
    let id = "kkkkkkkk";
    let mut test = TestRecorder::closed(Some((Grouping::All, Details::ALL)));
    test.start();
    let others_bus = Bus::new();
    let options = Options {
        file: test.file(),
        server: SERVER.to_owned(),
        files: Some(pgn_files(test.directory.path(), Grouping::All)),
    };
    let other = Recorder::start(options, others_bus.subscribe(), watch::Sender::default()).unwrap();
    let start = game_started(id, Color::White, "Anna");
    test.bus.send(Event::GameStarted(start.clone()));
    let file = test.file();
    let record = || Reader::open(&file).ok()?.record(id).unwrap();
    wait("the game is written", record).await;
    others_bus.send(Event::GameStarted(GameStarted {
        our_color: Color::Black,
        ..start
    }));
    for event in moves(id, MOVES, Color::Black) {
        others_bus.send(event);
    }
    others_bus.send(Event::Chat {
        game: id.to_owned(),
        room: "player".to_owned(),
        from: "Knightwatch".to_owned(),
        text: "Hello".to_owned(),
    });
    others_bus.send(game_finished(id, Some(Color::White), MOVES));
    other.finish(BUSY_TIMEOUT).await;
    let open = record().unwrap();
    assert_eq!(
        (open.game.account.name.as_str(), open.game.outcome),
        ("Knightwatch", Outcome::Open)
    );
    assert!(open.moves.is_empty() && open.notes.is_empty(), "{open:?}");
    for event in moves(id, MOVES, Color::White) {
        test.bus.send(event);
    }
    let end = game_finished(id, Some(Color::White), MOVES);
    test.bus.send(end.clone());
    wait("the PGN is written", || {
        let text = fs::read_to_string(test.pgn().join("games.pgn")).ok()?;
        text.contains("1-0").then_some(())
    })
    .await;
    // The end of a game may be reported again.
    test.bus.send(end);
    let record = test.finish().await.record(id).unwrap().unwrap();
    assert_eq!(record.game.outcome, Outcome::Won);
    let searched: Vec<u32> = record
        .moves
        .iter()
        .filter(|played| played.source.is_some())
        .map(|played| played.ply)
        .collect();
    assert_eq!(searched, [1, 3, 5]);
    let text = fs::read_to_string(test.pgn().join("games.pgn")).unwrap();
    assert_eq!(text.matches("[Event ").count(), 1, "{text}");
}

/// A records file with finished games against these opponents, whose PGN is not written yet; the ids are `a`, `b`, ...
fn pending_pgn(directory: &Path, opponents: &[&str]) -> Connection {
    let db = open(&directory.join("games.sqlite"), Some(SERVER)).unwrap();
    for (id, opponent) in ('a'..).zip(opponents) {
        let id = id.to_string();
        let start = Event::GameStarted(game_started(&id, Color::White, opponent));
        let end = game_finished(&id, None, MOVES);
        for event in [&start, &end] {
            insert::insert_event(&db, 1_000, event, true).unwrap();
        }
    }
    db
}

/// PGN files next to that file.
fn pgn_files(directory: &Path, grouping: Grouping) -> PgnFiles {
    PgnFiles {
        directory: directory.join("pgn"),
        grouping,
        details: Details::ALL,
    }
}

#[test]
fn pgn_of_a_game_is_written_by_one_of_two_processes() {
    let home = tempfile::tempdir().unwrap();
    let files = pgn_files(home.path(), Grouping::All);
    let first = pending_pgn(home.path(), &["Anna"]);
    let second = open(&home.path().join("games.sqlite"), Some(SERVER)).unwrap();
    // Both have read that the game waits for it.
    for db in [&first, &second] {
        write_pgn_once(db, "a", &files, SERVER).unwrap().unwrap();
    }
    let text = fs::read_to_string(files.directory.join("games.pgn")).unwrap();
    assert_eq!(text.matches("[Event ").count(), 1, "{text}");
}

#[test]
fn pgn_is_removed_again_if_the_database_cannot_be_written() {
    let home = tempfile::tempdir().unwrap();
    let files = pgn_files(home.path(), Grouping::All);
    let db = pending_pgn(home.path(), &["Anna", "Bert"]);
    write_pgn_once(&db, "a", &files, SERVER).unwrap().unwrap();
    let path = files.directory.join("games.pgn");
    let before = fs::read_to_string(&path).unwrap();
    // A foreign key that is checked at the commit, which fails.
    db.execute_batch(
        "PRAGMA foreign_keys = ON;
         CREATE TABLE child (parent REFERENCES game (seq) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER fails AFTER UPDATE ON game BEGIN INSERT INTO child VALUES (-1); END",
    )
    .unwrap();
    for _ in 0..2 {
        write_pgn_once(&db, "b", &files, SERVER).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
    db.execute_batch("DROP TRIGGER fails").unwrap();
    write_pgn_once(&db, "b", &files, SERVER).unwrap().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("[Event ").count(), 2, "{text}");
}

#[test]
fn pgn_is_written_after_a_game_that_has_none() {
    let home = tempfile::tempdir().unwrap();
    let files = pgn_files(home.path(), Grouping::Opponent);
    let db = pending_pgn(home.path(), &["Anna", "Bert", "Cleo"]);
    let obstacle = files.directory.join("Anna.pgn");
    fs::create_dir_all(&obstacle).unwrap();
    let damage =
        "UPDATE game SET account_rating = -1, opponent = CAST(x'ff' AS TEXT) WHERE id = 'b'";
    db.execute(damage, []).unwrap();
    let pending = || -> Vec<String> {
        let sql = "SELECT id FROM game WHERE pgn_pending = 1";
        let mut statement = db.prepare(sql).unwrap();
        let ids = statement.query_map([], |row| row.get(0)).unwrap();
        ids.collect::<rusqlite::Result<_>>().unwrap()
    };
    let error = write_pending_pgn(&db, &files, SERVER).unwrap_err();
    assert!(error.to_string().contains("directory"), "{error}");
    assert!(files.directory.join("Cleo.pgn").is_file());
    assert!(!files.directory.join("Bert.pgn").exists());
    assert_eq!(pending(), ["a"]);
    fs::remove_dir(&obstacle).unwrap();
    write_pending_pgn(&db, &files, SERVER).unwrap();
    assert!(obstacle.is_file());
    assert_eq!(pending(), [""; 0]);
}

#[test]
fn new_file_is_opened_by_several_threads_at_once() {
    let home = tempfile::tempdir().unwrap();
    for round in 0..50 {
        let file = home.path().join(format!("{round}.sqlite"));
        let open = || open(&file, Some("https://lichess.org")).map(drop);
        std::thread::scope(|scope| {
            let threads = [scope.spawn(open), scope.spawn(open), scope.spawn(open)];
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
    }
}
