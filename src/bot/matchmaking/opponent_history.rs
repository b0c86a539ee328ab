//! History of opponents: refused challenges, return games and last games. Kept in a file over restarts.
//!
//! A refusal has a topic, given by its reason: all games, faster games, rated games and so on. Each further refusal
//! on the same topic doubles the backoff, and each week without one takes back one doubling.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::offer::{Offer, key};
use crate::backoff::Backoff;
use crate::bot::account::persist::JsonState;
use crate::clock;
use crate::lichess::model::{Color, DeclineReason, TimeControl, Username, Variant};
use crate::seconds::{DAY, HOUR, MINUTE};

/// Reason why a challenge of ours did not become a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The opponent declined.
    Declined(DeclineReason),
    /// The opponent did not answer.
    Unanswered,
    /// The opponent was not online.
    Away,
    /// Lichess allows no challenge to the opponent for this time: they have played their 100 games of the day.
    Limited(Duration),
    /// Lichess does not allow a challenge to the opponent.
    Denied,
    /// Our account blocks the opponent on Lichess.
    Blocked,
    /// The game started, but the opponent did not move.
    Unplayed,
}

/// Games that a refusal applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Topic {
    All,
    /// Games of at most this estimate in seconds.
    Faster(u32),
    /// Games of at least this estimate in seconds.
    Slower(u32),
    /// This time control.
    Clock(u32, u32),
    /// These days per move.
    Days(u32),
    Rated,
    Casual,
    /// Everything but standard chess.
    Variants,
    Variant(#[serde(serialize_with = "key")] Variant),
}

impl Topic {
    fn is_about(self, offer: Offer) -> bool {
        match self {
            Self::All => true,
            Self::Faster(estimate) => offer.estimate() <= estimate,
            Self::Slower(estimate) => offer.estimate() >= estimate,
            Self::Clock(limit, increment) => offer.time == TimeControl::Clock { limit, increment },
            Self::Days(days) => offer.time == TimeControl::Correspondence { days },
            Self::Rated => offer.rated,
            Self::Casual => !offer.rated,
            Self::Variants => offer.variant != Variant::Standard,
            Self::Variant(variant) => offer.variant == variant,
        }
    }

    /// Returns whether two refusals count as one series.
    fn is_same_topic(self, other: Self) -> bool {
        match (self, other) {
            (Self::Faster(_), Self::Faster(_)) | (Self::Slower(_), Self::Slower(_)) => true,
            _ => self == other,
        }
    }
}

/// Formats as the rest of a sentence about the opponent.
impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Declined(reason) => write!(f, "has declined ({reason})"),
            Self::Unanswered => f.write_str("has not answered"),
            Self::Away => f.write_str("is not there"),
            Self::Limited(_) => f.write_str("has played the day's games between bots"),
            Self::Denied => f.write_str("cannot be challenged"),
            Self::Blocked => f.write_str("is blocked by us on Lichess"),
            Self::Unplayed => f.write_str("has not played the game"),
        }
    }
}

/// Longest backoff.
const MAX_WAIT_S: u64 = 30 * DAY;

/// For each such period after the end of a backoff, one refusal less counts.
const DECAY_PERIOD_S: u64 = 7 * DAY;

/// Time for which a return game is due.
const RETURN_GAME_TTL_S: u64 = DAY;

/// Time for which the last game is remembered.
const LAST_GAME_TTL_S: u64 = 30 * DAY;

/// Maximum number of entries of each kind: four times as many bots as are ever online.
const MAX_ENTRIES: usize = 2_000;

impl Refusal {
    /// Topic of the refusal, and the first backoff in seconds.
    fn backoff(self, offer: Offer) -> (Topic, u64) {
        use DeclineReason as Reason;
        let estimate = offer.estimate();
        match self {
            Self::Away => (Topic::All, 15 * MINUTE),
            Self::Unanswered => (Topic::All, HOUR),
            Self::Unplayed => (Topic::All, 2 * HOUR),
            Self::Denied => (Topic::All, DAY),
            Self::Blocked => (Topic::All, 7 * DAY),
            Self::Limited(wait) => (Topic::All, wait.as_secs()),
            Self::Declined(reason) => match reason {
                Reason::Later => (Topic::All, 30 * MINUTE),
                Reason::NoBot => (Topic::All, 7 * DAY),
                Reason::TooFast => (Topic::Faster(estimate), DAY),
                Reason::TooSlow => (Topic::Slower(estimate), DAY),
                Reason::TimeControl => match offer.time {
                    TimeControl::Clock { limit, increment } => {
                        (Topic::Clock(limit, increment), DAY)
                    }
                    TimeControl::Correspondence { days } => (Topic::Days(days), DAY),
                    TimeControl::Unlimited | TimeControl::Unknown => (Topic::All, DAY),
                },
                // The opponent asks for the other kind.
                Reason::Rated => (Topic::Casual, DAY),
                Reason::Casual => (Topic::Rated, DAY),
                Reason::Standard => (Topic::Variants, DAY),
                Reason::Variant => (Topic::Variant(offer.variant), DAY),
                Reason::Generic | Reason::OnlyBot | Reason::Unknown => (Topic::All, 4 * HOUR),
            },
        }
    }
}

/// Saved knowledge about other bots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OpponentHistory {
    refusals: Vec<DeclineBackoff>,
    #[serde(alias = "owed")]
    return_games: Vec<ReturnGame>,
    /// Start of the last game with each opponent, by name in lower case.
    #[serde(alias = "met")]
    last_games: BTreeMap<String, u64>,
}

/// Backoff after a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DeclineBackoff {
    /// In lower case.
    user: String,
    topic: Topic,
    /// Refusals in a row.
    #[serde(alias = "times")]
    count: u32,
    /// Seconds since the epoch.
    until: u64,
}

impl DeclineBackoff {
    /// Refusals in a row that still count.
    fn current_count(&self, now: u64) -> u32 {
        let decayed = now.saturating_sub(self.until) / DECAY_PERIOD_S;
        self.count
            .saturating_sub(u32::try_from(decayed).unwrap_or(u32::MAX))
    }

    /// Returns whether the backoff is active. One longer than the maximum is due to a wrong clock.
    fn is_active(&self, now: u64) -> bool {
        now < self.until && self.until - now <= MAX_WAIT_S
    }
}

/// The second game of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReturnGame {
    /// With upper and lower case.
    user: String,
    offer: Offer,
    /// Whether we play White in it.
    white: bool,
    /// Start of the first game.
    since: u64,
}

impl JsonState for OpponentHistory {
    const FILE_SUFFIX: &str = "opponents.json";
}

impl OpponentHistory {
    /// Until when an opponent is not to be challenged to this, if so.
    pub(crate) fn blocked_until(
        &self,
        user: &Username,
        offer: Offer,
        now: SystemTime,
    ) -> Option<SystemTime> {
        let (user, now) = (user.id(), clock::epoch_seconds(now));
        let about = |backoff: &&DeclineBackoff| {
            backoff.user == user && backoff.topic.is_about(offer) && backoff.is_active(now)
        };
        let about = self.refusals.iter().filter(about);
        let until = about.map(|backoff| backoff.until).max()?;
        Some(UNIX_EPOCH + Duration::from_secs(until))
    }

    /// Records a refusal. Returns the end of the backoff.
    pub(crate) fn record_refusal(
        &mut self,
        user: &Username,
        offer: Offer,
        refusal: Refusal,
        now: SystemTime,
    ) -> SystemTime {
        let (id, now) = (user.id(), clock::epoch_seconds(now));
        let (topic, first) = refusal.backoff(offer);
        let same =
            |backoff: &DeclineBackoff| backoff.user == id && backoff.topic.is_same_topic(topic);
        let before: u32 = self
            .refusals
            .extract_if(.., |backoff| same(backoff))
            .map(|backoff| backoff.current_count(now))
            .max()
            .unwrap_or(0);
        // A wait named by Lichess is exact, however often it is repeated.
        let (count, wait) = match refusal {
            Refusal::Limited(wait) => (before, wait.as_secs()),
            _ => {
                let (first, max) = (Duration::from_secs(first), Duration::from_secs(MAX_WAIT_S));
                let delay = Backoff::new(first, max).delay(before);
                (before.saturating_add(1), delay.as_secs())
            }
        };
        let until = now + wait.clamp(1, MAX_WAIT_S);
        self.refusals.push(DeclineBackoff {
            user: id,
            topic,
            count,
            until,
        });
        self.prune(now);
        UNIX_EPOCH + Duration::from_secs(until)
    }

    /// Records a game that has started, with our color. With `pair` a return game is due, unless this is it.
    pub(crate) fn record_game(
        &mut self,
        user: &Username,
        offer: Offer,
        pair: bool,
        color: Color,
        now: SystemTime,
    ) {
        let (id, now) = (user.id(), clock::epoch_seconds(now));
        // Earlier refusals of such games no longer count.
        self.refusals
            .retain(|backoff| backoff.user != id || !backoff.topic.is_about(offer));
        self.last_games.insert(id.clone(), now);
        let before = self.return_games.len();
        self.return_games
            .retain(|game| !game.user.eq_ignore_ascii_case(&id) || game.offer != offer);
        if pair && before == self.return_games.len() {
            self.return_games.push(ReturnGame {
                user: user.to_string(),
                offer,
                white: color == Color::Black,
                since: now,
            });
        }
        self.prune(now);
    }

    /// Return games that are due, with our color, the oldest first.
    pub(crate) fn return_games(
        &self,
        now: SystemTime,
    ) -> impl Iterator<Item = (Username, Offer, Color)> {
        let now = clock::epoch_seconds(now);
        let is_recent = move |game: &&ReturnGame| now.abs_diff(game.since) < RETURN_GAME_TTL_S;
        self.return_games.iter().filter(is_recent).map(|game| {
            let color = if game.white {
                Color::White
            } else {
                Color::Black
            };
            (Username::new(&game.user), game.offer, color)
        })
    }

    /// Start of the last game with an opponent, in seconds since the epoch.
    pub(crate) fn last_game(&self, user: &Username) -> Option<u64> {
        self.last_games.get(&user.id()).copied()
    }

    /// Drops entries that no longer count, and the oldest beyond the maximum.
    fn prune(&mut self, now: u64) {
        self.refusals.retain(|backoff| {
            backoff.is_active(now) || (backoff.until <= now && backoff.current_count(now) > 0)
        });
        self.return_games
            .retain(|game| now.abs_diff(game.since) < RETURN_GAME_TTL_S);
        self.last_games
            .retain(|_, at| now.abs_diff(*at) < LAST_GAME_TTL_S);
        let excess = |len: usize| len.saturating_sub(MAX_ENTRIES);
        self.refusals.drain(..excess(self.refusals.len()));
        self.return_games.drain(..excess(self.return_games.len()));
        for _ in 0..excess(self.last_games.len()) {
            let oldest = self.last_games.iter().min_by_key(|(_, at)| **at);
            let oldest = oldest.map(|(user, _)| user.clone());
            self.last_games
                .retain(|user, _| Some(user) != oldest.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::account::persist;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    fn offer(limit: u32, increment: u32) -> Offer {
        Offer {
            time: TimeControl::Clock { limit, increment },
            variant: Variant::Standard,
            rated: true,
        }
    }

    const BLITZ: Offer = Offer {
        time: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        variant: Variant::Standard,
        rated: true,
    };

    #[test]
    fn offer_is_saved_as_before() {
        let blitz = r#"{"limit":180,"increment":2,"variant":"standard","rated":true}"#;
        assert_eq!(serde_json::to_string(&BLITZ).unwrap(), blitz);
        assert_eq!(serde_json::from_str::<Offer>(blitz).unwrap(), BLITZ);
        let slow = Offer {
            time: TimeControl::Correspondence { days: 2 },
            ..BLITZ
        };
        let text = serde_json::to_string(&slow).unwrap();
        assert_eq!(serde_json::from_str::<Offer>(&text).unwrap(), slow);
        assert_eq!(slow.perf_key(), "correspondence");
        assert_eq!(slow.to_string(), "2 days rated standard");
    }

    #[test]
    fn history_decline_reason_has_topic() {
        use DeclineReason as Reason;
        let casual = Offer {
            rated: false,
            ..BLITZ
        };
        let shuffled = Offer {
            variant: Variant::Chess960,
            ..BLITZ
        };
        // Reason for which 3+2 rated is declined, what is not offered after that, and what is.
        let table = [
            (Reason::Later, vec![BLITZ, casual, shuffled], vec![]),
            (Reason::NoBot, vec![BLITZ, casual, shuffled], vec![]),
            (Reason::Generic, vec![BLITZ, casual, shuffled], vec![]),
            (Reason::Casual, vec![BLITZ, shuffled], vec![casual]),
            (Reason::Rated, vec![casual], vec![BLITZ]),
            (
                Reason::TooFast,
                vec![BLITZ, offer(60, 0), offer(180, 0)],
                vec![offer(180, 3), offer(600, 0)],
            ),
            (
                Reason::TooSlow,
                vec![BLITZ, offer(180, 3), offer(600, 0)],
                vec![offer(60, 0), offer(180, 0)],
            ),
            (
                Reason::TimeControl,
                vec![BLITZ, casual, shuffled],
                vec![offer(180, 0), offer(300, 3)],
            ),
            (Reason::Standard, vec![shuffled], vec![BLITZ]),
            (Reason::Variant, vec![BLITZ], vec![shuffled]),
        ];
        let (grump, other) = (Username::new("Grump"), Username::new("Grumpy"));
        for (reason, held, free) in table {
            let mut history = OpponentHistory::default();
            let until = history.record_refusal(&grump, BLITZ, Refusal::Declined(reason), at(0));
            for offer in held {
                let alone = history.blocked_until(&Username::new("GRUMP"), offer, at(10));
                assert_eq!(alone, Some(until), "{reason} {offer}");
                assert_eq!(
                    history.blocked_until(&grump, offer, until),
                    None,
                    "{reason}"
                );
            }
            for offer in free {
                let alone = history.blocked_until(&grump, offer, at(10));
                assert_eq!(alone, None, "{reason} {offer}");
            }
            assert_eq!(history.blocked_until(&other, BLITZ, at(10)), None);
        }
    }

    #[test]
    fn history_refusals_in_a_row_double_backoff() {
        let grump = Username::new("Grump");
        let table = [
            (Refusal::Declined(DeclineReason::Later), 30 * MINUTE),
            (Refusal::Unanswered, HOUR),
            (Refusal::Away, 15 * MINUTE),
            (Refusal::Unplayed, 2 * HOUR),
            (Refusal::Denied, DAY),
            (Refusal::Blocked, 7 * DAY),
            (Refusal::Declined(DeclineReason::NoBot), 7 * DAY),
            (Refusal::Declined(DeclineReason::TooFast), DAY),
            (Refusal::Declined(DeclineReason::Generic), 4 * HOUR),
        ];
        for (refusal, first) in table {
            let (mut history, mut now) = (OpponentHistory::default(), 0);
            for doubled in 0..14 {
                let wait = (first << doubled).min(MAX_WAIT_S);
                let until = history.record_refusal(&grump, BLITZ, refusal, at(now));
                assert_eq!(until, at(now + wait), "{refusal:?}");
                now += wait;
            }
        }
        // A wait named by Lichess is not doubled, and does not double others.
        let mut history = OpponentHistory::default();
        let limited = Refusal::Limited(Duration::from_secs(5_000));
        for now in [0, 6_000] {
            let until = history.record_refusal(&grump, BLITZ, limited, at(now));
            assert_eq!(until, at(now + 5_000));
        }
        let until = history.record_refusal(&grump, BLITZ, Refusal::Unanswered, at(20_000));
        assert_eq!(until, at(20_000 + HOUR));
    }

    #[test]
    fn history_refusals_decay() {
        let grump = Username::new("Grump");
        let later = Refusal::Declined(DeclineReason::Later);
        let mut history = OpponentHistory::default();
        let mut now = 0;
        // Pause after the end of the backoff before, and the backoff in half hours.
        for (pause, halves) in [
            (0, 1),
            (0, 2),
            (0, 4),
            (DECAY_PERIOD_S, 4),
            (2 * DECAY_PERIOD_S, 2),
            (50 * DECAY_PERIOD_S, 1),
        ] {
            now += pause;
            let until = history.record_refusal(&grump, BLITZ, later, at(now));
            now += halves * 30 * MINUTE;
            assert_eq!(until, at(now), "{pause} {halves}");
        }
        history.record_game(&grump, BLITZ, false, Color::White, at(now));
        let until = history.record_refusal(&grump, BLITZ, later, at(now));
        assert_eq!(until, at(now + 30 * MINUTE));
    }

    #[test]
    fn history_return_game_is_due_for_a_day() {
        let (ann, ben) = (Username::new("Ann"), Username::new("Ben"));
        let mut history = OpponentHistory::default();
        history.record_game(&ann, BLITZ, true, Color::White, at(0));
        history.record_game(&ben, BLITZ, false, Color::White, at(1));
        let owed =
            |history: &OpponentHistory, now| history.return_games(at(now)).collect::<Vec<_>>();
        let second = [(ann.clone(), BLITZ, Color::Black)];
        assert_eq!(owed(&history, 10), second);
        assert!(owed(&history, DAY).is_empty());
        // A game of another kind is another pair.
        history.record_game(&ann, offer(60, 1), true, Color::Black, at(20));
        assert_eq!(owed(&history, 30).len(), 2);
        history.record_game(&Username::new("ANN"), BLITZ, true, Color::Black, at(40));
        assert_eq!(
            owed(&history, 50),
            [(ann.clone(), offer(60, 1), Color::White)]
        );
        assert_eq!(history.last_game(&ann), Some(clock::epoch_seconds(at(40))));
        assert_eq!(history.last_game(&Username::new("Cleo")), None);
    }

    #[test]
    fn history_is_bounded_and_survives_in_file() {
        let mut history = OpponentHistory::default();
        for n in 0..MAX_ENTRIES as u64 + 100 {
            let user = Username::new(&format!("Bot{n}"));
            history.record_refusal(&user, BLITZ, Refusal::Denied, at(n));
            history.record_game(&user, offer(60, 0), true, Color::White, at(n));
            history.record_refusal(&user, BLITZ, Refusal::Denied, at(n));
        }
        assert_eq!(
            (history.refusals.len(), history.last_games.len()),
            (MAX_ENTRIES, MAX_ENTRIES)
        );
        assert_eq!(history.return_games.len(), MAX_ENTRIES);
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("opponents.json");
        assert_eq!(
            OpponentHistory::load(&path).unwrap(),
            OpponentHistory::default()
        );
        persist::save(&path, history.to_json()).unwrap();
        assert_eq!(OpponentHistory::load(&path).unwrap(), history);
        persist::save(&path, "[]]").unwrap();
        assert!(OpponentHistory::load(&path).is_err());
        // A wrong clock blocks nobody forever.
        let grump = Username::new("Grump");
        history.record_refusal(&grump, BLITZ, Refusal::Denied, at(400 * DAY));
        assert_eq!(history.blocked_until(&grump, BLITZ, at(0)), None);
    }

    #[test]
    fn offer_perf_key_is_speed_or_variant() {
        for (limit, increment, perf) in [
            (60, 0, "bullet"),
            (180, 2, "blitz"),
            (1_800, 0, "classical"),
        ] {
            assert_eq!(offer(limit, increment).perf_key(), perf);
        }
        let shuffled = Offer {
            variant: Variant::Chess960,
            ..BLITZ
        };
        assert_eq!(shuffled.perf_key(), "chess960");
        assert_eq!(shuffled.to_string(), "3+2 rated chess960");
    }
}
