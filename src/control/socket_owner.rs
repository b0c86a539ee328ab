//! Ownership checks of a control socket: of its directory, and of the process that listens.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Candidate, directory_of, effective_uid};

/// Why other users could replace a file in this directory, if they could. `directory` may be a symbolic link of root, as
/// systemd creates them for runtime directories.
pub(super) fn directory_problem(
    directory: &Path,
    is_trusted: impl Fn(u32) -> bool,
) -> io::Result<Option<String>> {
    let (link, target) = (fs::symlink_metadata(directory)?, fs::metadata(directory)?);
    let mode = target.mode() & 0o7777;
    let owner = target.uid();
    Ok(
        if !is_trusted(owner) || ![0, owner].contains(&link.uid()) && !is_trusted(link.uid()) {
            Some("belongs to another user".to_owned())
        } else if mode & 0o022 != 0 {
            Some(format!("can be written to by others (mode {mode:04o})"))
        } else {
            None
        },
    )
}

/// Why the process that listens must not be sent a request, if it may belong to another user.
pub(super) fn untrusted_peer(
    stream: &UnixStream,
    candidate: &Candidate,
) -> io::Result<Option<String>> {
    let us = effective_uid();
    let directory = directory_of(&candidate.path);
    let owner = fs::metadata(directory)?.uid();
    // Root may use the daemon of any user if the operator has named its socket.
    let is_trusted =
        |other| [0, us].contains(&other) || us == 0 && candidate.is_explicit && other == owner;
    if let Some(why) = directory_problem(directory, is_trusted)? {
        return Ok(Some(format!("the directory {} {why}", directory.display())));
    }
    let listener = listener_uid(stream, &candidate.path)?;
    Ok((!is_trusted(listener))
        .then(|| format!("the process that listens there belongs to another user ({listener})")))
}

/// User id of the process that listens.
#[cfg(target_os = "linux")]
fn listener_uid(stream: &UnixStream, _: &Path) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.as_raw())
}

/// Owner of the socket's file.
#[cfg(not(target_os = "linux"))]
fn listener_uid(_: &UnixStream, path: &Path) -> io::Result<u32> {
    Ok(fs::symlink_metadata(path)?.uid())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn directory_of_another_user_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("control.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let stream = UnixStream::connect(&path).unwrap();
        let problem = |is_explicit| {
            let path = path.clone();
            untrusted_peer(&stream, &Candidate { path, is_explicit }).unwrap()
        };
        for is_explicit in [false, true] {
            assert_eq!(problem(is_explicit), None);
        }
        let us = effective_uid();
        let foreign = |other| other != us;
        let why = directory_problem(home.path(), foreign).unwrap();
        assert_eq!(why.as_deref(), Some("belongs to another user"));
        if us != 0 {
            return;
        }
        std::os::unix::fs::chown(home.path(), Some(1), None).unwrap();
        for is_explicit in [false, true] {
            // Root may use an explicit path; the listener is its own.
            let expected = (!is_explicit).then(|| {
                format!(
                    "the directory {} belongs to another user",
                    home.path().display()
                )
            });
            assert_eq!(problem(is_explicit), expected);
        }
    }
}
