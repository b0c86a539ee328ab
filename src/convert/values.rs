//! Conversion of single values and of conditions that both peers have.

use toml::{Table, Value as Toml};

use super::draft::{Draft, Outcome, quoted};
use super::yaml::Value;
use crate::config::{MAX_HASH_MIB, MAX_THREADS, PLACEHOLDERS};
use crate::lichess::model::{Speed, Username, Variant};

/// No engine but ours.
pub(super) const EMBEDDED_ENGINE: &str = "the embedded engine has settings of its own, in [engine] and in `play` of a rule; other engines are in [[engine.external]], those in a language of your choice with protocol = \"lines\"";
/// No moves from other servers.
pub(super) const NO_ONLINE_MOVES: &str =
    "no move is fetched from other servers; the embedded book and book.files are used instead";
/// A name of games whose words are unknown.
pub(super) const UNKNOWN_GAMES: &str = "a rule cannot match the games of this name";
/// No tablebases.
pub(super) const NO_TABLES: &str = "the engine has no endgame tablebases";
/// Pieces of the score for draws.
pub(super) const DRAW_SCORE: &str =
    "a position is level by the chance to win it, by score and material: draw.max_win_percent";

pub(super) fn same(value: impl Into<Toml>) -> Outcome {
    Outcome::Same(value.into())
}

pub(super) fn changed(value: impl Into<Toml>, remark: impl Into<String>) -> Outcome {
    Outcome::Changed(value.into(), remark.into())
}

pub(super) fn not(reason: impl Into<String>) -> Outcome {
    Outcome::Not(reason.into())
}

pub(super) fn boolean(value: &Value) -> Outcome {
    match value {
        Value::Bool(yes) => same(*yes),
        other => not(format!("`{}` is neither true nor false", shown(other))),
    }
}

/// A whole number from 0 to `max`; larger ones are limited.
pub(super) fn whole(value: &Value, max: u32) -> Option<u32> {
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Text(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number >= 0.0).then(|| number.round().min(f64::from(max)) as u32)
}

/// A whole number up to `MAX`, as a setting.
pub(super) fn up_to<const MAX: u32>(value: &Value) -> Outcome {
    match whole(value, u32::MAX) {
        Some(found) if found <= MAX => same(found),
        Some(_) => changed(MAX, format!("{MAX} is the maximum here")),
        None => not(format!("`{}` is not a number from 0", shown(value))),
    }
}

/// The user names among these texts, and a remark on the others, if there are any.
pub(super) fn user_names(value: &Value) -> (Vec<String>, String) {
    let texts = value.texts().into_iter();
    let texts = texts.filter(|text| !text.trim().is_empty());
    let (names, others): (Vec<_>, Vec<_>) = texts.partition(|text| Username::is_valid(text));
    let others: Vec<String> = others.iter().map(|other| quoted(other)).collect();
    let remark = match others.is_empty() {
        true => String::new(),
        false => format!("not user names are {}", others.join(", ")),
    };
    (names, remark)
}

pub(super) fn users(value: &Value) -> Outcome {
    match user_names(value) {
        (names, remark) if remark.is_empty() => same(list(names)),
        (names, remark) => changed(list(names), remark),
    }
}

/// The URLs among these texts.
pub(super) fn urls(value: &Value) -> Outcome {
    let all = value.texts();
    let urls: Vec<_> = all.iter().filter(|text| text.contains("://")).collect();
    match urls.len() {
        0 => not("a block list needs an address that begins with https://"),
        count if count == all.len() => same(list(all)),
        _ => changed(list(urls), "only the addresses that begin with https://"),
    }
}

pub(super) fn list(texts: impl IntoIterator<Item = impl Into<String>>) -> Toml {
    let texts = texts.into_iter().map(|text| Toml::String(text.into()));
    Toml::Array(texts.collect())
}

/// A value for a comment.
pub(super) fn shown(value: &Value) -> String {
    quoted(&value.to_string())
}

pub(super) fn table<const N: usize>(entries: [(&str, Toml); N]) -> Table {
    let entries = entries.into_iter();
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Splits names into those that are known here, in the order of `known`, and the others.
pub(super) fn known_names(
    value: &Value,
    known: &[&'static str],
) -> (Vec<&'static str>, Vec<String>) {
    let mut unknown = Vec::new();
    let mut found = Vec::new();
    for text in value.texts() {
        match known.iter().find(|name| name.eq_ignore_ascii_case(&text)) {
            Some(name) if found.contains(name) => {}
            Some(name) => found.push(*name),
            None => unknown.push(quoted(&text)),
        }
    }
    found.sort_by_key(|name| known.iter().position(|other| other == name));
    (found, unknown)
}

pub(super) const VARIANTS: [&str; Variant::KEYS.len()] = Variant::KEYS;
pub(super) const SPEEDS: [&str; Speed::BOT_KEYS.len()] = Speed::BOT_KEYS;

/// The selection of book moves.
pub(super) fn selection(value: &Value) -> Outcome {
    match value.to_string().as_str() {
        "weighted_random" => same("weighted"),
        "uniform_random" => same("uniform"),
        "best_move" => same("best"),
        _ => not(format!("`{}` is unknown", shown(value))),
    }
}

/// A chat text with our placeholders.
pub(super) fn chat(value: &Value) -> Outcome {
    let text = value.to_string();
    let mut rest = text.as_str();
    let mut kept = String::new();
    while let Some((before, name)) = rest.split_once('{') {
        kept += before;
        let Some((name, after)) = name.split_once('}') else {
            rest = name;
            continue;
        };
        if PLACEHOLDERS.contains(&name) {
            kept += &format!("{{{name}}}");
        }
        rest = after;
    }
    kept += rest;
    match kept == text {
        true => same(kept),
        false => changed(
            kept,
            format!("placeholders are {}", PLACEHOLDERS.join(", ")),
        ),
    }
}

/// The switch for draws, which both peers have for offering and accepting.
pub(super) fn draw_switch(draft: &mut Draft, key: &str) {
    if let Some((value, from)) = draft.take(key) {
        draft.set("draw", "offer", boolean(&value), vec![from]);
        if let Value::Bool(accepts) = value {
            draft.add(
                "draw",
                vec![("accept", accepts.into())],
                Vec::new(),
                "the key above is about both",
            );
        }
    }
}

/// Options of a UCI engine below `prefix`, as in `engine.uci_options.`.
pub(super) fn uci_options(draft: &mut Draft, prefix: &str) {
    let option = |name: &str| format!("{prefix}{name}");
    draft.map(&option("Hash"), "engine", "hash_mib", |value| {
        match up_to::<{ MAX_HASH_MIB as u32 }>(value) {
            Outcome::Same(hash) => changed(hash, "one table for all games"),
            other => other,
        }
    });
    draft.map(
        &option("Threads"),
        "engine",
        "threads",
        |value| match up_to::<{ MAX_THREADS as u32 }>(value) {
            Outcome::Same(threads) => changed(threads, "all games share them"),
            other => other,
        },
    );
    draft.map(
        &option("Move Overhead"),
        "engine",
        "move_overhead_ms",
        |value| match up_to::<10_000>(value) {
            Outcome::Same(overhead) => changed(overhead, "in addition to the measured lag"),
            other => other,
        },
    );
    let limited = draft.take(&option("UCI_LimitStrength"));
    let elo = draft.take(&option("UCI_Elo"));
    match (limited, elo) {
        (Some((Value::Bool(true), from)), Some((elo, also))) => {
            let outcome = match whole(&elo, 4_000) {
                Some(elo) => changed(
                    elo.clamp(1_000, 2_800),
                    "holds in casual games only, unless allow_rated = true",
                ),
                None => not(format!("`{}` is not a rating", shown(&elo))),
            };
            draft.set("engine", "strength", outcome, vec![from, also]);
        }
        (limited, elo) => {
            for (_, from) in limited.into_iter().chain(elo) {
                draft.drop_key(
                    "the engine plays at full strength; see engine.strength",
                    from,
                );
            }
        }
    }
    draft.drop_all(&option("Syzygy"), NO_TABLES);
}

/// Reads the limits of the search below `prefix`; that of time has a name and a factor for ms. Returns settings with the
/// names `ours`, for time, depth and nodes, and the keys that they come from.
pub(super) fn search_limits(
    draft: &mut Draft,
    prefix: &str,
    (time, factor): (&str, f64),
    ours: [&'static str; 3],
) -> (Vec<(&'static str, Toml)>, Vec<String>) {
    let mut limits = Vec::new();
    let mut from = Vec::new();
    for ((theirs, factor), ours) in [(time, factor), ("depth", 1.0), ("nodes", 1.0)]
        .into_iter()
        .zip(ours)
    {
        let Some((value, place)) = draft.take(&format!("{prefix}{theirs}")) else {
            continue;
        };
        let found = match value {
            Value::Int(number) => number as f64,
            Value::Float(number) => number,
            _ => f64::NAN,
        };
        let limit = found * factor;
        if (1.0..=f64::from(u32::MAX)).contains(&limit) {
            limits.push((ours, Toml::Integer(limit as i64)));
            from.push(place);
        } else {
            draft.drop_key("it is not a limit of time, depth or nodes", place);
        }
    }
    (limits, from)
}

/// Converts limits of the search to a rule for all games.
pub(super) fn limit_all_games(draft: &mut Draft, prefix: &str, time: (&str, f64)) {
    let ours = ["max_move_ms", "max_depth", "max_nodes"];
    let (limits, from) = search_limits(draft, prefix, time, ours);
    if !limits.is_empty() {
        let limits = limits.into_iter();
        let play: Table = limits.map(|(key, limit)| (key.to_owned(), limit)).collect();
        let remark = "a limit for each move, in all games";
        draft.rule(Table::new(), ("play", play.into()), from, remark);
    }
}

/// Lichess's key of a variant by one of the names that python-chess knows.
fn variant_key(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "chess" => "standard",
        "zh" | "house" | "crazy house" => "crazyhouse",
        "anti" | "anti chess" => "antichess",
        "atom" => "atomic",
        "koth" | "king of the hill" => "kingOfTheHill",
        "racing" | "race" | "racing kings" => "racingKings",
        "3check" | "3-check" | "three-check" | "three check" => "threeCheck",
        name => match Variant::from_key(name) {
            Variant::Unknown => return None,
            known => known.key(),
        },
    })
}

/// Conditions of a rule for a name with suffixes, as in `blitz_white_human`; `None` for what cannot be matched.
pub(super) fn conditions(name: &str) -> Option<Table> {
    let mut table = Table::new();
    for part in name.split('_') {
        let (key, value): (&str, Toml) = match part {
            "bullet" | "blitz" | "rapid" | "classical" => ("speed", part.into()),
            "white" | "black" => ("color", part.into()),
            "human" | "bot" => ("bot", (part == "bot").into()),
            "rated" | "casual" => ("rated", (part == "rated").into()),
            "tournament" => ("tournament", true.into()),
            clock if clock.contains('+') => ("clock", clock.into()),
            part => ("variant", variant_key(part)?.into()),
        };
        table.insert(key.to_owned(), value);
    }
    Some(table)
}
