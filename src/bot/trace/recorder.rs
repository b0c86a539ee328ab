//! Writes traces, and holds up no move: what a game has to tell goes into a queue with an end when its move is on its way,
//! and a thread takes it from there. What does not fit is counted and missing; a disk that takes nothing costs the trace.

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

use super::{Header, Record, since};
use crate::lichess::model::GameId;

/// So many steps of games wait at most: those of some 500 moves.
const QUEUE: usize = 4_096;

/// No trace becomes longer, in bytes: a game of 300 moves has about 1 MiB, since each line has all moves.
pub(super) const LONGEST: u64 = 8 << 20;

/// The file of a game that has had nothing to tell for so long is closed: its last word may not have fitted into the queue.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3_600);

/// Where traces are kept, and how many.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory.
    pub directory: PathBuf,
    /// Those of the latest games.
    pub keep: usize,
}

/// What one step of a game's task has to tell.
struct Batch {
    game: GameId,
    header: Option<Box<Header>>,
    entries: Vec<(u64, Record)>,
    /// Entries that did not fit into the queue before these.
    missing: u64,
    last: bool,
}

/// Where games leave their traces; clones are the same. The default is nowhere.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<SyncSender<Batch>>);

/// The thread that writes them.
#[derive(Debug)]
pub struct Recorder {
    ended: oneshot::Receiver<()>,
}

impl Recorder {
    /// Starts it.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(options: Options) -> io::Result<(Self, Traces)> {
        let (queue, batches) = mpsc::sync_channel(QUEUE);
        let (last, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("traces".to_owned());
        thread.spawn(move || {
            let mut writer = Writer {
                options,
                open: HashMap::new(),
                told: false,
            };
            writer.run(&batches);
            let _ = last.send(());
        })?;
        Ok((Self { ended }, Traces(Some(queue))))
    }

    /// Waits for what is still to be written, for this long at most. Every handle has to be gone by then.
    pub async fn finish(self, patience: Duration) {
        if tokio::time::timeout(patience, self.ended).await.is_err() {
            warn!("traces: the disk is too slow: what happened last may be missing");
        }
    }
}

impl Traces {
    /// The trace of a game that begins with this header at this moment.
    pub(in crate::bot) fn of(
        &self,
        game: &GameId,
        began: Instant,
        header: impl FnOnce() -> Header,
    ) -> Trace {
        Trace(self.0.as_ref().map(|queue| Out {
            queue: queue.clone(),
            game: game.clone(),
            began,
            header: Some(Box::new(header())),
            entries: Vec::new(),
            missing: 0,
        }))
    }
}

/// The trace of one game, as its task writes it.
pub(in crate::bot) struct Trace(Option<Out>);

struct Out {
    queue: SyncSender<Batch>,
    game: GameId,
    began: Instant,
    header: Option<Box<Header>>,
    entries: Vec<(u64, Record)>,
    missing: u64,
}

impl Trace {
    /// Notes what has happened at a moment. It costs next to nothing, and nothing at all where there is no trace.
    pub fn note(&mut self, at: Instant, what: impl FnOnce() -> Record) {
        if let Some(out) = &mut self.0 {
            out.entries.push((since(out.began, at), what()));
        }
    }

    /// Sends on what was noted; to be called when nothing is in a hurry.
    pub fn flush(&mut self) {
        if let Some(out) = &mut self.0 {
            out.send(false);
        }
    }
}

impl Out {
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

/// Also when the task panics, whose trace is wanted most.
impl Drop for Trace {
    fn drop(&mut self) {
        if let Some(out) = &mut self.0 {
            out.send(true);
        }
    }
}

struct Writer {
    options: Options,
    open: HashMap<GameId, Open>,
    /// What is wrong was said.
    told: bool,
}

struct Open {
    file: File,
    length: u64,
    /// Entries that could not be written.
    missing: u64,
    /// It has become too long.
    full: bool,
    /// When it had something to tell.
    touched: Instant,
}

impl Writer {
    fn run(&mut self, batches: &Receiver<Batch>) {
        while let Ok(batch) = batches.recv() {
            let (game, last) = (batch.game.clone(), batch.last);
            match self.write(batch) {
                Ok(()) => self.told = false,
                Err(error) if self.told => debug!(game = %game, "no trace: {error}"),
                Err(error) => {
                    self.told = true;
                    let directory = self.options.directory.display();
                    warn!("traces: cannot write in {directory}: {error}; the games go on");
                }
            }
            if last {
                self.open.remove(&game);
            }
        }
    }

    fn write(&mut self, batch: Batch) -> io::Result<()> {
        if !self.open.contains_key(&batch.game) {
            // Without its beginning it would be of no use.
            if batch.header.is_none() && !self.path(&batch.game).exists() {
                return Ok(());
            }
            self.open
                .retain(|_, open| open.touched.elapsed() < FORGOTTEN);
            let open = self.create(&batch.game)?;
            self.open.insert(batch.game.clone(), open);
        }
        let Some(open) = self.open.get_mut(&batch.game) else {
            return Ok(());
        };
        open.touched = Instant::now();
        if open.full {
            return Ok(());
        }
        let count = batch.entries.len() as u64;
        let missing = batch.missing + open.missing;
        let mut lines = text(&batch, missing)?;
        if open.length + lines.len() as u64 > LONGEST {
            open.full = true;
            let end = Record::End(format!("the trace has its {LONGEST} bytes"));
            lines = format!("{}\n", serde_json::to_string(&(0, end))?);
        }
        let written = open.append(&lines);
        open.missing = if written.is_ok() { 0 } else { missing + count };
        written
    }

    fn path(&self, game: &GameId) -> PathBuf {
        self.options.directory.join(format!("{game}.jsonl"))
    }

    /// Opens the trace of a game, and makes room for it where it is new.
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
        // Of a program that was killed in mid-line: what follows begins a line of its own.
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
            touched: Instant::now(),
        })
    }

    /// Removes the oldest traces but so many.
    fn prune(&self, keep: usize) -> io::Result<()> {
        let mut traces = list(&self.options.directory)?;
        let is_open = |path: &Path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let mut open = self.open.keys();
            open.any(|game| Some(game.as_str()) == stem)
        };
        traces.retain(|(_, path)| !is_open(path));
        let most = keep.saturating_sub(self.open.len());
        traces.sort_unstable();
        let surplus = traces.len().saturating_sub(most);
        for (_, path) in &traces[..surplus] {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

impl Open {
    fn append(&mut self, text: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // Half a line would spoil the next.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// The traces in a directory, each with the time of its last line.
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

/// The lines of a batch.
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

    /// Has these games tell something, one after another.
    fn written(options: &Options, games: &[&str]) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (recorder, traces) = Recorder::start(options.clone()).unwrap();
        for game in games.iter().map(|game| id(game)) {
            let mut trace = traces.of(&game, Instant::now(), || header(&game));
            note(&mut trace, "first");
            trace.flush();
            note(&mut trace, "last");
        }
        drop(traces);
        runtime.block_on(recorder.finish(Duration::from_secs(60)));
    }

    #[test]
    fn what_a_game_tells_is_written_and_old_games_give_way() {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            directory: home.path().join("some/where"),
            keep: 2,
        };
        written(&options, &["game0001", "game0002", "game0003"]);
        assert_eq!(list(&options.directory).unwrap().len(), 2);
        let path = options.directory.join("game0003.jsonl");
        // A kill in mid-line, and then another life.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 3]).unwrap();
        written(&options, &["game0003"]);
        let tale = read(&path).unwrap();
        assert!(tale.trouble.is_none(), "{tale:?}");
        let counts: Vec<usize> = tale.lives.iter().map(|life| life.entries.len()).collect();
        assert_eq!(counts, [1, 2]);
    }

    #[test]
    fn what_does_not_fit_into_the_queue_is_counted() {
        let (queue, batches) = mpsc::sync_channel(1);
        let game = id("game0001");
        let mut trace = Traces(Some(queue)).of(&game, Instant::now(), || header(&game));
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
    fn a_trace_has_an_end() {
        let home = tempfile::tempdir().unwrap();
        let game = id("game0001");
        let mut writer = Writer {
            options: Options {
                directory: home.path().to_owned(),
                keep: 1,
            },
            open: HashMap::new(),
            told: false,
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
        let tale = read(&home.path().join("game0001.jsonl")).unwrap();
        let entries = &tale.lives[0].entries;
        assert!(entries.len() < 10 && tale.trouble.is_none());
        assert!(matches!(&entries.last().unwrap().2, Record::End(_)));
    }
}
