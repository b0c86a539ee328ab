//! Reader of rules and of matchmaking profiles, which have the same form.

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value};

use super::super::layers::{IsIntact, Leaf, Locate, Reader};
use super::super::problem::{Place, Problem};
use super::super::schema::{self, PROFILE};
use crate::spelling::choices;

/// The tables within a rule.
const TABLES: [&str; 3] = ["match", "limit", "play"];

/// A rule as written.
pub(crate) struct RawRule {
    /// The valid keys of the rule.
    pub table: Table,
    /// The place of its heading.
    pub place: Place,
    /// Whether all keys were valid.
    pub is_complete: bool,
}

impl Reader<'_> {
    /// Reads the rules, each below a heading `[[rule]]`.
    pub(crate) fn rules(
        &mut self,
        content: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
    ) -> Vec<RawRule> {
        let tables = self.tables(content, "rule", "[[rule]]", locate);
        let mut rules = Vec::new();
        for (place, written) in tables {
            let before = self.problems.len();
            let table = self.keys_of_rule(None, written, locate, is_intact);
            let is_complete = self.problems.len() == before;
            rules.push(RawRule {
                table,
                place,
                is_complete,
            });
        }
        rules
    }

    /// Reads the matchmaking profiles.
    pub(crate) fn profiles(
        &mut self,
        section: &'static str,
        content: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
    ) -> Leaf {
        let place = locate(content.span());
        let tables = self.tables(content, PROFILE, "[[matchmaking.profile]]", locate);
        let read = |(_, written)| self.keys_of_rule(Some(PROFILE), written, locate, is_intact);
        let profiles: Vec<Value> = tables.into_iter().map(read).map(Value::Table).collect();
        Leaf {
            section,
            key: PROFILE,
            value: Value::Array(profiles),
            place,
        }
    }

    /// Reads a list of tables, each below `heading`.
    pub(crate) fn tables<'a>(
        &mut self,
        content: Spanned<DeValue<'a>>,
        name: &str,
        heading: &str,
        locate: Locate<'_>,
    ) -> Vec<(Place, DeTable<'a>)> {
        let hint = format!("write each {name} below a line {heading} of its own");
        let place = locate(content.span());
        let DeValue::Array(elements) = content.into_inner() else {
            let problem = Problem::new(place, format!("`{name}` is a list of tables"));
            self.problems.push(problem.hint(hint));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in elements {
            let place = locate(element.span());
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

    /// Reads the keys of a rule, of a table in a rule, or of a profile.
    fn keys_of_rule(
        &mut self,
        inner: Option<&'static str>,
        written: DeTable<'_>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
    ) -> Table {
        let mut table = Table::new();
        for (name, value) in written {
            if !is_intact(name.span().start..value.span().end) {
                continue;
            }
            let Some(key) = self.key_of_rule(inner, name.get_ref(), locate(name.span())) else {
                continue;
            };
            let within = TABLES
                .iter()
                .find(|table| inner.is_none() && **table == key);
            let value = match within {
                Some(within) => self
                    .table_of_rule(within, value, locate, is_intact)
                    .map(Value::Table),
                None => self.value_of_rule(inner, key, value, locate),
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
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
    ) -> Option<Table> {
        let place = locate(value.span());
        if let DeValue::Table(written) = value.into_inner() {
            return Some(self.keys_of_rule(Some(within), written, locate, is_intact));
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
        locate: Locate<'_>,
    ) -> Option<Value> {
        let place = locate(written.span());
        let elements: Vec<Place> = match written.get_ref() {
            DeValue::Array(elements) => elements
                .iter()
                .map(|element| locate(element.span()))
                .collect(),
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
            let effect = match inner {
                Some(PROFILE | "play") => "to use the default",
                _ => "to match all",
            };
            self.problems
                .push(problem.hint(format!("remove the key {effect}")));
        }
        // Check list elements one by one, so that errors point at the element.
        let invalid = |value: &Value| schema::invalid_in_rule(inner, key, value, None);
        let list = schema::unexpected_list(&value, invalid);
        let each = value.as_array().filter(|_| list.is_none());
        for (element, place) in each.into_iter().flatten().zip(elements) {
            let check_rule = Value::Array(vec![element.clone()]);
            self.report_invalid_in_rule(inner, key, &check_rule, None, place);
        }
        if self.problems.len() == before {
            self.report_invalid_in_rule(inner, key, &value, list.as_deref(), place);
        }
        (self.problems.len() == before).then_some(value)
    }

    fn report_invalid_in_rule(
        &mut self,
        inner: Option<&'static str>,
        key: &str,
        value: &Value,
        text: Option<&str>,
        place: Place,
    ) {
        if let Some(invalid) = schema::invalid_in_rule(inner, key, value, text) {
            let hint = invalid.hint;
            let problem = Problem::new(place, invalid.message);
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
                format!("`{name}` belongs into the rule itself")
            }
            None => choices(&all, name, keys),
        };
        let problem = Problem::new(place, format!("{what} has no key `{name}`"));
        self.problems.push(problem.hint(hint));
        None
    }
}
