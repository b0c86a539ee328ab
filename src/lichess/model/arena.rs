//! Arenas: tournaments in which everybody who waits is paired again and again.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::ids::{ArenaId, Variant};
use super::text;

/// An arena, as its page tells of it to who asks with a token.
#[derive(Debug, Clone)]
pub struct Arena {
    pub id: ArenaId,
    pub name: String,
    pub variant: Variant,
    /// Bots may take part.
    pub bots: bool,
    /// Time to the start; nothing once it has begun.
    pub starts_in: Option<Duration>,
    /// Time to the end; nothing before the start and after the end.
    pub ends_in: Option<Duration>,
    pub finished: bool,
    /// What speaks against us, as Lichess puts it.
    pub refusals: Vec<String>,
    /// How we stand in it, if we are in it.
    pub me: Option<Standing>,
}

/// How we stand in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub rank: u32,
    /// We are not paired any more.
    pub withdrawn: bool,
    /// We paused, and may not come back before this is over.
    pub pause: Option<Duration>,
}

impl<'de> Deserialize<'de> for Arena {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            id: ArenaId,
            #[serde(default)]
            full_name: Option<String>,
            #[serde(default)]
            variant: Option<Variant>,
            #[serde(default, deserialize_with = "text::nullable")]
            bots_allowed: bool,
            #[serde(default, deserialize_with = "text::seconds")]
            seconds_to_start: Option<Duration>,
            #[serde(default, deserialize_with = "text::seconds")]
            seconds_to_finish: Option<Duration>,
            #[serde(default, deserialize_with = "text::nullable")]
            is_finished: bool,
            #[serde(default)]
            verdicts: Option<Verdicts>,
            #[serde(default)]
            me: Option<Me>,
        }
        #[derive(Deserialize)]
        struct Verdicts {
            #[serde(default)]
            list: Vec<Verdict>,
        }
        #[derive(Deserialize)]
        struct Verdict {
            #[serde(default)]
            verdict: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Me {
            #[serde(default)]
            rank: u32,
            #[serde(default, deserialize_with = "text::nullable")]
            withdraw: bool,
            #[serde(default, deserialize_with = "text::seconds")]
            pause_delay: Option<Duration>,
        }
        let wire = Wire::deserialize(from)?;
        let verdicts = wire
            .verdicts
            .map_or_else(Vec::new, |verdicts| verdicts.list);
        Ok(Self {
            name: wire
                .full_name
                .map_or_else(|| wire.id.to_string(), |name| text::clip(&name, 60)),
            id: wire.id,
            variant: wire.variant.unwrap_or(Variant::Unknown),
            bots: wire.bots_allowed,
            starts_in: wire.seconds_to_start,
            ends_in: wire.seconds_to_finish,
            finished: wire.is_finished,
            refusals: verdicts
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
    fn the_page_of_an_arena() {
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
        assert!(arena.bots && !arena.finished && arena.starts_in.is_none());
        assert_eq!(arena.ends_in, Some(Duration::from_secs(1_200)));
        assert_eq!(arena.refusals, ["Your Bullet rating (900) is too low"]);
        let me = arena.me.expect("we are in it");
        assert_eq!(
            (me.rank, me.withdrawn, me.pause),
            (3, true, Some(Duration::from_secs(12)))
        );
    }

    #[test]
    fn a_page_may_say_little() {
        let arena: Arena =
            serde_json::from_str(r#"{"id":"abcdefgh","secondsToStart":30}"#).unwrap();
        assert!(!arena.bots && arena.me.is_none() && arena.refusals.is_empty());
        assert_eq!(
            (arena.name.as_str(), arena.variant),
            ("abcdefgh", Variant::Unknown)
        );
    }
}
