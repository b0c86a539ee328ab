//! Server-sent events: one task follows the events of the bot; each page gets a snapshot of the state and then the changes.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::{Stream, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, interval_at, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::live_game::LiveGame;
use super::records::Records;
use super::state::{Change, PageState};
use super::wire;
use crate::events::{Event, RecvError};
use crate::metrics::Metrics;
use crate::sync;

/// Minimum interval between two `thinking` events of a game.
const THINKING_INTERVAL: Duration = Duration::from_millis(200);

/// Delay after which changes are sent in one batch, so that the game tasks can post their moves before the pages use the
/// processor.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// Number of batches that a page may lag behind before it gets a new snapshot.
const MAX_LAG_BATCHES: usize = 64;

/// Maximum number of open pages.
const MAX_PAGES: usize = 64;

/// Number of additional pages reserved for clients with the key.
const MAX_EXTRA_PAGES_WITH_KEY: usize = 16;

/// Time limit for loading the backlog from the records.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(1);

/// Interval of the heartbeat comments.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// State of the page and its subscribers. Cheap to clone.
#[derive(Clone)]
pub(super) struct EventFeed(Arc<Inner>);

struct Inner {
    state: Mutex<FeedState>,
    frames: broadcast::Sender<Bytes>,
    slots: Arc<Semaphore>,
    slots_with_key: Arc<Semaphore>,
    closing: CancellationToken,
}

/// State of the page, and changes of it that were not sent yet.
#[derive(Default)]
struct FeedState {
    page: PageState,
    unsent: Vec<u8>,
}

impl EventFeed {
    /// A feed without subscribers. `closing` ends all streams.
    pub(super) fn new(state: PageState, closing: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(FeedState {
                page: state,
                ..FeedState::default()
            }),
            frames: broadcast::Sender::new(MAX_LAG_BATCHES),
            slots: Arc::new(Semaphore::new(MAX_PAGES)),
            slots_with_key: Arc::new(Semaphore::new(MAX_EXTRA_PAGES_WITH_KEY)),
            closing,
        }))
    }

    /// Locks the state. The guard must not be held across an await.
    fn lock(&self) -> MutexGuard<'_, FeedState> {
        sync::lock(&self.0.state)
    }

    /// A game that is running or has recently finished.
    pub(super) fn live_game(&self, id: &str) -> Option<LiveGame> {
        self.lock().page.live_game(id).cloned()
    }

    /// Shows or hides the search information for the user of the page. Returns false if there is no such user.
    pub(super) fn set_show_engine(&self, visible: bool) -> bool {
        self.update(|state| state.set_show_engine(visible))
    }

    /// Declines our draw offer in a game of the user of the page.
    pub(super) fn decline_draw(&self, id: &str) {
        self.update(|state| state.decline_draw(id, now()));
    }

    /// Updates the state and publishes the change. Returns whether there was one.
    fn update(&self, update: impl FnOnce(&mut PageState) -> Option<Change>) -> bool {
        let mut state = self.lock();
        let change = update(&mut state.page);
        if let Some(change) = &change {
            self.publish(&mut state, change);
        }
        change.is_some()
    }

    /// Follows the events until the last sender is dropped. The backlog and the history of resumed games come from the
    /// records.
    pub(super) async fn follow(
        self,
        mut events: broadcast::Receiver<Arc<Event>>,
        metrics: Metrics,
        records: Records,
    ) {
        let mut throttle = ThinkingThrottle::default();
        let mut history_queries = JoinSet::new();
        match timeout(BACKLOG_TIMEOUT, records.backlog()).await {
            Ok(Ok(backlog)) => {
                let mut state = self.lock();
                state.page.add_backlog(backlog);
                self.publish_snapshot(&mut state);
            }
            Ok(Err(error)) => debug!("cannot load the backlog: {error}"),
            Err(elapsed) => debug!("cannot load the backlog: {elapsed}"),
        }
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => {
                        self.on_event(&event, &mut throttle);
                        if let Event::GameStarted(start) = &*event
                            && start.plies > 0
                        {
                            let (records, id) = (records.clone(), start.game.clone());
                            history_queries.spawn(async move { records.game(id).await });
                        }
                    }
                    Err(RecvError::Lagged(missed)) => {
                        let live = metrics.status().live;
                        let mut running = live.suspended_games;
                        running.extend(live.games.into_iter().map(|game| game.id));
                        let mut state = self.lock();
                        state.page.on_lagged(missed, &running, now());
                        self.publish_snapshot(&mut state);
                    }
                    Err(RecvError::Closed) => return,
                },
                Some(past) = history_queries.join_next() => match past {
                    Ok(Ok(past)) if !past.is_over() => self.merge_history(past),
                    // Another game with this id, from before a simulator was restarted.
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => debug!("cannot load the history of a game: {error}"),
                    Err(error) => debug!("cannot load the history of a game: {error}"),
                },
                () = throttle.due() => {
                    let mut state = self.lock();
                    for game in throttle.take_due() {
                        self.publish(&mut state, &Change::Thinking(game));
                    }
                }
            }
        }
    }

    fn on_event(&self, event: &Event, throttle: &mut ThinkingThrottle) {
        let mut state = self.lock();
        let changes = state.page.on_event(event, now());
        if let Event::GameFinished(end) = event {
            throttle.forget(&end.game);
        }
        for change in changes {
            match &change {
                Change::Thinking(game) if !throttle.allow(game) => {}
                _ => self.publish(&mut state, &change),
            }
        }
    }

    fn merge_history(&self, past: LiveGame) {
        self.update(|state| state.merge_history(past));
    }

    /// Publishes a change, under the lock of the state, so that a new subscriber gets each change exactly once.
    fn publish(&self, state: &mut FeedState, change: &Change) {
        if self.has_subscribers()
            && let Some(frame) = state.page.frame(change, now())
        {
            self.enqueue(state, &frame);
        }
    }

    /// Publishes a new snapshot.
    fn publish_snapshot(&self, state: &mut FeedState) {
        if self.has_subscribers() {
            let snapshot = state.page.snapshot(now());
            self.enqueue(state, &snapshot);
        }
    }

    fn has_subscribers(&self) -> bool {
        self.0.frames.receiver_count() > 0
    }

    /// Adds a frame to the next batch.
    fn enqueue(&self, state: &mut FeedState, frame: &Bytes) {
        if state.unsent.is_empty() {
            let feed = self.clone();
            tokio::spawn(async move {
                sleep(BATCH_DELAY).await;
                feed.flush(&mut feed.lock());
            });
        }
        state.unsent.extend_from_slice(frame);
    }

    /// Sends the batch.
    fn flush(&self, state: &mut FeedState) {
        if !state.unsent.is_empty() {
            let frames = Bytes::from(mem::take(&mut state.unsent));
            // Sending fails only without subscribers.
            let _ = self.0.frames.send(frames);
        }
    }

    /// Opens a stream: a snapshot, then changes. `None` if there are too many pages.
    pub(super) fn open(
        &self,
        has_key: bool,
    ) -> Option<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>> {
        let slot = |slots: &Arc<Semaphore>| Arc::clone(slots).try_acquire_owned().ok();
        let reserved = has_key.then(|| slot(&self.0.slots_with_key)).flatten();
        let slot = reserved.or_else(|| slot(&self.0.slots))?;
        let subscriber = Subscriber {
            feed: self.clone(),
            frames: None,
            heartbeat: interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL),
            _slot: slot,
        };
        Some(stream::unfold(subscriber, |mut subscriber| async move {
            let frame = subscriber.next().await?;
            Some((Ok(frame), subscriber))
        }))
    }

    /// A snapshot, and the changes after it.
    fn snapshot(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        let mut state = self.lock();
        self.flush(&mut state);
        (state.page.snapshot(now()), self.0.frames.subscribe())
    }
}

/// An open page.
struct Subscriber {
    feed: EventFeed,
    /// Changes; `None` until the snapshot is sent.
    frames: Option<broadcast::Receiver<Bytes>>,
    heartbeat: Interval,
    _slot: OwnedSemaphorePermit,
}

impl Subscriber {
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.feed.0.closing.clone();
        if closing.is_cancelled() {
            return None;
        }
        let Some(frames) = &mut self.frames else {
            return Some(self.resync());
        };
        tokio::select! {
            () = closing.cancelled() => None,
            frame = frames.recv() => match frame {
                Ok(frame) => Some(frame),
                Err(RecvError::Lagged(_)) => Some(self.resync()),
                Err(RecvError::Closed) => None,
            },
            _ = self.heartbeat.tick() => Some(Bytes::from_static(b": still here\n\n")),
        }
    }

    fn resync(&mut self) -> Bytes {
        let (snapshot, frames) = self.feed.snapshot();
        self.frames = Some(frames);
        snapshot
    }
}

/// Rate limit of `thinking` events: an event that comes too early is delayed and replaced by later ones of its game.
#[derive(Default)]
struct ThinkingThrottle {
    last_sent: HashMap<String, Instant>,
    waiting: BTreeSet<String>,
}

impl ThinkingThrottle {
    /// Returns whether an event of this game may be sent now. If not, it is delayed.
    fn allow(&mut self, game: &str) -> bool {
        let now = Instant::now();
        let too_early = |sent: &Instant| now < *sent + THINKING_INTERVAL;
        if self.last_sent.get(game).is_some_and(too_early) {
            self.waiting.insert(game.to_owned());
            return false;
        }
        self.last_sent.insert(game.to_owned(), now);
        true
    }

    /// Waits until the first delayed event may be sent.
    async fn due(&self) {
        let sent = self
            .waiting
            .iter()
            .filter_map(|game| self.last_sent.get(game));
        match sent.min() {
            Some(sent) => sleep_until(*sent + THINKING_INTERVAL).await,
            None => std::future::pending().await,
        }
    }

    /// Removes and returns the games whose delayed events may be sent now.
    fn take_due(&mut self) -> Vec<String> {
        let waiting: Vec<String> = self.waiting.iter().cloned().collect();
        let mut due = Vec::new();
        for game in waiting {
            self.waiting.remove(&game);
            if self.allow(&game) {
                due.push(game);
            }
        }
        due
    }

    fn forget(&mut self, game: &str) {
        self.last_sent.remove(game);
        self.waiting.remove(game);
    }
}

fn now() -> u64 {
    wire::epoch_ms(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;
    use crate::events::Bus;

    fn feed() -> (EventFeed, Bus, CancellationToken) {
        let (bus, closing) = (Bus::new(), CancellationToken::new());
        let feed = EventFeed::new(PageState::default(), closing.clone());
        tokio::spawn(
            feed.clone()
                .follow(bus.subscribe(), Metrics::default(), Records::new(None)),
        );
        (feed, bus, closing)
    }

    /// Name of the next event.
    async fn name(stream: &mut (impl Stream<Item = Result<Bytes, Infallible>> + Unpin)) -> String {
        loop {
            let Ok(frame) = stream.next().await.expect("a frame");
            let text = String::from_utf8_lossy(&frame).into_owned();
            let first = text.lines().next().unwrap_or_default();
            if let Some(name) = first.strip_prefix("event: ") {
                return name.to_owned();
            }
        }
    }

    #[tokio::test]
    async fn slow_page_gets_new_snapshot() {
        let (feed, bus, closing) = feed();
        let mut slow = Box::pin(feed.open(false).expect("a slot"));
        let mut quick = Box::pin(feed.open(false).expect("a slot"));
        assert_eq!(name(&mut slow).await, "snapshot");
        assert_eq!(name(&mut quick).await, "snapshot");
        for _ in 0..=MAX_LAG_BATCHES {
            bus.send(Event::note("news"));
            assert_eq!(name(&mut quick).await, "note");
        }
        assert_eq!(name(&mut slow).await, "snapshot");
        bus.send(Event::note("news"));
        assert_eq!(name(&mut slow).await, "note");
        closing.cancel();
        while slow.next().await.is_some() {}
        while quick.next().await.is_some() {}
    }

    #[tokio::test]
    async fn simultaneous_changes_are_sent_once_in_one_batch() {
        let (feed, bus, closing) = feed();
        let mut first = Box::pin(feed.open(false).expect("a slot"));
        assert_eq!(name(&mut first).await, "snapshot");
        for text in ["one", "two", "three"] {
            bus.send(Event::note(text));
        }
        let Ok(frames) = first.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        let at = |note: &str| text.find(note).expect("the note");
        assert!(at("one") < at("two") && at("two") < at("three"), "{text}");

        // The snapshot of a new page contains changes that were not sent yet.
        feed.on_event(&Event::note("four"), &mut ThinkingThrottle::default());
        let mut second = Box::pin(feed.open(false).expect("a slot"));
        let Ok(snapshot) = second.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&snapshot).contains("four"));
        let Ok(frames) = first.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&frames).contains("four"));
        feed.on_event(&Event::note("five"), &mut ThinkingThrottle::default());
        let Ok(frames) = second.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        assert!(text.contains("five") && !text.contains("four"), "{text}");
        closing.cancel();
    }

    #[tokio::test]
    async fn pages_are_limited_and_closing_frees_a_slot() {
        let (feed, _bus, _closing) = feed();
        let mut pages: Vec<_> = (0..=MAX_PAGES).map_while(|_| feed.open(false)).collect();
        assert_eq!(pages.len(), MAX_PAGES);
        assert!(feed.open(false).is_none());
        let mut operators: Vec<_> = (0..MAX_PAGES).map_while(|_| feed.open(true)).collect();
        assert_eq!(operators.len(), MAX_EXTRA_PAGES_WITH_KEY);
        assert!(feed.open(true).is_none());
        pages.pop();
        // Pages with the key may use all slots.
        operators.extend(feed.open(true));
        assert!(feed.open(false).is_none());
        operators.pop();
        assert!(feed.open(false).is_some());
    }

    #[tokio::test]
    async fn thinking_is_throttled_and_latest_is_sent() {
        let mut throttle = ThinkingThrottle::default();
        let start = Instant::now();
        assert!(throttle.allow("one"));
        assert!(!throttle.allow("one") && !throttle.allow("one"));
        assert!(throttle.allow("two"));
        throttle.due().await;
        assert!(start.elapsed() >= THINKING_INTERVAL);
        assert_eq!(throttle.take_due(), ["one"]);
        assert!(!throttle.allow("one"));
        throttle.forget("one");
        assert!(throttle.waiting.is_empty() && throttle.take_due().is_empty());
    }
}
