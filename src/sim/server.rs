//! From a request to an answer: parameters, faults, headers. What is asked for is decided in [`routes`](super::routes).

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

use super::Sim;
use super::auth::{Caller, bearer};
use super::body::Params;
use super::call::Call;
use super::connection::Connection;
use super::failure::{self, Failure, proxy_page};
use super::faults::{Fault, StreamFault};
use super::routes::{self, Asked, Reply};
use super::stream::Lines;

/// More than any request has to say.
const MAX_BODY: usize = 64 * 1024;

pub(super) fn router(sim: Sim) -> Router {
    Router::new().fallback(handle).with_state(sim)
}

async fn handle(
    State(sim): State<Sim>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let address = connection.address.to_string();
    if !sim.world().limits.passes_proxy(&address, sim.time().now()) {
        return refused(&Failure::proxy(429));
    }
    let path = percent_decoded(parts.uri.path());
    let call = Call::parse(&parts.method, &path);
    let fault = strike(&sim, &parts, &call);
    let mut breaks = None;
    let mut late = None;
    match &fault {
        Some(Fault::Status {
            code,
            headers,
            body,
        }) => return planted(*code, headers, body),
        Some(Fault::Reset) => return reset(&connection),
        Some(Fault::Stall(wait)) => sim.time().sleep(*wait).await,
        Some(Fault::AnswerLate(wait)) => late = Some(*wait),
        Some(Fault::Stream { after, how }) => breaks = Some((*after, *how)),
        Some(Fault::AnswerLost) | None => {}
    }
    let response = answer(&sim, &parts, body, &call, &connection, breaks).await;
    if let Some(wait) = late {
        sim.time().sleep(wait).await;
    }
    match fault {
        Some(Fault::AnswerLost) => reset(&connection),
        _ => response,
    }
}

/// The one place where planted faults are looked up.
fn strike(sim: &Sim, parts: &Parts, call: &Call<'_>) -> Option<Fault> {
    let user = bearer(&parts.headers)
        .and_then(|token| sim.world().grant(token).map(|grant| grant.user.to_string()));
    let game = call.id().map(|id| id.to_string());
    sim.faults()
        .strike(call.endpoint(), user.as_deref(), game.as_deref())
}

fn reset(connection: &Connection) -> Response {
    connection.reset();
    Response::new(Body::empty())
}

fn planted(code: u16, headers: &[(String, String)], body: &str) -> Response {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

async fn answer(
    sim: &Sim,
    parts: &Parts,
    body: Body,
    call: &Call<'_>,
    connection: &Connection,
    breaks: Option<(usize, StreamFault)>,
) -> Response {
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return refused(&Failure::new(413, "Request body too large"));
    };
    let content_type = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let asked = Asked {
        headers: &parts.headers,
        params: Params::read(parts.uri.query().unwrap_or_default(), content_type, &body),
        body: &body,
        address: connection.address.to_string(),
    };
    let accepted = routes::accepted_scopes(call);
    let caller = match accepted {
        None => None,
        Some(scopes) => match sim.world().authorize(&parts.headers, scopes) {
            Ok(caller) => Some(caller),
            Err(failure) => return refused(&failure),
        },
    };
    if let Err(failure) = routes::charge(sim, call, &asked, caller.as_ref()) {
        return refused(&failure);
    }
    let mut response = match routes::answer(sim, call, &asked, caller.as_ref()).await {
        Ok(Reply::Stream { topic, feed }) => {
            let lines = Lines::new(sim.clone(), topic, feed, connection.clone(), breaks);
            let mut response = with_type(lines.into_body(), "application/x-ndjson");
            response.headers_mut().insert(
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            );
            response
        }
        Ok(Reply::Json(text)) => with_type(Body::from(text), "application/json"),
        Ok(Reply::Text { kind, text }) => with_type(Body::from(text), kind),
        Err(failure) => refused(&failure),
    };
    if let (Some(caller), Some(accepted)) = (&caller, accepted) {
        name_scopes(&mut response, caller, accepted);
    }
    response
}

fn name_scopes(response: &mut Response, caller: &Caller, accepted: &[&str]) {
    for (name, scopes) in [
        ("x-oauth-scopes", caller.scopes.join(", ")),
        ("x-accepted-oauth-scopes", accepted.join(", ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&scopes) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}

fn with_type(body: Body, kind: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn refused(failure: &Failure) -> Response {
    let mut response = match &failure.body {
        failure::Body::Json(text) => with_type(Body::from(text.clone()), "application/json"),
        failure::Body::Page => with_type(
            Body::from("<!DOCTYPE html><html><body><h1>Page not found!</h1></body></html>"),
            "text/html; charset=utf-8",
        ),
        failure::Body::Proxy => with_type(Body::from(proxy_page(failure.status)), "text/html"),
    };
    *response.status_mut() =
        StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// `N%40f3` is `N@f3`. What is not properly encoded stays as it is.
fn percent_decoded(path: &str) -> String {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
