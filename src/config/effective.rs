//! Effective settings with the source of each value, for `knightwatch config`.

use std::fmt::Write as _;

use toml::{Table, Value};

use super::diff::{is_empty, redacted};
use super::layers::{Layer, RawAccount};
use super::problem::Place;
use super::schema::table_of;
use super::{Error, Layered, Settings, Sources, TOKEN_VARIABLE, TokenSource, leaf_of, schema};
use crate::lichess::model::address::{self, Page};

/// The origin of a value that no layer sets.
const DEFAULT: &str = "default";

/// The column at which comments begin, unless the value is longer.
const COMMENT_COLUMN: usize = 44;

/// All settings in the form of a configuration file, each with its source. Passwords are hidden; the token is never shown.
///
/// `account` selects one of several accounts. Without it, the common settings and the overrides of each account are shown.
///
/// # Errors
/// As [`Settings::load`], and when there is no such account.
pub fn effective_text(sources: &Sources, account: Option<&str>) -> Result<String, Error> {
    let Layered {
        settings,
        layers,
        accounts,
    } = Layered::read(sources)?;
    let mut layers: Vec<&Layer> = layers.iter().collect();
    let mut text = header(&settings);
    let several = !accounts.is_empty();
    let settings = match account {
        Some(name) => {
            let settings = settings.for_account(Some(name))?;
            let name = address::id(name, Page::User);
            let has_name = |one: &&RawAccount| {
                let called = one.name.as_deref().unwrap_or_default();
                called.eq_ignore_ascii_case(name)
            };
            // Above the file, below the environment.
            let own = accounts.iter().find(has_name);
            let at = layers.len().min(1);
            layers.splice(at..at, own.map(|own| &own.layer));
            settings
        }
        None => settings,
    };
    write_sections(&settings, &layers, &mut text);
    if several && account.is_none() {
        for own in &accounts {
            write_account(own, &mut text);
        }
    } else {
        let _ = writeln!(text, "\n# the token: {}", token(settings.token.as_ref()));
    }
    Ok(text)
}

fn header(settings: &Settings) -> String {
    let file = match &settings.file {
        Some(file) => file.display().to_string(),
        None => "no file".to_owned(),
    };
    let mut text =
        format!("# later sources override earlier ones: defaults, {file}, environment, --set\n");
    for warning in &settings.warnings {
        let _ = writeln!(text, "# warning: {warning}");
    }
    text
}

fn token(source: Option<&TokenSource>) -> String {
    match source {
        None => "there is none".to_owned(),
        Some(TokenSource::Environment) => format!("in the environment variable {TOKEN_VARIABLE}"),
        Some(TokenSource::Variable(name)) => format!("in the environment variable {name}"),
        Some(TokenSource::File(path)) => format!("in {}", path.display()),
    }
}

fn write_sections(settings: &Settings, layers: &[&Layer], text: &mut String) {
    let table = table_of(settings);
    let origin = |section: &str, key: &str| {
        let leaf = leaf_of(section, &[key], layers);
        leaf.map_or(DEFAULT.to_owned(), |leaf| leaf.place.describe())
    };
    for section in schema::sections() {
        if *section == "rule" {
            let places = rule_places(settings, layers);
            for (rule, place) in settings.rule.iter().zip(places) {
                write_list_item("rule", &table_of(rule), &place.describe(), text);
            }
            continue;
        }
        let _ = writeln!(text, "\n[{section}]");
        for key in schema::keys(section).unwrap_or_default() {
            if schema::table_list(key).is_some() {
                continue;
            }
            match table.get(*section).and_then(|keys| keys.get(*key)) {
                Some(value) => {
                    let value = redacted(section, key, value);
                    write_line(key, &value, &origin(section, key), text);
                }
                None => write_line(&format!("# {key}"), "not set", DEFAULT, text),
            }
        }
        for list in schema::TABLE_LISTS
            .iter()
            .filter(|list| list.section == *section)
        {
            let origin = origin(section, list.key);
            let heading = list.heading.trim_matches(['[', ']']);
            for item in list.shown_tables(settings) {
                write_list_item(heading, &item, &origin, text);
            }
        }
    }
}

/// The places of the rules, in their order: those of an account come before the common ones.
fn rule_places(settings: &Settings, layers: &[&Layer]) -> Vec<Place> {
    let places = |layer: &&Layer| -> Vec<Place> {
        let rules = layer.rules.iter();
        rules.map(|rule| rule.place.clone()).collect()
    };
    let mut each: Vec<Vec<Place>> = layers.iter().map(places).collect();
    if settings.name.is_some() && each.len() > 1 {
        each.swap(0, 1);
    }
    each.concat()
}

fn write_account(own: &RawAccount, text: &mut String) {
    let _ = writeln!(text, "\n[[account]]");
    let name = own.name.clone().unwrap_or_default();
    write_line(
        "name",
        &Value::from(name.as_str()).to_string(),
        &own.place.describe(),
        text,
    );
    for leaf in &own.layer.leaves {
        let key = format!("{}.{}", leaf.section, leaf.key);
        let value = redacted(leaf.section, leaf.key, &leaf.value);
        write_line(&key, &value, &leaf.place.describe(), text);
    }
    for rule in &own.layer.rules {
        write_list_item("account.rule", &rule.table, &rule.place.describe(), text);
    }
    let _ = writeln!(
        text,
        "# all settings of this account: knightwatch config --account {name}"
    );
}

fn write_list_item(heading: &str, table: &Table, origin: &str, text: &mut String) {
    let _ = writeln!(text, "\n[[{heading}]]  # {origin}");
    for (key, value) in table.iter().filter(|(_, value)| !is_empty(value)) {
        let _ = writeln!(text, "{key} = {}", redacted("", key, value));
    }
}

fn write_line(key: &str, value: &str, origin: &str, text: &mut String) {
    let setting = format!("{key} = {value}");
    let _ = writeln!(text, "{setting:<COMMENT_COLUMN$}  # {origin}");
}
