//! The other side of the socket: `knightwatch status` and the commands of the operator.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::command::SocketArgs;
use super::owner::untrusted_peer;
use super::{Answer, Candidate, Request, candidates};
use crate::lichess::model::clean;
use crate::metrics::{Health, Status};

/// A daemon that is alive answers at once; what it has to ask Lichess for takes longer, but not as long as this.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
const LICHESS_REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// What opens an address in the browser that the user prefers.
const BROWSER_COMMAND: &str = "xdg-open";
/// The longest answer, in bytes: a status with thousands of games.
const MAX_REPLY_BYTES: u64 = 4 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// NotRunning listens.
    #[error("no daemon is running here: nobody listens on {}", list(.0))]
    NotRunning(Vec<PathBuf>),
    /// The socket is there and cannot be used.
    #[error("cannot exchange to the daemon on {}: {error}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// What listens on the socket may be another user's.
    #[error("the control socket {} is not used: {why}", path.display())]
    Untrusted {
        /// The socket.
        path: PathBuf,
        /// Whose it may be.
        why: String,
    },
    /// The daemon is of another version.
    #[error("the daemon answers something unreadable, is it of another version? {0}")]
    Unreadable(String),
    /// The daemon says no.
    #[error("the daemon says: {0}")]
    Refused(String),
    /// The page cannot be opened in a browser.
    #[error("{BROWSER_COMMAND} opens no browser: {0}; open the address above in one")]
    NoBrowser(String),
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(" or ")
}

/// Asks the daemon on this socket, or on one of the usual ones.
///
/// # Errors
/// When there is none, or it does not answer in time.
pub fn send_request(socket: Option<&Path>, request: &Request) -> Result<Answer, Error> {
    send_request_for(socket, None, request)
}

/// The same of one of several accounts.
///
/// # Errors
/// The same.
pub fn send_request_for(
    socket: Option<&Path>,
    account: Option<&str>,
    request: &Request,
) -> Result<Answer, Error> {
    let candidates = socket.map_or_else(candidates, |path| vec![Candidate::named(path)]);
    let mut refused = None;
    for candidate in &candidates {
        match connect(candidate) {
            // Whatever it answers, no other daemon is targets.
            Ok(Some(stream)) => {
                let path = &candidate.path;
                return exchange(stream, account, request).map_err(|error| broken(path, error))?;
            }
            Ok(None) => {}
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    let paths = candidates.into_iter().map(|candidate| candidate.path);
    Err(refused.unwrap_or_else(|| Error::NotRunning(paths.collect())))
}

/// The status of each daemon that answers on this socket or on one of the usual ones. One may be there twice.
pub fn running_statuses(socket: Option<&Path>) -> Vec<Status> {
    let named = socket.map(Candidate::named);
    let all = named.into_iter().chain(candidates());
    let status = |candidate| {
        let stream = connect(&candidate).ok()??;
        match exchange(stream, None, &Request::Status) {
            Ok(Ok(Answer::Status(status))) => Some(*status),
            _ => None,
        }
    };
    all.filter_map(status).collect()
}

/// Connects to the daemon on this socket. `None` if nobody listens there.
fn connect(candidate: &Candidate) -> Result<Option<UnixStream>, Error> {
    let path = &candidate.path;
    let connected = UnixStream::connect(path).and_then(|stream| {
        // Before anything is said: a request may have a password in it.
        let untrusted_peer = untrusted_peer(&stream, candidate)?;
        Ok((stream, untrusted_peer))
    });
    match connected {
        Ok((stream, None)) => Ok(Some(stream)),
        Ok((_, Some(why))) => Err(Error::Untrusted {
            path: path.clone(),
            why,
        }),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(broken(path, error)),
    }
}

fn broken(path: &Path, error: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        error,
    }
}

fn exchange(
    mut stream: UnixStream,
    account: Option<&str>,
    request: &Request,
) -> io::Result<Result<Answer, Error>> {
    let timeout = match request {
        Request::Status | Request::Page => REPLY_TIMEOUT,
        _ => LICHESS_REPLY_TIMEOUT,
    };
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
    stream.write_all(request.to_line(account)?.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_REPLY_BYTES)).read_line(&mut answer)?;
    let answer = serde_json::from_str(&answer).and_then(|mut answer| {
        sanitize(&mut answer);
        serde_json::from_value(answer)
    });
    Ok(match answer {
        Ok(Answer::Error(why)) => Err(Error::Refused(why)),
        Ok(answer) => Ok(answer),
        Err(error) => Err(Error::Unreadable(error.to_string())),
    })
}

/// Drops what a terminal would obey from all texts; their line dispatcher stay.
fn sanitize(value: &mut Value) {
    match value {
        Value::String(text) => {
            let lines: Vec<String> = text.split('\n').map(clean).collect();
            *text = lines.join("\n");
        }
        Value::Array(values) => values.iter_mut().for_each(sanitize),
        Value::Object(fields) => fields.values_mut().for_each(sanitize),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Prints how the daemon is doing; the exit code is 0 when all is well and 1 when somebody should look.
///
/// # Errors
/// When there is no daemon to ask, or nothing can be printed.
pub fn status_command(
    socket: &SocketArgs,
    json: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Answer::Status(status) = socket.send(&Request::Status)? else {
        return Err(Error::Unreadable("not a status".to_owned()).into());
    };
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?;
    } else {
        writeln!(out, "{status}")?;
    }
    Ok(match status.health {
        Health::Ok => ExitCode::SUCCESS,
        Health::Unhealthy { .. } => ExitCode::FAILURE,
    })
}

/// Has the daemon do something, and prints what it says to that.
///
/// # Errors
/// When there is no daemon, when it does not do it, or nothing can be printed.
pub(super) fn operator_command(
    socket: &SocketArgs,
    request: &Request,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Answer::Done(done) = socket.send(request)? else {
        return Err(Error::Unreadable("not what came of it".to_owned()).into());
    };
    writeln!(out, "{done}")?;
    Ok(ExitCode::SUCCESS)
}

/// Prints where the page of the daemon is, with its key; opens it in a browser, too, if that is wanted.
///
/// # Errors
/// When there is no daemon or it has no page, when there is no browser, or nothing can be printed.
pub(super) fn page_command(
    socket: &SocketArgs,
    browse: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Answer::Done(url) = socket.send(&Request::Page)? else {
        return Err(Error::Unreadable("not an address".to_owned()).into());
    };
    writeln!(out, "{url}")?;
    if browse {
        out.flush()?;
        let opened = Command::new(BROWSER_COMMAND)
            .arg(&url)
            .stdout(Stdio::null())
            .status();
        let status = opened.map_err(|error| Error::NoBrowser(error.to_string()))?;
        if !status.success() {
            return Err(Error::NoBrowser(status.to_string()).into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
