//! The files of the page, which are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::draw;

const SCRIPT: &str = "text/javascript";
const STYLE: &str = "text/css";
const SVG: &str = "image/svg+xml";

/// A file of `assets/` under its own name.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("assets/", $name)))
    };
}

/// Name, kind and text of each.
const FILES: &[(&str, &str, &str)] = &[
    ("pieces.svg", SVG, draw::PIECES),
    asset!("icon.svg", SVG),
    asset!("style.css", STYLE),
    asset!("table.css", STYLE),
    asset!("api.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("board.js", SCRIPT),
    asset!("cards.js", SCRIPT),
    asset!("chat.js", SCRIPT),
    asset!("chess.js", SCRIPT),
    asset!("clocks.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("graph.js", SCRIPT),
    asset!("hand.js", SCRIPT),
    asset!("history.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("moves.js", SCRIPT),
    asset!("newgame.js", SCRIPT),
    asset!("pgn.js", SCRIPT),
    asset!("play.js", SCRIPT),
    asset!("seat.js", SCRIPT),
    asset!("statistics.js", SCRIPT),
    asset!("status.js", SCRIPT),
    asset!("store.js", SCRIPT),
    asset!("stream.js", SCRIPT),
    asset!("table.js", SCRIPT),
    asset!("theme.js", SCRIPT),
    asset!("thinking.js", SCRIPT),
    asset!("why.js", SCRIPT),
    asset!("words.js", SCRIPT),
];

/// The page, which names all others.
const INDEX: &str = include_str!("assets/index.html");

/// The page itself.
pub(super) async fn index() -> Response {
    let kind = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, INDEX).into_response()
}

/// A file that it names.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, _, _)| *known == name) {
        Some((_, kind, text)) => ([(CONTENT_TYPE, *kind)], *text).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_is_small() {
        let size = FILES.iter().map(|(_, _, text)| text.len()).sum::<usize>() + INDEX.len();
        assert!(size < 120_000, "{size} bytes");
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/assets");
        let names: BTreeSet<String> = std::fs::read_dir(directory)
            .expect("the directory")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "index.html")
            .collect();
        let served = FILES.iter().map(|(name, _, _)| (*name).to_owned());
        assert_eq!(
            served
                .filter(|name| name != "pieces.svg")
                .collect::<BTreeSet<_>>(),
            names
        );
    }
}
