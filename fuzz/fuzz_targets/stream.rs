//! Both streams, from bytes in pieces of any size to events.
#![no_main]

use knightwatch::lichess::model::{Event, FromLine, GameEvent};
use knightwatch::lichess::{Line, Lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, data) = input;
    let mut lines = Lines::new(4_096);
    let mut read = |line| {
        if let Line::Text(text) = line {
            let _ = Event::from_line(&text);
            let _ = GameEvent::from_line(&text);
        }
    };
    for piece in data.chunks(usize::from(size).max(1)) {
        lines.push(piece, &mut read);
    }
    if let Some(line) = lines.finish() {
        read(line);
    }
});
