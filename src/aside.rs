//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a file next to its place, then puts it there: no reader ever sees half of it, whenever the process is killed.
///
/// # Errors
/// When the system does not let us; then what was there is as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill(path, |file| file.write_all(bytes))
}

/// The same of a file that only this user can read, whatever mode it had.
///
/// # Errors
/// As of [`write`].
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill_with(path, Some(0o600), |file| file.write_all(bytes))
}

/// The same with what `make` writes. A link is followed, and a file that was there keeps its mode; what is no file (a pipe,
/// a device) is written to as it is.
///
/// # Errors
/// When the system does not let us, or `make` fails; then a file that was there is as it was.
pub fn fill<T, E: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    fill_with(path, None, make)
}

/// The same with this mode.
fn fill_with<T, E: From<io::Error>>(
    path: &Path,
    mode: Option<u32>,
    make: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let known = fs::metadata(path).ok();
    if known
        .as_ref()
        .is_some_and(|known| !known.is_file() && !known.is_dir())
    {
        let mut device = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        let made = make(&mut device)?;
        device.flush()?;
        return Ok(made);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    let mut aside = name.to_owned();
    aside.push(format!(".{}.new", std::process::id()));
    let aside = path.with_file_name(aside);
    let written = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = options.mode(mode.unwrap_or(0o666)).open(&aside)?;
        let permissions = match mode {
            Some(mode) => Some(Permissions::from_mode(mode)),
            None => known.map(|known| known.permissions()),
        };
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        let mut file = BufWriter::new(file);
        let made = make(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&aside, &path)?;
        Ok(made)
    };
    written().inspect_err(|_| {
        // Nothing to add to the error that is reported.
        let _ = fs::remove_file(&aside);
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_there_whole_or_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for text in ["a first text", "another"] {
            write(&path, text.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), text);
        }
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).expect("made");
        assert!(write(&taken, b"in vain").is_err());
        assert!(write(Path::new("/"), b"in vain").is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 2);
    }

    #[test]
    fn a_link_is_followed_and_a_mode_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "before").expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("private");
        symlink("file", &link).expect("linked");
        write(&link, b"after").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("read"), "after");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_private_file_is_for_us_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        for text in ["new", "known"] {
            write_private(&file, text.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&file).expect("read"), text);
            let mode = fs::metadata(&file).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{text}");
            fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("public");
        }
    }

    #[test]
    fn a_device_stays_one() {
        write(Path::new("/dev/null"), b"nothing").expect("written");
        let null = fs::symlink_metadata("/dev/null").expect("there");
        assert!(null.file_type().is_char_device());
        assert!(write(Path::new("/dev/full"), b"something").is_err());
    }

    #[test]
    fn what_cannot_be_made_leaves_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write(&path, b"before").expect("written");
        let failed = fill(&path, |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).expect("read"), "before");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}
