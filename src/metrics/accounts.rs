//! Combined status of several accounts.

use super::status::{Health, RequestOutcomes, Status};
use super::{ENDED, EngineStatus};
use crate::plural;

impl Status {
    /// Combines the counters of this status with the status of each account.
    pub(super) fn combine(self, accounts: Vec<Self>) -> Self {
        let active = || accounts.iter().filter(|account| account.stage != ENDED);
        let name = |account: &Self| account.account.clone();
        let unhealthy = accounts.iter().find_map(|account| match &account.health {
            Health::Ok => None,
            Health::Unhealthy { reason } => Some(format!("{}: {reason}", account.display_name())),
        });
        let all_open = active().count() > 0 && active().all(|account| account.stream.is_some());
        let streams = active().filter_map(|account| account.stream);
        let most_silent = streams.max_by(|a, b| a.silent_s.total_cmp(&b.silent_s));
        let engine = active().map(|account| account.engine);
        let engine = engine
            .max_by_key(|engine| engine.threads)
            .unwrap_or_default();
        let mut blocked: Vec<String> = active()
            .flat_map(|account| account.blocked.clone())
            .collect();
        blocked.sort_unstable();
        blocked.dedup();
        let names: Vec<String> = accounts.iter().filter_map(name).collect();
        Self {
            account: (!names.is_empty()).then(|| names.join(", ")),
            // The earliest stage of all accounts.
            stage: stage(active().map(|account| account.stage.as_str())).to_owned(),
            paused: active().count() > 0 && active().all(|account| account.paused),
            seeking: active().any(|account| account.seeking),
            blocked,
            idle: None,
            limits: Vec::new(),
            arenas: active()
                .flat_map(|account| account.arenas.clone())
                .collect(),
            challenges: active()
                .flat_map(|account| account.challenges.clone())
                .collect(),
            matches: active()
                .flat_map(|account| account.matches.clone())
                .collect(),
            health: unhealthy.map_or(Health::Ok, |reason| Health::Unhealthy { reason }),
            stream: most_silent.filter(|_| all_open),
            games: active().flat_map(|account| account.games.clone()).collect(),
            oldest_turn_ms: active()
                .map(|account| account.oldest_turn_ms)
                .max()
                .unwrap_or(0),
            requests: requests(&accounts),
            stuck_game_recoveries: accounts
                .iter()
                .map(|account| account.stuck_game_recoveries)
                .sum(),
            engine: EngineStatus {
                hash_mib: engine.hash_mib,
                threads: engine.threads,
                ..self.engine
            },
            // All accounts share them.
            externals: active()
                .map(|account| account.externals.clone())
                .next()
                .unwrap_or_default(),
            accounts,
            ..self
        }
    }

    /// Name of the account, or a placeholder.
    pub(super) fn display_name(&self) -> &str {
        self.account
            .as_deref()
            .unwrap_or("an account that Lichess has not named yet")
    }

    /// Summary of this account in one line.
    pub(super) fn summary_line(&self) -> String {
        let stage = match self.stage.as_str() {
            "" => "starting",
            stage => stage,
        };
        let paused = if self.paused { " but PAUSED" } else { "" };
        let (name, games) = (
            self.display_name(),
            plural::count(self.games.len(), "game", "games"),
        );
        match (&self.stopped, self.stream) {
            (Some(reason), _) => format!("{name}: STOPPED: {reason}"),
            _ if stage == ENDED => format!("{name}: {stage}"),
            (None, Some(_)) => format!("{name}: {stage}{paused}, {games}"),
            (None, None) => format!("{name}: {stage}{paused}, stream not open, {games}"),
        }
    }
}

/// The earliest of these stages; [`ENDED`] without any.
fn stage<'a>(stages: impl Iterator<Item = &'a str>) -> &'a str {
    let order = ["", "running", "draining", "leaving"];
    let position = |stage: &&str| order.iter().position(|other| other == stage);
    stages.min_by_key(position).unwrap_or(ENDED)
}

/// Sums requests by kind; all accounts have the same outcomes in the same order.
fn requests(accounts: &[Status]) -> Vec<RequestOutcomes> {
    let mut all: Vec<RequestOutcomes> = Vec::new();
    for requests in accounts.iter().flat_map(|account| &account.requests) {
        match all.iter_mut().find(|sum| sum.kind == requests.kind) {
            None => all.push(requests.clone()),
            Some(sum) => {
                for (outcome, more) in sum.outcomes.iter_mut().zip(&requests.outcomes) {
                    outcome.1 += more.1;
                }
            }
        }
    }
    all
}
