//! Requests that are sent again after a failure.

use std::time::Duration;

use crate::clock;
use crate::lichess::Error as Failure;
use crate::lichess::retry::{self, RequestKind, Retry};

/// Sends a request again for as long as [`retry::decide`] says so.
pub(crate) async fn with_retries<F, R, T>(kind: RequestKind, request: F) -> Result<T, Failure>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Failure>>,
{
    with_retries_within(Duration::MAX, kind, request).await
}

/// As [`with_retries`], without attempts that would begin later than `limit` after the first one.
pub(crate) async fn with_retries_within<F, R, T>(
    limit: Duration,
    kind: RequestKind,
    mut request: F,
) -> Result<T, Failure>
where
    F: FnMut() -> R,
    R: Future<Output = Result<T, Failure>>,
{
    let start = clock::now();
    let mut attempt = 0;
    loop {
        let failure = match request().await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        match retry::decide(kind, &failure, attempt) {
            Retry::After(wait) if clock::since(start).saturating_add(wait) <= limit => {
                clock::sleep(wait).await;
            }
            Retry::After(_) | Retry::GiveUp => return Err(failure),
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answer_timeout_is_retried() {
        let mut calls = 0;
        let answer = with_retries(RequestKind::Answer, || {
            calls += 1;
            let failed = calls < 3;
            async move {
                if failed {
                    Err(Failure::Timeout(Duration::from_secs(1)))
                } else {
                    Ok(())
                }
            }
        });
        assert_eq!(answer.await, Ok(()));
        assert_eq!(calls, 3);
    }
}
