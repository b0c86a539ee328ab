//! The daemon's side of the socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, timeout};
use tracing::{debug, info, warn};

use super::owner::directory_problem;
use super::{Answer, Dispatcher, Request, directory_of, effective_uid};

/// The longest request, in bytes.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// Clients at once; more than that are a mistake.
const MAX_CLIENTS: usize = 16;

/// After a failure to accept a client, mostly for want of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// How long a client may be silent: `knightwatch status` asks at once.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// A daemon that is alive takes a connection at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Who waits to be taken as a client.
const LISTEN_BACKLOG: u32 = 64;

/// How often to see whether the socket's file is still there, and to try again where it cannot be made: sooner than
/// anybody gives up asking.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody answers there already.
    #[error("another daemon has the control socket {}", .0.display())]
    InUse(PathBuf),
    /// The system does not let us.
    #[error("cannot open the control socket {}: {error}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Somebody else could put a socket of his own in its place.
    #[error(
        "the directory {} {why}: the control socket has to be in one that only this user can write to, see daemon.socket",
        path.display()
    )]
    Shared {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// A socket that is open. Dropping it removes the file.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// Which file is ours: another daemon may have put its own there since.
    file: Option<(u64, u64)>,
    /// A client that says nothing, or takes no answer, for so long makes room for others.
    idle_timeout: Duration,
}

/// Keeps the socket open for as long as this is not dropped, beginning with what came of opening it. Where it cannot be
/// made, for want of space or of the permission, that is said once and tried again; a file that somebody has removed is
/// made anew.
pub async fn keep_open(path: PathBuf, first: Result<Server, BindError>, dispatcher: Dispatcher) {
    let mut next = Some(first);
    // It cannot be reached at the moment, and why has been said.
    let (mut gone, mut told) = (false, false);
    loop {
        let opened = match next.take() {
            Some(first) => first,
            None => Server::bind(&path).await,
        };
        match opened {
            Ok(server) => {
                if gone {
                    info!("the commands of the operator reach this daemon again");
                }
                server.serve(dispatcher.clone()).await;
                info!("the control socket {} is gone", path.display());
                (gone, told) = (true, false);
                continue;
            }
            Err(error) if !told => {
                warn!("the commands of the operator will not reach this daemon for now: {error}");
                (gone, told) = (true, true);
            }
            Err(error) => debug!("still no control socket: {error}"),
        }
        tokio::time::sleep(SOCKET_CHECK_INTERVAL).await;
    }
}

impl Server {
    /// Opens the socket, which only this user can use. What a daemon that has crashed left there is replaced.
    ///
    /// # Errors
    /// When another daemon listens there, when others can write to its directory, and when the file cannot be made.
    pub async fn bind(path: &Path) -> Result<Self, BindError> {
        let system = |error| BindError::System {
            path: path.to_owned(),
            error,
        };
        let directory = directory_of(path);
        let us = effective_uid();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(system)?;
        if let Some(why) = directory_problem(directory, |owner| owner == us).map_err(system)? {
            return Err(BindError::Shared {
                path: directory.to_owned(),
                why,
            });
        }
        match timeout(CONNECT_TIMEOUT, UnixStream::connect(path)).await {
            Ok(Err(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) => {}
            Ok(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(system(error));
            }
            // One that is too busy to take us is there, too.
            _ => return Err(BindError::InUse(path.to_owned())),
        }
        match fs::symlink_metadata(path) {
            Ok(there) if there.file_type().is_socket() => fs::remove_file(path).map_err(system)?,
            Ok(_) => {
                let why = "something else than a socket is there";
                return Err(system(io::Error::new(io::ErrorKind::AlreadyExists, why)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(system(error)),
        }
        let socket = UnixSocket::new_stream().map_err(system)?;
        socket.bind(path).map_err(system)?;
        // NotRunning gets in before it listens, and then it is this user's alone.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(system)?;
        let listener = socket.listen(LISTEN_BACKLOG).map_err(system)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: file_identity(path),
            idle_timeout: IDLE_TIMEOUT,
        })
    }

    /// Answers until the file is no longer there.
    async fn serve(self, dispatcher: Dispatcher) {
        let mut clients = JoinSet::new();
        let mut look = interval_at(
            Instant::now() + SOCKET_CHECK_INTERVAL,
            SOCKET_CHECK_INTERVAL,
        );
        loop {
            tokio::select! {
                _ = look.tick() => if file_identity(&self.path) != self.file { return },
                accepted = self.listener.accept(), if clients.len() < MAX_CLIENTS => match accepted {
                    Ok((client, _)) => {
                        clients.spawn(serve_client(client, dispatcher.clone(), self.idle_timeout));
                    }
                    Err(error) => {
                        debug!("cannot accept a client of the control socket: {error}");
                        tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    }
                },
                Some(_) = clients.join_next() => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.file.is_some() && file_identity(&self.path) == self.file {
            // Gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What tells a file from another one at the same place.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    let there = fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

async fn serve_client(mut client: UnixStream, dispatcher: Dispatcher, idle_timeout: Duration) {
    let (reader, mut writer) = client.split();
    let mut reader = BufReader::new(reader.take(MAX_REQUEST_BYTES));
    let mut line = String::new();
    loop {
        line.clear();
        reader.get_mut().set_limit(MAX_REQUEST_BYTES);
        // At the end of the connection, after a silence, or when the line is longer than any request.
        let read = timeout(idle_timeout, reader.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) || !line.ends_with('\n') {
            return;
        }
        let answer = match Request::parse_addressed(&line) {
            Ok((account, request)) => dispatcher.answer(account.as_deref(), request).await,
            Err(why) => Answer::Error(why),
        };
        let mut text = serde_json::to_string(&answer).expect("plain data with string keys");
        text.push('\n');
        let written = timeout(idle_timeout, writer.write_all(text.as_bytes())).await;
        if !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot;
    use crate::metrics::Metrics;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_others_can_write_to_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        for open in [0o1777, 0o770, 0o702] {
            mode(home.path(), open);
            let error = Server::bind(&path).await.unwrap_err().to_string();
            assert!(error.contains("can be written to by others"), "{error}");
            assert!(!path.exists());
        }
        mode(home.path(), 0o755);
        let server = Server::bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        drop(server);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_is_on_the_way_is_made_for_us_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/control.sock");
        let _server = Server::bind(&path).await.unwrap();
        let directory = fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(directory.mode() & 0o777, 0o700);
    }

    #[tokio::test]
    async fn idle_clients_make_room() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let mut server = Server::bind(&path).await.unwrap();
        server.idle_timeout = Duration::from_millis(200);
        let (commands, _calls) = bot::command_channel(bot::shutdown_channel().0);
        tokio::spawn(server.serve((Metrics::default(), commands).into()));
        let mut idle = Vec::new();
        for _ in 0..MAX_CLIENTS + 4 {
            idle.push(UnixStream::connect(&path).await.unwrap());
        }
        let mut client = UnixStream::connect(&path).await.unwrap();
        client
            .write_all(b"{\"command\":\"status\"}\n")
            .await
            .unwrap();
        let mut answer = String::new();
        let read = BufReader::new(client).read_line(&mut answer).await;
        assert!(read.unwrap() > 0 && answer.contains("version"), "{answer}");
    }
}
