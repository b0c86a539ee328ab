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

use super::records::Records;
use super::state::{Change, State};
use super::table::Table;
use super::wire;
use crate::events::{Event, RecvError};
use crate::metrics::Metrics;

/// Between two reports of what is thought in a game.
const THINKING_EVERY: Duration = Duration::from_millis(200);

/// What changes within this goes out together. Whoever plays has made its move by then, and has the processor for itself
/// meanwhile, however many pages are open.
const TOGETHER: Duration = Duration::from_millis(20);

/// Times that a page may be behind before it gets the whole state again.
const BEHIND: usize = 64;

/// Pages that are open at once.
const PAGES: usize = 64;

/// The same beside those for pages with the key: nobody else on this machine can take them.
const PAGES_WITH_KEY: usize = 16;

/// The records tell what was before the start, if they can do it within this.
const RECORDS_WITHIN: Duration = Duration::from_secs(1);

/// How often a page hears that we are here.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The state of the page, and those who watch it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Feed(Arc<Inner>);

struct Inner {
    shown: Mutex<Shown>,
    frames: broadcast::Sender<Bytes>,
    seats: Arc<Semaphore>,
    seats_with_key: Arc<Semaphore>,
    closing: CancellationToken,
}

/// The state, and the latest changes of it, which nobody has been told of yet.
#[derive(Default)]
struct Shown {
    state: State,
    untold: Vec<u8>,
}

impl Feed {
    /// Nobody watches yet. `closing` ends every page's stream.
    pub fn new(state: State, closing: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            shown: Mutex::new(Shown {
                state,
                ..Shown::default()
            }),
            frames: broadcast::Sender::new(BEHIND),
            seats: Arc::new(Semaphore::new(PAGES)),
            seats_with_key: Arc::new(Semaphore::new(PAGES_WITH_KEY)),
            closing,
        }))
    }

    /// For a moment: nothing waits while it is held.
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A game that is on, or was over not long ago.
    pub fn table(&self, id: &str) -> Option<Table> {
        self.shown().state.table(id).cloned()
    }

    /// Shows the guest the engine's numbers, or hides them. False where there is no guest.
    pub fn show_numbers(&self, visible: bool) -> bool {
        self.change(|state| state.show_numbers(visible))
    }

    /// The guest has declined the draw that was offered to him in this game.
    pub fn decline(&self, id: &str) {
        self.change(|state| state.decline(id, now()));
    }

    /// Changes the state, and tells of it. Whether there was anything to change.
    fn change(&self, make: impl FnOnce(&mut State) -> Option<Change>) -> bool {
        let mut shown = self.shown();
        let change = make(&mut shown.state);
        if let Some(change) = &change {
            self.tell_of(&mut shown, change);
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
        let mut pace = Pace::default();
        let mut asked = JoinSet::new();
        match timeout(RECORDS_WITHIN, records.lately()).await {
            Ok(Ok(lately)) => {
                let mut shown = self.shown();
                shown.state.remember(lately);
                self.tell_everything(&mut shown);
            }
            Ok(Err(why)) => debug!("what was before: {why}"),
            Err(late) => debug!("what was before: {late}"),
        }
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => {
                        self.take(&event, &mut pace);
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
                        let mut shown = self.shown();
                        shown.state.missed(missed, &on, now());
                        self.tell_everything(&mut shown);
                    }
                    Err(RecvError::Closed) => return,
                },
                Some(past) = asked.join_next() => match past {
                    Ok(Ok(past)) if !past.is_over() => self.recall(past),
                    // Another one of this id, from before a simulator was started anew.
                    Ok(Ok(_)) => {}
                    // The page shows less of it.
                    Ok(Err(why)) => debug!("a game's past: {why}"),
                    Err(failure) => debug!("a game's past: {failure}"),
                },
                () = pace.due() => {
                    let mut shown = self.shown();
                    for game in pace.flush() {
                        self.tell_of(&mut shown, &Change::Thinking(game));
                    }
                }
            }
        }
    }

    fn take(&self, event: &Event, pace: &mut Pace) {
        let mut shown = self.shown();
        let changes = shown.state.take(event, now());
        if let Event::GameFinished(end) = event {
            pace.forget(&end.game);
        }
        for change in changes {
            match &change {
                Change::Thinking(game) if !pace.may_tell(game) => {}
                _ => self.tell_of(&mut shown, &change),
            }
        }
    }

    fn recall(&self, past: Table) {
        self.change(|state| state.recall(past));
    }

    /// Under the lock of the state, so that who joins misses nothing and gets nothing twice.
    fn tell_of(&self, shown: &mut Shown, change: &Change) {
        if self.is_watched()
            && let Some(frame) = shown.state.frame(change, now())
        {
            self.tell(shown, &frame);
        }
    }

    /// Those who watch get all of it anew.
    fn tell_everything(&self, shown: &mut Shown) {
        if self.is_watched() {
            let everything = shown.state.snapshot(now());
            self.tell(shown, &everything);
        }
    }

    fn is_watched(&self) -> bool {
        self.0.frames.receiver_count() > 0
    }

    /// Soon.
    fn tell(&self, shown: &mut Shown, frame: &Bytes) {
        if shown.untold.is_empty() {
            let feed = self.clone();
            tokio::spawn(async move {
                sleep(TOGETHER).await;
                feed.tell_all(&mut feed.shown());
            });
        }
        shown.untold.extend_from_slice(frame);
    }

    fn tell_all(&self, shown: &mut Shown) {
        if !shown.untold.is_empty() {
            let frames = Bytes::from(mem::take(&mut shown.untold));
            // An error only says that nobody watches.
            let _ = self.0.frames.send(frames);
        }
    }

    /// A page's stream: everything, then what changes, until the end. `None` when there are too many pages.
    pub fn open(
        &self,
        has_key: bool,
    ) -> Option<impl Stream<Item = Result<Bytes, Infallible>> + Send + use<>> {
        let seat = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_owned().ok();
        let reserved = has_key.then(|| seat(&self.0.seats_with_key)).flatten();
        let seat = reserved.or_else(|| seat(&self.0.seats))?;
        let page = Page {
            feed: self.clone(),
            frames: None,
            heartbeat: interval_at(Instant::now() + HEARTBEAT, HEARTBEAT),
            _seat: seat,
        };
        Some(stream::unfold(page, |mut page| async move {
            let frame = page.next().await?;
            Some((Ok(frame), page))
        }))
    }

    fn snapshot(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        let mut shown = self.shown();
        self.tell_all(&mut shown);
        (shown.state.snapshot(now()), self.0.frames.subscribe())
    }
}

/// One who watches.
struct Page {
    feed: Feed,
    /// Once everything has been told.
    frames: Option<broadcast::Receiver<Bytes>>,
    heartbeat: Interval,
    _seat: OwnedSemaphorePermit,
}

impl Page {
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.feed.0.closing.clone();
        if closing.is_cancelled() {
            return None;
        }
        let Some(frames) = &mut self.frames else {
            return Some(self.everything());
        };
        tokio::select! {
            () = closing.cancelled() => None,
            frame = frames.recv() => match frame {
                Ok(frame) => Some(frame),
                Err(RecvError::Lagged(_)) => Some(self.everything()),
                Err(RecvError::Closed) => None,
            },
            _ = self.heartbeat.tick() => Some(Bytes::from_static(b": still here\n\n")),
        }
    }

    fn everything(&mut self) -> Bytes {
        let (everything, frames) = self.feed.snapshot();
        self.frames = Some(frames);
        everything
    }
}

/// When thoughts may be told: those that come too soon wait, and only the latest of them.
#[derive(Default)]
struct Pace {
    told: HashMap<String, Instant>,
    waiting: BTreeSet<String>,
}

impl Pace {
    /// Whether the thoughts about this game may be told now. If not, they wait.
    fn may_tell(&mut self, game: &str) -> bool {
        let now = Instant::now();
        let soon = |told: &Instant| now < *told + THINKING_EVERY;
        if self.told.get(game).is_some_and(soon) {
            self.waiting.insert(game.to_owned());
            return false;
        }
        self.told.insert(game.to_owned(), now);
        true
    }

    /// When the first of those that wait may be told.
    async fn due(&self) {
        let told = self.waiting.iter().filter_map(|game| self.told.get(game));
        match told.min() {
            Some(told) => sleep_until(*told + THINKING_EVERY).await,
            None => std::future::pending().await,
        }
    }

    /// Those that wait and may be told now.
    fn flush(&mut self) -> Vec<String> {
        let waiting: Vec<String> = self.waiting.iter().cloned().collect();
        let mut due = Vec::new();
        for game in waiting {
            self.waiting.remove(&game);
            if self.may_tell(&game) {
                due.push(game);
            }
        }
        due
    }

    fn forget(&mut self, game: &str) {
        self.told.remove(game);
        self.waiting.remove(game);
    }
}

fn now() -> u64 {
    wire::millis(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;
    use crate::events::Bus;

    fn feed() -> (Feed, Bus, CancellationToken) {
        let (bus, closing) = (Bus::new(), CancellationToken::new());
        let feed = Feed::new(State::default(), closing.clone());
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
        let mut slow = Box::pin(feed.open(false).expect("a seat"));
        let mut quick = Box::pin(feed.open(false).expect("a seat"));
        assert_eq!(name(&mut slow).await, "snapshot");
        assert_eq!(name(&mut quick).await, "snapshot");
        for _ in 0..=BEHIND {
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
        let mut first = Box::pin(feed.open(false).expect("a seat"));
        assert_eq!(name(&mut first).await, "snapshot");
        for text in ["one", "two", "three"] {
            bus.send(Event::note(text));
        }
        let Ok(frames) = first.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        let at = |note: &str| text.find(note).expect("it is told");
        assert!(at("one") < at("two") && at("two") < at("three"), "{text}");

        // Who comes while something is untold has it in the snapshot.
        feed.take(&Event::note("four"), &mut Pace::default());
        let mut second = Box::pin(feed.open(false).expect("a seat"));
        let Ok(everything) = second.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&everything).contains("four"));
        let Ok(frames) = first.next().await.expect("a frame");
        assert!(String::from_utf8_lossy(&frames).contains("four"));
        feed.take(&Event::note("five"), &mut Pace::default());
        let Ok(frames) = second.next().await.expect("a frame");
        let text = String::from_utf8_lossy(&frames);
        assert!(text.contains("five") && !text.contains("four"), "{text}");
        closing.cancel();
    }

    #[tokio::test]
    async fn there_are_so_many_seats_and_who_leaves_makes_room() {
        let (feed, _bus, _closing) = feed();
        let mut pages: Vec<_> = (0..=PAGES).map_while(|_| feed.open(false)).collect();
        assert_eq!(pages.len(), PAGES);
        assert!(feed.open(false).is_none());
        let mut operators: Vec<_> = (0..PAGES).map_while(|_| feed.open(true)).collect();
        assert_eq!(operators.len(), PAGES_WITH_KEY);
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
        let mut pace = Pace::default();
        let start = Instant::now();
        assert!(pace.may_tell("one"));
        assert!(!pace.may_tell("one") && !pace.may_tell("one"));
        assert!(pace.may_tell("two"));
        pace.due().await;
        assert!(start.elapsed() >= THINKING_EVERY);
        assert_eq!(pace.flush(), ["one"]);
        assert!(!pace.may_tell("one"));
        pace.forget("one");
        assert!(pace.waiting.is_empty() && pace.flush().is_empty());
    }
}
