//! What can go wrong.

use std::time::Duration;

use crate::sim::failure::proxy_page;

/// What happens to a call instead of, or after, the ordinary.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This answer, and nothing is done.
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// The connection is reset before anything is done.
    Reset,
    /// The call waits, in the site's time, and then is done and answered as usual.
    Stall(Duration),
    /// The call is done, and then the connection is reset instead of an answer.
    AnswerLost,
    /// The call is done at once, the answer comes this much later.
    AnswerLate(Duration),
    /// The stream that this call opens breaks after this many lines (keep-alive lines not counted).
    Stream { after: usize, how: StreamFault },
}

impl Fault {
    /// An error answer with a JSON body.
    pub fn json(code: u16, body: &str) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: body.to_owned(),
        }
    }

    /// An error answer as the reverse proxy in front of the site gives it.
    pub fn html(code: u16) -> Self {
        Self::Status {
            code,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: proxy_page(code),
        }
    }
}

/// How an open stream breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// It ends as if all were well.
    Eof,
    /// The connection is reset.
    Reset,
    /// It stays open and says nothing any more, not even keep-alive lines.
    Silence,
}
