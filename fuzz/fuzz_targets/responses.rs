#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| knightwatch_fuzz::responses(data));
