//! The daemon's side of the socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};
use tracing::{debug, info, warn};

use super::{Answer, Request};
use crate::metrics::Metrics;

/// The longest request, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Clients at once; more than that are a mistake.
const CLIENTS: usize = 16;

/// After a failure to accept a client, mostly for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// How often to see whether the socket's file is still there, and to try again where it cannot be made: sooner than
/// anybody gives up asking.
const LOOK_EVERY: Duration = Duration::from_secs(5);

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
}

/// A socket that is open. Dropping it removes the file.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// Which file is ours: another daemon may have put its own there since.
    file: Option<(u64, u64)>,
}

/// Keeps the socket open for as long as this is not dropped, beginning with what came of opening it. Where it cannot be
/// made, for want of space or of the permission, that is said once and tried again; a file that somebody has removed is
/// made anew.
pub async fn keep(path: PathBuf, first: Result<Server, BindError>, metrics: Metrics) {
    let mut next = Some(first);
    let mut missed = false;
    loop {
        match next.take().unwrap_or_else(|| Server::bind(&path)) {
            Ok(server) => {
                if std::mem::take(&mut missed) {
                    info!("knightwatch status reaches this daemon again");
                }
                server.serve(metrics.clone()).await;
                missed = true;
                info!("the control socket {} is gone", path.display());
                continue;
            }
            Err(error) if !missed => {
                warn!("knightwatch status will not reach this daemon for now: {error}");
                missed = true;
            }
            Err(error) => debug!("still no control socket: {error}"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl Server {
    /// Opens the socket, which only this user can use. What a daemon that has crashed left there is replaced.
    ///
    /// # Errors
    /// When another daemon listens there, and when the file cannot be made.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let system = |error| BindError::System {
            path: path.to_owned(),
            error,
        };
        if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(system)?;
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(BindError::InUse(path.to_owned()));
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
        let listener = UnixListener::bind(path).map_err(system)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(system)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: identity(path),
        })
    }

    /// Answers until the file is no longer there.
    async fn serve(self, metrics: Metrics) {
        let mut clients = JoinSet::new();
        let mut look = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        loop {
            tokio::select! {
                _ = look.tick() => if identity(&self.path) != self.file { return },
                accepted = self.listener.accept(), if clients.len() < CLIENTS => match accepted {
                    Ok((client, _)) => {
                        clients.spawn(converse(client, metrics.clone()));
                    }
                    Err(error) => {
                        debug!("cannot accept a client of the control socket: {error}");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(_) = clients.join_next() => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.file.is_some() && identity(&self.path) == self.file {
            // Gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What tells a file from another one at the same place.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let there = fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

async fn converse(mut client: UnixStream, metrics: Metrics) {
    let (reader, mut writer) = client.split();
    let mut reader = BufReader::new(reader.take(LONGEST));
    let mut line = String::new();
    loop {
        line.clear();
        reader.get_mut().set_limit(LONGEST);
        // At the end of the connection, or when the line is longer than any request.
        if !matches!(reader.read_line(&mut line).await, Ok(1..)) || !line.ends_with('\n') {
            return;
        }
        let answer = match Request::read(&line) {
            Ok(Request::Status) => Answer::Status(Box::new(metrics.status())),
            Err(why) => Answer::Error(why),
        };
        let mut text = serde_json::to_string(&answer).expect("plain data with string keys");
        text.push('\n');
        if writer.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}
