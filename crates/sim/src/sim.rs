//! Handle to a simulated site.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use knightwatch_util::sync::lock;
use tokio::sync::{Notify, mpsc, watch};

use crate::analysis::broker::Broker;
use crate::arena::options::ArenaOptions;
use crate::faults::{Faults, StreamFault};
use crate::options::SimOptions;
use crate::players::{PlayerKind, PlayerOptions, SearchPool};
use crate::round::chat::Room;
use crate::round::summary::GameSummary;
use crate::site::team::NewTeam;
use crate::site::time::TimeSource;
use crate::site::{ApiError, GameId, Notice, SimTime, SiteState, UserId};
use crate::time_control::TimeControl;

/// Nodes per move of the AI of the site at each level.
const NODES_PER_LEVEL: [u64; 8] = [8, 40, 150, 500, 1_500, 5_000, 15_000, 50_000];

/// Numbers of objects on a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimStats {
    /// Accounts, including those of built-in players and of the AI.
    pub accounts: usize,
    /// Challenges, including closed ones, which are kept for three hours of the site's time.
    pub challenges: usize,
    /// Open seeks in the lobby.
    pub seeks: usize,
    /// Ongoing and archived games.
    pub games: usize,
    /// Games that are being played.
    pub ongoing_games: usize,
    /// Open event and game streams.
    pub streams: usize,
}

/// Handle to a simulated site; clones share the site.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    time: TimeSource,
    state: Mutex<SiteState>,
    faults: Faults,
    seed: u64,
    /// Notified at every change of a game.
    game_changed: Arc<Notify>,
    finished: watch::Sender<usize>,
    search_pool: SearchPool,
    broker: Broker,
    new_players: mpsc::UnboundedSender<NewPlayer>,
    /// Taken when the site is served.
    new_players_rx: Mutex<Option<mpsc::UnboundedReceiver<NewPlayer>>>,
}

/// A built-in player that has an account and is to play.
pub(crate) struct NewPlayer {
    pub options: PlayerOptions,
    pub notices: mpsc::UnboundedReceiver<Notice>,
    pub created_at: SimTime,
}

/// Logs a warning if other machines can reach the site, because its tokens can be guessed.
pub fn warn_if_reachable(address: SocketAddr) {
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            "everybody who reaches this machine can act as any user of the site on {address}, because tokens are made from \
             names; listen on 127.0.0.1 to serve this machine only"
        );
    }
}

/// Returns the personal token of a user in every simulator: `lip_` and the name in lower case.
pub fn token_of(name: &str) -> String {
    UserId::of(name).personal_token()
}

/// Setup and observation.
impl Sim {
    /// Creates a site. It is not reachable before [`Sim::serve`].
    pub fn new(options: SimOptions) -> Self {
        let time = TimeSource::new(options.speed);
        let seed = options.seed;
        let finished = watch::Sender::new(0);
        let game_changed = Arc::new(Notify::new());
        let faults = Faults::new(seed);
        for rule in &options.faults {
            faults.add(rule.clone());
        }
        let state = SiteState::new(options, finished.clone(), game_changed.clone(), time.now());
        let (new_players, new_players_rx) = mpsc::unbounded_channel();
        Self(Arc::new(Shared {
            time,
            state: Mutex::new(state),
            faults,
            seed,
            game_changed,
            finished,
            search_pool: SearchPool::default(),
            broker: Broker::default(),
            new_players,
            new_players_rx: Mutex::new(Some(new_players_rx)),
        }))
    }

    /// Returns the personal token of a user: `lip_` and the name in lower case.
    pub fn token_of(&self, name: &str) -> String {
        token_of(name)
    }

    /// Adds a token with these scopes to a user. Does nothing if there is no such user.
    pub fn add_token(&self, token: &str, name: &str, scopes: &[&str]) {
        let users = &mut self.state().users;
        if let Some(id) = users.by_name(name).map(|user| user.id.clone()) {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            users.add_token(token.to_owned(), id, scopes);
        }
    }

    /// Adds a built-in player, which plays while the site is served. The account is created if needed. Does nothing if
    /// the player exists.
    pub fn add_player(&self, player: PlayerOptions) {
        for options in player.expand_copies() {
            let created_at = self.now();
            let notices = self.state().add_builtin_player(&options, created_at);
            if let Some(notices) = notices {
                // The receiver is gone once the site is no longer served.
                let _ = self.0.new_players.send(NewPlayer {
                    options,
                    notices,
                    created_at,
                });
            }
        }
    }

    /// Creates an arena and returns its id.
    ///
    /// # Errors
    /// The reason why the options are invalid.
    pub fn add_arena(&self, options: &ArenaOptions) -> Result<String, String> {
        let id = self.state().add_arena(options, self.now())?;
        Ok(id.to_string())
    }

    /// Creates a team.
    pub fn add_team(&self, team: NewTeam) {
        self.state().add_team(team, self.now());
    }

    /// Returns the numbers of objects on the site.
    pub fn stats(&self) -> SimStats {
        let state = self.state();
        let (games, ongoing_games, game_streams) = state.rounds.counts();
        SimStats {
            accounts: state.users.len(),
            challenges: state.challenges.len(),
            seeks: state.lobby.len(),
            games,
            ongoing_games,
            streams: state.event_streams.len() + game_streams,
        }
    }

    /// Returns the archived games, then the ongoing ones.
    pub fn games(&self) -> Vec<GameSummary> {
        self.state().rounds.summaries(self.now())
    }

    /// Returns the archived games after the first `first` ones in order of their ends, and how many games have finished
    /// in total. Games that are no longer archived are omitted.
    pub fn finished_after(&self, first: usize) -> (Vec<GameSummary>, usize) {
        self.state().rounds.finished_after(first, self.now())
    }

    /// Returns the number of finished games as a watch channel.
    pub fn finished_count(&self) -> watch::Receiver<usize> {
        self.0.finished.subscribe()
    }

    /// Advances the site's time at once, with all clocks and timers.
    pub fn advance(&self, by: Duration) {
        self.0.time.advance(by);
    }

    /// Time since the start of the site, in its own time.
    pub fn elapsed(&self) -> Duration {
        self.time().elapsed()
    }

    /// Faults of the site, to which tests add rules.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Applies a fault to open streams of this user, or of all users: the streams of this game, or all game and event
    /// streams.
    pub fn break_streams(&self, user: Option<&str>, game: Option<&str>, fault: StreamFault) {
        self.state()
            .break_streams(user, game, [game.is_none(), true], fault);
    }

    /// Restarts the site: all streams break with this fault, requests are answered with 502 until it is up again, and
    /// players are compensated with some time.
    pub fn restart(&self, downtime: Duration, fault: StreamFault) {
        let now = self.now();
        self.state().go_down(now + downtime, fault, now);
    }
}

/// Actions of users that the API of Lichess does not offer to clients.
impl Sim {
    /// Starts a casual game between two users, White first, as an organizer with both tokens can. Returns the game id,
    /// or `None` if one of the users does not exist.
    pub fn pair(
        &self,
        players: [&str; 2],
        clock: TimeControl,
        rules: &[&'static str],
    ) -> Option<String> {
        let id = self.state().pair(players, clock, rules, self.now());
        id.map(|id| id.to_string())
    }

    /// Posts a line in the spectator chat. Does nothing if there is no such user or game.
    pub fn say_as_spectator(&self, user: &str, game: &str, text: &str) {
        let mut state = self.state();
        let user = state.users.by_name(user).map(|user| user.id.clone());
        if let (Some(user), Some(game)) = (user, GameId::parse_any(game)) {
            state.say(&user, game, Room::Spectator, text);
        }
    }

    /// Offers a rematch as the button of a finished game does, or accepts the opponent's offer. The opponent receives a
    /// challenge with the returned id.
    ///
    /// # Errors
    /// The site's error message if no rematch can be offered now.
    pub fn offer_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_request(user, game, SiteState::offer_rematch)
    }

    /// Withdraws the offer. Returns whether there was one.
    pub fn withdraw_rematch(&self, user: &str, game: &str) -> bool {
        GameId::parse_any(game).is_some_and(|game| {
            self.state()
                .withdraw_rematch(&UserId::of(user), game, self.now())
        })
    }

    /// Creates a regular challenge to a rematch, as the web page of a finished game does. Returns its id.
    ///
    /// # Errors
    /// The site's error message if no rematch of this game is possible.
    pub fn challenge_to_rematch(&self, user: &str, game: &str) -> Result<String, String> {
        self.rematch_request(user, game, SiteState::challenge_to_rematch)
    }

    fn rematch_request(
        &self,
        user: &str,
        game: &str,
        request: impl Fn(&mut SiteState, &UserId, GameId, SimTime) -> Result<GameId, ApiError>,
    ) -> Result<String, String> {
        GameId::parse_any(game)
            .ok_or_else(ApiError::not_found)
            .and_then(|game| request(&mut self.state(), &UserId::of(user), game, self.now()))
            .map(|id| id.to_string())
            .map_err(|failure| failure.to_string())
    }
}

/// Access for the HTTP server and the built-in players.
impl Sim {
    pub(crate) fn time(&self) -> &TimeSource {
        &self.0.time
    }

    pub(crate) fn now(&self) -> SimTime {
        self.0.time.now()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SiteState> {
        lock(&self.0.state)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.0.seed
    }

    pub(crate) fn search_pool(&self) -> &SearchPool {
        &self.0.search_pool
    }

    pub(crate) fn broker(&self) -> &Broker {
        &self.0.broker
    }

    /// Notified at every change of a game.
    pub(crate) fn game_changed(&self) -> &Notify {
        &self.0.game_changed
    }

    /// Takes the queue of new built-in players, once.
    pub(crate) fn take_new_players(&self) -> Option<mpsc::UnboundedReceiver<NewPlayer>> {
        let receiver = &self.0.new_players_rx;
        lock(receiver).take()
    }

    /// Returns the AI player of this level, which is added when it is first needed.
    pub(crate) fn add_ai_player(&self, level: u8) -> UserId {
        let id = self.state().users.add_ai(level, self.now());
        let nodes = NODES_PER_LEVEL[usize::from(level.clamp(1, 8)) - 1];
        // Does nothing if the player exists.
        self.add_player(PlayerOptions {
            delay: Duration::ZERO..=Duration::ZERO,
            ..PlayerOptions::new(id.as_str(), PlayerKind::Engine { nodes })
        });
        id
    }

    /// Waits until the site is up. Starts it if its outage is over.
    pub(crate) async fn wait_until_up(&self) {
        loop {
            let back_at = {
                let mut state = self.state();
                state.is_down(self.now());
                state.outage.back_at()
            };
            match back_at {
                Some(moment) => self.time().sleep_until(moment).await,
                None => return,
            }
        }
    }
}
