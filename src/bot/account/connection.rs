//! Connection to Lichess: the event stream opens and closes, and the token may become invalid.

use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::{Account, OFFLINE_POLL_INTERVAL};
use crate::bot::Error;
use crate::bot::account::lists::ListRequests;
use crate::bot::account::quota::Limit;
use crate::bot::reconnect::{ReconnectingStream, StreamEvent};
use crate::clock;
use crate::events;
use crate::lichess::ReconnectPolicy;
use crate::lichess::model::Event;
use crate::lichess::{Client, Error as Failure, EventStream, LastActivity};

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

/// Time for which Lichess rejects the token before it is taken to be invalid: a server in trouble may answer 401 too.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Since when Lichess rejects the token, if it does.
#[derive(Default)]
pub(super) struct Rejection(Option<Instant>);

impl Rejection {
    /// Lichess rejects the token. Returns how much longer it may.
    ///
    /// # Errors
    /// If that has lasted for [`REJECTION_TIMEOUT`].
    pub(super) fn on_rejected(&mut self, rejected: &Failure) -> Result<Duration, Error> {
        let since = *self.0.get_or_insert_with(clock::now);
        let left = REJECTION_TIMEOUT.saturating_sub(clock::since(since));
        match left.is_zero() {
            true => Err(Error::TokenRejected(rejected.to_string())),
            false => Ok(left),
        }
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}

/// Event stream of the account, and its history.
pub(super) struct Connection {
    pub lists: ListRequests,
    stream: ReconnectingStream<EventStream>,
    started_at: Instant,
    first_online: Option<Instant>,
    clean_closes: u32,
    /// The first stream of this account was closed right after it was opened.
    closed_early: bool,
    /// Activity of the current stream, and whether it has brought an unreadable line.
    activity: Option<LastActivity>,
    unreadable: bool,
    /// The stream is closed, perhaps because of a 429.
    offline: bool,
    rate_limited: bool,
    /// Since when Lichess answers the stream with 403.
    forbidden_since: Option<Instant>,
    /// When the token was last checked, and when it was last confirmed.
    token_checked_at: Option<Instant>,
    token_confirmed_at: Option<Instant>,
    rejection: Rejection,
}

impl Connection {
    /// Opens the stream, after this wait if there is one.
    pub(super) fn new(client: Client, wait: Option<Duration>) -> Self {
        let mut stream = ReconnectingStream::new(ReconnectPolicy::events(), move |silence| {
            let client = client.clone();
            async move { client.events(silence).await }
        });
        if let Some(wait) = wait {
            stream.reopen(wait);
        }
        Self {
            lists: ListRequests::new(),
            stream,
            started_at: clock::now(),
            first_online: None,
            clean_closes: 0,
            closed_early: false,
            activity: None,
            unreadable: false,
            offline: wait.is_some(),
            rate_limited: false,
            forbidden_since: None,
            token_checked_at: None,
            token_confirmed_at: None,
            rejection: Rejection::default(),
        }
    }

    /// Returns the next event of the stream. Cancel safe.
    pub(super) async fn next(&mut self) -> StreamEvent<Event> {
        self.stream.next().await
    }

    pub(super) fn is_offline(&self) -> bool {
        self.offline
    }

    /// Returns whether the stream is open and the running games are known.
    pub(super) fn is_ready(&self) -> bool {
        self.lists.games_listed() && self.stream.is_open()
    }

    /// Start and last activity of the open stream.
    pub(super) fn activity(&self) -> Option<(Instant, LastActivity)> {
        let (stream, since) = self.stream.stream()?;
        Some((since, stream.last_activity()))
    }

    /// The stream has brought an unreadable line.
    pub(super) fn mark_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Returns whether to request the list of games: one may have started without an event. `awaited`: an arena game
    /// may start.
    pub(super) fn should_poll_games(&self, awaited: bool) -> bool {
        // While Lichess limits us, every third time.
        let interval = match self.offline && self.rate_limited {
            true => 3 * OFFLINE_POLL_INTERVAL,
            false => OFFLINE_POLL_INTERVAL,
        };
        let is_silent = || {
            let activity = self.activity();
            activity.is_some_and(|(_, last)| clock::since(last.at()) >= OFFLINE_POLL_INTERVAL)
        };
        self.lists.is_due(interval) && (self.offline || (awaited && is_silent()))
    }

    fn on_opened(&mut self) {
        self.offline = false;
        self.lists.invalidate_games();
        self.forbidden_since = None;
        self.activity = self.activity().map(|(_, activity)| activity);
        self.unreadable = false;
        self.first_online.get_or_insert_with(clock::now);
    }

    /// Counts the clean ends of the stream.
    ///
    /// # Errors
    /// If another instance takes the stream.
    fn on_closed(&mut self, clean: bool) -> Result<(), Error> {
        let activity = self.activity.take();
        let had_data = activity.is_some_and(|it| it.received_byte()) && !self.unreadable;
        if clean && had_data {
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
        self.rate_limited = false;
        Ok(())
    }

    /// Handles a 403.
    ///
    /// # Errors
    /// If the token lacks a scope.
    fn on_forbidden(&mut self, error: &Failure) -> Result<(), Error> {
        let since = *self.forbidden_since.get_or_insert_with(clock::now);
        let confirmed = self.token_confirmed_at.is_some_and(|at| at >= since);
        if confirmed && clock::since(since) >= FORBIDDEN_TIMEOUT {
            return Err(Error::TokenRejected(error.to_string()));
        }
        Ok(())
    }

    /// Lichess rejects the token, and there is no other one.
    ///
    /// # Errors
    /// If that has lasted for [`REJECTION_TIMEOUT`].
    pub(super) fn on_rejected(&mut self, rejected: &Failure) -> Result<(), Error> {
        let left = self.rejection.on_rejected(rejected)?;
        warn!(
            "Lichess rejects the token; this account stops in about {left:.0?} unless it is accepted again or replaced: \
             {rejected}"
        );
        Ok(())
    }

    /// Lichess accepts the token.
    pub(super) fn on_token_confirmed(&mut self) {
        self.token_confirmed_at = Some(clock::now());
        self.rejection.clear();
    }

    /// A new token is used, which Lichess accepts.
    pub(super) fn on_new_token(&mut self) {
        self.rejection.clear();
        self.forbidden_since = None;
    }

    /// Returns whether Lichess rejects the token at present.
    pub(super) fn is_rejected(&self) -> bool {
        self.rejection.0.is_some()
    }

    /// Returns whether to check the token now; if so, the check counts as started.
    fn start_token_check(&mut self) -> bool {
        let is_recent = |at| clock::since(at) < TOKEN_CHECK_INTERVAL;
        let is_due = !self.token_checked_at.is_some_and(is_recent);
        if is_due {
            self.token_checked_at = Some(clock::now());
        }
        is_due
    }
}

impl Account {
    pub(super) fn on_stream(&mut self, event: StreamEvent<Event>) -> Result<(), Error> {
        match event {
            StreamEvent::Opened => self.on_online(),
            StreamEvent::Item(event) => self.on_event(event),
            StreamEvent::Lost { error, wait } => {
                self.connection.on_closed(error.is_none())?;
                let why = error.map(|error| error.to_string());
                let why = why.unwrap_or_else(|| "Lichess closed the event stream".to_owned());
                self.set_offline(why, wait);
            }
            StreamEvent::OpenFailed { error, wait } => self.on_stream_refused(&error, wait)?,
        }
        Ok(())
    }

    fn on_online(&mut self) {
        self.connection.on_opened();
        let me = self.ctx.me.clone();
        info!(name: "online", "online as {me}");
        self.update_quota(|quota, date| quota.charge(Limit::EventStreams, 1, date));
        self.publish_status();
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

    fn on_stream_refused(&mut self, error: &Failure, wait: Duration) -> Result<(), Error> {
        if error.is_unauthorized() {
            self.check_token();
        }
        // A proxy's 403 concerns the address, and passes.
        if error.is_forbidden() {
            self.connection.on_forbidden(error)?;
            self.check_token();
        }
        self.connection.rate_limited = error
            .error_response()
            .is_some_and(|response| response.code == 429);
        self.set_offline(error.to_string(), wait);
        Ok(())
    }

    fn set_offline(&mut self, reason: String, wait: Duration) {
        warn!(name: "offline", "offline; reconnecting in {wait:.1?}: {reason}");
        self.publish_status();
        let retry_in = Some(wait);
        let offline = events::Event::Offline { reason, retry_in };
        self.ctx.events.send(offline);
        self.connection.offline = true;
    }

    /// Checks the token after a 401, or a 403 on the event stream, before giving up.
    pub(super) fn check_token(&mut self) {
        if !self.connection.start_token_check() {
            return;
        }
        let client = self.ctx.client.clone();
        let request = async move { client.account().await };
        self.background
            .spawn(request, |account, response| match response {
                Ok(_) => account.connection.on_token_confirmed(),
                Err(failure) => match failure.lichess_code() {
                    Some(401 | 403) => account.replace_rejected_token(failure),
                    _ => account.connection.rejection.clear(),
                },
            });
    }
}
