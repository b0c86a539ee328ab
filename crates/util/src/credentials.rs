//! Credentials that systemd passes to a service, and modes of secret files.

use std::io;
use std::path::{Path, PathBuf};

/// Environment variable that holds the directory of a systemd service's credentials: `%d` in paths.
pub const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// Returns whether a path still begins with `%d/`, because [`CREDENTIALS_VARIABLE`] is not set.
pub fn is_unresolved(path: &Path) -> bool {
    unresolved_name(path).is_some()
}

/// The rest of a path that still begins with `%d/`.
pub fn unresolved_name(path: &Path) -> Option<&Path> {
    let rest = path.strip_prefix("%d").ok()?;
    rest.components().next().map(|_| rest)
}

/// The mode of a file that others than its owner can read; `None` otherwise.
///
/// Credentials of systemd are exempt. Only the service can reach them; systemd grants it access by an ACL, whose mask looks
/// like group permissions.
pub fn readable_by_others(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let credentials = std::env::var_os(CREDENTIALS_VARIABLE).map(PathBuf::from);
        open_mode(path, credentials.as_deref())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(unix)]
fn open_mode(path: &Path, credentials: Option<&Path>) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let is_credential = |directory: &Path| directory.is_absolute() && path.starts_with(directory);
    if credentials.is_some_and(is_credential) {
        return None;
    }
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o044 != 0).then_some(mode)
}

/// The reason why a file cannot be opened, which is another one if its path is not resolved.
pub(crate) fn explain(path: &Path, error: io::Error) -> io::Error {
    if !is_unresolved(path) {
        return error;
    }
    let why = format!(
        "%d stands for the service's credentials directory, and {CREDENTIALS_VARIABLE} is not set; to run by hand, set it to the \
         directory of the file, such as /etc/knightwatch"
    );
    io::Error::new(io::ErrorKind::NotFound, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn token_file_readable_by_others_is_detected() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, open) in [
            (0o600, None),
            (0o640, Some(0o640)),
            (0o644, Some(0o644)),
            (0o400, None),
        ] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_mode(file.path(), None), open, "{mode:o}");
            // As systemd passes credentials to a service.
            let credentials = file.path().parent();
            assert_eq!(open_mode(file.path(), credentials), None, "{mode:o}");
            for elsewhere in ["", "/run/credentials/knightwatch.service"] {
                let found = open_mode(file.path(), Some(Path::new(elsewhere)));
                assert_eq!(found, open, "{mode:o}");
            }
        }
    }
}
