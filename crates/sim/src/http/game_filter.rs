//! Filter for the games of a user.

use knightwatch_chess::Color;

use crate::http::params::{Params, is_yes};
use crate::round::Round;
use crate::round::rounds::Rounds;
use crate::site::UserId;

/// Filter from request parameters; absent parameters match every game.
pub(crate) struct GameFilter {
    user: UserId,
    opponent: Option<UserId>,
    since: Option<i64>,
    until: Option<i64>,
    rated: Option<bool>,
    color: Option<Color>,
    /// Perf keys; empty matches all.
    perfs: Vec<String>,
    ongoing: bool,
    finished: bool,
    oldest_first: bool,
    max: usize,
}

impl GameFilter {
    pub(crate) fn read(params: &Params, user: UserId) -> Self {
        let number = |name| params.get(name).and_then(|text| text.parse().ok());
        let flag = |name| params.get(name).map(is_yes);
        let perfs = params.get("perfType").unwrap_or_default().split(',');
        Self {
            user,
            opponent: params.get("vs").map(UserId::of),
            since: number("since"),
            until: number("until"),
            rated: flag("rated"),
            color: match params.get("color") {
                Some("white") => Some(Color::White),
                Some("black") => Some(Color::Black),
                _ => None,
            },
            perfs: perfs
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect(),
            ongoing: flag("ongoing").unwrap_or(false),
            finished: flag("finished").unwrap_or(true),
            oldest_first: params.get("sort") == Some("dateAsc"),
            max: number("max").map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(0)),
        }
    }

    fn matches(&self, round: &Round) -> bool {
        let Some(color) = round.color_of(&self.user) else {
            return false;
        };
        let created_at = round.created_at.0;
        let opponent = self.opponent.as_ref();
        (if round.referee.is_running() {
            self.ongoing
        } else {
            self.finished
        }) && opponent.is_none_or(|other| round.side(!color).user == *other)
            && self.since.is_none_or(|since| created_at >= since)
            && self.until.is_none_or(|until| created_at <= until)
            && self.rated.is_none_or(|rated| round.rated == rated)
            && self.color.is_none_or(|wanted| wanted == color)
            && (self.perfs.is_empty() || self.perfs.iter().any(|key| key == round.perf().key))
    }

    /// Returns the matching games, latest first unless the request asks otherwise.
    pub(crate) fn apply<'a>(&self, rounds: &'a Rounds) -> Vec<&'a Round> {
        let rounds = rounds.iter();
        let mut matching: Vec<&Round> = rounds.filter(|round| self.matches(round)).collect();
        matching.sort_by_key(|round| (round.created_at, round.id));
        if !self.oldest_first {
            matching.reverse();
        }
        matching.truncate(self.max);
        matching
    }
}
