//! The commands that the README and the help tell people to type are commands of this program, and the tests that are
//! named exist.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{CommandFactory, Parser};
use knightwatch::cli::Cli;

const README: &str = include_str!("../../README.md");

/// The names of the tests in this folder of the project.
pub fn tests_in(folder: &str) -> Vec<String> {
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
            let lines = source.lines().map(|line| line.trim_start());
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
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &mut names,
    );
    names
}

/// The numbers in the names of these tests, as 13 in `fn fact_13_ai_player_object` behind `fact_`.
pub fn numbered_tests(folder: &str, prefix: &str) -> BTreeSet<u32> {
    let number = |name: &String| name.strip_prefix(prefix)?.split('_').next()?.parse().ok();
    tests_in(folder).iter().filter_map(number).collect()
}

/// The words of a line for the shell: single quotes are heeded, comments and pipes end it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            '#' | '|' | '&' if !quoted => break,
            ' ' if !quoted => words.push(String::new()),
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
    let words = words(line);
    let is_variable =
        |word: &&String| word.contains('=') && word.starts_with(|c: char| c.is_ascii_uppercase());
    let is_before = |word: &&String| *word == "sudo" || is_variable(word);
    let command: Vec<String> = words.iter().skip_while(is_before).cloned().collect();
    (command.first()? == "knightwatch").then_some(command)
}

fn accept(line: &str) -> bool {
    let Some(arguments) = arguments(line) else {
        return false;
    };
    if let Err(error) = Cli::try_parse_from(&arguments) {
        panic!("`{line}` is no command: {error}");
    }
    true
}

#[test]
fn what_the_readme_says_can_be_typed() {
    let fences = README.split("```").skip(1).step_by(2);
    let shell = fences.filter(|fence| fence.starts_with("sh\n"));
    let in_blocks = shell
        .flat_map(str::lines)
        .filter(|line| accept(line))
        .count();
    assert!(in_blocks >= 6, "{in_blocks}");
    let prose: String = README.split("```").step_by(2).collect();
    let inline = prose
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|code| code.replace('\n', " "));
    let in_prose = inline.filter(|code| accept(code)).count();
    assert!(in_prose >= 6, "{in_prose}");
}

#[test]
fn what_the_help_says_can_be_typed() {
    fn all(command: &clap::Command) -> usize {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let examples = help.lines().map(|line| {
            line.trim_start_matches("Example:")
                .trim_start_matches("Examples:")
        });
        examples.filter(|line| accept(line)).count()
            + command.get_subcommands().map(all).sum::<usize>()
    }
    assert!(all(&Cli::command()) >= 15);
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
fn the_readme_begins_with_the_demo() {
    let blocks = shell_blocks(README);
    assert_eq!(blocks[0], ["cargo run --release -- demo"]);
    assert!(blocks.contains(&vec!["cargo test --release"]));
}

/// What is wrong with a block that somebody pastes into a terminal as a whole.
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
    let asking = others
        .iter()
        .find(|line| asks.iter().any(|word| line.contains(word)));
    match asking {
        Some(line) if !goes_on(&line) => {
            Some(format!("it asks, and {last} comes after it: {line}"))
        }
        _ => None,
    }
}

#[test]
fn what_is_told_to_be_typed_can_be_pasted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<_> = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "fuzz/README.md",
    ]
    .map(|name| root.join(name))
    .into();
    let docs = root.join("docs").read_dir().unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    pages.retain(|path| path.extension().is_some_and(|kind| kind == "md"));
    let mut blocks = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
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

/// The rows of the table under this heading of the README, cell by cell.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = README.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    rows.skip(1).map(cells).collect()
}

#[test]
fn what_the_readme_says_of_faults_is_tested() {
    let tests = tests_in("tests/it");
    let rows = table("What can go wrong, and what happens then");
    let named: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.last().unwrap().split('`').skip(1).step_by(2))
        .collect();
    for row in &rows {
        assert_eq!(row.len(), 5, "{row:?}");
        assert!(row.last().unwrap().contains('`'), "{row:?}");
    }
    for name in &named {
        assert!(is_among(&tests, name), "there is no test `{name}`");
    }
    for number in 1..=17 {
        let fault = format!("f{number:02}");
        assert!(named.contains(fault.as_str()), "{fault}");
    }
}

/// Whether one of the tests is called so, or so and then `_` and more.
fn is_among(tests: &[String], name: &str) -> bool {
    let is_meant = |test: &String| {
        test.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    !name.is_empty() && tests.iter().any(is_meant)
}

#[test]
fn what_is_said_of_other_bots_is_tested() {
    let page = include_str!("../../docs/peers.md");
    let played = tests_in("tests/it");
    let tests = [played.clone(), tests_in("src")].concat();
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim);
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<Vec<&str>> = rows.map(|row| cells(row).collect()).collect();
    assert!(rows.len() > 20);
    for number in 1..=13 {
        let (_, section) = page
            .split_once(&format!("\n## 1.{number} "))
            .unwrap_or_else(|| panic!("nothing is said of 1.{number}"));
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| "));
        assert!(rows.count() >= 3, "1.{number} is empty");
    }
    for row in rows.iter().filter(|row| row[3] != "test") {
        assert_eq!(row.len(), 4, "{row:?}");
        let names = || row[3].split(", ").map(|name| name.trim_matches('`'));
        // With all that belongs to the program at least once, and beside that in a small place.
        let different: BTreeSet<&str> = names().collect();
        assert_eq!(different.len(), names().count(), "{row:?}");
        let is_tested = names().all(|name| is_among(&tests, name))
            && names().any(|name| is_among(&played, name));
        assert!(is_tested || row[2].starts_with("no: "), "{row:?}");
    }
}
