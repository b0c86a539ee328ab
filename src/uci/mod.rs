//! The UCI front end of the engine, for any chess GUI.
//!
//! The protocol is that of Stefan Meyer-Kahlen, 2006, with the customary additions `bench`, `d`, `eval` and
//! `go perft`. Whatever comes in, the session goes on: what cannot be understood is answered by an
//! `info string`.

mod show;
mod words;

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::chess::{CastlingNotation, Game, Position, perft};
use crate::engine::nnue::{self, Network};
use crate::engine::{
    Elo, Engine, EngineOptions, Parameters, Setting, Strength, Task, Thinking, Tunable, bench,
    material,
};

use show::{best_move_line, draw, evaluation, info_line};
use words::{check, ends, number, spin};

pub use words::{read_limits, read_position};

/// Values of `EvalFile` that are no files: the network in the binary, and none at all.
const EMBEDDED: &str = "<embedded>";
const BY_HAND: &str = "<none>";

const DEFAULT_HASH_MIB: usize = 16;
const MAX_HASH_MIB: usize = 1 << 20;
const MAX_THREADS: usize = 512;
const MAX_MULTI_PV: usize = 256;
const DEFAULT_OVERHEAD_MS: u64 = 10;
const MAX_OVERHEAD_MS: u64 = 10_000;
const DEFAULT_ELO: i32 = 1_500;
/// After the end of the input it is looked so often whether anybody reads what is still found.
const HEARING: Duration = Duration::from_millis(100);

/// The longest line that is taken, in bytes: a game of 200,000 plies.
const LONGEST_LINE: u64 = 1 << 20;

/// Serves a GUI until it says `quit` or closes the input. A search with an end of its own is finished when
/// the input closes, so that the engine can be used in a pipe.
///
/// # Errors
///
/// When the input cannot be read or the output not be written.
pub fn run(mut input: impl BufRead, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut session = Session::new(Output::new(output));
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            session.finish();
            return session.output.check();
        }
        if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            session.output.complain("the line is too long, ignored");
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if session.obey(text.trim()) == Next::Quit {
            session.stop();
            return session.output.check();
        }
        session.output.check()?;
    }
}

#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Quit,
}

/// Where the lines go, from this thread and from those of the engine.
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

    /// Writes a line, or several, at once.
    fn say(&self, text: &str) {
        let mut sink = self.lock();
        let written = writeln!(sink.writer, "{text}").and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.failure.get_or_insert(error);
        }
    }

    /// Whether there is anybody left to read it, as far as is known.
    fn is_heard(&self) -> bool {
        self.lock().failure.is_none()
    }

    fn complain(&self, what: &str) {
        for line in what.lines() {
            self.say(&format!("info string {line}"));
        }
    }

    /// The first failure to write, if there was one.
    fn check(&self) -> io::Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }
}

/// A search that is on.
struct Running {
    thinking: Thinking,
    done: mpsc::Receiver<()>,
    /// It ends only when it is told to, ...
    endless: bool,
    /// ... or does so until the expected move is played.
    ponders: bool,
}

struct Session {
    engine: Engine,
    output: Output,
    game: Game,
    running: Option<Running>,
    overhead: Duration,
    multi_pv: usize,
    notation: CastlingNotation,
    /// How strong to play, if `is_limited`.
    elo: Elo,
    is_limited: bool,
    /// With every score, how games with it end.
    shows_chances: bool,
    /// Each game has its own chances.
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
            shows_chances: false,
            seed: fastrand::u64(..),
        }
    }

    /// Does what a line says.
    fn obey(&mut self, line: &str) -> Next {
        let words: Vec<&str> = line.split_whitespace().collect();
        let done = match *words.as_slice() {
            [] | ["debug" | "register", ..] => Ok(()),
            ["quit", ..] => return Next::Quit,
            ["uci", ..] => {
                self.introduce();
                Ok(())
            }
            ["isready", ..] => {
                self.output.say("readyok");
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
                    running.thinking.ponderhit();
                    running.ponders = false;
                }
                Ok(())
            }
            ["bench", ref rest @ ..] => self.bench(rest),
            ["d", ..] => {
                self.output.say(&draw(self.game.position()));
                Ok(())
            }
            ["eval", ..] => {
                self.output
                    .say(&evaluation(&self.engine, self.game.position()));
                Ok(())
            }
            [unknown, ..] => Err(format!("unknown command: {unknown}")),
        };
        if let Err(complaint) = done {
            self.output.complain(&complaint);
        }
        Next::GoOn
    }

    fn introduce(&self) {
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
        self.output.say(&format!(
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
                        .complain(&format!("Hash: only {got} MiB of memory to be had"));
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
            "uci_showwdl" => self.shows_chances = check(&name, &value)?,
            "uci_limitstrength" => self.is_limited = check(&name, &value)?,
            "uci_elo" => {
                let (least, most) = (Elo::MIN.get().into(), Elo::MAX.get().into());
                self.elo = Elo::nearest(spin(&name, &value, least, most)?);
            }
            "evalfile" => {
                let network = match value.as_str() {
                    "" | EMBEDDED => Network::embedded(),
                    BY_HAND => None,
                    path => Some(Arc::new(
                        Network::open(Path::new(path)).map_err(|e| format!("EvalFile: {e}"))?,
                    )),
                };
                self.stop();
                self.output.complain(&nnue::describe(network.as_deref()));
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

    /// A number of the search; there are none to set but in builds for tuning.
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
        let complain = |what: &str| self.output.complain(what);
        let mut limits = read_limits(words, &self.game, self.overhead, complain);
        limits.multi_pv = self.multi_pv;
        limits.strength = self.is_limited.then_some(Strength {
            elo: self.elo,
            seed: self.seed,
        });
        let (endless, ponders) = (limits.infinite || !ends(&limits), limits.ponder);
        let (sender, done) = mpsc::channel();
        let (info, best) = (self.output.clone(), self.output.clone());
        let notation = self.notation;
        let chances_with = self.shows_chances.then(|| material(self.game.position()));
        let thinking = self.engine.start(Task {
            about: 0,
            game: self.game.clone(),
            limits,
            on_info: Box::new(move |thought| {
                info.say(&info_line(thought, notation, chances_with));
            }),
            on_done: Box::new(move |thought| {
                best.say(&best_move_line(&thought, notation));
                // Nobody waits for it when the session is over.
                let _ = sender.send(());
            }),
        });
        self.running = Some(Running {
            thinking,
            done,
            endless,
            ponders,
        });
        Ok(())
    }

    /// Ends the search that is on, and waits until it has answered.
    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.thinking.stop();
            let _ = running.done.recv();
        }
    }

    /// The input has ended: what would end by itself may do so, as long as somebody reads what it finds.
    fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            if running.endless || running.ponders {
                running.thinking.stop();
            }
            while running.done.recv_timeout(HEARING) == Err(RecvTimeoutError::Timeout) {
                if !self.output.is_heard() {
                    running.thinking.stop();
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
                .say(&format!("{}: {nodes}", mv.uci(self.notation)));
            total += nodes;
        }
        let total = if depth == 0 { 1 } else { total };
        let ms = started.elapsed().as_millis();
        self.output
            .say(&format!("info time {ms}\n\nNodes searched: {total}"));
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
            .say(&format!("{} nodes {} nps", report.nodes, report.nps()));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
