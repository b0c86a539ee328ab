//! Log of accepted challenges, for limits and for rules that ask about facts that only a challenge contains. Entries are
//! kept for 24 hours, or for the longest window of a limit, and for as long as the game is running. Kept in a file over
//! restarts; each acceptance appends one line.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bot::account::persist;
use crate::bot::policy::ChallengeFacts;
use crate::clock;
use crate::config::{Settings, Window};
use crate::lichess::model::{GameId, Username};
use crate::seconds::DAY;

/// Time for which an acceptance is kept at least.
const MIN_RETENTION: Duration = Duration::from_secs(DAY);

/// Maximum number of entries, besides those of running games: 200 times the games between bots that Lichess allows in a day.
const MAX_ENTRIES: usize = 20_000;

/// Lines of the file that no longer count. With more of them the file is rewritten.
const MAX_STALE_LINES: usize = 1_000;

pub(crate) const FILE_SUFFIX: &str = "accepted.jsonl";

/// Accepted challenges.
#[derive(Clone, Debug, Default)]
pub struct AcceptedLog {
    /// In the order of acceptance.
    entries: Vec<Entry>,
    /// Lines in the file; `None` if it must be rewritten. That is so at the start: a crash may have torn its last
    /// line.
    lines: Option<usize>,
    /// Time for which entries are kept; `None` for 24 hours.
    kept_for: Option<Duration>,
}

/// How to bring the file up to date.
#[derive(Debug, PartialEq, Eq)]
pub enum Update {
    /// Replace the content.
    Replace(String),
    /// Append these lines.
    Append(String),
}

/// An accepted challenge: one line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Seconds since the epoch.
    at: u64,
    /// Id of the challenge.
    id: String,
    /// Challenger in lower case; empty if they have no account.
    user: String,
    /// Name of the limit under which it counts: a rule, or `[challenge]`; empty if there is none.
    limit: String,
    /// Facts of the challenge that rules may ask for when it has become a game.
    #[serde(default, alias = "known", skip_serializing_if = "Option::is_none")]
    facts: Option<ChallengeFacts>,
    /// The entry is in the file or being written.
    #[serde(skip)]
    written: bool,
}

impl Entry {
    fn line(&self) -> String {
        serde_json::to_string(self).expect("plain data with string keys") + "\n"
    }

    /// Returns whether the entry belongs to the window that ends now. One in the future is due to a wrong clock; a
    /// small step back of the clock does no harm.
    fn is_within(&self, time: Duration, now: u64) -> bool {
        self.at.abs_diff(now) < time.as_secs()
    }
}

impl AcceptedLog {
    /// Reads the file; empty if it does not exist. Lines that cannot be parsed are skipped.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = persist::read(path)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Self {
            entries: entries.collect(),
            lines: None,
            kept_for: None,
        })
    }

    /// Keeps entries for the longest window of the limits of these settings, and for 24 hours at least.
    pub fn keep_for(&mut self, settings: &Settings) {
        self.kept_for = settings
            .longest_window()
            .filter(|window| *window > MIN_RETENTION);
    }

    /// Returns what to write now. If the write fails, call [`force_rewrite`](Self::force_rewrite).
    pub fn update(&mut self) -> Update {
        let pending = self.entries.iter().filter(|entry| !entry.written);
        let lines = self.lines.map(|lines| lines + pending.clone().count());
        let max = self.entries.len() + MAX_STALE_LINES;
        let update = match lines.filter(|lines| *lines <= max) {
            Some(lines) => {
                self.lines = Some(lines);
                Update::Append(pending.map(Entry::line).collect())
            }
            None => {
                self.lines = Some(self.entries.len());
                Update::Replace(self.entries.iter().map(Entry::line).collect())
            }
        };
        self.entries
            .iter_mut()
            .for_each(|entry| entry.written = true);
        update
    }

    /// Rewrites the whole file at the next update.
    pub fn force_rewrite(&mut self) {
        self.lines = None;
    }

    /// Facts of an accepted challenge.
    pub fn facts(&self, id: &GameId) -> Option<ChallengeFacts> {
        let mut entries = self.entries.iter().rev();
        entries.find(|entry| entry.id == id.as_str())?.facts.clone()
    }

    /// Drops entries that no longer count, and the oldest beyond the maximum, unless their games are running.
    pub fn prune(&mut self, now: SystemTime, is_running: impl Fn(&str) -> bool) {
        let at = clock::epoch_seconds(now);
        let kept_for = self.kept_for.unwrap_or(MIN_RETENTION);
        self.entries
            .retain(|entry| entry.is_within(kept_for, at) || is_running(&entry.id));
        let mut excess = self.entries.len().saturating_sub(MAX_ENTRIES);
        self.entries.retain(|entry| {
            let drop = excess > 0 && !is_running(&entry.id);
            excess -= usize::from(drop);
            !drop
        });
    }

    /// Adds an entry.
    pub fn add(
        &mut self,
        id: &GameId,
        user: Option<&Username>,
        limit: &str,
        facts: Option<ChallengeFacts>,
        now: SystemTime,
    ) {
        let at = clock::epoch_seconds(now);
        self.remove(id);
        self.entries.push(Entry {
            at,
            id: id.to_string(),
            user: user.map_or_else(String::new, Username::id),
            limit: limit.to_owned(),
            facts,
            written: false,
        });
    }

    /// Removes a challenge that has not become a game. Whether it was there.
    pub fn remove(&mut self, id: &GameId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id.as_str());
        let removed = self.entries.len() < before;
        if removed {
            self.force_rewrite();
        }
        removed
    }

    /// Name of the limit under which a challenge was accepted.
    pub fn limit(&self, id: &GameId) -> Option<&str> {
        let mut entries = self.entries.iter().rev();
        let entry = entries.find(|entry| entry.id == id.as_str())?;
        Some(&*entry.limit).filter(|limit| !limit.is_empty())
    }

    /// Number of entries under a limit in a window, of one user or of all, and until when there are as many as it
    /// allows.
    pub fn usage(
        &self,
        limit: &str,
        user: Option<&str>,
        window: Window,
        now: SystemTime,
    ) -> (usize, Option<SystemTime>) {
        let at = clock::epoch_seconds(now);
        let counts = |entry: &&Entry| {
            let theirs = user.is_none_or(|user| entry.user.eq_ignore_ascii_case(user));
            entry.limit == limit && theirs && entry.is_within(window.time, at)
        };
        let mut times: Vec<u64> = self
            .entries
            .iter()
            .filter(counts)
            .map(|entry| entry.at)
            .collect();
        times.sort_unstable();
        let oldest_to_go = times.len().checked_sub(window.max as usize);
        let full_until = oldest_to_go.map(|oldest| {
            let at = times.get(oldest).copied().unwrap_or(at);
            UNIX_EPOCH + Duration::from_secs(at) + window.time
        });
        (times.len(), full_until)
    }
}

/// Path of the file for these settings: one for each server and account, so that games on a simulator do not count.
/// `None` if there is no data directory.
pub fn file(settings: &Settings) -> Option<PathBuf> {
    let name = format!("{}.{FILE_SUFFIX}", settings.state_name());
    Some(settings.records_directory()?.join(name))
}

/// Path of another state file of the same server and account.
pub(crate) fn sibling(accepted_log: &Path, ending: &str) -> PathBuf {
    // The suffix of `lichess.org.accepted.jsonl` has two parts.
    accepted_log.with_extension("").with_extension(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl AcceptedLog {
        fn count(&self, limit: &str, user: Option<&str>, now: SystemTime) -> usize {
            let window = Window {
                max: 0,
                time: Duration::from_secs(DAY),
            };
            self.usage(limit, user, window, now).0
        }

        fn full_until(
            &self,
            limit: &str,
            user: Option<&str>,
            max: u32,
            now: SystemTime,
        ) -> Option<SystemTime> {
            let window = Window {
                max,
                time: Duration::from_secs(DAY),
            };
            self.usage(limit, user, window, now).1
        }
    }

    fn id(n: usize) -> GameId {
        format!("game{n:04}").parse().unwrap()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    #[test]
    fn accepted_log_counts_by_limit_and_user() {
        let mut accepted_log = AcceptedLog::default();
        let ann = Username::new("Ann");
        accepted_log.add(&id(1), Some(&ann), "bots", None, at(0));
        accepted_log.add(&id(2), Some(&Username::new("Ben")), "bots", None, at(10));
        accepted_log.add(&id(3), Some(&Username::new("ANN")), "friends", None, at(20));
        accepted_log.add(&id(4), None, "bots", None, at(30));
        let count = |limit, user, now| accepted_log.count(limit, user, at(now));
        assert_eq!(count("bots", None, 40), 3);
        assert_eq!(count("bots", Some("ann"), 40), 1);
        assert_eq!(count("friends", Some("ann"), 40), 1);
        assert_eq!(count("bots", Some(""), 40), 1);
        assert_eq!(count("bots", None, 86_400), 2);
        assert_eq!(count("bots", None, 200_000), 0);
        assert_eq!(accepted_log.full_until("bots", None, 4, at(40)), None);
        assert_eq!(
            accepted_log.full_until("bots", None, 3, at(40)),
            Some(at(86_400))
        );
        assert_eq!(
            accepted_log.full_until("bots", None, 1, at(40)),
            Some(at(86_430))
        );
        assert!(accepted_log.remove(&id(1)) && !accepted_log.remove(&id(1)));
        assert_eq!(accepted_log.full_until("bots", None, 3, at(40)), None);
    }

    #[test]
    fn accepted_log_counts_in_windows_and_keeps_the_longest() {
        let mut settings = Settings::default();
        settings.challenge.per_user = "2/1m, 3/2d".to_owned().try_into().unwrap();
        let mut accepted_log = AcceptedLog::default();
        accepted_log.keep_for(&settings);
        let windows: Vec<Window> = settings.challenge.limit().of_user().collect();
        for (n, second) in [0, 30, 100_000].into_iter().enumerate() {
            accepted_log.add(&id(n), None, "x", None, at(second));
        }
        let usage =
            |window: usize, second| accepted_log.usage("x", None, windows[window], at(second));
        assert_eq!(usage(0, 40), (2, Some(at(60))));
        assert_eq!(usage(0, 75), (1, None));
        assert_eq!(usage(1, 100_000), (3, Some(at(172_800))));
        assert_eq!(usage(1, 172_800), (2, None));
        // Without that window only the last day is kept.
        accepted_log.keep_for(&Settings::default());
        accepted_log.add(&id(3), None, "y", None, at(100_001));
        accepted_log.prune(at(100_001), |_| false);
        assert_eq!(accepted_log.usage("x", None, windows[1], at(100_001)).0, 1);
        assert_eq!(accepted_log.limit(&id(3)), Some("y"));
    }

    #[test]
    fn accepted_log_wrong_clock_blocks_nobody() {
        let mut accepted_log = AcceptedLog::default();
        accepted_log.add(&id(1), None, "x", None, at(400 * 86_400));
        assert_eq!(accepted_log.count("x", None, at(0)), 0);
        assert_eq!(accepted_log.count("x", None, at(400 * 86_400 - 60)), 1);
    }

    #[test]
    fn accepted_log_survives_in_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/x.jsonl");
        assert_eq!(AcceptedLog::load(&path).unwrap().entries, []);
        let mut accepted_log = AcceptedLog::default();
        accepted_log.add(
            &id(1),
            Some(&Username::new("Ann")),
            "a \"rule\"\n",
            None,
            at(0),
        );
        accepted_log.add(&id(2), None, "[challenge]", None, at(1));
        let Update::Replace(text) = accepted_log.clone().update() else {
            panic!("there is no file yet");
        };
        persist::save(&path, &text).unwrap();
        assert_eq!(
            AcceptedLog::load(&path).unwrap().entries,
            accepted_log.entries
        );
        let torn = text + "{\"at\":17\n\u{fffd}\nnonsense";
        persist::save(&path, &torn).unwrap();
        assert_eq!(
            AcceptedLog::load(&path).unwrap().entries,
            accepted_log.entries
        );
    }

    /// Brings the file up to date. Returns the bytes written.
    fn write(accepted_log: &mut AcceptedLog, path: &Path) -> usize {
        match accepted_log.update() {
            Update::Replace(text) => {
                persist::save(path, &text).unwrap();
                text.len()
            }
            Update::Append(text) => {
                persist::append(path, &text).unwrap();
                text.len()
            }
        }
    }

    fn ids(accepted_log: &AcceptedLog) -> Vec<&str> {
        let entries = accepted_log.entries.iter();
        entries.map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn accepted_log_appends_and_stays_bounded() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        let mut accepted_log = AcceptedLog::default();
        accepted_log.add(&id(0), None, "x", None, at(0));
        write(&mut accepted_log, &path);
        for n in 1..200 {
            let facts = Some(ChallengeFacts::default());
            accepted_log.add(&id(n), None, "x", facts, at(1));
            assert!(write(&mut accepted_log, &path) < 200, "one line");
        }
        assert_eq!(write(&mut accepted_log, &path), 0);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&accepted_log));
        // Challenges that did not become games are removed, and one challenge counts once.
        accepted_log.remove(&id(7));
        write(&mut accepted_log, &path);
        accepted_log.add(&id(8), None, "x", None, at(2));
        write(&mut accepted_log, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&accepted_log));
        assert_eq!(accepted_log.count("x", None, at(2)), 199);
        // Stale lines do not pile up.
        for n in 0..3 * MAX_STALE_LINES {
            let now = at((n as u64 + 1) * DAY);
            accepted_log.add(&id(n), None, "x", None, now);
            accepted_log.prune(now, |_| false);
            write(&mut accepted_log, &path);
        }
        assert_eq!(ids(&accepted_log).len(), 1);
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MAX_STALE_LINES + 1, "{lines}");
    }

    #[test]
    fn accepted_log_keeps_running_games() {
        let mut accepted_log = AcceptedLog::default();
        accepted_log.add(&id(0), None, "long", None, at(0));
        for n in 1..=MAX_ENTRIES + 2 {
            accepted_log.add(&format!("g{n}").parse().unwrap(), None, "x", None, at(1));
        }
        let is_running = |running: &str| running == id(0).as_str();
        accepted_log.prune(at(2), is_running);
        assert_eq!(accepted_log.entries.len(), MAX_ENTRIES);
        accepted_log.prune(at(100 * DAY), is_running);
        assert_eq!(ids(&accepted_log), [id(0).as_str()]);
        assert_eq!(accepted_log.limit(&id(0)), Some("long"));
        accepted_log.prune(at(100 * DAY), |_| false);
        assert_eq!(ids(&accepted_log), [""; 0]);
    }

    #[test]
    fn accepted_log_rewrites_after_failure() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.jsonl");
        let mut accepted_log = AcceptedLog::default();
        accepted_log.add(&id(1), None, "x", None, at(0));
        write(&mut accepted_log, &path);
        // The write fails half way.
        accepted_log.add(&id(2), None, "x", None, at(1));
        let _ = accepted_log.update();
        persist::append(&path, "{\"at\":17").unwrap();
        accepted_log.force_rewrite();
        accepted_log.add(&id(3), None, "x", None, at(2));
        write(&mut accepted_log, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()), ids(&accepted_log));
        persist::append(&path, "{\"at\":17").unwrap();
        let mut accepted_log = AcceptedLog::load(&path).unwrap();
        accepted_log.add(&id(4), None, "x", None, at(3));
        write(&mut accepted_log, &path);
        assert_eq!(ids(&AcceptedLog::load(&path).unwrap()).len(), 4);
    }

    #[test]
    fn accepted_log_file_is_per_server() {
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
            sibling(&file("https://lichess.org"), "quota.json"),
            Path::new("/chosen/lichess.org.quota.json")
        );
    }

    proptest! {
        /// No 24 hours ever contain more acceptances than the limit.
        #[test]
        fn accepted_log_never_exceeds_daily_limit(
            gaps in prop::collection::vec(0_u64..40_000, 1..80),
            max in 1_u32..5,
        ) {
            let mut accepted_log = AcceptedLog::default();
            let (mut now, mut accepted) = (0, Vec::new());
            for (n, gap) in gaps.into_iter().enumerate() {
                now += gap;
                match accepted_log.full_until("x", None, max, at(now)) {
                    None => {
                        accepted_log.add(&id(n), None, "x", None, at(now));
                        accepted.push(now);
                    }
                    Some(again) => {
                        prop_assert!(again > at(now));
                        prop_assert_eq!(accepted_log.full_until("x", None, max, again), None);
                    }
                }
            }
            for pair in accepted.windows(max as usize + 1) {
                prop_assert!(pair[pair.len() - 1] - pair[0] >= DAY);
            }
        }
    }
}
