//! How strong a game is played, and why.

use serde::{Deserialize, Serialize};

use super::MatchInput;
use crate::config::{Strength, StrengthMode};
use crate::engine::Elo;

/// Where ratings begin on Lichess: what is assumed of who has none.
const BEGINNING: i32 = 1500;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayingStrength {
    /// The level in Elo; `None` for full strength.
    pub elo: Option<u16>,
    /// In words for the operator, where something else than full strength was asked for.
    pub said: Option<String>,
}

impl PlayingStrength {
    /// What the settings ask for, in this game.
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
            let why = "at full strength, for the game is rated, and a limited engine there is sandbagging (allow_rated = \
                       true would let it)";
            return Self {
                elo: None,
                said: Some(why.to_owned()),
            };
        }
        let elo = Elo::nearest(wanted);
        Self {
            elo: Some(elo.get()),
            said: Some(format!("at {elo} Elo{whose}")),
        }
    }

    /// The level, as the engine has it.
    pub fn level(&self) -> Option<Elo> {
        self.elo.map(|elo| Elo::nearest(elo.into()))
    }

    /// Plies after which somebody of this strength is out of book: none at 1000, nine moves at 2800.
    pub fn book_plies(&self) -> usize {
        self.level().map_or(usize::MAX, |elo| {
            usize::from(elo.get() - Elo::MIN.get()) / 100
        })
    }
}

/// What the opponent is taken for, and why. A rating that is still uncertain says half as much: Lichess moves it by
/// hundreds of points a game, and the truth is mostly nearer to where all begin.
fn estimate(game: &MatchInput) -> (i32, String) {
    match game.rating {
        None => (BEGINNING, ", for the opponent has no rating".to_owned()),
        Some(rating) if game.provisional => (
            BEGINNING.midpoint(rating),
            format!(", for the opponent has {rating}, which is uncertain"),
        ),
        Some(rating) => (rating, format!(", for the opponent has {rating}")),
    }
}
