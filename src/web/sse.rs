//! What happens, to all who watch: one task follows the events, every open page gets the state and then the changes.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Between two reports of what is thought in a game.
const THINKING_INTERVAL: Duration = Duration::from_millis(200);

/// What changes within this goes out together. Whoever plays has made its move by then, and has the processor for itself
/// meanwhile, however many pages are open.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// Times that a page may be behind before it gets the whole state again.
const MAX_LAG_BATCHES: usize = 64;

/// Pages that are open at once.
const MAX_PAGES: usize = 64;

/// The same beside those for pages with the key: nobody else on this machine can take them.
const MAX_EXTRA_PAGES_WITH_KEY: usize = 16;

/// The records tell what was before the start, if they can do it within this.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a page hears that we are here.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// The state of the page, and those who watch it. Cheap to clone.
#[derive(Clone)]
pub(super) struct EventFeed(Arc<Shared>);

struct Shared {
    state: Mutex<FeedState>,
    frames: broadcast::Sender<Bytes>,
    slots: Arc<Semaphore>,
    slots_with_key: Arc<Semaphore>,
    closing: CancellationToken,
}

/// The state, and the latest changes of it, which nobody has been told of yet.
#[derive(Default)]
struct FeedState {
    page: PageState,
    unsent: Vec<u8>,
}

impl EventFeed {
    /// Nobody watches yet. `closing` ends every page's stream.
    pub fn new(state: PageState, closing: CancellationToken) -> Self {
        Self(Arc::new(Shared {
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

    /// For a moment: nothing waits while it is held.
    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A game that is on, or was over not long ago.
    pub fn live_game(&self, id: &str) -> Option<LiveGame> {
        self.lock().page.live_game(id).cloned()
    }

    /// Shows the guest the engine's numbers, or hides them. False where there is no guest.
    pub fn set_show_engine(&self, visible: bool) -> bool {
        self.change(|state| state.set_show_engine(visible))
    }

    /// The guest has declined the draw that was offered to him in this game.
    pub fn decline_draw(&self, id: &str) {
        self.change(|state| state.decline_draw(id, now()));
    }

    /// Changes the state, and tells of it. Whether there was anything to change.
    fn change(&self, make: impl FnOnce(&mut PageState) -> Option<Change>) -> bool {
        let mut state = self.lock();
        let change = make(&mut state.page);
        if let Some(change) = &change {
            self.publish(&mut state, change);
        }
        change.is_some()
    }

    /// Follows what happens until the last sender of events is gone. What was before the start, and the past of games that
    /// are taken up again, is in the records.
    pub async fn follow(
        self,
        mut events: broadcast::Receiver<Arc<Event>>,
        metrics: Metrics,
        records: Records,
    ) {
        let mut throttle = ThinkingThrottle::default();
        let mut asked = JoinSet::new();
        match timeout(BACKLOG_TIMEOUT, records.backlog()).await {
            Ok(Ok(backlog)) => {
                let mut state = self.lock();
                state.page.add_backlog(backlog);
                self.publish_snapshot(&mut state);
            }
            Ok(Err(why)) => debug!("what was before: {why}"),
            Err(late) => debug!("what was before: {late}"),
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
                            asked.spawn(async move { records.game(id).await });
                        }
                    }
                    Err(RecvError::Lagged(missed)) => {
                        let on = metrics.status().games.into_iter().map(|game| game.id);
                        let on: Vec<String> = on.collect();
                        let mut state = self.lock();
                        state.page.on_lagged(missed, &on, now());
                        self.publish_snapshot(&mut state);
                    }
                    Err(RecvError::Closed) => return,
                },
                Some(past) = asked.join_next() => match past {
                    Ok(Ok(past)) if !past.is_over() => self.merge_history(past),
                    // Another one of this id, from before a simulator was started anew.
                    Ok(Ok(_)) => {}
                    // The page shows less of it.
                    Ok(Err(why)) => debug!("a game's past: {why}"),
                    Err(failure) => debug!("a game's past: {failure}"),
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
        self.change(|state| state.merge_history(past));
    }

    /// Under the lock of the state, so that who joins misses nothing and gets nothing twice.
    fn publish(&self, state: &mut FeedState, change: &Change) {
        if self.has_subscribers()
            && let Some(frame) = state.page.frame(change, now())
        {
            self.enqueue(state, &frame);
        }
    }

    /// Those who watch get all of it anew.
    fn publish_snapshot(&self, state: &mut FeedState) {
        if self.has_subscribers() {
            let everything = state.page.snapshot(now());
            self.enqueue(state, &everything);
        }
    }

    fn has_subscribers(&self) -> bool {
        self.0.frames.receiver_count() > 0
    }

    /// Soon.
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

    fn flush(&self, state: &mut FeedState) {
        if !state.unsent.is_empty() {
            let frames = Bytes::from(mem::take(&mut state.unsent));
            // An error only says that nobody watches.
            let _ = self.0.frames.send(frames);
        }
    }

    /// A page's stream: everything, then what changes, until the end. `None` when there are too many pages.
    pub fn open(
        &self,
        has_key: bool,
    ) -> Option<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>> {
        let slot = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_owned().ok();
        let reserved = has_key.then(|| slot(&self.0.slots_with_key)).flatten();
        let slot = reserved.or_else(|| slot(&self.0.slots))?;
        let page = Subscriber {
            feed: self.clone(),
            frames: None,
            heartbeat: interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL),
            _slot: slot,
        };
        Some(stream::unfold(page, |mut page| async move {
            let frame = page.next().await?;
            Some((Ok(frame), page))
        }))
    }

    fn snapshot(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        let mut state = self.lock();
        self.flush(&mut state);
        (state.page.snapshot(now()), self.0.frames.subscribe())
    }
}

/// One who watches.
struct Subscriber {
    feed: EventFeed,
    /// Once everything has been told.
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
        let (everything, frames) = self.feed.snapshot();
        self.frames = Some(frames);
        everything
    }
}

/// When thoughts may be told: those that come too soon wait, and only the latest of them.
#[derive(Default)]
struct ThinkingThrottle {
    last_sent: HashMap<String, Instant>,
    waiting: BTreeSet<String>,
}

impl ThinkingThrottle {
    /// Whether the thoughts about this game may be told now. If not, they wait.
    fn allow(&mut self, game: &str) -> bool {
        let now = Instant::now();
        let soon = |told: &Instant| now < *told + THINKING_INTERVAL;
        if self.last_sent.get(game).is_some_and(soon) {
            self.waiting.insert(game.to_owned());
            return false;
        }
        self.last_sent.insert(game.to_owned(), now);
        true
    }

    /// When the first of those that wait may be told.
    async fn due(&self) {
        let told = self
            .waiting
            .iter()
            .filter_map(|game| self.last_sent.get(game));
        match told.min() {
            Some(told) => sleep_until(*told + THINKING_INTERVAL).await,
            None => std::future::pending().await,
        }
    }

    /// Those that wait and may be told now.
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

    /// The name of the next frame that is no heartbeat.
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
    async fn who_cannot_keep_up_gets_everything_anew_and_holds_up_nobody() {
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
    async fn what_happens_at_once_goes_out_together_and_nothing_twice() {
        let (feed, bus, closing) = feed();
        let mut first = Box::pin(feed.open(false).expect("a slot"));
        assert_eq!(name(&mut first).await, "snapshot");
        for text in ["one", "two", "three"] {
            bus.send(Event::note(text));
        }
        let Ok(frames) = first.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        let at = |note: &str| text.find(note).expect("it is told");
        assert!(at("one") < at("two") && at("two") < at("three"), "{text}");

        // Who comes while something is unsent has it in the snapshot.
        feed.on_event(&Event::note("four"), &mut ThinkingThrottle::default());
        let mut second = Box::pin(feed.open(false).expect("a slot"));
        let Ok(everything) = second.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&everything).contains("four"));
        let Ok(frames) = first.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&frames).contains("four"));
        feed.on_event(&Event::note("five"), &mut ThinkingThrottle::default());
        let Ok(frames) = second.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        assert!(text.contains("five") && !text.contains("four"), "{text}");
        closing.cancel();
    }

    #[tokio::test]
    async fn there_are_so_many_seats_and_who_leaves_makes_room() {
        let (feed, _bus, _closing) = feed();
        let mut pages: Vec<_> = (0..=MAX_PAGES).map_while(|_| feed.open(false)).collect();
        assert_eq!(pages.len(), MAX_PAGES);
        assert!(feed.open(false).is_none());
        let mut operators: Vec<_> = (0..MAX_PAGES).map_while(|_| feed.open(true)).collect();
        assert_eq!(operators.len(), MAX_EXTRA_PAGES_WITH_KEY);
        assert!(feed.open(true).is_none());
        pages.pop();
        // With the key the others are good as well.
        operators.extend(feed.open(true));
        assert!(feed.open(false).is_none());
        operators.pop();
        assert!(feed.open(false).is_some());
    }

    #[tokio::test]
    async fn thoughts_come_five_times_a_second_at_most_and_the_last_one_comes() {
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
