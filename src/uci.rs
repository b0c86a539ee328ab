//! The UCI front end of the engine, for any chess GUI.
//!
//! The protocol is that of Stefan Meyer-Kahlen, 2006, with the customary additions `bench`, `d`, `eval` and
//! `go perft`. Whatever comes in, the session goes on: what cannot be understood is answered by an
//! `info string`.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::chess::{CastlingNotation, Color, File, Game, Move, Position, Rank, Square, perft};
use crate::engine::nnue::{self, Network};
use crate::engine::{
    Bound, Clock, Engine, EngineOptions, Limits, Parameters, Setting, Task, Thinking, Thought,
    Tunable, bench,
};

/// Values of `EvalFile` that are no files: the network in the binary, and none at all.
const EMBEDDED: &str = "<embedded>";
const BY_HAND: &str = "<none>";

const DEFAULT_HASH_MIB: usize = 16;
const MAX_HASH_MIB: usize = 1 << 20;
const MAX_THREADS: usize = 512;
const MAX_MULTI_PV: usize = 256;
const DEFAULT_OVERHEAD_MS: u64 = 20;
const MAX_OVERHEAD_MS: u64 = 10_000;

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

    /// Writes a line, or several, at once. Returns whether there is anybody left to read it.
    fn say(&self, text: &str) -> bool {
        let mut sink = self.lock();
        let written = writeln!(sink.writer, "{text}").and_then(|()| sink.writer.flush());
        if let Err(error) = written {
            sink.failure.get_or_insert(error);
        }
        sink.failure.is_none()
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
    /// It ends only when it is told to.
    endless: bool,
}

struct Session {
    engine: Engine,
    output: Output,
    game: Game,
    running: Option<Running>,
    overhead: Duration,
    multi_pv: usize,
    notation: CastlingNotation,
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
                    running.endless = false;
                }
                Ok(())
            }
            ["bench", ref rest @ ..] => self.bench(rest),
            ["d", ..] => {
                self.output.say(&draw(self.game.position()));
                Ok(())
            }
            ["eval", ..] => {
                self.output.say(&evaluation(self.game.position()));
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
             option name EvalFile type string default {EMBEDDED}\n\
             {parameters}info string {}\n\
             uciok",
            env!("CARGO_PKG_VERSION"),
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
        let endless = limits.infinite || limits.ponder || !ends(&limits);
        let (sender, done) = mpsc::channel();
        let (info, best) = (self.output.clone(), self.output.clone());
        let notation = self.notation;
        let thinking = self.engine.start(Task {
            about: 0,
            game: self.game.clone(),
            limits,
            on_info: Box::new(move |thought| {
                info.say(&info_line(thought, notation));
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

    /// The input has ended: what would end by itself may do so.
    fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            if running.endless {
                running.thinking.stop();
            }
            let _ = running.done.recv();
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
        let report = bench::search(depth, |_, _, _| {});
        self.output
            .say(&format!("{} nodes {} nps", report.nodes, report.nps()));
        Ok(())
    }
}

fn number<T: FromStr>(what: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("{what}: not a number: {word}"))
}

fn spin<T>(name: &str, value: &str, min: T, max: T) -> Result<T, String>
where
    T: FromStr + PartialOrd + std::fmt::Display + Copy,
{
    match value.parse() {
        Ok(number) if number >= min && number <= max => Ok(number),
        _ => Err(format!(
            "{name}: expected a number from {min} to {max}, not `{value}`"
        )),
    }
}

fn check(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name}: expected true or false, not `{value}`")),
    }
}

/// What follows `position`: `startpos moves ...` or `fen ... moves ...`
///
/// # Errors
///
/// Why there is no such game.
pub fn read_position(words: &[&str]) -> Result<Game, String> {
    let at = words
        .iter()
        .position(|&word| word == "moves")
        .unwrap_or(words.len());
    let (place, moves) = (&words[..at], words.get(at + 1..).unwrap_or_default());
    let initial = match place {
        ["startpos"] => Position::startpos(),
        ["fen", fen @ ..] => {
            Position::from_fen(&fen.join(" ")).map_err(|error| format!("position: {error}"))?
        }
        _ => return Err("position: expected `startpos` or `fen`".to_owned()),
    };
    Game::from_moves(initial, moves.iter().copied()).map_err(|error| format!("position: {error}"))
}

/// The words after `go`. What is wrong with them is said, and the rest counts.
pub fn read_limits(
    words: &[&str],
    game: &Game,
    overhead: Duration,
    mut complain: impl FnMut(&str),
) -> Limits {
    let mut limits = Limits::default();
    let white = game.position().turn() == Color::White;
    let (mut remaining, mut increment, mut moves_to_go) = (None, Duration::ZERO, None);
    let mut words = words.iter().copied().peekable();
    let mut misread = false;
    while let Some(word) = words.next() {
        let mut read = || -> Result<(), String> {
            let mut value = || {
                let word_or_none = words
                    .next()
                    .ok_or_else(|| format!("go: {word} needs a value"))?;
                number::<i64>(word, word_or_none).map(|number| number.max(0).unsigned_abs())
            };
            let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            match word {
                "infinite" => limits.infinite = true,
                "ponder" => limits.ponder = true,
                "depth" => limits.depth = Some(count(value()?)),
                "nodes" => limits.nodes = Some(value()?),
                "mate" => limits.mate = Some(count(value()?)),
                "movetime" => limits.movetime = Some(Duration::from_millis(value()?)),
                "movestogo" => moves_to_go = Some(count(value()?).max(1)),
                "wtime" | "btime" => {
                    let time = Duration::from_millis(value()?);
                    if (word == "wtime") == white {
                        remaining = Some(time);
                    }
                }
                "winc" | "binc" => {
                    let time = Duration::from_millis(value()?);
                    if (word == "winc") == white {
                        increment = time;
                    }
                }
                "searchmoves" => {
                    while let Some(mv) = words
                        .peek()
                        .and_then(|word| game.position().parse_uci(word).ok())
                    {
                        limits.search_moves.push(mv);
                        words.next();
                    }
                    if limits.search_moves.is_empty() {
                        return Err("go: no legal move after searchmoves".to_owned());
                    }
                }
                _ => return Err(format!("go: ignored `{word}`")),
            }
            Ok(())
        };
        if let Err(complaint) = read() {
            complain(&complaint);
            misread = true;
        }
    }
    // The overhead of a time per move is part of that time.
    limits.movetime = limits
        .movetime
        .map(|time| time.saturating_sub(overhead).max(time / 2));
    limits.clock = remaining.map(|remaining| Clock {
        remaining,
        increment,
        moves_to_go,
        overhead,
        lag: overhead,
    });
    // The word that was not understood may have been the one to end it: better a poor answer than none.
    if misread && !ends(&limits) && !limits.infinite && !limits.ponder {
        limits.depth = Some(1);
    }
    limits
}

/// Whether the search is meant to end by itself.
fn ends(limits: &Limits) -> bool {
    limits.depth.is_some()
        || limits.mate.is_some()
        || limits.nodes.is_some()
        || limits.movetime.is_some()
        || limits.clock.is_some()
}

fn info_line(thought: &Thought, notation: CastlingNotation) -> String {
    let bound = match thought.bound {
        Bound::Exact => "",
        Bound::Lower => " lowerbound",
        Bound::Upper => " upperbound",
    };
    let mut line = format!(
        "info depth {} seldepth {} multipv {} score {}{bound} nodes {} nps {} hashfull {} time {}",
        thought.depth,
        thought.seldepth,
        thought.rank,
        thought.score,
        thought.nodes,
        thought.nps(),
        thought.hashfull,
        thought.elapsed.as_millis(),
    );
    if !thought.pv.is_empty() {
        line.push_str(" pv");
        line.push_str(&moves_text(&thought.pv, notation));
    }
    line
}

fn moves_text(moves: &[Move], notation: CastlingNotation) -> String {
    let mut text = String::new();
    for mv in moves {
        write!(text, " {}", mv.uci(notation)).expect("a string takes all");
    }
    text
}

fn best_move_line(thought: &Thought, notation: CastlingNotation) -> String {
    match (thought.mv, thought.ponder) {
        (Some(mv), Some(ponder)) => {
            format!(
                "bestmove {} ponder {}",
                mv.uci(notation),
                ponder.uci(notation)
            )
        }
        (Some(mv), None) => format!("bestmove {}", mv.uci(notation)),
        (None, _) => "bestmove (none)".to_owned(),
    }
}

/// The board as text, with what else makes the position.
fn draw(pos: &Position) -> String {
    let mut text = String::new();
    for rank in (0..8).rev().filter_map(Rank::from_index) {
        text.push_str(" +---+---+---+---+---+---+---+---+\n");
        for file in (0..8).filter_map(File::from_index) {
            let piece = pos
                .piece_at(Square::new(file, rank))
                .map_or(' ', |piece| piece.char());
            write!(text, " | {piece}").expect("a string takes all");
        }
        writeln!(text, " | {}", rank.char()).expect("a string takes all");
    }
    text.push_str(" +---+---+---+---+---+---+---+---+\n");
    text.push_str("   a   b   c   d   e   f   g   h\n\n");
    let checkers: Vec<String> = pos
        .checkers()
        .into_iter()
        .map(|square| square.to_string())
        .collect();
    write!(
        text,
        "Fen: {}\nKey: {:016X}\nCheckers: {}",
        pos.fen(),
        pos.key(),
        checkers.join(" ")
    )
    .expect("a string takes all");
    text
}

fn evaluation(pos: &Position) -> String {
    if pos.in_check() {
        return "Evaluation: none (in check)".to_owned();
    }
    let ours = Engine::evaluate(pos);
    let white = if pos.turn() == Color::White {
        ours
    } else {
        -ours
    };
    format!(
        "Evaluation: {:+.2} (pawns, from White's side)",
        f64::from(white) / 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out is kept for the test to read.
    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn talk(input: &str) -> String {
        talk_bytes(input.as_bytes())
    }

    fn talk_bytes(input: &[u8]) -> String {
        let screen = Screen::default();
        run(input, screen.clone()).expect("the screen takes all");
        let bytes = screen.0.lock().unwrap().clone();
        String::from_utf8(bytes).expect("UTF-8")
    }

    /// The move after the last `bestmove`.
    fn best(output: &str) -> &str {
        let line = output
            .lines()
            .rfind(|line| line.starts_with("bestmove"))
            .expect("a best move");
        line.split(' ').nth(1).expect("a move")
    }

    #[test]
    fn it_introduces_itself() {
        let output = talk("uci\nisready\nquit\n");
        assert!(output.starts_with("id name Knightwatch "));
        for option in [
            "Hash",
            "Threads",
            "Move Overhead",
            "MultiPV",
            "Ponder",
            "UCI_Chess960",
        ] {
            assert!(
                output.contains(&format!("option name {option} type ")),
                "{option}"
            );
        }
        assert!(output.contains("\nuciok\nreadyok\n"));
    }

    #[test]
    fn the_end_of_the_input_finishes_the_search() {
        let output = talk("position startpos moves e2e4\ngo depth 5");
        assert!(output.contains("info depth 5 "));
        assert_eq!(
            output
                .lines()
                .filter(|line| line.starts_with("bestmove"))
                .count(),
            1
        );
        let output = talk("go infinite\n");
        assert_eq!(best(&output).len(), 4);
    }

    #[test]
    fn infinite_and_ponder_end_when_told() {
        for input in [
            "go infinite\nstop\n",
            "go ponder wtime 1000 btime 1000\nponderhit\n",
            "go ponder movetime 10\nstop\n",
            "go infinite\ngo depth 1\nquit\n",
            "go mate 3\nposition startpos\nquit\n",
        ] {
            let output = talk(input);
            assert!(!best(&output).is_empty(), "{input}");
        }
    }

    #[test]
    fn limits_are_understood() {
        let output = talk("go nodes 3000\n");
        assert!(
            output
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("bestmove"))
        );
        assert_eq!(best(&talk("go depth 3 searchmoves a2a3\n")), "a2a3");
        let output = talk("position fen 7k/8/8/8/8/8/R7/1R5K w - - 0 1\ngo mate 2\n");
        assert!(output.contains("score mate 2"));
        talk("go wtime -5 btime 3 winc 0 binc 0 movestogo 0\n");
        let output = talk("setoption name MultiPV value 3\ngo depth 3\n");
        assert!(output.contains("multipv 3"));
    }

    #[test]
    fn no_search_outlives_its_session() {
        for line in [
            "go",
            "go infinite",
            "go ponder",
            "go depth x",
            "go movetime",
        ] {
            assert!(!best(&talk(&format!("{line}\n"))).is_empty(), "{line}");
        }
    }

    #[test]
    fn perft_ends_with_its_total() {
        let output = talk("go perft 3\n");
        assert!(output.contains("e2e4: 600\n"));
        assert!(output.ends_with("\nNodes searched: 8902\n"));
    }

    #[test]
    fn castling_is_written_as_the_option_says() {
        let castles = "position fen 5k2/8/8/8/8/8/8/4K2R w K - 0 1\ngo depth 1 searchmoves e1g1\n";
        assert_eq!(best(&talk(castles)), "e1g1");
        let chess960 = format!("setoption name UCI_Chess960 value true\n{castles}");
        assert_eq!(best(&talk(&chess960)), "e1h1");
    }

    #[test]
    fn bad_input_is_answered_and_survived() {
        for line in [
            "hello",
            "setoption",
            "setoption name",
            "setoption name Hash value many",
            "setoption name Hash value 0",
            "setoption name Threads value -1",
            "setoption name Colour value red",
            "setoption name UCI_Chess960 value perhaps",
            "position",
            "position fen",
            "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
            "position startpos moves e2e5",
            "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 moves xyz",
            "go depth",
            "go depth ten",
            "go sideways",
            "go searchmoves e2e5",
            "go perft x",
            "go perft 65536",
            "bench x",
            "\u{1f40e} \u{fffd}",
        ] {
            let output = talk(&format!("{line}\nstop\nisready\n"));
            assert!(output.contains("info string "), "{line}: {output}");
            assert!(output.contains("readyok\n"), "{line}: {output}");
        }
        assert_eq!(
            talk_bytes(b"\xff\xfe\0\n\nisready\n").lines().last(),
            Some("readyok")
        );
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        for long in [LONGEST_LINE, 10_000_000] {
            let mut input = vec![b'x'; long as usize];
            input.extend(b"\nisready\n");
            let output = talk_bytes(&input);
            let lines: Vec<&str> = output.lines().collect();
            assert_eq!(
                lines,
                ["info string the line is too long, ignored", "readyok"]
            );
        }
        let output = talk_bytes(&vec![b'x'; 10_000_000]);
        assert_eq!(
            output.lines().count(),
            1,
            "nor does the end of the input matter"
        );
    }

    #[test]
    fn a_refused_position_leaves_the_old_one() {
        let output = talk("position startpos moves e2e4\nposition startpos moves e2e5\nd\n");
        assert!(output.contains("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"));
    }

    #[test]
    fn the_board_and_its_evaluation_are_shown() {
        let output = talk("d\neval\nposition fen 4k3/8/8/8/8/8/4r3/4K3 w - - 0 1\neval\n");
        assert!(output.contains("Key: 463B96181691FC9C"));
        assert!(output.contains("Evaluation: +0."));
        assert!(output.contains("in check"));
    }

    #[test]
    fn options_can_be_set() {
        let output = talk(
            "setoption name Hash value 2\nsetoption name Threads value 3\nsetoption name Move Overhead value 0\n\
             setoption name ponder value true\nucinewgame\ngo depth 4\n",
        );
        assert!(!output.contains("info string"), "{output}");
    }
}
