//! Games started by a third party (bulk pairing).

use crate::Sim;
use crate::options::TimeControl;
use crate::round::{Setup, Source};
use crate::site::id::GameId;
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::variant::Variant;

impl SiteState {
    /// Starts a casual game between two users, White first, without a challenge. Returns `None` if one of them does not
    /// exist.
    pub(crate) fn pair(
        &mut self,
        players: [&str; 2],
        clock: TimeControl,
        rules: &[&'static str],
        now: SimTime,
    ) -> Option<GameId> {
        let known = players.map(|name| self.user_by_name(name).map(|user| user.id.clone()));
        let [Some(white), Some(black)] = known else {
            tracing::warn!("no game was started: {players:?} do not both exist");
            return None;
        };
        let id = self.new_id();
        let setup = Setup {
            id,
            users: [white, black],
            source: Source::Api,
            variant: Variant::Standard,
            start: None,
            time_control: clock,
            rated: false,
            rules: rules.to_vec(),
        };
        self.start_round(setup, now);
        Some(id)
    }
}

impl Sim {
    /// Starts a casual game between two users, White first, as an organizer with both tokens can. Returns the game id,
    /// or `None` if one of the users does not exist.
    pub fn pair(
        &self,
        players: [&str; 2],
        clock: TimeControl,
        rules: &[&'static str],
    ) -> Option<String> {
        let now = self.time().now();
        let id = self.state().pair(players, clock, rules, now);
        id.map(|id| id.to_string())
    }
}
