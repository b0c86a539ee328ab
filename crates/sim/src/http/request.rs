//! A request as its handler sees it, and its response.

use std::sync::MutexGuard;

use axum::body::Body;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use futures::future::BoxFuture;

use crate::http::auth::{Caller, authorize};
use crate::http::params::Params;
use crate::sim::Sim;
use crate::site::limits::Limit;
use crate::site::{ApiError, Feed, GameId, SimTime, SiteState, Topic, UserId};
use crate::wire;

pub(crate) const OK: &str = "{\"ok\":true}";
pub(crate) const NDJSON_TYPE: &str = "application/x-ndjson";

/// A request with what its row has extracted from it.
pub(crate) struct ApiRequest<'a> {
    pub sim: &'a Sim,
    /// Pattern of the path in the table of endpoints.
    pub path: &'static str,
    /// Values of the placeholders of the path, in order.
    pub args: &'a [String],
    /// Id of the game or challenge in the path.
    pub game: Option<GameId>,
    pub headers: &'a HeaderMap,
    pub params: Params,
    pub body: &'a [u8],
    /// IP address of the client.
    pub address: String,
    pub is_head: bool,
    /// Set if the row requires a token.
    pub caller: Option<Caller>,
}

impl ApiRequest<'_> {
    pub(crate) fn state(&self) -> MutexGuard<'_, SiteState> {
        self.sim.state()
    }

    pub(crate) fn now(&self) -> SimTime {
        self.sim.time().now()
    }

    pub(crate) fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller.as_ref().ok_or_else(ApiError::no_token)
    }

    pub(crate) fn me(&self) -> Result<&UserId, ApiError> {
        Ok(&self.caller()?.user)
    }

    /// Value of a placeholder of the path, counted from 0.
    pub(crate) fn arg(&self, index: usize) -> &str {
        self.args.get(index).map_or("", String::as_str)
    }

    /// Id of the game or challenge in the path.
    pub(crate) fn game_id(&self) -> Result<GameId, ApiError> {
        self.game.ok_or_else(ApiError::not_found)
    }

    /// Charges rate limits in order up to the first that is exceeded.
    pub(crate) fn charge(
        &self,
        limits: &[Limit],
        subject: &str,
        cost: u32,
    ) -> Result<(), ApiError> {
        let now = self.now();
        let mut state = self.state();
        Ok(state.limits.charge_all(limits, subject, cost, now)?)
    }

    /// Comma-separated ids in the body, at most `max`.
    pub(crate) fn ids(&self, max: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(self.body);
        let ids = text.split(',').map(|id| id.trim().to_owned());
        ids.filter(|id| !id.is_empty()).take(max).collect()
    }

    /// Number of items in the comma-separated body, at least 1.
    pub(crate) fn item_count(&self) -> u32 {
        let commas = self.body.iter().filter(|byte| **byte == b',').count();
        u32::try_from(commas).map_or(u32::MAX, |commas| commas + 1)
    }

    /// Returns whether the `Accept` header starts with this media type.
    pub(crate) fn accepts(&self, kind: &str) -> bool {
        let accept = self
            .headers
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok());
        accept.is_some_and(|accept| accept.starts_with(kind))
    }

    /// The caller if a valid token was sent; for endpoints that do not need one.
    pub(crate) fn optional_caller(&self, state: &SiteState) -> Option<UserId> {
        let caller = authorize(&state.users, self.headers, &[]).ok()?;
        Some(caller.user)
    }

    pub(crate) fn number(&self, name: &str, default: usize, max: usize) -> usize {
        let request = self.params.get(name).and_then(|text| text.parse().ok());
        request.unwrap_or(default).clamp(1, max)
    }
}

/// A successful response.
pub(crate) enum Reply {
    Json(String),
    /// 201
    Created(String),
    /// 204
    NoContent,
    Text {
        kind: &'static str,
        text: String,
    },
    Stream {
        topic: Topic,
        feed: Feed,
    },
    /// NDJSON that comes line by line.
    Lines(Body),
    /// A status and JSON or nothing, after a while. The body is that of an [upload](crate::http::route::Route::is_upload).
    Later(Box<dyn FnOnce(Body) -> BoxFuture<'static, LaterResult> + Send>),
}

pub(crate) type LaterResult = Result<(StatusCode, String), ApiError>;

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::Json(OK.to_owned())
    }

    pub(crate) fn json(value: &impl serde::Serialize) -> Self {
        Self::Json(wire::json(value))
    }

    /// NDJSON response with one line per item.
    pub(crate) fn lines(lines: impl IntoIterator<Item = String>) -> Self {
        Self::Text {
            kind: NDJSON_TYPE,
            text: lines.into_iter().map(|line| line + "\n").collect(),
        }
    }

    pub(crate) fn later<R>(reply: impl FnOnce(Body) -> R + Send + 'static) -> Self
    where
        R: Future<Output = LaterResult> + Send + 'static,
    {
        Self::Later(Box::new(|body| Box::pin(reply(body))))
    }

    /// Response to HEAD for a stream, which is not opened: that would end the one that is open.
    pub(crate) fn unopened_stream() -> Self {
        Self::lines([])
    }
}

pub(crate) type ApiResult = Result<Reply, ApiError>;
