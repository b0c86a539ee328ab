//! Names, chat and reasons from the network: harmless in a terminal, and no longer than asked.
#![no_main]

use knightwatch::lichess::model::{clean, clip};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (most, text) = input;
    assert!(!clean(text).chars().any(char::is_control));
    assert!(clip(text, usize::from(most)).chars().count() <= usize::from(most) + 1);
});
