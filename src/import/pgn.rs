//! Games from PGN.

use std::io::{self, BufRead};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ring::digest;

use super::{MAX_PLIES, Read, name, uci_moves};
use crate::chess::pgn::{Outcome, Problem, ReadError, Reader, Record, Tags};
use crate::chess::{Color, Game, Position, Termination, Variant};
use crate::events::{GameStarted, Player, TimeControl};
use crate::lichess::model::Speed;
use crate::lichess::model::address::{self, Page};
use crate::store::{ANNOTATOR, ImportedGame, ImportedMove, MADE_PREFIX, address_of};

/// Reads all games and passes them to `each` until it returns false.
pub(super) fn read(
    text: &mut dyn BufRead,
    server: &str,
    each: &mut dyn FnMut(Read) -> bool,
) -> io::Result<()> {
    let mut reader = Reader::new();
    let mut number = 0u64;
    let mut convert = |found: Result<Record, ReadError>| {
        number += 1;
        match found {
            Ok(record) => game(record, server, number),
            Err(ReadError {
                problem: Problem::Variant(_),
                ..
            }) => Read::Skipped("of variants that are not played"),
            Err(error) => Read::Broken(format!("game {number}, {error}")),
        }
    };
    loop {
        let chunk = text.fill_buf()?;
        if chunk.is_empty() {
            if let Some(last) = reader.finish() {
                each(convert(last));
            }
            return Ok(());
        }
        let length = chunk.len();
        let mut rest = chunk;
        while let Some(found) = reader.feed(&mut rest) {
            if !each(convert(found)) {
                return Ok(());
            }
        }
        text.consume(length);
    }
}

fn game(record: Record, server: &str, number: u64) -> Read {
    let tags = &record.tags;
    let tag = |name: &str| {
        tags.get(name)
            .filter(|value| !["", "?", "-"].contains(value))
    };
    if record.game.moves().len() > MAX_PLIES {
        return Read::Broken(format!("game {number}: more than {MAX_PLIES} plies"));
    }
    let is_aborted = tag("Termination") == Some("Abandoned");
    let (winner, result) = match record.outcome {
        Outcome::Win(color) => (Some(color), record.outcome.to_string()),
        Outcome::Draw => (None, record.outcome.to_string()),
        Outcome::Unknown if is_aborted => (None, "*".to_owned()),
        Outcome::Unknown => return Read::Skipped("without a result"),
    };
    if record.outcome != Outcome::Unknown
        && let Some(end) = contradicting_end(&record.game, winner)
    {
        return Read::Broken(format!(
            "game {number}: the moves end in {end}, but the result is {result}"
        ));
    }
    let initial = record.game.initial();
    let event = tag("Event").unwrap_or_default();
    let lower = event.to_lowercase();
    let last_word = event.split(' ').next_back().unwrap_or_default();
    let is_arena = address::after_host(last_word, Page::Arena).is_some();
    let time_control = time_control(tags.get("TimeControl"));
    let moves: Vec<String> = uci_moves(&record.game).collect();
    let started = started(tags);
    // Evaluations of others are not ours.
    let has_evals = tag("Annotator") == Some(ANNOTATOR);
    let comments = record.comments.iter().map(Some);
    let comments = comments.chain(std::iter::repeat(None));
    let start = GameStarted {
        game: id(tags, server, &moves),
        white: player(tags, Color::White),
        black: player(tags, Color::Black),
        our_color: Color::White,
        speed: speed(time_control, &lower).to_string(),
        time_control,
        rated: lower.split(' ').any(|word| word == "rated"),
        variant: variant(tag("Variant"), initial).to_owned(),
        initial_fen: (*initial != initial.variant().start()).then(|| initial.fen()),
        tournament: is_arena.then(|| name(address::id(last_word, Page::Arena))),
        engine: None,
        plies: moves.len() as u32 + 1,
    };
    let status = status(&record, is_aborted);
    let moves = moves.into_iter().zip(comments);
    let moves = moves.map(|(uci, comment)| ImportedMove {
        uci,
        clock: comment.and_then(|comment| i64::try_from(comment.clock?.as_millis()).ok()),
        eval: comment.and_then(|comment| comment.eval.filter(|_| has_evals)),
    });
    Read::Game(Box::new(ImportedGame {
        started,
        finished: started,
        site: tag("Site")
            .filter(|site| *site != address_of(&start.game, server))
            .map(name),
        start,
        moves: moves.collect(),
        status: status.to_owned(),
        winner,
        result,
    }))
}

/// The end of the game on the board, if it does not agree with the winner.
fn contradicting_end(game: &Game, winner: Option<Color>) -> Option<String> {
    let to_move = game.position().turn();
    match game.termination()? {
        Termination::Checkmate if winner != Some(!to_move) => {
            Some(format!("checkmate of {to_move}"))
        }
        Termination::Stalemate if winner.is_some() => Some(format!("stalemate of {to_move}")),
        Termination::VariantWin(side) if winner != Some(side) => Some(format!("a win of {side}")),
        Termination::VariantDraw if winner.is_some() => Some("a draw".to_owned()),
        _ => None,
    }
}

/// Lichess's key of the variant, by the tag and the initial position.
fn variant(tag: Option<&str>, initial: &Position) -> &'static str {
    let rules = initial.variant();
    match &*Variant::plain_name(tag.unwrap_or_default()) {
        _ if rules != Variant::Standard => rules.key(),
        "chess960" | "fischerandom" | "fischerrandom" => "chess960",
        "fromposition" => "fromPosition",
        _ if *initial == Variant::Standard.start() => "standard",
        _ => "fromPosition",
    }
}

/// The speed of a time control, or else that in the name of the event, in lower case.
fn speed(time_control: TimeControl, event: &str) -> Speed {
    let mut speeds = Speed::ALL.iter();
    let named = speeds.find(|speed| event.contains(&speed.key().to_lowercase()));
    match (time_control, named) {
        (TimeControl::Clock { limit, increment }, _) => Speed::of_clock(limit, increment),
        (_, Some(speed)) => *speed,
        (TimeControl::Unlimited, None) => Speed::Correspondence,
        (_, None) => Speed::Unknown,
    }
}

/// The id on Lichess, or else one made of players, date and moves.
fn id(tags: &Tags, server: &str, moves: &[String]) -> String {
    let is_id = |id: &&str| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let site = tags.get("Site").unwrap_or_default();
    let host = site
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    let own = server
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    let is_site = host.starts_with("lichess.org/") || host.starts_with(&format!("{own}/"));
    let of_site = is_site.then(|| address::id(site, Page::Game)).filter(is_id);
    // Our own export has the id that a game got when it was imported.
    let is_made = |id: &&str| {
        let digits = id.strip_prefix(MADE_PREFIX).unwrap_or_default();
        digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let named = tags.get("GameId").filter(|id| is_id(id) || is_made(id));
    if let Some(id) = named.or(of_site) {
        return id.to_owned();
    }
    let mut context = digest::Context::new(&digest::SHA256);
    for tag in [
        "White", "Black", "Date", "UTCDate", "UTCTime", "Round", "FEN",
    ] {
        context.update(tags.get(tag).unwrap_or_default().as_bytes());
        context.update(b"\n");
    }
    context.update(moves.join(" ").as_bytes());
    let digest = context.finish();
    let hex = digest.as_ref()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"));
    format!("{MADE_PREFIX}{}", hex.collect::<String>())
}

fn player(tags: &Tags, color: Color) -> Player {
    let tag = |end: &str| {
        tags.get(&format!("{color}{end}"))
            .filter(|value| *value != "?")
    };
    let title = tag("Title").filter(|title| !["", "-"].contains(title));
    Player {
        name: name(tag("").unwrap_or("?")),
        title: title.map(name),
        rating: tag("Elo")
            .and_then(|elo| elo.parse().ok())
            .filter(|elo| *elo > 0),
        provisional: false,
    }
}

/// Parses the tag of the time control: `-` if there is none.
fn time_control(tag: Option<&str>) -> TimeControl {
    if tag == Some("-") {
        return TimeControl::Unlimited;
    }
    let clock = || {
        let (limit, increment) = tag?.split_once('+').unwrap_or((tag?, "0"));
        Some(TimeControl::Clock {
            limit: limit.parse().ok()?,
            increment: increment.parse().ok()?,
        })
    };
    clock().unwrap_or(TimeControl::Unknown)
}

/// The start in milliseconds since 1970, in UTC, if a tag tells the day.
fn started(tags: &Tags) -> Option<i64> {
    let day: jiff::civil::Date = ["UTCDate", "Date"].into_iter().find_map(|tag| {
        let day = tags.get(tag).filter(|day| !day.starts_with('?'))?;
        let day = day.replace('.', "-").replace("??", "01");
        day.parse().ok()
    })?;
    let time = tags
        .get("UTCTime")
        .and_then(|time| time.parse::<jiff::civil::Time>().ok());
    let at = DateTime::from_parts(day, time.unwrap_or_default());
    let at = at.to_zoned(TimeZone::UTC).ok()?;
    Some(at.timestamp().as_millisecond())
}

/// The status of a finished game, in the words of Lichess.
fn status(record: &Record, is_aborted: bool) -> &'static str {
    let termination = record.tags.get("Termination").unwrap_or_default();
    match (record.game.termination(), record.outcome) {
        (Some(Termination::Checkmate), Outcome::Win(_)) => "mate",
        (Some(Termination::Stalemate), Outcome::Draw) => "stalemate",
        (Some(Termination::VariantWin(_)), Outcome::Win(_)) => "variantEnd",
        (_, Outcome::Unknown) if is_aborted => "aborted",
        (_, Outcome::Win(_)) if is_aborted => "noStart",
        _ if termination.eq_ignore_ascii_case("time forfeit") => "outoftime",
        (_, Outcome::Draw) => "draw",
        (_, Outcome::Win(_)) if termination.eq_ignore_ascii_case("rules infraction") => "cheat",
        (_, Outcome::Win(_)) => "resign",
        (_, Outcome::Unknown) => "unknownFinish",
    }
}
