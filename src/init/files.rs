//! Atomic writing of several files: all or none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A file to write.
pub(super) struct NewFile {
    pub path: PathBuf,
    pub text: Vec<u8>,
    /// Its permissions, set at creation.
    pub mode: u32,
}

/// Backup name of a replaced file: the first unused one of `FILE.old`, `FILE.old.2`, ...
pub(super) fn backup_path(file: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(match number {
            1 => ".old".to_owned(),
            number => format!(".old.{number}"),
        });
        PathBuf::from(name)
    };
    (1..)
        .map(named)
        .find(|path| path.symlink_metadata().is_err())
        .expect("there are fewer files than numbers")
}

/// Tests whether a file can be written, without changing it.
///
/// # Errors
/// When it cannot be written.
pub(super) fn test_write(path: &Path) -> anyhow::Result<()> {
    let tried = || -> anyhow::Result<()> {
        // Symbolic links are followed, as when the file is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.is_dir() {
            bail!("it is a directory");
        }
        let directories = path.ancestors().skip(1);
        let mut there = directories.filter(|path| path.symlink_metadata().is_ok());
        let directory = there.next().unwrap_or(Path::new("."));
        if !directory.is_dir() {
            bail!("{} is not a directory", directory.display());
        }
        let trial = directory.join(format!(".knightwatch.{}.new", std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).open(&trial);
        made.and_then(|_| fs::remove_file(&trial))
            .with_context(|| format!("cannot write in {}", directory.display()))
    };
    tried().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes all files. Each is stored under a temporary name before the first one is renamed.
///
/// # Errors
/// When a file cannot be written; then none is changed.
pub(super) fn write_together(files: &[NewFile]) -> anyhow::Result<()> {
    let mut staged = Vec::new();
    for file in files {
        let one = Staged::new(file);
        staged.push(one.with_context(|| format!("cannot write {}", file.path.display()))?);
    }
    for (number, one) in staged.iter().enumerate() {
        if let Err(error) = one.commit() {
            for other in &staged[..number] {
                other.roll_back();
            }
            return Err(error).with_context(|| format!("cannot write {}", one.path.display()));
        }
    }
    Ok(())
}

/// A file under its temporary name. Dropping it removes temporary files.
struct Staged {
    path: PathBuf,
    /// The new content, in the same directory.
    new: PathBuf,
    /// A copy of the old content.
    old: Option<PathBuf>,
}

impl Staged {
    fn new(file: &NewFile) -> io::Result<Self> {
        if let Some(directory) = file.path.parent().filter(|path| *path != Path::new("")) {
            fs::create_dir_all(directory)?;
        }
        // Symbolic links are followed and kept.
        let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let next_to_it =
            |kind: &str| path.with_file_name(format!(".{name}.{}.{kind}", std::process::id()));
        let (new, old) = (next_to_it("new"), next_to_it("old"));
        let mut staged = Self {
            path: path.clone(),
            new,
            old: None,
        };
        let mut written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(file.mode)
            .open(&staged.new)?;
        written.set_permissions(fs::Permissions::from_mode(file.mode))?;
        written.write_all(&file.text)?;
        written.sync_all()?;
        if path.exists() {
            staged.old = Some(old.clone());
            fs::copy(&path, &old)?;
        }
        Ok(staged)
    }

    fn commit(&self) -> io::Result<()> {
        fs::rename(&self.new, &self.path)
    }

    /// Undoes [`commit`](Self::commit), ignoring errors: the error that caused the rollback is reported.
    fn roll_back(&self) {
        let _ = match &self.old {
            Some(old) => fs::rename(old, &self.path),
            None => fs::remove_file(&self.path),
        };
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for temporary in self.old.iter().chain([&self.new]) {
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, text: &str) -> NewFile {
        NewFile {
            path: path.to_owned(),
            text: text.into(),
            mode: 0o600,
        }
    }

    #[test]
    fn backup_of_file_is_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("config.toml");
        for name in ["config.toml.old", "config.toml.old.2", "config.toml.old.3"] {
            let kept = backup_path(&config);
            assert_eq!(kept, home.path().join(name));
            fs::write(kept, name).unwrap();
        }
    }

    /// Names and contents of all files in a directory.
    fn content(directory: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
        let files = entries.filter(|entry| entry.path().is_file());
        let mut all: Vec<_> = files
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect();
        all.sort();
        all
    }

    fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        files.iter().map(owned).collect()
    }

    #[test]
    fn files_are_written_together_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let [old, fresh, folder] = ["old", "fresh", "folder"].map(|name| home.path().join(name));
        fs::write(&old, "was").unwrap();
        fs::create_dir(&folder).unwrap();

        let files = [file(&old, "is"), file(&fresh, "new"), file(&folder, "no")];
        let error = write_together(&files).unwrap_err();
        assert!(format!("{error:#}").contains("folder"), "{error:#}");
        assert_eq!(content(home.path()), named(&[("old", "was")]));

        // A later file cannot be renamed, although all could be written.
        let staged: Vec<_> = [&files[0], &files[1]]
            .map(|one| Staged::new(one).unwrap())
            .into();
        for one in &staged {
            one.commit().unwrap();
        }
        for one in &staged {
            one.roll_back();
        }
        drop(staged);
        assert_eq!(content(home.path()), named(&[("old", "was")]));

        write_together(&files[..2]).unwrap();
        assert_eq!(
            content(home.path()),
            named(&[("fresh", "new"), ("old", "is")])
        );
        let mode = fs::metadata(&old).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn symbolic_link_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| home.path().join(name));
        fs::write(&real, "was").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_together(&[file(&link, "is")]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "is");
    }
}
