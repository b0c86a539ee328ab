//! Short form of the fuzz targets (`fuzz/README.md`): mutated inputs, on every build.

#[path = "../../fuzz/bodies.rs"]
mod bodies;
#[path = "../../fuzz/seeds.rs"]
mod seeds;

use std::time::{Duration, Instant};

use bodies::TARGETS;
use seeds::seeds;

/// Applies one random mutation, like a fuzzer.
fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], rng: &mut fastrand::Rng) {
    let at = rng.usize(..=bytes.len());
    let end = (at + rng.usize(..20)).min(bytes.len());
    match rng.u8(..7) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.insert(at, rng.u8(..)),
        2 => bytes.truncate(at),
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        4 => {
            let nasty: [&[u8]; 8] = [
                b"\x1b[2J",
                b"\0",
                b"\n",
                b"\"",
                b"-1",
                b"99999999999999999999",
                b"\xff",
                "\u{202e}".as_bytes(),
            ];
            bytes.splice(at..at, nasty[rng.usize(..nasty.len())].iter().copied());
        }
        5 => {
            let other = &others[rng.usize(..others.len())];
            bytes.truncate(at);
            bytes.extend(&other[rng.usize(..=other.len())..]);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.u8(..8);
            }
        }
    }
}

/// Runs a fuzz target for half a second or 2,000 inputs. A panic shows the seed.
fn run_target(name: &str) {
    let (_, body) = TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a target");
    let seeds = seeds(name);
    assert!(!seeds.is_empty());
    for seed in &seeds {
        body(seed);
    }
    let mut rng = fastrand::Rng::with_seed(8);
    let begun = Instant::now();
    for _ in 0..2_000 {
        let mut bytes = seeds[rng.usize(..seeds.len())].clone();
        for _ in 0..rng.usize(1..6) {
            mutate(&mut bytes, &seeds, &mut rng);
        }
        body(&bytes);
        if begun.elapsed() > Duration::from_millis(500) {
            break;
        }
    }
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_target(stringify!($name));
        })*

        #[test]
        fn every_fuzz_target_is_covered() {
            let tried = [$(stringify!($name)),*];
            let all = TARGETS.map(|(name, _)| name);
            assert_eq!(all[..], tried[..]);
            let manifest = include_str!("../../fuzz/Cargo.toml");
            let listed: Vec<String> = manifest
                .lines()
                .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
                .map(str::to_owned)
                .collect();
            assert_eq!(listed, tried);
        }
    };
}

tests! { book config fen game moves pgn responses search stream text uci }

/// Writes the initial inputs of the fuzzer to `fuzz/corpus`, for `fuzz/run`.
#[test]
#[ignore = "writes files for the fuzzer"]
fn write_seeds() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, _) in TARGETS {
        let folder = corpus.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for (number, seed) in seeds(name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), seed).expect("a file");
        }
    }
}
