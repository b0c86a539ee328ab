//! Which challenges were accepted within the last 24 hours, for the limits per day and for rules that ask about what only
//! a challenge tells; kept in a file over restarts.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::keeper;
use super::policy::Known;
use crate::clock;
use crate::config::Settings;
use crate::lichess::model::{GameId, Username};

/// How long an acceptance counts.
pub const DAY: Duration = Duration::from_secs(86_400);

/// The most that is remembered: 200 times what Lichess lets a bot play with bots.
const MOST: usize = 20_000;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// In the order in which they were accepted.
    entries: Vec<Entry>,
}

/// An acceptance: a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Seconds since 1970.
    at: u64,
    /// The challenge.
    id: String,
    /// The challenger in lower case, nothing for somebody without an account.
    user: String,
    /// Under which limit it counts: the name of a rule, or `[challenge]`; nothing where there is no limit.
    limit: String,
    /// What was known of the challenge, where rules may ask for that again when it is a game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<Known>,
}

impl Entry {
    /// Whether it counts. One from the future is of a clock that was wrong; a small step back of the clock is no harm.
    fn counts(&self, now: u64) -> bool {
        self.at.abs_diff(now) < DAY.as_secs()
    }
}

impl Ledger {
    /// Reads the file; one that is not there is empty, and lines that cannot be read are passed over.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = keeper::read(path)?;
        let lines = text.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Self {
            entries: entries.collect(),
        })
    }

    /// The file as it should be.
    pub fn text(&self) -> String {
        let lines = self
            .entries
            .iter()
            .map(|entry| serde_json::to_string(entry).expect("plain data with string keys") + "\n");
        lines.collect()
    }

    /// What was known of a challenge that was accepted.
    pub fn known(&self, id: &GameId) -> Option<Known> {
        let mut entries = self.entries.iter().rev();
        entries.find(|entry| entry.id == id.as_str())?.known.clone()
    }

    /// The same of the last one that was added.
    pub fn keep(&mut self, known: Known) {
        if let Some(last) = self.entries.last_mut() {
            last.known = Some(known);
        }
    }

    /// Takes down an acceptance, and forgets those that are too old to count.
    pub fn add(&mut self, id: &GameId, user: Option<&Username>, limit: &str, now: SystemTime) {
        let at = clock::epoch_seconds(now);
        let stays = |entry: &Entry| entry.counts(at) && entry.id != id.as_str();
        self.entries.retain(stays);
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        self.entries.push(Entry {
            at,
            id: id.to_string(),
            user: user.map_or_else(String::new, Username::id),
            limit: limit.to_owned(),
            known: None,
        });
    }

    /// The challenge has not become a game. Whether it was taken down.
    pub fn remove(&mut self, id: &GameId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id.as_str());
        self.entries.len() < before
    }

    /// How many count under this limit: of one user, or of all.
    pub fn count(&self, limit: &str, user: Option<&str>, now: SystemTime) -> usize {
        self.counted(limit, user, now).count()
    }

    /// When there are fewer than `most` again, if there are not now.
    pub fn full_until(
        &self,
        limit: &str,
        user: Option<&str>,
        most: u32,
        now: SystemTime,
    ) -> Option<SystemTime> {
        let mut times: Vec<u64> = self.counted(limit, user, now).collect();
        times.sort_unstable();
        let oldest_to_go = times.len().checked_sub(most as usize)?;
        let at = times
            .get(oldest_to_go)
            .copied()
            .unwrap_or(clock::epoch_seconds(now));
        Some(UNIX_EPOCH + Duration::from_secs(at) + DAY)
    }

    fn counted<'a>(
        &'a self,
        limit: &'a str,
        user: Option<&'a str>,
        now: SystemTime,
    ) -> impl Iterator<Item = u64> + 'a {
        let now = clock::epoch_seconds(now);
        let meant = move |entry: &&Entry| {
            let theirs = user.is_none_or(|user| entry.user.eq_ignore_ascii_case(user));
            entry.limit == limit && theirs && entry.counts(now)
        };
        self.entries.iter().filter(meant).map(|entry| entry.at)
    }
}

/// Where these settings have the file: one for each server and account, so that rehearsals do not count. `None` where nothing can be
/// kept.
pub fn file(settings: &Settings) -> Option<PathBuf> {
    let name = format!("{}.accepted.jsonl", settings.state_name());
    let chosen = settings.records.directory.clone();
    Some(chosen.or_else(|| settings.data_directory())?.join(name))
}

/// Another file that is kept beside that one, for the same server.
pub fn beside(ledger: &Path, ending: &str) -> PathBuf {
    // `lichess.org.accepted.jsonl` has two endings.
    ledger.with_extension("").with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: usize) -> GameId {
        format!("game{n:04}").parse().unwrap()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    #[test]
    fn counts_by_limit_and_by_user_for_a_day() {
        let mut ledger = Ledger::default();
        let ann = Username::new("Ann");
        ledger.add(&id(1), Some(&ann), "bots", at(0));
        ledger.add(&id(2), Some(&Username::new("Ben")), "bots", at(10));
        ledger.add(&id(3), Some(&Username::new("ANN")), "friends", at(20));
        ledger.add(&id(4), None, "bots", at(30));
        let count = |limit, user, now| ledger.count(limit, user, at(now));
        assert_eq!(count("bots", None, 40), 3);
        assert_eq!(count("bots", Some("ann"), 40), 1);
        assert_eq!(count("friends", Some("ann"), 40), 1);
        assert_eq!(count("bots", Some(""), 40), 1);
        assert_eq!(count("bots", None, 86_400), 2);
        assert_eq!(count("bots", None, 200_000), 0);
        assert_eq!(ledger.full_until("bots", None, 4, at(40)), None);
        assert_eq!(ledger.full_until("bots", None, 3, at(40)), Some(at(86_400)));
        assert_eq!(ledger.full_until("bots", None, 1, at(40)), Some(at(86_430)));
        assert!(ledger.remove(&id(1)) && !ledger.remove(&id(1)));
        assert_eq!(ledger.full_until("bots", None, 3, at(40)), None);
    }

    #[test]
    fn a_clock_that_was_wrong_blocks_nobody_for_ever() {
        let mut ledger = Ledger::default();
        ledger.add(&id(1), None, "x", at(400 * 86_400));
        assert_eq!(ledger.count("x", None, at(0)), 0);
        assert_eq!(ledger.count("x", None, at(400 * 86_400 - 60)), 1);
    }

    #[test]
    fn the_file_survives_what_happens_to_files() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/x.jsonl");
        assert_eq!(Ledger::load(&path).unwrap(), Ledger::default());
        let mut ledger = Ledger::default();
        ledger.add(&id(1), Some(&Username::new("Ann")), "a \"rule\"\n", at(0));
        ledger.add(&id(2), None, "[challenge]", at(1));
        keeper::save(&path, &ledger.text()).unwrap();
        assert_eq!(Ledger::load(&path).unwrap(), ledger);
        let torn = ledger.text() + "{\"at\":17\n\u{fffd}\nnonsense";
        keeper::save(&path, &torn).unwrap();
        assert_eq!(Ledger::load(&path).unwrap(), ledger);
    }

    #[test]
    fn each_server_has_its_own_file() {
        let file = |url: &str| {
            let mut settings = Settings::default();
            settings.lichess.url = url.parse().unwrap();
            settings.records.directory = Some("/chosen".into());
            file(&settings).unwrap()
        };
        assert_eq!(
            file("https://lichess.org"),
            Path::new("/chosen/lichess.org.accepted.jsonl")
        );
        assert_eq!(
            file("http://[::1]:9663"),
            Path::new("/chosen/___1_-9663.accepted.jsonl")
        );
        assert_eq!(
            beside(&file("https://lichess.org"), "quota.json"),
            Path::new("/chosen/lichess.org.quota.json")
        );
    }

    proptest! {
        /// Whatever comes whenever, no 24 hours ever see more than the limit.
        #[test]
        fn no_day_sees_more_than_the_limit(
            gaps in prop::collection::vec(0_u64..40_000, 1..80),
            most in 1_u32..5,
        ) {
            let mut ledger = Ledger::default();
            let (mut now, mut accepted) = (0, Vec::new());
            for (n, gap) in gaps.into_iter().enumerate() {
                now += gap;
                match ledger.full_until("x", None, most, at(now)) {
                    None => {
                        ledger.add(&id(n), None, "x", at(now));
                        accepted.push(now);
                    }
                    Some(again) => {
                        prop_assert!(again > at(now));
                        prop_assert_eq!(ledger.full_until("x", None, most, again), None);
                    }
                }
            }
            for pair in accepted.windows(most as usize + 1) {
                prop_assert!(pair[pair.len() - 1] - pair[0] >= DAY.as_secs());
            }
        }
    }
}
