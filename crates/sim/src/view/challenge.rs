//! Views of a challenge for its users.

use bytes::Bytes;
use serde::Serialize;

use knightwatch_chess::Position;

use crate::challenge::{Challenge, ChallengeStatus, ColorChoice};
use crate::site::{AccountKind, ApiError, GameId, SimTime, SiteState, Speed, UserId};
use crate::time_control::TimeControl;
use crate::wire::{
    self, ChallengeEvent, ChallengeJson, ChallengeList, ChallengeUser, Compat, OpenJson, PerfJson,
    TimeControlJson, VariantJson,
};

/// Maximum number of challenges sent to a new event stream.
const MAX_REPLAYED: usize = 50;

/// Open challenge with the URLs for joining as White or Black.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenChallengeJson {
    #[serde(flatten)]
    challenge: ChallengeJson,
    url_white: String,
    url_black: String,
}

/// Challenge as seen by one of its users.
pub(crate) fn show_challenge(
    state: &SiteState,
    me: &UserId,
    id: GameId,
    now: SimTime,
) -> Result<ChallengeJson, ApiError> {
    let challenge = state.challenges.find(id)?;
    let mut shown = directed(state, challenge, me, now);
    if let Ok((round, color)) = state.rounds.player(me, Some(id)) {
        shown.full_id = Some(round.secrets.full_id(id, color));
    }
    Ok(shown)
}

/// Pending challenges in both directions, without offline ones.
pub(crate) fn list_challenges(state: &SiteState, me: &UserId, now: SimTime) -> ChallengeList {
    let created = || state.challenges.created();
    ChallengeList {
        incoming: created()
            .filter(|challenge| challenge.is_for(me))
            .map(|challenge| directed(state, challenge, me, now))
            .collect(),
        outgoing: created()
            .filter(|challenge| challenge.is_from(me))
            .map(|challenge| directed(state, challenge, me, now))
            .collect(),
    }
}

fn directed(state: &SiteState, challenge: &Challenge, me: &UserId, now: SimTime) -> ChallengeJson {
    let mut shown = challenge_json(state, challenge, now);
    if challenge.is_from(me) {
        shown.direction = Some("out");
    } else if challenge.is_for(me) {
        shown.direction = Some("in");
    }
    shown
}

/// Events for a new event stream: incoming challenges, oldest first; if there are more than five, real-time ones
/// first. They have no `compat`.
pub(crate) fn challenges_for_replay(
    state: &SiteState,
    me: &UserId,
    now: SimTime,
) -> Vec<ChallengeEvent> {
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
) -> ChallengeEvent {
    let speed = challenge.speed();
    ChallengeEvent {
        kind: match status {
            ChallengeStatus::Canceled => "challengeCanceled",
            ChallengeStatus::Declined => "challengeDeclined",
            _ => "challenge",
        },
        challenge: challenge_json(state, challenge, now),
        compat: compat_for.map(|user| Compat {
            bot: state.users.get(user).bot && speed >= Speed::Bullet,
            board: speed >= Speed::Blitz,
        }),
    }
}

pub(crate) fn challenge_json(
    state: &SiteState,
    challenge: &Challenge,
    now: SimTime,
) -> ChallengeJson {
    let user = |id: &UserId| {
        let user = state.users.get(id);
        let rating = user.rating(challenge.perf().key);
        let online = user.is_online(now);
        (user.account_kind == AccountKind::User).then(|| ChallengeUser {
            id: user.id.to_string(),
            name: user.name.clone(),
            rating: rating.value(),
            title: wire::title(user.title(), &state.quirks),
            provisional: rating.is_provisional(),
            online,
            lag: online.then_some(4),
        })
    };
    ChallengeJson {
        id: challenge.id.to_string(),
        url: format!("{}/{}", state.base_url, challenge.id),
        status: challenge.status.key(),
        challenger: challenge.challenger.as_ref().and_then(user),
        dest_user: challenge.dest.as_ref().and_then(user),
        variant: VariantJson::full(challenge.variant),
        rated: challenge.rated,
        speed: challenge.speed().key(),
        time_control: time_control_json(challenge.time_control),
        color: match challenge.color {
            ColorChoice::White => "white",
            ColorChoice::Black => "black",
            ColorChoice::Random => "random",
        },
        final_color: challenge.final_color.key(),
        perf: PerfJson::with_icon(challenge.perf()),
        direction: None,
        initial_fen: challenge.start.as_ref().map(Position::fen),
        decline_reason: challenge.reason.map(|reason| reason.text),
        decline_reason_key: challenge.reason.map(|reason| reason.key),
        rules: challenge.rules.clone(),
        rematch_of: challenge.rematch_of.map(|id| id.to_string()),
        open: challenge.open.as_ref().map(|open| OpenJson {
            user_ids: open
                .players
                .as_ref()
                .map(|players| players.each_ref().map(UserId::to_string)),
        }),
        full_id: None,
    }
}

pub(crate) fn open_challenge_json(
    state: &SiteState,
    challenge: &Challenge,
    now: SimTime,
) -> OpenChallengeJson {
    let challenge = challenge_json(state, challenge, now);
    OpenChallengeJson {
        url_white: format!("{}?color=white", challenge.url),
        url_black: format!("{}?color=black", challenge.url),
        challenge,
    }
}

/// First line of a keep-alive stream.
pub(crate) fn keep_alive_line(state: &SiteState, challenge: &Challenge, now: SimTime) -> Bytes {
    let mut shown = challenge_json(state, challenge, now);
    shown.direction = Some("out");
    wire::line(&shown)
}

/// Last line of a keep-alive stream.
pub(crate) fn done_line(status: ChallengeStatus) -> Bytes {
    format!("{{\"done\":\"{}\"}}\n", status.key()).into()
}

fn time_control_json(time_control: TimeControl) -> TimeControlJson {
    match time_control {
        TimeControl::Clock { limit, increment } => TimeControlJson::Clock {
            limit,
            increment,
            show: time_control.show().unwrap_or_default(),
        },
        TimeControl::Days(days_per_turn) => TimeControlJson::Correspondence { days_per_turn },
        TimeControl::Unlimited => TimeControlJson::Unlimited,
    }
}
