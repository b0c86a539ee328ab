//! Matches that the operator starts: pairs of games against one opponent, one with each color. Kept in a file over
//! restarts.
//!
//! An [`Attempt`] is saved before its challenge is sent, and a result is counted by the id of its game. So every game
//! counts once, wherever the process ends.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::bot::account::persist::{self, JsonState};
use crate::bot::matchmaking::Offer;
use crate::clock;
use crate::lichess::model::{
    Challenge, Color, ColorChoice, DeclineReason, GameId, GameInfo, NewChallenge, Status, Username,
};
use crate::match_stats::MatchStats;
use crate::metrics::MatchStatus;

/// Maximum number of pairs of a match: with 100 games a day, ten days.
pub const MAX_PAIRS: u32 = 500;

/// Maximum number of matches at once.
const MAX_MATCHES: usize = 10;

/// Matches kept in the file, those that are over included.
const MAX_KEPT: usize = 30;

/// Attempts without a game in a row after which a match ends. The waits between them add up to two and a half hours.
const MAX_FAILURES: u32 = 10;

/// Waits after attempts without a game.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_secs(60), Duration::from_secs(30 * 60));

/// Matches of an account, the oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Matches {
    matches: Vec<Match>,
}

/// A match.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Match {
    pub opponent: Username,
    pub offer: Offer,
    pairs: u32,
    /// Games that count, in order; White and Black in turn.
    games: Vec<MatchGame>,
    /// The next game, from the decision to challenge to the result.
    pub attempt: Option<Attempt>,
    /// Attempts without a game in a row.
    failures: u32,
    /// Seconds since the epoch before which there is no further attempt, and why.
    retry_at: u64,
    retry_reason: String,
    /// Why it has ended early.
    ended: Option<String>,
    /// The opponent is a person, as an answer of Lichess has shown.
    pub human: bool,
}

/// A game that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MatchGame {
    id: GameId,
    white: bool,
    /// Our half points, 0 to 2.
    points: u8,
}

/// The next game.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Attempt {
    white: bool,
    /// Distinguishes it from other attempts of the match: milliseconds since the epoch.
    pub since_ms: u64,
    /// Id of the challenge and of its game, once known.
    pub id: Option<GameId>,
    /// The game has started.
    pub started: bool,
    #[serde(skip)]
    pub stage: Stage,
}

/// Progress of an attempt in this process.
#[derive(Clone, Debug, Default)]
pub(super) enum Stage {
    /// It is found out what has become of it: the process was restarted, or something was lost.
    #[default]
    Unknown,
    /// As [`Unknown`](Self::Unknown), but not before this time.
    UnknownFrom(Instant),
    /// A request for that is running.
    LookingUp,
    /// It is being saved.
    Saving,
    /// The challenge is being sent.
    Sending,
    /// The challenge waits for an answer until this time.
    Waiting(Box<Challenge>, Instant),
}

/// Result of an attempt without a game that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nothing speaks against another attempt.
    Withdrawn,
    /// The opponent has played the day's games, for this time.
    Limited(Duration),
    /// Another attempt may succeed.
    Temporary(String),
    /// No attempt will succeed.
    Final(String),
}

impl Attempt {
    /// Our color.
    pub(super) fn color(&self) -> Color {
        match self.white {
            true => Color::White,
            false => Color::Black,
        }
    }
}

impl Failure {
    /// The challenge was declined or canceled.
    pub(super) fn of_closed(reason: Option<DeclineReason>) -> Self {
        match reason {
            None => Self::Temporary("the challenge was not answered".to_owned()),
            Some(
                reason @ (DeclineReason::Later | DeclineReason::Generic | DeclineReason::Unknown),
            ) => Self::Temporary(format!("the challenge was declined ({reason})")),
            Some(reason) => Self::Final(format!("the challenge was declined ({reason})")),
        }
    }
}

impl JsonState for Matches {
    const FILE_SUFFIX: &str = "matches.json";
}

impl Matches {
    /// Adds a match.
    ///
    /// # Errors
    /// If there is one against this opponent, or there are too many.
    pub(super) fn add(
        &mut self,
        opponent: Username,
        offer: Offer,
        pairs: u32,
        human: bool,
    ) -> Result<(), String> {
        if self.against(&opponent).is_some() {
            return Err(format!(
                "a match against {opponent} is running: see `knightwatch matches`"
            ));
        }
        if self.active().count() >= MAX_MATCHES {
            return Err(format!(
                "{MAX_MATCHES} matches are running, the maximum: cancel one with `knightwatch matches --cancel USER`"
            ));
        }
        let over = |one: &Match| one.is_over() && one.attempt.is_none();
        if self.matches.len() >= MAX_KEPT
            && let Some(oldest) = self.matches.iter().position(over)
        {
            self.matches.remove(oldest);
        }
        self.matches.push(Match {
            opponent,
            offer,
            pairs,
            games: Vec::new(),
            attempt: None,
            failures: 0,
            retry_at: 0,
            retry_reason: String::new(),
            ended: None,
            human,
        });
        Ok(())
    }

    /// Matches that are not over.
    pub(super) fn active(&self) -> impl Iterator<Item = &Match> {
        self.matches.iter().filter(|one| !one.is_over())
    }

    /// The match against this opponent that is not over.
    pub(super) fn against(&mut self, opponent: &Username) -> Option<&mut Match> {
        let mut matches = self.matches.iter_mut();
        matches.find(|one| one.opponent == *opponent && !one.is_over())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Match> {
        self.matches.iter_mut()
    }

    /// The attempt with this challenge or game, and its match.
    pub(super) fn with_game(&mut self, id: &GameId) -> Option<&mut Match> {
        let has_id = |one: &&mut Match| {
            let attempt = one.attempt.as_ref();
            attempt.is_some_and(|attempt| attempt.id.as_ref() == Some(id))
        };
        self.matches.iter_mut().find(has_id)
    }

    /// Returns whether this is a game of a match.
    pub(super) fn has_game(&mut self, id: &GameId) -> bool {
        self.matches.iter().any(|one| one.has_counted(id)) || self.with_game(id).is_some()
    }

    /// The match whose challenge to this opponent is being sent.
    pub(super) fn sending_to(&mut self, opponent: &Username) -> Option<&mut Match> {
        let is_sending = |one: &&mut Match| {
            let attempt = one.attempt.as_ref();
            one.opponent == *opponent
                && attempt.is_some_and(|attempt| matches!(attempt.stage, Stage::Sending))
        };
        self.matches.iter_mut().find(is_sending)
    }

    /// The match whose next game this is, though its challenge is not known yet.
    pub(super) fn expecting(&mut self, game: &GameInfo) -> Option<&mut Match> {
        self.matches.iter_mut().find(|one| one.expects(game))
    }

    /// Challenges that wait for an answer.
    pub(super) fn pending(&self) -> impl Iterator<Item = &Challenge> {
        self.matches.iter().filter_map(|one| {
            let attempt = one.attempt.as_ref()?;
            match &attempt.stage {
                Stage::Waiting(challenge, _) => Some(&**challenge),
                _ => None,
            }
        })
    }

    /// State of the match that goes on first, and the time of its next attempt, if that is known.
    pub(super) fn next_attempt(&self, now: SystemTime) -> Option<(String, Option<SystemTime>)> {
        let next = |one: &Match| one.retry(now).map(|(at, _)| at);
        let first = self.active().min_by_key(|one| next(one))?;
        let state = match first.retry(now) {
            Some((_, why)) => why,
            None => "the next game is about to begin",
        };
        Some((
            format!("match against {}: {state}", first.opponent),
            next(first),
        ))
    }

    /// For the status, the latest first.
    pub(super) fn statuses(&self, now: SystemTime) -> Vec<MatchStatus> {
        self.matches
            .iter()
            .rev()
            .map(|one| one.status(now))
            .collect()
    }
}

impl Match {
    /// Returns whether no further game is wanted.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some() || self.games.len() >= self.total() as usize
    }

    /// Number of games in all.
    pub(super) fn total(&self) -> u32 {
        self.pairs.saturating_mul(2)
    }

    /// Returns whether this is the next game, though its challenge is not known yet.
    pub(super) fn expects(&self, game: &GameInfo) -> bool {
        let attempt = self.attempt.as_ref().filter(|attempt| attempt.id.is_none());
        attempt.is_some_and(|attempt| attempt.color() == game.color)
            && self.opponent == game.opponent.name
            && (self.offer.variant, self.offer.rated) == (game.variant, game.rated)
            && self.offer.speed() == game.speed
            && game.tournament.is_none()
            && !self.has_counted(&game.id)
    }

    /// Time before which there is no further attempt, and why.
    pub(super) fn retry(&self, now: SystemTime) -> Option<(SystemTime, &str)> {
        let at = persist::pending_until(self.retry_at, now)?;
        Some((at, self.retry_reason.as_str()))
    }

    /// Sets the time of the next attempt.
    pub(super) fn retry_after(&mut self, wait: Duration, reason: &str, now: SystemTime) {
        self.retry_at = clock::epoch_seconds(now).saturating_add(wait.as_secs());
        reason.clone_into(&mut self.retry_reason);
    }

    /// Begins the attempt for the next game.
    pub(super) fn begin(&mut self, now: SystemTime) {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.attempt = Some(Attempt {
            white: self.games.len().is_multiple_of(2),
            since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            id: None,
            started: false,
            stage: Stage::Saving,
        });
    }

    /// The challenge for the next game.
    pub(super) fn challenge(&self) -> NewChallenge {
        let color = self.attempt.as_ref().map(Attempt::color);
        let choice = color.map_or(ColorChoice::Random, ColorChoice::from);
        self.offer.challenge(choice)
    }

    pub(super) fn set_stage(&mut self, stage: Stage) {
        if let Some(attempt) = &mut self.attempt {
            attempt.stage = stage;
        }
    }

    /// The game of the attempt has started.
    pub(super) fn on_started(&mut self, id: &GameId) {
        if let Some(attempt) = &mut self.attempt {
            attempt.id = Some(id.clone());
            attempt.started = true;
            attempt.stage = Stage::Unknown;
        }
    }

    /// The game of the attempt has ended.
    pub(super) fn on_ended(&mut self, status: Status, winner: Option<Color>, now: SystemTime) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        if !status.was_played() || winner.is_none() && !status.has_result() {
            let why = "the game was not played, or has no result".to_owned();
            return self.on_failed(Failure::Temporary(why), now);
        }
        let points = match winner {
            None => 1,
            Some(winner) => 2 * u8::from(winner == attempt.color()),
        };
        self.failures = 0;
        self.retry_at = 0;
        let white = attempt.white;
        if let Some(id) = attempt.id.filter(|id| !self.has_counted(id)) {
            self.games.push(MatchGame { id, white, points });
        }
    }

    /// Returns whether the result of this game is counted.
    pub(super) fn has_counted(&self, id: &GameId) -> bool {
        self.games.iter().any(|game| game.id == *id)
    }

    /// The attempt has come to nothing.
    pub(super) fn on_failed(&mut self, failure: Failure, now: SystemTime) {
        self.attempt = None;
        match failure {
            Failure::Withdrawn => {}
            Failure::Limited(wait) => {
                let reason = "the opponent has played the day's games between bots";
                self.retry_after(wait, reason, now);
            }
            Failure::Temporary(why) => {
                let wait = RETRY_BACKOFF.delay(self.failures);
                self.failures = self.failures.saturating_add(1);
                if self.failures >= MAX_FAILURES {
                    let last =
                        format!("{} attempts without a game, the last: {why}", self.failures);
                    return self.end(last);
                }
                self.retry_after(wait, &why, now);
            }
            Failure::Final(why) => self.end(why),
        }
    }

    /// Ends the match, unless it is over.
    pub(super) fn end(&mut self, why: String) {
        if !self.is_over() {
            self.ended = Some(why);
        }
    }

    /// Result so far, like `+3 =1 -2 of 40`.
    pub(super) fn score(&self) -> String {
        let [lost, drawn, won] = self.counts();
        format!("+{won} ={drawn} -{lost} of {}", self.total())
    }

    /// Games lost, drawn and won.
    fn counts(&self) -> [usize; 3] {
        let count = |points| {
            let with = self.games.iter().filter(|game| game.points == points);
            with.count()
        };
        [count(0), count(1), count(2)]
    }

    /// State, as the end of a sentence.
    fn state(&self, now: SystemTime) -> String {
        match (&self.ended, &self.attempt) {
            (
                _,
                Some(Attempt {
                    id: Some(id),
                    started: true,
                    ..
                }),
            ) => format!("playing {id}"),
            (Some(why), _) => format!("ended early: {why}"),
            (None, _) if self.is_over() => "over".to_owned(),
            (None, Some(_)) => "waiting for an answer".to_owned(),
            (None, None) => match self.retry(now) {
                Some((at, why)) => format!("next attempt at {}: {why}", clock::format_date(at)),
                None => "waiting to begin the next game".to_owned(),
            },
        }
    }

    fn status(&self, now: SystemTime) -> MatchStatus {
        let mut stats = MatchStats::default();
        for pair in self.games.chunks_exact(2) {
            stats.add([pair[0].points, pair[1].points]);
        }
        let elo = (stats.count() > 0).then(|| stats.elo());
        let points = |white| {
            let games = self.games.iter().filter(move |game| game.white == white);
            games.map(|game| game.points).collect()
        };
        let [lost, drawn, won] = self.counts();
        MatchStatus {
            opponent: self.opponent.to_string(),
            terms: self.offer.to_string(),
            games: self.total(),
            won,
            drawn,
            lost,
            elo: elo.map(|elo| elo.value),
            // Identical pairs do not determine the error.
            elo_error: elo.map(|elo| elo.error).filter(|error| *error > 0.0),
            over: self.is_over(),
            state: self.state(now),
            as_white: points(true),
            as_black: points(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::model::{TimeControl, Variant};
    use crate::seconds::CENTURY;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    fn id(number: usize) -> GameId {
        format!("game{number:04}").parse().unwrap()
    }

    fn matches(pairs: u32) -> Matches {
        let offer = Offer {
            time: TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
            variant: Variant::Standard,
            rated: false,
        };
        let mut matches = Matches::default();
        matches.add("Rival".into(), offer, pairs, false).unwrap();
        assert!(matches.add("RIVAL".into(), offer, pairs, false).is_err());
        matches
    }

    #[test]
    fn match_counts_pairs_by_color() {
        let mut matches = matches(2);
        let rival = Username::new("Rival");
        let winners = [
            Some(Color::White),
            Some(Color::White),
            None,
            Some(Color::Black),
        ];
        for (number, winner) in winners.into_iter().enumerate() {
            let one = matches.against(&rival).unwrap();
            one.begin(at(0));
            one.on_started(&id(number));
            // A process that has ended now knows the game.
            let saved = matches.to_json();
            matches = serde_json::from_str(&saved).unwrap();
            let one = matches.with_game(&id(number)).unwrap();
            one.on_ended(Status::Mate, winner, at(0));
            assert!(matches.has_game(&id(number)));
        }
        assert!(matches.against(&rival).is_none());
        let status = matches.statuses(at(0)).remove(0);
        assert_eq!(status.as_white, [2, 1]);
        assert_eq!(status.as_black, [0, 2]);
        assert!(
            status.to_string().contains("+2 =1 -1 of 4, Elo +"),
            "{status}"
        );
        let table = "  pair      1  2\n  as White  1  ½\n  as Black  0  1\n";
        assert_eq!(status.cross_table(), table);
    }

    #[test]
    fn match_retries_later_and_gives_up() {
        let mut matches = matches(1);
        let one = matches.iter_mut().next().unwrap();
        let mut waited = Vec::new();
        while !one.is_over() {
            one.begin(at(0));
            one.on_failed(Failure::of_closed(Some(DeclineReason::Later)), at(0));
            let until = one.retry(at(0)).map(|(until, _)| until);
            waited.extend(until.map(|until| until.duration_since(at(0)).unwrap().as_secs() / 60));
            waited.dedup();
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 30]);
        let status = matches.statuses(at(0)).remove(0);
        assert!(
            status.state.contains("10 attempts without a game"),
            "{status}"
        );
        assert!(status.elo.is_none() && status.cross_table().is_empty());
        let refused = Failure::of_closed(Some(DeclineReason::TooFast));
        assert!(matches!(refused, Failure::Final(_)));
    }

    #[test]
    fn match_wrong_clock_delays_nothing() {
        for retry_at in [clock::epoch_seconds(at(CENTURY)), u64::MAX] {
            let mut matches = matches(1);
            matches.iter_mut().next().unwrap().retry_at = retry_at;
            let saved = matches.to_json();
            let matches: Matches = serde_json::from_str(&saved).unwrap();
            assert!(matches.active().all(|one| one.retry(at(0)).is_none()));
            let (_, next) = matches.next_attempt(at(0)).unwrap();
            assert_eq!(next, None);
        }
    }
}
