//! Rules that cannot be meant.

use std::path::{Path, PathBuf};

use super::super::settings::Book;
use super::{Books, Match, Play, Rule};

/// The longest name of a rule, in characters.
const LONGEST_NAME: usize = 40;

/// What is wrong with rules: which one, and the sentence.
pub fn contradictions(rules: &[Rule], shelf: &Book) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        let above = &rules[..number];
        let sentences = [alone(rule), among(rule, above), strange_books(rule, shelf)].concat();
        found.extend(sentences.into_iter().map(|sentence| (number, sentence)));
    }
    found
}

/// What is wrong with a rule whatever the others say.
fn alone(rule: &Rule) -> Vec<String> {
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
        length > LONGEST_NAME || odd,
        "the name of a rule is to be read in logs: one line of 40 characters at most",
    );
    when(
        rule.accept == Some(false),
        "accept = false says nothing about the reason; write decline = \"generic\", or another reason",
    );
    when(
        rule.accept == Some(true) && rule.decline.is_some(),
        "the rule accepts and declines; take one of the two out",
    );
    when(
        !of_challenges && !plays,
        "the rule does nothing; give it accept = true, decline = \"...\", limit, priority or play",
    );
    when(
        rule.decline.is_some() && (rule.limit.is_some() || rule.priority.is_some() || plays),
        "what is declined is never played, so limit, priority and play have no meaning here",
    );
    when(
        rule.limit
            .is_some_and(|limit| limit.per_day == 0 && limit.per_user_day == 0),
        "the limit limits nothing; give it per_user_day, per_day or both",
    );
    when(
        of_challenges && rule.matching.tournament == Some(true),
        "nobody challenges us to the games of a tournament, so the rule can have nothing but play",
    );
    let &Play {
        max_move_ms,
        max_depth,
        max_nodes,
        ..
    } = &rule.play;
    when(
        max_move_ms == Some(0) || max_depth == Some(0) || max_nodes == Some(0),
        "the engine must be allowed to think a little; the least of max_move_ms, max_depth and max_nodes is 1",
    );
    let strength = rule.play.strength;
    let limits = |rated| strength.is_some_and(|strength| strength.limits(rated));
    when(
        rule.matching.rated == Some(true) && limits(false) && !limits(true),
        "the rule is about rated games, in which a limited engine is sandbagging, so its strength is never played; leave \
         rated out, or write strength = { ..., allow_rated = true } if you mean it",
    );
    found
}

/// The books of a rule that are not on the shelf: a sentence for each.
pub fn strange_books(rule: &Rule, shelf: &Book) -> Vec<String> {
    let Some(Books::Named(names)) = &rule.play.book else {
        return Vec::new();
    };
    let own = shelf.embedded.then_some(Path::new("default"));
    let files = shelf.files.iter().map(PathBuf::as_path);
    let all: Vec<&Path> = files.chain(own).collect();
    let known = all.iter().filter_map(|path| path.file_name()?.to_str());
    let known = match known.collect::<Vec<_>>()[..] {
        [] => "there is none".to_owned(),
        ref known => format!("there are {}", known.join(", ")),
    };
    let strange = names
        .iter()
        .filter(|name| !all.iter().any(|path| Books::is_called(path, name)));
    let sentence = |name: &String| {
        format!(
            "there is no book `{name}`: a rule names some of those in book.files, or the embedded one, default; {known}"
        )
    };
    strange.map(sentence).collect()
}

/// What is wrong with a rule below these.
fn among(rule: &Rule, above: &[Rule]) -> Vec<String> {
    let mut found = Vec::new();
    let same = |other: &Rule| !rule.name.is_empty() && other.name == rule.name;
    if above.iter().any(same) {
        found.push(format!("there are two rules of the name `{}`", rule.name));
    }
    let everything = |other: &Rule| {
        let decides = other.accept == Some(true) || other.decline.is_some();
        decides && other.matching == Match::default()
    };
    // The first one below it is enough.
    if above
        .split_last()
        .is_some_and(|(last, before)| everything(last) && !before.iter().any(everything))
    {
        found.push(
            "no challenge gets as far as this rule: the one above it is about everybody and decides"
                .to_owned(),
        );
    }
    found
}
