//! `knightwatch demo`: simulator, bot and built-in opponents in one process.

mod temp_dir;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use crate::bot::{self, BotParts, CommandHandle, ShutdownHandle};
use crate::config::{Settings, Takebacks};
use crate::console::ConsoleLog;
use crate::daemon;
use crate::events::{Bus, Event, RecvError};
use crate::lichess::Token;
use crate::lichess::model::Speed;
use crate::plural;
use crate::signals::{OnHangup, Signals};
use crate::sim::{
    self, Behavior, ChallengePlan, ColorChoice, NewUser, PlayerKind, PlayerOptions, Sim,
    SimOptions, TimeControl,
};
use crate::store::{self, Recorder};
use crate::web::{self, Page, PageAction};
use temp_dir::TempDir;

/// User name of the bot in the simulator.
const NAME: &str = "Knightwatch";

/// User name of the person who plays on the page.
const GUEST: &str = "Guest";

/// Operator actions offered by the page. Those that stop the bot are left out, because they would end the demo.
const ALLOWED_ACTIONS: &[PageAction] = &[
    PageAction::Pause,
    PageAction::Resume,
    PageAction::MoveNow,
    PageAction::Strength,
];

/// Transposition table size in MiB, small enough for any machine.
const HASH_MIB: usize = 64;

/// Time limit for the shutdown of the bot, and of the server.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Variants that one of the opponents plays in turn; the others play standard chess and Chess960.
const VARIANTS: [&str; 7] = [
    "crazyhouse",
    "atomic",
    "kingOfTheHill",
    "threeCheck",
    "antichess",
    "racingKings",
    "horde",
];

/// Options of the demo.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of games to play; `None` plays until Ctrl-C.
    pub games: Option<u32>,
    /// Address of the simulator; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Address of the page; port 0 selects a free port.
    pub web: SocketAddr,
}

/// Plays and prints the games on stdout until `options.games` games are finished, Ctrl-C or SIGTERM. Then prints a table of
/// the results and deletes the records of the games.
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
    let sim = simulator();
    let (close, closed) = oneshot::channel::<()>();
    let server = tokio::spawn({
        let sim = sim.clone();
        async move {
            sim.serve(listener, async { closed.await.unwrap_or(()) })
                .await
        }
    });
    // So that temporary files are removed.
    let mut signals = Signals::new(OnHangup::Stop)?;
    let events = Bus::new();
    let watch = events.subscribe();
    let temp_dir = TempDir::new().context("cannot make a directory for temporary files")?;
    let file = store::file_in(temp_dir.path(), NAME);
    let mut parts = bot_parts(&sim, address, events)?;
    let (shutdown, stop) = bot::shutdown_channel();
    let (commands, receiver) = bot::command_channel(shutdown.clone());
    parts.commands = receiver;
    let page = open_page(&sim, &parts, commands, file.clone(), options.web)?;
    // After the page, which fails if its port is in use: an error must not remove the directory under the recorder.
    let records = store::Options {
        file,
        server: format!("http://{address}/"),
        files: None,
    };
    let metrics = parts.metrics.clone();
    let recorder = Recorder::start(records, parts.events.subscribe(), metrics.track_records())?;
    let counting = tokio::spawn(metrics.follow(parts.events.subscribe()));
    let bot = tokio::spawn(bot::run(parts, stop));
    add_opponents(&sim, options.games);

    let mut out = io::stdout();
    writeln!(
        out,
        "Knightwatch {} plays on its own simulated Lichess, http://{address}; Ctrl-C ends it.\n\
         Watch, and play against it: {}\n\
         Columns: the moves, Knightwatch's clock and its opponent's, and the engine's score for \
         Knightwatch, depth, nodes and line.\n",
        env!("CARGO_PKG_VERSION"),
        page.url_with_key()
    )?;
    let mut console = ConsoleLog::for_terminal();
    let outcome = print_events(
        &mut console,
        watch,
        options.games,
        bot,
        (&shutdown, &mut signals),
    )
    .await;

    page.close().await;
    recorder.finish(SHUTDOWN_TIMEOUT).await;
    drop(temp_dir);
    counting.abort();
    let table = writeln!(out, "\n{}", console.table().trim_end());
    drop(close);
    // A server that does not shut down in time ends with the process.
    let _ = timeout(SHUTDOWN_TIMEOUT, server).await;
    outcome?;
    Ok(table?)
}

/// Prints events until enough games are finished, a signal arrives, or the bot fails.
async fn print_events(
    console: &mut ConsoleLog,
    mut watch: broadcast::Receiver<Arc<Event>>,
    games: Option<u32>,
    mut bot: JoinHandle<Result<(), bot::Error>>,
    (shutdown, signals): (&ShutdownHandle, &mut Signals),
) -> anyhow::Result<()> {
    let mut out = io::stdout();
    let max_games = games.map_or(usize::MAX, |games| games as usize);
    while console.finished() < max_games {
        let event = tokio::select! {
            event = watch.recv() => event,
            ended = &mut bot => {
                ended.context("the bot failed")??;
                anyhow::bail!("the bot stopped unexpectedly");
            }
            _ = signals.next() => break,
        };
        match event {
            Ok(event) => {
                for line in console.on_event(&event, Instant::now()) {
                    writeln!(out, "{line}")?;
                }
                out.flush()?;
            }
            Err(RecvError::Lagged(missed)) => {
                let lines = plural::count(missed, "line", "lines");
                writeln!(out, "-- {lines} skipped: the terminal is too slow")?;
            }
            Err(RecvError::Closed) => break,
        }
    }
    shutdown.leave();
    // The bot may be thinking.
    if let Ok(ended) = timeout(SHUTDOWN_TIMEOUT, &mut bot).await {
        ended.context("the bot failed")??;
    }
    Ok(())
}

/// The simulator, with the accounts of the bot and of the person on the page.
fn simulator() -> Sim {
    Sim::new(SimOptions {
        users: vec![NewUser::bot(NAME).rating(2500), NewUser::in_browser(GUEST)],
        seed: fastrand::u64(..),
        ..SimOptions::default()
    })
}

/// The bot as the daemon would run it, with settings that always accept the person on the page.
fn bot_parts(sim: &Sim, address: SocketAddr, events: Bus) -> anyhow::Result<BotParts> {
    let mut settings = Settings::default();
    settings.lichess.url = Url::parse(&format!("http://{address}"))?;
    settings.engine.hash_mib = HASH_MIB;
    settings.games.concurrency = 10;
    settings.games.reserved_for_humans = 4;
    settings.games.abort_after_s = 600;
    settings.games.takebacks = Takebacks::Always;
    settings.games.max_takebacks = u32::MAX;
    // Games without a clock count as correspondence.
    settings.challenge.speeds.push(Speed::Correspondence);
    // A person on the page is waiting for the answer.
    settings.correspondence.linger_s = 3_600;
    settings.correspondence.concurrency = 20;
    let token: Token = sim.token_of(NAME).parse()?;
    Ok(BotParts {
        unlimited_bot_games: true,
        ..daemon::assemble(&Arc::new(settings), token, events)?
    })
}

/// Opens the page, with play enabled.
fn open_page(
    sim: &Sim,
    parts: &BotParts,
    commands: CommandHandle,
    records: PathBuf,
    address: SocketAddr,
) -> anyhow::Result<Page> {
    let config = web::PageConfig {
        events: parts.events.subscribe(),
        metrics: parts.metrics.clone(),
        records: Some(records),
        play: Some(web::PlaySite {
            user: GUEST.to_owned(),
            site: sim.router_as(GUEST),
        }),
        actions: Some(web::Actions {
            dispatcher: (parts.metrics.clone(), commands).into(),
            enabled: ALLOWED_ACTIONS,
        }),
        remote_access: web::RemoteAccess::default(),
    };
    Page::open(address, &web::KeySources::default(), config).with_context(|| {
        format!("cannot open the page on {address}: choose another address of this machine with --web, or port 0 for any free one")
    })
}

/// Adds the built-in opponents, which challenge the bot to `games` games in all, or endlessly.
fn add_opponents(sim: &Sim, games: Option<u32>) {
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
        sim.add_player(partner);
    }
}

/// The built-in opponents, the fastest first.
fn partners() -> Vec<PlayerOptions> {
    let plan = |time_controls: &[(u32, u32)], colors: &[ColorChoice]| ChallengePlan {
        time_controls: time_controls
            .iter()
            .map(|&(limit, increment)| TimeControl::clock(limit, increment))
            .collect(),
        colors: colors.to_vec(),
        rated: true,
        ..ChallengePlan::against(NAME, TimeControl::clock(60, 0))
    };
    let alternate = [ColorChoice::White, ColorChoice::Black];
    let turned = [ColorChoice::Black, ColorChoice::White];
    let player = |name: &str, rating, kind, delay, plan| PlayerOptions {
        rating,
        delay: Duration::from_millis(delay)..=Duration::from_millis(delay + delay / 2),
        ..PlayerOptions::new(name, kind).challenging(plan)
    };
    vec![
        player(
            "Rookie",
            800,
            PlayerKind::Random,
            300,
            plan(&[(30, 0), (30, 1)], &alternate),
        ),
        player(
            "Magpie",
            1200,
            PlayerKind::Greedy,
            400,
            plan(&[(60, 0), (30, 1)], &turned),
        ),
        PlayerOptions {
            behavior: Behavior {
                resigns_when_lost: Some(9),
                ..Behavior::default()
            },
            ..player(
                "Echo",
                1900,
                PlayerKind::Engine { nodes: 2_000 },
                300,
                plan(&[(60, 0), (60, 1), (120, 1)], &alternate),
            )
        },
        player(
            "Shuffle",
            1500,
            PlayerKind::Engine { nodes: 200 },
            300,
            ChallengePlan {
                variants: vec!["chess960".to_owned()],
                ..plan(&[(60, 0)], &turned)
            },
        ),
        player(
            "Juggler",
            1500,
            PlayerKind::Engine { nodes: 500 },
            300,
            ChallengePlan {
                variants: VARIANTS.map(str::to_owned).to_vec(),
                ..plan(&[(60, 1)], &alternate)
            },
        ),
    ]
}
