//! Games that were played, out of the records: lists, statistics, and single games.
//!
//! SQLite is asked on threads that may wait; each question has its own connection, as each page has its own questions.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State as Shared};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::House;
use super::state::Lately;
use super::table::Table;
use super::wire::{Arena, Challenge, Ending, GAME_ROOM, Line, Note, Player};
use crate::events::{self, ArenaStage, Color, GameStarted, Score, Severity, Source};
use crate::store::{
    self, ArenaResult, ChallengeDecision, Details, Filter, MoveRecord, Order, Outcome, Reader,
    Record, Sort, pgn_of, utc_day_start,
};

/// Games in a list where nobody says how many, and the most.
const LISTED: u32 = 50;
const MOST_LISTED: u32 = 500;

/// Downloads of games as PGN at once; each holds a thread and the file.
const DOWNLOADS: usize = 4;

/// A piece of such a download is sent once it has so many bytes, and so many pieces are made before they are taken.
const PIECE: usize = 64 * 1024;
const PIECES: usize = 4;

/// Groups of a kind in statistics: those with the most games.
const GROUPS: usize = 100;

/// Decisions and notes of before the start.
const LATELY: u32 = 50;

/// A day, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The question makes no sense.
    #[error("{0}")]
    Wrong(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(&'static str),
    /// A server beside us says this.
    #[error("{1}")]
    Passed(StatusCode, String),
    /// Too many of these are under way.
    #[error("{0}")]
    Busy(&'static str),
    /// The records cannot be read.
    #[error("the records cannot be read: {0}")]
    Unreadable(#[from] store::Error),
    /// A thread is gone.
    #[error("the question was not answered")]
    Lost,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = match &self {
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Passed(code, _) => *code,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreadable(_) | Self::Lost => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let error = self.to_string();
        (code, Json(BTreeMap::from([("error", error)]))).into_response()
    }
}

/// The records, if there are any. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Records {
    file: Option<Arc<Path>>,
    downloads: Arc<Semaphore>,
}

impl Records {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self {
            file: file.map(Into::into),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
        }
    }

    /// Whether they are kept.
    pub fn are_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Asks a question where nobody else waits for it.
    pub async fn ask<T, F>(&self, question: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, Refusal> + Send + 'static,
    {
        self.consume(move |reader| question(&reader)).await
    }

    /// The same for a question that keeps the reader.
    async fn consume<T, F>(&self, question: F) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: FnOnce(Reader) -> Result<T, Refusal> + Send + 'static,
    {
        let file = self.file.clone();
        let file = file.ok_or(Refusal::Missing("no records are kept here"))?;
        let asked = spawn_blocking(move || question(Reader::open(&file)?));
        asked.await.map_err(|_| Refusal::Lost)?
    }

    /// The games that are meant as PGN, the first one first, in pieces that are made while they are taken.
    async fn pgn(
        &self,
        filter: Filter,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + use<>, Refusal> {
        let busy = "games are downloaded in several places already: try again when one is done";
        let turn = Arc::clone(&self.downloads).try_acquire_owned();
        let turn = turn.map_err(|_| Refusal::Busy(busy))?;
        // What is wrong with the file is found out before anything is sent.
        let found = self.consume(move |reader| Ok((reader.ids(&filter)?, reader)));
        let (ids, reader) = found.await?;
        let (pieces, taken) = mpsc::channel(PIECES);
        spawn_blocking(move || {
            write_games(&reader, &ids, &pieces);
            drop(turn);
        });
        Ok(stream::unfold(taken, |mut taken| async {
            let piece = taken.recv().await?;
            Some((piece, taken))
        }))
    }

    /// The last decisions about challenges, the last notes and the last tournaments.
    pub async fn lately(&self) -> Result<Lately, Refusal> {
        self.ask(|reader| {
            let page = store::Page::first(LATELY);
            let decisions = reader.decisions(page)?.into_iter();
            let incidents = reader.notes(page)?.into_iter();
            let tournaments = reader.tournaments(page)?;
            let several = tournaments
                .iter()
                .any(|one| one.account != tournaments[0].account);
            let arenas = tournaments.into_iter().map(|one| attended(one, several));
            Ok(Lately {
                challenges: decisions.map(Challenge::from).collect(),
                log: incidents.map(Note::from).collect(),
                arenas: arenas.collect(),
            })
        })
        .await
    }

    /// A game, followed to its end.
    pub async fn game(&self, id: String) -> Result<Table, Refusal> {
        self.ask(move |reader| {
            let record = reader.record(&id)?;
            let record = record.ok_or(Refusal::Missing("there is no such game"))?;
            Ok(replayed(&record, reader.server()))
        })
        .await
    }
}

/// Writes games as PGN in pieces, until they are not taken any more.
fn write_games(reader: &Reader, ids: &[String], pieces: &mpsc::Sender<io::Result<Bytes>>) {
    let mut text = String::new();
    let mut first = true;
    for id in ids {
        let record = match reader.record(id) {
            Ok(Some(record)) if record.game.plies > 0 => record,
            // It was taken back to its start, or is gone.
            Ok(_) => continue,
            // The connection breaks off, so that half a file is not taken for a whole one.
            Err(error) => return drop(pieces.blocking_send(Err(io::Error::other(error)))),
        };
        if !std::mem::take(&mut first) {
            text.push('\n');
        }
        text += &pgn_of(&record, reader.server(), Details::ALL);
        if text.len() >= PIECE {
            let piece = Bytes::from(std::mem::take(&mut text));
            if pieces.blocking_send(Ok(piece)).is_err() {
                return;
            }
        }
    }
    // Who has gone away meanwhile misses nothing.
    let _ = pieces.blocking_send(Ok(text.into()));
}

/// What a page asks for; an empty text is as good as none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Question {
    account: String,
    opponent: String,
    result: String,
    speed: String,
    color: String,
    rated: String,
    variant: String,
    tournament: String,
    since: String,
    until: String,
    text: String,
    sort: String,
    ascending: String,
    offset: String,
    limit: String,
}

impl Question {
    fn filter(&self) -> Result<Filter, Refusal> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Filter {
            account: text(&self.account),
            opponent: text(&self.opponent),
            search: text(&self.text),
            outcome: read("result", &self.result, str::parse::<Outcome>)?,
            color: read("color", &self.color, |text| match text {
                "white" => Ok(Color::White),
                "black" => Ok(Color::Black),
                _ => Err("expected white or black".to_owned()),
            })?,
            speed: text(&self.speed),
            variant: text(&self.variant),
            rated: read("rated", &self.rated, truth)?,
            tournament: text(&self.tournament),
            since: read("since", &self.since, |text| moment(text, 0))?,
            until: read("until", &self.until, |text| moment(text, DAY_MS))?,
        })
    }

    fn order(&self) -> Result<Order, Refusal> {
        let by = read("sort", &self.sort, str::parse::<Sort>)?;
        let ascending = read("ascending", &self.ascending, truth)?;
        Ok(Order {
            by: by.unwrap_or_default(),
            ascending: ascending.unwrap_or(false),
        })
    }

    fn page(&self) -> Result<store::Page, Refusal> {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| "expected a number from 0".to_owned())
        };
        let skip = read("offset", &self.offset, number)?;
        let most = read("limit", &self.limit, number)?;
        Ok(store::Page {
            offset: skip.unwrap_or(0),
            limit: most.unwrap_or(LISTED).min(MOST_LISTED),
        })
    }
}

/// A value, if there is a text for it.
fn read<T>(
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |why| Refusal::Wrong(format!("{name}={text}: {why}"));
    parse(text).map(Some).map_err(wrong)
}

fn truth(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| "expected true or false".to_owned())
}

/// Milliseconds since 1970, or a day, of which this comes on top.
fn moment(text: &str, beyond: i64) -> Result<i64, String> {
    match text.parse() {
        Ok(millis) => Ok(millis),
        Err(_) => Ok(utc_day_start(text)?.saturating_add(beyond)),
    }
}

/// A list of games.
#[derive(Serialize)]
pub(super) struct Listed {
    total: u64,
    games: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    started: i64,
    white: Player,
    black: Player,
    ours: &'static str,
    result: &'static str,
    score: Option<String>,
    speed: String,
    time_control: String,
    rated: bool,
    variant: String,
    tournament: Option<String>,
    plies: u32,
    status: Option<String>,
    /// How it ended, in a word or two.
    end: Option<String>,
    /// Its first moves as people write them.
    opening: Option<String>,
    /// What it has changed of our rating, where that is known.
    rating_change: Option<i64>,
}

impl Row {
    fn of(game: store::Game, rating_change: Option<i64>) -> Self {
        let end = game.status.as_ref().map(|status| ending(&game, status));
        Self {
            end: end.map(|end| end.reason(None)),
            opening: game.first_moves(),
            rating_change,
            white: game.player(Color::White).into(),
            black: game.player(Color::Black).into(),
            id: game.id,
            started: game.started,
            ours: game.color.key(),
            result: game.outcome.key(),
            score: game.result,
            speed: game.speed,
            time_control: game.time_control.to_string(),
            rated: game.rated,
            variant: game.variant,
            tournament: game.tournament,
            plies: game.plies,
            status: game.status,
        }
    }
}

/// The games that a question means, the latest first.
pub(super) async fn games(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Json<Listed>, Refusal> {
    let (filter, order, page) = (question.filter()?, question.order()?, question.page()?);
    let listed = house.records.ask(move |reader| {
        let games = reader.games_in_order(order, &filter, page)?.into_iter();
        let row = |game| {
            let change = reader.rating_change(&game)?;
            Ok(Row::of(game, change))
        };
        Ok(Listed {
            total: reader.count(&filter)?,
            games: games.map(row).collect::<Result<_, store::Error>>()?,
        })
    });
    listed.await.map(Json)
}

/// The games that a question means, as a PGN file.
pub(super) async fn download(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Response, Refusal> {
    let pgn = house.records.pgn(question.filter()?).await?;
    let kind = [
        (CONTENT_TYPE, "application/x-chess-pgn"),
        (
            CONTENT_DISPOSITION,
            "attachment; filename=\"knightwatch.pgn\"",
        ),
    ];
    Ok((kind, Body::from_stream(pgn)).into_response())
}

/// What games came to.
#[derive(Serialize)]
pub(super) struct Stats {
    by_opponent: Vec<Group>,
    by_speed: Vec<Group>,
    by_color: Vec<Group>,
    by_opening: Vec<Group>,
    by_tournament: Vec<Group>,
    ratings: BTreeMap<String, Vec<(i64, u32)>>,
    timing: Vec<Timing>,
}

/// The games of one speed by the clock.
#[derive(Serialize)]
struct Timing {
    speed: String,
    games: usize,
    flagged: usize,
    left_ms: Option<u64>,
    round_trip_ms: Option<u64>,
}

impl From<store::Timing> for Timing {
    fn from(timing: store::Timing) -> Self {
        let millis = |time: Duration| time.as_millis() as u64;
        Self {
            speed: timing.speed,
            games: timing.games,
            flagged: timing.flagged,
            left_ms: timing.final_clock.map(millis),
            round_trip_ms: timing.round_trip.map(millis),
        }
    }
}

#[derive(Serialize)]
struct Group {
    name: String,
    won: u64,
    drawn: u64,
    lost: u64,
    points: f64,
    expected: f64,
}

fn group((name, score): (String, store::Score)) -> Group {
    Group {
        name,
        won: score.won,
        drawn: score.drawn,
        lost: score.lost,
        points: score.points(),
        expected: (score.expected * 100.0).round() / 100.0,
    }
}

/// Results by opponent, speed, colour, opening and tournament, our ratings over time, and how it went by the clock.
pub(super) async fn stats(
    Shared(house): Shared<House>,
    Query(question): Query<Question>,
) -> Result<Json<Stats>, Refusal> {
    let filter = question.filter()?;
    // Each is a pass over all games: side by side they take no longer than one.
    let (rated, timed) = (filter.clone(), filter.clone());
    let (overview, ratings, timings) = tokio::try_join!(
        house
            .records
            .ask(move |reader| Ok(reader.overview(&filter)?)),
        house
            .records
            .ask(move |reader| Ok(reader.rating_histories(&rated)?)),
        house.records.ask(move |reader| Ok(reader.timings(&timed)?)),
    )?;
    let groups = |scores: Vec<_>| scores.into_iter().take(GROUPS).map(group).collect();
    Ok(Json(Stats {
        by_opponent: groups(overview.opponent),
        by_speed: groups(overview.speed),
        by_color: groups(overview.color),
        by_opening: groups(overview.opening),
        by_tournament: groups(overview.tournament),
        ratings,
        timing: timings.into_iter().map(Timing::from).collect(),
    }))
}

/// A game of the records as the page shows it, move by move.
fn replayed(record: &Record, server: &str) -> Table {
    let game = &record.game;
    let start = GameStarted {
        game: game.id.clone(),
        white: game.player(Color::White).clone(),
        black: game.player(Color::Black).clone(),
        our_color: game.color,
        speed: game.speed.clone(),
        time_control: game.time_control,
        rated: game.rated,
        variant: game.variant.clone(),
        initial_fen: game.initial_fen.clone(),
        tournament: game.tournament.clone(),
        plies: 0,
    };
    let mut table = Table::new(&start, server, game.started.unsigned_abs());
    let clocks = &table.shown.clocks;
    let mut left = [clocks.white_ms, clocks.black_ms];
    for played in &record.moves {
        let mover = table.position().turn().index();
        left[mover] = played.clock_ms.map(|clock| clock.max(0).unsigned_abs());
        if !table.play(&played.uci, (left[0], left[1])) {
            break;
        }
        table.add_thought(report(played).as_ref());
    }
    for incident in &record.notes {
        recount(&mut table, incident);
    }
    let outcome = match game.outcome {
        Outcome::Won => "won",
        Outcome::Drawn => "drawn",
        Outcome::Lost => "lost",
        Outcome::Void => "unknown",
        Outcome::Open => {
            // How long its clock has run is not written down.
            table.shown.clocks.running = None;
            return table;
        }
    };
    let status = game.status.clone().unwrap_or_default();
    let end = ending(game, &status);
    let text = end.reason(Some(table.board()));
    table.close(Ending {
        outcome,
        score: end.result,
        status,
        text,
    });
    table
}

/// The end of a game of the records, with the server's word for it.
fn ending(game: &store::Game, status: &str) -> events::GameFinished {
    let score = game.result.clone().unwrap_or_else(|| "*".to_owned());
    events::GameFinished {
        game: game.id.clone(),
        winner: match score.as_str() {
            "1-0" => Some(Color::White),
            "0-1" => Some(Color::Black),
            _ => None,
        },
        status: status.to_owned(),
        result: score,
        plies: game.plies,
        moves: String::new(),
    }
}

/// What was thought of a move of ours.
fn report(played: &MoveRecord) -> Option<events::Report> {
    let micros = |micros: i64| Duration::from_micros(micros.max(0).unsigned_abs());
    let line = played.pv.as_deref().unwrap_or_default();
    Some(events::Report {
        source: match played.source.as_deref()? {
            "book" => Source::Book,
            "only" => Source::Only,
            _ => Source::Search,
        },
        score: match (played.cp, played.mate) {
            (_, Some(moves)) => Some(Score::Mate(moves)),
            (cp, None) => cp.map(Score::Centipawns),
        },
        depth: played.depth.unwrap_or(0),
        seldepth: played.seldepth.unwrap_or(0),
        nodes: played.nodes.unwrap_or(0).max(0).unsigned_abs(),
        hashfull: 0,
        ordering: None,
        elapsed: micros(played.search_us.unwrap_or(0)),
        pv: line.split_whitespace().map(str::to_owned).collect(),
    })
}

impl From<ChallengeDecision> for Challenge {
    fn from(decided: ChallengeDecision) -> Self {
        Self {
            at: decided.at.unsigned_abs(),
            id: decided.challenge,
            from: (&decided.from).into(),
            to: decided.to,
            time_control: decided.time_control.to_string(),
            variant: decided.variant,
            rated: decided.rated,
            decision: decided.decision,
            reason: decided.reason,
        }
    }
}

/// A tournament of which nothing but our games is known.
fn attended(attended: ArenaResult, several: bool) -> Arena {
    let [won, drawn, lost] = attended.score;
    Arena {
        name: attended.tournament.clone(),
        id: attended.tournament,
        account: several.then_some(attended.account),
        stage: ArenaStage::Over.key(),
        starts: Some(attended.since.unsigned_abs()),
        rank: None,
        players: 0,
        text: format!("our games: {won} won, {drawn} drawn, {lost} lost"),
    }
}

impl From<store::Note> for Note {
    fn from(incident: store::Note) -> Self {
        let (severity, text) = match incident.kind.as_str() {
            "online" => (Severity::Info, format!("online as {}", incident.text)),
            "offline" => (Severity::Warning, format!("offline: {}", incident.text)),
            "warning" => (Severity::Warning, incident.text),
            "error" => (Severity::Error, incident.text),
            _ => (Severity::Info, incident.text),
        };
        Self {
            at: incident.at.unsigned_abs(),
            severity: severity.key(),
            game: None,
            ply: None,
            text,
        }
    }
}

/// What was said, offered and declined.
fn recount(table: &mut Table, incident: &store::Note) {
    let text = match incident.kind.as_str() {
        "chat" => return table.say(said(incident)),
        "draw-offer" => "offered a draw",
        "draw-declined" => "declined the draw",
        "takeback-asked" => "asked for a takeback",
        "takeback-declined" => "declined the takeback",
        _ => return,
    };
    let (by, drew_at) = match incident.text.as_str() {
        "white" => (&table.shown.white, &mut table.shown.drew_at.white),
        "black" => (&table.shown.black, &mut table.shown.drew_at.black),
        _ => return,
    };
    if incident.kind == "draw-offer" {
        *drew_at = incident.ply;
    }
    let line = Line {
        at: incident.at.unsigned_abs(),
        ply: incident.ply,
        room: GAME_ROOM.to_owned(),
        from: by.name.clone(),
        text: text.to_owned(),
    };
    table.say(line);
}

/// A line of chat as the records have it: `player Anna: hello`.
fn said(incident: &store::Note) -> Line {
    let (room, rest) = incident.text.split_once(' ').unwrap_or_default();
    let (from, text) = rest.split_once(": ").unwrap_or_default();
    Line {
        at: incident.at.unsigned_abs(),
        ply: incident.ply,
        room: room.to_owned(),
        from: from.to_owned(),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(pairs: &[(&str, &str)]) -> Question {
        let mut question = Question::default();
        for (name, value) in pairs {
            let value = (*value).to_owned();
            match *name {
                "opponent" => question.opponent = value,
                "result" => question.result = value,
                "color" => question.color = value,
                "rated" => question.rated = value,
                "since" => question.since = value,
                "until" => question.until = value,
                "text" => question.text = value,
                "offset" => question.offset = value,
                "limit" => question.limit = value,
                "sort" => question.sort = value,
                "ascending" => question.ascending = value,
                other => panic!("{other}"),
            }
        }
        question
    }

    #[test]
    fn questions_become_filters() {
        let all = question(&[("opponent", ""), ("rated", "")]);
        assert_eq!(all.filter().expect("a filter"), Filter::default());
        assert_eq!(all.page().expect("a page"), store::Page::first(LISTED));
        let some = question(&[
            ("result", "lost"),
            ("color", "black"),
            ("rated", "true"),
            ("since", "2026-05-24"),
            ("until", "2026-05-24"),
            ("text", "an"),
            ("offset", "100"),
            ("limit", "9999"),
        ]);
        let filter = some.filter().expect("a filter");
        assert_eq!(filter.outcome, Some(Outcome::Lost));
        assert_eq!(
            (filter.color, filter.rated),
            (Some(Color::Black), Some(true))
        );
        assert_eq!(filter.since.map(|at| at + DAY_MS), filter.until);
        assert_eq!(some.page().expect("a page").limit, MOST_LISTED);
        let millis = question(&[("since", "1779580800000")]);
        assert_eq!(millis.filter().expect("a filter").since, filter.since);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (name, value) in [
            ("result", "w"),
            ("color", "green"),
            ("rated", "yes"),
            ("since", "yesterday"),
        ] {
            let error = question(&[(name, value)]).filter().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}={value}: ")), "{error}");
        }
        assert!(question(&[("limit", "-1")]).page().is_err());
        let error = question(&[("sort", "luck")]).order().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("sort=luck: expected one of started, ")
        );
        assert!(question(&[("ascending", "up")]).order().is_err());
        let longest = question(&[("sort", "plies")]).order().expect("an order");
        assert_eq!((longest.by, longest.ascending), (Sort::Plies, false));
    }
}
