//! Users that play by themselves.
//!
//! A [`Kind`] chooses the moves; [`Habits`] are what else a user does, good and bad, and go together with any kind. All
//! choices follow the seed of the site and the user's name: against the same opponent's choices they are the same.

mod challenger;
mod choice;
mod habits;
mod keys;
mod resident;
mod seat;
mod talk;
mod words;

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;

use super::TimeControl;

pub use habits::{Habits, Quit, Talk};

pub(super) use choice::Thinkers;
pub(super) use resident::Resident;
pub(super) use words::read as read_words;

/// What a sparring user is like.
///
/// It can be read from a text as on the command line, `NAME,key=value,key,...`, and from a table of the same keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "keys::Keys")]
pub struct Sparring {
    pub name: String,
    /// How many of them there are. More than one bear their number behind the name.
    pub copies: usize,
    /// Has the BOT title; otherwise it is a human to all appearances.
    pub bot: bool,
    pub rating: u32,
    pub kind: Kind,
    /// What a move takes, in the site's time.
    pub delay: RangeInclusive<Duration>,
    pub habits: Habits,
    /// Whom it challenges, and to what.
    pub challenges: Option<Plan>,
    /// Takes part in every arena for bots.
    pub arenas: bool,
}

impl Sparring {
    /// A bot that accepts every challenge, moves after 200 to 300 ms and plays on to the end.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            copies: 1,
            bot: true,
            rating: 1500,
            kind,
            delay: Duration::from_millis(200)..=Duration::from_millis(300),
            habits: Habits::default(),
            challenges: None,
            arenas: false,
        }
    }

    pub fn challenging(self, plan: Plan) -> Self {
        Self {
            challenges: Some(plan),
            ..self
        }
    }

    /// Each of its copies as a user of his own.
    pub(super) fn each(self) -> Vec<Self> {
        if self.copies <= 1 {
            return vec![self];
        }
        (1..=self.copies)
            .map(|number| Self {
                name: format!("{}{number}", self.name),
                copies: 1,
                ..self.clone()
            })
            .collect()
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
#[derive(Clone, Debug, PartialEq)]
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
    /// Challenges that are sent in one go. Each replaces the one before it, unless that was accepted at once.
    pub burst: usize,
    /// Takes back every so-manieth challenge before long; `None`: none.
    pub cancels: Option<usize>,
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
            burst: 1,
            cancels: None,
        }
    }
}

/// Which colour a challenger asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// What White and Black have on their clocks; `None` in unlimited games.
    pub left: [Option<Duration>; 2],
    /// How much of their clocks planted faults have taken from White and Black, by holding back lines and moves.
    pub held_up: [Duration; 2],
}

/// `aBcDeFgH  Rookie - MyBot  0-1 mate  43 plies  60+0`
impl fmt::Display for GameSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id, white, black, ..
        } = self;
        let (result, status, plies) = (self.result, self.status, self.plies);
        let clock = self.time_control;
        write!(
            f,
            "{id}  {white} - {black}  {result} {status}  {plies} plies  {clock}"
        )?;
        if self.variant != "standard" {
            write!(f, "  {}", self.variant)?;
        }
        Ok(())
    }
}
