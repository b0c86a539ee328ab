//! Things that go wrong on purpose.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::failure::proxy_page;

/// The kinds of calls, as faults and statistics tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Account,
    Playing,
    TokenTest,
    Upgrade,
    EventStream,
    GameStream,
    Move,
    Chat,
    ChatLog,
    Abort,
    Resign,
    Draw,
    Takeback,
    ClaimVictory,
    ClaimDraw,
    Berserk,
    ChallengeCreate,
    ChallengeAccept,
    ChallengeDecline,
    ChallengeCancel,
    ChallengeList,
    ChallengeShow,
    BotsOnline,
    UsersStatus,
    User,
    Export,
    Ping,
    Other,
}

/// What happens to a call instead of, or after, the ordinary.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This answer, and nothing is done.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// The connection is reset before anything is done.
    Reset,
    /// The call waits, in the site's time, and then is done and answered as usual.
    Stall(Duration),
    /// The call is done, and then the connection is reset instead of an answer.
    AnswerLost,
    /// The call is done at once, the answer comes this much later.
    AnswerLate(Duration),
    /// The stream that this call opens breaks after this many lines (keep-alive lines not counted).
    Stream { after: usize, how: StreamFault },
}

impl Fault {
    /// An error answer with a JSON body.
    pub fn json(code: u16, body: &str) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: body.to_owned(),
        }
    }

    /// An error answer as the reverse proxy in front of the site gives it.
    pub fn html(code: u16) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: proxy_page(code),
        }
    }
}

/// How an open stream breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// It ends as if all were well.
    Eof,
    /// The connection is reset.
    Reset,
    /// It stays open and says nothing any more, not even keep-alive lines.
    Silence,
}

/// Which calls a fault strikes. What is `None` matches everything.
#[derive(Clone, Debug)]
pub struct Rule {
    pub endpoint: Option<Endpoint>,
    /// Name of the user who calls.
    pub user: Option<String>,
    /// Game or challenge id.
    pub game: Option<String>,
    /// The first matching call that is struck, counted from 1.
    pub nth: usize,
    /// How many calls in a row are struck.
    pub times: usize,
    pub fault: Fault,
}

impl Rule {
    /// Strikes the first call of this kind.
    pub fn on(endpoint: Endpoint, fault: Fault) -> Self {
        Self {
            endpoint: Some(endpoint),
            user: None,
            game: None,
            nth: 1,
            times: 1,
            fault,
        }
    }

    /// Only calls of this user.
    pub fn of_user(self, name: &str) -> Self {
        Self {
            user: Some(name.to_owned()),
            ..self
        }
    }

    /// Only calls in this game or challenge.
    pub fn in_game(self, id: &str) -> Self {
        Self {
            game: Some(id.to_owned()),
            ..self
        }
    }

    fn matches(&self, endpoint: Endpoint, user: Option<&str>, game: Option<&str>) -> bool {
        let same_user = |mine: &String| user.is_some_and(|user| mine.eq_ignore_ascii_case(user));
        self.endpoint.is_none_or(|mine| mine == endpoint)
            && self.user.as_ref().is_none_or(same_user)
            && self
                .game
                .as_ref()
                .is_none_or(|mine| game == Some(mine.as_str()))
    }

    /// Strikes from this call on, counted from 1.
    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    /// Strikes so many calls in a row.
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

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
