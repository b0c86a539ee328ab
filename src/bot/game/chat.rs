//! Chat of a game: greetings, answers to commands, rematch offers. No move waits for chat, and a rate limit on chat pauses
//! only chat.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::{ExitReason, GameTask};
use crate::bot::chat::Command;
use crate::bot::game::core::{ChatContext, ChatRequest};
use crate::bot::game::in_flight::SideResponse;
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Decision, Record};
use crate::clock;
use crate::config::Settings;
use crate::events::Event;
use crate::lichess::model::{ChatLine, Room};

/// Time for the last chat lines and side requests of a game.
const WIND_DOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Extra time for the opponent's first move per `!wait`.
const FIRST_MOVE_EXTENSION: Duration = Duration::from_secs(60);
/// Extensions per game.
const MAX_EXTENSIONS: u32 = 2;

impl GameTask {
    /// Takes a chat line.
    pub(super) fn on_chat(&mut self, line: ChatLine, arrived: Instant) {
        let settings = self.ctx.settings.clone();
        let request = self
            .core
            .read_command(&line, &self.ctx.me, &settings.chat, arrived);
        if let Some(request) = request {
            self.answer_command(&line, &request, &settings);
        }
        self.ctx.events.send(Event::Chat {
            game: self.id.to_string(),
            room: line.room.key().into(),
            from: line.username.to_string(),
            text: line.text,
        });
    }

    /// Answers a command.
    fn answer_command(&mut self, line: &ChatLine, request: &ChatRequest, settings: &Settings) {
        let extends_wait = request.command == Command::Wait
            && request.is_private_from_opponent()
            && self.extend_first_move_wait();
        let now = clock::now();
        let context = ChatContext {
            me: &self.ctx.me,
            chat: &settings.chat,
            challenge: &settings.challenge,
            now,
            games: self.ctx.running_games(),
            waiting: self.ctx.queued_challenges(),
            extends_wait,
        };
        let answer = self.core.answer(request, &context);
        let (games, waiting) = (context.games, context.waiting);
        self.trace.note(now, || Record::ChatRequest {
            games,
            waiting,
            extends_wait,
        });
        if let Some(answer) = answer {
            info!(game = %self.id, "{} asks in the {} room: {}", line.username, line.room, request.describe());
            self.trace.note(now, || {
                let why = format!("{} asks in the {} room", line.username, line.room);
                Record::Decision(Decision::Chat(answer.clone()), why)
            });
            self.send_chat(line.room, answer);
        }
    }

    /// Extends the wait for the opponent's first move, if allowed.
    fn extend_first_move_wait(&mut self) -> bool {
        let is_allowed = self.timers.abort.is_some() && self.wait_extensions < MAX_EXTENSIONS;
        if is_allowed {
            self.wait_extensions += 1;
            self.timers.abort = self.timers.abort.map(|at| at + FIRST_MOVE_EXTENSION);
        }
        is_allowed
    }

    /// Sends the greeting once, as soon as no move is pending.
    pub(super) fn greet(&mut self) {
        if self.greeted
            || self.exit.is_some()
            || self.core.game().is_none()
            || self.core.pending_move().is_pending()
        {
            return;
        }
        self.greeted = true;
        let settings = self.ctx.settings.clone();
        self.say(Room::Player, &settings.chat.greeting);
        self.say(Room::Spectator, &settings.chat.greeting_spectators);
    }

    /// Sends a template of the configuration, unless chat is off in this game.
    fn say(&mut self, room: Room, template: &str) {
        if !self.core.terms().chat {
            return;
        }
        if let Some(text) = self.core.fill_template(template, &self.ctx.me) {
            self.send_chat(room, text);
        }
    }

    /// Sends a chat line.
    fn send_chat(&mut self, room: Room, text: String) {
        let (client, id) = (self.ctx.client.clone(), self.id.clone());
        self.side_requests
            .spawn(SideResponse::of("chat", async move {
                client
                    .chat(&id, room, &text)
                    .await
                    .inspect_err(|error| debug!(game = %id, "chat refused: {error}"))
            }));
    }

    /// Says goodbye and prepares the rematch offer of a finished game, then waits for side requests with a deadline.
    pub(super) async fn wind_down(&mut self, reason: ExitReason) {
        let says_goodbye = self.core.game().is_some_and(|(header, game_moves)| {
            !header.tournament && !header.against_ai && game_moves.ply() >= 2
        });
        if reason == ExitReason::Over && says_goodbye && self.stage != Stage::Leaving {
            let settings = self.ctx.settings.clone();
            self.say(Room::Player, &settings.chat.farewell);
            self.say(Room::Spectator, &settings.chat.farewell_spectators);
            let status = self.final_status.map(|(status, _)| status);
            let rematch = status.and_then(|status| self.core.rematch_offer(status));
            self.status_cell
                .update(|snapshot| snapshot.rematch = rematch);
        }
        let _ = clock::timeout(WIND_DOWN_TIMEOUT, async {
            while let Some(response) = self.side_requests.join_next().await {
                self.on_side_response(response);
            }
        })
        .await;
    }
}
