//! What each call does. Checks come in the order in which the site makes them.

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

use crate::sim::Sim;
use crate::sim::http::auth::Caller;
use crate::sim::http::error::Failure;
use crate::sim::http::limits::{
    ACCOUNT, CLOUD_EVALS, CROSSTABLES, DOWNLOADS, EVENT_STREAMS, FOLLOWS, Limit, Pass, TOKENS,
    USERS,
};
use crate::sim::http::params::Params;
use crate::sim::http::route::personal::{Personal, Tie};
use crate::sim::http::route::public::Lookup;
use crate::sim::http::route::{Api, Call, ChallengeCall};
use crate::sim::http::stream::{Feed, Topic};
use crate::sim::site::id::UserId;
use crate::sim::site::state::World;
use crate::sim::wire;

const OK: &str = "{\"ok\":true}";
const NDJSON: &str = "application/x-ndjson";

/// A request beyond its address.
pub(super) struct Asked<'a> {
    pub headers: &'a HeaderMap,
    pub params: Params,
    pub body: &'a [u8],
    /// Where the request comes from.
    pub address: String,
}

impl Asked<'_> {
    /// The ids of a list in the body.
    fn ids(&self, most: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(self.body);
        let ids = text.split(',').map(|id| id.trim().to_owned());
        ids.filter(|id| !id.is_empty()).take(most).collect()
    }

    /// How many items the list in the body has, at least one.
    fn listed(&self) -> u32 {
        let commas = self.body.iter().filter(|byte| **byte == b',').count();
        u32::try_from(commas).map_or(u32::MAX, |commas| commas + 1)
    }

    /// Whether the answer is wanted in this form.
    fn accepts(&self, kind: &str) -> bool {
        let accept = self
            .headers
            .get(ACCEPT)
            .and_then(|value| value.to_str().ok());
        accept.is_some_and(|accept| accept.starts_with(kind))
    }

    /// Who asks, where a token is welcome and none needed; a bad one is as good as none.
    fn visitor(&self, world: &World) -> Option<UserId> {
        let caller = world.authorize(self.headers, &[]).ok()?;
        Some(caller.user)
    }

    fn number(&self, name: &str, default: usize, most: usize) -> usize {
        let asked = self.params.get(name).and_then(|text| text.parse().ok());
        asked.unwrap_or(default).clamp(1, most)
    }
}

/// A good answer.
pub(super) enum Reply {
    Json(String),
    /// 201
    Created(String),
    /// 204
    Nothing,
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

    /// One line for each.
    fn lines(lines: impl IntoIterator<Item = String>) -> Self {
        Self::Text {
            kind: NDJSON,
            text: lines.into_iter().map(|line| line + "\n").collect(),
        }
    }
}

type Answer = Result<Reply, Failure>;

/// The scopes of which a token needs one; an empty list: any token; `None`: no token.
pub(super) fn accepted_scopes(call: &Call<'_>) -> Option<&'static [&'static str]> {
    match call {
        Call::Ping
        | Call::TokenTest
        | Call::BotsOnline
        | Call::UsersStatus
        | Call::User(_)
        | Call::Export(_)
        | Call::Unknown => None,
        Call::Lookup(call) => call.scopes(),
        Call::Personal(call) => Some(call.scopes()),
        Call::Gathering(call) => call.scopes(),
        Call::Account | Call::Playing => Some(&[]),
        Call::Upgrade | Call::Game(Api::Bot, ..) => Some(&["bot:play"]),
        Call::Game(Api::Board, ..) => Some(&["board:play"]),
        Call::Events => Some(&["bot:play", "board:play", "challenge:read"]),
        Call::ChallengeList | Call::Challenge(_, ChallengeCall::Show) => Some(&["challenge:read"]),
        Call::AddTime(..) => Some(&["challenge:write"]),
        // Their tokens are no condition, or parameters.
        Call::OpenChallenge | Call::StartClocks(_) => None,
        Call::ChallengeCreate(_) | Call::PlayEngine | Call::Challenge(..) => {
            Some(&["challenge:write", "bot:play", "board:play"])
        }
    }
}

/// What a call costs, of which limits, and whom: before anything of it is done.
pub(super) fn charge(
    sim: &Sim,
    call: &Call<'_>,
    asked: &Asked<'_>,
    caller: Option<&Caller>,
) -> Result<(), Failure> {
    let now = sim.time().now();
    let charge = |limits: &[Limit], subject: &str, cost| {
        let mut world = sim.world();
        world.limits.charge_all(limits, subject, cost, now)
    };
    let from = &asked.address;
    match (call, caller) {
        (Call::Account, Some(me)) => charge(&[ACCOUNT], me.user.as_str(), 1)?,
        (Call::Events, Some(me)) => charge(&[EVENT_STREAMS], &me.token, 1)?,
        (Call::TokenTest, _) => charge(&[TOKENS], from, asked.listed())?,
        (Call::User(_), _) => charge(&USERS, from, 1)?,
        (Call::Personal(Personal::Relate(Tie::Follow, _)), Some(me)) => {
            charge(&[FOLLOWS], me.user.as_str(), 1)?;
        }
        (Call::Lookup(Lookup::Crosstable(..)), _) => charge(&[CROSSTABLES], from, 1)?,
        (Call::Lookup(Lookup::CloudEval), _) => charge(&[CLOUD_EVALS], from, 1)?,
        (Call::Lookup(Lookup::Users), _) => charge(&USERS, from, asked.listed().div_ceil(4))?,
        _ => {}
    }
    Ok(())
}

/// Lets a call in of which only so many may run at once; it is over when what this gives is dropped.
pub(super) fn enter(
    sim: &Sim,
    call: &Call<'_>,
    asked: &Asked<'_>,
) -> Result<Option<Pass>, Failure> {
    let crowd = match call {
        Call::Lookup(Lookup::GamesOf(_) | Lookup::GamesByIds) => DOWNLOADS,
        // Those who watch are let in where they take their seats.
        _ => return Ok(None),
    };
    sim.world().limits.enter(crowd, &asked.address).map(Some)
}

/// Answers a call. `caller` is there whenever the call needs a token.
pub(super) async fn answer(
    sim: &Sim,
    call: &Call<'_>,
    asked: &Asked<'_>,
    caller: Option<&Caller>,
) -> Answer {
    match (call, caller) {
        (Call::Ping, _) => Ok(Reply::Text {
            kind: "text/plain; charset=utf-8",
            text: "pong".to_owned(),
        }),
        (Call::TokenTest, _) => Ok(account::test_tokens(sim, asked)),
        (Call::BotsOnline, _) => Ok(account::bots_online(sim, asked)),
        (Call::UsersStatus, _) => account::users_status(sim, asked),
        (Call::User(name), _) => account::user(sim, asked, name),
        (Call::Export(id), _) => game::exported(sim, asked, id),
        (Call::Account, Some(me)) => account::account(sim, &me.user),
        (Call::Playing, Some(me)) => {
            let most = asked.number("nb", 9, 50);
            let playing = sim.world().now_playing(&me.user, most, sim.time().now());
            Ok(Reply::json(&playing))
        }
        (Call::Upgrade, Some(me)) => account::upgrade(sim, &me.user),
        (Call::Events, Some(me)) => {
            let now = sim.time().now();
            let feed = sim.world().open_events(&me.token, &me.user, now);
            let user = me.user.clone();
            Ok(Reply::Stream {
                topic: Topic::Events { user },
                feed,
            })
        }
        (Call::Game(api, id, call), Some(me)) => {
            game::in_game(sim, asked, me, *api, id, *call).await
        }
        (Call::ChallengeList, Some(me)) => {
            let list = sim.world().list_challenges(&me.user, sim.time().now());
            Ok(Reply::json(&list))
        }
        (Call::ChallengeCreate(name), Some(me)) => challenge::create(sim, asked, &me.user, name),
        (Call::Challenge(id, call), Some(me)) => challenge::about(sim, asked, &me.user, *id, *call),
        (Call::PlayEngine, Some(me)) => clocks::play_engine(sim, asked, &me.user),
        (Call::OpenChallenge, _) => challenge::open(sim, asked),
        (Call::StartClocks(id), _) => clocks::start_clocks(sim, asked, *id),
        (Call::AddTime(id, seconds), Some(me)) => clocks::add_time(sim, &me.user, *id, *seconds),
        (Call::Lookup(call), _) => public::look_up(sim, asked, *call),
        (Call::Personal(call), Some(me)) => personal::about_me(sim, asked, me, *call),
        (Call::Gathering(call), me) => tournament::gather(sim, asked, me.map(|me| &me.user), *call),
        (Call::Unknown, _) | (_, None) => Err(Failure::no_page()),
    }
}
