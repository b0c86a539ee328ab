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
        "UCI_ShowWDL",
        "UCI_LimitStrength",
        "UCI_Elo",
    ] {
        assert!(
            output.contains(&format!("option name {option} type ")),
            "{option}"
        );
    }
    assert!(output.contains("\nuciok\nreadyok\n"));
}

#[test]
fn every_score_says_how_games_end_if_that_is_wanted() {
    // A queen up, to move: won, and hardly ever drawn.
    let queen = "position fen 4k3/8/8/8/8/8/4P3/3QK3 w - - 0 1\ngo depth 4\n";
    let output = talk(&format!("setoption name UCI_ShowWDL value true\n{queen}"));
    let info = output.lines().rfind(|line| line.starts_with("info depth"));
    let words: Vec<&str> = info.expect("thought").split(' ').collect();
    let at = words.iter().position(|word| *word == "wdl").expect("wdl");
    let permille: Vec<u32> = words[at + 1..at + 4]
        .iter()
        .map(|word| word.parse().unwrap())
        .collect();
    assert_eq!(permille.iter().sum::<u32>(), 1000);
    assert!(permille[0] > 950, "{permille:?}");
    assert_eq!(
        words[at - 3],
        "score",
        "where the protocol has it: {words:?}"
    );
    assert!(!talk(queen).contains(" wdl "));
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
    for moves in ["2", "20000", "4294967295"] {
        let position = "position fen 7k/8/8/8/8/8/R7/1R5K w - - 0 1";
        let output = talk(&format!("{position}\ngo mate {moves}\n"));
        assert!(output.contains("score mate 2"), "{output}");
    }
    let output = talk("position fen 7k/8/8/8/8/R7/1R6/7K w - - 0 1\ngo mate 0\nquit\n");
    assert!(!best(&output).is_empty());
    talk("go wtime -5 btime 3 winc 0 binc 0 movestogo 0\n");
    let output = talk("setoption name MultiPV value 3\ngo depth 3\n");
    assert!(output.contains("multipv 3"));
}

#[test]
fn clocks_are_taken_as_they_are_meant() {
    let limits = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        read_limits(
            &words,
            &Game::new(Position::startpos()),
            Duration::ZERO,
            |_| {},
        )
    };
    let clock = limits("wtime 60000 btime 50000 movestogo 0").clock.unwrap();
    assert_eq!((clock.remaining.as_secs(), clock.moves_to_go), (60, None));
    // Nobody knows how long White has.
    for words in ["btime 50000", "ponder btime 50000", "winc 100 binc 100"] {
        let unknown = limits(words);
        assert_eq!((unknown.clock, unknown.depth), (None, Some(1)), "{words}");
    }
}

#[test]
fn the_bench_is_of_the_network_that_is_set() {
    let counted = |network: &str| {
        let output = talk(&format!(
            "setoption name EvalFile value {network}\nbench 3\n"
        ));
        let line = output.lines().find(|line| line.ends_with(" nps"));
        line.unwrap().split(' ').next().unwrap().to_owned()
    };
    assert_eq!(counted("<embedded>"), counted("<embedded>"));
    assert_ne!(counted("<embedded>"), counted("<none>"));
}

#[test]
fn the_strength_is_limited_as_guis_ask_for_it() {
    let limited =
        "setoption name UCI_LimitStrength value true\nsetoption name UCI_Elo value 1000\n";
    // It stops by itself long before the end of its time, and tells of one line only.
    let output = talk(&format!("{limited}go movetime 60000\n"));
    assert_eq!(best(&output).len(), 4);
    assert!(!output.contains("multipv 2"), "{output}");
    let output = talk("setoption name UCI_Elo value 900\n");
    assert!(
        output.contains("UCI_Elo: expected a number from 1000 to 2800"),
        "{output}"
    );
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

#[test]
fn more_threads_than_cores_and_any_table_still_play() {
    for options in [
        "setoption name Threads value 256\nsetoption name Hash value 1",
        // Only what is written to takes memory; where the system promises less, that is said.
        "setoption name Hash value 16384\nucinewgame",
    ] {
        for limit in ["nodes 20000", "wtime 1000 btime 1000"] {
            let output = talk(&format!("{options}\ngo {limit}\n"));
            let game = read_position(&["startpos", "moves", best(&output)]);
            assert!(game.is_ok(), "{options}: {output}");
        }
    }
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").expect("the process");
        let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = peak.and_then(|line| line.split_whitespace().nth(1));
        let kib: u64 = kib.expect("a peak").parse().expect("a number");
        assert!(kib < 8 << 20, "the table was filled: {kib} KiB");
    }
}
