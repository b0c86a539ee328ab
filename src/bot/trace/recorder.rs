//! Trace writer thread. Never delays a move.
//!
//! A game task sends its records through a bounded queue after its move is posted. Records that do not fit into the queue are
//! counted and dropped; if the disk fails, the trace is lost.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use tracing::{debug, warn};

use super::{Header, Record, offset_nanos};
use crate::lichess::model::GameId;
use crate::seconds::DAY;

/// Capacity of the queue: batches of about 500 moves.
const MAX_QUEUED_BATCHES: usize = 4_096;

/// Largest size of a trace. A game of 300 moves has about 1 MiB, since each line contains all moves.
pub(super) const MAX_FILE_BYTES: u64 = 8 << 20;

/// The file of a game without new records for this long is closed, since its last batch may have been dropped.
const CLOSE_AFTER: Duration = Duration::from_secs(DAY);

/// Options of the trace writer.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the traces.
    pub directory: PathBuf,
    /// Number of traces to keep, of the latest games.
    pub keep: usize,
}

/// Records of one step of a game task.
struct Batch {
    game: GameId,
    header: Option<Box<Header>>,
    entries: Vec<(u64, Record)>,
    /// Records before these that did not fit into the queue.
    missing: u64,
    /// The game task has ended.
    last: bool,
}

/// Handle to the trace writer. Clones share the writer; the default discards everything.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<SyncSender<Batch>>);

/// The trace writer thread.
#[derive(Debug)]
pub struct Recorder {
    ended: oneshot::Receiver<()>,
}

impl Recorder {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be spawned.
    pub fn start(options: Options) -> io::Result<(Self, Traces)> {
        let (queue, batches) = mpsc::sync_channel(MAX_QUEUED_BATCHES);
        let (last, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("traces".to_owned());
        thread.spawn(move || {
            let mut writer = Writer {
                options,
                open: HashMap::new(),
                warned: false,
            };
            writer.run(&batches);
            let _ = last.send(());
        })?;
        Ok((Self { ended }, Traces(Some(queue))))
    }

    /// Waits until everything is written, at most for `timeout`. All handles must have been dropped.
    pub async fn finish(self, timeout: Duration) {
        if tokio::time::timeout(timeout, self.ended).await.is_err() {
            warn!("traces: the disk is too slow; the last records may be missing");
        }
    }
}

impl Traces {
    /// Starts the trace of a session of a game.
    pub(in crate::bot) fn start(
        &self,
        game: &GameId,
        began: Instant,
        header: impl FnOnce() -> Header,
    ) -> Trace {
        Trace(self.0.as_ref().map(|queue| Output {
            queue: queue.clone(),
            game: game.clone(),
            began,
            header: Some(Box::new(header())),
            entries: Vec::new(),
            missing: 0,
        }))
    }
}

/// Trace of one game, as its task writes it.
pub(in crate::bot) struct Trace(Option<Output>);

struct Output {
    queue: SyncSender<Batch>,
    game: GameId,
    began: Instant,
    header: Option<Box<Header>>,
    entries: Vec<(u64, Record)>,
    missing: u64,
}

impl Trace {
    /// Adds a record. `record` is not called if there is no trace.
    pub(crate) fn note(&mut self, at: Instant, record: impl FnOnce() -> Record) {
        if let Some(output) = &mut self.0 {
            output
                .entries
                .push((offset_nanos(output.began, at), record()));
        }
    }

    /// Sends the added records to the writer. Call it when no move is waiting.
    pub(crate) fn flush(&mut self) {
        if let Some(output) = &mut self.0 {
            output.send(false);
        }
    }
}

impl Output {
    fn send(&mut self, last: bool) {
        if self.entries.is_empty() && !last {
            return;
        }
        let batch = Batch {
            game: self.game.clone(),
            header: self.header.take(),
            entries: std::mem::take(&mut self.entries),
            missing: std::mem::take(&mut self.missing),
            last,
        };
        match self.queue.try_send(batch) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(batch)) => {
                self.header = batch.header;
                self.missing = batch.missing + batch.entries.len() as u64;
            }
        }
    }
}

/// Runs on panic, too, when the trace matters most.
impl Drop for Trace {
    fn drop(&mut self) {
        if let Some(output) = &mut self.0 {
            output.send(true);
        }
    }
}

struct Writer {
    options: Options,
    open: HashMap<GameId, Open>,
    /// The last error was logged.
    warned: bool,
}

struct Open {
    file: File,
    length: u64,
    /// Records that could not be written.
    missing: u64,
    /// The file has reached its largest size.
    full: bool,
    /// Time of the last batch.
    last_write: Instant,
}

impl Writer {
    fn run(&mut self, batches: &Receiver<Batch>) {
        while let Ok(batch) = batches.recv() {
            let (game, last) = (batch.game.clone(), batch.last);
            match self.write(batch) {
                Ok(()) => self.warned = false,
                Err(error) if self.warned => debug!(game = %game, "no trace: {error}"),
                Err(error) => {
                    self.warned = true;
                    let directory = self.options.directory.display();
                    warn!(
                        "traces: cannot write in {directory}; games continue without traces: {error}"
                    );
                }
            }
            if last {
                self.open.remove(&game);
            }
        }
    }

    fn write(&mut self, batch: Batch) -> io::Result<()> {
        if !self.open.contains_key(&batch.game) {
            // A trace without its header is useless.
            if batch.header.is_none() && !self.path(&batch.game).exists() {
                return Ok(());
            }
            self.open
                .retain(|_, open| open.last_write.elapsed() < CLOSE_AFTER);
            let open = self.create(&batch.game)?;
            self.open.insert(batch.game.clone(), open);
        }
        let Some(open) = self.open.get_mut(&batch.game) else {
            return Ok(());
        };
        open.last_write = Instant::now();
        if open.full {
            return Ok(());
        }
        let count = batch.entries.len() as u64;
        let missing = batch.missing + open.missing;
        let mut lines = text(&batch, missing)?;
        if open.length + lines.len() as u64 > MAX_FILE_BYTES {
            open.full = true;
            let end = Record::End(format!(
                "the trace reached its limit of {MAX_FILE_BYTES} bytes"
            ));
            let cut = Batch {
                game: batch.game,
                header: None,
                entries: vec![(batch.entries.first().map_or(0, |(at, _)| *at), end)],
                missing: 0,
                last: batch.last,
            };
            lines = text(&cut, missing + count)?;
        }
        let written = open.append(&lines);
        open.missing = if written.is_ok() { 0 } else { missing + count };
        written
    }

    fn path(&self, game: &GameId) -> PathBuf {
        self.options.directory.join(format!("{game}.jsonl"))
    }

    /// Opens the trace of a game. Removes old traces if it is new.
    fn create(&self, game: &GameId) -> io::Result<Open> {
        let Options { directory, keep } = &self.options;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
        let path = self.path(game);
        if !path.exists() {
            self.prune(keep.saturating_sub(1))?;
        }
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(path)?;
        let mut length = file.seek(SeekFrom::End(0))?;
        // If the program was killed in the middle of a line, start a new one.
        if length > 0 {
            let mut end = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut end)?;
            if end != *b"\n" {
                file.write_all(b"\n")?;
                length += 1;
            }
        }
        Ok(Open {
            file,
            length,
            missing: 0,
            full: false,
            last_write: Instant::now(),
        })
    }

    /// Removes the oldest traces, so that `keep` remain.
    fn prune(&self, keep: usize) -> io::Result<()> {
        let mut traces = list(&self.options.directory)?;
        let is_open = |path: &Path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let mut open = self.open.keys();
            open.any(|game| Some(game.as_str()) == stem)
        };
        traces.retain(|(_, path)| !is_open(path));
        let max = keep.saturating_sub(self.open.len());
        traces.sort_unstable();
        let surplus = traces.len().saturating_sub(max);
        for (_, path) in &traces[..surplus] {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

impl Open {
    fn append(&mut self, text: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // Half a line would damage the next one.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// Traces in a directory, each with the time of its last change.
pub(super) fn list(directory: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|end| end == "jsonl") {
            traces.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    Ok(traces)
}

/// Formats the lines of a batch.
fn text(batch: &Batch, missing: u64) -> io::Result<String> {
    let mut text = String::new();
    let mut line = |json: serde_json::Result<String>| {
        text.push_str(&json?);
        text.push('\n');
        io::Result::Ok(())
    };
    if let Some(header) = &batch.header {
        line(serde_json::to_string(header))?;
    }
    if missing > 0 {
        let at = batch.entries.first().map_or(0, |(at, _)| *at);
        line(serde_json::to_string(&(at, Record::Missing(missing))))?;
    }
    for entry in &batch.entries {
        line(serde_json::to_string(entry))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::trace::read;
    use crate::config::Settings;
    use crate::lichess::model::Username;

    fn id(id: &str) -> GameId {
        id.parse().unwrap()
    }

    fn header(game: &GameId) -> Header {
        Header::new(
            &Settings::default(),
            &Username::new("Rob"),
            game,
            None,
            false,
        )
    }

    fn note(trace: &mut Trace, text: &str) {
        trace.note(Instant::now(), || Record::Note(text.to_owned()));
    }

    /// Writes traces of these games, one after another.
    fn write_games(options: &Options, games: &[&str]) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (recorder, traces) = Recorder::start(options.clone()).unwrap();
        for game in games.iter().map(|game| id(game)) {
            let mut trace = traces.start(&game, Instant::now(), || header(&game));
            note(&mut trace, "first");
            trace.flush();
            note(&mut trace, "last");
        }
        drop(traces);
        runtime.block_on(recorder.finish(Duration::from_secs(60)));
    }

    #[test]
    fn traces_are_written_and_old_ones_removed() {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            directory: home.path().join("some/where"),
            keep: 2,
        };
        write_games(&options, &["game0001", "game0002", "game0003"]);
        assert_eq!(list(&options.directory).unwrap().len(), 2);
        let path = options.directory.join("game0003.jsonl");
        // A kill in the middle of a line, then another session.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        write_games(&options, &["game0003"]);
        let trace = read(&path).unwrap();
        assert!(trace.error.is_none(), "{trace:?}");
        let counts: Vec<usize> = trace
            .sessions
            .iter()
            .map(|session| session.entries.len())
            .collect();
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn records_beyond_queue_are_counted() {
        let (queue, batches) = mpsc::sync_channel(1);
        let game = id("game0001");
        let mut trace = Traces(Some(queue)).start(&game, Instant::now(), || header(&game));
        for _ in 0..4 {
            note(&mut trace, "more");
            trace.flush();
        }
        let first = batches.recv().unwrap();
        assert_eq!((first.entries.len(), first.missing), (1, 0));
        note(&mut trace, "now");
        drop(trace);
        let next = batches.recv().unwrap();
        assert_eq!((next.entries.len(), next.missing, next.last), (1, 3, true));
        let lines = text(&next, next.missing).unwrap();
        assert!(lines.contains("{\"missing\":3}"), "{lines}");
    }

    #[test]
    fn trace_size_is_limited() {
        let home = tempfile::tempdir().unwrap();
        let game = id("game0001");
        let mut writer = Writer {
            options: Options {
                directory: home.path().to_owned(),
                keep: 1,
            },
            open: HashMap::new(),
            warned: false,
        };
        let batch = |header: Option<Header>| Batch {
            game: game.clone(),
            header: header.map(Box::new),
            entries: vec![(1, Record::Line("x".repeat(1 << 20)))],
            missing: 0,
            last: false,
        };
        writer.write(batch(Some(header(&game)))).unwrap();
        for _ in 0..20 {
            writer.write(batch(None)).unwrap();
        }
        let trace = read(&home.path().join("game0001.jsonl")).unwrap();
        let entries = &trace.sessions[0].entries;
        assert!(entries.len() < 10 && trace.error.is_none());
        assert!(matches!(
            &entries[entries.len() - 2..],
            [(_, _, Record::Missing(1)), (_, _, Record::End(_))]
        ));
    }
}
