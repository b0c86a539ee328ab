//! Answers that say no, in the shapes in which the site says it.

use serde_json::json;

use super::referee::Refusal;

/// A status and a body.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub status: u16,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Json(String),
    /// The site's page for addresses that it does not know.
    Page,
}

impl Failure {
    /// `{"error":"text"}`
    pub fn new(status: u16, text: &str) -> Self {
        Self {
            status,
            body: Body::Json(json!({ "error": text }).to_string()),
        }
    }

    pub fn bad(text: impl AsRef<str>) -> Self {
        Self::new(400, text.as_ref())
    }

    pub fn not_found() -> Self {
        Self::new(404, "Not found")
    }

    pub fn not_for_bots() -> Self {
        Self::new(403, "This API endpoint is not for Bot accounts.")
    }

    /// No API here: the catch-all answers, and not in JSON.
    pub fn no_page() -> Self {
        Self {
            status: 404,
            body: Body::Page,
        }
    }

    /// The errors of a form twice, as the site sends them for challenges and chat:
    /// `{"field":["text"],"error":{"field":["text"]}}`
    pub fn form(errors: &[(&str, String)]) -> Self {
        let fields: Vec<String> = errors
            .iter()
            .map(|(field, text)| format!("{}:{}", json!(field), json!([text])))
            .collect();
        let fields = fields.join(",");
        Self {
            status: 400,
            body: Body::Json(format!("{{{fields},\"error\":{{{fields}}}}}")),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::bad(refusal.to_string())
    }
}
