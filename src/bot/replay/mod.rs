//! What a game's task makes of the lines of a stream, without a network, an engine or a clock.
//!
//! The same [`core`](crate::bot::game::core) that plays is told recorded or invented lines. Whatever a server sends, none of it may make
//! it panic, take memory without end, or think about a position that is not there. Told what stands in a
//! [trace](super::trace), it decides again what was decided then ([`command`]).

mod command;
mod compare;
mod words;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::trace::{Bounds, Decision, Found, Header, InForce, Origin, Record, TimerKind, nanos};
use crate::bot::game::core::{Asked, ChatContext, GameCore, StateUpdate, TimeInputs};
use crate::bot::game::header::GameHeader;
use crate::bot::game::pending_move::Step;
use crate::bot::game::status::SuspendedGame;
use crate::chess::Position;
use crate::config::Settings;
use crate::engine::Limits;
use crate::lichess::model::{FromLine, GameEvent, GameInfo, GameState, Username};

pub use command::{CommandError, Options, replay_command};

/// What came of a line.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing for the board: chat, an absence, something unreadable.
    Nothing,
    /// The game cannot be played; why.
    UnsupportedGame(String),
    /// The list of moves cannot be played; the stream would be opened again.
    Mistrusted(String),
    /// The board is known, and nothing new is owed.
    StateUpdate,
    /// A move is to be chosen here, within these limits.
    Think(Box<Position>, Box<Limits>),
    /// The game is over.
    Over,
}

/// A game that is replayed.
#[derive(Debug)]
pub struct Replay {
    me: Username,
    /// What the account's stream has said of the game.
    info: Option<GameInfo>,
    settings: InForce,
    mind: GameCore,
    /// What was known of the game when it was left to rest.
    notes: Option<SuspendedGame>,
    began: Instant,
    /// What was decided, and not compared yet.
    due: VecDeque<Due>,
    /// A move is to be found now.
    thinking: bool,
    /// A command is to be answered now.
    asked: Option<Asked>,
    /// A state, and what it has come to, of which only what concerns our move was looked at.
    rest: Option<(StateUpdate, GameState, Instant)>,
}

/// What was decided.
#[derive(Clone, Debug)]
enum Due {
    Decision(Decision),
    /// To post the move that was chosen, after so many refusals. What exactly is said when it is done, since from then on its
    /// way is measured.
    Post(u32),
}

impl Replay {
    /// A game of this account.
    pub fn new(me: Username) -> Self {
        let (settings, began) = (Settings::default(), Instant::now());
        Self {
            me,
            info: None,
            settings: InForce::of(&settings),
            mind: GameCore::new(&settings, began),
            notes: None,
            began,
            due: VecDeque::new(),
            thinking: false,
            asked: None,
            rest: None,
        }
    }

    /// The game of a trace, with what was known of it before.
    fn of(header: &Header, notes: Option<SuspendedGame>) -> Self {
        let info = header.color.as_ref().and_then(|color| {
            let info = serde_json::json!({"gameId": header.game, "color": color});
            serde_json::from_value(info).ok()
        });
        Self {
            info,
            settings: header.settings.clone(),
            notes,
            ..Self::new(Username::new(&header.account))
        }
    }

    /// The next line of its stream, without its end.
    pub fn line(&mut self, line: &str) -> Outcome {
        let outcome = self.hear(GameEvent::from_line(line), self.began);
        self.settle();
        self.due.clear();
        let table = self.mind.table.as_ref().filter(|_| self.thinking);
        self.thinking = false;
        match table {
            Some((_, sheet)) => {
                let limits = self.mind.limits(self.share(Duration::ZERO, 1, 1));
                Outcome::Think(Box::new(sheet.position().clone()), Box::new(limits))
            }
            None => outcome,
        }
    }

    fn hear(&mut self, event: GameEvent, at: Instant) -> Outcome {
        match event {
            GameEvent::Full(full) => {
                if self.mind.table.is_none() {
                    match GameHeader::read(&full, &self.me, self.info.as_ref()) {
                        Ok(head) => self.mind.sit(head, &full, self.notes.take()),
                        Err(unfit) => return Outcome::UnsupportedGame(unfit.to_string()),
                    }
                }
                self.state(full.state, at, true)
            }
            GameEvent::State(state) => self.state(state, at, false),
            GameEvent::Chat(line) => {
                self.asked = self.mind.asked(&line, &self.me, &self.settings.chat, at);
                Outcome::Nothing
            }
            _ => Outcome::Nothing,
        }
    }

    fn state(&mut self, state: GameState, at: Instant, fresh: bool) -> Outcome {
        let seen = match self.mind.board(&state, at, fresh) {
            Ok(Some(seen)) => seen,
            Ok(None) => return Outcome::Nothing,
            Err(unplayable) => return Outcome::Mistrusted(unplayable.to_string()),
        };
        self.step(seen.step);
        self.rest = Some((seen, state, at));
        match seen.reading.over {
            true => Outcome::Over,
            false => Outcome::StateUpdate,
        }
    }

    /// What a game's task does with a state when its move is on its way.
    fn settle(&mut self) {
        let Some((seen, state, at)) = self.rest.take() else {
            return;
        };
        self.mind.settle(&seen, &state, at);
        let changed = seen.reading.change != crate::bot::game::moves::Change::Same;
        let offers = self.mind.offers(&state, changed);
        self.decide(offers.acts.into_iter().map(Decision::Do));
        self.step(offers.step.unwrap_or(Step::Keep));
    }

    fn step(&mut self, step: Step) {
        if step == Step::Keep {
            return;
        }
        self.thinking = step == Step::Think;
        let due = match step {
            Step::Keep | Step::Drop | Step::Think => None,
            Step::Post { refused, .. } => Some(Due::Post(refused)),
            Step::Wait(wait) => Some(Due::Decision(Decision::Wait(nanos(wait)))),
            Step::Look(within) => Some(Due::Decision(Decision::Look(nanos(within)))),
        };
        self.due.extend(due);
    }

    fn decide(&mut self, decisions: impl IntoIterator<Item = Decision>) {
        self.due.extend(decisions.into_iter().map(Due::Decision));
    }

    fn share(&self, since: Duration, games: usize, places: usize) -> TimeInputs {
        TimeInputs {
            since,
            games,
            concurrency: places,
            safety: self.settings.overhead,
            longest: self.settings.longest,
        }
    }

    /// Whether this comes while a line is still being looked at.
    fn is_within_a_line(&self, what: &Record) -> bool {
        match what {
            Record::Terms(_) => true,
            Record::Turn { .. } => self.thinking,
            Record::Found(found) => self.thinking && found.from != Origin::Search,
            _ => false,
        }
    }

    /// The next decision, if there is one, as it is carried out at this moment.
    fn decision(&mut self, at: Instant) -> Option<Decision> {
        if self.due.is_empty() {
            self.settle();
        }
        match self.due.pop_front()? {
            Due::Decision(decision) => Some(decision),
            Due::Post(refused) => self.mind.posting(refused, at).map(Decision::Post),
        }
    }

    /// What was expected to happen before anything else, and has not.
    fn overdue(&mut self) -> Option<&'static str> {
        let asked = self.asked.take().is_some();
        let thinking = std::mem::take(&mut self.thinking);
        match (thinking, asked) {
            (true, _) => Some("look for a move"),
            (false, true) => Some("answer a command"),
            (false, false) => None,
        }
    }

    /// Something comes, which is not a decision.
    ///
    /// # Errors
    /// Why it cannot have come now.
    fn feed(&mut self, at: Instant, what: &Record) -> Result<(), String> {
        match what {
            Record::Line(line) => {
                self.hear(GameEvent::from_line(line), at);
                Ok(())
            }
            Record::Terms(terms) => {
                self.mind.terms = (**terms).clone();
                Ok(())
            }
            Record::Turn {
                since,
                games,
                places,
            } => {
                if !std::mem::take(&mut self.thinking) {
                    return Err("there is nothing to think about".to_owned());
                }
                let share = self.share(Duration::from_nanos(*since), *games, *places);
                let bounds = Bounds::from(&self.mind.limits(share));
                self.decide([Decision::Think(bounds)]);
                Ok(())
            }
            Record::Found(found) => self.found(found),
            Record::FoundNone => {
                let step = self.mind.duty.found_none();
                self.step(step);
                Ok(())
            }
            Record::Answer(answer) => {
                let trouble = answer.trouble.map_or(Ok(()), |woe| Err(woe.into()));
                let step = self.mind.answered(trouble, at);
                self.step(step);
                Ok(())
            }
            Record::Due => {
                let step = self.mind.duty.due();
                self.step(step);
                Ok(())
            }
            Record::Mend => {
                let step = self.mind.duty.mend();
                self.step(step);
                Ok(())
            }
            Record::Rings(TimerKind::Abort) => {
                let waits = self.mind.awaits_first_move();
                let act = waits.then_some(crate::bot::game::core::Act::Abort);
                self.decide(act.map(Decision::Do));
                Ok(())
            }
            Record::Rings(TimerKind::Claim) => {
                let act = self.mind.claim();
                self.decide(act.map(Decision::Do));
                Ok(())
            }
            Record::Asked {
                games,
                waiting,
                waits,
            } => {
                let asked = self.asked.take().ok_or("nothing is asked")?;
                let around = ChatContext {
                    me: &self.me,
                    chat: &self.settings.chat,
                    challenge: &self.settings.challenge,
                    now: at,
                    games: *games,
                    waiting: *waiting,
                    waits: *waits,
                };
                let answer = self.mind.answer(&asked, &around);
                self.decide(answer.map(Decision::Say));
                Ok(())
            }
            Record::Decided(..) | Record::Note(_) | Record::End(_) | Record::Missing(_) => Ok(()),
        }
    }

    fn found(&mut self, found: &Found) -> Result<(), String> {
        let Some((_, sheet)) = &self.mind.table else {
            return Err("there is no board yet".to_owned());
        };
        let game = sheet.game();
        let choice = found
            .choice(game)
            .ok_or_else(|| format!("{} is not legal here", found.uci))?;
        let moves = game.position().legal_moves().len();
        let fits = match found.from {
            Origin::Only => moves == 1,
            Origin::Book => moves > 1 && self.mind.terms.book.are_asked() && game.repetitions() < 2,
            Origin::Search => moves > 1,
        };
        if !fits {
            return Err(format!(
                "a move of this origin would not be looked for, with {moves} legal ones"
            ));
        }
        self.thinking = false;
        let (_, step) = self.mind.found(choice);
        self.step(step);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn full(fen: &str, moves: &str, time: &str) -> String {
        format!(
            r#"{{"id":"abcdefgh","variant":{{"key":"standard"}},"speed":"blitz","rated":false,"white":{{"id":"me","name":"Me"}},
            "black":{{"id":"you","name":"You"}},"initialFen":"{fen}","clock":{{"initial":{time},"increment":0}},
            "type":"gameFull","state":{{"type":"gameState","moves":"{moves}","wtime":{time},"btime":{time},"winc":0,
            "binc":0,"status":"started"}}}}"#
        )
        .replace('\n', " ")
    }

    fn replay() -> Replay {
        Replay::new(Username::new("Me"))
    }

    #[test]
    fn a_game_is_followed_move_by_move() {
        let mut game = replay();
        let first = game.line(&full("startpos", "", "180000"));
        assert!(matches!(first, Outcome::Think(..)), "{first:?}");
        let state = |moves: &str, status: &str| {
            format!(
                r#"{{"type":"gameState","moves":"{moves}","wtime":1,"btime":1,"winc":0,"binc":0,"status":"{status}"}}"#
            )
        };
        assert!(matches!(
            game.line(&state("e2e4", "started")),
            Outcome::StateUpdate
        ));
        let Outcome::Think(position, _) = game.line(&state("e2e4 e7e5", "started")) else {
            panic!("it is our turn");
        };
        assert_eq!(position.fullmove_number(), 2);
        assert!(matches!(
            game.line(&state("e2e4 e7e5 e1e3", "started")),
            Outcome::Mistrusted(_)
        ));
        assert!(matches!(game.line(&state("e2e4", "mate")), Outcome::Over));
    }

    proptest! {
        #[test]
        fn no_line_is_too_much(
            lines in prop::collection::vec(".{0,200}", 0..8),
            fen in "[ -~]{0,80}",
            moves in "([a-i][0-9][a-i][0-9][qrbnk]? ?){0,20}",
            time in "-?[0-9]{1,25}",
        ) {
            let mut game = replay();
            game.line(&full("startpos", "", "180000"));
            game.line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
            game.line(&full("startpos", &moves, &time));
            for line in &lines {
                game.line(line);
            }
            let mut fresh = replay();
            fresh.line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
        }
    }
}
