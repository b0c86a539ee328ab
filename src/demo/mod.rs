//! Simulator, bot and sparring partners in one process, told in the terminal.

mod scratch;
mod story;

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use crate::bot::{self, BotParts, CommandHandle, ShutdownHandle};
use crate::config::{Settings, Speed, Takebacks};
use crate::daemon;
use crate::events::{Bus, Event, RecvError};
use crate::lichess::Token;
use crate::plural;
use crate::sim::{
    self, ColorChoice, Habits, Kind, NewUser, Plan, Sim, SimOptions, Sparring, TimeControl,
};
use crate::store::{self, Recorder};
use crate::web::{self, Page};
use scratch::Scratch;
use story::{Story, Style};

/// The name of our bot on its own server.
const NAME: &str = "Knightwatch";

/// The name of whoever plays on the page.
const GUEST: &str = "Guest";

/// What the bot of the demo can be had do on the page: not to end, for the demo would with it.
const ACTIONS: &[&str] = &["pause", "resume", "move-now", "strength"];

/// The hash table of the demo, small enough for any machine.
const HASH_MIB: usize = 64;

/// How long bot and server get to say goodbye.
const FAREWELL: Duration = Duration::from_secs(3);

/// What the demo is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Games to play before it ends by itself; `None` plays until Ctrl-C.
    pub games: Option<u32>,
    /// Where the server listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the page is; the same.
    pub web: SocketAddr,
}

/// Plays, and tells it on stdout, until enough games are over, Ctrl-C or SIGTERM; ends with a table of the results. Its
/// games are kept until then, so that the page has them.
///
/// # Errors
/// When the address cannot be bound, when stdout is closed, or when the bot stops by itself.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let listener = TcpListener::bind(options.listen).await.with_context(|| {
        format!(
            "cannot listen on {}: choose another address with --listen, or port 0 for any free one",
            options.listen
        )
    })?;
    let address = listener.local_addr()?;
    sim::warn_if_reachable(address);
    let sim = site();
    let (close, closed) = oneshot::channel::<()>();
    let server = tokio::spawn({
        let sim = sim.clone();
        async move {
            sim.serve(listener, async { closed.await.unwrap_or(()) })
                .await
        }
    });
    let mut signals = signals()?;
    let events = Bus::new();
    let watch = events.subscribe();
    let scratch = Scratch::new().context("cannot make a directory for temporary files")?;
    let file = store::file_in(scratch.path(), NAME);
    let records = store::Options {
        file: file.clone(),
        server: format!("http://{address}/"),
        files: None,
    };
    let recorder = Recorder::start(records, events.subscribe())?;
    let mut parts = bot_parts(&sim, address, events)?;
    let (stopper, stop) = bot::shutdown_channel();
    let (helm, calls) = bot::command_channel(stopper.clone());
    parts.calls = calls;
    let page = open_page(&sim, &parts, helm, file, options.web)?;
    let metrics = parts.metrics.clone();
    let counting = tokio::spawn(metrics.follow(parts.events.subscribe()));
    let bot = tokio::spawn(bot::run(parts, stop));
    invite(&sim, options.games);

    let mut out = io::stdout();
    writeln!(
        out,
        "Knightwatch {} plays on its own Lichess in a box, http://{address}; Ctrl-C ends it.\n\
         Watch, and play against it: {}\n\
         Columns: the moves, Knightwatch's clock and its opponent's, and the engine's score for \
         Knightwatch, depth, nodes and line.\n",
        env!("CARGO_PKG_VERSION"),
        page.url_with_key()
    )?;
    let mut story = Story::new(style());
    let outcome = tell(
        &mut story,
        watch,
        options.games,
        bot,
        (&stopper, &mut signals),
    )
    .await;

    page.close().await;
    recorder.finish(FAREWELL).await;
    drop(scratch);
    counting.abort();
    let table = writeln!(out, "\n{}", story.table().trim_end());
    drop(close);
    // A server that does not end by itself ends with the process.
    let _ = timeout(FAREWELL, server).await;
    outcome?;
    Ok(table?)
}

/// Ctrl-C and SIGTERM, from now on: whoever is told by one of them removes what it has made.
fn signals() -> io::Result<[Signal; 2]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ])
}

/// Tells what happens until enough games are over, a signal ends it, or the bot gives up.
async fn tell(
    story: &mut Story,
    mut watch: broadcast::Receiver<Arc<Event>>,
    games: Option<u32>,
    mut bot: JoinHandle<Result<(), bot::Error>>,
    (stopper, [interrupt, terminate]): (&ShutdownHandle, &mut [Signal; 2]),
) -> anyhow::Result<()> {
    let mut out = io::stdout();
    let enough = games.map_or(usize::MAX, |games| games as usize);
    while story.finished() < enough {
        let event = tokio::select! {
            event = watch.recv() => event,
            ended = &mut bot => {
                ended.context("the bot has failed")??;
                anyhow::bail!("the bot has stopped by itself");
            }
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
        };
        match event {
            Ok(event) => {
                for line in story.tell(&event, Instant::now()) {
                    writeln!(out, "{line}")?;
                }
                out.flush()?;
            }
            Err(RecvError::Lagged(missed)) => {
                let lines = plural::count(missed, "line", "lines");
                writeln!(out, "-- {lines} left out: the terminal is too slow")?;
            }
            Err(RecvError::Closed) => break,
        }
    }
    stopper.leave();
    // It may be in the middle of a move; the demo does not wait for ever.
    if let Ok(ended) = timeout(FAREWELL, &mut bot).await {
        ended.context("the bot has failed")??;
    }
    Ok(())
}

/// Prints the moves and the ends of all games, in the columns of the demo. On a thread of its own, so that no game waits for a
/// terminal.
///
/// # Errors
/// When the system has no thread for it.
pub fn print_moves(mut watch: broadcast::Receiver<Arc<Event>>) -> io::Result<()> {
    let mut print = move || -> io::Result<()> {
        let (mut story, mut out) = (Story::new(style()), io::stdout());
        loop {
            match watch.blocking_recv() {
                Ok(event) => {
                    for line in story.tell(&event, Instant::now()) {
                        writeln!(out, "{line}")?;
                    }
                    story.forget_results();
                    out.flush()?;
                }
                Err(RecvError::Lagged(missed)) => {
                    let lines = plural::count(missed, "event", "events");
                    writeln!(out, "-- {lines} left out: the terminal is too slow")?;
                }
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    };
    // Without a reader nobody wants the moves any more.
    let thread = thread::Builder::new().name("moves".to_owned());
    thread.spawn(move || drop(print())).map(drop)
}

/// The server with our account on it, and that of whoever plays on the page.
fn site() -> Sim {
    Sim::new(SimOptions {
        users: vec![NewUser::bot(NAME).rating(2500), NewUser::in_browser(GUEST)],
        seed: fastrand::u64(..),
        ..SimOptions::default()
    })
}

/// Our bot, as the daemon would run it, on that server; whoever plays on the page is always welcome.
fn bot_parts(sim: &Sim, address: SocketAddr, events: Bus) -> anyhow::Result<BotParts> {
    let mut settings = Settings::default();
    settings.lichess.url = Url::parse(&format!("http://{address}"))?;
    settings.engine.hash_mib = HASH_MIB;
    settings.games.concurrency = 10;
    settings.games.reserved_for_humans = 4;
    settings.games.abort_after_s = 600;
    settings.games.takebacks = Takebacks::Always;
    settings.games.most_takebacks = u32::MAX;
    // Games without a clock count as correspondence.
    settings.challenge.speeds.push(Speed::Correspondence);
    // Who plays one on the page sits there and waits for the answer.
    settings.correspondence.linger_s = 3_600;
    settings.correspondence.at_once = 20;
    let token: Token = sim.token_of(NAME).parse()?;
    Ok(daemon::assemble(&Arc::new(settings), token, events)?)
}

/// The page, on which one can play, too.
fn open_page(
    sim: &Sim,
    parts: &BotParts,
    helm: CommandHandle,
    records: PathBuf,
    address: SocketAddr,
) -> anyhow::Result<Page> {
    let config = web::PageConfig {
        events: parts.events.subscribe(),
        metrics: parts.metrics.clone(),
        records: Some(records),
        play: Some(web::PlaySite {
            user: GUEST.to_owned(),
            site: sim.door_of(GUEST),
        }),
        actions: Some(web::Actions {
            dispatcher: (parts.metrics.clone(), helm).into(),
            enabled: ACTIONS,
        }),
        key: None,
    };
    Page::open(address, config).with_context(|| {
        format!("cannot open the page on {address}: choose another address of this machine with --web, or port 0 for any free one")
    })
}

/// Sets sparring partners on our bot: so many games in all, or one after another for ever.
fn invite(sim: &Sim, games: Option<u32>) {
    let partners = partners();
    let count = partners.len() as u32;
    for (i, mut partner) in (0..).zip(partners) {
        let share = games.map(|games| (games / count + u32::from(i < games % count)) as usize);
        if share == Some(0) {
            continue;
        }
        if let Some(plan) = &mut partner.challenges {
            plan.count = share;
        }
        sim.spar(partner);
    }
}

/// Who plays against us, the quickest first.
fn partners() -> Vec<Sparring> {
    let plan = |time_controls: &[(u32, u32)], colors: &[ColorChoice]| Plan {
        time_controls: time_controls
            .iter()
            .map(|&(limit, increment)| TimeControl::clock(limit, increment))
            .collect(),
        colors: colors.to_vec(),
        rated: true,
        ..Plan::against(NAME, TimeControl::clock(60, 0))
    };
    let alternate = [ColorChoice::White, ColorChoice::Black];
    let turned = [ColorChoice::Black, ColorChoice::White];
    let sparring = |name: &str, rating, kind, delay, plan| Sparring {
        rating,
        delay: Duration::from_millis(delay)..=Duration::from_millis(delay + delay / 2),
        ..Sparring::new(name, kind).challenging(plan)
    };
    vec![
        sparring(
            "Rookie",
            800,
            Kind::Random,
            300,
            plan(&[(30, 0), (30, 1)], &alternate),
        ),
        sparring(
            "Magpie",
            1200,
            Kind::Greedy,
            400,
            plan(&[(60, 0), (30, 1)], &turned),
        ),
        Sparring {
            habits: Habits {
                resigns: Some(9),
                ..Habits::default()
            },
            ..sparring(
                "Echo",
                1900,
                Kind::Engine { nodes: 2_000 },
                300,
                plan(&[(60, 0), (60, 1), (120, 1)], &alternate),
            )
        },
        sparring(
            "Shuffle",
            1500,
            Kind::Engine { nodes: 200 },
            300,
            Plan {
                variant: "chess960".to_owned(),
                ..plan(&[(60, 0)], &turned)
            },
        ),
    ]
}

/// How this terminal wants its lines.
fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0));
    Style {
        colour: terminal && !no_colour,
        width,
    }
}
