//! Reading of a block list from its URL or file.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use tokio::task::spawn_blocking;
use url::Url;

use crate::config::BlockList;
use crate::input;
use crate::lichess::model::{Username, clip};
use crate::lichess::{root_cause, web_client_builder};
use crate::plural;

/// Upper limit of a list in bytes: about 20,000 names.
const MAX_LIST_BYTES: usize = 256 * 1024;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Longer versions are not kept.
const MAX_ETAG_BYTES: usize = 200;

/// Upper limit of a line in a message, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// Result of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The copy of this version is up to date.
    Unchanged,
    /// A list, and its version.
    Names {
        parsed: Parsed,
        etag: Option<String>,
    },
}

/// Content of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Ids of the users.
    pub names: BTreeSet<String>,
    /// Number of lines that are no user names.
    pub skipped: usize,
    /// The first of these lines.
    pub first_skipped: Option<String>,
}

impl Parsed {
    /// Description of the skipped lines, if there are any.
    pub fn skipped_lines(&self) -> Option<String> {
        let first = self.first_skipped.as_ref()?;
        let lines = plural::count(self.skipped, "line", "lines");
        let are = if self.skipped == 1 {
            "is no user name"
        } else {
            "are no user names"
        };
        Some(format!("{lines} of it {are}, the first: {first:?}"))
    }
}

/// Reads a list. `etag` is the version of the copy that we have.
///
/// # Errors
/// A text that says why the list cannot be used.
pub async fn fetch(list: &BlockList, etag: Option<&str>) -> Result<Fetched, String> {
    let (bytes, etag) = match list {
        BlockList::Url(url) => match download(url, etag).await? {
            Some(downloaded) => downloaded,
            None => return Ok(Fetched::Unchanged),
        },
        BlockList::File(path) => {
            let path = path.clone();
            let read = spawn_blocking(move || input::read(&path, MAX_LIST_BYTES as u64)).await;
            let bytes = read.map_err(|failure| failure.to_string())?;
            (bytes.map_err(|error| error.to_string())?, None)
        }
    };
    let parsed = parse(&String::from_utf8_lossy(&bytes))?;
    Ok(Fetched::Names { parsed, etag })
}

/// Downloads a list and its version; `None` if the copy of this version is up to date.
async fn download(
    url: &Url,
    etag: Option<&str>,
) -> Result<Option<(Vec<u8>, Option<String>)>, String> {
    let failed = |error: reqwest::Error| root_cause(&error.without_url());
    let client = web_client_builder()
        .redirect(reqwest::redirect::Policy::limited(MAX_REDIRECTS))
        // A redirect must not give up what the address promises.
        .https_only(url.scheme() == "https")
        .build()
        .map_err(failed)?;
    let mut request = client.get(url.clone());
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let mut response = request.send().await.map_err(failed)?;
    match response.status() {
        StatusCode::NOT_MODIFIED if etag.is_some() => return Ok(None),
        status if !status.is_success() => return Err(format!("the server responds with {status}")),
        _ => {}
    }
    let etag = response.headers().get(ETAG);
    let etag = etag.and_then(|etag| etag.to_str().ok());
    let etag = etag
        .filter(|etag| etag.len() <= MAX_ETAG_BYTES)
        .map(str::to_owned);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > MAX_LIST_BYTES {
            return Err(format!("it has more than {} KiB", MAX_LIST_BYTES / 1024));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some((body, etag)))
}

/// Parses a list: one name a line, comments after `#`. A list may be empty.
fn parse(text: &str) -> Result<Parsed, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let (valid, skipped): (Vec<&str>, Vec<&str>) = lines
        .filter(|line| !line.is_empty())
        .partition(|line| Username::is_valid(line));
    // A web page has some lines of one word, too.
    if valid.len() <= skipped.len() && !skipped.is_empty() {
        return Err(format!(
            "{} of {} lines are no user names; a list has a user name on more than half of its lines",
            skipped.len(),
            valid.len() + skipped.len()
        ));
    }
    Ok(Parsed {
        names: valid.iter().map(|name| Username::new(name).id()).collect(),
        skipped: skipped.len(),
        first_skipped: skipped.first().map(|line| clip(line, MAX_SHOWN_CHARS)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_line_by_line() {
        let names = |text| {
            let parsed = parse(text)?;
            let names = parsed.names.iter().map(String::as_str);
            Ok::<_, String>((names.collect::<Vec<_>>().join(" "), parsed.skipped_lines()))
        };
        for (text, expected) in [
            ("Ann\nben\n", "ann ben"),
            (
                "# clones\r\nAnn # of Stockfish\r\n\r\n  BEN\r\nann",
                "ann ben",
            ),
            ("\u{feff}Cleo\nAnn\nBen", "ann ben cleo"),
            ("", ""),
            ("\n# nobody\n", ""),
        ] {
            assert_eq!(names(text), Ok((expected.to_owned(), None)), "{text:?}");
        }
        for (text, skipped) in [
            (
                "Ann\ntwo words # of one\nben",
                "1 line of it is no user name, the first: \"two words\"",
            ),
            (
                "Ann\nx\nben\n?\nann",
                "2 lines of it are no user names, the first: \"x\"",
            ),
        ] {
            let expected = ("ann ben".to_owned(), Some(skipped.to_owned()));
            assert_eq!(names(text), Ok(expected), "{text:?}");
        }
        let problem = names("<html>\n<body>\nhello\n</body>\n</html>").unwrap_err();
        let expected =
            "4 of 5 lines are no user names; a list has a user name on more than half of its lines";
        assert_eq!(problem, expected);
        for text in ["a b c", "*", "Ann\n*"] {
            assert!(names(text).is_err(), "{text:?}");
        }
    }
}
