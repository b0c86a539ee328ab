//! Contradictions in rules.

use std::path::Path;

use super::super::external::{self, External};
use super::super::settings::{Book, Settings};
use super::{Books, Limit, Match, Play, Rule};
use crate::lichess::model::Variant;

const MAX_NAME_CHARS: usize = 40;

/// Contradictions in rules: the index of the rule and a sentence.
pub(crate) fn contradictions(settings: &Settings) -> Vec<(usize, String)> {
    let rules = &settings.rule;
    let mut found = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        let above = &rules[..number];
        let sentences = [
            check_rule(rule),
            check_order(rule, above),
            unknown_books(rule, &settings.book),
            unknown_engine(rule, &settings.engine.external),
            options_without_engine(rule, settings),
            no_lists(rule, settings),
        ]
        .concat();
        found.extend(sentences.into_iter().map(|sentence| (number, sentence)));
    }
    found
}

impl Settings {
    /// The books of rules that `[book]` does not list: a sentence for each.
    pub fn unknown_books(&self) -> Vec<String> {
        let of_rule = |rule| unknown_books(rule, &self.book);
        self.rule.iter().flat_map(of_rule).collect()
    }

    /// The engines of rules that `[[engine.external]]` does not list: a sentence for each. Such rules come from a reload.
    pub fn unknown_engines(&self) -> Vec<String> {
        let of_rule = |rule| unknown_engine(rule, &self.engine.external);
        let sentences = self.rule.iter().flat_map(of_rule);
        sentences
            .map(|sentence| {
                format!("{sentence}; until a restart the embedded engine plays instead")
            })
            .collect()
    }

    /// Returns whether the engine that a rule names is one of these settings.
    pub(in crate::config) fn starts_engine_of(&self, rule: &Rule) -> bool {
        unknown_engine(rule, &self.engine.external).is_empty()
    }
}

/// An engine that does not exist.
fn unknown_engine(rule: &Rule, externals: &[External]) -> Vec<String> {
    let name = rule.play.engine.as_deref();
    let unknown = name.filter(|name| !external::is_known(externals, name));
    let sentence = |name| {
        format!(
            "there is no engine {name}; {}",
            external::known_names(externals)
        )
    };
    unknown.map(sentence).into_iter().collect()
}

/// Options for an engine that has none.
fn options_without_engine(rule: &Rule, settings: &Settings) -> Vec<String> {
    let engine = &settings.engine;
    let name = rule.play.engine.as_deref().unwrap_or(&engine.default);
    let is_useless = rule.play.options.is_some() && name == external::EMBEDDED_ENGINE;
    is_useless
        .then(|| {
            "options are those of an external engine, but the embedded one plays; name another with `engine`"
                .to_owned()
        })
        .into_iter()
        .collect()
}

/// A rule for listed users without any list.
fn no_lists(rule: &Rule, settings: &Settings) -> Vec<String> {
    let never = rule.matching.listed == Some(true) && settings.challenge.block_lists.is_empty();
    let sentence =
        "nobody is listed, because there are no challenge.block_lists; name one, or remove listed";
    never.then(|| sentence.to_owned()).into_iter().collect()
}

/// Contradictions within one rule.
fn check_rule(rule: &Rule) -> Vec<String> {
    let decides = rule.accept.is_some() || rule.decline.is_some();
    let plays = rule.play != Play::default();
    let of_challenges = decides || rule.limit.is_some() || rule.priority.is_some();
    let mut found = Vec::new();
    let mut when = |wrong: bool, sentence: &str| {
        if wrong {
            found.push(sentence.to_owned());
        }
    };
    let (length, odd) = (
        rule.name.chars().count(),
        rule.name.contains(char::is_control),
    );
    when(
        length > MAX_NAME_CHARS || odd,
        "the name of a rule appears in logs: use one line of at most 40 characters",
    );
    when(
        rule.accept == Some(false),
        "accept = false gives no reason; write decline = \"generic\", or another reason",
    );
    when(
        rule.accept == Some(true) && rule.decline.is_some(),
        "the rule accepts and declines; remove one of the two",
    );
    when(
        !of_challenges && !plays,
        "the rule does nothing; give it accept = true, decline = \"...\", limit, priority or play",
    );
    when(
        rule.decline.is_some() && (rule.limit.is_some() || rule.priority.is_some() || plays),
        "declined challenges are never played, so limit, priority and play have no effect",
    );
    when(
        rule.limit == Some(Limit::default()),
        "the limit limits nothing; give it per_user_day, per_day, per_user or concurrency",
    );
    when(
        of_challenges && rule.matching.tournament == Some(true),
        "tournament games are not challenges, so the rule can only have play",
    );
    let &Play {
        max_move_ms,
        max_depth,
        max_nodes,
        ..
    } = &rule.play;
    when(
        max_move_ms == Some(0) || max_depth == Some(0) || max_nodes == Some(0),
        "the engine needs time to think; the minimum of max_move_ms, max_depth and max_nodes is 1",
    );
    let strength = rule.play.strength;
    let limits = |rated| strength.is_some_and(|strength| strength.limits(rated));
    when(
        rule.matching.rated == Some(true) && limits(false) && !limits(true),
        "the rule matches rated games, in which limited strength is sandbagging, so strength has no effect; remove \
         rated, or write strength = { ..., allow_rated = true } if intended",
    );
    found
}

/// The books of a rule that `[book]` does not list: a sentence for each.
fn unknown_books(rule: &Rule, book_settings: &Book) -> Vec<String> {
    let Some(Books::Named(names)) = &rule.play.book else {
        return Vec::new();
    };
    let own = book_settings.embedded.then_some(Path::new("default"));
    let variants = match &rule.matching.variant[..] {
        [] => Variant::ALL,
        some => some,
    };
    let mut all: Vec<&Path> = Vec::new();
    for variant in variants {
        for file in book_settings.files_for(*variant) {
            if !all.contains(&file) {
                all.push(file);
            }
        }
    }
    all.extend(own);
    let known = all.iter().filter_map(|path| path.file_name()?.to_str());
    let known = match known.collect::<Vec<_>>()[..] {
        [] => "there is none".to_owned(),
        ref known => format!("there are {}", known.join(", ")),
    };
    let unknown = names
        .iter()
        .filter(|name| !all.iter().any(|path| Books::is_named(path, name)));
    let sentence = |name: &String| {
        format!(
            "there is no book `{name}`: a rule names some of those in book.files and book.variants, or the embedded one, default; {known}"
        )
    };
    unknown.map(sentence).collect()
}

/// Contradictions between a rule and the rules above it.
fn check_order(rule: &Rule, above: &[Rule]) -> Vec<String> {
    let mut found = Vec::new();
    let same = |other: &Rule| !rule.name.is_empty() && other.name == rule.name;
    if above.iter().any(same) {
        found.push(format!("there are two rules named `{}`", rule.name));
    }
    let everything = |other: &Rule| {
        let decides = other.accept == Some(true) || other.decline.is_some();
        decides && other.matching == Match::default()
    };
    // Report only the first rule below it.
    if above
        .split_last()
        .is_some_and(|(last, before)| everything(last) && !before.iter().any(everything))
    {
        found.push(
            "no challenge reaches this rule: the rule above it decides all challenges".to_owned(),
        );
    }
    found
}
