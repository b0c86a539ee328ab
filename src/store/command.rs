//! `knightwatch games` and `knightwatch export`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::pgn::{Details, pgn_of};
use super::{By, Decided, Error, Filter, Game, Page, Rating, Reader, Score};
use crate::atomic_file;
use crate::events::Player;
use crate::plural;

/// The longest name that is shown, in characters; Lichess allows 30.
const NAME: usize = 30;

/// How many decisions are looked at for the latest challenge to us: others are about challenges of ours.
const LOOKED_AT: u32 = 1_000;

/// Why a command about records failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There are none.
    #[error("there are no records at {}: knightwatch run makes them; see [records] in config.example.toml", .0.display())]
    Missing(PathBuf),
    /// They cannot be read.
    #[error("cannot read the records at {}: {error}", file.display())]
    Records {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: Error,
    },
    /// No account of ours with this name has played.
    #[error("the records have no game of {account}; {}", others(known))]
    NoAccount {
        /// The name.
        account: String,
        /// Who has.
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
    #[error("there is no challenge to us among the latest {LOOKED_AT} decisions of the records")]
    NoChallenge,
    /// The games cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Unwritable {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Nothing can be printed.
    #[error("cannot print")]
    Output(#[from] io::Error),
}

/// What `knightwatch games` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The games themselves, at most so many.
    List(u32),
    /// What they came to, in groups.
    By(By),
    /// Who is hard to beat, of those that we have played this often.
    Nemeses(u64),
    /// Our ratings.
    Ratings,
}

/// What `knightwatch games` is to do.
#[derive(Clone, Debug)]
pub struct GamesOptions {
    /// The records.
    pub file: PathBuf,
    /// Accounts that may be asked for though they have not played yet.
    pub accounts: Vec<String>,
    /// Which games.
    pub filter: Filter,
    /// What of them.
    pub view: View,
    /// As JSON, one object in each line.
    pub json: bool,
    /// What is printed is read on a terminal.
    pub terminal: bool,
}

/// Prints games, or what they came to.
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
    known_account(&reader, file, accounts, filter)?;
    let unread = |error| unread(file, error);
    match *view {
        View::List(most) => {
            let games = reader.games(filter, Page::first(most)).map_err(unread)?;
            if let (Some(newest), false, true) = (games.first(), *json, *terminal) {
                writeln!(out, "{}", header(newest))?;
            }
            for game in &games {
                match json {
                    true => writeln!(out, "{}", object(game))?,
                    false => writeln!(out, "{}", line(game))?,
                }
            }
            if !json {
                let count = reader.count(filter).map_err(unread)?;
                let score = reader.score(filter).map_err(unread)?;
                let shown = games.len();
                let of = if shown as u64 == count {
                    String::new()
                } else {
                    format!("{shown} of ")
                };
                let games = plural::count(count, "game", "games");
                writeln!(out, "{of}{games}: {}", summary(&score))?;
            }
        }
        View::By(by) => {
            let scores = reader.scores(filter, by).map_err(unread)?;
            groups(&scores, *json, out)?;
            none("no games to group", scores.is_empty() && !json, out)?;
        }
        View::Nemeses(least) => {
            let nemeses = reader.nemeses(filter, least).map_err(unread)?;
            groups(&nemeses, *json, out)?;
            let words = format!(
                "no nemeses: nobody has taken more points from us than the ratings foretell, in {least} games or more"
            );
            none(&words, nemeses.is_empty() && !json, out)?;
        }
        View::Ratings => {
            let ratings = reader.ratings(filter).map_err(unread)?;
            none(
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
                        writeln!(out, "{:<NAME$}  {}", rating.account, standing(rating))?;
                    }
                    false => writeln!(out, "{}", standing(rating))?,
                }
            }
        }
    }
    Ok(())
}

/// The latest challenge to us that was decided, in the records.
///
/// # Errors
/// When they cannot be read, or have none.
pub fn last_challenge(file: &Path, account: Option<&str>) -> Result<Decided, CommandError> {
    let reader = open(file)?;
    let unread = |error| unread(file, error);
    let ours = reader.accounts().map_err(unread)?;
    let is_it = |decided: &Decided| {
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
    let latest = reader.decisions(Page::first(LOOKED_AT)).map_err(unread)?;
    let found = latest.into_iter().find(is_it);
    found.ok_or(CommandError::NoChallenge)
}

/// What `knightwatch export` is to do.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The records.
    pub file: PathBuf,
    /// Accounts that may be asked for though they have not played yet.
    pub accounts: Vec<String>,
    /// These games; without any, those of the filter.
    pub ids: Vec<String>,
    /// Which games.
    pub filter: Filter,
    /// What is said about the moves.
    pub details: Details,
    /// Where to; without it, as any other output.
    pub output: Option<PathBuf>,
}

/// Writes games as PGN, the first one first.
///
/// # Errors
/// When the records cannot be read, a game is not among them, or nothing can be written.
pub fn export_command(options: &ExportOptions, out: &mut impl Write) -> Result<(), CommandError> {
    let reader = open(&options.file)?;
    let Some(path) = &options.output else {
        let mut out = BufWriter::new(out);
        export(options, &reader, &mut out)?;
        return Ok(out.flush()?);
    };
    let written = atomic_file::write_with(path, |file| export(options, &reader, file));
    let count = written.map_err(|error| match error {
        CommandError::Output(error) => CommandError::Unwritable {
            path: path.clone(),
            error,
        },
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
    known_account(reader, &options.file, &options.accounts, &options.filter)?;
    let unread = |error| unread(&options.file, error);
    let ids = match options.ids.is_empty() {
        true => reader.ids(&options.filter).map_err(unread)?,
        false => options.ids.clone(),
    };
    if ids.is_empty() {
        return Err(CommandError::NoGames);
    }
    for (number, id) in ids.iter().enumerate() {
        let record = reader.record(id).map_err(unread)?;
        let record = record.filter(|record| record.game.plies > 0);
        let record = record.ok_or_else(|| CommandError::NoGame(id.clone()))?;
        let gap = if number > 0 { "\n" } else { "" };
        let text = pgn_of(&record, reader.server(), options.details);
        write!(out, "{gap}{text}")?;
    }
    Ok(ids.len())
}

fn open(file: &Path) -> Result<Reader, CommandError> {
    Reader::open(file).map_err(|error| unread(file, error))
}

/// A name that was mistyped finds no games; that is no answer.
fn known_account(
    reader: &Reader,
    file: &Path,
    accounts: &[String],
    filter: &Filter,
) -> Result<(), CommandError> {
    let Some(account) = &filter.account else {
        return Ok(());
    };
    let is_among = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(account));
    let known = reader.accounts().map_err(|error| unread(file, error))?;
    match is_among(&known) || is_among(accounts) {
        true => Ok(()),
        false => Err(CommandError::NoAccount {
            account: account.clone(),
            known,
        }),
    }
}

fn others(known: &[String]) -> String {
    match known {
        [] => "they are empty".to_owned(),
        known => format!("they have games of {}", known.join(", ")),
    }
}

fn unread(file: &Path, error: Error) -> CommandError {
    match error {
        Error::Missing(file) => CommandError::Missing(file),
        error => CommandError::Records {
            file: file.to_owned(),
            error,
        },
    }
}

/// Says that there are none, where there are none.
fn none(words: &str, empty: bool, out: &mut impl Write) -> io::Result<()> {
    match empty {
        true => writeln!(out, "{words}"),
        false => Ok(()),
    }
}

/// What stands above the lines of games, with the time zone of the newest.
fn header(newest: &Game) -> String {
    let began = format!("began ({})", super::local(newest.started).strftime("%Z"));
    format!(
        "{began:<16}  {:<8}  {:<5}  {:<5}  {:<7}  {:<9}  {:<10}  game, opponent",
        "id", "color", "we", "result", "length", "end"
    )
}

/// A game in a line.
fn line(game: &Game) -> String {
    let rated = if game.rated { "rated" } else { "casual" };
    let kind = match game.variant.as_str() {
        "standard" => String::new(),
        other => format!(" {}", plain(other)),
    };
    format!(
        "{}  {:<8}  {}  {:<5}  {:<7}  {:>3} moves  {:<10}  {rated} {} {}{kind}, {}",
        moment(game.started),
        plain(&game.id),
        game.color.key(),
        game.outcome.key(),
        game.result.as_deref().unwrap_or("*"),
        game.plies.div_ceil(2),
        plain(game.status.as_deref().unwrap_or("-")),
        plain(&game.speed),
        game.time_control,
        full_name(&game.opponent),
    )
}

/// The same for programs, with all that is known.
fn object(game: &Game) -> serde_json::Value {
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
        "status": game.status,
        "result": game.result,
        "outcome": game.outcome.key(),
        "plies": game.plies,
        "left_ms": game.left.map(|left| left.as_millis() as u64),
        "round_trip_us": game.round_trip.map(|trip| trip.as_micros() as u64),
    })
}

fn groups(
    groups: &[(String, Score)],
    json: bool,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let width = groups
        .iter()
        .map(|(name, _)| plain(name).chars().count())
        .max()
        .unwrap_or(0);
    for (name, score) in groups {
        if json {
            writeln!(out, "{}", json!({"name": name, "score": score}))?;
            continue;
        }
        let name = plain(name);
        writeln!(
            out,
            "{name:<width$}  {:>12}: {}",
            plural::count(score.games(), "game", "games"),
            summary(score)
        )?;
    }
    Ok(())
}

/// `7 won, 2 drawn, 1 lost: 80.0 %, 1.3 points more than the ratings foretell`
fn summary(score: &Score) -> String {
    let Score {
        won, drawn, lost, ..
    } = score;
    let counts = format!("{won} won, {drawn} drawn, {lost} lost");
    let Some(share) = score.share() else {
        return counts;
    };
    let surplus = score.surplus();
    let than = if surplus < 0.0 { "less" } else { "more" };
    format!(
        "{counts}: {:.1} %, {:.1} points {than} than the ratings foretell",
        share * 100.0,
        surplus.abs()
    )
}

/// `blitz  2134 (+23 in 30 days); the last 100 games were worth 2150 ± 62`
fn standing(rating: &Rating) -> String {
    let uncertain = if rating.provisional { "?" } else { "" };
    let worth = match rating.performance {
        Some(performance) => format!(
            "; the last {} against rated opponents were worth {:.0} ± {:.0}",
            performance.games, performance.rating, performance.error
        ),
        None => String::new(),
    };
    format!(
        "{:<14}  {}{uncertain} ({:+} in 30 days){worth}",
        plain(&rating.kind),
        rating.rating,
        rating.change
    )
}

fn full_name(player: &Player) -> String {
    let title = player
        .title
        .as_deref()
        .map(|title| format!("{} ", plain(title)));
    let rating = player.rating.map(|rating| {
        let uncertain = if player.provisional { "?" } else { "" };
        format!(" ({rating}{uncertain})")
    });
    let (title, rating) = (title.unwrap_or_default(), rating.unwrap_or_default());
    format!("{title}{}{rating}", plain(&player.name))
}

fn moment(millis: i64) -> String {
    super::local(millis).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A text of others: short, and without anything that a terminal would obey.
fn plain(text: &str) -> String {
    let text: String = text.chars().take(NAME).collect();
    text.escape_debug().to_string()
}
