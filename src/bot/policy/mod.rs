//! Policy: whether to accept a challenge, and how to play a game. Pure functions.
//!
//! A challenge passes these checks in turn, and the first failure decides: what the bot can play; the main switch and
//! the own block list; the rules from top to bottom, until one accepts or declines; the block lists of others and
//! `[challenge]` if none does; the limits; the slots. What the challenger can change is checked before what only time changes, so that nobody
//! is told `later` who would be declined for another reason then.

mod base_checks;
mod match_input;
mod play_settings;
mod strength;

use std::cmp::Reverse;
use std::time::SystemTime;

use crate::clock;
use crate::config::{Challenge as ChallengeSettings, Games, Limit, Prefer, Rule, Settings, Window};
use crate::lichess::model::{Challenge, Compat, DeclineReason};
use crate::plural;

use base_checks::BaseCheckFailure;

pub use match_input::{ChallengeFacts, MatchInput, profile_text};
pub use play_settings::{MoveLimits, PlaySettings, describe};
pub use strength::PlayingStrength;

/// Name of [`Settings::challenge`] where rules have names.
const SECTION: &str = "[challenge]";

/// A challenge with additional data.
#[derive(Clone, Copy, Debug)]
pub struct ChallengeContext<'a> {
    pub challenge: &'a Challenge,
    /// Permission to play it, according to Lichess.
    pub compat: Option<Compat>,
    /// The challenge as rules see it.
    pub input: &'a MatchInput,
}

/// Challenges accepted under the limit of this name in a window, from one user or from all: their number, and until when
/// they are at least as many as the window allows.
pub type WindowUsage<'a> = dyn Fn(&str, Option<&str>, Window) -> (usize, Option<SystemTime>) + 'a;

/// Use of the limits, by their names.
pub struct LimitUsage<'a> {
    /// Accepted challenges.
    pub accepted: &'a WindowUsage<'a>,
    /// Running games; `None` if they are not known.
    pub running: &'a dyn Fn(&str) -> Option<usize>,
}

/// Load of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Shutdown has begun.
    pub draining: bool,
    /// The operator has paused the bot.
    pub paused: bool,
    /// No slot is free for this challenge.
    pub full: bool,
    /// Lichess limits our answers, so that an acceptance has to wait.
    pub limited: bool,
    /// The waiting queue is full too.
    pub queue_full: bool,
    /// Running games against this opponent.
    pub games_vs_opponent: usize,
    /// Number of this rematch in a row, if known; 0 if it is none.
    pub rematch_number: u32,
    /// Until when Lichess allows no games against bots, because the daily limit is reached.
    pub no_bots_until: Option<SystemTime>,
}

/// Answer to a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeAnswer {
    Accept,
    /// Accept as soon as a slot is free and Lichess takes answers.
    Wait,
    /// Decline, with the reason for the challenger.
    Decline(DeclineReason),
}

/// Answer to a challenge, and how it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub answer: ChallengeAnswer,
    /// Reason for the operator.
    pub reason: String,
    /// Name of the limit under which an acceptance counts, if any.
    pub limit: Option<String>,
    /// Checks in order.
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub result: String,
}

/// Evaluates an incoming challenge.
pub fn evaluate(
    case: ChallengeContext<'_>,
    settings: &Settings,
    usage: &LimitUsage<'_>,
    load: Load,
) -> Assessment {
    let mut evaluator = Evaluator {
        checks: Vec::new(),
        reason: String::new(),
        limit: (SECTION.to_owned(), settings.challenge.limit()),
    };
    let answer = match evaluator.run(case, settings, usage, load) {
        Ok(()) => ChallengeAnswer::Accept,
        Err(answer) => answer,
    };
    Assessment {
        answer,
        reason: evaluator.reason,
        limit: Some(evaluator.limit)
            .filter(|(_, limit)| *limit != Limit::default())
            .map(|(name, _)| name),
        checks: evaluator.checks,
    }
}

/// Returns whether a rule asks for something that only the profiles of users contain.
pub fn needs_profile(settings: &Settings) -> bool {
    let mut rules = settings.rule.iter().map(|rule| &rule.matching);
    rules.any(|it| it.age_days.is_some() || !it.engine.is_empty() || !it.bio.is_empty())
}

/// Rank in the queue: the smallest is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    priority: Reverse<i32>,
    preference: i64,
}

impl Rank {
    /// A larger priority comes first, then a smaller preference.
    pub fn new(priority: i32, preference: i64) -> Self {
        Self {
            priority: Reverse(priority),
            preference,
        }
    }

    /// Priority as given by the rules.
    pub fn priority(self) -> i32 {
        self.priority.0
    }
}

/// Rank of a challenge in the queue.
pub fn rank(settings: &Settings, input: &MatchInput) -> Rank {
    let priority = applicable_rules(&settings.rule, input)
        .find_map(|(_, rule)| rule.priority)
        .unwrap_or(0);
    let preference = match settings.challenge.prefer {
        Prefer::Humans => i64::from(input.bot),
        Prefer::Bots => i64::from(!input.bot),
        Prefer::Strongest => -i64::from(input.rating.unwrap_or(0)),
        Prefer::First => 0,
    };
    Rank::new(priority, preference)
}

/// The rules with the numbers that those of the configuration have in it.
fn numbered(rules: &[Rule]) -> impl Iterator<Item = (usize, &Rule)> {
    let by_operator = rules.iter().filter(|rule| rule.by_operator).count();
    // Those of the operator come first.
    let numbers = (0..).map(move |at: usize| at.saturating_sub(by_operator));
    numbers.zip(rules)
}

/// Name of a rule, or its number.
fn rule_label(number: usize, rule: &Rule) -> String {
    match rule.name.as_str() {
        "" => format!("rule {}", number + 1),
        name => format!("rule `{name}`"),
    }
}

/// Matching rules, down to the one that accepts or declines.
fn applicable_rules<'a>(
    rules: &'a [Rule],
    input: &'a MatchInput,
) -> impl Iterator<Item = (usize, &'a Rule)> {
    let mut decided = false;
    rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| match_input::first_objection(rule, input).is_none())
        .take_while(move |(_, rule)| !std::mem::replace(&mut decided, is_final(rule)))
}

fn is_final(rule: &Rule) -> bool {
    rule.accept == Some(true) || rule.decline.is_some()
}

/// Evaluation in progress.
struct Evaluator {
    checks: Vec<Check>,
    reason: String,
    /// Name of the limit under which an acceptance counts, and the limit.
    limit: (String, Limit),
}

impl Evaluator {
    fn run(
        &mut self,
        case: ChallengeContext<'_>,
        settings: &Settings,
        usage: &LimitUsage<'_>,
        load: Load,
    ) -> Result<(), ChallengeAnswer> {
        let (challenge, section) = (case.challenge, &settings.challenge);
        let input = case.input;
        let unplayable = base_checks::unplayable(challenge, case.compat, section);
        self.check("playable", unplayable, "yes")?;
        let not_admitted = base_checks::not_admitted(challenge, settings);
        self.check("open to this user", not_admitted, "yes")?;
        let accepted = self.check_rules(&settings.rule, input)?;
        if !accepted {
            let listed = input.facts.listed.as_ref().map(|list| {
                let user = input.display_name();
                (
                    DeclineReason::Generic,
                    format!("{user} is on the block list {list}"),
                )
            });
            if !section.block_lists.is_empty() {
                self.check("block lists", listed, "not listed")?;
            }
            let outside = base_checks::outside_section(challenge, section);
            self.check(SECTION, outside, "everything is within it")?;
            if input.facts.rematch {
                self.check_rematch(section, load.rematch_number.max(1))?;
            }
            self.reason = format!("within {SECTION}");
        }
        // Lichess would accept the challenge from the user, refuse our accept and count the attempt.
        let no_bots = load.no_bots_until.filter(|_| input.bot).map(|until| {
            let until = clock::format_date(until);
            let reason =
                format!("the daily limit of games against bots is reached; it resets at {until}");
            (DeclineReason::Later, reason)
        });
        let (exceeded, shown) = self.check_limits(input, usage);
        self.check("limits", exceeded.or(no_bots), &shown)?;
        self.check_slots(&settings.games, load)
    }

    fn record(&mut self, name: impl Into<String>, result: impl Into<String>) {
        self.checks.push(Check {
            name: name.into(),
            result: result.into(),
        });
    }

    fn check(
        &mut self,
        name: &str,
        objection: Option<BaseCheckFailure>,
        otherwise: &str,
    ) -> Result<(), ChallengeAnswer> {
        let Some((decline, reason)) = objection else {
            self.record(name, otherwise);
            return Ok(());
        };
        self.record(name, format!("no, {reason}: decline, {decline}"));
        self.reason = reason;
        Err(ChallengeAnswer::Decline(decline))
    }

    /// Returns whether a rule accepts.
    fn check_rules(&mut self, rules: &[Rule], input: &MatchInput) -> Result<bool, ChallengeAnswer> {
        let mut limited = false;
        for (number, rule) in numbered(rules) {
            let name = rule_label(number, rule);
            if let Some(mismatch) = match_input::first_objection(rule, input) {
                self.record(name, format!("does not match: {mismatch}"));
                continue;
            }
            if let Some(decline) = rule.decline {
                let reason = decline.reason();
                self.record(&name, format!("matches: decline, {reason}"));
                self.reason = name;
                return Err(ChallengeAnswer::Decline(reason));
            }
            if let Some(limit) = rule.limit.as_ref().filter(|_| !limited) {
                limited = true;
                self.limit = (name.clone(), limit.clone());
            }
            let effects = rule_effects(rule).join(", ");
            self.record(&name, format!("matches: {effects}"));
            if rule.accept == Some(true) {
                self.reason = name;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Objection to one more game under the limit, and the use of the limit.
    fn check_limits(
        &self,
        input: &MatchInput,
        usage: &LimitUsage<'_>,
    ) -> (Option<BaseCheckFailure>, String) {
        let (name, limit) = &self.limit;
        let user = input.user_id();
        let (mut exceeded, mut shown) = (None, Vec::new());
        let of_user = limit
            .of_user()
            .map(|window| (window, Some(&*user), input.display_name()));
        let of_all = limit.of_all().map(|window| (window, None, "all"));
        for (window, user, whose) in of_user.chain(of_all) {
            let (count, full_until) = (usage.accepted)(name, user, window);
            let (max, time) = (window.max, window.in_words());
            shown.push(format!("{whose} had {count} of {max} in {time} by {name}"));
            exceeded = exceeded.or(full_until.map(|until| {
                let until = clock::format_date(until);
                let reason = format!(
                    "the limit of {max} in {time} for {whose} by {name} is reached; next at {until}"
                );
                (DeclineReason::Later, reason)
            }));
        }
        if limit.concurrency > 0 {
            let (running, max) = ((usage.running)(name), limit.concurrency);
            shown.push(match running {
                Some(running) => format!("{running} of {max} at the same time by {name}"),
                None => format!(
                    "at most {max} at the same time by {name}, running games are not counted"
                ),
            });
            let full = running.is_some_and(|running| running >= max as usize);
            let reason = || format!("the limit of {max} at the same time by {name} is reached");
            exceeded = exceeded.or_else(|| full.then(|| (DeclineReason::Later, reason())));
        }
        let shown = match shown.is_empty() {
            true => "none".to_owned(),
            false => shown.join(", "),
        };
        (exceeded, shown)
    }

    fn check_rematch(
        &mut self,
        section: &ChallengeSettings,
        number: u32,
    ) -> Result<(), ChallengeAnswer> {
        let max = section.rematches;
        let reason = match max {
            0 => "no rematches are played".to_owned(),
            1 => "one rematch is played, then others have their turn".to_owned(),
            n => format!("{n} rematches in a row are played, then others have their turn"),
        };
        let objection = (number > max).then_some((DeclineReason::Later, reason));
        self.check(
            "rematch",
            objection,
            &format!("number {number} of {max} in a row"),
        )
    }

    fn check_slots(&mut self, games: &Games, load: Load) -> Result<(), ChallengeAnswer> {
        let (all, reserved, against) = (
            games.concurrency,
            games.reserved_for_humans,
            games.per_opponent,
        );
        let later = |reason: String| Some((DeclineReason::Later, reason));
        let objection = if load.draining {
            later("the bot is shutting down".to_owned())
        } else if load.paused {
            later("the operator has paused the bot".to_owned())
        } else if load.games_vs_opponent >= against {
            let games = plural::count(against, "game", "games");
            later(format!("the limit is {games} against the same opponent"))
        } else if load.limited && load.queue_full {
            later("Lichess limits our answers at the moment".to_owned())
        } else if load.full && load.queue_full {
            later(match all {
                1 => "the only slot is not free for it".to_owned(),
                all => format!("none of the {all} slots is free for it"),
            })
        } else {
            None
        };
        let reserved = match reserved {
            0 => String::new(),
            n => format!(", {n} of them for people"),
        };
        let otherwise = format!("{all} in all{reserved}, {against} against one opponent");
        self.check("slots", objection, &otherwise)?;
        if load.limited {
            let reason = &self.reason;
            self.reason = format!("{reason}, and waits until Lichess takes answers again");
            return Err(ChallengeAnswer::Wait);
        }
        if load.full {
            self.reason = format!("{}, and waits for a slot", self.reason);
            return Err(ChallengeAnswer::Wait);
        }
        Ok(())
    }
}

/// Effects of a matching rule, for the operator.
fn rule_effects(rule: &Rule) -> Vec<String> {
    let mut effects = Vec::new();
    if let Some(limit) = &rule.limit {
        let of_user = limit.of_user().map(|window| (window, "for one user"));
        let of_all = limit.of_all().map(|window| (window, "for all"));
        effects.extend(of_user.chain(of_all).map(|(window, whose)| {
            format!("at most {} in {} {whose}", window.max, window.in_words())
        }));
        let max_running = Some(limit.concurrency).filter(|max| *max > 0);
        effects.extend(max_running.map(|max| format!("at most {max} at the same time")));
    }
    effects.extend(rule.priority.map(|priority| format!("priority {priority}")));
    effects.extend(play_settings::describe(&rule.play));
    if rule.accept == Some(true) {
        effects.push("accept".to_owned());
    }
    effects
}

#[cfg(test)]
mod tests;
