//! The keys of BotLi.

use std::collections::BTreeMap;

use toml::{Table, Value as Toml};

use super::accepted::{clocks_within, games_within, not_played, set_names};
use super::books::PeerBooks;
use super::draft::{Draft, mappings, quoted};
use super::values::{
    DRAW_SCORE, EMBEDDED_ENGINE, NO_ONLINE_MOVES, NO_TABLES, SPEEDS, UNKNOWN_GAMES, VARIANTS,
    boolean, chat, draw_switch, known_names, limit_all_games, list, selection, table, uci_options,
    up_to, urls, user_names, users, whole,
};
use super::yaml::Value;
use super::{Peer, Place};
use crate::config::ClockSpec;
use crate::lichess::model::Speed;

/// Keys that have no counterpart, by their beginning, with the reason.
const DROPPED: &[(&str, &str)] = &[
    ("engines.", EMBEDDED_ENGINE),
    ("syzygy.", NO_TABLES),
    ("gaviota.", NO_TABLES),
    ("online_moves.", NO_ONLINE_MOVES),
    (
        "opening_books.priority",
        "the book is always asked first, then the engine",
    ),
    (
        "opening_books.read_learn",
        "the learning field of a book is shown by knightwatch book probe, and not used",
    ),
    (
        "opening_books.",
        "selection, depth and repetitions are set for all books together, in [book]; numbers of moves have no setting",
    ),
    ("offer_draw.score", DRAW_SCORE),
    (
        "matchmaking.selection",
        "profiles are chosen by their weight",
    ),
];

/// Names of the engine for all games.
const DEFAULT_ENGINES: [&str; 2] = ["standard", "default"];

/// Conditions that BotLi may set for bots and humans separately.
const KINDS: [(&str, bool); 2] = [("human", false), ("bot", true)];

pub(super) fn convert(draft: &mut Draft, place: &Place) {
    draft.map("url", "lichess", "url", place.url());
    engines(draft, place);
    books(draft, place);
    draws(draft);
    draft.map_all(mappings! {
        "challenge.concurrency" => games.concurrency: up_to::<1_000>;
    });
    super::takebacks(draft, "challenge.max_takebacks");
    whitelist(draft);
    draft.map_all(mappings! {
        "blacklist" => challenge.block: users;
        "online_blacklists" => challenge.block_lists: urls;
    });
    challenges(draft);
    draft.map_all(mappings! {
        "messages.greeting" => chat.greeting: chat;
        "messages.goodbye" => chat.farewell: chat;
        "messages.greeting_spectators" => chat.greeting_spectators: chat;
        "messages.goodbye_spectators" => chat.farewell_spectators: chat;
    });
    matchmaking(draft);
    for (prefix, reason) in DROPPED {
        draft.drop_all(prefix, reason);
    }
}

/// The speeds that BotLi plays: it declines correspondence games.
fn clock_speeds() -> Vec<&'static str> {
    let is_clock = |speed: &&str| *speed != Speed::Correspondence.key();
    SPEEDS.into_iter().filter(is_clock).collect()
}

/// Rules that accept the users of the whitelist before any other limit but those of variants, of correspondence games and
/// of block lists.
fn whitelist(draft: &mut Draft) {
    let Some((value, from)) = draft.take("whitelist") else {
        return;
    };
    let (names, others) = user_names(&value);
    let mut remark = match others.is_empty() {
        true => "a rule".to_owned(),
        false => format!("a rule; {others}"),
    };
    if names.is_empty() {
        return draft.drop_key("it names nobody", from);
    }
    let variants_of = |kind: &str| {
        let named = draft.value_or_blank(&format!("challenge.{kind}.variants"));
        let variants = named.or_else(|| draft.value_or_blank("challenge.variants"));
        variants.map(|variants| known_names(variants, &VARIANTS).0)
    };
    let [humans, bots] = KINDS.map(|(kind, is_bot)| {
        let matching = table([("bot", is_bot.into())]);
        (matching, variants_of(kind))
    });
    let kinds = match humans.1 == bots.1 {
        true => vec![(Table::new(), humans.1)],
        false => vec![humans, bots],
    };
    let mut from = vec![from];
    for (mut matching, variants) in kinds {
        if variants.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        matching.insert("name".to_owned(), list(&names));
        matching.insert("speed".to_owned(), list(clock_speeds()));
        if let Some(variants) = variants {
            matching.insert("variant".to_owned(), list(variants));
        }
        let accept = ("accept", true.into());
        draft.rule(matching, accept, std::mem::take(&mut from), &remark);
        remark = "the same users as bots".to_owned();
    }
    if let Some(from) = from.pop() {
        draft.drop_key("no variant is played", from);
    }
}

fn engines(draft: &mut Draft, place: &Place) {
    let mut names = draft.names("engines.");
    names.retain(|name| !DEFAULT_ENGINES.contains(&name.as_str()));
    for name in DEFAULT_ENGINES {
        let prefix = format!("engines.{name}.");
        super::engines::convert(draft, place, Peer::BotLi, &prefix, None);
        draft.map(&format!("{prefix}ponder"), "engine", "ponder", boolean);
        uci_options(draft, &format!("{prefix}uci_options."));
        limit_all_games(draft, &format!("{prefix}limits."), ("time", 1_000.0));
    }
    names.sort_by_key(|name| super::engines::order(name));
    for name in &names {
        let prefix = format!("engines.{name}.");
        super::engines::convert(draft, place, Peer::BotLi, &prefix, Some(name));
    }
}

fn books(draft: &mut Draft, place: &Place) {
    super::book_switch(draft, "opening_books.enabled");
    let mut paths = BTreeMap::new();
    let mut from = Vec::new();
    for path in draft.paths("books.") {
        if let Some((value, source)) = draft.take(&path) {
            paths.insert(path["books.".len()..].to_owned(), value.to_string());
            from.push(source);
        }
    }
    let mut books = PeerBooks::default();
    for name in draft.names("opening_books.books.") {
        let key = |key: &str| format!("opening_books.books.{name}.{key}");
        let is_default = name == "standard";
        if let Some((value, source)) = draft.take(&key("names")) {
            let named = value
                .texts()
                .into_iter()
                .filter_map(|name| paths.get(&name).cloned());
            let named: Vec<String> = named.collect();
            if named.is_empty() {
                draft.drop_key("none of them is in `books`", source);
            } else if !books.add(&name, named, source.clone()) {
                draft.drop_key(UNKNOWN_GAMES, source);
            }
        }
        if is_default {
            draft.map(&key("selection"), "book", "selection", selection);
            draft.map(
                &key("allow_repetitions"),
                "book",
                "allow_repetitions",
                boolean,
            );
            draft.map(&key("max_depth"), "book", "max_ply", up_to::<1_000>);
        }
    }
    if books.is_empty() {
        for from in from {
            draft.drop_key("no book of opening_books names it", from);
        }
        return;
    }
    books.write(draft, place, from);
}

fn draws(draft: &mut Draft) {
    draw_switch(draft, "offer_draw.enabled");
    draft.map_all(mappings! {
        "offer_draw.consecutive_moves" => draw.min_level_moves: up_to::<1_000>;
        "offer_draw.min_game_length" => draw.min_move: up_to::<1_000>;
    });
    let no_draws = || {
        table([
            ("offer_draws", false.into()),
            ("accept_draws", false.into()),
        ])
    };
    if let Some((value, from)) = draft.take("offer_draw.against_humans") {
        match value {
            Value::Bool(false) => {
                let matching = table([("bot", false.into())]);
                draft.rule(matching, ("play", no_draws().into()), vec![from], "a rule");
            }
            _ => draft.drop_key("that is so here without a setting", from),
        }
    }
    draft.map_all(mappings! {
        "resign.enabled" => resign.enabled: boolean;
        "resign.score" => resign.score_cp: super::resign_score;
        "resign.consecutive_moves" => resign.min_lost_moves: up_to::<1_000>;
        "resign.against_humans" => resign.humans: boolean;
    });
    let no_resignation = || table([("resign", false.into())]);
    for (path, play) in [
        ("offer_draw.min_rating", no_draws()),
        ("resign.min_rating", no_resignation()),
    ] {
        let Some((value, from)) = draft.take(path) else {
            continue;
        };
        match whole(&value, 4_000) {
            Some(min) if min > 0 => {
                let matching = table([("rating", format!("..{}", min - 1).into())]);
                draft.rule(
                    matching,
                    ("play", play.into()),
                    vec![from],
                    "a rule for lower ratings",
                );
            }
            _ => draft.drop_key("it is not a rating", from),
        }
    }
}

/// Reads the conditions for humans and bots: `[challenge]` gets those that are the same or wider, rules decline the rest.
/// The rules that accept exact time controls come behind those that decline for other reasons.
fn challenges(draft: &mut Draft) {
    let of_kind = |(kind, is_bot): (&str, bool)| {
        let matching = table([("bot", is_bot.into())]);
        (format!("challenge.{kind}."), matching)
    };
    let [humans, bots] = KINDS.map(of_kind);
    let all = [("challenge.".to_owned(), Table::new()), humans, bots];
    for (prefix, kind) in &all {
        limits_of(draft, prefix, kind);
    }
    modes(draft);
    for (prefix, matching) in [
        ("challenge.", table([("bot", true.into())])),
        ("challenge.bot.", table([("bot", true.into())])),
        ("challenge.human.", table([("bot", false.into())])),
    ] {
        if let Some((value, from)) = draft.take(&format!("{prefix}bullet_with_increment_only")) {
            super::increment_rule(draft, &value, from, matching);
        }
    }
    for (prefix, kind) in &all {
        time_controls(draft, prefix, kind);
    }
}

/// Reads limits of time and variants below `prefix`; those of one kind of opponent become rules that decline.
fn limits_of(draft: &mut Draft, prefix: &str, kind: &Table) {
    let is_common = kind.is_empty();
    let with = |key: &str, value: Toml| {
        let mut matching = kind.clone();
        matching.insert(key.to_owned(), value);
        matching
    };
    for (theirs, ours, range_key, is_min) in [
        ("min_increment", "min_increment_s", "increment_s", true),
        ("max_increment", "max_increment_s", "increment_s", false),
        ("min_initial", "min_base_s", "base_s", true),
        ("max_initial", "max_base_s", "base_s", false),
    ] {
        let path = format!("{prefix}{theirs}");
        // A maximum of 0 is none in BotLi.
        let is_zero = draft.value(&path).and_then(|value| whole(value, 1)) == Some(0);
        if is_common && !is_zero {
            draft.map(&path, "challenge", ours, up_to::<1_000_000_000>);
            continue;
        }
        let Some((value, from)) = draft.take(&path) else {
            continue;
        };
        let (range, reason) = match (whole(&value, 1_000_000_000), is_min) {
            (Some(min), true) if min > 0 => (format!("..{}", min - 1), "tooFast"),
            (Some(max), false) if max > 0 => (format!("{}..", max + 1), "tooSlow"),
            _ => {
                draft.drop_key("it limits nothing", from);
                continue;
            }
        };
        let matching = with(range_key, range.into());
        draft.rule(matching, ("decline", reason.into()), vec![from], "a rule");
    }
    if let Some((value, from)) = draft.take(&format!("{prefix}max_estimated_game_duration")) {
        match whole(&value, 100_000) {
            Some(0) => draft.drop_key("it limits nothing", from),
            Some(minutes) => {
                let seconds = minutes.saturating_mul(45);
                let matching = with("estimate_s", format!("{}..", seconds + 1).into());
                let remark =
                    "the estimate of Lichess, for one side: initial time and 40 increments";
                draft.rule(matching, ("decline", "tooSlow".into()), vec![from], remark);
            }
            None => draft.drop_key("it is not a number of minutes", from),
        }
    }
    if let Some((value, from)) = draft.take_or_blank(&format!("{prefix}variants")) {
        let (found, unknown) = known_names(&value, &VARIANTS);
        let keys = ("variants", "variant");
        allow(draft, kind, keys, (&found, &VARIANTS), &unknown, from);
    }
}

/// Reads `time_controls` below `prefix`, or the earlier `human_time_controls` and `bot_time_controls`: speeds and exact ones.
fn time_controls(draft: &mut Draft, prefix: &str, kind: &Table) {
    let earlier = format!("{}_time_controls", prefix.trim_end_matches('.'));
    let of_kind = draft.take_or_blank(&format!("{prefix}time_controls"));
    let Some((value, from)) = of_kind.or_else(|| draft.take_or_blank(&earlier)) else {
        return;
    };
    let (found, others) = known_names(&value, &clock_speeds());
    let (clocks, unknown): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|text| ClockSpec::try_from(text.clone()).is_ok());
    let section = draft.challenge();
    let games = games_within(&section).filter(|games| {
        let bot = games.get("bot");
        bot.is_none() || kind.is_empty() || bot == kind.get("bot")
    });
    if let (Some(mut matching), false) = (games, clocks.is_empty()) {
        matching.extend(clocks_within(&section));
        matching.extend(kind.clone());
        matching.insert("clock".to_owned(), list(clocks));
        let remark = format!("from {from}, a rule for exact time controls within [challenge]");
        draft.rule(matching, ("accept", true.into()), Vec::new(), &remark);
    }
    let keys = ("speeds", "speed");
    allow(draft, kind, keys, (&found, &SPEEDS), &unknown, from);
}

/// Accepts only these names: in `[challenge]`, or by a rule that declines the others of one kind of opponent.
fn allow(
    draft: &mut Draft,
    kind: &Table,
    (key, matched): (&'static str, &str),
    (found, all): (&[&'static str], &[&'static str]),
    unknown: &[String],
    from: String,
) {
    if kind.is_empty() {
        return set_names(draft, key, found, unknown, from);
    }
    let others: Vec<&str> = all
        .iter()
        .copied()
        .filter(|name| !found.contains(name))
        .collect();
    if others.is_empty() {
        draft.drop_key("that is so here without a setting", from);
        return;
    }
    let mut matching = kind.clone();
    matching.insert(matched.to_owned(), list(others));
    let reason = if matched == "variant" {
        "variant"
    } else {
        "timeControl"
    };
    let remark = match unknown.is_empty() {
        true => "a rule declines the others".to_owned(),
        false => format!("a rule declines the others; {}", not_played(unknown)),
    };
    draft.rule(matching, ("decline", reason.into()), vec![from], &remark);
}

/// Reads `modes` for bots and humans.
fn modes(draft: &mut Draft) {
    let mut wanted = [None, None];
    let mut places = Vec::new();
    let mut listed = [false, false];
    if let Some((value, from)) = draft.take("challenge.modes") {
        let (modes, _) = known_names(&value, &["casual", "rated"]);
        wanted = [Some(modes.clone()), Some(modes)];
        places.push(from);
    }
    for (number, (kind, _)) in KINDS.iter().enumerate() {
        for path in [
            format!("challenge.{kind}_modes"),
            format!("challenge.{kind}.modes"),
        ] {
            let is_listed = draft.paths(&path).contains(&path);
            listed[number] |= is_listed;
            if let Some((value, from)) = draft.take(&path) {
                wanted[number] = Some(known_names(&value, &["casual", "rated"]).0);
                places.push(from);
            }
        }
    }
    if places.is_empty() && listed == [false, false] {
        return;
    }
    let has = |mode: &str| wanted.iter().flatten().any(|modes| modes.contains(&mode));
    let are_listed = |modes: &Option<Vec<_>>| modes.as_ref().is_some_and(|modes| !modes.is_empty());
    let remark = if places.is_empty() {
        "no modes are listed"
    } else if wanted[0] != wanted[1] && wanted.iter().all(are_listed) {
        "what differs is declined by rules"
    } else {
        ""
    };
    let both = ["rated", "casual"].map(|mode| (mode, has(mode).into()));
    draft.add("challenge", both.into(), places, remark);
    for ((kind, is_bot), modes) in KINDS.into_iter().zip(&wanted) {
        if modes.is_none() && !listed[usize::from(is_bot)] {
            continue;
        }
        if modes.as_ref().is_none_or(Vec::is_empty) {
            let key = if is_bot { "bots" } else { "humans" };
            let remark = format!("no modes for {kind}");
            draft.add("challenge", vec![(key, false.into())], Vec::new(), remark);
            continue;
        }
        for (mode, other) in [("rated", "casual"), ("casual", "rated")] {
            let modes = modes.as_deref().unwrap_or_default();
            if has(mode) && !modes.contains(&mode) {
                let matching = table([("bot", is_bot.into()), ("rated", (mode == "rated").into())]);
                let remark = "it follows from the modes of bots and humans";
                draft.rule(matching, ("decline", other.into()), Vec::new(), remark);
            }
        }
    }
}

fn matchmaking(draft: &mut Draft) {
    draft.map_all(mappings! {
        "matchmaking.delay" => matchmaking.idle_s: up_to::<1_000_000>;
        "matchmaking.timeout" => matchmaking.challenge_timeout_s: up_to::<3_600>;
    });
    for name in draft.names("matchmaking.types.") {
        let prefix = format!("matchmaking.types.{name}.");
        let mut from = Vec::new();
        let mut take = |draft: &mut Draft, key: &str| {
            let (value, place) = draft.take(&format!("{prefix}{key}"))?;
            from.push(place);
            Some(value)
        };
        let mut entries: Vec<(&'static str, Toml)> = vec![("name", quoted(&name).into())];
        if let Some(weight) = take(draft, "weight").and_then(|value| whole(&value, 1_000_000)) {
            entries.push(("weight", weight.into()));
        }
        if let Some(clock) = take(draft, "tc") {
            entries.push(("clock", clock.to_string().into()));
        }
        if let Some(variant) = take(draft, "variant") {
            entries.push(("variant", variant.to_string().into()));
        }
        if let Some(Value::Bool(rated)) = take(draft, "rated") {
            entries.push(("rated", rated.into()));
        }
        if let Some(max) = take(draft, "max_rating_diff").and_then(|value| whole(&value, 10_000)) {
            entries.push(("rating_diff", format!("-{max}..{max}").into()));
        }
        draft.drop_all(
            &format!("{prefix}multiplier"),
            "the time after a refusal doubles with each one",
        );
        draft.drop_all(
            &format!("{prefix}min_rating_diff"),
            "rating_diff of a profile is one range",
        );
        draft.drop_all(
            &format!("{prefix}target_rating_diff"),
            "matchmaking.order = \"nearest\" takes opponents near the own rating first, in all profiles",
        );
        if !from.is_empty() {
            let remark = "a profile; games are sought once enabled = true is in [matchmaking]";
            draft.add("[matchmaking.profile]", entries, from, remark);
        }
    }
}
