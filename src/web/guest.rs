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

use super::House;
use super::feed::Feed;
use super::history::Refusal;

/// The longest body that is passed on, in bytes: what the page sends is short.
const LONGEST: usize = 64 * 1024;

/// What the page wants done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Below the site's base URL.
    pub path: String,
    /// Names and values.
    pub form: Vec<(String, String)>,
}

/// What came of it: the JSON of the site, or its status and why.
pub type Answer = Result<Bytes, (u16, String)>;

/// The site whose calls are passed on in this way.
pub fn door<F, A>(pass: F) -> Router
where
    F: Fn(Call) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send,
{
    Router::new().fallback(move |request: Request| enter(pass.clone(), request))
}

async fn enter<A: Future<Output = Answer>>(
    pass: impl Fn(Call) -> A,
    request: Request,
) -> Result<impl IntoResponse, Refusal> {
    let (head, body) = request.into_parts();
    if head.method != Method::POST {
        let why = "only calls are passed on".to_owned();
        return Err(Refusal::Passed(StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let body = body::to_bytes(body, LONGEST).await.map_err(|_| {
        let why = "that is too long".to_owned();
        Refusal::Passed(StatusCode::PAYLOAD_TOO_LARGE, why)
    })?;
    let call = Call {
        path: head.uri.path().to_owned(),
        form: form_urlencoded::parse(&body).into_owned().collect(),
    };
    match pass(call).await {
        Ok(json) => Ok(([(CONTENT_TYPE, "application/json")], json)),
        Err((status, why)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            Err(Refusal::Passed(status, why))
        }
    }
}

/// Passes on what the guest does, and heeds what the site tells nobody of.
pub(super) async fn heed(Shared(feed): Shared<Feed>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let answer = next.run(request).await;
    let declined = path
        .strip_prefix("/api/board/game/")
        .and_then(|rest| rest.strip_suffix("/draw/no"));
    if let Some(game) = declined.filter(|_| answer.status().is_success()) {
        feed.decline(game);
    }
    answer
}

/// Whether the engine's numbers are to be seen.
#[derive(Debug, Deserialize)]
pub(super) struct Numbers {
    shown: bool,
}

/// Shows the guest what the engine thinks while he plays against it, or hides it from him, in every window.
pub(super) async fn numbers(
    Shared(house): Shared<House>,
    Query(Numbers { shown }): Query<Numbers>,
) -> Result<StatusCode, Refusal> {
    match house.feed.show_numbers(shown) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::Missing("nobody plays on this page")),
    }
}
