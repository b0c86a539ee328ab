//! Handlers for external engines: their registrations, and the broker between boards and providers.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::analysis::broker::Work;
use crate::analysis::{ExternalEngine, Registration};
use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{NO_TOKEN, Route, Scopes, routes};
use crate::site::ApiError;

/// Time after which a provider is told that there is nothing to do.
const POLL_TIME: Duration = Duration::from_secs(10);

const READ: Scopes = Some(&["engine:read"]);
const WRITE: Scopes = Some(&["engine:write"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/external-engine" ExternalEngine, READ => list;
        POST "/api/external-engine" ExternalEngine, WRITE => create;
        GET "/api/external-engine/{engine}" ExternalEngine, READ => show;
        PUT "/api/external-engine/{engine}" ExternalEngine, WRITE => update;
        DELETE "/api/external-engine/{engine}" ExternalEngine, WRITE => delete;
        POST "/api/external-engine/work" Broker, NO_TOKEN => acquire;
        POST "/api/external-engine/work/{work}" Broker, NO_TOKEN => submit, upload();
        POST "/api/external-engine/{engine}/analyse" Broker, NO_TOKEN => analyze;
    }
}

fn list(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let engines = state.external_engines.of(request.me()?);
    let engines: Vec<_> = engines.map(ExternalEngine::json).collect();
    Ok(Reply::json(&engines))
}

fn create(request: &ApiRequest<'_>) -> ApiResult {
    let registration = Registration::read(request.body)?;
    let me = request.me()?;
    let state = &mut *request.state();
    let engine = state
        .external_engines
        .add(me, registration, &mut state.rng)?;
    Ok(Reply::Created(engine.json().to_string()))
}

fn show(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let engine = state.external_engines.by_id(request.arg(0));
    let me = request.me()?;
    let engine = engine.filter(|engine| engine.user == *me);
    let engine = engine.ok_or_else(ApiError::not_found)?;
    Ok(Reply::json(&engine.json()))
}

fn update(request: &ApiRequest<'_>) -> ApiResult {
    let registration = Registration::read(request.body)?;
    let mut state = request.state();
    let engine = state
        .external_engines
        .replace(request.me()?, request.arg(0), registration)?;
    Ok(Reply::json(&engine.json()))
}

fn delete(request: &ApiRequest<'_>) -> ApiResult {
    let mut state = request.state();
    state
        .external_engines
        .remove(request.me()?, request.arg(0))?;
    Ok(Reply::ok())
}

fn parse<T: DeserializeOwned>(request: &ApiRequest<'_>) -> Result<T, ApiError> {
    serde_json::from_slice(request.body)
        .map_err(|error| ApiError::bad_request(format!("Invalid Json: {error}")))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Acquire {
    provider_secret: String,
}

/// The next analysis for a provider, or 204 after a while.
fn acquire(request: &ApiRequest<'_>) -> ApiResult {
    let Acquire { provider_secret } = parse(request)?;
    let sim = request.sim.clone();
    Ok(Reply::later(move |_| async move {
        let timeout = sim.time().sleep(POLL_TIME);
        let job = sim.broker().next(&provider_secret, timeout).await;
        Ok(match job {
            Some(job) => (StatusCode::OK, job.to_string()),
            None => (StatusCode::NO_CONTENT, String::new()),
        })
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Analyze {
    client_secret: String,
    work: Work,
}

/// The lines of an analysis. It ends with the response's connection.
fn analyze(request: &ApiRequest<'_>) -> ApiResult {
    let Analyze {
        client_secret,
        work,
    } = parse(request)?;
    if !work.is_valid() {
        return Err(ApiError::bad_request("Invalid work"));
    }
    let lines = {
        let mut state = request.state();
        let letters = std::iter::repeat_with(|| state.rng.alphanumeric()).take(16);
        let id = letters.collect();
        let engine = state.external_engines.by_id(request.arg(0));
        let engine = engine.filter(|engine| engine.client_secret == client_secret);
        let engine = engine.ok_or_else(|| ApiError::new(404, "No such engine"))?;
        request.sim.broker().analyze(id, engine, work)?
    };
    let lines = futures::stream::unfold(lines, |mut lines| async move {
        let line = lines.recv().await?;
        Some((Ok::<_, Infallible>(line + "\n"), lines))
    });
    Ok(Reply::Lines(Body::from_stream(lines)))
}

/// The lines of a provider's engine. The response comes as soon as the board has gone.
fn submit(request: &ApiRequest<'_>) -> ApiResult {
    let sim = request.sim.clone();
    let id = request.arg(0).to_owned();
    Ok(Reply::later(move |body| async move {
        sim.broker().submit(&id, body).await?;
        Ok((StatusCode::OK, String::new()))
    }))
}
