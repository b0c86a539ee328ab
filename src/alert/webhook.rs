//! Delivery of alerts to a webhook.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{debug, info, warn};
use url::Url;

use super::Alert;
use super::format::{Message, message};
use crate::backoff::Backoff;
use crate::config::AlertTarget;
use crate::input;
use crate::lichess::web_client_builder;

/// Delays between two attempts.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));

/// Attempts until an alert is given up: about half an hour.
const MAX_ATTEMPTS: u32 = 14;

/// Upper limit of a file with an address, in bytes.
const MAX_URL_FILE_BYTES: u64 = 4 * 1024;

/// The address of a webhook.
///
/// # Errors
/// A sentence without the address, which may be a secret.
pub(super) fn address(settings: &AlertTarget) -> Result<Url, String> {
    match (&settings.url, &settings.url_file) {
        (Some(url), _) => Ok(url.clone()),
        (None, Some(file)) => {
            let path = file.display();
            let bytes = input::read(file, MAX_URL_FILE_BYTES)
                .map_err(|error| format!("cannot read {path}: {error}"))?;
            let url: Result<Url, _> = String::from_utf8_lossy(&bytes).trim().parse();
            url.map_err(|error| format!("{path} does not hold an address: {error}"))
        }
        (None, None) => Err("the alert has no url".to_owned()),
    }
}

/// A webhook. A file with its address is read again for each attempt, so that it can be corrected or replaced.
pub(super) struct Webhook {
    client: reqwest::Client,
    settings: AlertTarget,
    server: String,
}

impl Webhook {
    /// The webhook of these settings.
    ///
    /// # Errors
    /// If there can be no HTTP client.
    pub(super) fn new(settings: &AlertTarget, server: &str) -> Result<Self, String> {
        let client = web_client_builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.without_url().to_string())?;
        Ok(Self {
            client,
            settings: settings.clone(),
            server: server.trim_end_matches('/').to_owned(),
        })
    }

    /// Delivers alerts in their order until the sender is dropped.
    pub(super) async fn deliver(self, mut alerts: mpsc::Receiver<Alert>) {
        while let Some(alert) = alerts.recv().await {
            let message = message(self.settings.format, &alert, &self.server);
            for attempt in 1.. {
                match self.post(&message).await {
                    Ok(host) => {
                        info!(name: "alert_sent", "alert sent to {host}: {}", alert.text);
                        break;
                    }
                    Err(Failure { why, retry: false }) => {
                        warn!("alert not sent: {why}; not sent again: {}", alert.text);
                        break;
                    }
                    Err(Failure { why, .. }) if attempt >= MAX_ATTEMPTS => {
                        warn!(
                            "alert given up after {attempt} attempts: {why}: {}",
                            alert.text
                        );
                        break;
                    }
                    Err(Failure { why, .. }) => {
                        let delay = RETRY_BACKOFF.delay(attempt - 1);
                        debug!("alert not sent: {why}; next attempt in {delay:?}");
                        sleep(delay).await;
                    }
                }
            }
        }
    }

    /// Posts a message. Returns the host of the webhook, which is all of its address that is logged.
    async fn post(&self, message: &Message) -> Result<String, Failure> {
        let settings = self.settings.clone();
        // A file system may hang.
        let url = spawn_blocking(move || address(&settings))
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|why| Failure { why, retry: true })?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut request = self
            .client
            .post(url)
            .header("content-type", message.content_type)
            .body(message.body.clone());
        for (name, value) in &message.headers {
            request = request.header(*name, value);
        }
        let response = request.send().await.map_err(|error| Failure {
            why: format!("{host} cannot be reached: {}", error.without_url()),
            retry: true,
        })?;
        let status = response.status();
        match status.is_success() {
            true => Ok(host),
            false => Err(Failure {
                why: format!("{host} responds with {status}"),
                retry: status.is_server_error() || [408, 425, 429].contains(&status.as_u16()),
            }),
        }
    }
}

/// Outcome of a failed attempt.
struct Failure {
    why: String,
    /// Another attempt may succeed.
    retry: bool,
}
