//! Plain terms in names and prose: no metaphors, no archaic words, module headers that are noun phrases.

use std::fs;
use std::path::{Path, PathBuf};

/// Metaphors for which the field has a standard term, as whole identifiers or as parts of identifiers.
const BANNED_IN_NAMES: &[&str] = &[
    "crew", "encore", "errand", "errands", "farewell", "heed", "helm", "keeper", "mend", "nemeses",
    "patience", "sabotage", "sister", "sisters", "tale", "woe", "woes",
];

/// Archaic words and phrases of comments, documentation and messages, in lower case.
const BANNED_IN_PROSE: &[&str] = &[
    "anew", "had do", "heed", "heeded", "heeds", "hence", "lest", "mend", "mended", "mends",
    "told of", "whoever",
];

/// First words of a module header that begin a clause without a noun.
const BANNED_IN_HEADERS: &[&str] = &[
    "What", "Who", "How", "Whether", "Where", "Which", "That", "And", "So",
];

/// Permitted places: the beginning of a path, the word and the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("tests/it/vocabulary.rs", "", "lists the words"),
    (
        "",
        "farewell",
        "the key chat.farewell, the term of other bots",
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source and documentation files of the repository.
fn files() -> Vec<PathBuf> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    collect(&path, files);
                }
            } else if is_checked(&path) {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for directory in ["src", "crates", "tests", "benches", "fuzz", "docs"] {
        collect(&root().join(directory), &mut files);
    }
    let top = fs::read_dir(root()).unwrap().map(Result::unwrap);
    let top = top.map(|entry| entry.path());
    files.extend(top.filter(|path| path.is_file() && is_checked(path)));
    files.sort();
    files
}

fn is_checked(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("rs" | "js" | "md" | "toml"))
}

fn is_allowed(path: &str, word: &str) -> bool {
    ALLOWED
        .iter()
        .any(|(place, allowed, _)| path.starts_with(place) && ["", word].contains(allowed))
}

/// The words of a text, each a run of letters, digits and underscores.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The parts of a snake case or camel case identifier, in lower case.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_lowercase = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_ascii_uppercase() && after_lowercase) {
            parts.push(String::new());
        }
        if c != '_' {
            let part = parts.last_mut().expect("there is always one");
            part.push(c.to_ascii_lowercase());
        }
        after_lowercase = c.is_ascii_lowercase();
    }
    parts
}

/// The banned words of a line.
fn banned_words(path: &str, number: usize, line: &str) -> Vec<String> {
    let mut found: Vec<String> = identifiers(line)
        .flat_map(parts)
        .filter(|part| BANNED_IN_NAMES.contains(&part.as_str()))
        .collect();
    let words: Vec<String> = identifiers(line).map(str::to_ascii_lowercase).collect();
    for phrase in BANNED_IN_PROSE {
        let phrase_words: Vec<&str> = phrase.split(' ').collect();
        let mut runs = words.windows(phrase_words.len());
        if !found.iter().any(|word| word == phrase) && runs.any(|run| run == phrase_words) {
            found.push((*phrase).to_owned());
        }
    }
    if number == 1
        && path.ends_with(".rs")
        && let Some(header) = line.strip_prefix("//! ")
    {
        let first = identifiers(header).next().unwrap_or_default();
        let is_banned = BANNED_IN_HEADERS.contains(&first);
        found.extend(is_banned.then(|| format!("header begins with {first}")));
    }
    found.retain(|word| !is_allowed(path, word));
    found
}

#[test]
fn vocabulary_keeps_to_plain_terms() {
    let mut found = Vec::new();
    for file in files() {
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let words = banned_words(&path, number, line).into_iter();
            found.extend(words.map(|word| format!("{path}:{number}: {word}")));
        }
    }
    assert!(
        found.is_empty(),
        "{} places:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn vocabulary_finds_words_in_names_prose_and_headers() {
    let found = |line: &str| banned_words("src/x.rs", 1, line);
    for line in ["let crew = 1;", "struct TaskCrew;", "fn task_crew() {}"] {
        assert_eq!(found(line), ["crew"], "{line}");
    }
    assert_eq!(found("/// Read anew."), ["anew"]);
    assert_eq!(found("// to be had do that"), ["had do"]);
    assert_eq!(found("//! What it does."), ["header begins with What"]);
    for line in ["//! Screws.", "let renewed = stale;", "// recommended"] {
        assert!(found(line).is_empty(), "{line}");
    }
}
