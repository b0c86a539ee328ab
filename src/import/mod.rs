//! `knightwatch import`: games from PGN and from Lichess's export, for the records.
//!
//! A game is known by its id on Lichess, or by a digest of its players, date and moves, so that importing it again changes
//! nothing. Each batch is one transaction: a process that is killed leaves intact records, and the next run adds the rest.

mod lichess;
mod pgn;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt;
use tokio::runtime::Runtime;

use crate::chess::{Color, Game, Move};
use crate::clock;
use crate::file_error::FileError;
use crate::lichess::Client;
use crate::lichess::model::{Username, clip};
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::store::{self, ImportedGame, Importer};
use crate::{input, plural};

/// Games in a transaction, which takes some ten milliseconds.
const BATCH: usize = 200;

/// Upper limit of messages about single games; the others are counted.
const MAX_MESSAGES: usize = 20;

/// Upper limit of a name, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Upper limit of moves in a game, in plies; the longest possible on Lichess has about 1200.
const MAX_PLIES: usize = 12_000;

/// Upper limit of the time between two bytes of the server's export. Lichess sends an empty line every 50 s.
const MAX_SILENCE: Duration = Duration::from_secs(110);

/// Errors of importing games.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The records cannot be written.
    #[error("cannot write the records at {}: {error}", path.display())]
    Records { path: PathBuf, error: store::Error },
    /// It is unknown whose games are meant.
    #[error(
        "whose games are meant? neither the configuration nor the records name an account: use --account NAME"
    )]
    NoAccount,
    /// The server does not export the games of an account.
    #[error("cannot fetch the games of {account}: {problem}")]
    Export {
        /// The account, or its address.
        account: String,
        /// The cause, and what to do.
        problem: String,
    },
    /// Games were read, and none is valid.
    #[error("none of the games is valid, so nothing was imported")]
    NothingValid,
    /// The output cannot be printed.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// Where the games come from.
#[derive(Debug)]
pub enum Source {
    /// PGN and NDJSON files; `-` is stdin.
    Files(Vec<PathBuf>),
    /// The server's export.
    Server(Server),
}

/// The server's export of the games of accounts.
#[derive(Debug)]
pub struct Server {
    /// Clients of our accounts. The first exports the games of [`Options::accounts`]; without those, each exports its own.
    pub clients: Vec<Client>,
    /// For the requests.
    pub runtime: Runtime,
}

/// Options of `import`.
#[derive(Debug)]
pub struct Options {
    /// Where the games come from.
    pub source: Source,
    /// The earliest start of a game, in milliseconds since 1970.
    pub since: Option<i64>,
    /// The records file.
    pub records: PathBuf,
    /// Base URL of the server.
    pub server: String,
    /// Our accounts; if empty, those in the records.
    pub accounts: Vec<String>,
}

/// A game that was read, or why it is not imported.
enum Read {
    Game(Box<ImportedGame>),
    /// Not imported, for a reason that holds for many games.
    Skipped(&'static str),
    /// Not valid, with the place in the file and the problem.
    Broken(String),
}

/// Imports games and prints a summary.
///
/// # Errors
/// When a file cannot be read, or the records cannot be written. What was imported before that stays.
pub fn import_command(
    options: &Options,
    out: &mut impl Write,
    diagnostics: &mut impl Write,
) -> Result<(), Error> {
    let records_error = |error| Error::Records {
        path: options.records.clone(),
        error,
    };
    if let Source::Files(files) = &options.source {
        // Nothing is imported, and no file is created, if it cannot end well.
        for file in files.iter().filter(|file| !is_stdin(file)) {
            open(file).map_err(FileError::reading(file))?;
        }
        if options.accounts.is_empty() && !options.records.exists() {
            return Err(Error::NoAccount);
        }
    }
    let importer = Importer::open(&options.records, &options.server).map_err(records_error)?;
    let recorded = importer.accounts().map_err(records_error)?;
    let spelled: BTreeSet<String> = recorded
        .iter()
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let exports = match &options.source {
        Source::Files(_) => Vec::new(),
        Source::Server(server) => server.accounts(&options.accounts)?,
    };
    let named = match exports.is_empty() {
        true => options.accounts.clone(),
        false => exports.iter().map(|(_, name)| name.to_string()).collect(),
    };
    let mut accounts = recorded;
    if !named.is_empty() {
        let wanted = |name: &str| named.iter().any(|one| one.eq_ignore_ascii_case(name));
        accounts.retain(|name| wanted(name));
        let new = named
            .iter()
            .filter(|name| !spelled.contains(&name.to_ascii_lowercase()));
        accounts.extend(new.cloned());
    }
    if accounts.is_empty() {
        return Err(Error::NoAccount);
    }
    let mut import = Import {
        importer,
        options,
        accounts,
        spelled,
        batch: Vec::new(),
        added: 0,
        known: 0,
        skipped: BTreeMap::new(),
        broken: 0,
        diagnostics,
    };
    let outcome = match &options.source {
        Source::Files(files) => files.iter().try_for_each(|file| import.file(file)),
        Source::Server(server) => exports
            .iter()
            .try_for_each(|(client, name)| import.export(server, client, name)),
    };
    let outcome = outcome.and_then(|()| import.flush());
    let printed = import.print_summary(out);
    let is_nothing_valid = import.broken > 0 && import.added + import.known == 0;
    match outcome {
        Ok(()) if is_nothing_valid => Err(Error::NothingValid),
        Ok(()) => Ok(printed?),
        failed => failed,
    }
}

impl Server {
    /// The accounts whose games are exported, each with the client to use.
    fn accounts(&self, named: &[String]) -> Result<Vec<(&Client, Username)>, Error> {
        let error = |account: &str, problem: String| Error::Export {
            account: account.to_owned(),
            problem,
        };
        if !named.is_empty() {
            let client = self.clients.first().ok_or(Error::NoAccount)?;
            let named = named.iter();
            return Ok(named.map(|name| (client, name.as_str().into())).collect());
        }
        let owner = |client| {
            let user = self.runtime.block_on(Client::account(client));
            let user = user.map_err(|problem| error("the token's owner", problem.to_string()))?;
            Ok((client, user.username))
        };
        self.clients.iter().map(owner).collect()
    }
}

struct Import<'a, W> {
    importer: Importer,
    options: &'a Options,
    accounts: Vec<String>,
    /// Accounts whose spelling is known, in lower case.
    spelled: BTreeSet<String>,
    /// Games to add.
    batch: Vec<ImportedGame>,
    added: usize,
    known: usize,
    /// Numbers of games by the reason why they are not imported.
    skipped: BTreeMap<&'static str, usize>,
    broken: usize,
    diagnostics: W,
}

impl<W: Write> Import<'_, W> {
    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let unreadable = &FileError::reading(path);
        let mut text: Box<dyn BufRead> = match is_stdin(path) {
            true => Box::new(BufReader::new(io::stdin())),
            false => Box::new(BufReader::new(open(path).map_err(unreadable)?)),
        };
        let start = text.fill_buf().map_err(unreadable)?;
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        let server = self.options.server.clone();
        let mut failed = None;
        let mut each = |game: Read| match self.game(game, &path.display()) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let read = match first {
            Some(b'{') => lichess::read(&mut text, &mut each),
            _ => pgn::read(&mut text, &server, &mut each),
        };
        match failed {
            Some(error) => Err(error),
            None => Ok(read.map_err(unreadable)?),
        }
    }

    /// Imports the games of an account that the server exports. A connection that breaks off is opened again, from the
    /// last game on.
    fn export(&mut self, server: &Server, client: &Client, name: &Username) -> Result<(), Error> {
        let mut since = self.options.since;
        let mut number = 0u64;
        let mut failures = 0;
        loop {
            let opening = client.export_games(name, since, MAX_SILENCE);
            let problem = match server.runtime.block_on(opening) {
                Ok(mut games) => loop {
                    let line = match server.runtime.block_on(games.next()) {
                        None => return Ok(()),
                        Some(Err(error)) => break error.into(),
                        Some(Ok(line)) => line,
                    };
                    failures = 0;
                    number += 1;
                    let game = lichess::parse(line.as_bytes());
                    if let Ok(Read::Game(game)) = &game {
                        since = since.max(game.started);
                    }
                    let broken = |problem| Read::Broken(format!("line {number}: {problem}"));
                    self.game(game.unwrap_or_else(broken), name)?;
                },
                Err(error) => error,
            };
            let Retry::After(wait) = retry::decide(RequestKind::Query, &problem, failures) else {
                self.flush()?;
                return Err(Error::Export {
                    account: name.to_string(),
                    problem: problem.to_string(),
                });
            };
            failures += 1;
            writeln!(
                self.diagnostics,
                "{name}: {problem}; the export goes on in {wait:.0?}"
            )?;
            server.runtime.block_on(clock::sleep(wait));
        }
    }

    fn game(&mut self, game: Read, place: &dyn Display) -> Result<(), Error> {
        match game {
            // None is less than any day.
            Read::Game(game) if game.started < self.options.since => {
                let reason = match game.started {
                    None => "without a date",
                    Some(_) => "from before --since",
                };
                *self.skipped.entry(reason).or_default() += 1;
            }
            Read::Game(mut game) => {
                let start = &mut game.start;
                start.our_color = if self.is_ours(&mut start.white.name) {
                    Color::White
                } else if self.is_ours(&mut start.black.name) {
                    Color::Black
                } else {
                    *self.skipped.entry("of other players").or_default() += 1;
                    return Ok(());
                };
                self.batch.push(*game);
                if self.batch.len() >= BATCH {
                    self.flush()?;
                }
            }
            Read::Skipped(reason) => *self.skipped.entry(reason).or_default() += 1,
            Read::Broken(problem) => {
                self.broken += 1;
                if self.broken <= MAX_MESSAGES {
                    let problem = clip(&problem, 300);
                    writeln!(self.diagnostics, "{place}: {problem}; it is skipped")?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether a player is one of our accounts, whose name is then spelled as in the first of its games.
    fn is_ours(&mut self, name: &mut String) -> bool {
        let mut accounts = self.accounts.iter_mut();
        let Some(account) = accounts.find(|account| account.eq_ignore_ascii_case(name)) else {
            return false;
        };
        let is_first = self.spelled.insert(account.to_ascii_lowercase());
        match is_first {
            true => account.clone_from(name),
            false => name.clone_from(account),
        }
        true
    }

    /// Adds the games of the batch.
    fn flush(&mut self) -> Result<(), Error> {
        let games = std::mem::take(&mut self.batch);
        let added = self.importer.add(&games).map_err(|error| Error::Records {
            path: self.options.records.clone(),
            error,
        })?;
        self.added += added;
        self.known += games.len() - added;
        Ok(())
    }

    fn print_summary(&self, out: &mut impl Write) -> io::Result<()> {
        let games = |count| plural::count(count, "game", "games");
        let names = self.accounts.join(", ");
        writeln!(
            out,
            "imported {} of {names}; {} already known",
            games(self.added),
            self.known
        )?;
        let mut skipped: Vec<String> = self
            .skipped
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        if self.broken > 0 {
            skipped.push(format!("{} not valid", self.broken));
        }
        if !skipped.is_empty() {
            let count = self.skipped.values().sum::<usize>() + self.broken;
            writeln!(out, "skipped {}: {}", games(count), skipped.join(", "))?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // `<(...)` of a shell and `/dev/stdin` are no regular files, for which there is `-`.
    input::open(path)
}

/// Returns whether a path means the standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The moves of a game in UCI, as the bot records them.
fn uci_moves(game: &Game) -> impl Iterator<Item = String> {
    let notation = game.initial().castling_notation();
    let text = move |mv: &Move| mv.uci(notation).to_string();
    game.moves().iter().map(text)
}

/// A name from elsewhere.
fn name(text: &str) -> String {
    clip(text, MAX_NAME_CHARS)
}
