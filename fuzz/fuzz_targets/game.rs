//! A game's stream against everything that a game's task does with it. The first line is a true one, so that the rest
//! has a game to harm.
#![no_main]

use knightwatch::bot::replay::{Outcome, Replay};
use knightwatch::lichess::model::Username;
use libfuzzer_sys::fuzz_target;

const FIRST: &str = r#"{"id":"abcdefgh","variant":{"key":"standard"},"speed":"blitz","rated":false,"white":{"id":"me","name":"Me"},"black":{"id":"you","name":"You"},"initialFen":"startpos","clock":{"initial":180000,"increment":2000},"type":"gameFull","state":{"type":"gameState","moves":"","wtime":180000,"btime":180000,"winc":2000,"binc":2000,"status":"started"}}"#;

fuzz_target!(|data: &str| {
    let mut known = Replay::new(Username::new("Me"));
    known.line(FIRST);
    let mut fresh = Replay::new(Username::new("Me"));
    for line in data.lines() {
        for outcome in [known.line(line), fresh.line(line)] {
            if let Outcome::Think(position, _) = outcome {
                // Whoever is asked to think has a board; a search on it is a legal move or nothing.
                let _ = position.legal_moves();
            }
        }
    }
});
