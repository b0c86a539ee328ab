//! Requests for the lists of games and challenges, which are compared with our own state, because streams may miss
//! events; and for block lists.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::{Account, MAX_LISTED_GAMES, OFFLINE_POLL_INTERVAL};
use crate::backoff::Backoff;
use crate::bot::account::state_files::StateFile;
use crate::bot::block_lists;
use crate::clock;
use crate::lichess::Error as Failure;
use crate::lichess::model::{GameInfo, Username};

/// Upper limit of the interval between requests for the list of games that fail: it may be all that shows an arena game, which
/// is lost if it is not started within about 16 seconds. While Lichess limits requests, the client sends none.
const MAX_FAILURE_INTERVAL: Duration = Duration::from_secs(6);

/// State of the requests.
pub(super) struct ListRequests {
    games: CoalescedRequest,
    challenges: CoalescedRequest,
    /// The list of games was read since the stream was opened.
    games_listed: bool,
    /// The list of games was read once, or Lichess has limited the request. From then on the request obeys pauses.
    listed_once: bool,
    /// When the list of games was last requested, and how many requests in a row have failed.
    games_requested_at: Instant,
    failures: u32,
    /// The last request for the list of challenges has failed.
    challenges_failed: bool,
}

impl ListRequests {
    pub(super) fn new() -> Self {
        Self {
            games: CoalescedRequest::default(),
            challenges: CoalescedRequest::default(),
            games_listed: false,
            listed_once: false,
            games_requested_at: clock::now(),
            failures: 0,
            challenges_failed: false,
        }
    }

    /// Returns whether the running games are known.
    pub(super) fn games_listed(&self) -> bool {
        self.games_listed
    }

    /// Games may have started or ended unnoticed.
    pub(super) fn invalidate_games(&mut self) {
        self.games_listed = false;
    }

    /// Returns whether to request the list of games again, at this interval. While requests fail, they become less
    /// frequent.
    pub(super) fn is_due(&self, interval: Duration) -> bool {
        let backoff = Backoff::new(interval / 2, interval.max(MAX_FAILURE_INTERVAL));
        // To the nearest tick: the next one would be late.
        let waited = clock::since(self.games_requested_at) + OFFLINE_POLL_INTERVAL / 2;
        waited >= backoff.delay(self.failures)
    }
}

/// Request that runs once at a time and is repeated if it was requested again meanwhile.
#[derive(Debug, Default)]
struct CoalescedRequest {
    in_flight: bool,
    repeat: bool,
}

impl CoalescedRequest {
    /// Requests a run. Whether it is to be started now.
    fn start(&mut self) -> bool {
        self.repeat = self.in_flight;
        !std::mem::replace(&mut self.in_flight, true)
    }

    /// The run has finished. Whether it is to be repeated.
    fn finish(&mut self) -> bool {
        self.in_flight = false;
        std::mem::take(&mut self.repeat)
    }
}

impl Account {
    /// Compares our state with what Lichess lists: streams may miss events.
    pub(super) fn reconcile(&mut self) {
        self.request_games();
        self.request_challenges();
    }

    /// Requests the list of open challenges, of others and of ours.
    pub(super) fn request_challenges(&mut self) {
        if !self.connection.lists.challenges.start() {
            return;
        }
        let client = self.ctx.client.clone();
        let request = async move {
            let requested_at = clock::now();
            (requested_at, client.challenges().await)
        };
        self.background
            .spawn(request, |account, (requested_at, list)| {
                account.on_challenges_request_done();
                let failed_before = std::mem::replace(
                    &mut account.connection.lists.challenges_failed,
                    list.is_err(),
                );
                match list {
                    Ok(list) => {
                        let (theirs, ours) = (list.incoming.len(), list.outgoing.len());
                        debug!("open challenges: {theirs} to us, {ours} of ours");
                        account.find_lost_challenges(&list.outgoing);
                        account.on_own_challenges_listed(&list.outgoing);
                        account.on_challenges_listed(list.incoming, requested_at);
                    }
                    Err(failure) => {
                        info!("cannot read the list of challenges: {failure}");
                        // The token lacks the scope, or there will be no list for a while: the queue is served without
                        // it.
                        let fails_for_long = failed_before && !account.connection.is_offline();
                        if fails_for_long || failure.is_limited() || failure.is_forbidden() {
                            account.reassess_queue();
                        }
                    }
                }
            });
    }

    /// Requests the list of running games.
    pub(super) fn request_games(&mut self) {
        if !self.connection.lists.games.start() {
            return;
        }
        self.connection.lists.games_requested_at = clock::now();
        let first = !self.connection.lists.listed_once;
        let client = self.ctx.client.clone();
        let request = async move {
            let requested_at = clock::now();
            let list = if first {
                client.playing_past_pauses(MAX_LISTED_GAMES).await
            } else {
                client.playing(MAX_LISTED_GAMES).await
            };
            (requested_at, list)
        };
        self.background
            .spawn(request, |account, (requested_at, list)| {
                account.on_games_request_done();
                account.on_games_listed(list, requested_at);
            });
    }

    fn on_games_listed(&mut self, list: Result<Vec<GameInfo>, Failure>, requested_at: Instant) {
        self.connection.lists.games_listed = true;
        match list {
            Ok(list) => {
                self.connection.lists.listed_once = true;
                self.connection.lists.failures = 0;
                self.reconcile_games(list, requested_at);
                self.load_unfinished_games();
            }
            Err(failure) => {
                self.connection.lists.listed_once |= failure.is_rate_limited();
                self.connection.lists.failures += 1;
                // Once is enough while Lichess is unreachable.
                match self.connection.lists.failures {
                    1 => info!("cannot read the list of games: {failure}"),
                    _ => debug!("cannot read the list of games: {failure}"),
                }
            }
        }
    }

    fn on_games_request_done(&mut self) {
        if self.connection.lists.games.finish() {
            self.request_games();
        }
    }

    fn on_challenges_request_done(&mut self) {
        if self.connection.lists.challenges.finish() {
            self.request_challenges();
        }
    }

    /// Reads the block lists that are due.
    pub(super) fn read_block_lists(&mut self) {
        while let Some((list, etag)) = self.state.block_lists.take_due(clock::now()) {
            let request = async move { (block_lists::fetch(&list, etag.as_deref()).await, list) };
            self.background.spawn(request, |account, (result, list)| {
                let lists = &mut account.state.block_lists;
                if lists.on_fetched(&list, result, clock::now()) {
                    account.matchmaking.set_listed(lists.all_names());
                    account.save(StateFile::BlockLists);
                }
            });
        }
    }

    /// The block list of challenges that contains a user.
    pub(super) fn listed(&self, user: &Username) -> Option<String> {
        self.state.block_lists.list_of(user, &self.ctx.settings)
    }

    /// Repeats the lists after a panic of a request, which may have been one of theirs.
    pub(super) fn on_request_panicked(&mut self) {
        self.on_games_request_done();
        self.on_challenges_request_done();
    }
}
