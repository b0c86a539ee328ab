//! What can be set about the process itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// `[daemon]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Daemon {
    /// Seconds that running games get to finish after SIGTERM or the first Ctrl-C.
    pub grace_s: u64,
    /// How much to log.
    pub log: LogLevel,
    /// Loopback address and port of the page, `/metrics` and `/healthz`; empty for none.
    pub listen: String,
    /// The control socket, for `knightwatch status`; by default `control.sock` in the runtime directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// A user of a simulator on this machine, as whom one plays on the page; empty for none.
    pub guest: String,
}

/// The least severe kind of log line that is still written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Daemon {
    /// How long running games get to finish once a stop is asked for.
    pub fn grace(&self) -> Duration {
        seconds(self.grace_s)
    }

    /// Where the page, `/metrics` and `/healthz` are served; `None` for nowhere.
    ///
    /// # Errors
    /// A sentence about what is wrong with the address.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let address: SocketAddr = self.listen.parse().map_err(|_| {
            format!(
                "`{}` is no address with a port, such as 127.0.0.1:9664",
                self.listen
            )
        })?;
        let answered = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv6Addr::LOCALHOST.into(),
        ];
        if !answered.contains(&address.ip()) {
            let why = if address.ip().is_loopback() {
                "is not a name by which requests are answered"
            } else {
                "can be reached from outside"
            };
            return Err(format!(
                "`{address}` {why}; use 127.0.0.1 or [::1], and a proxy in front of it if others have to see it"
            ));
        }
        Ok(Some(address))
    }
}

impl LogLevel {
    /// The name, as a filter of log lines spells it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl Default for Daemon {
    fn default() -> Self {
        Self {
            grace_s: 900,
            log: LogLevel::Info,
            listen: "127.0.0.1:9664".into(),
            socket: None,
            guest: String::new(),
        }
    }
}
