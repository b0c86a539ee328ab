//! Error responses in the formats of Lichess.

use axum::http::StatusCode;
use std::fmt;

use serde_json::{Value, json};

use crate::referee::GameError;

/// Errors of a form field.
pub(crate) const REQUIRED: &str = "This field is required";
pub(crate) const INVALID: &str = "Invalid value";
pub(crate) const NOT_A_NUMBER: &str = "Numeric value expected";

/// Error response: status and body.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub status: u16,
    pub body: ErrorBody,
}

#[derive(Clone, Debug)]
pub(crate) enum ErrorBody {
    Json(String),
    /// The site's HTML page for unknown paths.
    NotFoundPage,
    /// The HTML page of the proxy in front of the site.
    ProxyPage,
}

/// The message in the body, else the status.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            ErrorBody::Json(text) => {
                let value: Value = serde_json::from_str(text).unwrap_or_default();
                match &value["error"] {
                    Value::String(text) => f.write_str(text),
                    other => write!(f, "{other}"),
                }
            }
            ErrorBody::NotFoundPage | ErrorBody::ProxyPage => write!(f, "{}", self.status),
        }
    }
}

impl ApiError {
    /// `{"error":"text"}`
    pub(crate) fn new(status: u16, text: &str) -> Self {
        Self {
            status,
            body: ErrorBody::Json(json!({ "error": text }).to_string()),
        }
    }

    pub(crate) fn bad_request(text: impl AsRef<str>) -> Self {
        Self::new(400, text.as_ref())
    }

    pub(crate) fn no_token() -> Self {
        Self::new(401, "Missing authorization header")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not found")
    }

    pub(crate) fn not_for_bots() -> Self {
        Self::new(403, "This API endpoint is not for Bot accounts.")
    }

    /// `{"error":"text","ratelimit":{"key":"key","seconds":N}}`: a rate limit that is named in the response.
    pub(crate) fn rate_limited(status: u16, text: &str, key: &str, seconds: u64) -> Self {
        let ratelimit = format!("{{\"key\":{},\"seconds\":{seconds}}}", json!(key));
        Self {
            status,
            body: ErrorBody::Json(format!(
                "{{\"error\":{},\"ratelimit\":{ratelimit}}}",
                json!(text)
            )),
        }
    }

    /// Too many concurrent requests of this kind.
    pub(crate) fn too_many_at_once(most: usize) -> Self {
        Self::new(429, &format!("Please only run {most} request(s) at a time"))
    }

    /// HTML response of the proxy in front of the site.
    pub(crate) fn proxy(status: u16) -> Self {
        Self {
            status,
            body: ErrorBody::ProxyPage,
        }
    }

    /// Unknown path: the site answers with an HTML page.
    pub(crate) fn unknown_path() -> Self {
        Self {
            status: 404,
            body: ErrorBody::NotFoundPage,
        }
    }

    /// Field errors of a form: `{"error":{"field":["text"]}}`.
    pub(crate) fn invalid_fields(errors: &[(&str, String)]) -> Self {
        Self {
            status: 400,
            body: ErrorBody::Json(format!("{{\"error\":{{{}}}}}", field_list(errors))),
        }
    }

    /// Field errors of a challenge or chat form, which Lichess sends twice:
    /// `{"field":["text"],"error":{"field":["text"]}}`.
    pub(crate) fn invalid_form(errors: &[(&str, String)]) -> Self {
        let fields = field_list(errors);
        Self {
            status: 400,
            body: ErrorBody::Json(format!("{{{fields},\"error\":{{{fields}}}}}")),
        }
    }
}

/// `"field":["text"],...`
fn field_list(errors: &[(&str, String)]) -> String {
    let fields = errors.iter();
    let fields = fields.map(|(field, text)| format!("{}:{}", json!(field), json!([text])));
    fields.collect::<Vec<_>>().join(",")
}

/// HTML page of the proxy for a status.
pub(crate) fn proxy_page(status: u16) -> String {
    let code = StatusCode::from_u16(status).ok();
    let reason = code.and_then(|code| code.canonical_reason());
    let title = format!("{status} {}", reason.unwrap_or_default());
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
}

impl From<GameError> for ApiError {
    fn from(error: GameError) -> Self {
        Self::bad_request(error.to_string())
    }
}
