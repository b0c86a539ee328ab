//! Proxy to the site on which a user plays against the bot, and the settings of this user.

use std::error::Error;
use std::future::Future;

use axum::Router;
use axum::body::{self, Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use serde::Deserialize;
use url::form_urlencoded;

use super::AppState;
use super::records::{ApiError, Params};
use super::sse::EventFeed;
use crate::chess::Position;

/// Maximum length of a forwarded body in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// A request of the page to the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyRequest {
    /// Path below the site's base URL.
    pub path: String,
    /// Names and values of the form.
    pub form: Vec<(String, String)>,
}

/// JSON of the site, or its status code and error.
pub type ProxyResult = Result<Bytes, (u16, String)>;

/// A router that forwards all requests with `send`.
pub fn proxy<F, A>(send: F) -> Router
where
    F: Fn(ProxyRequest) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = ProxyResult> + Send,
{
    Router::new().fallback(move |request: Request| handle(send.clone(), request))
}

async fn handle<A: Future<Output = ProxyResult>>(
    send: impl Fn(ProxyRequest) -> A,
    request: Request,
) -> Result<impl IntoResponse, ApiError> {
    let (head, body) = request.into_parts();
    if head.method != Method::POST {
        let why = "only POST requests are forwarded".to_owned();
        return Err(ApiError::Upstream(StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let body = read_body(body).await?;
    let request = ProxyRequest {
        path: head.uri.path().to_owned(),
        form: form_urlencoded::parse(&body).into_owned().collect(),
    };
    match send(request).await {
        Ok(json) => Ok(([(CONTENT_TYPE, "application/json")], json)),
        Err((status, why)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            Err(ApiError::Upstream(status, why))
        }
    }
}

/// Middleware around the requests of the user: publishes declined draws, which the site does not report, and explains why
/// a position is rejected.
pub(super) async fn forward(
    State(feed): State<EventFeed>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let (head, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let fen = form_urlencoded::parse(&body).find(|(name, _)| name == "fen");
    let problem = fen.and_then(|(_, fen)| position_problem(&fen));
    let response = next.run(Request::from_parts(head, body.into())).await;
    if let (StatusCode::BAD_REQUEST, Some(why)) = (response.status(), problem) {
        let why = format!("no game can begin with this position: {why}");
        return ApiError::BadRequest(why).into_response();
    }
    let declined = path
        .strip_prefix("/api/board/game/")
        .and_then(|rest| rest.strip_suffix("/draw/no"));
    if let Some(game) = declined.filter(|_| response.status().is_success()) {
        feed.decline_draw(game);
    }
    response
}

/// Reads the body of a request.
async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    let body = body::to_bytes(body, MAX_BODY_BYTES).await;
    body.map_err(|error| {
        if error
            .source()
            .is_some_and(<dyn Error>::is::<LengthLimitError>)
        {
            let why = format!("the request is longer than {MAX_BODY_BYTES} bytes");
            ApiError::Upstream(StatusCode::PAYLOAD_TOO_LARGE, why)
        } else {
            ApiError::BadRequest(format!("the request did not arrive as a whole: {error}"))
        }
    })
}

/// Why no game can begin with a position, if none can. Lichess only says `invalidFen`.
fn position_problem(fen: &str) -> Option<String> {
    match Position::from_fen_lenient(fen) {
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

/// Query parameters of `/control/show-engine`.
#[derive(Debug, Deserialize)]
pub(super) struct ShowEngineParams {
    shown: bool,
}

/// `POST /control/show-engine`: shows or hides the search information of the engine in the games of the user.
pub(super) async fn show_engine(
    State(state): State<AppState>,
    Params(ShowEngineParams { shown }): Params<ShowEngineParams>,
) -> Result<StatusCode, ApiError> {
    match state.feed.set_show_engine(shown) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::NotFound("nobody plays on this page")),
    }
}
