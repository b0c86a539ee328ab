//! Status of the account, and why no game is running.

use std::time::{Duration, SystemTime};

use tracing::info;

use super::Account;
use crate::bot::BotParts;
use crate::bot::account::quota::Limit;
use crate::bot::game::status::stream_status;
use crate::clock;
use crate::events;
use crate::external::ExternalEngine;
use crate::lichess::Outcome;
use crate::lichess::model::{ArenaId, Challenge, GameId};
use crate::lichess::retry::RequestKind;
use crate::metrics::{
    ArenaStatus, EngineStatus, ExternalStatus, IdleStatus, LimitStatus, LiveState, Metrics,
    OpenChallenge, RequestOutcomes,
};

/// Times closer than this are reported as the same.
const SAME_TIME_TOLERANCE: Duration = Duration::from_secs(5);

/// Receivers of the status.
pub(super) struct StatusPublisher {
    pub metrics: Metrics,
    /// Reason and next attempt as last reported while no game is running.
    last_idle: Option<(String, Option<SystemTime>)>,
}

impl StatusPublisher {
    pub(super) fn new(parts: &BotParts) -> Self {
        Self {
            metrics: parts.metrics.clone(),
            last_idle: None,
        }
    }

    /// Reports the reason again, even if it is the same.
    pub(super) fn repeat_idle(&mut self) {
        self.last_idle = None;
    }
}

/// Seconds from `now` until `until`.
fn seconds_until(until: SystemTime, now: SystemTime) -> u64 {
    until.duration_since(now).unwrap_or_default().as_secs()
}

impl Account {
    /// Publishes the status of the account.
    pub(super) fn publish_status(&self) {
        let counts = self.ctx.client.request_counts();
        let requests = RequestKind::ALL.map(|kind| RequestOutcomes {
            kind: kind.to_string(),
            outcomes: Outcome::ALL
                .map(|outcome| (outcome.key().to_owned(), counts.count(kind, outcome)))
                .to_vec(),
        });
        let games = self.games.iter();
        let mut games: Vec<_> = games
            .map(|(id, running)| running.snapshot().status(id.to_string()))
            .collect();
        games.sort_by(|a, b| a.id.cmp(&b.id));
        let engine = &self.ctx.settings.engine;
        let blocked = &self.operator.overrides.blocked;
        let idle = self.status.last_idle.as_ref();
        self.status.metrics.set_live(LiveState {
            account: Some(self.ctx.me.to_string()),
            server: Some(self.ctx.settings.lichess.url.to_string()),
            stage: self.ctx.shutdown.stage().key().to_owned(),
            paused: self.operator.overrides.paused,
            seeking: self.ctx.settings.matchmaking.enabled,
            blocked: blocked.iter().map(ToString::to_string).collect(),
            arenas: self.arenas(),
            challenges: self.open_challenges(),
            matches: self.state.matches.statuses(clock::date()),
            idle: idle.map(|(why, next)| IdleStatus {
                reason: why.clone(),
                next_s: next.map(|next| seconds_until(next, clock::date())),
            }),
            limits: self.limits(),
            stream: self.connection.activity().as_ref().map(stream_status),
            games,
            suspended_games: self.games.suspended_ids().map(GameId::to_string).collect(),
            requests: requests.to_vec(),
            stuck_game_recoveries: self.watchdog.recoveries(),
            stopped: None,
            externals: self.ctx.externals.iter().map(external_status).collect(),
            engine: EngineStatus {
                hash_mib: engine.hash_mib as u64,
                threads: engine.thread_count() as u64,
                ..EngineStatus::default()
            },
        });
    }

    /// Arenas that the account has joined or is going to join.
    fn arenas(&self) -> Vec<ArenaStatus> {
        let status = |(id, shown): (ArenaId, Option<events::Arena>)| {
            let arena = shown.as_ref();
            ArenaStatus {
                id: id.to_string(),
                name: arena.map(|arena| arena.name.clone()),
                state: arena.map(|arena| arena.stage.key().to_owned()),
                rank: arena.and_then(|arena| arena.rank),
                players: arena.map_or(0, |arena| arena.players),
                text: arena.map_or_else(String::new, |arena| arena.text.clone()),
            }
        };
        let arenas = self.tournaments.statuses().into_iter();
        arenas.map(status).collect()
    }

    /// Use of the daily limits.
    fn limits(&self) -> Vec<LimitStatus> {
        let (quota, date) = (&self.state.quota, clock::date());
        let learned = |limit| {
            let at = clock::format_date(quota.learned_at(limit, date)?);
            Some(format!("limit learned from a refusal at {at}"))
        };
        let limits = Limit::DAILY.map(|(limit, what, multiple)| LimitStatus {
            name: what.to_owned(),
            note: multiple.map(str::to_owned).or_else(|| learned(limit)),
            used: quota.used(limit, date).into(),
            capacity: quota.credits(limit, date).into(),
            resets_in_s: quota
                .window_end(limit, date)
                .map(|ends| seconds_until(ends, date)),
        });
        limits.to_vec()
    }

    /// Open challenges for the status.
    fn open_challenges(&self) -> Vec<OpenChallenge> {
        let status = |challenge: &Challenge| OpenChallenge {
            id: challenge.id.to_string(),
            to: challenge
                .to()
                .map_or_else(|| "somebody".to_owned(), ToString::to_string),
            terms: format!(
                "{}, {}",
                challenge.time_control,
                if challenge.rated { "rated" } else { "casual" }
            ),
        };
        self.unanswered_challenges().map(status).collect()
    }

    /// Reports once why no game is running, and the next attempt.
    pub(super) fn publish_idle(&mut self) {
        if !self.games.is_empty() || self.ctx.is_stopping() {
            self.status.last_idle = None;
            return;
        }
        // A reserved slot may become a game any moment.
        if !self.connection.is_ready() || self.games.slots.has_reservations(clock::now()) {
            return;
        }
        let (why, next) = match self.matchmaking.idle() {
            _ if self.operator.overrides.paused => {
                (", and the operator has paused the bot".to_owned(), None)
            }
            _ if self.games.slots.arenas_awaited() > 0 => {
                let arenas = self.arena_names();
                (format!("; waiting for a pairing in {arenas}"), None)
            }
            _ if let Some((reason, next)) = self.state.matches.next_attempt(clock::date()) => {
                (format!("; {reason}"), next)
            }
            Some(idle) => (format!("; {}", idle.reason), Some(idle.next)),
            None if self.ctx.settings.challenge.accept => {
                ("; waiting for challenges".to_owned(), None)
            }
            None => (", and challenges are switched off".to_owned(), None),
        };
        let reason = format!("no game is running{why}");
        let last = self.status.last_idle.as_ref();
        if last.is_some_and(|(before, then)| *before == reason && is_same_time(*then, next)) {
            return;
        }
        match next {
            Some(next) => info!("idle: {reason}; next try at {}", clock::format_date(next)),
            None => info!("idle: {reason}"),
        }
        self.status.last_idle = Some((reason.clone(), next));
        self.ctx.events.send(events::Event::Idle { reason, next });
    }

    /// Names of the arenas from which a game may come, like `Friday Arena and Bots Arena`.
    fn arena_names(&self) -> String {
        let mut arenas = self.tournaments.statuses();
        arenas.retain(|(id, _)| self.games.slots.is_arena_open(id));
        let shown = arenas.into_iter().filter_map(|(_, shown)| shown);
        let names: Vec<String> = shown.map(|arena| arena.name).collect();
        match names.is_empty() {
            true => "an arena".to_owned(),
            false => names.join(" and "),
        }
    }
}

fn is_same_time(one: Option<SystemTime>, other: Option<SystemTime>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            let apart = one.duration_since(other);
            apart.unwrap_or_else(|error| error.duration()) < SAME_TIME_TOLERANCE
        }
        (one, other) => one == other,
    }
}

fn external_status(engine: &ExternalEngine) -> ExternalStatus {
    let stats = engine.stats();
    ExternalStatus {
        name: engine.name().to_owned(),
        identity: stats.identity,
        processes: engine.processes() as u64,
        ready: stats.ready as u64,
        moves: stats.moves,
        fallbacks: stats.fallbacks,
        failures: stats.failures,
        last_failure: stats.last_failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_time_tolerates_small_differences() {
        let now = SystemTime::now();
        let later = |seconds| Some(now + Duration::from_secs(seconds));
        assert!(
            is_same_time(None, None)
                && is_same_time(later(0), later(4))
                && is_same_time(later(4), later(0))
        );
        assert!(
            !is_same_time(None, later(0))
                && !is_same_time(later(0), later(5))
                && !is_same_time(later(6), later(0))
        );
    }
}
