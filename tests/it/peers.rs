//! Coming from other bots: `knightwatch convert`, `init --from`, and the page that compares the keys.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use knightwatch::config::{EngineOptions, OptionValue, Settings, Sources, Strength};
use knightwatch::lichess::model::Variant;
use knightwatch::sim::NewUser;
use tempfile::TempDir;

use crate::common::Site;

/// The configurations of both peers, with all keys.
const FIXTURES: [(&str, &str); 2] = [
    (
        "lichess-bot",
        include_str!("../fixtures/peers/lichess-bot.yml"),
    ),
    ("BotLi", include_str!("../fixtures/peers/botli.yml")),
];

fn knightwatch(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    command.args(arguments).current_dir(home).env("HOME", home);
    for variable in [
        "LICHESS_TOKEN",
        "XDG_CONFIG_HOME",
        "KNIGHTWATCH__LICHESS__URL",
    ] {
        command.env_remove(variable);
    }
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Converts a text; returns the configuration as it is loaded and as it is written.
fn converted(yaml: &str) -> (Settings, String) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.yml"), yaml).unwrap();
    let output = knightwatch(home.path(), &["convert", "config.yml", "-o", "out.toml"]);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty());
    let file = home.path().join("out.toml");
    let written = fs::read_to_string(&file).unwrap();
    let sources = Sources {
        file: Some(file),
        ..Sources::default()
    };
    let settings = Settings::load(&sources).unwrap_or_else(|error| panic!("{error}\n{written}"));
    (settings, written)
}

/// The comments of a converted configuration, in one line.
fn comments(written: &str) -> String {
    let lines = written.lines().filter_map(|line| line.strip_prefix('#'));
    lines.collect()
}

/// A converted configuration, for `explain`.
struct Explained {
    home: TempDir,
    /// The numbers of keys, as `convert` prints them.
    summary: String,
}

impl Explained {
    fn new(yaml: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.yml"), yaml).unwrap();
        let output = knightwatch(home.path(), &["convert", "config.yml", "-o", "out.toml"]);
        assert!(output.status.success(), "{output:?}");
        let summary = text(&output.stderr).to_owned();
        Self { home, summary }
    }

    /// The explanation of a challenge, as in `Anna --clock 3+2`.
    fn of(&self, challenge: &str) -> String {
        let explain = ["explain", "--config", "out.toml", "--user"];
        let arguments: Vec<&str> = explain.into_iter().chain(challenge.split(' ')).collect();
        let output = knightwatch(self.home.path(), &arguments);
        assert!(output.status.success(), "{challenge}: {output:?}");
        text(&output.stdout).to_owned()
    }

    /// Asserts that each of these challenges gets an answer that begins like this.
    fn assert_answers(&self, answers: &[(&str, &str)]) {
        for (challenge, answer) in answers {
            let printed = self.of(challenge);
            let begins = format!("\n{answer}");
            assert!(printed.contains(&begins), "{challenge}: {printed}");
        }
    }
}

/// The lines of a YAML map with its keys and their indentation.
fn keys(yaml: &str) -> impl Iterator<Item = (usize, &str)> {
    yaml.lines().filter_map(|line| {
        let word = line.trim_start();
        let (key, _) = word.split_once(':')?;
        let is_key = !word.starts_with(['#', '-']);
        is_key.then_some((line.len() - word.len(), key))
    })
}

/// The paths of all keys with a value of their own, as in `engine.uci_options.Hash`.
fn paths(yaml: &str) -> Vec<String> {
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut paths = Vec::new();
    for (indent, key) in keys(yaml) {
        open.retain(|(outer, _)| *outer < indent);
        let path = match open.last() {
            Some((_, outer)) => format!("{outer}.{key}"),
            None => key.to_owned(),
        };
        paths.push(path.clone());
        open.push((indent, path));
    }
    let is_leaf = |path: &String| {
        !paths
            .iter()
            .any(|other| other.starts_with(&format!("{path}.")))
    };
    let leaves = paths.iter().filter(|path| is_leaf(path));
    leaves.cloned().collect()
}

#[test]
fn convert_names_every_key_of_both_peers() {
    for (peer, yaml) in FIXTURES {
        let (_, written) = converted(yaml);
        assert!(written.starts_with(&format!(
            "# Converted from config.yml of {peer} by Knightwatch."
        )));
        let words: String = written
            .lines()
            .map(|line| line.trim_start_matches('#'))
            .collect();
        let paths = paths(yaml);
        assert!(paths.len() > 80, "{peer}: {}", paths.len());
        for path in paths {
            let named = format!("{path} (line ");
            assert!(
                words.contains(&named),
                "{peer}: {path} is not named in\n{written}"
            );
        }
        assert!(!written.contains("nothing is known"), "{written}");
    }
}

#[test]
fn convert_lichess_bot_carries_settings_over() {
    let (settings, written) = converted(FIXTURES[0].1);
    assert!(settings.engine.ponder && settings.engine.hash_mib == 512);
    assert_eq!(settings.engine.threads, 4);
    let [engine] = &settings.engine.external[..] else {
        panic!("{written}");
    };
    assert_eq!(
        (engine.name.as_str(), engine.threads),
        ("engine_name", Some(4))
    );
    assert!(
        engine.command[0].ends_with("engines/engine_name"),
        "{written}"
    );
    assert_eq!(
        settings.engine.default, "knightwatch",
        "the program is not there"
    );
    assert_eq!(settings.games.concurrency, 1);
    assert_eq!(settings.games.abort_after_s, 30);
    assert_eq!(settings.challenge.max_base_s, 1800);
    assert_eq!(settings.challenge.max_increment_s, 20);
    assert_eq!(settings.challenge.block.len(), 2);
    assert_eq!(settings.correspondence.move_time_s, 60);
    assert_eq!(settings.chat.greeting, "Hello from {me}!");
    assert_eq!(settings.resign.score_cp, 1000);
    assert_eq!(settings.book.max_ply, 40);
    assert!(!settings.resign.enabled && settings.draw.offer && !settings.book.enabled);
    assert_eq!(settings.matchmaking.idle_s, 1800);
    let profiles = &settings.matchmaking.profile;
    assert_eq!(
        (profiles.len(), profiles[0].clock.len()),
        (2, 6),
        "{written}"
    );
    assert_eq!(profiles[1].name, "slow");
    let limits = (engine.nodes, engine.depth, engine.movetime_ms);
    assert_eq!(limits, (Some(1), Some(5), Some(1_000)), "{written}");
    assert!(
        settings
            .rule
            .iter()
            .all(|rule| rule.play.max_nodes.is_none())
    );
    assert!(
        written.contains("engine.dir (line 6), engine.name (line 7)"),
        "{written}"
    );
}

#[test]
fn convert_botli_carries_settings_over() {
    let (settings, written) = converted(FIXTURES[1].1);
    let clock = settings
        .rule
        .iter()
        .find(|rule| !rule.matching.clock.is_empty());
    assert_eq!(clock.unwrap().accept, Some(true), "{written}");
    assert_eq!(settings.games.max_takebacks, 3);
    assert_eq!(settings.matchmaking.idle_s, 480);
    assert_eq!(settings.matchmaking.profile.len(), 2, "{written}");
    assert_eq!(settings.book.files.len(), 2, "{written}");
    assert!(settings.book.files.iter().all(|file| file.is_absolute()));
    assert_eq!(settings.chat.greeting, "Hello, {engine} plays.");
    assert_eq!(settings.challenge.block.len(), 1);
    assert_eq!(settings.challenge.block_lists.len(), 1);
    // Bots play rated games only, and bullet only with an increment.
    let declines = |key: &str| written.contains(&format!("decline = \"{key}\""));
    assert!(declines("rated") && declines("tooFast"), "{written}");
    let engines = settings.engine.external.iter();
    let limits = engines.map(|engine| engine.movetime_ms);
    let limits: Vec<_> = limits.collect();
    assert_eq!(limits, [Some(5_000), None], "{written}");
    assert!(
        settings
            .rule
            .iter()
            .all(|rule| rule.play.max_move_ms.is_none())
    );
}

#[test]
fn convert_takes_fragments() {
    let (settings, _) =
        converted("challenge:\n  concurrency: 3\n  accept_bot: yes\n  only_bot: yes\n");
    assert!(settings.challenge.bots && !settings.challenge.humans);
    assert_eq!(settings.games.concurrency, 3);
    let (settings, _) = converted("challenge:\n  human_modes:\n  bot_modes: [rated, casual]\n");
    assert!(settings.challenge.bots && !settings.challenge.humans);
    let (settings, _) =
        converted("greeting: {hello: \"Hi {opponent}, {engine} {ram}\"}\nabort_time: 20\n");
    assert_eq!(settings.chat.greeting, "Hi {opponent}, {engine} ");
    let (settings, written) = converted(
        "challenge:\n  online_block_list: [\"https://example.com/list\", example.com/other]\n  \
         recent_bot_challenge_age: 60\n  max_recent_bot_challenges: 2\n",
    );
    let lists: Vec<String> = settings
        .challenge
        .block_lists
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lists, ["https://example.com/list"], "{written}");
    let limit = settings.rule.iter().find_map(|rule| rule.limit.clone());
    assert_eq!(limit.unwrap().per_user.to_string(), "2/1m", "{written}");
    // What our loader rejects is left out, with its words.
    let (settings, written) =
        converted("challenge:\n  concurrency: 0\n  games_reserved_for_humans: 5\nabort_time: x\n");
    assert_eq!(settings.games.concurrency, 4);
    assert!(
        written.contains("# Not carried over, challenge.concurrency (line 2): no game at a time"),
        "{written}"
    );
    let (settings, written) = converted("max_concurrent_games: 7\nchallenge:\n  concurrency: 3\n");
    assert_eq!(settings.games.concurrency, 3, "{written}");
    let variants = "challenge:\n  accept_bot: true\n  variants: [standard, bughouse]\n";
    let (settings, written) = converted(variants);
    assert_eq!(settings.challenge.variants.len(), 1);
    assert!(
        written.contains("changed: not played are bughouse."),
        "{written}"
    );
}

#[test]
fn converted_allow_list_accepts_its_users_only() {
    let explained = Explained::new(
        "challenge:\n  allow_list: [\"\", Anna, \"not a name\", bert]\n  bullet_requires_increment: true\n\
         engine:\n  uci_options:\n    go_commands:\n      movetime: 5000\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 3+2", "Accepted, rule 3"),
        ("Bert --clock 3+2", "Accepted, rule 3"),
        ("Cara --clock 3+2", "Declined, generic: rule 4"),
        ("Anna --title bot --clock 1+0", "Declined, tooFast"),
    ]);
}

#[test]
fn converted_allow_list_keeps_the_limits() {
    let explained = Explained::new(
        "challenge:\n  allow_list: [Anna]\n  accept_bot: false\n  variants: [standard, chess960]\n  \
         time_controls: [blitz, rapid, correspondence]\n  modes: [rated]\n  min_base: 180\n  max_increment: 5\n  \
         max_days: 3\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 3+2 --rated", "Accepted"),
        ("Anna --clock 2d --rated --variant chess960", "Accepted"),
        ("Anna --clock 3+2", "Declined"),
        ("Anna --clock 3+2 --rated --variant atomic", "Declined"),
        ("Anna --clock 3+2 --rated --title bot", "Declined"),
        ("Anna --clock 1+0 --rated", "Declined"),
        ("Anna --clock 2+2 --rated", "Declined"),
        ("Anna --clock 3+6 --rated", "Declined"),
        ("Anna --clock 5d --rated", "Declined"),
        ("Bert --clock 3+2 --rated", "Declined"),
    ]);
}

#[test]
fn converted_exact_time_control_keeps_the_limits() {
    let explained = Explained::new(
        "challenge:\n  variants: [standard]\n  time_controls: [bullet, blitz, 10+0, 20+0]\n  max_initial: 900\n  \
         human_modes: [casual, rated]\n  bot_modes: [rated]\nwhitelist: [Cara]\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 10+0", "Accepted"),
        ("Anna --clock 10+0 --title bot --rated", "Accepted"),
        ("Anna --clock 10+0 --title bot", "Declined, rated"),
        ("Anna --clock 10+0 --variant atomic", "Declined, standard"),
        ("Anna --clock 20+0", "Declined, tooSlow"),
        ("Anna --clock 15+0", "Declined, tooSlow"),
        ("Cara --clock 20+0", "Accepted"),
        ("Cara --clock 20+0 --variant atomic", "Declined, standard"),
    ]);
    let explained = Explained::new(
        "challenge:\n  human:\n    variants: [standard]\n    time_controls: [bullet, 10+0, 25+0]\n    modes: [rated]\n    \
         max_initial: 900\n  bot:\n    variants: [standard, chess960]\n    time_controls: [blitz, 15+0]\n    modes: [casual, rated]\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 10+0 --rated", "Accepted"),
        ("Anna --clock 10+0", "Declined, rated"),
        (
            "Anna --clock 10+0 --rated --variant chess960",
            "Declined, variant",
        ),
        ("Anna --clock 25+0 --rated", "Declined, tooSlow"),
        ("Anna --clock 15+0 --rated", "Declined, timeControl"),
        ("Anna --clock 10+0 --title bot", "Declined, timeControl"),
        ("Anna --clock 15+0 --title bot", "Accepted"),
    ]);
    let explained = Explained::new(
        "challenge:\n  time_controls: [10+0]\n  human_modes: [casual]\n  bot_modes:\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 10+0", "Accepted"),
        ("Anna --clock 10+0 --rated", "Declined, timeControl"),
        ("Anna --clock 10+0 --title bot", "Declined, noBot"),
        ("Anna --clock 3+2", "Declined, timeControl"),
    ]);
}

#[test]
fn converted_block_lists_name_what_is_no_user() {
    for list in ["challenge:\n  block_list", "whitelist: [Carl]\nblacklist"] {
        let (settings, written) =
            converted(&format!("{list}: [Bob, \"\", \"AI level 3\", \"*\"]\n"));
        assert_eq!(settings.challenge.block.len(), 1, "{written}");
        assert!(
            comments(&written).contains("not user names are AI level 3, *."),
            "{written}"
        );
    }
}

#[test]
fn converted_maximum_of_zero_is_that_of_the_other_bot() {
    for limit in [
        "max_initial",
        "max_increment",
        "max_estimated_game_duration",
    ] {
        for prefix in ["  ", "  human:\n    "] {
            let modes = "  human_modes: [casual]\n  bot_modes: [casual]\n";
            let explained = Explained::new(&format!("challenge:\n{modes}{prefix}{limit}: 0\n"));
            explained.assert_answers(&[("Anna --clock 3+2", "Accepted")]);
        }
    }
    let explained = Explained::new("challenge:\n  max_increment: 0\n");
    explained.assert_answers(&[
        ("Anna --clock 3+2", "Declined"),
        ("Anna --clock 3+0", "Accepted"),
    ]);
}

#[test]
fn converted_time_controls_of_a_kind_are_kept() {
    let explained = Explained::new(
        "challenge:\n  human_modes: [casual]\n  bot_modes: [casual]\n  bot_time_controls: [bullet]\n  \
         human_time_controls: [rapid, correspondence, 25+0]\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 10+0", "Accepted"),
        ("Anna --clock 25+0", "Accepted"),
        ("Anna --clock 3+2", "Declined, timeControl"),
        ("Anna --clock 2d", "Declined, timeControl"),
        ("Anna --clock 1+0 --title bot", "Accepted"),
        ("Anna --clock 3+2 --title bot", "Declined, timeControl"),
    ]);
}

#[test]
fn converted_lichess_bot_that_accepts_nobody_stays_so() {
    for nobody in [
        "accept_bot: false\n  only_bot: true",
        "modes: []",
        "modes:",
        "modes: [rapid]",
    ] {
        let (settings, written) = converted(&format!("challenge:\n  {nobody}\n"));
        assert!(!settings.challenge.accept, "{written}");
    }
}

#[test]
fn converted_lichess_bot_accepts_bots_only_if_it_says_so() {
    let accepts_bots = |yaml: &str| converted(yaml).0.challenge.bots;
    let engine = "engine:\n  name: e\nchallenge:\n  concurrency: 2\n";
    assert!(!accepts_bots(engine));
    assert!(accepts_bots(&format!("{engine}  accept_bot: true\n")));
    assert!(accepts_bots("challenge:\n  concurrency: 2\n"));
}

#[test]
fn converted_limit_of_days_declines_unlimited_games() {
    let speeds = "challenge:\n  time_controls: [blitz, correspondence]\n  max_days: ";
    let days = |max, answer| {
        let explained = Explained::new(&format!("{speeds}{max}\n"));
        explained.assert_answers(&[
            ("Anna --clock 2d", "Accepted"),
            ("Anna --clock unlimited", answer),
        ]);
    };
    days("7", "Declined, timeControl");
    days("14", "Declined, timeControl");
    days(".inf", "Accepted");
}

#[test]
fn converted_random_profile_is_sought() {
    let (settings, written) = converted(
        "matchmaking:\n  allow_matchmaking: true\n  challenge_variant: random\n  challenge_mode: random\n  \
         challenge_initial_time: [300]\n  challenge_increment: [3]\n  challenge_days: [1]\n",
    );
    assert!(settings.matchmaking.enabled, "{written}");
    let profile = &settings.matchmaking.profile[0];
    assert_eq!(profile.variant[..], [Variant::Standard], "{written}");
    // A profile that cannot be used leaves the others.
    let (settings, written) = converted(
        "matchmaking:\n  allow_matchmaking: true\n  challenge_initial_time: 300\n  challenge_increment: 3\n  \
         overrides:\n    far:\n      challenge_variant: chess960\n      challenge_mode: rated\n      challenge_days: 1\n",
    );
    assert!(settings.matchmaking.enabled, "{written}");
    assert_eq!(settings.matchmaking.profile.len(), 1, "{written}");
}

#[test]
fn converted_whitelist_keeps_variants_and_needs_a_clock() {
    let explained = Explained::new(
        "challenge:\n  human:\n    variants: [standard]\n    modes: [rated]\n  bot:\n    variants: [standard, chess960]\n    \
         modes: [rated]\nwhitelist: [Anna, \"not a name\"]\n",
    );
    explained.assert_answers(&[
        ("Anna --clock 3+2", "Accepted"),
        ("Anna --clock 3+2 --variant chess960", "Declined"),
        (
            "Anna --clock 3+2 --variant chess960 --title bot",
            "Accepted",
        ),
        ("Anna --clock 2d", "Declined"),
        ("Bert --clock 3+2", "Declined"),
    ]);
    let explained = Explained::new("challenge:\n  variants: [bughouse]\nwhitelist: [Anna]\n");
    explained.assert_answers(&[("Anna --clock 3+2", "Declined")]);
}

#[test]
fn converted_lists_without_entries_accept_nothing() {
    for list in ["variants", "time_controls"] {
        for empty in ["", " []"] {
            let kinds = format!("challenge:\n  human:\n    {list}:{empty}\n    modes: [rated]\n");
            let explained = Explained::new(&format!("{kinds}  bot:\n    modes: [rated]\n"));
            explained.assert_answers(&[
                ("Anna --clock 3+2 --rated", "Declined"),
                ("Anna --clock 3+2 --rated --title bot", "Accepted"),
            ]);
            let (settings, written) = converted(&format!("challenge:\n  {list}:{empty}\n"));
            assert!(!settings.challenge.accept, "{written}");
        }
    }
}

#[test]
fn converted_time_controls_without_a_clock_are_named() {
    let (settings, written) = converted(
        "challenge:\n  human_modes: [casual]\n  bot_modes: [casual]\n  time_controls: [\"15+10\", \"1/2+0\"]\n",
    );
    assert_eq!(settings.rule.len(), 1, "{written}");
    assert_eq!(settings.rule[0].matching.clock.len(), 1, "{written}");
    assert!(written.contains("not played are 1/2+0"), "{written}");
}

#[test]
fn converted_engines_with_long_names_stay_apart() {
    let engine = |games| {
        format!("  {games}:\n    name: stockfish-ubuntu-x86-64-sse41-popcnt\n    ponder: false\n")
    };
    let (settings, written) = converted(&format!(
        "engines:\n{}{}",
        engine("blitz_white"),
        engine("blitz_black")
    ));
    let names: Vec<&str> = settings
        .engine
        .external
        .iter()
        .map(|engine| engine.name.as_str())
        .collect();
    assert_eq!(names.len(), 2, "{written}");
    assert!(
        names[0].ends_with("-blitz_white") && names[1].ends_with("-blitz_black"),
        "{names:?}"
    );
}

#[test]
fn convert_without_any_known_speed_accepts_nothing() {
    for challenge in [
        "time_controls: [ultraBullet]",
        "variants: [bughouse]",
        "max_takebacks: 3\n  time_controls: [ultraBullet]",
    ] {
        let (settings, written) = converted(&format!("challenge:\n  {challenge}\n"));
        assert!(!settings.challenge.accept, "{written}");
        assert!(
            comments(&written).contains("no challenge is accepted, as none of them is played: "),
            "{written}"
        );
    }
}

#[test]
fn convert_adds_no_empty_or_unrelated_remarks() {
    let (settings, written) =
        converted("challenge:\n  human_modes: [rated]\n  bot_modes: [rated]\n");
    assert!(
        settings.challenge.rated && !settings.challenge.casual,
        "{written}"
    );
    assert!(!written.contains("From ."), "{written}");
    let profile = "matchmaking:\n  challenge_initial_time: 60\n  challenge_increment: 1\n";
    let (_, written) = converted(&format!("{profile}  challenge_mode: casual\n"));
    assert!(!written.contains("random"), "{written}");
    let (settings, written) = converted(&format!("{profile}  challenge_mode: random\n"));
    assert!(settings.matchmaking.profile[0].rated);
    assert!(!written.contains("chess960"), "{written}");
    let (settings, written) = converted(&format!("{profile}  challenge_variant: random\n"));
    let variants = &settings.matchmaking.profile[0].variant;
    assert_eq!(variants[..], [Variant::Standard, Variant::Chess960]);
    assert!(
        written.contains("`random` variants are standard and chess960"),
        "{written}"
    );
}

#[test]
fn convert_of_override_without_a_value_removes_the_setting() {
    let (settings, written) = converted(
        "matchmaking:\n  challenge_initial_time: [60, 180]\n  challenge_increment: 2\n  challenge_days: 2\n  \
         opponent_rating_difference: 300\n  challenge_mode: rated\n  overrides:\n    correspondence:\n      challenge_initial_time:\n      \
         challenge_increment:\n      challenge_mode:\n    easy:\n      opponent_rating_difference:\n      opponent_min_rating: 400\n      \
         challenge_days:\n",
    );
    let profiles = settings.matchmaking.profile.iter();
    let clocks: Vec<Vec<String>> = profiles
        .clone()
        .map(|profile| profile.clock.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(
        clocks,
        [vec!["1+2", "3+2", "2d"], vec!["2d"], vec!["1+2", "3+2"]],
        "{written}"
    );
    let rated: Vec<bool> = profiles.clone().map(|profile| profile.rated).collect();
    assert_eq!(rated, [true, false, true], "{written}");
    let differs: Vec<bool> = profiles
        .map(|profile| profile.rating_diff.is_some())
        .collect();
    assert_eq!(differs, [true, true, false], "{written}");
    assert!(!written.contains("it has no value there"), "{written}");
}

#[test]
fn convert_carries_books_of_variants_over() {
    let names = |files: Vec<&Path>| -> Vec<String> {
        let names = files.iter().map(|file| file.file_name().unwrap());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    };
    let (settings, written) = converted(
        "engine:\n  polyglot:\n    enabled: true\n    book:\n      standard: [books/main.bin]\n      \
         chess960: [random.bin]\n      atomic:\n        - a.bin\n        - b.bin\n      3check: check.bin\n      \
         bughouse: bug.bin\n",
    );
    let of = |variant| names(settings.book.files_for(variant).collect());
    assert_eq!(of(Variant::Standard), ["main.bin"], "{written}");
    assert_eq!(
        of(Variant::Chess960),
        ["random.bin", "main.bin"],
        "{written}"
    );
    assert_eq!(of(Variant::Atomic), ["a.bin", "b.bin"], "{written}");
    assert_eq!(of(Variant::ThreeCheck), ["check.bin"], "{written}");
    assert!(settings.rule.is_empty(), "{written}");
    assert!(
        written.contains("engine.polyglot.book.bughouse (line 11): a rule cannot match"),
        "{written}"
    );

    let (settings, written) = converted(
        "opening_books:\n  enabled: true\n  books:\n    koth: {names: [Hill]}\n    \
         atomic_white: {names: [White]}\n    atomic: {names: [Plain]}\n    blitz: {names: [Fast]}\n\
         books:\n  Hill: hill.bin\n  White: white.bin\n  Plain: plain.bin\n  Fast: fast.bin\n",
    );
    let of = |variant| names(settings.book.files_for(variant).collect());
    assert_eq!(of(Variant::KingOfTheHill), ["hill.bin"], "{written}");
    assert_eq!(of(Variant::Atomic), ["plain.bin", "white.bin"], "{written}");
    assert_eq!(of(Variant::Standard), ["fast.bin"], "{written}");
    let rules: Vec<(&[Variant], String)> = settings
        .rule
        .iter()
        .map(|rule| {
            let books = rule.play.book.as_ref().unwrap();
            (&rule.matching.variant[..], books.to_string())
        })
        .collect();
    let atomic = &[Variant::Atomic][..];
    let standard = &[Variant::Standard, Variant::Chess960, Variant::FromPosition][..];
    let expected = [
        (atomic, "the book white.bin"),
        (atomic, "the book plain.bin"),
        (standard, "the book fast.bin"),
        (standard, "no books"),
    ];
    let expected: Vec<_> = expected.map(|(of, books)| (of, books.to_owned())).into();
    assert_eq!(rules, expected, "{written}");
    let engines = "engines:\n  atomic:\n    name: fairy\n    protocol: uci\n    ponder: false\n";
    let (settings, written) = converted(engines);
    assert_eq!(settings.engine.external[0].variants, atomic, "{written}");
}

#[test]
fn convert_carries_engines_of_variants_over() {
    let engine = |games: &str| {
        format!(
            "  {games}:\n    dir: engines\n    name: fairy\n    ponder: false\n    uci_options: {{Threads: 2}}\n"
        )
    };
    let (settings, written) = converted(&format!(
        "engines:\n{}{}{}{}",
        engine("standard"),
        engine("variants"),
        engine("atomic_human").replace("ponder: false", "ponder: true"),
        engine("bughouse")
    ));
    let ponder = |name| {
        settings
            .engine
            .external
            .iter()
            .find(|engine| engine.name == name)
    };
    assert!(ponder("fairy-atomic_human").unwrap().ponder, "{written}");
    let dropped = |line: &str| line.contains("Not carried over") && line.contains("ponder");
    assert!(!written.lines().any(dropped), "{written}");
    let keys = |variants: &[Variant]| {
        let keys = variants.iter().map(|variant| variant.key());
        keys.collect::<Vec<_>>().join(" ")
    };
    let engines = settings.engine.external.iter();
    let engines: Vec<_> = engines
        .map(|engine| (&*engine.name, keys(&engine.variants)))
        .collect();
    let all = "crazyhouse antichess atomic horde kingOfTheHill racingKings threeCheck";
    for expected in [
        ("fairy", ""),
        ("fairy-variants", all),
        ("fairy-atomic_human", "atomic"),
    ] {
        let expected = (expected.0, expected.1.to_owned());
        assert!(engines.contains(&expected), "{engines:?}\n{written}");
    }
    assert_eq!(engines.len(), 3, "{written}");
    let rules = settings.rule.iter();
    let selected: Vec<_> = rules.filter_map(|rule| rule.play.engine.clone()).collect();
    for name in ["fairy-variants", "fairy-atomic_human"] {
        assert!(selected.iter().any(|it| it == name), "{written}");
    }
    assert!(
        written.contains("a rule cannot match the games of this name"),
        "{written}"
    );
}

#[test]
fn convert_carries_limits_and_strength_of_every_engine_over() {
    let yaml = "engines:\n  blitz_human:\n    name: weak\n    limits: {depth: 3}\n    uci_options:\n      Threads: 2\n      \
                Hash: 64\n      Move Overhead: 50\n      UCI_LimitStrength: true\n      UCI_Elo: 1400\n  standard:\n    \
                name: strong\n    limits: {time: 0.5, nodes: 5000}\n    uci_options:\n      Threads: 4\n      \
                UCI_LimitStrength: true\n      UCI_Elo: 2000\n";
    let (settings, written) = converted(yaml);
    let [strong, weak] = &settings.engine.external[..] else {
        panic!("{written}");
    };
    assert_eq!(
        (strong.name.as_str(), weak.name.as_str()),
        ("strong", "weak-blitz_human")
    );
    let limits = (strong.nodes, strong.depth, strong.movetime_ms);
    assert_eq!(limits, (Some(5_000), None, Some(500)), "{written}");
    assert_eq!(
        (weak.nodes, weak.depth, weak.movetime_ms),
        (None, Some(3), None)
    );
    assert_eq!((weak.threads, weak.hash_mib), (Some(2), Some(64)));
    let options = [
        ("UCI_Elo".to_owned(), OptionValue::Spin(1400)),
        ("UCI_LimitStrength".to_owned(), OptionValue::Check(true)),
    ];
    assert_eq!(weak.options, EngineOptions::from(options), "{written}");
    // The strength of the engine for all games does not replace its own.
    assert_eq!(settings.engine.strength, Strength::of_elo(2000).unwrap());
    let [rule] = &settings.rule[..] else {
        panic!("{written}");
    };
    assert_eq!(rule.play.engine.as_deref(), Some("weak-blitz_human"));
    assert_eq!(rule.play.strength, Some(Strength::default()));
    let all = comments(&written);
    let (_, dropped) = all.split_once("Not carried over:").unwrap();
    assert_eq!(
        dropped.trim(),
        "engines.blitz_human.uci_options.Move Overhead (line 8): an engine gets the clock less the measured lag and \
         engine.move_overhead_ms."
    );
    let summary = Explained::new(yaml).summary;
    assert!(
        summary.starts_with("0 keys of BotLi carried over, 12 changed, 1 not"),
        "{summary}"
    );
    let (settings, written) =
        converted("engines:\n  atomic:\n    name: e\n    uci_options: {Threads: many}\n");
    assert_eq!(settings.engine.external[0].threads, None, "{written}");
    let reason = "Threads (line 4): it is not a number from 1.";
    assert!(comments(&written).contains(reason), "{written}");
}

#[test]
fn convert_carries_limits_of_xboard_engine_over() {
    let limits = "    go_commands: {depth: 5, movetime: 1000, nodes: 7}\n";
    let (settings, written) = converted(&format!(
        "engine:\n  name: old\n  protocol: xboard\n  xboard_options:\n    cores: 2\n{limits}  \
         uci_options:\n    go_commands: {{depth: 9}}\n"
    ));
    let [engine] = &settings.engine.external[..] else {
        panic!("{written}");
    };
    let found = (engine.depth, engine.movetime_ms, engine.nodes);
    assert_eq!(found, (Some(5), Some(1_000), None), "{written}");
    assert!(settings.rule.is_empty(), "{written}");
    let comments = comments(&written);
    for reason in [
        "go_commands.nodes (line 6): XBoard's protocol has no limit of nodes.",
        "go_commands.depth (line 8): the engine does not speak UCI.",
    ] {
        assert!(comments.contains(reason), "{written}");
    }
    // Without the engine, the embedded one is limited.
    let (settings, written) = converted(&format!(
        "engine:\n  protocol: xboard\n  xboard_options:\n{limits}"
    ));
    let play = &settings.rule[0].play;
    let found = (play.max_depth, play.max_move_ms, play.max_nodes);
    assert_eq!(found, (Some(5), Some(1_000), Some(7)), "{written}");
    // An engine that speaks UCI does not get the limits for the other protocol.
    let (settings, written) = converted(&format!(
        "engine:\n  name: new\n  xboard_options:\n{limits}"
    ));
    assert_eq!(settings.engine.external[0].depth, None, "{written}");
    assert!(settings.rule.is_empty(), "{written}");
}

#[test]
fn converted_engines_are_selected_as_by_botli() {
    let engine = |games| format!("  {games}:\n    name: e\n");
    let names = [
        "standard_black",
        "rapid",
        "rapid_white",
        "5+0",
        "variants",
        "atomic",
        "chess960",
        "standard",
    ];
    let explained = Explained::new(&format!("engines:\n{}", names.map(engine).concat()));
    for (challenge, selected) in [
        ("Anna --clock 10+0 --color white", Some("e-rapid_white")),
        ("Anna --clock 10+0 --color black", Some("e-rapid")),
        ("Anna --clock 5+0 --color black", Some("e-5-0")),
        ("Anna --clock 3+2 --color black", Some("e-standard_black")),
        ("Anna --clock 3+2 --color white", None),
        ("Anna --clock 10+0 --variant atomic", Some("e-atomic")),
        ("Anna --clock 10+0 --variant horde", Some("e-variants")),
        (
            "Anna --clock 10+0 --color black --variant chess960",
            Some("e-chess960"),
        ),
    ] {
        let printed = explained.of(challenge);
        let engines = printed
            .lines()
            .filter_map(|line| line.split_once("matches: engine "));
        let first = engines.map(|(_, name)| name).next();
        assert_eq!(first, selected, "{challenge}: {printed}");
    }
}

#[test]
fn convert_never_copies_token() {
    let token = "lip_n0tToBeSeen12345";
    let home = tempfile::tempdir().unwrap();
    let yaml = format!(
        "token: {token}\nchallenge:\n  concurrency: 2\n  {token}: {token}\nabort_time: {token}\n"
    );
    fs::write(home.path().join("config.yml"), yaml).unwrap();
    let output = knightwatch(home.path(), &["convert", "config.yml"]);
    assert!(output.status.success(), "{output:?}");
    let all = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(!all.contains(token), "{all}");
    assert!(
        text(&output.stderr).contains("The token is not copied"),
        "{all}"
    );
    // An existing file is not replaced.
    fs::write(home.path().join("out.toml"), "mine").unwrap();
    let output = knightwatch(home.path(), &["convert", "config.yml", "-o", "out.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("out.toml exists"),
        "{output:?}"
    );
}

#[test]
fn convert_names_line_of_bad_yaml() {
    let home = tempfile::tempdir().unwrap();
    let bomb: String = (1..40)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1))
        .collect();
    let long = format!("engine: {{name: \"{}\"}}\n", "x".repeat(300_000));
    for (yaml, message) in [
        (
            "engine:\n  name: x\n bad: [1\nchallenge: 3\n",
            "config.yml:",
        ),
        ("", "config.yml:1: the file is empty"),
        (
            "- a\n- b\n",
            "config.yml:1: the file has no keys with values",
        ),
        (
            "name: Anna\nage: 3\n",
            "none of its keys belongs to lichess-bot or BotLi",
        ),
        (
            &format!("a0: &a0 [x, x]\n{bomb}"),
            "the file has too many values",
        ),
        (&long, "the file is larger than 256 KiB"),
    ] {
        fs::write(home.path().join("config.yml"), yaml).unwrap();
        let output = knightwatch(home.path(), &["convert", "config.yml"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            text(&output.stderr).contains(message),
            "{message}: {output:?}"
        );
    }
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn init_from_other_bot_writes_configuration_and_token() {
    let site = Site::new([NewUser::bot("Anna")]);
    let token = site.sim.token_of("Anna");
    let home = TempDir::new().unwrap();
    let yaml = format!(
        "token: {token}\nurl: {}/\nabort_time: 25\nchallenge: {{concurrency: 3}}\n",
        site.url
    );
    fs::write(home.path().join("config.yml"), yaml).unwrap();
    let arguments = [
        "init",
        "--from",
        "config.yml",
        "--config",
        "own/knightwatch.toml",
    ];
    let output = knightwatch(home.path(), &arguments);
    assert!(output.status.success(), "{output:?}");
    let printed = text(&output.stdout);
    assert!(printed.contains("This is Anna: a bot account"), "{printed}");
    assert!(
        !printed.contains(&token) && !text(&output.stderr).contains(&token),
        "{output:?}"
    );
    let config = home.path().join("own/knightwatch.toml");
    assert!(!fs::read_to_string(&config).unwrap().contains(&token));
    let file = home.path().join("own/token");
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), token);
    assert_eq!(mode(&file), 0o600);
    let check = knightwatch(home.path(), &["check", "--config", "own/knightwatch.toml"]);
    assert!(check.status.success(), "{check:?}");
    // Nothing is replaced without an answer.
    let before = fs::read_to_string(&config).unwrap();
    let again = knightwatch(home.path(), &arguments);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}

#[test]
fn init_from_without_a_token_says_which_one_is_used() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("config.yml"), "token: xxxxxxxx\n").unwrap();
    let from = ["init", "--from", "config.yml", "--config"];
    let init = |config| {
        let output = knightwatch(home.path(), &[&from[..], &[config]].concat());
        text(&output.stdout).to_owned()
    };
    let printed = init("one.toml");
    assert!(
        printed.contains("config.yml holds no token: put it into"),
        "{printed}"
    );
    fs::write(home.path().join("token"), "lip_of_another").unwrap();
    let printed = init("two.toml");
    assert!(
        printed.contains("config.yml holds no token: the one in"),
        "{printed}"
    );
}

#[test]
fn comparison_names_every_key_of_both_peers() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/comparison.md");
    let page = fs::read_to_string(page).unwrap();
    let code: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let words: BTreeSet<&str> = code
        .iter()
        .flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .chain(code.iter().copied())
        .collect();
    // Names that the user chooses.
    let own = [
        "slow",
        "bullet",
        "casual_chess960",
        "standard_black",
        "DefaultBook",
        "BlackBook",
        "cpuct",
    ];
    for (peer, yaml) in FIXTURES {
        let missing: Vec<&str> = keys(yaml)
            .map(|(_, key)| key)
            .filter(|key| !own.contains(key) && !words.contains(key))
            .collect();
        assert!(
            missing.is_empty(),
            "{peer}: docs/comparison.md does not name {missing:?}"
        );
    }
}
