//! Ids and names as people copy them: out of the address bar of a browser.

/// What an address is the page of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A game, or a challenge: the id stands behind the host.
    Game,
    /// An arena.
    Arena,
    /// A team.
    Team,
    /// A user.
    User,
}

impl Page {
    /// What stands before the id in the path of an address.
    fn prefix(self) -> &'static str {
        match self {
            Self::Game => "",
            Self::Arena => "tournament/",
            Self::Team => "team/",
            Self::User => "@/",
        }
    }
}

/// The length of a game's id.
const GAME: usize = 8;

/// The length of a game's id as a player sees it in the address: four characters more stand for the player.
const OF_PLAYER: usize = 12;

/// The id or the name in a text: `https://lichess.org/tournament/may24bot` is `may24bot`, `lichess.org/@/Anna` and `@Anna`
/// are `Anna`, and `nuJDRHEfabcd` is the game `nuJDRHEf`. The address may be of any server, and one of our own page. A text
/// that is nothing of the sort stays as it is.
pub fn id(text: &str, page: Page) -> &str {
    let text = text.trim();
    let found = match behind(text, page) {
        Some(rest) => first(rest),
        None if page == Page::User => text.strip_prefix('@').unwrap_or(text),
        None => text,
    };
    match page {
        // Other pages have their kind where a game has its id.
        Page::Game => game(found).unwrap_or(text),
        _ if found.is_empty() => text,
        _ => found,
    }
}

/// What stands behind the host and the kind of page, where the text is an address of such a page: the id, and perhaps more.
pub fn behind(text: &str, page: Page) -> Option<&str> {
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
    // Our own page has the game behind the path.
    let ours = path
        .split_once("#/game/")
        .filter(|_| page == Page::Game)
        .map(|(_, game)| game);
    ours.or_else(|| path.strip_prefix(page.prefix()))
}

/// The text up to what an address has behind an id.
pub fn first(text: &str) -> &str {
    text.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The id of a game, also as a player sees it.
fn game(text: &str) -> Option<&str> {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric());
    match text.len() {
        GAME | OF_PLAYER if plain => text.get(..GAME),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_cut_out_of_addresses() {
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
    fn what_is_no_address_of_such_a_page_stays_as_it_is() {
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
