//! Things that go wrong on purpose.

mod endpoint;
mod fault;
mod rule;

pub use endpoint::Endpoint;
pub use fault::{Fault, StreamFault};
pub use rule::Rule;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The faults that are planted in a site, and how often it was called.
#[derive(Default)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// With the number of calls that matched so far.
    rules: Vec<(Rule, usize)>,
    calls: HashMap<Endpoint, usize>,
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plants a fault.
    pub fn add(&self, rule: Rule) {
        self.state().rules.push((rule, 0));
    }

    /// Takes all planted faults away.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// How many calls of this kind were made so far, by whomever.
    pub fn calls(&self, endpoint: Endpoint) -> usize {
        self.state().calls.get(&endpoint).copied().unwrap_or(0)
    }

    /// Counts a call, and says what is wrong with it.
    pub(super) fn strike(
        &self,
        endpoint: Endpoint,
        user: Option<&str>,
        game: Option<&str>,
    ) -> Option<Fault> {
        let mut state = self.state();
        *state.calls.entry(endpoint).or_default() += 1;
        let mut struck = None;
        for (rule, seen) in &mut state.rules {
            if !rule.matches(endpoint, user, game) {
                continue;
            }
            *seen += 1;
            let due = *seen >= rule.nth && *seen - rule.nth < rule.times;
            if due && struck.is_none() {
                struck = Some(rule.fault.clone());
            }
        }
        struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_strikes_the_calls_it_counts() {
        let faults = Faults::default();
        faults.add(
            Rule::on(Endpoint::Move, Fault::Reset)
                .of_user("Bobby")
                .nth(2)
                .times(2),
        );
        let strike = |endpoint, user| {
            faults
                .strike(endpoint, Some(user), Some("abcdefgh"))
                .is_some()
        };
        assert!(!strike(Endpoint::Move, "alice"));
        assert!(!strike(Endpoint::Move, "bobby"));
        assert!(!strike(Endpoint::Chat, "bobby"));
        assert!(strike(Endpoint::Move, "bobby"));
        assert!(strike(Endpoint::Move, "bobby"));
        assert!(!strike(Endpoint::Move, "bobby"));
        assert_eq!(faults.calls(Endpoint::Move), 5);
    }
}
