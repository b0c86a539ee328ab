//! Choice of the next opponent and game. Pure apart from random draws.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::offer::Offer;
use super::opponent_history::OpponentHistory;
use super::{Engaged, Engagement};
use crate::config::{ClockSpec, ColorPreference, Order, Pattern, Profile, Settings};
use crate::lichess::model::{Color, ColorChoice, User, Username};

/// Candidates for one challenge: some have left, some are playing.
const MAX_CANDIDATES: usize = 8;

/// Settings of the operator for the selection.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Kinds of games; at least one.
    pub profiles: Vec<Profile>,
    /// Users who are never challenged.
    pub blocked: Vec<Pattern>,
    /// Names that accepting rules name, which comes before block lists.
    pub accepted: Vec<Pattern>,
    /// Ids of the users on block lists.
    pub listed: Arc<BTreeSet<String>>,
    pub order: Order,
}

/// Online bots, and our own account.
#[derive(Clone, Debug)]
pub(crate) struct OnlineBots {
    pub me: User,
    pub bots: Vec<User>,
}

/// A kind of game and the users who may be challenged to it.
type Game<'a> = (Offer, Vec<&'a User>);

/// A challenge to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Name of the profile.
    pub profile: String,
    pub offer: Offer,
    /// Our color.
    pub color: ColorChoice,
    /// Candidates, the best first. One of them is challenged.
    pub users: Vec<Username>,
    /// Which game of a pair it is; `None` without pairs.
    pub pair: Option<PairGame>,
}

/// Game of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairGame {
    First,
    Second,
}

/// Nobody can be challenged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoOpponent {
    /// Reason for the operator.
    pub reason: String,
    /// End of the first backoff among the bots that fit.
    pub until: Option<SystemTime>,
}

/// The second game of a pair, if one is due with an opponent who is online.
pub(super) fn return_game(
    plan: &Plan,
    online_bots: &OnlineBots,
    engaged: &Engaged,
    history: &OpponentHistory,
    now: SystemTime,
) -> Option<Choice> {
    history.return_games(now).find_map(|(user, offer, color)| {
        let wanted = |profile: &Profile| {
            profile.color == ColorPreference::Balanced
                && offers(profile).any(|other| other == offer)
        };
        let number = plan.profiles.iter().position(wanted)?;
        let bot = online_bots.bots.iter().find(|bot| bot.username == user)?;
        // Both games of a correspondence pair are played at once.
        let clocked = offer.time.is_clock();
        let is_engaged = engaged.iter().any(|(name, engagement)| {
            let excludes = match *engagement {
                Engagement::Game { clocked: running } => clocked && running,
                Engagement::Challenge => true,
            };
            *name == user && excludes
        });
        let is_free = !is_engaged && history.blocked_until(&user, offer, now).is_none();
        (is_free && plan.may_challenge(bot, &online_bots.me)).then(|| Choice {
            profile: plan.profiles[number].display_name(number),
            offer,
            color: color.into(),
            users: vec![bot.username.clone()],
            pair: Some(PairGame::Second),
        })
    })
}

/// Chooses a profile by weight, one of its games, and the fitting opponents that come first in the order of the plan.
/// Those who are engaged wait.
///
/// # Errors
/// If nobody fits, or all who fit are in backoff.
pub(super) fn choose(
    plan: &Plan,
    online_bots: &OnlineBots,
    engaged: &Engaged,
    history: &OpponentHistory,
    now: SystemTime,
    rng: &mut fastrand::Rng,
) -> Result<Choice, NoOpponent> {
    let is_engaged = |bot: &User, offer: Offer| {
        engaged.iter().any(|(name, engagement)| {
            *name == bot.username && engagement.excludes(offer.time.is_clock())
        })
    };
    let (mut fitting, mut until) = (0, None::<SystemTime>);
    let mut possible: Vec<(usize, Vec<Game<'_>>)> = Vec::new();
    for (number, profile) in plan.profiles.iter().enumerate() {
        let mut games = Vec::new();
        for offer in offers(profile) {
            let mut free = Vec::new();
            for bot in plan.opponents(profile, offer, online_bots) {
                fitting += 1;
                match history.blocked_until(&bot.username, offer, now) {
                    None if is_engaged(bot, offer) => {}
                    None => free.push(bot),
                    Some(again) => until = Some(until.map_or(again, |until| until.min(again))),
                }
            }
            if !free.is_empty() {
                games.push((offer, free));
            }
        }
        if !games.is_empty() {
            possible.push((number, games));
        }
    }
    let Some((number, mut games)) =
        weighted_choice(possible, |(number, _)| plan.profiles[*number].weight, rng)
    else {
        let mut others = online_bots.bots.iter();
        let others = others.any(|bot| bot.username != online_bots.me.username);
        return Err(no_opponent(others, fitting, until));
    };
    let profile = &plan.profiles[number];
    let (offer, mut free) = games.swap_remove(rng.usize(..games.len()));
    rng.shuffle(&mut free);
    // The sort is stable, so that equal candidates stay in random order.
    let ours = i64::from(rating(&online_bots.me, offer).unwrap_or_default());
    let difference = |bot: &User| rating(bot, offer).map(|theirs| i64::from(theirs) - ours);
    match plan.order {
        Order::Due => free.sort_by_key(|bot| history.last_game(&bot.username)),
        Order::Nearest => {
            free.sort_by_key(|bot| difference(bot).map_or(i64::MAX, i64::abs));
        }
        Order::Strongest => free.sort_by_key(|bot| Reverse(difference(bot))),
        Order::Weakest => free.sort_by_key(|bot| difference(bot).unwrap_or(i64::MAX)),
    }
    free.truncate(MAX_CANDIDATES);
    let either = if rng.bool() {
        Color::White
    } else {
        Color::Black
    };
    let (color, pair) = match profile.color {
        ColorPreference::Balanced => (either.into(), Some(PairGame::First)),
        ColorPreference::White => (ColorChoice::White, None),
        ColorPreference::Black => (ColorChoice::Black, None),
        ColorPreference::Random => (ColorChoice::Random, None),
    };
    Ok(Choice {
        profile: profile.display_name(number),
        offer,
        color,
        users: free.iter().map(|bot| bot.username.clone()).collect(),
        pair,
    })
}

impl Plan {
    /// Plan of the settings.
    pub(super) fn of(settings: &Settings) -> Self {
        let (challenge, matchmaking) = (&settings.challenge, &settings.matchmaking);
        let blocked = challenge.block.iter().chain(&matchmaking.block);
        let other_accounts = settings
            .other_accounts
            .iter()
            .cloned()
            .map(Pattern::try_from);
        Self {
            profiles: matchmaking.profiles(),
            order: matchmaking.order,
            blocked: blocked.cloned().chain(other_accounts.flatten()).collect(),
            accepted: settings.accepted_names().cloned().collect(),
            listed: Arc::default(),
        }
    }

    /// The plan restricted to games that are probably over before the next arena, and with `correspondence` or
    /// without.
    pub(super) fn restricted(&self, arena: Option<Duration>, correspondence: bool) -> Self {
        let mut plan = self.clone();
        for profile in &mut plan.profiles {
            profile.clock.retain(|clock| match clock.time().is_clock() {
                true => arena.is_none_or(|time| fits_within(*clock, time)),
                false => correspondence,
            });
        }
        plan.profiles.retain(|profile| !profile.clock.is_empty());
        plan
    }

    /// Online bots that fit a profile, for one of its games.
    fn opponents<'a>(
        &'a self,
        profile: &'a Profile,
        offer: Offer,
        online_bots: &'a OnlineBots,
    ) -> impl Iterator<Item = &'a User> {
        let ours = rating(&online_bots.me, offer);
        let bots = online_bots.bots.iter();
        bots.filter(move |bot| {
            let bot: &User = bot;
            self.may_challenge(bot, &online_bots.me) && profile.wants(rating(bot, offer), ours)
        })
    }

    /// Returns whether a bot may be challenged at all.
    fn may_challenge(&self, bot: &User, me: &User) -> bool {
        let name = bot.username.as_str();
        let is_any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        let listed = self.listed.contains(&bot.username.id()) && !is_any(&self.accepted);
        bot.username != me.username
            && !bot.disabled
            && !bot.blocking
            && !is_any(&self.blocked)
            && !listed
    }
}

/// Rating in such games.
fn rating(user: &User, offer: Offer) -> Option<i32> {
    let perf = user.perfs.get(offer.perf_key());
    perf.and_then(|perf| perf.rating)
}

/// Games of a profile. Unlimited ones were rejected with the settings.
fn offers(profile: &Profile) -> impl Iterator<Item = Offer> {
    let clocks = profile.clock.iter().copied().map(ClockSpec::time);
    clocks.flat_map(move |time| {
        let variants = profile.variant.iter().copied();
        variants.map(move |variant| Offer {
            time,
            variant,
            rated: profile.rated,
        })
    })
}

/// Returns whether such a game is over within this time if both sides take as long as Lichess estimates.
fn fits_within(clock: ClockSpec, time: Duration) -> bool {
    let estimate = clock.time().estimate();
    estimate.is_some_and(|seconds| 2 * Duration::from_secs(seconds.into()) <= time)
}

/// Draws one by weight.
fn weighted_choice<T>(
    mut from: Vec<T>,
    weight: impl Fn(&T) -> u32,
    rng: &mut fastrand::Rng,
) -> Option<T> {
    let all: u64 = from.iter().map(|one| u64::from(weight(one))).sum();
    if all == 0 {
        return None;
    }
    let mut rest = rng.u64(..all);
    let at = from.iter().position(|one| {
        let weight = u64::from(weight(one));
        let is_it = rest < weight;
        rest = rest.saturating_sub(weight);
        is_it
    })?;
    Some(from.swap_remove(at))
}

fn no_opponent(others: bool, fitting: usize, until: Option<SystemTime>) -> NoOpponent {
    let reason = match fitting {
        _ if !others => "no other bot is online",
        0 => "no bot that is online fits a profile",
        _ if until.is_none() => {
            "the bots online that fit a profile all play us or have a challenge of ours"
        }
        _ => "the bots online that fit a profile have all declined lately",
    };
    NoOpponent {
        reason: reason.to_owned(),
        until,
    }
}

#[cfg(test)]
mod tests;
