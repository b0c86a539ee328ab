//! The person who plays on the page: the site on which he does, as he has it in his browser, and what he wants to see.

use std::future::Future;

use axum::Router;
use axum::body::{self, Bytes};
use axum::extract::{Query, Request, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded;

use super::AppState;
use super::records::ApiError;
use super::sse::EventFeed;
use crate::chess::Position;

/// The longest body that is passed on, in bytes: what the page sends is short.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// What the page wants done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyRequest {
    /// Below the site's base URL.
    pub path: String,
    /// Names and values.
    pub form: Vec<(String, String)>,
}

/// What came of it: the JSON of the site, or its status and why.
pub type ProxyResult = Result<Bytes, (u16, String)>;

/// The site whose calls are passed on in this way.
pub fn proxy<F, A>(pass: F) -> Router
where
    F: Fn(ProxyRequest) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = ProxyResult> + Send,
{
    Router::new().fallback(move |request: Request| handle(pass.clone(), request))
}

async fn handle<A: Future<Output = ProxyResult>>(
    pass: impl Fn(ProxyRequest) -> A,
    request: Request,
) -> Result<impl IntoResponse, ApiError> {
    let (head, body) = request.into_parts();
    if head.method != Method::POST {
        let why = "only calls are passed on".to_owned();
        return Err(ApiError::Upstream(StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let body = body::to_bytes(body, MAX_BODY_BYTES)
        .await
        .map_err(|_| too_long())?;
    let request = ProxyRequest {
        path: head.uri.path().to_owned(),
        form: form_urlencoded::parse(&body).into_owned().collect(),
    };
    match pass(request).await {
        Ok(json) => Ok(([(CONTENT_TYPE, "application/json")], json)),
        Err((status, why)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            Err(ApiError::Upstream(status, why))
        }
    }
}

/// Passes on what the guest does. Shows what the site tells nobody, and says why a position is refused.
pub(super) async fn forward(
    Shared(feed): Shared<EventFeed>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let (head, body) = request.into_parts();
    let Ok(body) = body::to_bytes(body, MAX_BODY_BYTES).await else {
        return too_long().into_response();
    };
    let fen = form_urlencoded::parse(&body).find(|(name, _)| name == "fen");
    let problem = fen.and_then(|(_, fen)| position_problem(&fen));
    let answer = next.run(Request::from_parts(head, body.into())).await;
    if let (StatusCode::BAD_REQUEST, Some(why)) = (answer.status(), problem) {
        let why = format!("no game can begin with this position: {why}");
        return ApiError::BadRequest(why).into_response();
    }
    let declined = path
        .strip_prefix("/api/board/game/")
        .and_then(|rest| rest.strip_suffix("/draw/no"));
    if let Some(game) = declined.filter(|_| answer.status().is_success()) {
        feed.decline_draw(game);
    }
    answer
}

fn too_long() -> ApiError {
    let why = format!("the request is longer than {MAX_BODY_BYTES} bytes");
    ApiError::Upstream(StatusCode::PAYLOAD_TOO_LARGE, why)
}

/// Why no game can begin with a position, which Lichess calls `invalidFen` in any case. Nothing where it can.
fn position_problem(fen: &str) -> Option<String> {
    match Position::from_fen(fen) {
        Err(error) => Some(error.to_string()),
        Ok(position) if !position.has_legal_move() => {
            Some("the side to move has no legal move".to_owned())
        }
        Ok(position) if position.insufficient_material() => {
            Some("neither side has the pieces to give mate".to_owned())
        }
        Ok(_) => None,
    }
}

/// Whether the engine's show_engine are to be seen.
#[derive(Debug, Deserialize)]
pub(super) struct ShowEngineParams {
    shown: bool,
}

/// Shows the guest what the engine thinks while he plays against it, or hides it from him, in every window.
pub(super) async fn show_engine(
    Shared(state): Shared<AppState>,
    Query(ShowEngineParams { shown }): Query<ShowEngineParams>,
) -> Result<StatusCode, ApiError> {
    match state.feed.set_show_engine(shown) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::NotFound("nobody plays on this page")),
    }
}
