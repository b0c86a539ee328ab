//! Files of the page, embedded in the program.
//!
//! Scripts and styles are served without full-line comments and indentation.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// A file of `assets/`.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("assets/", $name)))
    };
}

/// Name, content type and text of each file.
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
    asset!("player.js", SCRIPT),
    asset!("pocket.js", SCRIPT),
    asset!("settings.js", SCRIPT),
    asset!("shortcuts.js", SCRIPT),
    asset!("statistics.js", SCRIPT),
    asset!("status.js", SCRIPT),
    asset!("storage.js", SCRIPT),
    asset!("store.js", SCRIPT),
    asset!("theme.js", SCRIPT),
    asset!("thinking.js", SCRIPT),
];

/// The page, which refers to the other files. `{hash}` stands for [`HASH`].
const INDEX: &str = include_str!("assets/index.html");

/// Hash of all files; it changes with each of them.
pub(super) static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    (INDEX, FILES).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
});

/// `GET /`.
pub(super) async fn index() -> Response {
    let kind = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (kind, INDEX.replace("{hash}", &HASH)).into_response()
}

/// The texts of [`FILES`] as they are sent.
static MINIFIED: LazyLock<Vec<Cow<'static, str>>> = LazyLock::new(|| {
    let minified = |&(_, kind, text): &(&str, &str, &'static str)| match kind {
        SVG => Cow::Borrowed(text),
        STYLE => Cow::Owned(minify_style(text)),
        _ => Cow::Owned(minify(text)),
    };
    FILES.iter().map(minified).collect()
});

/// Removes blank lines, full-line comments and indentation from a script or a style. Other text, such as a URL, never
/// begins a line with `//` or `/*`.
fn minify(text: &str) -> String {
    let mut minified = String::with_capacity(text.len());
    let mut in_comment = false;
    for line in text.lines().map(str::trim) {
        let is_comment = in_comment || line.starts_with("/*");
        if is_comment {
            in_comment = !line.ends_with("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            minified += line;
            minified.push('\n');
        }
    }
    minified
}

/// Removes also the spaces that a style does not need. Lines with strings stay as they are.
fn minify_style(text: &str) -> String {
    let lines = minify(text);
    let lines = lines.lines().map(|line| match line.contains('"') {
        true => line.to_owned(),
        false => line
            .replace(": ", ":")
            .replace(" {", "{")
            .replace(", ", ","),
    });
    lines.collect()
}

/// `GET /assets/NAME`.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    let mut all = FILES.iter().zip(MINIFIED.iter());
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
    fn page_is_small() {
        let size = MINIFIED.iter().map(|text| text.len()).sum::<usize>() + INDEX.len();
        assert!(size < 180_000, "{size} bytes");
    }

    #[test]
    fn minify_removes_comments_and_indentation() {
        let script = "// Why.\n\nfunction go() {\n\t/** This,\n\t * and that. */\n\treturn \"http://x\"; // So.\n}\n";
        assert_eq!(
            minify(script),
            "function go() {\nreturn \"http://x\"; // So.\n}\n"
        );
        assert_eq!(minify("/* Colors. */\na { b: c }\n"), "a { b: c }\n");
        assert_eq!(minify("  /* One */\n  x();\n"), "x();\n");
    }

    /// [`minify`] relies on template strings and comments that do not end within a line of code.
    #[test]
    fn strings_and_comments_fit_minify() {
        for (name, kind, text) in FILES.iter().filter(|(_, kind, _)| *kind != SVG) {
            for line in text.lines().map(str::trim) {
                let closed = *kind != SCRIPT || line.matches('`').count() % 2 == 0;
                assert!(closed, "{name}: {line}");
                let after = line.split_once("*/").map_or("", |(_, after)| after);
                assert!(after.is_empty(), "{name}: {line}");
            }
        }
    }

    #[test]
    fn all_asset_files_are_served() {
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
