//! Alerts: events that the operator should know of, posted to webhooks.
//!
//! A watcher turns events and the status into alerts, each once. A task for each `[[alert]]` delivers them, and tries
//! again until the webhook has taken them.

mod format;
mod watcher;
mod webhook;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::FutureExt;
use tokio::sync::{broadcast, mpsc};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use crate::config::{AlertFormat, AlertKind, AlertTarget};
use crate::events::{Event, RecvError};
use crate::metrics::Metrics;

use watcher::{Limits, Moment, Watcher};
use webhook::Webhook;

/// Interval between looks at the status.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Alerts of one target that wait for delivery. Further ones are dropped.
const MAX_WAITING: usize = 64;

/// Interval at which a lasting alert is sent again to Alertmanager, which otherwise takes it for over.
const REPEAT_INTERVAL: Duration = Duration::from_secs(300);

/// Something that the operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alert {
    kind: AlertKind,
    /// The state it reports has ended.
    resolved: bool,
    /// The account, if there are several or it is known.
    account: Option<String>,
    /// The game it is about.
    game: Option<String>,
    /// The label of the daily limit it is about.
    limit: Option<String>,
    /// Message as a sentence without a full stop.
    text: String,
    /// Time since when the state lasts.
    since: SystemTime,
}

impl Alert {
    /// Returns whether it is about a state whose end is reported as well.
    fn lasts(&self) -> bool {
        !self.resolved && matches!(self.kind, AlertKind::Offline | AlertKind::Records)
    }

    /// The end of an account, or of the program.
    fn of_end(kind: AlertKind, account: Option<String>, text: String) -> Self {
        Self {
            kind,
            resolved: false,
            account,
            game: None,
            limit: None,
            text,
            since: SystemTime::now(),
        }
    }
}

/// Delivers alerts. Does nothing without targets.
pub(crate) struct Alerts {
    targets: Vec<Target>,
    deliveries: JoinSet<()>,
}

/// Sends alerts from a task of its own.
struct Target {
    settings: AlertTarget,
    watcher: Watcher,
    queue: mpsc::Sender<Alert>,
    /// Alerts about states that last, and when each was sent; only for Alertmanager.
    lasting: Vec<(Alert, Instant)>,
}

impl Target {
    fn send(&mut self, alert: Alert, now: Instant) {
        let is_same = |one: &Alert| one.kind == alert.kind && one.account == alert.account;
        self.lasting.retain(|(one, _)| !is_same(one));
        if alert.lasts() && self.settings.format == AlertFormat::Alertmanager {
            self.lasting.push((alert.clone(), now));
        }
        let text = alert.text.clone();
        if self.queue.try_send(alert).is_err() {
            warn!("an alert is lost, because {MAX_WAITING} wait for delivery already: {text}");
        }
    }

    /// Sends the alerts again that last for another [`REPEAT_INTERVAL`], unless some wait for delivery.
    fn repeat(&mut self, now: Instant) {
        for (alert, sent) in &mut self.lasting {
            let is_due = now.saturating_duration_since(*sent) >= REPEAT_INTERVAL;
            if is_due && self.queue.capacity() == MAX_WAITING {
                *sent = now;
                // There is room.
                let _ = self.queue.try_send(alert.clone());
            }
        }
    }

    /// The outage of an account that has ended will not be reported as over.
    fn on_ended(&mut self, account: Option<&str>) {
        self.lasting.retain(|(alert, _)| {
            alert.kind != AlertKind::Offline || alert.account.as_deref() != account
        });
    }
}

impl Alerts {
    /// Starts the delivery to these targets. `server` is the address of the Lichess server.
    pub(crate) fn start(targets: &[AlertTarget], server: &str) -> Self {
        let mut deliveries = JoinSet::new();
        let targets = targets.iter().zip(1..).filter_map(|(settings, number)| {
            let webhook = Webhook::new(settings, server)
                .inspect_err(|why| warn!("[[alert]] {number} is not sent: {why}"))
                .ok()?;
            if let Some(why) = problem(settings) {
                warn!("[[alert]] {number} is not sent until this is corrected: {why}");
            }
            let (queue, alerts) = mpsc::channel(MAX_WAITING);
            deliveries.spawn(webhook.deliver(alerts));
            let limits = Limits {
                offline: Duration::from_secs(60 * settings.offline_min),
                rating_drop: settings.rating_drop,
                disk_bytes: settings.disk_mib << 20,
            };
            Some(Target {
                settings: settings.clone(),
                watcher: Watcher::new(limits),
                queue,
                lasting: Vec::new(),
            })
        });
        Self {
            targets: targets.collect(),
            deliveries,
        }
    }

    /// Watches the events and the status until the accounts have ended, which `ended` reports with their names and errors.
    /// Then waits at most `grace` for open deliveries. `directory` is that of the records.
    pub(crate) async fn run(
        mut self,
        mut events: broadcast::Receiver<Arc<Event>>,
        metrics: Metrics,
        directory: Option<PathBuf>,
        mut ended: mpsc::UnboundedReceiver<Ended>,
        grace: Duration,
    ) {
        if self.targets.is_empty() {
            return;
        }
        let mut free_space = FreeSpace::new(directory);
        let mut ticks = interval(WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => self.each(|watcher| watcher.on_event(&event, Moment::now())),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break,
                },
                last = ended.recv() => {
                    let Some(Ended { account, error }) = last else { break };
                    for target in &mut self.targets {
                        target.on_ended(account.as_deref());
                    }
                    self.each(|watcher| {
                        watcher.on_ended(account.as_deref());
                        let alert = |(kind, reason)| {
                            let text = format!("the account has stopped: {reason}");
                            Alert::of_end(kind, account.clone(), text)
                        };
                        error.clone().map(alert).into_iter().collect()
                    });
                }
                _ = ticks.tick() => {
                    let (status, free) = (metrics.status(), free_space.latest());
                    self.each(|watcher| watcher.on_status(&status, free, Moment::now()));
                    for target in &mut self.targets {
                        target.repeat(Instant::now());
                    }
                }
            }
        }
        self.flush(grace).await;
    }

    /// Reports that the program cannot start, for this reason. Waits at most `grace` for the delivery.
    pub(crate) async fn report_failed_start(mut self, reason: &str, grace: Duration) {
        let text = format!("the bot could not start: {reason}");
        self.each(|_| vec![Alert::of_end(AlertKind::Stopped, None, text.clone())]);
        self.flush(grace).await;
    }

    /// Waits at most `grace` until all alerts are delivered.
    async fn flush(mut self, grace: Duration) {
        self.targets.clear();
        let open = async { while self.deliveries.join_next().await.is_some() {} };
        if timeout(grace, open).await.is_err() {
            warn!("alerts were not delivered before the end: the webhook does not take them");
        }
    }

    fn each(&mut self, mut alerts: impl FnMut(&mut Watcher) -> Vec<Alert>) {
        for target in &mut self.targets {
            for alert in alerts(&mut target.watcher) {
                if target.settings.reports(alert.kind) {
                    target.send(alert, Instant::now());
                }
            }
        }
    }
}

/// Why the address of a webhook cannot be used, if it cannot.
pub(crate) fn problem(target: &AlertTarget) -> Option<String> {
    webhook::address(target).err()
}

/// An account that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub account: Option<String>,
    /// The kind of alert about the error that has ended it, and the error.
    pub error: Option<(AlertKind, String)>,
}

/// Free space on the disk of the records, queried on a thread for blocking calls: a file system may hang.
struct FreeSpace {
    directory: Option<PathBuf>,
    query: Option<JoinHandle<Option<u64>>>,
    latest: Option<u64>,
}

impl FreeSpace {
    fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            query: None,
            latest: None,
        }
    }

    /// Free bytes by the last query that has ended. Starts the next one.
    fn latest(&mut self) -> Option<u64> {
        if let Some(directory) = &self.directory
            && self.query.as_ref().is_none_or(JoinHandle::is_finished)
        {
            let directory = directory.clone();
            let next = spawn_blocking(move || free_bytes(&directory));
            let ended = self.query.replace(next);
            if let Some(Ok(free)) = ended.and_then(FutureExt::now_or_never) {
                self.latest = free;
            }
        }
        self.latest
    }
}

/// Free space for unprivileged users on the disk of this directory, or of its nearest existing ancestor.
fn free_bytes(directory: &Path) -> Option<u64> {
    let statistics = directory
        .ancestors()
        .find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some(statistics.f_bavail.saturating_mul(statistics.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_alerts_are_repeated_for_alertmanager() {
        let start = Instant::now();
        let at = |intervals: u32| start + intervals * REPEAT_INTERVAL;
        let alert = |kind, resolved, account: &str| Alert {
            resolved,
            ..Alert::of_end(kind, Some(account.to_owned()), "it has happened".to_owned())
        };
        let target = |format| {
            let (queue, sent) = mpsc::channel(MAX_WAITING);
            let settings = AlertTarget {
                format,
                ..AlertTarget::default()
            };
            let limits = Limits {
                offline: Duration::from_secs(300),
                rating_drop: 100,
                disk_bytes: 0,
            };
            let target = Target {
                settings,
                watcher: Watcher::new(limits),
                queue,
                lasting: Vec::new(),
            };
            (target, sent)
        };
        let (mut target_of_text, mut sent) = target(AlertFormat::Ntfy);
        target_of_text.send(alert(AlertKind::Offline, false, "Anna"), start);
        target_of_text.repeat(at(9));
        assert!(sent.try_recv().is_ok() && sent.try_recv().is_err());

        let (mut target, mut sent) = target(AlertFormat::Alertmanager);
        let mut accounts = || -> Vec<String> {
            let alerts = std::iter::from_fn(|| sent.try_recv().ok());
            alerts.filter_map(|alert| alert.account).collect()
        };
        for (kind, account) in [
            (AlertKind::Offline, "Anna"),
            (AlertKind::Offline, "Bert"),
            (AlertKind::LostOnTime, "Cleo"),
        ] {
            target.send(alert(kind, false, account), start);
        }
        // While they wait for delivery, they are not repeated.
        target.repeat(at(1));
        assert_eq!(accounts(), ["Anna", "Bert", "Cleo"]);
        target.repeat(at(1) - Duration::from_secs(1));
        assert_eq!(accounts(), [""; 0]);
        target.repeat(at(1));
        assert_eq!(accounts(), ["Anna"]);
        target.repeat(at(1));
        assert_eq!(accounts(), ["Bert"]);
        target.send(alert(AlertKind::Offline, true, "Anna"), at(1));
        assert_eq!(accounts(), ["Anna"]);
        target.repeat(at(2));
        assert_eq!(accounts(), ["Bert"]);
        target.on_ended(Some("Bert"));
        target.repeat(at(9));
        assert_eq!(accounts(), [""; 0]);
    }
}
