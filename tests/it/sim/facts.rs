//! Facts about Lichess, each covered by a test that bears its number.

use crate::docs::numbered_tests;

/// Number of facts in the list.
const FACTS: u32 = 29;

#[test]
fn facts_all_have_tests() {
    let numbers = numbered_tests("tests/it/sim", "fact_");
    assert_eq!(numbers, (1..=FACTS).collect());
}
