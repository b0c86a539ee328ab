//! `knightwatch games` and `knightwatch export`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use tracing::warn;

use super::pgn::{Details, pgn_and_plies};
use super::reader::{is_bad_value, warn_of_bad_row};
use super::{ChallengeDecision, Error, Filter, Game, GroupBy, Page, Rating, Reader, WinDrawLoss};
use crate::atomic_file;
use crate::events::{Player, TimeControl};
use crate::file_error::FileError;
use crate::plural;

/// Upper limit of a displayed name, in characters; Lichess allows 30.
const MAX_NAME_CHARS: usize = 30;

/// How many decisions are searched for the latest incoming challenge: others are about outgoing ones.
const MAX_DECISIONS: u32 = 1_000;

/// Errors of the commands that read records.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no records file.
    #[error("there are no records at {}: knightwatch run creates them; see [records] in config.example.toml", .0.display())]
    Missing(PathBuf),
    /// The file is damaged.
    #[error(
        "the records at {} are damaged: {error}; `sqlite3 {} .recover` saves what can be read, and the bot begins a new file \
         when it is restarted",
        file.display(),
        file.display()
    )]
    Damaged { file: PathBuf, error: Error },
    /// The file cannot be read.
    #[error("cannot read the records at {}: {error}", file.display())]
    Records { file: PathBuf, error: Error },
    /// No account of ours with this name has played.
    #[error("the records have no game of {account}; {}", describe_accounts(known))]
    NoAccount {
        /// The name that was asked for.
        account: String,
        /// The accounts that have played.
        known: Vec<String>,
    },
    /// None of the games is meant.
    #[error(
        "nothing is exported: the records have no such game with moves; knightwatch games lists those that are there"
    )]
    NoGames,
    /// No game has this id.
    #[error("there is no game {0:?} with moves in the records")]
    NoGame(String),
    /// Nobody has challenged us.
    #[error(
        "there is no challenge to us among the latest {MAX_DECISIONS} decisions in the records"
    )]
    NoChallenge,
    /// The output file cannot be written.
    #[error(transparent)]
    Unwritable(FileError),
    /// The output cannot be printed.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

/// View of `knightwatch games`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A list of at most this many games.
    List(u32),
    /// Scores in groups.
    By(GroupBy),
    /// Opponents who outscored their rating against us, in at least this many games.
    Toughest(u64),
    /// Our ratings.
    Ratings,
}

/// Options of `knightwatch games`.
#[derive(Clone, Debug)]
pub struct GamesOptions {
    /// The records file.
    pub file: PathBuf,
    /// Accounts that may be named although they have not played yet.
    pub accounts: Vec<String>,
    /// Selects games.
    pub filter: Filter,
    /// View to print.
    pub view: View,
    /// JSON output, one object per line.
    pub json: bool,
    /// The output is a terminal.
    pub terminal: bool,
}

/// Prints games, or statistics of them.
///
/// # Errors
/// When the records cannot be read, or nothing can be printed.
pub fn games_command(options: &GamesOptions, out: &mut impl Write) -> Result<(), CommandError> {
    let GamesOptions {
        file,
        accounts,
        filter,
        view,
        json,
        terminal,
    } = options;
    let reader = open(file)?;
    check_account(&reader, file, accounts, filter)?;
    let read_error = |error| read_error(file, error);
    match *view {
        View::List(limit) => {
            let games = reader
                .games(filter, Page::first(limit))
                .map_err(read_error)?;
            if let (Some(newest), false, true) = (games.first(), *json, *terminal) {
                writeln!(out, "{}", header(newest))?;
            }
            for game in &games {
                match json {
                    true => writeln!(out, "{}", game_json(game))?,
                    false => writeln!(out, "{}", game_line(game))?,
                }
            }
            if !json {
                let count = reader.count(filter).map_err(read_error)?;
                let score = reader.score(filter).map_err(read_error)?;
                let shown = games.len();
                let of = if shown as u64 == count {
                    String::new()
                } else {
                    format!("{shown} of ")
                };
                let games = plural::count(count, "game", "games");
                writeln!(out, "{of}{games}: {}", score_summary(&score))?;
            }
        }
        View::By(by) => {
            let scores = reader.scores(filter, by).map_err(read_error)?;
            print_groups(&scores, *json, out)?;
            print_if("no games to group", scores.is_empty() && !json, out)?;
        }
        View::Toughest(min_games) => {
            let groups = reader
                .toughest_opponents(filter, min_games)
                .map_err(read_error)?;
            print_groups(&groups, *json, out)?;
            let words = format!(
                "no tough opponents: nobody has outscored their rating against us in {min_games} games or more"
            );
            print_if(&words, groups.is_empty() && !json, out)?;
        }
        View::Ratings => {
            let ratings = reader.ratings(filter).map_err(read_error)?;
            print_if(
                "no ratings: no rated games",
                ratings.is_empty() && !json,
                out,
            )?;
            let several = ratings
                .windows(2)
                .any(|two| two[0].account != two[1].account);
            for rating in &ratings {
                match json {
                    true => writeln!(out, "{}", json!(rating))?,
                    false if several => {
                        writeln!(
                            out,
                            "{:<MAX_NAME_CHARS$}  {}",
                            rating.account,
                            rating_line(rating)
                        )?;
                    }
                    false => writeln!(out, "{}", rating_line(rating))?,
                }
            }
        }
    }
    Ok(())
}

/// The latest incoming challenge in the records.
///
/// # Errors
/// When the records cannot be read, or have none.
pub fn last_challenge(
    file: &Path,
    account: Option<&str>,
) -> Result<ChallengeDecision, CommandError> {
    let reader = open(file)?;
    let read_error = |error| read_error(file, error);
    let ours = reader.known_accounts().map_err(read_error)?;
    let is_incoming = |decided: &ChallengeDecision| {
        let from_us = ours
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&decided.from.name));
        let from_account =
            account.is_some_and(|name| name.eq_ignore_ascii_case(&decided.from.name));
        let other = account.zip(decided.to.as_deref());
        !from_us
            && !from_account
            && !decided.challenge.is_empty()
            && other.is_none_or(|(wanted, to)| wanted.eq_ignore_ascii_case(to))
    };
    let latest = reader
        .decisions(Page::first(MAX_DECISIONS))
        .map_err(read_error)?;
    let found = latest.into_iter().find(is_incoming);
    found.ok_or(CommandError::NoChallenge)
}

/// Options of `knightwatch export`.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The records file.
    pub file: PathBuf,
    /// Accounts that may be named although they have not played yet.
    pub accounts: Vec<String>,
    /// Exports these games; if empty, those of the filter.
    pub ids: Vec<String>,
    /// Selects games.
    pub filter: Filter,
    /// Comments on the moves.
    pub details: Details,
    /// The output file; without it, standard output.
    pub output: Option<PathBuf>,
}

/// Writes games as PGN, the oldest first.
///
/// # Errors
/// When the records cannot be read, a game is unknown, or nothing can be written.
pub fn export_command(options: &ExportOptions, out: &mut impl Write) -> Result<(), CommandError> {
    let reader = open(&options.file)?;
    let Some(path) = &options.output else {
        let mut out = BufWriter::new(out);
        export(options, &reader, &mut out)?;
        return Ok(out.flush()?);
    };
    let written = atomic_file::check_not_input(path, &[&options.file])
        .map_err(CommandError::Output)
        .and_then(|()| atomic_file::write_with(path, |file| export(options, &reader, file)));
    let count = written.map_err(|error| match error {
        CommandError::Output(error) => CommandError::Unwritable(FileError::writing(path)(error)),
        other => other,
    })?;
    let games = plural::count(count, "game", "games");
    writeln!(out, "{}: {games}", path.display())?;
    Ok(())
}

fn export(
    options: &ExportOptions,
    reader: &Reader,
    out: &mut impl Write,
) -> Result<usize, CommandError> {
    check_account(reader, &options.file, &options.accounts, &options.filter)?;
    let read_error = |error| read_error(&options.file, error);
    let ids = match options.ids.is_empty() {
        true => reader.ids(&options.filter).map_err(read_error)?,
        false => options.ids.clone(),
    };
    if ids.is_empty() {
        return Err(CommandError::NoGames);
    }
    let mut written = 0;
    for id in &ids {
        let record = match reader.record(id) {
            Err(Error::Sql(error)) if is_bad_value(&error) && options.ids.is_empty() => {
                warn_of_bad_row(id, &error);
                continue;
            }
            record => record.map_err(read_error)?,
        };
        let record = record.filter(|record| record.game.plies > 0);
        let record = record.ok_or_else(|| CommandError::NoGame(id.clone()))?;
        let (text, readable) = pgn_and_plies(&record, reader.server(), options.details);
        let plies = record.game.plies;
        if u64::try_from(readable).is_ok_and(|readable| readable < u64::from(plies)) {
            warn!(
                "records: of the {plies} half-moves of game {id}, those after {readable} are missing or damaged"
            );
        }
        let gap = if written > 0 { "\n" } else { "" };
        written += 1;
        write!(out, "{gap}{text}")?;
    }
    Ok(written)
}

fn open(file: &Path) -> Result<Reader, CommandError> {
    Reader::open(file).map_err(|error| read_error(file, error))
}

/// Rejects an unknown account name, which would otherwise silently match no games.
fn check_account(
    reader: &Reader,
    file: &Path,
    accounts: &[String],
    filter: &Filter,
) -> Result<(), CommandError> {
    let Some(account) = &filter.account else {
        return Ok(());
    };
    let is_among = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(account));
    let known = reader.accounts().map_err(|error| read_error(file, error))?;
    match is_among(&known) || is_among(accounts) {
        true => Ok(()),
        false => Err(CommandError::NoAccount {
            account: account.clone(),
            known,
        }),
    }
}

fn describe_accounts(known: &[String]) -> String {
    match known {
        [] => "they are empty".to_owned(),
        known => format!("they have games of {}", known.join(", ")),
    }
}

fn read_error(file: &Path, error: Error) -> CommandError {
    match error {
        Error::Missing(file) => CommandError::Missing(file),
        error if error.is_damage() => CommandError::Damaged {
            file: file.to_owned(),
            error,
        },
        error => CommandError::Records {
            file: file.to_owned(),
            error,
        },
    }
}

/// Prints a text if there is nothing else to print.
fn print_if(words: &str, empty: bool, out: &mut impl Write) -> io::Result<()> {
    match empty {
        true => writeln!(out, "{words}"),
        false => Ok(()),
    }
}

/// The table header, with the time zone of the newest game.
fn header(newest: &Game) -> String {
    let began = match newest.started {
        Some(started) => format!("began ({})", super::local(started).strftime("%Z")),
        None => "began".to_owned(),
    };
    format!(
        "{began:<16}  {:<8}  {:<5}  {:<5}  {:<7}  {:<9}  {:<10}  game, opponent",
        "id", "color", "we", "result", "length", "end"
    )
}

/// A game as a table row.
fn game_line(game: &Game) -> String {
    let rated = if game.rated { "rated" } else { "casual" };
    let kind = match game.variant.as_str() {
        "standard" => String::new(),
        other => format!(" {}", escape(other)),
    };
    let time = match game.time_control {
        TimeControl::Unknown if game.speed == "unknown" => game.time_control.to_string(),
        known => format!("{} {known}", escape(&game.speed)),
    };
    format!(
        "{}  {:<8}  {}  {:<5}  {:<7}  {:>3} moves  {:<10}  {rated} {time}{kind}, {}",
        game.started
            .map_or_else(|| "????-??-?? ??:??".to_owned(), local_time),
        escape(&game.id),
        game.color.key(),
        game.outcome.key(),
        game.result.as_deref().unwrap_or("*"),
        game.plies.div_ceil(2),
        escape(game.status.as_deref().unwrap_or("-")),
        full_name(&game.opponent),
    )
}

/// A game as JSON.
fn game_json(game: &Game) -> serde_json::Value {
    let player = |player: &Player| {
        json!({
            "name": player.name,
            "title": player.title,
            "rating": player.rating,
            "provisional": player.provisional,
        })
    };
    json!({
        "id": game.id,
        "started_ms": game.started,
        "finished_ms": game.finished,
        "color": game.color.key(),
        "account": player(&game.account),
        "opponent": player(&game.opponent),
        "speed": game.speed,
        "time_control": game.time_control.to_string(),
        "variant": game.variant,
        "rated": game.rated,
        "initial_fen": game.initial_fen,
        "tournament": game.tournament,
        "engine": game.engine,
        "status": game.status,
        "result": game.result,
        "outcome": game.outcome.key(),
        "plies": game.plies,
        "final_clock_ms": game.final_clock.map(|clock| clock.as_millis() as u64),
        "round_trip_us": game.round_trip.map(|trip| trip.as_micros() as u64),
    })
}

fn print_groups(
    groups: &[(String, WinDrawLoss)],
    json: bool,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let width = groups
        .iter()
        .map(|(name, _)| escape(name).chars().count())
        .max()
        .unwrap_or(0);
    for (name, score) in groups {
        if json {
            writeln!(out, "{}", json!({"name": name, "score": score}))?;
            continue;
        }
        let name = escape(name);
        writeln!(
            out,
            "{name:<width$}  {:>12}: {}",
            plural::count(score.games(), "game", "games"),
            score_summary(score)
        )?;
    }
    Ok(())
}

/// `7 won, 2 drawn, 1 lost: 80.0 %, 1.3 points above expectation`
fn score_summary(score: &WinDrawLoss) -> String {
    let WinDrawLoss {
        won, drawn, lost, ..
    } = score;
    let counts = format!("{won} won, {drawn} drawn, {lost} lost");
    let Some(share) = score.share() else {
        return counts;
    };
    let surplus = score.surplus();
    let direction = if surplus < 0.0 { "below" } else { "above" };
    format!(
        "{counts}: {:.1} %, {:.1} points {direction} expectation",
        share * 100.0,
        surplus.abs()
    )
}

/// `blitz  2134 (+23 in 30 days); performance 2150 ± 62 in the last 100 games against rated opponents`
fn rating_line(rating: &Rating) -> String {
    let uncertain = if rating.provisional { "?" } else { "" };
    let worth = match rating.performance {
        Some(performance) => format!(
            "; performance {:.0} ± {:.0} in the last {} against rated opponents",
            performance.rating, performance.error, performance.games
        ),
        None => String::new(),
    };
    format!(
        "{:<14}  {}{uncertain} ({:+} in 30 days){worth}",
        escape(&rating.kind),
        rating.rating,
        rating.change
    )
}

fn full_name(player: &Player) -> String {
    let title = player
        .title
        .as_deref()
        .map(|title| format!("{} ", escape(title)));
    let rating = player.rating.map(|rating| {
        let uncertain = if player.provisional { "?" } else { "" };
        format!(" ({rating}{uncertain})")
    });
    let (title, rating) = (title.unwrap_or_default(), rating.unwrap_or_default());
    format!("{title}{}{rating}", escape(&player.name))
}

fn local_time(millis: i64) -> String {
    super::local(millis).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Shortens and escapes text from others for the terminal.
fn escape(text: &str) -> String {
    let text: String = text.chars().take(MAX_NAME_CHARS).collect();
    text.escape_debug().to_string()
}
