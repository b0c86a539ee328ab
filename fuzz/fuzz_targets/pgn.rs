//! Games as text, in pieces of any size.
#![no_main]

use knightwatch::chess::pgn::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, data) = input;
    let mut reader = Reader::new();
    for mut piece in data.chunks(usize::from(size).max(1)) {
        while reader.feed(&mut piece).is_some() {}
    }
    let _ = reader.finish();
});
