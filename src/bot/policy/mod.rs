//! Accept or decline a challenge, and why; and how a game is played. Pure.
//!
//! A challenge passes these in turn, and the first that has something against it decides: what nobody can play; the
//! main switch and the block list; the rules from top to bottom, until one accepts or declines; `[challenge]`, if none
//! does; the limits per day; the places. What the challenger can change so comes before what only time changes, and
//! nobody is told `later` who would be told something else then.

mod base_checks;
mod explain;
mod match_input;
mod play_settings;
mod strength;

use std::cmp::Reverse;
use std::time::SystemTime;

use crate::clock;
use crate::config::{Challenge as Frame, Games, Limit, Prefer, Rule, Settings};
use crate::lichess::model::{Challenge, Compat, DeclineReason};
use crate::plural;

use crate::bot::account::accepted_log::AcceptedLog;
use base_checks::BaseCheckFailure;

pub use explain::{Asked, ExplainError, explain_command};
pub use match_input::{ChallengeFacts, MatchInput};
pub use play_settings::{Terms, Think, said};
pub use strength::PlayingStrength;

/// What [`Settings::challenge`] is called where rules have names.
const FRAME: &str = "[challenge]";

/// A challenge, with what is known of it beside.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The challenge.
    pub challenge: &'a Challenge,
    /// Who may play it, by Lichess's own word.
    pub compat: Option<Compat>,
    /// The age of the challenger's account, where it was looked up.
    pub age_days: Option<u32>,
}

/// How busy the house is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// We are about to stop.
    pub draining: bool,
    /// The operator wants no new games for now.
    pub paused: bool,
    /// There is no place for this one.
    pub full: bool,
    /// And none to wait either.
    pub crowded: bool,
    /// Games on against this very opponent.
    pub against: usize,
    /// Which number in a row this rematch would be, where that is known; 0 for none.
    pub rematch: u32,
    /// Until when Lichess lets us play no bots, as the day's games against them are played.
    pub no_bots_until: Option<SystemTime>,
}

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Play.
    Accept,
    /// Play as soon as there is a place.
    Wait,
    /// Do not; what the challenger is told.
    Decline(DeclineReason),
}

/// An answer, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What to answer.
    pub verdict: Verdict,
    /// What the operator is told.
    pub why: String,
    /// Under which name an acceptance counts, if it does.
    pub limit: Option<String>,
    /// Each thing that was looked at, in order.
    pub steps: Vec<Step>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub what: String,
    /// And what came of it.
    pub says: String,
}

/// Judges a challenge that came to us.
pub fn judge(
    case: Case<'_>,
    settings: &Settings,
    ledger: &AcceptedLog,
    now: SystemTime,
    load: Load,
) -> Ruling {
    let mut walk = Evaluation {
        steps: Vec::new(),
        why: String::new(),
        limit: (FRAME.to_owned(), settings.challenge.limit()),
    };
    let verdict = match walk.all(case, settings, (ledger, now), load) {
        Ok(()) => Verdict::Accept,
        Err(verdict) => verdict,
    };
    Ruling {
        verdict,
        why: walk.why,
        limit: Some(walk.limit)
            .filter(|(_, limit)| *limit != Limit::default())
            .map(|(name, _)| name),
        steps: walk.steps,
    }
}

/// Whether a rule asks for the age of accounts, which a challenge does not tell.
pub fn asks_age(settings: &Settings) -> bool {
    let mut rules = settings.rule.iter();
    rules.any(|rule| rule.matching.age_days.is_some())
}

/// Where somebody stands among those that wait for a place: the smallest is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    priority: Reverse<i32>,
    preference: i64,
}

impl Rank {
    /// A larger priority comes first, and of the same a smaller preference.
    pub fn new(priority: i32, preference: i64) -> Self {
        Self {
            priority: Reverse(priority),
            preference,
        }
    }

    /// As the rules say it.
    pub fn priority(self) -> i32 {
        self.priority.0
    }
}

/// Where a challenge stands among those that wait for a place.
pub fn rank(settings: &Settings, subject: &MatchInput) -> Rank {
    let priority = until_decided(&settings.rule, subject)
        .find_map(|(_, rule)| rule.priority)
        .unwrap_or(0);
    let preference = match settings.challenge.prefer {
        Prefer::Humans => i64::from(subject.bot),
        Prefer::Bots => i64::from(!subject.bot),
        Prefer::Strongest => -i64::from(subject.rating.unwrap_or(0)),
        Prefer::First => 0,
    };
    Rank::new(priority, preference)
}

/// The name of a rule, or else its number.
fn name_of(number: usize, rule: &Rule) -> String {
    match rule.name.as_str() {
        "" => format!("rule {}", number + 1),
        name => format!("rule `{name}`"),
    }
}

/// The rules that are about this, down to the one that accepts or declines.
fn until_decided<'a>(
    rules: &'a [Rule],
    subject: &'a MatchInput,
) -> impl Iterator<Item = (usize, &'a Rule)> {
    let mut decided = false;
    rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| match_input::miss(&rule.matching, subject).is_none())
        .take_while(move |(_, rule)| !std::mem::replace(&mut decided, decides(rule)))
}

fn decides(rule: &Rule) -> bool {
    rule.accept == Some(true) || rule.decline.is_some()
}

/// A judgement that is under way.
struct Evaluation {
    steps: Vec<Step>,
    why: String,
    /// Under which name an acceptance counts, and how many there may be.
    limit: (String, Limit),
}

impl Evaluation {
    fn all(
        &mut self,
        case: Case<'_>,
        settings: &Settings,
        day: (&AcceptedLog, SystemTime),
        load: Load,
    ) -> Result<(), Verdict> {
        let (challenge, frame) = (case.challenge, &settings.challenge);
        let subject = MatchInput::of_challenge(challenge, case.age_days);
        let unplayable = base_checks::unplayable(challenge, case.compat, frame);
        self.look("playable", unplayable, "yes")?;
        let shut_out = base_checks::shut_out(challenge, settings);
        self.look("open to this user", shut_out, "yes")?;
        let accepted = self.rules(&settings.rule, &subject)?;
        if !accepted {
            let unwanted = base_checks::unwanted(challenge, frame);
            self.look(FRAME, unwanted, "everything is within it")?;
            if subject.rematch {
                self.rematch(frame, load.rematch.max(1))?;
            }
            self.why = format!("within {FRAME}");
        }
        // Lichess would take the challenge, refuse our yes and count that we have asked.
        let spent = load.no_bots_until.filter(|_| subject.bot).map(|until| {
            let until = clock::format_date(until);
            let why = format!("Lichess lets us play no more bots today, again at {until}");
            (DeclineReason::Later, why)
        });
        let over = self.over(&subject, day).or(spent);
        let so_far = self.so_far(&subject, day);
        self.look("limits", over, &so_far)?;
        self.places(&settings.games, load)
    }

    fn note(&mut self, what: impl Into<String>, says: impl Into<String>) {
        self.steps.push(Step {
            what: what.into(),
            says: says.into(),
        });
    }

    fn look(
        &mut self,
        what: &str,
        objection: Option<BaseCheckFailure>,
        otherwise: &str,
    ) -> Result<(), Verdict> {
        let Some((reason, why)) = objection else {
            self.note(what, otherwise);
            return Ok(());
        };
        self.note(what, format!("no, {why}: decline, {reason}"));
        self.why = why;
        Err(Verdict::Decline(reason))
    }

    /// Whether a rule accepts.
    fn rules(&mut self, rules: &[Rule], subject: &MatchInput) -> Result<bool, Verdict> {
        let mut limited = false;
        for (number, rule) in rules.iter().enumerate() {
            let name = name_of(number, rule);
            if let Some(miss) = match_input::miss(&rule.matching, subject) {
                self.note(name, format!("does not match: {miss}"));
                continue;
            }
            if let Some(decline) = rule.decline {
                let reason = decline.reason();
                self.note(&name, format!("matches: decline, {reason}"));
                self.why = name;
                return Err(Verdict::Decline(reason));
            }
            if let Some(limit) = rule.limit.filter(|_| !limited) {
                limited = true;
                self.limit = (name.clone(), limit);
            }
            let says = said_of(rule).join(", ");
            self.note(&name, format!("matches: {says}"));
            if rule.accept == Some(true) {
                self.why = name;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn over(
        &self,
        subject: &MatchInput,
        (ledger, now): (&AcceptedLog, SystemTime),
    ) -> Option<BaseCheckFailure> {
        let (name, limit) = &self.limit;
        let full = |most: u32, user: Option<&str>, whose: &str| {
            let until = ledger
                .full_until(name, user, most, now)
                .filter(|_| most > 0)?;
            let why = format!(
                "{most} in 24 hours are the limit for {whose} by {name}, again at {}",
                clock::format_date(until)
            );
            Some((DeclineReason::Later, why))
        };
        full(limit.per_user_day, Some(&subject.user()), subject.shown())
            .or_else(|| full(limit.per_day, None, "all"))
    }

    fn so_far(&self, subject: &MatchInput, (ledger, now): (&AcceptedLog, SystemTime)) -> String {
        let (name, limit) = &self.limit;
        let (shown, user) = (subject.shown(), subject.user());
        let one = |most: u32, user: Option<&str>, whose: &str| {
            let count = ledger.count(name, user, now);
            (most > 0).then(|| format!("{whose} had {count} of {most} in 24 hours by {name}"))
        };
        let both = [
            one(limit.per_user_day, Some(&user), shown),
            one(limit.per_day, None, "all"),
        ];
        let both: Vec<String> = both.into_iter().flatten().collect();
        match both.is_empty() {
            true => "none".to_owned(),
            false => both.join(", "),
        }
    }

    fn rematch(&mut self, frame: &Frame, number: u32) -> Result<(), Verdict> {
        let most = frame.rematches;
        let why = match most {
            0 => "no rematches are played".to_owned(),
            1 => "one rematch is played, then others have their turn".to_owned(),
            n => format!("{n} rematches in a row are played, then others have their turn"),
        };
        let objection = (number > most).then_some((DeclineReason::Later, why));
        self.look(
            "rematch",
            objection,
            &format!("number {number} of {most} in a row"),
        )
    }

    fn places(&mut self, games: &Games, load: Load) -> Result<(), Verdict> {
        let (all, reserved, against) = (
            games.concurrency,
            games.reserved_for_humans,
            games.per_opponent,
        );
        let later = |why: String| Some((DeclineReason::Later, why));
        let objection = if load.draining {
            later("we are about to stop".to_owned())
        } else if load.paused {
            later("the operator has paused the bot".to_owned())
        } else if load.against >= against {
            let games = plural::count(against, "game", "games");
            later(format!("the limit is {games} against the same opponent"))
        } else if load.full && load.crowded {
            later(match all {
                1 => "the one place is not free for it".to_owned(),
                all => format!("none of the {all} places is free for it"),
            })
        } else {
            None
        };
        let reserved = match reserved {
            0 => String::new(),
            n => format!(", {n} of them for people"),
        };
        let otherwise = format!("{all} in all{reserved}, {against} against one opponent");
        self.look("places", objection, &otherwise)?;
        if load.full {
            self.why = format!("{}, and waits for a place", self.why);
            return Err(Verdict::Wait);
        }
        Ok(())
    }
}

/// What a rule says about those that it matches.
fn said_of(rule: &Rule) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(Limit {
        per_user_day,
        per_day,
    }) = rule.limit
    {
        let counted = [(per_user_day, "for one user"), (per_day, "for all")];
        let counted = counted.into_iter().filter(|(most, _)| *most > 0);
        said.extend(counted.map(|(most, whose)| format!("at most {most} a day {whose}")));
    }
    said.extend(rule.priority.map(|priority| format!("priority {priority}")));
    said.extend(play_settings::said(&rule.play));
    if rule.accept == Some(true) {
        said.push("accept".to_owned());
    }
    said
}

#[cfg(test)]
mod tests;
