//! Spin barrier for the trainer's threads, which synchronize thousands of times a second.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A reusable barrier whose waiting threads spin.
pub(crate) struct SpinBarrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    aborted: AtomicBool,
}

impl SpinBarrier {
    pub(crate) fn new(threads: usize) -> SpinBarrier {
        SpinBarrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            aborted: AtomicBool::new(false),
        }
    }

    /// Waits for all threads; `false` when one of them has aborted.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::Release);
            return true;
        }
        let mut turns = 0u32;
        while self.round.load(Ordering::Acquire) == round {
            if self.aborted.load(Ordering::Acquire) {
                // The last thread may have arrived before the abort.
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

    /// Releases all waiting threads; later waits fail.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
    }
}

/// Aborts the barrier if its thread panics.
pub(crate) struct AbortOnPanic<'a>(pub &'a SpinBarrier);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barrier_abort_releases_waiting_threads() {
        let barrier = SpinBarrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (barrier.wait(), barrier.wait()));
            assert!(barrier.wait());
            barrier.abort();
            assert_eq!(waiting.join().unwrap(), (true, false));
        });
    }
}
