//! Block lists: user names that others keep, read from URLs and files at the start and once a day. The last copies are
//! kept in a file, so that they outlive restarts and servers.

mod fetch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

pub use fetch::{Fetched, Parsed, fetch};

use crate::backoff::Backoff;
use crate::bot::account::persist::JsonState;
use crate::config::{BlockList, Settings};
use crate::lichess::model::Username;
use crate::plural;
use crate::seconds::{DAY, HOUR, MINUTE};

/// Interval between two readings of a list.
const FETCH_INTERVAL: Duration = Duration::from_secs(DAY);

/// Waits after a list could not be read.
const FETCH_BACKOFF: Backoff =
    Backoff::new(Duration::from_secs(MINUTE), Duration::from_secs(4 * HOUR));

/// A reading is given up after this time: its task has panicked.
const GIVE_UP_AFTER: Duration = Duration::from_secs(300);

/// Names that a log line about differences shows.
const MAX_SHOWN_NAMES: usize = 10;

/// The last copies of all configured lists.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockLists {
    /// By URL or file.
    copies: BTreeMap<String, Copy>,
    #[serde(skip)]
    schedule: Vec<Scheduled>,
}

/// The last copy of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Copy {
    /// Version of the copy, as the server calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// Ids of the users.
    names: BTreeSet<String>,
}

/// A list and its next reading.
#[derive(Clone, Debug)]
struct Scheduled {
    list: BlockList,
    /// `None` for now.
    at: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// The last warning about skipped lines.
    skipped_lines: Option<String>,
}

impl JsonState for BlockLists {
    const FILE_SUFFIX: &str = "blocklists.json";
}

impl BlockLists {
    /// Reads exactly the lists of these settings from now on, each at once. Copies of other lists are dropped.
    pub(crate) fn set_lists(&mut self, settings: &Settings) {
        let lists = configured(settings);
        self.copies
            .retain(|name, _| lists.iter().any(|list| list.to_string() == *name));
        let now = |list| Scheduled {
            list,
            at: None,
            failures: 0,
            skipped_lines: None,
        };
        self.schedule = lists.into_iter().map(now).collect();
    }

    /// Reads the files of these settings, and the URLs that have no copy, for one decision. Returns what cannot be read.
    pub(crate) async fn complete(&mut self, settings: &Settings) -> Vec<String> {
        let mut problems = Vec::new();
        for list in &settings.challenge.block_lists {
            let name = list.to_string();
            if matches!(list, BlockList::Url(_)) && self.copies.contains_key(&name) {
                continue;
            }
            match fetch(list, None).await {
                Ok(Fetched::Unchanged) => {}
                Ok(Fetched::Names { parsed, etag }) => {
                    let names = parsed.names;
                    self.copies.insert(name, Copy { etag, names });
                }
                Err(why) => problems.push(self.failure(&name, &why)),
            }
        }
        problems
    }

    /// Description of a list that cannot be read, and of what is used instead.
    fn failure(&self, name: &str, why: &str) -> String {
        let used = match self.copies.get(name) {
            Some(copy) => format!("its last copy with {} is used", count(&copy.names)),
            None => "there is no earlier copy, so it has no effect until it can be read".to_owned(),
        };
        format!("cannot read the block list {name}: {why}; {used}")
    }

    /// The next list to be read now, with the version of the copy.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(BlockList, Option<String>)> {
        let mut schedule = self.schedule.iter_mut();
        let due = schedule.find(|it| it.at.is_none_or(|at| at <= now))?;
        due.at = Some(now + GIVE_UP_AFTER);
        let copy = self.copies.get(&due.list.to_string());
        Some((due.list.clone(), copy.and_then(|copy| copy.etag.clone())))
    }

    /// Handles the result of a reading. Whether a copy has changed.
    pub(crate) fn on_fetched(
        &mut self,
        list: &BlockList,
        result: Result<Fetched, String>,
        now: Instant,
    ) -> bool {
        // It may have been removed from the settings meanwhile.
        let Some(scheduled) = self.schedule.iter_mut().find(|it| it.list == *list) else {
            return false;
        };
        let name = list.to_string();
        match result {
            Ok(fetched) => {
                scheduled.failures = 0;
                scheduled.at = Some(now + FETCH_INTERVAL);
                let Fetched::Names { parsed, etag } = fetched else {
                    debug!("the block list {name} is unchanged");
                    return false;
                };
                let skipped = parsed.skipped_lines();
                if let Some(lines) = skipped
                    .as_ref()
                    .filter(|_| skipped != scheduled.skipped_lines)
                {
                    warn!("the block list {name}: {lines}; the other lines are used");
                }
                scheduled.skipped_lines = skipped;
                let new = Copy {
                    etag,
                    names: parsed.names,
                };
                let old = self.copies.get(&name);
                if old.is_none_or(|old| old.names != new.names) {
                    info!("{}", difference(&name, old, &new));
                }
                let changed = old != Some(&new);
                self.copies.insert(name, new);
                changed
            }
            Err(why) => {
                let delay = FETCH_BACKOFF.delay(scheduled.failures);
                scheduled.failures = scheduled.failures.saturating_add(1);
                scheduled.at = Some(now + delay);
                let is_first = scheduled.failures == 1;
                let failure = self.failure(&name, &why);
                let text = format!("{failure}; next attempt in {delay:?}");
                match is_first {
                    true => warn!("{text}"),
                    false => debug!("{text}"),
                }
                false
            }
        }
    }

    /// The first of `challenge.block_lists` that contains a user, unless a rule accepts them by name.
    pub(crate) fn list_of(&self, user: &Username, settings: &Settings) -> Option<String> {
        let id = user.id();
        let mut lists = settings
            .challenge
            .block_lists
            .iter()
            .map(BlockList::to_string);
        let list = lists.find(|list| {
            self.copies
                .get(list)
                .is_some_and(|copy| copy.names.contains(&id))
        })?;
        (!settings.accepts_by_name(user.as_str())).then_some(list)
    }

    /// Ids of the users on any list.
    pub(crate) fn all_names(&self) -> Arc<BTreeSet<String>> {
        let names = self.copies.values().flat_map(|copy| &copy.names);
        Arc::new(names.cloned().collect())
    }
}

/// The lists of challenges and of matchmaking.
pub fn configured(settings: &Settings) -> Vec<BlockList> {
    let mut lists = settings.challenge.block_lists.clone();
    for list in &settings.matchmaking.block_lists {
        if !lists.contains(list) {
            lists.push(list.clone());
        }
    }
    lists
}

fn count(names: &BTreeSet<String>) -> String {
    plural::count(names.len(), "name", "names")
}

/// Description of a new copy for the log.
fn difference(list: &str, old: Option<&Copy>, new: &Copy) -> String {
    let all = count(&new.names);
    let Some(old) = old else {
        return format!("the block list {list} has {all}");
    };
    let shown = |one: &Copy, other: &Copy, change: &str| {
        let names: Vec<&str> = one
            .names
            .difference(&other.names)
            .map(String::as_str)
            .collect();
        let more = match names.len().saturating_sub(MAX_SHOWN_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let first = names
            .iter()
            .take(MAX_SHOWN_NAMES)
            .copied()
            .collect::<Vec<_>>();
        (!names.is_empty())
            .then(|| format!("{} {change} ({}{more})", names.len(), first.join(", ")))
    };
    let changes = [shown(new, old, "added"), shown(old, new, "removed")];
    let changes: Vec<String> = changes.into_iter().flatten().collect();
    format!("the block list {list} has {all}: {}", changes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> BlockList {
        text.to_owned().try_into().unwrap()
    }

    fn names(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn fetched(text: &str, etag: &str) -> Result<Fetched, String> {
        let parsed = Parsed {
            names: names(text),
            ..Parsed::default()
        };
        Ok(Fetched::Names {
            parsed,
            etag: Some(etag.to_owned()),
        })
    }

    fn settings(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn lists_are_read_daily_and_keep_their_copy() {
        let settings = settings(
            "[challenge]\nblock_lists = [\"https://a/x\"]\n[matchmaking]\nblock_lists = [\"b\", \"https://a/x\"]\n",
        );
        let (a, b) = (list("https://a/x"), list("b"));
        let now = Instant::now();
        let mut lists = BlockLists::default();
        lists.set_lists(&settings);
        assert_eq!(lists.take_due(now), Some((a.clone(), None)));
        assert_eq!(lists.take_due(now), Some((b.clone(), None)));
        assert_eq!(lists.take_due(now), None);
        assert!(lists.on_fetched(&a, fetched("ann ben", "1"), now));
        assert!(!lists.on_fetched(&b, Err("gone".to_owned()), now));
        assert_eq!(
            lists.take_due(now + FETCH_BACKOFF.delay(0)),
            Some((b.clone(), None))
        );
        let later = now + FETCH_INTERVAL;
        assert_eq!(
            lists.take_due(later),
            Some((a.clone(), Some("1".to_owned())))
        );
        assert!(!lists.on_fetched(&a, Ok(Fetched::Unchanged), later));
        assert!(lists.on_fetched(&a, fetched("ann cleo", "2"), later));
        assert!(!lists.on_fetched(&a, Err("gone".to_owned()), later));
        assert_eq!(*lists.all_names(), names("ann cleo"));
        // A restart reads it again at once, with the version of the copy.
        let mut lists: BlockLists = serde_json::from_str(&lists.to_json()).unwrap();
        lists.set_lists(&settings);
        assert_eq!(
            lists.take_due(later),
            Some((a.clone(), Some("2".to_owned())))
        );
        // A list that is no longer configured is forgotten.
        lists.set_lists(&Settings::default());
        assert!(lists.all_names().is_empty());
        assert!(!lists.on_fetched(&a, fetched("ann", "3"), later));
    }

    #[test]
    fn own_names_come_before_lists() {
        let settings = settings(
            "[challenge]\nblock_lists = [\"x\"]\n[matchmaking]\nblock_lists = [\"y\"]\n\
             [[rule]]\nmatch = { name = \"Ben*\" }\naccept = true\n\
             [[rule]]\nmatch = { name = \"Cleo\" }\npriority = 1\n",
        );
        let mut lists = BlockLists::default();
        lists.set_lists(&settings);
        let now = Instant::now();
        lists.on_fetched(&list("x"), fetched("ann ben cleo", "1"), now);
        lists.on_fetched(&list("y"), fetched("dora", "1"), now);
        let of = |user: &str| lists.list_of(&Username::new(user), &settings);
        assert_eq!(of("ANN"), Some("x".to_owned()));
        assert_eq!(of("Ben"), None);
        assert_eq!(of("Cleo"), Some("x".to_owned()));
        assert_eq!(of("Dora"), None);
    }

    #[test]
    fn difference_names_some() {
        let copy = |text: &str| Copy {
            etag: None,
            names: names(text),
        };
        let many: String = (10..25).map(|n| format!(" u{n}")).collect();
        for (old, new, expected) in [
            (
                "a b",
                "b c",
                "the block list x has 2 names: 1 added (c), 1 removed (a)",
            ),
            ("a b", "b", "the block list x has 1 name: 1 removed (a)"),
            (
                "",
                many.as_str(),
                "the block list x has 15 names: 15 added (u10, u11, u12, u13, u14, u15, u16, u17, u18, u19 and 5 more)",
            ),
        ] {
            assert_eq!(difference("x", Some(&copy(old)), &copy(new)), expected);
        }
        assert_eq!(
            difference("x", None, &copy("a")),
            "the block list x has 1 name"
        );
    }
}
