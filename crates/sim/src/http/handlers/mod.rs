//! Request handlers. Checks run in the order in which Lichess makes them.

mod account;
mod challenge;
mod clocks;
mod game;
mod personal;
mod public;
mod stubs;
mod team;
mod tournament;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::Sim;
use crate::http::auth::Caller;
use crate::http::error::ApiError;
use crate::http::limits::{
    ACCOUNT_READS, CLOUD_EVALS, CROSSTABLES, EVENT_STREAMS, FOLLOWS, GAME_EXPORTS, Limit,
    PROFILE_READS, Permit, TOKEN_TESTS,
};
use crate::http::params::Params;
use crate::http::route::personal::{PersonalRoute, RelationChange};
use crate::http::route::public::PublicRoute;
use crate::http::route::{Api, ChallengeAction, Route};
use crate::http::stream::{Feed, Topic};
use crate::site::id::UserId;
use crate::site::state::SiteState;
use crate::wire;

const OK: &str = "{\"ok\":true}";
const NDJSON: &str = "application/x-ndjson";

/// Headers, parameters and body of a request.
pub(super) struct ApiRequest<'a> {
    pub headers: &'a HeaderMap,
    pub params: Params,
    pub body: &'a [u8],
    /// IP address of the client.
    pub address: String,
}

impl ApiRequest<'_> {
    /// Comma-separated ids in the body, at most `max`.
    fn ids(&self, max: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(self.body);
        let ids = text.split(',').map(|id| id.trim().to_owned());
        ids.filter(|id| !id.is_empty()).take(max).collect()
    }

    /// Number of items in the comma-separated body, at least 1.
    fn item_count(&self) -> u32 {
        let commas = self.body.iter().filter(|byte| **byte == b',').count();
        u32::try_from(commas).map_or(u32::MAX, |commas| commas + 1)
    }

    /// Returns whether the `Accept` header starts with this media type.
    fn accepts(&self, kind: &str) -> bool {
        let accept = self
            .headers
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok());
        accept.is_some_and(|accept| accept.starts_with(kind))
    }

    /// The caller if a valid token was sent; for endpoints that do not need one.
    fn optional_caller(&self, state: &SiteState) -> Option<UserId> {
        let caller = state.authorize(self.headers, &[]).ok()?;
        Some(caller.user)
    }

    fn number(&self, name: &str, default: usize, max: usize) -> usize {
        let request = self.params.get(name).and_then(|text| text.parse().ok());
        request.unwrap_or(default).clamp(1, max)
    }
}

/// A successful response.
pub(super) enum Reply {
    Json(String),
    /// 201
    Created(String),
    /// 204
    NoContent,
    Text {
        kind: &'static str,
        text: String,
    },
    Stream {
        topic: Topic,
        feed: Feed,
    },
}

impl Reply {
    fn ok() -> Self {
        Self::Json(OK.to_owned())
    }

    fn json(value: &impl serde::Serialize) -> Self {
        Self::Json(wire::json(value))
    }

    /// NDJSON response with one line per item.
    fn lines(lines: impl IntoIterator<Item = String>) -> Self {
        Self::Text {
            kind: NDJSON,
            text: lines.into_iter().map(|line| line + "\n").collect(),
        }
    }
}

type ApiResult = Result<Reply, ApiError>;

/// Scopes of which the token needs one. An empty list accepts any token; `None` needs no token.
pub(super) fn accepted_scopes(route: &Route<'_>) -> Option<&'static [&'static str]> {
    match route {
        Route::Ping
        | Route::TokenTest
        | Route::BotsOnline
        | Route::UsersStatus
        | Route::User(_)
        | Route::Export(_)
        | Route::Unknown => None,
        Route::Public(route) => route.scopes(),
        Route::Personal(route) => Some(route.scopes()),
        Route::Tournament(route) => route.scopes(),
        Route::Account | Route::Playing => Some(&[]),
        Route::Upgrade | Route::Game(Api::Bot, ..) => Some(&["bot:play"]),
        Route::Game(Api::Board, ..) => Some(&["board:play"]),
        Route::Events => Some(&["bot:play", "board:play", "challenge:read"]),
        Route::ChallengeList | Route::Challenge(_, ChallengeAction::Show) => {
            Some(&["challenge:read"])
        }
        Route::AddTime(..) => Some(&["challenge:write"]),
        // Tokens are optional here, or are passed as parameters.
        Route::OpenChallenge | Route::StartClocks(_) => None,
        Route::ChallengeCreate(_) | Route::PlayEngine | Route::Challenge(..) => {
            Some(&["challenge:write", "bot:play", "board:play"])
        }
    }
}

/// Charges the rate limits of an endpoint before the request is handled.
pub(super) fn charge(
    sim: &Sim,
    route: &Route<'_>,
    request: &ApiRequest<'_>,
    caller: Option<&Caller>,
) -> Result<(), ApiError> {
    let now = sim.time().now();
    let charge = |limits: &[Limit], subject: &str, cost| {
        let mut state = sim.state();
        state.limits.charge_all(limits, subject, cost, now)
    };
    let address = &request.address;
    match (route, caller) {
        (Route::Account, Some(me)) => charge(&[ACCOUNT_READS], me.user.as_str(), 1)?,
        (Route::Events, Some(me)) => charge(&[EVENT_STREAMS], &me.token, 1)?,
        (Route::TokenTest, _) => charge(&[TOKEN_TESTS], address, request.item_count())?,
        (Route::User(_), _) => charge(&PROFILE_READS, address, 1)?,
        (Route::Personal(PersonalRoute::SetRelation(RelationChange::Follow, _)), Some(me)) => {
            charge(&[FOLLOWS], me.user.as_str(), 1)?;
        }
        (Route::Public(PublicRoute::Crosstable(..)), _) => charge(&[CROSSTABLES], address, 1)?,
        (Route::Public(PublicRoute::CloudEval), _) => charge(&[CLOUD_EVALS], address, 1)?,
        (Route::Public(PublicRoute::Users), _) => {
            charge(&PROFILE_READS, address, request.item_count().div_ceil(4))?
        }
        _ => {}
    }
    Ok(())
}

/// Takes a permit if the endpoint limits concurrent requests. The request counts as running until the permit is
/// dropped.
pub(super) fn acquire(
    sim: &Sim,
    route: &Route<'_>,
    request: &ApiRequest<'_>,
) -> Result<Option<Permit>, ApiError> {
    let limit = match route {
        Route::Public(PublicRoute::GamesOf(_) | PublicRoute::GamesByIds) => GAME_EXPORTS,
        // Spectator streams take their permits in their handlers.
        _ => return Ok(None),
    };
    sim.state()
        .limits
        .acquire(limit, &request.address)
        .map(Some)
}

/// Handles a request. `caller` is set whenever the endpoint needs a token.
pub(crate) async fn handle(
    sim: &Sim,
    route: &Route<'_>,
    request: &ApiRequest<'_>,
    caller: Option<&Caller>,
) -> ApiResult {
    match (route, caller) {
        (Route::Ping, _) => Ok(Reply::Text {
            kind: "text/plain; charset=utf-8",
            text: "pong".to_owned(),
        }),
        (Route::TokenTest, _) => Ok(account::test_tokens(sim, request)),
        (Route::BotsOnline, _) => Ok(account::bots_online(sim, request)),
        (Route::UsersStatus, _) => account::users_status(sim, request),
        (Route::User(name), _) => account::user(sim, request, name),
        (Route::Export(id), _) => game::export(sim, request, id),
        (Route::Account, Some(me)) => account::account(sim, &me.user),
        (Route::Playing, Some(me)) => {
            let max = request.number("nb", 9, 50);
            let playing = sim.state().now_playing(&me.user, max, sim.time().now());
            Ok(Reply::json(&playing))
        }
        (Route::Upgrade, Some(me)) => account::upgrade(sim, &me.user),
        (Route::Events, Some(me)) => {
            let now = sim.time().now();
            let feed = sim.state().open_event_stream(&me.token, &me.user, now);
            let user = me.user.clone();
            Ok(Reply::Stream {
                topic: Topic::Events { user },
                feed,
            })
        }
        (Route::Game(api, id, action), Some(me)) => {
            game::act(sim, request, me, *api, id, *action).await
        }
        (Route::ChallengeList, Some(me)) => {
            let list = sim.state().list_challenges(&me.user, sim.time().now());
            Ok(Reply::json(&list))
        }
        (Route::ChallengeCreate(name), Some(me)) => challenge::create(sim, request, &me.user, name),
        (Route::Challenge(id, action), Some(me)) => {
            challenge::act(sim, request, &me.user, *id, *action)
        }
        (Route::PlayEngine, Some(me)) => clocks::play_engine(sim, request, &me.user),
        (Route::OpenChallenge, _) => challenge::open(sim, request),
        (Route::StartClocks(id), _) => clocks::start_clocks(sim, request, *id),
        (Route::AddTime(id, seconds), Some(me)) => clocks::add_time(sim, &me.user, *id, *seconds),
        (Route::Public(route), _) => public::handle(sim, request, *route),
        (Route::Personal(route), Some(me)) => personal::handle(sim, request, me, *route),
        (Route::Tournament(route), me) => {
            tournament::handle(sim, request, me.map(|me| &me.user), *route)
        }
        (Route::Unknown, _) | (_, None) => Err(ApiError::unknown_path()),
    }
}
