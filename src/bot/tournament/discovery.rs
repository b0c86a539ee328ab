//! Looks for arenas that nobody has named: in the calendars of the operator's teams, and, if he wants that, in the list
//! of the whole site.
//!
//! No list tells whether bots may take part, so each arena that would do is looked at once. No more than `at_once` are
//! ever joined here whose times overlap, and none before the quota has room for it ([`Entry`](crate::bot::account::quota::Entry)).

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use crate::bot::AccountContext;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::clock;
use crate::config::{self, ArenaEntry, TeamEntry};
use crate::lichess::Error as Failure;
use crate::lichess::model::{ArenaId, ListedArena, Speed, TimeControl, Variant};

/// Between two looks at the lists.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// Between two questions about arenas, of which the site's list may have a hundred.
const APART: Duration = Duration::from_secs(1);

/// No more arenas are looked at between two looks at the lists.
const AT_MOST: usize = 20;

/// With less than this to play an arena is no longer worth it.
const TOO_LATE: i64 = 5 * 60_000;

/// What those read who let us into a team.
const MESSAGE: &str = "This is a chess bot, and it would like to take part in the arenas of this team that allow bots.";

/// See the module's text.
pub(super) struct Discovery {
    house: AccountContext,
    finder: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
    /// Those that we take part in, or mean to.
    attended: watch::Receiver<HashSet<ArenaId>>,
    /// Those that the operator has had us leave.
    left: watch::Receiver<HashSet<ArenaId>>,
    /// Those that were found.
    found: HashSet<ArenaId>,
    /// Whether bots may take part, as far as it was looked at.
    bots: HashMap<ArenaId, bool>,
    /// Teams that we are in.
    members: HashSet<String>,
    /// Teams that we are not in, and why has been said.
    told: HashSet<String>,
}

impl Discovery {
    pub fn new(
        house: AccountContext,
        finder: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
        [attended, left]: [watch::Receiver<HashSet<ArenaId>>; 2],
    ) -> Self {
        Self {
            house,
            finder,
            attended,
            left,
            found: HashSet::new(),
            bots: HashMap::new(),
            members: HashSet::new(),
            told: HashSet::new(),
        }
    }

    /// Looks again and again, until we are to stop.
    pub async fn roam(mut self, mut paused: watch::Receiver<bool>, mut stop: ShutdownSignal) {
        let roaming = async {
            loop {
                if paused.wait_for(|paused| !*paused).await.is_err() {
                    return;
                }
                if let Err(failure) = self.look().await {
                    info!("cannot look for arenas: {failure}");
                }
                clock::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            () = roaming => {}
            () = stop.reached(Stage::Draining) => {}
        }
    }

    /// Looks at the lists, and at what in them would do.
    async fn look(&mut self) -> Result<(), Failure> {
        let settings = self.house.settings.clone();
        let wishes = &settings.tournaments;
        let mut candidates = Vec::new();
        for membership in &wishes.teams {
            let member = self.enter(membership, wishes.join_teams).await;
            let team = &membership.team;
            let listed = self.house.client.team_arenas(team).await;
            match listed {
                Ok(listed) => {
                    let mut listed = listed;
                    listed.retain(|arena| member || arena.team.is_none());
                    candidates.extend(listed.into_iter().map(|arena| Candidate {
                        team: Some(team.clone()),
                        arena,
                    }));
                }
                Err(failure) => info!("cannot read the calendar of the team {team}: {failure}"),
            }
        }
        if wishes.join_any {
            let listed = self.house.client.arenas().await?;
            candidates.extend(
                listed
                    .into_iter()
                    .map(|arena| Candidate { arena, team: None }),
            );
        }
        let now = i64::try_from(clock::epoch_ms(SystemTime::now())).unwrap_or(i64::MAX);
        // What we take part in already has its place, though it may not be what is looked for.
        let mut taken: Vec<ListedArena> = Vec::new();
        let attended = self.attended.borrow().clone();
        for Candidate { arena, .. } in &candidates {
            let is_new = taken.iter().all(|other| other.id != arena.id);
            if is_new && attended.contains(&arena.id) {
                taken.push(arena.clone());
            }
        }
        let left = self.left.borrow().clone();
        candidates.retain(|one| one.fits(wishes, now) && !left.contains(&one.arena.id));
        let listed: HashSet<&ArenaId> = candidates.iter().map(|one| &one.arena.id).collect();
        self.bots.retain(|id, _| listed.contains(id));
        self.found.retain(|id| listed.contains(id));
        candidates.sort_by_key(|candidate| candidate.arena.starts_at);
        let mut looked_at = 0;
        for candidate in candidates {
            let (arena, id) = (&candidate.arena, &candidate.arena.id);
            if attended.contains(id) || self.found.contains(id) {
                continue;
            }
            if taken.iter().filter(|other| overlap(other, arena)).count() >= wishes.concurrency {
                continue;
            }
            if !self.bots.contains_key(id) {
                if looked_at == AT_MOST {
                    break;
                }
                looked_at += 1;
                clock::sleep(APART).await;
                let bots = match self.house.client.arena(id).await {
                    Ok(page) => page.bots_allowed,
                    Err(failure) if failure.lichess_error().is_some_and(|no| no.code == 404) => {
                        false
                    }
                    Err(failure) => {
                        info!(arena = %id, "cannot look at {}: {failure}", arena.name);
                        continue;
                    }
                };
                self.bots.insert(id.clone(), bots);
            }
            if self.bots.get(id) != Some(&true) {
                continue;
            }
            let joining = candidate.joining(wishes);
            info!(arena = %id, "found {}, {} for {} min", arena.name, arena.clock, arena.minutes);
            self.found.insert(id.clone());
            taken.push(candidate.arena.clone());
            let _ = self.finder.send((joining, candidate));
        }
        Ok(())
    }

    /// Joins the team, if that is wanted and we are not in it. Whether we are; once is enough for what keeps us out.
    async fn enter(&mut self, membership: &TeamEntry, join: bool) -> bool {
        let team = &membership.team;
        if self.members.contains(team) {
            return true;
        }
        let client = &self.house.client;
        let keeps_out = match client.team(team).await {
            Ok(found) if found.joined == Some(true) => None,
            Ok(_) if !join => Some("tournaments.join_teams is off".to_owned()),
            Ok(_) if self.told.contains(team) => return false,
            Ok(found) => {
                let password = membership.password.as_deref();
                match client.join_team(team, MESSAGE, password).await {
                    Ok(()) => {
                        info!("joined the team {}, or asked to be let in", found.name);
                        None
                    }
                    Err(failure) => Some(format!("{failure}; it takes the scope team:write")),
                }
            }
            Err(failure) => Some(failure.to_string()),
        };
        match keeps_out {
            None => self.members.insert(team.clone()),
            Some(why) => {
                if self.told.insert(team.clone()) {
                    warn!("not in the team {team}, so its own arenas are passed over: {why}");
                }
                false
            }
        }
    }
}

/// An arena of a list.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    arena: ListedArena,
    /// In whose calendar it is.
    team: Option<String>,
}

impl Candidate {
    /// Whether the operator wants such arenas, and it is the time for this one.
    fn fits(&self, wishes: &config::Tournaments, now: i64) -> bool {
        let arena = &self.arena;
        let within = i64::from(wishes.join_ahead_h) * 3_600_000;
        self.is_wanted(wishes)
            && !arena.finished
            && arena.starts_at <= now.saturating_add(within)
            && arena.finishes_at >= now.saturating_add(TOO_LATE)
    }

    /// Whether the operator wants such arenas.
    pub fn is_wanted(&self, wishes: &config::Tournaments) -> bool {
        let arena = &self.arena;
        let TimeControl::Clock { limit, increment } = arena.clock else {
            return false;
        };
        let speed = Speed::of_clock(limit, increment);
        let played = [Variant::Standard, Variant::Chess960, Variant::FromPosition];
        let looked_for = match &self.team {
            Some(team) => wishes.teams.iter().any(|wanted| wanted.team == *team),
            None => wishes.join_any,
        };
        // An arena of strangers is not told our password, nor joined for a team that the operator has not named.
        let open = match self.team {
            Some(_) => !arena.private || !wishes.password.is_empty(),
            None => !arena.private && arena.team.is_none() && arena.battle_teams.is_empty(),
        };
        looked_for
            && open
            && played.contains(&arena.variant)
            && wishes
                .speeds
                .iter()
                .any(|wanted| wanted.key() == speed.key())
            && (wishes.clocks.is_empty()
                || wishes.clocks.iter().any(|wanted| wanted.is(arena.clock)))
            && (wishes.min_minutes..=wishes.max_minutes).contains(&arena.minutes)
    }

    /// How it is joined.
    fn joining(&self, wishes: &config::Tournaments) -> ArenaEntry {
        let battles = |team: &&String| self.arena.battle_teams.contains(team);
        ArenaEntry {
            id: self.arena.id.clone(),
            team: self.team.as_ref().filter(battles).cloned(),
            password: (self.team.is_some() && self.arena.private).then(|| wishes.password.clone()),
        }
    }
}

/// Whether both are on at some moment.
fn overlap(one: &ListedArena, other: &ListedArena) -> bool {
    one.starts_at < other.finishes_at && other.starts_at < one.finishes_at
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_793_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn candidate(team: Option<&str>) -> Candidate {
        Candidate {
            team: team.map(str::to_owned),
            arena: ListedArena {
                id: "friday01".parse().unwrap(),
                name: "Friday Arena".to_owned(),
                clock: TimeControl::Clock {
                    limit: 180,
                    increment: 2,
                },
                variant: Variant::Standard,
                minutes: 60,
                starts_at: NOW + HOUR,
                finishes_at: NOW + 2 * HOUR,
                finished: false,
                private: false,
                team: None,
                battle_teams: Vec::new(),
            },
        }
    }

    #[test]
    fn only_what_the_operator_wants_is_looked_at() {
        let wishes = |text: &str| -> config::Tournaments {
            let looked_for = "any = true\nteams = [\"ours\"]\n";
            toml::from_str(&format!("{looked_for}{text}")).unwrap()
        };
        let fits = |change: &dyn Fn(&mut ListedArena), team: Option<&str>, text: &str| {
            let mut candidate = candidate(team);
            change(&mut candidate.arena);
            candidate.fits(&wishes(text), NOW)
        };
        let as_it_is: &dyn Fn(&mut ListedArena) = &|_| {};
        assert!(fits(as_it_is, None, ""));
        for text in [
            "speeds = [\"bullet\", \"rapid\"]",
            "clocks = [\"3+0\"]",
            "min_minutes = 61",
            "max_minutes = 59",
            "join_ahead_h = 0",
        ] {
            assert!(!fits(as_it_is, None, text), "{text}");
        }
        for text in [
            "clocks = [\"3+2\"]",
            "speeds = [\"blitz\"]",
            "join_ahead_h = 1",
        ] {
            assert!(fits(as_it_is, None, text), "{text}");
        }
        let changes: [&dyn Fn(&mut ListedArena); 4] = [
            &|arena| arena.finished = true,
            &|arena| arena.variant = Variant::Atomic,
            &|arena| arena.finishes_at = NOW + 60_000,
            &|arena| {
                arena.clock = TimeControl::Clock {
                    limit: 15,
                    increment: 0,
                }
            },
        ];
        for change in changes {
            assert!(!fits(change, None, "") && !fits(change, Some("ours"), ""));
        }
        let private: &dyn Fn(&mut ListedArena) = &|arena| arena.private = true;
        assert!(!fits(private, None, "password = \"x\""));
        assert!(!fits(private, Some("ours"), ""));
        assert!(fits(private, Some("ours"), "password = \"x\""));
        let closed: &dyn Fn(&mut ListedArena) = &|arena| arena.team = Some("ours".to_owned());
        assert!(!fits(closed, None, ""));
        assert!(fits(closed, Some("ours"), ""));
    }

    #[test]
    fn strangers_are_told_no_password() {
        let wishes = config::Tournaments {
            password: "secret".to_owned(),
            ..config::Tournaments::default()
        };
        let mut ours = candidate(Some("ours"));
        assert_eq!(ours.joining(&wishes).password, None);
        ours.arena.private = true;
        ours.arena.battle_teams = vec!["ours".to_owned(), "theirs".to_owned()];
        let joining = ours.joining(&wishes);
        assert_eq!(joining.password.as_deref(), Some("secret"));
        assert_eq!(joining.team.as_deref(), Some("ours"));
        assert_eq!(candidate(None).joining(&wishes).password, None);
    }

    #[test]
    fn arenas_overlap_while_both_are_on() {
        let at = |starts: i64, ends: i64| ListedArena {
            starts_at: starts,
            finishes_at: ends,
            ..candidate(None).arena
        };
        assert!(overlap(&at(0, 10), &at(9, 20)));
        assert!(overlap(&at(0, 10), &at(2, 3)));
        assert!(!overlap(&at(0, 10), &at(10, 20)));
    }
}
