//! Errors of requests: a status and a message for the client.

use std::fmt;

use crate::referee::GameError;

/// Errors of a form field.
pub(crate) const REQUIRED: &str = "This field is required";
pub(crate) const INVALID: &str = "Invalid value";
pub(crate) const NOT_A_NUMBER: &str = "Numeric value expected";

/// The error of a challenge while one of the players has too many games.
pub(crate) const CHALLENGE_NOT_CREATED: &str = "Challenge not created";

/// Fields of a form, each with its error.
pub(crate) type FieldErrors = Vec<(&'static str, String)>;

/// Refused request.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    /// HTTP status.
    pub status: u16,
    pub body: ErrorBody,
}

#[derive(Clone, Debug)]
pub(crate) enum ErrorBody {
    Message(String),
    /// A rate limit that is named in the response, and how long it stays exceeded.
    RateLimited {
        text: String,
        key: &'static str,
        seconds: u64,
    },
    Fields(FieldErrors),
    /// Field errors of a challenge or chat form, which Lichess sends twice.
    Form(FieldErrors),
    /// The site's HTML page for unknown paths.
    NotFoundPage,
    /// The HTML page of the proxy in front of the site.
    ProxyPage,
}

/// The message, else the status.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            ErrorBody::Message(text) | ErrorBody::RateLimited { text, .. } => f.write_str(text),
            _ => write!(f, "{}", self.status),
        }
    }
}

impl ApiError {
    pub(crate) fn new(status: u16, text: impl Into<String>) -> Self {
        let body = ErrorBody::Message(text.into());
        Self { status, body }
    }

    pub(crate) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(400, text)
    }

    /// Returns whether the same request is refused for good, as far as the error tells.
    pub(crate) fn is_final(&self) -> bool {
        let is_temporary = match &self.body {
            ErrorBody::RateLimited { .. } => true,
            ErrorBody::Message(text) => text == CHALLENGE_NOT_CREATED,
            _ => false,
        };
        self.status == 400 && !is_temporary
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

    /// Too many concurrent requests of this kind.
    pub(crate) fn too_many_at_once(max: usize) -> Self {
        Self::new(429, format!("Please only run {max} request(s) at a time"))
    }

    /// HTML response of the proxy in front of the site.
    pub(crate) fn proxy(status: u16) -> Self {
        let body = ErrorBody::ProxyPage;
        Self { status, body }
    }

    /// Unknown path: the site answers with an HTML page.
    pub(crate) fn unknown_path() -> Self {
        let body = ErrorBody::NotFoundPage;
        Self { status: 404, body }
    }

    pub(crate) fn invalid_fields(errors: FieldErrors) -> Self {
        let body = ErrorBody::Fields(errors);
        Self { status: 400, body }
    }

    /// Field errors of a challenge or chat form.
    pub(crate) fn invalid_form(errors: FieldErrors) -> Self {
        let body = ErrorBody::Form(errors);
        Self { status: 400, body }
    }

    /// The same error with field errors sent once, as for open challenges.
    pub(crate) fn with_fields_once(self) -> Self {
        match self.body {
            ErrorBody::Form(errors) => Self::invalid_fields(errors),
            _ => self,
        }
    }
}

impl From<GameError> for ApiError {
    fn from(error: GameError) -> Self {
        Self::bad_request(error.to_string())
    }
}
