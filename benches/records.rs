//! Speed of queries over 100,000 recorded games of 60 plies: `cargo bench --bench records [-- GAMES]`.
//!
//! The games are inserted by SQL, spread over three years, 2,000 opponents and all speeds. Each query runs 20 times, each
//! on a new connection, as for a newly opened page. Both elapsed and CPU time are printed.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use knightwatch::events::{Bus, Color};
use knightwatch::store::{Filter, GroupBy, Options, Outcome, Page, Reader, Recorder};
use rusqlite::Connection;
use tokio::sync::watch::Sender;

/// Runs of each query.
const RUNS: usize = 20;

/// Plies per game.
const PLIES: u32 = 60;

/// Three years.
const SPAN_MILLIS: i64 = 3 * 365 * 86_400_000;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    // Cargo passes `--bench`.
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let games: u32 = wanted.unwrap_or(100_000);
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("games.sqlite");
    let options = Options {
        file: file.clone(),
        server: "https://lichess.org/".to_owned(),
        files: None,
    };
    let recorder = Recorder::start(options, Bus::new().subscribe(), Sender::default())?;
    recorder.finish(Duration::from_secs(60)).await;
    fill(&file, games)?;
    let size = std::fs::metadata(&file)?.len() >> 20;
    println!("{games} games of {PLIES} plies, {size} MiB; {RUNS} runs each, in milliseconds\n");
    println!("{:<46} {:>8} {:>8} {:>13}", "", "median", "worst", "CPU");
    queries(&file)
}

fn fill(file: &Path, games: u32) -> Fallible<()> {
    let db = Connection::open(file)?;
    db.execute_batch(&format!(
        "PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         BEGIN;
         WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {games})
         INSERT INTO game (
             id, started, finished, color, account, account_title, account_rating, account_provisional,
             opponent, opponent_rating, opponent_provisional, speed, base_s, increment_s, variant, rated, tournament,
             status, result, points, expected, plies, opening, final_clock_ms, round_trip_us
         )
         SELECT
             printf('%08d', n), 1700000000000 + n * ({SPAN_MILLIS} / {games}), 1700000300000 + n * ({SPAN_MILLIS} / {games}),
             iif(n % 2, 'white', 'black'), 'Knightwatch', 'BOT', 2000 + n % 200, 0,
             'Opponent' || (n * 7919 % 2000), 1500 + n % 1000, n % 9 = 0,
             CASE WHEN n % 10 < 4 THEN 'bullet' WHEN n % 10 < 8 THEN 'blitz' WHEN n % 10 < 9 THEN 'rapid'
                 ELSE 'classical' END,
             180, 2, iif(n % 50, 'standard', 'chess960'), n % 3 > 0, iif(n % 20, NULL, 'arena' || n % 300),
             'mate', '1-0', (n * 31 % 7) % 3, 0.5, {PLIES},
             'e2e4 ' || CASE n % 5 WHEN 0 THEN 'e7e5' WHEN 1 THEN 'c7c5' WHEN 2 THEN 'e7e6' WHEN 3 THEN 'c7c6'
                 ELSE 'd7d5' END || ' g1f3 b8c6',
             n % 60000, 30000 + n % 9000
         FROM number;
         WITH RECURSIVE ply (p) AS (SELECT 1 UNION ALL SELECT p + 1 FROM ply WHERE p < {PLIES})
         INSERT INTO move (
             game, ply, uci, at, clock_ms, source, cp, depth, seldepth, nodes, search_us, pv, to_post_us, round_trip_us
         )
         SELECT
             seq, p, 'e2e4', started + p * 2000, 180000 - p * 1000, iif(p % 2, 'search', NULL), iif(p % 2, p, NULL),
             iif(p % 2, 18, NULL), iif(p % 2, 25, NULL), iif(p % 2, 2000000, NULL), iif(p % 2, 1800000, NULL),
             iif(p % 2, 'Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7', NULL), iif(p % 2, 1801000, NULL), iif(p % 2, 31000, NULL)
         FROM game CROSS JOIN ply;
         COMMIT;
         PRAGMA journal_mode = WAL;"
    ))?;
    Ok(())
}

fn queries(file: &Path) -> Fallible<()> {
    let text = |text: &str| Some(text.to_owned());
    let all = Filter::default;
    let filters = [
        ("all games", all()),
        (
            "an opponent",
            Filter {
                opponent: text("opponent77"),
                ..all()
            },
        ),
        (
            "part of a name",
            Filter {
                search: text("nent12"),
                ..all()
            },
        ),
        (
            "part of a name without matches",
            Filter {
                search: text("zzz"),
                ..all()
            },
        ),
        (
            "lost with Black in rated blitz",
            Filter {
                outcome: Some(Outcome::Lost),
                color: Some(Color::Black),
                speed: text("blitz"),
                rated: Some(true),
                ..all()
            },
        ),
        (
            "aborted, without matches",
            Filter {
                outcome: Some(Outcome::Void),
                ..all()
            },
        ),
        (
            "a tournament",
            Filter {
                tournament: text("arena40"),
                ..all()
            },
        ),
        (
            "a year",
            Filter {
                since: Some(1_720_000_000_000),
                until: Some(1_751_536_000_000),
                ..all()
            },
        ),
        (
            "Chess960",
            Filter {
                variant: text("chess960"),
                ..all()
            },
        ),
    ];
    for (name, filter) in filters {
        let page = Page::first(50);
        measure(file, &format!("list: {name}"), |reader| {
            Ok(reader.games(&filter, page)?.len())
        })?;
        measure(file, &format!("number: {name}"), |reader| {
            Ok(reader.count(&filter)?)
        })?;
        measure(file, &format!("score: {name}"), |reader| {
            Ok(reader.score(&filter)?)
        })?;
    }
    let last = Page {
        offset: 99_900,
        limit: 50,
    };
    measure(file, "list: the last page", |reader| {
        Ok(reader.games(&all(), last)?.len())
    })?;
    for by in GroupBy::ALL {
        measure(file, &format!("scores by {}", by.key()), |reader| {
            Ok(reader.scores(&all(), by)?.len())
        })?;
    }
    measure(file, "toughest", |reader| {
        Ok(reader.toughest_opponents(&all(), 3)?.len())
    })?;
    measure(file, "ratings, with performances", |reader| {
        Ok(reader.ratings(&Filter::default())?.len())
    })?;
    measure(file, "scores by all but the months, at once", |reader| {
        Ok(reader.overview(&all())?.opponent.len())
    })?;
    measure(file, "clocks and latencies by speed", |reader| {
        Ok(reader.timings(&all())?.len())
    })?;
    measure(file, "ratings over time", |reader| {
        Ok(reader.rating_histories(&all())?.len())
    })?;
    measure(file, "a game with its moves", |reader| {
        Ok(reader.record("00050000")?.is_some())
    })
}

/// Runs a query and prints its times.
fn measure<T>(file: &Path, name: &str, query: impl Fn(&Reader) -> Fallible<T>) -> Fallible<()> {
    let (mut times, mut cpu_times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let reader = Reader::open(file)?;
        let (start, before) = (Instant::now(), cpu_nanos()?);
        std::hint::black_box(query(&reader)?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
        cpu_times.push((cpu_nanos()? - before) / 1e6);
    }
    times.sort_by(f64::total_cmp);
    cpu_times.sort_by(f64::total_cmp);
    println!(
        "{name:<46} {:>8.2} {:>8.2} {:>13.2}",
        times[RUNS / 2],
        times[RUNS - 1],
        cpu_times[RUNS / 2]
    );
    Ok(())
}

/// CPU time of this thread, in nanoseconds.
fn cpu_nanos() -> Fallible<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split(' ').next().unwrap_or_default();
    Ok(first.parse()?)
}
