//! Views of a challenge for its users.

use bytes::Bytes;

use knightwatch_chess::Position;

use crate::challenge::{Challenge, ChallengeStatus, ColorChoice};
use crate::site::{AccountKind, ApiError, GameId, SimTime, SiteState, Speed, UserId};
use crate::time_control::TimeControl;
use crate::wire::{self, Object, object};

/// Maximum number of challenges sent to a new event stream.
const MAX_REPLAYED: usize = 50;

/// Challenge as seen by one of its users.
pub(crate) fn show_challenge(
    state: &SiteState,
    me: &UserId,
    id: GameId,
    now: SimTime,
) -> Result<Object, ApiError> {
    let challenge = state.challenges.find(id)?;
    let game = state.rounds.player(me, Some(id)).ok();
    let full_id = game.map(|(round, color)| round.secrets.full_id(id, color));
    Ok(directed(state, challenge, me, now).maybe("fullId", full_id))
}

/// Pending challenges in both directions, without offline ones.
pub(crate) fn list_challenges(state: &SiteState, me: &UserId, now: SimTime) -> Object {
    let list = |is_listed: &dyn Fn(&Challenge) -> bool| {
        let listed = state.challenges.created().filter(|it| is_listed(it));
        listed
            .map(|challenge| directed(state, challenge, me, now))
            .collect::<Vec<_>>()
    };
    object("in", list(&|challenge| challenge.is_for(me)))
        .set("out", list(&|challenge| challenge.is_from(me)))
}

fn directed(state: &SiteState, challenge: &Challenge, me: &UserId, now: SimTime) -> Object {
    let direction = match challenge {
        _ if challenge.is_from(me) => Some("out"),
        _ if challenge.is_for(me) => Some("in"),
        _ => None,
    };
    challenge_json(state, challenge, direction, now)
}

/// Events for a new event stream: incoming challenges, oldest first; if there are more than five, real-time ones
/// first. They have no `compat`.
pub(crate) fn challenges_for_replay(state: &SiteState, me: &UserId, now: SimTime) -> Vec<Object> {
    let created = state.challenges.created();
    let mut incoming: Vec<&Challenge> = created.filter(|challenge| challenge.is_for(me)).collect();
    if incoming.len() > 5 {
        incoming.sort_by_key(|challenge| !challenge.is_real_time());
    }
    incoming
        .into_iter()
        .take(MAX_REPLAYED)
        .map(|challenge| challenge_event(state, ChallengeStatus::Created, challenge, None, now))
        .collect()
}

/// Event about a challenge that was created, canceled or declined. `compat_for` is the recipient, if it says with which
/// APIs they can play.
pub(crate) fn challenge_event(
    state: &SiteState,
    status: ChallengeStatus,
    challenge: &Challenge,
    compat_for: Option<&UserId>,
    now: SimTime,
) -> Object {
    let speed = challenge.speed();
    let kind = match status {
        ChallengeStatus::Canceled => "challengeCanceled",
        ChallengeStatus::Declined => "challengeDeclined",
        _ => "challenge",
    };
    let compat = compat_for.map(|user| {
        let bot = state.users.get(user).bot && speed >= Speed::Bullet;
        wire::compat(bot, speed >= Speed::Blitz)
    });
    object("type", kind)
        .set("challenge", challenge_json(state, challenge, None, now))
        .maybe("compat", compat)
}

fn challenge_json(
    state: &SiteState,
    challenge: &Challenge,
    direction: Option<&str>,
    now: SimTime,
) -> Object {
    // `null` for a player without an account and in an open challenge.
    let user = |id: &UserId| {
        let user = state.users.get(id);
        let rating = user.rating(challenge.perf().key);
        let online = user.is_online(now);
        (user.account_kind == AccountKind::User).then(|| {
            object("id", user.id.to_string())
                .set("name", &user.name)
                .set("rating", rating.value())
                .maybe("title", wire::title(user.title(), &state.quirks))
                .flag("provisional", rating.is_provisional())
                .flag("online", online)
                .maybe("lag", online.then_some(4))
        })
    };
    let color = match challenge.color {
        ColorChoice::White => "white",
        ColorChoice::Black => "black",
        ColorChoice::Random => "random",
    };
    let rules = Some(&challenge.rules).filter(|rules| !rules.is_empty());
    let open = challenge.open.as_ref().map(|open| {
        let players = open.players.as_ref();
        let ids = players.map(|players| players.each_ref().map(UserId::to_string));
        Object::default().maybe("userIds", ids)
    });
    object("id", challenge.id.to_string())
        .set("url", url(state, challenge))
        .set("status", challenge.status.key())
        .set("challenger", challenge.challenger.as_ref().and_then(user))
        .set("destUser", challenge.dest.as_ref().and_then(user))
        .set("variant", wire::full_variant(challenge.variant))
        .set("rated", challenge.rated)
        .set("speed", challenge.speed().key())
        .set("timeControl", time_control_json(challenge.time_control))
        .set("color", color)
        .set("finalColor", challenge.final_color.key())
        .set("perf", wire::perf_with_icon(challenge.perf()))
        .maybe("direction", direction)
        .maybe("initialFen", challenge.start.as_ref().map(Position::fen))
        .maybe("declineReason", challenge.reason.map(|reason| reason.text))
        .maybe(
            "declineReasonKey",
            challenge.reason.map(|reason| reason.key),
        )
        .maybe("rules", rules)
        .maybe("rematchOf", challenge.rematch_of.map(|id| id.to_string()))
        .maybe("open", open)
}

fn url(state: &SiteState, challenge: &Challenge) -> String {
    format!("{}/{}", state.base_url, challenge.id)
}

/// Open challenge with the URLs for joining as White or Black.
pub(crate) fn open_challenge_json(
    state: &SiteState,
    challenge: &Challenge,
    now: SimTime,
) -> Object {
    let url = url(state, challenge);
    challenge_json(state, challenge, None, now)
        .set("urlWhite", format!("{url}?color=white"))
        .set("urlBlack", format!("{url}?color=black"))
}

/// First line of a keep-alive stream.
pub(crate) fn keep_alive_line(state: &SiteState, challenge: &Challenge, now: SimTime) -> Bytes {
    wire::line(&challenge_json(state, challenge, Some("out"), now))
}

/// Last line of a keep-alive stream.
pub(crate) fn done_line(status: ChallengeStatus) -> Bytes {
    wire::line(&object("done", status.key()))
}

fn time_control_json(time_control: TimeControl) -> Object {
    match time_control {
        TimeControl::Clock { limit, increment } => object("type", "clock")
            .set("limit", limit)
            .set("increment", increment)
            .set("show", time_control.show().unwrap_or_default()),
        TimeControl::Days(days) => object("type", "correspondence").set("daysPerTurn", days),
        TimeControl::Unlimited => object("type", "unlimited"),
    }
}
