//! How a game is played: the settings, as the rules have it for this game.

use std::time::Duration;

use super::{Subject, name_of, subject};
use crate::config::{self, Play, Settings};
use crate::engine::Limits;

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Whether books are asked.
    pub book: bool,
    /// Whether we greet.
    pub chat: bool,
    /// When we offer and accept draws.
    pub draw: config::Draw,
    /// When we resign.
    pub resign: config::Resign,
    /// How much the engine may think about a move, beside what the clock allows.
    pub think: Think,
    /// By which rules, for the log; nothing when it is all as the sections say.
    pub by: Option<String>,
}

/// Bounds for each move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// Time.
    pub time: Option<Duration>,
    /// Plies.
    pub depth: Option<u32>,
    /// Positions.
    pub nodes: Option<u64>,
}

impl Think {
    /// These limits, and no more than this.
    pub fn bound(self, limits: Limits) -> Limits {
        Limits {
            at_most: self.time.or(limits.at_most),
            depth: self.depth.or(limits.depth),
            nodes: self.nodes.or(limits.nodes),
            ..limits
        }
    }
}

impl Terms {
    /// As the sections say.
    pub fn plain(settings: &Settings) -> Self {
        Self::with(settings, Play::default(), None)
    }

    /// As the rules say, and where they say nothing, the sections. Rules that decline are about challenges alone.
    pub fn of(settings: &Settings, game: &Subject) -> Self {
        let (mut play, mut by) = (Play::default(), Vec::new());
        for (number, rule) in settings.rule.iter().enumerate() {
            if rule.decline.is_some() || subject::miss(&rule.matching, game).is_some() {
                continue;
            }
            if rule.play != Play::default() {
                play = play.or(rule.play);
                by.push(name_of(number, rule));
            }
            if rule.accept == Some(true) {
                break;
            }
        }
        let how = format!("{} by {}", said(play).join(", "), by.join(" and "));
        Self::with(settings, play, (!by.is_empty()).then_some(how))
    }

    fn with(settings: &Settings, play: Play, by: Option<String>) -> Self {
        let (draw, resign) = (settings.draw.clone(), settings.resign.clone());
        Self {
            book: play.book.unwrap_or(settings.book.enabled),
            chat: play.chat.unwrap_or(true),
            draw: config::Draw {
                offer: play.offer_draws.unwrap_or(draw.offer),
                accept: play.accept_draws.unwrap_or(draw.accept),
                ..draw
            },
            resign: config::Resign {
                enabled: play.resign.unwrap_or(resign.enabled),
                ..resign
            },
            think: Think {
                time: play.max_move(),
                depth: play.max_depth,
                nodes: play.max_nodes,
            },
            by,
        }
    }
}

/// What this says, in words.
pub(super) fn said(play: Play) -> Vec<String> {
    let switch =
        |is: Option<bool>, yes: &str, no: &str| is.map(|is| if is { yes } else { no }.to_owned());
    let said = [
        switch(play.book, "books", "no books"),
        switch(play.offer_draws, "offers draws", "offers no draws"),
        switch(play.accept_draws, "accepts draws", "accepts no draws"),
        switch(play.resign, "resigns", "does not resign"),
        switch(play.chat, "chats", "no chat"),
        play.max_move_ms
            .map(|ms| format!("{ms} ms for a move at most")),
        play.max_depth
            .map(|depth| format!("{depth} plies deep at most")),
        play.max_nodes
            .map(|nodes| format!("{nodes} positions for a move at most")),
    ];
    said.into_iter().flatten().collect()
}
