//! Positions: what is taken can be written, read again, and played on.
#![no_main]

use knightwatch::chess::Position;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(position) = Position::from_fen(text) else {
        return;
    };
    let again = Position::from_fen(&position.shredder_fen()).expect("what we write we read");
    assert_eq!(again, position);
    for mv in position.legal_moves().iter() {
        let after = position.after(*mv);
        let _ = after.legal_moves();
    }
});
