//! Text from elsewhere for terminals and logs.

/// Removes control characters and those that change the writing direction.
pub fn clean(text: &str) -> String {
    let unsafe_char = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().filter(|&c| !unsafe_char(c)).collect()
}

/// [`clean`], cut to `max_chars` characters with an ellipsis.
pub fn clip(text: &str, max_chars: usize) -> String {
    let mut short: String = clean(text);
    if let Some((end, _)) = short.char_indices().nth(max_chars) {
        short.truncate(end);
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_control_characters() {
        assert_eq!(clean("a\x1b[1mb\u{202e}c\u{200b}\n"), "a[1mbc");
        assert_eq!(clip("\u{feff}Ä\tbc", 2), "Äb…");
        assert_eq!(clip("Äb", 2), "Äb");
    }
}
