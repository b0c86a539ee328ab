//! Dispatch of requests to the accounts of the daemon.

use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use futures::future::join_all;
use futures::stream;

use super::{Request, Response};
use crate::bot::{self, CommandError, CommandHandle};
use crate::metrics::Metrics;

/// Answers requests with the metrics and command channels of the accounts. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    /// Metrics of all accounts.
    metrics: Metrics,
    accounts: Arc<[Account]>,
    /// URL of the page, once it is open.
    page: Arc<OnceLock<PageUrl>>,
}

/// URL of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl {
    /// Without the key: opens the page for watching only.
    pub without_key: String,
    /// With the key: opens the page for watching and acting.
    pub with_key: String,
}

/// Metrics and command channel of one account.
struct Account {
    /// Name of the account; empty if it is the only one.
    name: String,
    metrics: Metrics,
    commands: CommandHandle,
}

/// A dispatcher with a single account.
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
    /// A dispatcher with several accounts, by name, and their combined metrics.
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

    /// Sets the URL of the page. Only the first call has an effect.
    pub fn set_page_url(&self, url: PageUrl) {
        let _ = self.page.set(url);
    }

    /// Executes a request for the named account, or else for all accounts that are not stopped.
    pub async fn dispatch(&self, account: Option<&str>, request: Request) -> Response {
        let targets = match self.targets(account) {
            Ok(targets) => targets,
            Err(CommandError(why)) => return Response::Error(why),
        };
        let result = match request {
            Request::Status => {
                let metrics = match account.and(targets.first()) {
                    Some(account) => &account.metrics,
                    None => &self.metrics,
                };
                let mut status = metrics.status();
                status.page = self.page.get().map(|page| page.without_key.clone());
                return Response::Status(Box::new(status));
            }
            Request::Page => match self.page.get() {
                Some(page) => Ok(page.with_key.clone()),
                None => Err(CommandError(
                    "no page is open: web.listen sets its address; if it is set, the log says why the page is not open"
                        .to_owned(),
                )),
            },
            Request::Challenge(_)
            | Request::CancelMatch { .. }
            | Request::Join { .. }
            | Request::Leave { .. } => {
                match &targets[..] {
                    [one] => request.execute(&one.commands).await,
                    several => Err(CommandError(format!(
                        "which account? select one with --account NAME: {}",
                        names(several)
                    ))),
                }
            }
            // Only one account has the game.
            Request::MoveNow { .. } => execute_first(&targets, &request).await,
            Request::Pause
            | Request::Resume
            | Request::Seek { .. }
            | Request::Drain
            | Request::Block { .. }
            | Request::Unblock { .. }
            | Request::Strength { .. }
            | Request::Reload => self.execute_all(&targets, &request).await,
        };
        match result {
            Ok(done) => Response::Done(done),
            Err(CommandError(why)) => Response::Error(why),
        }
    }

    /// The named account; without a name all accounts that are running, or all if none is.
    fn targets(&self, account: Option<&str>) -> Result<Vec<&Account>, CommandError> {
        let Some(wanted) = account else {
            let running: Vec<&Account> = self
                .accounts
                .iter()
                .filter(|account| account.is_running())
                .collect();
            let all = || self.accounts.iter().collect();
            return Ok(if running.is_empty() { all() } else { running });
        };
        let mut all = self.accounts.iter();
        let named = all.find(|account| account.name.eq_ignore_ascii_case(wanted));
        let named = named.or_else(|| self.only_account_named(wanted));
        named.map(|account| vec![account]).ok_or_else(|| {
            let all: Vec<&Account> = self.accounts.iter().collect();
            CommandError(match &all[..] {
                [_] => format!("this bot has no account {wanted}: it has a single account"),
                all => format!(
                    "this bot has no account {wanted}; accounts are {}",
                    names(all)
                ),
            })
        })
    }

    /// The only account, if it has this name.
    fn only_account_named(&self, wanted: &str) -> Option<&Account> {
        let [only] = &self.accounts[..] else {
            return None;
        };
        let name = only.metrics.status().live.account?;
        name.eq_ignore_ascii_case(wanted).then_some(only)
    }

    /// Executes a request for all targets. Succeeds if it succeeds for any; a reload and a change of matchmaking only if
    /// they succeed for all, since otherwise the operator has to correct something.
    async fn execute_all(&self, targets: &[&Account], request: &Request) -> bot::CommandResult {
        if let ([only], [_]) = (targets, &self.accounts[..]) {
            return request.clone().execute(&only.commands).await;
        }
        let results = targets
            .iter()
            .map(|account| request.clone().execute(&account.commands));
        let results = match request {
            // Each account may start an engine to test it.
            Request::Reload => stream::iter(results).then(|result| result).collect().await,
            _ => join_all(results).await,
        };
        let by_result = |is_done: bool| -> Vec<&Account> {
            let results = targets.iter().zip(&results);
            let these = results.filter(|(_, result)| result.is_ok() == is_done);
            these.map(|(account, _)| *account).collect()
        };
        let (done, failed) = (by_result(true), by_result(false));
        let name = match request {
            Request::Reload => Some("reload"),
            Request::Seek { .. } => Some("change of matchmaking"),
            _ => None,
        };
        let is_partial = !done.is_empty() && !failed.is_empty();
        let summary = name.filter(|_| is_partial).map(|name| {
            let (done, failed) = (names(&done), names(&failed));
            format!("the {name} has failed for {failed}, and has succeeded for {done}")
        });
        let is_done = !done.is_empty() && summary.is_none();
        let lines = targets.iter().zip(results).map(|(account, result)| {
            let (Ok(text) | Err(CommandError(text))) = result;
            format!("{}: {text}", account.name)
        });
        let text = summary
            .into_iter()
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n");
        match is_done {
            true => Ok(text),
            false => Err(CommandError(text)),
        }
    }
}

impl Account {
    fn is_running(&self) -> bool {
        !self.commands.is_closed()
    }
}

/// Executes a request for the targets in turn until it succeeds. Returns the last result.
async fn execute_first(targets: &[&Account], request: &Request) -> bot::CommandResult {
    let mut result = Err(CommandError("no account is running".to_owned()));
    for account in targets {
        result = request.clone().execute(&account.commands).await;
        if result.is_ok() {
            break;
        }
    }
    result
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
            let (commands, receiver) = bot::command_channel(bot::shutdown_channel().0);
            receivers.push(receiver);
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
    async fn join_without_account_of_several_is_rejected() {
        let (dispatcher, mut receivers) = dispatcher();
        for (account, why) in [
            (
                None,
                "which account? select one with --account NAME: Anna, Bert",
            ),
            (
                Some("Cleo"),
                "this bot has no account Cleo; accounts are Anna, Bert",
            ),
        ] {
            let response = dispatcher.dispatch(account, join()).await;
            assert_eq!(response, Response::Error(why.to_owned()));
        }
        drop(receivers.remove(0));
        drop(receivers);
        let response = dispatcher.dispatch(Some("anna"), join()).await;
        assert_eq!(
            response,
            Response::Error("the bot is about to end".to_owned())
        );
    }

    #[tokio::test]
    async fn drain_reaches_all_running_accounts() {
        let (dispatcher, mut receivers) = dispatcher();
        let drained = dispatcher.dispatch(None, Request::Drain).await;
        let Response::Done(text) = drained else {
            panic!("{drained:?}");
        };
        assert!(
            text.starts_with("Anna: ") && text.contains("\nBert: "),
            "{text}"
        );
        drop(receivers.remove(0));
        let drained = dispatcher.dispatch(None, Request::Drain).await;
        assert!(matches!(drained, Response::Done(text) if text.starts_with("Bert: ")));
    }

    #[test]
    fn request_with_account_is_parsed() {
        let line = r#"{"command":"pause","account":"Anna"}"#;
        let parsed = Request::parse_addressed(line);
        assert_eq!(parsed, Ok((Some("Anna".to_owned()), Request::Pause)));
        assert_eq!(
            Request::parse_addressed(&Request::Pause.to_line(Some("Anna")).unwrap()),
            parsed
        );
        let line = Request::Pause.to_line(None).unwrap();
        assert_eq!(Request::parse_addressed(&line), Ok((None, Request::Pause)));
        assert!(Request::parse_addressed(r#"{"command":"pause","account":7}"#).is_err());
        assert!(Request::parse_addressed(r#"{"command":"nothing","account":"Anna"}"#).is_err());
    }
}
