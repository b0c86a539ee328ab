//! The page of the daemon, opened again and again until its address and its keys can be used.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Accounts;
use crate::config::{Settings, WebKey};
use crate::control::{self, Dispatcher};
use crate::credentials;
use crate::events::Bus;
use crate::lichess::{Client, Token};
use crate::metrics::Metrics;
use crate::sim;
use crate::web::{self, ClosedPage, KeySource, KeySources, Page};

/// Interval of the attempts to open the page.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The task that opens the page.
pub(super) struct PageTask(JoinHandle<Page>);

impl PageTask {
    /// Opens the page, now if possible. A failure does not stop the bot. `None` if the settings switch it off.
    pub(super) fn start(
        accounts: &Accounts,
        settings: &Settings,
        events: &Bus,
        records: Option<PathBuf>,
    ) -> Option<Self> {
        let opener = Opener {
            address: settings.web.address().ok().flatten()?,
            bus: events.clone(),
            metrics: accounts.metrics.clone(),
            records,
            play: page_player(settings),
            dispatcher: accounts.dispatcher.clone(),
            keys: page_keys(settings),
            remote_access: web::RemoteAccess {
                hosts: settings.web.hosts.clone(),
                trusted_proxies: settings.web.proxies().unwrap_or_default(),
            },
        };
        let mut closed = None;
        let mut page = opener.open(&mut closed);
        if let Err(error) = &page {
            warn!(
                "no page, /metrics and /healthz on {}: {error}; see [web] in the configuration; trying again every {} s",
                opener.address,
                RETRY_INTERVAL.as_secs()
            );
        }
        Some(Self(tokio::spawn(async move {
            loop {
                match page {
                    Ok(page) => return page,
                    Err(error) => {
                        let problem = format!("no page on {}: {error}", opener.address);
                        opener.metrics.set_page_problem(Some(problem));
                    }
                }
                sleep(RETRY_INTERVAL).await;
                page = opener.open(&mut closed);
            }
        })))
    }

    /// Closes the page if it is open.
    pub(super) async fn close(self) {
        self.0.abort();
        if let Ok(page) = self.0.await {
            page.close().await;
        }
    }
}

/// Sources of the page, for each attempt.
struct Opener {
    address: SocketAddr,
    bus: Bus,
    metrics: Metrics,
    records: Option<PathBuf>,
    play: Option<web::PlaySite>,
    dispatcher: Dispatcher,
    keys: KeySources,
    remote_access: web::RemoteAccess,
}

impl Opener {
    /// Opens the page. If it cannot be opened, it stays in `closed` and follows the events.
    fn open(&self, closed: &mut Option<ClosedPage>) -> Result<Page, web::OpenError> {
        let page = match closed.take() {
            Some(page) => page,
            None => ClosedPage::start(self.config())?,
        };
        let listener = match Page::bind(self.address, &self.keys) {
            Ok(listener) => listener,
            Err(error) => {
                *closed = Some(page);
                return Err(error);
            }
        };
        let page = listener.serve(page)?;
        self.metrics.set_page_problem(None);
        info!("/metrics and /healthz are on http://{}", page.address());
        // The key stays valid across restarts and the log may be readable by others, so the key is not logged.
        info!(
            "the page: {}; knightwatch page prints the address with its key",
            page.url_without_key()
        );
        self.dispatcher.set_page_url(control::PageUrl {
            without_key: page.url_without_key(),
            with_key: page.url_with_key(),
        });
        Ok(page)
    }

    fn config(&self) -> web::PageConfig {
        web::PageConfig {
            events: self.bus.subscribe(),
            metrics: self.metrics.clone(),
            records: self.records.clone(),
            play: self.play.clone(),
            actions: Some(web::Actions {
                dispatcher: self.dispatcher.clone(),
                enabled: &web::PageAction::ALL,
            }),
            remote_access: self.remote_access.clone(),
        }
    }
}

/// Sources of the keys of the page. A generated key is stored in the directory of the records, one for each server.
pub(crate) fn page_keys(settings: &Settings) -> KeySources {
    let source = |key: WebKey| {
        let variable = key.variable();
        let value = std::env::var(variable).ok();
        match settings.web_key_file(key) {
            Some(path) => {
                if let Some(mode) = credentials::readable_by_others(&path) {
                    let path = path.display();
                    warn!("others can read the key in {path} (mode {mode:04o}): chmod 600 {path}");
                }
                if value.is_some() {
                    warn!(
                        "{variable} is ignored, since the configuration names a file with this key"
                    );
                }
                Some(KeySource::File(path))
            }
            None => value.map(|value| KeySource::Variable(variable, value)),
        }
    };
    let directory = settings.records_directory();
    let name = format!("{}.page-key", settings.lichess.server_name());
    KeySources {
        operate: source(WebKey::Operate),
        watch: source(WebKey::Watch),
        metrics: source(WebKey::Metrics),
        generated: directory.map(|directory| directory.join(name)),
    }
}

/// The user who plays on the page, which must be a user of a simulator.
fn page_player(settings: &Settings) -> Option<web::PlaySite> {
    let name = &settings.web.play_as;
    if name.is_empty() {
        return None;
    }
    let token: Token = sim::token_of(name).parse().ok()?;
    let client = Client::new(&settings.lichess.endpoint().ok()?, token, None)
        .inspect_err(|error| warn!("play on the page is disabled: {error}"))
        .ok()?;
    let forward = move |request: web::ProxyRequest| {
        let client = client.clone();
        async move {
            let answer = client.forward(&request.path, &request.form).await;
            answer.map_err(|error| match error.error_response() {
                Some(no) => (no.code, no.message.clone()),
                None => (502, error.to_string()),
            })
        }
    };
    Some(web::PlaySite {
        user: name.clone(),
        site: web::proxy(forward),
    })
}
