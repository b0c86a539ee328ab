//! Worker pool: threads that process jobs, with results handled on the caller's thread.

use std::sync::mpsc;
use std::thread::Builder;

use anyhow::Context;

/// Stack size in bytes, enough for the deepest line in an unoptimized build.
const STACK_BYTES: usize = 16 << 20;

/// Runs jobs on `threads` threads until `next` returns `None`. Each thread has its own `worker`; `on_result` is called on the
/// caller's thread.
///
/// # Errors
/// When a thread cannot be started, or `on_result` fails. Running jobs are finished first.
pub(crate) fn run<J, R: Send, W: FnMut(J) -> R>(
    threads: usize,
    next: impl Fn() -> Option<J> + Sync,
    worker: impl Fn() -> W + Sync,
    mut on_result: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next, worker) = (sender.clone(), &next, &worker);
            let all = move || {
                let mut work = worker();
                while let Some(job) = next() {
                    if sender.send(work(job)).is_err() {
                        return;
                    }
                }
            };
            Builder::new()
                .name("games".into())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, all)
                .context("cannot start a thread")?;
        }
        drop(sender);
        results.iter().try_for_each(&mut on_result)
    })
}

/// The number of threads: as configured, or one per core.
pub(crate) fn thread_count(configured: Option<usize>) -> usize {
    configured
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .max(1)
}
