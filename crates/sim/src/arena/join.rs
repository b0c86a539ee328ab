//! Joining and leaving arenas.

use ring::hmac;

use super::options::Conditions;
use super::{Arena, ArenaStatus, Player};
use crate::http::error::ApiError;
use crate::http::limits::ARENA_FIRST_JOINS;
use crate::site::id::{ArenaId, UserId};
use crate::site::state::SiteState;
use crate::site::team::TeamId;
use crate::site::time::SimTime;
use crate::site::users::User;

/// Players who withdraw while ranked above this must wait before they may rejoin.
const LEADER_RANKS: usize = 7;

/// Parameters of a join request.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinRequest {
    pub password: Option<String>,
    pub team: Option<String>,
    pub pair_me_asap: bool,
}

/// An entry condition of an arena, and the reason why a user does not meet it; `None` if they do.
pub(super) struct ConditionVerdict {
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

impl SiteState {
    /// Joins an arena, or rejoins it.
    ///
    /// # Errors
    /// An unknown or finished arena, an exceeded limit, or an unmet condition.
    pub(crate) fn join_arena(
        &mut self,
        me: &UserId,
        id: ArenaId,
        entry: &JoinRequest,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let arena = self.arenas.get(id).ok_or_else(ApiError::not_found)?;
        if arena.status == ArenaStatus::Finished {
            return Err(ApiError::bad_request("This tournament no longer exists"));
        }
        if arena.player(me).is_none() && !self.user(me).always_online {
            let cost = if arena.created_by.is_some() { 2 } else { 1 };
            self.limits
                .charge_all(&ARENA_FIRST_JOINS, me.as_str(), cost, now)
                .map_err(|_| ApiError::bad_request("You are joining too many tournaments"))?;
        }
        let team = self.check_join(arena, me, entry, now)?;
        let user = self.user(me);
        let bot = user.bot;
        let mut new_player = Player::new(
            me.clone(),
            bot,
            user.rating(arena.perf().key),
            arena.players.len(),
        );
        new_player.team = team;
        let Some(arena) = self.arenas.get_mut(id) else {
            return Err(ApiError::not_found());
        };
        arena
            .players
            .entry(me.clone())
            .and_modify(|player| player.withdrawn = false)
            .or_insert(new_player);
        if entry.pair_me_asap && !arena.is_playing(me) {
            arena.waiting.add(me.clone(), now);
        }
        Ok(())
    }

    /// Checks the conditions in Lichess's order; returns the user's team in a team battle.
    fn check_join(
        &self,
        arena: &Arena,
        me: &UserId,
        entry: &JoinRequest,
        now: SimTime,
    ) -> Result<Option<TeamId>, ApiError> {
        let config = &arena.config;
        let player = arena.player(me);
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
        let verdicts = self.verdicts(arena, Some(me));
        if verdicts.iter().any(|verdict| verdict.rejection.is_some()) {
            return Err(ApiError::bad_request(&self.quirks.restriction));
        }
        if self
            .arenas
            .pauses
            .seconds_left(me, config.estimate(), now)
            .is_some()
        {
            return Err(ApiError::bad_request("Your pause is not over yet"));
        }
        if config.team_battle.is_empty() {
            return Ok(None);
        }
        match (entry.team.as_deref().map(TeamId::of), player) {
            (None, Some(player)) => Ok(player.team.clone()),
            (Some(team), _) if config.team_battle.contains(&team) && self.is_member(&team, me) => {
                Ok(Some(team))
            }
            _ => Err(ApiError::bad_request("Missing team")),
        }
    }

    /// The entry conditions of an arena, evaluated for this user; without a user all are met.
    pub(super) fn verdicts(&self, arena: &Arena, me: Option<&UserId>) -> Vec<ConditionVerdict> {
        let user = me.map(|me| self.user(me));
        let is_rejoining =
            me.is_some_and(|me| arena.status == ArenaStatus::Started && arena.player(me).is_some());
        let conditions = &arena.config.conditions;
        let mut verdicts = Vec::new();
        if is_rejoining {
            verdicts.extend(conditions.rating_verdicts(None, arena.perf()));
        } else {
            verdicts.extend(conditions.rating_verdicts(user, arena.perf()));
        }
        if let Some(team) = &conditions.team {
            let name = self.teams.get(team).map_or("", |team| &team.name);
            let missing = me.is_some_and(|me| !self.is_member(team, me));
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

    /// Withdraws a user at their own request. For leaders this counts as a pause.
    ///
    /// # Errors
    /// An unknown arena.
    pub(crate) fn leave_arena(
        &mut self,
        me: &UserId,
        id: ArenaId,
        now: SimTime,
    ) -> Result<(), ApiError> {
        let arena = self.arenas.get_mut(id).ok_or_else(ApiError::not_found)?;
        let is_leader = arena.status == ArenaStatus::Started
            && arena.rank(me).is_some_and(|rank| rank < LEADER_RANKS);
        arena.withdraw(me);
        if is_leader {
            self.arenas.pauses.add(me, now);
        }
        Ok(())
    }

    /// Joins a built-in player to an arena that admits bots, with its password and team membership.
    pub(crate) fn join_as_builtin(&mut self, user: &UserId, id: ArenaId, now: SimTime) {
        let Some(arena) = self
            .arenas
            .get(id)
            .filter(|arena| arena.config.conditions.bots)
        else {
            return;
        };
        let entry = JoinRequest {
            password: arena.config.password.clone(),
            team: arena.config.team_battle.first().map(TeamId::to_string),
            pair_me_asap: true,
        };
        for team in arena
            .config
            .conditions
            .team
            .clone()
            .iter()
            .chain(&arena.config.team_battle.clone())
        {
            if let Some(team) = self.teams.get_mut(team) {
                team.members.entry(user.clone()).or_insert(now);
            }
        }
        if let Err(why) = self.join_arena(user, id, &entry, now) {
            tracing::debug!("{user} cannot join arena {id}: {why:?}");
        }
    }

    /// Joins a built-in player to all arenas that are not finished.
    pub(crate) fn join_all_as_builtin(&mut self, user: &UserId, now: SimTime) {
        let open = |arena: &&Arena| arena.status != ArenaStatus::Finished;
        let ids: Vec<ArenaId> = self
            .arenas
            .iter()
            .filter(open)
            .map(|arena| arena.id)
            .collect();
        for id in ids {
            self.join_as_builtin(user, id, now);
        }
    }

    pub(crate) fn pause_left(&self, arena: &Arena, me: &UserId, now: SimTime) -> Option<i64> {
        self.arenas
            .pauses
            .seconds_left(me, arena.config.estimate(), now)
    }
}

impl Conditions {
    fn rating_verdicts(
        &self,
        user: Option<&User>,
        perf: crate::site::variant::Perf,
    ) -> Vec<ConditionVerdict> {
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
                .map(super::super::site::users::Rating::value)
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
                .map(super::super::site::users::Rating::value)
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

/// Whether the entered code is the arena's code, or the user's personal code.
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
