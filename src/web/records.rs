//! Read access to the records.
//!
//! Queries to SQLite run on blocking threads, each with its own connection.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, stream};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::convert::{arena_of, from_record};
use super::live_game::LiveGame;
use super::state::Backlog;
use super::wire::{Challenge, Note};
use crate::store::{self, Details, Filter, Reader, pgn_of};

/// Maximum number of concurrent PGN downloads; each occupies a thread.
const MAX_DOWNLOADS: usize = 4;

/// Maximum number of concurrent queries; each occupies a thread until it ends, even if nobody waits for its result.
const MAX_QUERIES: usize = 2;

/// Minimum size of a chunk of a download, in bytes; the last one may be smaller.
const CHUNK_BYTES: usize = 64 * 1024;

/// Number of chunks of a download that are prepared in advance.
const CHUNK_BUFFER: usize = 4;

/// Number of entries of each kind from before the start.
const BACKLOG_ENTRIES: u32 = 50;

/// Error of an API request.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The requested item does not exist.
    #[error("{0}")]
    NotFound(&'static str),
    /// Status code and error of another server.
    #[error("{1}")]
    Upstream(StatusCode, String),
    /// Too many requests of this kind are running.
    #[error("{0}")]
    Busy(&'static str),
    /// The records cannot be read.
    #[error("the records cannot be read: {0}")]
    Store(#[from] store::Error),
    /// The task of the query has panicked.
    #[error("the query failed")]
    TaskFailed,
}

/// Error for an id that no game has.
pub(super) const NO_GAME: ApiError = ApiError::NotFound("there is no such game");

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

/// Query parameters of the URL. Unlike those of [`Query`], errors have the form of the API.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Query(params) = Query::try_from_uri(&parts.uri).map_err(|error| {
            let why = error.body_text();
            let why = why
                .rsplit_once("query string: ")
                .map_or(&*why, |(_, why)| why);
            ApiError::BadRequest(format!("the parameters are wrong: {why}"))
        })?;
        Ok(Self(params))
    }
}

/// The records, if they are kept. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Records {
    file: Option<Arc<Path>>,
    queries: Arc<Semaphore>,
    downloads: Arc<Semaphore>,
}

impl Records {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self {
            file: file.map(Into::into),
            queries: Arc::new(Semaphore::new(MAX_QUERIES)),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        }
    }

    /// Returns whether records are kept.
    pub(super) fn are_available(&self) -> bool {
        self.file.is_some()
    }

    /// Runs a query on a blocking thread, when one is free.
    pub(super) async fn query<T, F>(&self, query: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, ApiError> + Send + 'static,
    {
        self.with_reader(move |reader| query(&reader)).await
    }

    /// Runs a query that takes the reader.
    async fn with_reader<T, F>(&self, query: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(Reader) -> Result<T, ApiError> + Send + 'static,
    {
        let file = self.file.clone();
        let file = file.ok_or(ApiError::NotFound("no records are kept here"))?;
        // The semaphore is never closed.
        let permit = Arc::clone(&self.queries).acquire_owned().await;
        let task = spawn_blocking(move || {
            let _permit = permit;
            query(Reader::open(&file)?)
        });
        task.await.map_err(|_| ApiError::TaskFailed)?
    }

    /// A game as PGN.
    pub(super) async fn game_pgn(&self, id: String) -> Result<String, ApiError> {
        self.query(move |reader| {
            let record = reader.record(&id)?.ok_or(NO_GAME)?;
            Ok(pgn_of(&record, reader.server(), Details::ALL))
        })
        .await
    }

    /// Streams the games that match a filter as PGN, oldest first.
    pub(super) async fn pgn(
        &self,
        filter: Filter,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + use<>, ApiError> {
        let busy = "too many downloads of games are running: try again later";
        let permit = Arc::clone(&self.downloads).try_acquire_owned();
        let permit = permit.map_err(|_| ApiError::Busy(busy))?;
        // Errors of opening the file are reported before the response begins.
        let found = self.with_reader(move |reader| Ok((reader.ids(&filter)?, reader, permit)));
        let (ids, reader, permit) = found.await?;
        let (chunks, receiver) = mpsc::channel(CHUNK_BUFFER);
        spawn_blocking(move || {
            write_games(&reader, &ids, &chunks);
            drop(permit);
        });
        Ok(stream::unfold(receiver, |mut receiver| async {
            let chunk = receiver.recv().await?;
            Some((chunk, receiver))
        }))
    }

    /// The latest decisions about challenges, notes and tournaments.
    pub(super) async fn backlog(&self) -> Result<Backlog, ApiError> {
        self.query(|reader| {
            let page = store::Page::first(BACKLOG_ENTRIES);
            let decisions = reader.decisions(page)?.into_iter();
            let notes = reader.notes(page)?.into_iter();
            let tournaments = reader.tournaments(page)?;
            let several = tournaments
                .iter()
                .any(|one| one.account != tournaments[0].account);
            let arenas = tournaments.into_iter().map(|one| arena_of(one, several));
            Ok(Backlog {
                challenges: decisions.map(Challenge::from).collect(),
                log: notes.map(Note::from).collect(),
                arenas: arenas.collect(),
            })
        })
        .await
    }

    /// A recorded game.
    pub(super) async fn game(&self, id: String) -> Result<LiveGame, ApiError> {
        self.query(move |reader| {
            let record = reader.record(&id)?.ok_or(NO_GAME)?;
            Ok(from_record(&record, reader.server()))
        })
        .await
    }
}

/// Writes games as PGN in chunks, until the receiver is dropped.
fn write_games(reader: &Reader, ids: &[String], chunks: &mpsc::Sender<io::Result<Bytes>>) {
    let mut text = String::new();
    let mut first = true;
    for id in ids {
        let record = match reader.readable_record(id) {
            Ok(Some(record)) if record.game.plies > 0 => record,
            // All of its moves were taken back, or it was deleted or is damaged.
            Ok(_) => continue,
            // The error aborts the connection, so that the client notices that the file is incomplete.
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
    // The client may have disconnected.
    let _ = chunks.blocking_send(Ok(text.into()));
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use rusqlite::Connection;

    use super::*;
    use crate::events::{Color, GameStarted, Player, TimeControl};
    use crate::store::{ImportedGame, ImportedMove, Importer};

    fn imported(id: &str) -> ImportedGame {
        let player = |name: &str| Player {
            name: name.to_owned(),
            ..Player::default()
        };
        ImportedGame {
            started: Some(1_000),
            finished: Some(2_000),
            start: GameStarted {
                game: id.to_owned(),
                white: player("Knightwatch"),
                black: player("Anna"),
                our_color: Color::White,
                speed: "blitz".to_owned(),
                time_control: TimeControl::Unlimited,
                rated: false,
                variant: "standard".to_owned(),
                initial_fen: None,
                tournament: None,
                engine: None,
                plies: 0,
            },
            site: None,
            moves: vec![ImportedMove {
                uci: "e2e4".to_owned(),
                clock: None,
                eval: None,
            }],
            status: "resign".to_owned(),
            winner: Some(Color::White),
            result: "1-0".to_owned(),
        }
    }

    #[tokio::test]
    async fn download_leaves_out_damaged_game() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("games.sqlite");
        let mut importer = Importer::open(&file, "https://lichess.org/").unwrap();
        let games = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(imported);
        importer.add(&games).unwrap();
        let damage = "UPDATE game SET account_rating = -1 WHERE id = 'bbbbbbbb'";
        Connection::open(&file)
            .unwrap()
            .execute(damage, [])
            .unwrap();
        let download = Records::new(Some(file)).pgn(Filter::default()).await;
        let chunks: Vec<Bytes> = download.ok().unwrap().try_collect().await.unwrap();
        let text = String::from_utf8(chunks.concat()).unwrap();
        let found = games.map(|game| text.contains(&game.start.game));
        assert_eq!(found, [true, false, true], "{text}");
    }
}
