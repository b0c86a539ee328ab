//! One analysis: the search, its limits, and its lines on the way to the board.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::chess::{CastlingNotation, Game, Position};
use crate::clock;
use crate::engine::{Engine, Limits, SearchReport, Task, uci};
use crate::lichess::{Analysis, AnalysisWork, Client};

/// Upper limit of lines of MultiPV.
const MAX_MULTI_PV: usize = 5;

/// Upper limit of moves before the position, in plies.
const MAX_PLIES: usize = 12_000;

/// Upper limit of an analysis without a time limit of its own. The board gives up earlier.
const MAX_TIME: Duration = Duration::from_secs(1800);

/// Interval of asking for the engine while games use it.
const BUSY_INTERVAL: Duration = Duration::from_millis(50);

/// Upper limit of lines that are not sent yet.
const MAX_LINES: usize = 256;

/// Notation of castling in what boards send and receive.
const NOTATION: CastlingNotation = CastlingNotation::KingTakesRook;

/// Analyses a position for the board. Returns when its limits are reached, or the board has gone.
pub(super) async fn run(broker: &Client, engine: &Engine, analysis: Analysis) {
    let (lines, unsent) = mpsc::channel::<Bytes>(MAX_LINES);
    let unsent = futures::stream::unfold(unsent, |mut unsent| async move {
        let line = unsent.recv().await?;
        Some((line, unsent))
    });
    let sending = broker.send_analysis(&analysis.id, unsent);
    let search = async {
        match game(&analysis.work) {
            Ok(game) => search(engine, &game, &analysis.work, &lines).await,
            Err(problem) => warn!("cannot analyse for the board: {problem}"),
        }
        drop(lines);
        // The request ends after the last line.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        sent = sending => {
            if let Err(error) = sent {
                debug!("the analysis broke off: {error}");
            }
        }
        () = search => {}
    }
}

/// The position of an analysis with the moves before it.
fn game(work: &AnalysisWork) -> Result<Game, String> {
    if let Some(variant) = work.variant.as_deref()
        && !["chess", "standard", "chess960", "fromPosition"].contains(&variant)
    {
        return Err(format!("the variant {variant} is not played"));
    }
    let start = Position::from_fen(&work.initial_fen).map_err(|error| error.to_string())?;
    let mut game = Game::new(start);
    for uci in work.moves.iter().take(MAX_PLIES) {
        let mv = game.position().parse_uci(uci);
        game.play(mv.map_err(|error| format!("move {uci}: {error}"))?);
    }
    Ok(game)
}

/// Searches until a limit is reached. Starts again after each game that interrupts.
async fn search(engine: &Engine, game: &Game, work: &AnalysisWork, lines: &mpsc::Sender<Bytes>) {
    if !game.position().has_legal_move() {
        send(lines, "bestmove (none)".to_owned());
        return;
    }
    let movetime = work.movetime.map(Duration::from_millis);
    let deadline = clock::sleep(movetime.unwrap_or(MAX_TIME).min(MAX_TIME));
    tokio::pin!(deadline);
    loop {
        let reached = CancellationToken::new();
        let (sender, done) = oneshot::channel();
        let task = Task {
            game_id: 0,
            game: game.clone(),
            limits: Limits {
                depth: work.depth,
                multi_pv: work.multi_pv.unwrap_or(1).clamp(1, MAX_MULTI_PV),
                ..Limits::default()
            },
            on_info: forward(work, lines.clone(), reached.clone()),
            on_done: Box::new(move |report| drop(sender.send(report))),
        };
        let Some(handle) = engine.start_ponder(task) else {
            tokio::select! {
                () = clock::sleep(BUSY_INTERVAL) => continue,
                () = &mut deadline => return,
            }
        };
        tokio::pin!(done);
        let report = tokio::select! {
            () = reached.cancelled() => None,
            () = &mut deadline => None,
            report = &mut done => Some(report),
        };
        // Dropping the handle stops the search.
        drop(handle);
        if report.is_none() {
            if let Ok(report) = done.await {
                send(lines, uci::best_move_line(&report, NOTATION));
            }
            return;
        }
        // A game has taken the engine.
    }
}

/// Passes a line on. A board that reads too slowly misses lines.
fn send(lines: &mpsc::Sender<Bytes>, line: String) {
    let _ = lines.try_send(Bytes::from(line + "\n"));
}

/// Callback that sends `info` lines, and notices when depth or nodes are reached.
fn forward(
    work: &AnalysisWork,
    lines: mpsc::Sender<Bytes>,
    reached: CancellationToken,
) -> Box<dyn FnMut(&SearchReport) + Send> {
    let (depth, nodes) = (work.depth, work.nodes);
    let last = work.multi_pv.unwrap_or(1).clamp(1, MAX_MULTI_PV);
    Box::new(move |report| {
        send(&lines, uci::info_line(report, NOTATION, None));
        let is_last = report.multipv >= last;
        if is_last && depth.is_some_and(|depth| report.depth >= depth)
            || nodes.is_some_and(|nodes| report.nodes >= nodes)
        {
            reached.cancel();
        }
    })
}
