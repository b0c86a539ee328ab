//! From a request to an answer: parameters, faults, headers. What is asked for is decided in [`routes`](super::routes).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, DATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt;
use http_body::{Body as _, Frame, SizeHint};

use crate::chess::Color;

use super::Sim;
use super::auth::{Caller, bearer};
use super::body::Params;
use super::call::Call;
use super::connection::Connection;
use super::failure::{self, Failure, proxy_page};
use super::faults::{Endpoint, Fault, MatchedFaults, RequestContext, StreamFaults};
use super::id::GameId;
use super::limits::Pass;
use super::routes::{self, Asked, Reply};
use super::stream::{Lines, pieces};

/// More than any request has to say.
const MAX_BODY: usize = 64 * 1024;

/// The time for the body of a request, on the wall: as of the proxy in front of Lichess.
const BODY_WITHIN: Duration = Duration::from_secs(60);

pub(super) fn router(sim: Sim) -> Router {
    Router::new().fallback(handle).with_state(sim)
}

async fn handle(
    State(sim): State<Sim>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = respond(&sim, parts, body, connection).await;
    let date = sim.world().outage.date(sim.time().now());
    if let Ok(date) = HeaderValue::from_str(&date.http_date()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// The answer of the site, or what goes wrong instead.
async fn respond(sim: &Sim, parts: Parts, body: Body, connection: Connection) -> Response {
    if parts.method == Method::OPTIONS {
        return preflight();
    }
    let (mut matched, mover) = match come_in(sim, &parts, &connection) {
        Ok(come) => come,
        Err(failure) => return refused(&failure),
    };
    let body = match tokio::time::timeout(BODY_WITHIN, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(&Failure::new(413, "Request body too large")),
        Err(_) => return refused(&Failure::new(408, "Request timeout")),
    };
    let before = matched.delay();
    if let Some((id, color)) = mover
        && let Some(round) = sim.world().rounds.get_mut(&id)
    {
        let now = sim.time().now();
        round.hold_up(color, now, now + before + matched.stall());
    }
    sim.time().sleep(before).await;
    let after = matched.delay();
    let asked = Request::from_parts(parts, body);
    let stream_faults = matched.take_stream_faults();
    let done = answer(sim.clone(), asked, connection.clone(), stream_faults);
    let response = match matched.fault {
        Some(Fault::Status {
            code,
            headers,
            body,
        }) => planted(code, &headers, &body),
        Some(Fault::Reset) => reset(&connection),
        Some(Fault::Restart { downtime, streams }) => {
            sim.restart(downtime, streams);
            refused(&Failure::proxy(502))
        }
        Some(Fault::Stall(wait)) => {
            sim.time().sleep(wait).await;
            done.await
        }
        Some(Fault::AppliedLate(wait)) => {
            // It is done whether or not anybody waits for it, and nobody waits for longer than that.
            let late = sim.clone();
            let applied = tokio::spawn(async move {
                late.time().sleep(wait).await;
                done.await
            });
            applied
                .await
                .unwrap_or_else(|_| refused(&Failure::proxy(502)))
        }
        Some(Fault::ResponseLate(wait)) => {
            let response = done.await;
            sim.time().sleep(wait).await;
            response
        }
        Some(Fault::ResponseLost) => {
            drop(done.await);
            reset(&connection)
        }
        Some(Fault::Drip(pause)) => dripping(sim, done.await, pause).await,
        _ => done.await,
    };
    sim.time().sleep(after).await;
    response
}

/// What stands before the site: the proxy, then the faults that are planted. This is the one place where they are looked
/// up for calls. For a move, says also of which game and side it is.
fn come_in(
    sim: &Sim,
    parts: &Parts,
    connection: &Connection,
) -> Result<(MatchedFaults, Option<(GameId, Color)>), Failure> {
    let time = sim.time();
    let path = percent_decoded(parts.uri.path());
    let call = Call::parse(&parts.method, &path);
    let id = call.id();
    let game = id.map(|id| id.to_string());
    let (user, ply, mover) = {
        let mut world = sim.world();
        let address = connection.address.to_string();
        if !world.limits.passes_proxy(&address, time.now()) {
            return Err(Failure::proxy(429));
        }
        if world.is_down(time.now()) {
            return Err(Failure::proxy(502));
        }
        let grant = bearer(&parts.headers).and_then(|token| world.grant(token));
        let round = id.and_then(|id| world.rounds.get(&id));
        let mover = matches!(call.endpoint(), Endpoint::Move)
            .then_some(round.zip(grant.as_ref()))
            .flatten()
            .and_then(|(round, grant)| Some((round.id, round.color_of(&grant.user)?)));
        (
            grant.map(|grant| grant.user.to_string()),
            round.map(|round| round.referee.plies()),
            mover,
        )
    };
    let matched = sim.faults().on_request(&RequestContext {
        endpoint: call.endpoint(),
        user: user.as_deref(),
        game: game.as_deref(),
        ply,
        time: time.elapsed(),
    });
    Ok((matched, mover))
}

/// The same answer, a few bytes at a time. A stream trickles by itself.
async fn dripping(sim: &Sim, response: Response, pause: Duration) -> Response {
    if response.body().size_hint().exact().is_none() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let sim = sim.clone();
    let drops = futures::stream::iter(pieces(&body)).then(move |piece| {
        let sim = sim.clone();
        async move {
            sim.time().sleep(pause).await;
            Ok::<_, Infallible>(piece)
        }
    });
    Response::from_parts(parts, Body::from_stream(drops))
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

/// What the site itself answers.
async fn answer(
    sim: Sim,
    request: Request<Bytes>,
    connection: Connection,
    stream_faults: StreamFaults,
) -> Response {
    let sim = &sim;
    let (parts, body) = request.into_parts();
    let path = percent_decoded(parts.uri.path());
    let call = &Call::parse(&parts.method, &path);
    let content_type = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let query = parts.uri.query().unwrap_or_default();
    let Some(params) = Params::read(query, content_type, &body) else {
        return refused(&Failure::bad("Invalid Json"));
    };
    let asked = Asked {
        headers: &parts.headers,
        params,
        body: &body,
        address: connection.address.to_string(),
    };
    let Some(accepted) = routes::accepted_scopes(call) else {
        return admitted(sim, &parts, call, &asked, None, connection, stream_faults).await;
    };
    // Read now: the call may be the one that revokes the token.
    let held = bearer(&parts.headers)
        .and_then(|token| sim.world().grant(token).map(|grant| grant.scopes.clone()));
    let caller = sim.world().authorize(&parts.headers, accepted);
    let mut response = match caller {
        Ok(caller) => {
            let caller = Some(&caller);
            admitted(sim, &parts, call, &asked, caller, connection, stream_faults).await
        }
        Err(failure) => refused(&failure),
    };
    if response.status() != StatusCode::UNAUTHORIZED {
        name_scopes(&mut response, &held.unwrap_or_default(), accepted);
    }
    response
}

/// The answer to somebody who may call.
async fn admitted(
    sim: &Sim,
    parts: &Parts,
    call: &Call<'_>,
    asked: &Asked<'_>,
    caller: Option<&Caller>,
    connection: Connection,
    stream_faults: StreamFaults,
) -> Response {
    if let Err(failure) = routes::charge(sim, call, asked, caller) {
        return refused(&failure);
    }
    if parts.method == Method::HEAD && call.is_stream() {
        // To open it would end the stream that is open.
        return with_type(Body::empty(), "application/x-ndjson");
    }
    let pass = match routes::enter(sim, call, asked) {
        Ok(pass) => pass,
        Err(failure) => return refused(&failure),
    };
    let response = match routes::answer(sim, call, asked, caller).await {
        Ok(Reply::Stream { topic, feed }) => {
            let lines = Lines::new(sim.clone(), topic, feed, connection, stream_faults);
            let mut response = with_type(lines.into_body(), "application/x-ndjson");
            response.headers_mut().insert(
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            );
            response
        }
        Ok(Reply::Created(text)) => {
            let mut response = with_type(Body::from(text), "application/json");
            *response.status_mut() = StatusCode::CREATED;
            response
        }
        Ok(Reply::Nothing) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Ok(Reply::Json(text)) => with_type(Body::from(text), "application/json"),
        Ok(Reply::Text { kind, text }) => with_type(Body::from(text), kind),
        Err(failure) => refused(&failure),
    };
    match pass {
        Some(pass) => response.map(|body| Body::new(Held { body, _pass: pass })),
        None => response,
    }
}

/// A body during whose transfer its call counts as running.
struct Held {
    body: Body,
    _pass: Pass,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn name_scopes(response: &mut Response, held: &[String], accepted: &[&str]) {
    for (name, scopes) in [
        ("x-oauth-scopes", held.join(", ")),
        ("x-accepted-oauth-scopes", accepted.join(", ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&scopes) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}

/// What a browser asks before it lets a page of another site call.
fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        (
            "access-control-allow-methods",
            "OPTIONS, GET, POST, PUT, DELETE",
        ),
        (
            "access-control-allow-headers",
            "Origin, Authorization, If-Modified-Since, Cache-Control, Content-Type",
        ),
        ("access-control-max-age", "1728000"),
    ] {
        let headers = response.headers_mut();
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
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
            .filter(|digits| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_digits_are_an_escape() {
        for (path, expected) in [
            ("N%40f3", "N@f3"),
            ("%2b%2B", "++"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%+f%-1%g0", "%+f%-1%g0"),
            ("%25+f", "%+f"),
        ] {
            assert_eq!(percent_decoded(path), expected);
        }
    }
}
