//! Views of a challenge for its users.

use knightwatch_chess::Position;

use crate::challenge::open::OpenJson;
use crate::challenge::{Challenge, ChallengeStatus};
use crate::http::error::ApiError;
use crate::options::TimeControl;
use crate::players::ColorChoice;
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::Speed;
use crate::wire::{
    self, ChallengeEvent, ChallengeJson, ChallengeList, ChallengeUser, Compat, PerfJson,
    TimeControlJson, VariantJson,
};

/// Maximum number of challenges sent to a new event stream.
const MAX_REPLAYED: usize = 50;

impl SiteState {
    /// Challenge as seen by one of its users.
    pub(crate) fn show_challenge(
        &self,
        me: &UserId,
        id: GameId,
        now: SimTime,
    ) -> Result<ChallengeJson, ApiError> {
        let challenge = self.challenges.get(&id).ok_or_else(ApiError::not_found)?;
        let mut shown = self.directed(challenge, me, now);
        if let Ok((round, color)) = self.player_of(me, Some(id)) {
            shown.full_id = Some(round.secrets.full_id(id, color));
        }
        Ok(shown)
    }

    /// Pending challenges in both directions, without offline ones.
    pub(crate) fn list_challenges(&self, me: &UserId, now: SimTime) -> ChallengeList {
        let created = || {
            self.open_challenges
                .iter()
                .filter_map(|id| self.challenges.get(id))
                .filter(|challenge| challenge.status == ChallengeStatus::Created)
        };
        ChallengeList {
            incoming: created()
                .filter(|challenge| challenge.is_for(me))
                .map(|challenge| self.directed(challenge, me, now))
                .collect(),
            outgoing: created()
                .filter(|challenge| challenge.is_from(me))
                .map(|challenge| self.directed(challenge, me, now))
                .collect(),
        }
    }

    fn directed(&self, challenge: &Challenge, me: &UserId, now: SimTime) -> ChallengeJson {
        let mut shown = self.challenge_json(challenge, now);
        if challenge.is_from(me) {
            shown.direction = Some("out");
        } else if challenge.is_for(me) {
            shown.direction = Some("in");
        }
        shown
    }

    /// Events for a new event stream: incoming challenges, oldest first; if there are more than five, real-time ones
    /// first. They have no `compat`.
    pub(crate) fn challenges_for_replay(&self, me: &UserId, now: SimTime) -> Vec<ChallengeEvent> {
        let mut incoming: Vec<&Challenge> = self
            .open_challenges
            .iter()
            .filter_map(|id| self.challenges.get(id))
            .filter(|challenge| {
                challenge.is_for(me) && challenge.status == ChallengeStatus::Created
            })
            .collect();
        if incoming.len() > 5 {
            incoming.sort_by_key(|challenge| !challenge.is_real_time());
        }
        incoming
            .into_iter()
            .take(MAX_REPLAYED)
            .map(|challenge| self.challenge_event("challenge", challenge, None, now))
            .collect()
    }

    pub(crate) fn challenge_event(
        &self,
        kind: &'static str,
        challenge: &Challenge,
        compat_for: Option<&UserId>,
        now: SimTime,
    ) -> ChallengeEvent {
        let speed = challenge.speed();
        ChallengeEvent {
            kind,
            challenge: self.challenge_json(challenge, now),
            compat: compat_for.map(|user| Compat {
                bot: self.user(user).bot && speed >= Speed::Bullet,
                board: speed >= Speed::Blitz,
            }),
        }
    }

    pub(crate) fn challenge_json(&self, challenge: &Challenge, now: SimTime) -> ChallengeJson {
        let user = |id: &UserId| {
            let user = self.user(id);
            let rating = user.rating(challenge.perf().key);
            let online = user.is_online(now);
            (user.account_kind == AccountKind::User).then(|| ChallengeUser {
                id: user.id.to_string(),
                name: user.name.clone(),
                rating: rating.value(),
                title: wire::title(user.title(), &self.quirks),
                provisional: rating.is_provisional(),
                online,
                lag: online.then_some(4),
            })
        };
        ChallengeJson {
            id: challenge.id.to_string(),
            url: format!("{}/{}", self.base_url, challenge.id),
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
            open: challenge.open.as_ref().map(OpenJson::from),
            full_id: None,
        }
    }
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
