//! Contradictions: settings that are each valid and together cannot be meant.

use std::ops::RangeInclusive;

use crate::lichess::Endpoint;
use crate::plural;

use super::account::is_user_name;
use super::correspondence::Correspondence;
use super::manners::{Chat, Draw, LAST_PLACEHOLDERS, PLACEHOLDERS, Resign};
use super::matchmaking;
use super::rule::Exact;
use super::settings::{
    Book, Challenge, Engine, Games, Lichess, PgnFiles, Records, Settings, Speed, Tournaments,
    Variant,
};
use super::web::Web;

/// The longest text that Lichess takes in a chat, in characters.
const LONGEST_CHAT: usize = 140;

/// The most games at a time: each needs a stream of its own.
const MOST_GAMES: usize = 1_000;

/// A contradiction, in a sentence.
pub(super) struct Contradiction {
    pub section: &'static str,
    /// The keys that have a part in it; the first one that was set at all is pointed at.
    pub keys: &'static [&'static str],
    pub sentence: String,
}

/// Gathers the contradictions in settings.
#[derive(Default)]
struct Findings {
    section: &'static str,
    found: Vec<Contradiction>,
}

impl Findings {
    /// What follows is about this section.
    fn of(&mut self, section: &'static str) -> &mut Self {
        self.section = section;
        self
    }

    /// Notes the sentence if it is `wrong`.
    fn when(&mut self, wrong: bool, keys: &'static [&'static str], sentence: impl Into<String>) {
        if wrong {
            self.found.push(Contradiction {
                section: self.section,
                keys,
                sentence: sentence.into(),
            });
        }
    }
}

/// Everything in the settings that contradicts itself.
pub(super) fn contradictions(settings: &Settings) -> Vec<Contradiction> {
    let mut findings = Findings::default();
    lichess(&settings.lichess, findings.of("lichess"));
    engine(&settings.engine, findings.of("engine"));
    if settings.has_books() {
        book(&settings.book, findings.of("book"));
    }
    // Where rules accept, [challenge] may well accept nothing.
    let by_rule = settings.rule.iter().any(|rule| rule.accept == Some(true));
    if settings.challenge.accept && !by_rule {
        challenge(&settings.challenge, findings.of("challenge"));
    }
    queue(&settings.challenge, findings.of("challenge"));
    games(&settings.games, findings.of("games"));
    for (keys, sentence) in matchmaking::faults(&settings.matchmaking) {
        findings.of("matchmaking").when(true, keys, sentence);
    }
    let Games {
        concurrency: all,
        reserved_for_humans: reserved,
        ..
    } = settings.games;
    findings.of("games").when(
        settings.matchmaking.enabled && reserved == all && all > 0,
        &["reserved_for_humans", "concurrency"],
        "all places are reserved for people, so there is none for the games that [matchmaking] looks for; leave one, or \
         write enabled = false there",
    );
    correspondence(&settings.correspondence, findings.of("correspondence"));
    tournaments(&settings.tournaments, findings.of("tournaments"));
    let draws = settings.draw.offer
        || settings.draw.accept
        || settings.some_rule(|play| play.offer_draws)
        || settings.some_rule(|play| play.accept_draws);
    if draws {
        draw(&settings.draw, findings.of("draw"));
    }
    let resigns = settings.resign.enabled || settings.some_rule(|play| play.resign);
    if resigns {
        resign(&settings.resign, findings.of("resign"));
    }
    chat(&settings.chat, findings.of("chat"));
    records(&settings.records, findings.of("records"));
    web(settings, findings.of("web"));
    findings.found
}

/// What is possible and probably not meant, a sentence each.
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
    findings.when(
        !records.enabled && records.pgn != PgnFiles::None,
        &["pgn", "enabled"],
        "PGN files are made from the records, and those are off",
    );
    let traces = records.traces;
    findings.when(
        traces > 100_000,
        &["traces"],
        format!("{traces} traces are more than a directory holds well; the most is 100000, and 0 keeps none"),
    );
}

fn web(settings: &Settings, findings: &mut Findings) {
    let Web { play_as, .. } = &settings.web;
    if let Err(sentence) = settings.web.address() {
        findings.when(true, &["listen"], sentence);
    }
    if play_as.is_empty() {
        return;
    }
    findings.when(
        !is_user_name(play_as),
        &["play_as"],
        format!("`{play_as}` is not a user name"),
    );
    let endpoint = settings.lichess.endpoint();
    findings.when(
        endpoint.is_ok_and(|endpoint| !endpoint.is_local()),
        &["play_as"],
        "playing on the page works only with a simulator on this machine; leave it empty",
    );
}

fn lichess(lichess: &Lichess, findings: &mut Findings) {
    if let Err(error) = Endpoint::new(lichess.url.clone()) {
        findings.when(true, &["url"], error.to_string());
    }
}

fn engine(engine: &Engine, findings: &mut Findings) {
    let (hash, threads, overhead) = (engine.hash_mib, engine.threads, engine.move_overhead_ms);
    findings.when(
        !(1..=65_536).contains(&hash),
        &["hash_mib"],
        format!("the hash is {hash} MiB, but it can be 1 to 65536"),
    );
    findings.when(
        threads > 512,
        &["threads"],
        format!("{threads} threads are more than the 512 that can be started; 0 takes one a core"),
    );
    findings.when(
        overhead > 10_000,
        &["move_overhead_ms"],
        format!("{overhead} ms kept back on every move leave no time to think; the most is 10000"),
    );
}

fn book(book: &Book, findings: &mut Findings) {
    const OTHERWISE: &str = "to play without books write enabled = false";
    findings.when(
        book.files.is_empty() && !book.embedded,
        &["embedded", "enabled"],
        format!(
            "books are enabled, but there is none: `files` is empty and the embedded one is off \
             (default = false); {OTHERWISE}"
        ),
    );
    findings.when(
        book.max_ply == 0,
        &["max_ply"],
        format!("books are enabled, but max_ply = 0 never asks them; {OTHERWISE}"),
    );
}

fn challenge(challenge: &Challenge, findings: &mut Findings) {
    const OTHERWISE: &str =
        "so every challenge would be declined; to decline them all write accept = false";
    findings.when(
        !challenge.rated && !challenge.casual,
        &["casual", "rated"],
        format!("neither rated nor casual games are accepted, {OTHERWISE}"),
    );
    findings.when(
        !challenge.humans && !challenge.bots,
        &["bots", "humans"],
        format!("neither humans nor bots are accepted, {OTHERWISE}"),
    );
    findings.when(
        challenge.variants.is_empty(),
        &["variants"],
        format!("no variant is accepted, {OTHERWISE}"),
    );
    findings.when(
        challenge.speeds.is_empty(),
        &["speeds"],
        format!("no speed is accepted, {OTHERWISE}"),
    );
    findings.when(
        challenge.variants == [Variant::FromPosition] && !challenge.casual,
        &["casual", "variants"],
        format!(
            "only games from a position are accepted and only rated ones, but Lichess never rates \
             them, {OTHERWISE}"
        ),
    );

    let (base, most_base) = (challenge.min_base_s, challenge.max_base_s);
    let (increment, most_increment) = (challenge.min_increment_s, challenge.max_increment_s);
    let (days, most_days) = (challenge.min_days, challenge.max_days);
    let (rating, most_rating) = (challenge.min_rating, challenge.max_rating);
    let ranges: [(u32, u32, &[&str]); 4] = [
        (base, most_base, &["max_base_s", "min_base_s"]),
        (
            increment,
            most_increment,
            &["max_increment_s", "min_increment_s"],
        ),
        (days, most_days, &["max_days", "min_days"]),
        (rating, most_rating, &["max_rating", "min_rating"]),
    ];
    for (min, max, keys) in ranges {
        let (most, least) = (keys[0], keys[1]);
        let sentence = format!("{least} = {min} is more than {most} = {max}, {OTHERWISE}");
        findings.when(min > max, keys, sentence);
    }
    if base <= most_base && increment <= most_increment {
        findings.when(
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
                 speeds, {OTHERWISE}"
            ),
        );
    }
}

/// Who waits for a place.
fn queue(challenge: &Challenge, findings: &mut Findings) {
    findings.when(
        challenge.queue_size > 0 && challenge.queue_timeout_s == 0,
        &["queue_timeout_s", "queue_size"],
        "challenges may wait for a place, but for 0 seconds; to decline them at once write queue = 0",
    );
}

/// Whether clock games are accepted, but every time control within the limits has another speed.
fn unreachable(challenge: &Challenge) -> bool {
    // Lichess estimates the length of a game by 40 moves.
    let estimate = |base: u32, increment: u32| base.saturating_add(increment.saturating_mul(40));
    let least = estimate(challenge.min_base_s, challenge.min_increment_s);
    let most = estimate(challenge.max_base_s, challenge.max_increment_s);
    let outside = |band: RangeInclusive<u32>| most < *band.start() || least > *band.end();
    let speeds = &challenge.speeds;
    !speeds.is_empty()
        && speeds
            .iter()
            .all(|speed| seconds(*speed).is_some_and(outside))
}

/// The estimated length in seconds of games of this speed, by Lichess's bounds; `None` without a clock.
fn seconds(speed: Speed) -> Option<RangeInclusive<u32>> {
    match speed {
        Speed::Bullet => Some(30..=179),
        Speed::Blitz => Some(180..=479),
        Speed::Rapid => Some(480..=1499),
        Speed::Classical => Some(1500..=u32::MAX),
        Speed::Correspondence => None,
    }
}

fn games(games: &Games, findings: &mut Findings) {
    findings.when(
        games.concurrency == 0,
        &["concurrency"],
        "no game at a time is allowed, so nothing can be played; to decline all challenges write \
         accept = false in [challenge]",
    );
    findings.when(
        games.per_opponent == 0,
        &["per_opponent"],
        "no game at a time against the same opponent is allowed, so nothing can be played",
    );
    let (all, reserved) = (games.concurrency, games.reserved_for_humans);
    findings.when(
        all > MOST_GAMES,
        &["concurrency"],
        format!(
            "{all} games at a time are more than one program can play; the most is {MOST_GAMES}"
        ),
    );
    findings.when(
        reserved > all,
        &["reserved_for_humans", "concurrency"],
        format!(
            "{} reserved for people, but {} in all",
            plural::count(reserved, "place is", "places are"),
            match all {
                1 => "there is 1".to_owned(),
                all => format!("there are {all}"),
            }
        ),
    );
}

fn correspondence(correspondence: &Correspondence, findings: &mut Findings) {
    findings.when(
        correspondence.concurrency == 0,
        &["concurrency"],
        "no game without a clock is ever opened, so those that are on would be lost; to take none leave `correspondence` out \
         of `speeds` in [challenge]",
    );
    findings.when(
        correspondence.move_time_s == 0,
        &["move_time_s"],
        "a move of a correspondence game needs a second at least",
    );
}

fn tournaments(tournaments: &Tournaments, findings: &mut Findings) {
    for (number, joining) in tournaments.join.iter().enumerate() {
        let before = &tournaments.join[..number];
        findings.when(
            before.iter().any(|other| other.id == joining.id),
            &["join"],
            format!("the arena {} is named twice", joining.id),
        );
    }
    findings.when(
        tournaments.join_teams && tournaments.teams.is_empty(),
        &["join_teams"],
        "teams are to be joined, but there are none in teams",
    );
    findings.when(
        !tournaments.password.is_empty() && tournaments.teams.is_empty(),
        &["password"],
        "the password is for arenas of teams, but there are none in teams",
    );
    if !tournaments.join_any && tournaments.teams.is_empty() {
        return;
    }
    const OTHERWISE: &str = "so no arena would be found; to look for none leave out any and teams";
    findings.when(
        tournaments.speeds.is_empty(),
        &["speeds"],
        format!("no speed is played, {OTHERWISE}"),
    );
    let (least, most) = (tournaments.min_minutes, tournaments.max_minutes);
    findings.when(
        least > most,
        &["max_minutes", "min_minutes"],
        format!("min_minutes = {least} is more than max_minutes = {most}, {OTHERWISE}"),
    );
    findings.when(
        tournaments.concurrency == 0,
        &["concurrency"],
        format!("at most 0 are played at once, {OTHERWISE}"),
    );
    let is_clock = |exact: &Exact| exact.time().is_clock();
    findings.when(
        !tournaments.clocks.iter().all(is_clock),
        &["clocks"],
        "every arena is played with a clock; take \"unlimited\" out",
    );
}

fn draw(draw: &Draw, findings: &mut Findings) {
    findings.when(
        draw.min_level_moves == 0,
        &["min_level_moves"],
        "draws would be agreed after 0 level moves, that is before the engine has looked at the \
         game; the least is 1",
    );
    let (most, max_win) = (draw.max_offers, draw.max_win_percent);
    findings.when(
        max_win > 33,
        &["max_win_percent"],
        format!(
            "a position that is won in {max_win} of 100 games is not level: then each of win, draw and loss \
             would be as likely; the most is 33"
        ),
    );
    findings.when(
        draw.offer && most == 0,
        &["max_offers", "offer"],
        "draws are offered, but 0 times in a game; to offer none write offer = false",
    );
}

fn resign(resign: &Resign, findings: &mut Findings) {
    findings.when(
        resign.min_lost_moves == 0,
        &["min_lost_moves"],
        "games would be resigned after 0 lost moves, that is before the engine has looked at \
         them; the least is 1",
    );
    findings.when(
        resign.score_cp < 200,
        &["score_cp"],
        format!(
            "games would be resigned {} centipawns down, which is far from lost; the least is 200",
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
        let length = text.chars().count();
        findings.when(
            length > LONGEST_CHAT,
            keys,
            format!("the text has {length} characters, but Lichess takes {LONGEST_CHAT} at most"),
        );
        findings.when(
            text.contains('\n'),
            keys,
            "the text has several lines, but Lichess takes one",
        );
        let links = ["http://", "https://", "www."];
        findings.when(
            links.iter().any(|link| text.contains(link)),
            keys,
            "Lichess drops what bots say with a link in it, without a word; a link can stand in the profile",
        );
        let names = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'));
        for (name, _) in names {
            findings.when(
                !placeholders(last).contains(&name),
                keys,
                format!(
                    "`{{{name}}}` stands for nothing; there are {}",
                    listed(last)
                ),
            );
        }
    }
    findings.when(
        chat.commands && chat.per_minute == 0,
        &["per_minute", "commands"],
        "commands are answered, but none in a minute; to answer none write commands = false",
    );
}

/// What can stand in braces in a text, or in one that is said when the game is over.
fn placeholders(last: bool) -> Vec<&'static str> {
    let last = LAST_PLACEHOLDERS.iter().filter(|_| last);
    PLACEHOLDERS.iter().chain(last).copied().collect()
}

/// The same in a sentence.
fn listed(last: bool) -> String {
    let names = placeholders(last);
    let names: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    names.join(", ")
}
