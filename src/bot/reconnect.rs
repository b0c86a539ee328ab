//! A stream that is opened again whenever it is lost.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use tokio::time::Sleep;

use crate::clock;
use crate::lichess::retry::{Disconnect, ReconnectPolicy};
use crate::lichess::{Error, StreamError};

type Opening<S> = Pin<Box<dyn Future<Output = Result<S, Error>> + Send>>;

/// What is heard on a [`ReconnectingStream`].
#[derive(Debug)]
pub enum Heard<T> {
    /// The stream is open.
    Opened,
    /// Something came.
    Item(T),
    /// The stream is over; it is opened again after the wait.
    Lost {
        /// `None` for a clean end.
        error: Option<StreamError>,
        /// Until it is tried again.
        wait: Duration,
    },
    /// The server did not open it; it is tried again after the wait.
    Refused {
        /// Why not.
        error: Error,
        /// Until it is tried again.
        wait: Duration,
    },
}

/// See the module's text.
pub struct ReconnectingStream<S> {
    open: Box<dyn Fn(Duration) -> Opening<S> + Send + Sync>,
    schedule: ReconnectPolicy,
    state: State<S>,
}

enum State<S> {
    Waiting(Pin<Box<Sleep>>),
    Opening(Opening<S>),
    Open { stream: S, since: Instant },
}

impl<S> ReconnectingStream<S> {
    /// A link that is opened by `open` as soon as somebody listens, and again whenever `schedule` says so. `open` is
    /// told how long the stream may be silent.
    pub fn new<O, R>(schedule: ReconnectPolicy, open: O) -> Self
    where
        O: Fn(Duration) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S, Error>> + Send + 'static,
    {
        Self {
            open: Box::new(move |silence| Box::pin(open(silence))),
            schedule,
            state: State::Waiting(Box::pin(clock::sleep(Duration::ZERO))),
        }
    }

    /// Whether the stream is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// The stream, while it is open, and since when.
    pub fn stream(&self) -> Option<(&S, Instant)> {
        match &self.state {
            State::Open { stream, since } => Some((stream, *since)),
            State::Waiting(_) | State::Opening(_) => None,
        }
    }

    /// Gives up what there is and opens anew after a wait.
    pub fn reopen(&mut self, wait: Duration) {
        self.state = State::Waiting(Box::pin(clock::sleep(wait)));
    }

    /// Until then a lost stream is opened again after this at the latest: see [`ReconnectPolicy::cap_wait`].
    pub fn hurry(&mut self, most: Duration, until: Instant) {
        self.schedule.cap_wait(most, until);
    }

    /// Gives up a stream that brings what cannot be used, and opens anew when the schedule says so.
    pub fn mistrust(&mut self) {
        let lived = match &self.state {
            State::Open { since, .. } => clock::since(*since),
            _ => Duration::ZERO,
        };
        self.again(Disconnect::Broken, lived);
    }

    fn again(&mut self, how: Disconnect, lived: Duration) -> Duration {
        let wait = self.schedule.on_end(how, lived, clock::now());
        self.reopen(wait);
        wait
    }
}

impl<S, T> ReconnectingStream<S>
where
    S: Stream<Item = Result<T, StreamError>> + Unpin,
{
    /// The next thing that is heard. May be dropped at any time: nothing is lost.
    pub async fn next(&mut self) -> Heard<T> {
        loop {
            match &mut self.state {
                State::Waiting(wait) => {
                    wait.await;
                    self.schedule.on_open(clock::now());
                    self.state = State::Opening((self.open)(self.schedule.silence()));
                }
                State::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.state = State::Open {
                            stream,
                            since: clock::now(),
                        };
                        return Heard::Opened;
                    }
                    Err(error) => {
                        let wait = self.again(Disconnect::from_open_error(&error), Duration::ZERO);
                        return Heard::Refused { error, wait };
                    }
                },
                State::Open { stream, since } => {
                    let error = match stream.next().await {
                        Some(Ok(item)) => return Heard::Item(item),
                        Some(Err(error)) => Some(error),
                        None => None,
                    };
                    let how = match error {
                        None => Disconnect::Eof,
                        Some(StreamError::Silent(_)) => Disconnect::Silent,
                        Some(_) => Disconnect::Broken,
                    };
                    let lived = clock::since(*since);
                    let wait = self.again(how, lived);
                    return Heard::Lost { error, wait };
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

    type Numbers = BoxStream<'static, Result<u32, StreamError>>;

    #[tokio::test]
    async fn a_lost_stream_is_opened_again() {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let mut link: ReconnectingStream<Numbers> =
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
        assert!(matches!(link.next().await, Heard::Opened));
        assert!(matches!(link.next().await, Heard::Item(1)));
        let Heard::Lost {
            error: None, wait, ..
        } = link.next().await
        else {
            panic!()
        };
        assert!(wait <= Duration::from_millis(500));
        assert!(matches!(
            link.next().await,
            Heard::Refused {
                error: Error::Timeout(_),
                ..
            }
        ));
        assert!(matches!(link.next().await, Heard::Opened));
        assert!(matches!(link.next().await, Heard::Item(2)));
        assert!(matches!(
            link.next().await,
            Heard::Lost {
                error: Some(StreamError::Io(_)),
                ..
            }
        ));
        assert_eq!(opened.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn looking_again_takes_no_longer_than_asked() {
        let mut link: ReconnectingStream<Numbers> =
            ReconnectingStream::new(ReconnectPolicy::game(), |_| async {
                Ok(stream::iter([Ok(1), Ok(2)]).boxed())
            });
        link.next().await;
        link.next().await;
        link.reopen(Duration::ZERO);
        assert!(matches!(link.next().await, Heard::Opened));
        assert!(matches!(link.next().await, Heard::Item(1)));
    }
}
