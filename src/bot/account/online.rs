//! Whether we are online: the account's stream opens and ends, and the token may no longer be good.

use std::time::Duration;

use tracing::{info, warn};

use super::{Account, DEAF_EVERY};
use crate::bot::Error;
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Limit;
use crate::bot::account::state_files::Book;
use crate::bot::reconnect::Heard;
use crate::clock;
use crate::events;
use crate::lichess::model::Event;
use crate::lichess::{Error as Failure, StreamError};

/// An instance younger than this may find out that it is the second one. Two that take the stream from each other come back
/// ever more slowly, and hear nothing for up to seven seconds.
const YOUNG: Duration = Duration::from_secs(300);

/// The first one takes its stream back within this; who was left alone for longer is no second one.
const TAKEN_BACK: Duration = Duration::from_secs(30);

/// Lichess allows 30 questions about the account in five minutes.
const DOUBT_EVERY: Duration = Duration::from_secs(15);

/// So many clean ends of a young instance's stream mean that another instance opens it again and again. Streams that have
/// brought nothing do not count: a proxy in front of Lichess may have answered for it.
const CLEAN_ENDS: u32 = 3;

/// Lichess refuses the event stream with 403 for so long, and answers other questions meanwhile: the token lacks a scope.
const FORBIDDEN_FOR: Duration = Duration::from_secs(10);

impl Account {
    pub(super) fn hear(&mut self, heard: Heard<Event>) -> Result<(), Error> {
        match heard {
            Heard::Opened => self.online(),
            Heard::Item(event) => self.on_event(event),
            Heard::Lost { error, wait } => self.lost(error, wait)?,
            Heard::Refused { error, wait } => self.refused(&error, wait)?,
        }
        Ok(())
    }

    pub(super) fn online(&mut self) {
        self.offline = false;
        self.informed = false;
        self.forbidden = None;
        self.ear = self.link.stream().map(|(stream, _)| stream.last_activity());
        self.garbled = false;
        self.first_online.get_or_insert_with(clock::now);
        let me = self.house.me.clone();
        info!("online as {me}");
        self.quota.charge(Limit::EventStreams, 1, clock::date());
        self.save(Book::Quota);
        self.pulse.set(|status| status.online = true);
        self.house.events.send(events::Event::Online {
            account: events::Player {
                name: me.to_string(),
                title: Some("BOT".into()),
                ..events::Player::default()
            },
            server: self.house.settings.lichess.url.to_string(),
        });
        self.reconcile();
    }

    fn lost(&mut self, error: Option<StreamError>, wait: Duration) -> Result<(), Error> {
        let spoke = self.ear.take().is_some_and(|ear| ear.received_byte()) && !self.garbled;
        if error.is_none() && spoke {
            if self.clean_ends == 0 {
                let was_online = self.first_online.map_or(Duration::ZERO, clock::since);
                self.is_newcomer = was_online < TAKEN_BACK;
            }
            self.clean_ends += 1;
            let is_young = self.is_newcomer && clock::since(self.born) < YOUNG;
            if is_young && self.clean_ends >= CLEAN_ENDS {
                return Err(Error::AnotherInstance(self.clean_ends));
            }
        }
        let why = error.map_or("Lichess closed the event stream".into(), |error| {
            error.to_string()
        });
        self.limited = false;
        self.went_offline(why, wait);
        Ok(())
    }

    fn refused(&mut self, error: &Failure, wait: Duration) -> Result<(), Error> {
        if error.is_unauthorized() {
            self.check_token();
        }
        // A proxy's 403 is about the address, and passes.
        if error.lichess_error().is_some_and(|no| no.code == 403) {
            let since = *self.forbidden.get_or_insert_with(clock::now);
            let confirmed = self.token_confirmed.is_some_and(|at| at >= since);
            if confirmed && clock::since(since) >= FORBIDDEN_FOR {
                return Err(Error::TokenRejected(error.to_string()));
            }
            self.check_token();
        }
        self.limited = error.error_response().is_some_and(|no| no.code == 429);
        self.went_offline(error.to_string(), wait);
        Ok(())
    }

    fn went_offline(&mut self, reason: String, wait: Duration) {
        warn!("offline, again in {wait:.1?}: {reason}");
        self.pulse.set(|status| status.online = false);
        let retry_in = Some(wait);
        self.house
            .events
            .send(events::Event::Offline { reason, retry_in });
        self.offline = true;
    }

    /// Whether a game may have begun without our hearing of it. While Lichess does not answer it is asked more rarely.
    pub(super) fn may_be_deaf(&self) -> bool {
        // While Lichess limits us, every other time.
        let every = if self.offline && self.limited {
            3 * DEAF_EVERY
        } else {
            DEAF_EVERY
        };
        if clock::since(self.asked_at) < every * (1 << self.unanswered.min(3)) / 2 {
            return false;
        }
        if self.offline {
            return true;
        }
        let heard = self.link.stream().map(|(stream, _)| stream.last_activity());
        let silent = heard.is_some_and(|heard| clock::since(heard.at()) >= DEAF_EVERY);
        silent && self.slots.arenas_awaited() > 0
    }

    /// A 401, or a 403 on the event stream, is looked into before everything is given up for it.
    pub(super) fn check_token(&mut self) {
        let lately = self
            .token_checked
            .is_some_and(|at| clock::since(at) < DOUBT_EVERY);
        if lately {
            return;
        }
        self.token_checked = Some(clock::now());
        let client = self.house.client.clone();
        self.errands
            .spawn(async move { TaskResult::Token(client.account().await.map(drop)) });
    }
}
