//! Ids and names as people copy them: from the address bar of a browser.

/// Kind of page that an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A game or a challenge: the id follows the host.
    Game,
    /// An arena.
    Arena,
    /// A team.
    Team,
    /// A user.
    User,
}

impl Page {
    /// The path before the id.
    fn prefix(self) -> &'static str {
        match self {
            Self::Game => "",
            Self::Arena => "tournament/",
            Self::Team => "team/",
            Self::User => "@/",
        }
    }
}

/// Length of a game id.
const GAME_ID_LEN: usize = 8;

/// Length of a player's full game id: the game id and four characters for the player.
const FULL_ID_LEN: usize = 12;

/// Extracts the id or name from a text: `https://lichess.org/tournament/may24bot` is `may24bot`, `lichess.org/@/Anna` and
/// `@Anna` are `Anna`, and `nuJDRHEfabcd` is the game `nuJDRHEf`. The address may be of any server, including our own page.
/// Any other text is returned unchanged.
pub fn id(text: &str, page: Page) -> &str {
    let text = text.trim();
    let found = match after_host(text, page) {
        Some(rest) => first_segment(rest),
        None if page == Page::User => text.strip_prefix('@').unwrap_or(text),
        None => text,
    };
    match page {
        // Other pages have their kind in place of a game id.
        Page::Game => game_id(found).unwrap_or(text),
        _ if found.is_empty() => text,
        _ => found,
    }
}

/// The id and anything after it, if the text is an address of such a page.
pub fn after_host(text: &str, page: Page) -> Option<&str> {
    let text = text.trim();
    let scheme = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let (host, path) = scheme.unwrap_or(text).split_once('/')?;
    let is_host = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && (scheme.is_some() || host.contains('.'));
    if !is_host {
        return None;
    }
    // Our own page has the game in the fragment.
    let ours = path
        .split_once("#/game/")
        .filter(|_| page == Page::Game)
        .map(|(_, game)| game);
    ours.or_else(|| path.strip_prefix(page.prefix()))
}

/// The text up to the end of an id within an address.
pub fn first_segment(text: &str) -> &str {
    text.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The game id in a game id or full game id.
fn game_id(text: &str) -> Option<&str> {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric());
    match text.len() {
        GAME_ID_LEN | FULL_ID_LEN if plain => text.get(..GAME_ID_LEN),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_yields_id() {
        for (text, page, found) in [
            ("https://lichess.org/nuJDRHEf", Page::Game, "nuJDRHEf"),
            (
                "https://lichess.org/nuJDRHEf/black#34",
                Page::Game,
                "nuJDRHEf",
            ),
            ("https://lichess.org/nuJDRHEfabcd", Page::Game, "nuJDRHEf"),
            (" lichess.org/nuJDRHEf?x=1 ", Page::Game, "nuJDRHEf"),
            ("http://127.0.0.1:9663/nuJDRHEf", Page::Game, "nuJDRHEf"),
            (
                "http://127.0.0.1:9664/?key=abc#/game/nuJDRHEf",
                Page::Game,
                "nuJDRHEf",
            ),
            ("nuJDRHEfabcd", Page::Game, "nuJDRHEf"),
            ("nuJDRHEf", Page::Game, "nuJDRHEf"),
            (
                "https://lichess.org/tournament/may24bot",
                Page::Arena,
                "may24bot",
            ),
            ("lichess.org/tournament/may24bot/", Page::Arena, "may24bot"),
            ("may24bot", Page::Arena, "may24bot"),
            (
                "https://lichess.org/team/our-team#chat",
                Page::Team,
                "our-team",
            ),
            ("https://lichess.org/@/Anna", Page::User, "Anna"),
            ("https://lichess.org/@/Anna/perf/blitz", Page::User, "Anna"),
            ("@Anna", Page::User, "Anna"),
            ("Anna", Page::User, "Anna"),
        ] {
            assert_eq!(id(text, page), found, "{text}");
        }
    }

    #[test]
    fn address_of_other_page_is_unchanged() {
        for (text, page) in [
            ("", Page::Game),
            ("nonesuch1", Page::Game),
            ("../nuJDRHEf", Page::Game),
            ("traces/nuJDRHEf.jsonl", Page::Game),
            ("games.d/x.jsonl", Page::Game),
            ("https://lichess.org/tournament/may24bot", Page::Game),
            ("https://lichess.org/@/Anna", Page::Arena),
            ("https://lichess.org/", Page::User),
            ("https://lichess.org/@/", Page::User),
            ("Bot-*", Page::User),
            ("https://", Page::Team),
        ] {
            assert_eq!(id(text, page), text, "{text}");
        }
    }
}
