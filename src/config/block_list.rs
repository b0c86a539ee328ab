//! An entry of `block_lists`: a list of user names that somebody keeps, by URL or file.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

/// Upper limit of the lists of one section.
pub(super) const MAX_BLOCK_LISTS: usize = 16;

/// Source of a list of user names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BlockList {
    Url(Url),
    File(PathBuf),
}

impl BlockList {
    /// Returns whether this text is meant as a URL.
    pub(super) fn is_url(text: &str) -> bool {
        text.contains("://")
    }
}

impl TryFrom<String> for BlockList {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected a URL, as in \"https://example.org/list\", or a file";
        if text.trim().is_empty() {
            return Err(EXPECTED);
        }
        if !Self::is_url(&text) {
            return Ok(Self::File(text.into()));
        }
        let url: Url = text.parse().map_err(|_| EXPECTED)?;
        match url.scheme() {
            // Addresses appear in logs.
            "http" | "https" if url.username().is_empty() && url.password().is_none() => {
                Ok(Self::Url(url))
            }
            "http" | "https" => Err("expected a URL without a name and a password"),
            _ => Err("expected a URL with https or http"),
        }
    }
}

impl From<BlockList> for String {
    fn from(list: BlockList) -> Self {
        list.to_string()
    }
}

impl fmt::Display for BlockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url.as_str()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_list_is_url_or_file() {
        let list = |text: &str| BlockList::try_from(text.to_owned());
        for text in ["https://example.org/a/list", "http://127.0.0.1:80/x?y=z"] {
            assert!(matches!(list(text), Ok(BlockList::Url(_))), "{text}");
        }
        assert_eq!(list("lists/own"), Ok(BlockList::File("lists/own".into())));
        for text in [
            "",
            " ",
            "ftp://example.org/list",
            "https://",
            "https://a:b@example.org/",
        ] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
