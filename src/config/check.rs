//! Contradictions: settings that are each valid and together cannot be meant.

use std::ops::RangeInclusive;

use crate::lichess::Endpoint;

use super::settings::{
    Book, Challenge, Chat, Draw, Engine, Games, Lichess, Resign, Settings, Speed, Variant,
};

/// The longest text that Lichess takes in a chat, in characters.
const LONGEST_CHAT: usize = 140;

/// A contradiction: the setting to point at, as `section.key`, and a sentence.
pub(super) struct Contradiction {
    pub keys: &'static [&'static str],
    pub sentence: String,
}

/// Gathers the contradictions in settings.
#[derive(Default)]
struct Findings(Vec<Contradiction>);

impl Findings {
    /// Notes the sentence if it is `wrong`, pointing at whichever of the keys was set.
    fn when(&mut self, wrong: bool, keys: &'static [&'static str], sentence: impl Into<String>) {
        if wrong {
            let sentence = sentence.into();
            self.0.push(Contradiction { keys, sentence });
        }
    }
}

/// Everything in the settings that contradicts itself.
pub(super) fn contradictions(settings: &Settings) -> Vec<Contradiction> {
    let mut found = Findings::default();
    lichess(&settings.lichess, &mut found);
    engine(&settings.engine, &mut found);
    book(&settings.book, &mut found);
    if settings.challenge.accept {
        challenge(&settings.challenge, &mut found);
    }
    games(&settings.games, &settings.challenge, &mut found);
    manners(&settings.draw, &settings.resign, &mut found);
    chat(&settings.chat, &mut found);
    found.0
}

fn lichess(lichess: &Lichess, found: &mut Findings) {
    if let Err(error) = Endpoint::new(lichess.url.clone()) {
        found.when(true, &["lichess.url"], error.to_string());
    }
}

fn engine(engine: &Engine, found: &mut Findings) {
    let hash = engine.hash_mib;
    found.when(
        !(1..=65_536).contains(&hash),
        &["engine.hash_mib"],
        format!("the hash is {hash} MiB, but it can be 1 to 65536"),
    );
    let threads = engine.threads;
    found.when(threads > 512, &["engine.threads"], format!("{threads} threads are more than the 512 that the engine can start; 0 takes one for each core"));
    let overhead = engine.overhead_ms;
    found.when(
        overhead > 10_000,
        &["engine.overhead_ms"],
        format!(
            "{overhead} ms kept back on every move leave no time in most games; the most is 10000"
        ),
    );
}

fn book(book: &Book, found: &mut Findings) {
    if book.enabled {
        let none = book.files.is_empty() && !book.default;
        found.when(none, &["book.default", "book.enabled"], "books are enabled, but there is none: `files` is empty and the embedded one is off (`default = false`); to play without books write enabled = false");
        found.when(book.max_ply == 0, &["book.max_ply"], "books are enabled, but `max_ply = 0` never asks them; to play without books write enabled = false");
    }
}

fn challenge(challenge: &Challenge, found: &mut Findings) {
    const OTHERWISE: &str =
        "so every challenge would be declined; to decline them all write accept = false";
    found.when(
        !challenge.rated && !challenge.casual,
        &["challenge.casual", "challenge.rated"],
        format!("neither rated nor casual games are accepted, {OTHERWISE}"),
    );
    found.when(
        !challenge.humans && !challenge.bots,
        &["challenge.bots", "challenge.humans"],
        format!("neither humans nor bots are accepted, {OTHERWISE}"),
    );
    found.when(
        challenge.variants.is_empty(),
        &["challenge.variants"],
        format!("no variant is accepted, {OTHERWISE}"),
    );
    found.when(
        challenge.speeds.is_empty(),
        &["challenge.speeds"],
        format!("no speed is accepted, {OTHERWISE}"),
    );
    let only_positions = challenge.variants == [Variant::FromPosition] && !challenge.casual;
    found.when(only_positions, &["challenge.casual", "challenge.variants"], format!("only games from a position are accepted and only rated ones, but Lichess never rates them, {OTHERWISE}"));

    let ranges: [(u32, u32, &[&str], &str); 4] = [
        (
            challenge.min_base_s,
            challenge.max_base_s,
            &["challenge.max_base_s", "challenge.min_base_s"],
            "base_s",
        ),
        (
            challenge.min_increment_s,
            challenge.max_increment_s,
            &["challenge.max_increment_s", "challenge.min_increment_s"],
            "increment_s",
        ),
        (
            challenge.min_days,
            challenge.max_days,
            &["challenge.max_days", "challenge.min_days"],
            "days",
        ),
        (
            challenge.min_rating,
            challenge.max_rating,
            &["challenge.max_rating", "challenge.min_rating"],
            "rating",
        ),
    ];
    let mut turned = false;
    for (min, max, keys, name) in ranges {
        turned |= min > max;
        found.when(
            min > max,
            keys,
            format!("min_{name} = {min} is more than max_{name} = {max}, {OTHERWISE}"),
        );
    }
    if !turned {
        let unreachable = unreachable(challenge);
        found.when(unreachable, &["challenge.speeds", "challenge.max_base_s", "challenge.min_base_s", "challenge.max_increment_s", "challenge.min_increment_s"], format!("no time control within the limits of base and increment belongs to the accepted speeds, {OTHERWISE}"));
    }
}

/// Whether clock games are accepted, but every time control within the limits has another speed.
fn unreachable(challenge: &Challenge) -> bool {
    // Lichess's estimate of a game's length: 40 moves.
    let least = challenge
        .min_base_s
        .saturating_add(challenge.min_increment_s.saturating_mul(40));
    let most = challenge
        .max_base_s
        .saturating_add(challenge.max_increment_s.saturating_mul(40));
    let mut bands = challenge.speeds.iter().copied().map(seconds);
    !challenge.speeds.is_empty()
        && bands.all(|band| band.is_some_and(|band| most < *band.start() || least > *band.end()))
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

fn games(games: &Games, challenge: &Challenge, found: &mut Findings) {
    found.when(games.concurrency == 0, &["games.concurrency"], if challenge.accept {
        "no game at a time is allowed, so nothing can be played; to decline all challenges write accept = false in [challenge]"
    } else {
        "no game at a time is allowed, so nothing can be played"
    });
    found.when(
        games.per_opponent == 0,
        &["games.per_opponent"],
        "no game at a time against an opponent is allowed, so nothing can be played",
    );
}

fn manners(draw: &Draw, resign: &Resign, found: &mut Findings) {
    let draws = draw.offer || draw.accept;
    found.when(draws && draw.moves == 0, &["draw.moves"], "draws would be agreed after 0 level moves, that is before the engine has looked at the game; the least is 1");
    if resign.enabled {
        found.when(resign.moves == 0, &["resign.moves"], "games would be resigned after 0 lost moves, that is before the engine has looked at them; the least is 1");
        found.when(resign.score_cp < 200, &["resign.score_cp"], format!("games would be resigned {} centipawns down, which is far from lost; the least is 200", resign.score_cp));
        let both = draws && draw.score_cp >= resign.score_cp;
        found.when(both, &["draw.score_cp", "resign.score_cp"], format!("the same score would be level and lost: [draw] score_cp = {} reaches [resign] score_cp = {}", draw.score_cp, resign.score_cp));
    }
}

fn chat(chat: &Chat, found: &mut Findings) {
    let texts: [(&str, &[&str]); 4] = [
        (&chat.greeting, &["chat.greeting"]),
        (&chat.farewell, &["chat.farewell"]),
        (&chat.greeting_spectators, &["chat.greeting_spectators"]),
        (&chat.farewell_spectators, &["chat.farewell_spectators"]),
    ];
    for (text, keys) in texts {
        let length = text.chars().count();
        found.when(
            length > LONGEST_CHAT,
            keys,
            format!("the text has {length} characters, but Lichess takes {LONGEST_CHAT} at most"),
        );
        found.when(
            text.contains('\n'),
            keys,
            "the text has several lines, but Lichess takes one",
        );
        for placeholder in text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
        {
            let known = matches!(placeholder, "me" | "opponent");
            found.when(
                !known,
                keys,
                format!(
                    "`{{{placeholder}}}` stands for nothing; there are {{me}} and {{opponent}}"
                ),
            );
        }
    }
}
