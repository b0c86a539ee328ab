//! Arenas: joins those that the operator has named, sees to it that we stay in them, and leaves them when we stop.
//!
//! Each has a task of its own that asks Lichess how things stand and does the one thing that [`next`] says. The games
//! come to the account by its stream like any others; nothing here stands in their way.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::House;
use super::stop::{Stage, Stop};
use crate::clock;
use crate::config::Joining;
use crate::lichess::model::{Arena, ArenaId, Variant};
use crate::lichess::retry::{self, Kind, Retry};

/// How often an arena that we are in is looked at.
const WATCH_EVERY: Duration = Duration::from_secs(20);

/// Before the start it is looked at when half of the time has passed, but at most and at least so often.
const LOOK_OFTEN: Duration = Duration::from_secs(5);
const LOOK_SELDOM: Duration = Duration::from_secs(300);

/// Who is refused asks again after this, until the arena has begun: ratings change and passwords are mended.
const REFUSED: Duration = Duration::from_secs(60);

/// After a failure of the network or of Lichess.
const FAILED: Duration = Duration::from_secs(15);

/// A pause that Lichess does not put a number to.
const PAUSE: Duration = Duration::from_secs(10);

/// Coming back after the second withdrawal that was not ours takes this much longer than after the first, and so on.
const COMING_BACK: Duration = Duration::from_secs(30);

/// From then on before the start a slot is kept.
const SOON: Duration = Duration::from_secs(60);

/// What the account is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Pairings may come at any moment: keep a slot.
    Keep(ArenaId),
    /// None will come any more.
    Free(ArenaId),
}

/// The arenas of the operator's list.
pub(super) struct Tournaments {
    tasks: JoinSet<()>,
    words: mpsc::UnboundedReceiver<Word>,
    /// Kept so that waiting for a word where there are no arenas waits for ever.
    _speaker: mpsc::UnboundedSender<Word>,
    nudges: HashMap<ArenaId, Arc<Notify>>,
}

impl Tournaments {
    /// Begins to look after all of them.
    pub fn new(house: &House, stop: &Stop) -> Self {
        let (speaker, words) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let mut nudges = HashMap::new();
        for joining in &house.settings.tournaments.join {
            let Entry::Vacant(place) = nudges.entry(joining.id.clone()) else {
                continue;
            };
            let nudge = Arc::clone(place.insert(Arc::default()));
            let attendance = Attendance {
                house: house.clone(),
                joining: joining.clone(),
                nudge,
                words: speaker.clone(),
                memory: Memory::default(),
                joined: false,
                known: false,
                kept: false,
            };
            tasks.spawn(attendance.attend(stop.clone()));
        }
        Self {
            tasks,
            words,
            _speaker: speaker,
            nudges,
        }
    }

    /// The next word from one of them.
    pub async fn next(&mut self) -> Option<Word> {
        self.words.recv().await
    }

    /// Something has happened to us in this arena: look at it now.
    pub fn nudge(&self, arena: &ArenaId) {
        if let Some(nudge) = self.nudges.get(arena) {
            nudge.notify_one();
        }
    }

    /// Whether all have been left, once we stop.
    pub fn are_over(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.is_empty()
    }

    /// Gives them this long to be left.
    pub async fn leave(&mut self, patience: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if clock::timeout(patience, all).await.is_err() {
            warn!("still in an arena: Lichess will withdraw us when we do not play");
        }
        self.tasks.shutdown().await;
    }
}

/// What is to be done about an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing now; look again after this.
    Wait(Duration),
    Join,
    /// There is nothing more to be done, and why.
    Done(String),
    /// We cannot take part, and why.
    Never(String),
}

/// What is remembered from one look to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// How often we were withdrawn without having asked for it.
    withdrawn: u32,
    /// We were seen in it since we joined last.
    seen: bool,
}

/// What to do, from how things stand.
fn next(arena: &Arena, memory: &mut Memory) -> Step {
    if arena.finished {
        return Step::Done(match arena.me {
            Some(me) => format!("it is over; we are number {}", me.rank),
            None => "it is over".to_owned(),
        });
    }
    if !arena.bots {
        return Step::Never("it does not allow bots".to_owned());
    }
    let playable = [Variant::Standard, Variant::Chess960, Variant::FromPosition];
    if !playable.contains(&arena.variant) {
        return Step::Never(format!("we do not play {}", arena.variant));
    }
    match arena.me {
        None => Step::Join,
        Some(me) => match me.pause {
            Some(pause) if me.withdrawn => Step::Wait(pause + Duration::from_secs(1)),
            _ if !me.withdrawn => {
                memory.seen = true;
                Step::Wait(patience(arena))
            }
            _ if std::mem::take(&mut memory.seen) => {
                memory.withdrawn += 1;
                match memory.withdrawn {
                    1 => Step::Join,
                    times => Step::Wait(COMING_BACK * (times - 1).min(10)),
                }
            }
            _ => Step::Join,
        },
    }
}

/// How long to wait in an arena that we are in.
fn patience(arena: &Arena) -> Duration {
    match arena.starts_in {
        Some(left) => (left / 2).clamp(LOOK_OFTEN, LOOK_SELDOM),
        None => WATCH_EVERY,
    }
}

/// Whether it has begun, or is about to.
fn begins_soon(arena: &Arena) -> bool {
    arena.starts_in.is_none_or(|left| left <= SOON)
}

/// Whether the next game may come at any moment.
fn is_near(arena: &Arena) -> bool {
    begins_soon(arena) && !arena.finished && arena.me.is_some_and(|me| !me.withdrawn)
}

/// One arena that we take part in.
struct Attendance {
    house: House,
    joining: Joining,
    nudge: Arc<Notify>,
    words: mpsc::UnboundedSender<Word>,
    memory: Memory,
    /// We are in it, as far as we know.
    joined: bool,
    /// Lichess has said how things stand since we started.
    known: bool,
    /// The account keeps a slot for it.
    kept: bool,
}

impl Attendance {
    async fn attend(mut self, mut stop: Stop) {
        loop {
            let wait = tokio::select! {
                wait = self.look() => wait,
                () = stop.reached(Stage::Draining) => break,
            };
            let Some(wait) = wait else {
                self.joined = false;
                break;
            };
            tokio::select! {
                () = clock::sleep(wait) => {}
                () = self.nudge.notified() => {}
                () = stop.reached(Stage::Draining) => break,
            }
        }
        self.keep(false);
        if self.joined {
            self.withdraw().await;
        }
    }

    /// Looks how things stand and does what is to be done. How long to wait then; nothing when all is done.
    async fn look(&mut self) -> Option<Duration> {
        let id = self.joining.id.clone();
        let arena = match self.house.client.arena(&id).await {
            Ok(arena) => arena,
            Err(failure) if failure.code() == Some(404) => {
                warn!(arena = %id, "there is no such arena");
                return None;
            }
            Err(failure) => {
                if !self.known {
                    // A life of ours that ended in a crash may have joined it: a game may come at any moment.
                    self.keep(true);
                }
                info!(arena = %id, "cannot look at the arena: {failure}");
                return Some(if self.known { FAILED } else { LOOK_OFTEN });
            }
        };
        self.known = true;
        self.joined = arena.me.is_some_and(|me| !me.withdrawn);
        self.keep(is_near(&arena));
        match next(&arena, &mut self.memory) {
            Step::Wait(wait) => Some(wait),
            Step::Join => self.join(&arena).await,
            Step::Done(why) => {
                info!(arena = %id, "{}: {why}", arena.name);
                None
            }
            Step::Never(why) => {
                warn!(arena = %id, "not joining {}: {why}", arena.name);
                None
            }
        }
    }

    async fn join(&mut self, arena: &Arena) -> Option<Duration> {
        let (id, name) = (&arena.id, &arena.name);
        // Until the answer is read we have to reckon with being in it.
        self.joined = true;
        self.keep(begins_soon(arena));
        let client = &self.house.client;
        let (team, password) = (&self.joining.team, &self.joining.password);
        let answer = client
            .join_arena(id, team.as_deref(), password.as_deref())
            .await;
        let Err(failure) = answer else {
            match self.memory.withdrawn {
                0 => info!(arena = %id, "joined {name}"),
                _ => info!(arena = %id, "back in {name}, from which we had been withdrawn"),
            }
            return Some(patience(arena));
        };
        self.joined = failure.may_have_worked();
        if !self.joined {
            self.keep(false);
        }
        let refused = failure.code() == Some(400);
        if refused && failure.to_string().contains("pause") {
            info!(arena = %id, "back in {name} after the pause");
            return Some(PAUSE);
        }
        if !refused {
            warn!(arena = %id, "cannot join {name}: {failure}");
            return match retry::decide(Kind::Arena, &failure, 0) {
                Retry::After(wait) => Some(wait.max(FAILED)),
                Retry::GiveUp => Some(REFUSED),
            };
        }
        let why = match &arena.refusals[..] {
            [] => failure.to_string(),
            some => format!("{failure} ({})", some.join("; ")),
        };
        match arena.starts_in {
            None => {
                warn!(arena = %id, "not joining {name}: {why}");
                None
            }
            Some(left) => {
                warn!(arena = %id, "{name} does not take us, trying again until it starts: {why}");
                Some(REFUSED.min(left + Duration::from_secs(1)))
            }
        }
    }

    /// Leaves, so that nobody is paired with who does not play.
    async fn withdraw(&self) {
        let id = &self.joining.id;
        let mut attempt = 0;
        loop {
            match self.house.client.leave_arena(id).await {
                Ok(()) => return info!(arena = %id, "withdrawn"),
                Err(failure) => match retry::decide(Kind::Arena, &failure, attempt) {
                    Retry::After(wait) => clock::sleep(wait).await,
                    Retry::GiveUp => return warn!(arena = %id, "cannot withdraw: {failure}"),
                },
            }
            attempt += 1;
        }
    }

    fn keep(&mut self, keep: bool) {
        if std::mem::replace(&mut self.kept, keep) != keep {
            let id = self.joining.id.clone();
            let word = if keep { Word::Keep(id) } else { Word::Free(id) };
            // Nobody listens any more when the account has gone.
            let _ = self.words.send(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::model::Standing;

    fn arena() -> Arena {
        Arena {
            id: "may24bot".parse().unwrap(),
            name: "Bots Arena".to_owned(),
            variant: Variant::Standard,
            bots: true,
            starts_in: Some(Duration::from_secs(600)),
            ends_in: None,
            finished: false,
            refusals: Vec::new(),
            me: None,
        }
    }

    fn standing(withdrawn: bool, pause: Option<u64>) -> Option<Standing> {
        Some(Standing {
            rank: 4,
            withdrawn,
            pause: pause.map(Duration::from_secs),
        })
    }

    fn step(arena: Arena) -> Step {
        next(&arena, &mut Memory::default())
    }

    #[test]
    fn what_is_done_follows_from_how_things_stand() {
        let seconds = Duration::from_secs;
        assert_eq!(step(arena()), Step::Join);
        let humans = Arena {
            bots: false,
            ..arena()
        };
        assert_eq!(
            step(humans),
            Step::Never("it does not allow bots".to_owned())
        );
        let atomic = Arena {
            variant: Variant::Atomic,
            ..arena()
        };
        assert!(matches!(step(atomic), Step::Never(why) if why.contains("we do not play")));
        let over = Arena {
            finished: true,
            me: standing(false, None),
            ..arena()
        };
        assert_eq!(
            step(over),
            Step::Done("it is over; we are number 4".to_owned())
        );
        for (starts_in, wait) in [
            (Some(600), 300),
            (Some(4_000), 300),
            (Some(60), 30),
            (Some(3), 5),
            (None, 20),
        ] {
            let joined = Arena {
                starts_in: starts_in.map(seconds),
                me: standing(false, None),
                ..arena()
            };
            assert_eq!(step(joined), Step::Wait(seconds(wait)), "{starts_in:?}");
        }
        let pausing = Arena {
            me: standing(true, Some(12)),
            ..arena()
        };
        assert_eq!(step(pausing), Step::Wait(seconds(13)));
        // As after a restart: who has withdrawn before comes back.
        let away = Arena {
            me: standing(true, None),
            ..arena()
        };
        assert_eq!(step(away), Step::Join);
    }

    #[test]
    fn who_is_withdrawn_again_and_again_comes_back_more_slowly() {
        let mut memory = Memory::default();
        let inside = Arena {
            starts_in: None,
            me: standing(false, None),
            ..arena()
        };
        let outside = Arena {
            me: standing(true, None),
            ..inside.clone()
        };
        for wait in [None, Some(30), Some(60), Some(90)] {
            assert_eq!(next(&inside, &mut memory), Step::Wait(WATCH_EVERY));
            if let Some(wait) = wait {
                assert_eq!(
                    next(&outside, &mut memory),
                    Step::Wait(Duration::from_secs(wait))
                );
            }
            assert_eq!(next(&outside, &mut memory), Step::Join);
        }
    }

    #[test]
    fn a_slot_is_kept_from_shortly_before_the_start() {
        let near = |starts_in: Option<u64>, withdrawn| {
            is_near(&Arena {
                starts_in: starts_in.map(Duration::from_secs),
                me: standing(withdrawn, None),
                ..arena()
            })
        };
        assert!(near(None, false) && near(Some(60), false));
        assert!(!near(Some(61), false) && !near(None, true));
        assert!(!is_near(&Arena {
            starts_in: None,
            ..arena()
        }));
    }
}
