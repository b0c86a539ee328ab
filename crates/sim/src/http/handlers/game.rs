//! Handlers for one game: the players' actions and the export.

use std::time::Duration;

use super::public::game_reply;
use super::{ApiRequest, ApiResult, NDJSON, Reply};
use crate::Sim;
use crate::http::auth::Caller;
use crate::http::error::{ApiError, INVALID, REQUIRED};
use crate::http::params::{Params, is_yes};
use crate::http::route::{Api, GameAction};
use crate::http::stream::Topic;
use crate::quirks::ChatLog;
use crate::round::Source;
use crate::round::chat::Room;
use crate::site::id::GameId;
use crate::site::state::SiteState;
use crate::site::users::AccountKind;
use crate::wire;

/// Delay before a claim is evaluated.
const CLAIM_DELAY: Duration = Duration::from_millis(500);
/// Delay of a move against the AI.
const ENGINE_MOVE_DELAY: Duration = Duration::from_millis(500);
/// Maximum length of a chat line, in characters.
const MAX_CHAT_CHARS: usize = 140;

pub(super) fn export(sim: &Sim, request: &ApiRequest<'_>, id: &str) -> ApiResult {
    let state = sim.state();
    let round = GameId::parse_any(id)
        .and_then(|id| state.rounds.get(&id))
        .ok_or_else(ApiError::not_found)?;
    Ok(game_reply(round, request, &state.base_url))
}

pub(super) async fn act(
    sim: &Sim,
    request: &ApiRequest<'_>,
    me: &Caller,
    api: Api,
    id: &str,
    action: GameAction<'_>,
) -> ApiResult {
    let (id, color, is_ai_move) = {
        let state = sim.state();
        let is_bot = state.user(&me.user).bot;
        if api == Api::Board && is_bot {
            return Err(ApiError::not_for_bots());
        }
        let (round, color) = state.player_of(&me.user, GameId::parse_any(id))?;
        // Players in a browser, with or without an account, are not restricted to the speeds of boards.
        let is_board =
            round.side(color).account_kind == AccountKind::User && !state.user(&me.user).browser;
        match api {
            Api::Bot if !is_bot => {
                return Err(ApiError::bad_request(
                    "This endpoint can only be used with a Bot account. See \
                     https://lichess.org/api#operation/botAccountUpgrade",
                ));
            }
            Api::Bot if !round.allows_bots() => {
                return Err(ApiError::bad_request(
                    "This game cannot be played with the Bot API.",
                ));
            }
            Api::Board if !round.allows_boards() && is_board => {
                return Err(ApiError::bad_request(
                    "This game cannot be played with the Board API.",
                ));
            }
            Api::Bot | Api::Board => {
                let is_move = matches!(action, GameAction::Move(_));
                (round.id, color, is_move && round.source == Source::Ai)
            }
        }
    };
    if is_ai_move {
        sim.time().sleep(ENGINE_MOVE_DELAY).await;
    }
    let now = sim.time().now();
    let mut state = sim.state();
    match action {
        GameAction::Stream => {
            let (feed, color) = state.open_game_stream(&me.user, id, &me.user_agent, now)?;
            let user = me.user.clone();
            return Ok(Reply::Stream {
                topic: Topic::Game { user, id, color },
                feed,
            });
        }
        GameAction::Move(uci) => {
            let offering = request.params.is_true("offeringDraw");
            state.with_referee(id, |referee| referee.play(color, uci, offering, now), now)?;
        }
        GameAction::Say => {
            let (room, text) = chat_form(&request.params)?;
            state.say(&me.user, id, room, &text);
        }
        GameAction::ChatLog => return Ok(chat_log(&state, id)),
        GameAction::Abort => state.with_referee(id, |referee| referee.abort(now), now)?,
        GameAction::Resign => state.with_referee(id, |referee| referee.resign(color, now), now)?,
        GameAction::Draw(answer) => {
            state.with_referee(id, |referee| referee.draw(color, is_yes(answer), now), now)?;
        }
        GameAction::Takeback(answer) => {
            let yes = is_yes(answer);
            state.with_referee(id, |referee| referee.takeback(color, yes, now), now)?;
        }
        GameAction::ClaimVictory | GameAction::ClaimDraw => {
            drop(state);
            return claim(sim, me, id, action == GameAction::ClaimVictory).await;
        }
        GameAction::Berserk if state.berserk(&me.user, id, now) => {}
        GameAction::Berserk => return Err(ApiError::bad_request("Cannot berserk")),
        GameAction::Unknown => return Err(ApiError::new(404, "No such command")),
    }
    Ok(Reply::ok())
}

/// Claims the win or a draw because the opponent left. A claim that is impossible by the rules is refused at once, any
/// other is answered after a delay.
pub(super) async fn claim(sim: &Sim, me: &Caller, id: GameId, victory: bool) -> ApiResult {
    let now = sim.time().now();
    let (verdict, waits) = {
        let mut state = sim.state();
        let (round, color) = state.player_of(&me.user, Some(id))?;
        let gone = round.is_gone(!color, now);
        let waits = if victory {
            round.referee.allows_claims() && round.referee.turn() != color
        } else {
            round.referee.is_drawable()
        };
        let verdict = state.with_referee(
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
        sim.time().sleep(CLAIM_DELAY).await;
    }
    verdict?;
    Ok(Reply::ok())
}

fn chat_log(state: &SiteState, id: GameId) -> Reply {
    let entries = state.chat_log(id, Room::Player);
    match state.quirks.chat_log {
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

pub(super) fn chat_form(params: &Params) -> Result<(Room, String), ApiError> {
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
    } else if text.chars().count() > MAX_CHAT_CHARS {
        errors.push(("text", format!("Maximum length is {MAX_CHAT_CHARS}")));
    }
    if errors.is_empty() {
        Ok((room, text.to_owned()))
    } else {
        Err(ApiError::invalid_form(&errors))
    }
}
