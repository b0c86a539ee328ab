//! Online state: the event stream opens and closes, and the token may become invalid.

use std::time::Duration;

use tracing::{info, warn};

use super::{Account, OFFLINE_POLL_INTERVAL};
use crate::backoff::Backoff;
use crate::bot::Error;
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::account::state_files::StateFile;
use crate::bot::reconnect::StreamEvent;
use crate::clock;
use crate::events;
use crate::lichess::model::Event;
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
        let backoff = Backoff::new(every / 2, 4 * every);
        if clock::since(self.games_requested_at) < backoff.delay(self.list_failures) {
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
        self.background
            .spawn(async move { TaskResult::TokenChecked(client.account().await.map(drop)) });
    }
}
