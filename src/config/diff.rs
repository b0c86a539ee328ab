//! What is different between one set of settings and another, and what of the other can be had without a restart.

use std::fmt;

use serde::Serialize;
use toml::{Table, Value};

use super::settings::{Engine, Settings};
use crate::lichess::model::clip;
use crate::lichess::redact_tokens;

/// Values that are longer are cut; of lists that are longer only the difference is told.
const LONGEST: usize = 120;

/// A setting that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `section.key`, or a rule by its name.
    pub key: String,
    /// `old -> new`, without passwords.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

impl Settings {
    /// These settings, with everything of the new ones that does not need a restart: what was opened, reserved or
    /// listened to at the start stays as it is.
    pub fn adopting(&self, new: &Self) -> Self {
        let old = self.clone();
        let new = new.clone();
        Self {
            lichess: old.lichess,
            engine: Engine {
                move_overhead_ms: new.engine.move_overhead_ms,
                ponder: new.engine.ponder,
                strength: new.engine.strength,
                ..old.engine
            },
            book: old.book,
            records: old.records,
            web: old.web,
            daemon: old.daemon,
            account: old.account,
            name: old.name,
            sisters: old.sisters,
            token: old.token,
            ..new
        }
    }

    /// What is different in the new ones, in the order of the sections.
    pub fn changes(&self, new: &Self) -> Vec<Change> {
        let table = |settings: &Self| Table::try_from(settings).expect("settings come from TOML");
        let (old_table, new_table) = (table(self), table(new));
        let mut changes = Vec::new();
        for section in super::schema::sections() {
            if *section == "rule" {
                changes.extend(tables("rule", &self.rule, &new.rule, |rule| &rule.name));
            }
            if *section == "matchmaking" {
                let (old, new) = (&self.matchmaking.profile, &new.matchmaking.profile);
                changes.extend(tables("profile", old, new, |profile| &profile.name));
            }
            for key in super::schema::keys(section).unwrap_or_default() {
                let value =
                    |table: &Table| table.get(*section).and_then(|keys| keys.get(*key)).cloned();
                let (old, new) = (value(&old_table), value(&new_table));
                if old != new {
                    changes.push(Change {
                        key: format!("{section}.{key}"),
                        what: difference(section, key, old.as_ref(), new.as_ref()),
                    });
                }
            }
        }
        changes.extend(tables("account", &self.account, &new.account, Self::shown));
        // Of several, each knows of the others.
        let (old, new) = (&self.sisters, &new.sisters);
        changes.extend(tables("account", old, new, String::as_str));
        changes
    }

    /// What is in force, by section and key as it would be written, without passwords and without where on this machine
    /// the token and the socket are; rules and profiles by their names or else their numbers.
    pub fn in_words(&self) -> Vec<(String, String)> {
        let table = Table::try_from(self).expect("settings come from TOML");
        let mut words = Vec::new();
        for section in super::schema::sections() {
            for key in super::schema::keys(section).unwrap_or_default() {
                let value = table.get(*section).and_then(|keys| keys.get(*key));
                if let Some(value) = value.filter(|_| !["token_file", "socket"].contains(key)) {
                    let shown = clip(&harmless(section, key, value), 2 * LONGEST);
                    words.push((format!("{section}.{key}"), shown));
                }
            }
        }
        let profiles = &self.matchmaking.profile;
        words.extend(listed("profile", profiles, |profile| &profile.name));
        words.extend(listed("rule", &self.rule, |rule| &rule.name));
        words
    }

    /// The name of the account, where it is one of several.
    fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

fn difference(section: &str, key: &str, old: Option<&Value>, new: Option<&Value>) -> String {
    let open = |value: &Value| harmless(section, key, value);
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (old, new) {
        let length = |list: &[Value]| open(&Value::Array(list.to_vec())).len();
        if length(old).max(length(new)) > LONGEST {
            let only = |these: &[Value], those: &[Value], sign: &str| -> Vec<String> {
                let missing = these.iter().filter(|value| !those.contains(value));
                missing
                    .map(|value| format!("{sign} {}", clip(&open(value), LONGEST)))
                    .collect()
            };
            let changed = [only(old, new, "-"), only(new, old, "+")].concat();
            return match changed.is_empty() {
                true => "in another order".to_owned(),
                false => changed.join(", "),
            };
        }
    }
    let shown = |value: Option<&Value>| match value {
        Some(value) => clip(&open(value), 2 * LONGEST),
        None => "not set".to_owned(),
    };
    format!("{} -> {}", shown(old), shown(new))
}

/// The value as it is written, without passwords.
pub(super) fn harmless(section: &str, key: &str, value: &Value) -> String {
    match value {
        Value::String(text) if section == "tournaments" => match (key, text.split_once(':')) {
            ("password", _) if !text.is_empty() => "\"***\"".to_owned(),
            (_, Some((open, _))) => Value::from(format!("{open}:***")).to_string(),
            _ => value.to_string(),
        },
        // Which may be the token itself, by mistake.
        Value::String(_) if section == "lichess" => redact_tokens(&value.to_string()),
        Value::Array(list) => {
            let list: Vec<String> = list
                .iter()
                .map(|value| harmless(section, key, value))
                .collect();
            format!("[{}]", list.join(", "))
        }
        Value::Table(table) => {
            let list = table.iter().filter(|(_, value)| !is_empty(value));
            let list: Vec<String> = list
                .map(|(key, value)| format!("{key} = {}", harmless(section, key, value)))
                .collect();
            format!("{{ {} }}", list.join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether it says nothing, where nothing is the default.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Table(table) => table.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The tables of a list with what they are called.
fn listed<T: Serialize>(
    what: &str,
    tables: &[T],
    name: fn(&T) -> &str,
) -> impl Iterator<Item = (String, String)> {
    let names: Vec<&str> = tables.iter().map(name).collect();
    let words = tables.iter().map(|table| {
        let value = Value::try_from(table).expect("settings come from TOML");
        clip(&harmless("", "", &value), 4 * LONGEST)
    });
    labels(what, &names).into_iter().zip(words)
}

/// What tables with these names are called in a list, those without a name by their number.
fn labels(what: &str, names: &[&str]) -> Vec<String> {
    let label = |(number, name): (usize, &&str)| match *name {
        "" => format!("{what} {}", number + 1),
        name => format!("{what} `{name}`"),
    };
    names.iter().enumerate().map(label).collect()
}

/// Which of the tables of a list are new, gone or not what they were: those called `what`, by their names or else their
/// numbers.
fn tables<T: PartialEq>(what: &str, old: &[T], new: &[T], name: fn(&T) -> &str) -> Vec<Change> {
    let labels = |tables: &[T]| labels(what, &tables.iter().map(name).collect::<Vec<_>>());
    let (old_labels, new_labels) = (labels(old), labels(new));
    let mut changes = Vec::new();
    let mut note = |key: &str, what: &str| {
        changes.push(Change {
            key: key.to_owned(),
            what: what.to_owned(),
        });
    };
    for (label, table) in old_labels.iter().zip(old) {
        match new_labels.iter().position(|other| other == label) {
            None => note(label, "is gone"),
            Some(at) if new[at] != *table => note(label, "has changed"),
            Some(_) => {}
        }
    }
    for label in &new_labels {
        if !old_labels.contains(label) {
            note(label, "is new");
        }
    }
    let kept = |labels: &[String], others: &[String]| -> Vec<String> {
        let kept = labels.iter().filter(|label| others.contains(label));
        kept.cloned().collect()
    };
    if kept(&old_labels, &new_labels) != kept(&new_labels, &old_labels) {
        let order = format!("the order is {}", new_labels.join(", "));
        note(&format!("{what}s"), &order);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    fn settings(text: &str) -> Settings {
        Settings::from_text(text.to_owned(), &Sources::default()).expect("valid settings")
    }

    fn told(old: &str, new: &str) -> Vec<String> {
        let changes = settings(old).changes(&settings(new));
        changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_key_is_told_with_what_it_was() {
        let old = "[challenge]\nrated = false\n[chat]\ngreeting = \"Hi\"\n";
        let new = "[challenge]\nspeeds = [\"rapid\"]\n[chat]\ngreeting = \"Hi\"\n[records]\ndirectory = \"/x\"\n";
        assert_eq!(
            told(old, new),
            [
                "challenge.speeds: [\"bullet\", \"blitz\", \"rapid\", \"classical\"] -> [\"rapid\"]",
                "challenge.rated: false -> true",
                "records.directory: not set -> \"/x\"",
            ]
        );
        assert_eq!(told(new, new), [""; 0]);
    }

    #[test]
    fn of_a_long_list_the_difference_is_told() {
        let names = |skip: usize| -> String {
            let names = (0..40).filter(|n| *n != skip);
            names.map(|n| format!("\"name{n}\",")).collect()
        };
        let list = |skip| format!("[challenge]\nblock = [{}]\n", names(skip));
        assert_eq!(
            told(&list(7), &list(9)),
            ["challenge.block: - \"name9\", + \"name7\""]
        );
    }

    #[test]
    fn passwords_are_not_told() {
        let old = "[tournaments]\njoin = [\"may24bot:secret\"]\n";
        let new = "[tournaments]\njoin = [\"friday01@our-team:secret\"]\n";
        let said = told(old, new).concat();
        assert!(!said.contains("secret"), "{said}");
        assert!(said.contains("may24bot:***"), "{said}");
    }

    #[test]
    fn all_that_is_in_force_is_told_without_secrets() {
        let text = "[lichess]\nurl = \"http://127.0.0.1:1\"\n[tournaments]\njoin = [\"may24bot:secret\"]\n\
                    [[rule]]\nname = \"fast\"\nmatch = { bot = true }\naccept = true\n[[rule]]\ndecline = \"later\"\n";
        let words = settings(text).in_words();
        let of = |key: &str| {
            let found = words.iter().find(|(name, _)| name == key);
            found.map_or("", |(_, value)| value)
        };
        assert_eq!(of("lichess.url"), "\"http://127.0.0.1:1/\"");
        assert_eq!(of("tournaments.join"), "[\"may24bot:***\"]");
        assert_eq!(of("challenge.rated"), "true");
        let fast = "{ accept = true, match = { bot = true }, name = \"fast\" }";
        assert_eq!(of("rule `fast`"), fast, "{words:?}");
        assert_eq!(of("rule 2"), "{ decline = \"later\" }");
        assert!(!format!("{words:?}").contains("secret"));
    }

    #[test]
    fn rules_are_told_by_name() {
        let rule = |name: &str, decision: &str| {
            format!("[[rule]]\nname = \"{name}\"\nmatch = {{ bot = true }}\n{decision}\n")
        };
        let (accept, decline) = ("accept = true", "decline = \"later\"");
        let old = [
            rule("a", accept),
            rule("b", accept),
            rule("c", accept),
            rule("d", accept),
        ]
        .concat();
        let new = [
            rule("c", accept),
            rule("a", decline),
            rule("d", accept),
            rule("e", accept),
        ]
        .concat();
        assert_eq!(
            told(&old, &new),
            [
                "rule `a`: has changed",
                "rule `b`: is gone",
                "rule `e`: is new",
                "rules: the order is rule `c`, rule `a`, rule `d`, rule `e`",
            ]
        );
    }

    #[test]
    fn profiles_are_told_like_rules() {
        let profile = |name: &str, weight: u32| {
            format!("[[matchmaking.profile]]\nname = \"{name}\"\nweight = {weight}\n")
        };
        let old = [profile("fast", 1), profile("slow", 1)].concat();
        let new = [profile("fast", 2), profile("", 1)].concat();
        assert_eq!(
            told(&old, &new),
            [
                "profile `fast`: has changed",
                "profile `slow`: is gone",
                "profile 2: is new"
            ]
        );
    }

    #[test]
    fn what_was_opened_at_the_start_waits_for_a_restart() {
        let old = settings("");
        let new = settings(
            "[lichess]\nurl = \"http://127.0.0.1:1\"\n[engine]\nthreads = 7\nmove_overhead_ms = 7\nponder = false\nstrength = 1500\n\
             [book]\nmax_ply = 7\n[records]\nenabled = false\n[web]\nlisten = \"\"\n[daemon]\ngrace_s = 7\n\
             [challenge]\nqueue_size = 7\n[games]\nconcurrency = 7\n[draw]\nmin_level_moves = 7\n[resign]\nmin_lost_moves = 7\n\
             [chat]\ngreeting = \"7\"\n[tournaments]\njoin = [\"may24bot\"]\n[[rule]]\naccept = true\n",
        );
        let adopted = old.adopting(&new);
        let keys = |changes: Vec<Change>| -> Vec<String> {
            changes.into_iter().map(|change| change.key).collect()
        };
        assert_eq!(
            keys(adopted.changes(&new)),
            [
                "lichess.url",
                "engine.threads",
                "book.max_ply",
                "records.enabled",
                "web.listen",
                "daemon.grace_s"
            ]
        );
        assert_eq!(
            keys(old.changes(&adopted)),
            [
                "engine.move_overhead_ms",
                "engine.ponder",
                "engine.strength",
                "challenge.queue_size",
                "rule 1",
                "games.concurrency",
                "tournaments.join",
                "draw.min_level_moves",
                "resign.min_lost_moves",
                "chat.greeting"
            ]
        );
    }
}
