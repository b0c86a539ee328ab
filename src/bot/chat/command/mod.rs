//! Commands: what people can ask with a `!` in front, and what we answer. Pure.
//!
//! The score and the line of a game that is on are for the spectators alone, unless the operator says otherwise: in the
//! opponent's hands they are help by an engine, which Lichess forbids, and they tell him what we are up to.

use std::time::Duration;

use super::{PROGRAM, VERSION, Words, fit, line};
use crate::bot::policy::PlaySettings;
use crate::config::{self, Evals};
use crate::events::{SearchInfo, Source};
use crate::lichess::model::Room;
use crate::plural;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
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
    /// Something else with a `!` in front.
    Unknown,
    /// More than are answered within a minute.
    TooMany,
}

/// A command, its names, and what `!help` says about it. The first name is the one that is listed.
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
        "which challenges I take",
    ),
    (Command::Depth, &["depth"], "how deep I looked"),
    (Command::Draw, &["draw"], "when I take a draw"),
    (
        Command::Eval,
        &["eval"],
        "what I think of the game; for spectators",
    ),
    (
        Command::Help,
        &["help", "commands"],
        "what I answer; !help and a word says more about it",
    ),
    (Command::Motd, &["motd"], "the message of the day"),
    (
        Command::Name,
        &["name", "engine", "motor"],
        "who I am, and with which engine",
    ),
    (Command::Nps, &["nps"], "how fast I look"),
    (Command::Ping, &["ping"], "what my moves lose on their way"),
    (Command::Pv, &["pv"], "which moves I expect; for spectators"),
    (
        Command::Queue,
        &["queue"],
        "how many play with me, and how many wait",
    ),
    (Command::Strength, &["strength", "elo"], "how strong I play"),
    (
        Command::Takeback,
        &["takeback"],
        "how many moves I give back",
    ),
    (Command::Time, &["time"], "how long my last move took"),
    (
        Command::Version,
        &["version"],
        "which version of me this is",
    ),
    (
        Command::Wait,
        &["wait"],
        "one minute more for your first move",
    ),
];

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where, and so where the answer goes.
    pub room: Room,
    /// It is the opponent, who may also be among the spectators.
    pub opponent: bool,
}

/// What can be told.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Names and the like.
    pub words: Words<'a>,
    /// `[chat]`
    pub chat: &'a config::Chat,
    /// `[challenge]`
    pub challenge: &'a config::Challenge,
    /// How this game is played.
    pub terms: &'a PlaySettings,
    /// What we thought about our last move, and from the opponent's move to ours.
    pub last: Option<(&'a SearchInfo, Duration)>,
    /// Our clock, where there is one.
    pub clock: Option<Duration>,
    /// What a move loses on its way.
    pub lag: Duration,
    /// Moves that we would still give back.
    pub takebacks: u32,
    /// Games that are on.
    pub games: usize,
    /// Challenges that wait.
    pub waiting: usize,
    /// We shall wait longer for the first move.
    pub waits: bool,
}

impl Command {
    /// The command in a line of chat, if there is one, and the word behind it; of an unknown one the word that it is.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let mut words = text.trim().strip_prefix('!')?.split_whitespace();
        // `! help` is none.
        let name = words.next().filter(|_| !text.trim().starts_with("! "))?;
        match Self::named(name) {
            Some((command, ..)) => Some((*command, words.next().unwrap_or_default())),
            None => is_word(name).then_some((Self::Unknown, name)),
        }
    }

    /// What it is called, without the `!`.
    pub fn name(self) -> &'static str {
        let entry = ALL.iter().find(|(command, ..)| *command == self);
        entry.map_or("", |(_, names, _)| names[0])
    }

    fn named(name: &str) -> Option<&'static Entry> {
        let is_it = |other: &&str| other.eq_ignore_ascii_case(name);
        ALL.iter().find(|(_, names, _)| names.iter().any(is_it))
    }

    /// What we answer to this, and to the word behind it.
    pub fn answer(self, word: &str, asker: Asker, facts: &Facts<'_>) -> Option<String> {
        let secret = match facts.chat.evals {
            Evals::Nobody => true,
            Evals::Spectators => asker.room != Room::Spectator || asker.opponent,
            Evals::Everybody => false,
        };
        let text = match self {
            Self::Help => help(word),
            Self::Name => format!(
                "I am {}, and my engine is {PROGRAM} {VERSION}.",
                facts.words.me
            ),
            Self::Version => format!("{PROGRAM} {VERSION}"),
            Self::Eval | Self::Pv if secret => {
                "Not while the game is on: that would be help by an engine.".into()
            }
            Self::Eval => of_search(facts, |report| {
                let score = report
                    .score
                    .map_or("?".to_owned(), |score| score.to_string());
                let deep = plural::count(report.depth, "ply", "plies");
                format!("{score} for me, {deep} deep.")
            }),
            Self::Pv => of_search(facts, |report| format!("I expect {}", report.pv.join(" "))),
            Self::Depth => of_search(facts, |report| {
                let (depth, longest) = (report.depth, report.seldepth);
                let depth = plural::count(depth, "ply", "plies");
                format!("{depth}, and {longest} in the longest line.")
            }),
            Self::Nps => of_search(facts, |report| {
                let seconds = report.elapsed.as_secs_f64().max(1e-3);
                let (nodes, speed) = (report.nodes as f64, report.nodes as f64 / seconds);
                format!(
                    "{} positions a second, {} in all.",
                    many(speed),
                    many(nodes)
                )
            }),
            Self::Time => time(facts),
            Self::Book => book(facts),
            Self::Draw => draw(&facts.terms.draw),
            Self::Takeback => match facts.takebacks {
                0 => "I give no moves back in this game.".into(),
                1 => "I still give one move back in this game.".into(),
                n => format!("I still give {n} moves back in this game."),
            },
            Self::Strength => match facts.terms.strength.elo {
                Some(elo) => format!("I play this game at about {elo} Elo."),
                None => "I play this game as well as I can.".into(),
            },
            Self::Challenge => challenge(facts.challenge),
            Self::Queue => queue(facts),
            Self::Ping => format!("My moves lose {} ms on their way.", facts.lag.as_millis()),
            Self::Motd => match line(&facts.chat.motd, &facts.words) {
                Some(said) => said,
                None => "There is no message today.".into(),
            },
            Self::Wait if facts.waits => "I wait one minute more for your first move.".into(),
            Self::Wait => "There is nothing to wait for.".into(),
            Self::Unknown => format!("I do not know !{word}. Write !help for what I answer."),
            Self::TooMany => {
                let most = facts.chat.per_minute;
                let commands = plural::count(most, "command", "commands");
                format!("I answer {commands} a minute here. Please ask again a little later.")
            }
        };
        fit(text)
    }
}

/// Whether this may be meant as a command: not `!!`, nor a move that somebody finds good.
fn is_word(name: &str) -> bool {
    (2..=20).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphabetic())
}

fn help(word: &str) -> String {
    match Command::named(word.trim_start_matches('!')) {
        Some((_, names, help)) => format!("!{}: {help}", names[0]),
        None => {
            let names: Vec<&str> = ALL.iter().map(|(_, names, _)| names[0]).collect();
            format!("I answer !{}", names.join(" !"))
        }
    }
}

/// Something about our last search, if our last move is of one.
fn of_search(facts: &Facts<'_>, tell: impl Fn(&SearchInfo) -> String) -> String {
    match facts.last {
        None => "I have not moved yet.".into(),
        Some((report, _)) => match report.source {
            Source::Book => "My last move was from a book, so I did not think.".into(),
            Source::Only => "My last move was the only one, so I did not think.".into(),
            Source::Search => tell(report),
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
    let from_book = facts.last.map(|(report, _)| report.source == Source::Book);
    match from_book {
        _ if !facts.terms.book.are_asked() => "I play this game without a book.".into(),
        None => "I have not moved yet.".into(),
        Some(true) => "My last move was from a book.".into(),
        Some(false) => "My last move was from no book.".into(),
    }
}

fn draw(draw: &config::Draw) -> String {
    if !draw.accept {
        return "I take no draws in this game.".into();
    }
    let (min_move, max_win) = (draw.min_move, draw.max_win_percent);
    let moves = match draw.min_level_moves {
        0 | 1 => "at a move".to_owned(),
        moves => format!("at {moves} moves in a row"),
    };
    format!(
        "I take a draw from move {min_move} on, if {moves} I would win at most {max_win} of 100 such games."
    )
}

fn challenge(challenge: &config::Challenge) -> String {
    if !challenge.accept {
        return "I take no challenges at present.".into();
    }
    let variants: Vec<&str> = challenge.variants.iter().map(|it| it.key()).collect();
    let speeds: Vec<&str> = challenge.speeds.iter().map(|it| it.key()).collect();
    let stakes = match (challenge.rated, challenge.casual) {
        (true, false) => "rated",
        (false, true) => "casual",
        _ => "rated or casual",
    };
    format!(
        "I play {}; {}; {stakes}.",
        variants.join(", "),
        speeds.join(", ")
    )
}

fn queue(facts: &Facts<'_>) -> String {
    let games = plural::count(facts.games, "game is on", "games are on");
    let waiting = plural::count(facts.waiting, "challenge waits", "challenges wait");
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

fn many(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n if n >= 1e4 => format!("{:.0} thousand", n / 1e3),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests;
