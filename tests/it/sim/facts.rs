//! The list of facts about the site that have to be tested, each by a test that bears its number.

use std::collections::BTreeSet;
use std::path::Path;

/// How many facts the list has.
const FACTS: u32 = 29;

/// The numbers in the names of tests, as in `fn fact_13_ai_player_object`.
fn tested(folder: &Path, numbers: &mut BTreeSet<u32>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tested(&path, numbers);
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let lines = source.lines().map(|line| line.trim_start());
        let tests = lines
            .clone()
            .zip(lines.skip(1))
            .filter(|(attribute, _)| ["#[test]", "#[tokio::test]"].contains(attribute));
        for (_, test) in tests {
            let name = test.trim_start_matches("async ");
            if let Some(fact) = name.strip_prefix("fn fact_") {
                let number = fact.split('_').next().unwrap();
                numbers.insert(number.parse().expect("a number follows `fact_`"));
            }
        }
    }
}

#[test]
fn every_fact_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sim");
    let mut numbers = BTreeSet::new();
    tested(&folder, &mut numbers);
    assert_eq!(numbers, (1..=FACTS).collect());
}
