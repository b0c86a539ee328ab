//! Module dependencies of the daemon: each top-level module may use only the modules and crates listed here. Cargo enforces
//! the dependencies between the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules, lower layers first, and the modules and re-exported crates that each may use; `*` allows all.
const ALLOWED: &[(&str, &[&str])] = &[
    ("events", &["chess", "engine", "lichess", "keys"]),
    ("draw", &["atomic_file", "chess", "file_error", "input"]),
    ("metrics", &["events", "plural", "seconds", "sync"]),
    (
        "store",
        &[
            "atomic_file",
            "backoff",
            "chess",
            "events",
            "file_error",
            "plural",
            "seconds",
            "keys",
            "sync",
        ],
    ),
    (
        "config",
        &[
            "chess",
            "credentials",
            "input",
            "lichess",
            "plural",
            "seconds",
            "spelling",
            "keys",
        ],
    ),
    (
        "bot",
        &[
            "chess",
            "book",
            "engine",
            "external",
            "lichess",
            "events",
            "match_stats",
            "metrics",
            "config",
            "clock",
            "atomic_file",
            "backoff",
            "file_error",
            "input",
            "plural",
            "seconds",
            "sync",
        ],
    ),
    (
        "control",
        &["bot", "config", "events", "lichess", "metrics"],
    ),
    (
        "convert",
        &[
            "atomic_file",
            "config",
            "file_error",
            "input",
            "lichess",
            "plural",
        ],
    ),
    (
        "import",
        &[
            "chess",
            "clock",
            "events",
            "file_error",
            "input",
            "lichess",
            "plural",
            "store",
        ],
    ),
    (
        "web",
        &[
            "chess", "draw", "events", "input", "keys", "metrics", "serve", "store", "sync",
            "control", "plural", "seconds",
        ],
    ),
    (
        "alert",
        &[
            "backoff", "bot", "clock", "config", "events", "input", "lichess", "metrics", "plural",
        ],
    ),
    (
        "provider",
        &["backoff", "chess", "clock", "engine", "external", "lichess"],
    ),
    ("console", &["chess", "events", "lichess", "plural"]),
    (
        "logging",
        &["atomic_file", "config", "log_filter", "plural"],
    ),
    ("daemon", &["*"]),
    ("check", &["*"]),
    ("demo", &["*"]),
    ("init", &["*"]),
    ("cli", &["*"]),
];

/// Dependencies of each crate on others of the workspace.
const CRATES: &[(&str, &[&str])] = &[
    ("util", &[]),
    ("serve", &[]),
    ("chess", &[]),
    ("book", &["chess", "util"]),
    ("engine", &["chess", "util"]),
    ("external", &["chess", "engine", "util"]),
    ("lichess", &["chess", "util"]),
    ("sim", &["chess", "engine", "serve", "util"]),
    ("lab", &["book", "chess", "engine", "external", "util"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source files of a module: `src/module.rs` or everything in `src/module/`.
fn sources(module: &str) -> Vec<(String, String)> {
    let src = root().join("src");
    let found = rust_files(vec![src.join(module), src.join(format!("{module}.rs"))]);
    assert!(!found.is_empty(), "there is no module `{module}`");
    found
}

/// Paths and contents of all Rust files in `open`, files or directories.
fn rust_files(mut open: Vec<PathBuf>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|extension| extension == "rs") && path.exists() {
            found.push((
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            ));
        }
    }
    found
}

/// The modules that a text uses, as `crate::module` or `crate::{module, ...}`.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut modules = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            modules.insert(first_name(rest));
            continue;
        };
        // Only the outermost names of the group are modules.
        let mut depth = 0;
        let mut item = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    modules.insert(first_name(&std::mem::take(&mut item)));
                }
                c if depth == 0 => item.push(c),
                _ => {}
            }
        }
        modules.insert(first_name(&item));
    }
    modules.remove("");
    modules
}

fn first_name(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The modules that `lib.rs` declares.
fn declared() -> Vec<String> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let name = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    lib.lines().filter_map(name).collect()
}

#[test]
fn modules_depend_only_on_allowed_modules() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for module in declared() {
        let Some(may) = allowed.get(module.as_str()) else {
            wrong.push(format!("`{module}` is missing in ALLOWED"));
            continue;
        };
        for (file, text) in sources(&module) {
            for other in used_modules(&text) {
                if other != module && !may.contains(&"*") && !may.contains(&other.as_str()) {
                    wrong.push(format!("{file}: `{module}` must not use `{other}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn layers_are_in_order() {
    for (table, all) in [("ALLOWED", ALLOWED), ("CRATES", CRATES)] {
        let order: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        for (at, (name, others)) in all.iter().enumerate() {
            let mut later = order[at..].iter().filter(|later| others.contains(later));
            assert_eq!(later.next(), None, "{table}: `{name}` is above them");
        }
    }
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let (_, list) = lib.split_once("The modules of the daemon").unwrap();
    let listed = list.lines().filter_map(|line| {
        let name = line.strip_prefix("//! - ")?.split('`').nth(1)?;
        Some(name.to_owned())
    });
    let order: Vec<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.collect::<Vec<_>>(), order);
}

#[test]
fn crates_are_used_by_their_names_in_lib() {
    for (file, text) in rust_files(vec![root().join("src")]) {
        if file.ends_with("src/lib.rs") || file.ends_with("src/main.rs") {
            continue;
        }
        for line in text.lines() {
            let is_path = line.split("knightwatch_").skip(1).any(|rest| {
                let name: String = first_name(rest);
                rest[name.len()..].starts_with("::")
            });
            let is_comment = line.trim_start().starts_with("//");
            assert!(is_comment || !is_path, "{file}: use `crate::`: {line}");
        }
    }
}

#[test]
fn chess_depends_on_nothing() {
    for (file, text) in rust_files(vec![root().join("crates/chess/src")]) {
        for foreign in [
            "tokio",
            "serde",
            "tracing",
            "std::io",
            "std::fs",
            "std::net",
            "Instant",
            "SystemTime",
        ] {
            let used = text
                .split("#[cfg(test)]")
                .next()
                .unwrap()
                .lines()
                .any(|line| {
                    !line.trim_start().starts_with("//") && line.contains(&format!("{foreign}::"))
                });
            assert!(!used, "{file} uses {foreign}");
        }
    }
}

#[test]
fn only_client_webhook_and_block_lists_use_reqwest() {
    for (file, text) in rust_files(vec![root().join("src"), root().join("crates")]) {
        let is_client = file.ends_with("lichess/src/client.rs")
            || file.ends_with("src/alert/webhook.rs")
            || file.ends_with("src/bot/block_lists/fetch.rs")
            || file.contains("/tests/");
        assert!(
            is_client || !text.contains("reqwest::"),
            "{file} uses reqwest"
        );
    }
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let directories = fs::read_dir(root().join("crates")).unwrap();
    assert_eq!(directories.count(), CRATES.len());
    for (name, allowed) in CRATES {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let used: Vec<&str> = dependencies
            .into_iter()
            .flat_map(toml::Table::keys)
            .filter_map(|key| key.strip_prefix("knightwatch-"))
            .collect();
        assert_eq!(used, *allowed, "{name}");
    }
}

#[test]
fn crate_paths_are_found_in_all_forms() {
    let text = "use crate::{chess::{Move, Square}, book};\nuse crate::engine::Engine;\n// crate::sim\nfn f(x: crate::bot::Bot) {}";
    let found: Vec<String> = used_modules(text).into_iter().collect();
    assert_eq!(found, ["book", "bot", "chess", "engine"]);
}
