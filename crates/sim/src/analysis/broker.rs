//! Broker: passes the positions of analysis boards to providers, and their engines' lines back.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Json, Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::emit::Emit;
use crate::sim::Sim;

/// Time after which a provider is told that there is nothing to do.
const POLL_TIME: Duration = Duration::from_secs(10);

/// Upper limit of analyses that wait for a provider or run.
const MAX_JOBS: usize = 1_000;

/// Upper limit of a line of an engine, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Upper limit of lines that a board has not read yet.
const MAX_LINES: usize = 64;

/// Position and limits of an analysis, as a board asks for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Work {
    session_id: String,
    threads: u32,
    hash: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    infinite: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    movetime: Option<u64>,
    multi_pv: u32,
    variant: String,
    initial_fen: String,
    moves: Vec<String>,
}

/// An analysis that waits for a provider or runs.
struct Job {
    id: String,
    engine: Value,
    provider_secret: String,
    work: Work,
    /// The board's lines. It is closed when the board has gone.
    lines: mpsc::Sender<String>,
    is_running: bool,
}

/// Analyses of all boards.
#[derive(Default)]
pub(crate) struct Broker {
    jobs: Mutex<HashMap<String, Job>>,
    /// Notified when an analysis is added.
    added: Notify,
}

impl Broker {
    fn jobs(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an analysis. It replaces that of the same session, whose board has moved on.
    fn add(&self, job: Job) -> bool {
        let mut jobs = self.jobs();
        jobs.retain(|_, other| {
            !other.lines.is_closed() && other.work.session_id != job.work.session_id
        });
        let has_room = jobs.len() < MAX_JOBS;
        if has_room {
            jobs.insert(job.id.clone(), job);
        }
        drop(jobs);
        self.added.notify_waiters();
        has_room
    }

    /// Takes an analysis for the engines with this secret.
    fn take(&self, secret: &str) -> Option<Value> {
        let mut jobs = self.jobs();
        let job = jobs.values_mut().find(|job| {
            !job.is_running && job.provider_secret == secret && !job.lines.is_closed()
        })?;
        job.is_running = true;
        Some(json!({ "id": job.id, "work": job.work, "engine": job.engine }))
    }
}

pub(crate) fn router(sim: Sim) -> Router {
    Router::new()
        .route("/api/external-engine/work", post(acquire))
        .route("/api/external-engine/work/{id}", post(submit))
        .route("/api/external-engine/{id}/analyse", post(analyse))
        .with_state(sim)
}

fn error(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Acquire {
    provider_secret: String,
}

/// `POST /api/external-engine/work`: the next analysis for a provider, or 204 after a while.
async fn acquire(State(sim): State<Sim>, Json(request): Json<Acquire>) -> Response {
    let until = sim.time().now() + POLL_TIME;
    loop {
        let added = sim.broker().added.notified();
        tokio::pin!(added);
        added.as_mut().enable();
        if let Some(job) = sim.broker().take(&request.provider_secret) {
            return Json(job).into_response();
        }
        tokio::select! {
            () = added => {}
            () = sim.time().sleep_until(until) => return StatusCode::NO_CONTENT.into_response(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Analyse {
    client_secret: String,
    work: Work,
}

/// `POST /api/external-engine/{id}/analyse`: the lines of an analysis. It ends with the response's connection.
async fn analyse(
    State(sim): State<Sim>,
    Path(id): Path<String>,
    Json(request): Json<Analyse>,
) -> Response {
    let work = request.work;
    let is_valid = (1..=5).contains(&work.multi_pv) && work.threads > 0 && work.hash > 0;
    if !is_valid {
        return error(StatusCode::BAD_REQUEST, "Invalid work");
    }
    let (lines, received) = mpsc::channel(MAX_LINES);
    let job = {
        let mut state = sim.state();
        let letters = std::iter::repeat_with(|| state.rng.alphanumeric()).take(16);
        let job_id: String = letters.collect();
        let engine = state.external_engines.by_id(&id);
        let Some(engine) = engine.filter(|engine| engine.client_secret == request.client_secret)
        else {
            return error(StatusCode::NOT_FOUND, "No such engine");
        };
        Job {
            id: job_id,
            engine: engine.json(),
            provider_secret: engine.registration.provider_secret.clone(),
            work,
            lines,
            is_running: false,
        }
    };
    if !sim.broker().add(job) {
        return error(StatusCode::SERVICE_UNAVAILABLE, "Too many analyses");
    }
    let lines = futures::stream::unfold(received, |mut received| async move {
        let line = received.recv().await?;
        Some((Ok::<_, Infallible>(line + "\n"), received))
    });
    let headers = [(CONTENT_TYPE, "application/x-ndjson")];
    (headers, Body::from_stream(lines)).into_response()
}

/// `POST /api/external-engine/work/{id}`: the lines of a provider's engine. The response comes as soon as the board has gone.
async fn submit(State(sim): State<Sim>, Path(id): Path<String>, body: Body) -> Response {
    let found = {
        let jobs = sim.broker().jobs();
        jobs.get(&id)
            .filter(|job| job.is_running)
            .map(|job| (job.lines.clone(), job.work.multi_pv as usize))
    };
    let Some((board, multi_pv)) = found else {
        return error(StatusCode::NOT_FOUND, "No such work");
    };
    let status = tokio::select! {
        () = board.closed() => StatusCode::OK,
        () = replaced(&sim, &id) => StatusCode::OK,
        status = forward(body, &board, multi_pv) => status,
    };
    sim.broker().jobs().remove(&id);
    status.into_response()
}

/// Waits until another analysis of the same session has replaced this one.
async fn replaced(sim: &Sim, id: &str) {
    loop {
        let added = sim.broker().added.notified();
        if !sim.broker().jobs().contains_key(id) {
            return;
        }
        added.await;
    }
}

/// Sends the lines of an engine to the board.
async fn forward(body: Body, board: &mpsc::Sender<String>, multi_pv: usize) -> StatusCode {
    let mut bytes = body.into_data_stream();
    let (mut rest, mut emit) = (Vec::new(), Emit::default());
    while let Some(chunk) = bytes.next().await {
        let Ok(chunk) = chunk else {
            return StatusCode::BAD_REQUEST;
        };
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if emit.update(line.trim(), multi_pv)
                && let Ok(text) = serde_json::to_string(&emit)
                && board.send(text).await.is_err()
            {
                return StatusCode::OK;
            }
        }
        if rest.len() > MAX_LINE_BYTES {
            return StatusCode::PAYLOAD_TOO_LARGE;
        }
    }
    StatusCode::OK
}
