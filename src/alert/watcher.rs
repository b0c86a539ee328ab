//! Turns events and the status into alerts, each once.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use super::Alert;
use crate::config::AlertKind;
use crate::events::{Color, Event, GameFinished, GameStarted, Moved, Source};
use crate::metrics::{RecordsStatus, Status};
use crate::plural;

/// Time for which the records cannot be written until it is reported. Another process may lock them for a moment.
const RECORDS_ALARM_AFTER: Duration = Duration::from_secs(60);

/// Thresholds of a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Length of an outage until it is reported.
    pub offline: Duration,
    /// Points below the highest rating since the start.
    pub rating_drop: u32,
    /// Free bytes on the disk.
    pub disk_bytes: u64,
}

/// Remembers what was reported.
#[derive(Debug)]
pub(super) struct Watcher {
    limits: Limits,
    /// Begin and reason of the outage of each account; the name is empty if there is only one.
    offline: HashMap<String, Outage>,
    /// Accounts that have ended; the name is empty if there is only one.
    ended: HashSet<String>,
    /// Our color and name in the running games.
    games: HashMap<String, (Color, String)>,
    /// Games whose stuck move was reported.
    stuck: HashSet<String>,
    /// Games in which the embedded engine has replaced an external one.
    fallbacks: HashSet<String>,
    /// The highest rating since the start or the last report, by account and kind of rating.
    ratings: HashMap<(String, String), u32>,
    /// Accounts and names of the daily limits that were reported.
    limits_reached: HashSet<(String, String)>,
    disk_reported: bool,
    /// Whether it was reported, and not resolved since, that the records cannot be written.
    records_reported: bool,
}

/// A moment on both clocks. Lengths are measured by `instant`, since the date may be corrected in between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub date: SystemTime,
    pub instant: Instant,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self {
            date: SystemTime::now(),
            instant: Instant::now(),
        }
    }

    /// Time since then.
    fn since(self, then: Self) -> Duration {
        self.instant.saturating_duration_since(then.instant)
    }
}

#[derive(Debug)]
struct Outage {
    since: Moment,
    reason: String,
    reported: bool,
}

impl Watcher {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            offline: HashMap::new(),
            games: HashMap::new(),
            ended: HashSet::new(),
            stuck: HashSet::new(),
            fallbacks: HashSet::new(),
            ratings: HashMap::new(),
            limits_reached: HashSet::new(),
            disk_reported: false,
            records_reported: false,
        }
    }

    /// The alerts for an event.
    pub(super) fn on_event(&mut self, event: &Event, now: Moment) -> Vec<Alert> {
        let (account, event) = match event {
            Event::ForAccount { account, event } => (account.as_str(), &**event),
            event => ("", event),
        };
        let alert = match event {
            Event::Online { .. } => self.online(account, now),
            Event::Offline { reason, .. } if !self.ended.contains(account) => {
                self.offline
                    .entry(account.to_owned())
                    .or_insert_with(|| Outage {
                        since: now,
                        reason: reason.clone(),
                        reported: false,
                    });
                None
            }
            Event::GameStarted(start) => self.game_started(start, now.date),
            Event::GameFinished(end) => self.game_finished(account, end, now.date),
            Event::Moved(moved) => self.moved(moved, now.date),
            _ => None,
        };
        alert.into_iter().collect()
    }

    /// Forgets the outage of an account that has ended: it will not be online again.
    pub(super) fn on_ended(&mut self, account: Option<&str>) {
        let account = account.unwrap_or_default();
        self.offline.remove(account);
        self.ended.insert(account.to_owned());
    }

    fn online(&mut self, account: &str, now: Moment) -> Option<Alert> {
        let outage = self.offline.remove(account)?;
        let length = now.since(outage.since);
        outage.reported.then(|| Alert {
            kind: AlertKind::Offline,
            resolved: true,
            account: some(account),
            game: None,
            limit: None,
            text: format!("online again after {} min", length.as_secs() / 60),
            since: outage.since.date,
        })
    }

    fn game_started(&mut self, start: &GameStarted, now: SystemTime) -> Option<Alert> {
        let us = start.us();
        let entry = (start.our_color, us.name.clone());
        self.games.insert(start.game.clone(), entry);
        let rating = us.rating.filter(|_| !us.provisional)?;
        let kind = start.rating_kind();
        let key = (us.name.clone(), kind.to_owned());
        let highest = self.ratings.entry(key).or_insert(rating);
        *highest = rating.max(*highest);
        if *highest - rating < self.limits.rating_drop {
            return None;
        }
        // From here on it has to fall again.
        let before = std::mem::replace(highest, rating);
        Some(Alert {
            kind: AlertKind::RatingDrop,
            resolved: false,
            account: Some(us.name.clone()),
            game: Some(start.game.clone()),
            limit: None,
            text: format!("the {kind} rating has fallen from {before} to {rating}"),
            since: now,
        })
    }

    fn game_finished(
        &mut self,
        account: &str,
        end: &GameFinished,
        now: SystemTime,
    ) -> Option<Alert> {
        self.stuck.remove(&end.game);
        self.fallbacks.remove(&end.game);
        // A game that ended while the bot was not running has no start.
        let (started, name) = self.games.remove(&end.game).unzip();
        let ours = end.our_color.or(started)?;
        let is_flag = end.status == "outoftime" && end.winner == Some(!ours);
        is_flag.then(|| Alert {
            kind: AlertKind::LostOnTime,
            resolved: false,
            account: name.or_else(|| some(account)),
            game: Some(end.game.clone()),
            limit: None,
            text: format!("game {} was lost on time", end.game),
            since: now,
        })
    }

    /// Reports the first move of a game that the embedded engine has found in place of an external one.
    fn moved(&mut self, moved: &Moved, now: SystemTime) -> Option<Alert> {
        let search = moved.search.as_ref()?;
        let is_first =
            search.source == Source::Fallback && self.fallbacks.insert(moved.game.clone());
        is_first.then(|| Alert {
            kind: AlertKind::EngineFallback,
            resolved: false,
            account: self.games.get(&moved.game).map(|(_, name)| name.clone()),
            game: Some(moved.game.clone()),
            limit: None,
            text: format!(
                "in game {} the embedded engine plays in place of {}",
                moved.game,
                search.fallback.as_deref().unwrap_or("the external one")
            ),
            since: now,
        })
    }

    /// The alerts for the status, with the free bytes on the disk of the records, if known.
    pub(super) fn on_status(
        &mut self,
        status: &Status,
        free_bytes: Option<u64>,
        now: Moment,
    ) -> Vec<Alert> {
        let mut alerts: Vec<Alert> = self.long_outages(now);
        let now = now.date;
        for game in status.live.games.iter().filter(|game| game.overdue) {
            if self.stuck.insert(game.id.clone()) {
                let waited = game.our_turn_ms.unwrap_or(0) / 1_000;
                alerts.push(Alert {
                    kind: AlertKind::StuckMove,
                    resolved: false,
                    account: self.games.get(&game.id).map(|(_, name)| name.clone()),
                    game: Some(game.id.clone()),
                    limit: None,
                    text: format!(
                        "in game {} against {} it has been our turn for {}",
                        game.id,
                        game.opponent,
                        plural::count(waited, "second", "seconds")
                    ),
                    since: now,
                });
            }
        }
        let accounts = match status.accounts.is_empty() {
            true => std::slice::from_ref(status),
            false => &status.accounts,
        };
        for account in accounts {
            let name = account.live.account.clone().unwrap_or_default();
            for limit in &account.live.limits {
                let key = (name.clone(), limit.name.clone());
                if limit.used < limit.capacity {
                    self.limits_reached.remove(&key);
                } else if self.limits_reached.insert(key) {
                    let resets = limit.resets_in_s.map_or(String::new(), |seconds| {
                        format!("; the window ends in {} min", seconds.div_ceil(60))
                    });
                    alerts.push(Alert {
                        kind: AlertKind::LimitReached,
                        resolved: false,
                        account: some(&name),
                        game: None,
                        limit: Some(limit.label()),
                        text: format!(
                            "the daily limit of {} is used up: {} of {}{resets}",
                            limit.name, limit.used, limit.capacity
                        ),
                        since: now,
                    });
                }
            }
        }
        if let Some(free) = free_bytes {
            alerts.extend(self.disk(free, now));
        }
        if let Some(records) = &status.records {
            alerts.extend(self.records(records, now));
        }
        alerts
    }

    fn long_outages(&mut self, now: Moment) -> Vec<Alert> {
        let is_long =
            |outage: &Outage| !outage.reported && now.since(outage.since) >= self.limits.offline;
        let long = self
            .offline
            .iter_mut()
            .filter(|(_, outage)| is_long(outage));
        long.map(|(account, outage)| {
            outage.reported = true;
            Alert {
                kind: AlertKind::Offline,
                resolved: false,
                account: some(account),
                game: None,
                limit: None,
                text: format!(
                    "offline for more than {} min: {}",
                    self.limits.offline.as_secs() / 60,
                    outage.reason
                ),
                since: outage.since.date,
            }
        })
        .collect()
    }

    fn records(&mut self, records: &RecordsStatus, now: SystemTime) -> Option<Alert> {
        let seconds = records.failing_s;
        let failing = Duration::from_secs(seconds);
        let (resolved, text) = match &records.failure {
            Some(reason) if !self.records_reported && failing >= RECORDS_ALARM_AFTER => {
                let text = format!("the records have not been written for {seconds} s: {reason}");
                (false, text)
            }
            None if self.records_reported => (true, "the records are written again".to_owned()),
            _ => return None,
        };
        self.records_reported = !resolved;
        Some(Alert {
            kind: AlertKind::Records,
            resolved,
            account: None,
            game: None,
            limit: None,
            text,
            since: now.checked_sub(failing).unwrap_or(now),
        })
    }

    fn disk(&mut self, free: u64, now: SystemTime) -> Option<Alert> {
        let limit = self.limits.disk_bytes;
        if free >= limit {
            // A little more than the limit does not count as free again, so that the report does not repeat.
            self.disk_reported &= free < limit + limit / 4;
            return None;
        }
        (!std::mem::replace(&mut self.disk_reported, true)).then(|| Alert {
            kind: AlertKind::Disk,
            resolved: false,
            account: None,
            game: None,
            limit: None,
            text: format!("only {} MiB are free for the records", free >> 20),
            since: now,
        })
    }
}

fn some(account: &str) -> Option<String> {
    (!account.is_empty()).then(|| account.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::events::{Player, TimeControl};
    use crate::metrics::{GameStatus, LimitStatus, Metrics};

    fn watcher() -> Watcher {
        Watcher::new(Limits {
            offline: Duration::from_secs(300),
            rating_drop: 50,
            disk_bytes: 100,
        })
    }

    /// This many seconds after the start of the test. The date jumps ahead by a day after the first 1,100 seconds.
    fn at(seconds: u64) -> Moment {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let jump = if seconds > 1_100 { 24 * 3600 } else { 0 };
        Moment {
            date: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + jump),
            instant: *START + Duration::from_secs(seconds),
        }
    }

    fn started(game: &str, rating: u32) -> Event {
        Event::GameStarted(GameStarted {
            game: game.to_owned(),
            white: Player {
                name: "Bot".to_owned(),
                rating: Some(rating),
                ..Player::default()
            },
            black: Player::default(),
            our_color: Color::White,
            speed: "blitz".to_owned(),
            time_control: TimeControl::Unlimited,
            rated: true,
            variant: "standard".to_owned(),
            initial_fen: None,
            tournament: None,
            engine: None,
            plies: 0,
        })
    }

    fn finished(game: &str, status: &str, winner: Option<Color>) -> Event {
        Event::GameFinished(GameFinished {
            game: game.to_owned(),
            our_color: None,
            status: status.to_owned(),
            winner,
            result: "*".to_owned(),
            plies: 3,
            moves: String::new(),
            observed: true,
        })
    }

    fn kinds(alerts: &[Alert]) -> Vec<(AlertKind, bool)> {
        let kinds = alerts.iter().map(|alert| (alert.kind, alert.resolved));
        kinds.collect()
    }

    #[test]
    fn long_outage_is_reported_and_resolved_once() {
        let mut watcher = watcher();
        let status = Metrics::default().status();
        let offline = Event::Offline {
            reason: "gone".to_owned(),
            retry_in: None,
        };
        let online = Event::Online {
            account: Player::default(),
            server: String::new(),
        };
        watcher.on_event(&offline, at(0));
        assert_eq!(watcher.on_event(&online, at(200)), []);
        watcher.on_event(&offline, at(1_000));
        watcher.on_event(&offline, at(1_200));
        assert_eq!(watcher.on_status(&status, None, at(1_299)), []);
        let first = watcher.on_status(&status, None, at(1_300));
        assert_eq!(kinds(&first), [(AlertKind::Offline, false)]);
        assert_eq!(watcher.on_status(&status, None, at(1_400)), []);
        let again = watcher.on_event(&online, at(1_600));
        assert_eq!(kinds(&again), [(AlertKind::Offline, true)]);
        assert_eq!(again[0].text, "online again after 10 min");
        assert_eq!(watcher.on_event(&online, at(1_700)), []);
        // One that has ended is not missed.
        watcher.on_event(&offline, at(2_000));
        watcher.on_ended(None);
        watcher.on_event(&offline, at(2_001));
        assert_eq!(watcher.on_status(&status, None, at(9_000)), []);
    }

    #[test]
    fn stuck_move_is_reported_once_per_game() {
        let mut watcher = watcher();
        let mut status = Metrics::default().status();
        let game = |id, overdue| GameStatus {
            our_turn_ms: Some(61_000),
            overdue,
            ..GameStatus::example(id)
        };
        status.live.games = vec![game("1", true), game("2", false)];
        let alerts = watcher.on_status(&status, None, at(0));
        assert_eq!(kinds(&alerts), [(AlertKind::StuckMove, false)]);
        let says = "in game 1 against Anna it has been our turn for 61 seconds";
        assert_eq!(alerts[0].text, says);
        assert_eq!(watcher.on_status(&status, None, at(1)), []);
        status.live.games[1].overdue = true;
        assert_eq!(watcher.on_status(&status, None, at(2)).len(), 1);
    }

    #[test]
    fn only_our_loss_on_time_is_reported() {
        let mut watcher = watcher();
        for (game, status, winner, expected) in [
            ("1", "outoftime", Some(Color::Black), 1),
            ("2", "outoftime", Some(Color::White), 0),
            ("3", "outoftime", None, 0),
            ("4", "mate", Some(Color::Black), 0),
        ] {
            watcher.on_event(&started(game, 2000), at(0));
            let alerts = watcher.on_event(&finished(game, status, winner), at(1));
            assert_eq!(alerts.len(), expected, "{game}");
        }
        assert!(watcher.games.is_empty());
    }

    #[test]
    fn game_lost_on_time_while_the_bot_was_away_is_reported() {
        let lost = |our_color| {
            let Event::GameFinished(end) = finished("1", "outoftime", Some(Color::Black)) else {
                unreachable!("the event is the end of a game");
            };
            let end = Event::GameFinished(GameFinished { our_color, ..end });
            let end = Event::ForAccount {
                account: "Anna".to_owned(),
                event: Box::new(end),
            };
            let alerts = watcher().on_event(&end, at(0));
            let anna = Some("Anna".to_owned());
            assert!(alerts.iter().all(|alert| alert.account == anna));
            kinds(&alerts)
        };
        assert_eq!(lost(Some(Color::White)), [(AlertKind::LostOnTime, false)]);
        assert_eq!(lost(Some(Color::Black)), []);
        assert_eq!(lost(None), []);
    }

    #[test]
    fn fallback_is_reported_once_per_game() {
        let mut watcher = watcher();
        watcher.on_event(&started("1", 2000), at(0));
        for (game, source, expected) in [
            ("1", Source::Search, 0),
            ("1", Source::Fallback, 1),
            ("1", Source::Fallback, 0),
            ("2", Source::Fallback, 1),
        ] {
            let moved = Event::Moved(Moved::example(game, source));
            let alerts = watcher.on_event(&moved, at(1));
            assert_eq!(alerts.len(), expected, "{game} {source:?}");
            for alert in alerts {
                let says = "the embedded engine plays in place of stub: it has exited";
                assert!(alert.text.ends_with(says), "{}", alert.text);
            }
        }
        watcher.on_event(&finished("1", "mate", None), at(2));
        watcher.on_event(&finished("2", "mate", None), at(2));
        assert!(watcher.fallbacks.is_empty());
    }

    #[test]
    fn rating_drop_is_reported_once_per_drop() {
        let mut watcher = watcher();
        let ratings = [2000, 2040, 2000, 1990, 1985, 1941, 1940, 1900, 1890];
        let alerts = ratings.map(|rating| watcher.on_event(&started("g", rating), at(0)).len());
        assert_eq!(alerts, [0, 0, 0, 1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn records_that_are_not_written_are_reported_and_resolved_once() {
        let mut watcher = watcher();
        let mut status = Metrics::default().status();
        let mut look = |failing_s| {
            status.records = Some(RecordsStatus {
                failure: (failing_s > 0).then(|| "the disk is full".to_owned()),
                failing_s,
                ..RecordsStatus::default()
            });
            let alerts = watcher.on_status(&status, None, at(1_000));
            for alert in alerts.iter().filter(|alert| !alert.resolved) {
                assert_eq!(alert.since, at(1_000 - failing_s).date);
                assert!(
                    alert.text.ends_with("for 60 s: the disk is full"),
                    "{}",
                    alert.text
                );
            }
            kinds(&alerts)
        };
        let looks = [0, 59, 60, 61, 0, 0].map(&mut look);
        let [fired, resolved] = [false, true].map(|resolved| vec![(AlertKind::Records, resolved)]);
        assert_eq!(looks, [vec![], vec![], fired, vec![], resolved, vec![]]);
    }

    #[test]
    fn used_up_limit_and_full_disk_are_reported_once() {
        let mut watcher = watcher();
        let mut status = Metrics::default().status();
        let mut look = |used, free| {
            status.live.limits = vec![LimitStatus {
                name: "bot games".to_owned(),
                note: None,
                used,
                capacity: 100,
                resets_in_s: Some(90),
            }];
            let alerts = watcher.on_status(&status, Some(free), at(0));
            for alert in &alerts {
                let is_limit = alert.kind == AlertKind::LimitReached;
                assert_eq!(alert.limit.as_deref(), is_limit.then_some("bot_games"));
            }
            kinds(&alerts)
        };
        let (limit, disk) = ((AlertKind::LimitReached, false), (AlertKind::Disk, false));
        assert_eq!(look(99, 100), []);
        assert_eq!(look(100, 99), [limit, disk]);
        assert_eq!(look(100, 110), []);
        assert_eq!(look(0, 99), []);
        assert_eq!(look(100, 200), [limit]);
        assert_eq!(look(100, 50), [disk]);
    }
}
