//! Conditions for joining an arena.

use ring::hmac;

use super::options::Conditions;
use super::{Arena, ArenaStatus};
use crate::site::users::Rating;
use crate::site::{ApiError, Perf, TeamId, Teams, User};

/// Parameters of a join request.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinRequest {
    pub password: Option<String>,
    pub team: Option<String>,
    pub pair_me_asap: bool,
}

/// An entry condition of an arena, and the reason why a user does not meet it; `None` if they do.
pub(crate) struct ConditionVerdict {
    pub condition: String,
    pub rejection: Option<String>,
}

impl ConditionVerdict {
    fn new(condition: impl Into<String>, rejection: Option<String>) -> Self {
        Self {
            condition: condition.into(),
            rejection,
        }
    }
}

impl Arena {
    /// Checks the conditions in Lichess's order; returns the user's team in a team battle. `restriction` is the message
    /// for an unmet entry condition.
    pub(super) fn check_entry(
        &self,
        user: &User,
        entry: &JoinRequest,
        teams: &Teams,
        (is_paused, restriction): (bool, &str),
    ) -> Result<Option<TeamId>, ApiError> {
        let me = &user.id;
        let config = &self.config;
        let player = self.player(me);
        let name = me.to_string();
        if config.conditions.banned.contains(&name) {
            return Err(ApiError::bad_request("You are not allowed to join arenas"));
        }
        if player.is_none()
            && let Some(code) = &config.password
            && !is_entry_code(code, &name, entry.password.as_deref().unwrap_or_default())
        {
            return Err(ApiError::bad_request("Wrong entry code"));
        }
        let verdicts = self.verdicts(Some(user), teams);
        if verdicts.iter().any(|verdict| verdict.rejection.is_some()) {
            return Err(ApiError::bad_request(restriction));
        }
        if is_paused {
            return Err(ApiError::bad_request("Your pause is not over yet"));
        }
        if config.team_battle.is_empty() {
            return Ok(None);
        }
        match (entry.team.as_deref().map(TeamId::of), player) {
            (None, Some(player)) => Ok(player.team.clone()),
            (Some(team), _) if config.team_battle.contains(&team) && teams.is_member(&team, me) => {
                Ok(Some(team))
            }
            _ => Err(ApiError::bad_request("Missing team")),
        }
    }

    /// The entry conditions, evaluated for this user; without a user all are met.
    pub(crate) fn verdicts(&self, user: Option<&User>, teams: &Teams) -> Vec<ConditionVerdict> {
        let me = user.map(|user| &user.id);
        let is_rejoining =
            me.is_some_and(|me| self.status == ArenaStatus::Started && self.player(me).is_some());
        let conditions = &self.config.conditions;
        let mut verdicts = Vec::new();
        if is_rejoining {
            verdicts.extend(conditions.rating_verdicts(None, self.perf()));
        } else {
            verdicts.extend(conditions.rating_verdicts(user, self.perf()));
        }
        if let Some(team) = &conditions.team {
            let name = teams.get(team).map_or("", |team| &team.name);
            let missing = me.is_some_and(|me| !teams.is_member(team, me));
            verdicts.push(ConditionVerdict::new(
                format!("Must be in team {name}"),
                missing.then(|| format!("You are not in the team {name}")),
            ));
        }
        if !conditions.allow.is_empty() {
            let missing =
                !is_rejoining && me.is_some_and(|me| !conditions.allow.contains(&me.to_string()));
            verdicts.push(ConditionVerdict::new(
                "Fixed line-up",
                missing.then(|| "Your name is not in the tournament line-up.".to_owned()),
            ));
        }
        if conditions.bots {
            verdicts.push(ConditionVerdict::new("Bot players are allowed", None));
        } else if let Some(user) = user {
            const NO_BOTS: &str = "Bot players are not allowed";
            let rejection = (user.bot && !is_rejoining).then(|| NO_BOTS.to_owned());
            verdicts.push(ConditionVerdict::new(NO_BOTS, rejection));
        }
        verdicts
    }
}

impl Conditions {
    fn rating_verdicts(&self, user: Option<&User>, perf: Perf) -> Vec<ConditionVerdict> {
        let rating = user.map(|user| user.rating(perf.key));
        let provisional = rating
            .filter(|rating| rating.is_provisional())
            .map(|_| format!("Your {} rating is provisional", perf.name));
        let mut verdicts = Vec::new();
        if let Some(min) = self.min_rated_games {
            // Titled players, including bots, are exempt.
            let missing = user
                .filter(|user| user.title().is_none())
                .and(rating)
                .and_then(|rating| min.checked_sub(rating.games).filter(|missing| *missing > 0));
            verdicts.push(ConditionVerdict::new(
                format!("≥ {min} {} rated games", perf.name),
                missing.map(|missing| {
                    format!("You need to play {missing} more {} rated games", perf.name)
                }),
            ));
        }
        if let Some(max) = self.max_rating {
            let high = rating
                .map(Rating::value)
                .filter(|value| i64::from(*value) > i64::from(max));
            verdicts.push(ConditionVerdict::new(
                format!("Rated ≤ {max} in {} for the last week", perf.name),
                provisional
                    .clone()
                    .or(high
                        .map(|value| format!("Your {} rating ({value}) is too high", perf.name))),
            ));
        }
        if let Some(min) = self.min_rating {
            let low = rating
                .map(Rating::value)
                .filter(|value| i64::from(*value) < i64::from(min));
            verdicts.push(ConditionVerdict::new(
                format!("Rated ≥ {min} in {}", perf.name),
                provisional
                    .or(low.map(|value| format!("Your {} rating ({value}) is too low", perf.name))),
            ));
        }
        verdicts
    }
}

/// Returns whether the entered code is the arena's code, or the user's personal code.
fn is_entry_code(code: &str, user: &str, entered: &str) -> bool {
    entered == code || entered == personal_code(code, user)
}

/// Hexadecimal HMAC-SHA256 of the user id, keyed with the arena's code.
fn personal_code(code: &str, user: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, code.as_bytes());
    hmac::sign(&key, user.as_bytes())
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_code_is_plain_or_personal() {
        // Computed with printf mybot | openssl dgst -sha256 -hmac secret
        let personal = "17d5c7a6ca9cc78be2d1e143ae581f6f93a283ba90dc28154a19f425023ab24b";
        assert!(is_entry_code("secret", "mybot", "secret"));
        assert!(is_entry_code("secret", "mybot", personal));
        assert!(!is_entry_code("secret", "other", personal));
        assert!(!is_entry_code("secret", "mybot", ""));
        assert!(!is_entry_code("secret", "mybot", "Secret"));
    }
}
