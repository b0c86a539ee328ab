//! The files of the page, which are part of the program.
//!
//! Scripts and styles are served without what only who writes them reads: comments on lines of their own, and indentation.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::draw;

const SCRIPT: &str = "text/javascript";
const STYLE: &str = "text/css";
const SVG: &str = "image/svg+xml";
const MANIFEST: &str = "application/manifest+json";

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
    asset!("icon-move.svg", SVG),
    asset!("manifest.webmanifest", MANIFEST),
    asset!("board.css", STYLE),
    asset!("game.css", STYLE),
    asset!("style.css", STYLE),
    asset!("actions.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("autoplay.js", SCRIPT),
    asset!("board.js", SCRIPT),
    asset!("bot.js", SCRIPT),
    asset!("cards.js", SCRIPT),
    asset!("chat.js", SCRIPT),
    asset!("chess.js", SCRIPT),
    asset!("clocks.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("events.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("game.js", SCRIPT),
    asset!("games.js", SCRIPT),
    asset!("graph.js", SCRIPT),
    asset!("history.js", SCRIPT),
    asset!("input.js", SCRIPT),
    asset!("menu.js", SCRIPT),
    asset!("moves.js", SCRIPT),
    asset!("new_game.js", SCRIPT),
    asset!("notify.js", SCRIPT),
    asset!("pgn.js", SCRIPT),
    asset!("player.js", SCRIPT),
    asset!("settings.js", SCRIPT),
    asset!("shortcuts.js", SCRIPT),
    asset!("statistics.js", SCRIPT),
    asset!("status.js", SCRIPT),
    asset!("store.js", SCRIPT),
    asset!("theme.js", SCRIPT),
    asset!("thinking.js", SCRIPT),
];

/// The page, which names all others.
const INDEX: &str = include_str!("assets/index.html");

/// The page itself.
pub(super) async fn index() -> Response {
    let kind = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, INDEX).into_response()
}

/// The files as they are sent.
static SENT: LazyLock<Vec<Cow<'static, str>>> = LazyLock::new(|| {
    let sent = |&(_, kind, text): &(&str, &str, &'static str)| match kind {
        SVG => Cow::Borrowed(text),
        _ => Cow::Owned(bare(text)),
    };
    FILES.iter().map(sent).collect()
});

/// A script or a style without blank lines, comments on lines of their own, and indentation. What else looks like a
/// comment, as an address does, is never at the beginning of a line.
fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut in_comment = false;
    for line in text.lines().map(str::trim) {
        let begins = in_comment || line.starts_with("/*");
        if begins {
            in_comment = !line.ends_with("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            bare += line;
            bare.push('\n');
        }
    }
    bare
}

/// A file that it names.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    let mut all = FILES.iter().zip(SENT.iter());
    match all.find(|((known, _, _), _)| *known == name) {
        Some(((_, kind, _), text)) => ([(CONTENT_TYPE, *kind)], text.as_ref()).into_response(),
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
        let size = SENT.iter().map(|text| text.len()).sum::<usize>() + INDEX.len();
        assert!(size < 160_000, "{size} bytes");
    }

    #[test]
    fn comments_and_indentation_stay_here() {
        let script = "// Why.\n\nfunction go() {\n\t/** This,\n\t * and that. */\n\treturn \"http://x\"; // So.\n}\n";
        assert_eq!(
            bare(script),
            "function go() {\nreturn \"http://x\"; // So.\n}\n"
        );
        assert_eq!(bare("/* Colors. */\na { b: c }\n"), "a { b: c }\n");
        assert_eq!(bare("  /* One */\n  x();\n"), "x();\n");
    }

    /// What would make a line of text look like one of code.
    #[test]
    fn no_text_is_longer_than_a_line_and_no_comment_ends_before_its_line() {
        for (name, kind, text) in FILES.iter().filter(|(_, kind, _)| *kind != SVG) {
            for line in text.lines().map(str::trim) {
                let whole = *kind != SCRIPT || line.matches('`').count() % 2 == 0;
                assert!(whole, "{name}: {line}");
                let after = line.split_once("*/").map_or("", |(_, after)| after);
                assert!(after.is_empty(), "{name}: {line}");
            }
        }
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
