//! Opening books of the other bots, by the games that they are for.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value as Toml};

use super::Place;
use super::draft::Draft;
use super::values::{conditions, list, table};

/// The variant of `book.files`.
const STANDARD: &str = "standard";

/// Books of another bot.
#[derive(Default)]
pub(super) struct PeerBooks {
    variants: BTreeMap<String, VariantBooks>,
}

/// Books of a variant.
#[derive(Default)]
struct VariantBooks {
    /// Files for all of its games.
    plain: Vec<String>,
    /// Conditions and files for some of its games, with the key that they come from.
    rules: Vec<(Table, Vec<String>, String)>,
    /// The keys that they come from.
    from: Vec<String>,
}

impl PeerBooks {
    /// Adds the files for the games of a name, as in `atomic_white`. `false` if a rule cannot match such games.
    pub(super) fn add(&mut self, name: &str, files: Vec<String>, source: String) -> bool {
        let Some(matching) = conditions(name) else {
            return false;
        };
        let variant = matching.get("variant").and_then(Toml::as_str);
        let from_position = variant == Some("fromPosition");
        let variant = variant.filter(|_| !from_position).unwrap_or(STANDARD);
        let books = self.variants.entry(variant.to_owned()).or_default();
        books.from.push(source.clone());
        match matching.keys().eq(["variant"]) && !from_position {
            true => books.plain.extend(files),
            false => books.rules.push((matching, files, source)),
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.variants.is_empty()
    }

    /// Adds the books, and the rules that select among them. `from` are further keys that they come from.
    pub(super) fn write(self, draft: &mut Draft, place: &Place, mut from: Vec<String>) {
        let mut remark =
            "absolute paths; the embedded book is asked after them unless embedded = false";
        let mut variants = Table::new();
        let mut from_variants = Vec::new();
        let others = self.standard_variants();
        for (variant, books) in self.variants {
            let mut files = books.plain.clone();
            for name in books.rules.iter().flat_map(|(_, names, _)| names) {
                if !files.contains(name) {
                    files.push(name.clone());
                }
            }
            let paths = list(files.iter().map(|file| place.absolute(file)));
            if variant == STANDARD {
                let from = [std::mem::take(&mut from), books.from].concat();
                draft.add("book", vec![("files", paths)], from, remark);
                remark = "absolute paths";
            } else {
                variants.insert(variant.clone(), paths);
                from_variants.extend(books.from);
            }
            let variant = match variant.as_str() {
                STANDARD => list(others.iter().copied()),
                _ => variant.into(),
            };
            add_rules(draft, &variant, &books.plain, books.rules);
        }
        if !variants.is_empty() {
            from.extend(from_variants);
            draft.add("book", vec![("variants", variants.into())], from, remark);
        }
    }

    /// The variants whose books are those of standard chess.
    fn standard_variants(&self) -> Vec<&'static str> {
        let all = [STANDARD, "chess960", "fromPosition"];
        let no_own = |variant: &&str| *variant == STANDARD || !self.variants.contains_key(*variant);
        all.into_iter().filter(no_own).collect()
    }
}

/// Adds rules that select among the books of a variant; `plain` are those of its games without a rule.
fn add_rules(
    draft: &mut Draft,
    variant: &Toml,
    plain: &[String],
    rules: Vec<(Table, Vec<String>, String)>,
) {
    let file_name = |path: &String| {
        let name = Path::new(path).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let play = |names: &[String]| match names {
        [] => table([("book", false.into())]),
        names => table([("book", list(names.iter().map(file_name)))]),
    };
    let has_rules = !rules.is_empty();
    for (mut matching, names, source) in rules {
        matching.entry("variant").or_insert(variant.clone());
        let remark = format!("from {source}, a rule");
        draft.rule(matching, ("play", play(&names).into()), Vec::new(), &remark);
    }
    if has_rules {
        let matching = table([("variant", variant.clone())]);
        let remark = "the books of all other games of the variant";
        draft.rule(matching, ("play", play(plain).into()), Vec::new(), remark);
    }
}
