//! Reading of a block list from its URL or file.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use tokio::task::spawn_blocking;
use url::Url;

use crate::config::BlockList;
use crate::input;
use crate::lichess::model::Username;
use crate::lichess::{fallback_roots, install_tls_provider};

/// Upper limit of a list in bytes: about 20,000 names.
const MAX_BYTES: usize = 256 * 1024;

/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Longer versions are not kept.
const MAX_ETAG_BYTES: usize = 200;

/// Result of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The copy of this version is up to date.
    Unchanged,
    /// Ids of the users, and the version.
    Names {
        names: BTreeSet<String>,
        etag: Option<String>,
    },
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
            let read = spawn_blocking(move || input::read(&path, MAX_BYTES as u64)).await;
            let bytes = read.map_err(|failure| failure.to_string())?;
            (bytes.map_err(|error| error.to_string())?, None)
        }
    };
    let names = parse(&String::from_utf8_lossy(&bytes))?;
    Ok(Fetched::Names { names, etag })
}

/// Downloads a list and its version; `None` if the copy of this version is up to date.
async fn download(
    url: &Url,
    etag: Option<&str>,
) -> Result<Option<(Vec<u8>, Option<String>)>, String> {
    let failed = |error: reqwest::Error| root_cause(&error.without_url());
    install_tls_provider();
    let client = reqwest::Client::builder()
        .timeout(REQUEST_TIMEOUT)
        .redirect(reqwest::redirect::Policy::limited(MAX_REDIRECTS))
        // A redirect must not give up what the address promises.
        .https_only(url.scheme() == "https")
        .tls_certs_merge(fallback_roots())
        .user_agent(concat!("knightwatch/", env!("CARGO_PKG_VERSION")))
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
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(format!("it has more than {} KiB", MAX_BYTES / 1024));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some((body, etag)))
}

/// The ids of the users of a list: one name a line, comments after `#`.
fn parse(text: &str) -> Result<BTreeSet<String>, String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let valid = lines.iter().filter(|line| Username::is_valid(line));
    let names: BTreeSet<String> = valid.clone().map(|name| Username::new(name).id()).collect();
    // A web page has some lines of one word, too.
    match valid.count() * 2 > lines.len() {
        true => Ok(names),
        false if lines.is_empty() => Err("it is empty".to_owned()),
        false => Err("it is no list with one user name on each line".to_owned()),
    }
}

/// The first cause of an error: the others only say that a request has failed.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_line_by_line() {
        let names = |text| parse(text).map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
        for (text, expected) in [
            ("Ann\nben\n", "ann ben"),
            (
                "# clones\r\nAnn # of Stockfish\r\n\r\n  BEN\r\nann",
                "ann ben",
            ),
            ("Ann\nben\ntwo words", "ann ben"),
            ("\u{feff}x\nAnn\nBen", "ann ben"),
        ] {
            assert_eq!(names(text).as_deref(), Ok(expected), "{text:?}");
        }
        for text in [
            "",
            "\n# nobody\n",
            "<html>\n<body>\nhello\n</body>\n</html>",
            "a b c",
            "*",
        ] {
            assert!(names(text).is_err(), "{text:?}");
        }
    }
}
