//! UCI engine as a child process.

use std::path::Path;
use std::time::{Duration, Instant};

use knightwatch_chess::{Game, Move, Position, Variant};
use knightwatch_engine::Score;
use knightwatch_external::{Deadlines, EngineError, EngineProcess, Go, Launch};

/// Time limit for `uciok`.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for an answer, however deep the search.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3_600);

/// A running engine; killed on drop.
pub(crate) struct UciEngine {
    /// The name it reports.
    pub name: String,
    process: EngineProcess,
}

impl UciEngine {
    /// Starts the engine.
    ///
    /// # Errors
    /// When the program cannot be started or does not speak UCI.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Result<Self, EngineError> {
        let program = program.to_string_lossy();
        let launch = Launch {
            timeout: START_TIMEOUT,
            ..Launch::new([&[&*program], arguments].concat())
        };
        let process = EngineProcess::start(&launch)?;
        let name = process.name().to_owned();
        Ok(Self { name, process })
    }

    /// Sets an option.
    ///
    /// # Errors
    /// When the option or the value does not exist: most engines would ignore the error.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        self.process.set_options([(name, value)])
    }

    /// Sets a numeric option to the nearest valid value. Does nothing if there is no such option.
    ///
    /// # Errors
    /// When the engine has exited.
    pub(crate) fn set_clamped(&mut self, name: &str, value: i64) -> Result<(), EngineError> {
        self.process.set_clamped(name, value)
    }

    /// Checks that the engine plays a variant.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check_variant(&self, variant: Variant) -> Result<(), EngineError> {
        self.process.check_variant(variant)
    }

    /// Starts a new game from this position.
    ///
    /// # Errors
    /// When the engine has exited, or the game is Chess960 and the engine does not support it.
    pub(crate) fn new_game(&mut self, start: &Position) -> Result<(), EngineError> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        self.process.new_game(start, deadline)
    }

    /// Searches within limits. Returns the move and its score.
    ///
    /// # Errors
    /// When the engine sends no legal move.
    pub(crate) fn search(
        &mut self,
        game: &Game,
        limits: &Go,
    ) -> Result<(Move, Score), EngineError> {
        self.search_within(ANSWER_TIMEOUT, game, limits)
    }

    /// The same within this time.
    ///
    /// # Errors
    /// As [`search`](Self::search); [`EngineError::TooLate`] after the time, when it must not be used any more.
    pub(crate) fn search_within(
        &mut self,
        timeout: Duration,
        game: &Game,
        limits: &Go,
    ) -> Result<(Move, Score), EngineError> {
        let deadlines = Deadlines {
            soft: None,
            hard: Instant::now() + timeout,
            stop_timeout: timeout,
        };
        let answer = self.process.search(game, limits, deadlines, |_| ())?;
        let score = answer.info.score.unwrap_or(Score::Centipawns(0));
        Ok((answer.mv, score))
    }
}
