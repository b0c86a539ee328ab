//! Engines of the other bots as `[[engine.external]]`.

use std::cmp::Reverse;
use std::path::Path;

use toml::{Table, Value as Toml};

use super::draft::Draft;
use super::values::{UNKNOWN_GAMES, VARIANTS, conditions, list, search_limits, whole};
use super::yaml::Value;
use super::{Peer, Place};
use crate::config::{MAX_EXTERNAL_HASH_MIB, MAX_EXTERNAL_THREADS};

/// Options of the engine for all games that the embedded one has as well, so that they are left to it.
const COMMON: [&str; 5] = [
    "Hash",
    "Threads",
    "Move Overhead",
    "UCI_LimitStrength",
    "UCI_Elo",
];

/// Converts the engine whose keys begin with `prefix`. Engines of BotLi are named by the games that they play, as in
/// `chess960_human`; the one for all games is `None` and comes first.
pub(super) fn convert(
    draft: &mut Draft,
    place: &Place,
    peer: Peer,
    prefix: &str,
    games: Option<&str>,
) {
    let key = |name: &str| format!("{prefix}{name}");
    let text = |draft: &Draft, name: &str| {
        let value = draft.value(&key(name)).map(Value::to_string);
        value.filter(|text| !text.is_empty())
    };
    let (Some(file), protocol) = (text(draft, "name"), text(draft, "protocol")) else {
        return;
    };
    let (protocol, map, threads, hash) = match protocol.as_deref() {
        None | Some("uci") => (None, "uci_options.", "Threads", "Hash"),
        Some("xboard") => (Some("xboard"), "xboard_options.", "cores", "memory"),
        // Engines in Python are part of that bot.
        Some(_) => return,
    };
    let (matching, variants) = match games.map(selected_games) {
        None => (None, Vec::new()),
        Some(Some((matching, variants))) => (Some(matching), variants),
        Some(None) => {
            return draft.drop_all(prefix, UNKNOWN_GAMES);
        }
    };
    let mut from = Vec::new();
    let directory = text(draft, "dir").unwrap_or_else(|| ".".to_owned());
    let program = Path::new(&directory).join(&file);
    let program = place.absolute(&program.to_string_lossy());
    let command = command(draft, prefix, &program, &mut from);
    let name = engine_name(&file, games);
    let mut entries = vec![
        ("name", Toml::from(name.as_str())),
        ("command", list(command)),
    ];
    if let Some(protocol) = protocol {
        entries.push(("protocol", protocol.into()));
    }
    if !variants.is_empty() {
        entries.push(("variants", list(variants)));
    }
    if let Some(directory) = text(draft, "working_dir") {
        entries.push(("directory", place.absolute(&directory).into()));
    }
    for name in [
        "dir",
        "name",
        "interpreter",
        "interpreter_options",
        "protocol",
        "working_dir",
    ] {
        from.extend(draft.take(&key(name)).map(|(_, source)| source));
    }
    let ponder = match matching {
        // Of the engine for all games, the key also sets engine.ponder.
        None => draft.value(&key("ponder")).cloned(),
        Some(_) => draft.take(&key("ponder")).map(|(value, source)| {
            from.push(source);
            value
        }),
    };
    if protocol.is_none() && ponder == Some(Value::Bool(true)) {
        entries.push(("ponder", true.into()));
    }
    for (theirs, ours, max) in [
        (threads, "threads", MAX_EXTERNAL_THREADS),
        (hash, "hash_mib", MAX_EXTERNAL_HASH_MIB),
    ] {
        let path = key(&format!("{map}{theirs}"));
        // Of the engine for all games, the key is also a setting of the embedded one.
        let (value, source) = match matching {
            None => (draft.value(&path).cloned(), None),
            Some(_) => draft.take(&path).unzip(),
        };
        let value = value.and_then(|value| whole(&value, max as u32));
        match (value.filter(|value| *value > 0), source) {
            (Some(value), source) => {
                entries.push((ours, value.into()));
                from.extend(source);
            }
            (None, Some(source)) => draft.drop_key("it is not a number from 1", source),
            (None, None) => {}
        }
    }
    let (limits, time) = match peer {
        Peer::LichessBot => (format!("{map}go_commands."), ("movetime", 1.0)),
        Peer::BotLi => ("limits.".to_owned(), ("time", 1_000.0)),
    };
    let limits = key(&limits);
    if protocol.is_some() {
        draft.drop_all(
            &format!("{limits}nodes"),
            "XBoard's protocol has no limit of nodes",
        );
    }
    let (limits, limits_from) =
        search_limits(draft, &limits, time, ["movetime_ms", "depth", "nodes"]);
    entries.extend(limits);
    from.extend(limits_from);
    let common = match matching {
        None => &COMMON[..],
        Some(_) => {
            let overhead = key(&format!("{map}Move Overhead"));
            draft.drop_all(
                &overhead,
                "an engine gets the clock less the measured lag and engine.move_overhead_ms",
            );
            &[]
        }
    };
    let mut options = options(draft, place, &key(map), common, &mut from);
    options.retain(|name, _| ![threads, hash].contains(&name));
    if !options.is_empty() {
        entries.push(("options", Toml::Table(options)));
    }
    let is_there = Path::new(&program).is_file();
    let remark = match (&matching, is_there) {
        (Some(_), _) => "a rule below selects it",
        (None, true) => "engine.default selects it; the embedded engine plays when it fails",
        (None, false) => {
            "the program is not there, so the embedded engine plays: set engine.default once it is"
        }
    };
    draft.add("[engine.external]", entries, from, remark);
    match matching {
        Some(matching) => {
            let mut play = Table::from_iter([("engine".to_owned(), Toml::from(name))]);
            let mut remark = "the engine above";
            if draft.is_set("engine", "strength") {
                play.insert("strength".to_owned(), "full".into());
                remark =
                    "the engine above, as strong as its options say, whatever engine.strength is";
            }
            draft.rule(matching, ("play", play.into()), Vec::new(), remark);
        }
        None if is_there => {
            let entry = vec![("default", Toml::from(name))];
            draft.add("engine", entry, Vec::new(), "the engine below plays");
        }
        None => {}
    }
}

/// Program and arguments of the engine. Appends the places of the arguments to `from`.
fn command(draft: &mut Draft, prefix: &str, program: &str, from: &mut Vec<String>) -> Vec<String> {
    let key = |name: &str| format!("{prefix}{name}");
    let interpreter = draft.value(&key("interpreter")).map(Value::to_string);
    let interpreter = interpreter.filter(|text| !text.is_empty());
    let mut command: Vec<String> = interpreter.into_iter().collect();
    let options = draft.value(&key("interpreter_options"));
    command.extend(options.iter().flat_map(|it| it.texts()));
    command.push(program.to_owned());
    for name in draft.names(&key("engine_options.")) {
        if let Some((value, source)) = draft.take(&key(&format!("engine_options.{name}"))) {
            command.push(format!("--{name}={value}"));
            from.push(source);
        }
    }
    command
}

/// The options below `prefix` without the `common` ones. Appends their places to `from`.
fn options(
    draft: &mut Draft,
    place: &Place,
    prefix: &str,
    common: &[&str],
    from: &mut Vec<String>,
) -> Table {
    let mut options = Table::new();
    for path in draft.paths(prefix) {
        let option = path[prefix.len()..].to_owned();
        // Names with a dot are commands, or tablebases in a form of that bot.
        if option.contains('.') || common.contains(&option.as_str()) {
            continue;
        }
        let Some((value, source)) = draft.take(&path) else {
            continue;
        };
        from.push(source);
        let value = match value {
            Value::Bool(value) => Toml::Boolean(value),
            Value::Int(value) => Toml::Integer(value),
            value => match value.to_string() {
                path if path.starts_with("./") || path.starts_with("../") => {
                    place.absolute(&path).into()
                }
                text => text.into(),
            },
        };
        options.insert(option, value);
    }
    options
}

/// Upper limit of the name of an engine, in characters.
const MAX_NAME_CHARS: usize = 40;

/// The order in which BotLi looks for the engine of a game: by its time control, its speed, its variant, any variant, and
/// without any of them; names with more conditions first.
pub(super) fn order(name: &str) -> (usize, Reverse<usize>) {
    let places = name.split('_').map(|part| {
        let condition = conditions(part).unwrap_or_default();
        match part {
            "standard" => 4,
            "variants" => 3,
            _ if condition.contains_key("clock") => 0,
            _ if condition.contains_key("speed") => 1,
            _ if condition.contains_key("variant") => 2,
            _ => 4,
        }
    });
    let place = places.min().unwrap_or_default();
    (place, Reverse(name.split('_').count()))
}

/// The condition for the games that an engine of BotLi is named by, and those of them that are variants: `atomic_human`; or
/// `variants`, for all. BotLi selects by time control and speed in standard chess only.
fn selected_games(name: &str) -> Option<(Table, Vec<&'static str>)> {
    const STANDARD: [&str; 3] = ["standard", "fromPosition", "chess960"];
    let (all, others): (Vec<&str>, Vec<&str>) =
        name.split('_').partition(|part| *part == "variants");
    let mut matching = match others.is_empty() {
        true => Table::new(),
        false => conditions(&others.join("_"))?,
    };
    let is_variant = |key: &&str| !STANDARD.contains(key);
    if !all.is_empty() {
        let variants: Vec<&str> = VARIANTS.into_iter().filter(is_variant).collect();
        matching.insert("variant".to_owned(), list(variants.iter().copied()));
        return Some((matching, variants));
    }
    let variant = matching.get("variant").and_then(Toml::as_str);
    match variant.filter(|variant| *variant != "standard") {
        Some(variant) => {
            let is_played = |key: &&str| is_variant(key) && *key == variant;
            let variants = VARIANTS.into_iter().filter(is_played).collect();
            Some((matching, variants))
        }
        None => {
            let has_time = matching.contains_key("clock") || matching.contains_key("speed");
            let played = if has_time { &STANDARD[..2] } else { &STANDARD };
            matching.insert("variant".to_owned(), list(played.iter().copied()));
            Some((matching, Vec::new()))
        }
    }
}

/// A valid name for an engine, unique for the games that it plays.
fn engine_name(file: &str, games: Option<&str>) -> String {
    let games = games.map(|games| format!("-{games}")).unwrap_or_default();
    let rest = MAX_NAME_CHARS.saturating_sub(games.chars().count());
    let name = file.chars().take(rest).chain(games.chars());
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = name.map(|c| if valid(c) { c } else { '-' });
    name.take(MAX_NAME_CHARS).collect()
}
