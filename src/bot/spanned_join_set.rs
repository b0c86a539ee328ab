//! `JoinSet` that keeps the tracing span.

use std::ops::{Deref, DerefMut};

use tokio::task::{AbortHandle, JoinSet};
use tracing::Instrument;

/// A [`JoinSet`] whose tasks run in the current span, so that they log the name of their account.
#[derive(Debug)]
pub(super) struct SpannedJoinSet<T>(JoinSet<T>);

impl<T> Default for SpannedJoinSet<T> {
    fn default() -> Self {
        Self(JoinSet::new())
    }
}

impl<T: Send + 'static> SpannedJoinSet<T> {
    /// Spawns a task.
    pub(super) fn spawn(&mut self, task: impl Future<Output = T> + Send + 'static) -> AbortHandle {
        self.0.spawn(task.in_current_span())
    }
}

impl<T> Deref for SpannedJoinSet<T> {
    type Target = JoinSet<T>;

    fn deref(&self) -> &JoinSet<T> {
        &self.0
    }
}

impl<T> DerefMut for SpannedJoinSet<T> {
    fn deref_mut(&mut self) -> &mut JoinSet<T> {
        &mut self.0
    }
}
