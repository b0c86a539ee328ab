//! UCI front end of the engine.
//!
//! Implements the protocol by Stefan Meyer-Kahlen (2006) and the customary commands `bench`, `d`, `eval` and `go
//! perft`. Invalid input never has_limit the session; it is answered by an `info string`.

mod format;
mod parse;

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::nnue::{self, Network};
use crate::{
    Elo, Engine, EngineOptions, Parameters, SearchHandle, Setting, Strength, Task, Tunable, bench,
    material,
};
use knightwatch_chess::{CastlingNotation, Game, Position, perft};

use self::format::{best_move_line, board_text, evaluation_text, info_line};
use parse::{check, has_limit, number, spin};

pub use parse::{read_limits, read_position};

/// Special values of `EvalFile`: the embedded network, and none.
const EMBEDDED: &str = "<embedded>";
const NO_NETWORK: &str = "<none>";

const DEFAULT_HASH_MIB: usize = 16;
const MAX_HASH_MIB: usize = 1 << 20;
const MAX_THREADS: usize = 512;
const MAX_MULTI_PV: usize = 256;
const DEFAULT_OVERHEAD_MS: u64 = 10;
const MAX_OVERHEAD_MS: u64 = 10_000;
const DEFAULT_ELO: i32 = 1_500;
/// Interval at which, after the end of the input, the output is checked for being closed.
const OUTPUT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Longest accepted input line: a game of 200,000 plies.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Serves a GUI until it sends `quit` or closes the input. A search with a limit is completed when the input closes,
/// so that the engine can be used in a pipe.
///
/// # Errors
///
/// If the input cannot be read or the output cannot be written.
pub fn run(mut input: impl BufRead, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut session = Session::new(Output::new(output));
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?
            == 0
        {
            session.finish();
            return session.output.check();
        }
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            session.output.info_string("line too long, ignored");
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if session.execute(text.trim()) == Flow::Quit {
            session.stop();
            return session.output.check();
        }
        session.output.check()?;
    }
}

#[derive(PartialEq, Eq)]
enum Flow {
    Continue,
    Quit,
}

/// Shared output of this thread and the engine's threads.
#[derive(Clone)]
struct Output(Arc<Mutex<Sink>>);

struct Sink {
    writer: Box<dyn Write + Send>,
    failure: Option<io::Error>,
}

impl Output {
    fn new(writer: impl Write + Send + 'static) -> Output {
        Output(Arc::new(Mutex::new(Sink {
            writer: Box::new(writer),
            failure: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one or several lines at once.
    fn write_line(&self, text: &str) {
        let mut sink = self.lock();
        let written = writeln!(sink.writer, "{text}").and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.failure.get_or_insert(error);
        }
    }

    /// Whether all writes have succeeded so far.
    fn is_open(&self) -> bool {
        self.lock().failure.is_none()
    }

    fn info_string(&self, what: &str) {
        for line in what.lines() {
            self.write_line(&format!("info string {line}"));
        }
    }

    /// Returns the first write error, if any.
    fn check(&self) -> io::Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }
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

struct Session {
    engine: Engine,
    output: Output,
    game: Game,
    running: Option<Running>,
    overhead: Duration,
    multi_pv: usize,
    notation: CastlingNotation,
    /// Playing strength if `is_limited`.
    elo: Elo,
    is_limited: bool,
    /// Whether scores include WDL statistics.
    shows_wdl: bool,
    /// Random seed of the game, for limited strength.
    seed: u64,
}

impl Session {
    fn new(output: Output) -> Session {
        Session {
            engine: Engine::new(EngineOptions {
                hash_mib: DEFAULT_HASH_MIB,
                threads: 1,
            }),
            output,
            game: Game::new(Position::startpos()),
            running: None,
            overhead: Duration::from_millis(DEFAULT_OVERHEAD_MS),
            multi_pv: 1,
            notation: CastlingNotation::Standard,
            elo: Elo::nearest(DEFAULT_ELO),
            is_limited: false,
            shows_wdl: false,
            seed: fastrand::u64(..),
        }
    }

    /// Executes a command.
    fn execute(&mut self, line: &str) -> Flow {
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
                self.engine.new_game();
                self.game = Game::new(Position::startpos());
                self.seed = fastrand::u64(..);
                Ok(())
            }
            ["setoption", ref rest @ ..] => self.set_option(rest),
            ["position", ref rest @ ..] => read_position(rest).map(|game| self.game = game),
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
            ["d", ..] => {
                self.output.write_line(&board_text(self.game.position()));
                Ok(())
            }
            ["eval", ..] => {
                self.output
                    .write_line(&evaluation_text(&self.engine, self.game.position()));
                Ok(())
            }
            [unknown, ..] => Err(format!("unknown command: {unknown}")),
        };
        if let Err(error) = done {
            self.output.info_string(&error);
        }
        Flow::Continue
    }

    fn identify(&self) {
        let mut parameters = String::new();
        for tunable in Parameters::tunable() {
            let Tunable {
                name,
                value,
                min,
                max,
                ..
            } = tunable;
            writeln!(
                parameters,
                "option name {name} type spin default {value} min {min} max {max}"
            )
            .expect("a string takes all");
        }
        self.output.write_line(&format!(
            "id name Knightwatch {}\n\
             id author the Knightwatch developers\n\
             option name Hash type spin default {DEFAULT_HASH_MIB} min 1 max {MAX_HASH_MIB}\n\
             option name Threads type spin default 1 min 1 max {MAX_THREADS}\n\
             option name Move Overhead type spin default {DEFAULT_OVERHEAD_MS} min 0 max {MAX_OVERHEAD_MS}\n\
             option name MultiPV type spin default 1 min 1 max {MAX_MULTI_PV}\n\
             option name Ponder type check default false\n\
             option name UCI_Chess960 type check default false\n\
             option name UCI_ShowWDL type check default false\n\
             option name UCI_LimitStrength type check default false\n\
             option name UCI_Elo type spin default {DEFAULT_ELO} min {} max {}\n\
             option name EvalFile type string default {EMBEDDED}\n\
             {parameters}info string {}\n\
             uciok",
            env!("CARGO_PKG_VERSION"),
            Elo::MIN,
            Elo::MAX,
            nnue::describe(self.engine.setting().network.as_deref())
        ));
    }

    fn set_option(&mut self, words: &[&str]) -> Result<(), String> {
        let ["name", rest @ ..] = words else {
            return Err("setoption: expected `name`".to_owned());
        };
        let split = rest.iter().position(|&word| word == "value");
        let (name, value) = match split {
            Some(at) => (rest[..at].join(" "), rest[at + 1..].join(" ")),
            None => (rest.join(" "), String::new()),
        };
        match name.to_ascii_lowercase().as_str() {
            "hash" => {
                let mib = spin(&name, &value, 1, MAX_HASH_MIB)?;
                self.engine.set_hash(mib);
                let got = self.engine.hash_mib();
                if got < mib {
                    self.output
                        .info_string(&format!("Hash: only {got} MiB of memory available"));
                }
            }
            "threads" => self
                .engine
                .set_threads(spin(&name, &value, 1, MAX_THREADS)?),
            "move overhead" => {
                self.overhead = Duration::from_millis(spin(&name, &value, 0, MAX_OVERHEAD_MS)?);
            }
            "multipv" => self.multi_pv = spin(&name, &value, 1, MAX_MULTI_PV)?,
            "ponder" => {
                check(&name, &value)?;
            }
            "uci_chess960" => {
                self.notation = match check(&name, &value)? {
                    true => CastlingNotation::KingTakesRook,
                    false => CastlingNotation::Standard,
                };
            }
            "uci_showwdl" => self.shows_wdl = check(&name, &value)?,
            "uci_limitstrength" => self.is_limited = check(&name, &value)?,
            "uci_elo" => {
                let (least, most) = (Elo::MIN.get().into(), Elo::MAX.get().into());
                self.elo = Elo::nearest(spin(&name, &value, least, most)?);
            }
            "evalfile" => {
                let network = match value.as_str() {
                    "" | EMBEDDED => Network::embedded(),
                    NO_NETWORK => None,
                    path => Some(Arc::new(
                        Network::open(Path::new(path)).map_err(|e| format!("EvalFile: {e}"))?,
                    )),
                };
                self.stop();
                self.output.info_string(&nnue::describe(network.as_deref()));
                let parameters = self.engine.setting().parameters;
                self.engine.set(Setting {
                    network,
                    parameters,
                });
            }
            name => self.set_parameter(name, &value)?,
        }
        Ok(())
    }

    /// Sets a search parameter; builds without the feature `tune` have none.
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        let tunable = Parameters::tunable()
            .iter()
            .find(|tunable| tunable.name == name)
            .ok_or_else(|| format!("no such option: {name}"))?;
        let value = spin(name, value, tunable.min, tunable.max)?;
        self.stop();
        let mut setting = self.engine.setting();
        setting
            .parameters
            .set(name, value)
            .map_err(|error| error.to_string())?;
        self.engine.set(setting);
        Ok(())
    }

    fn go(&mut self, words: &[&str]) -> Result<(), String> {
        self.stop();
        let info_string = |what: &str| self.output.info_string(what);
        let mut limits = read_limits(words, &self.game, self.overhead, info_string);
        limits.multi_pv = self.multi_pv;
        limits.strength = self.is_limited.then_some(Strength {
            elo: self.elo,
            seed: self.seed,
        });
        let (is_endless, is_pondering) = (limits.infinite || !has_limit(&limits), limits.ponder);
        let (sender, done) = mpsc::channel();
        let (info, best) = (self.output.clone(), self.output.clone());
        let notation = self.notation;
        let wdl_material = self.shows_wdl.then(|| material(self.game.position()));
        let search = self.engine.start(Task {
            game_id: 0,
            game: self.game.clone(),
            limits,
            on_info: Box::new(move |report| {
                info.write_line(&info_line(report, notation, wdl_material));
            }),
            on_done: Box::new(move |report| {
                best.write_line(&best_move_line(&report, notation));
                // The session may be over already.
                let _ = sender.send(());
            }),
        });
        self.running = Some(Running {
            search,
            done,
            is_endless,
            is_pondering,
        });
        Ok(())
    }

    /// Stops the running search and waits for its result.
    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.search.stop();
            let _ = running.done.recv();
        }
    }

    /// End of input: waits for a search with a limit, as long as the output is open.
    fn finish(&mut self) {
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
        let started = Instant::now();
        let mut total = 0;
        for (mv, nodes) in perft::divide(self.game.position(), depth) {
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

    fn bench(&mut self, words: &[&str]) -> Result<(), String> {
        self.stop();
        let depth = match words.first() {
            Some(depth) => number("bench", depth)?,
            None => bench::DEPTH,
        };
        let report = bench::search(&self.engine.setting(), depth, |_, _, _| {});
        self.output
            .write_line(&format!("{} nodes {} nps", report.nodes, report.nps()));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
