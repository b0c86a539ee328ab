//! Keys of the page: their sources, and the comparison with what a request presents.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;
use tracing::warn;

use crate::input;

/// Length of a generated key in hexadecimal digits.
const KEY_DIGITS: usize = 32;

/// Lower limit of a chosen key, in characters.
const MIN_KEY_CHARS: usize = 16;

/// Upper limit of a chosen key, in characters.
const MAX_KEY_CHARS: usize = 256;

/// Upper limit of a key file, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 4 * 1024;

/// Source of a key that the operator has chosen.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file with the key and nothing else.
    File(PathBuf),
    /// The value of the named environment variable.
    Variable(&'static str, String),
}

/// Reasons why a key cannot be used. Never quotes the key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("the key file {path} cannot be read: {why}", path = .0.display(), why = .1)]
    Unreadable(PathBuf, io::Error),
    /// The file does not hold a key.
    #[error("the key file {path} {why}", path = .0.display(), why = .1)]
    InFile(PathBuf, KeyFault),
    /// The variable does not hold a key.
    #[error("the environment variable {0} {1}")]
    InVariable(&'static str, KeyFault),
    /// Two keys are the same.
    #[error(
        "the key to {0} is also the key to {1}: choose another, or those who have the one to {1} can {0}"
    )]
    Same(&'static str, &'static str),
    /// The system has no randomness.
    #[error(transparent)]
    Random(#[from] io::Error),
}

/// Reasons why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// Nothing but white space.
    #[error("is empty")]
    Empty,
    /// Too short to be safe, or too long for a header.
    #[error(
        "must hold one key of {MIN_KEY_CHARS} to {MAX_KEY_CHARS} characters; `openssl rand -hex 16` makes one"
    )]
    Length,
    /// White space or characters beyond ASCII.
    #[error(
        "holds characters that a key cannot have: white space, control characters, or beyond ASCII"
    )]
    Characters,
}

impl KeySource {
    /// Reads the key.
    fn read(&self) -> Result<Key, KeyError> {
        match self {
            Self::Variable(name, text) => {
                Key::chosen(text).map_err(|fault| KeyError::InVariable(name, fault))
            }
            Self::File(path) => {
                let unreadable = |error| KeyError::Unreadable(path.clone(), error);
                let file = input::open(path).map_err(unreadable)?;
                let mut text = Vec::new();
                file.take(MAX_KEY_FILE_BYTES)
                    .read_to_end(&mut text)
                    .map_err(unreadable)?;
                let text = String::from_utf8_lossy(&text);
                Key::chosen(&text).map_err(|fault| KeyError::InFile(path.clone(), fault))
            }
        }
    }
}

/// Does not show the key.
impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Variable(name, _) => write!(f, "Variable({name})"),
        }
    }
}

/// Sources of the keys of the page.
#[derive(Clone, Debug, Default)]
pub struct KeySources {
    /// The key to operate, chosen by the operator.
    pub operate: Option<KeySource>,
    /// File for a generated key to operate, if none is chosen. Without a file it is new at each start.
    pub generated: Option<PathBuf>,
    /// The key to watch.
    pub watch: Option<KeySource>,
    /// The key to read `/metrics`.
    pub metrics: Option<KeySource>,
}

impl KeySources {
    /// Reads the chosen keys, and generates one to operate if there is none. It is not kept.
    pub(in crate::web) fn load_chosen(&self) -> Result<Keys, KeyError> {
        Keys::load(&Self {
            generated: None,
            ..self.clone()
        })
    }
}

/// Keys of the page.
#[derive(Clone, Debug)]
pub(in crate::web) struct Keys {
    /// Permits everything.
    pub operate: Key,
    /// The operator has chosen a key to operate or to watch, so requests from outside are answered.
    pub answers_remote: bool,
    /// Permits to read everything.
    pub watch: Option<Key>,
    /// Permits to read `/metrics`.
    pub metrics: Option<Key>,
}

impl Keys {
    /// Reads the keys.
    ///
    /// # Errors
    /// When a chosen key cannot be read or used, or the system has no randomness.
    pub(in crate::web) fn load(sources: &KeySources) -> Result<Self, KeyError> {
        let read = |source: &Option<KeySource>| source.as_ref().map(KeySource::read).transpose();
        let (chosen, watch, metrics) = (
            read(&sources.operate)?,
            read(&sources.watch)?,
            read(&sources.metrics)?,
        );
        let keys = Self {
            answers_remote: chosen.is_some() || watch.is_some(),
            operate: match chosen {
                Some(key) => key,
                None => Key::load_or_create(sources.generated.as_deref())?,
            },
            watch,
            metrics,
        };
        let operate = (Some(&keys.operate), "operate the bot");
        let watch = (keys.watch.as_ref(), "watch");
        let metrics = (keys.metrics.as_ref(), "read the metrics");
        for [one, other] in [[operate, watch], [operate, metrics], [watch, metrics]] {
            let both = one.0.zip(other.0);
            if both.is_some_and(|(key, other)| key.is(other.0.as_bytes())) {
                return Err(KeyError::Same(one.1, other.1));
            }
        }
        Ok(keys)
    }
}

/// A secret that permits something. Never shown by `Debug`.
#[derive(Clone)]
pub(in crate::web) struct Key(Arc<str>);

impl Key {
    /// A random key.
    ///
    /// # Errors
    /// If the system has no randomness.
    fn new() -> io::Result<Self> {
        let mut bytes = [0; KEY_DIGITS / 2];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(text.into()))
    }

    /// Reads the key from this file, or creates the file with a new key. The key is also new without a file, or if the
    /// file cannot be used.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn load_or_create(file: Option<&Path>) -> io::Result<Self> {
        let Some(file) = file else { return Self::new() };
        if let Some(key) = Self::read(file) {
            return Ok(key);
        }
        let key = Self::new()?;
        if let Err(error) = key.write(file) {
            let file = file.display();
            warn!(
                "the page gets a new key at each start: the key cannot be stored in {file}: {error}"
            );
        }
        Ok(key)
    }

    /// Reads the key from this file, unless other users can read the file.
    fn read(path: &Path) -> Option<Self> {
        let file = input::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if metadata.permissions().mode() & 0o077 != 0 {
            let path = path.display();
            warn!("other users could read the page's key in {path}: the page gets a new key");
            return None;
        }
        let mut text = String::new();
        let max_bytes = KEY_DIGITS as u64 + 2;
        file.take(max_bytes).read_to_string(&mut text).ok()?;
        let text = text.trim_end();
        let is_key = text.len() == KEY_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
        is_key.then(|| Self(text.into()))
    }

    /// Writes the key to a new file with mode 0600.
    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(format!("{self}\n").as_bytes())?;
        file.sync_all()
    }

    /// Checks a key that the operator has chosen, without white space around it.
    ///
    /// # Errors
    /// When it is too short, too long, or has characters that cannot be in a header. Never quotes the text.
    fn chosen(text: &str) -> Result<Self, KeyFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyFault::Empty);
        }
        if text.len() < MIN_KEY_CHARS || text.len() > MAX_KEY_CHARS {
            return Err(KeyFault::Length);
        }
        match text.bytes().all(|b| b.is_ascii_graphic()) {
            true => Ok(Self(text.into())),
            false => Err(KeyFault::Characters),
        }
    }

    /// Returns whether this is the key, compared in constant time.
    pub(super) fn is(&self, presented: &[u8]) -> bool {
        presented.ct_eq(self.0.as_bytes()).into()
    }
}

/// As in URLs.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Does not show the key, so that it cannot get into a log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(key: &Key, text: &str) -> bool {
        key.is(text.as_bytes())
    }

    #[test]
    fn stored_key_is_valid_after_restart() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("state/page-key");
        let first = Key::load_or_create(Some(&file)).expect("a key");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().expect("a directory")), 0o700);
        let second = Key::load_or_create(Some(&file)).expect("a key");
        assert!(is(&second, &first.to_string()));
        assert!(!is(&second, ""));
        // Without a file the key is new at each start.
        let [one, other] = [(), ()].map(|()| Key::load_or_create(None).expect("a key"));
        assert!(!is(&one, &other.to_string()));
    }

    #[test]
    fn untrusted_key_file_is_replaced() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("page-key");
        let before = Key::load_or_create(Some(&file)).expect("a key").to_string();
        let replaced = || {
            let key = Key::load_or_create(Some(&file)).expect("a key").to_string();
            assert_eq!(key.len(), KEY_DIGITS);
            assert_eq!(fs::read_to_string(&file).expect("read"), format!("{key}\n"));
            assert_eq!(
                fs::metadata(&file).expect("there").permissions().mode() & 0o777,
                0o600
            );
            key
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changed");
        assert_ne!(replaced(), before);
        for text in [
            "",
            "short",
            &format!("{before}{before}"),
            &"x".repeat(KEY_DIGITS),
        ] {
            fs::write(&file, text).expect("written");
            assert_ne!(replaced(), before);
        }
        fs::write(&file, [0xff; KEY_DIGITS]).expect("written");
        replaced();
        // A key that cannot be stored is valid as well.
        let taken = home.path().join("taken");
        fs::create_dir(&taken).expect("made");
        assert_eq!(
            Key::load_or_create(Some(&taken))
                .expect("a key")
                .to_string()
                .len(),
            KEY_DIGITS
        );
    }

    #[test]
    fn chosen_keys_are_checked() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("key");
        let load = |text: &[u8]| {
            fs::write(&file, text).expect("written");
            Keys::load(&KeySources {
                operate: Some(KeySource::File(file.clone())),
                ..KeySources::default()
            })
        };
        let keys = load(b"0123456789abcdef\n").expect("a key");
        assert!(keys.answers_remote && is(&keys.operate, "0123456789abcdef"));
        for (text, fault) in [
            (&b""[..], KeyFault::Empty),
            (b" \n", KeyFault::Empty),
            (b"short", KeyFault::Length),
            (&[b'x'; 5000], KeyFault::Length),
            (b"0123456789 abcdef", KeyFault::Characters),
            (&[0xff; 20], KeyFault::Characters),
        ] {
            let error = load(text).expect_err("not a key");
            assert!(
                matches!(error, KeyError::InFile(_, it) if it == fault),
                "{error}"
            );
        }
        let both = |key: &str| Some(KeySource::Variable("KEY", key.to_owned()));
        let load = |operate, watch, metrics| {
            Keys::load(&KeySources {
                operate,
                watch,
                metrics,
                generated: None,
            })
        };
        let [one, other] = ["0123456789abcdef", "fedcba9876543210"];
        let same = load(both(one), both(one), None);
        assert!(matches!(
            same,
            Err(KeyError::Same("operate the bot", "watch"))
        ));
        let same = load(both(one), both(other), both(other));
        assert!(matches!(
            same,
            Err(KeyError::Same("watch", "read the metrics"))
        ));
        assert!(load(both(one), both(other), None).is_ok());
    }

    #[test]
    fn new_keys_differ_and_match_only_themselves() {
        let (key, other) = (Key::new().expect("a key"), Key::new().expect("a key"));
        assert_ne!(key.to_string(), other.to_string());
        assert_eq!(key.to_string().len(), 32);
        assert!(!format!("{key:?}").contains(&key.to_string()));
        assert!(is(&key, &key.to_string()));
        assert!(!is(&key, &other.to_string()) && !is(&key, ""));
    }
}
