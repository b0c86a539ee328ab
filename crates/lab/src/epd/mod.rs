//! The `epd` command: runs the engine on a test suite and reports the solved positions.

mod test_position;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};

pub use self::test_position::TestPosition;
use crate::progress::Progress;
use knightwatch_chess::Game;
use knightwatch_engine::{Engine, EngineOptions, Limits, MAX_THREADS, SearchInfo, Task};
use knightwatch_util::input;

/// The largest test suite that is read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Options of the `epd` command.
#[derive(Clone, Debug, clap::Args)]
#[command(group(
    clap::ArgGroup::new("limit").required(true).multiple(true).args(["movetime", "nodes", "depth"])
))]
pub struct EpdOptions {
    /// EPD file with one test position per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time per position, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub movetime: Option<u64>,
    /// Nodes per position
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Depth per position, in plies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Search threads, at most 512
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS as i64))]
    pub threads: u32,
    /// Size of the hash table in MiB, at most 65536
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub hash: u32,
}

/// Solves all positions; prints a line for each, and the totals.
///
/// # Errors
/// If the file cannot be read or parsed (the error names file and line), or the output cannot be written.
pub fn run(options: &EpdOptions, output: &mut impl Write) -> anyhow::Result<()> {
    let positions = read(&options.file)?;
    let engine = Engine::new(EngineOptions {
        hash_mib: options.hash as usize,
        threads: options.threads as usize,
    });
    let mut totals = Totals::default();
    let mut progress = Progress::default();
    for (number, test) in (1..).zip(&positions) {
        let limits = Limits {
            movetime: options.movetime.map(Duration::from_millis),
            nodes: options.nodes,
            depth: options.depth,
            mate: test.mate,
            ..Limits::default()
        };
        let attempt = solve(&engine, test, limits);
        totals.add(test, &attempt);
        progress.clear();
        let line = attempt.describe(test);
        writeln!(output, "{number:>4}/{} {line}", positions.len())?;
        progress.show(|| format!("{number} of {}, {} solved", positions.len(), totals.solved));
    }
    progress.clear();
    writeln!(output, "{}", totals.describe())?;
    Ok(())
}

/// Reads the test positions of a file. Empty lines and lines that start with `#` are skipped.
fn read(path: &Path) -> anyhow::Result<Vec<TestPosition>> {
    let name = path.display();
    let text =
        input::read_text(path, MAX_FILE_BYTES).with_context(|| format!("cannot read {name}"))?;
    let mut positions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            let test = TestPosition::parse(line).with_context(|| format!("{name}:{number}"))?;
            positions.push(test);
        }
    }
    ensure!(!positions.is_empty(), "{name} has no positions");
    Ok(positions)
}

/// When the engine found the solution and kept it to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SolvedAt {
    depth: u32,
    elapsed: Duration,
}

struct Attempt {
    info: SearchInfo,
    /// `None` if the position is not solved.
    solved_at: Option<SolvedAt>,
}

/// Solves a test position with cleared hash table.
fn solve(engine: &Engine, test: &TestPosition, limits: Limits) -> Attempt {
    engine.new_game();
    let (sender, infos) = mpsc::channel();
    let last = sender.clone();
    let _handle = engine.start(Task {
        game_id: 0,
        game: Game::new(test.position.clone()),
        limits,
        on_info: Box::new(move |info| drop(sender.send(info.clone()))),
        on_done: Box::new(move |info| drop(last.send(info))),
    });
    let mut attempt: Option<Attempt> = None;
    for info in infos {
        let known = attempt.and_then(|attempt| attempt.solved_at);
        let now = SolvedAt {
            depth: info.depth,
            elapsed: info.elapsed,
        };
        let solved_at = test.is_solved_by(&info).then(|| known.unwrap_or(now));
        attempt = Some(Attempt { info, solved_at });
    }
    attempt.expect("an answer always comes")
}

impl Attempt {
    fn describe(&self, test: &TestPosition) -> String {
        let position = &test.position;
        let mv = self.info.mv.map_or("none".into(), |mv| position.san(mv));
        let mut line = match self.solved_at {
            Some(SolvedAt { depth, elapsed }) => {
                let seconds = elapsed.as_secs_f64();
                format!("solved  {mv:<8} {seconds:>8.3} s  depth {depth:>2}")
            }
            None => {
                let seconds = self.info.elapsed.as_secs_f64();
                let depth = self.info.depth;
                let solution = test.solution();
                format!("missed  {mv:<8} {seconds:>8.3} s  depth {depth:>2}  right: {solution}")
            }
        };
        if test.max_points() > 0 {
            let points = test.points_for(self.info.mv);
            line += &format!("  {points} of {} points", test.max_points());
        }
        if !test.name.is_empty() {
            line += &format!("  {}", test.name);
        }
        line
    }
}

/// Sums over all test positions.
#[derive(Default)]
struct Totals {
    positions: u32,
    solved: u32,
    points: u64,
    max_points: u64,
    /// Times to the solutions of solved positions.
    to_solution: Duration,
    depths: u32,
    elapsed: Duration,
    nodes: u64,
}

impl Totals {
    fn add(&mut self, test: &TestPosition, attempt: &Attempt) {
        self.positions += 1;
        self.points += u64::from(test.points_for(attempt.info.mv));
        self.max_points += u64::from(test.max_points());
        self.elapsed += attempt.info.elapsed;
        self.nodes += attempt.info.nodes;
        if let Some(solved_at) = attempt.solved_at {
            self.solved += 1;
            self.to_solution += solved_at.elapsed;
            self.depths += solved_at.depth;
        }
    }

    fn describe(&self) -> String {
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let (solved, positions) = (self.solved, self.positions);
        let mut text = format!(
            "solved {solved} of {positions} ({:.1} %)",
            percent(solved.into(), positions.into())
        );
        if self.max_points > 0 {
            let (points, max) = (self.points, self.max_points);
            text += &format!(", {points} of {max} points ({:.1} %)", percent(points, max));
        }
        if solved > 0 {
            let each = f64::from(solved);
            text += &format!(
                ", {:.3} s and {:.1} plies to the solution on average",
                self.to_solution.as_secs_f64() / each,
                f64::from(self.depths) / each
            );
        }
        let seconds = self.elapsed.as_secs_f64();
        text + &format!("; {} nodes in {seconds:.1} s", self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(lines: &str, options: &[&str]) -> anyhow::Result<String> {
        use clap::Parser;
        #[derive(Parser)]
        struct Arguments {
            #[command(flatten)]
            options: EpdOptions,
        }
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("suite.epd");
        std::fs::write(&path, lines)?;
        let words = ["epd", path.to_str().expect("UTF-8")];
        let parsed = Arguments::try_parse_from([&words[..], options].concat())?;
        let mut output = Vec::new();
        run(&parsed.options, &mut output)?;
        Ok(String::from_utf8(output)?)
    }

    #[test]
    fn run_reports_positions_points_and_totals() {
        let lines = "  # a comment\n\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra8#; id \"back\u{1b} rank\";\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - dm 1;\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra1-a2 Ra2; id \"wrong\";\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - c0 \"Ra8#=10, Ra7=3\";\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - c0 \"Ra8#=4294967295\";\n";
        let output = answers(&lines.replace("Ra1-a2 ", ""), &["--depth", "4"]).expect("a run");
        let lines: Vec<&str> = output.lines().collect();
        assert!(lines[0].starts_with("   1/5 solved  Ra8# "), "{output}");
        assert!(lines[0].ends_with("back rank"), "{output}");
        assert!(lines[1].starts_with("   2/5 solved  Ra8# "), "{output}");
        assert!(
            lines[2].contains("missed  Ra8#") && lines[2].contains("right: Ra2"),
            "{output}"
        );
        assert!(lines[3].ends_with("10 of 10 points"), "{output}");
        assert!(
            lines[5].starts_with("solved 4 of 5 (80.0 %), 4294967305 of 4294967305 points"),
            "{output}"
        );
    }

    #[test]
    fn run_of_bad_file_names_the_line() {
        let output = answers(
            "6k1/5ppp/8/8/8/8/8/R6K w - - dm 1;\n\n6k1/8 w - - dm 1;\n",
            &["--nodes", "9"],
        );
        let output = format!("{:#}", output.expect_err("refused"));
        assert!(
            output.contains("suite.epd:3: ") && output.contains("8 ranks"),
            "{output}"
        );
        let empty = format!(
            "{:#}",
            answers("# nothing\n", &["--nodes", "9"]).expect_err("refused")
        );
        assert!(empty.contains("has no positions"), "{empty}");
        assert!(answers("", &[]).is_err(), "a limit is needed");
    }
}
