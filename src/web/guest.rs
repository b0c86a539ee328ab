//! A site elsewhere on this machine, as one of its users has it in his browser.

use std::future::Future;

use axum::Router;
use axum::body::{self, Bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use url::form_urlencoded;

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
