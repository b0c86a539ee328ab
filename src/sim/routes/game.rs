//! Calls about one game: what its players do in it, and how it is read afterwards.

use std::time::Duration;

use super::lookup::one_game;
use super::{Answer, Asked, NDJSON, Reply};
use crate::sim::Sim;
use crate::sim::auth::Caller;
use crate::sim::body::{Params, is_yes};
use crate::sim::call::{Api, GameCall};
use crate::sim::chat::Room;
use crate::sim::failure::{Failure, INVALID, REQUIRED};
use crate::sim::id::GameId;
use crate::sim::quirks::ChatLog;
use crate::sim::round::Source;
use crate::sim::stream::Topic;
use crate::sim::users::Face;
use crate::sim::wire;
use crate::sim::world::World;

/// A claim is looked at after this.
const CLAIM_WAIT: Duration = Duration::from_millis(500);
/// A move against the site's engine is played after this.
const ENGINE_WAIT: Duration = Duration::from_millis(500);
/// Longest chat line, in characters.
const CHAT_LENGTH: usize = 140;

pub(super) fn exported(sim: &Sim, asked: &Asked<'_>, id: &str) -> Answer {
    let world = sim.world();
    let round = GameId::parse_any(id)
        .and_then(|id| world.rounds.get(&id))
        .ok_or_else(Failure::not_found)?;
    Ok(one_game(round, asked, &world.base))
}

pub(super) async fn in_game(
    sim: &Sim,
    asked: &Asked<'_>,
    me: &Caller,
    api: Api,
    id: &str,
    call: GameCall<'_>,
) -> Answer {
    let (id, color, waits) = {
        let world = sim.world();
        let is_bot = world.user(&me.user).bot;
        if api == Api::Board && is_bot {
            return Err(Failure::not_for_bots());
        }
        let (round, color) = world.player_of(&me.user, GameId::parse_any(id))?;
        // A browser is no board, be it a visitor's or that of somebody with an account, and plays at any speed.
        let is_board = round.side(color).face == Face::User && !world.user(&me.user).browser;
        match api {
            Api::Bot if !is_bot => {
                return Err(Failure::bad(
                    "This endpoint can only be used with a Bot account. See \
                     https://lichess.org/api#operation/botAccountUpgrade",
                ));
            }
            Api::Bot if !round.suits_bots() => {
                return Err(Failure::bad("This game cannot be played with the Bot API."));
            }
            Api::Board if !round.suits_boards() && is_board => {
                return Err(Failure::bad(
                    "This game cannot be played with the Board API.",
                ));
            }
            Api::Bot | Api::Board => {
                let is_move = matches!(call, GameCall::Move(_));
                (round.id, color, is_move && round.source == Source::Ai)
            }
        }
    };
    if waits {
        sim.time().sleep(ENGINE_WAIT).await;
    }
    let now = sim.time().now();
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
        GameCall::ChatLog => return Ok(chat_log(&world, id)),
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
        GameCall::Berserk if world.berserk(&me.user, id, now) => {}
        GameCall::Berserk => return Err(Failure::bad("Cannot berserk")),
        GameCall::Unknown => return Err(Failure::new(404, "No such command")),
    }
    Ok(Reply::ok())
}

/// Claims win or draw because the opponent left. What cannot be claimed at all is answered at once, the rest later.
pub(super) async fn claim(sim: &Sim, me: &Caller, id: GameId, victory: bool) -> Answer {
    let now = sim.time().now();
    let (verdict, waits) = {
        let mut world = sim.world();
        let (round, color) = world.player_of(&me.user, Some(id))?;
        let gone = round.is_gone(!color, now);
        let waits = if victory {
            round.referee.allows_claims() && round.referee.turn() != color
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

fn chat_log(world: &World, id: GameId) -> Reply {
    let entries = world.chat_log(id, Room::Player);
    match world.quirks.chat_log {
        ChatLog::Array => Reply::json(&entries),
        ChatLog::Ndjson => Reply::Text {
            kind: NDJSON,
            text: entries
                .iter()
                .map(|entry| wire::json(entry) + "\n")
                .collect(),
        },
    }
}

pub(super) fn chat_form(params: &Params) -> Result<(Room, String), Failure> {
    let mut errors = Vec::new();
    let room = match params.get("room") {
        Some("player") => Room::Player,
        Some("spectator") => Room::Spectator,
        Some(_) => {
            errors.push(("room", INVALID.to_owned()));
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
