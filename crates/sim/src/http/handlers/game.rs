//! Handlers for the players of a game.

use std::time::Duration;

use axum::http::StatusCode;

use crate::http::params::{Params, is_yes};
use crate::http::request::{ApiRequest, ApiResult, OK, Reply};
use crate::http::route::{Route, Scopes, routes};
use crate::quirks::ChatLog;
use crate::referee::{ActionOutcome, GameError, Referee};
use crate::round::Round;
use crate::round::chat::Room;
use crate::round::setup::Source;
use crate::site::error::{INVALID, REQUIRED};
use crate::site::{AccountKind, ApiError, SimTime, SiteState, Topic};
use crate::view::game;
use crate::wire;
use knightwatch_chess::Color;

/// Path of the API for humans; bots have one of their own.
const BOARD_API: &str = "/api/board/game";
/// Delay before a claim is evaluated.
const CLAIM_DELAY: Duration = Duration::from_millis(500);
/// Delay of a move against the AI.
const ENGINE_MOVE_DELAY: Duration = Duration::from_millis(500);
/// Maximum length of a chat line, in UTF-16 code units.
const MAX_CHAT_UNITS: usize = 140;

pub(super) fn routes() -> Vec<Route> {
    let mut routes = actions("/api/bot/game", Some(&["bot:play"]));
    routes.extend(actions(BOARD_API, Some(&["board:play"])));
    routes
}

fn actions(prefix: &str, scopes: Scopes) -> Vec<Route> {
    let mut routes = routes! {
        GET "/stream/{game}" GameStream, scopes => stream;
        GET "/{game}/chat" ChatLog, scopes => chat_log;
        POST "/{game}/chat" Chat, scopes => say;
        POST "/{game}/move/{uci}" Move, scopes => play;
        POST "/{game}/abort" Abort, scopes => |request| act(request, |referee, _, now| referee.abort(now));
        POST "/{game}/resign" Resign, scopes => |request| act(request, Referee::resign);
        POST "/{game}/draw/{answer}" Draw, scopes => draw;
        POST "/{game}/takeback/{answer}" Takeback, scopes => takeback;
        POST "/{game}/claim-victory" ClaimVictory, scopes => |request| claim(request, true);
        POST "/{game}/claim-draw" ClaimDraw, scopes => |request| claim(request, false);
        POST "/{game}/berserk" Berserk, scopes => berserk;
        POST "/{game}" Other, scopes => unknown_action;
        POST "/stream/{game}" Other, scopes => unknown_action;
        POST "/{game}/{*rest}" Other, scopes => unknown_action;
    };
    for route in &mut routes {
        route.path.insert_str(0, prefix);
    }
    routes
}

/// Checks that the caller plays the game and may use this API in it. Returns the game and the caller's side.
fn player<'a>(
    request: &ApiRequest<'_>,
    state: &'a SiteState,
) -> Result<(&'a Round, Color), ApiError> {
    let me = request.me()?;
    let user = state.users.get(me);
    let board_api = request.path.starts_with(BOARD_API);
    if board_api && user.bot {
        return Err(ApiError::not_for_bots());
    }
    let (round, color) = state.rounds.player(me, request.game)?;
    // Players in a browser, with or without an account, are not restricted to the speeds of boards.
    let is_board = round.side(color).account_kind == AccountKind::User && !user.browser;
    let refusal = if board_api {
        (!round.allows_boards() && is_board)
            .then_some("This game cannot be played with the Board API.")
    } else if !user.bot {
        Some(
            "This endpoint can only be used with a Bot account. See \
             https://lichess.org/api#operation/botAccountUpgrade",
        )
    } else {
        (!round.allows_bots()).then_some("This game cannot be played with the Bot API.")
    };
    match refusal {
        Some(text) => Err(ApiError::bad_request(text)),
        None => Ok((round, color)),
    }
}

fn act(
    request: &ApiRequest<'_>,
    command: impl FnOnce(&mut Referee, Color, SimTime) -> ActionOutcome,
) -> ApiResult {
    let now = request.now();
    let mut state = request.state();
    let (round, color) = player(request, &state)?;
    let id = round.id;
    state.act(id, |referee| command(referee, color, now), now)?;
    Ok(Reply::ok())
}

fn stream(request: &ApiRequest<'_>) -> ApiResult {
    if request.is_head {
        return Ok(Reply::unopened_stream());
    }
    let me = request.caller()?;
    let now = request.now();
    let mut state = request.state();
    let id = player(request, &state)?.0.id;
    let (feed, color) = state.open_game_stream(&me.user, id, &me.user_agent, now)?;
    let user = me.user.clone();
    Ok(Reply::Stream {
        topic: Topic::Game { user, id, color },
        feed,
    })
}

fn draw(request: &ApiRequest<'_>) -> ApiResult {
    let yes = is_yes(request.arg(1));
    act(request, |referee, color, now| referee.draw(color, yes, now))
}

fn takeback(request: &ApiRequest<'_>) -> ApiResult {
    let yes = is_yes(request.arg(1));
    act(request, |referee, color, now| {
        referee.takeback(color, yes, now)
    })
}

fn play(request: &ApiRequest<'_>) -> ApiResult {
    let (id, color, is_ai_game) = {
        let state = request.state();
        let (round, color) = player(request, &state)?;
        (round.id, color, round.source == Source::Ai)
    };
    let sim = request.sim.clone();
    let uci = request.arg(1).to_owned();
    let offering = request.params.is_true("offeringDraw");
    let play = move || {
        let now = sim.time().now();
        let mut state = sim.state();
        state.act(id, |referee| referee.play(color, &uci, offering, now), now)
    };
    if is_ai_game {
        return Ok(after(request, ENGINE_MOVE_DELAY, play));
    }
    play()?;
    Ok(Reply::ok())
}

/// The result of a command that is executed after a delay, even if the client disconnects before.
fn after(
    request: &ApiRequest<'_>,
    delay: Duration,
    command: impl FnOnce() -> Result<(), GameError> + Send + 'static,
) -> Reply {
    let sim = request.sim.clone();
    let done = tokio::spawn(async move {
        sim.time().sleep(delay).await;
        command()
    });
    Reply::later(move |_| async move {
        done.await.map_err(|_| ApiError::proxy(502))??;
        Ok((StatusCode::OK, OK.to_owned()))
    })
}

/// Claims the win or a draw because the opponent left. A claim that is impossible by the rules is refused at once, any
/// other is answered after a delay.
fn claim(request: &ApiRequest<'_>, victory: bool) -> ApiResult {
    let now = request.now();
    let mut state = request.state();
    let (round, color) = player(request, &state)?;
    let id = round.id;
    let opponent_gone = round.is_gone(!color, now);
    let waits = if victory {
        round.referee.allows_claims() && round.referee.turn() != color
    } else {
        round.referee.is_drawable()
    };
    let verdict = state.act(
        id,
        |referee| {
            if victory {
                referee.claim_victory(color, opponent_gone, now)
            } else {
                referee.claim_draw(color, opponent_gone, now)
            }
        },
        now,
    );
    if waits {
        return Ok(after(request, CLAIM_DELAY, || verdict));
    }
    verdict?;
    Ok(Reply::ok())
}

fn berserk(request: &ApiRequest<'_>) -> ApiResult {
    let now = request.now();
    let mut state = request.state();
    let id = player(request, &state)?.0.id;
    if !state.berserk(request.me()?, id, now) {
        return Err(ApiError::bad_request("Cannot berserk"));
    }
    Ok(Reply::ok())
}

fn unknown_action(request: &ApiRequest<'_>) -> ApiResult {
    player(request, &request.state())?;
    Err(ApiError::new(404, "No such command"))
}

fn say(request: &ApiRequest<'_>) -> ApiResult {
    let mut state = request.state();
    let id = player(request, &state)?.0.id;
    let (room, text) = chat_form(&request.params)?;
    state.say(request.me()?, id, room, &text);
    Ok(Reply::ok())
}

fn chat_log(request: &ApiRequest<'_>) -> ApiResult {
    let state = request.state();
    let entries = game::chat_log(player(request, &state)?.0, Room::Player);
    Ok(match state.quirks.chat_log {
        ChatLog::Array => Reply::json(&entries),
        ChatLog::Ndjson => Reply::lines(entries.iter().map(wire::json)),
    })
}

fn chat_form(params: &Params) -> Result<(Room, String), ApiError> {
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
    } else if text.encode_utf16().count() > MAX_CHAT_UNITS {
        errors.push(("text", format!("Maximum length is {MAX_CHAT_UNITS}")));
    }
    if errors.is_empty() {
        Ok((room, text.to_owned()))
    } else {
        Err(ApiError::invalid_form(errors))
    }
}
