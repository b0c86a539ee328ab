//! Things that go wrong on purpose.

use std::sync::Mutex;
use std::time::Duration;

/// The kinds of calls, as faults and statistics tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Account,
    Playing,
    TokenTest,
    Upgrade,
    EventStream,
    GameStream,
    Move,
    Chat,
    ChatLog,
    Abort,
    Resign,
    Draw,
    Takeback,
    ClaimVictory,
    ClaimDraw,
    Berserk,
    ChallengeCreate,
    ChallengeAccept,
    ChallengeDecline,
    ChallengeCancel,
    ChallengeList,
    ChallengeShow,
    BotsOnline,
    UsersStatus,
    User,
    Export,
    Ping,
    Other,
}

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
            body: format!(
                "<html><head><title>{code}</title></head><body><center><h1>{code}</h1></center></body></html>"
            ),
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

/// Which calls a fault strikes. What is `None` matches everything.
#[derive(Clone, Debug)]
pub struct Rule {
    pub endpoint: Option<Endpoint>,
    /// Name of the user who calls.
    pub user: Option<String>,
    /// Game or challenge id.
    pub game: Option<String>,
    /// The first matching call that is struck, counted from 1.
    pub nth: usize,
    /// How many calls in a row are struck.
    pub times: usize,
    pub fault: Fault,
}

impl Rule {
    /// Strikes the first call of this kind.
    pub fn on(endpoint: Endpoint, fault: Fault) -> Self {
        Self {
            endpoint: Some(endpoint),
            user: None,
            game: None,
            nth: 1,
            times: 1,
            fault,
        }
    }

    pub fn of_user(self, name: &str) -> Self {
        Self {
            user: Some(name.to_owned()),
            ..self
        }
    }

    pub fn in_game(self, id: &str) -> Self {
        Self {
            game: Some(id.to_owned()),
            ..self
        }
    }

    pub fn nth(self, nth: usize) -> Self {
        Self { nth, ..self }
    }

    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

/// The faults that are planted in a site.
#[derive(Default)]
pub struct Faults {
    rules: Mutex<Vec<Rule>>,
}

impl Faults {
    /// Plants a fault.
    pub fn add(&self, rule: Rule) {
        self.rules
            .lock()
            .expect("no holder of this lock panics")
            .push(rule);
    }

    /// Takes all planted faults away.
    pub fn clear(&self) {
        self.rules
            .lock()
            .expect("no holder of this lock panics")
            .clear();
    }

    /// Breaks the streams that are open now: of this user, or of all; of this game, or also the event streams.
    pub fn cut(&self, _user: Option<&str>, _game: Option<&str>, _how: StreamFault) {}

    /// How many calls of this kind were made so far.
    pub fn calls(&self, _endpoint: Endpoint) -> usize {
        0
    }
}
