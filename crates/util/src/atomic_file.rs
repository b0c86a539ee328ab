//! Atomic file writes.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// The name of a temporary file is that of the file, this many random characters, and the suffix.
const RANDOM_CHARS: usize = 6;
const TEMPORARY_SUFFIX: &str = ".new";

/// Writes a file atomically: to a temporary file in the same directory, then renamed.
///
/// # Errors
///
/// If the file cannot be written; an existing file is then unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Removes the temporary files that killed processes have left of this file. No other process may be writing it.
///
/// # Errors
///
/// If the directory cannot be read, or a file in it cannot be removed.
pub fn remove_leftovers(path: &Path) -> io::Result<()> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let is_leftover = |file: &OsStr| {
        let rest = file.as_bytes().strip_prefix(name.as_bytes());
        let random = rest.and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX.as_bytes()));
        random.is_some_and(|random| random.len() == RANDOM_CHARS)
    };
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_leftover(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Checks that an output file is none of the inputs, under whatever name.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidInput`] if it is.
pub fn check_not_input(output: &Path, inputs: &[&Path]) -> io::Result<()> {
    // Files that cannot be examined are reported when they are read or written.
    let id = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let output = id(output);
    if output.is_some() && inputs.iter().any(|input| id(input) == output) {
        let text = "it is also the input; write to another file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

/// Checks, before long work, that the directory of an output file exists.
///
/// # Errors
///
/// [`io::ErrorKind::NotADirectory`] if it does not.
pub fn check_directory(output: &Path) -> io::Result<()> {
    let directory = output.parent().filter(|path| !path.as_os_str().is_empty());
    if directory.is_none_or(Path::is_dir) {
        return Ok(());
    }
    let text = "its directory does not exist";
    Err(io::Error::new(io::ErrorKind::NotADirectory, text))
}

/// Like [`write()`], with mode 0600 whatever mode the file had.
///
/// # Errors
///
/// As for [`write()`].
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with_mode(path, Some(0o600), |file| file.write_all(bytes))
}

/// Like [`write()`], with the content that `content` writes. Symbolic links are followed and an existing file keeps its
/// mode; pipes and devices are written to directly.
///
/// # Errors
///
/// If the file cannot be written or `content` fails; an existing file is then unchanged.
pub fn write_with<T, E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    write_with_mode(path, None, content)
}

/// Like [`write_with`], with a mode.
fn write_with_mode<T, E: From<io::Error>>(
    path: &Path,
    mode: Option<u32>,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let existing = fs::metadata(path).ok();
    if existing
        .as_ref()
        .is_some_and(|existing| !existing.is_file() && !existing.is_dir())
    {
        let mut special_file = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        let result = content(&mut special_file)?;
        special_file.flush()?;
        return Ok(result);
    }
    let path = follow_links(path)?;
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    options.mode(mode.unwrap_or(0o666));
    let directory = path.parent().unwrap_or(Path::new(""));
    let (file, temporary) = Builder::new()
        .prefix(name)
        .rand_bytes(RANDOM_CHARS)
        .suffix(TEMPORARY_SUFFIX)
        .make_in(directory, |temporary| options.open(temporary))?
        .into_parts();
    if let Some(existing) = existing.filter(|_| mode.is_none()) {
        file.set_permissions(existing.permissions())?;
    }
    let mut file = BufWriter::new(file);
    let result = content(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    Ok(result)
}

/// Maximum number of links that are followed to a file that does not exist, as in Linux.
const MAX_LINKS: usize = 40;

/// The path behind symbolic links, also if there is no file yet.
///
/// # Errors
///
/// If the links form a loop.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn write_replaces_whole_file_or_nothing() {
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
    fn leftovers_of_the_file_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = [
            "a.json",
            "a.jsonXyZ123.new",
            "a.jsonold.new",
            "b.jsonXyZ123.new",
        ];
        for name in names {
            fs::write(folder.path().join(name), "text").expect("written");
        }
        remove_leftovers(&folder.path().join("a.json")).expect("removed");
        let is_there = names.map(|name| folder.path().join(name).exists());
        assert_eq!(is_there, [true, false, true, true]);
        assert!(remove_leftovers(&folder.path().join("none/a.json")).is_err());
    }

    #[test]
    fn write_follows_link_and_keeps_mode() {
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
        fs::remove_file(&file).expect("removed");
        write(&link, b"again").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("read"), "again");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        symlink("loop", folder.path().join("loop")).expect("linked");
        assert!(write(&folder.path().join("loop"), b"in vain").is_err());
    }

    #[test]
    fn write_private_sets_mode_0600() {
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
    fn write_to_device_keeps_it() {
        write(Path::new("/dev/null"), b"nothing").expect("written");
        let null = fs::symlink_metadata("/dev/null").expect("there");
        assert!(null.file_type().is_char_device());
        assert!(write(Path::new("/dev/full"), b"something").is_err());
    }

    #[test]
    fn write_with_failing_content_keeps_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write(&path, b"before").expect("written");
        let failed = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).expect("read"), "before");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn input_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let [input, link, other] = ["input", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&input, "games").unwrap();
        std::os::unix::fs::symlink(&input, &link).unwrap();
        for output in [&input, &link] {
            assert!(check_not_input(output, &[&other, &input]).is_err());
        }
        assert!(check_not_input(&other, &[&input]).is_ok());
    }
}
