//! Chat messages of built-in players.

use super::ChatStyle;

/// Maximum length of a chat message, in characters.
const MAX_CHARS: usize = 140;

const PLAIN: &[&str] = &[
    "Hello, have a good game!",
    "I did not see that one coming.",
    "How are you today?",
    "Interesting choice.",
    "!help",
    "Let me think...",
    "That was not what I wanted.",
];
const LONG: &[&str] = &[
    "When I was young we had no clocks at all, and a game was over when the coffee was cold. ",
    "hahaha",
];
const LINKS: &[&str] = &[
    "Look here: https://example.org/chess?a=1&b=2#top",
    "www.example.org is where I learned that",
    "Watch me at http://127.0.0.1:1/",
];
const CONTROL: &[&str] = &[
    "a bell \u{7} a null \u{0} a tab \t and a line\nbreak\r\nor two",
    "\u{1b}[31mred\u{1b}[0m \u{1b}[2J \u{9b}1m",
    "right to left \u{202e}sdrawkcab\u{202c}, nothing \u{200b}\u{feff}wide",
    "\"quoted\" \\back\\slashed\\ {\"type\":\"gameState\"} </script>",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{265e} e\u{301} \u{4f60}\u{597d} \u{0645}\u{0631}\u{062d}\u{0628}\u{0627}",
];

/// The message with this number, in these styles in turn; `None` without styles.
pub(super) fn message(styles: &[ChatStyle], number: usize) -> Option<String> {
    let style = *styles.get(number % styles.len().max(1))?;
    let messages = match style {
        ChatStyle::Plain => PLAIN,
        ChatStyle::Long => LONG,
        ChatStyle::Links => LINKS,
        ChatStyle::Control => CONTROL,
    };
    let text = messages[number / styles.len() % messages.len()];
    Some(if style == ChatStyle::Long {
        text.chars().cycle().take(MAX_CHARS).collect()
    } else {
        text.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chat_messages_have_valid_length() {
        for style in [
            ChatStyle::Plain,
            ChatStyle::Long,
            ChatStyle::Links,
            ChatStyle::Control,
        ] {
            for number in 0..10 {
                let text = message(&[style], number).unwrap();
                let length = text.chars().count();
                assert!((1..=MAX_CHARS).contains(&length), "{text}");
                assert_eq!(text.trim(), text.trim_end(), "{text}");
            }
        }
        let long = message(&[ChatStyle::Long], 1).unwrap();
        assert_eq!(long.chars().count(), MAX_CHARS);
        assert_eq!(message(&[], 3), None);
    }

    #[test]
    fn chat_styles_alternate() {
        let styles = [ChatStyle::Plain, ChatStyle::Links];
        let messages: Vec<String> = (0..4)
            .filter_map(|number| message(&styles, number))
            .collect();
        assert_eq!(messages, [PLAIN[0], LINKS[0], PLAIN[1], LINKS[1]]);
    }
}
