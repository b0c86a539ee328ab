//! Selects the network that is embedded: the file named by the environment variable `EVALFILE`, or the one in the source.

use std::env;
use std::path::{Path, PathBuf};

/// Bytes of the file that hold the checksum of all others, as in `src/nnue/network.rs`.
const CHECKSUM: std::ops::Range<usize> = 24..32;

fn main() {
    println!("cargo::rerun-if-env-changed=EVALFILE");
    let source = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let named = env::var_os("EVALFILE").filter(|name| !name.is_empty());
    let file = match named {
        // Relative names are relative to the workspace, where cargo is called.
        Some(name) => source.join("../..").join(name),
        None => source.join("src/nnue/net.bin"),
    };
    println!("cargo::rerun-if-changed={}", file.display());
    match check(&file) {
        Ok(()) => println!("cargo::rustc-env=KNIGHTWATCH_NETWORK={}", file.display()),
        Err(why) => println!("cargo::error=EVALFILE: {}: {why}", file.display()),
    }
}

/// Checks that the file is an undamaged network. An empty file stands for none.
fn check(file: &Path) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    if bytes.is_empty() {
        return Ok(());
    }
    if bytes.len() < CHECKSUM.end || !bytes.starts_with(b"KWNN") {
        return Err("not a Knightwatch network".to_owned());
    }
    let checked = [&bytes[..CHECKSUM.start], &bytes[CHECKSUM.end..]].concat();
    let sum = checked
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
    if sum.to_le_bytes() == bytes[CHECKSUM] {
        Ok(())
    } else {
        Err("the network is damaged (wrong checksum)".to_owned())
    }
}
