//! The secret that says who we are.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::input;

/// A Lichess access token. It shows itself to nobody: `Debug` prints `Token(…)`, there is no `Display`, and no error
/// of this module quotes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// What is wrong with a token. Never says what it read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token file {} cannot be read: {why}", shown(path))]
    Unreadable { path: PathBuf, why: String },
    #[error(
        "what should be the name of the token file looks like the token itself, and there is no such file: put the token \
         into a file of its own with mode 0600, and name that file with token_file"
    )]
    NotAName,
    #[error(
        "the token file {} cannot be read: %d is where systemd puts the service's credentials, and CREDENTIALS_DIRECTORY is not \
         set; by hand, set it to the directory of the file, such as /etc/knightwatch",
        shown(.0)
    )]
    NoCredentials(PathBuf),
    #[error("the token file {} {why}", shown(path))]
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

/// The longest token file, in bytes. Editors and white space may make it longer than the token.
const LONGEST_FILE: u64 = 64 * 1024;

/// How tokens of Lichess begin: personal ones, and those of OAuth.
const PREFIXES: [&str; 2] = ["lip_", "lio_"];

/// The shortest token without such a beginning, in characters: the older personal ones.
const SHORTEST_BARE: usize = 16;

/// The text with everything hidden that may be a token. Hidden letters become dots, so that columns stay what they are.
pub fn without_tokens(text: &str) -> String {
    hide(text, without_bare)
}

/// The same where nothing is quoted from outside but names: what only looks like a token is shown.
pub fn without_prefixed(text: &str) -> String {
    hide(text, |piece, shown| shown.push_str(piece))
}

/// Hides the rest of each word that begins like a token, and appends what is between them by `append`.
fn hide(text: &str, append: fn(&str, &mut String)) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = PREFIXES.iter().filter_map(|prefix| rest.find(prefix)).min() {
        let (before, token) = rest.split_at(at + PREFIXES[0].len());
        let length = token.find(|c| !is_part(c)).unwrap_or(token.len());
        append(before, &mut shown);
        shown.extend(token[..length].chars().map(|_| '.'));
        rest = &token[length..];
    }
    append(rest, &mut shown);
    shown
}

/// Appends the text with words hidden that look like a token without a beginning.
fn without_bare(text: &str, shown: &mut String) {
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_bare_token(word) {
            shown.extend(word.chars().map(|_| '.'));
            shown.push_str(&piece[word.len()..]);
        } else {
            shown.push_str(piece);
        }
    }
}

/// Whether a word looks random: letters with digits among them, or in changing case.
fn is_bare_token(word: &str) -> bool {
    let count = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    word.len() >= SHORTEST_BARE
        && upper + lower + digits == word.len()
        && (digits > 0 && digits < word.len() || upper > 2 && lower > 2)
}

/// Whether this is a token as far as one can tell.
fn is_token(text: &str) -> bool {
    let mut prefixes = PREFIXES.iter();
    prefixes.any(|prefix| text.starts_with(prefix) && text != *prefix) || is_bare_token(text)
}

/// A path for a message.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let may_hide = is_name_a_token(path) || PREFIXES.iter().any(|prefix| text.contains(prefix));
    if may_hide {
        without_tokens(&text)
    } else {
        text.into_owned()
    }
}

/// Whether the last part of a path looks like a token.
fn is_name_a_token(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| is_token(&name))
}

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
        let bytes = input::read(path, LONGEST_FILE).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => in_file(TokenFault::Long),
            io::ErrorKind::NotFound if is_name_a_token(path) => TokenError::NotAName,
            _ => unreadable(&error),
        })?;
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
    fn a_token_where_its_file_belongs_is_not_shown() {
        for secret in [
            "lip_secretSECRET12345",
            "lio_secretSECRET12345",
            "a1B2c3D4e5F6g7H8",
            "secretSECRETsecr",
        ] {
            let error = Token::from_file(Path::new(secret)).unwrap_err();
            assert!(matches!(error, TokenError::NotAName), "{error}");
            let path = Path::new("/nowhere/lip_folder/file").join(secret);
            for error in [
                TokenError::Unreadable {
                    path: path.clone(),
                    why: String::new(),
                },
                TokenError::NoCredentials(path.clone()),
                TokenError::InFile {
                    path: path.clone(),
                    why: TokenFault::Empty,
                },
            ] {
                let said = error.to_string();
                assert!(said.contains("/nowhere/lip_....../file/"), "{said}");
                assert!(!said.to_lowercase().contains("secret"), "{said}");
                assert!(!said.contains("a1B2"), "{said}");
            }
        }
        let path = Path::new("/nix/store/0c5b3f2d7a8e9f1a2b3c-x/token");
        assert_eq!(shown(path), path.display().to_string());
    }

    #[test]
    fn tokens_are_hidden_in_place() {
        for (text, shown) in [
            ("a lip_abC1 b", "a lip_.... b"),
            ("a lio_abC1-x, lip_y", "a lio_......, lip_."),
            ("xlip_lio_b", "xlip_....."),
            ("is a1B2c3D4e5F6g7H8.", "is ................."),
            (
                "reserved_for_humans = 12345678901234567890",
                "reserved_for_humans = 12345678901234567890",
            ),
            ("Schachweltmeisterschaft", "Schachweltmeisterschaft"),
            ("é lip_é", "é lip_."),
        ] {
            assert_eq!(without_tokens(text), shown);
        }
        let names = "lip_abC1 of MyVeryGoodBotName";
        assert_eq!(without_prefixed(names), "lip_.... of MyVeryGoodBotName");
    }

    #[test]
    fn a_token_file_has_an_end() {
        let error = Token::from_file(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("it is a device"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = Token::from_file(file.path()).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
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
                .contains("it is a directory")
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
