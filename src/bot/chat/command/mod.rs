//! Chat commands (`!eval`) and their answers. Pure.
//!
//! Score and principal variation of a running game are for spectators only, unless configured otherwise. For the opponent they
//! would be engine assistance, which Lichess forbids, and reveal our plans.

use std::time::Duration;

use super::{PROGRAM, TemplateValues, VERSION, fill, fit};
use crate::bot::policy::PlaySettings;
use crate::config::{self, Evals};
use crate::events::{SearchInfo, Source};
use crate::lichess::model::{Room, Variant};
use crate::plural;

/// Chat command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Book,
    Challenge,
    Depth,
    Draw,
    Eval,
    Help,
    Motd,
    Name,
    Nps,
    Ping,
    Pv,
    Queue,
    Strength,
    Takeback,
    Time,
    Version,
    Wait,
    /// Any other word after a `!`.
    Unknown,
    /// A command beyond the rate limit.
    TooMany,
}

/// A command, its names, and its help text. `!help` lists the first name.
type Entry = (Command, &'static [&'static str], &'static str);

const ALL: &[Entry] = &[
    (
        Command::Book,
        &["book"],
        "whether my last move was from a book",
    ),
    (
        Command::Challenge,
        &["challenge", "variants"],
        "which challenges I accept",
    ),
    (Command::Depth, &["depth"], "search depth of my last move"),
    (Command::Draw, &["draw"], "when I accept a draw"),
    (
        Command::Eval,
        &["eval"],
        "score of the game; for spectators",
    ),
    (
        Command::Help,
        &["help", "commands"],
        "my commands; !help and a command explains it",
    ),
    (Command::Motd, &["motd"], "the message of the day"),
    (
        Command::Name,
        &["name", "engine", "motor"],
        "who I am, and with which engine",
    ),
    (Command::Nps, &["nps"], "search speed at my last move"),
    (Command::Ping, &["ping"], "network lag of my moves"),
    (Command::Pv, &["pv"], "which moves I expect; for spectators"),
    (
        Command::Queue,
        &["queue"],
        "how many games I play, and how many challenges are queued",
    ),
    (Command::Strength, &["strength", "elo"], "how strong I play"),
    (
        Command::Takeback,
        &["takeback"],
        "how many takebacks I grant",
    ),
    (Command::Time, &["time"], "how long my last move took"),
    (Command::Version, &["version"], "my version"),
    (
        Command::Wait,
        &["wait"],
        "one more minute for your first move",
    ),
];

/// Author of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requester {
    /// Room of the command and its answer.
    pub room: Room,
    /// Whether it is the opponent, who may also write in the spectators' room.
    pub is_opponent: bool,
}

/// Facts for the answers.
#[derive(Clone, Debug)]
pub(crate) struct Facts<'a> {
    /// Values of placeholders.
    pub values: TemplateValues<'a>,
    /// `[chat]`
    pub chat: &'a config::Chat,
    /// `[challenge]`
    pub challenge: &'a config::Challenge,
    /// Settings of this game, after rules.
    pub terms: &'a PlaySettings,
    /// Search report of our last move, and the time it took us.
    pub last: Option<(&'a SearchInfo, Duration)>,
    /// Our clock, if there is one.
    pub clock: Option<Duration>,
    /// Median lag of a move.
    pub lag: Duration,
    /// Takebacks that the opponent can still get.
    pub takebacks: u32,
    /// Running games.
    pub games: usize,
    /// Queued challenges.
    pub waiting: usize,
    /// The wait for the opponent's first move was extended.
    pub extends_wait: bool,
}

impl Command {
    /// Parses a chat line. Returns the command and its argument; for an unknown command, its name.
    pub(crate) fn parse(text: &str) -> Option<(Self, &str)> {
        let mut words = text.trim().strip_prefix('!')?.split_whitespace();
        // `! help` is not a command.
        let name = words.next().filter(|_| !text.trim().starts_with("! "))?;
        match Self::find(name) {
            Some((command, ..)) => Some((*command, words.next().unwrap_or_default())),
            None => is_word(name).then_some((Self::Unknown, name)),
        }
    }

    /// Name of the command, without the `!`.
    pub(crate) fn name(self) -> &'static str {
        let entry = ALL.iter().find(|(command, ..)| *command == self);
        entry.map_or("", |(_, names, _)| names[0])
    }

    fn find(name: &str) -> Option<&'static Entry> {
        let matches = |other: &&str| other.eq_ignore_ascii_case(name);
        ALL.iter().find(|(_, names, _)| names.iter().any(matches))
    }

    /// Answers the command. `argument` is the word after it.
    pub(crate) fn answer(
        self,
        argument: &str,
        requester: Requester,
        facts: &Facts<'_>,
    ) -> Option<String> {
        let is_secret = match facts.chat.evals {
            Evals::Nobody => true,
            Evals::Spectators => requester.room != Room::Spectator || requester.is_opponent,
            Evals::Everybody => false,
        };
        let text = match self {
            Self::Help => help(argument),
            Self::Name => {
                let (me, engine) = (facts.values.me, facts.values.engine);
                let version = match engine == PROGRAM {
                    true => format!(" {VERSION}"),
                    false => String::new(),
                };
                format!("I am {me}, and my engine is {engine}{version}.")
            }
            Self::Version => format!("{PROGRAM} {VERSION}"),
            Self::Eval | Self::Pv if is_secret => {
                "Not during the game: that would be engine assistance.".into()
            }
            Self::Eval => about_last_search(facts, |info| {
                let score = info.score.map_or("?".to_owned(), |score| score.to_string());
                let deep = plural::count(info.depth, "ply", "plies");
                format!("{score} for me, {deep} deep.")
            }),
            Self::Pv => about_last_search(facts, |info| format!("I expect {}", info.pv.join(" "))),
            Self::Depth => about_last_search(facts, |info| {
                let (depth, longest) = (info.depth, info.seldepth);
                let depth = plural::count(depth, "ply", "plies");
                format!("{depth}, and {longest} in the longest line.")
            }),
            Self::Nps => about_last_search(facts, |info| {
                let seconds = info.elapsed.as_secs_f64().max(1e-3);
                let (nodes, speed) = (info.nodes as f64, info.nodes as f64 / seconds);
                format!(
                    "{} positions a second, {} in all.",
                    abbreviate(speed),
                    abbreviate(nodes)
                )
            }),
            Self::Time => time(facts),
            Self::Book => book(facts),
            Self::Draw => draw(&facts.terms.draw),
            Self::Takeback => match facts.takebacks {
                0 => "I grant no takebacks in this game.".into(),
                1 => "I grant one more takeback in this game.".into(),
                n => format!("I grant {n} more takebacks in this game."),
            },
            Self::Strength => match facts.terms.strength.elo {
                Some(elo) => format!("I play this game at about {elo} Elo."),
                None => "I play this game as well as I can.".into(),
            },
            Self::Challenge => challenge(facts.challenge),
            Self::Queue => queue(facts),
            Self::Ping => format!(
                "My moves take {} ms over the network.",
                facts.lag.as_millis()
            ),
            Self::Motd => match fill(&facts.chat.motd, &facts.values) {
                Some(said) => said,
                None => "There is no message today.".into(),
            },
            Self::Wait if facts.extends_wait => {
                "I will wait one more minute for your first move.".into()
            }
            Self::Wait => "There is nothing to wait for.".into(),
            Self::Unknown => format!("I do not know !{argument}. !help lists my commands."),
            Self::TooMany => {
                let max = facts.chat.per_minute;
                let commands = plural::count(max, "command", "commands");
                format!("I answer {commands} a minute here. Please try again later.")
            }
        };
        fit(text)
    }
}

/// Returns whether a word looks like a command. `!!` and `!Nf3` do not.
fn is_word(name: &str) -> bool {
    (2..=20).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphabetic())
}

fn help(argument: &str) -> String {
    match Command::find(argument.trim_start_matches('!')) {
        Some((_, names, help)) => format!("!{}: {help}", names[0]),
        None => {
            let names: Vec<&str> = ALL.iter().map(|(_, names, _)| names[0]).collect();
            format!("I answer !{}", names.join(" !"))
        }
    }
}

/// Describes our last search, or says that there was none.
fn about_last_search(facts: &Facts<'_>, describe: impl Fn(&SearchInfo) -> String) -> String {
    match facts.last {
        None => "I have not moved yet.".into(),
        Some((info, _)) => match info.source {
            Source::Book => "My last move was from a book, without a search.".into(),
            Source::Only => "My last move was the only legal one, without a search.".into(),
            Source::Search | Source::Fallback => describe(info),
        },
    }
}

fn time(facts: &Facts<'_>) -> String {
    let took = facts.last.map(|(_, took)| took.as_secs_f64());
    let took = took.map(|took| format!("My last move took {took:.1} s."));
    let left = facts
        .clock
        .map(|left| format!("I have {} left.", clock(left)));
    match (took, left) {
        (None, None) => "There is no clock.".into(),
        (took, left) => [took, left]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn book(facts: &Facts<'_>) -> String {
    let from_book = facts.last.map(|(info, _)| info.source == Source::Book);
    match from_book {
        _ if !facts.terms.book.are_used() => "I play this game without a book.".into(),
        None => "I have not moved yet.".into(),
        Some(true) => "My last move was from a book.".into(),
        Some(false) => "My last move was not from a book.".into(),
    }
}

fn draw(draw: &config::Draw) -> String {
    if !draw.accept {
        return "I accept no draws in this game.".into();
    }
    let (min_move, max_win) = (draw.min_move, draw.max_win_percent);
    let moves = match draw.min_level_moves {
        0 | 1 => "at one move".to_owned(),
        moves => format!("at {moves} moves in a row"),
    };
    format!(
        "I accept a draw from move {min_move} on, if my chance to win is at most {max_win}% {moves}."
    )
}

fn challenge(challenge: &config::Challenge) -> String {
    if !challenge.accept {
        return "I accept no challenges at the moment.".into();
    }
    let has = |variant| challenge.variants.contains(variant);
    let variants = match Variant::ALL.iter().all(has) {
        true => "all variants".to_owned(),
        false => {
            let keys: Vec<&str> = challenge.variants.iter().map(|it| it.key()).collect();
            keys.join(", ")
        }
    };
    let speeds: Vec<&str> = challenge.speeds.iter().map(|it| it.key()).collect();
    let stakes = match (challenge.rated, challenge.casual) {
        (true, false) => "rated",
        (false, true) => "casual",
        _ => "rated or casual",
    };
    format!("I play {variants}; {}; {stakes}.", speeds.join(", "))
}

fn queue(facts: &Facts<'_>) -> String {
    let games = plural::count(facts.games, "game running", "games running");
    let waiting = plural::count(facts.waiting, "challenge queued", "challenges queued");
    format!("{games}, {waiting}.")
}

/// `2:05`, `1:00:00`.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

fn abbreviate(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n if n >= 1e4 => format!("{:.0} thousand", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests;
