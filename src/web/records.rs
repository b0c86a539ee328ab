//! The records that the page reads.
//!
//! SQLite is asked on threads that may wait; each question has its own connection, as each page has its own questions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, stream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::convert::{arena_of, from_record};
use super::live_game::LiveGame;
use super::state::Backlog;
use super::wire::{Challenge, Note};
use crate::store::{self, Details, Filter, Reader, pgn_of};

/// Downloads of games as PGN at once; each holds a thread and the file.
const MAX_DOWNLOADS: usize = 4;

/// A chunk of such a download is sent once it has so many bytes, and so many chunks are made before they are taken.
const CHUNK_BYTES: usize = 64 * 1024;
const CHUNK_BUFFER: usize = 4;

/// Decisions and notes of before the start.
const BACKLOG_ENTRIES: u32 = 50;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// The question makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(&'static str),
    /// A server beside us says this.
    #[error("{1}")]
    Upstream(StatusCode, String),
    /// Too many of these are under way.
    #[error("{0}")]
    Busy(&'static str),
    /// The records cannot be read.
    #[error("the records cannot be read: {0}")]
    Store(#[from] store::Error),
    /// A thread is gone.
    #[error("the question was not answered")]
    TaskFailed,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = match &self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Upstream(code, _) => *code,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(_) | Self::TaskFailed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let error = self.to_string();
        (code, Json(BTreeMap::from([("error", error)]))).into_response()
    }
}

/// The records, if there are any. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Records {
    file: Option<Arc<Path>>,
    downloads: Arc<Semaphore>,
}

impl Records {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self {
            file: file.map(Into::into),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        }
    }

    /// Whether they are kept.
    pub fn are_available(&self) -> bool {
        self.file.is_some()
    }

    /// Asks a question where nobody else waits for it.
    pub async fn query<T, F>(&self, question: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, ApiError> + Send + 'static,
    {
        self.with_reader(move |reader| question(&reader)).await
    }

    /// The same for a question that keeps the reader.
    async fn with_reader<T, F>(&self, question: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(Reader) -> Result<T, ApiError> + Send + 'static,
    {
        let file = self.file.clone();
        let file = file.ok_or(ApiError::NotFound("no records are kept here"))?;
        let asked = spawn_blocking(move || question(Reader::open(&file)?));
        asked.await.map_err(|_| ApiError::TaskFailed)?
    }

    /// The games that are meant as PGN, the first one first, in chunks that are made while they are taken.
    pub async fn pgn(
        &self,
        filter: Filter,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + use<>, ApiError> {
        let busy = "games are downloaded in several places already: try again when one is done";
        let permit = Arc::clone(&self.downloads).try_acquire_owned();
        let permit = permit.map_err(|_| ApiError::Busy(busy))?;
        // What is wrong with the file is found out before anything is sent.
        let found = self.with_reader(move |reader| Ok((reader.ids(&filter)?, reader)));
        let (ids, reader) = found.await?;
        let (chunks, taken) = mpsc::channel(CHUNK_BUFFER);
        spawn_blocking(move || {
            write_games(&reader, &ids, &chunks);
            drop(permit);
        });
        Ok(stream::unfold(taken, |mut taken| async {
            let chunk = taken.recv().await?;
            Some((chunk, taken))
        }))
    }

    /// The last decisions about challenges, the last notes and the last tournaments.
    pub async fn backlog(&self) -> Result<Backlog, ApiError> {
        self.query(|reader| {
            let page = store::Page::first(BACKLOG_ENTRIES);
            let decisions = reader.decisions(page)?.into_iter();
            let incidents = reader.notes(page)?.into_iter();
            let tournaments = reader.tournaments(page)?;
            let several = tournaments
                .iter()
                .any(|one| one.account != tournaments[0].account);
            let arenas = tournaments.into_iter().map(|one| arena_of(one, several));
            Ok(Backlog {
                challenges: decisions.map(Challenge::from).collect(),
                log: incidents.map(Note::from).collect(),
                arenas: arenas.collect(),
            })
        })
        .await
    }

    /// A game, followed to its end.
    pub async fn game(&self, id: String) -> Result<LiveGame, ApiError> {
        self.query(move |reader| {
            let record = reader.record(&id)?;
            let record = record.ok_or(ApiError::NotFound("there is no such game"))?;
            Ok(from_record(&record, reader.server()))
        })
        .await
    }
}

/// Writes games as PGN in chunks, until they are not taken any more.
fn write_games(reader: &Reader, ids: &[String], chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut text = String::new();
    let mut first = true;
    for id in ids {
        let record = match reader.record(id) {
            Ok(Some(record)) if record.game.plies > 0 => record,
            // It was taken back to its start, or is gone.
            Ok(_) => continue,
            // The connection breaks off, so that half a file is not taken for a whole one.
            Err(error) => return drop(chunks.blocking_send(Err(io::Error::other(error)))),
        };
        if !std::mem::take(&mut first) {
            text.push('\n');
        }
        text += &pgn_of(&record, reader.server(), Details::ALL);
        if text.len() >= CHUNK_BYTES {
            let chunk = Bytes::from(std::mem::take(&mut text));
            if chunks.blocking_send(Ok(chunk)).is_err() {
                return;
            }
        }
    }
    // Who has gone away meanwhile misses nothing.
    let _ = chunks.blocking_send(Ok(text.into()));
}
