//! Bounded queue of log lines with a writer thread.
//!
//! Lines are lost when nothing can be written, or not fast enough; the log says how many, and why, as soon as it can be written
//! again.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use crate::plural;

/// Upper limit of queued lines.
const MAX_QUEUED_LINES: usize = 4_096;

/// How long the process waits for queued lines at exit.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Sending end of the queue.
pub(super) struct Queue {
    messages: SyncSender<Message>,
    /// Lines that did not fit since the last one that did.
    lost: AtomicU64,
}

struct Message {
    /// Lines that did not fit before this one.
    lost: u64,
    /// A line; empty to flush.
    line: Vec<u8>,
    /// Notified when the line is written.
    written: Option<SyncSender<()>>,
}

impl Queue {
    /// Starts the writer thread.
    ///
    /// `format_warning` makes a line of a warning.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        format_warning: fn(&str) -> String,
    ) -> Self {
        let (messages, receiver) = mpsc::sync_channel(MAX_QUEUED_LINES);
        let writer = LineWriter::new(out, format_warning);
        // Without a thread the queue is closed, and lines are written directly.
        let _ = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || writer.run(&receiver));
        Self {
            messages,
            lost: AtomicU64::new(0),
        }
    }

    /// Queues a line, if there is room.
    pub(super) fn push(&self, line: Vec<u8>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let written = None;
        match self.messages.try_send(Message {
            lost,
            line,
            written,
        }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.lost.fetch_add(lost + 1, Ordering::Relaxed);
            }
            Err(TrySendError::Disconnected(message)) => {
                // There is no other place to report a failure.
                let _ = io::stderr().write_all(&message.line);
            }
        }
    }

    /// Waits until all lines are written and lost ones are reported, for at most [`FLUSH_TIMEOUT`].
    pub(super) fn flush(&self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        let (done, written) = mpsc::sync_channel(1);
        let mut message = Message {
            lost: self.lost.swap(0, Ordering::Relaxed),
            line: Vec::new(),
            written: Some(done),
        };
        while let Err(TrySendError::Full(refused)) = self.messages.try_send(message) {
            if Instant::now() >= deadline {
                // The next message reports them.
                self.lost.fetch_add(refused.lost, Ordering::Relaxed);
                return;
            }
            message = refused;
            thread::sleep(Duration::from_millis(1));
        }
        // A timeout changes nothing.
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Writes lines, and counts those that cannot be written.
struct LineWriter<W> {
    out: W,
    format_warning: fn(&str) -> String,
    /// Lines lost since the last one that was written.
    lost: u64,
    why: String,
    /// The last write ended within a line.
    partial_line: bool,
}

impl<W: Write> LineWriter<W> {
    fn new(out: W, format_warning: fn(&str) -> String) -> Self {
        Self {
            out,
            format_warning,
            lost: 0,
            why: String::new(),
            partial_line: false,
        }
    }

    /// Writes lines until the queue is closed.
    fn run(mut self, messages: &Receiver<Message>) {
        for message in messages {
            self.write(message.lost, &message.line);
            if let Some(written) = message.written {
                // The flush may have timed out.
                let _ = written.send(());
            }
        }
    }

    /// Writes a line, after a report of the lines lost before it.
    fn write(&mut self, lost: u64, line: &[u8]) {
        if lost > 0 {
            self.lost += lost;
            "they came faster than they could be written".clone_into(&mut self.why);
        }
        if let Err(error) = self.report_lost().and_then(|()| self.write_bytes(line)) {
            self.lost += u64::from(!line.is_empty());
            self.why = error.to_string();
        }
    }

    fn report_lost(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            let lines = plural::count(self.lost, "line of the log is", "lines of the log are");
            let line = (self.format_warning)(&format!("{lines} missing here: {}", self.why));
            let end = if self.partial_line { "\n" } else { "" };
            let text = format!("{end}{line}\n");
            self.write_bytes(text.as_bytes())?;
            self.lost = 0;
        }
        Ok(())
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
    use std::sync::mpsc::Sender;
    use std::sync::{Arc, Mutex};

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
        let disk = Disk {
            room: 13,
            ..Disk::default()
        };
        let mut writer = LineWriter::new(disk, str::to_owned);
        for line in ["the first\n", "the second\n", "the third\n"] {
            writer.write(0, line.as_bytes());
        }
        assert_eq!((writer.lost, writer.partial_line), (2, true));
        writer.out.room = 1_000;
        writer.write(0, b"the fourth\n");
        writer.write(7, b"the fifth\n");
        let text = String::from_utf8(writer.out.text).unwrap();
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

    /// A pipe that nobody reads until `opened` is closed.
    struct Pipe {
        /// Notified when a write begins.
        began: Sender<()>,
        opened: Receiver<()>,
        text: Arc<Mutex<String>>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.began.send(());
            let _ = self.opened.recv();
            self.text
                .lock()
                .unwrap()
                .push_str(str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn blocked_output_loses_lines_and_never_blocks() {
        let (open, opened): (Sender<()>, _) = mpsc::channel();
        let (began, is_blocked) = mpsc::channel();
        let text = Arc::new(Mutex::new(String::new()));
        let pipe = Pipe {
            began,
            opened,
            text: Arc::clone(&text),
        };
        let queue = Queue::start(pipe, |text| format!("12:34:56  WARN {text}"));
        // From here on the writer takes no line out of the queue.
        queue.push(b"0\n".to_vec());
        is_blocked.recv().unwrap();
        (1..3 * MAX_QUEUED_LINES).for_each(|n| queue.push(format!("{n}\n").into_bytes()));
        queue.flush();
        assert_eq!(*text.lock().unwrap(), "");
        drop(open);
        // Each flush waits for at most a second.
        for _ in 0..60 {
            queue.flush();
        }
        let text = text.lock().unwrap();
        let (report, written): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.contains("missing here"));
        let lost = 3 * MAX_QUEUED_LINES - written.len();
        assert_eq!(report.len(), 1, "{report:?}");
        let report_text = format!(
            "12:34:56  WARN {lost} lines of the log are missing here: they came faster than they could be written"
        );
        assert_eq!(report[0], report_text);
        assert_eq!(written.len(), MAX_QUEUED_LINES + 1);
    }
}
