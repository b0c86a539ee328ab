//! Broker: passes the positions of analysis boards to providers, and their engines' lines back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use axum::body::Body;
use futures::StreamExt;
use knightwatch_util::sync::lock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::ExternalEngine;
use super::emit::Emit;
use crate::site::ApiError;

/// Upper limit of analyses that wait for a provider or run.
const MAX_JOBS: usize = 1_000;

/// Upper limit of a line of an engine, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Upper limit of lines that a board has not read yet.
const MAX_LINES: usize = 64;

/// Position and limits of an analysis, as a board asks for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Work {
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

impl Work {
    /// Returns whether the numbers are in their ranges.
    pub(crate) fn is_valid(&self) -> bool {
        (1..=5).contains(&self.multi_pv) && self.threads > 0 && self.hash > 0
    }
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
        lock(&self.jobs)
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

    /// Waits for an analysis for the engines with this secret, unless `timeout` ends before.
    pub(crate) async fn next(
        &self,
        secret: &str,
        timeout: impl Future<Output = ()>,
    ) -> Option<Value> {
        tokio::pin!(timeout);
        loop {
            let added = self.added.notified();
            tokio::pin!(added);
            added.as_mut().enable();
            if let Some(job) = self.take(secret) {
                return Some(job);
            }
            tokio::select! {
                () = added => {}
                () = &mut timeout => return None,
            }
        }
    }

    /// Adds an analysis by an engine and returns its lines.
    ///
    /// # Errors
    ///
    /// There are too many analyses.
    pub(crate) fn analyze(
        &self,
        id: String,
        engine: &ExternalEngine,
        work: Work,
    ) -> Result<mpsc::Receiver<String>, ApiError> {
        let (lines, received) = mpsc::channel(MAX_LINES);
        let job = Job {
            id,
            engine: engine.json(),
            provider_secret: engine.registration.provider_secret.clone(),
            work,
            lines,
            is_running: false,
        };
        match self.add(job) {
            true => Ok(received),
            false => Err(ApiError::new(503, "Too many analyses")),
        }
    }

    /// Passes the lines of an engine to the board until the board has gone.
    ///
    /// # Errors
    ///
    /// There is no such analysis, or the lines are broken.
    pub(crate) async fn submit(&self, id: &str, body: Body) -> Result<(), ApiError> {
        let found = {
            let jobs = self.jobs();
            jobs.get(id)
                .filter(|job| job.is_running)
                .map(|job| (job.lines.clone(), job.work.multi_pv as usize))
        };
        let (board, multi_pv) = found.ok_or_else(|| ApiError::new(404, "No such work"))?;
        let result = tokio::select! {
            () = board.closed() => Ok(()),
            () = self.replaced(id) => Ok(()),
            result = forward(body, &board, multi_pv) => result,
        };
        self.jobs().remove(id);
        result
    }

    /// Waits until another analysis of the same session has replaced this one.
    async fn replaced(&self, id: &str) {
        loop {
            let added = self.added.notified();
            if !self.jobs().contains_key(id) {
                return;
            }
            added.await;
        }
    }
}

/// Sends the lines of an engine to the board.
async fn forward(
    body: Body,
    board: &mpsc::Sender<String>,
    multi_pv: usize,
) -> Result<(), ApiError> {
    let mut bytes = body.into_data_stream();
    let (mut rest, mut emit) = (Vec::new(), Emit::default());
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk.map_err(|_| ApiError::bad_request("Broken body"))?;
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if emit.update(line.trim(), multi_pv)
                && let Ok(text) = serde_json::to_string(&emit)
                && board.send(text).await.is_err()
            {
                return Ok(());
            }
        }
        if rest.len() > MAX_LINE_BYTES {
            return Err(ApiError::new(413, "Line too long"));
        }
    }
    Ok(())
}
