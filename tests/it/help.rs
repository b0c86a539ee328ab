//! Layout of the help texts.

use clap::CommandFactory;
use knightwatch::cli::Cli;

use crate::cli::stdout;

/// The widest help, in columns.
const MAX_COLUMNS: usize = 100;

#[test]
fn help_lists_each_command_once_below_its_heading() {
    let (short, long) = (stdout(&["-h"]), stdout(&["--help"]));
    let headings = [
        "Play",
        "Operate",
        "Look back",
        "Install",
        "Simulate",
        "Engine",
        "Develop",
    ];
    for (number, heading) in headings.iter().enumerate() {
        let line = format!("\n{heading}:\n");
        assert!(long.contains(&line), "{heading}: {long}");
        assert_eq!(short.contains(&line), number < 3, "{heading}: {short}");
    }
    assert!(
        short.contains("knightwatch --help") && short.lines().count() < 48,
        "{short}"
    );
    for text in [&short, &long] {
        assert!(
            text.contains("Exit codes: ") && text.contains("--version"),
            "{text}"
        );
    }
    // Each command is listed once.
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        let row = |line: &&str| {
            let rest = line
                .strip_prefix("  ")
                .and_then(|line| line.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with("  "))
        };
        let rows = long.lines().filter(row).count();
        assert_eq!(rows, usize::from(!command.is_hide_set()), "{name}: {long}");
    }
}

/// clap wraps the help: a line that is wrapped by hand would be wrapped twice, and an example could not be copied.
#[test]
fn help_lines_are_not_wrapped_by_hand() {
    fn check(command: &clap::Command) {
        let name = command.get_name();
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let lines: Vec<&str> = help.lines().collect();
        let is_prose = |line: &str| line.starts_with(|c: char| !c.is_whitespace());
        for two in lines.windows(2) {
            assert!(!(is_prose(two[0]) && is_prose(two[1])), "{name}: {two:?}");
        }
        let is_fixed = |line: &&&str| !is_prose(line) || line.starts_with("Example");
        for line in lines.iter().filter(is_fixed) {
            let width = line.chars().count();
            assert!(width <= MAX_COLUMNS, "{name}, {width} columns: {line}");
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}
