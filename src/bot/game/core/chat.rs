//! Chat commands and templates.

use std::time::Instant;

use super::GameCore;
use crate::bot::chat::{self, Command, Ending, Facts, Requester, TemplateValues};
use crate::config;
use crate::lichess::model::{ChatLine, Room, Username};

/// Author of chat lines that Lichess itself writes.
const LICHESS: &str = "lichess";

/// Facts outside the game that chat answers use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatContext<'a> {
    pub me: &'a Username,
    pub chat: &'a config::Chat,
    pub challenge: &'a config::Challenge,
    /// Time of the answer.
    pub now: Instant,
    /// Running games.
    pub games: usize,
    /// Queued challenges.
    pub waiting: usize,
    /// The wait for the opponent's first move was extended.
    pub extends_wait: bool,
}

/// Chat command that gets an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatRequest {
    pub command: Command,
    argument: String,
    requester: Requester,
}

impl GameCore {
    /// Parses a chat line as a command to be answered. Applies the rate limit.
    pub(crate) fn read_command(
        &mut self,
        line: &ChatLine,
        me: &Username,
        chat: &config::Chat,
        arrived: Instant,
    ) -> Option<ChatRequest> {
        let is_own_line = line.username == *me || line.username.as_str() == LICHESS;
        if is_own_line || !chat.commands || !self.terms.chat {
            return None;
        }
        if chat.per_minute == 0 {
            return None;
        }
        let (command, argument) = Command::parse(&line.text)?;
        let (header, _) = self.game.as_ref()?;
        let opponent = match line.room {
            // Only the two players write there; an anonymous player is named by color.
            Room::Player => true,
            _ => line.username == Username::new(&header.opponent),
        };
        let throttle = &mut self.throttle;
        let (is_allowed, command) = match command {
            Command::Unknown => (throttle.allow_hint(&line.room, arrived), command),
            _ if throttle.allow(&line.room, chat.per_minute, arrived) => (true, command),
            _ => (throttle.allow_hint(&line.room, arrived), Command::TooMany),
        };
        is_allowed.then(|| ChatRequest {
            command,
            argument: argument.to_owned(),
            requester: Requester {
                room: line.room,
                is_opponent: opponent,
            },
        })
    }

    /// Text of the answer to a command.
    pub(crate) fn answer(
        &self,
        request: &ChatRequest,
        context: &ChatContext<'_>,
    ) -> Option<String> {
        let (header, _) = self.game.as_ref()?;
        let facts = Facts {
            values: self.template_values(context.me)?,
            chat: context.chat,
            challenge: context.challenge,
            terms: &self.terms,
            last: self
                .last_search
                .as_ref()
                .map(|(info, timing)| (info, timing.to_post)),
            clock: header.has_clock().then(|| self.running_clock(context.now)),
            lag: self.lag.median(),
            takebacks: self.terms.takebacks.saturating_sub(self.takebacks_granted),
            games: context.games,
            waiting: context.waiting,
            extends_wait: context.extends_wait,
        };
        request
            .command
            .answer(&request.argument, request.requester, &facts)
    }

    /// Fills in a template of the configuration.
    pub(crate) fn fill_template(&self, template: &str, me: &Username) -> Option<String> {
        chat::fill(template, &self.template_values(me)?)
    }

    /// Values of the placeholders in templates.
    fn template_values<'a>(&'a self, me: &'a Username) -> Option<TemplateValues<'a>> {
        let ((header, game_moves), match_input) = (self.game.as_ref()?, self.match_input.as_ref()?);
        let ending = self.result.map(|(result, winner)| Ending {
            result,
            outcome: match winner {
                Some(winner) if winner == header.us => "won",
                Some(_) => "lost",
                None => "drawn",
            },
            moves: game_moves.ply().div_ceil(2),
        });
        Some(TemplateValues {
            me: me.as_str(),
            opponent: &header.opponent,
            rating: match_input.rating,
            color: header.us.key(),
            speed: match_input.speed.key(),
            time: match_input.time.to_string(),
            engine: self.terms().engine.as_deref().unwrap_or(chat::PROGRAM),
            ending,
        })
    }
}

impl ChatRequest {
    /// The command for the log, `!help`.
    pub(crate) fn describe(&self) -> String {
        match self.command {
            Command::Unknown => format!("!{} (unknown command)", self.argument),
            Command::TooMany => "a command beyond the limit per minute".to_owned(),
            known => format!("!{}", known.name()),
        }
    }

    /// Returns whether the request is from the players' room, so from the opponent.
    pub(crate) fn is_private_from_opponent(&self) -> bool {
        self.requester.room == Room::Player
    }
}
