//! What is said in a game. No move waits for it, and a limit on chat pauses chat alone.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::{Ended, Play};
use crate::bot::chat::{self, Asker, Command, Ending, Facts, Words};
use crate::bot::desk::Encore;
use crate::bot::stop::Stage;
use crate::chess::Color;
use crate::clock;
use crate::events::Event;
use crate::lichess::model::{ChatLine, ColorWish, NewChallenge, Room, Status, Username, Variant};

/// What is said at the end gets this long.
const FAREWELL: Duration = Duration::from_secs(3);

/// Who Lichess speaks as.
const LICHESS: &str = "lichess";

/// How much longer we wait for the first move when we are asked to, and how often.
const WAIT_LONGER: Duration = Duration::from_secs(60);
const WAITS: u32 = 2;

impl Play {
    /// Somebody says something.
    pub(super) fn on_chat(&mut self, line: ChatLine, arrived: Instant) {
        if line.username != self.house.me && line.username.as_str() != LICHESS {
            self.on_command(&line, arrived);
        }
        self.house.events.send(Event::Chat {
            game: self.id.to_string(),
            room: line.room.key().into(),
            from: line.username.to_string(),
            text: line.text,
        });
    }

    fn on_command(&mut self, line: &ChatLine, arrived: Instant) {
        let settings = self.house.settings.clone();
        if !settings.chat.commands || !self.terms.chat {
            return;
        }
        let Some((command, word)) = Command::read(&line.text) else {
            return;
        };
        let opponent = match line.room {
            // Nobody else talks there; whoever has no account is called by his colour.
            Room::Player => true,
            _ => self
                .table
                .as_ref()
                .is_some_and(|(head, _)| line.username == Username::new(&head.opponent)),
        };
        let asker = Asker {
            room: line.room,
            opponent,
        };
        if !self.throttle.lets(settings.chat.per_minute, arrived) {
            return debug!(game = %self.id, "too many commands");
        }
        let waits = command == Command::Wait && asker.room == Room::Player && self.wait_longer();
        let Some(words) = self.words() else {
            return;
        };
        let clocked = self.table.as_ref().is_some_and(|(head, _)| head.clocked());
        let last = self.told.as_ref();
        let facts = Facts {
            words,
            chat: &settings.chat,
            challenge: &settings.challenge,
            terms: &self.terms,
            last: last.map(|(report, timing)| (report, timing.to_post)),
            clock: clocked.then(|| self.our_clock()),
            lag: self.lag.typical(),
            takebacks: self.terms.takebacks.saturating_sub(self.given_back),
            games: self.house.games_on(),
            waiting: self.house.waiting(),
            waits,
        };
        if let Some(answer) = command.answer(word, asker, &facts) {
            info!(game = %self.id, "{} asks in the {} room: {command:?}", line.username, line.room);
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

    /// Our clock, as it runs.
    fn our_clock(&self) -> Duration {
        let (remaining, at) = self.turn.clock;
        match self.duty.owes() {
            true => remaining.saturating_sub(clock::since(at)),
            false => remaining,
        }
    }

    /// What texts can speak of.
    fn words(&self) -> Option<Words<'_>> {
        let ((head, sheet), subject) = (self.table.as_ref()?, self.subject.as_ref()?);
        let ending = self.ending.map(|(status, winner)| Ending {
            result: super::tell::result(status, winner),
            outcome: match winner {
                Some(winner) if winner == head.us => "won",
                Some(_) => "lost",
                None => "drawn",
            },
            moves: sheet.ply().div_ceil(2),
        });
        Some(Words {
            me: self.house.me.as_str(),
            opponent: &head.opponent,
            rating: subject.rating,
            color: match head.us {
                Color::White => "white",
                Color::Black => "black",
            },
            speed: subject.speed.key(),
            time: subject.time.to_string(),
            ending,
        })
    }

    /// Greets once, as soon as no move is owed.
    pub(super) fn greet(&mut self) {
        if self.greeted || self.over.is_some() || self.table.is_none() || self.duty.owes() {
            return;
        }
        self.greeted = true;
        let settings = self.house.settings.clone();
        self.say(Room::Player, &settings.chat.greeting);
        self.say(Room::Spectator, &settings.chat.greeting_spectators);
    }

    fn say(&mut self, room: Room, template: &str) {
        if !self.terms.chat {
            return;
        }
        let text = self.words().and_then(|words| chat::line(template, &words));
        if let Some(text) = text {
            self.utter(room, text);
        }
    }

    fn utter(&mut self, room: Room, text: String) {
        let (client, id) = (self.house.client.clone(), self.id.clone());
        self.beside.spawn(async move {
            if let Err(error) = client.chat(&id, room, &text).await {
                debug!(game = %id, "chat refused: {error}");
            }
        });
    }

    /// The last words, and those that are still on their way, with a deadline; and perhaps one more game.
    pub(super) async fn farewell(&mut self, ended: Ended) {
        let polite = self
            .table
            .as_ref()
            .is_some_and(|(head, sheet)| !head.tournament && !head.against_ai && sheet.ply() >= 2);
        if ended == Ended::Over && polite && self.stage != Stage::Leaving {
            let settings = self.house.settings.clone();
            self.say(Room::Player, &settings.chat.farewell);
            self.say(Room::Spectator, &settings.chat.farewell_spectators);
            let encore = self.encore();
            self.desk.show(|sight| sight.encore = encore);
        }
        let said = async { while self.beside.join_next().await.is_some() {} };
        let _ = clock::timeout(FAREWELL, said).await;
    }

    /// The next game, if we offer one.
    fn encore(&self) -> Option<Encore> {
        let ((head, _), subject) = (self.table.as_ref()?, self.subject.as_ref()?);
        let (status, _) = self.ending?;
        let played = !matches!(
            status,
            Status::Aborted
                | Status::NoStart
                | Status::Cheat
                | Status::UnknownFinish
                | Status::Unknown
        );
        if !self.terms.offer_rematch || !played || !head.clocked() {
            return None;
        }
        // As with a rematch on Lichess, a person keeps his colour in a position that he has set up.
        let set_up = subject.variant == Variant::FromPosition;
        let ours = if set_up && !subject.bot {
            head.us
        } else {
            !head.us
        };
        Some(Encore {
            to: subject.name.clone()?,
            human: !subject.bot,
            what: NewChallenge {
                time_control: subject.time,
                rated: subject.rated,
                color: match ours {
                    Color::White => ColorWish::White,
                    Color::Black => ColorWish::Black,
                },
                variant: subject.variant,
                fen: set_up.then(|| head.initial.fen()),
            },
        })
    }
}
