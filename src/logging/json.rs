//! Log lines as JSON objects: time, level, message, and every field of the line and of its spans at the top level.

use std::fmt;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::TIMESTAMP;

/// The account of lines outside of the span of an account.
static ACCOUNT: OnceLock<String> = OnceLock::new();

/// Names the only account. A second call has no effect.
pub(super) fn set_account(name: &str) {
    ACCOUNT.get_or_init(|| name.to_owned());
}

/// A line without fields of its own, such as a warning about the log itself.
pub(super) fn line(level: &str, message: &str) -> String {
    let mut fields = start(level);
    fields.insert("message".to_owned(), message.into());
    Value::Object(fields).to_string()
}

fn start(level: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let time = jiff::Timestamp::now().strftime(TIMESTAMP).to_string();
    fields.insert("timestamp".to_owned(), time.into());
    fields.insert("level".to_owned(), level.into());
    if let Some(account) = ACCOUNT.get() {
        fields.insert("account".to_owned(), account.as_str().into());
    }
    fields
}

/// Formatter of the lines. The fields of spans must be formatted as JSON.
pub(super) struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut fields = start(metadata.level().as_str());
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let of_span = extensions
                .get::<FormattedFields<N>>()
                .and_then(|text| serde_json::from_str::<Map<_, _>>(text).ok());
            // As in the lines of a single account.
            let key = |key| match (span.name(), &key) {
                ("account", key) if key == "name" => "account".to_owned(),
                _ => key,
            };
            fields.extend(
                of_span
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| (key(name), value)),
            );
        }
        // Without a name of our own it is that of a place in the source.
        if !metadata.name().starts_with("event ") {
            fields.insert("event".to_owned(), metadata.name().into());
        }
        event.record(&mut Fields(&mut fields));
        writeln!(line, "{}", Value::Object(fields))
    }
}

struct Fields<'a>(&'a mut Map<String, Value>);

impl Fields<'_> {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }
}
