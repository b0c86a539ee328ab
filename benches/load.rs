//! Load test of the simulator: `cargo bench --bench load [-- SIMULTANEOUS TOTAL]`.
//!
//! First, 500 simultaneous games between 1,000 HTTP clients, each with an event stream and a game stream, that move after
//! 0.2 to 1 s. Measured from the time at which a client begins to send its move until it, and its opponent, have read the
//! new state on their streams. Clients and site share the process and its cores, so the site's own share is smaller.
//!
//! Then 20,000 games between built-in players at 1,000 times real time, with the memory use of the process.

use std::error::Error;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use knightwatch::chess::{CastlingNotation, Game, Position};
use knightwatch::lichess::install_tls_provider;
use knightwatch::sim::{NewUser, PlayerOptions, Sim, SimOptions};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::net::TcpListener;

/// The players resign after this many plies.
const MAX_PLIES: usize = 60;
/// Built-in players that challenge one another in the second part.
const CHALLENGERS: usize = 40;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(worker_threads = 2)]
async fn main() -> Outcome<()> {
    // Cargo passes `--bench`.
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (simultaneous, total) = (
        numbers.next().unwrap_or(500),
        numbers.next().unwrap_or(20_000),
    );
    simultaneous_games(simultaneous).await?;
    consecutive_games(total).await
}

async fn serve(options: SimOptions) -> Outcome<(Sim, String)> {
    let sim = Sim::new(options);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let site = sim.clone();
    tokio::spawn(async move { site.serve(listener, pending()).await });
    Ok((sim, base))
}

async fn simultaneous_games(games: usize) -> Outcome<()> {
    let names = |color: char| (0..games).map(move |number| format!("{color}-{number}"));
    let (sim, base) = serve(SimOptions {
        users: names('W').chain(names('B')).map(NewUser::bot).collect(),
        ..SimOptions::default()
    })
    .await?;
    install_tls_provider();
    let site = Site {
        base,
        http: Client::builder().user_agent("load").build()?,
    };
    let began = Instant::now();
    let tasks = names('W').zip(names('B')).map(|(white, black)| {
        let site = site.clone();
        let task = tokio::spawn(async move { game(&site, &white, &black).await });
        async move { task.await? }
    });
    let times = try_join_all(tasks).await?;
    let took = began.elapsed().as_secs_f64();
    let unfinished = sim.stats().ongoing_games;
    let moves: usize = sim.games().iter().map(|game| game.plies).sum();
    println!(
        "{games} games at once: {moves} moves in {took:.1} s, {:.0} per second; {unfinished} unfinished",
        moves as f64 / took
    );
    let [own, opponent, responses] =
        times
            .into_iter()
            .fold([const { Vec::new() }; 3], |mut all, times| {
                for (all, times) in all.iter_mut().zip(times) {
                    all.extend(times);
                }
                all
            });
    print("a move's POST to its state on the own stream", own);
    print("a move's POST to its state on the opponent's", opponent);
    print("a move's POST to its response", responses);
    Ok(())
}

/// HTTP client of the site.
#[derive(Clone)]
struct Site {
    base: String,
    http: Client,
}

impl Site {
    async fn post(&self, user: &str, path: &str, form: &str) -> Outcome<Value> {
        let request = self.http.post(format!("{}{path}", self.base));
        let request = request
            .bearer_auth(format!("lip_{}", user.to_lowercase()))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form.to_owned());
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    async fn stream(&self, user: &str, path: &str) -> Outcome<Lines> {
        let request = self.http.get(format!("{}{path}", self.base));
        let request = request.bearer_auth(format!("lip_{}", user.to_lowercase()));
        Ok(Lines {
            response: request.send().await?.error_for_status()?,
            buffer: Vec::new(),
        })
    }
}

struct Lines {
    response: Response,
    buffer: Vec<u8>,
}

impl Lines {
    /// The next non-empty line, with the time at which it was read.
    async fn next(&mut self) -> Outcome<Option<(Value, Instant)>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let read = Instant::now();
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if line.len() > 1 {
                    return Ok(Some((serde_json::from_slice(&line)?, read)));
                }
            } else if let Some(chunk) = self.response.chunk().await? {
                self.buffer.extend_from_slice(&chunk);
            } else {
                return Ok(None);
            }
        }
    }
}

/// The ply of the latest move, and the time at which it was sent.
type Sent = Arc<Mutex<(usize, Option<Instant>)>>;

/// Plays a game; returns the times until the own stream, the opponent's stream and the response.
async fn game(site: &Site, white: &str, black: &str) -> Outcome<[Vec<Duration>; 3]> {
    let _events = (
        site.stream(white, "/api/stream/event").await?,
        site.stream(black, "/api/stream/event").await?,
    );
    let form = "color=white&clock.limit=600&clock.increment=0";
    let challenge = site
        .post(white, &format!("/api/challenge/{black}"), form)
        .await?;
    let id = challenge["id"].as_str().unwrap_or_default();
    site.post(black, &format!("/api/challenge/{id}/accept"), "")
        .await?;
    let path = format!("/api/bot/game/stream/{id}");
    let streams = (
        site.stream(white, &path).await?,
        site.stream(black, &path).await?,
    );
    let sent = Sent::default();
    let (first, second) = tokio::try_join!(
        player(site, white, id, 0, streams.0, sent.clone()),
        player(site, black, id, 1, streams.1, sent)
    )?;
    let mut all = first;
    for (all, more) in all.iter_mut().zip(second) {
        all.extend(more);
    }
    Ok(all)
}

/// Plays one side at random.
async fn player(
    site: &Site,
    user: &str,
    id: &str,
    turn: usize,
    mut stream: Lines,
    sent: Sent,
) -> Outcome<[Vec<Duration>; 3]> {
    let mut rng = fastrand::Rng::new();
    let mut times = [const { Vec::new() }; 3];
    let mut game = Game::new(Position::startpos());
    while let Some((line, read)) = stream.next().await? {
        let state = match line["type"].as_str() {
            Some("gameFull") => &line["state"],
            Some("gameState") => &line,
            _ => continue,
        };
        let moves = state["moves"].as_str().unwrap_or_default();
        let known = game.moves().len();
        for uci in moves.split_whitespace().skip(game.moves().len()) {
            game.push_uci(uci)?;
        }
        // The final state repeats the moves.
        let is_new = game.moves().len() > known;
        let ply = game.moves().len();
        if let (of, Some(at)) = *sent.lock().unwrap_or_else(PoisonError::into_inner)
            && of == ply
            && is_new
        {
            times[usize::from(ply % 2 == turn)].push(read - at);
        }
        if ply % 2 != turn || state["status"] != "started" {
            continue;
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(200..=1_000))).await;
        let mv = rng.choice(game.position().legal_moves().iter().copied());
        match mv.filter(|_| ply < MAX_PLIES) {
            None => {
                site.post(user, &format!("/api/bot/game/{id}/resign"), "")
                    .await?
            }
            Some(mv) => {
                let uci = mv.uci(CastlingNotation::Standard);
                let now = Instant::now();
                *sent.lock().unwrap_or_else(PoisonError::into_inner) = (ply + 1, Some(now));
                let answer = site
                    .post(user, &format!("/api/bot/game/{id}/move/{uci}"), "")
                    .await?;
                times[2].push(now.elapsed());
                answer
            }
        };
    }
    Ok(times)
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        let time = times.get(index.min(times.len().saturating_sub(1)));
        time.map_or(0.0, Duration::as_secs_f64) * 1e3
    };
    println!(
        "  {what}: median {:.2} ms, p99 {:.2} ms, worst {:.2} ms of {}",
        at(0.5),
        at(0.99),
        at(1.0),
        times.len()
    );
}

async fn consecutive_games(games: usize) -> Outcome<()> {
    let (sim, _) = serve(SimOptions {
        speed: 1_000.0,
        ..SimOptions::default()
    })
    .await?;
    println!("{games} games between built-in players, {CHALLENGERS} at once");
    sim.add_player("Fool,resigns=5,delay=200ms..1s".parse()?);
    let share = games.div_ceil(CHALLENGERS);
    let challenger = format!(
        "Wise,copies={CHALLENGERS},resigns=5,delay=200ms..1s,challenges=Fool,clock=10800+60,count={share}"
    );
    sim.add_player(challenger.parse::<PlayerOptions>()?);
    let mut finished = sim.finished_count();
    let began = Instant::now();
    for mark in [games / 20, games / 4, games / 2, games] {
        finished.wait_for(|count| *count >= mark).await?;
        let took = began.elapsed().as_secs_f64();
        println!(
            "  after {mark} games, {took:.1} s: {:.1} MiB resident; {:?}",
            resident_mib(),
            sim.stats()
        );
    }
    Ok(())
}

/// Resident memory of the process; NaN on systems other than Linux.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}
