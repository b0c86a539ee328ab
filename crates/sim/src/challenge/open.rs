//! Open challenges: the first two users who accept play.

use std::time::Duration;

use serde::Serialize;

use knightwatch_chess::Color;

use crate::challenge::{Challenge, ChallengeConfig, ChallengeStatus};
use crate::http::error::ApiError;
use crate::players::ColorChoice;
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::Speed;
use crate::wire::ChallengeJson;

/// Default lifetime of an open challenge.
pub(crate) const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// Time in which the creator can cancel the challenge or abort its game.
const CREATOR_RIGHTS_FOR: Duration = Duration::from_secs(3_600);

const NOT_FOR_YOU: &str = "The challenge is not for you to accept.";

/// Properties of an open challenge.
#[derive(Clone, Debug)]
pub(crate) struct OpenChallenge {
    pub creator: Option<UserId>,
    /// If set, the only two users who may play, White first.
    pub players: Option<[UserId; 2]>,
    pub expires_at: SimTime,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_ids: Option<[String; 2]>,
}

impl From<&OpenChallenge> for OpenJson {
    fn from(open: &OpenChallenge) -> Self {
        let ids = |players: &[UserId; 2]| players.each_ref().map(UserId::to_string);
        Self {
            user_ids: open.players.as_ref().map(ids),
        }
    }
}

/// Open challenge with the URLs for joining as White or Black.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenChallengeJson {
    #[serde(flatten)]
    challenge: ChallengeJson,
    url_white: String,
    url_black: String,
}

impl SiteState {
    pub(crate) fn open_challenge(
        &mut self,
        config: ChallengeConfig,
        open: OpenChallenge,
        now: SimTime,
    ) -> OpenChallengeJson {
        let id = self.new_id();
        let final_color = self.resolve_color(config.color);
        let mut challenge = Challenge::new(id, config, final_color, now);
        challenge.open = Some(open);
        let shown = self.challenge_json(&challenge, now);
        self.challenges.insert(id, challenge);
        self.open_challenges.push(id);
        OpenChallengeJson {
            url_white: format!("{}?color=white", shown.url),
            url_black: format!("{}?color=black", shown.url),
            challenge: shown,
        }
    }

    /// Joins an open challenge. The game starts with the second player.
    pub(crate) fn join_open(
        &mut self,
        me: &UserId,
        id: GameId,
        requested: Option<Color>,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let challenge = self.challenges.get(&id).ok_or_else(ApiError::not_found)?;
        let user = self.user(me);
        if user.bot && challenge.speed() == Speed::UltraBullet {
            return Err(ApiError::bad_request(
                "Game incompatible with a BOT account",
            ));
        }
        let players = challenge.open.as_ref().and_then(|o| o.players.as_ref());
        let seat = players.map(|players| players.iter().position(|player| player == me));
        let is_unrated_user = challenge.rated && user.account_kind != AccountKind::User;
        if seat == Some(None) || is_unrated_user {
            return Err(ApiError::bad_request(NOT_FOR_YOU));
        }
        let color = match seat.flatten() {
            Some(0) => Some(Color::White),
            Some(_) => Some(Color::Black),
            None => requested,
        };
        match challenge.challenger.clone() {
            None => {
                if let Some(challenge) = self.challenges.get_mut(&id) {
                    challenge.join_first(me.clone(), color);
                }
                Ok(())
            }
            Some(first) if first == *me => Err(ApiError::bad_request(NOT_FOR_YOU)),
            Some(first) => {
                let is_free = challenge.color == ColorChoice::Random;
                let final_color = match color {
                    Some(color) if is_free => !color,
                    Some(color) if color == challenge.final_color => {
                        return Err(ApiError::bad_request("This color has already been chosen"));
                    }
                    _ => challenge.final_color,
                };
                self.check_bot_games(me, &first, now)?;
                if let Some(challenge) = self.challenges.get_mut(&id) {
                    challenge.dest = Some(me.clone());
                    challenge.final_color = final_color;
                }
                self.start_challenged_game(id, now);
                Ok(())
            }
        }
    }

    /// Cancels an open challenge, or aborts its game, for its creator within an hour. Returns `None` if the caller is
    /// not the creator or it is too late.
    pub(crate) fn cancel_open(
        &mut self,
        me: &UserId,
        id: GameId,
        now: SimTime,
    ) -> Option<Result<(), ApiError>> {
        let challenge = self.challenges.get(&id)?;
        let open = challenge.open.as_ref()?;
        if open.creator.as_ref() != Some(me) || now.since(challenge.created_at) > CREATOR_RIGHTS_FOR
        {
            return None;
        }
        if challenge.status.is_active() {
            self.end_challenge(id, ChallengeStatus::Canceled, "challengeCanceled", now);
            return Some(Ok(()));
        }
        let round = self
            .rounds
            .get(&id)
            .filter(|round| round.referee.is_running())?;
        if round.referee.plies() >= 2 {
            return Some(Err(ApiError::bad_request(
                "The game can no longer be aborted",
            )));
        }
        let called_off = self.with_referee(id, |referee| referee.abort_by_consent(now), now);
        Some(called_off.map_err(ApiError::from))
    }
}
