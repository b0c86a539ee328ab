//! State and commands of a UCI session.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::format::{
    best_move_line, board_text, evaluation_text, game_result, info_line, moves_text,
};
use super::options::{self, DEFAULT_ELO, DEFAULT_HASH_MIB, DEFAULT_OVERHEAD_MS};
use super::parse::{has_limit, number, read_limits, read_position};
use super::{Output, genfens};
use crate::{
    Elo, Engine, EngineOptions, Limits, SearchHandle, SearchInfo, Strength, Task, bench, material,
    nnue,
};
use knightwatch_chess::{CastlingNotation, Game, Position, Variant, perft};

/// Interval at which, while a search is completed, the output is checked for being closed.
const OUTPUT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// First words of UCI lines.
pub(super) const COMMANDS: [&str; 19] = [
    "bench",
    "d",
    "debug",
    "eval",
    "genfens",
    "go",
    "isready",
    "moves",
    "ponderhit",
    "position",
    "quit",
    "register",
    "result",
    "setoption",
    "spsa",
    "stop",
    "uci",
    "ucinewgame",
    "xboard",
];

/// Returns whether the first word of the line is a command of UCI or of this engine.
pub fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    COMMANDS.contains(&word)
}

#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Quit,
}

/// A running search.
struct Running {
    search: SearchHandle,
    done: mpsc::Receiver<()>,
    /// It only ends on `stop`, ...
    is_endless: bool,
    /// ... or until `ponderhit`.
    is_pondering: bool,
}

pub(super) struct Session {
    pub(super) engine: Engine,
    pub(super) output: Output,
    /// `None` after a position that was refused: the one before must not be searched in its place.
    pub(super) game: Option<Game>,
    /// Rules of the positions to come.
    pub(super) variant: Variant,
    running: Option<Running>,
    pub(super) overhead: Duration,
    /// Whether the GUI lets the engine ponder.
    pub(super) ponders: bool,
    pub(super) multi_pv: usize,
    pub(super) notation: CastlingNotation,
    /// Playing strength if `is_limited`.
    pub(super) elo: Elo,
    pub(super) is_limited: bool,
    /// Whether scores include WDL statistics.
    pub(super) shows_wdl: bool,
    /// Random seed of the game, for limited strength.
    seed: u64,
    /// Whether a command has failed.
    pub(super) has_failed: bool,
}

impl Session {
    pub(super) fn new(output: Output) -> Session {
        Session {
            engine: Engine::new(EngineOptions {
                hash_mib: DEFAULT_HASH_MIB,
                threads: 1,
            }),
            output,
            game: Some(Game::new(Position::startpos())),
            variant: Variant::Standard,
            running: None,
            overhead: Duration::from_millis(DEFAULT_OVERHEAD_MS),
            ponders: false,
            multi_pv: 1,
            notation: CastlingNotation::Standard,
            elo: Elo::nearest(DEFAULT_ELO),
            is_limited: false,
            shows_wdl: false,
            seed: fastrand::u64(..),
            has_failed: false,
        }
    }

    /// Executes a command.
    pub(super) fn execute(&mut self, line: &str) -> Flow {
        let words: Vec<&str> = line.split_whitespace().collect();
        let done = match *words.as_slice() {
            [] | ["debug" | "register", ..] => Ok(()),
            ["quit", ..] => return Flow::Quit,
            ["uci", ..] => {
                self.identify();
                Ok(())
            }
            ["isready", ..] => {
                self.output.write_line("readyok");
                Ok(())
            }
            ["ucinewgame", ..] => {
                self.stop();
                self.new_game();
                Ok(())
            }
            ["setoption", ref rest @ ..] => self.set_option(rest),
            ["position", ref rest @ ..] => {
                let read = read_position(self.variant, rest);
                self.game = read.as_ref().ok().cloned();
                read.map(drop)
            }
            ["go", "perft", ref rest @ ..] => self.perft(rest),
            ["go", ref rest @ ..] => self.go(rest),
            ["stop", ..] => {
                self.stop();
                Ok(())
            }
            ["ponderhit", ..] => {
                if let Some(running) = &mut self.running {
                    running.search.ponderhit();
                    running.is_pondering = false;
                }
                Ok(())
            }
            ["bench", ref rest @ ..] => self.bench(rest),
            ["genfens", ref rest @ ..] => self.genfens(rest),
            ["spsa", ..] => options::spsa_lines().map(|lines| self.output.write_line(&lines)),
            ["d", ..] => self
                .position("d")
                .map(|pos| self.output.write_line(&board_text(pos))),
            ["eval", ..] => self.position("eval").map(|pos| {
                self.output.write_line(&evaluation_text(&self.engine, pos));
            }),
            ["moves", ..] => self.position("moves").map(|pos| {
                let moves = moves_text(&pos.legal_moves(), self.notation);
                self.output.write_line(moves.trim_start());
            }),
            ["result", ..] => self.game("result").map(|game| {
                let result = game_result(game).map_or("*".to_owned(), |result| result.to_string());
                self.output.write_line(&result);
            }),
            [unknown, ..] => Err(format!("unknown command: {unknown}")),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
        Flow::Continue
    }

    /// A line of that length is a `position`, so the position before it must not be searched.
    pub(super) fn refuse_long_line(&mut self) {
        self.game = None;
        self.fail("line too long, ignored; send the position again");
    }

    fn fail(&mut self, error: &str) {
        self.has_failed = true;
        self.output.info_string(error);
    }

    /// The game, or an error for this command.
    fn game(&self, command: &str) -> Result<&Game, String> {
        self.game.as_ref().ok_or_else(|| {
            format!("{command}: no position, since the last one was refused; send another")
        })
    }

    fn position(&self, command: &str) -> Result<&Position, String> {
        self.game(command).map(Game::position)
    }

    /// Forgets everything learned.
    pub(super) fn new_game(&mut self) {
        self.engine.new_game();
        self.seed = fastrand::u64(..);
    }

    fn identify(&self) {
        let mut text = format!(
            "id name Knightwatch {}\nid author the Knightwatch developers\n",
            env!("CARGO_PKG_VERSION")
        );
        for option in options::all() {
            text += &format!("{option}\n");
        }
        let evaluation = nnue::describe(self.engine.setting().network.as_deref());
        self.output
            .write_line(&format!("{text}info string {evaluation}\nuciok"));
    }

    /// Starts a search with the multi-PV and strength of the session.
    pub(super) fn start(
        &self,
        game: Game,
        mut limits: Limits,
        on_info: impl FnMut(&SearchInfo) + Send + 'static,
        on_done: impl FnOnce(SearchInfo) + Send + 'static,
    ) -> SearchHandle {
        limits.multi_pv = self.multi_pv;
        limits.strength = self.is_limited.then_some(Strength {
            elo: self.elo,
            seed: self.seed,
        });
        self.engine.start(Task {
            game_id: 0,
            game,
            limits,
            on_info: Box::new(on_info),
            on_done: Box::new(on_done),
        })
    }

    fn go(&mut self, words: &[&str]) -> Result<(), String> {
        self.stop();
        let game = match self.game("go") {
            Ok(game) => game.clone(),
            Err(error) => {
                self.fail(&error);
                self.output.write_line("bestmove 0000");
                return Ok(());
            }
        };
        let (overhead, ponders) = (self.overhead, self.ponders);
        let limits = read_limits(words, &game, overhead, ponders, |error| self.fail(error));
        let (is_endless, is_pondering) = (limits.infinite || !has_limit(&limits), limits.ponder);
        let (sender, done) = mpsc::channel();
        let (info_output, best_output) = (self.output.clone(), self.output.clone());
        let notation = self.notation;
        let wdl_material = self.shows_wdl.then(|| material(game.position()));
        let search = self.start(
            game,
            limits,
            move |info| info_output.write_line(&info_line(info, notation, wdl_material)),
            move |result| {
                best_output.write_line(&best_move_line(&result, notation));
                // The session may be over already.
                let _ = sender.send(());
            },
        );
        self.running = Some(Running {
            search,
            done,
            is_endless,
            is_pondering,
        });
        Ok(())
    }

    /// Stops the running search and waits for its result.
    pub(super) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.search.stop();
            let _ = running.done.recv();
        }
    }

    /// Waits for a search with a limit, as long as the output is open, and stops one without.
    pub(super) fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            if running.is_endless || running.is_pondering {
                running.search.stop();
            }
            while running.done.recv_timeout(OUTPUT_POLL_INTERVAL) == Err(RecvTimeoutError::Timeout)
            {
                if !self.output.is_open() {
                    running.search.stop();
                }
            }
        }
    }

    fn perft(&self, words: &[&str]) -> Result<(), String> {
        let depth = words.first().copied().unwrap_or("1");
        let depth: u32 = number("perft", depth)?;
        if depth > perft::MAX_DEPTH {
            return Err(format!(
                "perft: at most {} plies, not {depth}",
                perft::MAX_DEPTH
            ));
        }
        let position = self.position("perft")?;
        let started = Instant::now();
        let mut total = 0;
        for (mv, nodes) in perft::divide(position, depth) {
            self.output
                .write_line(&format!("{}: {nodes}", mv.uci(self.notation)));
            total += nodes;
        }
        let total = if depth == 0 { 1 } else { total };
        let ms = started.elapsed().as_millis();
        self.output
            .write_line(&format!("info time {ms}\n\nNodes searched: {total}"));
        Ok(())
    }

    fn genfens(&self, words: &[&str]) -> Result<(), String> {
        if self.variant != Variant::Standard {
            return Err(
                "genfens: has positions of standard chess only; set UCI_Variant to chess".into(),
            );
        }
        genfens::run(words, &self.engine.setting(), &self.output)
    }

    fn bench(&mut self, words: &[&str]) -> Result<(), String> {
        self.stop();
        if self.variant != Variant::Standard {
            let text = "bench: searches positions of standard chess, whatever UCI_Variant is";
            self.output.info_string(text);
        }
        let depth = match words.first() {
            Some(depth) => number("bench", depth)?,
            None => bench::DEPTH,
        };
        let result = bench::search(&self.engine.setting(), depth, |_, _, _| {});
        self.output
            .write_line(&format!("{} nodes {} nps", result.nodes, result.nps()));
        Ok(())
    }
}
