//! Tasks that log under the name of the account whose they are.

use std::ops::{Deref, DerefMut};

use tokio::task::{AbortHandle, JoinSet};
use tracing::Instrument;

/// A [`JoinSet`] whose tasks are in the span of who has started them, where there is one: that of an account of several.
#[derive(Debug)]
pub struct SpannedJoinSet<T>(JoinSet<T>);

impl<T> Default for SpannedJoinSet<T> {
    fn default() -> Self {
        Self(JoinSet::new())
    }
}

impl<T: Send + 'static> SpannedJoinSet<T> {
    /// Starts a task.
    pub fn spawn(&mut self, task: impl Future<Output = T> + Send + 'static) -> AbortHandle {
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
