//! What the daemon answers from: how it is doing, and who of its accounts can do something about it.

use std::sync::{Arc, OnceLock};

use super::{Answer, Request};
use crate::bot::{self, CommandError, CommandHandle};
use crate::metrics::Metrics;

/// See the module's text. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
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
    pub without_key: String,
    /// With it.
    pub with_key: String,
}

/// Where one account is steered.
struct Account {
    /// What it is called, where it is one of several.
    name: String,
    metrics: Metrics,
    commands: CommandHandle,
}

/// The only account.
impl From<(Metrics, CommandHandle)> for Dispatcher {
    fn from((metrics, commands): (Metrics, CommandHandle)) -> Self {
        let only = Account {
            name: String::new(),
            metrics: metrics.clone(),
            commands,
        };
        Self {
            metrics,
            accounts: [only].into(),
            page: Arc::default(),
        }
    }
}

impl Dispatcher {
    /// Several accounts by their names, and the numbers of all of them.
    pub fn with_accounts(
        metrics: Metrics,
        accounts: Vec<(String, Metrics, CommandHandle)>,
    ) -> Self {
        let account = |(name, metrics, commands)| Account {
            name,
            metrics,
            commands,
        };
        Self {
            metrics,
            accounts: accounts.into_iter().map(account).collect(),
            page: Arc::default(),
        }
    }

    /// The page is open there. It is told once: a page stays where it is.
    pub fn set_page_url(&self, url: PageUrl) {
        let _ = self.page.set(url);
    }

    /// What is said to a request: by the account that it names, or else by those that it can be targets for.
    pub async fn answer(&self, account: Option<&str>, request: Request) -> Answer {
        let targets = match self.targets(account) {
            Ok(targets) => targets,
            Err(CommandError(why)) => return Answer::Error(why),
        };
        let answer = match request {
            Request::Status => {
                let metrics = match account.and(targets.first()) {
                    Some(account) => &account.metrics,
                    None => &self.metrics,
                };
                let mut status = metrics.status();
                status.page = self.page.get().map(|page| page.without_key.clone());
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
                match &targets[..] {
                    [one] => request.execute(&one.commands).await,
                    several => Err(CommandError(format!(
                        "which account? say --account NAME: {}",
                        names(several)
                    ))),
                }
            }
            // Only one of them has the game.
            Request::MoveNow { .. } => execute_first(&targets, &request).await,
            Request::Pause
            | Request::Resume
            | Request::Drain
            | Request::Block { .. }
            | Request::Unblock { .. }
            | Request::Strength { .. }
            | Request::Reload => self.execute_all(&targets, &request).await,
        };
        match answer {
            Ok(done) => Answer::Done(done),
            Err(CommandError(why)) => Answer::Error(why),
        }
    }

    /// Those that a request is for: the one that is named, or else all that play.
    fn targets(&self, account: Option<&str>) -> Result<Vec<&Account>, CommandError> {
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
        let named = named.or_else(|| self.only_account_named(wanted));
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
    fn only_account_named(&self, wanted: &str) -> Option<&Account> {
        let [only] = &self.accounts[..] else {
            return None;
        };
        let name = only.metrics.status().account?;
        name.eq_ignore_ascii_case(wanted).then_some(only)
    }

    /// All of them in turn; done, if it was by any.
    async fn execute_all(&self, targets: &[&Account], request: &Request) -> bot::CommandResult {
        if let ([only], [_]) = (targets, &self.accounts[..]) {
            return request.clone().execute(&only.commands).await;
        }
        let (mut done, mut told) = (false, Vec::new());
        for account in targets {
            let answer = request.clone().execute(&account.commands).await;
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
        !self.commands.is_closed()
    }
}

/// The first of them that does it; else what the last one says.
async fn execute_first(targets: &[&Account], request: &Request) -> bot::CommandResult {
    let mut answer = Err(CommandError("no account plays".to_owned()));
    for account in targets {
        answer = request.clone().execute(&account.commands).await;
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

    fn dispatcher() -> (Dispatcher, Vec<bot::CommandReceiver>) {
        let mut receivers = Vec::new();
        let accounts = ["Anna", "Bert"].map(|name| {
            let (commands, heard) = bot::command_channel(bot::shutdown_channel().0);
            receivers.push(heard);
            (name.to_owned(), Metrics::default(), commands)
        });
        (
            Dispatcher::with_accounts(Metrics::default(), accounts.into()),
            receivers,
        )
    }

    fn join() -> Request {
        Request::Join {
            arena: "may24bot".to_owned(),
        }
    }

    #[tokio::test]
    async fn who_is_meant_has_to_be_said_where_it_matters() {
        let (dispatcher, mut receivers) = dispatcher();
        for (account, why) in [
            (None, "which account? say --account NAME: Anna, Bert"),
            (
                Some("Cleo"),
                "this bot has no account Cleo; accounts are Anna, Bert",
            ),
        ] {
            let answer = dispatcher.answer(account, join()).await;
            assert_eq!(answer, Answer::Error(why.to_owned()));
        }
        // Of two of which one has ended the other is targets.
        drop(receivers.remove(0));
        drop(receivers);
        let answer = dispatcher.answer(Some("anna"), join()).await;
        assert_eq!(answer, Answer::Error("the bot is about to end".to_owned()));
    }

    #[tokio::test]
    async fn what_is_for_all_is_done_by_all_that_play() {
        let (dispatcher, mut receivers) = dispatcher();
        let drained = dispatcher.answer(None, Request::Drain).await;
        let Answer::Done(told) = drained else {
            panic!("{drained:?}");
        };
        assert!(
            told.starts_with("Anna: ") && told.contains("\nBert: "),
            "{told}"
        );
        drop(receivers.remove(0));
        let drained = dispatcher.answer(None, Request::Drain).await;
        assert!(matches!(drained, Answer::Done(told) if told.starts_with("Bert: ")));
    }

    #[test]
    fn a_request_may_name_an_account() {
        let line = r#"{"command":"pause","account":"Anna"}"#;
        let read = Request::parse_addressed(line);
        assert_eq!(read, Ok((Some("Anna".to_owned()), Request::Pause)));
        assert_eq!(
            Request::parse_addressed(&Request::Pause.to_line(Some("Anna")).unwrap()),
            read
        );
        let line = Request::Pause.to_line(None).unwrap();
        assert_eq!(Request::parse_addressed(&line), Ok((None, Request::Pause)));
        assert!(Request::parse_addressed(r#"{"command":"pause","account":7}"#).is_err());
        assert!(Request::parse_addressed(r#"{"command":"nothing","account":"Anna"}"#).is_err());
    }
}
