//! What chatters say.

use super::Talk;

/// Longest chat line, in characters.
const LENGTH: usize = 140;

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
    "www.example.org is where I learnt that",
    "Watch me at http://127.0.0.1:1/",
];
const CONTROL: &[&str] = &[
    "a bell \u{7} a null \u{0} a tab \t and a line\nbreak\r\nor two",
    "\u{1b}[31mred\u{1b}[0m \u{1b}[2J \u{9b}1m",
    "right to left \u{202e}sdrawkcab\u{202c}, nothing \u{200b}\u{feff}wide",
    "\"quoted\" \\back\\slashed\\ {\"type\":\"gameState\"} </script>",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{265e} e\u{301} \u{4f60}\u{597d} \u{0645}\u{0631}\u{062d}\u{0628}\u{0627}",
];

/// The line of this number of somebody who talks in these ways, which take turns; nothing of who never talks.
pub(super) fn line(ways: &[Talk], number: usize) -> Option<String> {
    let way = *ways.get(number % ways.len().max(1))?;
    let lines = match way {
        Talk::Plain => PLAIN,
        Talk::Long => LONG,
        Talk::Links => LINKS,
        Talk::Control => CONTROL,
    };
    let line = lines[number / ways.len() % lines.len()];
    Some(if way == Talk::Long {
        line.chars().cycle().take(LENGTH).collect()
    } else {
        line.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_empty_or_too_long_for_the_site() {
        for way in [Talk::Plain, Talk::Long, Talk::Links, Talk::Control] {
            for number in 0..10 {
                let line = line(&[way], number).unwrap();
                let length = line.chars().count();
                assert!((1..=LENGTH).contains(&length), "{line}");
                assert_eq!(line.trim(), line.trim_end(), "{line}");
            }
        }
        assert_eq!(line(&[Talk::Long], 1).unwrap().chars().count(), LENGTH);
        assert_eq!(line(&[], 3), None);
    }

    #[test]
    fn ways_of_talking_take_turns() {
        let ways = [Talk::Plain, Talk::Links];
        let said: Vec<String> = (0..4).filter_map(|number| line(&ways, number)).collect();
        assert_eq!(said, [PLAIN[0], LINKS[0], PLAIN[1], LINKS[1]]);
    }
}
