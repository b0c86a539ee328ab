//! `[[alert]]`: events that are posted to a webhook.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::keys;

/// One `[[alert]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlertTarget {
    /// Address of the webhook.
    pub url: Option<Url>,
    /// File with the address of the webhook and nothing else, for an address that is a secret.
    pub url_file: Option<PathBuf>,
    /// Form of the messages.
    pub format: AlertFormat,
    /// Events to report; empty for all.
    pub events: Vec<AlertKind>,
    /// Minutes without a connection until `offline`, 1 to 1440.
    pub offline_min: u64,
    /// Rating points below the highest rating since the start until `rating_drop`, 10 to 1000.
    pub rating_drop: u32,
    /// Free space in the directory of the records below which `disk` is reported, in MiB, 1 to 1048576.
    pub disk_mib: u64,
}

impl Default for AlertTarget {
    fn default() -> Self {
        Self {
            url: None,
            url_file: None,
            format: AlertFormat::Json,
            events: Vec::new(),
            offline_min: 5,
            rating_drop: 100,
            disk_mib: 100,
        }
    }
}

/// Form of a message to a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertFormat {
    /// One JSON object of our own.
    Json,
    /// Text with headers, as ntfy takes it.
    Ntfy,
    /// Discord's webhooks.
    Discord,
    /// Slack's incoming webhooks, and those of Mattermost.
    Slack,
    /// Version 2 of Alertmanager's API.
    Alertmanager,
}

keys! {
    /// Event that can be reported.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AlertKind {
        /// The connection to the server is lost for longer than `offline_min`.
        Offline = "offline",
        /// It has been our turn for much longer than a search takes.
        StuckMove = "stuck_move",
        /// A game was lost on time.
        LostOnTime = "lost_on_time",
        /// The server rejects the token, or the account cannot play as a bot.
        TokenRejected = "token_rejected",
        /// An account has stopped because of another error.
        Stopped = "stopped",
        /// A daily limit of the server is used up.
        LimitReached = "limit_reached",
        /// A rating has fallen by `rating_drop`.
        RatingDrop = "rating_drop",
        /// The embedded engine plays in place of an external one.
        EngineFallback = "engine_fallback",
        /// There is little space left for the records.
        Disk = "disk",
        /// The records cannot be written.
        Records = "records",
    }
}

impl AlertTarget {
    /// The problems of the settings: key and sentence.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        match (&self.url, &self.url_file) {
            (None, None) => {
                problems.push(("url", "the alert has no url and no url_file".to_owned()));
            }
            (Some(_), Some(_)) => {
                problems.push((
                    "url",
                    "the alert has both url and url_file; use one".to_owned(),
                ));
            }
            (Some(url), None) if !is_web(url) => {
                problems.push((
                    "url",
                    format!("`{url}` must begin with https:// or http://"),
                ));
            }
            _ => {}
        }
        let mut range = |key, value: u64, min: u64, max: u64| {
            if !(min..=max).contains(&value) {
                problems.push((key, format!("{value} is not within {min} to {max}")));
            }
        };
        range("offline_min", self.offline_min, 1, 1_440);
        range("rating_drop", self.rating_drop.into(), 10, 1_000);
        range("disk_mib", self.disk_mib, 1, 1 << 20);
        problems
    }

    /// Returns whether an event is reported.
    pub fn reports(&self, kind: AlertKind) -> bool {
        self.events.is_empty() || self.events.contains(&kind)
    }
}

fn is_web(url: &Url) -> bool {
    ["http", "https"].contains(&url.scheme()) && url.has_host()
}
