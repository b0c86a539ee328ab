//! Bodies of error responses, in the formats of Lichess.

use axum::http::StatusCode;
use serde_json::json;

use crate::site::error::ErrorBody;

/// Media type and text of the body of an error with this status.
pub(crate) fn body(status: u16, body: &ErrorBody) -> (&'static str, String) {
    let json = match body {
        ErrorBody::Message(text) => json!({ "error": text }).to_string(),
        ErrorBody::RateLimited { text, key, seconds } => format!(
            "{{\"error\":{},\"ratelimit\":{{\"key\":{},\"seconds\":{seconds}}}}}",
            json!(text),
            json!(key)
        ),
        ErrorBody::Fields(errors) => format!("{{\"error\":{{{}}}}}", field_list(errors)),
        ErrorBody::Form(errors) => {
            let fields = field_list(errors);
            format!("{{{fields},\"error\":{{{fields}}}}}")
        }
        ErrorBody::NotFoundPage => {
            let page = "<!DOCTYPE html><html><body><h1>Page not found!</h1></body></html>";
            return ("text/html; charset=utf-8", page.to_owned());
        }
        ErrorBody::ProxyPage => return ("text/html", proxy_page(status)),
    };
    ("application/json", json)
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
