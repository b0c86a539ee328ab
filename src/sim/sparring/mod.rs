//! Users that play by themselves.

mod choice;
mod resident;

use super::TimeControl;

pub(super) use resident::Resident;

/// What a sparring user is like.
#[derive(Clone, Debug)]
pub struct Sparring {
    pub name: String,
    pub rating: u32,
    pub kind: Kind,
    /// Takes every challenge; otherwise declines them all.
    pub accepts: bool,
    /// Resigns when this many pawns of material behind; `None`: plays on to the end.
    pub resigns: Option<u32>,
    /// Milliseconds of the site's time that a move takes, at least.
    pub delay_ms: u64,
    /// Whom it challenges, and to what.
    pub challenges: Option<Plan>,
}

impl Sparring {
    /// A bot that accepts every challenge, moves after 200 ms and plays on to the end.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            rating: 1500,
            kind,
            accepts: true,
            resigns: None,
            delay_ms: 200,
            challenges: None,
        }
    }

    pub fn challenging(self, plan: Plan) -> Self {
        Self {
            challenges: Some(plan),
            ..self
        }
    }
}

/// How a sparring user chooses its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any legal move.
    Random,
    /// Mates, else takes the most valuable piece, else checks, else any legal move.
    Greedy,
    /// Our own engine with this many nodes for a move.
    Engine { nodes: u64 },
    /// Never moves.
    Sleeper,
}

/// The challenges that a sparring user sends.
#[derive(Clone, Debug)]
pub struct Plan {
    pub opponent: String,
    /// Taken in turn.
    pub time_controls: Vec<TimeControl>,
    /// The challenger's colour, taken in turn.
    pub colors: Vec<ColorChoice>,
    pub rated: bool,
    /// `standard`, `chess960` or `fromPosition`.
    pub variant: String,
    /// Start position for `fromPosition` and `chess960`.
    pub fen: Option<String>,
    /// Games in total; `None`: for ever.
    pub count: Option<usize>,
    /// Games and open challenges at once.
    pub at_once: usize,
}

impl Plan {
    /// Casual standard games without end, one at a time, random colours.
    pub fn against(opponent: impl Into<String>, time_control: TimeControl) -> Self {
        Self {
            opponent: opponent.into(),
            time_controls: vec![time_control],
            colors: vec![ColorChoice::Random],
            rated: false,
            variant: "standard".to_owned(),
            fen: None,
            count: None,
            at_once: 1,
        }
    }
}

/// Which colour a challenger asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    White,
    Black,
    Random,
}

/// A game in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSummary {
    pub id: String,
    pub white: String,
    pub black: String,
    pub variant: &'static str,
    pub time_control: TimeControl,
    pub rated: bool,
    pub plies: usize,
    /// Lichess's word for how it stands: `started`, `mate`, `resign`, `outoftime`, ...
    pub status: &'static str,
    /// `1-0`, `0-1`, `1/2-1/2`; `*` while it goes on or when it was aborted.
    pub result: &'static str,
}
