//! Recorder: writes events to the database in the background.
//!
//! A task puts events from the bus into a bounded queue; a thread writes them in batches. A slow, full or read-only disk and
//! a locked or damaged file delay only this thread: it logs the problem, keeps what it could not write, and tries again.
//! Events that do not fit into the queue are counted and lost.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{debug, error, info, warn};

use super::pgn_files::PgnFiles;
use super::{Error, insert, open, reader};
use crate::backoff::Backoff;
use crate::events::{Event, RecordsState, RecvError};
use crate::plural;
use crate::seconds::DAY;

/// Upper limit of queued events: those of about 180 games, in about 8 MiB.
const QUEUE_CAPACITY: usize = 16_384;

/// Upper limit of events per transaction.
const MAX_BATCH: usize = 256;

/// After this many PGN files that cannot be written it is the directory, and the other games wait for the next attempt.
const MAX_FAILED_PGN_FILES: usize = 10;

/// Without events, PGN files that could not be written are retried at this interval.
const PGN_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Old notes are deleted when the file is opened, and then at this interval.
const PRUNE_INTERVAL: Duration = Duration::from_secs(DAY);

/// Waits between attempts to write.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// Options of a recorder.
#[derive(Clone, Debug)]
pub struct Options {
    /// The records file.
    pub file: PathBuf,
    /// The server's base URL.
    pub server: String,
    /// PGN files to write, if any.
    pub files: Option<PgnFiles>,
}

/// An event and its time in milliseconds since 1970.
struct Item {
    at: i64,
    event: Arc<Event>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Events lost since the last log line about them.
    lost: AtomicU64,
    /// State that the metrics show.
    state: watch::Sender<RecordsState>,
    /// No more events will come, and no more attempts will be made.
    stopping: AtomicBool,
}

/// Writes events in the background until [`finish`](Self::finish) is called.
#[derive(Debug)]
pub struct Recorder {
    stop: oneshot::Sender<()>,
    forwarder: JoinHandle<()>,
    shared: Arc<Shared>,
    thread: Thread,
    thread_done: oneshot::Receiver<()>,
}

impl Recorder {
    /// Starts recording, and reports its state in `state`. Needs a tokio runtime. The file is opened on the recorder's
    /// thread, so that the caller does not wait for the disk.
    ///
    /// # Errors
    /// When the thread cannot be spawned.
    pub fn start(
        options: Options,
        events: broadcast::Receiver<Arc<Event>>,
        state: watch::Sender<RecordsState>,
    ) -> io::Result<Self> {
        let (queue, items) = mpsc::sync_channel(QUEUE_CAPACITY);
        let shared = Arc::new(Shared {
            state,
            ..Shared::default()
        });
        let (stop, stopped) = oneshot::channel();
        let (done, thread_done) = oneshot::channel();
        let writer = Writer {
            options,
            shared: Arc::clone(&shared),
            db: None,
            failures: 0,
            inode: None,
            was_replaced: false,
            others_games: HashSet::new(),
            prune_at: Instant::now(),
        };
        let thread = thread::Builder::new().name("records".to_owned());
        let thread = thread.spawn(move || {
            writer.run(&items);
            let _ = done.send(());
        })?;
        Ok(Self {
            stop,
            forwarder: tokio::spawn(forward_events(events, queue, stopped, Arc::clone(&shared))),
            shared,
            thread: thread.thread().clone(),
            thread_done,
        })
    }

    /// Stops, after writing the queued events for at most `timeout`.
    pub async fn finish(self, timeout: Duration) {
        self.shared.stopping.store(true, Ordering::Release);
        drop(self.stop);
        let drain = async {
            let _ = self.forwarder.await;
            self.thread.unpark();
            let _ = self.thread_done.await;
        };
        if tokio::time::timeout(timeout, drain).await.is_err() {
            warn!("records: the disk is too slow; the latest events may be missing");
        }
    }
}

/// Moves events from the bus into the queue, until stopped or the bus is closed.
async fn forward_events(
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
                if !enqueue(&queue, event, &shared) {
                    return;
                }
            }
            Err(RecvError::Lagged(missed)) => add_lost(&shared, missed),
            Err(RecvError::Closed) => return,
        }
    }
    // Events sent before the stop.
    loop {
        match events.try_recv() {
            Ok(event) => {
                if !enqueue(&queue, event, &shared) {
                    return;
                }
            }
            Err(broadcast::error::TryRecvError::Lagged(missed)) => add_lost(&shared, missed),
            Err(_) => return,
        }
    }
}

/// Queues an event. Returns false when the thread is gone.
fn enqueue(queue: &SyncSender<Item>, event: Arc<Event>, shared: &Shared) -> bool {
    if !insert::is_recorded(&event) {
        return true;
    }
    let at = now();
    match queue.try_send(Item { at, event }) {
        Ok(()) => true,
        Err(TrySendError::Full(_)) => {
            add_lost(shared, 1);
            true
        }
        Err(TrySendError::Disconnected(_)) => {
            error!("records: the writer thread failed; games continue without records");
            let reason = "the writer thread failed; restart the program".to_owned();
            shared.state.send_if_modified(|state| state.fail(reason));
            false
        }
    }
}

fn add_lost(shared: &Shared, count: u64) {
    shared.state.send_modify(|state| state.lost += count);
    if shared.lost.fetch_add(count, Ordering::Relaxed) == 0 {
        warn!("records: the queue is full; events are lost from here on");
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Device and inode of a file that exists.
fn inode(file: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

struct Writer {
    options: Options,
    shared: Arc<Shared>,
    db: Option<Connection>,
    /// Device and inode of the open file.
    inode: Option<(u64, u64)>,
    /// Failed attempts in a row.
    failures: u32,
    /// A damaged file was replaced since the last success.
    was_replaced: bool,
    /// Running games of ours that are recorded for the opponent's account, by another process.
    others_games: HashSet<String>,
    /// When old notes are deleted next.
    prune_at: Instant,
}

impl Writer {
    fn run(mut self, items: &Receiver<Item>) {
        let mut batch = Vec::new();
        loop {
            match self.write(&batch) {
                Ok(()) => {
                    batch.clear();
                    self.on_success();
                    self.write_pgn_files();
                }
                Err(error) => {
                    let stopping = self.shared.stopping.load(Ordering::Acquire);
                    let recovered = self.on_error(&error);
                    if stopping && !recovered {
                        let lost = batch.len() + items.try_iter().count();
                        let lost = plural::count(lost, "event", "events");
                        return warn!("records: the last {lost} could not be written");
                    }
                    if !recovered {
                        self.wait_before_retry();
                    }
                }
            }
            if batch.is_empty() {
                match items.recv_timeout(PGN_RETRY_INTERVAL) {
                    Ok(item) => batch.push(item),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                batch.extend(items.try_iter().take(MAX_BATCH - 1));
            }
        }
    }

    /// Writes a batch in one transaction.
    fn write(&mut self, batch: &[Item]) -> Result<(), Error> {
        let file = &self.options.file;
        let inode = inode(file);
        if self.db.is_none() || inode.is_none() || inode != self.inode {
            if let (Some(db), Some(_)) = (&self.db, inode) {
                warn!(
                    "records: {} was replaced while it was open; events from now on go to the new file",
                    file.display()
                );
                // Closing does not delete the WAL file of a replaced file; what it contained would be written into the new one.
                let emptied = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
                let _ = emptied.inspect_err(|error| debug!("records: no checkpoint: {error}"));
            }
            self.db = None;
            let db = open(file, Some(&self.options.server))?;
            self.inode = self::inode(file);
            debug!("records: {} is open", file.display());
            self.db = Some(db);
            self.prune_at = Instant::now();
        }
        let Some(db) = &mut self.db else {
            return Ok(());
        };
        if Instant::now() >= self.prune_at {
            insert::prune(db, now())?;
            self.prune_at = Instant::now() + PRUNE_INTERVAL;
        }
        if batch.is_empty() {
            return Ok(());
        }
        let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
        let mut skipped = 0;
        let write_pgn = self.options.files.is_some();
        for item in batch {
            match insert_own(&transaction, item, &mut self.others_games, write_pgn) {
                Err(error) if is_event_error(&error) => {
                    warn!("records: an event cannot be written and is skipped: {error}");
                    skipped += 1;
                }
                other => other?,
            }
        }
        transaction.commit()?;
        for Item { event, .. } in batch {
            if let Event::GameFinished(end) = &**event {
                self.others_games.remove(&end.game);
            }
        }
        if skipped > 0 {
            self.shared.state.send_modify(|state| state.lost += skipped);
        }
        Ok(())
    }

    fn on_success(&mut self) {
        self.failures = 0;
        self.was_replaced = false;
        let state = &self.shared.state;
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        let file = self.options.file.display();
        if state.send_if_modified(|state| state.failure.take().is_some()) {
            info!("records: {file} is writable again");
        }
        if lost > 0 {
            let lost = plural::count(lost, "event is", "events are");
            warn!("records: {lost} missing in {file}");
        }
    }

    /// Logs an error once. Returns true after a damaged file was replaced.
    fn on_error(&mut self, error: &Error) -> bool {
        self.db = None;
        let file = self.options.file.display();
        let damaged = error.is_damage();
        // Only once: if the new file is damaged as well, it is the disk.
        if damaged && !self.was_replaced {
            self.was_replaced = true;
            match rename_damaged(&self.options.file) {
                Ok(renamed) => {
                    error!(
                        "records: {file} is damaged ({error}); it was renamed to {}, and a new file is used; `sqlite3 {} .recover` \
                         may restore its games",
                        renamed.display(),
                        renamed.display()
                    );
                    return true;
                }
                Err(error) => debug!("records: cannot rename {file}: {error}"),
            }
        }
        let reason = format!("cannot write {file}: {error}");
        let state = &self.shared.state;
        if state.send_if_modified(|state| state.fail(reason.clone())) {
            warn!("records: {reason}; games continue, events are kept until they can be written");
        }
        false
    }

    /// Waits before the next attempt, unless stopping.
    fn wait_before_retry(&mut self) {
        let until = Instant::now() + RETRY_BACKOFF.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        while !self.shared.stopping.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    /// Writes the PGN of finished games. Failures are retried later.
    fn write_pgn_files(&mut self) {
        let (Some(db), Some(files)) = (&self.db, &self.options.files) else {
            return;
        };
        let directory = files.directory.display();
        let error = write_pending_pgn(db, files, &self.options.server).err();
        let failure = error
            .as_ref()
            .map(|error| format!("cannot write in {directory}: {error}"));
        let mut previous = None;
        self.shared
            .state
            .send_modify(|state| previous = std::mem::replace(&mut state.pgn_failure, failure));
        match (error, previous) {
            (None, None) => {}
            (None, Some(_)) => info!("records: PGN files are written again"),
            (Some(error), Some(_)) => debug!("records: cannot write PGN: {error}"),
            (Some(error), None) => {
                warn!("records: cannot write PGN in {directory}: {error}; trying again later");
            }
        }
    }
}

/// Inserts an event, unless its game is recorded for the opponent's account.
fn insert_own(
    db: &Connection,
    Item { at, event }: &Item,
    others_games: &mut HashSet<String>,
    write_pgn: bool,
) -> rusqlite::Result<()> {
    if event.game().is_some_and(|game| others_games.contains(game)) {
        return Ok(());
    }
    insert::insert_event(db, *at, event, write_pgn)?;
    if let Event::GameStarted(start) = &**event
        && insert::is_of_other_account(db, start)?
    {
        others_games.insert(start.game.clone());
    }
    Ok(())
}

/// Writes the PGN of the games that wait for it, also after one whose file cannot be written.
///
/// # Errors
/// The first one.
pub(super) fn write_pending_pgn(
    db: &Connection,
    files: &PgnFiles,
    server: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let sql = "SELECT id, opponent, started FROM game WHERE pgn_pending = 1 ORDER BY seq";
    let mut statement = db.prepare(sql)?;
    let pending = statement.query_map([], |row| {
        let id: String = row.get(0)?;
        // Damaged values are found when the record is read.
        let opponent: String = row.get(1).unwrap_or_default();
        let path = files.path(&id, &opponent, row.get(2).unwrap_or_default());
        Ok((id, path))
    })?;
    let (mut failed, mut first) = (HashSet::new(), None);
    for (id, path) in pending.collect::<rusqlite::Result<Vec<_>>>()? {
        if failed.contains(&path) {
            continue;
        }
        if let Err(error) = write_pgn_once(db, &id, files, server)? {
            first.get_or_insert(error);
            failed.insert(path);
            if failed.len() == MAX_FAILED_PGN_FILES {
                break;
            }
        }
    }
    match first {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Writes the PGN of a game that was waiting for it, unless another process with the same records has written it meanwhile.
/// The inner error is that of the file, after which the game goes on waiting.
pub(super) fn write_pgn_once(
    db: &Connection,
    id: &str,
    files: &PgnFiles,
    server: &str,
) -> rusqlite::Result<io::Result<()>> {
    // A database that is locked or full fails before the file is written: a game must not be appended twice. It may be if the
    // program is killed or the power fails before the commit.
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let taken = "UPDATE game SET pgn_pending = 0 WHERE id = ?1 AND pgn_pending = 1";
    if transaction.execute(taken, [id])? == 0 {
        return Ok(Ok(()));
    }
    let mut appended = None;
    if let Some(record) = reader::readable_record(&transaction, id)? {
        match files.write_game(&record, server) {
            Ok(written) => appended = written,
            Err(error) => return Ok(Err(error)),
        }
    }
    if let Err(error) = transaction.commit() {
        // The game will be written again.
        if let Some(Err(error)) = appended.map(|appended| appended.undo()) {
            warn!("records: game {id} may be in its PGN file twice: {error}");
        }
        return Err(error);
    }
    Ok(Ok(()))
}

/// Returns whether an error is caused by the event itself, so that a retry would fail as well.
fn is_event_error(error: &rusqlite::Error) -> bool {
    match error {
        // The statements are correct: the file lacks a table or column.
        rusqlite::Error::SqlInputError { .. } => false,
        error => matches!(
            error.sqlite_error_code(),
            None | Some(
                ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig
            )
        ),
    }
}

/// Renames a damaged file and its companions. Returns the new path.
fn rename_damaged(file: &Path) -> io::Result<PathBuf> {
    let with = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let renamed = with(file, &format!(".damaged-{}", now() / 1_000));
    fs::rename(file, &renamed)?;
    for end in ["-wal", "-shm"] {
        match fs::rename(with(file, end), with(&renamed, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_notes_are_deleted_while_the_file_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer {
            options: Options {
                file: directory.path().join("records.db"),
                server: "https://lichess.org/".to_owned(),
                files: None,
            },
            shared: Arc::default(),
            db: None,
            failures: 0,
            inode: None,
            was_replaced: false,
            others_games: HashSet::new(),
            prune_at: Instant::now(),
        };
        let note = |days_ago: i64| Item {
            at: now() - days_ago * 86_400_000,
            event: Arc::new(Event::note(format!("{days_ago} days ago"))),
        };
        let count = |writer: &Writer| -> i64 {
            let db = writer.db.as_ref().unwrap();
            db.query_row("SELECT count(*) FROM note", [], |row| row.get(0))
                .unwrap()
        };
        writer.write(&[note(31), note(29)]).unwrap();
        assert_eq!(count(&writer), 2);
        writer.prune_at = Instant::now();
        writer.write(&[]).unwrap();
        assert_eq!(count(&writer), 1);
        assert!(writer.prune_at > Instant::now());
    }

    #[test]
    fn queue_full_counts_lost_events() {
        let (queue, items) = mpsc::sync_channel(2);
        let shared = Shared::default();
        for number in 0..5 {
            let event = Arc::new(Event::note(number.to_string()));
            assert!(enqueue(&queue, event, &shared));
        }
        assert_eq!(shared.lost.load(Ordering::Relaxed), 3);
        assert_eq!(shared.state.borrow().lost, 3);
        assert_eq!(items.try_iter().count(), 2);
        drop(items);
        assert!(!enqueue(&queue, Arc::new(Event::note("too late")), &shared));
        assert!(shared.state.borrow().failure.is_some());
    }
}
