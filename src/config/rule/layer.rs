//! Reads the rules of a configuration file, and the profiles of matchmaking, which are written in the same way.

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value};

use super::super::layers::{At, Leaf, Reader, Sound};
use super::super::problem::{Place, Problem};
use super::super::schema::{self, PROFILE};
use crate::spelling::choices;

/// The tables within a rule.
const TABLES: [&str; 3] = ["match", "limit", "play"];

/// A rule as it was written: what of it fits, and where it stands.
pub struct Written {
    /// The rule, without what was wrong.
    pub table: Table,
    /// Its heading.
    pub place: Place,
    /// Nothing was wrong.
    pub whole: bool,
}

impl Reader<'_> {
    /// The rules, each below a heading `[[rule]]`.
    pub fn rules(
        &mut self,
        content: Spanned<DeValue<'_>>,
        at: At<'_>,
        sound: Sound<'_>,
    ) -> Vec<Written> {
        let tables = self.tables(content, "rule", "[[rule]]", at);
        let mut rules = Vec::new();
        for (place, written) in tables {
            let before = self.problems.len();
            let table = self.keys_of_rule(None, written, at, sound);
            let whole = self.problems.len() == before;
            rules.push(Written {
                table,
                place,
                whole,
            });
        }
        rules
    }

    /// The profiles of matchmaking.
    pub fn profiles(
        &mut self,
        section: &'static str,
        content: Spanned<DeValue<'_>>,
        at: At<'_>,
        sound: Sound<'_>,
    ) -> Leaf {
        let place = at(content.span());
        let tables = self.tables(content, PROFILE, "[[matchmaking.profile]]", at);
        let read = |(_, written)| self.keys_of_rule(Some(PROFILE), written, at, sound);
        let profiles: Vec<Value> = tables.into_iter().map(read).map(Value::Table).collect();
        Leaf {
            section,
            key: PROFILE,
            value: Value::Array(profiles),
            place,
        }
    }

    /// The tables of a list that are each written below such a heading.
    pub fn tables<'a>(
        &mut self,
        content: Spanned<DeValue<'a>>,
        name: &str,
        heading: &str,
        at: At<'_>,
    ) -> Vec<(Place, DeTable<'a>)> {
        let hint = format!("write each {name} below a line {heading} of its own");
        let place = at(content.span());
        let DeValue::Array(elements) = content.into_inner() else {
            let problem = Problem::new(place, format!("`{name}` is a list of tables"));
            self.problems.push(problem.hint(hint));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in elements {
            let place = at(element.span());
            match element.into_inner() {
                DeValue::Table(written) => tables.push((place, written)),
                _ => {
                    let problem = Problem::new(place, format!("a {name} is a table"));
                    self.problems.push(problem.hint(hint.clone()));
                }
            }
        }
        tables
    }

    /// The keys of a rule, or of a table within one, or of a profile.
    fn keys_of_rule(
        &mut self,
        inner: Option<&'static str>,
        written: DeTable<'_>,
        at: At<'_>,
        sound: Sound<'_>,
    ) -> Table {
        let mut table = Table::new();
        for (name, value) in written {
            if !sound(name.span().start..value.span().end) {
                continue;
            }
            let Some(key) = self.key_of_rule(inner, name.get_ref(), at(name.span())) else {
                continue;
            };
            let within = TABLES
                .iter()
                .find(|table| inner.is_none() && **table == key);
            let value = match within {
                Some(within) => self
                    .table_of_rule(within, value, at, sound)
                    .map(Value::Table),
                None => self.value_of_rule(inner, key, value, at),
            };
            if let Some(value) = value {
                table.insert(key.to_owned(), value);
            }
        }
        table
    }

    fn table_of_rule(
        &mut self,
        within: &'static str,
        value: Spanned<DeValue<'_>>,
        at: At<'_>,
        sound: Sound<'_>,
    ) -> Option<Table> {
        let place = at(value.span());
        if let DeValue::Table(written) = value.into_inner() {
            return Some(self.keys_of_rule(Some(within), written, at, sound));
        }
        let problem = Problem::new(place, format!("`{within}` is a table"));
        let hint = format!("write it in braces: {within} = {{ KEY = VALUE, ... }}");
        self.problems.push(problem.hint(hint));
        None
    }

    fn value_of_rule(
        &mut self,
        inner: Option<&'static str>,
        key: &'static str,
        written: Spanned<DeValue<'_>>,
        at: At<'_>,
    ) -> Option<Value> {
        let place = at(written.span());
        let elements: Vec<Place> = match written.get_ref() {
            DeValue::Array(elements) => elements.iter().map(|element| at(element.span())).collect(),
            _ => Vec::new(),
        };
        let value = match Value::deserialize(ValueDeserializer::from(written)) {
            Ok(value) => value,
            Err(error) => {
                self.problems.push(Problem::new(place, error.message()));
                return None;
            }
        };
        let before = self.problems.len();
        if value.as_array().is_some_and(Vec::is_empty) {
            let problem = Problem::new(place.clone(), format!("the list of `{key}` is empty"));
            let meant = match inner {
                Some(PROFILE | "play") => "the default is meant",
                _ => "all are meant",
            };
            self.problems
                .push(problem.hint(format!("leave the key out, and {meant}")));
        }
        // As elsewhere, each element of a list is looked at by itself, so that it can be pointed at.
        let complaint = |value: &Value| schema::complaint_of_rule(inner, key, value, None);
        let list = schema::misplaced_list(&value, complaint);
        let each = value.as_array().filter(|_| list.is_none());
        for (element, place) in each.into_iter().flatten().zip(elements) {
            let alone = Value::Array(vec![element.clone()]);
            self.complain_of_rule(inner, key, &alone, None, place);
        }
        if self.problems.len() == before {
            self.complain_of_rule(inner, key, &value, list.as_deref(), place);
        }
        (self.problems.len() == before).then_some(value)
    }

    fn complain_of_rule(
        &mut self,
        inner: Option<&'static str>,
        key: &str,
        value: &Value,
        text: Option<&str>,
        place: Place,
    ) {
        if let Some(complaint) = schema::complaint_of_rule(inner, key, value, text) {
            let hint = complaint.hint;
            let problem = Problem::new(place, complaint.message);
            self.problems.push(Problem { hint, ..problem });
        }
    }

    fn key_of_rule(
        &mut self,
        inner: Option<&'static str>,
        name: &str,
        place: Place,
    ) -> Option<&'static str> {
        let keys = schema::keys_of_rule(inner);
        if let Some(key) = keys.iter().find(|key| **key == name) {
            return Some(key);
        }
        let (what, all) = match inner {
            None => ("a rule".to_owned(), "keys of [[rule]]".to_owned()),
            Some(PROFILE) => (
                "a profile".to_owned(),
                "keys of [[matchmaking.profile]]".to_owned(),
            ),
            Some(inner) => (format!("`{inner}` of a rule"), format!("keys of `{inner}`")),
        };
        let in_rule = inner != Some(PROFILE);
        let elsewhere = TABLES.into_iter().filter(|_| in_rule).find(|table| {
            Some(*table) != inner && schema::keys_of_rule(Some(table)).contains(&name)
        });
        let hint = match elsewhere {
            Some(table) => format!("`{name}` belongs into {table} = {{ ... }}"),
            None if in_rule && inner.is_some() && schema::keys_of_rule(None).contains(&name) => {
                format!("`{name}` stands in the rule itself")
            }
            None => choices(&all, name, keys),
        };
        let problem = Problem::new(place, format!("{what} has no key `{name}`"));
        self.problems.push(problem.hint(hint));
        None
    }
}
