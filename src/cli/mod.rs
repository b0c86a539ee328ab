//! Command line definitions for clap.

mod arguments;
mod command;

use std::io::{self, Write};
use std::path::Path;

use clap::{CommandFactory, Parser};
use clap_complete::Shell;

use crate::uci;
pub use arguments::{
    ChallengeArgs, ConfigArgs, ExplainArgs, ExportArgs, FilterArgs, GameArgs, GamesArgs,
    ImportArgs, ReplayArgs, ViewArgs,
};
pub use command::{BookCommand, Command};

/// An always-on Lichess bot with its own chess engine, in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "knightwatch",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Example: knightwatch demo\n\n\
        Exit codes: 0 done, 1 failed, 2 wrong usage, 69 another instance uses this token, \
        77 token rejected, 78 configuration. Logs go to stderr, data to stdout. \
        Without arguments, on a pipe: a UCI engine."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Headings of the list of commands with their commands; `None` stands for all commands without a heading.
const HEADINGS: [(&str, Option<&[&str]>); 7] = [
    (
        "Play",
        Some(&["run", "demo", "init", "convert", "upgrade", "check"]),
    ),
    ("Operate", None),
    (
        "Look back",
        Some(&["games", "export", "import", "replay", "render"]),
    ),
    ("Install", Some(&["service", "completions", "man"])),
    ("Simulate", Some(&["sim"])),
    ("Engine", Some(&["uci", "bench", "perft", "epd", "book"])),
    (
        "Develop",
        Some(&["datagen", "train", "match", "gauntlet", "calibrate"]),
    ),
];

/// Number of headings that `-h` shows.
const SHORT_HELP_HEADINGS: usize = 3;

/// Largest width of help texts, in columns.
const MAX_HELP_COLUMNS: usize = 100;

impl Cli {
    /// The definitions, with commands grouped by heading: all with `--help`, the common ones with `-h`.
    pub fn definitions() -> clap::Command {
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.unwrap_or(MAX_HELP_COLUMNS).min(MAX_HELP_COLUMNS);
        let plain = Self::command();
        let (short, long) = (
            command_list(&plain, SHORT_HELP_HEADINGS, width),
            command_list(&plain, HEADINGS.len(), width),
        );
        let short = format!("{short}\n\nAll commands: knightwatch --help");
        plain
            .help_template("{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}")
            .before_help(short)
            .before_long_help(long)
    }

    /// Returns whether the arguments are lines of UCI, as OpenBench passes them, and not a command with its arguments.
    /// `bench` and `uci` are both; as lines they are followed by others, as in `bench quit`.
    pub fn are_uci_lines(arguments: &[String]) -> bool {
        arguments.split_first().is_some_and(|(first, rest)| {
            let has_lines = !rest.is_empty() && rest.iter().all(|line| uci::is_command(line));
            let is_subcommand = || Self::command().find_subcommand(first).is_some();
            uci::is_command(first) && (has_lines || !is_subcommand())
        })
    }

    /// Parses the arguments of this process; exits with a message if they are invalid.
    pub fn from_process() -> Self {
        let mut definitions = Self::definitions();
        let matches = definitions.try_get_matches_from_mut(std::env::args_os());
        let matches = matches.unwrap_or_else(|help_or_error| {
            let printed = help_or_error.print().and_then(|()| io::stdout().flush());
            let to_stdout = !help_or_error.use_stderr();
            std::process::exit(match printed {
                Err(error) if to_stdout && error.kind() != io::ErrorKind::BrokenPipe => {
                    let _ = writeln!(io::stderr(), "error: cannot write to stdout: {error}");
                    1
                }
                _ => help_or_error.exit_code(),
            })
        });
        clap::FromArgMatches::from_arg_matches(&matches)
            .unwrap_or_else(|error| error.format(&mut definitions).exit())
    }

    /// Writes the completions for a shell.
    pub fn write_completions(shell: Shell, out: &mut impl Write) -> io::Result<()> {
        // The generator panics when it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut Self::command(), "knightwatch", &mut text);
        out.write_all(&text)
    }

    /// Writes the manual page, or the pages of all commands to a directory.
    pub fn write_manual(directory: Option<&Path>, out: &mut impl Write) -> io::Result<()> {
        match directory {
            None => clap_mangen::Man::new(Self::command()).render(out),
            Some(directory) => clap_mangen::generate_to(Self::command(), directory),
        }
    }
}

/// The list of commands below the first `headings` headings.
fn command_list(definitions: &clap::Command, headings: usize, width: usize) -> String {
    const INDENT: usize = 15;
    let is_named = |name: &str| {
        let mut named = HEADINGS.iter().filter_map(|(_, names)| *names);
        named.any(|names| names.contains(&name))
    };
    let find = |name: &&str| definitions.find_subcommand(name);
    let line = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string);
        let about = wrapped(&about.unwrap_or_default(), width.saturating_sub(INDENT));
        let about = about.join(&format!("\n{:INDENT$}", ""));
        format!("  {:<w$}{about}\n", command.get_name(), w = INDENT - 2)
    };
    let mut text = String::new();
    for (heading, names) in &HEADINGS[..headings] {
        let commands: Vec<&clap::Command> = match names {
            Some(names) => names.iter().filter_map(find).collect(),
            None => {
                let all = definitions.get_subcommands();
                all.filter(|command| !command.is_hide_set() && !is_named(command.get_name()))
                    .collect()
            }
        };
        text += &format!("\n{heading}:\n");
        text.extend(commands.into_iter().map(line));
    }
    text.trim().to_owned()
}

/// Wraps the text to this width; longer words are not broken.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
