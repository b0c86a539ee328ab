//! Playing strength of a game.

use serde::{Deserialize, Serialize};

use super::MatchInput;
use crate::config::{Strength, StrengthMode};
use crate::engine::Elo;

/// Rating at which accounts start on Lichess, assumed for opponents without one.
const DEFAULT_RATING: i32 = 1500;

/// Level at which a game is played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayingStrength {
    /// Level in Elo; `None` for full strength.
    pub elo: Option<u16>,
    /// Text for the operator, if something else than full strength was configured.
    #[serde(alias = "said")]
    pub description: Option<String>,
}

impl PlayingStrength {
    /// Level for this game according to the settings.
    pub fn of(strength: Strength, game: &MatchInput) -> Self {
        let (wanted, whose) = match strength.mode {
            StrengthMode::Full => return Self::default(),
            StrengthMode::Elo(elo) => (i32::from(elo), String::new()),
            StrengthMode::Adaptive { offset } => {
                let (rating, whose) = estimate(game);
                (rating.saturating_add(offset.into()), whose)
            }
        };
        if !strength.limits(game.rated) {
            let reason = "at full strength, for the game is rated, and a limited engine there is sandbagging (allow_rated = \
                       true would let it)";
            return Self {
                elo: None,
                description: Some(reason.to_owned()),
            };
        }
        let elo = Elo::nearest(wanted);
        Self {
            elo: Some(elo.get()),
            description: Some(format!("at {elo} Elo{whose}")),
        }
    }

    /// Level as the engine's type.
    pub fn level(&self) -> Option<Elo> {
        self.elo.map(|elo| Elo::nearest(elo.into()))
    }

    /// Plies after which a player of this level is out of book: none at 1000 Elo, 18 at 2800.
    pub fn book_plies(&self) -> usize {
        self.level().map_or(usize::MAX, |elo| {
            usize::from(elo.get() - Elo::MIN.get()) / 100
        })
    }
}

/// Assumed rating of the opponent, and the reason. A provisional rating counts half: Lichess changes it by hundreds
/// of points a game, and the true rating is mostly closer to the initial one.
fn estimate(game: &MatchInput) -> (i32, String) {
    match game.rating {
        None => (
            DEFAULT_RATING,
            ", for the opponent has no rating".to_owned(),
        ),
        Some(rating) if game.provisional => (
            DEFAULT_RATING.midpoint(rating),
            format!(", for the opponent has {rating}, which is uncertain"),
        ),
        Some(rating) => (rating, format!(", for the opponent has {rating}")),
    }
}
