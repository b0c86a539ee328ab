//! Files that the operator names, read with a limit.
//!
//! Only regular files are opened: opening a FIFO waits for somebody who writes to it, and a device such as `/dev/zero` has
//! no end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a file to read from it.
///
/// # Errors
/// When the system does not let us, and when it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    let other = if kind.is_file() {
        return File::open(path);
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {other}, not a regular file"),
    ))
}

/// Reads a file of at most so many bytes.
///
/// # Errors
/// When it cannot be opened or read, and when it is longer than that.
pub fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    // What the system says of its length is not always true, as below /proc.
    let length = file
        .take(longest.saturating_add(1))
        .read_to_end(&mut bytes)? as u64;
    if length > longest {
        let most = size(longest);
        let why = format!("it is longer than {most}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// The same of a text in UTF-8.
///
/// # Errors
/// As of [`read`], and when it is not UTF-8.
pub fn read_text(path: &Path, longest: u64) -> io::Result<String> {
    String::from_utf8(read(path, longest)?).map_err(|_| {
        let why = "it is not a text in UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// A number of bytes in the largest unit in which it is a whole number.
fn size(bytes: u64) -> String {
    match bytes {
        0 => "0 bytes".to_owned(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_never_waited_for() {
        let folder = tempfile::tempdir().expect("a directory");
        let (fifo, socket) = (folder.path().join("fifo"), folder.path().join("socket"));
        let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        let _socket = UnixListener::bind(&socket).expect("a socket");
        for (path, what) in [
            (folder.path(), "a directory"),
            (&fifo, "a FIFO"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            let error = read(path, 10).expect_err(what).to_string();
            assert_eq!(error, format!("it is {what}, not a regular file"));
        }
    }

    #[test]
    fn no_more_is_read_than_is_allowed() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        fs::write(&path, [b'x'; 2048]).expect("written");
        assert_eq!(read(&path, 2048).expect("read").len(), 2048);
        for (longest, size) in [(1024, "1 KiB"), (2047, "2047 bytes"), (0, "0 bytes")] {
            let error = read(&path, longest).expect_err(size).to_string();
            assert_eq!(error, format!("it is longer than {size}"));
        }
        // Which takes no space on the disk, and would take all memory.
        let sparse = File::create(folder.path().join("sparse")).expect("made");
        sparse.set_len(1 << 40).expect("long");
        let error = read(&folder.path().join("sparse"), 3 << 20).expect_err("too long");
        assert_eq!(error.to_string(), "it is longer than 3 MiB");
        fs::write(&path, b"\xff").expect("written");
        let error = read_text(&path, 10).expect_err("no text");
        assert_eq!(error.to_string(), "it is not a text in UTF-8");
    }
}
