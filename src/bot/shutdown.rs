//! The two-stage stop: first finish what is on, then leave at once.

use std::sync::Arc;

use tokio::sync::watch;

/// How far a stop has gone. Only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Everything as usual.
    #[default]
    Running,
    /// No new games; those that are on are finished.
    Draining,
    /// Post the move being searched, then leave. The games stay as they are on the server.
    Leaving,
}

impl Stage {
    /// The word for it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
        }
    }
}

/// The hand that stops. Cheap to clone; dropping it stops nothing.
#[derive(Clone, Debug)]
pub struct ShutdownHandle(Arc<watch::Sender<Stage>>);

/// The ear that hears it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ShutdownSignal {
    stage: watch::Receiver<Stage>,
    /// Kept so that waiting for a stop that nobody can ask for any more waits for ever instead of failing.
    _keep: Arc<watch::Sender<Stage>>,
}

/// A hand and an ear that belong together.
pub fn shutdown_channel() -> (ShutdownHandle, ShutdownSignal) {
    let (sender, stage) = watch::channel(Stage::Running);
    let sender = Arc::new(sender);
    let ear = ShutdownSignal {
        stage,
        _keep: Arc::clone(&sender),
    };
    (ShutdownHandle(sender), ear)
}

impl ShutdownHandle {
    /// Stage 1: no new games, finish those that are on.
    pub fn drain(&self) {
        self.raise(Stage::Draining);
    }

    /// Stage 2: leave now.
    pub fn leave(&self) {
        self.raise(Stage::Leaving);
    }

    /// How far the stop has gone.
    pub fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    fn raise(&self, to: Stage) {
        self.0.send_if_modified(|stage| {
            let higher = to > *stage;
            if higher {
                *stage = to;
            }
            higher
        });
    }
}

impl ShutdownSignal {
    /// How far the stop has gone.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until the stop has gone at least as far as `stage`.
    pub async fn reached(&mut self, stage: Stage) {
        self.stage
            .wait_for(|now| *now >= stage)
            .await
            .expect("the sender is kept");
    }

    /// Waits for the stage after the one seen last, and returns it.
    pub async fn next(&mut self) -> Stage {
        self.stage.changed().await.expect("the sender is kept");
        *self.stage.borrow_and_update()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_never_goes_back() {
        let (stopper, mut stop) = shutdown_channel();
        assert_eq!(stop.stage(), Stage::Running);
        stopper.leave();
        stopper.drain();
        assert_eq!(stop.stage(), Stage::Leaving);
        stop.clone().reached(Stage::Draining).await;
        assert_eq!(stop.next().await, Stage::Leaving);
    }
}
