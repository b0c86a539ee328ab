//! What we say. Never on the way of a move; what becomes of it is of no importance.

/// The most that Lichess takes in one line, in characters; a longer one is refused.
const LONGEST: usize = 140;

/// Fills in the names and cuts to what Lichess takes. `None` when there is nothing to say.
pub fn line(template: &str, me: &str, opponent: &str) -> Option<String> {
    let text = template.replace("{me}", me).replace("{opponent}", opponent);
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.chars().count() <= LONGEST {
        return Some(text.into());
    }
    let cut: String = text.chars().take(LONGEST - 1).collect();
    Some(cut.trim_end().to_owned() + "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in() {
        let said = line("Hello {opponent}, I am {me}.", "Rob", "Ann");
        assert_eq!(said.as_deref(), Some("Hello Ann, I am Rob."));
        assert_eq!(line("  ", "Rob", "Ann"), None);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let said = line(&"é".repeat(200), "", "").unwrap();
        assert_eq!(said.chars().count(), LONGEST);
        assert!(said.ends_with("é…"));
        assert_eq!(line(&"é".repeat(140), "", "").unwrap(), "é".repeat(140));
    }
}
