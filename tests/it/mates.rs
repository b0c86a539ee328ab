//! Forced mates of known length: the engine must find them, and an independent solver verifies the lengths.
//!
//! `tests/suites/mates.epd` was written by [`generate_suite`] from self-play games in which the engine saw a mate and
//! the solver proved it. The solver uses the rules of another library.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;

use knightwatch::chess::{self, Epd, Game};
use knightwatch::engine::{Limits, Score, Searcher, Setting};
use shakmaty::fen::Fen;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

const SUITE: &str = include_str!("../suites/mates.epd");

/// Exhaustive mate solver.
struct Solver {
    /// Cache: whether the side to move mates in at most this many moves.
    known: HashMap<(Zobrist64, u32), bool>,
    /// Remaining work, in moves.
    left: u64,
}

impl Solver {
    fn new(moves: u64) -> Solver {
        Solver {
            known: HashMap::new(),
            left: moves,
        }
    }

    /// The length of the shortest mate, at most `longest`; `None` if there is none, `Err` if the work limit is
    /// reached.
    fn shortest(&mut self, position: &Chess, longest: u32) -> Result<Option<u32>, ()> {
        for moves in 1..=longest {
            if self.mates(position, moves)? {
                return Ok(Some(moves));
            }
        }
        Ok(None)
    }

    /// Returns whether the side to move mates in at most `moves` moves against any defense.
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
        // Checks and moves with few replies first: they mate sooner. This affects the work only.
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

    /// Returns whether every reply allows mate in at most `moves` moves.
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
        // Without a reply it is stalemate, since mate was tested before.
        Ok(!replies.is_empty())
    }
}

fn board(fen: &str) -> Chess {
    let fen: Fen = fen.parse().unwrap();
    fen.into_position(CastlingMode::Standard).unwrap()
}

/// The positions of the suite and the lengths of their mates.
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
fn mates_solver_is_correct_for_known_positions() {
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
fn mates_suite_lengths_match_solver() {
    let suite = suite();
    assert_eq!(suite.len(), 64);
    for (fen, length) in suite {
        let found = Solver::new(u64::MAX).shortest(&board(&fen), length);
        assert_eq!(found, Ok(Some(length)), "{fen}");
    }
}

#[test]
fn mates_suite_is_solved_by_engine() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/mates.epd");
    let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
        .args(["epd", path, "--nodes", "20000000"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("solved 64 of 64 "), "{printed}");
}

/// Number of mates in the suite, by length from 1.
const MATES_BY_LENGTH: [u32; 4] = [6, 24, 27, 8];
/// Mates that take the solver more moves are not used, to keep the tests fast.
const MAX_SOLVER_MOVES: u64 = 150_000;

/// Writes the suite: `cargo test --release --test it mates::generate_suite -- --ignored --nocapture >
/// tests/suites/mates.epd`; keep the EPD lines only.
#[test]
#[ignore = "makes the suite"]
fn generate_suite() {
    let limits = Limits {
        nodes: Some(1_500),
        ..Limits::default()
    };
    let mut rng = fastrand::Rng::with_seed(6);
    let mut solo = Searcher::new(4, &Setting::with_network(None));
    let mut left = MATES_BY_LENGTH;
    let mut suite = String::new();
    while left != [0; 4] {
        // Occasional random moves lead to a variety of mates.
        let mut game = Game::new(chess::Position::startpos());
        solo.new_game();
        while game.termination().is_none() && game.moves().len() < 160 {
            let result = solo.search(&game, &limits);
            let fen = game.position().fen();
            let seen = matches!(result.score, Score::Mate(1..=4));
            let length = seen.then(|| Solver::new(MAX_SOLVER_MOVES).shortest(&board(&fen), 4));
            if let Some(Ok(Some(length))) = length
                && let Some(count) = left.get_mut(length as usize - 1)
                && *count > 0
            {
                *count -= 1;
                let place: Vec<&str> = fen.split(' ').take(4).collect();
                writeln!(suite, "{} dm {length};", place.join(" ")).unwrap();
                // Use one mate per game.
                break;
            }
            let legal = game.position().legal_moves();
            let mv = match result.mv {
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
