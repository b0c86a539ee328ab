//! Status of several accounts of one daemon, of each and combined.

use super::wire::{Account, Idle, Offline, Status, epoch_ms};
use crate::events::Event;

impl Status {
    /// Updates the status with an event of its account.
    pub(super) fn on_event(&mut self, event: &Event, now: u64) {
        match event {
            Event::Online { account, .. } => {
                self.account = Some(account.clone());
                self.online = true;
                self.offline = None;
            }
            Event::Offline { reason, retry_in } => {
                self.online = false;
                self.offline = Some(Offline::of(reason, *retry_in, now));
            }
            Event::Idle { reason, next } => {
                self.idle = Some(Idle {
                    reason: reason.clone(),
                    next: next.map(epoch_ms),
                });
            }
            Event::Draining { games } => self.draining = Some(*games),
            Event::Paused { paused } => self.paused = *paused,
            _ => {}
        }
    }

    /// Returns whether the account plays no more until the next start of the program.
    fn has_ended(&self) -> bool {
        self.offline
            .as_ref()
            .is_some_and(|offline| offline.retry_at.is_none())
    }

    /// Updates the combined status with an event of one of several accounts.
    pub(super) fn on_account_event(&mut self, name: &str, event: &Event, now: u64) {
        let by_name = |account: &Account| account.name.as_str().cmp(name);
        let index = self
            .accounts
            .binary_search_by(by_name)
            .unwrap_or_else(|index| {
                let account = Account {
                    name: name.to_owned(),
                    status: Self::default(),
                };
                self.accounts.insert(index, account);
                index
            });
        self.accounts[index].status.on_event(event, now);
        let accounts = std::mem::take(&mut self.accounts);
        *self = Self::combine(accounts);
    }

    /// Removes the idle state, because a game of this account is running.
    pub(super) fn clear_idle(&mut self, name: &str) {
        self.idle = None;
        let account = self
            .accounts
            .iter_mut()
            .find(|account| account.name.eq_ignore_ascii_case(name));
        if let Some(account) = account {
            account.status.idle = None;
        }
    }

    /// Updates the games that accounts wait for, after a game of this account: it has `games` left, all have `all`.
    pub(super) fn on_game_over(&mut self, name: &str, games: usize, all: usize) {
        let by_name = |account: &&mut Account| account.name.eq_ignore_ascii_case(name);
        if let Some(account) = self.accounts.iter_mut().find(by_name) {
            account.status.draining = account.status.draining.and(Some(games));
        }
        self.draining = self.draining.and(Some(all));
    }

    /// Combined status of the accounts that have not ended: online if any is; paused, idle and draining if all are; offline
    /// if none is online.
    fn combine(accounts: Vec<Account>) -> Self {
        let all_ended = accounts.iter().all(|account| account.status.has_ended());
        let all = || accounts.iter().map(|account| &account.status);
        let each = || all().filter(|status| all_ended || !status.has_ended());
        let online = each().any(|status| status.online);
        let first = each().find(|status| status.online == online);
        let idle = || each().filter_map(|status| status.idle.clone());
        let soonest = idle().min_by_key(|idle| idle.next.unwrap_or(u64::MAX));
        let draining = each().map(|status| status.draining);
        Self {
            account: first.and_then(|status| status.account.clone()),
            online,
            offline: each()
                .find_map(|status| status.offline.clone())
                .filter(|_| !online),
            idle: soonest.filter(|_| idle().count() == each().count()),
            draining: draining.sum(),
            paused: each().all(|status| status.paused),
            accounts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Player;

    fn online(name: &str) -> Event {
        Event::Online {
            account: Player {
                name: name.to_owned(),
                ..Player::default()
            },
            server: String::new(),
        }
    }

    #[test]
    fn status_of_several_accounts_is_combined() {
        let mut all = Status::default();
        all.on_account_event("Bert", &online("Bert"), 0);
        all.on_account_event("Anna", &online("Anna"), 0);
        let offline = |retry_in| Event::Offline {
            reason: "gone".to_owned(),
            retry_in,
        };
        let later = Some(std::time::Duration::from_secs(5));
        all.on_account_event("Anna", &offline(later), 0);
        all.on_account_event("Anna", &Event::Paused { paused: true }, 0);
        assert!(all.online && all.offline.is_none() && !all.paused);
        assert_eq!(
            all.account.as_ref().map(|me| me.name.as_str()),
            Some("Bert")
        );
        let names = all.accounts.iter().map(|account| account.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["Anna", "Bert"]);
        assert!(all.accounts[0].status.paused && !all.accounts[0].status.online);
        let idle = |next| Event::Idle {
            reason: format!("{next:?}"),
            next,
        };
        all.on_account_event("Anna", &idle(None), 0);
        assert_eq!(all.idle, None);
        all.on_account_event("Bert", &idle(Some(std::time::UNIX_EPOCH)), 0);
        assert_eq!(all.idle.as_ref().and_then(|idle| idle.next), Some(0));
        all.clear_idle("bert");
        assert!(all.idle.is_none() && all.accounts[1].status.idle.is_none());
        all.on_account_event("Anna", &Event::Draining { games: 1 }, 0);
        assert_eq!(all.draining, None);
        all.on_account_event("Bert", &Event::Draining { games: 2 }, 0);
        assert_eq!(all.draining, Some(3));
        all.on_game_over("bert", 1, 2);
        assert_eq!(all.draining, Some(2));
        let games = all.accounts.iter().map(|account| account.status.draining);
        assert_eq!(games.collect::<Vec<_>>(), [Some(1), Some(1)]);
        // An account that has ended does not count.
        all.on_account_event("Anna", &offline(None), 0);
        assert_eq!(all.draining, Some(1));
        all.on_account_event("Anna", &Event::Paused { paused: false }, 0);
        all.on_account_event("Bert", &Event::Paused { paused: true }, 0);
        assert!(all.online && all.paused);
        all.on_account_event("Bert", &offline(None), 0);
        assert_eq!(
            all.offline.as_ref().map(|offline| offline.reason.as_str()),
            Some("gone")
        );
    }

    #[test]
    fn account_that_stops_alone_counts_its_own_games() {
        let mut all = Status::default();
        all.on_account_event("Anna", &Event::Draining { games: 1 }, 0);
        all.on_account_event("Bert", &online("Bert"), 0);
        all.on_game_over("Bert", 0, 1);
        assert_eq!(all.accounts[0].status.draining, Some(1));
        all.on_game_over("Anna", 0, 0);
        assert_eq!(all.accounts[0].status.draining, Some(0));
        assert_eq!(
            (all.accounts[1].status.draining, all.draining),
            (None, None)
        );
    }
}
