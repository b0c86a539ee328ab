//! State of the site, behind one lock.
//!
//! Each subsystem owns its part and knows none of the others. [`SiteState`] only holds them; the methods that change it
//! are in [`requests`](crate::site::requests), and [`apply`](crate::site::apply) carries changes from one subsystem to the
//! others.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::analysis::ExternalEngines;
use crate::arena::arenas::Arenas;
use crate::challenge::challenges::Challenges;
use crate::lobby::Lobby;
use crate::options::SimOptions;
use crate::quirks::Quirks;
use crate::round::rematch::Rematches;
use crate::round::rounds::Rounds;
use crate::round::spectators::Spectators;
use crate::site::crosstable::Crosstables;
use crate::site::outage::Outage;
use crate::site::schedule::Schedule;
use crate::site::streams::EventStreams;
use crate::site::{GameId, Limits, SimTime, Teams, Users};

/// The subsystems, and what they share.
pub(crate) struct SiteState {
    pub users: Users,
    pub limits: Limits,
    pub crosstables: Crosstables,
    pub teams: Teams,
    pub challenges: Challenges,
    pub lobby: Lobby,
    pub rounds: Rounds,
    pub rematches: Rematches,
    pub arenas: Arenas,
    pub event_streams: EventStreams,
    pub spectators: Spectators,
    pub schedule: Schedule,
    pub outage: Outage,
    pub external_engines: ExternalEngines,
    pub quirks: Arc<Quirks>,
    pub rng: fastrand::Rng,
    /// Address of the site as `http://host:port`.
    pub base_url: String,
}

impl SiteState {
    pub(crate) fn new(
        options: SimOptions,
        finished_count: watch::Sender<usize>,
        game_changed: Arc<Notify>,
        now: SimTime,
    ) -> Self {
        let mut users = Users::default();
        for user in options.users {
            users.add(user, now);
        }
        let limits = Limits::new(options.limits, options.quirks.limiter, options.nginx_limit)
            .with_bot_games(options.quirks.bot_games);
        let quirks = Arc::new(options.quirks);
        Self {
            users,
            limits,
            external_engines: ExternalEngines::default(),
            crosstables: Crosstables::default(),
            teams: Teams::default(),
            challenges: Challenges::default(),
            lobby: Lobby::default(),
            rounds: Rounds::new(
                options.kept_games,
                Arc::clone(&quirks),
                finished_count,
                game_changed,
            ),
            rematches: Rematches::default(),
            arenas: Arenas::default(),
            event_streams: EventStreams::default(),
            spectators: Spectators::default(),
            schedule: Schedule::default(),
            outage: Outage::default(),
            quirks,
            rng: fastrand::Rng::with_seed(options.seed),
            base_url: "http://127.0.0.1".to_owned(),
        }
    }

    /// Returns an id that no game or challenge has.
    pub(crate) fn new_id(&mut self) -> GameId {
        unused_id(&mut self.rng, &self.rounds, &self.challenges)
    }
}

/// Returns an id that no game or challenge has.
pub(crate) fn unused_id(
    rng: &mut fastrand::Rng,
    rounds: &Rounds,
    challenges: &Challenges,
) -> GameId {
    loop {
        let id = GameId::random(rng);
        if !rounds.contains(id) && !challenges.contains(id) {
            return id;
        }
    }
}
