//! Enumerations whose values have string keys.

/// Declares an enumeration with a key for each value, `ALL`, `key()` and `from_key()`.
///
/// With `else Unknown` the enumeration is that of a server: any other key becomes this value, which is the default, and
/// case is ignored. `ALL` is without it, and `KEYS` are the keys of `ALL`.
///
/// ```
/// knightwatch_util::keys! {
///     /// Outcome of a game.
///     pub enum Outcome {
///         /// Ours.
///         Won = "won",
///         Lost = "lost",
///     }
/// }
/// assert_eq!(Outcome::from_key("lost"), Some(Outcome::Lost));
///
/// knightwatch_util::keys! {
///     /// Chat room.
///     pub enum Room {
///         Player = "player",
///         Spectator = "spectator",
///     } else Unknown
/// }
/// assert_eq!(Room::from_key("lobby"), Room::Unknown);
/// ```
#[macro_export]
macro_rules! keys {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$note:meta])* $variant:ident = $key:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $(
                #[doc = concat!("`", $key, "`.")]
                $(#[$note])*
                $variant,
            )+
        }

        impl $name {
            /// Every value.
            $vis const ALL: [Self; [$($key),+].len()] = [$(Self::$variant),+];

            /// The key.
            $vis const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)+
                }
            }

            /// The value with this key.
            $vis fn from_key(key: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.key() == key)
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$note:meta])* $variant:ident = $key:literal,)+
    } else $unknown:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $(
                #[doc = concat!("`", $key, "`.")]
                $(#[$note])*
                $variant,
            )+
            /// Something newer than this program.
            #[default]
            $unknown,
        }

        impl $name {
            /// Every value with a key.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The keys of all of these.
            $vis const KEYS: [&'static str; [$($key),+].len()] = [$($key),+];

            #[doc = concat!("The key on the wire; `unknown` for [`Self::", stringify!($unknown), "`].")]
            $vis const fn key(self) -> &'static str {
                match self {
                    $(Self::$variant => $key,)+
                    Self::$unknown => "unknown",
                }
            }

            /// Parses a key, ignoring case.
            $vis fn from_key(key: &str) -> Self {
                let known = Self::ALL.iter().find(|value| value.key().eq_ignore_ascii_case(key));
                known.copied().unwrap_or_default()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.key())
            }
        }
    };
}
