//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file next to its place, then puts it there: no reader ever sees half of it, whenever the process is killed.
///
/// # Errors
/// When the system does not let us; then what was there is as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let mut aside = name.to_owned();
    aside.push(format!(".{}.new", std::process::id()));
    let aside = path.with_file_name(aside);
    let written = || {
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    written().inspect_err(|_| {
        // Nothing to add to the error that is reported.
        let _ = fs::remove_file(&aside);
    })
}

#[cfg(test)]
mod tests {
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
}
