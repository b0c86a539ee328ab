//! Work on all cores: threads that take one job after another, and a caller who hears of the results as they come.

use std::sync::mpsc;
use std::thread::Builder;

use anyhow::Context;

/// Enough for the deepest line in an unoptimised build.
const STACK: usize = 16 << 20;

/// Has `threads` threads do jobs until `next` has none left. Each thread works with a worker of its own; `on_result` is
/// called on the caller's thread.
///
/// # Errors
/// When no thread can be started, or `on_result` fails: then what is on is finished first.
pub(in crate::train) fn work<J, R: Send, W: FnMut(J) -> R>(
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
                .stack_size(STACK)
                .spawn_scoped(scope, all)
                .context("cannot start a thread")?;
        }
        drop(sender);
        results.iter().try_for_each(&mut on_result)
    })
}

/// As many threads as asked for, or one for each core.
pub(in crate::train) fn size(wanted: Option<usize>) -> usize {
    wanted
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .max(1)
}
