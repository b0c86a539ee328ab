//! Immutable data of a game: players, time control, initial position.

use std::time::Duration;

use super::budget::Pace;
use crate::chess::{CastlingNotation, Color, Position};
use crate::events;
use crate::lichess::model::{GameFull, GameId, GameInfo, Player, TimeControl, Username, Variant};

/// Immutable data of a game, from its `gameFull`.
#[derive(Clone, Debug)]
pub struct GameHeader {
    /// Game id.
    pub id: GameId,
    /// Our color.
    pub us: Color,
    /// Display name of the opponent.
    pub opponent: String,
    pub variant: Variant,
    /// Initial position.
    pub initial: Position,
    /// Kind of time control.
    pub pace: Pace,
    /// Castling notation for this game: Lichess accepts the standard one in standard games only.
    pub castling: CastlingNotation,
    /// Part of a tournament: never aborted, no chat.
    pub tournament: bool,
    /// Against Lichess's own engine: no chat.
    pub against_ai: bool,
}

/// Reason why a game cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedGame {
    /// The variant is not supported.
    #[error("variant {0} is not supported")]
    Variant(Variant),
    /// We are not a player of the game.
    #[error("neither player is {0}")]
    NotOurs(Username),
    /// The initial position is invalid.
    #[error("invalid initial position: {0}")]
    Position(String),
}

impl GameHeader {
    /// Reads the first line of a game stream. `info` is from the `gameStart` event of the account.
    ///
    /// # Errors
    /// The game cannot be played.
    pub fn read(
        full: &GameFull,
        me: &Username,
        info: Option<&GameInfo>,
    ) -> Result<Self, UnsupportedGame> {
        let variant = full.variant;
        let rules = variant.rules().ok_or(UnsupportedGame::Variant(variant))?;
        let castling = match variant {
            Variant::Standard => CastlingNotation::Standard,
            _ => CastlingNotation::KingTakesRook,
        };
        let us = full
            .color_of(me)
            .or(info.map(|info| info.color))
            .ok_or_else(|| UnsupportedGame::NotOurs(me.clone()))?;
        let read = |fen| Position::from_variant_fen_lenient(rules, fen);
        let initial = match full.initial_fen.as_deref().map(read) {
            Some(Ok(position)) => position,
            Some(Err(error)) if matches!(variant, Variant::Chess960 | Variant::FromPosition) => {
                return Err(UnsupportedGame::Position(error.to_string()));
            }
            // Other games have no other initial position, whatever the field says.
            Some(Err(_)) | None => rules.start(),
        };
        let them = full.player(!us);
        Ok(Self {
            id: full.id.clone(),
            us,
            opponent: them.display_name(),
            variant,
            initial,
            pace: pace(full),
            castling,
            tournament: full.tournament_id.is_some(),
            against_ai: them.ai_level.is_some(),
        })
    }

    /// Returns whether the game has a chess clock.
    pub fn has_clock(&self) -> bool {
        matches!(self.pace, Pace::Clock { .. })
    }

    /// The event that announces the game.
    pub fn started(&self, full: &GameFull, plies: usize) -> events::GameStarted {
        events::GameStarted {
            game: self.id.to_string(),
            white: player(&full.white),
            black: player(&full.black),
            our_color: self.us,
            speed: full.speed.key().into(),
            time_control: full.time_control(),
            rated: full.rated,
            variant: full.variant.key().into(),
            // Normalized: the original may have extra white space between its fields.
            initial_fen: full.initial_fen.as_ref().map(|_| self.initial.fen()),
            tournament: full.tournament_id.as_ref().map(ToString::to_string),
            // Known after the rules.
            engine: None,
            plies: plies as u32,
        }
    }
}

fn pace(full: &GameFull) -> Pace {
    match full.time_control() {
        TimeControl::Clock { increment, .. } => Pace::Clock {
            increment: Duration::from_secs(increment.into()),
        },
        TimeControl::Correspondence { .. } => Pace::Correspondence,
        TimeControl::Unlimited | TimeControl::Unknown => Pace::Unlimited,
    }
}

fn player(player: &Player) -> events::Player {
    events::Player {
        name: player.display_name(),
        title: player.title.clone(),
        rating: player.rating.and_then(|rating| rating.try_into().ok()),
        provisional: player.provisional,
    }
}

/// A clock of the stream in milliseconds; `None` in an unlimited game.
pub(crate) fn millis(pace: Pace, time: Duration) -> Option<u64> {
    (pace != Pace::Unlimited).then_some(time.as_millis() as u64)
}

#[cfg(test)]
#[path = "../../../crates/lichess/src/model/mutate.rs"]
mod mutate;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::mutate::{mutations, values};
    use super::*;
    use crate::chess;

    const GAME_STARTS: &str =
        include_str!("../../../crates/lichess/tests/fixtures/game-full.ndjson");

    fn full(patch: Value) -> GameFull {
        let mut full = json!({
            "id": "abcdefgh", "variant": {"key": "standard"}, "speed": "blitz", "rated": false,
            "white": {"id": "ann", "name": "Ann", "title": null, "rating": 1500},
            "black": {"id": "rob", "name": "Rob", "title": "BOT", "rating": 2000},
            "initialFen": "startpos", "clock": {"initial": 180_000, "increment": 2_000}, "type": "gameFull",
            "state": {"type": "gameState", "moves": "", "wtime": 180_000, "btime": 180_000,
                      "winc": 2_000, "binc": 2_000, "status": "started"},
        });
        for (key, value) in patch.as_object().unwrap() {
            full[key] = value.clone();
        }
        serde_json::from_value(full).unwrap()
    }

    fn read(patch: Value) -> Result<GameHeader, UnsupportedGame> {
        GameHeader::read(&full(patch), &Username::new("rob"), None)
    }

    #[test]
    fn standard_game_is_read() {
        let header = read(json!({})).unwrap();
        assert_eq!((header.us, header.opponent.as_str()), (Color::Black, "Ann"));
        assert_eq!(
            header.pace,
            Pace::Clock {
                increment: Duration::from_secs(2)
            }
        );
        assert!(header.has_clock() && !header.tournament && !header.against_ai);
    }

    #[test]
    fn games_without_clock_are_correspondence_or_unlimited() {
        assert_eq!(
            read(json!({"clock": null, "daysPerTurn": 3})).unwrap().pace,
            Pace::Correspondence
        );
        let state = json!({"moves": "", "wtime": 2_147_483_647, "btime": 2_147_483_647, "status": "started"});
        let endless = json!({"clock": null, "speed": "correspondence", "state": state});
        assert_eq!(read(endless).unwrap().pace, Pace::Unlimited);
    }

    #[test]
    fn unreadable_clock_is_inferred_from_times() {
        let pace = |increment| Pace::Clock {
            increment: Duration::from_secs(increment),
        };
        for (clock, increment) in [(json!(null), 2), (json!("3+2"), 2), (json!({}), 0)] {
            assert_eq!(read(json!({"clock": clock})).unwrap().pace, pace(increment));
        }
        let slow = json!({"clock": null, "daysPerTurn": [], "speed": "correspondence"});
        assert_eq!(read(slow).unwrap().pace, Pace::Correspondence);
    }

    #[test]
    fn castling_notation_follows_variant() {
        let fen = "bqnbrnkr/pppppppp/8/8/8/8/PPPPPPPP/BQNBRNKR w KQkq - 0 1";
        for key in ["chess960", "fromPosition"] {
            let header = read(json!({"variant": {"key": key}, "initialFen": fen})).unwrap();
            assert_eq!(header.castling, CastlingNotation::KingTakesRook);
        }
        assert_eq!(
            read(json!({})).unwrap().castling,
            CastlingNotation::Standard
        );
    }

    #[test]
    fn variants_begin_with_their_own_position() {
        for rules in chess::Variant::ALL {
            for fen in ["startpos", rules.start_fen(), "nonsense"] {
                let game = json!({"variant": {"key": rules.key()}, "initialFen": fen});
                assert_eq!(read(game).unwrap().initial, rules.start(), "{rules}: {fen}");
            }
        }
    }

    #[test]
    fn malformed_optional_fields_are_tolerated() {
        let but = [
            "/id",
            "/type",
            "/variant",
            "/variant/key",
            "/state",
            "/state/moves",
            "/state/status",
        ];
        let info = json!({"gameId": "STANDARD", "color": "black"});
        let info: GameInfo = serde_json::from_value(info).unwrap();
        let me = Username::new("kestrel");
        for full in values(GAME_STARTS, "STANDARD") {
            for (what, full) in mutations(&full, &but) {
                let full: GameFull = serde_json::from_value(full).unwrap();
                let header = GameHeader::read(&full, &me, Some(&info));
                let header = header.unwrap_or_else(|why| panic!("{what}: {why}"));
                assert_eq!(
                    (header.us, header.initial),
                    (Color::Black, Position::startpos())
                );
            }
        }
    }

    #[test]
    fn unsupported_games_are_refused() {
        let bughouse = read(json!({"variant": {"key": "bughouse"}}));
        assert_eq!(
            bughouse.unwrap_err(),
            UnsupportedGame::Variant(Variant::Unknown)
        );
        let strangers = read(json!({"black": {"aiLevel": 3}}));
        assert_eq!(
            strangers.unwrap_err(),
            UnsupportedGame::NotOurs(Username::new("rob"))
        );
        let set_up = json!({"variant": {"key": "fromPosition"}, "initialFen": "nonsense"});
        assert!(matches!(read(set_up), Err(UnsupportedGame::Position(_))));
        let ordinary = read(json!({"initialFen": "nonsense"})).unwrap();
        assert_eq!(ordinary.initial, Position::startpos());
    }
}
