//! Variants in the names and the FENs of engines.

use knightwatch_chess::{Color, Position, Variant};

/// Checks that win three-check.
const WINNING_CHECKS: u32 = 3;

/// The name for a variant among those that an engine takes.
pub(crate) fn name_of(names: &[String], variant: Variant) -> Option<&str> {
    let has_name = |name: &&String| match name.as_str() {
        // Lichess's antichess: the side without moves wins.
        "giveaway" => variant == Variant::Antichess,
        name => name == variant.uci() || Variant::from_name(name) == Some(variant),
    };
    let exact = names.iter().find(|name| *name == variant.uci());
    exact
        .or_else(|| names.iter().find(has_name))
        .map(String::as_str)
}

/// The FEN for an engine: pockets in brackets, and the checks that are left as the fifth field.
///
/// Lichess writes pockets as a ninth rank, and the checks given at the end, which Fairy-Stockfish 11 misreads.
pub(crate) fn fen(position: &Position) -> String {
    let fen = position.fen();
    match position.variant() {
        Variant::Crazyhouse => {
            let (board, rest) = fen.split_once(' ').unwrap_or((&fen, ""));
            let (board, pockets) = board.rsplit_once('/').unwrap_or((board, ""));
            format!("{board}[{pockets}] {rest}")
        }
        Variant::ThreeCheck => {
            let fields: Vec<&str> = fen.split(' ').collect();
            let left = |color| WINNING_CHECKS.saturating_sub(position.checks_given(color));
            let checks = format!("{}+{}", left(Color::White), left(Color::Black));
            let (first, rest) = fields.split_at(4.min(fields.len()));
            let counters = &rest[..2.min(rest.len())];
            [first, &[checks.as_str()], counters].concat().join(" ")
        }
        _ => fen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fens_have_the_form_of_engines() {
        for (variant, lichess, engine) in [
            (
                Variant::Crazyhouse,
                "r3k2r/8/8/8/8/8/8/R3K1Q~R/QPnp w KQkq - 3 20",
                "r3k2r/8/8/8/8/8/8/R3K1Q~R[PQpn] w KQkq - 3 20",
            ),
            (
                Variant::ThreeCheck,
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20 +2+0",
                "4k3/8/8/8/8/8/8/4K2R w K - 1+3 3 20",
            ),
            (
                Variant::Atomic,
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
                "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
            ),
        ] {
            let position = Position::from_variant_fen(variant, lichess).expect(lichess);
            assert_eq!(fen(&position), engine);
            let again = Position::from_variant_fen(variant, engine).expect(engine);
            assert_eq!(again, position);
        }
    }

    #[test]
    fn variants_are_found_by_the_names_of_engines() {
        let of = |names: &[&str], variant| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            name_of(&names, variant).map(str::to_owned)
        };
        for (names, variant, expected) in [
            (
                &["chess", "3check"][..],
                Variant::ThreeCheck,
                Some("3check"),
            ),
            (&["threecheck"], Variant::ThreeCheck, Some("threecheck")),
            (
                &["giveaway", "suicide"],
                Variant::Antichess,
                Some("giveaway"),
            ),
            (
                &["giveaway", "antichess"],
                Variant::Antichess,
                Some("antichess"),
            ),
            (
                &["king-of-the-hill"],
                Variant::KingOfTheHill,
                Some("king-of-the-hill"),
            ),
            (&["normal", "fischerandom"], Variant::Atomic, None),
        ] {
            assert_eq!(of(names, variant).as_deref(), expected, "{names:?}");
        }
    }
}
