//! What is in force and where each value was written, for `knightwatch config`.

use std::fmt::Write as _;

use serde::Serialize;
use toml::{Table, Value};

use super::diff::{harmless, is_empty};
use super::layers::Layer;
use super::problem::Place;
use super::{
    Error, Layered, Settings, Sources, TOKEN_VARIABLE, TokenSource, account, place_of, schema,
};
use crate::lichess::model::address::{self, Page};

/// The column of the comments, where the values leave room for it.
const COMMENTS: usize = 44;

/// All settings in the form of a configuration file, each with the place where it was written. Passwords are hidden, and the
/// token is never among the settings. `account` is the one that is meant, where there are several; without it what is the same
/// for all is shown, and what each has of its own.
///
/// # Errors
/// As [`Settings::load`], and when there is no such account.
pub fn in_force(sources: &Sources, account: Option<&str>) -> Result<String, Error> {
    let Layered {
        settings,
        layers,
        accounts,
    } = Layered::read(sources)?;
    let mut layers: Vec<&Layer> = layers.iter().collect();
    let mut text = head(&settings);
    let several = !accounts.is_empty();
    let settings = match account {
        Some(name) => {
            let settings = settings.of_account(Some(name))?;
            let name = address::id(name, Page::User);
            let is_it = |one: &&account::Written| {
                let called = one.name.as_deref().unwrap_or_default();
                called.eq_ignore_ascii_case(name)
            };
            // Over the file, and below the environment.
            let own = accounts.iter().find(is_it);
            let at = layers.len().min(1);
            layers.splice(at..at, own.map(|own| &own.layer));
            settings
        }
        None => settings,
    };
    sections(&settings, &layers, &mut text);
    if several && account.is_none() {
        for own in &accounts {
            of_account(own, &mut text);
        }
    } else {
        let _ = writeln!(text, "\n# the token: {}", token(settings.token.as_ref()));
    }
    Ok(text)
}

fn head(settings: &Settings) -> String {
    let file = match &settings.file {
        Some(file) => file.display().to_string(),
        None => "no file".to_owned(),
    };
    let mut text = format!("# each over the one before: defaults, {file}, environment, --set\n");
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

fn sections(settings: &Settings, layers: &[&Layer], text: &mut String) {
    let table = table_of(settings);
    for section in schema::sections() {
        if *section == "rule" {
            let places = rule_places(settings, layers);
            for (rule, place) in settings.rule.iter().zip(places) {
                list_item("rule", &table_of(rule), &place, text);
            }
            continue;
        }
        let _ = writeln!(text, "\n[{section}]");
        for key in schema::keys(section).unwrap_or_default() {
            if *key == schema::PROFILE {
                continue;
            }
            let place = place_of(section, &[key], layers);
            match table.get(*section).and_then(|keys| keys.get(*key)) {
                Some(value) => line(key, &harmless(section, key, value), &place, text),
                None => line(&format!("# {key}"), "not set", &Place::Nowhere, text),
            }
        }
        if *section == "matchmaking" {
            let place = place_of(section, &[schema::PROFILE], layers);
            for profile in &settings.matchmaking.profile {
                list_item("matchmaking.profile", &table_of(profile), &place, text);
            }
        }
    }
}

/// Where the rules were written, in their order: those of an account come before those of all.
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

fn of_account(own: &account::Written, text: &mut String) {
    let _ = writeln!(text, "\n[[account]]");
    let name = own.name.clone().unwrap_or_default();
    line(
        "name",
        &Value::from(name.as_str()).to_string(),
        &own.place,
        text,
    );
    for leaf in &own.layer.leaves {
        let key = format!("{}.{}", leaf.section, leaf.key);
        let value = harmless(leaf.section, leaf.key, &leaf.value);
        line(&key, &value, &leaf.place, text);
    }
    for rule in &own.layer.rules {
        list_item("account.rule", &rule.table, &rule.place, text);
    }
    let _ = writeln!(
        text,
        "# all that is in force for it: knightwatch config --account {name}"
    );
}

fn list_item(heading: &str, table: &Table, place: &Place, text: &mut String) {
    let _ = writeln!(text, "\n[[{heading}]]  # {}", place.in_words());
    for (key, value) in table.iter().filter(|(_, value)| !is_empty(value)) {
        let _ = writeln!(text, "{key} = {}", harmless("", key, value));
    }
}

fn line(key: &str, value: &str, place: &Place, text: &mut String) {
    let setting = format!("{key} = {value}");
    let _ = writeln!(text, "{setting:<COMMENTS$}  # {}", place.in_words());
}

fn table_of<T: Serialize>(what: &T) -> Table {
    Table::try_from(what).expect("settings come from TOML")
}
