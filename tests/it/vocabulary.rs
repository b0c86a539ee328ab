//! Plain terms in names and prose: no metaphors or archaic words, American spelling, noun phrases as module headers.

use std::fs;
use std::path::{Path, PathBuf};

/// Metaphors, banned as words of prose and as parts of identifiers, with the standard term.
const METAPHORS: &[(&str, &str)] = &[
    ("charter", "config"),
    ("crew", "join set, worker pool"),
    ("encore", "rematch"),
    ("errand", "request, task"),
    ("errands", "requests, tasks"),
    ("farewell", "shutdown timeout"),
    ("hark", "receive"),
    ("helm", "commands"),
    ("leisure", "delay"),
    ("manners", "etiquette"),
    ("nemeses", "toughest opponents"),
    ("nemesis", "toughest opponent"),
    ("patience", "timeout"),
    ("sabotage", "fault injection"),
    ("sister", "other account"),
    ("sisters", "other accounts"),
    ("tale", "trace"),
    ("woe", "error"),
    ("woes", "errors"),
];

/// Archaic words and phrases of prose, in lower case, with plain ones.
const ARCHAIC: &[(&str, &str)] = &[
    ("anew", "again"),
    ("be had", "be available"),
    ("befalls", "happens to"),
    ("beside it", "next to it"),
    ("beside that", "in addition"),
    ("beside the", "next to the"),
    ("gone from", "missing from"),
    ("had do", "made to do"),
    ("he", "they"),
    ("heed", "follow, observe"),
    ("heeded", "followed, observed"),
    ("heeds", "follows, observes"),
    ("hence", "therefore"),
    ("him", "them"),
    ("his", "their"),
    ("lest", "so that not"),
    ("mend", "repair, fix"),
    ("mended", "repaired, fixed"),
    ("mends", "repairs, fixes"),
    ("of one's own", "own"),
    ("see the module's text", "say it, or link to the item"),
    ("tells of", "reports"),
    ("thereof", "of it"),
    ("thereupon", "then"),
    ("told of", "notified of, informed about"),
    ("whereof", "of which"),
    ("whereupon", "then"),
    ("whoever", "anyone who"),
    ("whomever", "anyone"),
    ("withal", "also"),
];

/// British spellings, banned as parts of words in prose and in identifiers, with the American ones, which Lichess,
/// Stockfish and Rust use.
const BRITISH: &[(&str, &str)] = &[
    ("acknowledgement", "acknowledgment"),
    ("analysable", "analyzable"),
    ("analyse", "analyze"),
    ("analysing", "analyzing"),
    ("artefact", "artifact"),
    ("behaviour", "behavior"),
    ("cancelled", "canceled"),
    ("cancelling", "canceling"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("characteris", "characteriz"),
    ("colour", "color"),
    ("customis", "customiz"),
    ("defence", "defense"),
    ("emphasise", "emphasize"),
    ("favour", "favor"),
    ("fulfils", "fulfills"),
    ("generalis", "generaliz"),
    ("grey", "gray"),
    ("honour", "honor"),
    ("initialis", "initializ"),
    ("judgement", "judgment"),
    ("labelled", "labeled"),
    ("labelling", "labeling"),
    ("labour", "labor"),
    ("learnt", "learned"),
    ("licence", "license"),
    ("maximise", "maximize"),
    ("minimise", "minimize"),
    ("minimising", "minimizing"),
    ("modelled", "modeled"),
    ("modelling", "modeling"),
    ("neighbour", "neighbor"),
    ("normalis", "normaliz"),
    ("offence", "offense"),
    ("optimisation", "optimization"),
    ("optimise", "optimize"),
    ("optimising", "optimizing"),
    ("organisation", "organization"),
    ("organise", "organize"),
    ("prioritis", "prioritiz"),
    ("quantis", "quantiz"),
    ("randomis", "randomiz"),
    ("recognis", "recogniz"),
    ("serialis", "serializ"),
    ("signalled", "signaled"),
    ("signalling", "signaling"),
    ("specialis", "specializ"),
    ("spelt", "spelled"),
    ("summaris", "summariz"),
    ("synchronis", "synchroniz"),
    ("tokenis", "tokeniz"),
    ("travelled", "traveled"),
    ("travelling", "traveling"),
    ("utilis", "utiliz"),
    ("vectoris", "vectoriz"),
    ("whilst", "while"),
];

/// Names that others have given, in lower case. The British spellings in them stay.
const NAMES_OF_OTHERS: &[(&str, &str)] = &[
    ("/analyse", "a path of Lichess"),
    ("uci_analysemode", "an option of UCI"),
    ("cancelled()", "tokio-util"),
    ("cancelled_owned", "tokio-util"),
    ("is_cancelled", "tokio-util"),
    ("deserialise_from", "viriformat"),
    ("serialise_into", "viriformat"),
    ("engine.analyse", "python-chess"),
    ("aria-labelledby", "an attribute of HTML"),
    ("analyses", "the plural of analysis, the same in both"),
];

/// First words of a module header that begin a clause instead of a noun phrase or a verb in the third person.
const CLAUSES: &[&str] = &[
    "And", "How", "If", "So", "That", "What", "When", "Where", "Whether", "Which", "Who", "Whom",
    "Whose", "Why",
];

/// Permitted places: the beginning of a path, the word and the reason; an empty path or word stands for all.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("tests/it/vocabulary.rs", "", "lists the words"),
    ("", "farewell", "the key chat.farewell, as in other bots"),
    ("docs/simulator.md", "patience", "name of a player"),
    (
        "crates/sim/src/faults/library/",
        "patience",
        "name of a player",
    ),
    ("tests/it/faults/", "patience", "name of a player"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source and documentation files of the repository.
fn files() -> Vec<PathBuf> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let is_generated = ["target", "corpus", "artifacts"]
                .iter()
                .any(|name| path.ends_with(name));
            if path.is_dir() && !is_generated {
                collect(&path, files);
            } else if path.is_file() && is_checked(&path) {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for directory in [
        ".ci",
        "src",
        "crates",
        "tests",
        "benches",
        "fuzz",
        "docs",
        "systemd",
        "packaging",
    ] {
        collect(&root().join(directory), &mut files);
    }
    let top = fs::read_dir(root()).unwrap().map(Result::unwrap);
    let top = top.map(|entry| entry.path());
    files.extend(top.filter(|path| path.extension().is_some() && is_checked(path)));
    files.sort();
    files
}

/// Returns whether a file has names or prose; scripts have no extension.
fn is_checked(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(
        extension,
        None | Some("css" | "html" | "js" | "md" | "py" | "rs" | "service" | "sh" | "sql" | "toml")
    )
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

/// The banned words of a line, each with a remedy.
fn banned_words(path: &str, number: usize, line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut ban = |word: &str, remedy: &str| {
        if !is_allowed(path, word) {
            found.push(format!("`{word}`: {remedy}"));
        }
    };
    let parts: Vec<String> = identifiers(line).flat_map(parts).collect();
    let words = line.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
            .to_ascii_lowercase()
    });
    let prose = format!(" {} ", words.collect::<Vec<_>>().join(" "));
    for &(word, term) in METAPHORS {
        if parts.iter().any(|part| part == word) {
            ban(word, &format!("use the standard term, such as {term}"));
        }
    }
    for &(phrase, plain) in ARCHAIC {
        if prose.contains(&format!(" {phrase} ")) {
            ban(phrase, &format!("write {plain}"));
        }
    }
    let text = line.to_ascii_lowercase();
    let own = NAMES_OF_OTHERS
        .iter()
        .fold(text, |text, (name, _)| text.replace(name, ""));
    for &(word, american) in BRITISH {
        if own.contains(word) {
            ban(word, &format!("the American spelling is {american}"));
        }
    }
    if number == 1 && path.ends_with(".rs") {
        let header = line.strip_prefix("//! ").unwrap_or_default();
        let first = identifiers(header).next().unwrap_or_default();
        if CLAUSES.contains(&first) {
            let remedy =
                "begin the module header with a noun phrase, or a verb in the third person";
            ban(first, remedy);
        }
    }
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
        "{} banned words; reword them, or add the place and a reason to ALLOWED in {}:\n{}",
        found.len(),
        file!(),
        found.join("\n")
    );
}

#[test]
fn vocabulary_finds_words_in_names_prose_and_headers() {
    let found = |line: &str| {
        let found = banned_words("src/x.rs", 1, line);
        let words = found.iter().filter_map(|text| text.split('`').nth(1));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    for line in ["let crew = 1;", "struct TaskCrew;", "fn task_crew() {}"] {
        assert_eq!(found(line), ["crew"], "{line}");
    }
    assert_eq!(found("/// Read anew."), ["anew"]);
    assert_eq!(found("// made to be had."), ["be had"]);
    assert_eq!(
        found("// See the module's text."),
        ["see the module's text"]
    );
    for line in [
        "let neighbours = 8;",
        "struct Neighbour;",
        "// Neighbouring",
    ] {
        assert_eq!(found(line), ["neighbour"], "{line}");
    }
    assert_eq!(found("//! What it does."), ["What"]);
    for line in [
        "//! Screws.",
        "let renewed = stale;",
        "// recommended",
        "if token.is_cancelled() {}",
        "// Two analyses, and an optimistic one.",
    ] {
        assert!(found(line).is_empty(), "{line}");
    }
}
