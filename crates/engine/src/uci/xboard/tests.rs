use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::run;

/// Longest wait for a line.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An engine that runs on a thread, with its input and output.
struct Engine {
    input: Option<std::io::PipeWriter>,
    output: Receiver<String>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    fn start() -> Engine {
        let mut engine = Engine::after("");
        engine.send("new\nsd 4");
        engine
    }

    /// An engine that is told these lines of UCI first.
    fn after(uci: &str) -> Engine {
        let (reader, input) = std::io::pipe().expect("a pipe");
        let (output, writer) = std::io::pipe().expect("a pipe");
        let thread = std::thread::spawn(move || {
            run(BufReader::new(reader), writer).expect("the output takes all");
        });
        let (sender, lines) = channel();
        std::thread::spawn(move || send_lines(output, &sender));
        let mut engine = Engine {
            input: Some(input),
            output: lines,
            thread: Some(thread),
        };
        engine.send(&format!("{uci}\nxboard\nprotover 2"));
        engine.expect("feature done=1");
        engine
    }

    fn send(&mut self, lines: &str) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{lines}").expect("read");
    }

    fn next(&self) -> String {
        self.output.recv_timeout(TIMEOUT).expect("a line")
    }

    /// Waits for a line that starts like this.
    fn expect(&self, start: &str) -> String {
        loop {
            let line = self.next();
            if line.starts_with(start) {
                return line;
            }
        }
    }

    /// The lines up to the answer to a ping.
    fn lines(&mut self) -> Vec<String> {
        self.send("ping 77");
        let mut lines = Vec::new();
        loop {
            match self.next() {
                pong if pong == "pong 77" => return lines,
                line => lines.push(line),
            }
        }
    }

    /// The answer to these lines.
    fn answer(&mut self, lines: &str) -> String {
        self.send(lines);
        self.lines().join("\n")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = self.thread.take().expect("one").join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn send_lines(output: impl Read, sender: &Sender<String>) {
    for line in BufReader::new(output).lines() {
        if sender.send(line.expect("UTF-8")).is_err() {
            return;
        }
    }
}

#[test]
fn session_starts_with_standard_chess() {
    let mut engine = Engine::after("setoption name UCI_Variant value horde");
    // Without `new`, as some GUIs begin.
    assert_eq!(engine.answer("force\nusermove e2e4"), "");
    let mut engine = Engine::after("setoption name UCI_Variant value horde");
    assert_eq!(engine.answer("new\nforce\nusermove e2e4"), "");
}

#[test]
fn features_and_options_are_listed() {
    let mut engine = Engine::start();
    let features = engine.answer("protover 2");
    for part in [
        "myname=\"Knightwatch ",
        "variants=\"normal,fischerandom\"",
        "setboard=1",
        "usermove=1",
        "option=\"MultiPV -spin 1 1 256\"",
        "option=\"UCI_LimitStrength -check 0\"",
        "option=\"Clear Hash -button\"",
        "option=\"EvalFile -string <embedded>\"",
    ] {
        assert!(features.contains(part), "{part}: {features}");
    }
    assert!(!features.contains("Threads"), "{features}");
    let set = "option MultiPV=2\noption UCI_LimitStrength=1\noption Clear Hash\nmemory 4\ncores 2\n\
               egtpath syzygy /tables\naccepted ping\nrejected name\nname Anna\nrating 1 2\ncomputer\nrandom";
    assert_eq!(engine.answer(set), "");
    assert_eq!(
        engine.answer("option MultiPV=0"),
        "Error (bad argument): option MultiPV=0"
    );
    assert_eq!(
        engine.answer("option Color=red"),
        "Error (no such option): option Color=red"
    );
    // What XBoard has commands for.
    assert_eq!(
        engine.answer("option UCI_Variant=atomic"),
        "Error (no such option): option UCI_Variant=atomic"
    );
}

#[test]
fn engine_answers_moves_with_either_color() {
    let mut engine = Engine::start();
    engine.send("usermove e2e4");
    let first = engine.expect("move ");
    // The answer to a ping comes after the move.
    assert_eq!(
        engine.answer("time 1000\notim 1000\nusermove d2d4").len(),
        first.len()
    );
    assert_eq!(engine.answer("force\nusermove a2a3"), "");
    assert!(engine.answer("go").starts_with("move "));
    let mut engine = Engine::start();
    assert!(engine.answer("go").starts_with("move "));
    assert_eq!(engine.answer("new\nplayother"), "");
    assert!(
        engine
            .answer("sd 3\nforce\ne2e4\nplayother\ne7e5")
            .starts_with("move ")
    );
}

#[test]
fn illegal_moves_and_unknown_commands_are_errors() {
    let mut engine = Engine::start();
    for (line, answer) in [
        ("usermove e2e5", "Illegal move: e2e5"),
        ("e7e5", "Illegal move: e7e5"),
        ("usermove e7e8Q", "Illegal move: e7e8Q"),
        ("usermove e7e8x", "Illegal move: e7e8x"),
        ("e7e8qq", "Illegal move: e7e8qq"),
        ("usermove hello", "Error (not a move): usermove hello"),
        (
            "usermove \u{1f40e}q",
            "Error (not a move): usermove \u{1f40e}q",
        ),
        ("fly", "Error (unknown command): fly"),
        ("nps 100", "Error (unknown command): nps 100"),
        ("undo", "Error (command not legal now): undo"),
        ("level 40 x 0", "Error (bad argument): level 40 x 0"),
        (
            "variant atomic",
            "Error (unsupported variant): variant atomic",
        ),
        ("\u{1f40e}", "Error (unknown command): \u{1f40e}"),
    ] {
        assert_eq!(engine.answer(line), answer);
    }
}

#[test]
fn refused_position_makes_all_moves_illegal() {
    let mut engine = Engine::start();
    let answer = engine.answer("force\nsetboard 8/8/8/8/8/8/8/4K3 w - - 0 1");
    assert_eq!(answer, "tellusererror Illegal position: Black has no king");
    assert_eq!(
        engine.answer("usermove e2e4"),
        "Illegal move (no position): e2e4"
    );
    assert_eq!(engine.answer("go"), "Error (illegal position): go");
    let mate = "setboard 6k1/5ppp/8/8/8/8/8/R6K w - - 0 1";
    assert_eq!(engine.answer(mate), "");
    assert_eq!(engine.answer("go"), "move a1a8\n1-0 {White mates}");
}

#[test]
fn too_long_line_leaves_no_position() {
    let mut engine = Engine::start();
    engine.send(&format!("setboard {}", "8/".repeat(1 << 20)));
    engine.expect("tellusererror Illegal position: line too long");
    assert_eq!(engine.answer("go"), "Error (illegal position): go");
}

#[test]
fn games_end_by_rule() {
    let mut engine = Engine::start();
    let answer =
        engine.answer("force\nsetboard k7/8/1K6/8/8/8/8/7Q b - - 99 80\nplayother\nusermove a8b8");
    assert_eq!(answer, "1/2-1/2 {Draw by fifty-move rule}");
    let answer = engine.answer("force\nsetboard k7/8/1K6/8/8/8/8/8 b - - 0 80\ngo");
    assert_eq!(answer, "1/2-1/2 {Insufficient material}");
    // In force mode, the GUI knows.
    let shuffle = "usermove g1f3\nusermove g8f6\nusermove f3g1\nusermove f6g8\n".repeat(2);
    assert_eq!(engine.answer(&format!("new\nforce\n{shuffle}")), "");
    assert_eq!(engine.answer("go"), "1/2-1/2 {Draw by repetition}");
}

#[test]
fn move_now_ends_a_long_search() {
    let mut engine = Engine::start();
    engine.send("new\nlevel 0 600 0\nusermove e2e4\nping 5");
    engine.send("?");
    let lines = engine.lines();
    assert!(lines[0].starts_with("move "), "{lines:?}");
    assert_eq!(lines[1..], ["pong 5"]);
    // A canceled search makes no move.
    engine.send("usermove a2a3");
    assert_eq!(engine.answer("force\nundo\nping 6"), "pong 6");
}

#[test]
fn pondering_goes_on_after_the_expected_move() {
    let mut engine = Engine::start();
    engine.send("hard\npost\nforce\nsetboard 7k/8/8/8/8/8/R7/1R5K w - - 0 1\ngo");
    engine.expect("move ");
    // Pondering does not delay the answer.
    let answer = engine.answer("hint");
    let hint = answer.lines().find(|line| line.starts_with("Hint: K"));
    let square = hint
        .expect("a hint")
        .trim_start_matches("Hint: K")
        .to_owned();
    engine.send(&format!("usermove h8{square}"));
    engine.expect("move ");
    engine.answer("easy\nforce");
    assert_eq!(engine.answer("hint"), "");
}

/// Kings and rooks: the engine plays White, and Black has several replies.
const ROOKS: &str = "8/8/8/3k4/8/8/R7/1R5K w - - 0 1";

#[test]
fn pondering_output_comes_after_the_hint() {
    let mut engine = Engine::start();
    engine.send(&format!("hard\npost\nforce\nsetboard {ROOKS}\ngo"));
    engine.expect("move ");
    let hint = engine.next();
    assert!(hint.starts_with("Hint: "), "{hint}");
    assert!(engine.next().contains('\t'));
    // Output that is switched on later follows its hint, too.
    let mut engine = Engine::start();
    engine.send(&format!("hard\nforce\nsetboard {ROOKS}\ngo"));
    engine.expect("move ");
    let answer = engine.answer("post");
    assert!(answer.starts_with("Hint: "), "{answer}");
    // There is one hint, and none when not pondering.
    assert!(!engine.answer("post").contains("Hint"));
    assert!(!engine.answer("force\nnopost\npost").contains("Hint"));
}

#[test]
fn playother_ponders_on_the_expected_reply() {
    let mut engine = Engine::start();
    engine.send(&format!("force\nsetboard {ROOKS}\ngo"));
    engine.expect("move ");
    // The hint of the move.
    let answer = engine.answer("force\nhard\npost\nplayother");
    assert!(answer.starts_with("Hint: "), "{answer}");
    // The move in the table, as the hint is of another position.
    engine.send("force\nnopost\neasy\ngo");
    engine.expect("move ");
    let answer = engine.answer("force\nundo\nhard\npost\nplayother");
    assert!(answer.starts_with("Hint: "), "{answer}");
    // Nothing is known.
    engine.answer("force\nnew");
    assert_eq!(engine.answer("playother"), "");
}

#[test]
fn analysis_of_finished_position_has_a_result() {
    let mut engine = Engine::start();
    engine.send("setboard 6k1/5ppp/8/8/8/8/8/R6K w - - 0 1\nanalyze");
    engine.expect("1 100001 ");
    engine.send("usermove a1a8");
    engine.expect("0 -100000 ");
    assert_eq!(engine.answer("."), "stat01: 0 0 0 0 0");
    // Stalemate.
    engine.send("setboard 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1");
    engine.expect("0 0 ");
    engine.send("undo\nsetboard 6k1/5ppp/8/8/8/8/8/R6K w - - 0 1");
    engine.expect("1 100001 ");
}

#[test]
fn new_returns_to_the_start_position() {
    let mut engine = Engine::start();
    let answer = engine.answer("force\nusermove e2e4\nnew\nforce\nusermove e2e4");
    assert_eq!(answer, "");
}

#[test]
fn thinking_is_posted_with_mate_scores() {
    let mut engine = Engine::start();
    let lines = engine.answer("post\nforce\nsetboard 6k1/5ppp/8/8/8/8/8/R6K w - - 0 1\ngo");
    let info = lines.lines().find(|line| line.ends_with("\tRa8#"));
    let words: Vec<&str> = info
        .expect("a line of thinking output")
        .split_whitespace()
        .collect();
    assert_eq!((words[1], words.len()), ("100001", 8), "{lines}");
    let quiet = engine.answer("nopost\nnew\nsd 3\nusermove e2e4");
    assert!(quiet.starts_with("move "), "{quiet}");
}

#[test]
fn analysis_follows_the_position() {
    let mut engine = Engine::start();
    engine.send("setboard 6k1/5ppp/8/8/8/8/8/R6K w - - 0 1\nanalyze");
    engine.expect("1 100001 ");
    assert!(engine.answer("hint").contains("Hint: Ra8#"));
    assert!(engine.answer(".").contains("stat01: "));
    engine.send("usermove a1a7");
    while !engine.next().contains('\t') {}
    engine.send("undo");
    engine.expect("1 100001 ");
    engine.send("exit");
    engine.lines();
    assert_eq!(
        engine.answer("usermove a1a8\n."),
        "",
        "the engine does not move"
    );
}

#[test]
fn chess960_castling_is_written_as_in_san() {
    let mut engine = Engine::start();
    let castles = "new\nvariant fischerandom\nforce\nsetboard 1r3k2/8/8/8/8/8/8/5KR1 w Gb - 0 1\nusermove O-O";
    assert_eq!(engine.answer(castles), "");
    // Only castling mates.
    let answer = engine
        .answer("setboard 3k4/7R/8/8/8/8/8/2R1KR2 w F - 0 1\nusermove O-O\nusermove d8e8\nundo");
    assert_eq!(answer, "");
    assert_eq!(engine.answer("usermove e2e4"), "Illegal move: e2e4");
}

#[test]
fn draw_offers_are_answered_by_score() {
    let mut engine = Engine::start();
    // A queen down: accepted after the first move; a queen up: declined.
    for (fen, accepted) in [
        ("3qk3/8/8/8/8/8/4P3/4K3 w - - 0 1", true),
        ("4k3/4p3/8/8/8/8/8/3QK3 w - - 0 1", false),
    ] {
        engine.send(&format!("force\nsetboard {fen}\ngo"));
        engine.expect("move ");
        let answer = engine.answer("draw");
        assert_eq!(answer == "offer draw", accepted, "{fen}: {answer}");
    }
}

#[test]
fn quit_and_end_of_input_end_the_session() {
    let mut engine = Engine::start();
    engine.send("new\nlevel 0 600 0\nusermove e2e4\nquit");
    engine.thread.take().expect("one").join().expect("no panic");
    engine.thread = Some(std::thread::spawn(|| {}));
    drop(Engine::start());
}

#[test]
fn quit_and_end_of_input_make_no_move() {
    for quit in [true, false] {
        let mut engine = Engine::start();
        engine.send("new\nlevel 0 600 0\npost\nusermove e2e4");
        engine.expect("1 ");
        if quit {
            engine.send("quit");
        }
        engine.input = None;
        let rest: Vec<String> = engine.output.iter().collect();
        assert!(
            !rest.iter().any(|line| line.starts_with("move ")),
            "{rest:?}"
        );
    }
}

/// Commands in any order, with good and bad arguments, are answered without a panic.
#[test]
fn random_commands_are_answered() {
    const COMMANDS: [&str; 28] = [
        "new",
        "force",
        "go",
        "playother",
        "undo",
        "remove",
        "hard",
        "easy",
        "post",
        "nopost",
        "analyze",
        "exit",
        ".",
        "?",
        "draw",
        "hint",
        "bk",
        "result 1-0 {x}",
        "variant",
        "level",
        "st",
        "sd 2",
        "time",
        "usermove",
        "setboard",
        "memory 1",
        "cores",
        "option",
    ];
    const ARGUMENTS: [&str; 14] = [
        "",
        "0",
        "-1",
        "1",
        "99999999999999999999",
        "e2e4",
        "O-O",
        "a7a8q",
        "40 5 0",
        "0 0:01 0.1",
        "fischerandom",
        "8/P6k/8/8/8/8/8/K7 w - - 0 1",
        "8/8 w",
        "MultiPV=2",
    ];
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut engine = Engine::start();
        engine.send("sd 2\nst 0.01");
        for _ in 0..80 {
            let command = rng.choice(COMMANDS).expect("one");
            let argument = match rng.bool() {
                true => rng.choice(ARGUMENTS).expect("one"),
                false => "",
            };
            engine.send(format!("{command} {argument}").trim());
            if rng.u8(0..4) == 0 {
                engine.send("sd 2\nst 0.01");
            }
        }
        engine.answer("force");
    }
}
