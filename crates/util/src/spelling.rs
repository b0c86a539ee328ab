//! Suggestions for misspelled names.

/// "did you mean ...?" if a name is close, followed by all names.
pub fn choices(what: &str, given: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match nearest(given, names) {
        Some(name) => format!("did you mean `{name}`? {what}: {all}"),
        None => format!("{what}: {all}"),
    }
}

/// Adds "did you mean ...?" to a serde message about an unknown name, if an expected name is close. Other messages
/// are returned unchanged.
pub fn suggest(message: &str) -> String {
    let suggested = || {
        let (before, after) = message.split_once("unknown ")?;
        let (known, list) = after.split_once(", expected ")?;
        let given = known.split('`').nth(1)?;
        let names: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let name = nearest(given, &names)?;
        Some(format!(
            "{before}unknown {known}; did you mean `{name}`? expected {list}"
        ))
    };
    suggested().unwrap_or_else(|| message.to_owned())
}

/// The closest name, if it is close enough.
pub fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let given = plain(given);
    let distances = names.iter().map(|name| {
        let name_plain = plain(name);
        // An unfinished name, such as `hash` for `hash_mib`, counts as close.
        let begun = given.len() >= 3 && name_plain.starts_with(&given);
        // So does a part of one, such as `threads` for `Number of Threads`.
        let is_part = given.len() >= 4 && name_plain.contains(&given);
        let distance = match (begun, is_part) {
            (true, _) => 1,
            (false, true) => 2.min(strsim::levenshtein(&given, &name_plain)),
            (false, false) => strsim::levenshtein(&given, &name_plain),
        };
        (distance, *name)
    });
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= given.len().div_ceil(3).min(3)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_of_misspelled_name_is_found() {
        let names = ["hash_mib", "threads", "overhead_ms"];
        assert_eq!(nearest("hash", &names), Some("hash_mib"));
        assert_eq!(nearest("HashMib", &names), Some("hash_mib"));
        assert_eq!(nearest("thread", &names), Some("threads"));
        assert_eq!(nearest("move-overhead", &names), None);
        let names = ["Hash", "Number of Threads", "Ponder"];
        assert_eq!(nearest("threads", &names), Some("Number of Threads"));
    }

    #[test]
    fn suggest_extends_serde_messages() {
        for (message, suggested) in [
            (
                "`kind`: unknown variant `greedi`, expected one of `random`, `greedy`",
                "`kind`: unknown variant `greedi`; did you mean `greedy`? expected one of `random`, `greedy`",
            ),
            (
                "unknown field `x`, expected `name`",
                "unknown field `x`, expected `name`",
            ),
            ("`clock` is wrong", "`clock` is wrong"),
        ] {
            assert_eq!(suggest(message), suggested);
        }
    }
}
