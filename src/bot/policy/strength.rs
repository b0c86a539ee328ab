//! How strong a game is played, and why.

use serde::{Deserialize, Serialize};

use super::MatchInput;
use crate::config::{Aim, Strength};
use crate::engine::Elo;

/// Where ratings begin on Lichess: what is assumed of who has none.
const DEFAULT_RATING: i32 = 1500;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayingStrength {
    /// The level in Elo; `None` for full strength.
    pub elo: Option<u16>,
    /// In words for the operator, where something else than full strength was asked for.
    #[serde(alias = "said")]
    pub description: Option<String>,
}

impl PlayingStrength {
    /// What the settings ask for, in this game.
    pub fn of(strength: Strength, game: &MatchInput) -> Self {
        let (wanted, whose) = match strength.aim {
            Aim::Full => return Self::default(),
            Aim::Elo(elo) => (i32::from(elo), String::new()),
            Aim::Adaptive { offset } => {
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
