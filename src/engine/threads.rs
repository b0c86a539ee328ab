//! The threads of the engine and how games share them.
//!
//! Every search has seats. The first seat leads: it deepens iteratively, watches the clock and answers. The
//! others help by filling the table (lazy SMP). Whenever a search begins or ends, the threads are dealt out anew, by
//! how soon each has to answer; a helper whose seat is taken away leaves within a thousand nodes. A lead always finds
//! a thread, an extra one if need be, so that a search never waits for another one to end.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::control::Control;
use super::search::{Memory, Search};
use super::shelf::{Place, Shelf};
use super::table::Table;
use super::value::{DRAW, mated_in, to_score};
use super::{Limits, Setting, Task, Thought};
use crate::chess::Game;

/// The table of a search below full strength, which has it for itself while it lasts: enough for all that it may visit.
const LIMITED_TABLE_MIB: usize = 16;

/// Enough for the deepest line in an unoptimised build.
const STACK_BYTES: usize = 16 << 20;

type OnInfo = Box<dyn FnMut(&Thought) + Send>;
type OnDone = Box<dyn FnOnce(Thought) + Send>;

/// A search and what belongs to it.
pub(super) struct Job {
    pub control: Control,
    about: u64,
    game: Game,
    limits: Limits,
    table: Arc<Table>,
    /// For the lead, who takes it.
    listener: Mutex<Option<(OnInfo, OnDone)>>,
}

impl Job {
    pub fn new(task: Task, table: Arc<Table>) -> Job {
        let Task {
            about,
            game,
            limits,
            on_info,
            on_done,
        } = task;
        let ply = u32::try_from(game.moves().len()).unwrap_or(u32::MAX);
        Job {
            control: Control::new(&limits, ply),
            about,
            game,
            limits,
            table,
            listener: Mutex::new(Some((on_info, on_done))),
        }
    }

    /// What the lead does: search, wait until an answer is wanted. Whatever happens in the search, there is an
    /// answer: of the last iteration, or any legal move.
    fn lead(&self, memory: &mut Memory, on_info: &mut OnInfo) -> Thought {
        // What it finds below full strength is to depend on nothing but the game and its seed.
        let own = self.limits.strength.map(|_| {
            memory.forget();
            Table::new(LIMITED_TABLE_MIB)
        });
        let table = own.as_ref().unwrap_or(&self.table);
        let mut last = None;
        let searched = catch_unwind(AssertUnwindSafe(|| {
            let mut report = |thought: &Thought| {
                if thought.rank == 1 {
                    last = Some(thought.clone());
                }
                on_info(thought);
            };
            Search::new(&self.control, table, memory, &self.game, &self.limits, 0)
                .iterate(&mut report)
        }));
        if searched.is_err() {
            // It may have been left in any state.
            memory.forget();
        }
        self.control.wait_until_asked();
        self.control.stop();
        searched.ok().or(last).unwrap_or_else(|| self.any_answer())
    }

    fn help(&self, memory: &mut Memory, seat: usize) {
        if self.limits.strength.is_some() {
            return;
        }
        let searched = catch_unwind(AssertUnwindSafe(|| {
            Search::new(
                &self.control,
                &self.table,
                memory,
                &self.game,
                &self.limits,
                seat,
            )
            .iterate(&mut |_| {});
        }));
        if searched.is_err() {
            memory.forget();
        }
    }

    fn any_answer(&self) -> Thought {
        let pos = self.game.position();
        let wanted = &self.limits.search_moves;
        let legal = pos.legal_moves();
        let mv = legal
            .iter()
            .copied()
            .find(|mv| wanted.is_empty() || wanted.contains(mv));
        let value = if legal.is_empty() && pos.in_check() {
            mated_in(0)
        } else {
            DRAW
        };
        Thought::unconsidered(mv.or_else(|| legal.first().copied()), to_score(value))
    }

    fn take_listener(&self) -> Option<(OnInfo, OnDone)> {
        self.listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// A search in the pool and who works on it.
struct Seating {
    job: Arc<Job>,
    /// Whether a seat is taken; the first is the lead's.
    taken: Vec<bool>,
    /// How many seats there are for now.
    share: usize,
}

impl Seating {
    fn free_seat(&self) -> Option<usize> {
        (0..self.share).find(|&seat| !self.taken.get(seat).copied().unwrap_or(false))
    }

    fn take(&mut self, seat: usize) {
        if self.taken.len() <= seat {
            self.taken.resize(seat + 1, false);
        }
        self.taken[seat] = true;
    }
}

struct State {
    /// The searches that are on, the oldest first.
    seatings: VecDeque<Seating>,
    /// Threads asked for.
    wanted: usize,
    /// Threads alive.
    alive: usize,
    handles: Vec<JoinHandle<()>>,
    /// What was learnt in games whose next search is to come.
    shelf: Shelf,
    /// Counts how often all of that was forgotten.
    era: u64,
    closing: bool,
    table: Arc<Table>,
    /// What to search with.
    setting: Setting,
}

/// The threads of an engine.
pub(super) struct Pool {
    state: Mutex<State>,
    work: Condvar,
}

impl Pool {
    pub fn new(hash_mib: usize, threads: usize) -> Arc<Pool> {
        Arc::new(Pool {
            state: Mutex::new(State {
                seatings: VecDeque::new(),
                wanted: threads.max(1),
                alive: 0,
                handles: Vec::new(),
                shelf: Shelf::EMPTY,
                era: 0,
                closing: false,
                table: Arc::new(Table::new(hash_mib).on_huge_pages()),
                setting: Setting::default(),
            }),
            work: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn table(&self) -> Arc<Table> {
        self.lock().table.clone()
    }

    /// Searches that are on keep the old table until they end.
    pub fn set_hash(&self, mib: usize) {
        // The old one goes first, so that there is room for the new one.
        self.lock().table = Arc::new(Table::new(0));
        let table = Arc::new(Table::new(mib).on_huge_pages());
        self.lock().table = table;
    }

    pub fn set_threads(self: &Arc<Pool>, threads: usize) {
        let mut state = self.lock();
        state.wanted = threads.max(1);
        state.deal();
        self.staff(&mut state);
        self.work.notify_all();
    }

    /// What searches to come are made with; forgets everything, since scores may mean something else.
    pub fn set(&self, setting: Setting) {
        let mut state = self.lock();
        state.setting = setting;
        state.forget();
    }

    pub fn setting(&self) -> Setting {
        self.lock().setting.clone()
    }

    pub fn new_game(&self) {
        self.lock().forget();
    }

    /// Puts a search on the list, unless it is to ponder and there is one whose answer is waited for: then it is not done,
    /// and false is returned. Returns at once.
    pub fn start_if_idle(self: &Arc<Pool>, job: Arc<Job>) -> bool {
        let state = self.lock();
        let mut others = state.seatings.iter();
        let is_idle = others.all(|seating| seating.job.control.is_pondering());
        if is_idle {
            self.enlist(state, job);
        }
        is_idle
    }

    /// Puts a search on the list. Returns at once.
    pub fn start(self: &Arc<Pool>, job: Arc<Job>) {
        self.enlist(self.lock(), job);
    }

    /// The expected move was played: the answer of this search is waited for, by these limits if there are any. False if it
    /// does not ponder any more.
    pub fn ponder_hit(&self, job: &Arc<Job>, limits: Option<&Limits>) -> bool {
        let mut state = self.lock();
        let hit = job.control.ponder_hit(limits);
        if hit {
            state.give_up_pondering();
            state.deal();
            self.work.notify_all();
        }
        hit
    }

    fn enlist(self: &Arc<Pool>, mut state: MutexGuard<'_, State>, job: Arc<Job>) {
        job.table.grow_older();
        if !job.control.is_pondering() {
            state.give_up_pondering();
        }
        state.seatings.push_back(Seating {
            job: job.clone(),
            taken: Vec::new(),
            share: 1,
        });
        state.deal();
        self.staff(&mut state);
        if state.alive == 0 {
            // The system gives no threads at all: better any move than none.
            state.seatings.pop_back();
            drop(state);
            if let Some((_, on_done)) = job.take_listener() {
                on_done(job.any_answer());
            }
            return;
        }
        drop(state);
        self.work.notify_all();
    }

    /// Makes the threads that the searches need.
    fn staff(self: &Arc<Pool>, state: &mut State) {
        if state.seatings.is_empty() {
            return;
        }
        while state.alive < state.needed() {
            let pool = self.clone();
            let thread = Builder::new()
                .name("search".to_owned())
                .stack_size(STACK_BYTES);
            match thread.spawn(move || pool.work()) {
                Ok(handle) => {
                    state.handles.retain(|handle| !handle.is_finished());
                    state.handles.push(handle);
                    state.alive += 1;
                }
                // Those that there are do what they can.
                Err(_) => return,
            }
        }
    }

    /// The life of a thread.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.alive > state.needed() || state.closing && state.seatings.is_empty() {
                state.alive -= 1;
                return;
            }
            let Some((job, seat)) = state.seat() else {
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let known = state.shelf.take((job.about, seat));
            let (setting, era) = (state.setting.clone(), state.era);
            drop(state);
            let mut memory = known.unwrap_or_else(|| Memory::new(&setting));
            let answer = if seat == 0 {
                self.lead(&job, &mut memory)
            } else {
                job.help(&mut memory, seat);
                None
            };
            state = self.lock();
            state.leave(&job, seat);
            if era == state.era {
                state.shelve((job.about, seat), memory);
            }
            if let Some(answer) = answer {
                // The seats have gone to the other searches before anybody is told.
                drop(state);
                self.work.notify_all();
                answer();
                state = self.lock();
            }
        }
    }

    /// What is to be told in the end, if it was not told yet.
    fn lead(&self, job: &Arc<Job>, memory: &mut Memory) -> Option<impl FnOnce() + use<>> {
        let (mut on_info, on_done) = job.take_listener()?;
        let answer = job.lead(memory, &mut on_info);
        // A listener that panics harms nobody else.
        Some(move || drop(catch_unwind(AssertUnwindSafe(|| on_done(answer)))))
    }

    /// Stops all searches, lets them answer, and waits for the threads to end.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        for seating in &state.seatings {
            seating.job.control.stop();
        }
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        self.work.notify_all();
        for handle in handles {
            // The last handle on the engine may be dropped by a listener, on one of these very threads.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// How many of the threads each search gets: one at least, and of the others a part by how urgent it is. A blitz game
/// thus borrows the threads of a correspondence game, which misses them for a moment only.
fn shares(threads: usize, urgencies: &[f64]) -> Vec<usize> {
    let mut shares = vec![1; urgencies.len()];
    let mut order: Vec<usize> = (0..urgencies.len()).collect();
    order.sort_by(|&a, &b| urgencies[b].total_cmp(&urgencies[a]));
    let mut spare = threads.saturating_sub(urgencies.len());
    let mut waiting: f64 = urgencies.iter().sum();
    for search in order {
        let part = (spare as f64 * urgencies[search] / waiting).round();
        let part = (part as usize).min(spare);
        shares[search] += part;
        spare -= part;
        waiting -= urgencies[search];
    }
    shares
}

impl State {
    /// Keeps what was learnt in a seat for the game's next search.
    fn shelve(&mut self, place: Place, memory: Memory) {
        self.shelf.put(place, memory, self.wanted);
    }

    /// What was learnt so far counts no more.
    fn forget(&mut self) {
        self.era += 1;
        self.shelf.clear();
        self.table.clear();
    }

    /// A thread for every lead at least.
    fn needed(&self) -> usize {
        self.wanted.max(self.seatings.len())
    }

    /// Deals the threads out.
    fn deal(&mut self) {
        let urgencies = self.seatings.iter();
        let urgencies: Vec<f64> = urgencies
            .map(|seating| seating.job.control.urgency())
            .collect();
        let shares = shares(self.wanted, &urgencies);
        for (seating, share) in self.seatings.iter_mut().zip(shares) {
            seating.share = share;
            seating.job.control.set_seats(share);
        }
    }

    /// Nobody thinks on an opponent's time while another game owes a move.
    fn give_up_pondering(&self) {
        for seating in &self.seatings {
            seating.job.control.give_up_pondering();
        }
    }

    /// Whether a search of the same game, begun before this one, is about to end: it has what was learnt in the game, and
    /// will have left within a thousand nodes.
    fn is_awaited(&self, at: usize) -> bool {
        let about = self.seatings[at].job.about;
        let mut before = self.seatings.range(..at);
        before.any(|other| other.job.about == about && other.job.control.is_stopped())
    }

    /// A seat for a thread: leads first.
    fn seat(&mut self) -> Option<(Arc<Job>, usize)> {
        let leaderless = (0..self.seatings.len())
            .find(|&at| self.seatings[at].free_seat() == Some(0) && !self.is_awaited(at));
        let seating = match leaderless {
            Some(at) => &mut self.seatings[at],
            None => self.seatings.iter_mut().find(|seating| {
                seating.free_seat().is_some() && !seating.job.control.is_stopped()
            })?,
        };
        let seat = seating.free_seat()?;
        seating.take(seat);
        Some((seating.job.clone(), seat))
    }

    /// With its lead, a search ends. A helper gives its seat back if it was sent away; if it has searched all there is,
    /// the seat stays taken.
    fn leave(&mut self, job: &Arc<Job>, seat: usize) {
        if seat == 0 {
            self.seatings
                .retain(|seating| !Arc::ptr_eq(&seating.job, job));
            return self.deal();
        }
        let seating = self
            .seatings
            .iter_mut()
            .find(|seating| Arc::ptr_eq(&seating.job, job));
        if let Some(seating) = seating
            && seat >= seating.share
        {
            seating.taken[seat] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_to_those_who_have_to_answer_soon() {
        // (threads, urgencies, shares)
        let table: [(usize, &[f64], &[usize]); 8] = [
            (4, &[], &[]),
            (4, &[0.1], &[4]),
            (4, &[1.0, 1.0], &[2, 2]),
            (5, &[1.0, 1.0], &[3, 2]),
            (8, &[0.02, 2.0], &[1, 7]),
            (8, &[1.0, 3.0], &[2, 6]),
            (2, &[1.0; 5], &[1; 5]),
            (0, &[1.0], &[1]),
        ];
        for (threads, urgencies, expected) in table {
            let shares = shares(threads, urgencies);
            assert_eq!(shares, expected, "{threads} for {urgencies:?}");
        }
    }
}
