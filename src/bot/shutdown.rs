//! Two-stage shutdown: finish running games, then exit.

use std::sync::Arc;

use tokio::sync::watch;

/// Stage of the shutdown. Only ever advances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No shutdown.
    #[default]
    Running,
    /// No new games; running games are finished.
    Draining,
    /// The move being searched is posted, then the bot exits. Games stay as they are on the server.
    Leaving,
}

impl Stage {
    /// Name of the stage in the status.
    pub fn key(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
        }
    }
}

/// Starts a shutdown. Cheap to clone; dropping it has no effect.
#[derive(Clone, Debug)]
pub struct ShutdownHandle(Arc<watch::Sender<Stage>>);

/// Reports the stage of a shutdown. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ShutdownSignal {
    stage: watch::Receiver<Stage>,
    /// Kept so that waiting never fails after all handles were dropped.
    _keep: Arc<watch::Sender<Stage>>,
}

/// Creates a connected pair.
pub fn shutdown_channel() -> (ShutdownHandle, ShutdownSignal) {
    let (sender, stage) = watch::channel(Stage::Running);
    let sender = Arc::new(sender);
    let signal = ShutdownSignal {
        stage,
        _keep: Arc::clone(&sender),
    };
    (ShutdownHandle(sender), signal)
}

impl ShutdownHandle {
    /// Stage 1: takes no new games and finishes running ones.
    pub fn drain(&self) {
        self.advance_to(Stage::Draining);
    }

    /// Stage 2: exits now.
    pub fn leave(&self) {
        self.advance_to(Stage::Leaving);
    }

    /// Current stage.
    pub fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    fn advance_to(&self, to: Stage) {
        self.0.send_if_modified(|stage| {
            let is_later = to > *stage;
            if is_later {
                *stage = to;
            }
            is_later
        });
    }
}

impl ShutdownSignal {
    /// Current stage.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until the shutdown has reached `stage`.
    pub async fn reached(&mut self, stage: Stage) {
        self.stage
            .wait_for(|now| *now >= stage)
            .await
            .expect("the sender is kept");
    }

    /// Waits for the next stage and returns it.
    pub async fn next(&mut self) -> Stage {
        self.stage.changed().await.expect("the sender is kept");
        *self.stage.borrow_and_update()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shutdown_stage_never_goes_back() {
        let (handle, mut signal) = shutdown_channel();
        assert_eq!(signal.stage(), Stage::Running);
        handle.leave();
        handle.drain();
        assert_eq!(signal.stage(), Stage::Leaving);
        signal.clone().reached(Stage::Draining).await;
        assert_eq!(signal.next().await, Stage::Leaving);
    }
}
