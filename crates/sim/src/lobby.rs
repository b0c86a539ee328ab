//! The lobby: seeks of people for a game against anybody.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::challenge::ColorChoice;
use crate::faults::StreamFault;
use crate::round::setup::{Setup, Source};
use crate::site::limits::Permit;
use crate::site::{Feed, GameId, Perf, SimTime, Speed, User, UserId, Users, Variant};
use crate::time_control::TimeControl;
use knightwatch_chess::Color;

/// Time after which a real-time seek expires.
const REAL_TIME_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Correspondence seeks of a user; a further one removes the oldest.
const MAX_CORRESPONDENCE_SEEKS: usize = 5;

/// Ratings that a seek can ask for. A limit at an end of these admits everybody beyond it.
pub(crate) const RATINGS: RangeInclusive<i32> = 400..=2_900;

/// Validated options of a new seek.
#[derive(Clone, Debug)]
pub(crate) struct SeekConfig {
    pub variant: Variant,
    pub time_control: TimeControl,
    pub rated: bool,
    pub color: ColorChoice,
    /// Ratings of acceptable opponents.
    pub ratings: RangeInclusive<i32>,
}

/// A seek. One with a clock is open as long as its stream.
pub(crate) struct Seek {
    pub id: GameId,
    pub user: UserId,
    pub config: SeekConfig,
    pub created_at: SimTime,
    pub stream: Option<SeekStream>,
}

/// The stream of a seek with its place among the requests at once.
pub(crate) struct SeekStream {
    pub feed: Feed,
    pub _permit: Permit,
}

impl Seek {
    fn perf(&self) -> Perf {
        Perf::of(self.config.variant, Speed::of(self.config.time_control))
    }

    /// Returns whether this user may join: another one of the same kind and with a rating that is sought, and neither
    /// blocks the other.
    pub(crate) fn admits(&self, user: &User, users: &Users) -> bool {
        let owner = users.get(&self.user);
        let rating = user.rating(self.perf().key).value();
        let (min, max) = self.config.ratings.clone().into_inner();
        owner.id != user.id
            && owner.account_kind == user.account_kind
            && !user.bot
            && !owner.bot
            && !owner.relations.blocks(&user.id)
            && !user.relations.blocks(&owner.id)
            && (min <= *RATINGS.start() || rating >= min)
            && (max >= *RATINGS.end() || rating <= max)
    }

    /// Returns whether both seek the same game with different colors, or both with any.
    fn matches(&self, other: &Self, users: &Users) -> bool {
        let (one, two) = (&self.config, &other.config);
        one.variant == two.variant
            && one.time_control == two.time_control
            && one.rated == two.rated
            && one.color == two.color.negate()
            && self.admits(users.get(&other.user), users)
            && other.admits(users.get(&self.user), users)
    }

    /// Options of the game against this user; `color` is that of the seek's owner.
    pub(crate) fn setup(self, id: GameId, opponent: UserId, color: Color) -> Setup {
        let mut users = [self.user, opponent];
        if color == Color::Black {
            users.swap(0, 1);
        }
        Setup {
            id,
            users,
            source: Source::Lobby,
            start: self.config.variant.special_start(),
            variant: self.config.variant,
            time_control: self.config.time_control,
            rated: self.config.rated,
            rules: Vec::new(),
        }
    }
}

/// Ends the stream: the seek was answered, replaced or canceled.
impl Drop for SeekStream {
    fn drop(&mut self) {
        self.feed.end();
    }
}

/// All open seeks, oldest first.
#[derive(Default)]
pub(crate) struct Lobby {
    seeks: Vec<Seek>,
}

impl Lobby {
    pub(crate) fn get(&self, id: GameId) -> Option<&Seek> {
        self.seeks.iter().find(|seek| seek.id == id)
    }

    pub(crate) fn remove(&mut self, id: GameId) -> Option<Seek> {
        let at = self.seeks.iter().position(|seek| seek.id == id)?;
        Some(self.seeks.remove(at))
    }

    /// Removes the oldest seek that matches this one.
    pub(crate) fn take_match(&mut self, seek: &Seek, users: &Users) -> Option<Seek> {
        let found = self.seeks.iter().find(|other| other.matches(seek, users))?;
        let id = found.id;
        self.remove(id)
    }

    /// Removes the seeks that a new one of this user replaces: the one with a clock, or the oldest of too many
    /// correspondence seeks.
    pub(crate) fn make_room(&mut self, user: &UserId, has_clock: bool) {
        let of_kind = |seek: &Seek| seek.user == *user && seek.stream.is_some() == has_clock;
        let kept = if has_clock {
            0
        } else {
            MAX_CORRESPONDENCE_SEEKS - 1
        };
        let count = self.seeks.iter().filter(|seek| of_kind(seek)).count();
        let mut extra = count.saturating_sub(kept);
        self.seeks.retain(|seek| {
            let removed = extra > 0 && of_kind(seek);
            extra -= usize::from(removed);
            !removed
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.seeks.len()
    }

    pub(crate) fn add(&mut self, seek: Seek) {
        self.seeks.push(seek);
    }

    /// Removes expired seeks.
    pub(crate) fn tick(&mut self, now: SimTime) {
        self.seeks.retain(|seek| {
            seek.stream.is_none() || now.since(seek.created_at) < REAL_TIME_LIFETIME
        });
    }

    /// Applies a fault to all streams.
    pub(crate) fn inject_fault(&self, fault: StreamFault) {
        let streams = self.seeks.iter().filter_map(|seek| seek.stream.as_ref());
        streams.for_each(|stream| stream.feed.inject_fault(fault));
    }

    /// Closes all streams.
    pub(crate) fn close(&self) {
        let streams = self.seeks.iter().filter_map(|seek| seek.stream.as_ref());
        streams.for_each(|stream| stream.feed.close());
    }
}
