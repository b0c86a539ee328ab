//! Differences between settings, and the settings that a reload can change without a restart.

use std::fmt;

use toml::{Table, Value};

use super::rule::Rule;
use super::schema::{self, TABLE_LISTS, table_of};
use super::settings::{Engine, Settings};
use crate::lichess::model::clip;
use crate::lichess::redact_tokens;

/// Longer values are cut; of longer lists only the difference is shown.
const MAX_VALUE_CHARS: usize = 120;

/// A changed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `section.key`, or the name of a rule, profile or account.
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
    /// These settings with the changes from `new` that need no restart. Resources opened at the start keep their settings,
    /// and a rule that is for an engine that was not started keeps its settings of the games.
    pub fn with_reloadable(&self, new: &Self) -> Self {
        let old = self.clone();
        let new = new.clone();
        // Its options may be unknown to the default engine until the restart.
        let has_other_default = old.engine.default != new.engine.default;
        let reloadable = |rule: &Rule| {
            let play = &rule.play;
            let is_for_default = play.engine.is_none() && play.options.is_some();
            match self.starts_engine_of(rule) && !(is_for_default && has_other_default) {
                true => rule.clone(),
                false => self.with_play_until_restart(rule),
            }
        };
        Self {
            rule: new.rule.iter().map(reloadable).collect(),
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
            other_accounts: old.other_accounts,
            token: old.token,
            ..new
        }
    }

    /// The rule as it is until a restart starts its engine: with the settings of the games that it has now. A rule that is
    /// new, or has changed in other keys as well, has none.
    fn with_play_until_restart(&self, rule: &Rule) -> Rule {
        let with_play = |old: &Rule| Rule {
            play: old.play.clone(),
            ..rule.clone()
        };
        let kept = self.rule.iter().find(|old| with_play(old) == **old);
        kept.unwrap_or(rule).clone()
    }

    /// The differences to `new`, in the order of the sections.
    pub fn changes(&self, new: &Self) -> Vec<Change> {
        let (old_table, new_table) = (table_of(self), table_of(new));
        let mut changes = Vec::new();
        for section in schema::sections() {
            if *section == "rule" {
                changes.extend(table_changes("rule", &self.rule, &new.rule, |rule| {
                    &rule.name
                }));
            }
            for list in TABLE_LISTS.iter().filter(|list| list.section == *section) {
                let (old, new) = ((list.tables)(self), (list.tables)(new));
                changes.extend(table_changes(list.label, &old, &new, name_of));
            }
            for key in schema::keys(section).unwrap_or_default() {
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
        changes.extend(table_changes(
            "account",
            &self.account,
            &new.account,
            Self::account_name,
        ));
        // The settings of one of several accounts list the others.
        let (old, new) = (&self.other_accounts, &new.other_accounts);
        changes.extend(table_changes("account", old, new, String::as_str));
        changes
    }

    /// All settings as `(section.key, value)`, without passwords and the paths of token and socket. Rules and the
    /// tables of lists are identified by name or number.
    pub fn describe(&self) -> Vec<(String, String)> {
        let table = table_of(self);
        let mut words = Vec::new();
        for section in schema::sections() {
            for key in schema::keys(section).unwrap_or_default() {
                let value = table.get(*section).and_then(|keys| keys.get(*key));
                if let Some(value) = value.filter(|_| !["token_file", "socket"].contains(key)) {
                    let value = clip(&redacted(section, key, value), 2 * MAX_VALUE_CHARS);
                    words.push((format!("{section}.{key}"), value));
                }
            }
        }
        for list in &TABLE_LISTS {
            words.extend(describe_tables(list.label, &list.shown_tables(self)));
        }
        let rules: Vec<Table> = self.rule.iter().map(table_of).collect();
        words.extend(describe_tables("rule", &rules));
        words
    }

    /// The name of the account; empty with a single account.
    fn account_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

fn difference(section: &str, key: &str, old: Option<&Value>, new: Option<&Value>) -> String {
    let redact = |value: &Value| redacted(section, key, value);
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (old, new) {
        let length = |list: &[Value]| redact(&Value::Array(list.to_vec())).len();
        if length(old).max(length(new)) > MAX_VALUE_CHARS {
            let only = |these: &[Value], those: &[Value], sign: &str| -> Vec<String> {
                let missing = these.iter().filter(|value| !those.contains(value));
                missing
                    .map(|value| format!("{sign} {}", clip(&redact(value), MAX_VALUE_CHARS)))
                    .collect()
            };
            let changed = [only(old, new, "-"), only(new, old, "+")].concat();
            return match changed.is_empty() {
                true => "in another order".to_owned(),
                false => changed.join(", "),
            };
        }
    }
    let text_of = |value: Option<&Value>| match value {
        Some(value) => clip(&redact(value), 2 * MAX_VALUE_CHARS),
        None => "not set".to_owned(),
    };
    format!("{} -> {}", text_of(old), text_of(new))
}

/// The value in TOML, without passwords.
pub(super) fn redacted(section: &str, key: &str, value: &Value) -> String {
    match value {
        Value::String(text) if section == "tournaments" => match (key, text.split_once(':')) {
            ("password", _) if !text.is_empty() => "\"***\"".to_owned(),
            (_, Some((open, _))) => Value::from(format!("{open}:***")).to_string(),
            _ => value.to_string(),
        },
        // May contain the token itself by mistake.
        Value::String(_) if section == "lichess" => redact_tokens(&value.to_string()),
        Value::Array(list) => {
            let list: Vec<String> = list
                .iter()
                .map(|value| redacted(section, key, value))
                .collect();
            format!("[{}]", list.join(", "))
        }
        Value::Table(table) => {
            let list = table.iter().filter(|(_, value)| !is_empty(value));
            let list: Vec<String> = list
                .map(|(key, value)| format!("{key} = {}", redacted(section, key, value)))
                .collect();
            format!("{{ {} }}", list.join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns whether a value is empty, which is its default.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Table(table) => table.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The tables of a list with their labels.
fn describe_tables(what: &str, tables: &[Table]) -> impl Iterator<Item = (String, String)> {
    let names: Vec<&str> = tables.iter().map(name_of).collect();
    let words = tables.iter().map(|table| {
        let value = redacted("", "", &Value::Table(table.clone()));
        clip(&value, 4 * MAX_VALUE_CHARS)
    });
    labels(what, &names).into_iter().zip(words)
}

/// The name of a table; empty without one.
fn name_of(table: &Table) -> &str {
    let name = table.get("name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// Labels of tables: the name, or the number of a table without one.
fn labels(what: &str, names: &[&str]) -> Vec<String> {
    let label = |(number, name): (usize, &&str)| match *name {
        "" => format!("{what} {}", number + 1),
        name => format!("{what} `{name}`"),
    };
    names.iter().enumerate().map(label).collect()
}

/// Changes of a list of tables: added, removed, changed and reordered ones, identified by name or number.
fn table_changes<T: PartialEq>(
    what: &str,
    old: &[T],
    new: &[T],
    name: fn(&T) -> &str,
) -> Vec<Change> {
    let labels = |tables: &[T]| labels(what, &tables.iter().map(name).collect::<Vec<_>>());
    let (old_labels, new_labels) = (labels(old), labels(new));
    let mut changes = Vec::new();
    let mut add = |key: &str, what: &str| {
        changes.push(Change {
            key: key.to_owned(),
            what: what.to_owned(),
        });
    };
    for (label, table) in old_labels.iter().zip(old) {
        match new_labels.iter().position(|other| other == label) {
            None => add(label, "is gone"),
            Some(at) if new[at] != *table => add(label, "has changed"),
            Some(_) => {}
        }
    }
    for label in &new_labels {
        if !old_labels.contains(label) {
            add(label, "is new");
        }
    }
    let kept = |labels: &[String], others: &[String]| -> Vec<String> {
        let kept = labels.iter().filter(|label| others.contains(label));
        kept.cloned().collect()
    };
    if kept(&old_labels, &new_labels) != kept(&new_labels, &old_labels) {
        let order = format!("the order is {}", new_labels.join(", "));
        add(&format!("{what}s"), &order);
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

    fn change_lines(old: &str, new: &str) -> Vec<String> {
        let changes = settings(old).changes(&settings(new));
        changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn changed_key_shows_old_and_new_value() {
        let old = "[challenge]\nrated = false\n[chat]\ngreeting = \"Hi\"\n";
        let new = "[challenge]\nspeeds = [\"rapid\"]\n[chat]\ngreeting = \"Hi\"\n[records]\ndirectory = \"/x\"\n";
        assert_eq!(
            change_lines(old, new),
            [
                "challenge.speeds: [\"bullet\", \"blitz\", \"rapid\", \"classical\"] -> [\"rapid\"]",
                "challenge.rated: false -> true",
                "records.directory: not set -> \"/x\"",
            ]
        );
        assert_eq!(change_lines(new, new), [""; 0]);
    }

    #[test]
    fn long_list_shows_only_difference() {
        let names = |skip: usize| -> String {
            let names = (0..40).filter(|n| *n != skip);
            names.map(|n| format!("\"name{n}\",")).collect()
        };
        let list = |skip| format!("[challenge]\nblock = [{}]\n", names(skip));
        assert_eq!(
            change_lines(&list(7), &list(9)),
            ["challenge.block: - \"name9\", + \"name7\""]
        );
    }

    #[test]
    fn changes_hide_passwords() {
        let old = "[tournaments]\njoin = [\"may24bot:secret\"]\n";
        let new = "[tournaments]\njoin = [\"friday01@our-team:secret\"]\n";
        let text = change_lines(old, new).concat();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("may24bot:***"), "{text}");
    }

    #[test]
    fn describe_lists_all_settings_without_secrets() {
        let text = "[lichess]\nurl = \"http://127.0.0.1:1\"\n[tournaments]\njoin = [\"may24bot:secret\"]\n\
                    [[alert]]\nurl = \"https://a.example/secret\"\n[[engine.external]]\nname = \"sf\"\ncommand = [\"sf\"]\n\
                    environment = { KEY = \"secret\" }\n[[rule]]\nname = \"fast\"\nmatch = { bot = true }\naccept = true\n[[rule]]\ndecline = \"later\"\n";
        let words = settings(text).describe();
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
        assert!(of("alert 1").contains("url = \"(hidden)\""), "{words:?}");
        let engine = of("engine `sf`");
        assert!(engine.contains("command = [\"sf\"]"), "{words:?}");
        assert!(!format!("{words:?}").contains("secret"));
    }

    #[test]
    fn changed_rules_are_identified_by_name() {
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
            change_lines(&old, &new),
            [
                "rule `a`: has changed",
                "rule `b`: is gone",
                "rule `e`: is new",
                "rules: the order is rule `c`, rule `a`, rule `d`, rule `e`",
            ]
        );
    }

    #[test]
    fn changed_profiles_are_identified_by_name() {
        let profile = |name: &str, weight: u32| {
            format!("[[matchmaking.profile]]\nname = \"{name}\"\nweight = {weight}\n")
        };
        let old = [profile("fast", 1), profile("slow", 1)].concat();
        let new = [profile("fast", 2), profile("", 1)].concat();
        assert_eq!(
            change_lines(&old, &new),
            [
                "profile `fast`: has changed",
                "profile `slow`: is gone",
                "profile 2: is new"
            ]
        );
    }

    #[test]
    fn reload_keeps_settings_that_need_restart() {
        let old = settings("");
        let new = settings(
            "[lichess]\nurl = \"http://127.0.0.1:1\"\n[engine]\nthreads = 7\nmove_overhead_ms = 7\nponder = false\nstrength = 1500\n\
             [book]\nmax_ply = 7\n[records]\nenabled = false\n[web]\nlisten = \"\"\n[daemon]\ngrace_s = 7\n\
             [challenge]\nqueue_size = 7\n[games]\nconcurrency = 7\n[draw]\nmin_level_moves = 7\n[resign]\nmin_lost_moves = 7\n\
             [chat]\ngreeting = \"7\"\n[tournaments]\njoin = [\"may24bot\"]\n[[rule]]\naccept = true\n",
        );
        let adopted = old.with_reloadable(&new);
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

    #[test]
    fn rule_keeps_its_engine_until_the_new_one_is_started() {
        let with_engine = |engine: &str, rules: &str| {
            settings(&format!(
                "[[engine.external]]\nname = \"{engine}\"\ncommand = [\"{engine}\"]\n{rules}"
            ))
        };
        let bots =
            |play: &str| format!("[[rule]]\nmatch = {{ bot = true }}\nplay = {{ {play} }}\n");
        let people =
            |play: &str| format!("[[rule]]\nmatch = {{ bot = false }}\nplay = {{ {play} }}\n");
        let old = with_engine("first", &bots("engine = \"first\", options = { Hash = 1 }"));
        let renamed = bots("engine = \"second\", options = { Threads = 2 }");
        let new = with_engine("second", &(renamed + &people("engine = \"second\"")));
        let adopted = old.with_reloadable(&new);
        assert_eq!(adopted.rule[0], old.rule[0]);
        assert_eq!(adopted.rule[1], new.rule[1]);
        let later: Vec<String> = adopted
            .changes(&new)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            later,
            [
                "engine `first`: is gone",
                "engine `second`: is new",
                "rule 1: has changed"
            ]
        );
        // The new rule has no engine yet.
        let [unknown] = &adopted.unknown_engines()[..] else {
            panic!("{:?}", adopted.unknown_engines());
        };
        assert_eq!(
            unknown,
            "there is no engine second; engines are knightwatch, first; until a restart the embedded engine plays instead"
        );
        // Nothing is kept if the engine is running.
        let changed = bots("engine = \"first\", options = { Hash = 2 }");
        let new = with_engine("first", &changed);
        assert_eq!(old.with_reloadable(&new).rule, new.rule);
        assert_eq!(old.with_reloadable(&new).unknown_engines(), [""; 0]);
    }

    #[test]
    fn rule_keeps_options_of_the_default_engine_until_the_new_default_plays() {
        let with_default = |engine: &str, options: &str| {
            settings(&format!(
                "[engine]\ndefault = \"{engine}\"\n\
                 [[engine.external]]\nname = \"first\"\ncommand = [\"first\"]\n\
                 [[engine.external]]\nname = \"second\"\ncommand = [\"second\"]\n\
                 [[rule]]\nmatch = {{ bot = true }}\nplay = {{ options = {{ {options} }} }}\n"
            ))
        };
        let old = with_default("first", "Hash = 1");
        let new = with_default("second", "Threads = 2");
        let adopted = old.with_reloadable(&new);
        assert_eq!(
            (&adopted.engine.default, &adopted.rule),
            (&old.engine.default, &old.rule)
        );
        let new = with_default("first", "Hash = 2");
        assert_eq!(old.with_reloadable(&new).rule, new.rule);
    }
}
