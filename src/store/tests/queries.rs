//! Lists, statistics and query plans.

use super::*;
use crate::store::insert;
use crate::store::pgn::pgn_and_plies;

/// A file with one game per day, from the second day of 1970.
struct TestRecords {
    directory: TempDir,
    db: Connection,
    games: i64,
}

impl TestRecords {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("games.sqlite"), Some(SERVER)).unwrap();
        Self {
            directory,
            db,
            games: 0,
        }
    }

    /// Adds a game with this outcome for us; its id is its number.
    fn add(&mut self, start: GameStarted, outcome: Outcome) {
        self.games += 1;
        let at = self.games * DAY_MS;
        let id = self.games.to_string();
        let winner = match outcome {
            Outcome::Won => Some(start.our_color),
            Outcome::Lost => Some(!start.our_color),
            _ => None,
        };
        let start = GameStarted {
            game: id.clone(),
            ..start
        };
        insert::insert_event(&self.db, at, &Event::GameStarted(start), false).unwrap();
        let over = match outcome {
            Outcome::Open => return,
            Outcome::Void => Event::GameFinished(GameFinished {
                game: id,
                our_color: None,
                status: "aborted".to_owned(),
                winner: None,
                result: "*".to_owned(),
                plies: 0,
                moves: String::new(),
                observed: true,
            }),
            _ => game_finished(&id, winner, MOVES),
        };
        insert::insert_event(&self.db, at + 1, &over, false).unwrap();
    }

    fn reader(&self) -> Reader {
        Reader::open(&self.directory.path().join("games.sqlite")).unwrap()
    }
}

fn records() -> TestRecords {
    let mut records = TestRecords::new();
    let anna = game_started("", Color::White, "Anna");
    let bert = game_started("", Color::Black, "Bert_2");
    records.add(anna.clone(), Outcome::Won);
    records.add(bert.clone(), Outcome::Lost);
    records.add(anna.clone(), Outcome::Drawn);
    records.add(
        GameStarted {
            rated: false,
            speed: "rapid".to_owned(),
            variant: "chess960".to_owned(),
            tournament: Some("may24bot".to_owned()),
            ..bert.clone()
        },
        Outcome::Lost,
    );
    records.add(bert, Outcome::Void);
    records.add(anna, Outcome::Open);
    records
}

#[test]
fn tournaments_are_listed_with_scores() {
    let mut records = records();
    let arena = |name: &str| GameStarted {
        tournament: Some(name.to_owned()),
        ..game_started("", Color::White, "Anna")
    };
    for outcome in [Outcome::Won, Outcome::Drawn, Outcome::Void, Outcome::Won] {
        records.add(arena("june24bot"), outcome);
    }
    let mut other = arena("june24bot");
    other.white.name = "Daywatch".to_owned();
    records.add(other, Outcome::Lost);
    let query = |page| {
        let tournaments = records.reader().tournaments(page).unwrap().into_iter();
        let rows = tournaments.map(|one| (one.tournament, one.account, one.score));
        rows.collect::<Vec<_>>()
    };
    let row = |name: &str, account: &str, score| (name.to_owned(), account.to_owned(), score);
    let all = [
        row("june24bot", "Daywatch", [0, 0, 1]),
        row("june24bot", "Knightwatch", [2, 1, 0]),
        row("may24bot", "Knightwatch", [0, 0, 1]),
    ];
    assert_eq!(query(Page::first(50)), all);
    assert_eq!(query(Page::first(1)), all[..1]);
}

#[test]
fn filters_select_games() {
    let records = records();
    let reader = records.reader();
    let text = |text: &str| Some(text.to_owned());
    let all = Filter::default;
    let table = [
        (all(), "6 5 4 3 2 1"),
        (
            Filter {
                opponent: text("anna"),
                ..all()
            },
            "6 3 1",
        ),
        (
            Filter {
                opponent: text("ann"),
                ..all()
            },
            "",
        ),
        (
            Filter {
                search: text("NN"),
                ..all()
            },
            "6 3 1",
        ),
        (
            Filter {
                search: text("t_2"),
                ..all()
            },
            "5 4 2",
        ),
        (
            Filter {
                search: text("_2_"),
                ..all()
            },
            "",
        ),
        (
            Filter {
                outcome: Some(Outcome::Lost),
                ..all()
            },
            "4 2",
        ),
        (
            Filter {
                outcome: Some(Outcome::Void),
                ..all()
            },
            "5",
        ),
        (
            Filter {
                outcome: Some(Outcome::Open),
                ..all()
            },
            "6",
        ),
        (
            Filter {
                color: Some(Color::Black),
                ..all()
            },
            "5 4 2",
        ),
        (
            Filter {
                speed: text("rapid"),
                ..all()
            },
            "4",
        ),
        (
            Filter {
                variant: text("chess960"),
                ..all()
            },
            "4",
        ),
        (
            Filter {
                rated: Some(true),
                ..all()
            },
            "6 5 3 2 1",
        ),
        (
            Filter {
                rated: Some(false),
                ..all()
            },
            "4",
        ),
        (
            Filter {
                tournament: text("may24bot"),
                ..all()
            },
            "4",
        ),
        (
            Filter {
                since: Some(2 * DAY_MS),
                until: Some(4 * DAY_MS),
                ..all()
            },
            "3 2",
        ),
        (
            Filter {
                opponent: text("Bert_2"),
                rated: Some(true),
                outcome: Some(Outcome::Lost),
                ..all()
            },
            "2",
        ),
    ];
    for (filter, expected) in table {
        let games = reader.games(&filter, Page::first(10)).unwrap();
        let ids: Vec<&str> = games.iter().map(|game| game.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected, "{filter:?}");
        assert_eq!(
            reader.count(&filter).unwrap(),
            ids.len() as u64,
            "{filter:?}"
        );
    }
    let second = Page {
        offset: 2,
        limit: 2,
    };
    let games = reader.games(&Filter::default(), second).unwrap();
    assert_eq!((games[0].id.as_str(), games.len()), ("4", 2));
    // Games without moves are not exported.
    assert_eq!(
        reader.ids(&Filter::default()).unwrap(),
        ["1", "2", "3", "4"]
    );
}

#[test]
fn scores_add_up_in_groups() {
    let records = records();
    let reader = records.reader();
    let counts = |score: &WinDrawLoss| (score.won, score.drawn, score.lost);
    let all = reader.score(&Filter::default()).unwrap();
    assert_eq!(counts(&all), (1, 1, 2));
    // 2100 against 1900 is 0.76 each time.
    assert!((all.expected - 4.0 * 0.7597).abs() < 0.001, "{all:?}");
    let groups = |by| -> Vec<(String, (u64, u64, u64))> {
        let groups = reader.scores(&Filter::default(), by).unwrap();
        groups
            .iter()
            .map(|(name, score)| (name.clone(), counts(score)))
            .collect()
    };
    let own = |name: &str, score| (name.to_owned(), score);
    assert_eq!(
        groups(GroupBy::Opponent),
        [own("Anna", (1, 1, 0)), own("Bert_2", (0, 0, 2))]
    );
    assert_eq!(
        groups(GroupBy::Color),
        [own("black", (0, 0, 2)), own("white", (1, 1, 0))]
    );
    assert_eq!(
        groups(GroupBy::Speed),
        [own("blitz", (1, 1, 1)), own("rapid", (0, 0, 1))]
    );
    assert_eq!(groups(GroupBy::Month), [own("1970-01", (1, 1, 2))]);
    // Chess960 has no openings.
    assert_eq!(
        groups(GroupBy::Opening),
        [own("1. e4 e5 2. Nf3 Nc6", (1, 1, 1))]
    );
    assert_eq!(groups(GroupBy::Tournament), [own("may24bot", (0, 0, 1))]);
    let overview = reader.overview(&Filter::default()).unwrap();
    for (by, scores) in [
        (GroupBy::Opponent, overview.opponent),
        (GroupBy::Speed, overview.speed),
        (GroupBy::Color, overview.color),
        (GroupBy::Opening, overview.opening),
        (GroupBy::Tournament, overview.tournament),
    ] {
        assert_eq!(reader.scores(&Filter::default(), by).unwrap(), scores);
    }
    let opponents = reader.toughest_opponents(&Filter::default(), 2).unwrap();
    assert_eq!(opponents.len(), 2, "{opponents:?}");
    assert_eq!(opponents[0].0, "Bert_2");
    assert!(
        reader
            .toughest_opponents(&Filter::default(), 3)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn ratings_follow_the_latest_games() {
    let mut records = TestRecords::new();
    for number in 0..120 {
        let mut start = game_started("", Color::White, "Anna");
        // A point a day; the opponent has 1900.
        start.white.rating = Some(2000 + number);
        start.variant = if number % 2 == 0 {
            "standard"
        } else {
            "chess960"
        }
        .to_owned();
        let outcome = if number % 4 < 2 {
            Outcome::Won
        } else {
            Outcome::Lost
        };
        records.add(start, outcome);
    }
    records.add(
        GameStarted {
            rated: false,
            speed: "bullet".to_owned(),
            ..game_started("", Color::White, "Anna")
        },
        Outcome::Won,
    );
    let reader = records.reader();
    let ratings = reader.ratings(&Filter::default()).unwrap();
    let kinds: Vec<_> = ratings
        .iter()
        .map(|rating| (rating.kind.as_str(), rating.rating, rating.change))
        .collect();
    assert_eq!(kinds, [("blitz", 2118, 30), ("chess960", 2119, 30)]);
    let performance = ratings[0].performance.unwrap();
    assert_eq!(
        (performance.games, performance.rating.round() as u32),
        (60, 1900)
    );
    let histories = reader.rating_histories(&Filter::default()).unwrap();
    let kinds: Vec<_> = histories.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["blitz", "chess960"]);
    let history = &histories["blitz"];
    assert_eq!(
        (history.len(), history[0], history[59].1),
        (60, (DAY_MS, 2000), 2118)
    );
}

#[test]
fn rating_history_is_daily_with_many_games() {
    let mut records = TestRecords::new();
    for number in 0..200 {
        let mut start = game_started("", Color::White, "Anna");
        start.white.rating = Some(2000 + number);
        records.add(start, Outcome::Won);
    }
    // Five games a day.
    records
        .db
        .execute("UPDATE game SET started = started / 5", [])
        .unwrap();
    let query = |records: &TestRecords| {
        let mut all = records
            .reader()
            .rating_histories(&Filter::default())
            .unwrap();
        all.remove("blitz").unwrap()
    };
    let few = query(&records);
    assert_eq!(few.len(), 200);
    assert_eq!(few[199], (200 * DAY_MS / 5, 2199));
    let mut start = game_started("", Color::White, "Anna");
    start.white.rating = Some(1900);
    records.add(start, Outcome::Lost);
    let many = query(&records);
    // The last game of each day: days 0 to 40, and the day of the game that is one too many.
    assert_eq!(many.len(), 42);
    assert_eq!(many[0].1, 2003);
    assert_eq!(many[41], (201 * DAY_MS, 1900));
}

#[test]
fn lists_are_sorted_by_key() {
    let mut records = TestRecords::new();
    let mut add = |name: &str, rating, minutes: u32, outcome| {
        let mut start = game_started("", Color::White, name);
        start.black.rating = rating;
        start.time_control = TimeControl::Clock {
            limit: 60 * minutes,
            increment: 0,
        };
        records.add(start, outcome);
    };
    add("Bert", Some(1500), 3, Outcome::Won);
    add("anna", None, 1, Outcome::Drawn);
    add("Cleo", Some(2000), 10, Outcome::Lost);
    add("Anna", Some(1800), 3, Outcome::Void);
    let days = GameStarted {
        time_control: TimeControl::Correspondence { days: 1 },
        ..game_started("", Color::White, "Dora")
    };
    records.add(days, Outcome::Won);
    let reader = records.reader();
    let query = |by, ascending| {
        let order = Order { by, ascending };
        let games = reader.games_in_order(order, &Filter::default(), Page::first(9));
        let ids = games.unwrap().into_iter().map(|game| game.id);
        ids.collect::<Vec<_>>().join(" ")
    };
    for (by, descending, ascending) in [
        (Sort::Started, "5 4 3 2 1", "1 2 3 4 5"),
        // Names are compared ignoring case; equal ones have the latest first.
        (Sort::Opponent, "5 3 1 4 2", "4 2 1 3 5"),
        (Sort::Rating, "3 5 4 1 2", "1 4 5 3 2"),
        (Sort::Result, "5 1 2 3 4", "3 2 5 1 4"),
        (Sort::Clock, "5 3 4 1 2", "2 4 1 3 5"),
        (Sort::Plies, "5 3 2 1 4", "4 5 3 2 1"),
    ] {
        assert_eq!(query(by, false), descending, "{by:?}");
        assert_eq!(query(by, true), ascending, "{by:?}");
        assert_eq!(by.key().parse(), Ok(by));
    }
}

#[test]
fn rating_change_follows_from_next_game() {
    let mut records = TestRecords::new();
    let mut add = |rating, speed: &str, rated| {
        let mut start = game_started("", Color::White, "Anna");
        start.white.rating = Some(rating);
        start.speed = speed.to_owned();
        start.rated = rated;
        records.add(start, Outcome::Won);
    };
    add(2000, "blitz", true);
    add(1700, "bullet", true);
    add(2011, "blitz", false);
    add(2011, "blitz", true);
    add(2004, "blitz", true);
    add(2009, "blitz", true);
    let changes = |records: &TestRecords| {
        let reader = records.reader();
        let order = Order {
            ascending: true,
            ..Order::default()
        };
        let games = reader.games_in_order(order, &Filter::default(), Page::first(9));
        let change = |game: &Game| reader.rating_change(game).unwrap();
        games.unwrap().iter().map(change).collect::<Vec<_>>()
    };
    // The next bullet game is still to come, and so is the blitz game after the last.
    let all = [Some(11), None, None, Some(-7), Some(5), None];
    assert_eq!(changes(&records), all);
    let pgn = |id: &str| {
        let reader = records.reader();
        let record = reader.record(id).unwrap().unwrap();
        pgn_of(&record, reader.server(), Details::ALL)
    };
    assert!(
        pgn("4").contains("[WhiteRatingDiff \"-7\"]"),
        "{}",
        pgn("4")
    );
    assert!(!pgn("3").contains("RatingDiff"), "{}", pgn("3"));
    // If two games ran at the same time, the change cannot be attributed.
    let sql = "UPDATE game SET (started, finished) = (SELECT started - 10, started + 5 FROM game WHERE id = '5')
         WHERE id = '4'";
    records.db.execute(sql, []).unwrap();
    assert_eq!(changes(&records)[3..5], [None, None]);
    // Games without a clock run for weeks.
    let sql = "UPDATE game SET speed = 'correspondence', finished = started + 1";
    records.db.execute(sql, []).unwrap();
    assert_eq!(changes(&records)[4], Some(5));
    let sql = format!("UPDATE game SET finished = {} WHERE id = '1'", 6 * DAY_MS);
    records.db.execute(&sql, []).unwrap();
    assert_eq!(changes(&records)[4], None);
}

#[test]
fn rating_change_of_a_game_that_ended_while_the_bot_was_away() {
    let mut records = TestRecords::new();
    for rating in [2000, 1990, 1995] {
        let mut start = game_started("", Color::White, "Anna");
        start.white.rating = Some(rating);
        records.add(start, Outcome::Open);
    }
    let end = |id: &str, observed, at| {
        let Event::GameFinished(end) = game_finished(id, Some(Color::Black), MOVES) else {
            unreachable!("the event is the end of a game");
        };
        let end = Event::GameFinished(GameFinished { observed, ..end });
        insert::insert_event(&records.db, at, &end, false).unwrap();
    };
    let change = |id: &str| {
        let reader = records.reader();
        let game = reader.record(id).unwrap().unwrap().game;
        (game.finished, reader.rating_change(&game).unwrap())
    };
    // The results are read before and after the start of the next game. Days after its start a game with a clock is over.
    end("1", false, 2 * DAY_MS - 1);
    end("2", false, 3 * DAY_MS + 1);
    assert_eq!(change("1"), (None, Some(-10)));
    assert_eq!(change("2"), (None, None));
    assert_eq!(
        records.reader().unfinished_games("Knightwatch").unwrap(),
        ["3"]
    );
    end("3", true, 3 * DAY_MS + 2);
    assert_eq!(change("3"), (Some(3 * DAY_MS + 2), None));
    // A game of correspondence was running at the start of the next one, if it may have been.
    let speed = "UPDATE game SET speed = 'correspondence'";
    records.db.execute(speed, []).unwrap();
    assert_eq!(change("1"), (None, Some(-10)));
    let later = format!("UPDATE note SET at = {} WHERE game = 1", 9 * DAY_MS);
    records.db.execute(&later, []).unwrap();
    let observed = "UPDATE game SET finished = started + 1 WHERE id = '2'";
    records.db.execute(observed, []).unwrap();
    assert_eq!(change("2").1, None);
    let earlier = format!("UPDATE note SET at = {} WHERE game = 1", 2 * DAY_MS - 1);
    records.db.execute(&earlier, []).unwrap();
    assert_eq!(change("2").1, Some(5));
}

#[test]
fn game_with_a_damaged_row_is_left_out() {
    let mut records = TestRecords::new();
    for _ in 0..2 {
        records.add(game_started("", Color::White, "Anna"), Outcome::Won);
    }
    let damage = "UPDATE game SET account_rating = -1 WHERE id = '1'";
    records.db.execute(damage, []).unwrap();
    let games = records.reader().games(&Filter::default(), Page::first(9));
    let ids = games.unwrap().into_iter().map(|game| game.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["2"]);
    let options = ExportOptions {
        file: records.directory.path().join("games.sqlite"),
        accounts: Vec::new(),
        ids: Vec::new(),
        filter: Filter::default(),
        details: Details::ALL,
        output: None,
    };
    let mut out = Vec::new();
    export_command(&options, &mut out).unwrap();
    let pgn = String::from_utf8(out).unwrap();
    assert_eq!(pgn.matches("[Event ").count(), 1, "{pgn}");
}

#[test]
fn damaged_moves_end_a_game() {
    let mut records = TestRecords::new();
    let id = "1";
    records.add(game_started("", Color::White, "Anna"), Outcome::Won);
    let plies = |records: &TestRecords| {
        let record = records.reader().record(id).unwrap().unwrap();
        assert!(record.game.plies > 2);
        pgn_and_plies(&record, SERVER, Details::ALL).1
    };
    assert!(plies(&records) > 2);
    let damage = "UPDATE move SET uci = 'e2e9' WHERE ply = 3";
    records.db.execute(damage, []).unwrap();
    assert_eq!(plies(&records), 2);
    records
        .db
        .execute("DELETE FROM move WHERE ply = 2", [])
        .unwrap();
    assert_eq!(plies(&records), 1);
}

#[test]
fn clock_statistics_are_by_speed() {
    let mut records = TestRecords::new();
    let anna = game_started("", Color::White, "Anna");
    for outcome in [Outcome::Won, Outcome::Lost, Outcome::Lost, Outcome::Void] {
        records.add(anna.clone(), outcome);
    }
    let rapid = GameStarted {
        speed: "rapid".to_owned(),
        ..anna
    };
    records.add(rapid, Outcome::Won);
    for (id, status, left, trip) in [
        ("1", "mate", Some(9_000), Some(50_000)),
        ("2", "outoftime", Some(0), Some(70_000)),
        ("3", "mate", Some(4_000), None),
        ("5", "outoftime", None, None),
    ] {
        let sql =
            "UPDATE game SET status = ?2, final_clock_ms = ?3, round_trip_us = ?4 WHERE id = ?1";
        let values = rusqlite::params![id, status, left, trip];
        records.db.execute(sql, values).unwrap();
    }
    let timings = records.reader().timings(&Filter::default()).unwrap();
    let found: Vec<_> = timings
        .iter()
        .map(|timing| (timing.speed.as_str(), timing.games, timing.flagged))
        .collect();
    // The opponent's losses on time and aborted games do not count.
    assert_eq!(found, [("blitz", 3, 1), ("rapid", 1, 0)]);
    assert_eq!(timings[0].final_clock, Some(Duration::from_secs(4)));
    assert_eq!(timings[0].round_trip, Some(Duration::from_millis(50)));
    assert_eq!(
        (timings[1].final_clock, timings[1].round_trip),
        (None, None)
    );
    let filter = Filter {
        speed: Some("rapid".to_owned()),
        ..Filter::default()
    };
    assert_eq!(records.reader().timings(&filter).unwrap().len(), 1);
}

#[test]
fn ratings_respect_the_filter() {
    let mut records = TestRecords::new();
    for number in 0..6 {
        let mut start = game_started("", Color::White, "Anna");
        start.white.rating = Some(2000 + number);
        if number % 2 == 1 {
            start.white.name = "Daywatch".to_owned();
            start.white.rating = Some(1500 + number);
        }
        if number > 3 {
            start.speed = "bullet".to_owned();
        }
        records.add(start, Outcome::Won);
    }
    let reader = records.reader();
    let query = |filter: Filter| {
        let ratings = reader.ratings(&filter).unwrap().into_iter();
        ratings
            .map(|one| {
                format!(
                    "{} {} {} {:+}",
                    one.account, one.kind, one.rating, one.change
                )
            })
            .collect::<Vec<_>>()
    };
    let all = [
        "Daywatch blitz 1503 +2",
        "Knightwatch blitz 2002 +2",
        "Daywatch bullet 1505 +0",
        "Knightwatch bullet 2004 +0",
    ];
    assert_eq!(query(Filter::default()), all);
    let histories = reader.rating_histories(&Filter::default()).unwrap();
    let kinds: Vec<_> = histories.keys().map(String::as_str).collect();
    let each = [
        "Daywatch blitz",
        "Daywatch bullet",
        "Knightwatch blitz",
        "Knightwatch bullet",
    ];
    assert_eq!(kinds, each);
    let of = |account: &str| Filter {
        account: Some(account.to_owned()),
        ..Filter::default()
    };
    assert_eq!(query(of("daywatch")), [all[0], all[2]]);
    let slower = Filter {
        speed: Some("blitz".to_owned()),
        ..of("Knightwatch")
    };
    assert_eq!(query(slower), [all[1]]);
    let early = Filter {
        until: Some(3 * DAY_MS),
        ..Filter::default()
    };
    assert_eq!(
        query(early),
        ["Daywatch blitz 1501 +0", "Knightwatch blitz 2000 +0"]
    );
    let casual = Filter {
        rated: Some(false),
        ..Filter::default()
    };
    assert!(query(casual).is_empty());
}

/// The output of `EXPLAIN QUERY PLAN`, with 1 for every parameter.
fn query_plan(db: &Connection, sql: &str) -> String {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![1; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(values), |row| {
        row.get::<_, String>(3)
    });
    rows.unwrap()
        .map(Result::unwrap)
        .collect::<Vec<_>>()
        .join("; ")
}

/// With 100,000 games, lists and totals must be answered from indexes.
#[test]
fn queries_use_covering_indexes() {
    let records = TestRecords::new();
    let text = Some("x".to_owned());
    let filters = [
        Filter::default(),
        Filter {
            opponent: text.clone(),
            ..Filter::default()
        },
        Filter {
            search: text.clone(),
            outcome: Some(Outcome::Won),
            ..Filter::default()
        },
        Filter {
            speed: text.clone(),
            rated: Some(true),
            color: Some(Color::White),
            ..Filter::default()
        },
        Filter {
            variant: text.clone(),
            outcome: Some(Outcome::Void),
            ..Filter::default()
        },
        Filter {
            since: Some(1),
            until: Some(2),
            ..Filter::default()
        },
    ];
    for filter in filters {
        let (list, _) =
            crate::store::reader::games_query(Order::default(), &filter, Page::first(50));
        let plan = query_plan(&records.db, &list);
        assert!(
            plan.contains("USING INDEX") && !plan.contains("TEMP B-TREE"),
            "{list}: {plan}"
        );
        let (all, _) = crate::store::stats::results_query(&filter, "NULL");
        let total = all.replace("NULL, points, expected", "total(points), total(expected)");
        let plan = query_plan(&records.db, &total);
        assert!(plan.contains("USING COVERING INDEX"), "{total}: {plan}");
        let together = "opponent, speed, color, opening, tournament";
        for columns in GroupBy::ALL.map(GroupBy::column).iter().chain([&together]) {
            let (all, _) = crate::store::stats::results_query(&filter, columns);
            let plan = query_plan(&records.db, &all);
            assert!(plan.contains("USING COVERING INDEX"), "{all}: {plan}");
        }
    }
    let tournament = Filter {
        tournament: text,
        ..Filter::default()
    };
    let (list, _) =
        crate::store::reader::games_query(Order::default(), &tournament, Page::first(50));
    let plan = query_plan(&records.db, &list);
    assert!(
        plan.contains("game_by_tournament") && !plan.contains("TEMP B-TREE"),
        "{plan}"
    );
}
