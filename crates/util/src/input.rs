//! Reading of files named by the operator, with a size limit.
//!
//! Only regular files are opened: opening a FIFO would wait for a writer, and a device such as `/dev/zero` is endless.

use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::credentials;

/// Opens a file for reading.
///
/// # Errors
/// When the file cannot be opened or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path).map_err(|error| credentials::explain(path, error))?;
    let kind = metadata.file_type();
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

/// Reads a file of at most `max_bytes` bytes.
///
/// # Errors
/// When the file cannot be read or is larger.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    // The reported file length is not reliable, for example below /proc.
    let length = file
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)? as u64;
    if length > max_bytes {
        let limit = size(max_bytes);
        let why = format!("the file is larger than {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a UTF-8 text file of at most `max_bytes` bytes.
///
/// # Errors
/// As [`read`], and when the file is not UTF-8.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut text = String::from_utf8(read(path, max_bytes)?).map_err(|_| {
        let why = "it is not a text in UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Skips the rest of a line.
///
/// # Errors
/// When the text cannot be read.
pub fn skip_line(text: &mut (impl BufRead + ?Sized)) -> io::Result<()> {
    loop {
        let chunk = text.fill_buf()?;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let length = end.map_or(chunk.len(), |end| end + 1);
        text.consume(length);
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

/// A number of bytes in the largest unit that divides it.
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
    use std::io::BufReader;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn rest_of_a_line_is_skipped() {
        // A buffer that is smaller than the line.
        let mut text = BufReader::with_capacity(3, &b"a long line\nnext"[..]);
        skip_line(&mut text).expect("read");
        let mut rest = String::new();
        text.read_to_string(&mut rest).expect("read");
        assert_eq!(rest, "next");
        skip_line(&mut text).expect("the end");
    }

    #[test]
    fn special_files_are_rejected() {
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
    fn size_limit_is_enforced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        fs::write(&path, [b'x'; 2048]).expect("written");
        assert_eq!(read(&path, 2048).expect("read").len(), 2048);
        for (max_bytes, size) in [(1024, "1 KiB"), (2047, "2047 bytes"), (0, "0 bytes")] {
            let error = read(&path, max_bytes).expect_err(size).to_string();
            assert_eq!(error, format!("the file is larger than {size}"));
        }
        // Sparse files take no disk space, but would fill the memory.
        let sparse = File::create(folder.path().join("sparse")).expect("made");
        sparse.set_len(1 << 40).expect("long");
        let error = read(&folder.path().join("sparse"), 3 << 20).expect_err("too long");
        assert_eq!(error.to_string(), "the file is larger than 3 MiB");
        fs::write(&path, "\u{feff}text\n").expect("written");
        assert_eq!(read_text(&path, 10).expect("text"), "text\n");
        fs::write(&path, b"\xff").expect("written");
        let error = read_text(&path, 10).expect_err("no text");
        assert_eq!(error.to_string(), "it is not a text in UTF-8");
    }
}
