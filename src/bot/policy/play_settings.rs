//! Effective play settings of a game.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{MatchInput, PlayingStrength, match_input, numbered, rule_label};
use crate::config::{self, Books, Play, Settings, Takebacks};
use crate::engine::Limits;
use crate::plural;

/// How one game is played, after rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaySettings {
    /// Books to use.
    pub book: Books,
    /// Whether to greet and answer commands.
    pub chat: bool,
    /// When to offer and accept draws.
    pub draw: config::Draw,
    /// When to resign, if at all against this opponent.
    pub resign: config::Resign,
    /// Takebacks granted to the opponent.
    pub takebacks: u32,
    /// Whether to offer a rematch.
    pub offer_rematch: bool,
    /// Wait for the opponent's first move; `None` waits forever.
    pub abort_after: Option<Duration>,
    /// Limits of the engine for each move, in addition to the clock.
    #[serde(alias = "think")]
    pub move_limits: MoveLimits,
    /// Playing strength.
    #[serde(default, alias = "skill")]
    pub strength: PlayingStrength,
    /// Name of the external engine that plays; `None` for the embedded one.
    pub engine: Option<String>,
    /// Options of the external engine in this game.
    #[serde(default)]
    pub options: Vec<(String, String)>,
    /// Rules that apply, for the log; `None` if the sections apply unchanged.
    #[serde(alias = "by")]
    pub rules: Option<String>,
}

/// Limits for each move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveLimits {
    /// Maximum time.
    pub time: Option<Duration>,
    /// Maximum depth in plies.
    pub depth: Option<u32>,
    /// Maximum number of positions.
    pub nodes: Option<u64>,
}

impl MoveLimits {
    /// Applies these limits on top of others.
    pub fn apply(self, limits: Limits) -> Limits {
        Limits {
            max_time: [self.time, limits.max_time].into_iter().flatten().min(),
            depth: self.depth.or(limits.depth),
            nodes: self.nodes.or(limits.nodes),
            ..limits
        }
    }
}

impl PlaySettings {
    /// Settings of the sections, while the game is not known.
    pub fn defaults(settings: &Settings) -> Self {
        Self::with(settings, Play::default(), None, None)
    }

    /// Settings of the matching rules, else of the sections. Rules that decline apply to challenges only.
    pub fn of(settings: &Settings, game: &MatchInput) -> Self {
        let (mut play, mut labels) = (Play::default(), Vec::new());
        for (number, rule) in numbered(&settings.rule) {
            if rule.decline.is_some() || match_input::first_objection(rule, game).is_some() {
                continue;
            }
            if rule.play != Play::default() {
                play = play.or(rule.play.clone());
                labels.push(rule_label(number, rule));
            }
            if rule.accept == Some(true) {
                break;
            }
        }
        let description = format!("{} by {}", describe(&play).join(", "), labels.join(" and "));
        Self::with(
            settings,
            play,
            Some(game),
            (!labels.is_empty()).then_some(description),
        )
    }

    fn with(
        settings: &Settings,
        play: Play,
        game: Option<&MatchInput>,
        rules: Option<String>,
    ) -> Self {
        let (draw, resign) = (settings.draw.clone(), settings.resign.clone());
        let games = &settings.games;
        let bot = game.is_some_and(|game| game.bot);
        let takebacks = play.takebacks.unwrap_or(games.takebacks);
        let allows_takebacks = game.is_some_and(|game| match takebacks {
            Takebacks::Never => false,
            Takebacks::Casual => !game.bot && !game.rated,
            Takebacks::Humans => !game.bot,
            Takebacks::Always => true,
        });
        let strength = play.strength.unwrap_or(settings.engine.strength);
        let abort_after_s = play.abort_after_s.unwrap_or(games.abort_after_s);
        Self {
            book: play
                .book
                .clone()
                .unwrap_or_else(|| settings.book.enabled.into()),
            chat: play.chat.unwrap_or(true),
            draw: config::Draw {
                offer: play.offer_draws.unwrap_or(draw.offer),
                accept: play.accept_draws.unwrap_or(draw.accept),
                ..draw
            },
            resign: config::Resign {
                // A rule applies to its opponents, people or bots.
                enabled: play
                    .resign
                    .unwrap_or(resign.enabled && (bot || resign.humans)),
                ..resign
            },
            takebacks: if allows_takebacks {
                games.max_takebacks
            } else {
                0
            },
            offer_rematch: play.offer_rematch.unwrap_or(games.offer_rematch),
            abort_after: (abort_after_s > 0).then(|| config::seconds(abort_after_s)),
            move_limits: MoveLimits {
                time: play.max_move(),
                depth: play.max_depth,
                nodes: play.max_nodes,
            },
            strength: game.map_or_else(PlayingStrength::default, |game| {
                PlayingStrength::of(strength, game)
            }),
            engine: settings
                .engine
                .external_name(play.engine.as_deref(), game.map(|game| game.variant)),
            options: play
                .options
                .as_ref()
                .map(config::option_texts)
                .unwrap_or_default(),
            rules,
        }
    }
}

/// Describes the settings of a rule.
pub fn describe(play: &Play) -> Vec<String> {
    let switch =
        |is: Option<bool>, yes: &str, no: &str| is.map(|is| if is { yes } else { no }.to_owned());
    let parts = [
        play.book.as_ref().map(Books::to_string),
        switch(play.offer_draws, "offers draws", "offers no draws"),
        switch(play.accept_draws, "accepts draws", "accepts no draws"),
        switch(play.resign, "resigns", "does not resign"),
        switch(play.chat, "chats", "no chat"),
        play.takebacks.map(|who| {
            let who = match who {
                Takebacks::Never => "nobody",
                Takebacks::Casual => "people in casual games",
                Takebacks::Humans => "people",
                Takebacks::Always => "everybody",
            };
            format!("moves back for {who}")
        }),
        switch(play.offer_rematch, "offers a rematch", "offers no rematch"),
        play.abort_after_s.map(|s| match s {
            0 => "waits for the first move for ever".to_owned(),
            s => format!("{s} s for the first move"),
        }),
        play.max_move_ms
            .map(|ms| format!("{ms} ms for a move at most")),
        play.max_depth
            .map(|depth| format!("{} deep at most", plural::count(depth, "ply", "plies"))),
        play.max_nodes
            .map(|nodes| plural::count(nodes, "position", "positions"))
            .map(|nodes| format!("{nodes} for a move at most")),
        play.strength.map(|strength| format!("plays {strength}")),
        play.engine
            .as_ref()
            .map(|engine| format!("engine {engine}")),
        play.options.as_ref().map(|options| {
            let options = options
                .iter()
                .map(|(name, value)| format!("{name} = {value}"));
            options.collect::<Vec<_>>().join(", ")
        }),
    ];
    parts.into_iter().flatten().collect()
}
