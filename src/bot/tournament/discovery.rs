//! Discovery of arenas that the operator has not named: in the calendars of their teams and, if configured, in the
//! list of the whole site.
//!
//! No list says whether the account may take part, so the page of each suitable arena is read, and again from time to
//! time while it may not. At most `tournaments.concurrency` arenas at once are joined, those that the operator has
//! named included, and none before the quota has room for it
//! ([`JoinRequest`](crate::bot::account::quota::JoinRequest)). One that refuses the account does not count; if it admits
//! the account later, there may be one more.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use super::PeriodReceiver;
use crate::bot::AccountContext;
use crate::bot::shutdown::Stage;
use crate::clock;
use crate::config::{self, ArenaEntry, TeamEntry};
use crate::lichess::model::{Arena, ArenaId, ListedArena, Speed, TimeControl};

/// Interval between scans of the lists.
const LIST_INTERVAL: Duration = Duration::from_secs(300);

/// Pause between requests for arena pages, of which the site's list may have a hundred.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// Arena pages read at most in one scan.
const MAX_LOOKUPS: usize = 20;

/// Time after which the page of an arena that does not admit the account is read again: its conditions may change.
const CLOSED_MAX_AGE: Duration = Duration::from_secs(30 * 60);

/// Time limit for the tasks of new arenas to read their pages. Until then it is not known when these arenas take place.
const PERIODS_TIMEOUT: Duration = Duration::from_secs(30);

/// An arena with less time left to play is not joined, in milliseconds.
const MIN_REMAINING_MS: i64 = 5 * 60_000;

/// Message to the leaders of a team.
const TEAM_REQUEST_MESSAGE: &str = "This is a chess bot, and it would like to take part in the arenas of this team that allow bots.";

/// Reason why the account is not in a team that it has asked to join.
const REQUESTED: &str =
    "a leader of the team has to accept our request, which is checked at each scan";

/// Periodic scan for arenas.
pub(super) struct Discovery {
    ctx: AccountContext,
    discovered_sender: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
    /// Arenas that the account has joined or is going to join, and their times.
    joined_arenas: watch::Receiver<HashMap<ArenaId, PeriodReceiver>>,
    /// Arenas that the operator has left.
    left: watch::Receiver<HashSet<ArenaId>>,
    /// Arenas found here.
    found: HashSet<ArenaId>,
    closed: ClosedArenas,
    /// Teams of the account.
    members: HashSet<String>,
    /// Teams that the account is not in, for which the reason was logged.
    reported_teams: HashSet<String>,
    /// Teams that have been asked to take the account.
    asked_teams: HashSet<String>,
}

/// Arenas that do not admit the account, and when their pages were read.
#[derive(Default)]
struct ClosedArenas(HashMap<ArenaId, Instant>);

impl ClosedArenas {
    /// Forgets arenas that are not listed.
    fn retain_listed(&mut self, listed: &HashSet<&ArenaId>) {
        self.0.retain(|id, _| listed.contains(id));
    }

    /// Returns whether the page of an arena was read so recently that it is not read again.
    fn is_recent(&self, id: &ArenaId, now: Instant) -> bool {
        let read_at = self.0.get(id);
        read_at.is_some_and(|at| now.saturating_duration_since(*at) < CLOSED_MAX_AGE)
    }

    /// Adds an arena whose page was read now. Returns whether it is new.
    fn insert(&mut self, id: ArenaId, now: Instant) -> bool {
        self.0.insert(id, now).is_none()
    }
}

impl Discovery {
    pub(super) fn new(
        ctx: AccountContext,
        discovered_sender: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
        joined_arenas: watch::Receiver<HashMap<ArenaId, PeriodReceiver>>,
        left: watch::Receiver<HashSet<ArenaId>>,
    ) -> Self {
        Self {
            ctx,
            discovered_sender,
            joined_arenas,
            left,
            found: HashSet::new(),
            closed: ClosedArenas::default(),
            members: HashSet::new(),
            reported_teams: HashSet::new(),
            asked_teams: HashSet::new(),
        }
    }

    /// Scans periodically until shutdown begins.
    pub(super) async fn run(mut self, mut paused: watch::Receiver<bool>) {
        let mut shutdown = self.ctx.shutdown.clone();
        let scanning = async {
            loop {
                if paused.wait_for(|paused| !*paused).await.is_err() {
                    return;
                }
                self.scan().await;
                clock::sleep(LIST_INTERVAL).await;
            }
        };
        tokio::select! {
            () = scanning => {}
            () = shutdown.reached(Stage::Draining) => {}
        }
    }

    /// Scans the lists, and reads the pages of suitable arenas.
    async fn scan(&mut self) {
        let settings = self.ctx.settings.clone();
        let wanted = &settings.tournaments;
        let mut candidates = Vec::new();
        let mut is_complete = true;
        for membership in &wanted.teams {
            let member = self.ensure_membership(membership, wanted.join_teams).await;
            let team = &membership.team;
            let listed = self.ctx.client.team_arenas(team).await;
            match listed {
                Ok(listed) => {
                    let mut listed = listed;
                    listed.retain(|arena| member || needs_no_team(arena));
                    candidates.extend(listed.into_iter().map(|arena| Candidate {
                        team: Some(team.clone()),
                        arena,
                    }));
                }
                Err(failure) => {
                    is_complete = false;
                    info!("cannot read the calendar of the team {team}: {failure}");
                }
            }
        }
        if wanted.join_any {
            match self.ctx.client.arenas().await {
                Ok(listed) => candidates.extend(
                    listed
                        .into_iter()
                        .map(|arena| Candidate { arena, team: None }),
                ),
                Err(failure) => {
                    is_complete = false;
                    info!("cannot read the list of arenas: {failure}");
                }
            }
        }
        let now = i64::try_from(clock::epoch_ms(clock::date())).unwrap_or(i64::MAX);
        // Joined arenas occupy their time, even if they are in no list or do not match the settings.
        let mut joined_arenas = self.joined_periods().await;
        for Candidate { arena, .. } in &candidates {
            if let Some(period) = joined_arenas.get_mut(&arena.id) {
                period.get_or_insert_with(|| arena.period());
            }
        }
        let mut taken: Vec<Range<i64>> = joined_arenas.values().flatten().cloned().collect();
        let left = self.left.borrow().clone();
        candidates.retain(|one| one.is_joinable(wanted, now) && !left.contains(&one.arena.id));
        let listed: HashSet<&ArenaId> = candidates.iter().map(|one| &one.arena.id).collect();
        if is_complete {
            self.closed.retain_listed(&listed);
            self.found.retain(|id| listed.contains(id));
        }
        candidates.sort_by_key(|candidate| candidate.arena.starts_at);
        let mut lookups = 0;
        for candidate in candidates {
            let (arena, id) = (&candidate.arena, &candidate.arena.id);
            if joined_arenas.contains_key(id)
                || self.found.contains(id)
                || self.closed.is_recent(id, clock::now())
            {
                continue;
            }
            if max_at_once(&taken, &arena.period()) >= wanted.concurrency {
                continue;
            }
            if lookups == MAX_LOOKUPS {
                break;
            }
            lookups += 1;
            clock::sleep(REQUEST_INTERVAL).await;
            let page = match self.ctx.client.arena(id).await {
                Ok(page) => Some(page),
                Err(failure) if failure.is_not_found() => None,
                Err(failure) => {
                    info!(arena = %id, "cannot read {}: {failure}", arena.name);
                    continue;
                }
            };
            if !page.as_ref().is_some_and(may_admit) {
                let is_new = self.closed.insert(id.clone(), clock::now());
                if is_new && let Some(page) = page.filter(|page| page.bots_allowed) {
                    let unmet = page.unmet_requirements.join("; ");
                    info!(arena = %id, "not joining {}: {unmet}", page.name);
                }
                continue;
            }
            let joining = candidate.joining(wanted);
            info!(arena = %id, "found {}, {} for {} min", arena.name, arena.clock, arena.minutes);
            self.found.insert(id.clone());
            taken.push(arena.period());
            let _ = self.discovered_sender.send((joining, candidate));
        }
    }

    /// Arenas that the account has joined or is going to join, and their times, as far as they are known.
    async fn joined_periods(&self) -> HashMap<ArenaId, Option<Range<i64>>> {
        let mut joined_arenas = self.joined_arenas.borrow().clone();
        let known = joined_arenas.values_mut().map(async |period| {
            // An error: the arena is over.
            let _ = period.wait_for(Option::is_some).await;
        });
        // Those that cannot be read in time are left out.
        let _ = clock::timeout(PERIODS_TIMEOUT, futures::future::join_all(known)).await;
        let joined_arenas = joined_arenas.into_iter();
        joined_arenas
            .map(|(id, period)| (id, period.borrow().clone()))
            .collect()
    }

    /// Joins a team if configured. Returns whether the account is in it; the reason why it is not is logged once.
    async fn ensure_membership(&mut self, membership: &TeamEntry, join: bool) -> bool {
        let team = &membership.team;
        if self.members.contains(team) {
            return true;
        }
        let client = &self.ctx.client;
        let obstacle = match client.team(team).await {
            Ok(found) if found.joined == Some(true) => None,
            Ok(_) if !join => Some("tournaments.join_teams is off".to_owned()),
            Ok(_) if self.asked_teams.contains(team) => return false,
            Ok(found) if found.requested => Some(REQUESTED.to_owned()),
            Ok(_) => {
                let password = membership.password.as_deref();
                let joined = client.join_team(team, TEAM_REQUEST_MESSAGE, password).await;
                // After an outage or a limit it is asked again.
                let is_answered = match &joined {
                    Ok(()) => true,
                    Err(failure) => failure.lichess_error().is_some() && !failure.is_rate_limited(),
                };
                if is_answered {
                    self.asked_teams.insert(team.clone());
                }
                match joined {
                    // A team may let its leaders decide.
                    Ok(()) => match client.team(team).await {
                        Ok(found) if found.joined == Some(true) => {
                            info!("joined the team {}", found.name);
                            None
                        }
                        _ => Some(REQUESTED.to_owned()),
                    },
                    Err(failure) => Some(format!("{failure}; it takes the scope team:write")),
                }
            }
            Err(failure) => Some(failure.to_string()),
        };
        match obstacle {
            None => self.members.insert(team.clone()),
            Some(why) => {
                if self.reported_teams.insert(team.clone()) {
                    warn!("not in the team {team}, so its own arenas are skipped: {why}");
                }
                false
            }
        }
    }
}

/// Returns whether an arena is neither for the members of a team nor a battle of teams.
fn needs_no_team(arena: &ListedArena) -> bool {
    arena.team.is_none() && arena.battle_teams.is_empty()
}

/// Returns whether the account is in an arena or meets its conditions.
fn may_admit(page: &Arena) -> bool {
    page.bots_allowed && (page.me.is_some() || page.unmet_requirements.is_empty())
}

/// An arena of a list.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    arena: ListedArena,
    /// Team in whose calendar it is.
    team: Option<String>,
}

impl Candidate {
    /// Returns whether the arena matches the settings and is on soon enough.
    fn is_joinable(&self, wanted: &config::Tournaments, now: i64) -> bool {
        let arena = &self.arena;
        let within = i64::from(wanted.join_ahead_h) * 3_600_000;
        self.is_wanted(wanted)
            && !arena.finished
            && arena.starts_at <= now.saturating_add(within)
            && arena.finishes_at >= now.saturating_add(MIN_REMAINING_MS)
    }

    /// Returns whether the arena matches the settings.
    pub(super) fn is_wanted(&self, wanted: &config::Tournaments) -> bool {
        let arena = &self.arena;
        let TimeControl::Clock { limit, increment } = arena.clock else {
            return false;
        };
        let speed = Speed::of_clock(limit, increment);
        let looked_for = match &self.team {
            Some(team) => wanted.teams.iter().any(|wanted| wanted.team == *team),
            None => wanted.join_any,
        };
        // Arenas of the site's list are not sent our password, nor joined for a team that the operator has not named.
        let open = match self.team {
            Some(_) => !arena.private || !wanted.password.is_empty(),
            None => !arena.private && needs_no_team(arena),
        };
        looked_for
            && open
            && arena.variant.rules().is_some()
            && wanted
                .speeds
                .iter()
                .any(|wanted| wanted.key() == speed.key())
            && (wanted.clocks.is_empty()
                || wanted.clocks.iter().any(|wanted| wanted.is(arena.clock)))
            && (wanted.min_minutes..=wanted.max_minutes).contains(&arena.minutes)
    }

    /// Arguments of the join.
    fn joining(&self, wanted: &config::Tournaments) -> ArenaEntry {
        let battles = |team: &&String| self.arena.battle_teams.contains(team);
        ArenaEntry {
            id: self.arena.id.clone(),
            team: self.team.as_ref().filter(battles).cloned(),
            password: (self.team.is_some() && self.arena.private).then(|| wanted.password.clone()),
        }
    }
}

/// Returns how many of these periods run at once during another one, at most.
fn max_at_once(taken: &[Range<i64>], period: &Range<i64>) -> usize {
    let starts = taken.iter().map(|other| other.start);
    let inside = starts.filter(|start| period.contains(start));
    // The number grows only where a period starts.
    inside
        .chain([period.start])
        .map(|at| taken.iter().filter(|other| other.contains(&at)).count())
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::model::Variant;

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
    fn discovery_only_configured_arenas_are_read() {
        let wanted = |text: &str| -> config::Tournaments {
            let looked_for = "join_any = true\nteams = [\"ours\"]\n";
            toml::from_str(&format!("{looked_for}{text}")).unwrap()
        };
        let fits = |change: &dyn Fn(&mut ListedArena), team: Option<&str>, text: &str| {
            let mut candidate = candidate(team);
            change(&mut candidate.arena);
            candidate.is_joinable(&wanted(text), NOW)
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
            &|arena| arena.variant = Variant::Unknown,
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
    fn discovery_reads_pages_of_closed_arenas_again() {
        let ids: [ArenaId; 2] = ["friday01", "friday02"].map(|id| id.parse().unwrap());
        let read_at = Instant::now();
        let mut closed = ClosedArenas::default();
        for id in &ids {
            assert!(closed.insert(id.clone(), read_at));
        }
        let is_recent_after = |closed: &ClosedArenas, minutes: u64| {
            let now = read_at + Duration::from_secs(60 * minutes);
            ids.each_ref().map(|id| closed.is_recent(id, now))
        };
        assert_eq!(is_recent_after(&closed, 29), [true, true]);
        assert_eq!(is_recent_after(&closed, 30), [false, false]);
        closed.retain_listed(&ids[..1].iter().collect());
        assert_eq!(is_recent_after(&closed, 29), [true, false]);
        assert!(!closed.insert(ids[0].clone(), read_at));
    }

    #[test]
    fn discovery_password_is_for_own_teams_only() {
        let wanted = config::Tournaments {
            password: "secret".to_owned(),
            ..config::Tournaments::default()
        };
        let mut ours = candidate(Some("ours"));
        assert_eq!(ours.joining(&wanted).password, None);
        ours.arena.private = true;
        ours.arena.battle_teams = vec!["ours".to_owned(), "theirs".to_owned()];
        let joining = ours.joining(&wanted);
        assert_eq!(joining.password.as_deref(), Some("secret"));
        assert_eq!(joining.team.as_deref(), Some("ours"));
        assert_eq!(candidate(None).joining(&wanted).password, None);
    }

    #[test]
    fn discovery_overlap_needs_common_time() {
        assert_eq!(max_at_once(&[], &(9..20)), 0);
        for (period, times) in [(9..20, 1), (2..3, 1), (10..20, 0), (-5..0, 0), (-5..20, 1)] {
            assert_eq!(max_at_once(&[0..10, 30..40], &period), times, "{period:?}");
        }
    }

    #[test]
    fn discovery_counts_arenas_at_once() {
        let (first, second, both) = (10..11, 12..13, 10..13);
        assert_eq!(max_at_once(&[first.clone(), second.clone()], &both), 1);
        assert_eq!(max_at_once(&[first, second, both], &(9..14)), 2);
        assert_eq!(max_at_once(&[0..20, 5..20, 8..9], &(10..15)), 2);
    }
}
