//! Summaries of games.

use std::fmt;
use std::time::Duration;

use crate::time_control::TimeControl;

/// Summary of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSummary {
    /// Id of the game.
    pub id: String,
    /// Name of White.
    pub white: String,
    /// Name of Black.
    pub black: String,
    /// Key of the variant.
    pub variant: &'static str,
    /// Time control.
    pub time_control: TimeControl,
    /// The game is rated.
    pub rated: bool,
    /// Plies played.
    pub plies: usize,
    /// Lichess's status name: `started`, `mate`, `resign`, `outoftime`, ...
    pub status: &'static str,
    /// `1-0`, `0-1`, `1/2-1/2`; `*` for running and aborted games.
    pub result: &'static str,
    /// Remaining time of White and Black; `None` in unlimited games.
    pub time_left: [Option<Duration>; 2],
    /// Clock time that White and Black lost to injected delays of lines and moves.
    pub fault_delay: [Duration; 2],
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
