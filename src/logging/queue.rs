//! Bounded queue of log lines with a writer thread.
//!
//! Lines are lost when nothing can be written, or not fast enough; the log says how many, and why, as soon as it can be written
//! again.

use crate::plural;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper limit of queued bytes: several thousand lines.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// How long the process waits for queued lines at exit.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Log lines that wait to be written.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when there are lines or a flush was requested.
    filled: Condvar,
    /// Notified when all lines are written.
    written: Condvar,
}

struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that did not fit.
    lost: u64,
    /// Why the last of them was lost.
    why: &'static str,
    /// A flush was requested, which includes the report of lost lines.
    flush_requested: bool,
    /// Lines have been taken out and are being written.
    writing: bool,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                lines: VecDeque::new(),
                bytes: 0,
                lost: 0,
                why: "",
                flush_requested: false,
                writing: false,
            }),
            filled: Condvar::new(),
            written: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a line, if there is room.
    pub(super) fn push(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if state.bytes + line.len() > MAX_QUEUED_BYTES {
            state.lost += 1;
            state.why = if line.len() > MAX_QUEUED_BYTES {
                "longer than 1 MiB"
            } else {
                "they came faster than they could be written"
            };
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.filled.notify_one();
    }

    /// Waits until all lines are written and lost ones are reported, for at most [`FLUSH_TIMEOUT`].
    pub(super) fn flush(&self) {
        let mut state = self.lock();
        state.flush_requested = true;
        self.filled.notify_one();
        // A timeout changes nothing.
        let _ = self
            .written
            .wait_timeout_while(state, FLUSH_TIMEOUT, |state| {
                state.flush_requested || state.writing
            });
    }

    /// Writes all queued lines and reports lost ones.
    pub(super) fn write_all(&self, out: &mut dyn Write, journal: bool) {
        let mut state = self.lock();
        let lines = std::mem::take(&mut state.lines);
        state.bytes = 0;
        let (lost, why) = (std::mem::take(&mut state.lost), state.why);
        drop(state);
        let mut writer = LineWriter::new(out, journal);
        for line in lines {
            writer.write(&line);
        }
        writer.add_lost(lost, why);
        // This was the last chance to report them.
        let _ = writer.report_lost();
    }

    /// Writes lines as they come, forever.
    pub(super) fn run_writer(&self, out: &mut dyn Write, journal: bool) {
        let mut writer = LineWriter::new(out, journal);
        loop {
            let mut state = self
                .filled
                .wait_while(self.lock(), |state| {
                    state.lines.is_empty() && !state.flush_requested
                })
                .unwrap_or_else(PoisonError::into_inner);
            let lines = std::mem::take(&mut state.lines);
            state.bytes = 0;
            state.writing = true;
            let (lost, why) = (std::mem::take(&mut state.lost), state.why);
            let flush_requested = std::mem::take(&mut state.flush_requested);
            drop(state);
            for line in lines {
                writer.write(&line);
            }
            // They were lost after the lines that were just written.
            writer.add_lost(lost, why);
            if flush_requested {
                // This was the last chance to report them.
                let _ = writer.report_lost();
            }
            self.lock().writing = false;
            self.written.notify_all();
        }
    }
}

/// Writes lines, and counts those that cannot be written.
struct LineWriter<'a> {
    out: &'a mut dyn Write,
    journal: bool,
    /// Lines lost since the last one that was written.
    lost: u64,
    why: String,
    /// The last write ended within a line.
    partial_line: bool,
}

impl<'a> LineWriter<'a> {
    fn new(out: &'a mut dyn Write, journal: bool) -> Self {
        Self {
            out,
            journal,
            lost: 0,
            why: String::new(),
            partial_line: false,
        }
    }

    /// Counts lines that did not fit into the queue.
    fn add_lost(&mut self, lines: u64, why: &str) {
        if lines > 0 {
            self.lost += lines;
            self.why = why.to_owned();
        }
    }

    /// Reports lost lines, if any.
    fn report_lost(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            let text = format!(
                "{}{}{} missing here: {}\n",
                if self.partial_line { "\n" } else { "" },
                if self.journal { "<4>" } else { " WARN " },
                plural::count(self.lost, "line of the log is", "lines of the log are"),
                self.why
            );
            self.write_bytes(text.as_bytes())?;
            self.lost = 0;
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) {
        if self.report_lost().is_err() {
            self.lost += 1;
        } else if let Err(error) = self.write_bytes(line) {
            self.lost += 1;
            self.why = error.to_string();
        }
    }

    fn write_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.partial_line = count < bytes.len();
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with limited space.
    #[derive(Default)]
    struct Disk {
        text: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.room -= count;
            self.text.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn full_disk_reports_lost_lines_later() {
        let mut disk = Disk {
            room: 13,
            ..Disk::default()
        };
        let mut writer = LineWriter::new(&mut disk, false);
        for line in ["the first\n", "the second\n", "the third\n"] {
            writer.write(line.as_bytes());
        }
        let (lost, partial_line, why) = (
            writer.lost,
            writer.partial_line,
            std::mem::take(&mut writer.why),
        );
        assert_eq!((lost, partial_line), (2, true));
        disk.room = 1_000;
        let mut writer = LineWriter {
            out: &mut disk,
            journal: false,
            lost,
            why,
            partial_line,
        };
        writer.write(b"the fourth\n");
        writer.add_lost(7, "too fast");
        writer.write(b"the fifth\n");
        let text = String::from_utf8(disk.text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            [lines[0], lines[1], lines[3]],
            ["the first", "the", "the fourth"]
        );
        assert!(
            lines[2].contains("2 lines of the log are missing here: no storage space"),
            "{text}"
        );
        assert!(lines[4].contains("7 lines"), "{text}");
        assert_eq!(lines[5], "the fifth");
    }

    #[test]
    fn flush_reports_lost_lines() {
        // Static, since the writer thread never ends.
        static QUEUE: Queue = Queue::new();
        static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        struct Log;
        impl Write for Log {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                LOG.lock().unwrap().write(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        QUEUE.push(vec![b'x'; MAX_QUEUED_BYTES + 1]);
        std::thread::spawn(|| QUEUE.run_writer(&mut Log, false));
        // Each flush waits for at most a second.
        for _ in 0..60 {
            QUEUE.flush();
        }
        let text = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text,
            " WARN 1 line of the log is missing here: longer than 1 MiB\n"
        );
    }

    #[test]
    fn write_all_works_without_thread() {
        let queue = Queue::new();
        queue.push(b"first\n".to_vec());
        queue.push(vec![b'x'; MAX_QUEUED_BYTES + 1]);
        let mut out = Vec::new();
        queue.write_all(&mut out, false);
        queue.write_all(&mut out, false);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "first\n WARN 1 line of the log is missing here: longer than 1 MiB\n"
        );
    }

    #[test]
    fn queue_is_bounded() {
        let queue = Queue::new();
        (0..3_000).for_each(|_| queue.push(vec![b'x'; 1_000]));
        let state = queue.lock();
        assert!(state.bytes <= MAX_QUEUED_BYTES && state.lines.len() > 1_000);
        assert_eq!(state.lines.len() as u64 + state.lost, 3_000);
    }
}
