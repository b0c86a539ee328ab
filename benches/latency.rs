//! Latency of book moves on the simulator, over real HTTP: `cargo bench --bench latency [-- MOVES]`, 1,000 by default.
//!
//! Measured from the time at which the opponent's client begins to send its move until its game stream shows the reply:
//! two requests through the server and two lines through streams. Also measured is the bot's own share: from the stream
//! line that makes it the bot's turn to the start of the POST.
//!
//! `cargo bench --bench latency -- 4000 pages` plays every second game with 20 pages open, and compares.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use knightwatch::book::{Book, PickOptions, Selection};
use knightwatch::bot;
use knightwatch::chess::{CastlingNotation, Game, Position};
use knightwatch::config::Settings;
use knightwatch::daemon;
use knightwatch::events::{Bus, Event, RecvError, Source};
use knightwatch::lichess::model::{
    ColorChoice, GameEvent, GameId, GameState, NewChallenge, TimeControl, Username, Variant,
};
use knightwatch::lichess::{Client, Endpoint};
use knightwatch::sim::{NewUser, Sim, SimOptions};
use knightwatch::web::{self, Page};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const BOT: &str = "Knightwatch";
const OPPONENT: &str = "Librarian";
/// Pages that are open in every second game.
const PAGES: usize = 20;
/// Games per server, or pairs of games with `pages`.
const GAMES_PER_SERVER: usize = 20;
/// Longer than the interval of keep-alive lines, 7 seconds.
const STREAM_TIMEOUT: Duration = Duration::from_secs(10);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    // Cargo passes `--bench`.
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let wanted = wanted.unwrap_or(1_000);
    let compare = std::env::args().any(|argument| argument == "pages");
    let mut times = Times::default();
    while times.replies.len() < wanted {
        play_on_new_site(compare, wanted, &mut times).await?;
    }
    times.replies.truncate(wanted);
    times.watched.truncate(wanted);
    let without = print(
        "the opponent's move to our reply on their stream",
        times.replies,
    );
    if compare {
        let with = print(&format!("while {PAGES} pages are open"), times.watched);
        println!("that is {:+.2} ms in the median", with - without);
    }
    print("the bot's share, stream line to POST", times.own);
    Ok(())
}

/// The measured times.
#[derive(Default)]
struct Times {
    /// Seen by the opponent, without open pages.
    replies: Vec<Duration>,
    /// Seen by the opponent, with open pages.
    watched: Vec<Duration>,
    /// The bot's own share.
    own: Vec<Duration>,
}

/// Plays some games on a new site with a new bot: Lichess limits games between bots to 100 a day.
async fn play_on_new_site(compare: bool, wanted: usize, times: &mut Times) -> Outcome<()> {
    let sim = Sim::new(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot(OPPONENT)],
        ..SimOptions::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let site = sim.clone();
    let server = tokio::spawn(async move { site.serve(listener, pending()).await });

    let mut settings = Settings::default();
    settings.lichess.url = base.parse()?;
    settings.engine.hash_mib = 16;
    let events = Bus::new();
    let mut watch = events.subscribe();
    let parts = daemon::assemble(&Arc::new(settings), sim.token_of(BOT).parse()?, events)?;
    let page = Page::open(
        "127.0.0.1:0".parse()?,
        &knightwatch::web::KeySources::default(),
        web::PageConfig {
            events: parts.events.subscribe(),
            metrics: parts.metrics.clone(),
            records: None,
            play: None,
            actions: None,
            remote_access: knightwatch::web::RemoteAccess::default(),
        },
    )?;
    let (_stopper, stop) = bot::shutdown_channel();
    let playing = tokio::spawn(bot::run(parts, stop));
    while !matches!(*watch.recv().await?, Event::Online { .. }) {}
    let own_times = tokio::spawn(async move {
        let mut own = Vec::new();
        loop {
            match watch.recv().await {
                Ok(event) => own.extend(own_share(&event)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return own,
            }
        }
    });

    let client = Client::new(
        &Endpoint::parse(&base)?,
        sim.token_of(OPPONENT).parse()?,
        Some(OPPONENT),
    )?;
    for _ in 0..GAMES_PER_SERVER {
        times.replies.extend(one_game(&client).await?);
        if compare {
            let mut pages = JoinSet::new();
            for _ in 0..PAGES {
                open_and_read(page.address(), &mut pages).await?;
            }
            times.watched.extend(one_game(&client).await?);
        }
        if times.replies.len() >= wanted {
            break;
        }
    }
    playing.abort();
    times.own.extend(own_times.await?);
    server.abort();
    Ok(())
}

/// Opens the page's event stream, waits for its first bytes and reads until the set is dropped.
async fn open_and_read(address: SocketAddr, pages: &mut JoinSet<()>) -> Outcome<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = vec![0; 1 << 16];
    let head = stream.read(&mut bytes).await?;
    assert!(head > 0, "the page closed the stream");
    pages.spawn(async move { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} });
    Ok(())
}

/// Time from our turn to the POST, for book moves.
fn own_share(event: &Event) -> Option<Duration> {
    match event {
        Event::Moved(moved) if moved.search.as_ref()?.source == Source::Book => {
            Some(moved.timing?.to_post)
        }
        _ => None,
    }
}

/// Plays White against the bot for as long as the book knows a move for both, then resigns.
async fn one_game(client: &Client) -> Outcome<Vec<Duration>> {
    let challenge = NewChallenge {
        time_control: TimeControl::Clock {
            limit: 600,
            increment: 0,
        },
        rated: false,
        color: ColorChoice::White,
        variant: Variant::Standard,
        fen: None,
    };
    let challenge = client.challenge(&Username::new(BOT), &challenge).await?;
    let id: GameId = challenge.id.as_str().parse()?;
    let mut stream = loop {
        // 404 until the bot has accepted.
        match client.game(&id, STREAM_TIMEOUT).await {
            Ok(stream) => break stream,
            Err(error) if error.code() == Some(404) => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    };
    let (book, choice) = (
        Book::embedded(),
        PickOptions {
            selection: Selection::Uniform,
            min_weight: 1,
        },
    );
    let mut rng = fastrand::Rng::new();
    let mut replies = Vec::new();
    // Time of our latest move, and the number of plies after the reply.
    let mut sent: Option<(Instant, usize)> = None;
    while let Some(event) = stream.next().await {
        let state: GameState = match event? {
            GameEvent::Full(full) => full.state,
            GameEvent::State(state) => state,
            _ => continue,
        };
        let shown = Instant::now();
        let game = Game::from_moves(Position::startpos(), state.moves())?;
        if state.status.is_over() {
            break;
        }
        let plies = game.moves().len();
        if sent.is_some_and(|(_, answered)| plies != answered) {
            continue;
        }
        replies.extend(sent.take().map(|(sent, _)| shown - sent));
        let next = book.pick(game.position(), &choice, &mut rng);
        let in_book = |mv| !book.entries(&game.position().after(mv)).is_empty();
        match next.filter(|&mv| in_book(mv)) {
            Some(mv) => {
                let uci = mv.uci(CastlingNotation::Standard).to_string();
                sent = Some((Instant::now(), plies + 2));
                client.play(&id, &uci, false).await?;
            }
            None => client.resign(&id).await?,
        }
    }
    Ok(replies)
}

/// Prints percentiles; returns the median in milliseconds.
fn print(what: &str, mut times: Vec<Duration>) -> f64 {
    times.sort();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times[index.min(times.len() - 1)].as_secs_f64() * 1e3
    };
    println!(
        "{what}: median {:.2} ms, p99 {:.2} ms, worst {:.2} ms of {} book moves",
        at(0.5),
        at(0.99),
        at(1.0),
        times.len()
    );
    at(0.5)
}
