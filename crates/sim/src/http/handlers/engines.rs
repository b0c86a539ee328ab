//! Handlers for the registrations of external engines.

use crate::analysis::{ExternalEngine, Registration};
use crate::http::request::{ApiRequest, ApiResult, Reply};
use crate::http::route::{Route, Scopes, routes};
use crate::site::ApiError;

const READ: Scopes = Some(&["engine:read"]);
const WRITE: Scopes = Some(&["engine:write"]);

pub(super) fn routes() -> Vec<Route> {
    routes! {
        GET "/api/external-engine" ExternalEngine, READ => list;
        POST "/api/external-engine" ExternalEngine, WRITE => create;
        GET "/api/external-engine/{engine}" ExternalEngine, READ => show;
        PUT "/api/external-engine/{engine}" ExternalEngine, WRITE => update;
        DELETE "/api/external-engine/{engine}" ExternalEngine, WRITE => delete;
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
