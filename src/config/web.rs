//! `[web]`: settings of the page, `/metrics` and the probes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

section! {
    /// `[web]`
    pub struct Web {
        /// Address and port of the page, `/metrics` and the probes; empty for none.
        pub listen: String = "127.0.0.1:9664".into(),
        /// File with the key that permits everything. Needed for addresses that other machines can reach.
        pub key_file: Option<PathBuf>,
        /// File with a key that permits to watch only.
        pub watch_key_file: Option<PathBuf>,
        /// File with a key for `/metrics` only.
        pub metrics_key_file: Option<PathBuf>,
        /// Names by which other machines call the page, without a port.
        pub hosts: Vec<String>,
        /// Addresses of reverse proxies whose `X-Forwarded-*` headers count, such as `10.0.0.0/8`.
        pub trusted_proxies: Vec<String>,
        /// The user of a simulator on this machine as whom the page plays; empty for none.
        pub play_as: String,
    }
}

/// A key of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebKey {
    /// Permits everything.
    Operate,
    /// Permits to watch.
    Watch,
    /// Permits to read `/metrics`.
    Metrics,
}

impl WebKey {
    /// The environment variable that holds the key if no file is set.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Operate => "WEB_KEY",
            Self::Watch => "WEB_WATCH_KEY",
            Self::Metrics => "WEB_METRICS_KEY",
        }
    }

    /// The systemd credential that holds the key if neither file nor variable is set.
    pub(super) fn credential(self) -> &'static str {
        match self {
            Self::Operate => "web-key",
            Self::Watch => "web-watch-key",
            Self::Metrics => "web-metrics-key",
        }
    }
}

impl Web {
    /// The address on which the page, `/metrics` and the probes are served; `None` if they are off.
    ///
    /// # Errors
    /// A sentence that it is not an address.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let address = self.listen.parse().map_err(|_| {
            format!(
                "`{}` is not an address with a port, such as 127.0.0.1:9664",
                self.listen
            )
        })?;
        Ok(Some(address))
    }

    /// The file of a key that is set.
    pub(super) fn key_file_set(&self, key: WebKey) -> Option<&Path> {
        let file = match key {
            WebKey::Operate => &self.key_file,
            WebKey::Watch => &self.watch_key_file,
            WebKey::Metrics => &self.metrics_key_file,
        };
        file.as_deref()
    }

    /// The trusted proxies.
    ///
    /// # Errors
    /// A sentence about the first that is no address.
    pub fn proxies(&self) -> Result<Vec<IpNet>, String> {
        let network = |text: &String| {
            let address = text.parse().map(|address: std::net::IpAddr| address.into());
            text.parse().or(address).map_err(|_| {
                format!("`{text}` is not an address or a network, such as 127.0.0.1 or 10.0.0.0/8")
            })
        };
        self.trusted_proxies.iter().map(network).collect()
    }

    /// A sentence about the first of the hosts that is not a plain name.
    pub fn host_problem(&self) -> Option<String> {
        let is_name = |host: &String| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        };
        let mut hosts = self.hosts.iter();
        let host = hosts.find(|host| !is_name(host))?;
        Some(format!(
            "`{host}` is not a host name such as bot.example.org; write it without scheme, port and path"
        ))
    }
}
