//! Names of variants in engines.

use knightwatch_chess::Variant;

/// The name for a variant among those that an engine takes.
pub(crate) fn name_of(names: &[String], variant: Variant) -> Option<&str> {
    let exact = names.iter().find(|name| *name == variant.uci());
    let has_name = |name: &&String| Variant::from_name(name) == Some(variant);
    exact
        .or_else(|| names.iter().find(has_name))
        .map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

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
