//! Mates of known length: the engine finds them, and a solver that knows nothing of it says that the lengths are right.
//!
//! `tests/suites/mates.epd` was made by [`make`]: the engine played against itself, and where it saw a mate the solver tried
//! everything. The solver has its rules from another library than the engine.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;

use knightwatch::chess::{self, Epd, Game};
use knightwatch::engine::{Limits, Score, Setting, Solo};
use shakmaty::fen::Fen;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

const SUITE: &str = include_str!("../suites/mates.epd");

/// Tries everything: is there a mate, and in how many moves?
struct Solver {
    /// Whether the side to move mates in at most so many moves.
    known: HashMap<(Zobrist64, u32), bool>,
    /// Moves that may still be tried.
    left: u64,
}

impl Solver {
    fn new(moves: u64) -> Solver {
        Solver {
            known: HashMap::new(),
            left: moves,
        }
    }

    /// The length of the shortest mate, at most `longest`; `None` if there is none, `Err` if it is too much work.
    fn shortest(&mut self, position: &Chess, longest: u32) -> Result<Option<u32>, ()> {
        for moves in 1..=longest {
            if self.mates(position, moves)? {
                return Ok(Some(moves));
            }
        }
        Ok(None)
    }

    /// Whether the side to move mates in at most so many moves, whatever is replied.
    fn mates(&mut self, position: &Chess, moves: u32) -> Result<bool, ()> {
        let key = (position.zobrist_hash(EnPassantMode::Legal), moves);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let mut after = Vec::new();
        for mv in position.legal_moves() {
            self.left = self.left.checked_sub(1).ok_or(())?;
            let mut next = position.clone();
            next.play_unchecked(mv);
            if next.is_checkmate() {
                self.known.insert(key, true);
                return Ok(true);
            }
            after.push(next);
        }
        // Checks first, and few replies: they mate sooner than others. That changes the work, not the answer.
        let mut found = false;
        if moves > 1 {
            after.sort_by_cached_key(|next| (!next.is_check(), next.legal_moves().len()));
            for next in after {
                if self.is_lost(&next, moves - 1)? {
                    found = true;
                    break;
                }
            }
        }
        self.known.insert(key, found);
        Ok(found)
    }

    /// Whether every reply is answered by a mate in at most so many moves.
    fn is_lost(&mut self, position: &Chess, moves: u32) -> Result<bool, ()> {
        let replies = position.legal_moves();
        for &mv in &replies {
            self.left = self.left.checked_sub(1).ok_or(())?;
            let mut next = position.clone();
            next.play_unchecked(mv);
            if !self.mates(&next, moves)? {
                return Ok(false);
            }
        }
        // Without a reply it is stalemate, since mates were looked for before.
        Ok(!replies.is_empty())
    }
}

fn board(fen: &str) -> Chess {
    let fen: Fen = fen.parse().unwrap();
    fen.into_position(CastlingMode::Standard).unwrap()
}

/// The positions of the suite with the lengths of their mates.
fn suite() -> Vec<(String, u32)> {
    let lines = SUITE.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &str| {
        let epd = Epd::parse(line).unwrap();
        let length = epd.operands("dm").unwrap()[0].parse().unwrap();
        (epd.position.fen(), length)
    };
    lines.map(read).collect()
}

#[test]
fn the_solver_knows_mates_and_stalemates() {
    for (fen, length) in [
        ("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1", Some(1)),
        ("7k/8/8/8/8/8/R7/1R5K w - - 0 1", Some(2)),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", Some(2)),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", Some(3)),
        ("7k/5Q2/8/6K1/8/8/8/8 w - - 0 1", Some(3)),
        ("8/8/8/8/8/4k3/4p3/4K3 b - - 0 1", None),
    ] {
        let found = Solver::new(10_000_000).shortest(&board(fen), 3);
        assert_eq!(found, Ok(length), "{fen}");
    }
}

#[test]
fn the_lengths_of_the_suite_are_right() {
    let suite = suite();
    assert_eq!(suite.len(), 64);
    for (fen, length) in suite {
        let found = Solver::new(u64::MAX).shortest(&board(&fen), length);
        assert_eq!(found, Ok(Some(length)), "{fen}");
    }
}

#[test]
fn all_mates_of_the_suite_are_found_with_the_right_length() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/mates.epd");
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["epd", path, "--nodes", "20000000"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("solved 64 of 64 "), "{printed}");
}

/// How many mates the suite has, in one move, in two ...
const WANTED: [u32; 4] = [6, 24, 27, 8];
/// A mate that takes the solver more moves is not taken, so that the tests stay quick.
const WORK: u64 = 150_000;

/// Writes the suite anew: `cargo test --release --test it mates::make -- --ignored --nocapture > tests/suites/mates.epd`
/// and keep the lines of EPD.
#[test]
#[ignore = "makes the suite"]
fn make() {
    let limits = Limits {
        nodes: Some(1_500),
        ..Limits::default()
    };
    let mut rng = fastrand::Rng::with_seed(6);
    let mut solo = Solo::new(4, &Setting::with_network(None));
    let mut left = WANTED;
    let mut suite = String::new();
    while left != [0; 4] {
        // A move at random now and then brings about mates of all kinds.
        let mut game = Game::new(chess::Position::startpos());
        solo.new_game();
        while game.ending().is_none() && game.moves().len() < 160 {
            let thought = solo.think(&game, &limits);
            let fen = game.position().fen();
            let seen = matches!(thought.score, Score::Mate(1..=4));
            let length = seen.then(|| Solver::new(WORK).shortest(&board(&fen), 4));
            if let Some(Ok(Some(length))) = length
                && let Some(count) = left.get_mut(length as usize - 1)
                && *count > 0
            {
                *count -= 1;
                let place: Vec<&str> = fen.split(' ').take(4).collect();
                writeln!(suite, "{} dm {length};", place.join(" ")).unwrap();
                // One mate of a game is enough.
                break;
            }
            let legal = game.position().legal_moves();
            let mv = match thought.mv {
                Some(mv) if rng.u8(..6) > 0 => mv,
                _ => *rng.choice(legal.iter()).unwrap(),
            };
            game.play(mv);
        }
    }
    let mut lines: Vec<&str> = suite.lines().collect();
    lines.sort_by_key(|line| line.rsplit(' ').next());
    println!("{}", lines.join("\n"));
}
