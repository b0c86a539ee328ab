//! Reader of values with their places, which collects problems.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::SERVICE_CREDENTIALS;
use super::problem::{Place, Problem};
use super::schema::{self, InvalidValue};
use crate::credentials::{self, CREDENTIALS_VARIABLE};

/// Whether the lines of a span are free of syntax errors.
pub(super) type IsIntact<'a> = &'a dyn Fn(Range<usize>) -> bool;

/// Maps a span of the text to its place.
pub(super) type Locate<'a> = &'a dyn Fn(Range<usize>) -> Place;

/// A setting as written in one layer.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub section: &'static str,
    pub key: &'static str,
    pub value: Value,
    pub place: Place,
    /// The tables of a list of tables.
    pub tables: Vec<ListedTable>,
}

/// A table of a list as written.
#[derive(Clone, Debug)]
pub(super) struct ListedTable {
    /// The place of its heading.
    pub place: Place,
    /// Whether all keys were valid.
    pub is_complete: bool,
}

/// Reads the layers and collects their problems.
pub(super) struct Reader<'a> {
    pub environment: &'a BTreeMap<String, String>,
    pub problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Reads a value. Returns its place and those of the elements of a list, too.
    pub(super) fn value(
        &mut self,
        written: Spanned<DeValue<'_>>,
        locate: Locate<'_>,
    ) -> Option<(Value, Place, Vec<Place>)> {
        let place = locate(written.span());
        let elements = match written.get_ref() {
            DeValue::Array(elements) => elements.iter().map(|one| locate(one.span())).collect(),
            _ => Vec::new(),
        };
        match Value::deserialize(ValueDeserializer::from(written)) {
            Ok(value) => Some((value, place, elements)),
            Err(error) => {
                self.problems.push(Problem::new(place, error.message()));
                None
            }
        }
    }

    /// Checks the type of a value: list elements one by one, so that errors point at the element.
    pub(super) fn check_value(
        &mut self,
        value: &Value,
        text: Option<&str>,
        place: &Place,
        elements: &[Place],
        invalid: impl Fn(&Value, Option<&str>) -> Option<InvalidValue>,
    ) {
        let before = self.problems.len();
        let list = schema::unexpected_list(value, |value| invalid(value, None));
        let each = value.as_array().filter(|_| list.is_none());
        let places = elements.iter().chain(std::iter::repeat(place));
        for (element, place) in each.into_iter().flatten().zip(places) {
            let alone = Value::Array(vec![element.clone()]);
            self.reject_value(invalid(&alone, None), place);
        }
        if !value.is_array() || self.problems.len() == before {
            self.reject_value(invalid(value, list.as_deref().or(text)), place);
        }
    }

    /// Reports a value of the wrong type, if it is one.
    pub(super) fn reject_value(&mut self, invalid: Option<InvalidValue>, place: &Place) {
        let problem = |InvalidValue { message, hint }| Problem {
            hint,
            ..Problem::new(place.clone(), message)
        };
        self.problems.extend(invalid.map(problem));
    }

    /// Reports a problem.
    pub(super) fn reject(
        &mut self,
        place: &Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let problem = Problem::new(place.clone(), message);
        self.problems.push(problem.hint(hint));
    }
}

/// Resolves the path of a secret. Outside of the service `%d` stands for the directory of its configuration, which has the
/// files of the credentials. If such a file is not there, `%d` is kept: most commands read no secrets, and reading one
/// reports why it is missing.
pub(super) fn resolve_secret(
    path: &str,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    resolve(path, base, environment).or_else(|why| {
        let name = credentials::unresolved_name(Path::new(path)).ok_or(why)?;
        let source = Path::new(SERVICE_CREDENTIALS).join(name);
        let of_service = base == Path::new(SERVICE_CREDENTIALS) && source.exists();
        Ok(match of_service {
            true => source.to_string_lossy().into_owned(),
            false => path.to_owned(),
        })
    })
}

/// Resolves a path: `%d` is the credentials directory of systemd, `~` the home directory; other paths are relative to `base`.
pub(super) fn resolve(
    path: &str,
    base: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<String, String> {
    let below = |variable: &str, rest: &str, why: &str| match environment.get(variable) {
        Some(directory) if !directory.is_empty() => Ok(format!("{directory}{rest}")),
        _ => Err(format!(
            "`{path}` needs {variable}, which is not set: {why}"
        )),
    };
    if let Some(rest) = path.strip_prefix("%d").filter(|rest| rest.starts_with('/')) {
        return below(
            CREDENTIALS_VARIABLE,
            rest,
            "%d works in a systemd unit with LoadCredential",
        );
    }
    if let Some(rest) = path.strip_prefix('~').filter(|rest| rest.starts_with('/')) {
        return below("HOME", rest, "write the path in full");
    }
    let joined: PathBuf = base.join(path);
    Ok(joined.to_string_lossy().into_owned())
}
