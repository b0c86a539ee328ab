//! The list of facts about the site that have to be tested, each by a test that bears its number.

use crate::docs::numbered_tests;

/// How many facts the list has.
const FACTS: u32 = 29;

#[test]
fn every_fact_has_a_test() {
    let numbers = numbered_tests("tests/it/sim", "fact_");
    assert_eq!(numbers, (1..=FACTS).collect());
}
