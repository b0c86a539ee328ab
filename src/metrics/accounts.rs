//! Combined status of several accounts.

use super::ENDED;
use super::status::{EngineStatus, Health, LiveState, RequestOutcomes, Status};
use crate::plural;

impl Status {
    /// Combines the counters of this status with the status of each account.
    pub(super) fn combine(self, accounts: Vec<Self>) -> Self {
        let unhealthy = accounts.iter().find_map(|account| match &account.health {
            Health::Ok => None,
            Health::Unhealthy { reason } => Some(format!("{}: {reason}", account.display_name())),
        });
        let active = accounts
            .iter()
            .filter(|account| account.live.stage != ENDED);
        Self {
            live: combined(self.live.engine, &accounts),
            health: unhealthy.map_or(Health::Ok, |reason| Health::Unhealthy { reason }),
            oldest_turn_ms: active
                .map(|account| account.oldest_turn_ms)
                .max()
                .unwrap_or(0),
            accounts,
            ..self
        }
    }

    /// Name of the account, or a placeholder.
    pub(super) fn display_name(&self) -> &str {
        self.live
            .account
            .as_deref()
            .unwrap_or("an account that Lichess has not named yet")
    }

    /// Summary of this account in one line.
    pub(super) fn summary_line(&self) -> String {
        let stage = match self.live.stage.as_str() {
            "" => "starting",
            stage => stage,
        };
        let paused = if self.live.paused { " but PAUSED" } else { "" };
        let (name, games) = (
            self.display_name(),
            plural::count(self.live.games.len(), "game", "games"),
        );
        match (&self.live.stopped, self.live.stream) {
            (Some(reason), _) => format!("{name}: STOPPED: {reason}"),
            _ if stage == ENDED => format!("{name}: {stage}"),
            (None, Some(_)) => format!("{name}: {stage}{paused}, {games}"),
            (None, None) => format!("{name}: {stage}{paused}, stream not open, {games}"),
        }
    }
}

/// The state of these accounts together, with the speed of `engine`.
fn combined(engine: EngineStatus, accounts: &[Status]) -> LiveState {
    let all = || accounts.iter().map(|account| &account.live);
    let active = || all().filter(|live| live.stage != ENDED);
    let any_active = active().next().is_some();
    let all_open = active().all(|live| live.stream.is_some());
    let streams = active().filter_map(|live| live.stream);
    let most_silent = streams.max_by(|a, b| a.silent_s.total_cmp(&b.silent_s));
    let sizes = active().map(|live| live.engine);
    let size = sizes.max_by_key(|engine| engine.threads);
    let size = size.unwrap_or_default();
    let mut blocked: Vec<String> = active().flat_map(|live| live.blocked.clone()).collect();
    blocked.sort_unstable();
    blocked.dedup();
    let names: Vec<String> = all().filter_map(|live| live.account.clone()).collect();
    LiveState {
        server: None,
        account: (!names.is_empty()).then(|| names.join(", ")),
        // The earliest stage of all accounts.
        stage: stage(active().map(|live| live.stage.as_str())).to_owned(),
        paused: any_active && active().all(|live| live.paused),
        seeking: active().any(|live| live.seeking),
        blocked,
        arenas: active().flat_map(|live| live.arenas.clone()).collect(),
        challenges: active().flat_map(|live| live.challenges.clone()).collect(),
        matches: active().flat_map(|live| live.matches.clone()).collect(),
        idle: None,
        limits: Vec::new(),
        stream: most_silent.filter(|_| all_open),
        games: active().flat_map(|live| live.games.clone()).collect(),
        suspended_games: active()
            .flat_map(|live| live.suspended_games.clone())
            .collect(),
        requests: requests(accounts),
        stuck_game_recoveries: all().map(|live| live.stuck_game_recoveries).sum(),
        engine: EngineStatus {
            hash_mib: size.hash_mib,
            threads: size.threads,
            ..engine
        },
        // All accounts share them.
        externals: active()
            .next()
            .map_or_else(Vec::new, |live| live.externals.clone()),
        stopped: None,
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
    for requests in accounts.iter().flat_map(|account| &account.live.requests) {
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
