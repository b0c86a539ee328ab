//! Writes down what happens, and holds up nothing that happens.
//!
//! A task takes the events from the bus and puts those that are worth it into a queue with an end; a thread takes them
//! from there and writes them, all that have come meanwhile in one go. A disk that is slow, full or read-only, and a file
//! that is locked or damaged, cost nobody but this thread any time: it says what is wrong, keeps what it could not
//! write, and tries again. What no longer fits into the queue is counted, and missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinHandle;
use tracing::{debug, error, info, warn};

use super::filing::Files;
use super::{Error, entry, open, reader};
use crate::events::{Event, RecvError};
use crate::plural;

/// So many events wait at most: those of some 180 games, in about 8 MiB.
const QUEUE: usize = 16_384;

/// So many are written in one go at most.
const BATCH: usize = 256;

/// When nothing happens, files that could not be written before are tried again this often.
const IDLE: Duration = Duration::from_secs(60);

/// The waits between tries to write what could not be written.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What is to be written where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file with the records.
    pub file: PathBuf,
    /// The server's base URL.
    pub server: String,
    /// PGN files beside it, if they are wanted.
    pub files: Option<Files>,
}

/// Something that happened at a moment, in milliseconds since 1970.
struct Item {
    at: i64,
    event: Arc<Event>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Events that did not fit into the queue since this was last told.
    lost: AtomicU64,
    /// No more will come: what cannot be written now never will be.
    ending: AtomicBool,
}

/// Writes down what happens until it is told to [finish](Self::finish).
#[derive(Debug)]
pub struct Recorder {
    stop: oneshot::Sender<()>,
    pump: JoinHandle<()>,
    shared: Arc<Shared>,
    thread: Thread,
    ended: oneshot::Receiver<()>,
}

impl Recorder {
    /// Begins to write down what is told from now on. Needs a tokio runtime. The file is opened on the thread, so that
    /// nothing waits for a disk here either.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(options: Options, events: broadcast::Receiver<Arc<Event>>) -> io::Result<Self> {
        let (queue, items) = mpsc::sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel();
        let (last, ended) = oneshot::channel();
        let writer = Writer {
            options,
            shared: Arc::clone(&shared),
            db: None,
            wait: FIRST_WAIT,
            told: None,
            files_told: false,
        };
        let thread = thread::Builder::new().name("records".to_owned());
        let thread = thread.spawn(move || {
            writer.run(&items);
            let _ = last.send(());
        })?;
        Ok(Self {
            stop,
            pump: tokio::spawn(pump(events, queue, stopped, Arc::clone(&shared))),
            shared,
            thread: thread.thread().clone(),
            ended,
        })
    }

    /// Writes what is still to be written, for this long at most.
    pub async fn finish(self, patience: Duration) {
        self.shared.ending.store(true, Ordering::Release);
        drop(self.stop);
        let rest = async {
            let _ = self.pump.await;
            self.thread.unpark();
            let _ = self.ended.await;
        };
        if tokio::time::timeout(patience, rest).await.is_err() {
            warn!("records: the disk is too slow: what happened last may be missing");
        }
    }
}

/// Puts what is told into the queue, until it is stopped or nobody is left to tell anything.
async fn pump(
    mut events: broadcast::Receiver<Arc<Event>>,
    queue: SyncSender<Item>,
    mut stopped: oneshot::Receiver<()>,
    shared: Arc<Shared>,
) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = &mut stopped => break,
        };
        match event {
            Ok(event) => {
                if !put(&queue, event, &shared) {
                    return;
                }
            }
            Err(RecvError::Lagged(missed)) => lose(&shared, missed),
            Err(RecvError::Closed) => return,
        }
    }
    // What was told before the stop.
    loop {
        match events.try_recv() {
            Ok(event) => {
                if !put(&queue, event, &shared) {
                    return;
                }
            }
            Err(broadcast::error::TryRecvError::Lagged(missed)) => lose(&shared, missed),
            Err(_) => return,
        }
    }
}

/// False when nobody takes it any more.
fn put(queue: &SyncSender<Item>, event: Arc<Event>, shared: &Shared) -> bool {
    if !entry::is_recorded(&event) {
        return true;
    }
    let at = now();
    match queue.try_send(Item { at, event }) {
        Ok(()) => true,
        Err(TrySendError::Full(_)) => {
            lose(shared, 1);
            true
        }
        Err(TrySendError::Disconnected(_)) => {
            error!(
                "records: the thread that writes them has failed; the games go on without records"
            );
            false
        }
    }
}

fn lose(shared: &Shared, count: u64) {
    if shared.lost.fetch_add(count, Ordering::Relaxed) == 0 {
        warn!("records: more happens than can be written; from here on some of it will be missing");
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

struct Writer {
    options: Options,
    shared: Arc<Shared>,
    db: Option<Connection>,
    /// Before the next try, after one that failed.
    wait: Duration,
    /// What was last said to be wrong.
    told: Option<String>,
    /// That a PGN file cannot be written was said.
    files_told: bool,
}

impl Writer {
    fn run(mut self, items: &Receiver<Item>) {
        let mut batch = Vec::new();
        loop {
            match self.write(&batch) {
                Ok(()) => {
                    batch.clear();
                    self.all_is_well();
                    self.file();
                }
                Err(error) => {
                    let ending = self.shared.ending.load(Ordering::Acquire);
                    let mended = self.trouble(&error);
                    if ending && !mended {
                        let lost = batch.len() + items.try_iter().count();
                        let lost = plural::count(lost, "event", "events");
                        return warn!("records: the last {lost} could not be written");
                    }
                    if !mended {
                        self.pause();
                    }
                }
            }
            if batch.is_empty() {
                match items.recv_timeout(IDLE) {
                    Ok(item) => batch.push(item),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                batch.extend(items.try_iter().take(BATCH - 1));
            }
        }
    }

    /// All of it, or nothing.
    fn write(&mut self, batch: &[Item]) -> Result<(), Error> {
        let file = &self.options.file;
        if self.db.is_none() || !file.exists() {
            // Closed first: an old file that goes takes what has the name of its log along.
            self.db = None;
            let db = open(file, Some(&self.options.server))?;
            entry::prune(&db, now())?;
            debug!("records: {} is open", file.display());
            self.db = Some(db);
        }
        let Some(db) = self.db.as_mut().filter(|_| !batch.is_empty()) else {
            return Ok(());
        };
        let step = Transaction::new(db, TransactionBehavior::Immediate)?;
        for Item { at, event } in batch {
            match entry::enter(&step, *at, event, self.options.files.is_some()) {
                Err(error) if is_about_the_event(&error) => {
                    warn!("records: something cannot be written down, and is left out: {error}");
                }
                other => other?,
            }
        }
        Ok(step.commit()?)
    }

    fn all_is_well(&mut self) {
        self.wait = FIRST_WAIT;
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        let file = self.options.file.display();
        if self.told.take().is_some() {
            info!("records: {file} takes everything again");
        }
        if lost > 0 {
            let lost = plural::count(lost, "event is", "events are");
            warn!("records: {lost} missing in {file}");
        }
    }

    /// Says what is wrong, once. True when it has been mended.
    fn trouble(&mut self, trouble: &Error) -> bool {
        self.db = None;
        let file = self.options.file.display();
        let damaged = matches!(
            trouble.code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        );
        // Once: where the new one is damaged as well, it is the disk.
        if damaged && self.wait == FIRST_WAIT {
            self.wait *= 2;
            match set_aside(&self.options.file) {
                Ok(aside) => {
                    error!(
                        "records: {file} is damaged ({trouble}); it is now {}, and a new one is begun; `sqlite3 {} .recover` \
                         may bring its games back",
                        aside.display(),
                        aside.display()
                    );
                    return true;
                }
                Err(error) => debug!("records: cannot set {file} aside: {error}"),
            }
        }
        let text = trouble.to_string();
        if self.told.as_ref() != Some(&text) {
            warn!(
                "records: cannot write {file}: {text}; the games go on, and what happens is kept until it can be written"
            );
            self.told = Some(text);
        }
        false
    }

    /// Waits before the next try, unless no more will come.
    fn pause(&mut self) {
        let until = Instant::now() + self.wait;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        while !self.shared.ending.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    /// Writes the PGN of games that are over. What fails is tried again later.
    fn file(&mut self) {
        let (Some(db), Some(files)) = (&self.db, &self.options.files) else {
            return;
        };
        match file_all(db, files, &self.options.server) {
            Ok(()) if self.files_told => {
                self.files_told = false;
                info!("records: PGN files are written again");
            }
            Ok(()) => {}
            Err(why) if self.files_told => debug!("records: no PGN: {why}"),
            Err(why) => {
                self.files_told = true;
                warn!(
                    "records: cannot write PGN in {}: {why}; it is tried again",
                    files.directory.display()
                );
            }
        }
    }
}

fn file_all(
    db: &Connection,
    files: &Files,
    server: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut statement = db.prepare("SELECT id FROM game WHERE unfiled = 1 ORDER BY seq")?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    for id in ids.collect::<rusqlite::Result<Vec<_>>>()? {
        if let Some(record) = reader::record(db, &id)? {
            files.add(&record, server)?;
        }
        db.execute("UPDATE game SET unfiled = 0 WHERE id = ?1", [&id])?;
    }
    Ok(())
}

/// Whether it is for the event's own sake that it cannot be written: another try would be in vain, and the next event
/// may fare better.
fn is_about_the_event(error: &rusqlite::Error) -> bool {
    match error {
        // The statements are good: it is the file that lacks something.
        rusqlite::Error::SqlInputError { .. } => false,
        error => matches!(
            error.sqlite_error_code(),
            None | Some(
                ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig
            )
        ),
    }
}

/// Gives a damaged file another name, with what belongs to it, and says which.
fn set_aside(file: &Path) -> io::Result<PathBuf> {
    let with = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let aside = with(file, &format!(".damaged-{}", now() / 1_000));
    fs::rename(file, &aside)?;
    for end in ["-wal", "-shm"] {
        match fs::rename(with(file, end), with(&aside, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_holds_up_nobody() {
        let (queue, items) = mpsc::sync_channel(2);
        let shared = Shared::default();
        for number in 0..5 {
            let event = Arc::new(Event::note(number.to_string()));
            assert!(put(&queue, event, &shared));
        }
        assert_eq!(shared.lost.load(Ordering::Relaxed), 3);
        assert_eq!(items.try_iter().count(), 2);
        drop(items);
        assert!(!put(&queue, Arc::new(Event::note("too late")), &shared));
    }
}
