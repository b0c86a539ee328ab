//! What is said in a game. No move waits for it, and a limit on chat pauses chat alone.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::{ExitReason, GameTask};
use crate::bot::chat::Command;
use crate::bot::game::core::{Asked, ChatContext};
use crate::bot::game::in_flight::Done;
use crate::bot::game::status::RematchOffer;
use crate::bot::shutdown::Stage;
use crate::bot::trace::{Decision, Record};
use crate::chess::Color;
use crate::clock;
use crate::config::Settings;
use crate::events::Event;
use crate::lichess::model::{ChatLine, ColorChoice, NewChallenge, Room, Status, Variant};

/// What is said at the end gets this long.
const FAREWELL: Duration = Duration::from_secs(3);

/// How much longer we wait for the first move when we are asked to, and how often.
const WAIT_LONGER: Duration = Duration::from_secs(60);
const WAITS: u32 = 2;

impl GameTask {
    /// Somebody says something.
    pub(super) fn on_chat(&mut self, line: ChatLine, arrived: Instant) {
        let settings = self.house.settings.clone();
        let asked = self
            .mind
            .asked(&line, &self.house.me, &settings.chat, arrived);
        if let Some(asked) = asked {
            self.answer(&line, &asked, &settings);
        }
        self.house.events.send(Event::Chat {
            game: self.id.to_string(),
            room: line.room.key().into(),
            from: line.username.to_string(),
            text: line.text,
        });
    }

    fn answer(&mut self, line: &ChatLine, asked: &Asked, settings: &Settings) {
        let waits = asked.command == Command::Wait && asked.privately() && self.wait_longer();
        let now = clock::now();
        let around = ChatContext {
            me: &self.house.me,
            chat: &settings.chat,
            challenge: &settings.challenge,
            now,
            games: self.house.running_games(),
            waiting: self.house.queued_challenges(),
            waits,
        };
        let answer = self.mind.answer(asked, &around);
        let (games, waiting) = (around.games, around.waiting);
        self.trace.note(now, || Record::Asked {
            games,
            waiting,
            waits,
        });
        if let Some(answer) = answer {
            info!(game = %self.id, "{} asks in the {} room: {}", line.username, line.room, asked.shown());
            self.trace.note(now, || {
                let why = format!("{} asks in the {} room", line.username, line.room);
                Record::Decided(Decision::Say(answer.clone()), why)
            });
            self.utter(line.room, answer);
        }
    }

    /// The opponent asks for time before his first move.
    fn wait_longer(&mut self) -> bool {
        let may = self.alarms.abort.is_some() && self.waits < WAITS;
        if may {
            self.waits += 1;
            self.alarms.abort = Some(clock::now() + WAIT_LONGER);
        }
        may
    }

    /// Greets once, as soon as no move is owed.
    pub(super) fn greet(&mut self) {
        if self.greeted || self.over.is_some() || self.mind.table.is_none() || self.mind.duty.owes()
        {
            return;
        }
        self.greeted = true;
        let settings = self.house.settings.clone();
        self.say(Room::Player, &settings.chat.greeting);
        self.say(Room::Spectator, &settings.chat.greeting_spectators);
    }

    fn say(&mut self, room: Room, template: &str) {
        if !self.mind.terms.chat {
            return;
        }
        if let Some(text) = self.mind.line(template, &self.house.me) {
            self.utter(room, text);
        }
    }

    fn utter(&mut self, room: Room, text: String) {
        let (client, id) = (self.house.client.clone(), self.id.clone());
        self.beside.spawn(Done::of("chat", async move {
            client
                .chat(&id, room, &text)
                .await
                .inspect_err(|error| debug!(game = %id, "chat refused: {error}"))
        }));
    }

    /// The last words, and those that are still on their way, with a deadline; and perhaps one more game.
    pub(super) async fn farewell(&mut self, ended: ExitReason) {
        let polite =
            self.mind.table.as_ref().is_some_and(|(head, sheet)| {
                !head.tournament && !head.against_ai && sheet.ply() >= 2
            });
        if ended == ExitReason::Over && polite && self.stage != Stage::Leaving {
            let settings = self.house.settings.clone();
            self.say(Room::Player, &settings.chat.farewell);
            self.say(Room::Spectator, &settings.chat.farewell_spectators);
            let encore = self.encore();
            self.desk.show(|sight| sight.encore = encore);
        }
        let _ = clock::timeout(FAREWELL, async {
            while let Some(done) = self.beside.join_next().await {
                self.done(done);
            }
        })
        .await;
    }

    /// The next game, if we offer one.
    fn encore(&self) -> Option<RematchOffer> {
        let mind = &self.mind;
        let ((head, _), subject) = (mind.table.as_ref()?, mind.subject.as_ref()?);
        let (status, _) = self.ending?;
        let played = !matches!(
            status,
            Status::Aborted
                | Status::NoStart
                | Status::Cheat
                | Status::UnknownFinish
                | Status::Unknown
        );
        if !mind.terms.offer_rematch || !played || !head.clocked() {
            return None;
        }
        // As with a rematch on Lichess, a person keeps his colour in a position that he has set up.
        let set_up = subject.variant == Variant::FromPosition;
        let ours = if set_up && !subject.bot {
            head.us
        } else {
            !head.us
        };
        Some(RematchOffer {
            to: subject.name.clone()?,
            human: !subject.bot,
            what: NewChallenge {
                time_control: subject.time,
                rated: subject.rated,
                color: match ours {
                    Color::White => ColorChoice::White,
                    Color::Black => ColorChoice::Black,
                },
                variant: subject.variant,
                fen: set_up.then(|| head.initial.fen()),
            },
        })
    }
}
