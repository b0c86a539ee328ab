//! Reconnecting stream.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use tokio::time::Sleep;

use crate::clock;
use crate::lichess::{Disconnect, Error, ReconnectPolicy, StreamError};

type Opening<S> = Pin<Box<dyn Future<Output = Result<S, Error>> + Send>>;

/// Event of a [`ReconnectingStream`].
#[derive(Debug)]
pub(super) enum StreamEvent<T> {
    Opened,
    /// The stream has brought an item.
    Item(T),
    /// The stream has ended; it is opened again after the wait.
    Lost {
        /// `None` if the server closed it cleanly.
        error: Option<StreamError>,
        /// Time until the next attempt.
        wait: Duration,
    },
    /// The stream could not be opened; it is tried again after the wait.
    OpenFailed {
        error: Error,
        /// Time until the next attempt.
        wait: Duration,
    },
}

/// A stream that is opened again whenever it ends.
pub(super) struct ReconnectingStream<S> {
    open: Box<dyn Fn(Duration) -> Opening<S> + Send + Sync>,
    policy: ReconnectPolicy,
    state: State<S>,
}

enum State<S> {
    Waiting(Pin<Box<Sleep>>),
    Opening(Opening<S>),
    Open { stream: S, since: Instant },
}

impl<S> ReconnectingStream<S> {
    /// Creates a stream that is opened by `open` when it is first polled, and again when `policy` says so. `open`
    /// gets the time for which the stream may be silent.
    pub(super) fn new<O, R>(policy: ReconnectPolicy, open: O) -> Self
    where
        O: Fn(Duration) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S, Error>> + Send + 'static,
    {
        Self {
            open: Box::new(move |silence| Box::pin(open(silence))),
            policy,
            state: State::Waiting(Box::pin(clock::sleep(Duration::ZERO))),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// The open stream, and since when it has been open.
    pub(super) fn stream(&self) -> Option<(&S, Instant)> {
        match &self.state {
            State::Open { stream, since } => Some((stream, *since)),
            State::Waiting(_) | State::Opening(_) => None,
        }
    }

    /// Drops the stream and opens it again after a wait.
    pub(super) fn reopen(&mut self, wait: Duration) {
        self.state = State::Waiting(Box::pin(clock::sleep(wait)));
    }

    /// Caps the wait before a lost stream is opened again, until the given time: see [`ReconnectPolicy::cap_wait`].
    pub(super) fn cap_wait(&mut self, max: Duration, until: Instant) {
        self.policy.cap_wait(max, until);
    }

    /// Drops a stream whose content cannot be used. It is opened again when the policy says so.
    pub(super) fn reset(&mut self) {
        let open_for = match &self.state {
            State::Open { since, .. } => clock::since(*since),
            _ => Duration::ZERO,
        };
        self.schedule_reopen(Disconnect::Broken, open_for);
    }

    fn schedule_reopen(&mut self, reason: Disconnect, open_for: Duration) -> Duration {
        let wait = self.policy.on_end(reason, open_for, clock::now());
        self.reopen(wait);
        wait
    }
}

impl<S, T> ReconnectingStream<S>
where
    S: Stream<Item = Result<T, StreamError>> + Unpin,
{
    /// Returns the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> StreamEvent<T> {
        loop {
            match &mut self.state {
                State::Waiting(wait) => {
                    wait.await;
                    self.policy.on_open(clock::now());
                    self.state = State::Opening((self.open)(self.policy.silence()));
                }
                State::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.state = State::Open {
                            stream,
                            since: clock::now(),
                        };
                        return StreamEvent::Opened;
                    }
                    Err(error) => {
                        let wait = self
                            .schedule_reopen(Disconnect::from_open_error(&error), Duration::ZERO);
                        return StreamEvent::OpenFailed { error, wait };
                    }
                },
                State::Open { stream, since } => {
                    let error = match stream.next().await {
                        Some(Ok(item)) => return StreamEvent::Item(item),
                        Some(Err(error)) => Some(error),
                        None => None,
                    };
                    let reason = match error {
                        None => Disconnect::Eof,
                        Some(StreamError::Silent(_)) => Disconnect::Silent,
                        Some(_) => Disconnect::Broken,
                    };
                    let open_for = clock::since(*since);
                    let wait = self.schedule_reopen(reason, open_for);
                    return StreamEvent::Lost { error, wait };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::stream::{self, BoxStream};

    use super::*;

    type NumberStream = BoxStream<'static, Result<u32, StreamError>>;

    #[tokio::test]
    async fn stream_lost_reopens() {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let mut stream: ReconnectingStream<NumberStream> =
            ReconnectingStream::new(ReconnectPolicy::game(), move |_| {
                let n = count.fetch_add(1, Ordering::Relaxed);
                async move {
                    match n {
                        0 => Ok(stream::iter([Ok(1)]).boxed()),
                        1 => Err(Error::Timeout(Duration::from_secs(2))),
                        _ => {
                            Ok(stream::iter([Ok(2), Err(StreamError::Io("reset".into()))]).boxed())
                        }
                    }
                }
            });
        assert!(matches!(stream.next().await, StreamEvent::Opened));
        assert!(matches!(stream.next().await, StreamEvent::Item(1)));
        let StreamEvent::Lost {
            error: None, wait, ..
        } = stream.next().await
        else {
            panic!()
        };
        assert!(wait <= Duration::from_millis(500));
        assert!(matches!(
            stream.next().await,
            StreamEvent::OpenFailed {
                error: Error::Timeout(_),
                ..
            }
        ));
        assert!(matches!(stream.next().await, StreamEvent::Opened));
        assert!(matches!(stream.next().await, StreamEvent::Item(2)));
        assert!(matches!(
            stream.next().await,
            StreamEvent::Lost {
                error: Some(StreamError::Io(_)),
                ..
            }
        ));
        assert_eq!(opened.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn stream_reopen_without_wait_opens_at_once() {
        let mut stream: ReconnectingStream<NumberStream> =
            ReconnectingStream::new(ReconnectPolicy::game(), |_| async {
                Ok(stream::iter([Ok(1), Ok(2)]).boxed())
            });
        stream.next().await;
        stream.next().await;
        stream.reopen(Duration::ZERO);
        assert!(matches!(stream.next().await, StreamEvent::Opened));
        assert!(matches!(stream.next().await, StreamEvent::Item(1)));
    }
}
