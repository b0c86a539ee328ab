//! Events in, values out, through a real file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::chess::Color;
use crate::events::{
    Bus, Challenge, Decision, Event, GameFinished, GameStarted, Moved, Player, SearchInfo, Source,
    TimeControl, Timing,
};

mod queries;

const SERVER: &str = "https://lichess.org/";

/// Nothing here takes longer on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recorder on a file of its own, with the bus that feeds it.
struct Desk {
    directory: TempDir,
    bus: Bus,
    recorder: Option<Recorder>,
    files: Option<(Grouping, Details)>,
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self::closed(None);
        desk.start();
        desk
    }

    fn closed(files: Option<(Grouping, Details)>) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            bus: Bus::new(),
            recorder: None,
            files,
        }
    }

    fn start(&mut self) {
        let options = Options {
            file: self.file(),
            server: SERVER.to_owned(),
            files: self.files.map(|(grouping, details)| Files {
                directory: self.pgn(),
                grouping,
                details,
            }),
        };
        self.recorder = Some(Recorder::start(options, self.bus.subscribe()).unwrap());
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("state/games.sqlite")
    }

    fn pgn(&self) -> PathBuf {
        self.directory.path().join("pgn")
    }

    /// Everything that was told is in the file.
    async fn finish(&mut self) -> Reader {
        self.recorder.take().unwrap().finish(PATIENCE).await;
        Reader::open(&self.file()).unwrap()
    }
}

/// Waits until `condition` gives something.
async fn wait<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
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

fn head(id: &str, our_color: Color, opponent: &str) -> GameStarted {
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
            base: Duration::from_secs(180),
            increment: Duration::from_secs(2),
        },
        rated: true,
        variant: "standard".to_owned(),
        initial_fen: None,
        tournament: None,
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
        thought: ours.then(|| SearchInfo {
            source: Source::Search,
            score: Some(crate::events::Score::Centipawns(35)),
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

/// The moves of a game, without those that nobody told us of.
fn moves(id: &str, all: &str, ours: Color) -> Vec<Event> {
    let parity = u32::from(ours == Color::White);
    let told = (1..).zip(all.split(' '));
    let told = told.map(|(ply, uci)| moved(id, ply, uci, ply % 2 == parity));
    told.map(Event::Moved).collect()
}

fn end(id: &str, winner: Option<Color>, moves: &str) -> Event {
    let result = match winner {
        Some(Color::White) => "1-0",
        Some(Color::Black) => "0-1",
        None => "1/2-1/2",
    };
    Event::GameFinished(GameFinished {
        game: id.to_owned(),
        status: if winner.is_some() { "resign" } else { "draw" }.to_owned(),
        winner,
        result: result.to_owned(),
        plies: moves.split(' ').count() as u32,
        moves: moves.to_owned(),
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
async fn a_game_is_written_down_as_it_was_told() {
    let mut desk = Desk::new();
    let start = head("abcdefgh", Color::Black, "Anna");
    desk.bus.send(Event::GameStarted(start));
    for event in moves("abcdefgh", MOVES, Color::Black) {
        desk.bus.send(event);
    }
    desk.bus.send(Event::Chat {
        game: "abcdefgh".to_owned(),
        room: "player".to_owned(),
        from: "Anna".to_owned(),
        text: "hello".to_owned(),
    });
    desk.bus.send(end("abcdefgh", Some(Color::Black), MOVES));
    let reader = desk.finish().await;
    assert_eq!(reader.server(), SERVER);
    let record = reader.record("abcdefgh").unwrap().unwrap();
    let game = &record.game;
    assert_eq!(game.outcome, Outcome::Won);
    assert_eq!(game.result.as_deref(), Some("0-1"));
    assert_eq!(game.opponent, player("Anna", 1900));
    assert_eq!(game.player(Color::Black).name, "Knightwatch");
    assert_eq!(game.plies, 6);
    assert_eq!(game.left, Some(Duration::from_millis(164_000)));
    assert_eq!(game.round_trip, Some(Duration::from_micros(30_500)));
    assert!(game.finished >= Some(game.started));
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    let (theirs, ours) = (&record.moves[0], &record.moves[1]);
    assert_eq!((theirs.clock_ms, &theirs.source), (Some(179_000), &None));
    assert_eq!((ours.clock_ms, ours.cp), (Some(168_000), Some(35)));
    assert_eq!((ours.depth, ours.nodes), (Some(14), Some(1_000_000)));
    assert_eq!(ours.line.as_deref(), Some("e5 Nf3"));
    assert_eq!(ours.to_post_us, Some(1_500_250));
    assert_eq!(record.incidents[0].kind, "chat");
    assert_eq!(record.incidents[0].text, "player Anna: hello");

    let pgn = pgn_of(&record, reader.server(), Details::ALL);
    assert!(
        pgn.contains("[Site \"https://lichess.org/abcdefgh\"]"),
        "{pgn}"
    );
    assert!(pgn.contains("[BlackElo \"2100\"]"), "{pgn}");
    // We had Black, and PGN has White's view.
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
async fn what_was_missed_is_there_at_the_end_and_what_was_known_stays() {
    let mut desk = Desk::new();
    desk.bus
        .send(Event::GameStarted(head("aaaaaaaa", Color::White, "Anna")));
    let told = moves("aaaaaaaa", MOVES, Color::White);
    for event in &told[..3] {
        desk.bus.send(event.clone());
    }
    // A new life of the program: all moves come again, bare, and some that were made meanwhile.
    drop(desk.finish().await);
    desk.start();
    let taken_up = GameStarted {
        plies: 4,
        ..head("aaaaaaaa", Color::White, "Anna")
    };
    desk.bus.send(Event::GameStarted(taken_up));
    for event in moves("aaaaaaaa", "e2e4 e7e5 g1f3 b8c6", Color::White) {
        let Event::Moved(moved) = event else {
            unreachable!()
        };
        desk.bus.send(Event::Moved(Moved {
            wtime: None,
            btime: None,
            thought: None,
            timing: None,
            ..moved
        }));
    }
    // The fifth and the sixth nobody has told.
    desk.bus.send(end("aaaaaaaa", None, MOVES));
    let reader = desk.finish().await;
    let record = reader.record("aaaaaaaa").unwrap().unwrap();
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    let depths: Vec<_> = record.moves.iter().map(|played| played.depth).collect();
    assert_eq!(depths, [Some(14), None, Some(14), None, None, None]);
    assert_eq!(record.game.outcome, Outcome::Drawn);
    assert_eq!(reader.count(&Filter::default()).unwrap(), 1);
}

#[tokio::test]
async fn who_has_heard_of_the_end_alone_takes_nothing_away() {
    let mut desk = Desk::new();
    for id in ["iiiiiiii", "jjjjjjjj"] {
        desk.bus
            .send(Event::GameStarted(head(id, Color::White, "Anna")));
    }
    for event in moves("iiiiiiii", MOVES, Color::White) {
        desk.bus.send(event);
    }
    drop(desk.finish().await);
    desk.start();
    let Event::GameFinished(told) = end("iiiiiiii", Some(Color::White), MOVES) else {
        unreachable!()
    };
    desk.bus.send(Event::GameFinished(GameFinished {
        moves: String::new(),
        plies: 0,
        ..told
    }));
    let reader = desk.finish().await;
    let record = reader.record("iiiiiiii").unwrap().unwrap();
    assert_eq!(ucis(&record), MOVES.split(' ').collect::<Vec<_>>());
    assert_eq!(record.moves[0].depth, Some(14));
    assert_eq!((record.game.plies, record.game.outcome), (6, Outcome::Won));
    assert!(record.game.left.is_some());
    // The other one has no move yet, and its end is looked for as well.
    assert_eq!(reader.left_open("Knightwatch").unwrap(), ["jjjjjjjj"]);
}

#[tokio::test]
async fn moves_that_were_taken_back_are_gone() {
    let mut desk = Desk::new();
    let id = "bbbbbbbb";
    desk.bus
        .send(Event::GameStarted(head(id, Color::White, "Anna")));
    for event in moves(id, MOVES, Color::White) {
        desk.bus.send(event);
    }
    desk.bus.send(Event::TakenBack {
        game: id.to_owned(),
        ply: 3,
    });
    desk.bus.send(Event::Moved(moved(id, 4, "g8f6", false)));
    // Of this game nothing is known: it is passed over.
    desk.bus
        .send(Event::Moved(moved("unknown1", 1, "e2e4", true)));
    let reader = desk.finish().await;
    let record = reader.record(id).unwrap().unwrap();
    assert_eq!(ucis(&record), ["e2e4", "e7e5", "g1f3", "g8f6"]);
    assert_eq!((record.game.plies, record.game.outcome), (4, Outcome::Open));
    assert_eq!(record.incidents[0].kind, "takeback");
    assert_eq!(reader.record("unknown1").unwrap(), None);
    let pgn = pgn_of(&record, SERVER, Details::ALL);
    assert!(pgn.contains("[Termination \"Unterminated\"]"), "{pgn}");
}

#[tokio::test]
async fn decisions_and_troubles_are_kept() {
    let mut desk = Desk::new();
    desk.bus.send(Event::Challenge(Challenge {
        id: "cccccccc".to_owned(),
        from: player("Bert", 1500),
        to: Some("Knightwatch".to_owned()),
        time_control: TimeControl::Days(3),
        variant: "atomic".to_owned(),
        rated: true,
        decision: Decision::Declined,
        reason: "atomic is not what we play".to_owned(),
    }));
    desk.bus.send(Event::Offline {
        reason: "x".repeat(10_000),
        retry_in: None,
    });
    let reader = desk.finish().await;
    let decided = reader.decisions(Page::first(10)).unwrap();
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].from, player("Bert", 1500));
    assert_eq!(decided[0].decision, "declined");
    assert_eq!(decided[0].time_control, TimeControl::Days(3));
    let incidents = reader.incidents(Page::first(10)).unwrap();
    assert_eq!(
        (incidents[0].kind.as_str(), incidents[0].text.len()),
        ("offline", 500)
    );
}

#[tokio::test]
async fn who_holds_the_file_loses_nobody_anything() {
    let mut desk = Desk::new();
    let file = desk.file();
    wait("the file is there", || Reader::open(&file).ok()).await;
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let id = "dddddddd";
    desk.bus
        .send(Event::GameStarted(head(id, Color::White, "Anna")));
    for event in moves(id, MOVES, Color::White) {
        desk.bus.send(event);
    }
    // Reading goes on all the while.
    let reader = Reader::open(&file).unwrap();
    assert_eq!(reader.count(&Filter::default()).unwrap(), 0);
    tokio::time::sleep(super::PATIENCE + Duration::from_millis(200)).await;
    other.execute_batch("ROLLBACK").unwrap();
    wait("everything is written", || {
        let record = reader.record(id).unwrap()?;
        (record.moves.len() == 6).then_some(())
    })
    .await;
    desk.finish().await;
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    for garbage in [
        &b"this is no database, whatever its name says"[..],
        &[0xff; 8192],
    ] {
        let mut desk = Desk::closed(None);
        fs::create_dir_all(desk.file().parent().unwrap()).unwrap();
        fs::write(desk.file(), garbage).unwrap();
        desk.start();
        desk.bus
            .send(Event::GameStarted(head("eeeeeeee", Color::White, "Anna")));
        let reader = desk.finish().await;
        assert_eq!(reader.count(&Filter::default()).unwrap(), 1);
        let names = fs::read_dir(desk.file().parent().unwrap()).unwrap();
        let names = names.map(|entry| entry.unwrap().path());
        let aside: Vec<_> = names
            .filter(|path| path.to_string_lossy().contains(".damaged-"))
            .collect();
        assert_eq!(aside.len(), 1, "{aside:?}");
        assert_eq!(fs::read(&aside[0]).unwrap(), garbage);
    }
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    let mut desk = Desk::closed(None);
    fs::create_dir_all(desk.file().parent().unwrap()).unwrap();
    let other = Connection::open(desk.file()).unwrap();
    other.execute_batch("CREATE TABLE bookmark (url)").unwrap();
    desk.start();
    desk.bus
        .send(Event::GameStarted(head("ffffffff", Color::White, "Anna")));
    desk.recorder.take().unwrap().finish(PATIENCE).await;
    let tables: i64 = other
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
    assert!(matches!(Reader::open(&desk.file()), Err(Error::Foreign)));
}

#[tokio::test]
async fn a_file_that_somebody_removes_is_begun_anew() {
    let mut desk = Desk::new();
    desk.bus
        .send(Event::GameStarted(head("gggggggg", Color::White, "Anna")));
    let file = desk.file();
    let there = |file: &Path, id: &str| Some(Reader::open(file).ok()?.record(id).ok()?.is_some());
    wait("the game is there", || {
        there(&file, "gggggggg").filter(|yes| *yes)
    })
    .await;
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    desk.bus
        .send(Event::GameStarted(head("hhhhhhhh", Color::White, "Anna")));
    let reader = desk.finish().await;
    assert!(reader.record("hhhhhhhh").unwrap().is_some());
    assert!(reader.record("gggggggg").unwrap().is_none());
}

#[tokio::test]
async fn games_go_into_pgn_files_when_they_are_over() {
    let table = [
        (Grouping::Game, "iiiiiiii.pgn", 1),
        (Grouping::Opponent, "Anna.pgn", 1),
        (Grouping::All, "games.pgn", 2),
    ];
    for (grouping, name, games) in table {
        let mut desk = Desk::closed(Some((grouping, Details::ALL)));
        // Something stands in the way at first.
        fs::write(desk.pgn(), "not a directory").unwrap();
        desk.start();
        for (id, opponent) in [("iiiiiiii", "Anna"), ("jjjjjjjj", "Bert")] {
            desk.bus
                .send(Event::GameStarted(head(id, Color::White, opponent)));
            desk.bus.send(end(id, None, MOVES));
        }
        let file = desk.file();
        wait("the games are written", || {
            let drawn = Filter {
                outcome: Some(Outcome::Drawn),
                ..Filter::default()
            };
            let count = Reader::open(&file).ok()?.count(&drawn).ok()?;
            (count == 2).then_some(())
        })
        .await;
        fs::remove_file(desk.pgn()).unwrap();
        // Tried again with the next event.
        desk.bus.send(Event::note("anything"));
        desk.finish().await;
        let text = fs::read_to_string(desk.pgn().join(name)).unwrap();
        assert_eq!(text.matches("[Event ").count(), games, "{text}");
        // At the next start nothing is written twice.
        desk.start();
        desk.finish().await;
        assert_eq!(fs::read_to_string(desk.pgn().join(name)).unwrap(), text);
    }
}
