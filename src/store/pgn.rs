//! PGN of recorded games, with the tags of Lichess.

use std::time::Duration;

use super::reader::{Game, MoveRecord, Record};
use crate::chess::pgn::{self, Eval, MoveComment, Tags};
use crate::chess::{self, Color, Position, Variant};
use crate::events::{Player, TimeControl, initial_position};

/// Comments on the moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// The mover's clock, as `%clk`.
    pub clocks: bool,
    /// Our evaluation after our moves, as `%eval`.
    pub evals: bool,
}

impl Details {
    /// All comments.
    pub const ALL: Self = Self {
        clocks: true,
        evals: true,
    };
}

/// A game as PGN. Ends at the first missing or illegal move.
pub fn pgn_of(record: &Record, server: &str, details: Details) -> String {
    pgn_and_plies(record, server, details).0
}

/// A game as PGN, and the number of its moves before the first missing or illegal one.
pub(super) fn pgn_and_plies(record: &Record, server: &str, details: Details) -> (String, usize) {
    let game = &record.game;
    let initial = initial_position(&game.variant, game.initial_fen.as_deref());
    let mut board = chess::Game::new(initial.unwrap_or_else(Position::startpos));
    let mut comments = Vec::with_capacity(record.moves.len());
    for (played, ply) in record.moves.iter().zip(1..) {
        if played.ply != ply || board.push_uci(&played.uci).is_err() {
            break;
        }
        comments.push(move_comment(played, game.color, details));
    }
    let outcome = match game.result.as_deref() {
        Some("1-0") => pgn::Outcome::Win(Color::White),
        Some("0-1") => pgn::Outcome::Win(Color::Black),
        Some("1/2-1/2") => pgn::Outcome::Draw,
        _ => pgn::Outcome::Unknown,
    };
    let mut tags = tags(game, server);
    if let Some(change) = record.rating_change {
        tags.set(&format!("{}RatingDiff", game.color), format!("{change:+}"));
    }
    if comments.iter().any(|comment| comment.eval.is_some()) {
        tags.set("Annotator", ANNOTATOR);
    }
    let text = pgn::write(&tags, &board, &comments, outcome);
    (text, board.moves().len())
}

/// The evaluation for the position after our move, from White's point of view.
fn eval(mate: Option<i32>, cp: Option<i32>, ours: Color) -> Option<Eval> {
    let sign = if ours.is_white() { 1 } else { -1 };
    match (mate, cp) {
        // A mate by us counts the move itself.
        (Some(1), _) => None,
        (Some(moves), _) => Some(Eval::Mate(sign * (moves - i32::from(moves > 0)))),
        (None, Some(cp)) => Some(Eval::Centipawns(cp.saturating_mul(sign))),
        (None, None) => None,
    }
}

/// The inverse of [`eval`]: mate and centipawns from our point of view.
pub(super) fn score_of(eval: Eval, ours: Color) -> (Option<i32>, Option<i32>) {
    let sign = if ours.is_white() { 1 } else { -1 };
    match eval {
        Eval::Mate(moves) => {
            let moves = moves.saturating_mul(sign);
            (Some(moves.saturating_add(i32::from(moves > 0))), None)
        }
        Eval::Centipawns(cp) => (None, Some(cp.saturating_mul(sign))),
    }
}

fn move_comment(played: &MoveRecord, ours: Color, details: Details) -> MoveComment {
    let eval = eval(played.mate, played.cp, ours);
    let clock = played.clock_ms.map(|ms| ms.max(0).unsigned_abs());
    MoveComment {
        clock: clock.map(Duration::from_millis).filter(|_| details.clocks),
        eval: eval.filter(|_| details.evals),
        text: String::new(),
    }
}

/// The annotator of games with our evaluations.
pub const ANNOTATOR: &str = "Knightwatch";

/// Start of the ids of games that are not from Lichess.
pub const MADE_PREFIX: &str = "pgn-";

/// The page of a game on a server.
pub fn address_of(game: &str, server: &str) -> String {
    format!("{}/{game}", server.trim_end_matches('/'))
}

/// Where a game was played: an address or a place; `None` if an imported game does not say so.
fn site(game: &Game, server: &str) -> Option<String> {
    let is_made = game.id.starts_with(MADE_PREFIX);
    let address = || (!is_made).then(|| address_of(&game.id, server));
    game.site.clone().or_else(address)
}

/// The page of a recorded game; `None` for an imported game without one.
pub fn page_of(game: &Game, server: &str) -> Option<String> {
    let is_address = |site: &String| site.starts_with("https://") || site.starts_with("http://");
    site(game, server).filter(is_address)
}

fn tags(game: &Game, server: &str) -> Tags {
    let mut tags = Tags::default();
    let rated = if game.rated { "rated" } else { "casual" };
    let (date, time) = match game.started.map(super::utc) {
        Some(at) => (
            at.strftime("%Y.%m.%d").to_string(),
            at.strftime("%H:%M:%S").to_string(),
        ),
        None => ("????.??.??".to_owned(), "??:??:??".to_owned()),
    };
    tags.set("Event", format!("{rated} {} game", game.speed));
    tags.set("Site", site(game, server).unwrap_or_else(|| "?".to_owned()));
    tags.set("Date", date.clone());
    tags.set("Round", "-");
    for color in Color::ALL {
        tags.set(&color.to_string(), game.player(color).name.clone());
    }
    tags.set("GameId", game.id.clone());
    tags.set("UTCDate", date);
    tags.set("UTCTime", time);
    for color in Color::ALL {
        let Player { title, rating, .. } = game.player(color);
        let rating = rating.map_or_else(|| "?".to_owned(), |rating| rating.to_string());
        tags.set(&format!("{color}Elo"), rating);
        if let Some(title) = title {
            tags.set(&format!("{color}Title"), title.clone());
        }
    }
    let variant = match game.variant.as_str() {
        "standard" => "Standard",
        "chess960" => "Chess960",
        "fromPosition" => "From Position",
        other => match Variant::from_name(other) {
            Some(variant) => variant.name(),
            None => other,
        },
    };
    tags.set("Variant", variant);
    let time_control = match game.time_control {
        TimeControl::Clock { limit, increment } => format!("{limit}+{increment}"),
        TimeControl::Unknown => "?".to_owned(),
        TimeControl::Correspondence { .. } | TimeControl::Unlimited => "-".to_owned(),
    };
    tags.set("TimeControl", time_control);
    let termination = match game.status.as_deref() {
        None => "Unterminated",
        Some("aborted" | "noStart") => "Abandoned",
        Some("outoftime" | "timeout") => "Time forfeit",
        Some("cheat") => "Rules infraction",
        Some(_) => "Normal",
    };
    tags.set("Termination", termination);
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eval_mate_counts_from_after_the_move() {
        let mate = |moves, ours| eval(Some(moves), Some(0), ours);
        assert_eq!(mate(1, Color::White), None);
        assert_eq!(mate(3, Color::White), Some(Eval::Mate(2)));
        assert_eq!(mate(3, Color::Black), Some(Eval::Mate(-2)));
        assert_eq!(mate(-2, Color::White), Some(Eval::Mate(-2)));
        assert_eq!(mate(-2, Color::Black), Some(Eval::Mate(2)));
        for (moves, ours) in [(3, Color::White), (3, Color::Black), (-2, Color::Black)] {
            assert_eq!(score_of(mate(moves, ours).unwrap(), ours).0, Some(moves));
        }
    }
}
