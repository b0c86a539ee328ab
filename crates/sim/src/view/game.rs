//! Views of a game for its players.

use bytes::Bytes;
use serde::Serialize;

use knightwatch_chess::{CastlingNotation, Color, Game, Move, Position};

use crate::quirks::{PlayingStatus, Quirks};
use crate::referee::{StateSnapshot, Status};
use crate::round::chat::Room;
use crate::round::setup::Source;
use crate::round::{Round, Side};
use crate::site::{AccountKind, SimTime, SiteState, UserId, Variant};
use crate::time_control::TimeControl;
use crate::wire::{
    self, ChatEntry, ChatLine, ClockJson, Compat, GameEvent, GameFull, GamePlayer, GamePreview,
    GameState, NowPlaying, Opponent, OpponentGone, PerfJson, StatusJson, StatusOrName, VariantJson,
};

/// Response to `POST /api/challenge/ai`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AiGame {
    id: String,
    variant: VariantJson,
    speed: &'static str,
    perf: &'static str,
    rated: bool,
    source: &'static str,
    created_at: i64,
    fen: String,
    turns: usize,
    status: StatusJson,
    /// Side to move.
    player: &'static str,
    full_id: String,
}

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

pub(crate) fn preview(round: &Round, color: Color, now: SimTime) -> GamePreview {
    let (mine, theirs) = (round.side(color), round.side(!color));
    let referee = &round.referee;
    let over = !referee.is_running();
    let game = referee.game();
    GamePreview {
        full_id: round.secrets.full_id(round.id, color),
        game_id: round.id.to_string(),
        fen: game.position().fen(),
        color: color.key(),
        last_move: last_move(round),
        source: round.source.key(),
        status: Some(StatusOrName::Full(referee.status().into())),
        variant: VariantJson::brief(round.variant),
        speed: round.speed().key(),
        perf: round.perf().key,
        rated: round.rated,
        has_moved: has_moved(game, color),
        opponent: opponent(theirs),
        is_my_turn: !over && referee.turn() == color,
        seconds_left: referee.seconds_left(color, now),
        tournament_id: round.source.arena().map(|id| id.to_string()),
        winner: referee.winner().map(Color::key),
        rating: over.then_some(mine.rating),
        rating_diff: mine.rating_diff,
        compat: None,
        id: None,
    }
}

/// Last move as boards highlight it; empty before the first.
pub(crate) fn last_move(round: &Round) -> String {
    let moves = round.referee.game().moves();
    moves.last().map_or_else(String::new, |mv| highlighted(*mv))
}

/// A move as boards highlight it: in UCI, castling as the king's move (`e1g1`), a drop as its square twice.
pub(crate) fn highlighted(mv: Move) -> String {
    match mv.dropped() {
        Some(_) => format!("{0}{0}", mv.to()),
        None => mv.uci(CastlingNotation::Standard).to_string(),
    }
}

/// `gameStart` of an ongoing game, `gameFinish` of one that is over.
pub(crate) fn event(round: &Round, color: Color, now: SimTime) -> GameEvent {
    let kind = if round.referee.is_running() {
        "gameStart"
    } else {
        "gameFinish"
    };
    let mut game = preview(round, color, now);
    game.compat = Some(Compat {
        bot: round.side(color).title == Some("BOT") && round.allows_bots(),
        board: round.allows_boards(),
    });
    game.id = Some(round.id.to_string());
    GameEvent { kind, game }
}

/// First line of a game stream; `view` is the current state.
pub(crate) fn full_line(round: &Round, view: &StateSnapshot) -> Bytes {
    let player = |color| {
        let side = round.side(color);
        match side.account_kind {
            AccountKind::User => GamePlayer::User {
                id: side.user.to_string(),
                name: side.name.clone(),
                title: wire::title(side.title, &round.quirks),
                rating: side.rating,
                provisional: side.provisional,
            },
            AccountKind::Ai(ai_level) => GamePlayer::Ai { ai_level },
            AccountKind::Anonymous => GamePlayer::Anonymous {},
        }
    };
    let (clock, days_per_turn) = match round.time_control {
        TimeControl::Clock { limit, increment } => {
            let clock = ClockJson {
                initial: u64::from(limit) * 1_000,
                increment: u64::from(increment) * 1_000,
            };
            (Some(clock), None)
        }
        TimeControl::Days(days) => (None, Some(days)),
        TimeControl::Unlimited => (None, None),
    };
    wire::line(&GameFull {
        id: round.id.to_string(),
        variant: VariantJson::full(round.variant),
        speed: round.speed().key(),
        perf: PerfJson::named(round.perf()),
        rated: round.rated,
        created_at: round.created_at.0,
        white: player(Color::White),
        black: player(Color::Black),
        initial_fen: initial_fen(round),
        clock,
        days_per_turn,
        tournament_id: round.source.arena().map(|id| id.to_string()),
        kind: "gameFull",
        state: GameState::new(view, &round.quirks).followed_by(round.rematch),
    })
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
pub(crate) fn ongoing_events(state: &SiteState, user: &UserId, now: SimTime) -> Vec<GameEvent> {
    by_urgency(state, user, now)
        .into_iter()
        .map(|(round, color)| event(round, color, now))
        .collect()
}

pub(crate) fn now_playing(
    state: &SiteState,
    user: &UserId,
    max: usize,
    now: SimTime,
) -> NowPlaying {
    let rounds = by_urgency(state, user, now);
    let quirks = &state.quirks;
    let previews = rounds.iter().take(max).map(|(round, color)| {
        let mut preview = preview(round, *color, now);
        preview.status = match quirks.playing_status {
            PlayingStatus::Object => preview.status,
            PlayingStatus::String => Some(StatusOrName::Name(round.referee.status().key())),
            PlayingStatus::Absent => None,
        };
        preview
    });
    NowPlaying {
        nb_my_turn: quirks.nb_my_turn.then(|| {
            let mine = |(round, color): &&(&Round, Color)| round.referee.turn() == *color;
            rounds.iter().filter(mine).count()
        }),
        now_playing: previews.collect(),
    }
}

/// Line of a game stream with the current state.
pub(crate) fn state_line(view: &StateSnapshot, quirks: &Quirks) -> Bytes {
    wire::line(&GameState::new(view, quirks))
}

/// `opponentGone` event; without `claim_in` seconds the opponent is back.
pub(crate) fn opponent_gone_line(claim_in: Option<u64>) -> Bytes {
    wire::line(&OpponentGone {
        kind: "opponentGone",
        gone: claim_in.is_some(),
        claim_win_in_seconds: claim_in,
    })
}

pub(crate) fn chat_line(room: Room, username: &str, text: &str) -> Bytes {
    wire::line(&ChatLine {
        kind: "chatLine",
        room: room.key(),
        username,
        text,
    })
}

/// Messages in one room of a game.
pub(crate) fn chat_log(round: &Round, room: Room) -> Vec<ChatEntry<'_>> {
    let messages = round.chat.iter().filter(|message| message.room == room);
    messages
        .map(|message| ChatEntry {
            text: &message.text,
            user: &message.name,
        })
        .collect()
}

/// Player as shown to the opponent.
fn opponent(side: &Side) -> Opponent {
    let known = side.account_kind == AccountKind::User;
    Opponent {
        id: known.then(|| side.user.to_string()),
        username: match side.title {
            Some(title) => format!("{title} {}", side.name),
            None => side.shown_name(),
        },
        rating: known.then_some(side.rating),
        rating_diff: side.rating_diff,
        ai: match side.account_kind {
            AccountKind::Ai(level) => Some(level),
            AccountKind::User | AccountKind::Anonymous => None,
        },
    }
}

/// Game as shown to the user who created it.
pub(crate) fn ai_game(round: &Round, me: &UserId) -> Option<AiGame> {
    let color = round.color_of(me)?;
    let position = round.referee.game().position();
    Some(AiGame {
        id: round.id.to_string(),
        variant: VariantJson::full(round.variant),
        speed: round.speed().key(),
        perf: round.perf().key,
        rated: round.rated,
        source: round.source.key(),
        created_at: round.created_at.0,
        fen: position.fen(),
        turns: round.referee.plies(),
        status: Status::Started.into(),
        player: position.turn().key(),
        full_id: round.secrets.full_id(round.id, color),
    })
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
