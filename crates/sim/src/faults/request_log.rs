//! Log of the API requests that reached the site.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Endpoint, RequestContext};

/// Records kept; the oldest are dropped first.
const MAX_RECORDS: usize = 10_000;

/// A request that reached the site, whatever its outcome. Requests that the proxy in front of the site rejects are not
/// recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// Simulated time since the start of the site.
    pub at: Duration,
    /// Endpoint of the request.
    pub endpoint: Endpoint,
    /// The id of the authenticated user, if known.
    pub user: Option<String>,
    /// The game or challenge id in the path.
    pub game: Option<String>,
    /// A fault was injected into the request. Later faults of the stream that it opens do not count.
    pub faulted: bool,
}

#[derive(Default)]
pub(super) struct RequestLog(VecDeque<RequestRecord>);

impl RequestLog {
    pub(super) fn record(&mut self, request: &RequestContext<'_>, faulted: bool) {
        if self.0.len() == MAX_RECORDS {
            self.0.pop_front();
        }
        self.0.push_back(RequestRecord {
            at: request.time,
            endpoint: request.endpoint,
            user: request.user.map(str::to_owned),
            game: request.game.map(str::to_owned),
            faulted,
        });
    }

    pub(super) fn to_endpoint(&self, endpoint: Endpoint) -> Vec<RequestRecord> {
        let records = self.0.iter().filter(|record| record.endpoint == endpoint);
        records.cloned().collect()
    }
}
