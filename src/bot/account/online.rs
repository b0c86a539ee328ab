//! Online state: the event stream opens and closes, and the token may become invalid.

use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::{Account, MAX_LISTED_GAMES, OFFLINE_POLL_INTERVAL};
use crate::bot::Error;
use crate::bot::account::quota::Limit;
use crate::bot::account::state_files::StateFile;
use crate::bot::reconnect::StreamEvent;
use crate::clock;
use crate::events;
use crate::lichess::model::{Event, GameInfo};
use crate::lichess::{Error as Failure, StreamError};

/// An instance younger than this may be the second one. Two instances that take the stream from each other reconnect
/// ever more slowly, and are silent for up to seven seconds.
const NEW_INSTANCE_AGE: Duration = Duration::from_secs(300);

/// The first instance takes the stream back within this time. One whose stream lived longer is not the second.
const TAKEOVER_WINDOW: Duration = Duration::from_secs(30);

/// Lichess allows 30 requests for the account in five minutes.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Clean closes of a young instance's stream that indicate another instance. Streams without any data do not count: a
/// proxy in front of Lichess may have answered.
const MAX_CLEAN_CLOSES: u32 = 3;

/// Time for which Lichess answers the event stream with 403, while it answers other requests, before the token is
/// taken to lack a scope.
const FORBIDDEN_TIMEOUT: Duration = Duration::from_secs(10);

impl Account {
    pub(super) fn on_stream(&mut self, event: StreamEvent<Event>) -> Result<(), Error> {
        match event {
            StreamEvent::Opened => self.on_online(),
            StreamEvent::Item(event) => self.on_event(event),
            StreamEvent::Lost { error, wait } => self.on_stream_lost(error, wait)?,
            StreamEvent::OpenFailed { error, wait } => self.on_stream_refused(&error, wait)?,
        }
        Ok(())
    }

    pub(super) fn on_online(&mut self) {
        self.offline = false;
        self.games_listed = false;
        self.forbidden_since = None;
        self.stream_activity = self
            .event_stream
            .stream()
            .map(|(stream, _)| stream.last_activity());
        self.stream_unreadable = false;
        self.first_online.get_or_insert_with(clock::now);
        let me = self.ctx.me.clone();
        info!("online as {me}");
        self.quota.charge(Limit::EventStreams, 1, clock::date());
        self.save(StateFile::Quota);
        self.health.update(|status| status.online = true);
        self.ctx.events.send(events::Event::Online {
            account: events::Player {
                name: me.to_string(),
                title: Some("BOT".into()),
                ..events::Player::default()
            },
            server: self.ctx.settings.lichess.url.to_string(),
        });
        self.reconcile();
    }

    fn on_stream_lost(&mut self, error: Option<StreamError>, wait: Duration) -> Result<(), Error> {
        let had_data = self
            .stream_activity
            .take()
            .is_some_and(|activity| activity.received_byte())
            && !self.stream_unreadable;
        if error.is_none() && had_data {
            if self.clean_closes == 0 {
                let was_online = self.first_online.map_or(Duration::ZERO, clock::since);
                self.closed_early = was_online < TAKEOVER_WINDOW;
            }
            self.clean_closes += 1;
            let is_young = self.closed_early && clock::since(self.started_at) < NEW_INSTANCE_AGE;
            if is_young && self.clean_closes >= MAX_CLEAN_CLOSES {
                return Err(Error::AnotherInstance(self.clean_closes));
            }
        }
        let why = error.map_or("Lichess closed the event stream".into(), |error| {
            error.to_string()
        });
        self.rate_limited = false;
        self.set_offline(why, wait);
        Ok(())
    }

    fn on_stream_refused(&mut self, error: &Failure, wait: Duration) -> Result<(), Error> {
        if error.is_unauthorized() {
            self.check_token();
        }
        // A proxy's 403 concerns the address, and passes.
        if error.lichess_error().is_some_and(|no| no.code == 403) {
            let since = *self.forbidden_since.get_or_insert_with(clock::now);
            let confirmed = self.token_confirmed_at.is_some_and(|at| at >= since);
            if confirmed && clock::since(since) >= FORBIDDEN_TIMEOUT {
                return Err(Error::TokenRejected(error.to_string()));
            }
            self.check_token();
        }
        self.rate_limited = error.error_response().is_some_and(|no| no.code == 429);
        self.set_offline(error.to_string(), wait);
        Ok(())
    }

    fn set_offline(&mut self, reason: String, wait: Duration) {
        warn!("offline, again in {wait:.1?}: {reason}");
        self.health.update(|status| status.online = false);
        let retry_in = Some(wait);
        self.ctx
            .events
            .send(events::Event::Offline { reason, retry_in });
        self.offline = true;
    }

    /// Whether a game may have started without an event. While requests fail, they become less frequent.
    pub(super) fn should_poll_games(&self) -> bool {
        // While Lichess limits us, every third time.
        let every = if self.offline && self.rate_limited {
            3 * OFFLINE_POLL_INTERVAL
        } else {
            OFFLINE_POLL_INTERVAL
        };
        if clock::since(self.games_requested_at) < every * (1 << self.list_failures.min(3)) / 2 {
            return false;
        }
        if self.offline {
            return true;
        }
        let activity = self
            .event_stream
            .stream()
            .map(|(stream, _)| stream.last_activity());
        let is_silent =
            activity.is_some_and(|activity| clock::since(activity.at()) >= OFFLINE_POLL_INTERVAL);
        is_silent && self.slots.arenas_awaited() > 0
    }

    /// Checks the token after a 401, or a 403 on the event stream, before giving up.
    pub(super) fn check_token(&mut self) {
        let is_recent = self
            .token_checked_at
            .is_some_and(|at| clock::since(at) < TOKEN_CHECK_INTERVAL);
        if is_recent {
            return;
        }
        self.token_checked_at = Some(clock::now());
        let client = self.ctx.client.clone();
        let request = async move { client.account().await };
        self.background
            .spawn_fallible(request, |account, response| match response {
                Ok(_) => {
                    account.token_confirmed_at = Some(clock::now());
                    Ok(())
                }
                Err(failure) => match failure.lichess_error().map(|refusal| refusal.code) {
                    Some(401 | 403) => Err(Error::TokenRejected(failure.to_string())),
                    _ => Ok(()),
                },
            });
    }

    /// Compares our state with what Lichess lists: streams may miss events.
    pub(super) fn reconcile(&mut self) {
        self.request_games();
        self.request_challenges();
    }

    /// Requests the list of challenges that wait for our answer.
    pub(super) fn request_challenges(&mut self) {
        if !self.challenges_request.start() {
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
                match list {
                    Ok(list) => account.on_challenges_listed(list.incoming, requested_at),
                    Err(failure) => info!("cannot read the list of challenges: {failure}"),
                }
            });
    }

    /// Requests the list of running games.
    pub(super) fn request_games(&mut self) {
        if !self.games_request.start() {
            return;
        }
        self.games_requested_at = clock::now();
        let first = !self.listed_once;
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
        self.games_listed = true;
        match list {
            Ok(list) => {
                self.listed_once = true;
                self.list_failures = 0;
                self.reconcile_games(list, requested_at);
                self.load_unfinished_games();
            }
            Err(failure) => {
                self.listed_once |= failure.is_rate_limited();
                self.list_failures += 1;
                // Once is enough while Lichess is unreachable.
                match self.list_failures {
                    1 => info!("cannot read the list of games: {failure}"),
                    _ => debug!("cannot read the list of games: {failure}"),
                }
            }
        }
    }

    fn on_games_request_done(&mut self) {
        if self.games_request.finish() {
            self.request_games();
        }
    }

    fn on_challenges_request_done(&mut self) {
        if self.challenges_request.finish() {
            self.request_challenges();
        }
    }

    /// Repeats the lists after a panic of a request, which may have been one of theirs.
    pub(super) fn on_request_panicked(&mut self) {
        self.on_games_request_done();
        self.on_challenges_request_done();
    }
}

/// Request that runs once at a time and is repeated if it was requested again meanwhile.
#[derive(Debug, Default)]
pub(super) struct CoalescedRequest {
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
