//! Where the threads of the trainer wait for each other, thousands of times a second.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A meeting of all threads, at which they wait in a loop.
pub struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

impl Meeting {
    pub fn new(threads: usize) -> Meeting {
        Meeting {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all are there; `false` when somebody has left and will never be.
    #[must_use]
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::Release);
            return true;
        }
        let mut turns = 0u32;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                // Who left after this meeting was there.
                return self.round.load(Ordering::Acquire) != round;
            }
            turns += 1;
            if turns < 20_000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }

    /// Somebody will not come any more.
    pub fn leave(&self) {
        self.broken.store(true, Ordering::Release);
    }
}

/// A thread that panics lets the others go.
pub struct Leave<'a>(pub &'a Meeting);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_one_that_has_left_is_let_go() {
        let meeting = Meeting::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (meeting.wait(), meeting.wait()));
            assert!(meeting.wait());
            meeting.leave();
            assert_eq!(waiting.join().unwrap(), (true, false));
        });
    }
}
