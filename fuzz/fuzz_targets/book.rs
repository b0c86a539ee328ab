//! Polyglot books.
#![no_main]

use knightwatch::book::{Book, Choice};
use knightwatch::chess::Position;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(book) = Book::from_bytes("fuzz", data.to_vec()) {
        let position = Position::startpos();
        let _ = book.entries(&position);
        let _ = book.pick(&position, &Choice::default(), &mut fastrand::Rng::with_seed(1));
    }
});
