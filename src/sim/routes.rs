//! What each call does. Checks come in the order in which the site makes them.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use super::Sim;
use super::auth::Caller;
use super::body::{Params, is_yes};
use super::call::{Call, ChallengeCall, GameCall};
use super::challenge::DeclineReason;
use super::chat::Room;
use super::export;
use super::failure::Failure;
use super::form;
use super::id::{GameId, UserId};
use super::stream::{Feed, Topic};
use super::wire::{self, Ordered, Relation, TokenInfo};

const OK: &str = "{\"ok\":true}";
const NDJSON: &str = "application/x-ndjson";
/// A claim is looked at after this.
const CLAIM_WAIT: Duration = Duration::from_millis(500);
/// Longest chat line, in characters.
const CHAT_LENGTH: usize = 140;

/// A request beyond its address.
pub(super) struct Asked<'a> {
    pub headers: &'a HeaderMap,
    pub params: Params,
    pub body: &'a [u8],
}

impl Asked<'_> {
    fn number(&self, name: &str, default: usize, most: usize) -> usize {
        let asked = self.params.get(name).and_then(|text| text.parse().ok());
        asked.unwrap_or(default).clamp(1, most)
    }
}

/// A good answer.
pub(super) enum Reply {
    Json(String),
    Text { kind: &'static str, text: String },
    Stream { topic: Topic, feed: Feed },
}

impl Reply {
    fn ok() -> Self {
        Self::Json(OK.to_owned())
    }

    fn json(value: &impl serde::Serialize) -> Self {
        Self::Json(wire::json(value))
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
        Call::Account | Call::Playing => Some(&[]),
        Call::Upgrade | Call::Game(..) => Some(&["bot:play"]),
        Call::Events => Some(&["bot:play", "board:play", "challenge:read"]),
        Call::ChallengeList | Call::Challenge(_, ChallengeCall::Show) => Some(&["challenge:read"]),
        Call::ChallengeCreate(_) | Call::Challenge(..) => {
            Some(&["challenge:write", "bot:play", "board:play"])
        }
    }
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
        (Call::TokenTest, _) => Ok(test_tokens(sim, asked)),
        (Call::BotsOnline, _) => Ok(bots_online(sim, asked)),
        (Call::UsersStatus, _) => users_status(sim, asked),
        (Call::User(name), _) => user(sim, asked, name),
        (Call::Export(id), _) => export_game(sim, asked, id),
        (Call::Account, Some(me)) => Ok(account(sim, &me.user)),
        (Call::Playing, Some(me)) => {
            let most = asked.number("nb", 9, 50);
            let playing = sim.world().now_playing(&me.user, most, sim.time().now());
            Ok(Reply::json(&playing))
        }
        (Call::Upgrade, Some(me)) => upgrade(sim, &me.user),
        (Call::Events, Some(me)) => {
            let now = sim.time().now();
            let feed = sim.world().open_events(&me.token, &me.user, now);
            let user = me.user.clone();
            Ok(Reply::Stream {
                topic: Topic::Events { user },
                feed,
            })
        }
        (Call::Game(id, call), Some(me)) => in_game(sim, asked, me, id, *call).await,
        (Call::ChallengeList, Some(me)) => {
            let list = sim.world().list_challenges(&me.user, sim.time().now());
            Ok(Reply::json(&list))
        }
        (Call::ChallengeCreate(name), Some(me)) => challenge(sim, asked, &me.user, name),
        (Call::Challenge(id, call), Some(me)) => about_challenge(sim, asked, &me.user, *id, *call),
        (Call::Unknown, _) | (_, None) => Err(Failure::no_page()),
    }
}

fn test_tokens(sim: &Sim, asked: &Asked<'_>) -> Reply {
    let text = String::from_utf8_lossy(asked.body);
    let world = sim.world();
    let tokens = text.trim().split(',').filter(|token| !token.is_empty());
    let known = tokens.take(1_000).map(|token| {
        let info = world.grant(token).map(|grant| TokenInfo {
            user_id: grant.user.to_string(),
            scopes: grant.scopes.join(","),
            expires: None,
        });
        (token.to_owned(), info)
    });
    Reply::json(&Ordered(known.collect()))
}

fn bots_online(sim: &Sim, asked: &Asked<'_>) -> Reply {
    let now = sim.time().now();
    let world = sim.world();
    let bots = world.users.values().filter(|user| user.is_listed(now));
    let lines = bots
        .take(asked.number("nb", 100, 512))
        .map(|user| wire::json(&user.json()) + "\n");
    Reply::Text {
        kind: NDJSON,
        text: lines.collect(),
    }
}

fn users_status(sim: &Sim, asked: &Asked<'_>) -> Answer {
    let ids = asked.params.get("ids").unwrap_or_default();
    let ids: Vec<&str> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .collect();
    if ids.is_empty() {
        return Err(Failure::bad("No user ids provided"));
    }
    let now = sim.time().now();
    let world = sim.world();
    let with = |name| asked.params.is_true(name);
    let statuses: Vec<_> = ids
        .into_iter()
        .take(100)
        .filter_map(|id| world.user_by_name(id))
        .map(|user| user.status(now, with("withSignal"), with("withGameIds")))
        .collect();
    Ok(Reply::json(&statuses))
}

fn user(sim: &Sim, asked: &Asked<'_>, name: &str) -> Answer {
    let world = sim.world();
    let user = world.find_user(name)?;
    // Who shows a token is told how he stands to this user; a bad one is as good as none.
    let relation = world.authorize(asked.headers, &[]).ok().map(|_| Relation {
        followable: true,
        following: false,
        blocking: false,
    });
    Ok(Reply::json(&world.profile(user, relation)))
}

fn account(sim: &Sim, me: &UserId) -> Reply {
    let world = sim.world();
    let relation = Relation {
        followable: true,
        following: false,
        blocking: false,
    };
    Reply::json(&world.profile(world.user(me), Some(relation)))
}

fn upgrade(sim: &Sim, me: &UserId) -> Answer {
    let mut world = sim.world();
    let user = world.user_mut(me);
    if user.tally.all > 0 || !user.playing.is_empty() {
        return Err(Failure::bad(
            "You already have games played. Make a new account.",
        ));
    }
    user.become_bot();
    Ok(Reply::ok())
}

fn export_game(sim: &Sim, asked: &Asked<'_>, id: &str) -> Answer {
    let world = sim.world();
    let round = GameId::parse_any(id)
        .and_then(|id| world.rounds.get(&id))
        .ok_or_else(Failure::not_found)?;
    let accept = asked
        .headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.starts_with("application/json")) {
        return Ok(Reply::json(&export::game_json(round, &asked.params)));
    }
    Ok(Reply::Text {
        kind: "application/x-chess-pgn",
        text: export::pgn(round, &asked.params, &world.base),
    })
}

async fn in_game(
    sim: &Sim,
    asked: &Asked<'_>,
    me: &Caller,
    id: &str,
    call: GameCall<'_>,
) -> Answer {
    let now = sim.time().now();
    let (id, color) = {
        let world = sim.world();
        let (round, color) = world.player_of(&me.user, GameId::parse_any(id))?;
        if !world.user(&me.user).bot {
            return Err(Failure::bad(
                "This endpoint can only be used with a Bot account. See \
                 https://lichess.org/api#operation/botAccountUpgrade",
            ));
        }
        if !round.suits_bots() {
            return Err(Failure::bad("This game cannot be played with the Bot API."));
        }
        (round.id, color)
    };
    let mut world = sim.world();
    match call {
        GameCall::Stream => {
            let (feed, color) = world.open_game(&me.user, id, &me.user_agent, now)?;
            let user = me.user.clone();
            return Ok(Reply::Stream {
                topic: Topic::Game { user, id, color },
                feed,
            });
        }
        GameCall::Move(uci) => {
            let offering = asked.params.is_true("offeringDraw");
            world.rule(id, |referee| referee.play(color, uci, offering, now), now)?;
        }
        GameCall::Say => {
            let (room, text) = chat_form(&asked.params)?;
            world.say(&me.user, id, room, &text);
        }
        GameCall::ChatLog => return Ok(Reply::Json(world.chat_log(id))),
        GameCall::Abort => world.rule(id, |referee| referee.abort(now), now)?,
        GameCall::Resign => world.rule(id, |referee| referee.resign(color, now), now)?,
        GameCall::Draw(answer) => {
            world.rule(id, |referee| referee.draw(color, is_yes(answer), now), now)?;
        }
        GameCall::Takeback(answer) => {
            let yes = is_yes(answer);
            world.rule(id, |referee| referee.takeback(color, yes, now), now)?;
        }
        GameCall::ClaimVictory | GameCall::ClaimDraw => {
            drop(world);
            return claim(sim, me, id, call == GameCall::ClaimVictory).await;
        }
        GameCall::Berserk => return Err(Failure::bad("Cannot berserk")),
        GameCall::Unknown => return Err(Failure::new(404, "No such command")),
    }
    Ok(Reply::ok())
}

/// Claims win or draw because the opponent left. What cannot be claimed at all is answered at once, the rest later.
async fn claim(sim: &Sim, me: &Caller, id: GameId, victory: bool) -> Answer {
    let now = sim.time().now();
    let (verdict, waits) = {
        let mut world = sim.world();
        let (round, color) = world.player_of(&me.user, Some(id))?;
        let gone = round.is_gone(!color, now);
        let waits = if victory {
            round.referee.can_be_left() && round.referee.turn() != color
        } else {
            round.referee.is_drawable()
        };
        let verdict = world.rule(
            id,
            |referee| {
                if victory {
                    referee.claim_victory(color, gone, now)
                } else {
                    referee.claim_draw(color, gone, now)
                }
            },
            now,
        );
        (verdict, waits)
    };
    if waits {
        sim.time().sleep(CLAIM_WAIT).await;
    }
    verdict?;
    Ok(Reply::ok())
}

fn chat_form(params: &Params) -> Result<(Room, String), Failure> {
    const REQUIRED: &str = "This field is required";
    let mut errors = Vec::new();
    let room = match params.get("room") {
        Some("player") => Room::Player,
        Some("spectator") => Room::Spectator,
        Some(_) => {
            errors.push(("room", "Invalid value".to_owned()));
            Room::Player
        }
        None => {
            errors.push(("room", REQUIRED.to_owned()));
            Room::Player
        }
    };
    let text = params.get("text").map(str::trim).unwrap_or_default();
    if text.is_empty() {
        errors.push(("text", REQUIRED.to_owned()));
    } else if text.chars().count() > CHAT_LENGTH {
        errors.push(("text", format!("Maximum length is {CHAT_LENGTH}")));
    }
    if errors.is_empty() {
        Ok((room, text.to_owned()))
    } else {
        Err(Failure::form(&errors))
    }
}

fn challenge(sim: &Sim, asked: &Asked<'_>, me: &UserId, name: &str) -> Answer {
    let wanted = form::wanted(&asked.params)?;
    let now = sim.time().now();
    let mut world = sim.world();
    let (id, feed) = world.challenge(me, name, wanted, now)?;
    match feed {
        Some(feed) => Ok(Reply::Stream {
            topic: Topic::Challenge { id },
            feed,
        }),
        None => Ok(Reply::json(&world.show_challenge(me, id, now)?)),
    }
}

fn about_challenge(
    sim: &Sim,
    asked: &Asked<'_>,
    me: &UserId,
    id: GameId,
    call: ChallengeCall,
) -> Answer {
    let now = sim.time().now();
    let mut world = sim.world();
    match call {
        ChallengeCall::Show => return Ok(Reply::json(&world.show_challenge(me, id, now)?)),
        ChallengeCall::Accept => world.accept(me, id, now)?,
        ChallengeCall::Decline => {
            let reason = asked.params.get("reason").unwrap_or("generic");
            world.decline(me, id, DeclineReason::from_key(reason), now)?;
        }
        ChallengeCall::Cancel => {
            let token = asked.params.get("opponentToken");
            let opponent = token.map(|token| world.grant(token).map(|grant| grant.user.clone()));
            world.cancel(me, id, opponent, now)?;
        }
    }
    Ok(Reply::ok())
}
