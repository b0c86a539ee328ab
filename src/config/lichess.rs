//! `[lichess]`: the server.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::lichess::{Endpoint, EndpointError};

section! {
    /// `[lichess]`
    pub struct Lichess {
        /// Base URL of the server; every request goes below it.
        pub url: Url = Url::parse("https://lichess.org").expect("a valid URL"),
        /// File that holds the API token and nothing else. `%d` is systemd's credentials directory, `~` the home directory.
        pub token_file: Option<PathBuf>,
        /// PEM file with additional trusted certificates, for a private server.
        pub ca_file: Option<PathBuf>,
        /// Whether plain http to other machines is allowed. Anyone on the way can read the token.
        pub insecure: bool = false,
        /// Base URL of the broker for `engine.provider`, if it is not that of the server.
        pub engine_url: Option<Url>,
    }
}

impl Lichess {
    /// The server in file names: `lichess.org`, with the port unless it is the default one.
    pub fn server_name(&self) -> String {
        let file_name_char = |letter: char| match letter {
            '.' | '-' => letter,
            _ if letter.is_ascii_alphanumeric() => letter,
            _ => '_',
        };
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!("-{port}"));
        host.chars()
            .map(file_name_char)
            .chain(port.iter().flat_map(|port| port.chars()))
            .collect()
    }

    /// The URL of the server, without a trailing slash.
    pub fn address(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// The endpoint, with the additional certificates.
    ///
    /// # Errors
    /// When the URL is not valid for a Lichess server.
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        self.endpoint_of(self.url.clone())
    }

    /// The endpoint of the broker: that of Lichess for lichess.org, otherwise the server unless `engine_url` says otherwise.
    ///
    /// # Errors
    /// When the URL is not valid for a server.
    pub fn broker(&self) -> Result<Endpoint, EndpointError> {
        if let Some(url) = &self.engine_url {
            return self.endpoint_of(url.clone());
        }
        match self.url.host_str() {
            Some("lichess.org") => Endpoint::parse("https://engine.lichess.ovh"),
            _ => self.endpoint(),
        }
    }

    fn endpoint_of(&self, url: Url) -> Result<Endpoint, EndpointError> {
        let endpoint = match self.insecure {
            true => Endpoint::insecure(url),
            false => Endpoint::new(url),
        };
        Ok(endpoint?.with_ca_file(self.ca_file.clone()))
    }
}
