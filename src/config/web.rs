//! `[web]`: settings of the page, `/metrics` and `/healthz`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// `[web]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Web {
    /// Loopback address and port of the page, `/metrics` and `/healthz`; empty for none.
    pub listen: String,
    /// The user of a simulator on this machine as whom the page plays; empty for none.
    pub play_as: String,
}

impl Web {
    /// The address on which the page, `/metrics` and `/healthz` are served; `None` if they are off.
    ///
    /// # Errors
    /// A sentence about what is wrong with the address: not an address, or one that can be reached from outside.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let address: SocketAddr = self.listen.parse().map_err(|_| {
            format!(
                "`{}` is not an address with a port, such as 127.0.0.1:9664",
                self.listen
            )
        })?;
        let answered = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv6Addr::LOCALHOST.into(),
        ];
        if !answered.contains(&address.ip()) {
            let why = if address.ip().is_loopback() {
                "is not an accepted address"
            } else {
                "can be reached from outside"
            };
            return Err(format!(
                "`{address}` {why}; use 127.0.0.1 or [::1], with a reverse proxy for access by others"
            ));
        }
        Ok(Some(address))
    }
}

impl Default for Web {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:9664".into(),
            play_as: String::new(),
        }
    }
}
