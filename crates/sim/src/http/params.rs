//! Request parameters, merged from the query and a form, JSON or multipart body.

use serde_json::Value;

/// Names and values. A parameter of the body precedes one of the same name in the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Parses query and body. Returns `None` if a JSON body is malformed.
    pub(crate) fn read(query: &str, content_type: &str, body: &[u8]) -> Option<Self> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let mut pairs = match kind.to_ascii_lowercase().as_str() {
            "application/json" => json_pairs(body)?,
            "multipart/form-data" => multipart_pairs(content_type, body),
            "text/plain" => Vec::new(),
            // A body without a content type is parsed as a form.
            _ => form_pairs(body),
        };
        pairs.extend(form_pairs(query.as_bytes()));
        Some(Self(pairs))
    }

    /// Value of a parameter; an empty value counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns whether a boolean parameter is set.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_yes)
    }
}

/// Returns whether Lichess reads this value as true.
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text, "1" | "true" | "True" | "on" | "yes")
}

fn form_pairs(text: &[u8]) -> Vec<(String, String)> {
    serde_urlencoded::from_bytes(text).unwrap_or_default()
}

fn json_pairs(body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    if !body.trim_ascii().is_empty() {
        let value = serde_json::from_slice::<Value>(body).ok()?;
        flatten(String::new(), value, &mut pairs);
    }
    Some(pairs)
}

/// Flattens objects to dotted names; null is omitted.
fn flatten(name: String, value: Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => pairs.push((name, flag.to_string())),
        Value::Number(number) => pairs.push((name, number.to_string())),
        Value::String(text) => pairs.push((name, text)),
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                flatten(format!("{name}[{index}]"), item, pairs);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let path = if name.is_empty() {
                    key
                } else {
                    format!("{name}.{key}")
                };
                flatten(path, member, pairs);
            }
        }
    }
}

/// Fields of a multipart body. Files are read as text.
fn multipart_pairs(content_type: &str, body: &[u8]) -> Vec<(String, String)> {
    let Some(boundary) = attribute(content_type, "boundary") else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(body);
    let delimiter = format!("--{boundary}");
    text.split(delimiter.as_str())
        .skip(1)
        .filter_map(|part| {
            let (head, content) = part.split_once("\r\n\r\n")?;
            let disposition = head.lines().find(|line| {
                line.to_ascii_lowercase()
                    .starts_with("content-disposition:")
            })?;
            let name = attribute(disposition, "name")?;
            let content = content.strip_suffix("\r\n").unwrap_or(content);
            Some((name.to_owned(), content.to_owned()))
        })
        .collect()
}

/// Returns the value of `name=value` or `name="value"` in a header.
fn attribute<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name)
            .then(|| value.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_equal_in_every_body_type() {
        let multipart = "--XX\r\nContent-Disposition: form-data; name=\"clock.limit\"\r\n\r\n180\r\n\
             --XX\r\nContent-Disposition: form-data; name=\"rated\"\r\n\r\ntrue\r\n--XX--\r\n";
        let form = "application/x-www-form-urlencoded";
        for (query, content_type, body) in [
            ("clock.limit=180&rated=true", "", ""),
            ("", form, "clock.limit=180&rated=true"),
            ("rated=true", form, "clock.limit=180"),
            (
                "",
                "application/json",
                r#"{"clock.limit":180,"rated":true,"color":null}"#,
            ),
            (
                "",
                "application/json; charset=utf-8",
                r#"{"clock":{"limit":180},"rated":"True"}"#,
            ),
            ("", "multipart/form-data; boundary=XX", multipart),
        ] {
            let params = Params::read(query, content_type, body.as_bytes()).unwrap();
            assert_eq!(
                params.get("clock.limit"),
                Some("180"),
                "{content_type} {body}"
            );
            assert!(params.is_true("rated"), "{content_type} {body}");
            assert_eq!(params.get("color"), None);
        }
    }

    #[test]
    fn params_malformed_body_ignored() {
        assert_eq!(Params::read("", "application/json", b"{\"rated\":"), None);
        for content_type in ["multipart/form-data", "text/plain", ""] {
            let params = Params::read("", content_type, b"\xff\xfe{{").unwrap();
            assert_eq!(params.get("rated"), None);
        }
    }
}
