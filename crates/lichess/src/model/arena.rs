//! Arena tournaments.

use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::challenge::TimeControl;
use super::ids::{ArenaId, Username, Variant};
use super::text;

/// An arena, as seen by an authenticated user.
#[derive(Debug, Clone)]
pub struct Arena {
    /// Its id.
    pub id: ArenaId,
    /// Its name.
    pub name: String,
    /// The variant of its games.
    pub variant: Variant,
    /// Bots may join.
    pub bots_allowed: bool,
    /// Start, in milliseconds since 1970; 0 if it is not known.
    pub starts_at: i64,
    /// Duration in minutes.
    pub minutes: u32,
    /// Time to the start; `None` once it has begun.
    pub starts_in: Option<Duration>,
    /// Time to the end; `None` before the start and after the end.
    pub ends_in: Option<Duration>,
    /// Whether it is over.
    pub finished: bool,
    /// Number of players.
    pub players: u32,
    /// Created by Lichess, not by a user.
    pub by_lichess: bool,
    /// Entry requirements that we do not meet, as Lichess words them.
    pub unmet_requirements: Vec<String>,
    /// Our standing, if we joined.
    pub me: Option<Standing>,
}

/// Our standing in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Rank, 1 for the leader.
    pub rank: u32,
    /// We are not paired any more.
    pub withdrawn: bool,
    /// The time until we may rejoin after a pause.
    pub pause: Option<Duration>,
}

/// An arena in a list, which does not say whether bots may join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedArena {
    /// Its id.
    pub id: ArenaId,
    /// Its name.
    pub name: String,
    /// The time control of its games.
    pub clock: TimeControl,
    /// The variant of its games.
    pub variant: Variant,
    /// Duration in minutes.
    pub minutes: u32,
    /// Milliseconds since 1970.
    pub starts_at: i64,
    /// Milliseconds since 1970.
    pub finishes_at: i64,
    /// Whether it is over.
    pub finished: bool,
    /// Requires a password.
    pub private: bool,
    /// Players must be members of this team.
    pub team: Option<String>,
    /// Teams of a team battle.
    pub battle_teams: Vec<String>,
}

impl Arena {
    /// Start and end, in milliseconds since 1970.
    pub fn period(&self) -> Range<i64> {
        self.starts_at..end(self.starts_at, self.minutes)
    }
}

impl ListedArena {
    /// Start and end, in milliseconds since 1970.
    pub fn period(&self) -> Range<i64> {
        self.starts_at..self.finishes_at
    }
}

/// The end of an arena that starts at this time and lasts this long.
fn end(starts_at: i64, minutes: u32) -> i64 {
    starts_at.saturating_add(i64::from(minutes) * 60_000)
}

/// The name of an arena, or its id if it has none.
fn name(full: Option<String>, id: &ArenaId) -> String {
    full.map_or_else(|| id.to_string(), |name| text::clip(&name, 60))
}

impl<'de> Deserialize<'de> for ListedArena {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            id: ArenaId,
            #[serde(default, deserialize_with = "text::lenient")]
            full_name: Option<String>,
            clock: Clock,
            #[serde(default)]
            variant: Variant,
            #[serde(default, deserialize_with = "text::count_or_none")]
            minutes: u32,
            starts_at: i64,
            #[serde(default, deserialize_with = "text::timestamp_ms")]
            finishes_at: Option<i64>,
            #[serde(default, deserialize_with = "text::lenient")]
            status: u8,
            #[serde(default, deserialize_with = "text::lenient")]
            private: bool,
            #[serde(default, deserialize_with = "text::lenient")]
            team_member: Option<String>,
            #[serde(default, deserialize_with = "text::lenient")]
            team_battle: Battle,
        }
        #[derive(Deserialize)]
        struct Clock {
            limit: u32,
            #[serde(default, deserialize_with = "text::count_or_none")]
            increment: u32,
        }
        #[derive(Default, Deserialize)]
        struct Battle {
            #[serde(default, deserialize_with = "text::list")]
            teams: Vec<String>,
        }
        /// The number of this status on the wire.
        const FINISHED: u8 = 30;
        let wire = Wire::deserialize(from)?;
        Ok(Self {
            name: name(wire.full_name, &wire.id),
            id: wire.id,
            clock: TimeControl::Clock {
                limit: wire.clock.limit,
                increment: wire.clock.increment,
            },
            variant: wire.variant,
            minutes: wire.minutes,
            starts_at: wire.starts_at,
            finishes_at: wire
                .finishes_at
                .unwrap_or_else(|| end(wire.starts_at, wire.minutes)),
            finished: wire.status >= FINISHED,
            private: wire.private,
            team: wire.team_member,
            battle_teams: wire.team_battle.teams,
        })
    }
}

/// A player in the results of an arena.
#[derive(Debug, Clone, Deserialize)]
pub struct ArenaLine {
    /// Rank, 1 for the leader.
    pub rank: u32,
    /// Points.
    #[serde(default, deserialize_with = "text::count_or_none")]
    pub score: u32,
    /// Name of the player.
    pub username: Username,
    /// Performance rating.
    #[serde(default, deserialize_with = "text::rating")]
    pub performance: Option<i32>,
}

/// A team, as seen by an authenticated user.
#[derive(Debug, Clone, Deserialize)]
pub struct Team {
    /// Its name.
    #[serde(default, deserialize_with = "text::text")]
    pub name: String,
    /// Whether we are a member.
    #[serde(default, deserialize_with = "text::lenient")]
    pub joined: Option<bool>,
    /// Whether our request to join waits for a leader.
    #[serde(default, deserialize_with = "text::lenient")]
    pub requested: bool,
}

impl<'de> Deserialize<'de> for Arena {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            id: ArenaId,
            #[serde(default, deserialize_with = "text::lenient")]
            full_name: Option<String>,
            #[serde(default)]
            variant: Variant,
            #[serde(default, deserialize_with = "text::lenient")]
            bots_allowed: bool,
            #[serde(default, deserialize_with = "text::lenient")]
            starts_at: String,
            #[serde(default, deserialize_with = "text::count_or_none")]
            minutes: u32,
            #[serde(default, deserialize_with = "text::seconds")]
            seconds_to_start: Option<Duration>,
            #[serde(default, deserialize_with = "text::seconds")]
            seconds_to_finish: Option<Duration>,
            #[serde(default, deserialize_with = "text::lenient")]
            is_finished: bool,
            #[serde(default, deserialize_with = "text::count_or_none")]
            nb_players: u32,
            #[serde(default, deserialize_with = "text::lenient")]
            created_by: Option<String>,
            #[serde(default, deserialize_with = "text::lenient")]
            verdicts: Verdicts,
            #[serde(default, deserialize_with = "text::lenient")]
            me: Option<Me>,
        }
        #[derive(Default, Deserialize)]
        struct Verdicts {
            #[serde(default, deserialize_with = "text::list")]
            list: Vec<Verdict>,
        }
        #[derive(Deserialize)]
        struct Verdict {
            #[serde(default, deserialize_with = "text::lenient")]
            verdict: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Me {
            #[serde(default, deserialize_with = "text::count_or_none")]
            rank: u32,
            #[serde(default, deserialize_with = "text::lenient")]
            withdraw: bool,
            #[serde(default, deserialize_with = "text::seconds")]
            pause_delay: Option<Duration>,
        }
        let wire = Wire::deserialize(from)?;
        let starts_at = wire.starts_at.parse().map(Timestamp::as_millisecond);
        Ok(Self {
            name: name(wire.full_name, &wire.id),
            id: wire.id,
            variant: wire.variant,
            starts_at: starts_at.unwrap_or_default(),
            minutes: wire.minutes,
            bots_allowed: wire.bots_allowed,
            starts_in: wire.seconds_to_start,
            ends_in: wire.seconds_to_finish,
            finished: wire.is_finished,
            players: wire.nb_players,
            by_lichess: wire.created_by.as_deref() == Some("lichess"),
            unmet_requirements: wire
                .verdicts
                .list
                .into_iter()
                .map(|verdict| text::clip(&verdict.verdict, 120))
                .filter(|verdict| verdict != "ok")
                .collect(),
            me: wire.me.map(|me| Standing {
                rank: me.rank,
                withdrawn: me.withdraw,
                pause: me.pause_delay,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arena_page_is_parsed() {
        let page = r#"{"nbPlayers":2,"duels":[],"secondsToFinish":1200,"isStarted":true,"standing":{"page":1,"players":[]},
            "me":{"rank":3,"withdraw":true,"pauseDelay":12},"id":"may24bot","createdBy":"lichess",
            "startsAt":"2026-05-25T18:00:00Z","system":"arena","fullName":"Bots May Arena","minutes":120,
            "perf":{"key":"bullet","name":"Bullet","icon":"T"},"clock":{"limit":60,"increment":0},
            "variant":"standard","rated":true,"botsAllowed":true,
            "verdicts":{"list":[{"condition":"Rated","verdict":"Your Bullet rating (900) is too low"},
            {"condition":"Bot players are allowed","verdict":"ok"}],"accepted":false}}"#;
        let arena: Arena = serde_json::from_str(page).unwrap();
        assert_eq!(
            (arena.id.as_str(), arena.name.as_str()),
            ("may24bot", "Bots May Arena")
        );
        assert!(
            arena.bots_allowed && arena.by_lichess && !arena.finished && arena.starts_in.is_none()
        );
        assert_eq!(arena.ends_in, Some(Duration::from_secs(1_200)));
        assert_eq!(arena.period(), 1_779_732_000_000..1_779_739_200_000);
        assert_eq!(
            arena.unmet_requirements,
            ["Your Bullet rating (900) is too low"]
        );
        let me = arena.me.expect("we are in it");
        assert_eq!(
            (me.rank, me.withdrawn, me.pause),
            (3, true, Some(Duration::from_secs(12)))
        );
    }

    #[test]
    fn listed_arena_is_parsed() {
        let line = r#"{"id":"friday01","createdBy":"ann","system":"arena","minutes":60,
            "clock":{"limit":180,"increment":2},"rated":true,"fullName":"Friday Arena","nbPlayers":3,
            "variant":{"key":"standard","short":"Std","name":"Standard"},"startsAt":1793000000000,
            "finishesAt":1793003600000,"status":10,"perf":{"key":"blitz","name":"Blitz"},"secondsToStart":30,
            "teamMember":"the-bots","private":true,"teamBattle":{"teams":["a","b"],"nbLeaders":5}}"#;
        let arena: ListedArena = serde_json::from_str(line).unwrap();
        assert_eq!(arena.clock.to_string(), "3+2");
        assert_eq!(arena.variant, Variant::Standard);
        assert_eq!(
            (arena.minutes, arena.finished, arena.private),
            (60, false, true)
        );
        assert_eq!(arena.finishes_at - arena.starts_at, 3_600_000);
        assert_eq!(arena.team.as_deref(), Some("the-bots"));
        assert_eq!(arena.battle_teams, ["a", "b"]);
        let bare =
            r#"{"id":"friday01","clock":{"limit":60},"minutes":10,"startsAt":5,"status":30}"#;
        let arena: ListedArena = serde_json::from_str(bare).unwrap();
        assert!(arena.finished && !arena.private && arena.battle_teams.is_empty());
        assert_eq!(arena.finishes_at, 600_005);
    }

    #[test]
    fn arena_page_with_missing_fields_is_parsed() {
        let arena: Arena =
            serde_json::from_str(r#"{"id":"abcdefgh","secondsToStart":30}"#).unwrap();
        assert!(
            !arena.bots_allowed
                && !arena.by_lichess
                && arena.me.is_none()
                && arena.unmet_requirements.is_empty()
        );
        assert_eq!(
            (arena.name.as_str(), arena.variant),
            ("abcdefgh", Variant::Unknown)
        );
    }
}
