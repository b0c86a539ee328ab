//! Log filters of an operator, in the syntax of `RUST_LOG`.

/// A filter with the directives of `default` and those of `given`, which replace them. Without the default ones, a
/// directive for one target would turn off all others. A level for all targets in `given` replaces `default` as a whole.
///
/// ```
/// use knightwatch_util::log_filter::merge;
///
/// assert_eq!(merge("warn,bot=info", "hyper=debug"), "warn,bot=info,hyper=debug");
/// assert_eq!(merge("warn,bot=info", "debug, hyper=warn"), "debug,hyper=warn");
/// assert_eq!(merge("warn,bot=info", ""), "warn,bot=info");
/// ```
#[must_use]
pub fn merge(default: &str, given: &str) -> String {
    // To the parser, an empty text is a level, and white space is part of a target.
    let each = given.split(',').map(str::trim);
    let mut directives: Vec<&str> = each.filter(|directive| !directive.is_empty()).collect();
    if !directives.iter().copied().any(is_level) {
        directives.insert(0, default);
    }
    directives.join(",")
}

/// Returns whether this is a level for all targets, by name or by number.
fn is_level(directive: &str) -> bool {
    const NAMES: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    NAMES
        .iter()
        .any(|name| directive.eq_ignore_ascii_case(name))
        || directive
            .parse::<usize>()
            .is_ok_and(|level| level < NAMES.len())
}
