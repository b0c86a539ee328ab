//! Lines on their way to stderr: a queue, and a thread that writes them.
//!
//! Where nothing can be written, or not as fast as lines come, lines are lost; how many, and why, is said in the log
//! itself as soon as it takes lines again.

use crate::plural;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What may wait to be written, in bytes: several thousand lines.
const MOST: usize = 1 << 20;

/// How long the end of the process waits for what has been logged.
const FAREWELL: Duration = Duration::from_secs(1);

/// See the module's text.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// There are lines.
    filled: Condvar,
    /// There are none left, and the last one is written.
    written: Condvar,
}

struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that found no room.
    lost: u64,
    /// Why the last of them found none.
    why: &'static str,
    /// Somebody waits until it is all written, with what is missing.
    asked: bool,
    /// Some have been taken out and are not written yet.
    busy: bool,
}

impl Queue {
    pub const fn new() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                lines: VecDeque::new(),
                bytes: 0,
                lost: 0,
                why: "",
                asked: false,
                busy: false,
            }),
            filled: Condvar::new(),
            written: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line, if there is room for it.
    pub fn push(&self, line: Vec<u8>) {
        let mut waiting = self.lock();
        if waiting.bytes + line.len() > MOST {
            waiting.lost += 1;
            waiting.why = if line.len() > MOST {
                "longer than 1 MiB"
            } else {
                "they came faster than they could be written"
            };
            return;
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line);
        drop(waiting);
        self.filled.notify_one();
    }

    /// Waits until all lines are written and those that are missing are told, or a second has passed.
    pub fn flush(&self) {
        let mut waiting = self.lock();
        waiting.asked = true;
        self.filled.notify_one();
        // Whether it was done in time changes nothing.
        let _ = self
            .written
            .wait_timeout_while(waiting, FAREWELL, |waiting| waiting.asked || waiting.busy);
    }

    /// Writes all that waits, and what is missing.
    pub fn write_all(&self, out: &mut dyn Write, journal: bool) {
        let mut waiting = self.lock();
        let lines = std::mem::take(&mut waiting.lines);
        waiting.bytes = 0;
        let (lost, why) = (std::mem::take(&mut waiting.lost), waiting.why);
        drop(waiting);
        let mut pen = Pen::new(out, journal);
        for line in lines {
            pen.write(&line);
        }
        pen.missed(lost, why);
        // If it cannot be told now, it never will be.
        let _ = pen.account();
    }

    /// Writes whatever comes, for ever.
    pub fn drain(&self, out: &mut dyn Write, journal: bool) {
        let mut pen = Pen::new(out, journal);
        loop {
            let mut waiting = self
                .filled
                .wait_while(self.lock(), |waiting| {
                    waiting.lines.is_empty() && !waiting.asked
                })
                .unwrap_or_else(PoisonError::into_inner);
            let lines = std::mem::take(&mut waiting.lines);
            waiting.bytes = 0;
            waiting.busy = true;
            let (lost, why) = (std::mem::take(&mut waiting.lost), waiting.why);
            let asked = std::mem::take(&mut waiting.asked);
            drop(waiting);
            for line in lines {
                pen.write(&line);
            }
            // These came after the ones that were written just now.
            pen.missed(lost, why);
            if asked {
                // If it cannot be told now, it never will be.
                let _ = pen.account();
            }
            self.lock().busy = false;
            self.written.notify_all();
        }
    }
}

/// Writes lines, and keeps account of those that it cannot write.
struct Pen<'a> {
    out: &'a mut dyn Write,
    journal: bool,
    /// Lines that are not in the log, after the last one that is.
    lost: u64,
    why: String,
    /// The last thing in the log is the first part of a line.
    torn: bool,
}

impl<'a> Pen<'a> {
    fn new(out: &'a mut dyn Write, journal: bool) -> Self {
        Self {
            out,
            journal,
            lost: 0,
            why: String::new(),
            torn: false,
        }
    }

    /// So many lines found no room in the queue.
    fn missed(&mut self, lines: u64, why: &str) {
        if lines > 0 {
            self.lost += lines;
            self.why = why.to_owned();
        }
    }

    /// Tells what is missing, if anything is.
    fn account(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            let text = format!(
                "{}{}{} missing here: {}\n",
                if self.torn { "\n" } else { "" },
                if self.journal { "<4>" } else { " WARN " },
                plural::count(self.lost, "line of the log is", "lines of the log are"),
                self.why
            );
            self.put(text.as_bytes())?;
            self.lost = 0;
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) {
        if self.account().is_err() {
            self.lost += 1;
        } else if let Err(error) = self.put(line) {
            self.lost += 1;
            self.why = error.to_string();
        }
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.torn = count < bytes.len();
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

    /// A disk with room for so many bytes.
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
    fn what_a_full_disk_has_cost_is_said_when_there_is_room_again() {
        let mut disk = Disk {
            room: 13,
            ..Disk::default()
        };
        let mut pen = Pen::new(&mut disk, false);
        for line in ["the first\n", "the second\n", "the third\n"] {
            pen.write(line.as_bytes());
        }
        let (lost, torn, why) = (pen.lost, pen.torn, std::mem::take(&mut pen.why));
        assert_eq!((lost, torn), (2, true));
        disk.room = 1_000;
        let mut pen = Pen {
            out: &mut disk,
            journal: false,
            lost,
            why,
            torn,
        };
        pen.write(b"the fourth\n");
        pen.missed(7, "too fast");
        pen.write(b"the fifth\n");
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
    fn what_is_missing_is_told_at_the_end_with_the_reason() {
        // For as long as the process: what drains it never ends.
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
        QUEUE.push(vec![b'x'; MOST + 1]);
        std::thread::spawn(|| QUEUE.drain(&mut Log, false));
        // Each waits for no more than a second.
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
    fn without_a_thread_all_is_written_at_the_end() {
        let queue = Queue::new();
        queue.push(b"first\n".to_vec());
        queue.push(vec![b'x'; MOST + 1]);
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
    fn what_waits_is_bounded() {
        let queue = Queue::new();
        (0..3_000).for_each(|_| queue.push(vec![b'x'; 1_000]));
        let waiting = queue.lock();
        assert!(waiting.bytes <= MOST && waiting.lines.len() > 1_000);
        assert_eq!(waiting.lines.len() as u64 + waiting.lost, 3_000);
    }
}
