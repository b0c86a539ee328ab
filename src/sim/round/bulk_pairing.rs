//! Games that somebody else arranges.

use crate::sim::Sim;
use crate::sim::options::TimeControl;
use crate::sim::round::{Setup, Source};
use crate::sim::site::id::GameId;
use crate::sim::site::state::SiteState;
use crate::sim::site::time::SimTime;
use crate::sim::site::variant::Variant;

impl SiteState {
    /// Lets two users play whom nobody asked, White first: a casual game begins, and they learn of it by its start
    /// alone. Nothing happens when they are not both here.
    pub fn pair(
        &mut self,
        players: [&str; 2],
        clock: TimeControl,
        rules: &[&'static str],
        now: SimTime,
    ) -> Option<GameId> {
        let known = players.map(|name| self.user_by_name(name).map(|user| user.id.clone()));
        let [Some(white), Some(black)] = known else {
            tracing::warn!("nobody is paired: {players:?} are not both here");
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
    /// Pairs two users, White first, as an organiser who holds the tokens of both does. Tells the id of the game, or
    /// nothing when they are not both here.
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
