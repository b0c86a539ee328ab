//! Request pipeline: parameters, authentication, faults and headers around the [handlers](crate::http::handlers).

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CONTENT_TYPE, DATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, LengthLimitError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use knightwatch_chess::Color;

use crate::faults::{Endpoint, Fault, MatchedFaults, RequestContext, StreamFaults};
use crate::http::auth::{authorize, bearer};
use crate::http::connection::Connection;
use crate::http::error;
use crate::http::handlers::TABLE;
use crate::http::params::Params;
use crate::http::request::{ApiRequest, NDJSON_TYPE, Reply};
use crate::http::route::{self, Route, RouteMatch};
use crate::http::stream::{StreamBody, pieces};
use crate::sim::Sim;
use crate::site::{ApiError, GameId};

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Time for receiving a request body, in wall time. The proxy in front of Lichess has the same limit.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

const JSON_TYPE: &str = "application/json";

/// Characters that are escaped again in a decoded path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_');

pub(crate) fn router(sim: Sim) -> Router {
    let answering = sim.clone();
    let table = route::router(&TABLE, move |found, connection, request| {
        let sim = answering.clone();
        async move { respond(&sim, found, connection, request).await }
    });
    // The path is rewritten before the table sees it.
    Router::new()
        .fallback_service(table)
        .layer(from_fn_with_state(sim, handle))
}

/// Prepares a request for the table, and completes its response.
async fn handle(State(sim): State<Sim>, mut request: Request, next: Next) -> Response {
    let mut response = if request.method() == Method::OPTIONS {
        preflight()
    } else {
        *request.uri_mut() = decoded(request.uri());
        next.run(request).await
    };
    let headers = response.headers_mut();
    // Lichess does not name the methods that a path has.
    headers.remove(ALLOW);
    let date = sim.state().outage.date(sim.time().now());
    if let Ok(date) = HeaderValue::from_str(&date.http_date()) {
        headers.insert(DATE, date);
    }
    response
}

/// The address with a path that is decoded before it is split, without a slash at its end.
fn decoded(uri: &Uri) -> Uri {
    let path = percent_decode_str(uri.path()).decode_utf8_lossy();
    let path = path
        .strip_suffix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(&path);
    let path = utf8_percent_encode(path, ESCAPED).to_string();
    let query = uri.query().map(|query| format!("?{query}"));
    let rewritten = path + &query.unwrap_or_default();
    rewritten.parse().unwrap_or_else(|_| uri.clone())
}

/// Handles a request, or applies the fault that matches it.
async fn respond(
    sim: &Sim,
    found: RouteMatch,
    connection: Connection,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let (mut matched, mover) = match match_faults(sim, &found, &parts, &connection) {
        Ok(matched) => matched,
        Err(error) => return error_response(&error),
    };
    let (body, upload) = match found.route.is_upload {
        true => (Body::empty(), body),
        false => (body, Body::empty()),
    };
    let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(error))
            if error
                .source()
                .is_some_and(<dyn Error>::is::<LengthLimitError>) =>
        {
            return error_response(&ApiError::new(413, "Request body too large"));
        }
        Ok(Err(_)) => return error_response(&ApiError::new(400, "Incomplete request body")),
        Err(_) => return error_response(&ApiError::new(408, "Request timeout")),
    };
    let delay_before = matched.delay();
    if let Some((id, color)) = mover {
        let now = sim.now();
        let until = now + delay_before + matched.stall();
        let rounds = &mut sim.state().rounds;
        rounds.add_fault_delay(id, color, now, until);
    }
    sim.time().sleep(delay_before).await;
    let delay_after = matched.delay();
    let stream_faults = matched.take_stream_faults();
    let response = answer(
        sim.clone(),
        found,
        parts,
        body,
        upload,
        connection.clone(),
        stream_faults,
    );
    let response = match matched.fault {
        Some(Fault::Status {
            code,
            headers,
            body,
        }) => fault_response(code, &headers, &body),
        Some(Fault::Reset) => reset(&connection),
        Some(Fault::Restart { downtime, streams }) => {
            sim.restart(downtime, streams);
            error_response(&ApiError::proxy(502))
        }
        Some(Fault::Stall(wait)) => {
            sim.time().sleep(wait).await;
            response.await
        }
        Some(Fault::AppliedLate(wait)) => {
            // The request is applied even if the client disconnects before.
            let delayed_sim = sim.clone();
            let applied = tokio::spawn(async move {
                delayed_sim.time().sleep(wait).await;
                response.await
            });
            applied
                .await
                .unwrap_or_else(|_| error_response(&ApiError::proxy(502)))
        }
        Some(Fault::ResponseLate(wait)) => {
            let response = response.await;
            sim.time().sleep(wait).await;
            response
        }
        Some(Fault::ResponseLost) => {
            drop(response.await);
            reset(&connection)
        }
        Some(Fault::Drip(pause)) => drip_body(sim, response.await, pause).await,
        _ => response.await,
    };
    sim.time().sleep(delay_after).await;
    response
}

/// Runs the checks before the site is reached: the proxy, an outage, then the faults that match. Request faults are
/// matched only here. For a move, also returns its game and side.
fn match_faults(
    sim: &Sim,
    found: &RouteMatch,
    parts: &Parts,
    connection: &Connection,
) -> Result<(MatchedFaults, Option<(GameId, Color)>), ApiError> {
    let time = sim.time();
    let endpoint = found.route.endpoint;
    let game = found.game.map(|id| id.to_string());
    let (user, ply, mover) = {
        let mut state = sim.state();
        let address = connection.address.to_string();
        // Lichess has the broker on another host.
        let is_site = endpoint != Endpoint::Broker;
        if is_site && !state.limits.passes_proxy(&address, time.now()) {
            return Err(ApiError::proxy(429));
        }
        if is_site && state.is_down(time.now()) {
            return Err(ApiError::proxy(502));
        }
        let grant = bearer(&parts.headers).and_then(|token| state.users.grant(token));
        let round = found.game.and_then(|id| state.rounds.get(id));
        let mover = (endpoint == Endpoint::Move)
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
        endpoint,
        user: user.as_deref(),
        game: game.as_deref(),
        ply,
        time: time.elapsed(),
    });
    Ok((matched, mover))
}

/// Sends the same response a few bytes at a time. Streams do so themselves.
async fn drip_body(sim: &Sim, response: Response, pause: Duration) -> Response {
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

fn fault_response(code: u16, headers: &[(String, String)], body: &str) -> Response {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = status(code);
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

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Parses and authenticates a request and handles it.
async fn answer(
    sim: Sim,
    found: RouteMatch,
    parts: Parts,
    body: Bytes,
    upload: Body,
    connection: Connection,
    stream_faults: StreamFaults,
) -> Response {
    let headers = &parts.headers;
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let query = parts.uri.query().unwrap_or_default();
    let Some(params) = Params::read(query, content_type, &body) else {
        return error_response(&ApiError::bad_request("Invalid Json"));
    };
    let mut request = ApiRequest {
        sim: &sim,
        path: &found.route.path,
        args: &found.args,
        game: found.game,
        headers,
        params,
        body: &body,
        address: connection.address.to_string(),
        is_head: parts.method == Method::HEAD,
        caller: None,
    };
    let Some(accepted) = found.route.scopes else {
        return answer_authorized(found.route, &request, upload, connection, stream_faults).await;
    };
    // Read before the request is handled, which may revoke the token.
    let token_scopes = bearer(headers).and_then(|token| {
        sim.state()
            .users
            .grant(token)
            .map(|grant| grant.scopes.clone())
    });
    let caller = authorize(&sim.state().users, headers, accepted);
    let mut response = match caller {
        Ok(caller) => {
            request.caller = Some(caller);
            answer_authorized(found.route, &request, upload, connection, stream_faults).await
        }
        Err(error) => error_response(&error),
    };
    if response.status() != StatusCode::UNAUTHORIZED {
        add_scope_headers(&mut response, &token_scopes.unwrap_or_default(), accepted);
    }
    response
}

/// Handles an authorized request.
async fn answer_authorized(
    route: &Route,
    request: &ApiRequest<'_>,
    upload: Body,
    connection: Connection,
    stream_faults: StreamFaults,
) -> Response {
    let acquire = |limit| request.sim.state().limits.acquire(limit, &request.address);
    let permit = match route.concurrency.map(acquire).transpose() {
        Ok(permit) => permit,
        Err(error) => return error_response(&error),
    };
    let response = match (route.handler)(request) {
        Ok(Reply::Stream { topic, feed }) => {
            let sim = request.sim.clone();
            let body = StreamBody::new(sim, topic, feed, connection, stream_faults);
            let unbuffered = [("x-accel-buffering", "no")];
            (unbuffered, with_type(body.into_body(), NDJSON_TYPE)).into_response()
        }
        Ok(Reply::Created(text)) => {
            (StatusCode::CREATED, with_type(text, JSON_TYPE)).into_response()
        }
        Ok(Reply::NoContent) => StatusCode::NO_CONTENT.into_response(),
        Ok(Reply::Later(reply)) => match reply(upload).await {
            Ok((status, text)) if text.is_empty() => status.into_response(),
            Ok((status, text)) => (status, with_type(text, JSON_TYPE)).into_response(),
            Err(error) => error_response(&error),
        },
        Ok(Reply::Lines(body)) => with_type(body, NDJSON_TYPE),
        Ok(Reply::Json(text)) => with_type(text, JSON_TYPE),
        Ok(Reply::Text { kind, text }) => with_type(text, kind),
        Err(error) => error_response(&error),
    };
    let Some(permit) = permit else {
        return response;
    };
    // The body owns the permit until it is sent.
    response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _running = &permit;
            error
        }))
    })
}

fn add_scope_headers(response: &mut Response, token_scopes: &[String], accepted: &[&str]) {
    for (name, scopes) in [
        ("x-oauth-scopes", token_scopes.join(", ")),
        ("x-accepted-oauth-scopes", accepted.join(", ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&scopes) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}

/// CORS preflight response.
fn preflight() -> Response {
    let headers = [
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
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn with_type(body: impl Into<Body>, kind: &'static str) -> Response {
    let headers = [(CONTENT_TYPE, kind), (ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (headers, body.into()).into_response()
}

fn error_response(error: &ApiError) -> Response {
    let (kind, text) = error::body(error.status, &error.body);
    (status(error.status), with_type(text, kind)).into_response()
}
