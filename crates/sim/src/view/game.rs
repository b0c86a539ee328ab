//! Views of a game for its players.

use bytes::Bytes;
use serde::Serialize;

use knightwatch_chess::{CastlingNotation, Color, Game, Move, Position};

use crate::quirks::{Flags, PlayingStatus, Quirks};
use crate::referee::{StateSnapshot, Status};
use crate::round::chat::Room;
use crate::round::setup::Source;
use crate::round::{Round, Side};
use crate::site::{AccountKind, SimTime, SiteState, UserId, Variant};
use crate::time_control::TimeControl;
use crate::wire::{self, Object, object};

/// Lichess stores a position that is chosen or drawn, and the special one of a challenge, but not that of an arena.
fn initial_fen(round: &Round) -> String {
    let stored = match round.variant {
        Variant::Standard => false,
        Variant::Chess960 | Variant::FromPosition => true,
        Variant::Other(_) => {
            round.source == Source::Friend && round.variant.special_start().is_some()
        }
    };
    if stored {
        round.referee.config().start.fen()
    } else {
        "startpos".to_owned()
    }
}

/// Game as seen by one of its players: in `nowPlaying` and in the event stream.
fn preview(round: &Round, color: Color, status: Option<impl Serialize>, now: SimTime) -> Object {
    let (mine, theirs) = (round.side(color), round.side(!color));
    let referee = &round.referee;
    let over = !referee.is_running();
    let game = referee.game();
    object("fullId", round.secrets.full_id(round.id, color))
        .set("gameId", round.id.to_string())
        .set("fen", game.position().fen())
        .set("color", color.key())
        .set("lastMove", last_move(round))
        .set("source", round.source.key())
        .maybe("status", status)
        .set("variant", wire::brief_variant(round.variant))
        .set("speed", round.speed().key())
        .set("perf", round.perf().key)
        .set("rated", round.rated)
        .set("hasMoved", has_moved(game, color))
        .set("opponent", opponent(theirs))
        .set("isMyTurn", !over && referee.turn() == color)
        .maybe("secondsLeft", referee.seconds_left(color, now))
        .maybe(
            "tournamentId",
            round.source.arena().map(|id| id.to_string()),
        )
        .maybe("winner", referee.winner().map(Color::key))
        .maybe("rating", over.then_some(mine.rating))
        .maybe("ratingDiff", mine.rating_diff)
}

/// Last move as boards highlight it; empty before the first.
pub(crate) fn last_move(round: &Round) -> String {
    let moves = round.referee.game().moves();
    moves.last().map_or_else(String::new, |mv| highlighted(*mv))
}

/// The two squares that boards highlight for a move: castling as the king's move (`e1g1`), a drop as its square twice.
pub(crate) fn highlighted(mv: Move) -> String {
    match mv.dropped() {
        Some(_) => format!("{0}{0}", mv.to()),
        None => {
            let mut text = mv.uci(CastlingNotation::Standard).to_string();
            text.truncate("e7e8".len());
            text
        }
    }
}

/// `gameStart` of an ongoing game, `gameFinish` of one that is over.
pub(crate) fn event(round: &Round, color: Color, now: SimTime) -> Object {
    let kind = if round.referee.is_running() {
        "gameStart"
    } else {
        "gameFinish"
    };
    let is_bot = round.side(color).title == Some("BOT");
    let compat = wire::compat(is_bot && round.allows_bots(), round.allows_boards());
    let status = wire::status(round.referee.status());
    let game = preview(round, color, Some(status), now)
        .set("compat", compat)
        .set("id", round.id.to_string());
    object("type", kind).set("game", game)
}

/// First line of a game stream; `view` is the current state.
pub(crate) fn full_line(round: &Round, view: &StateSnapshot) -> Bytes {
    let player = |color| {
        let side = round.side(color);
        match side.account_kind {
            AccountKind::User => object("id", side.user.to_string())
                .set("name", &side.name)
                .maybe("title", wire::title(side.title, &round.quirks))
                .set("rating", side.rating)
                .flag("provisional", side.provisional),
            AccountKind::Ai(level) => object("aiLevel", level),
            AccountKind::Anonymous => Object::default(),
        }
    };
    let (clock, days_per_turn) = match round.time_control {
        TimeControl::Clock { limit, increment } => {
            let clock = object("initial", u64::from(limit) * 1_000);
            (
                Some(clock.set("increment", u64::from(increment) * 1_000)),
                None,
            )
        }
        TimeControl::Days(days) => (None, Some(days)),
        TimeControl::Unlimited => (None, None),
    };
    let rematch = round.rematch.map(|id| id.to_string());
    wire::line(
        &object("id", round.id.to_string())
            .set("variant", wire::full_variant(round.variant))
            .set("speed", round.speed().key())
            .set("perf", wire::perf(round.perf()))
            .set("rated", round.rated)
            .set("createdAt", round.created_at.0)
            .set("white", player(Color::White))
            .set("black", player(Color::Black))
            .set("initialFen", initial_fen(round))
            .maybe("clock", clock)
            .maybe("daysPerTurn", days_per_turn)
            .maybe(
                "tournamentId",
                round.source.arena().map(|id| id.to_string()),
            )
            .set("type", "gameFull")
            .set(
                "state",
                state_json(view, &round.quirks).maybe("rematch", rematch),
            ),
    )
}

/// Ongoing games of a user with their colors, most urgent first.
fn by_urgency<'a>(state: &'a SiteState, user: &UserId, now: SimTime) -> Vec<(&'a Round, Color)> {
    let playing = &state.users.get(user).playing;
    let mut rounds: Vec<(&Round, Color)> = playing
        .iter()
        .filter_map(|id| state.rounds.get(*id))
        .filter_map(|round| Some((round, round.color_of(user)?)))
        .collect();
    rounds.sort_by_key(|(round, color)| {
        let left = round.referee.seconds_left(*color, now);
        (round.referee.turn() != *color, left.unwrap_or(i64::MAX))
    });
    rounds
}

/// `gameStart` events of the ongoing games, for a new event stream.
pub(crate) fn ongoing_events(state: &SiteState, user: &UserId, now: SimTime) -> Vec<Object> {
    by_urgency(state, user, now)
        .into_iter()
        .map(|(round, color)| event(round, color, now))
        .collect()
}

pub(crate) fn now_playing(state: &SiteState, user: &UserId, max: usize, now: SimTime) -> Object {
    let rounds = by_urgency(state, user, now);
    let quirks = &state.quirks;
    let previews = rounds.iter().take(max).map(|(round, color)| {
        let status = round.referee.status();
        match quirks.playing_status {
            PlayingStatus::Object => preview(round, *color, Some(wire::status(status)), now),
            PlayingStatus::String => preview(round, *color, Some(status.key()), now),
            PlayingStatus::Absent => preview(round, *color, None::<&str>, now),
        }
    });
    let turns = quirks.nb_my_turn.then(|| {
        let mine = |(round, color): &&(&Round, Color)| round.referee.turn() == *color;
        rounds.iter().filter(mine).count()
    });
    object("nowPlaying", previews.collect::<Vec<_>>()).maybe("nbMyTurn", turns)
}

fn state_json(view: &StateSnapshot, quirks: &Quirks) -> Object {
    let draw_flag = |set| (set || quirks.draw_flags == Flags::Shown).then_some(set);
    let expiration = view.expiration.as_ref().map(|expiration| {
        object("idleMillis", expiration.idle.as_millis() as u64)
            .set("millisToMove", expiration.allowed.as_millis() as u64)
    });
    object("type", "gameState")
        .set("moves", &view.moves)
        .set("wtime", view.millis[0])
        .set("btime", view.millis[1])
        .set("winc", view.increment)
        .set("binc", view.increment)
        .set("status", view.status.key())
        .maybe("wdraw", draw_flag(view.draw_offers[0]))
        .maybe("bdraw", draw_flag(view.draw_offers[1]))
        .flag("wtakeback", view.takeback_offers[0])
        .flag("btakeback", view.takeback_offers[1])
        .maybe("winner", view.winner.map(Color::key))
        .maybe("expiration", expiration)
}

/// Line of a game stream with the current state.
pub(crate) fn state_line(view: &StateSnapshot, quirks: &Quirks) -> Bytes {
    wire::line(&state_json(view, quirks))
}

/// `opponentGone` event; without `claim_in` seconds the opponent is back.
pub(crate) fn opponent_gone_line(claim_in: Option<u64>) -> Bytes {
    let event = object("type", "opponentGone").set("gone", claim_in.is_some());
    wire::line(&event.maybe("claimWinInSeconds", claim_in))
}

pub(crate) fn chat_line(room: Room, username: &str, text: &str) -> Bytes {
    wire::line(
        &object("type", "chatLine")
            .set("room", room.key())
            .set("username", username)
            .set("text", text),
    )
}

/// Messages in one room of a game.
pub(crate) fn chat_log(round: &Round, room: Room) -> Vec<Object> {
    let messages = round.chat.iter().filter(|message| message.room == room);
    messages
        .map(|message| object("text", &message.text).set("user", &message.name))
        .collect()
}

/// Player as shown to the opponent. The id is `null` without an account; the title is before the name.
fn opponent(side: &Side) -> Object {
    let known = side.account_kind == AccountKind::User;
    let username = match side.title {
        Some(title) => format!("{title} {}", side.name),
        None => side.shown_name(),
    };
    let ai_level = match side.account_kind {
        AccountKind::Ai(level) => Some(level),
        AccountKind::User | AccountKind::Anonymous => None,
    };
    object("id", known.then(|| side.user.to_string()))
        .set("username", username)
        .maybe("rating", known.then_some(side.rating))
        .maybe("ratingDiff", side.rating_diff)
        .maybe("ai", ai_level)
}

/// Response to `POST /api/challenge/ai`: the game as shown to the user who created it.
pub(crate) fn ai_game(round: &Round, me: &UserId) -> Option<Object> {
    let color = round.color_of(me)?;
    let position = round.referee.game().position();
    let shown = object("id", round.id.to_string())
        .set("variant", wire::full_variant(round.variant))
        .set("speed", round.speed().key())
        .set("perf", round.perf().key)
        .set("rated", round.rated)
        .set("source", round.source.key())
        .set("createdAt", round.created_at.0)
        .set("fen", position.fen())
        .set("turns", round.referee.plies())
        .set("status", wire::status(Status::Started))
        .set("player", position.turn().key())
        .set("fullId", round.secrets.full_id(round.id, color));
    Some(shown)
}

/// Returns the first two fields of the FEN.
pub(crate) fn board_and_turn(position: &Position) -> String {
    let fen = position.fen();
    fen.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn has_moved(game: &Game, color: Color) -> bool {
    let first = game.initial().turn() == color;
    game.moves().len() > usize::from(!first)
}
