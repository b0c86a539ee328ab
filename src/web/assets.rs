//! The files of the page, which are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::draw;

/// Name, kind and text of each.
const FILES: &[(&str, &str, &str)] = &[("pieces.svg", SVG, draw::PIECES)];

const SVG: &str = "image/svg+xml";

/// The page itself.
pub(super) async fn index() -> Response {
    let kind = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, include_str!("assets/index.html")).into_response()
}

/// A file that it names.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, _, _)| *known == name) {
        Some((_, kind, text)) => ([(CONTENT_TYPE, *kind)], *text).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}
