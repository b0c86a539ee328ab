//! Variants of chess, as Lichess plays them.

use std::fmt;
use std::str::FromStr;

use super::{Position, Role};

/// The rules of a game. Chess960 and games from a position are standard chess from another start position.
///
/// ```
/// use knightwatch_chess::Variant;
///
/// assert_eq!(Variant::from_name("King of the Hill"), Some(Variant::KingOfTheHill));
/// assert_eq!(Variant::ThreeCheck.uci(), "3check");
/// assert_eq!(Variant::Horde.start().legal_moves().len(), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Variant {
    /// Standard chess.
    #[default]
    Standard,
    /// Captured pieces change sides and can be dropped.
    Crazyhouse,
    /// Captures are compulsory; the side without pieces or moves wins.
    Antichess,
    /// Captures explode; the side whose king explodes loses.
    Atomic,
    /// White has a horde of pawns and no king; Black has to take all of it.
    Horde,
    /// A king in the center wins.
    KingOfTheHill,
    /// A king on the last rank wins; nobody may give check.
    RacingKings,
    /// The third check wins.
    ThreeCheck,
}

impl Variant {
    /// All variants, standard chess first.
    pub const ALL: [Variant; 8] = [
        Variant::Standard,
        Variant::Crazyhouse,
        Variant::Antichess,
        Variant::Atomic,
        Variant::Horde,
        Variant::KingOfTheHill,
        Variant::RacingKings,
        Variant::ThreeCheck,
    ];

    /// The Lichess key: `kingOfTheHill`.
    pub const fn key(self) -> &'static str {
        match self {
            Variant::Standard => "standard",
            Variant::Crazyhouse => "crazyhouse",
            Variant::Antichess => "antichess",
            Variant::Atomic => "atomic",
            Variant::Horde => "horde",
            Variant::KingOfTheHill => "kingOfTheHill",
            Variant::RacingKings => "racingKings",
            Variant::ThreeCheck => "threeCheck",
        }
    }

    /// The value of the UCI option `UCI_Variant`: `kingofthehill`.
    pub const fn uci(self) -> &'static str {
        match self {
            Variant::Standard => "chess",
            Variant::KingOfTheHill => "kingofthehill",
            Variant::RacingKings => "racingkings",
            Variant::ThreeCheck => "3check",
            _ => self.key(),
        }
    }

    /// The name in the PGN tag `Variant`: `King of the Hill`.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Standard => "Standard",
            Variant::Crazyhouse => "Crazyhouse",
            Variant::Antichess => "Antichess",
            Variant::Atomic => "Atomic",
            Variant::Horde => "Horde",
            Variant::KingOfTheHill => "King of the Hill",
            Variant::RacingKings => "Racing Kings",
            Variant::ThreeCheck => "Three-check",
        }
    }

    /// A name without case, punctuation and a final `chess`, as [`from_name`](Variant::from_name) compares it.
    pub fn plain_name(name: &str) -> String {
        let mut letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if let Some(short @ 1..) = letters.strip_suffix("chess").map(str::len) {
            letters.truncate(short);
        }
        letters
    }

    /// The variant with this name, key or UCI value, in any case and with any punctuation, also by the names that
    /// other sites and programs write. Chess960 and games from a position are standard chess.
    ///
    /// `Suicide` is no variant of Lichess: there a stalemate goes to the side with fewer pieces.
    pub fn from_name(name: &str) -> Option<Variant> {
        Some(match &*Variant::plain_name(name) {
            "chess" | "standard" | "normal" | "regular" | "chess960" | "fischerandom"
            | "fischerrandom" | "fromposition" => Variant::Standard,
            "crazyhouse" | "house" | "zh" => Variant::Crazyhouse,
            "anti" | "giveaway" => Variant::Antichess,
            "atomic" | "atom" => Variant::Atomic,
            "horde" => Variant::Horde,
            "kingofthehill" | "koth" => Variant::KingOfTheHill,
            "racingkings" | "racing" | "race" => Variant::RacingKings,
            "threecheck" | "threechecks" | "3check" | "3checks" => Variant::ThreeCheck,
            _ => return None,
        })
    }

    /// The FEN of the start position.
    pub const fn start_fen(self) -> &'static str {
        match self {
            Variant::Crazyhouse => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR/ w KQkq - 0 1",
            Variant::Antichess => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1",
            Variant::Horde => {
                "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1"
            }
            Variant::RacingKings => "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1",
            Variant::ThreeCheck => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 +0+0",
            Variant::Standard | Variant::Atomic | Variant::KingOfTheHill => {
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
            }
        }
    }

    /// The start position.
    pub fn start(self) -> Position {
        Position::from_variant_fen(self, self.start_fen()).expect("the start position is legal")
    }

    /// Returns whether a side may castle.
    pub const fn has_castling(self) -> bool {
        !matches!(self, Variant::Antichess | Variant::RacingKings)
    }

    /// The roles that a pawn can promote to, the queen first.
    pub const fn promotions(self) -> &'static [Role] {
        const ROLES: [Role; 5] = [
            Role::Queen,
            Role::Knight,
            Role::Rook,
            Role::Bishop,
            Role::King,
        ];
        match self {
            Variant::Antichess => &ROLES,
            _ => ROLES.split_at(4).0,
        }
    }
}

/// As [`from_name`](Variant::from_name), but without the names of standard chess from another start; the error is a text that
/// lists the keys.
impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Variant, String> {
        let found = Variant::from_name(name);
        let is_named = |variant: &Variant| {
            *variant != Variant::Standard || ["standard", "chess"].contains(&name)
        };
        found.filter(is_named).ok_or_else(|| {
            let keys = Variant::ALL.map(Variant::key).join(", ");
            format!("expected one of {keys}")
        })
    }
}

impl fmt::Display for Variant {
    /// The name in the PGN tag `Variant`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rules known at compile time: those of standard chess, without any cost for variants, or those of any variant.
pub(super) trait Rules {
    /// Whether these are the rules of standard chess.
    const IS_STANDARD: bool;

    /// The variant of a position with these rules.
    fn variant(position: &Position) -> Variant;
}

/// The rules of standard chess: all tests for variants vanish.
pub(super) enum StandardRules {}

impl Rules for StandardRules {
    const IS_STANDARD: bool = true;

    #[inline(always)]
    fn variant(_: &Position) -> Variant {
        Variant::Standard
    }
}

/// The rules of the position's variant.
pub(super) enum AnyRules {}

impl Rules for AnyRules {
    const IS_STANDARD: bool = false;

    #[inline(always)]
    fn variant(position: &Position) -> Variant {
        position.variant
    }
}

/// Pieces of both sides in hand, 6 bits for each color and role.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pockets(u64);

impl Pockets {
    /// The roles that can be dropped.
    pub(super) const ROLES: [Role; 5] = [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
    ];

    const fn shift(color: super::Color, role: Role) -> usize {
        6 * (5 * color.index() + role.index())
    }

    /// The number of a side's pieces of a role, not a king.
    #[inline]
    pub(super) const fn count(self, color: super::Color, role: Role) -> u32 {
        (self.0 >> Pockets::shift(color, role) & 63) as u32
    }

    /// The number of pieces of both sides.
    pub(super) fn total(self) -> u32 {
        (0..10)
            .map(|place| (self.0 >> (6 * place) & 63) as u32)
            .sum()
    }

    /// Adds a piece; there must be fewer than 63.
    #[inline]
    pub(super) fn add(&mut self, color: super::Color, role: Role) {
        self.0 += 1 << Pockets::shift(color, role);
    }

    /// Removes a piece, which must be there.
    #[inline]
    pub(super) fn remove(&mut self, color: super::Color, role: Role) {
        self.0 -= 1 << Pockets::shift(color, role);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_found_by_all_their_names() {
        for variant in Variant::ALL {
            for name in [variant.key(), variant.uci(), variant.name()] {
                assert_eq!(Variant::from_name(name), Some(variant), "{name}");
            }
            assert_eq!(variant.start().variant(), variant);
            assert_eq!(variant.start().fen(), variant.start_fen());
        }
        for name in ["Chess960", "From Position", "fromPosition", "chess"] {
            assert_eq!(Variant::from_name(name), Some(Variant::Standard), "{name}");
        }
        for name in ["chess960", "fromPosition", "From Position"] {
            assert!(name.parse::<Variant>().is_err(), "{name}");
        }
        // Names in PGN of other sites and programs.
        for (name, variant) in [
            ("normal", Variant::Standard),
            ("Fischerandom", Variant::Standard),
            ("Crazy House", Variant::Crazyhouse),
            ("Giveaway", Variant::Antichess),
            ("Giveaway chess", Variant::Antichess),
            ("Anti chess", Variant::Antichess),
            ("Atomic chess", Variant::Atomic),
            ("Horde chess", Variant::Horde),
            ("KOTH", Variant::KingOfTheHill),
            ("king-of-the-hill", Variant::KingOfTheHill),
            ("Racing", Variant::RacingKings),
            ("Three Check Chess", Variant::ThreeCheck),
            ("3-check", Variant::ThreeCheck),
        ] {
            assert_eq!(Variant::from_name(name), Some(variant), "{name}");
        }
        for name in ["", "?", "Suicide", "Bughouse", "Losers", "5check"] {
            assert_eq!(Variant::from_name(name), None, "{name}");
        }
    }
}
