//! Checks of the documentation: valid commands, existing keys, metrics and tests, and working links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use knightwatch::cli::Cli;
use knightwatch::metrics::Metrics;

use crate::common::skip;

/// The longest README, in lines.
const MAX_README_LINES: usize = 220;

/// The longest line outside of tables, code blocks and links, in characters.
const MAX_LINE_CHARS: usize = 120;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the repository. Read when the test runs, so that a change of the documentation compiles nothing.
fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page of the documentation, relative to the root.
fn pages() -> Vec<PathBuf> {
    fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, pages);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                pages.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "fuzz/README.md",
    ]
    .map(PathBuf::from)
    .into();
    collect(&root().join("docs"), &mut pages);
    pages.sort();
    assert!(pages.len() > 15, "{pages:?}");
    pages
}

/// A page without its code blocks.
fn without_blocks(text: &str) -> String {
    let mut in_block = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if !in_block && !is_fence {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    assert!(!in_block, "a code block without an end");
    kept
}

/// The inline code of a page, with line breaks inside of it as blanks.
fn inline_code(text: &str) -> Vec<String> {
    let prose = without_blocks(text);
    let code = prose.split('`').skip(1).step_by(2);
    code.map(|code| code.replace('\n', " ")).collect()
}

/// The names of the tests in this folder of the project.
pub(crate) fn tests_in(folder: &str) -> Vec<String> {
    fn collect(folder: &Path, names: &mut Vec<String>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, names);
                continue;
            }
            if path.extension().is_none_or(|kind| kind != "rs") {
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let lines = source.lines().map(str::trim_start);
            let tests = lines
                .clone()
                .zip(lines.skip(1))
                .filter(|(attribute, _)| ["#[test]", "#[tokio::test]"].contains(attribute))
                .filter_map(|(_, test)| test.trim_start_matches("async ").strip_prefix("fn "))
                .filter_map(|test| test.split('(').next());
            names.extend(tests.map(str::to_owned));
        }
    }
    let mut names = Vec::new();
    collect(&root().join(folder), &mut names);
    names
}

/// The numbers in the names of these tests, as 13 in `fn fact_13_ai_player_object` behind `fact_`.
pub(crate) fn numbered_tests(folder: &str, prefix: &str) -> BTreeSet<u32> {
    let number = |name: &String| name.strip_prefix(prefix)?.split('_').next()?.parse().ok();
    tests_in(folder).iter().filter_map(number).collect()
}

/// The words of a line for the shell. Quotes keep words together; comments and pipes end the line.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match c {
            '\'' | '"' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            '#' | '|' | '&' if quote.is_none() => break,
            ' ' if quote.is_none() => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The arguments, if the line runs this program.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.trim().replace("cargo run --release --", "knightwatch");
    let line = line
        .rsplit(" | ")
        .find(|part| part.contains("knightwatch "))?;
    // Where the output goes.
    let line = line.split(" > ").next().unwrap_or(line);
    let words = words(line);
    let is_variable =
        |word: &&String| word.contains('=') && word.starts_with(|c: char| c.is_ascii_uppercase());
    let is_before = |word: &&String| *word == "sudo" || is_variable(word);
    let command: Vec<String> = words.iter().skip_while(is_before).cloned().collect();
    (command.first()? == "knightwatch").then_some(command)
}

/// Returns whether the line is a command of this program. Its errors are added to `wrong`.
fn is_command(line: &str, wrong: &mut Vec<String>) -> bool {
    let Some(arguments) = arguments(line) else {
        return false;
    };
    match Cli::try_parse_from(&arguments) {
        Ok(_) => {}
        Err(_) if Cli::are_uci_lines(&arguments[1..]) => {}
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {}
        Err(error) => wrong.push(format!("`{line}`: {error}")),
    }
    true
}

/// Returns whether the text names a command of this program without its arguments, as in `knightwatch match`.
fn is_bare_command(code: &str) -> bool {
    let Some(names) = code.strip_prefix("knightwatch ") else {
        return false;
    };
    let mut command = Cli::command();
    for name in names.split(' ') {
        match command.find_subcommand(name) {
            Some(inner) => command = inner.clone(),
            None => return false,
        }
    }
    true
}

#[test]
fn documented_commands_parse() {
    let mut wrong = Vec::new();
    let (mut in_blocks, mut in_prose, mut in_readme) = (0, 0, 0);
    for page in pages() {
        let text = read(&page);
        for block in shell_blocks(&text) {
            // A line that ends in a backslash goes on in the next one.
            let block = block.join("\n").replace("\\\n", "");
            for line in block.lines() {
                let line = line.replace("target/release/", "");
                let line = line.replace("target/dist/", "");
                in_blocks += usize::from(is_command(&line, &mut wrong));
            }
        }
        for code in inline_code(&text) {
            if is_bare_command(&code) || is_command(&code, &mut wrong) {
                in_prose += 1;
                in_readme += usize::from(page == Path::new("README.md"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(in_blocks >= 20, "{in_blocks}");
    assert!(in_prose >= 60 && in_readme >= 6, "{in_prose}, {in_readme}");
}

#[test]
fn help_examples_parse() {
    fn count(command: &clap::Command, wrong: &mut Vec<String>) -> usize {
        let help = command.get_after_help().map(ToString::to_string);
        let mut examples = 0;
        for line in help.unwrap_or_default().lines() {
            let line = line.trim_start_matches("Example:");
            examples += usize::from(is_command(line, wrong));
        }
        let inner = command.get_subcommands();
        examples + inner.map(|inner| count(inner, wrong)).sum::<usize>()
    }
    let mut wrong = Vec::new();
    let examples = count(&Cli::command(), &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(examples >= 15, "{examples}");
}

/// The blocks for the shell in a text.
fn shell_blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "```sh" {
            let block = lines.by_ref().take_while(|line| line.trim() != "```");
            blocks.push(block.map(str::trim).collect());
        }
    }
    blocks
}

#[test]
fn readme_begins_with_the_demo() {
    let readme = read("README.md");
    let blocks = shell_blocks(&readme);
    assert_eq!(blocks[0], ["cargo run --release -- demo"]);
    assert!(blocks.contains(&vec!["cargo test --release"]));
}

/// The reason a block cannot be pasted into a terminal as a whole, if any.
fn not_pasteable(block: &[&str]) -> Option<String> {
    let (last, others) = block.split_last()?;
    for line in block {
        // An interactive zsh knows no comments: it takes their words as arguments and their apostrophes as quotes.
        if line.starts_with('#') || line.contains(" #") {
            return Some(format!("a comment: {line}"));
        }
        for word in line.split([' ', '=', '/']) {
            let is_placeholder = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
            if word.contains("...") || is_placeholder && !line.contains(&format!("{word}=")) {
                return Some(format!("something to fill in: {line}"));
            }
        }
        for reads in ["/dev/stdin", "read ", "<<", "cat >"] {
            if line.contains(reads) {
                return Some(format!("it reads the lines after it: {line}"));
            }
        }
    }
    // These ask on the terminal, sudo for a password, and would read the lines that were pasted after them.
    let asks = ["sudo ", "knightwatch init", "knightwatch upgrade"];
    let goes_on =
        |line: &&&str| line.ends_with('\\') || line.ends_with("&&") || line.ends_with('|');
    let command = others
        .iter()
        .find(|line| asks.iter().any(|word| line.contains(word)));
    match command {
        Some(line) if !goes_on(&line) => {
            Some(format!("it asks, and {last} comes after it: {line}"))
        }
        _ => None,
    }
}

#[test]
fn shell_blocks_can_be_pasted() {
    let mut blocks = 0;
    for page in pages() {
        let text = read(&page);
        for block in shell_blocks(&text) {
            blocks += 1;
            let wrong = not_pasteable(&block);
            assert!(wrong.is_none(), "{}: {}", page.display(), wrong.unwrap());
        }
    }
    assert!(blocks >= 10, "{blocks}");
    for wrong in [
        ["sudo install -Dm 600 /dev/stdin /etc/knightwatch/token"].as_slice(),
        &["sudo systemctl daemon-reload", "journalctl -fu knightwatch"],
        &["knightwatch status    # the service's: sudo knightwatch status"],
        &["LICHESS_TOKEN=lip_... knightwatch run"],
        &["git clone ADDRESS knightwatch"],
    ] {
        assert!(not_pasteable(wrong).is_some(), "{wrong:?}");
    }
}

/// The rows of the tables in a text, cell by cell.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .filter(|line| line.starts_with("| "))
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The text under this heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.split_once(&format!("\n## {heading}\n"));
    let (_, section) = start.unwrap_or_else(|| panic!("there is no section `{heading}`"));
    section.split("\n## ").next().unwrap()
}

#[test]
fn documented_failures_are_tested() {
    let tests = tests_in("tests/it");
    let page = read("docs/reliability.md");
    let table = section(&page, "Failures").split("\n### ").next().unwrap();
    let rows = rows(table).split_off(1);
    let named: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.last().unwrap().split('`').skip(1).step_by(2))
        .collect();
    for row in &rows {
        assert_eq!(row.len(), 5, "{row:?}");
        assert!(row.last().unwrap().contains('`'), "{row:?}");
    }
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !is_among(&tests, name))
        .collect();
    assert!(missing.is_empty(), "there are no tests {missing:?}");
    for number in 1..=17 {
        let fault = format!("f{number:02}");
        assert!(named.contains(fault.as_str()), "{fault}");
    }
}

/// Returns whether a test has this name, or begins with it and `_`.
fn is_among(tests: &[String], name: &str) -> bool {
    let is_meant = |test: &String| {
        test.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    !name.is_empty() && tests.iter().any(is_meant)
}

/// The sections of the comparison.
const COMPARED: [&str; 13] = [
    "Connection, streams, retry",
    "Token and account",
    "Challenges",
    "Concurrency and the queue",
    "Matchmaking",
    "Tournaments",
    "Engine",
    "Time management and correspondence",
    "Opening book",
    "Online sources",
    "Tablebases",
    "Draws, resignation, takebacks, claims, rematches",
    "Chat, records, operations",
];

#[test]
fn compared_features_are_tested() {
    let page = read("docs/comparison.md");
    let played = tests_in("tests/it");
    let tests = [played.clone(), tests_in("src"), tests_in("crates")].concat();
    for heading in COMPARED {
        assert!(rows(section(&page, heading)).len() >= 3, "{heading}");
    }
    let rows = rows(&page);
    assert!(rows.len() > 20);
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row[3] != "test") {
        assert_eq!(row.len(), 4, "{row:?}");
        let names = || row[3].split(", ").map(|name| name.trim_matches('`'));
        // Each row names a test of the whole program, and perhaps tests of its parts.
        let different: BTreeSet<&str> = names().collect();
        assert_eq!(different.len(), names().count(), "{row:?}");
        let is_tested = names().all(|name| is_among(&tests, name))
            && names().any(|name| is_among(&played, name));
        if !is_tested && !row[2].starts_with("no: ") {
            wrong.push(row[3]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The keys of `config.example.toml`, as `section.key`; those of examples in comments too.
fn config_keys() -> BTreeSet<String> {
    let text = read("config.example.toml");
    let mut section = String::new();
    let mut keys = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = name.to_owned();
        }
        let Some((key, _)) = line.trim_start_matches('#').split_once(" = ") else {
            continue;
        };
        if key.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            keys.insert(format!("{section}.{key}"));
        }
    }
    assert!(keys.len() > 60, "{keys:?}");
    keys
}

/// Endings of file names, which are no keys: `games.pgn`.
const FILE_ENDINGS: [&str; 9] = [
    "md", "rs", "toml", "js", "svg", "json", "jsonl", "bin", "pgn",
];

#[test]
fn documented_config_keys_exist() {
    let keys = config_keys();
    let sections: BTreeSet<&str> = keys
        .iter()
        .filter_map(|key| key.split('.').next())
        .collect();
    let mut wrong = Vec::new();
    for page in pages() {
        for code in inline_code(&read(&page)) {
            // `--set section.key=value` too.
            for word in code.split([' ', '=']) {
                let Some((section, key)) = word.split_once('.') else {
                    continue;
                };
                let is_key =
                    !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                let is_file = FILE_ENDINGS.contains(&key);
                if is_key && !is_file && sections.contains(section) && !keys.contains(word) {
                    wrong.push(format!("{}: {word}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn metrics_are_documented() {
    let page = read("docs/operations.md");
    let text = Metrics::combined(vec![Metrics::default()]).text();
    let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let name = |line: &str| match line.split_once(' ').unwrap() {
        (name, "counter") => format!("`{name}_total`"),
        (name, _) => format!("`{name}`"),
    };
    let names: Vec<String> = lines.map(name).collect();
    assert!(names.len() > 20, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !page.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not documented");
}

/// The anchor that a heading gets, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = without_blocks(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// The targets of the links and pictures of a page.
fn links(text: &str) -> Vec<String> {
    let text = without_blocks(text);
    let in_markdown = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let in_html = ["src=\"", "srcset=\""].into_iter().flat_map(|attribute| {
        let parts = text.split(attribute).skip(1);
        parts.filter_map(|rest| rest.split('"').next())
    });
    let all = in_markdown.chain(in_html).map(str::to_owned);
    all.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        let folder = page.parent().unwrap();
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            count += 1;
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => root().join(&page),
                path => root().join(folder).join(path),
            };
            let exists = target.exists();
            let is_there =
                exists && (fragment.is_empty() || anchors(&read(&target)).contains(fragment));
            if !is_there {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
    assert_eq!(anchor(" What's `new`, in 3.2?"), "whats-new-in-32");
    assert_eq!(
        links("[a](b.md#c) <img src=\"d.png\">"),
        ["b.md#c", "d.png"]
    );
}

#[test]
fn pages_are_short_and_narrow() {
    let lines = read("README.md").lines().count();
    assert!(lines <= MAX_README_LINES, "README.md has {lines} lines");
    let mut wrong = Vec::new();
    for page in pages() {
        for (number, line) in without_blocks(&read(&page)).lines().enumerate() {
            let is_exempt = line.starts_with('|') || line.contains("](") || line.contains("src=");
            if line.chars().count() > MAX_LINE_CHARS && !is_exempt {
                wrong.push(format!("{}:{}", page.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pictures_are_small() {
    for entry in root().join("docs/images").read_dir().unwrap() {
        let entry = entry.unwrap();
        let bytes = entry.metadata().unwrap().len();
        assert!(
            bytes <= 200_000,
            "{}: {bytes} bytes",
            entry.path().display()
        );
    }
}

#[test]
fn prometheus_accepts_the_alert_rules() {
    let rules = root().join("monitoring/prometheus-rules.yml");
    let Ok(checked) = Command::new("promtool")
        .args(["check", "rules"])
        .arg(rules)
        .output()
    else {
        return skip("promtool", "no promtool here (Debian: prometheus)");
    };
    let printed = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && printed.contains("SUCCESS"),
        "{checked:?}"
    );
}

#[test]
fn pages_have_no_conflict_markers() {
    for page in pages() {
        let text = read(&page);
        let marker = text.lines().find(|line| {
            ["<<<<<<< ", ">>>>>>> "]
                .iter()
                .any(|marker| line.starts_with(marker))
        });
        assert_eq!(marker, None, "{}", page.display());
    }
}

#[test]
fn monitoring_files_use_documented_metrics() {
    let documented = read("docs/operations.md");
    for file in ["prometheus-rules.yml", "grafana-dashboard.json"] {
        let text = read(format!("monitoring/{file}"));
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let metrics: Vec<&str> = words
            .filter(|word| word.starts_with("knightwatch_"))
            .map(|word| word.trim_end_matches("_bucket"))
            .collect();
        assert!(metrics.len() > 5, "{file}");
        for metric in metrics {
            assert!(
                documented.contains(&format!("`{metric}`")),
                "{file}: {metric}"
            );
        }
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("monitoring/grafana-dashboard.json")).unwrap();
    assert!(
        dashboard["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() > 10)
    );
}
