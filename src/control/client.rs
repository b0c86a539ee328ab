//! Client side of the control socket: `knightwatch status` and the operator commands.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::socket_owner::untrusted_peer;
use super::{Candidate, Request, Response, SYSTEM_RUNTIME_DIR, candidates};
use crate::lichess::model::address::{self, Page};
use crate::lichess::model::clean;
use crate::metrics::{Health, Status};

/// Time limit for a response that the daemon can give at once.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for a response for which the daemon may have to send requests to Lichess.
const LICHESS_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for the response to a reload, which tests the engines of one account after another. Shorter than
/// `TimeoutStartSec` of the systemd units, which limits `ExecReload`.
const RELOAD_RESPONSE_TIMEOUT: Duration = Duration::from_secs(110);

/// Command that opens a URL in the preferred browser of the user.
const BROWSER_COMMAND: &str = "xdg-open";

/// Maximum length of a response in bytes: enough for a status with thousands of games.
const MAX_RESPONSE_BYTES: u64 = 4 << 20;

/// Selects a running bot and one of its accounts.
#[derive(Args, Clone, Debug, Default)]
pub struct SocketArgs {
    /// Control socket of the bot [default: daemon.socket of the configuration, or else control.sock in the runtime directory]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Configuration file of the bot [default: as for `knightwatch run`]
    #[arg(short, long, value_name = "FILE", conflicts_with = "socket")]
    pub config: Option<PathBuf>,
    /// Account, if the bot plays several
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
}

impl SocketArgs {
    /// Sends a request to the selected bot and account.
    pub(super) fn send(&self, request: &Request) -> Result<Response, Error> {
        let account = self.account.as_deref();
        let account = account.map(|name| address::id(name, Page::User));
        send_request_for(self.socket.as_deref(), account, request)
    }
}

/// Error of a request to a daemon.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No daemon listens.
    #[error("no daemon is running: nothing listens on {}; start `knightwatch run`, or name its socket with --socket", list(.0))]
    NotRunning(Vec<PathBuf>),
    /// The socket exists and cannot be used.
    #[error("cannot talk to the daemon on {}: {error}{}", path.display(), permission_hint(path, error))]
    Io {
        /// Path of the socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The daemon has not answered in time.
    #[error(
        "the daemon on {} has not answered within {} s, but may still do what was asked: see `knightwatch status` and its log",
        path.display(),
        timeout.as_secs()
    )]
    NoResponse {
        /// Path of the socket.
        path: PathBuf,
        /// The time limit.
        timeout: Duration,
    },
    /// The process that listens may belong to another user.
    #[error("the control socket {} is not used: {why}", path.display())]
    Untrusted {
        /// Path of the socket.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The response cannot be parsed.
    #[error(
        "the response of the daemon is unreadable; it may have another version, so restart it after an upgrade: {0}"
    )]
    Unreadable(String),
    /// The daemon has answered with an error.
    #[error("the daemon says: {0}")]
    Refused(String),
    /// The page cannot be opened in a browser.
    #[error("{BROWSER_COMMAND} cannot open a browser: {0}; open the address above in one")]
    NoBrowser(String),
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(" or ")
}

/// Sends a request to the daemon on this socket, or on one of the default ones.
///
/// # Errors
/// If no daemon is running, it does not respond in time, or it responds with an error.
pub fn send_request(socket: Option<&Path>, request: &Request) -> Result<Response, Error> {
    send_request_for(socket, None, request)
}

/// Like [`send_request`], for one of several accounts.
///
/// # Errors
/// As [`send_request`], and if the daemon has no such account.
pub fn send_request_for(
    socket: Option<&Path>,
    account: Option<&str>,
    request: &Request,
) -> Result<Response, Error> {
    let candidates = socket.map_or_else(candidates, |path| vec![Candidate::explicit(path)]);
    let mut first_error = None;
    for candidate in &candidates {
        match connect(candidate) {
            // Other daemons are not tried after an error response.
            Ok(Some(stream)) => {
                let path = &candidate.path;
                return exchange(stream, account, request)
                    .map_err(|error| exchange_error(path, request, error))?;
            }
            Ok(None) => {}
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    let paths = candidates.into_iter().map(|candidate| candidate.path);
    Err(first_error.unwrap_or_else(|| Error::NotRunning(paths.collect())))
}

/// Status of each daemon that responds on this socket or on one of the default ones. May contain duplicates.
pub fn running_statuses(socket: Option<&Path>) -> Vec<Status> {
    let explicit = socket.map(Candidate::explicit);
    let all = explicit.into_iter().chain(candidates());
    let status = |candidate| {
        let stream = connect(&candidate).ok()??;
        match exchange(stream, None, &Request::Status) {
            Ok(Ok(Response::Status(status))) => Some(*status),
            _ => None,
        }
    };
    all.filter_map(status).collect()
}

/// Hint for the socket of the service.
fn permission_hint(path: &Path, error: &io::Error) -> &'static str {
    let of_service = path.starts_with(SYSTEM_RUNTIME_DIR);
    match error.kind() {
        io::ErrorKind::PermissionDenied if of_service => "; it is that of the service: use sudo",
        io::ErrorKind::PermissionDenied => "; it is that of another user",
        _ => "",
    }
}

/// Connects to the daemon on this socket; `None` if no process listens.
fn connect(candidate: &Candidate) -> Result<Option<UnixStream>, Error> {
    let path = &candidate.path;
    let connected = UnixStream::connect(path).and_then(|stream| {
        // Checked before anything is sent: a request may contain a password.
        let problem = untrusted_peer(&stream, candidate)?;
        Ok((stream, problem))
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
        Err(error) => Err(io_error(path, error)),
    }
}

fn io_error(path: &Path, error: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        error,
    }
}

fn exchange_error(path: &Path, request: &Request, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::NoResponse {
            path: path.to_owned(),
            timeout: response_timeout(request),
        },
        _ => io_error(path, error),
    }
}

fn response_timeout(request: &Request) -> Duration {
    match request {
        Request::Status | Request::Page => RESPONSE_TIMEOUT,
        Request::Reload => RELOAD_RESPONSE_TIMEOUT,
        _ => LICHESS_RESPONSE_TIMEOUT,
    }
}

fn exchange(
    mut stream: UnixStream,
    account: Option<&str>,
    request: &Request,
) -> io::Result<Result<Response, Error>> {
    stream.set_read_timeout(Some(response_timeout(request)))?;
    stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
    stream.write_all(request.to_line(account)?.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_RESPONSE_BYTES)).read_line(&mut line)?;
    let response = serde_json::from_str(&line).and_then(|mut response| {
        sanitize(&mut response);
        serde_json::from_value(response)
    });
    Ok(match response {
        Ok(Response::Error(why)) => Err(Error::Refused(why)),
        Ok(response) => Ok(response),
        Err(error) => Err(Error::Unreadable(error.to_string())),
    })
}

/// Removes control characters other than line feeds from all strings.
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

/// Prints the status of the daemon. The exit code is 0 if it is healthy and 1 if it needs attention.
///
/// # Errors
/// If no daemon responds or the output cannot be written.
pub fn status_command(
    socket: &SocketArgs,
    json: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Response::Status(status) = socket.send(&Request::Status)? else {
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

/// Prints the matches of the daemon with their cross tables.
///
/// # Errors
/// If no daemon responds or the output cannot be written.
pub(super) fn matches_command(
    socket: &SocketArgs,
    json: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Response::Status(status) = socket.send(&Request::Status)? else {
        return Err(Error::Unreadable("not a status".to_owned()).into());
    };
    let matches = &status.live.matches;
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(matches)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for one in matches {
        writeln!(out, "{one}\n{}", one.cross_table())?;
    }
    if matches.is_empty() {
        writeln!(
            out,
            "there are no matches; knightwatch challenge NAME 3+2 --pairs 20 starts one"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends an operator command to the daemon and prints its response.
///
/// # Errors
/// If no daemon responds, it rejects the command, or the output cannot be written.
pub(super) fn operator_command(
    socket: &SocketArgs,
    request: &Request,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Response::Done(done) = socket.send(request)? else {
        return Err(Error::Unreadable("not the result of a command".to_owned()).into());
    };
    writeln!(out, "{done}")?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the URL of the daemon's page with its key, and opens it in a browser if `open` is set.
///
/// # Errors
/// If no daemon responds, it has no page, no browser can be opened, or the output cannot be written.
pub(super) fn page_command(
    socket: &SocketArgs,
    open: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let Response::Done(url) = socket.send(&Request::Page)? else {
        return Err(Error::Unreadable("not an address".to_owned()).into());
    };
    writeln!(out, "{url}")?;
    if open {
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn missing_response_is_reported_with_time_limit() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let error = send_request(Some(&path), &Request::Status).unwrap_err();
        let expected = format!(
            "the daemon on {} has not answered within 5 s, but may still do what was asked",
            path.display()
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    #[test]
    fn reload_waits_for_all_accounts_but_not_longer_than_systemd() {
        let limit = response_timeout(&Request::Reload);
        // Each account may need 20 seconds.
        assert!(limit >= Duration::from_secs(5 * 20));
        for unit in [
            include_str!("../../systemd/knightwatch.service"),
            include_str!("../../systemd/user/knightwatch.service"),
        ] {
            let seconds = unit
                .lines()
                .find_map(|line| line.strip_prefix("TimeoutStartSec="));
            let seconds = seconds.and_then(|seconds| seconds.parse().ok());
            assert!(seconds.is_some_and(|seconds| limit < Duration::from_secs(seconds)));
        }
    }
}
