//! When something goes wrong.

use super::{Endpoint, Fault};

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

    pub(super) fn matches(
        &self,
        endpoint: Endpoint,
        user: Option<&str>,
        game: Option<&str>,
    ) -> bool {
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
