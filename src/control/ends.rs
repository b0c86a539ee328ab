//! What the daemon answers from: how it is doing, and who of its accounts can do something about it.

use std::sync::{Arc, OnceLock};

use super::{Answer, Request};
use crate::bot::{self, CommandError, CommandHandle};
use crate::metrics::Metrics;

/// See the module's text. Cheap to clone.
#[derive(Clone)]
pub struct Ends {
    /// How all of it is doing.
    metrics: Metrics,
    accounts: Arc<[Account]>,
    /// Where the page is, once it is open.
    page: Arc<OnceLock<PageUrl>>,
}

/// The address of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl {
    /// Without the key, with which one only watches.
    pub open: String,
    /// With it.
    pub with_key: String,
}

/// Where one account is steered.
struct Account {
    /// What it is called, where it is one of several.
    name: String,
    metrics: Metrics,
    helm: CommandHandle,
}

/// The only account.
impl From<(Metrics, CommandHandle)> for Ends {
    fn from((metrics, helm): (Metrics, CommandHandle)) -> Self {
        let only = Account {
            name: String::new(),
            metrics: metrics.clone(),
            helm,
        };
        Self {
            metrics,
            accounts: [only].into(),
            page: Arc::default(),
        }
    }
}

impl Ends {
    /// Several accounts by their names, and the numbers of all of them.
    pub fn several(metrics: Metrics, accounts: Vec<(String, Metrics, CommandHandle)>) -> Self {
        let account = |(name, metrics, helm)| Account {
            name,
            metrics,
            helm,
        };
        Self {
            metrics,
            accounts: accounts.into_iter().map(account).collect(),
            page: Arc::default(),
        }
    }

    /// The page is open there. It is told once: a page stays where it is.
    pub fn page_is_open(&self, url: PageUrl) {
        let _ = self.page.set(url);
    }

    /// What is said to a request: by the account that it names, or else by those that it can be meant for.
    pub async fn answer(&self, account: Option<&str>, request: Request) -> Answer {
        let meant = match self.meant(account) {
            Ok(meant) => meant,
            Err(CommandError(why)) => return Answer::Error(why),
        };
        let answer = match request {
            Request::Status => {
                let metrics = match account.and(meant.first()) {
                    Some(account) => &account.metrics,
                    None => &self.metrics,
                };
                let mut status = metrics.status();
                status.page = self.page.get().map(|page| page.open.clone());
                return Answer::Status(Box::new(status));
            }
            Request::Page => match self.page.get() {
                Some(page) => Ok(page.with_key.clone()),
                None => Err(CommandError(
                    "no page is open: web.listen names its address, and the log says what is wrong with it"
                        .to_owned(),
                )),
            },
            Request::Challenge(_) | Request::Join { .. } | Request::Leave { .. } => {
                match &meant[..] {
                    [one] => request.carry_out(&one.helm).await,
                    several => Err(CommandError(format!(
                        "which account? say --account NAME: {}",
                        names(several)
                    ))),
                }
            }
            // Only one of them has the game.
            Request::MoveNow { .. } => first(&meant, &request).await,
            Request::Pause
            | Request::Resume
            | Request::Drain
            | Request::Block { .. }
            | Request::Unblock { .. }
            | Request::Strength { .. }
            | Request::Reload => self.each(&meant, &request).await,
        };
        match answer {
            Ok(done) => Answer::Done(done),
            Err(CommandError(why)) => Answer::Error(why),
        }
    }

    /// Those that a request is for: the one that is named, or else all that play.
    fn meant(&self, account: Option<&str>) -> Result<Vec<&Account>, CommandError> {
        let Some(wanted) = account else {
            let play: Vec<&Account> = self
                .accounts
                .iter()
                .filter(|account| account.plays())
                .collect();
            let all = || self.accounts.iter().collect();
            return Ok(if play.is_empty() { all() } else { play });
        };
        let mut all = self.accounts.iter();
        let named = all.find(|account| account.name.eq_ignore_ascii_case(wanted));
        let named = named.or_else(|| self.is_only(wanted));
        named.map(|account| vec![account]).ok_or_else(|| {
            let all: Vec<&Account> = self.accounts.iter().collect();
            CommandError(match &all[..] {
                [_] => format!("this bot has no account {wanted}: it plays one alone"),
                all => format!(
                    "this bot has no account {wanted}; accounts are {}",
                    names(all)
                ),
            })
        })
    }

    /// The only account, if it is called so.
    fn is_only(&self, wanted: &str) -> Option<&Account> {
        let [only] = &self.accounts[..] else {
            return None;
        };
        let name = only.metrics.status().account?;
        name.eq_ignore_ascii_case(wanted).then_some(only)
    }

    /// All of them in turn; done, if it was by any.
    async fn each(&self, meant: &[&Account], request: &Request) -> bot::CommandResult {
        if let ([only], [_]) = (meant, &self.accounts[..]) {
            return request.clone().carry_out(&only.helm).await;
        }
        let (mut done, mut told) = (false, Vec::new());
        for account in meant {
            let answer = request.clone().carry_out(&account.helm).await;
            done |= answer.is_ok();
            let (Ok(said) | Err(CommandError(said))) = answer;
            told.push(format!("{}: {said}", account.name));
        }
        let told = told.join("\n");
        if done {
            Ok(told)
        } else {
            Err(CommandError(told))
        }
    }
}

impl Account {
    fn plays(&self) -> bool {
        !self.helm.is_closed()
    }
}

/// The first of them that does it; else what the last one says.
async fn first(meant: &[&Account], request: &Request) -> bot::CommandResult {
    let mut answer = Err(CommandError("no account plays".to_owned()));
    for account in meant {
        answer = request.clone().carry_out(&account.helm).await;
        if answer.is_ok() {
            break;
        }
    }
    answer
}

fn names(accounts: &[&Account]) -> String {
    let names: Vec<&str> = accounts
        .iter()
        .map(|account| account.name.as_str())
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> (Ends, Vec<bot::CommandReceiver>) {
        let mut calls = Vec::new();
        let accounts = ["Anna", "Bert"].map(|name| {
            let (helm, heard) = bot::command_channel(bot::shutdown_channel().0);
            calls.push(heard);
            (name.to_owned(), Metrics::default(), helm)
        });
        (Ends::several(Metrics::default(), accounts.into()), calls)
    }

    fn join() -> Request {
        Request::Join {
            arena: "may24bot".to_owned(),
        }
    }

    #[tokio::test]
    async fn who_is_meant_has_to_be_said_where_it_matters() {
        let (ends, mut calls) = ends();
        for (account, why) in [
            (None, "which account? say --account NAME: Anna, Bert"),
            (
                Some("Cleo"),
                "this bot has no account Cleo; accounts are Anna, Bert",
            ),
        ] {
            let answer = ends.answer(account, join()).await;
            assert_eq!(answer, Answer::Error(why.to_owned()));
        }
        // Of two of which one has ended the other is meant.
        drop(calls.remove(0));
        drop(calls);
        let answer = ends.answer(Some("anna"), join()).await;
        assert_eq!(answer, Answer::Error("the bot is about to end".to_owned()));
    }

    #[tokio::test]
    async fn what_is_for_all_is_done_by_all_that_play() {
        let (ends, mut calls) = ends();
        let drained = ends.answer(None, Request::Drain).await;
        let Answer::Done(told) = drained else {
            panic!("{drained:?}");
        };
        assert!(
            told.starts_with("Anna: ") && told.contains("\nBert: "),
            "{told}"
        );
        drop(calls.remove(0));
        let drained = ends.answer(None, Request::Drain).await;
        assert!(matches!(drained, Answer::Done(told) if told.starts_with("Bert: ")));
    }

    #[test]
    fn a_request_may_name_an_account() {
        let line = r#"{"ask":"pause","account":"Anna"}"#;
        let read = Request::addressed(line);
        assert_eq!(read, Ok((Some("Anna".to_owned()), Request::Pause)));
        assert_eq!(
            Request::addressed(&Request::Pause.line(Some("Anna")).unwrap()),
            read
        );
        let line = Request::Pause.line(None).unwrap();
        assert_eq!(Request::addressed(&line), Ok((None, Request::Pause)));
        assert!(Request::addressed(r#"{"ask":"pause","account":7}"#).is_err());
        assert!(Request::addressed(r#"{"ask":"nothing","account":"Anna"}"#).is_err());
    }
}
