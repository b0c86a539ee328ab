//! The keys of lichess-bot.

use toml::{Table, Value as Toml};

use super::accepted::{accept_nothing, set_names, within};
use super::books::PeerBooks;
use super::draft::{Draft, Outcome, mappings, quoted};
use super::values::{
    DRAW_SCORE, EMBEDDED_ENGINE, NO_ONLINE_MOVES, NO_TABLES, SPEEDS, UNKNOWN_GAMES, VARIANTS,
    boolean, changed, chat, draw_switch, known_names, limit_all_games, list, not, same, selection,
    shown, table, uci_options, up_to, urls, user_names, users, whole,
};
use super::yaml::Value;
use super::{Peer, Place};
use crate::lichess::model::Speed;

/// Keys that have no counterpart, by their beginning, with the reason.
const DROPPED: &[(&str, &str)] = &[
    ("engine.online_moves.", NO_ONLINE_MOVES),
    ("engine.lichess_bot_tbs.", NO_TABLES),
    ("engine.draw_or_resign.offer_draw_score", DRAW_SCORE),
    ("engine.draw_or_resign.offer_draw_pieces", DRAW_SCORE),
    ("engine.draw_or_resign.offer_draw_for_egtb_zero", NO_TABLES),
    ("engine.draw_or_resign.resign_for_egtb_minus_two", NO_TABLES),
    (
        "engine.polyglot.normalization",
        "the weights of a book are used as they are",
    ),
    ("engine.xboard_options.egtpath.", NO_TABLES),
    ("engine.", EMBEDDED_ENGINE),
    (
        "fake_think_time",
        "an engine of limited strength takes its time like a human; see engine.strength",
    ),
    (
        "rate_limiting_delay",
        "moves have no rate limit, and refused ones are sent again",
    ),
    (
        "move_overhead",
        "the lag is measured in each game; engine.move_overhead_ms is kept back in addition",
    ),
    (
        "quit_after_all_games_finish",
        "Ctrl-C and SIGTERM always finish the running games, for at most daemon.grace_s",
    ),
    (
        "correspondence.checkin_period",
        "one request a minute covers all games",
    ),
    (
        "correspondence.",
        "the engine ponders in games with a clock only: engine.ponder",
    ),
    (
        "matchmaking.challenge_filter",
        "refusals are always remembered, by opponent and reason, for a time that doubles",
    ),
    (
        "matchmaking.delay_after_decline",
        "refusals are always remembered, by opponent and reason, for a time that doubles",
    ),
    (
        "matchmaking.challenge_decliner_file_name",
        "refusals are always remembered, by opponent and reason, for a time that doubles",
    ),
    (
        "matchmaking.opponent_allow_tos_violation",
        "accounts that Lichess has marked are not told apart",
    ),
];

pub(super) fn convert(draft: &mut Draft, place: &Place) {
    draft.map("url", "lichess", "url", place.url());
    draft.map_all(mappings! {
        "engine.ponder" => engine.ponder: boolean;
        "engine.uci_ponder" => engine.ponder: boolean;
    });
    super::engines::convert(draft, place, Peer::LichessBot, "engine.", None);
    uci_options(draft, "engine.uci_options.");
    books(draft, place);
    draws(draft);
    draft.map("abort_time", "games", "abort_after_s", up_to::<86_400>);
    super::takebacks(draft, "max_takebacks_accepted");
    draft.map_all(mappings! {
        "correspondence.move_time" => correspondence.move_time_s: up_to::<86_400>;
        "correspondence.disconnect_time" => correspondence.linger_s: up_to::<86_400>;
    });
    challenges(draft);
    draft.map_all(mappings! {
        "greeting.hello" => chat.greeting: chat;
        "greeting.goodbye" => chat.farewell: chat;
        "greeting.hello_spectators" => chat.greeting_spectators: chat;
        "greeting.goodbye_spectators" => chat.farewell_spectators: chat;
    });
    pgn(draft);
    matchmaking(draft);
    let protocol = draft.value("engine.protocol").map(ToString::to_string);
    let (options, unused, reason) = match protocol.as_deref() {
        Some("xboard") => (
            "engine.xboard_options.",
            "engine.uci_options.go_commands.",
            "the engine does not speak UCI",
        ),
        _ => (
            "engine.uci_options.",
            "engine.xboard_options.",
            "the engine does not speak XBoard's protocol",
        ),
    };
    draft.drop_all(unused, reason);
    limit_all_games(draft, &format!("{options}go_commands."), ("movetime", 1.0));
    allow_list(draft);
    for (prefix, reason) in DROPPED {
        draft.drop_all(prefix, reason);
    }
}

fn books(draft: &mut Draft, place: &Place) {
    super::book_switch(draft, "engine.polyglot.enabled");
    let mut books = PeerBooks::default();
    // Without variants it is a list.
    for (name, path) in draft
        .names("engine.polyglot.book.")
        .into_iter()
        .map(|name| (name.clone(), format!("engine.polyglot.book.{name}")))
        .chain([("standard".to_owned(), "engine.polyglot.book".to_owned())])
    {
        let Some((value, source)) = draft.take(&path) else {
            continue;
        };
        if !books.add(&name, value.texts(), source.clone()) {
            draft.drop_key(UNKNOWN_GAMES, source);
        }
    }
    books.write(draft, place, Vec::new());
    draft.map_all(mappings! {
        "engine.polyglot.selection" => book.selection: selection;
        "engine.polyglot.min_weight" => book.min_weight: up_to::<65_535>;
    });
    draft.map(
        "engine.polyglot.max_depth",
        "book",
        "max_ply",
        |value| match whole(value, 1_000) {
            Some(moves) if moves > 0 => changed(moves * 2, "counted in plies"),
            _ => not(format!("`{}` is not a number of moves", shown(value))),
        },
    );
}

fn draws(draft: &mut Draft) {
    draw_switch(draft, "engine.draw_or_resign.offer_draw_enabled");
    draft.map_all(mappings! {
        "engine.draw_or_resign.offer_draw_moves" => draw.min_level_moves: up_to::<1_000>;
    });
    if let Some((value, from)) = draft.take("engine.draw_or_resign.resign_enabled") {
        draft.set("resign", "enabled", boolean(&value), vec![from]);
        if value == Value::Bool(true) {
            draft.add(
                "resign",
                vec![("humans", true.into())],
                Vec::new(),
                "the key above is about both",
            );
        }
    }
    draft.map_all(mappings! {
        "engine.draw_or_resign.resign_score" => resign.score_cp: super::resign_score;
        "engine.draw_or_resign.resign_moves" => resign.min_lost_moves: up_to::<1_000>;
    });
}

fn challenges(draft: &mut Draft) {
    if draft.value("challenge.concurrency").is_some()
        && let Some((_, from)) = draft.take("max_concurrent_games")
    {
        draft.drop_key("challenge.concurrency is the limit of games", from);
    }
    draft.map_all(mappings! {
        "challenge.concurrency" => games.concurrency: up_to::<1_000>;
        "max_concurrent_games" => games.concurrency: up_to::<1_000>;
        "challenge.games_reserved_for_humans" => games.reserved_for_humans: up_to::<1_000>;
        "challenge.max_simultaneous_games_per_user" => games.per_opponent: up_to::<1_000>;
    });
    prefer(draft);
    draft.map_all(mappings! {
        "challenge.accept_bot" => challenge.bots: boolean;
        "challenge.only_bot" => challenge.humans: opposite;
        "challenge.min_increment" => challenge.min_increment_s: up_to::<1_000_000_000>;
        "challenge.max_increment" => challenge.max_increment_s: up_to::<1_000_000_000>;
        "challenge.min_base" => challenge.min_base_s: up_to::<1_000_000_000>;
        "challenge.max_base" => challenge.max_base_s: up_to::<1_000_000_000>;
        "challenge.min_days" => challenge.min_days: up_to::<1_000_000_000>;
        "challenge.max_days" => challenge.max_days: up_to::<1_000_000_000>;
        "challenge.min_rating" => challenge.min_rating: up_to::<1_000_000_000>;
        "challenge.max_rating" => challenge.max_rating: up_to::<1_000_000_000>;
    });
    for (path, key, known) in [
        ("challenge.variants", "variants", &VARIANTS[..]),
        ("challenge.time_controls", "speeds", &SPEEDS[..]),
    ] {
        if let Some((value, from)) = draft.take_or_blank(path) {
            let (found, unknown) = known_names(&value, known);
            set_names(draft, key, &found, &unknown, from);
        }
    }
    if let Some((value, from)) = draft.take_or_blank("challenge.modes") {
        let (modes, _) = known_names(&value, &["casual", "rated"]);
        let both = ["rated", "casual"].map(|mode| (mode, modes.contains(&mode).into()));
        match modes.is_empty() {
            true => accept_nothing(draft, "no challenge is accepted, as no modes are", from),
            false => draft.add("challenge", both.into(), vec![from], ""),
        }
    }
    // Parts of a configuration may be of either bot.
    let is_whole = draft.value("engine.name").is_some();
    if is_whole && draft.value_or_blank("challenge.accept_bot").is_none() {
        let remark = "challenge.accept_bot is not set, and false in lichess-bot then";
        draft.add(
            "challenge",
            vec![("bots", false.into())],
            Vec::new(),
            remark,
        );
    }
    let section = draft.challenge();
    if !section.bots && !section.humans {
        let from = "challenge.accept_bot and challenge.only_bot".to_owned();
        let remark = "no challenge is accepted, as neither bots nor humans are";
        accept_nothing(draft, remark, from);
    }
    let days = draft.value("challenge.max_days");
    let has_limit =
        days.is_some_and(|days| whole(days, u32::MAX).is_some_and(|days| days < u32::MAX));
    if has_limit && section.speeds.contains(&Speed::Correspondence) {
        let matching = table([("clock", "unlimited".into())]);
        let remark = "with a limit of days, games without one are declined";
        draft.rule(
            matching,
            ("decline", "timeControl".into()),
            Vec::new(),
            remark,
        );
    }
    draft.map_all(mappings! {
        "challenge.block_list" => challenge.block: users;
        "challenge.online_block_list" => challenge.block_lists: urls;
    });
    if let Some((value, from)) = draft.take("challenge.bullet_requires_increment") {
        super::bullet_increment(draft, &value, from);
    }
    if let Some((value, from)) = draft.take("challenge.rating_difference") {
        match whole(&value, 4_000) {
            Some(max) => {
                let remark = "ratings that differ by more are declined";
                for range in [format!("{}..", max + 1), format!("..-{}", max + 1)] {
                    let matching = table([("rating_diff", range.into())]);
                    let reason = ("decline", "generic".into());
                    draft.rule(matching, reason, vec![from.clone()], remark);
                }
            }
            None => draft.drop_key("it is not a number", from),
        }
    }
    let age = draft.take("challenge.recent_bot_challenge_age");
    let max = draft.take("challenge.max_recent_bot_challenges");
    match (age, max) {
        (Some((age, from)), Some((max, also))) => {
            match (whole(&age, 30 * 86_400), whole(&max, 1_000)) {
                (Some(age), Some(max)) if age > 0 && max > 0 => {
                    let limit = table([("per_user", format!("{max}/{age}s").into())]);
                    let matching = table([("bot", true.into())]);
                    let remark = "counted across restarts";
                    draft.rule(matching, ("limit", limit.into()), vec![from, also], remark);
                }
                _ => {
                    for from in [from, also] {
                        draft.drop_key("it is not a number from 1, of 30 days at most", from);
                    }
                }
            }
        }
        (age, max) => {
            for (_, from) in age.into_iter().chain(max) {
                draft.drop_key("age and number are needed; see challenge.per_user", from);
            }
        }
    }
}

/// The rules of the list of users who alone are accepted, within the limits of `[challenge]`. They come last, as the first
/// rule that decides ends the evaluation.
fn allow_list(draft: &mut Draft) {
    let Some((value, from)) = draft.take("challenge.allow_list") else {
        return;
    };
    let (names, others) = user_names(&value);
    if names.is_empty() && others.is_empty() {
        return draft.drop_key("it names nobody", from);
    }
    let mut from = vec![from];
    let mut remark = "a rule within the limits of [challenge]".to_owned();
    if names.is_empty() {
        draft.drop_key(&others, from.remove(0));
    } else {
        if !others.is_empty() {
            remark += &format!("; {others}");
        }
        for mut matching in within(&draft.challenge()) {
            matching.insert("name".to_owned(), list(&names));
            let accept = ("accept", true.into());
            draft.rule(matching, accept, std::mem::take(&mut from), &remark);
            remark = "the same users in correspondence games".to_owned();
        }
    }
    let everybody = ("match", Toml::Table(Table::new()));
    let decline = ("decline", "generic".into());
    let remark = "nobody else is accepted";
    draft.add("[rule]", vec![everybody, decline], from, remark);
}

fn opposite(value: &Value) -> Outcome {
    match value {
        Value::Bool(only) => changed(!only, "the opposite"),
        other => boolean(other),
    }
}

/// The order of the queue, which lichess-bot sets by two keys.
fn prefer(draft: &mut Draft) {
    let sort = draft.take("challenge.sort_by");
    let preference = draft.take("challenge.preference");
    let kind = preference.as_ref().map(|(value, _)| value.to_string());
    let order = sort.as_ref().map(|(value, _)| value.to_string());
    let from: Vec<String> = [sort, preference]
        .into_iter()
        .flatten()
        .map(|(_, from)| from)
        .collect();
    if from.is_empty() {
        return;
    }
    let outcome = match (kind.as_deref(), order.as_deref()) {
        (Some("human"), _) => same("humans"),
        (Some("bot"), _) => same("bots"),
        (_, Some("best")) => changed("strongest", "by the rating alone"),
        (_, Some("first")) => same("first"),
        _ => not("the order is unknown; see challenge.prefer"),
    };
    draft.set("challenge", "prefer", outcome, from);
}

fn pgn(draft: &mut Draft) {
    let directory = draft.take("pgn_directory");
    let grouping = draft.take("pgn_file_grouping");
    let group = grouping
        .as_ref()
        .map_or("game".to_owned(), |(value, _)| value.to_string());
    let from: Vec<String> = [&directory, &grouping]
        .into_iter()
        .flatten()
        .map(|(_, from)| from.clone())
        .collect();
    let outcome = match (&directory, group.as_str()) {
        (None, _) if from.is_empty() => return,
        (None, _) => not(
            "there is no directory; all games are in the records, which knightwatch export writes as PGN",
        ),
        (Some(_), "game" | "opponent" | "all") => changed(
            group,
            "in a directory `lichess.org.pgn` in that of the records: records.directory",
        ),
        (Some(_), _) => not(format!("`{}` is unknown; see records.pgn", quoted(&group))),
    };
    draft.set("records", "pgn", outcome, from);
}

/// Prefix of the keys of the profile without a name.
const BASE_PROFILE: &str = "matchmaking.";

/// A kind of game, for `[[matchmaking.profile]]`.
#[derive(Clone, Default)]
struct Profile {
    bases: Vec<f64>,
    increments: Vec<u32>,
    days: Vec<f64>,
    variant: Option<String>,
    mode: Option<String>,
    rating: (Option<u32>, Option<u32>),
    difference: Option<u32>,
    from: Vec<String>,
}

fn matchmaking(draft: &mut Draft) {
    draft.map_all(mappings! {
        "matchmaking.allow_matchmaking" => matchmaking.enabled: boolean;
    });
    draft.map(
        "matchmaking.challenge_timeout",
        "matchmaking",
        "idle_s",
        |value| match whole(value, 1_000_000) {
            Some(minutes) => changed(minutes.max(1) * 60, "in seconds"),
            None => not(format!("`{}` is not a number of minutes", shown(value))),
        },
    );
    draft.map_all(mappings! {
        "matchmaking.block_list" => matchmaking.block: users;
        "matchmaking.online_block_list" => matchmaking.block_lists: urls;
    });
    let concurrency = draft.value("challenge.concurrency");
    let concurrency = concurrency
        .and_then(|value| whole(value, 1_000))
        .unwrap_or(1);
    draft.map(
        "matchmaking.allow_during_games",
        "matchmaking",
        "concurrency",
        |value| match value {
            Value::Bool(true) => changed(concurrency, "games up to which others are sought"),
            _ => changed(1, "games are sought while none is running"),
        },
    );
    draft.map(
        "matchmaking.rating_preference",
        "matchmaking",
        "order",
        |value| match value.to_string().as_str() {
            "high" => same("strongest"),
            "low" => same("weakest"),
            _ => changed("due", "the least recently met comes first"),
        },
    );
    if let Some((_, from)) = draft.take("matchmaking.include_challenge_block_list") {
        draft.drop_key("users in challenge.block are never challenged", from);
    }
    let base = profile(draft, BASE_PROFILE, Profile::default());
    let overrides = draft.names("matchmaking.overrides.");
    if !base.from.is_empty() {
        add_profile(draft, None, &base);
    }
    for name in overrides {
        let prefix = format!("matchmaking.overrides.{name}.");
        draft.drop_all(
            &format!("{prefix}rating_preference"),
            "matchmaking.order holds for all profiles",
        );
        draft.drop_all(
            &format!("{prefix}challenge_filter"),
            "refusals are always remembered",
        );
        let own = Profile {
            from: Vec::new(),
            ..base.clone()
        };
        let own = profile(draft, &prefix, own);
        if !own.from.is_empty() {
            add_profile(draft, Some(&name), &own);
        }
    }
}

/// Reads the keys of a profile over `known` ones. In a profile with a name, a key without a value removes the known one.
fn profile(draft: &mut Draft, prefix: &str, mut known: Profile) -> Profile {
    let has_name = prefix != BASE_PROFILE;
    let mut take = |name: &str| {
        let path = format!("{prefix}{name}");
        let (value, from) = match has_name {
            true => draft.take_or_blank(&path)?,
            false => draft.take(&path)?,
        };
        known.from.push(from);
        Some(Some(value).filter(|value| *value != Value::Empty))
    };
    let numbers = |value: Option<Value>| -> Vec<f64> {
        let texts = value.iter().flat_map(Value::texts);
        texts.filter_map(|text| text.parse().ok()).collect()
    };
    let rating = |value: Option<Value>| value.and_then(|value| whole(&value, 4_000));
    let bases = take("challenge_initial_time");
    let increments = take("challenge_increment");
    let days = take("challenge_days");
    let variant = take("challenge_variant");
    let mode = take("challenge_mode");
    let min = take("opponent_min_rating");
    let max = take("opponent_max_rating");
    let difference = take("opponent_rating_difference");
    if let Some(bases) = bases {
        known.bases = numbers(bases);
    }
    if let Some(days) = days {
        known.days = numbers(days);
    }
    if let Some(increments) = increments {
        let seconds = numbers(increments).into_iter();
        known.increments = seconds.map(|seconds| seconds as u32).collect();
    }
    if let Some(variant) = variant {
        known.variant = variant.map(|variant| variant.to_string());
    }
    if let Some(mode) = mode {
        // Without a mode, the games are casual.
        known.mode = Some(mode.map_or("casual".to_owned(), |mode| mode.to_string()));
    }
    if let Some(min) = min {
        known.rating.0 = rating(min);
    }
    if let Some(max) = max {
        known.rating.1 = rating(max);
    }
    if let Some(difference) = difference {
        known.difference = rating(difference);
    }
    known
}

fn add_profile(draft: &mut Draft, name: Option<&str>, profile: &Profile) {
    let mut entries: Vec<(&'static str, Toml)> = Vec::new();
    if let Some(name) = name {
        entries.push(("name", quoted(name).into()));
    }
    let increments = if profile.increments.is_empty() {
        &[0][..]
    } else {
        &profile.increments
    };
    let clocks = profile.bases.iter().flat_map(|base| {
        let minutes = base / 60.0;
        increments
            .iter()
            .map(move |increment| format!("{minutes}+{increment}"))
    });
    let days = profile.days.iter().map(|days| format!("{days}d"));
    let clocks: Vec<String> = clocks.chain(days).collect();
    if !clocks.is_empty() {
        entries.push(("clock", list(clocks)));
    }
    let mut remark = "a profile".to_owned();
    if let Some(variant) = &profile.variant {
        let is_rated = profile.mode.as_ref().is_some_and(|mode| mode != "casual");
        // Lichess rates no correspondence games of other variants.
        let is_standard_only = is_rated && !profile.days.is_empty();
        entries.push(match variant.as_str() {
            "random" if is_standard_only => ("variant", "standard".into()),
            "random" => ("variant", list(["standard", "chess960"])),
            other => ("variant", other.into()),
        });
        if variant == "random" {
            remark += match is_standard_only {
                true => "; of `random` variants only standard can be rated with days",
                false => "; `random` variants are standard and chess960 here",
            };
        }
    }
    if let Some(mode) = &profile.mode {
        entries.push(("rated", (mode != "casual").into()));
        if mode == "random" {
            remark += "; games of the `random` mode are rated here";
        }
    }
    let rating = match profile.rating {
        (None, None) => None,
        (min, max) => Some(format!("{}..{}", min.unwrap_or(0), max.unwrap_or(4_000))),
    };
    entries.extend(rating.map(|rating| ("rating", rating.into())));
    let difference = profile.difference.map(|max| format!("-{max}..{max}"));
    entries.extend(difference.map(|difference| ("rating_diff", difference.into())));
    draft.add(
        "[matchmaking.profile]",
        entries,
        profile.from.clone(),
        remark,
    );
}
