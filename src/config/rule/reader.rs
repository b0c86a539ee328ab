//! Reader of rules and of other lists of tables, which have the same form.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::super::problem::{Place, Problem};
use super::super::reader::{IsIntact, Leaf, ListedTable, Locate, Reader, resolve, resolve_secret};
use super::super::schema::{self, TableList};
use crate::spelling::choices;

/// The tables within a rule.
const TABLES: [&str; 3] = ["match", "limit", "play"];

/// A rule as written.
#[derive(Clone, Debug)]
pub(crate) struct RawRule {
    /// The valid keys of the rule.
    pub table: Table,
    /// The place of its heading.
    pub place: Place,
    /// Whether all keys were valid.
    pub is_complete: bool,
}

/// Resolves the path of a program. It is absolute, since an engine may be started in another directory.
fn resolve_program(
    path: &str,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    let path = resolve(path, base, environment)?;
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    Ok(absolute.to_string_lossy().into_owned())
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

    /// Reads a list of tables. Paths in it are relative to `base`.
    pub(crate) fn table_list(
        &mut self,
        list: &'static TableList,
        content: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
        is_intact: IsIntact<'_>,
        base: &Path,
    ) -> Leaf {
        let place = locate(content.span());
        let tables = self.tables(content, list.key, list.heading, locate);
        let read = |(place, written)| {
            let before = self.problems.len();
            let mut table = self.keys_of_rule(Some(list.key), written, locate, is_intact);
            self.resolve_paths(&mut table, base, &place);
            let is_complete = self.problems.len() == before;
            (Value::Table(table), ListedTable { place, is_complete })
        };
        let (values, tables) = tables.into_iter().map(read).unzip();
        Leaf {
            section: list.section,
            key: list.key,
            value: Value::Array(values),
            place,
            tables,
        }
    }

    /// Resolves the paths in a table of a list: of a file, a directory, or a program with a slash.
    fn resolve_paths(&mut self, table: &mut Table, base: &Path, place: &Place) {
        for (key, value) in table {
            let (resolve, path): (fn(&str, &Path, _) -> _, _) = match (key.as_str(), value) {
                ("url_file", Value::String(path)) => (resolve_secret, path),
                ("directory", Value::String(path)) => (resolve, path),
                ("command", Value::Array(words)) => match words.first_mut() {
                    Some(Value::String(program)) if program.contains('/') => {
                        (resolve_program, program)
                    }
                    _ => continue,
                },
                _ => continue,
            };
            match resolve(path, base, self.environment) {
                Ok(resolved) => *path = resolved,
                Err(why) => self.problems.push(Problem::new(place.clone(), why)),
            }
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
            self.reject(&place, format!("`{name}` is a list of tables"), hint);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in elements {
            let place = locate(element.span());
            match element.into_inner() {
                DeValue::Table(written) => tables.push((place, written)),
                _ => self.reject(&place, format!("a {name} is a table"), &hint),
            }
        }
        tables
    }

    /// Reads the keys of a rule, of a table in a rule, or of a table of a list.
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
        let hint = format!("write it in braces: {within} = {{ KEY = VALUE, ... }}");
        self.reject(&place, format!("`{within}` is a table"), hint);
        None
    }

    fn value_of_rule(
        &mut self,
        inner: Option<&'static str>,
        key: &'static str,
        written: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
    ) -> Option<Value> {
        let (value, place, elements) = self.value(written, locate)?;
        let before = self.problems.len();
        if value.as_array().is_some_and(Vec::is_empty) {
            let effect = match inner {
                Some("play") => "to use the default",
                Some(inner) if schema::table_list(inner).is_some() => "to use the default",
                _ => "to match all",
            };
            let message = format!("the list of `{key}` is empty");
            self.reject(&place, message, format!("remove the key {effect}"));
        } else {
            self.check_value(&value, None, &place, &elements, |value, text| {
                schema::invalid_in_rule(inner, key, value, text)
            });
        }
        (self.problems.len() == before).then_some(value)
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
        let list = inner.and_then(schema::table_list);
        let (what, all) = match (inner, list) {
            (None, _) => ("a rule".to_owned(), "keys of [[rule]]".to_owned()),
            (_, Some(list)) => (list.noun.to_owned(), format!("keys of {}", list.heading)),
            (Some(inner), None) => (format!("`{inner}` of a rule"), format!("keys of `{inner}`")),
        };
        let in_rule = list.is_none();
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
        self.reject(&place, format!("{what} has no key `{name}`"), hint);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_does_not_depend_on_the_current_directory() {
        // A configuration file named without a directory.
        let program = resolve_program("bin/a", Path::new(""), &BTreeMap::new());
        let expected = std::env::current_dir().expect("a directory").join("bin/a");
        assert_eq!(program, Ok(expected.display().to_string()));
    }
}
