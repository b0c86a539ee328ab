//! Opening books of a rule: `true`, `false`, or a list of names.

use std::fmt;
use std::path::Path;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The opening books to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Books {
    None,
    /// All books of `[book]`, in order.
    All,
    /// The books with these file names, in this order, as far as they are of the variant; `default` is the embedded one.
    Named(Vec<String>),
}

impl Books {
    /// Returns whether any book is used.
    pub fn are_used(&self) -> bool {
        *self != Self::None
    }

    /// Returns whether the book at this path has this name.
    pub fn is_named(path: &Path, name: &str) -> bool {
        path.file_name().is_some_and(|file| file == name)
    }
}

impl From<bool> for Books {
    fn from(all: bool) -> Self {
        match all {
            true => Self::All,
            false => Self::None,
        }
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no books"),
            Self::All => f.write_str("books"),
            Self::Named(names) if names.len() == 1 => write!(f, "the book {}", names[0]),
            Self::Named(names) => write!(f, "the books {}", names.join(" and ")),
        }
    }
}

impl Serialize for Books {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => to.serialize_bool(false),
            Self::All => to.serialize_bool(true),
            Self::Named(names) => names.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Books {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct BooksVisitor;

        impl<'de> Visitor<'de> for BooksVisitor {
            type Value = Books;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "true, false, or the names of some of book.files, as in [\"white.bin\", \"default\"]",
                )
            }

            fn visit_bool<E: de::Error>(self, all: bool) -> Result<Books, E> {
                Ok(all.into())
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Books, E> {
                Ok(Books::Named(vec![name.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Books, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Books::Named)
            }
        }

        from.deserialize_any(BooksVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_of_every_form_round_trip() {
        let named = |names: &[&str]| Books::Named(names.iter().map(|&name| name.into()).collect());
        for (text, books, values) in [
            ("true", Books::All, "books"),
            ("false", Books::None, "no books"),
            ("\"a.bin\"", named(&["a.bin"]), "the book a.bin"),
            (
                "[\"a.bin\",\"default\"]",
                named(&["a.bin", "default"]),
                "the books a.bin and default",
            ),
        ] {
            assert_eq!(serde_json::from_str::<Books>(text).unwrap(), books);
            let written = serde_json::to_string(&books).unwrap();
            assert_eq!(serde_json::from_str::<Books>(&written).unwrap(), books);
            assert_eq!(books.to_string(), values);
        }
        assert!(serde_json::from_str::<Books>("7").is_err());
    }

    #[test]
    fn book_name_is_its_file_name() {
        for (path, name, is) in [
            ("/etc/books/white.bin", "white.bin", true),
            ("white.bin", "white.bin", true),
            ("default", "default", true),
            ("/etc/white.bin/other.bin", "white.bin", false),
            ("/etc/white.bin", "white", false),
            ("/etc/white.bin", "", false),
        ] {
            assert_eq!(Books::is_named(Path::new(path), name), is, "{path} {name}");
        }
    }
}
