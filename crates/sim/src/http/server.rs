//! Request pipeline: parameters, authentication, faults and headers around the [handlers](crate::http::handlers).

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, DATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::BodyExt;

use knightwatch_chess::Color;

use crate::analysis::broker;
use crate::faults::{Endpoint, Fault, MatchedFaults, RequestContext, StreamFaults};
use crate::http::auth::{authorize, bearer};
use crate::http::connection::Connection;
use crate::http::error;
use crate::http::handlers::TABLE;
use crate::http::params::Params;
use crate::http::request::{ApiRequest, OK, Reply};
use crate::http::route::{Route, RouteMatch};
use crate::http::stream::{StreamBody, pieces};
use crate::sim::Sim;
use crate::site::{ApiError, GameId};

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Time for receiving a request body, in wall time. The proxy in front of Lichess has the same limit.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn router(sim: Sim) -> Router {
    Router::new()
        .fallback(handle)
        .with_state(sim.clone())
        .merge(broker::router(sim))
}

async fn handle(
    State(sim): State<Sim>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = respond(&sim, parts, body, connection).await;
    let date = sim.state().outage.date(sim.time().now());
    if let Ok(date) = HeaderValue::from_str(&date.http_date()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

/// Handles a request, or applies the fault that matches it.
async fn respond(sim: &Sim, parts: Parts, body: Body, connection: Connection) -> Response {
    if parts.method == Method::OPTIONS {
        return preflight();
    }
    let found = RouteMatch::find(&TABLE, &parts.method, parts.uri.path());
    let (mut matched, mover) = match match_faults(sim, &found, &parts, &connection) {
        Ok(matched) => matched,
        Err(error) => return error_response(&error),
    };
    let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return error_response(&ApiError::new(413, "Request body too large")),
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
        if !state.limits.passes_proxy(&address, time.now()) {
            return Err(ApiError::proxy(429));
        }
        if state.is_down(time.now()) {
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

/// Parses and authenticates a request and handles it.
async fn answer(
    sim: Sim,
    found: RouteMatch,
    parts: Parts,
    body: Bytes,
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
        return answer_authorized(found.route, &request, connection, stream_faults).await;
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
            answer_authorized(found.route, &request, connection, stream_faults).await
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
            let mut response = with_type(body.into_body(), "application/x-ndjson");
            response.headers_mut().insert(
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            );
            response
        }
        Ok(Reply::After(delay, command)) => {
            request.sim.time().sleep(delay).await;
            match command() {
                Ok(()) => with_type(Body::from(OK), "application/json"),
                Err(error) => error_response(&error.into()),
            }
        }
        Ok(Reply::Created(text)) => {
            let mut response = with_type(Body::from(text), "application/json");
            *response.status_mut() = StatusCode::CREATED;
            response
        }
        Ok(Reply::NoContent) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Ok(Reply::Json(text)) => with_type(Body::from(text), "application/json"),
        Ok(Reply::Text { kind, text }) => with_type(Body::from(text), kind),
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

fn error_response(error: &ApiError) -> Response {
    let (kind, text) = error::body(error.status, &error.body);
    let mut response = with_type(Body::from(text), kind);
    *response.status_mut() =
        StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}
