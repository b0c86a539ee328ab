//! Contradictions between settings that are each valid.

use std::ops::RangeInclusive;

use crate::lichess::MAX_CHAT_UTF16_UNITS;
use crate::lichess::model::{Speed, Username, Variant};
use crate::plural;

use super::block_list::{BlockList, MAX_BLOCK_LISTS};
use super::correspondence::Correspondence;
use super::etiquette::{Chat, Draw, LAST_PLACEHOLDERS, PLACEHOLDERS, Resign};
use super::external;
use super::lichess::Lichess;
use super::matchmaking;
use super::rule::ClockSpec;
use super::settings::{Book, Challenge, Engine, Games, PgnFiles, Records, Settings, Tournaments};
use super::web::Web;

/// The largest `games.concurrency`: each game needs its own stream.
pub const MAX_GAMES: usize = 1_000;

/// The largest `engine.hash_mib`.
pub const MAX_HASH_MIB: usize = 65_536;

/// The largest `engine.threads`, that of the embedded engine.
pub const MAX_THREADS: usize = 512;

/// A contradiction, described in a sentence.
pub(super) struct Contradiction {
    pub section: &'static str,
    /// The keys involved; the error points at the first one that is set.
    pub keys: &'static [&'static str],
    /// The number of the table in the list of tables that the first key is, from 0.
    pub table: Option<usize>,
    pub sentence: String,
}

/// Collects contradictions.
#[derive(Default)]
struct Findings {
    section: &'static str,
    found: Vec<Contradiction>,
}

impl Findings {
    /// Sets the section of the following findings.
    fn in_section(&mut self, section: &'static str) -> &mut Self {
        self.section = section;
        self
    }

    /// Adds a contradiction if `wrong`.
    fn add_if(&mut self, wrong: bool, keys: &'static [&'static str], sentence: impl Into<String>) {
        if wrong {
            self.add(keys, None, sentence);
        }
    }

    /// Adds a contradiction, in this table if `keys` is a list of tables.
    fn add(
        &mut self,
        keys: &'static [&'static str],
        table: Option<usize>,
        sentence: impl Into<String>,
    ) {
        self.found.push(Contradiction {
            section: self.section,
            keys,
            table,
            sentence: sentence.into(),
        });
    }
}

/// Largest number of log files.
const MAX_LOG_FILES: u32 = 1_000;

/// All contradictions in the settings.
pub(super) fn contradictions(settings: &Settings) -> Vec<Contradiction> {
    let mut findings = Findings::default();
    lichess(&settings.lichess, findings.in_section("lichess"));
    engine(&settings.engine, findings.in_section("engine"));
    if settings.has_books() {
        book(&settings.book, findings.in_section("book"));
    }
    // If a rule accepts challenges, [challenge] need not.
    let by_rule = settings.rule.iter().any(|rule| rule.accept == Some(true));
    if settings.challenge.accept && !by_rule {
        challenge(&settings.challenge, findings.in_section("challenge"));
    }
    queue(&settings.challenge, findings.in_section("challenge"));
    block_lists(
        &settings.challenge.block_lists,
        findings.in_section("challenge"),
    );
    block_lists(
        &settings.matchmaking.block_lists,
        findings.in_section("matchmaking"),
    );
    games(&settings.games, findings.in_section("games"));
    for (keys, profile, sentence) in matchmaking::contradictions(&settings.matchmaking) {
        findings
            .in_section("matchmaking")
            .add(keys, profile, sentence);
    }
    findings.in_section("games").add_if(
        settings.matchmaking.enabled && settings.games.are_reserved(),
        &["reserved_for_humans", "concurrency"],
        "all slots are reserved for humans, so none is left for the games of [matchmaking]; reserve one less, or \
         write enabled = false there",
    );
    correspondence(
        &settings.correspondence,
        findings.in_section("correspondence"),
    );
    tournaments(&settings.tournaments, findings.in_section("tournaments"));
    let draws = settings.draw.offer
        || settings.draw.accept
        || settings.any_rule(|play| play.offer_draws)
        || settings.any_rule(|play| play.accept_draws);
    if draws {
        draw(&settings.draw, findings.in_section("draw"));
    }
    let resigns = settings.resign.enabled || settings.any_rule(|play| play.resign);
    if resigns {
        resign(&settings.resign, findings.in_section("resign"));
    }
    chat(&settings.chat, findings.in_section("chat"));
    records(&settings.records, findings.in_section("records"));
    web(settings, findings.in_section("web"));
    findings.in_section("daemon").add_if(
        settings.daemon.log_file_mib == 0,
        &["log_file_mib"],
        "a log file of 0 MiB holds no line; the minimum is 1",
    );
    let socket = settings.daemon.socket.as_deref();
    findings.in_section("daemon").add_if(
        socket.is_some_and(|socket| socket.as_os_str().len() > MAX_SOCKET_PATH_BYTES),
        &["socket"],
        format!("the path of a socket has at most {MAX_SOCKET_PATH_BYTES} bytes"),
    );
    findings.in_section("daemon").add_if(
        !(1..=MAX_LOG_FILES).contains(&settings.daemon.log_files),
        &["log_files"],
        format!("the number of log files is 1 to {MAX_LOG_FILES}"),
    );
    for (number, target) in settings.daemon.alert.iter().enumerate() {
        for (key, sentence) in target.problems() {
            let sentence = format!("alert {}: {key}: {sentence}", number + 1);
            findings
                .in_section("daemon")
                .add(&["alert"], Some(number), sentence);
        }
    }
    findings.found
}

/// Settings that are valid but probably not intended, a sentence each.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let Settings {
        challenge,
        matchmaking,
        name,
        ..
    } = settings;
    let by_rule = settings.rule.iter().any(|rule| rule.accept == Some(true));
    let one_way = matchmaking.enabled && !by_rule && !(challenge.accept && challenge.bots);
    let of = name
        .iter()
        .map(|name| format!("{name}: "))
        .collect::<String>();
    let sentence = format!(
        "{of}[matchmaking] challenges other bots, and [challenge] declines every challenge of theirs; \
         write accept = true and bots = true in [challenge], or enabled = false in [matchmaking]"
    );
    if one_way { vec![sentence] } else { Vec::new() }
}

fn records(records: &Records, findings: &mut Findings) {
    findings.add_if(
        !records.enabled && records.pgn != PgnFiles::None,
        &["pgn", "enabled"],
        "PGN files are made from the records, which are disabled",
    );
    let traces = records.traces;
    findings.add_if(
        traces > 100_000,
        &["traces"],
        format!(
            "{traces} traces are too many for one directory; the maximum is 100000, and 0 keeps none"
        ),
    );
}

/// The first reason why matchmaking could not be switched on with these settings, which have no contradictions.
pub(super) fn seek_problem(settings: &Settings) -> Option<String> {
    let mut settings = settings.clone();
    settings.matchmaking.enabled = true;
    let mut found = contradictions(&settings).into_iter();
    found.next().map(|contradiction| contradiction.sentence)
}

/// Upper limit of the path of a control socket, in bytes: `sun_path` of Linux without the end.
const MAX_SOCKET_PATH_BYTES: usize = 107;

fn web(settings: &Settings, findings: &mut Findings) {
    let Web { play_as, .. } = &settings.web;
    if let Err(sentence) = settings.web.address() {
        findings.add_if(true, &["listen"], sentence);
    }
    if let Err(sentence) = settings.web.proxies() {
        findings.add_if(true, &["trusted_proxies"], sentence);
    }
    if let Some(sentence) = settings.web.host_problem() {
        findings.add_if(true, &["hosts"], sentence);
    }
    if play_as.is_empty() {
        return;
    }
    findings.add_if(
        !Username::is_valid(play_as),
        &["play_as"],
        format!("`{play_as}` is not a user name"),
    );
    let endpoint = settings.lichess.endpoint();
    findings.add_if(
        endpoint.is_ok_and(|endpoint| !endpoint.is_local()),
        &["play_as"],
        "playing on the page works only with a simulator on this machine; leave it empty",
    );
}

fn lichess(lichess: &Lichess, findings: &mut Findings) {
    if let Err(error) = lichess.endpoint() {
        findings.add_if(true, &["url"], error.to_string());
    }
}

fn engine(engine: &Engine, findings: &mut Findings) {
    for (number, sentence) in external::problems(&engine.external) {
        findings.add(&["external"], Some(number), sentence);
    }
    findings.add_if(
        !external::is_known(&engine.external, &engine.default),
        &["default"],
        format!(
            "there is no engine {}; {}",
            engine.default,
            external::known_names(&engine.external)
        ),
    );
    let (hash, threads, overhead) = (engine.hash_mib, engine.threads, engine.move_overhead_ms);
    findings.add_if(
        !(1..=MAX_HASH_MIB).contains(&hash),
        &["hash_mib"],
        format!("the hash is {hash} MiB, but it can be 1 to {MAX_HASH_MIB}"),
    );
    findings.add_if(
        threads > MAX_THREADS,
        &["threads"],
        format!(
            "{threads} threads are more than the limit of {MAX_THREADS}; 0 uses one for each core"
        ),
    );
    findings.add_if(
        overhead > 10_000,
        &["move_overhead_ms"],
        format!(
            "{overhead} ms reserved on every move leave no time to think; the maximum is 10000"
        ),
    );
}

fn book(book: &Book, findings: &mut Findings) {
    const CONSEQUENCE: &str = "to play without books write enabled = false";
    findings.add_if(
        book.files.is_empty() && book.variants.is_empty() && !book.embedded,
        &["embedded", "enabled"],
        format!(
            "books are enabled, but there is none: `files` is empty and the embedded one is off \
             (embedded = false); {CONSEQUENCE}"
        ),
    );
    findings.add_if(
        book.max_ply == 0,
        &["max_ply"],
        format!("books are enabled, but max_ply = 0 never asks them; {CONSEQUENCE}"),
    );
}

fn challenge(challenge: &Challenge, findings: &mut Findings) {
    const CONSEQUENCE: &str =
        "so every challenge would be declined; to decline them all write accept = false";
    findings.add_if(
        !challenge.rated && !challenge.casual,
        &["casual", "rated"],
        format!("neither rated nor casual games are accepted, {CONSEQUENCE}"),
    );
    findings.add_if(
        !challenge.humans && !challenge.bots,
        &["bots", "humans"],
        format!("neither humans nor bots are accepted, {CONSEQUENCE}"),
    );
    findings.add_if(
        challenge.variants.is_empty(),
        &["variants"],
        format!("no variant is accepted, {CONSEQUENCE}"),
    );
    findings.add_if(
        challenge.speeds.is_empty(),
        &["speeds"],
        format!("no speed is accepted, {CONSEQUENCE}"),
    );
    findings.add_if(
        challenge.variants == [Variant::FromPosition] && !challenge.casual,
        &["casual", "variants"],
        format!(
            "only games from a position are accepted and only rated ones, but Lichess never rates \
             them, {CONSEQUENCE}"
        ),
    );

    let (base, max_base) = (challenge.min_base_s, challenge.max_base_s);
    let (increment, max_increment) = (challenge.min_increment_s, challenge.max_increment_s);
    let (days, max_days) = (challenge.min_days, challenge.max_days);
    let (rating, max_rating) = (challenge.min_rating, challenge.max_rating);
    let ranges: [(u32, u32, &[&str]); 4] = [
        (base, max_base, &["max_base_s", "min_base_s"]),
        (
            increment,
            max_increment,
            &["max_increment_s", "min_increment_s"],
        ),
        (days, max_days, &["max_days", "min_days"]),
        (rating, max_rating, &["max_rating", "min_rating"]),
    ];
    for (min, max, keys) in ranges {
        let (max_key, min_key) = (keys[0], keys[1]);
        let sentence = format!("{min_key} = {min} is more than {max_key} = {max}, {CONSEQUENCE}");
        findings.add_if(min > max, keys, sentence);
    }
    if base <= max_base && increment <= max_increment {
        findings.add_if(
            unreachable(challenge),
            &[
                "speeds",
                "max_base_s",
                "min_base_s",
                "max_increment_s",
                "min_increment_s",
            ],
            format!(
                "no time control within the limits of base and increment belongs to the accepted \
                 speeds, {CONSEQUENCE}"
            ),
        );
    }
}

fn block_lists(lists: &[BlockList], findings: &mut Findings) {
    findings.add_if(
        lists.len() > MAX_BLOCK_LISTS,
        &["block_lists"],
        format!(
            "{} block lists are more than the limit of {MAX_BLOCK_LISTS}; put them together",
            lists.len()
        ),
    );
}

/// Checks the challenge queue.
fn queue(challenge: &Challenge, findings: &mut Findings) {
    findings.add_if(
        challenge.queue_size > 0 && challenge.queue_timeout_s == 0,
        &["queue_timeout_s", "queue_size"],
        "challenges may wait for a slot, but for 0 seconds; to decline them immediately write queue_size = 0",
    );
}

/// Returns whether no time control within the limits has one of the accepted speeds.
fn unreachable(challenge: &Challenge) -> bool {
    let min = Speed::estimate(challenge.min_base_s, challenge.min_increment_s);
    let max = Speed::estimate(challenge.max_base_s, challenge.max_increment_s);
    let is_outside = |range: RangeInclusive<u32>| max < *range.start() || min > *range.end();
    let speeds = &challenge.speeds;
    !speeds.is_empty()
        && speeds
            .iter()
            .all(|speed| speed.estimates().is_some_and(is_outside))
}

fn games(games: &Games, findings: &mut Findings) {
    findings.add_if(
        games.concurrency == 0,
        &["concurrency"],
        "no game at a time is allowed, so nothing can be played; to decline all challenges write \
         accept = false in [challenge]",
    );
    findings.add_if(
        games.per_opponent == 0,
        &["per_opponent"],
        "no game at a time against the same opponent is allowed, so nothing can be played",
    );
    let (all, reserved) = (games.concurrency, games.reserved_for_humans);
    findings.add_if(
        all > MAX_GAMES,
        &["concurrency"],
        format!(
            "{all} games at a time are more than one program can play; the maximum is {MAX_GAMES}"
        ),
    );
    findings.add_if(
        reserved > all,
        &["reserved_for_humans", "concurrency"],
        format!(
            "{} reserved for humans, but {} in all",
            plural::count(reserved, "slot is", "slots are"),
            match all {
                1 => "there is 1".to_owned(),
                all => format!("there are {all}"),
            }
        ),
    );
}

fn correspondence(correspondence: &Correspondence, findings: &mut Findings) {
    findings.add_if(
        correspondence.concurrency == 0,
        &["concurrency"],
        "no correspondence game is ever opened, so running ones would be lost; to accept none leave `correspondence` out \
         of `speeds` in [challenge]",
    );
    findings.add_if(
        correspondence.move_time_s == 0,
        &["move_time_s"],
        "a move of a correspondence game needs at least one second",
    );
}

fn tournaments(tournaments: &Tournaments, findings: &mut Findings) {
    for (number, arena_entry) in tournaments.join.iter().enumerate() {
        let before = &tournaments.join[..number];
        findings.add_if(
            before.iter().any(|other| other.id == arena_entry.id),
            &["join"],
            format!("the arena {} is named twice", arena_entry.id),
        );
    }
    findings.add_if(
        tournaments.join_teams && tournaments.teams.is_empty(),
        &["join_teams"],
        "teams are to be joined, but there are none in teams",
    );
    findings.add_if(
        !tournaments.password.is_empty() && tournaments.teams.is_empty(),
        &["password"],
        "the password is for arenas of teams, but there are none in teams",
    );
    if !tournaments.join_any && tournaments.teams.is_empty() {
        return;
    }
    const CONSEQUENCE: &str =
        "so no arena would be found; to look for none leave out join_any and teams";
    findings.add_if(
        tournaments.speeds.is_empty(),
        &["speeds"],
        format!("no speed is played, {CONSEQUENCE}"),
    );
    let (min, max) = (tournaments.min_minutes, tournaments.max_minutes);
    findings.add_if(
        min > max,
        &["max_minutes", "min_minutes"],
        format!("min_minutes = {min} is more than max_minutes = {max}, {CONSEQUENCE}"),
    );
    findings.add_if(
        tournaments.concurrency == 0,
        &["concurrency"],
        format!("at most 0 are played at once, {CONSEQUENCE}"),
    );
    let is_clock = |exact: &ClockSpec| exact.time().is_clock();
    findings.add_if(
        !tournaments.clocks.iter().all(is_clock),
        &["clocks"],
        "every arena is played with a clock; take days and \"unlimited\" out",
    );
}

fn draw(draw: &Draw, findings: &mut Findings) {
    findings.add_if(
        draw.min_level_moves == 0,
        &["min_level_moves"],
        "draws would be agreed after 0 level moves, that is before the engine has looked at the \
         game; the minimum is 1",
    );
    let (max_offers, max_win) = (draw.max_offers, draw.max_win_percent);
    findings.add_if(
        max_win > 33,
        &["max_win_percent"],
        format!(
            "a position that is won in {max_win} of 100 games is not level: then each of win, draw and loss \
             would be as likely; the maximum is 33"
        ),
    );
    findings.add_if(
        draw.offer && max_offers == 0,
        &["max_offers", "offer"],
        "draws are offered, but 0 times in a game; to offer none write offer = false",
    );
}

fn resign(resign: &Resign, findings: &mut Findings) {
    findings.add_if(
        resign.min_lost_moves == 0,
        &["min_lost_moves"],
        "games would be resigned after 0 lost moves, that is before the engine has looked at \
         them; the minimum is 1",
    );
    findings.add_if(
        resign.score_cp < 200,
        &["score_cp"],
        format!(
            "games would be resigned {} centipawns down, which is far from lost; the minimum is 200",
            resign.score_cp
        ),
    );
}

fn chat(chat: &Chat, findings: &mut Findings) {
    let texts: [(&str, &[&str], bool); 5] = [
        (&chat.greeting, &["greeting"], false),
        (&chat.farewell, &["farewell"], true),
        (&chat.greeting_spectators, &["greeting_spectators"], false),
        (&chat.farewell_spectators, &["farewell_spectators"], true),
        (&chat.motd, &["motd"], false),
    ];
    for (text, keys, last) in texts {
        let length = text.encode_utf16().count();
        findings.add_if(
            length > MAX_CHAT_UTF16_UNITS,
            keys,
            format!(
                "the text has {length} characters, but Lichess accepts at most {MAX_CHAT_UTF16_UNITS}"
            ),
        );
        findings.add_if(
            text.contains('\n'),
            keys,
            "the text has several lines, but Lichess accepts one",
        );
        let links = ["http://", "https://", "www."];
        findings.add_if(
            links.iter().any(|link| text.contains(link)),
            keys,
            "Lichess silently drops messages of bots that contain a link; put the link into the profile",
        );
        let names = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'));
        for (name, _) in names {
            findings.add_if(
                !placeholders(last).contains(&name),
                keys,
                format!(
                    "`{{{name}}}` is not a placeholder; there are {}",
                    placeholder_list(last)
                ),
            );
        }
    }
    findings.add_if(
        chat.commands && chat.per_minute == 0,
        &["per_minute", "commands"],
        "commands are answered, but none in a minute; to answer none write commands = false",
    );
}

/// The placeholders of a chat message; `last` for one that is sent after the game.
fn placeholders(last: bool) -> Vec<&'static str> {
    let last = LAST_PLACEHOLDERS.iter().filter(|_| last);
    PLACEHOLDERS.iter().chain(last).copied().collect()
}

/// The placeholders, joined for an error message.
fn placeholder_list(last: bool) -> String {
    let names = placeholders(last);
    let names: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    names.join(", ")
}
