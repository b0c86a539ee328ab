//! Challenges to whoever comes first: the first two who accept play.

use std::time::Duration;

use serde::Serialize;

use crate::chess::Color;

use super::challenge::{Challenge, ChallengeStatus, Wanted};
use super::failure::Failure;
use super::id::{GameId, UserId};
use super::players::ColorChoice;
use super::time::Moment;
use super::users::Face;
use super::variant::Speed;
use super::wire::ChallengeJson;
use super::world::World;

/// How long such a challenge waits, unless it says otherwise.
pub(super) const WAITS: Duration = Duration::from_secs(24 * 3_600);
/// For so long the site remembers who made it, and lets him end it or the game that it became.
const REMEMBERED: Duration = Duration::from_secs(3_600);

const NOT_FOR_YOU: &str = "The challenge is not for you to accept.";

/// What is special about such a challenge.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub creator: Option<UserId>,
    /// The only two who may play, White first.
    pub players: Option<[UserId; 2]>,
    pub expires_at: Moment,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_ids: Option<[String; 2]>,
}

impl From<&Open> for OpenJson {
    fn from(open: &Open) -> Self {
        let ids = |players: &[UserId; 2]| players.each_ref().map(UserId::to_string);
        Self {
            user_ids: open.players.as_ref().map(ids),
        }
    }
}

/// The challenge with the addresses at which it is taken with either colour.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenChallengeJson {
    #[serde(flatten)]
    challenge: ChallengeJson,
    url_white: String,
    url_black: String,
}

impl World {
    pub fn open_challenge(&mut self, wanted: Wanted, open: Open, now: Moment) -> OpenChallengeJson {
        let id = self.fresh_id();
        let final_color = self.resolved(wanted.color);
        let mut challenge = Challenge::new(id, wanted, final_color, now);
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

    /// Somebody comes: the first takes a seat, with the second the game begins.
    pub fn join_open(
        &mut self,
        me: &UserId,
        id: GameId,
        asked: Option<Color>,
        now: Moment,
    ) -> Result<(), Failure> {
        let challenge = self.challenges.get(&id).ok_or_else(Failure::not_found)?;
        let user = self.user(me);
        if user.bot && challenge.speed() == Speed::UltraBullet {
            return Err(Failure::bad("Game incompatible with a BOT account"));
        }
        let players = challenge.open.as_ref().and_then(|o| o.players.as_ref());
        let seat = players.map(|players| players.iter().position(|player| player == me));
        let is_nobody = challenge.rated && user.face != Face::User;
        if seat == Some(None) || is_nobody {
            return Err(Failure::bad(NOT_FOR_YOU));
        }
        let color = match seat.flatten() {
            Some(0) => Some(Color::White),
            Some(_) => Some(Color::Black),
            None => asked,
        };
        match challenge.challenger.clone() {
            None => {
                if let Some(challenge) = self.challenges.get_mut(&id) {
                    challenge.sit_first(me.clone(), color);
                }
                Ok(())
            }
            Some(first) if first == *me => Err(Failure::bad(NOT_FOR_YOU)),
            Some(first) => {
                let is_free = challenge.color == ColorChoice::Random;
                let final_color = match color {
                    Some(color) if is_free => !color,
                    Some(color) if color == challenge.final_color => {
                        return Err(Failure::bad("This color has already been chosen"));
                    }
                    _ => challenge.final_color,
                };
                self.may_play_bots(me, &first, now)?;
                if let Some(challenge) = self.challenges.get_mut(&id) {
                    challenge.dest = Some(me.clone());
                    challenge.final_color = final_color;
                }
                self.begin_challenged(id, now);
                Ok(())
            }
        }
    }

    /// Who made an open challenge ends it, or aborts the game that it has become, within the hour. `None` when it is not
    /// his, or too late.
    pub fn cancel_open(
        &mut self,
        me: &UserId,
        id: GameId,
        now: Moment,
    ) -> Option<Result<(), Failure>> {
        let challenge = self.challenges.get(&id)?;
        let open = challenge.open.as_ref()?;
        if open.creator.as_ref() != Some(me) || now.since(challenge.created_at) > REMEMBERED {
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
            return Some(Err(Failure::bad("The game can no longer be aborted")));
        }
        let called_off = self.rule(id, |referee| referee.abort_by_consent(now), now);
        Some(called_off.map_err(Failure::from))
    }
}
