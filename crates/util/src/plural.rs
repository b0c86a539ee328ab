//! Counts with singular or plural nouns.

use std::fmt::Display;

/// `1 game`, `2 games`.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    let noun = if n == N::from(1) { one } else { many };
    format!("{n} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_of_one_is_singular() {
        assert_eq!(count(1_usize, "game", "games"), "1 game");
        assert_eq!(count(0_u64, "game", "games"), "0 games");
        assert_eq!(count(21_u32, "entry", "entries"), "21 entries");
    }
}
