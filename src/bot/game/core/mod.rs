//! What we know of a game, and what we decide in it, as a value.
//!
//! The game's task ([`game`](crate::bot::game)) tells it what comes and when, and does what it decides; a replay
//! ([`replay`](crate::bot::replay)) tells it the same out of a trace, and sees whether it decides the same. So nothing in here
//! waits, talks, looks at a clock, or leaves anything to chance.

mod offers;

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::choice::{self, Choice, report};
use super::lag::Lag;
use crate::bot::chat::{self, Asker, Command, Ending, Facts, Throttle, Words};
use crate::bot::game::draw_resign::{DrawResignDecision, Moment, ScoreTrend};
use crate::bot::game::header::GameHeader;
use crate::bot::game::moves::{Change, GameMoves, MovesUpdate, Unplayable};
use crate::bot::game::pending_move::{Board, PendingMove, Step, Trouble};
use crate::bot::game::status::{Clocks, SuspendedGame};
use crate::bot::policy::{MatchInput, PlaySettings};
use crate::chess::{CastlingNotation, Color, File};
use crate::config::{self, Settings};
use crate::engine::{Limits, Strength, material};
use crate::events::{SearchInfo, Timing};
use crate::lichess::model::{ChatLine, GameFull, GameState, Room, Username};
pub use offers::Offers;

/// Who Lichess speaks as.
const LICHESS: &str = "lichess";

/// See the module's text.
#[derive(Clone, Debug)]
pub struct GameCore {
    /// Known from the first `gameFull` on.
    pub table: Option<(GameHeader, GameMoves)>,
    /// The same as rules see it, and how it is played.
    pub subject: Option<MatchInput>,
    /// How it is played.
    pub terms: PlaySettings,
    /// What we owe.
    pub duty: PendingMove,
    /// What a move loses on its way.
    pub lag: Lag,
    /// Our turn.
    pub turn: Turn,
    /// What we thought about our last move, for those who ask.
    pub told: Option<(SearchInfo, Timing)>,
    /// Moves that the opponent got back.
    pub given_back: u32,
    /// How it ended, as people write it, and who has won.
    pub ending: Option<(&'static str, Option<Color>)>,
    mood: ScoreTrend,
    choice: Option<Choice>,
    /// Offers of the opponent, as the last state has them.
    draw_offered: bool,
    /// Ours stands.
    our_draw: bool,
    takeback_asked: bool,
    /// How often each was asked for in the present position.
    draws_asked: u32,
    takebacks_asked: u32,
    throttle: Throttle,
}

/// Our turn, from the line that began it.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// When that line came.
    pub since: Instant,
    /// Our clock in the latest state, and when that came.
    pub clock: (Duration, Instant),
    /// The opponent's in the same.
    their_clock: Duration,
    /// When the first POST of our move began, how many there were, and how long the answer took.
    pub posted: Option<Instant>,
    pub posts: u32,
    /// The server had us wait before it was sent again.
    rested: bool,
    round_trip: Option<Duration>,
    /// How often we had to look at the stream.
    pub looks: usize,
    manner: DrawResignDecision,
}

/// What a state of the stream has come to.
#[derive(Clone, Copy, Debug)]
pub struct StateUpdate {
    /// What became of the list of moves.
    pub reading: MovesUpdate,
    /// What to do about the move we owe.
    pub step: Step,
    /// Our move stands on the board, after so many others.
    pub echoed: Option<usize>,
    /// Our turn as it was before.
    pub before: Turn,
}

/// What is decided beside the moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    TakeDraw,
    DeclineDraw,
    GiveBack,
    DeclineTakeback,
    Abort,
    ClaimWin,
    ClaimDraw,
}

impl Act {
    /// In words, as in "cannot ...".
    pub fn words(self) -> &'static str {
        match self {
            Self::TakeDraw => "accept the draw",
            Self::DeclineDraw => "decline the draw",
            Self::GiveBack => "give a move back",
            Self::DeclineTakeback => "decline the takeback",
            Self::Abort => "abort",
            Self::ClaimWin => "claim the win",
            Self::ClaimDraw => "claim the draw",
        }
    }
}

/// What is to be posted for the move we owe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Posting {
    /// A move, perhaps with the offer of a draw, which also takes the opponent's.
    Move { uci: String, draw: bool },
    /// Our resignation.
    Resign,
}

/// `play e2e4`, `play e2e4 with a draw`, `resign`
impl fmt::Display for Posting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move { uci, draw: false } => write!(f, "play {uci}"),
            Self::Move { uci, draw: true } => write!(f, "play {uci} with a draw"),
            Self::Resign => f.write_str("resign"),
        }
    }
}

/// What of the settings and of the other games has a part in how long we think.
#[derive(Clone, Copy, Debug)]
pub struct TimeInputs {
    /// Since the state that made it our turn.
    pub since: Duration,
    /// Games that are on.
    pub games: usize,
    /// Games that the operator wants at once.
    pub concurrency: usize,
    /// His safety margin.
    pub safety: Duration,
    /// The most for a move of a game without a clock.
    pub longest: Duration,
}

/// What is known to whoever answers a command beside the game itself.
#[derive(Clone, Copy, Debug)]
pub struct ChatContext<'a> {
    pub me: &'a Username,
    pub chat: &'a config::Chat,
    pub challenge: &'a config::Challenge,
    /// The time.
    pub now: Instant,
    /// Games that are on.
    pub games: usize,
    /// Challenges that wait.
    pub waiting: usize,
    /// We shall wait longer for the first move.
    pub waits: bool,
}

/// A command that is to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub command: Command,
    word: String,
    asker: Asker,
}

impl GameCore {
    /// Before anything is known of the game.
    pub fn new(settings: &Settings, now: Instant) -> Self {
        Self {
            table: None,
            subject: None,
            terms: PlaySettings::defaults(settings),
            duty: PendingMove::default(),
            lag: Lag::default(),
            turn: Turn::begins(Duration::ZERO, Duration::ZERO, now),
            told: None,
            given_back: 0,
            ending: None,
            mood: ScoreTrend::default(),
            choice: None,
            draw_offered: false,
            our_draw: false,
            takeback_asked: false,
            draws_asked: 0,
            takebacks_asked: 0,
            throttle: Throttle::default(),
        }
    }

    /// Takes a seat at the table, with what was known of the game when it was left to rest.
    pub fn sit(&mut self, head: GameHeader, full: &GameFull, notes: Option<SuspendedGame>) {
        self.subject = Some(MatchInput::of_game(full, &head));
        let mut sheet = GameMoves::new(head.initial.clone());
        if let Some(notes) = notes {
            self.mood = notes.mood;
            self.given_back = notes.given_back;
            self.told = notes.told;
            sheet = notes.sheet;
        }
        self.table = Some((head, sheet));
    }

    /// What is worth keeping while the game rests.
    pub fn notes(&self) -> Option<SuspendedGame> {
        let (_, sheet) = self.table.as_ref()?;
        Some(SuspendedGame {
            sheet: sheet.clone(),
            mood: self.mood.clone(),
            given_back: self.given_back,
            told: self.told.clone(),
        })
    }

    /// How the game stands; `fresh`: by the first line of a new stream. Nothing before the first `gameFull`, which has all
    /// of it and is about to come.
    ///
    /// # Errors
    /// A list of moves that cannot be played.
    pub fn board(
        &mut self,
        state: &GameState,
        arrived: Instant,
        fresh: bool,
    ) -> Result<Option<StateUpdate>, Unplayable> {
        let Some((head, sheet)) = &mut self.table else {
            return Ok(None);
        };
        let reading = sheet.read(state, head.us)?;
        let before = self.turn;
        let (clock, their_clock) = (state.time(head.us), state.time(!head.us));
        let echoed = match (reading.change, self.duty.chosen()) {
            (Change::Grew { from }, Some(mv)) => (sheet.game().moves()[from] == mv).then_some(from),
            _ => None,
        };
        self.turn = match reading.change {
            Change::Same => Turn {
                clock: (clock, arrived),
                their_clock,
                ..before
            },
            _ => Turn::begins(clock, their_clock, arrived),
        };
        let step = self.duty.board(Board::of(reading, fresh));
        Ok(Some(StateUpdate {
            reading,
            step,
            echoed,
            before,
        }))
    }

    /// Off the way of the move: our move stands on the board, or others are gone. What there is to tell about ours.
    pub fn settle(
        &mut self,
        seen: &StateUpdate,
        state: &GameState,
        now: Instant,
    ) -> Option<(SearchInfo, Timing)> {
        let shown = seen
            .echoed
            .and_then(|at| self.measure(at, seen.before, state, now));
        if shown.is_some() {
            self.told.clone_from(&shown);
        }
        if matches!(seen.reading.change, Change::Rewritten { .. }) {
            self.told = None;
            self.mood.forget();
        }
        shown
    }

    /// Our move stands on the board, after `at` others: what it cost, and what to tell about it.
    fn measure(
        &mut self,
        at: usize,
        before: Turn,
        state: &GameState,
        now: Instant,
    ) -> Option<(SearchInfo, Timing)> {
        let (head, sheet) = self.table.as_ref()?;
        let choice = self.choice.take()?;
        let posted = before.posted?;
        let alone = sheet.ply() == at + 1;
        let timing = Timing {
            to_post: posted.saturating_duration_since(before.since),
            round_trip: before
                .round_trip
                .unwrap_or_else(|| now.saturating_duration_since(posted)),
        };
        if !before.rested && alone && head.clocked() {
            if at >= 2 {
                // On a running clock the server's bill can be compared with our own. A move that got lost counts too.
                let (clock, since) = before.clock;
                let increment = state.increment(head.us);
                let own = posted.saturating_duration_since(since);
                self.lag.measure(clock, state.time(head.us), increment, own);
            } else {
                // No clock runs yet: there and back again is what a state and a move will take.
                self.lag.add(timing.round_trip);
            }
        }
        let mut past = sheet.game().clone();
        past.truncate(at);
        Some((
            report(past.position(), choice.source, choice.thought.as_ref()),
            timing,
        ))
    }

    /// Whether the opponent is to make his first move, and we are the ones who look after that: tournaments do it themselves.
    pub fn awaits_first_move(&self) -> bool {
        self.table.as_ref().is_some_and(|(head, sheet)| {
            let waiting = sheet.ply() < 2 && sheet.turn() != head.us && !self.duty.is_over();
            waiting && !head.tournament && head.clocked()
        })
    }

    /// What can be claimed of an opponent who is gone.
    pub fn claim(&self) -> Option<Act> {
        let (head, sheet) = self.table.as_ref()?;
        if sheet.turn() == head.us {
            return None;
        }
        Some(match sheet.position().has_mating_material(head.us) {
            true => Act::ClaimWin,
            false => Act::ClaimDraw,
        })
    }

    /// Why this is done.
    pub fn reason(&self, act: Act) -> String {
        let (given, most) = (self.given_back, self.terms.takebacks);
        match act {
            Act::TakeDraw => "taking the draw: nothing better was in sight for a while".to_owned(),
            Act::DeclineDraw => self.not_taking_the_draw(),
            Act::GiveBack => format!("giving a move back, {given} of {most}"),
            Act::DeclineTakeback if most == 0 => {
                "not giving a move back: this opponent gets none".to_owned()
            }
            Act::DeclineTakeback => {
                format!("not giving a move back: {given} of {most} are given already")
            }
            Act::Abort => "the opponent does not begin: aborting".to_owned(),
            Act::ClaimWin => "the opponent is gone: claiming the win".to_owned(),
            Act::ClaimDraw => "the opponent is gone: claiming a draw".to_owned(),
        }
    }

    /// Why a draw that is offered is not taken.
    fn not_taking_the_draw(&self) -> String {
        let plies = self.table.as_ref().map_or(0, |(_, sheet)| sheet.ply());
        let why = self.mood.objection(plies, &self.terms.draw);
        format!("not taking the draw: {why}")
    }

    /// Whether the opponent's offer of a draw stands.
    pub fn is_offered_a_draw(&self) -> bool {
        self.draw_offered
    }

    /// The opponent offers a draw, and our move is found: why we play on, if we do.
    pub fn plays_on(&self) -> Option<String> {
        let plays_on = self.draw_offered && self.turn.manner != DrawResignDecision::Draw;
        plays_on.then(|| self.not_taking_the_draw())
    }

    /// How long to think about the move we owe.
    pub fn limits(&self, share: TimeInputs) -> Limits {
        let Some((head, sheet)) = &self.table else {
            return Limits::default();
        };
        let budget = Budget {
            pace: head.pace,
            remaining: self.turn.clock.0,
            since: share.since,
            ply: sheet.ply(),
            lag: &self.lag,
            safety: share.safety,
            longest: share.longest,
            at_most: self.terms.move_limits.time,
            games: share.games,
            concurrency: share.concurrency,
        };
        Limits {
            strength: self.strength(),
            ..self.terms.move_limits.apply(budget.limits())
        }
    }

    /// How strong to play, if not as strong as can be.
    pub fn strength(&self) -> Option<Strength> {
        let (head, _) = self.table.as_ref()?;
        Some(Strength {
            elo: self.terms.strength.level()?,
            seed: choice::key(&head.id),
        })
    }

    /// A move was found: what to do beside it, if it was thought about, and next.
    pub fn found(&mut self, choice: Choice) -> (Option<DrawResignDecision>, Step) {
        let mut fresh = None;
        if let Some(thought) = choice.thought.as_ref().filter(|thought| thought.depth > 0) {
            let (score, draw, resign) = (thought.score, &self.terms.draw, &self.terms.resign);
            if let Some((head, sheet)) = &self.table {
                let moment = Moment {
                    ply: sheet.ply(),
                    offered: self.draw_offered,
                    their_time: head.clocked().then_some(self.turn.their_clock),
                };
                let material = material(sheet.position());
                self.mood.feel(score, material, draw, resign);
                self.turn.manner = self.mood.manner(moment, draw, resign);
                fresh = Some(self.turn.manner);
            }
        }
        let step = self.duty.chose(choice.mv);
        self.choice = Some(choice);
        (fresh, step)
    }

    /// What to post for the move we owe, after so many refusals of it.
    pub fn posting(&mut self, refused: u32, now: Instant) -> Option<Posting> {
        let ((head, _), mv) = (self.table.as_ref()?, self.duty.chosen()?);
        // Castling that was refused once is tried in the other spelling, where that is no step of the king.
        let spellings = if mv.from().file() == File::E { 2 } else { 1 };
        let castling = match (head.castling, refused % spellings) {
            (CastlingNotation::Standard, 0) | (CastlingNotation::KingTakesRook, 1) => {
                CastlingNotation::Standard
            }
            _ => CastlingNotation::KingTakesRook,
        };
        self.turn.posted.get_or_insert(now);
        self.turn.posts += 1;
        Some(match self.turn.manner {
            DrawResignDecision::Resign => Posting::Resign,
            manner => Posting::Move {
                uci: mv.uci(castling).to_string(),
                draw: manner == DrawResignDecision::Draw,
            },
        })
    }

    /// The server has answered a POST.
    pub fn answered(&mut self, answer: Result<(), Trouble>, now: Instant) -> Step {
        if answer == Err(Trouble::Refused) {
            // What is refused with an offer may be taken without, and who cannot resign has to move.
            self.turn.manner = DrawResignDecision::Play;
        }
        match (answer, self.turn.posted) {
            (Ok(()), Some(posted)) => {
                let took = now.saturating_duration_since(posted);
                self.turn.round_trip.get_or_insert(took);
            }
            (answer, _) => self.turn.rested |= matches!(answer, Err(Trouble::Again(_))),
        }
        self.duty.answered(answer)
    }

    /// The command in a line of chat, if there is one that we answer.
    pub fn asked(
        &mut self,
        line: &ChatLine,
        me: &Username,
        chat: &config::Chat,
        arrived: Instant,
    ) -> Option<Asked> {
        let ours = line.username == *me || line.username.as_str() == LICHESS;
        if ours || !chat.commands || !self.terms.chat {
            return None;
        }
        if chat.per_minute == 0 {
            return None;
        }
        let (command, word) = Command::read(&line.text)?;
        let (head, _) = self.table.as_ref()?;
        let opponent = match line.room {
            // Nobody else talks there; whoever has no account is called by his colour.
            Room::Player => true,
            _ => line.username == Username::new(&head.opponent),
        };
        let throttle = &mut self.throttle;
        let (lets, command) = match command {
            Command::Unknown => (throttle.hints(&line.room, arrived), command),
            _ if throttle.lets(&line.room, chat.per_minute, arrived) => (true, command),
            _ => (throttle.hints(&line.room, arrived), Command::TooMany),
        };
        lets.then(|| Asked {
            command,
            word: word.to_owned(),
            asker: Asker {
                room: line.room,
                opponent,
            },
        })
    }

    /// What we answer.
    pub fn answer(&self, asked: &Asked, around: &ChatContext<'_>) -> Option<String> {
        let (head, _) = self.table.as_ref()?;
        let facts = Facts {
            words: self.words(around.me)?,
            chat: around.chat,
            challenge: around.challenge,
            terms: &self.terms,
            last: self
                .told
                .as_ref()
                .map(|(report, timing)| (report, timing.to_post)),
            clock: head.clocked().then(|| self.our_clock(around.now)),
            lag: self.lag.typical(),
            takebacks: self.terms.takebacks.saturating_sub(self.given_back),
            games: around.games,
            waiting: around.waiting,
            waits: around.waits,
        };
        asked.command.answer(&asked.word, asked.asker, &facts)
    }

    /// A text of the operator's, filled in.
    pub fn line(&self, template: &str, me: &Username) -> Option<String> {
        chat::line(template, &self.words(me)?)
    }

    /// Our clock and the opponent's, as they run; none in a game without them.
    pub fn clocks(&self) -> Option<Clocks> {
        let (head, sheet) = self.table.as_ref()?;
        let (ours, at) = self.turn.clock;
        head.clocked().then_some(Clocks {
            ours,
            theirs: self.turn.their_clock,
            at,
            run: sheet.ply() >= 2 && !self.duty.is_over(),
        })
    }

    /// Our clock, as it runs.
    fn our_clock(&self, now: Instant) -> Duration {
        let (remaining, at) = self.turn.clock;
        match self.duty.owes() {
            true => remaining.saturating_sub(now.saturating_duration_since(at)),
            false => remaining,
        }
    }

    /// What texts can speak of.
    fn words<'a>(&'a self, me: &'a Username) -> Option<Words<'a>> {
        let ((head, sheet), subject) = (self.table.as_ref()?, self.subject.as_ref()?);
        let ending = self.ending.map(|(result, winner)| Ending {
            result,
            outcome: match winner {
                Some(winner) if winner == head.us => "won",
                Some(_) => "lost",
                None => "drawn",
            },
            moves: sheet.ply().div_ceil(2),
        });
        Some(Words {
            me: me.as_str(),
            opponent: &head.opponent,
            rating: subject.rating,
            color: head.us.key(),
            speed: subject.speed.key(),
            time: subject.time.to_string(),
            ending,
        })
    }
}

impl Asked {
    /// As it was typed, `!help`.
    pub fn shown(&self) -> String {
        match self.command {
            Command::Unknown => format!("!{}, which is no command", self.word),
            Command::TooMany => "too many commands within a minute".to_owned(),
            known => format!("!{}", known.name()),
        }
    }

    /// Whether the opponent asks where only he can.
    pub fn privately(&self) -> bool {
        self.asker.room == Room::Player
    }
}

impl Turn {
    fn begins(clock: Duration, their_clock: Duration, at: Instant) -> Self {
        Self {
            since: at,
            clock: (clock, at),
            their_clock,
            posted: None,
            posts: 0,
            rested: false,
            round_trip: None,
            looks: 0,
            manner: DrawResignDecision::Play,
        }
    }
}
