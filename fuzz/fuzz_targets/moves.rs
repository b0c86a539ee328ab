//! Lists of moves in UCI and SAN, on positions that they reach.
#![no_main]

use knightwatch::chess::{Game, Position};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut game = Game::new(Position::startpos());
    for word in text.split_whitespace() {
        if game.push_uci(word).is_err()
            && let Ok(mv) = game.position().parse_san(word)
        {
            game.play(mv);
        }
        let _ = game.ending();
    }
});
