//! Which challenges were accepted within the last 24 hours, for the limits per day and for rules that ask about what only
//! a challenge tells; kept in a file over restarts, to which one line is added for each.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bot::account::persist;
use crate::bot::policy::ChallengeFacts;
use crate::clock;
use crate::config::Settings;
use crate::lichess::model::{GameId, Username};

/// How long an acceptance counts.
pub const DAY: Duration = Duration::from_secs(86_400);

/// The most that is remembered: 200 times what Lichess lets a bot play with bots.
const MOST: usize = 20_000;

/// Lines of the file that count no more; with more of them it is written whole.
const MOST_STALE: usize = 1_000;

/// What its file ends with.
pub const ENDING: &str = "accepted.jsonl";

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct AcceptedLog {
    /// In the order in which they were accepted.
    entries: Vec<Entry>,
    /// How many lines the file has, if more of them can be added to it. Not at first: a crash may have torn its last one.
    lines: Option<usize>,
}

/// What brings the file up to date.
#[derive(Debug, PartialEq, Eq)]
pub enum Update {
    /// This is all of it.
    Whole(String),
    /// These lines follow those that are there.
    More(String),
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
    known: Option<ChallengeFacts>,
    /// It is in the file, or on its way there.
    #[serde(skip)]
    filed: bool,
}

impl Entry {
    fn line(&self) -> String {
        serde_json::to_string(self).expect("plain data with string keys") + "\n"
    }

    /// Whether it counts. One from the future is of a clock that was wrong; a small step back of the clock is no harm.
    fn counts(&self, now: u64) -> bool {
        self.at.abs_diff(now) < DAY.as_secs()
    }
}

impl AcceptedLog {
    /// Reads the file; one that is not there is empty, and lines that cannot be read are passed over.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = persist::read(path)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Self {
            entries: entries.collect(),
            lines: None,
        })
    }

    /// What is to be written now. If that fails, [`mistrust`](Self::mistrust).
    pub fn update(&mut self) -> Update {
        let news = self.entries.iter().filter(|entry| !entry.filed);
        let lines = self.lines.map(|lines| lines + news.clone().count());
        let most = self.entries.len() + MOST_STALE;
        let update = match lines.filter(|lines| *lines <= most) {
            Some(lines) => {
                self.lines = Some(lines);
                Update::More(news.map(Entry::line).collect())
            }
            None => {
                self.lines = Some(self.entries.len());
                Update::Whole(self.entries.iter().map(Entry::line).collect())
            }
        };
        self.entries.iter_mut().for_each(|entry| entry.filed = true);
        update
    }

    /// The file is not what it should be: next time it is written whole.
    pub fn mistrust(&mut self) {
        self.lines = None;
    }

    /// What was known of a challenge that was accepted.
    pub fn known(&self, id: &GameId) -> Option<ChallengeFacts> {
        let mut entries = self.entries.iter().rev();
        entries.find(|entry| entry.id == id.as_str())?.known.clone()
    }

    /// The same of the last one that was added.
    pub fn keep(&mut self, known: ChallengeFacts) {
        if let Some(last) = self.entries.last_mut() {
            last.known = Some(known);
        }
    }

    /// Takes down an acceptance, and forgets those that are too old to count.
    pub fn add(&mut self, id: &GameId, user: Option<&Username>, limit: &str, now: SystemTime) {
        let at = clock::epoch_seconds(now);
        self.remove(id);
        self.entries.retain(|entry| entry.counts(at));
        let excess = (self.entries.len() + 1).saturating_sub(MOST);
        self.entries.drain(..excess);
        self.entries.push(Entry {
            at,
            id: id.to_string(),
            user: user.map_or_else(String::new, Username::id),
            limit: limit.to_owned(),
            known: None,
            filed: false,
        });
    }

    /// The challenge has not become a game. Whether it was taken down.
    pub fn remove(&mut self, id: &GameId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id.as_str());
        let removed = self.entries.len() < before;
        if removed {
            self.mistrust();
        }
        removed
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
    let name = format!("{}.{ENDING}", settings.state_name());
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
        let mut ledger = AcceptedLog::default();
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
        let mut ledger = AcceptedLog::default();
        ledger.add(&id(1), None, "x", at(400 * 86_400));
        assert_eq!(ledger.count("x", None, at(0)), 0);
        assert_eq!(ledger.count("x", None, at(400 * 86_400 - 60)), 1);
    }

    #[test]
    fn the_file_survives_what_happens_to_files() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/x.jsonl");
        assert_eq!(AcceptedLog::load(&path).unwrap().entries, []);
        let mut ledger = AcceptedLog::default();
        ledger.add(&id(1), Some(&Username::new("Ann")), "a \"rule\"\n", at(0));
        ledger.add(&id(2), None, "[challenge]", at(1));
        let Update::Whole(text) = ledger.clone().update() else {
            panic!("there is no file yet");
        };
        persist::save(&path, &text).unwrap();
        assert_eq!(AcceptedLog::load(&path).unwrap().entries, ledger.entries);
        let torn = text + "{\"at\":17\n\u{fffd}\nnonsense";
        persist::save(&path, &torn).unwrap();
        assert_eq!(AcceptedLog::load(&path).unwrap().entries, ledger.entries);
    }

    /// Brings the file up to date. How many bytes that took.
    fn write(ledger: &mut AcceptedLog, path: &Path) -> usize {
        match ledger.update() {
            Update::Whole(text) => {
                persist::save(path, &text).unwrap();
                text.len()
            }
            Update::More(text) => {
                persist::append(path, &text).unwrap();
                text.len()
            }
        }
    }

    fn ids(ledger: &AcceptedLog) -> Vec<&str> {
        let entries = ledger.entries.iter();
        entries.map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn an_acceptance_costs_one_line_and_the_file_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        let mut ledger = AcceptedLog::default();
        ledger.add(&id(0), None, "x", at(0));
        write(&mut ledger, &path);
        for n in 1..200 {
            ledger.add(&id(n), None, "x", at(1));
            ledger.keep(ChallengeFacts::default());
            assert!(write(&mut ledger, &path) < 200, "one line");
        }
        assert_eq!(write(&mut ledger, &path), 0);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&ledger));
        // What did not become a game is taken out, and the same challenge does not count twice.
        ledger.remove(&id(7));
        write(&mut ledger, &path);
        ledger.add(&id(8), None, "x", at(2));
        write(&mut ledger, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&ledger));
        assert_eq!(ledger.count("x", None, at(2)), 199);
        // Lines that count no more do not pile up.
        let day = DAY.as_secs();
        for n in 0..3 * MOST_STALE {
            ledger.add(&id(n), None, "x", at((n as u64 + 1) * day));
            write(&mut ledger, &path);
        }
        assert_eq!(ids(&ledger).len(), 1);
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MOST_STALE + 1, "{lines}");
    }

    #[test]
    fn after_a_failure_and_after_a_crash_the_file_is_written_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        let mut ledger = AcceptedLog::default();
        ledger.add(&id(1), None, "x", at(0));
        write(&mut ledger, &path);
        // Lost on the way, half of it written.
        ledger.add(&id(2), None, "x", at(1));
        let _ = ledger.update();
        persist::append(&path, "{\"at\":17").unwrap();
        ledger.mistrust();
        ledger.add(&id(3), None, "x", at(2));
        write(&mut ledger, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&ledger));
        persist::append(&path, "{\"at\":17").unwrap();
        let mut ledger = AcceptedLog::load(&path).unwrap();
        ledger.add(&id(4), None, "x", at(3));
        write(&mut ledger, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()).len(), 4);
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
            let mut ledger = AcceptedLog::default();
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
