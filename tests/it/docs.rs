//! The commands that the README and the help tell people to type are commands of this program.

use clap::{CommandFactory, Parser};
use knightwatch::cli::Cli;

const README: &str = include_str!("../../README.md");

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
    let command: Vec<String> = words.iter().skip_while(is_variable).cloned().collect();
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

#[test]
fn the_readme_begins_with_the_demo_and_the_tests() {
    let first = README.split("```sh\n").nth(1).unwrap();
    assert!(first.starts_with("cargo run --release -- demo\ncargo test --release\n"));
}
