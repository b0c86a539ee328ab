//! Background requests of an account, each with the handler of its result.

use std::collections::VecDeque;

use tokio::task::JoinError;

use super::{Account, Error};
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::lichess::model::ChallengeId;

/// Requests that are running.
#[derive(Default)]
pub(super) struct Background {
    running: SpannedJoinSet<Completion>,
    /// Completed requests that [`next_challenge`](Self::next_challenge) was not looking for.
    postponed: VecDeque<Completion>,
}

/// Completed request.
pub(super) struct Completion {
    handle: Handler,
    /// The request has sent or canceled a challenge of ours.
    is_challenge: bool,
}

/// Handles the result. During shutdown there is no account; then it returns a challenge that has been created and is
/// to be canceled.
type Handler = Box<dyn FnOnce(Option<&mut Account>) -> Result<Option<ChallengeId>, Error> + Send>;

impl Background {
    /// Starts a request.
    pub(super) fn spawn<T: Send + 'static>(
        &mut self,
        request: impl Future<Output = T> + Send + 'static,
        handle: impl FnOnce(&mut Account, T) + Send + 'static,
    ) {
        self.spawn_fallible(request, |account, result| {
            handle(account, result);
            Ok(())
        });
    }

    /// Starts a request whose result may end the account task.
    pub(super) fn spawn_fallible<T: Send + 'static>(
        &mut self,
        request: impl Future<Output = T> + Send + 'static,
        handle: impl FnOnce(&mut Account, T) -> Result<(), Error> + Send + 'static,
    ) {
        self.running.spawn(async move {
            let result = request.await;
            Completion {
                handle: Box::new(|account| {
                    let done = account.map(|account| handle(account, result));
                    done.transpose().map(|_| None)
                }),
                is_challenge: false,
            }
        });
    }

    /// Starts a request that sends or cancels a challenge of ours. `abandon` handles the result during shutdown.
    pub(super) fn spawn_challenge<T: Send + 'static>(
        &mut self,
        request: impl Future<Output = T> + Send + 'static,
        abandon: impl FnOnce(T) -> Option<ChallengeId> + Send + 'static,
        handle: impl FnOnce(&mut Account, T) + Send + 'static,
    ) {
        self.running.spawn(async move {
            let result = request.await;
            Completion {
                handle: Box::new(|account| match account {
                    Some(account) => {
                        handle(account, result);
                        Ok(None)
                    }
                    None => Ok(abandon(result)),
                }),
                is_challenge: true,
            }
        });
    }

    /// Waits for the next completed request. `None` if none is running.
    pub(super) async fn next(&mut self) -> Option<Result<Completion, JoinError>> {
        match self.postponed.pop_front() {
            Some(completion) => Some(Ok(completion)),
            None => self.running.join_next().await,
        }
    }

    /// Waits for the next request that has sent or canceled a challenge. Returns the created challenge, if any.
    pub(super) async fn next_challenge(&mut self) -> Option<Option<ChallengeId>> {
        loop {
            match self.running.join_next().await? {
                Ok(completion) if completion.is_challenge => {
                    return Some((completion.handle)(None).unwrap_or(None));
                }
                Ok(other) => self.postponed.push_back(other),
                Err(_) => {}
            }
        }
    }

    /// Aborts all requests.
    pub(super) async fn shutdown(&mut self) {
        self.running.shutdown().await;
    }
}

impl Account {
    /// Handles the result of a background request.
    pub(super) fn on_completion(
        &mut self,
        completion: Result<Completion, JoinError>,
    ) -> Result<(), Error> {
        match completion {
            Ok(completion) => (completion.handle)(Some(self)).map(drop),
            Err(failure) => {
                self.on_request_panicked();
                if let Ok(panic) = failure.try_into_panic() {
                    self.on_task_panicked("a background request", panic);
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn other_completions_wait_for_their_turn() {
        let mut background = Background::default();
        background.spawn(async {}, |_, ()| {});
        background.spawn_challenge(async {}, |()| None, |_, ()| {});
        assert!(background.next_challenge().await.is_some());
        assert!(background.next_challenge().await.is_none());
        let other = background.next().await;
        assert!(other.is_some_and(|other| other.is_ok_and(|other| !other.is_challenge)));
        assert!(background.next().await.is_none());
    }
}
