//! Server side of the control socket.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, interval_at, timeout};
use tracing::{debug, info, warn};

use super::socket_owner::directory_problem;
use super::{Dispatcher, Request, Response, directory_of, effective_uid};

/// Maximum length of a request in bytes.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// Maximum number of connected clients; then the one that has been idle for the longest is disconnected for a new one.
const MAX_CLIENTS: usize = 16;

/// Delay after a failure to accept a client, mostly for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Time after which an idle client is disconnected.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for connecting to a socket that another daemon may have.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of clients that wait to be accepted.
const LISTEN_BACKLOG: u32 = 64;

/// Interval between checks that the socket's file still exists, and between attempts to create it.
const SOCKET_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Error of opening the control socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon listens on it.
    #[error("another daemon has the control socket {}", .0.display())]
    InUse(PathBuf),
    /// A system call failed.
    #[error("cannot open the control socket {}: {error}", path.display())]
    System {
        /// Path of the socket.
        path: PathBuf,
        error: io::Error,
    },
    /// Other users could replace the socket.
    #[error(
        "the directory {} {why}: the control socket must be in a directory that only this user can write to, see daemon.socket",
        path.display()
    )]
    Shared {
        /// The directory.
        path: PathBuf,
        /// Problem of the directory.
        why: String,
    },
}

/// An open control socket. Dropping it removes the file.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of our file; another daemon may replace it.
    file: Option<(u64, u64)>,
    /// Time limit for a client to send a request or to read a response.
    idle_timeout: Duration,
}

/// Serves the control socket until dropped, starting with the result of the first attempt to open it. If the socket cannot
/// be opened, for lack of space or permission, this is logged once and tried again. A removed file is created again.
pub async fn keep_open(path: PathBuf, first: Result<Server, BindError>, dispatcher: Dispatcher) {
    let mut next = Some(first);
    // Whether the socket is closed, and whether the reason was logged.
    let (mut closed, mut warned) = (false, false);
    loop {
        let opened = match next.take() {
            Some(first) => first,
            None => Server::bind(&path).await,
        };
        match opened {
            Ok(server) => {
                if closed {
                    info!("the control socket is open again");
                }
                server.serve(dispatcher.clone()).await;
                info!("the control socket {} was removed", path.display());
                (closed, warned) = (true, false);
                continue;
            }
            Err(error) if !warned => {
                warn!(
                    "the commands of the operator will not reach this daemon until the control socket is open: {error}"
                );
                (closed, warned) = (true, true);
            }
            Err(error) => debug!("still no control socket: {error}"),
        }
        tokio::time::sleep(SOCKET_CHECK_INTERVAL).await;
    }
}

impl Server {
    /// Opens the socket for this user. The socket file of a crashed daemon is replaced.
    ///
    /// # Errors
    /// If another daemon listens on it, other users can write to its directory, or the file cannot be created.
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
            // A daemon that is too busy to accept is running as well.
            _ => return Err(BindError::InUse(path.to_owned())),
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(system)?,
            Ok(_) => {
                let why = "a file that is not a socket has this name";
                return Err(system(io::Error::new(io::ErrorKind::AlreadyExists, why)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(system(error)),
        }
        let socket = UnixSocket::new_stream().map_err(system)?;
        socket.bind(path).map_err(system)?;
        // Clients cannot connect before it listens, so the mode is set in time.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(system)?;
        let listener = socket.listen(LISTEN_BACKLOG).map_err(system)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: file_identity(path),
            idle_timeout: IDLE_TIMEOUT,
        })
    }

    /// Serves clients until the file is removed or replaced.
    async fn serve(self, dispatcher: Dispatcher) {
        let mut tasks = JoinSet::new();
        let mut clients = Clients::default();
        let mut check = interval_at(
            Instant::now() + SOCKET_CHECK_INTERVAL,
            SOCKET_CHECK_INTERVAL,
        );
        loop {
            tokio::select! {
                _ = check.tick() => if file_identity(&self.path) != self.file { return },
                accepted = self.listener.accept(), if clients.has_room() => match accepted {
                    Ok((client, _)) => {
                        clients.make_room();
                        let is_busy = Arc::new(AtomicBool::new(false));
                        let serving = serve_client(
                            client,
                            dispatcher.clone(),
                            self.idle_timeout,
                            Arc::clone(&is_busy),
                        );
                        clients.0.push_back((tasks.spawn(serving), is_busy));
                    }
                    Err(error) => {
                        debug!("cannot accept a client of the control socket: {error}");
                        tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    }
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.file.is_some() && file_identity(&self.path) == self.file {
            // It may have been removed already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Device and inode of a file.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Connected clients, the longest connected first: their tasks, and whether they wait for a response.
#[derive(Default)]
struct Clients(VecDeque<(AbortHandle, Arc<AtomicBool>)>);

impl Clients {
    /// Returns whether there is room for another client, or would be without an idle one.
    fn has_room(&mut self) -> bool {
        self.0.retain(|(task, _)| !task.is_finished());
        self.0.len() < MAX_CLIENTS || self.idle().is_some()
    }

    /// Disconnects an idle client if there are too many.
    fn make_room(&mut self) {
        if self.0.len() >= MAX_CLIENTS
            && let Some((task, _)) = self.idle().and_then(|at| self.0.remove(at))
        {
            task.abort();
        }
    }

    fn idle(&self) -> Option<usize> {
        let mut clients = self.0.iter();
        clients.position(|(_, is_busy)| !is_busy.load(Ordering::Relaxed))
    }
}

async fn serve_client(
    mut client: UnixStream,
    dispatcher: Dispatcher,
    idle_timeout: Duration,
    is_busy: Arc<AtomicBool>,
) {
    let (reader, mut writer) = client.split();
    let mut reader = BufReader::new(reader.take(MAX_REQUEST_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.get_mut().set_limit(MAX_REQUEST_BYTES);
        let read = timeout(idle_timeout, reader.read_until(b'\n', &mut line)).await;
        // The connection was closed, or the client is idle.
        if !matches!(read, Ok(Ok(1..))) {
            return;
        }
        is_busy.store(true, Ordering::Relaxed);
        let is_complete = line.ends_with(b"\n");
        let response = match std::str::from_utf8(&line) {
            _ if !is_complete => Response::Error(format!(
                "the request has no end of line, or is longer than {MAX_REQUEST_BYTES} bytes; write one line of JSON"
            )),
            Ok(line) => match Request::parse_addressed(line) {
                Ok((account, request)) => dispatcher.dispatch(account.as_deref(), request).await,
                Err(why) => Response::Error(why),
            },
            Err(error) => Response::Error(format!("the request is not UTF-8: {error}")),
        };
        let mut text = serde_json::to_string(&response).expect("plain data with string keys");
        text.push('\n');
        let written = timeout(idle_timeout, writer.write_all(text.as_bytes())).await;
        if !matches!(written, Ok(Ok(()))) || !is_complete {
            return;
        }
        is_busy.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot;
    use crate::metrics::Metrics;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[tokio::test]
    async fn bind_in_shared_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        for open in [0o1777, 0o770, 0o702] {
            set_mode(home.path(), open);
            let error = Server::bind(&path).await.unwrap_err().to_string();
            assert!(error.contains("can be written to by others"), "{error}");
            assert!(!path.exists());
        }
        set_mode(home.path(), 0o755);
        let server = Server::bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        drop(server);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn bind_creates_missing_directories_with_mode_0700() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("some/where/control.sock");
        let _server = Server::bind(&path).await.unwrap();
        let directory = fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(directory.mode() & 0o777, 0o700);
    }

    #[tokio::test]
    async fn idle_clients_are_disconnected() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let mut server = Server::bind(&path).await.unwrap();
        server.idle_timeout = Duration::from_millis(200);
        let (commands, _receiver) = bot::command_channel(bot::shutdown_channel().0);
        tokio::spawn(server.serve((Metrics::default(), commands).into()));
        let mut idle = Vec::new();
        for _ in 0..MAX_CLIENTS + 4 {
            idle.push(UnixStream::connect(&path).await.unwrap());
        }
        assert_response(&path).await;
    }

    #[tokio::test]
    async fn idle_clients_lock_out_no_others() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let server = Server::bind(&path).await.unwrap();
        let (commands, _receiver) = bot::command_channel(bot::shutdown_channel().0);
        tokio::spawn(server.serve((Metrics::default(), commands).into()));
        let mut idle = Vec::new();
        for _ in 0..2 * LISTEN_BACKLOG {
            idle.push(UnixStream::connect(&path).await.unwrap());
            tokio::task::yield_now().await;
        }
        let before = Instant::now();
        assert_response(&path).await;
        assert!(before.elapsed() < IDLE_TIMEOUT);
    }

    #[tokio::test]
    async fn unreadable_request_gets_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let server = Server::bind(&path).await.unwrap();
        let (commands, _receiver) = bot::command_channel(bot::shutdown_channel().0);
        tokio::spawn(server.serve((Metrics::default(), commands).into()));
        let long = vec![b' '; MAX_REQUEST_BYTES as usize];
        for (request, why) in [
            (
                b"{\"command\":\"block\",\"user\":\"\xe9\"}\n".to_vec(),
                "is not UTF-8",
            ),
            (long, "no end of line"),
        ] {
            let mut client = UnixStream::connect(&path).await.unwrap();
            client.write_all(&request).await.unwrap();
            let mut response = String::new();
            let mut reader = BufReader::new(client);
            reader.read_line(&mut response).await.unwrap();
            let response: Response = serde_json::from_str(&response).unwrap();
            assert!(
                matches!(&response, Response::Error(text) if text.contains(why)),
                "{response:?}"
            );
        }
    }

    async fn assert_response(path: &Path) {
        let mut client = UnixStream::connect(path).await.unwrap();
        client
            .write_all(b"{\"command\":\"status\"}\n")
            .await
            .unwrap();
        let mut response = String::new();
        let read = BufReader::new(client).read_line(&mut response).await;
        assert!(
            read.unwrap() > 0 && response.contains("version"),
            "{response}"
        );
    }
}
