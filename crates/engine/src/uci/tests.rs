use std::time::Duration;

use super::*;
use knightwatch_chess::{Game, Position, Variant};

/// Collects the output.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).expect("UTF-8")
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Executes lines one after another, each to its end.
fn run_session(input: &str) -> String {
    let buffer = SharedBuffer::default();
    run_lines(input.lines(), buffer.clone()).expect("the screen takes all");
    buffer.text()
}

fn run_session_bytes(input: &[u8]) -> String {
    let buffer = SharedBuffer::default();
    run(input, buffer.clone()).expect("the screen takes all");
    buffer.text()
}

/// The last best move.
fn best(output: &str) -> &str {
    let line = output
        .lines()
        .rfind(|line| line.starts_with("bestmove"))
        .expect("a best move");
    line.split(' ').nth(1).expect("a move")
}

#[test]
fn uci_lists_options() {
    let output = run_session("uci\nisready\nquit\n");
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
        "UCI_AnalyseMode",
        "UCI_Opponent",
        "UCI_EngineAbout",
        "Clear Hash",
    ] {
        assert!(
            output.contains(&format!("option name {option} type ")),
            "{option}"
        );
    }
    assert!(output.contains("\nuciok\nreadyok\n"));
}

#[test]
fn show_wdl_adds_wdl_to_scores() {
    // A queen up, to move: won, and hardly ever drawn.
    let queen = "position fen 4k3/8/8/8/8/8/4P3/3QK3 w - - 0 1\ngo depth 4\n";
    let output = run_session(&format!("setoption name UCI_ShowWDL value true\n{queen}"));
    let info = output.lines().rfind(|line| line.starts_with("info depth"));
    let words: Vec<&str> = info.expect("an info line").split(' ').collect();
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
        "in the order of the protocol: {words:?}"
    );
    assert!(!run_session(queen).contains(" wdl "));
    let stalemate = "position fen 7k/5Q2/8/8/8/8/8/K7 b - - 0 1\ngo depth 4\n";
    let output = run_session(&format!(
        "setoption name UCI_ShowWDL value true\n{stalemate}"
    ));
    assert!(output.contains(" score cp 0 wdl 0 1000 0 "), "{output}");
}

#[test]
fn lines_of_arguments_are_completed() {
    let output = run_session("position startpos moves e2e4\ngo depth 5\ngo infinite");
    assert!(output.contains("info depth 5 "));
    let best = output.lines().filter(|line| line.starts_with("bestmove"));
    assert_eq!(best.count(), 2);
    assert!(!run_session("quit\nisready").contains("readyok"));
    let ok = |lines: &[&str]| run_lines(lines.iter().copied(), io::sink()).expect("written");
    assert!(ok(&["isready", "go depth 1", "quit"]));
    for wrong in ["hello", "go nodes -5", "genfens 0 seed 1 book None"] {
        assert!(!ok(&[wrong]), "{wrong}");
    }
}

#[test]
fn end_of_input_stops_the_search() {
    for line in [
        "go depth 90",
        "go infinite",
        "go nodes 1000000000000",
        "go ponder",
    ] {
        let started = std::time::Instant::now();
        let output = run_session_bytes(format!("{line}\n").as_bytes());
        assert!(started.elapsed().as_secs() < 60, "{line}");
        assert_eq!(best(&output).len(), 4, "{line}");
    }
}

#[test]
fn infinite_and_ponder_end_on_stop_or_hit() {
    for input in [
        "go infinite\nstop\n",
        "go ponder wtime 1000 btime 1000\nponderhit\n",
        "go ponder movetime 10\nstop\n",
        "go infinite\ngo depth 1\nquit\n",
        "go mate 3\nposition startpos\nquit\n",
    ] {
        let output = run_session_bytes(input.as_bytes());
        assert!(!best(&output).is_empty(), "{input}");
    }
}

#[test]
fn last_lines_before_bestmove_are_a_set() {
    let output = run_session(
        "setoption name MultiPV value 3\nucinewgame\nposition startpos\ngo nodes 10000\n",
    );
    let lines: Vec<Vec<&str>> = output
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    let [.., first, second, third, _] = lines.as_slice() else {
        panic!("{output}");
    };
    let after = |line: &[&str], word: &str| -> String {
        let at = line.iter().position(|&other| other == word).expect(word);
        line[at + 1].to_owned()
    };
    let all = |word| [first, second, third].map(|line| after(line, word));
    assert_eq!(all("multipv"), ["1", "2", "3"], "{output}");
    assert_eq!(all("nodes"), ["10000"; 3], "{output}");
    let moves = all("pv");
    assert_eq!(moves[0], best(&output));
    assert!(
        moves[0] != moves[1] && moves[0] != moves[2] && moves[1] != moves[2],
        "{output}"
    );
    let scores = all("cp").map(|score| score.parse::<i32>().expect("a number"));
    assert!(scores.is_sorted_by(|a, b| a >= b), "{output}");
    // A complete iteration is not repeated.
    let output = run_session("setoption name MultiPV value 3\ngo depth 4\n");
    assert_eq!(output.matches("info depth 4 ").count(), 3, "{output}");
}

#[test]
fn ucinewgame_keeps_the_position() {
    let position = "position startpos moves e2e4 c7c5\n";
    let shown = run_session(&format!("{position}d"));
    for line in ["ucinewgame", "setoption name UCI_Variant value chess"] {
        assert_eq!(
            run_session(&format!("{position}{line}\nd")),
            shown,
            "{line}"
        );
    }
}

#[test]
fn upper_case_promotion_is_understood() {
    let position = "position fen 8/P6k/8/8/8/8/8/K7 w - - 0 1 moves a7a8";
    let shown = run_session(&format!("{position}q\nd"));
    assert!(shown.contains("Fen: Q7/7k/"), "{shown}");
    assert_eq!(run_session(&format!("{position}Q\nd")), shown);
}

#[test]
fn option_values_in_any_case_are_understood() {
    let output = run_session(
        "setoption name UCI_ShowWDL value True\nsetoption name UCI_Variant value Atomic\n\
         setoption name UCI_Chess960 value FALSE\ngo depth 1\n",
    );
    assert!(!output.contains("info string"), "{output}");
    assert!(output.contains(" wdl "), "{output}");
    let output = run_session("setoption name UCI_Variant value RacingKings\nd");
    assert!(
        output.contains("Fen: 8/8/8/8/8/8/krbnNBRK/qrbnNBRQ"),
        "{output}"
    );
}

#[test]
fn go_respects_limits() {
    let output = run_session("go nodes 3000\n");
    assert!(
        output
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("bestmove"))
    );
    // However short the search, one iteration is complete.
    let output = run_session("go nodes 1\n");
    let info = output.lines().rev().nth(1).unwrap_or_default();
    assert!(info.starts_with("info depth 1 "), "{output}");
    assert!(info.contains(&format!(" pv {}", best(&output))), "{output}");
    assert_eq!(best(&run_session("go depth 3 searchmoves a2a3\n")), "a2a3");
    // A move that is not legal does not hide those after it.
    let output = run_session("go searchmoves e2e5 a2a3 depth 3\n");
    assert_eq!(best(&output), "a2a3");
    assert!(output.contains("ignored `e2e5`"), "{output}");
    assert!(output.contains("depth 3"), "{output}");
    for moves in ["2", "20000", "4294967295"] {
        let position = "position fen 7k/8/8/8/8/8/R7/1R5K w - - 0 1";
        let output = run_session(&format!("{position}\ngo mate {moves}\n"));
        assert!(output.contains("score mate 2"), "{output}");
    }
    let output = run_session_bytes(b"position fen 7k/8/8/8/8/R7/1R6/7K w - - 0 1\ngo mate 0\n");
    assert!(!best(&output).is_empty());
    run_session("go wtime -5 btime 3 winc 0 binc 0 movestogo 0\n");
    let output = run_session("setoption name MultiPV value 3\ngo depth 3\n");
    assert!(output.contains("multipv 3"));
}

#[test]
fn read_limits_of_clocks_handles_edge_cases() {
    let limits = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        read_limits(
            &words,
            &Game::new(Position::startpos()),
            Duration::ZERO,
            false,
            |_| {},
        )
    };
    let clock = limits("wtime 60000 btime 50000 movestogo 0").clock.unwrap();
    assert_eq!((clock.remaining.as_secs(), clock.moves_to_go), (60, None));
    // White's time is unknown.
    for words in ["btime 50000", "ponder btime 50000", "winc 100 binc 100"] {
        let unknown = limits(words);
        assert_eq!((unknown.clock, unknown.depth), (None, Some(1)), "{words}");
    }
}

#[test]
fn ponder_option_reaches_time_management() {
    let mut session = session::Session::new(Output::new(io::sink()));
    let game = Game::new(Position::startpos());
    for (value, expected) in [("true", true), ("false", false)] {
        session.execute(&format!("setoption name Ponder value {value}"));
        let ponders = session.ponders;
        let words = ["wtime", "1000", "btime", "1000"];
        let limits = read_limits(&words, &game, Duration::ZERO, ponders, |_| {});
        assert_eq!(limits.clock.unwrap().ponders, expected);
    }
}

#[test]
fn bench_uses_the_selected_network() {
    let counted = |network: &str| {
        let output = run_session(&format!(
            "setoption name EvalFile value {network}\nbench 3\n"
        ));
        let line = output.lines().find(|line| line.ends_with(" nps"));
        line.unwrap().split(' ').next().unwrap().to_owned()
    };
    assert_eq!(counted("<embedded>"), counted("<embedded>"));
    assert_ne!(counted("<embedded>"), counted("<none>"));
}

#[test]
fn limit_strength_stops_early_and_checks_range() {
    let limited =
        "setoption name UCI_LimitStrength value true\nsetoption name UCI_Elo value 1000\n";
    // It stops long before the end of its time, and reports one line only.
    let output = run_session(&format!("{limited}go movetime 60000\n"));
    assert_eq!(best(&output).len(), 4);
    assert!(!output.contains("multipv 2"), "{output}");
    let output = run_session("setoption name UCI_Elo value 900\n");
    assert!(
        output.contains("UCI_Elo: expected a number from 1000 to 2800"),
        "{output}"
    );
}

#[test]
fn go_with_wrong_values_reports_them_and_moves() {
    for (line, part) in [
        ("go depth x", "not a number: x"),
        ("go depth 99999999999999999999", "the number is too large"),
        ("go movetime", "movetime needs a value"),
        ("go nodes -5", "go: nodes cannot be negative: -5"),
        ("go depth -1", "go: depth cannot be negative: -1"),
        ("go movetime -1", "cannot be negative"),
        ("go movestogo -1 wtime 100 btime 100", "cannot be negative"),
    ] {
        let output = run_session(line);
        assert!(output.contains(part), "{line}: {output}");
        assert_eq!(best(&output).len(), 4, "{line}");
    }
    let output = run_session("go wtime -50 btime -50");
    assert!(!output.contains("info string"), "{output}");
}

#[test]
fn perft_prints_moves_and_total() {
    let output = run_session("go perft 3\n");
    assert!(output.contains("e2e4: 600\n"));
    assert!(output.ends_with("\nNodes searched: 8902\n"));
}

#[test]
fn commands_for_standard_chess_say_so_in_a_variant() {
    let output = run_session(
        "setoption name UCI_Variant value atomic\nbench 1\ngenfens 1 seed 1 book None\n\
         setoption name UCI_Variant value chess\nbench 1\ngenfens 1 seed 1 book None\n",
    );
    let lines: Vec<&str> = output.lines().collect();
    let [note, bench, refused, same_bench, fen] = lines[..] else {
        panic!("{output}");
    };
    assert!(note.starts_with("info string bench: "), "{output}");
    let nodes = |line: &str| line.split(' ').next().map(str::to_owned);
    assert_eq!(nodes(bench), nodes(same_bench), "{output}");
    assert!(refused.contains("set UCI_Variant to chess"), "{output}");
    assert!(fen.starts_with("info string genfens "), "{output}");
}

#[test]
fn chess960_option_changes_castling_notation() {
    let castles = "position fen 5k2/8/8/8/8/8/8/4K2R w K - 0 1\ngo depth 1 searchmoves e1g1\n";
    assert_eq!(best(&run_session(castles)), "e1g1");
    let chess960 = format!("setoption name UCI_Chess960 value true\n{castles}");
    assert_eq!(best(&run_session(&chess960)), "e1h1");
}

#[test]
fn bad_input_is_answered_by_info_string() {
    for line in [
        "hello",
        "setoption",
        "setoption name",
        "setoption name Hash value many",
        "setoption name Hash value 0",
        "setoption name Threads value -1",
        "setoption name Color value red",
        "setoption name UCI_Chess960 value perhaps",
        "setoption name UCI_AnalyseMode value perhaps",
        "setoption name UCI_Opponent value Anna",
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
        let output = run_session(&format!("{line}\nstop\nisready\n"));
        assert!(output.contains("info string "), "{line}: {output}");
        assert!(output.contains("readyok\n"), "{line}: {output}");
    }
    assert_eq!(
        run_session_bytes(b"\xff\xfe\0\n\nisready\n").lines().last(),
        Some("readyok")
    );
}

#[test]
fn too_long_line_leaves_no_position() {
    for long in [MAX_LINE_BYTES, 10_000_000] {
        let mut input = vec![b'x'; long as usize];
        input.extend(b"\nisready\ngo depth 1\nposition startpos\ngo depth 1\n");
        let output = run_session_bytes(&input);
        let lines: Vec<&str> = output.lines().collect();
        assert!(
            lines[0].starts_with("info string line too long"),
            "{output}"
        );
        assert_eq!(lines[1], "readyok");
        assert!(lines[2].contains("no position"), "{output}");
        assert_eq!(lines[3], "bestmove 0000");
        assert_ne!(best(&output), "0000", "{output}");
    }
    let output = run_session_bytes(&vec![b'x'; 10_000_000]);
    assert_eq!(output.lines().count(), 1, "at the end of the input as well");
}

#[test]
fn refused_position_is_not_replaced_by_the_old_one() {
    let refused = "position startpos moves e2e4\nposition startpos moves e2e5\n";
    for command in ["d", "eval", "moves", "result", "go perft 1"] {
        let output = run_session(&format!("{refused}{command}"));
        assert!(output.lines().count() == 2, "{output}");
        assert!(output.contains("no position, since the last one was refused"));
    }
    let output = run_session(&format!("{refused}go depth 3"));
    assert_eq!(best(&output), "0000");
    let output = run_session(&format!("{refused}position startpos\ngo depth 1"));
    assert_eq!(best(&output).len(), 4);
}

#[test]
fn positions_that_no_game_reaches_are_searched() {
    for fen in [
        // Three knights check; a king between two rooks; all rights and an en passant square out of nowhere.
        "4k3/2N3N1/3N4/8/8/8/8/4K3 b - - 0 1",
        "R3k2R/8/8/8/8/8/8/4K3 b - - 0 1",
        "4k3/8/8/8/8/8/8/4K3 w KQkq e6 0 1",
    ] {
        let output = run_session(&format!("position fen {fen}\ngo depth 4"));
        assert_eq!(best(&output).len(), 4, "{fen}");
        assert!(!output.contains("info string"), "{output}");
    }
}

#[test]
fn moves_and_result_describe_the_position() {
    let output = run_session("moves\nresult\nposition startpos moves f2f3 e7e5 g2g4 d8h4\nresult");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0].split(' ').count(), 20);
    assert!(lines[0].contains("g1f3"), "{output}");
    assert_eq!(lines[1..], ["*", "0-1 {Black mates}"]);
    let shuffle = "g1f3 g8f6 f3g1 f6g8 ".repeat(2);
    for (position, result) in [
        (format!("startpos moves {shuffle}"), "Draw by repetition"),
        ("fen 7k/5K2/6Q1/8/8/8/8/8 b - - 0 1".into(), "Stalemate"),
        (
            "fen 7k/5K2/8/8/8/8/8/8 b - - 0 1".into(),
            "Insufficient material",
        ),
        (
            "fen 7k/5K2/8/Q7/8/8/8/8 b - - 100 80".into(),
            "Draw by fifty-move rule",
        ),
    ] {
        let output = run_session(&format!("position {position}\nresult"));
        assert_eq!(output, format!("1/2-1/2 {{{result}}}\n"), "{position}");
    }
}

#[test]
fn genfens_prints_distinct_positions_of_the_seed() {
    let fens = |line: &str| -> Vec<String> {
        let output = run_session(line);
        let fens = output
            .lines()
            .map(|line| line.strip_prefix("info string genfens "));
        fens.map(|fen| fen.expect("a position").to_owned())
            .collect()
    };
    let first = fens("genfens 20 seed 7 book None");
    assert_eq!(first, fens("genfens 20 seed 7 book none"));
    assert_ne!(first, fens("genfens 20 seed 8 book None"));
    assert_eq!(first, fens("genfens 20 seed 7 book None extra=1 more"));
    assert_eq!(first, fens("genfens 20 seed 7 book None variant chess"));
    let distinct: std::collections::HashSet<&String> = first.iter().collect();
    assert_eq!(distinct.len(), 20);
    for fen in &first {
        let game = read_position(
            Variant::Standard,
            &[&["fen"][..], &fen.split(' ').collect::<Vec<_>>()].concat(),
        );
        assert_eq!(game.expect("legal").termination(), None, "{fen}");
    }
    for (line, part) in [
        ("genfens", "expected `genfens N seed S book None`"),
        ("genfens 3 seed 1 book", "expected"),
        ("genfens x seed 1 book None", "not a number: x"),
        ("genfens 0 seed 1 book None", "positions, not 0"),
        ("genfens 1 seed -1 book None", "not a number: -1"),
        (
            "genfens 1 seed 1 book nowhere.epd",
            "cannot read nowhere.epd",
        ),
        ("genfens 1 seed 1 book Cargo.toml", "genfens: Cargo.toml:"),
        (
            "genfens 1 seed 1 book None variant atomic",
            "standard chess only",
        ),
    ] {
        let output = run_session(line);
        assert!(
            output.starts_with("info string genfens: ") && output.contains(part),
            "{output}"
        );
    }
}

#[test]
fn spsa_lists_parameters_of_tune_builds() {
    let output = run_session("spsa");
    match crate::Parameters::tunable().is_empty() {
        true => assert!(output.contains("build with --features tune"), "{output}"),
        false => assert!(output.contains("\nrfp_margin, int, "), "{output}"),
    }
}

#[test]
fn commands_are_known() {
    for line in super::session::COMMANDS {
        assert!(is_command(line));
        let unknown = format!("unknown command: {line}");
        assert!(
            line == "xboard" || !run_session(line).contains(&unknown),
            "{line}"
        );
    }
    assert!(is_command("genfens 5 seed 1 book None") && !is_command("status") && !is_command(""));
}

#[test]
fn d_and_eval_show_board_and_score() {
    let output = run_session("d\neval\nposition fen 4k3/8/8/8/8/8/4r3/4K3 w - - 0 1\neval\n");
    assert!(output.contains("Key: 463B96181691FC9C"));
    assert!(output.contains("Evaluation: +0."));
    assert!(output.contains("in check"));
}

#[test]
fn setoption_of_valid_values_is_silent() {
    let output = run_session(
        "setoption name Hash value 2\nsetoption name Threads value 3\nsetoption name Move Overhead value 0\n\
         setoption name ponder value true\nsetoption name UCI_AnalyseMode value true\n\
         setoption name UCI_Opponent value GM 2800 human Anna B\nsetoption name UCI_Opponent value none none computer X\n\
         setoption name UCI_EngineAbout value this\nsetoption name Clear Hash\nucinewgame\ngo depth 4\n",
    );
    assert!(!output.contains("info string"), "{output}");
}

#[test]
fn large_threads_and_hash_still_play() {
    for options in [
        "setoption name Threads value 256\nsetoption name Hash value 1",
        // Only written pages take memory; a smaller table is reported.
        "setoption name Hash value 16384\nucinewgame",
    ] {
        for limit in ["nodes 20000", "wtime 1000 btime 1000"] {
            let output = run_session(&format!("{options}\ngo {limit}\n"));
            let game = read_position(Variant::Standard, &["startpos", "moves", best(&output)]);
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

#[test]
fn uci_variant_changes_the_rules() {
    let output = run_session(
        "uci\nsetoption name UCI_Variant value crazyhouse\n\
         position fen 6rk/6pp/8/8/8/8/8/4K3[N] w - -\ngo depth 4\n",
    );
    assert!(
        output
            .contains("option name UCI_Variant type combo default chess var chess var crazyhouse")
    );
    assert_eq!(best(&output), "N@f7");
    let output = run_session(
        "setoption name UCI_Variant value 3check\nposition startpos moves e2e4\nd\n\
         setoption name UCI_Variant value horde\ngo perft 2\n",
    );
    assert!(output.contains("0 1 +0+0"), "{output}");
    assert!(output.contains("Nodes searched: 128"), "{output}");
    let output = run_session("setoption name UCI_Variant value bughouse\n");
    assert!(
        output.contains("UCI_Variant: expected one of chess, crazyhouse"),
        "{output}"
    );
}
