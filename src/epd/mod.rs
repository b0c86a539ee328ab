//! `knightwatch epd`: has the engine solve the positions of a test suite, and says how many and how fast.

mod question;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};

pub use self::question::Question;
use crate::chess::Game;
use crate::engine::{Engine, EngineOptions, Limits, Task, Thought};
use crate::input;
use crate::progress::Progress;

/// The longest test suite that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// `knightwatch epd`
#[derive(Clone, Debug, clap::Args)]
#[command(group(
    clap::ArgGroup::new("limit").required(true).multiple(true).args(["movetime", "nodes", "depth"])
))]
pub struct EpdOptions {
    /// Positions with what is right there, a line each
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time for a position, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub movetime: Option<u64>,
    /// Nodes for a position
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Depth for a position, in plies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Search threads, 512 at most
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub threads: u32,
    /// Size of the hash table in MiB, 65536 at most
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub hash: u32,
}

/// Has all positions solved; prints a line for each, and the totals.
///
/// # Errors
/// When the file cannot be read, with file and line when it is a line of it, or the output not be written.
pub fn run(options: &EpdOptions, output: &mut impl Write) -> anyhow::Result<()> {
    let questions = read(&options.file)?;
    let engine = Engine::new(EngineOptions {
        hash_mib: options.hash as usize,
        threads: options.threads as usize,
    });
    let mut totals = Totals::default();
    let mut progress = Progress::default();
    for (number, question) in (1..).zip(&questions) {
        let limits = Limits {
            movetime: options.movetime.map(Duration::from_millis),
            nodes: options.nodes,
            depth: options.depth,
            mate: question.mate,
            ..Limits::default()
        };
        let answer = solve(&engine, question, limits);
        totals.add(question, &answer);
        progress.clear();
        let line = answer.describe(question);
        writeln!(output, "{number:>4}/{} {line}", questions.len())?;
        progress.tell(|| format!("{number} of {}, {} solved", questions.len(), totals.solved));
    }
    progress.clear();
    writeln!(output, "{}", totals.describe())?;
    Ok(())
}

/// The questions of a file. Empty lines and those that begin with `#` are skipped.
fn read(path: &Path) -> anyhow::Result<Vec<Question>> {
    let name = path.display();
    let text = input::read_text(path, LONGEST).with_context(|| format!("cannot read {name}"))?;
    let mut questions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() && !line.starts_with('#') {
            let question = Question::parse(line).with_context(|| format!("{name}:{number}"))?;
            questions.push(question);
        }
    }
    ensure!(!questions.is_empty(), "{name} has no positions");
    Ok(questions)
}

/// From when on the engine knew, and did not change its mind any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    depth: u32,
    elapsed: Duration,
}

struct Answer {
    thought: Thought,
    /// `None` if the question is not solved.
    found: Option<Found>,
}

/// Has a question answered by an engine that remembers nothing.
fn solve(engine: &Engine, question: &Question, limits: Limits) -> Answer {
    engine.new_game();
    let (sender, thoughts) = mpsc::channel();
    let last = sender.clone();
    let _thinking = engine.start(Task {
        about: 0,
        game: Game::new(question.position.clone()),
        limits,
        on_info: Box::new(move |thought| drop(sender.send(thought.clone()))),
        on_done: Box::new(move |thought| drop(last.send(thought))),
    });
    let mut answer: Option<Answer> = None;
    for thought in thoughts {
        let known = answer.and_then(|answer| answer.found);
        let now = Found {
            depth: thought.depth,
            elapsed: thought.elapsed,
        };
        let found = question
            .is_solved_by(&thought)
            .then(|| known.unwrap_or(now));
        answer = Some(Answer { thought, found });
    }
    answer.expect("an answer always comes")
}

impl Answer {
    fn describe(&self, question: &Question) -> String {
        let position = &question.position;
        let mv = self.thought.mv.map_or("none".into(), |mv| position.san(mv));
        let mut line = match self.found {
            Some(Found { depth, elapsed }) => {
                let seconds = elapsed.as_secs_f64();
                format!("solved  {mv:<8} {seconds:>8.3} s  depth {depth:>2}")
            }
            None => {
                let seconds = self.thought.elapsed.as_secs_f64();
                let depth = self.thought.depth;
                let solution = question.solution();
                format!("missed  {mv:<8} {seconds:>8.3} s  depth {depth:>2}  right: {solution}")
            }
        };
        if question.most_points() > 0 {
            let points = question.points_for(self.thought.mv);
            line += &format!("  {points} of {} points", question.most_points());
        }
        if !question.name.is_empty() {
            line += &format!("  {}", question.name);
        }
        line
    }
}

/// All answers together.
#[derive(Default)]
struct Totals {
    positions: u32,
    solved: u32,
    points: u32,
    most_points: u32,
    /// To the solutions, of what is solved.
    to_solution: Duration,
    depths: u32,
    elapsed: Duration,
    nodes: u64,
}

impl Totals {
    fn add(&mut self, question: &Question, answer: &Answer) {
        self.positions += 1;
        self.points += question.points_for(answer.thought.mv);
        self.most_points += question.most_points();
        self.elapsed += answer.thought.elapsed;
        self.nodes += answer.thought.nodes;
        if let Some(found) = answer.found {
            self.solved += 1;
            self.to_solution += found.elapsed;
            self.depths += found.depth;
        }
    }

    fn describe(&self) -> String {
        let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole.max(1));
        let (solved, positions) = (self.solved, self.positions);
        let mut text = format!(
            "solved {solved} of {positions} ({:.1} %)",
            percent(solved, positions)
        );
        if self.most_points > 0 {
            let (points, most) = (self.points, self.most_points);
            text += &format!(
                ", {points} of {most} points ({:.1} %)",
                percent(points, most)
            );
        }
        if solved > 0 {
            let each = f64::from(solved);
            text += &format!(
                ", to the solution {:.3} s and {:.1} plies on average",
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
    fn answers_are_counted_with_points_and_totals() {
        let lines = "# a comment\n\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra8#; id \"back rank\";\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - dm 1;\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - bm Ra1-a2 Ra2; id \"wrong\";\n\
            6k1/5ppp/8/8/8/8/8/R6K w - - c0 \"Ra8#=10, Ra7=3\";\n";
        let said = answers(&lines.replace("Ra1-a2 ", ""), &["--depth", "4"]).expect("a run");
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("   1/4 solved  Ra8# "), "{said}");
        assert!(lines[0].ends_with("back rank"), "{said}");
        assert!(lines[1].starts_with("   2/4 solved  Ra8# "), "{said}");
        assert!(
            lines[2].contains("missed  Ra8#") && lines[2].contains("right: Ra2"),
            "{said}"
        );
        assert!(lines[3].ends_with("10 of 10 points"), "{said}");
        assert!(
            lines[4].starts_with("solved 3 of 4 (75.0 %), 10 of 10 points (100.0 %)"),
            "{said}"
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        let said = answers(
            "6k1/5ppp/8/8/8/8/8/R6K w - - dm 1;\n\n6k1/8 w - - dm 1;\n",
            &["--nodes", "9"],
        );
        let said = format!("{:#}", said.expect_err("refused"));
        assert!(
            said.contains("suite.epd:3: ") && said.contains("8 ranks"),
            "{said}"
        );
        let empty = format!(
            "{:#}",
            answers("# nothing\n", &["--nodes", "9"]).expect_err("refused")
        );
        assert!(empty.contains("has no positions"), "{empty}");
        assert!(answers("", &[]).is_err(), "a limit is needed");
    }
}
