//! Configuration files.
#![no_main]

use knightwatch::config::{Settings, Sources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // A file in memory, where the system has that.
    let directory = if std::path::Path::new("/dev/shm").is_dir() {
        std::path::PathBuf::from("/dev/shm")
    } else {
        std::env::temp_dir()
    };
    let path = directory.join(format!("knightwatch-fuzz-{}.toml", std::process::id()));
    std::fs::write(&path, data).expect("a file can be written");
    let sources = Sources {
        file: Some(path),
        ..Sources::default()
    };
    if let Err(error) = Settings::load(&sources) {
        let _ = error.to_string();
    }
});
