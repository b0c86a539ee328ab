//! One analysis: the search, its limits, and its lines on the way to the board.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::engines::{BoardEngine, Engines};
use super::line_set::{LineSet, NOTATION};
use crate::chess::{Game, Position, Variant};
use crate::clock;
use crate::engine::{Limits, SearchInfo, Task, uci};
use crate::lichess::{Analysis, AnalysisWork, Broker};

/// Upper limit of lines of MultiPV.
const MAX_MULTI_PV: usize = 5;

/// Upper limit of moves before the position, in plies.
const MAX_PLIES: usize = 12_000;

/// Upper limit of an analysis without a time limit of its own. The board gives up earlier.
const MAX_TIME: Duration = Duration::from_secs(1800);

/// Interval of looking for games that think.
const BUSY_INTERVAL: Duration = Duration::from_millis(50);

/// Upper limit of sets of lines that are not sent yet.
const MAX_SETS: usize = 64;

/// Analyses a position for the board with the engine of this name. Returns when its limits are reached, or the board has gone.
pub(super) async fn run(
    name: &str,
    broker: &Broker,
    engine: &BoardEngine,
    engines: &Engines,
    analysis: Analysis,
) {
    let (lines, unsent) = mpsc::channel::<Bytes>(MAX_SETS);
    let unsent = futures::stream::unfold(unsent, |mut unsent| async move {
        let line = unsent.recv().await?;
        Some((line, unsent))
    });
    let sending = broker.send_analysis(&analysis.id, unsent);
    let search = async {
        let searched = match game(&analysis.work) {
            Ok(game) => search(engine, engines, &game, &analysis.work, &lines).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = searched {
            warn!("{name} ends an analysis for the board: {problem}");
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
    let rules = match work.variant.as_deref() {
        None => Variant::Standard,
        Some(name) => {
            Variant::from_name(name).ok_or_else(|| format!("the variant {name} is not played"))?
        }
    };
    let start = Position::from_variant_fen_lenient(rules, &work.initial_fen);
    let mut game = Game::new(start.map_err(|error| error.to_string())?);
    for uci in work.moves.iter().take(MAX_PLIES) {
        let mv = game.position().parse_uci(uci);
        game.play(mv.map_err(|error| format!("move {uci}: {error}"))?);
    }
    Ok(game)
}

/// Searches until a limit is reached. Starts again after each game that interrupts. The error says why the engine cannot.
async fn search(
    engine: &BoardEngine,
    engines: &Engines,
    game: &Game,
    work: &AnalysisWork,
    lines: &mpsc::Sender<Bytes>,
) -> Result<(), String> {
    if !game.position().has_legal_move() {
        send(lines, "bestmove (none)\n".into());
        return Ok(());
    }
    let movetime = work.movetime.map(Duration::from_millis);
    let deadline = clock::sleep(movetime.unwrap_or(MAX_TIME).min(MAX_TIME));
    tokio::pin!(deadline);
    let multi_pv = work.multi_pv.unwrap_or(1).clamp(1, MAX_MULTI_PV);
    loop {
        let reached = CancellationToken::new();
        let (sender, done) = oneshot::channel();
        let moves = game.position().legal_moves().len();
        let set = LineSet::new(multi_pv.min(engine.max_lines()).min(moves));
        let task = Task {
            game_id: 0,
            game: game.clone(),
            limits: Limits {
                depth: work.depth,
                multi_pv,
                ..Limits::default()
            },
            on_info: forward(work, set, lines.clone(), reached.clone()),
            on_done: Box::new(move |result| drop(sender.send(result))),
        };
        let handle = match engines.are_searching() {
            true => None,
            false => engine.start(task)?,
        };
        let Some(handle) = handle else {
            tokio::select! {
                () = clock::sleep(BUSY_INTERVAL) => continue,
                () = &mut deadline => return Ok(()),
            }
        };
        tokio::pin!(done);
        let is_over = tokio::select! {
            () = reached.cancelled() => true,
            () = &mut deadline => true,
            result = &mut done => match result {
                Ok(result) if engine.completes_searches() => {
                    send(lines, best_move(&result));
                    return Ok(());
                }
                Ok(_) => false,
                Err(_) => {
                    if let Some(failure) = handle.failure() {
                        return Err(failure);
                    }
                    // A game has taken the engine.
                    clock::sleep(BUSY_INTERVAL).await;
                    continue;
                }
            },
            () = game_searches(engines) => false,
        };
        // Dropping the handle stops the search.
        drop(handle);
        if is_over {
            if let Ok(result) = done.await {
                send(lines, best_move(&result));
            }
            return Ok(());
        }
        // A game has taken the engine.
    }
}

/// Waits until a game is thinking.
async fn game_searches(engines: &Engines) {
    while !engines.are_searching() {
        clock::sleep(BUSY_INTERVAL).await;
    }
}

fn best_move(result: &SearchInfo) -> Bytes {
    Bytes::from(uci::best_move_line(result, NOTATION) + "\n")
}

/// Passes lines on. A board that reads too slowly misses some.
fn send(lines: &mpsc::Sender<Bytes>, text: Bytes) {
    let _ = lines.try_send(text);
}

/// Callback that sends complete sets of `info` lines, and notices when depth or nodes are reached.
fn forward(
    work: &AnalysisWork,
    mut set: LineSet,
    lines: mpsc::Sender<Bytes>,
    reached: CancellationToken,
) -> Box<dyn FnMut(&SearchInfo) + Send> {
    let (depth, nodes) = (work.depth, work.nodes);
    Box::new(move |info| {
        let complete = set.add(info);
        let is_complete = complete.is_some();
        if let Some(text) = complete {
            send(&lines, text);
        }
        if is_complete && depth.is_some_and(|depth| info.depth >= depth)
            || nodes.is_some_and(|nodes| info.nodes >= nodes)
        {
            reached.cancel();
        }
    })
}
