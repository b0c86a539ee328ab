//! Access token.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use knightwatch_util::input;

/// A Lichess access token. Never printed: `Debug` prints `Token(…)`, there is no `Display`, and no error of this module
/// quotes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

/// Errors of reading a token. Never quote what was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token file cannot be read.
    #[error("the token file {} cannot be read: {why}", display_path(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    #[error(
        "token_file must name a file, but its value looks like the token itself: put the token into a file of its own with mode \
         0600, and set token_file to its path"
    )]
    /// The value of `token_file` looks like a token.
    NotAName,
    /// The value of `token_file` is empty.
    #[error("token_file is empty: set it to the path of a file that holds the token only")]
    NoName,
    /// The content of the token file is not a token.
    #[error("the token file {} {why}", display_path(path))]
    InFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: TokenFault,
    },
    /// The value of the environment variable is not a token.
    #[error("the environment variable {name} {why}")]
    InEnvironment {
        /// The variable.
        name: String,
        /// The reason.
        why: TokenFault,
    },
}

/// Reasons why a text is not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Nothing but white space.
    #[error("is empty")]
    Empty,
    /// More than one word.
    #[error("holds more than one word; it must hold the token only")]
    Words,
    /// Characters that no token has.
    #[error("holds characters that a token cannot have")]
    Characters,
    /// Longer than any token.
    #[error("is too long for a token (at most 512 characters)")]
    Long,
}

/// Upper limit of a token, in bytes. Those of Lichess have 24 to 64.
const MAX_TOKEN_BYTES: usize = 512;

/// Upper limit of a token file, in bytes.
const MAX_TOKEN_FILE_BYTES: u64 = 64 * 1024;

/// Prefixes of Lichess tokens: personal ones and OAuth.
const PREFIXES: [&str; 2] = ["lip_", "lio_"];

/// The shortest token without a prefix (older personal tokens), in characters.
const MIN_BARE_TOKEN_CHARS: usize = 16;

/// Replaces everything that may be a token with dots of the same length, so that columns stay the same.
pub fn redact_tokens(text: &str) -> String {
    redact(text, redact_bare_tokens)
}

/// Like [`redact_tokens`], but hides tokens with a prefix only. For texts that quote nothing but names.
pub fn redact_prefixed_tokens(text: &str) -> String {
    redact(text, |piece, shown| shown.push_str(piece))
}

/// Hides the rest of each word that begins with a token prefix; `append` handles the text between.
fn redact(text: &str, append: fn(&str, &mut String)) -> String {
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

/// Appends the text with words hidden that look like a token without a prefix.
fn redact_bare_tokens(text: &str, shown: &mut String) {
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

/// Returns whether a word looks random: letters mixed with digits, or of mixed case.
fn is_bare_token(word: &str) -> bool {
    let count = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    word.len() >= MIN_BARE_TOKEN_CHARS
        && upper + lower + digits == word.len()
        && (digits > 0 && digits < word.len() || upper > 2 && lower > 2)
}

/// Returns whether a text looks like a token.
fn is_token(text: &str) -> bool {
    let mut prefixes = PREFIXES.iter();
    prefixes.any(|prefix| text.starts_with(prefix) && text != *prefix) || is_bare_token(text)
}

/// A path for a message, with tokens hidden.
fn display_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let may_contain_token =
        is_name_a_token(path) || PREFIXES.iter().any(|prefix| text.contains(prefix));
    if may_contain_token {
        redact_tokens(&text)
    } else {
        text.into_owned()
    }
}

/// Returns whether the file name of a path looks like a token.
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
        } else if token.len() > MAX_TOKEN_BYTES {
            Err(TokenFault::Long)
        } else if !token.bytes().all(|b| b.is_ascii_graphic()) {
            Err(TokenFault::Characters)
        } else {
            Ok(Self(token.into()))
        }
    }
}

impl Token {
    /// Reads a file that holds only the token.
    ///
    /// # Errors
    /// When the file cannot be read or does not hold a token. The message names the file, not its content.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        if path.as_os_str().is_empty() {
            return Err(TokenError::NoName);
        }
        let unreadable = |why: &dyn fmt::Display| TokenError::Unreadable {
            path: path.into(),
            why: why.to_string(),
        };
        let in_file = |why| TokenError::InFile {
            path: path.into(),
            why,
        };
        let bytes =
            input::read(path, MAX_TOKEN_FILE_BYTES).map_err(|error| match error.kind() {
                io::ErrorKind::FileTooLarge => in_file(TokenFault::Long),
                io::ErrorKind::NotFound if is_name_a_token(path) => TokenError::NotAName,
                _ => unreadable(&error),
            })?;
        let text = str::from_utf8(&bytes).map_err(|_| in_file(TokenFault::Characters))?;
        text.parse().map_err(in_file)
    }

    /// Reads an environment variable; `None` if it is not set.
    ///
    /// # Errors
    /// When its value is not a token.
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

    /// The secret itself, for the one header and the one body that carry it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_trimmed() {
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
    fn token_is_never_printed() {
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
    fn token_in_place_of_file_is_redacted() {
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
                TokenError::InFile {
                    path: path.clone(),
                    why: TokenFault::Empty,
                },
            ] {
                let message = error.to_string();
                assert!(message.contains("/nowhere/lip_....../file/"), "{message}");
                assert!(!message.to_lowercase().contains("secret"), "{message}");
                assert!(!message.contains("a1B2"), "{message}");
            }
        }
        let path = Path::new("/nix/store/0c5b3f2d7a8e9f1a2b3c-x/token");
        assert_eq!(display_path(path), path.display().to_string());
    }

    #[test]
    fn tokens_are_redacted_in_place() {
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
            assert_eq!(redact_tokens(text), shown);
        }
        let names = "lip_abC1 of MyVeryGoodBotName";
        assert_eq!(
            redact_prefixed_tokens(names),
            "lip_.... of MyVeryGoodBotName"
        );
    }

    #[test]
    fn empty_name_of_token_file_is_reported() {
        let error = Token::from_file(Path::new("")).unwrap_err();
        assert!(error.to_string().contains("token_file is empty"), "{error}");
    }

    #[test]
    fn token_file_size_is_limited() {
        let error = Token::from_file(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("it is a device"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = Token::from_file(file.path()).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }

    #[test]
    fn token_file_missing_is_named() {
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
}
