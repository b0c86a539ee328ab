//! The secret that says who we are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A Lichess access token. It shows itself to nobody: `Debug` prints `Token(…)`, there is no `Display`, and no error
/// of this module quotes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// What is wrong with a token. Never says what it read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token file {} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(
        "the token file {} cannot be read: %d is where systemd puts the service's credentials, and CREDENTIALS_DIRECTORY is not \
         set; by hand, set it to the directory of the file, such as /etc/knightwatch",
        .0.display()
    )]
    NoCredentials(PathBuf),
    #[error("the token file {} {why}", path.display())]
    InFile { path: PathBuf, why: TokenFault },
    #[error("the environment variable {name} {why}")]
    InEnvironment { name: String, why: TokenFault },
}

/// Why some text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    #[error("is empty")]
    Empty,
    #[error("holds more than one word; it must hold the token alone")]
    Words,
    #[error("holds characters that no token has")]
    Characters,
    #[error("is too long for a token (at most 512 characters)")]
    Long,
}

/// The longest token that is taken, in bytes. Lichess's have some 24 to 64.
const LONGEST: usize = 512;

impl FromStr for Token {
    type Err = TokenFault;

    /// White space around the token is dropped.
    fn from_str(text: &str) -> Result<Self, TokenFault> {
        let token = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if token.is_empty() {
            Err(TokenFault::Empty)
        } else if token.contains(char::is_whitespace) {
            Err(TokenFault::Words)
        } else if token.len() > LONGEST {
            Err(TokenFault::Long)
        } else if !token.bytes().all(|b| b.is_ascii_graphic()) {
            Err(TokenFault::Characters)
        } else {
            Ok(Self(token.into()))
        }
    }
}

impl Token {
    /// Reads the file that holds the token and nothing else.
    ///
    /// # Errors
    /// When the file cannot be read, or what it holds is not a token; the message names the file and not its content.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |why: &dyn fmt::Display| TokenError::Unreadable {
            path: path.into(),
            why: why.to_string(),
        };
        let in_file = |why| TokenError::InFile {
            path: path.into(),
            why,
        };
        if is_credential(path) {
            return Err(TokenError::NoCredentials(path.into()));
        }
        let about = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
        if about.is_dir() {
            return Err(unreadable(&"it is a folder"));
        }
        if about.len() > 64 * 1024 {
            return Err(in_file(TokenFault::Long));
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
        let text = str::from_utf8(&bytes).map_err(|_| in_file(TokenFault::Characters))?;
        text.parse().map_err(in_file)
    }

    /// Reads an environment variable. Nothing when it is not set.
    ///
    /// # Errors
    /// When it is set to something that is not a token.
    pub fn from_env(name: &str) -> Result<Option<Self>, TokenError> {
        let fault = |why| TokenError::InEnvironment {
            name: name.to_owned(),
            why,
        };
        match std::env::var(name) {
            Ok(text) => text.parse().map(Some).map_err(fault),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(fault(TokenFault::Characters)),
        }
    }

    /// The token itself, for the one header and the one body that carry it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The environment variable in which systemd tells a service where its credentials are: `%d` in paths.
pub const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// Whether a path still begins with `%d/`, so that nobody has been told where the service's credentials are.
pub fn is_credential(path: &Path) -> bool {
    path.strip_prefix("%d")
        .is_ok_and(|rest| rest.components().next().is_some())
}

/// Whether anyone but the owner may read a file, with its mode, so that it can be said.
///
/// Not of a credential of systemd's, which nobody but the service can reach: it is handed to the service's user by an
/// access list, whose mask looks like the permissions of a group.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_what_is_left_without_white_space() {
        for text in [
            "lip_abc",
            " lip_abc\n",
            "lip_abc\r\n",
            "\u{feff}lip_abc\n\n",
        ] {
            assert_eq!(text.parse::<Token>().expect(text).reveal(), "lip_abc");
        }
        let faults = [
            ("", TokenFault::Empty),
            (" \n", TokenFault::Empty),
            ("lip_abc lip_def", TokenFault::Words),
            ("lip_abc\n# comment", TokenFault::Words),
            ("lip_äbc", TokenFault::Characters),
            ("lip_\u{7}", TokenFault::Characters),
        ];
        for (text, fault) in faults {
            assert_eq!(text.parse::<Token>().expect_err(text), fault);
        }
        assert_eq!(
            "x".repeat(513).parse::<Token>().unwrap_err(),
            TokenFault::Long
        );
    }

    #[test]
    fn neither_debug_nor_any_error_shows_it() {
        let secret = "lip_verysecret";
        let token: Token = secret.parse().unwrap();
        assert!(!format!("{token:?} {:#?}", Some(&token)).contains("verysecret"));

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{secret} {secret}\n")).unwrap();
        let error = Token::from_file(file.path()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("verysecret"));
        assert!(
            error
                .to_string()
                .contains(&file.path().display().to_string()),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Token::from_file(Path::new("/nowhere/token")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the token file /nowhere/token cannot be read"),
            "{error}"
        );
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Token::from_file(folder.path())
                .unwrap_err()
                .to_string()
                .contains("it is a folder")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_noticed() {
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
            // As systemd shows its credentials to a service.
            let credentials = file.path().parent();
            assert_eq!(open_mode(file.path(), credentials), None, "{mode:o}");
            for elsewhere in ["", "/run/credentials/knightwatch.service"] {
                let found = open_mode(file.path(), Some(Path::new(elsewhere)));
                assert_eq!(found, open, "{mode:o}");
            }
        }
    }
}
